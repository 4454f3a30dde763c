#include "vk_families.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "vk_order.h"

/* Families: queues are made up, and what names a family is rewritten for the one that the driver has. Pools go to
 * family 0, sharing lists vanish, a barrier's families too; an ownership transfer with a change of layout becomes old
 * -> new at the release and new -> new at the acquire. Faults: a command buffer of another family's pool, stages that a
 * family has not, half transfers, and an acquire that is executed without the release that it names (the validation
 * layers look at none of the transfers). Devices are found by the first word of what is dispatched to, which the loader
 * gives to a device, its queues and its command buffers alike. */

#define GRAPHICS_STAGES                                                                                                \
    (VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT | VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT |                                    \
     VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT | VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT |                          \
     VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT |                   \
     VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT | VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT)

static const VkQueueFlags family_flags[HDT_VK_FAMILIES] = {
    VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT,
    VK_QUEUE_TRANSFER_BIT,
    VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT,
};

hdt_vk_settings hdt_vk_family_settings = {.queues = {1, 1, 1}, .patience_ms = 20000};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER; /* of the two below; may be taken under a device's */
static hdt_vk_device *all_devices;
static hdt_vk_counts counts;

hdt_vk_counts hdt_vk_family_counts(void)
{
    pthread_mutex_lock(&all_lock);
    hdt_vk_counts now = counts;
    pthread_mutex_unlock(&all_lock);
    return now;
}

static void count(unsigned *of, unsigned more)
{
    pthread_mutex_lock(&all_lock);
    *of += more;
    pthread_mutex_unlock(&all_lock);
}

void hdt_vk_count_overtaken(void)
{
    count(&counts.overtaken, 1);
}

void hdt_vk_fault(hdt_vk_device *d, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "test device (seed %llu): %s\n", (unsigned long long)d->settings.seed, text);
    count(&counts.faults, 1);
    d->lost = VK_ERROR_DEVICE_LOST;
}

hdt_vk_device *hdt_vk_device_of(const void *dispatchable)
{
    void *key = *(void *const *)dispatchable;
    pthread_mutex_lock(&all_lock);
    hdt_vk_device *d = all_devices;
    while (d && d->key != key)
        d = d->next;
    pthread_mutex_unlock(&all_lock);
    if (!d)
        abort(); /* a call on a device that was destroyed */
    return d;
}

hdt_vk_object *hdt_vk_object_of(hdt_vk_device *d, uint64_t handle)
{
    hdt_vk_object **at = &d->objects[(handle >> 4 ^ handle >> 14) % HDT_VK_BUCKETS];
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    if (!*at && (*at = calloc(1, sizeof(**at))) != NULL)
        **at = (hdt_vk_object){.handle = handle, .family = UINT32_MAX};
    return *at;
}

/* ---- instance level ---- */

static VkQueueFamilyProperties properties_of(uint32_t family)
{
    return (VkQueueFamilyProperties){.queueFlags = family_flags[family],
                                     .queueCount = hdt_vk_family_settings.queues[family],
                                     .timestampValidBits = 64,
                                     .minImageTransferGranularity = {1, 1, 1}};
}

void VKAPI_PTR hdt_vk_family_properties(VkPhysicalDevice device, uint32_t *family_count, VkQueueFamilyProperties *out)
{
    (void)device;
    if (!out || *family_count > HDT_VK_FAMILIES)
        *family_count = HDT_VK_FAMILIES;
    for (uint32_t f = 0; out && f < *family_count; f++)
        out[f] = properties_of(f);
}

void VKAPI_PTR hdt_vk_family_properties2(VkPhysicalDevice device, uint32_t *family_count, VkQueueFamilyProperties2 *out)
{
    (void)device;
    if (!out || *family_count > HDT_VK_FAMILIES)
        *family_count = HDT_VK_FAMILIES;
    for (uint32_t f = 0; out && f < *family_count; f++)
        out[f].queueFamilyProperties = properties_of(f);
}

VkResult hdt_vk_family_create_device(PFN_vkCreateDevice next, VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                     const VkAllocationCallbacks *memory, VkDevice *out)
{
    static const float priority = 1;
    VkDeviceCreateInfo mine = *info;
    if (hdt_vk_family_settings.order_only)
        return next(physical, info, memory, out);
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = 0,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    mine.queueCreateInfoCount = 1;
    mine.pQueueCreateInfos = &queue;
    return next(physical, &mine, memory, out);
}

