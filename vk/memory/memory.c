#include "history.h"

#include <string.h>

#include "alloc.h"
#include "hash.h"
#include "vk_device.h"
#include "vk_frame.h"
#include "vk_memory.h"

/* What resources need in memory, asked of the driver once a description and then remembered; and one VkDeviceMemory for
 * each heap of a plan but those of histories (history.c). The compiler's sizes and the objects come from the same
 * create infos, so that they agree. A heap that a plan outgrows, or that has been far too large for many frames, is
 * replaced and freed when no frame in flight uses it. */

hdi_vk_key hdi_vk_key_of(const hd_resource_info *info)
{
    if (info->is_buffer) {
        return (hdi_vk_key){
            .bytes = info->bytes,
            .usage = info->usage | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
            .bits = HDI_VK_KEY_BUFFER | (info->host_visible ? HDI_VK_KEY_HOST : 0u) |
                    (info->concurrent_possible ? HDI_VK_KEY_CONCURRENT : 0u),
        };
    }
    return (hdi_vk_key){
        .width = info->width,
        .height = info->height,
        .depth = info->depth,
        .format = info->format,
        .mips = info->mips,
        .layers = info->layers,
        .samples = info->samples,
        .flags = info->flags,
        .usage = info->usage ? info->usage : VK_IMAGE_USAGE_TRANSFER_DST_BIT,
        .bits = info->concurrent_possible ? HDI_VK_KEY_CONCURRENT : 0u,
        .view_format = info->view_format,
    };
}

/* What the host writes has no owner that could hand it on: from frame to frame it would be read by one family where the
 * last to use it was another. */
bool hdi_vk_shares(const hd_vk *vk, const hdi_vk_key *key)
{
    return key->bits & (HDI_VK_KEY_CONCURRENT | HDI_VK_KEY_HOST) && vk->family_count > 1;
}

const VkImageCreateInfo *hdi_vk_image_info(const hd_vk *vk, const hdi_vk_key *key, hdi_vk_image_room *room)
{
    bool concurrent = hdi_vk_shares(vk, key);
    room->formats[0] = (VkFormat)key->format;
    room->formats[1] = (VkFormat)key->view_format;
    room->list = (VkImageFormatListCreateInfo){
        .sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO, .viewFormatCount = 2, .pViewFormats = room->formats};
    room->info = (VkImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .pNext = key->view_format ? &room->list : NULL,
        .flags = key->flags,
        .imageType = key->depth > 1 ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D,
        .format = (VkFormat)key->format,
        .extent = {key->width, key->height, key->depth},
        .mipLevels = key->mips,
        .arrayLayers = key->layers,
        .samples = (VkSampleCountFlagBits)key->samples,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = key->usage,
        .sharingMode = concurrent ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = concurrent ? vk->family_count : 0,
        .pQueueFamilyIndices = concurrent ? vk->families : NULL,
        .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
    };
    return &room->info;
}

VkBufferCreateInfo hdi_vk_buffer_info(const hd_vk *vk, const hdi_vk_key *key)
{
    bool concurrent = hdi_vk_shares(vk, key);
    return (VkBufferCreateInfo){
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = key->bytes,
        .usage = key->usage,
        .sharingMode = concurrent ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = concurrent ? vk->family_count : 0,
        .pQueueFamilyIndices = concurrent ? vk->families : NULL,
    };
}

/* ---- sizes ---- */

