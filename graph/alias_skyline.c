#include "alias_pack.h"

#include <string.h>

/* The packer for heaps that are full most of the time: a skyline over pieces of time (alias_runs.c). Its lowest stretch
 * gets somebody who lives within it: of those who are alive when the most is, who reaches from one end to the other,
 * else who stands at one end, and of these the largest. Where nobody fits, the stretch rises to the lower of its
 * neighbours and is lost. So the times at which nothing may be lost are filled first and without gaps, and resources
 * lie side by side in time before anything lies on top of them, where an order by size leaves gaps that nobody else has
 * the life for. The idea is the best fit of Burke, Kendall and Whitwell for cutting strips; that the load comes before
 * the fit brought random frames from 3 % above the least to 1 %. What is placed already hangs over the skyline; whoever
 * does not fit below it comes above it.
 *
 * Stretches are known by their first and their last piece, and the lowest one is the winner of a tournament between
 * all. How well somebody fills a stretch is one number: the load, then the ends that it stands at, then the size.
 * O(resources * (lists in a stretch + log(pieces))). */

enum { ENDS_BIT = 31, LOAD_BIT = 33 }; /* of worth: below, units + 1 */
#define AN_END ((int64_t)1 << ENDS_BIT)
#define MOST_LOAD (((uint32_t)1 << 30) - 1)

typedef struct item {
    uint64_t key; /* the last piece of time, and UINT32_MAX less units: by it the earlier end first, then the larger */
    uint32_t alignment, res;
} item;

/* Those that start in one piece and end in another, and are not placed: the largest first. Behind those that start in
 * one piece stands one that ends behind all pieces. */
typedef struct list {
    int64_t
        worth; /* the most that is alive meanwhile, or 0; no ends; the size of the first. Negative: nobody is left */
    uint32_t first, last; /* pieces */
    uint32_t next, end;   /* in item */
} list;

typedef struct run {
    uint32_t begin, end; /* HDI_PACK_UNITs */
} run;

typedef struct work {
    item *item;
    list *list;
    uint32_t *list_begin;      /* by piece: those that start there, by their ends */
    uint32_t *by_end;          /* resources, as long as they are sorted */
    int64_t *most;             /* by piece: the largest worth of them */
    uint32_t *height, *across; /* the skyline, at the first and last piece of each stretch; the other one of these */
    uint64_t *lowest;          /* a heap-like tree over leaves, by piece: height and piece where a stretch begins */
    run *hanging;              /* by piece and offset: what is placed already; null: nothing */
    uint32_t *above, *hanging_end;   /* by piece: the next one above the skyline */
    uint32_t *ceiling;               /* where that begins, or UINT32_MAX */
    uint32_t clear_begin, clear_end; /* pieces in a row, over which nothing hangs */
    uint32_t pieces, leaves, levels;
} work;

typedef struct stretch {
    uint32_t begin, last, height, ceiling;
} stretch;

static item item_of(const hdi_pack *pack, uint32_t res)
{
    const hd_memory_need *need = &pack->sizes->need[res];
    uint32_t alignment = need->alignment > HDI_PACK_UNIT ? (uint32_t)(need->alignment / HDI_PACK_UNIT) : 1;
    uint64_t last = pack->piece_of[pack->end[res] - pack->slot_begin];
    return (item){last << 32 | (UINT32_MAX - (uint32_t)hdi_pack_units(need->bytes)), alignment, res};
}

static uint32_t units_of(const item *one)
{
    return UINT32_MAX - (uint32_t)one->key;
}

static uint32_t last_of(const item *one)
{
    return (uint32_t)(one->key >> 32);
}

/* Counts that end as where those of each piece begin. */
static void sum_up(uint32_t *count, uint32_t pieces)
{
    uint32_t sum = 0;
    for (uint32_t p = 0; p < pieces; p++) {
        uint32_t here = count[p];
        count[p] = sum;
        sum += here;
    }
}

