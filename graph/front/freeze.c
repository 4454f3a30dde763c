#include "freeze_cuts.h"

#include <stdatomic.h>
#include <string.h>

#include "bitset.h"
#include "hints.h"

/* Freeze: splits each resource into segments, the pieces that no use splits: a grid of mips and layers for images (with
 * a row for depth and one for stencil at each mip, where a use names one of them), intervals for buffers. A resource
 * that is only used whole is one segment, and costs nothing but its number. O(uses + ranges).
 *
 * The boundaries of an image are bits of two words, which its ranges set: where a piece stands among the others is a
 * count of the bits below. Of buffers, and of images of too many layers, ranges are chained, and their boundaries
 * sorted and made unique.
 *
 * Most resources are used whole only: a bit each tells the others, and all but those are numbered in runs, without a
 * look at them.
 *
 * In parallel ranges are marked in any order, which does not matter to the pieces. By ranges of resources pieces of
 * each are counted, then numbered behind those before; then uses look up theirs. */

enum {
    GRAIN = 512,
    WORD_GRAIN = 8, /* words of 64 resources */
    FEW = 62
};

/* Beside the bits of the mips, of which there are at most 33. */
#define MIP_BITS ((UINT64_C(1) << 33) - 1)
#define ASPECTS (UINT64_C(1) << 63) /* depth and stencil are apart */
#define CHAINED (UINT64_C(1) << 62) /* no bits: `cuts` tells */
#define SIMPLE (UINT64_C(1) << 61)  /* each side whole, or cut at each number; aspects are together */
#define COLUMNS 40                  /* from this bit on: how many pieces the layers are cut into */
#define PIECE_MIPS 48               /* of SIMPLE resources: how many mips a piece has */

/* Boundaries of a resource that ranges cut. Of those that are chained at first 1 + the newest of its ranges, and how
 * many there are. Of SIMPLE ones in the end, in place of bits, their first segment, and how many layers a piece has: on
 * a side that is whole all ranges begin at 0, so that a piece is found from both bases. */
typedef struct marks {
    uint64_t mip;
    union {
        uint64_t layer;
        const hdi_grid *cuts;
    };
} marks;

typedef struct work {
    const hdi_decl *decl;
    hdi_arena *arena;
    uint64_t *cut;        /* a bit a resource: ranges cut it */
    marks *marks;         /* per resource; of those only */
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

/* A resource is found to be cut. Alone its marks begin here: most resources have none. */
static inline void mark_cut(const work *w, uint32_t res, bool alone)
{
    uint64_t *word = &w->cut[res / 64], bit = UINT64_C(1) << res % 64;
    if (alone && !(*word & bit))
        w->marks[res] = (marks){0};
    set_bits(word, bit, alone);
}

/* A run of ranges of one resource. */
static void chain_run(const work *w, marks *m, uint32_t begin, uint32_t end, bool alone)
{
    for (uint32_t r = begin + 1; r < end; r++)
        w->range_next[r] = r;
    if (alone) {
        w->range_next[begin] = (uint32_t)m->mip;
        m->mip = end;
        m->layer += end - begin;
        return;
    }
    _Atomic(uint64_t) *newest = (_Atomic(uint64_t) *)&m->mip, *count = (_Atomic(uint64_t) *)&m->layer;
    w->range_next[begin] = (uint32_t)atomic_exchange_explicit(newest, end, memory_order_relaxed);
    atomic_fetch_add_explicit(count, end - begin, memory_order_relaxed);
}

/* The same, as bits. */
static HDI_INLINE void mark_run(const hdi_decl *decl, marks *m, uint32_t begin, uint32_t end, bool alone)
{
    uint64_t mip = 0, layer = 0, aspects = 0;
    for (const hd_range *range = decl->range + begin, *behind = decl->range + end; range < behind; range++) {
        mip |= UINT64_C(1) << range->mip_base;
        layer |= UINT64_C(1) << range->layer_base;
        HDI_HIDE(mip); /* one instruction each then */
        HDI_HIDE(layer);
        mip |= UINT64_C(1) << (range->mip_base + range->mip_count);
        layer |= UINT64_C(1) << (range->layer_base + range->layer_count);
        aspects |= range->aspect;
    }
    set_bits(&m->mip, mip | (aspects ? ASPECTS : 0), alone);
    set_bits(&m->layer, layer, alone);
}

/* Ranges of one resource mostly stand together. */
static HDI_INLINE void mark_some(const work *w, uint32_t begin, uint32_t end, bool alone)
{
    const uint32_t *const range_res = w->decl->range_res;
    for (uint32_t r = begin; r < end;) {
        const uint32_t first = r, res = range_res[r];
        while (++r < end && range_res[r] == res)
            ;
        mark_cut(w, res, alone);
        if (has_bits(w->decl, res))
            mark_run(w->decl, &w->marks[res], first, r, alone);
        else
            chain_run(w, &w->marks[res], first, r, alone);
    }
}

static void mark_ranges(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)part;
    if (w->crew->workers == 1)
        mark_some(w, begin, end, true);
    else
        mark_some(w, begin, end, false);
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
    if (!notes && (whole_mips || rows == mips) && (whole_layers || columns == layers)) {
        notes = SIMPLE | (uint64_t)(whole_mips ? mips : 1) << PIECE_MIPS;
        mip = 0;
        layer = whole_layers ? layers : 1;
    }
    *m = (marks){.mip = mip | notes | (uint64_t)columns << COLUMNS, .layer = layer};
    return rows * (notes & ASPECTS ? 2 : 1) * columns;
}

