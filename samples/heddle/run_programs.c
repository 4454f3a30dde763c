#include "run_state.h"

#include "attribute_vert.h"
#include "buffer_comp.h"
#include "buffer_frag.h"
#include "color_frag.h"
#include "depth_frag.h"
#include "fill_comp.h"
#include "fill_frag.h"
#include "full_vert.h"
#include "image_comp.h"
#include "image_frag.h"
#include "image_vert.h"
#include "index_vert.h"
#include "indirect_comp.h"
#include "indirect_vert.h"
#include "storage_r32f_comp.h"
#include "storage_r32f_frag.h"
#include "storage_r8_comp.h"
#include "storage_r8_frag.h"
#include "storage_rg16f_comp.h"
#include "storage_rg16f_frag.h"
#include "storage_rgba16f_comp.h"
#include "storage_rgba16f_frag.h"
#include "storage_rgba8_comp.h"
#include "storage_rgba8_frag.h"
#include "store_comp.h"
#include "store_frag.h"
#include "uniform_comp.h"
#include "uniform_frag.h"

/* Pipelines. Checks that read through a graphics stage draw without attachments: fragments look at a grid, vertices at
 * words of a buffer with nothing rasterized. */

typedef struct words {
    const uint32_t *words;
    size_t bytes;
} words;
#define WORDS(name) {name, sizeof name}

static const words computes[] = {
    [RUN_IMAGE_COMP] = WORDS(image_comp),         [RUN_STORE_COMP] = WORDS(store_comp),
    [RUN_BUFFER_COMP] = WORDS(buffer_comp),       [RUN_FILL_COMP] = WORDS(fill_comp),
    [RUN_UNIFORM_COMP] = WORDS(uniform_comp),     [RUN_INDIRECT_COMP] = WORDS(indirect_comp),
    [RUN_STORAGE_COMP] = WORDS(storage_rgba8_comp), [RUN_STORAGE_COMP + 1] = WORDS(storage_rgba16f_comp),
    [RUN_STORAGE_COMP + 2] = WORDS(storage_rg16f_comp), [RUN_STORAGE_COMP + 3] = WORDS(storage_r8_comp),
    [RUN_STORAGE_COMP + 4] = WORDS(storage_r32f_comp),
};

static VkShaderModule make_module(run *r, words code)
{
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = code.bytes, .pCode = code.words};
    VkShaderModule module = VK_NULL_HANDLE;
    if (code.words && r->CreateShaderModule(r->info.device, &info, NULL, &module) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    return module;
}

static bool make_compute(run *r, uint32_t program)
{
    VkShaderModule module = make_module(r, computes[program]);
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .module = module,
                                                  .pName = "main"},
                                        .layout = r->layout};
    VkResult result = module ? r->CreateComputePipelines(r->info.device, VK_NULL_HANDLE, 1, &info, NULL,
                                                         &r->programs[program])
                             : VK_ERROR_UNKNOWN;
    r->DestroyShaderModule(r->info.device, module, NULL);
    return result == VK_SUCCESS;
}

typedef struct drawing {
    words vertex, fragment;
    VkFormat color, depth;
    bool attribute;
} drawing;

static VkResult create(run *r, const drawing *d, VkShaderModule vertex, VkShaderModule fragment, VkPipeline *out)
{
    VkPipelineShaderStageCreateInfo stages[2] = {{.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_VERTEX_BIT,
                                                  .module = vertex,
                                                  .pName = "main"},
                                                 {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
                                                  .module = fragment,
                                                  .pName = "main"}};
    VkVertexInputBindingDescription binding = {0, 4, VK_VERTEX_INPUT_RATE_VERTEX};
    VkVertexInputAttributeDescription attribute = {0, 0, VK_FORMAT_R32_UINT, 0};
    VkPipelineVertexInputStateCreateInfo input = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
                                                  .vertexBindingDescriptionCount = d->attribute,
                                                  .pVertexBindingDescriptions = &binding,
                                                  .vertexAttributeDescriptionCount = d->attribute,
                                                  .pVertexAttributeDescriptions = &attribute};
    bool discard = !d->fragment.words && !d->depth;
    VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = discard ? VK_PRIMITIVE_TOPOLOGY_POINT_LIST : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    VkPipelineViewportStateCreateInfo viewport = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, .viewportCount = 1, .scissorCount = 1};
    VkPipelineRasterizationStateCreateInfo raster = {.sType =
                                                         VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
                                                     .rasterizerDiscardEnable = discard,
                                                     .cullMode = VK_CULL_MODE_NONE,
                                                     .lineWidth = 1.0f};
    VkPipelineMultisampleStateCreateInfo samples = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                    .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    VkPipelineDepthStencilStateCreateInfo depth = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
                                                   .depthTestEnable = d->depth != 0};
    VkPipelineColorBlendAttachmentState sum = {.blendEnable = VK_TRUE,
                                               .srcColorBlendFactor = VK_BLEND_FACTOR_ONE,
                                               .dstColorBlendFactor = VK_BLEND_FACTOR_ONE,
                                               .colorBlendOp = VK_BLEND_OP_ADD,
                                               .srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
                                               .dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
                                               .alphaBlendOp = VK_BLEND_OP_ADD,
                                               .colorWriteMask = 0xf};
    VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                 .attachmentCount = d->color != 0,
                                                 .pAttachments = &sum};
    const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR,
                                     VK_DYNAMIC_STATE_DEPTH_COMPARE_OP, VK_DYNAMIC_STATE_DEPTH_WRITE_ENABLE};
    VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                .dynamicStateCount = d->depth ? 4 : 2,
                                                .pDynamicStates = states};
    VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                               .colorAttachmentCount = d->color != 0,
                                               .pColorAttachmentFormats = &d->color,
                                               .depthAttachmentFormat = d->depth};
    VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                         .pNext = &rendering,
                                         .stageCount = fragment ? 2 : 1,
                                         .pStages = stages,
                                         .pVertexInputState = &input,
                                         .pInputAssemblyState = &assembly,
                                         .pViewportState = &viewport,
                                         .pRasterizationState = &raster,
                                         .pMultisampleState = &samples,
                                         .pDepthStencilState = &depth,
                                         .pColorBlendState = &blend,
                                         .pDynamicState = &dynamic,
                                         .layout = r->layout};
    return r->CreateGraphicsPipelines(r->info.device, VK_NULL_HANDLE, 1, &info, NULL, out);
}

