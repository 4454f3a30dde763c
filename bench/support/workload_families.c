#include "workload_record.h"

/* The six families. The order in which random numbers are drawn is part of what they are: a seed names a graph. */

enum { /* VkFormat */
       R8 = 9,
       RGBA8 = 37,
       BGRA8 = 44,
       RG16F = 83,
       RGBA16F = 97,
       R32F = 100,
       D32F = 126,
};

#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)

static hd_range mips_of(uint32_t mip_base, uint32_t mip_count, uint32_t layer_base, uint32_t layer_count)
{
    return (hd_range){
        .mip_base = mip_base, .mip_count = mip_count, .layer_base = layer_base, .layer_count = layer_count};
}

static hd_range bytes_of(uint64_t offset, uint64_t bytes)
{
    return (hd_range){.offset = offset, .bytes = bytes};
}

static const hdb_pass_options as_root = {.root = true};

/* ---- deferred ---- */

typedef struct view {
    uint32_t instances, arguments, depth, albedo, normal, motion, shadows;
} view;

enum { WIDTH = 1920, HEIGHT = 1080, SHADOW_COUNT = 4, HIZ_MIPS = 6 };

/* Upload, cull on the GPU, depth, G-buffer, shadow maps. */
static void declare_geometry(hdb_workload *w, view *v)
{
    uint32_t upload = hdb_buffer(w, MIB);
    v->instances = hdb_buffer(w, 4 * MIB);
    v->arguments = hdb_buffer(w, 64 * KIB);
    HDB_PASS(w, HD_PASS_TRANSFER, {upload, HD_TRANSFER_DST});
    HDB_PASS(w, HD_PASS_COMPUTE, {upload, HD_STORAGE_READ_COMPUTE}, {v->instances, HD_STORAGE_WRITE_COMPUTE},
             {v->arguments, HD_STORAGE_WRITE_COMPUTE});
    v->depth = hdb_image(w, WIDTH, HEIGHT, D32F, 1, 1);
    v->albedo = hdb_image(w, WIDTH, HEIGHT, RGBA8, 1, 1);
    v->normal = hdb_image(w, WIDTH, HEIGHT, RGBA16F, 1, 1);
    v->motion = hdb_image(w, WIDTH, HEIGHT, RG16F, 1, 1);
    HDB_PASS(w, HD_PASS_GFX, {v->instances, HD_VERTEX_READ}, {v->arguments, HD_INDIRECT_READ},
             {v->depth, HD_DEPTH_WRITE});
    HDB_PASS(w, HD_PASS_GFX, {v->instances, HD_VERTEX_READ}, {v->arguments, HD_INDIRECT_READ}, {v->depth, HD_DEPTH_RW},
             {v->albedo, HD_COLOR_WRITE}, {v->normal, HD_COLOR_WRITE}, {v->motion, HD_COLOR_WRITE});
    v->shadows = hdb_image(w, 2048, 2048, D32F, 1, SHADOW_COUNT);
    for (uint32_t s = 0; s < SHADOW_COUNT; s++)
        HDB_PASS(w, HD_PASS_GFX, {v->instances, HD_VERTEX_READ}, {v->arguments, HD_INDIRECT_READ},
                 {v->shadows, HD_DEPTH_WRITE, mips_of(0, 1, s, 1)});
}

