#include "state.h"

#include "alloc.h"

/* Dynamic rendering of a scope of the plan, from the uses of its first pass: attachments in the order of the uses, the
 * render area is what all of them have. Views come from the cache. */

typedef struct rendering_scope {
    VkRenderingAttachmentInfo colors[HDI_VK_COLORS], depth, stencil;
    uint32_t color_count;
    bool has_depth, has_stencil;
    uint32_t width, height, layers;
} rendering_scope;

static hd_range use_range(const hdi_vk_frame *frame, uint32_t use)
{
    uint32_t range = frame->decl.use_range[use];
    if (range != HDI_NONE)
        return frame->decl.range[range];
    const hdi_res_info *info = &frame->decl.res_info[frame->decl.use_res[use]];
    return (hd_range){.mip_count = (uint16_t)info->mips, .layer_count = info->layers};
}

static hd_result refuse(const hdi_vk_frame *frame, uint32_t pass, const char *why)
{
    const char *name = frame->decl.pass_exec[pass].name;
    hdi_log(&frame->vk->log, HD_LOG_ERROR, "pass %u '%s': %s", pass, name ? name : "", why);
    return HD_UNSUPPORTED;
}

static VkImageAspectFlags use_aspects(const hdi_vk_frame *frame, uint32_t use)
{
    uint32_t aspect = use_range(frame, use).aspect;
    return aspect ? aspect : hdi_vk_aspects(frame->decl.res_info[frame->decl.use_res[use]].format);
}

/* Depth and stencil that are used apart must still be shown by one view. */
static VkImageAspectFlags view_aspects(const hdi_vk_frame *frame, uint32_t pass, uint32_t use)
{
    const hdi_decl *decl = &frame->decl;
    VkImageAspectFlags aspects = 0;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        if (decl->use_res[u] == decl->use_res[use] &&
            decl->access[decl->use_access[u]].attachment == decl->access[decl->use_access[use]].attachment)
            aspects |= use_aspects(frame, u);
    }
    return aspects;
}

/* An image as a rendering sees it. */
typedef struct attached {
    VkImageView view;
    VkImageLayout layout;
    VkImageAspectFlags aspects; /* of the use */
    uint32_t width, height, layers;
} attached;

static hd_result attach(hdi_vk_frame *frame, uint32_t pass, uint32_t use, attached *out)
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
    uint32_t width = key->width >> range.mip_base, height = key->height >> range.mip_base;
    VkImageViewType type = range.layer_count > 1 ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
    *out = (attached){
        .layout = (VkImageLayout)frame->decl.access[frame->decl.use_access[use]].layout,
        .aspects = use_aspects(frame, use),
        .width = width ? width : 1,
        .height = height ? height : 1,
        .layers = range.layer_count,
    };
    out->view = hdi_vk_view_get(frame->vk, frame->slot, object, &range, view_aspects(frame, pass, use), type);
    if (out->view == VK_NULL_HANDLE)
        return (hd_result)atomic_load_explicit(&frame->slot->failure, memory_order_relaxed);
    return HD_OK;
}

/* Has the attachment resolved into a use of the scope's last pass. */
static hd_result add_resolve(hdi_vk_frame *frame, uint32_t pass, uint32_t resolve, VkRenderingAttachmentInfo *out)
{
    uint32_t use = frame->decl.pass_use_begin[pass] + resolve;
    attached to;
    hd_result result = attach(frame, pass, use, &to);
    if (result != HD_OK)
        return result;
    out->resolveImageView = to.view;
    out->resolveImageLayout = to.layout;
    out->resolveMode = (VkResolveModeFlagBits)frame->decl.use_exec[use].resolve_mode;
    return HD_OK;
}

/* A use of depth, stencil or both. */
static hd_result add_depth(hdi_vk_frame *frame, uint32_t pass, const VkRenderingAttachmentInfo *attachment,
                           VkImageAspectFlags aspects, rendering_scope *out)
{
    bool depth = aspects & VK_IMAGE_ASPECT_DEPTH_BIT, stencil = aspects & VK_IMAGE_ASPECT_STENCIL_BIT;
    if ((depth && out->has_depth) || (stencil && out->has_stencil) ||
        (out->has_depth && out->depth.imageView != attachment->imageView) ||
        (out->has_stencil && out->stencil.imageView != attachment->imageView))
        return refuse(frame, pass, "more than one depth attachment");
    if (depth)
        out->depth = *attachment;
    if (stencil)
        out->stencil = *attachment;
    /* Stencil beside depth takes the first sample: every device can, and an average of it means nothing. */
    if (depth && stencil && attachment->resolveMode != VK_RESOLVE_MODE_NONE)
        out->stencil.resolveMode = VK_RESOLVE_MODE_SAMPLE_ZERO_BIT;
    out->has_depth |= depth;
    out->has_stencil |= stencil;
    return HD_OK;
}

/* Whether the device can resolve depth and stencil together as the scope asks. */
static bool can_resolve(const hd_vk *vk, const rendering_scope *scope)
{
    VkResolveModeFlags depth = scope->has_depth ? scope->depth.resolveMode : 0;
    VkResolveModeFlags stencil = scope->has_stencil ? scope->stencil.resolveMode : 0;
    if ((depth & ~vk->depth_resolves) || (stencil & ~vk->stencil_resolves))
        return false;
    if (!scope->has_depth || !scope->has_stencil || depth == stencil)
        return true;
    return vk->independent_resolves || ((depth == 0 || stencil == 0) && vk->independent_resolve_none);
}

