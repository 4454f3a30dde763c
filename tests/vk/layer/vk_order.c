#include "vk_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "random.h"

/* Any order that the semaphores allow. Submits are copied and held; they go to the one real queue a command buffer at a
 * time, each from a queue whose oldest submit has its waits met by what went before. With a seed nothing goes on before
 * the host waits for something, and then only until that is reached: what other queues hold meanwhile stays behind as
 * long as it can, over frames too. Which queue is next is up to ranks that are drawn at random, and drawn anew now and
 * then; how often follows from the seed. Never (one queue as far as it gets, then the next) finds what needs one
 * submit to be late, always (each step a draw) what needs queues to take turns: the trade is that of priorities with
 * change points (Burckhardt et al., A randomized scheduler with probabilistic guarantees of finding bugs, 2010).
 * A driver with one queue never gets a wait before its signal, which lavapipe does not survive. Waits in which nothing
 * moves for a while are a deadlock.
 * Each command buffer is waited for: lavapipe leaves out barriers that begin or end one, and what it rasterizes in the
 * background then meets what the next command buffer does with other resources in the same memory.
 * Above the validation layer (order_only) the same spares it submits that wait for a value which the host signals
 * later, and submits and signals of two threads at once: it loses track of both (tests/vk/test_vk_layer.c). */

void hdt_vk_order_start(hdt_vk_device *d)
{
    static const uint32_t calms[] = {1, 4, 24, UINT32_MAX};
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->moved, &monotonic);
    pthread_condattr_destroy(&monotonic);
    d->random = d->settings.seed;
    d->implied = d->settings.order_only ? hdt_vk_implied_make() : NULL;
    d->calm = calms[hdt_below(&d->random, 4)];
    for (uint32_t q = 0; q < d->queue_count; q++)
        d->queues[q].rank = (uint32_t)(hdt_random(&d->random) >> 32);
}

/* ---- what happens, a line each, with settings.trace ---- */

static void trace_semaphore(const char *what, VkSemaphore semaphore, uint64_t value)
{
    fprintf(stderr, " %s %llx:%llu", what, (unsigned long long)semaphore, (unsigned long long)value);
}

static void trace_submit(const hdt_vk_device *d, const hdt_vk_queue *q, const hdt_vk_held *h, const char *what)
{
    if (!d->settings.trace)
        return;
    fprintf(stderr, "trace: %s %llu thread %lx queue %u.%u commands %u", what, (unsigned long long)h->number,
            (unsigned long)pthread_self(), q->family, q->index, h->command_count);
    for (uint32_t c = 0; c < h->command_count; c++)
        fprintf(stderr, " %p", (void *)h->commands[c].commandBuffer);
    for (uint32_t w = 0; w < h->wait_count; w++)
        trace_semaphore("wait", h->waits[w].semaphore, h->waits[w].value);
    for (uint32_t s = 0; s < h->signal_count; s++)
        trace_semaphore("signal", h->signals[s].semaphore, h->signals[s].value);
    fputc('\n', stderr);
}

static void trace_host(const hdt_vk_device *d, const char *what, uint32_t count, const VkSemaphore *semaphores,
                       const uint64_t *values)
{
    if (!d->settings.trace)
        return;
    fprintf(stderr, "trace: host thread %lx", (unsigned long)pthread_self());
    for (uint32_t s = 0; s < count; s++)
        trace_semaphore(what, semaphores[s], values[s]);
    fputc('\n', stderr);
}

/* ---- semaphores ---- */

static bool is_met(hdt_vk_device *d, VkSemaphore semaphore, uint64_t value)
{
    hdt_vk_object *o = hdt_vk_object_of(d, (uint64_t)semaphore);
    if (!o)
        return true;
    if (o->binary)
        return o->value != 0;
    if (!o->seen && o->value < value) { /* made and signalled past this code, by pointers from elsewhere */
        uint64_t now = 0;
        if (d->fn.GetSemaphoreCounterValue(d->device, semaphore, &now) == VK_SUCCESS && now > o->value)
            o->value = now;
    }
    return o->value >= value;
}

static void set_value(hdt_vk_device *d, VkSemaphore semaphore, uint64_t value)
{
    hdt_vk_object *o = hdt_vk_object_of(d, (uint64_t)semaphore);
    if (o && o->binary)
        o->value = 1;
    else if (o && value > o->value)
        o->value = value;
}

