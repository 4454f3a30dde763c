#include "helpers.h"

#include <string.h>

#include "graph_state.h"
#include "vk_memory.h"

/* Passes that every engine needs: a few lines of declaring each, and a callback that records one command. What the
 * callback needs lies where hdi_vk_help_now keeps it. Copies go to the transfer queue, blits and clears of depth need
 * graphics, clears of colors compute. */

typedef struct help {
    hd_vk *vk;
    hd_resource from, to;
    hd_range from_range, to_range; /* explicit counts */
    hdi_vk_staged staged;          /* of an upload */
    uint64_t bytes;
    VkClearValue value;
    VkFilter filter;
    hd_vk_readback_fn fn;
    void *user;
} help;

typedef hdi_vk_part part;

static hd_pass fail(hd_graph *graph, hd_result result, hd_resource resource, const char *why)
{
    if (graph && hd_graph_error(graph)->result == HD_OK)
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

bool hdi_vk_fit_part(part *p)
{
    hd_range *range = &p->range;
    if (p->buffer) {
        if (range->offset > p->info->bytes)
            return false;
        if (range->bytes == 0)
            range->bytes = p->info->bytes - range->offset;
        return range->bytes <= p->info->bytes - range->offset;
    }
    if (range->mip_base >= p->info->mips || range->layer_base >= p->info->layers)
        return false;
    if (range->mip_count == 0)
        range->mip_count = (uint16_t)(p->info->mips - range->mip_base);
    if (range->layer_count == 0)
        range->layer_count = p->info->layers - range->layer_base;
    return range->mip_count <= p->info->mips - range->mip_base &&
           range->layer_count <= p->info->layers - range->layer_base;
}

/* What is known of a resource, and the range that is meant; false: refused by the graph. */
static bool look_at(const hd_vk *vk, hd_graph *graph, hd_resource resource, const hd_range *range, part *out)
{
    uint32_t index = graph ? hd_graph_resource_index(graph, resource) : HD_NONE;
    if (!vk) {
        fail(graph, HD_INVALID_ARGUMENT, resource, "the hd_vk of a helper is null");
        return false;
    }
    if (index == HD_NONE) {
        fail(graph, HD_BAD_HANDLE, resource, "given to hd_vk_upload, copy or the like"); /* what they say comes later */
        return false;
    }
    hdi_decl decl = hdi_graph_decl(graph);
    *out = (part){&decl.res_info[index], decl.res_flags[index] & HDI_RES_BUFFER, range ? *range : (hd_range){{0}}};
    return hdi_vk_fit_part(out);
}

/* The level that is meant where one level is; of depth and stencil the one aspect that is. */
static void one_level(part *p)
{
    if (p->buffer)
        return;
    p->range.mip_count = 1;
    const uint32_t both = HD_ASPECT_DEPTH | HD_ASPECT_STENCIL;
    if (hdi_format_aspects(p->info->format) == both && (!p->range.aspect || p->range.aspect == both))
        p->range.aspect = HD_ASPECT_DEPTH;
}

static VkExtent3D extent_of(const hdi_res_info *info, uint32_t mip)
{
    uint32_t w = info->width >> mip, h = info->height >> mip, d = info->depth >> mip;
    return (VkExtent3D){w ? w : 1, h ? h : 1, d ? d : 1};
}

/* Packed bytes of a level; 0: not known. */
static uint64_t level_bytes(const part *p)
{
    VkExtent3D e = extent_of(p->info, p->range.mip_base);
    hdi_texel_block block = hdi_format_block(p->info->format);
    if (p->range.aspect == HD_ASPECT_STENCIL)
        block.bytes = 1;
    else if (p->range.aspect == HD_ASPECT_DEPTH && hdi_format_has_stencil(p->info->format))
        block.bytes = p->info->format == VK_FORMAT_D16_UNORM_S8_UINT ? 2 : 4;
    uint64_t slices = (uint64_t)e.depth * p->range.layer_count;
    return hdi_texel_blocks(e.width, block.width) * hdi_texel_blocks(e.height, block.height) * slices * block.bytes;
}

/* ---- what Vulkan does not copy ---- */

/* How much memory the device reads or writes is then not known either. */
static const char *const unknown_texels = "heddle does not know the size of such texels";

static const char *const multisampled = "copy: several samples go to or from an image with as many only";

/* Null, or why one image cannot be copied to the other. Colors to depth of as many bytes: an extension does that. */
static const char *copy_fault(const part *from, const part *to)
{
    VkExtent3D x = extent_of(from->info, from->range.mip_base), y = extent_of(to->info, to->range.mip_base);
    if (from->range.mip_count != to->range.mip_count || from->range.layer_count != to->range.layer_count ||
        x.width != y.width || x.height != y.height || x.depth != y.depth)
        return "copy: the two images have other sizes or counts";
    if (from->info->samples != to->info->samples)
        return multisampled;
    uint32_t a = from->info->format, b = to->info->format;
    bool a_depth = hdi_format_aspects(a) != 0, b_depth = hdi_format_aspects(b) != 0;
    if (a_depth && b_depth)
        return a == b ? NULL : "copy: depth and stencil of another format";
    hdi_texel_block a_block = hdi_format_block(a), b_block = hdi_format_block(b);
    if (a_block.width != b_block.width || a_block.height != b_block.height) /* of as many texels, one has more blocks */
        return "copy: the texels of the two images come in other blocks";
    return a_depth || b_depth || a_block.bytes == b_block.bytes || a_block.bytes == 0 || b_block.bytes == 0
               ? NULL
               : "copy: the texels of the two images have other numbers of bytes";
}

/* Of formats of one layout UINT comes before SINT, and what has a fraction before that. */
static bool is_signed_integer(uint32_t format)
{
    return hdi_format_is_integer(format) && hdi_format_is_integer(format - 1);
}

/* The same of a blit, which converts. */
static const char *blit_fault(const part *from, const part *to, VkFilter filter)
{
    uint32_t a = from->info->format, b = to->info->format;
    bool depth = hdi_format_aspects(a) || hdi_format_aspects(b);
    if ((uint32_t)filter > VK_FILTER_LINEAR && filter != VK_FILTER_CUBIC_EXT)
        return "blit: filter is no VkFilter";
    if (from->range.layer_count != to->range.layer_count)
        return "blit: the two images have other counts of layers";
    if (from->info->samples != 1 || to->info->samples != 1)
        return "blit: of an image with several samples";
    if (depth && a != b)
        return "blit: depth and stencil go to the same format only";
    if (hdi_format_is_integer(a) != hdi_format_is_integer(b))
        return "blit: integers go to integers only";
    if (is_signed_integer(a) != is_signed_integer(b))
        return "blit: UINT goes to UINT and SINT to SINT only";
    if (hdi_format_is_integer(a) && filter != VK_FILTER_NEAREST)
        return "blit: integers take VK_FILTER_NEAREST";
    return depth && filter != VK_FILTER_NEAREST ? "blit: depth and stencil take VK_FILTER_NEAREST" : NULL;
}

static help *make_help(hd_vk *vk, const hd_graph *graph, const help *from)
{
    hdi_vk_help *keep = hdi_vk_help_now(vk, graph);
    help *made = hdi_arena_alloc(&keep->arena, sizeof(*made));
    if (made) {
        *made = *from;
        made->vk = vk;
    }
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
                               .imageExtent = extent_of(info_of(recorder, image), range->mip_base)};
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
                              .extent = extent_of(info_of(recorder, h->from), h->from_range.mip_base + level)};
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
    VkExtent3D e = extent_of(info_of(recorder, image), mip);
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
                             .extent = extent_of(info_of(recorder, h->to), h->to_range.mip_base)};
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

