#include "vk_device.h"
#include "vk_frame.h"
#include "vk_memory.h"

#include <string.h>

#include "alloc.h"

/* Dynamic rendering of the scopes of a plan, each from the uses of its first pass: attachments in the order of the
 * uses, the render area is what all of them have. All but the views and clear values follows from plan and declaration
 * and is made once for a plan that is kept; views come from the cache of their object, and are remembered for the
 * objects that an attachment was the last times: histories and copies of the memory take turns. */

hd_range hdi_vk_use_range(const hdi_vk_frame *frame, uint32_t use)
{
    uint32_t range = frame->decl.use_range[use];
    if (range != HDI_NONE)
        return frame->decl.range[range];
    const hdi_res_info *info = &frame->decl.res_info[frame->decl.use_res[use]];
    return (hd_range){.mip_count = (uint16_t)info->mips, .layer_count = info->layers};
}

bool hdi_vk_see(const hdi_vk_frame *frame, uint32_t pass, uint32_t res, const hdi_vk_key *key, uint32_t format,
                hdi_vk_shape *out)
{
    const hdi_decl *decl = &frame->decl;
    const VkImageUsageFlags copies = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    bool found = false;
    out->format = format;
    out->usage = 0;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        uint32_t seen = decl->use_exec[u].format ? decl->use_exec[u].format : key->format;
        if (decl->use_res[u] != res || (out->format && out->format != seen))
            continue;
        found = true;
        out->format = seen;
        if (key->flags & VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT) /* not all formats can do what the image is for */
            out->usage |= decl->access[decl->use_access[u]].image_usage & ~copies;
    }
    return found;
}

static hd_result refuse(const hdi_vk_frame *frame, uint32_t pass, const char *why)
{
    const char *name = frame->decl.pass_exec[pass].name;
    return hdi_vk_fail(frame->vk, HD_UNSUPPORTED, pass, HD_NONE, "pass %u '%s': %s", pass, name ? name : "", why);
}

