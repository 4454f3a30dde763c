#include "alias_pack.h"

#include <string.h>

/* The packer of alias_runs.c for members of few sizes: what is placed begins and ends at few offsets then, however many
 * there are. Bytes between two of these are an atom, and who is in somebody's way are bits of words: each piece of time
 * has one, each atom a bit of it. A newcomer joins the words of his life and takes the lowest atoms that hold him.
 * Which these would be, from each atom on, is known from the one before him, as most have his size. The offsets are the
 * same. O((pieces + atoms) of all lives + atoms * pieces).
 *
 * Atoms are tried one by one: to count zeros for the first one that is free takes fewer instructions, but where he goes
 * then is known only when the one before him has been written down, and not foretold: 2.5 ns a pass of async.
 *
 * Whose bytes each of them takes over is told by the atoms, too. */

enum { MOST_ATOMS = 64, MOST_SIZES = 6, PAGES = 64 };
#define MOST_UNITS (UINT32_MAX / 4) /* a quarter of a terabyte */
#define SPLITS UINT64_MAX

/* Where somebody begins who comes into an atom or behind it, as far as he must for his alignment. */
typedef struct seat {
    uint64_t taken;  /* atoms in which he is; 0: not known yet */
    uint64_t offset; /* SPLITS: not known yet, or he has but a part of one of these */
} seat;

typedef struct hdi_pack_atoms {
    const hdi_pack *pack;
    uint64_t *taken;                /* by piece of time: bits of atoms, never the last one */
    uint32_t begin[MOST_ATOMS + 1]; /* units; the last atom has no end, and begins where the highest of all ends */
    uint32_t atoms;
    hd_memory_need need; /* of whom the seats are */
    uint32_t units, alignment;
    seat seat[MOST_ATOMS]; /* by atom */
} work;

/* In which [begin, end) is. *whole: has nothing else in them. */
static uint64_t atoms_in(const work *w, uint32_t begin, uint32_t end, bool *whole)
{
    uint32_t first = 0, last;
    while (w->begin[first + 1] <= begin)
        first++;
    for (last = first; w->begin[last + 1] < end;)
        last++;
    *whole = w->begin[first] == begin && w->begin[last + 1] == end;
    return ((uint64_t)2 << last) - ((uint64_t)1 << first);
}

static uint32_t align_units(const work *w, uint32_t at)
{
    return (at + w->alignment - 1) & ~(w->alignment - 1);
}

static void forget_seats(work *w)
{
    for (uint32_t k = 0; k < w->atoms; k++)
        w->seat[k] = (seat){0, SPLITS};
}

static HDI_APART void find_seat(work *w, uint32_t atom)
{
    uint32_t begin = align_units(w, w->begin[atom]);
    bool whole;
    uint64_t taken = atoms_in(w, begin, begin + w->units, &whole);
    w->seat[atom] = (seat){taken, whole ? (uint64_t)begin * HDI_PACK_UNIT : SPLITS};
}

/* Of somebody who needs something else than the one before him. False: too much. */
static HDI_APART bool set_need(work *w, const hd_memory_need *need)
{
    uint64_t units = hdi_pack_units(need->bytes), alignment = need->alignment / HDI_PACK_UNIT;
    w->need = *need;
    w->units = (uint32_t)units;
    w->alignment = alignment ? (uint32_t)alignment : 1;
    forget_seats(w);
    return (units | alignment) <= MOST_UNITS;
}

static HDI_INLINE uint64_t join(const uint64_t *from, const uint64_t *to)
{
    uint64_t taken = *to;
    for (; from < to; from += 2) { /* twice is as good as once */
        uint64_t two = from[0] | from[1];
        HDI_HIDE(two); /* lives are short: not by vectors */
        taken |= two;
    }
    return taken;
}

/* The lowest atom from which on there is room, or of which that is not known. */
static HDI_INLINE const seat *find_lowest(const work *w, uint64_t taken)
{
    const seat *at = w->seat;
    while (at->taken & taken)
        at++;
    return at;
}

/* An atom becomes two. False: there are too many. */
static bool split(work *w, uint32_t atom, uint32_t offset)
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

/* [begin, end) becomes whole atoms. False: there are too many of them. */
static HDI_APART bool cut_out(work *w, uint32_t begin, uint32_t end)
{
    uint32_t atom = 0;
    if (end > MOST_UNITS)
        return false;
    while (w->begin[atom + 1] <= begin)
        atom++;
    if (w->begin[atom] != begin && !split(w, atom++, begin))
        return false;
    while (w->begin[atom + 1] < end)
        atom++;
    if (w->begin[atom + 1] != end && !split(w, atom, end))
        return false;
    forget_seats(w);
    return true;
}

static HDI_INLINE void take(uint64_t *from, uint64_t *to, uint64_t atoms)
{
    *to |= atoms;
    for (; from < to; from++) {
        *from++ |= atoms;
        HDI_HIDE(from);
        *from |= atoms;
    }
}

