#include "phases.h"

#include <stdatomic.h>
#include <string.h>

#include "hints.h"
#include "sort.h"

/* Freeze: splits each resource into segments, the pieces that no use splits: a grid of mips and layers for images (with
 * a row for depth and one for stencil at each mip, where a use names one of them), intervals for buffers. A resource
 * that is only used whole is one segment, and costs nothing but its number. Ranged resources: boundaries of their
 * ranges, sorted and made unique. O(uses + ranges log).
 *
 * In parallel the ranges of a resource are chained by whoever meets them: in any order, which does not matter to the
 * pieces. By ranges of resources pieces of each are counted, then numbered behind those before; then uses look up theirs. */

enum { GRAIN = 1024, FEW = 64 };

/* Where a resource is cut along one side. */
typedef struct cuts {
    uint32_t count;   /* boundaries; pieces + 1 */
    uint32_t aspects; /* of mips: 2 where depth and stencil are apart, else 1 */
    uint64_t bits;    /* the boundaries, if all are below FEW */
    const uint64_t *at; /* else */
} cuts;

typedef struct work {
    const hdi_decl *decl;
    hdi_arena *arena;
    uint32_t *res_range, *range_next; /* the ranges of a resource: a chain that HDI_NONE ends */
    cuts (*range_cuts)[2]; /* of the resource, at the first of its chain */
    uint32_t *piece;       /* of each resource, then of each range: its segment where it is just one, else HDI_NONE */
    uint32_t *use_seg;
    hdi_frozen *out;
    const hdi_crew *crew;
    uint64_t part_segs[HDI_MOST_PARTS]; /* 0 segments: no memory */
    uint64_t part_visits[HDI_FEW_PARTS];
} work;

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

