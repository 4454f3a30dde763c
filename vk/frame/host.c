#include "vk_device.h"
#include "vk_frame.h"

#include "alloc.h"
#include "clock.h"

/* The host queue: one thread, started with the first frame that has host passes, which runs the host submits of frames
 * in order. It waits on the CPU for the timelines that a submit waits for, calls the passes, and signals the host
 * timeline. Waits are cut into short ones, so that a lost device cannot hold it: then it skips waits and passes, and
 * still signals, so that what was submitted behind it can end.
 *
 * Once the thread runs it gets every frame, and tells the caller through a condition variable when all of one has
 * finished: it is then the only thread that waits for semaphores, as Debian 12's validation layer reports an error when
 * two threads wait for one timeline. It waits for whatever comes next: the next host submit's semaphores, the end of
 * the oldest frame, or a frame more (a timeline of its own says so), whose first host passes need not wait for the
 * frames before it to end. */

enum { SLICE_NS = 50 * 1000 * 1000 };

static bool lost(hd_vk *vk)
{
    return atomic_load_explicit(&vk->lost, memory_order_acquire) != HD_OK;
}

/* What the thread waits for any of; with room for a submit, which may wait for two values of a queue (the plan's and
 * one of an earlier frame), a frame's end and a frame more. What a plan from elsewhere has beyond that is looked at
 * again when the short wait is over. */
enum { MOST_MISSING = 3 * HD_MAX_QUEUES + 1 };
typedef struct any_of {
    VkSemaphore semaphores[MOST_MISSING];
    uint64_t values[MOST_MISSING];
    uint32_t count;
} any_of;

static VkResult wait_for(hd_vk *vk, const VkSemaphore *semaphores, const uint64_t *values, uint32_t count,
                         uint64_t timeout)
{
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .flags = count > 1 ? VK_SEMAPHORE_WAIT_ANY_BIT : 0,
        .semaphoreCount = count,
        .pSemaphores = semaphores,
        .pValues = values,
    };
    uint32_t tries = 0;
    VkResult result;
    do
        result = vk->fn.vkWaitSemaphores(vk->device, &info, timeout);
    while (hdi_vk_try_again(result, &tries));
    if (result != VK_SUCCESS && result != VK_TIMEOUT)
        hdi_vk_lose(vk, hdi_vk_result(vk, result, "vkWaitSemaphores on the host queue"));
    return result;
}

/* Whether all have their values; those that have not are put into missing. */
static bool are_reached(hd_vk *vk, const VkSemaphore *semaphores, const uint64_t *values, uint32_t count,
                        any_of *missing)
{
    bool all = true;
    for (uint32_t i = 0; i < count && !lost(vk); i++) {
        if (wait_for(vk, &semaphores[i], &values[i], 1, 0) != VK_TIMEOUT)
            continue;
        all = false;
        if (missing->count == MOST_MISSING)
            continue;
        missing->semaphores[missing->count] = semaphores[i];
        missing->values[missing->count++] = values[i];
    }
    return all || lost(vk);
}

static void signal_value(hd_vk *vk, VkSemaphore semaphore, uint64_t value)
{
    VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = value};
    uint32_t tries = 0;
    VkResult result;
    do
        result = vk->fn.vkSignalSemaphore(vk->device, &info);
    while (hdi_vk_try_again(result, &tries));
    if (result != VK_SUCCESS && !lost(vk))
        hdi_vk_lose(vk, hdi_vk_result(vk, result, "vkSignalSemaphore"));
}

static void run_submit(hd_vk *vk, const hdi_vk_host_submit *submit, uint64_t frame)
{
    for (uint32_t p = 0; p < submit->pass_count && !lost(vk); p++) {
        hdi_vk_host_pass *pass = &submit->passes[p];
        pass->begin_ns = vk->times ? hdi_clock_ns() : 0;
        hd_recorder recorder = {.host = pass, .vk = vk, .worker = HD_NONE, .part_count = 1, .frame_index = frame};
        if (vk->observer)
            vk->observer->host_pass(pass->observed);
        hdi_vk_call_pass(&recorder, *pass->name ? pass->name : NULL, vk->queue_count, pass->record, pass->user);
        pass->end_ns = vk->times ? hdi_clock_ns() : 0;
    }
    if (submit->signal == 0)
        return;
    signal_value(vk, vk->queues[vk->queue_count].timeline, submit->signal);
    pthread_mutex_lock(&vk->host_lock);
    vk->host_signalled = submit->signal;
    pthread_cond_broadcast(&vk->host_told);
    pthread_mutex_unlock(&vk->host_lock);
}

static bool has_ended(hd_vk *vk, const hdi_vk_slot *slot, any_of *missing)
{
    VkSemaphore semaphores[HD_MAX_QUEUES];
    uint64_t values[HD_MAX_QUEUES];
    uint32_t count = 0;
    for (uint32_t q = 0; q < vk->queue_count; q++) {
        if (slot->end[q] == 0)
            continue;
        semaphores[count] = vk->queues[q].timeline;
        values[count++] = slot->end[q];
    }
    return are_reached(vk, semaphores, values, count, missing);
}

