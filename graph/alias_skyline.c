#include "alias_pack.h"

#include <string.h>

/* The packer for heaps that are full most of the time: a skyline over pieces of time (alias_runs.c). Its lowest stretch
 * gets somebody who lives within it: of those who are alive when the most is, who reaches from one end to the other,
 * else who stands at one end, and of these the largest. Where nobody fits, the stretch rises to the lower of its
 * neighbours and is lost. So the times at which nothing may be lost are filled first and without gaps, and resources
 * lie side by side in time before anything lies on top of them, where an order by size leaves gaps that nobody else has
 * the life for. The idea is the best fit of Burke, Kendall and Whitwell for cutting strips; that the load comes before
 * the fit brought random frames from 3 % above the least to 1 %. What is placed already hangs over the skyline; whoever
 * does not fit below it comes above it. O(resources * (lists in a stretch + pieces / BLOCK)). */

enum { BLOCK = 16 };

typedef struct item {
    uint32_t units, alignment, last, res; /* last: a piece of time */
} item;

/* Those that start in one piece and end in another, and are not placed: the largest first. */
typedef struct list {
    uint32_t last, load; /* load: the most that is alive meanwhile, or 0 */
    uint32_t next, end;  /* in item */
} list;

typedef struct run {
    uint32_t begin, end; /* HDI_PACK_UNITs */
} run;

typedef struct work {
    item *item;
    list *list;
    uint32_t *list_begin;          /* by piece, + 1: those that start there, by their ends */
    uint32_t *most;                /* by piece: the largest load of them, more by 1; 0: they are empty */
    uint32_t *height;              /* the skyline by piece */
    uint32_t *lowest;              /* of each block of pieces */
    run *hanging;                  /* by piece and offset: what is placed already; null: nothing */
    uint32_t *above, *hanging_end; /* by piece: the next one above the skyline */
    uint32_t pieces;
} work;

typedef struct stretch {
    uint32_t begin, last, height, ceiling;
} stretch;

static item item_of(const hdi_pack *pack, uint32_t res)
{
    const hd_memory_need *need = &pack->sizes->need[res];
    uint32_t alignment = need->alignment > HDI_PACK_UNIT ? (uint32_t)(need->alignment / HDI_PACK_UNIT) : 1;
    return (item){(uint32_t)hdi_pack_units(need->bytes), alignment, pack->piece_of[pack->end[res] - pack->slot_begin],
                  res};
}

/* The earlier end first, then the larger. */
static uint64_t key_of(const item *one)
{
    return (uint64_t)one->last << 32 | (UINT32_MAX - one->units);
}

/* Resources come by first use, so those that start in one piece stand together. */
static void make_lists(work *w, const hdi_pack *pack, const uint32_t *by_first, uint32_t count)
{
    uint32_t lists = 0, piece = 0;
    for (uint32_t first = 0, next; first < count; first = next) {
        uint32_t start = pack->piece_of[pack->lifetimes->res_first[by_first[first]] - pack->slot_begin];
        for (next = first; next < count; next++) {
            uint32_t res = by_first[next], at = next;
            if (pack->piece_of[pack->lifetimes->res_first[res] - pack->slot_begin] != start)
                break;
            item one = item_of(pack, res);
            for (uint64_t key = key_of(&one); at > first && key < key_of(&w->item[at - 1]); at--)
                w->item[at] = w->item[at - 1];
            w->item[at] = one;
        }
        while (piece <= start)
            w->list_begin[piece++] = lists;
        for (uint32_t i = first, k; i < next; i = k) {
            for (k = i; k < next && w->item[k].last == w->item[i].last;)
                k++;
            w->list[lists++] = (list){w->item[i].last, 0, i, k};
        }
    }
    while (piece <= w->pieces)
        w->list_begin[piece++] = lists;
}

static void find_most(work *w, uint32_t piece)
{
    uint32_t most = 0;
    for (uint32_t k = w->list_begin[piece]; k < w->list_begin[piece + 1]; k++) {
        if (w->list[k].next < w->list[k].end && w->list[k].load >= most)
            most = w->list[k].load + 1;
    }
    w->most[piece] = most;
}