bool hdt_vk_family_adopt(VkDevice device, PFN_vkGetDeviceProcAddr get)
{
    hdt_vk_device *d = calloc(1, sizeof(*d));
    if (!d)
        return false;
    d->key = *(void **)device;
    d->device = device;
#define LOAD(name) d->fn.name = (PFN_vk##name)get(device, "vk" #name);
    HDT_VK_NEXT(LOAD)
#undef LOAD
    d->settings = hdt_vk_family_settings;
    VkQueue real = VK_NULL_HANDLE;
    if (!d->settings.order_only) {
        d->fn.GetDeviceQueue(device, 0, 0, &real);
        *(void **)real = d->key; /* the loader does so with queues that it hands out itself */
    }
    for (uint32_t f = 0; f < HDT_VK_FAMILIES && real; f++) {
        for (uint32_t i = 0; i < d->settings.queues[f] && d->queue_count < HDT_VK_MOST_QUEUES; i++) {
            hdt_vk_queue *q = &d->queues[d->queue_count++];
            *q = (hdt_vk_queue){.key = d->key, .device = d, .family = f, .index = i, .real = real, .tail = &q->head};
        }
    }
    hdt_vk_order_start(d);
    pthread_mutex_lock(&all_lock);
    d->next = all_devices;
    all_devices = d;
    pthread_mutex_unlock(&all_lock);
    return true;
}

static void VKAPI_PTR family_vkDestroyDevice(VkDevice device, const VkAllocationCallbacks *memory)
{
    if (!device)
        return;
    hdt_vk_device *d = hdt_vk_device_of(device);
    hdt_vk_order_end(d);
    if (d->released.count && d->lost == VK_SUCCESS)
        hdt_vk_fault(d, "%u releases of ownership without an acquire", d->released.count);
    pthread_mutex_lock(&all_lock);
    hdt_vk_device **at = &all_devices;
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    counts.waits += d->waits;
    counts.barriers += d->barriers;
    pthread_mutex_unlock(&all_lock);
    d->fn.DestroyDevice(device, memory);
    for (uint32_t b = 0; b < HDT_VK_BUCKETS; b++) {
        for (hdt_vk_object *o = d->objects[b], *next; o; o = next) {
            next = o->next;
            free(o->transfers.all);
            free(o);
        }
    }
    free(d->released.all);
    free(d);
}

/* ---- queues, pools, what is shared ---- */

hdt_vk_queue *hdt_vk_queue_of(VkQueue queue)
{
    hdt_vk_device *d = hdt_vk_device_of(queue);
    for (uint32_t q = 0; q < d->queue_count; q++) {
        if ((void *)queue == (void *)&d->queues[q] || (d->settings.order_only && queue == d->queues[q].real))
            return &d->queues[q];
    }
    abort(); /* no queue that was handed out */
}

static void get_queue(VkDevice device, const VkDeviceQueueInfo2 *info, VkQueue *out)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    uint32_t found = 0;
    pthread_mutex_lock(&d->lock);
    while (found < d->queue_count &&
           (d->queues[found].family != info->queueFamilyIndex || d->queues[found].index != info->queueIndex))
        found++;
    if (found == d->queue_count && d->settings.order_only && found < HDT_VK_MOST_QUEUES) {
        hdt_vk_queue *q = &d->queues[d->queue_count++];
        *q = (hdt_vk_queue){.device = d,
                            .family = info->queueFamilyIndex,
                            .index = info->queueIndex,
                            .tail = &q->head,
                            .rank = (uint32_t)(hdt_random(&d->random) >> 32)};
        d->fn.GetDeviceQueue(device, q->family, q->index, &q->real);
    }
    *out = found == d->queue_count  ? VK_NULL_HANDLE
           : d->settings.order_only ? d->queues[found].real
                                    : (VkQueue)&d->queues[found];
    pthread_mutex_unlock(&d->lock);
}

static void VKAPI_PTR family_vkGetDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue *out)
{
    get_queue(device, &(VkDeviceQueueInfo2){.queueFamilyIndex = family, .queueIndex = index}, out);
}

