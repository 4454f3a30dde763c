#include "helpers.h"

#include <stdio.h>
#include <string.h>

#include "graph_state.h"
#include "vk_memory.h"

/* Passes that every engine needs: a few lines of declaring each, and a callback that records one command. A list notes
 * the arguments, and the join declares with them. What the callback needs lies where hdi_vk_help_now keeps it. Copies
 * go to the transfer queue, blits and clears of depth need graphics, clears of colors compute. */

/* The arguments of a function, and later what its pass records. */
typedef struct help {
    hd_vk *vk;
    hd_vk_as as;
    hd_resource from, to;
    hd_range from_range, to_range; /* of what is recorded: explicit counts */
    const void *data;
    uint64_t bytes;
    hdi_vk_staged staged; /* of an upload */
    VkClearValue value;
    bool has_value;
    VkFilter filter;
    VkResolveModeFlagBits mode;
    hd_vk_readback_fn fn;
    void *user;
} help;

typedef hdi_vk_part part;

static hd_pass fail(hd_graph *graph, hd_result result, hd_resource resource, const char *why)
{
    if (hd_graph_error(graph)->result == HD_OK)
        hdi_graph_fail(graph, result, HD_NONE, hd_graph_resource_index(graph, resource), HD_NONE, why);
    return (hd_pass){0};
}

static hd_pass refuse(hd_graph *graph, hd_resource resource, const char *why)
{
    return fail(graph, HD_INVALID_ARGUMENT, resource, why);
}

static hd_pass no_memory(hd_graph *graph)
{
    return fail(graph, HD_OUT_OF_MEMORY, (hd_resource){0}, "what a helper keeps");
}

/* What is known of a resource, and the range that is meant; false: refused by the graph. */
static bool look_at(hd_graph *graph, const help *h, hd_resource resource, const hd_range *range, part *out)
{
    uint32_t index = hd_graph_resource_index(graph, resource);
    if (!h->vk) {
        fail(graph, HD_INVALID_ARGUMENT, resource, "the hd_vk of a helper is null");
        return false;
    }
    if (index == HD_NONE) {
        char why[2 * HDI_FAULT_BYTES];
        snprintf(why, sizeof(why), "'%.40s', a pass that a helper declares: %s", h->as.name ? h->as.name : "",
                 hdi_handle_fault(graph, resource.id));
        fail(graph, HD_BAD_HANDLE, resource, why);
        return false;
    }
    hdi_decl decl = hdi_graph_decl(graph);
    *out = (part){&decl.res_info[index], decl.res_flags[index] & HDI_RES_BUFFER, *range};
    return hdi_vk_fit_part(out);
}

static help *make_help(const hd_graph *graph, const help *from)
{
    hdi_vk_help *keep = hdi_vk_help_now(from->vk, graph);
    help *made = hdi_arena_alloc(&keep->arena, sizeof(*made));
    if (made)
        *made = *from;
    return made;
}

/* ---- recording ---- */

static VkImageSubresourceLayers layers_of(const hd_recorder *recorder, hd_resource image, const hd_range *range,
                                          uint32_t level)
{
    uint32_t index = hd_graph_resource_index(recorder->frame->graph, image);
    VkImageAspectFlags all = hdi_vk_aspects(recorder->frame->decl.res_info[index].format);
    return (VkImageSubresourceLayers){range->aspect ? range->aspect : all, range->mip_base + level, range->layer_base,
                                      range->layer_count};
}

static const hdi_res_info *info_of(const hd_recorder *recorder, hd_resource resource)
{
    return &recorder->frame->decl.res_info[hd_graph_resource_index(recorder->frame->graph, resource)];
}

static VkBufferImageCopy packed(const hd_recorder *recorder, hd_resource image, const hd_range *range, uint64_t offset)
{
    return (VkBufferImageCopy){.bufferOffset = offset,
                               .imageSubresource = layers_of(recorder, image, range, 0),
                               .imageExtent = hdi_vk_extent(info_of(recorder, image), range->mip_base)};
}

