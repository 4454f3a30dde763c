#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "vk_presenting.h"

/* Swapchains on a window system that the test plays itself (support/vk_window.c), under the validation layer: what it
 * would not bear, and semaphores or images that are used wrongly, show there. */

/* ---- what works ---- */

Test(vk_swapchain, choices)
{
    window w;
    open_window(&w);
    hdt_the_window.max_images = 4;
    cr_assert_eq(make(&w, NULL), HD_OK);
    hd_vk_swapchain_info info = info_of(&w);
    cr_expect(info.width == 64 && info.height == 48 && info.image_count == 3 && info.made == 1);
    cr_expect_eq(info.format.format, VK_FORMAT_R8G8B8A8_UNORM);
    cr_expect_eq(info.present_mode, VK_PRESENT_MODE_FIFO_KHR);
    hd_vk_swapchain_destroy(w.swapchain);

    const VkPresentModeKHR modes[] = {VK_PRESENT_MODE_IMMEDIATE_KHR, VK_PRESENT_MODE_MAILBOX_KHR,
                                      VK_PRESENT_MODE_FIFO_KHR};
    const VkSurfaceFormatKHR formats[] = {{VK_FORMAT_R16G16B16A16_SFLOAT, VK_COLOR_SPACE_SRGB_NONLINEAR_KHR},
                                          {VK_FORMAT_R8G8B8A8_SRGB, VK_COLOR_SPACE_SRGB_NONLINEAR_KHR}};
    cr_assert_eq(make(&w, &(hd_vk_swapchain_desc){.present_modes = modes,
                                                  .present_mode_count = 3,
                                                  .formats = formats,
                                                  .format_count = 2,
                                                  .image_count = 9}),
                 HD_OK);
    info = info_of(&w);
    cr_expect_eq(info.image_count, 4, "within what the surface allows");
    cr_expect_eq(info.format.format, VK_FORMAT_R8G8B8A8_SRGB);
    cr_expect_eq(info.present_mode, VK_PRESENT_MODE_MAILBOX_KHR);
    cr_expect_eq(run(&w, 5), HD_OK);
    close_window(&w);
}

Test(vk_swapchain, bad_arguments)
{
    window w;
    hd_resource image;
    open_window(&w);
    cr_expect_eq(hd_vk_swapchain_create(w.vk, NULL, &w.swapchain), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_vk_swapchain_create(NULL, &(hd_vk_swapchain_desc){0}, &w.swapchain), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_vk_swapchain_create(w.vk, &(hd_vk_swapchain_desc){.format_count = 1}, &w.swapchain),
                 HD_INVALID_ARGUMENT);
    cr_expect_eq(make(&w, &(hd_vk_swapchain_desc){.sharing = (hd_sharing)3}), HD_INVALID_ARGUMENT);
    cr_expect_eq(make(&w, &(hd_vk_swapchain_desc){.usage = VK_IMAGE_USAGE_STORAGE_BIT}), HD_UNSUPPORTED);
    hdt_the_window.present_families = 1u << 30;
    cr_expect_eq(make(&w, NULL), HD_UNSUPPORTED);
    hdt_the_window.present_families = 0;
    cr_expect_eq(hd_vk_swapchain_acquire(NULL, w.graph, &image), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_vk_swapchain_present(NULL), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_vk_swapchain_set_surface(NULL, VK_NULL_HANDLE), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_vk_swapchain_show(NULL, w.graph, image, NULL).id, 0);
    hd_vk_swapchain_destroy(NULL);
    close_window(&w);
}

static void keep_text(hd_log_level level, const char *text, void *user)
{
    (void)level;
    snprintf(user, 200, "%s", text);
}

