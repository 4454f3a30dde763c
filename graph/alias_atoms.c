#include "alias_pack.h"

#include <string.h>

/* The packer of alias_runs.c for members of few sizes: what is placed begins and ends at few offsets then, however many
 * there are. Bytes between two of these are an atom, and who is in somebody's way are bits of words: each piece of time
 * has one, each atom a bit of it. A newcomer joins the words of his life and takes the lowest atoms that hold him. The
 * offsets are the same. O(pieces of all lives + atoms * pieces). */

enum { MOST_ATOMS = 64, MOST_SIZES = 6 };
#define MOST_UNITS (UINT32_MAX / 4) /* a quarter of a terabyte */

typedef struct work {
    const hdi_pack *pack;
    uint64_t *taken;                /* by piece of time: bits of atoms, never the last one */
    uint32_t begin[MOST_ATOMS + 1]; /* units; the last atom has no end */
    uint32_t atoms;
} work;

static HDI_INLINE uint64_t find_taken(const work *w, uint32_t first, uint32_t last)
{
    uint64_t taken = 0;
    for (uint32_t p = first; p <= last; p++)
        taken |= w->taken[p];
    return taken;
}

/* The lowest offset from which on so much is free, and the atom that it is in. */
static HDI_INLINE uint32_t find_lowest(const work *w, uint64_t taken, uint32_t units, uint32_t alignment,
                                       uint32_t *atom)
{
    uint32_t low = (uint32_t)__builtin_ctzll(~taken), mask = alignment - 1, at;
    for (;;) {
        uint64_t above = taken >> low; /* not the lowest bit */
        at = (w->begin[low] + mask) & ~mask;
        if (!above)
            break;
        uint32_t next = low + (uint32_t)__builtin_ctzll(above);
        if (w->begin[next] >= at + units)
            break;
        low = next + (uint32_t)__builtin_ctzll(~(taken >> next));
    }
    while (HDI_UNLIKELY(w->begin[low + 1] <= at))
        low++;
    *atom = low;
    return at;
}

/* An atom becomes two. False: there are too many. */
static HDI_APART bool split(work *w, uint32_t atom, uint32_t offset)
{
    if (w->atoms == MOST_ATOMS)
        return false;
    uint32_t above = w->atoms++ - atom;
    memmove(&w->begin[atom + 2], &w->begin[atom + 1], above * sizeof(*w->begin));
    w->begin[atom + 1] = offset;
    if (above == 1) /* nobody is in the last one */
        return true;
    uint64_t low = ((uint64_t)2 << atom) - 1;
    for (uint32_t p = 0; p < w->pack->piece_count; p++)
        w->taken[p] = (w->taken[p] & low) | (w->taken[p] >> atom) << (atom + 1);
    return true;
}

/* Takes [begin, end), which begins in an atom. False: there are too many of them. */
static HDI_INLINE bool take(work *w, uint32_t first, uint32_t last, uint32_t atom, uint32_t begin, uint32_t end)
{
    if (HDI_UNLIKELY(w->begin[atom] != begin) && !split(w, atom++, begin))
        return false;
    uint32_t to = atom;
    while (w->begin[to + 1] < end)
        to++;
    if (HDI_UNLIKELY(w->begin[to + 1] != end) && !split(w, to, end))
        return false;
    uint64_t bits = ((uint64_t)2 << to) - ((uint64_t)1 << atom);
    for (uint32_t p = first; p <= last; p++)
        w->taken[p] |= bits;
    return true;
}

/* *end: the highest of those that are placed already. */
static bool take_placed(work *w, uint64_t *end)
{
    const hdi_pack *pack = w->pack;
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i], atom = 0;
        uint64_t at = pack->placed_offset[res] / HDI_PACK_UNIT,
                 behind = at + hdi_pack_units(pack->sizes->need[res].bytes);
        if (behind > MOST_UNITS)
            return false;
        while (w->begin[atom + 1] <= at)
            atom++;
        if (!take(w, pack->piece_of[hdi_pack_slot(pack, pack->lifetimes->res_first[res])],
                  pack->piece_of[hdi_pack_slot(pack, pack->end[res])], atom, (uint32_t)at, (uint32_t)behind))
            return false;
        *end = behind > *end ? behind : *end;
    }
    return true;
}

/* False: there are too many atoms. */
static bool pack_members(work *w, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    const hdi_pack *pack = w->pack;
    const hd_memory_need *needs = pack->sizes->need;
    const uint32_t *res_first = pack->lifetimes->res_first, *res_end = pack->end,
                   *piece_of = pack->piece_of;
    uint32_t slot = pack->slot_begin;
    uint64_t end = 0, most = *top / HDI_PACK_UNIT + (*top % HDI_PACK_UNIT != 0);
    if (!take_placed(w, &end))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = order[i], first = piece_of[res_first[res] - slot], last = piece_of[res_end[res] - slot], atom;
        uint64_t units = hdi_pack_units(needs[res].bytes), alignment = needs[res].alignment / HDI_PACK_UNIT;
        if (HDI_UNLIKELY(end + units + alignment > MOST_UNITS))
            return false;
        uint32_t at = find_lowest(w, find_taken(w, first, last), (uint32_t)units,
                                  alignment ? (uint32_t)alignment : 1, &atom);
        if (HDI_UNLIKELY(!take(w, first, last, atom, at, at + (uint32_t)units)))
            return false;
        offset[res] = (uint64_t)at * HDI_PACK_UNIT;
        end = at + units > end ? at + units : end;
        if (HDI_UNLIKELY(end >= most)) { /* no better than what there is */
            *top = UINT64_MAX;
            return true;
        }
    }
    *top = end * HDI_PACK_UNIT;
    return true;
}

HDI_ON_LINE bool hdi_pack_in_atoms(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    if (pack->size_count == 0 || pack->size_count > MOST_SIZES)
        return false;
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    work w = {.pack = pack, .atoms = 1, .begin = {0, UINT32_MAX}};
    w.taken = HDI_ARENA_ZEROED(pack->arena, uint64_t, pack->piece_count);
    bool done = w.taken && pack_members(&w, order, count, offset, top);
    hdi_arena_keep(pack->arena, mark, NULL, 0);
    return done;
}
