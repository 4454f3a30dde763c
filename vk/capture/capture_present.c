#include "capture_state.h"

#include <string.h>

#include "hash.h"
#include "tables.h"

/* Images that are presented: the capture copies each to a buffer of its own on the queue that presents, between the
 * semaphores that the present waits for and the present, and hashes its texels. All that it uses for it is made by the
 * real functions, so that the stream has nothing of it. The capture's lock is not held while it waits: what the GPU
 * waits for may be a thread that needs it. */

#define TIME_LIMIT UINT64_C(10000000000) /* nanoseconds */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of readback; before the capture's */
static struct {
    VkDevice device; /* null: nothing is made */
    uint32_t family;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t bytes;
    const void *mapped;
} readback;

#define REAL(name) HDI_CAP_REAL(readback.device, name)
/* Whether a call made it; else it is null again. */
#define MADE(call, member) ((call) == VK_SUCCESS || (readback.member = VK_NULL_HANDLE, false))

static void free_buffer(void)
{
    if (readback.buffer)
        REAL(vkDestroyBuffer)(readback.device, readback.buffer, NULL);
    if (readback.memory)
        REAL(vkFreeMemory)(readback.device, readback.memory, NULL);
    readback.buffer = VK_NULL_HANDLE;
    readback.memory = VK_NULL_HANDLE;
    readback.bytes = 0;
}

static void free_all(void)
{
    if (!readback.device)
        return;
    free_buffer();
    if (readback.fence)
        REAL(vkDestroyFence)(readback.device, readback.fence, NULL);
    if (readback.pool)
        REAL(vkDestroyCommandPool)(readback.device, readback.pool, NULL);
    memset(&readback, 0, sizeof(readback));
}

void hdi_cap_free_readback(void)
{
    pthread_mutex_lock(&lock);
    free_all();
    pthread_mutex_unlock(&lock);
}

static bool make_commands(VkDevice device, uint32_t family)
{
    if (readback.device == device && readback.family == family)
        return true;
    free_all();
    readback.device = device;
    readback.family = family;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = family};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (!MADE(REAL(vkCreateCommandPool)(device, &pool, NULL, &readback.pool), pool) ||
        !MADE(REAL(vkCreateFence)(device, &fence, NULL, &readback.fence), fence))
        return false;
    VkCommandBufferAllocateInfo one = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = readback.pool, .commandBufferCount = 1};
    if (REAL(vkAllocateCommandBuffers)(device, &one, &readback.commands) != VK_SUCCESS)
        return false;
    /* What the loader does for the functions that it hands out, but not for those of a layer. */
    memcpy(readback.commands, device, sizeof(void *));
    return true;
}

static bool make_buffer(uint64_t bytes)
{
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkPhysicalDeviceMemoryProperties *types = &hdi_cap.memory_types;
    VkMemoryRequirements needs;
    if (readback.bytes >= bytes)
        return true;
    free_buffer();
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    if (!MADE(REAL(vkCreateBuffer)(readback.device, &info, NULL, &readback.buffer), buffer))
        return false;
    REAL(vkGetBufferMemoryRequirements)(readback.device, readback.buffer, &needs);
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
    VkMemoryPropertyFlags best = wanted | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    uint32_t type = HD_NONE;
    for (int round = 0; round < 2 && type == HD_NONE; round++, best = wanted) {
        for (uint32_t i = 0; i < types->memoryTypeCount && type == HD_NONE; i++) {
            if (needs.memoryTypeBits >> i & 1 && (types->memoryTypes[i].propertyFlags & best) == best)
                type = i;
        }
    }
    memory.memoryTypeIndex = type;
    void *mapped = NULL;
    if (type == HD_NONE || !MADE(REAL(vkAllocateMemory)(readback.device, &memory, NULL, &readback.memory), memory) ||
        REAL(vkBindBufferMemory)(readback.device, readback.buffer, readback.memory, 0) != VK_SUCCESS ||
        REAL(vkMapMemory)(readback.device, readback.memory, 0, VK_WHOLE_SIZE, 0, &mapped) != VK_SUCCESS)
        return false;
    readback.mapped = mapped;
    readback.bytes = bytes;
    return true;
}

static bool record(VkImage image, const VkSwapchainCreateInfoKHR *info)
{
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT,
                                    .oldLayout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR,
                                    .newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .image = image,
                                    .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, info->imageArrayLayers}};
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, info->imageArrayLayers},
                                      .imageExtent = {info->imageExtent.width, info->imageExtent.height, 1}};
    const VkMemoryBarrier host = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, VK_ACCESS_TRANSFER_WRITE_BIT,
                                  VK_ACCESS_HOST_READ_BIT};
    const VkPipelineStageFlags copy = VK_PIPELINE_STAGE_TRANSFER_BIT, all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    if (REAL(vkBeginCommandBuffer)(readback.commands, &begin) != VK_SUCCESS)
        return false;
    REAL(vkCmdPipelineBarrier)(readback.commands, all, copy, 0, 0, NULL, 0, NULL, 1, &barrier);
    REAL(vkCmdCopyImageToBuffer)
    (readback.commands, image, barrier.newLayout, readback.buffer, 1, &region);
    barrier.srcAccessMask = barrier.dstAccessMask = 0;
    barrier.oldLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    barrier.newLayout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR;
    REAL(vkCmdPipelineBarrier)
    (readback.commands, copy, all | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &host, 0, NULL, 1, &barrier);
    return REAL(vkEndCommandBuffer)(readback.commands) == VK_SUCCESS;
}