/* From the largest to the smallest they are sorted by counting: by where they end, and then by where they start. */
static void sort_items(work *w, const hdi_pack *pack, const uint32_t *by_size, uint32_t count, uint32_t *starts)
{
    const uint32_t *piece_of = pack->piece_of, *res_first = pack->lifetimes->res_first, *res_end = pack->end;
    uint32_t slot = pack->slot_begin, *ends = w->height, *by_end = w->by_end; /* heights are not used yet */
    memset(starts, 0, w->pieces * sizeof(*starts));
    memset(ends, 0, w->pieces * sizeof(*ends));
    for (uint32_t i = 0; i < count; i++) {
        starts[piece_of[res_first[by_size[i]] - slot]]++;
        ends[piece_of[res_end[by_size[i]] - slot]]++;
    }
    sum_up(starts, w->pieces);
    sum_up(ends, w->pieces);
    for (uint32_t i = 0; i < count; i++)
        by_end[ends[piece_of[res_end[by_size[i]] - slot]]++] = by_size[i];
    for (uint32_t i = 0; i < count; i++)
        w->item[starts[piece_of[res_first[by_end[i]] - slot]]++] = item_of(pack, by_end[i]);
}

static void make_lists(work *w, const hdi_pack *pack, const uint32_t *by_size, uint32_t count)
{
    uint32_t lists = 0, *behind = w->across; /* of those that start in a piece; not used yet either */
    sort_items(w, pack, by_size, count, behind);
    for (uint32_t p = 0, i = 0, k; p < w->pieces; p++) {
        w->list[lists].last = UINT32_MAX;
        w->list_begin[p] = ++lists;
        for (; i < behind[p]; i = k) {
            uint32_t last = last_of(&w->item[i]);
            for (k = i + 1; k < behind[p] && last_of(&w->item[k]) == last;)
                k++;
            w->list[lists++] = (list){units_of(&w->item[i]) + (int64_t)1, p, last, i, k};
        }
    }
    w->list[lists].last = UINT32_MAX;
}

static void find_most(work *w, uint32_t piece)
{
    int64_t most = 0;
    for (const list *of = &w->list[w->list_begin[piece]]; of->last != UINT32_MAX; of++)
        most = of->worth > most ? of->worth : most;
    w->most[piece] = most;
}

static void find_load(work *w)
{
    uint32_t *live = w->height, sum = 0; /* not used yet */
    memset(live, 0, w->pieces * sizeof(*live));
    for (uint32_t p = 0; p < w->pieces; p++) {
        for (uint32_t k = w->list_begin[p]; w->list[k].last != UINT32_MAX; k++) {
            uint32_t units = 0;
            for (uint32_t i = w->list[k].next; i < w->list[k].end; i++)
                units += units_of(&w->item[i]);
            live[p] += units;
            if (w->list[k].last + 1 < w->pieces)
                live[w->list[k].last + 1] -= units; /* unsigned wrap is undone by the running sum */
        }
    }
    for (uint32_t p = 0; p < w->pieces; p++)
        live[p] = sum += live[p];
    for (uint32_t p = 0; p < w->pieces; p++) {
        uint32_t most = 0, upto = p;
        for (uint32_t k = w->list_begin[p]; w->list[k].last != UINT32_MAX; k++) {
            for (; upto <= w->list[k].last; upto++)
                most = live[upto] > most ? live[upto] : most;
            w->list[k].worth += (int64_t)(most < MOST_LOAD ? most : MOST_LOAD) << LOAD_BIT;
        }
    }
}

/* A tree over leaves of which each is over two: the lowest stretch, of several the first. Always up to the top: nobody
 * could foretell where nothing changes any more. */
static void set_leaf(work *w, uint32_t piece, uint64_t to)
{
    uint64_t *tree = w->lowest;
    size_t at = (size_t)w->leaves + piece;
    tree[at] = to;
    for (uint32_t level = w->levels; level > 0; level--) {
        uint64_t beside = tree[at ^ 1];
        at >>= 1;
        to = beside < to ? beside : to;
        tree[at] = to;
    }
}

static inline void set_ends(work *w, uint32_t begin, uint32_t last, uint32_t height)
{
    w->height[begin] = w->height[last] = height;
    w->across[begin] = last;
    w->across[last] = begin;
}

