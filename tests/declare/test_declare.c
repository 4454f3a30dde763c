#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <string.h>

#include "checked.h"
#include "declare_columns.h"
#include "random.h"
#include "random_graph.h"
#include "tables.h"

/* Declaring: each mistake has its name, sticks, names pass and resource, and stops nothing but its own frame. */

static hd_graph *graph;

static void setup(void)
{
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
}

static void teardown(void)
{
    hd_graph_destroy(graph);
}

TestSuite(declare, .init = setup, .fini = teardown);

static hd_resource image(void)
{
    return hd_graph_image(graph, &(hd_image_desc){
                                     .name = "img", .width = 256, .height = 128, .format = 37, .mips = 4, .layers = 3});
}

static hd_resource buffer(void)
{
    return hd_graph_buffer(graph, &(hd_buffer_desc){.name = "buf", .bytes = 4096});
}

static void expect(hd_result result, uint32_t pass, uint32_t res, uint32_t use)
{
    const hd_error *error = hd_graph_error(graph);
    const hd_plan *plan;
    cr_assert_eq(error->result, result, "%s, not %s: %s", hd_result_name(error->result), hd_result_name(result),
                 error->text);
    cr_assert_eq(error->pass, pass);
    cr_assert_eq(error->resource, res);
    cr_assert_eq(error->use, use);
    if (result != HD_OK)
        cr_assert(strstr(error->text, hd_result_text(result)));
    cr_assert_eq(hdt_compile(graph, NULL, &plan), result);
    hd_graph_begin(graph);
    cr_assert_eq(hd_graph_error(graph)->result, HD_OK);
}

/* Handles of each sort stay stale, frame by frame: numbers that had room for 1024 frames came round. */
Test(declare, handles_of_long_ago)
{
    hd_resource old = buffer(), version, of_list;
    hd_pass_desc desc = {.type = HD_PASS_COMPUTE, .uses = HD_USES({old, HD_STORAGE_WRITE_COMPUTE, .next = &version})};
    hd_pass pass = hd_graph_pass(graph, &desc);
    of_list = hd_graph_buffer(hd_graph_list(graph, 0), &(hd_buffer_desc){.bytes = 4});
    cr_assert_eq(hd_graph_join(graph), HD_OK);
    cr_assert_eq(hd_graph_resource_index(graph, version), 0u);
    cr_assert_eq(hd_graph_resource_index(graph, of_list), 1u);
    for (uint32_t frame = 0; frame < 5000; frame++) {
        hd_graph_begin(graph);
        hd_resource next = {0}, fresh = frame % 3 ? buffer() : (hd_resource){0};
        if (frame % 3)
            hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                                 .uses = HD_USES({fresh, HD_STORAGE_WRITE_COMPUTE, .next = &next})});
        if (frame % 2)
            hd_graph_buffer(hd_graph_list(graph, 0), &(hd_buffer_desc){.bytes = 4});
        cr_assert_eq(hd_graph_join(graph), HD_OK);
        cr_assert_eq(hd_graph_resource_index(graph, old), HD_NONE, "frame %u", frame);
        cr_assert_eq(hd_graph_resource_index(graph, version), HD_NONE, "frame %u", frame);
        cr_assert_eq(hd_graph_resource_index(graph, of_list), HD_NONE, "frame %u", frame);
        cr_assert_eq(hd_graph_pass_index(graph, pass), HD_NONE, "frame %u", frame);
    }
}

