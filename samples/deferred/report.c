#include "app.h"

#include <errno.h>
#include <heddle/capture.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

void report_path(const struct app *app, const char *file, char *path, size_t bytes)
{
    snprintf(path, bytes, "%s/%s", app->out, file);
}

void report_file(const char *path)
{
    fprintf(stderr, "deferred: %s: %s\n", path, errno ? strerror(errno) : hd_result_text(HD_IO));
}

typedef hd_result (*write_fn)(const hd_graph *graph, const hd_plan *plan, FILE *stream);

static hd_result write_file(const struct app *app, const hd_plan *plan, const char *name, write_fn write)
{
    char path[4096];
    report_path(app, name, path, sizeof path);
    FILE *file = fopen(path, "w");
    hd_result result = file ? write(app->graph, plan, file) : HD_IO;
    if (file && fclose(file) != 0 && result == HD_OK)
        result = HD_IO;
    if (result == HD_IO)
        report_file(path);
    return result;
}

hd_page_span *report_spans(const struct app *app, uint32_t back, uint32_t *count)
{
    hd_vk_times times;
    *count = 0;
    if (hd_vk_times_get(app->vk, back, &times) != HD_OK)
        return NULL;
    hd_page_span *spans = calloc(times.span_count + 1u, sizeof *spans);
    for (uint32_t i = 0; spans && i < times.span_count; i++) {
        const hd_vk_span *span = &times.spans[i];
        if (span->pass != HD_NONE && (span->kind == HD_VK_SPAN_PASS || span->kind == HD_VK_SPAN_HOST_PASS))
            spans[(*count)++] =
                (hd_page_span){span->pass, (double)span->begin_ns * 1e-3, (double)span->end_ns * 1e-3};
    }
    return spans;
}

/* A build without d3 has no page: the sample goes on without. */
static hd_result write_page(const struct app *app, const hd_plan *plan)
{
    char path[4096];
    hd_page_desc desc = {0};
    hd_page_span *spans = report_spans(app, app->thumbnails, &desc.span_count); /* of a frame without thumbnails */
    desc.spans = spans;
    hd_page_picture pictures[MAX_THUMBNAILS];
    for (desc.picture_count = 0; desc.picture_count < app->thumbnail_count; desc.picture_count++) {
        const struct thumbnail *t = &app->thumbnail[desc.picture_count];
        pictures[desc.picture_count] = (hd_page_picture){
            t->pass, t->resource, THUMBNAIL_WIDTH, THUMBNAIL_HEIGHT, t->rgba, t->least, t->most};
    }
    desc.pictures = pictures;
    report_path(app, "plan.html", path, sizeof path);
    FILE *file = fopen(path, "w");
    hd_result result = file ? hd_plan_write_page(app->graph, plan, &desc, file) : HD_IO;
    free(spans);
    if (file && fclose(file) != 0 && result == HD_OK)
        result = HD_IO;
    if (result == HD_IO)
        report_file(path);
    if (result != HD_NO_PAGE)
        return result;
    fprintf(stderr, "deferred: no plan.html: %s\n", hd_result_text(result));
    return remove(path) == 0 ? HD_OK : HD_IO;
}

/* The drawing is a convenience: where there is no dot program there is none. */
static void draw_dot(const struct app *app)
{
    char from[4096], to[4096];
    report_path(app, "plan.dot", from, sizeof from);
    report_path(app, "plan.svg", to, sizeof to);
    char *arguments[] = {"dot", "-Tsvg", "-o", to, from, NULL};
    pid_t child;
    int status;
    if (posix_spawnp(&child, "dot", NULL, NULL, arguments, environ) != 0)
        return;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
}

static hd_result write_frame(const hd_graph *graph, const hd_plan *plan, FILE *stream)
{
    (void)plan;
    return hd_graph_write_fgt(graph, stream);
}

hd_result report_write_plan(const struct app *app, const hd_plan *plan)
{
    hd_result result = write_file(app, plan, "frame.fgt", write_frame);
    if (result == HD_OK)
        result = write_file(app, plan, "plan.json", hd_plan_write_json);
    if (result == HD_OK)
        result = write_page(app, plan);
    if (result == HD_OK)
        result = write_file(app, plan, "plan.dot", hd_plan_write_dot);
    if (result == HD_OK)
        draw_dot(app);
    return result;
}

static void print_violation(const char *text, void *user)
{
    (void)user;
    fprintf(stderr, "deferred: %s\n", text);
}

hd_result report_verify(const struct app *app, const hd_plan *plan)
{
    return hd_plan_verify(app->graph, plan,
                          &(hd_verify_desc){.message = print_violation, .size = hd_vk_size, .size_user = app->vk});
}

hd_result report_capture(const struct app *app)
{
    char path[4096];
    hd_stream *stream;
    hd_result result = hd_capture_end(&stream);
    if (result != HD_OK)
        return result;
    report_path(app, "capture.json", path, sizeof path);
    FILE *file = fopen(path, "w");
    result = file ? hd_stream_write(stream, file) : HD_IO;
    if (file && fclose(file) != 0 && result == HD_OK)
        result = HD_IO;
    if (result == HD_IO)
        report_file(path);
    if (result == HD_OK)
        result = hd_stream_verify(stream, &(hd_verify_desc){.message = print_violation});
    hd_stream_free(stream);
    return result;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, uint32_t count)
{
    if (count == 0)
        return 0.0;
    qsort(values, count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}
