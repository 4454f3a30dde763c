#include "phases.h"

#include "hints.h"

/* Sync: a resource that takes over bytes waits, on each of its queues, for the last places of its tenants on the other
 * queues. O(resources + tenants * queues). */

enum { GRAIN = 256 };

typedef struct want_work {
    const hdi_hazards *hazards;
    const hdi_lifetimes *lifetimes;
    const hdi_placed *placed;
    uint32_t queues;
    uint32_t *want;
    bool alone;
} want_work;

/* How many places of each queue the tenants of a resource take. Stays on queues that a tenant does not use hold
 * nothing. */
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

static void want_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
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

void hdi_want_tenants(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_queues *queues,
                      const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_crew *crew, uint32_t *want)
{
    want_work w = {hazards, lifetimes, placed, queues->count, want, crew->workers == 1};
    if (queues->count > 1 && placed->tenant_count > 0)
        hdi_crew_ranges(crew, decl->res_count, GRAIN, want_range, &w);
}