/* Rows of handles come round at their ends. */
Test(declare, handles_come_round)
{
    struct {
        uint32_t first, version, list;
    } last = {HDI_VERSION_HANDLES - HDI_MOST_INDICES - 2, HDI_LIST_HANDLES - HDI_MOST_INDICES - 2,
              0 - HDI_MOST_INDICES - 64 - 1};
    graph->first_handle = last.first;
    graph->first_version = last.version;
    graph->lists.first_handle = last.list;
    for (uint32_t frame = 0; frame < 4; frame++) {
        hd_resource first = buffer(), version, of_list;
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                             .uses = HD_USES({first, HD_STORAGE_WRITE_COMPUTE, .next = &version})});
        of_list = hd_graph_buffer(hd_graph_list(graph, 0), &(hd_buffer_desc){.bytes = 4});
        cr_assert_eq(hd_graph_join(graph), HD_OK);
        cr_assert_eq(hd_graph_resource_index(graph, first), 0u);
        cr_assert_eq(hd_graph_resource_index(graph, version), 0u);
        cr_assert_eq(hd_graph_resource_index(graph, of_list), 1u);
        hd_graph_begin(graph);
    }
    cr_assert(graph->first_handle < 16 && graph->first_version < HDI_VERSION_HANDLES + 16 &&
              graph->lists.first_handle < HDI_LIST_HANDLES + 1024);
}

/* Columns grow by a quarter, but not past what a frame may have. */
Test(declare, more_passes_than_there_may_be, .timeout = 150)
{
    for (uint32_t p = 0; p < HDI_MOST_INDICES; p++)
        cr_assert_neq(hd_graph_pass(graph, &(hd_pass_desc){0}).id, 0u);
    cr_assert_eq(hd_graph_error(graph)->result, HD_OK);
    cr_assert_eq(hd_graph_pass(graph, &(hd_pass_desc){0}).id, 0u);
    expect(HD_TOO_LARGE, HDI_MOST_INDICES, HD_NONE, HD_NONE);
}

/* A count that no frame has room for is no reason to look at what it counts. */
Test(declare, more_uses_than_there_may_be)
{
    const hd_use use = {.access = HD_COLOR_WRITE};
    const hd_pass_desc desc = {.uses = &use, .use_count = UINT32_MAX};
    cr_assert_eq(hd_graph_pass(graph, &desc).id, 0u);
    cr_assert_eq(hd_graph_pass(graph, &desc).id, 0u); /* what follows an error is not looked at either */
    expect(HD_TOO_LARGE, 0, HD_NONE, HD_NONE);
    hd_graph_pass(hd_graph_list(graph, 0), &desc);
    hd_graph_join(graph);
    expect(HD_TOO_LARGE, 0, HD_NONE, HD_NONE);
}

/* Clear values are found by use, also behind uses that have none, and go with a pass that is refused. */
Test(declare, clear_values)
{
    enum { PASSES = 100 };
    hd_resource of[PASSES], part = image();
    for (uint32_t p = 0; p < PASSES; p++) {
        of[p] = image();
        const hd_clear clear = {.color = {0, 0, 0, (float)(p % 3)}}, deep = {.depth = (float)(p % 5)};
        const hd_range range = {.mip_base = 1, .mip_count = 1};
        hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({of[p], HD_COLOR_WRITE, .clear = clear},
                                                             {buffer(), HD_VERTEX_READ},
                                                             {part, HD_COLOR_WRITE, range, .clear = deep})});
    }
    cr_assert_eq(hd_graph_error(graph)->result, HD_OK, "%s", hd_graph_error(graph)->text);
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({image(), HD_COLOR_WRITE, .clear.depth = 1},
                                                         {of[0], HD_COLOR_WRITE}, {of[0], HD_SAMPLED_GRAPHICS})});
    hdi_decl decl = hdi_graph_decl(graph);
    uint32_t count = 0;
    for (uint32_t p = 0; p < PASSES; p++) {
        count += (p % 3 != 0) + (p % 5 != 0);
        cr_assert_eq(hdi_use_clear(&decl, 3 * p).color[3], (float)(p % 3));
        cr_assert_eq(hdi_use_clear(&decl, 3 * p + 1).depth, 0.0f);
        cr_assert_eq(hdi_use_clear(&decl, 3 * p + 2).depth, (float)(p % 5));
    }
    cr_assert_eq(decl.clear_count, count);
    expect(HD_CONFLICTING_USES, PASSES, hd_graph_resource_index(graph, of[0]), 2);
    cr_assert_eq(hdi_graph_decl(graph).clear_count, 0u);
}

