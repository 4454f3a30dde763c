/* A test device with several queue families over a device with one queue: graphics (0), transfer (1), compute (2). One
 * implementation, two ways in: vk_layer.c makes a Vulkan layer of it, vk_fixture.c stands with it between heddle and
 * the loader. Uses that a device with these families would not bear, and deadlocks, count as faults: they are printed,
 * and the device is lost. */
#ifndef HDT_VK_FAMILIES_H
#define HDT_VK_FAMILIES_H

#include <stdbool.h>
#include <stdint.h>

#include <vulkan/vulkan_core.h>

enum { HDT_VK_FAMILIES = 3 };

/* For devices that are made from now on. */
typedef struct hdt_vk_settings {
    bool order_only; /* queues and families are those of the device below, which does the waiting for itself too */
    uint64_t seed;   /* of the order of the submits (vk_order.c); 0: as they come, once they can run */
    uint32_t queues[HDT_VK_FAMILIES]; /* of each family */
    /* The n-th (from 1) wait or signal of a semaphore or barrier command of a device is left out; 0: none. */
    uint32_t drop_wait, drop_signal, drop_barrier;
    bool trace;           /* submits and waits of the host to stderr */
    uint32_t patience_ms; /* without progress while a thread waits; then it is a deadlock */
} hdt_vk_settings;
extern hdt_vk_settings hdt_vk_family_settings;

/* Of all devices of the process. */
typedef struct hdt_vk_counts {
    unsigned faults, submits[HDT_VK_FAMILIES];
    unsigned releases, acquires; /* of ownership, as executed */
    unsigned waits, barriers;    /* what drop_wait and drop_barrier count */
    unsigned overtaken;          /* pieces of submits that went on before an earlier submit to another queue */
} hdt_vk_counts;
hdt_vk_counts hdt_vk_family_counts(void);

/* Instance level: what to call in place of the functions of these names. next: the function itself; get: of the same
 * level, for the device that is made. */
void VKAPI_PTR hdt_vk_family_properties(VkPhysicalDevice device, uint32_t *count, VkQueueFamilyProperties *out);
void VKAPI_PTR hdt_vk_family_properties2(VkPhysicalDevice device, uint32_t *count, VkQueueFamilyProperties2 *out);
VkResult hdt_vk_family_create_device(PFN_vkCreateDevice next, VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                     const VkAllocationCallbacks *memory, VkDevice *out);
/* Takes a device on that was made so; false: out of memory. */
bool hdt_vk_family_adopt(VkDevice device, PFN_vkGetDeviceProcAddr get);
/* Device level: what to call in place of the function, or null. */
PFN_vkVoidFunction hdt_vk_family_function(const char *name);

#endif
