#include "phases.h"

#include <string.h>

#include "csr.h"
#include "sort.h"

/* Freeze: splits each resource into segments, the pieces that no use splits: a grid of mips and layers for images (with
 * a row for depth and one for stencil at each mip, where a use names one of them), intervals for buffers. A resource
 * that is only used whole is one segment, and costs nothing but its number. Ranged resources: boundaries of their
 * ranges, sorted and made unique. O(uses + ranges log). By ranges of resources: pieces of each are counted, then numbered
 * behind those before; and by ranges of uses. */

enum { GRAIN = 1024 };

typedef struct cuts {
    uint32_t count;   /* boundaries; pieces + 1 */
    uint32_t aspects; /* of mips: 2 where depth and stencil are apart, else 1 */
    const uint64_t *at;
} cuts;

typedef struct work {
    const hdi_decl *decl;
    hdi_arena *arena;
    uint32_t *range_res;
    uint32_t *res_range_begin, *res_range; /* ranges of each resource */
    cuts (*res_cuts)[2]; /* of each ranged resource, at the place of its first range */
    hdi_frozen *out;
    const hdi_crew *crew;
    bool failed[HDI_MOST_PARTS];
} work;

/* The boundaries of mips or layers below 64 are the bits of a word: no sort. */
static cuts find_few_cuts(const work *w, hdi_arena *arena, uint32_t res, int part, uint32_t extent)
{
    uint64_t bits = 1 | UINT64_C(1) << extent;
    for (uint32_t i = w->res_range_begin[res]; i < w->res_range_begin[res + 1]; i++) {
        const hd_range *range = &w->decl->range[w->res_range[i]];
        uint32_t base = part ? range->layer_base : range->mip_base;
        bits |= UINT64_C(1) << base | UINT64_C(1) << (base + (part ? range->layer_count : range->mip_count));
    }
    uint64_t *at = HDI_ARENA_ARRAY(arena, uint64_t, extent + 1);
    uint32_t count = 0;
    for (uint32_t value = 0; at && value <= extent; value++) {
        at[count] = value;
        count += bits >> value & 1;
    }
    return (cuts){count, 1, at};
}

