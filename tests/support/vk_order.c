#include "vk_order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

/* Submits are copied and held until somebody waits for the device, or the host signals: the later, the more there is to
 * choose from. Then one whose waits are met is picked at random, again and again, until none is left that can run. */

enum { FAMILIES = 3, HELD = 512, MOST = 24, SEMAPHORES = 64 };

typedef struct held {
    uint32_t wait_count, command_count, signal_count;
    VkSemaphoreSubmitInfo waits[MOST], signals[MOST];
    VkCommandBufferSubmitInfo *commands;
    uint64_t number;
} held;

static struct {
    pthread_mutex_t lock;
    uint64_t random;
    bool on;
    PFN_vkQueueSubmit2 submit;
    VkQueue queue;
    VkResult failure;
    uint64_t number, highest;
    unsigned overtaken;
    held queues[FAMILIES][HELD];
    uint32_t head[FAMILIES], tail[FAMILIES];
    VkSemaphore semaphore[SEMAPHORES];
    uint64_t value[SEMAPHORES];
    uint32_t semaphores;
} order = {.lock = PTHREAD_MUTEX_INITIALIZER};

void hdt_vk_order(uint64_t seed)
{
    order.on = seed != 0;
    order.random = seed;
    order.overtaken = 0;
    order.highest = order.number = 0;
    order.semaphores = 0;
    order.failure = VK_SUCCESS;
    memset(order.head, 0, sizeof(order.head));
    memset(order.tail, 0, sizeof(order.tail));
}

bool hdt_vk_order_on(void)
{
    return order.on;
}

unsigned hdt_vk_order_overtaken(void)
{
    return order.overtaken;
}

unsigned hdt_vk_order_held(void)
{
    unsigned left = 0;
    for (int f = 0; f < FAMILIES; f++)
        left += (order.tail[f] + HELD - order.head[f]) % HELD;
    return left;
}

static uint64_t *value_of(VkSemaphore semaphore)
{
    uint32_t s = 0;
    while (s < order.semaphores && order.semaphore[s] != semaphore)
        s++;
    if (s == order.semaphores) {
        if (s == SEMAPHORES)
            abort();
        order.semaphore[order.semaphores] = semaphore;
        order.value[order.semaphores++] = 0;
    }
    return &order.value[s];
}

static void raise_value(VkSemaphore semaphore, uint64_t value)
{
    uint64_t *now = value_of(semaphore);
    *now = value > *now ? value : *now;
}

static bool can_run(int f)
{
    const held *h = &order.queues[f][order.head[f]];
    if (order.head[f] == order.tail[f])
        return false;
    for (uint32_t w = 0; w < h->wait_count; w++) {
        if (*value_of(h->waits[w].semaphore) < h->waits[w].value)
            return false;
    }
    return true;
}

static void hand_on(int f)
{
    held *h = &order.queues[f][order.head[f]];
    VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                          .waitSemaphoreInfoCount = h->wait_count,
                          .pWaitSemaphoreInfos = h->waits,
                          .commandBufferInfoCount = h->command_count,
                          .pCommandBufferInfos = h->commands,
                          .signalSemaphoreInfoCount = h->signal_count,
                          .pSignalSemaphoreInfos = h->signals};
    VkResult result = order.submit(order.queue, 1, &info, VK_NULL_HANDLE);
    if (result != VK_SUCCESS)
        order.failure = result;
    for (uint32_t s = 0; s < h->signal_count; s++)
        raise_value(h->signals[s].semaphore, h->signals[s].value);
    order.overtaken += h->number < order.highest;
    order.highest = h->number > order.highest ? h->number : order.highest;
    free(h->commands);
    order.head[f] = (order.head[f] + 1) % HELD;
}

static void pump(void)
{
    for (;;) {
        int able[FAMILIES], count = 0;
        for (int f = 0; f < FAMILIES; f++) {
            if (can_run(f))
                able[count++] = f;
        }
        if (count == 0)
            return;
        hand_on(able[hdt_below(&order.random, (uint32_t)count)]);
    }
}

static void pump_locked(void)
{
    pthread_mutex_lock(&order.lock);
    if (order.on)
        pump();
    pthread_mutex_unlock(&order.lock);
}

VkResult hdt_vk_order_submit(PFN_vkQueueSubmit2 real, VkQueue queue, uint32_t family, uint32_t count,
                             const VkSubmitInfo2 *submits)
{
    pthread_mutex_lock(&order.lock);
    order.submit = real;
    order.queue = queue;
    for (uint32_t i = 0; i < count; i++) {
        const VkSubmitInfo2 *s = &submits[i];
        held *h = &order.queues[family][order.tail[family]];
        uint32_t next = (order.tail[family] + 1) % HELD;
        if (next == order.head[family])
            pump();
        if (next == order.head[family] || s->waitSemaphoreInfoCount > MOST || s->signalSemaphoreInfoCount > MOST)
            abort(); /* the tables above are too small for this test */
        *h = (held){s->waitSemaphoreInfoCount, s->commandBufferInfoCount, s->signalSemaphoreInfoCount,
                    .number = ++order.number};
        if (h->wait_count)
            memcpy(h->waits, s->pWaitSemaphoreInfos, h->wait_count * sizeof(h->waits[0]));
        if (h->signal_count)
            memcpy(h->signals, s->pSignalSemaphoreInfos, h->signal_count * sizeof(h->signals[0]));
        h->commands = calloc(h->command_count + 1, sizeof(h->commands[0]));
        if (h->command_count)
            memcpy(h->commands, s->pCommandBufferInfos, h->command_count * sizeof(h->commands[0]));
        order.tail[family] = next;
    }
    VkResult result = order.failure;
    pthread_mutex_unlock(&order.lock);
    return result;
}

/* ---- where the host waits or signals ---- */

static PFN_vkWaitSemaphores real_vkWaitSemaphores;
static VkResult VKAPI_PTR order_vkWaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout)
{
    const uint64_t slice = 20 * 1000 * 1000;
    for (uint64_t waited = 0;; waited += slice) { /* what another thread submits meanwhile is handed on too */
        pump_locked();
        VkResult result = real_vkWaitSemaphores(device, info, timeout < slice ? timeout : slice);
        if (result != VK_TIMEOUT || (timeout != UINT64_MAX && waited + slice >= timeout))
            return result;
    }
}

static PFN_vkSignalSemaphore real_vkSignalSemaphore;
static VkResult VKAPI_PTR order_vkSignalSemaphore(VkDevice device, const VkSemaphoreSignalInfo *info)
{
    VkResult result = real_vkSignalSemaphore(device, info);
    pthread_mutex_lock(&order.lock);
    raise_value(info->semaphore, info->value);
    if (order.on)
        pump();
    pthread_mutex_unlock(&order.lock);
    return result;
}

static PFN_vkDeviceWaitIdle real_vkDeviceWaitIdle;
static VkResult VKAPI_PTR order_vkDeviceWaitIdle(VkDevice device)
{
    pump_locked();
    return real_vkDeviceWaitIdle(device);
}

PFN_vkVoidFunction hdt_vk_order_device(const char *name, PFN_vkVoidFunction real)
{
#define REPLACE(hooked)                                                                                                \
    if (strcmp(name, #hooked) == 0) {                                                                                  \
        real_##hooked = (PFN_##hooked)real;                                                                            \
        return (PFN_vkVoidFunction)order_##hooked;                                                                     \
    }
    REPLACE(vkWaitSemaphores)
    REPLACE(vkSignalSemaphore)
    REPLACE(vkDeviceWaitIdle)
    return real;
}
