#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include <heddle/graph.h>

/* The lines of hd_plan_log: why passes are culled, and which writes are lost. */

typedef struct lines {
    uint32_t infos, warnings;
    char info[8][512], warning[8][512];
} lines;

static lines logged;
static hd_graph *graph;

static void keep(hd_log_level level, const char *text, void *user)
{
    lines *l = user;
    if (level == HD_LOG_INFO && l->infos < 8)
        snprintf(l->info[l->infos++], 512, "%s", text);
    else if (level == HD_LOG_WARNING && l->warnings < 8)
        snprintf(l->warning[l->warnings++], 512, "%s", text);
}

static void setup(void)
{
    logged = (lines){0};
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = {keep, &logged}, .log_plans = true}, &graph), HD_OK);
}

static void teardown(void)
{
    hd_graph_destroy(graph);
}

TestSuite(plan_log, .init = setup, .fini = teardown);

static hd_resource buffer(const char *name)
{
    return hd_graph_buffer(graph, &(hd_buffer_desc){.name = name, .bytes = 256});
}

#define PASS(...) hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, __VA_ARGS__})

static const hd_plan *compile(void)
{
    const hd_plan *plan;
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK, "%s", hd_graph_error(graph)->text);
    return plan;
}

static void expect(const char *line, const char *a, const char *b, const char *c)
{
    cr_expect(strstr(line, a) && strstr(line, b) && strstr(line, c), "'%s' lacks '%s', '%s' or '%s'", line, a, b, c);
}

Test(plan_log, why_passes_are_culled)
{
    hd_resource a = buffer("a"), b = buffer("b"), c = buffer("c"), d = buffer("d");
    PASS(.name = "idle");
    PASS(.name = "alone", .uses = HD_USES({a, HD_STORAGE_WRITE_COMPUTE}));
    PASS(.name = "early", .uses = HD_USES({b, HD_STORAGE_WRITE_COMPUTE}));
    PASS(.name = "late", .uses = HD_USES({b, HD_STORAGE_WRITE_COMPUTE}));
    PASS(.name = "look", .root = true, .uses = HD_USES({b, HD_STORAGE_READ_COMPUTE}));
    PASS(.name = "first", .uses = HD_USES({c, HD_STORAGE_WRITE_COMPUTE}));
    PASS(.name = "second", .uses = HD_USES({c, HD_STORAGE_READ_COMPUTE}, {d, HD_STORAGE_WRITE_COMPUTE}));
    const hd_plan *plan = compile();
    cr_assert_eq(logged.infos, 5u);
    expect(logged.info[0], "'idle' is culled", "writes nothing", "root");
    expect(logged.info[1], "'alone' is culled", "no pass reads", "'a'");
    expect(logged.info[2], "'early' is culled", "'late' overwrites", "'b'");
    expect(logged.info[3], "'first' is culled", "'second', which reads", "'c'");
    expect(logged.info[4], "'second' is culled", "no pass reads", "'d'");
    cr_expect_eq(logged.warnings, 0u);
    logged = (lines){0};
    compile();
    cr_expect_eq(logged.infos, 0u, "a plan that is found again");
    cr_expect_eq(hd_plan_log(graph, plan, &(hd_log){keep, &logged}), HD_OK);
    cr_expect_eq(logged.infos, 5u, "on request");
}

/* A root, or a pass that another write keeps, whose write is overwritten by what covers it, before any read. */
Test(plan_log, writes_that_are_lost)
{
    hd_resource a = buffer("a"), b = buffer("b"), c = buffer("c"), old = buffer("old"), next;
    PASS(.name = "wasted", .root = true, .uses = HD_USES({c, HD_STORAGE_WRITE_COMPUTE}, {a, HD_STORAGE_WRITE_COMPUTE}));
    PASS(.name = "half", .root = true, .uses = HD_USES({b, HD_STORAGE_WRITE_COMPUTE}, {old, HD_STORAGE_WRITE_COMPUTE}));
    PASS(.name = "again", .root = true, .uses = HD_USES({a, HD_STORAGE_WRITE_COMPUTE}));
    PASS(.name = "part", .root = true, .uses = HD_USES({b, HD_STORAGE_WRITE_COMPUTE, .range = {.bytes = 128}}));
    PASS(.name = "anew", .root = true, .uses = HD_USES({old, HD_STORAGE_WRITE_COMPUTE, .next = &next}));
    PASS(.name = "read", .root = true,
         .uses = HD_USES({a, HD_STORAGE_READ_COMPUTE}, {b, HD_STORAGE_READ_COMPUTE}, {c, HD_STORAGE_READ_COMPUTE},
                         {old, HD_STORAGE_READ_COMPUTE}));
    compile();
    cr_assert_eq(logged.warnings, 1u, "%s", logged.warning[1]);
    expect(logged.warning[0], "pass 0 'wasted', use 1", "resource 0 'a' is never read", "pass 2 'again' overwrites");
    cr_expect_eq(logged.infos, 0u);
}

/* Levels, layers and aspects: what does not meet, and what covers. */
Test(plan_log, writes_of_pieces)
{
    hd_image_desc desc = {.name = "pieces", .width = 8, .height = 8, .format = 37, .mips = 3, .layers = 2};
    hd_resource image = hd_graph_image(graph, &desc);
    desc = (hd_image_desc){.name = "both", .width = 8, .height = 8, .format = 129};
    hd_resource both = hd_graph_image(graph, &desc);
    const hd_range first = {.mip_count = 1}, second = {.mip_base = 1, .mip_count = 1};
    const hd_range depth = {.aspect = HD_ASPECT_DEPTH}, stencil = {.aspect = HD_ASPECT_STENCIL};
    hd_graph_pass(graph, &(hd_pass_desc){.name = "draw", .root = true, .uses = HD_USES({both, HD_DEPTH_WRITE})});
    hd_graph_pass(
        graph,
        &(hd_pass_desc){.name = "stencil", .root = true, .uses = HD_USES({both, HD_DEPTH_WRITE, .range = stencil})});
    hd_graph_pass(
        graph, &(hd_pass_desc){.name = "depth", .root = true, .uses = HD_USES({both, HD_DEPTH_WRITE, .range = depth})});
    hd_graph_pass(graph, &(hd_pass_desc){.name = "all", .root = true, .uses = HD_USES({both, HD_DEPTH_WRITE})});
    PASS(.name = "level 0", .root = true, .uses = HD_USES({image, HD_STORAGE_WRITE_COMPUTE, .range = first}));
    PASS(.name = "level 1", .root = true, .uses = HD_USES({image, HD_STORAGE_WRITE_COMPUTE, .range = second}));
    PASS(.name = "use level 1", .root = true, .uses = HD_USES({image, HD_STORAGE_READ_COMPUTE, .range = second}));
    PASS(.name = "whole", .root = true, .uses = HD_USES({image, HD_STORAGE_WRITE_COMPUTE}));
    compile();
    cr_assert_eq(logged.warnings, 4u);
    expect(logged.warning[0], "'draw'", "'both'", "'all' overwrites");
    expect(logged.warning[1], "'stencil'", "'both'", "'all' overwrites");
    expect(logged.warning[2], "'depth'", "'both'", "'all' overwrites");
    expect(logged.warning[3], "'level 0'", "'pieces'", "'whole' overwrites");
}
