#include "declare_columns.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "hash.h"
#include "hints.h"
#include "vk_numbers.h"

/* Declaring: append to columns that keep their memory from frame to frame. Checks what one call can see; what needs the
 * whole frame (a read of what nobody wrote) is checked by freeze. O(1) a resource, O(uses) a pass; only a pass that
 * uses one resource several times compares those uses with one another. */

/* ---- columns ---- */

typedef struct column {
    void **data;
    size_t element_bytes;
    uint32_t extra; /* elements beyond the capacity */
} column;

/* All columns of a group grow to one capacity, or none does. Callers ask only where there is no room: the lists of
 * columns are not to be made for each pass. */
static hd_result grow(hd_graph *graph, const column *columns, uint32_t column_count, uint32_t *capacity, uint64_t need)
{
    if (need > HDI_INDEX_MASK)
        return HD_TOO_LARGE;
    uint32_t grown = *capacity ? *capacity : 64;
    while (grown < need)
        grown *= 2;
    void *fresh[8];
    for (uint32_t i = 0; i < column_count; i++) {
        fresh[i] = hdi_alloc(&graph->allocator, ((size_t)grown + columns[i].extra) * columns[i].element_bytes, 64);
        if (fresh[i])
            continue;
        while (i-- > 0)
            hdi_free(&graph->allocator, fresh[i], ((size_t)grown + columns[i].extra) * columns[i].element_bytes);
        return HD_OUT_OF_MEMORY;
    }
    for (uint32_t i = 0; i < column_count; i++) {
        if (*columns[i].data) {
            size_t bytes = ((size_t)*capacity + columns[i].extra) * columns[i].element_bytes;
            memcpy(fresh[i], *columns[i].data, bytes);
            hdi_free(&graph->allocator, *columns[i].data, bytes);
        }
        *columns[i].data = fresh[i];
    }
    *capacity = grown;
    return HD_OK;
}

static void free_columns(hd_graph *graph, const column *columns, uint32_t column_count, uint32_t capacity)
{
    for (uint32_t i = 0; i < column_count; i++) {
        if (*columns[i].data)
            hdi_free(&graph->allocator, *columns[i].data,
                     ((size_t)capacity + columns[i].extra) * columns[i].element_bytes);
    }
}

#define COLUMN(field, more) {(void **)&graph->field, sizeof(*graph->field), more}
#define PASS_COLUMNS                                                                                                   \
    {                                                                                                                  \
        COLUMN(pass_type, 0), COLUMN(pass_flags, 0), COLUMN(pass_pin, 0), COLUMN(pass_cost, 0),                        \
            COLUMN(pass_use_begin, 1), COLUMN(pass_exec, 0)                                                            \
    }
#define RES_COLUMNS                                                                                                    \
    {                                                                                                                  \
        COLUMN(res_flags, 0), COLUMN(res_pair, 0), COLUMN(res_used, 0), COLUMN(res_info, 0),                       \
            COLUMN(res_next, 0)                                                                                        \
    }
#define USE_COLUMNS                                                                                                    \
    {                                                                                                                  \
        COLUMN(use_res, 0), COLUMN(use_access, 0), COLUMN(use_flags, HDI_USE_FLAGS_SLACK), COLUMN(use_range, 0),       \
            COLUMN(use_exec, 0), COLUMN(use_clear, 0)                                                                  \
    }
#define RANGE_COLUMNS                                                                                                  \
    {                                                                                                                  \
        COLUMN(range, 0), COLUMN(range_res, 0)                                                                         \
    }
#define ACCESS_COLUMNS                                                                                                 \
    {                                                                                                                  \
        COLUMN(access, 0)                                                                                              \
    }
#define VERSION_COLUMNS                                                                                                \
    {                                                                                                                  \
        COLUMN(version_res, 0), COLUMN(version_made, 0), COLUMN(version_next, 0)                                       \
    }
