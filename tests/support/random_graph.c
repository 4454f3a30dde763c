#include "random_graph.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random.h"
#include "tables.h"

/* What is printed at a crash, and the handlers that were there before. */
static char crash[64];
static struct sigaction segv_before, abort_before;

static void say_crash(void)
{
    if (write(STDERR_FILENO, crash, strlen(crash)) < 0)
        return;
}

/* What is wrong goes wrong once more behind this, and meets those of before. */
static void on_signal(int signal)
{
    say_crash();
    sigaction(signal, signal == SIGSEGV ? &segv_before : &abort_before, NULL);
    if (signal == SIGABRT)
        abort();
}

#if defined(__SANITIZE_ADDRESS__)
void __sanitizer_set_death_callback(void (*callback)(void));
#endif

void hdt_try_seed(uint64_t seed)
{
    const struct sigaction own = {.sa_handler = on_signal};
    bool first = !crash[0];
    snprintf(crash, sizeof(crash), "HEDDLE_SEED=%" PRIu64 ": a crash\n", seed);
    if (!first)
        return;
    sigaction(SIGSEGV, &own, &segv_before);
    sigaction(SIGABRT, &own, &abort_before);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_set_death_callback(say_crash);
#endif
}

void hdt_seeds(uint64_t *first, uint64_t *count)
{
    const char *seed = getenv("HEDDLE_SEED"), *seeds = getenv("HEDDLE_SEEDS");
    if (seed) {
        *first = strtoull(seed, NULL, 0);
        *count = 1;
    }
    if (seeds)
        *count = strtoull(seeds, NULL, 0);
}

enum { MAX_RES = 96, CELLS = 16, MAX_USES = 6 };

/* Cells: mip * layers + layer of an image, eighths of a buffer. */
typedef struct res_state {
    hd_resource handle;
    uint32_t mips, layers, cells, format;
    uint64_t bytes;
    bool is_buffer, read_only, used_by_pass;
    uint32_t written; /* a bit a cell */
} res_state;

typedef struct maker {
    hd_graph *graph;
    uint64_t rng;
    res_state res[MAX_RES];
    uint32_t res_count;
    bool executable; /* only what a device can do */
    bool no_host;
} maker;

static bool chance(maker *m, uint32_t percent)
{
    return hdt_below(&m->rng, 100) < percent;
}

static void add_history(maker *m, const res_state *of)
{
    if (m->res_count == MAX_RES)
        return;
    res_state history = *of;
    history.handle = hd_graph_history(m->graph, of->handle);
    history.read_only = true;
    history.written = UINT32_MAX;
    m->res[m->res_count++] = history;
}

static void add_resource(maker *m)
{
    static const uint32_t formats[] = {37, 97, 100, 126, 44, 83, 9, 126}; /* the first four unless executable */
    if (m->res_count == MAX_RES)
        return;
    res_state r = {.is_buffer = chance(m, 35)};
    bool external = chance(m, 12);
    hd_sharing sharing = chance(m, 15) ? HD_SHARING_CONCURRENT : HD_SHARING_AUTO;
    if (r.is_buffer) {
        r.bytes = (uint64_t)256 * 8 * (1 + hdt_below(&m->rng, 64));
        r.cells = 8;
        r.handle = external ? hd_graph_import(m->graph, &(hd_import_desc){.bytes = r.bytes})
                            : hd_graph_buffer(m->graph, &(hd_buffer_desc){.bytes = r.bytes, .sharing = sharing});
    } else {
        r.mips = 1 + hdt_below(&m->rng, 4);
        r.layers = chance(m, 70) ? 1 : 1 + hdt_below(&m->rng, 4);
        r.cells = r.mips * r.layers;
        r.format = formats[hdt_below(&m->rng, m->executable ? 8 : 4)];
        uint32_t side = 16u << hdt_below(&m->rng, 6);
        if (external)
            r.handle = hd_graph_import(m->graph, &(hd_import_desc){.width = side,
                                                                   .height = side,
                                                                   .format = r.format,
                                                                   .mips = r.mips,
                                                                   .layers = r.layers,
                                                                   .initial_layout = 1});
        else
            r.handle = hd_graph_image(m->graph, &(hd_image_desc){.width = side,
                                                                 .height = side,
                                                                 .format = r.format,
                                                                 .mips = r.mips,
                                                                 .layers = r.layers,
                                                                 .sharing = sharing});
    }
    r.written = external ? UINT32_MAX : 0;
    m->res[m->res_count++] = r;
    if (!external && chance(m, 15))
        add_history(m, &m->res[m->res_count - 1]);
}

