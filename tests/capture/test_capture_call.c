#include "capture_call_values.h"

/* Structures of Vulkan as bytes, and back: what they hold comes back, what Vulkan ignores does not. */

TestSuite(capture_call, .init = call_begin, .fini = call_end);

Test(capture_call, rendering)
{
    const VkRenderingAttachmentInfo colors[2] = {
        {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
         .imageView = HANDLE(3),
         .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
         .resolveImageView = GARBAGE,
         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
         .clearValue.color.float32 = {0.25f, 0.5f, 0.75f, 1}},
        {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
         .imageView = HANDLE(4),
         .resolveMode = VK_RESOLVE_MODE_AVERAGE_BIT,
         .resolveImageView = HANDLE(3)},
    };
    const VkRenderingFragmentShadingRateAttachmentInfoKHR rate = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR, .imageView = HANDLE(9)};
    const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                  .pNext = &rate,
                                  .renderArea.extent = {64, 32},
                                  .layerCount = 1,
                                  .colorAttachmentCount = 2,
                                  .pColorAttachments = colors};
    struct {
        VkCommandBuffer commands;
        const VkRenderingInfo *info;
    } arguments = {GARBAGE, &info}, *back = round_trip("vkCmdBeginRendering", &arguments);
    cr_expect_eq((uintptr_t)back->commands, 77);
    cr_expect_not(writer.unknown);
    cr_expect_eq(writer.ref_count, 3, "each object once");
    cr_expect_eq(back->info->renderArea.extent.height, 32);
    cr_expect_null(back->info->pDepthAttachment);
    const VkRenderingFragmentShadingRateAttachmentInfoKHR *next = back->info->pNext;
    cr_assert_eq(next->sType, VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR);
    cr_expect_eq(next->imageView, HANDLE(9));
    cr_expect_null(next->pNext);
    cr_expect_eq(back->info->pColorAttachments[0].imageView, HANDLE(3));
    cr_expect_null(back->info->pColorAttachments[0].resolveImageView, "ignored without a mode");
    cr_expect_eq(back->info->pColorAttachments[0].clearValue.color.float32[2], 0.75f);
    cr_expect_eq(back->info->pColorAttachments[1].imageView, HANDLE(4));
    cr_expect_eq(back->info->pColorAttachments[1].resolveImageView, HANDLE(3));
}

Test(capture_call, device)
{
    const char *extensions[] = {"VK_KHR_swapchain", "VK_EXT_mesh_shader"};
    const float priorities[] = {1, 0.5f};
    const VkDeviceQueueCreateInfo queues[] = {{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                               .queueFamilyIndex = 1,
                                               .queueCount = 2,
                                               .pQueuePriorities = priorities}};
    VkPhysicalDeviceVulkan13Features features13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                   .dynamicRendering = VK_TRUE};
    VkBaseOutStructure unknown = {.sType = (VkStructureType)2000000001, .pNext = (void *)&features13};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &unknown,
                                          .features.samplerAnisotropy = VK_TRUE};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = queues,
                                     .ppEnabledLayerNames = GARBAGE,
                                     .enabledExtensionCount = 2,
                                     .ppEnabledExtensionNames = extensions};
    const VkDeviceCreateInfo *back = round_trip("VkDeviceCreateInfo", &info);
    cr_expect(writer.unknown, "a structure of the chain");
    cr_expect_null(back->ppEnabledLayerNames, "there are none");
    cr_expect_str_eq(back->ppEnabledExtensionNames[0], "VK_KHR_swapchain");
    cr_expect_str_eq(back->ppEnabledExtensionNames[1], "VK_EXT_mesh_shader");
    cr_expect_eq(back->pQueueCreateInfos[0].pQueuePriorities[1], 0.5f);
    const VkPhysicalDeviceFeatures2 *first = back->pNext;
    cr_assert_eq(first->sType, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    cr_expect(first->features.samplerAnisotropy);
    const VkPhysicalDeviceVulkan13Features *second = first->pNext;
    cr_assert_eq(second->sType, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, "the unknown one is left out");
    cr_expect(second->dynamicRendering);
    cr_expect_null(second->pNext);
}

