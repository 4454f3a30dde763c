#include "app.h"
#include "lavapipe.h"

#include <errno.h>
#include <fcntl.h>
#include <heddle/capture.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* deferred: renders a court in the evening through heddle, without a window, and leaves pictures and the plan behind.
 * Exit status: 0 done, 1 a wrong command line, 2 no usable device or file, 3 a plan that fails verification. */

struct times {
    double *declare, *compile, *record; /* microseconds of each frame */
    double total_ms;
};

/* Warnings are shown as they come; the first error is kept and said once, when the program gives up. Any thread. */
static void write_log(hd_log_level level, const char *text, void *user)
{
    struct app *app = user;
    pthread_mutex_lock(&app->log_lock);
    if (level == HD_LOG_ERROR && app->first_error[0] == '\0')
        snprintf(app->first_error, sizeof app->first_error, "%s", text);
    else if (level == HD_LOG_WARNING)
        fprintf(stderr, "heddle: %s\n", text);
    pthread_mutex_unlock(&app->log_lock);
}

static uint32_t bloom_levels(uint32_t width, uint32_t height)
{
    uint32_t least = (width < height ? width : height) / 2, levels = 2;
    while (levels < MAX_BLOOM_LEVELS && least >> levels >= 8)
        levels++;
    return levels;
}

static hd_result open_device(struct app *app)
{
    VkPhysicalDeviceFeatures features = {.shaderStorageImageExtendedFormats = VK_TRUE}; /* occlusion is stored as r8 */
    hd_jobs_desc jobs = {.worker_count = app->workers, .log = {write_log, app}};
    avoid_lavapipe_threads();
    hd_result result = hd_jobs_create(&jobs, &app->jobs);
    if (result == HD_OK && app->capture)
        result = hd_capture_open(NULL);
    if (result == HD_OK && app->capture)
        result = hd_capture_begin();
    if (result == HD_OK)
        result = hd_vk_create(&(hd_vk_desc){.log = {write_log, app},
                                            .get_instance_proc = app->capture ? hd_capture_get_instance_proc : NULL,
                                            .jobs = app->jobs,
                                            .frames_in_flight = FRAMES_IN_FLIGHT,
                                            .memory_copies = FRAMES_IN_FLIGHT,
                                            .timed_frames = app->untimed || app->capture ? 0 : 4,
                                            .application = "heddle deferred",
                                            .device_index = app->device,
                                            .queue_kinds = app->queue_kinds,
                                            .queue_kind_count = app->queue_kind_count,
                                            .features = &features},
                              &app->vk);
    if (result == HD_OK)
        result = hd_graph_create(&(hd_graph_desc){.name = "deferred", .log = {write_log, app}}, &app->graph);
    return result;
}

static hd_result open_app(struct app *app)
{
    if (!scene_create(&app->scene))
        return HD_OUT_OF_MEMORY;
    app->bloom_level_count = bloom_levels(app->width, app->height);
    app->picture_hashes = calloc(app->frame_count, sizeof *app->picture_hashes);
    app->thumbnail = calloc(MAX_THUMBNAILS, sizeof *app->thumbnail);
    if (!app->picture_hashes || !app->thumbnail)
        return HD_OUT_OF_MEMORY;
    hd_result result = open_device(app);
    if (result == HD_OK)
        result = gpu_create(&app->gpu, app->vk, hd_jobs_worker_count(app->jobs));
    if (app->detail == 0)
        app->detail = app->gpu.discrete ? 16 : 1;
    if (result == HD_OK)
        result = load_meshes(app);
    if (result == HD_OK && app->view_port)
        result = live_open(app);
    return result;
}