/* *fault: null, or what the device cannot do. */
static hd_result ask_format(hd_vk *vk, const hdi_vk_key *key, const char **fault)
{
    hdi_vk_image_room room;
    const VkImageCreateInfo info = *hdi_vk_image_info(vk, key, &room);
    VkPhysicalDeviceImageFormatInfo2 ask = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
        .format = info.format,
        .type = info.imageType,
        .tiling = info.tiling,
        .usage = info.usage,
        .flags = info.flags,
    };
    VkImageFormatProperties2 can = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
    VkResult got = vk->in.vkGetPhysicalDeviceImageFormatProperties2(vk->physical_device, &ask, &can);
    *fault = NULL;
    if (got == VK_ERROR_OUT_OF_HOST_MEMORY || got == VK_ERROR_OUT_OF_DEVICE_MEMORY)
        return hdi_vk_result(vk, got, "vkGetPhysicalDeviceImageFormatProperties2");
    const VkImageFormatProperties *most = &can.imageFormatProperties;
    if (got != VK_SUCCESS)
        *fault = "this format with this usage, or with these flags";
    else if (key->width > most->maxExtent.width || key->height > most->maxExtent.height ||
             key->depth > most->maxExtent.depth)
        *fault = "images of this size";
    else if (key->mips > most->maxMipLevels || key->layers > most->maxArrayLayers)
        *fault = "so many mips or layers";
    else if (!(most->sampleCounts & key->samples))
        *fault = "this sample count";
    return HD_OK;
}

static void ask_driver(hd_vk *vk, const hdi_vk_key *key, VkMemoryRequirements *out)
{
    VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
    if (key->bits & HDI_VK_KEY_BUFFER) {
        VkBufferCreateInfo info = hdi_vk_buffer_info(vk, key);
        VkDeviceBufferMemoryRequirements ask = {.sType = VK_STRUCTURE_TYPE_DEVICE_BUFFER_MEMORY_REQUIREMENTS,
                                                .pCreateInfo = &info};
        vk->fn.vkGetDeviceBufferMemoryRequirements(vk->device, &ask, &needs);
    } else {
        hdi_vk_image_room room;
        VkDeviceImageMemoryRequirements ask = {.sType = VK_STRUCTURE_TYPE_DEVICE_IMAGE_MEMORY_REQUIREMENTS,
                                               .pCreateInfo = hdi_vk_image_info(vk, key, &room)};
        vk->fn.vkGetDeviceImageMemoryRequirements(vk->device, &ask, &needs);
    }
    *out = needs.memoryRequirements;
}

/* The lowest memory type that has all of wanted and most of the rest as hoped; UINT32_MAX: none. */
static uint32_t choose_type(const hd_vk *vk, uint32_t allowed, VkMemoryPropertyFlags wanted,
                            VkMemoryPropertyFlags hoped, VkMemoryPropertyFlags shunned)
{
    uint32_t best = UINT32_MAX, best_score = 0;
    for (uint32_t t = 0; t < vk->memory.memoryTypeCount; t++) {
        VkMemoryPropertyFlags has = vk->memory.memoryTypes[t].propertyFlags;
        const VkMemoryPropertyFlags never = VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                                            VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;
        if (!(allowed >> t & 1) || (has & wanted) != wanted || has & never)
            continue;
        uint32_t score = 1 + ((has & hoped) == hoped ? 2u : 0u) + ((has & shunned) == 0 ? 1u : 0u);
        if (score > best_score) {
            best = t;
            best_score = score;
        }
    }
    return best;
}

uint32_t hdi_vk_host_type(const hd_vk *vk, uint32_t allowed)
{
    return choose_type(vk, allowed, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                       VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0);
}

/* The needs of every way in which the resource may come to be made: sharing is decided by the plan, and a history is
 * cleared once, or copied. */
