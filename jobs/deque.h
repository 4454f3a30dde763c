/* Work-stealing deque of jobs (Chase and Lev 2005): its owner pushes and takes at the bottom, anyone steals at the top.
 * Fixed capacity: what does not fit is the caller's to place elsewhere. Zeroed memory is an empty deque. */
#ifndef HDI_DEQUE_H
#define HDI_DEQUE_H

#include <stdalign.h>
#include "steps.h"
#include <stdbool.h>

#include <heddle/jobs.h>

enum { HDI_DEQUE_CAPACITY = 2048, HDI_DEQUE_HALF = HDI_DEQUE_CAPACITY / 2, HDI_LINE = 64 };

typedef struct hdi_deque {
    alignas(HDI_LINE) _Atomic(int64_t) top; /* next to steal; only grows */
    alignas(HDI_LINE) _Atomic(int64_t) bottom;
    int64_t top_seen; /* the owner's: a lower bound of top, to leave top's line alone while there is room */
    alignas(HDI_LINE) _Atomic(hd_job *) slots[HDI_DEQUE_CAPACITY];
} hdi_deque;

/* Owner: pushes the first of count jobs so that take gives them in their order, as far as the deque then holds no more
 * than limit, which is at most its capacity; returns how many. */
uint32_t hdi_deque_push(hdi_deque *deque, hd_job *jobs, uint32_t count, uint32_t limit);
/* Owner: the job pushed last, or null. */
hd_job *hdi_deque_take(hdi_deque *deque);
/* Anyone: the oldest job, or null when there is none or another thread was faster. */
hd_job *hdi_deque_steal(hdi_deque *deque);
/* Anyone: a guess, exact only if nothing changes meanwhile. */
bool hdi_deque_has_work(hdi_deque *deque);

#endif
