#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* Any text as the plan of one graph that has a bit of everything: it is refused with a sentence, or it is a plan that
 * the verifier judges, and that can be measured, explained, written and read again, right or wrong. */

static void declare(hd_graph *graph)
{
    hd_graph_begin(graph);
    hd_resource depth = hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 130});
    hd_resource many = hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37, .samples = 4});
    hd_resource color =
        hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37, .mips = 3, .layers = 2});
    hd_resource data = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 4096});
    hd_resource target = hd_graph_import(
        graph,
        &(hd_import_desc){.width = 64, .height = 64, .format = 37, .initial_layout = 1, .final_layout = 1000001002});
    hd_resource before = hd_graph_history(graph, data), next;
    const hd_range mip = {.mip_count = 1, .layer_count = 1};
    hd_graph_pass(graph,
                  &(hd_pass_desc){.type = HD_PASS_HOST, .uses = HD_USES({data, HD_HOST_WRITE, {.bytes = 1024}})});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                         .uses = HD_USES({before, HD_STORAGE_READ_COMPUTE},
                                                         {data, HD_STORAGE_WRITE_COMPUTE, {.offset = 1024}})});
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({depth, HD_DEPTH_WRITE}, {many, HD_COLOR_WRITE},
                                                         {color, HD_RESOLVE_WRITE, mip, .resolve_of = many})});
    hd_graph_pass(
        graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .uses = HD_USES({color, HD_TRANSFER_DST, {.mip_base = 1}})});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                         .pin = HD_PIN_COMPUTE,
                                         .uses = HD_USES({data, HD_STORAGE_RW_COMPUTE, .next = &next})});
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({depth, HD_DEPTH_READ}, {color, HD_SAMPLED_GRAPHICS, mip},
                                                         {data, HD_UNIFORM_READ}, {target, HD_COLOR_RW})});
    hd_graph_pass(graph,
                  &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = HD_USES({color, HD_STORAGE_RW_COMPUTE, mip})});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_HOST, .root = true, .uses = HD_USES({next, HD_HOST_READ})});
}

/* Any repair that is named can be made, or is refused. */
static void make_repair(const hd_finding *finding, void *user)
{
    hd_plan *mended = NULL;
    hd_result result = hd_plan_repair(user, &finding->repair, NULL, &mended);
    HDT_FUZZ_CHECK(result == HD_OK || result == HD_INVALID_ARGUMENT, "a repair gave %s", hd_result_name(result));
    hd_plan_free(mended, NULL);
}

static void look_at(const hd_graph *graph, hd_plan *plan)
{
    static const hdt_plan_writer writers[] = {hd_plan_write_json, hd_plan_write_dot, hd_plan_write_html,
                                               hd_plan_write_list};
    hd_result result = hd_plan_verify(graph, plan, &(hd_verify_desc){.finding = make_repair, .user = plan});
    HDT_FUZZ_CHECK(result == HD_OK || result == HD_PLAN_INVALID, "the verifier gave %s", hd_result_name(result));
    hd_plan_stats stats;
    hd_plan_stats_get(graph, plan, 0, &stats);
    for (int w = 0; w < 4; w++) {
        size_t bytes, again_bytes;
        char *text = hdt_write_text(writers[w], graph, plan, &bytes), error[600] = "";
        if (w == 0) {
            hd_plan *copy = NULL;
            result = hd_plan_read_json(graph, text, bytes, NULL, &copy, error, sizeof(error));
            HDT_FUZZ_CHECK(result == HD_OK, "a written plan cannot be read: %s", error);
            char *again = hdt_write_text(hd_plan_write_json, graph, copy, &again_bytes);
            HDT_FUZZ_CHECK(bytes == again_bytes && memcmp(text, again, bytes) == 0, "a plan changes in a file");
            hd_plan_free(copy, NULL);
            free(again);
        }
        free(text);
    }
}

void hdt_fuzz_plan_json(const uint8_t *data, size_t bytes)
{
    hd_graph *graph;
    hd_plan *plan = NULL;
    char error[600] = "";
    if (hd_graph_create(NULL, &graph) != HD_OK)
        hdt_fuzz_fault("no graph");
    declare(graph);
    HDT_FUZZ_CHECK(hd_graph_error(graph)->result == HD_OK, "%s", hd_graph_error(graph)->text);
    hd_result result = hd_plan_read_json(graph, (const char *)data, bytes, NULL, &plan, error, sizeof(error));
    HDT_FUZZ_CHECK((result == HD_OK) == (plan != NULL), "a plan and a result that disagree");
    HDT_FUZZ_CHECK(result == HD_OK || (result == HD_PARSE && error[0]), "reading gave %s", hd_result_name(result));
    if (plan)
        look_at(graph, plan);
    hd_plan_free(plan, NULL);
    hd_graph_destroy(graph);
}

HDT_FUZZ_ENTRY(hdt_fuzz_plan_json)
