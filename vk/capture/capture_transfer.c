#include "capture_state.h"

#include "tables.h"

/* Copies, clears, fills, updates, blits and resolves: what they read and write stands in their arguments. A copy
 * between an image and a buffer whose texels heddle does not know (block-compressed ones) counts as touching the buffer
 * to its end. Where the box of a region is not sure, it counts as touching all texels: of copies into an image of
 * another format, one of them block-compressed, whose texels are not those of the source; of a blit's source with a
 * filter that reads texels around it; and where an argument is wrong. */

#define HOOKS(X)                                                                                                       \
    X(vkCmdCopyBuffer)                                                                                                 \
    X(vkCmdCopyBuffer2)                                                                                                \
    X(vkCmdCopyImage)                                                                                                  \
    X(vkCmdCopyImage2)                                                                                                 \
    X(vkCmdCopyBufferToImage)                                                                                          \
    X(vkCmdCopyBufferToImage2)                                                                                         \
    X(vkCmdCopyImageToBuffer)                                                                                          \
    X(vkCmdCopyImageToBuffer2)                                                                                         \
    X(vkCmdBlitImage)                                                                                                  \
    X(vkCmdBlitImage2)                                                                                                 \
    X(vkCmdResolveImage)                                                                                               \
    X(vkCmdResolveImage2)                                                                                              \
    X(vkCmdFillBuffer)                                                                                                 \
    X(vkCmdUpdateBuffer)                                                                                               \
    X(vkCmdClearColorImage)                                                                                            \
    X(vkCmdClearDepthStencilImage)                                                                                     \
    X(vkCmdCopyQueryPoolResults)
HOOKS(HDI_CAP_NEXT)

#define COPY VK_PIPELINE_STAGE_2_COPY_BIT
#define CLEAR VK_PIPELINE_STAGE_2_CLEAR_BIT
#define READ VK_ACCESS_2_TRANSFER_READ_BIT
#define WRITE VK_ACCESS_2_TRANSFER_WRITE_BIT

/* Opens a command; its list, or null. */
static hd_stream *open_locked(VkCommandBuffer commands, const char *name)
{
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    return c && hdi_cap_command_locked(c, HD_STREAM_ACCESS, name) ? c->list : NULL;
}

/* Between two corners, whichever is the first; no box: all texels. */
static hd_stream_box box_between(const VkOffset3D *a, const VkOffset3D *b)
{
    int64_t from[3] = {a->x, a->y, a->z}, to[3] = {b->x, b->y, b->z};
    hd_stream_box box = {{0}, {0}};
    for (int i = 0; i < 3; i++) {
        int64_t least = from[i] < to[i] ? from[i] : to[i], most = from[i] < to[i] ? to[i] : from[i];
        if (least < 0 || least == most)
            return (hd_stream_box){{0}, {0}};
        box.offset[i] = (uint32_t)least;
        box.extent[i] = (uint32_t)(most - least);
    }
    return box;
}

static hd_stream_box box_of(const VkOffset3D *at, const VkExtent3D *extent)
{
    const uint32_t offset[3] = {(uint32_t)at->x, (uint32_t)at->y, (uint32_t)at->z};
    const uint32_t size[3] = {extent->width, extent->height, extent->depth};
    hd_stream_box box = {{0}, {0}};
    for (int i = 0; i < 3; i++) {
        if (offset[i] > INT32_MAX || !size[i] || size[i] > INT32_MAX)
            return (hd_stream_box){{0}, {0}};
        box.offset[i] = offset[i];
        box.extent[i] = size[i];
    }
    return box;
}

static void layers_locked(hd_stream *list, VkImage image, const VkImageSubresourceLayers *layers, hd_stream_box box,
                          VkImageLayout layout, uint64_t stages, uint64_t access)
{
    VkImageSubresourceRange range = {layers->aspectMask, layers->mipLevel, 1, layers->baseArrayLayer,
                                     layers->layerCount};
    hd_stream_access *a = hdi_cap_image_locked(list, image, &range, (uint32_t)layout, stages, access);
    if (a)
        a->box = box;
}

/* ---- buffers ---- */

