#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/plan_tools.h>

#include "graph_state.h"
#include "limited.h"
#include "odd_frame.h"
#include "quality_rows.h"
#include "random.h"
#include "random_graph.h"
#include "slow.h"
#include "workloads.h"

/* Compiles with 1 to 32 workers, whose jobs begin and end late at random: the plan has the bytes that one thread makes
 * of the same frame, that plan verifies, and a second frame that is the same allocates nothing. Long frames of all
 * families, and short ones that are cut into regions and shared out as if they were long; random and odd frames. Where
 * an allocation fails, in whichever worker, compile says so and the next one is as before. HEDDLE_SEED replays one seed
 * of the random and odd ones; HEDDLE_ROUNDS: how often each is compiled with each pool, else once. */

enum { WAIT_SECONDS = 230, LONG_PASSES = HDT_SLOW ? 2200 : 4200, SHORT_PASSES = 160, SEEDS = HDT_SLOW ? 5 : 25 };

static const uint32_t worker_counts[] = {1, 2, 3, 5, 8, 16, 32};
enum { POOLS = sizeof(worker_counts) / sizeof(worker_counts[0]) };

static hd_jobs *pools[POOLS];
static unsigned passed, failed, rounds = 1;
static _Atomic(uint64_t) delays;

/* Waits now and then. The numbers drawn depend on how many all workers together have drawn before. */
static void delay(const char *name, uint32_t worker, bool ended, void *user)
{
    (void)name, (void)worker, (void)ended, (void)user;
    uint64_t state = atomic_fetch_add_explicit(&delays, 1, memory_order_relaxed);
    uint64_t drawn = hdt_random(&state);
    if (drawn % 32 == 0)
        usleep((useconds_t)(drawn >> 40) % 200);
    else if (drawn % 4 == 0)
        for (volatile uint32_t i = 0; i < (drawn >> 50); i++)
            ;
    else if (drawn % 4 == 1)
        sched_yield();
}

static bool check(bool good, const char *what, const char *frame, uint32_t queues, uint32_t workers)
{
    if (!good)
        printf("FAILED: %s: %s, %u queues, %u workers\n", what, frame, queues, workers);
    *(good ? &passed : &failed) += 1;
    return good;
}

static void print_violation(const char *text, void *user)
{
    (void)user;
    printf("%s\n", text);
}

/* Whether compile may give this: odd frames earn more of it than others. */
static bool may_be_refused(hd_result result, const hd_compile_desc *desc, bool odd)
{
    return (desc->memory_budget && result == HD_OVER_BUDGET) ||
           (odd && (result == HD_NO_QUEUE || result == HD_VERSION_CYCLE));
}

static bool refuse(hd_graph *graph, hd_compile_desc desc, hd_result expected, const char *frame)
{
    const hd_plan *plan;
    bool good = true;
    for (uint32_t p = 0; p < POOLS && good; p++) {
        desc.jobs = pools[p];
        hd_result result = hd_graph_compile(graph, &desc, &plan);
        good = check(result == expected, hd_result_name(result), frame, desc.queue_count, worker_counts[p]);
    }
    return good;
}