/* A range of the resource, at times the whole, and the cells in it. */
static hd_range random_range(maker *m, const res_state *r, uint32_t *cells)
{
    hd_range range = {0};
    *cells = (1u << r->cells) - 1;
    if (chance(m, 55))
        return range;
    *cells = 0;
    if (r->is_buffer) {
        uint32_t first = hdt_below(&m->rng, 8), count = 1 + hdt_below(&m->rng, 8 - first);
        range.offset = r->bytes / 8 * first;
        range.bytes = r->bytes / 8 * count;
        *cells = ((1u << count) - 1) << first;
        return range;
    }
    range.mip_base = hdt_below(&m->rng, r->mips);
    range.mip_count = 1 + hdt_below(&m->rng, r->mips - range.mip_base);
    range.layer_base = hdt_below(&m->rng, r->layers);
    range.layer_count = 1 + hdt_below(&m->rng, r->layers - range.layer_base);
    for (uint32_t mip = range.mip_base; mip < range.mip_base + range.mip_count; mip++) {
        for (uint32_t layer = range.layer_base; layer < range.layer_base + range.layer_count; layer++)
            *cells |= 1u << (mip * r->layers + layer);
    }
    return range;
}

static bool fits(const maker *m, const res_state *r, const hdi_access_info *access, uint32_t type)
{
    /* No device maps images of optimal tiling, or takes depth as storage. */
    if (m->executable && !r->is_buffer && (type == HD_PASS_HOST || (r->format == 126 && access->layout == 1)))
        return false;
    /* A queue without graphics copies no depth. */
    if (m->executable && r->format == 126 && type != HD_PASS_GFX && (access->layout == 6 || access->layout == 7))
        return false;
    bool depth_access = access->layout == 3 || access->layout == 4, depth = r->format == 126;
    bool color_access = access->layout == 2;
    if (!(r->is_buffer ? access->on_buffer : access->on_image) || !(access->pass_types >> type & 1))
        return false;
    if (!r->is_buffer && ((depth_access && !depth) || (color_access && depth)))
        return false;
    return !(r->read_only && access->writes);
}

/* One random use, if a try finds one. */
static bool random_use(maker *m, uint32_t type, hd_use *out, res_state **res, uint32_t *cells)
{
    for (int attempt = 0; attempt < 12; attempt++) {
        res_state *r = &m->res[hdt_below(&m->rng, m->res_count)];
        hd_access access = (hd_access)(1 + hdt_below(&m->rng, HD_ACCESS_COUNT - 1));
        const hdi_access_info *row = &hdi_access_table[access];
        if (r->used_by_pass || !fits(m, r, row, type) || (access == HD_PRESENT && (m->executable || !chance(m, 10))))
            continue;
        hd_range range = random_range(m, r, cells);
        if (row->reads && (r->written & *cells) != *cells)
            continue;
        *out = (hd_use){.resource = r->handle, .access = access, .range = range};
        *res = r;
        return true;
    }
    return false;
}

static void add_pass(maker *m)
{
    static const uint8_t types[] = {HD_PASS_GFX,      HD_PASS_GFX,      HD_PASS_GFX,
                                    HD_PASS_COMPUTE,  HD_PASS_COMPUTE,  HD_PASS_COMPUTE,
                                    HD_PASS_TRANSFER, HD_PASS_TRANSFER, HD_PASS_HOST};
    uint32_t type = types[hdt_below(&m->rng, sizeof(types) - m->no_host)], count = 0,
             want = 1 + hdt_below(&m->rng, MAX_USES - 1);
    hd_use uses[MAX_USES + 1];
    uint32_t wrote[MAX_USES + 1] = {0};
    res_state *touched[MAX_USES + 1];
    while (count < want) {
        uint32_t cells;
        if (!random_use(m, type, &uses[count], &touched[count], &cells))
            break;
        touched[count]->used_by_pass = true;
        wrote[count] = hdi_access_table[uses[count].access].writes ? cells : 0;
        count++;
        /* Depth that is tested and sampled at once. */
        if (count < want && uses[count - 1].access == HD_DEPTH_READ && chance(m, 50)) {
            uses[count] = uses[count - 1];
            uses[count].access = HD_SAMPLED_GRAPHICS;
            touched[count] = touched[count - 1];
            count++;
        }
    }
    hd_graph_pass(m->graph, &(hd_pass_desc){.type = (hd_pass_type)type,
                                            .pin = chance(m, 80) ? HD_PIN_NONE : hdt_pin_for(type, 1 + hdt_below(&m->rng, 3)),
                                            .root = chance(m, 8),
                                            .cost_us = (float)(1 + hdt_below(&m->rng, 200)),
                                            .uses = uses,
                                            .use_count = count});
    for (uint32_t u = 0; u < count; u++) {
        touched[u]->written |= wrote[u];
        touched[u]->used_by_pass = false;
    }
}

