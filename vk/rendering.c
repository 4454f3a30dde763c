#include "state.h"

#include "alloc.h"

/* Dynamic rendering of a gfx pass, from its uses: attachments in the order of the uses, the render area is what all of
 * them have. Views come from the cache. */

#define MAX_COLORS 8

typedef struct rendering_scope {
    VkRenderingAttachmentInfo colors[MAX_COLORS], depth;
    uint32_t color_count;
    bool has_depth, has_stencil;
    uint32_t width, height, layers;
} rendering_scope;

typedef struct attachment_kind {
    bool depth;
    VkAttachmentLoadOp load;
    VkAttachmentStoreOp store;
} attachment_kind;

static bool kind_of(const hdi_vk_frame *frame, uint32_t use, attachment_kind *kind)
{
    bool clear = frame->decl.use_exec[use].load == HD_LOAD_CLEAR;
    VkAttachmentLoadOp overwrite = clear ? VK_ATTACHMENT_LOAD_OP_CLEAR : VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    switch (frame->decl.use_access[use]) {
    case HD_COLOR_WRITE:
        *kind = (attachment_kind){false, overwrite, VK_ATTACHMENT_STORE_OP_STORE};
        return true;
    case HD_COLOR_RW:
        *kind = (attachment_kind){false, VK_ATTACHMENT_LOAD_OP_LOAD, VK_ATTACHMENT_STORE_OP_STORE};
        return true;
    case HD_DEPTH_WRITE:
        *kind = (attachment_kind){true, overwrite, VK_ATTACHMENT_STORE_OP_STORE};
        return true;
    case HD_DEPTH_RW:
        *kind = (attachment_kind){true, VK_ATTACHMENT_LOAD_OP_LOAD, VK_ATTACHMENT_STORE_OP_STORE};
        return true;
    case HD_DEPTH_READ:
        /* NONE: not even a store that writes back what is there, so that others may read at the same time */
        *kind = (attachment_kind){true, VK_ATTACHMENT_LOAD_OP_LOAD, VK_ATTACHMENT_STORE_OP_NONE};
        return true;
    default:
        return false;
    }
}

static hd_range use_range(const hdi_vk_frame *frame, uint32_t use)
{
    uint32_t range = frame->decl.use_range[use];
    if (range != HDI_NONE)
        return frame->decl.range[range];
    const hdi_res_info *info = &frame->decl.res_info[frame->decl.use_res[use]];
    return (hd_range){.mip_count = info->mips, .layer_count = info->layers};
}

static hd_result refuse(const hdi_vk_frame *frame, uint32_t pass, const char *why)
{
    const char *name = frame->decl.pass_exec[pass].name;
    hdi_log(&frame->vk->log, HD_LOG_ERROR, "pass %u '%s': %s", pass, name ? name : "", why);
    return HD_UNSUPPORTED;
}

static hd_result add_attachment(hdi_vk_frame *frame, uint32_t pass, uint32_t use, const attachment_kind *kind,
                                rendering_scope *out)
{
    hdi_vk_object *object = frame->bound[frame->decl.use_res[use]];
    const hdi_vk_key *key = &object->key;
    hd_range range = use_range(frame, use);
    if (key->depth > 1) {
        if (!(key->flags & VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT))
            return refuse(frame, pass, "a 3D attachment needs VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT");
        range.layer_count = key->depth >> range.mip_base ? key->depth >> range.mip_base : 1;
    }
    range.mip_count = 1;
    VkImageAspectFlags aspects = hdi_vk_aspects(key->format);
    VkImageViewType type = range.layer_count > 1 ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
    VkImageView view = hdi_vk_view_get(frame->vk, frame->slot, object, &range, aspects, type);
    if (view == VK_NULL_HANDLE)
        return (hd_result)atomic_load_explicit(&frame->slot->failure, memory_order_relaxed);
    const hd_clear *clear = &frame->decl.use_exec[use].clear;
    VkRenderingAttachmentInfo attachment = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = view,
        .imageLayout = (VkImageLayout)frame->decl.access[frame->decl.use_access[use]].layout,
        .loadOp = kind->load,
        .storeOp = kind->store,
    };
    if (kind->depth) {
        if (out->has_depth || out->has_stencil)
            return refuse(frame, pass, "more than one depth attachment");
        attachment.clearValue.depthStencil = (VkClearDepthStencilValue){clear->depth, clear->stencil};
        out->depth = attachment;
        out->has_depth = aspects & VK_IMAGE_ASPECT_DEPTH_BIT;
        out->has_stencil = aspects & VK_IMAGE_ASPECT_STENCIL_BIT;
    } else {
        if (out->color_count == MAX_COLORS || out->color_count == frame->vk->limits.maxColorAttachments)
            return refuse(frame, pass, "more color attachments than the device has");
        for (uint32_t i = 0; i < 4; i++)
            attachment.clearValue.color.float32[i] = clear->color[i];
        out->colors[out->color_count++] = attachment;
    }
    uint32_t width = key->width >> range.mip_base, height = key->height >> range.mip_base;
    width = width ? width : 1;
    height = height ? height : 1;
    out->width = width < out->width ? width : out->width;
    out->height = height < out->height ? height : out->height;
    out->layers = range.layer_count < out->layers ? range.layer_count : out->layers;
    return HD_OK;
}

hd_result hdi_vk_begin_rendering(hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t pass, bool *begun)
{
    rendering_scope scope;
    scope.color_count = 0;
    scope.has_depth = scope.has_stencil = false;
    scope.width = scope.height = scope.layers = UINT32_MAX;
    *begun = false;
    for (uint32_t use = frame->decl.pass_use_begin[pass]; use < frame->decl.pass_use_begin[pass + 1]; use++) {
        attachment_kind kind;
        if (!kind_of(frame, use, &kind))
            continue;
        hd_result result = add_attachment(frame, pass, use, &kind, &scope);
        if (result != HD_OK)
            return result;
    }
    if (scope.color_count == 0 && !scope.has_depth && !scope.has_stencil)
        return HD_OK;
    VkRect2D area = {{0, 0}, {scope.width, scope.height}};
    VkRenderingInfo info = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
        .renderArea = area,
        .layerCount = scope.layers,
        .colorAttachmentCount = scope.color_count,
        .pColorAttachments = scope.colors,
        .pDepthAttachment = scope.has_depth ? &scope.depth : NULL,
        .pStencilAttachment = scope.has_stencil ? &scope.depth : NULL,
    };
    const hdi_vk_device_table *fn = &frame->vk->fn;
    fn->vkCmdBeginRendering(commands, &info);
    VkViewport viewport = {0.0f, 0.0f, (float)scope.width, (float)scope.height, 0.0f, 1.0f};
    fn->vkCmdSetViewport(commands, 0, 1, &viewport);
    fn->vkCmdSetScissor(commands, 0, 1, &area);
    *begun = true;
    return HD_OK;
}
