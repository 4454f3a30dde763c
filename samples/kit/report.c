#include "internal.h"

#include <errno.h>
#include <heddle/capture.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

void kit_report_file(struct kit *kit, const char *path)
{
    fprintf(stderr, "%s: %s: %s\n", kit->scene->name, path, errno ? strerror(errno) : hd_result_text(HD_IO));
    atomic_store_explicit(&kit->file_failed, true, memory_order_relaxed);
}

/* With all folders above it. */
bool kit_make_folder(struct kit *kit, const char *path)
{
    char part[4096];
    snprintf(part, sizeof part, "%s/", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            break;
        *slash = '/';
    }
    struct stat folder;
    errno = 0;
    if (stat(path, &folder) == 0 && S_ISDIR(folder.st_mode))
        return true;
    kit_report_file(kit, path);
    return false;
}

void kit_path(const struct kit *kit, const char *file, char *path, size_t bytes)
{
    snprintf(path, bytes, "%s/%s", kit->options.out, file);
}

hd_page_span *kit_spans(const struct kit *kit, uint32_t back, uint32_t *count)
{
    hd_vk_times times;
    *count = 0;
    if (hd_vk_times_get(kit->vk, back, &times) != HD_OK)
        return NULL;
    hd_page_span *spans = calloc(times.span_count + 1u, sizeof *spans);
    for (uint32_t i = 0; spans && i < times.span_count; i++) {
        const hd_vk_span *span = &times.spans[i];
        if (span->pass != HD_NONE && (span->kind == HD_VK_SPAN_PASS || span->kind == HD_VK_SPAN_HOST_PASS))
            spans[(*count)++] = (hd_page_span){span->pass, (double)span->begin_ns * 1e-3, (double)span->end_ns * 1e-3};
    }
    return spans;
}

/* ---- the files of a frame ---- */

typedef hd_result (*kit_write_fn)(struct kit *kit, FILE *stream);

static hd_result write_declaration(struct kit *kit, FILE *stream)
{
    hd_queue_desc queues[HD_MAX_QUEUES];
    hd_compile_desc desc = kit->compile; /* with what hd_vk_compile adds */
    for (uint32_t i = 0; i < kit->info.queue_count; i++)
        queues[i] = (hd_queue_desc){kit->info.queues[i].kind, kit->info.queues[i].family};
    desc.queues = queues;
    desc.queue_count = kit->info.queue_count;
    desc.size = hd_vk_size;
    desc.size_user = kit->vk;
    return hd_graph_write_fgt_with(kit->graph, &desc, stream);
}
static hd_result write_plan(struct kit *kit, FILE *stream)
{
    return hd_plan_write_json(kit->graph, kit->plan, stream);
}
static hd_result write_dot(struct kit *kit, FILE *stream)
{
    return hd_plan_write_dot(kit->graph, kit->plan, stream);
}
static hd_result write_trace(struct kit *kit, FILE *stream)
{
    bool timed = !kit->options.untimed && !kit->options.capture;
    return timed ? hd_vk_write_trace(kit->vk, stream) : HD_UNSUPPORTED;
}
static hd_result write_page(struct kit *kit, FILE *stream)
{
    hd_page_desc desc = {0};
    hd_page_span *spans = kit_spans(kit, kit->phase == KIT_PLAN_ALONE, &desc.span_count);
    desc.spans = spans;
    kit_thumbnails_show(kit, &desc);
    hd_result result = hd_plan_write_page(kit->graph, kit->plan, &desc, stream);
    free(spans);
    return result;
}

/* The drawing is a convenience: where there is no dot program there is none. */
static void draw_dot(const char *folder)
{
    char from[4096], to[4096];
    snprintf(from, sizeof from, "%s/plan.dot", folder);
    snprintf(to, sizeof to, "%s/plan.svg", folder);
    char *arguments[] = {"dot", "-Tsvg", "-o", to, from, NULL};
    pid_t child;
    int status;
    if (posix_spawnp(&child, "dot", NULL, NULL, arguments, environ) != 0)
        return;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
}

struct frame_file {
    struct kit *kit;
    kit_write_fn write;
};

static hd_result write_file(FILE *stream, void *user)
{
    const struct frame_file *file = user;
    return file->write(file->kit, stream);
}

