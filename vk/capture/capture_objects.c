#include "capture_state.h"

#include <string.h>

/* Objects: what images, buffers, views, memory, semaphores, pools and queues are, so that commands can be told by what
 * they touch. Kept from the moment when the capture is opened, also while no stream is. */

#define HOOKS(X)                                                                                                       \
    X(vkCreateDevice)                                                                                                  \
    X(vkGetDeviceQueue)                                                                                                \
    X(vkGetDeviceQueue2)                                                                                               \
    X(vkCreateImage)                                                                                                   \
    X(vkDestroyImage)                                                                                                  \
    X(vkCreateBuffer)                                                                                                  \
    X(vkDestroyBuffer)                                                                                                 \
    X(vkCreateImageView)                                                                                               \
    X(vkDestroyImageView)                                                                                              \
    X(vkAllocateMemory)                                                                                                \
    X(vkFreeMemory)                                                                                                    \
    X(vkMapMemory)                                                                                                     \
    X(vkUnmapMemory)                                                                                                   \
    X(vkFlushMappedMemoryRanges)                                                                                       \
    X(vkBindImageMemory)                                                                                               \
    X(vkBindBufferMemory)                                                                                              \
    X(vkBindImageMemory2)                                                                                              \
    X(vkBindBufferMemory2)                                                                                             \
    X(vkCreateSemaphore)                                                                                               \
    X(vkDestroySemaphore)                                                                                              \
    X(vkCreateFence)                                                                                                   \
    X(vkDestroyFence)                                                                                                  \
    X(vkDestroyCommandPool)                                                                                            \
    X(vkResetCommandPool)                                                                                              \
    X(vkAllocateCommandBuffers)                                                                                        \
    X(vkFreeCommandBuffers)                                                                                            \
    X(vkBeginCommandBuffer)                                                                                            \
    X(vkResetCommandBuffer)                                                                                            \
    X(vkSetDebugUtilsObjectNameEXT)
HOOKS(HDI_CAP_NEXT)

/* ---- devices and queues ---- */

static struct {
    VkQueueFlags flags[32];
    uint32_t count;
} families;

static uint32_t kind_of(uint32_t family)
{
    VkQueueFlags flags = family < families.count ? families.flags[family] : VK_QUEUE_GRAPHICS_BIT;
    return flags & VK_QUEUE_GRAPHICS_BIT  ? HD_QUEUE_GFX
           : flags & VK_QUEUE_COMPUTE_BIT ? HD_QUEUE_COMPUTE
                                          : HD_QUEUE_TRANSFER;
}

static VkResult VKAPI_PTR hook_vkCreateDevice(VkPhysicalDevice device, const VkDeviceCreateInfo *info,
                                              const VkAllocationCallbacks *memory, VkDevice *out)
{
    VkQueueFamilyProperties properties[32];
    uint32_t count = 32;
    PFN_vkGetPhysicalDeviceQueueFamilyProperties ask =
        (PFN_vkGetPhysicalDeviceQueueFamilyProperties)hdi_cap.instance_proc(hdi_cap.instance,
                                                                            "vkGetPhysicalDeviceQueueFamilyProperties");
    if (ask) {
        ask(device, &count, properties);
        hdi_cap_lock();
        families.count = count;
        for (uint32_t f = 0; f < count; f++)
            families.flags[f] = properties[f].queueFlags;
        hdi_cap_unlock();
    }
    VkResult result = NEXT(vkCreateDevice)(device, info, memory, out);
    hdi_cap_lock();
    if (result == VK_SUCCESS && hdi_cap.open)
        hdi_cap_device_made_locked(device, info, *out, families.flags, families.count);
    hdi_cap_unlock();
    return result;
}

void hdi_cap_mark_queue(VkQueue queue, uint32_t kind, uint32_t family)
{
    hdi_cap_lock();
    hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_QUEUE, HDI_CAP_HANDLE(queue));
    if (hdi_cap.open && !object)
        object = hdi_cap_make_locked(HDI_CAP_QUEUE, HDI_CAP_HANDLE(queue));
    if (object) {
        object->queue_kind = kind;
        object->family = family;
    }
    hdi_cap_unlock();
}

static void VKAPI_PTR hook_vkGetDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue *out)
{
    NEXT(vkGetDeviceQueue)(device, family, index, out);
    hdi_cap_mark_queue(*out, kind_of(family), family);
}

