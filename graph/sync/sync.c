#include "sync_work.h"

#include <string.h>

/* Sync: which slots wait for which, by vector clocks. slot_clock[s * queues + q] counts the slots of queue q that have
 * finished before slot s starts: what the slot before it on its queue knew, and what the slots that it wants know. One
 * sweep in slot order finds them (sync_clocks.c); all else follows from them slot by slot. What the slot before already
 * knew needs no wait; of the waits that are left, one is dropped when another brings it along. A submit ends behind a
 * slot that is waited for and before a slot that waits, and nowhere else. O(slots * queues), by one worker: it is 1 %
 * of a compile. */

/* Of a slot: a submit ends behind it, and some wait is for it. */
enum { ENDS = 1, SIGNALS = 2 };

typedef struct work {
    const hdi_hazards *hazards;
    uint32_t queues;
    hdi_synced *out;
    uint8_t *marks;
    uint32_t *slot_wait_begin; /* of those that wait */
} work;

static void mark(work *w, uint32_t slot, uint8_t how)
{
    w->out->submit_count += !w->marks[slot];
    w->marks[slot] |= how;
}

/* The slots that a slot wants of a queue stand up to here. */
static HDI_INLINE uint32_t wanted_slot(const hdi_hazards *hazards, const uint32_t *want, uint32_t q)
{
    return hdi_slot_at(hazards, q, want[q] - 1);
}

/* Which of the slots that it wants a slot waits for: of those of several queues that the one before it on its queue did
 * not know, which mask says. */
static uint32_t find_waits(const hdi_hazards *hazards, const uint32_t *slot_clock, uint32_t queues, uint32_t mask,
                           const uint32_t *want)
{
    uint32_t from[HD_MAX_QUEUES];
    for (uint32_t left = mask; left; left &= left - 1)
        from[__builtin_ctz(left)] = wanted_slot(hazards, want, (uint32_t)__builtin_ctz(left));
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(left);
        for (uint32_t others = mask & ~(1u << q); others; others &= others - 1) {
            if (slot_clock[(size_t)from[__builtin_ctz(others)] * queues + q] >= want[q]) {
                mask &= ~(1u << q);
                break;
            }
        }
    }
    return mask;
}

/* Which queues each slot waits for, and where submits end. */
static void find_cuts(work *w)
{
    const hdi_hazards *hazards = w->hazards;
    hdi_synced *out = w->out;
    uint16_t *waits = out->slot_waits;
    const uint32_t queues = w->queues;
    for (uint32_t s = 0; s < hazards->slot_count; s++) {
        uint32_t mask = waits[s];
        if (!mask)
            continue;
        if (hazards->slot_pos[s])
            mark(w, hdi_slot_at(hazards, hazards->slot_queue[s], hazards->slot_pos[s] - 1), ENDS);
        const uint32_t *want = &out->slot_want[(size_t)s * queues];
        if (mask & (mask - 1))
            mask = find_waits(hazards, out->slot_clock, queues, mask, want);
        waits[s] = (uint16_t)mask;
        for (; mask; mask &= mask - 1, out->wait_count++)
            mark(w, wanted_slot(hazards, want, (uint32_t)__builtin_ctz(mask)), ENDS | SIGNALS);
    }
    for (uint32_t q = 0; q < queues; q++) {
        if (hazards->queue_begin[q] < hazards->queue_begin[q + 1])
            mark(w, hazards->queue_slot[hazards->queue_begin[q + 1] - 1], ENDS);
    }
}

/* The waits of a slot, in the order of the slots. */
static uint32_t fill_waits(const work *w, uint32_t slot, uint32_t next)
{
    const hdi_hazards *hazards = w->hazards;
    w->slot_wait_begin[slot] = next;
    for (uint32_t mask = w->out->slot_waits[slot]; mask; mask &= mask - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(mask), pos = w->out->slot_want[(size_t)slot * w->queues + q] - 1;
        w->out->wait[next++] =
            (hdi_wait){.queue = q, .pos = pos, .reason_pass = hazards->slot_pass[hdi_slot_at(hazards, q, pos)]};
    }
    return next;
}

static uint32_t count_bits(uint32_t mask)
{
    uint32_t count = 0;
    for (; mask; mask &= mask - 1)
        count++;
    return count;
}

