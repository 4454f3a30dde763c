#include "run_state.h"

/* Accesses of transfers: checks copy samples to the slot's staging memory, writes copy from it, fill or clear. */

static VkImage image_of(const run *r, hd_recorder *recorder, const run_op *op)
{
    return op->pass == HD_NONE ? r->imports[op->res].image : hd_vk_image(recorder, r->res[op->res].handle);
}

static void copy_buffer_out(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op)
{
    uint64_t bytes = op->end - op->begin, whole = op->samples * UINT64_C(4);
    VkBufferCopy regions[4];
    uint32_t count = bytes > whole ? 4 : 1;
    for (uint32_t i = 0; i < count; i++) { /* blocks spread evenly */
        uint64_t part = whole / count, from = count == 1 ? 0 : (bytes - part) / (count - 1) * i & ~UINT64_C(3);
        regions[i] = (VkBufferCopy){op->begin + from, op->staging + part * i, part};
    }
    r->CmdCopyBuffer(hd_vk_commands(recorder), run_buffer(r, recorder, op), slot->staging.buffer, count, regions);
}

static VkImageAspectFlags aspect_of(const run *r, const run_op *op)
{
    return r->res[op->res].format == VK_FORMAT_D32_SFLOAT ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT;
}

static void copy_image_out(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op)
{
    VkBufferImageCopy regions[64];
    uint32_t nx = op->width < 8 ? op->width : 8;
    for (uint32_t s = 0; s < op->samples; s++) {
        uint32_t x = s % nx, y = s / nx, ny = op->samples / nx;
        regions[s] = (VkBufferImageCopy){
            .bufferOffset = op->staging + 16 * (uint64_t)s,
            .imageSubresource = {aspect_of(r, op), op->mip, op->layer, 1},
            .imageOffset = {(int32_t)(nx > 1 ? x * (op->width - 1) / (nx - 1) : 0),
                            (int32_t)(ny > 1 ? y * (op->height - 1) / (ny - 1) : 0), 0},
            .imageExtent = {1, 1, 1},
        };
    }
    r->CmdCopyImageToBuffer(hd_vk_commands(recorder), image_of(r, recorder, op), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                            slot->staging.buffer, op->samples, regions);
}

static void copy_image_in(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op)
{
    VkBufferImageCopy regions[64];
    uint32_t count = 0;
    for (uint32_t y = 0; y < op->height; y += op->samples) {
        uint32_t rows = op->height - y < op->samples ? op->height - y : op->samples;
        regions[count++] = (VkBufferImageCopy){.bufferOffset = op->staging,
                                               .imageSubresource = {aspect_of(r, op), op->mip, op->layer, 1},
                                               .imageOffset = {0, (int32_t)y, 0},
                                               .imageExtent = {op->width, rows, 1}};
        if (count == 64 || y + rows == op->height) {
            r->CmdCopyBufferToImage(hd_vk_commands(recorder), slot->staging.buffer, image_of(r, recorder, op),
                                    VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, count, regions);
            count = 0;
        }
    }
}

static void clear_image(run *r, hd_recorder *recorder, const run_op *op)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    const run_format *format = run_format_of(r->res[op->res].format);
    VkImageSubresourceRange range = {aspect_of(r, op), op->mip, 1, op->layer, 1};
    if (range.aspectMask == VK_IMAGE_ASPECT_DEPTH_BIT) {
        VkClearDepthStencilValue depth = {(float)op->cell.c[0] * format->scale, 0};
        r->CmdClearDepthStencilImage(commands, image_of(r, recorder, op), VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &depth,
                                     1, &range);
        return;
    }
    VkClearColorValue color;
    for (int c = 0; c < 4; c++)
        color.float32[c] = (float)op->cell.c[c] * format->scale;
    r->CmdClearColorImage(commands, image_of(r, recorder, op), VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1, &range);
}

void run_copy_out(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    if (r->res[op->res].buffer)
        copy_buffer_out(r, slot, recorder, op);
    else
        copy_image_out(r, slot, recorder, op);
}

/* Images are cleared every other time, where the queue can clear them; else they are copied. */
void run_copy_in(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    uint32_t kind = op->pass != HD_NONE ? r->queue_kind[op->pass] : r->has_gfx ? HD_QUEUE_GFX : HD_QUEUE_TRANSFER;
    bool depth = r->res[op->res].format == VK_FORMAT_D32_SFLOAT;
    if (r->res[op->res].buffer)
        r->CmdFillBuffer(hd_vk_commands(recorder), run_buffer(r, recorder, op), op->begin, op->end - op->begin,
                         (uint32_t)op->cell.c[0]);
    else if (kind == HD_QUEUE_TRANSFER || (depth && kind != HD_QUEUE_GFX) || (op->use + slot->frame) % 2)
        copy_image_in(r, slot, recorder, op);
    else
        clear_image(r, recorder, op);
}
