#include "pool.h"

#include "clock.h"

/* Which worker of a pool a thread is, and how workers find jobs and run them.
 *
 * Order: critical jobs before others, and within each the worker's own newest first, then those that no deque had room
 * for, then the oldest of another worker. Strict order would let critical jobs that keep coming starve the others, so
 * after STREAK critical ones in a row a worker looks for another one first. The other workers' critical deques are
 * looked at only while the count of critical jobs is not zero: without critical jobs no worker writes that line. */

enum {
    SPIN_NS = 30000,    /* long enough for the gaps within a frame, short enough to leave an idle core idle */
    LOOKS_A_CLOCK = 8,  /* looks between two readings of the clock */
    TAKE_AT_ONCE = 256, /* jobs taken from an injected run by one worker */
    STREAK = 63,        /* critical jobs in a row, if there are others */
};

/* The innermost worker that this thread is; others hang behind it, for jobs of one pool that wait for another. */
static _Thread_local hdi_worker *current_worker;

/* ---- injected runs ---- */

/* A run is an array of jobs whose first one carries its length and the link to the next older run. */
static void inject(hd_jobs *jobs, uint32_t level, hd_job *newest, hd_job *oldest)
{
    hd_job *head = hdi_load(&jobs->injected[level], memory_order_relaxed);

    /* release: the jobs are visible to the worker that takes the list. The list is always taken whole, so a head that
     * came back (ABA) cannot mislead the swap. */
    do
        oldest->next = head;
    while (!hdi_cas_weak(&jobs->injected[level], &head, newest, memory_order_release, memory_order_relaxed));
}

/* Takes jobs from the oldest run: one to run now, more into the worker's deque, the rest goes back. */
static hd_job *take_injected(hdi_worker *worker, uint32_t level)
{
    hd_jobs *jobs = worker->pool;

    if (!hdi_load(&jobs->injected[level], memory_order_relaxed))
        return NULL;
    /* acquire: pairs with inject. */
    hd_job *newest = hdi_swap(&jobs->injected[level], NULL, memory_order_acquire);
    if (!newest)
        return NULL;

    hd_job *before = NULL, *oldest = newest;
    while (oldest->next) {
        before = oldest;
        oldest = oldest->next;
    }
    if (before)
        inject(jobs, level, newest, before);
    uint32_t left = oldest->run - 1;
    hd_job *rest = oldest + 1;
    if (left > 0) {
        uint32_t pushed =
            hdi_deque_push(&worker->deques[level], rest, left < TAKE_AT_ONCE ? left : TAKE_AT_ONCE, HDI_DEQUE_HALF);
        rest += pushed;
        left -= pushed;
    }
    if (left > 0) {
        rest->run = left;
        inject(jobs, level, rest, rest);
    }
    if (before || oldest->run > 1) {
        /* While the list was out of sight, another worker may have looked and gone to sleep. */
        hdi_fence();
        hdi_wake_one(jobs, 1);
    }
    return oldest;
}

/* ---- finding and running ---- */

static hd_job *steal_any(hdi_worker *worker, uint32_t level)
{
    hd_jobs *jobs = worker->pool;
    uint32_t count = jobs->worker_count;

    /* xorshift: thieves that start at different victims do not queue up at one. */
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 17;
    worker->random ^= worker->random << 5;
    uint32_t victim = worker->random % count;
    for (uint32_t i = 0; i < count; i++, victim = victim + 1 == count ? 0 : victim + 1) {
        hd_job *job = victim != worker->index ? hdi_deque_steal(&jobs->workers[victim].deques[level]) : NULL;
        if (job)
            return job;
    }
    return NULL;
}

static hd_job *find_common(hdi_worker *worker)
{
    hd_job *job = hdi_deque_take(&worker->deques[HDI_COMMON]);

    if (!job)
        job = take_injected(worker, HDI_COMMON);
    if (!job)
        job = steal_any(worker, HDI_COMMON);
    if (job)
        worker->streak = 0;
    return job;
}

