#include "vk_device.h"
#include "vk_frame.h"
#include "vk_join.h"
#include "vk_timing.h"
#include "vk_window.h"

#include <string.h>
#include <time.h>

#include "alloc.h"
#include "clock.h"
#include "declare_columns.h"

/* Hands a recorded frame over: the plan's submits in the plan's order, neighbours on one queue in one call. Values of
 * the plan start at 1 in every frame and are raised by what the queue's timeline has reached (base). A submit waits for
 * what join.c found that it must of earlier frames; the last one of a queue signals the frame's end. The host thread
 * gets its part last: its waits then never come before the submits that end them, which a driver must bear but the
 * validation layer of Debian 12 does not.
 *
 * So a submit may be handed over before the host thread has signalled what it waits for. That is allowed for timelines
 * alone: a call that waits for a binary semaphore (a present, a submit of the engine or for it) must come behind every
 * signal that the semaphore's own depends on (VUID-vkQueuePresentKHR-pWaitSemaphores-03268,
 * VUID-vkQueueSubmit2-semaphore-03873). All signals of queues have been handed over by then; what is left are those of
 * the host. Each queue keeps the highest value of the host's timeline that it depends on (host_needed), by its own
 * waits and by those of the queues that it waited for; a call that signals or waits for a binary semaphore first waits
 * for that value.
 *
 * What a submit waits for of the host it waits for in an empty one before it, and starts a call of its own. NVIDIA's
 * driver (580.159.04, H200) drops what the GPU keeps of the host's memory where a call's work begins, before the waits
 * in it, and no barrier behind a wait makes it do so again: in one call, with the wait before the commands or in an
 * empty submit before them, copies saw what the bytes held when the GPU read them last. */

enum { SLICE_NS = 100 * 1000 * 1000, LOST_SLICES = 20 };

static VkSemaphoreSubmitInfo all_commands(VkSemaphore semaphore, uint64_t value)
{
    return (VkSemaphoreSubmitInfo){
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
        .semaphore = semaphore,
        .value = value,
        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
    };
}

uint32_t hdi_vk_base_waits(const hd_vk *vk, uint32_t queue, VkSemaphoreSubmitInfo *waits)
{
    uint64_t values[HD_MAX_QUEUES];
    uint32_t count = 0;
    for (uint32_t q = 0; q <= vk->queue_count; q++)
        values[q] = vk->queues[q].base;
    hdi_vk_drop_known(vk, vk->known[queue], values);
    for (uint32_t q = 0; q <= vk->queue_count; q++) {
        if (values[q] != 0)
            waits[count++] = all_commands(vk->queues[q].timeline, values[q]);
    }
    return count;
}

bool hdi_vk_try_again(VkResult result, uint32_t *tries)
{
    enum { TRIES = 100, PAUSE_NS = 1000 * 1000 };
    if ((result != VK_ERROR_OUT_OF_HOST_MEMORY && result != VK_ERROR_OUT_OF_DEVICE_MEMORY) || *tries == TRIES)
        return false;
    ++*tries;
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    return true;
}

hd_result hdi_vk_wait_values(hd_vk *vk, const uint64_t *values, bool even_lost)
{
    VkSemaphore semaphores[HD_MAX_QUEUES];
    uint64_t wanted[HD_MAX_QUEUES];
    uint32_t count = 0;
    for (uint32_t q = 0; q <= vk->queue_count; q++) {
        if (values[q] == 0)
            continue;
        semaphores[count] = vk->queues[q].timeline;
        wanted[count++] = values[q];
    }
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = count,
        .pSemaphores = semaphores,
        .pValues = wanted,
    };
    uint32_t tries = 0;
    for (uint32_t slice = 0; count; slice++) {
        hd_result lost = (hd_result)atomic_load_explicit(&vk->lost, memory_order_acquire);
        if (lost != HD_OK && (!even_lost || slice >= LOST_SLICES))
            return lost;
        VkResult result = vk->fn.vkWaitSemaphores(vk->device, &info, SLICE_NS);
        if (result == VK_SUCCESS)
            break;
        if (even_lost && hdi_vk_try_again(result, &tries))
            continue;
        if (result != VK_TIMEOUT) {
            hd_result mapped = hdi_vk_result(vk, result, "vkWaitSemaphores");
            if (mapped != HD_OUT_OF_MEMORY && mapped != HD_OUT_OF_DEVICE_MEMORY) /* else the caller may come again */
                hdi_vk_lose(vk, mapped);
            return mapped;
        }
    }
    return HD_OK;
}

