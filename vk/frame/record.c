#include "vk_device.h"
#include "vk_frame.h"
#include "vk_timing.h"

#include "alloc.h"
#include "clock.h"

/* Records the batches and strands that cut.c made of a plan. Workers take them from one list, the most expensive first.
 * The worker that records the last strand of a batch goes on with the batch, which executes them. A single worker
 * records everything in the plan's order into one command buffer a submit, all parts of a pass one after another. */

void hdi_vk_note_failure(hdi_vk_slot *slot, hd_result result)
{
    int none = HD_OK;
    atomic_compare_exchange_strong_explicit(&slot->failure, &none, (int)result, memory_order_relaxed,
                                            memory_order_relaxed);
}

/* ---- recording ---- */

/* Where a batch is in the scopes of the plan. */
typedef struct scope_cursor {
    uint32_t next;       /* scope that begins next */
    uint32_t next_begin; /* its first command; HD_NONE: there is none */
    uint32_t left;       /* passes left in the one that has begun */
    const hdi_vk_rendering *rendering;
} scope_cursor;

static void look_ahead(const hdi_vk_frame *frame, scope_cursor *at)
{
    at->next_begin = at->next < frame->plan.scope_count ? frame->plan.scopes[at->next].command_begin : HD_NONE;
}

static hd_result enter_scope(hdi_vk_frame *frame, VkCommandBuffer commands, scope_cursor *at)
{
    hd_result result = hdi_vk_begin_rendering(frame, commands, at->next, 0);
    at->rendering = &frame->kept->renderings[at->next];
    at->left = result == HD_OK ? frame->plan.scopes[at->next].command_count : 0;
    at->next++;
    look_ahead(frame, at);
    return result;
}

static void begin_label(const hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t pass)
{
    const char *name = frame->decl.pass_exec[pass].name;
    VkDebugUtilsLabelEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, .pLabelName = name};
    if (frame->vk->labels && name)
        frame->vk->fn.vkCmdBeginDebugUtilsLabelEXT(commands, &info);
}

static void end_label(const hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t pass)
{
    if (frame->vk->labels && frame->decl.pass_exec[pass].name)
        frame->vk->fn.vkCmdEndDebugUtilsLabelEXT(commands);
}

void hdi_vk_call_pass(hd_recorder *recorder, const char *name, uint32_t queue, hd_record_fn record, void *user)
{
    const hd_vk_pass_callbacks *around = &recorder->vk->pass_callbacks;
    const hd_vk_pass_info info = {.commands = recorder->commands,
                                  .pass = recorder->host ? recorder->host->pass : recorder->pass,
                                  .name = name,
                                  .queue = queue,
                                  .worker = recorder->worker,
                                  .part = recorder->part,
                                  .part_count = recorder->part_count,
                                  .frame = recorder->frame_index};
    if (around->before)
        around->before(&info, around->user);
    if (record)
        record(recorder, user);
    if (around->after)
        around->after(&info, around->user);
}

/* One call of a pass's callback. rendering: that it is in, or null. Every pass starts with the whole area as viewport
 * and scissor. */
static void record_part(hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t pass, uint32_t queue, uint32_t worker,
                        uint32_t part, uint32_t part_count, const hdi_vk_rendering *rendering)
{
    const hdi_pass_exec *exec = &frame->decl.pass_exec[pass];
    if (rendering) { /* whatever the pass before it left */
        frame->vk->fn.vkCmdSetViewport(commands, 0, 1, &rendering->viewport);
        frame->vk->fn.vkCmdSetScissor(commands, 0, 1, &rendering->info.renderArea);
    }
    const hdi_vk_observer *observer = frame->vk->observer;
    if (observer)
        observer->pass_begin(frame, commands, pass);
    hd_recorder recorder = {.frame = frame,
                            .vk = frame->vk,
                            .commands = commands,
                            .pass = pass,
                            .worker = worker,
                            .part = part,
                            .part_count = part_count,
                            .frame_index = frame->vk->frame};
    hdi_vk_call_pass(&recorder, exec->name, queue, exec->record, exec->user);
    if (observer)
        observer->pass_end(commands);
}

