#include "device.h"

#include <stdio.h>
#include <string.h>

/* What goes wrong here is the machine's fault: null handles come back, and the benchmark gives up. */

static void print_log(hd_log_level level, const char *text, void *user)
{
    (void)user;
    if (level == HD_LOG_ERROR)
        fprintf(stderr, "%s\n", text);
}

bool hdb_device_open(hdb_device *device, const hd_vk_desc *desc)
{
    memset(device, 0, sizeof(*device));
    hd_vk_desc mine = *desc;
    mine.log = (hd_log){print_log, NULL};
    hd_result result = hd_vk_create(&mine, &device->vk);
    if (result != HD_OK) {
        fprintf(stderr, "no device: %s\n", hd_result_text(result));
        return false;
    }
    hd_vk_info_get(device->vk, &device->info);
    PFN_vkGetInstanceProcAddr instance = device->info.get_instance_proc;
    PFN_vkGetDeviceProcAddr get = (PFN_vkGetDeviceProcAddr)instance(device->info.instance, "vkGetDeviceProcAddr");
#define HDB_DEVICE_LOAD(name)                                                                                          \
    device->name = (PFN_##name)get(device->info.device, #name);                                                        \
    if (!device->name) {                                                                                               \
        fprintf(stderr, "no " #name "\n");                                                                             \
        return false;                                                                                                  \
    }
    HDB_DEVICE_FUNCTIONS(HDB_DEVICE_LOAD)
#undef HDB_DEVICE_LOAD
    PFN_vkGetPhysicalDeviceMemoryProperties memory =
        (PFN_vkGetPhysicalDeviceMemoryProperties)instance(device->info.instance, "vkGetPhysicalDeviceMemoryProperties");
    PFN_vkGetPhysicalDeviceProperties properties =
        (PFN_vkGetPhysicalDeviceProperties)instance(device->info.instance, "vkGetPhysicalDeviceProperties");
    VkPhysicalDeviceProperties has;
    memory(device->info.physical_device, &device->memory);
    properties(device->info.physical_device, &has);
    device->ns_a_tick = (double)has.limits.timestampPeriod;
    return true;
}

void hdb_device_close(hdb_device *device)
{
    hd_vk_destroy(device->vk);
    memset(device, 0, sizeof(*device));
}

VkDescriptorSetLayout hdb_set_layout(const hdb_device *device, uint32_t buffers)
{
    VkDescriptorSetLayoutBinding bindings[8];
    for (uint32_t i = 0; i < buffers && i < 8; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = buffers, .pBindings = bindings};
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    device->vkCreateDescriptorSetLayout(device->info.device, &info, NULL, &layout);
    return layout;
}

VkPipelineLayout hdb_layout(const hdb_device *device, VkDescriptorSetLayout set, VkShaderStageFlags stages,
                            uint32_t bytes)
{
    VkPushConstantRange push = {stages, 0, bytes};
    VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = set ? 1 : 0,
        .pSetLayouts = &set,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &push,
    };
    VkPipelineLayout layout = VK_NULL_HANDLE;
    device->vkCreatePipelineLayout(device->info.device, &info, NULL, &layout);
    return layout;
}

static VkPipelineShaderStageCreateInfo stage_of(const hdb_device *device, hdb_words words, VkShaderStageFlagBits stage)
{
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = words.bytes, .pCode = words.words};
    VkShaderModule module = VK_NULL_HANDLE;
    device->vkCreateShaderModule(device->info.device, &info, NULL, &module);
    return (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                             .stage = stage,
                                             .module = module,
                                             .pName = "main"};
}

VkPipeline hdb_compute(const hdb_device *device, VkPipelineLayout layout, hdb_words words)
{
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = stage_of(device, words, VK_SHADER_STAGE_COMPUTE_BIT),
                                        .layout = layout};
    VkPipeline pipeline = VK_NULL_HANDLE;
    if (info.stage.module)
        device->vkCreateComputePipelines(device->info.device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline);
    device->vkDestroyShaderModule(device->info.device, info.stage.module, NULL);
    return pipeline;
}

