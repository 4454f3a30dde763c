#include "alias_pack.h"

#include "sort.h"

/* Packing of the members of a heap, or of a part of it. Several packers and orders are tried by turns and the smallest
 * result stays, ties to the first; once one is good enough, no other is tried, and those that gain the least only where
 * memory is what matters. On one queue a heap that is full most of the time goes to the skyline first
 * (alias_skyline.c). What is far above the most bytes alive at once then is searched for something better
 * (alias_search.c). */

enum { LONG_LIFE = 512 }; /* slots */
/* Parts of what is needed that a heap may be larger: to be left alone, to be searched for. */
enum { NEAR = 56, GOAL = 64 };
enum { MUCH = 32 };                          /* of a heap: to be worth many barriers more */
enum { MANY_ALIVE = 16, MANY_IN_PART = 24 }; /* on average: fewer are packed well in time */
enum { FEW_LOOKS = 8192 };                   /* more on one queue, of the few members that are searched for at all */
enum { CROWDED = 12 }; /* alive on average: by clocks a search finds nothing among so many, as each step looks at all */
/* Of a search, for each resource: what later looks find is hardly ever worth them. */
enum { FEW = 256, QUICK_LOOKS = 8, MORE_QUICK_LOOKS = 320, THOROUGH_LOOKS = 256, MORE_LOOKS = 1 << 17 };
enum { HOST_LOOKS = 3, MORE_HOST_LOOKS = 512 }; /* beside the host there is one queue: more find next to nothing */
enum { ORDER_IN_TIME, ORDER_SIZE, ORDER_AREA, ORDER_CLASS, ORDER_COUNT, SKYLINE_ONCE = ORDER_COUNT, SKYLINE_BOTH };

typedef hdi_pack_work work;

/* Largest first, in one of several senses; resources come by first use and stay so where they are equal. */
static uint64_t key_of(const work *w, uint32_t res, int how)
{
    uint64_t bytes = w->sizes->need[res].bytes;
    uint64_t life = w->lifetimes->res_close[res] - w->lifetimes->res_first[res] + 1;
    switch (how) {
    case ORDER_AREA:
        return UINT64_MAX - (bytes / 256 + 1) * life;
    case ORDER_CLASS: /* powers of two, and those first that live to the latest */
        return UINT64_MAX - (((uint64_t)(64 - __builtin_clzll(bytes)) << 32) | w->lifetimes->res_close[res]);
    default:
        return UINT64_MAX - bytes;
    }
}

/* needed: bytes that are alive at once, if lives end with the last use. */
void hdi_pack_set_goal(work *w, uint64_t needed)
{
    uint64_t units = hdi_pack_units(needed) * HDI_PACK_UNIT; /* fewer no packer makes of it */
    w->needed = needed;
    w->goal = needed + needed / GOAL > units ? needed + needed / GOAL : units;
    w->near = needed + needed / NEAR > units ? needed + needed / NEAR : units;
    if (w->enough > w->near)
        w->goal = w->near = w->enough;
}

/* Most frames have few sizes: members were counted by them. False: too many for that. */
static bool sort_by_size(work *w, const uint32_t *by_first, uint32_t count)
{
    const hdi_pack_mix *mix = w->mix;
    uint32_t begin[HDI_PACK_SIZES + 1], sum = 0;
    uint8_t by_size[HDI_PACK_SIZES];
    if (!mix || mix->has_many_sizes)
        return false;
    for (uint32_t k = 0; k < mix->sizes; k++) { /* the largest first */
        uint32_t at = k;
        for (; at > 0 && mix->bytes[by_size[at - 1]] < mix->bytes[k + 1]; at--)
            by_size[at] = by_size[at - 1];
        by_size[at] = (uint8_t)(k + 1);
    }
    for (uint32_t k = 0; k < mix->sizes; k++) {
        begin[by_size[k]] = sum;
        sum += mix->members[by_size[k]];
    }
    uint32_t *order = w->order;
    const uint8_t *sizes = w->sizes_of;
    for (uint32_t i = 0; i < count; i++)
        order[begin[sizes[i]]++] = by_first[i];
    return true;
}