static bool can_run(hdt_vk_device *d, const hdt_vk_queue *q)
{
    const hdt_vk_held *h = q->head;
    if (!h)
        return false;
    for (uint32_t w = 0; w < h->wait_count && h->done == 0; w++) {
        if (!is_met(d, h->waits[w].semaphore, h->waits[w].value))
            return false;
    }
    return true;
}

/* ---- handing on ---- */

/* The next command buffer of the queue's oldest submit: the first brings its waits, the last its signals. */
static void hand_on(hdt_vk_device *d, hdt_vk_queue *q)
{
    hdt_vk_held *h = q->head;
    bool first = h->done == 0, last = h->done + 1 >= h->command_count;
    VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                          .pWaitSemaphoreInfos = h->waits,
                          .commandBufferInfoCount = h->command_count ? 1 : 0,
                          .pCommandBufferInfos = h->command_count ? &h->commands[h->done] : NULL,
                          .signalSemaphoreInfoCount = last ? h->signal_count : 0,
                          .pSignalSemaphoreInfos = h->signals};
    if (first && d->implied)
        hdt_vk_implied_run(d->implied, (uint32_t)(q - d->queues), h);
    info.waitSemaphoreInfoCount = first ? h->wait_count : 0;
    if (first)
        trace_submit(d, q, h, "run");
    if (h->command_count && !d->settings.order_only)
        hdt_vk_play_transfers(d, h->commands[h->done].commandBuffer);
    VkResult result = d->fn.QueueSubmit2(q->real, 1, &info, last ? h->fence : VK_NULL_HANDLE);
    if (result == VK_SUCCESS && !d->settings.order_only)
        result = d->fn.DeviceWaitIdle(d->device);
    if (result != VK_SUCCESS)
        d->lost = result;
    if (h->number < d->highest)
        hdt_vk_count_overtaken();
    d->highest = h->number > d->highest ? h->number : d->highest;
    d->progress++;
    for (uint32_t w = 0; first && w < h->wait_count; w++) {
        hdt_vk_object *o = hdt_vk_object_of(d, (uint64_t)h->waits[w].semaphore);
        if (o && o->binary)
            o->value = 0;
    }
    h->done++;
    if (!last)
        return;
    for (uint32_t s = 0; s < h->signal_count; s++)
        set_value(d, h->signals[s].semaphore, h->signals[s].value);
    q->head = h->next;
    if (!q->head)
        q->tail = &q->head;
    free(h);
}

static hdt_vk_queue *choose(hdt_vk_device *d)
{
    hdt_vk_queue *best = NULL;
    if (d->settings.seed && hdt_below(&d->random, d->calm) == 0) {
        for (uint32_t q = 0; q < d->queue_count; q++)
            d->queues[q].rank = (uint32_t)(hdt_random(&d->random) >> 32);
    }
    for (uint32_t i = 0; i < d->queue_count; i++) {
        hdt_vk_queue *q = &d->queues[i];
        if (!can_run(d, q))
            continue;
        bool before = best && (d->settings.seed ? q->rank < best->rank : q->head->number < best->head->number);
        if (!best || before)
            best = q;
    }
    return best;
}

static bool is_reached(hdt_vk_device *d, const VkSemaphoreWaitInfo *goal)
{
    bool any = goal->flags & VK_SEMAPHORE_WAIT_ANY_BIT, met = !any;
    for (uint32_t s = 0; s < goal->semaphoreCount; s++) {
        bool this = is_met(d, goal->pSemaphores[s], goal->pValues[s]);
        met = any ? met || this : met && this;
    }
    return met;
}

/* Hands on until goal is reached (null: as long as something can run). */
static void pump(hdt_vk_device *d, const VkSemaphoreWaitInfo *goal)
{
    hdt_vk_queue *next;
    while (d->lost == VK_SUCCESS && (!goal || !is_reached(d, goal)) && (next = choose(d)) != NULL)
        hand_on(d, next);
}

static VkResult pump_all(hdt_vk_device *d)
{
    pthread_mutex_lock(&d->lock);
    pump(d, NULL);
    VkResult lost = d->lost;
    pthread_mutex_unlock(&d->lock);
    return lost;
}

