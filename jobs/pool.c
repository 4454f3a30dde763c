#include "pool.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "clock.h"
#include "cpus.h"

/* Who looks for work, who sleeps and who wakes whom.
 *
 * A worker without work first searches (it is counted in `searchers`), about SPIN_NS long, then parks on its own event
 * count. A submit wakes one sleeper, and none while somebody searches: a wake costs the waker 7 to 13 us and the
 * sleeper up to 38 us, a searcher starts within half a microsecond. Whoever stops searching for any reason looks once
 * more, and wakes the next if there is work: so submits may rely on a searcher that is just leaving, and a batch wakes
 * as many as it can feed, one after another.
 *
 * No wake-up is lost because a sequentially consistent fence stands between the two steps of each side, so that one of
 * the two must see the other:
 *
 *   submit    push, fence, read searchers and sleepers
 *   park      stop counting as a searcher, set the sleep bit, fence, look at all queues
 *   found     stop counting as a searcher, fence, look at all queues
 *
 * A waker counts the sleeper as a searcher before it clears its bit, so that a burst of submits wakes one and not all.
 *
 * Event counts are ConcurrencyKit's ck_ec32 over futexes, one a worker, as ck_ec wakes everyone on its address. They
 * order nothing here that is relied on: data is published by the deques, the injected runs and the counters. */

enum {
    SPIN_NS = 30000,    /* long enough for the gaps within a frame, short enough to leave an idle core idle */
    STALLS = 24,        /* pauses between two looks: a look moves the owner's cache line away from it */
    LOOKS_A_CLOCK = 8,  /* looks between two readings of the clock */
    TAKE_AT_ONCE = 256, /* jobs taken from an injected run by one worker */
};

/* The innermost worker that this thread is; others hang behind it, for jobs of one pool that wait for another. */
static _Thread_local hdi_worker *current_worker;

/* ---- event counts over futexes ---- */

static int event_time(const struct ck_ec_ops *ops, struct timespec *out)
{
    (void)ops;
    return clock_gettime(CLOCK_MONOTONIC, out);
}