hd_result hdi_vk_wait_slot(hd_vk *vk, const hdi_vk_slot *slot)
{
    return slot->by_host ? hdi_vk_host_wait(vk, slot->frame) : hdi_vk_wait_values(vk, slot->end, false);
}

hd_result hdi_vk_wait_all(hd_vk *vk)
{
    hd_result result = HD_OK;
    for (uint32_t i = 0; i < vk->slot_count && result == HD_OK; i++)
        result = hdi_vk_wait_slot(vk, &vk->slots[i]);
    return result;
}

void hdi_vk_drain(hd_vk *vk)
{
    uint64_t values[HD_MAX_QUEUES];
    bool half = false;
    for (uint32_t q = 0; q <= vk->queue_count; q++) {
        values[q] = vk->queues[q].submitted;
        half |= vk->queues[q].base > values[q];
    }
    hdi_vk_wait_values(vk, values, true);
    for (uint32_t q = 0; q < vk->queue_count && half; q++) { /* not all of such a frame has a signal behind it */
        uint32_t tries = 0;
        while (hdi_vk_try_again(vk->fn.vkQueueWaitIdle(vk->queues[q].desc.queue), &tries)) {
        }
    }
}

/* ---- values ---- */

void hdi_vk_find_ends(hdi_vk_frame *frame)
{
    frame->ends = frame->kept->ends;
    for (uint32_t q = 0; q <= frame->vk->queue_count; q++)
        frame->ends.end[q] += frame->vk->queues[q].base;
}

static uint64_t signal_value(const hdi_vk_frame *frame, uint32_t s)
{
    const hd_plan_submit *submit = &frame->plan.submits[s];
    uint32_t q = frame->queue_of[submit->queue];
    if (frame->ends.last[q] == s)
        return frame->ends.end[q];
    return submit->signal_value ? frame->vk->queues[q].base + submit->signal_value : 0;
}

/* The waits of a submit for the host, or those for the other queues; those for the frames before included: at most one
 * a queue beyond the plan's own. */
static uint32_t gather_waits(const hdi_vk_frame *frame, uint32_t s, bool for_host, VkSemaphoreSubmitInfo *out)
{
    const hd_vk *vk = frame->vk;
    const hd_plan_submit *submit = &frame->plan.submits[s];
    uint32_t count = 0;
    const uint64_t *joined = &frame->join_values[(size_t)s * (vk->queue_count + 1)];
    for (uint32_t p = 0; p <= vk->queue_count; p++) {
        if (joined[p] != 0 && (p == vk->queue_count) == for_host)
            out[count++] = all_commands(vk->queues[p].timeline, joined[p]);
    }
    for (uint32_t w = 0; w < submit->wait_count; w++) {
        const hd_plan_wait *wait = &frame->plan.waits[submit->wait_begin + w];
        uint32_t q = frame->queue_of[wait->queue];
        if ((q == vk->queue_count) != for_host)
            continue;
        out[count++] = (VkSemaphoreSubmitInfo){
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
            .semaphore = vk->queues[q].timeline,
            .value = vk->queues[q].base + wait->value,
            .stageMask = wait->stages,
        };
    }
    return count;
}

