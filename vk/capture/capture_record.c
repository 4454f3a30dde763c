#include "capture_state.h"

#include <string.h>

/* Barriers, events, renderings and labels of command buffers, and what other files add to a command. Masks of
 * vkCmdPipelineBarrier (the older one) have the same bits. */

#define HOOKS(X)                                                                                                       \
    X(vkCmdPipelineBarrier2)                                                                                           \
    X(vkCmdPipelineBarrier)                                                                                            \
    X(vkCmdSetEvent2)                                                                                                  \
    X(vkCmdWaitEvents2)                                                                                                \
    X(vkCmdBeginRendering)                                                                                             \
    X(vkCmdEndRendering)                                                                                               \
    X(vkCmdExecuteCommands)                                                                                            \
    X(vkCmdBeginDebugUtilsLabelEXT)                                                                                    \
    X(vkCmdEndDebugUtilsLabelEXT)                                                                                      \
    X(vkCmdWaitEvents)                                                                                                 \
    X(vkCmdTraceRaysKHR)                                                                                               \
    X(vkCmdBuildAccelerationStructuresKHR)
HOOKS(HDI_CAP_NEXT)

/* ---- parts ---- */

hd_stream_command *hdi_cap_command_locked(hdi_cap_commands *c, hd_stream_kind kind, const char *name)
{
    hd_stream_command *command = hdi_stream_command(c->list);
    if (!command) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return NULL;
    }
    *command = (hd_stream_command){
        .kind = (uint32_t)kind,
        .name = hdi_cap_string_locked(name),
        .label = c->label_count && c->label_count <= HDI_CAP_LABELS ? c->labels[c->label_count - 1] : HD_NONE,
        .group = c->group,
        .begin = kind == HD_STREAM_ACCESS ? c->list->access_count : c->list->barrier_count,
        .pair = c->rendering,
    };
    return command;
}

static hd_stream_access *add_access(hd_stream *list, const hdi_cap_object *object, uint64_t stages, uint64_t access)
{
    hd_stream_access *a = hdi_stream_access(list);
    if (!a) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return NULL;
    }
    *a = (hd_stream_access){.stages = stages, .access = access, .resource = hdi_cap_index_locked(object)};
    if (list->command_count)
        list->commands[list->command_count - 1].count++;
    return a;
}

static hd_range buffer_range(const hdi_cap_object *buffer, uint64_t offset, uint64_t bytes)
{
    uint64_t most = buffer->res.bytes;
    hd_range range = {.offset = offset < most ? offset : most - 1};
    range.bytes = bytes < most - range.offset ? bytes : most - range.offset;
    range.bytes += range.bytes == 0; /* no valid call has none; a stream has no empty ranges */
    return range;
}

void hdi_cap_buffer_locked(hd_stream *list, VkBuffer buffer, uint64_t offset, uint64_t bytes, uint64_t stages,
                           uint64_t access)
{
    const hdi_cap_object *object = hdi_cap_resource_locked(HDI_CAP_BUFFER, HDI_CAP_HANDLE(buffer));
    hd_stream_access *a = object && bytes ? add_access(list, object, stages, access) : NULL;
    if (a)
        a->range = buffer_range(object, offset, bytes);
}

hd_range hdi_cap_image_range(const hdi_cap_object *image, const VkImageSubresourceRange *range)
{
    const hd_stream_resource *res = &image->res;
    hd_range out = {{0}};
    uint32_t mip = range->baseMipLevel < res->mips ? range->baseMipLevel : res->mips - 1;
    uint32_t layer = range->baseArrayLayer < res->layers ? range->baseArrayLayer : res->layers - 1;
    out.mip_base = (uint16_t)mip;
    out.mip_count = (uint16_t)(range->levelCount < res->mips - mip ? range->levelCount : res->mips - mip);
    out.layer_base = layer;
    out.layer_count = range->layerCount < res->layers - layer ? range->layerCount : res->layers - layer;
    out.mip_count += out.mip_count == 0;
    out.layer_count += out.layer_count == 0;
    VkImageAspectFlags both = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    if (res->aspects == both && (range->aspectMask & both) != both)
        out.aspect = range->aspectMask & both;
    return out;
}

