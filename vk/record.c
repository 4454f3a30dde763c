#include "state.h"

#include "alloc.h"
#include "clock.h"

/* Records a plan: the commands of each submit are cut into batches of consecutive commands, each batch is one job and
 * one primary command buffer, and the submit lists its command buffers in order. Cutting is free for correctness,
 * because submission order runs through command buffers. A worker gets about three batches, so that uneven passes even
 * out; one worker gets one command buffer a submit.
 *
 * A rendering scope stays in one batch. Suspending and resuming it could cut it too, and was tried: the pictures were
 * right, but validation layers of 1.3.239 take a command buffer that both resumes and suspends for one that only
 * resumes, and report the next one. */

void hdi_vk_note_failure(hdi_vk_slot *slot, hd_result result)
{
    int none = HD_OK;
    atomic_compare_exchange_strong_explicit(&slot->failure, &none, (int)result, memory_order_relaxed,
                                            memory_order_relaxed);
}

static bool is_host(const hdi_vk_frame *frame, uint32_t submit)
{
    return frame->plan.queues[frame->plan.submits[submit].queue].kind == HD_QUEUE_HOST;
}

static bool waits_for_host(const hdi_vk_frame *frame, uint32_t s)
{
    const hd_plan_submit *submit = &frame->plan.submits[s];
    uint32_t host = frame->vk->queue_count;
    uint32_t q = frame->queue_of[submit->queue];
    if (frame->join_values[(size_t)s * (host + 1) + host] ||
        (frame->vk->fresh[q] && frame->ends.first[q] == s && frame->vk->queues[host].base))
        return true;
    for (uint32_t w = 0; w < submit->wait_count; w++) {
        if (frame->plan.queues[frame->plan.waits[submit->wait_begin + w].queue].kind == HD_QUEUE_HOST)
            return true;
    }
    return false;
}

/* ---- cutting ---- */

static uint32_t grain_of(const hdi_vk_frame *frame)
{
    uint32_t workers = hd_jobs_worker_count(frame->vk->jobs);
    if (workers <= 1)
        return UINT32_MAX;
    uint32_t grain = frame->plan.pass_count / (3 * workers) + 1;
    return grain < 16 ? grain : 16;
}

/* The first scope that begins at or behind a command. */
static uint32_t scope_from(const hdi_vk_frame *frame, uint32_t command)
{
    uint32_t low = 0, high = frame->plan.scope_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (frame->plan.scopes[middle].command_begin < command)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Batches of one submit; out null: only counts them. A scope stays in one command buffer. */
static uint32_t cut(const hdi_vk_frame *frame, uint32_t s, uint32_t grain, hdi_vk_batch *out)
{
    const hd_plan_submit *submit = &frame->plan.submits[s];
    bool after_host = waits_for_host(frame, s);
    uint32_t count = 0, begin = 0, passes = 0, scope = scope_from(frame, submit->command_begin), inside = 0;
    for (uint32_t c = 0; c <= submit->command_count; c++) {
        bool end = c == submit->command_count;
        bool pass = !end && frame->plan.commands[submit->command_begin + c].kind == HD_COMMAND_PASS;
        if (end ? c > begin || (count == 0 && after_host) : pass && passes >= grain && inside == 0) {
            if (out)
                out[count] =
                    (hdi_vk_batch){.submit = s, .command_begin = submit->command_begin + begin, .command_count = c - begin, .after_host = after_host && count == 0};
            count++;
            begin = c;
            passes = 0;
        }
        passes += pass;
        if (scope < frame->plan.scope_count && frame->plan.scopes[scope].command_begin == submit->command_begin + c)
            inside = frame->plan.scopes[scope++].command_count;
        inside -= inside != 0; /* what is left of the scope behind this command */
    }
    return count;
}

static hd_result cut_all(hdi_vk_frame *frame)
{
    hdi_arena *arena = &frame->slot->arena;
    uint32_t submit_count = frame->plan.submit_count, grain = grain_of(frame);
    frame->submit_batch_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)submit_count + 1);
    if (!frame->submit_batch_begin)
        return HD_OUT_OF_MEMORY;
    frame->batch_count = 0;
    for (uint32_t s = 0; s < submit_count; s++) {
        frame->submit_batch_begin[s] = frame->batch_count;
        frame->batch_count += is_host(frame, s) ? 0 : cut(frame, s, grain, NULL);
    }
    frame->submit_batch_begin[submit_count] = frame->batch_count;
    frame->batches = HDI_ARENA_ARRAY(arena, hdi_vk_batch, frame->batch_count);
    if (!frame->batches)
        return HD_OUT_OF_MEMORY;
    for (uint32_t s = 0; s < submit_count; s++) {
        if (!is_host(frame, s))
            cut(frame, s, grain, frame->batches + frame->submit_batch_begin[s]);
    }
    return HD_OK;
}

/* Events exist, and no event's batch is larger than one command takes. */
static hd_result prepare_events(hdi_vk_frame *frame)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < frame->plan.command_count; c++) {
        const hd_plan_command *command = &frame->plan.commands[c];
        if (command->kind != HD_COMMAND_SET && command->kind != HD_COMMAND_WAIT)
            continue;
        if (frame->plan.batches[command->index].barrier_count > HDI_VK_BARRIERS)
            return HD_TOO_LARGE;
        count = command->event >= count ? command->event + 1 : count;
    }
    return hdi_vk_events(frame->vk, frame->slot, count);
}

