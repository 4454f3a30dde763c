#include "run_state.h"

/* Attachments cleared, added to and tested. Each subresource gets a rendering scope of its own, so that levels and
 * sizes may differ within a pass. */

static void set_area(run *r, VkCommandBuffer commands, uint32_t width, uint32_t height)
{
    VkViewport viewport = {0, 0, (float)width, (float)height, 0, 1};
    VkRect2D scissor = {{0, 0}, {width, height}};
    r->CmdSetViewport(commands, 0, 1, &viewport);
    r->CmdSetScissor(commands, 0, 1, &scissor);
}

void run_begin_rendering(run *r, VkCommandBuffer commands, uint32_t width, uint32_t height,
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

/* An access that only writes clears; one that only reads stores nothing. */
static VkRenderingAttachmentInfo attachment(run *r, hd_recorder *recorder, const run_op *op)
{
    const run_format *format = run_format_of(r->res[op->res].format);
    const hdi_access_info *access = &hdi_access_table[op->access];
    VkRenderingAttachmentInfo info = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = run_view(r, recorder, op),
        .imageLayout = (VkImageLayout)access->layout,
        .loadOp = access->reads ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = access->writes ? VK_ATTACHMENT_STORE_OP_STORE : VK_ATTACHMENT_STORE_OP_NONE};
    for (int c = 0; c < 4; c++)
        info.clearValue.color.float32[c] = (float)op->cell.c[c] * format->scale;
    return info;
}

static void attach(run *r, hd_recorder *recorder, const run_op *op)
{
    VkRenderingAttachmentInfo info = attachment(r, recorder, op);
    bool color = hdi_access_table[op->access].attachment == HDI_ATTACHMENT_COLOR;
    run_begin_rendering(r, hd_vk_commands(recorder), op->width, op->height, color ? &info : NULL,
                        color ? NULL : &info);
}

void run_clear(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    (void)slot;
    attach(r, recorder, op);
    r->CmdEndRendering(hd_vk_commands(recorder));
}

void run_add(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    run_program of_format = (run_program)(RUN_COLOR + run_format_index(r->res[op->res].format));
    run_push push = run_push_of(r, slot, op);
    attach(r, recorder, op);
    run_bind(r, recorder, op, of_format, VK_PIPELINE_BIND_POINT_GRAPHICS, &push);
    r->CmdDraw(commands, 3, 1, 0, 0);
    r->CmdEndRendering(commands);
}

void run_set_depth(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    run_push push = run_push_of(r, slot, op);
    push.depth = push.value[0];
    attach(r, recorder, op);
    run_bind(r, recorder, op, RUN_DEPTH_WRITE, VK_PIPELINE_BIND_POINT_GRAPHICS, &push);
    r->CmdSetDepthWriteEnable(commands, VK_TRUE);
    r->CmdSetDepthCompareOp(commands, VK_COMPARE_OP_ALWAYS);
    r->CmdDraw(commands, 3, 1, 0, 0);
    r->CmdEndRendering(commands);
}

/* Fragments just behind and just before the expected depth: one that passes the test shows that the depth is wrong. */
static void draw_tests(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op)
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

void run_test_depth(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    attach(r, recorder, op);
    draw_tests(r, slot, recorder, op);
    r->CmdEndRendering(hd_vk_commands(recorder));
}
