#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "vk_fixture.h"

/* Eight threads hand data over while frames move it, for ThreadSanitizer: each writes pieces of its own part of one
 * buffer, again and again, asks for tokens and drops some; every word of the buffer must be one that was handed over
 * for its place, and the last round's in the end. Without validation, whose own threads are not built for it. */

enum { THREADS = 8, PIECES = 16, WORDS = 64, ROUNDS = 12, PART = PIECES * WORDS, ALL = THREADS * PART };

typedef struct world {
    hd_vk *vk;
    hd_import_desc buffer;
    atomic_uint bad, busy, running;
    uint32_t frames, reads;
} world;

typedef struct loader {
    world *w;
    uint32_t number;
} loader;

static uint32_t word_of(uint32_t at, uint32_t round)
{
    return at << 8 | round;
}

static void hand_over(world *w, uint32_t begin, uint32_t round, hd_vk_token *token)
{
    uint32_t words[WORDS];
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = word_of(begin + i, round);
    hd_vk_upload_desc desc = {
        .target = w->buffer, .range = {.offset = begin * 4}, .data = words, .bytes = sizeof(words)};
    hd_result result;
    while ((result = hd_vk_upload_async(w->vk, &desc, token)) == HD_BUSY) {
        atomic_fetch_add(&w->busy, 1);
        sched_yield(); /* frames go on meanwhile */
    }
    if (result != HD_OK)
        atomic_fetch_add(&w->bad, 1);
}

static void *load(void *user)
{
    const loader *l = user;
    hd_vk_token token, before = {0};
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        for (uint32_t piece = 0; piece < PIECES; piece++) {
            uint32_t begin = l->number * PART + piece * WORDS;
            hand_over(l->w, begin, round, &token);
            if (before.id && hd_vk_upload_done(l->w->vk, before, NULL) == HD_VK_UPLOAD_NONE)
                atomic_fetch_add(&l->w->bad, 1);
            if (piece % 5 == 4 && hd_vk_upload_drop(l->w->vk, token) == HD_VK_UPLOAD_DONE)
                hand_over(l->w, begin, round, &token);
            before = token;
        }
    }
    atomic_fetch_sub(&l->w->running, 1);
    return NULL;
}

static void look(const void *data, uint64_t bytes, void *user)
{
    world *w = user;
    const uint32_t *words = data;
    w->reads++;
    for (uint32_t i = 0; i < bytes / 4; i++) {
        bool whole = words[i] >> 8 == i && (words[i] & 255) == (words[i - i % WORDS] & 255);
        if (!whole && words[i] != 0)
            atomic_fetch_add(&w->bad, 1);
    }
}

static void look_last(const void *data, uint64_t bytes, void *user)
{
    world *w = user;
    const uint32_t *words = data;
    w->reads++;
    for (uint32_t i = 0; i < bytes / 4; i++) {
        if (words[i] != word_of(i, ROUNDS))
            atomic_fetch_add(&w->bad, 1);
    }
}

static hd_result frame(world *w, hd_graph *graph, uint64_t budget, hd_vk_readback_fn fn)
{
    hd_graph_begin(graph);
    hd_resource words = hd_graph_import(graph, &w->buffer);
    if (w->frames == 0)
        hd_vk_fill(w->vk, graph, words, NULL, 0, NULL);
    hd_vk_upload_some(w->vk, graph, budget);
    hd_vk_readback(w->vk, graph, words, NULL, fn, w, NULL);
    w->frames++;
    return hdt_frame(w->vk, graph);
}

#define FN(info, name) ((PFN_##name)(info)->get_instance_proc((info)->instance, #name))

static hd_result make_buffer(world *w, const hd_vk_info *info, VkDeviceMemory *memory)
{
    VkBufferCreateInfo made = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = ALL * 4,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer buffer;
    VkMemoryRequirements needs;
    if (FN(info, vkCreateBuffer)(info->device, &made, NULL, &buffer) != VK_SUCCESS)
        return HD_OUT_OF_MEMORY;
    FN(info, vkGetBufferMemoryRequirements)(info->device, buffer, &needs);
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
    while (!(needs.memoryTypeBits >> allocate.memoryTypeIndex & 1))
        allocate.memoryTypeIndex++;
    if (FN(info, vkAllocateMemory)(info->device, &allocate, NULL, memory) != VK_SUCCESS ||
        FN(info, vkBindBufferMemory)(info->device, buffer, *memory, 0) != VK_SUCCESS)
        return HD_OUT_OF_MEMORY;
    w->buffer = (hd_import_desc){.name = "words", .buffer = (void *)buffer, .bytes = ALL * 4};
    return HD_OK;
}

int main(void)
{
    static world w;
    hd_jobs *jobs = NULL;
    hd_graph *graph = NULL;
    hd_vk_info info;
    VkDeviceMemory memory;
    hdt_vk_keep_libraries();
    if (hd_jobs_create(&(hd_jobs_desc){.worker_count = 3}, &jobs) != HD_OK || hd_graph_create(NULL, &graph) != HD_OK)
        return 1;
    hd_result result = hd_vk_create(&(hd_vk_desc){.jobs = jobs, .upload_bytes = 16384, .log = hdt_log()}, &w.vk);
    if (hdt_vk_none(result)) {
        printf("no Vulkan 1.3 device\n");
        return 0;
    }
    if (result == HD_OK) {
        hd_vk_info_get(w.vk, &info);
        result = make_buffer(&w, &info, &memory);
    }
    pthread_t threads[THREADS];
    loader loaders[THREADS];
    atomic_store(&w.running, THREADS);
    for (uint32_t t = 0; t < THREADS && result == HD_OK; t++) {
        loaders[t] = (loader){&w, t};
        if (pthread_create(&threads[t], NULL, load, &loaders[t]) != 0)
            return 1;
    }
    bool failed = result != HD_OK;
    while (atomic_load(&w.running) && !failed)
        failed = frame(&w, graph, 4096, look) != HD_OK;
    for (uint32_t t = 0; t < THREADS && !failed; t++)
        pthread_join(threads[t], NULL);
    failed |= !failed && frame(&w, graph, UINT64_MAX, look_last) != HD_OK;
    failed |= hd_vk_wait(w.vk) != HD_OK || w.reads != w.frames;
    failed |= atomic_load(&w.bad) != 0;
    printf("%u frames, %u times full, %u wrong words\n", w.frames, atomic_load(&w.busy), atomic_load(&w.bad));
    printf("%d passed, %d failed\n", !failed, failed);
    if (w.buffer.buffer) {
        FN(&info, vkDestroyBuffer)(info.device, (VkBuffer)w.buffer.buffer, NULL);
        FN(&info, vkFreeMemory)(info.device, memory, NULL);
    }
    hd_vk_destroy(w.vk);
    hd_graph_destroy(graph);
    hd_jobs_destroy(jobs);
    return failed;
}