/* Sorted unique boundaries, kept in the arena. */
static cuts find_cuts(const work *w, hdi_arena *arena, uint32_t res, int which, uint64_t extent)
{
    bool is_buffer = (w->decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    uint32_t n = 0, most = 2;
    for (uint32_t r = w->res_range[res]; r != HDI_NONE; r = w->range_next[r])
        most += 2;
    uint64_t *keys = HDI_ARENA_ARRAY(arena, uint64_t, most);
    hdi_arena_mark mark = hdi_arena_here(arena);
    uint64_t *scratch_keys = HDI_ARENA_ARRAY(arena, uint64_t, most);
    uint32_t *values = HDI_ARENA_ZEROED(arena, uint32_t, most), *scratch_values = HDI_ARENA_ARRAY(arena, uint32_t, most);
    if (arena->failed)
        return (cuts){0};
    keys[n++] = 0;
    keys[n++] = extent;
    for (uint32_t r = w->res_range[res]; r != HDI_NONE; r = w->range_next[r]) {
        side s = side_of(&w->decl->range[r], is_buffer, which);
        keys[n++] = s.begin;
        keys[n++] = s.end;
    }
    hdi_sort_u64(keys, values, scratch_keys, scratch_values, n);
    uint32_t unique = 1;
    for (uint32_t i = 1; i < n; i++) {
        if (keys[i] != keys[unique - 1])
            keys[unique++] = keys[i];
    }
    hdi_arena_keep(arena, mark, NULL, 0);
    return (cuts){unique, 1, 0, keys};
}

/* Boundaries below FEW are bits of a word: no sort. rank: how many stand before each of them. */
static cuts find_few_cuts(const work *w, uint32_t res, int which, uint64_t extent, uint8_t rank[FEW])
{
    uint64_t bits = 1 | UINT64_C(1) << extent;
    for (uint32_t r = w->res_range[res]; r != HDI_NONE; r = w->range_next[r]) {
        side s = side_of(&w->decl->range[r], false, which);
        bits |= UINT64_C(1) << s.begin | UINT64_C(1) << s.end;
    }
    uint32_t count = 0;
    for (uint64_t rest = bits; rest; rest &= rest - 1)
        rank[__builtin_ctzll(rest)] = (uint8_t)count++;
    return (cuts){count, 1, bits, NULL};
}

/* Index of a boundary that is known to be there. */
static inline uint32_t find(const cuts *c, const uint8_t *rank, uint64_t value)
{
    if (HDI_LIKELY(!c->at))
        return rank[value];
    uint32_t low = 0, high = c->count - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (c->at[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Ranges of a resource get their spans, relative to its first segment; returns its number of segments, 0: no memory. */
static HDI_APART uint32_t split(const work *w, hdi_arena *arena, uint32_t res, cuts out[2])
{
    const hdi_decl *decl = w->decl;
    const hdi_res_info *info = &decl->res_info[res];
    bool is_buffer = (decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    uint64_t extent[2] = {is_buffer ? info->bytes : info->mips, is_buffer ? 1 : info->layers};
    uint8_t rank[2][FEW];
    uint32_t aspects = 1;
    out[1] = (cuts){2, 1, 3, NULL}; /* of a buffer: one column */
    for (int which = 0; which < (is_buffer ? 1 : 2); which++) {
        out[which] = !is_buffer && extent[which] < FEW ? find_few_cuts(w, res, which, extent[which], rank[which])
                                                       : find_cuts(w, arena, res, which, extent[which]);
        if (out[which].count == 0)
            return 0;
    }
    for (uint32_t r = w->res_range[res]; r != HDI_NONE && !is_buffer; r = w->range_next[r])
        aspects = decl->range[r].aspect ? 2 : aspects;
    out[0].aspects = aspects;
    uint32_t columns = out[1].count - 1;
    for (uint32_t r = w->res_range[res]; r != HDI_NONE; r = w->range_next[r]) {
        const hd_range *range = &decl->range[r];
        side mip = side_of(range, is_buffer, 0), layer = side_of(range, false, 1);
        uint32_t first = find(&out[0], rank[0], mip.begin), count = find(&out[0], rank[0], mip.end) - first;
        if (is_buffer) {
            w->out->range_span[r] = (hdi_span){first, 1, count, 0};
            continue;
        }
        uint32_t column = find(&out[1], rank[1], layer.begin), layers = find(&out[1], rank[1], layer.end) - column;
        uint32_t row = first * aspects + (range->aspect == HD_ASPECT_STENCIL);
        w->out->range_span[r] = range->aspect ? (hdi_span){row * columns + column, count, layers, aspects * columns}
                                              : (hdi_span){row * columns + column, count * aspects, layers, columns};
    }
    return (out[0].count - 1) * aspects * columns;
}

/* Chains the ranges of each resource. */
static void chain_ranges(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    const uint32_t *use_range = w->decl->use_range, *use_res = w->decl->use_res;
    bool alone = w->crew->workers == 1;
    (void)part;
    for (uint32_t u = begin; u < end; u++) {
        uint32_t range = use_range[u];
        if (range == HDI_NONE)
            continue;
        uint32_t *first = &w->res_range[use_res[u]];
        if (alone) {
            w->range_next[range] = *first;
            *first = range;
        } else {
            w->range_next[range] = atomic_exchange_explicit((_Atomic(uint32_t) *)first, range, memory_order_relaxed);
        }
    }
}

/* Pieces of each resource, in place of its first segment. */
static void split_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work *w = user;
    hdi_arena *arena = hdi_crew_arena(w->crew, part, w->arena);
    uint32_t *const res_pieces = w->out->res_seg_begin;
    const uint32_t *const res_range = w->res_range;
    uint64_t sum = 0;
    w->part_segs[part] = 0;
    for (uint32_t r = begin; r < end; r++) {
        uint32_t pieces = 1, first = res_range[r];
        if (first != HDI_NONE)
            pieces = split(w, arena, r, w->range_cuts[first]);
        if (pieces == 0)
            return;
        res_pieces[r] = pieces;
        sum += pieces;
    }
    w->part_segs[part] = sum;
}

static const uint64_t *list_cuts(const cuts *c, uint64_t listed[FEW])
{
    uint32_t count = 0;
    for (uint64_t rest = c->bits; rest; rest &= rest - 1)
        listed[count++] = (uint64_t)__builtin_ctzll(rest);
    return c->at ? c->at : listed;
}

/* The segments of a ranged resource and of its ranges. */
static HDI_APART void fill_pieces(const work *w, uint32_t res, uint32_t begin)
{
    const hdi_decl *decl = w->decl;
    uint32_t first = w->res_range[res], seg = begin;
    const cuts *c = w->range_cuts[first];
    uint64_t listed[2][FEW];
    const uint64_t *row = list_cuts(&c[0], listed[0]), *column = list_cuts(&c[1], listed[1]);
    bool is_buffer = (decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    for (uint32_t r = first; r != HDI_NONE; r = w->range_next[r]) {
        hdi_span *span = &w->out->range_span[r];
        span->base += begin;
        w->piece[decl->res_count + r] = span->rows * span->cols == 1 ? span->base : HDI_NONE;
    }
    for (uint32_t i = 0; i + 1 < c[0].count; i++) {
        if (is_buffer) {
            w->out->seg_range[seg++] = (hd_range){.offset = row[i], .bytes = row[i + 1] - row[i]};
            continue;
        }
        for (uint32_t aspect = 0; aspect < c[0].aspects; aspect++) {
            for (uint32_t k = 0; k + 1 < c[1].count; k++)
                w->out->seg_range[seg++] = (hd_range){
                    .mip_base = (uint16_t)row[i],
                    .mip_count = (uint16_t)(row[i + 1] - row[i]),
                    .aspect = c[0].aspects == 1 ? 0 : aspect ? HD_ASPECT_STENCIL : HD_ASPECT_DEPTH,
                    .layer_base = (uint32_t)column[k],
                    .layer_count = (uint32_t)(column[k + 1] - column[k])};
        }
    }
}

/* Numbers the segments of the resources behind those of the parts before. */
static void fill_range(uint32_t range_begin, uint32_t range_end, uint32_t part, void *user)
{
    const work *w = user;
    const hdi_frozen *out = w->out;
    uint32_t *const res_seg_begin = out->res_seg_begin, *const seg_res = out->seg_res, *const piece = w->piece, seg = 0;
    const uint32_t *const res_range = w->res_range;
    for (uint32_t k = 0; k < part; k++)
        seg += (uint32_t)w->part_segs[k];
    for (uint32_t r = range_begin; r < range_end; r++) {
        uint32_t pieces = res_seg_begin[r];
        res_seg_begin[r] = seg;
        piece[r] = pieces == 1 ? seg : HDI_NONE;
        if (res_range[r] != HDI_NONE)
            fill_pieces(w, r, seg);
        seg_res[seg++] = r;
        for (; pieces > 1; pieces--)
            seg_res[seg++] = r;
    }
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

/* Of the uses of a part of the passes, as flow cuts them. */
static void find_segments(uint32_t part, void *user)
{
    work *w = user;
    const hdi_decl *decl = w->decl;
    uint32_t parts = hdi_crew_part_count(w->crew);
    uint32_t first = decl->pass_use_begin[hdi_range_begin(decl->pass_count, parts, part)];
    uint32_t end = decl->pass_use_begin[hdi_range_begin(decl->pass_count, parts, part + 1)];
    const uint32_t *const use_range = decl->use_range, *const use_res = decl->use_res;
    const uint32_t *const res_piece = w->piece, *const range_piece = w->piece + decl->res_count;
    uint32_t *const use_seg = w->use_seg;
    uint64_t visits = 0;
    for (uint32_t u = first; u < end; u++) {
        uint32_t range = use_range[u];
        uint32_t seg = range == HDI_NONE ? res_piece[use_res[u]] : range_piece[range];
        use_seg[u] = seg;
        if (HDI_UNLIKELY(seg == HDI_NONE)) {
            hdi_span span = hdi_use_span(decl, w->out, u);
            visits += (uint64_t)span.rows * span.cols;
        }
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
    w->piece = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)decl->res_count + decl->range_count);
    w->res_range = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    w->range_next = HDI_ARENA_ARRAY(arena, uint32_t, decl->range_count);
    w->range_cuts = hdi_arena_array(arena, decl->range_count, sizeof(*w->range_cuts));
    if (!arena->failed)
        memset(w->res_range, 0xff, decl->res_count * sizeof(*w->res_range));
    return !arena->failed;
}

/* Sums what the parts have found. */
static hd_result make_segments(work *w, hdi_frozen *out)
{
    uint64_t seg_count = 0;
    for (uint32_t k = 0, parts = hdi_range_count(w->crew, w->decl->res_count, GRAIN); k < parts; k++) {
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
    work w = {.decl = decl, .arena = arena, .out = out, .crew = crew};
    uint64_t visits = decl->use_count;
    if (!prepare(&w, out))
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(crew, decl->use_count, 4 * GRAIN, chain_ranges, &w);
    hdi_crew_ranges(crew, decl->res_count, GRAIN, split_range, &w);
    hd_result result = make_segments(&w, out);
    if (result != HD_OK)
        return result;
    hdi_crew_ranges(crew, decl->res_count, GRAIN, fill_range, &w);
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
