#include "capture_state.h"

/* What the host waits for and signals, and what is presented. A host wait is noted once it has returned. Fences, idle
 * waits and what heddle's threads tell each other become semaphores. */

#define HOOKS(X)                                                                                                       \
    X(vkWaitSemaphores)                                                                                                \
    X(vkSignalSemaphore)                                                                                               \
    X(vkGetSemaphoreCounterValue)                                                                                      \
    X(vkWaitForFences)                                                                                                 \
    X(vkGetFenceStatus)                                                                                                \
    X(vkQueueWaitIdle)                                                                                                 \
    X(vkDeviceWaitIdle)                                                                                                \
    X(vkQueuePresentKHR)                                                                                               \
    X(vkAcquireNextImageKHR)                                                                                           \
    X(vkAcquireNextImage2KHR)
HOOKS(HDI_CAP_NEXT)

#define ALL VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT

static VkResult VKAPI_PTR hook_vkWaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout)
{
    VkResult result = NEXT(vkWaitSemaphores)(device, info, timeout);
    bool all = !(info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) || info->semaphoreCount == 1; /* else it is not known which */
    hdi_cap_lock();
    if (result == VK_SUCCESS && all && hdi_cap_open_host_locked("vkWaitSemaphores")) {
        for (uint32_t i = 0; i < info->semaphoreCount; i++)
            hdi_cap_sync_locked(hdi_cap_semaphore_locked(info->pSemaphores[i]), info->pValues[i], ALL, false);
        hdi_cap_close_waits_locked();
    }
    if (result == VK_SUCCESS)
        hdi_cap_learnt_locked(HD_NONE);
    hdi_cap_unlock();
    return result;
}

static VkResult VKAPI_PTR hook_vkSignalSemaphore(VkDevice device, const VkSemaphoreSignalInfo *info)
{
    hdi_cap_lock();
    hdi_cap_pass_writes_locked();
    hdi_cap_host_writes_locked();
    if (hdi_cap_open_host_locked("vkSignalSemaphore"))
        hdi_cap_sync_locked(hdi_cap_semaphore_locked(info->semaphore), info->value, ALL, true);
    else
        hdi_cap_remember_locked(&(VkSemaphoreSubmitInfo){.semaphore = info->semaphore, .value = info->value}, 1, true);
    hdi_cap_unlock();
    return NEXT(vkSignalSemaphore)(device, info);
}

static VkResult VKAPI_PTR hook_vkGetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore, uint64_t *value)
{
    VkResult result = NEXT(vkGetSemaphoreCounterValue)(device, semaphore, value);
    hdi_cap_lock();
    if (result == VK_SUCCESS && *value && hdi_cap_open_host_locked("vkGetSemaphoreCounterValue")) {
        hdi_cap_sync_locked(hdi_cap_semaphore_locked(semaphore), *value, ALL, false);
        hdi_cap_close_waits_locked();
        hdi_cap_learnt_locked(HD_NONE);
    }
    hdi_cap_unlock();
    return result;
}

/* known: that each is signalled. */
static void waited_for_fences(const char *name, uint32_t count, const VkFence *fences, bool known)
{
    hdi_cap_lock();
    if (known && hdi_cap_open_host_locked(name)) {
        for (uint32_t i = 0; i < count; i++) {
            hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_FENCE, HDI_CAP_HANDLE(fences[i]));
            if (object && object->value)
                hdi_cap_sync_locked(object, object->value, ALL, false);
        }
        hdi_cap_close_waits_locked();
    }
    hdi_cap_learnt_locked(HD_NONE);
    hdi_cap_unlock();
}

static VkResult VKAPI_PTR hook_vkWaitForFences(VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all,
                                               uint64_t timeout)
{
    VkResult result = NEXT(vkWaitForFences)(device, count, fences, all, timeout);
    if (result == VK_SUCCESS)
        waited_for_fences("vkWaitForFences", count, fences, all || count == 1);
    return result;
}

static VkResult VKAPI_PTR hook_vkGetFenceStatus(VkDevice device, VkFence fence)
{
    VkResult result = NEXT(vkGetFenceStatus)(device, fence);
    if (result == VK_SUCCESS)
        waited_for_fences("vkGetFenceStatus", 1, &fence, true);
    return result;
}

/* Everything of one queue has finished: a signal behind it, and a wait for that. */
static void idle_locked(uint32_t queue_object, const char *name)
{
    hdi_cap_object *object = &hdi_cap.objects[queue_object];
    hdi_cap_object *told = hdi_cap_find_locked(HDI_CAP_TOLD, object->handle);
    if (object->stream == HD_NONE) /* has done nothing */
        return;
    if (!told)
        told = hdi_cap_make_locked(HDI_CAP_TOLD, object->handle);
    uint32_t queue = hdi_cap.objects[queue_object].stream;
    if (!told || !hdi_cap_open_submit_locked(queue, name))
        return;
    hdi_cap_sync_locked(told, told->value + 1, ALL, true);
    if (!hdi_cap_open_host_locked(name))
        return;
    hdi_cap_sync_locked(told, told->value, ALL, false);
    hdi_cap_close_waits_locked();
    hdi_cap_learnt_locked(queue);
}

