#include "alias_skyline.h"

#include <string.h>

#include "alias_skyline_rows.h"

/* The packer for heaps that are full most of the time: a skyline over pieces of time (alias_runs.c). A stretch of it
 * that is lower than both its neighbours gets somebody who lives within it: who ends as high as a neighbour, so that
 * they become one stretch, who is alive in its critical piece, in which the most is left to be placed, who stands at an
 * end, and who is large and lives long; what each of these is worth was found by trial of frames, as weights of a sum.
 * Where nobody fits, the stretch rises to the lower of its neighbours and is lost. So the times at which nothing may be
 * lost are filled first and without gaps, and resources lie side by side in time before anything lies on top of them,
 * where an order by size leaves gaps that nobody else has the life for. The idea is the best fit of Burke, Kendall and
 * Whitwell for cutting strips, with levels that fit as Leung, Zhang and Sim score them; that the most that is left
 * comes before the fit (and not the most that is alive) brought random frames from 3.8 % above the least to 3.1. What
 * is placed already hangs over the skyline, and is left to be passed; whoever does not fit below it comes above it.
 *
 * Valleys have nothing to do with one another, as who fits into one fits into no other: so they are filled one by one,
 * each up to its rim, and nobody looks for the lowest of all. Those that live in the same pieces are a list, the
 * largest first, and small ones of it lie on one another for good, as a block. How well a list fills a stretch is a
 * number of 16 bits; numbers of all lists that start in a stretch stand in a row and are compared eight at a time,
 * without a branch that nobody could foretell, and so is what is left in pieces, in grains. Once a stretch rises so far
 * that what is left in its critical piece does not fit below a limit, nothing else is to be asked. O(members + blocks *
 * lists that start in a stretch). */

enum { NOBODY = INT16_MIN / 2 };      /* worth of an empty list, negative with all that comes to it */
enum { MOST_GRAINS = INT16_MAX / 2 }; /* alive at once, so that alignments have room */
enum { MOST_PIECES = INT16_MAX };     /* their numbers are of 16 bits, and lists behind all have the last */
enum { LANES = HDI_SKYLINE_LANES };

typedef hdi_block item;

typedef struct edge {
    uint32_t height, other; /* of a stretch, at its first and last piece: the other one of these */
} edge;

typedef struct run {
    uint32_t begin, end; /* HDI_PACK_UNITs */
} run;

/* Pieces from one to another of the same height; what of it lies in memory may be older. */
typedef struct stretch {
    uint32_t begin, last, height, ceiling;
    int16_t room; /* the fine size of what is left below the ceiling: who is of a larger one does not fit */
    int16_t left, right, critical; /* grains up to its neighbours; the piece in which the most is left to be placed */
} stretch;

/* What a list is worth beside its size, of which an eighth of a logarithm is 1; found by trial of random frames of 200,
 * 1000 and 2000 passes. To end level with the neighbour at the left is worth more than all the rest together; at the
 * right it is worth about as much as the critical piece. */
enum {
    LEFT_END = 32, /* to stand at an end of the stretch */
    RIGHT_END = 19,
    LEFT_LEVEL = 4000, /* there, to end as high as the neighbour */
    RIGHT_LEVEL = 61,
    CRITICAL = 67, /* to be alive in its critical piece */
    LENGTH = 4     /* for each doubling of the pieces */
};

/* Of a block: its size in eighths of a logarithm from the least that can be told, and grains. */
typedef struct measure {
    int16_t size, grains;
} measure;

/* How far a packing has come. */
typedef struct work {
    hdi_blocks b;
    int16_t *worth, *base; /* by list; no worth is below 0 where somebody is left */
    int16_t *grains;       /* by list: of the next one */
    int16_t *least;        /* by list, where anything hangs: the fine size of the smallest at first */
    int16_t *waiting;      /* by piece: grains that are still to be placed, or passed where they hang */
    uint32_t grain_shift;  /* from units to grains */
    measure *measure;      /* by block, and of the empty one behind them */
    uint32_t *next;        /* by list: in b.item */
    uint32_t *at;          /* by block: where it lies */
    edge *edge;            /* by piece; before the first and behind the last one stands another, above everything */
    stretch stretch;       /* the one to be filled */
    uint32_t left, highest;
    uint64_t steps;                /* hdi_pack */
    run *hanging;                  /* by piece and offset: what is placed already */
    uint32_t *above, *hanging_end; /* by piece: the next one above the skyline */
    uint32_t *ceiling;             /* where that begins, or UINT32_MAX */
    uint32_t ceilings;             /* pieces above whose skyline something hangs */
} work;