static bool make_drawing(run *r, uint32_t program, drawing d)
{
    VkShaderModule vertex = make_module(r, d.vertex), fragment = make_module(r, d.fragment);
    VkResult result = VK_ERROR_UNKNOWN;
    if (vertex && (fragment || !d.fragment.words))
        result = create(r, &d, vertex, fragment, &r->programs[program]);
    r->DestroyShaderModule(r->info.device, vertex, NULL);
    r->DestroyShaderModule(r->info.device, fragment, NULL);
    return result == VK_SUCCESS;
}

hd_result run_make_programs(run *r)
{
    static const VkFormat colors[] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R16G16B16A16_SFLOAT,
                                      VK_FORMAT_R16G16_SFLOAT,  VK_FORMAT_R8_UNORM,       VK_FORMAT_R32_SFLOAT};
    bool good = true;
    for (uint32_t c = 0; c < sizeof(computes) / sizeof(computes[0]); c++)
        good = good && make_compute(r, c);
    const drawing drawings[] = {
        {.vertex = WORDS(full_vert), .fragment = WORDS(image_frag)},
        {.vertex = WORDS(full_vert), .fragment = WORDS(store_frag)},
        {.vertex = WORDS(full_vert), .fragment = WORDS(buffer_frag)},
        {.vertex = WORDS(full_vert), .fragment = WORDS(fill_frag)},
        {.vertex = WORDS(full_vert), .fragment = WORDS(uniform_frag)},
        {.vertex = WORDS(full_vert), .fragment = WORDS(storage_rgba8_frag)},
        {.vertex = WORDS(full_vert), .fragment = WORDS(storage_rgba16f_frag)},
        {.vertex = WORDS(full_vert), .fragment = WORDS(storage_rg16f_frag)},
        {.vertex = WORDS(full_vert), .fragment = WORDS(storage_r8_frag)},
        {.vertex = WORDS(full_vert), .fragment = WORDS(storage_r32f_frag)},
        {.vertex = WORDS(image_vert)},
        {.vertex = WORDS(attribute_vert), .attribute = true},
        {.vertex = WORDS(index_vert)},
        {.vertex = WORDS(indirect_vert)},
        {.vertex = WORDS(full_vert), .fragment = WORDS(depth_frag), .depth = VK_FORMAT_D32_SFLOAT},
        {.vertex = WORDS(full_vert), .depth = VK_FORMAT_D32_SFLOAT},
    };
    for (uint32_t d = 0; d < sizeof(drawings) / sizeof(drawings[0]); d++)
        good = good && make_drawing(r, RUN_IMAGE_FRAG + d, drawings[d]);
    for (uint32_t c = 0; c < 6; c++)
        good = good && make_drawing(r, RUN_COLOR + c, (drawing){.vertex = WORDS(full_vert),
                                                               .fragment = WORDS(color_frag),
                                                               .color = colors[c]});
    return good ? HD_OK : run_fail(r, HD_VULKAN, "a pipeline cannot be made");
}

void run_free_programs(run *r)
{
    for (uint32_t p = 0; r->info.device && p < RUN_PROGRAM_COUNT; p++)
        r->DestroyPipeline(r->info.device, r->programs[p], NULL);
}
