#include <heddle/graph.h>
#include <stdio.h>

/* A tool that compiles frames and has no Vulkan. */
int main(void)
{
    hd_graph *graph;
    const hd_plan *plan;
    if (hd_graph_create(NULL, &graph) != HD_OK)
        return 1;
    hd_graph_begin(graph);
    hd_resource words = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "words", .bytes = 64});
    hd_graph_pass(
        graph, &(hd_pass_desc){
                   .name = "fill", .type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({words, HD_TRANSFER_DST})});
    if (hd_graph_compile(graph, NULL, &plan) != HD_OK || hd_plan_verify(graph, plan, NULL) != HD_OK)
        return 1;
    printf("%u passes, verified\n", hd_plan_read(plan).pass_count);
    hd_graph_destroy(graph);
    return 0;
}