Test(capture_call, descriptors)
{
    static const struct {
        VkDescriptorType type;
        bool sampler, image, buffer, texels;
    } kinds[] = {
        {VK_DESCRIPTOR_TYPE_SAMPLER, .sampler = true},
        {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, .sampler = true, .image = true},
        {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, .image = true},
        {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, .image = true},
        {VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT, .image = true},
        {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, .buffer = true},
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .buffer = true},
        {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, .buffer = true},
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, .buffer = true},
        {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, .texels = true},
        {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, .texels = true},
        {VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK},
        {VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR},
    };
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const bool sampler = kinds[k].sampler, image = kinds[k].image;
        const VkDescriptorImageInfo images[2] = {
            {sampler ? HANDLE(5) : GARBAGE, image ? HANDLE(6) : GARBAGE, VK_IMAGE_LAYOUT_GENERAL},
            {sampler ? HANDLE(7) : GARBAGE, image ? HANDLE(6) : GARBAGE, VK_IMAGE_LAYOUT_GENERAL}};
        const VkDescriptorBufferInfo buffers[2] = {{HANDLE(8), 16, 32}, {HANDLE(9), 0, VK_WHOLE_SIZE}};
        const VkBufferView views[2] = {HANDLE(10), VK_NULL_HANDLE};
        const VkWriteDescriptorSetInlineUniformBlock block = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK, .dataSize = 5, .pData = "four"};
        const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                            .pNext = k == 11 ? &block : NULL,
                                            .dstSet = HANDLE(1),
                                            .descriptorCount = 2,
                                            .descriptorType = kinds[k].type,
                                            .pImageInfo = sampler || image ? images : GARBAGE,
                                            .pBufferInfo = kinds[k].buffer ? buffers : GARBAGE,
                                            .pTexelBufferView = kinds[k].texels ? views : GARBAGE};
        const VkWriteDescriptorSet *back = round_trip("VkWriteDescriptorSet", &write);
        cr_expect_not(writer.unknown, "kind %zu", k);
        cr_expect_eq(back->dstSet, HANDLE(1));
        cr_assert_eq(!!back->pImageInfo, sampler || image);
        cr_assert_eq(!!back->pBufferInfo, kinds[k].buffer);
        cr_assert_eq(!!back->pTexelBufferView, kinds[k].texels);
        if (back->pImageInfo) {
            cr_expect_eq(back->pImageInfo[1].sampler, sampler ? HANDLE(7) : NULL);
            cr_expect_eq(back->pImageInfo[1].imageView, image ? HANDLE(6) : NULL);
        }
        if (back->pBufferInfo)
            cr_expect(back->pBufferInfo[0].range == 32 && back->pBufferInfo[1].buffer == HANDLE(9));
        if (back->pTexelBufferView)
            cr_expect(back->pTexelBufferView[0] == HANDLE(10) && !back->pTexelBufferView[1]);
        const VkWriteDescriptorSetInlineUniformBlock *next = back->pNext;
        cr_assert_eq(!!next, k == 11);
        if (next)
            cr_expect_str_eq(next->pData, "four");
    }
}

/* The set of pushed descriptors is none. */
Test(capture_call, pushed)
{
    const VkDescriptorBufferInfo buffer = {HANDLE(8), 16, 32};
    const VkWriteDescriptorSet writes[2] = {{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                             .dstSet = GARBAGE,
                                             .dstBinding = 3,
                                             .descriptorCount = 1,
                                             .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                             .pBufferInfo = &buffer},
                                            {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstBinding = 4}};
    struct {
        VkCommandBuffer commands;
        VkPipelineBindPoint point;
        VkPipelineLayout layout;
        uint32_t set, count;
        const VkWriteDescriptorSet *writes;
    } arguments = {GARBAGE, VK_PIPELINE_BIND_POINT_COMPUTE, HANDLE(2), 1, 2, writes}, *back;
    back = round_trip("vkCmdPushDescriptorSetKHR", &arguments);
    cr_expect_not(writer.unknown);
    cr_expect(back->point == VK_PIPELINE_BIND_POINT_COMPUTE && back->layout == HANDLE(2) && back->set == 1);
    cr_expect_eq(back->writes[0].pBufferInfo->buffer, HANDLE(8));
    cr_expect(!back->writes[0].dstSet && back->writes[1].dstBinding == 4);
}