/* What is declared in the graph, with every pool. */
static bool try_pools(hd_graph *graph, const hdt_limited *limited, hd_compile_desc desc, const char *frame, bool odd)
{
    static unsigned char *expected;
    static size_t capacity;
    const hd_plan *plan;
    size_t bytes, count;
    const hd_verify_desc verify = {.message = print_violation, .size = desc.size};
    desc.cache = HD_CACHE_OFF;
    hd_result result = hd_graph_compile(graph, &desc, &plan);
    if (may_be_refused(result, &desc, odd))
        return refuse(graph, desc, result, frame);
    if (!check(result == HD_OK, hd_graph_error(graph)->text, frame, desc.queue_count, 0))
        return false;
    if (!check(hd_plan_verify(graph, plan, &verify) == HD_OK, "does not verify", frame, desc.queue_count, 0))
        return false;
    const void *data = hd_plan_data(plan, &bytes);
    if (bytes > capacity) {
        capacity = 2 * bytes;
        expected = realloc(expected, capacity);
        if (!expected)
            abort();
    }
    memcpy(expected, data, bytes);
    for (uint32_t p = 0; p < POOLS; p++) {
        desc.jobs = pools[p];
        uint64_t made = 0;
        for (unsigned round = 0; round <= rounds; round++) {
            result = hd_graph_compile(graph, &desc, &plan);
            data = result == HD_OK ? hd_plan_data(plan, &count) : NULL;
            if (!check(data && count == bytes && memcmp(data, expected, bytes) == 0, "other bytes", frame,
                       desc.queue_count, worker_counts[p]))
                return false;
            if (round == 0)
                made = atomic_load(&limited->made);
        }
        if (!check(atomic_load(&limited->made) == made, "a second frame allocates", frame, desc.queue_count,
                   worker_counts[p]))
            return false;
    }
    return true;
}

static void run_families(hd_graph *graph, const hdt_limited *limited)
{
    for (uint32_t i = 0; i < 2 * HDB_FAMILY_COUNT; i++) {
        bool is_short = i % 2;
        hdb_workload *workload = hdb_workload_make(i / 2, is_short ? SHORT_PASSES : LONG_PASSES, HDB_SEED, true);
        if (!workload)
            abort();
        hdb_workload_declare(workload, graph);
        graph->region_passes = is_short ? 16 : HDI_REGION_PASSES;
        graph->parallel_passes = is_short ? 0 : HDI_PARALLEL_PASSES;
        for (uint32_t q = 0; q < HDB_QUEUE_SET_COUNT; q++) {
            const hd_compile_desc desc = {.queues = hdb_queue_sets[q].queues, .queue_count = hdb_queue_sets[q].count};
            try_pools(graph, limited, desc, hdb_workload_name(workload), false);
        }
        hdb_workload_free(workload);
    }
}

static void run_random(hd_graph *graph, const hdt_limited *limited)
{
    static const hd_queue_desc sets[][4] = {
        {{HD_QUEUE_GFX, 0}},
        {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}},
        {{HD_QUEUE_GFX, 0}, {HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_COMPUTE, 1}},
    };
    static const uint32_t counts[] = {1, 3, 4};
    uint64_t first = 1, count = SEEDS;
    hdt_seeds(&first, &count);
    for (uint64_t seed = first; seed < first + count; seed++) {
        char frame[64];
        uint64_t state = seed;
        uint32_t set = hdt_below(&state, 3);
        hd_compile_desc desc = {
            .queues = sets[set], .queue_count = counts[set], .order = (hd_order)hdt_below(&state, 3)};
        desc.merge_rendering = hdt_below(&state, 3) == 0;
        desc.packing_effort = hdt_below(&state, 4) == 0 ? 3 : 0;
        desc.memory_budget = hdt_below(&state, 6) == 0 ? UINT64_C(1) << (20 + hdt_below(&state, 16)) : 0;
        snprintf(frame, sizeof(frame), "HEDDLE_SEED=%" PRIu64, seed);
        hdt_try_seed(seed);
        hdt_random_frame(graph, seed, 20 + hdt_below(&state, 180));
        graph->region_passes = 1 + hdt_below(&state, 24);
        graph->parallel_passes = 0;
        try_pools(graph, limited, desc, frame, false);
        hdt_odd_setting odd;
        hdt_odd_setting_make(seed, &odd);
        odd.desc.memory_budget = desc.memory_budget;
        bool is_long = seed % 5 == 0; /* several ranges of what is cut by grains */
        hdt_odd_frame(graph, seed, is_long ? 1200 + hdt_below(&state, 1600) : 20 + hdt_below(&state, 180));
        snprintf(frame, sizeof(frame), "HEDDLE_SEED=%" PRIu64 ", odd", seed);
        try_pools(graph, limited, odd.desc, frame, true);
    }
}

