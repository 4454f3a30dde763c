#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

#include "vk_presenting.h"

/* Binary semaphores behind host passes: whatever waits for one comes behind all signals that it depends on. Layers of
 * Vulkan before 1.4 do not look at that: here the host passes themselves see what overtakes them. */

/* A host pass that lasts until what may depend on it goes on, which it must not, or for a while. */
static struct {
    sem_t gone_on;
    atomic_uint passes, overtaken; /* overtaken: a bit for each pass */
} slow;

static void go_on(void)
{
    sem_post(&slow.gone_on);
}

static void slow_pass(hd_recorder *recorder, void *user)
{
    struct timespec until;
    (void)recorder;
    (void)user;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100 * 1000 * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    bool overtaken = sem_timedwait(&slow.gone_on, &until) == 0;
    atomic_fetch_or(&slow.overtaken, overtaken << atomic_fetch_add(&slow.passes, 1));
}

static hd_resource from_host(window *w)
{
    hd_resource buffer = hd_graph_buffer(w->graph, &(hd_buffer_desc){.name = "from host", .bytes = 256});
    hd_graph_pass(w->graph, &(hd_pass_desc){.name = "slow",
                                            .type = HD_PASS_HOST,
                                            .record = slow_pass,
                                            .uses = HD_USES({buffer, HD_HOST_WRITE})});
    return buffer;
}

static void draw(window *w, hd_resource to, hd_resource from)
{
    const hd_use uses[] = {{.resource = to, .access = HD_COLOR_WRITE}, {.resource = from, .access = HD_VERTEX_READ}};
    hd_graph_pass(
        w->graph,
        &(hd_pass_desc){.name = "draw", .type = HD_PASS_GFX, .root = true, .uses = uses, .use_count = 1 + !!from.id});
}

static hd_resource an_image(window *w)
{
    return hd_graph_image(
        w->graph, &(hd_image_desc){.name = "image", .width = 64, .height = 48, .format = VK_FORMAT_R8G8B8A8_UNORM});
}

/* What is presented depends on the host pass. */
static void itself(window *w, hd_resource target)
{
    draw(w, target, from_host(w));
}

static void by_another_queue(window *w, hd_resource target)
{
    hd_resource copy = hd_graph_buffer(w->graph, &(hd_buffer_desc){.name = "copy", .bytes = 256});
    hd_vk_copy(w->vk, w->graph, from_host(w), NULL, copy, NULL, NULL); /* on the transfer queue, where there is one */
    draw(w, target, copy);
}

/* By the order of the queue alone. */
static void by_an_earlier_submit(window *w, hd_resource target)
{
    draw(w, an_image(w), target.id ? (hd_resource){0} : from_host(w));
    if (target.id)
        draw(w, target, (hd_resource){0});
}

static hd_resource to_host(window *w)
{
    hd_resource buffer = hd_graph_buffer(w->graph, &(hd_buffer_desc){.name = "to host", .bytes = 256});
    hd_vk_fill(w->vk, w->graph, buffer, NULL, 1, NULL);
    hd_graph_pass(w->graph, &(hd_pass_desc){.name = "slow",
                                            .type = HD_PASS_HOST,
                                            .root = true,
                                            .record = slow_pass,
                                            .uses = HD_USES({buffer, HD_HOST_READ})});
    return buffer;
}

/* The second frame overwrites what the host still reads. */
static void by_memory_of_the_frame_before(window *w, hd_resource target)
{
    hd_resource buffer = to_host(w);
    if (target.id)
        draw(w, target, buffer);
}

/* It does not: nothing of the frame is behind what the host reads. */
static void not_at_all(window *w, hd_resource target)
{
    draw(w, target, to_host(w));
}

/* A present, as anything that waits for a binary semaphore, comes behind all signals that it depends on, those of the
 * host included. */
