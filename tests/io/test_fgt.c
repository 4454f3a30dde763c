#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "random_graph.h"
#include "tables.h"

/* .fgt: every error of the format is found on its line, and what is written reads back the same. */

typedef struct bad_text {
    const char *text;
    uint32_t line;
    const char *says;
} bad_text;

#define HEAD "graph g\nimage 0 64 32 rgba8 3 2\nbuffer 1 1024\n" /* three lines */

static const bad_text bad_texts[] = {
    {"", 1, "graph NAME"},
    {"# only a comment\n", 1, "graph NAME"},
    {"image 0 4 4 rgba8 1 1\n", 1, "first declaration"},
    {"graph a\ngraph b\n", 2, "second"},
    {"graph\n", 1, "count of fields"},
    {"graph a b\n", 1, "count of fields"},
    {HEAD "frobnicate 1\n", 4, "unknown word 'frobnicate'"},
    {HEAD "image 2 64 64 rgba8 1\n", 4, "count of fields"},
    {HEAD "image 2 64 64 rgba8 1 1 external more\n", 4, "count of fields"},
    {HEAD "image 2 64 64 rgba8 1 1 internal\n", 4, "unknown word 'internal'"},
    {HEAD "image 2 64 64 rgb8 1 1\n", 4, "unknown word 'rgb8'"},
    {HEAD "image 2  64 64 rgba8 1 1\n", 4, "single spaces"},
    {HEAD "image 2 64 64 rgba8 1 1 \n", 4, "single spaces"},
    {HEAD " image 2 64 64 rgba8 1 1\n", 4, "single spaces"},
    {HEAD "image 2 64x 64 rgba8 1 1\n", 4, "not a number"},
    {HEAD "image 2 -64 64 rgba8 1 1\n", 4, "not a number"},
    {HEAD "image 2 4294967296 64 rgba8 1 1\n", 4, "not a number"},
    {HEAD "image 2 0 64 rgba8 1 1\n", 4, "width"},
    {HEAD "image 2 64 64 rgba8 0 1\n", 4, "mips"},
    {HEAD "image 2 64 64 rgba8 1 0\n", 4, "mips and layers"},
    {HEAD "image 2 64 64 rgba8 8 1\n", 4, "more mips"},
    {HEAD "image 3 64 64 rgba8 1 1\n", 4, "out of order"},
    {HEAD "image 1 64 64 rgba8 1 1\n", 4, "out of order"},
    {HEAD "buffer 2 18446744073709551616\n", 4, "not a number"},
    {HEAD "buffer 2 0\n", 4, "at least 1"},
    {HEAD "buffer 2\n", 4, "count of fields"},
    {HEAD "history 2 9\n", 4, "not declared"},
    {HEAD "history 2 2\n", 4, "not declared"},
    {HEAD "history 2 0 skipped=keep\n", 4, "only 'skipped=restart' may stand here"},
    {HEAD "history 2 0 skipped=restart more\n", 4, "count of fields"},
    {HEAD "history 2 0\nhistory 3 2\n", 5, "history is taken of something"},
    {HEAD "buffer 2 64 external\nhistory 3 2\n", 5, "history is taken of something"},
    {HEAD "pass 1 gfx\n", 4, "out of order"},
    {HEAD "pass 0 graphics\n", 4, "unknown word 'graphics'"},
    {HEAD "pass 0 gfx roots\n", 4, "unknown word 'roots'"},
    {HEAD "pass 0 gfx root root\n", 4, "unknown word 'root'"},
    {HEAD "pass 0 gfx cost=\n", 4, "cost"},
    {HEAD "pass 0 gfx cost=1e3\n", 4, "cost"},
    {HEAD "pass 0 gfx cost=-1\n", 4, "cost"},
    {HEAD "pass 0 gfx on=host\n", 4, "unknown word 'on=host'"},
    {HEAD "pass 0 gfx\nuse 1 0 color_write\n", 5, "pass 1 is not declared"},
    {HEAD "pass 0 gfx\nuse 0 2 color_write\n", 5, "resource 2 is not declared"},
    {HEAD "use 0 0 color_write\npass 0 gfx\n", 4, "pass 0 is not declared"},
    {HEAD "pass 0 gfx\nuse 0 0 colour_write\n", 5, "unknown word 'colour_write'"},
    {HEAD "pass 0 gfx\nuse 0 0 none\n", 5, "unknown word 'none'"},
    {HEAD "pass 0 gfx\nuse 0 0\n", 5, "count of fields"},
    {HEAD "pass 0 gfx\nuse 0 0 color_write 0 1\n", 5, "count of fields"},
    {HEAD "pass 0 gfx\nuse 0 1 vertex_read 0 1\n", 5, "'@OFFSET BYTES'"},
    {HEAD "pass 0 gfx\nuse 0 0 color_write 3 1 0 1\n", 5, "range"},
    {HEAD "pass 0 gfx\nuse 0 0 color_write 0 4 0 1\n", 5, "range"},
    {HEAD "pass 0 gfx\nuse 0 0 color_write 0 0 0 1\n", 5, "range"},
    {HEAD "pass 0 gfx\nuse 0 0 color_write 0 1 1 2\n", 5, "range"},
    {HEAD "pass 0 transfer\nuse 0 1 transfer_dst @1024 1\n", 5, "range"},
    {HEAD "pass 0 transfer\nuse 0 1 transfer_dst @512 513\n", 5, "range"},
    {HEAD "pass 0 transfer\nuse 0 1 transfer_dst @0 0\n", 5, "range"},
    {HEAD "pass 0 compute\nuse 0 0 color_write\n", 5, "type of its pass"},
    {HEAD "pass 0 gfx\nuse 0 0 host_write\n", 5, "type of its pass"},
    {HEAD "pass 0 gfx\nuse 0 1 color_write\n", 5, "kind of resource"},
    {HEAD "pass 0 gfx\nuse 0 0 color_write\nuse 0 0 color_rw\n", 6, "twice"},
    {HEAD "pass 0 gfx\npass 1 gfx\nuse 1 0 color_write\nuse 0 1 transfer_dst\nuse 1 0 sampled_graphics\n", 8, "twice"},
    {HEAD "history 2 0\npass 0 gfx\nuse 0 2 color_write\n", 6, "writes to a history"},
};

