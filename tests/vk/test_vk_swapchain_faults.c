#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "vk_presenting.h"

/* Swapchains while calls fail: those of the window, Vulkan's, the allocator's; and events in random order. */

/* ---- each call fails once, in turn ---- */

static const VkResult failures[] = {VK_ERROR_OUT_OF_HOST_MEMORY,
                                    VK_ERROR_OUT_OF_DEVICE_MEMORY,
                                    VK_ERROR_SURFACE_LOST_KHR,
                                    VK_ERROR_OUT_OF_DATE_KHR,
                                    VK_SUBOPTIMAL_KHR,
                                    VK_TIMEOUT,
                                    VK_NOT_READY,
                                    VK_ERROR_DEVICE_LOST,
                                    VK_ERROR_INITIALIZATION_FAILED};

/* Which results a call may give, by the specification; those of another call are not tried with it. */
static bool can_give(hdt_window_call call, VkResult result)
{
    if (result == VK_TIMEOUT || result == VK_NOT_READY)
        return call == HDT_ACQUIRE;
    if (result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR)
        return call == HDT_ACQUIRE || call == HDT_PRESENT;
    if (result == VK_ERROR_DEVICE_LOST)
        return call >= HDT_SWAPCHAIN_CREATE && call != HDT_SWAPCHAIN_IMAGES;
    if (result == VK_ERROR_INITIALIZATION_FAILED)
        return call == HDT_SWAPCHAIN_CREATE;
    return true;
}

static hd_result expected(VkResult failure)
{
    switch (failure) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return HD_OUT_OF_MEMORY;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return HD_OUT_OF_DEVICE_MEMORY;
    case VK_ERROR_SURFACE_LOST_KHR:
        return HD_SURFACE_LOST;
    case VK_ERROR_DEVICE_LOST:
        return HD_DEVICE_LOST;
    case VK_ERROR_INITIALIZATION_FAILED:
        return HD_VULKAN;
    default:
        return HD_OK;
    }
}

static hd_result make_and_resize(window *w)
{
    hd_result result = make(w, NULL);
    if (result == HD_OK)
        result = run(w, 4);
    hdt_the_window.width ^= 16;
    return result == HD_OK ? run(w, 3) : result;
}

static bool one_failure(window *w, hdt_window_call call, uint32_t k, VkResult failure)
{
    memset(hdt_the_window.calls, 0, sizeof(hdt_the_window.calls));
    hdt_the_window.fail_call = call;
    hdt_the_window.fail_at = k;
    hdt_the_window.fail_count = 1;
    hdt_the_window.failure = failure;
    adopt(w, (hd_allocator){0});
    hd_result result = make_and_resize(w);
    bool failed = hdt_the_window.calls[call] >= k;
    hdt_the_window.fail_at = 0;
    cr_expect_eq(result, failed ? expected(failure) : HD_OK, "call %d, %u: VkResult %d gave %s", (int)call, k,
                 (int)failure, hd_result_name(result));
    if (result == HD_SURFACE_LOST && w->swapchain) {
        cr_expect_eq(hd_vk_swapchain_set_surface(w->swapchain, w->surface), HD_OK);
    } else if (result == HD_DEVICE_LOST) {
        hd_vk_swapchain_destroy(w->swapchain);
        hd_vk_destroy(w->vk);
        adopt(w, (hd_allocator){0});
        w->swapchain = NULL;
    }
    if (!w->swapchain)
        cr_expect_eq(make(w, NULL), HD_OK);
    uint32_t shown = w->shown;
    result = run(w, 3);
    cr_expect_eq(result, HD_OK, "call %d, %u: after VkResult %d came %s", (int)call, k, (int)failure,
                 hd_result_name(result));
    cr_expect_eq(w->shown, shown + 3);
    hd_vk_swapchain_destroy(w->swapchain);
    w->swapchain = NULL;
    cr_expect_eq(hd_vk_wait(w->vk), HD_OK);
    hd_vk_destroy(w->vk);
    cr_assert_eq(hdt_the_window.live_swapchains, 0, "call %d, %u: VkResult %d leaks", (int)call, k, (int)failure);
    return failed;
}

Test(vk_swapchain_faults, each_call_fails_once, .timeout = 120)
{
    window w;
    open_window(&w);
    for (uint32_t call = 0; call < HDT_WINDOW_CALLS; call++) {
        for (uint32_t f = 0; f < sizeof(failures) / sizeof(failures[0]); f++) {
            if (!can_give((hdt_window_call)call, failures[f]))
                continue;
            uint32_t k = 1;
            while (one_failure(&w, (hdt_window_call)call, k, failures[f]))
                k += STEP;
            cr_expect(k > 1);
        }
    }
    w.vk = w.f.vk;
    close_window(&w);
}

