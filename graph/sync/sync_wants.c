#include "sync_work.h"

#include <string.h>

/* What slots wait for beyond their hazards: bytes that change hands between queues. Before memory is packed the
 * schedule has promised which slots free memory for which (its edges). Once it is packed the former tenants are known:
 * a resource that takes over bytes waits, on each of its queues, for the last places of its tenants on the other
 * queues. O(edges + resources + tenants * queues). */

enum { WANT_GRAIN = 1024, TENANT_GRAIN = 256 }; /* slots or edges, and resources at a time */

typedef struct want_work {
    const hdi_hazards *hazards;
    uint32_t queues, *want;
    bool alone;
    const hdi_lifetimes *lifetimes; /* null: memory is not packed yet */
    const hdi_placed *placed;
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

/* How many places of each queue the tenants of a resource take; returns a mask of their queues. Stays on queues that a
 * tenant does not use hold nothing. */
static uint32_t find_last_places(const want_work *w, hdi_tenants of, uint32_t most[HD_MAX_QUEUES])
{
    uint32_t all = 0;
    for (uint32_t t = of.begin; t < of.end; t++) {
        const hdi_stay *stay = &w->lifetimes->stay[(size_t)w->placed->tenant[t] * w->queues];
        for (uint32_t mask = w->hazards->res_queues[w->placed->tenant[t]]; mask; mask &= mask - 1) {
            uint32_t q = (uint32_t)__builtin_ctz(mask), count = stay[q].last + 1, before = all >> q & 1 ? most[q] : 0;
            most[q] = count > before ? count : before;
            all |= 1u << q;
        }
    }
    return all;
}

static void want_tenants(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const want_work *w = user;
    uint32_t most[HD_MAX_QUEUES];
    (void)part;
    for (uint32_t r = begin; r < end; r++) {
        hdi_tenants of = w->placed->res_tenants[r];
        if (of.begin == of.end)
            continue;
        uint32_t own = w->hazards->res_queues[r], others = find_last_places(w, of, most);
        if (others == own && !(own & (own - 1)))
            continue;
        const hdi_stay *stay = &w->lifetimes->stay[(size_t)r * w->queues];
        for (uint32_t left = own; left; left &= left - 1) {
            uint32_t k = (uint32_t)__builtin_ctz(left);
            uint32_t *want = &w->want[(size_t)hdi_slot_at(w->hazards, k, stay[k].first) * w->queues];
            for (uint32_t mask = others & ~(1u << k); mask; mask &= mask - 1)
                hdi_raise_want(&want[__builtin_ctz(mask)], most[__builtin_ctz(mask)], w->alone);
        }
    }
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
        want_work w = {hazards, queues, want, crew->workers == 1, NULL, NULL};
        hdi_crew_ranges(crew, hazards->slot_count, WANT_GRAIN, copy_wants, &w);
        hdi_crew_ranges(crew, hazards->memory_edge_count, WANT_GRAIN, want_edges, &w);
    }
    return hdi_sync_clocks(hazards, queue_set, want, crew, arena, out);
}

hd_result hdi_sync_again(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_queues *queues,
                         const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_crew *crew, uint32_t *want,
                         hdi_arena *arena, hdi_synced *out)
{
    want_work w = {hazards, queues->count, want, crew->workers == 1, lifetimes, placed};
    hdi_crew_ranges(crew, hazards->slot_count, WANT_GRAIN, copy_wants, &w);
    if (placed->tenant_count > 0)
        hdi_crew_ranges(crew, decl->res_count, TENANT_GRAIN, want_tenants, &w);
    return hdi_sync_clocks(hazards, queues, want, crew, arena, out);
}
