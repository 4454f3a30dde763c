#include "vk_frame.h"
#include "vk_memory.h"

#include "alloc.h"

/* Barrier batches of a plan, each as one vkCmdPipelineBarrier2 or as the set or wait of an event, translated one to
 * one. The structures are made once for a plan that is kept; a frame only writes the handles of its images and buffers
 * into them, and not even these where they are those of the last time. */

/* A resource's first transition in a frame waits for nothing in the plan, and no access of the plan follows its last
 * one. Barriers of join.c chain them to what earlier frames did and later frames will do. So each transition needs a
 * stage at which the chain can go on: where one scope is empty it takes the stages of its other scope. */
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

static void add_memory(hdi_vk_barriers *out, const hd_plan_barrier *barrier)
{
    out->memory[out->memory_count++] = (VkMemoryBarrier2){
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
        .srcStageMask = barrier->src_stages,
        .srcAccessMask = barrier->src_access,
        .dstStageMask = barrier->dst_stages,
        .dstAccessMask = barrier->dst_access,
    };
}

static void add_buffer(hdi_vk_barriers *out, const hd_plan_barrier *barrier)
{
    out->buffer_res[out->buffer_count] = barrier->resource;
    out->buffers[out->buffer_count++] = (VkBufferMemoryBarrier2){
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
        .srcStageMask = barrier->src_stages,
        .srcAccessMask = barrier->src_access,
        .dstStageMask = barrier->dst_stages,
        .dstAccessMask = barrier->dst_access,
        .srcQueueFamilyIndex = barrier->src_family,
        .dstQueueFamilyIndex = barrier->dst_family,
        .offset = barrier->range.offset,
        .size = barrier->range.bytes,
    };
}

static void add_image(hdi_vk_barriers *out, const hd_plan_barrier *barrier, const hdi_vk_key *key)
{
    const hd_range *range = &barrier->range;
    out->image_res[out->image_count] = barrier->resource;
    out->images[out->image_count++] = (VkImageMemoryBarrier2){
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = first_scope(barrier),
        .srcAccessMask = barrier->src_access,
        .dstStageMask = second_scope(barrier),
        .dstAccessMask = barrier->dst_access,
        .oldLayout = (VkImageLayout)barrier->old_layout,
        .newLayout = (VkImageLayout)barrier->new_layout,
        .srcQueueFamilyIndex = barrier->src_family,
        .dstQueueFamilyIndex = barrier->dst_family,
        .subresourceRange = {range->aspect ? range->aspect : hdi_vk_aspects(key->format), range->mip_base,
                             range->mip_count, range->layer_base, hdi_vk_barrier_layers(key, range->layer_count)},
    };
}

static bool is_buffer(const hdi_vk_frame *frame, const hd_plan_barrier *barrier)
{
    return frame->decl.res_flags[barrier->resource] & HDI_RES_BUFFER;
}

/* Batches may share barriers: the places are counted batch by batch. */
static hd_result make_room(const hdi_vk_frame *frame, hdi_vk_barriers *out, hdi_arena *arena)
{
    const hd_plan_view *plan = &frame->plan;
    uint32_t memory = 0, buffers = 0, images = 0;
    for (uint32_t b = 0; b < plan->batch_count; b++) {
        const hd_plan_batch *batch = &plan->batches[b];
        for (uint32_t i = 0; i < batch->barrier_count; i++) {
            const hd_plan_barrier *barrier = &plan->barriers[batch->barrier_begin + i];
            bool global = barrier->resource == HD_NONE, buffer = !global && is_buffer(frame, barrier);
            memory += global;
            buffers += buffer;
            images += !global && !buffer;
        }
    }
    out->infos = HDI_ARENA_ARRAY(arena, VkDependencyInfo, plan->batch_count);
    out->memory = HDI_ARENA_ARRAY(arena, VkMemoryBarrier2, memory);
    out->buffers = HDI_ARENA_ARRAY(arena, VkBufferMemoryBarrier2, buffers);
    out->images = HDI_ARENA_ARRAY(arena, VkImageMemoryBarrier2, images);
    out->buffer_res = HDI_ARENA_ARRAY(arena, uint32_t, buffers);
    out->image_res = HDI_ARENA_ARRAY(arena, uint32_t, images);
    return arena->failed ? HD_OUT_OF_MEMORY : HD_OK;
}

hd_result hdi_vk_keep_barriers(const hdi_vk_frame *frame, hdi_vk_kept *kept, hdi_arena *arena)
{
    const hd_plan_view *plan = &frame->plan;
    hdi_vk_barriers *out = &kept->barriers;
    hd_result result = make_room(frame, out, arena);
    for (uint32_t b = 0; b < plan->batch_count && result == HD_OK; b++) {
        const hd_plan_batch *batch = &plan->batches[b];
        VkDependencyInfo info = {
            .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
            .pMemoryBarriers = out->memory + out->memory_count,
            .pBufferMemoryBarriers = out->buffers + out->buffer_count,
            .pImageMemoryBarriers = out->images + out->image_count,
        };
        for (uint32_t i = 0; i < batch->barrier_count; i++) {
            const hd_plan_barrier *barrier = &plan->barriers[batch->barrier_begin + i];
            if (barrier->resource == HD_NONE)
                add_memory(out, barrier);
            else if (is_buffer(frame, barrier))
                add_buffer(out, barrier);
            else
                add_image(out, barrier, &kept->keys[kept->plan_index[barrier->resource]]);
        }
        info.memoryBarrierCount = (uint32_t)(out->memory + out->memory_count - info.pMemoryBarriers);
        info.bufferMemoryBarrierCount = (uint32_t)(out->buffers + out->buffer_count - info.pBufferMemoryBarriers);
        info.imageMemoryBarrierCount = (uint32_t)(out->images + out->image_count - info.pImageMemoryBarriers);
        out->infos[b] = info;
    }
    return result;
}

void hdi_vk_patch_barriers(hdi_vk_frame *frame)
{
    hdi_vk_barriers *barriers = &frame->kept->barriers;
    if (!frame->rebound)
        return;
    for (uint32_t i = 0; i < barriers->buffer_count; i++)
        barriers->buffers[i].buffer = frame->bound[barriers->buffer_res[i]]->buffer;
    for (uint32_t i = 0; i < barriers->image_count; i++)
        barriers->images[i].image = frame->bound[barriers->image_res[i]]->image;
    for (uint32_t i = 0; i < frame->plan.resource_count; i++)
        frame->kept->patched[i] = frame->bound[frame->plan.resources[i].id]->serial;
}

void hdi_vk_record_barriers(const hdi_vk_frame *frame, VkCommandBuffer commands, const hd_plan_command *command)
{
    const hdi_vk_device_table *fn = &frame->vk->fn;
    const VkDependencyInfo *info = &frame->kept->barriers.infos[command->index];
    if (command->kind == HD_COMMAND_SET)
        fn->vkCmdSetEvent2(commands, frame->slot->events[command->event], info);
    else if (command->kind == HD_COMMAND_WAIT)
        fn->vkCmdWaitEvents2(commands, 1, &frame->slot->events[command->event], info);
    else if (info->memoryBarrierCount | info->bufferMemoryBarrierCount | info->imageMemoryBarrierCount)
        fn->vkCmdPipelineBarrier2(commands, info);
}
