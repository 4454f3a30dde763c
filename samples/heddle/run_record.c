#include "run_state.h"

#include <string.h>

/* What a pass does: its checks, then its writes, each by the means of its access and on the stages that the access
 * names. Between the two of one storage_rw_compute stands a barrier of the pass's own: it reads before it writes. */

static VkImage image_of(const run *r, hd_recorder *recorder, const run_op *op)
{
    return op->pass == HD_NONE ? r->imports[op->res].image : hd_vk_image(recorder, r->res[op->res].handle);
}

static VkBuffer buffer_of(const run *r, hd_recorder *recorder, const run_op *op)
{
    return op->pass == HD_NONE ? r->imports[op->res].buffer : hd_vk_buffer(recorder, r->res[op->res].handle);
}

VkImageView run_view(const run *r, hd_recorder *recorder, const run_op *op)
{
    hd_range one = {.mip_base = (uint16_t)op->mip, .mip_count = 1, .layer_base = op->layer, .layer_count = 1};
    return hd_vk_view(recorder, r->res[op->res].handle, &one);
}

run_push run_push_of(const run *r, const run_slot *slot, const run_op *op)
{
    const run_format *format = run_format_of(r->res[op->res].format);
    run_push push = {.slot = (uint32_t)(op - slot->ops),
                     .word = (uint32_t)op->cell.c[0],
                     .width = op->width,
                     .height = op->height,
                     .nx = op->width < 32 ? op->width : 32,
                     .ny = op->height < 32 ? op->height : 32,
                     .channels = format->channels,
                     .tolerance = format->tolerance};
    for (int c = 0; c < 4; c++)
        push.expect[c] = push.value[c] = (float)op->cell.c[c] * format->scale;
    return push;
}

/* Where a binding begins: its offset is aligned, by no more than needed, as a stream verifier takes the binding for
 * what is accessed. The words are counted from there. */
static uint64_t aligned(const run *r, const run_op *op, run_push *push, uint64_t bytes)
{
    uint64_t storage = r->limits.minStorageBufferOffsetAlignment, uniform = r->limits.minUniformBufferOffsetAlignment;
    uint64_t unit = storage > uniform ? storage : uniform;
    uint64_t offset = op->begin & ~(unit - 1), end = op->begin + bytes < op->end ? op->begin + bytes : op->end;
    push->first = (uint32_t)((op->begin - offset) / 4);
    push->last = (uint32_t)((end - offset) / 4);
    return offset;
}

void run_bind(run *r, hd_recorder *recorder, const run_op *op, run_program program, VkPipelineBindPoint point,
              run_push *push)
{
    const run_slot *slot = &r->slots[hd_vk_frame_index(recorder) % RUN_SLOTS];
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkDescriptorBufferInfo buffers[2] = {{slot->counts.buffer, 0, VK_WHOLE_SIZE}};
    VkDescriptorImageInfo image = {.imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    VkWriteDescriptorSet writes[2];
    uint32_t count = 2, binding = 0;
    for (uint32_t w = 0; w < 2; w++)
        writes[w] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = op->set,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &buffers[w],
                                           .pImageInfo = &image};
    if (program == RUN_BUFFER_COMP || program == RUN_FILL_COMP) {
        uint64_t offset = aligned(r, op, push, UINT64_MAX / 2);
        buffers[1] = (VkDescriptorBufferInfo){buffer_of(r, recorder, op), offset, op->end - offset};
        binding = 1;
    } else if (program == RUN_UNIFORM_COMP || program == RUN_UNIFORM_FRAG) {
        uint64_t offset = aligned(r, op, push, 15000), left = r->res[op->res].bytes - offset;
        uint64_t range = ((uint64_t)push->last * 4 + 15) & ~UINT64_C(15);
        buffers[1] = (VkDescriptorBufferInfo){buffer_of(r, recorder, op), offset, left < range ? left : range};
        writes[1].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        binding = 2;
    } else if (program == RUN_IMAGE_COMP || program == RUN_IMAGE_FRAG) {
        image.imageView = run_view(r, recorder, op);
        image.imageLayout = op->sampled_depth ? VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL
                                              : VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
        writes[1].descriptorType = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
        binding = 3;
    } else if (program == RUN_STORE_COMP || (program >= RUN_STORAGE_COMP && program < RUN_STORAGE_COMP + 5)) {
        image.imageView = run_view(r, recorder, op);
        writes[1].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
        binding = 4;
    } else {
        count = 1;
    }
    writes[1].dstBinding = binding;
    r->UpdateDescriptorSets(r->info.device, count, writes, 0, NULL);
    r->CmdBindPipeline(commands, point, r->programs[program]);
    r->CmdBindDescriptorSets(commands, point, r->layout, 0, 1, &op->set, 0, NULL);
    r->CmdPushConstants(commands, r->layout,
                        VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        sizeof(*push), push);
}

