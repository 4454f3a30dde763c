#include "engine.h"

#include <stdlib.h>

/* Step 3: memory. CPU memory goes through two callbacks that count. Device memory comes in blocks of one memory type,
 * each divided into pieces by first fit; the engine's own images and buffers come from the same blocks as what heddle
 * asks for. */

#define BLOCK_BYTES (16ull << 20)

struct piece { /* of a block, in use */
    uint64_t offset, bytes;
    struct piece *next; /* ascending by offset */
};

struct block {
    VkDeviceMemory memory;
    uint8_t *mapped;
    uint32_t type;
    uint64_t bytes;
    struct piece *pieces;
    struct block *next;
};

/* ---- CPU ---- */

static void *cpu_alloc(size_t bytes, size_t alignment, void *user)
{
    struct memory *memory = user;
    void *pointer = NULL;
    if (posix_memalign(&pointer, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) != 0)
        return NULL;
    unsigned long long now = atomic_fetch_add(&memory->cpu_bytes, bytes) + bytes, most = memory->cpu_most;
    while (now > most && !atomic_compare_exchange_weak(&memory->cpu_most, &most, now)) {
    }
    return pointer;
}

static void cpu_free(void *pointer, size_t bytes, void *user)
{
    struct memory *memory = user;
    atomic_fetch_sub(&memory->cpu_bytes, bytes);
    free(pointer);
}

hd_allocator memory_for_heddle(struct memory *memory)
{
    return (hd_allocator){cpu_alloc, cpu_free, memory};
}

/* ---- device ---- */

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* The first gap of the block that is wide enough. */
static bool take_piece(struct block *block, uint64_t bytes, uint64_t alignment, struct piece *piece)
{
    struct piece **at = &block->pieces;
    uint64_t begin = 0;
    for (; *at; at = &(*at)->next) {
        if (begin + bytes <= (*at)->offset)
            break;
        begin = align_up((*at)->offset + (*at)->bytes, alignment);
    }
    if (begin + bytes > block->bytes)
        return false;
    *piece = (struct piece){begin, bytes, *at};
    *at = piece;
    return true;
}

static VkResult add_block(struct memory *memory, uint32_t type, bool mapped, uint64_t bytes)
{
    struct block *block = calloc(1, sizeof *block);
    if (!block)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    block->type = type;
    block->bytes = bytes;
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = bytes, .memoryTypeIndex = type};
    VkResult result = vkAllocateMemory(memory->device, &info, NULL, &block->memory);
    if (result == VK_SUCCESS && mapped)
        result = vkMapMemory(memory->device, block->memory, 0, VK_WHOLE_SIZE, 0, (void **)&block->mapped);
    if (result != VK_SUCCESS) {
        vkFreeMemory(memory->device, block->memory, NULL);
        free(block);
        return result;
    }
    memory->gpu_bytes += bytes;
    block->next = memory->blocks;
    memory->blocks = block;
    return VK_SUCCESS;
}

static VkResult allocate_locked(struct memory *memory, const hd_vk_memory_request *request, hd_vk_memory *out)
{
    /* Images and buffers may lie side by side in a block: whole grains keep them apart. */
    uint64_t grain = memory->granularity;
    uint64_t alignment = request->alignment > grain ? request->alignment : grain;
    uint64_t bytes = align_up(request->bytes, grain);
    struct piece *piece = malloc(sizeof *piece);
    if (!piece)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t attempt = 0; attempt < 2; attempt++) {
        for (struct block *block = memory->blocks; block; block = block->next) {
            if (block->type != request->type || (request->mapped && !block->mapped) ||
                !take_piece(block, bytes, alignment, piece))
                continue;
            memory->gpu_used += bytes;
            memory->gpu_most = memory->gpu_used > memory->gpu_most ? memory->gpu_used : memory->gpu_most;
            *out = (hd_vk_memory){block->memory, piece->offset, block->mapped ? block->mapped + piece->offset : NULL,
                                  piece};
            return VK_SUCCESS;
        }
        VkResult result =
            add_block(memory, request->type, request->mapped, bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES);
        if (result != VK_SUCCESS) {
            free(piece);
            return result;
        }
    }
    free(piece);
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

static void free_locked(struct memory *memory, const hd_vk_memory *given)
{
    for (struct block **b = &memory->blocks; *b; b = &(*b)->next) {
        struct block *block = *b;
        struct piece **at = &block->pieces;
        while (*at && *at != given->handle)
            at = &(*at)->next;
        if (!*at)
            continue;
        struct piece *piece = *at;
        memory->gpu_used -= piece->bytes;
        *at = piece->next;
        free(piece);
        if (!block->pieces) {
            *b = block->next;
            memory->gpu_bytes -= block->bytes;
            vkFreeMemory(memory->device, block->memory, NULL);
            free(block);
        }
        return;
    }
}

/* heddle calls these from inside of its own calls, on the thread that made the call; the engine's streaming calls them
 * from others, hence the lock. */
static VkResult device_allocate(const hd_vk_memory_request *request, hd_vk_memory *out, void *user)
{
    struct memory *memory = user;
    pthread_mutex_lock(&memory->lock);
    VkResult result = allocate_locked(memory, request, out);
    pthread_mutex_unlock(&memory->lock);
    return result;
}

static void device_free(const hd_vk_memory *piece, void *user)
{
    struct memory *memory = user;
    pthread_mutex_lock(&memory->lock);
    free_locked(memory, piece);
    pthread_mutex_unlock(&memory->lock);
}

hd_vk_memory_callbacks memory_for_heddle_device(struct memory *memory)
{
    return (hd_vk_memory_callbacks){device_allocate, device_free, memory};
}

VkResult memory_allocate(struct memory *memory, const VkMemoryRequirements *need, hd_vk_memory *out)
{
    for (uint32_t type = 0; type < memory->properties.memoryTypeCount; type++) {
        VkMemoryPropertyFlags flags = memory->properties.memoryTypes[type].propertyFlags;
        if (need->memoryTypeBits & 1u << type && flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
            return device_allocate(&(hd_vk_memory_request){need->size, need->alignment, type, false}, out, memory);
    }
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

void memory_free(struct memory *memory, const hd_vk_memory *piece)
{
    device_free(piece, memory);
}

void memory_open(struct memory *memory, const struct device *device)
{
    pthread_mutex_init(&memory->lock, NULL);
    memory->device = device->device;
    vkGetPhysicalDeviceMemoryProperties(device->physical, &memory->properties);
    memory->granularity = device->properties.limits.bufferImageGranularity;
    if (memory->granularity < 256)
        memory->granularity = 256;
}

bool memory_close(struct memory *memory)
{
    if (memory->device)
        pthread_mutex_destroy(&memory->lock);
    return !memory->blocks && memory->cpu_bytes == 0;
}