static void VKAPI_PTR hook_vkGetDeviceQueue2(VkDevice device, const VkDeviceQueueInfo2 *info, VkQueue *out)
{
    NEXT(vkGetDeviceQueue2)(device, info, out);
    hdi_cap_mark_queue(*out, kind_of(info->queueFamilyIndex), info->queueFamilyIndex);
}

/* ---- images, buffers, views ---- */

static VkImageAspectFlags aspects_of(VkFormat format)
{
    switch (format) {
    case VK_FORMAT_D16_UNORM:
    case VK_FORMAT_X8_D24_UNORM_PACK32:
    case VK_FORMAT_D32_SFLOAT:
        return VK_IMAGE_ASPECT_DEPTH_BIT;
    case VK_FORMAT_S8_UINT:
        return VK_IMAGE_ASPECT_STENCIL_BIT;
    case VK_FORMAT_D16_UNORM_S8_UINT:
    case VK_FORMAT_D24_UNORM_S8_UINT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT:
        return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    default:
        return VK_IMAGE_ASPECT_COLOR_BIT;
    }
}

static VkResult VKAPI_PTR hook_vkCreateImage(VkDevice device, const VkImageCreateInfo *info,
                                             const VkAllocationCallbacks *memory, VkImage *out)
{
    VkResult result = NEXT(vkCreateImage)(device, info, memory, out);
    hdi_cap_lock();
    hdi_cap_object *object =
        result == VK_SUCCESS && hdi_cap.open ? hdi_cap_make_locked(HDI_CAP_IMAGE, HDI_CAP_HANDLE(*out)) : NULL;
    if (object) {
        object->format = (uint32_t)info->format;
        object->record = hdi_cap_record_locked(VK_OBJECT_TYPE_IMAGE, object->handle);
        object->linear = info->tiling == VK_IMAGE_TILING_LINEAR;
        if (info->imageType == VK_IMAGE_TYPE_3D)
            memcpy(object->extent, &info->extent, sizeof(object->extent));
        object->res = (hd_stream_resource){
            .name = HD_NONE,
            .memory = HD_NONE,
            .mips = info->mipLevels,
            .layers = info->arrayLayers,
            .aspects = aspects_of(info->format),
            .layout = (uint32_t)info->initialLayout,
            .flags = info->sharingMode == VK_SHARING_MODE_CONCURRENT ? HD_STREAM_CONCURRENT : 0,
        };
    }
    hdi_cap_unlock();
    return result;
}

static VkResult VKAPI_PTR hook_vkCreateBuffer(VkDevice device, const VkBufferCreateInfo *info,
                                              const VkAllocationCallbacks *memory, VkBuffer *out)
{
    VkResult result = NEXT(vkCreateBuffer)(device, info, memory, out);
    hdi_cap_lock();
    hdi_cap_object *object =
        result == VK_SUCCESS && hdi_cap.open ? hdi_cap_make_locked(HDI_CAP_BUFFER, HDI_CAP_HANDLE(*out)) : NULL;
    if (object) {
        object->record = hdi_cap_record_locked(VK_OBJECT_TYPE_BUFFER, object->handle);
        object->res = (hd_stream_resource){
            .name = HD_NONE,
            .memory = HD_NONE,
            .bytes = info->size,
            .mips = 1,
            .layers = 1,
            .flags = info->sharingMode == VK_SHARING_MODE_CONCURRENT ? HD_STREAM_CONCURRENT : 0,
        };
    }
    hdi_cap_unlock();
    return result;
}

/* Slices of an image of three dimensions are layers of its views of two. */
static hd_stream_box slices_of(const hdi_cap_object *image, const VkImageViewCreateInfo *info)
{
    const VkImageSubresourceRange *range = &info->subresourceRange;
    hd_stream_box box = {{0}, {0}};
    if (image->extent[2] == 0 || info->viewType == VK_IMAGE_VIEW_TYPE_3D)
        return box;
    for (int i = 0; i < 3; i++)
        box.extent[i] = image->extent[i] >> range->baseMipLevel ? image->extent[i] >> range->baseMipLevel : 1;
    box.offset[2] = range->baseArrayLayer;
    box.extent[2] -= range->baseArrayLayer;
    box.extent[2] = range->layerCount < box.extent[2] ? range->layerCount : box.extent[2];
    return box;
}

