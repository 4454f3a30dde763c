#include "vk_faults.h"

#include <string.h>

#include "vk_fixture.h"

hdt_faults hdt_the_faults;
static PFN_vkGetDeviceProcAddr real_device_proc;

/* A call that fails does nothing else. can_lose: it may return VK_ERROR_DEVICE_LOST. */
static bool fails(const char *name, bool can_lose, VkResult *out)
{
    hdt_faults *f = &hdt_the_faults;
    if (f->failure == VK_ERROR_DEVICE_LOST && !can_lose)
        return false;
    if (atomic_fetch_add(&f->calls, 1) + 1 != f->fail_at)
        return false;
    f->failed = name;
    *out = f->failure;
    return true;
}

static void lives(int count)
{
    if (atomic_fetch_add(&hdt_the_faults.live, count) + count < 0)
        atomic_fetch_add(&hdt_the_faults.wrong, 1);
}

/* What a call that fails leaves in its results is not defined: spoil. */
#define SPOILING_CALL(name, can_lose, made, parameters, arguments, spoil)                                              \
    static PFN_##name real_##name;                                                                                     \
    static VKAPI_ATTR VkResult VKAPI_CALL fault_##name parameters                                                      \
    {                                                                                                                  \
        VkResult result;                                                                                               \
        if (fails(#name, can_lose, &result)) {                                                                         \
            spoil;                                                                                                     \
            return result;                                                                                             \
        }                                                                                                              \
        result = real_##name arguments;                                                                                \
        if (result == VK_SUCCESS)                                                                                      \
            lives(made);                                                                                               \
        return result;                                                                                                 \
    }

#define CALL(name, can_lose, made, parameters, arguments)                                                              \
    SPOILING_CALL(name, can_lose, made, parameters, arguments, (void)0)

#define SPOIL memset(out, 0xdd, sizeof(*out))

#define MAKING(type, info_type)                                                                                        \
    SPOILING_CALL(vkCreate##type, false, 1,                                                                            \
                  (VkDevice device, const info_type *info, const VkAllocationCallbacks *memory, Vk##type *out),        \
                  (device, info, memory, out), SPOIL)
#define CREATION(type, info_type)                                                                                      \
    MAKING(type, info_type)                                                                                            \
    DESTRUCTION(vkDestroy##type, Vk##type)

#define DESTRUCTION(name, type)                                                                                        \
    static PFN_##name real_##name;                                                                                     \
    static VKAPI_ATTR void VKAPI_CALL fault_##name(VkDevice device, type object, const VkAllocationCallbacks *memory)  \
    {                                                                                                                  \
        lives(object ? -1 : 0);                                                                                        \
        real_##name(device, object, memory);                                                                           \
    }

MAKING(Semaphore, VkSemaphoreCreateInfo)
MAKING(CommandPool, VkCommandPoolCreateInfo)
CREATION(QueryPool, VkQueryPoolCreateInfo)
CREATION(Event, VkEventCreateInfo)
CREATION(Image, VkImageCreateInfo)
CREATION(Buffer, VkBufferCreateInfo)
CREATION(ImageView, VkImageViewCreateInfo)
SPOILING_CALL(vkAllocateMemory, false, 1,
              (VkDevice device, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *memory,
               VkDeviceMemory *out),
              (device, info, memory, out), SPOIL)
DESTRUCTION(vkFreeMemory, VkDeviceMemory)
SPOILING_CALL(vkMapMemory, false, 0,
              (VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize bytes, VkMemoryMapFlags flags,
               void **out),
              (device, memory, offset, bytes, flags, out), SPOIL)
CALL(vkBindImageMemory, false, 0, (VkDevice device, VkImage image, VkDeviceMemory memory, VkDeviceSize offset),
     (device, image, memory, offset))
CALL(vkBindBufferMemory, false, 0, (VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset),
     (device, buffer, memory, offset))
CALL(vkAllocateCommandBuffers, false, 0,
     (VkDevice device, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *out), (device, info, out))
CALL(vkResetCommandPool, false, 0, (VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags flags),
     (device, pool, flags))
CALL(vkBeginCommandBuffer, false, 0, (VkCommandBuffer commands, const VkCommandBufferBeginInfo *info), (commands, info))
CALL(vkEndCommandBuffer, false, 0, (VkCommandBuffer commands), (commands))
CALL(vkResetEvent, false, 0, (VkDevice device, VkEvent event), (device, event))
CALL(vkWaitSemaphores, true, 0, (VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout),
     (device, info, timeout))
CALL(vkSignalSemaphore, false, 0, (VkDevice device, const VkSemaphoreSignalInfo *info), (device, info))
CALL(vkGetQueryPoolResults, true, 0,
     (VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count, size_t bytes, void *out, VkDeviceSize stride,
      VkQueryResultFlags flags),
     (device, pool, first, count, bytes, out, stride, flags))
CALL(vkSetDebugUtilsObjectNameEXT, false, 0, (VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info),
     (device, info))
SPOILING_CALL(vkCreateInstance, false, 1,
              (const VkInstanceCreateInfo *info, const VkAllocationCallbacks *memory, VkInstance *out),
              (info, memory, out), SPOIL)
CALL(vkEnumeratePhysicalDevices, false, 0, (VkInstance instance, uint32_t *count, VkPhysicalDevice *out),
     (instance, count, out))
SPOILING_CALL(vkCreateDevice, true, 1,
              (VkPhysicalDevice physical, const VkDeviceCreateInfo *info, const VkAllocationCallbacks *memory,
               VkDevice *out),
              (physical, info, memory, out), SPOIL)
CALL(vkEnumerateInstanceExtensionProperties, false, 0, (const char *layer, uint32_t *count, VkExtensionProperties *out),
     (layer, count, out))
CALL(vkEnumerateDeviceExtensionProperties, false, 0,
     (VkPhysicalDevice physical, const char *layer, uint32_t *count, VkExtensionProperties *out),
     (physical, layer, count, out))
CALL(vkGetPhysicalDeviceImageFormatProperties2, false, 0,
     (VkPhysicalDevice physical, const VkPhysicalDeviceImageFormatInfo2 *info, VkImageFormatProperties2 *out),
     (physical, info, out))

static PFN_vkDestroyInstance real_vkDestroyInstance;
static VKAPI_ATTR void VKAPI_CALL fault_vkDestroyInstance(VkInstance instance, const VkAllocationCallbacks *memory)
{
    lives(-1);
    real_vkDestroyInstance(instance, memory);
}

/* What was submitted to a queue: whether all of it has finished can be seen while there is a signal behind it. */
static struct fault_queue {
    VkQueue queue;
    VkSemaphore semaphore; /* a timeline's, the last that was signalled */
    uint64_t value;
    bool open; /* something was submitted behind that */
} fault_queues[8];
static PFN_vkGetSemaphoreCounterValue counter_value;

static PFN_vkDestroyDevice real_vkDestroyDevice;
static VKAPI_ATTR void VKAPI_CALL fault_vkDestroyDevice(VkDevice device, const VkAllocationCallbacks *memory)
{
    lives(-1);
    memset(fault_queues, 0, sizeof(fault_queues));
    real_vkDestroyDevice(device, memory);
}

static struct fault_queue *queue_record(VkQueue queue)
{
    struct fault_queue *record = fault_queues;
    while (record->queue && record->queue != queue)
        record++;
    record->queue = queue;
    return record;
}

static PFN_vkQueueSubmit2 real_vkQueueSubmit2;
static VKAPI_ATTR VkResult VKAPI_CALL fault_vkQueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *submits,
                                                           VkFence fence)
{
    hdt_faults *f = &hdt_the_faults;
    VkResult result;
    if (fails("vkQueueSubmit2", true, &result))
        return result;
    if (f->submits_until && atomic_fetch_add(&f->submits, 1) + 1 >= f->submits_until)
        return f->failure;
    result = real_vkQueueSubmit2(queue, count, submits, fence);
    struct fault_queue *record = queue_record(queue);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++) {
        record->open = submits[i].signalSemaphoreInfoCount == 0;
        if (record->open)
            continue;
        record->semaphore = submits[i].pSignalSemaphoreInfos[0].semaphore;
        record->value = submits[i].pSignalSemaphoreInfos[0].value;
    }
    return result;
}

static PFN_vkQueueWaitIdle real_vkQueueWaitIdle;
static VKAPI_ATTR VkResult VKAPI_CALL fault_vkQueueWaitIdle(VkQueue queue)
{
    VkResult result;
    if (fails("vkQueueWaitIdle", true, &result))
        return result;
    result = real_vkQueueWaitIdle(queue);
    *queue_record(queue) = (struct fault_queue){.queue = queue};
    return result;
}

static PFN_vkDestroyCommandPool real_vkDestroyCommandPool;
static VKAPI_ATTR void VKAPI_CALL fault_vkDestroyCommandPool(VkDevice device, VkCommandPool pool,
                                                             const VkAllocationCallbacks *memory)
{
    for (struct fault_queue *record = fault_queues; record->queue; record++) {
        uint64_t value = 0;
        if (record->open || (record->semaphore &&
                             (counter_value(device, record->semaphore, &value) != VK_SUCCESS || value < record->value)))
            atomic_fetch_add(&hdt_the_faults.early, 1);
    }
    lives(pool ? -1 : 0);
    real_vkDestroyCommandPool(device, pool, memory);
}

static PFN_vkDestroySemaphore real_vkDestroySemaphore;
static VKAPI_ATTR void VKAPI_CALL fault_vkDestroySemaphore(VkDevice device, VkSemaphore semaphore,
                                                           const VkAllocationCallbacks *memory)
{
    for (struct fault_queue *record = fault_queues; record->queue; record++) {
        if (record->semaphore == semaphore)
            record->semaphore = VK_NULL_HANDLE;
    }
    lives(semaphore ? -1 : 0);
    real_vkDestroySemaphore(device, semaphore, memory);
}

#define PAIR(X, type) X(vkCreate##type) X(vkDestroy##type)
#define DEVICE_LEVEL(X)                                                                                                \
    PAIR(X, Semaphore)                                                                                                 \
    PAIR(X, CommandPool)                                                                                               \
    PAIR(X, QueryPool)                                                                                                 \
    PAIR(X, Event) PAIR(X, Image) PAIR(X, Buffer) PAIR(X, ImageView) X(vkAllocateMemory) X(vkFreeMemory)               \
        X(vkMapMemory) X(vkBindImageMemory) X(vkBindBufferMemory) X(vkAllocateCommandBuffers) X(vkResetCommandPool)    \
            X(vkBeginCommandBuffer) X(vkEndCommandBuffer) X(vkResetEvent) X(vkQueueSubmit2) X(vkQueueWaitIdle)         \
                X(vkWaitSemaphores) X(vkSignalSemaphore) X(vkGetQueryPoolResults) X(vkSetDebugUtilsObjectNameEXT)      \
                    X(vkDestroyDevice)
#define INSTANCE_LEVEL(X)                                                                                              \
    X(vkCreateInstance)                                                                                                \
    X(vkDestroyInstance)                                                                                               \
    X(vkEnumeratePhysicalDevices)                                                                                      \
    X(vkCreateDevice)                                                                                                  \
    X(vkEnumerateInstanceExtensionProperties)                                                                          \
    X(vkEnumerateDeviceExtensionProperties)                                                                            \
    X(vkGetPhysicalDeviceImageFormatProperties2)

#define REPLACE(function)                                                                                              \
    if (found && strcmp(name, #function) == 0) {                                                                       \
        real_##function = (PFN_##function)found;                                                                       \
        return (PFN_vkVoidFunction)fault_##function;                                                                   \
    }

static bool is_missing(const char *name)
{
    const char *missing = hdt_the_faults.missing;
    return missing && strcmp(missing, name) == 0;
}

static PFN_vkVoidFunction VKAPI_PTR device_proc(VkDevice device, const char *name)
{
    PFN_vkVoidFunction found = is_missing(name) ? NULL : real_device_proc(device, name);
    DEVICE_LEVEL(REPLACE)
    return found;
}

PFN_vkVoidFunction VKAPI_PTR hdt_faults_proc(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction found = is_missing(name) ? NULL : hdt_vk_hooked(instance, name);
    INSTANCE_LEVEL(REPLACE)
    if (found && strcmp(name, "vkGetDeviceProcAddr") == 0) {
        real_device_proc = (PFN_vkGetDeviceProcAddr)found;
        counter_value = (PFN_vkGetSemaphoreCounterValue)hdt_vk_hooked(instance, "vkGetSemaphoreCounterValue");
        return (PFN_vkVoidFunction)device_proc;
    }
    return found;
}