/* To the thousandth of a logarithm, in 16 bits. */
static inline int16_t fine_size_of(uint32_t units)
{
    return (int16_t)hdi_log_of(units, 10);
}

static inline int16_t grains_of(const work *w, uint32_t units)
{
    uint32_t grains = units >> w->grain_shift;
    return (int16_t)(grains < INT16_MAX ? grains : INT16_MAX);
}

static inline measure measure_of(const work *w, uint32_t units)
{
    int32_t size = hdi_log_of(units, HDI_SKYLINE_LOG_BITS) - w->b.least_log;
    return (measure){(int16_t)(size > 0 ? size : 0), grains_of(w, units)};
}

/* Where somebody lies who is placed. */
static run run_of(const hdi_pack *pack, uint32_t res)
{
    uint64_t begin = pack->placed_offset[res] / HDI_PACK_UNIT,
             end = begin + hdi_pack_units(pack->sizes->need[res].bytes);
    return (run){(uint32_t)(begin < HDI_SKYLINE_MOST_UNITS ? begin : HDI_SKYLINE_MOST_UNITS),
                 (uint32_t)(end < HDI_SKYLINE_MOST_UNITS ? end : HDI_SKYLINE_MOST_UNITS)};
}

/* False: out of memory. */
static bool measure_blocks(work *w, const hdi_pack *pack)
{
    uint32_t blocks = w->b.blocks;
    uint64_t most = 0;
    w->measure = HDI_ARENA_ARRAY(pack->arena, measure, (size_t)blocks + 1);
    if (!w->measure)
        return false;
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        run one = run_of(pack, pack->placed[i]);
        most = one.end > most ? one.end : most;
    }
    most += w->b.most_live;
    for (w->grain_shift = 0; most >> w->grain_shift > MOST_GRAINS;)
        w->grain_shift++;
    for (uint32_t i = 0; i < blocks; i++)
        w->measure[i] = measure_of(w, w->b.item[i].units);
    w->measure[blocks] = (measure){0, 0};
    return true;
}

/* Before anybody is placed. */
static void find_worth(work *w)
{
    uint32_t sum = 0, block = 0;
    for (uint32_t k = 0; k < w->b.lists; k++) {
        uint32_t first = (uint32_t)w->b.first[k], last = (uint32_t)w->b.last[k], all = 0;
        w->base[k] = (int16_t)(hdi_log_of(last - first + 1, HDI_SKYLINE_LOG_BITS) * LENGTH >> HDI_SKYLINE_LOG_BITS);
        w->worth[k] = (int16_t)(w->base[k] + w->measure[block].size);
        w->grains[k] = w->measure[block].grains;
        w->next[k] = block;
        for (; block < w->b.end[k]; block++)
            all += (uint32_t)w->measure[block].grains;
        w->waiting[first] = (int16_t)((uint32_t)w->waiting[first] + all); /* it may wrap, which sums undo */
        w->waiting[last + 1] = (int16_t)((uint32_t)w->waiting[last + 1] - all);
    }
    for (uint32_t k = w->b.lists; k < w->b.lists + LANES; k++) {
        w->worth[k] = NOBODY;
        w->grains[k] = 0;
    }
    for (uint32_t p = 0; p < w->b.pieces; p++)
        w->waiting[p] = (int16_t)(sum += (uint32_t)w->waiting[p]);
}

/* ---- who fills a stretch ---- */

typedef struct choice {
    int32_t worth; /* below 0: nobody */
    uint32_t list;
} choice;

/* What comes to a list's own worth, with its next one of so many grains. */
static HDI_INLINE int32_t worth_within(const work *w, uint32_t k, int16_t grains, const stretch *s)
{
    int32_t first = w->b.first[k], last = w->b.last[k], worth = 0;
    if (first == (int32_t)s->begin)
        worth += LEFT_END + (grains == s->left ? LEFT_LEVEL : 0);
    if (last == (int32_t)s->last)
        worth += RIGHT_END + (grains == s->right ? RIGHT_LEVEL : 0);
    return worth + (first <= s->critical && last >= s->critical ? CRITICAL : 0);
}

