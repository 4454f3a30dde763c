#include "gpu_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "measure.h"

#include "tiny_comp.h"

/* One source, LAYERS layers of WIDTH passes, one sink. A pass reads what two passes of the layer before it made; every
 * fourth layer has a fill in the place of its last dispatch. By hand: the layers one after another, one memory barrier
 * between two of them, with the stages that write above it and those that read below it. heddle finds
 * its barriers from what the passes use, once with the memory that it takes of itself and once with a budget of memory
 * for few barriers. */

#define LAYERS 33u
#define WIDTH 6u
#define PASSES (LAYERS * WIDTH + 2u)
#define WORDS 64u
#define BYTES (WORDS * 4u)
#define SINK (PASSES - 1u)

typedef struct tiny tiny;

typedef struct tiny_pass {
    tiny *all;
    uint32_t index, from[2];
    bool fill;
    VkDescriptorSet sets[2]; /* heddle's, and by hand */
    VkBuffer bound[3];       /* what heddle's set holds */
    hd_resource made;
} tiny_pass;

struct tiny {
    hdb_device device;
    hd_graph *graph;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool pool;
    VkQueryPool queries;
    VkCommandPool command_pool;
    VkCommandBuffer commands;
    VkFence fence;
    tiny_pass passes[PASSES];
    hdb_buffer buffers[PASSES]; /* by hand */
    hdb_buffer sink;            /* heddle's, imported */
    hdb_buffer start;           /* what the sources read; never written */
};

/* ---- the commands, the same for both ---- */

static void stamp(const tiny *t, VkCommandBuffer commands, uint32_t query)
{
    if (query == 0)
        t->device.vkCmdResetQueryPool(commands, t->queries, 0, 2);
    t->device.vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, t->queries, query);
}

static void record_one(const tiny_pass *pass, VkCommandBuffer commands, VkDescriptorSet set, VkBuffer to)
{
    const tiny *t = pass->all;
    const hdb_device *d = &t->device;
    if (pass->index == 0)
        stamp(t, commands, 0);
    if (pass->fill) {
        d->vkCmdFillBuffer(commands, to, 0, BYTES, pass->index);
    } else {
        d->vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, t->pipeline);
        d->vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, t->layout, 0, 1, &set, 0, NULL);
        d->vkCmdPushConstants(commands, t->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &pass->index);
        d->vkCmdDispatch(commands, 1, 1, 1);
    }
    if (pass->index == SINK)
        stamp(t, commands, 1);
}

static void write_set(const tiny *t, VkDescriptorSet set, const VkBuffer *buffers)
{
    VkWriteDescriptorSet writes[3];
    VkDescriptorBufferInfo infos[3];
    for (uint32_t i = 0; i < 3; i++) {
        infos[i] = (VkDescriptorBufferInfo){buffers[i], 0, VK_WHOLE_SIZE};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &infos[i]};
    }
    t->device.vkUpdateDescriptorSets(t->device.info.device, 3, writes, 0, NULL);
}

/* ---- heddle ---- */

static void record(hd_recorder *recorder, void *user)
{
    tiny_pass *pass = user;
    tiny *t = pass->all;
    VkBuffer to = hd_vk_buffer(recorder, pass->made);
    if (!pass->fill) {
        VkBuffer buffers[3] = {hd_vk_buffer(recorder, t->passes[pass->from[0]].made),
                               hd_vk_buffer(recorder, t->passes[pass->from[1]].made), to};
        if (pass->index == 0)
            buffers[0] = buffers[1] = t->start.buffer;
        if (memcmp(buffers, pass->bound, sizeof(buffers)) != 0)
            write_set(t, pass->sets[0], memcpy(pass->bound, buffers, sizeof(buffers)));
    }
    record_one(pass, hd_vk_commands(recorder), pass->sets[0], to);
}

