#include "alias_newcomer.h"

#include <string.h>

#include "hints.h"

/* Places: the packer for heaps whose members all have one size and alignment. Bytes are then places of that size, and
 * whoever comes takes the lowest free one, in order of first use: no packing needs fewer places than the most that are
 * alive at once, and this one takes no more. It is what first fit in time would find (alias_pack.c), but places are
 * bits of words, the lowest of which is found at once, and who had a place before is its one tenant. O(members +
 * slots).
 *
 * By clocks the same is tried where sizes are few, with places for each of them: where all take no more together than
 * is needed at once, no packing is better. Who comes in order of first use has all others before him: of each place he
 * need but ask whether he knows that the last one who had it is over, as that one knew it of those before. O(members *
 * places of a size). */

enum { BITS = 64, FEW_SIZES = 4, MOST_PLACES = 32 };

typedef struct places {
    const uint32_t *res_first, *end;
    uint64_t stride;
    uint32_t own, *tenant; /* room for one each, the first of which is number `own` */
    uint64_t *res_offset;
    hdi_tenants *res_tenants;
} places;

/* before: who had the place; HDI_NONE: nobody yet. */
static HDI_INLINE void settle(const places *p, uint32_t i, uint32_t res, uint32_t at, uint32_t before)
{
    uint32_t own = p->own + i;
    p->tenant[i] = before;
    p->res_tenants[res] = (hdi_tenants){own, own + (before != HDI_NONE)};
    p->res_offset[res] = at * p->stride;
}

/* Places are the bits of one word. gone: by slot, 0: those that are given up behind it. Returns how many they take; 0:
 * more than there are. */
static HDI_APART uint32_t take_few(const places *p, const uint32_t *by_first, uint32_t count, uint64_t *gone)
{
    const uint32_t *res_first = p->res_first, *end = p->end;
    uint64_t free = UINT64_MAX, taken = 0;
    uint32_t owner[BITS], slot = 0;
    memset(owner, 0xff, sizeof(owner));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = by_first[i], first = res_first[res];
        for (; slot < first; slot++)
            free |= gone[slot];
        if (!free)
            return 0;
        uint32_t at = (uint32_t)__builtin_ctzll(free);
        uint64_t bit = free & -free;
        free ^= bit;
        taken |= bit;
        gone[end[res]] |= bit;
        settle(p, i, res, at, owner[at]);
        owner[at] = res;
    }
    return BITS - (uint32_t)__builtin_clzll(taken);
}

typedef struct one_place {
    uint32_t owner;
    uint32_t next; /* given up behind the same slot */
} one_place;

/* Places that somebody had: their bits, no word below the lowest has one, how many. */
typedef struct given_up {
    uint64_t *free;
    uint32_t lowest, count;
} given_up;

/* Those behind one slot. */
static HDI_APART void give_up(given_up *given, const one_place *place, uint32_t at)
{
    for (; at != HDI_NONE; at = place[at].next) {
        given->free[at / BITS] |= (uint64_t)1 << at % BITS;
        given->lowest = at / BITS < given->lowest ? at / BITS : given->lowest;
        given->count++;
    }
}

static HDI_APART uint32_t take_again(given_up *given)
{
    while (!given->free[given->lowest])
        given->lowest++;
    uint64_t *word = &given->free[given->lowest];
    uint32_t at = given->lowest * BITS + (uint32_t)__builtin_ctzll(*word);
    *word &= *word - 1;
    given->count--;
    return at;
}

/* However many there are; those that nobody has had yet come last. free: zeros, bits of the others. closing: by slot,
 * HDI_NONE: the newest place that is given up behind it, chained. */
static HDI_APART uint32_t take_many(const places *p, const uint32_t *by_first, uint32_t count, uint64_t *free,
                                    uint32_t *closing, one_place *place)
{
    const uint32_t *res_first = p->res_first, *end = p->end;
    given_up given = {.free = free};
    uint32_t taken = 0, slot = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = by_first[i], first = res_first[res], at = taken, before = HDI_NONE;
        while (slot < first) {
            uint32_t newest = closing[slot++];
            if (HDI_UNLIKELY(newest != HDI_NONE))
                give_up(&given, place, newest);
        }
        if (given.count) {
            at = take_again(&given);
            before = place[at].owner;
        } else {
            taken++;
        }
        uint32_t *close = &closing[end[res]];
        settle(p, i, res, at, before);
        place[at] = (one_place){res, *close};
        *close = at;
    }
    return taken;
}

