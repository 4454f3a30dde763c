#include "engine.h"

/* Step 8: what the engine makes itself. An import tells heddle where such an image or buffer is, in which layout it
 * stands, and by a serial that it is the same one in each frame, so that its views are kept. */

static uint64_t last_serial; /* of the main thread */

bool image_create(struct engine *engine, const hd_image_desc *desc, struct image *out)
{
    const struct device *device = &engine->device;
    bool concurrent = desc->sharing == HD_SHARING_CONCURRENT && device->queue_count > 1;
    uint32_t families[MAX_QUEUES];
    for (uint32_t i = 0; i < device->queue_count; i++)
        families[i] = device->queues[i].family;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = (VkFormat)desc->format,
                              .extent = {desc->width, desc->height, 1},
                              .mipLevels = desc->mips ? desc->mips : 1,
                              .arrayLayers = desc->layers ? desc->layers : 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = desc->usage,
                              .sharingMode = concurrent ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
                              .queueFamilyIndexCount = concurrent ? device->queue_count : 0,
                              .pQueueFamilyIndices = families};
    *out = (struct image){.import = {.name = desc->name,
                                     .width = desc->width,
                                     .height = desc->height,
                                     .mips = info.mipLevels,
                                     .layers = info.arrayLayers,
                                     .format = desc->format,
                                     .sharing = desc->sharing,
                                     .serial = ++last_serial}};
    if (vkCreateImage(device->device, &info, NULL, &out->image) != VK_SUCCESS)
        return engine_check(engine, HD_VULKAN);
    out->import.image = out->image;
    VkMemoryRequirements need;
    vkGetImageMemoryRequirements(device->device, out->image, &need);
    if (memory_allocate(&engine->memory, &need, &out->memory) != VK_SUCCESS)
        return engine_check(engine, HD_OUT_OF_DEVICE_MEMORY);
    if (vkBindImageMemory(device->device, out->image, out->memory.memory, out->memory.offset) != VK_SUCCESS)
        return engine_check(engine, HD_VULKAN);
    return true;
}

/* Buffers are shared by all families: that is what heddle takes an imported buffer for. */
bool buffer_create(struct engine *engine, const char *name, uint64_t bytes, VkBufferUsageFlags usage,
                   struct buffer *out)
{
    const struct device *device = &engine->device;
    bool several = device->queue_count > 1;
    uint32_t families[MAX_QUEUES];
    for (uint32_t i = 0; i < device->queue_count; i++)
        families[i] = device->queues[i].family;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = bytes,
                               .usage = usage,
                               .sharingMode = several ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
                               .queueFamilyIndexCount = several ? device->queue_count : 0,
                               .pQueueFamilyIndices = families};
    *out = (struct buffer){.import = {.name = name, .bytes = bytes}};
    if (vkCreateBuffer(device->device, &info, NULL, &out->buffer) != VK_SUCCESS)
        return engine_check(engine, HD_VULKAN);
    out->import.buffer = out->buffer;
    VkMemoryRequirements need;
    vkGetBufferMemoryRequirements(device->device, out->buffer, &need);
    if (memory_allocate(&engine->memory, &need, &out->memory) != VK_SUCCESS)
        return engine_check(engine, HD_OUT_OF_DEVICE_MEMORY);
    if (vkBindBufferMemory(device->device, out->buffer, out->memory.memory, out->memory.offset) != VK_SUCCESS)
        return engine_check(engine, HD_VULKAN);
    return true;
}

void image_destroy(struct engine *engine, struct image *image)
{
    if (image->image)
        vkDestroyImage(engine->device.device, image->image, NULL);
    if (image->memory.memory)
        memory_free(&engine->memory, &image->memory);
    *image = (struct image){0};
}

void buffer_destroy(struct engine *engine, struct buffer *buffer)
{
    if (buffer->buffer)
        vkDestroyBuffer(engine->device.device, buffer->buffer, NULL);
    if (buffer->memory.memory)
        memory_free(&engine->memory, &buffer->memory);
    *buffer = (struct buffer){0};
}
