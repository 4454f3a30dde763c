#include "stub_driver.h"
#include "stub_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Handles are numbers, but for those that a loader would dispatch on. Command buffers are real objects: they hold what
 * is captured until they are submitted. */

#pragma GCC diagnostic ignored                                                                                         \
    "-Wunused-parameter" /* a driver that does nothing takes most of its arguments for that */

hdb_stub hdb_stub_state;

typedef struct recorded {
    struct recorded *next; /* of its pool */
    hdb_event *events;
    uint32_t count, capacity, commands;
} recorded;

typedef struct record_pool {
    recorded *buffers;
} record_pool;

static void *grow(void *pointer, uint32_t *capacity, uint32_t need, size_t bytes)
{
    if (need <= *capacity)
        return pointer;
    *capacity = need * 2;
    void *grown = realloc(pointer, *capacity * bytes);
    if (!grown)
        abort();
    return grown;
}

static uint64_t make(void)
{
    static atomic_uint_fast64_t last;
    atomic_fetch_add_explicit(&hdb_stub_state.creations, 1, memory_order_relaxed);
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

#define NOTHING(name, ...)                                                                                             \
    static VKAPI_ATTR void VKAPI_CALL vk_##name(__VA_ARGS__)                                                           \
    {                                                                                                                  \
    }

/* ---- objects ---- */

NOTHING(DestroyDevice, VkDevice device, const VkAllocationCallbacks *memory)
static VKAPI_ATTR void VKAPI_CALL vk_GetDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue *out)
{
    *out = (VkQueue)(uintptr_t)(family + 1);
}

#define OBJECT(type, info_type)                                                                                        \
    static VKAPI_ATTR VkResult VKAPI_CALL vk_Create##type(VkDevice device, const info_type *info,                      \
                                                          const VkAllocationCallbacks *memory, Vk##type *out)          \
    {                                                                                                                  \
        *out = (Vk##type)(uintptr_t)make();                                                                            \
        return VK_SUCCESS;                                                                                             \
    }                                                                                                                  \
    static VKAPI_ATTR void VKAPI_CALL vk_Destroy##type(VkDevice device, Vk##type object,                               \
                                                       const VkAllocationCallbacks *memory)                            \
    {                                                                                                                  \
    }
OBJECT(Semaphore, VkSemaphoreCreateInfo)
OBJECT(Event, VkEventCreateInfo)
OBJECT(ImageView, VkImageViewCreateInfo)
OBJECT(QueryPool, VkQueryPoolCreateInfo)

static void add_place(uint64_t object, uint64_t bytes)
{
    hdb_stub *stub = &hdb_stub_state;
    stub->places = grow(stub->places, &stub->place_capacity, stub->place_count + 1, sizeof(*stub->places));
    stub->places[stub->place_count++] = (hdb_place){object, 0, 0, bytes};
}

static hdb_place *place_of(uint64_t object)
{
    hdb_stub *stub = &hdb_stub_state;
    for (uint32_t i = stub->place_count; i-- > 0;) {
        if (stub->places[i].object == object)
            return &stub->places[i];
    }
    abort();
}

