#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "random.h"
#include "random_graph.h"
#include "tables.h"

/* Depth and stencil apart: an image of both is synchronized as if it were two images, one of depth and one of stencil.
 * So each random frame is declared in both ways, and the transitions of the two plans are compared piece by piece. (Not
 * where they stand: among several good places, that depends on the order in which they are looked at.) */

enum { D32 = 126, S8 = 127, D32_S8 = 130, IMAGES = 3, MIPS = 2, LAYERS = 2, PASSES = 20, MOST = 4096 };

static const uint32_t aspects[] = {HD_ASPECT_DEPTH, HD_ASPECT_STENCIL};

/* ---- one frame, declared in two ways ---- */

typedef struct frame {
    hd_graph *graph;
    bool transient;               /* made by the graph, and rendered to by it; else imports */
    bool together;                /* one image of both aspects */
    hd_resource image[IMAGES][2]; /* together: the same twice */
    hd_use uses[2 * IMAGES * 2];
    uint32_t use_count;
} frame;

static void make_images(frame *f)
{
    for (uint32_t i = 0; i < IMAGES; i++) {
        hd_import_desc desc = {
            .width = 64, .height = 64, .mips = MIPS, .layers = LAYERS, .initial_layout = 1, .final_layout = 1};
        for (uint32_t a = 0; a < 2; a++) {
            desc.format = f->together ? D32_S8 : a ? S8 : D32;
            f->image[i][a] = f->together && a ? f->image[i][0]
                             : f->transient   ? hd_graph_image(f->graph, &(hd_image_desc){.width = 64,
                                                                                          .height = 64,
                                                                                          .format = desc.format,
                                                                                          .mips = MIPS,
                                                                                          .layers = LAYERS})
                                              : hd_graph_import(f->graph, &desc);
        }
    }
}

/* aspect: 0, 1 or 2 for both. */
static void add_use(frame *f, uint32_t image, uint32_t aspect, hd_access access, hd_range range)
{
    if (f->together) {
        range.aspect = aspect < 2 ? aspects[aspect] : 0;
        f->uses[f->use_count++] = (hd_use){f->image[image][0], access, .range = range};
        return;
    }
    for (uint32_t a = 0; a < 2; a++) {
        if (aspect == 2 || aspect == a)
            f->uses[f->use_count++] = (hd_use){f->image[image][a], access, .range = range};
    }
}

static hd_range random_range(uint64_t *random)
{
    hd_range range = {0};
    if (hdt_below(random, 2))
        return range;
    range.mip_base = (uint16_t)hdt_below(random, MIPS);
    range.mip_count = (uint16_t)(1 + hdt_below(random, MIPS - range.mip_base));
    range.layer_base = hdt_below(random, LAYERS);
    range.layer_count = 1 + hdt_below(random, LAYERS - range.layer_base);
    return range;
}

static const hd_plan *compile(frame *f, uint64_t seed, const hd_compile_desc *desc)
{
    static const hd_access gfx[] = {HD_DEPTH_WRITE, HD_DEPTH_RW, HD_DEPTH_READ, HD_SAMPLED_GRAPHICS};
    static const hd_access copies[] = {HD_TRANSFER_SRC, HD_TRANSFER_DST};
    uint64_t random = seed;
    hd_graph_begin(f->graph);
    make_images(f);
    if (f->transient) {
        f->use_count = 0;
        for (uint32_t i = 0; i < IMAGES; i++)
            add_use(f, i, 2, HD_TRANSFER_DST, (hd_range){0});
        hd_graph_pass(f->graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .uses = f->uses, .use_count = f->use_count});
    }
    for (uint32_t p = 0; p < PASSES; p++) {
        /* Copies stay on graphics queues; what is sampled by compute changes its owner. */
        uint32_t kind = hdt_below(&random, 8);
        bool draws = kind > 1, copied = kind == 0;
        f->use_count = 0;
        for (uint32_t i = 0; i < IMAGES; i++) {
            uint32_t what = hdt_below(&random, 6); /* nothing, depth, stencil, both alike, both otherwise, nothing */
            hd_range range = random_range(&random);
            hd_access first = draws    ? gfx[hdt_below(&random, 4)]
                              : copied ? copies[hdt_below(&random, 2)]
                                       : HD_SAMPLED_COMPUTE;
            hd_access second = draws    ? gfx[hdt_below(&random, 4)]
                               : copied ? copies[hdt_below(&random, 2)]
                                        : HD_SAMPLED_COMPUTE;
            if (what >= 1 && what <= 3)
                add_use(f, i, what - 1, first, range);
            if (what == 4) {
                add_use(f, i, 0, first, range);
                add_use(f, i, 1, second, random_range(&random));
            }
        }
        bool root = hdt_below(&random, 3) == 0;
        hd_graph_pass(f->graph, &(hd_pass_desc){.type = draws    ? HD_PASS_GFX
                                                        : copied ? HD_PASS_TRANSFER
                                                                 : HD_PASS_COMPUTE,
                                                .root = root,
                                                .no_rendering = !f->transient,
                                                .uses = f->uses,
                                                .use_count = f->use_count});
    }
    const hd_plan *plan;
    cr_assert_eq(hdt_compile(f->graph, desc, &plan), HD_OK, "HEDDLE_SEED=%llu: %s", (unsigned long long)seed,
                 hd_graph_error(f->graph)->text);
    return plan;
}

