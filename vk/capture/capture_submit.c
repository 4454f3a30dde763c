#include "capture_state.h"

#include <string.h>

/* Submits, and what the host waits for and signals. A submit is noted before it is handed on: what it sets off may show
 * on another thread before the call returns. A host wait is noted once it has returned. Each thread that does such
 * things is a host queue of the stream; fences, idle waits and what heddle's threads tell each other become semaphores.
 */

#define HOOKS(X)                                                                                                       \
    X(vkQueueSubmit)                                                                                                   \
    X(vkQueueSubmit2)                                                                                                  \
    X(vkQueueBindSparse)                                                                                               \
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

/* ---- numbers in the stream ---- */

uint32_t hdi_cap_stream_string_locked(uint32_t name)
{
    hdi_cap_state *c = &hdi_cap;
    uint32_t before = c->string_room;
    if (name == HD_NONE)
        return HD_NONE;
    if (hdi_grow(&c->allocator, (void **)&c->string_of, &c->string_room, name + 1, sizeof(*c->string_of)) != HD_OK) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return HD_NONE;
    }
    for (uint32_t i = before; i < c->string_room; i++)
        c->string_of[i] = HD_NONE;
    if (c->string_of[name] == HD_NONE)
        c->string_of[name] = hdi_stream_string(c->stream, c->names->strings[name]);
    if (c->string_of[name] == HD_NONE)
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
    return c->string_of[name];
}

uint32_t hdi_cap_stream_resource_locked(uint32_t index)
{
    hdi_cap_object *object = &hdi_cap.objects[index];
    if (object->stream != HD_NONE)
        return object->stream;
    hd_stream_resource *res = hdi_stream_resource(hdi_cap.stream);
    if (!res) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return HD_NONE;
    }
    *res = object->res;
    object->stream = hdi_cap.stream->resource_count - 1;
    res->name = hdi_cap_stream_string_locked(object->name);
    if (object->serial <= hdi_cap.begin_serial) {
        res->flags |= HD_STREAM_OLD;
        res->layout = res->aspects ? HD_NONE : 0;
    }
    return object->stream;
}

static uint32_t semaphore_locked(hdi_cap_object *object)
{
    if (object->stream != HD_NONE)
        return object->stream;
    hd_stream_semaphore *semaphore = hdi_stream_semaphore(hdi_cap.stream);
    if (!semaphore) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return HD_NONE;
    }
    *semaphore = (hd_stream_semaphore){object->binary, object->value};
    object->stream = hdi_cap.stream->semaphore_count - 1;
    return object->stream;
}

static uint32_t add_queue(uint32_t kind, uint32_t family)
{
    hd_stream *s = hdi_cap.stream;
    hd_stream_queue *queue = s->queue_count < HDI_STREAM_MAX_QUEUES ? hdi_stream_queue(s) : NULL;
    if (!queue) {
        hdi_cap_fail_locked(s->queue_count < HDI_STREAM_MAX_QUEUES ? HD_OUT_OF_MEMORY : HD_TOO_LARGE);
        return HD_NONE;
    }
    *queue = (hd_stream_queue){kind, family};
    return s->queue_count - 1;
}

uint32_t hdi_cap_thread_locked(void)
{
    hdi_cap_state *c = &hdi_cap;
    pthread_t self = pthread_self();
    for (uint32_t i = 0; i < c->thread_count; i++) {
        if (c->by_time || pthread_equal(c->threads[i].thread, self))
            return c->threads[i].queue;
    }
    uint32_t queue = add_queue(HD_QUEUE_HOST, HD_NONE);
    if (queue == HD_NONE)
        return HD_NONE;
    c->threads[c->thread_count].thread = self;
    c->threads[c->thread_count++].queue = queue;
    return queue;
}

static uint32_t queue_locked(VkQueue queue)
{
    hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_QUEUE, HDI_CAP_HANDLE(queue));
    if (!object) {
        object = hdi_cap_make_locked(HDI_CAP_QUEUE, HDI_CAP_HANDLE(queue));
        if (!object)
            return HD_NONE;
        object->queue_kind = HD_QUEUE_GFX;
    }
    if (object->stream == HD_NONE)
        object->stream = add_queue(object->queue_kind, object->family);
    return object->stream;
}

/* ---- submits ---- */

/* Opens a submit; null: nothing is captured. Close it with close_submit. */
static hd_stream_submit *open_submit(uint32_t queue, const char *name)
{
    hd_stream *s = hdi_cap.stream;
    uint32_t thread = hdi_cap_thread_locked(), string = hdi_cap_string_locked(name);
    string = hdi_cap_stream_string_locked(string);
    hd_stream_submit *submit = queue == HD_NONE || thread == HD_NONE || string == HD_NONE ? NULL : hdi_stream_submit(s);
    if (!submit) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return NULL;
    }
    *submit = (hd_stream_submit){.queue = queue,
                                 .thread = thread == queue ? HD_NONE : thread,
                                 .name = string,
                                 .frame = (uint32_t)hdi_cap.frame,
                                 .wait_begin = s->sync_count,
                                 .command_begin = s->command_count,
                                 .signal_begin = s->sync_count};
    return submit;
}

