#include "capture_descriptors.h"
#include "capture_state.h"

#include <string.h>

#include "call_tables.h"
#include "hash.h"
#include "vk_device.h"

PFN_vkGetInstanceProcAddr hdi_vk_find_loader(void);

/* Life of the capture, its objects by handle, and the functions that it gives out. A name that is hooked gets the hook;
 * what the hook calls is what the device's own lookup gave, else what the instance's did. */

hdi_cap_state hdi_cap;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void hdi_cap_lock(void)
{
    pthread_mutex_lock(&lock);
}

void hdi_cap_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void hdi_cap_fail_locked(hd_result result)
{
    if (hdi_cap.failure == HD_OK)
        hdi_cap.failure = result;
}

/* ---- objects ---- */

static hdi_cap_slot *find_slot(hdi_cap_slot *slots, uint32_t room, uint32_t kind, uint64_t handle)
{
    uint32_t at = (uint32_t)hdi_hash_mix(kind, handle) & (room - 1);
    while (slots[at].kind != UINT32_MAX && (slots[at].kind != kind || slots[at].handle != handle))
        at = (at + 1) & (room - 1);
    return &slots[at];
}

/* Room at half load; dead entries go. */
static bool grow_slots(void)
{
    hdi_cap_state *c = &hdi_cap;
    uint32_t room = 256, living = c->object_count - c->free_count;
    if ((c->slot_count + 1) * 2 <= c->slot_room)
        return true;
    while (room < (living + 1) * 4)
        room *= 2;
    hdi_cap_slot *slots = hdi_alloc(&c->allocator, room * sizeof(*slots), 64);
    if (!slots)
        return false;
    for (uint32_t i = 0; i < room; i++)
        slots[i] = (hdi_cap_slot){0, UINT32_MAX, HD_NONE};
    c->slot_count = 0;
    for (uint32_t i = 0; i < c->slot_room; i++) {
        if (c->slots[i].kind == UINT32_MAX || c->slots[i].object == HD_NONE)
            continue;
        *find_slot(slots, room, c->slots[i].kind, c->slots[i].handle) = c->slots[i];
        c->slot_count++;
    }
    hdi_free(&c->allocator, c->slots, c->slot_room * sizeof(*slots));
    c->slots = slots;
    c->slot_room = room;
    return true;
}

hdi_cap_object *hdi_cap_find_locked(hdi_cap_kind kind, uint64_t handle)
{
    hdi_cap_state *c = &hdi_cap;
    if (!c->slot_room || !handle)
        return NULL;
    const hdi_cap_slot *slot = find_slot(c->slots, c->slot_room, kind, handle);
    return slot->kind == UINT32_MAX || slot->object == HD_NONE ? NULL : &c->objects[slot->object];
}

uint32_t hdi_cap_index_locked(const hdi_cap_object *object)
{
    return (uint32_t)(object - hdi_cap.objects);
}

void hdi_cap_drop_locked(hdi_cap_kind kind, uint64_t handle)
{
    hdi_cap_state *c = &hdi_cap;
    hdi_cap_object *object = hdi_cap_find_locked(kind, handle);
    if (!object)
        return;
    hdi_cap_forget_commands_locked(object, true);
    hdi_cap_forget_memory_locked(object);
    hdi_free(&c->allocator, object->made, object->made_bytes);
    object->made = NULL;
    object->dead = true;
    find_slot(c->slots, c->slot_room, kind, handle)->object = HD_NONE;
    /* What a recorded command may still name keeps its number while a stream is open. */
    if (c->stream ||
        hdi_grow(&c->allocator, (void **)&c->free, &c->free_room, c->free_count + 1, sizeof(*c->free)) != HD_OK)
        return;
    c->free[c->free_count++] = hdi_cap_index_locked(object);
}

