#include "alias_pack.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Search: what sticks out above a cap is put where those in the way weigh the least, these are put elsewhere in turn,
 * and so on until all have a place or the steps are used up. The cap starts below the packing that is there and comes
 * down with each success. An ejection chain with a short memory: who was just placed stays for a few steps, and who is
 * thrown out often grows heavy, so that the few that are hard to place end where they fit. Of whole heaps, not of
 * regions beside others. Steps are counted and the dice have a fixed seed: the same declaration always gets the same
 * plan. O(resources) to prepare, a step O(k) where k conflict; who they are is found when they are first asked for, as
 * mostly little is moved. */

/* Looks beside those at others; starts in a stretch; of a list that is sorted by ranks. */
enum { MOST_PAIRS = 1 << 20, STEP_LOOKS = 8, MEMBERS = 8, FEW = 24 };
#define STAYS ((uint64_t)1 << 40) /* weight of those that may not be thrown out yet */

typedef struct member {
    uint32_t at, units; /* HDI_NONE: waits for a place */
    uint64_t worth;     /* weight, as often as it has been thrown out and once more */
    uint32_t weight, stays;
    uint32_t first, last; /* slots, from where it packs */
} member;

typedef struct search {
    const hdi_pack *pack;
    member *member; /* by first use */
    uint32_t *res, *alignment;
    uint32_t count, cap, step, dice, pairs;
    uint64_t looks;
    uint32_t shift;                          /* from a slot to its stretch */
    uint32_t *alive_begin, *alive, *started; /* members by stretches that they live in; how many of them start there */
    /* Of the members, by their place in res. Each list stays as it was last sorted: next time little is out of order.
     */
    uint32_t *conflicts, **by_low, **by_high; /* null: not asked for yet */
    uint64_t *clock;                          /* words for each; one queue needs none */
    uint32_t *waiting, waiting_count, *away;
    uint64_t *low, *high;    /* of those in the way: where they begin, or end, above who; between nothing and all */
    uint64_t *begun, *ended; /* what those below weigh, who begin or end there */
} search;

static uint32_t throw_dice(search *s)
{
    s->dice = s->dice * 1664525 + 1013904223;
    return s->dice >> 16;
}

static uint32_t square_root(uint64_t value)
{
    uint64_t root = 0;
#ifdef __SSE2__
    if (HDI_LIKELY(value < (uint64_t)1 << 50)) /* so that no rounding, up or down, gets to another whole number */
        return (uint32_t)_mm_cvttsd_si32(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd((double)value)));
#endif
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
    s->shift = shift;
    s->alive_begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)stretches + 2);
    s->started = HDI_ARENA_ZEROED(arena, uint32_t, stretches);
    if (arena->failed)
        return false;
    uint32_t *end = s->alive_begin + 1; /* of each list while it is filled, from its begin on */
    for (const member *m = s->member; m < s->member + s->count; m++) {
        s->started[m->first >> shift]++;
        for (uint32_t t = m->first >> shift; t <= m->last >> shift; t++)
            end[t + 1]++;
    }
    for (uint32_t t = 0; t < stretches; t++)
        end[t + 1] += end[t];
    s->alive = HDI_ARENA_ARRAY(arena, uint32_t, end[stretches]);
    if (!s->alive)
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t t = s->member[i].first >> shift; t <= s->member[i].last >> shift; t++)
            s->alive[end[t]++] = i;
    }
    return true;
}

