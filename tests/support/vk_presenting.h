/* What tests of swapchains share: a device with a window that the test plays itself (vk_window.h), and frames that draw
 * something and show it. Included by Criterion programs only. With HDT_THREE_FAMILIES the device pretends to have
 * families for graphics, transfer and compute. */
#ifndef HDT_VK_PRESENTING_H
#define HDT_VK_PRESENTING_H

#include <criterion/criterion.h>

#include <string.h>

#include "limited.h"
#include "vk_busy.h"
#include "vk_faults.h"
#include "vk_fixture.h"
#include "vk_window.h"

/* Fewer where it takes longer and was done elsewhere. */
#if defined(HDT_THREE_FAMILIES) || defined(__SANITIZE_ADDRESS__)
enum { RESIZES = 200, STEP = 4 };
#else
enum { RESIZES = 1000, STEP = 1 };
#endif

typedef struct window {
    hdt_vk f;
    hd_vk *vk; /* of the frames: adopts the device of f, or is that of f */
    hd_graph *graph;
    VkSurfaceKHR surface;
    hd_vk_swapchain *swapchain;
    uint32_t shown, frames; /* shown: with an image */
    hdt_busy busy;
    hd_jobs *jobs; /* for adopt */
} window;

static inline void open_window_through(window *w, PFN_vkGetInstanceProcAddr proc)
{
    static const char *const instance_extensions[] = {"VK_KHR_surface"}, *const device_extensions[] = {
                                                                             "VK_KHR_swapchain"};
    memset(w, 0, sizeof(*w));
    hdt_window_reset();
#ifdef HDT_THREE_FAMILIES
    hdt_vk_three_families(true, 0);
#endif
    hd_result result = hdt_vk_open(&w->f, &(hd_vk_desc){.get_instance_proc = proc,
                                                        .instance_extensions = instance_extensions,
                                                        .instance_extension_count = 1,
                                                        .device_extensions = device_extensions,
                                                        .device_extension_count = 1});
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device with VK_KHR_swapchain");
    cr_assert_eq(result, HD_OK, "%s", hd_result_name(result));
    w->vk = w->f.vk;
    hdt_the_window.queue = w->f.info.queues[0].queue;
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = hdt_log()}, &w->graph), HD_OK);
    w->busy.graph = w->graph;
    w->surface = hdt_window_surface();
}

static inline void open_window(window *w)
{
    open_window_through(w, hdt_window_proc);
}

static inline void close_window(window *w)
{
    hd_vk_swapchain_destroy(w->swapchain);
    cr_expect_eq(hdt_the_window.live_swapchains, 0, "%u swapchains are left", hdt_the_window.live_swapchains);
    cr_expect_eq(hdt_the_window.faults, 0, "%u faults of the window", hdt_the_window.faults);
    hdt_window_drop_surface(w->surface);
    hd_graph_destroy(w->graph);
    unsigned messages = hdt_vk_close(&w->f);
    cr_expect_eq(messages, 0, "%u validation messages", messages);
}

/* The device is adopted, which can be done again and again: heddle takes it for lost where a test says so. */
static inline void adopt(window *w, hd_allocator allocator)
{
    hd_vk_desc desc = {
        .allocator = allocator,
        .jobs = w->jobs,
        .get_instance_proc = hdt_window_proc,
        .instance = w->f.info.instance,
        .physical_device = w->f.info.physical_device,
        .device = w->f.info.device,
        .queues = w->f.info.queues,
        .queue_count = w->f.info.queue_count,
    };
    cr_assert_eq(hd_vk_create(&desc, &w->vk), HD_OK);
}

static inline hd_result make(window *w, const hd_vk_swapchain_desc *desc)
{
    hd_vk_swapchain_desc mine = desc ? *desc : (hd_vk_swapchain_desc){0};
    mine.surface = w->surface;
    hd_result result = hd_vk_swapchain_create(w->vk, &mine, &w->swapchain);
    cr_expect((w->swapchain != NULL) == (result == HD_OK));
    return result;
}

/* One frame: something is drawn and shown. */
static inline hd_result frame(window *w)
{
    hd_graph *g = w->graph;
    hd_resource target;
    hd_graph_begin(g);
    hd_result result = hd_vk_swapchain_acquire(w->swapchain, g, &target);
    if (result != HD_OK) {
        cr_expect_eq(target.id, 0);
        return result;
    }
    hd_resource scene = hd_graph_image(
        g, &(hd_image_desc){.name = "scene", .width = 32, .height = 32, .format = VK_FORMAT_R8G8B8A8_UNORM});
    hd_graph_pass(g, &(hd_pass_desc){.name = "draw",
                                     .type = HD_PASS_GFX,
                                     .root = true,
                                     .uses = HD_USES({scene, HD_COLOR_WRITE, .clear.color = {1, 0, 0, 1}})});
    hd_pass show = hd_vk_swapchain_show(w->swapchain, g, scene, NULL);
    cr_expect_eq(show.id != 0, target.id != 0);
    result = hd_vk_frame(w->vk, g);
    w->frames += result == HD_OK;
    w->shown += result == HD_OK && target.id;
    return result == HD_OK ? hd_vk_swapchain_present(w->swapchain) : result;
}

static inline hd_result run(window *w, uint32_t frames)
{
    hd_result result = HD_OK;
    for (uint32_t i = 0; i < frames && result == HD_OK; i++)
        result = frame(w);
    return result;
}

static inline hd_vk_swapchain_info info_of(const window *w)
{
    hd_vk_swapchain_info info;
    hd_vk_swapchain_info_get(w->swapchain, &info);
    return info;
}

#endif