#define LATE_COLUMNS                                                                                                   \
    {                                                                                                                  \
        COLUMN(late_use, 0), COLUMN(late_end, 0)                                                                       \
    }
#define COUNT(columns) (uint32_t)(sizeof(columns) / sizeof((columns)[0]))

hd_result hdi_need_passes(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.pass)
        return HD_OK;
    const column columns[] = PASS_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.pass, need);
}

static hd_result need_resources(hd_graph *graph, uint64_t need)
{
    if (need + graph->version_count >= HDI_INDEX_MASK) /* one numbering, from both ends */
        return HD_TOO_LARGE;
    if (need <= graph->capacity.res)
        return HD_OK;
    const column columns[] = RES_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.res, need);
}

hd_result hdi_need_uses(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.use)
        return HD_OK;
    const column columns[] = USE_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.use, need);
}

hd_result hdi_need_ranges(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.range)
        return HD_OK;
    const column columns[] = RANGE_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.range, need);
}

hd_result hdi_need_accesses(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.access)
        return HD_OK;
    const column columns[] = ACCESS_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.access, need);
}

hd_result hdi_need_versions(hd_graph *graph, uint64_t need)
{
    if (need + graph->res_count >= HDI_INDEX_MASK)
        return HD_TOO_LARGE;
    if (need <= graph->capacity.version)
        return HD_OK;
    const column columns[] = VERSION_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.version, need);
}

hd_result hdi_need_late(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.late)
        return HD_OK;
    const column columns[] = LATE_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.late, need);
}

/* ---- errors ---- */

hd_result hdi_graph_fail(hd_graph *graph, hd_result result, uint32_t pass, uint32_t res, uint32_t use,
                         const char *detail)
{
    if (graph->error.result != HD_OK)
        return result;
    graph->error = (hd_error){.result = result, .pass = pass, .resource = res, .use = use};
    char *text = graph->error.text;
    size_t size = sizeof(graph->error.text), at = 0;
    if (pass != HD_NONE) {
        const char *name = pass < graph->pass_count ? graph->pass_exec[pass].name : NULL;
        at += (size_t)snprintf(text + at, size - at, name ? "pass %u '%.40s'" : "pass %u", pass, name);
    }
    if (res != HD_NONE) {
        const char *name = res < graph->res_count ? graph->res_info[res].name : NULL;
        at += (size_t)snprintf(text + at, size - at, name ? "%sresource %u '%.40s'" : "%sresource %u", at ? ", " : "",
                               res, name);
    }
    snprintf(text + at, size - at, "%s%s%s%s", at ? ": " : "", hd_result_text(result), detail ? ": " : "",
             detail ? detail : "");
    hdi_log(&graph->log, HD_LOG_ERROR, "%s", text);
    return result;
}

const hd_error *hd_graph_error(const hd_graph *graph)
{
    return &graph->error;
}

/* ---- graph ---- */

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
    hdi_arena_init(&graph->scratch, &graph->allocator);
    for (int i = 0; i < HDI_MOST_PARTS; i++)
        hdi_arena_init(&graph->part[i], &graph->allocator);
    graph->region_passes = HDI_REGION_PASSES;
    graph->parallel_passes = HDI_PARALLEL_PASSES;
    pthread_mutex_init(&graph->lists.mutex, NULL);
    hd_graph_set_name(graph, desc->name);
    hd_result result = hdi_cache_init(&graph->cache, &graph->allocator, desc->plans);
    if (result == HD_OK)
        result = hdi_need_passes(graph, 64);
    if (result == HD_OK)
        result = need_resources(graph, 64);
    if (result == HD_OK)
        result = hdi_need_uses(graph, 256);
    if (result == HD_OK)
        result = hdi_need_ranges(graph, 64);
    if (result == HD_OK)
        result = hdi_need_accesses(graph, HDI_ACCESS_CUSTOM_FIRST);
    if (result != HD_OK) {
        hd_graph_destroy(graph);
        return result;
    }
    memset(graph->access, 0, HDI_ACCESS_CUSTOM_FIRST * sizeof(*graph->access));
    memcpy(graph->access, hdi_access_table, sizeof(hdi_access_table));
    for (uint32_t a = 0; a < HDI_ACCESS_CUSTOM_FIRST; a++)
        hdi_make_rules(&graph->access[a], graph->rule[a]);
    /* Where the graph lies is as good a tag as any to tell graphs apart: it never reaches a plan. */
    graph->tag = (uint32_t)hdi_hash_mix((uint64_t)(uintptr_t)graph, 1);
    hd_graph_begin(graph);
    *out = graph;
    return HD_OK;
}

