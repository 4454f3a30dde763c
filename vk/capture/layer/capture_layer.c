#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vk_layer.h>

#include <heddle/capture.h>

/* The capture as a Vulkan layer, VK_LAYER_HEDDLE_capture, for programs as they are. Settings come from the environment:
 *     HEDDLE_CAPTURE_FILE=PATH     what is written (heddle-capture.json)
 *     HEDDLE_CAPTURE_FRAMES=N      frames that are presented until the capture ends; 0 or none: until the device goes
 * It begins with the instance, so that it sees every object. One instance and one device at a time: what a process has
 * beside them goes by unseen. */

#define PUBLIC __attribute__((visibility("default")))

static struct {
    PFN_vkGetInstanceProcAddr get, get_create; /* get_create: for vkCreateDevice alone */
    PFN_vkGetDeviceProcAddr get_device;
    PFN_vkDestroyInstance destroy; /* of the next layer: later the loader would give the first one's */
    VkInstance instance;
    VkDevice device;
    unsigned long frames;
    bool capturing;
} layer;

static PFN_vkVoidFunction VKAPI_PTR below(VkInstance instance, const char *name)
{
    if (strcmp(name, "vkGetDeviceProcAddr") == 0 && layer.get_device)
        return (PFN_vkVoidFunction)layer.get_device;
    if (strcmp(name, "vkCreateInstance") == 0)
        return layer.get(NULL, name);
    instance = instance ? instance : layer.instance;
    return strcmp(name, "vkCreateDevice") == 0 && layer.get_create ? layer.get_create(instance, name)
                                                                   : layer.get(instance, name);
}

static void complain(const char *path, const char *what)
{
    fprintf(stderr, "VK_LAYER_HEDDLE_capture: %s: %s\n", path, what);
}

/* The file appears whole, or not at all. */
static void finish(void)
{
    const char *path = getenv("HEDDLE_CAPTURE_FILE");
    char beside[4096];
    hd_stream *stream = NULL;
    if (!layer.capturing)
        return;
    layer.capturing = false;
    path = path && *path ? path : "heddle-capture.json";
    hd_result result = hd_capture_end(&stream);
    if (result != HD_OK) {
        complain(path, hd_result_text(result));
        return;
    }
    snprintf(beside, sizeof(beside), "%s.part", path);
    FILE *file = fopen(beside, "wb");
    result = file ? hd_stream_write(stream, file) : HD_IO;
    if (file && fclose(file) != 0)
        result = HD_IO;
    if (result == HD_OK && rename(beside, path) != 0)
        result = HD_IO;
    if (result != HD_OK) {
        complain(path, hd_result_text(result));
        remove(beside);
    }
    hd_stream_free(stream);
}

/* The link that the loader has for this layer; it goes on to the next one. */
static void *link_of(const void *info, VkStructureType type)
{
    for (const VkBaseInStructure *at = info; at; at = at->pNext) {
        const VkLayerInstanceCreateInfo *x = (const void *)at;
        if (at->sType == type && x->function == VK_LAYER_LINK_INFO)
            return (void *)at;
    }
    return NULL;
}

static VkResult create_next(PFN_vkGetInstanceProcAddr get, const VkInstanceCreateInfo *info,
                            const VkAllocationCallbacks *memory, VkInstance *out)
{
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
    return create ? create(info, memory, out) : VK_ERROR_INITIALIZATION_FAILED;
}

