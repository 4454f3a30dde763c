#include "graph_state.h"
#include "declare_columns.h"

#include "alloc.h"
#include "vk_numbers.h"

/* A pass and its uses: each use is checked alone, then against the uses of the same resource in the same pass (found
 * through res_last_use, so that only resources used twice cost more than a look). */

/* Makes counts explicit. Returns HD_OK and *whole, or HD_BAD_RANGE. */
static hd_result resolve_range(const hdi_res_info *info, bool is_buffer, hd_range *range, bool *whole)
{
    if (is_buffer) {
        if (range->offset >= info->bytes)
            return HD_BAD_RANGE;
        if (range->bytes == 0)
            range->bytes = info->bytes - range->offset;
        *whole = range->offset == 0 && range->bytes == info->bytes;
        return range->bytes <= info->bytes - range->offset ? HD_OK : HD_BAD_RANGE;
    }
    if (range->mip_base >= info->mips || range->layer_base >= info->layers)
        return HD_BAD_RANGE;
    if (range->aspect) {
        uint32_t all = hdi_format_aspects(info->format);
        if (range->aspect & ~all)
            return HD_BAD_RANGE;
        range->aspect = range->aspect == all ? 0 : range->aspect;
    }
    if (range->mip_count == 0)
        range->mip_count = (uint16_t)(info->mips - range->mip_base);
    if (range->layer_count == 0)
        range->layer_count = info->layers - range->layer_base;
    if (range->mip_count > info->mips - range->mip_base || range->layer_count > info->layers - range->layer_base)
        return HD_BAD_RANGE;
    *whole = range->mip_count == info->mips && range->layer_count == info->layers && range->aspect == 0;
    return HD_OK;
}

static bool ranges_overlap(const hd_graph *graph, uint32_t a, uint32_t b)
{
    uint32_t ra = graph->use_range[a], rb = graph->use_range[b];
    if (ra == HDI_NONE || rb == HDI_NONE)
        return true;
    const hd_range *x = &graph->range[ra], *y = &graph->range[rb];
    if (graph->res_flags[graph->use_res[a]] & HDI_RES_BUFFER)
        return x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
    return x->mip_base < y->mip_base + y->mip_count && y->mip_base < x->mip_base + x->mip_count &&
           x->layer_base < y->layer_base + y->layer_count && y->layer_base < x->layer_base + x->layer_count &&
           hdi_aspects_meet(x, y);
}

/* Reads agree when their layouts do; depth_read and sampled reads agree on the read-only depth layout. */
static bool uses_agree(const hd_graph *graph, uint32_t a, uint32_t b)
{
    const hdi_access_info *x = &graph->access[graph->use_access[a]], *y = &graph->access[graph->use_access[b]];
    if (x->writes || y->writes)
        return false;
    if (graph->res_flags[graph->use_res[a]] & HDI_RES_BUFFER || x->layout == y->layout)
        return true;
    uint32_t low = x->layout < y->layout ? x->layout : y->layout, high = x->layout + y->layout - low;
    return low == HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY && high == HDI_LAYOUT_SHADER_READ_ONLY;
}

static hd_result check_double_use(hd_graph *graph, uint32_t first, uint32_t use)
{
    for (uint32_t other = first; other < use; other++) {
        if (graph->use_res[other] == graph->use_res[use] && ranges_overlap(graph, other, use) &&
            !uses_agree(graph, other, use))
            return HD_CONFLICTING_USES;
    }
    return HD_OK;
}

static hd_result add_custom_access(hd_graph *graph, const hd_use *use, bool is_buffer, uint32_t pass_type, uint16_t *out)
{
    const hd_custom_access *custom = use->custom;
    if (!custom || (!is_buffer && custom->layout == HDI_LAYOUT_UNDEFINED))
        return HD_BAD_ACCESS;
    hd_result result = hdi_access_check(custom, pass_type);
    if (result == HD_OK && graph->access_count > UINT16_MAX)
        result = HD_TOO_LARGE;
    if (result == HD_OK)
        result = hdi_need_accesses(graph, graph->access_count + 1);
    if (result != HD_OK)
        return result;
    graph->access[graph->access_count] = (hdi_access_info){
        .stages = custom->stages,
        .access = custom->access,
        .layout = is_buffer ? HDI_LAYOUT_UNDEFINED : custom->layout,
        .image_usage = custom->usage,
        .buffer_usage = custom->usage,
        .reads = custom->reads,
        .writes = custom->writes,
        .pass_types = (uint8_t)(1u << pass_type),
        .on_image = !is_buffer,
        .on_buffer = is_buffer,
    };
    *out = (uint16_t)graph->access_count++;
    return HD_OK;
}