static void buffers_locked(hd_stream *list, VkBuffer from, VkBuffer to, const VkBufferCopy *r)
{
    hdi_cap_buffer_locked(list, from, r->srcOffset, r->size, COPY, READ);
    hdi_cap_buffer_locked(list, to, r->dstOffset, r->size, COPY, WRITE);
}

static void VKAPI_PTR hook_vkCmdCopyBuffer(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count,
                                           const VkBufferCopy *regions)
{
    hdi_cap_lock();
    hd_stream *list = open_locked(commands, "vkCmdCopyBuffer");
    for (uint32_t i = 0; i < count && list; i++)
        buffers_locked(list, from, to, &regions[i]);
    hdi_cap_unlock();
    NEXT(vkCmdCopyBuffer)(commands, from, to, count, regions);
}

static void VKAPI_PTR hook_vkCmdCopyBuffer2(VkCommandBuffer commands, const VkCopyBufferInfo2 *info)
{
    hdi_cap_lock();
    hd_stream *list = open_locked(commands, "vkCmdCopyBuffer2");
    for (uint32_t i = 0; i < info->regionCount && list; i++) {
        const VkBufferCopy2 *r = &info->pRegions[i];
        buffers_locked(list, info->srcBuffer, info->dstBuffer, &(VkBufferCopy){r->srcOffset, r->dstOffset, r->size});
    }
    hdi_cap_unlock();
    NEXT(vkCmdCopyBuffer2)(commands, info);
}

static void VKAPI_PTR hook_vkCmdFillBuffer(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset,
                                           VkDeviceSize size, uint32_t word)
{
    hdi_cap_lock();
    hd_stream *list = open_locked(commands, "vkCmdFillBuffer");
    if (list)
        hdi_cap_buffer_locked(list, buffer, offset, size, CLEAR, WRITE);
    hdi_cap_unlock();
    NEXT(vkCmdFillBuffer)(commands, buffer, offset, size, word);
}

static void VKAPI_PTR hook_vkCmdUpdateBuffer(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset,
                                             VkDeviceSize size, const void *data)
{
    hdi_cap_lock();
    hd_stream *list = open_locked(commands, "vkCmdUpdateBuffer");
    if (list)
        hdi_cap_buffer_locked(list, buffer, offset, size, CLEAR, WRITE);
    hdi_cap_unlock();
    NEXT(vkCmdUpdateBuffer)(commands, buffer, offset, size, data);
}

static void VKAPI_PTR hook_vkCmdCopyQueryPoolResults(VkCommandBuffer commands, VkQueryPool pool, uint32_t first,
                                                     uint32_t count, VkBuffer buffer, VkDeviceSize offset,
                                                     VkDeviceSize stride, VkQueryResultFlags flags)
{
    hdi_cap_lock();
    hd_stream *list = open_locked(commands, "vkCmdCopyQueryPoolResults");
    uint64_t one = flags & VK_QUERY_RESULT_64_BIT ? 8 : 4;
    one *= flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT ? 2 : 1;
    if (list && count)
        hdi_cap_buffer_locked(list, buffer, offset, (count - 1) * stride + one, COPY, WRITE);
    hdi_cap_unlock();
    NEXT(vkCmdCopyQueryPoolResults)(commands, pool, first, count, buffer, offset, stride, flags);
}

/* ---- images ---- */

/* What a region of two images touches: both ends of it, in a shape that all of these commands share. */
typedef struct region {
    const VkImageSubresourceLayers *from, *to;
    hd_stream_box from_box, to_box;
} region;

typedef struct images {
    VkImage from, to;
    VkImageLayout from_layout, to_layout;
} images;

/* Whether a texel of one image is one of the other: not where one has blocks of them. */
static bool same_texels_locked(const images *i)
{
    const hdi_cap_object *from = hdi_cap_resource_locked(HDI_CAP_IMAGE, HDI_CAP_HANDLE(i->from));
    uint32_t format = from ? from->format : 0; /* the next call may move it */
    const hdi_cap_object *to = hdi_cap_resource_locked(HDI_CAP_IMAGE, HDI_CAP_HANDLE(i->to));
    if (!to || !format || !to->format)
        return false;
    hdi_texel_block a = hdi_format_block(format), b = hdi_format_block(to->format);
    return format == to->format || (a.bytes && a.width == 1 && b.bytes && b.width == 1);
}

