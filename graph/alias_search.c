#include "alias_pack.h"

#include <string.h>

/* Search: what sticks out above a cap is put where those in the way weigh the least, these are put elsewhere in turn,
 * and so on until all have a place or the steps are used up. The cap starts below the packing that is there and comes
 * down with each success. An ejection chain with a short memory: who was just placed stays for a few steps, and who is
 * thrown out often grows heavy, so that the few that are hard to place end where they fit. Of whole heaps, not of
 * regions beside others. Steps are counted and the dice have a fixed seed: the same declaration always gets the same
 * plan. O(resources) to prepare, a step O(k) where k conflict; who they are is found when they are first asked for, as
 * mostly little is moved. */

/* Looks beside those at others; starts in a stretch; of a list that is sorted by ranks. */
enum { MOST_PAIRS = 1 << 20, STEP_LOOKS = 8, MEMBERS = 16, FEW = 24 };
#define STAYS ((uint64_t)1 << 40) /* weight of those that may not be thrown out yet */

typedef struct search {
    const hdi_pack *pack;
    uint32_t *res;
    uint32_t count, cap, step, dice, pairs;
    uint64_t looks;
    uint32_t *alive_begin, *alive; /* members by stretches of slots that they live in */
    /* Of the members, by their place in res. Each list stays as it was last sorted: next time little is out of order.
     */
    uint32_t *conflicts, **by_low, **by_high;                         /* null: not asked for yet */
    uint32_t *at, *units, *alignment, *weight, *stays, *first, *last; /* first, last: stretches */
    uint64_t *worth; /* weight, as often as it has been thrown out and once more */
    uint8_t *placed;
    uint64_t *clock; /* words for each; one queue needs none */
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
    for (uint64_t bit = (uint64_t)1 << (63 - __builtin_clzll(value | 1)) / 2; bit; bit >>= 1)
        root |= (root | bit) * (root | bit) <= value ? bit : 0;
    return (uint32_t)root;
}

static bool find_alive(search *s)
{
    hdi_arena *arena = s->pack->arena;
    uint32_t slots = s->pack->slot_end - s->pack->slot_begin, shift = 0;
    while ((uint64_t)slots * MEMBERS > (uint64_t)s->count << shift)
        shift++;
    uint32_t stretches = (slots >> shift) + 1;
    s->alive_begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)stretches + 2);
    if (!s->alive_begin)
        return false;
    uint32_t *end = s->alive_begin + 1; /* of each list while it is filled, from its begin on */
    for (uint32_t i = 0; i < s->count; i++) {
        s->first[i] = hdi_pack_slot(s->pack, s->pack->lifetimes->res_first[s->res[i]]) >> shift;
        s->last[i] = hdi_pack_slot(s->pack, s->pack->end[s->res[i]]) >> shift;
        for (uint32_t t = s->first[i]; t <= s->last[i]; t++)
            end[t + 1]++;
    }
    for (uint32_t t = 0; t < stretches; t++)
        end[t + 1] += end[t];
    s->alive = HDI_ARENA_ARRAY(arena, uint32_t, end[stretches]);
    if (!s->alive)
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t t = s->first[i]; t <= s->last[i]; t++)
            s->alive[end[t]++] = i;
    }
    return true;
}

/* Whether both are alive in some slot. */
static HDI_INLINE bool meet(const search *s, uint32_t i, uint32_t j)
{
    const uint32_t *first = s->pack->lifetimes->res_first, *end = s->pack->end;
    uint32_t a = s->res[i], b = s->res[j];
    return (end[a] >= first[b]) & (end[b] >= first[a]);
}

/* By where they are, those that wait last. */
static uint64_t place_key(const search *s, uint32_t i)
{
    return (uint64_t)(s->at[i] | (0u - !s->placed[i])) << 32 | i;
}

/* Of few, each goes behind as many as are smaller: which of two is nobody could foretell, as a branch. */
static void sort_few(const uint64_t *key, uint32_t count, uint32_t *to)
{
    for (uint32_t k = 0; k < count; k++) {
        uint32_t rank = 0;
        for (uint32_t j = 0; j < count; j++)
            rank += key[j] < key[k];
        to[rank] = (uint32_t)key[k];
    }
}