/* Of few, each goes behind as many as are smaller: which of two is nobody could foretell, as a branch. */
static void sort_few(const uint64_t *key, uint32_t count, uint32_t *to)
{
    uint32_t rank[FEW];
    for (uint32_t k = 0; k < count; k++) {
        uint32_t larger = 0;
        for (uint32_t j = 0; j < k; j++) {
            uint32_t is_larger = key[j] > key[k];
            HDI_HIDE(is_larger); /* they are few: not by vectors */
            rank[j] += is_larger;
            larger += is_larger;
        }
        rank[k] = k - larger;
    }
    for (uint32_t k = 0; k < count; k++)
        to[rank[k]] = (uint32_t)key[k];
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

/* Those that are alive in the first stretch, and those that start in a later one: whether two meet in some slot, and
 * their clocks say so, is anybody's guess. Those that wait come last. False: out of memory, or there are too many
 * pairs. */
static bool find_conflicts(search *s, uint32_t i)
{
    hdi_arena *arena = s->pack->arena;
    const member *members = s->member, one = members[i];
    uint32_t count = 0, words = s->pack->by_clocks ? s->pack->lanes.words : 0;
    uint64_t *key = s->low; /* not used yet */
    uint64_t turned[HD_MAX_QUEUES];
    if (s->by_low[i])
        return true;
    for (uint32_t k = 0; k < words; k++)
        turned[k] = hdi_pack_turned(s->clock[(size_t)i * words + k]);
    uint32_t k = s->alive_begin[one.first >> s->shift];
    for (uint32_t t = one.first >> s->shift, end; t <= one.last >> s->shift; t++) {
        for (end = s->alive_begin[t + 1]; k < end; k++) {
            uint32_t j = s->alive[k];
            const member *other = &members[j];
            key[count] = (uint64_t)other->at << 32 | j;
            uint32_t apart = (other->last - one.first) | (one.last - other->first); /* its topmost bit */
            count += ~apart >> 31 & (j != i) &
                     (!words || hdi_pack_conflict(&s->pack->lanes, &s->clock[(size_t)j * words], turned, words));
        }
        k = t < one.last >> s->shift ? s->alive_begin[t + 2] - s->started[t + 1] : k;
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
    s->member = HDI_ARENA_ARRAY(arena, member, n);
    s->alignment = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->clock = HDI_ARENA_ARRAY(arena, uint64_t, (size_t)n * words);
    s->waiting = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->away = HDI_ARENA_ARRAY(arena, uint32_t, n);
    s->low = HDI_ARENA_ZEROED(arena, uint64_t, (size_t)n + 2);
    s->high = HDI_ARENA_ZEROED(arena, uint64_t, (size_t)n + 2);
    s->begun = HDI_ARENA_ZEROED(arena, uint64_t, (size_t)n + 1);
    s->ended = HDI_ARENA_ZEROED(arena, uint64_t, (size_t)n + 1);
    if (arena->failed)
        return false;
    s->low++; /* behind a zero */
    s->high++;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t res = by_first[i];
        uint64_t where = offset[res];
        const hd_memory_need *need = &pack->sizes->need[res];
        uint64_t life = pack->end[res] - pack->lifetimes->res_first[res] + 1;
        uint32_t units = (uint32_t)((need->bytes + HDI_PACK_UNIT - 1) / HDI_PACK_UNIT),
                 weight = square_root(units * life) + 1;
        s->res[i] = res;
        s->alignment[i] = need->alignment > HDI_PACK_UNIT ? (uint32_t)(need->alignment / HDI_PACK_UNIT) : 1;
        s->member[i] = (member){.at = where % HDI_PACK_UNIT ? HDI_NONE : (uint32_t)(where / HDI_PACK_UNIT),
                                .units = units,
                                .worth = weight,
                                .weight = weight,
                                .first = hdi_pack_slot(pack, pack->lifetimes->res_first[res]),
                                .last = hdi_pack_slot(pack, pack->end[res])};
        if (words)
            hdi_pack_read_clock(pack, res, &s->clock[(size_t)i * words]);
        if (s->member[i].at == HDI_NONE)
            s->waiting[s->waiting_count++] = i;
    }
    return find_alive(s);
}

/* Sorts one list of conflicts by where they begin, or end; those that wait for a place come last. *below: what weighs
 * below each. How many have a place. */
static HDI_INLINE uint32_t sort_conflicts(const search *s, uint32_t *who, uint32_t count, bool by_end, uint64_t *key,
                                          uint64_t *below)
{
    const member *members = s->member;
    uint32_t n = 0, waiting = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t j = who[k];
        const member *m = &members[j];
        if (HDI_UNLIKELY(m->at == HDI_NONE)) {
            s->away[waiting++] = j;
            continue;
        }
        uint64_t value = (uint64_t)(m->at + (by_end ? m->units : 0)) << 32;
        uint64_t *at = &key[n++];
        for (; at[-1] > (value | UINT32_MAX); at--) /* the first one stands behind a zero */
            at[0] = at[-1];
        *at = value | j;
    }
    key[n] = UINT64_MAX;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t j = (uint32_t)key[k];
        who[k] = j;
        below[k + 1] = below[k] + (members[j].stays > s->step ? STAYS : members[j].worth);
    }
    for (uint32_t k = 0; k < waiting; k++)
        who[n + k] = s->away[k];
    return n;
}