static void find_load(work *w)
{
    uint32_t *live = w->height, sum = 0; /* not used yet */
    for (uint32_t p = 0; p < w->pieces; p++) {
        for (uint32_t k = w->list_begin[p]; k < w->list_begin[p + 1]; k++) {
            uint32_t units = 0;
            for (uint32_t i = w->list[k].next; i < w->list[k].end; i++)
                units += w->item[i].units;
            live[p] += units;
            if (w->list[k].last + 1 < w->pieces)
                live[w->list[k].last + 1] -= units; /* unsigned wrap is undone by the running sum */
        }
    }
    for (uint32_t p = 0; p < w->pieces; p++)
        live[p] = sum += live[p];
    for (uint32_t p = 0; p < w->pieces; p++) {
        uint32_t most = 0, upto = p;
        for (uint32_t k = w->list_begin[p]; k < w->list_begin[p + 1]; k++) {
            for (; upto <= w->list[k].last; upto++)
                most = live[upto] > most ? live[upto] : most;
            w->list[k].load = most < INT32_MAX ? most : INT32_MAX;
        }
    }
    memset(live, 0, w->pieces * sizeof(*live));
}

/* Sets the skyline over some pieces. */
static void set_height(work *w, uint32_t begin, uint32_t last, uint32_t height)
{
    for (uint32_t p = begin; p <= last; p++)
        w->height[p] = height;
    for (uint32_t b = begin / BLOCK; b <= last / BLOCK; b++) {
        const int32_t *of = (const int32_t *)w->height + (size_t)b * BLOCK; /* signed: compared four at a time */
        int32_t lowest = INT32_MAX;
        for (uint32_t p = 0; p < BLOCK; p++)
            lowest = of[p] < lowest ? of[p] : lowest;
        w->lowest[b] = (uint32_t)lowest;
    }
}

static uint32_t ceiling_of(const work *w, uint32_t piece)
{
    return w->above[piece] < w->hanging_end[piece] ? w->hanging[w->above[piece]].begin : UINT32_MAX;
}

static stretch find_lowest(const work *w)
{
    uint32_t block = 0, blocks = (w->pieces + BLOCK - 1) / BLOCK;
    for (uint32_t b = 1; b < blocks; b++)
        block = w->lowest[b] < w->lowest[block] ? b : block;
    stretch s = {.begin = block * BLOCK, .height = w->lowest[block], .ceiling = UINT32_MAX};
    while (w->height[s.begin] != s.height)
        s.begin++;
    for (s.last = s.begin; s.last + 1 < w->pieces && w->height[s.last + 1] == s.height;)
        s.last++;
    for (uint32_t p = s.begin; w->hanging && p <= s.last; p++)
        s.ceiling = ceiling_of(w, p) < s.ceiling ? ceiling_of(w, p) : s.ceiling;
    return s;
}

static bool fits_below(const item *one, const stretch *s)
{
    uint64_t at = (s->height + (uint64_t)one->alignment - 1) & ~((uint64_t)one->alignment - 1);
    return at + one->units <= s->ceiling;
}

/* The first of a list that fits below what hangs there; its end: nobody. */
static uint32_t first_below(const work *w, const stretch *s, const list *of)
{
    uint32_t i = of->next;
    while (i < of->end && !fits_below(&w->item[i], s))
        i++;
    return i;
}

/* Takes who fills the stretch best off its list. *start: where it begins. */
static bool choose(work *w, const stretch *s, item *out, uint32_t *start)
{
    list *best = NULL;
    uint32_t best_item = 0, load = 0, units = 0, edges = 0;
    for (uint32_t p = s->begin; p <= s->last; p++) {
        if (w->most[p] <= load)
            continue;
        for (list *of = &w->list[w->list_begin[p]], *end = &w->list[w->list_begin[p + 1]]; of < end; of++) {
            if (of->last > s->last)
                break;
            if (of->next == of->end || of->load < load)
                continue;
            uint32_t i = s->ceiling == UINT32_MAX ? of->next : first_below(w, s, of);
            uint32_t at_edges = (p == s->begin) + (of->last == s->last);
            if (i == of->end ||
                (best && of->load == load && (at_edges < edges || (at_edges == edges && w->item[i].units <= units))))
                continue;
            best = of;
            best_item = i;
            load = of->load;
            edges = at_edges;
            units = w->item[i].units;
            *start = p;
        }
    }
    if (!best)
        return false;
    *out = w->item[best_item];
    for (; best_item > best->next; best_item--)
        w->item[best_item] = w->item[best_item - 1];
    if (++best->next == best->end)
        find_most(w, *start);
    return true;
}

