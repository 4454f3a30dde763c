#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters.h"
#include "statistics.h"
#include "suite.h"

/* The benchmark suite: its statistics against slow models, flat workloads against what they were made from, adapters
 * against the verifier, and the program as others call it. */

/* ---- statistics ---- */

/* U by comparing all pairs, and the normal approximation from its definition. */
static double slow_p(const double *a, int n, const double *b, int m)
{
    double u = 0, ties = 0, all[64];
    for (int i = 0; i < n; i++) {
        all[i] = a[i];
        for (int k = 0; k < m; k++)
            u += a[i] > b[k] ? 1 : a[i] == b[k] ? 0.5 : 0;
    }
    memcpy(all + n, b, (size_t)m * sizeof(*b));
    for (int i = 0; i < n + m; i++) {
        int alike = 0;
        for (int k = 0; k < n + m; k++)
            alike += all[k] == all[i];
        ties += (double)alike * alike - 1; /* each of a group adds its share of t^3 - t */
    }
    double total = n + m, variance = n * m / 12.0 * (total + 1 - ties / (total * (total - 1)));
    double away = fabs(u - n * m / 2.0) - 0.5;
    return variance <= 0 || away <= 0 ? 1 : erfc(away / sqrt(2 * variance));
}

Test(bench, mann_whitney_is_that_of_all_pairs)
{
    srand(1);
    for (int round = 0; round < 500; round++) {
        double a[16], b[16];
        int n = 1 + rand() % 16, m = 1 + rand() % 16, values = 2 + rand() % 20, shift = rand() % 5;
        for (int i = 0; i < n; i++)
            a[i] = rand() % values;
        for (int i = 0; i < m; i++)
            b[i] = rand() % values + shift;
        double expected = slow_p(a, n, b, m);
        cr_assert_float_eq(hbs_mann_whitney(a, (uint32_t)n, b, (uint32_t)m), expected, 1e-9, "round %d", round);
    }
}

Test(bench, mann_whitney_of_known_samples)
{
    /* Nine against nine that are all larger: U is 0. */
    const double low[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, high[] = {11, 12, 13, 14, 15, 16, 17, 18, 19};
    cr_assert_lt(hbs_mann_whitney(low, 9, high, 9), 0.001);
    cr_assert_gt(hbs_mann_whitney(low, 9, low, 9), 0.9);
    cr_assert_eq(hbs_mann_whitney(low, 0, high, 9), 1);
}

Test(bench, quartiles)
{
    double samples[] = {9, 1, 8, 2, 7, 3, 6, 4, 5};
    hbs_spread s = hbs_spread_of(samples, 9);
    cr_assert_float_eq(s.median, 5, 1e-12);
    cr_assert_float_eq(s.low, 3, 1e-12);
    cr_assert_float_eq(s.high, 7, 1e-12);
}

/* ---- workloads and adapters ---- */

/* What a flat workload says again is the same declaration: the same plan, to the byte. */
Test(bench, flat_workloads_say_the_same_frame)
{
    const hd_queue_desc queues[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}};
    hd_compile_desc desc = {.queues = queues, .queue_count = 3};
    for (uint32_t f = 0; hbs_families[f]; f++) {
        hbs_source source = {.passes = 120, .seed = 3, .cost = true, .queues = 3};
        snprintf(source.family, sizeof(source.family), "%s", hbs_families[f]);
        hd_graph *made, *again;
        const hd_plan *plan, *other;
        size_t bytes, other_bytes;
        cr_assert_eq(hd_graph_create(NULL, &made), HD_OK);
        cr_assert_eq(hd_graph_create(NULL, &again), HD_OK);
        cr_assert(hbs_declare(&source, 0, made));
        hb_workload *flat = hbs_flatten(made, &source);
        cr_assert_not_null(flat);
        hb_heddle_declare(flat, again);
        cr_assert_eq(hd_graph_compile(made, &desc, &plan), HD_OK, "%s", source.family);
        cr_assert_eq(hd_graph_compile(again, &desc, &other), HD_OK, "%s", source.family);
        const void *data = hd_plan_data(plan, &bytes), *other_data = hd_plan_data(other, &other_bytes);
        cr_expect(bytes == other_bytes && memcmp(data, other_data, bytes) == 0, "%s", source.family);
        cr_expect_eq(hd_plan_verify(again, other, NULL), HD_OK);
        hb_workload *changed = hbs_changed(flat, 1);
        cr_assert_not_null(changed);
        cr_expect_neq(memcmp(changed->pass_cost_us, flat->pass_cost_us, flat->pass_count * sizeof(float)), 0);
        hbs_free(changed);
        hbs_free(flat);
        hd_graph_destroy(made);
        hd_graph_destroy(again);
    }
}