static void add_sync(hdi_cap_object *object, uint64_t value, uint64_t stages, bool signal)
{
    if (!object)
        return;
    uint32_t semaphore = semaphore_locked(object);
    hd_stream *s = hdi_cap.stream;
    hd_stream_sync *sync = hdi_stream_sync(s);
    if (!sync) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return;
    }
    *sync = (hd_stream_sync){semaphore, object->binary ? 0 : value, stages};
    hd_stream_submit *submit = &s->submits[s->submit_count - 1];
    if (signal)
        submit->signal_count++;
    else
        submit->wait_count++;
    if (signal && !object->binary && value > object->value)
        object->value = value;
    if (object->binary)
        object->value = signal;
}

/* Behind the waits, before the signals. */
static void close_waits(void)
{
    hd_stream *s = hdi_cap.stream;
    s->submits[s->submit_count - 1].signal_begin = s->sync_count;
}

static void add_list(const hd_stream *list)
{
    hd_stream *s = hdi_cap.stream;
    uint32_t scope = 0, scope_here = 0;
    s->unseen += list->unseen;
    hdi_cap.buffers++;
    for (uint32_t i = 0; i < list->command_count; i++) {
        const hd_stream_command *from = &list->commands[i];
        hd_stream_command *to = hdi_stream_command(s);
        if (!to) {
            hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
            return;
        }
        *to = *from;
        to->buffer = hdi_cap.with_state ? hdi_cap.buffers : 0;
        to->name = hdi_cap_stream_string_locked(from->name);
        to->label = hdi_cap_stream_string_locked(from->label);
        to->begin = from->kind == HD_STREAM_ACCESS ? s->access_count : s->barrier_count;
        for (uint32_t k = from->begin; k < from->begin + from->count; k++) {
            if (from->kind == HD_STREAM_ACCESS) {
                uint32_t resource = hdi_cap_stream_resource_locked(list->accesses[k].resource);
                hd_stream_access *a = hdi_stream_access(s);
                if (a) {
                    *a = list->accesses[k];
                    a->resource = resource;
                    if (a->scope && a->scope != scope) { /* a buffer that is submitted again is another rendering */
                        scope = a->scope;
                        scope_here = ++hdi_cap.stream_scopes;
                    }
                    a->scope = a->scope ? scope_here : 0;
                }
            } else {
                uint32_t resource = list->barriers[k].resource;
                resource = resource == HD_NONE ? HD_NONE : hdi_cap_stream_resource_locked(resource);
                hd_stream_barrier *b = hdi_stream_barrier(s);
                if (b) {
                    *b = list->barriers[k];
                    b->resource = resource;
                }
            }
        }
        if (to->begin + to->count != (from->kind == HD_STREAM_ACCESS ? s->access_count : s->barrier_count))
            hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
    }
    s->submits[s->submit_count - 1].command_count = s->command_count - s->submits[s->submit_count - 1].command_begin;
}

static hdi_cap_object *semaphore_of(VkSemaphore semaphore)
{
    hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_SEMAPHORE, HDI_CAP_HANDLE(semaphore));
    if (!object && semaphore) {
        object = hdi_cap_make_locked(HDI_CAP_SEMAPHORE, HDI_CAP_HANDLE(semaphore));
        if (object)
            object->binary = 1;
    }
    return object;
}

static void signal_fence(VkFence fence)
{
    hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_FENCE, HDI_CAP_HANDLE(fence));
    if (object)
        add_sync(object, object->value + 1, ALL, true);
}

static void submit_locked(VkQueue queue, const VkSubmitInfo2 *info, VkFence fence, const char *name)
{
    if (!open_submit(queue_locked(queue), name))
        return;
    for (uint32_t i = 0; i < info->waitSemaphoreInfoCount; i++) {
        const VkSemaphoreSubmitInfo *w = &info->pWaitSemaphoreInfos[i];
        add_sync(semaphore_of(w->semaphore), w->value, w->stageMask, false);
    }
    close_waits();
    for (uint32_t i = 0; i < info->commandBufferInfoCount; i++) {
        const hdi_cap_object *object =
            hdi_cap_find_locked(HDI_CAP_COMMANDS, HDI_CAP_HANDLE(info->pCommandBufferInfos[i].commandBuffer));
        if (object && object->commands)
            add_list(object->commands->list);
    }
    for (uint32_t i = 0; i < info->signalSemaphoreInfoCount; i++) {
        const VkSemaphoreSubmitInfo *g = &info->pSignalSemaphoreInfos[i];
        add_sync(semaphore_of(g->semaphore), g->value, g->stageMask, true);
    }
    signal_fence(fence);
}

