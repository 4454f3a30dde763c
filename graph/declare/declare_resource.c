#include "declare_columns.h"

#include <stdio.h>
#include <string.h>

#include "hints.h"
#include "vk_numbers.h"

/* Resources: what is wrong with a description shows at once, and zeros are made explicit. O(1) each. */

HDI_COLD static hd_resource bad_resource(hd_graph *graph, hd_result result, const char *name, const char *fault)
{
    char detail[128];
    snprintf(detail, sizeof(detail), name ? "%s ('%.40s')" : "%s", fault, name);
    hdi_graph_fail(graph, result, HD_NONE, graph->res_count, HD_NONE, detail);
    return (hd_resource){0};
}

HDI_COLD static hd_resource bad_sharing(hd_graph *graph, const char *name)
{
    return bad_resource(graph, HD_INVALID_ARGUMENT, name, "sharing is no hd_sharing");
}

/* Makes room for one more, if there may be one. desc: of any kind; not null, else that is the mistake. false: *out is
 * the answer, which is none unless the graph is a list. */
HDI_COLD static bool more_resources(hd_graph *graph, hdi_call_kind kind, const void *desc, hd_resource *out)
{
    *out = (hd_resource){0};
    if (graph && graph->list)
        *out = hdi_list_resource(graph->list, kind, desc);
    if (!graph || graph->list || graph->error.result != HD_OK)
        return false;
    if (!desc) {
        bad_resource(graph, HD_INVALID_ARGUMENT, NULL, "the description is null");
        return false;
    }
    hd_result result = hdi_need(graph, HDI_RESOURCES, (uint64_t)graph->res_count + 1);
    if (result != HD_OK)
        hdi_graph_fail(graph, result, HD_NONE, graph->res_count, HD_NONE, NULL);
    return result == HD_OK;
}

/* Whether a resource of this description can be added at once; else more_resources says what there is to it. */
static inline bool have_room(const hd_graph *graph, const void *desc)
{
    return HDI_LIKELY(graph && desc && graph->res_count < graph->res_room);
}

/* Appends the columns of a resource, for which there is room. res_info: the caller's. */
static inline hd_resource add_resource(hd_graph *graph, uint32_t flags)
{
    uint32_t index = graph->res_count;
    graph->res_flags[index] = (uint8_t)flags;
    graph->res_state[index] = (hdi_res_state){.word = (uint64_t)(flags & HDI_RES_KIND) << HDI_RES_KIND_SHIFT |
                                                      (flags & HDI_RES_CONTENT ? HDI_RES_FULL : 0)};
    graph->res_count = index + 1;
    return (hd_resource){graph->first_handle + index};
}

static inline uint32_t sharing_flag(uint32_t sharing)
{
    return sharing ? HDI_RES_SHARING : 0;
}

/* Of an image whose numbers are at least 1. */
static inline uint32_t levels_flag(const hdi_res_info *info)
{
    return (info->mips | info->layers | info->depth | info->samples) > 1 ? HDI_RES_LEVELS : 0;
}

static inline uint32_t at_least_one(uint32_t count)
{
    return count + (count == 0);
}

/* What is checked of an image. */
typedef struct image_size {
    uint32_t width, height, depth, format, mips, layers, samples;
} image_size;

/* In all layers and samples: so that sums of bytes cannot overflow. */
#define MAX_TEXELS (UINT64_C(1) << 42)

/* Null, or what is wrong with an image. */
static inline const char *image_fault(const image_size *size)
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
    /* Step by step, none of which is by more than 2^16: a product that is too large does not overflow. */
    uint64_t texels = (uint64_t)size->width * size->height * at_least_one(size->depth);
    if (texels <= MAX_TEXELS)
        texels *= at_least_one(size->layers);
    if (texels <= MAX_TEXELS)
        texels *= at_least_one(size->samples);
    return texels > MAX_TEXELS ? "more texels than any device has memory for" : NULL;
}

/* Appends an image that is right, for which there is room. */
static hd_resource put_image(hd_graph *graph, const hd_image_desc *desc)
{
    hdi_res_info *info = &graph->res_info[graph->res_count];
    *info = (hdi_res_info){.width = desc->width,
                           .height = desc->height,
                           .format = desc->format,
                           .flags = desc->flags,
                           .depth = at_least_one(desc->depth),
                           .mips = at_least_one(desc->mips),
                           .layers = at_least_one(desc->layers),
                           .samples = at_least_one(desc->samples),
                           .usage = desc->usage,
                           .sharing = (uint32_t)desc->sharing,
                           .name = desc->name};
    return add_resource(graph, levels_flag(info) | sharing_flag((uint32_t)desc->sharing));
}

