#include "history.h"

#include <string.h>

#include "alloc.h"
#include "vk_device.h"
#include "vk_frame.h"
#include "vk_memory.h"

/* What histories need before a frame, in submits of their own ahead of the frame's: to become zero, to be copied where
 * a plan asks for another kind of object, and to get the layout and the family that the plan takes for granted.
 *
 * An image is cleared on a queue that can (graphics, or compute for colours) and copied on one that can (graphics for
 * depth). No command clears blocks, and none anything on a queue that can but copy: zeros are copied into them, from
 * staging memory. Where no queue can do that either it gets its layout alone. What is of another family than the queue
 * is released there in a round before; what is to be of another one is released behind the work, and acquired in a
 * round after. */

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
    const hdi_vk_key *key = &init->history->key;
    if (key->bits & HDI_VK_KEY_BUFFER)
        return ZERO_CLEAR;
    if (!(hdi_vk_aspects(key->format) & VK_IMAGE_ASPECT_COLOR_BIT))
        return queue->flags & VK_QUEUE_GRAPHICS_BIT ? ZERO_CLEAR : ZERO_NOT;
    hdi_texel_block block = hdi_format_block(key->format);
    if (!block.bytes) /* they may be of blocks or of several planes, which no command clears */
        return ZERO_NOT;
    if (queue->flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT))
        return block.width == 1 ? ZERO_CLEAR : ZERO_PIECES;
    return key->samples == 1 ? ZERO_LEVELS : ZERO_NOT;
}

static hdi_vk_object *object_of(const hdi_vk_init *init)
{
    return init->history->objects[init->index];
}

/* Whose content stays: what is copied, or the object itself; null: none's. */
static hdi_vk_history *content_of(const hdi_vk_init *init)
{
    return init->source ? init->source : init->clear ? NULL : init->history;
}

static bool can_copy(const hdi_vk_queue *queue, const hdi_vk_key *key)
{
    if (key->bits & HDI_VK_KEY_BUFFER)
        return true;
    if (!(hdi_vk_aspects(key->format) & VK_IMAGE_ASPECT_COLOR_BIT))
        return queue->flags & VK_QUEUE_GRAPHICS_BIT;
    if (!hdi_format_block(key->format).bytes) /* they may be of several planes */
        return false;
    return key->samples == 1 || queue->flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT);
}

bool hdi_vk_can_copy(const hd_vk *vk, const hdi_vk_key *key)
{
    bool can = false;
    for (uint32_t q = 0; q < vk->queue_count; q++)
        can |= can_copy(&vk->queues[q], key);
    return can;
}

/* Which queue does it: one that can, then one of the family that shall own it, then one of the family that does. */
static uint32_t choose_queue(const hd_vk *vk, const hdi_vk_init *init)
{
    uint32_t chosen = 0, best = 0;
    const hdi_vk_history *content = content_of(init);
    for (uint32_t q = vk->queue_count; q-- > 0;) {
        uint32_t family = vk->queues[q].desc.family, can = 0;
        if (init->source)
            can = can_copy(&vk->queues[q], &init->history->key);
        else if (init->clear)
            can = zeroing_of(&vk->queues[q], init);
        uint32_t score = 4 * (can > ZERO_PIECES ? ZERO_PIECES : can) + 1;
        score += init->want.family == HD_NONE || init->want.family == family ? 2 : 0;
        score += content && content->held[init->index].family == family ? 1 : 0;
        if (score >= best) {
            chosen = q;
            best = score;
        }
    }
    return chosen;
}

/* The first of a family; queue_count: none. */
static uint32_t queue_of_family(const hd_vk *vk, uint32_t family)
{
    uint32_t q = 0;
    while (q < vk->queue_count && vk->queues[q].desc.family != family)
        q++;
    return q;
}

/* A layout, and the families between which it is handed over: equal ones, or HD_NONE, where it is not. */
static void record_barrier(const hd_vk *vk, VkCommandBuffer commands, const hdi_vk_object *object, uint32_t from,
                           uint32_t to, uint32_t from_family, uint32_t to_family)
{
    const hdi_vk_key *key = &object->key;
    bool moves = from_family != to_family && from_family != HD_NONE && to_family != HD_NONE;
    const VkImageMemoryBarrier2 image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
        .oldLayout = (VkImageLayout)from,
        .newLayout = (VkImageLayout)to,
        .srcQueueFamilyIndex = moves ? from_family : VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = moves ? to_family : VK_QUEUE_FAMILY_IGNORED,
        .image = object->image,
        .subresourceRange = {hdi_vk_aspects(key->format), 0, key->mips, 0, hdi_vk_barrier_layers(key, key->layers)},
    };
    const VkBufferMemoryBarrier2 buffer = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
        .srcStageMask = image.srcStageMask,
        .srcAccessMask = image.srcAccessMask,
        .dstStageMask = image.dstStageMask,
        .dstAccessMask = image.dstAccessMask,
        .srcQueueFamilyIndex = image.srcQueueFamilyIndex,
        .dstQueueFamilyIndex = image.dstQueueFamilyIndex,
        .buffer = object->buffer,
        .size = VK_WHOLE_SIZE,
    };
    const VkDependencyInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
        .bufferMemoryBarrierCount = object->buffer != VK_NULL_HANDLE,
        .pBufferMemoryBarriers = &buffer,
        .imageMemoryBarrierCount = object->image != VK_NULL_HANDLE,
        .pImageMemoryBarriers = &image,
    };
    vk->fn.vkCmdPipelineBarrier2(commands, &info);
}