bool kit_write_plan(struct kit *kit)
{
    static const struct {
        const char *name;
        kit_write_fn write;
    } files[] = {{"frame.fgt", write_declaration},
                 {"plan.json", write_plan},
                 {"plan.html", write_page},
                 {"plan.dot", write_dot},
                 {"trace.json", write_trace}};
    const char *folder = kit->options.out;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        errno = 0;
        hd_result result = hd_file_write(path, write_file, &(struct frame_file){kit, files[i].write});
        if (result == HD_IO)
            kit_report_file(kit, path);
        if (result == HD_NO_PAGE || result == HD_UNSUPPORTED) { /* no d3; without timestamps */
            printf("%-15s none: %s\n", files[i].name,
                   result == HD_UNSUPPORTED ? "frames have no times" : hd_result_text(result));
            result = HD_OK;
        }
        if (!kit_check(kit, result))
            return false;
    }
    draw_dot(folder);
    return true;
}

bool kit_report(struct kit *kit, const char *folder)
{
    hd_error error;
    hd_result result = hd_vk_report_frame(kit->vk, kit->graph, &kit->compile, folder);
    hd_vk_error_get(kit->vk, &error);
    if (result == HD_OK)
        printf("report          %s\n", folder);
    else
        fprintf(stderr, "%s: %s\n", kit->scene->name, error.result == result ? error.text : hd_result_text(result));
    return result == HD_OK;
}

/* ---- verification ---- */

static void print_violation(const char *text, void *user)
{
    const struct kit *kit = user;
    fprintf(stderr, "%s: %s\n", kit->scene->name, text);
}

bool kit_verify(struct kit *kit)
{
    hd_result result = hd_plan_verify(
        kit->graph, kit->plan,
        &(hd_verify_desc){.message = print_violation, .user = kit, .size = hd_vk_size, .size_user = kit->vk});
    printf("verification    %s\n", result == HD_OK ? "the plan holds" : hd_result_text(result));
    return kit_check(kit, result);
}

bool kit_write_capture(struct kit *kit)
{
    char path[4096];
    hd_stream *stream;
    hd_result result = hd_capture_end(&stream);
    if (result != HD_OK)
        return kit_check(kit, result);
    kit_path(kit, "capture.json", path, sizeof path);
    errno = 0;
    FILE *file = fopen(path, "w");
    result = file ? hd_stream_write(stream, file) : HD_IO;
    if (file && fclose(file) != 0 && result == HD_OK)
        result = HD_IO;
    if (result == HD_IO)
        kit_report_file(kit, path);
    if (result == HD_OK)
        result = hd_stream_verify(stream, &(hd_verify_desc){.message = print_violation, .user = kit});
    hd_stream_free(stream);
    printf("capture         %s\n", result == HD_OK ? "what was given to Vulkan holds" : hd_result_text(result));
    return kit_check(kit, result);
}

