#include "vk_order.h"

#include <stdlib.h>

/* For the order above the validation layer. When the host has waited for a value, that layer (1.4.309) forgets what
 * other queues had done before that value was signalled: a submit that waits for the value later knows nothing of it,
 * and is told of a race that is none. So such a submit also gets the waits that its own imply: for what those other
 * queues had signalled. These waits delay nothing, as the submit's own waits imply them; a clock for each signal says
 * which they are. */

enum { SEMAPHORES = 16, SIGNALS = 64, THREADS = 8 };

typedef struct stamp {
    uint64_t value, clock[SEMAPHORES];
    bool host; /* signalled by the host, which that layer takes for no link to what the host had waited for */
} stamp;

struct hdt_vk_implied {
    VkSemaphore semaphore[SEMAPHORES];
    uint32_t count;
    uint64_t told[SEMAPHORES];          /* the host has waited for it */
    stamp signals[SEMAPHORES][SIGNALS]; /* rings */
    uint32_t signal_count[SEMAPHORES];
    uint64_t queue_clock[HDT_VK_MOST_QUEUES][SEMAPHORES];
    pthread_t thread[THREADS];
    uint64_t thread_clock[THREADS][SEMAPHORES];
    uint32_t thread_count;
};

/* SEMAPHORES: there are more than this bookkeeping has room for. */
static uint32_t index_of(hdt_vk_implied *k, VkSemaphore semaphore)
{
    uint32_t s = 0;
    while (s < k->count && k->semaphore[s] != semaphore)
        s++;
    if (s == k->count && s < SEMAPHORES)
        k->semaphore[k->count++] = semaphore;
    return s;
}

static void join(uint64_t *clock, const uint64_t *other)
{
    for (uint32_t s = 0; s < SEMAPHORES; s++)
        clock[s] = other[s] > clock[s] ? other[s] : clock[s];
}

/* The signal that a wait for the value waits for: the smallest that is not below. */
static const stamp *stamp_of(const hdt_vk_implied *k, uint32_t s, uint64_t value)
{
    const stamp *found = NULL;
    for (uint32_t i = 0; i < SIGNALS && i < k->signal_count[s]; i++) {
        const stamp *at = &k->signals[s][i];
        if (at->value >= value && (!found || at->value < found->value))
            found = at;
    }
    return found;
}

static void put_stamp(hdt_vk_implied *k, VkSemaphore semaphore, uint64_t value, uint64_t *clock, bool host)
{
    uint32_t s = index_of(k, semaphore);
    if (s == SEMAPHORES)
        return;
    clock[s] = value > clock[s] ? value : clock[s];
    stamp *at = &k->signals[s][k->signal_count[s]++ % SIGNALS];
    at->value = value;
    at->host = host;
    for (uint32_t i = 0; i < SEMAPHORES; i++)
        at->clock[i] = clock[i];
}

static uint64_t *clock_of_thread(hdt_vk_implied *k)
{
    uint32_t t = 0;
    while (t < k->thread_count && !pthread_equal(k->thread[t], pthread_self()))
        t++;
    if (t == THREADS)
        return NULL;
    if (t == k->thread_count)
        k->thread[k->thread_count++] = pthread_self();
    return k->thread_clock[t];
}

hdt_vk_implied *hdt_vk_implied_make(void)
{
    return calloc(1, sizeof(hdt_vk_implied));
}

uint32_t hdt_vk_implied_room(void)
{
    return SEMAPHORES;
}

void hdt_vk_implied_run(hdt_vk_implied *k, uint32_t queue, hdt_vk_held *h)
{
    uint64_t *clock = k->queue_clock[queue];
    uint64_t add[SEMAPHORES] = {0};
    VkPipelineStageFlags2 stages = 0;
    for (uint32_t w = 0; w < h->wait_count; w++) {
        uint32_t s = index_of(k, h->waits[w].semaphore);
        const stamp *from = s < SEMAPHORES ? stamp_of(k, s, h->waits[w].value) : NULL;
        if (!from)
            continue;
        join(clock, from->clock);
        if (from->host || h->waits[w].value <= k->told[s]) {
            join(add, from->clock);
            stages |= h->waits[w].stageMask;
        }
    }
    for (uint32_t s = 0; s < k->count; s++) {
        uint32_t w = 0;
        while (w < h->wait_count && (h->waits[w].semaphore != k->semaphore[s] || h->waits[w].value < add[s]))
            w++;
        if (add[s] > k->told[s] && w == h->wait_count)
            h->waits[h->wait_count++] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                                                .semaphore = k->semaphore[s],
                                                                .value = add[s],
                                                                .stageMask = stages};
    }
    for (uint32_t s = 0; s < h->signal_count; s++)
        put_stamp(k, h->signals[s].semaphore, h->signals[s].value, clock, false);
}

void hdt_vk_implied_waited(hdt_vk_implied *k, const VkSemaphoreWaitInfo *info)
{
    uint64_t *clock = clock_of_thread(k);
    for (uint32_t i = 0; i < info->semaphoreCount; i++) {
        uint32_t s = index_of(k, info->pSemaphores[i]);
        if (s == SEMAPHORES)
            continue;
        k->told[s] = info->pValues[i] > k->told[s] ? info->pValues[i] : k->told[s];
        const stamp *from = stamp_of(k, s, info->pValues[i]);
        if (from && clock)
            join(clock, from->clock);
    }
}

void hdt_vk_implied_signalled(hdt_vk_implied *k, const VkSemaphoreSignalInfo *info)
{
    uint64_t none[SEMAPHORES] = {0}, *clock = clock_of_thread(k);
    put_stamp(k, info->semaphore, info->value, clock ? clock : none, true);
}