/* 0: out of memory. */
static uint32_t take_places(const places *p, const hdi_pack *pack, const uint32_t *by_first, uint32_t count)
{
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    uint64_t *gone = HDI_ARENA_ZEROED(pack->arena, uint64_t, pack->slot_end);
    uint32_t taken = gone ? take_few(p, by_first, count, gone) : 0, words = (count + BITS - 1) / BITS;
    hdi_arena_keep(pack->arena, mark, NULL, 0);
    if (taken || !gone)
        return taken;
    uint64_t *free = HDI_ARENA_ZEROED(pack->arena, uint64_t, words);
    uint32_t *closing = HDI_ARENA_ARRAY(pack->arena, uint32_t, pack->slot_end);
    one_place *place = HDI_ARENA_ARRAY(pack->arena, one_place, count);
    if (pack->arena->failed)
        return 0;
    memset(closing, 0xff, pack->slot_end * sizeof(*closing));
    return take_many(p, by_first, count, free, closing, place);
}

/* Whether some life ends behind its last use. */
static bool ends_late(const hdi_pack *pack)
{
    const uint32_t *last = pack->lifetimes->res_last, *end = pack->end;
    uint32_t late = 0;
    for (uint32_t r = 0; r < pack->res_count; r++)
        late |= last[r] ^ end[r];
    return late != 0;
}

bool hdi_pack_places(hdi_pack_work *w, const uint32_t *by_first, uint32_t count, uint64_t *bytes)
{
    const hdi_pack *pack = &w->pack;
    const hd_memory_need *alike = &pack->sizes->need[by_first[0]];
    uint64_t needed;
    hdi_placed *out = w->out;
    if (!hdi_pack_tenant_room(pack, out))
        return false;
    places p = {.res_first = pack->lifetimes->res_first,
                .end = pack->end,
                .stride = (alike->bytes + alike->alignment - 1) & ~(alike->alignment - 1),
                .own = out->tenant_count,
                .tenant = out->tenant + out->tenant_count,
                .res_offset = out->res_offset,
                .res_tenants = out->res_tenants};
    uint32_t taken = take_places(&p, pack, by_first, count);
    if (!taken)
        return false;
    *bytes = (taken - 1) * p.stride + alike->bytes;
    needed = taken * alike->bytes;
    if (ends_late(pack) && !hdi_pack_needed(pack, by_first, count, &needed))
        return false;
    hdi_pack_set_goal(w, needed);
    if (*bytes <= (pack->by_clocks ? needed : w->near))
        out->tenant_count += count;
    else
        *bytes = UINT64_MAX;
    return true;
}

/* ---- of few sizes, by clocks ---- */

/* The places of one size. */
typedef struct pool {
    uint64_t closed[MOST_PLACES + 1]; /* of whoever had a place last: the first place of each queue behind him */
    uint32_t owner[MOST_PLACES], count;
    uint64_t bytes, alignment, stride, base;
} pool;

/* Places of all queues are lanes of one word, and one addition compares them: a guard comes up where somebody was over
 * behind what a newcomer knows of. */
typedef struct pools {
    const hdi_pack *pack;
    uint64_t guards, nothing; /* nothing: of who knows of none; what he knows is taken off that */
    uint8_t lane[HD_MAX_QUEUES];
    uint32_t sizes;
    uint64_t bytes, most; /* of all places; how many there may be */
    pool of[FEW_SIZES];
} pools;

/* False: they do not fit into a word. */
static bool find_lanes(pools *p)
{
    const hdi_pack *pack = p->pack;
    uint32_t at = 0;
    for (uint32_t q = 0; q < pack->queues; q++) {
        uint32_t most = pack->hazards->queue_begin[q + 1] - pack->hazards->queue_begin[q] + 1,
                 bits = 33 - (uint32_t)__builtin_clz(most);
        if (at + bits > BITS)
            return false;
        uint64_t guard = (uint64_t)1 << (at + bits - 1);
        p->lane[q] = (uint8_t)at;
        p->guards |= guard;
        p->nothing += guard - ((uint64_t)1 << at);
        at += bits;
    }
    return true;
}

/* What a newcomer does not know of. *closed: where he himself is over. */
static HDI_INLINE uint64_t read_alone(const pools *p, uint32_t res, uint32_t own, uint32_t queues, uint64_t *closed)
{
    const hdi_stay *stay = &p->pack->lifetimes->stay[(size_t)res * queues + own];
    const uint32_t *knows = &p->pack->synced->slot_clock[(size_t)p->pack->lifetimes->res_first[res] * queues];
    uint64_t known = ((uint64_t)stay->first - knows[own]) << p->lane[own];
    *closed = ((uint64_t)stay->close + 1) << p->lane[own];
    for (uint32_t q = 0; q < queues; q++)
        known += (uint64_t)knows[q] << p->lane[q];
    return p->nothing - known;
}

