#include "engine.h"

#include <string.h>

#include "columns_frag.h"
#include "columns_vert.h"
#include "glow_comp.h"
#include "meter_comp.h"
#include "sky_frag.h"
#include "sky_vert.h"
#include "tone_comp.h"
#include "waves_comp.h"

/* Pipelines: one row a program. Its bindings are letters, in the order of the shaders' binding numbers: u uniform
 * buffer, b storage buffer, i storage image, l image that is read with the linear sampler, r with the one that repeats,
 * s shadow map. heddle has no part in any of this: record callbacks bind what they like. */

enum shader_id {
    NO_SHADER,
    WAVES_COMP,
    COLUMNS_VERT,
    COLUMNS_FRAG,
    SKY_VERT,
    SKY_FRAG,
    GLOW_COMP,
    METER_COMP,
    TONE_COMP,
    SHADER_COUNT
};

static const struct shader_row {
    const char *name;
    const uint32_t *words;
    size_t bytes;
} shaders[SHADER_COUNT] = {[WAVES_COMP] = {"waves.comp", waves_comp, sizeof waves_comp},
                           [COLUMNS_VERT] = {"columns.vert", columns_vert, sizeof columns_vert},
                           [COLUMNS_FRAG] = {"columns.frag", columns_frag, sizeof columns_frag},
                           [SKY_VERT] = {"sky.vert", sky_vert, sizeof sky_vert},
                           [SKY_FRAG] = {"sky.frag", sky_frag, sizeof sky_frag},
                           [GLOW_COMP] = {"glow.comp", glow_comp, sizeof glow_comp},
                           [METER_COMP] = {"meter.comp", meter_comp, sizeof meter_comp},
                           [TONE_COMP] = {"tone.comp", tone_comp, sizeof tone_comp}};

static const struct program_row {
    const char *bindings;
    enum shader_id first, second; /* compute alone, or vertex and fragment */
    VkSampleCountFlagBits samples;
    bool vertices, depth_only;
} rows[PROGRAM_COUNT] = {
    [PROGRAM_WAVES] = {"ubb", WAVES_COMP},
    [PROGRAM_SHADOW] = {"u", COLUMNS_VERT, .samples = 1, .vertices = true, .depth_only = true},
    [PROGRAM_SKY] = {"u", SKY_VERT, SKY_FRAG, 1},
    [PROGRAM_SKY_SAMPLED] = {"u", SKY_VERT, SKY_FRAG, 4},
    [PROGRAM_COLUMNS] = {"urs", COLUMNS_VERT, COLUMNS_FRAG, 1, true},
    [PROGRAM_COLUMNS_SAMPLED] = {"urs", COLUMNS_VERT, COLUMNS_FRAG, 4, true},
    [PROGRAM_GLOW] = {"lli", GLOW_COMP},
    [PROGRAM_METER] = {"lb", METER_COMP},
    [PROGRAM_TONE] = {"ulli", TONE_COMP},
};

const char *program_shader_name(uint32_t shader)
{
    return shader < SHADER_COUNT ? shaders[shader].name : NULL;
}

bool program_uses(enum program_id id, uint32_t shader_bits)
{
    return shader_bits & (1u << rows[id].first | 1u << rows[id].second) & ~1u;
}

static bool is_compute(const struct program_row *row)
{
    return !row->samples;
}

static VkDescriptorType binding_type(char letter)
{
    return letter == 'u'   ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
           : letter == 'b' ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
           : letter == 'i' ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE
                           : VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
}

static VkShaderStageFlags stages_of(const struct program_row *row)
{
    return is_compute(row) ? VK_SHADER_STAGE_COMPUTE_BIT : VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
}

static VkResult create_layout(VkDevice device, const struct program_row *row, struct program *program)
{
    VkDescriptorSetLayoutBinding bindings[8];
    uint32_t count = (uint32_t)strlen(row->bindings);
    for (uint32_t i = 0; i < count; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, binding_type(row->bindings[i]), 1, stages_of(row), NULL};
    VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR,
                                           .bindingCount = count,
                                           .pBindings = bindings};
    VkResult result = vkCreateDescriptorSetLayout(device, &set, NULL, &program->set_layout);
    if (result != VK_SUCCESS)
        return result;
    VkPushConstantRange push = {stages_of(row), 0, 16};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &program->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &push};
    return vkCreatePipelineLayout(device, &layout, NULL, &program->layout);
}

/* ---- pipelines ---- */

