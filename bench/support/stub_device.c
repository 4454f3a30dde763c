#include "stub_table.h"

/* What the driver that does nothing says of its one physical device. */

#pragma GCC diagnostic ignored                                                                                         \
    "-Wunused-parameter" /* a driver that does nothing takes most of its arguments for that */

static VKAPI_ATTR void VKAPI_CALL vk_DestroyInstance(VkInstance instance, const VkAllocationCallbacks *memory)
{
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_EnumeratePhysicalDevices(VkInstance instance, uint32_t *count,
                                                                  VkPhysicalDevice *devices)
{
    *count = 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL vk_GetPhysicalDeviceProperties(VkPhysicalDevice device,
                                                                 VkPhysicalDeviceProperties *out)
{
    *out = (VkPhysicalDeviceProperties){.apiVersion = VK_API_VERSION_1_3, .deviceName = "stub"};
    out->limits.bufferImageGranularity = 1;
    out->limits.timestampPeriod = 1.0f;
    out->limits.maxColorAttachments = 8;
    out->limits.maxFramebufferWidth = out->limits.maxFramebufferHeight = 65536;
    out->limits.maxFramebufferLayers = 2048;
}

static VKAPI_ATTR void VKAPI_CALL vk_GetPhysicalDeviceProperties2(VkPhysicalDevice device,
                                                                  VkPhysicalDeviceProperties2 *out)
{
    vk_GetPhysicalDeviceProperties(device, &out->properties);
    for (VkBaseOutStructure *next = out->pNext; next; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES)
            ((VkPhysicalDeviceMaintenance4Properties *)(void *)next)->maxBufferSize = UINT64_MAX / 2;
    }
}

static VKAPI_ATTR void VKAPI_CALL vk_GetPhysicalDeviceFeatures2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *out)
{
    for (VkBaseOutStructure *next = out->pNext; next; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES) {
            VkPhysicalDeviceVulkan12Features *has = (void *)next;
            has->timelineSemaphore = has->separateDepthStencilLayouts = VK_TRUE;
        } else if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES) {
            VkPhysicalDeviceVulkan13Features *has = (void *)next;
            has->synchronization2 = has->dynamicRendering = has->maintenance4 = VK_TRUE;
        }
    }
}

static VKAPI_ATTR void VKAPI_CALL vk_GetPhysicalDeviceMemoryProperties(VkPhysicalDevice device,
                                                                       VkPhysicalDeviceMemoryProperties *out)
{
    const VkMemoryPropertyFlags all = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                      VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    *out = (VkPhysicalDeviceMemoryProperties){
        .memoryTypeCount = 1, .memoryTypes = {{all, 0}}, .memoryHeapCount = 1, .memoryHeaps = {{UINT64_C(1) << 40, 1}}};
}

static VKAPI_ATTR void VKAPI_CALL vk_GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice device, uint32_t *count,
                                                                            VkQueueFamilyProperties *out)
{
    const VkQueueFlags flags[] = {VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT,
                                  VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, VK_QUEUE_TRANSFER_BIT};
    *count = 3;
    for (uint32_t f = 0; f < 3 && out; f++)
        out[f] = (VkQueueFamilyProperties){.queueFlags = flags[f], .queueCount = 1, .timestampValidBits = 64};
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_GetPhysicalDeviceImageFormatProperties2(
    VkPhysicalDevice device, const VkPhysicalDeviceImageFormatInfo2 *info, VkImageFormatProperties2 *out)
{
    out->imageFormatProperties = (VkImageFormatProperties){{65536, 65536, 65536}, 17, 65536, 0x7f, UINT64_MAX / 2};
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_CreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                      const VkAllocationCallbacks *memory, VkDevice *out)
{
    return VK_ERROR_FEATURE_NOT_PRESENT;
}

const hdb_stub_entry hdb_stub_device_entries[] = {
    HDB_STUB_ENTRY(DestroyInstance),
    HDB_STUB_ENTRY(EnumeratePhysicalDevices),
    HDB_STUB_ENTRY(GetPhysicalDeviceProperties),
    HDB_STUB_ENTRY(GetPhysicalDeviceProperties2),
    HDB_STUB_ENTRY(GetPhysicalDeviceFeatures2),
    HDB_STUB_ENTRY(GetPhysicalDeviceMemoryProperties),
    HDB_STUB_ENTRY(GetPhysicalDeviceQueueFamilyProperties),
    HDB_STUB_ENTRY(GetPhysicalDeviceImageFormatProperties2),
    HDB_STUB_ENTRY(CreateDevice),
    {0},
};
