#include "run_state.h"

#include <string.h>

/* What a pass does: its checks, then its writes, each by the means of its access (run_access.c) and in the stages that
 * the access names. Between the two of an access that reads and writes stands a barrier of the pass's own. */

VkBuffer run_buffer(const run *r, hd_recorder *recorder, const run_op *op)
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

/* The binding beside that of the counts, by the program; 0: none. */
static uint32_t binding_of(run_program program)
{
    switch (program) {
    case RUN_BUFFER_COMP:
    case RUN_BUFFER_FRAG:
    case RUN_FILL_COMP:
    case RUN_FILL_FRAG:
        return 1;
    case RUN_UNIFORM_COMP:
    case RUN_UNIFORM_FRAG:
        return 2;
    case RUN_IMAGE_COMP:
    case RUN_IMAGE_FRAG:
    case RUN_IMAGE_VERT:
        return 3;
    case RUN_STORE_COMP:
    case RUN_STORE_FRAG:
        return 4;
    default:
        return program - RUN_STORAGE_COMP < RUN_STORAGE_FORMATS || program - RUN_STORAGE_FRAG < RUN_STORAGE_FORMATS ? 4
                                                                                                                    : 0;
    }
}

void run_bind(run *r, hd_recorder *recorder, const run_op *op, run_program program, VkPipelineBindPoint point,
              run_push *push)
{
    const run_slot *slot = &r->slots[hd_vk_frame_index(recorder) % RUN_SLOTS];
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkDescriptorBufferInfo buffers[2] = {{slot->counts.buffer, 0, VK_WHOLE_SIZE}};
    VkDescriptorImageInfo image = {.imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    VkWriteDescriptorSet writes[2];
    const uint32_t binding = binding_of(program), count = binding ? 2 : 1;
    for (uint32_t w = 0; w < 2; w++)
        writes[w] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = op->set,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &buffers[w],
                                           .pImageInfo = &image};
    if (binding == 1) {
        uint64_t offset = aligned(r, op, push, UINT64_MAX / 2);
        buffers[1] = (VkDescriptorBufferInfo){run_buffer(r, recorder, op), offset, op->end - offset};
    } else if (binding == 2) {
        uint64_t offset = aligned(r, op, push, 15000), left = r->res[op->res].bytes - offset;
        uint64_t range = ((uint64_t)push->last * 4 + 15) & ~UINT64_C(15);
        buffers[1] = (VkDescriptorBufferInfo){run_buffer(r, recorder, op), offset, left < range ? left : range};
        writes[1].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    } else if (binding == 3) {
        image.imageView = run_view(r, recorder, op);
        image.imageLayout = op->sampled_depth ? VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL
                                              : VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
        writes[1].descriptorType = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
    } else if (binding == 4) {
        image.imageView = run_view(r, recorder, op);
        writes[1].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    }
    writes[1].dstBinding = binding;
    r->UpdateDescriptorSets(r->info.device, count, writes, 0, NULL);
    r->CmdBindPipeline(commands, point, r->programs[program]);
    r->CmdBindDescriptorSets(commands, point, r->layout, 0, 1, &op->set, 0, NULL);
    r->CmdPushConstants(commands, r->layout,
                        VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        sizeof(*push), push);
}

/* Between the checks and the writes of an access that reads and writes. */
static void own_barrier(run *r, VkCommandBuffer commands, const run_access *access)
{
    VkMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                .srcStageMask = access->between_stages,
                                .srcAccessMask = access->between_access,
                                .dstStageMask = access->between_stages,
                                .dstAccessMask = access->between_access};
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
    bool all = pass->pass == HD_NONE;
    uint32_t first = all ? 0 : slot->op_begin[pass->pass], end = all ? slot->op_count : slot->op_begin[pass->pass + 1];
    VkPipelineStageFlags2 fenced = 0; /* stages behind whose checks stands a barrier: no check follows a write */
    bool timed = commands && !all && r->queue_kind[pass->pass] <= HD_QUEUE_COMPUTE &&
                 r->timestamp_bits[r->pass_queue[pass->pass]];
    if (timed) {
        r->CmdResetQueryPool(commands, slot->queries, 2 * pass->pass, 2);
        r->CmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, slot->queries, 2 * pass->pass);
    }
    for (uint32_t o = first; o < end; o++) {
        run_op *op = &slot->ops[o];
        const run_access *access = run_access_of(op->access);
        if (op->write && access->between_stages & ~fenced) {
            own_barrier(r, commands, access);
            fenced |= access->between_stages;
        }
        (op->write ? access->write : access->check)(r, slot, recorder, op);
    }
    if (timed)
        r->CmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, slot->queries, 2 * pass->pass + 1);
}
