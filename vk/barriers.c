#include "state.h"

/* A barrier batch of the plan as one vkCmdPipelineBarrier2, or as the set or wait of an event, translated one to one.
 * The arrays stand on the stack: a batch larger than they are comes from a pass with very many resources and is split
 * over several commands, which only adds synchronization (the pieces follow one another in submission order). Events
 * must not be split (one set, one wait with equal dependencies), so the entry takes the arrays of those from the
 * caller's limit: hdi_vk_record refuses plans with larger ones. */

typedef struct barrier_arrays {
    VkMemoryBarrier2 memory[HDI_VK_BARRIERS];
    VkBufferMemoryBarrier2 buffers[HDI_VK_BARRIERS];
    VkImageMemoryBarrier2 images[HDI_VK_BARRIERS];
    VkDependencyInfo info;
} barrier_arrays;

/* A resource's first transition in a frame waits for nothing in the plan, and its last one shows itself to nobody. What
 * earlier frames did, and what later ones will, is joined to them by barriers of join.c: so each needs a stage where the
 * chain can go on, and takes its own other one. */
static VkPipelineStageFlags2 first_scope(const hd_plan_barrier *barrier)
{
    bool transfer = barrier->src_family != barrier->dst_family;
    return barrier->src_stages || transfer ? barrier->src_stages : barrier->dst_stages;
}

static VkPipelineStageFlags2 second_scope(const hd_plan_barrier *barrier)
{
    bool transfer = barrier->src_family != barrier->dst_family;
    return barrier->dst_stages || transfer ? barrier->dst_stages : barrier->src_stages;
}

static void add(const hdi_vk_frame *frame, barrier_arrays *arrays, const hd_plan_barrier *barrier)
{
    if (barrier->resource == HD_NONE) {
        arrays->memory[arrays->info.memoryBarrierCount++] = (VkMemoryBarrier2){
            .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
            .srcStageMask = barrier->src_stages,
            .srcAccessMask = barrier->src_access,
            .dstStageMask = barrier->dst_stages,
            .dstAccessMask = barrier->dst_access,
        };
        return;
    }
    const hdi_vk_object *object = frame->bound[barrier->resource];
    if (object->buffer) {
        arrays->buffers[arrays->info.bufferMemoryBarrierCount++] = (VkBufferMemoryBarrier2){
            .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
            .srcStageMask = barrier->src_stages,
            .srcAccessMask = barrier->src_access,
            .dstStageMask = barrier->dst_stages,
            .dstAccessMask = barrier->dst_access,
            .srcQueueFamilyIndex = barrier->src_family,
            .dstQueueFamilyIndex = barrier->dst_family,
            .buffer = object->buffer,
            .offset = barrier->range.offset,
            .size = barrier->range.bytes,
        };
        return;
    }
    const hd_range *range = &barrier->range;
    arrays->images[arrays->info.imageMemoryBarrierCount++] = (VkImageMemoryBarrier2){
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = first_scope(barrier),
        .srcAccessMask = barrier->src_access,
        .dstStageMask = second_scope(barrier),
        .dstAccessMask = barrier->dst_access,
        .oldLayout = (VkImageLayout)barrier->old_layout,
        .newLayout = (VkImageLayout)barrier->new_layout,
        .srcQueueFamilyIndex = barrier->src_family,
        .dstQueueFamilyIndex = barrier->dst_family,
        .image = object->image,
        .subresourceRange = {range->aspect ? range->aspect : hdi_vk_aspects(object->key.format), range->mip_base, range->mip_count, range->layer_base,
                             range->layer_count},
    };
}

void hdi_vk_record_barriers(const hdi_vk_frame *frame, VkCommandBuffer commands, const hd_plan_command *command)
{
    const hdi_vk_device_table *fn = &frame->vk->fn;
    const hd_plan_batch *batch = &frame->plan.batches[command->index];
    uint32_t done = 0;
    while (done < batch->barrier_count) {
        barrier_arrays arrays;
        arrays.info = (VkDependencyInfo){
            .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
            .pMemoryBarriers = arrays.memory,
            .pBufferMemoryBarriers = arrays.buffers,
            .pImageMemoryBarriers = arrays.images,
        };
        for (uint32_t i = 0; i < HDI_VK_BARRIERS && done < batch->barrier_count; i++, done++)
            add(frame, &arrays, &frame->plan.barriers[batch->barrier_begin + done]);
        if (command->kind == HD_COMMAND_SET)
            fn->vkCmdSetEvent2(commands, frame->slot->events[command->event], &arrays.info);
        else if (command->kind == HD_COMMAND_WAIT)
            fn->vkCmdWaitEvents2(commands, 1, &frame->slot->events[command->event], &arrays.info);
        else
            fn->vkCmdPipelineBarrier2(commands, &arrays.info);
    }
}
