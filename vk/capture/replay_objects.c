#include "replay_state.h"

#include <stdio.h>
#include <string.h>

/* What the commands of a stream name, made when it is first named, with all that it needs. An object names only objects
 * before it in the stream, so that none needs itself. Images of swapchains are images like others, descriptor sets have
 * a pool each, and windows, caches and pools of descriptors are not made at all. */

enum { MOST_DEPTH = 64, MOST_STRETCH = 256 };
static const uint64_t most_pool = 1 << 24;

typedef VkResult(VKAPI_PTR *make_fn)(VkDevice device, const void *info, const VkAllocationCallbacks *memory,
                                     uint64_t *handle);

/* What one function makes and one destroys. */
#define PLAIN_TYPES(X)                                                                                                 \
    X(BUFFER, Buffer)                                                                                                  \
    X(IMAGE, Image)                                                                                                    \
    X(IMAGE_VIEW, ImageView)                                                                                           \
    X(BUFFER_VIEW, BufferView)                                                                                         \
    X(SAMPLER, Sampler)                                                                                                \
    X(SAMPLER_YCBCR_CONVERSION, SamplerYcbcrConversion)                                                                \
    X(SHADER_MODULE, ShaderModule)                                                                                     \
    X(PIPELINE, Pipeline)                                                                                              \
    X(PIPELINE_LAYOUT, PipelineLayout)                                                                                 \
    X(DESCRIPTOR_SET_LAYOUT, DescriptorSetLayout)                                                                      \
    X(RENDER_PASS, RenderPass)                                                                                         \
    X(FRAMEBUFFER, Framebuffer)                                                                                        \
    X(QUERY_POOL, QueryPool)

#define HANDLE(handle) ((uint64_t)(uintptr_t)(handle))
#define AS(type, handle) ((type)(uintptr_t)(handle))

static const char *function_of(const hdi_replay *p, uint32_t object)
{
    uint32_t name = p->s->objects[object].name;
    return name < p->s->string_count ? p->s->strings[name] : "";
}

static bool is_made_by(const hdi_replay *p, uint32_t object, const char *function)
{
    return strcmp(function_of(p, object), function) == 0;
}

const char *hdi_replay_name_of(const hdi_replay *p, uint32_t object, char *text, size_t bytes)
{
    const hd_stream *s = p->s;
    snprintf(text, bytes, "object %u", object);
    for (uint32_t i = 0; i < s->resource_count; i++) {
        uint32_t of = s->resources[i].object, first = 0;
        if (of && of < s->object_count && s->objects[of].data < s->data_count) {
            const hd_stream_data *data = &s->datas[s->objects[of].data];
            first = data->ref_count && data->ref_begin < s->ref_count ? s->refs[data->ref_begin] : 0;
        }
        if (of != object && first != object)
            continue;
        snprintf(text, bytes, "%s %u '%s'", s->resources[i].aspects ? "image" : "buffer", i,
                 s->resources[i].name == HD_NONE ? "" : s->strings[s->resources[i].name]);
        break;
    }
    return text;
}

/* The result of the function that makes an object. */
static bool check_object(hdi_replay *p, uint32_t object, VkResult result)
{
    char name[HDI_REPLAY_TEXT];
    return result == VK_SUCCESS || hdi_replay_check(p, result, "%s of %s", function_of(p, object),
                                                    hdi_replay_name_of(p, object, name, sizeof(name)));
}

/* Data that is not what it should be, or no memory; of an object. */
static bool fail_to_read(hdi_replay *p, uint32_t object)
{
    if (p->arena.failed)
        return hdi_replay_fail(p, HD_OUT_OF_MEMORY, "%s", hd_result_text(HD_OUT_OF_MEMORY));
    return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "object %u (%s): what it was made from cannot be read", object,
                           function_of(p, object));
}