Test(vk_swapchain, extension_not_enabled)
{
    char text[200] = "";
    hd_vk *vk;
    hd_vk_swapchain *swapchain;
    hdt_vk_keep_libraries();
    hd_result result = hd_vk_create(&(hd_vk_desc){.log = {keep_text, text}}, &vk);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK);
    cr_expect_eq(hd_vk_swapchain_create(vk, &(hd_vk_swapchain_desc){0}, &swapchain), HD_MISSING_FEATURE);
    cr_expect(strstr(text, "VK_KHR_s"), "%s", text);
    hd_vk_destroy(vk);
}

static void keep_texel(const void *data, uint64_t bytes, void *user)
{
    const uint32_t *texels = data;
    uint32_t same = 0;
    for (uint64_t i = 0; i < bytes / 4; i++)
        same += texels[i] == texels[0];
    *(uint32_t *)user = same == bytes / 4 && bytes == 64 * 48 * 4 ? texels[0] : 1;
}

static void check_content(uint32_t workers)
{
    window w;
    open_window(&w);
    if (workers)
        cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = workers}, &w.jobs), HD_OK);
    adopt(&w, (hd_allocator){0});
    cr_assert_eq(make(&w, &(hd_vk_swapchain_desc){.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT}), HD_OK);
    uint32_t texels[8] = {0};
    for (uint32_t i = 0; i < 8; i++) {
        hd_graph *g = w.graph;
        hd_resource target;
        hd_graph_begin(g);
        cr_assert_eq(hd_vk_swapchain_acquire(w.swapchain, g, &target), HD_OK);
        cr_assert_neq(target.id, 0);
        VkClearValue value = {.color.float32 = {0, (float)i / 255.0f, 0, 1}};
        hd_resource scene = hd_graph_image(
            g, &(hd_image_desc){.name = "scene", .width = 64, .height = 48, .format = VK_FORMAT_R8G8B8A8_UNORM});
        hd_vk_clear(w.vk, g, scene, NULL, &value, NULL);
        hd_vk_swapchain_show(w.swapchain, g, scene, NULL);
        hd_vk_readback(w.vk, g, target, NULL, keep_texel, &texels[i], NULL);
        cr_assert_eq(hd_vk_frame(w.vk, g), HD_OK);
        cr_assert_eq(hd_vk_swapchain_present(w.swapchain), HD_OK);
    }
    cr_assert_eq(hd_vk_wait(w.vk), HD_OK);
    for (uint32_t i = 0; i < 8; i++)
        cr_expect_eq(texels[i], 0xff000000u | i << 8, "frame %u: %08x", i, texels[i]);
    cr_expect_eq(info_of(&w).presented, 8);
    cr_expect_eq(hdt_the_window.presented, 8);
    hd_vk_swapchain_destroy(w.swapchain);
    w.swapchain = NULL;
    hd_vk_destroy(w.vk);
    w.vk = w.f.vk;
    hd_jobs_destroy(w.jobs);
    close_window(&w);
}

Test(vk_swapchain, content)
{
    check_content(0);
    check_content(3);
}

/* Presenting creates and allocates nothing once every image came round; nor does a swapchain that was made anew, then.
 */
