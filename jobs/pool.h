/* The pool's inside: workers, the slot that lends a worker's place to the caller, park and wake. */
#ifndef HDI_POOL_H
#define HDI_POOL_H

#include <pthread.h>

#include <ck_ec.h>

#include "deque.h"

enum { HDI_SLEEPER_WORDS = HD_MAX_WORKERS / 64 };

typedef struct hdi_worker {
    hdi_deque deque;
    alignas(HDI_LINE) struct ck_ec32 event; /* moves when this worker shall look again */
    alignas(HDI_LINE) hd_jobs *pool;        /* from here on the owner's alone */
    struct hdi_worker *outer;               /* what the thread was before it became this */
    uint32_t index;
    uint32_t depth; /* enters without a leave; a thread of the pool holds one for good */
    uint32_t random;
    pthread_t thread;
} hdi_worker;

/* Who of the threads outside the pool is worker 0. */
enum { HDI_SLOT_FREE, HDI_SLOT_TAKEN, HDI_SLOT_WANTED };

/* Who sleeps on a counter, in the upper half of its state: nobody, worker index + 1, or one of the last two. */
#define HDI_WAITER_NONE 0u
#define HDI_WAITER_FOREIGN 0xfffffffeu
#define HDI_WAITER_MANY 0xffffffffu

struct hd_jobs {
    hd_allocator allocator;
    hd_log log;
    hdi_worker *workers;
    size_t workers_bytes;
    uint32_t worker_count;
    char name[16];
    bool pin;
    hd_profile_fn profile;
    void *profile_user;
    alignas(HDI_LINE) _Atomic(uint32_t) searchers; /* awake without work, looking for it */
    alignas(HDI_LINE) _Atomic(uint64_t) sleepers[HDI_SLEEPER_WORDS];
    alignas(HDI_LINE) _Atomic(hd_job *) injected; /* newest run of jobs that no deque had room for */
    alignas(HDI_LINE) _Atomic(uint32_t) slot;
    struct ck_ec32 foreign; /* moves when the slot falls free or a counter of a foreign sleeper is done */
    alignas(HDI_LINE) _Atomic(bool) stop;
};

/* The worker that the calling thread is in this pool: one of its threads, or worker 0 if that place is free. Null when
 * another thread has it. Every enter that was not null is followed by leave, in reverse
 * order. */
hdi_worker *hdi_pool_enter(hd_jobs *jobs);
void hdi_pool_leave(hdi_worker *worker);

/* Counts jobs that are about to be pushed. */
void hdi_counter_add(hd_counter *counter, uint32_t count);
/* Pushes to the worker's deque (null: none) and, beyond its room, to the injected runs; wakes one who sleeps. */
void hdi_pool_push(hd_jobs *jobs, hdi_worker *worker, hd_job *job, uint32_t count);
/* Runs jobs until the counter is done. */
void hdi_pool_wait(hdi_worker *worker, hd_counter *counter);
/* For a thread that could not enter: sleeps until it may try again or the counter is done. */
void hdi_pool_wait_outside(hd_jobs *jobs, hd_counter *counter);

/* The counter's word, atomically. A plain integer in the public header, as that one is read by C++ too. */
static inline _Atomic(uint64_t) *hdi_counter_state(hd_counter *counter)
{
    _Static_assert(sizeof(_Atomic(uint64_t)) == sizeof(uint64_t), "an atomic word is a word");
    return (_Atomic(uint64_t) *)&counter->state;
}

/* acquire: what the counted jobs wrote is visible once this is true. */
static inline bool hdi_counter_done(hd_counter *counter)
{
    return (uint32_t)atomic_load_explicit(hdi_counter_state(counter), memory_order_acquire) == 0;
}

#endif
