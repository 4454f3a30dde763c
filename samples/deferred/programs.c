#include "gpu.h"
#include "scene.h"

#include <string.h>

#include "bloom_down_comp.h"
#include "bloom_up_comp.h"
#include "cull_comp.h"
#include "depth_vert.h"
#include "gbuffer_frag.h"
#include "geometry_vert.h"
#include "gloss_comp.h"
#include "lighting_comp.h"
#include "mirror_frag.h"
#include "mist_comp.h"
#include "occlusion_blur_comp.h"
#include "occlusion_comp.h"
#include "temporal_comp.h"
#include "tonemap_comp.h"

/* One row a program. Its bindings are letters in the order of the shader's binding numbers: u uniform buffer, b storage
 * buffer, i storage image, n and l images read with the nearest and the linear sampler, s the shadow map. */

#define WORDS(array)                                                                                                   \
    {                                                                                                                  \
        array, sizeof array                                                                                            \
    }

struct words {
    const uint32_t *words;
    size_t bytes;
};

enum depth_use { DEPTH_WRITES, DEPTH_TESTS };
enum view { VIEW_EYE, VIEW_SUN, VIEW_MIRROR };

static const struct program_row {
    const char *bindings;
    struct words compute, vertex, fragment;
    VkFormat colors[3];
    uint32_t color_count;
    enum depth_use depth;
    enum view view;
} rows[PROGRAM_COUNT] = {
    [PROGRAM_SHADOW] = {"u", .vertex = WORDS(depth_vert), .depth = DEPTH_WRITES, .view = VIEW_SUN},
    [PROGRAM_DEPTH] = {"u", .vertex = WORDS(depth_vert), .depth = DEPTH_WRITES},
    [PROGRAM_GBUFFER] = {"u", .vertex = WORDS(geometry_vert), .fragment = WORDS(gbuffer_frag), .depth = DEPTH_TESTS,
                         .colors = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R16G16B16A16_SFLOAT, VK_FORMAT_R16G16_SFLOAT},
                         .color_count = 3},
    [PROGRAM_MIRROR] = {"uus", .vertex = WORDS(geometry_vert), .fragment = WORDS(mirror_frag), .depth = DEPTH_WRITES,
                        .view = VIEW_MIRROR, .colors = {VK_FORMAT_R16G16B16A16_SFLOAT},
                        .color_count = 1},
    [PROGRAM_OCCLUSION] = {"unni", .compute = WORDS(occlusion_comp)},
    [PROGRAM_OCCLUSION_BLUR] = {"unni", .compute = WORDS(occlusion_blur_comp)},
    [PROGRAM_CULL] = {"uunb", .compute = WORDS(cull_comp)},
    [PROGRAM_MIST] = {"unsi", .compute = WORDS(mist_comp)},
    [PROGRAM_GLOSS] = {"unnni", .compute = WORDS(gloss_comp)},
    [PROGRAM_LIGHTING] = {"uubnnnlslli", .compute = WORDS(lighting_comp)},
    [PROGRAM_TEMPORAL] = {"unnnli", .compute = WORDS(temporal_comp)},
    [PROGRAM_BLOOM_DOWN] = {"uli", .compute = WORDS(bloom_down_comp)},
    [PROGRAM_BLOOM_UP] = {"uli", .compute = WORDS(bloom_up_comp)},
    [PROGRAM_TONEMAP] = {"unli", .compute = WORDS(tonemap_comp)},
};

const char *gpu_program_bindings(enum program_id program)
{
    return rows[program].bindings;
}