void hd_graph_destroy(hd_graph *graph)
{
    if (!graph)
        return;
    const column passes[] = PASS_COLUMNS, resources[] = RES_COLUMNS, uses[] = USE_COLUMNS, ranges[] = RANGE_COLUMNS,
                 accesses[] = ACCESS_COLUMNS, versions[] = VERSION_COLUMNS, late[] = LATE_COLUMNS;
    free_columns(graph, passes, COUNT(passes), graph->capacity.pass);
    free_columns(graph, resources, COUNT(resources), graph->capacity.res);
    free_columns(graph, uses, COUNT(uses), graph->capacity.use);
    free_columns(graph, ranges, COUNT(ranges), graph->capacity.range);
    free_columns(graph, accesses, COUNT(accesses), graph->capacity.access);
    free_columns(graph, versions, COUNT(versions), graph->capacity.version);
    free_columns(graph, late, COUNT(late), graph->capacity.late);
    hdi_arena_free(&graph->scratch);
    for (int i = 0; i < HDI_MOST_PARTS; i++)
        hdi_arena_free(&graph->part[i]);
    hdi_lists_free(graph);
    hdi_cache_free(&graph->cache, &graph->allocator);
    hdi_block_free(&graph->plan, &graph->allocator);
    hdi_free(&graph->allocator, graph->lines.pass_line, graph->lines.pass_count * sizeof(uint32_t));
    hdi_free(&graph->allocator, graph->lines.use_line, graph->lines.use_count * sizeof(uint32_t));
    hd_allocator allocator = graph->allocator;
    hdi_free(&allocator, graph, sizeof(*graph));
}

void hd_graph_begin(hd_graph *graph)
{
    graph->tag++;
    graph->first_handle = (graph->tag & HDI_TAG_MASK) << HDI_INDEX_BITS | 1;
    graph->error = (hd_error){.result = HD_OK, .pass = HD_NONE, .resource = HD_NONE, .use = HD_NONE};
    graph->pass_count = graph->res_count = graph->use_count = graph->range_count = 0;
    graph->version_count = graph->late_count = 0;
    graph->access_count = HDI_ACCESS_CUSTOM_FIRST;
    graph->unwritten_reads = 0;
    graph->pass_use_begin[0] = 0;
    hdi_lists_forget(graph);
}

void hd_graph_set_name(hd_graph *graph, const char *name)
{
    snprintf(graph->name, sizeof(graph->name), "%s", name ? name : "frame");
}

const char *hd_graph_name(const hd_graph *graph)
{
    return graph->name;
}

/* ---- handles: the index of a resource or pass counts up from 1, that of a version down from the top ---- */

uint32_t hdi_handle(const hd_graph *graph, uint32_t index)
{
    return graph->first_handle + index;
}

/* Of another tag: further from the first handle than there are indices. */
static uint32_t handle_index(const hd_graph *graph, uint32_t id, uint32_t count)
{
    uint32_t index = id - graph->first_handle;
    return index < count ? index : HD_NONE;
}

uint32_t hdi_version_handle(const hd_graph *graph, uint32_t version)
{
    return (graph->tag & HDI_TAG_MASK) << HDI_INDEX_BITS | (HDI_INDEX_MASK - version);
}

