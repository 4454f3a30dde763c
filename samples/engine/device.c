#include "engine.h"

#include <heddle/capture.h>
#include <string.h>

#include "lavapipe.h"

/* Step 1: the device, and step 2: its queues. heddle adopts both: it needs to know what was enabled, because Vulkan
 * does not tell, and which VkQueue serves which kind of pass. */

static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                     VkDebugUtilsMessageTypeFlagsEXT types,
                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    (void)types;
    journal_say(user, severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT ? HD_LOG_ERROR : HD_LOG_WARNING,
                "validation", "%s", data->pMessage);
    return VK_FALSE;
}

static bool has_instance_extension(const char *name)
{
    VkExtensionProperties all[256];
    uint32_t count = 256;
    if (vkEnumerateInstanceExtensionProperties(NULL, &count, all) < VK_SUCCESS)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(all[i].extensionName, name) == 0)
            return true;
    return false;
}

static bool make_instance(struct engine *engine)
{
    const char *extensions[16];
    uint32_t count;
    const char *const *wanted = windows_extensions(engine, &count);
    if (count > 8)
        return false;
    for (uint32_t i = 0; i < count; i++)
        extensions[i] = wanted[i];
    /* heddle gives Vulkan's objects and the passes names where this is enabled. */
    bool names = has_instance_extension(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    if (names)
        extensions[count++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    const VkValidationFeatureEnableEXT checks[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    VkValidationFeaturesEXT validation = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                          .enabledValidationFeatureCount = 1,
                                          .pEnabledValidationFeatures = checks};
    const char *layer = "VK_LAYER_KHRONOS_validation";
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "engine", .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pNext = engine->validate ? &validation : NULL,
                                 .pApplicationInfo = &application,
                                 .enabledLayerCount = engine->validate,
                                 .ppEnabledLayerNames = &layer,
                                 .enabledExtensionCount = count,
                                 .ppEnabledExtensionNames = extensions};
    if (vkCreateInstance(&info, NULL, &engine->device.instance) != VK_SUCCESS)
        return false;
    volkLoadInstanceOnly(engine->device.instance);
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = &engine->journal};
    return !engine->validate || !names ||
           vkCreateDebugUtilsMessengerEXT(engine->device.instance, &messenger, NULL, &engine->device.messenger) ==
               VK_SUCCESS;
}

static bool pick_device(struct engine *engine)
{
    struct device *device = &engine->device;
    VkPhysicalDevice devices[16];
    uint32_t count = 16;
    if (vkEnumeratePhysicalDevices(device->instance, &count, devices) < VK_SUCCESS || engine->device_index >= count)
        return false;
    device->physical = devices[engine->device_index];
    vkGetPhysicalDeviceProperties(device->physical, &device->properties);
    return device->properties.apiVersion >= VK_API_VERSION_1_3;
}

/* The family that has these flags and the fewest others; UINT32_MAX: none. */
static uint32_t find_family(const VkQueueFamilyProperties *families, uint32_t count, VkQueueFlags flags,
                            VkQueueFlags without)
{
    for (uint32_t i = 0; i < count; i++)
        if ((families[i].queueFlags & flags) == flags && !(families[i].queueFlags & without) &&
            families[i].queueCount > 0)
            return i;
    return UINT32_MAX;
}

/* One queue for graphics, and where the device has families of their own one for async compute and one for transfer.
 * One VkQueue stands once in the list: what has no queue of its own kind runs on the graphics queue. */
static bool pick_families(struct device *device)
{
    VkQueueFamilyProperties families[32];
    uint32_t count = 32;
    vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &count, families);
    const VkQueueFlags gfx = VK_QUEUE_GRAPHICS_BIT, compute = VK_QUEUE_COMPUTE_BIT, copy = VK_QUEUE_TRANSFER_BIT;
    const uint32_t found[MAX_QUEUES] = {find_family(families, count, gfx | compute, 0),
                                        find_family(families, count, compute, gfx),
                                        find_family(families, count, copy, gfx | compute)};
    const hd_queue_kind kinds[MAX_QUEUES] = {HD_QUEUE_GFX, HD_QUEUE_COMPUTE, HD_QUEUE_TRANSFER};
    for (uint32_t i = 0; i < MAX_QUEUES; i++)
        if (found[i] != UINT32_MAX)
            device->queues[device->queue_count++] = (hd_vk_queue_desc){.kind = kinds[i], .family = found[i]};
    return found[0] != UINT32_MAX;
}

static bool has_device_extension(const struct device *device, const char *name)
{
    static VkExtensionProperties all[1024];
    uint32_t count = 1024;
    if (vkEnumerateDeviceExtensionProperties(device->physical, NULL, &count, all) < VK_SUCCESS)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(all[i].extensionName, name) == 0)
            return true;
    return false;
}

static bool make_device(struct engine *engine)
{
    struct device *device = &engine->device;
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queues[MAX_QUEUES];
    for (uint32_t i = 0; i < device->queue_count; i++) /* each is of another family */
        queues[i] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                              .queueFamilyIndex = device->queues[i].family,
                                              .queueCount = 1,
                                              .pQueuePriorities = &priority};
    /* What heddle needs: synchronization2, dynamicRendering, maintenance4, timelineSemaphore; hostQueryReset because
     * frames are timed. The engine's own: nothing more. */
    device->features13 = (VkPhysicalDeviceVulkan13Features){
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .synchronization2 = VK_TRUE,
        .dynamicRendering = VK_TRUE,
        .maintenance4 = VK_TRUE};
    device->features12 = (VkPhysicalDeviceVulkan12Features){
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &device->features13,
        .timelineSemaphore = VK_TRUE,
        .hostQueryReset = VK_TRUE};
    const char *extensions[4] = {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME};
    uint32_t count = 1;
    if (engine->windowed)
        extensions[count++] = VK_KHR_SWAPCHAIN_EXTENSION_NAME;
    if (has_device_extension(device, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME))
        extensions[count++] = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME; /* GPU times in the CPU's time base */
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &device->features12,
                               .queueCreateInfoCount = device->queue_count,
                               .pQueueCreateInfos = queues,
                               .enabledExtensionCount = count,
                               .ppEnabledExtensionNames = extensions};
    if (vkCreateDevice(device->physical, &info, NULL, &device->device) != VK_SUCCESS)
        return false;
    volkLoadDevice(device->device);
    for (uint32_t i = 0; i < device->queue_count; i++)
        vkGetDeviceQueue(device->device, device->queues[i].family, 0, &device->queues[i].queue);
    return true;
}

bool device_open(struct engine *engine)
{
    avoid_lavapipe_threads();
    if (engine->capture) { /* an engine with a loader of its own takes heddle's functions in place of the system's */
        if (!engine_check(engine, hd_capture_open(&(hd_capture_desc){.replay = true})) ||
            !engine_check(engine, hd_capture_begin()))
            return false;
        volkInitializeCustom((PFN_vkGetInstanceProcAddr)hd_capture_get_instance_proc);
    } else if (volkInitialize() != VK_SUCCESS) {
        return engine_check(engine, HD_NO_LOADER);
    }
    if (make_instance(engine) && pick_device(engine) && pick_families(&engine->device) && make_device(engine))
        return true;
    return engine_check(engine, HD_NO_DEVICE);
}

void device_close(struct engine *engine)
{
    struct device *device = &engine->device;
    if (device->device)
        vkDestroyDevice(device->device, NULL);
    if (device->messenger)
        vkDestroyDebugUtilsMessengerEXT(device->instance, device->messenger, NULL);
    if (device->instance)
        vkDestroyInstance(device->instance, NULL);
    hd_capture_close();
}
