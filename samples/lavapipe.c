#include "lavapipe.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#include <vulkan/vulkan_core.h>

static bool drops_barriers(PFN_vkGetPhysicalDeviceProperties2 get, VkPhysicalDevice device)
{
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    get(device, &all);
    return driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE &&
           all.properties.driverVersion < VK_MAKE_API_VERSION(0, 25, 0, 0);
}

void avoid_lavapipe_threads(void)
{
    void *loader = getenv("LP_NUM_THREADS") ? NULL : dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    PFN_vkGetInstanceProcAddr get =
        loader ? (PFN_vkGetInstanceProcAddr)dlsym(loader, "vkGetInstanceProcAddr") : NULL;
    PFN_vkCreateInstance create = get ? (PFN_vkCreateInstance)get(NULL, "vkCreateInstance") : NULL;
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    VkInstance instance;
    if (!create || create(&info, NULL, &instance) != VK_SUCCESS)
        return;
    PFN_vkEnumeratePhysicalDevices list = (PFN_vkEnumeratePhysicalDevices)get(instance, "vkEnumeratePhysicalDevices");
    PFN_vkGetPhysicalDeviceProperties2 properties =
        (PFN_vkGetPhysicalDeviceProperties2)get(instance, "vkGetPhysicalDeviceProperties2");
    PFN_vkDestroyInstance destroy = (PFN_vkDestroyInstance)get(instance, "vkDestroyInstance");
    VkPhysicalDevice devices[16];
    uint32_t count = 16;
    bool drops = false;
    if (list && properties && list(instance, &count, devices) >= VK_SUCCESS) {
        for (uint32_t d = 0; d < count; d++)
            drops |= drops_barriers(properties, devices[d]);
    }
    destroy(instance, NULL);
    if (drops)
        setenv("LP_NUM_THREADS", "0", 1);
}