static hd_result measure(hd_vk *vk, const hdi_vk_key *key, hd_memory_need *need)
{
    bool buffer = key->bits & HDI_VK_KEY_BUFFER;
    if (buffer && key->bytes > vk->max_buffer_bytes)
        return hdi_vk_fail(vk, HD_UNSUPPORTED, HD_NONE, HD_NONE, "%s cannot make a buffer of %llu bytes",
                           vk->device_name, (unsigned long long)key->bytes);
    const char *fault = NULL;
    hd_result asked_format = buffer ? HD_OK : ask_format(vk, key, &fault);
    if (asked_format != HD_OK)
        return asked_format;
    hdi_vk_text format, usage;
    if (fault)
        return hdi_vk_fail(vk, HD_UNSUPPORTED, HD_NONE, HD_NONE,
                           "%s does not support %s (%s, %ux%ux%u, %s, flags 0x%x)", vk->device_name, fault,
                           hdi_vk_format_name(key->format, &format), key->width, key->height, key->depth,
                           hdi_vk_usage_names(key->usage, &usage), key->flags);
    uint64_t bytes = 0, alignment = 1;
    uint32_t allowed = UINT32_MAX;
    for (uint32_t way = 0; way < 4; way++) {
        hdi_vk_key variant = *key;
        variant.bits = (key->bits & ~(uint32_t)HDI_VK_KEY_CONCURRENT) | (way & 1 ? HDI_VK_KEY_CONCURRENT : 0u);
        if (way & 2 && !buffer)
            variant.usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
        VkMemoryRequirements asked;
        ask_driver(vk, &variant, &asked);
        bytes = asked.size > bytes ? asked.size : bytes;
        alignment = asked.alignment > alignment ? asked.alignment : alignment;
        allowed &= asked.memoryTypeBits;
    }
    bool host = key->bits & HDI_VK_KEY_HOST;
    uint32_t type =
        host ? hdi_vk_host_type(vk, allowed)
             : choose_type(vk, allowed, 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
    if (type == UINT32_MAX)
        return hdi_vk_fail(vk, HD_UNSUPPORTED, HD_NONE, HD_NONE, "%s has no memory type for a resource%s",
                           vk->device_name, host ? " that the host maps" : "");
    /* Images and buffers lie side by side in a heap: keep them on different pages of the granularity. */
    if (vk->limits.bufferImageGranularity > alignment)
        alignment = vk->limits.bufferImageGranularity;
    *need = (hd_memory_need){.bytes = bytes, .alignment = alignment, .heap = type + (host ? HDI_VK_HOST_HEAP : 0)};
    if (alignment > vk->alignment)
        vk->alignment = alignment;
    return HD_OK;
}

static hdi_vk_size *find_size(hdi_vk_size *sizes, uint32_t capacity, const hdi_vk_key *key)
{
    uint32_t at = (uint32_t)hdi_hash_bytes(key, sizeof(*key), 0) & (capacity - 1);
    while (sizes[at].used && memcmp(&sizes[at].key, key, sizeof(*key)) != 0)
        at = (at + 1) & (capacity - 1);
    return &sizes[at];
}

static hd_result grow_sizes(hd_vk *vk)
{
    if (vk->size_count * 2 < vk->size_capacity)
        return HD_OK;
    uint32_t capacity = vk->size_capacity ? vk->size_capacity * 2 : 64;
    hdi_vk_size *sizes = hdi_alloc(&vk->allocator, capacity * sizeof(*sizes), 64);
    if (!sizes)
        return HD_OUT_OF_MEMORY;
    memset(sizes, 0, capacity * sizeof(*sizes));
    for (uint32_t i = 0; i < vk->size_capacity; i++) {
        if (vk->sizes[i].used)
            *find_size(sizes, capacity, &vk->sizes[i].key) = vk->sizes[i];
    }
    hdi_free(&vk->allocator, vk->sizes, vk->size_capacity * sizeof(*sizes));
    vk->sizes = sizes;
    vk->size_capacity = capacity;
    return HD_OK;
}

hd_result hdi_vk_need_of(hd_vk *vk, const hdi_vk_key *key, hd_memory_need *need)
{
    pthread_mutex_lock(&vk->size_lock);
    hd_result result = grow_sizes(vk);
    if (result == HD_OK) {
        hdi_vk_size *size = find_size(vk->sizes, vk->size_capacity, key);
        if (!size->used) {
            size->key = *key;
            size->result = measure(vk, key, &size->need);
            size->used = size->result == HD_OK; /* no memory passes, and why not is said each time */
            vk->size_count += size->used;
        }
        *need = size->need;
        result = (hd_result)size->result;
    }
    pthread_mutex_unlock(&vk->size_lock);
    return result;
}

hd_result hdi_vk_size_of(const hd_resource_info *info, hd_memory_need *need, void *user)
{
    if (info->host_visible && !info->is_buffer)
        return hdi_vk_fail(user, HD_UNSUPPORTED, HD_NONE, HD_NONE,
                           "host passes use buffers, and images that the engine has mapped itself");
    hdi_vk_key key = hdi_vk_key_of(info);
    return hdi_vk_need_of(user, &key, need);
}

void hdi_vk_blame_use(hd_vk *vk, const hd_graph *graph)
{
    const hdi_decl decl = hdi_graph_decl(graph);
    uint32_t res = hd_graph_error(graph)->resource;
    if (!vk->failed || res >= decl.res_count || decl.res_flags[res] & HDI_RES_BUFFER)
        return;
    hd_resource_info info;
    hdi_resource_info(&decl, res, &info);
    for (uint32_t u = 0; u < decl.use_count; u++) {
        uint32_t pass = decl.use_pass[u];
        hdi_vk_key key = hdi_vk_key_of(&info);
        const char *fault, *name = decl.pass_exec[pass].name;
        hdi_vk_text usage, format;
        if (decl.use_res[u] == res && decl.pass_type[pass] == HD_PASS_HOST) {
            hdi_vk_blame(vk, pass, u - decl.pass_use_begin[pass], "pass %u '%s' is a host pass", pass,
                         name ? name : "");
            return;
        }
        key.usage = decl.access[decl.use_access[u]].image_usage;
        if (decl.use_res[u] != res || !key.usage || ask_format(vk, &key, &fault) != HD_OK || !fault)
            continue;
        hdi_vk_blame(vk, pass, u - decl.pass_use_begin[pass], "pass %u '%s' uses %s for %s", pass, name ? name : "",
                     hdi_vk_format_name(info.format, &format), hdi_vk_usage_names(key.usage, &usage));
        return;
    }
}

void hdi_vk_free_sizes(hd_vk *vk)
{
    hdi_free(&vk->allocator, vk->sizes, vk->size_capacity * sizeof(*vk->sizes));
}

/* ---- heaps ---- */

static uint64_t *bytes_like(hd_vk *vk, const hdi_vk_heap *heap)
{
    return heap->flags & HDI_VK_HEAP_HISTORIES ? &vk->stats.history_bytes : &vk->stats.heap_bytes;
}

static void free_heap(hd_vk *vk, hdi_vk_heap *heap)
{
    hdi_vk_drop_heap_objects(vk, heap->serial);
    hdi_vk_piece_free(vk, &heap->at);
    *bytes_like(vk, heap) -= heap->bytes;
    hdi_free(&vk->allocator, heap->spans, heap->span_capacity * sizeof(*heap->spans));
    hdi_free(&vk->allocator, heap, sizeof(*heap));
}

void hdi_vk_sweep_heaps(hd_vk *vk, uint64_t age)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < vk->heap_count; i++) {
        hdi_vk_heap *heap = vk->heaps[i];
        /* Frame vk->frame - 1 waited for the one that is slot_count before it. */
        uint64_t wait = heap->retired ? vk->slot_count : age;
        if (age == 0 || (!heap->histories && heap->last_frame + wait < vk->frame))
            free_heap(vk, heap);
        else
            vk->heaps[kept++] = heap;
    }
    vk->heap_count = kept;
    if (age == 0) {
        hdi_free(&vk->allocator, vk->heaps, vk->heap_capacity * sizeof(*vk->heaps));
        vk->heaps = NULL;
        vk->heap_capacity = 0;
    }
}

