#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "graph_state.h"

/* Two threads in one graph at once: the second is refused, the log has a line, and the next compile says so. */

typedef struct world {
    hd_graph *graph;
    const char *call;
    char logged[512];
    uint32_t lines;
} world;

static void note(hd_log_level level, const char *text, void *user)
{
    world *w = user;
    w->lines += level <= HD_LOG_WARNING;
    snprintf(w->logged, sizeof(w->logged), "%s", text);
}

static hd_pass declare(hd_graph *graph)
{
    hd_resource words = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "words", .bytes = 64});
    return hd_graph_pass(graph, &(hd_pass_desc){.name = "only",
                                                .type = HD_PASS_COMPUTE,
                                                .root = true,
                                                .uses = HD_USES({words, HD_STORAGE_WRITE_COMPUTE})});
}

static void *call_it(void *user)
{
    world *w = user;
    const hd_plan *plan;
    if (strcmp(w->call, "hd_graph_begin") == 0)
        hd_graph_begin(w->graph);
    else if (strcmp(w->call, "hd_graph_destroy") == 0)
        hd_graph_destroy(w->graph);
    else if (strcmp(w->call, "hd_graph_drop_plans") == 0)
        hd_graph_drop_plans(w->graph);
    else if (strcmp(w->call, "hd_graph_join") == 0)
        cr_expect_eq(hd_graph_join(w->graph), HD_INVALID_ARGUMENT);
    else if (strcmp(w->call, "hd_graph_compile") == 0)
        cr_expect_eq(hd_graph_compile(w->graph, NULL, &plan), HD_INVALID_ARGUMENT);
    else
        cr_expect_eq(declare(w->graph).id, 0u, "a pass");
    return NULL;
}

/* The size callback runs inside compile; meanwhile another thread calls. */
static hd_result size(const hd_resource_info *info, hd_memory_need *need, void *user)
{
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, call_it, user), 0);
    pthread_join(thread, NULL);
    *need = (hd_memory_need){.bytes = info->bytes, .alignment = 1};
    return HD_OK;
}

static void call_meanwhile(const char *call)
{
    world w = {.call = call};
    const hd_plan *plan;
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = {note, &w}}, &w.graph), HD_OK);
    declare(w.graph);
    const hd_compile_desc desc = {.size = size, .size_user = &w, .cache = HD_CACHE_OFF};
    cr_assert_eq(hd_graph_compile(w.graph, &desc, &plan), HD_OK, "%s: the first thread's call is not harmed", call);
    cr_expect_eq(hd_plan_read(plan).pass_count, 1u);
    cr_expect_geq(w.lines, 1u, "%s", call);
    cr_expect(strstr(w.logged, call), "'%s' is not in '%s'", call, w.logged);
    cr_expect_eq(hd_graph_compile(w.graph, NULL, &plan), HD_INVALID_ARGUMENT);
    cr_expect(strstr(hd_graph_error(w.graph)->text, call), "%s", hd_graph_error(w.graph)->text);
    hd_graph_begin(w.graph);
    declare(w.graph);
    cr_expect_eq(hd_graph_compile(w.graph, NULL, &plan), HD_OK, "it was told");
    hd_graph_destroy(w.graph);
}

Test(owner, another_thread_calls_during_compile)
{
    static const char *const calls[] = {"hd_graph_begin",      "hd_graph_destroy", "hd_graph_join",
                                        "hd_graph_drop_plans", "hd_graph_compile",
#ifndef NDEBUG
                                        "hd_graph_pass"
#endif
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        call_meanwhile(calls[i]);
}

/* Another thread is in a list: in debug builds the call gives none, and the join says so. */
Test(owner, another_thread_is_in_a_list)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hd_graph *list = hd_graph_list(graph, 1);
    atomic_store(&list->owner, 1);
#ifdef NDEBUG
    cr_expect_eq(hdi_graph_enter(list, "hd_graph_buffer", false), HDI_REFUSED);
#else
    cr_expect_eq(declare(list).id, 0u);
#endif
    atomic_store(&list->owner, 0);
    cr_expect_eq(hd_graph_join(graph), HD_INVALID_ARGUMENT);
    cr_expect(strstr(hd_graph_error(graph)->text, "hd_graph_"), "%s", hd_graph_error(graph)->text);
    hd_graph_begin(graph);
    cr_expect_neq(declare(graph).id, 0u);
    hd_graph_destroy(graph);
}

/* Calls within calls of one thread: a join inside compile, helpers' passes inside a join. */
Test(owner, one_thread_is_no_race)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    const hdi_entered outer = hdi_graph_enter(graph, "outer", true);
    cr_expect_eq(outer, HDI_ENTERED);
    const hdi_entered inner = hdi_graph_enter(graph, "inner", false);
    cr_expect_eq(inner, HDI_NESTED);
    hdi_graph_leave(graph, inner);
    cr_expect_neq(declare(graph).id, 0u);
    cr_expect_eq(hdi_graph_enter(graph, "inner", true), HDI_REFUSED, "begin inside of compile");
    hdi_graph_leave(graph, outer);
    cr_expect_eq(hdi_graph_enter(graph, "later", true), HDI_ENTERED);
    hdi_graph_leave(graph, HDI_ENTERED);
    hd_graph_destroy(graph);
}
