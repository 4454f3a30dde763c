#include "sync_work.h"

#include <string.h>


/* Sync: which slots wait for which, by vector clocks. slot_clock[s * queues + q] counts the slots of queue q that have
 * finished before slot s starts: what the slot before it on its queue knew, and what the slots that it wants know. One
 * sweep in slot order finds them (sync_clocks.c); all else follows from them slot by slot, so it goes by ranges of
 * slots. What the slot before already knew needs no wait; of the waits that are left, one is dropped when another
 * brings it along. A submit ends behind a slot that is waited for and before a slot that waits, and nowhere else.
 * O(slots * queues). */

enum { GRAIN = 512 };

/* What a range of slots holds, then what stands before it. */
typedef struct sums {
    uint32_t waits, submits;
    uint32_t open_pos[HD_MAX_QUEUES], signals[HD_MAX_QUEUES]; /* the place behind the last submit of each queue */
} sums;

/* Of a slot: a submit ends behind it; some wait is for it. Ranges write to those of others. */
typedef struct slot_marks {
    uint8_t ends, signals;
} slot_marks;

typedef struct work {
    const hdi_hazards *hazards;
    uint32_t queues;
    hdi_synced *out;
    slot_marks *marks;
    uint32_t *slot_wait_begin; /* of those that wait */
    sums sums[HDI_MOST_PARTS];
} work;

static void mark(uint8_t *byte)
{
    atomic_store_explicit((_Atomic(uint8_t) *)byte, 1, memory_order_relaxed);
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

/* There are few; the processors that all this is for need not have an instruction for it. */
static inline uint32_t count_bits(uint32_t mask)
{
    uint32_t count = 0;
    for (; mask; mask &= mask - 1)
        count++;
    return count;
}

static void find_cuts(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work *w = user;
    const hdi_hazards *hazards = w->hazards;
    const hdi_synced *out = w->out;
    const uint32_t *slot_pos = hazards->slot_pos, *slot_want = out->slot_want, *slot_clock = out->slot_clock;
    const uint8_t *slot_queue = hazards->slot_queue;
    uint16_t *waits = out->slot_waits;
    uint32_t queues = w->queues, count = 0;
    for (uint32_t s = begin; s < end; s++) {
        uint32_t mask = waits[s];
        if (!mask)
            continue;
        if (slot_pos[s])
            mark(&w->marks[hdi_slot_at(hazards, slot_queue[s], slot_pos[s] - 1)].ends);
        const uint32_t *want = &slot_want[(size_t)s * queues];
        if (mask & (mask - 1))
            mask = find_waits(hazards, slot_clock, queues, mask, want);
        for (uint32_t left = mask; left; left &= left - 1)
            mark(&w->marks[wanted_slot(hazards, want, (uint32_t)__builtin_ctz(left))].signals);
        waits[s] = (uint16_t)mask;
        count += count_bits(mask);
    }
    w->sums[part].waits = count;
}

static void fill_waits(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work *w = user;
    const hdi_hazards *hazards = w->hazards;
    const hdi_synced *out = w->out;
    const uint32_t *slot_want = out->slot_want, *slot_pos = hazards->slot_pos, *slot_pass = hazards->slot_pass;
    const uint8_t *slot_queue = hazards->slot_queue;
    const uint16_t *waits = out->slot_waits;
    const slot_marks *marks = w->marks;
    uint32_t *slot_wait_begin = w->slot_wait_begin, queues = w->queues;
    hdi_wait *wait = out->wait;
    sums count = {.waits = w->sums[part].waits};
    uint32_t at = count.waits;
    for (uint32_t s = begin; s < end; s++) {
        uint32_t mask = waits[s];
        if (mask)
            slot_wait_begin[s] = at;
        for (; mask; mask &= mask - 1) {
            uint32_t q = (uint32_t)__builtin_ctz(mask), pos = slot_want[(size_t)s * queues + q] - 1;
            wait[at++] = (hdi_wait){.queue = q, .pos = pos, .reason_pass = slot_pass[hdi_slot_at(hazards, q, pos)]};
        }
        if (marks[s].ends | marks[s].signals) {
            uint32_t q = slot_queue[s];
            count.submits++;
            count.open_pos[q] = slot_pos[s] + 1;
            count.signals[q] += marks[s].signals;
        }
    }
    w->sums[part] = count;
}

/* Submits in the order of their last slots: what they wait for then stands before them. */
static void fill_submits(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work *w = user;
    const hdi_hazards *hazards = w->hazards;
    const hdi_synced *out = w->out;
    const uint32_t *slot_pos = hazards->slot_pos, *slot_wait_begin = w->slot_wait_begin;
    const uint8_t *slot_queue = hazards->slot_queue;
    const uint16_t *slot_waits = out->slot_waits;
    const slot_marks *marks = w->marks;
    uint32_t *place_submit = out->place_submit, *submit_begin = out->submit_begin;
    sums sum = w->sums[part];
    uint32_t place = 0;
    for (uint32_t q = 0; q < w->queues; q++)
        place += sum.open_pos[q];
    for (uint32_t s = begin; s < end; s++) {
        if (!(marks[s].ends | marks[s].signals))
            continue;
        uint32_t q = slot_queue[s], first_pos = sum.open_pos[q], end_pos = slot_pos[s] + 1, number = sum.submits++;
        const uint32_t *queue_slot = &hazards->queue_slot[hazards->queue_begin[q]];
        uint32_t first = queue_slot[first_pos], waits = slot_waits[first];
        sum.signals[q] += marks[s].signals;
        out->submit[number] = (hdi_submit){.queue = q,
                                           .first_pos = first_pos,
                                           .end_pos = end_pos,
                                           .wait_begin = waits ? slot_wait_begin[first] : 0,
                                           .wait_count = count_bits(waits),
                                           .signal = marks[s].signals ? sum.signals[q] : 0};
        for (uint32_t pos = first_pos; pos < end_pos; pos++)
            place_submit[hazards->queue_begin[q] + pos] = number;
        submit_begin[number] = place;
        place += end_pos - first_pos;
        sum.open_pos[q] = end_pos;
    }
}

/* From what each range holds to what stands before it. */
static void add_up(work *w, uint32_t ranges)
{
    sums before = {0};
    for (uint32_t r = 0; r < ranges; r++) {
        sums of = w->sums[r];
        w->sums[r] = before;
        before.submits += of.submits;
        for (uint32_t q = 0; q < w->queues; q++) {
            before.open_pos[q] = of.open_pos[q] ? of.open_pos[q] : before.open_pos[q];
            before.signals[q] += of.signals[q];
        }
    }
    w->out->submit_count = before.submits;
}

/* Of one queue: nothing waits, so there is one submit. */
static hd_result one_queue(const hdi_hazards *hazards, hdi_arena *arena, hdi_synced *out)
{
    out->submit = HDI_ARENA_ARRAY(arena, hdi_submit, 1);
    out->submit_begin = HDI_ARENA_ZEROED(arena, uint32_t, 2);
    out->submit_count = out->wait_count = 0;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (hazards->slot_count)
        out->submit[out->submit_count++] = (hdi_submit){.end_pos = hazards->slot_count};
    out->submit_begin[out->submit_count] = hazards->slot_count;
    return HD_OK;
}

/* The last slot of a queue, HDI_NONE: it has none. It ends a submit. */
static uint32_t last_slot(const hdi_hazards *hazards, uint32_t q)
{
    bool any = hazards->queue_begin[q] < hazards->queue_begin[q + 1];
    return any ? hazards->queue_slot[hazards->queue_begin[q + 1] - 1] : HDI_NONE;
}

static bool make_submits(hdi_synced *out, uint32_t slots, hdi_arena *arena)
{
    out->submit = HDI_ARENA_ARRAY(arena, hdi_submit, out->submit_count);
    out->submit_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)out->submit_count + 1);
    if (arena->failed)
        return false;
    out->submit_begin[out->submit_count] = slots;
    return true;
}