static hd_result record_pass(hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t command, uint32_t queue,
                             uint32_t worker, scope_cursor *at)
{
    uint32_t pass = frame->plan.commands[command].index;
    uint32_t splits = frame->decl.pass_exec[pass].splits, part_count = splits > 1 ? splits : 1;
    begin_label(frame, commands, pass);
    if (frame->slot->timed)
        hdi_vk_timing_stamp(frame, commands, queue, pass, 0);
    hd_result result = at->next_begin == command ? enter_scope(frame, commands, at) : HD_OK;
    for (uint32_t part = 0; part < part_count && result == HD_OK; part++)
        record_part(frame, commands, pass, queue, worker, part, part_count, at->left ? at->rendering : NULL);
    if (at->left && --at->left == 0)
        frame->vk->fn.vkCmdEndRendering(commands);
    if (frame->slot->timed)
        hdi_vk_timing_stamp(frame, commands, queue, pass, 1);
    end_label(frame, commands, pass);
    return result;
}

/* ---- strands ---- */

static uint32_t queue_of_batch(const hdi_vk_frame *frame, const hdi_vk_batch *batch)
{
    return frame->queue_of[frame->plan.submits[batch->submit].queue];
}

/* Timestamps of the scope's first and last pass stand around the scope, those of split passes outside of scopes around
 * the parts; these are of the passes between. */
static hd_result record_strand(hdi_vk_frame *frame, hdi_vk_strand *strand, hdi_vk_pool *pool, uint32_t worker)
{
    hd_vk *vk = frame->vk;
    const hd_plan_scope *scope = strand->scope == HD_NONE ? NULL : &frame->plan.scopes[strand->scope];
    hdi_vk_inherited inherited = {.info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const hdi_vk_rendering *rendering = scope ? &frame->kept->renderings[strand->scope] : NULL;
    if (scope)
        hdi_vk_inherit_rendering(frame, strand->scope, &inherited);
    VkCommandBuffer *commands = &strand->made.commands;
    hd_result result = hdi_vk_pool_begin(vk, pool, &inherited.info, commands);
    if (result != HD_OK)
        return result;
    uint32_t queue = queue_of_batch(frame, &frame->batches[strand->batch]), parts = strand->part_count;
    for (uint32_t c = strand->command_begin; c < strand->command_begin + strand->command_count; c++) {
        uint32_t pass = frame->plan.commands[c].index;
        bool stamps = scope && frame->slot->timed;
        begin_label(frame, *commands, pass);
        if (stamps && strand->part == 0 && c != scope->command_begin)
            hdi_vk_timing_stamp(frame, *commands, queue, pass, 0);
        record_part(frame, *commands, pass, queue, worker, strand->part, parts ? parts : 1, rendering);
        if (stamps && (parts == 0 || strand->part + 1 == parts) && c + 1 != scope->command_begin + scope->command_count)
            hdi_vk_timing_stamp(frame, *commands, queue, pass, 1);
        end_label(frame, *commands, pass);
    }
    return hdi_vk_result(vk, vk->fn.vkEndCommandBuffer(*commands), "vkEndCommandBuffer");
}

/* Executes the strands from *strand on that make up one scope, or one pass outside of all. Returns how many commands
 * these are. */
static uint32_t execute_strands(hdi_vk_frame *frame, const hdi_vk_batch *batch, uint32_t *strand, hd_result *result)
{
    enum { AT_ONCE = 32 };
    hd_vk *vk = frame->vk;
    VkCommandBuffer commands = batch->made.commands, executed[AT_ONCE];
    const hdi_vk_strand *first = &frame->strands[*strand];
    const hd_plan_scope *scope = first->scope == HD_NONE ? NULL : &frame->plan.scopes[first->scope];
    uint32_t queue = queue_of_batch(frame, batch), begin = first->command_begin;
    uint32_t end = scope ? begin + scope->command_count : begin + 1, count = 0;
    if (frame->slot->timed)
        hdi_vk_timing_stamp(frame, commands, queue, frame->plan.commands[begin].index, 0);
    if (scope)
        *result =
            hdi_vk_begin_rendering(frame, commands, first->scope, VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
    if (*result != HD_OK)
        return 0;
    for (; *strand < batch->strand_begin + batch->strand_count && frame->strands[*strand].command_begin < end;
         ++*strand) {
        if (count == AT_ONCE) {
            vk->fn.vkCmdExecuteCommands(commands, count, executed);
            count = 0;
        }
        executed[count++] = frame->strands[*strand].made.commands;
    }
    vk->fn.vkCmdExecuteCommands(commands, count, executed);
    if (scope)
        vk->fn.vkCmdEndRendering(commands);
    if (frame->slot->timed)
        hdi_vk_timing_stamp(frame, commands, queue, frame->plan.commands[end - 1].index, 1);
    return end - begin;
}

/* ---- batches ---- */

/* The semaphore of a host pass orders, but what the host wrote after the submit reaches the device only by this. */
static void show_host_writes(const hdi_vk_frame *frame, VkCommandBuffer commands)
{
    VkMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
        .srcAccessMask = VK_ACCESS_2_HOST_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
    };
    VkDependencyInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
    frame->vk->fn.vkCmdPipelineBarrier2(commands, &info);
}

/* The other way round, for what outlives the frame. */
static void show_to_host(const hdi_vk_frame *frame, VkCommandBuffer commands)
{
    VkMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
        .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT,
    };
    VkDependencyInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
    frame->vk->fn.vkCmdPipelineBarrier2(commands, &info);
}