Test(declare, handles)
{
    hd_resource old = image();
    hd_graph_begin(graph);
    cr_assert_eq(hd_graph_resource_index(graph, old), HD_NONE);
    hd_pass none = hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({old, HD_COLOR_WRITE})});
    cr_assert_eq(none.id, 0u);
    expect(HD_BAD_HANDLE, 0, HD_NONE, 0);

    hd_graph *other;
    cr_assert_eq(hd_graph_create(NULL, &other), HD_OK);
    hd_resource foreign = hd_graph_buffer(other, &(hd_buffer_desc){.bytes = 4});
    buffer();
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .uses = HD_USES({foreign, HD_TRANSFER_DST})});
    expect(HD_BAD_HANDLE, 0, HD_NONE, 0);
    hd_graph_destroy(other);
    cr_assert_eq(hd_graph_create(NULL, &other), HD_OK); /* where the other one lay, mostly */
    hd_resource same = hd_graph_buffer(other, &(hd_buffer_desc){.bytes = 4});
    cr_assert_neq(same.id, foreign.id);
    hd_graph_destroy(other);

    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({{0}, HD_COLOR_WRITE})});
    expect(HD_BAD_HANDLE, 0, HD_NONE, 0);

    hd_resource a = image();
    cr_assert_eq(hd_graph_resource_index(graph, a), 0u);
    hd_pass p = hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({a, HD_COLOR_WRITE, .range = {.mip_count = 1}})});
    cr_assert_eq(hd_graph_pass_index(graph, p), 0u);
    cr_assert_eq(hd_graph_pass_count(graph), 1u);
    expect(HD_OK, HD_NONE, HD_NONE, HD_NONE);
}

Test(declare, ranges)
{
    static const hd_range bad_images[] = {
        {.mip_base = 4, .mip_count = 1},   {.mip_count = 5},  {.mip_base = 3, .mip_count = 2},
        {.layer_base = 3, .layer_count = 1}, {.layer_count = 4}, {.layer_base = UINT32_MAX, .layer_count = 2},
    };
    static const hd_range bad_buffers[] = {{.offset = 4096, .bytes = 1},
                                           {.bytes = 4097},
                                           {.offset = 1, .bytes = UINT64_MAX},
                                           {.offset = UINT64_MAX, .bytes = 2}};
    for (size_t i = 0; i < sizeof(bad_images) / sizeof(bad_images[0]); i++) {
        hd_resource a = image();
        hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({a, HD_COLOR_WRITE, .range = bad_images[i]})});
        expect(HD_BAD_RANGE, 0, 0, 0);
    }
    for (size_t i = 0; i < sizeof(bad_buffers) / sizeof(bad_buffers[0]); i++) {
        hd_resource a = image(), b = buffer();
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER,
                                             .uses = HD_USES({a, HD_TRANSFER_DST},
                                                             {b, HD_TRANSFER_DST, .range = bad_buffers[i]})});
        expect(HD_BAD_RANGE, 0, 1, 1);
    }
}

Test(declare, accesses_and_types)
{
    hd_resource a = image(), b = buffer();
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({b, HD_COLOR_WRITE})});
    expect(HD_BAD_ACCESS, 0, 1, 0);
    a = image();
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({a, HD_VERTEX_READ})});
    expect(HD_BAD_ACCESS, 0, 0, 0);
    a = image();
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({a, (hd_access)77})});
    expect(HD_BAD_ACCESS, 0, 0, 0);
    a = image();
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({a, HD_ACCESS_CUSTOM})});
    expect(HD_BAD_ACCESS, 0, 0, 0);
    a = image();
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = HD_USES({a, HD_COLOR_WRITE})});
    expect(HD_BAD_PASS_TYPE, 0, 0, 0);
    a = image();
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_HOST, .uses = HD_USES({a, HD_TRANSFER_DST})});
    expect(HD_BAD_PASS_TYPE, 0, 0, 0);
    hd_graph_pass(graph, &(hd_pass_desc){.type = (hd_pass_type)9});
    expect(HD_INVALID_ARGUMENT, 0, HD_NONE, HD_NONE);
    hd_graph_pass(graph, &(hd_pass_desc){.cost_us = -1.0f});
    expect(HD_INVALID_ARGUMENT, 0, HD_NONE, HD_NONE);
}