Test(fgt, errors_name_their_line)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (size_t i = 0; i < sizeof(bad_texts) / sizeof(bad_texts[0]); i++) {
        const bad_text *bad = &bad_texts[i];
        char error[512] = "", where[32];
        hd_result result = hd_graph_read_fgt(graph, bad->text, strlen(bad->text), "f.fgt", error, sizeof(error));
        snprintf(where, sizeof(where), "f.fgt:%u: ", bad->line);
        cr_assert_neq(result, HD_OK, "text %zu was read", i);
        cr_assert_eq(strncmp(error, where, strlen(where)), 0, "text %zu: '%s' does not start with '%s'", i, error,
                     where);
        cr_assert_not_null(strstr(error, bad->says), "text %zu: '%s' does not say '%s'", i, error, bad->says);
        cr_assert_eq(hd_graph_pass_count(graph), 0u);
        cr_assert_eq(hd_graph_resource_count(graph), 0u);
    }
    hd_graph_destroy(graph);
}

Test(fgt, unwritten_reads_name_the_line_of_the_use)
{
    static const char text[] = HEAD "pass 0 gfx\n"
                                    "pass 1 gfx root\n"
                                    "use 1 0 sampled_graphics 0 2 0 2\n"
                                    "use 0 0 color_write 0 1 0 2\n";
    hd_graph *graph;
    const hd_plan *plan;
    char error[512] = "";
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hd_graph_read_fgt(graph, text, strlen(text), "f.fgt", error, sizeof(error)), HD_OK, "%s", error);
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_UNWRITTEN_READ);
    hd_graph_fgt_error(graph, "f.fgt", error, sizeof(error));
    cr_assert_eq(strncmp(error, "f.fgt:6: ", 9), 0, "%s", error);
    hd_graph_destroy(graph);
}

static char *write_text(const hd_graph *graph, size_t *bytes)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, bytes);
    cr_assert_eq(hd_graph_write_fgt(graph, stream), HD_OK);
    fclose(stream);
    return text;
}

Test(fgt, what_is_written_reads_back)
{
    uint64_t first = 1, count = 300;
    hdt_seeds(&first, &count);
    hd_graph *a, *b;
    cr_assert_eq(hd_graph_create(NULL, &a), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &b), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        size_t x_bytes, y_bytes;
        char error[512];
        hdt_random_graph(a, seed, 30);
        char *x = write_text(a, &x_bytes);
        cr_assert_eq(hd_graph_read_fgt(b, x, x_bytes, "x", error, sizeof(error)), HD_OK, "seed %llu: %s",
                     (unsigned long long)seed, error);
        char *y = write_text(b, &y_bytes);
        cr_assert_eq(x_bytes, y_bytes);
        cr_assert_eq(memcmp(x, y, x_bytes), 0, "seed %llu", (unsigned long long)seed);
        free(x);
        free(y);
    }
    hd_graph_destroy(a);
    hd_graph_destroy(b);
}