static void dispatch(run *r, hd_recorder *recorder, const run_op *op, run_program program, run_push *push)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    run_bind(r, recorder, op, program, VK_PIPELINE_BIND_POINT_COMPUTE, push);
    uint32_t words = push->last - push->first, points = push->nx * push->ny;
    if (program == RUN_STORE_COMP)
        r->CmdDispatch(commands, (op->width + 7) / 8, (op->height + 7) / 8, 1);
    else if (program == RUN_FILL_COMP)
        r->CmdDispatch(commands, words < 64 * 1024 ? (words + 63) / 64 : 1024, 1, 1);
    else
        r->CmdDispatch(commands, ((words ? words < 4096 ? words : 4096 : points) + 63) / 64, 1, 1);
}

/* ---- copies ---- */

static void copy_buffer_out(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op)
{
    uint64_t bytes = op->end - op->begin, whole = op->samples * UINT64_C(4);
    VkBufferCopy regions[4];
    uint32_t count = bytes > whole ? 4 : 1;
    for (uint32_t i = 0; i < count; i++) { /* blocks spread evenly */
        uint64_t part = whole / count, from = count == 1 ? 0 : (bytes - part) / (count - 1) * i & ~UINT64_C(3);
        regions[i] = (VkBufferCopy){op->begin + from, op->staging + part * i, part};
    }
    r->CmdCopyBuffer(hd_vk_commands(recorder), buffer_of(r, recorder, op), slot->staging.buffer, count, regions);
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

/* Clears where the queue can, and every other time; copies else. */
static void transfer_in(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op)
{
    uint32_t kind = op->pass != HD_NONE ? r->queue_kind[op->pass] : r->has_gfx ? HD_QUEUE_GFX : HD_QUEUE_TRANSFER;
    bool depth = r->res[op->res].format == VK_FORMAT_D32_SFLOAT;
    if (r->res[op->res].buffer)
        r->CmdFillBuffer(hd_vk_commands(recorder), buffer_of(r, recorder, op), op->begin, op->end - op->begin,
                         (uint32_t)op->cell.c[0]);
    else if (kind == HD_QUEUE_TRANSFER || (depth && kind != HD_QUEUE_GFX) || (op->use + slot->frame) % 2)
        copy_image_in(r, slot, recorder, op);
    else
        clear_image(r, recorder, op);
}

/* ---- one operation ---- */

static void indirect(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op)
{
    run_push push = run_push_of(r, slot, op);
    if (op->end - op->begin < 16) /* too short to hold a command */
        return;
    if (r->decl.pass_type[op->pass] == HD_PASS_GFX) {
        run_draw(r, slot, recorder, op);
        return;
    }
    run_bind(r, recorder, op, RUN_INDIRECT_COMP, VK_PIPELINE_BIND_POINT_COMPUTE, &push);
    r->CmdDispatchIndirect(hd_vk_commands(recorder), buffer_of(r, recorder, op), op->begin);
    r->CmdDispatchIndirect(hd_vk_commands(recorder), buffer_of(r, recorder, op), op->end - 12);
}

static void check(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op)
{
    run_push push = run_push_of(r, slot, op);
    bool buffer = r->res[op->res].buffer;
    switch (op->access) {
    case HD_SAMPLED_COMPUTE:
        dispatch(r, recorder, op, RUN_IMAGE_COMP, &push);
        break;
    case HD_STORAGE_READ_COMPUTE:
    case HD_STORAGE_RW_COMPUTE:
        dispatch(r, recorder, op,
                 buffer ? RUN_BUFFER_COMP : (run_program)run_format_of(r->res[op->res].format)->storage, &push);
        break;
    case HD_UNIFORM_READ_COMPUTE:
        dispatch(r, recorder, op, RUN_UNIFORM_COMP, &push);
        break;
    case HD_TRANSFER_SRC:
        if (buffer)
            copy_buffer_out(r, slot, recorder, op);
        else
            copy_image_out(r, slot, recorder, op);
        break;
    case HD_INDIRECT_READ:
        indirect(r, slot, recorder, op);
        break;
    default:
        run_draw(r, slot, recorder, op);
    }
}

static void write(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op)
{
    run_push push = run_push_of(r, slot, op);
    switch (op->access) {
    case HD_TRANSFER_DST:
        transfer_in(r, slot, recorder, op);
        break;
    case HD_STORAGE_WRITE_COMPUTE:
    case HD_STORAGE_RW_COMPUTE:
        dispatch(r, recorder, op, r->res[op->res].buffer ? RUN_FILL_COMP : RUN_STORE_COMP, &push);
        break;
    default:
        run_draw(r, slot, recorder, op);
    }
}

static void host(run *r, run_slot *slot, hd_recorder *recorder, uint32_t first, uint32_t end)
{
    for (uint32_t o = first; o < end; o++) {
        run_op *op = &slot->ops[o];
        uint32_t *words = r->imports[op->res].mapped ? r->imports[op->res].mapped
                                                     : hd_vk_mapped(recorder, r->res[op->res].handle);
        uint32_t wrong = !words && !op->write;
        for (uint64_t w = op->begin / 4; words && w < op->end / 4; w++) {
            if (op->write)
                words[w] = (uint32_t)op->cell.c[0];
            else
                wrong += words[w] != (uint32_t)op->cell.c[0];
        }
        atomic_fetch_add(&op->host_wrong, wrong);
    }
}

/* Between the read and the write of one use that does both. */
static void own_barrier(run *r, VkCommandBuffer commands, VkPipelineStageFlags2 stages, VkAccessFlags2 access)
{
    VkMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                .srcStageMask = stages,
                                .srcAccessMask = access,
                                .dstStageMask = stages,
                                .dstAccessMask = access};
    VkDependencyInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
    r->CmdPipelineBarrier2(commands, &info);
}

