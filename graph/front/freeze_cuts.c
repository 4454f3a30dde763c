#include "freeze_cuts.h"

#include "hints.h"
#include "sort.h"

/* Boundaries of the ranges of a buffer, or of an image of too many layers for a word of bits, sorted and made unique;
 * and where each range stands among them. A few are put in order as they come, many are sorted. O(ranges log ranges) */

enum { FEW_RANGES = 16 };

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

/* Puts a boundary to those from the lowest on, at[*low]; the highest is none below it. They mostly come falling. */
static inline void add_cut(uint64_t *at, size_t *low, uint64_t value)
{
    size_t i = *low;
    if (value == at[i])
        return;
    if (HDI_UNLIKELY(value > at[i])) {
        while (at[i] < value)
            i++;
        if (at[i] == value)
            return;
        for (size_t k = *low; k < i; k++)
            at[k - 1] = at[k];
    }
    at[i - 1] = value;
    *low -= 1;
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

static inline size_t most_cuts(uint32_t ranges)
{
    return 2 * (size_t)ranges + 2;
}

/* Sorted unique boundaries, in `keys`, which has room for most_cuts; a count of 0: no memory. */
static hdi_cuts find_cuts(const hdi_decl *decl, const hdi_chain *chain, hdi_arena *arena, uint64_t *keys,
                          bool is_buffer, int which, uint64_t extent)
{
    size_t most = most_cuts(chain->count), low = most - 1;
    uint32_t n = 2;
    if (HDI_UNLIKELY(chain->count > FEW_RANGES)) {
        keys[0] = 0;
        keys[1] = extent;
        for (uint32_t r = chain->newest; r; r = chain->next[r - 1]) {
            side s = side_of(&decl->range[r - 1], is_buffer, which);
            keys[n++] = s.begin;
            keys[n++] = s.end;
        }
        return sort_cuts(arena, keys, &n) ? (hdi_cuts){n, keys} : (hdi_cuts){0};
    }
    keys[low] = extent;
    for (uint32_t r = chain->newest; r; r = chain->next[r - 1]) {
        side s = side_of(&decl->range[r - 1], is_buffer, which);
        add_cut(keys, &low, s.end);
        add_cut(keys, &low, s.begin);
    }
    add_cut(keys, &low, 0);
    return (hdi_cuts){(uint32_t)(most - low), keys + low};
}

/* Index of a boundary that is known to be there. */
static uint32_t find(const hdi_cuts *c, uint64_t value)
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

/* The same, mostly at a known place. */
static inline uint32_t find_near(const hdi_cuts *c, uint64_t value, uint32_t near)
{
    return HDI_LIKELY(c->at[near] == value) ? near : find(c, value);
}

/* The ranges of a buffer mostly end where the one behind begins, and are one piece each. */
static void span_bytes(const hdi_decl *decl, const hdi_chain *chain, const hdi_cuts *c, hdi_span *span)
{
    uint32_t near = c->count - 1;
    for (uint32_t r = chain->newest; r; r = chain->next[r - 1]) {
        const hd_range *range = &decl->range[r - 1];
        uint32_t end = find_near(c, range->offset + range->bytes, near), begin = find_near(c, range->offset, end - 1);
        span[r - 1] = (hdi_span){begin, 1, end - begin, 0};
        near = begin;
    }
}

static void span_pieces(const hdi_decl *decl, const hdi_chain *chain, const hdi_grid *g, hdi_span *span)
{
    uint32_t columns = g->layer.count - 1;
    for (uint32_t r = chain->newest; r; r = chain->next[r - 1]) {
        const hd_range *range = &decl->range[r - 1];
        side mip = side_of(range, false, 0), layer = side_of(range, false, 1);
        uint32_t first = find(&g->mip, mip.begin), count = find(&g->mip, mip.end) - first;
        uint32_t column = find(&g->layer, layer.begin), layers = find(&g->layer, layer.end) - column;
        uint32_t row = first * g->aspects + (range->aspect == HD_ASPECT_STENCIL);
        span[r - 1] = range->aspect ? (hdi_span){row * columns + column, count, layers, g->aspects * columns}
                                    : (hdi_span){row * columns + column, count * g->aspects, layers, columns};
    }
}

const hdi_grid *hdi_cut_chained(const hdi_decl *decl, uint32_t res, const hdi_chain *chain, hdi_arena *arena,
                                hdi_span *span)
{
    const hdi_res_info *info = &decl->res_info[res];
    const bool is_buffer = (decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    const size_t most = most_cuts(chain->count);
    hdi_grid *g = hdi_arena_alloc(arena, sizeof(*g) + (is_buffer ? 1 : 2) * most * sizeof(uint64_t));
    if (!g)
        return NULL;
    uint64_t *keys = (uint64_t *)(g + 1);
    *g = (hdi_grid){find_cuts(decl, chain, arena, keys, is_buffer, 0, is_buffer ? info->bytes : info->mips),
                    {2, NULL}, /* one column */
                    1};
    if (!is_buffer)
        g->layer = find_cuts(decl, chain, arena, keys + most, false, 1, info->layers);
    if (arena->failed)
        return NULL;
    if (is_buffer) {
        span_bytes(decl, chain, &g->mip, span);
        return g;
    }
    for (uint32_t r = chain->newest; r; r = chain->next[r - 1])
        g->aspects = decl->range[r - 1].aspect ? 2 : g->aspects;
    span_pieces(decl, chain, g, span);
    return g;
}