static HDI_APART uint64_t read_several(const pools *p, uint32_t res, uint64_t *closed)
{
    uint64_t known = 0;
    hdi_newcomer n;
    hdi_read_several(p->pack, res, &n);
    *closed = 0;
    for (uint32_t q = 0; q < p->pack->queues; q++) {
        known += (uint64_t)n.known[q] << p->lane[q];
        *closed += (n.queues >> q & 1 ? (uint64_t)n.last[q] + 1 : 0) << p->lane[q];
    }
    return p->nothing - known;
}

/* The lowest free one: nobody has had those behind the last. They are asked one by one, so that where he goes is
 * foretold before the one before him has been written down: four at once took 2 ns a pass of async more. */
static HDI_INLINE uint32_t find_free(const pools *p, const pool *of, uint64_t unknown)
{
    uint32_t at = 0;
    while ((of->closed[at] + unknown) & p->guards)
        at++;
    return at;
}

/* Nobody has had it. False: that takes more than there may be. */
static HDI_APART bool open_place(pools *p, pool *of, uint32_t at, const hd_memory_need *need)
{
    if (at == MOST_PLACES || (of->count && of->alignment != need->alignment))
        return false;
    of->bytes = need->bytes;
    of->alignment = need->alignment;
    of->stride = (need->bytes + need->alignment - 1) & ~(need->alignment - 1);
    of->count++;
    p->bytes += of->stride;
    return p->bytes <= p->most;
}

/* Offsets count from the first place of each size. Returns how many tenants are known then; HDI_NONE: they need more
 * than there may be. */
static HDI_INLINE uint32_t take_all(pools *p, const uint32_t *by_first, const uint8_t *sizes, uint32_t count,
                                    hdi_placed *out, uint32_t queues)
{
    const hd_memory_need *needs = p->pack->sizes->need;
    const uint16_t *res_queues = p->pack->hazards->res_queues;
    uint32_t gpu_mask = p->pack->gpu_mask, tenants = out->tenant_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = by_first[i], mask = res_queues[res], own = tenants;
        pool *of = &p->of[sizes[i] - 1];
        uint64_t closed, unknown;
        if (HDI_LIKELY(!(mask & (mask - 1)) && mask & gpu_mask))
            unknown = read_alone(p, res, (uint32_t)__builtin_ctz(mask), queues, &closed);
        else
            unknown = read_several(p, res, &closed);
        uint32_t at = find_free(p, of, unknown);
        if (HDI_UNLIKELY(at >= of->count || needs[res].alignment != of->alignment) &&
            !open_place(p, of, at, &needs[res]))
            return HDI_NONE;
        uint32_t before = of->owner[at];
        out->tenant[tenants] = before;
        tenants += before != HDI_NONE;
        of->owner[at] = res;
        of->closed[at] = closed;
        out->res_tenants[res] = (hdi_tenants){own, tenants};
        out->res_offset[res] = at * of->stride;
    }
    return tenants;
}

/* The largest lie lowest. Returns where the last one ends; UINT64_MAX: between them something is lost for alignment. */
static uint64_t find_bases(pools *p)
{
    uint64_t base = 0, end = 0;
    for (uint32_t left = (1u << p->sizes) - 1; left;) {
        uint32_t best = (uint32_t)__builtin_ctz(left);
        for (uint32_t k = best + 1; k < p->sizes; k++)
            best = left >> k & 1 && p->of[k].bytes > p->of[best].bytes ? k : best;
        left &= ~(1u << best);
        pool *of = &p->of[best];
        if (base & (of->alignment - 1))
            return UINT64_MAX;
        of->base = base;
        base += of->stride * of->count;
        end = base - of->stride + of->bytes;
    }
    return end;
}

bool hdi_pack_places_by_clocks(const hdi_pack_work *w, const uint32_t *by_first, uint32_t count, uint64_t *top)
{
    const hdi_pack *pack = &w->pack;
    const uint8_t *sizes = w->sizes_of;
    hdi_placed *out = w->out;
    pools p = {.pack = pack, .most = *top, .sizes = w->mix->sizes};
    if (w->mix->has_many_sizes || w->mix->sizes > FEW_SIZES || pack->placed_count || !find_lanes(&p) ||
        !hdi_pack_tenant_room(pack, out))
        return false;
    for (uint32_t k = 0; k < p.sizes; k++)
        memset(p.of[k].owner, 0xff, sizeof(p.of[k].owner));
    uint32_t tenants = pack->queues == 2   ? take_all(&p, by_first, sizes, count, out, 2)
                       : pack->queues == 3 ? take_all(&p, by_first, sizes, count, out, 3)
                                           : take_all(&p, by_first, sizes, count, out, pack->queues);
    uint64_t end = tenants == HDI_NONE ? UINT64_MAX : find_bases(&p);
    if (end == UINT64_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++)
        out->res_offset[by_first[i]] += p.of[sizes[i] - 1].base;
    out->tenant_count = tenants;
    *top = end;
    return true;
}