/* What an object was made from; null: failed. */
static void *read_info(hdi_replay *p, uint32_t object, const hdi_call_type *type)
{
    hdi_call_reader reader;
    void *info = NULL;
    if (type && hdi_replay_open(p, p->s->objects[object].data, object, &reader))
        info = hdi_call_read(&reader, type);
    if (!info)
        fail_to_read(p, object);
    return p->result == HD_OK ? info : NULL;
}

static void *read_typed(hdi_replay *p, uint32_t object, const char *type)
{
    return read_info(p, object, hdi_call_type_find(type));
}

/* The objects that an object names, at least so many; null: failed. */
static const uint32_t *refs_of(hdi_replay *p, uint32_t object, uint32_t count, hdi_call_reader *reader)
{
    if (hdi_replay_open(p, p->s->objects[object].data, object, reader) && reader->ref_count >= count)
        return reader->refs;
    fail_to_read(p, object);
    return NULL;
}

/* ---- memory ---- */

uint32_t hdi_replay_memory_type(const hdi_replay *p, uint32_t types, VkMemoryPropertyFlags wanted,
                                VkMemoryPropertyFlags needed)
{
    for (int pass = 0; pass < 2; pass++) {
        VkMemoryPropertyFlags flags = pass ? needed : wanted;
        for (uint32_t i = 0; i < p->memory.memoryTypeCount; i++) {
            if (types & (1u << i) && (p->memory.memoryTypes[i].propertyFlags & flags) == flags)
                return i;
        }
    }
    return UINT32_MAX;
}

/* The type of this device, one of types, for a captured one: that of the same index where it is the same, else one with
 * the same flags, else one that has them among others, else one that has what is needed. */
static uint32_t type_for(const hdi_replay *p, uint32_t captured, uint32_t types, bool seen)
{
    if (captured >= p->captured_memory.memoryTypeCount)
        return UINT32_MAX;
    VkMemoryPropertyFlags flags = p->captured_memory.memoryTypes[captured].propertyFlags;
    uint32_t same = 0;
    for (uint32_t i = 0; i < p->memory.memoryTypeCount; i++)
        same |= (uint32_t)(p->memory.memoryTypes[i].propertyFlags == flags) << i;
    if (same & types & 1u << captured)
        return captured;
    VkMemoryPropertyFlags needed =
        seen ? VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT : flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    return hdi_replay_memory_type(p, same & types ? same & types : types, flags, needed);
}

static bool is_bound(const hdi_replay *p, uint32_t object)
{
    return is_made_by(p, object, "vkBindImageMemory") || is_made_by(p, object, "vkBindBufferMemory");
}

/* What an image or buffer without its memory needs of it, and where it stood there; false: failed. */
static bool look_at_bound(hdi_replay *p, uint32_t object, VkMemoryRequirements *needs, uint64_t *offset)
{
    hdi_call_reader reader;
    bool is_image = is_made_by(p, object, "vkBindImageMemory");
    const uint32_t *refs = refs_of(p, object, 2, &reader);
    const void *bytes = refs ? hdi_call_read_bytes(&reader, sizeof(*offset)) : NULL;
    if (!bytes)
        return fail_to_read(p, object);
    memcpy(offset, bytes, sizeof(*offset));
    const uint32_t type = is_image ? VK_OBJECT_TYPE_IMAGE : VK_OBJECT_TYPE_BUFFER;
    const hdi_call *call = hdi_call_find(function_of(p, refs[0]));
    if (!call || call->makes != type) /* memory is made behind it: it must not need that itself */
        return fail_to_read(p, object);
    p->takes_plain = true;
    uint64_t handle = hdi_replay_handle(p, type, refs[0]);
    p->takes_plain = false;
    if (handle && is_image)
        p->fn.vkGetImageMemoryRequirements(p->device, AS(VkImage, handle), needs);
    else if (handle)
        p->fn.vkGetBufferMemoryRequirements(p->device, AS(VkBuffer, handle), needs);
    return handle || fail_to_read(p, object);
}

/* What is bound to one memory here. */
typedef struct hdi_replay_fit {
    uint32_t stretch;
    uint32_t types;   /* that all allows */
    uint64_t largest; /* bytes */
} hdi_replay_fit;

