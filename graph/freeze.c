#include "phases.h"

#include <stdatomic.h>
#include <string.h>

#include "hints.h"
#include "sort.h"

/* Freeze: splits each resource into segments, the pieces that no use splits: a grid of mips and layers for images (with
 * a row for depth and one for stencil at each mip, where a use names one of them), intervals for buffers. A resource
 * that is only used whole is one segment, and costs nothing but its number. O(uses + ranges).
 *
 * The boundaries of an image are bits of two words, which its ranges set: where a piece stands among the others is a
 * count of the bits below. Of buffers, and of images of too many layers, ranges are chained, and their boundaries
 * sorted and made unique.
 *
 * In parallel ranges are marked in any order, which does not matter to the pieces. By ranges of resources pieces of
 * each are counted, then numbered behind those before; then uses look up theirs. */

enum { GRAIN = 512, FEW = 62, FEW_RANGES = 16 };

/* Beside the bits of the mips, of which there are at most 33. */
#define MIP_BITS ((UINT64_C(1) << 33) - 1)
#define ASPECTS (UINT64_C(1) << 63)    /* depth and stencil are apart */
#define CHAINED (UINT64_C(1) << 62)    /* no bits: `cuts` tells */
#define SIMPLE (UINT64_C(1) << 61)     /* each side whole, or cut at each number; aspects are together */
#define EACH_MIP (UINT64_C(1) << 60)   /* not whole */
#define EACH_LAYER (UINT64_C(1) << 59) /* not whole */
#define COLUMNS 40                     /* from this bit on: how many pieces the layers are cut into */

/* Where a resource is cut along one side. */
typedef struct cuts {
    uint32_t count; /* boundaries; pieces + 1 */
    const uint64_t *at;
} cuts;

/* Of a resource that is cut. */
typedef struct grid {
    cuts mip, layer;
    uint32_t aspects;
} grid;

/* Boundaries of a resource; all 0: used whole only. Of those that are chained at first 1 + the newest of its ranges. */
typedef struct marks {
    uint64_t mip;
    union {
        uint64_t layer;
        const grid *cuts;
    };
} marks;

typedef struct work {
    const hdi_decl *decl;
    hdi_arena *arena;
    marks *marks;         /* per resource */
    uint32_t *range_next; /* of those that are chained: 1 + the next range of the resource, or 0 */
    uint32_t *piece;      /* per resource: its segment where it is just one, else HDI_NONE */
    uint32_t *use_seg;
    hdi_frozen *out;
    const hdi_crew *crew;
    uint64_t part_segs[HDI_MOST_PARTS]; /* 0 segments: no memory */
    uint64_t part_visits[HDI_FEW_PARTS];
} work;

/* ---- boundaries that are bits ---- */

static inline bool has_bits(const hdi_decl *decl, uint32_t res)
{
    return !(decl->res_flags[res] & HDI_RES_BUFFER) && decl->res_info[res].layers < FEW;
}

static inline uint64_t bits_below(uint32_t bit)
{
    return (UINT64_C(1) << bit) - 1;
}

static inline uint32_t count_bits(uint64_t bits)
{
    return (uint32_t)__builtin_popcountll(bits);
}

static inline void set_bits(uint64_t *word, uint64_t bits, bool alone)
{
    _Atomic(uint64_t) *shared = (_Atomic(uint64_t) *)word;
    if (alone)
        *word |= bits;
    else if (~atomic_load_explicit(shared, memory_order_relaxed) & bits) /* most are there: the line stays shared */
        atomic_fetch_or_explicit(shared, bits, memory_order_relaxed);
}

static void mark_ranges(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    const hdi_decl *decl = w->decl;
    const bool alone = w->crew->workers == 1;
    (void)part;
    for (uint32_t r = begin; r < end; r++) {
        const hd_range *range = &decl->range[r];
        uint32_t res = decl->range_res[r];
        marks *m = &w->marks[res];
        if (HDI_UNLIKELY(!has_bits(decl, res))) {
            w->range_next[r] =
                (uint32_t)(alone ? m->mip
                                 : atomic_exchange_explicit((_Atomic(uint64_t) *)&m->mip, r + 1, memory_order_relaxed));
            if (alone)
                m->mip = r + 1;
            continue;
        }
        set_bits(&m->mip,
                 UINT64_C(1) << range->mip_base | UINT64_C(1) << (range->mip_base + range->mip_count) |
                     (range->aspect ? ASPECTS : 0),
                 alone);
        set_bits(&m->layer, UINT64_C(1) << range->layer_base | UINT64_C(1) << (range->layer_base + range->layer_count),
                 alone);
    }
}