static VkResult VKAPI_PTR hook_vkCreateImageView(VkDevice device, const VkImageViewCreateInfo *info,
                                                 const VkAllocationCallbacks *memory, VkImageView *out)
{
    VkResult result = NEXT(vkCreateImageView)(device, info, memory, out);
    hdi_cap_lock();
    hdi_cap_object *image = result == VK_SUCCESS && hdi_cap.open
                                ? hdi_cap_resource_locked(HDI_CAP_IMAGE, HDI_CAP_HANDLE(info->image))
                                : NULL;
    if (image) {
        uint32_t of = hdi_cap_index_locked(image);
        hd_range range = hdi_cap_image_range(image, &info->subresourceRange);
        hd_stream_box box = slices_of(image, info);
        hdi_cap_object *view = hdi_cap_make_locked(HDI_CAP_VIEW, HDI_CAP_HANDLE(*out));
        if (view) {
            view->of = of;
            view->range = range;
            view->box = box;
        }
    }
    hdi_cap_unlock();
    return result;
}

static void drop(hdi_cap_kind kind, uint64_t handle)
{
    hdi_cap_lock();
    if (kind == HDI_CAP_SEMAPHORE || kind == HDI_CAP_FENCE)
        hdi_cap_check_gone_locked(handle, kind == HDI_CAP_FENCE);
    hdi_cap_drop_locked(kind, handle);
    hdi_cap_unlock();
}

#define DESTROY(function, type, kind)                                                                                  \
    static void VKAPI_PTR hook_##function(VkDevice device, type handle, const VkAllocationCallbacks *memory)           \
    {                                                                                                                  \
        drop(kind, HDI_CAP_HANDLE(handle)); /* first: the handle may be given out again at once */                     \
        NEXT(function)(device, handle, memory);                                                                        \
    }
DESTROY(vkDestroyImage, VkImage, HDI_CAP_IMAGE)
DESTROY(vkDestroyBuffer, VkBuffer, HDI_CAP_BUFFER)
DESTROY(vkDestroyImageView, VkImageView, HDI_CAP_VIEW)
DESTROY(vkFreeMemory, VkDeviceMemory, HDI_CAP_MEMORY)
DESTROY(vkDestroySemaphore, VkSemaphore, HDI_CAP_SEMAPHORE)
DESTROY(vkDestroyFence, VkFence, HDI_CAP_FENCE)

/* ---- memory ---- */

static VkResult VKAPI_PTR hook_vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                const VkAllocationCallbacks *memory, VkDeviceMemory *out)
{
    VkResult result = NEXT(vkAllocateMemory)(device, info, memory, out);
    hdi_cap_lock();
    hdi_cap_object *object =
        result == VK_SUCCESS && hdi_cap.open ? hdi_cap_make_locked(HDI_CAP_MEMORY, HDI_CAP_HANDLE(*out)) : NULL;
    if (object) {
        object->res.memory = hdi_cap.memory_serial++;
        hdi_cap_memory_made_locked(object, device, info);
    }
    hdi_cap_unlock();
    return result;
}

static VkResult VKAPI_PTR hook_vkMapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                           VkDeviceSize size, VkMemoryMapFlags flags, void **out)
{
    VkResult result = NEXT(vkMapMemory)(device, memory, offset, size, flags, out);
    hdi_cap_lock();
    hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_MEMORY, HDI_CAP_HANDLE(memory));
    if (object) {
        object->mapped = true;
        for (uint32_t r = 0; hdi_cap.stream && r < hdi_cap.stream->resource_count; r++) {
            if (hdi_cap.stream->resources[r].memory == object->res.memory)
                hdi_cap.stream->resources[r].flags |= HD_STREAM_MAPPED;
        }
        for (uint32_t i = 0; i < hdi_cap.object_count; i++) {
            hdi_cap_object *bound = &hdi_cap.objects[i];
            if (bound->kind <= HDI_CAP_BUFFER && bound->res.memory == object->res.memory)
                bound->res.flags |= HD_STREAM_MAPPED;
        }
        if (result == VK_SUCCESS)
            hdi_cap_mapped_locked(object, *out, offset, size);
    }
    hdi_cap_unlock();
    return result;
}

static void VKAPI_PTR hook_vkUnmapMemory(VkDevice device, VkDeviceMemory memory)
{
    hdi_cap_lock();
    hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_MEMORY, HDI_CAP_HANDLE(memory));
    if (object)
        hdi_cap_unmapped_locked(object);
    hdi_cap_unlock();
    NEXT(vkUnmapMemory)(device, memory);
}

