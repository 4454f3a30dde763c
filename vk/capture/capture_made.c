#include "capture_state.h"

#include <string.h>

/* What is made by functions that make more than one object, or whose data is not the structure that they are given. */

#define HOOKS(X)                                                                                                       \
    X(vkCreateInstance)                                                                                                \
    X(vkDestroyDevice)                                                                                                 \
    X(vkCreateSwapchainKHR)                                                                                            \
    X(vkGetSwapchainImagesKHR)                                                                                         \
    X(vkCreateGraphicsPipelines)                                                                                       \
    X(vkCreateComputePipelines)                                                                                        \
    X(vkAllocateDescriptorSets)
HOOKS(HDI_CAP_NEXT)

PFN_vkVoidFunction hdi_cap_real(VkDevice device, const char *name)
{
    return hdi_cap.device_proc ? hdi_cap.device_proc(device, name) : hdi_cap.instance_proc(hdi_cap.instance, name);
}

static void write(const char *type, const void *value)
{
    hdi_call_write(hdi_cap_writer_locked(), hdi_call_type_find(type), value);
}

/* ---- the device ---- */

static VkResult VKAPI_PTR hook_vkCreateInstance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *memory,
                                                VkInstance *out)
{
    VkResult result = NEXT(vkCreateInstance)(info, memory, out);
    hdi_cap_lock();
    if (result == VK_SUCCESS && hdi_cap.replay) {
        hdi_cap.instance = *out;
        hdi_cap.has_instance = true;
        write("VkInstanceCreateInfo", info);
        hdi_cap_made_locked("vkCreateInstance", VK_OBJECT_TYPE_INSTANCE, HDI_CAP_HANDLE(*out));
    }
    hdi_cap_unlock();
    return result;
}

void hdi_cap_device_made_locked(VkPhysicalDevice physical, const VkDeviceCreateInfo *info, VkDevice device,
                                const VkQueueFlags *families, uint32_t family_count)
{
    hdi_cap_state *c = &hdi_cap;
    PFN_vkGetPhysicalDeviceMemoryProperties ask =
        (PFN_vkGetPhysicalDeviceMemoryProperties)c->instance_proc(c->instance, "vkGetPhysicalDeviceMemoryProperties");
    if (!c->open || !c->replay)
        return;
    if (ask)
        ask(physical, &c->memory_types);
    c->physical = physical;
    c->device = device;
    hdi_call_writer *w = hdi_cap_writer_locked();
    uint32_t instance = hdi_cap_record_locked(VK_OBJECT_TYPE_INSTANCE, HDI_CAP_HANDLE(c->instance));
    if (instance)
        hdi_call_write_ref(w, instance);
    hdi_call_write(w, hdi_call_type_find("VkDeviceCreateInfo"), info);
    hdi_call_write_bytes(w, &c->memory_types, sizeof(c->memory_types));
    hdi_call_write_bytes(w, &family_count, sizeof(family_count));
    hdi_call_write_bytes(w, families, family_count * (uint32_t)sizeof(*families));
    c->device_record = hdi_cap_made_locked("vkCreateDevice", VK_OBJECT_TYPE_DEVICE, HDI_CAP_HANDLE(device));
}

static void VKAPI_PTR hook_vkDestroyDevice(VkDevice device, const VkAllocationCallbacks *memory)
{
    hdi_cap_free_readback(); /* without the lock: presents take it behind their own */
    hdi_cap_lock();
    if (hdi_cap.device == device)
        hdi_cap.check_count = 0;
    hdi_cap_unlock();
    NEXT(vkDestroyDevice)(device, memory);
}

/* ---- memory ---- */