/* Of LANES lists from one on, and behind those of the stretch only of some that end later: who is worth the most, of
 * equal ones the first. As many at a time as most stretches have, since how many there are cannot be foretold. */
static HDI_INLINE choice best_of_lists(const work *w, uint32_t from, const stretch *s, bool hangs)
{
#ifdef __SSE2__
    enum { ROWS = LANES / 8 };
    const __m128i first = _mm_set1_epi16((int16_t)s->begin), last = _mm_set1_epi16((int16_t)s->last),
                  room = _mm_set1_epi16(hangs ? s->room : 0), left = _mm_set1_epi16(s->left),
                  right = _mm_set1_epi16(s->right), critical = _mm_set1_epi16(s->critical),
                  left_end = _mm_set1_epi16(LEFT_END), right_end = _mm_set1_epi16(RIGHT_END),
                  left_level = _mm_set1_epi16(LEFT_LEVEL), right_level = _mm_set1_epi16(RIGHT_LEVEL),
                  alive = _mm_set1_epi16(CRITICAL);
    __m128i worth[ROWS], most = _mm_set1_epi16(INT16_MIN);
    for (uint32_t k = 0; k < ROWS; k++) {
        __m128i begins = hdi_load_row(&w->b.first[from + 8 * k]), ends = hdi_load_row(&w->b.last[from + 8 * k]),
                grains = hdi_load_row(&w->grains[from + 8 * k]);
        __m128i to_left = _mm_add_epi16(left_end, _mm_and_si128(_mm_cmpeq_epi16(grains, left), left_level)),
                to_right = _mm_add_epi16(right_end, _mm_and_si128(_mm_cmpeq_epi16(grains, right), right_level)),
                other_time = _mm_or_si128(_mm_cmpgt_epi16(begins, critical), _mm_cmpgt_epi16(critical, ends));
        worth[k] = _mm_add_epi16(hdi_load_row(&w->worth[from + 8 * k]), _mm_andnot_si128(other_time, alive));
        worth[k] = _mm_add_epi16(worth[k], _mm_and_si128(_mm_cmpeq_epi16(begins, first), to_left));
        worth[k] = _mm_add_epi16(worth[k], _mm_and_si128(_mm_cmpeq_epi16(ends, last), to_right));
        __m128i outside = _mm_or_si128(_mm_cmpgt_epi16(first, begins), _mm_cmpgt_epi16(ends, last));
        worth[k] = _mm_or_si128(worth[k], outside); /* below 0, too */
        if (hangs)
            worth[k] = _mm_or_si128(worth[k], _mm_cmpgt_epi16(hdi_load_row(&w->least[from + 8 * k]), room));
        most = _mm_max_epi16(most, worth[k]);
    }
    most = hdi_largest_of(most);
    uint32_t where = 0;
    for (uint32_t k = 0; k < ROWS; k += 2) {
        __m128i low = _mm_cmpeq_epi16(worth[k], most), high = _mm_cmpeq_epi16(worth[k + 1], most);
        where |= (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) << (8 * k);
    }
    return (choice){(int16_t)_mm_extract_epi16(most, 0), from + (uint32_t)__builtin_ctz(where)};
#else
    choice best = {-1, from};
    for (uint32_t k = from; k < from + LANES; k++) {
        int32_t worth = w->worth[k] + worth_within(w, k, w->grains[k], s);
        bool within = (w->b.first[k] >= (int32_t)s->begin) & (w->b.last[k] <= (int32_t)s->last) &
                      !(hangs && w->least[k] > s->room);
        bool better = (worth > best.worth) & within;
        best = better ? (choice){worth, k} : best;
    }
    return best;
#endif
}

static HDI_INLINE choice best_of_stretch(const work *w, const stretch *s, bool hangs)
{
    uint32_t from = w->b.list_begin[s->begin] & ~7u, to = w->b.list_begin[s->last + 1];
    choice best = best_of_lists(w, from, s, hangs);
    while (HDI_UNLIKELY((from += LANES) < to)) {
        choice other = best_of_lists(w, from, s, hangs);
        best = other.worth > best.worth ? other : best;
    }
    return best;
}

static bool fits_below(const item *one, const stretch *s)
{
    return hdi_align_units(s->height, one->alignment) + one->units <= s->ceiling;
}