void run_record(hd_recorder *recorder, void *user)
{
    const run_pass *pass = user;
    run *r = pass->run;
    run_slot *slot = &r->slots[hd_vk_frame_index(recorder) % RUN_SLOTS];
    VkCommandBuffer commands = hd_vk_commands(recorder);
    bool all = pass->pass == HD_NONE, fenced = false;
    uint32_t first = all ? 0 : slot->op_begin[pass->pass], end = all ? slot->op_count : slot->op_begin[pass->pass + 1];
    if (!commands) {
        host(r, slot, recorder, first, end);
        return;
    }
    bool timed = !all && r->queue_kind[pass->pass] <= HD_QUEUE_COMPUTE &&
                 r->timestamp_bits[r->pass_queue[pass->pass]];
    if (timed) {
        r->CmdResetQueryPool(commands, slot->queries, 2 * pass->pass, 2);
        r->CmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, slot->queries, 2 * pass->pass);
    }
    for (uint32_t o = first; o < end; o++) {
        const run_op *op = &slot->ops[o];
        if (op->write && op->access == HD_STORAGE_RW_COMPUTE && !fenced) {
            own_barrier(r, commands, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, 0);
            fenced = true;
        }
        if (op->write && op->access == HD_DEPTH_RW) /* the check has stored what it loaded */
            own_barrier(r, commands,
                        VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT,
                        VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT | VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT);
        if (op->write)
            write(r, slot, recorder, op);
        else
            check(r, slot, recorder, op);
    }
    if (timed)
        r->CmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, slot->queries, 2 * pass->pass + 1);
}
