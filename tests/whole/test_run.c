#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "random_graph.h"
#include "run.h"
#include "vk_fixture.h"
#include "workloads.h"

/* Graphs executed for real: every pass writes, and checks what it reads. On one queue, and on the test device with
 * three families that takes submits in any order that the semaphores allow. Plans that are broken on purpose are in
 * test_mutants.c. HEDDLE_SEED replays a random graph. */

static char first_wrong[400];

static void note(const char *text, void *user)
{
    (void)user;
    if (!first_wrong[0])
        snprintf(first_wrong, sizeof(first_wrong), "%s", text);
}

static hd_result execute(run_desc desc, uint64_t order, run_report *report, char *error)
{
    static const hd_queue_kind one[] = {HD_QUEUE_GFX};
    hdt_vk_keep_libraries();
    first_wrong[0] = 0;
    desc.check = true;
    desc.wrong = note;
    hdt_vk_three_families(true, order);
    desc.vk.get_instance_proc = hdt_vk_hooked;
    if (!order) {
        desc.vk.queue_kinds = one;
        desc.vk.queue_kind_count = 1;
    }
    hd_result result = run_graph(&desc, report, error, 512);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device: %s", error);
    return result;
}

static hd_graph *make_workload(uint32_t family, uint32_t pass_count, uint64_t seed)
{
    hd_graph *graph;
    hdb_workload *workload = hdb_workload_make(family, pass_count, seed, true);
    cr_assert_not_null(workload);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hdb_workload_declare(workload, graph);
    cr_assert_eq(hd_graph_error(graph)->result, HD_OK);
    hdb_workload_free(workload);
    return graph;
}

static void run_families(uint64_t order)
{
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++) {
        char error[512];
        run_report report;
        hd_graph *graph = make_workload(family, 50, 1);
        unsigned before = hdt_vk_family_counts().overtaken;
        run_desc desc = {.graph = graph, .frames = 9, .scale = 16};
        hd_result result = execute(desc, order ? order + family : 0, &report, error);
        cr_assert_eq(result, HD_OK, "%s: %s", hdb_family_names[family], error);
        cr_expect_eq(report.wrong, 0, "%s: %s", hdb_family_names[family], first_wrong);
        cr_expect_gt(report.checks, 90, "%s", hdb_family_names[family]);
        cr_expect_lt(report.unchecked, report.checks / 10, "%s", hdb_family_names[family]);
        printf("%s: %llu checks, %u submits overtook\n", hdb_family_names[family], (unsigned long long)report.checks,
               hdt_vk_family_counts().overtaken - before);
        run_report_free(&report);
        hd_graph_destroy(graph);
    }
    cr_expect_eq(hdt_vk_family_counts().faults, 0);
}

Test(run, families_on_one_queue, .timeout = 100)
{
    run_families(0);
}

Test(run, families_on_three_queues_in_random_order, .timeout = 100)
{
    run_families(77);
}

Test(run, random_graphs_in_random_order, .timeout = 100)
{
    uint64_t seed = 1, count = 40;
    uint32_t done = 0, refused = 0;
    uint64_t checks = 0;
    hdt_seeds(&seed, &count);
    for (uint64_t s = seed; s < seed + count; s++) {
        char error[512];
        hd_graph *graph;
        run_report report;
        cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
        hdt_random_executable_graph(graph, s, 24);
        run_desc desc = {.graph = graph, .frames = 9, .scale = 4};
        hd_result result = execute(desc, s, &report, error);
        if (result == HD_UNSUPPORTED) {
            refused++;
        } else {
            cr_assert_eq(result, HD_OK, "HEDDLE_SEED=%llu: %s", (unsigned long long)s, error);
            cr_expect_eq(report.wrong, 0, "HEDDLE_SEED=%llu: %s", (unsigned long long)s, first_wrong);
            done++;
            checks += report.checks;
            run_report_free(&report);
        }
        hd_graph_destroy(graph);
    }
    cr_expect_eq(hdt_vk_family_counts().faults, 0);
    printf("random: %u graphs, %u refused by the device, %llu checks, %u submits overtook\n", done, refused,
           (unsigned long long)checks, hdt_vk_family_counts().overtaken);
    if (count > 1)
        cr_assert_gt(done, refused);
}

/* What a history is of may be used by no pass: the history holds on to what it held, which is known. */
Test(run, histories_that_frames_skip)
{
    static const char text[] = "graph skipped\nimage 0 64 64 rgba8 2 1\nhistory 1 0\nimage 2 64 64 rgba8 1 1 external\n"
                               "pass 0 compute\nuse 0 1 sampled_compute 0 1 0 1\nuse 0 2 storage_write_compute\n";
    char error[512] = "";
    hd_graph *graph;
    run_report report;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hd_graph_read_fgt(graph, text, strlen(text), "f.fgt", error, sizeof(error)), HD_OK, "%s", error);
    cr_assert_eq(execute((run_desc){.graph = graph, .frames = 5}, 0, &report, error), HD_OK, "%s", error);
    cr_expect_eq(report.wrong, 0, "%s", first_wrong);
    cr_expect_geq(report.checks, 5);
    cr_expect_eq(report.unchecked, 0);
    run_report_free(&report);
    hd_graph_destroy(graph);
}