static void close_app(struct app *app)
{
    if (app->vk)
        hd_vk_wait(app->vk);
    gpu_buffer_destroy(&app->gpu, &app->vertices);
    gpu_buffer_destroy(&app->gpu, &app->indices);
    gpu_destroy(&app->gpu);
    hd_graph_destroy(app->graph);
    hd_vk_destroy(app->vk);
    hd_jobs_destroy(app->jobs);
    scene_destroy(&app->scene);
    live_close(app);
    free(app->picture_hashes);
    free(app->thumbnail);
}

/* One line that counts on a terminal, a line every ten frames elsewhere. */
static void print_progress(const struct app *app, uint32_t done, double since)
{
    bool terminal = isatty(STDOUT_FILENO), last = done == app->frame_count;
    if (!terminal && !last && done % 10 != 0)
        return;
    printf("%sframe %u of %u, %.1f s%s", terminal ? "\r" : "", done, app->frame_count, (now_us() - since) * 1e-6,
           terminal && !last ? "" : "\n");
    fflush(stdout);
}

static hd_result render(struct app *app, struct times *times, const hd_plan **plan)
{
    const hd_compile_desc as_the_format_says = {0}; /* readers of plan.json need not know of rendering scopes */
    double start = now_us();
    for (uint32_t number = 0; number < app->frame_count; number++) {
        double before = now_us();
        hd_jobs_warm(app->jobs);
        frame_declare(app, &app->frames[number % FRAME_SLOTS], number,
                      app->thumbnails && number + 1 == app->frame_count);
        double declared = now_us();
        hd_result result = hd_vk_compile(app->vk, app->graph, &as_the_format_says, plan);
        double compiled = now_us();
        if (result == HD_OK)
            result = hd_vk_execute(app->vk, app->graph, *plan);
        if (result == HD_OK && app->view)
            result = live_show(app, *plan);
        if (result != HD_OK)
            return result;
        hd_vk_frame_stats stats;
        hd_vk_frame_stats_get(app->vk, &stats);
        times->declare[number] = declared - before;
        times->compile[number] = compiled - declared;
        times->record[number] = stats.record_us;
        print_progress(app, number + 1, start);
    }
    hd_result result = hd_vk_wait(app->vk);
    if (result == HD_OK && app->thumbnails) { /* what is reported is the frame without them */
        frame_declare(app, &app->frames[app->frame_count % FRAME_SLOTS], app->frame_count - 1, false);
        result = hd_vk_compile(app->vk, app->graph, &as_the_format_says, plan);
    }
    times->total_ms = (now_us() - start) * 1e-3;
    write_last_picture(app);
    if (result == HD_OK && atomic_load_explicit(&app->gpu.failed, memory_order_relaxed))
        result = HD_VULKAN;
    if (result == HD_OK && atomic_load_explicit(&app->png_failed, memory_order_relaxed))
        result = HD_IO;
    return result;
}

static hd_result print_summary(const struct app *app, const struct times *times, const hd_plan *plan)
{
    hd_vk_info info;
    hd_plan_stats s;
    hd_vk_frame_stats frame;
    hd_vk_info_get(app->vk, &info);
    hd_vk_frame_stats_get(app->vk, &frame);
    hd_result result = hd_plan_stats_get(app->graph, plan, 0, &s);
    if (result != HD_OK)
        return result;
    hd_plan_view view = hd_plan_read(plan);
    printf("device          %s, %u queue%s, %u worker%s\n", info.device_name, info.queue_count,
           info.queue_count == 1 ? "" : "s", hd_jobs_worker_count(app->jobs),
           hd_jobs_worker_count(app->jobs) == 1 ? "" : "s");
    printf("scene           %u instances, %u lights, %u triangles in %u meshes\n", app->scene.instance_count,
           app->scene.light_count, app->scene.store.index_count / 3, (unsigned)MESH_COUNT);
    printf("passes          %u declared, %u kept\n", s.passes, s.kept);
    printf("queues          %u, the host's included; %u submits, %u semaphore waits\n", s.queues, s.submits,
           s.semaphore_waits);
    printf("barriers        %u in %u batches\n", s.barriers, s.barrier_batches);
    printf("memory          %.2f MiB with aliasing, %.2f MiB without, %.2f MiB alive at once\n",
           (double)s.heap_bytes / 1048576.0, (double)s.unaliased_bytes / 1048576.0,
           (double)s.peak_live_bytes / 1048576.0);
    printf("device memory   %.2f MiB held by heddle\n", (double)frame.memory_bytes / 1048576.0);
    printf("CPU a frame     declare %.0f us, compile %.0f us, record %.0f us (medians over %u frames)\n",
           median(times->declare, app->frame_count), median(times->compile, app->frame_count),
           median(times->record, app->frame_count), app->frame_count);
    printf("rendered        %u frames of %u x %u in %.2f s\n", app->frame_count, app->width, app->height,
           times->total_ms * 1e-3);
    printf("plan            %016llx, %llu bytes\n", (unsigned long long)view.hash, (unsigned long long)view.bytes);
    printf("picture         %016llx\n", (unsigned long long)app->picture_hashes[app->frame_count - 1]);
    return HD_OK;
}

