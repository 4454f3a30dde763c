#include "capture_state.h"

#include <string.h>

#include "hash.h"

/* What commands and creations were given. All that is made becomes a record of the capture, whose data names records
 * that were made before; a record goes on when its object is destroyed, since others were made of it (pipelines of
 * layouts and shaders). A record enters the stream when something in the stream names it, behind all that it names. */

/* ---- records ---- */

static hdi_cap_record_slot *find_record(hdi_cap_record_slot *slots, uint32_t room, uint32_t type, uint64_t handle)
{
    uint32_t at = (uint32_t)hdi_hash_mix(type, handle) & (room - 1);
    while (slots[at].record && (slots[at].type != type || slots[at].handle != handle))
        at = (at + 1) & (room - 1);
    return &slots[at];
}

static bool grow_records(void)
{
    hdi_cap_state *c = &hdi_cap;
    if ((c->record_slot_count + 1) * 2 <= c->record_slot_room)
        return true;
    uint32_t room = c->record_slot_room ? c->record_slot_room * 2 : 256;
    hdi_cap_record_slot *slots = hdi_alloc(&c->allocator, room * sizeof(*slots), 64);
    if (!slots)
        return false;
    memset(slots, 0, room * sizeof(*slots));
    for (uint32_t i = 0; i < c->record_slot_room; i++) {
        const hdi_cap_record_slot *slot = &c->record_slots[i];
        if (slot->record)
            *find_record(slots, room, slot->type, slot->handle) = *slot;
    }
    hdi_free(&c->allocator, c->record_slots, c->record_slot_room * sizeof(*slots));
    c->record_slots = slots;
    c->record_slot_room = room;
    return true;
}

uint32_t hdi_cap_record_locked(VkObjectType type, uint64_t handle)
{
    const hdi_cap_state *c = &hdi_cap;
    if (!c->record_slot_room || !handle)
        return 0;
    return find_record(c->record_slots, c->record_slot_room, (uint32_t)type, handle)->record;
}

static uint32_t object_of(void *user, uint32_t type, uint64_t handle)
{
    (void)user;
    return hdi_cap_record_locked((VkObjectType)type, handle);
}

hdi_call_writer *hdi_cap_writer_locked(void)
{
    hdi_call_writer *w = &hdi_cap.writer;
    w->allocator = hdi_cap.allocator;
    w->object = object_of;
    w->byte_count = w->ref_count = 0;
    w->failed = w->unknown = false;
    return w;
}

uint32_t hdi_cap_made_locked(const char *name, VkObjectType type, uint64_t handle)
{
    hdi_cap_state *c = &hdi_cap;
    const hdi_call_writer *w = &c->writer;
    uint32_t string = hdi_cap_string_locked(name);
    uint32_t data = w->failed || string == HD_NONE || !grow_records()
                        ? 0
                        : hdi_stream_data(c->records, w->bytes, w->byte_count, w->refs, w->ref_count);
    uint32_t record = data ? hdi_stream_object(c->records, &(hd_stream_object){string, data}) : 0;
    if (!record) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return 0;
    }
    hdi_cap_record_slot *slot = find_record(c->record_slots, c->record_slot_room, (uint32_t)type, handle);
    c->record_slot_count += slot->record == 0;
    *slot = (hdi_cap_record_slot){handle, (uint32_t)type, record};
    return record;
}

void hdi_cap_free_records_locked(void)
{
    hdi_cap_state *c = &hdi_cap;
    hd_stream_free(c->records);
    hdi_call_writer_free(&c->writer);
    hdi_free(&c->allocator, c->record_slots, c->record_slot_room * sizeof(*c->record_slots));
    hdi_free(&c->allocator, c->object_of, c->object_of_room * sizeof(*c->object_of));
    hdi_free(&c->allocator, c->checks, c->check_room * sizeof(*c->checks));
}

/* ---- the stream ---- */

/* Refs of the stream's last data are records: they become objects. */
static uint32_t name_objects_locked(uint32_t data)
{
    hd_stream *s = hdi_cap.stream;
    if (!data) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return 0;
    }
    for (uint32_t i = 0; i < s->datas[data].ref_count; i++) {
        uint32_t *ref = &s->refs[s->datas[data].ref_begin + i];
        *ref = hdi_cap.object_of[*ref];
    }
    return data;
}

uint32_t hdi_cap_copy_data_locked(const hd_stream *from, uint32_t data)
{
    if (!data)
        return 0;
    hd_stream_data d = from->datas[data];
    for (uint32_t i = 0; i < d.ref_count; i++) {
        if (!hdi_cap_stream_object_locked(from->refs[d.ref_begin + i]))
            return 0;
    }
    return name_objects_locked(hdi_stream_data(hdi_cap.stream, from->bytes + d.byte_begin, d.byte_count,
                                               from->refs + d.ref_begin, d.ref_count));
}

uint32_t hdi_cap_stream_data_locked(void)
{
    const hdi_call_writer *w = &hdi_cap.writer;
    for (uint32_t i = 0; i < w->ref_count; i++) {
        if (!hdi_cap_stream_object_locked(w->refs[i]))
            return 0;
    }
    return name_objects_locked(
        w->failed ? 0 : hdi_stream_data(hdi_cap.stream, w->bytes, w->byte_count, w->refs, w->ref_count));
}