static void VKAPI_PTR family_vkGetDeviceQueue2(VkDevice device, const VkDeviceQueueInfo2 *info, VkQueue *out)
{
    get_queue(device, info, out);
}

static VkResult VKAPI_PTR family_vkCreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                                     const VkAllocationCallbacks *memory, VkCommandPool *out)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    VkCommandPoolCreateInfo mine = *info;
    mine.queueFamilyIndex = 0;
    VkResult result = d->fn.CreateCommandPool(device, &mine, memory, out);
    if (result != VK_SUCCESS)
        return result;
    pthread_mutex_lock(&d->lock);
    hdt_vk_object *pool = hdt_vk_object_of(d, (uint64_t)*out);
    if (pool)
        pool->family = info->queueFamilyIndex;
    pthread_mutex_unlock(&d->lock);
    return result;
}

static VkResult VKAPI_PTR family_vkAllocateCommandBuffers(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                                          VkCommandBuffer *out)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    VkResult result = d->fn.AllocateCommandBuffers(device, info, out);
    pthread_mutex_lock(&d->lock);
    hdt_vk_object *pool = hdt_vk_object_of(d, (uint64_t)info->commandPool);
    for (uint32_t i = 0; i < info->commandBufferCount && result == VK_SUCCESS && pool; i++) {
        hdt_vk_object *buffer = hdt_vk_object_of(d, (uint64_t)(uintptr_t)out[i]);
        if (buffer)
            buffer->family = pool->family;
    }
    pthread_mutex_unlock(&d->lock);
    return result;
}

static VkResult VKAPI_PTR family_vkBeginCommandBuffer(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info)
{
    hdt_vk_device *d = hdt_vk_device_of(commands);
    pthread_mutex_lock(&d->lock);
    hdt_vk_object *buffer = hdt_vk_object_of(d, (uint64_t)(uintptr_t)commands);
    if (buffer)
        buffer->transfers.count = 0;
    pthread_mutex_unlock(&d->lock);
    return d->fn.BeginCommandBuffer(commands, info);
}

static VkResult VKAPI_PTR family_vkCreateImage(VkDevice device, const VkImageCreateInfo *info,
                                               const VkAllocationCallbacks *memory, VkImage *out)
{
    VkImageCreateInfo mine = *info;
    mine.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    return hdt_vk_device_of(device)->fn.CreateImage(device, &mine, memory, out);
}

static VkResult VKAPI_PTR family_vkCreateBuffer(VkDevice device, const VkBufferCreateInfo *info,
                                                const VkAllocationCallbacks *memory, VkBuffer *out)
{
    VkBufferCreateInfo mine = *info;
    mine.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    return hdt_vk_device_of(device)->fn.CreateBuffer(device, &mine, memory, out);
}

static void VKAPI_PTR family_vkGetDeviceImageMemoryRequirements(VkDevice device,
                                                                const VkDeviceImageMemoryRequirements *info,
                                                                VkMemoryRequirements2 *out)
{
    VkDeviceImageMemoryRequirements mine = *info;
    VkImageCreateInfo image = *info->pCreateInfo;
    image.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    mine.pCreateInfo = &image;
    hdt_vk_device_of(device)->fn.GetDeviceImageMemoryRequirements(device, &mine, out);
}

static void VKAPI_PTR family_vkGetDeviceBufferMemoryRequirements(VkDevice device,
                                                                 const VkDeviceBufferMemoryRequirements *info,
                                                                 VkMemoryRequirements2 *out)
{
    VkDeviceBufferMemoryRequirements mine = *info;
    VkBufferCreateInfo buffer = *info->pCreateInfo;
    buffer.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    mine.pCreateInfo = &buffer;
    hdt_vk_device_of(device)->fn.GetDeviceBufferMemoryRequirements(device, &mine, out);
}

/* A queue's handle is none of the driver's. */
static VkResult VKAPI_PTR family_vkSetDebugUtilsObjectNameEXT(VkDevice device,
                                                              const VkDebugUtilsObjectNameInfoEXT *info)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    return info->objectType == VK_OBJECT_TYPE_QUEUE || !d->fn.SetDebugUtilsObjectNameEXT
               ? VK_SUCCESS
               : d->fn.SetDebugUtilsObjectNameEXT(device, info);
}