uint32_t hdi_handle_version(const hd_graph *graph, uint32_t id)
{
    if (HDI_UNLIKELY(hdi_is_list_handle(graph, id)))
        id = hdi_list_alias(graph, id);
    uint32_t version = HDI_INDEX_MASK - (id & HDI_INDEX_MASK);
    return id >> HDI_INDEX_BITS == (graph->tag & HDI_TAG_MASK) && version < graph->version_count ? version : HDI_NONE;
}

uint32_t hdi_handle_next(const hd_graph *graph, uint32_t id)
{
    if (hdi_is_list_handle(graph, id))
        id = hdi_list_alias(graph, id);
    uint32_t version = hdi_handle_version(graph, id), res = handle_index(graph, id, graph->res_count);
    uint32_t next = version != HDI_NONE ? graph->version_next[version]
                    : res != HD_NONE    ? graph->res_next[res]
                                        : HDI_NONE;
    return next != HDI_NONE ? hdi_version_handle(graph, next) : 0;
}

uint32_t hd_graph_resource_index(const hd_graph *graph, hd_resource resource)
{
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
    uint32_t id = hdi_is_list_handle(graph, pass.id) ? hdi_list_alias(graph, pass.id) : pass.id;
    return handle_index(graph, id, graph->pass_count);
}

uint32_t hd_graph_resource_count(const hd_graph *graph)
{
    return graph->res_count;
}

uint32_t hd_graph_pass_count(const hd_graph *graph)
{
    return graph->pass_count;
}

hdi_decl hdi_graph_decl(const hd_graph *graph)
{
    return (hdi_decl){
        .pass_count = graph->pass_count,
        .res_count = graph->res_count,
        .use_count = graph->use_count,
        .range_count = graph->range_count,
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
        .use_res = graph->use_res,
        .use_access = graph->use_access,
        .use_flags = graph->use_flags,
        .use_range = graph->use_range,
        .use_exec = graph->use_exec,
        .use_clear = graph->use_clear,
        .range = graph->range,
        .range_res = graph->range_res,
        .access = graph->access,
        .may_read_unwritten = graph->unwritten_reads != 0,
        .late_count = graph->late_count,
        .late_use = graph->late_use,
        .late_end = graph->late_end,
    };
}

hdi_fgt_lines *hdi_graph_fgt_lines(hd_graph *graph)
{
    return &graph->lines;
}

const hd_allocator *hdi_graph_allocator(const hd_graph *graph)
{
    return &graph->allocator;
}

/* ---- resources ---- */

HDI_COLD static bool more_resources(hd_graph *graph, const char *name)
{
    hd_result result = need_resources(graph, (uint64_t)graph->res_count + 1);
    if (result != HD_OK)
        hdi_graph_fail(graph, result, HD_NONE, graph->res_count, HD_NONE, name);
    return result == HD_OK;
}

/* Room for one more; else an error. */
static inline bool have_resource(hd_graph *graph, const char *name)
{
    return HDI_LIKELY(graph->res_count < graph->capacity.res &&
                      graph->res_count + graph->version_count + 1 < HDI_INDEX_MASK) ||
           more_resources(graph, name);
}

/* Appends the columns of a resource, for which there is room. res_info: the caller's. */
static inline hd_resource add_resource(hd_graph *graph, uint32_t flags, uint32_t pair)
{
    uint32_t index = graph->res_count;
    graph->res_flags[index] = (uint8_t)(flags & HDI_RES_CONTENT ? flags : flags | HDI_RES_UNWRITTEN);
    graph->res_pair[index] = pair;
    graph->res_used[index] = 0;
    graph->res_next[index] = HDI_NONE;
    graph->res_count = index + 1;
    return (hd_resource){graph->first_handle + index};
}

/* What is checked of an image. */
typedef struct image_size {
    uint32_t width, height, depth, format, mips, layers, samples;
} image_size;

