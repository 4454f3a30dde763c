#include "declare_columns.h"

/* Versions at declaration. A version is an entry with a handle of its own; the first one of a resource needs none, so
 * that a frame without versions pays one branch a pass. Writes of ended versions are refused here, so that all writes
 * of a resource stand in declaration order: only reads of ended versions ("late" ones) can ask for another order, and a
 * list of these is all that later phases need to know of versions. O(1) a use. */

/* The one after a version, HDI_NONE: there is none. */
static uint32_t next_of(const hd_graph *graph, uint32_t version, uint32_t res)
{
    return version != HDI_NONE ? graph->version_next[version] : graph->res_state[res].next - 1;
}

static hd_result add_late(hd_graph *graph, uint32_t use, uint32_t end)
{
    hd_result result = hdi_need(graph, HDI_LATE_USES, (uint64_t)graph->late_count + 1);
    if (result != HD_OK)
        return result;
    graph->late_use[graph->late_count] = use;
    graph->late_end[graph->late_count++] = end;
    return HD_OK;
}

static hd_result add_version(hd_graph *graph, uint32_t after, uint32_t res, uint32_t pass)
{
    uint32_t fresh = graph->version_count;
    hd_result result = hdi_need(graph, HDI_VERSIONS, (uint64_t)fresh + 1);
    if (result != HD_OK)
        return result;
    graph->version_res[fresh] = res;
    graph->version_made[fresh] = pass;
    graph->version_next[fresh] = HDI_NONE;
    graph->version_count = fresh + 1;
    graph->ties = true;
    if (after != HDI_NONE)
        graph->version_next[after] = fresh;
    else
        graph->res_state[res].next = fresh + 1;
    return HD_OK;
}

static hd_result use_version(hd_graph *graph, const hd_use *use, uint32_t at)
{
    uint32_t version = hdi_handle_version(graph, use->resource.id), pass = graph->pass_count - 1;
    uint32_t res = graph->use_res[at], next = next_of(graph, version, res);
    bool writes = graph->access[graph->use_access[at]].writes;
    if (next != HDI_NONE && graph->version_made[next] != pass) { /* ended by another pass */
        hd_result result = writes ? HD_VERSION_FORKED : add_late(graph, at, graph->version_made[next]);
        if (result != HD_OK)
            return result;
    }
    if (!use->next)
        return HD_OK;
    if (writes && next == HDI_NONE) {
        hd_result result = add_version(graph, version, res, pass);
        if (result != HD_OK)
            return result;
        next = graph->version_count - 1;
    }
    use->next->id = writes ? hdi_version_handle(graph, next) : use->resource.id;
    return HD_OK;
}

hd_result hdi_pass_versions(hd_graph *graph, const hd_pass_desc *desc, uint32_t first, uint32_t *bad)
{
    uint32_t late_count = graph->late_count;
    for (uint32_t u = 0; u < desc->use_count; u++) {
        hd_result result = use_version(graph, &desc->uses[u], first + u);
        if (result == HD_OK)
            continue;
        graph->late_count = late_count;
        *bad = u;
        return result;
    }
    return HD_OK;
}