static VkImageAspectFlags use_aspects(const hdi_vk_frame *frame, uint32_t use)
{
    uint32_t aspect = hdi_vk_use_range(frame, use).aspect;
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

/* ---- making ---- */

/* What the attachments of a scope have in common. */
typedef struct extent {
    uint32_t width, height, layers;
} extent;

static hd_result show(const hdi_vk_frame *frame, const hdi_vk_kept *kept, uint32_t pass, uint32_t use,
                      hdi_vk_viewed *out, extent *has)
{
    uint32_t res = frame->decl.use_res[use];
    const hdi_vk_key *key = &kept->keys[kept->plan_index[res]];
    hd_range range = hdi_vk_use_range(frame, use);
    if (key->depth > 1) {
        if (!(key->flags & VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT))
            return refuse(frame, pass, "a 3D attachment needs VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT");
        range.layer_count = key->depth >> range.mip_base ? key->depth >> range.mip_base : 1;
    }
    if (range.mip_count > 1) { /* refused, it would end frames that rely on the first alone */
        const char *name = frame->decl.res_info[res].name;
        hdi_log(&frame->vk->log, HD_LOG_WARNING,
                "pass %u uses %u levels of resource %u '%s' as an attachment, which is only the first: name it in "
                "the use's range",
                pass, range.mip_count, res, name ? name : "");
    }
    range.mip_count = 1;
    range.aspect = view_aspects(frame, pass, use); /* the view shows all that the pass uses */
    *out = (hdi_vk_viewed){.res = res, .shape = {.range = range}};
    out->shape.type = range.layer_count > 1 ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
    uint32_t format = frame->decl.use_exec[use].format;
    hdi_vk_see(frame, pass, res, key, format ? format : key->format, &out->shape);
    uint32_t width = key->width >> range.mip_base, height = key->height >> range.mip_base;
    *has = (extent){width ? width : 1, height ? height : 1, range.layer_count};
    return HD_OK;
}

static bool same_view(const hdi_vk_viewed *a, const hdi_vk_viewed *b)
{
    return a->res == b->res && memcmp(&a->shape, &b->shape, sizeof(a->shape)) == 0;
}

/* A use of depth, stencil or both: one or two of the scope's two attachments. */
static hd_result add_depth(const hdi_vk_frame *frame, uint32_t pass, VkImageAspectFlags aspects,
                           const VkRenderingAttachmentInfo *attachment, VkRenderingAttachmentInfo *pair,
                           hdi_vk_attached *attached, hdi_vk_rendering *out)
{
    bool depth = aspects & VK_IMAGE_ASPECT_DEPTH_BIT, stencil = aspects & VK_IMAGE_ASPECT_STENCIL_BIT;
    bool others = true;
    for (const hdi_vk_attached *other = out->attached; other < attached; other++)
        others &= !other->depth || same_view(&other->from, &attached->from);
    if ((depth && out->info.pDepthAttachment) || (stencil && out->info.pStencilAttachment) || !others)
        return refuse(frame, pass, "more than one depth attachment");
    uint32_t count = 0;
    if (depth) {
        pair[0] = *attachment;
        attached->infos[count++] = &pair[0];
        out->info.pDepthAttachment = &pair[0];
    }
    if (stencil) {
        pair[1] = *attachment;
        attached->infos[count++] = &pair[1];
        out->info.pStencilAttachment = &pair[1];
        /* Stencil beside depth takes the first sample: every device can, and an average of it means nothing. */
        if (depth && attachment->resolveMode != VK_RESOLVE_MODE_NONE)
            pair[1].resolveMode = VK_RESOLVE_MODE_SAMPLE_ZERO_BIT;
    }
    return HD_OK;
}

/* Whether the device can resolve depth and stencil together as the scope asks. */
static bool can_resolve(const hd_vk *vk, const VkRenderingInfo *info)
{
    VkResolveModeFlags depth = info->pDepthAttachment ? info->pDepthAttachment->resolveMode : 0;
    VkResolveModeFlags stencil = info->pStencilAttachment ? info->pStencilAttachment->resolveMode : 0;
    if ((depth & ~vk->depth_resolves) || (stencil & ~vk->stencil_resolves))
        return false;
    if (!info->pDepthAttachment || !info->pStencilAttachment || depth == stencil)
        return true;
    return vk->independent_resolves || ((depth == 0 || stencil == 0) && vk->independent_resolve_none);
}

/* Refused, it would end frames of devices that have an extension for it. */
static void warn_samples(const hdi_vk_frame *frame, uint32_t pass, uint32_t res, uint32_t samples, uint32_t others)
{
    const char *pass_name = frame->decl.pass_exec[pass].name, *name = frame->decl.res_info[res].name;
    hdi_log(&frame->vk->log, HD_LOG_WARNING,
            "pass %u '%s': its attachment resource %u '%s' has %u samples, another one %u: Vulkan draws to both "
            "only with an extension for mixed samples",
            pass, pass_name ? pass_name : "", res, name ? name : "", samples, others);
}

/* Vulkan allows it; a pass that means it draws to what all have. */
static void warn_extent(const hdi_vk_frame *frame, uint32_t pass, uint32_t res, const extent *has, const extent *others)
{
    const char *pass_name = frame->decl.pass_exec[pass].name, *name = frame->decl.res_info[res].name;
    if (has->width == others->width && has->height == others->height && has->layers == others->layers)
        return;
    hdi_log(
        &frame->vk->log, HD_LOG_WARNING,
        "pass %u '%s': its attachment resource %u '%s' has %ux%u texels in %u layers, those before it have %ux%u in "
        "%u: what not all have is neither drawn to nor cleared",
        pass, pass_name ? pass_name : "", res, name ? name : "", has->width, has->height, has->layers, others->width,
        others->height, others->layers);
}

/* infos: room for the scope's colors, then for depth and stencil. */
static hd_result add_attachment(const hdi_vk_frame *frame, const hdi_vk_kept *kept, const uint32_t passes[2],
                                const hd_plan_attachment *planned, VkRenderingAttachmentInfo *infos,
                                hdi_vk_rendering *out, extent *all)
{
    const hdi_decl *decl = &frame->decl;
    uint32_t use = decl->pass_use_begin[passes[0]] + planned->use;
    hdi_vk_attached *attached = &out->attached[out->attached_count];
    *attached = (hdi_vk_attached){.to.res = HD_NONE, .clear_use = HD_NONE};
    extent has;
    hd_result result = show(frame, kept, passes[0], use, &attached->from, &has);
    if (result != HD_OK)
        return result;
    const hdi_vk_key *key = &kept->keys[kept->plan_index[attached->from.res]];
    VkRenderingAttachmentInfo info = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageLayout = (VkImageLayout)decl->access[decl->use_access[use]].layout,
        .loadOp = (VkAttachmentLoadOp)planned->load,
        .storeOp = (VkAttachmentStoreOp)planned->store,
    };
    if (planned->load == VK_ATTACHMENT_LOAD_OP_CLEAR)
        attached->clear_use = use;
    if (planned->resolve != HD_NONE) {
        uint32_t resolve = decl->pass_use_begin[passes[1]] + planned->resolve;
        extent ignored;
        result = show(frame, kept, passes[1], resolve, &attached->to, &ignored);
        info.resolveImageLayout = (VkImageLayout)decl->access[decl->use_access[resolve]].layout;
        info.resolveMode = (VkResolveModeFlagBits)decl->use_exec[resolve].resolve_mode;
    }
    if (result != HD_OK)
        return result;
    uint32_t color = out->info.colorAttachmentCount;
    if (decl->access[decl->use_access[use]].attachment == HDI_ATTACHMENT_DEPTH) {
        VkImageAspectFlags aspects = use_aspects(frame, use);
        attached->depth = true;
        result = add_depth(frame, passes[0], aspects, &info, infos + HDI_VK_COLORS, attached, out);
        out->depth = aspects & VK_IMAGE_ASPECT_DEPTH_BIT ? (VkFormat)key->format : out->depth;
        out->stencil = aspects & VK_IMAGE_ASPECT_STENCIL_BIT ? (VkFormat)key->format : out->stencil;
    } else if (color == HDI_VK_COLORS || color == frame->vk->limits.maxColorAttachments) {
        return refuse(frame, passes[0], "more color attachments than the device has");
    } else {
        infos[color] = info;
        attached->infos[0] = &infos[color];
        out->colors[color] = (VkFormat)attached->from.shape.format;
        out->info.colorAttachmentCount++;
    }
    if (out->attached_count && out->samples != (VkSampleCountFlagBits)key->samples)
        warn_samples(frame, passes[0], attached->from.res, key->samples, out->samples);
    out->samples = (VkSampleCountFlagBits)key->samples;
    if (out->attached_count)
        warn_extent(frame, passes[0], attached->from.res, &has, all);
    out->attached_count++;
    all->width = has.width < all->width ? has.width : all->width;
    all->height = has.height < all->height ? has.height : all->height;
    all->layers = has.layers < all->layers ? has.layers : all->layers;
    return result;
}

