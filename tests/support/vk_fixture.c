#include "vk_fixture.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lavapipe.h"
#include "vk_device.h"
#include "vk_families.h"

#define LAYER "VK_LAYER_KHRONOS_validation"
#define ORDER "VK_LAYER_HEDDLE_order" /* tests/layer */

/* Khronos' layer follows timeline semaphores from one submit to another, and knows that what is resolved at the end of
 * a rendering is ordered behind it, from this version on; its issues 7600 and 7441. Those from 1.3.240 on check submits
 * all the same, unless told not to. Those that follow them are wrong about submits that wait for the host, and get no
 * such submit (tests/vk/test_vk_layer.c). */
static const uint32_t layer_follows = VK_MAKE_API_VERSION(0, 1, 3, 297),
                      layer_checks = VK_MAKE_API_VERSION(0, 1, 3, 240);

static bool layer_alone;

void hdt_vk_layer_alone(void)
{
    layer_alone = true;
}

static bool is_fault_of_layer(uint32_t layer, const char *text)
{
    /* Its thread that follows the queues missed a wake; the driver's own wait had ended before. */
    if (strstr(text, "VkSemaphore-state-timeout") && strstr(text, "most likely a validation bug"))
        return true;
    return layer < layer_follows && strstr(text, "vkCmdEndRendering") && strstr(text, "during resolve") &&
           (strstr(text, "pDepthAttachment") || strstr(text, "pStencilAttachment"));
}

static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                     VkDebugUtilsMessageTypeFlagsEXT types,
                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    hdt_vk *f = user;
    (void)types;
    (void)severity;
    if (is_fault_of_layer(f->layer, data->pMessage))
        return VK_FALSE;
    atomic_fetch_add(&f->messages, 1);
    fprintf(stderr, "%s\n", data->pMessage);
    return VK_FALSE;
}

static void on_log(hd_log_level level, const char *text, void *user)
{
    (void)user;
    fprintf(stderr, "heddle, level %d: %s\n", (int)level, text);
}

hd_log hdt_log(void)
{
    return (hd_log){on_log, NULL};
}

/* Of the Vulkan that the validation layer was made for; 0: there is none. */
static uint32_t layer_version(void)
{
    PFN_vkGetInstanceProcAddr get = hdi_vk_find_loader();
    PFN_vkEnumerateInstanceLayerProperties enumerate =
        get ? (PFN_vkEnumerateInstanceLayerProperties)get(NULL, "vkEnumerateInstanceLayerProperties") : NULL;
    VkLayerProperties layers[64];
    uint32_t count = 64;
    if (!enumerate || enumerate(&count, layers) < VK_SUCCESS)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(layers[i].layerName, LAYER) == 0)
            return layers[i].specVersion;
    }
    return 0;
}

/* So that a leak checker can name, and then leave out, what drivers and layers keep until the process ends; and
 * NVIDIA's can be loaded some 30 times only: each time takes thread-local memory that unloading does not give back. */
void hdt_vk_keep_libraries(void)
{
    dlopen("libGLX_nvidia.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    dlopen("libvulkan_lvp.so", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    dlopen("libVkLayer_khronos_validation.so", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    dlopen("libVkLayer_MESA_device_select.so", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    avoid_lavapipe_threads();
}

hd_result hdt_vk_open(hdt_vk *f, const hd_vk_desc *desc)
{
    memset(f, 0, sizeof(*f));
    hdt_vk_keep_libraries();
    f->layer = layer_version();
    if (f->layer) {
        bool order = f->layer >= layer_follows && !layer_alone;
        setenv("VK_INSTANCE_LAYERS", order ? ORDER ":" LAYER : LAYER, 0);
        setenv("VK_ADD_LAYER_PATH", HEDDLE_BINARY_DIR "/tests/layer", 0);
        setenv("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT", 0);
        setenv("VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC", "1", 0); /* shaders count, as in older ones unasked */
        if (f->layer >= layer_checks && f->layer < layer_follows)
            setenv("VK_LAYER_DISABLES", "VALIDATION_CHECK_DISABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT", 0);
    }
    hd_vk_desc mine = desc ? *desc : (hd_vk_desc){0};
    if (!mine.log.write)
        mine.log = hdt_log();
    hd_result result = hd_vk_create(&mine, &f->vk);
    if (result != HD_OK)
        return result;
    hd_vk_info_get(f->vk, &f->info);
    PFN_vkCreateDebugUtilsMessengerEXT create = HDT_FN(f, vkCreateDebugUtilsMessengerEXT);
    if (create) {
        VkDebugUtilsMessengerCreateInfoEXT info = {
            .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
            .messageSeverity =
                VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
            .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
            .pfnUserCallback = on_message,
            .pUserData = f,
        };
        create(f->info.instance, &info, NULL, &f->messenger);
    }
    return HD_OK;
}

unsigned hdt_vk_close(hdt_vk *f)
{
    hd_vk_wait(f->vk);
    if (f->messenger)
        HDT_FN(f, vkDestroyDebugUtilsMessengerEXT)(f->info.instance, f->messenger, NULL);
    hd_vk_destroy(f->vk);
    return atomic_load(&f->messages);
}

bool hdt_vk_none(hd_result result)
{
    return result == HD_NO_LOADER || result == HD_NO_DEVICE || result == HD_MISSING_FEATURE;
}

/* ---- hooks ---- */

hdt_hooks hdt_vk_hooks;
static PFN_vkGetInstanceProcAddr real_instance_proc;
static PFN_vkGetDeviceProcAddr real_device_proc;
static PFN_vkCreateDevice real_create_device;
static bool three_families;

void hdt_vk_three_families(bool on, uint64_t seed)
{
    three_families = on;
    hdt_vk_family_settings.seed = seed;
}

static VkResult VKAPI_PTR create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                        const VkAllocationCallbacks *memory, VkDevice *out)
{
    VkResult result = hdt_vk_family_create_device(real_create_device, physical, info, memory, out);
    return result == VK_SUCCESS && !hdt_vk_family_adopt(*out, real_device_proc) ? VK_ERROR_OUT_OF_HOST_MEMORY : result;
}

