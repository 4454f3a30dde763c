#include "graph_state.h"
#include "declare_columns.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "hints.h"
#include "vk_numbers.h"

/* A pass and its uses: each use is checked alone, then against the uses of the same resource in the same pass. That
 * there is one shows in the newest use of the resource, so that only resources used twice cost more than a look
 * (declare_twice.c). O(uses). */

/* A range that is explicit, or what there is to it. */
typedef enum resolved { RANGE_PART, RANGE_WHOLE, RANGE_BAD } resolved;

static HDI_INLINE resolved resolve_bytes(const hdi_res_info *info, const hd_range *range, hd_range *out)
{
    const uint64_t all = info->bytes, offset = range->offset, most = all - offset;
    const uint64_t bytes = range->bytes ? range->bytes : most;
    if (offset >= all || bytes > most)
        return RANGE_BAD;
    out->offset = offset;
    out->bytes = bytes;
    return bytes == all ? RANGE_WHOLE : RANGE_PART;
}

/* One side after the other: together they take more registers than there are. */
static HDI_INLINE resolved resolve_piece(const hdi_res_info *info, const hd_range *range, uint32_t aspect,
                                         hd_range *out)
{
    const uint32_t mip = range->mip_base, mips = info->mips - mip; /* from the base on, where that is below */
    const uint32_t mip_count = range->mip_count ? range->mip_count : mips;
    if (mip >= info->mips || mip_count > mips)
        return RANGE_BAD;
    out->mip_base = (uint16_t)mip;
    out->mip_count = (uint16_t)mip_count;
    const uint32_t layer = range->layer_base, layers = info->layers - layer;
    const uint32_t layer_count = range->layer_count ? range->layer_count : layers;
    if (layer >= info->layers || layer_count > layers)
        return RANGE_BAD;
    out->layer_base = layer;
    out->layer_count = layer_count;
    out->aspect = aspect;
    return mip_count == info->mips && layer_count == info->layers && aspect == 0 ? RANGE_WHOLE : RANGE_PART;
}

static hd_result add_custom_access(hd_graph *graph, const hd_use *use, bool is_buffer, uint32_t pass_type,
                                   uint32_t *out)
{
    const hd_custom_access *custom = use->custom;
    hd_result result = hdi_access_check(custom, pass_type, is_buffer, NULL);
    if (result == HD_OK && graph->access_count > UINT16_MAX)
        result = HD_TOO_LARGE;
    if (result == HD_OK)
        result = hdi_need(graph, HDI_ACCESSES, graph->access_count + 1);
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
    const uint64_t readers = is_buffer ? 0 : hdi_readers_of(custom->layout, graph->own_layout);
    if (readers & (readers - 1) && graph->own_layout == HDI_LAYOUT_UNDEFINED)
        graph->own_layout = custom->layout;
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
        graph->ties = true;
        *access = depth ? HDI_DEPTH_RESOLVE : HD_RESOLVE_WRITE;
    } else {
        return HD_BAD_ACCESS;
    }
    hdi_make_rules(&graph->access[*access], HD_ACCESS_CUSTOM, 0, 0, graph->own_layout, &graph->rules);
    return HD_OK;
}

/* Why the rule of an access does not allow a use. */
HDI_COLD static hd_result misuse(const hdi_access_info *access, uint32_t res_flags, uint32_t pass_type)
{
    if (!(res_flags & HDI_RES_BUFFER ? access->on_buffer : access->on_image))
        return HD_BAD_ACCESS;
    return access->pass_types >> pass_type & 1 ? HD_HISTORY_WRITTEN : HD_BAD_PASS_TYPE;
}

/* Makes a range that names no aspects explicit where the next one will stand, for which there is room. */
static HDI_INLINE resolved resolve_plain(const hd_graph *graph, const hd_use *use, uint32_t res)
{
    const hdi_res_info *info = &graph->res_info[res];
    hd_range *own = &graph->range[graph->range_count];
    if (graph->res_flags[res] & HDI_RES_BUFFER)
        return resolve_bytes(info, &use->range, own);
    return use->range.aspect ? RANGE_BAD : resolve_piece(info, &use->range, 0, own);
}