Test(vk_swapchain, steady)
{
    enum { WARM = 24, FRAMES = 40 };
    window w;
    open_window(&w);
    hdt_limited limited = {0}, limited_graph = {0};
    adopt(&w, hdt_limited_allocator(&limited));
    hd_graph_destroy(w.graph);
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.allocator = hdt_limited_allocator(&limited_graph)}, &w.graph),
                 HD_OK);
    cr_assert_eq(make(&w, NULL), HD_OK);
    for (uint32_t round = 0; round < 2; round++) {
        cr_expect_eq(run(&w, WARM), HD_OK);
        uint64_t made = limited.made + limited_graph.made;
        unsigned objects = atomic_load(&hdt_vk_hooks.creations);
        unsigned batches = atomic_load(&hdt_vk_hooks.batches), submits = atomic_load(&hdt_vk_hooks.submits);
        cr_expect_eq(run(&w, FRAMES), HD_OK);
        /* acquire, present, and a frame in two: what draws the scene does not wait for the window */
        submits = atomic_load(&hdt_vk_hooks.submits) - submits;
        batches = atomic_load(&hdt_vk_hooks.batches) - batches;
        cr_expect_eq(submits, 3 * FRAMES, "%u submits", submits);
        hd_vk_info info;
        hd_vk_info_get(w.vk, &info);
        if (info.queue_count == 1) /* else the plan joins the image's transition to that of the scene */
            cr_expect_eq(batches, 4 * FRAMES, "%u batches", batches);
        cr_expect(batches == 3 * FRAMES || batches == 4 * FRAMES);
        cr_expect_eq(limited.made + limited_graph.made, made, "round %u: allocations in steady frames", round);
        cr_expect_eq(atomic_load(&hdt_vk_hooks.creations), objects, "round %u: objects in steady frames", round);
        hdt_the_window.width += 16;
    }
    hd_vk_swapchain_destroy(w.swapchain);
    w.swapchain = NULL;
    hd_vk_destroy(w.vk);
    w.vk = w.f.vk;
    cr_expect_eq(limited.out, 0);
    close_window(&w);
}

/* ---- what windows do ---- */

/* By the surface, or by the engine where the surface has no size of its own; now and then to nothing. */
static void resize_often(bool open_size)
{
    window w;
    open_window(&w);
    hdt_the_window.open_size = open_size;
    cr_assert_eq(make(&w, &(hd_vk_swapchain_desc){.width = 64, .height = 48}), HD_OK);
    uint32_t most = 0, minimised = 0;
    for (uint32_t i = 0; i < RESIZES; i++) {
        uint32_t width = 16 + i * 7 % 48, height = i % 50 == 13 ? 0 : 16 + i * 5 % 32;
        if (open_size) {
            hd_vk_swapchain_resize(w.swapchain, width, height);
        } else {
            hdt_the_window.width = width;
            hdt_the_window.height = height;
        }
        minimised += height == 0;
        hd_result result = run(&w, 1 + (i % 10 == 0) * 3);
        cr_assert_eq(result, HD_OK, "resize %u: %s", i, hd_result_name(result));
        most = hdt_the_window.live_swapchains > most ? hdt_the_window.live_swapchains : most;
    }
    hd_vk_swapchain_info info = info_of(&w);
    cr_expect_eq(w.frames, RESIZES + RESIZES / 10 * 3);
    cr_expect_eq(info.made, RESIZES - minimised + 1);
    cr_expect_geq(w.shown, w.frames - 2 * minimised);
    cr_expect_leq(most, 5, "%u swapchains at a time", most);
    close_window(&w);
}

Test(vk_swapchain, resized_often, .timeout = 120)
{
    resize_often(false);
}

Test(vk_swapchain, resized_often_by_the_engine, .timeout = 120)
{
    resize_often(true);
}

/* A retired swapchain goes without a wait once its successor has gone round. */
Test(vk_swapchain, retired_go)
{
    window w;
    open_window(&w);
    cr_assert_eq(make(&w, NULL), HD_OK);
    for (uint32_t i = 0; i < 4; i++) {
        hdt_the_window.width += 8;
        cr_expect_eq(run(&w, 1), HD_OK);
        cr_expect_eq(hdt_the_window.live_swapchains, 2);
        cr_expect_eq(run(&w, 9), HD_OK);
        cr_expect_eq(hdt_the_window.live_swapchains, 1);
    }
    close_window(&w);
}

Test(vk_swapchain, minimised)
{
    window w;
    open_window(&w);
    hdt_the_window.width = 0;
    cr_assert_eq(make(&w, NULL), HD_OK, "from the beginning");
    cr_expect_eq(run(&w, 5), HD_OK);
    cr_expect_eq(w.frames, 5);
    cr_expect_eq(w.shown, 0);
    cr_expect_eq(info_of(&w).image_count, 0);
    hdt_the_window.width = 40;
    cr_expect_eq(run(&w, 5), HD_OK);
    cr_expect_eq(w.shown, 5);
    cr_expect_eq(info_of(&w).width, 40);
    close_window(&w);
}