hd_stream_access *hdi_cap_image_locked(hd_stream *list, VkImage image, const VkImageSubresourceRange *range,
                                       uint32_t layout, uint64_t stages, uint64_t access)
{
    const hdi_cap_object *object = hdi_cap_resource_locked(HDI_CAP_IMAGE, HDI_CAP_HANDLE(image));
    hd_stream_access *a = object ? add_access(list, object, stages, access) : NULL;
    if (a) {
        a->range = hdi_cap_image_range(object, range);
        a->layout = layout;
    }
    return a;
}

static void unseen(VkCommandBuffer commands)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (c)
        c->list->unseen++;
    hdi_cap_unlock();
}

void hdi_cap_unseen_locked(void)
{
    if (hdi_cap.stream)
        hdi_cap.stream->unseen++;
}

/* ---- barriers ---- */

hd_stream_barrier *hdi_cap_barrier_locked(hd_stream *list)
{
    hd_stream_barrier *b = hdi_stream_barrier(list);
    if (!b) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return NULL;
    }
    b->resource = b->src_family = b->dst_family = HD_NONE;
    list->commands[list->command_count - 1].count++;
    return b;
}

static void add_memory_barrier(hd_stream *list, uint64_t src, uint64_t src_access, uint64_t dst, uint64_t dst_access)
{
    hd_stream_barrier *b = hdi_cap_barrier_locked(list);
    if (!b)
        return;
    b->src_stages = src;
    b->src_access = src_access;
    b->dst_stages = dst;
    b->dst_access = dst_access;
}

static void add_buffer_barrier(hd_stream *list, const VkBufferMemoryBarrier2 *from)
{
    hdi_cap_object *object = hdi_cap_resource_locked(HDI_CAP_BUFFER, HDI_CAP_HANDLE(from->buffer));
    hd_stream_barrier *b = object ? hdi_cap_barrier_locked(list) : NULL;
    if (!b)
        return;
    *b = (hd_stream_barrier){.src_stages = from->srcStageMask,
                             .src_access = from->srcAccessMask,
                             .dst_stages = from->dstStageMask,
                             .dst_access = from->dstAccessMask,
                             .resource = hdi_cap_index_locked(object),
                             .src_family = from->srcQueueFamilyIndex,
                             .dst_family = from->dstQueueFamilyIndex,
                             .range = buffer_range(object, from->offset, from->size)};
}

static void add_image_barrier(hd_stream *list, const VkImageMemoryBarrier2 *from)
{
    hdi_cap_object *object = hdi_cap_resource_locked(HDI_CAP_IMAGE, HDI_CAP_HANDLE(from->image));
    hd_stream_barrier *b = object ? hdi_cap_barrier_locked(list) : NULL;
    if (!b)
        return;
    *b = (hd_stream_barrier){.src_stages = from->srcStageMask,
                             .src_access = from->srcAccessMask,
                             .dst_stages = from->dstStageMask,
                             .dst_access = from->dstAccessMask,
                             .resource = hdi_cap_index_locked(object),
                             .old_layout = (uint32_t)from->oldLayout,
                             .new_layout = (uint32_t)from->newLayout,
                             .src_family = from->srcQueueFamilyIndex,
                             .dst_family = from->dstQueueFamilyIndex,
                             .range = hdi_cap_image_range(object, &from->subresourceRange)};
}

static void add_dependency(hd_stream *list, const VkDependencyInfo *info)
{
    for (uint32_t i = 0; i < info->memoryBarrierCount; i++) {
        const VkMemoryBarrier2 *m = &info->pMemoryBarriers[i];
        add_memory_barrier(list, m->srcStageMask, m->srcAccessMask, m->dstStageMask, m->dstAccessMask);
    }
    for (uint32_t i = 0; i < info->bufferMemoryBarrierCount; i++)
        add_buffer_barrier(list, &info->pBufferMemoryBarriers[i]);
    for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++)
        add_image_barrier(list, &info->pImageMemoryBarriers[i]);
}

