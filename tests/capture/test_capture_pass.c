#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* of functions that do nothing */

/* Render pass objects in a captured stream, over functions that do nothing: subpasses, load and store operations,
 * transitions, dependencies. */

static uintptr_t next_handle = 100;

#define MAKE(name, info_type, type)                                                                                    \
    static VkResult VKAPI_PTR fake_##name(VkDevice d, const info_type *i, const VkAllocationCallbacks *a, type *out)   \
    {                                                                                                                  \
        *out = (type)next_handle++;                                                                                    \
        return VK_SUCCESS;                                                                                             \
    }
MAKE(vkCreateImage, VkImageCreateInfo, VkImage)
MAKE(vkCreateImageView, VkImageViewCreateInfo, VkImageView)
MAKE(vkCreateRenderPass, VkRenderPassCreateInfo, VkRenderPass)
MAKE(vkCreateFramebuffer, VkFramebufferCreateInfo, VkFramebuffer)
static VkResult VKAPI_PTR fake_vkCreateGraphicsPipelines(VkDevice d, VkPipelineCache c, uint32_t n,
                                                         const VkGraphicsPipelineCreateInfo *i,
                                                         const VkAllocationCallbacks *a, VkPipeline *out)
{
    *out = (VkPipeline)next_handle++;
    return VK_SUCCESS;
}
static void VKAPI_PTR fake_vkGetImageMemoryRequirements(VkDevice d, VkImage i, VkMemoryRequirements *out)
{
    *out = (VkMemoryRequirements){65536, 65536, 1};
}
static void VKAPI_PTR fake_vkCmdBeginRenderPass(VkCommandBuffer c, const VkRenderPassBeginInfo *i, VkSubpassContents s)
{
}
static void VKAPI_PTR fake_vkCmdNextSubpass(VkCommandBuffer c, VkSubpassContents s)
{
}
static void VKAPI_PTR fake_vkCmdEndRenderPass(VkCommandBuffer c)
{
}
static VkResult VKAPI_PTR fake_vkQueueSubmit(VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f)
{
    return VK_SUCCESS;
}

