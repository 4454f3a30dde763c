#include "city.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --gains: the same frames with everything on, and with one thing off at a time. Pictures must be the same in all. The
 * bound is what no schedule can beat: the longest of the critical path and the busiest queue, by the times that passes
 * take alone, one behind the other on one queue. */

static const struct variant {
    const char *name;
    bool one_queue, unaliased, one_worker, no_merge, one_copy, untimed;
} variants[] = {{.name = "all on"},
                {.name = "one queue", .one_queue = true},
                {.name = "no aliasing", .unaliased = true},
                {.name = "one worker", .one_worker = true},
                {.name = "no merged rendering", .no_merge = true},
                {.name = "one copy of memory", .one_copy = true},
                {.name = "all on, untimed", .untimed = true}};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* Medians over the frames behind the first ones. */
struct gain {
    double frame_ms, gpu_ms, declare_us, find_us, record_us, submit_us, heap, unaliased;
    uint32_t batches, waits, scopes, passes, kept, submits;
    uint64_t picture;
};

struct samples {
    double *frame, *gpu, *declare, *find, *record, *submit;
    double *pass; /* index of the pass * count + frame */
    char names[MOST_PASSES][32];
    uint32_t count, gpu_count, warm_up;
    uint64_t seen, last_end_ns;
};

static bool samples_create(struct samples *s, uint32_t count)
{
    double *values = calloc((size_t)count * (6 + MOST_PASSES), sizeof *values);
    *s = (struct samples){.seen = UINT64_MAX, .warm_up = count < 8 ? count : 8};
    for (int i = 0; values && i < 6; i++)
        (&s->frame)[i] = values + (size_t)i * count;
    s->pass = values ? values + (size_t)6 * count : NULL;
    s->count = count;
    return values != NULL;
}

/* Of the newest frame that has finished: how long after the one before it it ended, and what each of its passes took
 * from the end of the pass before on its queue. */
static void note_gpu(struct city *city, struct samples *s)
{
    hd_vk_times times;
    if (hd_vk_times_get(city->kit.vk, 0, &times) != HD_OK || times.frame == s->seen)
        return;
    uint64_t end = 0, queue_end[HD_MAX_QUEUES] = {0};
    bool count = s->last_end_ns && times.frame > s->warm_up && s->gpu_count < s->count;
    s->seen = times.frame;
    for (uint32_t i = 0; i < times.span_count; i++) { /* of one queue they stand in its order */
        const hd_vk_span *span = &times.spans[i];
        if (span->kind != HD_VK_SPAN_PASS)
            continue;
        uint64_t from = span->begin_ns > queue_end[span->queue] ? span->begin_ns : queue_end[span->queue];
        queue_end[span->queue] = span->end_ns;
        end = span->end_ns > end ? span->end_ns : end;
        if (!count || span->pass >= MOST_PASSES)
            continue;
        snprintf(s->names[span->pass], sizeof s->names[0], "%s", span->name);
        s->pass[(size_t)span->pass * s->count + s->gpu_count] =
            span->end_ns > from ? (double)(span->end_ns - from) * 1e-3 : 0.0;
    }
    if (count)
        s->gpu[s->gpu_count++] = (double)(end - s->last_end_ns) * 1e-6;
    s->last_end_ns = end;
}

static bool run_frames(struct city *city, struct samples *s)
{
    struct kit *kit = &city->kit;
    double before = kit_now_us();
    for (city_ahead(city); kit_begin(kit); city_ahead(city)) {
        uint32_t number = kit->number;
        bool last = number + 1 == kit->options.frames;
        hd_resource picture = city_frame(city);
        kit_end(kit, last ? picture : (hd_resource){0});
        if (kit->result != HD_OK)
            return false;
        double now = kit_now_us();
        if (number >= s->warm_up && number - s->warm_up < s->count) {
            hd_vk_frame_stats stats;
            uint32_t at = number - s->warm_up;
            hd_vk_frame_stats_get(kit->vk, &stats);
            s->frame[at] = (now - before) * 1e-3;
            s->declare[at] = kit->times_us[0][number % KIT_KEPT_TIMES];
            s->find[at] = kit->times_us[1][number % KIT_KEPT_TIMES];
            s->record[at] = stats.record_us;
            s->submit[at] = stats.submit_us;
        }
        before = now;
        note_gpu(city, s);
    }
    return kit_check(kit, hd_vk_wait(kit->vk));
}

static hd_result summarize(struct city *city, struct samples *s, struct gain *gain, struct pass_times *alone)
{
    hd_plan_stats stats;
    hd_plan_view plan = hd_plan_read(city->kit.plan);
    hd_result result = hd_plan_stats_get(city->kit.graph, city->kit.plan, 0, &stats);
    *gain = (struct gain){.frame_ms = kit_median(s->frame, s->count),
                          .gpu_ms = kit_median(s->gpu, s->gpu_count),
                          .declare_us = kit_median(s->declare, s->count),
                          .find_us = kit_median(s->find, s->count),
                          .record_us = kit_median(s->record, s->count),
                          .submit_us = kit_median(s->submit, s->count),
                          .heap = (double)stats.heap_bytes / 1048576.0,
                          .unaliased = (double)stats.unaliased_bytes / 1048576.0,
                          .batches = stats.barrier_batches,
                          .waits = stats.semaphore_waits,
                          .scopes = plan.scope_count,
                          .passes = stats.passes,
                          .kept = stats.kept,
                          .submits = stats.submits,
                          .picture = city->kit.picture_hash};
    for (uint32_t i = 0; alone && i < MOST_PASSES; i++) {
        memcpy(alone->names[i], s->names[i], sizeof alone->names[i]);
        alone->us[i] = kit_median(&s->pass[(size_t)i * s->count], s->gpu_count);
    }
    if (alone)
        alone->count = MOST_PASSES;
    return result;
}