/* Semaphores of engines and swapchains. */
static uint32_t gather_syncs(const hdi_vk_frame *frame, uint32_t s, VkSemaphoreSubmitInfo *out)
{
    const hd_vk *vk = frame->vk;
    uint32_t count = 0;
    for (uint32_t i = 0; i < vk->sync_count; i++) {
        const hdi_vk_sync *sync = &vk->syncs[i];
        if (sync->wait_submit == s && sync->sync.wait)
            out[count++] = all_commands(sync->sync.wait, sync->sync.wait_value);
    }
    return count;
}

/* ---- host ---- */

static hd_result copy_host_pass(const hdi_vk_frame *frame, uint32_t pass, hdi_vk_host_pass *out)
{
    uint32_t begin = frame->decl.pass_use_begin[pass], end = frame->decl.pass_use_begin[pass + 1], count = 0;
    for (uint32_t u = begin; u < end; u++) { /* any version of a resource names it */
        for (uint32_t id = hdi_handle(frame->graph, frame->decl.use_res[u]); id; id = hdi_handle_next(frame->graph, id))
            count++;
    }
    const char *name = frame->decl.pass_exec[pass].name ? frame->decl.pass_exec[pass].name : "";
    char *kept_name = HDI_ARENA_ARRAY(&frame->slot->arena, char, strlen(name) + 1); /* it may be gone by then */
    if (!kept_name)
        return HD_OUT_OF_MEMORY;
    memcpy(kept_name, name, strlen(name) + 1);
    *out = (hdi_vk_host_pass){
        .name = kept_name,
        .record = frame->decl.pass_exec[pass].record,
        .user = frame->decl.pass_exec[pass].user,
        .pass = pass,
        .uses = HDI_ARENA_ARRAY(&frame->slot->arena, hdi_vk_host_use, count),
        .use_count = count,
    };
    if (!out->uses)
        return HD_OUT_OF_MEMORY;
    count = 0;
    for (uint32_t u = begin; u < end; u++) {
        uint32_t res = frame->decl.use_res[u];
        for (uint32_t id = hdi_handle(frame->graph, res); id; id = hdi_handle_next(frame->graph, id))
            out->uses[count++] = (hdi_vk_host_use){id, frame->bound[res]};
    }
    return frame->vk->observer ? frame->vk->observer->host_pass_kept(frame, pass, &out->observed) : HD_OK;
}

