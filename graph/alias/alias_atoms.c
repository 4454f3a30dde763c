#include "alias_newcomer.h"

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
 * By clocks the same is done over places of queues, where members are so many and short that words written for each cut
 * of an atom and each life are few.
 *
 * Whose bytes each of them takes over is told by the atoms, too. */

enum { MOST_ATOMS = 64, MOST_SIZES = 6, PAGES = 64 };
enum { FEW_SIZES = 4, SHORT_LIFE = 24 }; /* by clocks */
#define MOST_UNITS (UINT32_MAX / 4)      /* a quarter of a terabyte */
#define SPLITS UINT64_MAX

/* Where somebody begins who comes into an atom or behind it, as far as he must for his alignment. */
typedef struct seat {
    uint64_t taken;  /* atoms in which he is; 0: not known yet */
    uint64_t offset; /* SPLITS: not known yet, or he has but a part of one of these */
} seat;

typedef struct hdi_pack_atoms {
    const hdi_pack *pack;
    uint64_t *taken; /* by piece of time, or of places: bits of atoms, never the last one */
    uint32_t words;
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
    for (uint32_t p = 0; p < w->words; p++)
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

/* The atoms of one who is placed, none of which reaches beyond him; false: they are too many. */
static bool atoms_of_placed(work *w, uint32_t res, uint64_t *atoms)
{
    const hdi_pack *pack = w->pack;
    uint64_t at = pack->placed_offset[res] / HDI_PACK_UNIT, behind = at + hdi_pack_units(pack->sizes->need[res].bytes);
    if (behind > MOST_UNITS || !cut_out(w, (uint32_t)at, (uint32_t)behind))
        return false;
    bool whole;
    *atoms = atoms_in(w, (uint32_t)at, (uint32_t)behind, &whole);
    return true;
}

static bool take_placed(work *w)
{
    const hdi_pack *pack = w->pack;
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i];
        uint64_t atoms;
        if (!atoms_of_placed(w, res, &atoms))
            return false;
        take(w->taken + pack->piece_of[hdi_pack_slot(pack, pack->lifetimes->res_first[res])],
             w->taken + pack->piece_of[hdi_pack_slot(pack, pack->end[res])], atoms);
    }
    return true;
}

/* Of all who are placed. */
static uint64_t end_of(const work *w)
{
    return (uint64_t)w->begin[w->atoms - 1] * HDI_PACK_UNIT;
}

/* An atom that is to be tried becomes known, or is cut. False: there are too many of them, or it is no better than what
 * there is. */
static HDI_APART bool open_seat(work *w, const seat *at, uint64_t top)
{
    uint32_t atom = (uint32_t)(at - w->seat), begin = align_units(w, w->begin[atom]);
    if (at->taken)
        return cut_out(w, begin, begin + w->units) && end_of(w) < top;
    find_seat(w, atom);
    return true;
}

/* Behind that. */
static HDI_APART bool give_up(const work *w, uint64_t *top)
{
    bool is_no_better = end_of(w) >= *top;
    if (is_no_better)
        *top = UINT64_MAX;
    return is_no_better;
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
        const seat *at;
        while (at = find_lowest(w, join(from, to)), HDI_UNLIKELY(at->offset == SPLITS))
            if (!open_seat(w, at, *top))
                return give_up(w, top);
        take(from, to, at->taken);
        offset[res] = at->offset;
    }
    *top = end_of(w) < *top ? end_of(w) : UINT64_MAX; /* no better than what there is */
    return true;
}

/* ---- by clocks ---- */

/* With clocks each queue has a time of its own. Somebody fills those of its places that neither have finished before he
 * starts nor know that he is over: who is on this queue alone is in his way if he has one of them. Where each place has
 * finished before or knows, what is left is the moment between two, which is filled by who has the places around it.
 * Who is on several queues may also live around somebody, before him on one of them and behind him on another: then he
 * fills all places that the other one has. So each place has three words: who fills the moment before it alone, who
 * fills it and does not have it, or is on several queues, whose it is. O(places filled, of all lives).
 *
 * Not built: to compare a newcomer with his neighbours in time of each atom. These suffice, as who is over before
 * somebody is so before all behind him, but it is two looks for each atom where this is a bit.
 *
 * Tried: tenants told by these atoms, too (13 instructions a pass of async less, and no time). */
