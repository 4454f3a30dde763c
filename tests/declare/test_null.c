#include <stdlib.h>

#include <heddle/graph.h>
#include <heddle/stream.h>

#include "null_calls.h"
#include "stream.h"

/* Null for each pointer of each function of the headers of core, jobs and graph, one after another.
 * Vulkan's headers: test_vk_null.c, test_capture_null.c. */

typedef struct world {
    hd_graph *graph;
    hd_resource words;
    const hd_plan *plan;
} world;

static void begin(world *w)
{
    hd_graph_begin(w->graph);
    w->words = hd_graph_buffer(w->graph, &(hd_buffer_desc){.name = "words", .bytes = 64});
    hd_graph_pass(w->graph, &(hd_pass_desc){.name = "only",
                                            .type = HD_PASS_COMPUTE,
                                            .root = true,
                                            .uses = HD_USES({w->words, HD_STORAGE_WRITE_COMPUTE})});
}

static void call_declaring(world *w)
{
    hd_graph *g = w->graph;
    const hd_buffer_desc buffer = {.bytes = 4};
    const hd_image_desc image = {.width = 4, .height = 4, .format = 37};
    const hd_import_desc import = {.bytes = 4};
    const hd_history_desc history = {.of = w->words};
    REFUSES(hd_graph_create, NULL, NULL);
    BEARS(hd_graph_destroy, NULL);
    BEARS(hd_graph_begin, NULL);
    BEARS(hd_graph_set_name, NULL, "name");
    BEARS(hd_graph_set_name, g, NULL);
    cr_expect_str_eq(BEARS(hd_graph_name, NULL), "");
    cr_expect_eq(BEARS(hd_graph_error, NULL)->result, HD_INVALID_ARGUMENT);
    cr_expect_eq(BEARS(hd_graph_image, NULL, &image).id, 0u);
    cr_expect_eq(BEARS(hd_graph_buffer, NULL, &buffer).id, 0u);
    cr_expect_eq(BEARS(hd_graph_import, NULL, &import).id, 0u);
    cr_expect_eq(BEARS(hd_graph_history, NULL, w->words).id, 0u);
    cr_expect_eq(BEARS(hd_graph_history_with, NULL, &history).id, 0u);
    cr_expect_eq(BEARS(hd_graph_pass, NULL, &(hd_pass_desc){0}).id, 0u);
    for (int call = 0; call < 5; call++) {
        begin(w);
        uint32_t id = call == 0   ? hd_graph_image(g, NULL).id
                      : call == 1 ? hd_graph_buffer(g, NULL).id
                      : call == 2 ? hd_graph_import(g, NULL).id
                      : call == 3 ? hd_graph_history_with(g, NULL).id
                                  : hd_graph_pass(g, NULL).id;
        cr_expect(id == 0 && hd_graph_error(g)->result == HD_INVALID_ARGUMENT, "call %d", call);
    }
    begin(w);
    GIVES(NULL, hd_graph_list, NULL, 1);
    REFUSES(hd_graph_join, NULL);
    GIVES(HD_NONE, hd_graph_resource_index, NULL, w->words);
    GIVES(HD_NONE, hd_graph_pass_index, NULL, (hd_pass){1});
    GIVES(0u, hd_graph_resource_count, NULL);
    GIVES(0u, hd_graph_pass_count, NULL);
    cr_expect_eq(BEARS(hd_graph_find_pass, NULL, "only").id, 0u);
    cr_expect_eq(BEARS(hd_graph_find_pass, g, NULL).id, 0u);
    REFUSES(hd_graph_publish, NULL, "name", w->words);
    REFUSES(hd_graph_publish, g, NULL, w->words);
    cr_expect_eq(BEARS(hd_graph_find, NULL, "name").id, 0u);
    cr_expect_eq(BEARS(hd_graph_find, g, NULL).id, 0u);
}