/* Another device may ask for more bytes, or other multiples. Then all offsets in the memory are multiplied by one power
 * of two: what did not share bytes still does not, what did has them from the same place on. */
static bool fit_memory(hdi_replay *p, uint32_t object, hdi_replay_fit *fit)
{
    const hd_stream *s = p->s;
    *fit = (hdi_replay_fit){.stretch = 1, .types = UINT32_MAX};
    for (uint32_t i = object + 1; i < s->object_count; i++) {
        hdi_call_reader reader;
        VkMemoryRequirements needs;
        uint64_t offset, room = 0;
        if (!is_bound(p, i))
            continue;
        const uint32_t *refs = refs_of(p, i, 2, &reader);
        if (!refs || (refs[1] == object && !look_at_bound(p, i, &needs, &offset)))
            return false;
        if (refs[1] != object)
            continue;
        for (uint32_t r = 0; r < s->resource_count && !room; r++)
            room = s->resources[r].object == i ? s->resources[r].bytes : 0;
        room = room ? room : needs.size;
        fit->types &= needs.memoryTypeBits;
        fit->largest = needs.size > fit->largest ? needs.size : fit->largest;
        while (fit->stretch < MOST_STRETCH &&
               (room * fit->stretch < needs.size || offset * fit->stretch % needs.alignment))
            fit->stretch *= 2;
    }
    return true;
}

static bool make_memory(hdi_replay *p, uint32_t object)
{
    static const VkStructureType imports[] = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                              VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT};
    hdi_replay_object *o = &p->objects[object];
    VkDeviceMemory memory;
    p->takes_plain = true; /* of a dedicated allocation */
    VkMemoryAllocateInfo *info = read_typed(p, object, "VkMemoryAllocateInfo");
    p->takes_plain = false;
    if (!info)
        return false;
    hdi_replay_fit fit;
    if (!fit_memory(p, object, &fit))
        return false;
    uint32_t type = type_for(p, info->memoryTypeIndex, fit.types, o->seen);
    if (type == UINT32_MAX)
        return hdi_replay_fail(p, HD_MISSING_FEATURE, "object %u: the device has no memory of such a type", object);
    hdi_replay_unchain(&info->pNext, imports, 2);
    info->memoryTypeIndex = type;
    bool dedicated = false;
    for (const VkBaseInStructure *next = info->pNext; next; next = next->pNext)
        dedicated |= next->sType == VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
    info->allocationSize = dedicated && fit.largest ? fit.largest : info->allocationSize * fit.stretch;
    if (!hdi_replay_check(p, p->fn.vkAllocateMemory(p->device, info, NULL, &memory),
                          "vkAllocateMemory of object %u, %llu bytes", object,
                          (unsigned long long)info->allocationSize))
        return false;
    *o = (hdi_replay_object){.handle = HANDLE(memory),
                             .bytes = info->allocationSize,
                             .memory_type = type,
                             .stretch = fit.stretch,
                             .type = VK_OBJECT_TYPE_DEVICE_MEMORY};
    VkMemoryPropertyFlags flags = p->memory.memoryTypes[type].propertyFlags;
    void *mapped;
    if (!(flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT))
        return true;
    if (!hdi_replay_check(p, p->fn.vkMapMemory(p->device, memory, 0, VK_WHOLE_SIZE, 0, &mapped),
                          "vkMapMemory of object %u", object))
        return false;
    o->mapped = mapped;
    memset(o->mapped, 0, (size_t)o->bytes); /* as the capture does */
    VkMappedMemoryRange range = {
        .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = memory, .size = VK_WHOLE_SIZE};
    return flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT ||
           hdi_replay_check(p, p->fn.vkFlushMappedMemoryRanges(p->device, 1, &range), "vkFlushMappedMemoryRanges");
}

