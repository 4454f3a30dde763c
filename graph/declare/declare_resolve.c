#include "declare_columns.h"

/* Resolves of a pass: each HD_RESOLVE_WRITE finds the attachment that it reads among the uses of its pass. Depth that
 * is resolved is read in another stage than it is tested in, so that its use gets a row of its own in the access table.
 * O(resolves * uses). */

static hd_range range_of(const hd_graph *graph, uint32_t use)
{
    if (graph->use_range[use] != HDI_NONE)
        return graph->range[graph->use_range[use]];
    const hdi_res_info *info = &graph->res_info[graph->use_res[use]];
    return (hd_range){.mip_count = (uint16_t)info->mips, .layer_count = info->layers};
}

static uint32_t side(uint32_t texels, uint32_t mip)
{
    return texels >> mip ? texels >> mip : 1;
}

/* Null, or why the one cannot be resolved into the other. */
static const char *misfit(const hd_graph *graph, uint32_t source, uint32_t target)
{
    const hdi_res_info *from = &graph->res_info[graph->use_res[source]], *to = &graph->res_info[graph->use_res[target]];
    hd_range a = range_of(graph, source), b = range_of(graph, target);
    if (from->samples == 1)
        return "what it resolves has one sample";
    if (to->samples != 1)
        return "it has several samples itself";
    if (from->format != to->format)
        return "what it resolves has another format";
    if (a.aspect != b.aspect)
        return "what it resolves has another aspect";
    if (side(from->width, a.mip_base) != side(to->width, b.mip_base) ||
        side(from->height, a.mip_base) != side(to->height, b.mip_base) || a.layer_count != b.layer_count)
        return "what it resolves has another size";
    return NULL;
}

/* The mode that a resolve runs with; 0: the format has none such. aspect: HD_ASPECT_*, 0: all. */
static uint32_t mode_of(uint32_t format, uint32_t aspect, uint32_t asked)
{
    enum { FIRST = 1, AVERAGE = 2, LAST_MODE = 8 };
    if (hdi_format_has_depth(format) || hdi_format_has_stencil(format)) {
        bool known = asked <= LAST_MODE && (asked & (asked - 1)) == 0;
        bool mean = asked == AVERAGE && (aspect ? aspect : hdi_format_aspects(format)) == HD_ASPECT_STENCIL;
        return asked == 0 ? FIRST : known && !mean ? asked : 0;
    }
    uint32_t only = hdi_format_is_integer(format) ? FIRST : AVERAGE;
    return asked == 0 || asked == only ? only : 0;
}

static uint16_t resolved_row(uint32_t access)
{
    switch (access) {
    case HD_DEPTH_WRITE:
        return HDI_DEPTH_WRITE_RESOLVED;
    case HD_DEPTH_RW:
        return HDI_DEPTH_RW_RESOLVED;
    case HD_DEPTH_READ:
        return HDI_DEPTH_READ_RESOLVED;
    default:
        return (uint16_t)access;
    }
}

/* Null, or what is wrong. */
static const char *tie(hd_graph *graph, const hd_use *use, uint32_t first, uint32_t target)
{
    uint32_t res = hd_graph_resource_index(graph, use->resolve_of), source = first, found = HD_NONE;
    if (res == HD_NONE)
        return "it names nothing of this frame to resolve";
    for (; source < graph->use_count; source++) {
        uint32_t kind = graph->access[graph->use_access[source]].attachment;
        if (graph->use_res[source] != res || (kind != HDI_ATTACHMENT_COLOR && kind != HDI_ATTACHMENT_DEPTH))
            continue;
        found = source;
        if (range_of(graph, source).aspect == range_of(graph, target).aspect)
            break;
    }
    source = found;
    if (source == HD_NONE)
        return "what it resolves is no attachment of the pass";
    const char *why = misfit(graph, source, target);
    if (why)
        return why;
    uint32_t mode = mode_of(graph->res_info[res].format, range_of(graph, target).aspect, use->resolve_mode);
    if (mode == 0)
        return "its format cannot be resolved in that mode";
    if (graph->use_exec[source].format != graph->use_exec[target].format)
        return "what it resolves is seen in another format";
    if (graph->use_exec[source].resolve)
        return "what it resolves is resolved twice";
    if (target - first >= UINT16_MAX)
        return "the pass has too many uses for it";
    graph->unusual |= HDI_UNUSUAL_LOADS;
    graph->use_exec[target].resolve_mode = (uint8_t)mode;
    graph->use_exec[source].resolve = (uint16_t)(target - first + 1);
    graph->use_access[source] = resolved_row(graph->use_access[source]);
    return NULL;
}

hd_result hdi_tie_resolves(hd_graph *graph, const hd_pass_desc *desc, uint32_t first, uint32_t *bad, const char **why)
{
    for (uint32_t u = 0; u < desc->use_count; u++) {
        const hd_use *use = &desc->uses[u];
        if (use->access == HD_RESOLVE_WRITE)
            *why = tie(graph, use, first, first + u);
        else if (use->resolve_of.id)
            *why = "its access is not HD_RESOLVE_WRITE";
        if (*why) {
            *bad = u;
            return HD_BAD_RESOLVE;
        }
    }
    return HD_OK;
}
