#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "limited.h"
#include "vk_fixture.h"

/* The executor's device: made, adopted, missing; what fails and how it comes back. Frames and what they compute:
 * test_vk_frames.c. */

static void open_or_skip(hdt_vk *f, const hd_vk_desc *desc)
{
    hd_result result = hdt_vk_open(f, desc);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK, "%s", hd_result_name(result));
}

static void require_device(void)
{
    hdt_vk_keep_libraries();
    hd_vk *vk;
    hd_result result = hd_vk_create(NULL, &vk);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK);
    hd_vk_destroy(vk);
}

/* ---- a frame that reaches every part: GPU passes, host passes, a history, an attachment ---- */

typedef struct small_frame {
    hd_graph *graph;
    uint32_t host_runs;
    hd_vk_info info;
    hd_resource from, to;
} small_frame;

static void fill(hd_recorder *recorder, void *user)
{
    small_frame *frame = user;
    ((PFN_vkCmdFillBuffer)frame->info.get_instance_proc(frame->info.instance, "vkCmdFillBuffer"))(
        hd_vk_commands(recorder), hd_vk_buffer(recorder, frame->to), 0, VK_WHOLE_SIZE, 7);
}

static void count_run(hd_recorder *recorder, void *user)
{
    (void)recorder;
    ((small_frame *)user)->host_runs++;
}

static void declare_small(small_frame *frame)
{
    hd_graph *g = frame->graph;
    hd_graph_begin(g);
    hd_resource color = hd_graph_image(
        g, &(hd_image_desc){.name = "color", .width = 32, .height = 16, .format = VK_FORMAT_R8G8B8A8_UNORM});
    frame->to = hd_graph_buffer(g, &(hd_buffer_desc){.name = "buffer", .bytes = 256});
    frame->from = hd_graph_history(g, frame->to);
    hd_graph_pass(g, &(hd_pass_desc){
                         .name = "draw", .type = HD_PASS_GFX, .root = true, .uses = HD_USES({color, HD_COLOR_WRITE})});
    hd_graph_pass(g, &(hd_pass_desc){.name = "fill",
                                     .type = HD_PASS_TRANSFER,
                                     .record = fill,
                                     .user = frame,
                                     .uses = HD_USES({frame->to, HD_TRANSFER_DST}, {frame->from, HD_TRANSFER_SRC})});
    hd_graph_pass(g, &(hd_pass_desc){.name = "look",
                                     .type = HD_PASS_HOST,
                                     .root = true,
                                     .record = count_run,
                                     .user = frame,
                                     .uses = HD_USES({frame->to, HD_HOST_READ})});
}

static hd_result run_small(hd_vk *vk, small_frame *frame, uint32_t frames)
{
    hd_result result = HD_OK;
    hd_vk_info_get(vk, &frame->info);
    for (uint32_t i = 0; i < frames && result == HD_OK; i++) {
        declare_small(frame);
        result = hd_vk_frame(vk, frame->graph);
    }
    return result;
}

/* ---- making and adopting ---- */

Test(vk, made)
{
    hdt_vk f;
    open_or_skip(&f, &(hd_vk_desc){.application = "test"});
    cr_expect(f.info.instance && f.info.physical_device && f.info.device && f.info.get_instance_proc);
    cr_expect(strlen(f.info.device_name) > 0);
    cr_assert(f.info.queue_count >= 1 && f.info.queue_count <= 3);
    cr_expect_eq(f.info.queues[0].kind, HD_QUEUE_GFX);
    for (uint32_t q = 0; q < f.info.queue_count; q++) {
        cr_expect(f.info.queues[q].queue);
        for (uint32_t other = 0; other < q; other++)
            cr_expect(f.info.queues[other].family != f.info.queues[q].family, "one family, two kinds");
    }
    cr_expect_eq(hd_vk_wait(f.vk), HD_OK);
    cr_expect_eq(hdt_vk_close(&f), 0);
    hd_vk_destroy(NULL);
}