static hd_result copy_host_submit(const hdi_vk_frame *frame, uint32_t s, hdi_vk_host_submit *out)
{
    hdi_arena *arena = &frame->slot->arena;
    const hd_plan_submit *submit = &frame->plan.submits[s];
    uint32_t most = submit->wait_count + frame->vk->queue_count + 1;
    VkSemaphoreSubmitInfo *waits = HDI_ARENA_ARRAY(arena, VkSemaphoreSubmitInfo, most);
    out->semaphores = HDI_ARENA_ARRAY(arena, VkSemaphore, most);
    out->values = HDI_ARENA_ARRAY(arena, uint64_t, most);
    out->passes = HDI_ARENA_ARRAY(arena, hdi_vk_host_pass, submit->command_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    out->wait_count = gather_waits(frame, s, true, waits);
    out->wait_count += gather_waits(frame, s, false, waits + out->wait_count);
    for (uint32_t w = 0; w < out->wait_count; w++) {
        out->semaphores[w] = waits[w].semaphore;
        out->values[w] = waits[w].value;
    }
    out->pass_count = 0;
    out->signal = signal_value(frame, s);
    hd_result result = HD_OK;
    for (uint32_t c = 0; c < submit->command_count && result == HD_OK; c++) {
        const hd_plan_command *command = &frame->plan.commands[submit->command_begin + c];
        if (command->kind == HD_COMMAND_PASS)
            result = copy_host_pass(frame, command->index, &out->passes[out->pass_count++]);
    }
    return result;
}

static hd_result copy_host_submits(const hdi_vk_frame *frame)
{
    hdi_vk_slot *slot = frame->slot;
    slot->host_submits = HDI_ARENA_ARRAY(&slot->arena, hdi_vk_host_submit, frame->plan.submit_count);
    if (!slot->host_submits)
        return HD_OUT_OF_MEMORY;
    hd_result result = HD_OK;
    for (uint32_t s = 0; s < frame->plan.submit_count && result == HD_OK; s++) {
        if (frame->queue_of[frame->plan.submits[s].queue] == frame->vk->queue_count)
            result = copy_host_submit(frame, s, &slot->host_submits[slot->host_submit_count++]);
    }
    if (result == HD_OK && slot->host_submit_count)
        result = hdi_vk_host_start(frame->vk);
    return result;
}

/* ---- GPU ---- */

typedef struct gpu_submits {
    VkSubmitInfo2 *infos;
    uint32_t *info_begin; /* by plan submit; those of the host have none, some two or three */
    bool *after_host;     /* by plan submit: the first of its infos waits for the host, the next one begins a call */
    VkSemaphoreSubmitInfo *waits, *signals;
    uint64_t *values; /* by plan submit: of the queue's own timeline; 0: none */
    VkCommandBufferSubmitInfo *buffers;
    uint64_t host_needed[HD_MAX_QUEUES]; /* hdi_vk_queue.host_needed, as the frame leaves it */
} gpu_submits;

/* A submit on queue q waits for a value of queue p. What p was given since that value counts as well. */
static void need_host(const hd_vk *vk, uint64_t *host_needed, uint32_t q, uint32_t p, uint64_t value)
{
    uint64_t needed = p == vk->queue_count ? value : host_needed[p];
    for (uint32_t same = 0; same < vk->queue_count; same++) {
        if (vk->queues[same].desc.queue == vk->queues[q].desc.queue && needed > host_needed[same])
            host_needed[same] = needed;
    }
}

/* Raises what the submit's queue depends on of the host, and notes it for the semaphores that the submit signals. */
static void note_host(const hdi_vk_frame *frame, uint32_t s, uint64_t *host_needed)
{
    const hd_vk *vk = frame->vk;
    const hd_plan_submit *submit = &frame->plan.submits[s];
    const uint64_t *joined = &frame->join_values[(size_t)s * (vk->queue_count + 1)];
    uint32_t q = frame->queue_of[submit->queue];
    for (uint32_t p = 0; p <= vk->queue_count; p++) {
        if (joined[p] != 0)
            need_host(vk, host_needed, q, p, joined[p]);
    }
    for (uint32_t w = submit->wait_begin; w < submit->wait_begin + submit->wait_count; w++) {
        uint32_t p = frame->queue_of[frame->plan.waits[w].queue];
        need_host(vk, host_needed, q, p, vk->queues[p].base + frame->plan.waits[w].value);
    }
    for (uint32_t i = 0; i < vk->sync_count; i++) {
        if (vk->syncs[i].signal_submit == s)
            vk->syncs[i].host_needed = host_needed[q];
    }
}

/* The plan's submit as it stands, or in two where some of its commands need not wait for the semaphores of an engine or
 * a swapchain: an earlier submit's waits hold back the later one too, and its signals come last. */
static uint32_t split(const hdi_vk_frame *frame, uint32_t s, VkSubmitInfo2 *infos, VkSemaphoreSubmitInfo *synced,
                      uint32_t synced_count)
{
    uint32_t command = hdi_vk_synced_command(frame, s), begin = frame->submit_batch_begin[s], at = begin;
    while (command != HD_NONE && at < frame->submit_batch_begin[s + 1] && frame->batches[at].command_begin < command)
        at++;
    if (at == begin || at == frame->submit_batch_begin[s + 1]) {
        infos[0].waitSemaphoreInfoCount += synced_count; /* they lie behind the others */
        return 1;
    }
    infos[1] = infos[0];
    infos[0].commandBufferInfoCount = at - begin;
    infos[0].signalSemaphoreInfoCount = 0;
    infos[1].commandBufferInfoCount -= at - begin;
    infos[1].pCommandBufferInfos += at - begin;
    infos[1].waitSemaphoreInfoCount = synced_count;
    infos[1].pWaitSemaphoreInfos = synced;
    return 2;
}

static uint32_t gather_signals(const hdi_vk_frame *frame, uint32_t s, uint64_t value, VkSemaphoreSubmitInfo *signals)
{
    const hd_vk *vk = frame->vk;
    uint32_t q = frame->queue_of[frame->plan.submits[s].queue], count = 0;
    if (value) { /* a frame's end must cover everything, whatever stages the plan's own waits asked for */
        signals[count] = all_commands(vk->queues[q].timeline, value);
        if (frame->ends.last[q] != s)
            signals[count].stageMask = frame->plan.submits[s].signal_stages;
        count++;
    }
    for (uint32_t i = 0; i < vk->sync_count; i++) {
        const hdi_vk_sync *sync = &vk->syncs[i];
        if (sync->signal_submit == s && sync->sync.signal)
            signals[count++] = all_commands(sync->sync.signal, sync->sync.signal_value);
    }
    return count;
}

static hd_result build(const hdi_vk_frame *frame, gpu_submits *out)
{
    hdi_arena *arena = &frame->slot->arena;
    uint32_t queues = frame->vk->queue_count + 1, submit_count = frame->plan.submit_count, info = 0;
    uint32_t sync_count = frame->vk->sync_count;
    out->infos = HDI_ARENA_ARRAY(arena, VkSubmitInfo2, 2 * (size_t)submit_count + sync_count);
    out->after_host = HDI_ARENA_ZEROED(arena, bool, submit_count);
    out->info_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)submit_count + 1);
    out->signals = HDI_ARENA_ARRAY(arena, VkSemaphoreSubmitInfo, (size_t)submit_count + sync_count);
    out->values = HDI_ARENA_ZEROED(arena, uint64_t, submit_count);
    out->waits = HDI_ARENA_ARRAY(arena, VkSemaphoreSubmitInfo,
                                 (size_t)frame->plan.wait_count + (size_t)queues * submit_count + sync_count);
    out->buffers = HDI_ARENA_ZEROED(arena, VkCommandBufferSubmitInfo, frame->batch_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    VkSemaphoreSubmitInfo *waits = out->waits, *signals = out->signals;
    for (uint32_t q = 0; q < queues; q++)
        out->host_needed[q] = frame->vk->queues[q].host_needed;
    for (uint32_t b = 0; b < frame->batch_count; b++) {
        out->buffers[b].sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
        out->buffers[b].commandBuffer = frame->batches[b].made.commands;
    }
    for (uint32_t s = 0; s < submit_count; s++) {
        out->info_begin[s] = info;
        if (frame->queue_of[frame->plan.submits[s].queue] == frame->vk->queue_count)
            continue;
        note_host(frame, s, out->host_needed);
        out->values[s] = signal_value(frame, s);
        uint32_t host_count = gather_waits(frame, s, true, waits);
        if (host_count) {
            out->after_host[s] = true;
            out->infos[info++] = (VkSubmitInfo2){
                .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                .waitSemaphoreInfoCount = host_count,
                .pWaitSemaphoreInfos = waits,
            };
            waits += host_count;
        }
        uint32_t wait_count = gather_waits(frame, s, false, waits), begin = frame->submit_batch_begin[s];
        uint32_t synced_count = gather_syncs(frame, s, waits + wait_count);
        uint32_t signal_count = gather_signals(frame, s, out->values[s], signals);
        out->infos[info] = (VkSubmitInfo2){
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
            .waitSemaphoreInfoCount = wait_count,
            .pWaitSemaphoreInfos = waits,
            .commandBufferInfoCount = frame->submit_batch_begin[s + 1] - begin,
            .pCommandBufferInfos = out->buffers + begin,
            .signalSemaphoreInfoCount = signal_count,
            .pSignalSemaphoreInfos = signals,
        };
        info += synced_count ? split(frame, s, &out->infos[info], waits + wait_count, synced_count) : 1;
        waits += wait_count + synced_count;
        signals += signal_count;
    }
    out->info_begin[submit_count] = info;
    return HD_OK;
}