Test(declare, double_uses)
{
    hd_resource a = image();
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({a, HD_COLOR_WRITE}, {a, HD_SAMPLED_GRAPHICS})});
    expect(HD_CONFLICTING_USES, 0, 0, 1);
    a = image();
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({a, HD_SAMPLED_GRAPHICS}, {a, HD_TRANSFER_SRC})});
    expect(HD_CONFLICTING_USES, 0, 0, 1);
    /* Other subresources, and reads that agree, are fine. */
    a = image();
    hd_resource d = hd_graph_image(graph, &(hd_image_desc){.width = 8, .height = 8, .format = 126});
    hd_graph_pass(graph,
                  &(hd_pass_desc){.uses = HD_USES({a, HD_COLOR_WRITE, .range = {.mip_count = 1, .layer_count = 1}},
                                                  {d, HD_DEPTH_WRITE})});
    hd_graph_pass(graph, &(hd_pass_desc){
                             .uses = HD_USES({a, HD_SAMPLED_GRAPHICS, .range = {.mip_count = 1, .layer_count = 1}},
                                             {a, HD_COLOR_WRITE, .range = {.mip_base = 1, .mip_count = 1}},
                                             {d, HD_DEPTH_READ}, {d, HD_SAMPLED_GRAPHICS}, {d, HD_SAMPLED_COMPUTE})});
    expect(HD_OK, HD_NONE, HD_NONE, HD_NONE);
}