static void VKAPI_PTR hook_vkCmdPipelineBarrier2(VkCommandBuffer commands, const VkDependencyInfo *info)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (c && hdi_cap_command_locked(c, HD_STREAM_BARRIER, "vkCmdPipelineBarrier2"))
        add_dependency(c->list, info);
    hdi_cap_unlock();
    NEXT(vkCmdPipelineBarrier2)(commands, info);
}

static void VKAPI_PTR hook_vkCmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags src,
                                                VkPipelineStageFlags dst, VkDependencyFlags flags,
                                                uint32_t memory_count, const VkMemoryBarrier *memory,
                                                uint32_t buffer_count, const VkBufferMemoryBarrier *buffers,
                                                uint32_t image_count, const VkImageMemoryBarrier *images)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (c && hdi_cap_command_locked(c, HD_STREAM_BARRIER, "vkCmdPipelineBarrier")) {
        if (memory_count + buffer_count + image_count == 0)
            add_memory_barrier(c->list, src, 0, dst, 0);
        for (uint32_t i = 0; i < memory_count; i++)
            add_memory_barrier(c->list, src, memory[i].srcAccessMask, dst, memory[i].dstAccessMask);
        for (uint32_t i = 0; i < buffer_count; i++) {
            const VkBufferMemoryBarrier *b = &buffers[i];
            add_buffer_barrier(c->list, &(VkBufferMemoryBarrier2){.srcStageMask = src,
                                                                  .srcAccessMask = b->srcAccessMask,
                                                                  .dstStageMask = dst,
                                                                  .dstAccessMask = b->dstAccessMask,
                                                                  .srcQueueFamilyIndex = b->srcQueueFamilyIndex,
                                                                  .dstQueueFamilyIndex = b->dstQueueFamilyIndex,
                                                                  .buffer = b->buffer,
                                                                  .offset = b->offset,
                                                                  .size = b->size});
        }
        for (uint32_t i = 0; i < image_count; i++) {
            const VkImageMemoryBarrier *b = &images[i];
            add_image_barrier(c->list, &(VkImageMemoryBarrier2){.srcStageMask = src,
                                                                .srcAccessMask = b->srcAccessMask,
                                                                .dstStageMask = dst,
                                                                .dstAccessMask = b->dstAccessMask,
                                                                .oldLayout = b->oldLayout,
                                                                .newLayout = b->newLayout,
                                                                .srcQueueFamilyIndex = b->srcQueueFamilyIndex,
                                                                .dstQueueFamilyIndex = b->dstQueueFamilyIndex,
                                                                .image = b->image,
                                                                .subresourceRange = b->subresourceRange});
        }
    }
    hdi_cap_unlock();
    NEXT(vkCmdPipelineBarrier)
    (commands, src, dst, flags, memory_count, memory, buffer_count, buffers, image_count, images);
}

/* ---- events ---- */

static uint32_t event_locked(VkEvent event)
{
    hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_EVENT, HDI_CAP_HANDLE(event));
    if (!object) {
        object = hdi_cap_make_locked(HDI_CAP_EVENT, HDI_CAP_HANDLE(event));
        if (object)
            object->value = hdi_cap.events++;
    }
    return object ? (uint32_t)object->value : 0;
}

static void VKAPI_PTR hook_vkCmdSetEvent2(VkCommandBuffer commands, VkEvent event, const VkDependencyInfo *info)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    uint32_t number = event_locked(event);
    hd_stream_command *command = c ? hdi_cap_command_locked(c, HD_STREAM_SET, "vkCmdSetEvent2") : NULL;
    if (command) {
        command->event = number;
        add_dependency(c->list, info);
    }
    hdi_cap_unlock();
    NEXT(vkCmdSetEvent2)(commands, event, info);
}

