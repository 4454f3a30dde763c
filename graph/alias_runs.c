#include "alias_pack.h"

#include <string.h>

/* The packer of alias_pack.c for lives that end at few places, as those on one queue do: with the groups of the
 * schedule. Time is cut behind each end; then a life takes whole pieces of time, and each piece keeps what is taken in
 * it as runs of bytes. A packing grows densely from the bottom, so there are few runs however many resources they hold,
 * where a list of the resources themselves would be walked again and again. The offsets are the same. O(pieces of all
 * lives * runs of a piece). */

enum { FIRST_RUNS = 8, LONG_LIFE = 24 }; /* pieces of time, on average: from there on buckets of slots are quicker */

typedef struct run {
    uint32_t begin, end; /* HDI_PACK_UNITs */
} run;

struct hdi_pack_piece {
    run *item; /* by offset; between two there is something free. The first begins at 0, the last is above everything */
    run *above; /* of the search that is going on: the first that ends above */
    uint32_t count, capacity;
};

static uint32_t align_units(uint32_t value, uint32_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* The piece of time that each slot is in. False: lives are too long for it, or out of memory. */
static bool cut_time(hdi_pack *pack, const uint32_t *res, uint32_t count)
{
    uint32_t slots = pack->slot_end - pack->slot_begin, pieces = 0;
    uint64_t all = 0;
    uint32_t *piece_of = HDI_ARENA_ZEROED(pack->arena, uint32_t, (size_t)slots + 1);
    if (!piece_of)
        return false;
    for (uint32_t i = 0; i < count; i++)
        piece_of[pack->end[res[i]] - pack->slot_begin + 1] = 1;
    for (uint32_t i = 0; i < pack->placed_count; i++)
        piece_of[hdi_pack_slot(pack, pack->end[pack->placed[i]]) + 1] = 1;
    for (uint32_t s = 0; s <= slots; s++)
        piece_of[s] = pieces += piece_of[s];
    for (uint32_t i = 0; i < count; i++)
        all += piece_of[pack->end[res[i]] - pack->slot_begin] -
               piece_of[pack->lifetimes->res_first[res[i]] - pack->slot_begin] + 1;
    if (all > (uint64_t)count * LONG_LIFE)
        return false;
    pack->piece = HDI_ARENA_ARRAY(pack->arena, struct hdi_pack_piece, (size_t)pieces + 1);
    run *first = HDI_ARENA_ARRAY(pack->arena, run, ((size_t)pieces + 1) * FIRST_RUNS);
    if (!pack->piece || !first)
        return false;
    for (uint32_t p = 0; p <= pieces; p++)
        pack->piece[p] = (struct hdi_pack_piece){.item = first + (size_t)p * FIRST_RUNS, .capacity = FIRST_RUNS};
    pack->piece_of = piece_of;
    pack->piece_count = pieces + 1;
    return true;
}

/* The lowest offset that is free in all of them: each in turn moves it on, until it is back at the one that moved it
 * last. What lies below for good is not looked at again. */
static inline uint32_t lowest(struct hdi_pack_piece *first, struct hdi_pack_piece *last, uint32_t units,
                              uint32_t alignment)
{
    uint32_t bottom = 0;
    for (struct hdi_pack_piece *p = first; p <= last; p++) {
        bottom = p->item[0].end > bottom ? p->item[0].end : bottom;
        p->above = p->item + 1;
    }
    uint32_t at = align_units(bottom, alignment);
    struct hdi_pack_piece *p = first, *mover = first;
    do {
        run *r = p->above;
        while (r->end <= at)
            r++;
        if (r->begin < at + units) {
            do {
                at = align_units(r->end, alignment);
                r++;
            } while (r->begin < at + units);
            mover = p;
        }
        p->above = r;
        p = p < last ? p + 1 : first;
    } while (p != mover);
    return at;
}

/* Takes [begin, end), which is free below the run above. */
static inline bool take(hdi_arena *arena, struct hdi_pack_piece *piece, uint32_t begin, uint32_t end)
{
    run *above = piece->above, *below = above - 1, *past = piece->item + piece->count;
    if (below->end == begin) {
        below->end = end;
        if (above->begin == end) {
            below->end = above->end;
            piece->count--;
            memmove(above, above + 1, (size_t)((char *)past - (char *)(above + 1)));
        }
        return true;
    }
    if (above->begin == end) {
        above->begin = begin;
        return true;
    }
    if (piece->count == piece->capacity) {
        run *fresh = HDI_ARENA_ARRAY(arena, run, 2 * (size_t)piece->capacity);
        if (!fresh)
            return false;
        memcpy(fresh, piece->item, piece->count * sizeof(run));
        above = fresh + (above - piece->item);
        past = fresh + piece->count;
        piece->item = fresh;
        piece->capacity *= 2;
    }
    memmove(above + 1, above, (size_t)((char *)past - (char *)above));
    *above = (run){begin, end};
    piece->count++;
    return true;
}

/* *end: the highest of them. */
static bool take_placed(hdi_pack *pack, uint64_t *end)
{
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i], last = pack->piece_of[hdi_pack_slot(pack, pack->end[res])];
        uint64_t at = pack->placed_offset[res] / HDI_PACK_UNIT,
                 above = at + hdi_pack_units(pack->sizes->need[res].bytes);
        *end = above > *end ? above : *end;
        for (uint32_t p = pack->piece_of[hdi_pack_slot(pack, pack->lifetimes->res_first[res])]; p <= last; p++) {
            struct hdi_pack_piece *piece = &pack->piece[p];
            piece->above = piece->item + 1;
            while (piece->above->begin < at)
                piece->above++;
            if (!take(pack->arena, piece, (uint32_t)at, (uint32_t)above))
                return false;
        }
    }
    return true;
}

bool hdi_pack_cuts_time(hdi_pack *pack, const uint32_t *res, uint32_t count)
{
    if (pack->by_clocks)
        return false;
    if (!pack->piece_count && !cut_time(pack, res, count))
        return false;
    for (uint32_t p = 0; p < pack->piece_count; p++) {
        pack->piece[p].count = 2;
        pack->piece[p].item[0] = (run){0, 0};
        pack->piece[p].item[1] = (run){UINT32_MAX, UINT32_MAX};
    }
    return true;
}

bool hdi_pack_in_runs(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    const uint32_t *res_first = pack->lifetimes->res_first, *piece_of = pack->piece_of;
    uint64_t most = *top, end = 0;
    *top = UINT64_MAX;
    if (!take_placed(pack, &end))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = order[i];
        const hd_memory_need *need = &pack->sizes->need[res];
        uint64_t units = hdi_pack_units(need->bytes),
                 alignment = need->alignment > HDI_PACK_UNIT ? need->alignment / HDI_PACK_UNIT : 1;
        if (end + units + alignment > UINT32_MAX / 2) /* a terabyte */
            return true;
        struct hdi_pack_piece *first = &pack->piece[piece_of[res_first[res] - pack->slot_begin]],
                              *last = &pack->piece[piece_of[pack->end[res] - pack->slot_begin]];
        uint32_t at = lowest(first, last, (uint32_t)units, (uint32_t)alignment);
        for (struct hdi_pack_piece *p = first; p <= last; p++) {
            if (!take(pack->arena, p, at, at + (uint32_t)units))
                return false;
        }
        offset[res] = (uint64_t)at * HDI_PACK_UNIT;
        end = at + units > end ? at + units : end;
        if (end * HDI_PACK_UNIT >= most) /* no better than what there is */
            return true;
    }
    *top = end * HDI_PACK_UNIT;
    return true;
}