/* Each way in which a resolve can be wrong, and the clause that says so. */
Test(declare, resolves)
{
    enum { RGBA8 = 37, R32UI = 98, D32 = 126, S8 = 127 };
    static const struct {
        uint32_t format, samples, to_format, to_samples, to_side, mode;
        hd_access from_access, to_access;
        const char *why;
    } bad[] = {
        {RGBA8, 1, RGBA8, 1, 16, 0, HD_COLOR_WRITE, HD_RESOLVE_WRITE, "one sample"},
        {RGBA8, 4, RGBA8, 4, 16, 0, HD_COLOR_WRITE, HD_RESOLVE_WRITE, "several samples itself"},
        {RGBA8, 4, R32UI, 1, 16, 0, HD_COLOR_WRITE, HD_RESOLVE_WRITE, "another format"},
        {RGBA8, 4, RGBA8, 1, 32, 0, HD_COLOR_WRITE, HD_RESOLVE_WRITE, "another size"},
        {RGBA8, 4, RGBA8, 1, 16, 1, HD_COLOR_WRITE, HD_RESOLVE_WRITE, "in that mode"},
        {R32UI, 4, R32UI, 1, 16, 2, HD_COLOR_WRITE, HD_RESOLVE_WRITE, "in that mode"},
        {D32, 4, D32, 1, 16, 3, HD_DEPTH_WRITE, HD_RESOLVE_WRITE, "in that mode"},
        {D32, 4, D32, 1, 16, 16, HD_DEPTH_WRITE, HD_RESOLVE_WRITE, "in that mode"},
        {S8, 4, S8, 1, 16, 2, HD_DEPTH_WRITE, HD_RESOLVE_WRITE, "in that mode"},
        {RGBA8, 4, RGBA8, 1, 16, 0, HD_SAMPLED_GRAPHICS, HD_RESOLVE_WRITE, "no attachment"},
        {RGBA8, 4, RGBA8, 1, 16, 0, HD_COLOR_WRITE, HD_COLOR_WRITE, "not HD_RESOLVE_WRITE"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hd_resource from = hd_graph_image(
            graph, &(hd_image_desc){.width = 16, .height = 16, .format = bad[i].format, .samples = bad[i].samples});
        hd_resource to = hd_graph_image(graph, &(hd_image_desc){.width = bad[i].to_side,
                                                                .height = 16,
                                                                .format = bad[i].to_format,
                                                                .samples = bad[i].to_samples});
        hd_graph_pass(graph, &(hd_pass_desc){
                                 .uses = HD_USES({from, bad[i].from_access}, {to, bad[i].to_access, .resolve_of = from,
                                                                              .resolve_mode = bad[i].mode})});
        cr_assert(strstr(hd_graph_error(graph)->text, bad[i].why), "case %zu: %s", i, hd_graph_error(graph)->text);
        expect(HD_BAD_RESOLVE, 0, 1, 1);
    }
    const hd_image_desc many = {.width = 16, .height = 16, .format = RGBA8, .samples = 4};
    const hd_image_desc one = {.width = 16, .height = 16, .format = RGBA8};
    hd_resource from = hd_graph_image(graph, &many), to = hd_graph_image(graph, &one),
                too = hd_graph_image(graph, &one);
    hd_graph_pass(graph,
                  &(hd_pass_desc){.uses = HD_USES({to, HD_RESOLVE_WRITE, .resolve_of = from}, {from, HD_COLOR_WRITE},
                                                  {too, HD_RESOLVE_WRITE, .resolve_of = from})});
    cr_assert(strstr(hd_graph_error(graph)->text, "resolved twice"));
    expect(HD_BAD_RESOLVE, 0, 2, 2);
    from = hd_graph_image(graph, &many), to = hd_graph_image(graph, &one);
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({from, HD_COLOR_WRITE}, {to, HD_RESOLVE_WRITE})});
    cr_assert(strstr(hd_graph_error(graph)->text, "nothing of this frame"));
    expect(HD_BAD_RESOLVE, 0, 1, 1);
    hd_resource b = buffer();
    from = hd_graph_image(graph, &many);
    hd_graph_pass(graph,
                  &(hd_pass_desc){.uses = HD_USES({from, HD_COLOR_WRITE}, {b, HD_RESOLVE_WRITE, .resolve_of = from})});
    expect(HD_BAD_ACCESS, 0, 0, 1);
    from = hd_graph_image(graph, &many), to = hd_graph_image(graph, &one);
    hd_graph_pass(
        graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = HD_USES({to, HD_RESOLVE_WRITE, .resolve_of = from})});
    expect(HD_BAD_PASS_TYPE, 0, 1, 0);
    from = hd_graph_image(graph, &many), to = hd_graph_image(graph, &one);
    hd_graph_pass(graph,
                  &(hd_pass_desc){.uses = HD_USES({from, HD_COLOR_WRITE}, {to, HD_RESOLVE_WRITE, .resolve_of = from})});
    expect(HD_OK, HD_NONE, HD_NONE, HD_NONE);
}

Test(declare, histories)
{
    hd_resource a = image(), h = hd_graph_history(graph, a);
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({h, HD_COLOR_WRITE})});
    expect(HD_HISTORY_WRITTEN, 0, 1, 0);
    a = image();
    h = hd_graph_history(graph, a);
    hd_graph_history(graph, h);
    expect(HD_HISTORY_OF_HISTORY, HD_NONE, 2, HD_NONE);
    hd_resource x = hd_graph_import(graph, &(hd_import_desc){.bytes = 64});
    hd_graph_history(graph, x);
    expect(HD_HISTORY_OF_HISTORY, HD_NONE, 1, HD_NONE);
    a = image();
    hd_graph_history(graph, a);
    hd_graph_history(graph, a);
    expect(HD_SECOND_HISTORY, HD_NONE, 2, HD_NONE);
    hd_graph_history(graph, (hd_resource){0});
    expect(HD_BAD_HANDLE, HD_NONE, 0, HD_NONE);
    hd_graph_history_with(graph, NULL);
    expect(HD_INVALID_ARGUMENT, HD_NONE, 0, HD_NONE);
    hd_graph_history_with(graph, &(hd_history_desc){.of = image(), .skipped = (hd_skipped)2});
    expect(HD_INVALID_ARGUMENT, HD_NONE, 1, HD_NONE);
}