hdi_cap_object *hdi_cap_make_locked(hdi_cap_kind kind, uint64_t handle)
{
    hdi_cap_state *c = &hdi_cap;
    hdi_cap_drop_locked(kind, handle);
    if (!grow_slots() || (c->free_count == 0 && hdi_grow(&c->allocator, (void **)&c->objects, &c->object_room,
                                                         c->object_count + 1, sizeof(*c->objects)) != HD_OK)) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return NULL;
    }
    uint32_t index = c->free_count ? c->free[--c->free_count] : c->object_count++;
    hdi_cap_object *object = &c->objects[index];
    memset(object, 0, sizeof(*object));
    object->kind = kind;
    object->handle = handle;
    object->serial = ++c->serial;
    object->stream = object->name = HD_NONE;
    hdi_cap_slot *slot = find_slot(c->slots, c->slot_room, kind, handle);
    c->slot_count += slot->kind == UINT32_MAX;
    *slot = (hdi_cap_slot){handle, kind, index};
    return object;
}

hdi_cap_object *hdi_cap_resource_locked(hdi_cap_kind kind, uint64_t handle)
{
    hdi_cap_object *object = hdi_cap_find_locked(kind, handle);
    if (object)
        return object;
    object = hdi_cap_make_locked(kind, handle);
    if (!object)
        return NULL;
    object->serial = 0;
    object->res = (hd_stream_resource){.name = HD_NONE,
                                       .memory = HD_NONE,
                                       .bytes = INT64_MAX,
                                       .mips = 1,
                                       .layers = 1,
                                       .aspects = kind == HDI_CAP_IMAGE ? VK_IMAGE_ASPECT_COLOR_BIT : 0,
                                       .layout = HD_NONE};
    return object;
}

uint32_t hdi_cap_string_locked(const char *text)
{
    uint32_t string = hdi_stream_string(hdi_cap.names, text);
    if (string == HD_NONE)
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
    return string;
}

void hdi_cap_forget_commands_locked(hdi_cap_object *object, bool all)
{
    hdi_cap_commands *c = object->commands;
    if (!c)
        return;
    c->list->command_count = c->list->barrier_count = c->list->access_count = 0;
    c->list->data_count = c->list->byte_count = c->list->ref_count = 0;
    c->list->unseen = 0;
    c->at_end->access_count = 0;
    c->label_count = c->group = c->scope = c->query_count = 0;
    hdi_cap_forget_run_locked(c);
    c->index.object = HD_NONE;
    for (uint32_t i = 0; i < HDI_CAP_BINDINGS; i++)
        c->vertices[i].object = HD_NONE;
    if (!all)
        return;
    hd_stream_free(c->list);
    hd_stream_free(c->at_end);
    hdi_free(&hdi_cap.allocator, c, sizeof(*c));
    object->commands = NULL;
}

hdi_cap_commands *hdi_cap_commands_locked(VkCommandBuffer commands)
{
    hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_COMMANDS, HDI_CAP_HANDLE(commands));
    if (!hdi_cap.open)
        return NULL;
    if (!object)
        object = hdi_cap_make_locked(HDI_CAP_COMMANDS, HDI_CAP_HANDLE(commands));
    if (!object || object->commands)
        return object ? object->commands : NULL;
    hdi_cap_commands *c = hdi_alloc(&hdi_cap.allocator, sizeof(*c), 64);
    if (c) {
        memset(c, 0, sizeof(*c));
        c->list = hdi_stream_make(&hdi_cap.allocator);
        c->at_end = hdi_stream_make(&hdi_cap.allocator);
    }
    if (!c || !c->list || !c->at_end) {
        if (c) {
            hd_stream_free(c->list);
            hd_stream_free(c->at_end);
        }
        hdi_free(&hdi_cap.allocator, c, sizeof(*c));
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return NULL;
    }
    object->commands = c;
    hdi_cap_forget_commands_locked(object, false);
    return c;
}

/* ---- functions ---- */

