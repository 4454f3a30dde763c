#include "pool.h"

#include "clock.h"

/* parallel_for deals its chunks as one [low, high) block a worker, each on its own cache line. The owner takes at the
 * low end; a worker that has run out takes the upper half of the fullest block. One shared counter would be simpler,
 * but costs a cache-line transfer a chunk: for chunks of a microsecond several times what the blocks cost. A block that
 * is not empty never holds the same pair twice, as chunks only leave the union of blocks: compare-and-swap is safe.
 *
 * A few loops at a time are open to all: workers that search see a loop's number and join it, each by a mark on a line
 * of its own. So nothing is contended for where a loop begins, and its caller only reads the marks where it ends.
 * Handed out as jobs, the same costs each worker two swaps on lines that all others want: with 16 of them 5 us a loop,
 * as long as the chunks that a compile has.
 *
 *   worker   set the mark, look whether the loop is still open
 *   caller   close the loop, look at the marks
 *
 * All four are sequentially consistent, so one of the two sees the other: a loop's tables change only when no worker is
 * inside. A worker that finds nothing left to take closes the loop for newcomers; the caller closes it in any case.
 *
 * Loops beyond those, and of a thread that is not in the pool, are ordinary jobs on the caller's stack, one a block;
 * one that starts late finds all blocks empty and returns. */

enum {
    PATIENCE_NS = 10000, /* before a caller whose chunks are done does other things until all are */
    LEFT_BEHIND = 1,     /* in a mark: the caller is no longer looking, and counts on the loop's counter */
};

typedef hdi_range_block range_block;
typedef hdi_range_loop range_loop;

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

/* All accesses to spans are relaxed: they decide which worker runs a chunk, and nothing else. What the caller wrote
 * before the loop is published with the helper job, what the chunks wrote with its counter. */

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

/* Runs chunks until no block seems to have any left; returns whether there were any. open: null, or a word that is zero
 * once some worker found nothing left; it is read in place of all blocks. */
static bool run_blocks(range_loop *loop, uint32_t worker, _Atomic(uint64_t) *open)
{
    range_block *own = &loop->blocks[worker % loop->block_count];
    uint32_t chunk, low, high;

    for (bool any = false;; any = true) {
        for (; take_low(own, &chunk); any = true)
            run_chunk(loop, chunk, worker);
        if ((open && hdi_load(open, memory_order_relaxed) == 0) || !take_half(loop, &low, &high))
            return any;
        /* All but the first lie open to thieves, unless a worker that shares the block has put chunks there meanwhile:
         * then this one runs them all. */
        uint64_t seen = hdi_load(&own->span, memory_order_relaxed);
        bool empty = (uint32_t)seen >= (uint32_t)(seen >> 32);
        bool shared =
            empty && hdi_cas(&own->span, &seen, pack(low + 1, high), memory_order_relaxed, memory_order_relaxed);
        run_chunk(loop, low++, worker);
        while (!shared && low < high)
            run_chunk(loop, low++, worker);
    }
}

static void run_helper(void *user, uint32_t worker)
{
    run_blocks(user, worker, NULL);
}

static void run_serial(const range_loop *loop, uint32_t chunks, uint32_t worker)
{
    for (uint32_t chunk = 0; chunk < chunks; chunk++)
        run_chunk(loop, chunk, worker);
}

static void deal(range_loop *loop, uint32_t chunks, uint32_t workers)
{
    loop->block_count = workers < HDI_RANGE_BLOCKS ? workers : HDI_RANGE_BLOCKS;
    if (loop->block_count > chunks)
        loop->block_count = chunks;
    for (uint32_t i = 0; i < loop->block_count; i++) {
        uint32_t low = (uint32_t)((uint64_t)chunks * i / loop->block_count);
        uint32_t high = (uint32_t)((uint64_t)chunks * (i + 1) / loop->block_count);
        /* relaxed: published with the loop's number, or with its jobs. */
        hdi_store(&loop->blocks[i].span, pack(low, high), memory_order_relaxed);
    }
}

/* ---- open loops ---- */