static void VKAPI_PTR family_vkQueueBeginDebugUtilsLabelEXT(VkQueue queue, const VkDebugUtilsLabelEXT *label)
{
    (void)queue;
    (void)label;
}

static void VKAPI_PTR family_vkQueueEndDebugUtilsLabelEXT(VkQueue queue)
{
    (void)queue;
}

/* ---- barriers ---- */

static void check_stages(hdt_vk_device *d, uint32_t family, VkPipelineStageFlags2 stages)
{
    if (family >= HDT_VK_FAMILIES)
        return;
    if (!(family_flags[family] & VK_QUEUE_GRAPHICS_BIT) && stages & GRAPHICS_STAGES)
        hdt_vk_fault(d, "graphics stages 0x%llx on a queue of family %u, which has no graphics",
                     (unsigned long long)stages, family);
    if (!(family_flags[family] & VK_QUEUE_COMPUTE_BIT) &&
        stages & (VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT))
        hdt_vk_fault(d, "compute stages 0x%llx on a queue of family %u, which has no compute",
                     (unsigned long long)stages, family);
}

bool hdt_vk_keep_transfer(hdt_vk_transfers *list, const hdt_vk_transfer *t)
{
    if (list->count == list->room) {
        uint32_t room = list->room ? 2 * list->room : 8;
        hdt_vk_transfer *all = realloc(list->all, room * sizeof(*all));
        if (!all)
            return false;
        list->all = all;
        list->room = room;
    }
    list->all[list->count++] = *t;
    return true;
}

/* Which half of an ownership transfer a barrier of this command buffer is: 0 none, 1 release, 2 acquire. */
static int note_transfer(hdt_vk_device *d, hdt_vk_object *buffer, hdt_vk_transfer t)
{
    if (t.from == t.to)
        return 0;
    if (buffer->family != t.from && buffer->family != t.to)
        hdt_vk_fault(d, "an ownership transfer from family %u to %u on a queue of family %u", t.from, t.to,
                     buffer->family);
    t.acquire = buffer->family == t.to;
    if (!hdt_vk_keep_transfer(&buffer->transfers, &t))
        hdt_vk_fault(d, "out of memory");
    return t.acquire ? 2 : 1;
}

void hdt_vk_play_transfers(hdt_vk_device *d, VkCommandBuffer commands)
{
    const hdt_vk_object *buffer = hdt_vk_object_of(d, (uint64_t)(uintptr_t)commands);
    for (uint32_t i = 0; buffer && i < buffer->transfers.count; i++) {
        hdt_vk_transfer t = buffer->transfers.all[i];
        count(t.acquire ? &counts.acquires : &counts.releases, 1);
        if (!t.acquire) {
            if (!hdt_vk_keep_transfer(&d->released, &t))
                hdt_vk_fault(d, "out of memory");
            continue;
        }
        uint32_t r = 0;
        t.acquire = 0;
        while (r < d->released.count && memcmp(&d->released.all[r], &t, sizeof(t)) != 0)
            r++;
        if (r == d->released.count)
            hdt_vk_fault(d, "an acquire of 0x%llx from family %u by %u, layout %u to %u, without its release before it",
                         (unsigned long long)t.object, t.from, t.to, t.old_layout, t.new_layout);
        else
            d->released.all[r] = d->released.all[--d->released.count];
    }
}

