/* What vk_families.c and vk_order.c share: a device, its queues, and the submits that are held. */
#ifndef HDT_VK_ORDER_H
#define HDT_VK_ORDER_H

#include <pthread.h>

#include "vk_families.h"

#define HDT_VK_NEXT(X)                                                                                                 \
    X(AcquireNextImageKHR)                                                                                             \
    X(AllocateCommandBuffers)                                                                                          \
    X(BeginCommandBuffer)                                                                                              \
    X(CmdPipelineBarrier2)                                                                                             \
    X(CmdSetEvent2)                                                                                                    \
    X(CmdWaitEvents2)                                                                                                  \
    X(CreateBuffer)                                                                                                    \
    X(CreateCommandPool)                                                                                               \
    X(CreateImage)                                                                                                     \
    X(CreateSemaphore)                                                                                                 \
    X(DestroyDevice)                                                                                                   \
    X(DeviceWaitIdle)                                                                                                  \
    X(GetDeviceBufferMemoryRequirements)                                                                               \
    X(GetDeviceImageMemoryRequirements)                                                                                \
    X(GetDeviceQueue)                                                                                                  \
    X(GetEventStatus)                                                                                                  \
    X(GetFenceStatus)                                                                                                  \
    X(GetQueryPoolResults)                                                                                             \
    X(GetSemaphoreCounterValue)                                                                                        \
    X(QueueSubmit2)                                                                                                    \
    X(SetDebugUtilsObjectNameEXT)                                                                                      \
    X(SignalSemaphore)                                                                                                 \
    X(WaitForFences)                                                                                                   \
    X(WaitSemaphores)

enum { HDT_VK_MOST_QUEUES = 16, HDT_VK_BUCKETS = 1024 };

/* Half an ownership transfer. */
typedef struct hdt_vk_transfer {
    uint64_t object;
    uint32_t acquire, from, to, old_layout, new_layout, unused; /* no padding: compared as bytes */
    uint64_t range[5];                                          /* of an image's subresources, or of a buffer's bytes */
} hdt_vk_transfer;

typedef struct hdt_vk_transfers {
    hdt_vk_transfer *all;
    uint32_t count, room;
} hdt_vk_transfers;

/* What is known of a pool, a command buffer, a semaphore. */
typedef struct hdt_vk_object {
    struct hdt_vk_object *next;
    uint64_t handle;
    uint32_t family;            /* pools, command buffers */
    hdt_vk_transfers transfers; /* command buffers: in the order in which they were recorded */
    bool seen, binary;          /* semaphores: was made through here */
    uint64_t value;             /* reached once all that was handed on is executed; binary: 1 signalled */
} hdt_vk_object;

typedef struct hdt_vk_held {
    struct hdt_vk_held *next;
    uint64_t number;
    uint32_t wait_count, command_count, signal_count, done; /* commands that were handed on */
    VkSemaphoreSubmitInfo *waits, *signals;
    VkCommandBufferSubmitInfo *commands;
    VkFence fence;
} hdt_vk_held;

struct hdt_vk_device;
typedef struct hdt_vk_implied hdt_vk_implied;

typedef struct hdt_vk_queue { /* the first word is the loader's */
    void *key;
    struct hdt_vk_device *device;
    uint32_t family, index;
    VkQueue real; /* where its submits go */
    hdt_vk_held *head, **tail;
    uint32_t rank; /* the smallest that can run is taken */
} hdt_vk_queue;

typedef struct hdt_vk_device {
    struct hdt_vk_device *next;
    void *key; /* first word of the device, its queues and its command buffers */
    VkDevice device;
    struct {
#define HDT_VK_MEMBER(name) PFN_vk##name name;
        HDT_VK_NEXT(HDT_VK_MEMBER)
#undef HDT_VK_MEMBER
    } fn;
    hdt_vk_settings settings;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t moved; /* a submit, a signal */
    hdt_vk_queue queues[HDT_VK_MOST_QUEUES];
    uint32_t queue_count;
    hdt_vk_object *objects[HDT_VK_BUCKETS];
    hdt_vk_transfers released; /* and not acquired yet */
    uint64_t random, number, highest, progress, idle_ns;
    uint32_t calm; /* one pick in so many draws the ranks anew */
    unsigned waits, signals, barriers;
    hdt_vk_implied *implied; /* null unless order_only */
    VkResult lost;           /* VK_SUCCESS: not */
} hdt_vk_device;

/* vk_families.c */
hdt_vk_device *hdt_vk_device_of(const void *dispatchable);
/* By the handle that the application has. */
hdt_vk_queue *hdt_vk_queue_of(VkQueue queue);
/* The entry of a handle, made if there is none; null: out of memory. Under the lock. */
hdt_vk_object *hdt_vk_object_of(hdt_vk_device *d, uint64_t handle);
void hdt_vk_fault(hdt_vk_device *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool hdt_vk_keep_transfer(hdt_vk_transfers *list, const hdt_vk_transfer *t);
/* A command buffer goes to the real queue. Under the lock. */
void hdt_vk_play_transfers(hdt_vk_device *d, VkCommandBuffer commands);
/* Checks a submit before it is held. Under the lock. */
void hdt_vk_check_submit(hdt_vk_device *d, const hdt_vk_queue *queue, const VkSubmitInfo2 *submit);
void hdt_vk_count_overtaken(void);

/* vk_implied.c; under the lock. */
hdt_vk_implied *hdt_vk_implied_make(void);
uint32_t hdt_vk_implied_room(void); /* waits that a submit must have room for beside its own */
void hdt_vk_implied_run(hdt_vk_implied *k, uint32_t queue, hdt_vk_held *h);
void hdt_vk_implied_waited(hdt_vk_implied *k, const VkSemaphoreWaitInfo *info);
void hdt_vk_implied_signalled(hdt_vk_implied *k, const VkSemaphoreSignalInfo *info);

/* vk_order.c */
void hdt_vk_order_start(hdt_vk_device *d);
/* Hands on what can run, tells what cannot. */
void hdt_vk_order_end(hdt_vk_device *d);
PFN_vkVoidFunction hdt_vk_order_function(const char *name);

#endif
