/* The door of schedule. */
#ifndef HDI_SCHEDULE_H
#define HDI_SCHEDULE_H

#include "phases.h"

/* The queues that can run passes of the frame's types. */
void hdi_queues_in_use(const hdi_decl *decl, const hdi_queues *all, hdi_queues *out);

/* Order and queue of each kept pass. *bad_pass: one that no queue of the set can run (HD_NO_QUEUE). */
hd_result hdi_schedule_passes(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept,
                              const hdi_depends *depends, const hdi_sizes *sizes, const hdi_queues *queues,
                              const hdi_goal *goal, const hdi_crew *crew, hdi_arena *arena, hdi_schedule *out,
                              uint32_t *bad_pass);

#endif
