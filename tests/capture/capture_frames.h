/* A frame's commands as the executor gives them to Vulkan, on the test device with three families, or with one. */
#ifndef HDT_CAPTURE_FRAMES_H
#define HDT_CAPTURE_FRAMES_H

#include <criterion/criterion.h>

#include <heddle/capture.h>

#include "capture/call.h"
#include "run.h"
#include "vk_fixture.h"

/* Executes the graph so many times; skips the test where there is no device. The caller frees the stream. check: the
 * host reads what the passes read. */
static hd_stream *capture_as(const hd_graph *graph, uint32_t frames, bool three_families, bool check,
                             const hd_capture_desc *capture)
{
    char error[512] = "";
    run_report report = {0};
    hd_stream *stream = NULL;
    hdt_vk_keep_libraries();
    hdt_vk_three_families(three_families, 0);
    cr_assert_eq(hd_capture_open(capture), HD_OK);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    run_desc desc = {.graph = graph, .frames = frames, .scale = 16, .check = check};
    desc.vk.get_instance_proc = hd_capture_get_instance_proc;
    hd_result result = run_graph(&desc, &report, error, sizeof(error));
    if (hdt_vk_none(result)) {
        hd_capture_close();
        cr_skip_test("no Vulkan 1.3 device: %s", error);
    }
    cr_assert_eq(result, HD_OK, "%s", error);
    run_report_free(&report);
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    hd_capture_close();
    return stream;
}

static inline hd_stream *capture_frames(const hd_graph *graph, uint32_t frames)
{
    return capture_as(graph, frames, true, false, &(hd_capture_desc){.get_instance_proc = hdt_vk_hooked});
}

static inline hd_stream *capture_for_replay(const hd_graph *graph, uint32_t frames, bool three_families)
{
    if (!hdi_call_find("vkCmdDraw"))
        cr_skip_test("built without vk.xml");
    return capture_as(graph, frames, three_families, true,
                      &(hd_capture_desc){.get_instance_proc = hdt_vk_hooked, .replay = true});
}

#endif