static void declare_pass(tiny *t, uint32_t p)
{
    hd_graph *g = t->graph;
    tiny_pass *pass = &t->passes[p];
    hd_use uses[WIDTH + 1];
    uint32_t count = 0;
    uses[count++] = (hd_use){pass->made, pass->fill ? HD_TRANSFER_DST : HD_STORAGE_WRITE_COMPUTE};
    if (p == SINK) { /* it comes after all of the last layer, though it reads only two of them */
        for (uint32_t i = 0; i < WIDTH; i++)
            uses[count++] = (hd_use){t->passes[SINK - 1 - i].made, HD_STORAGE_READ_COMPUTE};
    } else if (p && !pass->fill) {
        for (uint32_t i = 0; i < 2 && (i == 0 || pass->from[1] != pass->from[0]); i++)
            uses[count++] = (hd_use){t->passes[pass->from[i]].made, HD_STORAGE_READ_COMPUTE};
    }
    hd_graph_pass(g, &(hd_pass_desc){.name = pass->fill ? "fill" : "dispatch",
                                     .type = pass->fill ? HD_PASS_TRANSFER : HD_PASS_COMPUTE,
                                     .root = p == SINK,
                                     .cost_us = 2,
                                     .record = record,
                                     .user = pass,
                                     .uses = uses,
                                     .use_count = count});
}

static void declare(tiny *t)
{
    hd_graph *g = t->graph;
    hd_graph_begin(g);
    for (uint32_t p = 0; p < PASSES; p++)
        t->passes[p].made =
            p == SINK ? hd_graph_import(g, &(hd_import_desc){.name = "sink", .buffer = t->sink.buffer, .bytes = BYTES})
                      : hd_graph_buffer(g, &(hd_buffer_desc){.name = "words", .bytes = BYTES});
    for (uint32_t p = 0; p < PASSES; p++)
        declare_pass(t, p);
}

/* ---- by hand ---- */

static VkPipelineStageFlags2 layer_stages(const tiny *t, uint32_t begin, uint32_t end, bool writes)
{
    VkPipelineStageFlags2 stages = 0;
    for (uint32_t p = begin; p < end; p++)
        stages |= !t->passes[p].fill ? VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT
                  : writes           ? VK_PIPELINE_STAGE_2_CLEAR_BIT
                                     : 0;
    return stages;
}

static bool record_by_hand(tiny *t)
{
    const hdb_device *d = &t->device;
    VkCommandBufferBeginInfo begin_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    if (d->vkBeginCommandBuffer(t->commands, &begin_info) != VK_SUCCESS)
        return false;
    for (uint32_t begin = 0, end = 1, before = 0; begin < PASSES;) {
        if (begin) {
            VkPipelineStageFlags2 from = layer_stages(t, before, begin, true);
            VkMemoryBarrier2 barrier = {
                .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                .srcStageMask = from,
                .srcAccessMask =
                    (from & VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT ? VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT : 0u) |
                    (from & VK_PIPELINE_STAGE_2_CLEAR_BIT ? VK_ACCESS_2_TRANSFER_WRITE_BIT : 0u),
                .dstStageMask = layer_stages(t, begin, end, false),
                .dstAccessMask = VK_ACCESS_2_SHADER_STORAGE_READ_BIT,
            };
            VkDependencyInfo info = {
                .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
            d->vkCmdPipelineBarrier2(t->commands, &info);
        }
        for (uint32_t p = begin; p < end; p++)
            record_one(&t->passes[p], t->commands, t->passes[p].sets[1], t->buffers[p].buffer);
        before = begin;
        begin = end;
        end = end == SINK ? PASSES : end + WIDTH;
    }
    return d->vkEndCommandBuffer(t->commands) == VK_SUCCESS;
}

static bool run_by_hand(tiny *t)
{
    const hdb_device *d = &t->device;
    VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = t->commands};
    VkSubmitInfo2 submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2, .commandBufferInfoCount = 1, .pCommandBufferInfos = &buffer};
    return d->vkResetFences(d->info.device, 1, &t->fence) == VK_SUCCESS &&
           d->vkQueueSubmit2(d->info.queues[0].queue, 1, &submit, t->fence) == VK_SUCCESS &&
           d->vkWaitForFences(d->info.device, 1, &t->fence, VK_TRUE, UINT64_MAX) == VK_SUCCESS;
}

/* ---- life ---- */

