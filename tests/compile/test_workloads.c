#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workloads.h"

/* The benchmarks' workloads: measurements with the script of the format's contract and measurements here must be of the
 * same graphs. */

#define SCRIPT HEDDLE_SOURCE_DIR "/../shared/workloads/gen.py"

static char *written(const hd_graph *graph)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(hd_graph_write_fgt(graph, stream), HD_OK);
    cr_assert_eq(fclose(stream), 0);
    return text;
}

/* Takes the words with this key out of a text. */
static void drop_words(char *text, const char *key)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (strncmp(from, key, strlen(key)) == 0)
            from += strlen(key) + strcspn(from + strlen(key), " \n");
        *to++ = *from;
    }
    *to = 0;
}

static char *made_here(uint32_t family, uint32_t pass_count, uint64_t seed, bool cost)
{
    hd_graph *graph;
    hdb_workload *workload = hdb_workload_make(family, pass_count, seed, cost);
    cr_assert_not_null(workload);
    hd_graph_desc desc = {.name = hdb_workload_name(workload)};
    cr_assert_eq(hd_graph_create(&desc, &graph), HD_OK);
    hdb_workload_declare(workload, graph);
    cr_assert_eq(hd_graph_error(graph)->result, HD_OK, "%s: %s", desc.name, hd_graph_error(graph)->text);
    cr_assert_eq(hd_graph_pass_count(graph), hdb_workload_pass_count(workload));
    char *text = written(graph);
    drop_words(text, " serial="); /* the script knows of none */
    hd_graph_destroy(graph);
    hdb_workload_free(workload);
    return text;
}

/* What the script prints, read and written again: order and number forms are then the writer's. */
static char *made_by_script(const char *family, uint32_t pass_count, uint64_t seed, bool cost)
{
    char command[512], error[512] = "", *text = NULL, piece[1 << 14];
    size_t bytes, got;
    snprintf(command, sizeof(command), "python3 '%s' %s %u %llu%s", SCRIPT, family, pass_count,
             (unsigned long long)seed, cost ? " cost" : "");
    FILE *pipe = popen(command, "r"), *stream = open_memstream(&text, &bytes);
    cr_assert(pipe && stream);
    while ((got = fread(piece, 1, sizeof(piece), pipe)) > 0)
        fwrite(piece, 1, got, stream);
    cr_assert_eq(pclose(pipe), 0, "%s", command);
    cr_assert_eq(fclose(stream), 0);
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hd_graph_read_fgt(graph, text, bytes, command, error, sizeof(error)), HD_OK, "%s", error);
    free(text);
    text = written(graph);
    hd_graph_destroy(graph);
    return text;
}

static void compare(uint32_t family, uint32_t pass_count, uint64_t seed, bool cost)
{
    const char *name = hdb_family_names[family];
    char *here = made_here(family, pass_count, seed, cost), *there = made_by_script(name, pass_count, seed, cost);
    size_t at = 0;
    while (here[at] && here[at] == there[at])
        at++;
    size_t line = at;
    while (line > 0 && here[line - 1] != '\n')
        line--;
    cr_assert_eq(strcmp(here, there), 0, "%s %u seed %llu: here '%.*s', by the script '%.*s'", name, pass_count,
                 (unsigned long long)seed, (int)strcspn(here + line, "\n"), here + line,
                 (int)strcspn(there + line, "\n"), there + line);
    free(here);
    free(there);
}

Test(workloads, are_those_of_the_script)
{
    if (access(SCRIPT, R_OK) != 0)
        cr_skip_test("no " SCRIPT);
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++) {
        static const uint64_t seeds[] = {0, 2, 4294967296, 18446744073709551614u};
        for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++)
            compare(family, 4 + (uint32_t)(37 * s), seeds[s], s % 2);
        compare(family, 1000, 1, false);
        compare(family, 5000, 1, true);
    }
}

/* What the script gave once, for where it is not: sums of the texts that were compared then. */
Test(workloads, are_the_same_everywhere)
{
    static const uint64_t sums[HDB_FAMILY_COUNT] = {0x832e064dee5038ab, 0x260eb15a0956ee77, 0xc2e53db21d27f2a8,
                                                    0x4336099cabc5cfd6, 0x42d3baa4db9e5815, 0xd4fea3517f251a54};
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++) {
        char *text = made_here(family, 1000, 1, true);
        uint64_t sum = 14695981039346656037u; /* FNV-1a */
        for (const char *c = text; *c; c++)
            sum = (sum ^ (unsigned char)*c) * 1099511628211u;
        cr_expect_eq(sum, sums[family], "%s has the sum 0x%llx", hdb_family_names[family], (unsigned long long)sum);
        free(text);
    }
}

Test(workloads, cost_changes_nothing_else)
{
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++) {
        char *with = made_here(family, 300, 7, true), *without = made_here(family, 300, 7, false);
        drop_words(with, " cost=");
        cr_assert_str_eq(with, without, "%s", hdb_family_names[family]);
        free(with);
        free(without);
    }
}

Test(workloads, a_name_that_is_none_has_no_index)
{
    cr_assert_eq(hdb_family_index("temporal"), 5u);
    cr_assert_eq(hdb_family_index("temporals"), (uint32_t)HDB_FAMILY_COUNT);
}
