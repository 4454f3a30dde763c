#include "engine.h"

#include <errno.h>
#include <heddle/capture.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Step 10: times of passes, and step 11: what a report of a bug holds. */

struct report {
    struct engine *engine;
    const hd_plan *plan;
};

/* With the queues and the sizes that the frame was compiled with: the tools then need no device. */
static hd_result write_fgt(FILE *stream, void *user)
{
    const struct engine *engine = ((struct report *)user)->engine;
    const struct device *device = &engine->device;
    hd_queue_desc queues[MAX_QUEUES];
    for (uint32_t i = 0; i < device->queue_count; i++)
        queues[i] = (hd_queue_desc){device->queues[i].kind, device->queues[i].family};
    const hd_compile_desc desc = {.queues = queues,
                                  .queue_count = device->queue_count,
                                  .size = hd_vk_size,
                                  .size_user = engine->vk,
                                  .merge_rendering = true};
    return hd_graph_write_fgt_with(engine->graph, &desc, stream);
}

static hd_result write_json(FILE *stream, void *user)
{
    const struct report *report = user;
    return hd_plan_write_json(report->engine->graph, report->plan, stream);
}

static hd_result write_trace(FILE *stream, void *user)
{
    return hd_vk_write_trace(((struct report *)user)->engine->vk, stream);
}

/* The page shows measured times beside the plan's own. */
static hd_result write_page(FILE *stream, void *user)
{
    const struct report *report = user;
    hd_vk_times times;
    hd_page_desc desc = {0};
    hd_page_span *spans = NULL;
    if (hd_vk_times_get(report->engine->vk, 0, &times) == HD_OK)
        spans = calloc(times.span_count + 1u, sizeof *spans);
    for (uint32_t i = 0; spans && i < times.span_count; i++) {
        const hd_vk_span *span = &times.spans[i];
        if (span->pass != HD_NONE && (span->kind == HD_VK_SPAN_PASS || span->kind == HD_VK_SPAN_HOST_PASS))
            spans[desc.span_count++] =
                (hd_page_span){span->pass, (double)span->begin_ns * 1e-3, (double)span->end_ns * 1e-3};
    }
    desc.spans = spans;
    hd_result result = hd_plan_write_page(report->engine->graph, report->plan, &desc, stream);
    free(spans);
    return result;
}

static hd_result write_device(FILE *stream, void *user)
{
    const struct device *device = &((struct report *)user)->engine->device;
    fprintf(stream, "%s, driver %u, Vulkan %u.%u.%u\n", device->properties.deviceName, device->properties.driverVersion,
            VK_API_VERSION_MAJOR(device->properties.apiVersion), VK_API_VERSION_MINOR(device->properties.apiVersion),
            VK_API_VERSION_PATCH(device->properties.apiVersion));
    for (uint32_t i = 0; i < device->queue_count; i++)
        fprintf(stream, "queue %u: kind %d of family %u\n", i, (int)device->queues[i].kind, device->queues[i].family);
    return HD_OK;
}

bool report_write(struct engine *engine, const hd_plan *plan, const char *folder)
{
    const struct {
        const char *name;
        hd_result (*write)(FILE *stream, void *user);
    } files[] = {{"frame.fgt", write_fgt},
                 {"plan.json", write_json},
                 {"plan.html", write_page},
                 {"trace.json", write_trace},
                 {"device.txt", write_device}};
    struct report report = {engine, plan};
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return engine_check(engine, HD_IO);
    for (uint32_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        hd_result result = hd_file_write(path, files[i].write, &report); /* whole, or not at all */
        if (result == HD_NO_PAGE) /* heddle was built without d3 */
            continue;
        if (!engine_check(engine, result))
            return false;
    }
    return true;
}

static void say_violation(const char *text, void *user)
{
    journal_say(user, HD_LOG_ERROR, "verify", "%s", text);
}

bool report_verify(struct engine *engine, const hd_plan *plan)
{
    hd_verify_desc desc = {
        .message = say_violation, .user = &engine->journal, .size = hd_vk_size, .size_user = engine->vk};
    bool holds = engine_check(engine, hd_plan_verify(engine->graph, plan, &desc));
    printf("verification    %s\n", holds ? "the plan holds" : "the plan does not hold");
    return holds;
}

static hd_result write_stream(FILE *file, void *stream)
{
    return hd_stream_write(stream, file);
}

bool report_capture(struct engine *engine)
{
    char path[4096];
    hd_stream *stream;
    if (!engine_check(engine, hd_capture_end(&stream)))
        return false;
    snprintf(path, sizeof path, "%s/capture.json", engine->out);
    hd_result result = hd_file_write(path, write_stream, stream);
    if (result == HD_OK)
        result = hd_stream_verify(stream, &(hd_verify_desc){.message = say_violation, .user = &engine->journal});
    hd_stream_free(stream);
    bool holds = engine_check(engine, result);
    printf("capture         %s\n", holds ? "what was given to Vulkan holds" : "what was given to Vulkan does not hold");
    return holds;
}

/* ---- times ---- */

static double milliseconds(const hd_vk_span *span)
{
    return (double)(span->end_ns - span->begin_ns) * 1e-6;
}

void report_profile(struct engine *engine)
{
    hd_vk_times times;
    if (hd_vk_times_get(engine->vk, 0, &times) != HD_OK)
        return;
    printf("passes          ");
    const char *between = "";
    for (uint32_t i = 0; i < times.span_count; i++) {
        if (times.spans[i].kind != HD_VK_SPAN_PASS || milliseconds(&times.spans[i]) < 0.01)
            continue;
        printf("%s%s %.2f", between, times.spans[i].name, milliseconds(&times.spans[i]));
        between = ", ";
    }
    printf(" ms on the GPU, of frame %llu\n", (unsigned long long)times.frame);
}

void report_summary(struct engine *engine, const hd_plan *plan)
{
    hd_vk_frame_stats frame;
    hd_plan_stats s;
    hd_vk_frame_stats_get(engine->vk, &frame);
    if (!engine_check(engine, hd_plan_stats_get(engine->graph, plan, 0, &s)))
        return;
    const struct memory *m = &engine->memory;
    printf("device          %s, %u queue%s\n", engine->device.properties.deviceName, engine->device.queue_count,
           engine->device.queue_count == 1 ? "" : "s");
    printf("frame           %u passes, %u kept; %u barriers in %u batches, %u submits\n", s.passes, s.kept, s.barriers,
           s.barrier_batches, s.submits);
    printf("plans           %u compiled for %u frames, the others were found again\n", engine->plans, engine->frames);
    printf("CPU memory      heddle has %.0f KiB, had %.0f at most\n", (double)m->cpu_bytes / 1024.0,
           (double)m->cpu_most / 1024.0);
    printf("device memory   %.1f MiB in blocks, %.1f used: heaps %.1f, histories %.1f, staging %.1f, images %.1f\n",
           (double)m->gpu_bytes / 1048576.0, (double)m->gpu_used / 1048576.0, (double)frame.heap_bytes / 1048576.0,
           (double)frame.history_bytes / 1048576.0, (double)frame.staging_bytes / 1048576.0,
           (double)(m->gpu_used - frame.memory_bytes) / 1048576.0);
    printf("streaming       mips of %u texels and coarser are there\n", TEXTURE_SIZE >> engine->streaming.finest);
    printf("shaders         %u pipelines swapped, %u files refused\n", engine->programs.swapped,
           engine->programs.refused);
    report_profile(engine);
    printf("picture         %016llx\n", atomic_load(&engine->picture_hash));
}
