/* Frames of odd_frame.h on odd queue sets: every way through the compiler leads to the same sound plan. One graph that
 * has made all frames before, a fresh one, workers, the cache, a budget. HEDDLE_SEED=n replays one frame,
 * HEDDLE_SEEDS=n tries n of them (both: from that one on). */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "brute.h"
#include "cells.h"
#include "fuzz.h"
#include "graph_state.h"
#include "odd_frame.h"
#include "random.h"
#include "random_graph.h"
#include "reference.h"

enum { FEW_CELLS = 60 };

typedef struct run {
    hd_graph *old, *fresh;
    hd_jobs *jobs;
    hdt_odd_setting setting;
    uint64_t seed, plans, refused, over, cycles, brutes, failures;
    bool plain; /* the models know all of the frame */
} run;

static void complain(run *r, const char *what, const char *why)
{
    if (r->failures++ < 8)
        cr_log_error("HEDDLE_SEED=%llu: %s: %s", (unsigned long long)r->seed, what, why);
}

static void keep_first(const char *text, void *user)
{
    char *to = user;
    if (!*to)
        snprintf(to, 512, "%s", text);
}

/* What compile must give without a budget. Cycles are not known beforehand. */
static bool expected(run *r, hd_result result)
{
    bool lacks = false;
    if (result == HD_VERSION_CYCLE && !r->plain) {
        r->cycles++;
        return true;
    }
    if (r->plain) {
        hdt_cells c = hdt_cells_make(r->fresh, NULL);
        for (uint32_t p = 0; p < c.d.pass_count; p++)
            lacks |= c.kept[p] && !hdt_odd_setting_runs(&r->setting, c.d.pass_type[p]);
        hdt_cells_free(&c);
    } else {
        lacks = result == HD_NO_QUEUE && !hdt_odd_setting_runs(&r->setting, HD_PASS_GFX);
    }
    r->refused += lacks;
    return result == (lacks ? HD_NO_QUEUE : HD_OK);
}

static uint64_t heap_bytes(const hd_plan *plan)
{
    hd_plan_view view = hd_plan_read(plan);
    uint64_t sum = 0;
    for (uint32_t h = 0; h < view.heap_count; h++)
        sum += view.heaps[h].bytes;
    return sum;
}

static void check_plan(run *r, const hd_plan *plan, const char *what)
{
    char why[512] = "";
    r->plans++;
    const hd_verify_desc verify = {.message = keep_first, .user = why, .size = r->setting.desc.size};
    if (hd_plan_verify(r->fresh, plan, &verify) != HD_OK)
        complain(r, what, why);
    if (!r->plain)
        return;
    if (!r->setting.desc.size && !hdt_reference(r->fresh, plan, why, sizeof(why)))
        complain(r, what, why);
    hdt_cells c = hdt_cells_make(r->fresh, plan);
    bool few = c.count <= FEW_CELLS && c.d.pass_count <= 16;
    hdt_cells_free(&c);
    r->brutes += few;
    if (few && !hdt_brute(r->fresh, plan, why, sizeof(why)))
        complain(r, what, why);
}

/* Compiles in the old graph: the result and the bytes are those that the fresh one gave. */
static void same(run *r, const hd_compile_desc *desc, hd_result result, const void *data, size_t bytes,
                 const char *what)
{
    const hd_plan *plan;
    size_t count = 0;
    hd_result other = hd_graph_compile(r->old, desc, &plan);
    if (other != result) {
        complain(r, what, hd_result_name(other));
    } else if (result == HD_OK) {
        const void *own = hd_plan_data(plan, &count);
        if (count != bytes || memcmp(own, data, bytes) != 0)
            complain(r, what, "other bytes");
    }
}

/* One compile of the fresh graph, and all the ways of the old one. Returns the bytes of its heaps. */
static uint64_t try_ways(run *r, uint64_t budget)
{
    hd_compile_desc desc = r->setting.desc;
    const hd_plan *plan;
    size_t bytes = 0;
    desc.memory_budget = budget;
    desc.cache = HD_CACHE_OFF;
    hd_result result = hd_graph_compile(r->fresh, &desc, &plan);
    if (budget && result == HD_OVER_BUDGET)
        r->over++;
    else if (!expected(r, result))
        complain(r, "compile", hd_graph_error(r->fresh)->text);
    uint64_t sum = result == HD_OK ? heap_bytes(plan) : 0;
    const void *data = result == HD_OK ? hd_plan_data(plan, &bytes) : NULL;
    if (result == HD_OK)
        check_plan(r, plan, budget ? "with a budget" : "alone");
    if (budget && sum > budget)
        complain(r, "with a budget", "more than that");
    desc.jobs = r->seed % 2 ? r->jobs : NULL;
    desc.cache = HD_CACHE_ON;
    same(r, &desc, result, data, bytes, "after other frames");
    desc.jobs = r->seed % 2 ? NULL : r->jobs;
    desc.cache = HD_CACHE_CHECK;
    same(r, &desc, result, data, bytes, "found and checked");
    return sum;
}

static void try_frame(run *r, uint32_t passes)
{
    uint64_t rng = r->seed;
    cr_assert_eq(hd_graph_create(NULL, &r->fresh), HD_OK);
    r->plain = hdt_odd_frame(r->fresh, r->seed, passes);
    hdt_odd_frame(r->old, r->seed, passes);
    hdt_odd_setting_make(r->seed, &r->setting);
    r->fresh->region_passes = r->old->region_passes = r->setting.region_passes;
    r->fresh->parallel_passes = r->old->parallel_passes = r->setting.parallel_passes;
    if (hd_graph_error(r->fresh)->result != HD_OK)
        complain(r, "declare", hd_graph_error(r->fresh)->text);
    uint64_t failures = r->failures, bytes = try_ways(r, 0);
    if (bytes && hdt_below(&rng, 3) == 0)
        try_ways(r, bytes * (60 + hdt_below(&rng, 60)) / 100 + 1);
    if (r->failures == failures && hdt_below(&rng, 6) == 0) { /* on a set that devices have, and through its texts */
        char name[64];
        snprintf(name, sizeof(name), "HEDDLE_SEED=%llu", (unsigned long long)r->seed);
        setenv("HDT_CORPUS_FILE", name, 1); /* named by a fault's sentence */
        hdt_fuzz_compile(r->fresh, hdt_random(&rng));
    }
    hd_graph_destroy(r->fresh);
}

static void try_frames(uint64_t count, uint32_t most)
{
    run r = {0};
    uint64_t first = 1;
#if defined(__SANITIZE_ADDRESS__)
    count /= 5;
#endif
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &r.old), HD_OK);
    cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = 3}, &r.jobs), HD_OK);
    for (r.seed = first; r.seed < first + count; r.seed++) {
        hdt_try_seed(r.seed);
        try_frame(&r, (uint32_t)(r.seed % (most + 1)));
    }
    printf("%llu plans, %llu small enough for the plain graph, %llu refused, %llu over budget, %llu cycles\n",
           (unsigned long long)r.plans, (unsigned long long)r.brutes, (unsigned long long)r.refused,
           (unsigned long long)r.over, (unsigned long long)r.cycles);
    hd_jobs_destroy(r.jobs);
    hd_graph_destroy(r.old);
    cr_assert_eq(r.failures, 0, "%llu failures", (unsigned long long)r.failures);
}

Test(odd, small_frames)
{
    try_frames(8000, 8);
}

Test(odd, frames)
{
    try_frames(3500, 60);
}