static void call_compiling(world *w)
{
    hd_graph *g = w->graph;
    const hd_plan *plan;
    begin(w);
    REFUSES(hd_graph_compile, NULL, NULL, &plan);
    REFUSES(hd_graph_compile, g, NULL, NULL);
    cr_expect_eq(BEARS(hd_graph_cache_stats, NULL).most, 0u);
    BEARS(hd_graph_drop_plans, NULL);
    begin(w);
    cr_assert_eq(hd_graph_compile(g, NULL, &w->plan), HD_OK);
    size_t bytes = 1;
    cr_expect_eq(BEARS(hd_plan_read, NULL).pass_count, 0u);
    GIVES(NULL, hd_plan_data, NULL, &bytes);
    cr_expect_eq(bytes, 0u);
    GIVES((const void *)w->plan, hd_plan_data, w->plan, NULL);
    cr_expect_str_eq(hd_phase_name(-1), "?");
    cr_expect_str_eq(BEARS(hd_phase_name, HD_PHASE_COUNT), "?");
    cr_expect_str_eq(BEARS(hd_placing_name, HD_PLACING_COUNT), "?");
    cr_expect_str_eq(BEARS(hd_cut_name, HD_CUT_COUNT), "?");
    cr_expect_str_eq(BEARS(hd_reason_name, HD_REASON_COUNT), "?");
    cr_expect_str_eq(BEARS(hd_cull_name, HD_CULL_COUNT), "?");
    cr_expect_not_null(BEARS(hd_rule_name, HD_RULE_COUNT));
    cr_expect_not_null(BEARS(hd_result_name, HD_RESULT_COUNT));
    cr_expect_not_null(BEARS(hd_result_text, (hd_result)-1));
}

static void call_tools(world *w)
{
    const hd_graph *g = w->graph;
    const hd_plan *plan = w->plan;
    const hd_plan_reasons *reasons;
    const hd_chains *chains;
    hd_plan_stats stats;
    hd_plan *made;
    REFUSES(hd_plan_explain, NULL, plan, NULL, &reasons);
    REFUSES(hd_plan_explain, g, NULL, NULL, &reasons);
    REFUSES(hd_plan_explain, g, plan, NULL, NULL);
    BEARS(hd_plan_reasons_free, NULL, NULL);
    REFUSES(hd_plan_stats_get, NULL, plan, 0, &stats);
    REFUSES(hd_plan_stats_get, g, NULL, 0, &stats);
    REFUSES(hd_plan_stats_get, g, plan, 0, NULL);
    REFUSES(hd_plan_verify, NULL, plan, NULL);
    REFUSES(hd_plan_verify, g, NULL, NULL);
    REFUSES(hd_plan_repair, NULL, &(hd_repair){0}, NULL, &made);
    REFUSES(hd_plan_repair, plan, NULL, NULL, &made);
    REFUSES(hd_plan_repair, plan, &(hd_repair){0}, NULL, NULL);
    REFUSES(hd_plan_chains, NULL, plan, 0, 0, NULL, &chains);
    REFUSES(hd_plan_chains, g, NULL, 0, 0, NULL, &chains);
    REFUSES(hd_plan_chains, g, plan, 0, 0, NULL, NULL);
    BEARS(hd_chains_free, NULL, NULL);
    REFUSES(hd_plan_log, NULL, plan, &(hd_log){0});
    REFUSES(hd_plan_log, g, NULL, &(hd_log){0});
    REFUSES(hd_plan_log, g, plan, NULL);
}

static hd_result write_nothing(FILE *stream, void *user)
{
    (void)stream, (void)user;
    return HD_OK;
}

