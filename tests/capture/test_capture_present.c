/* Captures of what is presented: its hashes, and that a replay leaves the same. */
#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <heddle/replay.h>
#include <string.h>

#include "capture/call.h"
#include "vk_presenting.h"

static void needs_registry(void)
{
    if (!hdi_call_find("vkCmdDraw"))
        cr_skip_test("built without vk.xml");
}

TestSuite(capture_present, .init = needs_registry);

typedef struct seen {
    uint32_t pictures;
    char first[800];
} seen;

static void take_message(const char *text, void *user)
{
    seen *n = user;
    if (!*n->first)
        snprintf(n->first, sizeof(n->first), "%s", text);
}

static void take_content(const hd_replay_content *content, void *user)
{
    seen *n = user;
    n->pictures += content->width != 0;
}

static seen expect_same(const hd_stream *stream, uint32_t contents)
{
    seen n = {0};
    hd_replay_report report;
    hd_replay_desc desc = {.message = take_message, .content = take_content, .user = &n};
    cr_expect_eq(hd_replay(stream, &desc, &report), HD_OK, "%s", n.first);
    cr_expect_eq(report.different, 0, "%u of %u differ", report.different, report.contents);
    cr_expect_geq(report.contents, contents);
    return n;
}

static uint32_t commands_of(const hd_stream *s, const char *name, bool with_data)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->command_count; i++)
        count += strcmp(s->strings[s->commands[i].name], name) == 0 && (!with_data || s->commands[i].data);
    return count;
}

static uint32_t objects_of(const hd_stream *s, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < s->object_count; i++)
        count += strcmp(s->strings[s->objects[i].name], name) == 0;
    return count;
}

/* Frames are shown, before and after the window changes its size; where its images can be read, the stream has hashes
 * of them. The stream has nothing of the capture's own work, and the validation layer nothing against it. */
static void presented(bool readable)
{
    window w;
    hd_stream *stream;
    hdt_vk_keep_libraries();
    cr_assert_eq(hd_capture_open(&(hd_capture_desc){.get_instance_proc = hdt_window_proc, .replay = true}), HD_OK);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    open_window_through(&w, hd_capture_get_instance_proc);
    hdt_the_window.unreadable = !readable;
    cr_assert_eq(make(&w, NULL), HD_OK);
    cr_expect_eq(run(&w, 4), HD_OK);
    hdt_the_window.width = 80;
    cr_expect_eq(run(&w, 5), HD_OK);
    cr_expect_eq(hd_vk_wait(w.vk), HD_OK);
    uint32_t shown = hdt_the_window.presented;
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    close_window(&w);
    hd_capture_close();
    cr_expect_geq(shown, 7);
    cr_expect_eq(commands_of(stream, "vkQueuePresentKHR", true), readable ? shown : 0);
    cr_expect_eq(commands_of(stream, "vkCmdCopyImageToBuffer", false), 0);
    cr_expect_eq(objects_of(stream, "vkCreateSwapchainKHR"), 2);
    cr_expect_eq(objects_of(stream, "vkCreateBuffer"), 0);
    cr_expect_eq(hd_stream_verify(stream, NULL), HD_OK);
    seen n = expect_same(stream, readable ? shown : 0);
    cr_expect_eq(n.pictures, readable ? shown : 0);
    hd_stream_free(stream);
}

Test(capture_present, windows)
{
    presented(true);
    presented(false);
}

/* A frame of which the so-manyth call of the present that may fail does. */
static const char *present_with_fault(window *w, uint64_t number, hd_result *result)
{
    hdt_faults *f = &hdt_the_faults;
    hd_resource target;
    hd_graph_begin(w->graph);
    cr_assert_eq(hd_vk_swapchain_acquire(w->swapchain, w->graph, &target), HD_OK);
    hd_resource scene = hd_graph_image(
        w->graph, &(hd_image_desc){.name = "scene", .width = 32, .height = 32, .format = VK_FORMAT_R8G8B8A8_UNORM});
    hd_graph_pass(
        w->graph,
        &(hd_pass_desc){.name = "draw", .type = HD_PASS_GFX, .root = true, .uses = HD_USES({scene, HD_COLOR_WRITE})});
    hd_vk_swapchain_show(w->swapchain, w->graph, scene, NULL);
    cr_assert_eq(hd_vk_frame(w->vk, w->graph), HD_OK);
    f->failed = NULL;
    f->failure = VK_ERROR_OUT_OF_HOST_MEMORY;
    f->fail_at = f->calls + number;
    *result = hd_vk_swapchain_present(w->swapchain);
    f->fail_at = 0;
    return f->failed;
}

/* The program goes on without the hash, the next image has one, and nothing is left behind. */
Test(capture_present, calls_that_fail, .timeout = 100)
{
    hdt_faults *f = &hdt_the_faults;
    unsigned failed = 0;
    hd_result result = HD_OK;
    hdt_vk_keep_libraries();
    const char *name = "";
    int left = 0; /* the window destroys images that it did not make through the faults */
    for (uint64_t number = 1; name && result == HD_OK; number++) {
        window w;
        hd_stream *stream;
        cr_assert_eq(hd_capture_open(&(hd_capture_desc){.get_instance_proc = hdt_window_proc, .replay = true}), HD_OK);
        cr_assert_eq(hd_capture_begin(), HD_OK);
        f->live = 0;
        open_window_through(&w, hd_capture_get_instance_proc);
        cr_assert_eq(make(&w, NULL), HD_OK);
        name = present_with_fault(&w, number, &result);
        if (result == HD_OK)
            cr_expect_eq(run(&w, 2), HD_OK, "%s", name);
        uint32_t shown = hdt_the_window.presented;
        hd_vk_wait(w.vk);
        cr_assert_eq(hd_capture_end(&stream), HD_OK);
        if (name && result == HD_OK) {
            cr_expect_eq(commands_of(stream, "vkQueuePresentKHR", true), shown - 1, "%s", name);
            failed++;
        }
        hd_stream_free(stream);
        close_window(&w);
        hd_capture_close();
        left = number == 1 ? (int)f->live : left;
        cr_expect(f->live == left && f->wrong == 0, "%s: %d are left, before %d", name, (int)f->live, left);
    }
    cr_expect_geq(failed, 8, "%u", failed);
}
