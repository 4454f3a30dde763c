#include "vk_device.h"
#include "vk_frame.h"
#include "vk_memory.h"
#include "vk_timing.h"

#include <string.h>

#include "alloc.h"

/* Command pools of a frame slot, reset whole when the slot comes round again. A batch or strand takes a free pool of
 * its kind (family and level) and gives it back when it is recorded: so each is used by one thread at a time, even when
 * a record callback waits for jobs and its thread picks up another batch meanwhile.
 *
 * Which worker records what differs from frame to frame, and steady frames must make nothing: so a pool hands out a
 * fixed number k of command buffers, and there are as many pools as could ever be needed. Of those that do not serve
 * one of w workers' n buffers, all but at_once - 1 are used up, and these are fewer than n / k. */

static hd_result make_pool(hd_vk *vk, hdi_vk_slot *slot, uint32_t kind, hdi_vk_pool **out)
{
    hdi_vk_pool *pool = hdi_alloc(&vk->allocator, sizeof(*pool), 64);
    if (!pool)
        return HD_OUT_OF_MEMORY;
    *pool = (hdi_vk_pool){.kind = kind};
    VkCommandPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
        .queueFamilyIndex = vk->families[kind / 2],
    };
    hd_result result =
        hdi_vk_result(vk, vk->fn.vkCreateCommandPool(vk->device, &info, NULL, &pool->pool), "vkCreateCommandPool");
    if (result != HD_OK) {
        hdi_free(&vk->allocator, pool, sizeof(*pool));
        return result;
    }
    hdi_vk_name(vk, VK_OBJECT_TYPE_COMMAND_POOL, (uint64_t)(uintptr_t)pool->pool, "command pool");
    pool->next = slot->pools;
    slot->pools = pool;
    *out = pool;
    return HD_OK;
}

static hd_result grow_pool(hd_vk *vk, hdi_vk_pool *pool, uint32_t count)
{
    if (count <= pool->buffer_count)
        return HD_OK;
    hd_result result =
        hdi_grow(&vk->allocator, (void **)&pool->buffers, &pool->buffer_capacity, count, sizeof(*pool->buffers));
    if (result != HD_OK)
        return result;
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool->pool,
        .level = pool->kind % 2 ? VK_COMMAND_BUFFER_LEVEL_SECONDARY : VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = count - pool->buffer_count,
    };
    result = hdi_vk_result(vk, vk->fn.vkAllocateCommandBuffers(vk->device, &info, &pool->buffers[pool->buffer_count]),
                           "vkAllocateCommandBuffers");
    for (; result == HD_OK && pool->buffer_count < count; pool->buffer_count++)
        hdi_vk_name(vk, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)pool->buffers[pool->buffer_count],
                    pool->kind % 2 ? "secondary commands" : "commands");
    return result;
}

hd_result hdi_vk_pools_need(hd_vk *vk, hdi_vk_slot *slot, uint32_t kind, uint32_t buffers, uint32_t at_once)
{
    at_once = at_once < buffers ? at_once : buffers;
    uint32_t each = at_once <= 1 ? buffers : buffers / at_once + 1, need = at_once - 1 + (buffers + each - 1) / each;
    uint32_t have = 0;
    for (const hdi_vk_pool *pool = slot->pools; pool; pool = pool->next)
        have += pool->kind == kind;
    hd_result result = HD_OK;
    for (hdi_vk_pool *made; have < need && result == HD_OK; have++)
        result = make_pool(vk, slot, kind, &made);
    slot->free_pools[kind] = NULL;
    for (hdi_vk_pool *pool = slot->pools; pool && result == HD_OK; pool = pool->next) {
        if (pool->kind != kind)
            continue;
        result = grow_pool(vk, pool, pool->buffer_used + each);
        pool->free = slot->free_pools[kind];
        slot->free_pools[kind] = pool;
    }
    return result;
}

hdi_vk_pool *hdi_vk_pool_take(hd_vk *vk, hdi_vk_slot *slot, uint32_t kind, hd_result *result)
{
    *result = HD_OK;
    pthread_mutex_lock(&vk->pool_lock);
    hdi_vk_pool *pool = slot->free_pools[kind];
    if (pool)
        slot->free_pools[kind] = pool->free;
    else
        *result = make_pool(vk, slot, kind, &pool);
    pthread_mutex_unlock(&vk->pool_lock);
    return pool;
}

