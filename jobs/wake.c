#include "pool.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How workers search for work, sleep and wake each other.
 *
 * A worker without work first searches (it is counted in `searchers`), then parks on its own event count. A submit
 * wakes one sleeper, and none while another worker searches: a wake costs the waker 7 to 13 us and the sleeper up to
 * 38 us, a searcher starts within half a microsecond. A worker that stops searching, for any reason, looks once more
 * and wakes the next one if there is work. So submits may rely on a searcher that is just leaving, and a batch wakes as
 * many workers as it can feed, one after another. A host's threads do not park, they return: where no worker sleeps and
 * none searches, loops are handed over.
 *
 * No wake-up is lost because a sequentially consistent fence stands between the two steps of each side, so that one of
 * the two must see the other:
 *
 *   submit    push, fence, read searchers and sleepers
 *   park      stop counting as a searcher, set the sleep bit, fence, look at all queues
 *   found     stop counting as a searcher, fence, look at all queues
 *   give up   the same
 *
 * A parallel_for that workers join (ranges.c) is work to be found like jobs in a queue, as long as it is open.
 *
 * A waker counts the sleeper as a searcher before it clears its bit, so that a burst of submits wakes one and not all.
 *
 * Event counts are ConcurrencyKit's ck_ec32 over futexes, one a worker, as ck_ec wakes everyone on its address. They
 * order nothing here that is relied on: data is published by the deques, the injected runs and the counters.
 * tests/jobs/park.pml is a model of this file. */

/* ---- event counts over futexes ---- */

static int event_time(const struct ck_ec_ops *ops, struct timespec *out)
{
    (void)ops;
    return clock_gettime(CLOCK_MONOTONIC, out);
}

/* The deadline is ck_ec's own, as no caller here gives one: ck_ec sleeps for a second at first, in case a single
 * producer that writes without atomics missed the sleeper's flag. Several producers cannot miss it, and idle workers
 * are to sleep on. */
