/* The second sync of a compile, behind alias; in sync_again.c. */
#ifndef HDI_SYNC_AGAIN_H
#define HDI_SYNC_AGAIN_H

#include "phases.h"

/* Clocks when tenants are known, where they may be found from those by the schedule's promises, which out and want
 * hold; want then has the rows of slots that wait. */
bool hdi_may_sync_again(const hdi_hazards *hazards, const hdi_queues *queues, const hdi_synced *synced);
hd_result hdi_sync_again(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_queues *queues,
                         const hdi_lifetimes *lifetimes, const hdi_placed *placed, hdi_arena *arena, uint32_t *want,
                         hdi_synced *out);

#endif
