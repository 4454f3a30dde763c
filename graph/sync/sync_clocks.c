#include "sync_work.h"

#include <string.h>


/* Vector clocks of slots: one sweep in slot order. O(slots * queues).
 *
 * In parallel each range is swept as if those before it knew nothing, then what they knew is brought to its slots,
 * range after range. That is little: soon each queue has waited inside the range for a slot that knew it all. There are
 * no more ranges than workers, as each has a little of it. */

enum { GRAIN = 512, FOUR = 4 };
_Static_assert((int)HDI_ROW_SLACK >= FOUR - 1 && HD_MAX_QUEUES % FOUR == 0, "rows are read by fours");

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

/* Rows are read and written by fours of words, with words of the row behind them, which is written later; those of no
 * queue never count. Of the last slot of a range no word behind its own is written. */
static void sweep(const hdi_hazards *hazards, uint32_t queues, hdi_synced *out, uint32_t begin, uint32_t end)
{
    newest n = {0};
    const uint8_t *slot_queue = hazards->slot_queue;
    const uint32_t *want = out->slot_want + (size_t)begin * queues, *slot_pos = hazards->slot_pos;
    uint32_t *rows = out->slot_clock, *row = rows + (size_t)begin * queues, *slot_round = out->slot_round;
    uint16_t *waits = out->slot_waits;
    for (uint32_t own = 0; own < queues; own++) {
        for (uint32_t q = queues; q < HD_MAX_QUEUES; q++)
            n.clock[own][q] = UINT32_MAX;
    }
    for (uint32_t s = begin; s < end; s++, row += queues, want += queues) {
        uint32_t own = slot_queue[s], *clock = n.clock[own], behind = 0;
        for (uint32_t q = 0; q < queues; q += FOUR) {
            const uint32_t *w = want + q, *known = clock + q;
            behind |= (w[0] > known[0]) | (w[1] > known[1]) | (w[2] > known[2]) | (w[3] > known[3]);
        }
        if (HDI_UNLIKELY(behind))
            behind = catch_up(hazards, rows, queues, begin, own, want, &n);
        if (s + 1 < end) {
            for (uint32_t q = 0; q < queues; q += FOUR)
                memcpy(row + q, clock + q, FOUR * sizeof(*row));
        } else {
            memcpy(row, clock, queues * sizeof(*row));
        }
        row[own] = slot_pos[s];
        waits[s] = (uint16_t)behind;
        slot_round[s] = n.round[own];
    }
}

typedef struct clock_work {
    const hdi_hazards *hazards;
    uint32_t queues, ranges;
    hdi_synced *out;
} clock_work;

static void sweep_range(uint32_t part, void *user)
{
    const clock_work *w = user;
    uint32_t begin = hdi_range_begin(w->hazards->slot_count, w->ranges, part);
    uint32_t end = hdi_range_begin(w->hazards->slot_count, w->ranges, part + 1);
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

/* Of queue k: its slots, one after another, know more and more of the other queues. Clocks of one queue only rise, and
 * only where slots wait. Each range writes to places of its own, as what a slot knows begins where the slot before it
 * ends; the last one also to those that no slot of the queue knows of. */
typedef struct unaware_work {
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    uint32_t queues, queue, *unaware;
} unaware_work;

/* Places of a queue, the rows of which are `of`, from `known` on, up to `now`: so many places of queue k did not know
 * of them, and the last of these was the slot before `behind`. */
static HDI_INLINE void know(uint32_t *of, uint32_t queues, uint32_t k, uint32_t *known, uint32_t now, uint32_t places,
                            uint32_t behind)
{
    uint32_t *row = of + hdi_unaware_row(queues, *known), *end = of + hdi_unaware_row(queues, now);
    for (; row < end; row += hdi_unaware_row(queues, 1)) {
        row[k] = places;
        row[queues] = behind > row[queues] ? behind : row[queues];
    }
    *known = now;
}

static void find_unaware(uint32_t first, uint32_t end, uint32_t part, void *user)
{
    const unaware_work *w = user;
    const uint32_t *begin = w->hazards->queue_begin, *slots = w->hazards->queue_slot + begin[w->queue];
    uint32_t known[HD_MAX_QUEUES] = {0}, queues = w->queues, count = begin[w->queue + 1] - begin[w->queue];
    (void)part;
    if (first > 0)
        memcpy(known, &w->synced->slot_clock[(size_t)slots[first - 1] * queues], queues * sizeof(*known));
    for (uint32_t i = first; i < end; i++) {
        if (!w->synced->slot_waits[slots[i]])
            continue;
        const uint32_t *clock = &w->synced->slot_clock[(size_t)slots[i] * queues];
        for (uint32_t q = 0; q < queues; q++) {
            if (q != w->queue && known[q] < clock[q])
                know(w->unaware + hdi_unaware_row(queues, begin[q]), queues, w->queue, &known[q], clock[q], i,
                     i > 0 ? slots[i - 1] + 1 : 0);
        }
    }
    for (uint32_t q = 0; q < queues && end == count; q++) {
        if (q != w->queue)
            know(w->unaware + hdi_unaware_row(queues, begin[q]), queues, w->queue, &known[q], begin[q + 1] - begin[q],
                 count, slots[count - 1] + 1);
    }
}

static void clear_unaware(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const unaware_work *w = user;
    size_t from = hdi_unaware_row(w->queues, begin), to = hdi_unaware_row(w->queues, end);
    (void)part;
    memset(w->unaware + from, 0, (to - from) * sizeof(*w->unaware));
}

static void find_all_unaware(const hdi_hazards *hazards, uint32_t queues, const hdi_crew *crew, hdi_synced *out)
{
    const uint32_t *begin = hazards->queue_begin;
    unaware_work all = {hazards, out, queues, 0, out->place_unaware};
    hdi_crew_ranges(crew, hazards->slot_count, GRAIN, clear_unaware, &all);
    for (uint32_t k = 0; k < queues; k++) {
        unaware_work w = {hazards, out, queues, k, out->place_unaware};
        if (begin[k] < begin[k + 1])
            hdi_crew_ranges(crew, begin[k + 1] - begin[k], GRAIN, find_unaware, &w);
    }
}

hd_result hdi_sync_clocks(const hdi_hazards *hazards, const hdi_queues *queues, const uint32_t *want,
                          const hdi_crew *crew, hdi_arena *arena, hdi_synced *out)
{
    uint32_t slots = hazards->slot_count, count = queues->count, most = slots / GRAIN,
             parts = hdi_crew_part_count(crew);
    uint32_t ranges = most == 0 ? 1 : most < parts ? most : parts;
    clock_work w = {hazards, count, ranges, out};
    out->slot_want = want;
    if (count == 1) {
        out->slot_clock = hazards->slot_pos;
        out->slot_round = NULL;
        out->place_unaware = NULL;
        return HD_OK;
    }
    if (!out->slot_clock) { /* else those of before are not looked at any more */
        out->slot_clock = HDI_EARLY_ARRAY(crew, arena, uint32_t, (size_t)slots * count + HDI_ROW_SLACK);
        out->slot_round = HDI_EARLY_ARRAY(crew, arena, uint32_t, slots);
        out->slot_waits = HDI_EARLY_ARRAY(crew, arena, uint16_t, slots);
        out->place_unaware = HDI_EARLY_ARRAY(crew, arena, uint32_t, hdi_unaware_row(count, slots));
    }
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(crew, w.ranges, sweep_range, &w);
    raise_ranges(&w);
    find_all_unaware(hazards, count, crew, out);
    return HD_OK;
}
