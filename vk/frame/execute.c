#include "history.h"

#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "graph_state.h"
#include "vk_device.h"
#include "vk_frame.h"
#include "vk_join.h"
#include "vk_memory.h"
#include "vk_window.h"

/* One frame: wait for the frame that used this slot, bind, record, submit. Nothing is submitted before everything that
 * can fail for lack of memory or by the plan has been done, but for the histories' clears: they repeat harmlessly, once
 * what they may have cleared or brought into another layout is forgotten. */

static hd_result prepare(hdi_vk_frame *frame, const hd_plan *plan)
{
    hdi_arena *arena = &frame->slot->arena;
    frame->bound = HDI_ARENA_ZEROED(arena, hdi_vk_object *, frame->decl.res_count);
    frame->heaps = HDI_ARENA_ZEROED(arena, hdi_vk_heap *, frame->plan.heap_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hd_result result = hdi_vk_keep(frame, plan);
    if (frame->vk->stale && frame->vk->streak_of != frame->kept)
        hdi_vk_catch_up(frame->vk);
    if (result == HD_OK)
        result = hdi_vk_find_histories(frame);
    if (result == HD_OK)
        result = hdi_vk_realise_heaps(frame);
    if (result == HD_OK)
        result = hdi_vk_bind_histories(frame);
    if (result == HD_OK)
        result = hdi_vk_realise_resources(frame);
    if (result == HD_OK)
        result = hdi_vk_keep_aliases(frame);
    return result;
}

static hd_result run(hdi_vk_frame *frame, const hd_plan *plan)
{
    hd_vk *vk = frame->vk;
    hd_result result = prepare(frame, plan);
    bool cleared = result == HD_OK && frame->init_count;
    if (cleared) {
        hdi_vk_forget_left(vk);
        result = hdi_vk_submit_inits(frame);
    }
    if (result == HD_OK) {
        hdi_vk_find_ends(frame);
        result = hdi_vk_join_frames(frame);
    }
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

static hd_result execute(hd_vk *vk, const hd_graph *graph, const hd_plan *plan)
{
    if (hd_graph_error(graph)->result != HD_OK)
        return hd_graph_error(graph)->result;
    hdi_vk_slot *slot = &vk->slots[vk->frame % vk->slot_count];
    hd_result result = (hd_result)atomic_load_explicit(&vk->lost, memory_order_acquire);
    if (result == HD_OK)
        result = hdi_vk_wait_slot(vk, slot);
    if (result == HD_OK && vk->frame + 1 > vk->slot_count)
        hdi_vk_uploads_finish(vk, vk->frame + 1 - vk->slot_count);
    if (result == HD_OK)
        result = hdi_vk_failed_before(vk, slot);
    if (result == HD_OK)
        result = hdi_vk_slot_reset(vk, slot);
    if (result != HD_OK)
        return result;
    slot->frame = vk->frame;
    hdi_vk_frame frame = {
        .vk = vk, .slot = slot, .graph = graph, .decl = hdi_graph_decl(graph), .plan = hd_plan_read(plan)};
    if (vk->observer)
        frame.first_observed = vk->observer->frame(vk->frame, frame.plan.pass_count);
    result = run(&frame, plan);
    if (result == HD_OK) {
        hdi_vk_commit_histories(&frame);
        hdi_vk_tell_syncs(&frame);
        hdi_vk_uploads_commit(&frame);
        vk->frame++;
    } else {
        hdi_vk_revert_histories(vk);
        hdi_vk_forget_left(vk);
        slot->timed = NULL; /* its queries may never be written */
        slot->timed_count = 0;
    }
    if (result != HD_OK && !slot->by_host) {
        /* Clears of histories may be under way from this slot's pools. */
        for (uint32_t q = 0; q <= vk->queue_count; q++)
            slot->end[q] = vk->queues[q].base;
    }
    if (vk->frame % HDI_VK_KEEP_FRAMES == 0)
        hdi_vk_sweep_objects(vk, HDI_VK_KEEP_FRAMES);
    hdi_vk_sweep_histories(vk, HDI_VK_HISTORY_FRAMES);
    hdi_vk_sweep_heaps(vk, HDI_VK_KEEP_FRAMES);
    hdi_vk_sweep_staging(vk, HDI_VK_KEEP_FRAMES);
    hdi_vk_sweep_kept(vk, HDI_VK_KEEP_FRAMES);
    return result == HD_OK ? hdi_vk_await_after(&frame) : result;
}

static hd_result execute_and_forget(hd_vk *vk, const hd_graph *graph, const hd_plan *plan)
{
    hd_graph *held = (hd_graph *)(uintptr_t)graph;
    atomic_fetch_add_explicit(&held->executed, 1, memory_order_relaxed);
    hd_result result = execute(vk, graph, plan);
    atomic_fetch_sub_explicit(&held->executed, 1, memory_order_relaxed);
    hdi_vk_drop_syncs(vk, graph, NULL);
    return result;
}

hd_result hd_vk_execute(hd_vk *vk, const hd_graph *graph, const hd_plan *plan)
{
    if (!vk || !graph || !plan)
        return HD_INVALID_ARGUMENT;
    hd_result result = hdi_vk_enter(vk, "hd_vk_execute");
    return result == HD_OK ? hdi_vk_leave(vk, execute_and_forget(vk, graph, plan), graph) : result;
}

hd_result hd_vk_size(const hd_resource_info *info, hd_memory_need *need, void *vk)
{
    return info && need && vk ? hdi_vk_size_of(info, need, vk) : HD_INVALID_ARGUMENT;
}

hd_compile_desc hdi_vk_complete_desc(hd_vk *vk, const hd_compile_desc *desc, hd_queue_desc *queues)
{
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
    return mine;
}

static hd_result compile(hd_vk *vk, hd_graph *graph, const hd_compile_desc *desc, const hd_plan **out)
{
    hd_queue_desc queues[HD_MAX_QUEUES];
    const hd_compile_desc mine = hdi_vk_complete_desc(vk, desc, queues);
    uint64_t start = hdi_clock_ns();
    hd_result result = hd_graph_compile(graph, &mine, out);
    if (result == HD_UNSUPPORTED && mine.size == hdi_vk_size_of)
        hdi_vk_blame_use(vk, graph);
    vk->stats.compile_us = (double)(hdi_clock_ns() - start) * 1e-3;
    return result;
}

hd_result hd_vk_compile(hd_vk *vk, hd_graph *graph, const hd_compile_desc *desc, const hd_plan **out)
{
    if (!vk || !graph || !out)
        return HD_INVALID_ARGUMENT;
    hd_result result = hdi_vk_enter(vk, "hd_vk_compile");
    return result == HD_OK ? hdi_vk_leave(vk, compile(vk, graph, desc, out), graph) : result;
}

hd_result hd_vk_frame(hd_vk *vk, hd_graph *graph)
{
    const hd_plan *plan;
    if (!vk || !graph)
        return HD_INVALID_ARGUMENT;
    hd_result result = hdi_vk_enter(vk, "hd_vk_frame");
    if (result != HD_OK)
        return result;
    result = compile(vk, graph, NULL, &plan);
    if (result == HD_OK)
        result = execute_and_forget(vk, graph, plan);
    return hdi_vk_leave(vk, result, graph);
}
