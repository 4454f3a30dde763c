#include "state.h"

#include <string.h>

#include "alloc.h"
#include "clock.h"

/* One frame: wait for the frame that used this slot, bind, record, submit. Nothing is submitted before everything that
 * can fail for lack of memory or by the plan has been done, but for the histories' clears, which repeat harmlessly. */

static hd_result refuse(hd_vk *vk, const char *why)
{
    hdi_log(&vk->log, HD_LOG_ERROR, "the plan cannot be executed: %s", why);
    return HD_INVALID_ARGUMENT;
}

/* Plan queues are this device's queues of the same kind and family, each taken once. */
static hd_result match_queues(hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    bool taken[HD_MAX_QUEUES] = {false};
    if (frame->plan.queue_count > HD_MAX_QUEUES)
        return refuse(vk, "it has too many queues");
    for (uint32_t p = 0; p < frame->plan.queue_count; p++) {
        const hd_plan_queue *plan = &frame->plan.queues[p];
        uint32_t found = HD_NONE;
        for (uint32_t q = 0; q <= vk->queue_count && found == HD_NONE; q++) {
            const hd_vk_queue_desc *queue = &vk->queues[q].desc;
            if (!taken[q] && (uint32_t)queue->kind == plan->kind &&
                (plan->kind == HD_QUEUE_HOST || queue->family == plan->family))
                found = q;
        }
        if (found == HD_NONE)
            return refuse(vk, "it was compiled for queues that this device does not have");
        taken[found] = true;
        frame->queue_of[p] = found;
    }
    return HD_OK;
}

static uint32_t use_kind(const hdi_vk_frame *frame, uint32_t pass, uint32_t use)
{
    const uint32_t *uses = &frame->decl.pass_use_begin[pass];
    return use < uses[1] - uses[0] ? frame->decl.access[frame->decl.use_access[uses[0] + use]].attachment
                                   : HDI_ATTACHMENT_NONE;
}

/* Scopes come in the order of the commands, hold passes of one submit and name attachments that they have. */
static bool scopes_fit(const hdi_vk_frame *frame)
{
    const hd_plan_view *plan = &frame->plan;
    uint32_t submit = 0, end = 0;
    for (uint32_t s = 0; s < plan->scope_count; s++) {
        const hd_plan_scope *scope = &plan->scopes[s];
        if (scope->command_begin < end || scope->command_count == 0 || scope->command_begin >= plan->command_count)
            return false;
        while (submit < plan->submit_count && plan->submits[submit].command_begin +
                                                      plan->submits[submit].command_count <=
                                                  scope->command_begin)
            submit++;
        if (submit == plan->submit_count || scope->command_begin < plan->submits[submit].command_begin)
            return false;
        uint32_t submit_end = plan->submits[submit].command_begin + plan->submits[submit].command_count;
        if (scope->command_count > submit_end - scope->command_begin ||
            scope->attachment_begin > plan->attachment_count ||
            scope->attachment_count > plan->attachment_count - scope->attachment_begin)
            return false;
        end = scope->command_begin + scope->command_count;
        for (uint32_t c = scope->command_begin; c < end; c++) {
            if (plan->commands[c].kind != HD_COMMAND_PASS ||
                frame->decl.pass_type[plan->commands[c].index] != HD_PASS_GFX)
                return false;
        }
        for (uint32_t a = scope->attachment_begin; a < scope->attachment_begin + scope->attachment_count; a++) {
            uint32_t resolve = plan->attachments[a].resolve;
            uint32_t kind = use_kind(frame, plan->commands[scope->command_begin].index, plan->attachments[a].use);
            if ((kind != HDI_ATTACHMENT_COLOR && kind != HDI_ATTACHMENT_DEPTH) ||
                (resolve != HD_NONE &&
                 use_kind(frame, plan->commands[end - 1].index, resolve) != HDI_ATTACHMENT_RESOLVE))
                return false;
        }
    }
    return true;
}