static void event_wait(const struct ck_ec_wait_state *state, const uint32_t *address, uint32_t expected,
                       const struct timespec *deadline)
{
    (void)state;
    /* The BITSET form takes an absolute monotonic deadline. Any early return is allowed: ck_ec looks again. */
    syscall(SYS_futex, address, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void event_wake(const struct ck_ec_ops *ops, const uint32_t *address)
{
    (void)ops;
    syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* ck_ec waits with growing timeouts up to a second before it waits for ever, which only its single-producer mode needs;
 * starting at a second keeps idle workers from waking up. */
static const struct ck_ec_ops event_ops = {
    .gettime = event_time,
    .wait32 = event_wait,
    .wake32 = event_wake,
    .busy_loop_iter = 1,
    .initial_wait_ns = 1000000000,
};
static const struct ck_ec_mode event_mode = {.ops = &event_ops, .single_producer = false};

/* ---- fences and looks ---- */

/* gcc warns that ThreadSanitizer does not model fences. What these order is who wakes whom, never data. */
static void fence(void)
{
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wtsan"
#endif
    atomic_thread_fence(memory_order_seq_cst);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

static bool anyone_sleeps(hd_jobs *jobs)
{
    for (uint32_t word = 0; word * 64 < jobs->worker_count; word++)
        if (atomic_load_explicit(&jobs->sleepers[word], memory_order_relaxed))
            return true;
    return false;
}

static bool has_work(hd_jobs *jobs)
{
    if (atomic_load_explicit(&jobs->injected, memory_order_relaxed))
        return true;
    for (uint32_t i = 0; i < jobs->worker_count; i++)
        if (hdi_deque_has_work(&jobs->workers[i].deque))
            return true;
    return false;
}

/* ---- waking ---- */

/* Clears one sleeper's bit and moves its event; false if all were gone. */
static bool wake_a_sleeper(hd_jobs *jobs)
{
    for (uint32_t word = 0; word * 64 < jobs->worker_count; word++) {
        uint64_t mask = atomic_load_explicit(&jobs->sleepers[word], memory_order_relaxed);
        while (mask) {
            uint32_t bit = (uint32_t)__builtin_ctzll(mask);
            /* acq_rel: the sleeper that finds its bit cleared must find itself counted in searchers. */
            uint64_t old =
                atomic_fetch_and_explicit(&jobs->sleepers[word], ~((uint64_t)1 << bit), memory_order_acq_rel);
            if (old >> bit & 1) {
                ck_ec32_inc(&jobs->workers[word * 64 + bit].event, &event_mode);
                return true;
            }
            mask = old;
        }
    }
    return false;
}

/* Behind a fence that follows the push, or the end of a search. */
static void wake_one(hd_jobs *jobs)
{
    while (anyone_sleeps(jobs) && atomic_load_explicit(&jobs->searchers, memory_order_relaxed) == 0) {
        atomic_fetch_add_explicit(&jobs->searchers, 1, memory_order_relaxed);
        if (wake_a_sleeper(jobs))
            return;
        /* Nobody was left to wake, but another submit may have relied on the searcher that was counted here. */
        atomic_fetch_sub_explicit(&jobs->searchers, 1, memory_order_relaxed);
        fence();
        if (!has_work(jobs))
            return;
    }
}

static void stop_searching(hd_jobs *jobs)
{
    uint32_t before = atomic_fetch_sub_explicit(&jobs->searchers, 1, memory_order_relaxed);

    fence();
    if (before == 1 && anyone_sleeps(jobs) && has_work(jobs))
        wake_one(jobs);
}

static void wake_waiter(hd_jobs *jobs, uint32_t waiter)
{
    if (waiter == HDI_WAITER_FOREIGN) {
        ck_ec32_inc(&jobs->foreign, &event_mode);
    } else if (waiter == HDI_WAITER_MANY) {
        for (uint32_t i = 0; i < jobs->worker_count; i++)
            ck_ec32_inc(&jobs->workers[i].event, &event_mode);
        ck_ec32_inc(&jobs->foreign, &event_mode);
    } else {
        ck_ec32_inc(&jobs->workers[waiter - 1].event, &event_mode);
    }
}

/* ---- injected runs ---- */

/* A run is an array of jobs whose first one carries its length and the link to the next older run. */
static void inject(hd_jobs *jobs, hd_job *newest, hd_job *oldest)
{
    hd_job *head = atomic_load_explicit(&jobs->injected, memory_order_relaxed);

    /* release: the jobs are visible to whoever takes the list. The list is only ever taken whole, so the swap cannot
     * be fooled by a head that came back. */
    do
        oldest->next = head;
    while (!atomic_compare_exchange_weak_explicit(&jobs->injected, &head, newest, memory_order_release,
                                                  memory_order_relaxed));
}

/* Takes jobs from the oldest run: one to run now, more into the worker's deque, the rest goes back. */
static hd_job *take_injected(hd_jobs *jobs, hdi_worker *worker)
{
    if (!atomic_load_explicit(&jobs->injected, memory_order_relaxed))
        return NULL;
    hd_job *newest = atomic_exchange_explicit(&jobs->injected, NULL, memory_order_acquire);
    if (!newest)
        return NULL;

    hd_job *before = NULL, *oldest = newest;
    while (oldest->next) {
        before = oldest;
        oldest = oldest->next;
    }
    if (before)
        inject(jobs, newest, before);
    uint32_t left = oldest->run - 1;
    hd_job *rest = oldest + 1;
    if (left > 0) {
        uint32_t pushed = hdi_deque_push(&worker->deque, rest, left < TAKE_AT_ONCE ? left : TAKE_AT_ONCE);
        rest += pushed;
        left -= pushed;
    }
    if (left > 0) {
        rest->run = left;
        inject(jobs, rest, rest);
    }
    if (before || oldest->run > 1) {
        /* While the list was out of sight, somebody may have looked and gone to sleep. */
        fence();
        wake_one(jobs);
    }
    return oldest;
}

/* ---- finding and running ---- */

static hd_job *steal_any(hdi_worker *worker)
{
    hd_jobs *jobs = worker->pool;
    uint32_t count = jobs->worker_count;

    /* xorshift: thieves that start at different victims do not queue up at one. */
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 17;
    worker->random ^= worker->random << 5;
    uint32_t victim = worker->random % count;
    for (uint32_t i = 0; i < count; i++, victim = victim + 1 == count ? 0 : victim + 1) {
        hd_job *job = victim != worker->index ? hdi_deque_steal(&jobs->workers[victim].deque) : NULL;
        if (job)
            return job;
    }
    return NULL;
}

static hd_job *find_job(hdi_worker *worker)
{
    hd_job *job = hdi_deque_take(&worker->deque);

    if (!job)
        job = take_injected(worker->pool, worker);
    if (!job)
        job = steal_any(worker);
    return job;
}

static void run_job(hdi_worker *worker, hd_job *job)
{
    hd_jobs *jobs = worker->pool;
    hd_counter *counter = job->counter; /* before the call: the job may die with the counter's last count */

    if (jobs->profile) {
        const char *name = job->name;
        jobs->profile(name, worker->index, false, jobs->profile_user);
        job->fn(job->user, worker->index);
        jobs->profile(name, worker->index, true, jobs->profile_user);
    } else {
        job->fn(job->user, worker->index);
    }
    /* acq_rel: releases what the job wrote, and the last one acquires what the others wrote for the waiter. Nothing
     * touches the counter after this: it may be gone with its owner's stack. */
    uint64_t before = atomic_fetch_sub_explicit(hdi_counter_state(counter), 1, memory_order_acq_rel);
    if ((uint32_t)before == 1 && before >> 32 != HDI_WAITER_NONE)
        wake_waiter(jobs, (uint32_t)(before >> 32));
}

/* ---- parking ---- */

/* FOREIGN and MANY stand for several threads, and a waiter that leaves cannot tell whether it was the last: so nobody
 * takes a name off. The next submit that finds the count at zero does: whoever was named there has been woken, or is
 * about to be, and puts its name down again before it sleeps again. */
void hdi_counter_add(hd_counter *counter, uint32_t count)
{
    _Atomic(uint64_t) *state = hdi_counter_state(counter);
    uint64_t seen = atomic_load_explicit(state, memory_order_relaxed), next;

    /* relaxed: the push publishes the count together with the jobs, and it comes before the push, so that no job can
     * end uncounted. */
    do
        next = ((uint32_t)seen == 0 ? 0 : seen) + count;
    while (!atomic_compare_exchange_weak_explicit(state, &seen, next, memory_order_relaxed, memory_order_relaxed));
}

/* Notes that who sleeps until the counter is done; false if it is done. One word holds both, so the last finisher
 * either sees the sleeper or the sleeper sees the end. */
static bool register_waiter(hd_counter *counter, uint32_t who)
{
    _Atomic(uint64_t) *state = hdi_counter_state(counter);
    uint64_t seen = atomic_load_explicit(state, memory_order_acquire);

    for (;;) {
        uint32_t waiter = (uint32_t)(seen >> 32);
        if ((uint32_t)seen == 0)
            return false;
        if (waiter == who || waiter == HDI_WAITER_MANY)
            return true;
        uint64_t mine = waiter == HDI_WAITER_NONE ? who : HDI_WAITER_MANY;
        if (atomic_compare_exchange_weak_explicit(state, &seen, mine << 32 | (uint32_t)seen, memory_order_acq_rel,
                                                  memory_order_acquire))
            return true;
    }
}

/* counter null: a thread of the pool, which goes on until the pool stops. */
static bool finished(hd_jobs *jobs, hd_counter *counter)
{
    return counter ? hdi_counter_done(counter) : atomic_load_explicit(&jobs->stop, memory_order_acquire);
}

/* Enters and leaves as a searcher; sleeps in between unless the second look finds something. */
static void park(hdi_worker *worker, hd_counter *counter)
{
    hd_jobs *jobs = worker->pool;
    _Atomic(uint64_t) *sleepers = &jobs->sleepers[worker->index / 64];
    uint64_t bit = (uint64_t)1 << (worker->index % 64);
    uint32_t key = ck_ec32_value(&worker->event); /* before everything that a waker could look at */

    /* This order: a submit that still counts on this searcher pushed before the second look below. */
    atomic_fetch_sub_explicit(&jobs->searchers, 1, memory_order_relaxed);
    atomic_fetch_or_explicit(sleepers, bit, memory_order_acq_rel);
    bool unfinished = !counter || register_waiter(counter, worker->index + 1);
    fence();
    if (unfinished && !finished(jobs, counter) && !has_work(jobs))
        ck_ec32_wait(&worker->event, &event_mode, key, NULL);
    /* acq_rel: pairs with wake_a_sleeper. A bit that is still there means that no waker counted this worker. */
    if (atomic_fetch_and_explicit(sleepers, ~bit, memory_order_acq_rel) & bit)
        atomic_fetch_add_explicit(&jobs->searchers, 1, memory_order_relaxed);
}

/* A job, or null when finished. Spins, then parks, and again. */
static hd_job *search(hdi_worker *worker, hd_counter *counter)
{
    hd_jobs *jobs = worker->pool;
    hd_job *job = NULL;

    atomic_fetch_add_explicit(&jobs->searchers, 1, memory_order_relaxed);
    for (;;) {
        uint64_t until = hdi_clock_ns() + SPIN_NS;
        do {
            for (uint32_t look = 0; look < LOOKS_A_CLOCK; look++) {
                if (finished(jobs, counter) || (job = find_job(worker)) != NULL) {
                    stop_searching(jobs);
                    return job;
                }
                for (uint32_t i = 0; i < STALLS; i++)
                    ck_pr_stall();
            }
        } while (hdi_clock_ns() < until);
        park(worker, counter);
    }
}

static void *worker_main(void *argument)
{
    hdi_worker *worker = argument;
    hd_job *job;

    worker->depth = 1;
    current_worker = worker;
    while ((job = find_job(worker)) != NULL || (job = search(worker, NULL)) != NULL)
        run_job(worker, job);
    return NULL;
}

/* ---- entries ---- */

hdi_worker *hdi_pool_enter(hd_jobs *jobs)
{
    uint32_t state = HDI_SLOT_FREE;

    for (hdi_worker *worker = current_worker; worker; worker = worker->outer)
        if (worker->pool == jobs) {
            worker->depth++;
            return worker;
        }
    /* acquire: the deque as the last holder left it. */
    if (!atomic_compare_exchange_strong_explicit(&jobs->slot, &state, HDI_SLOT_TAKEN, memory_order_acquire,
                                                 memory_order_relaxed))
        return NULL;
    hdi_worker *worker = &jobs->workers[0];
    worker->depth = 1;
    worker->outer = current_worker;
    current_worker = worker;
    return worker;
}

void hdi_pool_leave(hdi_worker *worker)
{
    hd_jobs *jobs = worker->pool;

    if (--worker->depth > 0)
        return;
    current_worker = worker->outer;
    worker->outer = NULL;
    if (atomic_exchange_explicit(&jobs->slot, HDI_SLOT_FREE, memory_order_acq_rel) == HDI_SLOT_WANTED)
        ck_ec32_inc(&jobs->foreign, &event_mode);
}

void hdi_pool_push(hd_jobs *jobs, hdi_worker *worker, hd_job *job, uint32_t count)
{
    uint32_t pushed = worker ? hdi_deque_push(&worker->deque, job, count) : 0;

    if (pushed < count) {
        job[pushed].run = count - pushed;
        inject(jobs, &job[pushed], &job[pushed]);
    }
    fence();
    wake_one(jobs);
}

void hdi_pool_wait(hdi_worker *worker, hd_counter *counter)
{
    while (!hdi_counter_done(counter)) {
        hd_job *job = find_job(worker);
        if (!job)
            job = search(worker, counter);
        if (job)
            run_job(worker, job);
    }
}

void hdi_pool_wait_outside(hd_jobs *jobs, hd_counter *counter)
{
    uint32_t key = ck_ec32_value(&jobs->foreign);
    uint32_t state = HDI_SLOT_TAKEN;

    if (!register_waiter(counter, HDI_WAITER_FOREIGN))
        return;
    /* Marks the slot as wanted, unless it fell free: then the caller tries to enter again. Both words that end the
     * sleep were written before it, by read-modify-writes on the very words that the wakers change: nobody can miss it.
     */
    if (atomic_compare_exchange_strong_explicit(&jobs->slot, &state, HDI_SLOT_WANTED, memory_order_acq_rel,
                                                memory_order_relaxed) ||
        state == HDI_SLOT_WANTED)
        ck_ec32_wait(&jobs->foreign, &event_mode, key, NULL);
}

static void stop_threads(hd_jobs *jobs, uint32_t started)
{
    atomic_store_explicit(&jobs->stop, true, memory_order_seq_cst);
    for (uint32_t i = 1; i < started; i++)
        ck_ec32_inc(&jobs->workers[i].event, &event_mode);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(jobs->workers[i].thread, NULL);
}

/* Threads with all signals blocked: a host's handlers run on the host's threads. Returns how many workers there are,
 * worker 0 included. */
static uint32_t start_threads(hd_jobs *jobs)
{
    sigset_t all, before;
    uint32_t i;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (i = 1; i < jobs->worker_count; i++) {
        char name[32]; /* the kernel keeps 15 characters, and an index has at most three digits */
        if (pthread_create(&jobs->workers[i].thread, NULL, worker_main, &jobs->workers[i]) != 0)
            break;
        snprintf(name, sizeof name, "%.11s-%u", jobs->name, i);
        pthread_setname_np(jobs->workers[i].thread, name);
        if (jobs->pin)
            hdi_cpus_pin(jobs->workers[i].thread, i);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return i;
}

hd_result hd_jobs_create(const hd_jobs_desc *desc, hd_jobs **out)
{
    static const hd_jobs_desc defaults;

    if (!out)
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    if (!desc)
        desc = &defaults;
    if (desc->worker_count > HD_MAX_WORKERS)
        return HD_TOO_LARGE;
    uint32_t count = desc->worker_count ? desc->worker_count : hdi_cpus_usable();
    if (count > HD_MAX_WORKERS)
        count = HD_MAX_WORKERS;

    size_t bytes = count * sizeof(hdi_worker);
    hd_jobs *jobs = hdi_alloc(&desc->allocator, sizeof *jobs, HDI_LINE);
    hdi_worker *workers = hdi_alloc(&desc->allocator, bytes, HDI_LINE);
    if (!jobs || !workers) {
        hdi_free(&desc->allocator, jobs, sizeof *jobs);
        hdi_free(&desc->allocator, workers, bytes);
        return HD_OUT_OF_MEMORY;
    }
    memset(jobs, 0, sizeof *jobs);
    memset(workers, 0, bytes);
    jobs->allocator = desc->allocator;
    jobs->log = desc->log;
    jobs->pin = desc->pin;
    jobs->profile = desc->profile;
    jobs->profile_user = desc->profile_user;
    jobs->workers = workers;
    jobs->workers_bytes = bytes;
    jobs->worker_count = count;
    snprintf(jobs->name, sizeof jobs->name, "%s", desc->name ? desc->name : "heddle");
    for (uint32_t i = 0; i < count; i++) {
        workers[i].pool = jobs;
        workers[i].index = i;
        workers[i].random = 0x9e3779b9u * (i + 1);
    }
    uint32_t started = start_threads(jobs);
    if (started < count) {
        hdi_log(&jobs->log, HD_LOG_ERROR, "jobs: thread %u of %u could not be started", started, count);
        stop_threads(jobs, started);
        hdi_free(&desc->allocator, workers, bytes);
        hdi_free(&desc->allocator, jobs, sizeof *jobs);
        return HD_OUT_OF_MEMORY;
    }
    *out = jobs;
    return HD_OK;
}

void hd_jobs_destroy(hd_jobs *jobs)
{
    if (!jobs)
        return;
    hd_allocator allocator = jobs->allocator;
    stop_threads(jobs, jobs->worker_count);
    hdi_free(&allocator, jobs->workers, jobs->workers_bytes);
    hdi_free(&allocator, jobs, sizeof *jobs);
}

uint32_t hd_jobs_worker_count(const hd_jobs *jobs)
{
    return jobs ? jobs->worker_count : 1;
}
