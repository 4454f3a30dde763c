#include "pool.h"

#include "clock.h"

/* The public calls: submit, wait, warm and rest. */

enum { WARM_NS = 2000000 }; /* a bound for an engine that never calls hd_jobs_rest */

void hd_jobs_warm(hd_jobs *jobs)
{
    if (!jobs)
        return;
    /* relaxed: guards no data. A worker that is late to see it has parked, and its waker has not. All workers that
     * search read that line, so it is not written where the new time differs little. */
    uint64_t until = hdi_clock_ns() + WARM_NS;
    if (until > hdi_load(&jobs->warm_until, memory_order_relaxed) + WARM_NS / 8)
        hdi_store(&jobs->warm_until, until, memory_order_relaxed);
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
    if (count == 0 || !job || (jobs && !counter))
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
    if (!jobs || !counter)
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
