#include "capture_state.h"

/* State of command buffers: pipelines, descriptors, push constants, dynamic state. Kept where hd_capture_desc.state
 * asks for it. Vertex and index buffers are in capture_draw.c. */

/* Dynamic state with one value or structure: what it is called, what it takes, what it hands on. */
#define DYNAMIC(X)                                                                                                     \
    X(vkCmdSetViewport, HD_STREAM_STATE_VIEWPORT, (uint32_t first, uint32_t n, const VkViewport *v), (first, n, v))    \
    X(vkCmdSetScissor, HD_STREAM_STATE_SCISSOR, (uint32_t first, uint32_t n, const VkRect2D *r), (first, n, r))        \
    X(vkCmdSetViewportWithCount, HD_STREAM_STATE_VIEWPORT, (uint32_t n, const VkViewport *v), (n, v))                  \
    X(vkCmdSetScissorWithCount, HD_STREAM_STATE_SCISSOR, (uint32_t n, const VkRect2D *r), (n, r))                      \
    X(vkCmdSetLineWidth, HD_STREAM_STATE_DYNAMIC(0), (float width), (width))                                           \
    X(vkCmdSetDepthBias, HD_STREAM_STATE_DYNAMIC(1), (float c, float clamp, float slope), (c, clamp, slope))           \
    X(vkCmdSetBlendConstants, HD_STREAM_STATE_DYNAMIC(2), (const float blend[4]), (blend))                             \
    X(vkCmdSetDepthBounds, HD_STREAM_STATE_DYNAMIC(3), (float least, float most), (least, most))                       \
    X(vkCmdSetStencilCompareMask, HD_STREAM_STATE_DYNAMIC(4), (VkStencilFaceFlags f, uint32_t m), (f, m))              \
    X(vkCmdSetStencilWriteMask, HD_STREAM_STATE_DYNAMIC(5), (VkStencilFaceFlags f, uint32_t m), (f, m))                \
    X(vkCmdSetStencilReference, HD_STREAM_STATE_DYNAMIC(6), (VkStencilFaceFlags f, uint32_t r), (f, r))                \
    X(vkCmdSetCullMode, HD_STREAM_STATE_DYNAMIC(7), (VkCullModeFlags mode), (mode))                                    \
    X(vkCmdSetFrontFace, HD_STREAM_STATE_DYNAMIC(8), (VkFrontFace face), (face))                                       \
    X(vkCmdSetPrimitiveTopology, HD_STREAM_STATE_DYNAMIC(9), (VkPrimitiveTopology topology), (topology))               \
    X(vkCmdSetDepthTestEnable, HD_STREAM_STATE_DYNAMIC(10), (VkBool32 on), (on))                                       \
    X(vkCmdSetDepthWriteEnable, HD_STREAM_STATE_DYNAMIC(11), (VkBool32 on), (on))                                      \
    X(vkCmdSetDepthCompareOp, HD_STREAM_STATE_DYNAMIC(12), (VkCompareOp op), (op))                                     \
    X(vkCmdSetDepthBoundsTestEnable, HD_STREAM_STATE_DYNAMIC(13), (VkBool32 on), (on))                                 \
    X(vkCmdSetStencilTestEnable, HD_STREAM_STATE_DYNAMIC(14), (VkBool32 on), (on))                                     \
    X(vkCmdSetStencilOp, HD_STREAM_STATE_DYNAMIC(15),                                                                  \
      (VkStencilFaceFlags f, VkStencilOp a, VkStencilOp b, VkStencilOp c, VkCompareOp d), (f, a, b, c, d))             \
    X(vkCmdSetRasterizerDiscardEnable, HD_STREAM_STATE_DYNAMIC(16), (VkBool32 on), (on))                               \
    X(vkCmdSetDepthBiasEnable, HD_STREAM_STATE_DYNAMIC(17), (VkBool32 on), (on))                                       \
    X(vkCmdSetPrimitiveRestartEnable, HD_STREAM_STATE_DYNAMIC(18), (VkBool32 on), (on))

#define SPREAD(...) , __VA_ARGS__
#define DECLARE(name, state, takes, gives) HDI_CAP_NEXT(name)
DYNAMIC(DECLARE)
HDI_CAP_NEXT(vkCmdBindPipeline)
HDI_CAP_NEXT(vkCmdBindDescriptorSets)
HDI_CAP_NEXT(vkCmdPushDescriptorSetKHR)
HDI_CAP_NEXT(vkCmdPushConstants)

void hdi_cap_state_locked(VkCommandBuffer commands, const char *name, uint64_t sets, uint64_t uses)
{
    hdi_cap_commands *c = hdi_cap.with_state && sets ? hdi_cap_commands_locked(commands) : NULL;
    hd_stream_command *command = c ? hdi_cap_command_locked(c, HD_STREAM_ACCESS, name) : NULL;
    if (!command)
        return;
    command->sets = sets;
    command->uses = uses;
}