static VkResult VKAPI_PTR hook_vkFlushMappedMemoryRanges(VkDevice device, uint32_t count,
                                                         const VkMappedMemoryRange *ranges)
{
    hdi_cap_lock();
    hdi_cap_host_writes_locked();
    hdi_cap_unlock();
    return NEXT(vkFlushMappedMemoryRanges)(device, count, ranges);
}

static void bind(hdi_cap_kind kind, uint64_t handle, VkDeviceMemory memory, uint64_t offset, uint64_t bytes)
{
    hdi_cap_lock();
    hdi_cap_object *object = hdi_cap_find_locked(kind, handle);
    const hdi_cap_object *to = hdi_cap_find_locked(HDI_CAP_MEMORY, HDI_CAP_HANDLE(memory));
    if (object && to) {
        object->res.memory = to->res.memory;
        object->of = hdi_cap_index_locked(to);
        object->res.offset = offset;
        object->res.flags |= to->mapped ? HD_STREAM_MAPPED : 0;
        if (bytes)
            object->res.bytes = bytes;
        hdi_cap_bound_locked(object, memory, offset);
    }
    hdi_cap_unlock();
}

static uint64_t image_bytes(VkDevice device, VkImage image)
{
    PFN_vkGetImageMemoryRequirements ask =
        hdi_cap.device_proc
            ? (PFN_vkGetImageMemoryRequirements)hdi_cap.device_proc(device, "vkGetImageMemoryRequirements")
            : (PFN_vkGetImageMemoryRequirements)hdi_cap.instance_proc(hdi_cap.instance, "vkGetImageMemoryRequirements");
    VkMemoryRequirements needs = {0};
    if (ask)
        ask(device, image, &needs);
    return needs.size;
}

static VkResult VKAPI_PTR hook_vkBindImageMemory(VkDevice device, VkImage image, VkDeviceMemory memory,
                                                 VkDeviceSize offset)
{
    VkResult result = NEXT(vkBindImageMemory)(device, image, memory, offset);
    if (result == VK_SUCCESS)
        bind(HDI_CAP_IMAGE, HDI_CAP_HANDLE(image), memory, offset, image_bytes(device, image));
    return result;
}

static VkResult VKAPI_PTR hook_vkBindBufferMemory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                                  VkDeviceSize offset)
{
    VkResult result = NEXT(vkBindBufferMemory)(device, buffer, memory, offset);
    if (result == VK_SUCCESS)
        bind(HDI_CAP_BUFFER, HDI_CAP_HANDLE(buffer), memory, offset, 0);
    return result;
}

static VkResult VKAPI_PTR hook_vkBindImageMemory2(VkDevice device, uint32_t count, const VkBindImageMemoryInfo *infos)
{
    VkResult result = NEXT(vkBindImageMemory2)(device, count, infos);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++)
        bind(HDI_CAP_IMAGE, HDI_CAP_HANDLE(infos[i].image), infos[i].memory, infos[i].memoryOffset,
             image_bytes(device, infos[i].image));
    return result;
}

static VkResult VKAPI_PTR hook_vkBindBufferMemory2(VkDevice device, uint32_t count, const VkBindBufferMemoryInfo *infos)
{
    VkResult result = NEXT(vkBindBufferMemory2)(device, count, infos);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++)
        bind(HDI_CAP_BUFFER, HDI_CAP_HANDLE(infos[i].buffer), infos[i].memory, infos[i].memoryOffset, 0);
    return result;
}

/* ---- semaphores and fences ---- */

static VkResult VKAPI_PTR hook_vkCreateSemaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                                 const VkAllocationCallbacks *memory, VkSemaphore *out)
{
    VkResult result = NEXT(vkCreateSemaphore)(device, info, memory, out);
    const VkSemaphoreTypeCreateInfo *type = NULL;
    for (const VkBaseInStructure *next = info->pNext; next; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
            type = (const VkSemaphoreTypeCreateInfo *)next;
    }
    hdi_cap_lock();
    hdi_cap_object *object =
        result == VK_SUCCESS && hdi_cap.open ? hdi_cap_make_locked(HDI_CAP_SEMAPHORE, HDI_CAP_HANDLE(*out)) : NULL;
    if (object) {
        object->binary = !type || type->semaphoreType != VK_SEMAPHORE_TYPE_TIMELINE;
        object->value = object->binary ? 0 : type->initialValue;
    }
    hdi_cap_unlock();
    return result;
}

