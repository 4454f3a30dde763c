#include "run_state.h"

#include <stdlib.h>

/* The frame as it is executed: the declaration that was read, its sizes divided, with passes that record. Every gfx
 * pass does its own rendering, because it may also dispatch and copy. A division must leave every range and level
 * non-empty; where it would not, the resource is divided by less. Ranges that meet still meet: their ends are divided,
 * not their sizes. */

static uint64_t divided(uint64_t at, uint32_t scale)
{
    return scale == 1 ? at : at / scale & ~UINT64_C(255);
}

static bool fits(const run *r, uint32_t res, uint32_t scale)
{
    const hdi_res_info *info = &r->decl.res_info[res];
    if (!(r->decl.res_flags[res] & HDI_RES_BUFFER)) {
        uint32_t side = info->width > info->height ? info->width : info->height;
        return side / scale >> (info->mips - 1) > 0;
    }
    if (divided(info->bytes, scale) == 0)
        return false;
    for (uint32_t u = 0; u < r->decl.use_count; u++) {
        if (r->decl.use_res[u] != res || r->decl.use_range[u] == HDI_NONE)
            continue;
        const hd_range *range = &r->decl.range[r->decl.use_range[u]];
        if (divided(range->offset, scale) >= divided(range->offset + range->bytes, scale))
            return false;
    }
    return true;
}

static uint32_t at_least_one(uint32_t value)
{
    return value ? value : 1;
}

hd_result run_scale(run *r)
{
    r->res = calloc((size_t)r->decl.res_count + 1, sizeof(*r->res));
    r->uses = calloc((size_t)r->decl.use_count + 1, sizeof(*r->uses));
    if (!r->res || !r->uses)
        return run_fail(r, HD_OUT_OF_MEMORY, "no memory");
    for (uint32_t i = 0; i < r->decl.res_count; i++) {
        const hdi_res_info *info = &r->decl.res_info[i];
        uint32_t scale = r->desc->scale ? r->desc->scale : 1;
        uint32_t pair = r->decl.res_pair[i]; /* a history and what it is of have one size */
        while (scale > 1 && !(fits(r, i, scale) && (pair == HDI_NONE || fits(r, pair, scale))))
            scale--;
        r->res[i] = (run_res){.width = at_least_one(info->width / scale),
                              .height = at_least_one(info->height / scale),
                              .format = info->format,
                              .mips = info->mips,
                              .layers = info->layers,
                              .usage = hdi_res_usage(&r->decl, i),
                              .bytes = divided(info->bytes, scale),
                              .scale = scale,
                              .buffer = r->decl.res_flags[i] & HDI_RES_BUFFER};
        if (pair != HDI_NONE && r->res[pair].scale > scale)
            r->res[pair] = r->res[i];
    }
    for (uint32_t u = 0; u < r->decl.use_count; u++) {
        uint32_t res = r->decl.use_res[u];
        r->uses[u].access = (hd_access)hdi_access_of(r->decl.use_access[u]);
        if (r->decl.use_range[u] != HDI_NONE) {
            hd_range range = r->decl.range[r->decl.use_range[u]];
            if (r->res[res].buffer) {
                uint64_t begin = divided(range.offset, r->res[res].scale);
                range.bytes = divided(range.offset + range.bytes, r->res[res].scale) - begin;
                range.offset = begin;
            }
            r->uses[u].range = range;
        }
        if (run_access_of(r->uses[u].access)->counts)
            r->res[res].small = true;
    }
    for (uint32_t i = 0; i < r->decl.res_count; i++) {
        if (r->decl.res_pair[i] != HDI_NONE && r->res[i].small)
            r->res[r->decl.res_pair[i]].small = true;
    }
    return HD_OK;
}

hd_range run_use_range(const run *r, uint32_t use)
{
    const run_res *res = &r->res[r->decl.use_res[use]];
    if (r->decl.use_range[use] != HDI_NONE)
        return r->uses[use].range;
    if (res->buffer)
        return (hd_range){.offset = 0, .bytes = res->bytes};
    return (hd_range){.mip_count = (uint16_t)res->mips, .layer_count = res->layers};
}

static hd_resource declare_resource(run *r, hd_graph *graph, uint32_t i, bool first)
{
    const run_res *res = &r->res[i];
    uint32_t flags = r->decl.res_flags[i];
    if (flags & HDI_RES_HISTORY)
        return hd_graph_history_with(graph, &(hd_history_desc){.of = r->res[r->decl.res_pair[i]].handle,
                                                               .skipped = (hd_skipped)r->decl.res_import[i].skipped});
    if (flags & HDI_RES_EXTERNAL) {
        hd_import_desc import = {.image = (void *)r->imports[i].image, .buffer = (void *)r->imports[i].buffer};
        import.sharing = r->family_count > 1 ? HD_SHARING_CONCURRENT : HD_SHARING_EXCLUSIVE;
        if (res->buffer) {
            import.bytes = res->bytes;
            return hd_graph_import(graph, &import);
        }
        import.width = res->width;
        import.height = res->height;
        import.format = res->format;
        import.mips = res->mips;
        import.layers = res->layers;
        import.initial_layout = first ? 0 : VK_IMAGE_LAYOUT_GENERAL;
        import.final_layout = VK_IMAGE_LAYOUT_GENERAL;
        return hd_graph_import(graph, &import);
    }
    hd_sharing sharing = (hd_sharing)r->decl.res_info[i].sharing;
    if (res->buffer)
        return hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = res->bytes, .sharing = sharing});
    return hd_graph_image(graph, &(hd_image_desc){.width = res->width,
                                                  .height = res->height,
                                                  .format = res->format,
                                                  .mips = res->mips,
                                                  .layers = res->layers,
                                                  .sharing = sharing});
}

