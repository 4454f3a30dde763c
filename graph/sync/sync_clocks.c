#include "sync_work.h"

#include <string.h>

/* Vector clocks of slots: one sweep in slot order, by one worker, as each slot takes what slots before it knew. Then,
 * of each place, how many places of the other queues start before they know of it. O(slots * queues). */

enum { FOUR = 4 };
_Static_assert((int)HDI_ROW_SLACK >= FOUR - 1 && HD_MAX_QUEUES % FOUR == 0, "rows are read by fours");

/* What the newest slot of each queue knew of the others. */
typedef struct newest {
    uint32_t clock[HD_MAX_QUEUES][HD_MAX_QUEUES], round[HD_MAX_QUEUES];
} newest;

/* A slot of queue `own` learns what those that it wants knew. Returns the queues of which it did not know what it
 * wants. */
static HDI_INLINE uint32_t catch_up(const hdi_hazards *hazards, const uint32_t *rows, uint32_t queues, uint32_t own,
                                    const uint32_t *want, newest *n)
{
    uint32_t *clock = n->clock[own], behind = 0;
    for (uint32_t q = 0; q < queues; q++)
        behind |= (uint32_t)(want[q] > clock[q]) << q;
    for (uint32_t q = 0; q < queues; q++) {
        uint32_t wanted = want[q];
        if (wanted <= clock[q] || q == own)
            continue;
        const uint32_t *brings = &rows[(size_t)hdi_slot_at(hazards, q, wanted - 1) * queues];
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
 * queue never count. */
static void sweep(const hdi_hazards *hazards, uint32_t queues, hdi_synced *out)
{
    newest n = {0};
    const uint32_t *want = out->slot_want;
    uint32_t *row = out->slot_clock;
    for (uint32_t own = 0; own < queues; own++) {
        for (uint32_t q = queues; q < HD_MAX_QUEUES; q++)
            n.clock[own][q] = UINT32_MAX;
    }
    for (uint32_t s = 0; s < hazards->slot_count; s++, row += queues, want += queues) {
        uint32_t own = hazards->slot_queue[s], *clock = n.clock[own], behind = 0;
        for (uint32_t q = 0; q < queues; q += FOUR) {
            const uint32_t *w = want + q, *known = clock + q;
            behind |= (w[0] > known[0]) | (w[1] > known[1]) | (w[2] > known[2]) | (w[3] > known[3]);
        }
        if (HDI_UNLIKELY(behind))
            behind = catch_up(hazards, out->slot_clock, queues, own, want, &n);
        for (uint32_t q = 0; q < queues; q += FOUR)
            memcpy(row + q, clock + q, FOUR * sizeof(*row));
        row[own] = hazards->slot_pos[s];
        out->slot_waits[s] = (uint16_t)behind;
        out->slot_round[s] = n.round[own];
    }
}

/* Of places of a queue, the rows of which are `of`, from `known` on, up to `now`: so many places of queue k did not
 * know of them, and the last of these was the slot before `behind`. */
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

/* Of queue k: its slots, one after another, know more and more of the other queues. Clocks of one queue only rise, and
 * only where slots wait. At last come the places that no slot of the queue knows of. */
static void find_unaware(const hdi_hazards *hazards, uint32_t queues, uint32_t k, const hdi_synced *out)
{
    const uint32_t *begin = hazards->queue_begin, *slots = hazards->queue_slot + begin[k];
    uint32_t known[HD_MAX_QUEUES] = {0}, count = begin[k + 1] - begin[k];
    for (uint32_t i = 0; i <= count && count; i++) {
        if (i < count && !out->slot_waits[slots[i]])
            continue;
        for (uint32_t q = 0; q < queues; q++) {
            uint32_t now =
                i < count ? out->slot_clock[(size_t)slots[i] * queues + q] : begin[q + 1] - begin[q];
            if (q != k && known[q] < now)
                know(out->place_unaware + hdi_unaware_row(queues, begin[q]), queues, k, &known[q], now, i,
                     i > 0 ? slots[i - 1] + 1 : 0);
        }
    }
}

hd_result hdi_sync_clocks(const hdi_hazards *hazards, const hdi_queues *queue_set, const uint32_t *want,
                          const hdi_crew *crew, hdi_arena *arena, hdi_synced *out)
{
    uint32_t slots = hazards->slot_count, queues = queue_set->count;
    out->slot_want = want;
    if (queues == 1) {
        out->slot_clock = hazards->slot_pos;
        out->slot_round = NULL;
        out->place_unaware = NULL;
        return HD_OK;
    }
    if (!out->slot_clock) { /* else those of before are not looked at any more */
        out->slot_clock = HDI_EARLY_ARRAY(crew, arena, uint32_t, (size_t)slots * queues + HDI_ROW_SLACK);
        out->slot_round = HDI_EARLY_ARRAY(crew, arena, uint32_t, slots);
        out->slot_waits = HDI_EARLY_ARRAY(crew, arena, uint16_t, slots);
        out->place_unaware = HDI_EARLY_ARRAY(crew, arena, uint32_t, hdi_unaware_row(queues, slots));
    }
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    sweep(hazards, queues, out);
    memset(out->place_unaware, 0, hdi_unaware_row(queues, slots) * sizeof(*out->place_unaware));
    for (uint32_t k = 0; k < queues; k++)
        find_unaware(hazards, queues, k, out);
    return HD_OK;
}