/* ---- entry ---- */

const char *hdi_vk_upload_fault(part *p, uint64_t bytes)
{
    if (!p->buffer && p->info->samples != 1)
        return "upload: to an image with several samples";
    one_level(p);
    uint64_t room = p->buffer ? p->range.bytes : level_bytes(p);
    if (!p->buffer && room == 0)
        return unknown_texels;
    if (p->buffer ? bytes > room : bytes != room)
        return "upload: the data has another size than what it goes to";
    if (p->buffer)
        p->range.bytes = bytes;
    return NULL;
}

hd_pass hd_vk_upload(hd_vk *vk, hd_graph *graph, hd_resource to, const hd_range *range, const void *data,
                     uint64_t bytes)
{
    part p;
    if (!look_at(vk, graph, to, range, &p) || !data || bytes == 0)
        return refuse(graph, to, "upload: no data, or no such part of a resource");
    const char *fault = hdi_vk_upload_fault(&p, bytes);
    if (fault)
        return refuse(graph, to, fault);
    hdi_vk_chunk *chunk;
    uint64_t offset;
    hd_result result = hdi_vk_stage(vk, graph, bytes, &chunk, &offset);
    if (result != HD_OK)
        return fail(graph, result, to, "staging memory of an upload");
    memcpy((unsigned char *)chunk->at.mapped + offset, data, bytes);
    help *h = make_help(vk, graph, &(help){.to = to, .to_range = p.range, .staged = {chunk->buffer, offset, bytes}});
    if (!h)
        return no_memory(graph);
    return hd_graph_pass(graph, &(hd_pass_desc){.name = "upload",
                                                .type = HD_PASS_TRANSFER,
                                                .record = record_upload,
                                                .user = h,
                                                .uses = HD_USES({to, HD_TRANSFER_DST, .range = p.range})});
}

