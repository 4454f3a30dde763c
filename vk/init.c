#include "state.h"

#include "alloc.h"

/* Histories before their first frame: cleared to zero and brought into the layout and family that the plan takes for
 * granted, in submits of their own ahead of the frame's. An image is cleared on a queue that can (graphics, or compute
 * for colours) and, when that is of another family than its owner, released there and acquired in a second round. Where
 * no queue can, as with blocks, it gets its layout alone. */

/* Whether a queue clears what is to be cleared; else it changes the layout alone. */
static bool clears(const hdi_vk_queue *queue, const hdi_vk_init *init)
{
    if (init->object->buffer)
        return true;
    VkQueueFlags wanted = hdi_vk_aspects(init->object->key.format) & VK_IMAGE_ASPECT_COLOR_BIT
                              ? VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT
                              : VK_QUEUE_GRAPHICS_BIT;
    return init->clear && hdi_format_block(init->object->key.format).width == 1 && queue->flags & wanted;
}

/* Which queue does it; best one that can clear, then one of the family that shall own it. */
static uint32_t choose_queue(const hd_vk *vk, const hdi_vk_init *init)
{
    uint32_t chosen = 0, best = 0;
    for (uint32_t q = vk->queue_count; q-- > 0;) {
        bool owner = init->family == HD_NONE || vk->queues[q].desc.family == init->family;
        uint32_t score = 1 + (owner ? 1 : 0) + (clears(&vk->queues[q], init) ? 2 : 0);
        if (score >= best) {
            chosen = q;
            best = score;
        }
    }
    return chosen;
}

static VkImageMemoryBarrier2 image_barrier(const hdi_vk_init *init, uint32_t from, uint32_t to)
{
    const hdi_vk_key *key = &init->object->key;
    return (VkImageMemoryBarrier2){
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
        .oldLayout = (VkImageLayout)from,
        .newLayout = (VkImageLayout)to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = init->object->image,
        .subresourceRange = {hdi_vk_aspects(key->format), 0, key->mips, 0, key->layers},
    };
}

static void record_image_barrier(const hd_vk *vk, VkCommandBuffer commands, const VkImageMemoryBarrier2 *barrier)
{
    VkDependencyInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .imageMemoryBarrierCount = 1, .pImageMemoryBarriers = barrier};
    vk->fn.vkCmdPipelineBarrier2(commands, &info);
}

static void clear_image(const hd_vk *vk, VkCommandBuffer commands, const hdi_vk_init *init)
{
    const hdi_vk_key *key = &init->object->key;
    VkImageSubresourceRange range = {hdi_vk_aspects(key->format), 0, key->mips, 0, key->layers};
    const VkImageLayout layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    if (range.aspectMask & VK_IMAGE_ASPECT_COLOR_BIT) {
        VkClearColorValue zero = {{0}};
        vk->fn.vkCmdClearColorImage(commands, init->object->image, layout, &zero, 1, &range);
    } else {
        VkClearDepthStencilValue zero = {0};
        vk->fn.vkCmdClearDepthStencilImage(commands, init->object->image, layout, &zero, 1, &range);
    }
}

static void record_init(const hd_vk *vk, VkCommandBuffer commands, const hdi_vk_init *init, uint32_t q)
{
    uint32_t family = vk->queues[q].desc.family;
    if (init->object->buffer) {
        vk->fn.vkCmdFillBuffer(commands, init->object->buffer, 0, VK_WHOLE_SIZE, 0);
        VkMemoryBarrier2 shown = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
            .srcStageMask = VK_PIPELINE_STAGE_2_CLEAR_BIT,
            .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
            .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT,
            .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT | VK_ACCESS_2_HOST_READ_BIT,
        };
        VkDependencyInfo info = {
            .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &shown};
        vk->fn.vkCmdPipelineBarrier2(commands, &info);
        return;
    }
    uint32_t layout = init->old_layout;
    if (clears(&vk->queues[q], init)) {
        VkImageMemoryBarrier2 open = image_barrier(init, layout, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        record_image_barrier(vk, commands, &open);
        clear_image(vk, commands, init);
        layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    }
    VkImageMemoryBarrier2 close = image_barrier(init, layout, init->new_layout);
    if (init->family != HD_NONE && init->family != family) {
        close.srcQueueFamilyIndex = family;
        close.dstQueueFamilyIndex = init->family;
    }
    record_image_barrier(vk, commands, &close);
}