static inline uint32_t columns_of(uint64_t mip)
{
    return mip >> COLUMNS & 255;
}

static inline uint32_t piece_mips(uint64_t mip)
{
    return mip >> PIECE_MIPS & 255;
}

/* The segments of a range, from the first one of its resource on. */
static HDI_APART hdi_span span_of_bits(uint64_t mip, uint64_t layer, const hd_range *range)
{
    uint32_t aspects = mip & ASPECTS ? 2 : 1, columns = columns_of(mip);
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
    return (hdi_span){range->mip_base * columns_of(mip) + range->layer_base,
                      piece_mips(mip) == 1 ? range->mip_count : 1, layer == 1 ? range->layer_count : 1,
                      columns_of(mip)};
}

/* ---- segments ---- */

/* The same of a resource whose ranges are chained, which get their spans. 0: no memory. */
static HDI_APART uint32_t count_chained(const work *w, hdi_arena *arena, uint32_t res)
{
    marks *m = &w->marks[res];
    const hdi_chain chain = {(uint32_t)m->mip, (uint32_t)m->layer, w->range_next};
    *m = (marks){.mip = CHAINED, .cuts = hdi_cut_chained(w->decl, res, &chain, arena, w->out->range_span)};
    return m->cuts ? hdi_grid_pieces(m->cuts) : 0;
}

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
            uint32_t pieces = has_bits(w->decl, r) ? count_pieces(w, r) : count_chained(w, arena, r);
            if (pieces == 0)
                return;
            res_pieces[r] = pieces;
            sum += pieces - 1;
        }
    }
    w->part_segs[part] = sum;
}

static hdi_cuts list_bits(uint64_t bits, uint64_t listed[FEW + 1])
{
    uint32_t count = 0;
    for (uint64_t rest = bits; rest; rest &= rest - 1)
        listed[count++] = (uint64_t)__builtin_ctzll(rest);
    return (hdi_cuts){count, listed};
}

/* Each side whole, or cut at each number. */
static void fill_simple(const work *w, uint32_t res, hd_range *piece)
{
    const hdi_res_info *info = &w->decl->res_info[res];
    const uint32_t mips = piece_mips(w->marks[res].mip), layers = (uint32_t)w->marks[res].layer;
    const uint32_t rows = mips == 1 ? info->mips : 1, columns = columns_of(w->marks[res].mip);
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t column = 0; column < columns; column++)
            *piece++ = (hd_range){
                .mip_base = (uint16_t)row, .mip_count = (uint16_t)mips, .layer_base = column, .layer_count = layers};
    }
}

/* What the segments of a resource are. */
static HDI_APART void fill_pieces(const work *w, uint32_t res, uint32_t seg)
{
    marks *m = &w->marks[res];
    hd_range *piece = w->out->seg_range + seg;
    uint64_t listed[2][FEW + 1];
    hdi_grid g;
    if (m->mip & SIMPLE) {
        m->mip |= seg;
        fill_simple(w, res, piece);
        return;
    }
    if (m->mip & CHAINED)
        g = *m->cuts;
    else
        g = (hdi_grid){list_bits(m->mip & MIP_BITS, listed[0]), list_bits(m->layer, listed[1]),
                       m->mip & ASPECTS ? 2 : 1};
    const uint64_t *row = g.mip.at, *column = g.layer.at;
    bool is_buffer = (w->decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    for (uint32_t i = 0; i + 1 < g.mip.count; i++) {
        if (is_buffer) {
            *piece++ = (hd_range){.offset = row[i], .bytes = row[i + 1] - row[i]};
            continue;
        }
        for (uint32_t aspect = 0; aspect < g.aspects; aspect++) {
            for (uint32_t k = 0; k + 1 < g.layer.count; k++)
                *piece++ = (hd_range){.mip_base = (uint16_t)row[i],
                                      .mip_count = (uint16_t)(row[i + 1] - row[i]),
                                      .aspect = g.aspects == 1 ? 0
                                                : aspect       ? HD_ASPECT_STENCIL
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
static HDI_APART uint32_t find_of_range(const work *w, uint32_t range, uint32_t res, uint64_t *visits)
{
    const marks *m = &w->marks[res];
    const uint32_t *begin = &w->out->res_seg_begin[res];
    if (range == HDI_NONE) {
        *visits += begin[1] - begin[0];
        return HDI_NONE;
    }
    hdi_span *span = &w->out->range_span[range];
    hdi_span found = m->mip & CHAINED ? *span : span_of(m->mip, m->layer, &w->decl->range[range]);
    found.base += begin[0];
    if (found.rows * found.cols == 1)
        return found.base;
    *span = found;
    *visits += (uint64_t)found.rows * found.cols;
    return HDI_NONE;
}

/* Most are one piece of a simple resource. */
static HDI_INLINE uint32_t find_of_cut(const work *w, uint32_t range, uint32_t res, uint64_t *visits)
{
    const marks *m = &w->marks[res];
    if (range == HDI_NONE || !(m->mip & SIMPLE))
        return find_of_range(w, range, res, visits);
    const hd_range *of = &w->decl->range[range];
    if (of->mip_count != piece_mips(m->mip) || of->layer_count != (uint32_t)m->layer)
        return find_of_range(w, range, res, visits);
    return (uint32_t)m->mip + of->mip_base * columns_of(m->mip) + of->layer_base;
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
    if (crew->workers > 1)
        hdi_crew_ranges(crew, decl->res_count, GRAIN, clear_marks, &w);
    hdi_crew_ranges(crew, decl->range_count, GRAIN, mark_ranges, &w);
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