static void VKAPI_PTR hook_vkCmdWaitEvents2(VkCommandBuffer commands, uint32_t count, const VkEvent *events,
                                            const VkDependencyInfo *infos)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    for (uint32_t i = 0; i < count && c; i++) {
        uint32_t number = event_locked(events[i]);
        hd_stream_command *command = hdi_cap_command_locked(c, HD_STREAM_WAIT, "vkCmdWaitEvents2");
        if (command) {
            command->event = number;
            add_dependency(c->list, &infos[i]);
        }
    }
    hdi_cap_unlock();
    NEXT(vkCmdWaitEvents2)(commands, count, events, infos);
}

/* ---- rendering ---- */

hd_stream_access *hdi_cap_attachment_locked(hd_stream *list, const hdi_cap_object *image, uint64_t stages,
                                            uint64_t access, const hd_stream_access *as)
{
    hd_stream_access *a = add_access(list, image, stages, access);
    if (a) {
        a->layout = as->layout;
        a->scope = as->scope;
        a->range = as->range;
        a->box = as->box;
    }
    return a;
}

/* Whether an access within a rendering is one to its attachments: as such, or in the layout in which shaders may read
 * what they draw to. */
static bool of_scope(const hd_stream_access *a)
{
    const uint64_t attachment = VK_ACCESS_2_INPUT_ATTACHMENT_READ_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT |
                                VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT |
                                VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;
    return !(a->access & ~attachment) || a->layout == (uint32_t)VK_IMAGE_LAYOUT_ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT;
}

/* What a rendering touches of a view: as many of its layers as it draws to; of slices, too. */
static void cut_layers(const VkRenderingInfo *rendering, hd_stream_access *a)
{
    uint32_t layers = rendering->layerCount;
    for (uint32_t views = rendering->viewMask, most = 1; views; views >>= 1)
        layers = most++;
    if (layers && a->box.extent[2])
        a->box.extent[2] = layers < a->box.extent[2] ? layers : a->box.extent[2];
    else if (layers)
        a->range.layer_count = layers < a->range.layer_count ? layers : a->range.layer_count;
}

static void attachment_locked(hdi_cap_commands *c, const VkRenderingInfo *rendering,
                              const VkRenderingAttachmentInfo *info, bool depth, VkImageAspectFlags aspect)
{
    const hdi_cap_object *view = info ? hdi_cap_find_locked(HDI_CAP_VIEW, HDI_CAP_HANDLE(info->imageView)) : NULL;
    if (!view)
        return;
    uint64_t stages = depth ? VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT
                            : VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT;
    uint64_t read = depth ? VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT : VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT;
    uint64_t write = depth ? VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT : VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT;
    const hdi_cap_object *image = &hdi_cap.objects[view->of];
    hd_range range = view->range;
    VkImageAspectFlags both = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    range.aspect = image->res.aspects == both ? aspect : 0;
    bool loads = info->loadOp == VK_ATTACHMENT_LOAD_OP_LOAD, none = info->storeOp == VK_ATTACHMENT_STORE_OP_NONE;
    const VkRenderingFlags flags = rendering->flags;
    hd_stream_access as = {.layout = (uint32_t)info->imageLayout, .scope = c->scope, .range = range, .box = view->box};
    cut_layers(rendering, &as);
    if (!(flags & VK_RENDERING_RESUMING_BIT))
        hdi_cap_attachment_locked(c->list, image, stages, loads ? read : write, &as);
    if (!none && !(flags & VK_RENDERING_SUSPENDING_BIT)) {
        hd_stream_access *a = hdi_cap_attachment_locked(c->at_end, image, stages, write, &as);
        if (a)
            a->flags = info->storeOp == VK_ATTACHMENT_STORE_OP_DONT_CARE ? HD_STREAM_LOST : 0;
    }
    const hdi_cap_object *to = info->resolveMode == VK_RESOLVE_MODE_NONE || flags & VK_RENDERING_SUSPENDING_BIT
                                   ? NULL
                                   : hdi_cap_find_locked(HDI_CAP_VIEW, HDI_CAP_HANDLE(info->resolveImageView));
    if (!to)
        return;
    const uint64_t output = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT; /* resolves of depth, too */
    hd_stream_access into = {
        .layout = (uint32_t)info->resolveImageLayout, .scope = c->scope, .range = to->range, .box = to->box};
    into.range.aspect = hdi_cap.objects[to->of].res.aspects == both ? aspect : 0;
    cut_layers(rendering, &into);
    hdi_cap_attachment_locked(c->at_end, &hdi_cap.objects[to->of], output, VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
                              &into);
}