static hd_pass declare_copy(hd_graph *graph, const char *name, const help *h, hd_pass_type type, hd_record_fn record)
{
    return hd_graph_pass(graph, &(hd_pass_desc){.name = name,
                                                .type = type,
                                                .pin = type == HD_PASS_GFX ? HD_PIN_GFX : HD_PIN_NONE,
                                                .record = record,
                                                .user = (void *)(uintptr_t)h,
                                                .uses = HD_USES({h->from, HD_TRANSFER_SRC, .range = h->from_range},
                                                                {h->to, HD_TRANSFER_DST, .range = h->to_range})});
}

hd_pass hd_vk_copy(hd_vk *vk, hd_graph *graph, hd_resource from, const hd_range *from_range, hd_resource to,
                   const hd_range *to_range)
{
    part a, b;
    if (!look_at(vk, graph, from, from_range, &a) || !look_at(vk, graph, to, to_range, &b))
        return refuse(graph, to, "copy: no such part of a resource");
    if (a.buffer != b.buffer) {
        part *image = a.buffer ? &b : &a, *buffer = a.buffer ? &a : &b;
        if (image->info->samples != 1)
            return refuse(graph, to, multisampled);
        one_level(image);
        uint64_t bytes = level_bytes(image);
        if (bytes == 0)
            return refuse(graph, image == &a ? from : to, unknown_texels);
        if (bytes > buffer->range.bytes)
            return refuse(graph, to, "copy: the buffer is smaller than the image's level");
        buffer->range.bytes = bytes;
    } else if (a.buffer) {
        a.range.bytes = b.range.bytes = a.range.bytes < b.range.bytes ? a.range.bytes : b.range.bytes;
    } else {
        const char *fault = copy_fault(&a, &b);
        if (fault)
            return refuse(graph, to, fault);
    }
    help *h = make_help(vk, graph,
                        &(help){.from = from,
                                .to = to,
                                .from_range = a.range,
                                .to_range = b.range,
                                .bytes = a.buffer && b.buffer ? a.range.bytes : 0});
    return h ? declare_copy(graph, "copy", h, HD_PASS_TRANSFER, record_copy) : no_memory(graph);
}

hd_pass hd_vk_blit(hd_vk *vk, hd_graph *graph, hd_resource from, const hd_range *from_range, hd_resource to,
                   const hd_range *to_range, VkFilter filter)
{
    part a, b;
    if (!look_at(vk, graph, from, from_range, &a) || !look_at(vk, graph, to, to_range, &b) || a.buffer || b.buffer)
        return refuse(graph, to, "blit: no such part of an image");
    a.range.mip_count = b.range.mip_count = 1;
    const char *fault = blit_fault(&a, &b, filter);
    if (fault)
        return refuse(graph, to, fault);
    help *h = make_help(vk, graph,
                        &(help){.from = from, .to = to, .from_range = a.range, .to_range = b.range, .filter = filter});
    return h ? declare_copy(graph, "blit", h, HD_PASS_GFX, record_blit) : no_memory(graph);
}

/* Vulkan resolves depth at the end of rendering only: a scope that draws nothing. */
static hd_pass declare_depth_resolve(hd_graph *graph, const help *h, uint32_t mode)
{
    return hd_graph_pass(graph, &(hd_pass_desc){.name = "resolve",
                                                .type = HD_PASS_GFX,
                                                .uses = HD_USES({h->from, HD_DEPTH_READ, .range = h->from_range},
                                                                {h->to, HD_RESOLVE_WRITE, .range = h->to_range,
                                                                 .resolve_of = h->from, .resolve_mode = mode})});
}

hd_pass hd_vk_resolve(hd_vk *vk, hd_graph *graph, hd_resource from, const hd_range *from_range, hd_resource to,
                      const hd_range *to_range, VkResolveModeFlagBits mode)
{
    part a, b;
    if (!look_at(vk, graph, from, from_range, &a) || !look_at(vk, graph, to, to_range, &b) || a.buffer || b.buffer)
        return refuse(graph, to, "resolve: no such part of an image");
    a.range.mip_count = b.range.mip_count = 1;
    VkExtent3D x = extent_of(a.info, a.range.mip_base), y = extent_of(b.info, b.range.mip_base);
    if (a.info->samples < 2 || b.info->samples != 1 || a.info->format != b.info->format)
        return refuse(graph, to, "resolve: from an image with more than one sample to one of the same format with one");
    if (a.range.layer_count != b.range.layer_count || x.width != y.width || x.height != y.height)
        return refuse(graph, to, "resolve: the two images have other sizes or counts of layers");
    help h = {.from = from, .to = to, .from_range = a.range, .to_range = b.range};
    if (!(hdi_vk_aspects(a.info->format) & VK_IMAGE_ASPECT_COLOR_BIT))
        return declare_depth_resolve(graph, &h, mode);
    if (mode != 0)
        return refuse(graph, to, "resolve: a mode is of depth");
    help *kept = make_help(vk, graph, &h);
    return kept ? declare_copy(graph, "resolve", kept, HD_PASS_GFX, record_resolve) : no_memory(graph);
}