/* Sorted unique boundaries, kept in the arena. part 0: mips or bytes, 1: layers. */
static cuts find_cuts(const work *w, hdi_arena *arena, uint32_t res, int part)
{
    const hdi_decl *decl = w->decl;
    const hdi_res_info *info = &decl->res_info[res];
    bool is_buffer = (decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    if (!is_buffer && (part ? info->layers : info->mips) < 64)
        return find_few_cuts(w, arena, res, part, part ? info->layers : info->mips);
    uint32_t n = 0, most = 2 * (w->res_range_begin[res + 1] - w->res_range_begin[res]) + 2;
    uint64_t *keys = HDI_ARENA_ARRAY(arena, uint64_t, most);
    hdi_arena_mark mark = hdi_arena_here(arena);
    uint64_t *scratch_keys = HDI_ARENA_ARRAY(arena, uint64_t, most);
    uint32_t *values = HDI_ARENA_ZEROED(arena, uint32_t, most), *scratch_values = HDI_ARENA_ARRAY(arena, uint32_t, most);
    if (arena->failed)
        return (cuts){0};
    keys[n++] = 0;
    keys[n++] = is_buffer ? info->bytes : part ? info->layers : info->mips;
    for (uint32_t i = w->res_range_begin[res]; i < w->res_range_begin[res + 1]; i++) {
        const hd_range *range = &decl->range[w->res_range[i]];
        uint64_t base = is_buffer ? range->offset : part ? range->layer_base : range->mip_base;
        uint64_t count = is_buffer ? range->bytes : part ? range->layer_count : range->mip_count;
        keys[n++] = base;
        keys[n++] = base + count;
    }
    hdi_sort_u64(keys, values, scratch_keys, scratch_values, n);
    uint32_t unique = 1;
    for (uint32_t i = 1; i < n; i++) {
        if (keys[i] != keys[unique - 1])
            keys[unique++] = keys[i];
    }
    hdi_arena_keep(arena, mark, NULL, 0);
    return (cuts){unique, 1, keys};
}

/* Index of a boundary that is known to be there. */
static uint32_t find(const cuts *c, uint64_t value)
{
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
static uint32_t split(const work *w, hdi_arena *arena, uint32_t res, hdi_span *range_span, cuts out[2])
{
    const hdi_decl *decl = w->decl;
    bool is_buffer = (decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    out[0] = find_cuts(w, arena, res, 0);
    out[1] = is_buffer ? (cuts){2, 1, NULL} : find_cuts(w, arena, res, 1);
    if (!out[0].at || (!is_buffer && !out[1].at))
        return 0;
    uint32_t columns = out[1].count - 1;
    for (uint32_t i = w->res_range_begin[res]; i < w->res_range_begin[res + 1] && !is_buffer; i++)
        out[0].aspects = w->decl->range[w->res_range[i]].aspect ? 2 : out[0].aspects;
    uint32_t aspects = out[0].aspects;
    for (uint32_t i = w->res_range_begin[res]; i < w->res_range_begin[res + 1]; i++) {
        uint32_t r = w->res_range[i];
        const hd_range *range = &decl->range[r];
        if (is_buffer) {
            uint32_t first = find(&out[0], range->offset);
            range_span[r] = (hdi_span){first, 1, find(&out[0], range->offset + range->bytes) - first, 0};
            continue;
        }
        uint32_t mip = find(&out[0], range->mip_base), layer = find(&out[1], range->layer_base);
        uint32_t mips = find(&out[0], (uint64_t)range->mip_base + range->mip_count) - mip;
        uint32_t layers = find(&out[1], (uint64_t)range->layer_base + range->layer_count) - layer;
        uint32_t row = mip * aspects + (range->aspect == HD_ASPECT_STENCIL);
        range_span[r] = range->aspect ? (hdi_span){row * columns + layer, mips, layers, aspects * columns}
                                      : (hdi_span){row * columns + layer, mips * aspects, layers, columns};
    }
    return (out[0].count - 1) * aspects * columns;
}

static hd_range piece(bool is_buffer, const cuts *c, uint32_t local)
{
    if (is_buffer)
        return (hd_range){.offset = c[0].at[local], .bytes = c[0].at[local + 1] - c[0].at[local]};
    uint32_t columns = c[1].count - 1, row = local / columns, layer = local % columns, mip = row / c[0].aspects;
    uint32_t aspect = row % c[0].aspects ? HD_ASPECT_STENCIL : HD_ASPECT_DEPTH;
    return (hd_range){.mip_base = (uint16_t)c[0].at[mip],
                      .mip_count = (uint16_t)(c[0].at[mip + 1] - c[0].at[mip]),
                      .aspect = c[0].aspects == 2 ? aspect : 0,
                      .layer_base = (uint32_t)c[1].at[layer],
                      .layer_count = (uint32_t)(c[1].at[layer + 1] - c[1].at[layer])};
}

/* The resource of each range. */
static void find_owners(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)part;
    for (uint32_t u = begin; u < end; u++) {
        if (w->decl->use_range[u] != HDI_NONE)
            w->range_res[w->decl->use_range[u]] = w->decl->use_res[u];
    }
}

static bool prepare(work *w, hdi_frozen *out)
{
    const hdi_decl *decl = w->decl;
    hdi_arena *arena = w->arena;
    out->res_seg_begin = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count + 1);
    out->range_span = HDI_ARENA_ARRAY(arena, hdi_span, decl->range_count);
    w->range_res = HDI_ARENA_ARRAY(arena, uint32_t, decl->range_count);
    w->res_range_begin = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count + 1);
    w->res_range = HDI_ARENA_ARRAY(arena, uint32_t, decl->range_count);
    w->res_cuts = hdi_arena_array(arena, decl->range_count, sizeof(*w->res_cuts));
    if (arena->failed)
        return false;
    hdi_crew_ranges(w->crew, decl->use_count, 4 * GRAIN, find_owners, w);
    hdi_csr_build(w->range_res, decl->range_count, decl->res_count, w->res_range_begin, w->res_range);
    return true;
}

/* Pieces of each resource, in place of its first segment. */
static void split_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work *w = user;
    hdi_arena *arena = w->crew->workers > 1 ? &w->crew->arena[part] : w->arena;
    w->failed[part] = false;
    for (uint32_t r = begin; r < end && !w->failed[part]; r++) {
        uint32_t pieces = 1, first = w->res_range_begin[r];
        if (first != w->res_range_begin[r + 1])
            pieces = split(w, arena, r, w->out->range_span, w->res_cuts[first]);
        w->out->res_seg_begin[r] = pieces;
        w->failed[part] = pieces == 0;
    }
}