/* ---- barriers of one plan, cut into single cells ---- */

typedef struct cell_barrier {
    uint64_t src_stages, src_access, dst_stages, dst_access;
    uint32_t image, aspect, mip, layer, old_layout, new_layout;
} cell_barrier;

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cell_barrier));
}

static uint32_t cut(const frame *f, const hd_plan *plan, cell_barrier *out)
{
    hd_plan_view v = hd_plan_read(plan);
    uint32_t count = 0;
    for (uint32_t i = 0; i < v.barrier_count; i++) {
        const hd_plan_barrier *b = &v.barriers[i];
        cell_barrier cell = {.src_stages = b->src_stages,
                             .src_access = b->src_access,
                             .dst_stages = b->dst_stages,
                             .dst_access = b->dst_access,
                             .image = b->resource,
                             .old_layout = b->old_layout,
                             .new_layout = b->new_layout};
        if (b->resource == HD_NONE)
            continue;
        for (uint32_t n = 0; n < 2u * b->range.mip_count * b->range.layer_count; n++) {
            uint32_t aspect = n % 2, at = n / 2;
            if (f->together && b->range.aspect && b->range.aspect != aspects[aspect])
                continue;
            if (!f->together && b->resource % 2 != aspect)
                continue;
            cell.image = f->together ? b->resource : b->resource / 2;
            cell.aspect = aspect;
            cell.mip = b->range.mip_base + at % b->range.mip_count;
            cell.layer = b->range.layer_base + at / b->range.mip_count;
            cr_assert_lt(count, MOST);
            out[count++] = cell;
        }
    }
    qsort(out, count, sizeof(*out), by_bytes);
    return count;
}

Test(aspect, as_if_they_were_two_images)
{
    static cell_barrier cells[2][MOST];
    uint64_t first = 1, count = 1500;
    hdt_seeds(&first, &count);
    frame f[2] = {{.together = false}, {.together = true}};
    const hd_compile_desc declared = {.order = HD_ORDER_DECLARED};
    cr_assert_eq(hd_graph_create(NULL, &f[0].graph), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &f[1].graph), HD_OK);
    uint32_t apart = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        const hd_plan *plan[2] = {compile(&f[0], seed, &declared), compile(&f[1], seed, &declared)};
        hd_plan_view v[2] = {hd_plan_read(plan[0]), hd_plan_read(plan[1])};
        cr_assert_eq(v[0].culled_count, v[1].culled_count, "HEDDLE_SEED=%llu", (unsigned long long)seed);
        cr_assert_eq(memcmp(v[0].culled, v[1].culled, v[0].culled_count * sizeof(uint32_t)), 0);
        cr_assert_eq(v[0].batch_count, v[1].batch_count, "HEDDLE_SEED=%llu", (unsigned long long)seed);
        uint32_t n[2] = {cut(&f[0], plan[0], cells[0]), cut(&f[1], plan[1], cells[1])};
        cr_assert_eq(n[0], n[1], "HEDDLE_SEED=%llu: %u and %u barriers of cells", (unsigned long long)seed, n[0], n[1]);
        cr_assert_eq(memcmp(cells[0], cells[1], n[0] * sizeof(cell_barrier)), 0, "HEDDLE_SEED=%llu",
                     (unsigned long long)seed);
        for (uint32_t b = 0; b < v[1].barrier_count; b++)
            apart += v[1].barriers[b].resource != HD_NONE && v[1].barriers[b].range.aspect;
    }
    if (count > 100)
        cr_expect_gt(apart, 1000, "hardly a barrier of one aspect");
    hd_graph_destroy(f[0].graph);
    hd_graph_destroy(f[1].graph);
}