/* Appends the one that was made explicit. Returns its number. */
static HDI_INLINE uint32_t put_range(hd_graph *graph, uint32_t res)
{
    const uint32_t at = graph->range_count;
    graph->range_res[at] = res;
    graph->range_count = at + 1;
    return at;
}

/* Any range; that of the whole is none. */
static hd_result add_range(hd_graph *graph, const hd_use *use, uint32_t res, uint32_t *out)
{
    hd_result result = hdi_need(graph, HDI_RANGES, (uint64_t)graph->range_count + 1);
    if (result != HD_OK)
        return result;
    resolved what = resolve_plain(graph, use, res);
    if (!(graph->res_flags[res] & HDI_RES_BUFFER) && use->range.aspect) {
        uint32_t aspect = use->range.aspect, all = hdi_format_aspects(graph->res_info[res].format);
        what = aspect & ~all ? RANGE_BAD
                             : resolve_piece(&graph->res_info[res], &use->range, aspect == all ? 0 : aspect,
                                             &graph->range[graph->range_count]);
    }
    *out = what == RANGE_PART ? put_range(graph, res) : HDI_NONE;
    return what == RANGE_BAD ? HD_BAD_RANGE : HD_OK;
}

_Static_assert(HD_LOAD_CLEAR == 0 && HD_LOAD_DONT_CARE == 1, "made from a comparison");

/* The bits of a clear value, of which most have none. */
static inline uint64_t clear_bits(const hd_use *use)
{
    uint64_t halves[2];
    memcpy(halves, &use->clear, sizeof(halves));
    return halves[0] | halves[1];
}

static HDI_APART hd_result add_clear(hd_graph *graph, const hd_use *use, uint32_t at)
{
    uint32_t count = graph->clear_count;
    hd_result result = hdi_need(graph, HDI_CLEARS, (uint64_t)count + 1);
    if (result != HD_OK)
        return result;
    graph->clear_use[count] = at;
    graph->clear[count] = use->clear;
    graph->clear_count = count + 1;
    return HD_OK;
}

static inline uint64_t range_bits(const hd_use *use)
{
    return use->range.offset | use->range.bytes;
}

_Static_assert(offsetof(hd_use, resolve_of) == offsetof(hd_use, load) + sizeof(uint32_t), "looked at together");

/* Of a load op, a format and ties. */
static inline uint64_t rest_bits(const hd_use *use)
{
    uint64_t both;
    memcpy(&both, (const char *)use + offsetof(hd_use, load), sizeof(both));
    return both | (uintptr_t)use->next | use->format;
}

/* Null, or why the pass cannot see the resource in the use's format, which is not the resource's own. */
HDI_COLD static const char *format_fault(const hd_graph *graph, const hd_use *use, uint32_t res)
{
    const hdi_res_info *info = &graph->res_info[res];
    if (graph->res_flags[res] & HDI_RES_BUFFER)
        return "its format is of images";
    hdi_texel_block own = hdi_format_block(info->format), seen = hdi_format_block(use->format);
    if (hdi_format_aspects(info->format) || hdi_format_aspects(use->format) || !own.bytes || own.bytes != seen.bytes ||
        own.width != seen.width || own.height != seen.height)
        return "its format has other texels than the image";
    if (graph->res_flags[res] & HDI_RES_EXTERNAL && !(info->flags & HDI_IMAGE_MUTABLE_FORMAT))
        return "its format is another one than the import's, whose flags lack VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT";
    return NULL;
}

