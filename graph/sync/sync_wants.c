#include <string.h>

#include "phases.h"

/* What slots wait for beyond their hazards: bytes that change hands between queues. Before memory is packed the
 * schedule has promised which slots free memory for which (its edges). Once it is packed the former tenants are known,
 * and only their last uses are waited for. */

enum { WANT_GRAIN = 1024 }; /* slots or edges at a time */

typedef struct want_work {
    const hdi_hazards *hazards;
    uint32_t queues, *want;
    bool alone;
} want_work;

static void copy_wants(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const want_work *w = user;
    size_t at = (size_t)begin * w->queues, words = (size_t)(end - begin) * w->queues;
    (void)part;
    memcpy(w->want + at, w->hazards->slot_want + at, words * sizeof(*w->want));
}

static void want_edges(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const want_work *w = user;
    const hdi_edge *edge = w->hazards->memory_edge;
    (void)part;
    for (uint32_t e = begin; e < end; e++)
        hdi_want(w->hazards, w->queues, w->want, edge[e].from, edge[e].to, w->alone);
}

hd_result hdi_sync_promised(const hdi_hazards *hazards, const hdi_queues *queue_set, const hdi_crew *crew,
                            hdi_arena *arena, uint32_t **words, hdi_synced *out)
{
    uint32_t queues = queue_set->count, *want = hazards->slot_want;
    *out = (hdi_synced){0};
    *words = NULL;
    if (hazards->memory_edge_count) {
        size_t count = (size_t)hazards->slot_count * queues + HDI_ROW_SLACK;
        want = *words = HDI_EARLY_ARRAY(crew, arena, uint32_t, count);
        if (!want)
            return HD_OUT_OF_MEMORY;
        want_work w = {hazards, queues, want, crew->workers == 1};
        hdi_crew_ranges(crew, hazards->slot_count, WANT_GRAIN, copy_wants, &w);
        hdi_crew_ranges(crew, hazards->memory_edge_count, WANT_GRAIN, want_edges, &w);
    }
    return hdi_sync_clocks(hazards, queue_set, want, crew, arena, out);
}

hd_result hdi_sync_again(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_queues *queues,
                         const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_crew *crew, uint32_t *want,
                         hdi_arena *arena, hdi_synced *out)
{
    want_work w = {hazards, queues->count, want, crew->workers == 1};
    hdi_crew_ranges(crew, hazards->slot_count, WANT_GRAIN, copy_wants, &w);
    hdi_want_tenants(decl, hazards, queues, lifetimes, placed, crew, want);
    return hdi_sync_clocks(hazards, queues, want, crew, arena, out);
}
