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
    {"graph a b\n", 1, "unknown word 'b'"},
    {HEAD "frobnicate 1\n", 4, "unknown word 'frobnicate'"},
    {HEAD "image 2 64 64 rgba8 1\n", 4, "count of fields"},
    {HEAD "image 2 64 64 rgba8 1 1 external more\n", 4, "'more': an external image takes [external] [name=]"},
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
    {HEAD "buffer 2 0 external\n", 4, "at least 1"},
    {HEAD "pass 0 gfx\nuse 0 0 color_write format=R8_UNORM\n", 5, "its format has other texels"},
    {HEAD "pass 0 gfx\nuse 0 1 vertex_read format=R8_UNORM\n", 5, "unknown word 'format=R8_UNORM'"},
    {HEAD "buffer 2\n", 4, "count of fields"},
    {HEAD "history 2 9\n", 4, "not declared"},
    {HEAD "history 2 2\n", 4, "not declared"},
    {HEAD "history 2 0 skipped=keep\n", 4, "unknown word 'skipped=keep': not a value of skipped"},
    {HEAD "history 2 0 skipped=restart more\n", 4, "unknown word 'more'"},
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
    {HEAD "image 2 4 4 rgba8 1 1 samples=3\n", 4, "samples is not a power of two"},
    {HEAD "image 2 4 4 rgba8 1 1 samples=4 samples=4\n", 4, "each once"},
    {HEAD "image 2 4 4 rgba8 1 1 serial=4\n", 4, "unknown word 'serial=4'"},
    {HEAD "image 2 4 4 rgba8 1 1 external usage=SAMPLED\n", 4, "unknown word 'usage=SAMPLED'"},
    {HEAD "image 2 4 4 rgba8 1 1 external final=PREINITIALIZED\n", 4, "PREINITIALIZED"},
    {HEAD "image 2 4 4 rgba8 1 1 usage=SAMPLED|NOTHING\n", 4, "not a value of usage"},
    {HEAD "image 2 4 4 rgba8 1 1 usage=SAMPLED|\n", 4, "not a value of usage"},
    {HEAD "image 2 4 4 rgba8 1 1 usage=0x100000000\n", 4, "not a value of usage"},
    {HEAD "image 2 4 4 R8_NOTHING 1 1\n", 4, "not a format"},
    {HEAD "image 2 4 4 4294967296 1 1\n", 4, "no VkFormat"},
    {HEAD "image 2 4 4 UNDEFINED 1 1\n", 4, "UNDEFINED"},
    {HEAD "buffer 2 4 name=\n", 4, "not a value of name"},
    {HEAD "buffer 2 4 name=\"a\n", 4, "not a value of name"},
    {HEAD "buffer 2 4 name=\"a\\\"\n", 4, "not a value of name"},
    {HEAD "buffer 2 4 name=\"a\\x00\"\n", 4, "not a value of name"},
    {HEAD "buffer 2 4 name=\"a\\y\"\n", 4, "not a value of name"},
    {HEAD "buffer 2 4 name=a\"b\n", 4, "not a value of name"},
    {HEAD "buffer 2 4 name=\"a\"b\n", 4, "behind its closing quote"},
    {HEAD "buffer 2 4 sharing=some\n", 4, "not a value of sharing"},
    {HEAD "history 2 0 key=-1\n", 4, "key '-1' is not a number"},
    {HEAD "pass 0 gfx splits=2000\n", 4, "splits"},
    {HEAD "pass 0 gfx rendering=none\n", 4, "not a value of rendering"},
    {HEAD "pass 0 gfx cost=0x7f800000\n", 4, "cost"},
    {HEAD "pass 0 gfx\nuse 0 0 color_write clear=1,2,3\n", 5, "not a value of clear"},
    {HEAD "pass 0 gfx\nuse 0 0 color_write clear=1,2,3,x\n", 5, "not a value of clear"},
    {HEAD "pass 0 gfx\nuse 0 0 color_write aspect=depth\n", 5, "range"},
    {HEAD "pass 0 gfx\nuse 0 1 vertex_read aspect=depth\n", 5, "unknown word 'aspect=depth'"},
    {HEAD "pass 0 gfx\nuse 0 0 color_write of=1\n", 5, "unknown word 'of=1'"},
    {HEAD "pass 0 gfx\nuse 0 0 resolve_write\n", 5, "resource of= 4294967295 is not declared"},
    {HEAD "pass 0 gfx\nuse 0 0 resolve_write of=0\n", 5, "resolve"},
    {HEAD "pass 0 gfx\nuse 0 0 custom stages=COPY\n", 5, "custom"},
    {HEAD "pass 0 gfx\nuse 0 0 custom stages=HOST access=HOST_READ layout=GENERAL does=read\n", 5, "stages"},
    {HEAD "pass 0 compute\nuse 0 1 storage_write_compute before=0\n", 5, "before= is of a read"},
    {HEAD "pass 0 compute\nuse 0 1 storage_read_compute before=1\n", 5, "before= is of a read"},
    {HEAD "pass 0 compute\npass 1 compute\nuse 1 1 storage_read_compute before=0\n", 6, "before= is of a read"},
    {HEAD "queue host 0\n", 4, "a queue is gfx, compute or transfer"},
    {HEAD "queue gfx\n", 4, "count of fields"},
    {HEAD "option order=fastest\n", 4, "not a value of order"},
    {HEAD "option order=memory\noption handoff=3\n", 5, "a second 'option'"},
    {HEAD "need 2 1 1 0\n", 4, "not declared"},
    {HEAD "need 0 65536 3 0\n", 4, "power of two"},
    {HEAD "need 0 65536 256 64\n", 4, "above 63"},
    {HEAD "need 0 65536 256\n", 4, "count of fields"},
    {HEAD "need 0 65536 256 0 0\n", 4, "count of fields"},
    {HEAD "buffer 2 1024\nneed 1 1024 256 0\nneed 2 2048 256 0\n", 6, "another need than on line 5"},
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

