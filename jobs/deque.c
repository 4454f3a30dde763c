#include "deque.h"

/* After Chase and Lev, "Dynamic circular work-stealing deque" (2005), with a fixed array: no buffer ever moves, so
 * nothing has to be reclaimed. The C11 form of Le, Pop, Cohen and Zappa Nardelli (2013) puts sequentially consistent
 * fences between the two accesses that take and steal race on; here the accesses themselves are sequentially
 * consistent, which ThreadSanitizer can follow (it does not follow fences), at the same price on x86 and AArch64.
 *
 * top is 64 bits wide and only grows, so a compare-and-swap on it cannot be fooled by a value that came back. */

static _Atomic(hd_job *) *slot_of(hdi_deque *deque, int64_t index)
{
    return &deque->slots[index & (HDI_DEQUE_CAPACITY - 1)];
}

uint32_t hdi_deque_push(hdi_deque *deque, hd_job *jobs, uint32_t count, uint32_t limit)
{
    /* relaxed: only the owner stores to bottom. */
    int64_t bottom = hdi_load(&deque->bottom, memory_order_relaxed);

    if (limit - (bottom - deque->top_seen) < (int64_t)count) {
        /* acquire: the thief's read of a slot happens before its top is seen here and the slot is written again. */
        deque->top_seen = hdi_load(&deque->top, memory_order_acquire);
        int64_t room = limit - (bottom - deque->top_seen);
        if (room <= 0)
            return 0;
        if (room < (int64_t)count)
            count = (uint32_t)room;
    }
    /* relaxed: the release below publishes all slots at once. */
    for (uint32_t i = 0; i < count; i++)
        hdi_store(slot_of(deque, bottom + i), &jobs[count - 1 - i], memory_order_relaxed);
    /* release: a thief that sees the new bottom sees the slots, and the jobs they point to. */
    hdi_store(&deque->bottom, bottom + count, memory_order_release);
    return count;
}

hd_job *hdi_deque_take(hdi_deque *deque)
{
    int64_t bottom = hdi_load(&deque->bottom, memory_order_relaxed);

    /* An empty deque stays empty for its owner, so it can be told without the expensive store. top_seen may be behind,
     * never ahead. */
    if (bottom == deque->top_seen)
        return NULL;
    bottom--;
    /* seq_cst on this store and on the load after it, as on the two loads in steal: either the thief sees that the
     * bottom went down, or the owner sees that the top went up. With less, both could take the same last job. */
    hdi_store(&deque->bottom, bottom, memory_order_seq_cst);
    int64_t top = hdi_load(&deque->top, memory_order_seq_cst);
    deque->top_seen = top;
    hd_job *job = NULL;
    if (top <= bottom) {
        job = hdi_load(slot_of(deque, bottom), memory_order_relaxed); /* the owner's own store */
        if (top < bottom)
            return job;
        /* The last job belongs to the thread that moves top. seq_cst: one order with steal's; relaxed on failure, as
         * nothing is read through the value. */
        if (!hdi_cas(&deque->top, &top, top + 1, memory_order_seq_cst, memory_order_relaxed))
            job = NULL;
        deque->top_seen = bottom + 1; /* either this owner or a thief moved it there */
    }
    /* release although nothing is published: a thief that reads this store must not lose what the earlier pushes
     * released. */
    hdi_store(&deque->bottom, bottom + 1, memory_order_release);
    return job;
}

hd_job *hdi_deque_steal(hdi_deque *deque)
{
    /* seq_cst, in this order: see take. Both acquire as well: bottom pairs with push's release. */
    int64_t top = hdi_load(&deque->top, memory_order_seq_cst);
    int64_t bottom = hdi_load(&deque->bottom, memory_order_seq_cst);

    if (top >= bottom)
        return NULL;
    /* relaxed: bottom's acquire made the slot visible. It may already hold a later job if others stole in between, but
     * then the swap fails and the value is dropped. */
    hd_job *job = hdi_load(slot_of(deque, top), memory_order_relaxed);
    if (!hdi_cas(&deque->top, &top, top + 1, memory_order_seq_cst, memory_order_relaxed))
        return NULL;
    return job;
}

bool hdi_deque_has_work(hdi_deque *deque)
{
    /* relaxed: the callers that rely on the answer stand behind a sequentially consistent fence. */
    int64_t top = hdi_load(&deque->top, memory_order_relaxed);

    return top < hdi_load(&deque->bottom, memory_order_relaxed);
}