/* Where a changed frame has a larger buffer, the buffer's history is as large. */
Test(bench, changed_histories_are_as_large_as_what_they_are_of)
{
    hbs_source source = {.family = "temporal", .passes = 90, .seed = 1, .queues = 1};
    uint32_t larger = 0;
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert(hbs_declare(&source, 0, graph));
    hb_workload *flat = hbs_flatten(graph, &source);
    cr_assert_not_null(flat);
    for (uint32_t round = 0; round < 100; round++) { /* each resource is in one of them */
        hb_workload *changed = hbs_changed(flat, round);
        cr_assert_not_null(changed);
        for (uint32_t r = 0; r < changed->resource_count; r++) {
            uint32_t of = changed->resource_of[r];
            if (of == HB_NONE)
                continue;
            cr_expect_eq(changed->resource_bytes[r], changed->resource_bytes[of], "resource %u", r);
            cr_expect_eq(changed->resource_size[r], changed->resource_size[of], "resource %u", r);
            larger += changed->resource_bytes[r] > flat->resource_bytes[r];
        }
        hbs_free(changed);
    }
    cr_expect_gt(larger, 0u);
    hbs_free(flat);
    hd_graph_destroy(graph);
}

/* The textbook adapter's plans are accepted wherever its capabilities cover the workload. */
Test(bench, textbook_plans_are_accepted)
{
    hd_graph *graph;
    uint32_t covered = 0;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint32_t f = 0; hbs_families[f]; f++) {
        for (uint64_t seed = 1; seed < 6; seed++) {
            hbs_source source = {.passes = 90, .seed = seed, .queues = 1};
            char verdict[256] = "";
            snprintf(source.family, sizeof(source.family), "%s", hbs_families[f]);
            cr_assert(hbs_declare(&source, 0, graph));
            hb_workload *flat = hbs_flatten(graph, &source);
            cr_assert_not_null(flat);
            if ((flat->needs & ~hb_textbook.capabilities()) == 0) {
                void *handle = hb_textbook.open(flat, &(hb_options){.workers = 1}, verdict, sizeof(verdict));
                cr_assert_not_null(handle, "%s", verdict);
                cr_assert_eq(hb_textbook.declare(handle), 0);
                cr_assert_eq(hb_textbook.compile(handle), 0);
                cr_expect(hbs_judge(&hb_textbook, handle, graph, NULL, verdict, sizeof(verdict)), "%s: %s",
                          source.family, verdict);
                hb_textbook.close(handle);
                covered++;
            }
            hbs_free(flat);
        }
    }
    cr_expect_geq(covered, 35u);
    hd_graph_destroy(graph);
}

static int export_nothing(void *handle, FILE *file)
{
    (void)handle;
    return fputs("{\"plan\": 1, \"graph\": \"g\", \"queues\": [{\"kind\": \"gfx\", \"family\": 0}], \"culled\": [], "
                 "\"heaps\": [], \"resources\": [], \"submits\": []}", file) < 0;
}

/* The verifier's sentence ends with the repair: it comes whole where there is room for it. */
Test(bench, a_verdict_is_as_long_as_its_room)
{
    char name[400], verdict[HBS_VERDICT_BYTES] = "", little[16] = "";
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    hd_graph_pass(graph, &(hd_pass_desc){.name = name, .type = HD_PASS_GFX, .root = true});
    const hb_adapter adapter = {.export_plan = export_nothing};
    cr_expect_not(hbs_judge(&adapter, NULL, graph, NULL, verdict, sizeof(verdict)));
    cr_expect_not_null(strstr(verdict, name), "%s", verdict);
    cr_expect_not(hbs_judge(&adapter, NULL, graph, NULL, little, sizeof(little)));
    cr_expect_eq(strlen(little), sizeof(little) - 1);
    hd_graph_destroy(graph);
}