/* A pass that reads `from` (none: nothing) and overwrites `to` (none: it is a root). */
static void add_link(maker *m, const res_state *from, const res_state *to, hd_resource also)
{
    hd_use uses[3];
    uint32_t count = 0;
    bool compute = from->is_buffer || chance(m, 50);
    hd_access reads = !compute           ? HD_SAMPLED_GRAPHICS
                      : !from->is_buffer ? HD_SAMPLED_COMPUTE
                      : chance(m, 50)    ? HD_STORAGE_READ_COMPUTE
                                         : HD_UNIFORM_READ_COMPUTE;
    uses[count++] = (hd_use){.resource = from->handle, .access = reads};
    if (also.id)
        uses[count++] = (hd_use){.resource = also, .access = reads};
    if (to)
        uses[count++] = (hd_use){.resource = to->handle, .access = compute ? HD_STORAGE_WRITE_COMPUTE : HD_COLOR_WRITE};
    hd_graph_pass(m->graph, &(hd_pass_desc){.type = compute ? HD_PASS_COMPUTE : HD_PASS_GFX,
                                            .root = !to,
                                            .pin = compute && chance(m, 30) ? HD_PIN_COMPUTE : HD_PIN_NONE,
                                            .cost_us = (float)(1 + hdt_below(&m->rng, 200)),
                                            .uses = uses,
                                            .use_count = count});
}

/* One writer, `width` readers that write something of their own, and (a diamond) one pass that joins two of them. */
static void add_shape(maker *m, uint32_t width)
{
    res_state r[3] = {0};
    bool buffer = chance(m, 40);
    for (int i = 0; i < 3; i++) {
        r[i].is_buffer = buffer;
        r[i].handle =
            buffer ? hd_graph_buffer(m->graph,
                                     &(hd_buffer_desc){.bytes = 4096, .sharing = (hd_sharing)hdt_below(&m->rng, 3)})
                   : hd_graph_image(m->graph, &(hd_image_desc){.width = 64,
                                                               .height = 64,
                                                               .format = 37,
                                                               .sharing = (hd_sharing)hdt_below(&m->rng, 3)});
    }
    hd_use first = {.resource = r[0].handle, .access = HD_STORAGE_WRITE_COMPUTE};
    hd_graph_pass(m->graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = &first, .use_count = 1});
    for (uint32_t i = 0; i < width; i++)
        add_link(m, &r[0], i < 2 ? &r[1 + i] : NULL, (hd_resource){0});
    add_link(m, &r[1], NULL, r[2].handle);
}

void hdt_random_frame(hd_graph *graph, uint64_t seed, uint32_t pass_count)
{
    maker m = {.graph = graph, .rng = seed};
    uint32_t shapes = 0;
    hd_graph_begin(graph);
    for (int i = 0; i < 4; i++)
        add_resource(&m);
    for (uint32_t p = 0; p < pass_count; p++) {
        for (int i = 0; i < 2; i++) {
            if (chance(&m, 60))
                add_resource(&m);
        }
        add_pass(&m);
        if (shapes < 3 && chance(&m, 6))
            add_shape(&m, pass_count > 40 && chance(&m, 5) ? 100 + hdt_below(&m.rng, 200) : 2 + hdt_below(&m.rng, 3)),
                shapes++;
    }
}

static void make_graph(maker m, uint32_t pass_count)
{
    hd_graph_begin(m.graph);
    for (int i = 0; i < 4; i++)
        add_resource(&m);
    for (uint32_t p = 0; p < pass_count; p++) {
        for (int i = 0; i < 2; i++) {
            if (chance(&m, 60))
                add_resource(&m);
        }
        add_pass(&m);
    }
}

void hdt_random_graph(hd_graph *graph, uint64_t seed, uint32_t pass_count)
{
    make_graph((maker){.graph = graph, .rng = seed}, pass_count);
}

void hdt_random_executable_graph(hd_graph *graph, uint64_t seed, uint32_t pass_count)
{
    make_graph((maker){.graph = graph, .rng = seed, .executable = true}, pass_count);
}

void hdt_random_hostless_graph(hd_graph *graph, uint64_t seed, uint32_t pass_count)
{
    make_graph((maker){.graph = graph, .rng = seed, .executable = true, .no_host = true}, pass_count);
}