/* The same below a ceiling, where the first of a list may be too large. *at: which block. */
static HDI_APART choice best_below(const work *w, const stretch *s, uint32_t *at)
{
    choice best = {-1, 0};
    uint32_t room = s->ceiling - s->height;
    for (uint32_t k = w->b.list_begin[s->begin]; k < w->b.list_begin[s->last + 1]; k++) {
        if (w->b.last[k] > (int32_t)s->last || w->worth[k] < 0)
            continue;
        uint32_t i = w->next[k], end = w->b.end[k];
        if (w->b.item[end - 1].units > room) /* the smallest */
            continue;
        while (i < end && !fits_below(&w->b.item[i], s))
            i++;
        if (i == end)
            continue;
        measure own = w->measure[i];
        int32_t worth = w->base[k] + own.size + worth_within(w, k, own.grains, s);
        if (worth <= best.worth)
            continue;
        best = (choice){worth, k};
        *at = i;
    }
    return best;
}

/* One of a list is gone, who need not be the first. */
static HDI_INLINE item take_off(work *w, uint32_t list, uint32_t at, bool hangs)
{
    uint32_t begin = w->next[list], next = ++w->next[list];
    item one = w->b.item[at];
    measure own = w->measure[at];
    for (uint32_t i = at; hangs && i > begin; i--) {
        w->b.item[i] = w->b.item[i - 1];
        w->measure[i] = w->measure[i - 1];
    }
    int16_t worth = (int16_t)(w->base[list] + w->measure[next].size), left = (int16_t) - (next < w->b.end[list]);
    hdi_set_in_row(w->worth, list, (int16_t)((worth & left) | (NOBODY & ~left)));
    hdi_set_in_row(w->grains, list, w->measure[next].grains);
    hdi_subtract_within(w->waiting, one.first, one.last, own.grains);
    return one;
}

/* ---- the skyline ---- */

static HDI_INLINE void set_edges(work *w, uint32_t begin, uint32_t last, uint32_t height)
{
    w->edge[begin + 1] = (edge){height, last};
    w->edge[last + 1] = (edge){height, begin};
}

/* Of two numbers, by a mask: which one it is nobody could foretell, as a branch. */
static HDI_INLINE uint32_t choose(uint32_t mask, uint32_t one, uint32_t other)
{
    return other ^ ((one ^ other) & mask);
}

/* Goes on to a stretch that is lower than both its neighbours: with those of the same height it is one, to a lower one
 * it moves. */
static HDI_INLINE void settle(work *w, stretch *s)
{
    for (;;) {
        edge left = w->edge[s->begin], right = w->edge[s->last + 2];
        uint32_t is_left = -(uint32_t)(left.height <= right.height);
        HDI_HIDE(is_left);
        uint32_t height = choose(is_left, left.height, right.height), end = choose(is_left, left.other, right.other);
        if (height > s->height)
            return;
        set_edges(w, s->begin, s->last, s->height);
        uint32_t same = -(uint32_t)(height == s->height);
        uint32_t own = (s->last + 1 - s->begin) & same, begin = s->last + 1 - own, last = s->begin - 1 + own;
        *s = (stretch){.begin = choose(is_left, end, begin),
                       .last = choose(is_left, last, end),
                       .height = height,
                       .ceiling = s->ceiling};
    }
}

/* Pieces of the stretch are filled up to a height: goes on to the rest, which is the lowest still. */
static HDI_INLINE void fill(work *w, stretch *s, uint32_t begin, uint32_t last, uint32_t height)
{
    uint32_t before = -(uint32_t)(begin > s->begin), behind = -(uint32_t)(last < s->last), rest = before | behind;
    HDI_HIDE(rest);
    if (!rest) {
        s->height = height;
        settle(w, s);
        return;
    }
    set_edges(w, begin, last, height);
    uint32_t spare = w->b.pieces + 1;
    HDI_HIDE(before);
    HDI_HIDE(behind);
    set_edges(w, choose(behind, last + 1, spare), choose(behind, s->last, spare), s->height);
    s->begin = choose(before, s->begin, last + 1);
    s->last = choose(before, begin - 1, s->last);
}