/* An image or buffer that has its memory. */
static bool bind(hdi_replay *p, uint32_t object)
{
    char name[HDI_REPLAY_TEXT];
    hdi_call_reader reader;
    uint64_t offset;
    VkMemoryRequirements needs;
    bool is_image = is_made_by(p, object, "vkBindImageMemory");
    const uint32_t *refs = refs_of(p, object, 2, &reader);
    if (!refs || !hdi_replay_handle(p, VK_OBJECT_TYPE_DEVICE_MEMORY, refs[1]) ||
        !look_at_bound(p, object, &needs, &offset))
        return fail_to_read(p, object);
    hdi_replay_object *plain = &p->objects[refs[0]];
    const hdi_replay_object *m = &p->objects[refs[1]];
    uint64_t handle = plain->handle, memory = m->handle;
    if (plain->borrowed || plain->bound)
        return fail_to_read(p, object);
    plain->bound = true;
    offset *= m->stretch;
    if (offset % needs.alignment || offset > m->bytes || needs.size > m->bytes - offset ||
        !(needs.memoryTypeBits >> m->memory_type & 1))
        return hdi_replay_fail(p, HD_MISSING_FEATURE,
                               "%s does not fit on this device: it needs %llu bytes at a multiple of %llu, of the "
                               "memory types %#x, and has those at %llu of %llu bytes of type %u",
                               hdi_replay_name_of(p, object, name, sizeof(name)), (unsigned long long)needs.size,
                               (unsigned long long)needs.alignment, needs.memoryTypeBits, (unsigned long long)offset,
                               (unsigned long long)m->bytes, m->memory_type);
    VkResult result =
        is_image ? p->fn.vkBindImageMemory(p->device, AS(VkImage, handle), AS(VkDeviceMemory, memory), offset)
                 : p->fn.vkBindBufferMemory(p->device, AS(VkBuffer, handle), AS(VkDeviceMemory, memory), offset);
    p->objects[object] = (hdi_replay_object){.handle = handle, .type = plain->type, .borrowed = true};
    return check_object(p, object, result);
}

/* ---- images ---- */

/* Queue families of a resource that several share: those of this device; one alone shares with no other. */
static bool share(hdi_replay *p, VkSharingMode *mode, uint32_t *count, const uint32_t **families)
{
    uint32_t given = *mode == VK_SHARING_MODE_CONCURRENT && *families ? *count : 0;
    uint32_t *own = HDI_ARENA_ARRAY(&p->arena, uint32_t, given);
    if (!own)
        return hdi_replay_fail(p, HD_OUT_OF_MEMORY, "%s", hd_result_text(HD_OUT_OF_MEMORY));
    *count = hdi_replay_families(p, *families, given, own);
    *mode = *count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE;
    *families = own;
    return true;
}

/* What an image of a swapchain is. */
static VkImageCreateInfo *swapchain_image(hdi_replay *p, uint32_t object)
{
    hdi_call_reader reader;
    const uint32_t *refs = refs_of(p, object, 1, &reader);
    const VkSwapchainCreateInfoKHR *from = refs && is_made_by(p, refs[0], "vkCreateSwapchainKHR")
                                               ? read_typed(p, refs[0], "VkSwapchainCreateInfoKHR")
                                               : NULL;
    VkImageCreateInfo *info = from ? HDI_ARENA_ARRAY(&p->arena, VkImageCreateInfo, 1) : NULL;
    if (!info) {
        fail_to_read(p, object);
        return NULL;
    }
    *info = (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                .imageType = VK_IMAGE_TYPE_2D,
                                .format = from->imageFormat,
                                .extent = {from->imageExtent.width, from->imageExtent.height, 1},
                                .mipLevels = 1,
                                .arrayLayers = from->imageArrayLayers,
                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                .usage = from->imageUsage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
                                .sharingMode = from->imageSharingMode,
                                .queueFamilyIndexCount = from->queueFamilyIndexCount,
                                .pQueueFamilyIndices = from->pQueueFamilyIndices};
    for (const VkBaseInStructure *next = from->pNext; next; next = next->pNext) {
        if (next->sType != VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO)
            continue;
        VkImageFormatListCreateInfo *formats = (VkImageFormatListCreateInfo *)next;
        formats->pNext = NULL;
        info->pNext = formats;
        break;
    }
    if (from->flags & VK_SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR)
        info->flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT;
    return info;
}