static int fail(const struct app *app, hd_result result)
{
    const hd_error *error = app->graph ? hd_graph_error(app->graph) : NULL;
    const char *text = hd_result_text(result);
    if (error && error->result == result)
        text = error->text;
    else if (app->first_error[0] != '\0')
        text = app->first_error;
    fprintf(stderr, "deferred: %s\n", text);
    return 2;
}

static int run(struct app *app, struct times *times)
{
    const hd_plan *plan = NULL;
    if (app->bench) {
        hd_result result = open_app(app);
        if (result == HD_OK)
            result = bench_run(app);
        return result == HD_OK ? 0 : fail(app, result);
    }
    if (mkdir(app->out, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "deferred: %s cannot be made: %s\n", app->out, strerror(errno));
        return 2;
    }
    char folder[4096];
    report_path(app, ".", folder, sizeof folder);
    if (access(folder, W_OK | X_OK) != 0) { /* before frames are rendered for it */
        report_file(app->out);
        return 2;
    }
    hd_result result = open_app(app);
    if (result == HD_OK)
        result = render(app, times, &plan);
    if (result == HD_OK)
        result = print_summary(app, times, plan);
    if (result == HD_OK)
        result = report_write_plan(app, plan);
    if (result != HD_OK)
        return fail(app, result);
    result = report_verify(app, plan);
    printf("verification    %s\n", result == HD_OK ? "the plan holds" : hd_result_text(result));
    if (result == HD_OK && app->capture) {
        result = report_capture(app);
        printf("capture         %s\n", result == HD_OK ? "what was given to Vulkan holds" : hd_result_text(result));
    }
    return result == HD_OK ? 0 : 3;
}

/* The number of a closed standard stream must not go to a picture, or to a file that a driver opens: printed text would
 * go there. Its stand-in can be neither read nor written in the stream's direction, so each attempt fails visibly. */
static void open_standard_streams(void)
{
    for (int number = 0; number < 3; number++) {
        if (fcntl(number, F_GETFD) == -1)
            open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY); /* the lowest number that is free */
    }
}

int main(int argc, char **argv)
{
    open_standard_streams();
    int status = 2;
    struct app *app = calloc(1, sizeof *app);
    if (!app) {
        fputs("deferred: no memory\n", stderr);
        return 2;
    }
    pthread_mutex_init(&app->log_lock, NULL);
    if (!options_parse(app, argc, argv)) {
        free(app);
        return 1;
    }
    double *values = calloc(3 * (size_t)app->frame_count, sizeof *values);
    if (values) {
        struct times times = {values, values + app->frame_count, values + 2 * app->frame_count, 0.0};
        status = run(app, &times);
        close_app(app);
        hd_capture_close();
    }
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == 0) {
        fputs("deferred: standard output could not be written\n", stderr);
        status = 2;
    }
    free(values);
    free(app);
    return status;
}
