/* The pool's inside: workers, the slot that lends a worker's place to the caller, park and wake, a host's threads. */
#ifndef HDI_POOL_H
#define HDI_POOL_H

#include <pthread.h>

#include <ck_ec.h>

#include "deque.h"
#include "hints.h"

enum { HDI_SLEEPER_WORDS = HD_MAX_WORKERS / 64 };

/* Which deque or list a job goes to. */
enum { HDI_CRITICAL, HDI_COMMON, HDI_LEVELS };

typedef struct hdi_worker {
    hdi_deque deques[HDI_LEVELS];
    alignas(HDI_LINE) struct ck_ec32 event; /* moves when this worker shall look again */
    _Atomic(bool) taken;                    /* a host's thread has this place */
    alignas(
        HDI_LINE_PAIR) _Atomic(uint64_t) inside; /* number of the open loop that this worker takes part in; 0: none */
    alignas(HDI_LINE_PAIR) hd_jobs *pool;            /* from here on the owner's alone */
    struct hdi_worker *outer;               /* what the thread was before it became this */
    uint32_t index;
    uint32_t depth; /* enters without a leave; a thread of the pool holds one for good */
    uint32_t random;
    uint32_t streak;  /* critical jobs taken since the last other one */
    uint32_t running; /* jobs on the stack */
    bool critical;    /* the newest of them is critical */
    pthread_t thread;
} hdi_worker;

/* A loop that a host may run, and what it gave for it. */
typedef struct hdi_loop {
    hd_jobs *pool;
    void *handle;
    _Atomic(uint32_t) rests; /* the pool's when it was handed over */
    _Atomic(uint32_t) state; /* bits */
} hdi_loop;

/* A parallel_for (ranges.c). */
enum { HDI_RANGE_BLOCKS = 64, HDI_OPEN_LOOPS = 4 };

typedef struct hdi_range_block {
    alignas(HDI_LINE_PAIR) _Atomic(uint64_t) span; /* low | high << 32, chunk numbers */
} hdi_range_block;

typedef struct hdi_range_loop {
    hdi_range_block blocks[HDI_RANGE_BLOCKS];
    uint32_t block_count;
    uint32_t count;
    uint32_t grain;
    hd_range_fn fn;
    void *user;
} hdi_range_loop;

/* One that workers without work join by themselves. */
typedef struct hdi_open_loop {
    alignas(HDI_LINE_PAIR) uint64_t newest; /* number; the lowest bit stays 0 */
    _Atomic(bool) critical;
    hd_counter left; /* workers still inside when the caller stopped spinning: it waits for them as for jobs */
    hdi_range_loop ranges;
} hdi_open_loop;

/* Whether one of the threads outside the pool is worker 0, and whether another one wants to be. */
enum { HDI_SLOT_FREE, HDI_SLOT_TAKEN, HDI_SLOT_WANTED };

/* The waiter that sleeps on a counter, in the upper half of its state: none, worker index + 1, a thread outside the
 * pool, or several of these. */
#define HDI_WAITER_NONE 0u
#define HDI_WAITER_FOREIGN 0xfffffffeu
#define HDI_WAITER_MANY 0xffffffffu

struct hd_jobs {
    hd_allocator allocator;
    hd_log log;
    hdi_worker *workers;
    hdi_loop *loops; /* worker_count - 1 for a host, else none */
    uint32_t worker_count;
    uint32_t warm_count; /* threads that warm keeps awake, the caller's included */
    uint32_t stalls; /* pauses between two looks for work */
    _Atomic(uint32_t) holds; /* 1, and 1 for each part of heddle that goes on using the pool */
    char name[16];
    bool pin;
    hd_profile_fn profile;
    void *profile_user;
    hd_enqueue_fn enqueue; /* null: no host */
    hd_finish_fn finish;
    void *host_user;
    alignas(HDI_LINE) _Atomic(uint32_t) searchers; /* awake without work, looking for it */
    alignas(HDI_LINE) _Atomic(uint64_t) sleepers[HDI_SLEEPER_WORDS];
    alignas(HDI_LINE) _Atomic(hd_job *) injected[HDI_LEVELS]; /* newest run of jobs that no deque had room for */
    alignas(HDI_LINE) _Atomic(uint32_t) critical;             /* critical jobs that no worker has taken */
    alignas(HDI_LINE) _Atomic(uint32_t) slot;
    struct ck_ec32 foreign; /* moves when the slot falls free or a counter of a foreign sleeper is done */
    alignas(HDI_LINE_PAIR) _Atomic(uint64_t)
        open[HDI_OPEN_LOOPS];            /* a loop's number, while there are chunks to take; else 0 */
    _Atomic(bool) taken[HDI_OPEN_LOOPS]; /* from before it is open until no worker is inside */
    hdi_open_loop loop[HDI_OPEN_LOOPS];
    alignas(HDI_LINE) _Atomic(bool) stop;
    _Atomic(uint32_t) rests;      /* how often hd_jobs_rest was called */
    _Atomic(uint64_t) warm_until; /* on hdi_clock_ns */
};