/* In a layout, an object that is not known among those that are. */
Test(capture_call, ignored)
{
    const VkSampler samplers[2] = {HANDLE(3), (void *)(uintptr_t)16};
    const VkDescriptorSetLayoutBinding bindings[2] = {
        {.descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
         .descriptorCount = 2,
         .pImmutableSamplers = samplers},
        {.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, .descriptorCount = 2, .pImmutableSamplers = GARBAGE}};
    const VkDescriptorSetLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 2, .pBindings = bindings};
    const VkDescriptorSetLayoutCreateInfo *laid = round_trip("VkDescriptorSetLayoutCreateInfo", &layout);
    cr_expect(writer.unknown);
    cr_expect_eq(laid->pBindings[0].pImmutableSamplers[0], HANDLE(3));
    cr_expect_null(laid->pBindings[0].pImmutableSamplers[1]);
    cr_expect_null(laid->pBindings[1].pImmutableSamplers);

    VkSwapchainCreateInfoKHR chain = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                      .minImageCount = 3,
                                      .queueFamilyIndexCount = 2,
                                      .pQueueFamilyIndices = GARBAGE};
    const VkSwapchainCreateInfoKHR *back = round_trip("VkSwapchainCreateInfoKHR", &chain);
    cr_expect(back->minImageCount == 3 && !back->pQueueFamilyIndices);
    chain.imageSharingMode = VK_SHARING_MODE_CONCURRENT;
    chain.pQueueFamilyIndices = (uint32_t[]){4, 2};
    back = round_trip("VkSwapchainCreateInfoKHR", &chain);
    cr_expect_eq(back->pQueueFamilyIndices[1], 2);

    VkFramebufferCreateInfo frame = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                     .flags = VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT,
                                     .renderPass = HANDLE(1),
                                     .attachmentCount = 1,
                                     .pAttachments = GARBAGE};
    cr_expect_null(((VkFramebufferCreateInfo *)round_trip("VkFramebufferCreateInfo", &frame))->pAttachments);
    frame.flags = 0;
    frame.pAttachments = (VkImageView[]){HANDLE(2)};
    cr_expect_eq(((VkFramebufferCreateInfo *)round_trip("VkFramebufferCreateInfo", &frame))->pAttachments[0],
                 HANDLE(2));
}

Test(capture_call, render_pass)
{
    const VkAttachmentReference2 resolve = {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2, .attachment = 2};
    const VkSubpassDescriptionDepthStencilResolve depth = {
        .sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE,
        .depthResolveMode = VK_RESOLVE_MODE_MIN_BIT,
        .pDepthStencilResolveAttachment = &resolve};
    const VkAttachmentReferenceStencilLayout stencil = {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_STENCIL_LAYOUT,
                                                        .stencilLayout = VK_IMAGE_LAYOUT_GENERAL};
    const VkAttachmentReference2 depth_reference = {
        .sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2, .pNext = &stencil, .attachment = 1};
    const uint32_t kept[] = {5, 6, 7};
    const VkSubpassDescription2 subpass = {.sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2,
                                           .pNext = &depth,
                                           .pDepthStencilAttachment = &depth_reference,
                                           .preserveAttachmentCount = 3,
                                           .pPreserveAttachments = kept};
    const VkAttachmentDescription2 attachments[3] = {
        {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2},
        {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2},
        {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2, .finalLayout = VK_IMAGE_LAYOUT_GENERAL}};
    const VkRenderPassCreateInfo2 info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2,
                                          .attachmentCount = 3,
                                          .pAttachments = attachments,
                                          .subpassCount = 1,
                                          .pSubpasses = &subpass};
    const VkRenderPassCreateInfo2 *back = round_trip("VkRenderPassCreateInfo2", &info);
    cr_expect_eq(back->pAttachments[2].finalLayout, VK_IMAGE_LAYOUT_GENERAL);
    cr_expect_eq(back->pSubpasses[0].pPreserveAttachments[2], 7);
    const VkSubpassDescriptionDepthStencilResolve *next = back->pSubpasses[0].pNext;
    cr_expect_eq(next->pDepthStencilResolveAttachment->attachment, 2);
    cr_expect_eq(back->pSubpasses[0].pDepthStencilAttachment->attachment, 1);
    const VkAttachmentReferenceStencilLayout *layout = back->pSubpasses[0].pDepthStencilAttachment->pNext;
    cr_expect_eq(layout->stencilLayout, VK_IMAGE_LAYOUT_GENERAL);
}

