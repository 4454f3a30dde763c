#include "bars.h"

#include <string.h>

#include "quality_rows.h"
#include "spare.h"
#include "workloads.h"

/* Aims stand here with the workload that they are about, so that a table of "aim, now" is one command. They are no
 * tests: what must not get worse is in the committed figures. */

#define MIB (1ull << 20)

typedef enum figure { HEAP_MIB, BATCHES, SPAN_OVER_PATH, SPAN_OVER_WORK } figure;

typedef struct bar {
    const char *family;
    bool cost;
    uint32_t queue_set;
    hd_order order;
    uint64_t budget;
    figure figure;
    double aim;
    bool merge_rendering;
} bar;

/* All of 1000 passes. With 4.2 GiB what is left is the longest chain of passes that depend on one another: 55 steps, of
 * which 33 go on blending into one image, and need no barriers where the passes share a rendering scope. */
static const bar bars[] = {
    {"deferred", false, 0, HD_ORDER_MEMORY, 0, HEAP_MIB, 127, false},
    {"deferred", false, 0, HD_ORDER_MEMORY, 0, BATCHES, 600, false},
    {"deferred", false, 0, HD_ORDER_OVERLAP, 0, HEAP_MIB, 260, false},
    {"deferred", false, 0, HD_ORDER_OVERLAP, 0, BATCHES, 400, false},
    {"deferred", false, 0, HD_ORDER_OVERLAP, 400 * MIB, BATCHES, 260, false},
    {"deferred", false, 0, HD_ORDER_OVERLAP, 1024 * MIB, BATCHES, 110, false},
    {"deferred", false, 0, HD_ORDER_OVERLAP, 4509715660, BATCHES, 30, false},
    {"deferred", false, 0, HD_ORDER_OVERLAP, 4509715660, BATCHES, 30, true},
    {"layered", false, 0, HD_ORDER_OVERLAP, 0, HEAP_MIB, 560, false},
    {"layered", false, 0, HD_ORDER_OVERLAP, 0, BATCHES, 65, false},
    {"async", true, 1, HD_ORDER_OVERLAP, 0, SPAN_OVER_PATH, 1.05, false},
    {"async", true, 1, HD_ORDER_OVERLAP, 0, HEAP_MIB, 50, false},
    {"deferred", true, 1, HD_ORDER_OVERLAP, 0, SPAN_OVER_WORK, 1.10, false},
    {"deferred", true, 1, HD_ORDER_OVERLAP, 0, HEAP_MIB, 400, false},
};
static const char *const figure_names[] = {
    [HEAP_MIB] = "heap MiB",
    [BATCHES] = "barrier batches",
    [SPAN_OVER_PATH] = "makespan / critical path",
    [SPAN_OVER_WORK] = "makespan / half of all work",
};

static void print_line(FILE *stream, const char *what, const char *name, double aim, double now)
{
    fprintf(stream, "%-58s %-28s %8.2f %8.2f  %s\n", what, name, aim, now, now <= aim ? "reached" : "missed");
}

static hd_result make_graph(uint64_t seed, uint32_t family, uint32_t pass_count, bool cost, hd_graph **out)
{
    hdb_workload *workload = hdb_workload_make(family, pass_count, seed, cost);
    hd_result result = hd_graph_create(NULL, out);

    if (!workload)
        result = HD_OUT_OF_MEMORY;
    if (result == HD_OK)
        hdb_workload_declare(workload, *out);
    hdb_workload_free(workload);
    return result;
}

static double figure_of(const bar *b, hd_graph *graph, const hd_plan_stats *stats)
{
    hd_plan_stats alone = {0};

    switch (b->figure) {
    case HEAP_MIB:
        return (double)stats->heap_bytes / (double)MIB;
    case BATCHES:
        return stats->barrier_batches;
    case SPAN_OVER_PATH:
        return stats->makespan_us / stats->critical_path_us;
    default: /* one queue takes as long as all work */
        hdb_compile(graph, &hdb_queue_sets[0], (hdb_goal){.order = HD_ORDER_DECLARED}, NULL, &alone);
        return stats->makespan_us / (alone.makespan_us / 2);
    }
}

