#include "vk_device.h"
#include "vk_frame.h"
#include "vk_window.h"

#include "alloc.h"

/* Semaphores of an engine or a swapchain, tied to imports of the frame that is executed next. join.c places them. */

hd_result hdi_vk_sync_import(hd_vk *vk, const hd_graph *graph, hd_resource import, const hd_vk_sync *sync,
                             hdi_vk_told *told)
{
    uint32_t index = hd_graph_resource_index(graph, import), kept = 0;
    if (index == HD_NONE || !(hdi_graph_decl(graph).res_flags[index] & HDI_RES_EXTERNAL))
        return HD_BAD_HANDLE;
    for (uint32_t i = 0; i < vk->sync_count; i++) { /* those of a frame that never was executed go */
        if (vk->syncs[i].graph != graph || hd_graph_resource_index(graph, vk->syncs[i].import) != HD_NONE)
            vk->syncs[kept++] = vk->syncs[i];
    }
    vk->sync_count = kept;
    hd_result result =
        hdi_grow(&vk->allocator, (void **)&vk->syncs, &vk->sync_capacity, vk->sync_count + 1, sizeof(*vk->syncs));
    if (result == HD_OK)
        vk->syncs[vk->sync_count++] = (hdi_vk_sync){.graph = graph, .import = import, .sync = *sync, .told = told};
    return result;
}

hd_result hd_vk_sync_import(hd_vk *vk, const hd_graph *graph, hd_resource import, const hd_vk_sync *sync)
{
    hd_result result = vk && graph && sync ? hdi_vk_enter(vk, "hd_vk_sync_import") : HD_INVALID_ARGUMENT;
    return result == HD_OK ? hdi_vk_leave(vk, hdi_vk_sync_import(vk, graph, import, sync, NULL), NULL) : result;
}

uint32_t hdi_vk_synced_command(const hdi_vk_frame *frame, uint32_t submit)
{
    const hd_vk *vk = frame->vk;
    uint32_t first = HD_NONE, begin = frame->plan.submits[submit].command_begin;
    for (uint32_t i = 0; i < vk->sync_count; i++) {
        const hdi_vk_sync *sync = &vk->syncs[i];
        if (sync->wait_submit != submit || !sync->sync.wait)
            continue;
        uint32_t command = sync->wait_command == HD_NONE ? begin : sync->wait_command;
        first = command < first ? command : first;
    }
    return first == begin ? HD_NONE : first;
}

void hdi_vk_tell_syncs(const hdi_vk_frame *frame)
{
    const hd_vk *vk = frame->vk;
    for (uint32_t i = 0; i < vk->sync_count; i++) {
        const hdi_vk_sync *sync = &vk->syncs[i];
        if (sync->told && sync->signal_submit != HD_NONE)
            *sync->told = (hdi_vk_told){
                .frame = vk->frame,
                .host_needed = sync->host_needed,
                .queue = frame->queue_of[frame->plan.submits[sync->signal_submit].queue],
                .done = true,
            };
    }
}

/* An engine tells binary semaphores by their value, 0. What its own submit depends on that signals one, behind heddle's
 * on a queue that both use or behind a semaphore that heddle signals, is not known: it is taken for all that was. */
hd_result hdi_vk_await_before(const hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    uint64_t value = 0;
    bool binary = false;
    for (uint32_t i = 0; i < vk->sync_count; i++) {
        const hdi_vk_sync *sync = &vk->syncs[i];
        binary |= !sync->told && sync->wait_submit != HD_NONE && sync->sync.wait && !sync->sync.wait_value;
    }
    for (uint32_t q = 0; q < vk->queue_count && binary; q++)
        value = vk->queues[q].host_needed > value ? vk->queues[q].host_needed : value;
    return hdi_vk_host_wait_value(vk, value);
}

hd_result hdi_vk_await_after(const hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    uint64_t value = 0;
    for (uint32_t i = 0; i < vk->sync_count; i++) {
        const hdi_vk_sync *sync = &vk->syncs[i];
        bool binary = !sync->told && sync->signal_submit != HD_NONE && sync->sync.signal && !sync->sync.signal_value;
        if (binary && sync->host_needed > value)
            value = sync->host_needed;
    }
    return hdi_vk_host_wait_value(vk, value);
}

void hdi_vk_drop_syncs(hd_vk *vk, const hd_graph *graph, const hdi_vk_told *told)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < vk->sync_count; i++) {
        const hdi_vk_sync *sync = &vk->syncs[i];
        if (graph ? sync->graph != graph : sync->told != told)
            vk->syncs[kept++] = *sync;
    }
    vk->sync_count = kept;
}