static uint32_t ordinal_of(const hd_plan_view *plan, uint32_t index)
{
    uint32_t ordinal = 0;
    for (uint32_t i = 0; i < index; i++)
        ordinal +=
            plan->heaps[i].memory == plan->heaps[index].memory && plan->heaps[i].flags == plan->heaps[index].flags;
    return ordinal;
}

/* Whether the frame's plan, or what is alike in the next one, can use it, of whichever copy it is. */
static bool is_wanted(const hdi_vk_frame *frame, const hdi_vk_heap *heap)
{
    bool wanted = heap->histories != 0;
    for (uint32_t i = 0; i < frame->plan.heap_count && !wanted; i++) {
        const hd_plan_heap *plan = &frame->plan.heaps[i];
        wanted = frame->kept->heap_used[i] && plan->bytes <= heap->bytes && plan->memory == heap->number &&
                 plan->flags == heap->flags && ordinal_of(&frame->plan, i) == heap->ordinal;
    }
    return wanted && !heap->retired;
}

/* When the device is full, heaps, histories and staging memory that this frame does without may be what fills it: wait
 * for the frames that use them and try again. */
static VkResult allocate(const hdi_vk_frame *frame, const hd_vk_memory_request *request, hd_vk_memory *out)
{
    hd_vk *vk = frame->vk;
    VkResult result = hdi_vk_piece_allocate(vk, request, out);
    if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY)
        return result;
    if (hdi_vk_wait_all(vk) != HD_OK)
        return result;
    hdi_vk_drop_other_histories(vk);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < vk->heap_count; i++) {
        if (is_wanted(frame, vk->heaps[i]))
            vk->heaps[kept++] = vk->heaps[i];
        else
            free_heap(vk, vk->heaps[i]);
    }
    vk->heap_count = kept;
    hdi_vk_sweep_staging(vk, 0);
    return hdi_vk_piece_allocate(vk, request, out);
}

