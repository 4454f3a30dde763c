/* The door of sync: hazards, clocks, waits and submits, lifetimes. */
#ifndef HDI_SYNC_H
#define HDI_SYNC_H

#include "phases.h"

/* What each segment goes through, in the order of the schedule; barrier-only slots where no slot of a queue holds a
 * barrier. */
hd_result hdi_hazard(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept, const hdi_schedule *schedule,
                     const hdi_queues *queues, const hdi_crew *crew, hdi_arena *arena, hdi_hazards *out);

/* First clocks, by what the schedule promised about memory: its edges. *words: room for what slots want, for
 * hdi_sync_again, or null: nothing was promised. */
hd_result hdi_sync_promised(const hdi_hazards *hazards, const hdi_queues *queues, const hdi_crew *crew,
                            hdi_arena *arena, uint32_t **words, hdi_synced *out);

/* What each resource does on each queue, and behind which slot its bytes are free. */
hd_result hdi_lifetime(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                       const hdi_queues *queues, const hdi_synced *synced, const hdi_crew *crew, hdi_arena *arena,
                       hdi_lifetimes *out);

/* The same once memory is packed: only the last uses of former tenants are waited for. */
hd_result hdi_sync_again(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_queues *queues,
                         const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_crew *crew, uint32_t *want,
                         hdi_arena *arena, hdi_synced *out);

/* Waits and submits, once the clocks are what they will be. */
hd_result hdi_sync(const hdi_hazards *hazards, const hdi_queues *queues, const hdi_crew *crew, hdi_arena *arena,
                   hdi_synced *out);

#endif