/* The barriers as the driver gets them; *memory is to be freed after the call. False: out of memory. */
static bool rewrite(hdt_vk_device *d, VkCommandBuffer commands, const VkDependencyInfo *info, uint32_t info_count,
                    VkDependencyInfo *mine, void **memory)
{
    size_t buffer_count = 0, image_count = 0;
    for (uint32_t k = 0; k < info_count; k++) {
        buffer_count += info[k].bufferMemoryBarrierCount;
        image_count += info[k].imageMemoryBarrierCount;
    }
    VkBufferMemoryBarrier2 *buffers =
        calloc(1, buffer_count * sizeof(*buffers) + image_count * sizeof(VkImageMemoryBarrier2) + 1);
    VkImageMemoryBarrier2 *images = (VkImageMemoryBarrier2 *)(buffers + buffer_count);
    *memory = buffers;
    pthread_mutex_lock(&d->lock);
    hdt_vk_object *owner = buffers ? hdt_vk_object_of(d, (uint64_t)(uintptr_t)commands) : NULL;
    if (!owner) {
        pthread_mutex_unlock(&d->lock);
        free(buffers);
        return false;
    }
    for (uint32_t k = 0; k < info_count; k++) {
        mine[k] = info[k];
        mine[k].pBufferMemoryBarriers = buffers;
        mine[k].pImageMemoryBarriers = images;
        for (uint32_t i = 0; i < info[k].memoryBarrierCount; i++)
            check_stages(d, owner->family,
                         info[k].pMemoryBarriers[i].srcStageMask | info[k].pMemoryBarriers[i].dstStageMask);
        for (uint32_t i = 0; i < info[k].bufferMemoryBarrierCount; i++, buffers++) {
            VkBufferMemoryBarrier2 b = info[k].pBufferMemoryBarriers[i];
            int half = note_transfer(
                d, owner,
                (hdt_vk_transfer){
                    (uint64_t)b.buffer, 0, b.srcQueueFamilyIndex, b.dstQueueFamilyIndex, 0, 0, 0, {b.offset, b.size}});
            check_stages(d, owner->family, (half == 2 ? 0 : b.srcStageMask) | (half == 1 ? 0 : b.dstStageMask));
            b.srcQueueFamilyIndex = b.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
            *buffers = b;
        }
        for (uint32_t i = 0; i < info[k].imageMemoryBarrierCount; i++, images++) {
            VkImageMemoryBarrier2 b = info[k].pImageMemoryBarriers[i];
            const VkImageSubresourceRange *r = &b.subresourceRange;
            int half = note_transfer(
                d, owner,
                (hdt_vk_transfer){(uint64_t)b.image,
                                  0,
                                  b.srcQueueFamilyIndex,
                                  b.dstQueueFamilyIndex,
                                  b.oldLayout,
                                  b.newLayout,
                                  0,
                                  {r->aspectMask, r->baseMipLevel, r->levelCount, r->baseArrayLayer, r->layerCount}});
            check_stages(d, owner->family, (half == 2 ? 0 : b.srcStageMask) | (half == 1 ? 0 : b.dstStageMask));
            if (half == 2)
                b.oldLayout = b.newLayout;
            b.srcQueueFamilyIndex = b.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
            *images = b;
        }
    }
    pthread_mutex_unlock(&d->lock);
    return true;
}

static void trace_barrier(VkCommandBuffer commands, const VkDependencyInfo *info)
{
    for (uint32_t i = 0; i < info->memoryBarrierCount; i++) {
        const VkMemoryBarrier2 *b = &info->pMemoryBarriers[i];
        fprintf(stderr, "trace: barrier in %p memory %llx %llx -> %llx %llx\n", (void *)commands,
                (unsigned long long)b->srcStageMask, (unsigned long long)b->srcAccessMask,
                (unsigned long long)b->dstStageMask, (unsigned long long)b->dstAccessMask);
    }
    for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
        const VkImageMemoryBarrier2 *b = &info->pImageMemoryBarriers[i];
        fprintf(stderr, "trace: barrier in %p image %llx %llx %llx -> %llx %llx layout %u -> %u family %d -> %d\n",
                (void *)commands, (unsigned long long)b->image, (unsigned long long)b->srcStageMask,
                (unsigned long long)b->srcAccessMask, (unsigned long long)b->dstStageMask,
                (unsigned long long)b->dstAccessMask, b->oldLayout, b->newLayout, (int)b->srcQueueFamilyIndex,
                (int)b->dstQueueFamilyIndex);
    }
}

static void VKAPI_PTR family_vkCmdPipelineBarrier2(VkCommandBuffer commands, const VkDependencyInfo *info)
{
    hdt_vk_device *d = hdt_vk_device_of(commands);
    if (d->settings.trace)
        trace_barrier(commands, info);
    VkDependencyInfo mine;
    void *memory;
    pthread_mutex_lock(&d->lock);
    bool drop = ++d->barriers == d->settings.drop_barrier;
    pthread_mutex_unlock(&d->lock);
    if (drop || !rewrite(d, commands, info, 1, &mine, &memory))
        return;
    d->fn.CmdPipelineBarrier2(commands, &mine);
    free(memory);
}