uint32_t hdi_cap_stream_object_locked(uint32_t record)
{
    hdi_cap_state *c = &hdi_cap;
    uint32_t before = c->object_of_room;
    if (!record || !c->stream)
        return 0;
    if (hdi_grow(&c->allocator, (void **)&c->object_of, &c->object_of_room, record + 1, sizeof(*c->object_of)) !=
        HD_OK) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return 0;
    }
    for (uint32_t i = before; i < c->object_of_room; i++)
        c->object_of[i] = 0;
    if (c->object_of[record])
        return c->object_of[record];
    const hd_stream_object *from = &c->records->objects[record];
    hd_stream_object object = {hdi_cap_stream_string_locked(from->name),
                               hdi_cap_copy_data_locked(c->records, from->data)};
    if (object.name != HD_NONE && object.data)
        c->object_of[record] = hdi_stream_object(c->stream, &object);
    if (!c->object_of[record])
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
    return c->object_of[record];
}

/* ---- commands ---- */

/* The same function, also by another name of it. */
static bool same_call(const char *noted, const hdi_call *call)
{
    const hdi_call *own = strcmp(noted, call->name) == 0 ? call : hdi_call_find(noted);
    return own == call || (own && own->hook && own->hook == call->hook);
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* The command that the function was noted as, else a new one; null: one that the stream says by itself. A function that
 * nothing is known of uses and changes all other state, and where it does not look like one that sets state, it is one
 * that does something (acts), as a draw is. */
static hd_stream_command *command_locked(hdi_cap_commands *c, const hdi_call *call, bool *acts)
{
    const char *name = call->name;
    bool noted = false;
    *acts = false;
    for (uint32_t i = c->list->command_count; i-- > 0;) {
        hd_stream_command *x = &c->list->commands[i];
        if (!same_call(hdi_cap.names->strings[x->name], call) || x->data)
            break;
        if (x->kind == HD_STREAM_ACCESS)
            return x;
        noted = true;
    }
    hd_stream_command *x = noted ? NULL : hdi_cap_command_locked(c, HD_STREAM_ACCESS, name);
    bool state = begins(name, "vkCmdSet") || begins(name, "vkCmdBind") || begins(name, "vkCmdPush");
    if (x) {
        *acts = !state;
        x->sets = x->uses = HD_STREAM_STATE_OTHER;
        x->uses |= state ? 0 : HD_STREAM_STATE_PIPELINE(0);
    }
    return x;
}

/* A name that says what the stream has no data of, so that it cannot be replayed. */
static const char *not_captured(const char *name, char text[128])
{
    memcpy(text, "not captured: ", 15);
    return strncat(text, name, 100);
}

void hdi_call_recorded(VkCommandBuffer commands, const hdi_call *call, const void *given)
{
    hdi_cap_lock();
    bool whole = hdi_cap.replay && hdi_cap.failure == HD_OK; /* else what is noted may lack a name */
    char text[128];
    hdi_cap_commands *c = whole ? hdi_cap_commands_locked(commands) : NULL;
    bool acts;
    hd_stream_command *command = c ? command_locked(c, call, &acts) : NULL;
    if (command) {
        hdi_call_writer *w = hdi_cap_writer_locked();
        hdi_call_write(w, call->type, given);
        c->list->unseen += acts && w->ref_count; /* it may access what it names */
        if (w->unknown) {
            command->name = hdi_cap_string_locked(not_captured(call->name, text));
        } else {
            bool does = command->uses & (HD_STREAM_STATE_PIPELINE(0) | HD_STREAM_STATE_PIPELINE(1));
            if (c->query_count && does) { /* it may count */
                command->sets |= HD_STREAM_STATE_QUERY;
                command->uses |= HD_STREAM_STATE_QUERY;
            }
            command->data = w->failed ? 0 : hdi_stream_data(c->list, w->bytes, w->byte_count, w->refs, w->ref_count);
            if (!command->data)
                hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        }
    }
    hdi_cap_unlock();
}

void hdi_call_missed(VkCommandBuffer commands, const char *name)
{
    char text[128];
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap.replay && commands ? hdi_cap_commands_locked(commands) : NULL;
    if (c) {
        hd_stream_command *command = hdi_cap_command_locked(c, HD_STREAM_ACCESS, not_captured(name, text));
        if (command) {
            command->sets = HD_STREAM_STATE_OTHER;
            command->uses = HD_STREAM_STATE_OTHER | HD_STREAM_STATE_PIPELINE(0); /* it may do what a draw does */
        }
    } else if (hdi_cap.replay && !commands && hdi_cap_open_any_host_locked(not_captured(name, text))) {
        hdi_cap_host_command_locked(text);
    }
    hdi_cap_unlock();
}

/* ---- creations ---- */

void hdi_call_made(const hdi_call *call, uint64_t handle, const void *info)
{
    VkSwapchainCreateInfoKHR swapchain;
    switch (call->makes) {
    case VK_OBJECT_TYPE_INSTANCE: /* capture_made.c */
    case VK_OBJECT_TYPE_DEVICE:
    case VK_OBJECT_TYPE_PIPELINE_CACHE: /* no data names these */
    case VK_OBJECT_TYPE_SEMAPHORE:
    case VK_OBJECT_TYPE_FENCE:
    case VK_OBJECT_TYPE_COMMAND_POOL:
        return;
    case VK_OBJECT_TYPE_SWAPCHAIN_KHR:
        swapchain = *(const VkSwapchainCreateInfoKHR *)info;
        swapchain.surface = VK_NULL_HANDLE;
        swapchain.oldSwapchain = VK_NULL_HANDLE;
        info = &swapchain;
        break;
    default:
        break;
    }
    hdi_cap_lock();
    if (hdi_cap.replay) {
        hdi_call_write(hdi_cap_writer_locked(), call->type, info);
        hdi_cap_made_locked(call->name, (VkObjectType)call->makes, handle);
    }
    hdi_cap_unlock();
}