static uint64_t image_bytes(const VkImageCreateInfo *info)
{
    return (uint64_t)info->extent.width * info->extent.height * info->extent.depth * info->arrayLayers *
           (uint64_t)info->samples * 8;
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_CreateImage(VkDevice device, const VkImageCreateInfo *info,
                                                     const VkAllocationCallbacks *memory, VkImage *out)
{
    *out = (VkImage)(uintptr_t)make();
    add_place((uint64_t)(uintptr_t)*out, image_bytes(info));
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_CreateBuffer(VkDevice device, const VkBufferCreateInfo *info,
                                                      const VkAllocationCallbacks *memory, VkBuffer *out)
{
    *out = (VkBuffer)(uintptr_t)make();
    add_place((uint64_t)(uintptr_t)*out, info->size);
    return VK_SUCCESS;
}

NOTHING(DestroyImage, VkDevice device, VkImage image, const VkAllocationCallbacks *memory)
NOTHING(DestroyBuffer, VkDevice device, VkBuffer image, const VkAllocationCallbacks *memory)
static VKAPI_ATTR VkResult VKAPI_CALL vk_AllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                        const VkAllocationCallbacks *memory, VkDeviceMemory *out)
{
    *out = (VkDeviceMemory)(uintptr_t)make();
    return VK_SUCCESS;
}

NOTHING(FreeMemory, VkDevice device, VkDeviceMemory object, const VkAllocationCallbacks *memory)
static VKAPI_ATTR VkResult VKAPI_CALL vk_MapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                                   VkDeviceSize bytes, VkMemoryMapFlags flags, void **out)
{
    static unsigned char nowhere[1 << 20];
    *out = nowhere;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_BindImageMemory(VkDevice device, VkImage image, VkDeviceMemory memory,
                                                         VkDeviceSize offset)
{
    hdb_place *place = place_of((uint64_t)(uintptr_t)image);
    place->memory = (uint64_t)(uintptr_t)memory;
    place->offset = offset;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_BindBufferMemory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                                          VkDeviceSize offset)
{
    return vk_BindImageMemory(device, (VkImage)(uintptr_t)buffer, memory, offset);
}

static VkMemoryRequirements requirements(uint64_t bytes)
{
    return (VkMemoryRequirements){(bytes + 255) & ~UINT64_C(255), 256, 1};
}

static VKAPI_ATTR void VKAPI_CALL vk_GetImageMemoryRequirements(VkDevice device, VkImage image,
                                                                VkMemoryRequirements *out)
{
    *out = requirements(place_of((uint64_t)(uintptr_t)image)->bytes);
}

static VKAPI_ATTR void VKAPI_CALL vk_GetBufferMemoryRequirements(VkDevice device, VkBuffer buffer,
                                                                 VkMemoryRequirements *out)
{
    *out = requirements(place_of((uint64_t)(uintptr_t)buffer)->bytes);
}

static VKAPI_ATTR void VKAPI_CALL vk_GetDeviceImageMemoryRequirements(VkDevice device,
                                                                      const VkDeviceImageMemoryRequirements *info,
                                                                      VkMemoryRequirements2 *out)
{
    out->memoryRequirements = requirements(image_bytes(info->pCreateInfo));
}

static VKAPI_ATTR void VKAPI_CALL vk_GetDeviceBufferMemoryRequirements(VkDevice device,
                                                                       const VkDeviceBufferMemoryRequirements *info,
                                                                       VkMemoryRequirements2 *out)
{
    out->memoryRequirements = requirements(info->pCreateInfo->size);
}

/* ---- command buffers ---- */

static VKAPI_ATTR VkResult VKAPI_CALL vk_CreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                                           const VkAllocationCallbacks *memory, VkCommandPool *out)
{
    make();
    *out = (VkCommandPool)(uintptr_t)calloc(1, sizeof(record_pool));
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL vk_DestroyCommandPool(VkDevice device, VkCommandPool object,
                                                        const VkAllocationCallbacks *memory)
{
    record_pool *p = (record_pool *)(uintptr_t)object;
    for (recorded *b = p->buffers, *next; b; b = next) {
        next = b->next;
        free(b->events);
        free(b);
    }
    free(p);
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_ResetCommandPool(VkDevice device, VkCommandPool pool,
                                                          VkCommandPoolResetFlags flags)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_AllocateCommandBuffers(VkDevice device,
                                                                const VkCommandBufferAllocateInfo *info,
                                                                VkCommandBuffer *out)
{
    record_pool *p = (record_pool *)(uintptr_t)info->commandPool;
    for (uint32_t i = 0; i < info->commandBufferCount; i++) {
        make();
        recorded *b = calloc(1, sizeof(*b));
        if (!b)
            return VK_ERROR_OUT_OF_HOST_MEMORY;
        b->next = p->buffers;
        p->buffers = b;
        out[i] = (VkCommandBuffer)(void *)b;
    }
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_BeginCommandBuffer(VkCommandBuffer commands,
                                                            const VkCommandBufferBeginInfo *info)
{
    recorded *b = (recorded *)(void *)commands;
    b->count = b->commands = 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_EndCommandBuffer(VkCommandBuffer commands)
{
    return VK_SUCCESS;
}

static void note(VkCommandBuffer commands, const hdb_event *event)
{
    recorded *b = (recorded *)(void *)commands;
    b->events = grow(b->events, &b->capacity, b->count + 1, sizeof(*b->events));
    b->events[b->count++] = *event;
}

void hdb_stub_mark(VkCommandBuffer commands, const hdb_event *mark)
{
    if (hdb_stub_state.capture)
        note(commands, mark);
}

static VKAPI_ATTR void VKAPI_CALL vk_CmdPipelineBarrier2(VkCommandBuffer commands, const VkDependencyInfo *info)
{
    if (!hdb_stub_state.capture)
        return;
    uint32_t number = ((recorded *)(void *)commands)->commands++;
    for (uint32_t i = 0; i < info->memoryBarrierCount; i++) {
        const VkMemoryBarrier2 *m = &info->pMemoryBarriers[i];
        note(commands, &(hdb_event){.kind = HDB_BARRIER,
                                    .command = number,
                                    .src_stages = m->srcStageMask,
                                    .dst_stages = m->dstStageMask,
                                    .src_access = m->srcAccessMask,
                                    .dst_access = m->dstAccessMask});
    }
    for (uint32_t i = 0; i < info->bufferMemoryBarrierCount; i++) {
        const VkBufferMemoryBarrier2 *m = &info->pBufferMemoryBarriers[i];
        note(commands, &(hdb_event){.kind = HDB_BARRIER,
                                    .command = number,
                                    .src_stages = m->srcStageMask,
                                    .dst_stages = m->dstStageMask,
                                    .src_access = m->srcAccessMask,
                                    .dst_access = m->dstAccessMask,
                                    .src_family = m->srcQueueFamilyIndex,
                                    .dst_family = m->dstQueueFamilyIndex,
                                    .mip_count = 1,
                                    .object = (uint64_t)(uintptr_t)m->buffer});
    }
    for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
        const VkImageMemoryBarrier2 *m = &info->pImageMemoryBarriers[i];
        note(commands, &(hdb_event){.kind = HDB_BARRIER,
                                    .command = number,
                                    .src_stages = m->srcStageMask,
                                    .dst_stages = m->dstStageMask,
                                    .src_access = m->srcAccessMask,
                                    .dst_access = m->dstAccessMask,
                                    .old_layout = m->oldLayout,
                                    .new_layout = m->newLayout,
                                    .src_family = m->srcQueueFamilyIndex,
                                    .dst_family = m->dstQueueFamilyIndex,
                                    .mip_base = m->subresourceRange.baseMipLevel,
                                    .mip_count = m->subresourceRange.levelCount,
                                    .layer_count = m->subresourceRange.layerCount,
                                    .object = (uint64_t)(uintptr_t)m->image});
    }
}

static VKAPI_ATTR void VKAPI_CALL vk_CmdExecuteCommands(VkCommandBuffer commands, uint32_t count,
                                                        const VkCommandBuffer *executed)
{
    for (uint32_t c = 0; c < count; c++) {
        const recorded *b = (const recorded *)(const void *)executed[c];
        for (uint32_t i = 0; i < b->count; i++)
            note(commands, &b->events[i]);
    }
}

NOTHING(CmdSetEvent2, VkCommandBuffer commands, VkEvent event, const VkDependencyInfo *info)
NOTHING(CmdWaitEvents2, VkCommandBuffer commands, uint32_t count, const VkEvent *events, const VkDependencyInfo *info)
static VKAPI_ATTR VkResult VKAPI_CALL vk_ResetEvent(VkDevice device, VkEvent event)
{
    return VK_SUCCESS;
}

NOTHING(CmdBeginRendering, VkCommandBuffer commands, const VkRenderingInfo *info)
NOTHING(CmdEndRendering, VkCommandBuffer commands)
NOTHING(CmdSetViewport, VkCommandBuffer commands, uint32_t first, uint32_t count, const VkViewport *viewports)
NOTHING(CmdSetScissor, VkCommandBuffer commands, uint32_t first, uint32_t count, const VkRect2D *scissors)
static VKAPI_ATTR void VKAPI_CALL vk_CmdClearColorImage(VkCommandBuffer commands, VkImage image, VkImageLayout layout,
                                                        const VkClearColorValue *value, uint32_t count,
                                                        const VkImageSubresourceRange *ranges)
{
    atomic_fetch_add(&hdb_stub_state.color_clears, 1);
}
NOTHING(CmdClearDepthStencilImage, VkCommandBuffer commands, VkImage image, VkImageLayout layout,
        const VkClearDepthStencilValue *value, uint32_t count, const VkImageSubresourceRange *ranges)
NOTHING(CmdCopyBuffer, VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count,
        const VkBufferCopy *regions)
NOTHING(CmdCopyImage, VkCommandBuffer commands, VkImage from, VkImageLayout from_layout, VkImage to,
        VkImageLayout to_layout, uint32_t count, const VkImageCopy *regions)
NOTHING(CmdCopyBufferToImage, VkCommandBuffer commands, VkBuffer from, VkImage to, VkImageLayout layout, uint32_t count,
        const VkBufferImageCopy *regions)
NOTHING(CmdCopyImageToBuffer, VkCommandBuffer commands, VkImage from, VkImageLayout layout, VkBuffer to, uint32_t count,
        const VkBufferImageCopy *regions)
NOTHING(CmdBlitImage, VkCommandBuffer commands, VkImage from, VkImageLayout from_layout, VkImage to,
        VkImageLayout to_layout, uint32_t count, const VkImageBlit *regions, VkFilter filter)
NOTHING(CmdResolveImage, VkCommandBuffer commands, VkImage from, VkImageLayout from_layout, VkImage to,
        VkImageLayout to_layout, uint32_t count, const VkImageResolve *regions)
NOTHING(CmdFillBuffer, VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize bytes,
        uint32_t word)
NOTHING(CmdWriteTimestamp2, VkCommandBuffer commands, VkPipelineStageFlags2 stage, VkQueryPool queries, uint32_t query)
NOTHING(ResetQueryPool, VkDevice device, VkQueryPool queries, uint32_t first, uint32_t count)
static VKAPI_ATTR VkResult VKAPI_CALL vk_GetQueryPoolResults(VkDevice device, VkQueryPool queries, uint32_t first,
                                                             uint32_t count, size_t bytes, void *out,
                                                             VkDeviceSize stride, VkQueryResultFlags flags)
{
    memset(out, 0, bytes);
    return VK_NOT_READY;
}

/* ---- queues ---- */

/* The host thread waits for semaphores beside the thread that submits. */
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;

static void submit_event(hdb_event event, uint32_t queue)
{
    hdb_stub *stub = &hdb_stub_state;
    pthread_mutex_lock(&event_lock);
    stub->events = grow(stub->events, &stub->event_capacity, stub->event_count + 1, sizeof(*stub->events));
    event.queue = queue;
    event.frame = stub->frame;
    stub->events[stub->event_count++] = event;
    pthread_mutex_unlock(&event_lock);
}

static void capture(uint32_t queue, const VkSubmitInfo2 *submit)
{
    static uint32_t number;
    for (uint32_t w = 0; w < submit->waitSemaphoreInfoCount; w++) {
        const VkSemaphoreSubmitInfo *info = &submit->pWaitSemaphoreInfos[w];
        submit_event((hdb_event){.kind = HDB_WAIT,
                                 .object = (uint64_t)(uintptr_t)info->semaphore,
                                 .value = info->value,
                                 .dst_stages = info->stageMask},
                     queue);
    }
    for (uint32_t c = 0; c < submit->commandBufferInfoCount; c++) {
        const recorded *b = (const recorded *)(const void *)submit->pCommandBufferInfos[c].commandBuffer;
        for (uint32_t i = 0; i < b->count; i++) {
            hdb_event event = b->events[i];
            event.command += number;
            submit_event(event, queue);
        }
        number += b->commands;
    }
    for (uint32_t s = 0; s < submit->signalSemaphoreInfoCount; s++) {
        const VkSemaphoreSubmitInfo *info = &submit->pSignalSemaphoreInfos[s];
        submit_event((hdb_event){.kind = HDB_SIGNAL,
                                 .object = (uint64_t)(uintptr_t)info->semaphore,
                                 .value = info->value,
                                 .src_stages = info->stageMask},
                     queue);
    }
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_QueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *submits,
                                                      VkFence fence)
{
    atomic_fetch_add_explicit(&hdb_stub_state.submits, count, memory_order_relaxed);
    for (uint32_t s = 0; s < count; s++) {
        atomic_fetch_add_explicit(&hdb_stub_state.waits, submits[s].waitSemaphoreInfoCount, memory_order_relaxed);
        if (hdb_stub_state.capture)
            capture((uint32_t)(uintptr_t)queue - 1, &submits[s]);
    }
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_QueueWaitIdle(VkQueue queue)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_WaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info,
                                                        uint64_t timeout)
{
    for (uint32_t i = 0; i < info->semaphoreCount && hdb_stub_state.capture; i++)
        submit_event((hdb_event){.kind = HDB_HOST_WAIT,
                                 .object = (uint64_t)(uintptr_t)info->pSemaphores[i],
                                 .value = info->pValues[i]},
                     HDB_HOST);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL vk_SignalSemaphore(VkDevice device, const VkSemaphoreSignalInfo *info)
{
    return VK_SUCCESS;
}

/* ---- entry ---- */

static PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name);

static const hdb_stub_entry entries[] = {
    {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)device_proc},
    HDB_STUB_ENTRY(DestroyDevice),
    HDB_STUB_ENTRY(GetDeviceQueue),
    HDB_STUB_ENTRY(QueueSubmit2),
    HDB_STUB_ENTRY(QueueWaitIdle),
    HDB_STUB_ENTRY(CreateSemaphore),
    HDB_STUB_ENTRY(DestroySemaphore),
    HDB_STUB_ENTRY(WaitSemaphores),
    HDB_STUB_ENTRY(SignalSemaphore),
    HDB_STUB_ENTRY(CreateCommandPool),
    HDB_STUB_ENTRY(DestroyCommandPool),
    HDB_STUB_ENTRY(ResetCommandPool),
    HDB_STUB_ENTRY(AllocateCommandBuffers),
    HDB_STUB_ENTRY(BeginCommandBuffer),
    HDB_STUB_ENTRY(EndCommandBuffer),
    HDB_STUB_ENTRY(CmdPipelineBarrier2),
    HDB_STUB_ENTRY(CmdSetEvent2),
    HDB_STUB_ENTRY(CmdWaitEvents2),
    HDB_STUB_ENTRY(CreateEvent),
    HDB_STUB_ENTRY(DestroyEvent),
    HDB_STUB_ENTRY(ResetEvent),
    HDB_STUB_ENTRY(CreateQueryPool),
    HDB_STUB_ENTRY(DestroyQueryPool),
    HDB_STUB_ENTRY(CmdWriteTimestamp2),
    HDB_STUB_ENTRY(ResetQueryPool),
    HDB_STUB_ENTRY(GetQueryPoolResults),
    HDB_STUB_ENTRY(CmdExecuteCommands),
    HDB_STUB_ENTRY(CmdBeginRendering),
    HDB_STUB_ENTRY(CmdEndRendering),
    HDB_STUB_ENTRY(CmdSetViewport),
    HDB_STUB_ENTRY(CmdSetScissor),
    HDB_STUB_ENTRY(CmdClearColorImage),
    HDB_STUB_ENTRY(CmdClearDepthStencilImage),
    HDB_STUB_ENTRY(CmdCopyBuffer),
    HDB_STUB_ENTRY(CmdCopyImage),
    HDB_STUB_ENTRY(CmdCopyBufferToImage),
    HDB_STUB_ENTRY(CmdCopyImageToBuffer),
    HDB_STUB_ENTRY(CmdBlitImage),
    HDB_STUB_ENTRY(CmdResolveImage),
    HDB_STUB_ENTRY(CmdFillBuffer),
    HDB_STUB_ENTRY(CreateImage),
    HDB_STUB_ENTRY(DestroyImage),
    HDB_STUB_ENTRY(CreateBuffer),
    HDB_STUB_ENTRY(DestroyBuffer),
    HDB_STUB_ENTRY(CreateImageView),
    HDB_STUB_ENTRY(DestroyImageView),
    HDB_STUB_ENTRY(AllocateMemory),
    HDB_STUB_ENTRY(FreeMemory),
    HDB_STUB_ENTRY(MapMemory),
    HDB_STUB_ENTRY(BindImageMemory),
    HDB_STUB_ENTRY(BindBufferMemory),
    HDB_STUB_ENTRY(GetImageMemoryRequirements),
    HDB_STUB_ENTRY(GetBufferMemoryRequirements),
    HDB_STUB_ENTRY(GetDeviceImageMemoryRequirements),
    HDB_STUB_ENTRY(GetDeviceBufferMemoryRequirements),
    {0},
};

static PFN_vkVoidFunction VKAPI_CALL instance_proc(VkInstance instance, const char *name)
{
    const hdb_stub_entry *tables[] = {entries, hdb_stub_device_entries};
    for (uint32_t t = 0; t < 2; t++) {
        for (const hdb_stub_entry *entry = tables[t]; entry->name; entry++) {
            if (strcmp(entry->name, name) == 0)
                return entry->function;
        }
    }
    return NULL;
}

static PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name)
{
    return instance_proc(NULL, name);
}

hd_vk_desc hdb_stub_desc(uint32_t queue_count)
{
    static const hd_vk_queue_desc queues[] = {{HD_QUEUE_GFX, 0, (VkQueue)(uintptr_t)1},
                                              {HD_QUEUE_COMPUTE, 1, (VkQueue)(uintptr_t)2},
                                              {HD_QUEUE_TRANSFER, 2, (VkQueue)(uintptr_t)3}};
    return (hd_vk_desc){
        .get_instance_proc = instance_proc,
        .instance = (VkInstance)(uintptr_t)1,
        .physical_device = (VkPhysicalDevice)(uintptr_t)1,
        .device = (VkDevice)(uintptr_t)1,
        .queues = queues,
        .queue_count = queue_count,
    };
}

void hdb_stub_clear(void)
{
    hdb_stub *stub = &hdb_stub_state;
    free(stub->events);
    free(stub->places);
    memset(stub, 0, sizeof(*stub));
}
