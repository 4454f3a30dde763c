#include "sync_again.h"

#include <string.h>

#include "bitset.h"
#include "sync_lanes.h"

/* Sync: the clocks once more, when it is known who takes over whose bytes and nothing but that is waited for, in place
 * of what the schedule promised; by who works alone. Bytes are taken over only where the promises told that they are
 * free. So where a queue knows what it knew by these, only who waited may wait; and who was promised nothing waits for
 * what he waited for, if those bring him as much: what he wants of tenants comes along with that. Others are looked at,
 * and who is behind them on their queues while these know less, up to where somebody has told them. What such a slot
 * wants of tenants is found by the uses of its pass: nobody walks over all slots, nor over all resources.
 * O(slots / 64 + slots that wait + slots that are looked at * (queues + uses + tenants)).
 *
 * Not where there are extra slots, which have no pass, nor where there are many promises: where one slot of nine is
 * promised something (async) most slots know less, as tenants are rarely waited for as late as was promised, and to
 * look at one takes six times as long as a step of a sweep. */

enum { FEW_PROMISES = 12 }; /* one of so many slots: of more, so many slots are looked at that all may be swept */

typedef hdi_sync_lanes lanes;

/* The newest slot of a queue that knows less than it did. */
typedef struct newest {
    lanes clock; /* without its own place */
    uint32_t slot, round, unused[2];
} newest;

typedef struct again {
    const hdi_hazards *hazards;
    const hdi_stay *stays;
    const hdi_tenants *res_tenants;
    const uint32_t *tenant, *pass_use_begin, *use_res;
    uint64_t *due, *less; /* bits of slots: those that are to come; those that know less than they did */
    bool any_less;
    uint32_t *want; /* gets rows of slots that wait */
    hdi_synced out;
    hdi_sync_masks masks;
    lanes used; /* all bits of those that are of queues */
    newest newest[HDI_SYNC_LANES];
} again;

/* What a slot wants beyond its hazards: the last places, on other queues, of those whose bytes are taken over there. */
static HDI_INLINE lanes add_tenants(const again *w, uint32_t queues, uint32_t slot, uint32_t own, uint32_t pos,
                                    lanes want)
{
    const hdi_stay *stays = w->stays;
    const uint16_t *res_queues = w->hazards->res_queues;
    const uint32_t *of_pass = &w->pass_use_begin[w->hazards->slot_pass[slot]];
    for (size_t u = of_pass[0], end = of_pass[1]; u < end; u++) {
        size_t res = w->use_res[u];
        hdi_tenants of = w->res_tenants[res];
        for (size_t t = of.begin; t < of.end; t++) {
            size_t tenant = w->tenant[t];
            uint32_t mask = res_queues[tenant] & ~(1u << own);
            if (!mask)
                continue;
            if (stays[res * queues + own].first != pos)
                break;
            lanes last = {0};
            for (uint32_t q = 0; q < queues; q++)
                last[q] = (stays[tenant * queues + q].last + 1) & (0 - (mask >> q & 1));
            want = hdi_sync_most(last, want);
        }
    }
    return want;
}

/* A slot of queue `own` learns what those that it waits for know. */
static HDI_INLINE lanes learn(const again *w, uint32_t queues, uint32_t own, uint32_t behind, lanes wants, lanes clock,
                              uint32_t *round)
{
    uint32_t want[HDI_SYNC_LANES], knows[HDI_SYNC_LANES];
    memcpy(want, &wants, sizeof(want));
    for (;;) {
        uint32_t q = (uint32_t)__builtin_ctz(behind);
        const uint32_t *brings = &w->out.slot_clock[hdi_slot_at(w->hazards, q, want[q] - 1) * (size_t)queues];
        lanes known = hdi_sync_load(brings) & ~w->masks.own[own] & ~w->masks.own[q];
        *round = brings[own] > *round ? brings[own] : *round;
        clock = hdi_sync_most(known | (hdi_sync_all(want[q]) & w->masks.own[q]), clock);
        behind &= behind - 1;
        if (!behind)
            return clock;
        memcpy(knows, &clock, sizeof(knows));
        while (want[__builtin_ctz(behind)] <= knows[__builtin_ctz(behind)]) {
            behind &= behind - 1;
            if (!behind)
                return clock;
        }
    }
}

