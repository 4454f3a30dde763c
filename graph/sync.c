#include "phases.h"

#include <string.h>

#include "hints.h"

/* Sync: which slots wait for which, by vector clocks. slot_clock[s * queues + q] counts the slots of queue q that have
 * finished before slot s starts: what the slot before it on its queue knew, and what the slots that it wants know. One
 * sweep in slot order finds them; all else follows from them slot by slot, so it goes by ranges of slots. What the slot
 * before already knew needs no wait; of the waits that are left, one is dropped when another brings it along. A submit
 * ends behind a slot that is waited for and before a slot that waits, and nowhere else. O(slots * queues).
 *
 * In parallel each range is swept as if those before it knew nothing, then what they knew is brought to its slots,
 * range after range. That is little: soon each queue has waited inside the range for who knew it all. There are no more
 * ranges than workers, as each has a little of it. */

enum { GRAIN = 512 };

/* ---- clocks ---- */

/* What the newest slot of each queue knew of the others. */
typedef struct newest {
    uint32_t clock[HD_MAX_QUEUES][HD_MAX_QUEUES], round[HD_MAX_QUEUES];
} newest;

/* A slot of queue `own` learns what those that it wants knew; of those before `begin` nothing but that they are done.
 * Returns the queues of which it did not know what it wants. */
static HDI_INLINE uint32_t catch_up(const hdi_hazards *hazards, const uint32_t *rows, uint32_t queues, uint32_t begin,
                                    uint32_t own, const uint32_t *want, newest *n)
{
    uint32_t *clock = n->clock[own], behind = 0;
    const uint32_t *queue_slot = hazards->queue_slot, *queue_begin = hazards->queue_begin;
    for (uint32_t q = 0; q < queues; q++)
        behind |= (uint32_t)(want[q] > clock[q]) << q;
    for (uint32_t q = 0; q < queues; q++) {
        uint32_t wanted = want[q];
        if (wanted <= clock[q] || q == own)
            continue;
        uint32_t from = queue_slot[queue_begin[q] + wanted - 1];
        if (from < begin) {
            clock[q] = wanted;
            continue;
        }
        const uint32_t *brings = &rows[(size_t)from * queues];
        uint32_t round = brings[own];
        for (uint32_t k = 0; k < queues; k++) {
            uint32_t known = k == q ? wanted : k == own ? 0 : brings[k];
            clock[k] = known > clock[k] ? known : clock[k];
        }
        n->round[own] = round > n->round[own] ? round : n->round[own];
    }
    return behind & ~(1u << own);
}

static HDI_INLINE void sweep(const hdi_hazards *hazards, uint32_t queues, hdi_synced *out, uint32_t begin, uint32_t end)
{
    newest n = {0};
    const uint8_t *slot_queue = hazards->slot_queue;
    const uint32_t *want = out->slot_want + (size_t)begin * queues, *slot_pos = hazards->slot_pos;
    uint32_t *rows = out->slot_clock, *row = rows + (size_t)begin * queues, *slot_round = out->slot_round;
    uint16_t *waits = out->slot_waits;
    for (uint32_t s = begin; s < end; s++, row += queues, want += queues) {
        uint32_t own = slot_queue[s], pos = slot_pos[s], *clock = n.clock[own], behind = 0;
        for (uint32_t q = 0; q < queues; q++)
            behind |= want[q] > clock[q];
        if (behind)
            behind = catch_up(hazards, rows, queues, begin, own, want, &n);
        for (uint32_t q = 0; q < queues; q++)
            row[q] = clock[q] + (q == own ? pos : 0);
        waits[s] = (uint16_t)behind;
        slot_round[s] = n.round[own];
    }
}

/* The same of two to four queues: what a slot knows is four words side by side. Rows are read and written as such, too,
 * with words of the row behind them, which is written later and is of no queue here; but for the last one. */
typedef uint32_t lanes __attribute__((vector_size(16)));
typedef int32_t signed_lanes __attribute__((vector_size(16)));
typedef uint64_t lane_pairs __attribute__((vector_size(16)));
enum { FEW = 4 };

typedef struct few {
    lanes clock;       /* of the newest slot of a queue, without its own place */
    lanes own, others; /* all bits of the lane of the queue, of those of the other ones */
    lanes bits;        /* and there the bit of each queue */
    uint32_t round;
} few;

static HDI_INLINE lanes load_lanes(const uint32_t *row)
{
    lanes out;
    memcpy(&out, row, sizeof(out));
    return out;
}

/* More than the other: counts are far below half of all numbers. */
static HDI_INLINE lanes are_more(lanes a, lanes b)
{
    return (lanes)((signed_lanes)a > (signed_lanes)b);
}

