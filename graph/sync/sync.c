#include "phases.h"

#include <string.h>

#include "hints.h"

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

/* ---- the same, by the caller alone ---- */

/* What a slot waits for. */
typedef struct slot_wait {
    uint32_t begin, count;
} slot_wait;

/* Of a slot: a submit ends behind it; and some wait is for it. */
enum { ENDS = 1, SIGNALS = 2 };

typedef struct alone {
    const hdi_hazards *hazards;
    uint32_t queues;
    hdi_synced *out;
    uint8_t *marks;
    slot_wait *place_waits; /* places as in queue_slot */
} alone;

/* Finds waits and writes them down at once; returns how many. As a rule a slot waits for one queue. */
static uint32_t wait_alone(const alone *w)
{
    const hdi_hazards hazards = *w->hazards; /* of its own, both: nothing that is written here changes them */
    const hdi_synced out = *w->out;
    const uint32_t queues = w->queues;
    uint8_t *const marks = w->marks;
    slot_wait *const place_waits = w->place_waits;
    uint32_t at = 0;
    for (uint32_t i = 0; i < out.waiting_count; i++) {
        uint32_t s = out.waiting[i], mask = out.slot_waits[s], begin = at, pos = hazards.slot_pos[s];
        const uint32_t *want = &out.slot_want[(size_t)s * queues];
        const size_t place = (size_t)hazards.queue_begin[hazards.slot_queue[s]] + pos;
        if (pos)
            marks[hazards.queue_slot[place - 1]] |= ENDS;
        if (mask & (mask - 1)) {
            mask = find_waits(&hazards, out.slot_clock, queues, mask, want);
            out.slot_waits[s] = (uint16_t)mask;
        }
        do {
            uint32_t q = (uint32_t)__builtin_ctz(mask), from = wanted_slot(&hazards, want, q);
            marks[from] = ENDS | SIGNALS;
            out.wait[at++] = (hdi_wait){.queue = q, .pos = want[q] - 1, .reason_pass = hazards.slot_pass[from]};
            mask &= mask - 1;
        } while (mask);
        place_waits[place] = (slot_wait){begin, at - begin};
    }
    return at;
}

/* Of a queue. Places are told of in their order, some of them before their time. */
static HDI_INLINE void tell_places(uint32_t *place_submit, uint32_t first, uint32_t end, uint32_t count,
                                   uint32_t number)
{
    enum { SOME = 8 };
    if (HDI_LIKELY(first + SOME <= count)) {
        for (uint32_t i = 0; i < SOME; i++)
            place_submit[first + i] = number;
        first += SOME;
    }
    for (; first < end; first++)
        place_submit[first] = number;
}

/* Submits that end with these slots. */
static void submit_alone(const alone *w, const uint32_t *list, uint32_t count)
{
    const hdi_synced out = *w->out; /* of its own: nothing that is written here changes it */
    const uint32_t *queue_begin = w->hazards->queue_begin, *slot_pos = w->hazards->slot_pos;
    const uint8_t *const slot_queue = w->hazards->slot_queue, *const marks = w->marks;
    const slot_wait *const place_waits = w->place_waits;
    uint32_t open_pos[HD_MAX_QUEUES] = {0}, signals[HD_MAX_QUEUES] = {0}, place = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t s = list[i], q = slot_queue[s], first = open_pos[q], end = slot_pos[s] + 1;
        uint32_t signal = marks[s] / SIGNALS;
        slot_wait waits = place_waits[queue_begin[q] + first];
        signals[q] += signal;
        out.submit[i] = (hdi_submit){.queue = q,
                                      .first_pos = first,
                                      .end_pos = end,
                                      .wait_begin = waits.begin,
                                      .wait_count = waits.count,
                                      .signal = signals[q] & (0 - signal)};
        out.submit_begin[i] = place;
        tell_places(out.place_submit + queue_begin[q], first, end, queue_begin[q + 1] - queue_begin[q], i);
        place += end - first;
        open_pos[q] = end;
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

/* Nobody waits for anybody: one submit. */
static hd_result one_queue(const hdi_hazards *hazards, uint32_t queue, uint32_t *place_submit, hdi_arena *arena,
                           hdi_synced *out)
{
    out->submit = HDI_ARENA_ARRAY(arena, hdi_submit, 1);
    out->submit_begin = HDI_ARENA_ZEROED(arena, uint32_t, 2);
    out->wait = NULL;
    out->place_submit = place_submit;
    out->submit_count = out->wait_count = 0;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (hazards->slot_count)
        out->submit[out->submit_count++] = (hdi_submit){.queue = queue, .end_pos = hazards->slot_count};
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

/* The slots that end submits; returns how many. Which ones cannot be foreseen. */
static uint32_t list_ends(const uint8_t *marks, uint32_t slots, uint32_t *list)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < slots; s++) {
        list[count] = s;
        count += marks[s] != 0;
    }
    return count;
}

static hd_result sync_alone(const hdi_hazards *hazards, uint32_t queues, const hdi_crew *crew, hdi_arena *arena,
                            hdi_synced *out)
{
    uint32_t slots = hazards->slot_count;
    alone w = {.hazards = hazards, .queues = queues, .out = out};
    w.place_waits = HDI_EARLY_ARRAY(crew, arena, slot_wait, slots);
    w.marks = HDI_EARLY_ARRAY(crew, arena, uint8_t, slots);
    uint32_t *list = HDI_EARLY_ARRAY(crew, arena, uint32_t, slots);
    hdi_arena_mark mark = hdi_arena_here(arena);
    out->wait = HDI_ARENA_ARRAY(arena, hdi_wait, (size_t)out->waiting_count * (queues - 1));
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    memset(w.place_waits, 0, slots * sizeof(*w.place_waits));
    memset(w.marks, 0, slots);
    out->wait_count = wait_alone(&w);
    const hdi_arena_kept kept = {&out->wait, out->wait_count * sizeof(*out->wait)};
    hdi_arena_keep(arena, mark, &kept, 1);
    for (uint32_t q = 0, last; q < queues; q++) {
        if ((last = last_slot(hazards, q)) != HDI_NONE)
            w.marks[last] |= ENDS;
    }
    out->submit_count = list_ends(w.marks, slots, list);
    if (!make_submits(out, slots, arena))
        return HD_OUT_OF_MEMORY;
    submit_alone(&w, list, out->submit_count);
    return HD_OK;
}

hd_result hdi_sync(const hdi_hazards *hazards, const hdi_queues *queues, const hdi_crew *crew, hdi_arena *arena,
                   hdi_synced *out)
{
    uint32_t slots = hazards->slot_count, ranges = hdi_range_count(crew, slots, GRAIN);
    if (queues->count == 1)
        return one_queue(hazards, 0, NULL, arena, out);
    uint32_t only = hdi_find_only_queue(hazards, queues->count);
    if (only != HDI_NONE)
        return one_queue(hazards, only, HDI_ARENA_ZEROED(arena, uint32_t, slots), arena, out);
    out->place_submit = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (out->waiting)
        return sync_alone(hazards, queues->count, crew, arena, out);
    work w; /* not cleared: it is long */
    w.hazards = hazards;
    w.queues = queues->count;
    w.out = out;
    w.marks = HDI_ARENA_ZEROED(arena, slot_marks, slots);
    w.slot_wait_begin = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
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