/* The image or buffer that has memory is another record than the one without. */
void hdi_cap_bound_locked(hdi_cap_object *object, VkDeviceMemory memory, uint64_t offset)
{
    bool image = object->kind == HDI_CAP_IMAGE;
    uint32_t place = hdi_cap_record_locked(VK_OBJECT_TYPE_DEVICE_MEMORY, HDI_CAP_HANDLE(memory));
    if (!hdi_cap.replay || !object->record || !place)
        return;
    hdi_call_writer *w = hdi_cap_writer_locked();
    hdi_call_write_ref(w, object->record);
    hdi_call_write_ref(w, place);
    hdi_call_write_bytes(w, &offset, sizeof(offset));
    object->record = hdi_cap_made_locked(image ? "vkBindImageMemory" : "vkBindBufferMemory",
                                         image ? VK_OBJECT_TYPE_IMAGE : VK_OBJECT_TYPE_BUFFER, object->handle);
}

/* ---- swapchains ---- */

/* The capture reads what is presented. */
static VkResult VKAPI_PTR hook_vkCreateSwapchainKHR(VkDevice device, const VkSwapchainCreateInfoKHR *info,
                                                    const VkAllocationCallbacks *memory, VkSwapchainKHR *out)
{
    PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR ask =
        (PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR)hdi_cap.instance_proc(
            hdi_cap.instance, "vkGetPhysicalDeviceSurfaceCapabilitiesKHR");
    VkSurfaceCapabilitiesKHR can = {0};
    VkSwapchainCreateInfoKHR with = *info;
    if (hdi_cap.replay && ask && hdi_cap.physical && ask(hdi_cap.physical, info->surface, &can) == VK_SUCCESS)
        with.imageUsage |= can.supportedUsageFlags & VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    VkResult result = NEXT(vkCreateSwapchainKHR)(device, &with, memory, out);
    hdi_cap_lock();
    hdi_cap_object *object =
        result == VK_SUCCESS && hdi_cap.replay ? hdi_cap_make_locked(HDI_CAP_SWAPCHAIN, HDI_CAP_HANDLE(*out)) : NULL;
    VkSwapchainCreateInfoKHR *made = object ? hdi_alloc(&hdi_cap.allocator, sizeof(*made), 8) : NULL;
    if (made) {
        *made = with;
        made->pNext = NULL;
        made->pQueueFamilyIndices = NULL;
        object->made = made;
        object->made_bytes = sizeof(*made);
    } else if (object) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
    }
    hdi_cap_unlock();
    return result;
}

static void swapchain_image_locked(uint32_t swapchain, const VkSwapchainCreateInfoKHR *info, VkImage image,
                                   uint32_t index)
{
    uint32_t before = hdi_cap_record_locked(VK_OBJECT_TYPE_IMAGE, HDI_CAP_HANDLE(image));
    const hd_stream *records = hdi_cap.records;
    if (before) { /* asked for again */
        const hd_stream_data *data = &records->datas[records->objects[before].data];
        if (data->ref_count == 1 && records->refs[data->ref_begin] == swapchain)
            return;
    }
    hdi_cap_drop_locked(HDI_CAP_IMAGE, HDI_CAP_HANDLE(image));
    hdi_cap_object *object = hdi_cap_resource_locked(HDI_CAP_IMAGE, HDI_CAP_HANDLE(image));
    hdi_call_writer *w = hdi_cap_writer_locked();
    hdi_call_write_ref(w, swapchain);
    hdi_call_write_bytes(w, &index, sizeof(index));
    uint32_t record = hdi_cap_made_locked("vkGetSwapchainImagesKHR", VK_OBJECT_TYPE_IMAGE, HDI_CAP_HANDLE(image));
    if (!object)
        return;
    object->record = record;
    object->format = (uint32_t)info->imageFormat;
    object->res.layers = info->imageArrayLayers;
}

