#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vk_layer.h>

#include "vk_families.h"

/* The test device as a Vulkan layer, VK_LAYER_HEDDLE_test: for programs as they are, below the validation layer
 * (the last layer in VK_INSTANCE_LAYERS is next to the driver). Settings come from the environment:
 *     HEDDLE_LAYER_SEED=N           order of the submits; 0 or none: as they come. HEDDLE_ORDER_SEED: of the upper
 * layer HEDDLE_LAYER_QUEUES=G,T,C     queues of the graphics, transfer and compute family (1,1,1; at least one each)
 *     HEDDLE_LAYER_DROP_WAIT=N      leaves out the N-th semaphore wait of each device
 *     HEDDLE_LAYER_DROP_SIGNAL=N    leaves out the N-th semaphore signal of each device
 *     HEDDLE_LAYER_DROP_BARRIER=N   leaves out the N-th barrier command of each device
 *     HEDDLE_LAYER_PATIENCE=MS      without progress; then it is a deadlock (20000)
 *     HEDDLE_LAYER_TRACE=1          every submit as it comes and as it goes on, and where the host waits and signals
 *     HEDDLE_LAYER_REPORT=1         one line of figures when an instance is destroyed
 * After a fault the device is lost, and the program ends by abort when it destroys the instance, whatever it makes of
 * that. There is no presenting. */

#ifdef HDT_ORDER_ONLY
#define NAME "VK_LAYER_HEDDLE_order"
#else
#define NAME "VK_LAYER_HEDDLE_test"
#endif

typedef struct instance {
    struct instance *next;
    void *key; /* first word of the instance and its physical devices */
    VkInstance handle;
    PFN_vkGetInstanceProcAddr get;
    PFN_vkDestroyInstance destroy;
    PFN_vkEnumerateDeviceExtensionProperties extensions;
} instance;

typedef struct device {
    struct device *next;
    void *key;
    PFN_vkGetDeviceProcAddr get;
} device;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static instance *instances;
static device *devices; /* kept: few, and a new one may have the key of an old one */

static void *key_of(const void *dispatchable)
{
    return *(void *const *)dispatchable;
}

static instance *instance_of(const void *dispatchable)
{
    pthread_mutex_lock(&lock);
    instance *i = instances;
    while (i && i->key != key_of(dispatchable))
        i = i->next;
    pthread_mutex_unlock(&lock);
    return i;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static void read_settings(void)
{
    hdt_vk_settings *s = &hdt_vk_family_settings;
#ifdef HDT_ORDER_ONLY
    s->order_only = true;
    s->seed = number("HEDDLE_ORDER_SEED", 0);
#else
    s->seed = number("HEDDLE_LAYER_SEED", 0);
#endif
    s->drop_wait = (uint32_t)number("HEDDLE_LAYER_DROP_WAIT", 0);
    s->drop_signal = (uint32_t)number("HEDDLE_LAYER_DROP_SIGNAL", 0);
    s->drop_barrier = (uint32_t)number("HEDDLE_LAYER_DROP_BARRIER", 0);
    s->trace = getenv("HEDDLE_LAYER_TRACE") != NULL;
    s->patience_ms = (uint32_t)number("HEDDLE_LAYER_PATIENCE", s->patience_ms);
    const char *queues = getenv("HEDDLE_LAYER_QUEUES");
    unsigned n[HDT_VK_FAMILIES];
    if (queues && sscanf(queues, "%u,%u,%u", &n[0], &n[1], &n[2]) == 3) {
        for (int f = 0; f < HDT_VK_FAMILIES; f++)
            s->queues[f] = n[f] < 1 ? 1 : n[f] > 5 ? 5 : n[f];
    }
}

/* ---- instances ---- */

static VkResult VKAPI_PTR layer_vkCreateInstance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *memory,
                                                 VkInstance *out)
{
    VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)info->pNext;
    while (link &&
           (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO || link->function != VK_LAYER_LINK_INFO))
        link = (VkLayerInstanceCreateInfo *)link->pNext;
    instance *mine = calloc(1, sizeof(*mine));
    if (!link || !mine) {
        free(mine);
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    mine->get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)mine->get(NULL, "vkCreateInstance");
    VkResult result = create ? create(info, memory, out) : VK_ERROR_INITIALIZATION_FAILED;
    if (result != VK_SUCCESS) {
        free(mine);
        return result;
    }
    read_settings();
    mine->key = key_of(*out);
    mine->handle = *out;
    mine->destroy = (PFN_vkDestroyInstance)mine->get(*out, "vkDestroyInstance");
    mine->extensions =
        (PFN_vkEnumerateDeviceExtensionProperties)mine->get(*out, "vkEnumerateDeviceExtensionProperties");
    pthread_mutex_lock(&lock);
    mine->next = instances;
    instances = mine;
    pthread_mutex_unlock(&lock);
    return VK_SUCCESS;
}