Test(vk, adopted)
{
    hdt_vk f;
    open_or_skip(&f, NULL);
    small_frame frame = {0};
    cr_assert_eq(hd_graph_create(NULL, &frame.graph), HD_OK);
    hd_vk_desc desc = {
        .log = hdt_log(),
        .instance = f.info.instance,
        .physical_device = f.info.physical_device,
        .device = f.info.device,
        .queues = f.info.queues,
        .queue_count = f.info.queue_count,
    };
    hd_vk *adopted;
    for (uint32_t round = 0; round < 2; round++) {
        cr_assert_eq(hd_vk_create(&desc, &adopted), HD_OK);
        cr_expect_eq(run_small(adopted, &frame, 4), HD_OK);
        cr_expect_eq(hd_vk_wait(adopted), HD_OK);
        hd_vk_destroy(adopted);
    }
    cr_expect_eq(frame.host_runs, 8);
    cr_expect_eq(run_small(f.vk, &frame, 3), HD_OK, "the device is still its owner's");

    desc.queue_count = 0;
    cr_expect_eq(hd_vk_create(&desc, &adopted), HD_INVALID_ARGUMENT);
    cr_expect_null(adopted);
    desc.queue_count = f.info.queue_count;
    desc.instance = NULL;
    cr_expect_eq(hd_vk_create(&desc, &adopted), HD_INVALID_ARGUMENT);
    desc.instance = f.info.instance;
    hd_vk_queue_desc wrong = f.info.queues[0];
    wrong.family = 77;
    desc.queues = &wrong;
    desc.queue_count = 1;
    cr_expect_eq(hd_vk_create(&desc, &adopted), HD_INVALID_ARGUMENT);
    cr_expect_eq(hdt_vk_close(&f), 0);
    hd_graph_destroy(frame.graph);
}

Test(vk, queue_kinds)
{
    hdt_vk f;
    const hd_queue_kind only_compute[] = {HD_QUEUE_COMPUTE};
    open_or_skip(&f, &(hd_vk_desc){.queue_kinds = only_compute, .queue_kind_count = 1});
    cr_assert_eq(f.info.queue_count, 1);
    cr_expect_eq(f.info.queues[0].kind, HD_QUEUE_COMPUTE);
    cr_expect_eq(hdt_vk_close(&f), 0);
    cr_expect_eq(hd_vk_create(NULL, NULL), HD_INVALID_ARGUMENT);
}

static void keep_line(hd_log_level level, const char *text, void *user)
{
    if (level == HD_LOG_ERROR)
        snprintf(user, 256, "%s", text);
}

/* The log says which field of a description is out of its range. */
Test(vk, bad_descriptions)
{
    static const hd_queue_kind host[] = {HD_QUEUE_HOST};
    static const struct {
        const char *field;
        hd_vk_desc desc;
    } bad[] = {
        {"queue_kinds[0]", {.queue_kinds = host, .queue_kind_count = 1}},
        {"queue_kinds", {.queue_kind_count = 1}},
        {"queues", {.queue_count = 1}},
        {"frames_in_flight", {.frames_in_flight = 5}},
        {"memory_copies", {.memory_copies = 3}},
        {"timed_frames", {.timed_frames = 1025}},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hd_vk *vk;
        char line[256] = "";
        hd_vk_desc desc = bad[i].desc;
        desc.log = (hd_log){keep_line, line};
        cr_expect_eq(hd_vk_create(&desc, &vk), HD_INVALID_ARGUMENT, "%s", bad[i].field);
        cr_expect(strstr(line, bad[i].field), "'%s' does not say '%s'", line, bad[i].field);
    }
}

/* ---- what may be missing ---- */

static PFN_vkVoidFunction VKAPI_PTR empty_loader(VkInstance instance, const char *name)
{
    (void)instance;
    (void)name;
    return NULL;
}

