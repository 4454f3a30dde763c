#include "replay_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vk_device.h"

/* Replay of a captured stream: its submits in the order of the stream, by one thread. Every semaphore of the stream is
 * a timeline semaphore here, so that a wait is for a value. A submit is handed on when all values that it waits for
 * will be signalled by what was handed on before, or were signalled by the host; until then it and those behind it on
 * its queue are held back. So nothing is under way that cannot end, and the host may wait for the device at any time.
 */

enum { MOST_UNDER_WAY = 64 };

/* ---- failures ---- */

static void say(const hdi_replay *p, const char *text)
{
    if (p->desc->message)
        p->desc->message(text, p->desc->user);
}

bool hdi_replay_fail(hdi_replay *p, hd_result result, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    if (p->result != HD_OK)
        return false;
    p->result = result;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    hdi_one_line(text);
    say(p, text);
    return false;
}

static const char *result_name(VkResult result)
{
#define NAME(name)                                                                                                     \
    case name:                                                                                                         \
        return #name
    switch (result) {
        NAME(VK_ERROR_OUT_OF_HOST_MEMORY);
        NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY);
        NAME(VK_ERROR_INITIALIZATION_FAILED);
        NAME(VK_ERROR_DEVICE_LOST);
        NAME(VK_ERROR_MEMORY_MAP_FAILED);
        NAME(VK_ERROR_LAYER_NOT_PRESENT);
        NAME(VK_ERROR_EXTENSION_NOT_PRESENT);
        NAME(VK_ERROR_FEATURE_NOT_PRESENT);
        NAME(VK_ERROR_INCOMPATIBLE_DRIVER);
        NAME(VK_ERROR_TOO_MANY_OBJECTS);
        NAME(VK_ERROR_FORMAT_NOT_SUPPORTED);
        NAME(VK_ERROR_FRAGMENTED_POOL);
        NAME(VK_ERROR_OUT_OF_POOL_MEMORY);
        NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE);
    default:
        return "another VkResult";
    }
#undef NAME
}

bool hdi_replay_check(hdi_replay *p, VkResult result, const char *format, ...)
{
    char what[512];
    hd_result mapped = HD_VULKAN;
    va_list arguments;
    if (result == VK_SUCCESS)
        return true;
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY)
        mapped = HD_OUT_OF_MEMORY;
    else if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY)
        mapped = HD_OUT_OF_DEVICE_MEMORY;
    else if (result == VK_ERROR_DEVICE_LOST)
        mapped = HD_DEVICE_LOST;
    else if (result == VK_ERROR_EXTENSION_NOT_PRESENT || result == VK_ERROR_FEATURE_NOT_PRESENT ||
             result == VK_ERROR_LAYER_NOT_PRESENT || result == VK_ERROR_FORMAT_NOT_SUPPORTED)
        mapped = HD_MISSING_FEATURE;
    else if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        mapped = HD_NO_DEVICE;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    return hdi_replay_fail(p, mapped, "%s: %s (%d)", what, result_name(result), (int)result);
}

/* ---- the stream's data ---- */

bool hdi_replay_open(hdi_replay *p, uint32_t data, uint32_t limit, hdi_call_reader *out)
{
    const hd_stream *s = p->s;
    const hd_stream_data *d = data && data < s->data_count ? &s->datas[data] : NULL;
    bool inside = d && d->byte_count <= s->byte_count && d->byte_begin <= s->byte_count - d->byte_count &&
                  d->ref_count <= s->ref_count && d->ref_begin <= s->ref_count - d->ref_count;
    for (uint32_t i = 0; inside && i < d->ref_count; i++)
        inside = s->refs[d->ref_begin + i] && s->refs[d->ref_begin + i] < limit;
    if (!inside)
        return false;
    *out = (hdi_call_reader){.bytes = s->bytes + d->byte_begin,
                             .refs = s->refs + d->ref_begin,
                             .byte_count = d->byte_count,
                             .ref_count = d->ref_count,
                             .arena = &p->arena,
                             .handle = hdi_replay_handle,
                             .user = p};
    return true;
}

/* ---- semaphores ---- */

