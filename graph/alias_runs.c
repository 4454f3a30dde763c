#include "alias_pack.h"

#include <string.h>

#include "hints.h"

/* The packer of alias_pack.c for lives that end at few places, as those on one queue do: with the groups of the
 * schedule. Time is cut behind each end; then a life takes whole pieces of time, and each piece keeps what is taken in
 * it as runs of bytes. A packing grows densely from the bottom, so there are few runs however many resources they hold,
 * where a list of the resources themselves would be walked again and again. The offsets are the same. O(pieces of all
 * lives * runs of a piece). */

#define MOST_UNITS (UINT32_MAX / 2)       /* half a terabyte */
enum { FIRST_RUNS = 16, LONG_LIFE = 24 }; /* pieces of time, on average: from there on buckets of slots are quicker */

typedef struct hdi_pack_run {
    uint32_t begin, end; /* HDI_PACK_UNITs */
} run;

static uint32_t align_units(uint32_t value, uint32_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* The piece of time that each slot is in. */
static bool find_pieces(hdi_pack *pack, const uint32_t *res, uint32_t count)
{
    uint32_t slots = pack->slot_end - pack->slot_begin, pieces = 0;
    uint32_t *piece_of = HDI_ARENA_ZEROED(pack->arena, uint32_t, (size_t)slots + 1);
    if (!piece_of)
        return false;
    for (uint32_t i = 0; i < count; i++)
        piece_of[pack->end[res[i]] - pack->slot_begin + 1] = 1;
    for (uint32_t i = 0; i < pack->placed_count; i++)
        piece_of[hdi_pack_slot(pack, pack->end[pack->placed[i]]) + 1] = 1;
    for (uint32_t s = 0; s <= slots; s++)
        piece_of[s] = pieces += piece_of[s];
    pack->piece_of = piece_of;
    pack->piece_count = pieces + 1;
    return true;
}

static bool live_long(const hdi_pack *pack, const uint32_t *res, uint32_t count)
{
    const uint32_t *piece_of = pack->piece_of, *first = pack->lifetimes->res_first;
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all += piece_of[pack->end[res[i]] - pack->slot_begin] - piece_of[first[res[i]] - pack->slot_begin] + 1;
    return all > (uint64_t)count * LONG_LIFE;
}

bool hdi_pack_cuts_time(hdi_pack *pack, const uint32_t *res, uint32_t count)
{
    if (pack->by_clocks || (!pack->piece_of && !find_pieces(pack, res, count)))
        return false;
    if (pack->lives > (uint64_t)count * LONG_LIFE && pack->lives != UINT64_MAX) /* in pieces there may be fewer */
        pack->lives = live_long(pack, res, count) ? UINT64_MAX : 0;
    return pack->lives != UINT64_MAX;
}

/* All empty. The runs of a piece are by offset; between two there is something free. The first begins at 0; behind the
 * last there is one above everything. */
static bool set_up(hdi_pack *pack)
{
    if (!pack->run) {
        pack->runs = FIRST_RUNS;
        pack->run = HDI_ARENA_ARRAY(pack->arena, struct hdi_pack_run, (size_t)pack->piece_count * FIRST_RUNS);
        if (!pack->run)
            return false;
    }
    for (uint32_t p = 0; p < pack->piece_count; p++) {
        pack->run[(size_t)p * pack->runs] = (run){0, 0};
        pack->run[(size_t)p * pack->runs + 1] = (run){UINT32_MAX, UINT32_MAX};
    }
    return true;
}

/* All pieces get room for twice as many. */
static HDI_COLD bool grow(hdi_pack *pack)
{
    size_t runs = pack->runs;
    run *fresh = HDI_ARENA_ARRAY(pack->arena, run, 2 * runs * pack->piece_count);
    if (!fresh)
        return false;
    for (size_t p = 0; p < pack->piece_count; p++)
        memcpy(fresh + 2 * p * runs, pack->run + p * runs, runs * sizeof(run));
    pack->run = fresh;
    pack->runs *= 2;
    return true;
}

/* *full: set where nothing is left before the last run above everything, which is at `past`. */
static HDI_APART void insert(run *at, run one, const run *past, bool *full)
{
    run next;
    do {
        next = *at;
        *at++ = one;
        one = next;
    } while (next.begin != UINT32_MAX);
    *at = next;
    *full |= at == past;
}

static void take_out(run *at)
{
    do {
        at[0] = at[1];
    } while (at++->begin != UINT32_MAX);
}

/* [begin, end) is taken, which is free below a run. */
static HDI_INLINE void take(run *above, uint32_t begin, uint32_t end, const run *past, bool *full)
{
    run *below = above - 1;
    if (below->end == begin) {
        below->end = end;
        if (above->begin == end) {
            below->end = above->end;
            take_out(above);
        }
    } else if (above->begin == end) {
        above->begin = begin;
    } else if (above->begin == UINT32_MAX) {
        above[0].begin = begin;
        above[0].end = end;
        above[1].begin = above[1].end = UINT32_MAX;
        if (HDI_UNLIKELY(above + 1 == past))
            *full = true;
    } else {
        insert(above, (run){begin, end}, past, full);
    }
}

/* And is free again. */
static void give_back(run *item, uint32_t begin, uint32_t end, const run *past, bool *full)
{
    while (item->end < end)
        item++;
    run whole = *item;
    if (whole.begin < begin || whole.begin == 0) {
        item->end = begin;
        if (whole.end > end)
            insert(item + 1, (run){end, whole.end}, past, full);
    } else if (whole.end > end) {
        item->begin = end;
    } else {
        take_out(item);
    }
}

/* The lowest offset from `at` on that is free in all pieces: each in turn moves it on, until it is back at the one that
 * moved it last. */
static uint32_t find_lowest(run *first, run *last, uint32_t runs, uint32_t at, uint32_t units, uint32_t alignment)
{
    run *p = first, *mover = first;
    do {
        run *r = p;
        while (r->end <= at)
            r++;
        if (r->begin < at + units) {
            do {
                at = align_units(r->end, alignment);
                r++;
            } while (r->begin < at + units);
            mover = p;
        }
        p = p < last ? p + runs : first;
    } while (p != mover);
    return at;
}

/* Takes [begin, end) in each piece from one to another, where it is free. Returns the first where it is not, or the one
 * behind the last. *full: set where one of them has no room for another run. */
static HDI_INLINE run *take_all(run *first, run *last, uint32_t runs, uint32_t begin, uint32_t end, bool *full)
{
    run *p = first;
    for (; p <= last; p += runs) {
        run *above = p + 1;
        while (above->end <= begin)
            above++;
        if (HDI_UNLIKELY(above->begin < end))
            break;
        take(above, begin, end, p + runs - 1, full);
    }
    return p;
}

/* *end: the highest of them. */
static bool take_placed(hdi_pack *pack, uint64_t *end)
{
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i], last = pack->piece_of[hdi_pack_slot(pack, pack->end[res])],
                 first = pack->piece_of[hdi_pack_slot(pack, pack->lifetimes->res_first[res])];
        uint64_t at = pack->placed_offset[res] / HDI_PACK_UNIT,
                 above = at + hdi_pack_units(pack->sizes->need[res].bytes);
        *end = above > *end ? above : *end;
        if (above > MOST_UNITS) /* nobody is packed around that */
            continue;
        run *begin = pack->run + (size_t)first * pack->runs, *behind = pack->run + (size_t)last * pack->runs;
        bool full = false;
        take_all(begin, behind, pack->runs, (uint32_t)at, (uint32_t)above, &full);
        if (full && !grow(pack))
            return false;
    }
    return true;
}

