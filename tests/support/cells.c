#include "cells.h"

#include <stdio.h>
#include <stdlib.h>

/* Bits of VkPipelineStageFlags2, VkAccessFlags2 and VkImageLayout, by their positions in the headers. */
#define BIT(n) (UINT64_C(1) << (n))
enum { INDIRECT = 1, VERTEX = 3, FRAGMENT = 7, EARLY = 8, LATE = 9, COLOR = 10, COMPUTE = 11, HOST = 14 };
enum { COPY = 32, RESOLVE = 33, BLIT = 34, CLEAR = 35, INDEX = 36, ATTRIBUTE = 37 };
#define TRANSFERS (BIT(COPY) | BIT(RESOLVE) | BIT(BLIT) | BIT(CLEAR))
#define TESTS (BIT(EARLY) | BIT(LATE))
#define SHADERS (BIT(VERTEX) | BIT(FRAGMENT))

const hdt_access_row hdt_access_rows[HD_ACCESS_COUNT] = {
    [HD_COLOR_WRITE] = {BIT(COLOR), BIT(8), 2, false, true},
    [HD_COLOR_RW] = {BIT(COLOR), BIT(7) | BIT(8), 2, true, true},
    [HD_DEPTH_WRITE] = {TESTS, BIT(9) | BIT(10), 3, false, true},
    [HD_DEPTH_RW] = {TESTS, BIT(9) | BIT(10), 3, true, true},
    [HD_DEPTH_READ] = {TESTS, BIT(9), 4, true, false},
    [HD_SAMPLED_GRAPHICS] = {SHADERS, BIT(32), 5, true, false},
    [HD_SAMPLED_COMPUTE] = {BIT(COMPUTE), BIT(32), 5, true, false},
    [HD_STORAGE_READ_COMPUTE] = {BIT(COMPUTE), BIT(33), 1, true, false},
    [HD_STORAGE_WRITE_COMPUTE] = {BIT(COMPUTE), BIT(34), 1, false, true},
    [HD_STORAGE_RW_COMPUTE] = {BIT(COMPUTE), BIT(33) | BIT(34), 1, true, true},
    [HD_UNIFORM_READ] = {SHADERS, BIT(3), 0, true, false},
    [HD_UNIFORM_READ_COMPUTE] = {BIT(COMPUTE), BIT(3), 0, true, false},
    [HD_VERTEX_READ] = {BIT(ATTRIBUTE), BIT(2), 0, true, false},
    [HD_INDEX_READ] = {BIT(INDEX), BIT(1), 0, true, false},
    [HD_INDIRECT_READ] = {BIT(INDIRECT), BIT(0), 0, true, false},
    [HD_TRANSFER_SRC] = {TRANSFERS, BIT(11), 6, true, false},
    [HD_TRANSFER_DST] = {TRANSFERS, BIT(12), 7, false, true},
    [HD_HOST_READ] = {BIT(HOST), BIT(13), 1, true, false},
    [HD_HOST_WRITE] = {BIT(HOST), BIT(14), 1, false, true},
    [HD_PRESENT] = {0, 0, 1000001002, true, false},
    [HD_SAMPLED_VERTEX] = {BIT(VERTEX), BIT(32), 5, true, false},
    [HD_SAMPLED_FRAGMENT] = {BIT(FRAGMENT), BIT(32), 5, true, false},
    [HD_STORAGE_READ_GRAPHICS] = {SHADERS, BIT(33), 1, true, false},
    [HD_STORAGE_WRITE_GRAPHICS] = {SHADERS, BIT(34), 1, false, true},
    [HD_STORAGE_RW_GRAPHICS] = {SHADERS, BIT(33) | BIT(34), 1, true, true},
};

void *hdt_zeroed(size_t count, size_t bytes)
{
    void *block = calloc(count + 1, bytes);
    if (!block) {
        fprintf(stderr, "a reference model has no memory\n");
        abort();
    }
    return block;
}