/* What each queue's oldest submit waits for. */
static void tell_held(hdt_vk_device *d)
{
    for (uint32_t i = 0; i < d->queue_count; i++) {
        const hdt_vk_held *h = d->queues[i].head;
        for (uint32_t w = 0; h && w < h->wait_count; w++) {
            if (!is_met(d, h->waits[w].semaphore, h->waits[w].value))
                hdt_vk_fault(d,
                             "submit %llu, the oldest of queue %u of family %u, waits for value %llu of semaphore "
                             "0x%llx, which is at %llu",
                             (unsigned long long)h->number, d->queues[i].index, d->queues[i].family,
                             (unsigned long long)h->waits[w].value, (unsigned long long)h->waits[w].semaphore,
                             (unsigned long long)hdt_vk_object_of(d, (uint64_t)h->waits[w].semaphore)->value);
        }
    }
}

void hdt_vk_order_end(hdt_vk_device *d)
{
    pthread_mutex_lock(&d->lock);
    pump(d, NULL);
    if (d->lost == VK_SUCCESS)
        tell_held(d);
    pthread_mutex_unlock(&d->lock);
    d->fn.DeviceWaitIdle(d->device);
    for (uint32_t i = 0; i < d->queue_count; i++) {
        for (hdt_vk_held *h = d->queues[i].head, *next; h; h = next) {
            next = h->next;
            free(h);
        }
    }
    free(d->implied);
    pthread_cond_destroy(&d->moved);
    pthread_mutex_destroy(&d->lock);
}

/* ---- submits ---- */

static hdt_vk_held *copy(hdt_vk_device *d, const VkSubmitInfo2 *s)
{
    uint32_t more = d->implied ? hdt_vk_implied_room() : 0;
    size_t semaphores = (size_t)s->waitSemaphoreInfoCount + more + s->signalSemaphoreInfoCount;
    hdt_vk_held *h = calloc(1, sizeof(*h) + semaphores * sizeof(VkSemaphoreSubmitInfo) +
                                   s->commandBufferInfoCount * sizeof(VkCommandBufferSubmitInfo));
    if (!h)
        return NULL;
    h->number = ++d->number;
    h->waits = (VkSemaphoreSubmitInfo *)(h + 1);
    for (uint32_t w = 0; w < s->waitSemaphoreInfoCount; w++) {
        if (++d->waits != d->settings.drop_wait)
            h->waits[h->wait_count++] = s->pWaitSemaphoreInfos[w];
    }
    h->signals = h->waits + s->waitSemaphoreInfoCount + more;
    for (uint32_t i = 0; i < s->signalSemaphoreInfoCount; i++) {
        if (++d->signals != d->settings.drop_signal)
            h->signals[h->signal_count++] = s->pSignalSemaphoreInfos[i];
    }
    h->commands = (VkCommandBufferSubmitInfo *)(h->signals + s->signalSemaphoreInfoCount);
    h->command_count = s->commandBufferInfoCount;
    for (uint32_t c = 0; c < h->command_count; c++)
        h->commands[c] = s->pCommandBufferInfos[c];
    return h;
}

static VkResult VKAPI_PTR order_vkQueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *submits,
                                               VkFence fence)
{
    static const VkSubmitInfo2 nothing = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2};
    hdt_vk_queue *q = hdt_vk_queue_of(queue);
    hdt_vk_device *d = q->device;
    VkResult result = VK_SUCCESS;
    pthread_mutex_lock(&d->lock);
    if (count == 0 && fence) {
        count = 1;
        submits = &nothing;
    }
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++) {
        if (!d->settings.order_only)
            hdt_vk_check_submit(d, q, &submits[i]);
        hdt_vk_held *h = copy(d, &submits[i]);
        if (!h) {
            result = VK_ERROR_OUT_OF_HOST_MEMORY;
            break;
        }
        h->fence = i + 1 == count ? fence : VK_NULL_HANDLE;
        *q->tail = h;
        q->tail = &h->next;
        trace_submit(d, q, h, "hold");
    }
    d->progress++;
    if (d->settings.seed == 0)
        pump(d, NULL);
    if (d->lost != VK_SUCCESS)
        result = d->lost;
    pthread_cond_broadcast(&d->moved);
    pthread_mutex_unlock(&d->lock);
    return result;
}

