#include "kit.h"

/* Each resource has memory of its own: they are few and large. They are shared by all families that heddle uses, so
 * that any queue may load or read them. */

static VkSharingMode sharing(const struct kit *kit)
{
    return kit->family_count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE;
}

static hd_result allocate(struct kit *kit, const VkMemoryRequirements *need, VkDeviceMemory *out)
{
    for (uint32_t type = 0; type < kit->memory.memoryTypeCount; type++) {
        VkMemoryAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = need->size, .memoryTypeIndex = type};
        if (need->memoryTypeBits & 1u << type &&
            kit->memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
            return vkAllocateMemory(kit->info.device, &info, NULL, out) == VK_SUCCESS ? HD_OK : HD_OUT_OF_DEVICE_MEMORY;
    }
    return HD_UNSUPPORTED;
}

/* A frame of its own that brings data to the resource. */
static hd_result load(struct kit *kit, struct kit_resource *resource, const hd_range *range, const void *data,
                      uint64_t bytes)
{
    hd_graph *g;
    hd_result result = hd_graph_create(&(hd_graph_desc){.name = "load", .log = kit->log}, &g);
    if (result != HD_OK)
        return result;
    hd_graph_begin(g);
    hd_import_desc import = resource->import;
    import.initial_layout = VK_IMAGE_LAYOUT_UNDEFINED;
    hd_resource to = hd_graph_import(g, &import);
    if (data)
        hd_vk_upload(kit->vk, g, to, range, data, bytes, NULL);
    else if (resource->image)
        hd_vk_clear(kit->vk, g, to, range, &(VkClearValue){0}, NULL);
    if (import.mips > 1)
        hd_vk_generate_mips(kit->vk, g, to, NULL);
    result = hd_vk_frame(kit->vk, g);
    if (result == HD_OK)
        result = hd_vk_wait(kit->vk);
    hd_graph_destroy(g);
    return result;
}

bool kit_buffer_create(struct kit *kit, const char *name, uint64_t bytes, VkBufferUsageFlags usage, const void *data,
                       struct kit_resource *out)
{
    *out = (struct kit_resource){0};
    if (kit->result != HD_OK)
        return false;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = bytes,
                               .usage = usage | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                               .sharingMode = sharing(kit),
                               .queueFamilyIndexCount = kit->family_count > 1 ? kit->family_count : 0,
                               .pQueueFamilyIndices = kit->families};
    VkMemoryRequirements need;
    if (vkCreateBuffer(kit->info.device, &info, NULL, &out->buffer) != VK_SUCCESS)
        return kit_check(kit, HD_VULKAN);
    vkGetBufferMemoryRequirements(kit->info.device, out->buffer, &need);
    hd_result result = allocate(kit, &need, &out->memory);
    if (result == HD_OK && vkBindBufferMemory(kit->info.device, out->buffer, out->memory, 0) != VK_SUCCESS)
        result = HD_VULKAN;
    out->import = (hd_import_desc){.name = name, .buffer = out->buffer, .bytes = bytes};
    if (result == HD_OK && data)
        result = load(kit, out, NULL, data, bytes);
    return kit_check(kit, result);
}

static uint32_t all_mips(uint32_t width, uint32_t height)
{
    uint32_t mips = 1;
    while (width >> mips || height >> mips)
        mips++;
    return mips;
}

bool kit_texture_create(struct kit *kit, const hd_image_desc *desc, const void *texels, uint64_t bytes,
                        struct kit_resource *out)
{
    *out = (struct kit_resource){0};
    if (kit->result != HD_OK)
        return false;
    uint32_t depth = desc->depth ? desc->depth : 1, layers = desc->layers ? desc->layers : 1;
    uint32_t mips = desc->mips ? desc->mips : all_mips(desc->width, desc->height);
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .flags = desc->flags,
                              .imageType = depth > 1 ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D,
                              .format = (VkFormat)desc->format,
                              .extent = {desc->width, desc->height, depth},
                              .mipLevels = mips,
                              .arrayLayers = layers,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = desc->usage | VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                       VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                              .sharingMode = sharing(kit),
                              .queueFamilyIndexCount = kit->family_count > 1 ? kit->family_count : 0,
                              .pQueueFamilyIndices = kit->families};
    VkMemoryRequirements need;
    if (vkCreateImage(kit->info.device, &info, NULL, &out->image) != VK_SUCCESS)
        return kit_check(kit, HD_VULKAN);
    vkGetImageMemoryRequirements(kit->info.device, out->image, &need);
    hd_result result = allocate(kit, &need, &out->memory);
    if (result == HD_OK && vkBindImageMemory(kit->info.device, out->image, out->memory, 0) != VK_SUCCESS)
        result = HD_VULKAN;
    out->import = (hd_import_desc){.name = desc->name,
                                   .image = out->image,
                                   .width = desc->width,
                                   .height = desc->height,
                                   .depth = depth,
                                   .format = desc->format,
                                   .mips = mips,
                                   .layers = layers,
                                   .samples = 1,
                                   .flags = desc->flags,
                                   .initial_layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                                   .final_layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                                   .sharing = kit->family_count > 1 ? HD_SHARING_CONCURRENT : HD_SHARING_EXCLUSIVE,
                                   .serial = ++kit->serial};
    if (result == HD_OK)
        result = load(kit, out, &(hd_range){.mip_count = 1}, texels, bytes);
    return kit_check(kit, result);
}

void kit_resource_destroy(struct kit_resource *resource)
{
    VkDevice device = volkGetLoadedDevice();
    if (device) {
        vkDestroyBuffer(device, resource->buffer, NULL);
        vkDestroyImage(device, resource->image, NULL);
        vkFreeMemory(device, resource->memory, NULL);
    }
    *resource = (struct kit_resource){0};
}