/* ---- the program ---- */

#define PROGRAM "'" HEDDLE_BINARY_DIR "/bench/heddle-bench' "

static void clean(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -f bench_out_%d.txt bench_err_%d.txt", (int)getpid(), (int)getpid());
    cr_expect_eq(system(command), 0);
}

static int run(const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof(command), PROGRAM "%s >bench_out_%d.txt 2>bench_err_%d.txt", arguments, (int)getpid(),
             (int)getpid());
    return WEXITSTATUS(system(command));
}

/* file: out or err */
static bool says(const char *file, const char *text)
{
    char command[512];
    snprintf(command, sizeof(command), "grep -qF -- '%s' bench_%s_%d.txt", text, file, (int)getpid());
    return system(command) == 0;
}

Test(bench, results_go_through_files)
{
    cr_assert_eq(run("--quick --filter chain-200 --seconds 0.001 --adapter '" HEDDLE_BINARY_DIR
                     "/bench/textbook.so' --json bench_a.json --csv bench_a.csv"), 0);
    json_t *results = json_load_file("bench_a.json", 0, NULL);
    cr_assert_not_null(results);
    const json_t *rows = json_object_get(results, "rows");
    cr_expect_eq(json_array_size(rows), 6u); /* two queue sets, two built-in adapters and the loaded one */
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        cr_expect_str_eq(json_string_value(json_object_get(row, "verdict")), "accepted");
        cr_expect_geq(json_array_size(json_object_get(json_object_get(row, "total"), "samples")), 9u);
        cr_expect_gt(json_integer_value(json_object_get(json_object_get(row, "quality"), "barriers")), 0);
    }
    json_decref(results);
    cr_expect_eq(system("grep -q ^adapter bench_a.csv"), 0);
    /* The same samples do not differ. */
    cr_assert_eq(run("--compare bench_a.json bench_a.json"), 0);
    cr_expect(says("out", "~"));
    cr_assert_eq(run("--merge bench_a.json bench_a.json --json bench_b.json"), 0);
    results = json_load_file("bench_b.json", 0, NULL);
    cr_assert_not_null(results);
    cr_expect_eq(json_array_size(json_object_get(results, "environments")), 2u);
    json_decref(results);
    cr_expect_eq(system("rm -f bench_a.json bench_a.csv bench_b.json"), 0);
    clean();
}

/* With --keep a rejected plan and its frame are files that `heddle verify` judges alike. */
Test(bench, rejected_plans_are_kept)
{
    char command[1024];
    snprintf(command, sizeof(command), "'%s/samples/heddle/heddle' verify bench_keep/rejected-chain-200-q1-turns.fgt "
             "bench_keep/rejected-chain-200-q1-turns.json >/dev/null 2>&1", HEDDLE_BINARY_DIR);
    cr_assert_eq(system("mkdir -p bench_keep"), 0);
    cr_expect_eq(run("--quick --filter chain-200 --seconds 0.001 --only rejected --adapter '" HEDDLE_BINARY_DIR
                     "/tests/rejected.so' --keep bench_keep"), 3);
    cr_expect(says("out", "failed: "));
    cr_expect_eq(WEXITSTATUS(system(command)), 3);
    cr_expect_eq(run("--quick --filter chain-200 --seconds 0.001 --only rejected --adapter '" HEDDLE_BINARY_DIR
                     "/tests/rejected.so' --keep bench_keep/none"), 3);
    cr_expect(says("err", "was not written"));
    cr_expect_eq(system("rm -r bench_keep"), 0);
    clean();
}

Test(bench, mistakes_have_a_sentence)
{
    cr_expect_eq(run("--no-such-option"), 1);
    cr_expect_eq(run("--filter nothing-is-called-this"), 1);
    cr_expect(says("err", "nothing to measure"));
    cr_expect_eq(run("--adapter ./no-such-file.so --quick"), 1);
    cr_expect(says("err", "no-such-file.so"));
    cr_expect_eq(run("no-such-section"), 1);
    cr_expect(says("err", "there is no section"));
    cr_expect_eq(run("--compare no-such.json no-such.json"), 2);
    cr_expect_eq(run("--help"), 0);
    clean();
}