/* Submits in the order of their last slots: what they wait for then stands before them. */
static void fill_submits(const work *w)
{
    const hdi_hazards *hazards = w->hazards;
    const hdi_synced *out = w->out;
    uint32_t open_pos[HD_MAX_QUEUES] = {0}, signals[HD_MAX_QUEUES] = {0}, place = 0, number = 0, wait = 0;
    for (uint32_t s = 0; s < hazards->slot_count; s++) {
        if (out->slot_waits[s])
            wait = fill_waits(w, s, wait);
        if (!w->marks[s])
            continue;
        uint32_t q = hazards->slot_queue[s], first_pos = open_pos[q], end_pos = hazards->slot_pos[s] + 1;
        uint32_t first = hdi_slot_at(hazards, q, first_pos), waits = out->slot_waits[first];
        bool signaled = (w->marks[s] & SIGNALS) != 0;
        signals[q] += signaled;
        out->submit[number] = (hdi_submit){.queue = q,
                                           .first_pos = first_pos,
                                           .end_pos = end_pos,
                                           .wait_begin = waits ? w->slot_wait_begin[first] : 0,
                                           .wait_count = count_bits(waits),
                                           .signal = signaled ? signals[q] : 0};
        for (uint32_t pos = first_pos; pos < end_pos; pos++)
            out->place_submit[hazards->queue_begin[q] + pos] = number;
        out->submit_begin[number++] = place;
        place += end_pos - first_pos;
        open_pos[q] = end_pos;
    }
}

hd_result hdi_sync(const hdi_hazards *hazards, const hdi_queues *queues, const hdi_crew *crew, hdi_arena *arena,
                   hdi_synced *out)
{
    uint32_t slots = hazards->slot_count;
    work w = {.hazards = hazards, .queues = queues->count, .out = out};
    out->wait_count = 0;
    out->submit_count = slots > 0;
    if (w.queues > 1) {
        out->submit_count = 0;
        out->place_submit = HDI_ARENA_ARRAY(arena, uint32_t, slots);
        w.slot_wait_begin = HDI_EARLY_ARRAY(crew, arena, uint32_t, slots);
        w.marks = HDI_EARLY_ARRAY(crew, arena, uint8_t, slots);
        if (arena->failed)
            return HD_OUT_OF_MEMORY;
        memset(w.marks, 0, slots);
        find_cuts(&w);
        out->wait = HDI_ARENA_ARRAY(arena, hdi_wait, out->wait_count);
    }
    out->submit = HDI_ARENA_ARRAY(arena, hdi_submit, out->submit_count);
    out->submit_begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)out->submit_count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (w.queues > 1)
        fill_submits(&w);
    else if (slots)
        out->submit[0] = (hdi_submit){.end_pos = slots}; /* nothing waits */
    out->submit_begin[out->submit_count] = slots;
    return HD_OK;
}

/* ---- bytes that change hands between queues ----
 *
 * What slots wait for beyond their hazards. Before memory is packed the schedule has promised which slots free memory
 * for which (its edges). Once it is packed the former tenants are known: a resource that takes over bytes waits, on
 * each of its queues, for the last places of its tenants on the other queues. O(edges + resources + tenants * queues).
 */

typedef struct want_work {
    const hdi_hazards *hazards;
    const hdi_lifetimes *lifetimes;
    const hdi_placed *placed;
    uint32_t queues, *want;
    bool alone;
} want_work;

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

static void copy_wants(const hdi_hazards *hazards, uint32_t queues, uint32_t *want)
{
    memcpy(want, hazards->slot_want, (size_t)hazards->slot_count * queues * sizeof(*want));
}

hd_result hdi_sync_promised(const hdi_hazards *hazards, const hdi_queues *queues, const hdi_crew *crew,
                            hdi_arena *arena, uint32_t **words, hdi_synced *out)
{
    uint32_t *want = hazards->slot_want;
    *out = (hdi_synced){0};
    *words = NULL;
    if (hazards->memory_edge_count) {
        size_t count = (size_t)hazards->slot_count * queues->count + HDI_ROW_SLACK;
        want = *words = HDI_EARLY_ARRAY(crew, arena, uint32_t, count);
        if (!want)
            return HD_OUT_OF_MEMORY;
        copy_wants(hazards, queues->count, want);
        for (uint32_t e = 0; e < hazards->memory_edge_count; e++)
            hdi_want(hazards, queues->count, want, hazards->memory_edge[e].from, hazards->memory_edge[e].to, true);
    }
    return hdi_sync_clocks(hazards, queues, want, crew, arena, out);
}

hd_result hdi_sync_again(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_queues *queues,
                         const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_crew *crew, uint32_t *want,
                         hdi_arena *arena, hdi_synced *out)
{
    enum { GRAIN = 256 };
    want_work w = {hazards, lifetimes, placed, queues->count, want, crew->workers == 1};
    copy_wants(hazards, queues->count, want);
    if (placed->tenant_count > 0)
        hdi_crew_ranges(crew, decl->res_count, GRAIN, want_tenants, &w);
    return hdi_sync_clocks(hazards, queues, want, crew, arena, out);
}
