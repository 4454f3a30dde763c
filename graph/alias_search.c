#include "alias_pack.h"

#include <string.h>

#include "csr.h"

/* Search: what sticks out above a cap is put where those in the way weigh the least, these are put elsewhere in turn,
 * and so on until all have a place or the steps are used up. The cap starts below the packing that is there and comes
 * down with each success. An ejection chain with a short memory: who was just placed stays for a few steps, and who is
 * thrown out often grows heavy, so that the few that are hard to place end where they fit. Steps are counted and the
 * dice have a fixed seed: the same declaration always gets the same plan. O(pairs in conflict) to prepare, a step O(k)
 * where k conflict. */

enum { MOST_PAIRS = 1 << 20, STEP_LOOKS = 8 }; /* what a step costs beside its looks at others */
#define STAYS ((uint64_t)1 << 40)              /* weight of those that may not be thrown out yet */

typedef struct search {
    const hdi_pack *pack;
    const uint32_t *res;
    uint32_t count, cap, step, dice;
    uint64_t looks, most_looks;
    /* Of the members, by their place in res. Each list stays as it was last sorted: next time little is out of order.
     */
    uint32_t *conflict_begin, *by_low, *by_high;
    uint32_t *at, *units, *alignment, *weight, *thrown, *stays;
    uint8_t *placed;
    uint32_t *waiting, waiting_count, *away;
    uint64_t *low, *high; /* of those in the way: where they begin, where they end */
} search;

static uint32_t throw_dice(search *s)
{
    s->dice = s->dice * 1664525 + 1013904223;
    return s->dice >> 16;
}

static uint32_t square_root(uint64_t value)
{
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 31; bit; bit >>= 1)
        root |= (root | bit) * (root | bit) <= value ? bit : 0;
    return (uint32_t)root;
}

/* Visits the pairs that may not share bytes: a sweep over first uses with those that have not ended. Counts them where
 * there is no room for them. False: too many. */
static bool visit_conflicts(search *s, uint32_t *active, uint32_t *at)
{
    const hdi_pack *pack = s->pack;
    uint64_t most = s->most_looks < MOST_PAIRS ? s->most_looks : MOST_PAIRS;
    uint32_t active_count = 0, pairs = 0;
    for (uint32_t i = 0; i < s->count && pairs <= most; i++) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < active_count; k++) {
            uint32_t j = active[k];
            if (pack->end[s->res[j]] < pack->lifetimes->res_first[s->res[i]])
                continue;
            active[kept++] = j;
            if (pack->by_clocks && hdi_may_share(pack, s->res[j], s->res[i]))
                continue;
            if (s->by_low) {
                s->by_low[at[i]] = j;
                s->by_low[at[j]] = i;
            }
            at[i]++;
            at[j]++;
            pairs++;
        }
        active[kept++] = i;
        active_count = kept;
    }
    return pairs <= most;
}

static bool find_conflicts(search *s)
{
    hdi_arena *arena = s->pack->arena;
    uint32_t *active = HDI_ARENA_ARRAY(arena, uint32_t, s->count), *at = HDI_ARENA_ARRAY(arena, uint32_t, s->count);
    s->conflict_begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)s->count + 1);
    if (arena->failed || !visit_conflicts(s, active, s->conflict_begin))
        return false;
    uint32_t total = hdi_csr_scan(s->conflict_begin, s->count);
    s->by_low = HDI_ARENA_ARRAY(arena, uint32_t, total);
    s->by_high = HDI_ARENA_ARRAY(arena, uint32_t, total);
    if (arena->failed)
        return false;
    memcpy(at, s->conflict_begin, s->count * sizeof(*at));
    visit_conflicts(s, active, at);
    memcpy(s->by_high, s->by_low, total * sizeof(*s->by_high));
    return true;
}