/* Ownership of one aspect at a time, memory that changes hands, scopes: the verifier knows. */
Test(aspect, on_several_queues)
{
    static const hd_queue_desc queues[] = {
        {HD_QUEUE_GFX, 0}, {HD_QUEUE_TRANSFER, 1}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_GFX, 0}};
    uint64_t first = 1, count = 1000, moves = 0;
    hdt_seeds(&first, &count);
    frame f = {.together = true};
    cr_assert_eq(hd_graph_create(NULL, &f.graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        f.transient = seed % 4 != 0;
        hd_compile_desc desc = {.queues = queues,
                                .queue_count = 2 + (uint32_t)(seed % 3),
                                .order = (hd_order)(seed / 3 % 3),
                                .merge_rendering = seed / 9 % 2};
        hd_plan_view v = hd_plan_read(compile(&f, seed, &desc));
        for (uint32_t b = 0; b < v.barrier_count; b++)
            moves += v.barriers[b].src_family != v.barriers[b].dst_family && v.barriers[b].range.aspect;
    }
    if (count > 100)
        cr_expect_gt(moves, 100, "hardly an aspect that changes its owner: %d", (int)moves);
    hd_graph_destroy(f.graph);
}

/* ---- by hand ---- */

static hd_resource image(hd_graph *g, uint32_t format)
{
    return hd_graph_image(g, &(hd_image_desc){.width = 64, .height = 64, .format = format, .mips = 2});
}

static hd_graph *make_graph(void)
{
    hd_graph *g;
    cr_assert_eq(hd_graph_create(NULL, &g), HD_OK);
    return g;
}

Test(aspect, declared)
{
    static const struct {
        uint32_t format, aspect;
        hd_result result;
    } cases[] = {
        {D32, HD_ASPECT_STENCIL, HD_BAD_RANGE},
        {S8, HD_ASPECT_DEPTH, HD_BAD_RANGE},
        {D32_S8, 1, HD_BAD_RANGE},
        {37, HD_ASPECT_DEPTH, HD_BAD_RANGE},
        {D32_S8, 14, HD_BAD_RANGE},
        {D32, HD_ASPECT_DEPTH, HD_OK},
        {S8, HD_ASPECT_STENCIL, HD_OK},
        {D32_S8, 6, HD_OK},
        {D32_S8, 2, HD_OK},
    };
    hd_graph *g = make_graph();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hd_graph_begin(g);
        hd_resource a = image(g, cases[i].format);
        hd_graph_pass(g, &(hd_pass_desc){.uses = HD_USES({a, HD_DEPTH_WRITE, .range = {.aspect = cases[i].aspect}})});
        cr_expect_eq(hd_graph_error(g)->result, cases[i].result, "case %zu: %s", i, hd_graph_error(g)->text);
        hdi_decl decl = hdi_graph_decl(g);
        if (cases[i].result == HD_OK)
            cr_expect_eq(decl.use_range[0] == HDI_NONE, i + 1 < sizeof(cases) / sizeof(cases[0]), "all is the whole");
    }
    hd_graph_begin(g);
    hd_resource a = image(g, D32_S8);
    hd_graph_pass(g, &(hd_pass_desc){.uses = HD_USES({a, HD_DEPTH_WRITE, .range = {.aspect = HD_ASPECT_DEPTH}},
                                                     {a, HD_DEPTH_RW, .range = {.aspect = HD_ASPECT_STENCIL}})});
    const hd_plan *plan;
    cr_expect_eq(hdt_compile(g, NULL, &plan), HD_UNWRITTEN_READ, "no pass wrote the stencil");
    cr_expect_eq(hd_graph_error(g)->use, 1);
    hd_graph_begin(g);
    a = image(g, D32_S8);
    hd_graph_pass(g, &(hd_pass_desc){.uses = HD_USES({a, HD_DEPTH_WRITE, .range = {.aspect = HD_ASPECT_DEPTH}},
                                                     {a, HD_DEPTH_WRITE, .range = {.mip_count = 1}})});
    cr_expect_eq(hd_graph_error(g)->result, HD_CONFLICTING_USES);
    hd_graph_begin(g);
    a = image(g, D32_S8);
    hd_graph_pass(
        g, &(hd_pass_desc){.root = true, .uses = HD_USES({a, HD_DEPTH_WRITE, .range = {.aspect = HD_ASPECT_DEPTH}})});
    hd_graph_destroy(g);
}