enum { MOMENT, FILLED, OWN, PLACE_WORDS };

typedef struct places {
    uint64_t *of[HD_MAX_QUEUES];                       /* words of the first place of each queue that is looked at */
    int32_t first[HD_MAX_QUEUES], last[HD_MAX_QUEUES]; /* those of the slots in which it packs */
} places;

static bool set_up_places(const hdi_pack *pack, places *p, work *w)
{
    uint32_t count = 0;
    for (uint32_t q = 0; q < pack->queues; q++) {
        p->first[q] = (int32_t)hdi_pos_from(pack->hazards, q, 0, pack->slot_begin);
        p->last[q] = (int32_t)hdi_pos_from(pack->hazards, q, (uint32_t)p->first[q], pack->slot_end) - 1;
        count += (uint32_t)(p->last[q] - p->first[q] + 1);
    }
    w->words = count * PLACE_WORDS;
    w->taken = HDI_ARENA_ZEROED(pack->arena, uint64_t, w->words);
    if (!w->taken)
        return false;
    uint64_t *of = w->taken;
    for (uint32_t q = 0; q < pack->queues; q++) {
        p->of[q] = of;
        of += (p->last[q] - p->first[q] + 1) * PLACE_WORDS;
    }
    return true;
}

static HDI_INLINE uint64_t *words_of(const places *p, uint32_t q, int32_t place)
{
    return p->of[q] + (int64_t)(place - p->first[q]) * PLACE_WORDS;
}

/* One of the words of all places from one to another. */
static HDI_INLINE void take_word(uint64_t *from, uint64_t *to, uint64_t atoms)
{
    *to |= atoms;
    for (; from < to; from += PLACE_WORDS) {
        *from |= atoms;
        from += PLACE_WORDS;
        HDI_HIDE(from);
        *from |= atoms;
    }
}

/* What of it is in the slots in which it packs. */
static HDI_INLINE void fill(const places *p, uint32_t q, int32_t known, int32_t unaware, uint64_t atoms)
{
    int32_t from = known > p->first[q] ? known : p->first[q], to = unaware < p->last[q] ? unaware : p->last[q];
    if (HDI_LIKELY(from <= to))
        take_word(words_of(p, q, from) + FILLED, words_of(p, q, to) + FILLED, atoms);
    else if (known > unaware && known > p->first[q] && known <= p->last[q])
        words_of(p, q, known)[MOMENT] |= atoms;
}

/* Who is on one of the GPU's queues alone. */
typedef struct alone {
    uint32_t own;
    const hdi_stay *stay;
    uint64_t *from, *to; /* his places' */
} alone;

static HDI_INLINE alone read_alone(const hdi_pack *pack, const places *p, uint32_t res, uint32_t own, uint32_t queues)
{
    const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * queues + own];
    return (alone){own, stay, words_of(p, own, (int32_t)stay->first), words_of(p, own, (int32_t)stay->close)};
}

static HDI_INLINE void take_alone(const hdi_pack *pack, const places *p, uint32_t res, const alone *one, uint64_t atoms,
                                  uint32_t queues)
{
    const hdi_hazards *hazards = pack->hazards;
    const uint32_t *knows = &pack->synced->slot_clock[(size_t)pack->lifetimes->res_first[res] * queues],
                   *unaware =
                       &pack->lifetimes
                            ->place_unaware[hdi_unaware_row(queues, hazards->queue_begin[one->own] + one->stay->close)];
    take_word(one->from + OWN, one->to + OWN, atoms);
    for (uint32_t k = 1; k < queues; k++) {
        uint32_t q = k - (k <= one->own);
        fill(p, q, (int32_t)knows[q], (int32_t)unaware[q] - 1, atoms);
    }
}

static HDI_APART uint64_t join_several(const places *p, const hdi_newcomer *n, uint32_t queues)
{
    uint64_t taken = 0;
    for (uint32_t q = 0; q < queues; q++) {
        if (n->queues >> q & 1)
            taken |= join(words_of(p, q, n->first[q]) + FILLED, words_of(p, q, n->last[q]) + OWN);
        int32_t from = n->known[q] > p->first[q] ? n->known[q] : p->first[q],
                to = n->unaware[q] < p->last[q] ? n->unaware[q] : p->last[q];
        for (; from <= to; from++)
            taken |= words_of(p, q, from)[OWN];
    }
    return taken;
}