Test(vk, no_loader)
{
    hd_vk *vk;
    hd_vk_desc desc = {.get_instance_proc = empty_loader, .log = hdt_log()};
    cr_expect_eq(hd_vk_create(&desc, &vk), HD_NO_LOADER);
    cr_expect_null(vk);
}

Test(vk, no_driver)
{
    hd_vk *vk;
    setenv("VK_ICD_FILENAMES", "/nonexistent.json", 1);
    setenv("VK_DRIVER_FILES", "/nonexistent.json", 1);
    hd_result result = hd_vk_create(&(hd_vk_desc){.log = hdt_log()}, &vk);
    cr_expect(result == HD_NO_DEVICE || result == HD_NO_LOADER, "%s", hd_result_name(result));
    cr_expect_null(vk);
}

Test(vk, no_such_device)
{
    require_device();
    hd_vk *vk;
    cr_expect_eq(hd_vk_create(&(hd_vk_desc){.device_index = 99, .log = hdt_log()}, &vk), HD_NO_DEVICE);
    cr_expect_null(vk);
}

Test(vk, no_such_extension)
{
    require_device();
    hd_vk *vk;
    const char *names[] = {"VK_NOBODY_has_this"};
    hd_vk_desc desc = {.instance_extensions = names, .instance_extension_count = 1};
    cr_expect_eq(hd_vk_create(&desc, &vk), HD_MISSING_FEATURE);
    desc = (hd_vk_desc){.device_extensions = names, .device_extension_count = 1};
    cr_expect_eq(hd_vk_create(&desc, &vk), HD_MISSING_FEATURE);
}

static void keep_text(hd_log_level level, const char *text, void *user)
{
    (void)level;
    strncat(user, text, 500);
}

Test(vk, what_the_engine_wants)
{
    require_device();
    hd_vk *vk;
    char text[4096] = "";
    const hd_log log = {keep_text, text};
    const char *names[] = {"VK_KHR_swapchain", "VK_NOBODY_has_this"};
    cr_expect_eq(hd_vk_create(&(hd_vk_desc){.log = log, .device_extensions = names, .device_extension_count = 2}, &vk),
                 HD_MISSING_FEATURE);
    cr_expect(strstr(text, "VK_NOBODY_has_this") && !strstr(text, "VK_KHR_swapchain"), "%s", text);
    text[0] = 0;
    names[0] = "VK_KHR_surface";
    cr_expect_eq(
        hd_vk_create(&(hd_vk_desc){.log = log, .instance_extensions = names, .instance_extension_count = 2}, &vk),
        HD_MISSING_FEATURE);
    cr_expect(strstr(text, "VK_NOBODY_has_this") && !strstr(text, "VK_KHR_surface"), "%s", text);
    text[0] = 0;
    VkPhysicalDeviceFeatures features = {.shaderResourceMinLod = VK_TRUE, .sparseResidencyAliased = VK_TRUE};
    hd_result result = hd_vk_create(&(hd_vk_desc){.log = log, .features = &features}, &vk);
    if (result == HD_OK) { /* no software device has these */
        hd_vk_destroy(vk);
    } else {
        cr_expect_eq(result, HD_MISSING_FEATURE);
        cr_expect(strstr(text, "shaderResourceMinLod") || strstr(text, "sparseResidencyAliased"), "%s", text);
    }
    text[0] = 0;
    VkPhysicalDeviceProtectedMemoryFeatures next = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROTECTED_MEMORY_FEATURES};
    VkPhysicalDeviceVulkan11Features features11 = {.multiview = VK_TRUE, .pNext = &next};
    VkPhysicalDeviceVulkan12Features features12 = {.hostQueryReset = VK_TRUE, .bufferDeviceAddress = VK_TRUE};
    VkPhysicalDeviceVulkan13Features features13 = {.shaderDemoteToHelperInvocation = VK_TRUE};
    VkPhysicalDeviceRobustness2FeaturesEXT robust = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT};
    hdt_vk f;
    open_or_skip(&f, &(hd_vk_desc){.features11 = &features11,
                                   .features12 = &features12,
                                   .features13 = &features13,
                                   .device_next = &robust});
    small_frame frame = {0};
    cr_assert_eq(hd_graph_create(NULL, &frame.graph), HD_OK);
    cr_expect_eq(run_small(f.vk, &frame, 2), HD_OK);
    hdt_vk_close(&f);
    hd_graph_destroy(frame.graph);
}

