#include <criterion/criterion.h>

#include <stdlib.h>

#include "random.h"
#include "vk_frame.h"
#include "stub_driver.h"
#include "vk_fixture.h"
#include "workloads.h"

/* How plans are cut into what is recorded side by side, without recording it: every command stands in one batch, in the
 * plan's order, every pass of a batch with strands in these, each part once; costs are shared out. HEDDLE_SEED replays
 * a seed. */

static void nothing(hd_recorder *recorder, void *user)
{
    (void)recorder;
    (void)user;
}

/* A chain of passes that go on with one attachment, so that they share a scope, some of them split. */
static void declare_chain(hd_graph *g, uint64_t *random)
{
    hd_graph_begin(g);
    uint32_t chains = 1 + hdt_below(random, 4);
    for (uint32_t c = 0; c < chains; c++) {
        hd_resource image = hd_graph_image(g, &(hd_image_desc){.width = 8, .height = 8, .format = VK_FORMAT_R8_UNORM});
        uint32_t passes = 1 + hdt_below(random, 30);
        for (uint32_t p = 0; p < passes; p++)
            hd_graph_pass(g, &(hd_pass_desc){.root = true,
                                             .record = nothing,
                                             .cost_us = (float)(1 + hdt_below(random, 40)),
                                             .splits = hdt_below(random, 4) ? 0 : hdt_below(random, 9),
                                             .uses = HD_USES({image, p ? HD_COLOR_RW : HD_COLOR_WRITE})});
        hd_resource words = hd_graph_buffer(g, &(hd_buffer_desc){.bytes = 64});
        hd_graph_pass(g,
                      &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                      .root = true,
                                      .record = nothing,
                                      .splits = hdt_below(random, 3),
                                      .uses = HD_USES({image, HD_SAMPLED_COMPUTE}, {words, HD_STORAGE_WRITE_COMPUTE})});
    }
}

typedef struct counted {
    uint32_t *passes; /* by command: parts that are recorded in strands */
    uint32_t faults;
} counted;

static void count_strand(const hdi_vk_frame *frame, uint32_t s, counted *out)
{
    const hdi_vk_strand *strand = &frame->strands[s];
    const hdi_vk_batch *batch = &frame->batches[strand->batch];
    uint32_t end = strand->command_begin + strand->command_count;
    out->faults += s < batch->strand_begin || s >= batch->strand_begin + batch->strand_count;
    out->faults += strand->command_begin < batch->command_begin || end > batch->command_begin + batch->command_count;
    out->faults += strand->part_count != 0 && (strand->command_count != 1 || strand->part >= strand->part_count);
    if (strand->scope != HD_NONE) {
        const hd_plan_scope *scope = &frame->plan.scopes[strand->scope];
        out->faults +=
            strand->command_begin < scope->command_begin || end > scope->command_begin + scope->command_count;
    }
    if (s > batch->strand_begin) {
        const hdi_vk_strand *before = strand - 1;
        bool next_part = before->command_begin == strand->command_begin && before->part + 1 == strand->part;
        out->faults += !next_part && before->command_begin + before->command_count > strand->command_begin;
    }
    for (uint32_t c = strand->command_begin; c < end; c++) {
        uint32_t splits = frame->decl.pass_exec[frame->plan.commands[c].index].splits;
        out->faults += frame->plan.commands[c].kind != HD_COMMAND_PASS;
        out->faults += strand->part_count != (splits > 1 ? splits : 0);
        out->passes[c]++;
    }
}

/* Passes of a batch are all in strands or none is. */
static void count_batch(const hdi_vk_frame *frame, const hdi_vk_batch *batch, counted *out)
{
    for (uint32_t c = batch->command_begin; c < batch->command_begin + batch->command_count; c++) {
        const hd_plan_command *command = &frame->plan.commands[c];
        uint32_t splits = command->kind == HD_COMMAND_PASS ? frame->decl.pass_exec[command->index].splits : 0;
        uint32_t expect = command->kind != HD_COMMAND_PASS || batch->strand_count == 0 ? 0 : splits > 1 ? splits : 1;
        out->faults += out->passes[c] != expect;
        out->faults += splits > 1 && batch->strand_count == 0;
    }
}

