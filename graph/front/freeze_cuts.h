/* Resources whose boundaries are too many for bits. */
#ifndef HDI_FREEZE_CUTS_H
#define HDI_FREEZE_CUTS_H

#include "phases.h"

/* Where a resource is cut along one side. */
typedef struct hdi_cuts {
    uint32_t count; /* boundaries; pieces + 1 */
    const uint64_t *at;
} hdi_cuts;

/* Of a resource that is cut; buffers have one column. */
typedef struct hdi_grid {
    hdi_cuts mip, layer;
    uint32_t aspects;
} hdi_grid;

static inline uint32_t hdi_grid_pieces(const hdi_grid *grid)
{
    return (grid->mip.count - 1) * grid->aspects * (grid->layer.count - 1);
}

/* The ranges of a resource, from the last one on. */
typedef struct hdi_chain {
    uint32_t newest; /* 1 + its number */
    uint32_t count;
    const uint32_t *next; /* per range: 1 + the next one, or 0 */
} hdi_chain;

/* Kept in the arena; null: no memory. span: of each range of the chain, from the first segment of the resource on. */
const hdi_grid *hdi_cut_chained(const hdi_decl *decl, uint32_t res, const hdi_chain *chain, hdi_arena *arena,
                                hdi_span *span);

#endif
