#include "declare_columns.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "hash.h"
#include "hints.h"
#include "vk_numbers.h"

/* A graph and what its handles mean. Declaring appends to columns that keep their memory from frame to frame
 * (declare_columns.c) and checks what one call can see; what needs the whole frame (a read of what no pass wrote) is
 * checked by flow. O(1) a resource (declare_resource.c), O(uses) a pass (declare_pass.c). */

/* ---- errors ---- */

hd_result hdi_graph_fail(hd_graph *graph, hd_result result, uint32_t pass, uint32_t res, uint32_t use,
                         const char *detail)
{
    if (graph->error.result != HD_OK)
        return result;
    graph->error = (hd_error){.result = result, .pass = pass, .resource = res, .use = use};
    hdi_set_rooms(graph);
    char *text = graph->error.text;
    size_t size = sizeof(graph->error.text), at = 0;
    if (pass != HD_NONE) {
        const char *name = pass < graph->pass_count ? graph->pass_exec[pass].name : NULL;
        at += (size_t)snprintf(text + at, size - at, name ? "pass %u '%.40s'" : "pass %u", pass, name);
        if (use != HD_NONE)
            at += (size_t)snprintf(text + at, size - at, ", use %u", use);
    }
    if (res != HD_NONE) {
        const char *name = res < graph->res_count ? graph->res_info[res].name : NULL;
        at += (size_t)snprintf(text + at, size - at, name ? "%sresource %u '%.40s'" : "%sresource %u", at ? ", " : "",
                               res, name);
    }
    snprintf(text + at, size - at, "%s%s%s%s", at ? ": " : "", hd_result_text(result), detail ? ": " : "",
             detail ? detail : "");
    hdi_one_line(text);
    hdi_log(&graph->log, HD_LOG_ERROR, "%s", text);
    return result;
}

const hd_error *hd_graph_error(const hd_graph *graph)
{
    static const hd_error none = {HD_INVALID_ARGUMENT, HD_NONE, HD_NONE, HD_NONE, "the graph is null"};
    return graph ? &graph->error : &none;
}

/* ---- graph ---- */

/* Rows of handles begin anywhere, so that those of other graphs are out of range, also of one that lay here before.
 * They never reach a plan. */
static void start_handles(hd_graph *graph)
{
    uint64_t random = hdi_hash_mix((uint64_t)(uintptr_t)graph, hdi_clock_ns());
    graph->tag = (uint32_t)random;
    graph->first_handle = 1 + graph->tag % (HDI_VERSION_HANDLES - 2 * HDI_MOST_INDICES);
    const uint32_t row = (uint32_t)(random >> 32) % (0 - HDI_LIST_HANDLES - 2 * HDI_MOST_INDICES);
    graph->first_version = HDI_VERSION_HANDLES + row;
    graph->lists.first_handle = HDI_LIST_HANDLES + row;
    graph->old_handles = graph->first_handle;
    graph->old_versions = graph->first_version;
    graph->old_lists = graph->lists.first_handle;
}

static void begin(hd_graph *graph);

hd_result hd_graph_create(const hd_graph_desc *desc, hd_graph **out)
{
    if (!out)
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    const hd_graph_desc zero = {0};
    if (!desc)
        desc = &zero;
    hd_graph *graph = hdi_alloc(&desc->allocator, sizeof(*graph), 64);
    if (!graph)
        return HD_OUT_OF_MEMORY;
    memset(graph, 0, sizeof(*graph));
    graph->allocator = desc->allocator;
    graph->log = desc->log;
    graph->log_plans = desc->log_plans;
    hdi_arena_init(&graph->scratch, &graph->allocator);
    for (int i = 0; i < HDI_MOST_PARTS; i++)
        hdi_arena_init(&graph->part[i], &graph->allocator);
    graph->region_passes = HDI_REGION_PASSES;
    graph->parallel_passes = HDI_PARALLEL_PASSES;
    pthread_mutex_init(&graph->lists.mutex, NULL);
    hd_graph_set_name(graph, desc->name);
    hd_result result = hdi_cache_init(&graph->cache, &graph->allocator, desc->plans);
    if (result == HD_INVALID_ARGUMENT)
        hdi_log(&graph->log, HD_LOG_ERROR, "a graph cannot be made: plans is %u, at most 1024 are kept", desc->plans);
    if (result == HD_OK)
        result = hdi_need(graph, HDI_PASSES, 64);
    if (result == HD_OK)
        result = hdi_need(graph, HDI_RESOURCES, 64);
    if (result == HD_OK)
        result = hdi_need(graph, HDI_USES, 256);
    if (result == HD_OK)
        result = hdi_need(graph, HDI_RANGES, 64);
    if (result == HD_OK)
        result = hdi_need(graph, HDI_ACCESSES, HDI_ACCESS_CUSTOM_FIRST);
    if (result != HD_OK) {
        hd_graph_destroy(graph);
        return result;
    }
    memcpy(graph->access, hdi_access_table, sizeof(hdi_access_table));
    for (uint32_t i = 0; i < HDI_ACCESS_TWINS; i++) {
        graph->access[HDI_ACCESS_ROWS + i] = hdi_access_table[hdi_access_twins[i]];
        graph->access[HDI_ACCESS_ROWS + i].on_image = 0;
    }
    hdi_make_kinds(graph->access, HDI_ACCESS_CUSTOM_FIRST, graph->first_kind, graph->first_link);
    for (uint32_t a = 0; a < HD_ACCESS_COUNT; a++)
        hdi_make_rules(&graph->access[a], a, a, a, HDI_LAYOUT_UNDEFINED, &graph->rules);
    for (uint32_t i = 0; i < HDI_ACCESS_TWINS; i++)
        hdi_make_rules(&graph->access[hdi_access_twins[i]], hdi_access_twins[i], hdi_access_twins[i],
                       HDI_ACCESS_ROWS + i, HDI_LAYOUT_UNDEFINED, &graph->rules);
    start_handles(graph);
    begin(graph);
    *out = graph;
    return HD_OK;
}