static hd_result create_layout(struct gpu *gpu, const struct program_row *row, struct gpu_program *program)
{
    VkShaderStageFlags stages =
        row->compute.words ? VK_SHADER_STAGE_COMPUTE_BIT : VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
    VkDescriptorSetLayoutBinding bindings[16];
    uint32_t count = (uint32_t)strlen(row->bindings);
    for (uint32_t i = 0; i < count; i++) {
        VkDescriptorType type = row->bindings[i] == 'u'   ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                : row->bindings[i] == 'b' ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                : row->bindings[i] == 'i' ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE
                                                          : VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
        bindings[i] = (VkDescriptorSetLayoutBinding){i, type, 1, stages, NULL};
    }
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = count, .pBindings = bindings};
    if (gpu->CreateDescriptorSetLayout(gpu->device, &set, NULL, &program->set_layout) != VK_SUCCESS)
        return HD_VULKAN;
    VkPushConstantRange push = {stages, 0, 16};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &program->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &push};
    return gpu->CreatePipelineLayout(gpu->device, &layout, NULL, &program->layout) == VK_SUCCESS ? HD_OK : HD_VULKAN;
}

static VkShaderModule create_module(struct gpu *gpu, struct words words)
{
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = words.bytes, .pCode = words.words};
    VkShaderModule module = VK_NULL_HANDLE;
    if (words.words && gpu->CreateShaderModule(gpu->device, &info, NULL, &module) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    return module;
}

static hd_result create_compute(struct gpu *gpu, const struct program_row *row, struct gpu_program *program)
{
    VkShaderModule module = create_module(gpu, row->compute);
    if (!module)
        return HD_VULKAN;
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .module = module,
                                                  .pName = "main"},
                                        .layout = program->layout};
    program->point = VK_PIPELINE_BIND_POINT_COMPUTE;
    VkResult result = gpu->CreateComputePipelines(gpu->device, VK_NULL_HANDLE, 1, &info, NULL, &program->pipeline);
    gpu->DestroyShaderModule(gpu->device, module, NULL);
    return result == VK_SUCCESS ? HD_OK : HD_VULKAN;
}

/* Locations 0 and 1 step with the vertex, 2 to 9 with the instance (struct instance is eight vec4). */
static uint32_t vertex_attributes(VkVertexInputAttributeDescription *attributes)
{
    attributes[0] = (VkVertexInputAttributeDescription){0, 0, VK_FORMAT_R32G32B32_SFLOAT, 0};
    attributes[1] = (VkVertexInputAttributeDescription){1, 0, VK_FORMAT_R32G32B32_SFLOAT, sizeof(vec3)};
    for (uint32_t i = 0; i < 8; i++)
        attributes[2 + i] =
            (VkVertexInputAttributeDescription){2 + i, 1, VK_FORMAT_R32G32B32A32_SFLOAT, i * (uint32_t)sizeof(vec4)};
    return 10;
}