/* Layers, doubled where depth and stencil (D16S8, D24S8, D32FS8) are apart: depth first. */
static uint32_t layers_of(const hdt_cells *c, uint32_t res)
{
    const hdi_res_info *info = &c->d.res_info[res];
    return (info->layers ? info->layers : 1) * (info->format >= 128 && info->format <= 130 ? 2 : 1);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* All ends of ranges of buffer r, sorted, with doubles. */
static uint64_t *cuts_of(const hdt_cells *c, const hd_plan_view *p, uint32_t r, uint32_t *count)
{
    uint64_t *cut = hdt_zeroed(((size_t)c->d.use_count + (p ? p->barrier_count : 0) + 1) * 2, sizeof(*cut));
    uint32_t n = 1;
    cut[n++] = c->d.res_info[r].bytes ? c->d.res_info[r].bytes : 1; /* a token is one cell */
    for (uint32_t u = 0; u < c->d.use_count; u++) {
        if (c->d.use_res[u] != r || c->d.use_range[u] == HDI_NONE)
            continue;
        const hd_range *range = &c->d.range[c->d.use_range[u]];
        cut[n++] = range->offset;
        cut[n++] = range->offset + range->bytes;
    }
    for (uint32_t b = 0; p && b < p->barrier_count; b++)
        if (p->barriers[b].resource == r) {
            cut[n++] = p->barriers[b].range.offset;
            cut[n++] = p->barriers[b].range.offset + p->barriers[b].range.bytes;
        }
    qsort(cut, n, sizeof(*cut), by_value);
    *count = n;
    return cut;
}

static void find_kept(hdt_cells *c)
{
    uint8_t *live = hdt_zeroed(c->count, 1);
    for (uint32_t i = 0; i < c->count; i++)
        live[i] = (c->d.res_flags[c->cell[i].res] & (HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY)) != 0;
    for (uint32_t p = c->d.pass_count; p-- > 0;) {
        uint32_t begin = c->d.pass_use_begin[p], end = c->d.pass_use_begin[p + 1];
        bool keep = c->d.pass_flags[p] & HDI_PASS_ROOT;
        for (uint32_t u = begin; u < end; u++)
            for (uint32_t i = 0; i < c->count; i++)
                keep |= hdt_use_row(c, u)->writes && live[i] && hdt_use_has(c, u, i);
        c->kept[p] = keep;
        for (int reads = 0; keep && reads < 2; reads++)
            for (uint32_t u = begin; u < end; u++)
                for (uint32_t i = 0; i < c->count; i++)
                    if (hdt_use_row(c, u)->reads == reads && hdt_use_has(c, u, i))
                        live[i] = (uint8_t)reads;
    }
    free(live);
}

hdt_cells hdt_cells_make(const hd_graph *graph, const hd_plan *plan)
{
    hdt_cells c = {.d = hdi_graph_decl(graph)};
    hd_plan_view view = {0}, *p = NULL;
    if (plan) {
        view = hd_plan_read(plan);
        p = &view;
    }
    c.custom = hdt_zeroed(c.d.access_count, sizeof(*c.custom));
    for (uint32_t a = HDI_ACCESS_CUSTOM_FIRST; a < c.d.access_count; a++) {
        const hdi_access_info *info = &c.d.access[a];
        c.custom[a] = (hdt_access_row){info->stages, info->access, info->layout, info->reads, info->writes};
    }
    c.res_begin = hdt_zeroed((size_t)c.d.res_count + 1, sizeof(*c.res_begin));
    for (uint32_t r = 0; r < c.d.res_count; r++) {
        const hdi_res_info *info = &c.d.res_info[r];
        uint32_t n = 0, images = (info->mips ? info->mips : 1) * layers_of(&c, r);
        uint64_t *cut = c.d.res_flags[r] & HDI_RES_BUFFER ? cuts_of(&c, p, r, &n) : NULL;
        c.cell = realloc(c.cell, (c.count + (cut ? n : images)) * sizeof(*c.cell) + 1);
        if (!c.cell)
            abort();
        for (uint32_t i = 0; !cut && i < images; i++)
            c.cell[c.count++] = (hdt_cell){r, i, i + 1};
        for (uint32_t i = 0; cut && i + 1 < n; i++)
            if (cut[i] != cut[i + 1])
                c.cell[c.count++] = (hdt_cell){r, cut[i], cut[i + 1]};
        c.res_begin[r + 1] = c.count;
        free(cut);
    }
    c.use_pass = hdt_zeroed(c.d.use_count, sizeof(*c.use_pass));
    for (uint32_t pass = 0; pass < c.d.pass_count; pass++)
        for (uint32_t u = c.d.pass_use_begin[pass]; u < c.d.pass_use_begin[pass + 1]; u++)
            c.use_pass[u] = pass;
    c.kept = hdt_zeroed(c.d.pass_count, 1);
    find_kept(&c);
    return c;
}

void hdt_cells_free(hdt_cells *c)
{
    free(c->cell);
    free(c->res_begin);
    free(c->use_pass);
    free(c->kept);
    free(c->custom);
}

bool hdt_cell_in(const hdt_cells *c, uint32_t cell, const hd_range *range)
{
    const hdt_cell *x = &c->cell[cell];
    if (!range)
        return true;
    if (c->d.res_flags[x->res] & HDI_RES_BUFFER)
        return x->begin >= range->offset && x->end <= range->offset + range->bytes;
    uint32_t layers = c->d.res_info[x->res].layers ? c->d.res_info[x->res].layers : 1, stride = layers_of(c, x->res);
    uint32_t mip = (uint32_t)x->begin / stride, layer = (uint32_t)x->begin % stride;
    uint32_t aspect = stride == layers ? 0 : layer < layers ? HD_ASPECT_DEPTH : HD_ASPECT_STENCIL;
    if (aspect && range->aspect && !(range->aspect & aspect))
        return false;
    layer %= layers;
    return mip >= range->mip_base && mip < (uint32_t)range->mip_base + range->mip_count && layer >= range->layer_base &&
           layer < range->layer_base + range->layer_count;
}

bool hdt_use_has(const hdt_cells *c, uint32_t use, uint32_t cell)
{
    uint32_t range = c->d.use_range[use];
    return c->d.use_res[use] == c->cell[cell].res &&
           hdt_cell_in(c, cell, range == HDI_NONE ? NULL : &c->d.range[range]);
}

const hdt_access_row *hdt_use_row(const hdt_cells *c, uint32_t use)
{
    uint32_t access = c->d.use_access[use];
    return access < HDI_ACCESS_CUSTOM_FIRST ? &hdt_access_rows[hdi_access_of(access)] : &c->custom[access];
}
