#include <criterion/criterion.h>

#include <string.h>

#include "functions.h"
#include "vk_busy.h"
#include "vk_faults.h"
#include "vk_fixture.h"

/* Every Vulkan call that can fail fails once, in turn, from the making of the instance to the last frame: the result
 * comes back, nothing leaks, and what the contract says goes on: the next frame, or (after half a frame, or a lost
 * device) a new hd_vk on the same graph. */

#ifdef __SANITIZE_ADDRESS__
enum { STEP = 3 }; /* which takes its time */
#else
enum { STEP = 1 };
#endif

static hd_result expected(VkResult failure)
{
    return failure == VK_ERROR_OUT_OF_HOST_MEMORY     ? HD_OUT_OF_MEMORY
           : failure == VK_ERROR_OUT_OF_DEVICE_MEMORY ? HD_OUT_OF_DEVICE_MEMORY
                                                      : HD_DEVICE_LOST;
}

static hd_result make(hd_vk **vk)
{
    return hd_vk_create(&(hd_vk_desc){.get_instance_proc = hdt_faults_proc, .timed_frames = 4}, vk);
}

/* Adopts the device of another, which takes less time than to make one. */
static hd_result adopt(hd_vk *owner, hd_vk **vk)
{
    hd_vk_info info;
    hd_vk_info_get(owner, &info);
    return hd_vk_create(&(hd_vk_desc){.get_instance_proc = hdt_faults_proc,
                                      .timed_frames = 4,
                                      .instance = info.instance,
                                      .physical_device = info.physical_device,
                                      .device = info.device,
                                      .queues = info.queues,
                                      .queue_count = info.queue_count},
                        vk);
}

/* Some frames, then larger ones, so that heaps are replaced. */
static hd_result work(hdt_busy *busy, hd_vk *vk)
{
    busy->size = 32;
    hd_result result = hdt_busy_run(busy, vk, 4);
    busy->size = 64;
    if (result == HD_OK)
        result = hdt_busy_run(busy, vk, 4);
    return result == HD_OK ? hd_vk_wait(vk) : result;
}

static bool is(const char *name, const char *call)
{
    return name && strcmp(name, call) == 0;
}

/* Calls without which a frame is as good: names, times, and what is asked only to know more. */
static bool may_be_ignored(const char *call)
{
    static const char *const calls[] = {"vkSetDebugUtilsObjectNameEXT",
                                        "vkGetQueryPoolResults",
                                        "vkEnumerateInstanceExtensionProperties",
                                        "vkEnumerateDeviceExtensionProperties",
                                        "vkAllocateMemory", /* asked once more */
                                        "vkMapMemory",
                                        "vkQueueSubmit2",   /* likewise, where some of a frame is handed over */
                                        "vkWaitSemaphores", /* likewise, on the host thread */
                                        "vkSignalSemaphore"};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (is(call, calls[i]))
            return true;
    }
    return false;
}

static void expect_frames(hdt_busy *busy, hd_vk *vk, uint64_t k)
{
    uint32_t right = atomic_load(&busy->right);
    cr_expect_eq(hdt_busy_run(busy, vk, 2), HD_OK, "call %d, %s: no frame after it", (int)k, hdt_the_faults.failed);
    cr_expect_eq(hd_vk_wait(vk), HD_OK);
    cr_expect_geq(atomic_load(&busy->right), right + 4, "call %d, %s", (int)k, hdt_the_faults.failed);
}

/* False: there are fewer calls. */
static bool one_fault(hdt_busy *busy, hd_vk *owner, VkResult failure, uint64_t k)
{
    hdt_faults *f = &hdt_the_faults;
    hd_vk *vk = NULL;
    int live = f->live;
    f->failed = NULL;
    f->fail_at = k;
    atomic_store(&f->calls, 0);
    hd_result result = adopt(owner, &vk);
    cr_expect((result == HD_OK) == (vk != NULL));
    bool in_frames = result == HD_OK;
    if (in_frames)
        result = work(busy, vk);
    f->fail_at = 0;
    const char *call = f->failed ? f->failed : "none";
    if (result == HD_OK)
        cr_expect(!f->failed || may_be_ignored(call), "call %d, %s: not noticed", (int)k, call);
    else
        cr_expect_eq(result, expected(failure), "call %d, %s: %s", (int)k, call, hd_result_name(result));
    bool lost = in_frames && result != HD_OK && hd_vk_wait(vk) != HD_OK;
    cr_expect(!lost || failure == VK_ERROR_DEVICE_LOST, "call %d, %s: lost for ever", (int)k, call);
    if (in_frames && !lost)
        expect_frames(busy, vk, k);
    hd_vk_destroy(vk);
    cr_assert_eq(f->live, live, "call %d, %s: %d objects leak", (int)k, call, f->live - live);
    cr_assert_eq(f->wrong, 0);
    if (!in_frames || lost) {
        cr_assert_eq(adopt(owner, &vk), HD_OK);
        expect_frames(busy, vk, k);
        hd_vk_destroy(vk);
    }
    return f->failed != NULL;
}