static const hdi_cap_hooks *const all_hooks[] = {
    &hdi_cap_object_hooks, &hdi_cap_record_hooks, &hdi_cap_transfer_hooks, &hdi_cap_draw_hooks, &hdi_cap_bind_hooks,
    &hdi_cap_pass_hooks,   &hdi_cap_submit_hooks, &hdi_cap_wait_hooks,     &hdi_cap_made_hooks, &hdi_cap_host_hooks};

/* The hook that keeps what a function is given, in front of the real one. */
static PFN_vkVoidFunction keep_data(const char *name, PFN_vkVoidFunction real, bool from_device)
{
    const hdi_call *call = hdi_cap.replay ? hdi_call_find(name) : NULL;
    PFN_vkVoidFunction hook = call ? call->hook : NULL, *next = call ? call->next : NULL;
    for (uint32_t i = 0; i < hdi_call_miss_count && hdi_cap.replay && !hook; i++) {
        if (strcmp(hdi_call_misses[i].name, name) == 0) {
            hook = hdi_call_misses[i].hook;
            next = hdi_call_misses[i].next;
        }
    }
    if (hook && (from_device || !*next))
        *next = real;
    return hook ? hook : real;
}

static PFN_vkVoidFunction replace(const char *name, PFN_vkVoidFunction real, bool from_device)
{
    real = keep_data(name, real, from_device);
    for (size_t t = 0; t < sizeof(all_hooks) / sizeof(all_hooks[0]); t++) {
        for (size_t i = 0; i < all_hooks[t]->count && (hdi_cap.replay || !all_hooks[t]->replay); i++) {
            const hdi_cap_hook *hook = &all_hooks[t]->list[i];
            if (strcmp(hook->name, name) != 0)
                continue;
            if (from_device || !*hook->next)
                *hook->next = real;
            return hook->hook;
        }
    }
    return real;
}

static PFN_vkVoidFunction VKAPI_PTR device_proc(VkDevice device, const char *name)
{
    PFN_vkVoidFunction real = hdi_cap.device_proc(device, name);
    hdi_cap_lock();
    if (real)
        real = replace(name, real, true);
    hdi_cap_unlock();
    return real;
}

static const hdi_vk_observer *VKAPI_PTR observe(void)
{
    return &hdi_cap_observer;
}

PFN_vkVoidFunction VKAPI_PTR hd_capture_get_instance_proc(VkInstance instance, const char *name)
{
    if (!hdi_cap.instance_proc || !name)
        return NULL;
    if (strcmp(name, "vkGetInstanceProcAddr") == 0)
        return (PFN_vkVoidFunction)hd_capture_get_instance_proc;
    if (strcmp(name, HDI_VK_OBSERVER) == 0)
        return (PFN_vkVoidFunction)observe;
    PFN_vkVoidFunction real = hdi_cap.instance_proc(instance, name);
    if (!real)
        return NULL;
    hdi_cap_lock();
    hdi_cap.instance = instance ? instance : hdi_cap.instance;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
        hdi_cap.device_proc = (PFN_vkGetDeviceProcAddr)real;
        real = (PFN_vkVoidFunction)device_proc;
    } else {
        real = replace(name, real, false);
    }
    hdi_cap_unlock();
    return real;
}

/* ---- life ---- */