/* Members, where they are now. */
static bool set_up(search *s, const uint64_t *offset)
{
    hdi_arena *arena = s->pack->arena;
    s->at = HDI_ARENA_ARRAY(arena, uint32_t, s->count);
    s->units = HDI_ARENA_ARRAY(arena, uint32_t, s->count);
    s->alignment = HDI_ARENA_ARRAY(arena, uint32_t, s->count);
    s->weight = HDI_ARENA_ARRAY(arena, uint32_t, s->count);
    s->thrown = HDI_ARENA_ZEROED(arena, uint32_t, s->count);
    s->stays = HDI_ARENA_ZEROED(arena, uint32_t, s->count);
    s->placed = HDI_ARENA_ZEROED(arena, uint8_t, s->count);
    s->waiting = HDI_ARENA_ARRAY(arena, uint32_t, s->count);
    s->away = HDI_ARENA_ARRAY(arena, uint32_t, s->count);
    s->low = HDI_ARENA_ARRAY(arena, uint64_t, s->count);
    s->high = HDI_ARENA_ARRAY(arena, uint64_t, s->count);
    if (arena->failed)
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t res = s->res[i];
        const hd_memory_need *need = &s->pack->sizes->need[res];
        uint64_t life = s->pack->end[res] - s->pack->lifetimes->res_first[res] + 1;
        s->at[i] = (uint32_t)(offset[res] / HDI_PACK_UNIT);
        s->units[i] = (uint32_t)((need->bytes + HDI_PACK_UNIT - 1) / HDI_PACK_UNIT);
        s->alignment[i] = need->alignment > HDI_PACK_UNIT ? (uint32_t)(need->alignment / HDI_PACK_UNIT) : 1;
        s->weight[i] = square_root(s->units[i] * life) + 1;
        s->placed[i] = offset[res] % HDI_PACK_UNIT == 0;
        if (!s->placed[i])
            s->waiting[s->waiting_count++] = i;
    }
    return true;
}

static uint64_t weight_of(const search *s, uint32_t i)
{
    return s->stays[i] > s->step ? STAYS : (uint64_t)s->weight[i] * (1 + s->thrown[i]);
}

/* Sorts one list of conflicts by where they begin, or end; those that wait for a place come last. How many have one. */
static uint32_t sort_conflicts(const search *s, uint32_t *who, uint32_t count, bool by_end, uint64_t *key)
{
    uint32_t n = 0, waiting = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t j = who[k];
        if (!s->placed[j]) {
            s->away[waiting++] = j;
            continue;
        }
        uint64_t value = (uint64_t)s->at[j] + (by_end ? s->units[j] : 0);
        uint32_t at = n++;
        for (; at > 0 && key[at - 1] > value; at--) {
            key[at] = key[at - 1];
            who[at] = who[at - 1];
        }
        key[at] = value;
        who[at] = j;
    }
    memcpy(&who[n], s->away, waiting * sizeof(*who));
    return n;
}

static uint32_t look_around(search *s, uint32_t i)
{
    uint32_t begin = s->conflict_begin[i], count = s->conflict_begin[i + 1] - begin;
    sort_conflicts(s, &s->by_low[begin], count, false, s->low);
    return sort_conflicts(s, &s->by_high[begin], count, true, s->high);
}

/* What one of the two walks over places has passed: the weight in the way is that which has begun less that which
 * ended. */
typedef struct walk {
    const uint32_t *low_of, *high_of;
    uint32_t low, high;
    uint64_t begun, ended;
} walk;

static uint64_t weight_at(const search *s, walk *w, uint32_t n, uint64_t place, uint64_t units)
{
    for (; w->low < n && s->low[w->low] < place + units; w->low++)
        w->begun += weight_of(s, w->low_of[w->low]);
    for (; w->high < n && s->high[w->high] <= place; w->high++)
        w->ended += weight_of(s, w->high_of[w->high]);
    return w->begun - w->ended;
}

/* Places are at the bottom, on top of someone, below someone, and at the top. The lightest wins, the dice break what is
 * nearly even. STAYS or more: none. */