static hd_job *find_critical(hdi_worker *worker)
{
    hd_jobs *jobs = worker->pool;
    hd_job *job = hdi_deque_take(&worker->deques[HDI_CRITICAL]);

    /* relaxed: a hint. Before a worker sleeps, it looks at all deques behind a fence. */
    if (!job && hdi_load(&jobs->critical, memory_order_relaxed) != 0) {
        job = take_injected(worker, HDI_CRITICAL);
        if (!job)
            job = steal_any(worker, HDI_CRITICAL);
    }
    if (job) {
        hdi_sub(&jobs->critical, 1, memory_order_relaxed);
        worker->streak++;
    }
    return job;
}

static hd_job *find_job(hdi_worker *worker)
{
    hd_job *job = NULL;

    if (worker->streak >= STREAK)
        job = find_common(worker);
    if (!job)
        job = find_critical(worker);
    if (!job)
        job = find_common(worker);
    return job;
}

static void run_job(hdi_worker *worker, hd_job *job)
{
    hd_jobs *jobs = worker->pool;
    hd_counter *counter = job->counter; /* before the call: the job may die with the counter's last count */
    bool critical = worker->critical;

    worker->critical = job->critical;
    worker->running++;
    if (jobs->profile) {
        const char *name = job->name;
        jobs->profile(name, worker->index, false, jobs->profile_user);
        job->fn(job->user, worker->index);
        jobs->profile(name, worker->index, true, jobs->profile_user);
    } else {
        job->fn(job->user, worker->index);
    }
    worker->running--;
    worker->critical = critical;
    hdi_counter_sub(jobs, counter);
}

void hdi_counter_sub(hd_jobs *jobs, hd_counter *counter)
{
    /* acq_rel: releases what the job wrote, and the last one acquires what the others wrote for the waiter. Nothing
     * touches the counter after this: it may be gone with its owner's stack. */
    uint64_t before = hdi_sub(hdi_counter_state(counter), 1, memory_order_acq_rel);
    if ((uint32_t)before == 1 && before >> 32 != HDI_WAITER_NONE)
        hdi_wake_waiter(jobs, (uint32_t)(before >> 32));
}

/* FOREIGN and MANY stand for several threads, and a waiter that leaves cannot tell whether it was the last: so no
 * waiter takes its name off the counter. The next submit that finds the count at zero does: the waiter named there has
 * been woken, or is about to be, and registers again before it sleeps again. */
void hdi_counter_add(hd_counter *counter, uint32_t count)
{
    _Atomic(uint64_t) *state = hdi_counter_state(counter);
    uint64_t seen = hdi_load(state, memory_order_relaxed), next;

    /* relaxed: the push publishes the count together with the jobs, and it comes before the push, so that no job can
     * end uncounted. */
    do
        next = ((uint32_t)seen == 0 ? 0 : seen) + count;
    while (!hdi_cas_weak(state, &seen, next, memory_order_relaxed, memory_order_relaxed));
}

/* A job for one that searches, unless it found an open loop to take part in: that goes before jobs, but not before
 * critical ones if it is not critical itself, and not for ever. */
static hd_job *find_job_or_loop(hdi_worker *worker, bool *joined)
{
    hd_jobs *jobs = worker->pool;

    if (!hdi_loop_is_open(jobs))
        return find_job(worker);
    bool critical_only = hdi_load(&jobs->critical, memory_order_relaxed) != 0, first = worker->streak < STREAK;
    if (first && hdi_join_loop(worker, critical_only)) {
        worker->streak++;
        *joined = true;
        return NULL;
    }
    hd_job *job = find_job(worker);
    if (!job && (!first || critical_only) && hdi_join_loop(worker, false)) {
        worker->streak = 0;
        *joined = true;
    }
    return job;
}

/* A job, or null: finished, or a loop's time is over. Looks for SPIN_NS, then parks, and again; a thread without a
 * counter to wait for goes on looking while the pool is warm, and stops when it is to rest. A waiter does neither: it
 * may stand in the way of the very thread that it waits for. */
