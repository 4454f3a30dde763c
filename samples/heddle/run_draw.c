#include "run_state.h"

/* What happens inside a rendering scope: attachments cleared, added to and tested, and checks that read in graphics
 * stages, which draw without attachments. Each subresource gets a scope of its own, so that levels and sizes may differ
 * within a pass. */

static void set_area(run *r, VkCommandBuffer commands, uint32_t width, uint32_t height)
{
    VkViewport viewport = {0, 0, (float)width, (float)height, 0, 1};
    VkRect2D scissor = {{0, 0}, {width, height}};
    r->CmdSetViewport(commands, 0, 1, &viewport);
    r->CmdSetScissor(commands, 0, 1, &scissor);
}

static void begin(run *r, VkCommandBuffer commands, uint32_t width, uint32_t height,
                  const VkRenderingAttachmentInfo *color, const VkRenderingAttachmentInfo *depth)
{
    VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                            .renderArea = {{0, 0}, {width, height}},
                            .layerCount = 1,
                            .colorAttachmentCount = color != NULL,
                            .pColorAttachments = color,
                            .pDepthAttachment = depth};
    r->CmdBeginRendering(commands, &info);
    set_area(r, commands, width, height);
}

static VkRenderingAttachmentInfo attachment(run *r, hd_recorder *recorder, const run_op *op, bool clear)
{
    const run_format *format = run_format_of(r->res[op->res].format);
    VkRenderingAttachmentInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                      .imageView = run_view(r, recorder, op),
                                      .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                      .loadOp = clear ? VK_ATTACHMENT_LOAD_OP_CLEAR : VK_ATTACHMENT_LOAD_OP_LOAD,
                                      .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    for (int c = 0; c < 4; c++)
        info.clearValue.color.float32[c] = (float)op->cell.c[c] * format->scale;
    if (op->access != HD_COLOR_WRITE && op->access != HD_COLOR_RW)
        info.imageLayout = op->access == HD_DEPTH_READ ? VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL
                                                       : VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    if (op->access == HD_DEPTH_READ)
        info.storeOp = VK_ATTACHMENT_STORE_OP_NONE;
    return info;
}

/* Fragments just behind and just before what is expected: whichever passes shows that something else is there. */
static void test_depth(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    run_push push = run_push_of(r, slot, op);
    float expect = push.expect[0];
    const float off = 1.0f / 32768;
    const VkShaderStageFlags stages =
        VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_COMPUTE_BIT;
    push.depth = expect + off;
    run_bind(r, recorder, op, RUN_DEPTH, VK_PIPELINE_BIND_POINT_GRAPHICS, &push);
    r->CmdSetDepthWriteEnable(commands, VK_FALSE);
    r->CmdSetDepthCompareOp(commands, VK_COMPARE_OP_LESS);
    r->CmdDraw(commands, 3, 1, 0, 0);
    if (expect <= 0)
        return;
    push.depth = expect - off;
    r->CmdPushConstants(commands, r->layout, stages, 0, sizeof(push), &push);
    r->CmdSetDepthCompareOp(commands, VK_COMPARE_OP_GREATER);
    r->CmdDraw(commands, 3, 1, 0, 0);
}

static void attach(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    bool color = op->access == HD_COLOR_WRITE || op->access == HD_COLOR_RW;
    bool clear = op->access == HD_COLOR_WRITE || op->access == HD_DEPTH_WRITE;
    VkRenderingAttachmentInfo info = attachment(r, recorder, op, clear);
    run_push push = run_push_of(r, slot, op);
    begin(r, commands, op->width, op->height, color ? &info : NULL, color ? NULL : &info);
    if (op->access == HD_COLOR_RW) {
        run_bind(r, recorder, op, RUN_COLOR + run_format_index(r->res[op->res].format), VK_PIPELINE_BIND_POINT_GRAPHICS,
                 &push);
        r->CmdDraw(commands, 3, 1, 0, 0);
    } else if (!op->write) {
        test_depth(r, slot, recorder, op);
    } else if (op->access == HD_DEPTH_RW) {
        push.depth = push.value[0];
        run_bind(r, recorder, op, RUN_DEPTH_WRITE, VK_PIPELINE_BIND_POINT_GRAPHICS, &push);
        r->CmdSetDepthWriteEnable(commands, VK_TRUE);
        r->CmdSetDepthCompareOp(commands, VK_COMPARE_OP_ALWAYS);
        r->CmdDraw(commands, 3, 1, 0, 0);
    }
    r->CmdEndRendering(commands);
}

/* Blocks of words, spread evenly over the range. */
static void draw_blocks(run *r, VkCommandBuffer commands, const run_op *op, bool indexed)
{
    uint64_t words = (op->end - op->begin) / 4, block = words < 256 ? words : 256;
    uint32_t blocks = words > 256 ? 16 : 1;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t first = (uint32_t)(blocks > 1 ? (words - block) / (blocks - 1) * b : 0);
        if (indexed)
            r->CmdDrawIndexed(commands, (uint32_t)block, 1, first, 0, 0);
        else
            r->CmdDraw(commands, (uint32_t)block, 1, first, 0);
    }
}

static void draw_buffer(run *r, hd_recorder *recorder, const run_op *op, run_push *push)
{
    const VkPipelineBindPoint point = VK_PIPELINE_BIND_POINT_GRAPHICS;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkBuffer buffer = hd_vk_buffer(recorder, r->res[op->res].handle);
    if (op->access == HD_UNIFORM_READ) {
        run_push mine = *push;
        mine.nx = 64;
        run_bind(r, recorder, op, RUN_UNIFORM_FRAG, point, &mine);
        r->CmdDraw(commands, 3, 1, 0, 0);
    } else if (op->access == HD_VERTEX_READ) {
        run_bind(r, recorder, op, RUN_ATTRIBUTE_VERT, point, push);
        r->CmdBindVertexBuffers(commands, 0, 1, &buffer, &op->begin);
        draw_blocks(r, commands, op, false);
    } else if (op->access == HD_INDEX_READ) {
        run_bind(r, recorder, op, RUN_INDEX_VERT, point, push);
        r->CmdBindIndexBuffer(commands, buffer, op->begin, VK_INDEX_TYPE_UINT32);
        draw_blocks(r, commands, op, true);
    } else {
        run_bind(r, recorder, op, RUN_INDIRECT_VERT, point, push);
        r->CmdDrawIndirect(commands, buffer, op->begin, 1, 16);
        r->CmdDrawIndirect(commands, buffer, op->end - 16, 1, 16);
    }
}

void run_draw(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    run_push push = run_push_of(r, slot, op);
    switch (op->access) {
    case HD_SAMPLED_GRAPHICS:
        begin(r, commands, push.nx, push.ny, NULL, NULL);
        run_bind(r, recorder, op, RUN_IMAGE_FRAG, VK_PIPELINE_BIND_POINT_GRAPHICS, &push);
        r->CmdDraw(commands, 3, 1, 0, 0);
        r->CmdEndRendering(commands);
        break;
    case HD_UNIFORM_READ:
    case HD_VERTEX_READ:
    case HD_INDEX_READ:
    case HD_INDIRECT_READ:
        begin(r, commands, 64, 64, NULL, NULL);
        draw_buffer(r, recorder, op, &push);
        r->CmdEndRendering(commands);
        break;
    default:
        attach(r, slot, recorder, op);
    }
}