/* Null, or what is wrong with an image. */
HDI_COLD static const char *image_fault(const image_size *size)
{
    if (size->width == 0 || size->height == 0)
        return "width or height is 0";
    if (size->width > 1u << 20 || size->height > 1u << 20 || size->depth > 1u << 16 || size->layers > 1u << 16)
        return "a side is larger than any device allows";
    if (size->format == 0)
        return "the format is UNDEFINED";
    if (size->samples > 64 || (size->samples & (size->samples - 1)) != 0)
        return "samples is not a power of two up to 64";
    uint32_t sides = size->width | size->height | size->depth; /* as many bits as the longest */
    if (size->mips > 1 && (size->mips > 32 || sides >> (size->mips - 1) == 0))
        return "more mips than its size has";
    return NULL;
}

/* A word of a description. The caller has just written it word by word or nearly so, and a wider load, which compilers
 * like to make of several, would have to wait until all those stores are done. */
static inline uint32_t word(const uint32_t *from)
{
    return *(const volatile uint32_t *)from;
}

/* Most images are seen to be right by one comparison. */
static inline bool is_plain(image_size size)
{
    return (((size.width - 1) | (size.height - 1)) >> 20 | (size.depth | size.layers) >> 16 |
            (size.mips | size.samples) >> 1) == 0 &&
           size.format != 0;
}

HDI_COLD static hd_resource bad_resource(hd_graph *graph, hd_result result, const char *name, const char *fault)
{
    char detail[128];
    snprintf(detail, sizeof(detail), name ? "%s ('%.40s')" : "%s", fault, name);
    hdi_graph_fail(graph, result, HD_NONE, graph->res_count, HD_NONE, detail);
    return (hd_resource){0};
}

/* What is wrong with an image that is not plain, if anything. */
HDI_COLD static bool is_bad_image(hd_graph *graph, const hd_image_desc *desc)
{
    const image_size size = {desc->width, desc->height,  desc->depth,  desc->format,
                             desc->mips,  desc->layers, desc->samples};
    const char *fault = image_fault(&size);
    if (fault)
        bad_resource(graph, HD_BAD_DESC, desc->name, fault);
    return fault != NULL;
}

/* Zeros are made explicit. */
static inline void fill_image(hdi_res_info *info, image_size size)
{
    info->width = size.width;
    info->height = size.height;
    info->depth = size.depth + (size.depth == 0);
    info->format = size.format;
    info->mips = size.mips + (size.mips == 0);
    info->layers = size.layers + (size.layers == 0);
    info->samples = size.samples + (size.samples == 0);
}

hd_resource hd_graph_image(hd_graph *graph, const hd_image_desc *desc)
{
    if (graph->error.result != HD_OK)
        return (hd_resource){0};
    if (!desc)
        return bad_resource(graph, HD_INVALID_ARGUMENT, NULL, "the description is null");
    image_size size = {word(&desc->width), word(&desc->height), word(&desc->depth),  word(&desc->format),
                       word(&desc->mips),  word(&desc->layers), word(&desc->samples)};
    if ((!HDI_LIKELY(is_plain(size)) && is_bad_image(graph, desc)) || !have_resource(graph, desc->name))
        return (hd_resource){0};
    hdi_res_info *info = &graph->res_info[graph->res_count];
    fill_image(info, size);
    info->flags = word(&desc->flags);
    info->usage = word(&desc->usage);
    info->initial_layout = info->final_layout = HDI_LAYOUT_UNDEFINED;
    info->sharing = (uint32_t)desc->sharing;
    info->bytes = 0;
    info->name = desc->name;
    info->native = NULL;
    info->serial = 0;
    return add_resource(graph, desc->sharing ? HDI_RES_SHARING : 0, HDI_NONE);
}

/* So that sums of sizes cannot overflow. */
#define MAX_BUFFER_BYTES (UINT64_C(1) << 44)

