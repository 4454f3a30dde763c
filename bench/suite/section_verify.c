#include <stdio.h>

#include "sections.h"
#include "clock.h"
#include "measure.h"
#include "printed.h"
#include "quality_rows.h"
#include "workloads.h"

/* What it costs to verify a plan, on one thread: the six families of frames, on one and on three queues, in every
 * order. ms: median of hd_plan_verify on a compiled plan, which is right; marked where it is over 50 ms, the aim for
 * 1000 passes. KiB: the most memory that it holds.
 *
 * usage: heddle-bench verify [PASSES [REPEAT [FAMILY]]]        default: 1000 passes, 9 times, all families */

enum { AIM_MS = 50 };

static hd_result measure(const hd_graph *graph, const hd_plan *plan, uint32_t repeat, double *ms, double *kib)
{
    hdb_counted counted = {0};
    hdb_times times = {0};
    hd_verify_desc desc = {.allocator = hdb_counted_allocator(&counted)};
    hd_result result = HD_OK;

    for (uint32_t i = 0; i < repeat && result == HD_OK; i++) {
        uint64_t before = hdi_clock_ns();
        result = hd_plan_verify(graph, plan, &desc);
        if (!hdb_times_add(&times, hdi_clock_ns() - before))
            result = HD_OUT_OF_MEMORY;
    }
    *ms = hdb_times_median(&times) / 1e6;
    *kib = (double)counted.peak / 1024;
    hdb_times_free(&times);
    return result;
}

static hd_result family_rows(hd_graph *graph, uint32_t family, uint32_t passes, uint32_t repeat)
{
    hdb_workload *workload = hdb_workload_make(family, passes, HDB_SEED, true);
    hd_result result = workload ? HD_OK : HD_OUT_OF_MEMORY;

    if (workload)
        hdb_workload_declare(workload, graph);
    for (uint32_t q = 0; q < HDB_QUEUE_SET_COUNT; q++) {
        for (int order = HD_ORDER_OVERLAP; order <= HD_ORDER_DECLARED && result == HD_OK; order++) {
            const hd_plan *plan;
            hd_plan_stats stats;
            double ms = 0, kib = 0;
            result = hdb_compile(graph, &hdb_queue_sets[q], (hdb_goal){.order = (hd_order)order}, &plan, &stats);
            if (result == HD_OK)
                result = measure(graph, plan, repeat, &ms, &kib);
            if (result == HD_OK)
                printf("%-9s%7u%4u  %-9s%9u%9u%8u%7u%10.3f%c%10.0f\n", hdb_family_names[family], stats.kept,
                       stats.queues, hdb_order_names[order], stats.uses, stats.barriers, stats.submits,
                       stats.semaphore_waits, ms, ms > AIM_MS ? '*' : ' ', kib);
        }
    }
    hdb_workload_free(workload);
    return result;
}

int hbs_verify(int argc, char **argv)
{
    uint32_t passes = 1000, repeat = 9;
    uint32_t only = argc > 3 ? hdb_family_index(argv[3]) : HDB_FAMILY_COUNT;
    hd_graph *graph;

    if (argc > 4 || (argc > 1 && !hdb_number(argv[1], 4, 100000, &passes)) ||
        (argc > 2 && !hdb_number(argv[2], 1, UINT32_MAX, &repeat)) || (argc > 3 && only == HDB_FAMILY_COUNT))
        return hdb_usage(argc, argv, "usage: heddle-bench verify [PASSES [REPEAT [FAMILY]]]\n"
                                     "what verifying plans costs; default: 1000 passes, 9 times, all families\n");
    hd_result result = hd_graph_create(NULL, &graph);
    if (result == HD_OK)
        printf("%-9s%7s%4s  %-9s%9s%9s%8s%7s%10s%11s\n", "family", "kept", "q", "order", "uses", "barriers", "submits",
               "waits", "ms", "KiB");
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT && result == HD_OK; family++) {
        if (only == HDB_FAMILY_COUNT || only == family)
            result = family_rows(graph, family, passes, repeat);
    }
    if (result != HD_OK)
        fprintf(stderr, "heddle-bench verify: %s\n", hd_result_text(result));
    else
        hd_graph_destroy(graph);
    return hdb_printed(result == HD_OK ? 0 : 2);
}