static void images_locked(hd_stream *list, const images *i, const region *r, uint64_t stage)
{
    layers_locked(list, i->from, r->from, r->from_box, i->from_layout, stage, READ);
    layers_locked(list, i->to, r->to, r->to_box, i->to_layout, stage, WRITE);
}

static region part_of(const VkImageSubresourceLayers *from, const VkOffset3D *from_at,
                      const VkImageSubresourceLayers *to, const VkOffset3D *to_at, const VkExtent3D *extent,
                      bool same_texels)
{
    return (region){from, to, box_of(from_at, extent), same_texels ? box_of(to_at, extent) : (hd_stream_box){{0}, {0}}};
}

static region part_of_blit(const VkImageSubresourceLayers *from, const VkOffset3D from_at[2],
                           const VkImageSubresourceLayers *to, const VkOffset3D to_at[2], VkFilter filter)
{
    return (region){from, to,
                    filter == VK_FILTER_NEAREST ? box_between(&from_at[0], &from_at[1]) : (hd_stream_box){{0}, {0}},
                    box_between(&to_at[0], &to_at[1])};
}

#define PART(r)                                                                                                        \
    part_of(&(r)->srcSubresource, &(r)->srcOffset, &(r)->dstSubresource, &(r)->dstOffset, &(r)->extent, same)
#define PART_OF_BLIT(r, filter)                                                                                        \
    part_of_blit(&(r)->srcSubresource, (r)->srcOffsets, &(r)->dstSubresource, (r)->dstOffsets, filter)

