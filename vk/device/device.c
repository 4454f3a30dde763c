#include "vk_device.h"

#include <string.h>

#include "alloc.h"

/* The device: the engine's own, or one that heddle makes, with one queue for each wanted kind that has a queue family
 * of its own: async compute means COMPUTE without GRAPHICS, transfer means TRANSFER without both (the copy engines). A
 * kind without such a family is left out of the queue set, and the compiler runs its passes elsewhere: a second queue
 * of the graphics family would cost hand-offs and hardly overlap. Where that leaves nothing, the first wanted kind
 * takes any family that can do it. */

#define MAX_FAMILIES 32

static hd_result get_families(hd_vk *vk, VkQueueFamilyProperties *families, uint32_t *count)
{
    *count = MAX_FAMILIES;
    vk->in.vkGetPhysicalDeviceQueueFamilyProperties(vk->physical_device, count, families);
    return HD_OK;
}

static hd_result load_instance(hd_vk *vk)
{
    const char *missing = hdi_vk_load_instance(vk);
    if (!missing)
        return HD_OK;
    hdi_log(&vk->log, HD_LOG_ERROR, "the Vulkan instance has no %s", missing);
    return HD_MISSING_FEATURE;
}

static hd_result load_device(hd_vk *vk)
{
    const char *missing = hdi_vk_load_device(vk);
    if (!missing)
        return HD_OK;
    hdi_log(&vk->log, HD_LOG_ERROR, "the Vulkan device has no %s: was it made for version 1.3?", missing);
    return HD_MISSING_FEATURE;
}

/* ---- adopt ---- */

/* Null, or what a queue of the kind must have and the family has not. Passes of all types may run on a gfx queue. */
static const char *what_it_lacks(hd_queue_kind kind, VkQueueFlags has)
{
    if (kind == HD_QUEUE_GFX && !(has & VK_QUEUE_GRAPHICS_BIT))
        return "graphics";
    if (kind != HD_QUEUE_TRANSFER && !(has & VK_QUEUE_COMPUTE_BIT))
        return "compute";
    return has & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT) ? NULL : "transfers";
}

hd_result hdi_vk_adopt(hd_vk *vk, const hd_vk_desc *desc)
{
    if (!desc->instance || !desc->physical_device || desc->queue_count == 0 || desc->queue_count >= HD_MAX_QUEUES) {
        hdi_log(&vk->log, HD_LOG_ERROR, "a device is adopted with its instance, physical device and 1 to %d queues",
                HD_MAX_QUEUES - 1);
        return HD_INVALID_ARGUMENT;
    }
    vk->instance = desc->instance;
    vk->device = desc->device;
    hd_result result = load_instance(vk);
    if (result == HD_OK)
        result = hdi_vk_use_physical_device(vk, desc->physical_device);
    if (result == HD_OK)
        result = hdi_vk_check_adopted(vk, desc);
    if (result == HD_OK)
        result = load_device(vk);
    if (result != HD_OK)
        return result;
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t family_count;
    result = get_families(vk, families, &family_count);
    for (uint32_t q = 0; q < desc->queue_count && result == HD_OK; q++) {
        const hd_vk_queue_desc *queue = &desc->queues[q];
        if ((uint32_t)queue->kind > HD_QUEUE_TRANSFER || !queue->queue || queue->family >= family_count) {
            hdi_log(&vk->log, HD_LOG_ERROR,
                    "adopted queue %u has no VkQueue, a family that the device lacks or a bad kind", q);
            return HD_INVALID_ARGUMENT;
        }
        const char *lacks = what_it_lacks(queue->kind, families[queue->family].queueFlags);
        if (lacks) {
            hdi_log(&vk->log, HD_LOG_ERROR, "adopted queue %u is of family %u, which has no %s", q, queue->family,
                    lacks);
            return HD_MISSING_FEATURE;
        }
        vk->queues[q].desc = *queue;
        vk->queues[q].flags = families[queue->family].queueFlags;
    }
    vk->queue_count = desc->queue_count;
    return result;
}

/* ---- make: instance ---- */

