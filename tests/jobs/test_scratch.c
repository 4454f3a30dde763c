#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/jobs.h>

#include "limited.h"
#include "random.h"
#include "scratch.h"

/* Arenas of workers: what jobs allocate at once stays apart and stays until the reset, and pieces that were allocated
 * once never take new memory again, whichever worker allocates them. */

enum { PIECES = 3000, WORKERS = 7 };

typedef struct pieces {
    hdi_scratch *scratch;
    uint32_t bytes[PIECES];
    unsigned char *at[PIECES];
} pieces;

static void allocate(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    pieces *p = user;

    for (uint32_t i = begin; i < end; i++) {
        p->at[i] = hdi_arena_alloc(hdi_scratch_arena(p->scratch, worker), p->bytes[i]);
        if (p->at[i])
            memset(p->at[i], (int)(i % 251), p->bytes[i]);
    }
}

static void choose_bytes(pieces *p, uint64_t *random)
{
    for (uint32_t i = 0; i < PIECES; i++)
        p->bytes[i] = hdt_below(random, 1u << hdt_below(random, i % 100 ? 9 : 17));
}

static void check_content(const pieces *p, uint64_t seed)
{
    for (uint32_t i = 0; i < PIECES; i++) {
        cr_assert(p->at[i] && (uintptr_t)p->at[i] % 64 == 0, "HEDDLE_SEED=%" PRIu64, seed);
        for (uint32_t k = 0; k < p->bytes[i]; k++)
            cr_assert(p->at[i][k] == i % 251, "HEDDLE_SEED=%" PRIu64 " piece %u", seed, i);
    }
}

Test(scratch, jobs_allocate_at_once)
{
    static pieces p;
    hd_jobs *jobs;

    for (uint32_t workers = 0; workers <= WORKERS; workers += 1 + workers) {
        hdt_limited limited = {0};
        hd_allocator allocator = hdt_limited_allocator(&limited);
        jobs = NULL;
        if (workers > 0)
            cr_assert(hd_jobs_create(&(hd_jobs_desc){.worker_count = workers}, &jobs) == HD_OK);
        cr_assert(hdi_scratch_create(hd_jobs_worker_count(jobs), &allocator, &p.scratch) == HD_OK);
        for (uint64_t seed = hdt_seed(), last = seed + 5; seed < last; seed++) {
            uint64_t random = seed;
            choose_bytes(&p, &random);
            for (int frame = 0; frame < 3; frame++) {
                hdi_scratch_reset(p.scratch);
                hd_jobs_parallel_for(jobs, PIECES, 1 + hdt_below(&random, 40), allocate, &p);
                check_content(&p, seed);
            }
        }
        cr_assert(!hdi_scratch_failed(p.scratch));
        hdi_scratch_destroy(p.scratch);
        cr_assert(limited.out == 0 && limited.wrong == 0);
        hd_jobs_destroy(jobs);
    }
    hdi_scratch_destroy(NULL);
}

/* The schedules that a pool could give, played on one thread: also the ones where one worker gets everything. */
Test(scratch, other_schedules_take_no_new_memory)
{
    static pieces p;

    for (uint64_t seed = hdt_seed(), last = seed + 30; seed < last; seed++) {
        uint64_t random = seed;
        hdt_limited limited = {0};
        hd_allocator allocator = hdt_limited_allocator(&limited);
        cr_assert(hdi_scratch_create(WORKERS, &allocator, &p.scratch) == HD_OK);
        choose_bytes(&p, &random);
        uint64_t made = 0;
        for (int frame = 0; frame < 20; frame++) {
            hdi_scratch_reset(p.scratch);
            if (frame == 1)
                made = limited.made;
            uint32_t workers = 1 + hdt_below(&random, WORKERS), run = 1 + hdt_below(&random, 500), first = 0;
            for (uint32_t i = 0; i < PIECES; i += run, first = hdt_below(&random, workers))
                allocate(i, i + run < PIECES ? i + run : PIECES, first, &p);
            if (frame % 5 == 0)
                check_content(&p, seed);
        }
        cr_assert(limited.made == made, "HEDDLE_SEED=%" PRIu64, seed);
        hdi_scratch_destroy(p.scratch);
    }
}

Test(scratch, every_allocation_may_fail)
{
    static pieces p;
    uint64_t random = 5, made = 1;

    choose_bytes(&p, &random);
    for (uint64_t fail_at = 1; fail_at <= made + 1; fail_at++) {
        hdt_limited limited = {.fail_at = fail_at};
        hd_allocator allocator = hdt_limited_allocator(&limited);
        hd_result result = hdi_scratch_create(3, &allocator, &p.scratch);
        cr_assert(result == HD_OK || (result == HD_OUT_OF_MEMORY && !p.scratch));
        for (int frame = 0; p.scratch && frame < 2; frame++) {
            hdi_scratch_reset(p.scratch);
            for (uint32_t i = 0; i < PIECES; i++)
                allocate(i, i + 1, i % 3, &p);
            bool missing = false;
            for (uint32_t i = 0; i < PIECES; i++)
                missing |= p.at[i] == NULL;
            cr_assert(hdi_scratch_failed(p.scratch) == missing);
        }
        made = limited.made;
        hdi_scratch_destroy(p.scratch);
        cr_assert(limited.out == 0 && limited.wrong == 0);
    }
}