/* Depth pyramid, ambient occlusion, light clusters, shading. Returns the lit image. */
static uint32_t declare_light(hdb_workload *w, const view *v)
{
    uint32_t hiz = hdb_image(w, WIDTH / 2, HEIGHT / 2, R32F, HIZ_MIPS, 1);
    HDB_PASS(w, HD_PASS_COMPUTE, {v->depth, HD_SAMPLED_COMPUTE}, {hiz, HD_STORAGE_WRITE_COMPUTE, mips_of(0, 1, 0, 1)});
    for (uint32_t m = 1; m < HIZ_MIPS; m++)
        HDB_PASS(w, HD_PASS_COMPUTE, {hiz, HD_SAMPLED_COMPUTE, mips_of(m - 1, 1, 0, 1)},
                 {hiz, HD_STORAGE_WRITE_COMPUTE, mips_of(m, 1, 0, 1)});
    uint32_t ao = hdb_image(w, WIDTH / 2, HEIGHT / 2, R8, 1, 1);
    HDB_PASS(w, HD_PASS_COMPUTE, {hiz, HD_SAMPLED_COMPUTE}, {v->normal, HD_SAMPLED_COMPUTE},
             {ao, HD_STORAGE_WRITE_COMPUTE});
    uint32_t smooth_ao = hdb_image(w, WIDTH / 2, HEIGHT / 2, R8, 1, 1);
    HDB_PASS(w, HD_PASS_COMPUTE, {ao, HD_SAMPLED_COMPUTE}, {smooth_ao, HD_STORAGE_WRITE_COMPUTE});
    uint32_t clusters = hdb_buffer(w, 2 * MIB);
    HDB_PASS(w, HD_PASS_COMPUTE, {v->depth, HD_SAMPLED_COMPUTE}, {clusters, HD_STORAGE_WRITE_COMPUTE});
    uint32_t hdr = hdb_image(w, WIDTH, HEIGHT, RGBA16F, 1, 1);
    HDB_PASS(w, HD_PASS_COMPUTE, {v->albedo, HD_SAMPLED_COMPUTE}, {v->normal, HD_SAMPLED_COMPUTE},
             {v->depth, HD_SAMPLED_COMPUTE}, {v->shadows, HD_SAMPLED_COMPUTE}, {smooth_ao, HD_SAMPLED_COMPUTE},
             {clusters, HD_STORAGE_READ_COMPUTE}, {hdr, HD_STORAGE_WRITE_COMPUTE});
    HDB_PASS(w, HD_PASS_GFX, {v->depth, HD_DEPTH_READ}, {hdr, HD_COLOR_RW}, {v->instances, HD_VERTEX_READ});
    return hdr;
}

/* Temporal accumulation into an image from outside, bloom, exposure, the picture. */
static void declare_picture(hdb_workload *w, const view *v, uint32_t hdr, uint32_t back)
{
    uint32_t history = hdb_target(w, WIDTH, HEIGHT, RGBA16F);
    uint32_t taa = hdb_image(w, WIDTH, HEIGHT, RGBA16F, 1, 1), from = taa, down[5] = {0};
    HDB_PASS(w, HD_PASS_COMPUTE, {hdr, HD_SAMPLED_COMPUTE}, {history, HD_SAMPLED_COMPUTE},
             {v->motion, HD_SAMPLED_COMPUTE}, {taa, HD_STORAGE_WRITE_COMPUTE});
    HDB_PASS(w, HD_PASS_TRANSFER, {taa, HD_TRANSFER_SRC}, {history, HD_TRANSFER_DST});
    for (uint32_t m = 1; m < 5; m++) {
        down[m] = hdb_image(w, WIDTH >> m, HEIGHT >> m, RGBA16F, 1, 1);
        HDB_PASS(w, HD_PASS_COMPUTE, {from, HD_SAMPLED_COMPUTE}, {down[m], HD_STORAGE_WRITE_COMPUTE});
        from = down[m];
    }
    for (uint32_t m = 3; m > 0; m--) {
        uint32_t up = hdb_image(w, WIDTH >> m, HEIGHT >> m, RGBA16F, 1, 1);
        HDB_PASS(w, HD_PASS_COMPUTE, {from, HD_SAMPLED_COMPUTE}, {down[m], HD_SAMPLED_COMPUTE},
                 {up, HD_STORAGE_WRITE_COMPUTE});
        from = up;
    }
    uint32_t luminance = hdb_buffer(w, 256);
    HDB_PASS(w, HD_PASS_COMPUTE, {taa, HD_SAMPLED_COMPUTE}, {luminance, HD_STORAGE_WRITE_COMPUTE});
    uint32_t unread = hdb_image(w, WIDTH, HEIGHT, RGBA8, 1, 1);
    if (hdb_random(&w->random) < 0.5) /* a debug view: culled */
        HDB_PASS(w, HD_PASS_GFX, {v->normal, HD_SAMPLED_GRAPHICS}, {unread, HD_COLOR_WRITE});
    HDB_PASS(w, HD_PASS_GFX, {taa, HD_SAMPLED_GRAPHICS}, {from, HD_SAMPLED_GRAPHICS}, {luminance, HD_UNIFORM_READ},
             {back, HD_COLOR_RW});
}

