#include "alias_pack.h"

#include "sort.h"

#include <string.h>

/* Packing of the members of a heap: first fit with the largest first, and then improvement of what is far above the
 * lower bound.
 *
 * The lower bound is the most bytes that are alive at once, if lives end with the last use. On one queue lives end with
 * a group of the schedule, where a barrier stands anyway; improvement cuts them short, which adds barriers, and packs
 * again. After that comes squeaky wheel optimization (Joslin and Clements, 1999): first fit by priority, in rounds,
 * where each member that ends above the goal gets a higher priority for the next round. The first priority of a member
 * is the power of two of its size, and within that the end of its life. The best packing of all rounds stays.
 *
 * Improvement has a budget in steps, never in time, so that a plan is the same on every machine. A step is a few
 * instructions; packers count them. By default the budget is about the work of the other phases where memory is what
 * matters; it is a fraction of that, and for small heaps alone, where barriers matter more. O(budget). */

enum { LONG_LIFE = 512 };         /* slots, on average: longer lives are packed in order of time */
enum { NEAR = 40 };               /* a heap may exceed the lower bound by this part of it */
enum { MUCH = 48 };               /* more barriers have to save this part of a heap */
enum { FEW = 256 };               /* members that are improved where barriers matter more */
enum { CROWDED = 12 };            /* alive on average, on several queues: few steps would find little */
enum { LEVELS = 20, LOWEST = 19 }; /* lives are cut where more than so many parts of the goal are alive */
enum { CLASS = 1024, RAISE = 2 * CLASS }; /* of priorities: a power of two; for a member that ends too high */

typedef hdi_pack_work work;

uint64_t hdi_pack_budget(const hdi_pack *pack, const hdi_packing *how)
{
    enum { SHORT_FRAME = 8192, LEAN = 640, OTHER = 32, ONE_QUEUE = 4 };
    uint64_t steps = pack->slot_end * (uint64_t)(how->lean ? LEAN : OTHER), least = SHORT_FRAME;
    uint32_t times = how->lean || pack->by_clocks ? 1 : ONE_QUEUE;
    return (steps > least ? steps : least) * times * (1 + (uint64_t)how->effort);
}

static uint64_t choose_goal(const work *w)
{
    uint64_t needed = w->pack.needed, units = hdi_pack_units(needed) * HDI_PACK_UNIT, goal = needed + needed / NEAR;
    goal = goal > units ? goal : units; /* a packer makes no fewer units of it */
    return w->enough > goal ? w->enough : goal;
}

/* ---- first fit ---- */

/* Sizes of a class differ by a sixteenth. Classes rise with sizes. */
enum { FINE_BITS = 4, CLASSES = 64 << FINE_BITS };

static HDI_INLINE uint32_t class_of(uint64_t bytes)
{
    uint32_t log = 63 - (uint32_t)__builtin_clzll(bytes), shift = log > FINE_BITS ? log - FINE_BITS : 0;
    return (shift << FINE_BITS) + (uint32_t)(bytes >> shift);
}

/* By size, the largest first, in the order of first use where sizes are of one class. */
static void sort_by_size(work *w, const uint32_t *by_first, uint32_t count)
{
    const hd_memory_need *need = w->sizes->need;
    uint32_t at[CLASSES], *class = w->scratch, *order = w->order, sum = 0, most = 0;
    memset(at, 0, sizeof(at));
    for (uint32_t i = 0; i < count; i++) {
        class[i] = class_of(need[by_first[i]].bytes);
        most = class[i] > most ? class[i] : most;
        at[class[i]]++;
    }
    for (uint32_t k = most + 1; k-- > 0 && sum < count;) {
        uint32_t here = at[k];
        at[k] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < count; i++)
        order[at[class[i]]++] = by_first[i];
}

static bool pack_in_order(work *w, uint32_t count, uint64_t *offset, uint64_t *top)
{
    return (w->pack.has_short_lives ? hdi_pack_in_runs : hdi_pack_in_lists)(&w->pack, w->order, count, offset, top);
}

/* In time where that is sooner, or where the heap is too large for the numbers of the other packers. */
bool hdi_pack_first_fit(work *w, const uint32_t *by_first, uint32_t count, uint64_t *top)
{
    *top = UINT64_MAX;
    if (w->pack.lives <= (uint64_t)count * LONG_LIFE) {
        sort_by_size(w, by_first, count);
        if (!pack_in_order(w, count, w->out->res_offset, top))
            return false;
    }
    return *top != UINT64_MAX || hdi_pack_in_time(&w->pack, by_first, count, w->out->res_offset, top);
}

/* ---- improvement ---- */

static void keep(const work *w, const uint32_t *res, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        w->out->res_offset[res[i]] = w->offset[res[i]];
}

static bool may_go_on(const work *w, uint64_t top)
{
    return top > w->goal && w->pack.steps < w->steps_left;
}

/* Lives end before their groups do, where more than `most` would be alive; UINT64_MAX: nowhere. *cuts: whether that is
 * anywhere. False: out of memory. */
static bool cut_lives(work *w, const uint32_t *by_first, uint32_t count, uint64_t most, bool *cuts)
{
    *cuts = most != UINT64_MAX && hdi_pack_cut(&w->pack, by_first, count, most, w->scratch, w->end);
    w->pack.end = *cuts ? w->end : w->lifetimes->res_close;
    return hdi_pack_look(&w->pack, by_first, count);
}

