#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "random_graph.h"
#include "run_state.h"
#include "vk_fixture.h"
#include "workloads.h"

/* Graphs executed for real: every pass writes, and checks what it reads. On one queue, and on the test device with
 * three families that takes submits in any order that the semaphores allow. Plans that are broken on purpose are in
 * test_mutants.c. HEDDLE_SEED replays a random graph. */

/* Each access that the compiler's table has is one of `run` as well. A sum in color_rw is checked by its next reader,
 * and a picture that is presented by none. */
Test(run, every_access_has_its_actions)
{
    for (uint32_t a = 1; a < HD_ACCESS_COUNT; a++) {
        const run_access *access = run_access_of(a);
        bool checked = hdi_access_table[a].reads && a != HD_COLOR_RW && a != HD_PRESENT;
        cr_expect_eq(access->check != NULL, checked, "%s", hdi_access_table[a].name);
        cr_expect_eq(access->write != NULL, hdi_access_table[a].writes != 0, "%s", hdi_access_table[a].name);
    }
}

static char first_wrong[400];

static void note(const char *text, void *user)
{
    (void)user;
    if (!first_wrong[0])
        snprintf(first_wrong, sizeof(first_wrong), "%s", text);
}

static hd_result execute(run_desc desc, uint64_t order, run_report *report, char *error)
{
    static const hd_queue_kind one[] = {HD_QUEUE_GFX};
    hdt_vk_keep_libraries();
    first_wrong[0] = 0;
    desc.check = true;
    desc.wrong = note;
    hdt_vk_three_families(true, order);
    desc.vk.get_instance_proc = hdt_vk_hooked;
    if (!order) {
        desc.vk.queue_kinds = one;
        desc.vk.queue_kind_count = 1;
    }
    hd_result result = run_graph(&desc, report, error, 512);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device: %s", error);
    return result;
}

static hd_graph *make_workload(uint32_t family, uint32_t pass_count, uint64_t seed)
{
    hd_graph *graph;
    hdb_workload *workload = hdb_workload_make(family, pass_count, seed, true);
    cr_assert_not_null(workload);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hdb_workload_declare(workload, graph);
    cr_assert_eq(hd_graph_error(graph)->result, HD_OK);
    hdb_workload_free(workload);
    return graph;
}

static void run_families(uint64_t order)
{
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++) {
        char error[512];
        run_report report;
        hd_graph *graph = make_workload(family, 50, 1);
        unsigned before = hdt_vk_family_counts().overtaken;
        run_desc desc = {.graph = graph, .frames = 9, .scale = 16};
        hd_result result = execute(desc, order ? order + family : 0, &report, error);
        cr_assert_eq(result, HD_OK, "%s: %s", hdb_family_names[family], error);
        cr_expect_eq(report.wrong, 0, "%s: %s", hdb_family_names[family], first_wrong);
        cr_expect_gt(report.checks, 90, "%s", hdb_family_names[family]);
        cr_expect_lt(report.unchecked, report.checks / 10, "%s", hdb_family_names[family]);
        printf("%s: %llu checks, %u submits overtook\n", hdb_family_names[family], (unsigned long long)report.checks,
               hdt_vk_family_counts().overtaken - before);
        run_report_free(&report);
        hd_graph_destroy(graph);
    }
    cr_expect_eq(hdt_vk_family_counts().faults, 0);
}

Test(run, families_on_one_queue, .timeout = 100)
{
    run_families(0);
}

Test(run, families_on_three_queues_in_random_order, .timeout = 100)
{
    run_families(77);
}

Test(run, random_graphs_in_random_order, .timeout = 100)
{
    uint64_t seed = 1, count = 40;
    uint32_t done = 0, refused = 0;
    uint64_t checks = 0;
    hdt_seeds(&seed, &count);
    for (uint64_t s = seed; s < seed + count; s++) {
        char error[512];
        hd_graph *graph;
        run_report report;
        cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
        hdt_random_executable_graph(graph, s, 24);
        run_desc desc = {.graph = graph, .frames = 9, .scale = 4};
        hd_result result = execute(desc, s, &report, error);
        if (result == HD_UNSUPPORTED) {
            refused++;
        } else {
            cr_assert_eq(result, HD_OK, "HEDDLE_SEED=%llu: %s", (unsigned long long)s, error);
            cr_expect_eq(report.wrong, 0, "HEDDLE_SEED=%llu: %s", (unsigned long long)s, first_wrong);
            done++;
            checks += report.checks;
            run_report_free(&report);
        }
        hd_graph_destroy(graph);
    }
    cr_expect_eq(hdt_vk_family_counts().faults, 0);
    printf("random: %u graphs, %u refused by the device, %llu checks, %u submits overtook\n", done, refused,
           (unsigned long long)checks, hdt_vk_family_counts().overtaken);
    if (count > 1)
        cr_assert_gt(done, refused);
}

