#include "jobs_bars.h"

#include <stdio.h>

#include "cpus.h"
#include "jobs_measure.h"

/* Figures of several threads depend on how far apart two processors are, which on shared machines changes from minute
 * to minute: the round trip of a cache line is measured before and after each worker count, and stands beside. */

enum { COUNTS = 5, WORKS = 4 };
static const uint32_t counts[COUNTS] = {1, 2, 4, 8, 16};
static const double node_ns[WORKS] = {0, 480, 2500, 10000};

typedef struct figures {
    uint32_t workers;
    double trip_before, trip_after;
    double one_job, batch, start, start_cold, submit_cold;
    double empty_10000;
    double graph[WORKS];
    double range_heavy, range_light, range_cold, range_warm;
    uint32_t heavy_grain, light_grain;
} figures;

/* Of one thread without a pool. The shortest rounds, where those with a pool are medians: a serial loop that another
 * process interrupted must not pass for a speed-up. */
typedef struct serial {
    uint32_t steps[WORKS], item_steps;
    double graph[WORKS], range_heavy, range_light;
} serial;

/* The shortest of some grains: which one an engine should use depends on its items, and is its to know. */
static double best_range(uint32_t items, uint32_t least, uint32_t most, uint32_t *grain)
{
    double best = 0;

    jobs_items = items;
    for (jobs_grain = least; jobs_grain <= most; jobs_grain *= 2) {
        double now = jobs_median(jobs_range);
        if (best == 0 || now < best) {
            best = now;
            *grain = jobs_grain;
        }
    }
    return best;
}

static void measure_serial(serial *s)
{
    jobs_items = 10000;
    jobs_work = 20;
    for (int i = 0; i < 3; i++) { /* short items overlap: their steps are shorter than those of long ones */
        double item = jobs_least(jobs_range_serial) / jobs_items;
        jobs_work = (uint32_t)(jobs_work * 13.5 / item + 0.5);
    }
    s->item_steps = jobs_work;
    jobs_nodes = 1000;
    for (int i = 0; i < WORKS; i++) {
        jobs_work = s->steps[i] = jobs_steps_of(node_ns[i]);
        s->graph[i] = jobs_least(jobs_graph_serial);
    }
    jobs_work = s->item_steps;
    s->range_heavy = jobs_least(jobs_range_serial);
    jobs_work = 1;
    jobs_items = 100000;
    s->range_light = jobs_least(jobs_range_serial);
    jobs_work = 0;
}

static int measure(const serial *s, uint32_t workers, bool pin, figures *f)
{
    if (hd_jobs_create(&(hd_jobs_desc){.worker_count = workers, .pin = pin}, &jobs_pool) != HD_OK)
        return 0;
    *f = (figures){.workers = workers, .trip_before = jobs_round_trip()};
    jobs_work = 0;
    f->one_job = jobs_median(jobs_one_job);
    f->batch = jobs_median(jobs_batch) / JOBS_BATCH;
    if (workers > 1) {
        f->start = jobs_median(jobs_start);
        f->start_cold = jobs_median(jobs_start_cold);
        f->submit_cold = jobs_median(jobs_submit_cold);
    }
    jobs_nodes = 10000;
    f->empty_10000 = jobs_median(jobs_graph) / jobs_nodes;
    jobs_nodes = 1000;
    for (int i = 0; i < WORKS; i++) {
        jobs_work = s->steps[i];
        f->graph[i] = jobs_median(jobs_graph);
    }
    jobs_work = s->item_steps;
    f->range_heavy = best_range(10000, 16, 512, &f->heavy_grain);
    jobs_grain = f->heavy_grain;
    f->range_cold = jobs_median(jobs_range_cold);
    f->range_warm = jobs_median(jobs_range_warm);
    jobs_work = 1;
    f->range_light = best_range(100000, 512, 16384, &f->light_grain);
    jobs_work = 0;
    f->trip_after = jobs_round_trip();
    hd_jobs_destroy(jobs_pool);
    return 1;
}