static void event_wait(const struct ck_ec_wait_state *state, const uint32_t *address, uint32_t expected,
                       const struct timespec *deadline)
{
    (void)state;
    (void)deadline;
    /* Any early return is allowed: ck_ec looks again. */
    syscall(SYS_futex, address, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void event_wake(const struct ck_ec_ops *ops, const uint32_t *address)
{
    (void)ops;
    syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static const struct ck_ec_ops event_ops = {
    .gettime = event_time,
    .wait32 = event_wait,
    .wake32 = event_wake,
    .busy_loop_iter = 1,
};
static const struct ck_ec_mode event_mode = {.ops = &event_ops, .single_producer = false};

uint32_t hdi_event_key(struct ck_ec32 *event)
{
    HDI_STEP();
    return ck_ec32_value(event);
}

void hdi_event_wait(struct ck_ec32 *event, uint32_t key)
{
    HDI_STEP();
    ck_ec32_wait(event, &event_mode, key, NULL);
}

void hdi_event_move(struct ck_ec32 *event)
{
    HDI_STEP();
    ck_ec32_inc(event, &event_mode);
}

/* ---- looks ---- */

/* acquire: for callers that look for an open loop afterwards, in this order. The fences order all other looks. */
bool hdi_anyone_sleeps(hd_jobs *jobs)
{
    for (uint32_t word = 0; word * 64 < jobs->worker_count; word++)
        if (hdi_load(&jobs->sleepers[word], memory_order_acquire))
            return true;
    return false;
}

bool hdi_any_loop_taken(hd_jobs *jobs)
{
    for (int i = 0; i < HDI_OPEN_LOOPS; i++) {
        if (hdi_load(&jobs->taken[i], memory_order_relaxed))
            return true;
    }
    return false;
}

/* A worker that takes part in an open loop still counts as a searcher, unless a worker slept when it joined. So while
 * there is an open loop, no searcher can be relied on. */
static bool has_reliable_searcher(hd_jobs *jobs)
{
    return hdi_load(&jobs->searchers, memory_order_relaxed) != 0 && !hdi_any_loop_taken(jobs);
}

bool hdi_has_work(hd_jobs *jobs)
{
    if (hdi_loop_is_open(jobs))
        return true;
    for (uint32_t level = 0; level < HDI_LEVELS; level++) {
        if (hdi_load(&jobs->injected[level], memory_order_relaxed))
            return true;
        for (uint32_t i = 0; i < jobs->worker_count; i++)
            if (hdi_deque_has_work(&jobs->workers[i].deques[level]))
                return true;
    }
    return false;
}

/* ---- waking ---- */

/* Clears the bit of one sleeper with an index below the limit and moves its event; false if all were gone. */
static bool wake_a_sleeper(hd_jobs *jobs, uint32_t limit)
{
    for (uint32_t word = 0; word * 64 < limit; word++) {
        uint64_t wanted = limit - word * 64 >= 64 ? UINT64_MAX : ((uint64_t)1 << (limit - word * 64)) - 1;
        uint64_t mask = hdi_load(&jobs->sleepers[word], memory_order_relaxed) & wanted;
        while (mask) {
            uint32_t bit = (uint32_t)__builtin_ctzll(mask);
            /* acq_rel: the sleeper that finds its bit cleared must find itself counted in searchers. */
            uint64_t old = hdi_and(&jobs->sleepers[word], ~((uint64_t)1 << bit), memory_order_acq_rel);
            if (old >> bit & 1) {
                hdi_event_move(&jobs->workers[word * 64 + bit].event);
                return true;
            }
            mask = old & wanted;
        }
    }
    return false;
}

/* Stops counting one searcher; true if there is work that a submit may have left to it. */
static bool uncount(hd_jobs *jobs)
{
    hdi_sub(&jobs->searchers, 1, memory_order_relaxed);
    hdi_fence();
    return hdi_has_work(jobs);
}

void hdi_wake_one(hd_jobs *jobs, uint32_t count)
{
    for (;;) {
        bool sleepers = hdi_anyone_sleeps(jobs);
        if ((!sleepers && !jobs->enqueue) || has_reliable_searcher(jobs))
            return;
        if (!sleepers) {
            hdi_host_offer(jobs, count);
            return;
        }
        hdi_add(&jobs->searchers, 1, memory_order_relaxed);
        /* If no sleeper was left to wake, another submit may have relied on the searcher that was counted here. */
        if (wake_a_sleeper(jobs, jobs->worker_count) || !uncount(jobs))
            return;
    }
}

void hdi_wake_warm(hd_jobs *jobs)
{
    enum { AT_ONCE = 2 }; /* each of these wakes as many: a wake is dear for the waker */

    for (uint32_t i = 0; i < AT_ONCE && hdi_anyone_sleeps(jobs); i++) {
        hdi_add(&jobs->searchers, 1, memory_order_relaxed);
        if (wake_a_sleeper(jobs, jobs->warm_count))
            continue;
        if (uncount(jobs))
            hdi_wake_one(jobs, 1);
        return;
    }
}

void hdi_start_searching(hd_jobs *jobs)
{
    hdi_add(&jobs->searchers, 1, memory_order_relaxed);
}

void hdi_stop_searching(hd_jobs *jobs)
{
    uint32_t before = hdi_sub(&jobs->searchers, 1, memory_order_relaxed);

    hdi_fence();
    if (before == 1 && (jobs->enqueue || hdi_anyone_sleeps(jobs)) && hdi_has_work(jobs))
        hdi_wake_one(jobs, 1);
}

bool hdi_give_up(hd_jobs *jobs)
{
    if (!uncount(jobs))
        return true;
    hdi_start_searching(jobs);
    return false;
}

void hdi_wake_waiter(hd_jobs *jobs, uint32_t waiter)
{
    if (waiter == HDI_WAITER_FOREIGN) {
        hdi_event_move(&jobs->foreign);
    } else if (waiter == HDI_WAITER_MANY) {
        for (uint32_t i = 0; i < jobs->worker_count; i++)
            hdi_event_move(&jobs->workers[i].event);
        hdi_event_move(&jobs->foreign);
    } else {
        hdi_event_move(&jobs->workers[waiter - 1].event);
    }
}

/* ---- sleeping ---- */

/* One word holds the count and the sleeper, so the last finisher either sees the sleeper or the sleeper sees the end.
 */
bool hdi_register_waiter(hd_counter *counter, uint32_t self)
{
    _Atomic(uint64_t) *state = hdi_counter_state(counter);
    uint64_t seen = hdi_load(state, memory_order_acquire);

    for (;;) {
        uint32_t waiter = (uint32_t)(seen >> 32);
        if ((uint32_t)seen == 0)
            return false;
        if (waiter == self || waiter == HDI_WAITER_MANY)
            return true;
        uint64_t mine = waiter == HDI_WAITER_NONE ? self : HDI_WAITER_MANY;
        if (hdi_cas_weak(state, &seen, mine << 32 | (uint32_t)seen, memory_order_acq_rel, memory_order_acquire))
            return true;
    }
}

void hdi_park(hdi_worker *worker, hd_counter *counter)
{
    hd_jobs *jobs = worker->pool;
    _Atomic(uint64_t) *sleepers = &jobs->sleepers[worker->index / 64];
    uint64_t bit = (uint64_t)1 << (worker->index % 64);
    uint32_t key = hdi_event_key(&worker->event); /* before everything that a waker could look at */

    /* This order: a submit that still counts on this searcher pushed before the second look below. */
    hdi_sub(&jobs->searchers, 1, memory_order_relaxed);
    hdi_or(sleepers, bit, memory_order_acq_rel);
    bool unfinished = !counter || hdi_register_waiter(counter, worker->index + 1);
    hdi_fence();
    if (unfinished && !hdi_finished(jobs, counter) && !hdi_has_work(jobs))
        hdi_event_wait(&worker->event, key);
    /* acq_rel: pairs with wake_a_sleeper. A bit that is still there means that no waker counted this worker. */
    if (hdi_and(sleepers, ~bit, memory_order_acq_rel) & bit)
        hdi_start_searching(jobs);
}
