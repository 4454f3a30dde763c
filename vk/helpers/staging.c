#include "state.h"

#include "alloc.h"
#include "graph_state.h"

/* What helpers keep from their declaration until the frame has finished: parameters in an arena, uploaded bytes in
 * chunks of mapped memory. There is one set more than frames in flight: the one that is filled for the next frame
 * belonged to a frame for which hd_vk_execute has waited. A frame that was declared and never executed, as while a
 * window has no image, leaves it to the graph's next one, unless several graphs fill it: any of them may be executed.
 * Chunks are filled one after another and never freed before the end: steady uploads allocate nothing. */

enum { CHUNK_BYTES = 1 << 20 };
/* Copies want offsets that are multiples of a texel, which may have 3, 6 or 12 bytes, and like those of a cache line.
 */
enum { ALIGNMENT = 3 * 64 };

hdi_vk_help *hdi_vk_help_now(hd_vk *vk, const hd_graph *graph)
{
    hdi_vk_help *help = &vk->help[vk->frame % (vk->slot_count + 1)];
    bool begun = help->graph == graph && help->tag != graph->tag && !help->several;
    if (help->frame != vk->frame || begun) {
        hdi_arena_reset(&help->arena);
        help->current = help->chunks;
        if (help->current)
            help->current->used = 0;
        help->frame = vk->frame;
        help->several = false;
    } else if (help->graph != graph && help->graph) {
        help->several = true;
    }
    help->graph = graph;
    help->tag = graph->tag;
    return help;
}

static void free_chunk(hd_vk *vk, hdi_vk_chunk *chunk)
{
    if (chunk->buffer)
        vk->fn.vkDestroyBuffer(vk->device, chunk->buffer, NULL);
    if (chunk->at.memory)
        hdi_vk_piece_free(vk, &chunk->at);
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
    result = hdi_vk_piece_result(vk, hdi_vk_piece_allocate(vk, &request, &chunk->at));
    if (result == HD_OK)
        result =
            hdi_vk_result(vk, vk->fn.vkBindBufferMemory(vk->device, chunk->buffer, chunk->at.memory, chunk->at.offset),
                          "vkBindBufferMemory");
    hdi_vk_name(vk, VK_OBJECT_TYPE_BUFFER, (uint64_t)(uintptr_t)chunk->buffer, "staging");
    return result;
}

static hd_result make_chunk(hd_vk *vk, uint64_t bytes, hdi_vk_chunk **out)
{
    hdi_vk_chunk *chunk = hdi_alloc(&vk->allocator, sizeof(*chunk), 64);
    if (!chunk)
        return HD_OUT_OF_MEMORY;
    *chunk = (hdi_vk_chunk){.bytes = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES};
    hd_result result = fill_chunk(vk, chunk);
    if (result != HD_OK)
        free_chunk(vk, chunk);
    else
        *out = chunk;
    return result;
}

hd_result hdi_vk_stage(hd_vk *vk, const hd_graph *graph, uint64_t bytes, hdi_vk_chunk **chunk, uint64_t *offset)
{
    hdi_vk_help *help = hdi_vk_help_now(vk, graph);
    hdi_vk_chunk *at = help->current;
    while (at && at->bytes - at->used < bytes && at->next) {
        at = at->next;
        at->used = 0;
    }
    if (!at || at->bytes - at->used < bytes) { /* behind the last */
        hdi_vk_chunk *made;
        hd_result result = make_chunk(vk, bytes, &made);
        if (result != HD_OK)
            return result;
        *(at ? &at->next : &help->chunks) = made;
        at = made;
    }
    help->current = at;
    *chunk = at;
    *offset = at->used;
    uint64_t end = at->used + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    at->used = end < at->bytes ? end : at->bytes;
    return HD_OK;
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
        for (hdi_vk_chunk *chunk = vk->help[i].chunks, *next; chunk; chunk = next) {
            next = chunk->next;
            free_chunk(vk, chunk);
        }
    }
}