static uint64_t find_place(search *s, uint32_t i, uint32_t *place)
{
    uint32_t n = look_around(s, i), units = s->units[i], mask = s->alignment[i] - 1;
    uint32_t highest = (s->cap - units) & ~mask;
    walk above = {&s->by_low[s->conflict_begin[i]], &s->by_high[s->conflict_begin[i]], 0, 0, 0, 0}, below = above;
    uint64_t best = weight_at(s, &above, n, 0, units);
    *place = 0;
    for (uint32_t k = 0; k < n && best; k++) {
        uint64_t at = (s->high[k] + mask) & ~(uint64_t)mask;
        if (at > highest)
            break;
        uint64_t weight = weight_at(s, &above, n, at, units);
        weight += weight ? throw_dice(s) & 15 : 0;
        if (weight < best) {
            best = weight;
            *place = (uint32_t)at;
        }
    }
    for (uint32_t k = 0; k <= n && best; k++) {
        if (k < n && s->low[k] < units)
            continue;
        uint64_t at = k < n ? (s->low[k] - units) & ~(uint64_t)mask : highest;
        if (at > highest)
            continue;
        uint64_t weight = weight_at(s, &below, n, at, units);
        weight += weight ? throw_dice(s) & 15 : 0;
        if (weight < best) {
            best = weight;
            *place = (uint32_t)at;
        }
    }
    return best;
}

static void take_out(search *s, uint32_t i)
{
    s->placed[i] = 0;
    s->waiting[s->waiting_count++] = i;
}

/* The largest of those that wait. */
static uint32_t next_waiting(search *s)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < s->waiting_count; k++)
        best = s->units[s->waiting[k]] > s->units[s->waiting[best]] ? k : best;
    uint32_t i = s->waiting[best];
    s->waiting[best] = s->waiting[--s->waiting_count];
    return i;
}

static void place_one(search *s)
{
    uint32_t i = next_waiting(s), place;
    uint64_t weight = find_place(s, i, &place);
    s->step++;
    s->looks += s->conflict_begin[i + 1] - s->conflict_begin[i] + STEP_LOOKS;
    if (weight >= STAYS) {
        take_out(s, i);
        return;
    }
    for (uint32_t c = s->conflict_begin[i]; weight && c < s->conflict_begin[i + 1]; c++) {
        uint32_t j = s->by_low[c];
        if (s->placed[j] && s->at[j] < place + s->units[i] && place < s->at[j] + s->units[j]) {
            s->thrown[j]++;
            take_out(s, j);
        }
    }
    s->at[i] = place;
    s->placed[i] = 1;
    s->stays[i] = s->step + 1 + throw_dice(s) % 3;
}

bool hdi_pack_search(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t goal, uint64_t looks,
                     uint64_t *offset, uint64_t *top)
{
    search s = {.pack = pack, .res = by_first, .count = count, .most_looks = looks, .dice = 1};
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    uint64_t least = goal / HDI_PACK_UNIT, now = *top / HDI_PACK_UNIT;
    if (now > UINT32_MAX / 2 || count < 2)
        return true;
    if (!find_conflicts(&s) || !set_up(&s, offset)) {
        hdi_arena_keep(pack->arena, mark, NULL, 0);
        return !pack->arena->failed;
    }
    while (now > least) {
        s.cap = (uint32_t)(least + (now - least) / 2);
        for (uint32_t i = 0; i < count; i++) {
            if (s.units[i] > s.cap) /* no lower than the largest */
                s.looks = looks;
            if (s.placed[i] && s.at[i] + s.units[i] > s.cap)
                take_out(&s, i);
        }
        while (s.waiting_count && s.looks < looks)
            place_one(&s);
        if (s.waiting_count)
            break;
        now = 0;
        for (uint32_t i = 0; i < count; i++) {
            offset[by_first[i]] = (uint64_t)s.at[i] * HDI_PACK_UNIT;
            now = s.at[i] + s.units[i] > now ? s.at[i] + s.units[i] : now;
        }
        *top = now * HDI_PACK_UNIT;
    }
    hdi_arena_keep(pack->arena, mark, NULL, 0);
    return true;
}