/* Numbers the segments of all resources. */
static hd_result number_segments(work *w, hdi_frozen *out)
{
    const hdi_decl *decl = w->decl;
    uint64_t seg_count = 0;
    uint32_t ranges = hdi_range_count(w->crew, decl->res_count, GRAIN);
    hdi_crew_ranges(w->crew, decl->res_count, GRAIN, split_range, w);
    for (uint32_t part = 0; part < ranges; part++) {
        if (w->failed[part])
            return HD_OUT_OF_MEMORY;
    }
    for (uint32_t r = 0; r < decl->res_count; r++) {
        uint32_t pieces = out->res_seg_begin[r];
        out->res_seg_begin[r] = (uint32_t)seg_count;
        seg_count += pieces;
        if (seg_count > UINT32_MAX / 4)
            return HD_TOO_LARGE;
    }
    out->res_seg_begin[decl->res_count] = out->seg_count = (uint32_t)seg_count;
    return HD_OK;
}

static void fill_range(uint32_t range_begin, uint32_t range_end, uint32_t part, void *user)
{
    const work *w = user;
    const hdi_decl *decl = w->decl;
    hdi_frozen *out = w->out;
    (void)part;
    for (uint32_t r = range_begin; r < range_end; r++) {
        uint32_t begin = out->res_seg_begin[r], end = out->res_seg_begin[r + 1], first = w->res_range_begin[r];
        bool is_ranged = first != w->res_range_begin[r + 1];
        out->seg_res[begin] = r;
        for (uint32_t i = first; i < w->res_range_begin[r + 1]; i++)
            out->range_span[w->res_range[i]].base += begin;
        for (uint32_t seg = begin; is_ranged && seg < end; seg++) {
            out->seg_res[seg] = r;
            out->seg_range[seg] = piece((decl->res_flags[r] & HDI_RES_BUFFER) != 0, w->res_cuts[first], seg - begin);
        }
    }
}

static bool fill_segments(work *w, hdi_frozen *out)
{
    out->seg_res = HDI_ARENA_ARRAY(w->arena, uint32_t, out->seg_count);
    out->seg_range = HDI_ARENA_ARRAY(w->arena, hd_range, out->seg_count);
    if (w->arena->failed)
        return false;
    hdi_crew_ranges(w->crew, w->decl->res_count, GRAIN, fill_range, w);
    return true;
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

typedef struct use_work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    uint32_t *use_seg;
    uint64_t more[HDI_MOST_PARTS]; /* visits of a part that are not numbered as their uses are */
} use_work;

static void find_segments(uint32_t first, uint32_t end, uint32_t part, void *user)
{
    use_work *w = user;
    const hdi_decl *decl = w->decl;
    const uint32_t *begin = w->frozen->res_seg_begin;
    uint64_t more = 0;
    for (uint32_t u = first; u < end; u++) {
        uint32_t range = decl->use_range[u], res = decl->use_res[u], seg = begin[res], count = begin[res + 1] - seg;
        if (range != HDI_NONE) {
            seg = w->frozen->range_span[range].base;
            count = w->frozen->range_span[range].rows * w->frozen->range_span[range].cols;
        }
        w->use_seg[u] = count == 1 ? seg : HDI_NONE;
        more += count == 1 ? 0 : count;
    }
    w->more[part] = more;
}

static hd_result find_use_segments(const hdi_decl *decl, const hdi_crew *crew, hdi_arena *arena, hdi_frozen *frozen)
{
    use_work w = {.decl = decl, .frozen = frozen, .use_seg = HDI_ARENA_ARRAY(arena, uint32_t, decl->use_count)};
    uint64_t visits = decl->use_count;
    if (!w.use_seg)
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(crew, decl->use_count, 4 * GRAIN, find_segments, &w);
    for (uint32_t k = 0, parts = hdi_range_count(crew, decl->use_count, 4 * GRAIN); k < parts; k++)
        visits += w.more[k];
    if (visits > UINT32_MAX / 4)
        return HD_TOO_LARGE;
    frozen->visit_count = (uint32_t)visits;
    frozen->use_seg = w.use_seg;
    return HD_OK;
}

hd_result hdi_freeze(const hdi_decl *decl, const hdi_crew *crew, hdi_arena *arena, hdi_frozen *out)
{
    if (decl->range_count == 0)
        return freeze_whole(decl, arena, out);
    work w = {.decl = decl, .arena = arena, .out = out, .crew = crew};
    if (!prepare(&w, out))
        return HD_OUT_OF_MEMORY;
    hd_result result = number_segments(&w, out);
    if (result != HD_OK)
        return result;
    return fill_segments(&w, out) ? find_use_segments(decl, crew, arena, out) : HD_OUT_OF_MEMORY;
}