static void join_frames(const hdi_vk_frame *frame, VkCommandBuffer commands, const hdi_vk_join *join)
{
    VkMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
        .srcStageMask = join->src_stages,
        .srcAccessMask = join->src_access,
        .dstStageMask = join->dst_stages,
        .dstAccessMask = join->dst_access,
    };
    VkDependencyInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
    frame->vk->fn.vkCmdPipelineBarrier2(commands, &info);
}

static hd_result record_commands(hdi_vk_frame *frame, hdi_vk_batch *batch, uint32_t worker)
{
    hd_result result = HD_OK;
    VkCommandBuffer commands = batch->made.commands;
    if (batch->after_host)
        show_host_writes(frame, commands);
    uint32_t queue = queue_of_batch(frame, batch), strand = batch->strand_begin, end = strand + batch->strand_count;
    scope_cursor at = {.next = hdi_vk_scope_from(frame, batch->command_begin)};
    look_ahead(frame, &at);
    uint32_t c = batch->command_begin;
    while (c < batch->command_begin + batch->command_count && result == HD_OK) {
        uint32_t done = 1;
        if (frame->before[c])
            join_frames(frame, commands, &frame->joins[frame->before[c] - 1]);
        if (strand < end && frame->strands[strand].command_begin == c) {
            at.next += frame->strands[strand].scope != HD_NONE;
            look_ahead(frame, &at);
            done = execute_strands(frame, batch, &strand, &result);
        } else if (frame->plan.commands[c].kind == HD_COMMAND_PASS) {
            result = record_pass(frame, commands, c, queue, worker, &at);
        } else {
            hdi_vk_record_barriers(frame, commands, &frame->plan.commands[c]);
        }
        c += done;
    }
    const hd_plan_submit *submit = &frame->plan.submits[batch->submit];
    if (frame->kept->to_host[batch->submit] && c == submit->command_begin + submit->command_count)
        show_to_host(frame, commands);
    return result;
}

static hd_result record_batch(hdi_vk_frame *frame, hdi_vk_batch *batch, hdi_vk_pool *pool, uint32_t worker)
{
    hd_vk *vk = frame->vk;
    hd_result result = hdi_vk_pool_begin(vk, pool, NULL, &batch->made.commands);
    if (result == HD_OK)
        result = record_commands(frame, batch, worker);
    if (result == HD_OK)
        result = hdi_vk_result(vk, vk->fn.vkEndCommandBuffer(batch->made.commands), "vkEndCommandBuffer");
    return result;
}

