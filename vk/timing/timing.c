#include "vk_device.h"
#include "vk_timing.h"

#include <string.h>

#include "alloc.h"
#include "clock.h"

/* Times of frames: two timestamps around every pass on the GPU (the first where its commands could begin at the
 * earliest, the second behind all of them), CPU times of record jobs, submits and host passes. What there is to measure
 * is noted in the frame's slot; when its frame has finished it becomes an entry of a ring of times.
 *
 * One time base: ticks of the device are brought to CLOCK_MONOTONIC by a pair of readings that the driver took at one
 * moment, taken anew with every frame because the two clocks drift apart. A device without such readings gets the
 * smallest offset with which no frame begins before it was submitted: right up to the shortest delay that was ever
 * seen. */

/* ---- names ---- */

void hdi_vk_name(const hd_vk *vk, VkObjectType type, uint64_t handle, const char *name)
{
    if (!name || !vk->fn.vkSetDebugUtilsObjectNameEXT)
        return;
    VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                          .objectType = type,
                                          .objectHandle = handle,
                                          .pObjectName = name};
    vk->fn.vkSetDebugUtilsObjectNameEXT(vk->device, &info);
}

/* ---- clocks ---- */

/* Whether the device can read its clock and the monotonic one at once. */
static bool has_domains(const hd_vk *vk)
{
    PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT get =
        (PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)vk->get_instance_proc(
            vk->instance, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT");
    if (!get)
        get = (PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)vk->get_instance_proc(
            vk->instance, "vkGetPhysicalDeviceCalibrateableTimeDomainsKHR");
    VkTimeDomainEXT domains[16];
    uint32_t count = 16;
    if (!get || get(vk->physical_device, &count, domains) < VK_SUCCESS)
        return false;
    bool device = false, monotonic = false;
    for (uint32_t i = 0; i < count; i++) {
        device |= domains[i] == VK_TIME_DOMAIN_DEVICE_EXT;
        monotonic |= domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    }
    return device && monotonic;
}

static void calibrate(hd_vk *vk)
{
    const VkCalibratedTimestampInfoEXT wanted[2] = {
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT},
    };
    uint64_t readings[2], deviation;
    if (vk->fn.vkGetCalibratedTimestampsEXT(vk->device, 2, wanted, readings, &deviation) != VK_SUCCESS)
        return;
    vk->calibrated_ticks = readings[0];
    vk->calibrated_ns = readings[1];
}

/* Ticks of a queue with fewer bits than 64 wrap: the distance from the last calibration is less than half a turn. */
static uint64_t to_ns(const hd_vk *vk, uint32_t queue, uint64_t ticks)
{
    uint32_t bits = vk->queues[queue].timestamp_bits;
    uint64_t turn = ticks - vk->calibrated_ticks;
    int64_t apart = bits < 64 ? (int64_t)(turn << (64 - bits)) >> (64 - bits) : (int64_t)turn;
    return vk->calibrated_ns + (uint64_t)(int64_t)((double)apart * (double)vk->limits.timestampPeriod);
}

/* ---- life ---- */

hd_result hdi_vk_timing_open(hd_vk *vk, uint32_t frames)
{
    if (frames == 0)
        return HD_OK;
    VkQueueFamilyProperties families[32];
    uint32_t count = 32;
    vk->in.vkGetPhysicalDeviceQueueFamilyProperties(vk->physical_device, &count, families);
    for (uint32_t q = 0; q < vk->queue_count; q++) {
        uint32_t family = vk->queues[q].desc.family;
        vk->queues[q].timestamp_bits = family < count ? families[family].timestampValidBits : 0;
    }
    vk->times = hdi_alloc(&vk->allocator, frames * sizeof(*vk->times), 64);
    if (!vk->times)
        return HD_OUT_OF_MEMORY;
    memset(vk->times, 0, frames * sizeof(*vk->times));
    vk->times_capacity = frames;
    vk->calibrated = vk->fn.vkGetCalibratedTimestampsEXT && has_domains(vk);
    return HD_OK;
}

void hdi_vk_timing_close(hd_vk *vk)
{
    for (uint32_t i = 0; i < vk->times_capacity; i++) {
        hdi_free(&vk->allocator, vk->times[i].spans, vk->times[i].span_capacity * sizeof(hd_vk_span));
        hdi_free(&vk->allocator, vk->times[i].names, vk->times[i].name_capacity);
    }
    hdi_free(&vk->allocator, vk->times, vk->times_capacity * sizeof(*vk->times));
}

/* ---- a frame in flight ---- */

static hd_result grow_queries(hd_vk *vk, hdi_vk_slot *slot, uint32_t count)
{
    if (count <= slot->query_capacity)
        return HD_OK;
    uint32_t capacity = 64;
    while (capacity < count)
        capacity *= 2;
    if (slot->queries)
        vk->fn.vkDestroyQueryPool(vk->device, slot->queries, NULL);
    slot->queries = VK_NULL_HANDLE;
    slot->query_capacity = 0;
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                  .queryCount = capacity};
    VkResult made = vk->fn.vkCreateQueryPool(vk->device, &info, NULL, &slot->queries);
    if (made == VK_SUCCESS) {
        slot->query_capacity = capacity;
        hdi_vk_name(vk, VK_OBJECT_TYPE_QUERY_POOL, (uint64_t)(uintptr_t)slot->queries, "times of passes");
    } else {
        slot->queries = VK_NULL_HANDLE;
    }
    return hdi_vk_result(vk, made, "vkCreateQueryPool");
}

