/* Random frames through the compiler, against slow models, and broken plans through the verifier, against the plain
 * graph. HEDDLE_SEED=n replays one frame, HEDDLE_SEEDS=n tries n of them. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "brute.h"
#include "cells.h"
#include "random.h"
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
enum { SETS = sizeof(queue_sets) / sizeof(queue_sets[0]), ORDERS = 3, SMALL = 12, MUTANTS = 6 };

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

/* ---- mutants: each breaks one thing, or makes it weaker ---- */

static uint64_t drop_one_bit(uint64_t *rng, uint64_t mask)
{
    uint32_t skip = hdt_below(rng, (uint32_t)__builtin_popcountll(mask));
    uint64_t left = mask;
    while (skip--)
        left &= left - 1;
    return mask & ~(left & -left);
}

/* Access bits that no stage of the mask can do are an error of their own, which is not asked about here. */
static uint64_t supported(uint64_t access, uint64_t stages)
{
    uint64_t can = stages >> 16 & 1 ? access & ~UINT64_C(0x6000) : 0; /* ALL_COMMANDS, not the host */
    for (int a = 1; a < HD_ACCESS_COUNT; a++)
        if (hdt_access_rows[a].stages & stages)
            can |= hdt_access_rows[a].access;
    return access & can;
}

static bool weaken_barrier(uint64_t *rng, hd_plan_barrier *b)
{
    uint64_t *const masks[] = {&b->src_stages, &b->dst_stages, &b->src_access, &b->dst_access};
    uint32_t m = hdt_below(rng, 4);
    if (!*masks[m])
        return false;
    *masks[m] = drop_one_bit(rng, *masks[m]);
    if (m < 2)
        *masks[m + 2] = supported(*masks[m + 2], *masks[m]);
    return true;
}

static bool drop_wait(hd_plan_view *p, uint32_t i)
{
    for (uint32_t s = 0; s < p->submit_count; s++) {
        hd_plan_submit *x = (hd_plan_submit *)&p->submits[s];
        if (i < x->wait_begin || i >= x->wait_begin + x->wait_count)
            continue;
        ((hd_plan_wait *)p->waits)[i] = p->waits[x->wait_begin + x->wait_count - 1];
        x->wait_count--;
        return true;
    }
    return false;
}

/* Transient resources only: that nothing shares bytes with the others is a rule of the placement. */
static bool move_resource(uint64_t *rng, hd_plan_view *p)
{
    hd_plan_resource *r = (hd_plan_resource *)p->resources, *to;
    uint32_t i = hdt_below(rng, p->resource_count);
    to = &r[hdt_below(rng, p->resource_count)];
    if (r[i].heap == HD_NONE || to->heap != r[i].heap || to->offset == r[i].offset ||
        (p->heaps[to->heap].flags & HD_HEAP_PERSISTENT) || p->heaps[to->heap].bytes < to->offset + r[i].bytes)
        return false;
    if (to->offset % ((r[i].flags & HD_PLAN_IMAGE) ? 65536 : 256))
        return false;
    r[i].offset = to->offset;
    return true;
}

static bool narrow_semaphore(uint64_t *rng, hd_plan_view *p)
{
    static const uint64_t single[] = {0x800, 0x400, 0x80, 0x100000000, 0x300, 0x2};
    bool signal = hdt_below(rng, 2);
    if (signal) {
        hd_plan_submit *x = (hd_plan_submit *)&p->submits[hdt_below(rng, p->submit_count)];
        uint32_t kind = p->queues[x->queue].kind;
        uint64_t to = single[kind == HD_QUEUE_GFX ? hdt_below(rng, 6) : kind == HD_QUEUE_COMPUTE ? 0 : 3];
        if (!x->signal_value || kind == HD_QUEUE_HOST || x->signal_stages == to)
            return false;
        x->signal_stages = to;
        return true;
    }
    hd_plan_submit *x = (hd_plan_submit *)&p->submits[hdt_below(rng, p->submit_count)];
    uint32_t kind = p->queues[x->queue].kind;
    if (!x->wait_count || kind == HD_QUEUE_HOST)
        return false;
    hd_plan_wait *w = (hd_plan_wait *)&p->waits[x->wait_begin + hdt_below(rng, x->wait_count)];
    w->stages = single[kind == HD_QUEUE_GFX ? hdt_below(rng, 6) : kind == HD_QUEUE_COMPUTE ? 0 : 3];
    return true;
}

static bool narrow_range(uint64_t *rng, hd_plan_barrier *b, bool image)
{
    if (b->resource == HD_NONE)
        return false;
    if (!image) {
        if (b->range.bytes < 512)
            return false;
        b->range.bytes -= 256;
        b->range.offset += hdt_below(rng, 2) * 256;
        return true;
    }
    if (b->range.mip_count > 1)
        b->range.mip_count--;
    else if (b->range.layer_count > 1)
        b->range.layer_count--;
    else
        return false;
    return true;
}