/* All that lines may say, once: it reads back as it stands. */
Test(fgt, every_word_reads_back)
{
    static const char text[] =
        "graph my-frame name=\"my frame\"\n"
        "image 0 64 64 rgba8 1 1 name=\"4 samples\" samples=4\n"
        "image 1 64 64 rgba8 1 1 name=\"\\\"q\\\"\\\\\\x0a\" "
        "flags=MUTABLE_FORMAT|0x80000000 usage=STORAGE sharing=concurrent\n"
        "image 2 64 64 D24_UNORM_S8_UINT 1 2 samples=4\n"
        "image 3 64 64 D24_UNORM_S8_UINT 1 2\n"
        "image 4 16 16 R16_SFLOAT 1 1 name=volume depth=16\n"
        "image 5 64 64 bgra8 1 1 external name=window initial=UNDEFINED final=PRESENT_SRC_KHR serial=7\n"
        "buffer 6 4096 usage=SHADER_DEVICE_ADDRESS sharing=exclusive\n"
        "history 7 1 skipped=restart key=18446744073709551615\n"
        "image 8 4 4 999999 1 1\n"
        "buffer 9 16 external sharing=exclusive serial=9\n"
        "pass 0 gfx root cost=2.5 on=gfx name=draw splits=4\n"
        "use 0 0 color_write clear=0.1,0.5,-1,0x7fc00000\n"
        "use 0 1 resolve_write of=0\n"
        "use 0 2 depth_write load=dont_care\n"
        "use 0 3 resolve_write of=2 mode=MAX\n"
        "pass 1 transfer on=transfer\n"
        "use 1 6 transfer_dst @0 1024\n"
        "pass 2 gfx name=own rendering=own\n"
        "use 2 3 sampled_graphics 0 1 1 1 aspect=stencil\n"
        "use 2 5 custom stages=FRAGMENT_SHADER|RAY_TRACING_SHADER_KHR access=SHADER_READ|SHADER_WRITE does=both "
        "layout=GENERAL usage=STORAGE\n"
        "use 2 6 custom @0 512 stages=VERTEX_INPUT access=INDEX_READ does=read usage=INDEX_BUFFER\n"
        "pass 3 transfer\n"
        "use 3 6 transfer_src @0 256 before=1\n"
        "queue gfx 0\n"
        "queue transfer 3\n"
        "option order=memory memory_budget=1000000 packing_effort=3 handoff=0.5 merge_rendering\n"
        "need 0 65792 256 2\n"
        "need 1 65536 256 0\n"
        "need 2 65536 65536 0\n"
        "need 3 65536 1024 0\n"
        "need 4 65536 256 1\n"
        "need 6 4352 128 63\n"
        "need 7 65536 256 0\n"
        "need 8 256 256 0\n";
    char error[512] = "", *written = NULL;
    size_t bytes;
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hd_graph_read_fgt(graph, text, strlen(text), "f.fgt", error, sizeof(error)), HD_OK, "%s", error);
    FILE *stream = open_memstream(&written, &bytes);
    cr_assert_eq(hd_graph_write_fgt_with(graph, hd_graph_fgt_desc(graph), stream), HD_OK);
    fclose(stream);
    cr_expect_str_eq(written, text);
    cr_expect_str_eq(hd_graph_name(graph), "my frame");
    hdi_decl decl = hdi_graph_decl(graph);
    cr_expect_str_eq(decl.res_info[1].name, "\"q\"\\\n");
    cr_expect_str_eq(decl.pass_exec[0].name, "draw");
    cr_expect_eq(decl.late_count, 1);
    free(written);
    hd_graph_destroy(graph);
}

Test(fgt, a_description_that_no_compile_takes_is_refused)
{
    const hd_queue_desc host = {HD_QUEUE_HOST, 0};
    const hd_compile_desc bad[] = {{.order = (hd_order)3}, {.queues = &host, .queue_count = 1},
                                   {.queues = &host, .queue_count = HD_MAX_QUEUES}};
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_expect_eq(hd_graph_write_fgt_with(graph, &bad[i], stderr), HD_INVALID_ARGUMENT, "%zu", i);
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