hd_result hdi_vk_timing_begin(hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    hdi_vk_slot *slot = frame->slot;
    if (!vk->times)
        return HD_OK;
    slot->query_count = 2 * frame->plan.pass_count;
    hd_result result = grow_queries(vk, slot, slot->query_count);
    if (result != HD_OK)
        return result;
    if (slot->query_count)
        vk->fn.vkResetQueryPool(vk->device, slot->queries, 0, slot->query_count);
    slot->timed_capacity =
        frame->plan.command_count + frame->batch_count + frame->strand_count + 2 * frame->plan.submit_count;
    slot->timed = HDI_ARENA_ARRAY(&slot->arena, hdi_vk_timed, slot->timed_capacity);
    return slot->timed ? HD_OK : HD_OUT_OF_MEMORY;
}

void hdi_vk_timing_stamp(const hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t queue, uint32_t pass,
                         uint32_t after)
{
    const hd_vk *vk = frame->vk;
    if (vk->queues[queue].timestamp_bits)
        vk->fn.vkCmdWriteTimestamp2(commands,
                                    after ? VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT : VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT,
                                    frame->slot->queries, 2 * pass + after);
}

static hdi_vk_timed *add(hdi_vk_slot *slot, hd_vk_span_kind kind, uint32_t queue, uint32_t pass, const char *name)
{
    if (slot->timed_count == slot->timed_capacity)
        return NULL;
    hdi_vk_timed *timed = &slot->timed[slot->timed_count++];
    *timed = (hdi_vk_timed){{.kind = kind, .queue = queue, .pass = pass, .worker = HD_NONE, .name = name}, NULL};
    return timed;
}

/* The engine's names live until the frame is executed; these, until its slot comes round. */
static const char *keep_name(hdi_vk_frame *frame, uint32_t pass)
{
    const char *name = pass == HD_NONE ? NULL : frame->decl.pass_exec[pass].name;
    size_t bytes = name ? strlen(name) + 1 : 0;
    char *kept = name ? hdi_arena_alloc(&frame->slot->arena, bytes) : NULL;
    return kept ? memcpy(kept, name, bytes) : "";
}

static void note_made(hdi_vk_frame *frame, const hdi_vk_made *made, uint32_t batch, uint32_t command_begin,
                      uint32_t command_count)
{
    uint32_t pass = HD_NONE, queue = frame->queue_of[frame->plan.submits[frame->batches[batch].submit].queue];
    for (uint32_t c = command_begin; c < command_begin + command_count && pass == HD_NONE; c++) {
        if (frame->plan.commands[c].kind == HD_COMMAND_PASS)
            pass = frame->plan.commands[c].index;
    }
    hdi_vk_timed *timed = add(frame->slot, HD_VK_SPAN_RECORD, queue, pass, keep_name(frame, pass));
    if (!timed)
        return;
    timed->span.worker = made->worker;
    timed->span.begin_ns = made->begin_ns;
    timed->span.end_ns = made->end_ns;
}

hd_result hdi_vk_timing_note(hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    hdi_vk_slot *slot = frame->slot;
    if (!slot->timed)
        return HD_OK;
    if (vk->calibrated)
        calibrate(vk);
    for (uint32_t s = 0; s < frame->plan.submit_count; s++) {
        const hd_plan_submit *submit = &frame->plan.submits[s];
        uint32_t q = frame->queue_of[submit->queue];
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
            uint32_t pass = frame->plan.commands[c].index;
            if (frame->plan.commands[c].kind == HD_COMMAND_PASS && q != vk->queue_count)
                add(slot, HD_VK_SPAN_PASS, q, pass, keep_name(frame, pass));
        }
    }
    for (uint32_t s = 0; s < slot->host_submit_count; s++) {
        for (uint32_t p = 0; p < slot->host_submits[s].pass_count; p++) {
            const hdi_vk_host_pass *pass = &slot->host_submits[s].passes[p];
            hdi_vk_timed *timed = add(slot, HD_VK_SPAN_HOST_PASS, vk->queue_count, pass->pass, pass->name);
            if (timed)
                timed->host = &pass->begin_ns;
        }
    }
    for (uint32_t b = 0; b < frame->batch_count; b++) {
        const hdi_vk_batch *batch = &frame->batches[b];
        note_made(frame, &batch->made, b, batch->command_begin, batch->command_count);
    }
    for (uint32_t s = 0; s < frame->strand_count; s++) {
        const hdi_vk_strand *strand = &frame->strands[s];
        note_made(frame, &strand->made, strand->batch, strand->command_begin, strand->command_count);
    }
    return slot->arena.failed ? HD_OUT_OF_MEMORY : HD_OK;
}

