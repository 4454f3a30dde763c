#include "vk_device.h"
#include "vk_memory.h"
#include "vk_timing.h"

#include "alloc.h"
#include "graph_state.h"

/* What helpers keep from their declaration until the frame has finished: parameters in an arena, uploaded bytes in
 * chunks of mapped memory. There is one set more than frames in flight: the one that is filled for the next frame
 * belonged to a frame for which hd_vk_execute has waited. A frame that was declared and never executed, as while a
 * window has no image, leaves it to the graph's next one, unless several graphs fill it: any of them may be executed.
 *
 * Chunks of finished frames are idle: any later frame takes the smallest that is large enough, but none that is more
 * than twice as large as it needs to be, so that what one large upload took is not held by small ones. Steady uploads
 * allocate nothing, and what is idle for long is freed. */

enum { CHUNK_BYTES = 1 << 20, ALIGNMENT = HDI_VK_STAGING_ALIGNMENT };

static void give_back(hd_vk *vk, hdi_vk_help *help)
{
    for (hdi_vk_chunk *chunk = help->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        chunk->next = vk->idle_chunks;
        vk->idle_chunks = chunk;
    }
    help->chunks = NULL;
}

hdi_vk_help *hdi_vk_help_now(hd_vk *vk, const hd_graph *graph)
{
    hdi_vk_help *help = &vk->help[vk->frame % (vk->slot_count + 1)];
    bool begun = help->graph == graph && help->tag != graph->tag && !help->stays;
    if (help->frame != vk->frame || begun) {
        hdi_arena_reset(&help->arena);
        give_back(vk, help);
        help->frame = vk->frame;
        help->stays = false;
    } else if (help->graph != graph && help->graph) {
        help->stays = true;
    }
    help->graph = graph;
    help->tag = graph->tag;
    return help;
}

void hdi_vk_chunk_free(hd_vk *vk, hdi_vk_chunk *chunk)
{
    if (chunk->buffer)
        vk->fn.vkDestroyBuffer(vk->device, chunk->buffer, NULL);
    if (chunk->at.memory) {
        hdi_vk_piece_free(vk, &chunk->at);
        vk->stats.staging_bytes -= chunk->bytes;
    }
    hdi_free(&vk->allocator, chunk, sizeof(*chunk));
}

static hd_result fill_chunk(hd_vk *vk, hdi_vk_chunk *chunk)
{
    hdi_vk_key key = {.bytes = chunk->bytes,
                      .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                      .bits = HDI_VK_KEY_BUFFER | HDI_VK_KEY_HOST | HDI_VK_KEY_CONCURRENT};
    VkBufferCreateInfo info = hdi_vk_buffer_info(vk, &key);
    hd_result result =
        hdi_vk_result(vk, vk->fn.vkCreateBuffer(vk->device, &info, NULL, &chunk->buffer), "vkCreateBuffer");
    if (result != HD_OK) {
        chunk->buffer = VK_NULL_HANDLE;
        return result;
    }
    VkMemoryRequirements needs;
    vk->fn.vkGetBufferMemoryRequirements(vk->device, chunk->buffer, &needs);
    uint32_t type = hdi_vk_host_type(vk, needs.memoryTypeBits);
    if (type == UINT32_MAX)
        return HD_UNSUPPORTED;
    hd_vk_memory_request request = {needs.size, needs.alignment, type, true};
    VkResult allocated = hdi_vk_piece_allocate(vk, &request, &chunk->at);
    if (allocated == VK_ERROR_OUT_OF_DEVICE_MEMORY && vk->idle_chunks) { /* all of them are too small, or too large */
        hdi_vk_sweep_staging(vk, vk->slot_count);
        allocated = hdi_vk_piece_allocate(vk, &request, &chunk->at);
    }
    result = hdi_vk_piece_result(vk, allocated);
    if (result == HD_OK)
        vk->stats.staging_bytes += chunk->bytes;
    if (result == HD_OK)
        result =
            hdi_vk_result(vk, vk->fn.vkBindBufferMemory(vk->device, chunk->buffer, chunk->at.memory, chunk->at.offset),
                          "vkBindBufferMemory");
    hdi_vk_name(vk, VK_OBJECT_TYPE_BUFFER, (uint64_t)(uintptr_t)chunk->buffer, "staging");
    return result;
}