/* What a history is of may be used by no pass: the history holds on to what it held, which is known. */
Test(run, histories_that_frames_skip)
{
    static const char text[] = "graph skipped\nimage 0 64 64 rgba8 2 1\nhistory 1 0\nimage 2 64 64 rgba8 1 1 external\n"
                               "pass 0 compute\nuse 0 1 sampled_compute 0 1 0 1\nuse 0 2 storage_write_compute\n";
    char error[512] = "";
    hd_graph *graph;
    run_report report;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hd_graph_read_fgt(graph, text, strlen(text), "f.fgt", error, sizeof(error)), HD_OK, "%s", error);
    cr_assert_eq(execute((run_desc){.graph = graph, .frames = 5}, 0, &report, error), HD_OK, "%s", error);
    cr_expect_eq(report.wrong, 0, "%s", first_wrong);
    cr_expect_geq(report.checks, 5);
    cr_expect_eq(report.unchecked, 0);
    run_report_free(&report);
    hd_graph_destroy(graph);
}

/* Storage and sampling in graphics stages, of an image and of a buffer: all that is read is checked. */
Test(run, storage_and_sampling_in_graphics_stages)
{
    static const char text[] = "graph stages\nimage 0 96 64 rgba8 1 1\nbuffer 1 70000\nbuffer 2 4096\n"
                               "pass 0 gfx\nuse 0 0 storage_write_graphics\nuse 0 1 storage_write_graphics\n"
                               "pass 1 gfx root\nuse 1 0 sampled_vertex\nuse 1 1 storage_read_graphics\n"
                               "pass 2 gfx root\nuse 2 0 storage_rw_graphics\nuse 2 1 storage_rw_graphics\n"
                               "pass 3 gfx root\nuse 3 0 sampled_fragment\nuse 3 2 storage_write_graphics\n"
                               "pass 4 gfx root\nuse 4 0 storage_read_graphics\nuse 4 1 storage_read_graphics\n"
                               "pass 5 compute root\nuse 5 2 storage_read_compute\n";
    char error[512] = "";
    hd_graph *graph;
    run_report report;
    for (uint64_t order = 0; order < 2; order++) {
        cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
        cr_assert_eq(hd_graph_read_fgt(graph, text, strlen(text), "f.fgt", error, sizeof(error)), HD_OK, "%s", error);
        cr_assert_eq(execute((run_desc){.graph = graph, .frames = 5, .scale = 1}, order, &report, error), HD_OK, "%s",
                     error);
        cr_expect_eq(report.wrong, 0, "%s", first_wrong);
        cr_expect_eq(report.checks, 5 * 8, "%llu checks", (unsigned long long)report.checks);
        cr_expect_eq(report.unchecked, 0);
        run_report_free(&report);
        hd_graph_destroy(graph);
    }
}

/* ---- layouts of descriptors ---- */

static PFN_vkGetDeviceProcAddr real_device_proc;
static PFN_vkUpdateDescriptorSets real_update;
static uint32_t sampled_as[2]; /* in the layout of colors, in that of depth that is tested too */

static void VKAPI_PTR update(VkDevice device, uint32_t count, const VkWriteDescriptorSet *writes, uint32_t copy_count,
                             const VkCopyDescriptorSet *copies)
{
    for (uint32_t w = 0; w < count; w++) {
        if (writes[w].descriptorType == VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE)
            sampled_as[writes[w].pImageInfo->imageLayout == VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL]++;
    }
    real_update(device, count, writes, copy_count, copies);
}