static void place_passes(tiny *t)
{
    for (uint32_t p = 0; p < PASSES; p++) {
        tiny_pass *pass = &t->passes[p];
        *pass = (tiny_pass){.all = t, .index = p};
        if (p == 0)
            continue;
        uint32_t layer = (p - 1) / WIDTH, place = (p - 1) % WIDTH, above = 1 + (layer - 1) * WIDTH;
        pass->fill = p != SINK && layer % 4 == 3 && place == WIDTH - 1;
        if (layer > 0) {
            pass->from[0] = above + place;
            pass->from[1] = above + (place + 1 + layer) % WIDTH;
        }
    }
}

static bool make_sets(tiny *t)
{
    const hdb_device *d = &t->device;
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 6 * PASSES};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 2 * PASSES,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    if (d->vkCreateDescriptorPool(d->info.device, &pool, NULL, &t->pool) != VK_SUCCESS)
        return false;
    for (uint32_t p = 0; p < PASSES; p++) {
        const VkDescriptorSetLayout layouts[2] = {t->set_layout, t->set_layout};
        VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = t->pool,
                                            .descriptorSetCount = 2,
                                            .pSetLayouts = layouts};
        tiny_pass *pass = &t->passes[p];
        if (d->vkAllocateDescriptorSets(d->info.device, &info, pass->sets) != VK_SUCCESS)
            return false;
    }
    if (!hdb_buffers_make(d, BYTES,
                          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                          t->buffers, PASSES))
        return false;
    for (uint32_t p = 0; p < PASSES; p++) {
        const uint32_t *from = t->passes[p].from;
        VkBuffer buffers[3] = {t->buffers[from[0]].buffer, t->buffers[from[1]].buffer, t->buffers[p].buffer};
        if (p == 0)
            buffers[0] = buffers[1] = t->start.buffer;
        write_set(t, t->passes[p].sets[1], buffers);
    }
    return true;
}

static bool open(tiny *t, const gpu_options *options)
{
    const hd_queue_kind kinds[] = {HD_QUEUE_GFX};
    hd_vk_desc desc = {.queue_kinds = kinds, .queue_kind_count = 1, .device_index = options->device};
    place_passes(t);
    if (!hdb_device_open(&t->device, &desc) || hd_graph_create(NULL, &t->graph) != HD_OK)
        return false;
    const hdb_device *d = &t->device;
    VkDevice device = d->info.device;
    t->set_layout = hdb_set_layout(d, 3);
    t->layout = hdb_layout(d, t->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, 4);
    t->pipeline = hdb_compute(d, t->layout, HDB_WORDS(tiny_comp));
    VkQueryPoolCreateInfo queries = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = d->info.queues[0].family};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (!t->pipeline || d->vkCreateQueryPool(device, &queries, NULL, &t->queries) != VK_SUCCESS ||
        d->vkCreateCommandPool(device, &pool, NULL, &t->command_pool) != VK_SUCCESS ||
        d->vkCreateFence(device, &fence, NULL, &t->fence) != VK_SUCCESS)
        return false;
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = t->command_pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    return d->vkAllocateCommandBuffers(device, &allocate, &t->commands) == VK_SUCCESS &&
           hdb_buffer_make(d, BYTES,
                           VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                               VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                           &t->sink) &&
           hdb_buffer_make(d, BYTES, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                           &t->start) &&
           make_sets(t) && record_by_hand(t);
}

static void close(tiny *t)
{
    hdb_device *d = &t->device;
    if (d->vk && d->vkDestroyBuffer) {
        hd_vk_wait(d->vk);
        VkDevice device = d->info.device;
        for (uint32_t p = 0; p < PASSES; p++)
            hdb_buffer_free(d, &t->buffers[p]);
        hdb_buffer_free(d, &t->sink);
        hdb_buffer_free(d, &t->start);
        d->vkDestroyFence(device, t->fence, NULL);
        d->vkDestroyCommandPool(device, t->command_pool, NULL);
        d->vkDestroyQueryPool(device, t->queries, NULL);
        d->vkDestroyDescriptorPool(device, t->pool, NULL);
        d->vkDestroyPipeline(device, t->pipeline, NULL);
        d->vkDestroyPipelineLayout(device, t->layout, NULL);
        d->vkDestroyDescriptorSetLayout(device, t->set_layout, NULL);
    }
    hd_graph_destroy(t->graph);
    hdb_device_close(d);
}