static hd_result print_bar(FILE *stream, uint64_t seed, const bar *b)
{
    hd_graph *graph = NULL;
    hd_plan_stats stats = {0};
    char what[128], budget[48] = "";
    hd_result result = make_graph(seed, hdb_family_index(b->family), 1000, b->cost, &graph);

    if (result == HD_OK) {
        hdb_goal goal = {b->order, b->budget, b->merge_rendering};
        result = hdb_compile(graph, &hdb_queue_sets[b->queue_set], goal, NULL, &stats);
        if (b->budget)
            snprintf(budget, sizeof(budget), "%s, %llu MiB allowed", b->merge_rendering ? " merged" : "",
                     (unsigned long long)(b->budget / MIB));
        snprintf(what, sizeof(what), "%s 1000%s, %u queue%s, %s%s", b->family, b->cost ? " with cost" : "",
                 hdb_queue_sets[b->queue_set].count, b->queue_set ? "s" : "", hdb_order_names[b->order], budget);
        if (result == HD_OK)
            print_line(stream, what, figure_names[b->figure], b->aim, figure_of(b, graph, &stats));
        else
            fprintf(stream, "%-58s %s\n", what, hd_result_name(result));
        result = result == HD_OVER_BUDGET ? HD_OK : result;
    }
    hd_graph_destroy(graph);
    return result;
}

/* Heaps over the bytes that live at once: of all sizes of one family in one order, on one queue, the worst. */
static hd_result worst_heap(uint64_t seed, uint32_t family, hd_order order, char *what, size_t what_bytes,
                            double *worst)
{
    static const uint32_t sizes[] = {50, 200, 1000};

    for (uint32_t i = 0; i < 6; i++) {
        hd_graph *graph = NULL;
        hd_plan_stats stats = {0};
        hd_result result = make_graph(seed, family, sizes[i / 2], i % 2, &graph);
        if (result == HD_OK)
            result = hdb_compile(graph, &hdb_queue_sets[0], (hdb_goal){.order = order}, NULL, &stats);
        double ratio = stats.peak_live_bytes ? (double)stats.heap_bytes / (double)stats.peak_live_bytes : 0;
        if (ratio > *worst) {
            *worst = ratio;
            snprintf(what, what_bytes, "%s %u%s, 1 queue, %s", hdb_family_names[family], sizes[i / 2],
                     i % 2 ? " with cost" : "", hdb_order_names[order]);
        }
        hd_graph_destroy(graph);
        if (result != HD_OK)
            return result;
    }
    return HD_OK;
}

/* Of each family and order that misses the aim the worst; where none does, the worst of all. */
static hd_result print_worst_heaps(FILE *stream, uint64_t seed)
{
    const double aim = 1.02;
    char worst_what[128] = "";
    double worst = 0;

    for (uint32_t i = 0; i < HDB_FAMILY_COUNT * 3; i++) {
        char what[128] = "";
        double ratio = 0;
        hd_result result = worst_heap(seed, i / 3, (hd_order)(i % 3), what, sizeof(what), &ratio);
        if (result != HD_OK)
            return result;
        if (ratio > aim)
            print_line(stream, what, "heap / peak live", aim, ratio);
        if (ratio > worst) {
            worst = ratio;
            memcpy(worst_what, what, sizeof(what));
        }
    }
    if (worst <= aim)
        print_line(stream, worst_what, "heap / peak live, the worst", aim, worst);
    return HD_OK;
}

/* ---- spare records ---- */

