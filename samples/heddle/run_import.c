#include "run_state.h"

#include <stdlib.h>

/* Externals: images and buffers of the command's own, with memory each, shared by all queue families that are used. */

static hd_result allocate(run *r, const VkMemoryRequirements *need, VkDeviceMemory *out)
{
    for (uint32_t pass = 0; pass < 2; pass++) { /* device memory, or any */
        for (uint32_t type = 0; type < r->memory.memoryTypeCount; type++) {
            if (!(need->memoryTypeBits >> type & 1) ||
                (pass == 0 && !(r->memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)))
                continue;
            VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, need->size, type};
            if (r->AllocateMemory(r->info.device, &info, NULL, out) == VK_SUCCESS)
                return HD_OK;
        }
    }
    return HD_OUT_OF_DEVICE_MEMORY;
}

static hd_result make_image(run *r, const run_res *res, run_import *out)
{
    bool shared = r->family_count > 1;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = (VkFormat)res->format,
                              .extent = {res->width, res->height, 1},
                              .mipLevels = res->mips,
                              .arrayLayers = res->layers,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = res->usage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                              .sharingMode = shared ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
                              .queueFamilyIndexCount = shared ? r->family_count : 0,
                              .pQueueFamilyIndices = r->families};
    VkMemoryRequirements need;
    if (r->CreateImage(r->info.device, &info, NULL, &out->image) != VK_SUCCESS)
        return HD_VULKAN;
    r->GetImageMemoryRequirements(r->info.device, out->image, &need);
    hd_result result = allocate(r, &need, &out->memory);
    if (result == HD_OK && r->BindImageMemory(r->info.device, out->image, out->memory, 0) != VK_SUCCESS)
        result = HD_VULKAN;
    return result;
}

static hd_result make_buffer(run *r, const run_res *res, run_import *out)
{
    bool shared = r->family_count > 1;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = res->bytes,
                               .usage =
                                   res->usage | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                               .sharingMode = shared ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
                               .queueFamilyIndexCount = shared ? r->family_count : 0,
                               .pQueueFamilyIndices = r->families};
    VkMemoryRequirements need;
    if (r->CreateBuffer(r->info.device, &info, NULL, &out->buffer) != VK_SUCCESS)
        return HD_VULKAN;
    r->GetBufferMemoryRequirements(r->info.device, out->buffer, &need);
    hd_result result = allocate(r, &need, &out->memory);
    if (result == HD_OK && r->BindBufferMemory(r->info.device, out->buffer, out->memory, 0) != VK_SUCCESS)
        result = HD_VULKAN;
    return result;
}

static hd_result make_mapped(run *r, const run_res *res, run_import *out)
{
    run_memory memory;
    hd_result result = run_make_memory(
        r, res->bytes, res->usage | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, &memory);
    *out = (run_import){.buffer = memory.buffer, .memory = memory.memory, .mapped = memory.mapped};
    return result;
}

hd_result run_make_imports(run *r)
{
    r->imports = calloc((size_t)r->decl.res_count + 1, sizeof(*r->imports));
    if (!r->imports)
        return run_fail(r, HD_OUT_OF_MEMORY, "no memory");
    for (uint32_t i = 0; i < r->decl.res_count; i++) {
        if (!(r->decl.res_flags[i] & HDI_RES_EXTERNAL))
            continue;
        hd_result result = r->decl.res_flags[i] & HDI_RES_HOST ? make_mapped(r, &r->res[i], &r->imports[i])
                           : r->res[i].buffer                  ? make_buffer(r, &r->res[i], &r->imports[i])
                                            : make_image(r, &r->res[i], &r->imports[i]);
        if (result != HD_OK)
            return run_fail(r, result, "external resource %u: %s", i, hd_result_text(result));
    }
    return HD_OK;
}

void run_free_imports(run *r)
{
    for (uint32_t i = 0; r->imports && i < r->decl.res_count; i++) {
        r->DestroyImage(r->info.device, r->imports[i].image, NULL);
        r->DestroyBuffer(r->info.device, r->imports[i].buffer, NULL);
        r->FreeMemory(r->info.device, r->imports[i].memory, NULL);
    }
    free(r->imports);
}
