#ifndef HDI_PLAN_BLOCK_H
#define HDI_PLAN_BLOCK_H

#include <heddle/graph.h>

#include "crew.h"

/* Packs a plan: counts first, then fill the tables (whose pointers are const in the view: cast), then finish. */
typedef struct hdi_plan_counts {
    uint32_t pass_count, declared_resource_count;
    uint32_t queue_count, culled_count, heap_count, resource_count, submit_count, wait_count, command_count,
        batch_count, barrier_count, scope_count, attachment_count;
} hdi_plan_counts;
size_t hdi_plan_size(const hdi_plan_counts *counts);
hd_plan *hdi_plan_begin(void *block, const hdi_plan_counts *counts); /* block: hdi_plan_size bytes, 8-byte aligned */
/* There are fewer submits, scopes and attachments than were counted; all of them are written. */
void hdi_plan_shrink(hd_plan *plan, uint32_t submit_count, uint32_t scope_count, uint32_t attachment_count);
void hdi_plan_finish(hd_plan *plan);                          /* computes the hash */
void hdi_plan_finish_by(hd_plan *plan, const hdi_crew *crew); /* the same one */

/* ---- which submit of a plan a wait is for; phases do not ask, what looks at plans does ---- */

/* Submits that signal more than any before them on their queue: of queue q those from begin[q] to end[q]. */
typedef struct hdi_signals {
    uint32_t begin[HD_MAX_QUEUES], end[HD_MAX_QUEUES], *submit;
} hdi_signals;

/* False: no memory. The plan has at most HD_MAX_QUEUES queues, and each submit one of them. */
bool hdi_signals_list(hdi_signals *signals, const hd_plan_view *plan, hdi_arena *arena);
/* The first submit of a queue that signals a value or more, HDI_NONE: there is none. O(log submits). */
uint32_t hdi_signals_find(const hdi_signals *signals, const hd_plan_view *plan, uint32_t queue, uint64_t value);

#endif