/* Now the calls that heddle makes beside those of the window: semaphores, views, submits. */
static bool one_fault(window *w, VkResult failure, uint64_t k)
{
    hdt_faults *f = &hdt_the_faults;
    int live = f->live;
    f->failed = NULL;
    f->fail_at = 0;
    f->failure = failure;
    adopt(w, (hd_allocator){0});
    atomic_store(&f->calls, 0);
    f->fail_at = k;
    hd_result result = make_and_resize(w);
    f->fail_at = 0;
    bool lost = result == HD_DEVICE_LOST || (result != HD_OK && hd_vk_wait(w->vk) != HD_OK);
    cr_expect(result == HD_OK || result == expected(failure), "call %d, %s: %s", (int)k, f->failed ? f->failed : "none",
              hd_result_name(result));
    if (!lost && !w->swapchain)
        cr_expect_eq(make(w, NULL), HD_OK);
    uint32_t shown = w->shown;
    if (!lost) {
        cr_expect_eq(run(w, 3), HD_OK, "call %d, %s: no frame after it", (int)k, f->failed ? f->failed : "none");
        cr_expect_eq(w->shown, shown + 3);
    }
    hd_vk_swapchain_destroy(w->swapchain);
    w->swapchain = NULL;
    hd_vk_destroy(w->vk);
    cr_assert_eq(f->live, live, "call %d, %s: leak", (int)k, f->failed ? f->failed : "none");
    cr_assert_eq(hdt_the_window.live_swapchains, 0);
    return f->failed != NULL;
}

Test(vk_swapchain_faults, each_other_call_fails_once, .timeout = 120)
{
    const VkResult three[] = {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_DEVICE_LOST};
    window w;
    open_window(&w);
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t k = 1;
        while (one_fault(&w, three[i], k))
            k += STEP;
        cr_expect_gt(k, i < 2 ? 40 : 4);
    }
    w.vk = w.f.vk;
    close_window(&w);
}

/* Out of date again and again: the frame goes without. */
Test(vk_swapchain_faults, never_up_to_date)
{
    window w;
    open_window(&w);
    cr_assert_eq(make(&w, NULL), HD_OK);
    hdt_the_window.fail_call = HDT_ACQUIRE;
    hdt_the_window.failure = VK_ERROR_OUT_OF_DATE_KHR;
    hdt_the_window.fail_at = 1;
    hdt_the_window.fail_count = 100;
    cr_expect_eq(run(&w, 5), HD_OK);
    cr_expect_eq(w.frames, 5);
    cr_expect_eq(w.shown, 0);
    cr_expect_leq(info_of(&w).made, 16);
    hdt_the_window.fail_at = 0;
    cr_expect_eq(run(&w, 5), HD_OK);
    cr_expect_eq(w.shown, 5);
    close_window(&w);
}

Test(vk_swapchain_faults, host_memory_fails, .timeout = 60)
{
    window w;
    open_window(&w);
    for (uint64_t k = 1;; k++) {
        hdt_limited limited = {.fail_at = k, .fail_count = 1};
        hd_vk_desc desc = {
            .allocator = hdt_limited_allocator(&limited),
            .get_instance_proc = hdt_window_proc,
            .instance = w.f.info.instance,
            .physical_device = w.f.info.physical_device,
            .device = w.f.info.device,
            .queues = w.f.info.queues,
            .queue_count = w.f.info.queue_count,
        };
        hd_result result = hd_vk_create(&desc, &w.vk);
        if (result == HD_OK)
            result = make_and_resize(&w);
        bool failed = limited.made >= k;
        cr_expect(result == HD_OK || (failed && result == HD_OUT_OF_MEMORY), "allocation %d: %s", (int)k,
                  hd_result_name(result));
        if (w.swapchain)
            cr_expect_eq(run(&w, 3), HD_OK, "allocation %d: no frame after it", (int)k);
        hd_vk_swapchain_destroy(w.swapchain);
        w.swapchain = NULL;
        hd_vk_destroy(w.vk);
        cr_assert(limited.out == 0 && limited.wrong == 0, "allocation %d: leak", (int)k);
        if (!failed)
            break;
    }
    w.vk = w.f.vk;
    close_window(&w);
}