static VkResult create_drawing(VkDevice device, const struct program_row *row, VkPipelineLayout layout,
                               const VkPipelineShaderStageCreateInfo *stages, VkPipeline *out)
{
    const VkFormat color = VK_FORMAT_R16G16B16A16_SFLOAT;
    VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                               .colorAttachmentCount = !row->depth_only,
                                               .pColorAttachmentFormats = &color,
                                               .depthAttachmentFormat = VK_FORMAT_D32_SFLOAT};
    const VkVertexInputAttributeDescription attributes[] = {{0, 0, VK_FORMAT_R32G32B32_SFLOAT, 0},
                                                            {1, 0, VK_FORMAT_R32G32B32_SFLOAT, sizeof(vec3s)},
                                                            {2, 1, VK_FORMAT_R32G32B32A32_SFLOAT, 0}};
    const VkVertexInputBindingDescription bindings[] = {{0, 2 * sizeof(vec3s), VK_VERTEX_INPUT_RATE_VERTEX},
                                                        {1, sizeof(vec4s), VK_VERTEX_INPUT_RATE_INSTANCE}};
    VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = row->vertices ? 2 : 0,
        .pVertexBindingDescriptions = bindings,
        .vertexAttributeDescriptionCount = row->vertices ? 3 : 0,
        .pVertexAttributeDescriptions = attributes};
    VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    VkPipelineViewportStateCreateInfo viewport = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, .viewportCount = 1, .scissorCount = 1};
    VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .cullMode = row->vertices ? VK_CULL_MODE_BACK_BIT : VK_CULL_MODE_NONE,
        .depthBiasEnable = row->depth_only,
        .depthBiasSlopeFactor = -2.0f, /* away from the sun: depth is reversed */
        .lineWidth = 1.0f};
    VkPipelineMultisampleStateCreateInfo samples = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                    .rasterizationSamples = row->samples};
    VkPipelineDepthStencilStateCreateInfo depth = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
                                                   .depthTestEnable = VK_TRUE,
                                                   .depthWriteEnable = row->vertices,
                                                   .depthCompareOp = VK_COMPARE_OP_GREATER_OR_EQUAL};
    VkPipelineColorBlendAttachmentState blends = {.colorWriteMask = 0xf};
    VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                 .attachmentCount = !row->depth_only,
                                                 .pAttachments = &blends};
    const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                .dynamicStateCount = 2,
                                                .pDynamicStates = states};
    VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                         .pNext = &rendering,
                                         .stageCount = row->second ? 2 : 1,
                                         .pStages = stages,
                                         .pVertexInputState = &input,
                                         .pInputAssemblyState = &assembly,
                                         .pViewportState = &viewport,
                                         .pRasterizationState = &raster,
                                         .pMultisampleState = &samples,
                                         .pDepthStencilState = &depth,
                                         .pColorBlendState = &blend,
                                         .pDynamicState = &dynamic,
                                         .layout = layout};
    return vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, NULL, out);
}

static VkShaderModule create_module(VkDevice device, const struct shader *shader)
{
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = shader->bytes, .pCode = shader->words};
    VkShaderModule module = VK_NULL_HANDLE;
    return shader->words && vkCreateShaderModule(device, &info, NULL, &module) == VK_SUCCESS ? module
                                                                                             : VK_NULL_HANDLE;
}

/* Any thread. */
VkPipeline program_build(struct engine *engine, enum program_id id)
{
    VkDevice device = engine->device.device;
    const struct program_row *row = &rows[id];
    const struct shader *shader = engine->programs.shader;
    VkPipelineLayout layout = engine->programs.program[id].layout;
    VkShaderModule first = create_module(device, &shader[row->first]),
                   second = row->second ? create_module(device, &shader[row->second]) : VK_NULL_HANDLE;
    VkPipelineShaderStageCreateInfo stages[2] = {
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = is_compute(row) ? VK_SHADER_STAGE_COMPUTE_BIT : VK_SHADER_STAGE_VERTEX_BIT,
         .module = first,
         .pName = "main"},
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
         .module = second,
         .pName = "main"}};
    VkPipeline pipeline = VK_NULL_HANDLE;
    if (first && (second || !row->second)) {
        VkComputePipelineCreateInfo compute = {
            .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .stage = stages[0], .layout = layout};
        VkResult result = is_compute(row)
                              ? vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &compute, NULL, &pipeline)
                              : create_drawing(device, row, layout, stages, &pipeline);
        if (result != VK_SUCCESS)
            pipeline = VK_NULL_HANDLE;
    }
    vkDestroyShaderModule(device, first, NULL);
    vkDestroyShaderModule(device, second, NULL);
    return pipeline;
}

/* ---- samplers ---- */