#define CREATIONS(X)                                                                                                   \
    X(vkCreateImage, VkImageCreateInfo, VkImage)                                                                       \
    X(vkCreateBuffer, VkBufferCreateInfo, VkBuffer)                                                                    \
    X(vkCreateImageView, VkImageViewCreateInfo, VkImageView)                                                           \
    X(vkCreateCommandPool, VkCommandPoolCreateInfo, VkCommandPool)                                                     \
    X(vkCreateSemaphore, VkSemaphoreCreateInfo, VkSemaphore)                                                           \
    X(vkCreateEvent, VkEventCreateInfo, VkEvent)                                                                       \
    X(vkAllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)

#define HOOK(name, info_type, object_type)                                                                             \
    static PFN_##name real_##name;                                                                                     \
    static VkResult VKAPI_PTR hook_##name(VkDevice device, const info_type *info, const VkAllocationCallbacks *memory, \
                                          object_type *out)                                                            \
    {                                                                                                                  \
        atomic_fetch_add(&hdt_vk_hooks.creations, 1);                                                                  \
        return real_##name(device, info, memory, out);                                                                 \
    }
CREATIONS(HOOK)

static PFN_vkAllocateCommandBuffers real_vkAllocateCommandBuffers;
static VkResult VKAPI_PTR hook_vkAllocateCommandBuffers(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                                        VkCommandBuffer *out)
{
    atomic_fetch_add(&hdt_vk_hooks.creations, 1);
    return real_vkAllocateCommandBuffers(device, info, out);
}

static PFN_vkQueueSubmit2 real_vkQueueSubmit2;
static VkResult VKAPI_PTR hook_vkQueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *submits,
                                              VkFence fence)
{
    atomic_fetch_add(&hdt_vk_hooks.submits, 1);
    atomic_fetch_add(&hdt_vk_hooks.batches, count);
    for (uint32_t i = 0; i < count; i++) {
        if (submits[i].commandBufferInfoCount == 0)
            atomic_fetch_add(i + 1 < count ? &hdt_vk_hooks.empty_before : &hdt_vk_hooks.empty_last, 1);
    }
    unsigned left = atomic_load(&hdt_vk_hooks.fail_submit);
    if (left == 1)
        return hdt_vk_hooks.failure;
    if (left > 1)
        atomic_store(&hdt_vk_hooks.fail_submit, left - 1);
    return real_vkQueueSubmit2(queue, count, submits, fence);
}

static PFN_vkVoidFunction VKAPI_PTR hooked_device_proc(VkDevice device, const char *name)
{
    PFN_vkVoidFunction real = real_device_proc(device, name), family = NULL;
    if (three_families && real)
        family = hdt_vk_family_function(name);
    if (family)
        real = family;
#define REPLACE(hooked, info_type, object_type)                                                                        \
    if (strcmp(name, #hooked) == 0) {                                                                                  \
        real_##hooked = (PFN_##hooked)real;                                                                            \
        return (PFN_vkVoidFunction)hook_##hooked;                                                                      \
    }
    CREATIONS(REPLACE)
    REPLACE(vkAllocateCommandBuffers, , )
    REPLACE(vkQueueSubmit2, , )
    return real;
}

PFN_vkVoidFunction VKAPI_PTR hdt_vk_hooked(VkInstance instance, const char *name)
{
    if (!real_instance_proc)
        real_instance_proc = hdi_vk_find_loader();
    PFN_vkVoidFunction real = real_instance_proc ? real_instance_proc(instance, name) : NULL;
    if (real && strcmp(name, "vkGetDeviceProcAddr") == 0) {
        real_device_proc = (PFN_vkGetDeviceProcAddr)real;
        return (PFN_vkVoidFunction)hooked_device_proc;
    }
    if (!real || !three_families)
        return real;
    if (strcmp(name, "vkGetPhysicalDeviceQueueFamilyProperties") == 0)
        return (PFN_vkVoidFunction)hdt_vk_family_properties;
    if (strcmp(name, "vkCreateDevice") == 0) {
        real_create_device = (PFN_vkCreateDevice)real;
        real_device_proc = (PFN_vkGetDeviceProcAddr)real_instance_proc(instance, "vkGetDeviceProcAddr");
        return (PFN_vkVoidFunction)create_device;
    }
    return real;
}