static void sort_for(work *w, int how, const uint32_t *by_first, uint32_t count)
{
    if (how == ORDER_SIZE && sort_by_size(w, by_first, count))
        return;
    for (uint32_t i = 0; i < count; i++) {
        w->order[i] = by_first[i];
        w->key[i] = key_of(w, by_first[i], how);
    }
    hdi_sort_u64(w->key, w->order, w->scratch_key, w->scratch, count);
}

/* By turns. Where everything lives long, packing by size has little to gain and much to look at; and where there is one
 * size, nothing is wasted in time. */
uint32_t hdi_pack_choose(const work *w, const hdi_pack_mix *mix, uint32_t count, uint64_t least, uint8_t *how)
{
    uint64_t lives = mix->lives, slots = w->pack.slot_end - w->pack.slot_begin;
    bool several_sizes = mix->sizes > 1;
    uint32_t n = 0;
    if (lives > (uint64_t)count * LONG_LIFE) {
        how[n++] = ORDER_IN_TIME;
        return n;
    }
    bool skyline = several_sizes && least && !w->pack.by_clocks;
    /* Of a part it is not known how high the others will be. */
    bool is_full =
        skyline && (w->is_part ? mix->area / slots > mix->least / HDI_PACK_UNIT / 2 && lives / slots >= MANY_IN_PART
                               : mix->area / slots > least / HDI_PACK_UNIT / 3 * 2 && lives / slots >= MANY_ALIVE);
    if (is_full && !w->how->thorough)
        how[n++] = count > FEW ? SKYLINE_ONCE : SKYLINE_BOTH;
    how[n++] = several_sizes ? ORDER_SIZE : ORDER_IN_TIME;
    how[n++] = several_sizes ? ORDER_IN_TIME : ORDER_SIZE;
    bool all = w->how->thorough || (skyline && !is_full && count <= FEW);
    for (uint8_t order = ORDER_AREA; all && order < ORDER_COUNT; order++)
        how[n++] = order;
    if (skyline && (!is_full || w->how->thorough))
        how[n++] = w->how->thorough ? SKYLINE_BOTH : SKYLINE_ONCE;
    return n;
}

bool hdi_pack_try(work *w, int how, const uint32_t *by_first, uint32_t count, uint64_t *offset, uint64_t *top)
{
    bool skyline = how == SKYLINE_BOTH || how == SKYLINE_ONCE;
    w->pack.atoms = NULL;
    if (how == ORDER_IN_TIME)
        return hdi_pack_in_time(&w->pack, by_first, count, offset, top);
    sort_for(w, skyline ? ORDER_SIZE : how, by_first, count);
    if (skyline)
        return hdi_pack_skyline(&w->pack, w->order, count, how == SKYLINE_BOTH ? w->least : UINT64_MAX, offset, top);
    return hdi_pack_in_order(&w->pack, w->order, count, offset, top);
}

void hdi_pack_keep(const work *w, const uint32_t *res, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        w->out->res_offset[res[i]] = w->offset[res[i]];
}

/* Time is cut where lives end, of these members. */
static void forget_pieces(hdi_pack *pack)
{
    pack->piece_of = NULL;
    pack->run = NULL;
    pack->lives = HDI_PACK_NOT_KNOWN;
}

/* From here on lives end before their groups do, where more than `most` would be alive. False: nowhere. */
static bool cut_lives(work *w, const uint32_t *by_first, uint32_t count, uint64_t most)
{
    if (hdi_pack_cut(&w->pack, by_first, count, most, w->end) == 0)
        return false;
    w->pack.end = w->end;
    forget_pieces(&w->pack);
    return true;
}

/* Tries a packer and keeps what it finds where that is better than *top by more than `gain`. */
static bool try_packer(work *w, int how, const uint32_t *by_first, uint32_t count, uint64_t gain, uint64_t *top)
{
    uint64_t found = *top - gain, *offset = *top == UINT64_MAX ? w->out->res_offset : w->offset;
    if (!hdi_pack_try(w, how, by_first, count, offset, &found))
        return false;
    if (found != UINT64_MAX) {
        *top = found;
        if (offset == w->offset)
            hdi_pack_keep(w, by_first, count);
    }
    return true;
}