/* behind: the queues of which a slot of queue `own` did not know what it wants. */
static HDI_INLINE void catch_up_few(const hdi_hazards *hazards, const uint32_t *rows, uint32_t queues, uint32_t begin,
                                    uint32_t own, const uint32_t *want, uint32_t behind, few all[FEW])
{
    few *f = &all[own];
    lanes clock = f->clock;
    uint32_t round = f->round;
    for (; behind; behind &= behind - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(behind), wanted = want[q];
        if (wanted <= ((const uint32_t *)&f->clock)[q])
            continue;
        uint32_t from = hdi_slot_at(hazards, q, wanted - 1);
        lanes known = (lanes){wanted, wanted, wanted, wanted} & all[q].own;
        if (from >= begin) {
            const uint32_t *brings = &rows[(size_t)from * queues];
            known |= load_lanes(brings) & f->others & ~all[q].own;
            round = brings[own] > round ? brings[own] : round;
        }
        lanes more = are_more(known, clock);
        f->clock = clock = (known & more) | (clock & ~more);
    }
    f->round = round;
}

/* A slot; of the last one of a range no word behind its own is touched. */
static HDI_INLINE void sweep_slot(const hdi_hazards *hazards, uint32_t queues, hdi_synced *out, uint32_t begin,
                                  uint32_t s, bool is_last, few all[FEW])
{
    const uint32_t *want = out->slot_want + (size_t)s * queues;
    uint32_t *row = out->slot_clock + (size_t)s * queues, last_want[FEW] = {0};
    uint32_t own = hazards->slot_queue[s], pos = hazards->slot_pos[s];
    const few *f = &all[own];
    if (is_last)
        want = memcpy(last_want, want, queues * sizeof(*want));
    lane_pairs wants = (lane_pairs)(are_more(load_lanes(want), f->clock) & f->bits);
    uint64_t both = wants[0] | wants[1];
    uint32_t behind = (uint32_t)(both | both >> 32);
    if (behind)
        catch_up_few(hazards, out->slot_clock, queues, begin, own, want, behind, all);
    lanes knows = f->clock | ((lanes){pos, pos, pos, pos} & f->own);
    memcpy(row, &knows, is_last ? queues * sizeof(*row) : sizeof(knows));
    out->slot_waits[s] = (uint16_t)behind;
    out->slot_round[s] = f->round;
}

static HDI_INLINE void sweep_few(const hdi_hazards *shared, uint32_t queues, const hdi_synced *synced, uint32_t begin,
                                 uint32_t end)
{
    const hdi_hazards hazards = *shared; /* of its own: nothing that is written here changes them */
    hdi_synced out = *synced;
    few all[FEW] = {0};
    for (uint32_t q = 0; q < queues; q++) {
        all[q].own[q] = UINT32_MAX;
        for (uint32_t other = 0; other < queues; other++) {
            all[q].others[other] = other == q ? 0 : UINT32_MAX;
            all[q].bits[other] = other == q ? 0 : 1u << other;
        }
    }
    for (uint32_t s = begin; s + 1 < end; s++)
        sweep_slot(&hazards, queues, &out, begin, s, false, all);
    if (begin < end)
        sweep_slot(&hazards, queues, &out, begin, end - 1, true, all);
}

/* The queue that has all slots, or HDI_NONE. */
static uint32_t find_only_queue(const hdi_hazards *hazards, uint32_t queues)
{
    for (uint32_t q = 0; q < queues; q++) {
        if (hazards->queue_begin[q + 1] - hazards->queue_begin[q] == hazards->slot_count)
            return q;
    }
    return HDI_NONE;
}

/* For that queue: it knows of its own slots, and nobody else asks. */
static void sweep_only(const hdi_hazards *hazards, uint32_t queues, uint32_t own, hdi_synced *out, uint32_t begin,
                       uint32_t end)
{
    const uint32_t *slot_pos = hazards->slot_pos;
    uint32_t *row = out->slot_clock + (size_t)begin * queues;
    memset(row, 0, (size_t)(end - begin) * queues * sizeof(*row));
    memset(out->slot_round + begin, 0, (end - begin) * sizeof(*out->slot_round));
    memset(out->slot_waits + begin, 0, (end - begin) * sizeof(*out->slot_waits));
    for (uint32_t s = begin; s < end; s++, row += queues)
        row[own] = slot_pos[s];
}

typedef struct clock_work {
    const hdi_hazards *hazards;
    uint32_t queues, ranges, only; /* only: the queue that has all slots, or HDI_NONE */
    hdi_synced *out;
} clock_work;