/* Passes that use a buffer twice, half by half: its bytes are opened and closed once. */
static void run_halves(hd_graph *graph, const hdt_limited *limited)
{
    enum { PASSES = 400, BACK = 30, HALF = 1 << 16 };
    uint64_t state = HDB_SEED;
    hd_graph_begin(graph);
    hd_resource buffer[PASSES];
    for (uint32_t p = 0; p < PASSES; p++) {
        uint32_t halves = 1 + hdt_below(&state, 64), count = 0;
        buffer[p] = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "halves", .bytes = (uint64_t)2 * HALF * halves});
        hd_use use[6];
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t back = k ? BACK * (k - 1) + 1 + hdt_below(&state, BACK) : 0;
            bool reads = k > 0 && p > back;
            for (uint32_t half = 0; half < 2 && (k == 0 || reads); half++)
                use[count++] = (hd_use){.resource = buffer[p - back],
                                        .access = k ? HD_STORAGE_READ_COMPUTE : HD_STORAGE_WRITE_COMPUTE,
                                        .range = {.offset = half * HALF, .bytes = HALF}};
        }
        hd_graph_pass(graph, &(hd_pass_desc){.name = "halves",
                                             .type = HD_PASS_COMPUTE,
                                             .uses = use,
                                             .use_count = count,
                                             .root = p + BACK > PASSES});
    }
    graph->region_passes = 16;
    graph->parallel_passes = 0;
    for (uint32_t i = 0; i < 3 * HDB_QUEUE_SET_COUNT; i++) {
        const hdb_queue_set *set = &hdb_queue_sets[i / 3];
        const hd_compile_desc desc = {.queues = set->queues, .queue_count = set->count, .order = (hd_order)(i % 3)};
        try_pools(graph, limited, desc, "halves", false);
    }
}

/* Of any bytes up to the most that may be asked for, and alignments from none to that. */
static hd_result any_need(const hd_resource_info *info, hd_memory_need *need, void *user)
{
    uint64_t drawn = info->bytes;
    (void)user;
    hdt_random(&drawn);
    bool is_most = hdt_below(&drawn, 8) == 0;
    need->bytes = is_most ? (UINT64_C(1) << 45) - hdt_below(&drawn, 2) * 1000 : info->bytes + hdt_below(&drawn, 300);
    need->alignment = UINT64_C(1) << hdt_below(&drawn, hdt_below(&drawn, 8) == 0 ? 46 : 12);
    need->heap = 0;
    return HD_OK;
}

/* Buffers as large as any may be, and at the limits of what packers count in 32 bits, among small ones: short lives,
 * and some over many regions. */
static void run_huge(hd_graph *graph, const hdt_limited *limited)
{
    enum { PASSES = 200, FRAMES = HDT_SLOW ? 24 : 160 };
    static const uint64_t sizes[] = {UINT64_C(1) << 44, (UINT64_C(1) << 40) - 256, UINT64_C(1) << 40,
                                     (UINT64_C(1) << 39) - 256, (UINT64_C(1) << 39) - 512, UINT64_C(1) << 38};
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
    for (uint64_t frame = 0; frame < FRAMES; frame++) {
        uint64_t state = frame;
        uint32_t huge_in = 2 + hdt_below(&state, 60), longest = 1 + hdt_below(&state, 60);
        hd_resource last[PASSES];
        hd_graph_begin(graph);
        for (uint32_t p = 0; p < PASSES; p++) {
            bool is_huge = hdt_below(&state, huge_in) == 0;
            uint32_t back = hdt_below(&state, is_huge || hdt_below(&state, 8) == 0 ? longest : 4);
            uint64_t small = 256 * (uint64_t)(1 + hdt_below(&state, frame % 2 ? 4 : 4000));
            last[p] = hd_graph_buffer(
                graph, &(hd_buffer_desc){.name = "huge", .bytes = is_huge ? sizes[hdt_below(&state, SIZES)] : small});
            hd_use use[2] = {{last[p], HD_STORAGE_WRITE_COMPUTE}};
            uint32_t count = 1;
            if (back && back <= p)
                use[count++] = (hd_use){last[p - back], HD_STORAGE_READ_COMPUTE};
            hd_graph_pass(graph, &(hd_pass_desc){
                                     .type = HD_PASS_COMPUTE, .uses = use, .use_count = count, .root = true});
        }
        graph->region_passes = 16;
        graph->parallel_passes = 0;
        const hdb_queue_set *set = &hdb_queue_sets[frame / 2 % HDB_QUEUE_SET_COUNT];
        hd_size_fn size = frame / 2 / HDB_QUEUE_SET_COUNT % 2 ? any_need : NULL;
        try_pools(graph, limited,
                  (hd_compile_desc){.queues = set->queues, .queue_count = set->count, .size = size}, "huge", false);
    }
}

