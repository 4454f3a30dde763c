#include "front.h"

#include <string.h>

#include "bitset.h"
#include "hints.h"
#include "sort.h"

/* Freeze: splits each resource into segments, the pieces that no use splits: a grid of mips and layers for images (with
 * a row for depth and one for stencil at each mip, where a use names one of them), intervals for buffers. A resource
 * that is only used whole is one segment, and costs nothing but its number. O(uses + ranges log ranges).
 *
 * The ranges of a resource are chained; their boundaries, sorted and made unique, are its cuts, and each range finds
 * its place among them. Most resources are used whole only: a bit each tells the others, and all but those are numbered
 * in runs, without a look at them.
 *
 * By ranges of resources the pieces of each are counted, then numbered behind those before; then uses look up theirs.
 */

enum { WORD_GRAIN = 8 }; /* words of 64 resources */

/* Where a resource is cut along one side. */
typedef struct cuts {
    uint32_t count; /* boundaries; pieces + 1 */
    const uint64_t *at;
} cuts;

/* Of a resource that is cut; buffers have one column. */
typedef struct grid {
    cuts mip, layer;
    uint32_t aspects;
} grid;

/* The ranges of a resource, from the last one on: 1 + its number; then range_next. */
typedef struct chain {
    uint32_t newest, count;
} chain;

typedef struct work {
    const hdi_decl *decl;
    hdi_arena *arena;
    uint64_t *cut;        /* a bit a resource: ranges cut it */
    chain *chain;         /* per resource; of those only */
    const grid **grid;    /* the same */
    uint32_t *range_next; /* 1 + the next range of the resource, or 0 */
    uint32_t *piece;      /* per resource: its segment where it is just one, else HDI_NONE */
    uint32_t *use_seg;
    hdi_frozen *out;
    const hdi_crew *crew;
    uint64_t part_segs[HDI_MOST_PARTS]; /* 0 segments: no memory */
    uint64_t part_visits[HDI_FEW_PARTS];
} work;

/* ---- ranges by resource ---- */

static void chain_ranges(const work *w)
{
    for (uint32_t r = 0; r < w->decl->range_count; r++) {
        uint32_t res = w->decl->range_res[r];
        chain *c = &w->chain[res];
        w->range_next[r] = c->newest;
        *c = (chain){r + 1, c->count + 1};
        w->cut[res / 64] |= UINT64_C(1) << res % 64;
    }
}

/* ---- cuts ---- */

/* One side of a range, in the numbers of its resource. */
typedef struct side {
    uint64_t begin, end;
} side;

static inline side side_of(const hd_range *range, bool is_buffer, int which)
{
    if (is_buffer)
        return (side){range->offset, range->offset + range->bytes};
    if (which)
        return (side){range->layer_base, (uint64_t)range->layer_base + range->layer_count};
    return (side){range->mip_base, (uint64_t)range->mip_base + range->mip_count};
}