/* The second half of an ownership transfer that record_init began on queue by. */
static void record_acquire(const hd_vk *vk, VkCommandBuffer commands, const hdi_vk_init *init, uint32_t by)
{
    bool cleared = clears(&vk->queues[by], init);
    VkImageMemoryBarrier2 barrier = image_barrier(
        init, cleared ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : (VkImageLayout)init->old_layout, init->new_layout);
    barrier.srcQueueFamilyIndex = vk->queues[by].desc.family;
    barrier.dstQueueFamilyIndex = init->family;
    record_image_barrier(vk, commands, &barrier);
}

static hd_result submit_one(hd_vk *vk, uint32_t q, VkCommandBuffer commands)
{
    hdi_vk_queue *queue = &vk->queues[q];
    VkSemaphoreSubmitInfo waits[HD_MAX_QUEUES];
    VkSemaphoreSubmitInfo signal = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
        .semaphore = queue->timeline,
        .value = queue->base + 1,
        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
    };
    VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = commands};
    VkSubmitInfo2 submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
        .waitSemaphoreInfoCount = hdi_vk_base_waits(vk, q, waits),
        .pWaitSemaphoreInfos = waits,
        .commandBufferInfoCount = 1,
        .pCommandBufferInfos = &buffer,
        .signalSemaphoreInfoCount = 1,
        .pSignalSemaphoreInfos = &signal,
    };
    hd_result result = hdi_vk_result(vk, vk->fn.vkQueueSubmit2(queue->desc.queue, 1, &submit, VK_NULL_HANDLE),
                                     "vkQueueSubmit2 for histories");
    if (result != HD_OK)
        return result;
    for (uint32_t p = 0; p <= vk->queue_count; p++)
        vk->known[q][p] = vk->queues[p].base;
    queue->base = queue->submitted = signal.value;
    return HD_OK;
}

/* One round on one queue: round 0 does the inits that q does, round 1 acquires those that it does not own yet. */
static hd_result submit_round(hdi_vk_frame *frame, uint32_t q, uint32_t round)
{
    hd_vk *vk = frame->vk;
    hdi_vk_pool *pool = NULL;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    hd_result result = HD_OK;
    for (uint32_t i = 0; i < frame->init_count && result == HD_OK; i++) {
        const hdi_vk_init *init = &frame->inits[i];
        if (!init->object->buffer && init->new_layout == VK_IMAGE_LAYOUT_UNDEFINED)
            continue;
        uint32_t by = choose_queue(vk, init), family = vk->queues[q].desc.family;
        uint32_t from = vk->queues[by].desc.family;
        bool acquires = round == 1 && init->family != HD_NONE && init->family != from && init->family == family &&
                        !init->object->buffer;
        for (uint32_t before = 0; before < q && acquires; before++)
            acquires = vk->queues[before].desc.family != family; /* once: the first queue of the family */
        if (round == 0 ? by != q : !acquires)
            continue;
        if (!pool) {
            pool = hdi_vk_pool_take(vk, frame->slot, hdi_vk_pool_kind(vk->queues[q].family_index, false), &result);
            if (pool)
                result = hdi_vk_pool_begin(vk, pool, NULL, &commands);
            if (result != HD_OK)
                break;
        }
        if (round == 0)
            record_init(vk, commands, init, q);
        else
            record_acquire(vk, commands, init, by);
    }
    if (pool && result == HD_OK)
        result = hdi_vk_result(vk, vk->fn.vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    if (pool)
        hdi_vk_pool_give(vk, frame->slot, pool);
    return pool && result == HD_OK ? submit_one(vk, q, commands) : result;
}

hd_result hdi_vk_submit_inits(hdi_vk_frame *frame)
{
    hd_result result = HD_OK;
    if (frame->init_count == 0)
        return HD_OK;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t q = 0; q < frame->vk->queue_count && result == HD_OK; q++)
            result = submit_round(frame, q, round);
    }
    return result;
}
