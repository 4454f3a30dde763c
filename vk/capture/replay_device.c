#include "replay_state.h"

#include <stdio.h>
#include <string.h>

/* Instance, device and queues of a replay: as they were captured, with what the player itself needs (timeline
 * semaphores and synchronization2), and without what only windows need. */

#define VALIDATION "VK_LAYER_KHRONOS_validation"
#define VALIDATION_FEATURES "VK_EXT_validation_features"

void hdi_replay_unchain(const void **chain, const VkStructureType *types, uint32_t count)
{
    while (*chain) {
        VkBaseInStructure *next = (VkBaseInStructure *)*chain; /* what was read is the player's own */
        uint32_t i = 0;
        while (i < count && types[i] != next->sType)
            i++;
        if (i < count)
            *chain = next->pNext;
        else
            chain = (const void **)&next->pNext;
    }
}

static void *find_in_chain(const void *chain, VkStructureType type)
{
    const VkBaseInStructure *next = chain;
    while (next && next->sType != type)
        next = next->pNext;
    return (void *)next;
}

/* ---- instance ---- */

static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                     VkDebugUtilsMessageTypeFlagsEXT types,
                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    hdi_replay *p = user;
    (void)severity, (void)types;
    p->complaints++;
    if (p->desc->message)
        p->desc->message(data->pMessage, p->desc->user);
    return VK_FALSE;
}

/* Extensions of the instance, or of a layer, in the arena; null: failed. A layer that is not there has none. */
static VkExtensionProperties *instance_extensions(hdi_replay *p, const char *layer, uint32_t *count)
{
    PFN_vkEnumerateInstanceExtensionProperties enumerate =
        (PFN_vkEnumerateInstanceExtensionProperties)p->get_instance_proc(NULL,
                                                                         "vkEnumerateInstanceExtensionProperties");
    VkExtensionProperties *list = NULL;
    *count = 0;
    VkResult result = enumerate ? enumerate(layer, count, NULL) : VK_ERROR_INITIALIZATION_FAILED;
    if (result == VK_SUCCESS) {
        list = HDI_ARENA_ARRAY(&p->arena, VkExtensionProperties, *count);
        result = list ? enumerate(layer, count, list) : VK_ERROR_OUT_OF_HOST_MEMORY;
    } else if (result == VK_ERROR_LAYER_NOT_PRESENT) {
        return HDI_ARENA_ARRAY(&p->arena, VkExtensionProperties, 1);
    }
    return hdi_replay_check(p, result, "vkEnumerateInstanceExtensionProperties") ? list : NULL;
}

static bool has_extension(const VkExtensionProperties *list, uint32_t count, const char *name)
{
    uint32_t i = 0;
    while (i < count && strcmp(list[i].extensionName, name) != 0)
        i++;
    return i < count;
}

static const VkDebugUtilsMessengerCreateInfoEXT messages = {
    .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
    .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
    .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
    .pfnUserCallback = on_message};

/* The captured extensions that there are here, and those of the player. Null: no memory. */
static const char **wanted_extensions(hdi_replay *p, const VkInstanceCreateInfo *captured, uint32_t *count)
{
    uint32_t here_count, layer_count = 0;
    const VkExtensionProperties *here = instance_extensions(p, NULL, &here_count), *of_layer = here;
    uint32_t captured_count = captured->ppEnabledExtensionNames ? captured->enabledExtensionCount : 0;
    const char **list = HDI_ARENA_ARRAY(&p->arena, const char *, captured_count + 2);
    *count = 0;
    if (p->desc->validate && here)
        of_layer = instance_extensions(p, VALIDATION, &layer_count);
    if (!list || !here || !of_layer)
        return NULL;
    for (uint32_t i = 0; i < captured_count; i++) {
        const char *name = captured->ppEnabledExtensionNames[i];
        if (strcmp(name, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) != 0 && has_extension(here, here_count, name))
            list[(*count)++] = name;
    }
    p->has_debug_utils = has_extension(here, here_count, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) ||
                         has_extension(of_layer, layer_count, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    if (p->has_debug_utils)
        list[(*count)++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    if (has_extension(of_layer, layer_count, VALIDATION_FEATURES))
        list[(*count)++] = VALIDATION_FEATURES;
    return list;
}

static bool make_instance(hdi_replay *p, uint32_t object)
{
    static const char *const layer = VALIDATION;
    static const VkValidationFeatureEnableEXT enabled = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    const VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                              .enabledValidationFeatureCount = 1,
                                              .pEnabledValidationFeatures = &enabled};
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)p->get_instance_proc(NULL, "vkCreateInstance");
    const hdi_call_type *type = hdi_call_type_find("VkInstanceCreateInfo");
    hdi_call_reader reader;
    if (object >= p->s->object_count || !type || !hdi_replay_open(p, p->s->objects[object].data, object, &reader))
        return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "the stream does not say how its instance was made");
    VkInstanceCreateInfo *info = hdi_call_read(&reader, type);
    if (!info)
        return hdi_replay_fail(p, p->arena.failed ? HD_OUT_OF_MEMORY : HD_INVALID_ARGUMENT,
                               "how the instance was made cannot be read");
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO};
    if (info->pApplicationInfo)
        application = *info->pApplicationInfo;
    application.pNext = NULL;
    if (application.apiVersion < VK_API_VERSION_1_3)
        application.apiVersion = VK_API_VERSION_1_3;
    info->pApplicationInfo = &application;
    info->ppEnabledExtensionNames = wanted_extensions(p, info, &info->enabledExtensionCount);
    info->pNext = p->desc->validate ? &features : NULL;
    info->enabledLayerCount = p->desc->validate;
    info->ppEnabledLayerNames = &layer;
    if (!info->ppEnabledExtensionNames)
        return hdi_replay_fail(p, HD_OUT_OF_MEMORY, "%s", hd_result_text(HD_OUT_OF_MEMORY));
    VkResult result = create ? create(info, NULL, &p->instance) : VK_ERROR_INITIALIZATION_FAILED;
    if (result != VK_SUCCESS)
        p->instance = VK_NULL_HANDLE;
    if (!hdi_replay_check(p, result, "vkCreateInstance"))
        return false;