/* Sorted unique boundaries; a count of 0: no memory. */
static cuts find_cuts(const work *w, hdi_arena *arena, uint32_t res, int which, uint64_t extent)
{
    const hdi_decl *decl = w->decl;
    const bool is_buffer = (decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    const size_t most = 2 * (size_t)w->chain[res].count + 2;
    uint64_t *keys = HDI_ARENA_ARRAY(arena, uint64_t, most);
    hdi_arena_mark mark = hdi_arena_here(arena);
    uint64_t *scratch_keys = HDI_ARENA_ARRAY(arena, uint64_t, most);
    uint32_t *values = HDI_ARENA_ZEROED(arena, uint32_t, most),
             *scratch_values = HDI_ARENA_ARRAY(arena, uint32_t, most);
    if (arena->failed)
        return (cuts){0};
    uint64_t *low = keys + most; /* from the last range on, as they are mostly declared by rising numbers */
    *--low = extent;
    for (uint32_t r = w->chain[res].newest; r; r = w->range_next[r - 1]) {
        side s = side_of(&decl->range[r - 1], is_buffer, which);
        if (low[0] == s.begin && low + 1 < keys + most && low[1] == s.end)
            continue; /* on one side mostly as the range before; and on the other where that one begins, below */
        if (low[0] != s.end)
            *--low = s.end;
        *--low = s.begin;
    }
    *--low = 0;
    uint32_t n = (uint32_t)(keys + most - low), unique = 1;
    hdi_sort_u64(low, values, scratch_keys, scratch_values, n);
    for (uint32_t i = 1; i < n; i++) {
        if (low[i] != low[unique - 1])
            low[unique++] = low[i];
    }
    hdi_arena_keep(arena, mark, NULL, 0);
    return (cuts){unique, low};
}

/* Index of a boundary that is known to be there. Mips and layers are mostly cut at each number, or not at all. */
static uint32_t find(const cuts *c, uint64_t value)
{
    uint32_t low = 0, high = c->count - 1, guess = value < high ? (uint32_t)value : high;
    if (HDI_LIKELY(c->at[guess] == value))
        return guess;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (c->at[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The segments of each range, from the first one of its resource on. */
static void find_spans(const work *w, uint32_t res, const grid *g)
{
    uint32_t columns = g->layer.count - 1;
    const bool is_buffer = (w->decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    for (uint32_t r = w->chain[res].newest; r; r = w->range_next[r - 1]) {
        const hd_range *range = &w->decl->range[r - 1];
        side mip = side_of(range, is_buffer, 0), layer = side_of(range, is_buffer, 1);
        uint32_t first = find(&g->mip, mip.begin), count = find(&g->mip, mip.end) - first;
        if (is_buffer) {
            w->out->range_span[r - 1] = (hdi_span){first, 1, count, 0};
            continue;
        }
        uint32_t column = find(&g->layer, layer.begin), layers = find(&g->layer, layer.end) - column;
        uint32_t row = first * g->aspects + (range->aspect == HD_ASPECT_STENCIL);
        w->out->range_span[r - 1] = range->aspect
                                        ? (hdi_span){row * columns + column, count, layers, g->aspects * columns}
                                        : (hdi_span){row * columns + column, count * g->aspects, layers, columns};
    }
}

/* How many pieces a resource has that is cut. 0: no memory. */
static uint32_t count_pieces(const work *w, hdi_arena *arena, uint32_t res)
{
    const hdi_res_info *info = &w->decl->res_info[res];
    const bool is_buffer = (w->decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    grid *g = HDI_ARENA_ARRAY(arena, grid, 1);
    if (!g)
        return 0;
    *g = (grid){.layer = {2, NULL}, .aspects = 1}; /* of buffers one column */
    g->mip = find_cuts(w, arena, res, 0, is_buffer ? info->bytes : info->mips);
    if (!is_buffer)
        g->layer = find_cuts(w, arena, res, 1, info->layers);
    if (arena->failed)
        return 0;
    for (uint32_t r = w->chain[res].newest; r && !is_buffer; r = w->range_next[r - 1])
        g->aspects = w->decl->range[r - 1].aspect ? 2 : g->aspects;
    w->grid[res] = g;
    find_spans(w, res, g);
    return (g->mip.count - 1) * g->aspects * (g->layer.count - 1);
}

/* ---- segments ---- */

/* Pieces of each resource that is cut, in place of its first segment; by words of their bits. */
static void count_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work *w = user;
    hdi_arena *arena = hdi_crew_arena(w->crew, part, w->arena);
    uint32_t *const res_pieces = w->out->res_seg_begin, behind = end * 64, last = w->decl->res_count;
    uint64_t sum = (behind < last ? behind : last) - begin * 64;
    w->part_segs[part] = 0;
    for (uint32_t word = begin; word < end; word++) {
        for (uint64_t left = w->cut[word]; left; left &= left - 1) {
            uint32_t r = word * 64 + (uint32_t)__builtin_ctzll(left);
            uint32_t pieces = count_pieces(w, arena, r);
            if (pieces == 0)
                return;
            res_pieces[r] = pieces;
            sum += pieces - 1;
        }
    }
    w->part_segs[part] = sum;
}

/* What the segments of a resource are. */
static HDI_APART void fill_pieces(const work *w, uint32_t res, uint32_t seg)
{
    const grid *g = w->grid[res];
    hd_range *piece = w->out->seg_range + seg;
    const uint64_t *row = g->mip.at, *column = g->layer.at;
    bool is_buffer = (w->decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    for (uint32_t i = 0; i + 1 < g->mip.count; i++) {
        if (is_buffer) {
            *piece++ = (hd_range){.offset = row[i], .bytes = row[i + 1] - row[i]};
            continue;
        }
        for (uint32_t aspect = 0; aspect < g->aspects; aspect++) {
            for (uint32_t k = 0; k + 1 < g->layer.count; k++)
                *piece++ = (hd_range){.mip_base = (uint16_t)row[i],
                                      .mip_count = (uint16_t)(row[i + 1] - row[i]),
                                      .aspect = g->aspects == 1 ? 0
                                                : aspect        ? HD_ASPECT_STENCIL
                                                                : HD_ASPECT_DEPTH,
                                      .layer_base = (uint32_t)column[k],
                                      .layer_count = (uint32_t)(column[k + 1] - column[k])};
        }
    }
}

/* Resources of one segment, whose number is `apart` more than theirs. */
static inline void number_run(const work *w, uint32_t begin, uint32_t end, uint32_t apart)
{
    uint32_t *restrict res_seg_begin = w->out->res_seg_begin, *restrict seg_res = w->out->seg_res + apart,
                       *restrict piece = w->piece;
    for (uint32_t r = begin; r < end; r++) {
        res_seg_begin[r] = piece[r] = r + apart;
        seg_res[r] = r;
    }
}

/* Numbers the segments of the resources behind those of the parts before. */
static void fill_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    const hdi_frozen *out = w->out;
    uint32_t behind = end * 64 < w->decl->res_count ? end * 64 : w->decl->res_count, next = begin * 64, seg = 0;
    for (uint32_t k = 0; k < part; k++)
        seg += (uint32_t)w->part_segs[k];
    for (uint32_t word = begin; word < end; word++) {
        for (uint64_t left = w->cut[word]; left; left &= left - 1) {
            uint32_t r = word * 64 + (uint32_t)__builtin_ctzll(left), pieces = out->res_seg_begin[r];
            number_run(w, next, r, seg - next);
            seg += r - next;
            out->res_seg_begin[r] = seg;
            w->piece[r] = HDI_NONE;
            fill_pieces(w, r, seg);
            for (; pieces > 0; pieces--)
                out->seg_res[seg++] = r;
            next = r + 1;
        }
    }
    number_run(w, next, behind, seg - next);
}

/* Without ranges, segments are resources: two counting columns, and the column of the uses as it stands. */
static hd_result freeze_whole(const hdi_decl *decl, hdi_arena *arena, hdi_frozen *out)
{
    uint32_t count = decl->res_count;
    *out = (hdi_frozen){.seg_count = count, .visit_count = decl->use_count, .use_seg = decl->use_res};
    out->seg_res = out->res_seg_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t r = 0; r <= count; r++)
        out->res_seg_begin[r] = r;
    return HD_OK;
}

/* The segment of a use of a resource that is cut, HDI_NONE: it has several, which count. Only then its range needs a
 * span. */
static uint32_t find_of_cut(const work *w, uint32_t range, uint32_t res, uint64_t *visits)
{
    const uint32_t *begin = &w->out->res_seg_begin[res];
    if (range == HDI_NONE) {
        *visits += begin[1] - begin[0];
        return HDI_NONE;
    }
    hdi_span *span = &w->out->range_span[range];
    span->base += begin[0]; /* a range is of one use */
    if (span->rows * span->cols == 1)
        return span->base;
    *visits += (uint64_t)span->rows * span->cols;
    return HDI_NONE;
}

/* Of the uses of a part of the passes, as flow cuts them. */
static void find_segments(uint32_t part, void *user)
{
    work *w = user;
    const hdi_decl *decl = w->decl;
    uint32_t parts = hdi_crew_part_count(w->crew);
    uint32_t first = decl->pass_use_begin[hdi_range_begin(decl->pass_count, parts, part)];
    uint32_t end = decl->pass_use_begin[hdi_range_begin(decl->pass_count, parts, part + 1)];
    const uint32_t *const use_res = decl->use_res, *const use_range = decl->use_range, *const piece = w->piece;
    uint32_t *const use_seg = w->use_seg;
    uint64_t visits = 0;
    for (size_t u = first; u < end; u++) {
        uint32_t res = use_res[u], seg = piece[res];
        if (HDI_UNLIKELY(seg == HDI_NONE))
            seg = find_of_cut(w, use_range[u], res, &visits);
        use_seg[u] = seg;
    }
    w->part_visits[part] = visits;
}

static bool prepare(work *w, hdi_frozen *out)
{
    const hdi_decl *decl = w->decl;
    hdi_arena *arena = w->arena;
    out->res_seg_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)decl->res_count + 1);
    out->range_span = HDI_ARENA_ARRAY(arena, hdi_span, decl->range_count);
    w->use_seg = HDI_ARENA_ARRAY(arena, uint32_t, decl->use_count);
    w->piece = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    w->range_next = HDI_ARENA_ARRAY(arena, uint32_t, decl->range_count);
    w->chain = HDI_ARENA_ZEROED(arena, chain, decl->res_count);
    w->grid = HDI_ARENA_ARRAY(arena, const grid *, decl->res_count);
    w->cut = HDI_ARENA_ZEROED(arena, uint64_t, hdi_bit_words(decl->res_count));
    return !arena->failed;
}

/* Sums what the parts have found. */
static hd_result make_segments(work *w, hdi_frozen *out)
{
    uint64_t seg_count = 0;
    uint32_t words = hdi_bit_words(w->decl->res_count);
    for (uint32_t k = 0, parts = hdi_range_count(w->crew, words, WORD_GRAIN); k < parts; k++) {
        if (w->part_segs[k] == 0)
            return HD_OUT_OF_MEMORY;
        seg_count += w->part_segs[k];
    }
    if (seg_count > UINT32_MAX / 4)
        return HD_TOO_LARGE;
    out->res_seg_begin[w->decl->res_count] = out->seg_count = (uint32_t)seg_count;
    out->seg_res = HDI_ARENA_ARRAY(w->arena, uint32_t, seg_count);
    out->seg_range = HDI_ARENA_ARRAY(w->arena, hd_range, seg_count);
    return w->arena->failed ? HD_OUT_OF_MEMORY : HD_OK;
}

hd_result hdi_freeze(const hdi_decl *decl, const hdi_crew *crew, hdi_arena *arena, hdi_frozen *out)
{
    if (decl->range_count == 0)
        return freeze_whole(decl, arena, out);
    work w; /* not cleared: it is long */
    w.decl = decl;
    w.arena = arena;
    w.out = out;
    w.crew = crew;
    uint64_t visits = decl->use_count;
    if (!prepare(&w, out))
        return HD_OUT_OF_MEMORY;
    chain_ranges(&w);
    hdi_crew_ranges(crew, hdi_bit_words(decl->res_count), WORD_GRAIN, count_range, &w);
    hd_result result = make_segments(&w, out);
    if (result != HD_OK)
        return result;
    hdi_crew_ranges(crew, hdi_bit_words(decl->res_count), WORD_GRAIN, fill_range, &w);
    hdi_crew_parts(crew, hdi_crew_part_count(crew), find_segments, &w);
    for (uint32_t k = 0; k < hdi_crew_part_count(crew); k++) {
        out->part_visit[k] = (uint32_t)visits;
        visits += w.part_visits[k];
    }
    if (visits > UINT32_MAX / 4)
        return HD_TOO_LARGE;
    out->visit_count = (uint32_t)visits;
    out->use_seg = w.use_seg;
    return HD_OK;
}