/* Records a batch or (batch null) a strand from a pool of its own. */
static void record_one(hdi_vk_frame *frame, hdi_vk_batch *batch, hdi_vk_strand *strand, uint32_t worker)
{
    hd_vk *vk = frame->vk;
    uint32_t queue = queue_of_batch(frame, batch ? batch : &frame->batches[strand->batch]);
    hdi_vk_made *made = batch ? &batch->made : &strand->made;
    made->worker = worker;
    made->begin_ns = vk->times ? hdi_clock_ns() : 0;
    hd_result result;
    hdi_vk_pool *pool =
        hdi_vk_pool_take(vk, frame->slot, hdi_vk_pool_kind(vk->queues[queue].family_index, !batch), &result);
    if (pool) {
        result = batch ? record_batch(frame, batch, pool, worker) : record_strand(frame, strand, pool, worker);
        hdi_vk_pool_give(vk, frame->slot, pool);
    }
    made->end_ns = vk->times ? hdi_clock_ns() : 0;
    if (result != HD_OK)
        hdi_vk_note_failure(frame->slot, result);
}

static void record_job(hdi_vk_frame *frame, uint32_t job, uint32_t worker)
{
    if (job < frame->batch_count) {
        record_one(frame, &frame->batches[job], NULL, worker);
        return;
    }
    hdi_vk_strand *strand = &frame->strands[job - frame->batch_count];
    hdi_vk_batch *batch = &frame->batches[strand->batch];
    record_one(frame, NULL, strand, worker);
    /* release: this strand, for the worker that records the batch. acquire: the other strands. */
    bool last = atomic_fetch_sub_explicit(&batch->pending, 1, memory_order_acq_rel) == 1;
    if (last && atomic_load_explicit(&frame->slot->failure, memory_order_relaxed) == HD_OK)
        record_one(frame, batch, NULL, worker);
}

/* Any worker takes the next job of the list: jobs are long enough that one counter will do. */
static void record_jobs(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    hdi_vk_frame *frame = user;
    (void)begin;
    (void)end;
    for (;;) {
        uint32_t next = atomic_fetch_add_explicit(&frame->next_job, 1, memory_order_relaxed);
        if (next >= frame->job_count)
            return;
        record_job(frame, frame->jobs[next], worker);
    }
}

static hd_result prepare_pools(hdi_vk_frame *frame, uint32_t workers)
{
    hd_vk *vk = frame->vk;
    uint32_t counts[HDI_VK_POOL_KINDS] = {0};
    for (uint32_t b = 0; b < frame->batch_count; b++) {
        uint32_t family = vk->queues[queue_of_batch(frame, &frame->batches[b])].family_index;
        counts[hdi_vk_pool_kind(family, false)]++;
        counts[hdi_vk_pool_kind(family, true)] += frame->batches[b].strand_count;
    }
    hd_result result = HD_OK;
    for (uint32_t kind = 0; kind < HDI_VK_POOL_KINDS && result == HD_OK; kind++) {
        if (counts[kind])
            result = hdi_vk_pools_need(vk, frame->slot, kind, counts[kind], workers);
    }
    return result;
}

hd_result hdi_vk_record(hdi_vk_frame *frame)
{
    uint32_t workers = hd_jobs_worker_count(frame->vk->jobs);
    hd_result result = hdi_vk_events(frame->vk, frame->slot, frame->kept->event_count);
    if (result == HD_OK)
        result = hdi_vk_cut(frame);
    if (result == HD_OK)
        result = prepare_pools(frame, workers);
    if (result == HD_OK)
        result = hdi_vk_timing_begin(frame);
    if (result != HD_OK)
        return result;
    hdi_vk_patch_barriers(frame);
    atomic_init(&frame->next_job, 0);
    hd_jobs_parallel_for(frame->vk->jobs, workers < frame->job_count ? workers : frame->job_count, 1, record_jobs,
                         frame);
    return (hd_result)atomic_load_explicit(&frame->slot->failure, memory_order_acquire);
}