Test(vk_swapchain, suboptimal_for_ever)
{
    window w;
    open_window(&w);
    hdt_the_window.suboptimal = true;
    cr_assert_eq(make(&w, NULL), HD_OK);
    cr_expect_eq(run(&w, 20), HD_OK);
    cr_expect_eq(w.shown, 20);
    cr_expect_eq(info_of(&w).made, 2, "one more try, and no more: %u", (unsigned)info_of(&w).made);
    hdt_the_window.width += 16;
    cr_expect_eq(run(&w, 5), HD_OK);
    cr_expect_leq(info_of(&w).made, 4);
    close_window(&w);
}

Test(vk_swapchain, surface_lost)
{
    window w;
    open_window(&w);
    cr_assert_eq(make(&w, NULL), HD_OK);
    cr_expect_eq(run(&w, 3), HD_OK);
    for (uint32_t call = HDT_ACQUIRE; call <= HDT_PRESENT; call++) {
        hdt_the_window.fail_call = (hdt_window_call)call;
        hdt_the_window.failure = VK_ERROR_SURFACE_LOST_KHR;
        hdt_the_window.fail_at = hdt_the_window.calls[call] + 1;
        hdt_the_window.fail_count = 1;
        cr_expect_eq(run(&w, 1), HD_SURFACE_LOST);
        cr_expect_eq(run(&w, 1), HD_SURFACE_LOST, "and so until there is another");
        VkSurfaceKHR other = hdt_window_surface();
        cr_expect_eq(hd_vk_swapchain_set_surface(w.swapchain, other), HD_OK);
        hdt_window_drop_surface(w.surface);
        w.surface = other;
        cr_expect_eq(run(&w, 4), HD_OK);
    }
    cr_expect_eq(hd_vk_swapchain_set_surface(w.swapchain, VK_NULL_HANDLE), HD_OK);
    uint32_t shown = w.shown;
    cr_expect_eq(run(&w, 3), HD_OK, "without any surface frames go on");
    cr_expect_eq(w.shown, shown);
    cr_expect_eq(hd_vk_swapchain_set_surface(w.swapchain, w.surface), HD_OK);
    cr_expect_eq(run(&w, 3), HD_OK);
    cr_expect_eq(w.shown, shown + 3);
    close_window(&w);
}

/* ---- what engines do ---- */

Test(vk_swapchain, frames_that_do_not_use_it)
{
    window w;
    open_window(&w);
    cr_assert_eq(make(&w, NULL), HD_OK);
    for (uint32_t i = 0; i < 24; i++) {
        hd_resource target, again;
        hd_graph_begin(w.graph);
        cr_expect_eq(hd_vk_swapchain_acquire(w.swapchain, w.graph, &target), HD_OK);
        cr_expect_neq(target.id, 0);
        cr_expect_eq(hd_vk_swapchain_acquire(w.swapchain, w.graph, &again), HD_OK, "twice for one frame");
        cr_expect_eq(again.id, target.id);
        if (i % 4 == 0) /* neither declared nor executed */
            continue;
        hdt_busy_declare(&w.busy, w.vk);
        if (i % 4 == 1) { /* declared wrongly */
            hd_graph_pass(w.graph, &(hd_pass_desc){.type = HD_PASS_HOST, .uses = HD_USES({target, HD_COLOR_WRITE})});
            cr_expect_neq(hd_vk_frame(w.vk, w.graph), HD_OK);
        } else if (i % 4 == 2) { /* executed without a pass that uses it */
            cr_expect_eq(hd_vk_frame(w.vk, w.graph), HD_OK);
        } else {
            hd_vk_clear(w.vk, w.graph, target, NULL, &(VkClearValue){0}, NULL);
            cr_expect_eq(hd_vk_frame(w.vk, w.graph), HD_OK);
        }
        if (i % 8 != 3) /* else the next acquire does it */
            cr_expect_eq(hd_vk_swapchain_present(w.swapchain), HD_OK);
        cr_expect_eq(hd_vk_swapchain_present(w.swapchain), HD_OK, "nothing is left to present");
    }
    cr_expect_eq(hdt_the_window.presented, 6);
    cr_expect_eq(hdt_the_window.calls[HDT_ACQUIRE], 6, "%u", hdt_the_window.calls[HDT_ACQUIRE]);
    cr_expect_eq(hd_vk_wait(w.vk), HD_OK);
    cr_expect_eq(atomic_load(&w.busy.wrong), 0);
    close_window(&w);
}