#define LOAD(name)                                                                                                     \
    p->in.name = (PFN_##name)p->get_instance_proc(p->instance, #name);                                                 \
    if (!p->in.name)                                                                                                   \
        return hdi_replay_fail(p, HD_NO_LOADER, "the Vulkan loader has no %s", #name);
    HDI_REPLAY_INSTANCE_FUNCTIONS(LOAD)
#undef LOAD
    PFN_vkCreateDebugUtilsMessengerEXT listen =
        (PFN_vkCreateDebugUtilsMessengerEXT)p->get_instance_proc(p->instance, "vkCreateDebugUtilsMessengerEXT");
    VkDebugUtilsMessengerCreateInfoEXT mine = messages;
    mine.pUserData = p;
    VkDebugUtilsMessengerEXT messenger;
    if (!p->desc->validate || !listen)
        return true;
    if (!hdi_replay_check(p, listen(p->instance, &mine, NULL, &messenger), "vkCreateDebugUtilsMessengerEXT"))
        return false;
    p->messenger = messenger;
    return true;
}

/* ---- families ---- */

/* Not the same one: of two families one that can do what is asked for, and less besides, fits better. */
static uint32_t find_family(const VkQueueFamilyProperties *here, uint32_t count, VkQueueFlags captured)
{
    const VkQueueFlags kinds = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    VkQueueFlags needed = captured & VK_QUEUE_GRAPHICS_BIT ? captured & kinds : captured & VK_QUEUE_COMPUTE_BIT;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        VkQueueFlags has = here[i].queueFlags & kinds;
        bool copies = has || here[i].queueFlags & VK_QUEUE_TRANSFER_BIT;
        if (here[i].queueCount && copies && (has & needed) == needed &&
            (best == UINT32_MAX || has < (here[best].queueFlags & kinds)))
            best = i;
    }
    return best;
}

static bool map_families(hdi_replay *p)
{
    VkQueueFamilyProperties here[HDI_REPLAY_FAMILIES];
    uint32_t count = HDI_REPLAY_FAMILIES;
    p->in.vkGetPhysicalDeviceQueueFamilyProperties(p->physical, &count, here);
    for (uint32_t i = 0; i < p->captured_family_count; i++) {
        bool same = i < count && here[i].queueFlags == p->captured_flags[i];
        uint32_t own = same ? i : find_family(here, count, p->captured_flags[i]);
        if (own == UINT32_MAX)
            return false;
        p->own_family[i] = own;
    }
    return p->captured_family_count != 0;
}

uint32_t hdi_replay_families(const hdi_replay *p, const uint32_t *families, uint32_t count, uint32_t *out)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t own = families[i] < p->captured_family_count ? p->own_family[families[i]] : p->own_family[0], k = 0;
        while (k < made && out[k] != own)
            k++;
        if (k == made)
            out[made++] = own;
    }
    return made;
}

/* ---- device ---- */