/* A history and what it is of are made alike. */
HDI_COLD static hd_result add_format(hd_graph *graph, const hd_use *use, uint32_t at)
{
    uint32_t res = hd_graph_resource_index(graph, use->resource), pair = graph->res_pair[res];
    if (use->format == graph->res_info[res].format && !(graph->res_flags[res] & HDI_RES_BUFFER))
        return HD_OK;
    if (format_fault(graph, use, res))
        return HD_INVALID_ARGUMENT;
    graph->use_exec[at].format = use->format;
    graph->unusual |= HDI_UNUSUAL_LOADS;
    if (graph->res_flags[res] & HDI_RES_EXTERNAL)
        return HD_OK;
    hdi_res_info *info = &graph->res_info[res];
    info->flags |= HDI_IMAGE_MUTABLE_FORMAT | HDI_IMAGE_EXTENDED_USAGE;
    info->seen = info->seen && info->seen != use->format ? HDI_SEVERAL_FORMATS : use->format;
    if (pair != HDI_NONE) {
        graph->res_info[pair].flags = info->flags;
        graph->res_info[pair].seen = info->seen;
    }
    return HD_OK;
}

/* What few uses have. */
static HDI_APART hd_result add_rest(hd_graph *graph, const hd_use *use, uint32_t at)
{
    graph->ties |= use->resolve_of.id || use->next;
    if (use->load != HD_LOAD_CLEAR) {
        if (use->load != HD_LOAD_DONT_CARE)
            return HD_INVALID_ARGUMENT;
        graph->use_exec[at].load = HD_LOAD_DONT_CARE;
        graph->unusual |= HDI_UNUSUAL_LOADS;
    }
    hd_result result = use->format ? add_format(graph, use, at) : HD_OK;
    if (result != HD_OK)
        return result;
    return clear_bits(use) ? add_clear(graph, use, at) : HD_OK;
}

/* Writes the columns of a use that is right, but for those that have a usual value. Each store counts: of a long frame
 * they, and not the instructions, are what declaring waits for. */
static HDI_INLINE void put_use(hd_graph *graph, size_t at, uint32_t pass, uint32_t res, uint64_t rule)
{
    graph->use_res[at] = res;
    graph->use_pass[at] = pass;
    graph->use_flags[at] = (uint8_t)(rule >> HDI_RULE_FLAGS);
    graph->use_access[at] = (uint16_t)(rule >> HDI_RULE_ROW);
}

static inline bool pin_fits(const hd_pass_desc *desc)
{
    return desc->pin == HD_PIN_NONE || desc->type == HD_PASS_TRANSFER ||
           (desc->type == HD_PASS_GFX && desc->pin == HD_PIN_GFX) ||
           (desc->type == HD_PASS_COMPUTE && desc->pin <= HD_PIN_COMPUTE);
}

/* A pass that was not declared makes no versions: uses that ask for one get none. */
HDI_COLD static hd_pass no_pass(const hd_pass_desc *desc)
{
    for (uint32_t u = 0; desc && hdi_has_uses(desc) && u < desc->use_count; u++) {
        if (desc->uses[u].next)
            *desc->uses[u].next = (hd_resource){0};
    }
    return (hd_pass){0};
}

/* Reports a pass that cannot be declared. why: null, or what is wrong with it. */
HDI_COLD static hd_pass refuse(hd_graph *graph, const hd_pass_desc *desc, hd_result result, const char *why)
{
    char detail[128];
    const char *name = desc && desc->name ? desc->name : "";
    snprintf(detail, sizeof(detail), "%.40s%s%s", name, *name && why ? ": " : "", why ? why : "");
    if (graph->error.result == HD_OK)
        hdi_graph_fail(graph, result, graph->pass_count, HD_NONE, HD_NONE, *detail ? detail : NULL);
    return no_pass(desc);
}

