#include <stdlib.h>

#include "null_calls.h"
#include "stub_driver.h"

/* Null for each pointer of each function of heddle/vk.h and of the headers that it includes, one after another, on a
 * device that does nothing; the headers are read to see that none is left out. */

/* Declares no pass and leaves an error in the graph. */
#define DECLARES_NONE(name, ...)                                                                                       \
    do {                                                                                                               \
        note(#name);                                                                                                   \
        begin(w);                                                                                                      \
        cr_expect_eq(name(__VA_ARGS__).id, 0, #name);                                                                  \
    } while (0)
typedef struct world {
    hd_vk *vk;
    hd_graph *graph;
    hd_resource image, many, words;
} world;

static void begin(world *w)
{
    const uint32_t format = VK_FORMAT_R8G8B8A8_UNORM;
    hd_graph_begin(w->graph);
    w->image = hd_graph_image(w->graph, &(hd_image_desc){.name = "image", .width = 4, .height = 4, .format = format});
    w->many = hd_graph_image(w->graph,
                             &(hd_image_desc){.name = "many", .width = 4, .height = 4, .format = format, .samples = 4});
    w->words = hd_graph_buffer(w->graph, &(hd_buffer_desc){.name = "words", .bytes = 256});
}

static void nothing(const void *data, uint64_t bytes, void *user)
{
    (void)data, (void)bytes, (void)user;
}

static void call_helpers(world *w)
{
    hd_vk *vk = w->vk;
    hd_graph *g = w->graph;
    const uint32_t data[64] = {0};
    const VkClearValue value = {0};
    DECLARES_NONE(hd_vk_upload, NULL, g, w->words, NULL, data, 256, NULL);
    cr_expect(strstr(hd_graph_error(g)->text, "hd_vk"), "%s", hd_graph_error(g)->text);
    DECLARES_NONE(hd_vk_upload, vk, NULL, w->words, NULL, data, 256, NULL);
    DECLARES_NONE(hd_vk_upload, vk, g, w->words, NULL, NULL, 256, NULL);
    cr_expect_eq(hd_graph_error(g)->result, HD_INVALID_ARGUMENT);
    DECLARES_NONE(hd_vk_readback, NULL, g, w->words, NULL, nothing, NULL, NULL);
    cr_expect(strstr(hd_graph_error(g)->text, "hd_vk"), "%s", hd_graph_error(g)->text);
    DECLARES_NONE(hd_vk_readback, vk, NULL, w->words, NULL, nothing, NULL, NULL);
    DECLARES_NONE(hd_vk_readback, vk, g, w->words, NULL, NULL, NULL, NULL);
    cr_expect_eq(hd_graph_error(g)->result, HD_INVALID_ARGUMENT);
    DECLARES_NONE(hd_vk_generate_mips, NULL, g, w->image, NULL);
    cr_expect(strstr(hd_graph_error(g)->text, "hd_vk"), "%s", hd_graph_error(g)->text);
    DECLARES_NONE(hd_vk_generate_mips, vk, NULL, w->image, NULL);
    DECLARES_NONE(hd_vk_clear, NULL, g, w->image, NULL, &value, NULL);
    cr_expect(strstr(hd_graph_error(g)->text, "hd_vk"), "%s", hd_graph_error(g)->text);
    DECLARES_NONE(hd_vk_clear, vk, NULL, w->image, NULL, &value, NULL);
    DECLARES_NONE(hd_vk_clear, vk, g, w->image, NULL, NULL, NULL);
    cr_expect_eq(hd_graph_error(g)->result, HD_INVALID_ARGUMENT);
    DECLARES_NONE(hd_vk_fill, NULL, g, w->words, NULL, 0, NULL);
    cr_expect(strstr(hd_graph_error(g)->text, "hd_vk"), "%s", hd_graph_error(g)->text);
    DECLARES_NONE(hd_vk_fill, vk, NULL, w->words, NULL, 0, NULL);
    DECLARES_NONE(hd_vk_copy, NULL, g, w->words, NULL, w->image, NULL, NULL);
    cr_expect(strstr(hd_graph_error(g)->text, "hd_vk"), "%s", hd_graph_error(g)->text);
    DECLARES_NONE(hd_vk_copy, vk, NULL, w->words, NULL, w->image, NULL, NULL);
    DECLARES_NONE(hd_vk_blit, NULL, g, w->image, NULL, w->image, NULL, VK_FILTER_NEAREST, NULL);
    cr_expect(strstr(hd_graph_error(g)->text, "hd_vk"), "%s", hd_graph_error(g)->text);
    DECLARES_NONE(hd_vk_blit, vk, NULL, w->image, NULL, w->image, NULL, VK_FILTER_NEAREST, NULL);
    DECLARES_NONE(hd_vk_resolve, NULL, g, w->many, NULL, w->image, NULL, 0, NULL);
    cr_expect(strstr(hd_graph_error(g)->text, "hd_vk"), "%s", hd_graph_error(g)->text);
    DECLARES_NONE(hd_vk_resolve, vk, NULL, w->many, NULL, w->image, NULL, 0, NULL);
    DECLARES_NONE(hd_vk_swapchain_show, NULL, g, w->image, NULL);
}

static void call_recorder(world *w)
{
    GIVES(VK_NULL_HANDLE, hd_vk_commands, NULL);
    GIVES(0, hd_vk_part, NULL);
    GIVES(1, hd_vk_part_count, NULL);
    GIVES(HD_NONE, hd_vk_worker, NULL);
    GIVES(0, hd_vk_frame_index, NULL);
    hd_vk_rendering rendering;
    BEARS(hd_vk_rendering_get, NULL, &rendering);
    cr_expect_eq(rendering.samples, 0);
    BEARS(hd_vk_rendering_get, NULL, NULL);
    REFUSES(hd_vk_rendering_of, NULL, (hd_pass){0}, &rendering);
    REFUSES(hd_vk_rendering_of, w->graph, (hd_pass){0}, NULL);
    GIVES(VK_NULL_HANDLE, hd_vk_image, NULL, w->image);
    GIVES(VK_NULL_HANDLE, hd_vk_buffer, NULL, w->words);
    GIVES(VK_NULL_HANDLE, hd_vk_view, NULL, w->image, NULL);
    hd_vk_view_info info = {.serial = 1};
    GIVES(VK_NULL_HANDLE, hd_vk_view_as, NULL, w->image, NULL, &info);
    cr_expect_eq(info.serial, 0);
    GIVES(NULL, hd_vk_mapped, NULL, w->words);
}

static void call_swapchain(world *w)
{
    hd_vk_swapchain *swapchain;
    hd_vk_swapchain_info info;
    hd_resource image;
    REFUSES(hd_vk_swapchain_create, NULL, &(hd_vk_swapchain_desc){0}, &swapchain);
    REFUSES(hd_vk_swapchain_create, w->vk, NULL, &swapchain);
    REFUSES(hd_vk_swapchain_create, w->vk, &(hd_vk_swapchain_desc){0}, NULL);
    REFUSES(hd_vk_swapchain_acquire, NULL, w->graph, &image);
    REFUSES(hd_vk_swapchain_present, NULL);
    REFUSES(hd_vk_swapchain_set_surface, NULL, VK_NULL_HANDLE);
    BEARS(hd_vk_swapchain_resize, NULL, 1, 1);
    BEARS(hd_vk_swapchain_destroy, NULL);
    BEARS(hd_vk_swapchain_info_get, NULL, &info);
    cr_expect(info.width == 0 && info.made == 0);
    BEARS(hd_vk_swapchain_info_get, NULL, NULL);
}

static void call_frames(world *w)
{
    hd_vk *vk = w->vk;
    hd_graph *g = w->graph;
    const hd_plan *plan;
    hd_memory_need need;
    begin(w);
    cr_assert_eq(hd_vk_compile(vk, g, NULL, &plan), HD_OK);
    REFUSES(hd_vk_create, NULL, NULL);
    BEARS(hd_vk_destroy, NULL);
    REFUSES(hd_vk_frame, NULL, g);
    REFUSES(hd_vk_frame, vk, NULL);
    REFUSES(hd_vk_compile, NULL, g, NULL, &plan);
    REFUSES(hd_vk_compile, vk, NULL, NULL, &plan);
    REFUSES(hd_vk_compile, vk, g, NULL, NULL);
    REFUSES(hd_vk_execute, NULL, g, plan);
    REFUSES(hd_vk_execute, vk, NULL, plan);
    REFUSES(hd_vk_execute, vk, g, NULL);
    REFUSES(hd_vk_size, NULL, &need, vk);
    REFUSES(hd_vk_size, &(hd_resource_info){0}, NULL, vk);
    REFUSES(hd_vk_size, &(hd_resource_info){0}, &need, NULL);
    REFUSES(hd_vk_sync_import, NULL, g, w->image, &(hd_vk_sync){0});
    REFUSES(hd_vk_sync_import, vk, NULL, w->image, &(hd_vk_sync){0});
    REFUSES(hd_vk_sync_import, vk, g, w->image, NULL);
    REFUSES(hd_vk_report_frame, NULL, g, NULL, "none");
    REFUSES(hd_vk_report_frame, vk, NULL, NULL, "none");
    REFUSES(hd_vk_report_frame, vk, g, NULL, NULL);
    REFUSES(hd_vk_wait, NULL);
    BEARS(hd_vk_trim, NULL);
}

static void call_uploads(world *w)
{
    hd_vk_token token;
    uint64_t frame = 1;
    REFUSES(hd_vk_upload_async, NULL, &(hd_vk_upload_desc){0}, &token);
    cr_expect_eq(token.id, 0);
    REFUSES(hd_vk_upload_async, w->vk, NULL, &token);
    REFUSES(hd_vk_upload_async, w->vk, &(hd_vk_upload_desc){0}, NULL);
    REFUSES(hd_vk_upload_some, NULL, w->graph, 1);
    REFUSES(hd_vk_upload_some, w->vk, NULL, 1);
    REFUSES(hd_vk_upload_now, NULL, w->graph, (hd_vk_token){1});
    REFUSES(hd_vk_upload_now, w->vk, NULL, (hd_vk_token){1});
    GIVES(HD_VK_UPLOAD_NONE, hd_vk_upload_done, NULL, (hd_vk_token){1}, &frame);
    cr_expect_eq(frame, 0);
    GIVES(HD_VK_UPLOAD_NONE, hd_vk_upload_done, w->vk, (hd_vk_token){1}, NULL);
    GIVES(HD_VK_UPLOAD_NONE, hd_vk_upload_drop, NULL, (hd_vk_token){1});
}

static void call_getters(world *w)
{
    hd_error error;
    hd_vk_info info;
    hd_vk_frame_stats stats;
    hd_vk_times times;
    BEARS(hd_vk_error_get, NULL, &error);
    cr_expect(error.result == HD_OK && error.text[0] == 0);
    BEARS(hd_vk_error_get, w->vk, NULL);
    BEARS(hd_vk_info_get, NULL, &info);
    cr_expect(info.queue_count == 0 && !info.device);
    BEARS(hd_vk_info_get, w->vk, NULL);
    BEARS(hd_vk_frame_stats_get, NULL, &stats);
    cr_expect_eq(stats.memory_bytes, 0);
    BEARS(hd_vk_frame_stats_get, w->vk, NULL);
    REFUSES(hd_vk_times_get, NULL, 0, &times);
    REFUSES(hd_vk_times_get, w->vk, 0, NULL);
    REFUSES(hd_vk_write_trace, NULL, stderr);
    REFUSES(hd_vk_write_trace, w->vk, NULL);
}

static void expect_all_called(void)
{
    uint32_t found = expect_called(HEDDLE_SOURCE_DIR "/vk/include/heddle/vk.h") +
                     expect_called(HEDDLE_SOURCE_DIR "/vk/include/heddle/vk_upload.h");
    cr_expect_eq(found, called_count, "%u functions in the header, %u called", found, called_count);
}

Test(vk_null, arguments)
{
    world w;
    hd_vk_desc desc = hdb_stub_desc(3);
    cr_assert_eq(hd_vk_create(&desc, &w.vk), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &w.graph), HD_OK);
    call_frames(&w);
    call_getters(&w);
    call_uploads(&w);
    call_helpers(&w);
    call_recorder(&w);
    call_swapchain(&w);
    expect_all_called();
    begin(&w);
    cr_expect_eq(hd_vk_frame(w.vk, w.graph), HD_OK, "nothing has been harmed");
    hd_graph_destroy(w.graph);
    hd_vk_destroy(w.vk);
}