static hdi_replay_semaphore *semaphore_of(hdi_replay *p, uint32_t number)
{
    hdi_replay_semaphore *semaphore = &p->semaphores[number];
    if (semaphore->handle)
        return semaphore;
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                      .initialValue = p->s->semaphores[number].initial};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore made;
    if (!hdi_replay_check(p, p->fn.vkCreateSemaphore(p->device, &info, NULL, &made), "vkCreateSemaphore"))
        return NULL;
    semaphore->handle = made;
    return semaphore;
}

/* The values of a submit that the stream has come to: of a binary semaphore, a signal is one more, and a wait is for
 * the last signal before it. */
static void number_syncs(hdi_replay *p, const hd_stream_submit *submit)
{
    const hd_stream *s = p->s;
    for (uint32_t part = 0; part < 2; part++) {
        uint32_t begin = part ? submit->signal_begin : submit->wait_begin;
        uint32_t count = part ? submit->signal_count : submit->wait_count;
        for (uint32_t i = begin; i < begin + count; i++) {
            uint32_t number = s->syncs[i].semaphore;
            p->values[i] = s->syncs[i].value;
            if (number != HD_NONE && s->semaphores[number].binary)
                p->values[i] = p->semaphores[number].count += part;
        }
    }
}

static bool is_ready(const hdi_replay *p, const hd_stream_submit *submit)
{
    for (uint32_t i = submit->wait_begin; i < submit->wait_begin + submit->wait_count; i++) {
        uint32_t number = p->s->syncs[i].semaphore;
        if (number != HD_NONE && p->values[i] > p->semaphores[number].signalled)
            return false;
    }
    return true;
}

/* A signal of the host. One that comes behind a higher one says nothing new. */
static bool signal_host(hdi_replay *p, uint32_t sync)
{
    uint32_t number = p->s->syncs[sync].semaphore;
    hdi_replay_semaphore *semaphore = number == HD_NONE ? NULL : &p->semaphores[number];
    if (!semaphore || p->values[sync] <= semaphore->signalled)
        return true;
    if ((semaphore->turn == p->turn && !hdi_replay_idle(p)) || !semaphore_of(p, number))
        return false;
    VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore->handle, .value = p->values[sync]};
    semaphore->signalled = p->values[sync];
    return hdi_replay_check(p, p->fn.vkSignalSemaphore(p->device, &info), "vkSignalSemaphore");
}

/* ---- submits ---- */

bool hdi_replay_idle(hdi_replay *p)
{
    if (!p->under_way)
        return p->result == HD_OK;
    for (uint32_t i = 0; i < HDI_REPLAY_FAMILIES; i++) {
        VkQueue queue = p->families[i].queue;
        if (queue && !hdi_replay_check(p, p->fn.vkQueueWaitIdle(queue), "vkQueueWaitIdle"))
            return false;
    }
    p->turn++;
    p->under_way = 0;
    for (uint32_t i = 0; i < p->old_count; i++)
        p->fn.vkDestroyEvent(p->device, p->old[i].event, NULL);
    p->old_count = 0;
    for (uint32_t i = 0; i < HDI_REPLAY_FAMILIES; i++) {
        hdi_replay_family *family = &p->families[i];
        family->used = 0;
        if (family->pool &&
            !hdi_replay_check(p, p->fn.vkResetCommandPool(p->device, family->pool, 0), "vkResetCommandPool"))
            return false;
    }
    return true;
}

/* The waits or signals of a submit; null: failed. */
static VkSemaphoreSubmitInfo *syncs_of(hdi_replay *p, uint32_t begin, uint32_t count, bool signals, uint32_t *out_count)
{
    VkSemaphoreSubmitInfo *list = HDI_ARENA_ARRAY(&p->arena, VkSemaphoreSubmitInfo, count);
    *out_count = 0;
    if (!list) {
        hdi_replay_fail(p, HD_OUT_OF_MEMORY, "%s", hd_result_text(HD_OUT_OF_MEMORY));
        return NULL;
    }
    for (uint32_t i = begin; i < begin + count; i++) {
        uint32_t number = p->s->syncs[i].semaphore;
        hdi_replay_semaphore *semaphore = number == HD_NONE ? NULL : &p->semaphores[number];
        if (!semaphore || (signals ? p->values[i] <= semaphore->signalled : p->values[i] == 0))
            continue;
        if (!semaphore_of(p, number))
            return NULL;
        list[(*out_count)++] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                                       .semaphore = semaphore->handle,
                                                       .value = p->values[i],
                                                       .stageMask = p->s->syncs[i].stages};
        if (signals) {
            semaphore->signalled = p->values[i];
            semaphore->turn = p->turn;
        }
    }
    return list;
}