/* Null, or which field of the description is wrong. */
HDI_COLD static const char *pass_fault(const hd_pass_desc *desc)
{
    if ((uint32_t)desc->type > HD_PASS_HOST)
        return "type is no hd_pass_type";
    if ((uint32_t)desc->pin > HD_PIN_TRANSFER)
        return "pin is no hd_pin";
    if (!(desc->cost_us >= 0.0f && desc->cost_us <= FLT_MAX))
        return "cost_us is negative, infinite or no number";
    if (desc->splits > HD_MAX_SPLITS)
        return "splits is more than HD_MAX_SPLITS";
    return !desc->uses && desc->use_count ? "uses is null and use_count is not 0" : NULL;
}

HDI_COLD static hd_result make_room(hd_graph *graph, uint64_t passes, uint64_t uses)
{
    hd_result result = hdi_need(graph, HDI_PASSES, passes);
    return result == HD_OK ? hdi_need(graph, HDI_USES, uses) : result;
}

/* What few passes have: uses that are tied to one another or to versions.
 * *bad: the use that does not go; why: null, or what is wrong with it. */
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

/* Null, or which field of a use made it wrong. text: room for HDI_FAULT_BYTES. */
HDI_COLD static const char *use_fault(const hd_graph *graph, const hd_pass_desc *desc, const hd_use *use,
                                      hd_result result, char *text)
{
    uint32_t access = (uint32_t)use->access;
    if (result == HD_BAD_HANDLE)
        return hdi_handle_fault(graph, use->resource.id);
    if (result == HD_INVALID_ARGUMENT)
        return (uint32_t)use->load > HD_LOAD_DONT_CARE
                   ? "its load is no hd_load"
                   : format_fault(graph, use, hd_graph_resource_index(graph, use->resource));
    if (access == HD_ACCESS_NONE || (access >= HD_ACCESS_COUNT && access < HD_RESOLVE_WRITE) ||
        access > HD_ACCESS_CUSTOM)
        return result == HD_BAD_ACCESS ? "its access is none, or no hd_access" : NULL;
    if (access != HD_ACCESS_CUSTOM || (result != HD_BAD_ACCESS && result != HD_BAD_PASS_TYPE))
        return NULL;
    uint32_t res = hd_graph_resource_index(graph, use->resource);
    bool is_buffer = graph->res_flags[res] & HDI_RES_BUFFER;
    return hdi_access_check(use->custom, (uint32_t)desc->type, is_buffer, text) != HD_OK ? text : NULL;
}

/* A pass with a use that is wrong leaves nothing behind. why: null, or what is wrong beyond one use. */
HDI_COLD static hd_pass take_back(hd_graph *graph, const hd_pass_desc *desc, uint32_t first, hd_result result,
                                  uint32_t bad, const char *why)
{
    char text[HDI_FAULT_BYTES];
    uint32_t earlier;
    if (graph->used_twice && hdi_check_double_uses(graph, first, bad, &earlier) == HD_CONFLICTING_USES) {
        result = HD_CONFLICTING_USES;
        bad = earlier;
    }
    if (!why)
        why = use_fault(graph, desc, &desc->uses[bad], result, text);
    hdi_reset_pass(graph, graph->pass_count - 1, first, first + desc->use_count);
    while (graph->clear_count && graph->clear_use[graph->clear_count - 1] >= first)
        graph->clear_count--;
    graph->use_count = first;
    hdi_graph_fail(graph, result, graph->pass_count - 1, hd_graph_resource_index(graph, desc->uses[bad].resource), bad,
                   why);
    graph->pass_count--;
    return no_pass(desc);
}

/* Host passes make what they use visible to the host. */
HDI_COLD static void mark_host(hd_graph *graph, uint32_t first, uint32_t end)
{
    for (uint32_t u = first; u < end; u++)
        graph->res_flags[graph->use_res[u]] |= HDI_RES_HOST;
}

/* Whether a use names a resource by a handle of the graph's own, and one of the named accesses. */
static HDI_INLINE bool is_named(const hd_graph *graph, const hd_use *use)
{
    return use->resource.id - graph->first_handle < graph->res_count && (uint32_t)use->access < HD_ACCESS_COUNT;
}