static bool take_placed(work *w)
{
    const hdi_pack *pack = w->pack;
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i];
        uint64_t at = pack->placed_offset[res] / HDI_PACK_UNIT,
                 behind = at + hdi_pack_units(pack->sizes->need[res].bytes);
        bool whole;
        if (behind > MOST_UNITS || !cut_out(w, (uint32_t)at, (uint32_t)behind))
            return false;
        take(w->taken + pack->piece_of[hdi_pack_slot(pack, pack->lifetimes->res_first[res])],
             w->taken + pack->piece_of[hdi_pack_slot(pack, pack->end[res])],
             atoms_in(w, (uint32_t)at, (uint32_t)behind, &whole));
    }
    return true;
}

/* Of all who are placed. */
static uint64_t end_of(const work *w)
{
    return (uint64_t)w->begin[w->atoms - 1] * HDI_PACK_UNIT;
}

/* False: there are too many atoms, or too much is needed. */
static bool pack_members(work *w, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    const hdi_pack *pack = w->pack;
    const hd_memory_need *needs = pack->sizes->need;
    const uint32_t *res_first = pack->lifetimes->res_first, *res_end = pack->end, *piece_of = pack->piece_of;
    uint32_t slot = pack->slot_begin;
    uint64_t *taken = w->taken;
    if (!take_placed(w))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = order[i];
        uint64_t *from = taken + piece_of[res_first[res] - slot], *to = taken + piece_of[res_end[res] - slot];
        const hd_memory_need *need = &needs[res];
        if (HDI_UNLIKELY(need->bytes != w->need.bytes || need->alignment != w->need.alignment) && !set_need(w, need))
            return false;
        const seat *at = find_lowest(w, join(from, to));
        while (HDI_UNLIKELY(at->offset == SPLITS)) {
            uint32_t atom = (uint32_t)(at - w->seat), begin = align_units(w, w->begin[atom]);
            if (!at->taken)
                find_seat(w, atom);
            else if (!cut_out(w, begin, begin + w->units))
                return false;
            else if (end_of(w) >= *top) {
                *top = UINT64_MAX;
                return true;
            }
            at = find_lowest(w, join(from, to));
        }
        take(from, to, at->taken);
        offset[res] = at->offset;
    }
    *top = end_of(w) < *top ? end_of(w) : UINT64_MAX; /* no better than what there is */
    return true;
}

HDI_ON_LINE bool hdi_pack_in_atoms(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    if (pack->size_count == 0 || pack->size_count > MOST_SIZES)
        return false;
    work *w = HDI_ARENA_ARRAY(pack->arena, work, 1);
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    uint64_t *taken = HDI_ARENA_ZEROED(pack->arena, uint64_t, pack->piece_count);
    if (pack->arena->failed)
        return false;
    w->pack = pack;
    w->taken = taken;
    w->atoms = 1;
    w->begin[0] = 0;
    w->begin[1] = UINT32_MAX;
    w->need.bytes = 0; /* nobody's */
    bool done = pack_members(w, order, count, offset, top);
    pack->atoms = done ? w : NULL;
    hdi_arena_keep(pack->arena, mark, NULL, 0);
    return done;
}

/* Who is not among those from `own` on is the next of them. */
static HDI_INLINE uint32_t add_once(uint32_t *tenants, uint32_t own, uint32_t count, uint32_t tenant)
{
    for (uint32_t i = own; i < count; i++) {
        if (tenants[i] == tenant)
            return count;
    }
    tenants[count] = tenant;
    return count + 1;
}

uint32_t hdi_pack_tenants(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, const uint64_t *offset,
                          hdi_tenants *res_tenants, uint32_t *tenant, uint32_t tenants)
{
    const work *w = pack->atoms;
    const hd_memory_need *needs = pack->sizes->need;
    uint32_t owner[MOST_ATOMS], shift = 0, top = w->begin[w->atoms - 1];
    uint8_t page_atom[PAGES]; /* the last one that begins there or before */
    while (top >> shift >= PAGES)
        shift++;
    for (uint32_t page = 0, atom = 0; page <= top >> shift; page++) {
        while (w->begin[atom + 1] >> shift <= page)
            atom++;
        page_atom[page] = (uint8_t)atom;
    }
    memset(owner, 0xff, sizeof(owner));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = by_first[i], begin = (uint32_t)(offset[res] / HDI_PACK_UNIT),
                 end = begin + (uint32_t)(needs[res].bytes / HDI_PACK_UNIT), own = tenants,
                 atom = page_atom[begin >> shift];
        while (HDI_UNLIKELY(w->begin[atom] > begin))
            atom--;
        uint32_t before = owner[atom];
        owner[atom] = res;
        tenant[tenants] = before; /* or room for the next one */
        tenants += before != HDI_NONE;
        while (w->begin[++atom] < end) {
            uint32_t other = owner[atom];
            owner[atom] = res;
            if (other != before && other != HDI_NONE)
                tenants = add_once(tenant, own, tenants, other);
        }
        res_tenants[res] = (hdi_tenants){own, tenants};
    }
    return tenants;
}