hd_pass hd_vk_generate_mips(hd_vk *vk, hd_graph *graph, hd_resource image)
{
    part p;
    if (!look_at(vk, graph, image, NULL, &p) || p.buffer)
        return refuse(graph, image, "generate mips: no such image");
    hd_pass last = {0};
    uint32_t mips = p.info->mips;
    for (uint16_t m = 1; m < mips; m++) {
        hd_range from = {.mip_base = (uint16_t)(m - 1), .mip_count = 1}, to = {.mip_base = m, .mip_count = 1};
        last = hd_vk_blit(vk, graph, image, &from, image, &to, VK_FILTER_LINEAR);
    }
    return last;
}

static hd_pass declare_write(hd_graph *graph, const char *name, const help *h, hd_pass_type type, hd_record_fn record)
{
    return hd_graph_pass(graph, &(hd_pass_desc){.name = name,
                                                .type = type,
                                                .record = record,
                                                .user = (void *)(uintptr_t)h,
                                                .uses = HD_USES({h->to, HD_TRANSFER_DST, .range = h->to_range})});
}

hd_pass hd_vk_clear(hd_vk *vk, hd_graph *graph, hd_resource image, const hd_range *range, const VkClearValue *value)
{
    part p;
    if (!look_at(vk, graph, image, range, &p) || !value || p.buffer)
        return refuse(graph, image, "clear: no value, or no such part of an image");
    hdi_texel_block block = hdi_format_block(p.info->format);
    if (block.width > 1)
        return refuse(graph, image, "clear: images of blocks are uploaded");
    if (!block.bytes) /* they may be of blocks or of several planes */
        return refuse(graph, image, unknown_texels);
    hd_pass_type type = hdi_vk_aspects(p.info->format) & VK_IMAGE_ASPECT_COLOR_BIT ? HD_PASS_COMPUTE : HD_PASS_GFX;
    help *h = make_help(vk, graph, &(help){.to = image, .to_range = p.range, .value = *value});
    return h ? declare_write(graph, "clear", h, type, record_clear) : no_memory(graph);
}

hd_pass hd_vk_fill(hd_vk *vk, hd_graph *graph, hd_resource buffer, const hd_range *range, uint32_t word)
{
    part p;
    if (!look_at(vk, graph, buffer, range, &p) || !p.buffer)
        return refuse(graph, buffer, "fill: no such part of a buffer");
    if (p.range.offset % 4 || p.range.bytes % 4)
        return refuse(graph, buffer, "fill: offset and bytes are multiples of 4");
    help *h = make_help(vk, graph, &(help){.to = buffer, .to_range = p.range, .value.color.uint32 = {word}});
    return h ? declare_write(graph, "fill", h, HD_PASS_TRANSFER, record_fill) : no_memory(graph);
}

hd_pass hd_vk_readback(hd_vk *vk, hd_graph *graph, hd_resource from, const hd_range *range, hd_vk_readback_fn fn,
                       void *user)
{
    part p;
    if (!look_at(vk, graph, from, range, &p) || !fn || (p.buffer && p.range.bytes == 0))
        return refuse(graph, from, "readback: no function, or no such part of a resource");
    one_level(&p);
    uint64_t bytes = p.buffer ? p.range.bytes : level_bytes(&p);
    if (bytes == 0)
        return refuse(graph, from, unknown_texels);
    hd_resource words = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "readback", .bytes = bytes});
    hd_vk_copy(vk, graph, from, &p.range, words, NULL);
    help *h = make_help(vk, graph, &(help){.to = words, .bytes = bytes, .fn = fn, .user = user});
    if (!h)
        return no_memory(graph);
    return hd_graph_pass(graph, &(hd_pass_desc){.name = "readback",
                                                .type = HD_PASS_HOST,
                                                .root = true,
                                                .record = on_readback,
                                                .user = h,
                                                .uses = HD_USES({words, HD_HOST_READ})});
}