static VkResult create_graphics(struct gpu *gpu, const struct program_row *row,
                                const VkPipelineShaderStageCreateInfo *stages, uint32_t stage_count,
                                struct gpu_program *program)
{
    VkVertexInputAttributeDescription attributes[10];
    const VkVertexInputBindingDescription bindings[] = {{0, sizeof(struct vertex), VK_VERTEX_INPUT_RATE_VERTEX},
                                                        {1, sizeof(struct instance), VK_VERTEX_INPUT_RATE_INSTANCE}};
    uint32_t attribute_count = vertex_attributes(attributes);
    VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = 2,
        .pVertexBindingDescriptions = bindings,
        .vertexAttributeDescriptionCount = row->fragment.words ? attribute_count : attribute_count - 5,
        .pVertexAttributeDescriptions = attributes};
    VkPipelineInputAssemblyStateCreateInfo assembly = {.sType =
                                                           VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
                                                       .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    VkPipelineViewportStateCreateInfo viewport = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, .viewportCount = 1, .scissorCount = 1};
    VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .cullMode = VK_CULL_MODE_BACK_BIT,
        .frontFace = row->view == VIEW_MIRROR ? VK_FRONT_FACE_CLOCKWISE : VK_FRONT_FACE_COUNTER_CLOCKWISE,
        .depthBiasEnable = row->view == VIEW_SUN,
        .depthBiasSlopeFactor = -1.5f, /* away from the sun: depth is reversed */
        .lineWidth = 1.0f};
    VkPipelineMultisampleStateCreateInfo samples = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                    .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    VkPipelineDepthStencilStateCreateInfo depth = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
                                                   .depthTestEnable = VK_TRUE,
                                                   .depthWriteEnable = row->depth == DEPTH_WRITES,
                                                   .depthCompareOp = row->depth == DEPTH_TESTS ? VK_COMPARE_OP_EQUAL
                                                                                               : VK_COMPARE_OP_GREATER};
    VkPipelineColorBlendAttachmentState blends[3] = {
        {.colorWriteMask = 0xf}, {.colorWriteMask = 0xf}, {.colorWriteMask = 0xf}};
    VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                 .attachmentCount = row->color_count,
                                                 .pAttachments = blends};
    const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                .dynamicStateCount = 2,
                                                .pDynamicStates = states};
    VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                               .colorAttachmentCount = row->color_count,
                                               .pColorAttachmentFormats = row->colors,
                                               .depthAttachmentFormat = VK_FORMAT_D32_SFLOAT};
    VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                         .pNext = &rendering,
                                         .stageCount = stage_count,
                                         .pStages = stages,
                                         .pVertexInputState = &input,
                                         .pInputAssemblyState = &assembly,
                                         .pViewportState = &viewport,
                                         .pRasterizationState = &raster,
                                         .pMultisampleState = &samples,
                                         .pDepthStencilState = &depth,
                                         .pColorBlendState = &blend,
                                         .pDynamicState = &dynamic,
                                         .layout = program->layout};
    return gpu->CreateGraphicsPipelines(gpu->device, VK_NULL_HANDLE, 1, &info, NULL, &program->pipeline);
}

static hd_result create_drawing(struct gpu *gpu, const struct program_row *row, struct gpu_program *program)
{
    int32_t view = (int32_t)row->view;
    const VkSpecializationMapEntry entry = {0, 0, sizeof view};
    const VkSpecializationInfo special = {1, &entry, sizeof view, &view};
    VkShaderModule vertex = create_module(gpu, row->vertex), fragment = create_module(gpu, row->fragment);
    VkPipelineShaderStageCreateInfo stages[2] = {{.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_VERTEX_BIT,
                                                  .module = vertex,
                                                  .pName = "main",
                                                  .pSpecializationInfo = &special},
                                                 {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
                                                  .module = fragment,
                                                  .pName = "main"}};
    program->point = VK_PIPELINE_BIND_POINT_GRAPHICS;
    VkResult result = VK_ERROR_OUT_OF_HOST_MEMORY;
    if (vertex && (fragment || !row->fragment.words))
        result = create_graphics(gpu, row, stages, fragment ? 2 : 1, program);
    gpu->DestroyShaderModule(gpu->device, vertex, NULL);
    gpu->DestroyShaderModule(gpu->device, fragment, NULL);
    return result == VK_SUCCESS ? HD_OK : HD_VULKAN;
}

hd_result gpu_programs_create(struct gpu *gpu)
{
    for (int i = 0; i < PROGRAM_COUNT; i++) {
        hd_result result = create_layout(gpu, &rows[i], &gpu->programs[i]);
        if (result == HD_OK)
            result = rows[i].compute.words ? create_compute(gpu, &rows[i], &gpu->programs[i])
                                           : create_drawing(gpu, &rows[i], &gpu->programs[i]);
        if (result != HD_OK)
            return result;
    }
    return HD_OK;
}

void gpu_programs_destroy(struct gpu *gpu)
{
    for (int i = 0; i < PROGRAM_COUNT; i++) {
        gpu->DestroyPipeline(gpu->device, gpu->programs[i].pipeline, NULL);
        gpu->DestroyPipelineLayout(gpu->device, gpu->programs[i].layout, NULL);
        gpu->DestroyDescriptorSetLayout(gpu->device, gpu->programs[i].set_layout, NULL);
    }
}