hd_result hdi_vk_chunk_make(hd_vk *vk, uint64_t bytes, hdi_vk_chunk **out)
{
    hdi_vk_chunk *chunk = hdi_alloc(&vk->allocator, sizeof(*chunk), 64);
    if (!chunk)
        return HD_OUT_OF_MEMORY;
    *chunk = (hdi_vk_chunk){.bytes = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES};
    hd_result result = fill_chunk(vk, chunk);
    if (result != HD_OK)
        hdi_vk_chunk_free(vk, chunk);
    else
        *out = chunk;
    return result;
}

/* The smallest of the idle ones that is large enough, and not too large; null: none. */
static hdi_vk_chunk *take_idle(hd_vk *vk, uint64_t bytes)
{
    uint64_t most = 2 * bytes > CHUNK_BYTES ? 2 * bytes : CHUNK_BYTES;
    hdi_vk_chunk **best = NULL;
    for (hdi_vk_chunk **link = &vk->idle_chunks; *link; link = &(*link)->next) {
        if ((*link)->bytes >= bytes && (*link)->bytes <= most && (!best || (*link)->bytes < (*best)->bytes))
            best = link;
    }
    hdi_vk_chunk *chunk = best ? *best : NULL;
    if (chunk)
        *best = chunk->next;
    return chunk;
}

static uint64_t room_in(const hdi_vk_chunk *chunk)
{
    return chunk ? chunk->bytes - chunk->used : 0;
}

hd_result hdi_vk_stage(hd_vk *vk, const hd_graph *graph, uint64_t bytes, hdi_vk_chunk **out, uint64_t *offset)
{
    hdi_vk_help *help = hdi_vk_help_now(vk, graph);
    hdi_vk_chunk *first = help->chunks, *chunk = first;
    if (!first || room_in(first) < bytes) {
        hd_result result = HD_OK;
        chunk = take_idle(vk, bytes);
        if (!chunk)
            result = hdi_vk_chunk_make(vk, bytes, &chunk);
        if (result != HD_OK)
            return result;
        chunk->used = 0;
        chunk->last_frame = vk->frame;
    }
    *out = chunk;
    *offset = chunk->used;
    uint64_t end = chunk->used + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    chunk->used = end < chunk->bytes ? end : chunk->bytes;
    if (chunk != first) {
        hdi_vk_chunk **link = room_in(chunk) >= room_in(first) ? &help->chunks : &first->next;
        chunk->next = *link;
        *link = chunk;
    }
    return HD_OK;
}

static void free_idle(hd_vk *vk, uint64_t age)
{
    for (hdi_vk_chunk **link = &vk->idle_chunks, *chunk; (chunk = *link);) {
        if (chunk->last_frame + age <= vk->frame) {
            *link = chunk->next;
            hdi_vk_chunk_free(vk, chunk);
        } else {
            link = &chunk->next;
        }
    }
}

void hdi_vk_sweep_staging(hd_vk *vk, uint64_t age)
{
    uint64_t unfinished = age < vk->slot_count ? age : vk->slot_count;
    for (uint32_t i = 0; i <= vk->slot_count; i++) {
        if (vk->help[i].frame + unfinished < vk->frame)
            give_back(vk, &vk->help[i]);
    }
    free_idle(vk, age);
}

void hdi_vk_help_open(hd_vk *vk)
{
    for (uint32_t i = 0; i <= vk->slot_count; i++)
        hdi_arena_init(&vk->help[i].arena, &vk->allocator);
}

void hdi_vk_help_close(hd_vk *vk)
{
    for (uint32_t i = 0; i <= vk->slot_count; i++) {
        hdi_arena_free(&vk->help[i].arena);
        give_back(vk, &vk->help[i]);
    }
    free_idle(vk, 0);
}
