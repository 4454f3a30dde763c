/* The door of barrier: merged rendering scopes, and the barriers of a frame. */
#ifndef HDI_BARRIER_H
#define HDI_BARRIER_H

#include "phases.h"

/* Which passes share a rendering scope; only called where the caller asks for it. */
hd_result hdi_merge(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues,
                    const hdi_hazards *hazards, const hdi_synced *synced, const hdi_lifetimes *lifetimes,
                    const hdi_placed *placed, hdi_arena *arena, hdi_merged *out);

/* Barriers of all steps and takeovers, in batches before and behind places. */
hd_result hdi_barrier(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues,
                      const hdi_hazards *hazards, const hdi_synced *synced, const hdi_lifetimes *lifetimes,
                      const hdi_placed *placed, const hdi_merged *merged, const hdi_crew *crew, hdi_arena *arena,
                      hdi_barriers *out);

#endif