/* *full: as above. */
static HDI_INLINE uint32_t place(run *first, run *last, uint32_t runs, uint32_t units, uint32_t alignment, bool *full)
{
    uint32_t bottom = 0;
    for (const run *p = first; p <= last; p += runs)
        bottom = p->end > bottom ? p->end : bottom;
    uint32_t at = align_units(bottom, alignment);
    run *met = take_all(first, last, runs, at, at + units, full);
    if (HDI_LIKELY(met > last))
        return at;
    for (run *p = first; p < met; p += runs)
        give_back(p, at, at + units, p + runs - 1, full);
    at = find_lowest(first, last, runs, at, units, alignment);
    take_all(first, last, runs, at, at + units, full);
    return at;
}

bool hdi_pack_in_runs(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    const uint32_t *res_first = pack->lifetimes->res_first, *res_end = pack->end, *piece_of = pack->piece_of;
    const hd_memory_need *needs = pack->sizes->need;
    uint64_t end = 0, most = *top / HDI_PACK_UNIT + (*top % HDI_PACK_UNIT != 0);
    uint32_t begin = pack->slot_begin;
    *top = UINT64_MAX;
    most = most < MOST_UNITS ? most : MOST_UNITS;
    if (!set_up(pack) || !take_placed(pack, &end))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = order[i], runs = pack->runs;
        uint64_t units = hdi_pack_units(needs[res].bytes), alignment = needs[res].alignment / HDI_PACK_UNIT;
        bool full = false;
        if (HDI_UNLIKELY((units | alignment) > MOST_UNITS / 4))
            return true;
        run *first = pack->run + (size_t)piece_of[res_first[res] - begin] * runs,
            *last = pack->run + (size_t)piece_of[res_end[res] - begin] * runs;
        uint32_t at = place(first, last, runs, (uint32_t)units, alignment ? (uint32_t)alignment : 1, &full);
        if (HDI_UNLIKELY(full) && !grow(pack))
            return false;
        offset[res] = (uint64_t)at * HDI_PACK_UNIT;
        end = at + units > end ? at + units : end;
        if (HDI_UNLIKELY(end >= most)) /* no better than what there is */
            return true;
    }
    *top = end * HDI_PACK_UNIT;
    return true;
}