/* One submit with binary semaphores, as a capture reads presented images by. */
static VkResult VKAPI_PTR order_vkQueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *submit, VkFence fence)
{
    enum { MOST = 16 };
    VkSemaphoreSubmitInfo waits[MOST], signals[MOST];
    VkCommandBufferSubmitInfo commands[MOST];
    hdt_vk_device *d = hdt_vk_queue_of(queue)->device;
    if (count != 1 || submit->pNext || submit->waitSemaphoreCount > MOST || submit->commandBufferCount > MOST ||
        submit->signalSemaphoreCount > MOST) {
        pthread_mutex_lock(&d->lock);
        hdt_vk_fault(d, "vkQueueSubmit: only vkQueueSubmit2 is known here, or one small submit");
        pthread_mutex_unlock(&d->lock);
        return VK_ERROR_DEVICE_LOST;
    }
    for (uint32_t i = 0; i < submit->waitSemaphoreCount; i++)
        waits[i] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                           .semaphore = submit->pWaitSemaphores[i],
                                           .stageMask = submit->pWaitDstStageMask[i]};
    for (uint32_t i = 0; i < submit->signalSemaphoreCount; i++)
        signals[i] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                             .semaphore = submit->pSignalSemaphores[i],
                                             .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    for (uint32_t i = 0; i < submit->commandBufferCount; i++)
        commands[i] = (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                                  .commandBuffer = submit->pCommandBuffers[i]};
    return order_vkQueueSubmit2(queue, 1,
                                &(VkSubmitInfo2){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                                 .waitSemaphoreInfoCount = submit->waitSemaphoreCount,
                                                 .pWaitSemaphoreInfos = waits,
                                                 .commandBufferInfoCount = submit->commandBufferCount,
                                                 .pCommandBufferInfos = commands,
                                                 .signalSemaphoreInfoCount = submit->signalSemaphoreCount,
                                                 .pSignalSemaphoreInfos = signals},
                                fence);
}

static VkResult VKAPI_PTR order_vkQueueBindSparse(VkQueue queue, uint32_t count, const VkBindSparseInfo *infos,
                                                  VkFence fence)
{
    (void)infos;
    return order_vkQueueSubmit(queue, count, NULL, fence);
}

/* ---- where the host waits, looks or signals ---- */

static VkResult VKAPI_PTR order_vkCreateSemaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                                  const VkAllocationCallbacks *memory, VkSemaphore *out)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    VkResult result = d->fn.CreateSemaphore(device, info, memory, out);
    if (result != VK_SUCCESS)
        return result;
    const VkSemaphoreTypeCreateInfo *type = info->pNext;
    while (type && type->sType != VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
        type = type->pNext;
    pthread_mutex_lock(&d->lock);
    hdt_vk_object *o = hdt_vk_object_of(d, (uint64_t)*out);
    if (o) { /* the handle may have been another semaphore's */
        o->seen = true;
        o->binary = !type || type->semaphoreType == VK_SEMAPHORE_TYPE_BINARY;
        o->value = o->binary ? 0 : type->initialValue;
    }
    pthread_mutex_unlock(&d->lock);
    return result;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Until something moves, for at most so long. Under the lock. */
static void sleep_ns(hdt_vk_device *d, uint64_t ns)
{
    uint64_t until = now_ns() + ns;
    struct timespec t = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    pthread_cond_timedwait(&d->moved, &d->lock, &t);
}

static VkResult VKAPI_PTR order_vkWaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout)
{
    const uint64_t slice = 20 * 1000 * 1000;
    hdt_vk_device *d = hdt_vk_device_of(device);
    uint64_t begin = now_ns(), spent = 0;
    pthread_mutex_lock(&d->lock);
    for (;;) {
        pump(d, info);
        if (d->lost != VK_SUCCESS || is_reached(d, info) || spent >= timeout)
            break;
        uint64_t before = d->progress, left = timeout - spent;
        sleep_ns(d, left < slice ? left : slice);
        spent = now_ns() - begin;
        d->idle_ns = d->progress == before ? d->idle_ns + (left < slice ? left : slice) : 0;
        if (d->idle_ns > (uint64_t)d->settings.patience_ms * 1000000) {
            hdt_vk_fault(d, "deadlock: the host waits for what nothing signals");
            tell_held(d);
        }
    }
    VkResult lost = d->lost;
    bool reached = is_reached(d, info);
    if (reached)
        trace_host(d, "wait", info->semaphoreCount, info->pSemaphores, info->pValues);
    pthread_mutex_unlock(&d->lock);
    if (lost != VK_SUCCESS) {
        d->fn.DeviceWaitIdle(device);
        return lost;
    }
    VkResult result = d->fn.WaitSemaphores(device, info, !reached ? 0 : timeout - (spent < timeout ? spent : timeout));
    /* What was handed on need not have ended; and of several that any would do for, it is not known which has. */
    bool all = !(info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) || info->semaphoreCount == 1;
    if (result == VK_SUCCESS && all && d->implied) {
        pthread_mutex_lock(&d->lock);
        hdt_vk_implied_waited(d->implied, info);
        pthread_mutex_unlock(&d->lock);
    }
    return result;
}