Test(declare, descriptions)
{
    static const hd_image_desc bad[] = {
        {.height = 1, .format = 37},
        {.width = 1, .format = 37},
        {.width = 1, .height = 1},
        {.width = 4, .height = 4, .format = 37, .mips = 4},
        {.width = 4, .height = 4, .format = 37, .samples = 3},
        {.width = 1u << 21, .height = 4, .format = 37},
        {.width = 1u << 20, .height = 1u << 20, .format = 37, .layers = 8},
        {.width = 1u << 20, .height = 1u << 20, .format = 37, .depth = 1u << 16, .layers = 1u << 16, .samples = 64},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert_eq(hd_graph_image(graph, &bad[i]).id, 0u);
        expect(HD_BAD_DESC, HD_NONE, 0, HD_NONE);
    }
    const hd_image_desc large = {.width = 1u << 20, .height = 1u << 20, .format = 37, .layers = 4};
    cr_assert_neq(hd_graph_image(graph, &large).id, 0u);
    hd_graph_begin(graph);
    hd_graph_import(graph, &(hd_import_desc){.width = 1u << 20, .height = 1u << 20, .format = 37, .samples = 8});
    expect(HD_BAD_DESC, HD_NONE, 0, HD_NONE);
    hd_graph_image(graph, NULL);
    expect(HD_INVALID_ARGUMENT, HD_NONE, 0, HD_NONE);
    hd_graph_buffer(graph, NULL);
    expect(HD_INVALID_ARGUMENT, HD_NONE, 0, HD_NONE);
    hd_graph_import(graph, NULL);
    expect(HD_INVALID_ARGUMENT, HD_NONE, 0, HD_NONE);
    hd_graph_pass(graph, NULL);
    expect(HD_INVALID_ARGUMENT, 0, HD_NONE, HD_NONE);
    hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 0});
    expect(HD_BAD_DESC, HD_NONE, 0, HD_NONE);
    hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = UINT64_MAX});
    expect(HD_BAD_DESC, HD_NONE, 0, HD_NONE);
}

Test(declare, custom_accesses_compile)
{
    hd_resource a = image();
    const hd_custom_access write = {.stages = 0x800, .access = 0x400000000, .layout = 1, .usage = 8, .writes = true};
    const hd_custom_access read = {.stages = 0x80, .access = 0x200000000, .layout = 1, .usage = 8, .reads = true};
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({a, HD_ACCESS_CUSTOM, .custom = &write})});
    hd_graph_pass(graph, &(hd_pass_desc){.root = true, .uses = HD_USES({a, HD_ACCESS_CUSTOM, .custom = &read})});
    const hd_plan *plan;
    cr_assert_eq(hdt_compile(graph, NULL, &plan), HD_OK);
    hd_plan_view view = hd_plan_read(plan);
    cr_assert_eq(view.culled_count, 0u);
    cr_assert_eq(view.barrier_count, 2u);
    cr_assert_eq(view.barriers[1].src_stages, 0x800u);
    cr_assert_eq(view.barriers[1].dst_access, 0x200000000u);
    cr_assert_eq(view.barriers[1].resource, HD_NONE, "no layout changes: a global barrier");
}

