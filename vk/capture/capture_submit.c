#include "capture_state.h"

#include <string.h>

/* Submits. A submit is noted before it is handed on: what it sets off may show on another thread before the call
 * returns. Each thread that submits, waits or signals is a host queue of the stream. */

#define HOOKS(X)                                                                                                       \
    X(vkQueueSubmit)                                                                                                   \
    X(vkQueueSubmit2)                                                                                                  \
    X(vkQueueBindSparse)
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
    res->object = hdi_cap_stream_object_locked(object->record);
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

uint32_t hdi_cap_queue_locked(VkQueue queue)
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
static hd_stream_submit *open_as(uint32_t queue, uint32_t thread, const char *name)
{
    hd_stream *s = hdi_cap.stream;
    uint32_t string = hdi_cap_stream_string_locked(hdi_cap_string_locked(name));
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

hd_stream_submit *hdi_cap_open_submit_locked(uint32_t queue, const char *name)
{
    return open_as(queue, hdi_cap_thread_locked(), name);
}

void hdi_cap_sync_locked(hdi_cap_object *object, uint64_t value, uint64_t stages, bool signal)
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
void hdi_cap_close_waits_locked(void)
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
        to->data = hdi_cap_copy_data_locked(list, from->data);
        to->changes = hdi_cap_stream_object_locked(from->changes);
        to->begin = from->kind == HD_STREAM_ACCESS ? s->access_count : s->barrier_count;
        for (uint32_t k = from->begin; k < from->begin + from->count; k++) {
            if (from->kind == HD_STREAM_ACCESS) {
                uint32_t object = list->accesses[k].resource, resource = hdi_cap_stream_resource_locked(object);
                if (list->accesses[k].access & HDI_CAP_WRITES)
                    hdi_cap_device_writes_locked(&hdi_cap.objects[object], &list->accesses[k].range);
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
                if (resource != HD_NONE && list->barriers[k].old_layout != list->barriers[k].new_layout)
                    hdi_cap_device_writes_locked(&hdi_cap.objects[resource], &list->barriers[k].range);
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

hdi_cap_object *hdi_cap_semaphore_locked(VkSemaphore semaphore)
{
    hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_SEMAPHORE, HDI_CAP_HANDLE(semaphore));
    if (!object && semaphore) {
        object = hdi_cap_make_locked(HDI_CAP_SEMAPHORE, HDI_CAP_HANDLE(semaphore));
        if (object)
            object->binary = 1;
    }
    return object;
}

void hdi_cap_signal_fence_locked(VkFence fence)
{
    hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_FENCE, HDI_CAP_HANDLE(fence));
    if (object)
        hdi_cap_sync_locked(object, object->value + 1, ALL, true);
}

/* Opens a submit of a queue of the device; null: nothing is captured. */
static hd_stream_submit *open_device(VkQueue handle, const char *name)
{
    uint32_t queue = hdi_cap_queue_locked(handle);
    hdi_cap_device_submits_locked(queue);
    return hdi_cap_open_submit_locked(queue, name);
}

static void device_signals(VkSemaphore semaphore, uint64_t value, uint64_t stages)
{
    hdi_cap_object *object = hdi_cap_semaphore_locked(semaphore);
    hdi_cap_sync_locked(object, value, stages, true);
    if (object)
        hdi_cap_device_signals_locked(object, value);
}

static void device_signals_fence(VkFence fence)
{
    hdi_cap_signal_fence_locked(fence);
    const hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_FENCE, HDI_CAP_HANDLE(fence));
    if (object)
        hdi_cap_device_signals_locked(object, object->value);
}

static void submit_locked(VkQueue queue, const VkSubmitInfo2 *info, VkFence fence, const char *name)
{
    if (!open_device(queue, name))
        return;
    for (uint32_t i = 0; i < info->waitSemaphoreInfoCount; i++) {
        const VkSemaphoreSubmitInfo *w = &info->pWaitSemaphoreInfos[i];
        hdi_cap_sync_locked(hdi_cap_semaphore_locked(w->semaphore), w->value, w->stageMask, false);
    }
    hdi_cap_close_waits_locked();
    for (uint32_t i = 0; i < info->commandBufferInfoCount; i++) {
        const hdi_cap_object *object =
            hdi_cap_find_locked(HDI_CAP_COMMANDS, HDI_CAP_HANDLE(info->pCommandBufferInfos[i].commandBuffer));
        if (object && object->commands)
            add_list(object->commands->list);
    }
    for (uint32_t i = 0; i < info->signalSemaphoreInfoCount; i++) {
        const VkSemaphoreSubmitInfo *g = &info->pSignalSemaphoreInfos[i];
        device_signals(g->semaphore, g->value, g->stageMask);
    }
    device_signals_fence(fence);
}

