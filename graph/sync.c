#include "phases.h"

#include "csr.h"

#include <string.h>

/* Sync: which slots wait for which, by vector clocks. slot_clock[s * queues + q] counts the slots of queue q that have
 * finished before slot s starts. A forward sweep in slot order: an edge that the clock of the slot's own queue already
 * covers needs no wait; of the waits that are left, one is dropped when another brings it along. A submit ends behind a
 * slot that is waited for and before a slot that waits, and nowhere else. O(slots * queues + edges). */

typedef struct work {
    const hdi_hazards *hazards;
    const hdi_queues *queues;
    hdi_synced *out;
    uint32_t *extra_begin, *extra; /* per slot: extra edges into it */
    const hdi_edge *extra_edge;
    uint32_t *slot_wait_begin; /* per slot + 1 */
    uint8_t *signals;          /* per slot: some wait is for it */
} work;

static uint32_t slot_at(const hdi_hazards *hazards, uint32_t queue, uint32_t pos)
{
    return hazards->queue_slot[hazards->queue_begin[queue] + pos];
}

/* What a slot still has to wait for, one count a queue. */
typedef struct wants {
    uint32_t count[HD_MAX_QUEUES], reason[HD_MAX_QUEUES];
    bool any;
} wants;

static void want_slot(const hdi_hazards *hazards, uint32_t from, const uint32_t *clock, wants *w)
{
    uint32_t q = hazards->slot_queue[from], count = hazards->slot_pos[from] + 1;
    if (count > clock[q] && count > w->count[q]) {
        w->count[q] = count;
        w->reason[q] = hazards->slot_pass[from];
        w->any = true;
    }
}

/* Adds the waits of slot s; clock is its own, so far what its queue knew. */
static void find_waits(work *w, uint32_t s, uint32_t *clock)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t queues = w->queues->count;
    wants found = {0};
    for (uint32_t e = hazards->edge_begin[s]; e < hazards->edge_begin[s + 1]; e++)
        want_slot(hazards, hazards->edge[e], clock, &found);
    for (uint32_t e = w->extra_begin ? w->extra_begin[s] : 0; w->extra_begin && e < w->extra_begin[s + 1]; e++)
        want_slot(hazards, w->extra_edge[w->extra[e]].from, clock, &found);
    uint32_t *want = found.count;
    if (!found.any)
        return;
    for (uint32_t q = 0; q < queues; q++) {
        for (uint32_t other = 0; want[q] && other < queues; other++) {
            if (other == q || !want[other])
                continue;
            const uint32_t *brings = &w->out->slot_clock[(size_t)slot_at(hazards, other, want[other] - 1) * queues];
            if (brings[q] >= want[q])
                want[q] = 0;
        }
    }
    for (uint32_t q = 0; q < queues; q++) {
        if (!want[q])
            continue;
        uint32_t from = slot_at(hazards, q, want[q] - 1);
        w->signals[from] = 1;
        w->out->wait[w->out->wait_count++] = (hdi_wait){.queue = q, .pos = want[q] - 1, .reason_pass = found.reason[q]};
        const uint32_t *brings = &w->out->slot_clock[(size_t)from * queues];
        uint32_t *round = &w->out->slot_round[s], own = hazards->slot_queue[s];
        *round = brings[own] > *round ? brings[own] : *round;
        for (uint32_t k = 0; k < queues; k++)
            clock[k] = brings[k] > clock[k] ? brings[k] : clock[k];
        clock[q] = want[q] > clock[q] ? want[q] : clock[q];
    }
}

static void sweep(work *w)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t queues = w->queues->count;
    for (uint32_t s = 0; s < hazards->slot_count; s++) {
        uint32_t *clock = &w->out->slot_clock[(size_t)s * queues];
        uint32_t q = hazards->slot_queue[s], pos = hazards->slot_pos[s];
        if (pos)
            memcpy(clock, &w->out->slot_clock[(size_t)slot_at(hazards, q, pos - 1) * queues], queues * sizeof(*clock));
        else
            memset(clock, 0, queues * sizeof(*clock));
        clock[q] = pos;
        w->out->slot_round[s] = pos ? w->out->slot_round[slot_at(hazards, q, pos - 1)] : 0;
        w->slot_wait_begin[s] = w->out->wait_count;
        find_waits(w, s, clock);
    }
    w->slot_wait_begin[hazards->slot_count] = w->out->wait_count;
}