/* Finds what a slot waits for, and whether it knows less than it did: then the next one of its queue is due. */
static HDI_INLINE void visit(again *w, uint32_t queues, uint32_t slot)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t own = hazards->slot_queue[slot], pos = hazards->slot_pos[slot], round = 0;
    const uint32_t *queue_begin = &hazards->queue_begin[own], *at = &hazards->queue_slot[queue_begin[0] + pos];
    uint32_t *row = &w->out.slot_clock[(size_t)slot * queues];
    newest *n = &w->newest[own];
    lanes want = hdi_sync_load(&hazards->slot_want[(size_t)slot * queues]), clock = {0};
    want = add_tenants(w, queues, slot, own, pos, want);
    if (pos > 0 && n->slot == at[-1]) { /* as a row it may not have arrived yet */
        clock = n->clock;
        round = n->round;
    } else if (pos > 0) {
        clock = hdi_sync_load(&w->out.slot_clock[(size_t)at[-1] * queues]) & ~w->masks.own[own];
        round = w->out.slot_round[at[-1]];
    }
    uint32_t behind = hdi_sync_bits(hdi_sync_any(hdi_sync_are_more(want, clock) & w->masks.others[own]));
    w->out.slot_waits[slot] = (uint16_t)behind;
    if (behind) {
        clock = learn(w, queues, own, behind, want, clock, &round);
        memcpy(&w->want[(size_t)slot * queues], &want, queues * sizeof(*w->want));
        w->out.waiting[w->out.waiting_count++] = slot;
    }
    lanes knows = clock | (hdi_sync_all(pos) & w->masks.own[own]);
    if (!(hdi_sync_any((knows ^ hdi_sync_load(row)) & w->used) | (round ^ w->out.slot_round[slot])))
        return;
    w->any_less = true;
    hdi_bit_set(w->less, slot);
    n->clock = clock;
    n->slot = slot;
    n->round = w->out.slot_round[slot] = round;
    memcpy(row, &knows, queues * sizeof(*row));
    if (queue_begin[0] + pos + 1 < queue_begin[1])
        hdi_bit_set(w->due, at[1]);
}

/* Whether one that waits, and was promised nothing, waits for somebody who knows less than he did. */
static HDI_INLINE bool brings_less(const again *w, uint32_t queues, uint32_t slot)
{
    const uint32_t *want = &w->want[(size_t)slot * queues];
    for (uint32_t left = w->out.slot_waits[slot]; left; left &= left - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(left);
        if (hdi_bit_get(w->less, hdi_slot_at(w->hazards, q, want[q] - 1)))
            return true;
    }
    return false;
}

/* Whether a slot that is due finds what it found. */
static HDI_INLINE bool is_same(const again *w, uint32_t queues, uint32_t slot)
{
    const hdi_hazards *hazards = w->hazards;
    size_t row = (size_t)slot * queues;
    if (hdi_sync_any((hdi_sync_load(&hazards->slot_want[row]) ^ hdi_sync_load(&w->want[row])) & w->used))
        return false;
    if (!w->any_less)
        return true;
    uint32_t own = hazards->slot_queue[slot], pos = hazards->slot_pos[slot];
    if (pos > 0 && hdi_bit_get(w->less, hdi_slot_at(hazards, own, pos - 1)))
        return false;
    return !brings_less(w, queues, slot);
}

/* In the order of the slots, so that what a slot learns is what it will be. */
static HDI_INLINE void visit_due(const again *shared, uint32_t queues, hdi_synced *out)
{
    again w = *shared;
    for (uint32_t word = 0; word < hdi_bit_words(w.hazards->slot_count); word++) {
        for (uint64_t left; (left = w.due[word]) != 0;) {
            uint32_t slot = 64 * word + (uint32_t)__builtin_ctzll(left);
            w.due[word] = left & (left - 1);
            if (is_same(&w, queues, slot))
                w.out.waiting[w.out.waiting_count++] = slot;
            else
                visit(&w, queues, slot);
        }
    }
    *out = w.out;
}

bool hdi_may_sync_again(const hdi_hazards *hazards, const hdi_queues *queues, const hdi_synced *synced)
{
    return synced->waiting && queues->count <= HDI_SYNC_LANES && !hazards->has_extras &&
           hazards->memory_edge_count <= hazards->slot_count / FEW_PROMISES;
}

hd_result hdi_sync_again(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_queues *queues,
                         const hdi_lifetimes *lifetimes, const hdi_placed *placed, hdi_arena *arena, uint32_t *want,
                         hdi_synced *out)
{
    again w = {.hazards = hazards,
               .stays = lifetimes->stay,
               .res_tenants = placed->res_tenants,
               .tenant = placed->tenant,
               .pass_use_begin = decl->pass_use_begin,
               .use_res = decl->use_res,
               .masks = hdi_sync_masks_of(queues->count),
               .want = want,
               .out = *out};
    w.due = HDI_ARENA_ZEROED(arena, uint64_t, 2 * (size_t)hdi_bit_words(hazards->slot_count));
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    w.less = w.due + hdi_bit_words(hazards->slot_count);
    for (uint32_t i = 0; i < out->waiting_count; i++)
        hdi_bit_set(w.due, out->waiting[i]);
    w.out.waiting_count = 0; /* the list is told by bits: it is made anew where it stands */
    for (uint32_t q = 0; q < queues->count; q++) {
        w.newest[q].slot = HDI_NONE;
        w.used |= w.masks.own[q];
    }
    if (queues->count == 2)
        visit_due(&w, 2, out);
    else if (queues->count == 3)
        visit_due(&w, 3, out);
    else /* the host's with three */
        visit_due(&w, 4, out);
    return HD_OK;
}