static void clear_image(const hd_vk *vk, VkCommandBuffer commands, const hdi_vk_object *object)
{
    const hdi_vk_key *key = &object->key;
    VkImageSubresourceRange range = {hdi_vk_aspects(key->format), 0, key->mips, 0, key->layers};
    const VkImageLayout layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    if (range.aspectMask & VK_IMAGE_ASPECT_COLOR_BIT) {
        VkClearColorValue zero = {{0}};
        vk->fn.vkCmdClearColorImage(commands, object->image, layout, &zero, 1, &range);
    } else {
        VkClearDepthStencilValue zero = {0};
        vk->fn.vkCmdClearDepthStencilImage(commands, object->image, layout, &zero, 1, &range);
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

static hd_result copy_zeros(const hdi_vk_frame *frame, VkCommandBuffer commands, const hdi_vk_object *object,
                            bool pieces, zeros *z)
{
    const hdi_vk_key *key = &object->key;
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
                frame->vk->fn.vkCmdCopyBufferToImage(commands, z->buffer, object->image,
                                                     VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
            }
        }
    }
    return result;
}

static void copy_object(const hd_vk *vk, VkCommandBuffer commands, const hdi_vk_object *from, const hdi_vk_object *to)
{
    const hdi_vk_key *key = &to->key;
    if (to->buffer) {
        const VkBufferCopy all = {.size = key->bytes};
        vk->fn.vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &all);
    }
    for (uint32_t mip = 0; mip < key->mips && to->image; mip++) {
        const VkImageSubresourceLayers level = {hdi_vk_aspects(key->format), mip, 0, key->layers};
        const VkImageCopy all = {
            .srcSubresource = level,
            .dstSubresource = level,
            .extent = {side_of(key->width, mip), side_of(key->height, mip), side_of(key->depth, mip)},
        };
        vk->fn.vkCmdCopyImage(commands, from->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to->image,
                              VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &all);
    }
}

/* What the content's object is on the way, on queue `by`: it comes from its family, and goes into the layout in which
 * it is copied, or in which it is wanted. False: there is none. */
static bool arrival(const hdi_vk_init *init, hdi_vk_object **object, hdi_vk_held *from, uint32_t *to)
{
    const hdi_vk_history *content = content_of(init);
    if (!content)
        return false;
    *object = content->objects[init->index];
    *from = content->held[init->index];
    *to = init->source ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : init->want.layout;
    return true;
}

/* The layout that an init's own object has on queue `by` before the last barrier. */
static uint32_t worked_layout(const hd_vk *vk, const hdi_vk_init *init, uint32_t by)
{
    bool written = init->source || (init->clear && zeroing_of(&vk->queues[by], init) != ZERO_NOT);
    return written ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_UNDEFINED;
}

/* Of buffers: the host may read them next. */
static void show_buffer(const hd_vk *vk, VkCommandBuffer commands)
{
    const VkMemoryBarrier2 shown = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT,
        .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT,
        .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT | VK_ACCESS_2_HOST_READ_BIT,
    };
    const VkDependencyInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &shown};
    vk->fn.vkCmdPipelineBarrier2(commands, &info);
}

static hd_result write_object(const hdi_vk_frame *frame, VkCommandBuffer commands, const hdi_vk_init *init, uint32_t q,
                              zeros *z)
{
    const hd_vk *vk = frame->vk;
    const hdi_vk_object *object = object_of(init);
    const zeroing how = zeroing_of(&vk->queues[q], init);
    if (init->source) {
        copy_object(vk, commands, init->source->objects[init->index], object);
        return HD_OK;
    }
    if (object->buffer)
        vk->fn.vkCmdFillBuffer(commands, object->buffer, 0, VK_WHOLE_SIZE, 0);
    else if (how == ZERO_CLEAR)
        clear_image(vk, commands, object);
    else if (how != ZERO_NOT)
        return copy_zeros(frame, commands, object, how == ZERO_PIECES, z);
    return HD_OK;
}