/* Who is placed already may have places before and behind all of these. */
static HDI_APART void take_several(const places *p, const hdi_newcomer *n, uint64_t atoms, uint32_t queues)
{
    for (uint32_t q = 0; q < queues; q++) {
        fill(p, q, n->known[q], n->unaware[q], atoms);
        if (!(n->queues >> q & 1))
            continue;
        int32_t from = n->first[q] > p->first[q] ? n->first[q] : p->first[q],
                to = n->last[q] < p->last[q] ? n->last[q] : p->last[q];
        if (from <= to)
            take_word(words_of(p, q, from) + OWN, words_of(p, q, to) + OWN, atoms);
    }
}

static bool fill_placed(work *w, const places *p)
{
    const hdi_pack *pack = w->pack;
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i];
        uint64_t atoms;
        if (!atoms_of_placed(w, res, &atoms))
            return false;
        hdi_newcomer n;
        hdi_read_newcomer(pack, res, &n, pack->queues);
        take_several(p, &n, atoms, pack->queues);
    }
    return true;
}

/* As pack_members does it. */
static HDI_INLINE bool pack_by_clocks(work *w, const places *p, const uint32_t *order, uint32_t count, uint64_t *offset,
                                      uint64_t *top, uint32_t queues)
{
    const hdi_pack *pack = w->pack;
    const hd_memory_need *needs = pack->sizes->need;
    const uint16_t *res_queues = pack->hazards->res_queues;
    uint32_t gpu_mask = pack->gpu_mask;
    hdi_newcomer n;
    if (!fill_placed(w, p))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = order[i], mask = res_queues[res];
        const hd_memory_need *need = &needs[res];
        const seat *at;
        if (HDI_UNLIKELY(need->bytes != w->need.bytes || need->alignment != w->need.alignment) && !set_need(w, need))
            return false;
        if (HDI_LIKELY(!(mask & (mask - 1)) && mask & gpu_mask)) {
            alone one = read_alone(pack, p, res, (uint32_t)__builtin_ctz(mask), queues);
            while (at = find_lowest(w, join(one.from + FILLED, one.to + OWN)), HDI_UNLIKELY(at->offset == SPLITS))
                if (!open_seat(w, at, *top))
                    return give_up(w, top);
            take_alone(pack, p, res, &one, at->taken, queues);
        } else {
            hdi_read_several(pack, res, &n);
            while (at = find_lowest(w, join_several(p, &n, queues)), HDI_UNLIKELY(at->offset == SPLITS))
                if (!open_seat(w, at, *top))
                    return give_up(w, top);
            take_several(p, &n, at->taken, queues);
        }
        offset[res] = at->offset;
    }
    *top = end_of(w) < *top ? end_of(w) : UINT64_MAX;
    return true;
}

static void set_up(work *w, const hdi_pack *pack)
{
    w->pack = pack;
    w->atoms = 1;
    w->begin[0] = 0;
    w->begin[1] = UINT32_MAX;
    w->need.bytes = 0; /* nobody's */
}

bool hdi_pack_in_clocked_atoms(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    work w;
    places p;
    uint32_t slots = pack->slot_end - pack->slot_begin;
    if (pack->size_count == 0 || pack->size_count > FEW_SIZES || count < slots / 2 ||
        pack->lives > (uint64_t)count * SHORT_LIFE)
        return false;
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    if (!set_up_places(pack, &p, &w))
        return false;
    set_up(&w, pack);
    bool done = pack->queues == 2   ? pack_by_clocks(&w, &p, order, count, offset, top, 2)
                : pack->queues == 3 ? pack_by_clocks(&w, &p, order, count, offset, top, 3)
                                    : pack_by_clocks(&w, &p, order, count, offset, top, pack->queues);
    hdi_arena_keep(pack->arena, mark, NULL, 0);
    return done;
}

HDI_ON_LINE bool hdi_pack_in_atoms(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset,
                                   uint64_t *top)
{
    if (pack->size_count == 0 || pack->size_count > MOST_SIZES)
        return false;
    work *w = HDI_ARENA_ARRAY(pack->arena, work, 1);
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    uint64_t *taken = HDI_ARENA_ZEROED(pack->arena, uint64_t, pack->piece_count);
    if (pack->arena->failed)
        return false;
    set_up(w, pack);
    w->taken = taken;
    w->words = pack->piece_count;
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