/* ---- pool.c: which worker a thread is, finding and running jobs ---- */

/* The worker that the calling thread is in this pool: one of its threads, or worker 0 if that place is free. Null when
 * another thread has it. Every enter that was not null is followed by leave, in reverse order. */
hdi_worker *hdi_pool_enter(hd_jobs *jobs);
void hdi_pool_leave(hdi_worker *worker);

/* Counts jobs that are about to be pushed. */
void hdi_counter_add(hd_counter *counter, uint32_t count);
/* One job has ended: the last touch of a counter that the caller does not own. At zero its waiter is woken. */
void hdi_counter_sub(hd_jobs *jobs, hd_counter *counter);
/* Pushes to the worker's deques (null: none) and, beyond their room, to the injected runs; wakes one sleeper, or hands
 * loops to the host. */
void hdi_pool_push(hd_jobs *jobs, hdi_worker *worker, hd_job *job, uint32_t count);
/* Runs jobs until the counter is done. */
void hdi_pool_wait(hdi_worker *worker, hd_counter *counter);
/* For a thread that could not enter: sleeps until it may try again or the counter is done. */
void hdi_pool_wait_outside(hd_jobs *jobs, hd_counter *counter);
/* What a thread of the pool does: runs jobs until the pool stops. */
void *hdi_pool_thread(void *worker);
/* What a host's thread does with a loop: runs jobs until there are none for a while. */
void hdi_pool_loop(void *loop);

/* ---- ranges.c: parallel_for ---- */

/* Takes part in a loop, if one is open, or if a critical one is. Returns whether there was something to do. For one
 * that searches. */
bool hdi_join_loop(hdi_worker *worker, bool critical_only);
/* relaxed: a hint. */
static inline bool hdi_loop_is_open(hd_jobs *jobs)
{
    uint64_t any = 0;
    for (int i = 0; i < HDI_OPEN_LOOPS; i++)
        any |= hdi_load(&jobs->open[i], memory_order_relaxed);
    return any != 0;
}

/* ---- wake.c: searching for work, sleeping, waking ---- */

bool hdi_any_loop_taken(hd_jobs *jobs);
bool hdi_anyone_sleeps(hd_jobs *jobs);
bool hdi_has_work(hd_jobs *jobs);
/* Behind a fence that follows the push of count jobs, or the end of a search. */
void hdi_wake_one(hd_jobs *jobs, uint32_t count);
/* Wakes sleepers without work for them, a few: they wake the rest. */
void hdi_wake_warm(hd_jobs *jobs);
void hdi_start_searching(hd_jobs *jobs);
/* Found work, or what it waited for. */
void hdi_stop_searching(hd_jobs *jobs);
/* No more searcher, and nothing was left to be found; else still a searcher, and false. */
bool hdi_give_up(hd_jobs *jobs);
/* Leaves and enters again as a searcher; sleeps in between unless a second look finds something. */
void hdi_park(hdi_worker *worker, hd_counter *counter);
/* The last job of a counter ended, and its word names this waiter. */
void hdi_wake_waiter(hd_jobs *jobs, uint32_t waiter);
/* Writes into the counter that `self` (worker index + 1, or HDI_WAITER_FOREIGN) sleeps until the counter is done;
 * false if it is done. */
bool hdi_register_waiter(hd_counter *counter, uint32_t self);
/* Sleeps until the event has moved on from the key, or for no reason. */
uint32_t hdi_event_key(struct ck_ec32 *event);
void hdi_event_wait(struct ck_ec32 *event, uint32_t key);
void hdi_event_move(struct ck_ec32 *event);

/* ---- host.c: an engine's threads ---- */

/* Hands over loops for count jobs, as many as there are to give. */
void hdi_host_offer(hd_jobs *jobs, uint32_t count);
/* Hands over as many as warm keeps awake, work or none. */
void hdi_host_warm(hd_jobs *jobs);
/* A thread enters and leaves a loop. */
void hdi_host_began(hdi_loop *loop);
void hdi_host_ended(hdi_loop *loop);
/* Takes all loops back; waits for those that run. */
void hdi_host_take_back(hd_jobs *jobs);

/* The counter's word, atomically. A plain integer in the public header, as that one is read by C++ too. */
static inline _Atomic(uint64_t) *hdi_counter_state(hd_counter *counter)
{
    _Static_assert(sizeof(_Atomic(uint64_t)) == sizeof(uint64_t), "an atomic word is a word");
    return (_Atomic(uint64_t) *)&counter->state;
}

/* acquire: what the counted jobs wrote is visible once this is true. */
static inline bool hdi_counter_done(hd_counter *counter)
{
    return (uint32_t)hdi_load(hdi_counter_state(counter), memory_order_acquire) == 0;
}

/* counter null: for a thread of the pool, which goes on until the pool stops. */
static inline bool hdi_finished(hd_jobs *jobs, hd_counter *counter)
{
    return counter ? hdi_counter_done(counter) : hdi_load(&jobs->stop, memory_order_acquire);
}

#endif