/* Declares the frame once more with the measured times as costs. */
static hd_result find_bound(struct city *city, const struct pass_times *alone, double *critical, double *busiest)
{
    const hd_plan *plan;
    struct kit *kit = &city->kit;
    hd_plan_stats stats = {0};
    double queues[HD_MAX_QUEUES] = {0};
    city->costs = alone;
    hd_graph_begin(kit->graph);
    city_frame(city);
    hd_result result = hd_vk_compile(kit->vk, kit->graph, &kit->compile, &plan);
    city->costs = NULL;
    if (result == HD_OK)
        result = hd_plan_stats_get(kit->graph, plan, 0, &stats);
    if (result != HD_OK)
        return result;
    hd_plan_view view = hd_plan_read(plan);
    for (uint32_t s = 0; s < view.submit_count; s++) {
        const hd_plan_submit *submit = &view.submits[s];
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
            if (view.commands[c].kind == HD_COMMAND_PASS && view.commands[c].index < alone->count)
                queues[submit->queue] += alone->us[view.commands[c].index];
        }
    }
    *busiest = 0.0;
    for (uint32_t q = 0; q < view.queue_count; q++) {
        if (view.queues[q].kind != HD_QUEUE_HOST && queues[q] > *busiest)
            *busiest = queues[q];
    }
    *critical = stats.critical_path_us;
    return HD_OK;
}

static void print_table(const struct gain *gains, uint32_t count, double critical, double busiest)
{
    printf("\n%-20s %9s %9s %9s %9s %9s %9s %10s %8s %6s %7s  %s\n", "", "frame ms", "GPU ms", "declare", "find",
           "record", "submit us", "memory MiB", "batches", "waits", "scopes", "picture");
    for (uint32_t i = 0; i < count; i++) {
        const struct gain *g = &gains[i];
        printf("%-20s %9.3f %9.3f %9.1f %9.1f %9.1f %9.1f %10.1f %8u %6u %7u  %016llx\n", variants[i].name, g->frame_ms,
               g->gpu_ms, g->declare_us, g->find_us, g->record_us, g->submit_us, g->heap, g->batches, g->waits,
               g->scopes, (unsigned long long)g->picture);
    }
    printf("%-20s %9.3f            longest of critical path (%.3f ms) and busiest queue (%.3f ms)\n", "lower bound",
           (critical > busiest ? critical : busiest) * 1e-3, critical * 1e-3, busiest * 1e-3);
    printf("%u passes declared, %u kept, %u submits; memory %.1f MiB, %.1f MiB where no resources share it\n",
           gains[0].passes, gains[0].kept, gains[0].submits, gains[0].heap, gains[0].unaliased);
}

static int run_variant(struct city *city, const struct kit_options *given, uint32_t which, struct gain *gain,
                       struct pass_times *alone, bool bound, double *critical, double *busiest)
{
    const struct variant *v = &variants[which];
    struct kit_options options = *given;
    struct samples s;
    struct city_options wishes = city->options;
    options.frames = given->frames + (given->frames < 8 ? given->frames : 8); /* the first ones do not count */
    options.no_merge = v->no_merge;
    if (v->one_queue) {
        options.queue_kinds[0] = HD_QUEUE_GFX;
        options.queue_kind_count = 1;
    }
    if (v->one_worker)
        options.workers = 1;
    options.untimed = v->untimed;
    if (v->one_copy)
        options.copies = 1;
    memset(city, 0, sizeof *city);
    city->options = wishes;
    city->options.unaliased = v->unaliased;
    if (!samples_create(&s, given->frames))
        return 2;
    if (city_open(city, &options) && run_frames(city, &s)) {
        kit_check(&city->kit, summarize(city, &s, gain, v->one_queue ? alone : NULL));
        if (bound)
            kit_check(&city->kit, find_bound(city, alone, critical, busiest));
    }
    int status = city_close(city);
    city->options = wishes;
    free(s.frame);
    return status;
}

int city_gains(struct city *city, const struct kit_options *options)
{
    struct gain gains[VARIANTS];
    struct pass_times alone = {0};
    double critical = 0.0, busiest = 0.0;
    /* One queue comes first: its times of passes make the bound of all on. */
    static const uint32_t order[VARIANTS] = {1, 0, 2, 3, 4, 5, 6};
    for (uint32_t i = 0; i < VARIANTS; i++) {
        int status = run_variant(city, options, order[i], &gains[order[i]], &alone, order[i] == 0, &critical, &busiest);
        if (status != 0)
            return status;
    }
    print_table(gains, VARIANTS, critical, busiest);
    for (uint32_t i = 1; i < VARIANTS; i++) {
        if (gains[i].picture != gains[0].picture) {
            fprintf(stderr, "city: the picture with %s is another one\n", variants[i].name);
            return 3;
        }
    }
    return 0;
}