/* Appends a use that only has what nearly all have, unless it is the second one of its resource in the pass, or is
 * wrong: that is for add_use. rules: those of the pass's type. *full loses HDI_RES_FULL where a read finds less. rest:
 * it is_named, and may have what few uses have, too, but for a range. */
static HDI_INLINE bool add_plain_use(hd_graph *graph, const hd_use *use, uint32_t pass, uint32_t first, size_t at,
                                     const uint64_t *rules, uint64_t *full, bool rest)
{
    uint32_t res = use->resource.id - graph->first_handle;
    size_t access = (uint32_t)use->access;
    if (HDI_UNLIKELY(!rest && (!is_named(graph, use) || (range_bits(use) | rest_bits(use) | clear_bits(use)))))
        return false;
    hdi_res_state *state = &graph->res_state[res];
    uint64_t rule = rules[hdi_rule_index(access, state->word)], word = state->word | rule;
    if (HDI_UNLIKELY(rule == 0 || state->newest > first))
        return false;
    if (rest && (rest_bits(use) | clear_bits(use)) && add_rest(graph, use, (uint32_t)at) != HD_OK)
        return false;
    *full &= word;
    state->word = word;
    state->newest = (uint32_t)at + 1;
    put_use(graph, at, pass, res, rule);
    return true;
}

/* The same of one that is_named and has a range, of a part of its resource and without aspects. */
static HDI_INLINE bool add_plain_range(hd_graph *graph, const hd_use *use, uint32_t pass, uint32_t first, size_t at,
                                       const uint64_t *rules, uint64_t *full)
{
    uint32_t res = use->resource.id - graph->first_handle;
    size_t access = (uint32_t)use->access;
    if (HDI_UNLIKELY(graph->range_count >= graph->capacity[HDI_RANGES]))
        return false;
    if (resolve_plain(graph, use, res) != RANGE_PART)
        return false;
    hdi_res_state *state = &graph->res_state[res];
    uint64_t word = state->word, rule = rules[hdi_rule_index(access, word)];
    if (HDI_UNLIKELY(rule == 0))
        return false;
    if ((rest_bits(use) | clear_bits(use)) && add_rest(graph, use, (uint32_t)at) != HD_OK)
        return false;
    graph->use_range[at] = put_range(graph, res);
    const bool twice = state->newest > first;
    *full &= word | rule;
    state->word = word | (rule & ~HDI_RES_FULL);
    state->newest = (uint32_t)at + 1;
    put_use(graph, at, pass, res, rule);
    if (twice)
        graph->used_twice = true;
    return true;
}

/* Appends any use, at the end of the newest pass. */
HDI_APART static hd_result add_use(hd_graph *graph, const hd_use *use, uint32_t type, uint32_t at)
{
    const uint32_t pass = graph->pass_count - 1, first = graph->use_count;
    uint32_t res = use->resource.id - graph->first_handle, access = (uint32_t)use->access, row = access;
    if (HDI_UNLIKELY(res >= graph->res_count))
        res = hd_graph_resource_index(graph, use->resource);
    if (HDI_UNLIKELY(res == HD_NONE))
        return HD_BAD_HANDLE;
    if (HDI_UNLIKELY(access - 1 >= HD_ACCESS_COUNT - 1)) {
        row = HD_ACCESS_CUSTOM;
        hd_result result = special_access(graph, use, res, type, &access);
        if (result != HD_OK)
            return result;
    }
    hdi_res_state *state = &graph->res_state[res];
    uint64_t rule = graph->rules.of[type][hdi_rule_index(row, state->word)], adds = rule;
    if (HDI_UNLIKELY(!rule))
        return misuse(&graph->access[access], graph->res_flags[res], type);
    if (range_bits(use)) {
        uint32_t range;
        hd_result result = add_range(graph, use, res, &range);
        if (HDI_UNLIKELY(result != HD_OK))
            return result;
        graph->use_range[at] = range;
        adds = range == HDI_NONE ? adds : adds & ~HDI_RES_FULL;
    }
    if (HDI_UNLIKELY(rest_bits(use) | clear_bits(use))) {
        hd_result result = add_rest(graph, use, at);
        if (result != HD_OK)
            return result;
    }
    graph->unwritten_reads |= !((state->word | rule) & HDI_RES_FULL);
    put_use(graph, at, pass, res, row == HD_ACCESS_CUSTOM ? rule | (uint64_t)access << HDI_RULE_ROW : rule);
    state->word |= adds;
    bool twice = state->newest > first;
    state->newest = at + 1;
    if (twice)
        graph->used_twice = true;
    return HD_OK;
}