/* ---- a pipeline with all states ---- */

static const uint32_t constant = 7;
static const VkSpecializationMapEntry entries[] = {{.constantID = 3, .size = 4}};
static const VkSpecializationInfo special = {1, entries, sizeof(constant), &constant};
static const VkPipelineShaderStageCreateInfo stages[] = {
    {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
     .stage = VK_SHADER_STAGE_VERTEX_BIT,
     .module = HANDLE(2),
     .pName = "main",
     .pSpecializationInfo = &special},
    {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
     .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
     .module = HANDLE(3),
     .pName = "paint"},
};
static const VkVertexInputAttributeDescription attributes[] = {{.location = 1, .offset = 12}, {.location = 2}};
static const VkPipelineVertexInputStateCreateInfo vertices = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
    .pVertexBindingDescriptions = GARBAGE,
    .vertexAttributeDescriptionCount = 2,
    .pVertexAttributeDescriptions = attributes};
static const VkPipelineInputAssemblyStateCreateInfo assembly = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
    .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP};
static const VkRect2D scissor = {{1, 2}, {3, 4}};
static const VkPipelineViewportStateCreateInfo viewport = {.sType =
                                                               VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                                           .viewportCount = 1,
                                                           .pViewports = GARBAGE, /* dynamic */
                                                           .scissorCount = 1,
                                                           .pScissors = &scissor};
static const VkPipelineRasterizationStateCreateInfo raster = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1.5f};
static const VkSampleMask masks[] = {0x55555555, 0xaaaaaaaa};
static const VkPipelineMultisampleStateCreateInfo samples = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
    .rasterizationSamples = VK_SAMPLE_COUNT_64_BIT,
    .pSampleMask = masks};
static const VkPipelineDepthStencilStateCreateInfo depth = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO, .maxDepthBounds = 0.5f};
static const VkPipelineColorBlendAttachmentState blends[] = {{.colorWriteMask = 15}, {.blendEnable = VK_TRUE}};
static const VkPipelineColorBlendStateCreateInfo blend = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO, .attachmentCount = 2, .pAttachments = blends};
static const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT};
static const VkPipelineDynamicStateCreateInfo dynamic = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO, .dynamicStateCount = 1, .pDynamicStates = states};
static const VkFormat formats[] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R32_UINT};
static const VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                        .colorAttachmentCount = 2,
                                                        .pColorAttachmentFormats = formats,
                                                        .stencilAttachmentFormat = VK_FORMAT_S8_UINT};
static const VkGraphicsPipelineCreateInfo whole = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                                   .pNext = &rendering,
                                                   .stageCount = 2,
                                                   .pStages = stages,
                                                   .pVertexInputState = &vertices,
                                                   .pInputAssemblyState = &assembly,
                                                   .pTessellationState = GARBAGE, /* no such stage */
                                                   .pViewportState = &viewport,
                                                   .pRasterizationState = &raster,
                                                   .pMultisampleState = &samples,
                                                   .pDepthStencilState = &depth,
                                                   .pColorBlendState = &blend,
                                                   .pDynamicState = &dynamic,
                                                   .layout = HANDLE(4),
                                                   .basePipelineHandle = GARBAGE};