/* Whether one side of a resource is whole, or cut at each number up to its extent; both come to it mostly. */
static inline bool is_whole(uint64_t bits, uint32_t extent)
{
    return bits == (1 | UINT64_C(1) << extent);
}

static inline bool is_even(uint64_t bits, uint32_t extent)
{
    return bits == bits_below(extent + 1);
}

/* Of a resource, and notes what spares its ranges counting. */
static uint32_t count_pieces(const work *w, uint32_t res)
{
    const uint32_t mips = w->decl->res_info[res].mips, layers = w->decl->res_info[res].layers;
    marks *m = &w->marks[res];
    uint64_t mip = (m->mip & ~ASPECTS) | 1 | UINT64_C(1) << mips, layer = m->layer | 1 | UINT64_C(1) << layers;
    uint64_t notes = m->mip & ASPECTS;
    bool whole_mips = is_whole(mip, mips), whole_layers = is_whole(layer, layers);
    uint32_t rows = whole_mips ? 1 : is_even(mip, mips) ? mips : count_bits(mip) - 1;
    uint32_t columns = whole_layers ? 1 : is_even(layer, layers) ? layers : count_bits(layer) - 1;
    if (!notes && (whole_mips || rows == mips) && (whole_layers || columns == layers))
        notes = SIMPLE | (whole_mips ? 0 : EACH_MIP) | (whole_layers ? 0 : EACH_LAYER);
    *m = (marks){.mip = mip | notes | (uint64_t)columns << COLUMNS, .layer = layer};
    return rows * (notes & ASPECTS ? 2 : 1) * columns;
}

/* The segments of a range, from the first one of its resource on. */
static HDI_APART hdi_span span_of_bits(uint64_t mip, uint64_t layer, const hd_range *range)
{
    uint32_t aspects = mip & ASPECTS ? 2 : 1, columns = mip >> COLUMNS & 63;
    uint32_t row = count_bits(mip & bits_below(range->mip_base));
    uint32_t rows = count_bits(mip & bits_below(range->mip_base + range->mip_count)) - row;
    uint32_t column = count_bits(layer & bits_below(range->layer_base));
    uint32_t cols = count_bits(layer & bits_below(range->layer_base + range->layer_count)) - column;
    row = row * aspects + (range->aspect == HD_ASPECT_STENCIL);
    return range->aspect ? (hdi_span){row * columns + column, rows, cols, aspects * columns}
                         : (hdi_span){row * columns + column, rows * aspects, cols, columns};
}

static inline hdi_span span_of(uint64_t mip, uint64_t layer, const hd_range *range)
{
    if (HDI_UNLIKELY(!(mip & SIMPLE)))
        return span_of_bits(mip, layer, range);
    uint32_t columns = mip >> COLUMNS & 63, row = mip & EACH_MIP ? range->mip_base : 0;
    uint32_t column = mip & EACH_LAYER ? range->layer_base : 0;
    return (hdi_span){row * columns + column, mip & EACH_MIP ? range->mip_count : 1,
                      mip & EACH_LAYER ? range->layer_count : 1, columns};
}

/* ---- boundaries that are sorted ---- */

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

/* Puts a boundary to those before it, of which the last one is none below it. They mostly come from the last on. */
static inline void add_cut(uint64_t *at, uint32_t *count, uint64_t value)
{
    uint32_t i = 0, n = *count;
    while (at[i] < value)
        i++;
    if (at[i] == value)
        return;
    memmove(&at[i + 1], &at[i], (n - i) * sizeof(*at));
    at[i] = value;
    *count = n + 1;
}

