#include "history.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "hold.h"
#include "vk_device.h"
#include "vk_frame.h"
#include "vk_memory.h"
#include "vk_timing.h"
#include "vk_window.h"

/* Life of an hd_vk: create takes or makes the device (device.c), loads its functions and makes the timelines; destroy
 * undoes whatever of that there is, so create calls it when it fails half way. */

/* What heddle cannot do without; logs what is missing. */
static hd_result check_device(hd_vk *vk)
{
    VkPhysicalDeviceMaintenance4Properties maintenance4 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES};
    VkPhysicalDeviceMaintenance3Properties maintenance3 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, .pNext = &maintenance4};
    VkPhysicalDeviceDepthStencilResolveProperties resolves = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEPTH_STENCIL_RESOLVE_PROPERTIES, .pNext = &maintenance3};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    vk->in.vkGetPhysicalDeviceProperties(vk->physical_device, &properties.properties);
    const VkPhysicalDeviceProperties *base = &properties.properties;
    memcpy(vk->device_name, base->deviceName, sizeof(vk->device_name));
    if (base->apiVersion < VK_API_VERSION_1_3) {
        hdi_log(&vk->log, HD_LOG_ERROR, "%s has Vulkan %u.%u, heddle needs 1.3", vk->device_name,
                VK_API_VERSION_MAJOR(base->apiVersion), VK_API_VERSION_MINOR(base->apiVersion));
        return HD_MISSING_FEATURE;
    }
    properties.pNext = &resolves;
    vk->in.vkGetPhysicalDeviceProperties2(vk->physical_device, &properties);
    vk->limits = base->limits;
    vk->max_buffer_bytes = maintenance4.maxBufferSize;
    vk->max_piece_bytes = maintenance3.maxMemoryAllocationSize;
    vk->depth_resolves = resolves.supportedDepthResolveModes;
    vk->stencil_resolves = resolves.supportedStencilResolveModes;
    vk->independent_resolves = resolves.independentResolve;
    vk->independent_resolve_none = resolves.independentResolveNone;
    VkPhysicalDeviceVulkan13Features has13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceVulkan12Features has12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                              .pNext = &has13};
    VkPhysicalDeviceFeatures2 has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &has12};
    vk->in.vkGetPhysicalDeviceFeatures2(vk->physical_device, &has);
    vk->aspects_apart = has12.separateDepthStencilLayouts;
    const char *missing = !has12.timelineSemaphore  ? "timelineSemaphore"
                          : !has13.synchronization2 ? "synchronization2"
                          : !has13.dynamicRendering ? "dynamicRendering"
                          : !has13.maintenance4     ? "maintenance4"
                                                    : NULL;
    if (missing) {
        hdi_log(&vk->log, HD_LOG_ERROR, "%s lacks the feature %s", vk->device_name, missing);
        return HD_MISSING_FEATURE;
    }
    vk->in.vkGetPhysicalDeviceMemoryProperties(vk->physical_device, &vk->memory);
    return HD_OK;
}

hd_result hdi_vk_use_physical_device(hd_vk *vk, VkPhysicalDevice device)
{
    vk->physical_device = device;
    return check_device(vk);
}

hd_result hdi_vk_make_timeline(hd_vk *vk, const char *name, VkSemaphore *out)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkResult made = vk->fn.vkCreateSemaphore(vk->device, &info, NULL, out);
    if (made != VK_SUCCESS) /* what it left there is not defined; so it is wherever something is made that is kept */
        *out = VK_NULL_HANDLE;
    else
        hdi_vk_name(vk, VK_OBJECT_TYPE_SEMAPHORE, (uint64_t)(uintptr_t)*out, name);
    return hdi_vk_result(vk, made, "vkCreateSemaphore");
}