/* So that there is little left to sort when it is walked over. */
static void sort_once(uint64_t *key, uint32_t count, uint32_t *to)
{
    static const uint32_t gaps[] = {57, 23, 10, 4, 1};
    if (count <= FEW) {
        sort_few(key, count, to);
        return;
    }
    for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++) {
        for (uint32_t k = gaps[g]; k < count; k++) {
            uint64_t one = key[k];
            uint32_t at = k;
            for (; at >= gaps[g] && key[at - gaps[g]] > one; at -= gaps[g])
                key[at] = key[at - gaps[g]];
            key[at] = one;
        }
    }
    for (uint32_t k = 0; k < count; k++)
        to[k] = (uint32_t)key[k];
}

/* Each is met first where the later of the two begins. False: out of memory, or there are too many pairs. */
static bool find_conflicts(search *s, uint32_t i)
{
    hdi_arena *arena = s->pack->arena;
    uint32_t first = s->first[i], last = s->last[i], count = 0, words = s->pack->by_clocks ? s->pack->lanes.words : 0;
    uint64_t *key = s->low; /* not used yet */
    uint64_t turned[HD_MAX_QUEUES];
    if (s->by_low[i])
        return true;
    for (uint32_t k = 0; k < words; k++)
        turned[k] = hdi_pack_turned(s->clock[(size_t)i * words + k]);
    for (uint32_t t = first; t <= last; t++) {
        for (uint32_t k = s->alive_begin[t]; k < s->alive_begin[t + 1]; k++) {
            uint32_t j = s->alive[k], begin = s->first[j];
            if (!((j != i) & (t == (begin > first ? begin : first)) & meet(s, i, j)))
                continue;
            key[count] = place_key(s, j); /* if their clocks say so, which is anybody's guess */
            count += !words || hdi_pack_conflict(&s->pack->lanes, &s->clock[(size_t)j * words], turned, words);
        }
    }
    s->pairs += count;
    s->conflicts[i] = count;
    s->by_low[i] = HDI_ARENA_ARRAY(arena, uint32_t, count + 1);
    s->by_high[i] = HDI_ARENA_ARRAY(arena, uint32_t, count + 1);
    if (arena->failed || s->pairs > MOST_PAIRS)
        return false;
    sort_once(key, count, s->by_low[i]);
    memcpy(s->by_high[i], s->by_low[i], count * sizeof(*s->by_low[i]));
    return true;
}

/* Members, where they are now. */
static bool set_up(search *s, const uint32_t *by_first, const uint64_t *offset)
{
    const hdi_pack *pack = s->pack;
    hdi_arena *arena = pack->arena;
    uint32_t n = s->count, words = pack->by_clocks ? pack->lanes.words : 0;
    s->res = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->conflicts = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->by_low = HDI_ARENA_ZEROED(arena, uint32_t *, n);
    s->by_high = HDI_ARENA_ARRAY(arena, uint32_t *, n);
    s->at = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->units = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->alignment = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->weight = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->worth = HDI_ARENA_ARRAY(arena, uint64_t, n);
    s->first = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->last = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->stays = HDI_ARENA_ZEROED(arena, uint32_t, n);
    s->placed = HDI_ARENA_ZEROED(arena, uint8_t, n);
    s->clock = HDI_ARENA_ARRAY(arena, uint64_t, (size_t)n * words);
    s->waiting = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->away = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->low = HDI_ARENA_ARRAY(arena, uint64_t, n);
    s->high = HDI_ARENA_ARRAY(arena, uint64_t, n);
    if (arena->failed)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t res = by_first[i];
        uint64_t where = offset[res];
        const hd_memory_need *need = &pack->sizes->need[res];
        uint64_t life = pack->end[res] - pack->lifetimes->res_first[res] + 1;
        s->res[i] = res;
        s->at[i] = (uint32_t)(where / HDI_PACK_UNIT);
        s->units[i] = (uint32_t)((need->bytes + HDI_PACK_UNIT - 1) / HDI_PACK_UNIT);
        s->alignment[i] = need->alignment > HDI_PACK_UNIT ? (uint32_t)(need->alignment / HDI_PACK_UNIT) : 1;
        s->worth[i] = s->weight[i] = square_root(s->units[i] * life) + 1;
        s->placed[i] = where % HDI_PACK_UNIT == 0;
        if (words)
            hdi_pack_read_clock(pack, res, &s->clock[(size_t)i * words]);
        if (!s->placed[i])
            s->waiting[s->waiting_count++] = i;
    }
    return find_alive(s);
}

