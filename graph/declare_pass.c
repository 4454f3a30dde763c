#include "graph_state.h"
#include "declare_columns.h"

#include "alloc.h"
#include "hints.h"
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

HDI_COLD static hd_result check_double_use(const hd_graph *graph, uint32_t first, uint32_t use)
{
    for (uint32_t other = first; other < use; other++) {
        if (graph->use_res[other] == graph->use_res[use] && ranges_overlap(graph, other, use) &&
            !uses_agree(graph, other, use))
            return HD_CONFLICTING_USES;
    }
    return HD_OK;
}

hdi_use_rule hdi_rule_of(const hdi_access_info *info)
{
    bool attachment = info->attachment == HDI_ATTACHMENT_COLOR || info->attachment == HDI_ATTACHMENT_DEPTH;
    uint32_t flags = (info->reads ? HDI_USE_READS : 0) | (info->writes ? HDI_USE_WRITES : 0) |
                     (attachment ? HDI_USE_ATTACHMENT : 0);
    hdi_use_rule rule = {.needs = info->reads ? HDI_RES_UNWRITTEN : 0,
                         .leaves = (uint8_t)~(info->writes ? HDI_RES_UNWRITTEN : 0)};
    for (uint32_t kind = 0; kind < 4; kind++) {
        bool is_buffer = kind & HDI_RES_BUFFER, allowed = is_buffer ? info->on_buffer : info->on_image;
        rule.usage[kind] = is_buffer ? info->buffer_usage : info->image_usage;
        rule.types[kind] = allowed && !(kind & HDI_RES_HISTORY && info->writes) ? info->pass_types : 0;
        rule.flags[kind] = (uint8_t)(flags | (is_buffer ? HDI_USE_BUFFER : 0));
    }
    return rule;
}

static hd_result add_custom_access(hd_graph *graph, const hd_use *use, bool is_buffer, uint32_t pass_type, uint32_t *out)
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
    *out = graph->access_count++;
    return HD_OK;
}

/* An access that is not one of the named ones, or none at all. Its rule is the last one. */
HDI_COLD static hd_result special_access(hd_graph *graph, const hd_use *use, uint32_t res, uint32_t pass_type,
                                         uint32_t *access)
{
    uint32_t format = graph->res_info[res].format;
    if (use->access == HD_ACCESS_CUSTOM) {
        hd_result result =
            add_custom_access(graph, use, (graph->res_flags[res] & HDI_RES_BUFFER) != 0, pass_type, access);
        if (result != HD_OK)
            return result;
    } else if (use->access == HD_RESOLVE_WRITE) {
        bool depth = hdi_format_has_depth(format) || hdi_format_has_stencil(format);
        *access = depth ? HDI_DEPTH_RESOLVE : HD_RESOLVE_WRITE;
    } else {
        return HD_BAD_ACCESS;
    }
    graph->rule[HDI_ACCESS_CUSTOM_FIRST] = hdi_rule_of(&graph->access[*access]);
    return HD_OK;
}

/* Why the rule of an access does not allow a use. */
HDI_COLD static hd_result misuse(const hdi_access_info *access, uint32_t res_flags, uint32_t pass_type)
{
    if (!(res_flags & HDI_RES_BUFFER ? access->on_buffer : access->on_image))
        return HD_BAD_ACCESS;
    return access->pass_types >> pass_type & 1 ? HD_HISTORY_WRITTEN : HD_BAD_PASS_TYPE;
}

/* HDI_NONE is the whole, and also what stands in *out at first. */
HDI_COLD static hd_result add_range(hd_graph *graph, const hd_use *use, uint32_t res, uint32_t *out)
{
    hd_range range = use->range;
    bool whole;
    hd_result result =
        resolve_range(&graph->res_info[res], (graph->res_flags[res] & HDI_RES_BUFFER) != 0, &range, &whole);
    if (result != HD_OK || whole)
        return result;
    result = hdi_need_ranges(graph, (uint64_t)graph->range_count + 1);
    if (result != HD_OK)
        return result;
    *out = graph->range_count;
    graph->range[graph->range_count++] = range;
    return HD_OK;
}

/* Appends the uses of a pass; the columns have room. The loop that declaring a frame consists of: what most uses do
 * stands in it, what few do is called. *rare, not 0: some use has to do with resolves or wants a version. On failure the
 * uses stop short of the one that does not go. */