/* An image that does not look right at once, or finds no room. */
HDI_APART static hd_resource odd_image(hd_graph *graph, const hd_image_desc *desc)
{
    hd_resource none;
    if (!have_room(graph, desc) && !more_resources(graph, HDI_CALL_IMAGE, desc, &none))
        return none;
    const image_size size = {desc->width, desc->height,  desc->depth,  desc->format,
                             desc->mips,  desc->layers, desc->samples};
    const char *fault = image_fault(&size);
    if (!fault && (uint32_t)desc->sharing > HD_SHARING_CONCURRENT)
        return bad_sharing(graph, desc->name);
    return fault ? bad_resource(graph, HD_BAD_DESC, desc->name, fault) : put_image(graph, desc);
}

/* Most images are plain: flat, of one mip, layer and sample, and shared as heddle likes. They are seen to be right by
 * one comparison, and half of what is kept of them are constants. A description is read word by word: the caller has
 * just written it so, and a wider load would have to wait until all those stores are done. */
static inline hd_resource declare_image(hd_graph *graph, const hd_image_desc *desc)
{
    static const uint32_t ones[4] = {1, 1, 1, 1}, zeros[4] = {0};
    if (HDI_UNLIKELY(!have_room(graph, desc)))
        return odd_image(graph, desc);
    const uint32_t width = desc->width, height = desc->height, format = desc->format;
    const uint32_t counts = desc->depth | desc->mips | desc->layers | desc->samples;
    if (HDI_UNLIKELY((((width - 1) | (height - 1)) >> 20 | counts >> 1 | (uint32_t)desc->sharing) != 0 || format == 0))
        return odd_image(graph, desc);
    hdi_res_info *info = &graph->res_info[graph->res_count];
    info->width = width;
    info->height = height;
    info->format = format;
    info->flags = desc->flags;
    memcpy(&info->depth, ones, sizeof(ones));
    info->usage = desc->usage;
    info->sharing = HD_SHARING_AUTO;
    memcpy(&info->initial_layout, zeros, sizeof(zeros)); /* layouts and bytes */
    info->name = desc->name;
    return add_resource(graph, 0);
}

hd_resource hd_graph_image(hd_graph *graph, const hd_image_desc *desc)
{
    const hdi_entered entered = HDI_ENTER(graph, "hd_graph_image");
    const hd_resource made = entered == HDI_REFUSED ? (hd_resource){0} : declare_image(graph, desc);
    HDI_LEAVE(graph, entered);
    return made;
}

/* So that sums of sizes cannot overflow. */
#define MAX_BUFFER_BYTES (UINT64_C(1) << 44)

static inline hd_resource declare_buffer(hd_graph *graph, const hd_buffer_desc *desc)
{
    hd_resource none;
    if (!have_room(graph, desc) && !more_resources(graph, HDI_CALL_BUFFER, desc, &none))
        return none;
    uint64_t bytes = desc->bytes;
    uint32_t usage = desc->usage, sharing = (uint32_t)desc->sharing;
    const char *name = desc->name;
    if (HDI_UNLIKELY(bytes - 1 >= MAX_BUFFER_BYTES) && (bytes || !desc->token))
        return bad_resource(graph, HD_BAD_DESC, name, "bytes is 0 or more than any device has");
    if (HDI_UNLIKELY(bytes && desc->token))
        return bad_resource(graph, HD_BAD_DESC, name, "a token has no bytes");
    if (HDI_UNLIKELY(sharing > HD_SHARING_CONCURRENT))
        return bad_sharing(graph, name);
    if (HDI_UNLIKELY(bytes == 0))
        sharing = HD_SHARING_AUTO; /* a token has no owner */
    graph->res_info[graph->res_count] =
        (hdi_res_info){.name = name, .bytes = bytes, .usage = usage, .sharing = sharing};
    return add_resource(graph, HDI_RES_BUFFER | sharing_flag(sharing));
}

hd_resource hd_graph_buffer(hd_graph *graph, const hd_buffer_desc *desc)
{
    const hdi_entered entered = HDI_ENTER(graph, "hd_graph_buffer");
    const hd_resource made = entered == HDI_REFUSED ? (hd_resource){0} : declare_buffer(graph, desc);
    HDI_LEAVE(graph, entered);
    return made;
}

const char *hdi_import_fault(const hd_import_desc *desc, hd_result *result)
{
    const image_size size = {desc->width, desc->height, desc->depth, desc->format,
                             desc->mips,  desc->layers, desc->samples};
    *result = HD_INVALID_ARGUMENT;
    if ((uint32_t)desc->sharing > HD_SHARING_CONCURRENT)
        return "sharing is no hd_sharing";
    if (!desc->bytes && desc->final_layout == HDI_LAYOUT_PREINITIALIZED)
        return "final_layout is PREINITIALIZED, in which images only begin";
    *result = HD_BAD_DESC;
    if (desc->bytes > MAX_BUFFER_BYTES)
        return "bytes is more than any device has";
    return desc->bytes ? NULL : image_fault(&size);
}

