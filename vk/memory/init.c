#include "state.h"

#include <string.h>

#include "alloc.h"

/* Histories before their first frame: cleared to zero and brought into the layout and family that the plan takes for
 * granted, in submits of their own ahead of the frame's. An image is cleared on a queue that can (graphics, or compute
 * for colours) and, when that is of another family than its owner, released there and acquired in a second round. No
 * command clears blocks, and none anything on a queue that can but copy: zeros are copied into them, from staging
 * memory. Where no queue can do that either it gets its layout alone. */

/* How an image becomes zero on a queue. */
typedef enum zeroing {
    ZERO_NOT,    /* it does not: where there is no graphics depth, several samples, texels that are not known */
    ZERO_LEVELS, /* copied level by level: less may be more than a queue can do that is for copies alone */
    ZERO_PIECES, /* copied a few rows at a time */
    ZERO_CLEAR,
} zeroing;

/* Rows of blocks that make the pieces; levels are as large as they are. */
enum { PIECE_BYTES = 1 << 18 };

/* Zeros in staging memory, for all images that need some. */
typedef struct zeros {
    VkBuffer buffer;
    uint64_t offset, bytes;
} zeros;

static zeroing zeroing_of(const hdi_vk_queue *queue, const hdi_vk_init *init)
{
    const hdi_vk_key *key = &init->object->key;
    if (init->object->buffer)
        return ZERO_CLEAR;
    if (!init->clear)
        return ZERO_NOT;
    if (!(hdi_vk_aspects(key->format) & VK_IMAGE_ASPECT_COLOR_BIT))
        return queue->flags & VK_QUEUE_GRAPHICS_BIT ? ZERO_CLEAR : ZERO_NOT;
    hdi_texel_block block = hdi_format_block(key->format);
    if (!block.bytes) /* they may be of blocks or of several planes, which no command clears */
        return ZERO_NOT;
    if (queue->flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT))
        return block.width == 1 ? ZERO_CLEAR : ZERO_PIECES;
    return key->samples == 1 ? ZERO_LEVELS : ZERO_NOT;
}

/* Which queue does it; best one that can clear, then one of the family that shall own it. */
static uint32_t choose_queue(const hd_vk *vk, const hdi_vk_init *init)
{
    uint32_t chosen = 0, best = 0;
    for (uint32_t q = vk->queue_count; q-- > 0;) {
        bool owner = init->family == HD_NONE || vk->queues[q].desc.family == init->family;
        zeroing how = zeroing_of(&vk->queues[q], init);
        uint32_t score = 1 + (owner ? 1 : 0) + 2 * (how > ZERO_PIECES ? ZERO_PIECES : how);
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
        .subresourceRange = {hdi_vk_aspects(key->format), 0, key->mips, 0, hdi_vk_barrier_layers(key, key->layers)},
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

static hd_result need_zeros(const hdi_vk_frame *frame, uint64_t bytes, zeros *z)
{
    hdi_vk_chunk *chunk;
    if (z->bytes >= bytes)
        return HD_OK;
    hd_result result = hdi_vk_stage(frame->vk, frame->graph, bytes, &chunk, &z->offset);
    if (result != HD_OK)
        return result;
    hdi_vk_help_now(frame->vk, frame->graph)->stays = true; /* the frame may fail, and be declared anew, at once */
    memset((unsigned char *)chunk->at.mapped + z->offset, 0, bytes);
    z->buffer = chunk->buffer;
    z->bytes = bytes;
    return HD_OK;
}

static uint32_t side_of(uint32_t texels, uint32_t mip)
{
    return texels >> mip ? texels >> mip : 1;
}

static hd_result copy_zeros(const hdi_vk_frame *frame, VkCommandBuffer commands, const hdi_vk_init *init, bool pieces,
                            zeros *z)
{
    const hdi_vk_key *key = &init->object->key;
    const hdi_texel_block block = hdi_format_block(key->format);
    uint64_t row = hdi_texel_blocks(key->width, block.width) * block.bytes;
    uint64_t slice = row * hdi_texel_blocks(key->height, block.height), most = row > PIECE_BYTES ? row : PIECE_BYTES;
    uint64_t bytes = !pieces ? slice * key->depth : slice < most ? slice : most;
    hd_result result = need_zeros(frame, bytes, z);
    for (uint32_t at = 0; at < key->mips * key->layers && result == HD_OK; at++) {
        uint32_t mip = at % key->mips, height = side_of(key->height, mip), depth = side_of(key->depth, mip);
        uint64_t rows = bytes / (hdi_texel_blocks(side_of(key->width, mip), block.width) * block.bytes) * block.height;
        uint32_t high = pieces && rows < height ? (uint32_t)rows : height, deep = pieces ? 1 : depth;
        for (uint32_t i = 0; i < depth; i += deep) {
            for (uint32_t y = 0; y < height; y += high) {
                const VkBufferImageCopy region = {
                    .bufferOffset = z->offset,
                    .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, mip, at / key->mips, 1},
                    .imageOffset = {0, (int32_t)y, (int32_t)i},
                    .imageExtent = {side_of(key->width, mip), height - y < high ? height - y : high, deep},
                };
                frame->vk->fn.vkCmdCopyBufferToImage(commands, z->buffer, init->object->image,
                                                     VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
            }
        }
    }
    return result;
}

static hd_result record_init(const hdi_vk_frame *frame, VkCommandBuffer commands, const hdi_vk_init *init, uint32_t q,
                             zeros *z)
{
    const hd_vk *vk = frame->vk;
    hd_result result = HD_OK;
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
        return HD_OK;
    }
    uint32_t layout = init->old_layout;
    const zeroing how = zeroing_of(&vk->queues[q], init);
    if (how != ZERO_NOT) {
        VkImageMemoryBarrier2 open = image_barrier(init, layout, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        record_image_barrier(vk, commands, &open);
        if (how == ZERO_CLEAR)
            clear_image(vk, commands, init);
        else
            result = copy_zeros(frame, commands, init, how == ZERO_PIECES, z);
        layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    }
    VkImageMemoryBarrier2 close = image_barrier(init, layout, init->new_layout);
    if (init->family != HD_NONE && init->family != family) {
        close.srcQueueFamilyIndex = family;
        close.dstQueueFamilyIndex = init->family;
    }
    record_image_barrier(vk, commands, &close);
    return result;
}

/* The second half of an ownership transfer that record_init began on queue by. */
static void record_acquire(const hd_vk *vk, VkCommandBuffer commands, const hdi_vk_init *init, uint32_t by)
{
    bool cleared = zeroing_of(&vk->queues[by], init) != ZERO_NOT;
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
    queue->host_needed = vk->queues[vk->queue_count].base;
    return HD_OK;
}

/* One round on one queue: round 0 does the inits that q does, round 1 acquires those that it does not own yet. */
static hd_result submit_round(hdi_vk_frame *frame, uint32_t q, uint32_t round, zeros *z)
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
            result = record_init(frame, commands, init, q, z);
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
    zeros z = {0};
    if (frame->init_count == 0)
        return HD_OK;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t q = 0; q < frame->vk->queue_count && result == HD_OK; q++)
            result = submit_round(frame, q, round, &z);
    }
    return result;
}