static hd_result make_timelines(hd_vk *vk)
{
    static const char *const kinds[] = {"gfx queue", "compute queue", "transfer queue"};
    hd_result result = HD_OK;
    for (uint32_t q = 0; q <= vk->queue_count && result == HD_OK; q++) {
        char name[32] = "host queue";
        if (q < vk->queue_count)
            snprintf(name, sizeof(name), "%s %u", kinds[vk->queues[q].desc.kind], q);
        result = hdi_vk_make_timeline(vk, name, &vk->queues[q].timeline);
    }
    return result;
}

/* Distinct families, and each queue's place among them. */
static void number_families(hd_vk *vk)
{
    for (uint32_t q = 0; q < vk->queue_count; q++) {
        uint32_t f = 0;
        while (f < vk->family_count && vk->families[f] != vk->queues[q].desc.family)
            f++;
        if (f == vk->family_count)
            vk->families[vk->family_count++] = vk->queues[q].desc.family;
        vk->queues[q].family_index = f;
        if (vk->observer)
            vk->observer->queue(vk->queues[q].desc.queue, (uint32_t)vk->queues[q].desc.kind, vk->queues[q].desc.family);
    }
    vk->queues[vk->queue_count].desc = (hd_vk_queue_desc){.kind = HD_QUEUE_HOST, .family = HD_NONE};
}

static hd_result open_device(hd_vk *vk, const hd_vk_desc *desc)
{
    hd_result result = desc->device ? hdi_vk_adopt(vk, desc) : hdi_vk_make(vk, desc);
    if (result != HD_OK)
        return result;
    number_families(vk);
    result = hdi_vk_timing_open(vk, desc->timed_frames);
    return result == HD_OK ? make_timelines(vk) : result;
}

/* Null, or what is wrong with the description. */
static const char *desc_fault(const hd_vk_desc *desc, uint32_t frames_in_flight)
{
    if ((desc->memory.allocate == NULL) != (desc->memory.free == NULL))
        return "memory callbacks are an allocate and a free";
    _Static_assert(HDI_VK_MAX_FRAMES == 4, "the sentence says so");
    if (frames_in_flight > HDI_VK_MAX_FRAMES)
        return "frames_in_flight is more than 4";
    if (desc->memory_copies > frames_in_flight)
        return "memory_copies is more than frames_in_flight";
    if (desc->timed_frames > 1024)
        return "timed_frames is more than 1024";
    if (desc->queue_count && !desc->queues)
        return "queues is null and queue_count is not 0";
    return desc->queue_kind_count && !desc->queue_kinds ? "queue_kinds is null and queue_kind_count is not 0" : NULL;
}

/* What create logs while it goes on: the last error is why it failed. */
typedef struct listener {
    const hd_log *log; /* the engine's */
    char text[sizeof(((hd_error *)0)->text)];
} listener;

static void listen(hd_log_level level, const char *text, void *user)
{
    listener *l = user;
    if (level == HD_LOG_ERROR)
        snprintf(l->text, sizeof(l->text), "%s", text);
    if (l->log->write)
        l->log->write(level, text, l->log->user);
}