/* The image is the present's again when the semaphores are signalled. */
static bool read_image(VkQueue queue, const VkPresentInfoKHR *present, VkImage image,
                       const VkSwapchainCreateInfoKHR *info, uint64_t bytes)
{
    VkPipelineStageFlags stages[16];
    for (uint32_t i = 0; i < 16; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .waitSemaphoreCount = present->waitSemaphoreCount,
                           .pWaitSemaphores = present->pWaitSemaphores,
                           .pWaitDstStageMask = stages,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &readback.commands,
                           .signalSemaphoreCount = present->waitSemaphoreCount,
                           .pSignalSemaphores = present->pWaitSemaphores};
    if (present->waitSemaphoreCount > 16 || !make_buffer(bytes) || !record(image, info) ||
        REAL(vkQueueSubmit)(queue, 1, &submit, readback.fence) != VK_SUCCESS)
        return false;
    if (REAL(vkWaitForFences)(readback.device, 1, &readback.fence, VK_TRUE, TIME_LIMIT) != VK_SUCCESS) {
        memset(&readback, 0, sizeof(readback)); /* the queue has it, and may have it for ever */
        return false;
    }
    return REAL(vkResetFences)(readback.device, 1, &readback.fence) == VK_SUCCESS;
}

void hdi_cap_read_presented(VkQueue queue, const VkPresentInfoKHR *info, hdi_cap_presented out[HDI_CAP_PRESENTED])
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < HDI_CAP_PRESENTED; i++)
        out[i] = (hdi_cap_presented){VK_NULL_HANDLE, 0};
    for (uint32_t i = 0; i < info->swapchainCount && i < HDI_CAP_PRESENTED; i++) {
        VkImage images[32];
        VkSwapchainCreateInfoKHR made = {.imageUsage = 0};
        uint32_t count = 32, family = 0;
        hdi_cap_lock();
        VkDevice device = hdi_cap.stream && hdi_cap.replay ? hdi_cap.device : NULL;
        const hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_SWAPCHAIN, HDI_CAP_HANDLE(info->pSwapchains[i]));
        if (object && object->made)
            made = *(const VkSwapchainCreateInfoKHR *)object->made;
        object = hdi_cap_find_locked(HDI_CAP_QUEUE, HDI_CAP_HANDLE(queue));
        family = object ? object->family : 0;
        hdi_cap_unlock();
        hdi_texel_block block = hdi_format_block((uint32_t)made.imageFormat);
        uint64_t bytes =
            (uint64_t)made.imageExtent.width * made.imageExtent.height * made.imageArrayLayers * block.bytes;
        if (!device || !(made.imageUsage & VK_IMAGE_USAGE_TRANSFER_SRC_BIT) || !bytes)
            continue;
        if (!make_commands(device, family) ||
            REAL(vkGetSwapchainImagesKHR)(device, info->pSwapchains[i], &count, images) != VK_SUCCESS ||
            info->pImageIndices[i] >= count || !read_image(queue, info, images[info->pImageIndices[i]], &made, bytes)) {
            free_all();
            continue;
        }
        out[i] = (hdi_cap_presented){images[info->pImageIndices[i]], hdi_hash_bytes(readback.mapped, (size_t)bytes, 0)};
    }
    pthread_mutex_unlock(&lock);
}

void hdi_cap_presented_locked(const hdi_cap_presented *images, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < HDI_CAP_PRESENTED; i++) {
        const hdi_cap_object *image = hdi_cap_find_locked(HDI_CAP_IMAGE, HDI_CAP_HANDLE(images[i].image));
        if (!image)
            continue;
        uint32_t resource = hdi_cap_stream_resource_locked(hdi_cap_index_locked(image));
        hdi_call_write_bytes(hdi_cap_writer_locked(), &images[i].hash, sizeof(images[i].hash));
        uint32_t data = hdi_cap_stream_data_locked();
        hd_stream_command *command = hdi_cap_host_command_locked("vkQueuePresentKHR");
        hd_stream_access *a = command && resource != HD_NONE ? hdi_stream_access(hdi_cap.stream) : NULL;
        if (!a) {
            hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
            return;
        }
        command->data = data;
        command->count = 1;
        *a = (hd_stream_access){.stages = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                .access = VK_ACCESS_2_MEMORY_READ_BIT,
                                .resource = resource,
                                .layout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR,
                                .flags = HD_STREAM_OBSERVED,
                                .range = {.mip_count = 1, .layer_count = image->res.layers}};
    }
}