/* ---- recording ---- */

/* Where a batch is in the scopes of the plan. */
typedef struct scope_cursor {
    uint32_t next; /* scope that begins next */
    uint32_t left; /* passes left in the one that has begun */
    VkRect2D area;
} scope_cursor;

/* Every pass of a scope starts with the whole area as viewport and scissor, whatever the one before it left. */
static void reset_area(hd_vk *vk, VkCommandBuffer commands, const VkRect2D *area)
{
    VkViewport viewport = {0.0f, 0.0f, (float)area->extent.width, (float)area->extent.height, 0.0f, 1.0f};
    vk->fn.vkCmdSetViewport(commands, 0, 1, &viewport);
    vk->fn.vkCmdSetScissor(commands, 0, 1, area);
}

static hd_result enter_scope(hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t command, scope_cursor *at)
{
    hd_result result = HD_OK;
    if (at->next < frame->plan.scope_count && frame->plan.scopes[at->next].command_begin == command) {
        const hd_plan_scope *scope = &frame->plan.scopes[at->next++];
        result = hdi_vk_begin_rendering(frame, commands, scope, &at->area);
        at->left = result == HD_OK ? scope->command_count : 0;
    }
    if (at->left)
        reset_area(frame->vk, commands, &at->area);
    return result;
}

static hd_result record_pass(hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t command, uint32_t queue,
                             uint32_t worker, scope_cursor *at)
{
    hd_vk *vk = frame->vk;
    uint32_t pass = frame->plan.commands[command].index;
    const hdi_pass_exec *exec = &frame->decl.pass_exec[pass];
    bool label = vk->labels && exec->name;
    if (label) {
        VkDebugUtilsLabelEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, .pLabelName = exec->name};
        vk->fn.vkCmdBeginDebugUtilsLabelEXT(commands, &info);
    }
    if (frame->slot->timed)
        hdi_vk_timing_stamp(frame, commands, queue, pass, 0);
    hd_result result = enter_scope(frame, commands, command, at);
    if (vk->captured)
        hdi_cap_mark_pass(frame, commands, pass);
    if (result == HD_OK && exec->record) {
        hd_recorder recorder = {
            .frame = frame, .vk = vk, .commands = commands, .pass = pass, .worker = worker, .frame_index = vk->frame};
        exec->record(&recorder, exec->user);
    }
    if (vk->captured)
        hdi_cap_mark_pass_end(commands);
    if (at->left && --at->left == 0)
        vk->fn.vkCmdEndRendering(commands);
    if (frame->slot->timed)
        hdi_vk_timing_stamp(frame, commands, queue, pass, 1);
    if (label)
        vk->fn.vkCmdEndDebugUtilsLabelEXT(commands);
    return result;
}

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
    if (batch->after_host)
        show_host_writes(frame, batch->commands);
    uint32_t queue = frame->queue_of[frame->plan.submits[batch->submit].queue];
    scope_cursor at = {.next = scope_from(frame, batch->command_begin)};
    for (uint32_t c = batch->command_begin; c < batch->command_begin + batch->command_count && result == HD_OK; c++) {
        if (frame->before[c])
            join_frames(frame, batch->commands, &frame->joins[frame->before[c] - 1]);
        if (frame->plan.commands[c].kind == HD_COMMAND_PASS)
            result = record_pass(frame, batch->commands, c, queue, worker, &at);
        else
            hdi_vk_record_barriers(frame, batch->commands, &frame->plan.commands[c]);
    }
    return result;
}

static void record_batches(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    hdi_vk_frame *frame = user;
    hd_vk *vk = frame->vk;
    for (uint32_t b = begin; b < end; b++) {
        hdi_vk_batch *batch = &frame->batches[b];
        const hdi_vk_queue *queue = &vk->queues[frame->queue_of[frame->plan.submits[batch->submit].queue]];
        batch->worker = worker;
        batch->begin_ns = vk->times ? hdi_clock_ns() : 0;
        hd_result result;
        hdi_vk_pool *pool = hdi_vk_pool_take(vk, frame->slot, queue->family_index, &result);
        if (pool) {
            result = hdi_vk_pool_begin(vk, pool, &batch->commands);
            if (result == HD_OK)
                result = record_commands(frame, batch, worker);
            if (result == HD_OK)
                result = hdi_vk_result(vk, vk->fn.vkEndCommandBuffer(batch->commands), "vkEndCommandBuffer");
            hdi_vk_pool_give(vk, frame->slot, pool);
        }
        batch->end_ns = vk->times ? hdi_clock_ns() : 0;
        if (result != HD_OK)
            hdi_vk_note_failure(frame->slot, result);
    }
}

hd_result hdi_vk_record(hdi_vk_frame *frame)
{
    hd_result result = prepare_events(frame);
    if (result == HD_OK)
        result = hdi_vk_timing_begin(frame);
    if (result == HD_OK)
        result = cut_all(frame);
    if (result != HD_OK)
        return result;
    hd_jobs_parallel_for(frame->vk->jobs, frame->batch_count, 1, record_batches, frame);
    return (hd_result)atomic_load_explicit(&frame->slot->failure, memory_order_acquire);
}