static void make_deferred(hdb_workload *w, uint32_t pass_count)
{
    uint32_t back = hdb_target(w, WIDTH, HEIGHT, BGRA8);
    HDB_PASS(w, HD_PASS_GFX, {back, HD_COLOR_WRITE});
    while (w->pass.count < pass_count - 1 && !w->failed) {
        view v;
        declare_geometry(w, &v);
        declare_picture(w, &v, declare_light(w, &v), back);
    }
    HDB_PASS_WITH(w, HD_PASS_GFX, as_root, {back, HD_PRESENT});
}

/* ---- layered ---- */

enum { LAYER_WIDTH = 16, POOL = 4 * LAYER_WIDTH };

/* Outputs of the newest layers, newest layer first. */
typedef struct pool {
    uint32_t item[POOL + 2 * LAYER_WIDTH], count;
    uint32_t layer[2 * LAYER_WIDTH], layer_count;
} pool;

static void end_layer(pool *p)
{
    uint32_t old[POOL], old_count = p->count;

    for (uint32_t i = 0; i < old_count; i++)
        old[i] = p->item[i];
    p->count = 0;
    for (uint32_t i = 0; i < p->layer_count; i++)
        p->item[p->count++] = p->layer[i];
    for (uint32_t i = 0; i < old_count && p->count < POOL; i++)
        p->item[p->count++] = old[i];
    p->layer_count = 0;
}

/* An image or a buffer that the pass writes. */
static void write_output(hdb_workload *w, pool *p, bool compute, hdb_use *out)
{
    static const uint32_t sizes[][2] = {{1920, 1080}, {960, 540}, {480, 270}, {2048, 2048}, {512, 512}};
    static const uint32_t formats[] = {RGBA8, RGBA16F, R32F, RG16F};
    static const uint32_t lengths[] = {4096, 65536, 1 << 20};
    const uint32_t *size = sizes[hdb_below(&w->random, 5)];
    hd_access access = compute ? HD_STORAGE_WRITE_COMPUTE : HD_COLOR_WRITE;
    uint32_t resource;

    if (compute && hdb_random(&w->random) < 0.3) {
        resource = hdb_buffer(w, lengths[hdb_below(&w->random, 3)]);
    } else {
        resource = hdb_image(w, size[0], size[1], formats[hdb_below(&w->random, 4)], 1, 1);
        p->layer[p->layer_count++] = resource;
    }
    *out = (hdb_use){.resource = resource, .access = (uint16_t)access};
}

static void layered_pass(hdb_workload *w, pool *p)
{
    uint32_t scratch[512], picked[4];
    hdb_use outputs[2];
    bool compute = hdb_below(&w->random, 3) == 2;
    uint32_t read_count = hdb_between(&w->random, 1, 4);

    read_count = read_count < p->count ? read_count : p->count;
    hdb_sample(&w->random, p->count, read_count, scratch, picked);
    uint32_t write_count = hdb_between(&w->random, 1, 2);
    for (uint32_t i = 0; i < write_count; i++)
        write_output(w, p, compute, &outputs[i]);
    hdb_begin_pass(w, compute ? HD_PASS_COMPUTE : HD_PASS_GFX, (hdb_pass_options){0});
    for (uint32_t i = 0; i < read_count; i++)
        hdb_add_use(w, p->item[picked[i]], compute ? HD_SAMPLED_COMPUTE : HD_SAMPLED_GRAPHICS);
    for (uint32_t i = 0; i < write_count; i++)
        hdb_add_use(w, outputs[i].resource, (hd_access)outputs[i].access);
}

static void make_layered(hdb_workload *w, uint32_t pass_count)
{
    uint32_t scratch[512], picked[8];
    pool p = {.count = 0};

    while (w->pass.count < pass_count - 1 && !w->failed) {
        uint32_t left = pass_count - 1 - w->pass.count, width = left < LAYER_WIDTH ? left : LAYER_WIDTH;
        for (uint32_t i = 0; i < width; i++)
            layered_pass(w, &p);
        end_layer(&p);
    }
    uint32_t out = hdb_target(w, 1920, 1080, BGRA8), read_count = p.count < 8 ? p.count : 8;
    hdb_sample(&w->random, p.count, read_count, scratch, picked);
    hdb_begin_pass(w, HD_PASS_GFX, as_root);
    for (uint32_t i = 0; i < read_count; i++)
        hdb_add_use(w, p.item[picked[i]], HD_SAMPLED_GRAPHICS);
    hdb_add_use(w, out, HD_COLOR_WRITE);
}