static uint64_t alignment_of(hd_vk *vk)
{
    pthread_mutex_lock(&vk->size_lock);
    uint64_t alignment = vk->alignment;
    pthread_mutex_unlock(&vk->size_lock);
    return alignment;
}

/* like: what it is to stand for. smaller: it could do without, so that no memory is no error, and nothing is waited
 * for. */
static hd_result make_heap(const hdi_vk_frame *frame, const hdi_vk_heap *like, bool smaller, hdi_vk_heap **out)
{
    hd_vk *vk = frame->vk;
    if (vk->max_piece_bytes && like->bytes > vk->max_piece_bytes)
        return hdi_vk_fail(vk, HD_UNSUPPORTED, HD_NONE, HD_NONE,
                           "the plan needs a heap of %llu bytes; %s allocates at most %llu at once",
                           (unsigned long long)like->bytes, vk->device_name, (unsigned long long)vk->max_piece_bytes);
    hd_result result =
        hdi_grow(&vk->allocator, (void **)&vk->heaps, &vk->heap_capacity, vk->heap_count + 1, sizeof(*vk->heaps));
    hdi_vk_heap *heap = result == HD_OK ? hdi_alloc(&vk->allocator, sizeof(*heap), 64) : NULL;
    if (!heap)
        return HD_OUT_OF_MEMORY;
    *heap = *like;
    hd_vk_memory_request request = {
        .bytes = like->bytes,
        .alignment = alignment_of(vk),
        .type = like->number & (HDI_VK_HOST_HEAP - 1),
        .mapped = like->number >= HDI_VK_HOST_HEAP,
    };
    if (smaller)
        result = hdi_vk_piece_allocate(vk, &request, &heap->at) == VK_SUCCESS ? HD_OK : HD_OUT_OF_DEVICE_MEMORY;
    else
        result = hdi_vk_piece_result(vk, allocate(frame, &request, &heap->at));
    if (result != HD_OK) {
        hdi_free(&vk->allocator, heap, sizeof(*heap));
        return result;
    }
    heap->serial = ++vk->heap_serial;
    *bytes_like(vk, heap) += heap->bytes;
    vk->heaps[vk->heap_count++] = heap;
    *out = heap;
    return HD_OK;
}

hd_result hdi_vk_make_heap(const hdi_vk_frame *frame, const hdi_vk_heap *like, hdi_vk_heap **out)
{
    return make_heap(frame, like, false, out);
}

enum { SHRINK_FRAMES = 256, WORTH_BYTES = 16 << 20 };

/* Whether a heap, which a larger frame made, may go: for SHRINK_FRAMES no frame needed more than half of it. */
static bool too_large(const hdi_vk_frame *frame, uint32_t index, hdi_vk_heap *heap)
{
    hd_vk *vk = frame->vk;
    uint64_t needed = frame->plan.heaps[index].bytes;
    if (needed > heap->bytes / 2) {
        heap->since = vk->frame;
        heap->most = 0;
        return false;
    }
    heap->most = needed > heap->most ? needed : heap->most;
    return vk->frame - heap->since >= SHRINK_FRAMES && heap->bytes - heap->most >= WORTH_BYTES;
}