static hd_result keep_rendering(const hdi_vk_frame *frame, const hdi_vk_kept *kept, const hd_plan_scope *planned,
                                VkRenderingAttachmentInfo *infos, hdi_vk_rendering *out)
{
    const hd_plan_command *commands = &frame->plan.commands[planned->command_begin];
    const uint32_t passes[2] = {commands[0].index, commands[planned->command_count - 1].index};
    extent all = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    hd_result result = HD_OK;
    out->info = (VkRenderingInfo){.sType = VK_STRUCTURE_TYPE_RENDERING_INFO, .pColorAttachments = infos};
    out->samples = VK_SAMPLE_COUNT_1_BIT;
    for (uint32_t i = 0; i < planned->attachment_count && result == HD_OK; i++)
        result = add_attachment(frame, kept, passes, &frame->plan.attachments[planned->attachment_begin + i], infos,
                                out, &all);
    if (result != HD_OK)
        return result;
    if (!can_resolve(frame->vk, &out->info))
        return refuse(frame, passes[0], "the device cannot resolve depth or stencil in that mode");
    const VkPhysicalDeviceLimits *limits = &frame->vk->limits;
    if (all.width > limits->maxFramebufferWidth || all.height > limits->maxFramebufferHeight ||
        all.layers > limits->maxFramebufferLayers)
        return refuse(frame, passes[0], "attachments larger than the device can draw to");
    out->info.renderArea = (VkRect2D){{0, 0}, {all.width, all.height}};
    out->info.layerCount = all.layers;
    out->viewport = (VkViewport){0.0f, 0.0f, (float)all.width, (float)all.height, 0.0f, 1.0f};
    return HD_OK;
}

