#include <heddle/capture.h>
#include <heddle/plan_tools.h>
#include <heddle/vk.h>
#include <stdio.h>

/* An engine that links all of heddle, and might call Vulkan's functions directly: they are declared. */
_Static_assert(sizeof(&vkCreateInstance) == sizeof(PFN_vkCreateInstance), "heddle hides no prototypes");

int main(void)
{
    hd_vk *vk = NULL;
    hd_graph *graph;
    const hd_plan *plan;
    hd_jobs *jobs;
    if (hd_graph_create(NULL, &graph) != HD_OK || hd_jobs_create(NULL, &jobs) != HD_OK)
        return 1;
    hd_graph_begin(graph);
    hd_resource words = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "words", .bytes = 64});
    hd_graph_pass(
        graph, &(hd_pass_desc){
                   .name = "fill", .type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({words, HD_TRANSFER_DST})});
    if (hd_graph_compile(graph, &(hd_compile_desc){.jobs = jobs}, &plan) != HD_OK)
        return 1;
    hd_result made = hd_vk_create(NULL, &vk); /* where there is a device */
    printf("%u passes, %s\n", hd_plan_read(plan).pass_count, hd_result_name(made));
    hd_vk_destroy(vk);
    hd_jobs_destroy(jobs);
    hd_graph_destroy(graph);
    return 0;
}
