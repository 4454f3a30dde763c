#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* of functions that do nothing */

/* State of command buffers in a captured stream, over functions that do nothing. */

#define NOTHING(name, ...)                                                                                             \
    static void VKAPI_PTR fake_##name(VkCommandBuffer c, __VA_ARGS__)                                                  \
    {                                                                                                                  \
    }
NOTHING(vkCmdDispatch, uint32_t x, uint32_t y, uint32_t z)
NOTHING(vkCmdBindPipeline, VkPipelineBindPoint p, VkPipeline l)
NOTHING(vkCmdBindDescriptorSets, VkPipelineBindPoint p, VkPipelineLayout l, uint32_t f, uint32_t n,
        const VkDescriptorSet *s, uint32_t m, const uint32_t *o)
NOTHING(vkCmdSetScissor, uint32_t f, uint32_t n, const VkRect2D *r)
NOTHING(vkCmdPushConstants, VkPipelineLayout l, VkShaderStageFlags s, uint32_t o, uint32_t n, const void *v)
static VkResult VKAPI_PTR fake_vkQueueSubmit(VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f)
{
    return VK_SUCCESS;
}

static PFN_vkVoidFunction VKAPI_PTR fake_proc(VkInstance instance, const char *name)
{
#define FAKE(function)                                                                                                 \
    if (strcmp(name, #function) == 0)                                                                                  \
        return (PFN_vkVoidFunction)fake_##function;
    FAKE(vkCmdDispatch)
    FAKE(vkCmdBindPipeline)
    FAKE(vkCmdBindDescriptorSets)
    FAKE(vkCmdSetScissor)
    FAKE(vkCmdPushConstants)
    FAKE(vkQueueSubmit)
    return NULL;
}

#define COMMANDS ((VkCommandBuffer)(uintptr_t)1)
#define QUEUE ((VkQueue)(uintptr_t)2)
#define CALL(function) ((PFN_##function)hd_capture_get_instance_proc(NULL, #function))

/* Commands that set state, and what draws and dispatches use, where the capture is asked for that. */
Test(capture_state, of_a_dispatch)
{
    hd_stream *stream;
    hd_stream_graph *graph;
    VkCommandBuffer commands = COMMANDS;
    cr_assert_eq(hd_capture_open(&(hd_capture_desc){.get_instance_proc = fake_proc, .state = true}), HD_OK);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    CALL(vkCmdBindPipeline)(COMMANDS, VK_PIPELINE_BIND_POINT_COMPUTE, VK_NULL_HANDLE);
    CALL(vkCmdBindDescriptorSets)
    (COMMANDS, VK_PIPELINE_BIND_POINT_COMPUTE, VK_NULL_HANDLE, 1, 2, NULL, 0, NULL);
    CALL(vkCmdSetScissor)(COMMANDS, 0, 0, NULL);
    CALL(vkCmdPushConstants)(COMMANDS, VK_NULL_HANDLE, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, NULL);
    CALL(vkCmdPushConstants)(COMMANDS, VK_NULL_HANDLE, VK_SHADER_STAGE_COMPUTE_BIT, 4, 4, NULL);
    CALL(vkCmdDispatch)(COMMANDS, 1, 1, 1);
    CALL(vkQueueSubmit)
    (QUEUE, 1, &(VkSubmitInfo){.commandBufferCount = 1, .pCommandBuffers = &commands}, VK_NULL_HANDLE);
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    hd_capture_close();
    cr_assert_eq(stream->command_count, 6);
    cr_expect_eq(stream->commands[0].sets, HD_STREAM_STATE_PIPELINE(1));
    cr_expect_eq(stream->commands[1].sets, HD_STREAM_STATE_SET(1, 1) | HD_STREAM_STATE_SET(1, 2));
    cr_expect_eq(stream->commands[2].sets, HD_STREAM_STATE_SCISSOR);
    cr_expect_eq(hd_stream_verify(stream, NULL), HD_OK);
    cr_assert_eq(hd_stream_graph_build(stream, NULL, &graph), HD_OK);
    uint8_t keep[6] = {0, 0, 0, 0, 0, 1}, live[6];
    static const uint8_t all_but_scissor[6] = {1, 1, 0, 1, 1, 1};
    cr_assert_eq(graph->node_count, 6);
    cr_assert_eq(hd_stream_graph_needs(graph, keep), HD_OK);
    cr_expect_eq(memcmp(keep, all_but_scissor, 6), 0, "a dispatch needs all but the scissor");
    cr_assert_eq(hd_stream_graph_live(graph, false, live), HD_OK);
    cr_expect_eq(memcmp(live, all_but_scissor, 6), 0, "what its shader does is not known: it is no dead command");
    hd_stream_graph_free(graph);
    hd_stream_free(stream);
}