/* What is to be handed over of a queue's neighbours: infos from begin on, with which submits from first on end. */
typedef struct call_place {
    uint32_t queue, first, begin;
} call_place;

/* Infos up to end in one call, with which the submits up to last end. *any: something was handed over; what comes then
 * is worth some patience, since half a frame costs all later ones. */
static hd_result call(hdi_vk_frame *frame, const gpu_submits *submits, call_place *at, uint32_t last, uint32_t end,
                      bool *any)
{
    hd_vk *vk = frame->vk;
    hdi_vk_queue *queue = &vk->queues[at->queue];
    uint64_t start = vk->times ? hdi_clock_ns() : 0;
    uint32_t tries = 0;
    VkResult result;
    do
        result = vk->fn.vkQueueSubmit2(queue->desc.queue, end - at->begin, &submits->infos[at->begin], VK_NULL_HANDLE);
    while (*any && hdi_vk_try_again(result, &tries));
    if (result != VK_SUCCESS)
        return hdi_vk_result(vk, result, "vkQueueSubmit2");
    *any = true;
    if (vk->times)
        hdi_vk_timing_note_submit(frame, at->queue, start, hdi_clock_ns());
    for (uint32_t s = at->first; s < last; s++) {
        if (submits->values[s])
            queue->submitted = submits->values[s];
    }
    at->first = last;
    at->begin = end;
    return HD_OK;
}