static hd_job *search(hdi_worker *worker, hd_counter *counter, hdi_loop *loop)
{
    hd_jobs *jobs = worker->pool;
    bool stays = !counter && worker->index < jobs->warm_count;
    hd_job *job = NULL;

    hdi_start_searching(jobs);
    for (;;) {
        /* relaxed: neither guards data, and being late costs a few looks. */
        uint32_t rests = hdi_load(loop ? &loop->rests : &jobs->rests, memory_order_relaxed);
        uint64_t now = hdi_clock_ns(), until = now + SPIN_NS;
        bool rested = false, joined = false;
        while (now < until || (stays && now < hdi_load(&jobs->warm_until, memory_order_relaxed))) {
            rested = !counter && hdi_load(&jobs->rests, memory_order_relaxed) != rests;
            if (rested)
                break;
            for (uint32_t look = 0; look < LOOKS_A_CLOCK; look++) {
                if (hdi_finished(jobs, counter) || (job = find_job_or_loop(worker, &joined)) != NULL) {
                    hdi_stop_searching(jobs);
                    return job;
                }
                for (uint32_t i = 0; i < jobs->stalls && !hdi_loop_is_open(jobs); i++)
                    ck_pr_stall();
            }
            now = hdi_clock_ns();
            until = joined ? now + SPIN_NS : until;
            joined = false;
        }
        if (!loop) {
            hdi_park(worker, counter);
            if (stays && hdi_clock_ns() < hdi_load(&jobs->warm_until, memory_order_relaxed))
                hdi_wake_warm(jobs);
        } else if (rested) {
            hdi_stop_searching(jobs);
            return NULL;
        } else if (hdi_give_up(jobs)) {
            return NULL;
        }
    }
}

void *hdi_pool_thread(void *argument)
{
    hdi_worker *worker = argument;
    hd_job *job;

    worker->depth = 1;
    current_worker = worker;
    while ((job = find_job(worker)) != NULL || (job = search(worker, NULL, NULL)) != NULL)
        run_job(worker, job);
    return NULL;
}

/* ---- entries ---- */

/* What the thread is in this pool already, or null. */
static hdi_worker *find_self(hd_jobs *jobs)
{
    hdi_worker *worker = current_worker;

    while (worker && worker->pool != jobs)
        worker = worker->outer;
    return worker;
}

static hdi_worker *become(hdi_worker *worker)
{
    worker->depth = 1;
    worker->outer = current_worker;
    current_worker = worker;
    return worker;
}

hdi_worker *hdi_pool_enter(hd_jobs *jobs)
{
    uint32_t state = HDI_SLOT_FREE;
    hdi_worker *self = find_self(jobs);

    if (self) {
        self->depth++;
        return self;
    }
    /* acquire: the deques as the last holder left them. */
    if (!hdi_cas(&jobs->slot, &state, HDI_SLOT_TAKEN, memory_order_acquire, memory_order_relaxed))
        return NULL;
    return become(&jobs->workers[0]);
}

void hdi_pool_leave(hdi_worker *worker)
{
    hd_jobs *jobs = worker->pool;

    if (--worker->depth > 0)
        return;
    current_worker = worker->outer;
    worker->outer = NULL;
    if (worker->index > 0) /* a host's thread; release: as acq_rel below */
        hdi_store(&worker->taken, false, memory_order_release);
    else if (hdi_swap(&jobs->slot, HDI_SLOT_FREE, memory_order_acq_rel) == HDI_SLOT_WANTED)
        hdi_event_move(&jobs->foreign);
}

/* A place for a host's thread; null when all are taken. */
static hdi_worker *take_place(hd_jobs *jobs)
{
    for (uint32_t i = 1; i < jobs->worker_count; i++) {
        hdi_worker *worker = &jobs->workers[i];
        bool taken = hdi_load(&worker->taken, memory_order_relaxed);
        /* acquire: the deques as the last holder left them. */
        if (!taken && hdi_cas(&worker->taken, &taken, true, memory_order_acquire, memory_order_relaxed))
            return become(worker);
    }
    return NULL;
}

/* A host may run a loop inside enqueue or finish. Such a thread is in the pool already and does not search for long:
 * the next job may be one that it has to submit itself. After a rest a worker empties its own deques only, as no other
 * worker may be there to do so; the jobs of other deques are left to their owners. */