static hd_result check_plan(const hdi_vk_frame *frame)
{
    const hd_plan_view *plan = &frame->plan;
    if (plan->pass_count != frame->decl.pass_count || plan->declared_resource_count != frame->decl.res_count)
        return refuse(frame->vk, "it is not of what the graph declares now");
    for (uint32_t i = 0; i < plan->resource_count; i++) {
        if (plan->resources[i].id >= frame->decl.res_count)
            return refuse(frame->vk, "it names a resource that is not declared");
    }
    for (uint32_t c = 0; c < plan->command_count; c++) {
        uint32_t count = plan->commands[c].kind == HD_COMMAND_PASS ? plan->pass_count : plan->batch_count;
        if (plan->commands[c].index >= count)
            return refuse(frame->vk, "a command names what does not exist");
    }
    for (uint32_t b = 0; b < plan->barrier_count; b++) {
        uint32_t res = plan->barriers[b].resource;
        if (res != HD_NONE && (res >= frame->decl.res_count || frame->plan_index[res] == HDI_NONE))
            return refuse(frame->vk, "a barrier names a resource that is not in it");
        if (res == HD_NONE || frame->decl.res_flags[res] & HDI_RES_BUFFER || !plan->barriers[b].range.aspect)
            continue;
        if (!frame->vk->aspects_apart) {
            hdi_log(&frame->vk->log, HD_LOG_ERROR, "depth and stencil apart need separateDepthStencilLayouts");
            return HD_UNSUPPORTED;
        }
    }
    return scopes_fit(frame) ? HD_OK : refuse(frame->vk, "its rendering scopes do not fit its passes");
}

/* The schedule keeps copies and clears of depth and stencil on graphics queues, where it has one and no pin says otherwise;
 * elsewhere Vulkan has none. */
static hd_result check_copies(const hdi_vk_frame *frame, const hd_plan_submit *submit)
{
    const VkPipelineStageFlags2 copies =
        VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT | VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_BLIT_BIT |
        VK_PIPELINE_STAGE_2_RESOLVE_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT;
    for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
        const hd_plan_command *command = &frame->plan.commands[c];
        if (command->kind != HD_COMMAND_PASS)
            continue;
        const uint32_t *uses = &frame->decl.pass_use_begin[command->index];
        for (uint32_t u = uses[0]; u < uses[1]; u++) {
            uint32_t res = frame->decl.use_res[u];
            if (!(frame->decl.access[frame->decl.use_access[u]].stages & copies) ||
                frame->decl.res_flags[res] & HDI_RES_BUFFER ||
                hdi_vk_aspects(frame->decl.res_info[res].format) & VK_IMAGE_ASPECT_COLOR_BIT)
                continue;
            const char *pass_name = frame->decl.pass_exec[command->index].name, *name = frame->decl.res_info[res].name;
            hdi_log(&frame->vk->log, HD_LOG_ERROR,
                    "pass %u '%s' copies or clears depth or stencil of resource %u '%s' on a queue without graphics, where "
                    "Vulkan cannot: the queue set needs a gfx queue, and the pass no pin to another",
                    command->index, pass_name ? pass_name : "", res, name ? name : "");
            return HD_UNSUPPORTED;
        }
    }
    return HD_OK;
}

static hd_result check_queues(const hdi_vk_frame *frame)
{
    const hd_vk *vk = frame->vk;
    hd_result result = HD_OK;
    for (uint32_t s = 0; s < frame->plan.submit_count && result == HD_OK; s++) {
        uint32_t q = frame->queue_of[frame->plan.submits[s].queue];
        if (q != vk->queue_count && !(vk->queues[q].flags & VK_QUEUE_GRAPHICS_BIT))
            result = check_copies(frame, &frame->plan.submits[s]);
    }
    return result;
}

static hd_result prepare(hdi_vk_frame *frame)
{
    hdi_arena *arena = &frame->slot->arena;
    uint32_t res_count = frame->decl.res_count;
    frame->bound = HDI_ARENA_ZEROED(arena, hdi_vk_object *, res_count);
    frame->plan_index = HDI_ARENA_ARRAY(arena, uint32_t, res_count);
    frame->heaps = HDI_ARENA_ZEROED(arena, hdi_vk_heap *, frame->plan.heap_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t r = 0; r < res_count; r++)
        frame->plan_index[r] = HDI_NONE;
    for (uint32_t i = 0; i < frame->plan.resource_count; i++) {
        if (frame->plan.resources[i].id < res_count)
            frame->plan_index[frame->plan.resources[i].id] = i;
    }
    hd_result result = check_plan(frame);
    if (result == HD_OK)
        result = match_queues(frame);
    if (result == HD_OK)
        result = check_queues(frame);
    if (result == HD_OK)
        result = hdi_vk_realise_heaps(frame);
    if (result == HD_OK)
        result = hdi_vk_realise_resources(frame);
    return result;
}

/* A use of a kept pass always has its object; a plan from elsewhere may lack one. */
static hd_result check_bound(const hdi_vk_frame *frame)
{
    for (uint32_t c = 0; c < frame->plan.command_count; c++) {
        const hd_plan_command *command = &frame->plan.commands[c];
        if (command->kind != HD_COMMAND_PASS)
            continue;
        uint32_t begin = frame->decl.pass_use_begin[command->index],
                 end = frame->decl.pass_use_begin[command->index + 1];
        for (uint32_t u = begin; u < end; u++) {
            if (!frame->bound[frame->decl.use_res[u]])
                return refuse(frame->vk, "a pass uses a resource that is not in it");
        }
    }
    return HD_OK;
}