/* Why the device cannot be: a sentence, or null; p->result: failed. */
static const char *missing(hdi_replay *p, const VkDeviceCreateInfo *info, char *text, size_t bytes)
{
    VkPhysicalDeviceProperties properties;
    uint32_t count = 0;
    p->in.vkGetPhysicalDeviceProperties(p->physical, &properties);
    if (p->desc->device && !strstr(properties.deviceName, p->desc->device))
        return "its name is another one";
    if (properties.apiVersion < VK_API_VERSION_1_3)
        return "it has no Vulkan 1.3";
    if (!map_families(p))
        return "it lacks a kind of queue";
    VkResult result = p->in.vkEnumerateDeviceExtensionProperties(p->physical, NULL, &count, NULL);
    VkExtensionProperties *list = NULL;
    if (result == VK_SUCCESS) {
        list = HDI_ARENA_ARRAY(&p->arena, VkExtensionProperties, count);
        result = list ? p->in.vkEnumerateDeviceExtensionProperties(p->physical, NULL, &count, list)
                      : VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (!hdi_replay_check(p, result, "vkEnumerateDeviceExtensionProperties"))
        return "its extensions cannot be listed";
    for (uint32_t i = 0; i < info->enabledExtensionCount && info->ppEnabledExtensionNames; i++) {
        snprintf(text, bytes, "it has no %s", info->ppEnabledExtensionNames[i]);
        if (!has_extension(list, count, info->ppEnabledExtensionNames[i]))
            return text;
    }
    return NULL;
}

/* What the player needs beside what was captured. */
typedef struct own_features {
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
    VkPhysicalDeviceSynchronization2Features synchronization;
} own_features;

static void add_features(VkDeviceCreateInfo *info, own_features *own)
{
    VkPhysicalDeviceVulkan12Features *v12 =
        find_in_chain(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    VkPhysicalDeviceVulkan13Features *v13 =
        find_in_chain(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
    VkPhysicalDeviceTimelineSemaphoreFeatures *timeline =
        find_in_chain(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
    VkPhysicalDeviceSynchronization2Features *synchronization =
        find_in_chain(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES);
    if (v12) {
        v12->timelineSemaphore = VK_TRUE;
    } else if (timeline) {
        timeline->timelineSemaphore = VK_TRUE;
    } else {
        own->timeline = (VkPhysicalDeviceTimelineSemaphoreFeatures){
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, (void *)info->pNext, VK_TRUE};
        info->pNext = &own->timeline;
    }
    if (v13) {
        v13->synchronization2 = VK_TRUE;
    } else if (synchronization) {
        synchronization->synchronization2 = VK_TRUE;
    } else {
        own->synchronization = (VkPhysicalDeviceSynchronization2Features){
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES, (void *)info->pNext, VK_TRUE};
        info->pNext = &own->synchronization;
    }
}

/* On the device that p->physical is. */
static VkResult try_device(hdi_replay *p, const VkDeviceCreateInfo *captured)
{
    static const float priority = 1;
    VkDeviceQueueCreateInfo queues[HDI_REPLAY_FAMILIES];
    uint32_t all[HDI_REPLAY_FAMILIES], used[HDI_REPLAY_FAMILIES];
    VkDeviceCreateInfo info = *captured;
    for (uint32_t i = 0; i < p->captured_family_count; i++)
        all[i] = i;
    info.queueCreateInfoCount = hdi_replay_families(p, all, p->captured_family_count, used);
    for (uint32_t i = 0; i < info.queueCreateInfoCount; i++)
        queues[i] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                              .queueFamilyIndex = used[i],
                                              .queueCount = 1,
                                              .pQueuePriorities = &priority};
    info.pQueueCreateInfos = queues;
    info.enabledLayerCount = 0;
    if (!info.ppEnabledExtensionNames)
        info.enabledExtensionCount = 0;
    VkResult result = p->in.vkCreateDevice(p->physical, &info, NULL, &p->device);
    if (result != VK_SUCCESS)
        p->device = VK_NULL_HANDLE;
    for (uint32_t i = 0; i < info.queueCreateInfoCount && result == VK_SUCCESS; i++)
        p->families[used[i]].used = 1; /* until its pool is made */
    return result;
}

static bool pick_device(hdi_replay *p, VkDeviceCreateInfo *info)
{
    VkPhysicalDevice list[16];
    uint32_t count = 16;
    char text[400], last[1024] = "there is none";
    own_features own;
    VkResult result = p->in.vkEnumeratePhysicalDevices(p->instance, &count, list);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return hdi_replay_check(p, result, "vkEnumeratePhysicalDevices");
    const VkStructureType groups = VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO;
    hdi_replay_unchain(&info->pNext, &groups, 1);
    add_features(info, &own);
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceProperties properties;
        p->physical = list[i];
        const char *why = missing(p, info, text, sizeof(text));
        if (!why) {
            result = try_device(p, info);
            why = "it lacks a feature (VK_ERROR_FEATURE_NOT_PRESENT)";
            if (result != VK_ERROR_FEATURE_NOT_PRESENT)
                return hdi_replay_check(p, result, "vkCreateDevice");
        }
        if (p->result != HD_OK)
            return false;
        p->in.vkGetPhysicalDeviceProperties(list[i], &properties);
        snprintf(last, sizeof(last), "'%s': %s", properties.deviceName, why);
        if (i + 1 < count && p->desc->message)
            p->desc->message(last, p->desc->user);
    }
    return hdi_replay_fail(p, count ? HD_MISSING_FEATURE : HD_NO_DEVICE, "no device can replay this; %s", last);
}

static bool make_queues(hdi_replay *p)
{
    const char *lacks = NULL;
#define LOAD(name)                                                                                                     \
    p->fn.name = (PFN_##name)p->in.vkGetDeviceProcAddr(p->device, #name);                                              \
    lacks = p->fn.name ? lacks : #name;
    HDI_REPLAY_DEVICE_FUNCTIONS(LOAD)
#undef LOAD
    if (lacks) {
        if (p->fn.vkDestroyDevice)
            p->fn.vkDestroyDevice(p->device, NULL);
        p->device = VK_NULL_HANDLE;
        return hdi_replay_fail(p, HD_MISSING_FEATURE, "the device has no %s", lacks);
    }
    if (p->has_debug_utils) {
        p->begin_label =
            (PFN_vkCmdBeginDebugUtilsLabelEXT)p->in.vkGetDeviceProcAddr(p->device, "vkCmdBeginDebugUtilsLabelEXT");
        p->end_label =
            (PFN_vkCmdEndDebugUtilsLabelEXT)p->in.vkGetDeviceProcAddr(p->device, "vkCmdEndDebugUtilsLabelEXT");
    }
    for (uint32_t i = 0; i < HDI_REPLAY_FAMILIES; i++) {
        hdi_replay_family *family = &p->families[i];
        VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = i};
        if (!family->used)
            continue;
        family->used = 0;
        p->fn.vkGetDeviceQueue(p->device, i, 0, &family->queue);
        VkCommandPool pool;
        if (!hdi_replay_check(p, p->fn.vkCreateCommandPool(p->device, &info, NULL, &pool), "vkCreateCommandPool"))
            return false;
        family->pool = pool;
    }
    p->in.vkGetPhysicalDeviceMemoryProperties(p->physical, &p->memory);
    return true;
}

bool hdi_replay_make_device(hdi_replay *p)
{
    const hdi_call_type *type = hdi_call_type_find("VkDeviceCreateInfo");
    hdi_call_reader reader;
    if (!type || !hdi_replay_open(p, p->s->objects[p->s->device].data, p->s->device, &reader) || !reader.ref_count)
        return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "the stream does not say how its device was made");
    if (!make_instance(p, reader.refs[0]))
        return false;
    VkDeviceCreateInfo *info = hdi_call_read(&reader, type);
    const void *memory = info ? hdi_call_read_bytes(&reader, sizeof(p->captured_memory)) : NULL;
    const void *count = memory ? hdi_call_read_bytes(&reader, sizeof(p->captured_family_count)) : NULL;
    if (memory)
        memcpy(&p->captured_memory, memory, sizeof(p->captured_memory));
    if (count)
        memcpy(&p->captured_family_count, count, sizeof(p->captured_family_count));
    bool fits = count && p->captured_family_count <= HDI_REPLAY_FAMILIES &&
                p->captured_memory.memoryTypeCount <= VK_MAX_MEMORY_TYPES;
    const void *flags =
        fits ? hdi_call_read_bytes(&reader, p->captured_family_count * (uint32_t)sizeof(VkQueueFlags)) : NULL;
    if (!flags)
        return hdi_replay_fail(p, p->arena.failed ? HD_OUT_OF_MEMORY : HD_INVALID_ARGUMENT,
                               "how the device was made cannot be read");
    memcpy(p->captured_flags, flags, p->captured_family_count * sizeof(VkQueueFlags));
    return pick_device(p, info) && make_queues(p);
}

void hdi_replay_destroy_device(hdi_replay *p)
{
    for (uint32_t i = 0; i < HDI_REPLAY_FAMILIES; i++) {
        hdi_replay_family *family = &p->families[i];
        if (family->pool)
            p->fn.vkDestroyCommandPool(p->device, family->pool, NULL);
        hdi_free(&p->allocator, family->buffers, family->room * sizeof(VkCommandBuffer));
    }
    if (p->device)
        p->fn.vkDestroyDevice(p->device, NULL);
    PFN_vkDestroyDebugUtilsMessengerEXT leave =
        p->messenger
            ? (PFN_vkDestroyDebugUtilsMessengerEXT)p->get_instance_proc(p->instance, "vkDestroyDebugUtilsMessengerEXT")
            : NULL;
    if (leave)
        leave(p->instance, p->messenger, NULL);
    if (p->instance && p->in.vkDestroyInstance)
        p->in.vkDestroyInstance(p->instance, NULL);
}