hd_result hdi_sync(const hdi_hazards *hazards, const hdi_queues *queues, const hdi_crew *crew, hdi_arena *arena,
                   hdi_synced *out)
{
    uint32_t slots = hazards->slot_count, ranges = hdi_range_count(crew, slots, GRAIN);
    if (queues->count == 1)
        return one_queue(hazards, arena, out);
    out->place_submit = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    work w; /* not cleared: it is long */
    w.hazards = hazards;
    w.queues = queues->count;
    w.out = out;
    w.marks = HDI_EARLY_ARRAY(crew, arena, slot_marks, slots);
    w.slot_wait_begin = HDI_EARLY_ARRAY(crew, arena, uint32_t, slots);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    memset(w.marks, 0, slots * sizeof(*w.marks));
    hdi_crew_ranges(crew, slots, GRAIN, find_cuts, &w);
    out->wait_count = 0;
    for (uint32_t r = 0; r < ranges; r++) {
        uint32_t count = w.sums[r].waits;
        w.sums[r].waits = out->wait_count;
        out->wait_count += count;
    }
    for (uint32_t q = 0, last; q < w.queues; q++) {
        if ((last = last_slot(hazards, q)) != HDI_NONE)
            w.marks[last].ends = 1;
    }
    out->wait = HDI_ARENA_ARRAY(arena, hdi_wait, out->wait_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(crew, slots, GRAIN, fill_waits, &w);
    add_up(&w, ranges);
    if (!make_submits(out, slots, arena))
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(crew, slots, GRAIN, fill_submits, &w);
    return HD_OK;
}
