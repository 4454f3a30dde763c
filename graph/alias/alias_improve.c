#include "alias_pack.h"

#include "sort.h"

/* Packing of the members of a heap, or of a part of it: first fit with the largest first, on one queue the skyline
 * (alias_skyline.c) where that is better, and then improvement of what is far above the lower bound.
 *
 * The lower bound is the most bytes that are alive at once, if lives end with the last use. On one queue lives end with
 * a group of the schedule, where a barrier stands anyway; improvement cuts them short, which adds barriers, and packs
 * again. After that comes squeaky wheel optimization (Joslin and Clements, 1999): first fit by priority, in rounds,
 * where each member that ends above the goal gets a higher priority for the next round. The first priority of a member
 * is the power of two of its size, and within that the end of its life. The best packing of all rounds stays.
 *
 * Improvement has a budget in steps, never in time, so that a plan is the same on every machine. A step is a few
 * instructions; packers count them. By default the budget is about the work of the other phases where memory is what
 * matters; it is a fraction of that, and for small heaps alone, where barriers matter more. O(budget).
 *
 * Tried instead, and worse for the same work: ejection chains (what sticks out is placed where the members in the way
 * weigh least), priorities by the bytes alive during a life, hill climbing from the best order. */

enum { LONG_LIFE = 512 };                    /* slots, on average: longer lives are packed in order of time */
enum { NEAR = 40 };                          /* a heap may exceed the lower bound by this part of it */
enum { MUCH = 48 };                          /* more barriers, or more tenants, have to save this part of a heap */
enum { MANY_ALIVE = 16, MANY_IN_PART = 24 }; /* on average: the skyline is the first try */
enum { FEW = 256 };                          /* members that are improved where barriers matter more */
enum { CROWDED = 12 };             /* on average, on several queues: improvement would find little in so few steps */
enum { LEVELS = 20, LOWEST = 18 }; /* lives are cut where more than so many parts of the goal are alive */
enum { CLASS = 1024, RAISE = 2 * CLASS }; /* of priorities: a power of two; for a member that ends too high */

typedef hdi_pack_work work;

uint64_t hdi_pack_budget(uint32_t slots, const hdi_packing *how)
{
    enum { SHORT_FRAME = 8192, LEAN = 640, OTHER = 32 };
    uint64_t steps = slots * (uint64_t)(how->lean ? LEAN : OTHER);
    return (steps > SHORT_FRAME ? steps : SHORT_FRAME) * (1 + (uint64_t)how->effort);
}

static uint64_t near_to(uint64_t needed)
{
    uint64_t units = hdi_pack_units(needed) * HDI_PACK_UNIT, near = needed + needed / NEAR;
    return near > units ? near : units; /* a packer makes no fewer units of it */
}

void hdi_pack_set_goal(work *w, uint64_t needed)
{
    w->goal = near_to(needed);
    w->goal = w->enough > w->goal ? w->enough : w->goal;
}