static PFN_vkGetInstanceProcAddr real_instance_proc;
static PFN_vkGetPhysicalDeviceFeatures2 real_features;
static PFN_vkGetPhysicalDeviceProperties real_properties;
static int lacking;

static void VKAPI_PTR fewer_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features)
{
    real_features(device, features);
    for (VkBaseOutStructure *next = features->pNext; next; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES && lacking == 1)
            ((VkPhysicalDeviceVulkan12Features *)next)->timelineSemaphore = VK_FALSE;
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES && lacking == 2)
            ((VkPhysicalDeviceVulkan13Features *)next)->synchronization2 = VK_FALSE;
    }
}

static void VKAPI_PTR older(VkPhysicalDevice device, VkPhysicalDeviceProperties *properties)
{
    real_properties(device, properties);
    if (lacking == 3)
        properties->apiVersion = VK_API_VERSION_1_1;
}

static PFN_vkVoidFunction VKAPI_PTR lacking_loader(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction real = real_instance_proc(instance, name);
    if (strcmp(name, "vkGetPhysicalDeviceFeatures2") == 0) {
        real_features = (PFN_vkGetPhysicalDeviceFeatures2)real;
        return (PFN_vkVoidFunction)fewer_features;
    }
    if (strcmp(name, "vkGetPhysicalDeviceProperties") == 0) {
        real_properties = (PFN_vkGetPhysicalDeviceProperties)real;
        return (PFN_vkVoidFunction)older;
    }
    return real;
}

Test(vk, too_little_device)
{
    hdt_vk f;
    open_or_skip(&f, NULL);
    real_instance_proc = f.info.get_instance_proc;
    cr_expect_eq(hdt_vk_close(&f), 0);
    const char *named[] = {NULL, "timelineSemaphore", "synchronization2", "1.1"};
    for (lacking = 1; lacking <= 3; lacking++) {
        char text[1024] = "";
        hd_vk *vk;
        hd_vk_desc desc = {.get_instance_proc = lacking_loader, .log = {keep_text, text}};
        cr_expect_eq(hd_vk_create(&desc, &vk), HD_MISSING_FEATURE);
        cr_expect(strstr(text, named[lacking]), "the log names %s: %s", named[lacking], text);
    }
}

/* ---- what may fail later ---- */

Test(vk, bad_frames)
{
    hdt_vk f;
    open_or_skip(&f, NULL);
    hd_graph *g;
    const hd_plan *plan;
    cr_assert_eq(hd_graph_create(NULL, &g), HD_OK);

    hd_resource import = hd_graph_import(g, &(hd_import_desc){.name = "mine", .bytes = 64});
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .uses = HD_USES({import, HD_TRANSFER_DST})});
    cr_assert_eq(hd_vk_compile(f.vk, g, NULL, &plan), HD_OK);
    cr_expect_eq(hd_vk_execute(f.vk, g, plan), HD_INVALID_ARGUMENT, "an import without a handle");

    hd_graph_begin(g);
    cr_expect_eq(hd_vk_execute(f.vk, g, plan), HD_INVALID_ARGUMENT, "another declaration");

    hd_resource huge = hd_graph_image(g, &(hd_image_desc){.width = 1 << 20, .height = 1 << 20, .format = 37});
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_GFX, .root = true, .uses = HD_USES({huge, HD_COLOR_WRITE})});
    cr_expect_eq(hd_vk_frame(f.vk, g), HD_UNSUPPORTED);

    hd_graph_begin(g);
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_GFX, .root = true, .uses = HD_USES({huge, HD_COLOR_WRITE})});
    cr_expect_eq(hd_vk_frame(f.vk, g), HD_BAD_HANDLE);

    cr_expect_eq(hd_vk_execute(f.vk, NULL, plan), HD_INVALID_ARGUMENT);
    small_frame frame = {.graph = g};
    cr_expect_eq(run_small(f.vk, &frame, 3), HD_OK, "good frames go on");
    cr_expect_eq(hd_vk_wait(f.vk), HD_OK);
    cr_expect_eq(frame.host_runs, 3);
    cr_expect_eq(hdt_vk_close(&f), 0);
    hd_graph_destroy(g);
}