Test(capture_call, graphics_pipeline)
{
    const VkGraphicsPipelineCreateInfo *back = round_trip("VkGraphicsPipelineCreateInfo", &whole);
    cr_expect_not(writer.unknown);
    cr_expect_eq(back->pStages[0].module, HANDLE(2));
    cr_expect_str_eq(back->pStages[1].pName, "paint");
    cr_expect_eq(*(const uint32_t *)back->pStages[0].pSpecializationInfo->pData, 7);
    cr_expect_eq(back->pStages[0].pSpecializationInfo->pMapEntries[0].constantID, 3);
    cr_expect_null(back->pVertexInputState->pVertexBindingDescriptions);
    cr_expect_eq(back->pVertexInputState->pVertexAttributeDescriptions[0].offset, 12);
    cr_expect_eq(back->pInputAssemblyState->topology, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP);
    cr_expect_null(back->pTessellationState);
    cr_expect_null(back->pViewportState->pViewports);
    cr_expect_eq(back->pViewportState->pScissors[0].extent.height, 4);
    cr_expect_eq(back->pRasterizationState->lineWidth, 1.5f);
    cr_expect_eq(back->pMultisampleState->pSampleMask[1], 0xaaaaaaaa);
    cr_expect_eq(back->pDepthStencilState->maxDepthBounds, 0.5f);
    cr_expect(back->pColorBlendState->pAttachments[1].blendEnable);
    cr_expect_eq(back->pDynamicState->pDynamicStates[0], VK_DYNAMIC_STATE_VIEWPORT);
    const VkPipelineRenderingCreateInfo *next = back->pNext;
    cr_assert_eq(next->sType, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    cr_expect_eq(next->pColorAttachmentFormats[1], VK_FORMAT_R32_UINT);
    cr_expect_eq(back->layout, HANDLE(4));
    cr_expect_null(back->basePipelineHandle);
}

Test(capture_call, states_of_pipelines)
{
    VkGraphicsPipelineCreateInfo info = whole;
    const VkGraphicsPipelineCreateInfo *back;
    /* States of attachments that there are not may be anything; a render pass may have them. */
    VkGraphicsPipelineCreateInfo variant = info;
    variant.pNext = NULL;
    variant.pDepthStencilState = GARBAGE;
    variant.pColorBlendState = GARBAGE;
    back = round_trip("VkGraphicsPipelineCreateInfo", &variant);
    cr_expect(!back->pDepthStencilState && !back->pColorBlendState && back->pMultisampleState);
    variant = info;
    variant.pNext = NULL;
    variant.renderPass = HANDLE(6);
    back = round_trip("VkGraphicsPipelineCreateInfo", &variant);
    cr_expect(back->pDepthStencilState && back->pColorBlendState);

    /* Vertices that are dynamic or come from a mesh shader have no state. */
    const VkDynamicState vertex_input[] = {VK_DYNAMIC_STATE_VERTEX_INPUT_EXT};
    const VkPipelineShaderStageCreateInfo mesh = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_MESH_BIT_EXT,
                                                  .module = HANDLE(2),
                                                  .pName = "main"};
    VkPipelineDynamicStateCreateInfo other = dynamic;
    variant = info;
    other.pDynamicStates = vertex_input;
    variant.pViewportState = NULL;
    variant.pDynamicState = &other;
    variant.pVertexInputState = GARBAGE;
    back = round_trip("VkGraphicsPipelineCreateInfo", &variant);
    cr_expect(!back->pVertexInputState && back->pInputAssemblyState);
    variant.pDynamicState = NULL;
    variant.stageCount = 1;
    variant.pStages = &mesh;
    variant.pInputAssemblyState = GARBAGE;
    back = round_trip("VkGraphicsPipelineCreateInfo", &variant);
    cr_expect(!back->pVertexInputState && !back->pInputAssemblyState && !back->pDynamicState);

    /* Without rasterization most states may be anything. */
    VkPipelineRasterizationStateCreateInfo none = raster;
    none.rasterizerDiscardEnable = VK_TRUE;
    info.pRasterizationState = &none;
    info.pViewportState = GARBAGE;
    info.pMultisampleState = GARBAGE;
    info.pDepthStencilState = GARBAGE;
    info.pColorBlendState = GARBAGE;
    back = round_trip("VkGraphicsPipelineCreateInfo", &info);
    cr_expect(!back->pViewportState && !back->pMultisampleState && !back->pDepthStencilState &&
              !back->pColorBlendState);
    cr_expect(back->pRasterizationState && back->pVertexInputState);

    /* So may the states that another part of the pipeline has. */
    const VkGraphicsPipelineLibraryCreateInfoEXT part = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
        .flags = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT};
    info.pNext = &part;
    info.pStages = GARBAGE;
    info.stageCount = 0;
    info.pRasterizationState = GARBAGE;
    back = round_trip("VkGraphicsPipelineCreateInfo", &info);
    cr_expect(back->pVertexInputState && back->pInputAssemblyState && !back->pRasterizationState);
}