const VkImageCreateInfo *hdi_replay_image(hdi_replay *p, uint32_t object)
{
    hdi_call_reader reader;
    if (object < p->s->object_count && is_made_by(p, object, "vkBindImageMemory")) {
        const uint32_t *refs = refs_of(p, object, 1, &reader);
        object = refs ? refs[0] : 0;
    }
    if (!object || object >= p->s->object_count)
        return NULL;
    if (is_made_by(p, object, "vkGetSwapchainImagesKHR"))
        return swapchain_image(p, object);
    return is_made_by(p, object, "vkCreateImage") ? read_typed(p, object, "VkImageCreateInfo") : NULL;
}

static bool make_swapchain_image(hdi_replay *p, uint32_t object)
{
    VkImageCreateInfo *info = swapchain_image(p, object);
    hdi_replay_object *o = &p->objects[object];
    VkImage image;
    VkDeviceMemory memory;
    VkMemoryRequirements needs;
    if (!info || !share(p, &info->sharingMode, &info->queueFamilyIndexCount, &info->pQueueFamilyIndices) ||
        !hdi_replay_check(p, p->fn.vkCreateImage(p->device, info, NULL, &image),
                          "vkCreateImage of object %u, an image of a swapchain", object))
        return false;
    *o = (hdi_replay_object){.handle = HANDLE(image), .type = VK_OBJECT_TYPE_IMAGE};
    p->fn.vkGetImageMemoryRequirements(p->device, image, &needs);
    VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = needs.size,
        .memoryTypeIndex = hdi_replay_memory_type(p, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0)};
    if (!hdi_replay_check(p, p->fn.vkAllocateMemory(p->device, &allocate, NULL, &memory),
                          "vkAllocateMemory of object %u, an image of a swapchain", object))
        return false;
    o->own = HANDLE(memory);
    return hdi_replay_check(p, p->fn.vkBindImageMemory(p->device, image, memory, 0), "vkBindImageMemory of object %u",
                            object);
}

/* ---- descriptor sets ---- */

/* What a pool for one set of the layout holds. Null: failed. */
static VkDescriptorPoolCreateInfo *pool_for(hdi_replay *p, uint32_t object, uint32_t layout)
{
    const VkDescriptorSetLayoutCreateInfo *from = read_typed(p, layout, "VkDescriptorSetLayoutCreateInfo");
    struct {
        VkDescriptorPoolCreateInfo info;
        VkDescriptorPoolInlineUniformBlockCreateInfo inlined;
    } *pool = from ? hdi_arena_zeroed(&p->arena, 1, sizeof(*pool)) : NULL;
    VkDescriptorPoolSize *sizes =
        pool ? HDI_ARENA_ARRAY(&p->arena, VkDescriptorPoolSize, (size_t)from->bindingCount + 1) : NULL;
    uint64_t all = 0;
    if (!sizes) {
        fail_to_read(p, object);
        return NULL;
    }
    pool->info = (VkDescriptorPoolCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .pPoolSizes = sizes};
    pool->inlined.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO;
    if (from->flags & VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT)
        pool->info.flags = VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT;
    for (uint32_t i = 0; i < from->bindingCount; i++) {
        const VkDescriptorSetLayoutBinding *binding = &from->pBindings[i];
        all += binding->descriptorCount;
        if (binding->descriptorCount)
            sizes[pool->info.poolSizeCount++] =
                (VkDescriptorPoolSize){binding->descriptorType, binding->descriptorCount};
        pool->inlined.maxInlineUniformBlockBindings +=
            binding->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
    }
    if (pool->inlined.maxInlineUniformBlockBindings)
        pool->info.pNext = &pool->inlined;
    if (!pool->info.poolSizeCount)
        sizes[pool->info.poolSizeCount++] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_SAMPLER, 1};
    if (all <= most_pool)
        return &pool->info;
    hdi_replay_fail(p, HD_TOO_LARGE, "object %u: a set of %llu descriptors", object, (unsigned long long)all);
    return NULL;
}

