#include <criterion/criterion.h>

#include <stdatomic.h>
#include <string.h>

#include <heddle/graph.h>
#include <heddle/jobs.h>

#include "alloc.h"
#include "arena.h"
#include "limited.h"

/* Each case runs with an allocator that fails the k-th allocation, for every k until the case needs none any more: once
 * with all later ones failing too, once with only that one. Nothing may leak, crash or come back as anything but
 * HD_OUT_OF_MEMORY, unless the case got over it. */

typedef hd_result (*failure_case)(const hd_allocator *allocator);

static void try_all(failure_case run, uint64_t fewest_allocations)
{
    for (uint64_t fail_count = 0; fail_count < 2; fail_count++) {
        for (uint64_t k = 1;; k++) {
            hdt_limited limited = {.fail_at = k, .fail_count = fail_count};
            hd_allocator allocator = hdt_limited_allocator(&limited);
            hd_result result = run(&allocator);
            cr_assert(limited.out == 0 && limited.bytes == 0, "allocation %d: leak", (int)k);
            cr_assert(limited.wrong == 0, "allocation %d: wrong free", (int)k);
            if (limited.made < k) {
                cr_assert(result == HD_OK);
                cr_assert(k > fewest_allocations, "the case allocates less than it is known to");
                break;
            }
            cr_assert(result == HD_OUT_OF_MEMORY || (fail_count == 1 && result == HD_OK), "allocation %d gave %s",
                      (int)k, hd_result_name(result));
        }
    }
}

static hd_result grow_case(const hd_allocator *allocator)
{
    uint32_t *array = NULL, capacity = 0;
    hd_result result = HD_OK;

    for (uint32_t i = 0; i < 1000 && result == HD_OK; i++) {
        result = hdi_grow(allocator, (void **)&array, &capacity, i + 1, sizeof *array);
        if (result == HD_OK)
            array[i] = i;
        for (uint32_t k = 0; k < i; k++)
            cr_assert(array[k] == k);
    }
    hdi_free(allocator, array, (size_t)capacity * sizeof *array);
    return result;
}

Test(alloc_failure, grow)
{
    try_all(grow_case, 6);
}

/* Three frames that each need more than the last; a null is remembered until the reset. A reset that finds no memory is
 * no failure: the next allocation asks again. */
static hd_result arena_case(const hd_allocator *allocator)
{
    hdi_arena arena;
    bool failed = false;

    hdi_arena_init(&arena, allocator);
    for (size_t frame = 1; frame <= 3; frame++) {
        for (size_t i = 0; i < 40; i++) {
            void *piece = hdi_arena_alloc(&arena, frame * i * 500);
            if (piece)
                memset(piece, 1, frame * i * 500);
            else
                cr_assert(arena.failed);
        }
        failed |= arena.failed;
        hdi_arena_reset(&arena);
        cr_assert(!arena.failed);
    }
    hdi_arena_free(&arena);
    /* Once memory fails for good, frames that still fit into the block at hand go on working. */
    return failed ? HD_OUT_OF_MEMORY : HD_OK;
}

Test(alloc_failure, arena)
{
    try_all(arena_case, 5);
}

static void count_up(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    (void)worker;
    atomic_fetch_add((_Atomic(uint32_t) *)user, end - begin);
}

static hd_result jobs_case(const hd_allocator *allocator)
{
    _Atomic(uint32_t) sum = 0;
    hd_jobs *jobs;
    hd_result result = hd_jobs_create(&(hd_jobs_desc){.worker_count = 3, .allocator = *allocator}, &jobs);

    cr_assert((result == HD_OK) == (jobs != NULL));
    if (jobs)
        hd_jobs_parallel_for(jobs, 1000, 7, count_up, &sum);
    cr_assert(sum == (jobs ? 1000 : 0));
    hd_jobs_destroy(jobs);
    return result;
}

Test(alloc_failure, jobs)
{
    try_all(jobs_case, 2);
}

/* Two frames in which every version of a resource is read after it was ended, compiled, verified and measured. */
static hd_result version_case(const hd_allocator *allocator)
{
    enum { VERSIONS = 80 };
    hd_graph *graph;
    hd_result result = hd_graph_create(&(hd_graph_desc){.allocator = *allocator}, &graph);
    for (int frame = 0; frame < 2 && result == HD_OK; frame++) {
        hd_graph_begin(graph);
        hd_resource data = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 256}), version[VERSIONS] = {data};
        for (uint32_t i = 0; i + 1 < VERSIONS; i++)
            hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                                 .uses = HD_USES({version[i], HD_STORAGE_WRITE_COMPUTE,
                                                                  .next = &version[i + 1]})});
        for (uint32_t i = 1; i < VERSIONS; i++)
            hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                                 .root = true,
                                                 .uses = HD_USES({version[i], HD_STORAGE_READ_COMPUTE})});
        const hd_plan *plan;
        hd_plan_stats stats;
        result = hd_graph_compile(graph, NULL, &plan);
        if (result == HD_OK)
            result = hd_plan_verify(graph, plan, &(hd_verify_desc){.allocator = *allocator});
        if (result == HD_OK)
            result = hd_plan_stats_get(graph, plan, &stats);
    }
    hd_graph_destroy(graph);
    return result;
}

Test(alloc_failure, versions)
{
    try_all(version_case, 30);
}
