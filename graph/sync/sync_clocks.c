#include "phases.h"

#include <string.h>

#include "hints.h"
#include "sync_lanes.h"

/* Vector clocks of slots: one sweep in slot order. O(slots * queues).
 *
 * In parallel each range is swept as if those before it knew nothing, then what they knew is brought to its slots,
 * range after range. That is little: soon each queue has waited inside the range for who knew it all. There are no more
 * ranges than workers, as each has a little of it. */

enum { GRAIN = 512 };

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
        if (behind && out->waiting)
            out->waiting[out->waiting_count++] = s;
    }
}

/* The same of two queues, as of one and the host's: each knows of nothing but the other one. */
static void sweep_two(const hdi_hazards *hazards, hdi_synced *synced, uint32_t begin, uint32_t end)
{
    const hdi_synced out = *synced; /* of its own: nothing that is written here changes it */
    const uint8_t *slot_queue = hazards->slot_queue;
    const uint32_t *slot_pos = hazards->slot_pos;
    uint32_t (*rows)[2] = (uint32_t(*)[2])out.slot_clock, known[2] = {0}, round[2] = {0}, waiting = out.waiting_count;
    const uint32_t (*want)[2] = (const uint32_t(*)[2])out.slot_want;
    memset(out.slot_waits + begin, 0, (end - begin) * sizeof(*out.slot_waits));
    for (uint32_t s = begin; s < end; s++) {
        uint32_t own = slot_queue[s], other = own ^ 1, wanted = want[s][other];
        if (HDI_UNLIKELY(wanted > known[own])) {
            uint32_t from = hdi_slot_at(hazards, other, wanted - 1), brings = from < begin ? 0 : rows[from][own];
            known[own] = wanted;
            round[own] = brings > round[own] ? brings : round[own];
            out.slot_waits[s] = (uint16_t)(1u << other);
            if (out.waiting)
                out.waiting[waiting++] = s;
        }
        rows[s][own] = slot_pos[s];
        rows[s][other] = known[own];
        out.slot_round[s] = round[own];
    }
    if (out.waiting) /* else others write there, too */
        synced->waiting_count = waiting;
}

/* The same of three or four: what a slot knows is four words side by side. Rows are read and written as such, too, with
 * words of the row behind them, which is written later and is of no queue here. */
typedef hdi_sync_lanes lanes;
enum { FEW = HDI_SYNC_LANES };

typedef struct few {
    lanes clock;       /* of the newest slot of a queue, without its own place */
    lanes own;         /* all bits of the lane of the queue */
    lanes bits;        /* in those of the others the bit of each */
    uint32_t round, unused[3];
} few;

/* behind: the queues of which a slot of queue `own` does not know what it wants. */
static HDI_INLINE void catch_up_few(const hdi_hazards *hazards, const uint32_t *rows, uint32_t queues, uint32_t begin,
                                    uint32_t own, const uint32_t *want, uint32_t behind, few all[FEW])
{
    few *f = &all[own];
    lanes clock = f->clock;
    uint32_t round = f->round;
    for (;;) {
        uint32_t q = (uint32_t)__builtin_ctz(behind), wanted = want[q], from = hdi_slot_at(hazards, q, wanted - 1);
        lanes known = hdi_sync_all(wanted) & all[q].own;
        if (from >= begin) {
            const uint32_t *brings = &rows[(size_t)from * queues];
            known |= hdi_sync_load(brings) & ~f->own & ~all[q].own;
            round = brings[own] > round ? brings[own] : round;
        }
        f->clock = clock = hdi_sync_most(known, clock);
        behind &= behind - 1;
        while (behind && want[__builtin_ctz(behind)] <= ((const uint32_t *)&f->clock)[__builtin_ctz(behind)])
            behind &= behind - 1;
        if (!behind)
            break;
    }
    f->round = round;
}

/* A slot; of the last one of a range no word behind its own is written. Nobody waits yet. */
static HDI_INLINE void sweep_slot(const hdi_hazards *hazards, uint32_t queues, hdi_synced *out, uint32_t begin,
                                  uint32_t s, const uint32_t *want, uint32_t *row, bool is_last, bool lists,
                                  few all[FEW])
{
    uint32_t own = hazards->slot_queue[s], pos = hazards->slot_pos[s];
    const few *f = &all[own];
    uint64_t any = hdi_sync_any(hdi_sync_are_more(hdi_sync_load(want), f->clock) & f->bits);
    if (any) {
        uint32_t behind = hdi_sync_bits(any);
        catch_up_few(hazards, out->slot_clock, queues, begin, own, want, behind, all);
        out->slot_waits[s] = (uint16_t)behind;
        if (lists)
            out->waiting[out->waiting_count++] = s;
    }
    lanes knows = f->clock | (hdi_sync_all(pos) & f->own);
    memcpy(row, &knows, is_last ? queues * sizeof(*row) : sizeof(knows));
    out->slot_round[s] = f->round;
}

static HDI_INLINE void sweep_few(const hdi_hazards *shared, uint32_t queues, hdi_synced *synced, uint32_t begin,
                                 uint32_t end)
{
    const hdi_hazards hazards = *shared; /* of its own: nothing that is written here changes them */
    hdi_synced out = *synced;
    few all[FEW] = {0};
    for (uint32_t q = 0; q < queues; q++) {
        all[q].own[q] = UINT32_MAX;
        for (uint32_t other = 0; other < queues; other++)
            all[q].bits[other] = other == q ? 0 : 1u << other;
    }
    bool lists = synced->waiting != NULL;
    memset(out.slot_waits + begin, 0, (end - begin) * sizeof(*out.slot_waits));
    const uint32_t *want = out.slot_want + (size_t)begin * queues;
    uint32_t *row = out.slot_clock + (size_t)begin * queues;
    for (uint32_t s = begin; s + 1 < end; s++, want += queues, row += queues)
        sweep_slot(&hazards, queues, &out, begin, s, want, row, false, lists, all);
    if (begin < end)
        sweep_slot(&hazards, queues, &out, begin, end - 1, want, row, true, lists, all);
    if (lists) /* else others write there, too */
        synced->waiting_count = out.waiting_count;
}

uint32_t hdi_find_only_queue(const hdi_hazards *hazards, uint32_t queues)
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
        sweep_two(w->hazards, w->out, begin, end);
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
    uint32_t ranges = most == 0 ? 1 : most < parts ? most : parts;
    clock_work w = {hazards, count, ranges, hdi_find_only_queue(hazards, count), out};
    out->slot_want = want;
    if (count == 1) {
        out->slot_clock = hazards->slot_pos;
        out->slot_round = NULL;
        return HD_OK;
    }
    if (!out->slot_clock) { /* else nobody looks at those of before any more */
        out->slot_clock = HDI_EARLY_ARRAY(crew, arena, uint32_t, (size_t)slots * count + HDI_ROW_SLACK);
        out->slot_round = HDI_EARLY_ARRAY(crew, arena, uint32_t, slots);
        out->slot_waits = HDI_EARLY_ARRAY(crew, arena, uint16_t, slots);
    }
    if (!out->waiting && crew->workers == 1)
        out->waiting = HDI_EARLY_ARRAY(crew, arena, uint32_t, slots);
    out->waiting_count = 0;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(crew, w.ranges, sweep_range, &w);
    if (w.only == HDI_NONE)
        raise_ranges(&w);
    return HD_OK;
}