static hd_result create(const hd_vk_desc *desc, hd_vk **out)
{
    const uint32_t frames_in_flight = desc->frames_in_flight ? desc->frames_in_flight : 2;
    const char *fault = desc_fault(desc, frames_in_flight);
    if (fault) {
        hdi_log(&desc->log, HD_LOG_ERROR, "an hd_vk cannot be made: %s", fault);
        return HD_INVALID_ARGUMENT;
    }
    PFN_vkGetInstanceProcAddr get = desc->get_instance_proc ? desc->get_instance_proc : hdi_vk_find_loader();
    if (!get) {
        hdi_log(&desc->log, HD_LOG_ERROR, "%s", hd_result_text(HD_NO_LOADER));
        return HD_NO_LOADER;
    }
    hd_vk *vk = hdi_alloc(&desc->allocator, sizeof(*vk), 64);
    if (!vk)
        return HD_OUT_OF_MEMORY;
    memset(vk, 0, sizeof(*vk));
    vk->allocator = desc->allocator;
    vk->log = desc->log;
    vk->jobs = desc->jobs;
    hdi_jobs_hold(vk->jobs);
    vk->memory_callbacks = desc->memory;
    vk->view_callbacks = desc->views;
    vk->pass_callbacks = desc->passes;
    vk->alignment = 1;
    vk->get_instance_proc = get;
    hdi_vk_observer_fn observer = (hdi_vk_observer_fn)get(NULL, HDI_VK_OBSERVER);
    vk->observer = observer ? observer() : NULL;
    vk->slot_count = frames_in_flight;
    vk->copy_count = desc->memory_copies ? desc->memory_copies : 1;
    pthread_mutex_init(&vk->size_lock, NULL);
    pthread_mutex_init(&vk->view_lock, NULL);
    pthread_mutex_init(&vk->pool_lock, NULL);
    pthread_mutex_init(&vk->host_lock, NULL);
    pthread_mutex_init(&vk->error_lock, NULL);
    pthread_mutex_init(&vk->uploads.lock, NULL);
    pthread_cond_init(&vk->host_wake, NULL);
    pthread_cond_init(&vk->host_told, NULL);
    for (uint32_t i = 0; i < vk->slot_count; i++)
        hdi_arena_init(&vk->slots[i].arena, &vk->allocator);
    hdi_vk_help_open(vk);
    hd_result result = open_device(vk, desc);
    if (result == HD_OK && desc->upload_bytes)
        result = hdi_vk_uploads_open(vk, desc->upload_bytes);
    if (result != HD_OK) {
        hd_vk_destroy(vk);
        return result;
    }
    *out = vk;
    return HD_OK;
}

hd_result hd_vk_create(const hd_vk_desc *desc, hd_vk **out)
{
    hd_vk_desc mine = desc ? *desc : (hd_vk_desc){0};
    const hd_log log = mine.log;
    listener l = {.log = &log};
    if (out)
        *out = NULL;
    mine.log = (hd_log){listen, &l};
    const hd_result result = out ? create(&mine, out) : HD_INVALID_ARGUMENT;
    if (result == HD_OK)
        (*out)->log = log;
    if (mine.error) {
        *mine.error = (hd_error){.result = result, .pass = HD_NONE, .resource = HD_NONE, .use = HD_NONE};
        if (result != HD_OK)
            snprintf(mine.error->text, sizeof(mine.error->text), "%s", l.text[0] ? l.text : hd_result_text(result));
    }
    return result;
}

static void close_device(hd_vk *vk)
{
    hdi_vk_host_stop(vk);                     /* once it has done all that it was given */
    if (vk->queues[vk->queue_count].timeline) /* the last thing that create makes */
        hdi_vk_drain(vk);
    hdi_vk_help_close(vk);
    hdi_vk_uploads_close(vk);
    hdi_vk_spare_free(vk);
    hdi_vk_sweep_histories(vk, 0);
    hdi_vk_sweep_objects(vk, 0);
    hdi_vk_sweep_heaps(vk, 0);
    for (uint32_t i = 0; i < vk->slot_count; i++)
        hdi_vk_slot_free(vk, &vk->slots[i]);
    for (uint32_t q = 0; q <= vk->queue_count; q++) {
        if (vk->queues[q].timeline)
            vk->fn.vkDestroySemaphore(vk->device, vk->queues[q].timeline, NULL);
    }
}