/* What few passes and uses have: a pin, no rendering, loads, a resolve, versions. */
static void declare_unusual(hd_graph *g, bool fails)
{
    hd_resource many = hd_graph_image(g, &(hd_image_desc){.width = 8, .height = 8, .format = 37, .samples = 4});
    hd_resource one = hd_graph_image(g, &(hd_image_desc){.width = 8, .height = 8, .format = 37}), next;
    hd_resource bytes = hd_graph_buffer(g, &(hd_buffer_desc){.bytes = 64});
    hd_graph_pass(g, &(hd_pass_desc){.no_rendering = true,
                                     .uses = HD_USES({many, HD_COLOR_WRITE, .load = HD_LOAD_DONT_CARE},
                                                     {one, HD_RESOLVE_WRITE, .resolve_of = many})});
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_TRANSFER,
                                     .pin = HD_PIN_TRANSFER,
                                     .uses = HD_USES({bytes, HD_TRANSFER_DST, .range = {.bytes = 8}, .next = &next})});
    hd_graph_pass(g, &(hd_pass_desc){.root = true,
                                     .pin = HD_PIN_GFX,
                                     .uses = HD_USES({one, HD_COLOR_RW, .load = HD_LOAD_DONT_CARE},
                                                     {next, HD_VERTEX_READ, .range = {.offset = 4}},
                                                     {fails ? many : next, HD_VERTEX_READ})});
}

static void expect_same(const void *a, const void *b, size_t bytes, const char *what, uint64_t seed)
{
    cr_assert(bytes == 0 || memcmp(a, b, bytes) == 0, "seed %llu: %s", (unsigned long long)seed, what);
}

/* Columns that are not written for each pass and use hold in each frame what they hold in a graph's first one. */
Test(declare, nothing_of_an_earlier_frame_stays)
{
    uint64_t first = hdt_seed(), count = 60;
    hdt_seeds(&first, &count);
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t random = seed, *rng = &random;
        hdt_random_graph(graph, seed + 1, 1 + hdt_below(rng, 80));
        declare_unusual(graph, hdt_below(rng, 2));
        hd_graph *fresh;
        cr_assert_eq(hd_graph_create(NULL, &fresh), HD_OK);
        uint32_t passes = 1 + hdt_below(rng, 80);
        hdt_random_graph(graph, seed, passes);
        hdt_random_graph(fresh, seed, passes);
        hdi_decl a = hdi_graph_decl(graph), b = hdi_graph_decl(fresh);
        cr_assert_eq(a.pass_count, b.pass_count);
        cr_assert_eq(a.use_count, b.use_count);
        cr_assert_eq(a.res_count, b.res_count);
        cr_assert_eq(a.may_read_unwritten, b.may_read_unwritten);
        expect_same(a.pass_flags, b.pass_flags, a.pass_count, "pass_flags", seed);
        expect_same(a.pass_pin, b.pass_pin, a.pass_count, "pass_pin", seed);
        expect_same(a.pass_cost, b.pass_cost, a.pass_count * sizeof(*a.pass_cost), "pass_cost", seed);
        expect_same(a.use_range, b.use_range, a.use_count * sizeof(*a.use_range), "use_range", seed);
        expect_same(a.use_exec, b.use_exec, a.use_count * sizeof(*a.use_exec), "use_exec", seed);
        expect_same(a.res_flags, b.res_flags, a.res_count, "res_flags", seed);
        expect_same(a.res_pair, b.res_pair, a.res_count * sizeof(*a.res_pair), "res_pair", seed);
        for (uint32_t r = 0; r < a.res_count; r++)
            cr_assert_eq(hdi_res_usage(&a, r), hdi_res_usage(&b, r));
        hd_graph_destroy(fresh);
    }
}

Test(declare, results_have_names_and_sentences)
{
    for (int r = 0; r < HD_RESULT_COUNT; r++) {
        cr_assert_eq(strncmp(hd_result_name((hd_result)r), "HD_", 3), 0);
        cr_assert_gt(strlen(hd_result_text((hd_result)r)), 3u);
    }
}