static void VKAPI_PTR hook_vkCmdBeginRendering(VkCommandBuffer commands, const VkRenderingInfo *info)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (c)
        c->rendering = ++hdi_cap.pairs;
    if (c && hdi_cap_command_locked(c, HD_STREAM_ACCESS, "vkCmdBeginRendering")) {
        c->scope = ++hdi_cap.scopes;
        c->at_end->access_count = 0;
        for (uint32_t i = 0; i < info->colorAttachmentCount; i++)
            attachment_locked(c, info, &info->pColorAttachments[i], false, VK_IMAGE_ASPECT_COLOR_BIT);
        attachment_locked(c, info, info->pDepthAttachment, true, VK_IMAGE_ASPECT_DEPTH_BIT);
        attachment_locked(c, info, info->pStencilAttachment, true, VK_IMAGE_ASPECT_STENCIL_BIT);
    }
    hdi_cap_unlock();
    NEXT(vkCmdBeginRendering)(commands, info);
}

static void VKAPI_PTR hook_vkCmdEndRendering(VkCommandBuffer commands)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (c && hdi_cap_command_locked(c, HD_STREAM_ACCESS, "vkCmdEndRendering")) {
        for (uint32_t i = 0; i < c->at_end->access_count; i++) {
            const hd_stream_access *from = &c->at_end->accesses[i];
            hd_stream_access *a = add_access(c->list, &hdi_cap.objects[from->resource], 0, 0);
            if (a)
                *a = *from;
        }
        c->scope = c->rendering = 0;
    }
    hdi_cap_unlock();
    NEXT(vkCmdEndRendering)(commands);
}

/* ---- the rest ---- */

static void append_locked(hdi_cap_commands *to, const hd_stream *from)
{
    for (uint32_t i = 0; i < from->command_count; i++) {
        const hd_stream_command *x = &from->commands[i];
        hd_stream_command *command = hdi_stream_command(to->list);
        if (!command) {
            hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
            return;
        }
        *command = *x;
        command->count = command->data = 0;
        if (x->data) {
            const hd_stream_data *d = &from->datas[x->data];
            command->data = hdi_stream_data(to->list, from->bytes + d->byte_begin, d->byte_count,
                                            from->refs + d->ref_begin, d->ref_count);
            if (!command->data)
                hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        }
        command->begin = x->kind == HD_STREAM_ACCESS ? to->list->access_count : to->list->barrier_count;
        for (uint32_t k = x->begin; k < x->begin + x->count; k++) {
            if (x->kind == HD_STREAM_ACCESS) {
                hd_stream_access *a = add_access(to->list, hdi_cap.objects, 0, 0);
                if (a) {
                    *a = from->accesses[k];
                    a->scope = a->scope || !of_scope(a) ? a->scope : to->scope;
                }
            } else {
                hd_stream_barrier *b = hdi_cap_barrier_locked(to->list);
                if (b)
                    *b = from->barriers[k];
            }
        }
    }
    to->list->unseen += from->unseen;
}

static void VKAPI_PTR hook_vkCmdExecuteCommands(VkCommandBuffer commands, uint32_t count,
                                                const VkCommandBuffer *buffers)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    for (uint32_t i = 0; i < count && c; i++) {
        const hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_COMMANDS, HDI_CAP_HANDLE(buffers[i]));
        if (object && object->commands)
            append_locked(c, object->commands->list);
    }
    hdi_cap_unlock();
    NEXT(vkCmdExecuteCommands)(commands, count, buffers);
}

static void push_label_locked(hdi_cap_commands *c, const char *name)
{
    if (c->label_count < HDI_CAP_LABELS)
        c->labels[c->label_count] = hdi_cap_string_locked(name);
    c->label_count++;
}