static inline hd_result add_uses(hd_graph *graph, const hd_pass_desc *desc, uint32_t first, uintptr_t *rare)
{
    const uint32_t base = graph->first_handle, res_count = graph->res_count, type = 1u << desc->type;
    uint8_t *const res_flags = graph->res_flags;
    uint32_t *const res_used = graph->res_used;
    hdi_res_info *const res_info = graph->res_info;
    uintptr_t odd = 0;
    uint32_t unwritten = 0, at = first;
    hd_result result = HD_OK;
    for (const hd_use *use = desc->uses, *end = use + desc->use_count; use != end; use++, at++) {
        uint32_t res = use->resource.id - base, access = (uint32_t)use->access, range = HDI_NONE;
        const hdi_use_rule *rule = &graph->rule[access];
        if (HDI_UNLIKELY(res >= res_count)) {
            res = hd_graph_resource_index(graph, use->resource);
            result = res == HD_NONE ? HD_BAD_HANDLE : HD_OK;
            if (result != HD_OK)
                break;
        }
        uint32_t flags = res_flags[res], kind = flags & (HDI_RES_BUFFER | HDI_RES_HISTORY);
        if (HDI_UNLIKELY(access - 1 >= HD_ACCESS_COUNT - 1)) {
            uint32_t special = HD_ACCESS_NONE;
            result = special_access(graph, use, res, (uint32_t)desc->type, &special);
            if (result != HD_OK)
                break;
            access = special;
            rule = &graph->rule[HDI_ACCESS_CUSTOM_FIRST];
            odd |= use->access == HD_RESOLVE_WRITE;
        }
        if (HDI_UNLIKELY(!(rule->types[kind] & type))) {
            result = misuse(&graph->access[access], flags, (uint32_t)desc->type);
            break;
        }
        unwritten |= flags & rule->needs;
        flags &= rule->leaves;
        if (HDI_UNLIKELY(use->range.offset | use->range.bytes)) {
            uint32_t part = HDI_NONE;
            result = add_range(graph, use, res, &part);
            if (result != HD_OK)
                break;
            range = part;
            flags = part == HDI_NONE ? flags : res_flags[res];
        }
        res_flags[res] = (uint8_t)flags;
        res_info[res].usage |= rule->usage[kind];
        graph->use_res[at] = res;
        graph->use_access[at] = (uint16_t)access;
        graph->use_flags[at] = rule->flags[kind];
        graph->use_range[at] = range;
        graph->use_exec[at] = (hdi_use_exec){.load = (uint8_t)use->load};
        graph->use_clear[at] = use->clear;
        odd |= use->resolve_of.id | (uintptr_t)use->next;
        if (HDI_UNLIKELY(res_used[res] > first)) {
            result = check_double_use(graph, first, at);
            if (result != HD_OK)
                break;
        }
        res_used[res] = at + 1;
    }
    *rare = odd;
    graph->unwritten_reads |= unwritten;
    graph->use_count = at;
    return result;
}

static inline bool pin_fits(const hd_pass_desc *desc)
{
    return desc->pin == HD_PIN_NONE || desc->type == HD_PASS_TRANSFER ||
           (desc->type == HD_PASS_GFX && desc->pin == HD_PIN_GFX) ||
           (desc->type == HD_PASS_COMPUTE && desc->pin <= HD_PIN_COMPUTE);
}

/* A pass that was not declared makes no versions: whoever asked for some gets none. */
HDI_COLD static hd_pass no_pass(const hd_pass_desc *desc)
{
    for (uint32_t u = 0; desc && desc->uses && u < desc->use_count; u++) {
        if (desc->uses[u].next)
            *desc->uses[u].next = (hd_resource){0};
    }
    return (hd_pass){0};
}

/* Reports a pass that cannot be declared. */
HDI_COLD static hd_pass refuse(hd_graph *graph, const hd_pass_desc *desc, hd_result result)
{
    if (graph->error.result == HD_OK)
        hdi_graph_fail(graph, result, graph->pass_count, HD_NONE, HD_NONE,
                       desc ? desc->name : "the description is null");
    return no_pass(desc);
}

