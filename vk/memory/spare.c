#include "vk_memory.h"

#include "alloc.h"

/* What a record callback gets where it asks for what its pass may not have: a small buffer, an image of one texel, a
 * view of it. The frame fails and nothing of it is submitted, but the callback goes on and hands to the driver what it
 * got. Made at the first mistake; from the driver, since a worker must not call the engine's memory callbacks. */

enum { SPARE_BYTES = 1 << 16 };

static bool allocate(hd_vk *vk, const VkMemoryRequirements *needs, VkDeviceMemory *out)
{
    uint32_t type = 0;
    while (!(needs->memoryTypeBits >> type & 1))
        type++;
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs->size, .memoryTypeIndex = type};
    if (vk->fn.vkAllocateMemory(vk->device, &info, NULL, out) == VK_SUCCESS)
        return true;
    *out = VK_NULL_HANDLE;
    return false;
}

static void make_buffer(hd_vk *vk, hdi_vk_spare *spare)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = SPARE_BYTES,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                 VK_BUFFER_USAGE_INDEX_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
                 VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT,
    };
    VkMemoryRequirements needs;
    if (vk->fn.vkCreateBuffer(vk->device, &info, NULL, &spare->buffer) != VK_SUCCESS) {
        spare->buffer = VK_NULL_HANDLE;
        return;
    }
    vk->fn.vkGetBufferMemoryRequirements(vk->device, spare->buffer, &needs);
    if (allocate(vk, &needs, &spare->memory[0]))
        vk->fn.vkBindBufferMemory(vk->device, spare->buffer, spare->memory[0], 0);
}

static void make_image(hd_vk *vk, hdi_vk_spare *spare)
{
    const hdi_vk_key key = {
        .width = 1,
        .height = 1,
        .depth = 1,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .mips = 1,
        .layers = 1,
        .samples = 1,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                 VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
    };
    hdi_vk_image_room room;
    const VkImageCreateInfo *info = hdi_vk_image_info(vk, &key, &room);
    VkMemoryRequirements needs;
    if (vk->fn.vkCreateImage(vk->device, info, NULL, &spare->image) != VK_SUCCESS) {
        spare->image = VK_NULL_HANDLE;
        return;
    }
    vk->fn.vkGetImageMemoryRequirements(vk->device, spare->image, &needs);
    if (!allocate(vk, &needs, &spare->memory[1]) ||
        vk->fn.vkBindImageMemory(vk->device, spare->image, spare->memory[1], 0) != VK_SUCCESS)
        return;
    VkImageViewCreateInfo view = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = spare->image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = info->format,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
    };
    if (vk->fn.vkCreateImageView(vk->device, &view, NULL, &spare->view) != VK_SUCCESS)
        spare->view = VK_NULL_HANDLE;
}

const hdi_vk_spare *hdi_vk_spare_get(hd_vk *vk)
{
    hdi_vk_spare *spare = &vk->spare;
    pthread_mutex_lock(&vk->view_lock);
    if (!spare->made) {
        make_buffer(vk, spare);
        make_image(vk, spare);
        spare->made = true;
    }
    pthread_mutex_unlock(&vk->view_lock);
    return spare;
}

void hdi_vk_spare_free(hd_vk *vk)
{
    const hdi_vk_spare *spare = &vk->spare;
    if (spare->view)
        vk->fn.vkDestroyImageView(vk->device, spare->view, NULL);
    if (spare->image)
        vk->fn.vkDestroyImage(vk->device, spare->image, NULL);
    if (spare->buffer)
        vk->fn.vkDestroyBuffer(vk->device, spare->buffer, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        if (spare->memory[i])
            vk->fn.vkFreeMemory(vk->device, spare->memory[i], NULL);
    }
}
