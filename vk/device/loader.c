#include "vk_device.h"

#include "alloc.h"

/* Function pointers, per hd_vk: tables of its own, filled through the loader that volk_loader.c or the engine gives. */

const char *hdi_vk_load_instance(hd_vk *vk)
{
#define LOAD(name)                                                                                                     \
    vk->in.name = (PFN_##name)vk->get_instance_proc(vk->instance, #name);                                              \
    if (!vk->in.name)                                                                                                  \
        return #name;
    HDI_VK_INSTANCE_FUNCTIONS(LOAD)
#undef LOAD
    return NULL;
}

const char *hdi_vk_load_device(hd_vk *vk)
{
#define LOAD(name)                                                                                                     \
    vk->fn.name = (PFN_##name)vk->in.vkGetDeviceProcAddr(vk->device, #name);                                           \
    if (!vk->fn.name)                                                                                                  \
        return #name;
    HDI_VK_DEVICE_FUNCTIONS(LOAD)
#undef LOAD
    vk->fn.vkCmdBeginDebugUtilsLabelEXT =
        (PFN_vkCmdBeginDebugUtilsLabelEXT)vk->in.vkGetDeviceProcAddr(vk->device, "vkCmdBeginDebugUtilsLabelEXT");
    vk->fn.vkCmdEndDebugUtilsLabelEXT =
        (PFN_vkCmdEndDebugUtilsLabelEXT)vk->in.vkGetDeviceProcAddr(vk->device, "vkCmdEndDebugUtilsLabelEXT");
    vk->fn.vkSetDebugUtilsObjectNameEXT =
        (PFN_vkSetDebugUtilsObjectNameEXT)vk->in.vkGetDeviceProcAddr(vk->device, "vkSetDebugUtilsObjectNameEXT");
    vk->fn.vkGetCalibratedTimestampsEXT =
        (PFN_vkGetCalibratedTimestampsEXT)vk->in.vkGetDeviceProcAddr(vk->device, "vkGetCalibratedTimestampsEXT");
    if (!vk->fn.vkGetCalibratedTimestampsEXT)
        vk->fn.vkGetCalibratedTimestampsEXT =
            (PFN_vkGetCalibratedTimestampsEXT)vk->in.vkGetDeviceProcAddr(vk->device, "vkGetCalibratedTimestampsKHR");
    vk->labels = vk->fn.vkCmdBeginDebugUtilsLabelEXT && vk->fn.vkCmdEndDebugUtilsLabelEXT;
    return NULL;
}

hd_result hdi_vk_result(hd_vk *vk, VkResult result, const char *what)
{
    hd_result mapped;
    switch (result) {
    case VK_SUCCESS:
        return HD_OK;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        mapped = HD_OUT_OF_MEMORY;
        break;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        mapped = HD_OUT_OF_DEVICE_MEMORY;
        break;
    case VK_ERROR_DEVICE_LOST:
        mapped = HD_DEVICE_LOST;
        hdi_vk_lose(vk, HD_DEVICE_LOST);
        break;
    case VK_ERROR_SURFACE_LOST_KHR:
        mapped = HD_SURFACE_LOST;
        break;
    case VK_ERROR_INCOMPATIBLE_DRIVER:
        mapped = HD_NO_DEVICE;
        break;
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_LAYER_NOT_PRESENT:
        mapped = HD_MISSING_FEATURE;
        break;
    case VK_ERROR_FORMAT_NOT_SUPPORTED:
        mapped = HD_UNSUPPORTED;
        break;
    default:
        mapped = HD_VULKAN;
        break;
    }
    return hdi_vk_fail(vk, mapped, HD_NONE, HD_NONE, "%s failed with VkResult %d: %s", what, (int)result,
                       hd_result_text(mapped));
}

void hdi_vk_lose(hd_vk *vk, hd_result result)
{
    int none = HD_OK;
    atomic_compare_exchange_strong_explicit(&vk->lost, &none, (int)result, memory_order_acq_rel, memory_order_acquire);
}