HDI_COLD static hd_result make_room(hd_graph *graph, uint64_t passes, uint64_t uses)
{
    hd_result result = hdi_need_passes(graph, passes);
    return result == HD_OK ? hdi_need_uses(graph, uses) : result;
}

/* What few passes have: uses that are tied to one another or to versions. *bad: the use that does not go; why: null, or
 * what is wrong with it. */
HDI_COLD static hd_result tie_uses(hd_graph *graph, const hd_pass_desc *desc, uint32_t first, uint32_t *bad,
                                   const char **why)
{
    bool resolves = false, versions = graph->version_count != 0; /* any there, or asked for */
    for (uint32_t u = 0; u < desc->use_count; u++) {
        resolves |= desc->uses[u].access == HD_RESOLVE_WRITE || desc->uses[u].resolve_of.id;
        versions |= desc->uses[u].next != NULL;
    }
    hd_result result = resolves ? hdi_tie_resolves(graph, desc, first, bad, why) : HD_OK;
    return result == HD_OK && versions ? hdi_pass_versions(graph, desc, first, bad) : result;
}

HDI_COLD static void use_on_host(hd_graph *graph, uint32_t first)
{
    for (uint32_t u = first; u < graph->use_count; u++)
        graph->res_flags[graph->use_res[u]] |= HDI_RES_HOST;
}

/* A pass one of whose uses is wrong leaves nothing behind. */
HDI_COLD static hd_pass take_back(hd_graph *graph, const hd_pass_desc *desc, uint32_t first, hd_result result,
                                  uint32_t bad, const char *why)
{
    graph->use_count = first;
    hdi_graph_fail(graph, result, graph->pass_count - 1, hd_graph_resource_index(graph, desc->uses[bad].resource), bad,
                   why);
    graph->pass_count--;
    return no_pass(desc);
}

HDI_COLD static void warn_pin(const hd_graph *graph, const hd_pass_desc *desc)
{
    hdi_log(&graph->log, HD_LOG_WARNING, "pass %u '%s': its pin is ignored: no queue of that kind runs its type",
            graph->pass_count, desc->name ? desc->name : "");
}

hd_pass hd_graph_pass(hd_graph *graph, const hd_pass_desc *desc)
{
    uint32_t pass = graph->pass_count, first = graph->use_count;
    if (graph->error.result != HD_OK || !desc)
        return refuse(graph, desc, HD_INVALID_ARGUMENT);
    if (pass >= graph->capacity.pass || desc->use_count > graph->capacity.use - first) {
        hd_result result = make_room(graph, (uint64_t)pass + 1, (uint64_t)first + desc->use_count);
        if (result != HD_OK)
            return refuse(graph, desc, result);
    }
    if (HDI_UNLIKELY((uint32_t)desc->type > HD_PASS_HOST || (uint32_t)desc->pin > HD_PIN_TRANSFER ||
                     !(desc->cost_us >= 0.0f) || (!desc->uses && desc->use_count)))
        return refuse(graph, desc, HD_INVALID_ARGUMENT);
    if (HDI_UNLIKELY(!pin_fits(desc)))
        warn_pin(graph, desc);
    graph->pass_type[pass] = (uint8_t)desc->type;
    graph->pass_pin[pass] = (uint8_t)desc->pin;
    graph->pass_flags[pass] =
        (uint8_t)((desc->root ? HDI_PASS_ROOT : 0) | (desc->no_rendering ? HDI_PASS_NO_RENDERING : 0));
    graph->pass_cost[pass] = desc->cost_us > 0.0f ? desc->cost_us : 10.0f;
    graph->pass_exec[pass] = (hdi_pass_exec){desc->name, desc->record, desc->user};
    graph->pass_count = pass + 1; /* before the uses: an error names the pass */
    uintptr_t rare;
    const char *why = NULL;
    hd_result result = add_uses(graph, desc, first, &rare);
    uint32_t bad = graph->use_count - first;
    if (result == HD_OK && (rare || graph->version_count))
        result = tie_uses(graph, desc, first, &bad, &why);
    if (result != HD_OK)
        return take_back(graph, desc, first, result, bad, why);
    if (HDI_UNLIKELY(desc->type == HD_PASS_HOST))
        use_on_host(graph, first);
    graph->pass_use_begin[pass + 1] = graph->use_count;
    return (hd_pass){graph->first_handle + pass};
}