hd_result hdi_vk_keep_renderings(const hdi_vk_frame *frame, hdi_vk_kept *kept, hdi_arena *arena)
{
    enum { INFOS = HDI_VK_COLORS + 2 };
    const hd_plan_view *plan = &frame->plan;
    size_t attached = 0;
    for (uint32_t s = 0; s < plan->scope_count; s++)
        attached += plan->scopes[s].attachment_count;
    kept->renderings = HDI_ARENA_ZEROED(arena, hdi_vk_rendering, plan->scope_count);
    VkRenderingAttachmentInfo *infos =
        HDI_ARENA_ARRAY(arena, VkRenderingAttachmentInfo, (size_t)plan->scope_count * INFOS);
    hdi_vk_attached *room = HDI_ARENA_ARRAY(arena, hdi_vk_attached, attached);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hd_result result = HD_OK;
    for (uint32_t s = 0; s < plan->scope_count && result == HD_OK; s++, infos += INFOS) {
        kept->renderings[s].attached = room;
        result = keep_rendering(frame, kept, &plan->scopes[s], infos, &kept->renderings[s]);
        room += plan->scopes[s].attachment_count;
    }
    return result;
}

/* ---- what pipelines ask ---- */

static void read_rendering(const hdi_decl *decl, uint32_t pass, hd_vk_rendering *out)
{
    VkPipelineRenderingCreateInfo *info = &out->info;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        const uint32_t kind = decl->access[decl->use_access[u]].attachment, range = decl->use_range[u];
        const hdi_res_info *image = &decl->res_info[decl->use_res[u]];
        const VkFormat format = (VkFormat)(decl->use_exec[u].format ? decl->use_exec[u].format : image->format);
        if (kind != HDI_ATTACHMENT_COLOR && kind != HDI_ATTACHMENT_DEPTH)
            continue;
        out->samples = (VkSampleCountFlagBits)image->samples;
        if (kind == HDI_ATTACHMENT_COLOR) {
            if (info->colorAttachmentCount < HD_VK_MAX_COLORS)
                out->colors[info->colorAttachmentCount++] = format;
            continue;
        }
        const uint32_t named = range == HDI_NONE ? 0 : decl->range[range].aspect;
        const VkImageAspectFlags aspects = named ? named : hdi_vk_aspects(image->format);
        info->depthAttachmentFormat = aspects & VK_IMAGE_ASPECT_DEPTH_BIT ? format : info->depthAttachmentFormat;
        info->stencilAttachmentFormat = aspects & VK_IMAGE_ASPECT_STENCIL_BIT ? format : info->stencilAttachmentFormat;
    }
}

static void start_rendering(hd_vk_rendering *out)
{
    *out = (hd_vk_rendering){.info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO},
                             .samples = VK_SAMPLE_COUNT_1_BIT};
    out->info.pColorAttachmentFormats = out->colors;
}