static bool create_samplers(struct engine *engine)
{
    VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                .magFilter = VK_FILTER_LINEAR,
                                .minFilter = VK_FILTER_LINEAR,
                                .mipmapMode = VK_SAMPLER_MIPMAP_MODE_LINEAR,
                                .maxLod = VK_LOD_CLAMP_NONE};
    VkDevice device = engine->device.device;
    VkResult result = vkCreateSampler(device, &info, NULL, &engine->programs.repeat);
    info.addressModeU = info.addressModeV = info.addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    if (result == VK_SUCCESS)
        result = vkCreateSampler(device, &info, NULL, &engine->programs.linear);
    info.compareEnable = VK_TRUE;
    info.compareOp = VK_COMPARE_OP_GREATER_OR_EQUAL;
    if (result == VK_SUCCESS)
        result = vkCreateSampler(device, &info, NULL, &engine->programs.shadow);
    return result == VK_SUCCESS;
}

bool programs_open(struct engine *engine)
{
    struct programs *programs = &engine->programs;
    for (uint32_t i = 1; i < SHADER_COUNT; i++)
        programs->shader[i] = (struct shader){.words = shaders[i].words, .bytes = shaders[i].bytes};
    if (!create_samplers(engine))
        return engine_check(engine, HD_VULKAN);
    for (uint32_t i = 0; i < PROGRAM_COUNT; i++) {
        struct program *program = &programs->program[i];
        if (create_layout(engine->device.device, &rows[i], program) != VK_SUCCESS ||
            !(program->pipeline = program_build(engine, i)))
            return engine_check(engine, HD_VULKAN);
    }
    return true;
}

void programs_close(struct engine *engine)
{
    struct programs *programs = &engine->programs;
    VkDevice device = engine->device.device;
    if (!device)
        return;
    programs_wait(engine);
    for (uint32_t i = 0; i < programs->retired_count; i++)
        vkDestroyPipeline(device, programs->retired[i].pipeline, NULL);
    for (uint32_t i = 0; i < PROGRAM_COUNT; i++) {
        struct program *program = &programs->program[i];
        vkDestroyPipeline(device, program->pipeline, NULL);
        vkDestroyPipeline(device, program->next, NULL);
        vkDestroyPipelineLayout(device, program->layout, NULL);
        vkDestroyDescriptorSetLayout(device, program->set_layout, NULL);
    }
    vkDestroySampler(device, programs->linear, NULL);
    vkDestroySampler(device, programs->repeat, NULL);
    vkDestroySampler(device, programs->shadow, NULL);
    programs_free_shaders(programs);
}

/* ---- in a record callback ---- */

static VkDescriptorImageInfo image_info(const struct programs *programs, hd_recorder *recorder, char letter,
                                        hd_resource resource)
{
    VkImageView view = hd_vk_view(recorder, resource, NULL);
    if (letter == 'i')
        return (VkDescriptorImageInfo){VK_NULL_HANDLE, view, VK_IMAGE_LAYOUT_GENERAL};
    VkSampler sampler = letter == 'l' ? programs->linear : letter == 's' ? programs->shadow : programs->repeat;
    return (VkDescriptorImageInfo){sampler, view, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
}

void program_bind_resources(struct engine *engine, hd_recorder *recorder, enum program_id id,
                            const hd_resource *resources, uint32_t count)
{
    const struct program *program = &engine->programs.program[id];
    const char *letters = rows[id].bindings;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkPipelineBindPoint point =
        is_compute(&rows[id]) ? VK_PIPELINE_BIND_POINT_COMPUTE : VK_PIPELINE_BIND_POINT_GRAPHICS;
    VkDescriptorBufferInfo buffers[8];
    VkDescriptorImageInfo images[8];
    VkWriteDescriptorSet writes[8];
    for (uint32_t i = 0; i < count; i++) {
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = binding_type(letters[i]),
                                           .pBufferInfo = &buffers[i],
                                           .pImageInfo = &images[i]};
        if (letters[i] == 'u' || letters[i] == 'b')
            buffers[i] = (VkDescriptorBufferInfo){hd_vk_buffer(recorder, resources[i]), 0, VK_WHOLE_SIZE};
        else
            images[i] = image_info(&engine->programs, recorder, letters[i], resources[i]);
    }
    vkCmdBindPipeline(commands, point, program->pipeline);
    vkCmdPushDescriptorSetKHR(commands, point, program->layout, 0, count, writes);
}

void program_push(struct engine *engine, hd_recorder *recorder, enum program_id id, const void *data, uint32_t bytes)
{
    vkCmdPushConstants(hd_vk_commands(recorder), engine->programs.program[id].layout, stages_of(&rows[id]), 0, bytes,
                       data);
}
