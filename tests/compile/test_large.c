#include <criterion/criterion.h>

#include <pthread.h>
#include <stdlib.h>

#include "pieces.h"

/* Large graphs: 2^n ways through n diamonds, chains that are deeper than a stack, ready passes without end. */

enum { DIAMONDS = 1500, CHAIN = 100000, READY = 100000 };

static void declare_diamonds(hd_graph *graph, hd_resource end)
{
    hd_resource top = buffer(graph, 256);
    pass(graph, HD_PIN_NONE, 10, nothing, top);
    for (int i = 0; i < DIAMONDS; i++) {
        hd_resource left = buffer(graph, 256), right = buffer(graph, 256), bottom = buffer(graph, 256);
        pass(graph, HD_PIN_NONE, 10, top, left);
        pass(graph, HD_PIN_NONE, 20, top, right);
        hd_graph_pass(graph,
                      &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                      .uses = HD_USES({left, HD_STORAGE_READ_COMPUTE}, {right, HD_STORAGE_READ_COMPUTE},
                                                      {bottom, HD_STORAGE_WRITE_COMPUTE})});
        top = bottom;
    }
    pass(graph, HD_PIN_NONE, 10, top, end);
}

static void *diamonds(void *user)
{
    hd_graph *graph = new_graph();
    (void)user;
    for (int order = 0; order < 3; order++) {
        for (int needed = 0; needed < 2; needed++) {
            hd_graph_begin(graph);
            declare_diamonds(graph, needed ? external(graph) : buffer(graph, 256));
            hd_plan_view view = compiled(
                graph,
                &(hd_compile_desc){.queues = three, .queue_count = 1 + 2 * (order == 0), .order = (hd_order)order});
            cr_assert_eq(view.culled_count, needed ? 0u : 3u * DIAMONDS + 2u);
        }
    }
    hd_graph_destroy(graph);
    return NULL;
}

static void *chain(void *user)
{
    hd_graph *graph = new_graph();
    (void)user;
    for (int needed = 0; needed < 2; needed++) {
        hd_graph_begin(graph);
        hd_resource step[3] = {buffer(graph, 256), buffer(graph, 256), needed ? external(graph) : buffer(graph, 256)};
        pass(graph, HD_PIN_NONE, 10, nothing, step[0]);
        for (int i = 1; i < CHAIN - 1; i++)
            pass(graph, HD_PIN_NONE, 10, step[(i + 1) & 1], step[i & 1]);
        pass(graph, HD_PIN_NONE, 10, step[(CHAIN - 2) & 1], step[2]);
        hd_plan_view view = compiled(graph, NULL);
        cr_assert_eq(view.culled_count, needed ? 0u : (uint32_t)CHAIN);
    }
    hd_graph_destroy(graph);
    return NULL;
}

/* Versions: every reader of an old version stands behind all writes. */
static void *late_readers(void *user)
{
    enum { VERSIONS = 20000 };
    hd_graph *graph = new_graph();
    hd_resource *version = calloc(VERSIONS + 1, sizeof(*version));
    (void)user;
    version[0] = external(graph);
    for (int i = 0; i < VERSIONS; i++)
        hd_graph_pass(graph,
                      &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                      .uses = HD_USES({version[i], HD_STORAGE_RW_COMPUTE, .next = &version[i + 1]})});
    for (int i = VERSIONS; i > 0; i -= 2)
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                             .root = true,
                                             .uses = HD_USES({version[i], HD_STORAGE_READ_COMPUTE})});
    hd_plan_view view = compiled(graph, NULL);
    cr_assert_eq(view.culled_count, 0u);
    free(version);
    hd_graph_destroy(graph);
    return NULL;
}

/* On a stack that no recursion over passes would fit into. */
static void on_small_stack(void *(*run)(void *))
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    cr_assert_eq(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
    cr_assert_eq(pthread_create(&thread, &attributes, run, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

Test(large, diamonds_are_walked_once, .timeout = 150)
{
    on_small_stack(diamonds);
}

Test(large, long_chains_fit_the_stack, .timeout = 150)
{
    on_small_stack(chain);
    on_small_stack(late_readers);
}

Test(large, ready_passes_are_not_looked_through_each_time, .timeout = 150)
{
    hd_graph *graph = new_graph();
    for (int order = 0; order < 3; order++) {
        hd_graph_begin(graph);
        hd_resource all = hd_graph_import(graph, &(hd_import_desc){.bytes = (uint64_t)READY * 256});
        for (uint32_t i = 0; i < READY; i++)
            hd_graph_pass(graph,
                          &(hd_pass_desc){
                              .type = HD_PASS_COMPUTE,
                              .cost_us = (float)(1 + i * 7919 % 100),
                              .uses = HD_USES({all, HD_STORAGE_WRITE_COMPUTE, {.offset = i * 256ull, .bytes = 256}})});
        const hd_plan *plan;
        cr_assert_eq(hd_graph_compile(
                         graph, &(hd_compile_desc){.queues = three, .queue_count = 3, .order = (hd_order)order}, &plan),
                     HD_OK);
        cr_assert_eq(hd_plan_read(plan).culled_count, 0u);
    }
    hd_graph_destroy(graph);
}
