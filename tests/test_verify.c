/* The verifier against compiled plans: random graphs must verify, and plans with one thing broken must be refused with
 * the message of the rule that broke. HEDDLE_SEED=n replays one graph. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <heddle/graph.h>

#include "random_graph.h"

#include "limited.h"
#include "tables.h"

static const hd_queue_desc queue_sets[3][4] = {
    {{HD_QUEUE_GFX, 0}},
    {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}},
    {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}, {HD_QUEUE_GFX, 0}},
};
static const uint32_t queue_counts[3] = {1, 2, 4};

typedef struct sink {
    char text[4][512];
    uint32_t count;
} sink;

static void keep(const char *text, void *user)
{
    sink *s = user;
    if (s->count < 4)
        strncpy(s->text[s->count], text, sizeof(s->text[0]) - 1);
    s->count++;
}

static hd_result verify(const hd_graph *graph, const hd_plan *plan, sink *s)
{
    *s = (sink){0};
    return hd_plan_verify(graph, plan, &(hd_verify_desc){.message = keep, .user = s});
}

Test(verify, compiled_random_graphs_are_accepted)
{
    uint64_t first, count, refused = 0;
    hdt_seeds(&first, &count);
    count = count > 60 ? 60 : count;
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++)
        for (int set = 0; set < 3; set++)
            for (int order = 0; order < 3; order++) {
                hdt_random_graph(graph, seed, 10 + (uint32_t)(seed % 7) * 10);
                const hd_plan *plan;
                hd_compile_desc desc = {
                    .queues = queue_sets[set], .queue_count = queue_counts[set], .order = (hd_order)order};
                cr_assert_eq(hd_graph_compile(graph, &desc, &plan), HD_OK, "seed %llu", (unsigned long long)seed);
                sink s;
                if (verify(graph, plan, &s) == HD_OK)
                    continue;
                if (refused++ < 6)
                    cr_log_error("HEDDLE_SEED=%llu set %d order %d: %s", (unsigned long long)seed, set, order,
                                 s.text[0]);
            }
    cr_assert_eq(refused, 0, "%llu plans refused", (unsigned long long)refused);
    hd_graph_destroy(graph);
}