/* What nobody fits into is lost: up to the lower neighbour, or to the top of what hangs lowest. */
static void rise(work *w, const stretch *s)
{
    uint32_t before = s->begin ? w->height[s->begin - 1] : UINT32_MAX;
    uint32_t behind = s->last + 1 < w->pieces ? w->height[s->last + 1] : UINT32_MAX;
    uint32_t to = before < behind ? before : behind;
    if (to < s->ceiling) {
        set_height(w, s->begin, s->last, to);
        return;
    }
    for (uint32_t p = s->begin; p <= s->last; p++) {
        if (ceiling_of(w, p) == s->ceiling)
            set_height(w, p, p, w->hanging[w->above[p]++].end);
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

bool hdi_pack_skyline(hdi_pack *pack, const uint32_t *by_first, uint32_t count, bool by_load, uint64_t *offset,
                      uint64_t *top)
{
    uint64_t most = *top / HDI_PACK_UNIT;
    most = most < UINT32_MAX / 2 ? most : UINT32_MAX / 2; /* a terabyte */
    *top = UINT64_MAX;
    if (!are_small(pack, by_first, count, most) || !hdi_pack_cuts_time(pack, by_first, count))
        return !pack->arena->failed;
    size_t pieces = pack->piece_count, blocks = (pieces + BLOCK - 1) / BLOCK;
    work w = {.pieces = pack->piece_count};
    w.item = HDI_ARENA_ARRAY(pack->arena, item, count);
    w.list = HDI_ARENA_ARRAY(pack->arena, list, count);
    w.list_begin = HDI_ARENA_ARRAY(pack->arena, uint32_t, pieces + 1);
    w.most = HDI_ARENA_ARRAY(pack->arena, uint32_t, pieces);
    w.height = HDI_ARENA_ZEROED(pack->arena, uint32_t, blocks * BLOCK);
    w.lowest = HDI_ARENA_ZEROED(pack->arena, uint32_t, blocks);
    if (pack->arena->failed)
        return false;
    make_lists(&w, pack, by_first, count);
    if (by_load)
        find_load(&w);
    for (uint32_t p = 0; p < w.pieces; p++)
        find_most(&w, p);
    for (size_t p = pieces; p < blocks * BLOCK; p++)
        w.height[p] = INT32_MAX;
    uint32_t highest = 0, start = 0;
    if (pack->placed_count) {
        w.above = HDI_ARENA_ARRAY(pack->arena, uint32_t, pieces);
        w.hanging_end = HDI_ARENA_ZEROED(pack->arena, uint32_t, pieces);
        if (pack->arena->failed || (highest = hang(&w, pack)) == HDI_NONE)
            return false;
    }
    stretch s = find_lowest(&w);
    for (uint32_t left = count; left;) {
        item one;
        if (!choose(&w, &s, &one, &start)) {
            rise(&w, &s);
            s = find_lowest(&w);
            continue;
        }
        uint64_t at = (s.height + (uint64_t)one.alignment - 1) & ~((uint64_t)one.alignment - 1), above = at + one.units;
        if (above >= most) /* no better than what there is */
            return true;
        offset[one.res] = at * HDI_PACK_UNIT;
        set_height(&w, start, one.last, (uint32_t)above);
        highest = above > highest ? (uint32_t)above : highest;
        left--;
        /* What is left of the stretch is the lowest still. */
        if (above == s.height || (start == s.begin && one.last == s.last) || w.hanging)
            s = find_lowest(&w);
        else if (start > s.begin)
            s.last = start - 1;
        else
            s.begin = one.last + 1;
    }
    *top = (uint64_t)highest * HDI_PACK_UNIT;
    return true;
}