static void call_files(world *w)
{
    hd_graph *g = w->graph;
    const hd_plan *plan = w->plan;
    hd_plan *made;
    char error[64];
    REFUSES(hd_graph_read_fgt, NULL, "", 0, "f", error, sizeof(error));
    REFUSES(hd_graph_read_fgt, g, NULL, 1, "f", error, sizeof(error));
    BEARS(hd_graph_fgt_error, NULL, "f", error, sizeof(error));
    BEARS(hd_graph_fgt_error, g, NULL, error, sizeof(error));
    BEARS(hd_graph_fgt_error, g, "f", NULL, sizeof(error));
    cr_expect_not_null(BEARS(hd_graph_fgt_desc, NULL));
    REFUSES(hd_graph_write_fgt, NULL, stderr);
    REFUSES(hd_graph_write_fgt, g, NULL);
    REFUSES(hd_graph_write_fgt_with, NULL, NULL, stderr);
    REFUSES(hd_graph_write_fgt_with, g, NULL, NULL);
    REFUSES(hd_plan_write_json, NULL, plan, stderr);
    REFUSES(hd_plan_write_json, g, NULL, stderr);
    REFUSES(hd_plan_write_json, g, plan, NULL);
    REFUSES(hd_plan_write_list, NULL, plan, stderr);
    REFUSES(hd_plan_write_list, g, NULL, stderr);
    REFUSES(hd_plan_write_list, g, plan, NULL);
    REFUSES(hd_plan_write_dot, NULL, plan, stderr);
    REFUSES(hd_plan_write_dot, g, NULL, stderr);
    REFUSES(hd_plan_write_dot, g, plan, NULL);
    REFUSES(hd_plan_write_html, NULL, plan, stderr);
    REFUSES(hd_plan_write_html, g, NULL, stderr);
    REFUSES(hd_plan_write_html, g, plan, NULL);
    REFUSES(hd_plan_write_page, NULL, plan, NULL, stderr);
    REFUSES(hd_plan_write_page, g, NULL, NULL, stderr);
    REFUSES(hd_plan_write_page, g, plan, NULL, NULL);
    REFUSES(hd_plan_read_json, NULL, "", 0, NULL, &made, error, sizeof(error));
    REFUSES(hd_plan_read_json, g, NULL, 1, NULL, &made, error, sizeof(error));
    REFUSES(hd_plan_read_json, g, "", 0, NULL, NULL, error, sizeof(error));
    BEARS(hd_plan_free, NULL, NULL);
    REFUSES(hd_file_write, NULL, write_nothing, NULL);
    REFUSES(hd_file_write, "f", NULL, NULL);
}

static void call_streams(void)
{
    hd_stream *made;
    char error[64];
    BEARS(hd_stream_free, NULL);
    REFUSES(hd_stream_copy, NULL, &made);
    REFUSES(hd_stream_write, NULL, stderr);
    REFUSES(hd_stream_read, NULL, 1, NULL, &made, error, sizeof(error));
    REFUSES(hd_stream_read, "", 0, NULL, NULL, error, sizeof(error));
    REFUSES(hd_stream_verify, NULL, NULL);
    hd_stream *stream = hdi_stream_make(NULL);
    hd_stream_graph *graph;
    uint8_t keep[1] = {0};
    cr_assert_not_null(stream);
    REFUSES(hd_stream_copy, stream, NULL);
    REFUSES(hd_stream_write, stream, NULL);
    REFUSES(hd_stream_graph_build, NULL, NULL, &graph);
    REFUSES(hd_stream_graph_build, stream, NULL, NULL);
    cr_assert_eq(hd_stream_graph_build(stream, NULL, &graph), HD_OK);
    REFUSES(hd_stream_graph_needs, NULL, keep);
    REFUSES(hd_stream_graph_needs, graph, NULL);
    REFUSES(hd_stream_graph_live, NULL, true, keep);
    REFUSES(hd_stream_graph_live, graph, true, NULL);
    REFUSES(hd_stream_graph_write, NULL, graph, NULL, HD_STREAM_GRAPH_DOT, stderr);
    REFUSES(hd_stream_graph_write, stream, NULL, NULL, HD_STREAM_GRAPH_DOT, stderr);
    REFUSES(hd_stream_graph_write, stream, graph, NULL, HD_STREAM_GRAPH_DOT, NULL);
    REFUSES(hd_stream_graph_reduce, NULL, graph, keep, &made);
    REFUSES(hd_stream_graph_reduce, stream, NULL, keep, &made);
    REFUSES(hd_stream_graph_reduce, stream, graph, NULL, &made);
    REFUSES(hd_stream_graph_reduce, stream, graph, keep, NULL);
    const hd_finding finding = {.first.kind = HD_PLACE_PASS, .second.kind = HD_PLACE_PASS};
    hd_stream_between between;
    uint32_t count;
    REFUSES(hd_stream_between_get, NULL, &finding, &between, 1, &count);
    REFUSES(hd_stream_between_get, stream, NULL, &between, 1, &count);
    REFUSES(hd_stream_between_get, stream, &finding, NULL, 1, &count);
    REFUSES(hd_stream_between_get, stream, &finding, &between, 1, NULL);
    REFUSES(hd_stream_picture_write, NULL, &finding, 1, HD_STREAM_PICTURE_DOT, stderr);
    REFUSES(hd_stream_picture_write, stream, NULL, 1, HD_STREAM_PICTURE_DOT, stderr);
    REFUSES(hd_stream_picture_write, stream, &finding, 1, HD_STREAM_PICTURE_DOT, NULL);
    BEARS(hd_stream_graph_free, NULL);
    hd_stream_graph_free(graph);
    hd_stream_free(stream);
}

