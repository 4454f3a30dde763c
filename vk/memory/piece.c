#include "vk_device.h"
#include "vk_memory.h"
#include "vk_timing.h"

#include "alloc.h"

/* Pieces of device memory: from the engine's callbacks, or a VkDeviceMemory each. Pieces are few (a heap of a plan, a
 * chunk of staging memory), so nothing is split up here; an engine that wants fewer VkDeviceMemory objects does that in
 * its callbacks. What they answer is checked, because a wrong offset would show as wrong pictures only. */

static VkResult from_driver(hd_vk *vk, const hd_vk_memory_request *request, hd_vk_memory *out)
{
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = request->bytes,
        .memoryTypeIndex = request->type,
    };
    *out = (hd_vk_memory){0};
    VkResult result = vk->fn.vkAllocateMemory(vk->device, &info, NULL, &out->memory);
    if (result == VK_SUCCESS && request->mapped) {
        result = vk->fn.vkMapMemory(vk->device, out->memory, 0, VK_WHOLE_SIZE, 0, &out->mapped);
        if (result != VK_SUCCESS)
            vk->fn.vkFreeMemory(vk->device, out->memory, NULL);
    }
    if (result != VK_SUCCESS)
        *out = (hd_vk_memory){0};
    else
        hdi_vk_name(vk, VK_OBJECT_TYPE_DEVICE_MEMORY, (uint64_t)(uintptr_t)out->memory,
                    request->mapped ? "mapped heap" : "heap");
    return result;
}

VkResult hdi_vk_piece_allocate(hd_vk *vk, const hd_vk_memory_request *request, hd_vk_memory *out)
{
    const hd_vk_memory_callbacks *engine = &vk->memory_callbacks;
    if (!engine->allocate)
        return from_driver(vk, request, out);
    hd_vk_memory_request mine = *request;
    uint64_t granularity = vk->limits.bufferImageGranularity; /* what lies next to it may be of the other kind */
    if (mine.alignment < granularity)
        mine.alignment = granularity;
    if (granularity)
        mine.bytes = (mine.bytes + granularity - 1) & ~(granularity - 1);
    *out = (hd_vk_memory){0};
    VkResult result = engine->allocate(&mine, out, engine->user);
    if (result == VK_SUCCESS && (!out->memory || out->offset % mine.alignment || (mine.mapped && !out->mapped))) {
        hdi_vk_fail(vk, HD_VULKAN, HD_NONE, HD_NONE, "the engine's memory callback gave %s",
                    !out->memory                   ? "no memory"
                    : out->offset % mine.alignment ? "an offset that is not aligned as was asked"
                                                   : "no mapped pointer where one was asked for");
        if (out->memory)
            engine->free(out, engine->user);
        result = VK_ERROR_UNKNOWN;
    }
    if (result != VK_SUCCESS)
        *out = (hd_vk_memory){0};
    return result;
}

hd_result hdi_vk_piece_result(hd_vk *vk, VkResult result)
{
    return hdi_vk_result(
        vk, result, vk->memory_callbacks.allocate ? "the engine's memory callback" : "vkAllocateMemory or vkMapMemory");
}

void hdi_vk_piece_free(hd_vk *vk, const hd_vk_memory *piece)
{
    if (vk->memory_callbacks.allocate)
        vk->memory_callbacks.free(piece, vk->memory_callbacks.user);
    else
        vk->fn.vkFreeMemory(vk->device, piece->memory, NULL); /* unmaps */
}