static PFN_vkVoidFunction VKAPI_PTR fake_proc(VkInstance instance, const char *name)
{
#define FAKE(function)                                                                                                 \
    if (strcmp(name, #function) == 0)                                                                                  \
        return (PFN_vkVoidFunction)fake_##function;
    FAKE(vkCreateImage)
    FAKE(vkCreateImageView)
    FAKE(vkCreateRenderPass)
    FAKE(vkCreateFramebuffer)
    FAKE(vkCreateGraphicsPipelines)
    FAKE(vkGetImageMemoryRequirements)
    FAKE(vkCmdBeginRenderPass)
    FAKE(vkCmdNextSubpass)
    FAKE(vkCmdEndRenderPass)
    FAKE(vkQueueSubmit)
    return NULL;
}

#define COMMANDS ((VkCommandBuffer)(uintptr_t)1)
#define QUEUE ((VkQueue)(uintptr_t)2)
#define DEVICE ((VkDevice)(uintptr_t)3)
#define CALL(function) ((PFN_##function)hd_capture_get_instance_proc(NULL, #function))

static VkImageView make_view(VkFormat format, VkImageAspectFlags aspect)
{
    VkImage image;
    VkImageView view;
    CALL(vkGetImageMemoryRequirements)(DEVICE, VK_NULL_HANDLE, &(VkMemoryRequirements){0});
    CALL(vkCreateImage)(DEVICE, &(VkImageCreateInfo){.format = format, .mipLevels = 1, .arrayLayers = 1}, NULL, &image);
    CALL(vkCreateImageView)
    (DEVICE, &(VkImageViewCreateInfo){.image = image, .format = format, .subresourceRange = {aspect, 0, 1, 0, 1}}, NULL,
     &view);
    return view;
}

/* Color and depth are cleared in the first subpass; the second one reads color as an input attachment. */
static VkRenderPass make_pass(bool stated)
{
    static const VkAttachmentDescription attachments[] = {
        {.format = VK_FORMAT_R8G8B8A8_UNORM,
         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
         .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
         .finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL},
        {.format = VK_FORMAT_D32_SFLOAT,
         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
         .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .finalLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL}};
    static const VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL},
                                       depth = {1, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL},
                                       input = {0, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
    static const VkSubpassDescription subpasses[] = {
        {.colorAttachmentCount = 1, .pColorAttachments = &color, .pDepthStencilAttachment = &depth},
        {.inputAttachmentCount = 1, .pInputAttachments = &input}};
    static const VkSubpassDependency dependency = {0,
                                                   1,
                                                   VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                                                   VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT,
                                                   VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                                                   VK_ACCESS_INPUT_ATTACHMENT_READ_BIT};
    VkRenderPass pass;
    CALL(vkCreateRenderPass)
    (DEVICE,
     &(VkRenderPassCreateInfo){.attachmentCount = 2,
                               .pAttachments = attachments,
                               .subpassCount = 2,
                               .pSubpasses = subpasses,
                               .dependencyCount = stated,
                               .pDependencies = &dependency},
     NULL, &pass);
    return pass;
}

/* The pass in a command buffer that is submitted some times. */
static hd_stream *capture(bool stated, int times)
{
    hd_stream *stream;
    VkFramebuffer frame;
    VkCommandBuffer commands = COMMANDS;
    cr_assert_eq(hd_capture_open(&(hd_capture_desc){.get_instance_proc = fake_proc}), HD_OK);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    VkImageView views[] = {make_view(VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_ASPECT_COLOR_BIT),
                           make_view(VK_FORMAT_D32_SFLOAT, VK_IMAGE_ASPECT_DEPTH_BIT)};
    VkRenderPass pass = make_pass(stated);
    CALL(vkCreateFramebuffer)
    (DEVICE, &(VkFramebufferCreateInfo){.renderPass = pass, .attachmentCount = 2, .pAttachments = views, .layers = 1},
     NULL, &frame);
    CALL(vkCmdBeginRenderPass)
    (COMMANDS, &(VkRenderPassBeginInfo){.renderPass = pass, .framebuffer = frame}, VK_SUBPASS_CONTENTS_INLINE);
    CALL(vkCmdNextSubpass)(COMMANDS, VK_SUBPASS_CONTENTS_INLINE);
    CALL(vkCmdEndRenderPass)(COMMANDS);
    for (int i = 0; i < times; i++)
        CALL(vkQueueSubmit)
    (QUEUE, 1, &(VkSubmitInfo){.commandBufferCount = 1, .pCommandBuffers = &commands}, VK_NULL_HANDLE);
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    hd_capture_close();
    return stream;
}

static void take(const char *text, void *user)
{
    char *first = user;
    if (!*first)
        snprintf(first, 400, "%s", text);
}

Test(capture_pass, subpasses_are_renderings_with_barriers_between)
{
    hd_stream *s = capture(true, 2);
    const hd_stream_command *c = s->commands;
    cr_assert_eq(s->command_count, 14);
    static const uint32_t kinds[] = {HD_STREAM_BARRIER, HD_STREAM_ACCESS, HD_STREAM_ACCESS, HD_STREAM_BARRIER,
                                     HD_STREAM_ACCESS,  HD_STREAM_ACCESS, HD_STREAM_BARRIER};
    for (int i = 0; i < 7; i++)
        cr_expect(c[i].kind == kinds[i] && c[7 + i].kind == kinds[i], "command %d", i);
    /* both attachments come from UNDEFINED, and are written by clears */
    const hd_stream_barrier *first = &s->barriers[c[0].begin];
    cr_expect(c[0].count == 2 && first[0].old_layout == 0 && first[0].new_layout == 2 && first[1].new_layout == 3);
    cr_expect(c[1].count == 2 && s->accesses[c[1].begin].access == VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT);
    /* depth is thrown away; the dependency and the transition of color stand between */
    cr_expect(c[2].count == 2 && s->accesses[c[2].begin].flags == 0 &&
              s->accesses[c[2].begin + 1].flags == HD_STREAM_LOST);
    const hd_stream_barrier *middle = &s->barriers[c[3].begin];
    cr_expect(c[3].count == 2 && middle[0].resource == HD_NONE && middle[1].old_layout == 2 &&
              middle[1].new_layout == 5);
    cr_expect_eq(middle[1].dst_access, VK_ACCESS_2_INPUT_ATTACHMENT_READ_BIT);
    cr_expect_eq(s->accesses[c[4].begin].access, VK_ACCESS_2_INPUT_ATTACHMENT_READ_BIT);
    cr_expect(c[6].count == 1 && s->barriers[c[6].begin].new_layout == VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    cr_expect_neq(s->accesses[c[1].begin].scope, s->accesses[c[8].begin].scope, "submitted again: another rendering");
    hd_stream_free(s);
}

Test(capture_pass, dependencies_are_judged)
{
    char text[400] = "";
    hd_stream *s = capture(true, 1);
    hd_verify_desc desc = {.message = take, .user = text};
    cr_expect_eq(hd_stream_verify(s, &desc), HD_OK, "%s", text);
    hd_stream_free(s);
    s = capture(false,
                1); /* nothing leads from the first subpass to the second one's fragment shaders but the implicit one */
    text[0] = 0;
    cr_expect_eq(hd_stream_verify(s, &desc), HD_PLAN_INVALID);
    cr_expect_not_null(strstr(text, "vkCmdNextSubpass"), "%s", text);
    hd_stream_free(s);
}

/* The second subpass has an input attachment alone. */
Test(capture_pass, ignored_states_of_pipelines_are_not_followed)
{
    void *garbage = (void *)(uintptr_t)16;
    hd_stream *stream;
    VkPipeline pipeline;
    cr_assert_eq(hd_capture_open(&(hd_capture_desc){.get_instance_proc = fake_proc, .replay = true}), HD_OK);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                         .pColorBlendState = garbage,
                                         .pDepthStencilState = garbage,
                                         .renderPass = make_pass(true),
                                         .subpass = 1};
    cr_expect_eq(CALL(vkCreateGraphicsPipelines)(DEVICE, VK_NULL_HANDLE, 1, &info, NULL, &pipeline), VK_SUCCESS);
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    hd_capture_close();
    hd_stream_free(stream);
}