static bool is_buffer(const hd_recorder *recorder, hd_resource resource)
{
    const hdi_vk_frame *frame = recorder->frame;
    return frame->decl.res_flags[hd_graph_resource_index(frame->graph, resource)] & HDI_RES_BUFFER;
}

void hdi_vk_record_upload(hd_recorder *recorder, hd_resource to, const hd_range *range, const hdi_vk_staged *from)
{
    const hdi_vk_device_table *fn = &recorder->vk->fn;
    if (is_buffer(recorder, to)) {
        VkBufferCopy region = {from->offset, range->offset, from->bytes};
        fn->vkCmdCopyBuffer(recorder->commands, from->buffer, hd_vk_buffer(recorder, to), 1, &region);
        return;
    }
    VkBufferImageCopy region = packed(recorder, to, range, from->offset);
    fn->vkCmdCopyBufferToImage(recorder->commands, from->buffer, hd_vk_image(recorder, to),
                               VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

static void record_upload(hd_recorder *recorder, void *user)
{
    const help *h = user;
    hdi_vk_record_upload(recorder, h->to, &h->to_range, &h->staged);
}

static void copy_images(hd_recorder *recorder, const help *h)
{
    for (uint32_t level = 0; level < h->from_range.mip_count; level++) {
        VkImageCopy region = {.srcSubresource = layers_of(recorder, h->from, &h->from_range, level),
                              .dstSubresource = layers_of(recorder, h->to, &h->to_range, level),
                              .extent = hdi_vk_extent(info_of(recorder, h->from), h->from_range.mip_base + level)};
        h->vk->fn.vkCmdCopyImage(recorder->commands, hd_vk_image(recorder, h->from),
                                 VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, hd_vk_image(recorder, h->to),
                                 VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    }
}

static void record_copy(hd_recorder *recorder, void *user)
{
    const help *h = user;
    const hdi_vk_device_table *fn = &h->vk->fn;
    VkBuffer from = is_buffer(recorder, h->from) ? hd_vk_buffer(recorder, h->from) : VK_NULL_HANDLE;
    VkBuffer to = is_buffer(recorder, h->to) ? hd_vk_buffer(recorder, h->to) : VK_NULL_HANDLE;
    if (from && to) {
        VkBufferCopy region = {h->from_range.offset, h->to_range.offset, h->bytes};
        fn->vkCmdCopyBuffer(recorder->commands, from, to, 1, &region);
    } else if (from) {
        VkBufferImageCopy region = packed(recorder, h->to, &h->to_range, h->from_range.offset);
        fn->vkCmdCopyBufferToImage(recorder->commands, from, hd_vk_image(recorder, h->to),
                                   VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    } else if (to) {
        VkBufferImageCopy region = packed(recorder, h->from, &h->from_range, h->to_range.offset);
        fn->vkCmdCopyImageToBuffer(recorder->commands, hd_vk_image(recorder, h->from),
                                   VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to, 1, &region);
    } else {
        copy_images(recorder, h);
    }
}

static VkOffset3D far_corner(const hd_recorder *recorder, hd_resource image, uint32_t mip)
{
    VkExtent3D e = hdi_vk_extent(info_of(recorder, image), mip);
    return (VkOffset3D){(int32_t)e.width, (int32_t)e.height, (int32_t)e.depth};
}

static void record_blit(hd_recorder *recorder, void *user)
{
    const help *h = user;
    VkImageBlit region = {.srcSubresource = layers_of(recorder, h->from, &h->from_range, 0),
                          .dstSubresource = layers_of(recorder, h->to, &h->to_range, 0)};
    region.srcOffsets[1] = far_corner(recorder, h->from, h->from_range.mip_base);
    region.dstOffsets[1] = far_corner(recorder, h->to, h->to_range.mip_base);
    h->vk->fn.vkCmdBlitImage(recorder->commands, hd_vk_image(recorder, h->from), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                             hd_vk_image(recorder, h->to), VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region, h->filter);
}

static void record_resolve(hd_recorder *recorder, void *user)
{
    const help *h = user;
    VkImageResolve region = {.srcSubresource = layers_of(recorder, h->from, &h->from_range, 0),
                             .dstSubresource = layers_of(recorder, h->to, &h->to_range, 0),
                             .extent = hdi_vk_extent(info_of(recorder, h->to), h->to_range.mip_base)};
    h->vk->fn.vkCmdResolveImage(recorder->commands, hd_vk_image(recorder, h->from),
                                VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, hd_vk_image(recorder, h->to),
                                VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

static void record_clear(hd_recorder *recorder, void *user)
{
    const help *h = user;
    const hd_range *r = &h->to_range;
    VkImageAspectFlags aspects = layers_of(recorder, h->to, r, 0).aspectMask;
    VkImageSubresourceRange range = {aspects, r->mip_base, r->mip_count, r->layer_base, r->layer_count};
    VkImage image = hd_vk_image(recorder, h->to);
    if (aspects & VK_IMAGE_ASPECT_COLOR_BIT)
        h->vk->fn.vkCmdClearColorImage(recorder->commands, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &h->value.color,
                                       1, &range);
    else
        h->vk->fn.vkCmdClearDepthStencilImage(recorder->commands, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                              &h->value.depthStencil, 1, &range);
}

static void record_fill(hd_recorder *recorder, void *user)
{
    const help *h = user;
    h->vk->fn.vkCmdFillBuffer(recorder->commands, hd_vk_buffer(recorder, h->to), h->to_range.offset, h->to_range.bytes,
                              h->value.color.uint32[0]);
}

static void on_readback(hd_recorder *recorder, void *user)
{
    const help *h = user;
    const void *data = hd_vk_mapped(recorder, h->to);
    if (data)
        h->fn(data, h->bytes, h->user);
}

/* ---- declaring ---- */

/* Now, or at the join of a list. */
static hd_pass declare(hd_graph *graph, hdi_later_fn fn, const hd_vk_as *as, help h)
{
    if (!graph)
        return (hd_pass){0};
    if (as)
        h.as = *as;
    return graph->list ? hdi_list_later(graph, fn, &h, sizeof(h)) : fn(graph, &h);
}

static hd_range range_or_all(const hd_range *range)
{
    return range ? *range : (hd_range){{0}};
}

/* A pass from `from`, where there is one, to `to`; name: unless the caller gave one. */
static hd_pass declare_pass(hd_graph *graph, const char *name, const help *wish, hd_pass_type type, hd_record_fn record)
{
    help *h = make_help(graph, wish);
    if (!h)
        return no_memory(graph);
    const hd_use uses[] = {{h->from, HD_TRANSFER_SRC, .range = h->from_range},
                           {h->to, HD_TRANSFER_DST, .range = h->to_range}};
    const uint32_t first = h->from.id ? 0 : 1;
    const hd_pin pin = type == HD_PASS_GFX ? HD_PIN_GFX : HD_PIN_NONE;
    return hd_graph_pass(graph, &(hd_pass_desc){.name = h->as.name ? h->as.name : name,
                                                .type = type,
                                                .pin = h->as.pin ? h->as.pin : pin,
                                                .cost_us = h->as.cost_us,
                                                .record = record,
                                                .user = h,
                                                .uses = uses + first,
                                                .use_count = 2 - first});
}

/* The name of one of several passes, kept until the frame has finished: "mips 3"; null: no memory. */
static const char *name_part(hd_graph *graph, const help *h, const char *name, const char *what)
{
    name = h->as.name ? h->as.name : name;
    size_t bytes = strlen(name) + strlen(what) + 2;
    char *text = hdi_arena_alloc(&hdi_vk_help_now(h->vk, graph)->arena, bytes);
    if (text)
        snprintf(text, bytes, "%s %s", name, what);
    else
        no_memory(graph);
    return text;
}

static hd_pass make_upload(hd_graph *graph, const void *arguments)
{
    help h = *(const help *)arguments;
    part p;
    if (!look_at(graph, &h, h.to, &h.to_range, &p) || !h.data || h.bytes == 0)
        return refuse(graph, h.to, "upload: no data, or no such part of a resource");
    const char *fault = hdi_vk_upload_fault(&p, h.bytes);
    if (fault)
        return refuse(graph, h.to, fault);
    hdi_vk_chunk *chunk;
    uint64_t offset;
    hd_result result = hdi_vk_stage(h.vk, graph, h.bytes, &chunk, &offset);
    if (result != HD_OK)
        return fail(graph, result, h.to, "staging memory of an upload");
    memcpy((unsigned char *)chunk->at.mapped + offset, h.data, h.bytes);
    h.to_range = p.range;
    h.staged = (hdi_vk_staged){chunk->buffer, offset, h.bytes};
    return declare_pass(graph, "upload", &h, HD_PASS_TRANSFER, record_upload);
}

hd_pass hd_vk_upload(hd_vk *vk, hd_graph *graph, hd_resource to, const hd_range *range, const void *data,
                     uint64_t bytes, const hd_vk_as *as)
{
    help h = {.vk = vk, .to = to, .to_range = range_or_all(range), .data = data, .bytes = bytes};
    if (graph && graph->list && data && !(h.data = hdi_list_keep(graph, data, bytes)))
        return (hd_pass){0};
    return declare(graph, make_upload, as, h);
}

static hd_pass make_copy(hd_graph *graph, const void *arguments)
{
    help h = *(const help *)arguments;
    part a, b;
    if (!look_at(graph, &h, h.from, &h.from_range, &a) || !look_at(graph, &h, h.to, &h.to_range, &b))
        return refuse(graph, h.to, "copy: no such part of a resource");
    if (a.buffer != b.buffer) {
        part *image = a.buffer ? &b : &a, *buffer = a.buffer ? &a : &b;
        if (image->info->samples != 1)
            return refuse(graph, h.to, hdi_vk_multisampled);
        hdi_vk_one_level(image);
        uint64_t bytes = hdi_vk_level_bytes(image);
        if (bytes == 0)
            return refuse(graph, image == &a ? h.from : h.to, hdi_vk_unknown_texels);
        if (bytes > buffer->range.bytes)
            return refuse(graph, h.to, "copy: the buffer is smaller than the image's level");
        buffer->range.bytes = bytes;
    } else if (a.buffer) {
        a.range.bytes = b.range.bytes = a.range.bytes < b.range.bytes ? a.range.bytes : b.range.bytes;
        h.bytes = a.range.bytes;
    } else {
        const char *fault = hdi_vk_copy_fault(&a, &b);
        if (fault)
            return refuse(graph, h.to, fault);
    }
    h.from_range = a.range;
    h.to_range = b.range;
    return declare_pass(graph, "copy", &h, HD_PASS_TRANSFER, record_copy);
}

hd_pass hd_vk_copy(hd_vk *vk, hd_graph *graph, hd_resource from, const hd_range *from_range, hd_resource to,
                   const hd_range *to_range, const hd_vk_as *as)
{
    return declare(graph, make_copy, as,
                   (help){.vk = vk,
                          .from = from,
                          .to = to,
                          .from_range = range_or_all(from_range),
                          .to_range = range_or_all(to_range)});
}

static hd_pass make_blit(hd_graph *graph, const void *arguments)
{
    help h = *(const help *)arguments;
    part a, b;
    if (!look_at(graph, &h, h.from, &h.from_range, &a) || !look_at(graph, &h, h.to, &h.to_range, &b) || a.buffer ||
        b.buffer)
        return refuse(graph, h.to, "blit: no such part of an image");
    a.range.mip_count = b.range.mip_count = 1;
    const char *fault = hdi_vk_blit_fault(&a, &b, h.filter);
    if (fault)
        return refuse(graph, h.to, fault);
    h.from_range = a.range;
    h.to_range = b.range;
    return declare_pass(graph, "blit", &h, HD_PASS_GFX, record_blit);
}

hd_pass hd_vk_blit(hd_vk *vk, hd_graph *graph, hd_resource from, const hd_range *from_range, hd_resource to,
                   const hd_range *to_range, VkFilter filter, const hd_vk_as *as)
{
    return declare(graph, make_blit, as,
                   (help){.vk = vk,
                          .from = from,
                          .to = to,
                          .from_range = range_or_all(from_range),
                          .to_range = range_or_all(to_range),
                          .filter = filter});
}

/* Vulkan resolves depth at the end of rendering only: a scope that draws nothing. */
static hd_pass declare_depth_resolve(hd_graph *graph, const help *h)
{
    return hd_graph_pass(graph, &(hd_pass_desc){.name = h->as.name ? h->as.name : "resolve",
                                                .type = HD_PASS_GFX,
                                                .pin = h->as.pin,
                                                .cost_us = h->as.cost_us,
                                                .uses = HD_USES({h->from, HD_DEPTH_READ, .range = h->from_range},
                                                                {h->to, HD_RESOLVE_WRITE, .range = h->to_range,
                                                                 .resolve_of = h->from, .resolve_mode = h->mode})});
}

static hd_pass make_resolve(hd_graph *graph, const void *arguments)
{
    help h = *(const help *)arguments;
    part a, b;
    if (!look_at(graph, &h, h.from, &h.from_range, &a) || !look_at(graph, &h, h.to, &h.to_range, &b) || a.buffer ||
        b.buffer)
        return refuse(graph, h.to, "resolve: no such part of an image");
    a.range.mip_count = b.range.mip_count = 1;
    VkExtent3D x = hdi_vk_extent(a.info, a.range.mip_base), y = hdi_vk_extent(b.info, b.range.mip_base);
    if (a.info->samples < 2 || b.info->samples != 1 || a.info->format != b.info->format)
        return refuse(graph, h.to,
                      "resolve: from an image with more than one sample to one of the same format with "
                      "one");
    if (a.range.layer_count != b.range.layer_count || x.width != y.width || x.height != y.height)
        return refuse(graph, h.to, "resolve: the two images have other sizes or counts of layers");
    h.from_range = a.range;
    h.to_range = b.range;
    if (!(hdi_vk_aspects(a.info->format) & VK_IMAGE_ASPECT_COLOR_BIT))
        return declare_depth_resolve(graph, &h);
    if (h.mode != 0)
        return refuse(graph, h.to, "resolve: a mode is of depth");
    return declare_pass(graph, "resolve", &h, HD_PASS_GFX, record_resolve);
}

hd_pass hd_vk_resolve(hd_vk *vk, hd_graph *graph, hd_resource from, const hd_range *from_range, hd_resource to,
                      const hd_range *to_range, VkResolveModeFlagBits mode, const hd_vk_as *as)
{
    return declare(graph, make_resolve, as,
                   (help){.vk = vk,
                          .from = from,
                          .to = to,
                          .from_range = range_or_all(from_range),
                          .to_range = range_or_all(to_range),
                          .mode = mode});
}

static hd_pass make_mips(hd_graph *graph, const void *arguments)
{
    const help *wish = arguments;
    part p;
    if (!look_at(graph, wish, wish->to, &wish->to_range, &p) || p.buffer)
        return refuse(graph, wish->to, "generate mips: no such image");
    hd_pass last = {0};
    uint32_t mips = p.info->mips;
    for (uint16_t m = 1; m < mips; m++) {
        char number[8];
        help h = *wish;
        snprintf(number, sizeof(number), "%u", m);
        h.as.name = name_part(graph, wish, "mips", number);
        if (!h.as.name)
            return (hd_pass){0};
        h.from = wish->to;
        h.from_range = (hd_range){.mip_base = (uint16_t)(m - 1), .mip_count = 1};
        h.to_range = (hd_range){.mip_base = m, .mip_count = 1};
        h.filter = VK_FILTER_LINEAR;
        last = make_blit(graph, &h);
    }
    return last;
}

hd_pass hd_vk_generate_mips(hd_vk *vk, hd_graph *graph, hd_resource image, const hd_vk_as *as)
{
    return declare(graph, make_mips, as, (help){.vk = vk, .to = image});
}

static hd_pass make_clear(hd_graph *graph, const void *arguments)
{
    help h = *(const help *)arguments;
    part p;
    if (!look_at(graph, &h, h.to, &h.to_range, &p) || !h.has_value || p.buffer)
        return refuse(graph, h.to, "clear: no value, or no such part of an image");
    hdi_texel_block block = hdi_format_block(p.info->format);
    if (block.width > 1)
        return refuse(graph, h.to, "clear: images of blocks are uploaded");
    if (!block.bytes) /* they may be of blocks or of several planes */
        return refuse(graph, h.to, hdi_vk_unknown_texels);
    hd_pass_type type = hdi_vk_aspects(p.info->format) & VK_IMAGE_ASPECT_COLOR_BIT ? HD_PASS_COMPUTE : HD_PASS_GFX;
    h.to_range = p.range;
    return declare_pass(graph, "clear", &h, type, record_clear);
}

hd_pass hd_vk_clear(hd_vk *vk, hd_graph *graph, hd_resource image, const hd_range *range, const VkClearValue *value,
                    const hd_vk_as *as)
{
    help h = {.vk = vk, .to = image, .to_range = range_or_all(range), .has_value = value != NULL};
    if (value)
        h.value = *value;
    return declare(graph, make_clear, as, h);
}

static hd_pass make_fill(hd_graph *graph, const void *arguments)
{
    help h = *(const help *)arguments;
    part p;
    if (!look_at(graph, &h, h.to, &h.to_range, &p) || !p.buffer)
        return refuse(graph, h.to, "fill: no such part of a buffer");
    if (p.range.offset % 4 || p.range.bytes % 4)
        return refuse(graph, h.to, "fill: offset and bytes are multiples of 4");
    h.to_range = p.range;
    return declare_pass(graph, "fill", &h, HD_PASS_TRANSFER, record_fill);
}

hd_pass hd_vk_fill(hd_vk *vk, hd_graph *graph, hd_resource buffer, const hd_range *range, uint32_t word,
                   const hd_vk_as *as)
{
    return declare(graph, make_fill, as,
                   (help){.vk = vk, .to = buffer, .to_range = range_or_all(range), .value.color.uint32 = {word}});
}

static hd_pass make_readback(hd_graph *graph, const void *arguments)
{
    help h = *(const help *)arguments, copy = h;
    part p;
    if (!look_at(graph, &h, h.from, &h.from_range, &p) || !h.fn || (p.buffer && p.range.bytes == 0))
        return refuse(graph, h.from, "readback: no function, or no such part of a resource");
    hdi_vk_one_level(&p);
    h.bytes = p.buffer ? p.range.bytes : hdi_vk_level_bytes(&p);
    if (h.bytes == 0)
        return refuse(graph, h.from, hdi_vk_unknown_texels);
    copy.as.name = name_part(graph, &h, "readback", "copy");
    if (!copy.as.name)
        return (hd_pass){0};
    copy.from_range = p.range;
    copy.to = h.to = hd_graph_buffer(graph, &(hd_buffer_desc){.name = copy.as.name, .bytes = h.bytes});
    make_copy(graph, &copy);
    help *kept = make_help(graph, &h);
    if (!kept)
        return no_memory(graph);
    return hd_graph_pass(graph, &(hd_pass_desc){.name = h.as.name ? h.as.name : "readback",
                                                .type = HD_PASS_HOST,
                                                .root = true,
                                                .record = on_readback,
                                                .user = kept,
                                                .uses = HD_USES({h.to, HD_HOST_READ})});
}

hd_pass hd_vk_readback(hd_vk *vk, hd_graph *graph, hd_resource from, const hd_range *range, hd_vk_readback_fn fn,
                       void *user, const hd_vk_as *as)
{
    return declare(graph, make_readback, as,
                   (help){.vk = vk, .from = from, .from_range = range_or_all(range), .fn = fn, .user = user});
}
