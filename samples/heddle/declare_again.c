#include "command.h"

#include <stdlib.h>

#include "describe.h"

/* A graph's declaration as the descriptions that made it. */
struct declaration {
    uint32_t res_count;
    hdi_resource_desc *resource;
    hdi_replay passes;
};

void free_declaration(declaration *d)
{
    if (!d)
        return;
    hdi_replay_free(&d->passes, NULL);
    free(d->resource);
    free(d);
}

declaration *copy_declaration(const hd_graph *graph)
{
    const hdi_decl decl = hdi_graph_decl(graph);
    declaration *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    d->res_count = decl.res_count;
    d->resource = calloc((size_t)decl.res_count + 1, sizeof(*d->resource));
    if (!d->resource || !hdi_replay_make(&d->passes, NULL, decl.res_count, decl.pass_count, decl.use_count)) {
        free_declaration(d);
        return NULL;
    }
    for (uint32_t r = 0; r < decl.res_count; r++)
        hdi_describe_resource(&decl, r, &d->resource[r]);
    for (uint32_t p = 0; p < decl.pass_count; p++)
        hdi_describe_pass(&decl, p, &d->passes.pass[p]);
    for (uint32_t u = 0; u < decl.use_count; u++)
        hdi_describe_use(&decl, u, &d->passes.desc[u]);
    hdi_replay_prepare(&d->passes);
    return d;
}

void declare_again(declaration *d, hd_graph *graph)
{
    hd_graph_begin(graph);
    for (uint32_t r = 0; r < d->res_count; r++)
        d->passes.handle[r] = hdi_declare_resource(graph, &d->resource[r], d->passes.handle);
    hdi_replay_passes(&d->passes, graph);
}