/* Appends one use; the columns have room. first: the first use of the pass. */
static hd_result add_use(hd_graph *graph, const hd_use *use, uint32_t pass_type, uint32_t first, uint32_t *res_out)
{
    uint32_t res = hd_graph_resource_index(graph, use->resource);
    *res_out = res;
    if (res == HD_NONE)
        return HD_BAD_HANDLE;
    uint32_t at = graph->use_count, flags = graph->res_flags[res];
    bool is_buffer = (flags & HDI_RES_BUFFER) != 0;
    hdi_res_info *info = &graph->res_info[res];
    uint16_t access = (uint16_t)use->access;
    if (use->access == HD_ACCESS_CUSTOM) {
        hd_result result = add_custom_access(graph, use, is_buffer, pass_type, &access);
        if (result != HD_OK)
            return result;
    } else if (use->access == HD_RESOLVE_WRITE) {
        access = hdi_format_has_depth(info->format) || hdi_format_has_stencil(info->format) ? HDI_DEPTH_RESOLVE
                                                                                           : HD_RESOLVE_WRITE;
    } else if (use->access <= HD_ACCESS_NONE || use->access >= HD_ACCESS_COUNT) {
        return HD_BAD_ACCESS;
    }
    const hdi_access_info *row = &graph->access[access];
    if (!(is_buffer ? row->on_buffer : row->on_image))
        return HD_BAD_ACCESS;
    if (!(row->pass_types >> pass_type & 1))
        return HD_BAD_PASS_TYPE;
    if (row->writes && flags & HDI_RES_HISTORY)
        return HD_HISTORY_WRITTEN;
    uint32_t range = HDI_NONE;
    if (use->range.offset | use->range.bytes) {
        hd_range resolved = use->range;
        bool whole;
        hd_result result = resolve_range(info, is_buffer, &resolved, &whole);
        if (result == HD_OK && !whole)
            result = hdi_need_ranges(graph, graph->range_count + 1);
        if (result != HD_OK)
            return result;
        if (!whole) {
            range = graph->range_count++;
            graph->range[range] = resolved;
        }
    }
    graph->use_res[at] = res;
    graph->use_access[at] = access;
    graph->use_range[at] = range;
    graph->use_exec[at] = (hdi_use_exec){.load = (uint8_t)use->load};
    graph->use_clear[at] = use->clear;
    uint32_t last = graph->res_last_use[res];
    if (last != HDI_NONE && last >= first) {
        hd_result result = check_double_use(graph, first, at);
        if (result != HD_OK)
            return result;
    }
    graph->res_last_use[res] = at;
    info->usage |= is_buffer ? row->buffer_usage : row->image_usage;
    if (pass_type == HD_PASS_HOST)
        graph->res_flags[res] |= HDI_RES_HOST;
    graph->use_count = at + 1;
    return HD_OK;
}

static bool pin_fits(const hd_pass_desc *desc)
{
    return desc->pin == HD_PIN_NONE || desc->type == HD_PASS_TRANSFER ||
           (desc->type == HD_PASS_GFX && desc->pin == HD_PIN_GFX) ||
           (desc->type == HD_PASS_COMPUTE && desc->pin <= HD_PIN_COMPUTE);
}

/* A pass that was not declared makes no versions: whoever asked for some gets none. */
static hd_pass no_pass(const hd_pass_desc *desc)
{
    for (uint32_t u = 0; desc && desc->uses && u < desc->use_count; u++) {
        if (desc->uses[u].next)
            *desc->uses[u].next = (hd_resource){0};
    }
    return (hd_pass){0};
}

hd_pass hd_graph_pass(hd_graph *graph, const hd_pass_desc *desc)
{
    if (graph->error.result != HD_OK)
        return no_pass(desc);
    uint32_t pass = graph->pass_count, first = graph->use_count;
    if (!desc) {
        hdi_graph_fail(graph, HD_INVALID_ARGUMENT, pass, HD_NONE, HD_NONE, "the description is null");
        return (hd_pass){0};
    }
    hd_result result = hdi_need_passes(graph, pass + 1);
    if (result == HD_OK)
        result = hdi_need_uses(graph, (uint64_t)first + desc->use_count);
    if (result == HD_OK && ((uint32_t)desc->type > HD_PASS_HOST || (uint32_t)desc->pin > HD_PIN_TRANSFER ||
                            !(desc->cost_us >= 0.0f) || (desc->use_count && !desc->uses)))
        result = HD_INVALID_ARGUMENT;
    if (result != HD_OK) {
        hdi_graph_fail(graph, result, pass, HD_NONE, HD_NONE, desc->name);
        return no_pass(desc);
    }
    if (!pin_fits(desc))
        hdi_log(&graph->log, HD_LOG_WARNING, "pass %u '%s': its pin is ignored: no queue of that kind runs its type", pass,
                desc->name ? desc->name : "");
    graph->pass_type[pass] = (uint8_t)desc->type;
    graph->pass_pin[pass] = (uint8_t)desc->pin;
    graph->pass_flags[pass] =
        (uint8_t)((desc->root ? HDI_PASS_ROOT : 0) | (desc->no_rendering ? HDI_PASS_NO_RENDERING : 0));
    graph->pass_cost[pass] = desc->cost_us > 0.0f ? desc->cost_us : 10.0f;
    graph->pass_exec[pass] = (hdi_pass_exec){desc->name, desc->record, desc->user};
    graph->pass_count = pass + 1; /* before the uses: an error names the pass */
    uint32_t u = 0, res = HD_NONE;
    const char *why = NULL;
    bool resolves = false;
    uintptr_t versions = graph->version_count; /* any there, or asked for */
    for (; u < desc->use_count && result == HD_OK; u++) {
        resolves |= desc->uses[u].access == HD_RESOLVE_WRITE || desc->uses[u].resolve_of.id;
        versions |= (uintptr_t)desc->uses[u].next;
        result = add_use(graph, &desc->uses[u], (uint32_t)desc->type, first, &res);
    }
    if (result == HD_OK && resolves) {
        result = hdi_tie_resolves(graph, desc, first, &u, &why);
        res = result == HD_OK ? HD_NONE : graph->use_res[first + u++];
    }
    if (result == HD_OK && versions) {
        result = hdi_pass_versions(graph, desc, first, &u);
        res = result == HD_OK ? HD_NONE : graph->use_res[first + u++];
    }
    if (result != HD_OK) {
        graph->use_count = first;
        hdi_graph_fail(graph, result, pass, res, u - 1, why);
        graph->pass_count = pass;
        return no_pass(desc);
    }
    graph->pass_use_begin[pass + 1] = graph->use_count;
    return (hd_pass){hdi_handle(graph, pass)};
}