static hd_result find_debug_utils(hd_vk *vk, bool *found)
{
    PFN_vkEnumerateInstanceExtensionProperties enumerate =
        (PFN_vkEnumerateInstanceExtensionProperties)vk->get_instance_proc(NULL,
                                                                          "vkEnumerateInstanceExtensionProperties");
    uint32_t count = 0;
    *found = false;
    if (!enumerate || enumerate(NULL, &count, NULL) != VK_SUCCESS || count == 0)
        return HD_OK;
    size_t bytes = count * sizeof(VkExtensionProperties);
    VkExtensionProperties *all = hdi_alloc(&vk->allocator, bytes, 64);
    if (!all)
        return HD_OUT_OF_MEMORY;
    VkResult result = enumerate(NULL, &count, all);
    for (uint32_t i = 0; i < count && (result == VK_SUCCESS || result == VK_INCOMPLETE); i++)
        *found |= strcmp(all[i].extensionName, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) == 0;
    hdi_free(&vk->allocator, all, bytes);
    return HD_OK;
}

static hd_result create_instance(hd_vk *vk, const hd_vk_desc *desc, const char **names)
{
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)vk->get_instance_proc(NULL, "vkCreateInstance");
    if (!create) {
        hdi_log(&vk->log, HD_LOG_ERROR, "the Vulkan loader has no vkCreateInstance");
        return HD_NO_LOADER;
    }
    bool debug_utils;
    hd_result result = find_debug_utils(vk, &debug_utils);
    if (result != HD_OK)
        return result;
    uint32_t count = 0;
    for (uint32_t i = 0; i < desc->instance_extension_count; i++) {
        names[count++] = desc->instance_extensions[i];
        debug_utils &= strcmp(desc->instance_extensions[i], VK_EXT_DEBUG_UTILS_EXTENSION_NAME) != 0;
    }
    if (debug_utils)
        names[count++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = desc->application,
        .pEngineName = "heddle",
        .apiVersion = VK_API_VERSION_1_3,
    };
    VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
        .enabledExtensionCount = count,
        .ppEnabledExtensionNames = names,
    };
    VkResult made = create(&info, NULL, &vk->instance);
    if (made == VK_ERROR_EXTENSION_NOT_PRESENT)
        hdi_vk_name_missing_extensions(vk, desc, false);
    if (made == VK_ERROR_INCOMPATIBLE_DRIVER)
        hdi_log(&vk->log, HD_LOG_ERROR, "the Vulkan loader found no driver");
    result = hdi_vk_result(vk, made, "vkCreateInstance");
    if (result != HD_OK)
        return result;
    vk->owns_device = true;
    vk->in.vkDestroyInstance = (PFN_vkDestroyInstance)vk->get_instance_proc(vk->instance, "vkDestroyInstance");
    return load_instance(vk);
}

static hd_result make_instance(hd_vk *vk, const hd_vk_desc *desc)
{
    size_t bytes = ((size_t)desc->instance_extension_count + 1) * sizeof(char *);
    const char **names = hdi_alloc(&vk->allocator, bytes, 64);
    if (!names)
        return HD_OUT_OF_MEMORY;
    hd_result result = create_instance(vk, desc, names);
    hdi_free(&vk->allocator, names, bytes);
    return result;
}

static hd_result choose_device(hd_vk *vk, uint32_t index)
{
    uint32_t count = 0;
    VkResult asked = vk->in.vkEnumeratePhysicalDevices(vk->instance, &count, NULL);
    if (asked != VK_SUCCESS && asked != VK_ERROR_INITIALIZATION_FAILED)
        return hdi_vk_result(vk, asked, "vkEnumeratePhysicalDevices");
    if (asked != VK_SUCCESS || index >= count) {
        hdi_log(&vk->log, HD_LOG_ERROR, "there is no Vulkan device %u: the loader found %u", index, count);
        return HD_NO_DEVICE;
    }
    size_t bytes = count * sizeof(VkPhysicalDevice);
    VkPhysicalDevice *all = hdi_alloc(&vk->allocator, bytes, 64);
    if (!all)
        return HD_OUT_OF_MEMORY;
    asked = vk->in.vkEnumeratePhysicalDevices(vk->instance, &count, all);
    hd_result result = asked == VK_INCOMPLETE ? HD_OK : hdi_vk_result(vk, asked, "vkEnumeratePhysicalDevices");
    VkPhysicalDevice device = index < count ? all[index] : VK_NULL_HANDLE;
    hdi_free(&vk->allocator, all, bytes);
    if (result == HD_OK && !device)
        result = HD_NO_DEVICE;
    return result == HD_OK ? hdi_vk_use_physical_device(vk, device) : result;
}

/* ---- make: queues and device ---- */