static VkResult VKAPI_PTR hook_vkCreateFence(VkDevice device, const VkFenceCreateInfo *info,
                                             const VkAllocationCallbacks *memory, VkFence *out)
{
    VkResult result = NEXT(vkCreateFence)(device, info, memory, out);
    hdi_cap_lock();
    if (result == VK_SUCCESS && hdi_cap.open)
        hdi_cap_make_locked(HDI_CAP_FENCE, HDI_CAP_HANDLE(*out));
    hdi_cap_unlock();
    return result;
}

/* ---- command buffers ---- */

static void forget_pool(VkCommandPool pool, bool all)
{
    uint64_t handle = HDI_CAP_HANDLE(pool);
    hdi_cap_lock();
    for (uint32_t i = 0; i < hdi_cap.object_count; i++) {
        hdi_cap_object *object = &hdi_cap.objects[i];
        if (object->kind == HDI_CAP_COMMANDS && object->value == handle)
            hdi_cap_forget_commands_locked(object, all);
    }
    hdi_cap_unlock();
}

static void VKAPI_PTR hook_vkDestroyCommandPool(VkDevice device, VkCommandPool pool,
                                                const VkAllocationCallbacks *memory)
{
    forget_pool(pool, true);
    NEXT(vkDestroyCommandPool)(device, pool, memory);
}

static VkResult VKAPI_PTR hook_vkResetCommandPool(VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags flags)
{
    forget_pool(pool, false);
    return NEXT(vkResetCommandPool)(device, pool, flags);
}

static VkResult VKAPI_PTR hook_vkAllocateCommandBuffers(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                                        VkCommandBuffer *out)
{
    VkResult result = NEXT(vkAllocateCommandBuffers)(device, info, out);
    hdi_cap_lock();
    for (uint32_t i = 0; i < info->commandBufferCount && result == VK_SUCCESS && hdi_cap.open; i++) {
        hdi_cap_object *object = hdi_cap_make_locked(HDI_CAP_COMMANDS, HDI_CAP_HANDLE(out[i]));
        if (object)
            object->value = HDI_CAP_HANDLE(info->commandPool);
    }
    hdi_cap_unlock();
    return result;
}

static void VKAPI_PTR hook_vkFreeCommandBuffers(VkDevice device, VkCommandPool pool, uint32_t count,
                                                const VkCommandBuffer *buffers)
{
    for (uint32_t i = 0; i < count; i++)
        drop(HDI_CAP_COMMANDS, HDI_CAP_HANDLE(buffers[i]));
    NEXT(vkFreeCommandBuffers)(device, pool, count, buffers);
}

static void forget(VkCommandBuffer commands)
{
    hdi_cap_lock();
    hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_COMMANDS, HDI_CAP_HANDLE(commands));
    if (object)
        hdi_cap_forget_commands_locked(object, false);
    hdi_cap_unlock();
}

static VkResult VKAPI_PTR hook_vkBeginCommandBuffer(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info)
{
    forget(commands);
    return NEXT(vkBeginCommandBuffer)(commands, info);
}

static VkResult VKAPI_PTR hook_vkResetCommandBuffer(VkCommandBuffer commands, VkCommandBufferResetFlags flags)
{
    forget(commands);
    return NEXT(vkResetCommandBuffer)(commands, flags);
}

static VkResult VKAPI_PTR hook_vkSetDebugUtilsObjectNameEXT(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
    bool image = info->objectType == VK_OBJECT_TYPE_IMAGE;
    hdi_cap_lock();
    if (hdi_cap.open && info->pObjectName && (image || info->objectType == VK_OBJECT_TYPE_BUFFER)) {
        hdi_cap_object *object = hdi_cap_resource_locked(image ? HDI_CAP_IMAGE : HDI_CAP_BUFFER, info->objectHandle);
        if (object)
            object->name = hdi_cap_string_locked(info->pObjectName);
    }
    hdi_cap_unlock();
    return NEXT(vkSetDebugUtilsObjectNameEXT)(device, info);
}

#define ALIAS(name, as) {name, (PFN_vkVoidFunction)hook_##as, &next_##as},
static const hdi_cap_hook hooks[] = {HOOKS(HDI_CAP_ENTRY) ALIAS("vkBindImageMemory2KHR", vkBindImageMemory2)
                                         ALIAS("vkBindBufferMemory2KHR", vkBindBufferMemory2)};
const hdi_cap_hooks hdi_cap_object_hooks = {hooks, sizeof(hooks) / sizeof(hooks[0]), false};