/* Sorts boundaries, of which some are there several times. False: no memory. */
static HDI_APART bool sort_cuts(hdi_arena *arena, uint64_t *keys, uint32_t *count)
{
    hdi_arena_mark mark = hdi_arena_here(arena);
    uint32_t n = *count, unique = 1;
    uint64_t *scratch_keys = HDI_ARENA_ARRAY(arena, uint64_t, n);
    uint32_t *values = HDI_ARENA_ZEROED(arena, uint32_t, n);
    uint32_t *scratch_values = HDI_ARENA_ARRAY(arena, uint32_t, n);
    if (arena->failed)
        return false;
    hdi_sort_u64(keys, values, scratch_keys, scratch_values, n);
    for (uint32_t i = 1; i < n; i++) {
        if (keys[i] != keys[unique - 1])
            keys[unique++] = keys[i];
    }
    *count = unique;
    hdi_arena_keep(arena, mark, NULL, 0);
    return true;
}

/* Sorted unique boundaries, kept in the arena; a count of 0: no memory. first: of the chain, as in marks, of so many
 * ranges. */
static cuts find_cuts(const work *w, hdi_arena *arena, uint32_t res, uint32_t first, uint32_t ranges, int which,
                      uint64_t extent)
{
    bool is_buffer = (w->decl->res_flags[res] & HDI_RES_BUFFER) != 0, few = ranges <= FEW_RANGES;
    uint32_t n = 2;
    uint64_t *keys = HDI_ARENA_ARRAY(arena, uint64_t, 2 * (size_t)ranges + 2);
    if (arena->failed)
        return (cuts){0};
    keys[0] = 0;
    keys[1] = extent;
    for (uint32_t r = first; r; r = w->range_next[r - 1]) {
        side s = side_of(&w->decl->range[r - 1], is_buffer, which);
        if (few) {
            add_cut(keys, &n, s.end);
            add_cut(keys, &n, s.begin);
        } else {
            keys[n++] = s.begin;
            keys[n++] = s.end;
        }
    }
    return few || sort_cuts(arena, keys, &n) ? (cuts){n, keys} : (cuts){0};
}

