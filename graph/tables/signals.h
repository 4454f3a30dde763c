/* Which submit of a plan a wait is for. The phases that make plans do not use it; what looks at plans does. */
#ifndef HDI_SIGNALS_H
#define HDI_SIGNALS_H

#include "tables.h"

/* Submits that signal more than any before them on their queue: of queue q those from begin[q] to end[q]. */
typedef struct hdi_signals {
    uint32_t begin[HD_MAX_QUEUES], end[HD_MAX_QUEUES], *submit;
} hdi_signals;

/* False: no memory. The plan has at most HD_MAX_QUEUES queues, and each submit one of them. */
bool hdi_signals_list(hdi_signals *signals, const hd_plan_view *plan, hdi_arena *arena);
/* The first submit of a queue that signals a value or more, HDI_NONE: there is none. O(log submits). */
uint32_t hdi_signals_find(const hdi_signals *signals, const hd_plan_view *plan, uint32_t queue, uint64_t value);

#endif