static float cost_of(const hdi_vk_frame *frame, uint32_t job)
{
    return job < frame->batch_count ? frame->batches[job].cost : frame->strands[job - frame->batch_count].cost;
}

static uint32_t check_cut(const hdi_vk_frame *frame, uint32_t workers)
{
    const hd_plan_view *plan = &frame->plan;
    counted count = {.passes = calloc(plan->command_count + 1, sizeof(uint32_t))};
    cr_assert_not_null(count.passes);
    uint8_t *seen = calloc(frame->batch_count + frame->strand_count + 1, 1);
    cr_assert_not_null(seen);
    for (uint32_t s = 0; s < plan->submit_count; s++) {
        uint32_t at = plan->submits[s].command_begin, begin = frame->submit_batch_begin[s];
        if (plan->queues[plan->submits[s].queue].kind == HD_QUEUE_HOST)
            continue;
        for (uint32_t b = begin; b < frame->submit_batch_begin[s + 1]; b++) {
            count.faults += frame->batches[b].submit != s || frame->batches[b].command_begin != at;
            at += frame->batches[b].command_count;
        }
        count.faults += at != plan->submits[s].command_begin + plan->submits[s].command_count;
        count.faults += workers == 1 && frame->submit_batch_begin[s + 1] - begin > 1;
    }
    for (uint32_t s = 0; s < frame->strand_count; s++)
        count_strand(frame, s, &count);
    for (uint32_t b = 0; b < frame->batch_count && workers > 1; b++)
        count_batch(frame, &frame->batches[b], &count);
    for (uint32_t j = 0; j < frame->job_count; j++) {
        uint32_t job = frame->jobs[j];
        count.faults += job >= frame->batch_count + frame->strand_count || seen[job]++;
        count.faults += job < frame->batch_count && frame->batches[job].strand_count != 0;
        count.faults += workers > 1 && j > 0 && cost_of(frame, frame->jobs[j - 1]) < cost_of(frame, job);
    }
    for (uint32_t b = 0; b < frame->batch_count; b++)
        count.faults += frame->batches[b].strand_count == 0 && !seen[b];
    for (uint32_t s = 0; s < frame->strand_count; s++)
        count.faults += !seen[frame->batch_count + s];
    free(count.passes);
    free(seen);
    return count.faults;
}

static void cut(hd_vk *vk, hd_graph *graph, uint32_t workers, uint64_t seed)
{
    const hd_plan *plan;
    cr_assert_eq(hd_vk_compile(vk, graph, NULL, &plan), HD_OK, "HEDDLE_SEED=%llu: %s", (unsigned long long)seed,
                 hd_graph_error(graph)->text);
    hdi_vk_slot *slot = &vk->slots[0];
    hdi_arena_reset(&slot->arena);
    hdi_vk_frame frame = {
        .vk = vk, .slot = slot, .graph = graph, .decl = hdi_graph_decl(graph), .plan = hd_plan_read(plan)};
    cr_assert_eq(hdi_vk_keep(&frame, plan), HD_OK);
    hdi_vk_find_ends(&frame);
    frame.join_values = HDI_ARENA_ZEROED(&slot->arena, uint64_t, (size_t)frame.plan.submit_count * HD_MAX_QUEUES);
    cr_assert_not_null(frame.join_values);
    cr_assert_eq(hdi_vk_cut(&frame), HD_OK);
    uint32_t faults = check_cut(&frame, workers);
    cr_expect_eq(faults, 0, "HEDDLE_SEED=%llu: %u faults with %u workers", (unsigned long long)seed, faults, workers);
}