static const struct {
    const char *name;
    void (*declare)(window *w, hd_resource target);
    uint32_t frames_before; /* without the window */
    uint32_t passes, overtaken;
} cases[] = {
    {"itself", itself, 0, 1, 0},
    {"by another queue", by_another_queue, 0, 1, 0},
    {"by an earlier submit", by_an_earlier_submit, 1, 1, 0},
    {"by memory of the frame before", by_memory_of_the_frame_before, 1, 2, 2}, /* the second pass is overtaken */
    {"not at all", not_at_all, 0, 1, 1},
};

Test(vk_behind_host, presents)
{
    window w;
    open_window(&w);
    cr_assert_eq(make(&w, NULL), HD_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sem_init(&slow.gone_on, 0, 0);
        atomic_store(&slow.passes, 0);
        atomic_store(&slow.overtaken, 0);
        hdt_the_window.on_present = go_on;
        for (uint32_t frame = 0; frame <= cases[i].frames_before; frame++) {
            hd_resource target = {0};
            hd_graph_begin(w.graph);
            if (frame == cases[i].frames_before)
                cr_assert_eq(hd_vk_swapchain_acquire(w.swapchain, w.graph, &target), HD_OK);
            cases[i].declare(&w, target);
            cr_assert_eq(hd_vk_frame(w.vk, w.graph), HD_OK, "%s: %s", cases[i].name, hd_graph_error(w.graph)->text);
        }
        cr_expect_eq(hd_vk_swapchain_present(w.swapchain), HD_OK);
        cr_expect_eq(hd_vk_wait(w.vk), HD_OK);
        cr_expect_eq(atomic_load(&slow.passes), cases[i].passes, "%s", cases[i].name);
        cr_expect_eq(atomic_load(&slow.overtaken), cases[i].overtaken, "%s: overtaken are %x", cases[i].name,
                     atomic_load(&slow.overtaken));
        hdt_the_window.on_present = NULL;
        sem_destroy(&slow.gone_on);
    }
    close_window(&w);
}

/* Through what stands between heddle and the driver. */
#define OF_DEVICE(w, name) ((PFN_##name)HDT_FN(&(w)->f, vkGetDeviceProcAddr)((w)->f.info.device, #name))

static VkSemaphore make_semaphore(window *w, bool timeline)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType =
                                          timeline ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore semaphore;
    cr_assert_eq(OF_DEVICE(w, vkCreateSemaphore)(w->f.info.device, &info, NULL, &semaphore), VK_SUCCESS);
    return semaphore;
}

/* A submit of the engine's. */
static void submit_own(window *w, const VkSemaphore *wait, const VkSemaphore *signal)
{
    VkSemaphoreSubmitInfo waits = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                   .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    VkSemaphoreSubmitInfo signals = waits;
    waits.semaphore = wait ? *wait : VK_NULL_HANDLE;
    signals.semaphore = signal ? *signal : VK_NULL_HANDLE;
    VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                          .waitSemaphoreInfoCount = wait != NULL,
                          .pWaitSemaphoreInfos = &waits,
                          .signalSemaphoreInfoCount = signal != NULL,
                          .pSignalSemaphoreInfos = &signals};
    cr_assert_eq(OF_DEVICE(w, vkQueueSubmit2)(w->f.info.queues[0].queue, 1, &info, VK_NULL_HANDLE), VK_SUCCESS);
}

/* Binary semaphores that the engine lends for an import: one that the frame signals can be waited for once hd_vk_frame
 * returned, one that the frame waits for may have been signalled behind earlier frames. A timeline needs no wait. */