/* ---- what is printed ---- */

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double kit_median(double *values, uint32_t count)
{
    if (count == 0)
        return 0.0;
    qsort(values, count, sizeof *values, compare_numbers);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

void kit_print_summary(struct kit *kit)
{
    hd_plan_stats s;
    hd_vk_frame_stats frame;
    uint32_t timed = kit->number < KIT_KEPT_TIMES ? kit->number : KIT_KEPT_TIMES;
    double seconds = (kit_now_us() - kit->first_us) * 1e-6, mib = 1.0 / 1048576.0;
    hd_vk_frame_stats_get(kit->vk, &frame);
    if (!kit_check(kit, hd_plan_stats_get(kit->graph, kit->plan, 0, &s)))
        return;
    hd_plan_view view = hd_plan_read(kit->plan);
    printf("device          %s, %u queues, %u workers\n", kit->info.device_name, kit->info.queue_count,
           hd_jobs_worker_count(kit->jobs));
    printf("passes          %u declared, %u kept\n", s.passes, s.kept);
    printf("queues          %u, the host's included; %u submits, %u semaphore waits\n", s.queues, s.submits,
           s.semaphore_waits);
    printf("barriers        %u in %u batches\n", s.barriers, s.barrier_batches);
    printf("memory          %.2f MiB with aliasing, %.2f MiB without, %.2f MiB alive at once\n",
           (double)s.heap_bytes * mib, (double)s.unaliased_bytes * mib, (double)s.peak_live_bytes * mib);
    printf("device memory   %.2f MiB held by heddle\n", (double)frame.memory_bytes * mib);
    printf("CPU a frame     declare %.0f us, compile %.0f us, record %.0f us (medians over %u frames)\n",
           kit_median(kit->times_us[0], timed), kit_median(kit->times_us[1], timed),
           kit_median(kit->times_us[2], timed), timed);
    printf("rendered        %u frames of %u x %u in %.2f s\n", kit->number, kit->width, kit->height, seconds);
    printf("plan            %016llx, %llu bytes\n", (unsigned long long)view.hash, (unsigned long long)view.bytes);
    if (kit->picture_hash)
        printf("picture         %016llx\n", (unsigned long long)kit->picture_hash);
}

/* By queue, then by end. */
static int compare_spans(const void *a, const void *b)
{
    const hd_vk_span *x = a, *y = b;
    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* The passes of a frame, by queue. A pass can begin before the one in front of it on its queue ends; it works from then
 * on, and begin_ns says so. */
static uint32_t working_spans(const hd_vk_times *times, hd_vk_span *spans)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < times->span_count; i++) {
        const hd_vk_span *span = &times->spans[i];
        if (span->kind == HD_VK_SPAN_PASS || span->kind == HD_VK_SPAN_HOST_PASS)
            spans[count++] = *span;
    }
    qsort(spans, count, sizeof *spans, compare_spans);
    for (uint32_t i = 1; i < count; i++) {
        if (spans[i - 1].queue == spans[i].queue && spans[i - 1].end_ns > spans[i].begin_ns)
            spans[i].begin_ns = spans[i - 1].end_ns;
    }
    return count;
}

static uint64_t shared_ns(const hd_vk_span *a, const hd_vk_span *b)
{
    uint64_t begin = a->begin_ns > b->begin_ns ? a->begin_ns : b->begin_ns;
    uint64_t end = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;
    return end > begin ? end - begin : 0;
}

static void print_bars(const struct kit *kit, const hd_vk_span *spans, uint32_t count)
{
    enum { COLUMNS = 64 };
    static const char *const kinds[] = {"gfx", "compute", "transfer", "host"};
    uint64_t first = UINT64_MAX, last = 0, shared = 0;
    for (uint32_t i = 0; i < count; i++) {
        first = spans[i].begin_ns < first ? spans[i].begin_ns : first;
        last = spans[i].end_ns > last ? spans[i].end_ns : last;
        for (uint32_t k = 0; k < i && spans[i].queue < kit->info.queue_count; k++)
            shared += spans[k].queue != spans[i].queue ? shared_ns(&spans[i], &spans[k]) : 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = (uint32_t)((spans[i].begin_ns - first) * COLUMNS / (last - first + 1));
        uint32_t to = (uint32_t)((spans[i].end_ns - first) * COLUMNS / (last - first + 1));
        char bar[COLUMNS + 1];
        memset(bar, ' ', COLUMNS);
        memset(bar + from, '#', to - from + 1);
        bar[COLUMNS] = '\0';
        bool host = spans[i].queue >= kit->info.queue_count;
        printf("%-8s %-16.16s|%s| %9.3f + %8.3f ms\n",
               kinds[host ? HD_QUEUE_HOST : kit->info.queues[spans[i].queue].kind], spans[i].name, bar,
               (double)(spans[i].begin_ns - first) * 1e-6, (double)(spans[i].end_ns - spans[i].begin_ns) * 1e-6);
    }
    printf("overlap         %.3f ms of %.3f ms, between the passes of different queues of the device\n",
           (double)shared * 1e-6, (double)(last - first) * 1e-6);
}

void kit_print_timeline(const struct kit *kit, uint32_t back)
{
    hd_vk_times times;
    if (hd_vk_times_get(kit->vk, back, &times) != HD_OK || times.span_count == 0)
        return;
    hd_vk_span *spans = calloc(times.span_count, sizeof *spans);
    uint32_t count = spans ? working_spans(&times, spans) : 0;
    printf("timeline        frame %llu; each pass from when, and for how long\n", (unsigned long long)times.frame);
    if (count)
        print_bars(kit, spans, count);
    free(spans);
}