bool hdi_graph_is_list(const hd_graph *graph)
{
    return graph->list != NULL;
}

void hdi_graph_forget_lines(hd_graph *graph)
{
    hdi_fgt_lines *lines = &graph->lines;
    hdi_free(&graph->allocator, lines->pass_line, lines->pass_count * sizeof(uint32_t));
    hdi_free(&graph->allocator, lines->use_line, lines->use_count * sizeof(uint32_t));
    hdi_free(&graph->allocator, lines->names, lines->name_bytes);
    hdi_free(&graph->allocator, lines->need, lines->need_count * sizeof(*lines->need));
    *lines = (hdi_fgt_lines){0};
}

void hd_graph_destroy(hd_graph *graph)
{
    if (!graph || graph->list || !hdi_graph_enter(graph, "hd_graph_destroy", true))
        return;
    hdi_free_columns(graph);
    hdi_arena_free(&graph->scratch);
    for (int i = 0; i < HDI_MOST_PARTS; i++)
        hdi_arena_free(&graph->part[i]);
    hdi_lists_free(graph);
    hdi_free(&graph->allocator, graph->published, graph->published_room * sizeof(*graph->published));
    hdi_cache_free(&graph->cache, &graph->allocator);
    hdi_block_free(&graph->plan, &graph->allocator);
    hdi_graph_forget_lines(graph);
    hd_allocator allocator = graph->allocator;
    hdi_free(&allocator, graph, sizeof(*graph));
}

static void begin(hd_graph *graph)
{
    hdi_reset_columns(graph);
    graph->tag++;
    uint32_t used = graph->pass_count > graph->res_count ? graph->pass_count : graph->res_count;
    graph->first_handle = hdi_next_handle(graph->first_handle, used, 1, HDI_VERSION_HANDLES);
    graph->first_version =
        hdi_next_handle(graph->first_version, graph->version_count, HDI_VERSION_HANDLES, HDI_LIST_HANDLES);
    graph->error = (hd_error){.result = HD_OK, .pass = HD_NONE, .resource = HD_NONE, .use = HD_NONE};
    graph->pass_count = graph->res_count = graph->use_count = graph->range_count = graph->clear_count = 0;
    graph->version_count = graph->late_count = graph->published_count = 0;
    graph->access_count = HDI_ACCESS_CUSTOM_FIRST;
    graph->own_layout = HDI_LAYOUT_UNDEFINED;
    graph->has_empty_passes = graph->unwritten_reads = graph->ties = graph->mixed_layouts = false;
    graph->used_twice = false;
    graph->pass_use_begin[0] = 0;
    hdi_set_rooms(graph);
    hdi_lists_forget(graph);
}

void hd_graph_begin(hd_graph *graph)
{
    if (!graph || graph->list || !hdi_graph_enter(graph, "hd_graph_begin", true))
        return;
    begin(graph);
    hdi_graph_leave(graph, HDI_ENTERED);
}

void hd_graph_set_name(hd_graph *graph, const char *name)
{
    if (graph)
        snprintf(graph->name, sizeof(graph->name), "%.*s", HDI_NAME_BYTES, name ? name : "frame");
}

const char *hd_graph_name(const hd_graph *graph)
{
    return graph ? graph->name : "";
}

/* ---- handles ---- */

const char *hdi_handle_fault(const hd_graph *graph, uint32_t id)
{
    const uint32_t lists = graph->lists.first_handle;
    const bool old = (id >= graph->old_handles && id < graph->first_handle) ||
                     (id >= graph->old_versions && id < graph->first_version) || (id >= graph->old_lists && id < lists);
    if (id == 0)
        return "the handle is none: it was never set, or what was to give it failed";
    if (old)
        return "the handle is of an earlier frame";
    if (hdi_is_list_handle(graph, id))
        return "the handle is of a list with a larger order key, which joins later";
    if (id >= lists && id - lists < atomic_load_explicit(&graph->lists.id_next, memory_order_relaxed))
        return "the handle is of a list that has not joined yet";
    return "the handle is of another graph, or of a pass";
}

