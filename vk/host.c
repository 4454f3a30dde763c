#include "state.h"

#include "alloc.h"
#include "clock.h"

/* The host queue: one thread, started with the first frame that has host passes, which runs the host submits of frames
 * in order. It waits on the CPU for the timelines that a submit waits for, calls the passes, and signals the host
 * timeline. Waits are cut into short ones, so that a lost device cannot hold it: then it skips waits and passes, and
 * still signals, so that what was submitted behind it can end.
 *
 * Once the thread runs it gets every frame, waits for all of it and tells the caller through a condition variable: it
 * is then the only one who waits for semaphores. That costs nothing, because its next frame cannot begin earlier, and
 * Debian 12's validation layer reports an error when two threads wait for one timeline. */

enum { SLICE_NS = 50 * 1000 * 1000 };

static bool lost(hd_vk *vk)
{
    return atomic_load_explicit(&vk->lost, memory_order_acquire) != HD_OK;
}

static void wait_for(hd_vk *vk, const VkSemaphore *semaphores, const uint64_t *values, uint32_t count)
{
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = count,
        .pSemaphores = semaphores,
        .pValues = values,
    };
    while (count && !lost(vk)) {
        VkResult result = vk->fn.vkWaitSemaphores(vk->device, &info, SLICE_NS);
        if (result == VK_SUCCESS)
            return;
        if (result != VK_TIMEOUT)
            hdi_vk_lose(vk, hdi_vk_result(vk, result, "vkWaitSemaphores on the host queue"));
    }
}

static void run_submit(hd_vk *vk, const hdi_vk_host_submit *submit, uint64_t frame)
{
    wait_for(vk, submit->semaphores, submit->values, submit->wait_count);
    for (uint32_t p = 0; p < submit->pass_count && !lost(vk); p++) {
        hdi_vk_host_pass *pass = &submit->passes[p];
        pass->begin_ns = vk->times ? hdi_clock_ns() : 0;
        hd_recorder recorder = {.host = pass, .vk = vk, .worker = HD_NONE, .part_count = 1, .frame_index = frame};
        if (vk->captured)
            hdi_cap_mark_host_pass(&pass->captured);
        if (pass->record)
            pass->record(&recorder, pass->user);
        pass->end_ns = vk->times ? hdi_clock_ns() : 0;
    }
    if (submit->signal == 0)
        return;
    VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
        .semaphore = vk->queues[vk->queue_count].timeline,
        .value = submit->signal,
    };
    VkResult result = vk->fn.vkSignalSemaphore(vk->device, &info);
    if (result != VK_SUCCESS && !lost(vk))
        hdi_vk_lose(vk, hdi_vk_result(vk, result, "vkSignalSemaphore"));
}

static void run_frame(hd_vk *vk, const hdi_vk_slot *slot)
{
    for (uint32_t s = 0; s < slot->host_submit_count; s++)
        run_submit(vk, &slot->host_submits[s], slot->frame);
    VkSemaphore semaphores[HD_MAX_QUEUES];
    uint64_t values[HD_MAX_QUEUES];
    uint32_t count = 0;
    for (uint32_t q = 0; q < vk->queue_count; q++) {
        if (slot->end[q] == 0)
            continue;
        semaphores[count] = vk->queues[q].timeline;
        values[count++] = slot->end[q];
    }
    wait_for(vk, semaphores, values, count);
}

static void *host_main(void *user)
{
    hd_vk *vk = user;
    const uint32_t room = sizeof(vk->host_queue) / sizeof(vk->host_queue[0]);
    pthread_mutex_lock(&vk->host_lock);
    for (;;) {
        while (vk->host_head == vk->host_tail && !vk->host_quit)
            pthread_cond_wait(&vk->host_wake, &vk->host_lock);
        if (vk->host_head == vk->host_tail)
            break;
        const hdi_vk_slot *slot = vk->host_queue[vk->host_head];
        vk->host_head = (vk->host_head + 1) % room;
        pthread_mutex_unlock(&vk->host_lock);
        uint64_t next = slot->frame + 1;
        if (vk->captured)
            hdi_cap_mark_hear(&vk->host_tail, next);
        run_frame(vk, slot);
        if (vk->captured)
            hdi_cap_mark_tell(&vk->host_finished, next);
        pthread_mutex_lock(&vk->host_lock); /* from here on the slot is the caller's */
        vk->host_finished = next;
        pthread_cond_broadcast(&vk->host_told);
    }
    pthread_mutex_unlock(&vk->host_lock);
    return NULL;
}

hd_result hdi_vk_host_start(hd_vk *vk)
{
    if (vk->host_started)
        return HD_OK;
    hd_result result = hdi_vk_wait_all(vk); /* frames that it will not know of */
    if (result != HD_OK)
        return result;
    if (pthread_create(&vk->host_thread, NULL, host_main, vk) != 0) {
        hdi_log(&vk->log, HD_LOG_ERROR, "no thread could be started for host passes");
        return HD_OUT_OF_MEMORY;
    }
    vk->host_started = true;
    return HD_OK;
}

void hdi_vk_host_push(hd_vk *vk, hdi_vk_slot *slot)
{
    const uint32_t room = sizeof(vk->host_queue) / sizeof(vk->host_queue[0]);
    if (vk->captured)
        hdi_cap_mark_tell(&vk->host_tail, slot->frame + 1);
    pthread_mutex_lock(&vk->host_lock);
    vk->host_queue[vk->host_tail] = slot;
    vk->host_tail = (vk->host_tail + 1) % room;
    pthread_cond_signal(&vk->host_wake);
    pthread_mutex_unlock(&vk->host_lock);
}

hd_result hdi_vk_host_wait(hd_vk *vk, uint64_t frame)
{
    pthread_mutex_lock(&vk->host_lock);
    while (vk->host_finished <= frame)
        pthread_cond_wait(&vk->host_told, &vk->host_lock);
    pthread_mutex_unlock(&vk->host_lock);
    if (vk->captured)
        hdi_cap_mark_hear(&vk->host_finished, frame + 1);
    return (hd_result)atomic_load_explicit(&vk->lost, memory_order_acquire);
}

void hdi_vk_host_stop(hd_vk *vk)
{
    if (!vk->host_started)
        return;
    pthread_mutex_lock(&vk->host_lock);
    vk->host_quit = true;
    pthread_cond_signal(&vk->host_wake);
    pthread_mutex_unlock(&vk->host_lock);
    pthread_join(vk->host_thread, NULL);
    vk->host_started = false;
}