static bool make_set(hdi_replay *p, uint32_t object)
{
    hdi_call_reader reader;
    hdi_replay_object *o = &p->objects[object];
    VkDescriptorPool pool;
    VkDescriptorSet set;
    const uint32_t *refs = refs_of(p, object, 1, &reader);
    uint32_t layout = 0;
    for (uint32_t i = 0; refs && i < reader.ref_count; i++)
        layout = is_made_by(p, refs[i], "vkCreateDescriptorSetLayout") ? refs[i] : layout;
    VkDescriptorSetAllocateInfo *info = layout ? read_typed(p, object, "VkDescriptorSetAllocateInfo") : NULL;
    const VkDescriptorPoolCreateInfo *wanted =
        info && info->descriptorSetCount == 1 ? pool_for(p, object, layout) : NULL;
    if (!wanted)
        return fail_to_read(p, object);
    if (!hdi_replay_check(p, p->fn.vkCreateDescriptorPool(p->device, wanted, NULL, &pool),
                          "vkCreateDescriptorPool for object %u", object))
        return false;
    *o = (hdi_replay_object){.own = HANDLE(pool), .type = VK_OBJECT_TYPE_DESCRIPTOR_SET};
    info->descriptorPool = pool;
    if (!hdi_replay_check(p, p->fn.vkAllocateDescriptorSets(p->device, info, &set),
                          "vkAllocateDescriptorSets of object %u", object))
        return false;
    o->handle = HANDLE(set);
    return true;
}

/* ---- the others ---- */

static bool is_plain(uint32_t type)
{
    switch (type) {
#define CASE(vk_type, name) case VK_OBJECT_TYPE_##vk_type:
        PLAIN_TYPES(CASE)
#undef CASE
        return true;
    default:
        return false;
    }
}

/* By a function that makes one object. */
static bool make_plain(hdi_replay *p, uint32_t object)
{
    const char *function = function_of(p, object);
    const hdi_call *call = hdi_call_find(function);
    uint64_t handle = 0;
    if (!call || call->invoke || !is_plain(call->makes))
        return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "object %u: %s makes nothing that can be replayed", object,
                               function);
    PFN_vkVoidFunction make = hdi_call_function(call, p->in.vkGetDeviceProcAddr, p->device);
    if (!make)
        return hdi_replay_fail(p, HD_MISSING_FEATURE, "object %u: the device has no %s", object, function);
    void *info = read_info(p, object, call->type);
    if (!info)
        return false;
    if (call->makes == VK_OBJECT_TYPE_IMAGE) {
        VkImageCreateInfo *image = info;
        if (!share(p, &image->sharingMode, &image->queueFamilyIndexCount, &image->pQueueFamilyIndices))
            return false;
    } else if (call->makes == VK_OBJECT_TYPE_BUFFER) {
        VkBufferCreateInfo *buffer = info;
        if (!share(p, &buffer->sharingMode, &buffer->queueFamilyIndexCount, &buffer->pQueueFamilyIndices))
            return false;
    }
    if (!check_object(p, object, ((make_fn)make)(p->device, info, NULL, &handle)))
        return false;
    p->objects[object] = (hdi_replay_object){.handle = handle, .type = call->makes};
    return true;
}

static bool make_pipeline(hdi_replay *p, uint32_t object, bool compute)
{
    const void *info = read_typed(p, object, compute ? "VkComputePipelineCreateInfo" : "VkGraphicsPipelineCreateInfo");
    VkPipeline pipeline;
    if (!info)
        return false;
    VkResult result = compute ? p->fn.vkCreateComputePipelines(p->device, VK_NULL_HANDLE, 1, info, NULL, &pipeline)
                              : p->fn.vkCreateGraphicsPipelines(p->device, VK_NULL_HANDLE, 1, info, NULL, &pipeline);
    if (!check_object(p, object, result))
        return false;
    p->objects[object] = (hdi_replay_object){.handle = HANDLE(pipeline), .type = VK_OBJECT_TYPE_PIPELINE};
    return true;
}