/* Submits in the order of their last slots: what they wait for then stands before them. */
static void cut(work *w)
{
    const hdi_hazards *hazards = w->hazards;
    hdi_synced *out = w->out;
    uint32_t open_pos[HD_MAX_QUEUES] = {0}, open_wait[HD_MAX_QUEUES] = {0}, values[HD_MAX_QUEUES] = {0};
    for (uint32_t s = 0; s < hazards->slot_count; s++) {
        uint32_t q = hazards->slot_queue[s], pos = hazards->slot_pos[s];
        uint32_t on_queue = hazards->queue_begin[q + 1] - hazards->queue_begin[q];
        if (pos == open_pos[q])
            open_wait[q] = s;
        bool ends = w->signals[s] || pos + 1 == on_queue;
        if (!ends) {
            uint32_t next = slot_at(hazards, q, pos + 1);
            ends = w->slot_wait_begin[next] != w->slot_wait_begin[next + 1];
        }
        if (!ends)
            continue;
        hdi_submit *submit = &out->submit[out->submit_count];
        *submit = (hdi_submit){.queue = q,
                               .first_pos = open_pos[q],
                               .end_pos = pos + 1,
                               .wait_begin = w->slot_wait_begin[open_wait[q]],
                               .wait_count = w->slot_wait_begin[open_wait[q] + 1] - w->slot_wait_begin[open_wait[q]],
                               .signal = w->signals[s] ? ++values[q] : 0};
        for (uint32_t k = open_pos[q]; k <= pos; k++)
            out->slot_submit[slot_at(hazards, q, k)] = out->submit_count;
        out->submit_count++;
        open_pos[q] = pos + 1;
    }
    for (uint32_t i = 0; i < out->wait_count; i++)
        out->wait[i].value =
            out->submit[out->slot_submit[slot_at(hazards, out->wait[i].queue, out->wait[i].pos)]].signal;
}

/* Nobody waits for anybody: one submit. */
static void one_queue(const hdi_hazards *hazards, hdi_synced *out)
{
    uint32_t slots = hazards->slot_count;
    for (uint32_t s = 0; s < slots; s++) {
        out->slot_clock[s] = s;
    }
    memset(out->slot_submit, 0, slots * sizeof(*out->slot_submit));
    memset(out->slot_round, 0, slots * sizeof(*out->slot_round));
    if (slots)
        out->submit[out->submit_count++] = (hdi_submit){.queue = 0, .end_pos = slots};
}

hd_result hdi_sync(const hdi_hazards *hazards, const hdi_queues *queues, const hdi_edge *extra, uint32_t extra_count,
                   hdi_arena *arena, hdi_synced *out)
{
    work w = {.hazards = hazards, .queues = queues, .out = out, .extra_edge = extra};
    uint32_t slots = hazards->slot_count;
    out->submit_count = out->wait_count = 0;
    out->submit = HDI_ARENA_ARRAY(arena, hdi_submit, slots);
    out->wait = HDI_ARENA_ARRAY(arena, hdi_wait, (size_t)hazards->edge_count + extra_count);
    out->slot_submit = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    out->slot_clock = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)slots * queues->count);
    out->slot_round = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    w.slot_wait_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)slots + 1);
    w.signals = HDI_ARENA_ZEROED(arena, uint8_t, slots);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (extra_count) {
        uint32_t *key = HDI_ARENA_ARRAY(arena, uint32_t, extra_count);
        w.extra_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)slots + 1);
        w.extra = HDI_ARENA_ARRAY(arena, uint32_t, extra_count);
        if (arena->failed)
            return HD_OUT_OF_MEMORY;
        for (uint32_t e = 0; e < extra_count; e++)
            key[e] = extra[e].to;
        hdi_csr_build(key, extra_count, slots, w.extra_begin, w.extra);
    }
    if (queues->count == 1) {
        one_queue(hazards, out);
        return HD_OK;
    }
    sweep(&w);
    cut(&w);
    return HD_OK;
}
