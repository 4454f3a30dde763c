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

/* The rest of a row moves up. Not by a call, for which all that a packer knows would have to be put aside. */
static HDI_INLINE void move_up(run *row, run *at)
{
    for (run *r = row + ++row->begin; r > at; r--) {
        *r = r[-1];
        HDI_HIDE(r);
    }
}

static HDI_INLINE void take_out(run *row, run *at)
{
    for (run *last = row + row->begin--; at < last; at++) {
        *at = at[1];
        HDI_HIDE(at);
    }
}

/* And is free again. */
static HDI_APART void give_back(run *row, uint32_t begin, uint32_t end)
{
    run *above = row + 1;
    while (above->begin < end)
        above++;
    bool joins_below = above > row + 1 && above[-1].end == begin;
    if (above->begin != end) {
        if (joins_below) {
            above[-1].end = end;
        } else {
            move_up(row, above);
            *above = (run){begin, end};
        }
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

/* Takes [begin, end) in each piece from one to another, where it is free and there is room for another run. Returns the
 * first where it is not, or the one behind the last. */
static HDI_INLINE run *take_all(run *first, run *last, uint32_t runs, uint32_t begin, uint32_t end)
{
    run *p = first;
    for (; p <= last; p += runs) {
        run *r = p + p->begin;
        if (HDI_LIKELY(r->begin == begin)) { /* mostly it comes on top of all others */
            r->begin = end;
            continue;
        }
        if (r->begin < begin) {
            HDI_HIDE(p); /* how many there are is read again, as few ask for it */
            if (HDI_UNLIKELY(p->begin == runs - 1))
                break;
            p->begin++;
            r[0].end = begin;
            r[1] = (run){end, UINT32_MAX};
            continue;
        }
        r = p + 1;
        while (r->end <= begin)
            r++;
        if (HDI_UNLIKELY(r->end < end))
            break;
        if (r->begin == begin) {
            r->begin = end;
            if (r->end == end) {
                HDI_HIDE(p);
                take_out(p, r);
            }
        } else if (HDI_UNLIKELY(r->begin > begin)) {
            break;
        } else if (r->end == end) {
            r->end = begin;
        } else {
            HDI_HIDE(p);
            if (HDI_UNLIKELY(p->begin == runs - 1))
                break;
            move_up(p, r);
            r[0].end = begin;
            r[1].begin = end;
        }
    }
    return p;
}

/* The same, of pieces by their numbers, whose rows grow. False: out of memory. */
static HDI_APART bool take(hdi_pack *pack, uint32_t first, uint32_t last, uint32_t begin, uint32_t end)
{
    for (;;) {
        size_t runs = pack->runs;
        const run *met = take_all(pack->run + first * runs, pack->run + last * runs, pack->runs, begin, end);
        first = (uint32_t)((size_t)(met - pack->run) / runs);
        if (first > last || met->begin != runs - 1) /* else there may have been no room */
            return true;
        if (!grow(pack))
            return false;
    }
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
        if (!take(pack, first, last, (uint32_t)at, (uint32_t)above))
            return false;
    }
    return true;
}

/* What has been packed so far. */
typedef struct progress {
    uint32_t next;      /* in the order */
    uint64_t end, most; /* units: the highest of all; where that is of no use any more */
    uint64_t pieces;    /* of all lives */
    uint32_t at;        /* where the next one is not free */
    const run *met;     /* in this piece */
} progress;

enum { PACKED, TOO_HIGH, BETWEEN };
enum { MEMBER_STEPS = 16, PIECE_STEPS = 2, BETWEEN_STEPS = 32, BETWEEN_PIECE_STEPS = 16 };

/* Somebody does not fit above the bottoms of all pieces, or a row is full: what he took before that was seen is given
 * back. False: out of memory. */
static HDI_APART bool place_between(hdi_pack *pack, uint32_t res, uint64_t *offset, progress *so_far)
{
    uint32_t first = pack->piece_of[pack->lifetimes->res_first[res] - pack->slot_begin],
             last = pack->piece_of[pack->end[res] - pack->slot_begin], at = so_far->at,
             units = (uint32_t)hdi_pack_units(pack->sizes->need[res].bytes),
             alignment = (uint32_t)(pack->sizes->need[res].alignment / HDI_PACK_UNIT);
    run *begin = pack->run + (size_t)first * pack->runs;
    for (run *p = begin; p < so_far->met; p += pack->runs)
        give_back(p, at, at + units);
    at = find_lowest(begin, pack->run + (size_t)last * pack->runs, pack->runs, at, units, alignment ? alignment : 1);
    offset[res] = (uint64_t)at * HDI_PACK_UNIT;
    so_far->end = at + units > so_far->end ? at + units : so_far->end;
    pack->steps += BETWEEN_STEPS + BETWEEN_PIECE_STEPS * (uint64_t)(last - first);
    return take(pack, first, last, at, at + units);
}

/* BETWEEN: the next one must be placed in another way before it may go on, so that nothing is called here. */
static HDI_INLINE int pack_members(const hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset,
                                   progress *so_far, uint32_t runs)
{
    const uint32_t *res_first = pack->lifetimes->res_first, *res_end = pack->end, *piece_of = pack->piece_of;
    const hd_memory_need *needs = pack->sizes->need;
    uint64_t bytes = 0, alignment = 0;
    uint32_t begin = pack->slot_begin, units = 0, rest = 0, mask = 0; /* rest, mask: to whole alignments */
    run *rows = pack->run;
    uint32_t end = (uint32_t)so_far->end, most = (uint32_t)so_far->most;
    uint64_t pieces = so_far->pieces;
    for (const uint32_t *next = order + so_far->next, *stop = order + count; next < stop; next++) {
        uint32_t res = *next;
        const hd_memory_need *need = &needs[res];
        if (HDI_UNLIKELY(need->bytes != bytes || need->alignment != alignment)) {
            HDI_HIDE(need); /* read again: mostly they are only compared */
            bytes = need->bytes;
            alignment = need->alignment;
            uint64_t all = hdi_pack_units(bytes), aligned = alignment / HDI_PACK_UNIT;
            if (HDI_UNLIKELY((all | aligned) > MOST_UNITS / 4))
                return TOO_HIGH;
            units = (uint32_t)all;
            rest = aligned ? (uint32_t)aligned - 1 : 0;
            mask = ~rest;
        }
        run *first = rows + (size_t)piece_of[res_first[res] - begin] * runs,
            *last = rows + (size_t)piece_of[res_end[res] - begin] * runs;
        uint32_t bottom = last[1].begin;
        for (const run *p = first; p < last; p += 2 * (size_t)runs) { /* twice is as good as once */
            uint32_t one = p[1].begin, other = p[1 + runs].begin;
            bottom = one > bottom ? one : bottom;
            bottom = other > bottom ? other : bottom;
        }
        pieces += (size_t)(last - first) / runs;
        uint32_t at = (bottom + rest) & mask;
        const run *met = take_all(first, last, runs, at, at + units);
        if (HDI_UNLIKELY(met <= last)) {
            *so_far = (progress){(uint32_t)(next - order), end, so_far->most, pieces, at, met};
            return BETWEEN;
        }
        offset[res] = (uint64_t)at * HDI_PACK_UNIT;
        if (at + units > end) {
            end = at + units;
            if (HDI_UNLIKELY(end >= most))
                return TOO_HIGH;
        }
    }
    so_far->end = end;
    so_far->pieces = pieces;
    return PACKED;
}

bool hdi_pack_in_runs(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    uint64_t most = *top / HDI_PACK_UNIT + (*top % HDI_PACK_UNIT != 0);
    progress so_far = {.most = most < MOST_UNITS ? most : MOST_UNITS};
    *top = UINT64_MAX;
    if (!set_up(pack) || !take_placed(pack, &so_far.end))
        return false;
    int done = BETWEEN;
    while (done == BETWEEN && so_far.end < so_far.most) {
        done = pack->runs == FIRST_RUNS ? pack_members(pack, order, count, offset, &so_far, FIRST_RUNS)
                                        : pack_members(pack, order, count, offset, &so_far, pack->runs);
        if (done == BETWEEN && !place_between(pack, order[so_far.next++], offset, &so_far))
            return false;
    }
    pack->steps += so_far.pieces * PIECE_STEPS + (uint64_t)count * MEMBER_STEPS;
    if (done == PACKED)
        *top = so_far.end * HDI_PACK_UNIT;
    return true;
}