static void sweep_range(uint32_t part, void *user)
{
    const clock_work *w = user;
    uint32_t begin = hdi_range_begin(w->hazards->slot_count, w->ranges, part);
    uint32_t end = hdi_range_begin(w->hazards->slot_count, w->ranges, part + 1);
    if (w->only != HDI_NONE)
        sweep_only(w->hazards, w->queues, w->only, w->out, begin, end);
    else if (w->queues == 2)
        sweep_few(w->hazards, 2, w->out, begin, end);
    else if (w->queues == 3)
        sweep_few(w->hazards, 3, w->out, begin, end);
    else if (w->queues == 4) /* the host's with three */
        sweep_few(w->hazards, 4, w->out, begin, end);
    else
        sweep(w->hazards, w->queues, w->out, begin, end);
}

/* What the slots before a range bring to those of queue `own` in it. entry: how many slots of each queue stand before
 * the range. Of those of queue q a slot knows as many as its clock says, or all if that is in the range; and the newest
 * of them knew all that the others did. Ends where all that comes knows at least as much without it. */
static void raise_queue(const clock_work *w, const uint32_t *entry, uint32_t end, uint32_t own)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t queues = w->queues, *rows = w->out->slot_clock, *slot_round = w->out->slot_round;
    uint32_t brought[HD_MAX_QUEUES] = {0}, joined[HD_MAX_QUEUES] = {0}, round = 0;
    uint32_t known[HD_MAX_QUEUES] = {0}; /* to the slot before */
    uint16_t *waits = w->out->slot_waits;
    uint32_t count = hazards->queue_begin[own + 1] - hazards->queue_begin[own];
    if (entry[own]) {
        uint32_t before = hdi_slot_at(hazards, own, entry[own] - 1);
        round = slot_round[before];
        memcpy(brought, &rows[(size_t)before * queues], queues * sizeof(*brought));
        memcpy(known, brought, sizeof(known));
    }
    for (uint32_t pos = entry[own]; pos < count && hdi_slot_at(hazards, own, pos) < end; pos++) {
        uint32_t s = hdi_slot_at(hazards, own, pos), *row = &rows[(size_t)s * queues], behind = 0;
        const uint32_t *want = &w->out->slot_want[(size_t)s * queues];
        bool open = false;
        for (uint32_t q = 0; q < queues; q++) {
            uint32_t reached = row[q] < entry[q] ? row[q] : entry[q];
            if (q == own)
                continue;
            behind |= (uint32_t)(want[q] > known[q]) << q;
            open |= reached < entry[q];
            if (reached <= joined[q])
                continue;
            const uint32_t *brings = &rows[(size_t)hdi_slot_at(hazards, q, reached - 1) * queues];
            joined[q] = reached;
            round = brings[own] > round ? brings[own] : round;
            for (uint32_t k = 0; k < queues; k++)
                brought[k] = brings[k] > brought[k] ? brings[k] : brought[k];
        }
        waits[s] = (uint16_t)behind;
        for (uint32_t k = 0; k < queues; k++) {
            open |= row[k] < brought[k];
            known[k] = row[k] = row[k] > brought[k] ? row[k] : brought[k];
        }
        open |= slot_round[s] < round;
        slot_round[s] = slot_round[s] > round ? slot_round[s] : round;
        if (!open)
            break;
    }
}

/* Range after range, so that what stands before each is what it will be. */
static void raise_ranges(const clock_work *w)
{
    const hdi_hazards *hazards = w->hazards;
    for (uint32_t r = 1; r < w->ranges; r++) {
        uint32_t begin = hdi_range_begin(hazards->slot_count, w->ranges, r), entry[HD_MAX_QUEUES];
        uint32_t end = hdi_range_begin(hazards->slot_count, w->ranges, r + 1);
        for (uint32_t q = 0; q < w->queues; q++)
            entry[q] = hdi_pos_from(hazards, q, 0, begin);
        for (uint32_t q = 0; q < w->queues; q++)
            raise_queue(w, entry, end, q);
    }
}

hd_result hdi_sync_clocks(const hdi_hazards *hazards, const hdi_queues *queues, const uint32_t *want,
                          const hdi_crew *crew, hdi_arena *arena, hdi_synced *out)
{
    uint32_t slots = hazards->slot_count, count = queues->count, most = slots / GRAIN,
             parts = hdi_crew_part_count(crew);
    clock_work w = {hazards, count, most == 0 ? 1 : most < parts ? most : parts, find_only_queue(hazards, count), out};
    out->slot_want = want;
    if (count == 1) {
        out->slot_clock = hazards->slot_pos;
        out->slot_round = NULL;
        return HD_OK;
    }
    if (!out->slot_clock) { /* else nobody looks at those of before any more */
        out->slot_clock = HDI_EARLY_ARRAY(crew, arena, uint32_t, (size_t)slots * count);
        out->slot_round = HDI_EARLY_ARRAY(crew, arena, uint32_t, slots);
        out->slot_waits = HDI_EARLY_ARRAY(crew, arena, uint16_t, slots);
    }
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(crew, w.ranges, sweep_range, &w);
    if (w.only == HDI_NONE)
        raise_ranges(&w);
    return HD_OK;
}

