#include "pool.h"

#include "clock.h"

/* The public calls: submit, wait, parallel_for, warm and rest.
 *
 * parallel_for deals its chunks as one [low, high) block a worker, each on its own cache line: the owner takes at the
 * low end, who has run out takes the upper half of the fullest block. One shared counter would be simpler, but costs a
 * cache-line transfer a chunk: for chunks of a microsecond several times what the blocks cost. A block that is not
 * empty never holds the same pair twice, as chunks only leave the union of blocks: compare-and-swap is safe. Helpers
 * are ordinary jobs on the caller's stack, one a block; one that starts late finds all blocks empty and returns. */

enum { MAX_BLOCKS = 64 };

typedef struct range_block {
    alignas(HDI_LINE) _Atomic(uint64_t) span; /* low | high << 32, chunk numbers */
} range_block;

typedef struct range_loop {
    range_block blocks[MAX_BLOCKS];
    uint32_t block_count;
    uint32_t count;
    uint32_t grain;
    hd_range_fn fn;
    void *user;
} range_loop;

enum { WARM_NS = 2000000 }; /* a bound for those who forget to let the workers rest */

static uint64_t pack(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

static void run_chunk(const range_loop *loop, uint32_t chunk, uint32_t worker)
{
    uint64_t begin = (uint64_t)chunk * loop->grain;
    uint64_t end = begin + loop->grain;

    loop->fn((uint32_t)begin, end < loop->count ? (uint32_t)end : loop->count, worker, loop->user);
}

/* All accesses to spans are relaxed: they decide who runs a chunk and nothing else. What the caller wrote before the
 * loop comes with the helper job, what the chunks wrote goes back with its counter. */

static bool take_low(range_block *block, uint32_t *chunk)
{
    uint64_t seen = hdi_load(&block->span, memory_order_relaxed);

    for (;;) {
        uint32_t low = (uint32_t)seen, high = (uint32_t)(seen >> 32);
        if (low >= high)
            return false;
        if (hdi_cas_weak(&block->span, &seen, pack(low + 1, high), memory_order_relaxed,
                                                  memory_order_relaxed)) {
            *chunk = low;
            return true;
        }
    }
}

/* Takes the upper half of the fullest block; false when all are empty. */
static bool take_half(range_loop *loop, uint32_t *low, uint32_t *high)
{
    for (;;) {
        range_block *fullest = NULL;
        uint64_t span = 0;
        uint32_t most = 0;
        for (uint32_t i = 0; i < loop->block_count; i++) {
            uint64_t seen = hdi_load(&loop->blocks[i].span, memory_order_relaxed);
            uint32_t begin = (uint32_t)seen, end = (uint32_t)(seen >> 32);
            if (begin < end && end - begin > most) {
                most = end - begin;
                fullest = &loop->blocks[i];
                span = seen;
            }
        }
        if (!fullest)
            return false;
        uint32_t begin = (uint32_t)span, end = (uint32_t)(span >> 32);
        uint32_t middle = begin + most / 2;
        if (hdi_cas(&fullest->span, &span, pack(begin, middle), memory_order_relaxed,
                                                    memory_order_relaxed)) {
            *low = middle;
            *high = end;
            return true;
        }
    }
}

static void run_range(void *user, uint32_t worker)
{
    range_loop *loop = user;
    range_block *own = &loop->blocks[worker % loop->block_count];
    uint32_t chunk, low, high;

    for (;;) {
        while (take_low(own, &chunk))
            run_chunk(loop, chunk, worker);
        if (!take_half(loop, &low, &high))
            return;
        /* All but the first lie open to thieves, unless a worker that shares the block has put chunks there meanwhile:
         * then this one runs them all. */
        uint64_t seen = hdi_load(&own->span, memory_order_relaxed);
        bool empty = (uint32_t)seen >= (uint32_t)(seen >> 32);
        bool open = empty && hdi_cas(&own->span, &seen, pack(low + 1, high),
                                                                     memory_order_relaxed, memory_order_relaxed);
        run_chunk(loop, low++, worker);
        while (!open && low < high)
            run_chunk(loop, low++, worker);
    }
}

static void run_serial(const range_loop *loop, uint32_t chunks, uint32_t worker)
{
    for (uint32_t chunk = 0; chunk < chunks; chunk++)
        run_chunk(loop, chunk, worker);
}

void hd_jobs_parallel_for(hd_jobs *jobs, uint32_t count, uint32_t grain, hd_range_fn fn, void *user)
{
    range_loop loop;
    hd_job helpers[MAX_BLOCKS];
    hd_counter counter = {0};

    if (count == 0)
        return;
    loop.count = count;
    loop.grain = grain ? grain : 1;
    loop.fn = fn;
    loop.user = user;
    uint32_t chunks = (count - 1) / loop.grain + 1;
    hdi_worker *self = jobs ? hdi_pool_enter(jobs) : NULL;
    if (!jobs || (self && (chunks == 1 || jobs->worker_count == 1))) {
        run_serial(&loop, chunks, self ? self->index : 0);
        if (self)
            hdi_pool_leave(self);
        return;
    }

    loop.block_count = jobs->worker_count < MAX_BLOCKS ? jobs->worker_count : MAX_BLOCKS;
    if (loop.block_count > chunks)
        loop.block_count = chunks;
    for (uint32_t i = 0; i < loop.block_count; i++) {
        uint32_t low = (uint32_t)((uint64_t)chunks * i / loop.block_count);
        uint32_t high = (uint32_t)((uint64_t)chunks * (i + 1) / loop.block_count);
        atomic_init(&loop.blocks[i].span, pack(low, high));
    }
    /* Who is in the pool works too and needs one helper less. */
    uint32_t helper_count = loop.block_count - (self ? 1 : 0);
    for (uint32_t i = 0; i < helper_count; i++)
        helpers[i] = (hd_job){.fn = run_range, .user = &loop, .critical = self && self->critical};
    if (helper_count > 0)
        hd_jobs_submit(jobs, helpers, helper_count, &counter);
    if (self) {
        run_range(&loop, self->index);
        hdi_pool_wait(self, &counter);
        hdi_pool_leave(self);
    } else {
        hd_jobs_wait(jobs, &counter);
    }
}

void hd_jobs_warm(hd_jobs *jobs)
{
    if (!jobs)
        return;
    /* relaxed: guards no data. A worker that is late to see it has parked, and its waker has not. */
    hdi_store(&jobs->warm_until, hdi_clock_ns() + WARM_NS, memory_order_relaxed);
    if (jobs->enqueue)
        hdi_host_warm(jobs);
    else
        hdi_wake_warm(jobs);
}

void hd_jobs_rest(hd_jobs *jobs)
{
    if (!jobs)
        return;
    hdi_store(&jobs->warm_until, 0, memory_order_relaxed);
    hdi_add(&jobs->rests, 1, memory_order_relaxed);
    if (jobs->enqueue)
        hdi_host_take_back(jobs);
}

static void run_all_here(hd_job *job, uint32_t count)
{
    for (uint32_t others = 0; others < 2; others++)
        for (uint32_t i = 0; i < count; i++)
            if (job[i].critical != (others == 1))
                job[i].fn(job[i].user, 0);
}

void hd_jobs_submit(hd_jobs *jobs, hd_job *job, uint32_t count, hd_counter *counter)
{
    if (count == 0)
        return;
    if (!jobs) {
        run_all_here(job, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        job[i].counter = counter;
    hdi_counter_add(counter, count);
    hdi_worker *self = hdi_pool_enter(jobs);
    hdi_pool_push(jobs, self, job, count);
    if (self)
        hdi_pool_leave(self);
}

void hd_jobs_wait(hd_jobs *jobs, hd_counter *counter)
{
    if (!jobs)
        return;
    while (!hdi_counter_done(counter)) {
        hdi_worker *self = hdi_pool_enter(jobs);
        if (self) {
            hdi_pool_wait(self, counter);
            hdi_pool_leave(self);
        } else {
            hdi_pool_wait_outside(jobs, counter);
        }
    }
}