static uint32_t find_family(const VkQueueFamilyProperties *families, uint32_t count, VkQueueFlags wanted,
                            VkQueueFlags without)
{
    for (uint32_t f = 0; f < count; f++) {
        if (families[f].queueCount && (families[f].queueFlags & wanted) == wanted &&
            !(families[f].queueFlags & without))
            return f;
    }
    return HD_NONE;
}

static uint32_t own_family(const VkQueueFamilyProperties *families, uint32_t count, hd_queue_kind kind)
{
    const VkQueueFlags graphics = VK_QUEUE_GRAPHICS_BIT, compute = VK_QUEUE_COMPUTE_BIT;
    switch (kind) {
    case HD_QUEUE_GFX:
        return find_family(families, count, graphics | compute, 0);
    case HD_QUEUE_COMPUTE:
        return find_family(families, count, compute, graphics);
    default:
        return find_family(families, count, VK_QUEUE_TRANSFER_BIT, graphics | compute);
    }
}

static uint32_t any_family(const VkQueueFamilyProperties *families, uint32_t count, hd_queue_kind kind)
{
    if (kind == HD_QUEUE_GFX)
        return find_family(families, count, VK_QUEUE_GRAPHICS_BIT, 0);
    return find_family(families, count, VK_QUEUE_COMPUTE_BIT, 0);
}

/* Fills queues (without handles) and how many queues each family gives. */
static hd_result choose_queues(hd_vk *vk, const hd_vk_desc *desc, const VkQueueFamilyProperties *families,
                               uint32_t family_count, uint32_t *taken)
{
    static const hd_queue_kind usual[] = {HD_QUEUE_GFX, HD_QUEUE_COMPUTE, HD_QUEUE_TRANSFER};
    const hd_queue_kind *kinds = desc->queue_kind_count ? desc->queue_kinds : usual;
    uint32_t kind_count = desc->queue_kind_count ? desc->queue_kind_count : 3;
    for (uint32_t k = 0; k < kind_count; k++) {
        if ((uint32_t)kinds[k] > HD_QUEUE_TRANSFER) {
            hdi_log(&vk->log, HD_LOG_ERROR, "queue_kinds[%u] is none of gfx, compute and transfer", k);
            return HD_INVALID_ARGUMENT;
        }
        uint32_t family = own_family(families, family_count, kinds[k]);
        if (family == HD_NONE || taken[family] == families[family].queueCount || vk->queue_count == HD_MAX_QUEUES - 1)
            continue;
        taken[family]++;
        vk->queues[vk->queue_count].flags = families[family].queueFlags;
        vk->queues[vk->queue_count++].desc = (hd_vk_queue_desc){.kind = kinds[k], .family = family};
    }
    if (vk->queue_count == 0) {
        uint32_t family = any_family(families, family_count, kinds[0]);
        if (family == HD_NONE) {
            hdi_log(&vk->log, HD_LOG_ERROR, "%s has no queue of a wanted kind", vk->device_name);
            return HD_MISSING_FEATURE;
        }
        taken[family]++;
        vk->queues[0].flags = families[family].queueFlags;
        vk->queues[0].desc = (hd_vk_queue_desc){.kind = kinds[0], .family = family};
        vk->queue_count = 1;
    }
    return HD_OK;
}

/* The extension that reads two clocks at once, if there is one and the engine does not ask for it itself. */
static hd_result find_calibration(hd_vk *vk, const hd_vk_desc *desc, const char **name)
{
    PFN_vkEnumerateDeviceExtensionProperties enumerate =
        (PFN_vkEnumerateDeviceExtensionProperties)vk->get_instance_proc(vk->instance,
                                                                        "vkEnumerateDeviceExtensionProperties");
    static const char *const known[] = {"VK_KHR_calibrated_timestamps", "VK_EXT_calibrated_timestamps"};
    uint32_t count = 0;
    *name = NULL;
    if (desc->timed_frames == 0 || !enumerate ||
        enumerate(vk->physical_device, NULL, &count, NULL) != VK_SUCCESS || count == 0)
        return HD_OK;
    size_t bytes = count * sizeof(VkExtensionProperties);
    VkExtensionProperties *all = hdi_alloc(&vk->allocator, bytes, 64);
    if (!all)
        return HD_OUT_OF_MEMORY;
    VkResult got = enumerate(vk->physical_device, NULL, &count, all);
    for (uint32_t k = 0; k < 2 && !*name && got >= VK_SUCCESS; k++) {
        for (uint32_t i = 0; i < count; i++)
            *name = strcmp(all[i].extensionName, known[k]) == 0 ? known[k] : *name;
    }
    for (uint32_t i = 0; i < desc->device_extension_count && *name; i++)
        *name = strcmp(desc->device_extensions[i], *name) == 0 ? NULL : *name;
    hdi_free(&vk->allocator, all, bytes);
    return HD_OK;
}