/* Where members lie at few offsets, tenants are found sooner than a skyline would. *known: whether that has been done.
 * False: out of memory. */
static bool find_tenants(work *w, const uint32_t *by_first, uint32_t count, bool *known)
{
    hdi_placed *out = w->out;
    for (uint32_t k = 1; k <= w->mix->sizes; k++) {
        if (w->mix->bytes[k] % HDI_PACK_UNIT)
            return true;
    }
    if (!hdi_pack_tenant_room(&w->pack, out))
        return false;
    out->tenant_count =
        hdi_pack_tenants(&w->pack, by_first, count, out->res_offset, out->res_tenants, out->tenant, out->tenant_count);
    *known = true;
    return true;
}

static bool search_once(work *w, const uint32_t *by_first, uint32_t count, uint64_t looks, uint64_t *top)
{
    for (uint32_t i = 0; i < count; i++)
        w->offset[by_first[i]] = w->out->res_offset[by_first[i]];
    bool done = hdi_pack_search(&w->pack, by_first, count, w->goal, looks, w->offset, top);
    hdi_pack_keep(w, by_first, count);
    return done;
}

/* Where lives end before their groups do, in few places at first: the skyline may be good enough then, or a search goes
 * on. Each barrier more is worth it where that becomes good enough, or much better. */
static bool search_by_cuts(work *w, const uint32_t *by_first, uint32_t count, uint64_t looks, uint64_t *top)
{
    const uint64_t most[] = {w->needed, w->needed / 10 * 9, w->needed / 10 * 8, 0};
    uint64_t before = *top, *offset = HDI_ARENA_ARRAY(w->pack.arena, uint64_t, count);
    if (!offset)
        return false;
    for (uint32_t i = 0; i < count; i++)
        offset[i] = w->out->res_offset[by_first[i]];
    w->least = w->near;
    for (size_t i = 0; *top > w->near && i < sizeof(most) / sizeof(most[0]); i++) {
        if (!cut_lives(w, by_first, count, most[i]))
            continue;
        if (!try_packer(w, SKYLINE_BOTH, by_first, count, *top - w->near - 1, top) ||
            (*top > w->near && !search_once(w, by_first, count, looks, top)))
            return false;
    }
    if (*top > w->near && before - *top < before / MUCH) {
        for (uint32_t i = 0; i < count; i++)
            w->out->res_offset[by_first[i]] = offset[i];
        *top = before;
    }
    return true;
}

/* Search from the packing that is there, for not long where lives overlap in nearly as much. */
static bool search_on(work *w, const uint32_t *by_first, uint32_t count, uint64_t overlap, uint64_t *top)
{
    uint64_t looks = (uint64_t)count * QUICK_LOOKS + MORE_QUICK_LOOKS;
    bool cuts = !w->pack.by_clocks && w->how->search;
    if (w->how->search && (!cuts || overlap <= w->near || *top - overlap > *top / MUCH))
        looks = (uint64_t)count * THOROUGH_LOOKS + MORE_LOOKS;
    else if (!w->pack.by_clocks)
        looks += FEW_LOOKS;
    else if (w->pack.gpu_mask == 1)
        looks = (uint64_t)count * HOST_LOOKS + MORE_HOST_LOOKS;
    if (!search_once(w, by_first, count, looks, top))
        return false;
    looks = (uint64_t)count * THOROUGH_LOOKS + MORE_LOOKS;
    return !cuts || *top <= w->near || search_by_cuts(w, by_first, count, looks, top);
}

