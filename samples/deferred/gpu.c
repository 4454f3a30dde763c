#include "gpu.h"

#include <stdlib.h>
#include <string.h>

/* Descriptor sets are made afresh by each pass that records: from a pool of the worker that runs it and of the frame's
 * slot, emptied when that worker first records a newer frame in the slot. So workers share nothing and nothing that the
 * device still reads is written. */

#define SETS_PER_POOL 64

static hd_result load_functions(struct gpu *gpu, const hd_vk_info *info)
{
    PFN_vkGetDeviceProcAddr get =
        (PFN_vkGetDeviceProcAddr)info->get_instance_proc(info->instance, "vkGetDeviceProcAddr");
    if (!get)
        return HD_VULKAN;
#define GPU_FUNCTION_LOAD(name)                                                                                        \
    gpu->name = (PFN_vk##name)get(info->device, "vk" #name);                                                           \
    if (!gpu->name)                                                                                                    \
        return HD_VULKAN;
    GPU_FUNCTIONS(GPU_FUNCTION_LOAD)
#undef GPU_FUNCTION_LOAD
    PFN_vkGetPhysicalDeviceMemoryProperties memory = (PFN_vkGetPhysicalDeviceMemoryProperties)info->get_instance_proc(
        info->instance, "vkGetPhysicalDeviceMemoryProperties");
    PFN_vkGetPhysicalDeviceProperties properties = (PFN_vkGetPhysicalDeviceProperties)info->get_instance_proc(
        info->instance, "vkGetPhysicalDeviceProperties");
    if (!memory || !properties)
        return HD_VULKAN;
    VkPhysicalDeviceProperties device;
    properties(info->physical_device, &device);
    gpu->discrete = device.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    memory(info->physical_device, &gpu->memory);
    return HD_OK;
}

static hd_result create_samplers(struct gpu *gpu)
{
    VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                .magFilter = VK_FILTER_LINEAR,
                                .minFilter = VK_FILTER_LINEAR,
                                .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                .maxLod = VK_LOD_CLAMP_NONE};
    if (gpu->CreateSampler(gpu->device, &info, NULL, &gpu->linear) != VK_SUCCESS)
        return HD_VULKAN;
    VkSamplerCreateInfo nearest = info;
    nearest.magFilter = nearest.minFilter = VK_FILTER_NEAREST;
    if (gpu->CreateSampler(gpu->device, &nearest, NULL, &gpu->nearest) != VK_SUCCESS)
        return HD_VULKAN;
    /* Outside the shadow map all is lit: the border is farthest away, which is 0 in reverse depth. */
    info.addressModeU = info.addressModeV = info.addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
    info.borderColor = VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK;
    info.compareEnable = VK_TRUE;
    info.compareOp = VK_COMPARE_OP_GREATER_OR_EQUAL;
    return gpu->CreateSampler(gpu->device, &info, NULL, &gpu->shadow) == VK_SUCCESS ? HD_OK : HD_VULKAN;
}

static hd_result create_pools(struct gpu *gpu, uint32_t worker_count)
{
    gpu->workers = calloc(worker_count, sizeof *gpu->workers);
    if (!gpu->workers)
        return HD_OUT_OF_MEMORY;
    gpu->worker_count = worker_count;
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 2 * SETS_PER_POOL},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, SETS_PER_POOL},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, SETS_PER_POOL},
                                          {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 8 * SETS_PER_POOL}};
    VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = SETS_PER_POOL,
                                       .poolSizeCount = sizeof sizes / sizeof sizes[0],
                                       .pPoolSizes = sizes};
    for (uint32_t i = 0; i < worker_count; i++) {
        for (uint32_t slot = 0; slot < FRAME_SLOTS; slot++) {
            if (gpu->CreateDescriptorPool(gpu->device, &info, NULL, &gpu->workers[i].pools[slot]) != VK_SUCCESS)
                return HD_VULKAN;
        }
    }
    return HD_OK;
}

hd_result gpu_create(struct gpu *gpu, const hd_vk *vk, uint32_t worker_count)
{
    hd_vk_info info;
    hd_vk_info_get(vk, &info);
    memset(gpu, 0, sizeof *gpu);
    gpu->device = info.device;
    for (uint32_t i = 0; i < info.queue_count; i++) {
        uint32_t k = 0;
        while (k < gpu->family_count && gpu->families[k] != info.queues[i].family)
            k++;
        if (k == gpu->family_count)
            gpu->families[gpu->family_count++] = info.queues[i].family;
    }
    hd_result result = load_functions(gpu, &info);
    if (result != HD_OK) {
        gpu->device = VK_NULL_HANDLE; /* nothing to destroy, and nothing to destroy it with */
        return result;
    }
    result = create_samplers(gpu);
    if (result == HD_OK)
        result = create_pools(gpu, worker_count);
    if (result == HD_OK)
        result = gpu_programs_create(gpu);
    return result;
}