static hdi_vk_slot *slot_at(const hd_vk *vk, uint64_t position)
{
    return vk->host_queue[position % (sizeof(vk->host_queue) / sizeof(vk->host_queue[0]))];
}

/* Where the thread is: the next host submit, in the frame at a position in the ring; all before it have run. */
typedef struct place {
    uint64_t frame;
    uint32_t submit;
    bool heard; /* the observer knows that the frame was pushed before */
} place;

/* Runs the next host submit, if it can run; false: there is none, or it is missing something. */
static bool go_on(hd_vk *vk, place *at, uint64_t tail, any_of *missing)
{
    if (at->frame == tail)
        return false;
    const hdi_vk_slot *slot = slot_at(vk, at->frame);
    if (vk->observer && !at->heard)
        vk->observer->heard(&vk->host_tail, slot->frame + 1);
    at->heard = true;
    if (at->submit == slot->host_submit_count) {
        *at = (place){.frame = at->frame + 1};
        return true;
    }
    const hdi_vk_host_submit *submit = &slot->host_submits[at->submit];
    if (!are_reached(vk, submit->semaphores, submit->values, submit->wait_count, missing))
        return false;
    run_submit(vk, submit, slot->frame);
    at->submit++;
    return true;
}

static void *host_main(void *user)
{
    hd_vk *vk = user;
    place at = {.frame = vk->host_head};
    pthread_mutex_lock(&vk->host_lock);
    for (;;) {
        while (vk->host_head == vk->host_tail && !vk->host_quit)
            pthread_cond_wait(&vk->host_wake, &vk->host_lock);
        if (vk->host_head == vk->host_tail)
            break;
        uint64_t tail = vk->host_tail;
        any_of missing = {.semaphores = {vk->host_more}, .values = {vk->host_pushed + 1}, .count = 1};
        pthread_mutex_unlock(&vk->host_lock);
        bool moved = go_on(vk, &at, tail, &missing), ended = false;
        const hdi_vk_slot *oldest = slot_at(vk, vk->host_head);
        uint64_t next = oldest->frame + 1;
        if (at.frame != vk->host_head)
            ended = has_ended(vk, oldest, &missing);
        if (!moved && !ended && !lost(vk))
            wait_for(vk, missing.semaphores, missing.values, missing.count, SLICE_NS);
        if (ended && vk->observer)
            vk->observer->told(&vk->host_finished, next);
        pthread_mutex_lock(&vk->host_lock);
        if (ended) { /* from here on the slot is the caller's */
            vk->host_head++;
            vk->host_finished = next;
            pthread_cond_broadcast(&vk->host_told);
        }
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
    result = hdi_vk_make_timeline(vk, "host queue has more", &vk->host_more);
    if (result != HD_OK)
        return result;
    vk->host_pushed = 0;
    if (pthread_create(&vk->host_thread, NULL, host_main, vk) != 0) {
        vk->fn.vkDestroySemaphore(vk->device, vk->host_more, NULL);
        return hdi_vk_fail(vk, HD_OUT_OF_MEMORY, HD_NONE, HD_NONE, "no thread could be started for host passes");
    }
    vk->host_started = true;
    return HD_OK;
}

void hdi_vk_host_push(hd_vk *vk, hdi_vk_slot *slot)
{
    const uint32_t room = sizeof(vk->host_queue) / sizeof(vk->host_queue[0]);
    if (vk->observer)
        vk->observer->told(&vk->host_tail, slot->frame + 1);
    pthread_mutex_lock(&vk->host_lock);
    vk->host_queue[vk->host_tail++ % room] = slot;
    vk->host_pushed++;
    pthread_cond_signal(&vk->host_wake);
    pthread_mutex_unlock(&vk->host_lock);
    signal_value(vk, vk->host_more, vk->host_pushed);
}

hd_result hdi_vk_host_wait(hd_vk *vk, uint64_t frame)
{
    pthread_mutex_lock(&vk->host_lock);
    while (vk->host_finished <= frame)
        pthread_cond_wait(&vk->host_told, &vk->host_lock);
    pthread_mutex_unlock(&vk->host_lock);
    if (vk->observer)
        vk->observer->heard(&vk->host_finished, frame + 1);
    return (hd_result)atomic_load_explicit(&vk->lost, memory_order_acquire);
}

hd_result hdi_vk_host_wait_value(hd_vk *vk, uint64_t value)
{
    if (value == 0)
        return HD_OK;
    pthread_mutex_lock(&vk->host_lock);
    while (vk->host_signalled < value)
        pthread_cond_wait(&vk->host_told, &vk->host_lock);
    pthread_mutex_unlock(&vk->host_lock);
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
    vk->fn.vkDestroySemaphore(vk->device, vk->host_more, NULL);
    vk->host_started = false;
}
