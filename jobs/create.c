#include "pool.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "cpus.h"
#include "hold.h"

/* Pools come and go: threads of their own or a host's loops. Everything is allocated here, nothing later. */

static void stop_threads(hd_jobs *jobs, uint32_t started)
{
    hdi_store(&jobs->stop, true, memory_order_seq_cst);
    for (uint32_t i = 1; i < started; i++)
        hdi_event_move(&jobs->workers[i].event);
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
        if (pthread_create(&jobs->workers[i].thread, NULL, hdi_pool_thread, &jobs->workers[i]) != 0)
            break;
        snprintf(name, sizeof name, "%.11s-%u", jobs->name, i);
        pthread_setname_np(jobs->workers[i].thread, name);
        if (jobs->pin)
            hdi_cpus_pin(jobs->workers[i].thread, i);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return i;
}

/* A look for work takes the owner's cache lines away from it, so thieves pause in between. A pause takes 5 to 80 ns,
 * whichever processor it is: counted, it would make a look every 0.1 us here and every 2 us there. */
static uint32_t count_stalls(void)
{
    enum { BETWEEN_LOOKS_NS = 200, TRIES = 4, PAUSES = 32, LEAST = 2, MOST = 32 };
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) { /* the shortest: others were interrupted */
        uint64_t began = hdi_clock_ns();
        for (int k = 0; k < PAUSES; k++)
            ck_pr_stall();
        uint64_t time = hdi_clock_ns() - began;
        best = time < best ? time : best;
    }
    uint64_t count = BETWEEN_LOOKS_NS * PAUSES / (best + 1);
    return count < LEAST ? LEAST : count > MOST ? MOST : (uint32_t)count;
}

static void free_pool(hd_jobs *jobs)
{
    hd_allocator allocator = jobs->allocator;

    hdi_free(&allocator, jobs->loops, jobs->worker_count * sizeof(hdi_loop));
    hdi_free(&allocator, jobs->workers, jobs->worker_count * sizeof(hdi_worker));
    hdi_free(&allocator, jobs, sizeof *jobs);
}

/* Everything but the threads; null when there is no memory. */
static hd_jobs *make_pool(const hd_jobs_desc *desc, uint32_t count)
{
    hd_jobs *jobs = hdi_alloc(&desc->allocator, sizeof *jobs, alignof(hd_jobs));

    if (!jobs)
        return NULL;
    memset(jobs, 0, sizeof *jobs);
    jobs->allocator = desc->allocator;
    jobs->log = desc->log;
    jobs->pin = desc->pin;
    jobs->profile = desc->profile;
    jobs->profile_user = desc->profile_user;
    jobs->enqueue = desc->enqueue;
    jobs->finish = desc->finish;
    jobs->host_user = desc->host_user;
    jobs->worker_count = count;
    atomic_init(&jobs->holds, 1);
    jobs->stalls = count_stalls();
    snprintf(jobs->name, sizeof jobs->name, "%s", desc->name ? desc->name : "heddle");
    jobs->workers = hdi_alloc(&desc->allocator, count * sizeof(hdi_worker), alignof(hdi_worker));
    if (desc->enqueue)
        jobs->loops = hdi_alloc(&desc->allocator, count * sizeof(hdi_loop), alignof(hdi_loop));
    if (!jobs->workers || (desc->enqueue && !jobs->loops)) {
        free_pool(jobs);
        return NULL;
    }
    memset(jobs->workers, 0, count * sizeof(hdi_worker));
    if (jobs->loops)
        memset(jobs->loops, 0, count * sizeof(hdi_loop));
    for (uint32_t i = 0; i < count; i++) {
        jobs->workers[i].pool = jobs;
        jobs->workers[i].index = i;
        jobs->workers[i].random = 0x9e3779b9u * (i + 1);
        if (jobs->loops)
            jobs->loops[i].pool = jobs;
    }
    return jobs;
}

hd_result hd_jobs_create(const hd_jobs_desc *desc, hd_jobs **out)
{
    static const hd_jobs_desc defaults;

    if (!out)
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    if (!desc)
        desc = &defaults;
    if (desc->worker_count > HD_MAX_WORKERS) {
        hdi_log(&desc->log, HD_LOG_ERROR, "jobs: %u workers are asked for, and there are at most %d",
                desc->worker_count, HD_MAX_WORKERS);
        return HD_TOO_LARGE;
    }
    if (!desc->enqueue != !desc->finish) {
        hdi_log(&desc->log, HD_LOG_ERROR, "jobs: a host needs both enqueue and finish, and %s is missing",
                desc->enqueue ? "finish" : "enqueue");
        return HD_INVALID_ARGUMENT;
    }
    uint32_t usable = hdi_cpus_usable();
    uint32_t count = desc->worker_count ? desc->worker_count : usable;
    if (count > HD_MAX_WORKERS)
        count = HD_MAX_WORKERS;

    hd_jobs *jobs = make_pool(desc, count);
    if (!jobs)
        return HD_OUT_OF_MEMORY;
    jobs->warm_count = usable < count ? usable : count;
    uint32_t started = jobs->enqueue ? count : start_threads(jobs);
    if (started < count) {
        hdi_log(&jobs->log, HD_LOG_ERROR, "jobs: thread %u of %u could not be started", started, count);
        stop_threads(jobs, started);
        free_pool(jobs);
        return HD_OUT_OF_MEMORY;
    }
    *out = jobs;
    return HD_OK;
}

static void end(hd_jobs *jobs)
{
    if (jobs->enqueue) {
        /* seq_cst as in stop_threads; loops that run see it, those that begin now find nothing. */
        hdi_store(&jobs->stop, true, memory_order_seq_cst);
        hd_jobs_rest(jobs);
    } else {
        stop_threads(jobs, jobs->worker_count);
    }
    free_pool(jobs);
}

void hdi_jobs_hold(hd_jobs *jobs)
{
    if (jobs)
        atomic_fetch_add_explicit(&jobs->holds, 1, memory_order_relaxed);
}

void hdi_jobs_let_go(hd_jobs *jobs)
{
    /* acq_rel: what all others did with the pool comes before its end. */
    if (jobs && atomic_fetch_sub_explicit(&jobs->holds, 1, memory_order_acq_rel) == 1)
        end(jobs);
}

void hd_jobs_destroy(hd_jobs *jobs)
{
    uint32_t others = jobs ? atomic_load_explicit(&jobs->holds, memory_order_acquire) - 1 : 0;
    if (others)
        hdi_log(&jobs->log, HD_LOG_ERROR,
                "jobs: hd_jobs_destroy comes before the hd_vk_destroy of %u that use the pool", others);
    hdi_jobs_let_go(jobs);
}

uint32_t hd_jobs_worker_count(const hd_jobs *jobs)
{
    return jobs ? jobs->worker_count : 1;
}