static hd_result create_device(hd_vk *vk, const hd_vk_desc *desc, const char *const *extensions,
                               uint32_t extension_count, const uint32_t *taken, uint32_t family_count)
{
    float priorities[HD_MAX_QUEUES];
    for (uint32_t i = 0; i < HD_MAX_QUEUES; i++)
        priorities[i] = 1.0f;
    VkDeviceQueueCreateInfo queues[MAX_FAMILIES];
    uint32_t queue_info_count = 0;
    for (uint32_t f = 0; f < family_count; f++) {
        if (taken[f])
            queues[queue_info_count++] = (VkDeviceQueueCreateInfo){
                .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                .queueFamilyIndex = f,
                .queueCount = taken[f],
                .pQueuePriorities = priorities,
            };
    }
    VkPhysicalDeviceVulkan11Features want11 = {0};
    VkPhysicalDeviceVulkan12Features want12 = {0};
    VkPhysicalDeviceVulkan13Features want13 = {0};
    if (desc->features11)
        want11 = *desc->features11;
    if (desc->features12)
        want12 = *desc->features12;
    if (desc->features13)
        want13 = *desc->features13;
    want11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    want11.pNext = (void *)(uintptr_t)desc->device_next;
    want13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    want13.pNext = &want11;
    want13.synchronization2 = want13.dynamicRendering = want13.maintenance4 = VK_TRUE;
    want12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    want12.pNext = &want13;
    want12.separateDepthStencilLayouts |= vk->aspects_apart;
    want12.timelineSemaphore = VK_TRUE;
    want12.hostQueryReset |= desc->timed_frames != 0; /* every device of Vulkan 1.2 has it */
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &want12,
        .queueCreateInfoCount = queue_info_count,
        .pQueueCreateInfos = queues,
        .enabledExtensionCount = extension_count,
        .ppEnabledExtensionNames = extensions,
        .pEnabledFeatures = desc->features,
    };
    VkResult made = vk->in.vkCreateDevice(vk->physical_device, &info, NULL, &vk->device);
    if (made != VK_SUCCESS)
        vk->device = VK_NULL_HANDLE;
    if (made == VK_ERROR_EXTENSION_NOT_PRESENT)
        hdi_vk_name_missing_extensions(vk, desc, true);
    return hdi_vk_result(vk, made, "vkCreateDevice");
}

static hd_result make_device(hd_vk *vk, const hd_vk_desc *desc, const uint32_t *taken, uint32_t family_count)
{
    uint32_t count = desc->device_extension_count;
    size_t bytes = ((size_t)count + 1) * sizeof(char *);
    const char **names = hdi_alloc(&vk->allocator, bytes, 64), *calibration = NULL;
    hd_result result = names ? find_calibration(vk, desc, &calibration) : HD_OUT_OF_MEMORY;
    if (result == HD_OK) {
        for (uint32_t i = 0; i < count; i++)
            names[i] = desc->device_extensions[i];
        names[count] = calibration;
        result = create_device(vk, desc, names, count + (calibration != NULL), taken, family_count);
    }
    if (names)
        hdi_free(&vk->allocator, names, bytes);
    return result;
}

hd_result hdi_vk_make(hd_vk *vk, const hd_vk_desc *desc)
{
    hd_result result = make_instance(vk, desc);
    if (result == HD_OK)
        result = choose_device(vk, desc->device_index);
    if (result == HD_OK)
        result = hdi_vk_check_features(vk, desc);
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t family_count = 0, taken[MAX_FAMILIES] = {0};
    if (result == HD_OK)
        result = get_families(vk, families, &family_count);
    if (result == HD_OK)
        result = choose_queues(vk, desc, families, family_count, taken);
    if (result == HD_OK)
        result = make_device(vk, desc, taken, family_count);
    if (result == HD_OK)
        result = load_device(vk);
    if (result != HD_OK)
        return result;
    uint32_t next[MAX_FAMILIES] = {0};
    for (uint32_t q = 0; q < vk->queue_count; q++) {
        uint32_t family = vk->queues[q].desc.family;
        vk->fn.vkGetDeviceQueue(vk->device, family, next[family]++, &vk->queues[q].desc.queue);
    }
    return HD_OK;
}