static inline hd_resource declare_import(hd_graph *graph, const hd_import_desc *desc)
{
    hd_resource none;
    if (!have_room(graph, desc) && !more_resources(graph, HDI_CALL_IMPORT, desc, &none))
        return none;
    hd_result result;
    const char *fault = hdi_import_fault(desc, &result);
    if (fault)
        return bad_resource(graph, result, desc->name, fault);
    uint32_t flags = HDI_RES_EXTERNAL | sharing_flag((uint32_t)desc->sharing);
    if (desc->bytes)
        flags |= HDI_RES_BUFFER | HDI_RES_CONTENT;
    else if (desc->initial_layout != HDI_LAYOUT_UNDEFINED)
        flags |= HDI_RES_CONTENT;
    hdi_res_info *info = &graph->res_info[graph->res_count];
    info->width = desc->width;
    info->height = desc->height;
    info->depth = at_least_one(desc->depth);
    info->format = desc->format;
    info->mips = at_least_one(desc->mips);
    info->layers = at_least_one(desc->layers);
    info->samples = at_least_one(desc->samples);
    info->flags = desc->flags;
    info->usage = 0;
    info->initial_layout = desc->initial_layout;
    info->final_layout = desc->final_layout;
    info->sharing = (uint32_t)desc->sharing;
    info->bytes = desc->bytes;
    info->name = desc->name;
    graph->res_import[graph->res_count] =
        (hdi_res_import){.native = desc->bytes ? (void *)desc->buffer : desc->image, .serial = desc->serial};
    return add_resource(graph, flags | (flags & HDI_RES_BUFFER ? 0 : levels_flag(info)));
}

hd_resource hd_graph_import(hd_graph *graph, const hd_import_desc *desc)
{
    const hdi_entered entered = HDI_ENTER(graph, "hd_graph_import");
    const hd_resource made = entered == HDI_REFUSED ? (hd_resource){0} : declare_import(graph, desc);
    HDI_LEAVE(graph, entered);
    return made;
}

hd_resource hd_graph_history(hd_graph *graph, hd_resource of)
{
    return hd_graph_history_with(graph, &(hd_history_desc){.of = of});
}

static inline hd_resource declare_history_with(hd_graph *graph, const hd_history_desc *desc)
{
    hd_resource none;
    if (!have_room(graph, desc) && !more_resources(graph, HDI_CALL_HISTORY, desc, &none))
        return none;
    uint32_t base = hd_graph_resource_index(graph, desc->of), own = graph->res_count;
    if (base == HD_NONE) {
        char fault[HDI_FAULT_BYTES];
        snprintf(fault, sizeof(fault), "what the history is of: %s", hdi_handle_fault(graph, desc->of.id));
        return bad_resource(graph, HD_BAD_HANDLE, NULL, fault);
    }
    uint32_t flags = graph->res_flags[base];
    const char *name = graph->res_info[base].name;
    if (flags & (HDI_RES_HISTORY | HDI_RES_EXTERNAL))
        return bad_resource(graph, HD_HISTORY_OF_HISTORY, name,
                            flags & HDI_RES_HISTORY ? "it would be of a history" : "it would be of an import");
    if (flags & HDI_RES_HAS_HISTORY)
        return bad_resource(graph, HD_SECOND_HISTORY, name, "the second");
    if (flags & HDI_RES_BUFFER && graph->res_info[base].bytes == 0)
        return bad_resource(graph, HD_HISTORY_OF_HISTORY, name, "it would be of a token");
    if ((uint32_t)desc->skipped > HD_SKIPPED_RESTART)
        return bad_resource(graph, HD_INVALID_ARGUMENT, name, "skipped is no hd_skipped");
    graph->res_info[own] = graph->res_info[base];
    graph->res_import[own] = (hdi_res_import){.serial = desc->key, .skipped = (uint32_t)desc->skipped};
    graph->res_flags[base] = (uint8_t)(flags | HDI_RES_HAS_HISTORY);
    graph->res_pair[base] = own;
    graph->res_pair[own] = base;
    graph->unusual |= HDI_UNUSUAL_PAIRS;
    return add_resource(graph, (flags & (HDI_RES_BUFFER | HDI_RES_LEVELS)) | HDI_RES_HISTORY | HDI_RES_CONTENT);
}

hd_resource hd_graph_history_with(hd_graph *graph, const hd_history_desc *desc)
{
    const hdi_entered entered = HDI_ENTER(graph, "hd_graph_history_with");
    const hd_resource made = entered == HDI_REFUSED ? (hd_resource){0} : declare_history_with(graph, desc);
    HDI_LEAVE(graph, entered);
    return made;
}