VkPipeline hdb_graphics(const hdb_device *device, VkPipelineLayout layout, hdb_words vertex, hdb_words fragment,
                        VkFormat format)
{
    const VkDynamicState dynamic[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    VkPipelineShaderStageCreateInfo stages[] = {stage_of(device, vertex, VK_SHADER_STAGE_VERTEX_BIT),
                                                stage_of(device, fragment, VK_SHADER_STAGE_FRAGMENT_BIT)};
    VkPipelineVertexInputStateCreateInfo input = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    VkPipelineInputAssemblyStateCreateInfo assembly = {.sType =
                                                           VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
                                                       .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    VkPipelineViewportStateCreateInfo viewport = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, .viewportCount = 1, .scissorCount = 1};
    VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1.0f};
    VkPipelineMultisampleStateCreateInfo samples = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                    .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    VkPipelineColorBlendAttachmentState attachment = {.colorWriteMask = 0xf};
    VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                 .attachmentCount = 1,
                                                 .pAttachments = &attachment};
    VkPipelineDynamicStateCreateInfo changes = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                .dynamicStateCount = 2,
                                                .pDynamicStates = dynamic};
    VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                               .colorAttachmentCount = 1,
                                               .pColorAttachmentFormats = &format};
    VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .pNext = &rendering,
        .stageCount = 2,
        .pStages = stages,
        .pVertexInputState = &input,
        .pInputAssemblyState = &assembly,
        .pViewportState = &viewport,
        .pRasterizationState = &raster,
        .pMultisampleState = &samples,
        .pColorBlendState = &blend,
        .pDynamicState = &changes,
        .layout = layout,
    };
    VkPipeline pipeline = VK_NULL_HANDLE;
    if (stages[0].module && stages[1].module)
        device->vkCreateGraphicsPipelines(device->info.device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline);
    device->vkDestroyShaderModule(device->info.device, stages[0].module, NULL);
    device->vkDestroyShaderModule(device->info.device, stages[1].module, NULL);
    return pipeline;
}

bool hdb_buffers_make(const hdb_device *device, uint64_t bytes, VkBufferUsageFlags usage, hdb_buffer *out,
                      uint32_t count)
{
    VkDevice handle = device->info.device;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = usage};
    VkMemoryRequirements need = {0};
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (hdb_buffer){.bytes = bytes};
        if (device->vkCreateBuffer(handle, &info, NULL, &out[i].buffer) != VK_SUCCESS)
            return false;
        device->vkGetBufferMemoryRequirements(handle, out[i].buffer, &need);
    }
    uint32_t type = 0;
    while (type < device->memory.memoryTypeCount &&
           (!(need.memoryTypeBits & 1u << type) ||
            !(device->memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)))
        type++;
    uint64_t each = (need.size + need.alignment - 1) / need.alignment * need.alignment;
    VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = each * count, .memoryTypeIndex = type};
    if (type == device->memory.memoryTypeCount ||
        device->vkAllocateMemory(handle, &allocate, NULL, &out[0].memory) != VK_SUCCESS)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (device->vkBindBufferMemory(handle, out[i].buffer, out[0].memory, i * each) != VK_SUCCESS)
            return false;
    }
    return true;
}

bool hdb_buffer_make(const hdb_device *device, uint64_t bytes, VkBufferUsageFlags usage, hdb_buffer *out)
{
    return hdb_buffers_make(device, bytes, usage, out, 1);
}

void hdb_buffer_free(const hdb_device *device, hdb_buffer *buffer)
{
    device->vkDestroyBuffer(device->info.device, buffer->buffer, NULL);
    device->vkFreeMemory(device->info.device, buffer->memory, NULL);
    *buffer = (hdb_buffer){0};
}