/* Pairs that leave no room beside them, so that regions begin anew with more memory (schedule_groups.c). By then they
 * have counted uses of what is small, which earlier ones opened and later ones close. */
static void run_tight(hd_graph *graph, const hdt_limited *limited)
{
    enum { PASSES = 480, LARGE = 8 << 20, SMALL = 4096, FAR = 20 };
    hd_resource large = {0}, small[PASSES / 2];
    for (uint32_t more = 0; more < 2; more++) { /* readers of what is small: most uses are counted, or all */
        hd_graph_begin(graph);
        for (uint32_t p = 0; p < PASSES; p++) {
            uint32_t pair = p / 2, count = 0;
            hd_use use[4];
            if (p % 2 == 0) {
                large = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "large", .bytes = LARGE});
                small[pair] = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "small", .bytes = SMALL});
                use[count++] = (hd_use){large, HD_STORAGE_WRITE_COMPUTE};
                use[count++] = (hd_use){small[pair], HD_STORAGE_WRITE_COMPUTE};
            } else {
                use[count++] = (hd_use){large, HD_STORAGE_READ_COMPUTE};
                use[count++] = (hd_use){small[pair], HD_STORAGE_READ_COMPUTE};
                for (uint32_t back = FAR; back <= pair && back <= (uint32_t)FAR << more; back *= 2)
                    use[count++] = (hd_use){small[pair - back], HD_STORAGE_READ_COMPUTE};
            }
            hd_graph_pass(graph, &(hd_pass_desc){.name = "tight",
                                                 .type = HD_PASS_COMPUTE,
                                                 .uses = use,
                                                 .use_count = count,
                                                 .root = p % 2});
        }
        graph->region_passes = 48;
        graph->parallel_passes = 0;
        for (uint32_t q = 0; q < HDB_QUEUE_SET_COUNT; q++) {
            const hd_compile_desc desc = {.queues = hdb_queue_sets[q].queues, .queue_count = hdb_queue_sets[q].count};
            try_pools(graph, limited, desc, "tight", false);
        }
    }
}

/* A range of places begins with passes that need no barriers, and its first barriers are those of the set's first
 * queue, which begins late. */
static void run_late(hd_graph *graph, const hdt_limited *limited)
{
    enum { PASSES = 1300, WRITTEN = 300, LATE = 800 };
    static const hd_queue_desc queues[] = {{HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_GFX, 0}};
    hd_resource last = {0};
    hd_graph_begin(graph);
    for (uint32_t p = 0; p < PASSES; p++) {
        bool is_late = p >= LATE, writes = is_late || p < WRITTEN;
        hd_use use[2] = {{last, is_late ? HD_SAMPLED_COMPUTE : HD_SAMPLED_GRAPHICS}};
        uint32_t count = p > 0;
        if (writes) {
            last = hd_graph_image(graph, &(hd_image_desc){.name = "late", .width = 64, .height = 64, .format = 37});
            use[count++] = (hd_use){last, is_late ? HD_STORAGE_WRITE_COMPUTE : HD_COLOR_WRITE};
        }
        hd_graph_pass(graph, &(hd_pass_desc){.name = "late",
                                             .type = is_late ? HD_PASS_COMPUTE : HD_PASS_GFX,
                                             .pin = is_late ? HD_PIN_COMPUTE : HD_PIN_NONE,
                                             .cost_us = writes ? 10 : 1,
                                             .uses = use,
                                             .use_count = count,
                                             .root = !writes || p + 1 == PASSES});
    }
    graph->region_passes = HDI_REGION_PASSES;
    graph->parallel_passes = 0;
    try_pools(graph, limited, (hd_compile_desc){.queues = queues, .queue_count = 2}, "late", false);
}

