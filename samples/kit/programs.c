#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Descriptors are pushed: each pass writes what it binds into its own command buffer, so that workers share no pool and
 * nothing that the device still reads is written. */

static VkDescriptorType descriptor_type(char letter)
{
    return letter == 'u'   ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
           : letter == 'b' ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
           : letter == 'i' ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE
                           : VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
}

static VkShaderStageFlags stages_of(VkPipelineBindPoint point)
{
    return point == VK_PIPELINE_BIND_POINT_COMPUTE ? VK_SHADER_STAGE_COMPUTE_BIT
                                                   : VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
}

static VkResult create_layout(struct kit *kit, struct kit_program *program)
{
    VkDescriptorSetLayoutBinding bindings[KIT_MAX_BINDINGS];
    uint32_t count = (uint32_t)strlen(program->bindings);
    for (uint32_t i = 0; i < count; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){i, descriptor_type(program->bindings[i]), 1,
                                                     stages_of(program->point), NULL};
    VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR,
                                           .bindingCount = count,
                                           .pBindings = bindings};
    VkResult result = vkCreateDescriptorSetLayout(kit->info.device, &set, NULL, &program->set_layout);
    VkPushConstantRange push = {stages_of(program->point), 0, KIT_PUSH_BYTES};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &program->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &push};
    return result == VK_SUCCESS ? vkCreatePipelineLayout(kit->info.device, &layout, NULL, &program->layout) : result;
}

static VkShaderModule create_module(struct kit *kit, struct kit_code code)
{
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = code.bytes, .pCode = code.words};
    VkShaderModule module = VK_NULL_HANDLE;
    if (code.words && vkCreateShaderModule(kit->info.device, &info, NULL, &module) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    return module;
}

static VkPipelineColorBlendAttachmentState blend_state(enum kit_blend blend)
{
    VkBlendFactor source = blend == KIT_ALPHA ? VK_BLEND_FACTOR_SRC_ALPHA : VK_BLEND_FACTOR_ONE;
    VkBlendFactor target = blend == KIT_ALPHA ? VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA : VK_BLEND_FACTOR_ONE;
    return (VkPipelineColorBlendAttachmentState){.blendEnable = blend != KIT_OPAQUE,
                                                 .srcColorBlendFactor = source,
                                                 .dstColorBlendFactor = target,
                                                 .srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
                                                 .dstAlphaBlendFactor = target,
                                                 .colorWriteMask = 0xf};
}

static VkResult create_drawing(struct kit *kit, const struct kit_program_desc *desc,
                               const VkPipelineShaderStageCreateInfo *stages, uint32_t stage_count,
                               struct kit_program *program)
{
    VkPipelineColorBlendAttachmentState blends[KIT_MAX_COLORS];
    uint32_t color_count = 0;
    while (color_count < KIT_MAX_COLORS && desc->colors[color_count] != VK_FORMAT_UNDEFINED)
        blends[color_count++] = blend_state(desc->blend);
    VkPipelineVertexInputStateCreateInfo no_input = {.sType =
                                                         VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO, .topology = desc->topology};
    if (!desc->points && !desc->topology)
        assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    VkPipelineViewportStateCreateInfo viewport = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, .viewportCount = 1, .scissorCount = 1};
    VkPipelineRasterizationStateCreateInfo raster = {.sType =
                                                         VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
                                                     .cullMode = desc->cull,
                                                     .frontFace = desc->front,
                                                     .depthBiasEnable = desc->slope_bias != 0.0f,
                                                     .depthBiasSlopeFactor = desc->slope_bias,
                                                     .lineWidth = 1.0f};
    VkPipelineMultisampleStateCreateInfo samples = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                    .rasterizationSamples =
                                                        desc->samples ? desc->samples : VK_SAMPLE_COUNT_1_BIT};
    VkPipelineDepthStencilStateCreateInfo depth = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
        .depthTestEnable = desc->depth != VK_FORMAT_UNDEFINED,
        .depthWriteEnable = desc->depth != VK_FORMAT_UNDEFINED && !desc->keep_depth,
        .depthCompareOp = desc->compare ? desc->compare : VK_COMPARE_OP_GREATER_OR_EQUAL};
    VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                 .attachmentCount = color_count,
                                                 .pAttachments = blends};
    const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                .dynamicStateCount = 2,
                                                .pDynamicStates = states};
    VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                               .colorAttachmentCount = color_count,
                                               .pColorAttachmentFormats = desc->colors,
                                               .depthAttachmentFormat = desc->depth};
    VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                         .pNext = &rendering,
                                         .stageCount = stage_count,
                                         .pStages = stages,
                                         .pVertexInputState = desc->input ? desc->input : &no_input,
                                         .pInputAssemblyState = &assembly,
                                         .pViewportState = &viewport,
                                         .pRasterizationState = &raster,
                                         .pMultisampleState = &samples,
                                         .pDepthStencilState = &depth,
                                         .pColorBlendState = &blend,
                                         .pDynamicState = &dynamic,
                                         .layout = program->layout};
    return vkCreateGraphicsPipelines(kit->info.device, VK_NULL_HANDLE, 1, &info, NULL, &program->pipeline);
}