static bool hand_on(hdi_replay *p, uint32_t index)
{
    const hd_stream_submit *submit = &p->s->submits[index];
    uint32_t family = p->s->queues[submit->queue].family;
    VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2};
    if (p->under_way >= MOST_UNDER_WAY && !hdi_replay_idle(p))
        return false;
    if (family >= p->captured_family_count)
        return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "submit %u is for a queue of a family that the device lacked",
                               index);
    if (!hdi_replay_record(p, index, &info.commandBufferInfoCount))
        return false;
    hdi_arena_reset(&p->arena);
    info.pCommandBufferInfos = p->buffers;
    info.pWaitSemaphoreInfos = syncs_of(p, submit->wait_begin, submit->wait_count, false, &info.waitSemaphoreInfoCount);
    if (info.pWaitSemaphoreInfos)
        info.pSignalSemaphoreInfos =
            syncs_of(p, submit->signal_begin, submit->signal_count, true, &info.signalSemaphoreInfoCount);
    if (!info.pSignalSemaphoreInfos)
        return false;
    VkQueue queue = p->families[p->own_family[family]].queue;
    p->report.submits++;
    p->under_way++;
    if (!hdi_replay_check(p, p->fn.vkQueueSubmit2(queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit2 of submit %u",
                          index))
        return false;
    for (uint32_t i = submit->command_begin; i < submit->command_begin + submit->command_count; i++) {
        if (hdi_replay_function(p, p->s->commands[i].name)->word == HDI_WORD_PRESENT &&
            !hdi_replay_present(p, index, i))
            return false;
    }
    return true;
}

/* Hands on what can be, of the submits before end: until no queue goes further. */
static bool go_on(hdi_replay *p, uint32_t end)
{
    const hd_stream *s = p->s;
    bool any = true;
    while (any) {
        any = false;
        for (uint32_t q = 0; q < s->queue_count; q++) {
            uint32_t *next = &p->next[q];
            for (; *next < end; ++*next) {
                const hd_stream_submit *submit = &s->submits[*next];
                if (submit->queue != q || s->queues[q].kind == HD_QUEUE_HOST)
                    continue;
                if (!is_ready(p, submit))
                    break;
                if (!hand_on(p, *next))
                    return false;
                any = true;
            }
        }
    }
    return true;
}

static bool run(hdi_replay *p)
{
    const hd_stream *s = p->s;
    for (uint32_t i = 0; i < s->submit_count; i++) {
        const hd_stream_submit *submit = &s->submits[i];
        number_syncs(p, submit);
        if (s->queues[submit->queue].kind == HD_QUEUE_HOST) {
            for (uint32_t k = submit->command_begin; k < submit->command_begin + submit->command_count; k++) {
                hdi_arena_reset(&p->arena);
                if (!hdi_replay_host(p, i, k))
                    return false;
            }
            for (uint32_t k = submit->signal_begin; k < submit->signal_begin + submit->signal_count; k++) {
                if (!signal_host(p, k))
                    return false;
            }
        }
        if (!go_on(p, i + 1))
            return false;
    }
    for (uint32_t q = 0; q < s->queue_count; q++) {
        if (p->next[q] < s->submit_count)
            return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "submit %u waits for a semaphore that nothing signals",
                                   p->next[q]);
    }
    return hdi_replay_idle(p);
}

/* ---- life ---- */

static void *make_array(hdi_replay *p, uint32_t count, size_t bytes)
{
    void *array = hdi_alloc(&p->allocator, (size_t)count * bytes, 16);
    if (array)
        memset(array, 0, (size_t)count * bytes);
    else
        hdi_replay_fail(p, HD_OUT_OF_MEMORY, "%s", hd_result_text(HD_OUT_OF_MEMORY));
    return array;
}

/* Memory that the host must see here. */
static void mark_seen(hdi_replay *p)
{
    const hd_stream *s = p->s;
    for (uint32_t i = 0; i < s->command_count; i++) {
        const hd_stream_command *c = &s->commands[i];
        const hdi_replay_word word = hdi_replay_function(p, c->name)->word;
        hdi_call_reader reader;
        if ((word == HDI_WORD_WRITE || word == HDI_WORD_READ) &&
            hdi_replay_open(p, c->data, s->object_count, &reader) && reader.ref_count)
            p->objects[reader.refs[0]].seen = true;
    }
}