/* The heap that the frame uses where this one does: itself, or a smaller one in its place. The large one lives until
 * the frames in flight are done with it. */
static hdi_vk_heap *shrink(const hdi_vk_frame *frame, uint32_t index, hdi_vk_heap *heap)
{
    hd_vk *vk = frame->vk;
    if (!too_large(frame, index, heap))
        return heap;
    hdi_vk_heap *made, like = {.bytes = heap->most,
                               .number = heap->number,
                               .flags = heap->flags,
                               .ordinal = heap->ordinal,
                               .copy = heap->copy,
                               .since = vk->frame};
    heap->since = vk->frame; /* where there is no memory for both, they are tried again later */
    heap->most = 0;
    if (make_heap(frame, &like, true, &made) != HD_OK)
        return heap;
    heap->retired = true;
    return made;
}

void hdi_vk_shrink_soon(hd_vk *vk)
{
    for (uint32_t i = 0; i < vk->heap_count; i++)
        vk->heaps[i]->since = vk->frame - SHRINK_FRAMES; /* may wrap round, and back where it is compared */
}

static hd_result realise_heap(hdi_vk_frame *frame, uint32_t index, uint64_t alignment)
{
    hd_vk *vk = frame->vk;
    const hd_plan_heap *plan = &frame->plan.heaps[index];
    uint32_t ordinal = ordinal_of(&frame->plan, index);
    uint32_t copy = (uint32_t)(vk->frame % vk->copy_count);
    frame->heaps[index] = NULL;
    if (!frame->kept->heap_used[index])
        return HD_OK;
    if ((plan->memory & (HDI_VK_HOST_HEAP - 1)) >= vk->memory.memoryTypeCount || plan->memory >= 2 * HDI_VK_HOST_HEAP)
        return hdi_vk_fail(vk, HD_INVALID_ARGUMENT, HD_NONE, HD_NONE,
                           "the plan was not compiled for this device: heap %u has memory %u", index, plan->memory);
    for (uint32_t i = 0; i < vk->heap_count; i++) {
        hdi_vk_heap *heap = vk->heaps[i];
        if (heap->retired || heap->number != plan->memory || heap->flags != plan->flags || heap->ordinal != ordinal ||
            heap->copy != copy)
            continue;
        if (heap->bytes >= plan->bytes && heap->at.offset % alignment == 0) {
            frame->heaps[index] = shrink(frame, index, heap);
            frame->heaps[index]->last_frame = vk->frame;
            return HD_OK;
        }
        heap->retired = true;
    }
    const hdi_vk_heap like = {.bytes = plan->bytes,
                              .number = plan->memory,
                              .flags = plan->flags,
                              .ordinal = ordinal,
                              .copy = copy,
                              .since = vk->frame,
                              .last_frame = vk->frame};
    return make_heap(frame, &like, false, &frame->heaps[index]);
}

/* Memory of the engine begins anywhere, so it must suit the most exacting of the resources that lie in it. A plan need
 * not have been compiled with this hd_vk's sizes: then they are asked for here. */
static hd_result know_alignments(hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    hd_result result = HD_OK;
    if (!vk->memory_callbacks.allocate || vk->aligned_plan == frame->plan.hash)
        return HD_OK;
    for (uint32_t i = 0; i < frame->plan.resource_count && result == HD_OK; i++) {
        hd_resource_info info;
        hd_memory_need need;
        if (frame->plan.resources[i].heap == HD_NONE)
            continue;
        hdi_resource_info(&frame->decl, frame->plan.resources[i].id, &info);
        result = hdi_vk_size_of(&info, &need, vk);
    }
    if (result == HD_OK)
        vk->aligned_plan = frame->plan.hash;
    return result;
}

hd_result hdi_vk_realise_heaps(hdi_vk_frame *frame)
{
    hd_result result = know_alignments(frame);
    uint64_t alignment = alignment_of(frame->vk);
    for (uint32_t i = 0; i < frame->plan.heap_count && result == HD_OK; i++)
        result = realise_heap(frame, i, alignment);
    return result;
}
