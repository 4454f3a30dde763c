/* Random frames through the compiler, against slow models. HEDDLE_SEED=n replays one frame, HEDDLE_SEEDS=n tries n of
 * them. */
#include <criterion/criterion.h>

#include "brute.h"
#include "random_graph.h"
#include "reference.h"

typedef struct queue_set {
    uint32_t count;
    hd_queue_desc queues[5];
} queue_set;
static const queue_set queue_sets[] = {
    {1, {{HD_QUEUE_GFX, 0}}},
    {2, {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}}},
    {3, {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}}},
    {5, {{HD_QUEUE_GFX, 0}, {HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}}},
};
enum { SETS = sizeof(queue_sets) / sizeof(queue_sets[0]), ORDERS = 3, SMALL = 12 };

static void keep_first(const char *text, void *user)
{
    char *to = user;
    if (!*to)
        snprintf(to, 512, "%s", text);
}

static bool verifies(const hd_graph *graph, const hd_plan *plan, char *why)
{
    *why = 0;
    return hd_plan_verify(graph, plan, &(hd_verify_desc){.message = keep_first, .user = why}) == HD_OK;
}

/* ---- one frame ---- */

typedef struct run {
    hd_graph *graph;
    uint64_t seed, plans, failures;
    uint32_t set;
    hd_order order;
} run;

static void complain(run *r, const char *what, const char *by, const char *why)
{
    if (r->failures++ < 8)
        cr_log_error("HEDDLE_SEED=%llu set %u order %d: %s: %s: %s", (unsigned long long)r->seed, r->set, (int)r->order,
                     what, by, why);
}

static void try_plan(run *r, uint32_t passes)
{
    const queue_set *set = &queue_sets[r->set];
    hd_compile_desc desc = {.queues = set->queues, .queue_count = set->count, .order = r->order};
    const hd_plan *plan;
    char why[512] = "";
    hd_result result = hd_graph_compile(r->graph, &desc, &plan);
    if (result != HD_OK) {
        complain(r, "compile", hd_result_name(result), hd_graph_error(r->graph)->text);
        return;
    }
    r->plans++;
    if (!verifies(r->graph, plan, why))
        complain(r, "compiled plan", "the verifier refuses", why);
    if (!hdt_reference(r->graph, plan, why, sizeof(why)))
        complain(r, "compiled plan", "a model", why);
    if (passes <= SMALL && !hdt_brute(r->graph, plan, why, sizeof(why)))
        complain(r, "compiled plan", "the plain graph refuses", why);
}

static void try_frames(run *r, uint64_t first, uint64_t count, uint32_t (*passes)(uint64_t seed))
{
#if defined(__SANITIZE_ADDRESS__)
    count /= 5; /* about fifteen times as slow there */
#endif
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &r->graph), HD_OK);
    for (r->seed = first; r->seed < first + count; r->seed++) {
        hdt_try_seed(r->seed);
        hdt_random_frame(r->graph, r->seed, passes(r->seed));
        for (r->set = 0; r->set < SETS; r->set++)
            for (int order = 0; order < ORDERS; order++) {
                r->order = (hd_order)order;
                try_plan(r, passes(r->seed));
            }
    }
    printf("%llu plans\n", (unsigned long long)r->plans);
    hd_graph_destroy(r->graph);
    cr_assert_eq(r->failures, 0, "%llu failures", (unsigned long long)r->failures);
}

static uint32_t few_passes(uint64_t seed)
{
    return 2 + (uint32_t)(seed % (SMALL - 1));
}

static uint32_t many_passes(uint64_t seed)
{
    return 15 + (uint32_t)(seed % 9) * 10;
}

Test(property, small_frames_by_the_plain_graph)
{
    run r = {0};
    try_frames(&r, 1, 1150, few_passes);
}

Test(property, frames_by_the_models)
{
    run r = {0};
    try_frames(&r, 1, 1150, many_passes);
}
