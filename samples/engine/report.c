#include "engine.h"

#include <heddle/capture.h>
#include <sys/stat.h>
#include <time.h>

/* Step 10: times of passes, and step 11: what a report of a bug holds. */

/* One call writes it: declaration, plan, page, trace, device, into a folder that appears when all is whole. */
bool report_write(struct engine *engine, const char *folder)
{
    return engine_check(engine, hd_vk_report_frame(engine->vk, engine->graph, NULL, folder));
}

/* Into the first folder of the kind that does not exist yet. */
bool report_write_next(struct engine *engine)
{
    char folder[4096];
    struct stat about;
    uint32_t number = 0;
    do {
        snprintf(folder, sizeof folder, "%s/report-%u", engine->out, ++number);
    } while (stat(folder, &about) == 0);
    return report_write(engine, folder);
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

/* The engine's own profiler: heddle calls around each pass that is recorded, on the worker that records it. */
static _Thread_local uint64_t began_ns;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void before_pass(const hd_vk_pass_info *pass, void *user)
{
    (void)pass;
    (void)user;
    began_ns = now_ns();
}

static void after_pass(const hd_vk_pass_info *pass, void *user)
{
    struct engine *engine = user;
    bool on_host = !pass->commands;
    atomic_fetch_add_explicit(&engine->callback_ns[on_host], now_ns() - began_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&engine->callbacks[on_host], 1, memory_order_relaxed);
}

hd_vk_pass_callbacks report_callbacks(struct engine *engine)
{
    return (hd_vk_pass_callbacks){before_pass, after_pass, engine};
}

static void print_gpu_times(const struct engine *engine)
{
    hd_vk_times times;
    if (hd_vk_times_get(engine->vk, 0, &times) != HD_OK)
        return;
    printf("passes          ");
    const char *between = "";
    for (uint32_t i = 0; i < times.span_count; i++) {
        double ms = (double)(times.spans[i].end_ns - times.spans[i].begin_ns) * 1e-6;
        if (times.spans[i].kind != HD_VK_SPAN_PASS || ms < 0.01)
            continue;
        printf("%s%s %.2f", between, times.spans[i].name, ms);
        between = ", ";
    }
    printf(" ms on the GPU, of frame %llu\n", (unsigned long long)times.frame);
}

static void print_profile(const struct engine *engine)
{
    const char *const what[] = {"recording", "host passes"};
    for (uint32_t i = 0; i < 2; i++) {
        unsigned long long count = engine->callbacks[i], ns = engine->callback_ns[i];
        printf("%-15s %llu callbacks, %.1f us each\n", what[i], count,
               count ? (double)ns * 1e-3 / (double)count : 0.0);
    }
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
    print_gpu_times(engine);
    print_profile(engine);
    printf("picture         %016llx\n", atomic_load(&engine->picture_hash));
}