static void VKAPI_PTR hook_vkCmdBeginDebugUtilsLabelEXT(VkCommandBuffer commands, const VkDebugUtilsLabelEXT *info)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (c)
        push_label_locked(c, info->pLabelName ? info->pLabelName : "");
    hdi_cap_unlock();
    NEXT(vkCmdBeginDebugUtilsLabelEXT)(commands, info);
}

static void VKAPI_PTR hook_vkCmdEndDebugUtilsLabelEXT(VkCommandBuffer commands)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (c && c->label_count)
        c->label_count--;
    hdi_cap_unlock();
    NEXT(vkCmdEndDebugUtilsLabelEXT)(commands);
}

static void VKAPI_PTR hook_vkCmdWaitEvents(VkCommandBuffer commands, uint32_t count, const VkEvent *events,
                                           VkPipelineStageFlags src, VkPipelineStageFlags dst, uint32_t memory_count,
                                           const VkMemoryBarrier *memory, uint32_t buffer_count,
                                           const VkBufferMemoryBarrier *buffers, uint32_t image_count,
                                           const VkImageMemoryBarrier *images)
{
    unseen(commands);
    NEXT(vkCmdWaitEvents)
    (commands, count, events, src, dst, memory_count, memory, buffer_count, buffers, image_count, images);
}

static void VKAPI_PTR hook_vkCmdTraceRaysKHR(VkCommandBuffer commands, const VkStridedDeviceAddressRegionKHR *raygen,
                                             const VkStridedDeviceAddressRegionKHR *miss,
                                             const VkStridedDeviceAddressRegionKHR *hit,
                                             const VkStridedDeviceAddressRegionKHR *callable, uint32_t width,
                                             uint32_t height, uint32_t depth)
{
    unseen(commands);
    NEXT(vkCmdTraceRaysKHR)(commands, raygen, miss, hit, callable, width, height, depth);
}

static void VKAPI_PTR hook_vkCmdBuildAccelerationStructuresKHR(
    VkCommandBuffer commands, uint32_t count, const VkAccelerationStructureBuildGeometryInfoKHR *infos,
    const VkAccelerationStructureBuildRangeInfoKHR *const *ranges)
{
    unseen(commands);
    NEXT(vkCmdBuildAccelerationStructuresKHR)(commands, count, infos, ranges);
}

/* ---- by the engine itself ---- */

void hd_capture_buffer(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size,
                       VkPipelineStageFlags2 stages, VkAccessFlags2 access)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (c && hdi_cap_command_locked(c, HD_STREAM_ACCESS, "hd_capture_buffer"))
        hdi_cap_buffer_locked(c->list, buffer, offset, size, stages, access);
    hdi_cap_unlock();
}

void hd_capture_image(VkCommandBuffer commands, VkImage image, const VkImageSubresourceRange *range,
                      VkImageLayout layout, VkPipelineStageFlags2 stages, VkAccessFlags2 access)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (c && range && hdi_cap_command_locked(c, HD_STREAM_ACCESS, "hd_capture_image")) {
        hd_stream_access *a = hdi_cap_image_locked(c->list, image, range, (uint32_t)layout, stages, access);
        if (a)
            a->scope = of_scope(a) ? c->scope : 0;
    }
    hdi_cap_unlock();
}

#define ALIAS(name, as) {name, (PFN_vkVoidFunction)hook_##as, &next_##as},
static const hdi_cap_hook hooks[] = {
    HOOKS(HDI_CAP_ENTRY) ALIAS("vkCmdPipelineBarrier2KHR", vkCmdPipelineBarrier2)
        ALIAS("vkCmdSetEvent2KHR", vkCmdSetEvent2) ALIAS("vkCmdWaitEvents2KHR", vkCmdWaitEvents2)
            ALIAS("vkCmdBeginRenderingKHR", vkCmdBeginRendering) ALIAS("vkCmdEndRenderingKHR", vkCmdEndRendering)};
const hdi_cap_hooks hdi_cap_record_hooks = {hooks, sizeof(hooks) / sizeof(hooks[0]), false};