/* Making the instance and the device. */
static bool one_fault_of_making(VkResult failure, uint64_t k)
{
    hdt_faults *f = &hdt_the_faults;
    hd_vk *vk;
    f->failed = NULL;
    f->fail_at = k;
    atomic_store(&f->calls, 0);
    hd_result result = make(&vk);
    f->fail_at = 0;
    cr_expect(result == expected(failure) || (result == HD_OK && (!f->failed || may_be_ignored(f->failed))),
              "call %d, %s: %s", (int)k, f->failed ? f->failed : "none", hd_result_name(result));
    hd_vk_destroy(vk);
    cr_assert(f->live == 0 && f->wrong == 0, "call %d: %d objects leak", (int)k, f->live);
    return f->failed != NULL;
}

static void each_call(VkResult failure)
{
#ifdef HDT_THREE_FAMILIES
    hdt_vk_three_families(true, 0);
#endif
    hdt_busy busy = {0};
    hdt_vk_keep_libraries();
    cr_assert_eq(hd_graph_create(NULL, &busy.graph), HD_OK);
    hdt_the_faults.failure = failure;
    hd_vk *vk;
    hd_result result = make(&vk);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK);
    uint64_t k = 1;
    while (one_fault(&busy, vk, failure, k))
        k += STEP;
    hd_vk_destroy(vk);
    cr_expect_gt(k, failure == VK_ERROR_DEVICE_LOST ? 8 : 60);
    cr_expect_eq(atomic_load(&busy.wrong), 0);
    hd_graph_destroy(busy.graph);
    k = 1;
    while (one_fault_of_making(failure, k))
        k++;
    cr_expect_gt(k, failure == VK_ERROR_DEVICE_LOST ? 1 : 8);
}

Test(vk_faults, out_of_host_memory, .timeout = 120)
{
    each_call(VK_ERROR_OUT_OF_HOST_MEMORY);
}

Test(vk_faults, out_of_device_memory, .timeout = 120)
{
    each_call(VK_ERROR_OUT_OF_DEVICE_MEMORY);
}

Test(vk_faults, device_lost, .timeout = 120)
{
    each_call(VK_ERROR_DEVICE_LOST);
}

/* From some submit on the driver takes no more: half a frame is under way, and nothing goes before it has finished. */
static void submits_stop(hdt_busy *busy, hd_vk *owner, VkResult failure, uint64_t until, uint32_t *halves)
{
    hdt_faults *f = &hdt_the_faults;
    hd_vk *vk = NULL;
    cr_assert_eq(adopt(owner, &vk), HD_OK);
    f->failure = failure;
    f->submits_until = until;
    atomic_store(&f->submits, 0);
    cr_expect_eq(work(busy, vk), expected(failure));
    *halves += hd_vk_wait(vk) == expected(failure);
    hd_vk_destroy(vk);
    f->submits_until = 0;
    cr_expect_eq(f->early, 0, "submit %d: destroyed while the GPU was at work", (int)until);
    f->early = 0;
}

Test(vk_faults, half_a_frame, .timeout = 120)
{
#ifdef HDT_THREE_FAMILIES
    hdt_vk_three_families(true, 0);
#endif
    hdt_busy busy = {0};
    uint32_t halves = 0;
    hd_vk *vk;
    hdt_vk_keep_libraries();
    cr_assert_eq(hd_graph_create(NULL, &busy.graph), HD_OK);
    hd_result result = make(&vk);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK);
    for (uint64_t until = 1; until <= 12; until++) {
        submits_stop(&busy, vk, VK_ERROR_OUT_OF_DEVICE_MEMORY, until, &halves);
        submits_stop(&busy, vk, VK_ERROR_DEVICE_LOST, until, &halves);
    }
    hd_vk_destroy(vk);
    cr_expect_gt(halves, 12);
    hd_graph_destroy(busy.graph);
}

/* What a driver lacks is named, and what was made until then goes: but for what only the missing function destroys, and
 * the instance of a device that stays. */
Test(vk_faults, missing_functions, .timeout = 60)
{
#define NAME(name) #name,
    static const char *const names[] = {HDI_VK_INSTANCE_FUNCTIONS(NAME) HDI_VK_DEVICE_FUNCTIONS(NAME)};
#undef NAME
    hdt_faults *f = &hdt_the_faults;
    hd_vk *vk;
    hdt_vk_keep_libraries();
    hd_result result = make(&vk);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    hd_vk_destroy(vk);
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        f->missing = names[i];
        cr_expect_eq(make(&vk), HD_MISSING_FEATURE, "%s", names[i]);
        int stays = is(names[i], "vkDestroyDevice") ? 2 : is(names[i], "vkDestroyInstance");
        cr_expect_eq(f->live, stays, "%s: %d objects leak", names[i], f->live);
        f->live = 0;
    }
    f->missing = NULL;
    cr_expect_eq(f->wrong, 0);
}
