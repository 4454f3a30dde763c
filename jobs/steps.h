/* The atomic operations of jobs/, each a step where a test may hold the thread up: built with HDI_CHAOS, hdi_step is
 * called before every one of them, which the test defines (tests/jobs/stress_chaos.c). Else they are the plain ones. */
#ifndef HDI_STEPS_H
#define HDI_STEPS_H

#include <stdatomic.h>

#ifdef HDI_CHAOS
void hdi_step(void);
#define HDI_STEP() hdi_step()
#else
#define HDI_STEP() ((void)0)
#endif

#define hdi_load(at, order) (HDI_STEP(), atomic_load_explicit((at), (order)))
#define hdi_store(at, value, order) (HDI_STEP(), atomic_store_explicit((at), (value), (order)))
#define hdi_swap(at, value, order) (HDI_STEP(), atomic_exchange_explicit((at), (value), (order)))
#define hdi_add(at, value, order) (HDI_STEP(), atomic_fetch_add_explicit((at), (value), (order)))
#define hdi_sub(at, value, order) (HDI_STEP(), atomic_fetch_sub_explicit((at), (value), (order)))
#define hdi_and(at, value, order) (HDI_STEP(), atomic_fetch_and_explicit((at), (value), (order)))
#define hdi_or(at, value, order) (HDI_STEP(), atomic_fetch_or_explicit((at), (value), (order)))
/* Compare and swap; the weak one may fail for no reason and belongs into a loop. */
#define hdi_cas(at, seen, value, good, bad)                                                                            \
    (HDI_STEP(), atomic_compare_exchange_strong_explicit((at), (seen), (value), (good), (bad)))
#define hdi_cas_weak(at, seen, value, good, bad)                                                                       \
    (HDI_STEP(), atomic_compare_exchange_weak_explicit((at), (seen), (value), (good), (bad)))

/* Sequentially consistent. gcc warns that ThreadSanitizer does not model fences: these order wake-ups, never data. */
static inline void hdi_fence(void)
{
    HDI_STEP();
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

#endif