static void print_found(const hd_plan_view *view, bool is_wait, uint32_t index, void *user)
{
    FILE *stream = user;

    if (is_wait) {
        const hd_plan_wait *w = &view->waits[index];
        fprintf(stream, "    wait %u: on queue %u for %llu, pass %d\n", index, w->queue, (unsigned long long)w->value,
                (int)w->reason_pass);
        return;
    }
    const hd_plan_barrier *b = &view->barriers[index];
    fprintf(stream, "    barrier %u: %s, pass %d, resource %d, layout %u to %u, stages 0x%llx to 0x%llx\n", index,
            hd_reason_name((hd_reason)b->reason), (int)b->reason_pass, (int)b->resource, b->old_layout, b->new_layout,
            (unsigned long long)b->src_stages, (unsigned long long)b->dst_stages);
}

static hd_result count_family(FILE *stream, uint64_t seed, uint32_t family, uint32_t pass_count, hd_order order,
                              bool each, hdb_spare *total)
{
    hd_graph *graph = NULL;
    const hd_plan *plan = NULL;
    hd_plan_stats stats;
    hdb_spare one = {0};
    hd_result result = make_graph(seed, family, pass_count, false, &graph);

    if (result == HD_OK)
        result = hdb_compile(graph, &hdb_queue_sets[1], (hdb_goal){.order = order}, &plan, &stats);
    if (each)
        fprintf(stream, "%s:\n", hdb_family_names[family]);
    if (result == HD_OK)
        result = hdb_count_spare(graph, plan, each ? print_found : NULL, stream, &one);
    hd_graph_destroy(graph);
    if (stream && result == HD_OK) {
        fprintf(stream, "%-9s %5u of %5u barriers, %3u of %4u waits\n", hdb_family_names[family], one.spare_barriers,
                one.barriers, one.spare_waits, one.waits);
    }
    total->barriers += one.barriers;
    total->waits += one.waits;
    total->spare_barriers += one.spare_barriers;
    total->spare_waits += one.spare_waits;
    for (int r = 0; r < 16; r++)
        total->by_reason[r] += one.by_reason[r];
    return result;
}

hd_result hdb_print_spare(FILE *stream, uint64_t seed, uint32_t pass_count, hd_order order, bool each)
{
    hdb_spare all = {0};

    fprintf(stream, "can be taken out alone, %u passes, 3 queues, %s\n", pass_count, hdb_order_names[order]);
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++) {
        hd_result result = count_family(stream, seed, family, pass_count, order, each, &all);
        if (result != HD_OK)
            return result;
    }
    uint32_t spare = all.spare_barriers + all.spare_waits, records = all.barriers + all.waits;
    fprintf(stream, "all       %5u of %5u records: %.2f %%\n", spare, records, records ? 100.0 * spare / records : 0);
    for (int r = 0; r < 16; r++) {
        if (all.by_reason[r])
            fprintf(stream, "    %5u barriers for %s\n", all.by_reason[r], hd_reason_name((hd_reason)r));
    }
    return HD_OK;
}

hd_result hdb_print_bars(FILE *stream, uint64_t seed)
{
    hdb_spare all = {0};
    hd_result result = HD_OK;

    fprintf(stream, "%-58s %-28s %8s %8s\n", "", "", "aim", "now");
    for (size_t b = 0; result == HD_OK && b < sizeof(bars) / sizeof(bars[0]); b++)
        result = print_bar(stream, seed, &bars[b]);
    if (result == HD_OK)
        result = print_worst_heaps(stream, seed);
    for (uint32_t family = 0; result == HD_OK && family < HDB_FAMILY_COUNT; family++)
        result = count_family(NULL, seed, family, 200, HD_ORDER_OVERLAP, false, &all);
    uint32_t records = all.barriers + all.waits;
    if (result == HD_OK && records > 0)
        print_line(stream, "all families 200, 3 queues, overlap", "records to spare, %", 1.0,
                   100.0 * (all.spare_barriers + all.spare_waits) / records);
    return result;
}