/* The rest of a pass that is in its columns with the uses before this one. */
HDI_APART static hd_pass finish_pass(hd_graph *graph, const hd_pass_desc *desc, const hd_use *use,
                                     const uint64_t *rules, size_t at, size_t end)
{
    const uint32_t pass = graph->pass_count - 1, first = graph->use_count;
    uint64_t full = HDI_RES_FULL;
    for (; at < end; at++, use++) {
        if (HDI_LIKELY(is_named(graph, use)) &&
            (range_bits(use) ? add_plain_range(graph, use, pass, first, at, rules, &full)
                             : add_plain_use(graph, use, pass, first, at, rules, &full, true)))
            continue;
        hd_result result = add_use(graph, use, (uint32_t)desc->type, (uint32_t)at);
        if (HDI_UNLIKELY(result != HD_OK))
            return take_back(graph, desc, first, result, (uint32_t)at - first, NULL);
    }
    graph->unwritten_reads |= full == 0;
    graph->use_count = graph->pass_use_begin[graph->pass_count] = (uint32_t)end;
    if (HDI_UNLIKELY(graph->ties | graph->used_twice)) {
        const char *why = NULL;
        uint32_t bad = desc->use_count;
        hd_result result = graph->used_twice ? hdi_check_double_uses(graph, first, bad, &bad) : HD_OK;
        if (result == HD_OK && graph->ties)
            result = tie_uses(graph, desc, first, &bad, &why);
        graph->ties = graph->version_count != 0;
        if (result != HD_OK)
            return take_back(graph, desc, first, result, bad, why);
    }
    return (hd_pass){graph->first_handle + pass};
}

/* The flags and the pin of a pass, which few have. */
static inline void mark_pass(hd_graph *graph, const hd_pass_desc *desc, uint32_t pass)
{
    graph->pass_flags[pass] =
        (uint8_t)((desc->root ? HDI_PASS_ROOT : 0) | (desc->no_rendering ? HDI_PASS_NO_RENDERING : 0));
    graph->pass_pin[pass] = (uint8_t)desc->pin;
    graph->unusual |= HDI_UNUSUAL_PASSES;
}

/* The columns of a pass but for its marks and where its uses end. It counts from here on: errors name it. */
static inline void put_columns(hd_graph *graph, const hd_pass_desc *desc, uint32_t pass, uint32_t cost)
{
    graph->pass_type[pass] = (uint8_t)desc->type;
    memcpy(&graph->pass_cost[pass], &cost, sizeof(cost));
    graph->pass_exec[pass] = (hdi_pass_exec){desc->name, desc->record, desc->user, desc->splits};
    graph->pass_count = pass + 1;
}

/* The bits of a cost; of 10 for 0 of either sign. */
static inline uint32_t cost_bits(float cost)
{
    uint32_t bits;
    memcpy(&bits, &cost, sizeof(bits));
    return bits << 1 ? bits : 0x41200000;
}