static void note(VkCommandBuffer commands, const char *name, uint64_t sets, uint64_t uses)
{
    if (!hdi_cap.with_state)
        return;
    hdi_cap_lock();
    hdi_cap_state_locked(commands, name, sets, uses);
    hdi_cap_unlock();
}

#define HOOK(name, state, takes, gives)                                                                                \
    static void VKAPI_PTR hook_##name(VkCommandBuffer commands SPREAD takes)                                           \
    {                                                                                                                  \
        note(commands, #name, state, 0);                                                                               \
        NEXT(name)(commands SPREAD gives);                                                                             \
    }
DYNAMIC(HOOK)

/* Other bind points (ray tracing) have no bits. */
static uint64_t sets_of(VkPipelineBindPoint point, uint32_t first, uint32_t count)
{
    uint64_t sets = 0;
    for (uint32_t i = first; i < first + count && (uint32_t)point < 2; i++)
        sets |= HD_STREAM_STATE_SET((uint32_t)point, i < 7 ? i : 7);
    return sets;
}

static void VKAPI_PTR hook_vkCmdBindPipeline(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline)
{
    note(commands, "vkCmdBindPipeline", (uint32_t)point < 2 ? HD_STREAM_STATE_PIPELINE((uint32_t)point) : 0, 0);
    NEXT(vkCmdBindPipeline)(commands, point, pipeline);
}

static void VKAPI_PTR hook_vkCmdBindDescriptorSets(VkCommandBuffer commands, VkPipelineBindPoint point,
                                                   VkPipelineLayout layout, uint32_t first, uint32_t count,
                                                   const VkDescriptorSet *sets, uint32_t offset_count,
                                                   const uint32_t *offsets)
{
    note(commands, "vkCmdBindDescriptorSets", sets_of(point, first, count), 0);
    NEXT(vkCmdBindDescriptorSets)(commands, point, layout, first, count, sets, offset_count, offsets);
}

/* Descriptors that are not pushed stay: it builds on what was pushed before. */
static void VKAPI_PTR hook_vkCmdPushDescriptorSetKHR(VkCommandBuffer commands, VkPipelineBindPoint point,
                                                     VkPipelineLayout layout, uint32_t set, uint32_t count,
                                                     const VkWriteDescriptorSet *writes)
{
    note(commands, "vkCmdPushDescriptorSetKHR", sets_of(point, set, 1), sets_of(point, set, 1));
    NEXT(vkCmdPushDescriptorSetKHR)(commands, point, layout, set, count, writes);
}

/* Bytes beside the range stay. */
static void VKAPI_PTR hook_vkCmdPushConstants(VkCommandBuffer commands, VkPipelineLayout layout,
                                              VkShaderStageFlags stages, uint32_t offset, uint32_t bytes,
                                              const void *values)
{
    note(commands, "vkCmdPushConstants", HD_STREAM_STATE_PUSH, HD_STREAM_STATE_PUSH);
    NEXT(vkCmdPushConstants)(commands, layout, stages, offset, bytes, values);
}

#define ENTRY(name, state, takes, gives) HDI_CAP_ENTRY(name)
/* The same functions by the names that they had as extensions. */
#define OLD(name) {#name "EXT", (PFN_vkVoidFunction)hook_##name, &next_##name},
static const hdi_cap_hook hooks[] = {
    DYNAMIC(ENTRY) HDI_CAP_ENTRY(vkCmdBindPipeline) HDI_CAP_ENTRY(vkCmdBindDescriptorSets)
        HDI_CAP_ENTRY(vkCmdPushDescriptorSetKHR) HDI_CAP_ENTRY(vkCmdPushConstants) OLD(vkCmdSetViewportWithCount)
            OLD(vkCmdSetScissorWithCount) OLD(vkCmdSetCullMode) OLD(vkCmdSetFrontFace) OLD(vkCmdSetPrimitiveTopology)
                OLD(vkCmdSetDepthTestEnable) OLD(vkCmdSetDepthWriteEnable) OLD(vkCmdSetDepthCompareOp)
                    OLD(vkCmdSetDepthBoundsTestEnable) OLD(vkCmdSetStencilTestEnable) OLD(vkCmdSetStencilOp)
                        OLD(vkCmdSetRasterizerDiscardEnable) OLD(vkCmdSetDepthBiasEnable)
                            OLD(vkCmdSetPrimitiveRestartEnable)};
const hdi_cap_hooks hdi_cap_bind_hooks = {hooks, sizeof(hooks) / sizeof(hooks[0]), false};