hd_resource hd_graph_buffer(hd_graph *graph, const hd_buffer_desc *desc)
{
    if (graph->error.result != HD_OK)
        return (hd_resource){0};
    if (!desc)
        return bad_resource(graph, HD_INVALID_ARGUMENT, NULL, "the description is null");
    if (desc->bytes == 0 || desc->bytes > MAX_BUFFER_BYTES)
        return bad_resource(graph, HD_BAD_DESC, desc->name, "bytes is 0 or more than any device has");
    uint64_t bytes = desc->bytes;
    uint32_t usage = desc->usage, sharing = (uint32_t)desc->sharing;
    const char *name = desc->name;
    if (!have_resource(graph, name))
        return (hd_resource){0};
    graph->res_info[graph->res_count] =
        (hdi_res_info){.name = name, .bytes = bytes, .usage = usage, .sharing = sharing};
    return add_resource(graph, HDI_RES_BUFFER | (sharing ? HDI_RES_SHARING : 0), HDI_NONE);
}

hd_resource hd_graph_import(hd_graph *graph, const hd_import_desc *desc)
{
    if (graph->error.result != HD_OK)
        return (hd_resource){0};
    if (!desc)
        return bad_resource(graph, HD_INVALID_ARGUMENT, NULL, "the description is null");
    image_size size = {desc->width, desc->height, desc->depth, desc->format, desc->mips, desc->layers, desc->samples};
    uint32_t flags = HDI_RES_EXTERNAL | (desc->sharing ? HDI_RES_SHARING : 0);
    if (desc->bytes > MAX_BUFFER_BYTES)
        return bad_resource(graph, HD_BAD_DESC, desc->name, "bytes is more than any device has");
    if (desc->bytes) {
        flags |= HDI_RES_BUFFER | HDI_RES_CONTENT;
    } else {
        const char *fault = image_fault(&size);
        if (fault)
            return bad_resource(graph, HD_BAD_DESC, desc->name, fault);
        if (desc->initial_layout != HDI_LAYOUT_UNDEFINED)
            flags |= HDI_RES_CONTENT;
    }
    if (!have_resource(graph, desc->name))
        return (hd_resource){0};
    hdi_res_info *info = &graph->res_info[graph->res_count];
    fill_image(info, size);
    info->flags = desc->flags;
    info->usage = 0;
    info->initial_layout = desc->initial_layout;
    info->final_layout = desc->final_layout;
    info->sharing = (uint32_t)desc->sharing;
    info->bytes = desc->bytes;
    info->name = desc->name;
    info->native = desc->bytes ? desc->buffer : desc->image;
    info->serial = desc->serial;
    return add_resource(graph, flags, HDI_NONE);
}

hd_resource hd_graph_history(hd_graph *graph, hd_resource of)
{
    if (graph->error.result != HD_OK)
        return (hd_resource){0};
    uint32_t base = hd_graph_resource_index(graph, of);
    if (base == HD_NONE)
        return bad_resource(graph, HD_BAD_HANDLE, NULL, "what the history is of");
    if (graph->res_flags[base] & (HDI_RES_HISTORY | HDI_RES_EXTERNAL))
        return bad_resource(graph, HD_HISTORY_OF_HISTORY, graph->res_info[base].name, "what the history is of");
    if (graph->res_flags[base] & HDI_RES_HAS_HISTORY)
        return bad_resource(graph, HD_BAD_DESC, graph->res_info[base].name, "the resource has a history already");
    uint32_t kind = graph->res_flags[base] & HDI_RES_BUFFER;
    if (!have_resource(graph, graph->res_info[base].name))
        return (hd_resource){0};
    graph->res_info[graph->res_count] = graph->res_info[base];
    graph->res_flags[base] |= HDI_RES_HAS_HISTORY;
    graph->res_pair[base] = graph->res_count;
    return add_resource(graph, kind | HDI_RES_HISTORY | HDI_RES_CONTENT, base);
}