static PFN_vkVoidFunction VKAPI_PTR looking_device_proc(VkDevice device, const char *name)
{
    PFN_vkVoidFunction real = real_device_proc(device, name);
    if (strcmp(name, "vkUpdateDescriptorSets") != 0)
        return real;
    real_update = (PFN_vkUpdateDescriptorSets)real;
    return (PFN_vkVoidFunction)update;
}

static PFN_vkVoidFunction VKAPI_PTR looking(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction real = hdt_vk_hooked(instance, name);
    if (!real || strcmp(name, "vkGetDeviceProcAddr") != 0)
        return real;
    real_device_proc = (PFN_vkGetDeviceProcAddr)real;
    return (PFN_vkVoidFunction)looking_device_proc;
}

/* Depth of four layers is written, then one pass samples some layers and tests others. */
static void sample_and_test(hd_range sampled, hd_range tested)
{
    static const hd_queue_kind one[] = {HD_QUEUE_GFX};
    char error[512];
    hd_graph *graph;
    run_report report;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hd_graph_begin(graph);
    hd_resource depth = hd_graph_image(
        graph, &(hd_image_desc){.width = 32, .height = 32, .layers = 4, .format = VK_FORMAT_D32_SFLOAT});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_GFX, .uses = HD_USES({depth, HD_DEPTH_WRITE})});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_GFX,
                                         .root = true,
                                         .uses = HD_USES({depth, HD_SAMPLED_GRAPHICS, .range = sampled},
                                                         {depth, HD_DEPTH_READ, .range = tested})});
    hdt_vk_keep_libraries();
    hdt_vk_three_families(false, 0);
    first_wrong[0] = 0;
    sampled_as[0] = sampled_as[1] = 0;
    hd_result result = run_graph(&(run_desc){.graph = graph,
                                             .frames = 1,
                                             .scale = 1,
                                             .check = true,
                                             .wrong = note,
                                             .vk = {.get_instance_proc = looking,
                                                    .queue_kinds = one,
                                                    .queue_kind_count = 1}},
                                 &report, error, sizeof(error));
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device: %s", error);
    cr_assert_eq(result, HD_OK, "%s", error);
    cr_expect_eq(report.wrong, 0, "%s", first_wrong);
    run_report_free(&report);
    hd_graph_destroy(graph);
}

Test(run, sampled_depth_is_in_the_layout_of_its_layers)
{
    const hd_range low = {.mip_count = 1, .layer_base = 0, .layer_count = 2},
                   high = {.mip_count = 1, .layer_base = 2, .layer_count = 2},
                   middle = {.mip_count = 1, .layer_base = 1, .layer_count = 2};
    sample_and_test(low, high);
    cr_expect(sampled_as[0] == 2 && sampled_as[1] == 0, "%u and %u", sampled_as[0], sampled_as[1]);
    sample_and_test(low, low);
    cr_expect(sampled_as[0] == 0 && sampled_as[1] == 2, "%u and %u", sampled_as[0], sampled_as[1]);
    sample_and_test(middle, high);
    cr_expect(sampled_as[0] == 1 && sampled_as[1] == 1, "%u and %u", sampled_as[0], sampled_as[1]);
}

/* A frame that is refused leaves no values behind, and none are looked at: copies of depth without graphics. */
Test(run, a_refused_frame_has_no_wrong_values)
{
    static const hd_queue_kind kinds[] = {HD_QUEUE_COMPUTE, HD_QUEUE_TRANSFER};
    char error[512];
    hd_graph *graph;
    run_report report;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hd_graph_begin(graph);
    hd_resource depth =
        hd_graph_image(graph, &(hd_image_desc){.width = 32, .height = 32, .format = VK_FORMAT_D32_SFLOAT});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .uses = HD_USES({depth, HD_TRANSFER_DST})});
    hd_graph_pass(graph,
                  &(hd_pass_desc){.type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({depth, HD_TRANSFER_SRC})});
    run_desc desc = {.graph = graph,
                     .frames = 3,
                     .scale = 1,
                     .vk = {.queue_kinds = kinds, .queue_kind_count = 2}};
    hd_result result = execute(desc, 1, &report, error);
    cr_expect_neq(result, HD_OK);
    cr_expect_neq(error[0], 0);
    cr_expect_str_empty(first_wrong, "%s (%s)", first_wrong, error);
    hd_graph_destroy(graph);
}