/* First fit over lives that are cut in few places at first; with more effort they are cut down to the last use. That
 * has to save enough to reach the goal, or much. Lives stay as the packing that is kept has them: cut at *kept. */
static bool pack_by_cuts(work *w, const uint32_t *by_first, uint32_t count, uint64_t kept, uint64_t *top)
{
    uint64_t most = kept;
    uint32_t lowest = w->how->effort ? 0 : LOWEST;
    bool cuts;
    for (uint32_t level = LEVELS + 1; level-- > lowest && may_go_on(w, *top);) {
        uint64_t to_goal = *top - w->goal - 1, much = *top / MUCH, found = *top - (much < to_goal ? much : to_goal);
        if (!cut_lives(w, by_first, count, most = w->goal / LEVELS * level, &cuts))
            return false;
        if (!cuts)
            continue;
        sort_by_size(w, by_first, count);
        if (!pack_in_order(w, count, w->offset, &found))
            return false;
        if (found == UINT64_MAX)
            continue;
        *top = found;
        kept = most;
        keep(w, by_first, count);
    }
    return most == kept || cut_lives(w, by_first, count, kept, &cuts);
}

/* Rounds until the goal is reached, the steps are used up or several rounds in a row find nothing better. Members of
 * equal priority come in order of first use. */
static bool pack_by_priorities(work *w, const uint32_t *by_first, uint32_t count, uint64_t *top)
{
    enum { SORT_STEPS = 8, IDLE = 8 }; /* a member; rounds */
    const hd_memory_need *need = w->sizes->need;
    uint32_t *priority = HDI_ARENA_ARRAY(w->pack.arena, uint32_t, count), slots = w->pack.slot_end;
    uint64_t idle = 0, most_idle = IDLE * (1 + (uint64_t)w->how->effort);
    if (!priority)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t end = w->pack.end[by_first[i]], bytes = need[by_first[i]].bytes;
        priority[i] = (63 - (uint32_t)__builtin_clzll(bytes)) * CLASS + (uint32_t)(end * (CLASS - 1) / slots);
    }
    for (; may_go_on(w, *top) && idle < most_idle; idle++) {
        for (uint32_t i = 0; i < count; i++) {
            w->order[i] = by_first[i];
            w->key[i] = UINT32_MAX - priority[i];
        }
        hdi_sort_u64(w->key, w->order, w->scratch_key, w->scratch, count);
        w->pack.steps += (uint64_t)count * SORT_STEPS;
        uint64_t found = UINT64_MAX;
        if (!pack_in_order(w, count, w->offset, &found))
            return false;
        if (found == UINT64_MAX)
            break;
        if (found < *top) {
            *top = found;
            idle = 0;
            keep(w, by_first, count);
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
    return w->how->lean || w->how->effort ||
           (count <= FEW && (!w->pack.by_clocks || w->pack.lives < CROWDED * (uint64_t)w->pack.slot_end));
}

/* kept: lives are cut where more is alive. */
static bool improve(work *w, const uint32_t *by_first, uint32_t count, uint64_t kept, uint64_t *top)
{
    w->pack.steps = 0;
    bool cuts = !w->pack.by_clocks && (w->how->lean || (count <= FEW && *top > HDI_SMALL_BYTES));
    bool done = (!cuts || pack_by_cuts(w, by_first, count, kept, top)) && pack_by_priorities(w, by_first, count, top);
    w->steps_left -= w->pack.steps < w->steps_left ? w->pack.steps : w->steps_left;
    return done;
}

/* Whether all lives end with the last use, so that places are as good as can be. */
static bool end_with_use(const hdi_pack *pack)
{
    uint32_t late = 0;
    for (uint32_t r = 0; r < pack->res_count; r++)
        late |= pack->lifetimes->res_last[r] ^ pack->end[r];
    return late == 0;
}

uint64_t hdi_pack_members(work *w, const uint32_t *by_first, uint32_t count, bool alike, bool *known)
{
    hdi_pack *pack = &w->pack;
    uint64_t top = UINT64_MAX, kept = UINT64_MAX;
    bool cuts = false;
    *known = alike && end_with_use(pack) && hdi_pack_places(w, by_first, count, &top);
    if (*known)
        return top;
    if (!hdi_pack_look(pack, by_first, count))
        return UINT64_MAX;
    top = w->goal = choose_goal(w);
    *known = (alike && hdi_pack_places(w, by_first, count, &top)) ||
             (pack->by_clocks && hdi_pack_pools(w, by_first, count, &top));
    if (*known)
        return top;
    if (!pack->by_clocks && pack->live_bytes > w->goal && pack->live_bytes > HDI_SMALL_BYTES &&
        !cut_lives(w, by_first, count, w->goal, &cuts))
        return UINT64_MAX;
    kept = cuts ? w->goal : UINT64_MAX;
    bool done = hdi_pack_first_fit(w, by_first, count, &top) &&
                (top <= w->goal || !is_worth_it(w, count) || improve(w, by_first, count, kept, &top));
    pack->end = w->lifetimes->res_close;
    return done ? top : UINT64_MAX;
}
