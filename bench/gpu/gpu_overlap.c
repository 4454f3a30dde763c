#include "gpu_cases.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "device.h"
#include "measure.h"

#include "screen_vert.h"
#include "spin_comp.h"
#include "spin_frag.h"

/* The passes are made as long as asked for by measuring them and scaling their steps, each on its own, three times. */

#define SIZE 512u
#define FORMAT VK_FORMAT_R8G8B8A8_UNORM
#define MOST_GROUPS 262144u

typedef struct overlap {
    hdb_device device;
    hd_graph *graph;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout compute_layout, graphics_layout;
    VkPipeline compute, graphics;
    hdb_buffer result;
    uint32_t groups, compute_steps, graphics_steps;
} overlap;

static void record_compute(hd_recorder *recorder, void *user)
{
    const overlap *o = user;
    const hdb_device *d = &o->device;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    d->vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, o->compute);
    d->vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, o->compute_layout, 0, 1, &o->set, 0, NULL);
    d->vkCmdPushConstants(commands, o->compute_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &o->compute_steps);
    d->vkCmdDispatch(commands, o->groups, 1, 1);
}

static void record_graphics(hd_recorder *recorder, void *user)
{
    const overlap *o = user;
    const hdb_device *d = &o->device;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    d->vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, o->graphics);
    d->vkCmdPushConstants(commands, o->graphics_layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, 4, &o->graphics_steps);
    d->vkCmdDraw(commands, 3, 1, 0, 0);
}

static bool open(overlap *o, const gpu_options *options, uint32_t queues)
{
    const hd_queue_kind kinds[] = {HD_QUEUE_GFX, HD_QUEUE_COMPUTE};
    hd_vk_desc desc = {
        .queue_kinds = kinds, .queue_kind_count = queues, .device_index = options->device, .timed_frames = 4};
    if (!hdb_device_open(&o->device, &desc) || hd_graph_create(NULL, &o->graph) != HD_OK)
        return false;
    hdb_device *d = &o->device;
    o->set_layout = hdb_set_layout(d, 1);
    o->compute_layout = hdb_layout(d, o->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, 4);
    o->graphics_layout = hdb_layout(d, VK_NULL_HANDLE, VK_SHADER_STAGE_FRAGMENT_BIT, 4);
    o->compute = hdb_compute(d, o->compute_layout, HDB_WORDS(spin_comp));
    o->graphics = hdb_graphics(d, o->graphics_layout, HDB_WORDS(screen_vert), HDB_WORDS(spin_frag), FORMAT);
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                       .descriptorSetCount = 1,
                                       .pSetLayouts = &o->set_layout};
    if (!o->compute || !o->graphics ||
        !hdb_buffer_make(d, MOST_GROUPS * 64 * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, &o->result) ||
        d->vkCreateDescriptorPool(d->info.device, &pool, NULL, &o->pool) != VK_SUCCESS)
        return false;
    set.descriptorPool = o->pool;
    if (d->vkAllocateDescriptorSets(d->info.device, &set, &o->set) != VK_SUCCESS)
        return false;
    VkDescriptorBufferInfo buffer = {o->result.buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = o->set,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &buffer};
    d->vkUpdateDescriptorSets(d->info.device, 1, &write, 0, NULL);
    return true;
}

static void close(overlap *o)
{
    hdb_device *d = &o->device;
    if (d->vk && d->vkDestroyBuffer) {
        hd_vk_wait(d->vk);
        VkDevice device = d->info.device;
        hdb_buffer_free(d, &o->result);
        d->vkDestroyDescriptorPool(device, o->pool, NULL);
        d->vkDestroyPipeline(device, o->compute, NULL);
        d->vkDestroyPipeline(device, o->graphics, NULL);
        d->vkDestroyPipelineLayout(device, o->compute_layout, NULL);
        d->vkDestroyPipelineLayout(device, o->graphics_layout, NULL);
        d->vkDestroyDescriptorSetLayout(device, o->set_layout, NULL);
    }
    hd_graph_destroy(o->graph);
    hdb_device_close(d);
    memset(o, 0, sizeof(*o));
}