void hd_vk_rendering_get(const hd_recorder *recorder, hd_vk_rendering *out)
{
    if (!out)
        return;
    if (!recorder || recorder->host) {
        *out = (hd_vk_rendering){0};
        return;
    }
    start_rendering(out);
    read_rendering(&recorder->frame->decl, recorder->pass, out);
}

hd_result hd_vk_rendering_of(const hd_graph *graph, hd_pass pass, hd_vk_rendering *out)
{
    if (!graph || !out)
        return HD_INVALID_ARGUMENT;
    const uint32_t index = hd_graph_pass_index(graph, pass);
    start_rendering(out);
    if (index == HD_NONE)
        return HD_BAD_HANDLE;
    const hdi_decl decl = hdi_graph_decl(graph);
    read_rendering(&decl, index, out);
    return HD_OK;
}

/* ---- recording ---- */

static VkImageView find_view(hdi_vk_frame *frame, hdi_vk_viewed *shown)
{
    hdi_vk_object *object = frame->bound[shown->res];
    for (uint32_t i = 0; i < HDI_VK_MAX_FRAMES; i++) {
        if (shown->serials[i] == object->serial)
            return shown->views[i];
    }
    VkImageView view =
        hdi_vk_view_get(frame->vk, frame->slot, object, &shown->shape, frame->decl.res_info[shown->res].name, NULL);
    if (view != VK_NULL_HANDLE) {
        uint32_t at = shown->next++ % HDI_VK_MAX_FRAMES;
        shown->serials[at] = object->serial;
        shown->views[at] = view;
    }
    return view;
}

static hd_result fill(hdi_vk_frame *frame, hdi_vk_attached *attached)
{
    VkImageView from = find_view(frame, &attached->from), to = VK_NULL_HANDLE;
    if (attached->to.res != HD_NONE)
        to = find_view(frame, &attached->to);
    if (from == VK_NULL_HANDLE || (attached->to.res != HD_NONE && to == VK_NULL_HANDLE))
        return (hd_result)atomic_load_explicit(&frame->slot->failure, memory_order_relaxed);
    for (uint32_t i = 0; i < 2 && attached->infos[i]; i++) {
        VkRenderingAttachmentInfo *info = attached->infos[i];
        info->imageView = from;
        info->resolveImageView = to;
        if (attached->clear_use == HD_NONE)
            continue;
        const hd_clear clear = hdi_use_clear(&frame->decl, attached->clear_use);
        if (attached->depth)
            info->clearValue.depthStencil = (VkClearDepthStencilValue){clear.depth, clear.stencil};
        else
            memcpy(info->clearValue.color.float32, clear.color, sizeof(clear.color));
    }
    return HD_OK;
}

hd_result hdi_vk_begin_rendering(hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t scope, VkRenderingFlags flags)
{
    hdi_vk_rendering *rendering = &frame->kept->renderings[scope];
    for (uint32_t i = 0; i < rendering->attached_count; i++) {
        hd_result result = fill(frame, &rendering->attached[i]);
        if (result != HD_OK)
            return result;
    }
    rendering->info.flags = flags;
    frame->vk->fn.vkCmdBeginRendering(commands, &rendering->info);
    return HD_OK;
}

void hdi_vk_inherit_rendering(const hdi_vk_frame *frame, uint32_t scope, hdi_vk_inherited *out)
{
    const hdi_vk_rendering *rendering = &frame->kept->renderings[scope];
    out->rendering = (VkCommandBufferInheritanceRenderingInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
        .colorAttachmentCount = rendering->info.colorAttachmentCount,
        .pColorAttachmentFormats = rendering->colors,
        .depthAttachmentFormat = rendering->depth,
        .stencilAttachmentFormat = rendering->stencil,
        .rasterizationSamples = rendering->samples,
    };
    out->info.pNext = &out->rendering;
}