/* Values of semaphores are known also where no stream is open. */
static void remember_locked(const VkSemaphoreSubmitInfo *infos, uint32_t count, bool signal)
{
    for (uint32_t i = 0; i < count; i++) {
        hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_SEMAPHORE, HDI_CAP_HANDLE(infos[i].semaphore));
        if (object && object->binary)
            object->value = signal;
        else if (object && signal && infos[i].value > object->value)
            object->value = infos[i].value;
    }
}

static VkResult VKAPI_PTR hook_vkQueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence)
{
    hdi_cap_lock();
    for (uint32_t i = 0; i < count; i++) {
        if (hdi_cap.stream) {
            submit_locked(queue, &infos[i], i + 1 == count ? fence : VK_NULL_HANDLE, "vkQueueSubmit2");
        } else {
            remember_locked(infos[i].pWaitSemaphoreInfos, infos[i].waitSemaphoreInfoCount, false);
            remember_locked(infos[i].pSignalSemaphoreInfos, infos[i].signalSemaphoreInfoCount, true);
        }
    }
    if (count == 0 && hdi_cap.stream && fence && open_submit(queue_locked(queue), "vkQueueSubmit2"))
        signal_fence(fence);
    hdi_cap_unlock();
    return NEXT(vkQueueSubmit2)(queue, count, infos, fence);
}

static void old_submit_locked(VkQueue queue, const VkSubmitInfo *info, VkFence fence)
{
    const VkTimelineSemaphoreSubmitInfo *values = NULL;
    for (const VkBaseInStructure *next = info->pNext; next; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
            values = (const VkTimelineSemaphoreSubmitInfo *)next;
    }
    bool capture = hdi_cap.stream && open_submit(queue_locked(queue), "vkQueueSubmit");
    for (uint32_t i = 0; i < info->waitSemaphoreCount; i++) {
        VkSemaphoreSubmitInfo w = {
            .semaphore = info->pWaitSemaphores[i],
            .value = values && i < values->waitSemaphoreValueCount ? values->pWaitSemaphoreValues[i] : 0};
        if (capture)
            add_sync(semaphore_of(w.semaphore), w.value, info->pWaitDstStageMask[i], false);
        else
            remember_locked(&w, 1, false);
    }
    if (capture)
        close_waits();
    for (uint32_t i = 0; i < info->commandBufferCount && capture; i++) {
        const hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_COMMANDS, HDI_CAP_HANDLE(info->pCommandBuffers[i]));
        if (object && object->commands)
            add_list(object->commands->list);
    }
    for (uint32_t i = 0; i < info->signalSemaphoreCount; i++) {
        VkSemaphoreSubmitInfo g = {
            .semaphore = info->pSignalSemaphores[i],
            .value = values && i < values->signalSemaphoreValueCount ? values->pSignalSemaphoreValues[i] : 0};
        if (capture)
            add_sync(semaphore_of(g.semaphore), g.value, ALL, true);
        else
            remember_locked(&g, 1, true);
    }
    if (capture)
        signal_fence(fence);
}

static VkResult VKAPI_PTR hook_vkQueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
    hdi_cap_lock();
    for (uint32_t i = 0; i < count; i++)
        old_submit_locked(queue, &infos[i], i + 1 == count ? fence : VK_NULL_HANDLE);
    if (count == 0 && hdi_cap.stream && fence && open_submit(queue_locked(queue), "vkQueueSubmit"))
        signal_fence(fence);
    hdi_cap_unlock();
    return NEXT(vkQueueSubmit)(queue, count, infos, fence);
}

static VkResult VKAPI_PTR hook_vkQueueBindSparse(VkQueue queue, uint32_t count, const VkBindSparseInfo *infos,
                                                 VkFence fence)
{
    hdi_cap_lock();
    hdi_cap_unseen_locked();
    hdi_cap_unlock();
    return NEXT(vkQueueBindSparse)(queue, count, infos, fence);
}

/* ---- the host ---- */

static bool open_host(const char *name)
{
    return hdi_cap.stream && open_submit(hdi_cap_thread_locked(), name) != NULL;
}

static VkResult VKAPI_PTR hook_vkWaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout)
{
    VkResult result = NEXT(vkWaitSemaphores)(device, info, timeout);
    bool all = !(info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) || info->semaphoreCount == 1; /* else it is not known which */
    hdi_cap_lock();
    if (result == VK_SUCCESS && all && open_host("vkWaitSemaphores")) {
        for (uint32_t i = 0; i < info->semaphoreCount; i++)
            add_sync(semaphore_of(info->pSemaphores[i]), info->pValues[i], ALL, false);
        close_waits();
    }
    hdi_cap_unlock();
    return result;
}