static HDI_INLINE uint64_t weight_of(const search *s, uint32_t i)
{
    return s->stays[i] > s->step ? STAYS : s->worth[i];
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
    sort_conflicts(s, s->by_low[i], s->conflicts[i], false, s->low);
    return sort_conflicts(s, s->by_high[i], s->conflicts[i], true, s->high);
}

/* What one of the two walks over places has passed: the weight in the way is that which has begun less that which
 * ended. */
typedef struct walk {
    const uint32_t *low_of, *high_of;
    uint32_t low, high;
    uint64_t begun, ended;
} walk;

static HDI_INLINE uint64_t weight_at(const search *s, walk *w, uint32_t n, uint64_t place, uint64_t units)
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
    walk above = {s->by_low[i], s->by_high[i], 0, 0, 0, 0}, below = above;
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

/* False: out of memory, or there are too many pairs. */
static bool place_one(search *s)
{
    uint32_t i = next_waiting(s), place;
    if (!find_conflicts(s, i))
        return false;
    uint64_t weight = find_place(s, i, &place);
    s->step++;
    s->looks += s->conflicts[i] + STEP_LOOKS;
    if (weight >= STAYS) {
        take_out(s, i);
        return true;
    }
    for (uint32_t c = 0; weight && c < s->conflicts[i]; c++) {
        uint32_t j = s->by_low[i][c];
        if (s->placed[j] && s->at[j] < place + s->units[i] && place < s->at[j] + s->units[j]) {
            s->worth[j] += s->weight[j];
            take_out(s, j);
        }
    }
    s->at[i] = place;
    s->placed[i] = 1;
    s->stays[i] = s->step + 1 + throw_dice(s) % 3;
    return true;
}

/* Everybody is placed: keeps that. Returns the top. */
static uint64_t keep(const search *s, uint64_t *offset)
{
    uint64_t top = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        offset[s->res[i]] = (uint64_t)s->at[i] * HDI_PACK_UNIT;
        top = s->at[i] + s->units[i] > top ? s->at[i] + s->units[i] : top;
    }
    return top;
}

bool hdi_pack_search(hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t goal, uint64_t looks,
                     uint64_t *offset, uint64_t *top)
{
    search s = {.pack = pack, .count = count, .dice = 1};
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    uint64_t least = goal / HDI_PACK_UNIT, now = *top / HDI_PACK_UNIT;
    if (now > UINT32_MAX / 2 || count < 2)
        return true;
    if (pack->by_clocks)
        hdi_pack_find_lanes(pack);
    bool more = set_up(&s, by_first, offset);
    while (more && now > least) {
        s.cap = (uint32_t)(least + (now - least) / 2);
        for (uint32_t i = 0; i < count; i++) {
            if (s.placed[i] && s.at[i] + s.units[i] > s.cap)
                take_out(&s, i);
            if (s.units[i] > s.cap) /* no lower than these, so that one waits for ever */
                s.looks = looks;
        }
        while (more && s.waiting_count && s.looks < looks)
            more = place_one(&s);
        if (s.waiting_count || !more)
            break;
        now = keep(&s, offset);
        *top = now * HDI_PACK_UNIT;
    }
    hdi_arena_keep(pack->arena, mark, NULL, 0);
    return !pack->arena->failed;
}
