/* The door of alias. */
#ifndef HDI_ALIAS_H
#define HDI_ALIAS_H

#include "phases.h"

/* Heaps, the offset of each resource in its heap, and the former tenants of its bytes. */
hd_result hdi_alias(const hdi_decl *decl, const hdi_sizes *sizes, const hdi_hazards *hazards, const hdi_queues *queues,
                    const hdi_synced *synced, const hdi_lifetimes *lifetimes, const hdi_packing *how,
                    const hdi_crew *crew, hdi_arena *arena, hdi_placed *out);

#endif
