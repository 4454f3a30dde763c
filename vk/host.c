#include "state.h"

#include "alloc.h"

/* The host queue: one thread, started with the first frame that has host passes, which runs the host submits of frames in
 * order. It waits on the CPU for the timelines that a submit waits for, calls the passes, and signals the host timeline.
 * Waits are cut into short ones, so that a lost device cannot hold it: then it skips waits and passes, and still signals,
 * so that what was submitted behind it can end. */

enum { SLICE_NS = 50 * 1000 * 1000 };

static bool lost(hd_vk *vk)
{
    return atomic_load_explicit(&vk->lost, memory_order_acquire) != HD_OK;
}

static void wait_for(hd_vk *vk, const hdi_vk_host_submit *submit)
{
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = submit->wait_count,
        .pSemaphores = submit->semaphores,
        .pValues = submit->values,
    };
    while (submit->wait_count && !lost(vk)) {
        VkResult result = vk->fn.vkWaitSemaphores(vk->device, &info, SLICE_NS);
        if (result == VK_SUCCESS)
            return;
        if (result != VK_TIMEOUT)
            hdi_vk_lose(vk, hdi_vk_result(vk, result, "vkWaitSemaphores on the host queue"));
    }
}

static void run_submit(hd_vk *vk, const hdi_vk_host_submit *submit, uint64_t frame)
{
    wait_for(vk, submit);
    for (uint32_t p = 0; p < submit->pass_count && !lost(vk); p++) {
        const hdi_vk_host_pass *pass = &submit->passes[p];
        hd_recorder recorder = {.host = pass, .vk = vk, .worker = HD_NONE, .frame_index = frame};
        if (pass->record)
            pass->record(&recorder, pass->user);
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
        /* The last signal gives the slot away: nothing of it may be read after that. */
        const hdi_vk_host_submit *submits = slot->host_submits;
        uint32_t count = slot->host_submit_count;
        uint64_t frame = slot->frame;
        for (uint32_t s = 0; s < count; s++)
            run_submit(vk, &submits[s], frame);
        pthread_mutex_lock(&vk->host_lock);
    }
    pthread_mutex_unlock(&vk->host_lock);
    return NULL;
}

hd_result hdi_vk_host_start(hd_vk *vk)
{
    if (vk->host_started)
        return HD_OK;
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
    pthread_mutex_lock(&vk->host_lock);
    vk->host_queue[vk->host_tail] = slot;
    vk->host_tail = (vk->host_tail + 1) % room;
    pthread_cond_signal(&vk->host_wake);
    pthread_mutex_unlock(&vk->host_lock);
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