/* ---- chain and fanout ---- */

static void make_chain(hdb_workload *w, uint32_t pass_count)
{
    uint32_t before = hdb_image(w, WIDTH, HEIGHT, RGBA16F, 1, 1);
    HDB_PASS(w, HD_PASS_GFX, {before, HD_COLOR_WRITE});
    while (w->pass.count < pass_count - 1 && !w->failed) {
        uint32_t next = hdb_image(w, WIDTH, HEIGHT, RGBA16F, 1, 1);
        HDB_PASS(w, HD_PASS_GFX, {before, HD_SAMPLED_GRAPHICS}, {next, HD_COLOR_WRITE});
        before = next;
    }
    uint32_t out = hdb_target(w, WIDTH, HEIGHT, BGRA8);
    HDB_PASS_WITH(w, HD_PASS_GFX, as_root, {before, HD_SAMPLED_GRAPHICS}, {out, HD_COLOR_WRITE});
}

static void make_fanout(hdb_workload *w, uint32_t pass_count)
{
    while (w->pass.count < pass_count - 1 && !w->failed) {
        uint32_t map = hdb_image(w, 1024, 1024, D32F, 1, 1);
        HDB_PASS(w, HD_PASS_GFX, {map, HD_DEPTH_WRITE});
    }
    uint32_t map_count = w->resource.count, out = hdb_target(w, WIDTH, HEIGHT, BGRA8);
    hdb_begin_pass(w, HD_PASS_GFX, as_root);
    for (uint32_t i = 0; i < map_count; i++)
        hdb_add_use(w, i, HD_SAMPLED_GRAPHICS);
    hdb_add_use(w, out, HD_COLOR_WRITE);
}

/* ---- async ---- */

static void make_async(hdb_workload *w, uint32_t pass_count)
{
    uint32_t image = hdb_image(w, WIDTH, HEIGHT, RGBA16F, 1, 1);
    HDB_PASS(w, HD_PASS_GFX, {image, HD_COLOR_WRITE});
    uint32_t buffer = hdb_buffer(w, 8 * MIB);
    HDB_PASS(w, HD_PASS_COMPUTE, {buffer, HD_STORAGE_WRITE_COMPUTE});
    while (w->pass.count < pass_count - 4 && !w->failed) {
        for (int i = 0; i < 8 && w->pass.count < pass_count - 3; i++) {
            uint32_t next_image = hdb_image(w, WIDTH, HEIGHT, RGBA16F, 1, 1);
            HDB_PASS(w, HD_PASS_GFX, {image, HD_SAMPLED_GRAPHICS}, {next_image, HD_COLOR_WRITE});
            image = next_image;
            uint32_t next_buffer = hdb_buffer(w, 8 * MIB);
            HDB_PASS(w, HD_PASS_COMPUTE, {buffer, HD_STORAGE_READ_COMPUTE}, {next_buffer, HD_STORAGE_WRITE_COMPUTE});
            buffer = next_buffer;
        }
        uint32_t upload = hdb_buffer(w, MIB);
        HDB_PASS(w, HD_PASS_TRANSFER, {upload, HD_TRANSFER_DST});
        uint32_t joined = hdb_image(w, WIDTH, HEIGHT, RGBA16F, 1, 1);
        HDB_PASS(w, HD_PASS_GFX, {image, HD_SAMPLED_GRAPHICS}, {buffer, HD_VERTEX_READ}, {upload, HD_UNIFORM_READ},
                 {joined, HD_COLOR_WRITE});
        image = joined;
    }
    uint32_t out = hdb_target(w, WIDTH, HEIGHT, BGRA8);
    HDB_PASS_WITH(w, HD_PASS_GFX, as_root, {image, HD_SAMPLED_GRAPHICS}, {buffer, HD_VERTEX_READ},
                  {out, HD_COLOR_WRITE});
}

/* ---- temporal ---- */