/* Numbers tell the loops of all places apart. */
static uint32_t place_of(uint64_t number)
{
    return (uint32_t)(number / 2) % HDI_OPEN_LOOPS;
}

/* As a job would run: it counts as one for the worker, and for the profiler. */
static bool run_joined(hdi_worker *worker, uint32_t place)
{
    hd_jobs *jobs = worker->pool;
    hdi_open_loop *loop = &jobs->loop[place];
    bool critical = worker->critical;

    worker->critical = hdi_load(&loop->critical, memory_order_relaxed);
    worker->running++;
    if (jobs->profile)
        jobs->profile(NULL, worker->index, false, jobs->profile_user);
    bool any = run_blocks(&loop->ranges, worker->index, &jobs->open[place]);
    if (jobs->profile)
        jobs->profile(NULL, worker->index, true, jobs->profile_user);
    worker->running--;
    worker->critical = critical;
    /* relaxed: newcomers would find nothing to run. No other loop opens in this place while this worker is inside. */
    if (hdi_load(&jobs->open[place], memory_order_relaxed) != 0)
        hdi_store(&jobs->open[place], 0, memory_order_relaxed);
    return any;
}

static bool join(hdi_worker *worker, uint64_t number)
{
    hd_jobs *jobs = worker->pool;
    uint32_t place = place_of(number);
    bool any = false;

    hdi_store(&worker->inside, number, memory_order_seq_cst);
    if (hdi_load(&jobs->open[place], memory_order_seq_cst) == number) {
        /* Where no worker sleeps, none has to be woken in place of this one. So this worker goes on counting as a
         * searcher, and the cache line with the count of searchers stays where it is. */
        bool counts = !hdi_anyone_sleeps(jobs);
        if (!counts)
            hdi_stop_searching(jobs);
        any = run_joined(worker, place);
        if (!counts)
            hdi_start_searching(jobs);
    }
    /* acq_rel: releases what the chunks wrote; acquires the counter of the workers that are left behind. */
    if (hdi_swap(&worker->inside, 0, memory_order_acq_rel) & LEFT_BEHIND)
        hdi_counter_sub(jobs, &jobs->loop[place].left);
    return any;
}

bool hdi_join_loop(hdi_worker *worker, bool critical_only)
{
    hd_jobs *jobs = worker->pool;

    /* A worker that waits inside a chunk does not join a second time. relaxed: only this worker sets its mark. */
    if (hdi_load(&worker->inside, memory_order_relaxed) != 0)
        return false;
    for (uint32_t i = 0; i < HDI_OPEN_LOOPS; i++) { /* from different ones, so that of two each finds some */
        uint32_t place = (worker->index + i) % HDI_OPEN_LOOPS;
        /* acquire: the loop's tables. */
        uint64_t number = hdi_load(&jobs->open[place], memory_order_acquire);
        bool fits = number != 0 && (!critical_only || hdi_load(&jobs->loop[place].critical, memory_order_relaxed));
        if (fits && join(worker, number))
            return true;
    }
    return false;
}

static bool anyone_inside(hd_jobs *jobs, uint32_t place)
{
    for (uint32_t i = 0; i < jobs->worker_count; i++) {
        /* seq_cst: see the top; it acquires what the chunks wrote, too. */
        uint64_t mark = hdi_load(&jobs->workers[i].inside, memory_order_seq_cst);
        if (mark != 0 && place_of(mark) == place)
            return true;
    }
    return false;
}

/* Chunks run for as long as they like: after some time the caller helps with other jobs, and then sleeps. */
static void wait_until_left(hdi_worker *self, uint32_t place)
{
    hd_jobs *jobs = self->pool;
    hd_counter *left = &jobs->loop[place].left;

    for (uint64_t began = 0; anyone_inside(jobs, place);) {
        uint64_t now = hdi_clock_ns();
        began = began ? began : now;
        if (now - began > PATIENCE_NS)
            break;
        ck_pr_stall();
    }
    for (uint32_t i = 0; i < jobs->worker_count; i++) {
        uint64_t mark = hdi_load(&jobs->workers[i].inside, memory_order_acquire);
        if (mark == 0 || place_of(mark) != place)
            continue;
        hdi_counter_add(left, 1);
        /* acq_rel: a worker that finds the bit finds itself counted; else what the chunks wrote is acquired. */
        if (!hdi_cas(&jobs->workers[i].inside, &mark, mark | LEFT_BEHIND, memory_order_acq_rel, memory_order_acquire))
            hdi_counter_sub(jobs, left);
    }
    hdi_pool_wait(self, left);
}