/* Values of semaphores are known also where no stream is open. */
void hdi_cap_remember_locked(const VkSemaphoreSubmitInfo *infos, uint32_t count, bool signal)
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
    hdi_cap_host_writes_locked();
    for (uint32_t i = 0; i < count; i++) {
        if (hdi_cap.stream) {
            submit_locked(queue, &infos[i], i + 1 == count ? fence : VK_NULL_HANDLE, "vkQueueSubmit2");
        } else {
            hdi_cap_remember_locked(infos[i].pWaitSemaphoreInfos, infos[i].waitSemaphoreInfoCount, false);
            hdi_cap_remember_locked(infos[i].pSignalSemaphoreInfos, infos[i].signalSemaphoreInfoCount, true);
        }
    }
    if (count == 0 && hdi_cap.stream && fence && open_device(queue, "vkQueueSubmit2"))
        device_signals_fence(fence);
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
    bool capture = hdi_cap.stream && open_device(queue, "vkQueueSubmit");
    for (uint32_t i = 0; i < info->waitSemaphoreCount; i++) {
        VkSemaphoreSubmitInfo w = {
            .semaphore = info->pWaitSemaphores[i],
            .value = values && i < values->waitSemaphoreValueCount ? values->pWaitSemaphoreValues[i] : 0};
        if (capture)
            hdi_cap_sync_locked(hdi_cap_semaphore_locked(w.semaphore), w.value, info->pWaitDstStageMask[i], false);
        else
            hdi_cap_remember_locked(&w, 1, false);
    }
    if (capture)
        hdi_cap_close_waits_locked();
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
            device_signals(g.semaphore, g.value, ALL);
        else
            hdi_cap_remember_locked(&g, 1, true);
    }
    if (capture)
        device_signals_fence(fence);
}

static VkResult VKAPI_PTR hook_vkQueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
    hdi_cap_lock();
    hdi_cap_host_writes_locked();
    for (uint32_t i = 0; i < count; i++)
        old_submit_locked(queue, &infos[i], i + 1 == count ? fence : VK_NULL_HANDLE);
    if (count == 0 && hdi_cap.stream && fence && open_device(queue, "vkQueueSubmit"))
        device_signals_fence(fence);
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

bool hdi_cap_open_host_locked(const char *name)
{
    return hdi_cap.stream && hdi_cap_open_submit_locked(hdi_cap_thread_locked(), name) != NULL;
}

bool hdi_cap_open_any_host_locked(const char *name)
{
    const hdi_cap_state *c = &hdi_cap;
    uint32_t queue = HD_NONE;
    for (uint32_t i = 0; i < c->thread_count; i++) {
        if (i == 0 || pthread_equal(c->threads[i].thread, pthread_self()))
            queue = c->threads[i].queue;
    }
    if (c->stream && queue == HD_NONE)
        queue = hdi_cap_thread_locked();
    return c->stream && open_as(queue, queue, name);
}

hd_stream_command *hdi_cap_host_command_locked(const char *name)
{
    hd_stream *s = hdi_cap.stream;
    uint32_t string = hdi_cap_stream_string_locked(hdi_cap_string_locked(name));
    hd_stream_command *command = string == HD_NONE ? NULL : hdi_stream_command(s);
    if (!command) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return NULL;
    }
    *command =
        (hd_stream_command){.kind = HD_STREAM_ACCESS, .name = string, .label = HD_NONE, .begin = s->access_count};
    s->submits[s->submit_count - 1].command_count++;
    return command;
}

#define ALIAS(name, as) {name, (PFN_vkVoidFunction)hook_##as, &next_##as},
static const hdi_cap_hook hooks[] = {HOOKS(HDI_CAP_ENTRY) ALIAS("vkQueueSubmit2KHR", vkQueueSubmit2)};
const hdi_cap_hooks hdi_cap_submit_hooks = {hooks, sizeof(hooks) / sizeof(hooks[0]), false};
