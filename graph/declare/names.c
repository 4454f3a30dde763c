#include "declare_columns.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"

/* What is found by name: passes, and resources that one module publishes for others. Both are searched from front to
 * back, as a frame has tens of names; strings reach no phase. */

static bool same_name(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

hd_pass hd_graph_find_pass(const hd_graph *graph, const char *name)
{
    for (uint32_t p = 0; graph && p < graph->pass_count; p++) {
        if (same_name(graph->pass_exec[p].name, name))
            return (hd_pass){hdi_handle(graph, p)};
    }
    return (hd_pass){0};
}

static hdi_published *find(const hd_graph *graph, const char *name)
{
    for (uint32_t i = 0; graph && i < graph->published_count; i++) {
        if (same_name(graph->published[i].name, name))
            return &graph->published[i];
    }
    return NULL;
}

hd_result hd_graph_publish(hd_graph *graph, const char *name, hd_resource resource)
{
    if (!graph || graph->list || !name)
        return HD_INVALID_ARGUMENT;
    if (graph->error.result != HD_OK)
        return graph->error.result;
    if (hd_graph_resource_index(graph, resource) == HD_NONE) {
        char detail[2 * HDI_FAULT_BYTES];
        snprintf(detail, sizeof(detail), "published as '%.40s': %s", name, hdi_handle_fault(graph, resource.id));
        return hdi_graph_fail(graph, HD_BAD_HANDLE, HD_NONE, HD_NONE, HD_NONE, detail);
    }
    hdi_published *entry = find(graph, name);
    if (!entry) {
        hd_result result = hdi_grow(&graph->allocator, (void **)&graph->published, &graph->published_room,
                                    graph->published_count + 1, sizeof(*entry));
        if (result != HD_OK)
            return hdi_graph_fail(graph, result, HD_NONE, HD_NONE, HD_NONE, "what is published");
        entry = &graph->published[graph->published_count++];
    }
    *entry = (hdi_published){name, resource};
    return HD_OK;
}

hd_resource hd_graph_find(const hd_graph *graph, const char *name)
{
    const hdi_published *entry = find(graph, name);
    return entry ? entry->resource : (hd_resource){0};
}
