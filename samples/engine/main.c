#include "engine.h"

#include <errno.h>
#include <heddle/capture.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* engine: opens its parts one after another, hands them to heddle, and runs frames. README.md names the steps.
 * Exit status: 0 done, 1 a wrong command line, 2 no usable device or file, 3 a plan that fails verification, or
 * messages of the validation layer. */

bool engine_check(struct engine *engine, hd_result result)
{
    if (result == HD_OK)
        return true;
    /* The sentence with names: the graph has it for what was declared, the device for what was executed. */
    hd_error error = engine->create_error;
    if (engine->graph && hd_graph_error(engine->graph)->result == result)
        error = *hd_graph_error(engine->graph);
    else if (engine->vk)
        hd_vk_error_get(engine->vk, &error);
    journal_say(&engine->journal, HD_LOG_ERROR, "engine", "%s",
                error.result == result ? error.text : hd_result_text(result));
    return false;
}

/* ---- what is drawn: a prism of six sides with a bevelled top ---- */

static void add_triangle(struct engine *engine, vec3s a, vec3s b, vec3s c)
{
    vec3s normal = glms_vec3_normalize(glms_vec3_cross(glms_vec3_sub(b, a), glms_vec3_sub(c, a)));
    const vec3s corners[] = {a, b, c};
    for (uint32_t i = 0; i < 3; i++) {
        engine->prism_data[2 * engine->prism_vertices] = corners[i];
        engine->prism_data[2 * engine->prism_vertices++ + 1] = normal;
    }
}

static void add_quad(struct engine *engine, vec3s a, vec3s b, vec3s c, vec3s d)
{
    add_triangle(engine, a, b, c);
    add_triangle(engine, a, c, d);
}

static vec3s corner(uint32_t i, float radius, float height)
{
    float angle = (float)i * PI / 3.0f + PI / 6.0f; /* a corner to the north: rows of cells are offset along x */
    return v3(radius * sinf(angle - PI / 6.0f), height, radius * cosf(angle - PI / 6.0f));
}

static bool make_prism(struct engine *engine)
{
    const float foot = 0.55f, rim = 0.55f, top = 0.47f;
    engine->prism_data = malloc(2 * 96 * sizeof *engine->prism_data);
    if (!engine->prism_data)
        return engine_check(engine, HD_OUT_OF_MEMORY);
    for (uint32_t i = 0; i < 6; i++) {
        add_quad(engine, corner(i, foot, -4.0f), corner(i + 1, foot, -4.0f), corner(i + 1, rim, -0.09f),
                 corner(i, rim, -0.09f));
        add_quad(engine, corner(i, rim, -0.09f), corner(i + 1, rim, -0.09f), corner(i + 1, top, 0.0f),
                 corner(i, top, 0.0f));
        if (i >= 1 && i <= 4)
            add_triangle(engine, corner(0, top, 0.0f), corner(i, top, 0.0f), corner(i + 1, top, 0.0f));
    }
    return buffer_create(engine, "prism", (uint64_t)engine->prism_vertices * 2 * sizeof(vec3s),
                         VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, &engine->prism);
}

/* ---- start and end ---- */

static bool open_heddle(struct engine *engine)
{
    const struct device *device = &engine->device;
    hd_jobs_desc jobs = threads_for_heddle(&engine->threads);
    jobs.allocator = memory_for_heddle(&engine->memory);
    jobs.log = journal_for_heddle(&engine->journal);
    hd_result result = hd_jobs_create(&jobs, &engine->jobs);
    if (result == HD_OK)
        result = hd_vk_create(&(hd_vk_desc){.allocator = jobs.allocator,
                                            .memory = memory_for_heddle_device(&engine->memory),
                                            .passes = report_callbacks(engine),
                                            .log = jobs.log,
                                            .error = &engine->create_error,
                                            .jobs = engine->jobs,
                                            .frames_in_flight = FRAMES_IN_FLIGHT,
                                            .timed_frames = engine->capture ? 0 : 8,
                                            .upload_bytes = UPLOAD_BYTES,
                                            .get_instance_proc = engine->capture ? hd_capture_get_instance_proc
                                                                                 : vkGetInstanceProcAddr,
                                            .instance = device->instance,
                                            .physical_device = device->physical,
                                            .device = device->device,
                                            .queues = device->queues,
                                            .queue_count = device->queue_count,
                                            .features12 = &device->features12,
                                            .features13 = &device->features13},
                              &engine->vk);
    if (result == HD_OK)
        result = hd_graph_create(
            &(hd_graph_desc){.name = "engine", .allocator = jobs.allocator, .log = jobs.log, .plans = 8},
            &engine->graph);
    return engine_check(engine, result);
}