hd_result hd_capture_open(const hd_capture_desc *desc)
{
    static const hd_capture_desc zero;
    hdi_cap_state *c = &hdi_cap;
    if (!desc)
        desc = &zero;
    bool replay = desc->replay && hdi_call_find("vkCmdDraw"); /* else there are no tables */
    PFN_vkGetInstanceProcAddr next = desc->get_instance_proc ? desc->get_instance_proc : hdi_vk_find_loader();
    if (!next)
        return HD_NO_LOADER;
    hdi_cap_lock();
    hd_result result = c->open ? HD_INVALID_ARGUMENT : HD_OK;
    hd_stream *names = result == HD_OK ? hdi_stream_make(&desc->allocator) : NULL;
    hd_stream *records = result == HD_OK && replay ? hdi_stream_make(&desc->allocator) : NULL;
    if (result == HD_OK && (!names || (replay && !records))) {
        result = HD_OUT_OF_MEMORY;
        hd_stream_free(names);
        hd_stream_free(records);
    }
    if (result == HD_OK) {
        for (size_t t = 0; t < sizeof(all_hooks) / sizeof(all_hooks[0]); t++) {
            for (size_t i = 0; i < all_hooks[t]->count; i++)
                *all_hooks[t]->list[i].next = NULL;
        }
        for (uint32_t i = 0; i < hdi_call_count; i++) {
            if (hdi_calls[i].next)
                *hdi_calls[i].next = NULL;
        }
        for (uint32_t i = 0; i < hdi_call_miss_count; i++)
            *hdi_call_misses[i].next = NULL;
        *c = (hdi_cap_state){.open = true,
                             .by_time = desc->order_by_time,
                             .with_state = desc->state || desc->replay,
                             .replay = replay,
                             .records = records,
                             .allocator = desc->allocator,
                             .instance_proc = next,
                             .names = names};
    }
    hdi_cap_unlock();
    return result;
}

void hd_capture_close(void)
{
    hdi_cap_state *c = &hdi_cap;
    hdi_cap_free_readback();
    hdi_cap_lock();
    if (c->open) {
        for (uint32_t i = 0; i < c->object_count; i++) {
            hdi_cap_forget_commands_locked(&c->objects[i], true);
            hdi_cap_forget_memory_locked(&c->objects[i]);
            hdi_free(&c->allocator, c->objects[i].made, c->objects[i].made_bytes);
        }
        hd_stream_free(c->stream);
        hd_stream_free(c->names);
        hdi_cap_free_records_locked();
        hdi_free(&c->allocator, c->objects, c->object_room * sizeof(*c->objects));
        hdi_free(&c->allocator, c->free, c->free_room * sizeof(*c->free));
        hdi_free(&c->allocator, c->slots, c->slot_room * sizeof(*c->slots));
        hdi_free(&c->allocator, c->string_of, c->string_room * sizeof(*c->string_of));
        /* Function pointers that the program still holds go on to call the real functions. */
        PFN_vkGetInstanceProcAddr instance_proc = c->instance_proc;
        PFN_vkGetDeviceProcAddr get = c->device_proc;
        *c = (hdi_cap_state){.instance_proc = instance_proc, .device_proc = get};
    }
    hdi_cap_unlock();
}

hd_result hd_capture_begin(void)
{
    hdi_cap_state *c = &hdi_cap;
    hd_result result = HD_INVALID_ARGUMENT;
    hdi_cap_lock();
    if (c->open && !c->stream && !c->has_instance) {
        c->stream = hdi_stream_make(&c->allocator);
        c->failure = result = c->stream ? HD_OK : HD_OUT_OF_MEMORY;
        c->begin_serial = c->serial;
        c->thread_count = 0;
        for (uint32_t i = 0; i < c->object_count; i++)
            c->objects[i].stream = HD_NONE;
        for (uint32_t i = 0; i < c->string_room; i++)
            c->string_of[i] = HD_NONE;
        for (uint32_t i = 0; i < c->object_of_room; i++)
            c->object_of[i] = 0;
    }
    hdi_cap_unlock();
    return result;
}

hd_result hd_capture_end(hd_stream **out)
{
    hdi_cap_state *c = &hdi_cap;
    if (!out)
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    hdi_cap_free_readback();
    hdi_cap_lock();
    if (c->stream)
        c->stream->device = hdi_cap_stream_object_locked(c->device_record);
    hd_result result = c->stream ? c->failure : HD_INVALID_ARGUMENT;
    if (result == HD_OK)
        result = hdi_capture_descriptors(c->stream);
    if (result == HD_OK)
        *out = c->stream;
    else
        hd_stream_free(c->stream);
    c->stream = NULL;
    c->replay &= !c->has_instance; /* no other one can begin: nothing is kept for it */
    hdi_cap_unlock();
    return result;
}