/* Each allocation of a first compile fails once, alone or with all that come behind. */
static void run_failures(void)
{
    enum { PASSES = 120, MOST = HDT_SLOW ? 60 : 400 };
    hdb_workload *workload = hdb_workload_make(hdb_family_index("deferred"), PASSES, HDB_SEED, true);
    if (!workload)
        abort();
    for (uint32_t i = 0; i < 4 * MOST; i++) {
        hdt_limited limited = {0};
        const hdb_queue_set *set = &hdb_queue_sets[i & 1];
        const hd_compile_desc desc = {
            .queues = set->queues, .queue_count = set->count, .cache = HD_CACHE_OFF, .jobs = pools[2]};
        hd_graph *graph;
        const hd_plan *plan;
        if (hd_graph_create(&(hd_graph_desc){.allocator = hdt_limited_allocator(&limited)}, &graph) != HD_OK)
            abort();
        hdb_workload_declare(workload, graph);
        graph->region_passes = 16;
        graph->parallel_passes = 0;
        uint64_t before = atomic_load(&limited.made);
        limited.fail_at = before + 1 + i / 4;
        limited.fail_count = i & 2 ? 1 : 0;
        hd_result result = hd_graph_compile(graph, &desc, &plan);
        bool reached = atomic_load(&limited.made) >= limited.fail_at;
        limited.fail_at = 0;
        check(result == HD_OK || (result == HD_OUT_OF_MEMORY && reached), "an allocation that fails",
              hd_result_name(result), desc.queue_count, 3);
        hdb_workload_declare(workload, graph);
        check(hd_graph_compile(graph, &desc, &plan) == HD_OK, "after an allocation that failed",
              hd_graph_error(graph)->text, desc.queue_count, 3);
        hd_graph_destroy(graph);
        check(atomic_load(&limited.out) == 0 && atomic_load(&limited.wrong) == 0, "memory after a failure", "deferred",
              desc.queue_count, 3);
        if (!reached && i % 4 == 3)
            break;
    }
    hdb_workload_free(workload);
}

int main(void)
{
    const char *text = getenv("HEDDLE_ROUNDS");
    hdt_limited limited = {0};
    hd_graph *graph;

    setvbuf(stdout, NULL, _IOLBF, 0);
    rounds = text ? (unsigned)strtoul(text, NULL, 10) : 1;
    if (!text)
        alarm(WAIT_SECONDS);
    if (hd_graph_create(&(hd_graph_desc){.allocator = hdt_limited_allocator(&limited)}, &graph) != HD_OK)
        return 1;
    for (uint32_t p = 0; p < POOLS; p++) {
        const hd_jobs_desc desc = {.worker_count = worker_counts[p], .profile = delay};
        if (hd_jobs_create(&desc, &pools[p]) != HD_OK)
            return 1;
    }
    if (!getenv("HEDDLE_SEED")) {
        run_families(graph, &limited);
        run_halves(graph, &limited);
        run_huge(graph, &limited);
        run_tight(graph, &limited);
        run_late(graph, &limited);
        run_failures();
    }
    run_random(graph, &limited);
    for (uint32_t p = 0; p < POOLS; p++)
        hd_jobs_destroy(pools[p]);
    hd_graph_destroy(graph);
    check(atomic_load(&limited.out) == 0 && atomic_load(&limited.wrong) == 0, "memory", "all", 0, 0);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