static void VKAPI_PTR layer_vkDestroyInstance(VkInstance handle, const VkAllocationCallbacks *memory)
{
    if (!handle)
        return;
    instance *mine = instance_of(handle);
    pthread_mutex_lock(&lock);
    instance **at = &instances;
    while (*at != mine)
        at = &(*at)->next;
    *at = mine->next;
    pthread_mutex_unlock(&lock);
    mine->destroy(handle, memory);
    free(mine);
    hdt_vk_counts c = hdt_vk_family_counts();
    if (getenv("HEDDLE_LAYER_REPORT"))
        fprintf(stderr, "test device: submits=%u,%u,%u overtaken=%u waits=%u barriers=%u acquires=%u faults=%u\n",
                c.submits[0], c.submits[1], c.submits[2], c.overtaken, c.waits, c.barriers, c.acquires, c.faults);
    if (c.faults)
        abort();
}

static VkResult VKAPI_PTR layer_vkEnumerateDeviceExtensionProperties(VkPhysicalDevice physical, const char *layer,
                                                                     uint32_t *count, VkExtensionProperties *out)
{
    if (layer && strcmp(layer, NAME) == 0) {
        *count = 0;
        return VK_SUCCESS;
    }
    return instance_of(physical)->extensions(physical, layer, count, out);
}

/* ---- devices ---- */

static VkResult VKAPI_PTR layer_vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                               const VkAllocationCallbacks *memory, VkDevice *out)
{
    VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)info->pNext;
    while (link && (link->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO || link->function != VK_LAYER_LINK_INFO))
        link = (VkLayerDeviceCreateInfo *)link->pNext;
    device *mine = calloc(1, sizeof(*mine));
    if (!link || !mine) {
        free(mine);
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    PFN_vkGetInstanceProcAddr get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    mine->get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)get(instance_of(physical)->handle, "vkCreateDevice");
    VkResult result =
        create ? hdt_vk_family_create_device(create, physical, info, memory, out) : VK_ERROR_INITIALIZATION_FAILED;
    if (result != VK_SUCCESS) {
        free(mine);
        return result;
    }
    mine->key = key_of(*out);
    pthread_mutex_lock(&lock);
    mine->next = devices;
    devices = mine;
    pthread_mutex_unlock(&lock);
    return hdt_vk_family_adopt(*out, mine->get) ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
}

static PFN_vkVoidFunction VKAPI_PTR layer_vkGetDeviceProcAddr(VkDevice handle, const char *name)
{
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)layer_vkGetDeviceProcAddr;
    pthread_mutex_lock(&lock);
    device *d = devices;
    while (d && d->key != key_of(handle))
        d = d->next;
    pthread_mutex_unlock(&lock);
    PFN_vkVoidFunction next = d ? d->get(handle, name) : NULL, mine = next ? hdt_vk_family_function(name) : NULL;
    return mine ? mine : next;
}

/* ---- what the loader asks for ---- */

static PFN_vkVoidFunction VKAPI_PTR layer_vkGetInstanceProcAddr(VkInstance handle, const char *name)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } own[] = {
        {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)layer_vkGetInstanceProcAddr},
        {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)layer_vkGetDeviceProcAddr},
        {"vkCreateInstance", (PFN_vkVoidFunction)layer_vkCreateInstance},
        {"vkDestroyInstance", (PFN_vkVoidFunction)layer_vkDestroyInstance},
        {"vkCreateDevice", (PFN_vkVoidFunction)layer_vkCreateDevice},
        {"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)layer_vkEnumerateDeviceExtensionProperties},
#ifndef HDT_ORDER_ONLY
        {"vkGetPhysicalDeviceQueueFamilyProperties", (PFN_vkVoidFunction)hdt_vk_family_properties},
        {"vkGetPhysicalDeviceQueueFamilyProperties2", (PFN_vkVoidFunction)hdt_vk_family_properties2},
        {"vkGetPhysicalDeviceQueueFamilyProperties2KHR", (PFN_vkVoidFunction)hdt_vk_family_properties2},
#endif
    };
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strcmp(name, own[i].name) == 0)
            return own[i].function;
    }
    instance *mine = handle ? instance_of(handle) : NULL;
    PFN_vkVoidFunction device_level = hdt_vk_family_function(name);
    return device_level ? device_level : mine ? mine->get(handle, name) : NULL;
}

__attribute__((visibility("default"))) VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *version);

VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *version)
{
    if (version->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT || version->loaderLayerInterfaceVersion < 2)
        return VK_ERROR_INITIALIZATION_FAILED;
    version->loaderLayerInterfaceVersion = 2;
    version->pfnGetInstanceProcAddr = layer_vkGetInstanceProcAddr;
    version->pfnGetDeviceProcAddr = layer_vkGetDeviceProcAddr;
    version->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