static void nothing(void *user, uint32_t worker)
{
    (void)user, (void)worker;
}

static void no_range(uint32_t first, uint32_t end, uint32_t worker, void *user)
{
    (void)first, (void)end, (void)worker, (void)user;
}

static void no_node(uint32_t node, uint32_t worker, void *user)
{
    (void)node, (void)worker, (void)user;
}

/* A null pool runs what it is given; null work is none. */
static void call_jobs(void)
{
    const uint32_t begin[] = {0, 0}, zero = 0;
    hd_dag dag = {.node_count = 1, .succ_begin = begin, .succ = &zero, .pred_count = &zero, .fn = no_node};
    hd_counter counter = {0};
    hd_job job = {.fn = nothing};
    hd_jobs *pools[2] = {NULL, NULL};
    hd_node node;
    cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = 2}, &pools[1]), HD_OK);
    REFUSES(hd_jobs_create, NULL, NULL);
    GIVES(1u, hd_jobs_worker_count, NULL);
    BEARS(hd_jobs_warm, NULL);
    BEARS(hd_jobs_rest, NULL);
    for (int p = 0; p < 2; p++) {
        BEARS(hd_jobs_submit, pools[p], NULL, 1, &counter);
        BEARS(hd_jobs_wait, pools[p], &counter);
        BEARS(hd_jobs_wait, pools[p], NULL);
        BEARS(hd_jobs_parallel_for, pools[p], 1, 1, NULL, NULL);
        BEARS(hd_jobs_parallel_for, pools[p], 1, 1, no_range, NULL);
        BEARS(hd_jobs_run_dag, pools[p], NULL, &node);
        BEARS(hd_jobs_run_dag, pools[p], &dag, NULL);
        BEARS(hd_jobs_run_dag, pools[p], &dag, &node);
    }
    BEARS(hd_jobs_submit, pools[1], &job, 1, NULL);
    hd_jobs_submit(pools[1], &job, 1, &counter);
    hd_jobs_wait(pools[1], &counter);
    BEARS(hd_jobs_destroy, NULL);
    hd_jobs_destroy(pools[1]);
}

Test(null, arguments)
{
    static const char *const headers[] = {"/core/include/heddle/base.h", "/jobs/include/heddle/jobs.h",
                                          "/graph/include/heddle/graph.h", "/graph/include/heddle/plan_tools.h",
                                          "/graph/include/heddle/stream.h"};
    world w;
    uint32_t found = 0;
    cr_assert_eq(hd_graph_create(NULL, &w.graph), HD_OK);
    begin(&w);
    call_declaring(&w);
    call_compiling(&w);
    call_tools(&w);
    call_files(&w);
    call_streams();
    call_jobs();
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s%s", HEDDLE_SOURCE_DIR, headers[i]);
        found += expect_called(path);
    }
    cr_expect_eq(found, called_count, "%u functions in the headers, %u called", found, called_count);
    begin(&w);
    cr_expect_eq(hd_graph_compile(w.graph, NULL, &w.plan), HD_OK, "nothing has been harmed");
    hd_graph_destroy(w.graph);
}
