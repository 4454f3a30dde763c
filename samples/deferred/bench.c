#include "app.h"

#include <stdlib.h>
#include <string.h>

/* --bench: how long frames take one after another, without pictures on their way to the host and to files. The last
 * frame alone, which is not measured, is read back: its picture depends on all frames before it and shows that every
 * one of them was right.
 *
 * Wall clock: from one return of hd_vk_execute to the next, which waits for the frame that is FRAMES_IN_FLIGHT older.
 * GPU: from the end of one frame's last pass to the end of the next one's, by timestamps; and each pass, from the end
 * of the pass before it on its queue (or its own earliest begin, if that came later) to its own end. */

#define MOST_PASSES 64

struct measured {
    double *wall, *gpu, *span; /* microseconds of each frame */
    double *begin, *pass;      /* pass * frames + frame, from the frame's first pass */
    uint32_t count, frames;
    char names[MOST_PASSES][32];
    uint32_t queues[MOST_PASSES];
    uint32_t pass_count;
    uint64_t seen, last_end_ns; /* of the last frame that was looked at */
};

static bool measured_create(struct measured *m, uint32_t frames)
{
    size_t each = frames, all = each * MOST_PASSES;
    *m = (struct measured){.frames = frames, .seen = UINT64_MAX};
    double *values = calloc(3 * each + 2 * all, sizeof *values);
    if (!values)
        return false;
    m->wall = values;
    m->gpu = values + each;
    m->span = values + 2 * each;
    m->begin = values + 3 * each;
    m->pass = values + 3 * each + all;
    return true;
}

static int by_end(const void *a, const void *b)
{
    const hd_vk_span *x = a, *y = b;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* The passes of a finished frame; first_ns: the begin of its first. */
static void note_passes(struct measured *m, hd_vk_span *spans, uint32_t count, uint64_t first_ns)
{
    uint64_t queue_end[HD_MAX_QUEUES] = {0};
    qsort(spans, count, sizeof *spans, by_end);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *before = &queue_end[spans[i].queue], begin = spans[i].begin_ns;
        if (*before > begin)
            begin = *before;
        *before = spans[i].end_ns;
        uint32_t pass = 0;
        while (pass < m->pass_count && strcmp(m->names[pass], spans[i].name) != 0)
            pass++;
        if (pass == MOST_PASSES)
            continue;
        if (pass == m->pass_count) {
            snprintf(m->names[pass], sizeof m->names[pass], "%s", spans[i].name);
            m->pass_count++;
        }
        m->queues[pass] = spans[i].queue;
        size_t at = (size_t)pass * m->frames + m->count;
        m->begin[at] = (double)(begin - first_ns) * 1e-3;
        m->pass[at] = (double)(spans[i].end_ns - begin) * 1e-3;
    }
}

/* Takes the newest frame that has finished; measure: it counts. */
static void note_frame(struct app *app, struct measured *m, bool measure)
{
    hd_vk_times times;
    if (hd_vk_times_get(app->vk, 0, &times) != HD_OK || times.frame == m->seen)
        return;
    m->seen = times.frame;
    hd_vk_span passes[MOST_PASSES];
    uint32_t count = 0;
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t i = 0; i < times.span_count; i++) {
        if (times.spans[i].kind != HD_VK_SPAN_PASS || count == MOST_PASSES)
            continue;
        first = times.spans[i].begin_ns < first ? times.spans[i].begin_ns : first;
        last = times.spans[i].end_ns > last ? times.spans[i].end_ns : last;
        passes[count++] = times.spans[i];
    }
    if (count && measure && m->last_end_ns && m->count < m->frames) {
        m->gpu[m->count] = (double)(last - m->last_end_ns) * 1e-3;
        m->span[m->count] = (double)(last - first) * 1e-3;
        note_passes(m, passes, count, first);
        m->count++;
    }
    m->last_end_ns = last;
}

static void print_passes(struct app *app, struct measured *m)
{
    static const char *const kinds[] = {"gfx", "compute", "transfer", "host"};
    hd_vk_info info;
    hd_vk_info_get(app->vk, &info);
    printf("\n%-16s %-9s %10s %10s\n", "pass", "queue", "begin us", "us");
    for (uint32_t p = 0; p < m->pass_count; p++) {
        size_t at = (size_t)p * m->frames;
        double begin = median(&m->begin[at], m->count), time = median(&m->pass[at], m->count);
        printf("%-16s %-9s %10.1f %10.1f\n", m->names[p], kinds[info.queues[m->queues[p]].kind], begin, time);
    }
}

static void print_result(struct app *app, struct measured *m, double total_us)
{
    hd_vk_info info;
    hd_vk_info_get(app->vk, &info);
    printf("\ndevice,queues,workers,width,height,detail,frames,wall_us,wall_mean_us,gpu_us,gpu_span_us,picture\n");
    printf("%s,%u,%u,%u,%u,%u,%u,%.1f,%.1f,", info.device_name, info.queue_count, hd_jobs_worker_count(app->jobs),
           app->width, app->height, app->detail, app->bench, median(m->wall, m->frames), total_us / app->bench);
    if (m->count)
        printf("%.1f,%.1f,", median(m->gpu, m->count), median(m->span, m->count));
    else
        printf(",,");
    printf("%016llx\n", (unsigned long long)app->picture_hashes[app->frame_count - 1]);
}

static hd_result render_frames(struct app *app, struct measured *m, double *total_us)
{
    double begin = 0.0, before = 0.0;
    for (uint32_t number = 0; number < app->frame_count; number++) {
        const hd_plan *plan;
        if (number == BENCH_WARM_UP)
            begin = before = now_us();
        hd_jobs_warm(app->jobs);
        frame_declare(app, &app->frames[number % FRAME_SLOTS], number, false);
        hd_result result = hd_vk_compile(app->vk, app->graph, NULL, &plan);
        if (result == HD_OK && number == BENCH_WARM_UP + app->bench)
            *total_us = now_us() - begin; /* the frame that is read back comes next */
        if (result == HD_OK)
            result = hd_vk_execute(app->vk, app->graph, plan);
        if (result != HD_OK)
            return result;
        double now = now_us();
        if (number >= BENCH_WARM_UP && number < BENCH_WARM_UP + app->bench)
            m->wall[number - BENCH_WARM_UP] = now - before;
        before = now;
        note_frame(app, m, number >= BENCH_WARM_UP + FRAMES_IN_FLIGHT);
    }
    hd_result result = hd_vk_wait(app->vk);
    if (result == HD_OK && atomic_load_explicit(&app->gpu.failed, memory_order_relaxed))
        result = HD_VULKAN;
    return result;
}

hd_result bench_run(struct app *app)
{
    struct measured m;
    double total_us = 0.0;
    if (!measured_create(&m, app->bench))
        return HD_OUT_OF_MEMORY;
    hd_result result = render_frames(app, &m, &total_us);
    if (result == HD_OK) {
        if (app->passes)
            print_passes(app, &m);
        print_result(app, &m, total_us);
    }
    free(m.wall);
    return result;
}