static hd_result run(hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    hd_result result = prepare(frame);
    if (result == HD_OK)
        result = check_bound(frame);
    if (result == HD_OK && frame->init_count) {
        hdi_vk_forget_left(vk);
        result = hdi_vk_submit_inits(frame);
    }
    hdi_vk_find_ends(frame);
    if (result == HD_OK)
        result = hdi_vk_join_frames(frame);
    uint64_t start = hdi_clock_ns();
    if (result == HD_OK)
        result = hdi_vk_record(frame);
    uint64_t recorded = hdi_clock_ns();
    if (result == HD_OK)
        result = hdi_vk_submit(frame);
    vk->stats.record_us = (double)(recorded - start) * 1e-3;
    vk->stats.submit_us = (double)(hdi_clock_ns() - recorded) * 1e-3;
    return result;
}

hd_result hd_vk_execute(hd_vk *vk, const hd_graph *graph, const hd_plan *plan)
{
    if (!vk || !graph || !plan)
        return HD_INVALID_ARGUMENT;
    if (hd_graph_error(graph)->result != HD_OK)
        return hd_graph_error(graph)->result;
    hdi_vk_slot *slot = &vk->slots[vk->frame % vk->slot_count];
    hd_result result = (hd_result)atomic_load_explicit(&vk->lost, memory_order_acquire);
    if (result == HD_OK)
        result = hdi_vk_wait_slot(vk, slot);
    if (result == HD_OK)
        result = hdi_vk_slot_reset(vk, slot);
    if (result != HD_OK)
        return result;
    slot->frame = vk->frame;
    if (vk->captured)
        hdi_cap_mark_frame(vk->frame);
    hdi_vk_frame frame = {
        .vk = vk, .slot = slot, .graph = graph, .decl = hdi_graph_decl(graph), .plan = hd_plan_read(plan)};
    if (vk->captured)
        frame.first_group = hdi_cap_groups(frame.plan.pass_count);
    result = run(&frame);
    if (result == HD_OK) {
        hdi_vk_commit_pairs(&frame);
        hdi_vk_tell_syncs(&frame);
        vk->frame++;
    } else {
        hdi_vk_forget_left(vk);
        slot->timed = NULL; /* its queries may never be written */
        slot->timed_count = 0;
    }
    hdi_vk_drop_syncs(vk, graph, NULL);
    if (result != HD_OK && !slot->by_host) {
        /* Clears of histories may be under way from this slot's pools. */
        for (uint32_t q = 0; q <= vk->queue_count; q++)
            slot->end[q] = vk->queues[q].base;
    }
    if (vk->frame % HDI_VK_KEEP_FRAMES == 0)
        hdi_vk_sweep_objects(vk, false);
    hdi_vk_sweep_heaps(vk, false);
    vk->stats.memory_bytes = vk->memory_bytes;
    return result;
}

hd_result hd_vk_size(const hd_resource_info *info, hd_memory_need *need, void *vk)
{
    return info && need && vk ? hdi_vk_size_of(info, need, vk) : HD_INVALID_ARGUMENT;
}

hd_result hd_vk_compile(hd_vk *vk, hd_graph *graph, const hd_compile_desc *desc, const hd_plan **out)
{
    if (!vk || !graph || !out)
        return HD_INVALID_ARGUMENT;
    hd_queue_desc queues[HD_MAX_QUEUES];
    hd_compile_desc mine = desc ? *desc : (hd_compile_desc){0};
    if (!mine.queues) {
        for (uint32_t q = 0; q < vk->queue_count; q++)
            queues[q] = (hd_queue_desc){vk->queues[q].desc.kind, vk->queues[q].desc.family};
        mine.queues = queues;
        mine.queue_count = vk->queue_count;
    }
    if (!desc)
        mine.merge_rendering = true;
    if (!mine.size) {
        mine.size = hdi_vk_size_of;
        mine.size_user = vk;
    }
    if (!mine.jobs)
        mine.jobs = vk->jobs;
    uint64_t start = hdi_clock_ns();
    hd_result result = hd_graph_compile(graph, &mine, out);
    vk->stats.compile_us = (double)(hdi_clock_ns() - start) * 1e-3;
    return result;
}

hd_result hd_vk_frame(hd_vk *vk, hd_graph *graph)
{
    const hd_plan *plan;
    hd_result result = hd_vk_compile(vk, graph, NULL, &plan);
    return result == HD_OK ? hd_vk_execute(vk, graph, plan) : result;
}