static bool begin(hdi_replay *p)
{
    const hd_stream *s = p->s;
    if (!s->device || s->device >= s->object_count)
        return hdi_replay_fail(p, HD_INVALID_ARGUMENT,
                               "the stream does not say what its calls were given: it was "
                               "captured without .replay");
    if (!hdi_call_type_find("VkDeviceCreateInfo"))
        return hdi_replay_fail(p, HD_UNSUPPORTED,
                               "heddle was built without the registry of Vulkan (vk.xml): it replays "
                               "no captures");
    if (!(p->objects = make_array(p, s->object_count, sizeof(*p->objects))) ||
        !(p->names = make_array(p, s->string_count, sizeof(*p->names))) ||
        !(p->semaphores = make_array(p, s->semaphore_count, sizeof(*p->semaphores))) ||
        !(p->values = make_array(p, s->sync_count, sizeof(*p->values))) ||
        !(p->pictures = make_array(p, s->resource_count, sizeof(*p->pictures))))
        return false;
    for (uint32_t i = 0; i < s->semaphore_count; i++)
        p->semaphores[i] = (hdi_replay_semaphore){
            .signalled = s->semaphores[i].initial, .count = s->semaphores[i].initial, .turn = UINT64_MAX};
    if (!hdi_replay_make_device(p))
        return false;
    mark_seen(p);
    return p->result == HD_OK;
}

static void end(hdi_replay *p)
{
    const hd_stream *s = p->s;
    if (p->device) {
        for (uint32_t i = 0; i < HDI_REPLAY_FAMILIES; i++) {
            if (p->under_way && p->families[i].queue) /* it failed */
                p->fn.vkQueueWaitIdle(p->families[i].queue);
        }
        for (uint32_t i = 0; i < p->event_count; i++)
            p->fn.vkDestroyEvent(p->device, p->events[i].event, NULL);
        for (uint32_t i = 0; i < p->old_count; i++)
            p->fn.vkDestroyEvent(p->device, p->old[i].event, NULL);
        for (uint32_t i = 0; i < s->semaphore_count; i++)
            p->fn.vkDestroySemaphore(p->device, p->semaphores[i].handle, NULL);
        p->fn.vkDestroyBuffer(p->device, p->look, NULL);
        p->fn.vkFreeMemory(p->device, p->look_memory, NULL);
        hdi_replay_destroy_objects(p);
    }
    hdi_replay_destroy_device(p);
    hdi_free(&p->allocator, p->objects, s->object_count * sizeof(*p->objects));
    hdi_free(&p->allocator, p->names, s->string_count * sizeof(*p->names));
    hdi_free(&p->allocator, p->semaphores, s->semaphore_count * sizeof(*p->semaphores));
    hdi_free(&p->allocator, p->values, s->sync_count * sizeof(*p->values));
    hdi_free(&p->allocator, p->pictures, s->resource_count * sizeof(*p->pictures));
    hdi_free(&p->allocator, p->events, p->event_room * sizeof(*p->events));
    hdi_free(&p->allocator, p->old, p->old_room * sizeof(*p->old));
    hdi_free(&p->allocator, p->buffers, p->buffer_room * sizeof(*p->buffers));
    hdi_arena_free(&p->arena);
}

hd_result hd_replay(const hd_stream *stream, const hd_replay_desc *desc, hd_replay_report *report)
{
    static const hd_replay_desc zero;
    hdi_replay p = {.s = stream, .desc = desc ? desc : &zero};
    if (report)
        *report = (hd_replay_report){0};
    if (!stream)
        return HD_INVALID_ARGUMENT;
    p.allocator = p.desc->allocator;
    hdi_arena_init(&p.arena, &p.allocator);
    p.get_instance_proc = p.desc->get_instance_proc ? p.desc->get_instance_proc : hdi_vk_find_loader();
    if (!p.get_instance_proc)
        hdi_replay_fail(&p, HD_NO_LOADER, "%s", hd_result_text(HD_NO_LOADER));
    else if (begin(&p))
        run(&p);
    end(&p);
    if (p.complaints)
        hdi_replay_fail(&p, HD_VULKAN, "the validation layer has %u complaints", p.complaints);
    if (report)
        *report = p.report;
    return p.result;
}
