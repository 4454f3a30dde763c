#include "command.h"

#include <stdlib.h>

#include "tables.h"

/* A graph's declaration as the descriptions that made it. */
struct declaration {
    uint32_t res_count, pass_count;
    hdi_decl decl;
    hd_pass_desc *pass;
    hd_use *use;
    uint32_t *use_res;
    hd_resource *resource;
};

void free_declaration(declaration *d)
{
    if (!d)
        return;
    free(d->pass);
    free(d->use);
    free(d->use_res);
    free(d->resource);
    free(d);
}

declaration *copy_declaration(const hd_graph *graph)
{
    declaration *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    d->decl = hdi_graph_decl(graph);
    const hdi_decl *decl = &d->decl;
    d->res_count = decl->res_count;
    d->pass_count = decl->pass_count;
    d->pass = calloc((size_t)decl->pass_count + 1, sizeof(*d->pass));
    d->use = calloc((size_t)decl->use_count + 1, sizeof(*d->use));
    d->use_res = calloc((size_t)decl->use_count + 1, sizeof(*d->use_res));
    d->resource = calloc((size_t)decl->res_count + 1, sizeof(*d->resource));
    if (!d->pass || !d->use || !d->use_res || !d->resource) {
        free_declaration(d);
        return NULL;
    }
    for (uint32_t u = 0; u < decl->use_count; u++) {
        d->use_res[u] = decl->use_res[u];
        d->use[u].access = (hd_access)hdi_access_of(decl->use_access[u]);
        if (decl->use_range[u] != HDI_NONE)
            d->use[u].range = decl->range[decl->use_range[u]];
    }
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        uint32_t first = decl->pass_use_begin[p];
        d->pass[p] = (hd_pass_desc){.type = (hd_pass_type)decl->pass_type[p],
                                    .pin = (hd_pin)decl->pass_pin[p],
                                    .root = (decl->pass_flags[p] & HDI_PASS_ROOT) != 0,
                                    .cost_us = decl->pass_cost[p],
                                    .uses = d->use + first,
                                    .use_count = decl->pass_use_begin[p + 1] - first};
    }
    return d;
}

static hd_resource declare_resource(const declaration *d, hd_graph *graph, uint32_t res)
{
    const hdi_res_info *info = &d->decl.res_info[res];
    uint32_t flags = d->decl.res_flags[res];
    if (flags & HDI_RES_HISTORY)
        return hd_graph_history_with(graph,
                                     &(hd_history_desc){.of = d->resource[d->decl.res_pair[res]],
                                                        .skipped = (hd_skipped)d->decl.res_import[res].skipped});
    if (flags & HDI_RES_EXTERNAL)
        return hd_graph_import(graph, &(hd_import_desc){.width = info->width,
                                                        .height = info->height,
                                                        .format = info->format,
                                                        .mips = info->mips,
                                                        .layers = info->layers,
                                                        .initial_layout = info->initial_layout,
                                                        .bytes = info->bytes});
    if (flags & HDI_RES_BUFFER)
        return hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = info->bytes});
    return hd_graph_image(graph, &(hd_image_desc){.width = info->width,
                                                  .height = info->height,
                                                  .format = info->format,
                                                  .mips = info->mips,
                                                  .layers = info->layers});
}

void declare_again(const declaration *d, hd_graph *graph)
{
    hd_graph_begin(graph);
    for (uint32_t r = 0; r < d->res_count; r++)
        d->resource[r] = declare_resource(d, graph, r);
    for (uint32_t p = 0; p < d->pass_count; p++) {
        uint32_t first = (uint32_t)(d->pass[p].uses - d->use);
        for (uint32_t u = first; u < first + d->pass[p].use_count; u++)
            d->use[u].resource = d->resource[d->use_res[u]];
        hd_graph_pass(graph, &d->pass[p]);
    }
}