/* The wrong way round: what is left of the swapchain refuses all, and can be destroyed. */
Test(vk_swapchain, outlives_its_hd_vk)
{
    window w;
    hd_resource target;
    open_window(&w);
    adopt(&w, (hd_allocator){0});
    cr_assert_eq(make(&w, NULL), HD_OK);
    cr_expect_eq(run(&w, 3), HD_OK);
    hd_graph_begin(w.graph);
    cr_expect_eq(hd_vk_swapchain_acquire(w.swapchain, w.graph, &target), HD_OK);
    hd_vk_destroy(w.vk);
    w.vk = w.f.vk;
    cr_expect_eq(hdt_the_window.live_swapchains, 0);
    cr_expect_eq(hd_vk_swapchain_acquire(w.swapchain, w.graph, &target), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_vk_swapchain_show(w.swapchain, w.graph, target, NULL).id, 0);
    cr_expect_eq(hd_vk_swapchain_present(w.swapchain), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_vk_swapchain_set_surface(w.swapchain, w.surface), HD_INVALID_ARGUMENT);
    hd_vk_swapchain_resize(w.swapchain, 1, 1);
    cr_expect_eq(info_of(&w).presented, 3);
    close_window(&w);
}

/* Two windows, each with a graph of its own, acquired before either frame is executed. */
Test(vk_swapchain, two_windows)
{
    window w;
    open_window(&w);
    cr_assert_eq(make(&w, NULL), HD_OK);
    hd_vk_swapchain *second;
    hd_graph *other;
    VkSurfaceKHR surface = hdt_window_surface();
    cr_assert_eq(hd_vk_swapchain_create(w.vk, &(hd_vk_swapchain_desc){.surface = surface}, &second), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &other), HD_OK);
    for (uint32_t i = 0; i < 12; i++) {
        hd_resource a, b;
        hd_graph_begin(w.graph);
        hd_graph_begin(other);
        cr_expect_eq(hd_vk_swapchain_acquire(w.swapchain, w.graph, &a), HD_OK);
        cr_expect_eq(hd_vk_swapchain_acquire(second, i % 2 ? other : w.graph, &b), HD_OK);
        hd_vk_clear(w.vk, w.graph, a, NULL, &(VkClearValue){0}, NULL);
        cr_expect_eq(i % 2 ? HD_OK : hd_graph_error(w.graph)->result, HD_OK);
        if (i % 2 == 0)
            hd_vk_clear(w.vk, w.graph, b, NULL, &(VkClearValue){0}, NULL);
        cr_expect_eq(hd_vk_frame(w.vk, w.graph), HD_OK);
        if (i % 2) {
            hd_vk_clear(w.vk, other, b, NULL, &(VkClearValue){0}, NULL);
            cr_expect_eq(hd_vk_frame(w.vk, other), HD_OK);
        }
        cr_expect_eq(hd_vk_swapchain_present(second), HD_OK);
        cr_expect_eq(hd_vk_swapchain_present(w.swapchain), HD_OK);
    }
    cr_expect_eq(hdt_the_window.presented, 24);
    hd_vk_swapchain_destroy(second);
    hdt_window_drop_surface(surface);
    hd_graph_destroy(other);
    close_window(&w);
}