static const char *const mutant_names[] = {"barrier dropped",    "barrier weakened",   "wait dropped",
                                           "resource moved",     "semaphore narrowed", "range narrowed",
                                           "content thrown away"};
enum { MUTANT_KINDS = sizeof(mutant_names) / sizeof(mutant_names[0]) };

static bool mutate(uint64_t *rng, hd_plan_view *p, uint32_t kind)
{
    hd_plan_barrier *b = p->barrier_count ? (hd_plan_barrier *)&p->barriers[hdt_below(rng, p->barrier_count)] : NULL;
    if (kind == 2)
        return p->wait_count && drop_wait(p, hdt_below(rng, p->wait_count));
    if (kind == 3)
        return p->resource_count && move_resource(rng, p);
    if (kind == 4)
        return p->submit_count && narrow_semaphore(rng, p);
    if (!b)
        return false;
    bool image = b->old_layout || b->new_layout;
    switch (kind) {
    case 0:
        *b = (hd_plan_barrier){.resource = HD_NONE, .src_family = HD_NONE, .dst_family = HD_NONE};
        return true;
    case 1:
        return weaken_barrier(rng, b);
    case 5:
        return narrow_range(rng, b, image);
    default:
        if (!b->old_layout || b->old_layout == b->new_layout)
            return false;
        b->old_layout = 0;
        return true;
    }
}

/* ---- one frame ---- */

typedef struct run {
    hd_graph *graph;
    uint64_t seed, plans, failures, tried[MUTANT_KINDS], refused[MUTANT_KINDS];
    uint32_t set;
    hd_order order;
} run;

static void complain(run *r, const char *what, const char *by, const char *why)
{
    if (r->failures++ < 8)
        cr_log_error("HEDDLE_SEED=%llu set %u order %d: %s: %s: %s", (unsigned long long)r->seed, r->set, (int)r->order,
                     what, by, why);
}

static void try_mutants(run *r, const hd_plan *plan, uint64_t *rng)
{
    size_t bytes;
    const void *data = hd_plan_data(plan, &bytes);
    void *copy = malloc(bytes);
    cr_assert_not_null(copy);
    for (int i = 0; i < MUTANTS; i++) {
        uint32_t kind = hdt_below(rng, MUTANT_KINDS);
        memcpy(copy, data, bytes);
        hd_plan_view view = hd_plan_read(copy);
        if (!mutate(rng, &view, kind))
            continue;
        char by_verifier[512] = "", by_brute[512] = "";
        bool a = verifies(r->graph, copy, by_verifier), b = hdt_brute(r->graph, copy, by_brute, sizeof(by_brute));
        r->tried[kind]++;
        r->refused[kind] += !b;
        if (a != b)
            complain(r, mutant_names[kind], a ? "only the plain graph refuses" : "only the verifier refuses",
                     a ? by_brute : by_verifier);
    }
    free(copy);
}

static void try_plan(run *r, uint32_t passes, uint64_t *rng)
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
    bool sound = verifies(r->graph, plan, why);
    if (!sound)
        complain(r, "compiled plan", "the verifier refuses", why);
    if (!hdt_reference(r->graph, plan, why, sizeof(why)))
        complain(r, "compiled plan", "a model", why);
    if (passes > SMALL)
        return;
    if (!hdt_brute(r->graph, plan, why, sizeof(why)))
        complain(r, "compiled plan", "the plain graph refuses", why);
    else if (sound)
        try_mutants(r, plan, rng);
}

static void try_frames(run *r, uint64_t first, uint64_t count, uint32_t (*passes)(uint64_t seed))
{
#if defined(__SANITIZE_ADDRESS__)
    count /= 5; /* about fifteen times as slow there */
#endif
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &r->graph), HD_OK);
    for (r->seed = first; r->seed < first + count; r->seed++) {
        uint64_t rng = r->seed;
        hdt_random_frame(r->graph, r->seed, passes(r->seed));
        for (r->set = 0; r->set < SETS; r->set++)
            for (int order = 0; order < ORDERS; order++) {
                r->order = (hd_order)order;
                try_plan(r, passes(r->seed), &rng);
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
    try_frames(&r, 1, 1500, few_passes);
    for (int k = 0; k < MUTANT_KINDS; k++) {
        printf("%-20s %6llu tried %6llu refused\n", mutant_names[k], (unsigned long long)r.tried[k],
               (unsigned long long)r.refused[k]);
        cr_expect(getenv("HEDDLE_SEED") || (r.refused[k] && r.tried[k]), "%s: never refused", mutant_names[k]);
    }
}

Test(property, frames_by_the_models)
{
    run r = {0};
    try_frames(&r, 1, 1500, many_passes);
}