static bool open_engine(struct engine *engine)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/engine.log", engine->out);
    journal_open(&engine->journal, path);
    if (!threads_start(&engine->threads, engine->workers) || !windows_open(engine) || !device_open(engine))
        return false;
    memory_open(&engine->memory, &engine->device);
    return open_heddle(engine) && programs_open(engine) && make_prism(engine) && streaming_open(engine) &&
           windows_attach(engine);
}

/* The order of destruction: heddle waits for its frames; what it borrowed goes after it. */
static bool close_engine(struct engine *engine)
{
    if (engine->vk)
        hd_vk_wait(engine->vk);
    if (engine->device.device) {
        windows_detach(engine);
        streaming_close(engine);
        programs_close(engine);
        buffer_destroy(engine, &engine->prism);
    }
    hd_graph_destroy(engine->graph);
    hd_vk_destroy(engine->vk);
    hd_jobs_destroy(engine->jobs);
    threads_stop(&engine->threads);
    bool clean = memory_close(&engine->memory);
    if (!clean)
        journal_say(&engine->journal, HD_LOG_ERROR, "engine", "memory was not given back");
    device_close(engine);
    windows_close(engine);
    free(engine->prism_data);
    if (engine->validate)
        printf("validation      %u messages\n", engine->journal.validation);
    clean = clean && engine->journal.validation == 0;
    journal_close(&engine->journal);
    return clean;
}

/* ---- frames ---- */

/* What a user would do with keys, windows and an editor, at fixed frames. */
static bool exercise(struct engine *engine, uint32_t number)
{
    bool *const switches[] = {&engine->waves, &engine->shadows, &engine->glow, &engine->sampled};
    static const uint32_t sizes[] = {75, 100, 60, 100};
    if (!engine->exercise || engine->last)
        return true;
    engine->report_wanted = number == 50;
    if (number % 16 == 8) /* off, and on again 16 frames later */
        *switches[number / 32 % 4] = number % 32 != 8;
    return number % 40 != 30 || windows_resize(engine, sizes[number / 40 % 4]);
}

/* Step 6: one frame. An error is said and ends the loop, but for those that the next frame does without. */
static bool run_frame(struct engine *engine, const hd_plan **plan)
{
    uint32_t number = engine->number;
    hd_jobs_warm(engine->jobs);
    programs_update(engine, number, engine->exercise && number % 64 == 20);
    frame_declare(engine, &engine->frame[number % FRAME_SLOTS], number);
    uint64_t misses = hd_graph_cache_stats(engine->graph).misses;
    hd_result result = hd_vk_compile(engine->vk, engine->graph, NULL, plan);
    engine->plans += hd_graph_cache_stats(engine->graph).misses != misses;
    if (result == HD_OK)
        result = hd_vk_execute(engine->vk, engine->graph, *plan);
    hd_jobs_rest(engine->jobs);
    if (!engine_check(engine, result))
        return false;
    for (uint32_t i = 0; i < VIEWS; i++)
        window_present(engine, &engine->windows[i]);
    if (engine->report_wanted) {
        engine->report_wanted = false;
        return report_write_next(engine);
    }
    return true;
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static int run(struct engine *engine)
{
    const hd_plan *plan = NULL;
    if (!open_engine(engine))
        return 2;
    bool open = true;
    for (; open && !engine->last; engine->number++) {
        open = (windows_poll(engine) || engine->frames > 0) && !interrupted;
        engine->last = (engine->frames && engine->number + 1 == engine->frames) || !open;
        if (!exercise(engine, engine->number) || !run_frame(engine, &plan))
            return 2;
        if (engine->number % 20 == 19) {
            printf("frame           %u\n", engine->number + 1);
            fflush(stdout);
        }
    }
    if (!engine_check(engine, hd_vk_wait(engine->vk)))
        return 2;
    report_summary(engine, plan);
    if (engine->report && !report_write(engine, engine->report))
        return 2;
    bool holds = report_verify(engine, plan);
    if (engine->capture)
        holds = report_capture(engine) && holds;
    if (atomic_load(&engine->failed)) {
        fprintf(stderr, "engine: a picture could not be written to %s\n", engine->out);
        return 2;
    }
    return holds ? 0 : 3;
}

int main(int argc, char **argv)
{
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return 2;
    options_parse(engine, argc, argv);
    engine->waves = engine->shadows = engine->glow = engine->sampled = true;
    for (uint32_t i = 0; i < VIEWS; i++)
        engine->exposure[i] = 1.0f;
    if (strcmp(engine->out, "out/engine") == 0)
        mkdir("out", 0777);
    if (mkdir(engine->out, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "engine: %s: %s\n", engine->out, strerror(errno));
        return 2;
    }
    signal(SIGINT, on_interrupt); /* the frame that is under way is the last one */
    int status = run(engine);
    bool clean = close_engine(engine);
    if (status == 0 && !clean)
        status = 3;
    free(engine);
    return fflush(stdout) == 0 ? status : 2;
}