static void find_ceiling(const work *w, stretch *s)
{
    uint32_t ceiling = UINT32_MAX;
    for (uint32_t p = s->begin; p <= s->last; p++) {
        if (p >= w->b.clear_begin && p < w->b.clear_end)
            p = w->b.clear_end;
        if (p <= s->last)
            ceiling = w->ceiling[p] < ceiling ? w->ceiling[p] : ceiling;
    }
    s->ceiling = ceiling;
    s->room = fine_size_of(ceiling - s->height);
}

static HDI_INLINE void look_around(const work *w, stretch *s)
{
    s->left = grains_of(w, w->edge[s->begin].height - s->height);
    s->right = grains_of(w, w->edge[s->last + 2].height - s->height);
    s->critical = (int16_t)hdi_find_largest(w->waiting, s->begin, s->last);
}

/* Up to the top of what hangs lowest, where that hangs. */
static HDI_APART void rise_through(work *w, stretch *s)
{
    stretch left = {.last = UINT32_MAX}; /* what stays */
    for (uint32_t p = s->begin, begin = p; p <= s->last; p++) {
        if (w->ceiling[p] != s->ceiling) {
            set_edges(w, begin, p, s->height);
            left = (stretch){.begin = begin, .last = p, .height = s->height};
            continue;
        }
        run passed = w->hanging[w->above[p]++];
        uint32_t height = passed.end;
        w->waiting[p] = (int16_t)(w->waiting[p] - grains_of(w, passed.end - passed.begin));
        w->ceiling[p] = w->above[p] < w->hanging_end[p] ? w->hanging[w->above[p]].begin : UINT32_MAX;
        w->ceilings -= w->ceiling[p] == UINT32_MAX;
        set_edges(w, p, p, height);
        begin = p + 1;
        left = left.last == UINT32_MAX ? (stretch){.begin = p, .last = p, .height = height} : left;
    }
    *s = left;
    settle(w, s);
}

static HDI_INLINE uint32_t rim_of(const work *w, const stretch *s)
{
    uint32_t before = w->edge[s->begin].height, behind = w->edge[s->last + 2].height;
    return before < behind ? before : behind;
}

/* What nobody fits into is lost: up to the lower neighbour. */
static HDI_INLINE void rise(work *w, stretch *s, bool hangs)
{
    uint32_t to = rim_of(w, s);
    if (hangs && to >= s->ceiling) {
        rise_through(w, s);
        return;
    }
    s->height = to;
    settle(w, s);
}

enum { FILLED, TOO_HIGH, CLEAR };

/* TOO_HIGH: it takes `most` or more. CLEAR: nothing hangs above the skyline any more. */
static HDI_INLINE int fill_all(work *w, uint64_t most, bool hangs)
{
    stretch s = w->stretch;
    while (w->left) {
        if (hangs && !w->ceilings) {
            w->stretch = s;
            return CLEAR;
        }
        if (hangs)
            find_ceiling(w, &s);
        look_around(w, &s);
        choice best = best_of_stretch(w, &s, hangs);
        w->steps += 16 + (w->b.list_begin[s.last + 1] - w->b.list_begin[s.begin]) / 2;
        if (best.worth < 0) {
            rise(w, &s, hangs);
            continue;
        }
        uint32_t at = w->next[best.list];
        if (hangs && !fits_below(&w->b.item[at], &s) && (best = best_below(w, &s, &at)).worth < 0) {
            rise(w, &s, hangs);
            continue;
        }
        uint32_t first = (uint32_t)w->b.first[best.list], last = (uint32_t)w->b.last[best.list];
        item one = take_off(w, best.list, at, hangs);
        uint64_t begin = hdi_align_units(s.height, one.alignment), end = begin + one.units;
        if (end >= most)
            return TOO_HIGH;
        w->at[one.id] = (uint32_t)begin;
        w->highest = end > w->highest ? (uint32_t)end : w->highest;
        fill(w, &s, first, last, (uint32_t)end);
        w->left--;
    }
    return FILLED;
}

