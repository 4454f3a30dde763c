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

HDI_APART static hd_result check_double_use(const hd_graph *graph, uint32_t first, uint32_t use)
{
    for (uint32_t other = first; other < use; other++) {
        if (graph->use_res[other] == graph->use_res[use] && ranges_overlap(graph, other, use) &&
            !uses_agree(graph, other, use))
            return HD_CONFLICTING_USES;
    }
    return HD_OK;
}

void hdi_make_rules(const hdi_access_info *info, hdi_use_rule rule[HDI_RES_KINDS])
{
    bool attachment = info->attachment == HDI_ATTACHMENT_COLOR || info->attachment == HDI_ATTACHMENT_DEPTH;
    uint32_t flags = (info->reads ? HDI_USE_READS : 0) | (info->writes ? HDI_USE_WRITES : 0) |
                     (attachment ? HDI_USE_ATTACHMENT : 0);
    for (uint32_t kind = 0; kind < HDI_RES_KINDS; kind++) {
        bool is_buffer = kind & HDI_RES_BUFFER, allowed = is_buffer ? info->on_buffer : info->on_image;
        rule[kind] = (hdi_use_rule){
            .usage = is_buffer ? info->buffer_usage : info->image_usage,
            .types = allowed && !(kind & HDI_RES_HISTORY && info->writes) ? info->pass_types : 0,
            .flags = (uint8_t)(flags | (is_buffer ? HDI_USE_BUFFER : 0)),
            .needs = info->reads ? HDI_RES_UNWRITTEN : 0,
            .leaves = (uint8_t)~(info->writes ? HDI_RES_UNWRITTEN : 0),
        };
    }
}

static hd_result add_custom_access(hd_graph *graph, const hd_use *use, bool is_buffer, uint32_t pass_type,
                                   uint32_t *out)
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
    hdi_make_rules(&graph->access[*access], graph->rule[HDI_ACCESS_CUSTOM_FIRST]);
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
HDI_APART static hd_result add_range(hd_graph *graph, const hd_use *use, uint32_t res, uint32_t *out)
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
    graph->range_res[graph->range_count] = res;
    graph->range[graph->range_count++] = range;
    return HD_OK;
}

_Static_assert(HD_LOAD_CLEAR == 0 && HD_LOAD_DONT_CARE == 1, "made from a comparison");

/* Writes the columns of a use that is right. Each store counts: of a long frame they, and not the instructions, are
 * what declaring waits for. Clear values are only taken where there is something to clear. */
static HDI_INLINE void put_use(hd_graph *graph, const hd_use *use, uint32_t at, uint32_t res, uint32_t access,
                               const hdi_use_rule *rule, uint32_t range)
{
    uint32_t flags = rule->flags;
    graph->res_info[res].usage |= rule->usage;
    graph->res_used[res] = at + 1;
    graph->use_res[at] = res;
    graph->use_range[at] = range;
    graph->use_access[at] = (uint16_t)access;
    graph->use_exec[at] = (hdi_use_exec){.load = use->load != HD_LOAD_CLEAR};
    graph->use_flags[at] = (uint8_t)flags;
    if (flags & HDI_USE_ATTACHMENT)
        graph->use_clear[at] = use->clear;
}

/* Appends the uses of a pass as long as they only have what nearly all have; returns how many that were. What any of
 * them has to do with resolves and versions gathers in *rare, not 0. One that is wrong is left to add_use, which says
 * why. */
static inline uint32_t add_plain_uses(hd_graph *graph, const hd_pass_desc *desc, uint32_t first, uintptr_t *rare)
{
    const uint32_t base = graph->first_handle, res_count = graph->res_count, type = 1u << desc->type;
    uint8_t *const res_flags = graph->res_flags;
    uintptr_t odd = 0;
    uint32_t at = first, unwritten = 0;
    for (const hd_use *use = desc->uses, *end = use + desc->use_count; use != end; use++, at++) {
        uint32_t res = use->resource.id - base, access = (uint32_t)use->access, range = HDI_NONE;
        if (HDI_UNLIKELY(res >= res_count || access - 1 >= HD_ACCESS_COUNT - 1))
            break;
        uint32_t flags = res_flags[res], used = graph->res_used[res];
        const hdi_use_rule *rule = &graph->rule[access][flags & HDI_RES_KIND];
        if (HDI_UNLIKELY(!(rule->types & type)))
            break;
        if (HDI_UNLIKELY((use->range.offset | use->range.bytes) != 0)) {
            uint32_t added = HDI_NONE;
            if (add_range(graph, use, res, &added) != HD_OK)
                break;
            range = added;
        }
        odd |= use->resolve_of.id | (uintptr_t)use->next;
        unwritten |= flags & rule->needs;
        if (range == HDI_NONE)
            res_flags[res] = (uint8_t)(flags & rule->leaves);
        put_use(graph, use, at, res, access, rule, range);
        if (HDI_UNLIKELY(used > first) && check_double_use(graph, first, at) != HD_OK)
            break;
    }
    graph->unwritten_reads |= unwritten;
    *rare = odd;
    return at - first;
}