static void set_stretch(work *w, uint32_t begin, uint32_t last, uint32_t height)
{
    set_ends(w, begin, last, height);
    set_leaf(w, begin, (uint64_t)height << 32 | begin);
}

/* Pieces of a stretch get another height, the rest of it stays. Neighbours of the same height become one stretch. */
static void set_height(work *w, const stretch *s, uint32_t begin, uint32_t last, uint32_t height)
{
    if (height == s->height)
        return;
    if (last < s->last) {
        set_stretch(w, last + 1, s->last, s->height);
    } else if (last + 1 < w->pieces && w->height[last + 1] == height) {
        set_leaf(w, last + 1, UINT64_MAX);
        last = w->across[last + 1];
    }
    if (begin > s->begin) {
        set_ends(w, s->begin, begin - 1, s->height);
    } else if (begin && w->height[begin - 1] == height) {
        set_leaf(w, begin, UINT64_MAX);
        set_ends(w, w->across[begin - 1], last, height);
        return;
    }
    set_stretch(w, begin, last, height);
}

static void find_ceiling(const work *w, stretch *s)
{
    uint32_t ceiling = UINT32_MAX;
    for (uint32_t p = s->begin; w->hanging && p <= s->last; p++) {
        if (p >= w->clear_begin && p < w->clear_end)
            p = w->clear_end;
        if (p <= s->last)
            ceiling = w->ceiling[p] < ceiling ? w->ceiling[p] : ceiling;
    }
    s->ceiling = ceiling;
}

static stretch find_lowest(const work *w)
{
    uint32_t begin = (uint32_t)w->lowest[1];
    stretch s = {begin, w->across[begin], (uint32_t)(w->lowest[1] >> 32), UINT32_MAX};
    find_ceiling(w, &s);
    return s;
}

static bool fits_below(const item *one, const stretch *s)
{
    uint64_t at = (s->height + (uint64_t)one->alignment - 1) & ~((uint64_t)one->alignment - 1);
    return at + units_of(one) <= s->ceiling;
}

/* The first of a list that fits below what hangs there; its end: nobody. */
static uint32_t first_below(const work *w, const stretch *s, const list *of)
{
    uint32_t i = of->next;
    while (i < of->end && !fits_below(&w->item[i], s))
        i++;
    return i;
}

/* One of a list is gone. */
static void take_off(work *w, list *of, uint32_t i)
{
    int64_t before = of->worth;
    for (; i > of->next; i--)
        w->item[i] = w->item[i - 1];
    of->worth =
        ++of->next < of->end ? (before & -((int64_t)1 << LOAD_BIT)) + units_of(&w->item[of->next]) + 1 : INT64_MIN / 2;
    if (w->most[of->first] == before)
        find_most(w, of->first);
}

/* The list with whom fills the stretch best; null: nobody. `most` is what has been found so far. Lists with a negative
 * worth never win. */
static list *best_of_piece(const work *w, const stretch *s, uint32_t piece, int64_t ends, list *best, int64_t *most)
{
    int64_t found = *most;
    for (list *of = &w->list[w->list_begin[piece]]; of->last <= s->last; of++) {
        int64_t worth = of->worth + ends + (of->last == s->last ? AN_END : 0);
        best = worth > found ? of : best;
        found = worth > found ? worth : found;
    }
    *most = found;
    return best;
}

/* The same below a ceiling. */
static list *best_below(const work *w, const stretch *s, uint32_t piece, int64_t ends, list *best, int64_t *most,
                        uint32_t *best_item)
{
    for (list *of = &w->list[w->list_begin[piece]]; of->last <= s->last; of++) {
        int64_t worth = of->worth + ends + (of->last == s->last ? AN_END : 0);
        uint32_t i = worth > *most ? first_below(w, s, of) : of->end;
        if (i == of->end)
            continue;
        worth -= units_of(&w->item[of->next]) - units_of(&w->item[i]);
        if (worth <= *most)
            continue;
        *most = worth;
        *best_item = i;
        best = of;
    }
    return best;
}