/* Index of a boundary that is known to be there. */
static uint32_t find(const cuts *c, uint64_t value)
{
    uint32_t low = 0, high = c->count - 1;
    if (high <= FEW_RANGES) { /* no branch: which it is nobody can foresee */
        for (uint32_t i = 0; i < high; i++)
            low += c->at[i] < value;
        return low;
    }
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (c->at[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Ranges of a resource get their spans, from its first segment on; returns its number of segments, 0: no memory. */
static HDI_APART uint32_t split(const work *w, hdi_arena *arena, uint32_t res)
{
    const hdi_decl *decl = w->decl;
    const hdi_res_info *info = &decl->res_info[res];
    bool is_buffer = (decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    uint32_t chain = (uint32_t)w->marks[res].mip, ranges = 0;
    for (uint32_t r = chain; r; r = w->range_next[r - 1])
        ranges++;
    grid *g = HDI_ARENA_ARRAY(arena, grid, 1);
    if (!g)
        return 0;
    g->aspects = 1;
    g->mip = find_cuts(w, arena, res, chain, ranges, 0, is_buffer ? info->bytes : info->mips);
    g->layer = is_buffer ? (cuts){2, NULL} : find_cuts(w, arena, res, chain, ranges, 1, info->layers); /* one column */
    if (arena->failed)
        return 0;
    for (uint32_t r = chain; r && !is_buffer; r = w->range_next[r - 1])
        g->aspects = decl->range[r - 1].aspect ? 2 : g->aspects;
    uint32_t columns = g->layer.count - 1;
    for (uint32_t r = chain; r; r = w->range_next[r - 1]) {
        const hd_range *range = &decl->range[r - 1];
        side mip = side_of(range, is_buffer, 0), layer = side_of(range, false, 1);
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
    w->marks[res] = (marks){.mip = CHAINED, .cuts = g};
    return (g->mip.count - 1) * g->aspects * columns;
}

/* ---- segments ---- */

/* Pieces of each resource, in place of its first segment. */
static void count_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work *w = user;
    hdi_arena *arena = hdi_crew_arena(w->crew, part, w->arena);
    uint32_t *const res_pieces = w->out->res_seg_begin;
    const marks *const marked = w->marks;
    uint64_t sum = 0;
    w->part_segs[part] = 0;
    for (uint32_t r = begin; r < end; r++) {
        uint32_t pieces = 1;
        if (HDI_UNLIKELY(marked[r].mip != 0))
            pieces = has_bits(w->decl, r) ? count_pieces(w, r) : split(w, arena, r);
        if (pieces == 0)
            return;
        res_pieces[r] = pieces;
        sum += pieces;
    }
    w->part_segs[part] = sum;
}

static cuts list_bits(uint64_t bits, uint64_t listed[FEW + 1])
{
    uint32_t count = 0;
    for (uint64_t rest = bits; rest; rest &= rest - 1)
        listed[count++] = (uint64_t)__builtin_ctzll(rest);
    return (cuts){count, listed};
}

/* What the segments of a resource are. */
static HDI_APART void fill_pieces(const work *w, uint32_t res, uint32_t seg)
{
    const marks *m = &w->marks[res];
    uint64_t listed[2][FEW + 1];
    grid g;
    if (m->mip & CHAINED)
        g = *m->cuts;
    else
        g = (grid){list_bits(m->mip & MIP_BITS, listed[0]), list_bits(m->layer, listed[1]), m->mip & ASPECTS ? 2 : 1};
    const uint64_t *row = g.mip.at, *column = g.layer.at;
    bool is_buffer = (w->decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    for (uint32_t i = 0; i + 1 < g.mip.count; i++) {
        if (is_buffer) {
            w->out->seg_range[seg++] = (hd_range){.offset = row[i], .bytes = row[i + 1] - row[i]};
            continue;
        }
        for (uint32_t aspect = 0; aspect < g.aspects; aspect++) {
            for (uint32_t k = 0; k + 1 < g.layer.count; k++)
                w->out->seg_range[seg++] = (hd_range){.mip_base = (uint16_t)row[i],
                                                      .mip_count = (uint16_t)(row[i + 1] - row[i]),
                                                      .aspect = g.aspects == 1 ? 0
                                                                : aspect       ? HD_ASPECT_STENCIL
                                                                               : HD_ASPECT_DEPTH,
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
    const marks *const marked = w->marks;
    for (uint32_t k = 0; k < part; k++)
        seg += (uint32_t)w->part_segs[k];
    for (uint32_t r = range_begin; r < range_end; r++) {
        uint32_t pieces = res_seg_begin[r];
        res_seg_begin[r] = seg;
        piece[r] = pieces == 1 ? seg : HDI_NONE;
        if (HDI_UNLIKELY(marked[r].mip != 0))
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

/* The segment of a use of a range, HDI_NONE: it has several. */
static HDI_APART HDI_SCALAR uint32_t find_of_range(const work *w, uint32_t res, uint32_t range)
{
    const marks *m = &w->marks[res];
    hdi_span *span = &w->out->range_span[range];
    hdi_span found = *span;
    if (!(m->mip & CHAINED))
        found = span_of(m->mip, m->layer, &w->decl->range[range]);
    found.base += w->out->res_seg_begin[res];
    *span = found;
    return found.rows * found.cols == 1 ? found.base : HDI_NONE;
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
    const uint32_t *const piece = w->piece;
    uint32_t *const use_seg = w->use_seg;
    uint64_t visits = 0;
    for (uint32_t u = first; u < end; u++) {
        uint32_t range = use_range[u], res = use_res[u];
        uint32_t seg = HDI_LIKELY(range == HDI_NONE) ? piece[res] : find_of_range(w, res, range);
        use_seg[u] = seg;
        if (HDI_UNLIKELY(seg == HDI_NONE)) {
            hdi_span span = hdi_use_span(decl, w->out, u);
            visits += (uint64_t)span.rows * span.cols;
        }
    }
    w->part_visits[part] = visits;
}

static void clear_marks(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)part;
    memset(w->marks + begin, 0, (end - begin) * sizeof(*w->marks));
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
    w->marks = HDI_ARENA_ARRAY(arena, marks, decl->res_count);
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
    hdi_crew_ranges(crew, decl->res_count, GRAIN, clear_marks, &w);
    hdi_crew_ranges(crew, decl->range_count, GRAIN, mark_ranges, &w);
    hdi_crew_ranges(crew, decl->res_count, GRAIN, count_range, &w);
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
