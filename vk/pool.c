#include "state.h"

#include <string.h>

#include "alloc.h"

/* Command pools of a frame slot, reset whole when the slot comes round again. A batch takes a free pool of its family
 * and gives it back when it is recorded: so there are as many pools as batches were ever recorded at once, each used by
 * one thread at a time, even when a record callback waits for jobs and its thread picks up another batch meanwhile. */

static hd_result make_pool(hd_vk *vk, hdi_vk_slot *slot, uint32_t family_index, hdi_vk_pool **out)
{
    hdi_vk_pool *pool = hdi_alloc(&vk->allocator, sizeof(*pool), 64);
    if (!pool)
        return HD_OUT_OF_MEMORY;
    *pool = (hdi_vk_pool){.family_index = family_index};
    VkCommandPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
        .queueFamilyIndex = vk->families[family_index],
    };
    hd_result result =
        hdi_vk_result(vk, vk->fn.vkCreateCommandPool(vk->device, &info, NULL, &pool->pool), "vkCreateCommandPool");
    if (result != HD_OK) {
        hdi_free(&vk->allocator, pool, sizeof(*pool));
        return result;
    }
    pool->next = slot->pools;
    slot->pools = pool;
    *out = pool;
    return HD_OK;
}

hdi_vk_pool *hdi_vk_pool_take(hd_vk *vk, hdi_vk_slot *slot, uint32_t family_index, hd_result *result)
{
    *result = HD_OK;
    pthread_mutex_lock(&vk->pool_lock);
    hdi_vk_pool *pool = slot->free_pools[family_index];
    if (pool)
        slot->free_pools[family_index] = pool->free;
    else
        *result = make_pool(vk, slot, family_index, &pool);
    pthread_mutex_unlock(&vk->pool_lock);
    return pool;
}

void hdi_vk_pool_give(hd_vk *vk, hdi_vk_slot *slot, hdi_vk_pool *pool)
{
    pthread_mutex_lock(&vk->pool_lock);
    pool->free = slot->free_pools[pool->family_index];
    slot->free_pools[pool->family_index] = pool;
    pthread_mutex_unlock(&vk->pool_lock);
}

hd_result hdi_vk_pool_begin(hd_vk *vk, hdi_vk_pool *pool, VkCommandBuffer *out)
{
    if (pool->buffer_used == pool->buffer_count) {
        hd_result result = hdi_grow(&vk->allocator, (void **)&pool->buffers, &pool->buffer_capacity,
                                    pool->buffer_count + 1, sizeof(*pool->buffers));
        if (result != HD_OK)
            return result;
        VkCommandBufferAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = pool->pool,
            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            .commandBufferCount = 1,
        };
        result =
            hdi_vk_result(vk, vk->fn.vkAllocateCommandBuffers(vk->device, &info, &pool->buffers[pool->buffer_count]),
                          "vkAllocateCommandBuffers");
        if (result != HD_OK)
            return result;
        pool->buffer_count++;
    }
    *out = pool->buffers[pool->buffer_used++];
    VkCommandBufferBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
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
        slot->event_count += result == HD_OK;
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
        pool->buffer_used = 0;
        pool->free = slot->free_pools[pool->family_index];
        slot->free_pools[pool->family_index] = pool;
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
