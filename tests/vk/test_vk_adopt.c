#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "vk_fixture.h"

/* Devices of an engine that heddle cannot use: refused when they are adopted, with a sentence that says why. */

static void keep_error(hd_log_level level, const char *text, void *user)
{
    if (level == HD_LOG_ERROR)
        snprintf(user, 512, "%s", text);
}

static hd_result adopt_with(const hdt_vk *f, const hd_vk_desc *from, char *seen)
{
    hd_vk_desc desc = *from;
    hd_vk *vk = NULL;
    seen[0] = 0;
    desc.log = (hd_log){keep_error, seen};
    desc.get_instance_proc = hdt_vk_hooked;
    desc.instance = f->info.instance;
    desc.physical_device = f->info.physical_device;
    desc.device = f->info.device;
    if (!desc.queues) {
        desc.queues = f->info.queues;
        desc.queue_count = f->info.queue_count;
    }
    hd_result result = hd_vk_create(&desc, &vk);
    hd_vk_destroy(vk);
    return result;
}

Test(vk_adopt, devices_that_lack_something)
{
    hdt_vk f;
    char seen[512];
    hdt_vk_three_families(true, 0);
    hd_result opened = hdt_vk_open(&f, &(hd_vk_desc){.get_instance_proc = hdt_vk_hooked});
    if (hdt_vk_none(opened))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(opened, HD_OK);
    VkPhysicalDeviceVulkan12Features all12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                              .timelineSemaphore = VK_TRUE};
    VkPhysicalDeviceVulkan13Features all13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                              .synchronization2 = VK_TRUE,
                                              .dynamicRendering = VK_TRUE,
                                              .maintenance4 = VK_TRUE};
    hd_vk_desc all = {.features12 = &all12, .features13 = &all13};
    cr_expect_eq(adopt_with(&f, &(hd_vk_desc){0}, seen), HD_OK, "nothing is told");
    cr_expect_eq(adopt_with(&f, &all, seen), HD_OK, "%s", seen);
    VkBool32 *features[] = {&all12.timelineSemaphore, &all13.synchronization2, &all13.dynamicRendering,
                            &all13.maintenance4};
    const char *const names[] = {"timelineSemaphore", "synchronization2", "dynamicRendering", "maintenance4"};
    for (uint32_t i = 0; i < 4; i++) {
        *features[i] = VK_FALSE;
        cr_expect_eq(adopt_with(&f, &all, seen), HD_MISSING_FEATURE);
        cr_expect(strstr(seen, names[i]), "%s", seen);
        *features[i] = VK_TRUE;
    }
    all.timed_frames = 4;
    cr_expect_eq(adopt_with(&f, &all, seen), HD_MISSING_FEATURE);
    cr_expect(strstr(seen, "hostQueryReset"), "%s", seen);

    /* as a chain: each in a structure of its own, or in Vulkan's */
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE};
    all13.pNext = &timeline;
    cr_expect_eq(adopt_with(&f, &(hd_vk_desc){.device_next = &all13}, seen), HD_OK, "%s", seen);
    timeline.timelineSemaphore = VK_FALSE;
    cr_expect_eq(adopt_with(&f, &(hd_vk_desc){.device_next = &all13}, seen), HD_MISSING_FEATURE);
    cr_expect_eq(adopt_with(&f, &(hd_vk_desc){.device_next = &timeline}, seen), HD_MISSING_FEATURE);

    for (uint32_t q = 0; q < f.info.queue_count; q++) {
        for (uint32_t kind = 0; kind <= HD_QUEUE_TRANSFER; kind++) {
            hd_vk_queue_desc queue = f.info.queues[q];
            bool can = kind >= (uint32_t)queue.kind; /* graphics can do all, transfer but itself */
            queue.kind = (hd_queue_kind)kind;
            cr_expect_eq(adopt_with(&f, &(hd_vk_desc){.queues = &queue, .queue_count = 1}, seen),
                         can ? HD_OK : HD_MISSING_FEATURE, "queue %u as %u: %s", q, kind, seen);
            cr_expect(can || strstr(seen, "which has no"), "%s", seen);
        }
    }
    cr_expect_eq(hdt_vk_close(&f), 0, "validation messages");
    hdt_vk_three_families(false, 0);
}
