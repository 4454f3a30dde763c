#include <stdio.h>
#include <string.h>

#include <heddle/vk.h>

#include "sections.h"
#include "clock.h"
#include "measure.h"
#include "printed.h"
#include "stub_driver.h"
#include "workloads.h"

/* CPU time of executing plans on a driver that does nothing, with callbacks that do nothing, on one thread: what
 * heddle itself costs. Each figure is the median over frames; the plan is compiled once. Objects and allocations are
 * those of the measured frames, which should make none.
 *
 * usage: heddle-bench execute [passes [frames]]    default: 1000 300 */

static void nothing(hd_recorder *recorder, void *user)
{
    (void)recorder;
    (void)user;
}

static void print_log(hd_log_level level, const char *text, void *user)
{
    (void)user;
    fprintf(stderr, "heddle-bench execute: level %d: %s\n", (int)level, text);
}

typedef struct figures {
    hdb_times execute, record, submit;
    uint64_t objects, allocations;
} figures;

static hd_result execute_frames(hd_vk *vk, const hd_graph *graph, const hd_plan *plan, const hdb_counted *counted,
                                uint32_t frames, figures *out)
{
    hd_result result = HD_OK;
    for (uint32_t i = 0; i < 32 && result == HD_OK; i++)
        result = hd_vk_execute(vk, graph, plan);
    uint64_t made = counted->made;
    uint32_t objects = atomic_load(&hdb_stub_state.creations);
    for (uint32_t i = 0; i < frames && result == HD_OK; i++) {
        uint64_t start = hdi_clock_ns();
        result = hd_vk_execute(vk, graph, plan);
        uint64_t took = hdi_clock_ns() - start;
        hd_vk_frame_stats stats;
        hd_vk_frame_stats_get(vk, &stats);
        if (!hdb_times_add(&out->execute, took) || !hdb_times_add(&out->record, (uint64_t)(stats.record_us * 1e3)) ||
            !hdb_times_add(&out->submit, (uint64_t)(stats.submit_us * 1e3)))
            return HD_OUT_OF_MEMORY;
    }
    out->allocations = counted->made - made;
    out->objects = atomic_load(&hdb_stub_state.creations) - objects;
    return result;
}

static hd_result measure(uint32_t family, uint32_t passes, uint32_t queues, uint32_t frames)
{
    hdb_counted counted = {0};
    hd_vk_desc desc = hdb_stub_desc(queues);
    desc.allocator = hdb_counted_allocator(&counted);
    desc.log = (hd_log){print_log, NULL};
    hd_vk *vk = NULL;
    hd_graph *graph = NULL;
    const hd_plan *plan = NULL;
    figures f = {0};
    hdb_workload *workload = hdb_workload_make(family, passes, 1, true);
    hd_result result = workload ? hd_vk_create(&desc, &vk) : HD_OUT_OF_MEMORY;
    if (result == HD_OK)
        result = hd_graph_create(NULL, &graph);
    if (result == HD_OK) {
        hdb_workload_record(workload, nothing);
        hdb_workload_declare(workload, graph);
        result = hd_vk_compile(vk, graph, NULL, &plan);
    }
    if (result == HD_OK)
        result = execute_frames(vk, graph, plan, &counted, frames, &f);
    if (result == HD_OK) {
        hd_plan_view view = hd_plan_read(plan);
        double count = view.pass_count - view.culled_count, all = hdb_times_median(&f.execute);
        double record = hdb_times_median(&f.record), submit = hdb_times_median(&f.submit);
        printf("%-10s %6u %6.0f %8u %8u | %8.1f %8.1f %8.1f %8.1f | %7llu %7llu\n", hdb_family_names[family], queues,
               count, view.barrier_count, view.submit_count, all / count, (all - record - submit) / count,
               record / count, submit / count, (unsigned long long)f.objects, (unsigned long long)f.allocations);
    } else {
        printf("%-10s %s\n", hdb_family_names[family], hd_result_text(result));
    }
    hdb_times_free(&f.execute);
    hdb_times_free(&f.record);
    hdb_times_free(&f.submit);
    hd_graph_destroy(graph);
    hd_vk_destroy(vk);
    hdb_workload_free(workload);
    hdb_stub_clear();
    return result;
}

int hbs_execute(int argc, char **argv)
{
    uint32_t passes = 1000, frames = 300;
    int processor;
    bool ok = true;
    if (argc > 3 || (argc > 1 && !hdb_number(argv[1], 4, 100000, &passes)) ||
        (argc > 2 && !hdb_number(argv[2], 1, UINT32_MAX, &frames)))
        return hdb_usage(argc, argv, "usage: heddle-bench execute [PASSES [FRAMES]]\n"
                                     "what executing costs on a driver that does nothing; default: 1000 300\n");
    if (!hdb_pin(&processor))
        fprintf(stderr, "heddle-bench execute: not pinned to one processor\n");
    printf("%-10s %6s %6s %8s %8s | %8s %8s %8s %8s | %7s %7s\n", "ns a pass", "queues", "passes", "barriers",
           "submits", "all", "bind", "record", "submit", "objects", "allocs");
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++) {
        for (uint32_t queues = 1; queues <= 3; queues += 2)
            ok &= measure(family, passes, queues, frames) == HD_OK;
    }
    return hdb_printed(ok ? 0 : 1);
}