static VkResult VKAPI_PTR hook_vkSignalSemaphore(VkDevice device, const VkSemaphoreSignalInfo *info)
{
    hdi_cap_lock();
    if (open_host("vkSignalSemaphore"))
        add_sync(semaphore_of(info->semaphore), info->value, ALL, true);
    else
        remember_locked(&(VkSemaphoreSubmitInfo){.semaphore = info->semaphore, .value = info->value}, 1, true);
    hdi_cap_unlock();
    return NEXT(vkSignalSemaphore)(device, info);
}

static VkResult VKAPI_PTR hook_vkGetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore, uint64_t *value)
{
    VkResult result = NEXT(vkGetSemaphoreCounterValue)(device, semaphore, value);
    hdi_cap_lock();
    if (result == VK_SUCCESS && *value && open_host("vkGetSemaphoreCounterValue")) {
        add_sync(semaphore_of(semaphore), *value, ALL, false);
        close_waits();
    }
    hdi_cap_unlock();
    return result;
}

static void waited_for_fences(const char *name, uint32_t count, const VkFence *fences)
{
    hdi_cap_lock();
    if (open_host(name)) {
        for (uint32_t i = 0; i < count; i++) {
            hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_FENCE, HDI_CAP_HANDLE(fences[i]));
            if (object && object->value)
                add_sync(object, object->value, ALL, false);
        }
        close_waits();
    }
    hdi_cap_unlock();
}

static VkResult VKAPI_PTR hook_vkWaitForFences(VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all,
                                               uint64_t timeout)
{
    VkResult result = NEXT(vkWaitForFences)(device, count, fences, all, timeout);
    if (result == VK_SUCCESS && (all || count == 1))
        waited_for_fences("vkWaitForFences", count, fences);
    return result;
}

static VkResult VKAPI_PTR hook_vkGetFenceStatus(VkDevice device, VkFence fence)
{
    VkResult result = NEXT(vkGetFenceStatus)(device, fence);
    if (result == VK_SUCCESS)
        waited_for_fences("vkGetFenceStatus", 1, &fence);
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
    if (!told || !open_submit(queue, name))
        return;
    add_sync(told, told->value + 1, ALL, true);
    if (!open_host(name))
        return;
    add_sync(told, told->value, ALL, false);
    close_waits();
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
    hdi_cap_lock();
    if (hdi_cap.stream && open_submit(queue_locked(queue), "vkQueuePresentKHR")) {
        for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
            add_sync(semaphore_of(info->pWaitSemaphores[i]), 0, ALL, false);
        close_waits();
    }
    for (uint32_t i = 0; i < info->waitSemaphoreCount && !hdi_cap.stream; i++)
        remember_locked(&(VkSemaphoreSubmitInfo){.semaphore = info->pWaitSemaphores[i]}, 1, false);
    hdi_cap.frame++;
    hdi_cap_unlock();
    return NEXT(vkQueuePresentKHR)(queue, info);
}

/* Signalled from outside: as by the host. */
static void acquired(VkResult result, const char *name, VkSemaphore semaphore, VkFence fence)
{
    hdi_cap_lock();
    if (result >= VK_SUCCESS && result != VK_TIMEOUT && result != VK_NOT_READY) {
        if (open_host(name)) {
            add_sync(semaphore_of(semaphore), 0, ALL, true);
            signal_fence(fence);
        } else if (semaphore) {
            remember_locked(&(VkSemaphoreSubmitInfo){.semaphore = semaphore}, 1, true);
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
    if (object && hdi_cap.stream && open_host("tells"))
        add_sync(object, value, ALL, true);
    else if (object && value > object->value)
        object->value = value;
    hdi_cap_unlock();
}

void hdi_cap_mark_hear(const void *place, uint64_t value)
{
    hdi_cap_lock();
    hdi_cap_object *object = hdi_cap.stream ? told_locked(place) : NULL;
    if (object && open_host("hears")) {
        add_sync(object, value, ALL, false);
        close_waits();
    }
    hdi_cap_unlock();
}

#define ALIAS(name, as) {name, (PFN_vkVoidFunction)hook_##as, &next_##as},
static const hdi_cap_hook hooks[] = {HOOKS(HDI_CAP_ENTRY) ALIAS("vkQueueSubmit2KHR", vkQueueSubmit2)
                                         ALIAS("vkWaitSemaphoresKHR", vkWaitSemaphores)
                                             ALIAS("vkSignalSemaphoreKHR", vkSignalSemaphore)
                                                 ALIAS("vkGetSemaphoreCounterValueKHR", vkGetSemaphoreCounterValue)};
const hdi_cap_hooks hdi_cap_submit_hooks = {hooks, sizeof(hooks) / sizeof(hooks[0])};