static VkResult VKAPI_PTR create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *memory,
                                          VkInstance *out)
{
    VkLayerInstanceCreateInfo *chain = link_of(info, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    if (!chain)
        return VK_ERROR_INITIALIZATION_FAILED;
    PFN_vkGetInstanceProcAddr get = chain->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    chain->u.pLayerInfo = chain->u.pLayerInfo->pNext;
    const char *frames = getenv("HEDDLE_CAPTURE_FRAMES");
    if (layer.capturing) /* another instance: unseen */
        return create_next(get, info, memory, out);
    layer.get = get;
    layer.frames = frames ? strtoul(frames, NULL, 10) : 0;
    /* Programs hand work from thread to thread in ways that a layer cannot see. */
    hd_result opened =
        hd_capture_open(&(hd_capture_desc){.get_instance_proc = below, .order_by_time = true, .replay = true});
    layer.capturing = opened == HD_OK && hd_capture_begin() == HD_OK;
    VkResult result = create_next(layer.capturing ? hd_capture_get_instance_proc : get, info, memory, out);
    if (result == VK_SUCCESS) {
        layer.instance = *out;
        layer.destroy = (PFN_vkDestroyInstance)get(*out, "vkDestroyInstance");
    } else {
        layer.capturing = false;
        hd_capture_close();
    }
    return result;
}

static void VKAPI_PTR destroy_instance(VkInstance instance, const VkAllocationCallbacks *memory)
{
    if (instance == layer.instance) {
        finish();
        hd_capture_close();
    }
    if (layer.destroy)
        layer.destroy(instance, memory);
}

static VkResult VKAPI_PTR create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                        const VkAllocationCallbacks *memory, VkDevice *out)
{
    VkLayerDeviceCreateInfo *chain = link_of(info, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    if (!chain)
        return VK_ERROR_INITIALIZATION_FAILED;
    layer.get_device = chain->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    layer.get_create = chain->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    chain->u.pLayerInfo = chain->u.pLayerInfo->pNext;
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)hd_capture_get_instance_proc(layer.instance, "vkCreateDevice");
    hd_capture_get_instance_proc(layer.instance, "vkGetDeviceProcAddr"); /* it learns where functions of devices are */
    VkResult result = create ? create(physical, info, memory, out) : VK_ERROR_INITIALIZATION_FAILED;
    if (result == VK_SUCCESS)
        layer.device = *out;
    return result;
}

/* A function of the device as the capture has it. */
static PFN_vkVoidFunction captured(VkDevice device, const char *name)
{
    PFN_vkGetDeviceProcAddr get =
        (PFN_vkGetDeviceProcAddr)hd_capture_get_instance_proc(layer.instance, "vkGetDeviceProcAddr");
    return get ? get(device, name) : NULL;
}

static void VKAPI_PTR destroy_device(VkDevice device, const VkAllocationCallbacks *memory)
{
    PFN_vkDestroyDevice destroy = (PFN_vkDestroyDevice)layer.get_device(device, "vkDestroyDevice");
    if (device == layer.device) {
        finish();
        destroy = (PFN_vkDestroyDevice)captured(device, "vkDestroyDevice");
    }
    if (destroy)
        destroy(device, memory);
}

static VkResult VKAPI_PTR queue_present(VkQueue queue, const VkPresentInfoKHR *info)
{
    PFN_vkQueuePresentKHR present = (PFN_vkQueuePresentKHR)captured(layer.device, "vkQueuePresentKHR");
    VkResult result = present(queue, info);
    if (layer.frames && --layer.frames == 0 && layer.capturing) {
        PFN_vkDeviceWaitIdle wait = (PFN_vkDeviceWaitIdle)captured(layer.device, "vkDeviceWaitIdle");
        if (wait)
            wait(layer.device);
        finish();
    }
    return result;
}

static PFN_vkVoidFunction VKAPI_PTR get_device_proc(VkDevice device, const char *name);

static PFN_vkVoidFunction own(const char *name, bool of_device)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
        bool of_device;
    } list[] = {{"vkGetDeviceProcAddr", (PFN_vkVoidFunction)get_device_proc, true},
                {"vkDestroyDevice", (PFN_vkVoidFunction)destroy_device, true},
                {"vkQueuePresentKHR", (PFN_vkVoidFunction)queue_present, true},
                {"vkCreateInstance", (PFN_vkVoidFunction)create_instance, false},
                {"vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance, false},
                {"vkCreateDevice", (PFN_vkVoidFunction)create_device, false}};
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        if (strcmp(list[i].name, name) == 0 && (!of_device || list[i].of_device))
            return list[i].function;
    }
    return NULL;
}

static PFN_vkVoidFunction VKAPI_PTR get_device_proc(VkDevice device, const char *name)
{
    PFN_vkVoidFunction function = own(name, true);
    if (function) /* only what the device below has */
        return strcmp(name, "vkQueuePresentKHR") != 0 || layer.get_device(device, name) ? function : NULL;
    return device == layer.device || !layer.device ? captured(device, name) : layer.get_device(device, name);
}

static PFN_vkVoidFunction VKAPI_PTR get_instance_proc(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction function =
        strcmp(name, "vkGetInstanceProcAddr") == 0 ? (PFN_vkVoidFunction)get_instance_proc : own(name, false);
    return function || !layer.get ? function : hd_capture_get_instance_proc(instance, name);
}

PUBLIC VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface);
PUBLIC VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface)
{
    if (interface->loaderLayerInterfaceVersion < 2)
        return VK_ERROR_INITIALIZATION_FAILED;
    interface->loaderLayerInterfaceVersion = 2;
    interface->pfnGetInstanceProcAddr = get_instance_proc;
    interface->pfnGetDeviceProcAddr = get_device_proc;
    interface->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
