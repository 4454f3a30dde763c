#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <inttypes.h>
#include <string.h>

#include "front.h"
#include "random.h"

/* Freeze against a model: cells of an image (mip, layer, aspect), or bytes of a buffer by the unit, are in one segment
 * if and only if no range has a boundary between them; a range's span is made of exactly the cells of the range. */

enum { CASES = 400, RANGES = 12, D32_S8 = 130, UNIT = 16, UNITS = 24, MOST_SEGS = 4096, LAYERS = 80, MIPS = 7 };

#define must(condition) cr_assert(condition, "HEDDLE_SEED=%" PRIu64, seed)

typedef struct frame {
    bool is_buffer, cut_aspects;
    uint32_t mips, layers;
    hd_range range[RANGES];
} frame;

static hd_range random_range(const frame *f, uint64_t *random)
{
    static const uint32_t aspects[] = {0, HD_ASPECT_DEPTH, HD_ASPECT_STENCIL};
    if (f->is_buffer) {
        uint32_t first = hdt_below(random, UNITS), count = 1 + hdt_below(random, UNITS - first);
        return (hd_range){.offset = first * UNIT, .bytes = count * UNIT};
    }
    hd_range range = {.mip_base = (uint16_t)hdt_below(random, f->mips)};
    range.mip_count = (uint16_t)(1 + hdt_below(random, hdt_below(random, 2) ? 1 : f->mips - range.mip_base));
    range.layer_base = hdt_below(random, f->layers);
    range.layer_count = 1 + hdt_below(random, hdt_below(random, 2) ? 1 : f->layers - range.layer_base);
    range.aspect = f->cut_aspects ? aspects[hdt_below(random, 3)] : 0;
    return range;
}

static bool holds(const frame *f, const hd_range *range, uint32_t mip, uint32_t layer, uint32_t aspect)
{
    if (f->is_buffer)
        return mip * UNIT >= range->offset && mip * UNIT < range->offset + range->bytes;
    return mip - range->mip_base < range->mip_count && layer - range->layer_base < range->layer_count &&
           (range->aspect == 0 || range->aspect == aspect);
}

/* Sides are cut on their own: a boundary of one range cuts the whole image along it. */
static bool cut_between(const frame *f, const bool used[RANGES], int which, uint32_t at)
{
    for (uint32_t i = 0; i < RANGES; i++) {
        const hd_range *r = &f->range[i];
        uint64_t begin = f->is_buffer ? r->offset / UNIT : which ? r->layer_base : r->mip_base;
        uint64_t end = begin + (f->is_buffer ? r->bytes / UNIT : which ? r->layer_count : r->mip_count);
        if (used[i] && (begin == at || end == at))
            return true;
    }
    return false;
}

static uint32_t pieces_of(const frame *f, const bool used[RANGES])
{
    uint32_t rows = 1, columns = 1, aspects = 1;
    for (uint32_t m = 1; m < f->mips; m++)
        rows += cut_between(f, used, 0, m);
    for (uint32_t l = 1; l < f->layers && !f->is_buffer; l++)
        columns += cut_between(f, used, 1, l);
    for (uint32_t i = 0; i < RANGES; i++)
        aspects = used[i] && f->range[i].aspect ? 2 : aspects;
    return rows * columns * aspects;
}

static void check(const frame *f, const hdi_decl *decl, const hdi_frozen *frozen, uint64_t seed)
{
    bool used[RANGES] = {false}; /* not of the whole */
    for (uint32_t u = 0; u < RANGES; u++)
        used[u] = decl->use_range[u] != HDI_NONE;
    must(frozen->seg_count == pieces_of(f, used) && frozen->seg_count < MOST_SEGS);
    for (uint32_t m = 0; m < f->mips; m++) {
        for (uint32_t cell = 0; cell < 2 * f->layers; cell++) {
            uint32_t layer = cell / 2, aspect = cell % 2 ? HD_ASPECT_STENCIL : HD_ASPECT_DEPTH, own = HDI_NONE;
            for (uint32_t s = 0; s < frozen->seg_count && frozen->seg_count > 1; s++) {
                if (!holds(f, &frozen->seg_range[s], m, layer, aspect))
                    continue;
                must(own == HDI_NONE);
                own = s;
            }
            own = frozen->seg_count == 1 ? 0 : own;
            must(own != HDI_NONE && frozen->seg_res[own] == 0);
            for (uint32_t u = 0; u < RANGES; u++) {
                hdi_span span = hdi_use_span(decl, frozen, u);
                bool in_span = false;
                for (uint32_t row = 0; row < span.rows; row++)
                    in_span |= own - (span.base + row * span.stride) < span.cols;
                must(in_span == holds(f, &f->range[u], m, layer, aspect));
                must(frozen->use_seg[u] == (span.rows * span.cols == 1 ? span.base : HDI_NONE));
            }
        }
    }
}

Test(freeze, segments_are_what_no_range_splits)
{
    for (uint64_t seed = hdt_seed(), end = seed + CASES; seed < end; seed++) {
        uint64_t random = seed;
        frame f = {.is_buffer = hdt_below(&random, 4) == 0, .cut_aspects = hdt_below(&random, 2)};
        f.mips = f.is_buffer ? UNITS : 1 + hdt_below(&random, MIPS);
        f.layers = f.is_buffer ? 1 : 1 + hdt_below(&random, hdt_below(&random, 2) ? 3 : LAYERS);
        hd_graph *graph;
        cr_assert(hd_graph_create(NULL, &graph) == HD_OK);
        hd_resource made =
            f.is_buffer
                ? hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = UNITS * UNIT})
                : hd_graph_image(graph,
                                 &(hd_image_desc){
                                     .width = 64, .height = 64, .format = D32_S8, .mips = f.mips, .layers = f.layers});
        for (uint32_t i = 0; i < RANGES; i++) {
            f.range[i] = random_range(&f, &random);
            hd_use use = {made, HD_TRANSFER_DST, .range = f.range[i]};
            hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .uses = &use, .use_count = 1});
        }
        cr_assert(hd_graph_error(graph)->result == HD_OK, "HEDDLE_SEED=%" PRIu64 ": %s", seed,
                  hd_graph_error(graph)->text);
        hdi_decl decl = hdi_graph_decl(graph);
        hdi_crew alone = {.workers = 1};
        hdi_arena arena;
        hdi_frozen frozen = {0};
        hdi_arena_init(&arena, NULL);
        must(hdi_freeze(&decl, &alone, &arena, &frozen) == HD_OK);
        check(&f, &decl, &frozen, seed);
        hdi_arena_free(&arena);
        hd_graph_destroy(graph);
    }
}