static bool take_place(hd_jobs *jobs, uint32_t *place)
{
    for (uint32_t i = 0; i < HDI_OPEN_LOOPS; i++) {
        bool taken = hdi_load(&jobs->taken[i], memory_order_relaxed);
        /* acquire: as the caller before left it. */
        if (!taken && hdi_cas(&jobs->taken[i], &taken, true, memory_order_acquire, memory_order_relaxed)) {
            *place = i;
            return true;
        }
    }
    return false;
}

/* False where as many are open as can be. */
static bool run_open(hdi_worker *self, const range_loop *ranges, uint32_t chunks)
{
    hd_jobs *jobs = self->pool;
    bool first = !hdi_any_loop_taken(jobs);
    uint32_t place;

    if (!take_place(jobs, &place))
        return false;
    hdi_open_loop *loop = &jobs->loop[place];
    loop->ranges.count = ranges->count;
    loop->ranges.grain = ranges->grain;
    loop->ranges.fn = ranges->fn;
    loop->ranges.user = ranges->user;
    deal(&loop->ranges, chunks, jobs->worker_count);
    hdi_store(&loop->critical, self->critical, memory_order_relaxed);
    loop->newest += loop->newest ? 2 * HDI_OPEN_LOOPS : 2 * (HDI_OPEN_LOOPS + place);
    /* release: the tables. The fence as behind a push: a worker that goes to sleep sees the loop, or is seen. */
    hdi_store(&jobs->open[place], loop->newest, memory_order_release);
    hdi_fence();
    if (!first || hdi_load(&jobs->searchers, memory_order_relaxed) == 0) /* else a searcher joins */
        hdi_wake_one(jobs, loop->ranges.block_count - 1);
    run_blocks(&loop->ranges, self->index, &jobs->open[place]);
    hdi_store(&jobs->open[place], 0, memory_order_seq_cst);
    wait_until_left(self, place);
    hdi_store(&jobs->taken[place], false, memory_order_release);
    return true;
}

/* ---- as jobs ---- */

static void run_as_jobs(hd_jobs *jobs, hdi_worker *self, range_loop *loop, uint32_t chunks)
{
    hd_job helpers[HDI_RANGE_BLOCKS];
    hd_counter counter = {0};

    deal(loop, chunks, jobs->worker_count);
    /* A caller that is a worker of the pool runs chunks too, and needs one helper less. */
    uint32_t helper_count = loop->block_count - (self ? 1 : 0);
    for (uint32_t i = 0; i < helper_count; i++)
        helpers[i] = (hd_job){.fn = run_helper, .user = loop, .critical = self && self->critical};
    if (helper_count > 0)
        hd_jobs_submit(jobs, helpers, helper_count, &counter);
    if (self) {
        run_blocks(loop, self->index, NULL);
        hdi_pool_wait(self, &counter);
    } else {
        hd_jobs_wait(jobs, &counter);
    }
}

void hd_jobs_parallel_for(hd_jobs *jobs, uint32_t count, uint32_t grain, hd_range_fn fn, void *user)
{
    range_loop loop;

    if (count == 0 || !fn)
        return;
    loop.count = count;
    loop.grain = grain ? grain : 1;
    loop.fn = fn;
    loop.user = user;
    uint32_t chunks = (count - 1) / loop.grain + 1;
    hdi_worker *self = jobs ? hdi_pool_enter(jobs) : NULL;
    if (!jobs || (self && (chunks == 1 || jobs->worker_count == 1)))
        run_serial(&loop, chunks, self ? self->index : 0);
    else if (!self || !run_open(self, &loop, chunks))
        run_as_jobs(jobs, self, &loop, chunks);
    if (self)
        hdi_pool_leave(self);
}
