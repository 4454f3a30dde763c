#include "phases.h"

#include "csr.h"

#include <string.h>

/* Sync: which slots wait for which, by vector clocks. slot_clock[s * queues + q] counts the slots of queue q that have
 * finished before slot s starts. A forward sweep in slot order: an edge that the clock of the slot's own queue already
 * covers needs no wait; of the waits that are left, one is dropped when another brings it along. A submit ends behind a
 * slot that is waited for and before a slot that waits, and nowhere else. O(slots * queues + edges). */

enum { ENDS = 1, SIGNALS = 2 };

typedef struct work {
    const hdi_hazards *hazards;
    uint32_t queues;
    hdi_synced *out;
    uint32_t *extra_begin, *extra; /* per slot: extra edges into it; null: none */
    const hdi_edge *extra_edge;
    uint32_t *slot_wait_begin; /* per slot + 1 */
    uint8_t *slot_flags;       /* ENDS: a submit ends behind it. SIGNALS: some wait is for it */
} work;

static uint32_t slot_at(const hdi_hazards *hazards, uint32_t queue, uint32_t pos)
{
    return hazards->queue_slot[hazards->queue_begin[queue] + pos];
}

/* What a slot still has to wait for: on each queue of the mask the slot, and its place + 1. */
typedef struct wants {
    uint32_t mask, slot[HD_MAX_QUEUES], count[HD_MAX_QUEUES];
} wants;

static inline void want_slot(const hdi_hazards *hazards, uint32_t from, const uint32_t *clock, wants *w)
{
    uint32_t q = hazards->slot_queue[from], count = hazards->slot_pos[from] + 1;
    if (count > clock[q] && (!(w->mask >> q & 1) || count > w->count[q])) {
        w->count[q] = count;
        w->slot[q] = from;
        w->mask |= 1u << q;
    }
}

/* Adds the waits of slot s, and tells whether there are any; clock is its own, so far what its queue knew. */
static bool find_waits(work *w, uint32_t s, uint32_t *clock)
{
    const hdi_hazards *hazards = w->hazards;
    hdi_synced *out = w->out;
    uint32_t queues = w->queues;
    wants want;
    want.mask = 0;
    for (uint32_t e = hazards->edge_begin[s]; e < hazards->edge_begin[s + 1]; e++)
        want_slot(hazards, hazards->edge[e], clock, &want);
    for (uint32_t e = w->extra_begin ? w->extra_begin[s] : 0; w->extra_begin && e < w->extra_begin[s + 1]; e++)
        want_slot(hazards, w->extra_edge[w->extra[e]].from, clock, &want);
    if (!want.mask)
        return false;
    for (uint32_t mask = want.mask; mask; mask &= mask - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(mask);
        for (uint32_t others = want.mask & ~(1u << q); others; others &= others - 1) {
            const uint32_t *brings = &out->slot_clock[(size_t)want.slot[__builtin_ctz(others)] * queues];
            if (brings[q] >= want.count[q]) {
                want.mask &= ~(1u << q);
                break;
            }
        }
    }
    for (uint32_t mask = want.mask, own = hazards->slot_queue[s]; mask; mask &= mask - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(mask), from = want.slot[q];
        const uint32_t *brings = &out->slot_clock[(size_t)from * queues];
        w->slot_flags[from] = ENDS | SIGNALS;
        out->wait[out->wait_count++] =
            (hdi_wait){.queue = q, .pos = want.count[q] - 1, .reason_pass = hazards->slot_pass[from]};
        out->slot_round[s] = brings[own] > out->slot_round[s] ? brings[own] : out->slot_round[s];
        for (uint32_t k = 0; k < queues; k++)
            clock[k] = brings[k] > clock[k] ? brings[k] : clock[k];
        clock[q] = want.count[q] > clock[q] ? want.count[q] : clock[q];
    }
    return true;
}

/* Calls cost more than the few bytes. */
static inline void copy_clock(uint32_t *to, const uint32_t *from, uint32_t queues)
{
    switch (queues) {
    case 2:
        memcpy(to, from, 2 * sizeof(*to));
        break;
    case 3:
        memcpy(to, from, 3 * sizeof(*to));
        break;
    case 4:
        memcpy(to, from, 4 * sizeof(*to));
        break;
    default:
        memcpy(to, from, queues * sizeof(*to));
        break;
    }
}

