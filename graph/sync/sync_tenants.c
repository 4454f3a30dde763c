#include "phases.h"

#include "hints.h"

/* Sync: who takes bytes over waits, on each of its queues, for the last places of its tenants on the others.
 * O(tenants * queues). How many tenants a resource has, on which queues they were and on which it is cannot be foreseen
 * in a long frame: a loop that asks is mispredicted three times a resource. So resources are sorted by what is to be
 * done for them, some at a time, and all queues of a tenant count, by masks. Those with one tenant, which was on no
 * queue but the one that they live on, wait for nobody; extra slots do not change that, as they stand on queues that
 * use the resource. */

enum { GRAIN = 256, CHUNK = 128 }; /* resources at a time */

typedef struct work {
    const hdi_hazards *hazards;
    const hdi_lifetimes *lifetimes;
    const hdi_placed *placed;
    uint32_t queues;
    uint32_t *want;
    bool alone;
} work;

/* How many places of each queue are to be waited for. Stays on queues that a tenant was not on say nothing. */
static HDI_INLINE void add_tenant(const work *w, uint32_t queues, uint32_t tenant, uint32_t most[HD_MAX_QUEUES])
{
    const hdi_stay *stay = &w->lifetimes->stay[(size_t)tenant * queues];
    uint32_t mask = w->hazards->res_queues[tenant];
    for (uint32_t q = 0; q < queues; q++) {
        uint32_t count = (stay[q].last + 1) & (0 - (mask >> q & 1));
        most[q] = count > most[q] ? count : most[q];
    }
}

static HDI_INLINE void raise_wants(const work *w, uint32_t queues, bool alone, uint32_t res,
                                   const uint32_t most[HD_MAX_QUEUES])
{
    const hdi_hazards *hazards = w->hazards;
    const hdi_stay *stay = &w->lifetimes->stay[(size_t)res * queues];
    for (uint32_t own = hazards->res_queues[res]; own; own &= own - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(own);
        uint32_t *want = &w->want[(size_t)hdi_slot_at(hazards, k, stay[k].first) * queues];
        for (uint32_t q = 0; q < queues; q++)
            hdi_raise_want(&want[q], q == k ? 0 : most[q], alone);
    }
}

static HDI_INLINE void want_chunk(const work *w, uint32_t queues, bool alone, uint32_t begin, uint32_t end)
{
    const hdi_tenants *res_tenants = w->placed->res_tenants;
    const uint32_t *tenant = w->placed->tenant;
    const uint16_t *res_queues = w->hazards->res_queues;
    uint32_t one[CHUNK], many[CHUNK], ones = 0, manies = 0;
    for (uint32_t r = begin; r < end; r++) {
        hdi_tenants of = res_tenants[r];
        uint32_t count = of.end - of.begin, any = 0 - (uint32_t)(count > 0);
        uint32_t first = tenant[of.begin & any] & any; /* without any: resource 0, as lists may have gaps */
        uint32_t both = (uint32_t)res_queues[r] | res_queues[first];
        one[ones] = many[manies] = r;
        ones += (uint32_t)(count == 1) & (uint32_t)((both & (both - 1)) != 0);
        manies += count > 1;
    }
    for (uint32_t i = 0; i < ones; i++) {
        uint32_t most[HD_MAX_QUEUES] = {0};
        add_tenant(w, queues, tenant[res_tenants[one[i]].begin], most);
        raise_wants(w, queues, alone, one[i], most);
    }
    for (uint32_t i = 0; i < manies; i++) {
        hdi_tenants of = res_tenants[many[i]];
        uint32_t most[HD_MAX_QUEUES] = {0};
        for (uint32_t t = of.begin; t < of.end; t++)
            add_tenant(w, queues, tenant[t], most);
        raise_wants(w, queues, alone, many[i], most);
    }
}

static HDI_INLINE void want_all(const work *w, uint32_t queues, bool alone, uint32_t begin, uint32_t end)
{
    for (; end - begin > CHUNK; begin += CHUNK)
        want_chunk(w, queues, alone, begin, begin + CHUNK);
    want_chunk(w, queues, alone, begin, end);
}

/* The loops are unrolled for what is most common. */
static void want_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)part;
    if (w->alone && w->queues == 2)
        want_all(w, 2, true, begin, end);
    else if (w->alone && w->queues == 3)
        want_all(w, 3, true, begin, end);
    else if (w->alone && w->queues == 4) /* the host's with three */
        want_all(w, 4, true, begin, end);
    else
        want_all(w, w->queues, w->alone, begin, end);
}

void hdi_want_tenants(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_queues *queues,
                      const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_crew *crew, uint32_t *want)
{
    work w = {hazards, lifetimes, placed, queues->count, want, crew->workers == 1};
    if (queues->count > 1 && placed->tenant_count > 0)
        hdi_crew_ranges(crew, decl->res_count, GRAIN, want_range, &w);
}