uint32_t hdi_handle(const hd_graph *graph, uint32_t index)
{
    return graph->first_handle + index;
}

/* Of another frame or row: further from the first handle than there are indices. */
static uint32_t handle_index(const hd_graph *graph, uint32_t id, uint32_t count)
{
    uint32_t index = id - graph->first_handle;
    return index < count ? index : HD_NONE;
}

uint32_t hdi_version_handle(const hd_graph *graph, uint32_t version)
{
    return graph->first_version + version;
}

uint32_t hdi_handle_version(const hd_graph *graph, uint32_t id)
{
    if (HDI_UNLIKELY(hdi_is_list_handle(graph, id)))
        id = hdi_list_alias(graph, id);
    uint32_t version = id - graph->first_version;
    return version < graph->version_count ? version : HDI_NONE;
}

uint32_t hdi_handle_next(const hd_graph *graph, uint32_t id)
{
    if (hdi_is_list_handle(graph, id))
        id = hdi_list_alias(graph, id);
    uint32_t version = hdi_handle_version(graph, id), res = handle_index(graph, id, graph->res_count);
    uint32_t next = version != HDI_NONE ? graph->version_next[version]
                    : res != HD_NONE    ? graph->res_state[res].next - 1
                                        : HDI_NONE;
    return next != HDI_NONE ? hdi_version_handle(graph, next) : 0;
}

uint32_t hd_graph_resource_index(const hd_graph *graph, hd_resource resource)
{
    if (HDI_UNLIKELY(!graph))
        return HD_NONE;
    uint32_t index = handle_index(graph, resource.id, graph->res_count);
    if (index == HD_NONE && hdi_is_list_handle(graph, resource.id)) {
        resource.id = hdi_list_alias(graph, resource.id);
        index = handle_index(graph, resource.id, graph->res_count);
    }
    if (index != HD_NONE || graph->version_count == 0)
        return index;
    uint32_t version = hdi_handle_version(graph, resource.id);
    return version != HDI_NONE ? graph->version_res[version] : HD_NONE;
}

uint32_t hd_graph_pass_index(const hd_graph *graph, hd_pass pass)
{
    if (!graph)
        return HD_NONE;
    uint32_t id = hdi_is_list_handle(graph, pass.id) ? hdi_list_alias(graph, pass.id) : pass.id;
    return handle_index(graph, id, graph->pass_count);
}

uint32_t hd_graph_resource_count(const hd_graph *graph)
{
    return graph ? graph->res_count : 0;
}

uint32_t hd_graph_pass_count(const hd_graph *graph)
{
    return graph ? graph->pass_count : 0;
}

hdi_decl hdi_graph_decl(const hd_graph *graph)
{
    return (hdi_decl){
        .pass_count = graph->pass_count,
        .res_count = graph->res_count,
        .use_count = graph->use_count,
        .range_count = graph->range_count,
        .clear_count = graph->clear_count,
        .access_count = graph->access_count,
        .pass_type = graph->pass_type,
        .pass_flags = graph->pass_flags,
        .pass_pin = graph->pass_pin,
        .pass_cost = graph->pass_cost,
        .pass_use_begin = graph->pass_use_begin,
        .pass_exec = graph->pass_exec,
        .res_flags = graph->res_flags,
        .res_pair = graph->res_pair,
        .res_info = graph->res_info,
        .res_import = graph->res_import,
        .res_state = graph->res_state,
        .use_res = graph->use_res,
        .use_pass = graph->use_pass,
        .use_access = graph->use_access,
        .use_flags = graph->use_flags,
        .use_range = graph->use_range,
        .use_exec = graph->use_exec,
        .range = graph->range,
        .range_res = graph->range_res,
        .clear_use = graph->clear_use,
        .clear = graph->clear,
        .access = graph->access,
        .first_kind = graph->first_kind,
        .first_link = graph->first_link,
        .has_empty_passes = graph->has_empty_passes,
        .may_read_unwritten = graph->unwritten_reads,
        .mixed_layouts = graph->mixed_layouts,
        .late_count = graph->late_count,
        .late_use = graph->late_use,
        .late_end = graph->late_end,
    };
}

hd_clear hdi_use_clear(const hdi_decl *decl, uint32_t use)
{
    uint32_t low = 0, high = decl->clear_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (decl->clear_use[middle] < use)
            low = middle + 1;
        else
            high = middle;
    }
    return low < decl->clear_count && decl->clear_use[low] == use ? decl->clear[low] : (hd_clear){0};
}

hdi_fgt_lines *hdi_graph_fgt_lines(hd_graph *graph)
{
    return &graph->lines;
}

const hd_allocator *hdi_graph_allocator(const hd_graph *graph)
{
    return &graph->allocator;
}
