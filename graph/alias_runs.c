#include "alias_pack.h"

#include <string.h>

#include "hints.h"

/* The packer of alias_pack.c for lives that end at few places, as those on one queue do: with the groups of the
 * schedule. Time is cut behind each end; then a life takes whole pieces of time, and each piece keeps what is free in
 * it as runs of bytes. A packing grows densely from the bottom, so there are few runs however many resources are
 * between them, where a list of the resources themselves would be walked again and again. Nearly everybody fits above
 * the highest bottom of his pieces, and there mostly on top of all others: in the last run of a piece, which is tried
 * first. The offsets are the same. O(pieces of all lives * runs of a piece). */

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

/* All free. A row of a piece begins with the place of the last run in it, which has no end; the runs behind it are by
 * offset, and between two there is something taken. */
static bool set_up(hdi_pack *pack)
{
    if (!pack->run) {
        pack->runs = FIRST_RUNS;
        pack->run = HDI_ARENA_ARRAY(pack->arena, struct hdi_pack_run, (size_t)pack->piece_count * FIRST_RUNS);
        if (!pack->run)
            return false;
    }
    for (uint32_t p = 0; p < pack->piece_count; p++) {
        pack->run[(size_t)p * pack->runs] = (run){1, 0};
        pack->run[(size_t)p * pack->runs + 1] = (run){0, UINT32_MAX};
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

/* The rest of a row moves up. */
static HDI_APART void insert(run *row, run *at, run one)
{
    for (run *r = row + ++row->begin; r > at; r--)
        *r = r[-1];
    *at = one;
}

static HDI_APART void take_out(run *row, run *at)
{
    for (run *last = row + row->begin--; at < last; at++)
        *at = at[1];
}

/* And is free again. */
static void give_back(run *row, uint32_t begin, uint32_t end)
{
    run *above = row + 1;
    while (above->begin < end)
        above++;
    bool joins_below = above > row + 1 && above[-1].end == begin;
    if (above->begin != end) {
        if (joins_below)
            above[-1].end = end;
        else
            insert(row, above, (run){begin, end});
        return;
    }
    above->begin = joins_below ? above[-1].begin : begin;
    if (joins_below)
        take_out(row, above - 1);
}

/* The lowest offset from `at` on that is free in all pieces: each in turn moves it on, until it is back at the one that
 * moved it last. */
static uint32_t find_lowest(const run *first, const run *last, uint32_t runs, uint32_t at, uint32_t units,
                            uint32_t alignment)
{
    const run *p = first, *mover = first;
    do {
        const run *r = p + 1;
        while (r->end < at + units)
            r++;
        if (r->begin > at) {
            do
                at = align_units(r->begin, alignment);
            while ((r++)->end < at + units);
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
        run *r = p + p->begin;
        if (r->begin == begin) { /* mostly it comes on top of all others */
            r->begin = end;
            continue;
        }
        if (r->begin < begin) {
            r[0].end = begin;
            r[1] = (run){end, UINT32_MAX};
            if (HDI_UNLIKELY(++p->begin == runs - 1))
                *full = true;
            continue;
        }
        r = p + 1;
        while (r->end <= begin)
            r++;
        run of = *r;
        if (HDI_UNLIKELY(of.end < end))
            break;
        if (of.begin == begin) {
            r->begin = end;
            if (of.end == end)
                take_out(p, r);
        } else if (HDI_UNLIKELY(of.begin > begin)) {
            break;
        } else if (of.end == end) {
            r->end = begin;
        } else {
            insert(p, r, (run){r->begin, begin});
            r[1].begin = end;
            if (HDI_UNLIKELY(p->begin == runs - 1))
                *full = true;
        }
    }
    return p;
}

/* *end: the highest of them. */
static HDI_APART bool take_placed(hdi_pack *pack, uint64_t *end)
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

/* Somebody does not fit above the bottoms of all pieces: what he took before that was seen is given back. */
static HDI_APART uint32_t place_between(run *first, run *last, run *met, uint32_t runs, uint32_t at, uint32_t units,
                                        uint32_t alignment, bool *full)
{
    for (run *p = first; p < met; p += runs)
        give_back(p, at, at + units);
    at = find_lowest(first, last, runs, at, units, alignment);
    take_all(first, last, runs, at, at + units, full);
    return at;
}

/* rest, mask: what makes an offset of whole alignments. *full: as above. */
static HDI_INLINE uint32_t place(run *first, run *last, uint32_t runs, uint32_t units, uint32_t rest, uint32_t mask,
                                 bool *full)
{
    uint32_t bottom = last[1].begin;
    for (const run *p = first; p < last; p += 2 * (size_t)runs) { /* twice is as good as once */
        uint32_t one = p[1].begin, other = p[1 + runs].begin;
        bottom = one > bottom ? one : bottom;
        bottom = other > bottom ? other : bottom;
    }
    uint32_t at = (bottom + rest) & mask;
    run *met = take_all(first, last, runs, at, at + units, full);
    if (HDI_UNLIKELY(met <= last))
        at = place_between(first, last, met, runs, at, units, rest + 1, full);
    return at;
}

/* What has been packed so far. */
typedef struct progress {
    uint32_t next;      /* in the order */
    uint64_t end, most; /* units: the highest of all; where that is of no use any more */
} progress;

enum { PACKED, TOO_HIGH, FULL };

/* FULL: a row must grow before it may go on. */
static HDI_INLINE int pack_members(const hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset,
                                   progress *so_far, uint32_t runs)
{
    const uint32_t *res_first = pack->lifetimes->res_first, *res_end = pack->end, *piece_of = pack->piece_of;
    const hd_memory_need *needs = pack->sizes->need;
    hd_memory_need like = {0};
    uint32_t begin = pack->slot_begin, units = 0, rest = 0, mask = 0;
    run *rows = pack->run;
    uint32_t end = (uint32_t)so_far->end, most = (uint32_t)so_far->most;
    bool full = false;
    for (const uint32_t *next = order + so_far->next, *last = order + count; next < last; next++) {
        uint32_t res = *next;
        const hd_memory_need *need = &needs[res];
        if (HDI_UNLIKELY(need->bytes != like.bytes || need->alignment != like.alignment)) {
            like = *need;
            uint64_t all = hdi_pack_units(like.bytes), aligned = like.alignment / HDI_PACK_UNIT;
            if (HDI_UNLIKELY((all | aligned) > MOST_UNITS / 4))
                return TOO_HIGH;
            units = (uint32_t)all;
            rest = aligned ? (uint32_t)aligned - 1 : 0;
            mask = ~rest;
        }
        uint32_t lowest = place(rows + (size_t)piece_of[res_first[res] - begin] * runs,
                                rows + (size_t)piece_of[res_end[res] - begin] * runs, runs, units, rest, mask, &full);
        offset[res] = (uint64_t)lowest * HDI_PACK_UNIT;
        if (lowest + units > end) {
            end = lowest + units;
            if (HDI_UNLIKELY(end >= most))
                return TOO_HIGH;
        }
        if (HDI_UNLIKELY(full)) {
            so_far->next = (uint32_t)(next + 1 - order);
            so_far->end = end;
            return FULL;
        }
    }
    so_far->end = end;
    return PACKED;
}

bool hdi_pack_in_runs(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    uint64_t most = *top / HDI_PACK_UNIT + (*top % HDI_PACK_UNIT != 0);
    progress so_far = {.most = most < MOST_UNITS ? most : MOST_UNITS};
    *top = UINT64_MAX;
    if (!set_up(pack) || !take_placed(pack, &so_far.end))
        return false;
    if (so_far.end >= so_far.most)
        return true;
    int done;
    do {
        done = pack->runs == FIRST_RUNS ? pack_members(pack, order, count, offset, &so_far, FIRST_RUNS)
                                        : pack_members(pack, order, count, offset, &so_far, pack->runs);
        if (done == FULL && !grow(pack))
            return false;
    } while (done == FULL);
    if (done == PACKED)
        *top = so_far.end * HDI_PACK_UNIT;
    return true;
}