/* The semaphore counts as signalled: what waits for it need not be held. */
static VkResult VKAPI_PTR order_vkAcquireNextImageKHR(VkDevice device, VkSwapchainKHR swapchain, uint64_t timeout,
                                                      VkSemaphore semaphore, VkFence fence, uint32_t *index)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    VkResult result = d->fn.AcquireNextImageKHR(device, swapchain, timeout, semaphore, fence, index);
    pthread_mutex_lock(&d->lock);
    if (semaphore && (result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR))
        set_value(d, semaphore, 1);
    pthread_mutex_unlock(&d->lock);
    return result;
}

static VkResult VKAPI_PTR order_vkSignalSemaphore(VkDevice device, const VkSemaphoreSignalInfo *info)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    pthread_mutex_lock(&d->lock);
    VkResult result = d->fn.SignalSemaphore(device, info);
    set_value(d, info->semaphore, info->value);
    if (d->implied)
        hdt_vk_implied_signalled(d->implied, info);
    trace_host(d, "signal", 1, &info->semaphore, &info->value);
    d->progress++;
    if (d->settings.seed == 0)
        pump(d, NULL);
    pthread_cond_broadcast(&d->moved);
    pthread_mutex_unlock(&d->lock);
    return result;
}

static VkResult VKAPI_PTR order_vkGetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore, uint64_t *out)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    VkResult lost = pump_all(d); /* a caller that polls waits for progress */
    return lost != VK_SUCCESS ? lost : d->fn.GetSemaphoreCounterValue(device, semaphore, out);
}

static VkResult VKAPI_PTR order_vkDeviceWaitIdle(VkDevice device)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    VkResult lost = pump_all(d), result = d->fn.DeviceWaitIdle(device);
    return lost != VK_SUCCESS ? lost : result;
}

static VkResult VKAPI_PTR order_vkQueueWaitIdle(VkQueue queue)
{
    return order_vkDeviceWaitIdle(hdt_vk_queue_of(queue)->device->device);
}

static VkResult VKAPI_PTR order_vkWaitForFences(VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all,
                                                uint64_t timeout)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    VkResult lost = pump_all(d);
    return lost != VK_SUCCESS ? lost : d->fn.WaitForFences(device, count, fences, all, timeout);
}

static VkResult VKAPI_PTR order_vkGetFenceStatus(VkDevice device, VkFence fence)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    VkResult lost = pump_all(d);
    return lost != VK_SUCCESS ? lost : d->fn.GetFenceStatus(device, fence);
}

static VkResult VKAPI_PTR order_vkGetEventStatus(VkDevice device, VkEvent event)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    VkResult lost = pump_all(d);
    return lost != VK_SUCCESS ? lost : d->fn.GetEventStatus(device, event);
}

static VkResult VKAPI_PTR order_vkGetQueryPoolResults(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count,
                                                      size_t bytes, void *data, VkDeviceSize stride,
                                                      VkQueryResultFlags flags)
{
    hdt_vk_device *d = hdt_vk_device_of(device);
    if (flags & VK_QUERY_RESULT_WAIT_BIT)
        pump_all(d);
    return d->fn.GetQueryPoolResults(device, pool, first, count, bytes, data, stride, flags);
}

#define REPLACED(X)                                                                                                    \
    X(vkQueueSubmit)                                                                                                   \
    X(vkQueueSubmit2)                                                                                                  \
    X(vkQueueBindSparse)                                                                                               \
    X(vkQueueWaitIdle)                                                                                                 \
    X(vkDeviceWaitIdle)                                                                                                \
    X(vkCreateSemaphore)                                                                                               \
    X(vkWaitSemaphores)                                                                                                \
    X(vkAcquireNextImageKHR)                                                                                           \
    X(vkSignalSemaphore)                                                                                               \
    X(vkGetSemaphoreCounterValue)                                                                                      \
    X(vkWaitForFences)                                                                                                 \
    X(vkGetFenceStatus)                                                                                                \
    X(vkGetEventStatus)                                                                                                \
    X(vkGetQueryPoolResults)

PFN_vkVoidFunction hdt_vk_order_function(const char *name)
{
#define REPLACE(hooked)                                                                                                \
    if (strcmp(name, #hooked) == 0)                                                                                    \
        return (PFN_vkVoidFunction)order_##hooked;
    REPLACED(REPLACE)
#undef REPLACE
    return NULL;
}