/* Appends a pass that is right, for which there is room. cost: its bits. */
static HDI_INLINE hd_pass put_pass(hd_graph *graph, const hd_pass_desc *desc, uint32_t cost)
{
    const uint32_t pass = graph->pass_count, first = graph->use_count;
    const uint64_t *rules = graph->rules.of[desc->type];
    HDI_HIDE(rules); /* one register, as `end` is: the loop has no other left */
    const hd_use *use = desc->uses;
    uint64_t full = HDI_RES_FULL;
    size_t at = first, end = at + desc->use_count;
    HDI_HIDE(end);
    put_columns(graph, desc, pass, cost);
    do {
        if (!add_plain_use(graph, use, pass, first, at, rules, &full, false))
            break;
    } while (use++, ++at < end);
    if (HDI_UNLIKELY(full == 0))
        graph->unwritten_reads = true;
    if (HDI_UNLIKELY(at < end || graph->ties))
        return finish_pass(graph, desc, use, rules, at, end);
    graph->use_count = graph->pass_use_begin[graph->pass_count] = (uint32_t)end;
    return (hd_pass){graph->first_handle + pass};
}

/* A pass of a list, or one that is wrong, or finds no room, or is a root, or has a pin, splits or something to do with
 * the host, or no uses. */
HDI_APART static hd_pass odd_pass(hd_graph *graph, const hd_pass_desc *desc)
{
    if (!graph || graph->list)
        return graph ? hdi_list_pass(graph->list, desc) : no_pass(desc);
    if (graph->error.result != HD_OK || !desc)
        return refuse(graph, desc, HD_INVALID_ARGUMENT, "the description is null");
    uint32_t first = graph->use_count;
    hd_result result = make_room(graph, (uint64_t)graph->pass_count + 1, (uint64_t)first + desc->use_count);
    const char *fault = result == HD_OK ? pass_fault(desc) : NULL;
    if (fault || result != HD_OK)
        return refuse(graph, desc, fault ? HD_INVALID_ARGUMENT : result, fault);
    if (!pin_fits(desc))
        return refuse(graph, desc, HD_BAD_PIN, NULL);
    mark_pass(graph, desc, graph->pass_count);
    if (desc->use_count == 0) {
        graph->has_empty_passes = true;
        put_columns(graph, desc, graph->pass_count, cost_bits(desc->cost_us));
        graph->pass_use_begin[graph->pass_count] = first;
        return (hd_pass){graph->first_handle + graph->pass_count - 1};
    }
    hd_pass made = put_pass(graph, desc, cost_bits(desc->cost_us));
    if (desc->type == HD_PASS_HOST && made.id)
        mark_host(graph, first, graph->use_count);
    return made;
}

/* What nearly all passes are. cost: its bits; more than those of all numbers from 0 on where it is none of them. room:
 * for so many uses. */
static inline bool is_plain(const hd_pass_desc *desc, uint32_t cost, uint32_t room)
{
    const uint32_t infinity = 0x7f800000;
    return (uint32_t)desc->type < HD_PASS_HOST && ((uint32_t)desc->pin | desc->splits) == 0 && !desc->root &&
           !desc->no_rendering && cost < infinity && desc->uses && desc->use_count - 1 < room;
}

static inline hd_pass declare_pass(hd_graph *graph, const hd_pass_desc *desc)
{
    if (HDI_UNLIKELY(!graph || !desc || graph->pass_count >= graph->pass_room))
        return odd_pass(graph, desc);
    uint32_t cost = cost_bits(desc->cost_us);
    if (HDI_UNLIKELY(!is_plain(desc, cost, graph->capacity[HDI_USES] - graph->use_count)))
        return odd_pass(graph, desc);
    return put_pass(graph, desc, cost);
}

hd_pass hd_graph_pass(hd_graph *graph, const hd_pass_desc *desc)
{
    const hdi_entered entered = HDI_ENTER(graph, "hd_graph_pass");
    const hd_pass made = entered == HDI_REFUSED ? no_pass(desc) : declare_pass(graph, desc);
    HDI_LEAVE(graph, entered);
    return made;
}