/* Appends any use. */
static hd_result add_use(hd_graph *graph, const hd_use *use, uint32_t pass_type, uint32_t first, uint32_t at)
{
    uint32_t res = hd_graph_resource_index(graph, use->resource), access = (uint32_t)use->access, range = HDI_NONE;
    const hdi_use_rule *rule = graph->rule[HDI_ACCESS_CUSTOM_FIRST];
    hd_result result = HD_OK;
    if (res == HD_NONE)
        return HD_BAD_HANDLE;
    uint32_t flags = graph->res_flags[res];
    if (access - 1 < HD_ACCESS_COUNT - 1)
        rule = graph->rule[access];
    else
        result = special_access(graph, use, res, pass_type, &access);
    if (result != HD_OK)
        return result;
    rule += flags & HDI_RES_KIND;
    if (!(rule->types >> pass_type & 1))
        return misuse(&graph->access[access], flags, pass_type);
    if (use->range.offset | use->range.bytes)
        result = add_range(graph, use, res, &range);
    if (result != HD_OK)
        return result;
    graph->unwritten_reads |= flags & rule->needs;
    graph->res_flags[res] = (uint8_t)((range == HDI_NONE ? flags & rule->leaves : flags) |
                                      (pass_type == HD_PASS_HOST ? HDI_RES_HOST : 0));
    bool twice = graph->res_used[res] > first;
    put_use(graph, use, at, res, access, rule, range);
    return twice ? check_double_use(graph, first, at) : HD_OK;
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

/* The rest of a pass that is in its columns with `done` of its uses. rare: as add_plain_uses leaves it. */
HDI_APART static hd_pass finish_pass(hd_graph *graph, const hd_pass_desc *desc, uint32_t done, uintptr_t rare)
{
    uint32_t first = graph->use_count, bad = done;
    const char *why = NULL;
    hd_result result = HD_OK;
    for (; bad < desc->use_count; bad++) {
        const hd_use *use = &desc->uses[bad];
        result = add_use(graph, use, (uint32_t)desc->type, first, first + bad);
        if (result != HD_OK)
            return take_back(graph, desc, first, result, bad, why);
        rare |= use->resolve_of.id | (uintptr_t)use->next | (use->access == HD_RESOLVE_WRITE);
    }
    graph->use_count = first + desc->use_count;
    if (rare | graph->version_count)
        result = tie_uses(graph, desc, first, &bad, &why);
    if (result != HD_OK)
        return take_back(graph, desc, first, result, bad, why);
    graph->pass_use_begin[graph->pass_count] = graph->use_count;
    return (hd_pass){hdi_handle(graph, graph->pass_count - 1)};
}

/* All columns of a pass but what says where its uses end. It counts from here on: errors name it. */
static inline void put_pass(hd_graph *graph, const hd_pass_desc *desc, uint32_t pass)
{
    graph->pass_type[pass] = (uint8_t)desc->type;
    graph->pass_pin[pass] = (uint8_t)desc->pin;
    graph->pass_flags[pass] =
        (uint8_t)((desc->root ? HDI_PASS_ROOT : 0) | (desc->no_rendering ? HDI_PASS_NO_RENDERING : 0));
    graph->pass_cost[pass] = desc->cost_us > 0.0f ? desc->cost_us : 10.0f;
    graph->pass_exec[pass] = (hdi_pass_exec){desc->name, desc->record, desc->user, desc->splits};
    graph->pass_count = pass + 1;
}

/* A pass that is wrong, or finds no room, or has to do with the host, or has a pin. */
HDI_COLD static hd_pass odd_pass(hd_graph *graph, const hd_pass_desc *desc)
{
    if (graph->error.result != HD_OK || !desc)
        return refuse(graph, desc, HD_INVALID_ARGUMENT);
    hd_result result = make_room(graph, (uint64_t)graph->pass_count + 1, (uint64_t)graph->use_count + desc->use_count);
    if (result == HD_OK && ((uint32_t)desc->type > HD_PASS_HOST || (uint32_t)desc->pin > HD_PIN_TRANSFER ||
                            !(desc->cost_us >= 0.0f) || desc->splits > HD_MAX_SPLITS ||
                            (!desc->uses && desc->use_count)))
        result = HD_INVALID_ARGUMENT;
    if (result != HD_OK)
        return refuse(graph, desc, result);
    if (!pin_fits(desc))
        warn_pin(graph, desc);
    put_pass(graph, desc, graph->pass_count);
    return finish_pass(graph, desc, 0, 0);
}

hd_pass hd_graph_pass(hd_graph *graph, const hd_pass_desc *desc)
{
    uint32_t pass = graph->pass_count, first = graph->use_count;
    if (HDI_UNLIKELY(graph->error.result != HD_OK || !desc || pass >= graph->capacity.pass ||
                     desc->use_count > graph->capacity.use - first || (uint32_t)desc->type >= HD_PASS_HOST ||
                     desc->pin != HD_PIN_NONE || !(desc->cost_us >= 0.0f) || desc->splits > HD_MAX_SPLITS ||
                     (!desc->uses && desc->use_count)))
        return odd_pass(graph, desc);
    put_pass(graph, desc, pass);
    uintptr_t rare;
    uint32_t done = add_plain_uses(graph, desc, first, &rare);
    if (HDI_UNLIKELY(done < desc->use_count || (rare | graph->version_count) != 0))
        return finish_pass(graph, desc, done, rare);
    graph->use_count = graph->pass_use_begin[pass + 1] = first + done;
    return (hd_pass){graph->first_handle + pass};
}