/* One frame, waited for: from the begin of its first pass to the end of its last; 0: failed. */
static uint64_t frame_ns(overlap *o, bool graphics, bool compute)
{
    hd_graph *g = o->graph;
    hd_graph_begin(g);
    if (graphics) {
        hd_resource target =
            hd_graph_image(g, &(hd_image_desc){.name = "target", .width = SIZE, .height = SIZE, .format = FORMAT});
        hd_graph_pass(g, &(hd_pass_desc){.name = "graphics",
                                         .type = HD_PASS_GFX,
                                         .root = true,
                                         .cost_us = 1000,
                                         .record = record_graphics,
                                         .user = o,
                                         .uses = HD_USES({target, HD_COLOR_WRITE})});
    }
    if (compute) {
        hd_resource result = hd_graph_import(
            g, &(hd_import_desc){.name = "result", .buffer = o->result.buffer, .bytes = o->result.bytes});
        hd_graph_pass(g, &(hd_pass_desc){.name = "compute",
                                         .type = HD_PASS_COMPUTE,
                                         .cost_us = 1000,
                                         .record = record_compute,
                                         .user = o,
                                         .uses = HD_USES({result, HD_STORAGE_WRITE_COMPUTE})});
    }
    hd_vk_times times;
    if (hd_vk_frame(o->device.vk, g) != HD_OK || hd_vk_wait(o->device.vk) != HD_OK ||
        hd_vk_times_get(o->device.vk, 0, &times) != HD_OK)
        return 0;
    uint64_t begin = UINT64_MAX, end = 0;
    for (uint32_t i = 0; i < times.span_count; i++) {
        const hd_vk_span *span = &times.spans[i];
        if (span->kind != HD_VK_SPAN_PASS)
            continue;
        begin = span->begin_ns < begin ? span->begin_ns : begin;
        end = span->end_ns > end ? span->end_ns : end;
    }
    return end > begin ? end - begin : 0;
}

static double median_us(overlap *o, uint32_t repeat, bool graphics, bool compute)
{
    hdb_times times = {0};
    for (uint32_t i = 0; i < repeat + 4; i++) {
        uint64_t ns = frame_ns(o, graphics, compute);
        if (i >= 4 && ns && !hdb_times_add(&times, ns))
            break;
    }
    double us = hdb_times_median(&times) * 1e-3;
    hdb_times_free(&times);
    return us;
}

/* Steps with which a frame of that one pass takes ms, by the wall clock: some drivers' timestamps say nothing. */
static uint32_t scaled(overlap *o, bool graphics, uint32_t steps, uint32_t ms)
{
    uint64_t best = UINT64_MAX;
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t start = hdi_clock_ns();
        frame_ns(o, graphics, !graphics);
        uint64_t took = hdi_clock_ns() - start;
        best = took < best ? took : best;
    }
    double want = (double)steps * ms * 1e6 / (double)best;
    return want < 1.0 ? 1 : want > 1e9 ? 1000000000u : (uint32_t)want;
}

static bool one_count(const gpu_options *options, uint32_t groups)
{
    overlap o = {.groups = groups, .compute_steps = 64, .graphics_steps = 16};
    bool good = open(&o, options, 1);
    for (uint32_t i = 0; i < 5 && good; i++) {
        o.compute_steps = scaled(&o, false, o.compute_steps, options->ms);
        o.graphics_steps = scaled(&o, true, o.graphics_steps, options->ms);
    }
    uint32_t compute_steps = o.compute_steps, graphics_steps = o.graphics_steps;
    for (uint32_t queues = 1; queues <= 2 && good; queues++) {
        if (queues == 2) {
            close(&o);
            o = (overlap){.groups = groups, .compute_steps = compute_steps, .graphics_steps = graphics_steps};
            good = open(&o, options, 2);
        }
        if (!good)
            break;
        double graphics = median_us(&o, options->repeat, true, false);
        double compute = median_us(&o, options->repeat, false, true);
        double both = median_us(&o, options->repeat, true, true);
        double longer = graphics > compute ? graphics : compute;
        printf("overlap,%s,%u,%u,%.1f,%.1f,%.1f,%.3f\n", o.device.info.device_name, o.device.info.queue_count, groups,
               graphics, compute, both, longer > 0.0 ? both / longer : 0.0);
        fflush(stdout);
        good = longer > 0.0;
    }
    close(&o);
    return good;
}

bool gpu_overlap(const gpu_options *options)
{
    const uint32_t counts[] = {8, 32, 1024, 16384, 131072};
    printf("case,device,queues,groups,graphics_us,compute_us,both_us,over_the_longer\n");
    if (options->groups)
        return options->groups <= MOST_GROUPS && one_count(options, options->groups);
    bool good = true;
    for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]) && good; i++)
        good = one_count(options, counts[i]);
    return good;
}