void hdi_vk_timing_note_submit(hdi_vk_frame *frame, uint32_t queue, uint64_t begin_ns, uint64_t end_ns)
{
    hdi_vk_timed *timed = frame->slot->timed ? add(frame->slot, HD_VK_SPAN_SUBMIT, queue, HD_NONE, "submit") : NULL;
    if (timed) {
        timed->span.begin_ns = begin_ns;
        timed->span.end_ns = end_ns;
    }
}

/* ---- a finished frame ---- */

typedef struct stamp {
    uint64_t ticks, available;
} stamp;

static uint64_t first_submit(const hdi_vk_slot *slot)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < slot->timed_count; i++) {
        if (slot->timed[i].span.kind == HD_VK_SPAN_SUBMIT && slot->timed[i].span.begin_ns < first)
            first = slot->timed[i].span.begin_ns;
    }
    return first;
}

/* Without calibration: no pass of the frame begins before its first submit did. */
static void bound_offset(hd_vk *vk, const hdi_vk_slot *slot, const stamp *stamps)
{
    uint64_t submit = first_submit(slot);
    for (uint32_t i = 0; i < slot->timed_count && submit != UINT64_MAX; i++) {
        const hd_vk_span *span = &slot->timed[i].span;
        if (span->kind != HD_VK_SPAN_PASS || !stamps[2 * span->pass].available)
            continue;
        if (vk->calibrated_ns == 0 || to_ns(vk, span->queue, stamps[2 * span->pass].ticks) < submit) {
            vk->calibrated_ticks = stamps[2 * span->pass].ticks;
            vk->calibrated_ns = submit;
        }
    }
}

static bool measured(const hd_vk *vk, const hdi_vk_timed *timed, const stamp *stamps, hd_vk_span *out)
{
    *out = timed->span;
    if (timed->host) {
        out->begin_ns = timed->host[0];
        out->end_ns = timed->host[1];
    } else if (out->kind == HD_VK_SPAN_PASS) {
        const stamp *pair = &stamps[2 * out->pass];
        if (!pair[0].available || !pair[1].available)
            return false;
        out->begin_ns = to_ns(vk, out->queue, pair[0].ticks);
        out->end_ns = to_ns(vk, out->queue, pair[1].ticks);
    }
    return out->end_ns >= out->begin_ns;
}

/* Memory that is not there costs times, not frames. */
static void keep_times(hd_vk *vk, hdi_vk_slot *slot, const stamp *stamps)
{
    hdi_vk_times *times = &vk->times[vk->times_count % vk->times_capacity];
    size_t name_bytes = 0;
    for (uint32_t i = 0; i < slot->timed_count; i++)
        name_bytes += strlen(slot->timed[i].span.name) + 1;
    times->span_count = 0;
    if (name_bytes > UINT32_MAX / 2 ||
        hdi_grow(&vk->allocator, (void **)&times->names, &times->name_capacity, (uint32_t)name_bytes, 1) != HD_OK ||
        hdi_grow(&vk->allocator, (void **)&times->spans, &times->span_capacity, slot->timed_count,
                 sizeof(*times->spans)) != HD_OK)
        return;
    times->frame = slot->frame;
    times->calibrated = vk->calibrated;
    char *name = times->names;
    for (uint32_t i = 0; i < slot->timed_count; i++) {
        hd_vk_span *span = &times->spans[times->span_count];
        if (!measured(vk, &slot->timed[i], stamps, span))
            continue;
        size_t bytes = strlen(span->name) + 1;
        span->name = memcpy(name, span->name, bytes);
        name += bytes;
        times->span_count++;
    }
    vk->times_count++;
}

void hdi_vk_timing_collect(hd_vk *vk, hdi_vk_slot *slot)
{
    if (slot->timed && slot->timed_count) {
        stamp *stamps = HDI_ARENA_ZEROED(&slot->arena, stamp, slot->query_count);
        VkResult got =
            stamps && slot->query_count
                ? vk->fn.vkGetQueryPoolResults(vk->device, slot->queries, 0, slot->query_count,
                                               slot->query_count * sizeof(*stamps), stamps, sizeof(*stamps),
                                               VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT)
                : VK_ERROR_OUT_OF_HOST_MEMORY;
        if (got >= VK_SUCCESS) { /* culled passes have no stamps: VK_NOT_READY */
            if (!vk->calibrated)
                bound_offset(vk, slot, stamps);
            keep_times(vk, slot, stamps);
        }
    }
    slot->timed = NULL;
    slot->timed_count = 0;
}

hd_result hd_vk_times_get(const hd_vk *vk, uint32_t back, hd_vk_times *out)
{
    if (!vk || !out || back >= vk->times_capacity || back >= vk->times_count)
        return HD_INVALID_ARGUMENT;
    const hdi_vk_times *times = &vk->times[(vk->times_count - 1 - back) % vk->times_capacity];
    *out = (hd_vk_times){times->frame, times->calibrated, times->span_count, times->spans};
    return HD_OK;
}