/* The device is lost while frames are in flight and an image is held. */
Test(vk_swapchain_faults, device_lost)
{
    window w;
    open_window(&w);
    adopt(&w, (hd_allocator){0});
    cr_assert_eq(make(&w, NULL), HD_OK);
    cr_expect_eq(run(&w, 3), HD_OK);
    hdt_vk_hooks.failure = VK_ERROR_DEVICE_LOST;
    hdt_vk_hooks.fail_submit = 2; /* the first is the window's own */
    cr_expect_eq(run(&w, 2), HD_DEVICE_LOST);
    hdt_vk_hooks.fail_submit = 0;
    cr_expect_eq(run(&w, 1), HD_DEVICE_LOST);
    cr_expect_eq(hd_vk_swapchain_present(w.swapchain), HD_DEVICE_LOST);
    hd_vk_swapchain_destroy(w.swapchain);
    hd_vk_destroy(w.vk);
    adopt(&w, (hd_allocator){0});
    cr_assert_eq(make(&w, NULL), HD_OK);
    cr_expect_eq(run(&w, 3), HD_OK);
    hd_vk_swapchain_destroy(w.swapchain);
    w.swapchain = NULL;
    hd_vk_destroy(w.vk);
    w.vk = w.f.vk;
    close_window(&w);
}

/* ---- random ---- */

/* Anything in any order. */
static void random_step(window *w, uint64_t *random)
{
    hdt_window *win = &hdt_the_window;
    hd_resource target;
    switch (hdt_below(random, 12)) {
    case 0:
        win->width = hdt_below(random, 5) ? 16 + 8 * hdt_below(random, 6) : 0;
        return;
    case 1:
        win->suboptimal = hdt_below(random, 2);
        return;
    case 2: {
        static const VkResult some[] = {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY,
                                        VK_ERROR_SURFACE_LOST_KHR, VK_ERROR_OUT_OF_DATE_KHR, VK_SUBOPTIMAL_KHR};
        win->failure = some[hdt_below(random, 5)];
        win->fail_call = win->failure == VK_ERROR_OUT_OF_DATE_KHR || win->failure == VK_SUBOPTIMAL_KHR
                             ? (hdt_window_call)(HDT_ACQUIRE + hdt_below(random, 2))
                             : (hdt_window_call)hdt_below(random, HDT_WINDOW_CALLS);
        win->fail_at = win->calls[win->fail_call] + 1 + hdt_below(random, 3);
        win->fail_count = 1 + hdt_below(random, 2);
        return;
    }
    case 3: /* a frame that is not executed */
        hd_graph_begin(w->graph);
        hd_vk_swapchain_acquire(w->swapchain, w->graph, &target);
        return;
    case 4: /* or not presented */
        hd_graph_begin(w->graph);
        if (hd_vk_swapchain_acquire(w->swapchain, w->graph, &target) == HD_OK && target.id)
            hd_vk_clear(w->vk, w->graph, target, NULL, &(VkClearValue){0}, NULL);
        hd_vk_frame(w->vk, w->graph);
        return;
    case 5:
        if (hdt_below(random, 4) == 0) {
            hd_vk_swapchain_destroy(w->swapchain);
            win->fail_at = 0;
            w->swapchain = NULL;
            cr_assert_eq(make(w, NULL), HD_OK);
        }
        return;
    case 6: {
        VkSurfaceKHR other = hdt_window_surface();
        hd_vk_swapchain_set_surface(w->swapchain, other);
        hdt_window_drop_surface(w->surface);
        w->surface = other;
        return;
    }
    default:
        if (frame(w) == HD_SURFACE_LOST)
            hd_vk_swapchain_set_surface(w->swapchain, w->surface);
        return;
    }
}

Test(vk_swapchain_faults, anything_in_any_order, .timeout = 120)
{
    const char *given = getenv("HEDDLE_SEED");
    uint64_t first = given ? strtoull(given, NULL, 0) : 1, count = given ? 1 : RESIZES / 50;
    window w;
    open_window(&w);
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t random = seed;
        hdt_window_reset();
        hdt_the_window.live_surfaces = 1;
        w.swapchain = NULL;
        cr_assert_eq(make(&w, NULL), HD_OK);
        for (uint32_t step = 0; step < 150; step++) {
            random_step(&w, &random);
            cr_assert_leq(hdt_the_window.live_swapchains, 5, "HEDDLE_SEED=%d", (int)seed);
            cr_assert_eq(hdt_the_window.faults, 0, "HEDDLE_SEED=%d, step %u", (int)seed, step);
            cr_assert_eq(w.f.messages, 0, "HEDDLE_SEED=%d, step %u", (int)seed, step);
        }
        hdt_the_window.fail_at = 0;
        hdt_the_window.width = 32;
        cr_expect_eq(hd_vk_swapchain_set_surface(w.swapchain, w.surface), HD_OK);
        uint32_t shown = w.shown;
        cr_expect_eq(run(&w, 3), HD_OK);
        cr_expect_eq(w.shown, shown + 3, "HEDDLE_SEED=%d", (int)seed);
        hd_vk_swapchain_destroy(w.swapchain);
        cr_assert_eq(hdt_the_window.live_swapchains, 0, "HEDDLE_SEED=%d", (int)seed);
    }
    w.swapchain = NULL;
    close_window(&w);
}
