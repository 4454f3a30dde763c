#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --bench: how long frames take one after another, without pictures on their way to the host and to files. The last
 * frame alone, which is not measured, is read back: its picture depends on all frames before it and shows that every
 * one of them was right.
 *
 * Wall clock: from one return of kit_end to the next, which waits for the frame that is KIT_FRAMES_IN_FLIGHT older.
 * GPU: from the end of one frame's last pass to the end of the next one's, by timestamps; and each pass, from the end
 * of the pass before it on its queue (or its own earliest begin, if that came later) to its own end. */

enum { MOST_PASSES = 128 };

struct kit_bench {
    double *wall, *gpu, *span; /* microseconds of each frame */
    double *begin, *pass;      /* pass * frames + frame, from the frame's first pass */
    uint32_t count, frames;
    char names[MOST_PASSES][32];
    uint32_t queues[MOST_PASSES];
    uint32_t pass_count;
    uint64_t seen, last_end_ns; /* of the last frame that was looked at */
    double begin_us, before_us, total_us;
};

bool kit_bench_open(struct kit *kit)
{
    size_t each = kit->options.bench, all = each * MOST_PASSES;
    struct kit_bench *m = calloc(1, sizeof *m);
    double *values = calloc(3 * each + 2 * all, sizeof *values);
    if (!m || !values) {
        free(m);
        free(values);
        return kit_check(kit, HD_OUT_OF_MEMORY);
    }
    *m = (struct kit_bench){.frames = kit->options.bench,
                            .seen = UINT64_MAX,
                            .wall = values,
                            .gpu = values + each,
                            .span = values + 2 * each,
                            .begin = values + 3 * each,
                            .pass = values + 3 * each + all};
    kit->bench = m;
    return true;
}

void kit_bench_close(struct kit *kit)
{
    if (kit->bench)
        free(kit->bench->wall);
    free(kit->bench);
    kit->bench = NULL;
}

static int by_end(const void *a, const void *b)
{
    const hd_vk_span *x = a, *y = b;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* The passes of a finished frame; first_ns: the begin of its first. */
static void note_passes(struct kit_bench *m, hd_vk_span *spans, uint32_t count, uint64_t first_ns)
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
static void note_frame(struct kit *kit, struct kit_bench *m, bool measure)
{
    hd_vk_times times;
    if (hd_vk_times_get(kit->vk, 0, &times) != HD_OK || times.frame == m->seen)
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

static void print_passes(const struct kit *kit, struct kit_bench *m)
{
    static const char *const kinds[] = {"gfx", "compute", "transfer", "host"};
    printf("\n%-16s %-9s %10s %10s\n", "pass", "queue", "begin us", "us");
    for (uint32_t p = 0; p < m->pass_count; p++) {
        size_t at = (size_t)p * m->frames;
        double begin = kit_median(&m->begin[at], m->count), time = kit_median(&m->pass[at], m->count);
        printf("%-16s %-9s %10.1f %10.1f\n", m->names[p], kinds[kit->info.queues[m->queues[p]].kind], begin, time);
    }
}

void kit_bench_print(struct kit *kit)
{
    struct kit_bench *m = kit->bench;
    if (kit->options.passes)
        print_passes(kit, m);
    printf("\ndevice,queues,workers,width,height,detail,frames,wall_us,wall_mean_us,gpu_us,gpu_span_us,picture\n");
    printf("%s,%u,%u,%u,%u,%u,%u,%.1f,%.1f,", kit->info.device_name, kit->info.queue_count,
           hd_jobs_worker_count(kit->jobs), kit->width, kit->height, kit->options.detail, m->frames,
           kit_median(m->wall, m->frames), m->total_us / m->frames);
    if (m->count)
        printf("%.1f,%.1f,", kit_median(m->gpu, m->count), kit_median(m->span, m->count));
    else
        printf(",,");
    printf("%016llx\n", (unsigned long long)kit->picture_hash);
}

void kit_bench_frame(struct kit *kit)
{
    struct kit_bench *m = kit->bench;
    uint32_t number = kit->number, last = KIT_BENCH_WARM_UP + m->frames;
    double now = kit_now_us();
    if (number + 1 == KIT_BENCH_WARM_UP)
        m->begin_us = now;
    if (number >= KIT_BENCH_WARM_UP && number < last)
        m->wall[number - KIT_BENCH_WARM_UP] = now - m->before_us;
    if (number + 1 == last)
        m->total_us = now - m->begin_us; /* the frame that is read back comes next */
    m->before_us = now;
    note_frame(kit, m, number >= KIT_BENCH_WARM_UP + KIT_FRAMES_IN_FLIGHT);
}