/* ---- waits and submits ---- */

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

/* Which of the slots that it wants a slot waits for: of those that the one before it on its queue did not know, which
 * mask says. */
static HDI_INLINE uint32_t find_waits(const hdi_hazards *hazards, const uint32_t *slot_clock, uint32_t queues,
                                      uint32_t mask, const uint32_t *want, slot_marks *marks)
{
    const uint32_t *queue_slot = hazards->queue_slot, *queue_begin = hazards->queue_begin;
    uint32_t from[HD_MAX_QUEUES], several = mask & (mask - 1) ? mask : 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(left);
        from[q] = queue_slot[queue_begin[q] + want[q] - 1];
    }
    for (uint32_t left = several; left; left &= left - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(left);
        for (uint32_t others = mask & ~(1u << q); others; others &= others - 1) {
            if (slot_clock[(size_t)from[__builtin_ctz(others)] * queues + q] >= want[q]) {
                mask &= ~(1u << q);
                break;
            }
        }
    }
    for (uint32_t left = mask; left; left &= left - 1)
        mark(&marks[from[__builtin_ctz(left)]].signals);
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
        mask = find_waits(hazards, slot_clock, queues, mask, &slot_want[(size_t)s * queues], w->marks);
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
    uint32_t *slot_submit = out->slot_submit, *submit_begin = out->submit_begin;
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
            slot_submit[queue_slot[pos]] = number;
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

/* Nobody waits for anybody: one submit. */
static hd_result one_queue(const hdi_hazards *hazards, uint32_t queue, uint32_t *slot_submit, hdi_arena *arena,
                           hdi_synced *out)
{
    out->submit = HDI_ARENA_ARRAY(arena, hdi_submit, 1);
    out->submit_begin = HDI_ARENA_ZEROED(arena, uint32_t, 2);
    out->wait = NULL;
    out->slot_submit = slot_submit;
    out->submit_count = out->wait_count = 0;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (hazards->slot_count)
        out->submit[out->submit_count++] = (hdi_submit){.queue = queue, .end_pos = hazards->slot_count};
    out->submit_begin[out->submit_count] = hazards->slot_count;
    return HD_OK;
}

hd_result hdi_sync(const hdi_hazards *hazards, const hdi_queues *queues, const hdi_crew *crew, hdi_arena *arena,
                   hdi_synced *out)
{
    uint32_t slots = hazards->slot_count, ranges = hdi_range_count(crew, slots, GRAIN);
    if (queues->count == 1)
        return one_queue(hazards, 0, NULL, arena, out);
    uint32_t only = find_only_queue(hazards, queues->count);
    if (only != HDI_NONE)
        return one_queue(hazards, only, HDI_ARENA_ZEROED(arena, uint32_t, slots), arena, out);
    work w = {.hazards = hazards, .queues = queues->count, .out = out};
    w.marks = HDI_ARENA_ZEROED(arena, slot_marks, slots);
    w.slot_wait_begin = HDI_EARLY_ARRAY(crew, arena, uint32_t, slots);
    out->slot_submit = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(crew, slots, GRAIN, find_cuts, &w);
    out->wait_count = 0;
    for (uint32_t r = 0; r < ranges; r++) {
        uint32_t count = w.sums[r].waits;
        w.sums[r].waits = out->wait_count;
        out->wait_count += count;
    }
    for (uint32_t q = 0; q < w.queues; q++) {
        if (hazards->queue_begin[q] < hazards->queue_begin[q + 1])
            w.marks[hazards->queue_slot[hazards->queue_begin[q + 1] - 1]].ends = 1;
    }
    out->wait = HDI_ARENA_ARRAY(arena, hdi_wait, out->wait_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(crew, slots, GRAIN, fill_waits, &w);
    add_up(&w, ranges);
    out->submit = HDI_ARENA_ARRAY(arena, hdi_submit, out->submit_count);
    out->submit_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)out->submit_count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    out->submit_begin[out->submit_count] = slots; /* the last slot of each queue ends a submit */
    hdi_crew_ranges(crew, slots, GRAIN, fill_submits, &w);
    return HD_OK;
}