void hdi_pool_loop(void *argument)
{
    hdi_loop *loop = argument;
    hd_jobs *jobs = loop->pool;
    hd_job *job;

    hdi_host_began(loop);
    hdi_worker *self = find_self(jobs);
    bool inside = self != NULL;
    if (inside)
        self->depth++;
    else
        self = take_place(jobs);
    while (self) {
        bool rested = hdi_load(&loop->rests, memory_order_relaxed) != hdi_load(&jobs->rests, memory_order_relaxed);
        if (rested)
            job = hdi_deque_take(&self->deques[HDI_COMMON]);
        else
            job = find_job(self);
        if (!job && rested)
            job = find_critical(self);
        if (!job && !rested && !inside)
            job = search(self, NULL, loop);
        if (!job)
            break;
        run_job(self, job);
    }
    if (self)
        hdi_pool_leave(self);
    hdi_host_ended(loop);
}

void hdi_pool_push(hd_jobs *jobs, hdi_worker *worker, hd_job *job, uint32_t count)
{
    uint32_t end = count;
    /* Half of the room is for jobs of jobs: those that wait for what did not fit would find others first, and run them
     * on top of each other. */
    uint32_t limit = worker && worker->running ? HDI_DEQUE_CAPACITY : HDI_DEQUE_HALF;

    /* Runs of one level, the last first: a worker takes what it pushed last, so they run in their order. */
    while (end > 0) {
        bool critical = job[end - 1].critical;
        uint32_t begin = end - 1;
        while (begin > 0 && job[begin - 1].critical == critical)
            begin--;
        uint32_t level = critical ? HDI_CRITICAL : HDI_COMMON, run = end - begin;
        if (critical) /* before the push, so that the count never falls below zero */
            hdi_add(&jobs->critical, run, memory_order_relaxed);
        uint32_t pushed = worker ? hdi_deque_push(&worker->deques[level], job + begin, run, limit) : 0;
        if (pushed < run) {
            job[begin + pushed].run = run - pushed;
            inject(jobs, level, &job[begin + pushed], &job[begin + pushed]);
        }
        end = begin;
    }
    hdi_fence();
    hdi_wake_one(jobs, count);
}

/* The worker's newest job if it belongs to the counter. A worker may look into a job only after it has taken the job:
 * before, another worker may have run it, and its memory may be gone. */
static hd_job *find_child(hdi_worker *worker, hd_counter *counter)
{
    for (uint32_t level = 0; level < HDI_LEVELS; level++) {
        hd_job *job = hdi_deque_take(&worker->deques[level]);
        if (job && job->counter == counter) {
            if (level == HDI_CRITICAL)
                hdi_sub(&worker->pool->critical, 1, memory_order_relaxed);
            return job;
        }
        if (job) {
            hdi_deque_push(&worker->deques[level], job, 1, HDI_DEQUE_CAPACITY); /* there is room where it was */
            /* While the job was out of sight, another worker may have looked and gone to sleep. */
            hdi_fence();
            hdi_wake_one(worker->pool, 1);
        }
    }
    return NULL;
}

/* A critical job that waits for others than critical ones would find the next critical job before them, and that one
 * the next, each on the stack of the one before: so it looks for its own first. */
void hdi_pool_wait(hdi_worker *worker, hd_counter *counter)
{
    while (!hdi_counter_done(counter)) {
        hd_job *job = worker->critical ? find_child(worker, counter) : NULL;
        if (!job)
            job = find_job(worker);
        if (!job)
            job = search(worker, counter, NULL);
        if (job)
            run_job(worker, job);
    }
}

void hdi_pool_wait_outside(hd_jobs *jobs, hd_counter *counter)
{
    uint32_t key = hdi_event_key(&jobs->foreign);
    uint32_t state = HDI_SLOT_TAKEN;

    if (!hdi_register_waiter(counter, HDI_WAITER_FOREIGN))
        return;
    /* Marks the slot as wanted, unless it fell free: then the caller tries to enter again. Both words that end the
     * sleep were written before it, by read-modify-writes on the very words that the wakers change: no waker can miss
     * the sleeper. */
    if (hdi_cas(&jobs->slot, &state, HDI_SLOT_WANTED, memory_order_acq_rel, memory_order_relaxed) ||
        state == HDI_SLOT_WANTED)
        hdi_event_wait(&jobs->foreign, key);
}