/* Costs come back as the same numbers, whatever their size; and so does the plan that follows from them. */
/* A line without the word says what it always said. */
Test(fgt, histories_that_restart_read_back)
{
    static const char text[] = HEAD "history 2 0\nhistory 3 1 skipped=restart\n";
    size_t bytes;
    char error[512] = "";
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hd_graph_read_fgt(graph, text, strlen(text), "f.fgt", error, sizeof(error)), HD_OK, "%s", error);
    hdi_decl decl = hdi_graph_decl(graph);
    cr_assert_eq(decl.res_import[2].skipped, HD_SKIPPED_KEEP);
    cr_assert_eq(decl.res_import[3].skipped, HD_SKIPPED_RESTART);
    char *written = write_text(graph, &bytes);
    cr_expect_str_eq(written, text);
    free(written);
    hd_graph_destroy(graph);
}

Test(fgt, costs_read_back_exactly)
{
    enum { COUNT = 3000 };
    static float costs[COUNT] = {12.3456f,    0.1f,      0.0004f,  1e-9f, 9.99999f,       10.00001f, 3.0f,
                                 16777215.0f, 123456.7f, 9.99e11f, 1e12f, 1.17549435e-38f, 1e-45f};
    uint64_t random = hdt_seed();
    for (int i = 0; i < COUNT; i++) { /* of all sizes */
        uint32_t bits = hdt_below(&random, 0x53000000) + 1;
        if (!(costs[i] > 0))
            memcpy(&costs[i], &bits, sizeof(bits));
    }
    hd_graph *a, *b;
    char error[512];
    size_t bytes;
    cr_assert_eq(hd_graph_create(NULL, &a), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &b), HD_OK);
    for (int i = 0; i < COUNT; i++)
        hd_graph_pass(a, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .cost_us = costs[i]});
    char *text = write_text(a, &bytes);
    cr_assert_eq(hd_graph_read_fgt(b, text, bytes, "x", error, sizeof(error)), HD_OK, "%s", error);
    hdi_decl decl = hdi_graph_decl(b);
    for (int i = 0; i < COUNT; i++)
        cr_expect(memcmp(&decl.pass_cost[i], &costs[i], sizeof(float)) == 0, "%.9g is %.9g", (double)costs[i],
                  (double)decl.pass_cost[i]);
    free(text);
    hd_graph_destroy(a);
    hd_graph_destroy(b);
}

/* A name is as long as a field may be, in the plan, too, and longer ones are cut. */
Test(fgt, long_names_stay_whole)
{
    enum { MOST = 4096 };
    static char name[MOST + 3], text[MOST + 16], long_text[MOST + 16];
    hd_graph *graph;
    char error[512] = "";
    memset(name, 'n', MOST + 2);
    int bytes = snprintf(text, sizeof(text), "graph %.*s\n", MOST, name);
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.name = name}, &graph), HD_OK);
    cr_assert_eq(strlen(hd_graph_name(graph)), (size_t)MOST);
    hd_graph_set_name(graph, NULL);
    cr_assert_str_eq(hd_graph_name(graph), "frame");
    cr_assert_eq(hd_graph_read_fgt(graph, text, (size_t)bytes, "x", error, sizeof(error)), HD_OK, "%s", error);
    cr_assert(strlen(hd_graph_name(graph)) == MOST && strncmp(hd_graph_name(graph), name, MOST) == 0);
    size_t written_bytes;
    char *written = write_text(graph, &written_bytes);
    cr_assert(written_bytes == (size_t)bytes && memcmp(written, text, written_bytes) == 0);
    free(written);
    bytes = snprintf(long_text, sizeof(long_text), "graph %.*s\n", MOST + 1, name);
    cr_assert_eq(hd_graph_read_fgt(graph, long_text, (size_t)bytes, "x", error, sizeof(error)), HD_PARSE);
    cr_assert(strstr(error, "longer than 4096"), "%s", error);
    hd_graph_destroy(graph);
}

Test(fgt, what_the_format_cannot_say_is_an_error)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .cost_us = 1e20f});
    cr_assert_eq(hd_graph_write_fgt(graph, stdout), HD_UNSUPPORTED);
    hd_graph_begin(graph);
    hd_graph_image(graph, &(hd_image_desc){.width = 4, .height = 4, .format = 38});
    cr_assert_eq(hd_graph_write_fgt(graph, stdout), HD_UNSUPPORTED);
    hd_graph_destroy(graph);
}

Test(fgt, a_full_device_is_an_io_error)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    FILE *full = fopen("/dev/full", "w");
    cr_assert_not_null(full);
    cr_assert_eq(hd_graph_write_fgt(graph, full), HD_IO);
    fclose(full);
    hd_graph_destroy(graph);
}