/* ---- measuring ---- */

static bool add_time(tiny *t, hdb_times *times)
{
    uint64_t ticks[2] = {0};
    if (t->device.vkGetQueryPoolResults(t->device.info.device, t->queries, 0, 2, sizeof(ticks), ticks, 8,
                                        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT) != VK_SUCCESS)
        return false;
    return hdb_times_add(times, (uint64_t)((double)(ticks[1] - ticks[0]) * t->device.ns_a_tick));
}

static void keep_words(const void *data, uint64_t bytes, void *user)
{
    memcpy(user, data, bytes);
}

static bool read_words(tiny *t, VkBuffer buffer, uint32_t *out)
{
    hd_graph *g;
    if (hd_graph_create(NULL, &g) != HD_OK)
        return false;
    hd_resource from = hd_graph_import(g, &(hd_import_desc){.name = "from", .buffer = buffer, .bytes = BYTES});
    hd_vk_readback(t->device.vk, g, from, NULL, keep_words, out, NULL);
    bool good = hd_vk_frame(t->device.vk, g) == HD_OK && hd_vk_wait(t->device.vk) == HD_OK;
    hd_graph_destroy(g);
    return good;
}

static bool fill_start(tiny *t)
{
    hd_graph *g;
    if (hd_graph_create(NULL, &g) != HD_OK)
        return false;
    hd_resource start =
        hd_graph_import(g, &(hd_import_desc){.name = "start", .buffer = t->start.buffer, .bytes = BYTES});
    hd_vk_fill(t->device.vk, g, start, NULL, 0x01234567, NULL);
    bool good = hd_vk_frame(t->device.vk, g) == HD_OK && hd_vk_wait(t->device.vk) == HD_OK;
    hd_graph_destroy(g);
    return good;
}

static bool run_heddle(tiny *t, uint64_t budget, uint32_t *batches)
{
    const hd_compile_desc desc = {.memory_budget = budget};
    const hd_plan *plan;
    declare(t);
    if (hd_vk_compile(t->device.vk, t->graph, &desc, &plan) != HD_OK)
        return false;
    *batches = hd_plan_read(plan).batch_count;
    return hd_vk_execute(t->device.vk, t->graph, plan) == HD_OK && hd_vk_wait(t->device.vk) == HD_OK;
}

/* budget: 0, or the bytes that the plan may take for having few barriers. */
static bool measure(tiny *t, const gpu_options *options, uint64_t budget)
{
    hdb_times heddle = {0}, hand = {0};
    uint32_t batches = 0, by_heddle[WORDS], by_hand[WORDS];
    bool good = true;
    for (uint32_t i = 0; i < options->repeat + 8 && good; i++) {
        good = run_heddle(t, budget, &batches) && (i < 8 || add_time(t, &heddle)) && run_by_hand(t) &&
               (i < 8 || add_time(t, &hand));
    }
    good = good && read_words(t, t->sink.buffer, by_heddle) && read_words(t, t->buffers[SINK].buffer, by_hand);
    if (good && memcmp(by_heddle, by_hand, sizeof(by_hand)) != 0) {
        fputs("tiny: heddle's frame and the one by hand give different words\n", stderr);
        good = false;
    }
    if (good) {
        double ours = hdb_times_median(&heddle) * 1e-3, theirs = hdb_times_median(&hand) * 1e-3;
        printf("tiny,%s,%u,%llu,%u,%u,%.2f,%.2f,%.3f\n", t->device.info.device_name, PASSES, (unsigned long long)budget,
               batches, LAYERS + 1, ours, theirs, theirs > 0.0 ? ours / theirs : 0.0);
    }
    hdb_times_free(&heddle);
    hdb_times_free(&hand);
    return good;
}

bool gpu_tiny(const gpu_options *options)
{
    tiny *t = calloc(1, sizeof(*t));
    printf("case,device,passes,budget_bytes,batches,barriers_by_hand,heddle_us,by_hand_us,over_by_hand\n");
    bool good = t && open(t, options) && fill_start(t) && measure(t, options, 0) && measure(t, options, 16u << 20);
    if (t)
        close(t);
    free(t);
    return good;
}