static void VKAPI_PTR family_vkCmdSetEvent2(VkCommandBuffer commands, VkEvent event, const VkDependencyInfo *info)
{
    hdt_vk_device *d = hdt_vk_device_of(commands);
    VkDependencyInfo mine;
    void *memory;
    if (rewrite(d, commands, info, 1, &mine, &memory)) {
        d->fn.CmdSetEvent2(commands, event, &mine);
        free(memory);
    }
}

static void VKAPI_PTR family_vkCmdWaitEvents2(VkCommandBuffer commands, uint32_t event_count, const VkEvent *events,
                                              const VkDependencyInfo *infos)
{
    hdt_vk_device *d = hdt_vk_device_of(commands);
    VkDependencyInfo *mine = calloc(event_count, sizeof(*mine));
    void *memory;
    if (mine && rewrite(d, commands, infos, event_count, mine, &memory)) {
        d->fn.CmdWaitEvents2(commands, event_count, events, mine);
        free(memory);
    }
    free(mine);
}

void hdt_vk_check_submit(hdt_vk_device *d, const hdt_vk_queue *queue, const VkSubmitInfo2 *submit)
{
    for (uint32_t b = 0; b < submit->commandBufferInfoCount; b++) {
        const hdt_vk_object *buffer =
            hdt_vk_object_of(d, (uint64_t)(uintptr_t)submit->pCommandBufferInfos[b].commandBuffer);
        if (buffer && buffer->family != queue->family)
            hdt_vk_fault(d, "a command buffer of family %u is submitted to a queue of family %u", buffer->family,
                         queue->family);
    }
    for (uint32_t w = 0; w < submit->waitSemaphoreInfoCount; w++)
        check_stages(d, queue->family, submit->pWaitSemaphoreInfos[w].stageMask);
    for (uint32_t s = 0; s < submit->signalSemaphoreInfoCount; s++)
        check_stages(d, queue->family, submit->pSignalSemaphoreInfos[s].stageMask);
    count(&counts.submits[queue->family], 1);
}

/* For order_only the first three. */
#define REPLACED(X)                                                                                                    \
    X(vkDestroyDevice)                                                                                                 \
    X(vkGetDeviceQueue)                                                                                                \
    X(vkGetDeviceQueue2)                                                                                               \
    X(vkCreateCommandPool)                                                                                             \
    X(vkAllocateCommandBuffers)                                                                                        \
    X(vkBeginCommandBuffer)                                                                                            \
    X(vkCreateImage)                                                                                                   \
    X(vkCreateBuffer)                                                                                                  \
    X(vkGetDeviceImageMemoryRequirements)                                                                              \
    X(vkGetDeviceBufferMemoryRequirements)                                                                             \
    X(vkSetDebugUtilsObjectNameEXT)                                                                                    \
    X(vkQueueBeginDebugUtilsLabelEXT)                                                                                  \
    X(vkQueueEndDebugUtilsLabelEXT)                                                                                    \
    X(vkCmdPipelineBarrier2)                                                                                           \
    X(vkCmdSetEvent2)                                                                                                  \
    X(vkCmdWaitEvents2)

PFN_vkVoidFunction hdt_vk_family_function(const char *name)
{
    size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, "KHR") == 0)
        length -= 3; /* what became part of Vulkan 1.2 and 1.3 goes by both names */
    char plain[64];
    if (length >= sizeof(plain))
        return NULL;
    memcpy(plain, name, length);
    plain[length] = 0;
    size_t at = 0;
#define REPLACE(hooked)                                                                                                \
    if (strcmp(plain, #hooked) == 0 && (at < 3 || !hdt_vk_family_settings.order_only))                                 \
        return (PFN_vkVoidFunction)family_##hooked;                                                                    \
    at++;
    REPLACED(REPLACE)
#undef REPLACE
    PFN_vkVoidFunction order = hdt_vk_order_function(plain);
    return order ? order : hdt_vk_order_function(name);
}