/* What is placed, by the pieces in which it is alive. Returns the top of it; HDI_NONE: out of memory. */
static uint32_t hang(work *w, const hdi_pack *pack)
{
    size_t total = 0;
    uint32_t top = 0, *end = w->hanging_end;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < pack->placed_count; i++) {
            uint32_t res = pack->placed[i], last = pack->piece_of[hdi_pack_slot(pack, pack->end[res])];
            run one = run_of(pack, res);
            top = one.end > top ? one.end : top;
            for (uint32_t p = pack->piece_of[hdi_pack_slot(pack, pack->lifetimes->res_first[res])]; p <= last; p++) {
                uint32_t at = end[p]++;
                for (; fill && at > w->above[p] && w->hanging[at - 1].begin > one.begin; at--)
                    w->hanging[at] = w->hanging[at - 1];
                if (fill)
                    w->hanging[at] = one;
                else
                    w->waiting[p] = (int16_t)(w->waiting[p] + grains_of(w, one.end - one.begin));
            }
        }
        for (uint32_t p = 0; !fill && p < w->b.pieces; p++) {
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

static bool hang_all(work *w, const hdi_pack *pack)
{
    w->above = HDI_ARENA_ARRAY(pack->arena, uint32_t, w->b.pieces);
    w->hanging_end = HDI_ARENA_ZEROED(pack->arena, uint32_t, w->b.pieces);
    w->ceiling = HDI_ARENA_ARRAY(pack->arena, uint32_t, w->b.pieces);
    if (pack->arena->failed || (w->highest = hang(w, pack)) == HDI_NONE)
        return false;
    for (uint32_t p = 0; p < w->b.pieces; p++) {
        bool clear = w->above[p] == w->hanging_end[p];
        w->ceiling[p] = clear ? UINT32_MAX : w->hanging[w->above[p]].begin;
        w->ceilings += !clear;
    }
    return true;
}

/* From the ground. False: out of memory. */
static bool start(work *w, const hdi_pack *pack)
{
    hdi_arena *arena = pack->arena;
    size_t pieces = w->b.pieces, lists = w->b.lists;
    w->at = HDI_ARENA_ARRAY(arena, uint32_t, w->b.blocks);
    w->next = HDI_ARENA_ARRAY(arena, uint32_t, lists);
    w->worth = HDI_ARENA_ARRAY(arena, int16_t, lists + LANES);
    w->base = HDI_ARENA_ARRAY(arena, int16_t, lists);
    w->grains = HDI_ARENA_ARRAY(arena, int16_t, lists + LANES);
    w->waiting = HDI_ARENA_ZEROED(arena, int16_t, pieces + HDI_ROW);
    w->edge = HDI_ARENA_ARRAY(arena, edge, pieces + 3);
    if (arena->failed)
        return false;
    w->edge[0] = w->edge[pieces + 1] = (edge){UINT32_MAX, 0};
    w->stretch = (stretch){.last = w->b.pieces - 1, .ceiling = UINT32_MAX};
    w->left = w->b.blocks;
    w->highest = 0;
    find_worth(w);
    if (!pack->placed_count)
        return true;
    w->least = HDI_ARENA_ARRAY(arena, int16_t, lists + LANES);
    if (!w->least)
        return false;
    for (size_t k = 0; k < lists + LANES; k++)
        w->least[k] = k < lists ? fine_size_of(w->b.item[w->b.end[k] - 1].units) : 0;
    return hang_all(w, pack);
}

static int fill_from(work *w, uint64_t most)
{
    int done = w->ceilings ? fill_all(w, most, true) : CLEAR;
    if (done != CLEAR)
        return done;
    work own = *w; /* whose address nobody knows: what is in it need not be read again and again */
    done = fill_all(&own, most, false);
    *w = own;
    return done;
}

bool hdi_pack_skyline(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    const uint64_t limit = (uint64_t)HDI_SKYLINE_MOST_UNITS * HDI_PACK_UNIT;
    const uint64_t most = hdi_pack_units(*top < limit ? *top : limit); /* rounded up: what ends below *top may stay */
    *top = UINT64_MAX;
    if (!hdi_pack_cuts_time(pack, order, count) || pack->piece_count > MOST_PIECES)
        return !pack->arena->failed;
    work w = {.ceilings = 0};
    if (!hdi_make_blocks(pack, order, count, most, &w.b))
        return !pack->arena->failed;
    if (!measure_blocks(&w, pack) || !start(&w, pack))
        return false;
    int done = fill_from(&w, most);
    pack->steps += w.steps;
    if (done == TOO_HIGH)
        return true;
    for (uint32_t i = 0; i < count; i++)
        offset[w.b.part[i].res] = (uint64_t)(w.at[w.b.part[i].block] + w.b.part[i].below) * HDI_PACK_UNIT;
    *top = (uint64_t)w.highest * HDI_PACK_UNIT;
    return true;
}