static VkResult create_pipeline(struct kit *kit, const struct kit_program_desc *desc, struct kit_program *program)
{
    VkSpecializationMapEntry entries[16];
    uint32_t constant_count = desc->constant_count < 16 ? desc->constant_count : 16;
    for (uint32_t i = 0; i < constant_count; i++)
        entries[i] = (VkSpecializationMapEntry){i, i * (uint32_t)sizeof(int32_t), sizeof(int32_t)};
    const VkSpecializationInfo special = {constant_count, entries, constant_count * sizeof(int32_t), desc->constants};
    const struct {
        VkShaderStageFlagBits stage;
        struct kit_code code;
    } all[] = {{VK_SHADER_STAGE_COMPUTE_BIT, desc->compute},
               {VK_SHADER_STAGE_VERTEX_BIT, desc->vertex},
               {VK_SHADER_STAGE_FRAGMENT_BIT, desc->fragment}};
    VkPipelineShaderStageCreateInfo stages[3];
    uint32_t count = 0;
    VkResult result = VK_SUCCESS;
    for (int i = 0; i < 3; i++) {
        if (!all[i].code.words)
            continue;
        stages[count] = (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                          .stage = all[i].stage,
                                                          .module = create_module(kit, all[i].code),
                                                          .pName = "main",
                                                          .pSpecializationInfo = &special};
        if (!stages[count++].module)
            result = VK_ERROR_INITIALIZATION_FAILED;
    }
    VkComputePipelineCreateInfo compute = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .stage = stages[0], .layout = program->layout};
    if (result == VK_SUCCESS && desc->compute.words)
        result = vkCreateComputePipelines(kit->info.device, VK_NULL_HANDLE, 1, &compute, NULL, &program->pipeline);
    else if (result == VK_SUCCESS)
        result = create_drawing(kit, desc, stages, count, program);
    for (uint32_t i = 0; i < count; i++)
        vkDestroyShaderModule(kit->info.device, stages[i].module, NULL);
    return result;
}

bool kit_program_create(struct kit *kit, const struct kit_program_desc *desc, struct kit_program *out)
{
    *out = (struct kit_program){.point = desc->compute.words ? VK_PIPELINE_BIND_POINT_COMPUTE
                                                             : VK_PIPELINE_BIND_POINT_GRAPHICS};
    int length = snprintf(out->bindings, sizeof out->bindings, "%s", desc->bindings ? desc->bindings : "");
    if (length > KIT_MAX_BINDINGS || kit->result != HD_OK)
        return kit_check(kit, HD_TOO_LARGE);
    VkResult result = create_layout(kit, out);
    if (result == VK_SUCCESS)
        result = create_pipeline(kit, desc, out);
    return kit_check(kit, result == VK_SUCCESS ? HD_OK : HD_VULKAN);
}

void kit_program_destroy(struct kit_program *program)
{
    VkDevice device = volkGetLoadedDevice();
    if (device) {
        vkDestroyPipeline(device, program->pipeline, NULL);
        vkDestroyPipelineLayout(device, program->layout, NULL);
        vkDestroyDescriptorSetLayout(device, program->set_layout, NULL);
    }
    *program = (struct kit_program){0};
}

static VkDescriptorImageInfo image_info(struct kit *kit, hd_recorder *recorder, char letter, const struct kit_arg *arg)
{
    VkSampler sampler = kit->samplers[letter == 'l' ? 1 : letter == 'r' ? 2 : letter == 's' ? 3 : 0];
    const hd_range *range = arg->range.mip_count || arg->range.layer_count || arg->range.mip_base ? &arg->range : NULL;
    return (VkDescriptorImageInfo){sampler, hd_vk_view(recorder, arg->resource, range),
                                   letter == 'i'   ? VK_IMAGE_LAYOUT_GENERAL
                                   : letter == 'd' ? VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL
                                                   : VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
}

void kit_bind_args(struct kit *kit, hd_recorder *recorder, const struct kit_program *program,
                   const struct kit_arg *args, uint32_t count)
{
    VkWriteDescriptorSet writes[KIT_MAX_BINDINGS];
    VkDescriptorImageInfo images[KIT_MAX_BINDINGS];
    VkDescriptorBufferInfo buffers[KIT_MAX_BINDINGS];
    if (count != strlen(program->bindings)) {
        fprintf(stderr, "%s: %u bindings for \"%s\"\n", kit->scene->name, count, program->bindings);
        abort(); /* a mistake of the scene's own code */
    }
    for (uint32_t i = 0; i < count; i++) {
        char letter = program->bindings[i];
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = descriptor_type(letter),
                                           .pImageInfo = &images[i],
                                           .pBufferInfo = &buffers[i]};
        if (letter == 'u' || letter == 'b')
            buffers[i] = (VkDescriptorBufferInfo){hd_vk_buffer(recorder, args[i].resource), 0, VK_WHOLE_SIZE};
        else
            images[i] = image_info(kit, recorder, letter, &args[i]);
    }
    VkCommandBuffer commands = hd_vk_commands(recorder);
    vkCmdBindPipeline(commands, program->point, program->pipeline);
    if (count)
        vkCmdPushDescriptorSetKHR(commands, program->point, program->layout, 0, count, writes);
}

void kit_push(hd_recorder *recorder, const struct kit_program *program, const void *data, uint32_t bytes)
{
    vkCmdPushConstants(hd_vk_commands(recorder), program->layout, stages_of(program->point), 0, bytes, data);
}

void kit_dispatch(hd_recorder *recorder, uint32_t width, uint32_t height, uint32_t size)
{
    vkCmdDispatch(hd_vk_commands(recorder), (width + size - 1) / size, (height + size - 1) / size, 1);
}