static VkResult VKAPI_PTR hook_vkQueueWaitIdle(VkQueue queue)
{
    VkResult result = NEXT(vkQueueWaitIdle)(queue);
    hdi_cap_lock();
    const hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_QUEUE, HDI_CAP_HANDLE(queue));
    if (result == VK_SUCCESS && object && hdi_cap.stream)
        idle_locked(hdi_cap_index_locked(object), "vkQueueWaitIdle");
    hdi_cap_unlock();
    return result;
}

static VkResult VKAPI_PTR hook_vkDeviceWaitIdle(VkDevice device)
{
    VkResult result = NEXT(vkDeviceWaitIdle)(device);
    hdi_cap_lock();
    for (uint32_t i = 0; i < hdi_cap.object_count && hdi_cap.stream && result == VK_SUCCESS; i++) {
        if (hdi_cap.objects[i].kind == HDI_CAP_QUEUE)
            idle_locked(i, "vkDeviceWaitIdle");
    }
    hdi_cap_unlock();
    return result;
}

/* ---- presenting ---- */

static VkResult VKAPI_PTR hook_vkQueuePresentKHR(VkQueue queue, const VkPresentInfoKHR *info)
{
    hdi_cap_presented images[HDI_CAP_PRESENTED];
    hdi_cap_read_presented(queue, info, images);
    hdi_cap_lock();
    if (hdi_cap.stream && hdi_cap_open_submit_locked(hdi_cap_queue_locked(queue), "vkQueuePresentKHR")) {
        for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
            hdi_cap_sync_locked(hdi_cap_semaphore_locked(info->pWaitSemaphores[i]), 0, ALL, false);
        hdi_cap_close_waits_locked();
        hdi_cap_presented_locked(images, HDI_CAP_PRESENTED);
    }
    for (uint32_t i = 0; i < info->waitSemaphoreCount && !hdi_cap.stream; i++)
        hdi_cap_remember_locked(&(VkSemaphoreSubmitInfo){.semaphore = info->pWaitSemaphores[i]}, 1, false);
    hdi_cap.frame++;
    hdi_cap_unlock();
    return NEXT(vkQueuePresentKHR)(queue, info);
}

/* Signalled from outside: as by the host. */
static void acquired(VkResult result, const char *name, VkSemaphore semaphore, VkFence fence)
{
    hdi_cap_lock();
    if (result >= VK_SUCCESS && result != VK_TIMEOUT && result != VK_NOT_READY) {
        if (hdi_cap_open_host_locked(name)) {
            hdi_cap_sync_locked(hdi_cap_semaphore_locked(semaphore), 0, ALL, true);
            hdi_cap_signal_fence_locked(fence);
        } else if (semaphore) {
            hdi_cap_remember_locked(&(VkSemaphoreSubmitInfo){.semaphore = semaphore}, 1, true);
        }
    }
    hdi_cap_unlock();
}

static VkResult VKAPI_PTR hook_vkAcquireNextImageKHR(VkDevice device, VkSwapchainKHR swapchain, uint64_t timeout,
                                                     VkSemaphore semaphore, VkFence fence, uint32_t *index)
{
    VkResult result = NEXT(vkAcquireNextImageKHR)(device, swapchain, timeout, semaphore, fence, index);
    acquired(result, "vkAcquireNextImageKHR", semaphore, fence);
    return result;
}

static VkResult VKAPI_PTR hook_vkAcquireNextImage2KHR(VkDevice device, const VkAcquireNextImageInfoKHR *info,
                                                      uint32_t *index)
{
    VkResult result = NEXT(vkAcquireNextImage2KHR)(device, info, index);
    acquired(result, "vkAcquireNextImage2KHR", info->semaphore, info->fence);
    return result;
}

/* ---- marks of the executor ---- */

static hdi_cap_object *told_locked(const void *place)
{
    hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_TOLD, HDI_CAP_HANDLE(place));
    return object ? object : hdi_cap_make_locked(HDI_CAP_TOLD, HDI_CAP_HANDLE(place));
}

void hdi_cap_mark_tell(const void *place, uint64_t value)
{
    hdi_cap_lock();
    hdi_cap_object *object = hdi_cap.open ? told_locked(place) : NULL;
    if (object && hdi_cap.stream && hdi_cap_open_host_locked("tells"))
        hdi_cap_sync_locked(object, value, ALL, true);
    else if (object && value > object->value)
        object->value = value;
    hdi_cap_unlock();
}

void hdi_cap_mark_hear(const void *place, uint64_t value)
{
    hdi_cap_lock();
    hdi_cap_object *object = hdi_cap.stream ? told_locked(place) : NULL;
    if (object && hdi_cap_open_host_locked("hears")) {
        hdi_cap_sync_locked(object, value, ALL, false);
        hdi_cap_close_waits_locked();
    }
    hdi_cap_unlock();
}

#define ALIAS(name, as) {name, (PFN_vkVoidFunction)hook_##as, &next_##as},
static const hdi_cap_hook hooks[] = {HOOKS(HDI_CAP_ENTRY) ALIAS("vkWaitSemaphoresKHR", vkWaitSemaphores) ALIAS(
    "vkSignalSemaphoreKHR", vkSignalSemaphore) ALIAS("vkGetSemaphoreCounterValueKHR", vkGetSemaphoreCounterValue)};
const hdi_cap_hooks hdi_cap_wait_hooks = {hooks, sizeof(hooks) / sizeof(hooks[0]), false};