/* The round of the work, on queue q. */
static hd_result record_init(const hdi_vk_frame *frame, VkCommandBuffer commands, const hdi_vk_init *init, uint32_t q,
                             zeros *z)
{
    const hd_vk *vk = frame->vk;
    hdi_vk_object *object;
    hdi_vk_held from;
    uint32_t family = vk->queues[q].desc.family, to;
    if (arrival(init, &object, &from, &to))
        record_barrier(vk, commands, object, from.layout, to, from.family, family);
    if (!init->source && !init->clear)
        return HD_OK;
    object = object_of(init);
    uint32_t layout = object->buffer ? VK_IMAGE_LAYOUT_UNDEFINED : worked_layout(vk, init, q);
    if (layout != VK_IMAGE_LAYOUT_UNDEFINED)
        record_barrier(vk, commands, object, VK_IMAGE_LAYOUT_UNDEFINED, layout, HD_NONE, HD_NONE);
    hd_result result = write_object(frame, commands, init, q, z);
    if (object->buffer)
        show_buffer(vk, commands);
    if (object->image || (init->want.family != HD_NONE && init->want.family != family))
        record_barrier(vk, commands, object, layout, init->want.layout, family, init->want.family);
    return result;
}

/* What a queue records in a round: releases of content that queue `by` works with, the work, acquires of what it
 * released. */
static bool has_part(const hd_vk *vk, const hdi_vk_init *init, uint32_t q, uint32_t round, uint32_t by)
{
    uint32_t family = vk->queues[by].desc.family;
    const hdi_vk_history *content = content_of(init);
    uint32_t from = content ? content->held[init->index].family : HD_NONE;
    if (!object_of(init)->buffer && init->want.layout == VK_IMAGE_LAYOUT_UNDEFINED)
        return false;
    if (round == 0)
        return from != HD_NONE && from != family && queue_of_family(vk, from) == q;
    if (round == 1)
        return by == q;
    return (init->source || init->clear) && init->want.family != HD_NONE && init->want.family != family &&
           queue_of_family(vk, init->want.family) == q;
}

static hd_result record_part(const hdi_vk_frame *frame, VkCommandBuffer commands, const hdi_vk_init *init, uint32_t q,
                             uint32_t round, uint32_t by, zeros *z)
{
    const hd_vk *vk = frame->vk;
    uint32_t family = vk->queues[by].desc.family, to;
    hdi_vk_object *object = object_of(init);
    hdi_vk_held from;
    if (round == 1)
        return record_init(frame, commands, init, q, z);
    if (round == 2)
        record_barrier(vk, commands, object, object->buffer ? VK_IMAGE_LAYOUT_UNDEFINED : worked_layout(vk, init, by),
                       init->want.layout, family, init->want.family);
    else if (arrival(init, &object, &from, &to))
        record_barrier(vk, commands, object, from.layout, to, from.family, family);
    return HD_OK;
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

static hd_result submit_round(hdi_vk_frame *frame, uint32_t q, uint32_t round, zeros *z)
{
    hd_vk *vk = frame->vk;
    hdi_vk_pool *pool = NULL;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    hd_result result = HD_OK;
    for (uint32_t i = 0; i < frame->init_count && result == HD_OK; i++) {
        const hdi_vk_init *init = &frame->inits[i];
        uint32_t by = choose_queue(vk, init);
        if (!has_part(vk, init, q, round, by))
            continue;
        if (!pool) {
            pool = hdi_vk_pool_take(vk, frame->slot, hdi_vk_pool_kind(vk->queues[q].family_index, false), &result);
            if (pool)
                result = hdi_vk_pool_begin(vk, pool, NULL, &commands);
            if (result != HD_OK)
                break;
        }
        result = record_part(frame, commands, init, q, round, by, z);
    }
    if (pool && result == HD_OK)
        result = hdi_vk_result(vk, vk->fn.vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    if (pool)
        hdi_vk_pool_give(vk, frame->slot, pool);
    return pool && result == HD_OK ? submit_one(vk, q, commands) : result;
}

/* How the objects are now, whatever becomes of the frame; or that nothing is known of them. */
static void settle(const hd_vk *vk, const hdi_vk_init *init, bool done)
{
    uint32_t by = choose_queue(vk, init);
    hdi_vk_history *source = init->source;
    init->history->lost |= !done;
    if (source) {
        hdi_vk_held *held = &source->held[init->index];
        source->lost |= !done;
        held->layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
        held->family = held->family == HD_NONE ? HD_NONE : vk->queues[by].desc.family;
    }
    init->history->held[init->index] = init->want;
}

hd_result hdi_vk_submit_inits(hdi_vk_frame *frame)
{
    hd_result result = HD_OK;
    zeros z = {0};
    if (frame->init_count == 0)
        return HD_OK;
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t q = 0; q < frame->vk->queue_count && result == HD_OK; q++)
            result = submit_round(frame, q, round, &z);
    }
    for (uint32_t i = 0; i < frame->init_count; i++)
        settle(frame->vk, &frame->inits[i], result == HD_OK);
    return result;
}