static void sweep(work *w)
{
    static const uint32_t nothing[HD_MAX_QUEUES];
    const hdi_hazards *hazards = w->hazards;
    hdi_synced *out = w->out;
    const uint8_t *slot_queue = hazards->slot_queue;
    const uint32_t *edge_begin = hazards->edge_begin, *extra_begin = w->extra_begin ? w->extra_begin : edge_begin;
    uint32_t *slot_round = out->slot_round, *wait_begin = w->slot_wait_begin;
    uint32_t queues = w->queues, slots = hazards->slot_count, newest[HD_MAX_QUEUES];
    memset(newest, 0xff, sizeof(newest));
    for (uint32_t s = 0; s < slots; s++) {
        uint32_t *clock = &out->slot_clock[(size_t)s * queues], q = slot_queue[s], before = newest[q];
        newest[q] = s;
        copy_clock(clock, before == HDI_NONE ? nothing : &out->slot_clock[(size_t)before * queues], queues);
        clock[q] = hazards->slot_pos[s];
        slot_round[s] = before == HDI_NONE ? 0 : slot_round[before];
        wait_begin[s] = out->wait_count;
        bool waits = edge_begin[s] != edge_begin[s + 1] || extra_begin[s] != extra_begin[s + 1];
        if (waits && find_waits(w, s, clock) && before != HDI_NONE)
            w->slot_flags[before] |= ENDS;
    }
    wait_begin[slots] = out->wait_count;
    for (uint32_t q = 0; q < queues; q++) {
        if (newest[q] != HDI_NONE)
            w->slot_flags[newest[q]] |= ENDS;
    }
}

/* Submits in the order of their last slots: what they wait for then stands before them. */
static void cut(work *w)
{
    const hdi_hazards *hazards = w->hazards;
    const uint8_t *flags = w->slot_flags;
    hdi_synced *out = w->out;
    uint32_t open_pos[HD_MAX_QUEUES] = {0}, values[HD_MAX_QUEUES] = {0}, slots = hazards->slot_count;
    for (uint32_t s = 0; s < slots; s++) {
        if (!flags[s])
            continue;
        uint32_t q = hazards->slot_queue[s], end = hazards->slot_pos[s] + 1;
        const uint32_t *queue_slot = &hazards->queue_slot[hazards->queue_begin[q]];
        const uint32_t *waits = &w->slot_wait_begin[queue_slot[open_pos[q]]];
        out->submit[out->submit_count] = (hdi_submit){.queue = q,
                                                      .first_pos = open_pos[q],
                                                      .end_pos = end,
                                                      .wait_begin = waits[0],
                                                      .wait_count = waits[1] - waits[0],
                                                      .signal = flags[s] & SIGNALS ? ++values[q] : 0};
        for (uint32_t k = open_pos[q]; k < end; k++)
            out->slot_submit[queue_slot[k]] = out->submit_count;
        out->submit_count++;
        open_pos[q] = end;
    }
    for (uint32_t i = 0; i < out->wait_count; i++) {
        hdi_wait *wait = &out->wait[i];
        wait->value = out->submit[out->slot_submit[slot_at(hazards, wait->queue, wait->pos)]].signal;
    }
}

/* Nobody waits for anybody: one submit. */
static hd_result one_queue(const hdi_hazards *hazards, hdi_arena *arena, hdi_synced *out)
{
    out->submit = HDI_ARENA_ARRAY(arena, hdi_submit, 1);
    out->wait = NULL;
    out->slot_clock = hazards->slot_pos;
    out->slot_submit = out->slot_round = HDI_ARENA_ZEROED(arena, uint32_t, hazards->slot_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (hazards->slot_count)
        out->submit[out->submit_count++] = (hdi_submit){.queue = 0, .end_pos = hazards->slot_count};
    return HD_OK;
}

static bool sort_extra(work *w, uint32_t count, hdi_arena *arena)
{
    uint32_t slots = w->hazards->slot_count;
    uint32_t *key = HDI_ARENA_ARRAY(arena, uint32_t, count);
    w->extra_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)slots + 1);
    w->extra = HDI_ARENA_ARRAY(arena, uint32_t, count);
    if (arena->failed)
        return false;
    for (uint32_t e = 0; e < count; e++)
        key[e] = w->extra_edge[e].to;
    hdi_csr_build(key, count, slots, w->extra_begin, w->extra);
    return true;
}

hd_result hdi_sync(const hdi_hazards *hazards, const hdi_queues *queues, const hdi_edge *extra, uint32_t extra_count,
                   hdi_arena *arena, hdi_synced *out)
{
    work w = {.hazards = hazards, .queues = queues->count, .out = out, .extra_edge = extra};
    uint32_t slots = hazards->slot_count;
    out->submit_count = out->wait_count = 0;
    if (queues->count == 1)
        return one_queue(hazards, arena, out);
    out->submit = HDI_ARENA_ARRAY(arena, hdi_submit, slots);
    out->wait = HDI_ARENA_ARRAY(arena, hdi_wait, (size_t)hazards->edge_count + extra_count);
    out->slot_submit = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    out->slot_clock = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)slots * queues->count);
    out->slot_round = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    w.slot_wait_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)slots + 1);
    w.slot_flags = HDI_ARENA_ZEROED(arena, uint8_t, slots);
    if (arena->failed || (extra_count && !sort_extra(&w, extra_count, arena)))
        return HD_OUT_OF_MEMORY;
    sweep(&w);
    cut(&w);
    return HD_OK;
}