Test(vk_cut, random_plans, .timeout = 60)
{
    static const uint32_t workers[] = {1, 2, 3, 16};
    uint64_t base = hdt_seed();
    for (uint32_t w = 0; w < 4; w++) {
        hd_jobs *jobs;
        hd_vk *vk;
        hd_graph *graph;
        cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = workers[w]}, &jobs), HD_OK);
        hd_vk_desc desc = hdb_stub_desc(3);
        desc.jobs = jobs;
        desc.log = hdt_log();
        cr_assert_eq(hd_vk_create(&desc, &vk), HD_OK);
        cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
        for (uint32_t i = 0; i < (getenv("HEDDLE_SEED") ? 1 : 60); i++) {
            uint64_t random = base + i;
            declare_chain(graph, &random);
            cut(vk, graph, workers[w], base + i);
            hdb_workload *workload = hdb_workload_make(i % HDB_FAMILY_COUNT, 100, base + i, true);
            cr_assert_not_null(workload);
            hdb_workload_record(workload, nothing);
            hdb_workload_declare(workload, graph);
            cut(vk, graph, workers[w], base + i);
            hdb_workload_free(workload);
        }
        hd_graph_destroy(graph);
        hd_vk_destroy(vk);
        hd_jobs_destroy(jobs);
        hdb_stub_clear();
    }
}

/* Passes of like cost in one scope, and a split one, on four workers: no job is much dearer than its share. */
Test(vk_cut, costs_are_shared_out)
{
    enum { PASSES = 48, WORKERS = 4, SPLITS = 16 };
    hd_jobs *jobs;
    hd_vk *vk;
    hd_graph *g;
    const hd_plan *plan;
    cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = WORKERS}, &jobs), HD_OK);
    hd_vk_desc desc = hdb_stub_desc(1);
    desc.jobs = jobs;
    cr_assert_eq(hd_vk_create(&desc, &vk), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &g), HD_OK);
    hd_graph_begin(g);
    hd_resource image = hd_graph_image(g, &(hd_image_desc){.width = 8, .height = 8, .format = VK_FORMAT_R8_UNORM});
    for (uint32_t p = 0; p < PASSES; p++)
        hd_graph_pass(g, &(hd_pass_desc){.root = true,
                                         .cost_us = p == PASSES / 2 ? 480.0f : 10.0f,
                                         .splits = p == PASSES / 2 ? SPLITS : 0,
                                         .uses = HD_USES({image, p ? HD_COLOR_RW : HD_COLOR_WRITE})});
    cr_assert_eq(hd_vk_compile(vk, g, NULL, &plan), HD_OK);
    hdi_vk_frame frame = {
        .vk = vk, .slot = &vk->slots[0], .graph = g, .decl = hdi_graph_decl(g), .plan = hd_plan_read(plan)};
    cr_assert_eq(frame.plan.scope_count, 1);
    cr_assert_eq(hdi_vk_keep(&frame, plan), HD_OK);
    hdi_vk_find_ends(&frame);
    frame.join_values = HDI_ARENA_ZEROED(&frame.slot->arena, uint64_t, HD_MAX_QUEUES);
    cr_assert_eq(hdi_vk_cut(&frame), HD_OK);
    float sum = 0.0f, most = 0.0f;
    for (uint32_t s = 0; s < frame.strand_count; s++) {
        sum += frame.strands[s].cost;
        most = frame.strands[s].cost > most ? frame.strands[s].cost : most;
    }
    cr_expect_float_eq(sum, 480.0f + 10.0f * (PASSES - 1), 0.5f);
    cr_expect(most <= sum / (3 * WORKERS) + 0.5f, "a strand of cost %g", (double)most);
    cr_expect(frame.strand_count >= SPLITS + 5);
    hd_graph_destroy(g);
    hd_vk_destroy(vk);
    hd_jobs_destroy(jobs);
}
