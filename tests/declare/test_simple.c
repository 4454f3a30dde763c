#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "graph_state.h"
#include "random.h"
#include "random_graph.h"

/* Frames in which each resource is written at most once, by its first use, and all passes are kept: one worker makes
 * the plan that several make. */

static const hd_queue_desc queue_sets[3][4] = {
    {{HD_QUEUE_GFX, 0}},
    {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}},
    {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}, {HD_QUEUE_COMPUTE, 2}},
};
static const uint32_t queue_counts[3] = {1, 2, 4};

/* A frame in which few resources are written twice or before they are read, and few passes are of no use. halves: each
 * is written by halves, and some only read a half. */
static void declare_plain(hd_graph *graph, uint64_t seed, bool halves)
{
    uint64_t state = seed;
    hd_resource made[40];
    uint32_t odd = 1 + (uint32_t)(hdt_random(&state) % 200), count = 0;
    hd_graph_begin(graph);
    for (uint32_t p = 0; p < 40; p++) {
        bool twice = hdt_random(&state) % odd == 1, unread = hdt_random(&state) % odd == 1, outside = p % 7 == 6;
        const hd_range half[2] = {{.bytes = 128}, {.offset = 128}};
        hd_use uses[6];
        uint32_t use_count = 0, reads = count ? (uint32_t)(hdt_random(&state) % 4) : 0;
        for (uint32_t r = 0; r < reads; r++) {
            uint32_t back = (uint32_t)(hdt_random(&state) % 6) + 1;
            uses[use_count++] = (hd_use){made[back < count ? count - back : 0], HD_STORAGE_READ_COMPUTE};
            if (halves && back % 3 < 2)
                uses[use_count - 1].range = half[back % 3];
        }
        if (twice && count > 8)
            uses[use_count++] = (hd_use){made[count - 8], HD_STORAGE_RW_COMPUTE};
        if (!unread && count && reads == 0)
            uses[use_count++] = (hd_use){made[count - 1], HD_STORAGE_READ_COMPUTE};
        hd_buffer_desc buffer = {.bytes = 256 << (p % 5)};
        hd_import_desc import = {.bytes = 1024};
        made[count] = outside ? hd_graph_import(graph, &import) : hd_graph_buffer(graph, &buffer);
        if (p % 11 == 10) /* holds something from the start */
            uses[use_count++] = (hd_use){hd_graph_import(graph, &import), HD_STORAGE_READ_COMPUTE};
        else
            uses[use_count++] = (hd_use){made[count++], HD_STORAGE_WRITE_COMPUTE};
        if (halves && p % 11 != 10) {
            uses[use_count] = uses[use_count - 1];
            uses[use_count - 1].range = half[0];
            uses[use_count++].range = half[1];
        }
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                             .root = p == 39 || hdt_random(&state) % odd != 1,
                                             .uses = uses,
                                             .use_count = use_count});
    }
}

/* One worker and several make the same plan. */
static void compare_workers(hd_graph *graph, hd_jobs *jobs, uint64_t seed)
{
    hd_compile_desc desc = {.queues = queue_sets[seed % 3], .queue_count = queue_counts[seed % 3]};
    const hd_plan *plan;
    size_t bytes, other_bytes;
    hd_result result = hdt_compile(graph, &desc, &plan);
    cr_assert_eq(result, HD_OK, "seed %llu: %s", (unsigned long long)seed, hd_graph_error(graph)->text);
    const void *data = hd_plan_data(plan, &bytes);
    void *kept = malloc(bytes);
    cr_assert(kept);
    memcpy(kept, data, bytes);
    desc.jobs = jobs;
    graph->parallel_passes = 0;
    cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK);
    data = hd_plan_data(plan, &other_bytes);
    cr_assert(bytes == other_bytes && memcmp(kept, data, bytes) == 0, "seed %llu", (unsigned long long)seed);
    free(kept);
}

Test(simple, frames_have_one_plan)
{
    hd_graph *graph;
    hd_jobs *jobs;
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.plans = HD_NONE}, &graph), HD_OK);
    cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = 3}, &jobs), HD_OK);
    for (uint64_t seed = 1; seed <= 400; seed++) {
        declare_plain(graph, seed, false);
        compare_workers(graph, jobs, seed);
        declare_plain(graph, seed, true);
        compare_workers(graph, jobs, seed);
    }
    for (uint64_t seed = 1; seed <= 1000; seed++) { /* few of these are simple */
        hdt_random_graph(graph, seed, 1 + (uint32_t)(seed % 40));
        compare_workers(graph, jobs, seed);
    }
    hd_jobs_destroy(jobs);
    hd_graph_destroy(graph);
}
