#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include <ck_pr.h>

#include "jobs_stress.h"
#include "steps.h"

/* The job pool with random delays at every atomic step: the files of jobs/ built with HDI_CHAOS, which calls hdi_step
 * before each of them. What takes a few nanoseconds then takes now and then as long as a sleep, and threads meet in
 * orders that they otherwise meet in once a month. Delays are drawn from the seed and the number of the thread; how
 * often they come is drawn anew every so many steps, as long calm stretches make other orders than steady noise. */

static _Atomic(uint64_t) base;
static _Atomic(uint32_t) threads;

void hdt_stress_seed(uint64_t seed)
{
    atomic_store_explicit(&base, seed + 1, memory_order_relaxed);
}

static void nap(long nanoseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
}

void hdi_step(void)
{
    static _Thread_local uint64_t state, steps;
    static _Thread_local uint32_t rarity;

    if (steps++ % 4096 == 0) {
        if (steps == 1)
            state = atomic_load_explicit(&base, memory_order_relaxed) * 0x9e3779b97f4a7c15u +
                    atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) * 0xbf58476d1ce4e5b9u;
        rarity = 4u << (state >> 40) % 7;
    }
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint32_t random = (uint32_t)(state >> 33);
    if (random % rarity != 0)
        return;
    random /= rarity;
    uint32_t how = random % 64;
    if (how < 1)
        nap(1000 + random / 64 % 100000);
    else if (how < 8)
        sched_yield();
    else
        for (uint32_t i = random / 64 % 256; i > 0; i--)
            ck_pr_stall();
}

int main(void)
{
    return hdt_jobs_stress(150);
}