void hd_vk_destroy(hd_vk *vk)
{
    if (!vk || hdi_vk_enter(vk, "hd_vk_destroy") != HD_OK)
        return;
    hdi_vk_drop_swapchains(vk);
    close_device(vk);
    if (vk->owns_device) {
        bool device_stays = vk->device && !vk->fn.vkDestroyDevice; /* the instance must outlive it */
        if (vk->device && !device_stays)
            vk->fn.vkDestroyDevice(vk->device, NULL);
        if (vk->instance && vk->in.vkDestroyInstance && !device_stays)
            vk->in.vkDestroyInstance(vk->instance, NULL);
    }
    hdi_vk_free_sizes(vk);
    hdi_vk_sweep_kept(vk, 0);
    hdi_vk_timing_close(vk);
    hdi_free(&vk->allocator, vk->syncs, vk->sync_capacity * sizeof(*vk->syncs));
    hdi_free(&vk->allocator, vk->imports, vk->import_capacity * sizeof(*vk->imports));
    hdi_free(&vk->allocator, vk->histories, vk->history_capacity * sizeof(*vk->histories));
    pthread_mutex_destroy(&vk->size_lock);
    pthread_mutex_destroy(&vk->view_lock);
    pthread_mutex_destroy(&vk->pool_lock);
    pthread_mutex_destroy(&vk->host_lock);
    pthread_mutex_destroy(&vk->error_lock);
    pthread_mutex_destroy(&vk->uploads.lock);
    pthread_cond_destroy(&vk->host_wake);
    pthread_cond_destroy(&vk->host_told);
    hdi_jobs_let_go(vk->jobs);
    hd_allocator allocator = vk->allocator;
    hdi_free(&allocator, vk, sizeof(*vk));
}

hd_result hd_vk_wait(hd_vk *vk)
{
    hd_result result = vk ? hdi_vk_enter(vk, "hd_vk_wait") : HD_INVALID_ARGUMENT;
    if (result != HD_OK)
        return result;
    result = hdi_vk_wait_all(vk);
    if (result == HD_OK)
        hdi_vk_uploads_finish(vk, vk->frame);
    for (uint64_t i = 0; i < vk->slot_count && result == HD_OK; i++)
        hdi_vk_timing_collect(vk, &vk->slots[(vk->frame + i) % vk->slot_count]); /* the oldest first */
    if (result == HD_OK) /* the host thread may have found the device lost while everything else came to its end */
        result = (hd_result)atomic_load_explicit(&vk->lost, memory_order_acquire);
    for (uint64_t i = 0; i < vk->slot_count && result == HD_OK; i++)
        result = hdi_vk_failed_before(vk, &vk->slots[(vk->frame + i) % vk->slot_count]);
    return hdi_vk_leave(vk, result, NULL);
}

void hd_vk_info_get(const hd_vk *vk, hd_vk_info *out)
{
    if (out)
        *out = (hd_vk_info){0};
    if (!vk || !out)
        return;
    *out = (hd_vk_info){
        .instance = vk->instance,
        .physical_device = vk->physical_device,
        .device = vk->device,
        .get_instance_proc = vk->get_instance_proc,
        .device_name = vk->device_name,
        .queue_count = vk->queue_count,
        .frame = vk->frame,
    };
    for (uint32_t q = 0; q < vk->queue_count; q++)
        out->queues[q] = vk->queues[q].desc;
}

void hd_vk_frame_stats_get(const hd_vk *vk, hd_vk_frame_stats *out)
{
    if (out)
        *out = vk ? vk->stats : (hd_vk_frame_stats){0};
    if (!out || !vk)
        return;
    out->memory_bytes = out->heap_bytes + out->history_bytes + out->staging_bytes;
    out->upload_bytes = hdi_vk_uploads_held((hd_vk *)(uintptr_t)vk);
}

void hd_vk_trim(hd_vk *vk)
{
    if (!vk || hdi_vk_enter(vk, "hd_vk_trim") != HD_OK)
        return;
    hdi_vk_sweep_histories(vk, vk->slot_count);
    hdi_vk_sweep_objects(vk, vk->slot_count);
    hdi_vk_sweep_heaps(vk, vk->slot_count);
    hdi_vk_sweep_staging(vk, vk->slot_count);
    hdi_vk_sweep_kept(vk, vk->slot_count);
    hdi_vk_shrink_soon(vk);
    hdi_vk_leave(vk, HD_OK, NULL);
}