void hdi_vk_pool_give(hd_vk *vk, hdi_vk_slot *slot, hdi_vk_pool *pool)
{
    if (pool->buffer_used >= pool->buffer_count)
        return; /* used up */
    pthread_mutex_lock(&vk->pool_lock);
    pool->free = slot->free_pools[pool->kind];
    slot->free_pools[pool->kind] = pool;
    pthread_mutex_unlock(&vk->pool_lock);
}

hd_result hdi_vk_pool_begin(hd_vk *vk, hdi_vk_pool *pool, const VkCommandBufferInheritanceInfo *inheritance,
                            VkCommandBuffer *out)
{
    hd_result result = grow_pool(vk, pool, pool->buffer_used + 1);
    if (result != HD_OK)
        return result;
    *out = pool->buffers[pool->buffer_used++];
    VkCommandBufferBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT |
                 (inheritance && inheritance->pNext ? VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT : 0u),
        .pInheritanceInfo = inheritance,
    };
    return hdi_vk_result(vk, vk->fn.vkBeginCommandBuffer(*out, &begin), "vkBeginCommandBuffer");
}

hd_result hdi_vk_events(hd_vk *vk, hdi_vk_slot *slot, uint32_t count)
{
    hd_result result =
        hdi_grow(&vk->allocator, (void **)&slot->events, &slot->event_capacity, count, sizeof(*slot->events));
    while (result == HD_OK && slot->event_count < count) {
        VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
        result = hdi_vk_result(vk, vk->fn.vkCreateEvent(vk->device, &info, NULL, &slot->events[slot->event_count]),
                               "vkCreateEvent");
        if (result == HD_OK)
            hdi_vk_name(vk, VK_OBJECT_TYPE_EVENT, (uint64_t)(uintptr_t)slot->events[slot->event_count++], "event");
    }
    return result;
}

hd_result hdi_vk_slot_reset(hd_vk *vk, hdi_vk_slot *slot)
{
    for (uint32_t i = 0; i < slot->import_count; i++)
        hdi_vk_free_views(vk, &slot->imports[i]);
    slot->import_count = 0;
    hdi_vk_timing_collect(vk, slot);
    hd_result result = HD_OK;
    memset(slot->free_pools, 0, sizeof(slot->free_pools));
    for (hdi_vk_pool *pool = slot->pools; pool; pool = pool->next) {
        if (pool->buffer_used && result == HD_OK)
            result = hdi_vk_result(vk, vk->fn.vkResetCommandPool(vk->device, pool->pool, 0), "vkResetCommandPool");
        if (result == HD_OK) /* else it is reset when the frame is tried again */
            pool->buffer_used = 0;
        pool->free = slot->free_pools[pool->kind];
        slot->free_pools[pool->kind] = pool;
    }
    for (uint32_t i = 0; i < slot->event_count && result == HD_OK; i++)
        result = hdi_vk_result(vk, vk->fn.vkResetEvent(vk->device, slot->events[i]), "vkResetEvent");
    slot->host_submit_count = 0;
    slot->by_host = false;
    atomic_store_explicit(&slot->failure, HD_OK, memory_order_relaxed);
    hdi_arena_reset(&slot->arena);
    return result;
}

void hdi_vk_slot_free(hd_vk *vk, hdi_vk_slot *slot)
{
    for (uint32_t i = 0; i < slot->import_count; i++)
        hdi_vk_free_views(vk, &slot->imports[i]);
    for (hdi_vk_pool *pool = slot->pools, *next; pool; pool = next) {
        next = pool->next;
        vk->fn.vkDestroyCommandPool(vk->device, pool->pool, NULL);
        hdi_free(&vk->allocator, pool->buffers, pool->buffer_capacity * sizeof(*pool->buffers));
        hdi_free(&vk->allocator, pool, sizeof(*pool));
    }
    for (uint32_t i = 0; i < slot->event_count; i++)
        vk->fn.vkDestroyEvent(vk->device, slot->events[i], NULL);
    if (slot->queries)
        vk->fn.vkDestroyQueryPool(vk->device, slot->queries, NULL);
    hdi_free(&vk->allocator, slot->events, slot->event_capacity * sizeof(*slot->events));
    hdi_arena_free(&slot->arena);
}
