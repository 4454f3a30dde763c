#include <criterion/criterion.h>

#include "workloads.h"

/* The price of a hand-off between queues: what it makes of schedules, and how frames are counted with it. */

static const hd_queue_desc three[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}};

static const hd_plan *compile(hd_graph *graph, float handoff_us, uint64_t budget, hd_plan_stats *stats)
{
    const hd_plan *plan = NULL;
    hd_compile_desc desc = {.queues = three,
                            .queue_count = 3,
                            .handoff_us = handoff_us,
                            .memory_budget = budget,
                            .cache = HD_CACHE_OFF};
    cr_assert_eq(hd_graph_compile(graph, &desc, &plan), HD_OK);
    cr_assert_eq(hd_plan_verify(graph, plan, NULL), HD_OK);
    cr_assert_eq(hd_plan_stats_get(graph, plan, handoff_us, stats), HD_OK);
    return plan;
}

/* Declares frame after frame in one graph. */
static hd_plan_stats stats_of(const char *family, uint32_t passes, float handoff_us, uint64_t budget)
{
    hd_graph *graph;
    hd_plan_stats stats;
    hdb_workload *workload = hdb_workload_make(hdb_family_index(family), passes, 1, true);
    cr_assert_not_null(workload);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hdb_workload_declare(workload, graph);
    compile(graph, handoff_us, budget, &stats);
    hd_graph_destroy(graph);
    hdb_workload_free(workload);
    return stats;
}

/* The queue that runs a pass. */
static uint32_t queue_of(const hd_plan *plan, uint32_t pass)
{
    hd_plan_view view = hd_plan_read(plan);
    for (uint32_t s = 0; s < view.submit_count; s++) {
        const hd_plan_submit *submit = &view.submits[s];
        for (uint32_t c = 0; c < submit->command_count; c++) {
            hd_plan_command command = view.commands[submit->command_begin + c];
            if (command.kind == HD_COMMAND_PASS && command.index == pass)
                return submit->queue;
        }
    }
    return HD_NONE;
}

/* ---- how frames are counted ---- */

/* A pass on gfx, one on compute behind it, and one on gfx that reads both. */
Test(handoff, each_wait_is_met_a_price_after_its_signal)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hd_graph_begin(graph);
    hd_resource a = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 256});
    hd_resource b = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 256});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 100,
                                         .uses = HD_USES({a, HD_STORAGE_WRITE_COMPUTE})});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 30,
                                         .uses = HD_USES({a, HD_STORAGE_READ_COMPUTE}, {b, HD_STORAGE_WRITE_COMPUTE})});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 10, .root = true,
                                         .uses = HD_USES({a, HD_STORAGE_READ_COMPUTE}, {b, HD_STORAGE_READ_COMPUTE})});
    hd_plan_stats stats;
    const hd_plan *plan = compile(graph, 0, 0, &stats);
    cr_expect_eq(stats.semaphore_waits, 2u);
    cr_expect_float_eq(stats.makespan_us, 140.0, 1e-9);
    cr_expect_float_eq(stats.makespan_priced_us, 152.0, 1e-9, "two waits at 6 us, not %f", stats.makespan_priced_us);
    cr_assert_eq(hd_plan_stats_get(graph, plan, 50, &stats), HD_OK);
    cr_expect_float_eq(stats.makespan_priced_us, 240.0, 1e-9);
    cr_expect_eq(hd_plan_stats_get(graph, plan, -1, &stats), HD_INVALID_ARGUMENT);
    hd_graph_destroy(graph);
}

/* ---- what a price does ---- */

Test(handoff, at_a_second_all_that_may_runs_on_one_queue)
{
    static const char *const families[] = {"deferred", "layered", "async"};
    for (uint32_t f = 0; f < 3; f++) {
        for (uint32_t passes = 10; passes <= 400; passes = passes * 3 + 1) {
            hd_plan_stats stats = stats_of(families[f], passes, 1e6f, 0);
            cr_expect_eq(stats.semaphore_waits, 0u, "%s %u: %u waits", families[f], passes, stats.semaphore_waits);
            cr_expect_eq(stats.submits, 1u, "%s %u: %u submits", families[f], passes, stats.submits);
        }
    }
}