/* Host writes into parts of a staging buffer, copies, a simulation that remembers. Returns what it simulates. */
static uint32_t declare_simulation(hdb_workload *w)
{
    uint32_t staging = hdb_buffer(w, MIB), parts = hdb_between(&w->random, 2, 4);
    uint64_t part = MIB / parts / 256 * 256;
    for (uint32_t i = 0; i < parts; i++)
        HDB_PASS(w, HD_PASS_HOST, {staging, HD_HOST_WRITE, bytes_of(i * part, part)});
    uint32_t copies = hdb_buffer(w, 8 * MIB);
    for (uint32_t i = 0; i < parts; i++)
        HDB_PASS(w, HD_PASS_TRANSFER, {staging, HD_TRANSFER_SRC, bytes_of(i * part, part)},
                 {copies, HD_TRANSFER_DST, bytes_of(i * part, part)});
    uint32_t simulation = hdb_buffer(w, 4 * MIB), last = hdb_history(w, simulation);
    hdb_pass_options pinned = {.pin = hdb_below(&w->random, 2) == 1 ? HD_PIN_COMPUTE : HD_PIN_NONE};
    HDB_PASS_WITH(w, HD_PASS_COMPUTE, pinned, {last, HD_STORAGE_READ_COMPUTE},
                  {copies, HD_STORAGE_READ_COMPUTE, bytes_of(0, part * parts)}, {simulation, HD_STORAGE_WRITE_COMPUTE});
    for (uint32_t i = hdb_between(&w->random, 1, 3); i > 0; i--)
        HDB_PASS(w, HD_PASS_COMPUTE, {simulation, HD_STORAGE_RW_COMPUTE});
    return simulation;
}

static void declare_temporal_view(hdb_workload *w, uint32_t back)
{
    uint32_t simulation = declare_simulation(w);
    uint32_t color = hdb_image(w, WIDTH, HEIGHT, RGBA16F, 1, 1), before = hdb_history(w, color);
    uint32_t depth = hdb_image(w, WIDTH, HEIGHT, D32F, 1, 1);
    HDB_PASS(w, HD_PASS_GFX, {depth, HD_DEPTH_WRITE}, {simulation, HD_VERTEX_READ});
    HDB_PASS(w, HD_PASS_GFX, {depth, HD_DEPTH_READ}, {depth, HD_SAMPLED_GRAPHICS}, {before, HD_SAMPLED_GRAPHICS},
             {color, HD_COLOR_WRITE});
    uint32_t pyramid = hdb_image(w, 1024, 1024, R32F, 8, 2);
    HDB_PASS(w, HD_PASS_COMPUTE, {depth, HD_SAMPLED_COMPUTE}, {pyramid, HD_STORAGE_WRITE_COMPUTE, mips_of(0, 1, 0, 2)});
    for (uint32_t m = 1; m < 8; m++)
        HDB_PASS(w, HD_PASS_COMPUTE, {pyramid, HD_SAMPLED_COMPUTE, mips_of(m - 1, 1, 0, 2)},
                 {pyramid, HD_STORAGE_WRITE_COMPUTE, mips_of(m, 1, 0, 2)});
    uint32_t result = hdb_buffer(w, 64 * KIB);
    HDB_PASS(w, HD_PASS_COMPUTE, {pyramid, HD_SAMPLED_COMPUTE}, {result, HD_STORAGE_WRITE_COMPUTE});
    uint32_t readback = hdb_buffer(w, 64 * KIB);
    HDB_PASS(w, HD_PASS_TRANSFER, {result, HD_TRANSFER_SRC}, {readback, HD_TRANSFER_DST});
    hdb_pass_options wanted = {.root = hdb_random(&w->random) < 0.7};
    HDB_PASS_WITH(w, HD_PASS_HOST, wanted, {readback, HD_HOST_READ});
    HDB_PASS(w, HD_PASS_GFX, {color, HD_SAMPLED_GRAPHICS}, {pyramid, HD_SAMPLED_GRAPHICS}, {back, HD_COLOR_RW});
}

static void make_temporal(hdb_workload *w, uint32_t pass_count)
{
    uint32_t back = hdb_target(w, WIDTH, HEIGHT, BGRA8);
    HDB_PASS(w, HD_PASS_GFX, {back, HD_COLOR_WRITE});
    while (w->pass.count < pass_count - 2 && !w->failed)
        declare_temporal_view(w, back);
    HDB_PASS_WITH(w, HD_PASS_GFX, as_root, {back, HD_PRESENT});
}

const hdb_family_fn hdb_families[HDB_FAMILY_COUNT] = {make_deferred, make_layered, make_chain,
                                                      make_fanout,   make_async,   make_temporal};