/* Takes who fills the stretch best off its list. *start: where it begins. */
static bool choose(work *w, const stretch *s, item *out, uint32_t *start)
{
    list *best = NULL;
    uint32_t i = 0;
    int64_t most = 0, ends = AN_END, bar = 0; /* bar: no piece with so little can have somebody better */
    bool below = s->ceiling != UINT32_MAX;
    for (uint32_t p = s->begin; p <= s->last; p++, ends = 0) {
        if (w->most[p] <= bar)
            continue;
        best = below ? best_below(w, s, p, ends, best, &most, &i) : best_of_piece(w, s, p, ends, best, &most);
        bar = most > AN_END ? most - AN_END : 0;
    }
    if (!best)
        return false;
    i = below ? i : best->next;
    *out = w->item[i];
    *start = best->first;
    take_off(w, best, i);
    return true;
}

/* What nobody fits into is lost: up to the lower neighbour, or to the top of what hangs lowest. */
static void rise(work *w, const stretch *s)
{
    uint32_t before = s->begin ? w->height[s->begin - 1] : UINT32_MAX;
    uint32_t behind = s->last + 1 < w->pieces ? w->height[s->last + 1] : UINT32_MAX;
    uint32_t to = before < behind ? before : behind;
    if (to < s->ceiling) {
        set_height(w, s, s->begin, s->last, to);
        return;
    }
    stretch left = *s;
    for (uint32_t p = s->begin; p <= s->last; p++) {
        if (w->ceiling[p] != s->ceiling)
            continue;
        uint32_t height = w->hanging[w->above[p]++].end;
        w->ceiling[p] = w->above[p] < w->hanging_end[p] ? w->hanging[w->above[p]].begin : UINT32_MAX;
        set_height(w, &left, p, p, height);
        left.begin = height == s->height ? left.begin : p + 1;
    }
}

/* What is placed, by the pieces in which it is alive. Returns the top of it; HDI_NONE: out of memory. */
static uint32_t hang(work *w, const hdi_pack *pack)
{
    size_t total = 0;
    uint32_t top = 0, *end = w->hanging_end;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < pack->placed_count; i++) {
            uint32_t res = pack->placed[i], last = pack->piece_of[hdi_pack_slot(pack, pack->end[res])];
            uint64_t begin = pack->placed_offset[res] / HDI_PACK_UNIT;
            run one = {(uint32_t)begin, (uint32_t)(begin + hdi_pack_units(pack->sizes->need[res].bytes))};
            top = one.end > top ? one.end : top;
            for (uint32_t p = pack->piece_of[hdi_pack_slot(pack, pack->lifetimes->res_first[res])]; p <= last; p++) {
                uint32_t at = end[p]++;
                for (; fill && at > w->above[p] && w->hanging[at - 1].begin > one.begin; at--)
                    w->hanging[at] = w->hanging[at - 1];
                if (fill)
                    w->hanging[at] = one;
            }
        }
        for (uint32_t p = 0; !fill && p < w->pieces; p++) {
            uint32_t count = end[p];
            w->above[p] = end[p] = (uint32_t)total;
            total += count;
        }
        if (!fill)
            w->hanging = HDI_ARENA_ARRAY(pack->arena, run, total + 1);
        if (!w->hanging)
            return HDI_NONE;
    }
    return top;
}

/* Whether numbers of 32 bits hold them, and what may come out. */
static bool are_small(const hdi_pack *pack, const uint32_t *res, uint32_t count, uint64_t most)
{
    for (uint32_t i = 0; i < count; i++) {
        if (hdi_pack_units(pack->sizes->need[res[i]].bytes) + pack->sizes->need[res[i]].alignment / HDI_PACK_UNIT >=
            most)
            return false;
    }
    return true;
}