/* The members as counted by size, the largest first, in the order of first use where sizes are equal. */
static void sort_by_counts(work *w, const uint32_t *by_first, uint32_t count)
{
    const hdi_pack_mix *mix = w->mix;
    uint32_t begin[HDI_PACK_SIZES + 1], sum = 0;
    uint8_t by_size[HDI_PACK_SIZES];
    for (uint32_t k = 0; k < mix->sizes; k++) {
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
}

static void sort_by_size(work *w, const uint32_t *by_first, uint32_t count)
{
    if (w->mix && !w->mix->has_many_sizes) {
        sort_by_counts(w, by_first, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        w->order[i] = by_first[i];
        w->key[i] = UINT64_MAX - w->sizes->need[by_first[i]].bytes;
    }
    hdi_sort_u64(w->key, w->order, w->scratch_key, w->scratch, count);
}

void hdi_pack_keep(const work *w, const uint32_t *res, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        w->out->res_offset[res[i]] = w->offset[res[i]];
}

/* What a packing with more barriers has to save: enough to reach the goal, or much. */
static uint64_t gain_of(const work *w, uint64_t top)
{
    uint64_t to_goal = top > w->goal ? top - w->goal - 1 : 0, much = top / MUCH;
    return top != UINT64_MAX && much < to_goal ? much : top != UINT64_MAX ? to_goal : 0;
}

typedef bool packer(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top);

/* Packs w->order and keeps the result where that takes less than *top by more than `gain`. False: out of memory. */
static bool try_packer(work *w, packer *pack_it, const uint32_t *by_first, uint32_t count, uint64_t gain, uint64_t *top)
{
    uint64_t found = *top - gain, *offset = *top == UINT64_MAX ? w->out->res_offset : w->offset;
    if (!pack_it(&w->pack, w->order, count, offset, &found))
        return false;
    if (found < *top) {
        *top = found;
        if (offset == w->offset)
            hdi_pack_keep(w, by_first, count);
    }
    return true;
}

static bool pack_in_order(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    return hdi_pack_cuts_time(pack, order, count) ? hdi_pack_in_runs(pack, order, count, offset, top)
                                                  : hdi_pack_in_lists(pack, order, count, offset, top);
}

/* In time where that is sooner, or where the heap is too large for the numbers of the other packers. */
bool hdi_pack_first_fit(work *w, const uint32_t *by_first, uint32_t count, uint64_t *offset, uint64_t *top)
{
    *top = UINT64_MAX;
    if (w->mix->lives <= (uint64_t)count * LONG_LIFE) {
        sort_by_size(w, by_first, count);
        if (!pack_in_order(&w->pack, w->order, count, offset, top))
            return false;
    }
    return *top != UINT64_MAX || hdi_pack_in_time(&w->pack, by_first, count, offset, top);
}

/* Time is cut where lives end, of these members. */
static void forget_pieces(hdi_pack *pack)
{
    pack->piece_of = NULL;
    pack->run = NULL;
    pack->lives = HDI_PACK_NOT_KNOWN;
}

/* Lives end before their groups do, where more than `most` would be alive. False: nowhere. */
static bool cut_lives(work *w, const uint32_t *by_first, uint32_t count, uint64_t most)
{
    w->pack.end = w->lifetimes->res_close;
    forget_pieces(&w->pack);
    if (hdi_pack_cut(&w->pack, by_first, count, most, w->end))
        w->pack.end = w->end;
    return w->pack.end == w->end;
}

/* Skylines over lives that are cut in few places at first. With more effort they are cut down to the last use. Lives
 * stay as the packing that is kept has them. */
static bool pack_by_cuts(work *w, const uint32_t *by_first, uint32_t count, uint64_t *top)
{
    uint64_t kept = w->pack.end == w->end ? w->goal : UINT64_MAX, most = kept;
    uint32_t lowest = w->how->effort ? 0 : LOWEST;
    for (uint32_t level = LEVELS + 1; level-- > lowest && *top > w->goal && hdi_pack_may_go_on(&w->pack);) {
        if (!cut_lives(w, by_first, count, most = w->goal / LEVELS * level))
            continue;
        uint64_t before = *top;
        sort_by_size(w, by_first, count);
        if (!try_packer(w, hdi_pack_skyline, by_first, count, gain_of(w, before), top))
            return false;
        kept = *top < before ? most : kept;
    }
    if (most != kept)
        cut_lives(w, by_first, count, kept);
    return true;
}

/* Rounds until the goal is reached, the steps are used up or several rounds in a row find nothing better. Members of
 * equal priority come in order of first use. */
static bool pack_by_priorities(work *w, const uint32_t *by_first, uint32_t count, uint64_t *top)
{
    enum { SORT_STEPS = 8, IDLE = 8 }; /* a member; rounds */
    const hd_memory_need *need = w->sizes->need;
    uint32_t *priority = HDI_ARENA_ARRAY(w->pack.arena, uint32_t, count), slots = w->pack.slot_end - w->pack.slot_begin;
    uint64_t idle = 0, most_idle = IDLE * (1 + (uint64_t)w->how->effort);
    if (!priority)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t end = w->pack.end[by_first[i]] - w->pack.slot_begin, bytes = need[by_first[i]].bytes;
        priority[i] = (63 - (uint32_t)__builtin_clzll(bytes)) * CLASS + (uint32_t)(end * (CLASS - 1) / slots);
    }
    for (; *top > w->goal && hdi_pack_may_go_on(&w->pack) && idle < most_idle; idle++) {
        for (uint32_t i = 0; i < count; i++) {
            w->order[i] = by_first[i];
            w->key[i] = UINT32_MAX - priority[i];
        }
        hdi_sort_u64(w->key, w->order, w->scratch_key, w->scratch, count);
        w->pack.steps += (uint64_t)count * SORT_STEPS;
        uint64_t found = UINT64_MAX;
        if (!pack_in_order(&w->pack, w->order, count, w->offset, &found))
            return false;
        if (found == UINT64_MAX)
            break;
        if (found < *top) {
            *top = found;
            idle = 0;
            hdi_pack_keep(w, by_first, count);
        }
        for (uint32_t i = 0; i < count; i++)
            priority[i] += w->offset[by_first[i]] + need[by_first[i]].bytes > w->goal ? RAISE : 0;
    }
    return true;
}

/* Whether a heap is improved at all where barriers matter more than memory: it has few members, and by clocks few of
 * them are alive at a time. */
static bool is_worth_it(const work *w, uint32_t count)
{
    uint64_t slots = w->pack.slot_end - w->pack.slot_begin;
    return w->how->lean || w->how->effort || (count <= FEW && (!w->pack.by_clocks || w->mix->lives < CROWDED * slots));
}

static bool improve(work *w, const uint32_t *by_first, uint32_t count, uint64_t *top)
{
    w->pack.steps = 0;
    w->pack.most_steps = *w->steps_left;
    bool cuts = !w->pack.by_clocks && (w->how->lean || (count <= FEW && *top > HDI_SMALL_BYTES));
    bool done = (!cuts || pack_by_cuts(w, by_first, count, top)) && pack_by_priorities(w, by_first, count, top);
    *w->steps_left -= w->pack.steps < *w->steps_left ? w->pack.steps : *w->steps_left;
    w->pack.most_steps = UINT64_MAX;
    return done;
}

/* Whether most of a heap is alive for most of the time: first fit would leave gaps. */
static bool is_full(const work *w, const hdi_pack_mix *mix, uint64_t least)
{
    uint64_t slots = w->pack.slot_end - w->pack.slot_begin, alive = mix->lives / slots, area = mix->area / slots;
    if (w->is_part) /* it is not known how high the others will be */
        return area > mix->least / HDI_PACK_UNIT / 2 && alive >= MANY_IN_PART;
    return area > least / HDI_PACK_UNIT / 3 * 2 && alive >= MANY_ALIVE;
}

/* The first packing. least: bytes than which a packer cannot do with less, or that are enough. */
static bool pack_once(work *w, const uint32_t *by_first, uint32_t count, uint64_t least, uint64_t *top)
{
    bool skyline = !w->pack.by_clocks && w->mix->sizes > 1 && w->mix->lives <= (uint64_t)count * LONG_LIFE;
    *top = UINT64_MAX;
    if (!(skyline && is_full(w, w->mix, least)) && !hdi_pack_first_fit(w, by_first, count, w->out->res_offset, top))
        return false;
    if (skyline && *top > least) {
        sort_by_size(w, by_first, count);
        if (!try_packer(w, hdi_pack_skyline, by_first, count, gain_of(w, *top), top))
            return false;
    }
    return *top != UINT64_MAX || hdi_pack_first_fit(w, by_first, count, w->out->res_offset, top);
}

uint64_t hdi_pack_members(work *w, const uint32_t *by_first, uint32_t count, uint64_t enough, bool *known)
{
    uint64_t least = enough, top = UINT64_MAX; /* of a part, enough is no less than what is alive in it */
    hdi_pack_mix own;
    if (!w->mix && !hdi_pack_look(&w->pack, by_first, count, w->sizes_of, &own))
        return UINT64_MAX;
    const hdi_pack_mix *mix = w->mix = w->mix ? w->mix : &own;
    if (!w->is_part) {
        least = w->pack.by_clocks ? mix->needed : mix->least;
        hdi_pack_set_goal(w, mix->needed);
        if (!w->pack.by_clocks && least > w->goal && least > HDI_SMALL_BYTES && cut_lives(w, by_first, count, w->goal))
            least = mix->needed;
        least = w->goal > least ? w->goal : least;
    }
    uint64_t pools = least;
    if (known && w->pack.by_clocks && hdi_pack_pools(w, by_first, count, &pools)) {
        top = pools;
        *known = true;
    } else if (!pack_once(w, by_first, count, least, &top) ||
               (!w->is_part && top > w->goal && is_worth_it(w, count) && !improve(w, by_first, count, &top)))
        return UINT64_MAX;
    w->pack.end = w->lifetimes->res_close;
    w->pack.bucket = NULL; /* another heap has regions with buckets of their own, side by side */
    w->mix = NULL;
    forget_pieces(&w->pack);
    return top;
}