static VkResult VKAPI_PTR hook_vkGetSwapchainImagesKHR(VkDevice device, VkSwapchainKHR swapchain, uint32_t *count,
                                                       VkImage *images)
{
    VkResult result = NEXT(vkGetSwapchainImagesKHR)(device, swapchain, count, images);
    hdi_cap_lock();
    uint32_t record = hdi_cap_record_locked(VK_OBJECT_TYPE_SWAPCHAIN_KHR, HDI_CAP_HANDLE(swapchain));
    for (uint32_t i = 0; images && record && i < *count && result >= VK_SUCCESS && hdi_cap.replay; i++) {
        hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_SWAPCHAIN, HDI_CAP_HANDLE(swapchain));
        if (object && object->made)
            swapchain_image_locked(record, object->made, images[i], i);
    }
    hdi_cap_unlock();
    return result;
}

/* ---- pipelines ---- */

/* Each alone: neither a cache nor another pipeline that it derives from changes what it does. */
#define PIPELINES(function, info_type, prepare)                                                                        \
    static VkResult VKAPI_PTR hook_##function(VkDevice device, VkPipelineCache cache, uint32_t count,                  \
                                              const info_type *infos, const VkAllocationCallbacks *memory,             \
                                              VkPipeline *out)                                                         \
    {                                                                                                                  \
        VkResult result = NEXT(function)(device, cache, count, infos, memory, out);                                    \
        hdi_cap_lock();                                                                                                \
        for (uint32_t i = 0; i < count && result >= VK_SUCCESS && hdi_cap.replay; i++) {                               \
            info_type one = infos[i];                                                                                  \
            one.flags &= ~(VkPipelineCreateFlags)(VK_PIPELINE_CREATE_DERIVATIVE_BIT |                                  \
                                                  VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);           \
            prepare;                                                                                                   \
            write(#info_type, &one);                                                                                   \
            if (out[i])                                                                                                \
                hdi_cap_made_locked(#function, VK_OBJECT_TYPE_PIPELINE, HDI_CAP_HANDLE(out[i]));                       \
        }                                                                                                              \
        hdi_cap_unlock();                                                                                              \
        return result;                                                                                                 \
    }
PIPELINES(vkCreateGraphicsPipelines, VkGraphicsPipelineCreateInfo, hdi_cap_drop_ignored_locked(&one))
PIPELINES(vkCreateComputePipelines, VkComputePipelineCreateInfo, (void)0)

/* ---- descriptor sets ---- */

static VkResult VKAPI_PTR hook_vkAllocateDescriptorSets(VkDevice device, const VkDescriptorSetAllocateInfo *info,
                                                        VkDescriptorSet *out)
{
    VkResult result = NEXT(vkAllocateDescriptorSets)(device, info, out);
    const VkDescriptorSetVariableDescriptorCountAllocateInfo *counts = NULL;
    for (const VkBaseInStructure *next = info->pNext; next; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO)
            counts = (const void *)next;
    }
    hdi_cap_lock();
    for (uint32_t i = 0; i < info->descriptorSetCount && result == VK_SUCCESS && hdi_cap.replay; i++) {
        VkDescriptorSetVariableDescriptorCountAllocateInfo variable = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO};
        VkDescriptorSetAllocateInfo one = *info;
        one.pNext = NULL;
        one.descriptorSetCount = 1;
        one.pSetLayouts = &info->pSetLayouts[i];
        if (counts && i < counts->descriptorSetCount) {
            variable.descriptorSetCount = 1;
            variable.pDescriptorCounts = &counts->pDescriptorCounts[i];
            one.pNext = &variable;
        }
        write("VkDescriptorSetAllocateInfo", &one);
        hdi_cap_made_locked("vkAllocateDescriptorSets", VK_OBJECT_TYPE_DESCRIPTOR_SET, HDI_CAP_HANDLE(out[i]));
    }
    hdi_cap_unlock();
    return result;
}

static const hdi_cap_hook hooks[] = {HOOKS(HDI_CAP_ENTRY)};
const hdi_cap_hooks hdi_cap_made_hooks = {hooks, sizeof(hooks) / sizeof(hooks[0]), true};