/* Depth is only tested against and sampled while stencil is written: nothing moves but what must. */
Test(aspect, stencil_over_depth_that_is_read)
{
    hd_graph *g = make_graph();
    const hd_range depth = {.aspect = HD_ASPECT_DEPTH}, stencil = {.aspect = HD_ASPECT_STENCIL};
    hd_resource a = image(g, D32_S8);
    hd_graph_pass(g, &(hd_pass_desc){.uses = HD_USES({a, HD_DEPTH_WRITE})});
    hd_graph_pass(
        g, &(hd_pass_desc){.uses = HD_USES({a, HD_DEPTH_READ, .range = depth}, {a, HD_SAMPLED_GRAPHICS, .range = depth},
                                           {a, HD_DEPTH_RW, .range = stencil})});
    hd_graph_pass(g, &(hd_pass_desc){.root = true, .uses = HD_USES({a, HD_SAMPLED_GRAPHICS, .range = stencil})});
    const hd_plan *plan;
    cr_assert_eq(hdt_compile(g, &(hd_compile_desc){.order = HD_ORDER_DECLARED}, &plan), HD_OK);
    hd_plan_view v = hd_plan_read(plan);
    cr_assert_eq(v.scope_count, 2);
    const hd_plan_attachment *a0 = &v.attachments[v.scopes[1].attachment_begin];
    cr_assert_eq(v.scopes[1].attachment_count, 2);
    cr_expect(a0[0].load == 0 && a0[0].store == 1000301000, "depth is read");
    cr_expect(a0[1].load == 0 && a0[1].store == 0, "stencil is kept");
    uint32_t to_read_only = 0, to_sampled = 0;
    for (uint32_t b = 0; b < v.barrier_count; b++) {
        if (v.barriers[b].new_layout == 4)
            to_read_only += v.barriers[b].range.aspect == HD_ASPECT_DEPTH ? 1 : 100;
        if (v.barriers[b].new_layout == 5)
            to_sampled += v.barriers[b].range.aspect == HD_ASPECT_STENCIL ? 1 : 100;
    }
    cr_expect_eq(to_read_only, 1);
    cr_expect_eq(to_sampled, 1);

    size_t size;
    const void *data = hd_plan_data(plan, &size);
    hd_plan *broken = malloc(size);
    for (uint32_t b = 0; b < v.barrier_count; b++) {
        for (uint32_t other = 0; other <= HD_ASPECT_STENCIL && v.barriers[b].resource != HD_NONE; other += 2) {
            memcpy(broken, data, size);
            hd_plan_barrier *barrier = (hd_plan_barrier *)&hd_plan_read(broken).barriers[b];
            hd_result expect = barrier->range.aspect == other ? HD_OK : HD_PLAN_INVALID;
            barrier->range.aspect = other;
            cr_expect_eq(hd_plan_verify(g, broken, NULL), expect, "barrier %u of aspect %u", b, other);
        }
    }
    free(broken);

    FILE *stream = tmpfile();
    cr_assert_eq(hd_plan_write_json(g, plan, stream), HD_OK);
    size_t bytes = (size_t)ftell(stream), plan_bytes, copy_bytes;
    char *text = malloc(bytes), error[256] = "";
    rewind(stream);
    cr_assert_eq(fread(text, 1, bytes, stream), bytes);
    fclose(stream);
    hd_plan *copy;
    cr_assert_eq(hd_plan_read_json(g, text, bytes, NULL, &copy, error, sizeof(error)), HD_OK, "%s", error);
    const void *plan_data = hd_plan_data(plan, &plan_bytes), *copy_data = hd_plan_data(copy, &copy_bytes);
    cr_expect(plan_bytes == copy_bytes && memcmp(plan_data, copy_data, plan_bytes) == 0);
    hd_plan_free(copy, NULL);
    free(text);
    hd_graph_destroy(g);
}