/* A frame so short that each barrier more is worth its trouble. */
static bool pack_by_cuts(work *w, const uint32_t *by_first, uint32_t count, uint64_t *top)
{
    w->least = w->near;
    for (uint32_t tenth = 10; tenth >= 8 && *top > w->near; tenth--) {
        if (cut_lives(w, by_first, count, w->needed / 10 * tenth) &&
            !try_packer(w, SKYLINE_BOTH, by_first, count, 0, top))
            return false;
    }
    return true;
}

/* Behind a skyline that found something, packing in time or by size has not been seen to be good enough. */
static bool is_hopeless(const uint8_t *how, uint32_t turn)
{
    return how[0] >= SKYLINE_ONCE && (how[turn] == ORDER_IN_TIME || how[turn] == ORDER_SIZE);
}

/* Of a late skyline, by which bytes change hands more often: that is not done for a little less, unless it is good
 * enough then. */
static uint64_t least_gain(const work *w, uint64_t best)
{
    uint64_t to_near = best > w->near ? best - w->near - 1 : 0, gain = best / MUCH < to_near ? best / MUCH : to_near;
    return gain > best / GOAL ? gain : best / GOAL;
}

uint64_t hdi_pack_members(work *w, const uint32_t *by_first, uint32_t count, uint64_t enough, bool *known)
{
    uint64_t least = enough, best = UINT64_MAX; /* of a part, enough is no less than what is alive in it */
    uint8_t how[HDI_PACK_TURNS];
    bool quick = !w->pack.by_clocks && !w->how->thorough;
    hdi_pack_mix own;
    if (!w->mix && !hdi_pack_look(&w->pack, by_first, count, NULL, w->sizes_of, &own))
        return UINT64_MAX;
    const hdi_pack_mix *mix = w->mix = w->mix ? w->mix : &own;
    if (!w->is_part) {
        least = w->pack.by_clocks ? mix->needed : mix->least;
        hdi_pack_set_goal(w, mix->needed);
    }
    if (quick && !w->is_part && least > w->near && least > HDI_SMALL_BYTES && cut_lives(w, by_first, count, w->goal))
        least = mix->needed;
    least = least > enough ? least : enough;
    w->least = least = quick && w->near > least ? w->near : least;
    /* In time nobody gets bytes before a life has ended: no fewer are taken than lives overlap in. By clocks others may
     * have done with less. */
    uint64_t in_time = w->pack.placed_count == 0 && w->pack.end == w->lifetimes->res_close ? mix->least : 0;
    uint32_t turns = hdi_pack_choose(w, mix, count, least, how);
    uint64_t top = least;
    w->pack.atoms = NULL;
    if (known && w->pack.by_clocks && hdi_pack_places_by_clocks(w, by_first, count, &top)) {
        best = top; /* than which there is nothing better */
        *known = true;
    }
    for (uint32_t turn = 0; turn < turns && best > least; turn++) {
        if ((how[turn] == ORDER_IN_TIME && best <= in_time) || (best != UINT64_MAX && is_hopeless(how, turn)))
            continue;
        bool late = turn && (how[turn] == SKYLINE_ONCE || how[turn] == SKYLINE_BOTH);
        if (!try_packer(w, how[turn], by_first, count, late ? least_gain(w, best) : 0, &best))
            return UINT64_MAX;
    }
    bool crowded = w->pack.by_clocks && mix->lives >= (uint64_t)CROWDED * (w->pack.slot_end - w->pack.slot_begin);
    if (best > w->near && !w->is_part && (w->how->search || (count <= FEW && !crowded))) {
        if ((quick && best > HDI_SMALL_BYTES && !pack_by_cuts(w, by_first, count, &best)) ||
            (best > w->near && !search_on(w, by_first, count, mix->least, &best)))
            return UINT64_MAX;
        w->pack.atoms = NULL;
    }
    if (known && best <= least && w->pack.atoms && !find_tenants(w, by_first, count, known))
        return UINT64_MAX;
    w->pack.end = w->lifetimes->res_close;
    w->pack.grains = NULL;
    w->pack.bucket_base = NULL;
    w->pack.bucket = NULL; /* another heap has regions with buckets of their own, side by side */
    w->mix = NULL;
    forget_pieces(&w->pack);
    return best;
}