static bool make(hdi_replay *p, uint32_t object)
{
    bool compute = is_made_by(p, object, "vkCreateComputePipelines");
    if (compute || is_made_by(p, object, "vkCreateGraphicsPipelines"))
        return make_pipeline(p, object, compute);
    if (is_bound(p, object))
        return bind(p, object);
    if (is_made_by(p, object, "vkAllocateMemory"))
        return make_memory(p, object);
    if (is_made_by(p, object, "vkGetSwapchainImagesKHR"))
        return make_swapchain_image(p, object);
    if (is_made_by(p, object, "vkAllocateDescriptorSets"))
        return make_set(p, object);
    return make_plain(p, object);
}

/* Objects that a replay does without. */
static bool is_left_out(uint32_t type)
{
    return type == VK_OBJECT_TYPE_DESCRIPTOR_POOL || type == VK_OBJECT_TYPE_SWAPCHAIN_KHR ||
           type == VK_OBJECT_TYPE_SURFACE_KHR || type == VK_OBJECT_TYPE_PIPELINE_CACHE;
}

uint64_t hdi_replay_handle(void *user, uint32_t type, uint32_t object)
{
    hdi_replay *p = user;
    if (!object || object >= p->s->object_count || p->result != HD_OK || is_left_out(type))
        return 0;
    hdi_replay_object *o = &p->objects[object];
    const bool takes_plain = p->takes_plain;
    if (!o->type) {
        if (p->depth == MOST_DEPTH) {
            hdi_replay_fail(p, HD_TOO_LARGE, "object %u is behind too many others", object);
            return 0;
        }
        p->depth++;
        p->takes_plain = false;
        make(p, object);
        p->takes_plain = takes_plain;
        p->depth--;
    }
    bool plain = (type == VK_OBJECT_TYPE_IMAGE || type == VK_OBJECT_TYPE_BUFFER) && !o->borrowed && !o->own;
    if (p->result == HD_OK && o->type == type && plain && !takes_plain)
        hdi_replay_fail(p, HD_INVALID_ARGUMENT, "object %u (%s) has no memory", object, function_of(p, object));
    if (p->result == HD_OK && o->type != type)
        hdi_replay_fail(p, HD_INVALID_ARGUMENT, "object %u (%s) stands where an object of VkObjectType %u belongs",
                        object, function_of(p, object), type);
    return p->result == HD_OK ? o->handle : 0;
}

/* In reverse: what names an object comes behind it. */
void hdi_replay_destroy_objects(hdi_replay *p)
{
    for (uint32_t i = p->objects ? p->s->object_count : 0; i-- > 0;) {
        const hdi_replay_object *o = &p->objects[i];
        switch (o->borrowed ? 0 : o->type) {
#define DESTROY(vk_type, name)                                                                                         \
    case VK_OBJECT_TYPE_##vk_type:                                                                                     \
        p->fn.vkDestroy##name(p->device, AS(Vk##name, o->handle), NULL);                                               \
        break;
            PLAIN_TYPES(DESTROY)
#undef DESTROY
        case VK_OBJECT_TYPE_DESCRIPTOR_SET:
            p->fn.vkDestroyDescriptorPool(p->device, AS(VkDescriptorPool, o->own), NULL);
            break;
        case VK_OBJECT_TYPE_DEVICE_MEMORY:
            p->fn.vkFreeMemory(p->device, AS(VkDeviceMemory, o->handle), NULL);
            break;
        default:
            break;
        }
        if (o->type == VK_OBJECT_TYPE_IMAGE)
            p->fn.vkFreeMemory(p->device, AS(VkDeviceMemory, o->own), NULL);
    }
}