#define TWO_IMAGES(name, region_type, stage)                                                                           \
    static void VKAPI_PTR hook_##name(VkCommandBuffer commands, VkImage from, VkImageLayout from_layout, VkImage to,   \
                                      VkImageLayout to_layout, uint32_t count, const region_type *regions)             \
    {                                                                                                                  \
        hdi_cap_lock();                                                                                                \
        const images both = {from, to, from_layout, to_layout};                                                        \
        hd_stream *list = open_locked(commands, #name);                                                                \
        bool same = list && same_texels_locked(&both);                                                                 \
        for (uint32_t i = 0; i < count && list; i++) {                                                                 \
            region r = PART(&regions[i]);                                                                              \
            images_locked(list, &both, &r, stage);                                                                     \
        }                                                                                                              \
        hdi_cap_unlock();                                                                                              \
        NEXT(name)(commands, from, from_layout, to, to_layout, count, regions);                                        \
    }
TWO_IMAGES(vkCmdCopyImage, VkImageCopy, COPY)
TWO_IMAGES(vkCmdResolveImage, VkImageResolve, VK_PIPELINE_STAGE_2_RESOLVE_BIT)

static void VKAPI_PTR hook_vkCmdBlitImage(VkCommandBuffer commands, VkImage from, VkImageLayout from_layout, VkImage to,
                                          VkImageLayout to_layout, uint32_t count, const VkImageBlit *regions,
                                          VkFilter filter)
{
    hdi_cap_lock();
    const images both = {from, to, from_layout, to_layout};
    hd_stream *list = open_locked(commands, "vkCmdBlitImage");
    for (uint32_t i = 0; i < count && list; i++) {
        region r = PART_OF_BLIT(&regions[i], filter);
        images_locked(list, &both, &r, VK_PIPELINE_STAGE_2_BLIT_BIT);
    }
    hdi_cap_unlock();
    NEXT(vkCmdBlitImage)(commands, from, from_layout, to, to_layout, count, regions, filter);
}

static void VKAPI_PTR hook_vkCmdBlitImage2(VkCommandBuffer commands, const VkBlitImageInfo2 *info)
{
    hdi_cap_lock();
    const images both = {info->srcImage, info->dstImage, info->srcImageLayout, info->dstImageLayout};
    hd_stream *list = open_locked(commands, "vkCmdBlitImage2");
    for (uint32_t i = 0; i < info->regionCount && list; i++) {
        region r = PART_OF_BLIT(&info->pRegions[i], info->filter);
        images_locked(list, &both, &r, VK_PIPELINE_STAGE_2_BLIT_BIT);
    }
    hdi_cap_unlock();
    NEXT(vkCmdBlitImage2)(commands, info);
}

#define TWO_IMAGES_2(name, info_type, stage)                                                                           \
    static void VKAPI_PTR hook_##name(VkCommandBuffer commands, const info_type *info)                                 \
    {                                                                                                                  \
        hdi_cap_lock();                                                                                                \
        const images both = {info->srcImage, info->dstImage, info->srcImageLayout, info->dstImageLayout};              \
        hd_stream *list = open_locked(commands, #name);                                                                \
        bool same = list && same_texels_locked(&both);                                                                 \
        for (uint32_t i = 0; i < info->regionCount && list; i++) {                                                     \
            region r = PART(&info->pRegions[i]);                                                                       \
            images_locked(list, &both, &r, stage);                                                                     \
        }                                                                                                              \
        hdi_cap_unlock();                                                                                              \
        NEXT(name)(commands, info);                                                                                    \
    }
TWO_IMAGES_2(vkCmdCopyImage2, VkCopyImageInfo2, COPY)
TWO_IMAGES_2(vkCmdResolveImage2, VkResolveImageInfo2, VK_PIPELINE_STAGE_2_RESOLVE_BIT)

static void clear(VkCommandBuffer commands, const char *name, VkImage image, VkImageLayout layout, uint32_t count,
                  const VkImageSubresourceRange *ranges)
{
    hdi_cap_lock();
    hd_stream *list = open_locked(commands, name);
    for (uint32_t i = 0; i < count && list; i++)
        hdi_cap_image_locked(list, image, &ranges[i], (uint32_t)layout, CLEAR, WRITE);
    hdi_cap_unlock();
}

static void VKAPI_PTR hook_vkCmdClearColorImage(VkCommandBuffer commands, VkImage image, VkImageLayout layout,
                                                const VkClearColorValue *value, uint32_t count,
                                                const VkImageSubresourceRange *ranges)
{
    clear(commands, "vkCmdClearColorImage", image, layout, count, ranges);
    NEXT(vkCmdClearColorImage)(commands, image, layout, value, count, ranges);
}

static void VKAPI_PTR hook_vkCmdClearDepthStencilImage(VkCommandBuffer commands, VkImage image, VkImageLayout layout,
                                                       const VkClearDepthStencilValue *value, uint32_t count,
                                                       const VkImageSubresourceRange *ranges)
{
    clear(commands, "vkCmdClearDepthStencilImage", image, layout, count, ranges);
    NEXT(vkCmdClearDepthStencilImage)(commands, image, layout, value, count, ranges);
}

/* ---- images and buffers ---- */

static hdi_texel_block block_of(uint32_t format, VkImageAspectFlags aspect)
{
    if (aspect == VK_IMAGE_ASPECT_STENCIL_BIT)
        return (hdi_texel_block){1, 1, 1};
    if (aspect == VK_IMAGE_ASPECT_DEPTH_BIT)
        return (hdi_texel_block){1, 1, format == VK_FORMAT_D16_UNORM || format == VK_FORMAT_D16_UNORM_S8_UINT ? 2 : 4};
    return hdi_format_block(format);
}

/* Bytes of the buffer from the first texel of the region to behind its last, which come in whole blocks. */
static uint64_t region_bytes(uint32_t format, const VkBufferImageCopy *r)
{
    hdi_texel_block block = block_of(format, r->imageSubresource.aspectMask);
    uint64_t width = hdi_texel_blocks(r->imageExtent.width, block.width),
             height = hdi_texel_blocks(r->imageExtent.height, block.height);
    uint64_t row = r->bufferRowLength ? hdi_texel_blocks(r->bufferRowLength, block.width) : width;
    uint64_t rows = r->bufferImageHeight ? hdi_texel_blocks(r->bufferImageHeight, block.height) : height;
    uint64_t slices = (uint64_t)r->imageExtent.depth * r->imageSubresource.layerCount;
    if (!block.bytes || !slices || !width || !height)
        return block.bytes ? 0 : VK_WHOLE_SIZE;
    return (((slices - 1) * rows + height - 1) * row + width) * block.bytes;
}

static void mixed_locked(hd_stream *list, VkBuffer buffer, VkImage image, VkImageLayout layout, bool to_image,
                         const VkBufferImageCopy *r)
{
    const hdi_cap_object *object = hdi_cap_resource_locked(HDI_CAP_IMAGE, HDI_CAP_HANDLE(image));
    uint64_t bytes = object ? region_bytes(object->format, r) : 0;
    hdi_cap_buffer_locked(list, buffer, r->bufferOffset, bytes, COPY, to_image ? READ : WRITE);
    layers_locked(list, image, &r->imageSubresource, box_of(&r->imageOffset, &r->imageExtent), layout, COPY,
                  to_image ? WRITE : READ);
}

static void VKAPI_PTR hook_vkCmdCopyBufferToImage(VkCommandBuffer commands, VkBuffer buffer, VkImage image,
                                                  VkImageLayout layout, uint32_t count,
                                                  const VkBufferImageCopy *regions)
{
    hdi_cap_lock();
    hd_stream *list = open_locked(commands, "vkCmdCopyBufferToImage");
    for (uint32_t i = 0; i < count && list; i++)
        mixed_locked(list, buffer, image, layout, true, &regions[i]);
    hdi_cap_unlock();
    NEXT(vkCmdCopyBufferToImage)(commands, buffer, image, layout, count, regions);
}

static void VKAPI_PTR hook_vkCmdCopyImageToBuffer(VkCommandBuffer commands, VkImage image, VkImageLayout layout,
                                                  VkBuffer buffer, uint32_t count, const VkBufferImageCopy *regions)
{
    hdi_cap_lock();
    hd_stream *list = open_locked(commands, "vkCmdCopyImageToBuffer");
    for (uint32_t i = 0; i < count && list; i++)
        mixed_locked(list, buffer, image, layout, false, &regions[i]);
    hdi_cap_unlock();
    NEXT(vkCmdCopyImageToBuffer)(commands, image, layout, buffer, count, regions);
}

static VkBufferImageCopy plain(const VkBufferImageCopy2 *r)
{
    return (VkBufferImageCopy){r->bufferOffset,     r->bufferRowLength, r->bufferImageHeight,
                               r->imageSubresource, r->imageOffset,     r->imageExtent};
}

static void VKAPI_PTR hook_vkCmdCopyBufferToImage2(VkCommandBuffer commands, const VkCopyBufferToImageInfo2 *info)
{
    hdi_cap_lock();
    hd_stream *list = open_locked(commands, "vkCmdCopyBufferToImage2");
    for (uint32_t i = 0; i < info->regionCount && list; i++) {
        VkBufferImageCopy r = plain(&info->pRegions[i]);
        mixed_locked(list, info->srcBuffer, info->dstImage, info->dstImageLayout, true, &r);
    }
    hdi_cap_unlock();
    NEXT(vkCmdCopyBufferToImage2)(commands, info);
}

static void VKAPI_PTR hook_vkCmdCopyImageToBuffer2(VkCommandBuffer commands, const VkCopyImageToBufferInfo2 *info)
{
    hdi_cap_lock();
    hd_stream *list = open_locked(commands, "vkCmdCopyImageToBuffer2");
    for (uint32_t i = 0; i < info->regionCount && list; i++) {
        VkBufferImageCopy r = plain(&info->pRegions[i]);
        mixed_locked(list, info->dstBuffer, info->srcImage, info->srcImageLayout, false, &r);
    }
    hdi_cap_unlock();
    NEXT(vkCmdCopyImageToBuffer2)(commands, info);
}

#define ALIAS(name, as) {name, (PFN_vkVoidFunction)hook_##as, &next_##as},
static const hdi_cap_hook hooks[] = {
    HOOKS(HDI_CAP_ENTRY) ALIAS("vkCmdCopyBuffer2KHR", vkCmdCopyBuffer2) ALIAS("vkCmdCopyImage2KHR", vkCmdCopyImage2)
        ALIAS("vkCmdCopyBufferToImage2KHR", vkCmdCopyBufferToImage2)
            ALIAS("vkCmdCopyImageToBuffer2KHR", vkCmdCopyImageToBuffer2) ALIAS("vkCmdBlitImage2KHR", vkCmdBlitImage2)
                ALIAS("vkCmdResolveImage2KHR", vkCmdResolveImage2)};
const hdi_cap_hooks hdi_cap_transfer_hooks = {hooks, sizeof(hooks) / sizeof(hooks[0]), false};
