#include "alias_pack.h"

#include <string.h>

#include "hints.h"

/* Places: the packer for heaps whose members all have one size and alignment. Bytes are then places of that size, and
 * whoever comes takes the lowest free one, in order of first use: no packing needs fewer places than the most that are
 * alive at once, and this one takes no more. It is what first fit in time would find (alias_pack.c), but places are
 * bits of words, the lowest of which is found at once, and who had a place before is its one tenant. O(members +
 * slots). */

enum { BITS = 64 };

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
    if (*bytes <= (pack->by_clocks ? needed : w->goal))
        out->tenant_count += count;
    else
        *bytes = UINT64_MAX;
    return true;
}
