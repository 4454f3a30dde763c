#include <heddle/capture.h>
#ifdef HEDDLE_HAS_VIEW
#include <heddle/view.h>
#endif

#include "null_calls.h"

/* Null for each pointer of the functions of heddle/capture.h and, where it is built, of heddle/view.h. */

Test(capture_null, arguments)
{
    hd_stream *stream;
    const VkImageSubresourceRange range = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1};
    for (int open = 0; open < 2; open++) {
        GIVES(NULL, hd_capture_get_instance_proc, NULL, NULL);
        REFUSES(hd_capture_end, NULL);
        hd_result begun = BEARS(hd_capture_begin);
        cr_expect_eq(begun, open ? HD_OK : HD_INVALID_ARGUMENT);
        BEARS(hd_capture_buffer, NULL, VK_NULL_HANDLE, 0, VK_WHOLE_SIZE, 0, 0);
        BEARS(hd_capture_image, NULL, VK_NULL_HANDLE, &range, VK_IMAGE_LAYOUT_GENERAL, 0, 0);
        BEARS(hd_capture_image, NULL, VK_NULL_HANDLE, NULL, VK_IMAGE_LAYOUT_GENERAL, 0, 0);
        cr_expect_eq(hd_capture_end(&stream), open ? HD_OK : HD_INVALID_ARGUMENT);
        if (open)
            hd_stream_free(stream);
        hd_result opened = BEARS(hd_capture_open, NULL);
        if (!open && opened == HD_NO_LOADER)
            cr_skip_test("no Vulkan loader");
        cr_expect_eq(opened, open ? HD_INVALID_ARGUMENT : HD_OK, "one at a time");
    }
    BEARS(hd_capture_close);
    cr_expect_eq(expect_called(HEDDLE_SOURCE_DIR "/vk/include/heddle/capture.h"), called_count);
}

#ifdef HEDDLE_HAS_VIEW
Test(view_null, arguments)
{
    hd_graph *graph;
    const hd_plan *plan;
    hd_view *view;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK);
    REFUSES(hd_view_serve, 0, NULL);
    GIVES(0, hd_view_port, NULL);
    REFUSES(hd_view_show, NULL, graph, plan, NULL);
    BEARS(hd_view_end, NULL);
    if (hd_view_serve(0, &view) == HD_OK) {
        REFUSES(hd_view_show, view, NULL, plan, NULL);
        REFUSES(hd_view_show, view, graph, NULL, NULL);
        cr_expect_eq(hd_view_show(view, graph, plan, NULL), HD_OK);
        hd_view_end(view);
    }
    hd_graph_destroy(graph);
    cr_expect_eq(expect_called(HEDDLE_SOURCE_DIR "/view/include/heddle/view.h"), called_count);
}
#endif