#ifdef HDT_THREE_FAMILIES
/* The last pass runs on the compute family, which the window cannot present from. */
Test(vk_swapchain, queue_that_cannot_present)
{
    window w;
    open_window(&w);
    hdt_the_window.present_families = 1;
    for (uint32_t shared = 0; shared < 2; shared++) {
        cr_assert_eq(make(&w, &(hd_vk_swapchain_desc){.sharing = shared ? HD_SHARING_CONCURRENT : HD_SHARING_AUTO}),
                     HD_OK);
        for (uint32_t i = 0; i < 6; i++) {
            hd_resource target;
            hd_graph_begin(w.graph);
            cr_assert_eq(hd_vk_swapchain_acquire(w.swapchain, w.graph, &target), HD_OK);
            hd_graph_pass(w.graph, &(hd_pass_desc){.name = "compute",
                                                   .type = HD_PASS_COMPUTE,
                                                   .pin = HD_PIN_COMPUTE,
                                                   .uses = HD_USES({target, HD_TRANSFER_DST})});
            cr_assert_eq(hd_vk_frame(w.vk, w.graph), HD_OK);
            cr_expect_eq(hd_vk_swapchain_present(w.swapchain), shared ? HD_OK : HD_UNSUPPORTED);
        }
        cr_expect_eq(run(&w, 3), HD_OK);
        hd_vk_swapchain_destroy(w.swapchain);
        w.swapchain = NULL;
    }
    hdt_the_window.present_families = 4; /* only compute: passes of gfx queues come last */
    cr_assert_eq(make(&w, NULL), HD_OK);
    cr_expect_eq(run(&w, 1), HD_UNSUPPORTED);
    hd_vk_swapchain_destroy(w.swapchain);
    cr_assert_eq(make(&w, &(hd_vk_swapchain_desc){.sharing = HD_SHARING_CONCURRENT}), HD_OK);
    cr_expect_eq(run(&w, 6), HD_OK);
    close_window(&w);
}
#endif

/* A surface whose images cannot be copied to: show says so, and passes that draw do as ever. */
Test(vk_swapchain, images_that_can_only_be_drawn_to)
{
    window w;
    open_window(&w);
    hdt_the_window.only_drawn_to = true;
    cr_assert_eq(make(&w, NULL), HD_OK);
    for (uint32_t i = 0; i < 4; i++) {
        hd_resource target;
        hd_graph_begin(w.graph);
        cr_assert_eq(hd_vk_swapchain_acquire(w.swapchain, w.graph, &target), HD_OK);
        cr_assert_neq(target.id, 0);
        if (i == 1) {
            hd_resource scene = hd_graph_image(
                w.graph,
                &(hd_image_desc){.name = "scene", .width = 64, .height = 48, .format = VK_FORMAT_R8G8B8A8_UNORM});
            cr_expect_eq(hd_vk_swapchain_show(w.swapchain, w.graph, scene, NULL).id, 0);
            cr_expect_eq(hd_vk_frame(w.vk, w.graph), HD_UNSUPPORTED);
            cr_expect(strstr(hd_graph_error(w.graph)->text, "only be drawn to"), "%s", hd_graph_error(w.graph)->text);
            continue;
        }
        hd_graph_pass(w.graph, &(hd_pass_desc){.name = "draw",
                                               .type = HD_PASS_GFX,
                                               .uses = HD_USES({target, HD_COLOR_WRITE, .clear.color = {1, 0, 0, 1}})});
        cr_expect_eq(hd_vk_frame(w.vk, w.graph), HD_OK);
        cr_expect_eq(hd_vk_swapchain_present(w.swapchain), HD_OK);
    }
    cr_expect_eq(hdt_the_window.presented, 3);
    close_window(&w);
}