Test(vk, submit_fails, .timeout = 60)
{
    require_device();
    for (unsigned k = 1; k < 8; k++) {
        hd_vk *vk;
        memset(&hdt_vk_hooks, 0, sizeof(hdt_vk_hooks));
        cr_assert_eq(hd_vk_create(&(hd_vk_desc){.get_instance_proc = hdt_vk_hooked}, &vk), HD_OK);
        small_frame frame = {0};
        cr_assert_eq(hd_graph_create(NULL, &frame.graph), HD_OK);
        hdt_vk_hooks.failure = k % 2 ? VK_ERROR_DEVICE_LOST : VK_ERROR_OUT_OF_DEVICE_MEMORY;
        hd_result expect = k % 2 ? HD_DEVICE_LOST : HD_OUT_OF_DEVICE_MEMORY;
        atomic_store(&hdt_vk_hooks.fail_submit, k);
        hd_result result = run_small(vk, &frame, 10);
        cr_expect_eq(result, expect, "submit %u: %s", k, hd_result_name(result));
        atomic_store(&hdt_vk_hooks.fail_submit, 0);
        if (expect == HD_DEVICE_LOST) {
            cr_expect_eq(run_small(vk, &frame, 1), HD_DEVICE_LOST);
            cr_expect_eq(hd_vk_wait(vk), HD_DEVICE_LOST);
        }
        hd_vk_destroy(vk);
        hd_graph_destroy(frame.graph);
    }
}

Test(vk, allocation_failures, .timeout = 120)
{
    require_device();
    for (uint64_t k = 1;; k++) {
        hdt_limited limited = {.fail_at = k, .fail_count = 1};
        hd_vk *vk = NULL;
        small_frame frame = {0};
        hd_jobs *jobs = NULL;
        hd_allocator allocator = hdt_limited_allocator(&limited);
        hd_result result = hd_graph_create(&(hd_graph_desc){.allocator = allocator}, &frame.graph);
        if (result == HD_OK && k % 2) /* recorded on workers, and on the caller */
            result = hd_jobs_create(&(hd_jobs_desc){.worker_count = 2, .allocator = allocator}, &jobs);
        if (result == HD_OK)
            result = hd_vk_create(&(hd_vk_desc){.allocator = allocator, .jobs = jobs}, &vk);
        if (result == HD_OK) {
            result = run_small(vk, &frame, 3);
            if (result == HD_OUT_OF_MEMORY) /* it was the only one to fail */
                cr_expect_eq(run_small(vk, &frame, 3), HD_OK, "allocation %d: no frame after it", (int)k);
        }
        hd_vk_destroy(vk);
        hd_graph_destroy(frame.graph);
        hd_jobs_destroy(jobs);
        cr_assert(limited.out == 0 && limited.bytes == 0, "allocation %d: leak", (int)k);
        cr_assert_eq(limited.wrong, 0, "allocation %d: wrong free", (int)k);
        if (limited.made < k) {
            cr_assert_eq(result, HD_OK, "allocation %d, which was never made: %s", (int)k, hd_result_name(result));
            cr_assert(k > 10, "the case allocates less than it is known to");
            break;
        }
        cr_assert(result == HD_OUT_OF_MEMORY || result == HD_OK, "allocation %d gave %s", (int)k,
                  hd_result_name(result));
    }
}
