#include <criterion/criterion.h>

#include "limited.h"
#include "measure.h"
#include "stub_driver.h"
#include "vk_fixture.h"
#include "workloads.h"

/* Frames that declare the same as the ones before create no Vulkan object and allocate nothing. */

enum { PASSES = 300, WARM = 24, FRAMES = 40 };

static void nothing(hd_recorder *recorder, void *user)
{
    (void)recorder;
    (void)user;
}

static void steady(uint32_t family, uint32_t queues, hd_cache cache)
{
    hdb_counted counted = {0}, counted_graph = {0};
    hd_vk_desc desc = hdb_stub_desc(queues);
    desc.allocator = hdb_counted_allocator(&counted);
    desc.log = hdt_log();
    desc.frames_in_flight = 3;
    desc.memory_copies = 1 + queues % 2;
    hd_vk *vk;
    hd_graph *graph;
    cr_assert_eq(hd_vk_create(&desc, &vk), HD_OK);
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.allocator = hdb_counted_allocator(&counted_graph)}, &graph), HD_OK);
    hdb_workload *workload = hdb_workload_make(family, PASSES, 1, true);
    cr_assert_not_null(workload);
    hdb_workload_record(workload, nothing);
    uint64_t made = 0;
    unsigned objects = 0;
    for (uint32_t frame = 0; frame < WARM + FRAMES; frame++) {
        if (frame == WARM) {
            cr_assert_eq(hd_vk_wait(vk), HD_OK);
            made = counted.made + counted_graph.made;
            objects = atomic_load(&hdb_stub_state.creations);
        }
        const hd_plan *plan;
        hdb_workload_declare(workload, graph);
        cr_assert_eq(hd_vk_compile(vk, graph, &(hd_compile_desc){.merge_rendering = true, .cache = cache}, &plan),
                     HD_OK);
        cr_assert_eq(hd_vk_execute(vk, graph, plan), HD_OK);
    }
    cr_assert_eq(hd_vk_wait(vk), HD_OK);
    cr_expect_eq(counted.made + counted_graph.made, made, "%s, %u queues: %llu allocations", hdb_family_names[family],
                 queues, (unsigned long long)(counted.made + counted_graph.made - made));
    cr_expect_eq(atomic_load(&hdb_stub_state.creations), objects, "%s, %u queues: %u objects", hdb_family_names[family],
                 queues, atomic_load(&hdb_stub_state.creations) - objects);
    cr_expect(objects > 0 && made > 0);
    hd_graph_destroy(graph);
    hd_vk_destroy(vk);
    cr_expect_eq(counted.bytes, 0);
    hdb_workload_free(workload);
    hdb_stub_clear();
}

Test(vk_steady, one_queue)
{
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++)
        steady(family, 1, HD_CACHE_ON);
}

Test(vk_steady, three_queues)
{
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++)
        steady(family, 3, HD_CACHE_ON);
}

Test(vk_steady, compiled_anew)
{
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++)
        steady(family, 3, HD_CACHE_OFF);
}

/* Which worker records which pass differs from frame to frame; the pools and command buffers do not. */
Test(vk_steady, on_workers)
{
    enum { CHAINS = 6, LINKS = 20 };
    hdt_limited limited = {0};
    hd_vk_desc desc = hdb_stub_desc(3);
    desc.allocator = hdt_limited_allocator(&limited);
    desc.log = hdt_log();
    hd_vk *vk;
    hd_graph *g;
    cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = 4}, &desc.jobs), HD_OK);
    cr_assert_eq(hd_vk_create(&desc, &vk), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &g), HD_OK);
    uint64_t made = 0;
    unsigned objects = 0;
    for (uint32_t frame = 0; frame < WARM + 200; frame++) {
        if (frame == WARM) {
            made = limited.made;
            objects = atomic_load(&hdb_stub_state.creations);
        }
        hd_graph_begin(g);
        for (uint32_t i = 0; i < CHAINS * LINKS; i++) {
            static hd_resource image;
            if (i % LINKS == 0)
                image = hd_graph_image(g, &(hd_image_desc){.width = 8, .height = 8, .format = VK_FORMAT_R8_UNORM});
            hd_graph_pass(g, &(hd_pass_desc){.root = true,
                                             .record = nothing,
                                             .splits = i % 7 == 0 ? 5 : 0,
                                             .uses = HD_USES({image, i % LINKS ? HD_COLOR_RW : HD_COLOR_WRITE})});
        }
        cr_assert_eq(hd_vk_frame(vk, g), HD_OK);
    }
    cr_expect_eq(limited.made, made);
    cr_expect_eq(atomic_load(&hdb_stub_state.creations), objects);
    cr_expect(objects > 0 && made > 0);
    hd_graph_destroy(g);
    hd_vk_destroy(vk);
    hd_jobs_destroy(desc.jobs);
    cr_expect_eq(limited.out, 0);
    hdb_stub_clear();
}