static hd_result add_attachment(hdi_vk_frame *frame, uint32_t pass, uint32_t last_pass,
                                const hd_plan_attachment *planned, rendering_scope *out)
{
    uint32_t use = frame->decl.pass_use_begin[pass] + planned->use;
    const hdi_access_info *access = &frame->decl.access[frame->decl.use_access[use]];
    attached from;
    hd_result result = attach(frame, pass, use, &from);
    if (result != HD_OK)
        return result;
    const hd_clear *clear = &frame->decl.use_clear[use];
    VkRenderingAttachmentInfo attachment = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = from.view,
        .imageLayout = from.layout,
        .loadOp = (VkAttachmentLoadOp)planned->load,
        .storeOp = (VkAttachmentStoreOp)planned->store,
    };
    if (planned->resolve != HD_NONE) {
        result = add_resolve(frame, last_pass, planned->resolve, &attachment);
        if (result != HD_OK)
            return result;
    }
    if (access->attachment == HDI_ATTACHMENT_DEPTH) {
        attachment.clearValue.depthStencil = (VkClearDepthStencilValue){clear->depth, clear->stencil};
        result = add_depth(frame, pass, &attachment, from.aspects, out);
        if (result != HD_OK)
            return result;
    } else {
        if (out->color_count == HDI_VK_COLORS || out->color_count == frame->vk->limits.maxColorAttachments)
            return refuse(frame, pass, "more color attachments than the device has");
        for (uint32_t i = 0; i < 4; i++)
            attachment.clearValue.color.float32[i] = clear->color[i];
        out->colors[out->color_count++] = attachment;
    }
    out->width = from.width < out->width ? from.width : out->width;
    out->height = from.height < out->height ? from.height : out->height;
    out->layers = from.layers < out->layers ? from.layers : out->layers;
    return HD_OK;
}

hd_result hdi_vk_begin_rendering(hdi_vk_frame *frame, VkCommandBuffer commands, const hd_plan_scope *planned,
                                 VkRenderingFlags flags, VkRect2D *area)
{
    uint32_t pass = frame->plan.commands[planned->command_begin].index;
    uint32_t last = frame->plan.commands[planned->command_begin + planned->command_count - 1].index;
    rendering_scope scope;
    scope.color_count = 0;
    scope.has_depth = scope.has_stencil = false;
    scope.width = scope.height = scope.layers = UINT32_MAX;
    for (uint32_t i = 0; i < planned->attachment_count; i++) {
        hd_result result =
            add_attachment(frame, pass, last, &frame->plan.attachments[planned->attachment_begin + i], &scope);
        if (result != HD_OK)
            return result;
    }
    if (!can_resolve(frame->vk, &scope))
        return refuse(frame, pass, "the device cannot resolve depth or stencil in that mode");
    *area = (VkRect2D){{0, 0}, {scope.width, scope.height}};
    VkRenderingInfo info = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
        .flags = flags,
        .renderArea = *area,
        .layerCount = scope.layers,
        .colorAttachmentCount = scope.color_count,
        .pColorAttachments = scope.colors,
        .pDepthAttachment = scope.has_depth ? &scope.depth : NULL,
        .pStencilAttachment = scope.has_stencil ? &scope.stencil : NULL,
    };
    frame->vk->fn.vkCmdBeginRendering(commands, &info);
    return HD_OK;
}

/* The same attachments once more, for command buffers that are recorded before the scope begins. What cannot be
 * attached is left out: then the scope is refused and they are never executed. */
void hdi_vk_inherit_rendering(const hdi_vk_frame *frame, const hd_plan_scope *planned, hdi_vk_inherited *out,
                              VkRect2D *area)
{
    uint32_t pass = frame->plan.commands[planned->command_begin].index;
    VkExtent2D extent = {UINT32_MAX, UINT32_MAX};
    out->rendering = (VkCommandBufferInheritanceRenderingInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
        .pColorAttachmentFormats = out->colors,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
    };
    out->info.pNext = &out->rendering;
    for (uint32_t i = 0; i < planned->attachment_count; i++) {
        uint32_t use = frame->decl.pass_use_begin[pass] + frame->plan.attachments[planned->attachment_begin + i].use;
        const hdi_vk_key *key = &frame->bound[frame->decl.use_res[use]]->key;
        VkFormat format = (VkFormat)key->format;
        VkImageAspectFlags aspects = use_aspects(frame, use);
        uint32_t mip = use_range(frame, use).mip_base, width = key->width >> mip, height = key->height >> mip;
        if (frame->decl.access[frame->decl.use_access[use]].attachment == HDI_ATTACHMENT_DEPTH) {
            if (aspects & VK_IMAGE_ASPECT_DEPTH_BIT)
                out->rendering.depthAttachmentFormat = format;
            if (aspects & VK_IMAGE_ASPECT_STENCIL_BIT)
                out->rendering.stencilAttachmentFormat = format;
        } else if (out->rendering.colorAttachmentCount < HDI_VK_COLORS) {
            out->colors[out->rendering.colorAttachmentCount++] = format;
        }
        out->rendering.rasterizationSamples = (VkSampleCountFlagBits)key->samples;
        extent.width = width < extent.width ? width : extent.width;
        extent.height = height < extent.height ? height : extent.height;
    }
    extent.width = extent.width ? extent.width : 1;
    extent.height = extent.height ? extent.height : 1;
    *area = (VkRect2D){{0, 0}, extent};
}