static hd_result hand_over(hdi_vk_frame *frame, const gpu_submits *submits, bool *any)
{
    const hd_plan_view *plan = &frame->plan;
    uint32_t s = 0;
    *any = false;
    while (s < plan->submit_count) {
        call_place at = {frame->queue_of[plan->submits[s].queue], s, submits->info_begin[s]};
        hd_result result = HD_OK;
        for (; s < plan->submit_count && frame->queue_of[plan->submits[s].queue] == at.queue; s++) {
            if (submits->after_host[s] && result == HD_OK)
                result = call(frame, submits, &at, s, submits->info_begin[s] + 1, any);
        }
        if (at.queue != frame->vk->queue_count && result == HD_OK)
            result = call(frame, submits, &at, s, submits->info_begin[s], any);
        if (result != HD_OK)
            return result;
    }
    return HD_OK;
}

hd_result hdi_vk_submit(hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    hdi_vk_slot *slot = frame->slot;
    gpu_submits submits;
    hd_result result = copy_host_submits(frame);
    if (result == HD_OK)
        result = build(frame, &submits);
    if (result == HD_OK)
        result = hdi_vk_timing_note(frame);
    if (result == HD_OK)
        result = hdi_vk_await_before(frame);
    if (result != HD_OK)
        return result;
    bool any;
    result = hand_over(frame, &submits, &any);
    if (result != HD_OK && !any)
        return result;
    if (result != HD_OK)
        hdi_vk_lose(vk, result); /* half a frame is under way: no later frame can rely on anything */
    for (uint32_t q = 0; q <= vk->queue_count; q++) {
        vk->queues[q].base = slot->end[q] = frame->ends.end[q];
        vk->queues[q].host_needed = submits.host_needed[q];
        vk->fresh[q] &= frame->ends.first[q] == HD_NONE;
    }
    memcpy(vk->known, frame->known, sizeof(vk->known));
    if (vk->host_started) { /* when lost, for the signals that what is under way may wait for */
        vk->queues[vk->queue_count].submitted = frame->ends.end[vk->queue_count];
        slot->by_host = true;
        hdi_vk_host_push(vk, slot);
    }
    return result;
}
