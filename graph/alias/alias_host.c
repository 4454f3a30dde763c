#include "alias_pack.h"

#include <string.h>

/* Host-visible buffers: which of them share bytes.
 *
 * A buffer that the host writes before it waits for the GPU would wait for the last tenant of its bytes in the frame
 * before, when the GPU is at the end of that frame: such buffers keep their bytes to themselves, and so do those that
 * the GPU writes first, which would need barriers. A buffer whose first use comes behind a wait for the GPU waits for
 * the frame before anyway, and a buffer on the host's queue that takes over its bytes needs nothing but that wait. So
 * only what is waited for in any case counts: clocks hold what the schedule promised about memory, too, of which only
 * what is made use of is waited for. Where memory is what matters, bytes are taken over for such a wait all the same.
 *
 * Buffers come in the order of the host's queue, so that what is over for one is over for all behind it. Each takes
 * over the smallest place that is large enough, of those that have been held for the longest, or gets a new one.
 * O(members * (LOOKS + queues)), and slots * queues behind promises. The packers of other heaps find tighter packings
 * for many sizes, but look at each member many times. */

enum { LOOKS = 16 };

typedef struct place {
    uint64_t offset, bytes;
    uint32_t holder, next; /* next: taken later; HDI_NONE: the newest */
} place;

typedef struct shelf {
    const hdi_pack *pack;
    place *place;
    uint32_t count, oldest, newest;
} shelf;

/* GPU queues that use some of the members. */
static uint32_t gpu_queues_of(const hdi_pack *pack, const uint32_t *res, uint32_t count)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < count; i++)
        mask |= pack->hazards->res_queues[res[i]];
    return mask & pack->gpu_mask;
}

/* What passes need of each other, slot by slot. */
static void sweep(const hdi_hazards *hazards, uint32_t queues, uint32_t *rows)
{
    const uint32_t none[HD_MAX_QUEUES] = {0}, *newest[HD_MAX_QUEUES], *want = hazards->slot_want;
    uint32_t *row = rows;
    for (uint32_t q = 0; q < queues; q++)
        newest[q] = none;
    for (uint32_t s = 0; s < hazards->slot_count; s++, row += queues, want += queues) {
        uint32_t own = hazards->slot_queue[s], behind = 0;
        memcpy(row, newest[own], queues * sizeof(*row));
        row[own] = hazards->slot_pos[s];
        newest[own] = row;
        for (uint32_t q = 0; q < queues; q++)
            behind |= want[q] > row[q];
        for (uint32_t q = 0; HDI_UNLIKELY(behind) && q < queues; q++) {
            if (want[q] <= row[q])
                continue;
            const uint32_t *brings = &rows[(size_t)hdi_slot_at(hazards, q, want[q] - 1) * queues];
            for (uint32_t k = 0; k < queues; k++)
                row[k] = brings[k] > row[k] ? brings[k] : row[k];
            row[q] = want[q];
        }
    }
}

/* Clocks of what is waited for in any case. Null: out of memory. */
static const uint32_t *find_clocks(const hdi_pack *pack)
{
    const hdi_hazards *hazards = pack->hazards;
    if (!hazards->memory_edge_count)
        return pack->synced->slot_clock;
    uint32_t *rows = HDI_ARENA_ARRAY(pack->arena, uint32_t, (size_t)hazards->slot_count * pack->queues);
    if (rows)
        sweep(hazards, pack->queues, rows);
    return rows;
}

/* Whether the host uses it before all others, and has waited for each of some queues by then. */
static bool waits_first(const hdi_pack *pack, const uint32_t *clocks, uint32_t host, uint32_t res, uint32_t mask)
{
    const hdi_hazards *hazards = pack->hazards;
    const uint32_t queues = pack->queues, first = pack->lifetimes->res_first[res];
    const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * queues];
    uint32_t users = hazards->res_queues[res];
    if (host == HDI_NONE || !(users >> host & 1) || hdi_slot_at(hazards, host, stay[host].first) != first)
        return false;
    for (; mask; mask &= mask - 1) {
        if (clocks[(size_t)first * queues + (uint32_t)__builtin_ctz(mask)] == 0)
            return false;
    }
    for (uint32_t others = users & pack->gpu_mask; others; others &= others - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(others);
        if (clocks[(size_t)hdi_slot_at(hazards, q, stay[q].first) * queues + host] <= stay[host].first)
            return false;
    }
    return true;
}

/* Whether all queues that use it are known to have passed its last use. */
static bool is_over(const hdi_pack *pack, uint32_t res, const uint32_t *knows)
{
    const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * pack->queues];
    for (uint32_t users = pack->hazards->res_queues[res]; users; users &= users - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(users);
        if (knows[q] <= stay[q].close)
            return false;
    }
    return true;
}

/* Takes a place out of those that are held, for a resource of the host's queue. HDI_NONE: none will do. */
static uint32_t take_place(shelf *s, const uint32_t *clocks, uint32_t res)
{
    const hd_memory_need *need = &s->pack->sizes->need[res];
    const uint32_t *knows = &clocks[(size_t)s->pack->lifetimes->res_first[res] * s->pack->queues];
    uint32_t best = HDI_NONE, before_best = HDI_NONE, before = HDI_NONE, at = s->oldest;
    for (uint32_t looks = 0; at != HDI_NONE && looks < LOOKS; before = at, at = s->place[at].next, looks++) {
        const place *p = &s->place[at];
        if (p->bytes < need->bytes || p->offset & (need->alignment - 1) ||
            (best != HDI_NONE && p->bytes >= s->place[best].bytes) || !is_over(s->pack, p->holder, knows))
            continue;
        best = at;
        before_best = before;
    }
    if (best == HDI_NONE)
        return best;
    *(before_best == HDI_NONE ? &s->oldest : &s->place[before_best].next) = s->place[best].next;
    s->newest = s->newest == best ? before_best : s->newest;
    return best;
}

static void hold(shelf *s, uint32_t at, uint32_t res)
{
    s->place[at].holder = res;
    s->place[at].next = HDI_NONE;
    *(s->oldest == HDI_NONE ? &s->oldest : &s->place[s->newest].next) = at;
    s->newest = at;
}

uint64_t hdi_pack_host(hdi_pack_work *w, uint32_t host, const uint32_t *by_first, uint32_t count)
{
    hdi_placed *out = w->out;
    uint32_t mask = gpu_queues_of(&w->pack, by_first, count);
    const uint32_t *clocks = find_clocks(&w->pack), *known = w->how->lean ? w->pack.synced->slot_clock : clocks;
    shelf s = {.pack = &w->pack, .oldest = HDI_NONE, .newest = HDI_NONE};
    s.place = HDI_ARENA_ARRAY(w->pack.arena, place, count);
    if (!clocks || !s.place || !hdi_pack_tenant_room(&w->pack, out))
        return UINT64_MAX;
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = by_first[i], at = HDI_NONE;
        bool shares = waits_first(&w->pack, clocks, host, res, mask);
        if (shares)
            at = take_place(&s, known, res);
        if (at == HDI_NONE) {
            end = hdi_pack_behind(w, res, end);
            at = s.count;
            s.place[s.count++] = (place){.offset = out->res_offset[res], .bytes = w->sizes->need[res].bytes};
        } else {
            out->res_offset[res] = s.place[at].offset;
            out->res_tenants[res] = (hdi_tenants){out->tenant_count, out->tenant_count + 1};
            out->tenant[out->tenant_count++] = s.place[at].holder;
        }
        if (shares)
            hold(&s, at, res);
    }
    return end;
}