void gpu_destroy(struct gpu *gpu)
{
    if (!gpu->device)
        return;
    gpu_programs_destroy(gpu);
    for (uint32_t i = 0; i < gpu->worker_count; i++) {
        for (uint32_t slot = 0; slot < FRAME_SLOTS; slot++)
            gpu->DestroyDescriptorPool(gpu->device, gpu->workers[i].pools[slot], NULL);
    }
    free(gpu->workers);
    gpu->DestroySampler(gpu->device, gpu->linear, NULL);
    gpu->DestroySampler(gpu->device, gpu->nearest, NULL);
    gpu->DestroySampler(gpu->device, gpu->shadow, NULL);
    memset(gpu, 0, sizeof *gpu);
}

hd_result gpu_buffer_create(struct gpu *gpu, uint64_t bytes, VkBufferUsageFlags usage, struct gpu_buffer *out)
{
    *out = (struct gpu_buffer){.bytes = bytes};
    /* heddle takes imported buffers as shared by all families that it uses. */
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = bytes,
                               .usage = usage,
                               .sharingMode =
                                   gpu->family_count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
                               .queueFamilyIndexCount = gpu->family_count > 1 ? gpu->family_count : 0,
                               .pQueueFamilyIndices = gpu->families};
    if (gpu->CreateBuffer(gpu->device, &info, NULL, &out->buffer) != VK_SUCCESS)
        return HD_VULKAN;
    VkMemoryRequirements need;
    gpu->GetBufferMemoryRequirements(gpu->device, out->buffer, &need);
    for (uint32_t type = 0; type < gpu->memory.memoryTypeCount; type++) {
        VkMemoryPropertyFlags flags = gpu->memory.memoryTypes[type].propertyFlags;
        if (!(need.memoryTypeBits & 1u << type) || !(flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT))
            continue;
        VkMemoryAllocateInfo allocate = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = need.size, .memoryTypeIndex = type};
        if (gpu->AllocateMemory(gpu->device, &allocate, NULL, &out->memory) != VK_SUCCESS)
            return HD_OUT_OF_DEVICE_MEMORY;
        return gpu->BindBufferMemory(gpu->device, out->buffer, out->memory, 0) == VK_SUCCESS ? HD_OK : HD_VULKAN;
    }
    return HD_UNSUPPORTED;
}

void gpu_buffer_destroy(struct gpu *gpu, struct gpu_buffer *buffer)
{
    if (!gpu->device)
        return;
    gpu->DestroyBuffer(gpu->device, buffer->buffer, NULL);
    gpu->FreeMemory(gpu->device, buffer->memory, NULL);
    *buffer = (struct gpu_buffer){0};
}

static VkDescriptorSet allocate_set(struct gpu *gpu, hd_recorder *recorder, VkDescriptorSetLayout layout)
{
    uint64_t frame = hd_vk_frame_index(recorder);
    struct gpu_worker *worker = &gpu->workers[hd_vk_worker(recorder)];
    uint32_t slot = (uint32_t)(frame % FRAME_SLOTS);
    if (worker->frames[slot] != frame + 1) {
        gpu->ResetDescriptorPool(gpu->device, worker->pools[slot], 0);
        worker->frames[slot] = frame + 1;
    }
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = worker->pools[slot],
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &layout};
    VkDescriptorSet set = VK_NULL_HANDLE;
    if (gpu->AllocateDescriptorSets(gpu->device, &info, &set) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    return set;
}

bool gpu_bind(struct gpu *gpu, hd_recorder *recorder, enum program_id id, const struct gpu_arg *args, uint32_t count)
{
    const struct gpu_program *program = &gpu->programs[id];
    const char *bindings = gpu_program_bindings(id);
    VkDescriptorSet set = allocate_set(gpu, recorder, program->set_layout);
    VkWriteDescriptorSet writes[16];
    VkDescriptorImageInfo images[16];
    VkDescriptorBufferInfo buffers[16];
    if (!set || count != strlen(bindings) || count > 16) {
        atomic_store_explicit(&gpu->failed, true, memory_order_relaxed);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                           .pImageInfo = &images[i],
                                           .pBufferInfo = &buffers[i]};
        if (bindings[i] == 'u' || bindings[i] == 'b') {
            buffers[i] = (VkDescriptorBufferInfo){hd_vk_buffer(recorder, args[i].resource), 0, VK_WHOLE_SIZE};
            writes[i].descriptorType =
                bindings[i] == 'u' ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
            continue;
        }
        VkSampler sampler = bindings[i] == 'l' ? gpu->linear : bindings[i] == 's' ? gpu->shadow : gpu->nearest;
        images[i] = (VkDescriptorImageInfo){sampler, hd_vk_view(recorder, args[i].resource, &args[i].range),
                                            VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
        if (bindings[i] == 'i') {
            images[i].imageLayout = VK_IMAGE_LAYOUT_GENERAL;
            writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
        }
    }
    gpu->UpdateDescriptorSets(gpu->device, count, writes, 0, NULL);
    VkCommandBuffer commands = hd_vk_commands(recorder);
    gpu->CmdBindPipeline(commands, program->point, program->pipeline);
    gpu->CmdBindDescriptorSets(commands, program->point, program->layout, 0, 1, &set, 0, NULL);
    return true;
}