static void lend(bool timeline, bool waits)
{
    window w;
    open_window(&w);
    sem_init(&slow.gone_on, 0, 0);
    atomic_store(&slow.passes, 0);
    atomic_store(&slow.overtaken, 0);
    VkDevice device = w.f.info.device;
    VkBufferCreateInfo made = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 256, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer own;
    cr_assert_eq(HDT_FN(&w.f, vkCreateBuffer)(device, &made, NULL, &own), VK_SUCCESS);
    VkMemoryRequirements needs;
    HDT_FN(&w.f, vkGetBufferMemoryRequirements)(device, own, &needs);
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
    VkDeviceMemory bytes;
    cr_assert_eq(HDT_FN(&w.f, vkAllocateMemory)(device, &memory, NULL, &bytes), VK_SUCCESS);
    cr_assert_eq(HDT_FN(&w.f, vkBindBufferMemory)(device, own, bytes, 0), VK_SUCCESS);
    VkSemaphore semaphore = make_semaphore(&w, timeline);
    if (waits) {
        hd_graph_begin(w.graph);
        draw(&w, an_image(&w), from_host(&w));
        cr_assert_eq(hd_vk_frame(w.vk, w.graph), HD_OK);
        submit_own(&w, NULL, &semaphore);
    }
    hd_graph_begin(w.graph);
    hd_resource target = hd_graph_import(
        w.graph,
        &(hd_import_desc){.name = "own", .buffer = (void *)own, .bytes = 256, .sharing = HD_SHARING_EXCLUSIVE});
    hd_vk_sync sync = {.wait = waits ? semaphore : VK_NULL_HANDLE,
                       .signal = waits ? VK_NULL_HANDLE : semaphore,
                       .signal_value = timeline};
    cr_assert_eq(hd_vk_sync_import(w.vk, w.graph, target, &sync), HD_OK);
    if (waits)
        hd_vk_fill(w.vk, w.graph, target, NULL, 1, NULL);
    else
        hd_vk_copy(w.vk, w.graph, from_host(&w), NULL, target, NULL, NULL);
    cr_assert_eq(hd_vk_frame(w.vk, w.graph), HD_OK, "%s", hd_graph_error(w.graph)->text);
    go_on();
    if (!waits && !timeline)
        submit_own(&w, &semaphore, NULL);
    cr_expect_eq(hd_vk_wait(w.vk), HD_OK);
    cr_expect_eq(atomic_load(&slow.overtaken), timeline, "timeline %d, waits %d", timeline, waits);
    HDT_FN(&w.f, vkDeviceWaitIdle)(device);
    OF_DEVICE(&w, vkDestroySemaphore)(device, semaphore, NULL);
    HDT_FN(&w.f, vkDestroyBuffer)(device, own, NULL);
    HDT_FN(&w.f, vkFreeMemory)(device, bytes, NULL);
    sem_destroy(&slow.gone_on);
    close_window(&w);
}

Test(vk_behind_host, semaphores)
{
    lend(false, false);
    lend(false, true);
    lend(true, false);
}

static void keep_first(const char *text, void *user)
{
    if (!*(char *)user)
        snprintf(user, 800, "%s", text);
}

/* What the executor gave to Vulkan says the same to the verifier of streams. */
Test(vk_behind_host, captured)
{
    window w;
    hd_stream *stream;
    char text[800] = "";
    cr_assert_eq(hd_capture_open(&(hd_capture_desc){.get_instance_proc = hdt_window_proc}), HD_OK);
    open_window_through(&w, hd_capture_get_instance_proc);
    cr_assert_eq(make(&w, NULL), HD_OK);
    sem_init(&slow.gone_on, 0, 0);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (uint32_t frame = 0; frame < 2; frame++) {
            hd_resource target;
            hd_graph_begin(w.graph);
            cr_assert_eq(hd_vk_swapchain_acquire(w.swapchain, w.graph, &target), HD_OK);
            cases[i].declare(&w, target);
            cr_assert_eq(hd_vk_frame(w.vk, w.graph), HD_OK);
            cr_expect_eq(hd_vk_swapchain_present(w.swapchain), HD_OK);
            sem_post(&slow.gone_on); /* late: host passes of this one have run */
        }
    }
    cr_expect_eq(hd_vk_wait(w.vk), HD_OK);
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    cr_expect_eq(hd_stream_verify(stream, &(hd_verify_desc){.message = keep_first, .user = text}), HD_OK, "%s", text);
    hd_stream_free(stream);
    sem_destroy(&slow.gone_on);
    close_window(&w);
    hd_capture_close();
}