/* *highest: the top of what is placed already. False: out of memory. */
static bool set_up(work *w, const hdi_pack *pack, const uint32_t *by_size, uint32_t count, bool by_load,
                   uint32_t *highest)
{
    size_t pieces = w->pieces;
    for (w->leaves = 1; w->leaves < pieces; w->levels++)
        w->leaves *= 2;
    w->item = HDI_ARENA_ARRAY(pack->arena, item, count);
    w->list = HDI_ARENA_ARRAY(pack->arena, list, count + pieces + 1);
    w->list_begin = HDI_ARENA_ARRAY(pack->arena, uint32_t, pieces);
    w->by_end = HDI_ARENA_ARRAY(pack->arena, uint32_t, count);
    w->most = HDI_ARENA_ARRAY(pack->arena, int64_t, pieces);
    w->height = HDI_ARENA_ARRAY(pack->arena, uint32_t, pieces);
    w->across = HDI_ARENA_ARRAY(pack->arena, uint32_t, pieces);
    w->lowest = HDI_ARENA_ARRAY(pack->arena, uint64_t, 2 * (size_t)w->leaves);
    if (pack->arena->failed)
        return false;
    make_lists(w, pack, by_size, count);
    if (by_load)
        find_load(w);
    for (uint32_t p = 0; p < w->pieces; p++)
        find_most(w, p);
    memset(w->lowest, 0xff, 2 * (size_t)w->leaves * sizeof(*w->lowest));
    set_stretch(w, 0, w->pieces - 1, 0);
    if (!pack->placed_count)
        return true;
    w->above = HDI_ARENA_ARRAY(pack->arena, uint32_t, pieces);
    w->hanging_end = HDI_ARENA_ZEROED(pack->arena, uint32_t, pieces);
    w->ceiling = HDI_ARENA_ARRAY(pack->arena, uint32_t, pieces);
    if (pack->arena->failed || (*highest = hang(w, pack)) == HDI_NONE)
        return false;
    for (uint32_t p = 0, begin = 0; p < w->pieces; p++) {
        bool clear = w->above[p] == w->hanging_end[p];
        w->ceiling[p] = clear ? UINT32_MAX : w->hanging[w->above[p]].begin;
        begin = clear ? begin : p + 1;
        if (p + 1 - begin > w->clear_end - w->clear_begin) {
            w->clear_begin = begin;
            w->clear_end = p + 1;
        }
    }
    return true;
}

bool hdi_pack_skyline(hdi_pack *pack, const uint32_t *by_size, uint32_t count, bool by_load, uint64_t *offset,
                      uint64_t *top)
{
    uint64_t most = *top / HDI_PACK_UNIT;
    most = most < UINT32_MAX / 2 ? most : UINT32_MAX / 2; /* a terabyte */
    *top = UINT64_MAX;
    if (!are_small(pack, by_size, count, most) || !hdi_pack_cuts_time(pack, by_size, count))
        return !pack->arena->failed;
    work w = {.pieces = pack->piece_count};
    uint32_t highest = 0, start = 0;
    if (!set_up(&w, pack, by_size, count, by_load, &highest))
        return false;
    stretch s = find_lowest(&w);
    for (uint32_t left = count; left;) {
        item one;
        if (!choose(&w, &s, &one, &start)) {
            rise(&w, &s);
            s = find_lowest(&w);
            continue;
        }
        uint64_t at = (s.height + (uint64_t)one.alignment - 1) & ~((uint64_t)one.alignment - 1),
                 above = at + units_of(&one);
        uint32_t last = last_of(&one);
        if (above >= most) /* no better than what there is */
            return true;
        offset[one.res] = at * HDI_PACK_UNIT;
        set_height(&w, &s, start, last, (uint32_t)above);
        highest = above > highest ? (uint32_t)above : highest;
        left--;
        /* What is left of the stretch is the lowest still. */
        if (above == s.height)
            continue;
        if (start == s.begin && last == s.last) {
            s = find_lowest(&w);
            continue;
        }
        if (start > s.begin)
            s.last = start - 1;
        else
            s.begin = last + 1;
        if (s.ceiling != UINT32_MAX)
            find_ceiling(&w, &s);
    }
    *top = (uint64_t)highest * HDI_PACK_UNIT;
    return true;
}
