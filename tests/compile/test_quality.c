#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "quality_rows.h"
#include "spare.h"
#include "workloads.h"

/* The compiler's figures of quality against those that are committed. A change is not wrong in itself; it must be seen.
 */

typedef struct comparison {
    FILE *file;
    uint32_t different, row_count;
} comparison;

/* The next row of the committed file without its end; "" at the end. */
static const char *committed_row(FILE *file, char *line, int line_bytes)
{
    while (fgets(line, line_bytes, file)) {
        if (line[0] == '#' || strncmp(line, "family,", 7) == 0)
            continue;
        line[strcspn(line, "\n")] = 0;
        return line;
    }
    return "";
}

static bool compare_row(const hdb_quality_row *row, void *user)
{
    comparison *c = user;
    char line[512];
    const char *before = committed_row(c->file, line, sizeof(line));

    cr_expect_eq(row->verified, HD_OK, "the plan of '%s' fails verification", row->text);
    c->row_count++;
    if (strcmp(before, row->text) == 0)
        return true;
    if (c->different++ < 20)
        fprintf(stderr, "quality:\n  was %s\n  now %s\n", *before ? before : "not there", row->text);
    return true;
}

Test(quality, figures_are_those_that_are_committed)
{
    comparison c = {.file = fopen(HDB_QUALITY_FILE, "r")};
    char line[512];

    cr_assert_not_null(c.file, HDB_QUALITY_FILE " cannot be read");
    cr_assert_eq(hdb_quality_rows(true, compare_row, &c), HD_OK);
    cr_expect_eq(*committed_row(c.file, line, sizeof(line)), 0, "the file has more rows: %s", line);
    fclose(c.file);
    cr_expect_eq(c.different, 0u,
                 "%u of %u rows of " HDB_QUALITY_FILE
                 " changed. If they are meant to, make them anew and commit them with "
                 "the change: cmake --build build/release --target quality_baseline",
                 c.different, c.row_count);
}

/* ---- what can be taken out ---- */

/* The plan as JSON with `more` after the first `mark`. */
static char *json_with(const hd_graph *graph, const hd_plan *plan, const char *mark, const char *more, size_t *bytes)
{
    char *text = NULL, *longer = NULL;
    FILE *stream = open_memstream(&text, bytes);
    cr_assert_eq(hd_plan_write_json(graph, plan, stream), HD_OK);
    cr_assert_eq(fclose(stream), 0);
    char *at = strstr(text, mark);
    cr_assert_not_null(at, "no '%s' in the plan", mark);
    at += strlen(mark);
    stream = open_memstream(&longer, bytes);
    fprintf(stream, "%.*s%s%s", (int)(at - text), text, more, at);
    cr_assert_eq(fclose(stream), 0);
    free(text);
    return longer;
}

static hdb_spare spare_with(const hd_graph *graph, const hd_plan *plan, const char *mark, const char *more)
{
    char error[256] = "";
    size_t bytes;
    char *text = json_with(graph, plan, mark, more, &bytes);
    hd_plan *longer;
    hdb_spare spare = {0};
    cr_assert_eq(hd_plan_read_json(graph, text, bytes, NULL, &longer, error, sizeof(error)), HD_OK, "%s", error);
    cr_assert_eq(hdb_count_spare(graph, longer, NULL, NULL, &spare), HD_OK);
    hd_plan_free(longer, NULL);
    free(text);
    return spare;
}

Test(quality, what_is_added_for_nothing_is_found)
{
    hdb_workload *workload = hdb_workload_make(hdb_family_index("async"), 50, HDB_SEED, false);
    hd_graph *graph;
    const hd_plan *plan;
    hd_plan_stats stats;
    cr_assert_not_null(workload);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hdb_workload_declare(workload, graph);
    cr_assert_eq(hdb_compile(graph, &hdb_queue_sets[1], (hdb_goal){.order = HD_ORDER_OVERLAP}, &plan, &stats), HD_OK);
    cr_assert_eq(hd_plan_verify(graph, plan, NULL), HD_OK);
    hdb_spare before = {0}, after;
    cr_assert_eq(hdb_count_spare(graph, plan, NULL, NULL, &before), HD_OK);
    cr_expect_eq(before.barriers, stats.barriers);
    cr_expect_eq(before.waits, stats.semaphore_waits);

    after = spare_with(graph, plan, "\"barrier\": [",
                       "{\"src_stages\": 0, \"src_access\": 0, \"dst_stages\": 0, \"dst_access\": 0}, ");
    cr_expect_eq(after.barriers, before.barriers + 1);
    cr_expect_eq(after.spare_barriers, before.spare_barriers + 1);
    cr_expect_eq(after.spare_waits, before.spare_waits);

    /* The same wait twice: either can go, not both. */
    char again[128];
    const hd_plan_wait *wait = hd_plan_read(plan).waits;
    snprintf(again, sizeof(again), "\"queue\": %u, \"value\": %llu, \"stages\": %llu}, {", wait->queue,
             (unsigned long long)wait->value, (unsigned long long)wait->stages);
    after = spare_with(graph, plan, "\"waits\": [{", again);
    cr_expect_eq(after.waits, before.waits + 1);
    cr_expect_eq(after.spare_waits, before.spare_waits + 2);
    cr_expect_eq(after.spare_barriers, before.spare_barriers);
    hd_graph_destroy(graph);
    hdb_workload_free(workload);
}

/* ---- orders ---- */

/* On one queue, order `overlap` may take twice the memory of `memory`: its groups are no more. Where memory changes its
 * tenant within a group, one batch comes to that. */
Test(quality, overlap_has_no_more_batches_than_memory)
{
    static const uint32_t sizes[] = {50, 150, 500};
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++) {
        for (uint32_t k = 0; k < 9; k++) {
            const uint32_t passes = sizes[k / 3], seed = 1 + k % 3;
            hdb_workload *workload = hdb_workload_make(family, passes, seed, false);
            hd_plan_stats overlap, memory;
            cr_assert_not_null(workload);
            hdb_workload_declare(workload, graph);
            cr_assert_eq(hdb_compile(graph, &hdb_queue_sets[0], (hdb_goal){.order = HD_ORDER_OVERLAP}, NULL, &overlap),
                         HD_OK);
            hdb_workload_declare(workload, graph);
            cr_assert_eq(hdb_compile(graph, &hdb_queue_sets[0], (hdb_goal){.order = HD_ORDER_MEMORY}, NULL, &memory),
                         HD_OK);
            cr_expect_leq(overlap.barrier_batches, memory.barrier_batches + 1, "%s %u %u", hdb_family_names[family],
                          passes, seed);
            hdb_workload_free(workload);
        }
    }
    hd_graph_destroy(graph);
}