/* What the two walks over places have passed: the weight in the way is that which has begun less that which ended. */
typedef struct walk {
    const uint64_t *low, *high;
} walk;

static HDI_INLINE uint64_t weight_at(const search *s, walk *w, uint64_t place, uint64_t units)
{
    for (; *w->low < (place + units) << 32;)
        w->low++;
    for (; *w->high < (place + 1) << 32;)
        w->high++;
    return s->begun[w->low - s->low] - s->ended[w->high - s->high];
}

/* Places are at the bottom, on top of someone, below someone, and at the top. The lightest wins, the dice break what is
 * nearly even. STAYS or more: none. */
static uint64_t find_place(search *s, uint32_t i, uint32_t *place)
{
    uint32_t units = s->member[i].units, mask = s->alignment[i] - 1, highest = (s->cap - units) & ~mask;
    uint32_t n = sort_conflicts(s, s->by_low[i], s->conflicts[i], false, s->low, s->begun);
    sort_conflicts(s, s->by_high[i], s->conflicts[i], true, s->high, s->ended);
    walk above = {s->low, s->high}, below = above;
    uint64_t best = weight_at(s, &above, 0, units);
    *place = 0;
    for (uint32_t k = 0; k < n && best; k++) {
        uint64_t at = ((s->high[k] >> 32) + mask) & ~(uint64_t)mask;
        if (at > highest)
            break;
        uint64_t weight = weight_at(s, &above, at, units);
        weight += weight ? throw_dice(s) & 15 : 0;
        if (weight < best) {
            best = weight;
            *place = (uint32_t)at;
        }
    }
    for (uint32_t k = 0; k <= n && best; k++) {
        uint64_t low = s->low[k] >> 32;
        if (low < units)
            continue;
        uint64_t at = k < n ? (low - units) & ~(uint64_t)mask : highest;
        if (at > highest)
            continue;
        uint64_t weight = weight_at(s, &below, at, units);
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
    s->member[i].at = HDI_NONE;
    s->waiting[s->waiting_count++] = i;
}

/* The largest of those that wait. */
static uint32_t next_waiting(search *s)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < s->waiting_count; k++)
        best = s->member[s->waiting[k]].units > s->member[s->waiting[best]].units ? k : best;
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
    member *one = &s->member[i];
    for (uint32_t c = 0; weight && c < s->conflicts[i]; c++) {
        uint32_t j = s->by_low[i][c];
        member *other = &s->member[j];
        if (other->at >= place + one->units) /* as all behind it do, or it waits, as they do */
            break;
        if (place < other->at + other->units) {
            other->worth += other->weight;
            take_out(s, j);
        }
    }
    one->at = place;
    one->stays = s->step + 1 + throw_dice(s) % 3;
    return true;
}

/* Everybody is placed: keeps that. Returns the top. */
static uint64_t keep(const search *s, uint64_t *offset)
{
    uint64_t top = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const member *m = &s->member[i];
        offset[s->res[i]] = (uint64_t)m->at * HDI_PACK_UNIT;
        top = m->at + m->units > top ? m->at + m->units : top;
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
            const member *m = &s.member[i];
            if (m->at != HDI_NONE && m->at + m->units > s.cap)
                take_out(&s, i);
            if (m->units > s.cap) /* no lower than these, so that one waits for ever */
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