static void print_tables(const serial *s, const figures *rows, int count, int pinned)
{
    printf("\n%-12s %15s %8s %8s %8s %10s %12s\n", "jobs, ns", "round trip", "one job", "batch", "start", "from sleep",
           "waker's cost");
    for (int i = 0; i < count; i++)
        printf("%3u %-8s %7.0f %7.0f %8.0f %8.1f %8.0f %10.0f %12.0f\n", rows[i].workers, i == pinned ? "pinned" : "",
               rows[i].trip_before, rows[i].trip_after, rows[i].one_job, rows[i].batch, rows[i].start,
               rows[i].start_cold, rows[i].submit_cold);
    printf("\n%-12s %10s %10s   over a serial loop, 1000 nodes of\n", "graphs", "1000", "10000");
    printf("%-12s %10s %10s %9s %9s %9s\n", "", "empty, ns", "a node", "0.48 us", "2.5 us", "10 us");
    for (int i = 0; i < count; i++)
        printf("%3u %-8s %10.1f %10.1f %8.2fx %8.2fx %8.2fx\n", rows[i].workers, i == pinned ? "pinned" : "",
               rows[i].graph[0] / 1000, rows[i].empty_10000, s->graph[1] / rows[i].graph[1],
               s->graph[2] / rows[i].graph[2], s->graph[3] / rows[i].graph[3]);
    printf("\n%-12s %20s %20s %20s\n", "parallel_for", "10000 of 13.5 ns", "100000 light", "10000, workers that");
    printf("%-12s %10s %9s %10s %9s %10s %9s\n", "us", "", "grain", "", "grain", "slept", "are warm");
    printf("%-12s %10.1f %9s %10.1f\n", "serial", s->range_heavy / 1000, "", s->range_light / 1000);
    for (int i = 0; i < count; i++)
        printf("%3u %-8s %10.1f %9u %10.1f %9u %10.1f %9.1f\n", rows[i].workers, i == pinned ? "pinned" : "",
               rows[i].range_heavy / 1000, rows[i].heavy_grain, rows[i].range_light / 1000, rows[i].light_grain,
               rows[i].range_cold / 1000, rows[i].range_warm / 1000);
}

static int print_bar(const char *what, double aim, double now, bool at_most)
{
    bool reached = at_most ? now <= aim : now >= aim;

    printf("%-64s %8.1f %8.2f  %s\n", what, aim, now, reached ? "passed" : "missed");
    return !reached;
}

static void print_unmeasured(const char *what, double aim, uint32_t processors)
{
    printf("%-64s %8.1f        -  not measured: %u processor%s\n", what, aim, processors, processors > 1 ? "s" : "");
}

int jobs_print_bars(void)
{
    static figures rows[COUNTS + 1];
    serial s;
    uint32_t processors = hdi_cpus_usable();
    int count = 0, missed = 0, pinned = -1;

    measure_serial(&s);
    printf("%u processors; nodes of %.2f, %.2f and %.2f us, items of %.1f and %.2f ns\n", processors, s.graph[1] / 1e6,
           s.graph[2] / 1e6, s.graph[3] / 1e6, s.range_heavy / 10000, s.range_light / 100000);
    for (int i = 0; i < COUNTS && counts[i] <= processors; i++)
        if (!measure(&s, counts[i], false, &rows[count++]))
            return -1;
    if (count > 1) { /* the largest once more: does the system move threads about? */
        pinned = count;
        if (!measure(&s, rows[count - 1].workers, true, &rows[count]))
            return -1;
        count++;
    }
    print_tables(&s, rows, count, pinned);
    printf("\n%-64s %8s %8s\n", "bars", "aim", "now");
    missed += print_bar("empty graph of 1000 nodes, one worker, ns a node at most", 30, rows[0].graph[0] / 1000, true);
    missed += print_bar("empty graph of 10000 nodes, one worker, ns a node at most", 30, rows[0].empty_10000, true);
    const char *start = "submit to start on a spinning worker, us at most";
    for (int i = 1; i < count; i++) {
        char what[96];
        snprintf(what, sizeof what, "%s, %u workers%s", start, rows[i].workers, i == pinned ? " pinned" : "");
        missed += print_bar(what, 0.7, rows[i].start / 1000, true);
    }
    if (count == 1)
        print_unmeasured(start, 0.7, processors);
    const char *graph = "graph of 1000 nodes of 2.5 us, 16 workers over a serial loop";
    if (count > COUNTS)
        missed += print_bar(graph, 11.5, s.graph[2] / rows[COUNTS - 1].graph[2], false);
    else
        print_unmeasured(graph, 11.5, processors);
    printf("%d missed\n", missed);
    return missed;
}
