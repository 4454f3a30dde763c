#include <stdio.h>
#include <string.h>

#include "sections.h"
#include "device.h"
#include "measure.h"
#include "printed.h"

#include "draw_frag.h"
#include "draw_vert.h"

/* CPU time of recording on a real driver: passes of many draws each (push constants and a draw), by 1 worker and by
 * more; with splits each pass is recorded in so many parts. The GPU's time does not count: hd_vk_wait stands between
 * the frames.
 *
 * usage: heddle-bench record [passes [draws [frames [splits [device]]]]]    default: 64 2000 40 1 0 */

#define SIZE 64
#define FORMAT VK_FORMAT_R8G8B8A8_UNORM
#define MOST_PASSES 1024

typedef struct scene {
    hdb_device device;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    uint32_t draws, splits;
} scene;

static void draw(hd_recorder *recorder, void *user)
{
    const scene *s = user;
    const hdb_device *d = &s->device;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    uint64_t part = hd_vk_part(recorder), parts = hd_vk_part_count(recorder);
    uint32_t begin = (uint32_t)(s->draws * part / parts), end = (uint32_t)(s->draws * (part + 1) / parts);
    d->vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, s->pipeline);
    for (uint32_t i = begin; i < end; i++) {
        float place[4] = {(float)(i % 61) / 32.0f - 1.0f, (float)(i % 59) / 32.0f - 1.0f, 0.01f, 0.5f};
        d->vkCmdPushConstants(commands, s->layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(place), place);
        d->vkCmdDraw(commands, 3, 1, 0, 0);
    }
}

static void declare(scene *s, hd_graph *g, uint32_t passes)
{
    hd_graph_begin(g);
    for (uint32_t p = 0; p < passes; p++) {
        hd_resource target =
            hd_graph_image(g, &(hd_image_desc){.name = "target", .width = SIZE, .height = SIZE, .format = FORMAT});
        hd_graph_pass(g, &(hd_pass_desc){.name = "draws",
                                         .type = HD_PASS_GFX,
                                         .root = true,
                                         .splits = s->splits,
                                         .record = draw,
                                         .user = s,
                                         .uses = HD_USES({target, HD_COLOR_WRITE})});
    }
}

static bool measure(scene *s, uint32_t passes, uint32_t frames, uint32_t workers, uint32_t device, double *us)
{
    const hd_queue_kind kinds[] = {HD_QUEUE_GFX};
    hd_jobs *jobs = NULL;
    hd_graph *graph = NULL;
    hdb_times times = {0};
    bool good = hd_jobs_create(&(hd_jobs_desc){.worker_count = workers, .pin = true}, &jobs) == HD_OK &&
                hd_graph_create(NULL, &graph) == HD_OK;
    hd_vk_desc desc = {.jobs = jobs, .queue_kinds = kinds, .queue_kind_count = 1, .device_index = device};
    good = good && hdb_device_open(&s->device, &desc);
    if (good) {
        s->layout = hdb_layout(&s->device, VK_NULL_HANDLE, VK_SHADER_STAGE_VERTEX_BIT, 16);
        s->pipeline = hdb_graphics(&s->device, s->layout, HDB_WORDS(draw_vert), HDB_WORDS(draw_frag), FORMAT);
        good = s->pipeline != VK_NULL_HANDLE;
    }
    for (uint32_t f = 0; f < frames + 8 && good; f++) {
        const hd_plan *plan;
        hd_jobs_warm(jobs); /* as a frame's start: an engine's workers are not asleep from frame to frame */
        declare(s, graph, passes);
        hd_vk_frame_stats stats;
        good = hd_vk_compile(s->device.vk, graph, NULL, &plan) == HD_OK &&
               hd_vk_execute(s->device.vk, graph, plan) == HD_OK;
        hd_vk_frame_stats_get(s->device.vk, &stats);
        good = good && hd_vk_wait(s->device.vk) == HD_OK;
        if (f >= 8)
            good &= hdb_times_add(&times, (uint64_t)(stats.record_us * 1e3));
    }
    *us = hdb_times_median(&times) * 1e-3;
    if (s->device.vk) {
        hd_vk_wait(s->device.vk);
        s->device.vkDestroyPipeline(s->device.info.device, s->pipeline, NULL);
        s->device.vkDestroyPipelineLayout(s->device.info.device, s->layout, NULL);
    }
    hdb_times_free(&times);
    hd_graph_destroy(graph);
    hdb_device_close(&s->device);
    hd_jobs_destroy(jobs);
    return good;
}

static bool number(int argc, char **argv, int at, uint32_t least, uint32_t most, uint32_t *out)
{
    return at >= argc || hdb_number(argv[at], least, most, out);
}

int hbs_record(int argc, char **argv)
{
    static scene s;
    const uint32_t counts[] = {1, 2, 4, 8, 16};
    uint32_t passes = 64, frames = 40, device = 0;
    s.draws = 2000;
    s.splits = 1;
    if (argc > 6 || !number(argc, argv, 1, 1, MOST_PASSES, &passes) ||
        !number(argc, argv, 2, 1, UINT32_MAX, &s.draws) || !number(argc, argv, 3, 1, UINT32_MAX, &frames) ||
        !number(argc, argv, 4, 0, HD_MAX_SPLITS, &s.splits) || !number(argc, argv, 5, 0, UINT32_MAX, &device))
        return hdb_usage(argc, argv, "usage: heddle-bench record [PASSES [DRAWS [FRAMES [SPLITS [DEVICE]]]]]\n"
                                     "recording many draws by 1 to 16 workers; default: 64 2000 40 1 0\n");
    double one = 0.0;
    printf("passes,draws,splits,workers,record_us,ns_a_draw,times_faster\n");
    for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        double us;
        if (!measure(&s, passes, frames, counts[i], device, &us))
            return 1;
        one = i == 0 ? us : one;
        printf("%u,%u,%u,%u,%.1f,%.1f,%.2f\n", passes, s.draws, s.splits, counts[i], us,
               us * 1e3 / ((double)passes * s.draws), one / us);
        fflush(stdout);
    }
    return hdb_printed(0);
}
