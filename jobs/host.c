#include "pool.h"

/* Loops that an engine's threads run.
 *
 * There is one record for each worker but the caller's. A record is handed over, its loop begins and ends, and before
 * the record is handed over again its handle is given to finish. The state is one word of flags and a count of threads
 * inside the loop: it may begin and end before enqueue has returned, and a host that calls it after finish or twice,
 * though it should not, does no harm but to its own handles.
 *
 *   CLAIMED   one thread is handing it over, or taking it back
 *   OUT       the host has it, and there is a handle
 *   ENDED     some thread has left the loop since it was handed over
 *
 * In the middle of work only a loop that no thread is inside of is given to finish: finish waits, and the jobs of a
 * loop that runs may be waiting for the very thread that calls finish. So a loop that never begins keeps its record
 * until hd_jobs_rest. */

enum { CLAIMED = 1, OUT = 2, ENDED = 4, INSIDE = 8 /* one thread */ };

void hdi_host_began(hdi_loop *loop)
{
    hdi_add(&loop->state, INSIDE, memory_order_relaxed); /* guards nothing that this thread reads */
}

void hdi_host_ended(hdi_loop *loop)
{
    hdi_or(&loop->state, ENDED, memory_order_relaxed);
    /* release, and the last touch: a thread that finds the loop empty may free the pool once finish has returned. */
    hdi_sub(&loop->state, INSIDE, memory_order_release);
}

/* A record that can be handed over: free, or ended and then finished. */
static bool claim(hd_jobs *jobs, hdi_loop *loop)
{
    uint32_t seen = hdi_load(&loop->state, memory_order_relaxed);

    if ((seen & CLAIMED) || ((seen & OUT) && (!(seen & ENDED) || seen >= INSIDE)))
        return false;
    /* acquire: the handle, as it was noted before OUT was set. Of ENDED nothing is kept. */
    if (!hdi_cas(&loop->state, &seen, (seen & ~(uint32_t)(OUT | ENDED)) | CLAIMED, memory_order_acquire,
                 memory_order_relaxed))
        return false;
    if (seen & OUT)
        jobs->finish(loop->handle, jobs->host_user);
    return true;
}

static void unclaim(hdi_loop *loop)
{
    hdi_and(&loop->state, ~(uint32_t)(CLAIMED | ENDED), memory_order_release);
}

static void hand_over(hd_jobs *jobs, hdi_loop *loop)
{
    /* relaxed: the loop gets it through the host, whose queue orders what it hands on; a stray reader is only late. */
    hdi_store(&loop->rests, hdi_load(&jobs->rests, memory_order_relaxed), memory_order_relaxed);
    void *handle = jobs->enqueue(hdi_pool_loop, loop, jobs->host_user);
    if (!handle) {
        unclaim(loop);
        return;
    }
    loop->handle = handle;
    hdi_add(&loop->state, OUT - CLAIMED, memory_order_release); /* both at once; release: the handle */
}

void hdi_host_offer(hd_jobs *jobs, uint32_t count)
{
    for (uint32_t i = 0; i + 1 < jobs->worker_count && count > 0; i++) {
        hdi_loop *loop = &jobs->loops[i];
        if (!claim(jobs, loop))
            continue;
        if (!hdi_has_work(jobs)) { /* loops that ran at once may have done it all */
            unclaim(loop);
            return;
        }
        hand_over(jobs, loop);
        count--;
    }
}

void hdi_host_warm(hd_jobs *jobs)
{
    for (uint32_t i = 0; i + 1 < jobs->warm_count; i++)
        if (claim(jobs, &jobs->loops[i]))
            hand_over(jobs, &jobs->loops[i]);
}

void hdi_host_take_back(hd_jobs *jobs)
{
    for (uint32_t i = 0; i + 1 < jobs->worker_count; i++) {
        hdi_loop *loop = &jobs->loops[i];
        uint32_t seen = hdi_load(&loop->state, memory_order_relaxed);
        /* acquire: as in claim. Threads inside stay counted. */
        while ((seen & OUT) && !hdi_cas_weak(&loop->state, &seen, (seen & ~(uint32_t)OUT) | CLAIMED,
                                             memory_order_acquire, memory_order_relaxed))
            continue;
        if (seen & OUT) {
            jobs->finish(loop->handle, jobs->host_user);
            unclaim(loop);
        }
    }
}