/* A copy to depth needs a graphics queue. */
static hd_pin pin_of(const run *r, uint32_t pass)
{
    for (uint32_t u = r->decl.pass_use_begin[pass]; u < r->decl.pass_use_begin[pass + 1]; u++) {
        if (run_access_of(r->uses[u].access)->copies & RUN_WRITE &&
            r->res[r->decl.use_res[u]].format == VK_FORMAT_D32_SFLOAT)
            return HD_PIN_GFX;
    }
    return (hd_pin)r->decl.pass_pin[pass];
}

static void declare_frame(run *r)
{
    hd_graph_begin(r->graph);
    for (uint32_t i = 0; i < r->decl.res_count; i++)
        r->res[i].handle = declare_resource(r, r->graph, i, false);
    for (uint32_t p = 0; p < r->decl.pass_count; p++) {
        uint32_t first = r->decl.pass_use_begin[p], end = r->decl.pass_use_begin[p + 1];
        for (uint32_t u = first; u < end; u++)
            r->uses[u].resource = r->res[r->decl.use_res[u]].handle;
        r->passes[p] = (run_pass){r, p};
        hd_graph_pass(r->graph, &(hd_pass_desc){.type = (hd_pass_type)r->decl.pass_type[p],
                                                .pin = pin_of(r, p),
                                                .root = (r->decl.pass_flags[p] & HDI_PASS_ROOT) != 0,
                                                .cost_us = r->decl.pass_cost[p],
                                                .no_rendering = r->decl.pass_type[p] == HD_PASS_GFX,
                                                .uses = &r->uses[first],
                                                .use_count = end - first,
                                                .record = run_record,
                                                .user = &r->passes[p]});
    }
}

/* Frames whose host passes read externals must find the barrier to the host in the frame that filled them: it comes
 * with a host pass that uses them. uses: all externals; those that the host uses are left. */
static void show_externals(const run *r, hd_graph *graph, hd_use *uses)
{
    uint32_t count = 0;
    for (uint32_t i = 0, use = 0; i < r->decl.res_count; i++) {
        if (!(r->decl.res_flags[i] & HDI_RES_EXTERNAL))
            continue;
        if (r->decl.res_flags[i] & HDI_RES_HOST)
            uses[count++] = (hd_use){.resource = uses[use].resource, .access = HD_HOST_READ};
        use++;
    }
    if (count)
        hd_graph_pass(
            graph, &(hd_pass_desc){
                       .name = "show externals", .type = HD_PASS_HOST, .root = true, .uses = uses, .use_count = count});
}

/* One pass that fills or reads all externals; gfx where there is such a queue, since depth may be among them. */
static hd_result declare_externals(run *r, hd_graph *graph, bool write)
{
    hd_use *uses = calloc((size_t)r->decl.res_count + 1, sizeof(*uses));
    if (!uses)
        return run_fail(r, HD_OUT_OF_MEMORY, "no memory");
    uint32_t count = 0;
    hd_graph_begin(graph);
    for (uint32_t i = 0; i < r->decl.res_count; i++) {
        if (r->decl.res_flags[i] & HDI_RES_EXTERNAL)
            uses[count++] = (hd_use){declare_resource(r, graph, i, write), write ? HD_TRANSFER_DST : HD_TRANSFER_SRC};
    }
    run_pass *pass = &r->passes[r->decl.pass_count + !write];
    *pass = (run_pass){r, HD_NONE};
    hd_graph_pass(graph, &(hd_pass_desc){.name = write ? "fill externals" : "check externals",
                                         .type = r->has_gfx ? HD_PASS_GFX : HD_PASS_TRANSFER,
                                         .root = true,
                                         .no_rendering = r->has_gfx,
                                         .uses = uses,
                                         .use_count = count,
                                         .record = run_record,
                                         .user = pass});
    if (write)
        show_externals(r, graph, uses);
    free(uses);
    return HD_OK;
}

hd_result run_declare(run *r)
{
    r->passes = calloc((size_t)r->decl.pass_count + 2, sizeof(*r->passes));
    if (!r->passes)
        return run_fail(r, HD_OUT_OF_MEMORY, "no memory");
    hd_graph_desc desc = {.name = hd_graph_name(r->desc->graph), .log = r->desc->log};
    hd_graph **graphs[] = {&r->graph, &r->before, &r->after};
    for (int i = 0; i < 3; i++) {
        hd_result result = hd_graph_create(&desc, graphs[i]);
        if (result != HD_OK)
            return run_fail(r, result, "%s", hd_result_text(result));
    }
    declare_frame(r);
    hd_result result = declare_externals(r, r->before, true);
    return result == HD_OK ? declare_externals(r, r->after, false) : result;
}