/* Each is dearer than the one before; waits that the schedule did not ask for, as for layouts, may go up by a few. */
Test(handoff, dearer_ones_are_fewer)
{
    static const float prices[] = {0.01f, 6, 50, 400, 3000};
    static const char *const families[] = {"deferred", "layered", "async", "temporal"};
    for (uint32_t f = 0; f < 4; f++) {
        uint32_t before = UINT32_MAX / 2, first = 0;
        for (uint32_t k = 0; k < 5; k++) {
            uint32_t waits = stats_of(families[f], 200, prices[k], 0).semaphore_waits;
            cr_expect_leq(waits, before + before / 10 + 2, "%s at %g us: %u waits, %u before", families[f],
                          (double)prices[k], waits, before);
            first = k ? first : waits;
            before = waits;
        }
        cr_expect_leq(2 * before, first, "%s: %u waits at the least price, %u at the most", families[f], first, before);
    }
}

/* No price makes the frame longer, that price counted, than all on one queue. */
Test(handoff, they_cost_less_than_they_bring)
{
    static const float prices[] = {1, 6, 30, 100, 300, 1000, 10000};
    static const char *const families[] = {"deferred", "layered", "async"};
    for (uint32_t f = 0; f < 3; f++) {
        for (uint32_t passes = 10; passes <= 310; passes *= 5) {
            double alone = stats_of(families[f], passes, 1e6f, 0).makespan_us;
            for (uint32_t k = 0; k < 7; k++) {
                hd_plan_stats stats = stats_of(families[f], passes, prices[k], 0);
                cr_expect_leq(stats.makespan_priced_us, alone, "%s %u at %g us", families[f], passes,
                              (double)prices[k]);
            }
        }
    }
}

/* ---- as many as are worth it ---- */

Test(handoff, long_frames_have_few)
{
    hd_plan_stats deferred = stats_of("deferred", 1000, 0, 0), async = stats_of("async", 1000, 0, 0);
    hd_plan_stats roomy = stats_of("deferred", 1000, 0, 4509715660 /* 4.2 GiB */);
    cr_expect_leq(deferred.semaphore_waits, 182u, "%u waits", deferred.semaphore_waits);
    cr_expect_leq(deferred.makespan_us, 1.03 * 76160.1);
    cr_expect_leq(async.semaphore_waits, 111u, "%u waits", async.semaphore_waits);
    cr_expect_leq(async.makespan_us, 1.03 * 107199.3);
    cr_expect_leq(roomy.semaphore_waits, 40u, "%u waits", roomy.semaphore_waits);
}

/* ---- uploads ---- */

/* An upload of some cost beside passes that do not need it, and one that does. */
static uint32_t queue_of_upload(float upload_us, float handoff_us)
{
    enum { PASSES = 8 };
    hd_graph *graph;
    hd_plan_stats stats;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hd_graph_begin(graph);
    hd_resource data = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 1 << 20}), image = {0};
    hd_pass upload = hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .cost_us = upload_us,
                                                          .uses = HD_USES({data, HD_TRANSFER_DST})});
    for (uint32_t i = 0; i < PASSES; i++) {
        hd_resource next = hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37});
        bool last = i == PASSES - 1;
        hd_use uses[] = {{next, HD_COLOR_WRITE}, {image, HD_SAMPLED_GRAPHICS}, {data, HD_UNIFORM_READ}};
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_GFX, .cost_us = 100, .root = last, .uses = uses,
                                             .use_count = last ? 3 : i ? 2 : 1});
        image = next;
    }
    const hd_plan *plan = compile(graph, handoff_us, 0, &stats);
    uint32_t queue = queue_of(plan, hd_graph_pass_index(graph, upload));
    hd_graph_destroy(graph);
    return queue;
}

Test(handoff, uploads_go_where_they_shorten_the_frame)
{
    cr_expect_eq(queue_of_upload(200, 0), 2u, "a long one goes beside the frame");
    cr_expect_eq(queue_of_upload(200, 1e6f), 0u, "but not at any price");
    cr_expect_eq(queue_of_upload(1, 0), 0u, "one that is shorter than its hand-off stays");
}
