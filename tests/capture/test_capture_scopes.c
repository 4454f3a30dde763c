#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <stdio.h>
#include <string.h>

#include "stream_brute.h"
#include "vk_fixture.h"

/* Passes that share a rendering, as the executor records them: the verifier of plans and that of streams agree. */

static void record(hd_recorder *recorder, void *user)
{
    (void)recorder;
    (void)user;
}

static void take(const char *text, void *user)
{
    char *first = user;
    if (!*first)
        snprintf(first, 800, "%s", text);
}

typedef struct scope_case {
    const char *what;
    hd_access first, then; /* of the passes that draw to one image: the first, and two behind it */
    uint32_t format;
    hd_load load;
    hd_access reads; /* by a pass behind them; 0: none */
} scope_case;

enum { FRAMES = 3 };

static void declare(hd_graph *graph, const scope_case *c)
{
    hd_resource image = hd_graph_image(graph, &(hd_image_desc){.width = 16, .height = 16, .format = c->format});
    for (int p = 0; p < 3; p++)
        hd_graph_pass(graph, &(hd_pass_desc){.name = p ? "then" : "first",
                                             .root = true,
                                             .record = record,
                                             .uses = HD_USES({image, p ? c->then : c->first, .load = c->load})});
    if (c->reads)
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                             .name = "reads",
                                             .root = true,
                                             .record = record,
                                             .uses = HD_USES({image, c->reads})});
}

static void expect_agreement(const scope_case *c)
{
    hdt_vk_keep_libraries();
    cr_assert_eq(hd_capture_open(NULL), HD_OK);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    static const hd_queue_kind one[] = {HD_QUEUE_GFX};
    hd_vk *vk;
    hd_graph *graph;
    hd_stream *stream;
    hd_result result = hd_vk_create(&(hd_vk_desc){.get_instance_proc = hd_capture_get_instance_proc,
                                                  .queue_kinds = one,
                                                  .queue_kind_count = 1,
                                                  .log = hdt_log()},
                                    &vk);
    if (hdt_vk_none(result)) {
        hd_capture_close();
        cr_skip_test("no Vulkan 1.3 device");
    }
    cr_assert_eq(result, HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (int f = 0; f < FRAMES; f++) {
        const hd_plan *plan;
        hd_graph_begin(graph);
        declare(graph, c);
        cr_assert_eq(hd_vk_compile(vk, graph, &(hd_compile_desc){.merge_rendering = true}, &plan), HD_OK, "%s",
                     hd_graph_error(graph)->text);
        cr_assert_eq(hd_plan_verify(graph, plan, &(hd_verify_desc){.size = hd_vk_size, .size_user = vk}), HD_OK);
        cr_assert_eq(hd_plan_read(plan).scope_count, 1, "%s", c->what);
        cr_assert_eq(hd_vk_execute(vk, graph, plan), HD_OK);
    }
    cr_assert_eq(hd_vk_wait(vk), HD_OK);
    hd_graph_destroy(graph);
    hd_vk_destroy(vk);
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    hd_capture_close();
    char first[800] = "", why[256] = "";
    cr_expect_eq(hd_stream_verify(stream, &(hd_verify_desc){.message = take, .user = first}), HD_OK, "%s: %s", c->what,
                 first);
    cr_expect_eq(hdt_stream_brute(stream, NULL, why, sizeof(why)), HDT_STREAM_HOLDS, "%s: %s", c->what, why);
    hd_stream_free(stream);
}

enum { RGBA8 = 37, D32 = 126 };

static const scope_case cases[] = {
    {"clear, then load", HD_COLOR_WRITE, HD_COLOR_RW, RGBA8, HD_LOAD_CLEAR, HD_SAMPLED_COMPUTE},
    {"do not load, then load", HD_COLOR_WRITE, HD_COLOR_RW, RGBA8, HD_LOAD_DONT_CARE, HD_SAMPLED_COMPUTE},
    {"clear, then load, not stored", HD_COLOR_WRITE, HD_COLOR_RW, RGBA8, HD_LOAD_CLEAR, 0},
    {"clear depth, then test and write", HD_DEPTH_WRITE, HD_DEPTH_RW, D32, HD_LOAD_CLEAR, HD_SAMPLED_COMPUTE},
    {"clear depth, then test and write, not stored", HD_DEPTH_WRITE, HD_DEPTH_RW, D32, HD_LOAD_CLEAR, 0},
};

Test(capture_scopes, merged)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_agreement(&cases[i]);
}
