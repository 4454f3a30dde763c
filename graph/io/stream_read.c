#include "stream.h"

#include <string.h>

#include "base64.h"
#include "json_error.h"

/* Reads a stream from JSON that any program may have written. Everything is checked for type and range, so that readers
 * of the stream may rely on its indices: queues, semaphores, resources, and ranges that lie inside them. */

typedef struct reader {
    hd_stream *s;
    hdi_json json;
} reader;

/* ---- leaves ---- */

static bool fields(reader *r, const json_t *object, const hdi_stream_fields *table, void *element)
{
    if (!json_is_object(object))
        return hdi_json_fail(&r->json, "is no object");
    for (size_t i = 0; i < table->count; i++) {
        const hdi_stream_field *field = &table->list[i];
        const json_t *value = json_object_get(object, field->key);
        char *at = (char *)element + field->offset;
        uint64_t number = field->absent;
        if (!value && !field->optional)
            return hdi_json_fail(&r->json, "'%s' is missing", field->key);
        uint64_t most = field->bytes == 4 ? UINT32_MAX : INT64_MAX;
        if (value && !hdi_json_natural(&r->json, value, field->key, most, &number))
            return false;
        if (field->bytes == 4)
            *(uint32_t *)at = (uint32_t)number;
        else
            *(uint64_t *)at = number;
    }
    return true;
}

static bool string(reader *r, const json_t *object, const char *key, bool optional, uint32_t *out)
{
    const json_t *value = json_object_get(object, key);
    *out = HD_NONE;
    if (!value && optional)
        return true;
    if (!json_is_string(value))
        return hdi_json_fail(&r->json, "'%s' is no string", key);
    *out = hdi_stream_string(r->s, json_string_value(value));
    return *out != HD_NONE || hdi_json_no_memory(&r->json);
}

/* An array; null where there is none, which is an error unless it is optional. */
static bool array(reader *r, const json_t *object, const char *key, bool optional, const json_t **out)
{
    *out = json_object_get(object, key);
    if (!*out && optional)
        return true;
    return json_is_array(*out) || hdi_json_fail(&r->json, *out ? "'%s' is no array" : "'%s' is missing", key);
}

static bool part(reader *r, uint64_t begin, uint64_t count, uint64_t whole)
{
    return (count && begin < whole && count <= whole - begin) ||
           hdi_json_fail(&r->json, "'range' is empty or lies outside of its resource");
}

static bool range(reader *r, const json_t *object, uint32_t resource, hd_range *out)
{
    if (resource >= r->s->resource_count)
        return hdi_json_fail(&r->json, "'resource' is %u of %u", resource, r->s->resource_count);
    const hd_stream_resource *res = &r->s->resources[resource];
    const json_t *list = json_object_get(object, "range");
    uint64_t n[4] = {0}, aspect = 0;
    size_t count = res->aspects ? 4 : 2;
    if (!json_is_array(list) || json_array_size(list) != count)
        return hdi_json_fail(&r->json, "'range' is no list of %zu numbers", count);
    for (size_t i = 0; i < count; i++) {
        if (!hdi_json_natural(&r->json, json_array_get(list, i), "range", res->aspects ? UINT32_MAX : INT64_MAX, &n[i]))
            return false;
    }
    if (!res->aspects) {
        out->offset = n[0];
        out->bytes = n[1];
        return part(r, n[0], n[1], res->bytes);
    }
    const json_t *value = json_object_get(object, "aspect");
    if (value && !hdi_json_natural(&r->json, value, "aspect", HD_ASPECT_STENCIL, &aspect))
        return false;
    if (aspect && aspect != HD_ASPECT_DEPTH && aspect != HD_ASPECT_STENCIL)
        return hdi_json_fail(&r->json, "'aspect' is neither depth nor stencil");
    if (!part(r, n[0], n[1], res->mips) || !part(r, n[2], n[3], res->layers))
        return false;
    *out = (hd_range){.mip_base = (uint16_t)n[0], .mip_count = (uint16_t)n[1]};
    out->layer_base = (uint32_t)n[2];
    out->layer_count = (uint32_t)n[3];
    out->aspect = (uint32_t)aspect;
    return true;
}

/* The box of an access; none where it has none. */
static bool box(reader *r, const json_t *object, uint32_t resource, hd_stream_box *out)
{
    const json_t *list = json_object_get(object, "box");
    *out = (hd_stream_box){{0}, {0}};
    if (!list)
        return true;
    if (!r->s->resources[resource].aspects)
        return hdi_json_fail(&r->json, "'box' of a buffer");
    if (!json_is_array(list) || json_array_size(list) != 6)
        return hdi_json_fail(&r->json, "'box' is no list of 6 numbers");
    for (size_t i = 0; i < 3; i++) {
        uint64_t offset = 0, extent = 0;
        if (!hdi_json_natural(&r->json, json_array_get(list, i), "box", INT32_MAX, &offset) ||
            !hdi_json_natural(&r->json, json_array_get(list, i + 3), "box", INT32_MAX, &extent))
            return false;
        if (extent == 0)
            return hdi_json_fail(&r->json, "'box' is empty");
        out->offset[i] = (uint32_t)offset; /* the sum fits too */
        out->extent[i] = (uint32_t)extent;
    }
    return true;
}

/* ---- what calls were given ---- */

/* 0: none. */
static bool is_object(reader *r, const char *key, uint32_t object)
{
    return !object || object < r->s->object_count ||
           hdi_json_fail(&r->json, "'%s' is object %u of %u", key, object,
                         r->s->object_count ? r->s->object_count - 1 : 0);
}

static bool read_refs(reader *r, const json_t *list, uint32_t *out)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        uint64_t ref;
        if (!hdi_json_natural(&r->json, item, "refs", UINT32_MAX, &ref) || !is_object(r, "refs", (uint32_t)ref))
            return false;
        if (!ref)
            return hdi_json_fail(&r->json, "'refs' names object 0");
        out[i] = (uint32_t)ref;
    }
    return true;
}

/* *out: in datas; 0: the call says nothing. */
static bool read_data(reader *r, const json_t *object, uint32_t *out)
{
    hd_stream *s = r->s;
    const json_t *refs, *data = json_object_get(object, "data");
    *out = 0;
    if (!array(r, object, "refs", true, &refs))
        return false;
    if (!data)
        return !refs || hdi_json_fail(&r->json, "'refs' without 'data'");
    if (!json_is_string(data))
        return hdi_json_fail(&r->json, "'data' is no string");
    const char *text = json_string_value(data);
    size_t characters = json_string_length(data), bytes = hdi_base64_bytes(text, characters);
    size_t ref_count = json_array_size(refs);
    if (bytes >= UINT32_MAX - s->byte_count || ref_count >= UINT32_MAX - s->ref_count)
        return hdi_json_fail(&r->json, "more than 4 GiB of data");
    *out = hdi_stream_data(s, NULL, (uint32_t)bytes, NULL, (uint32_t)ref_count);
    if (!*out)
        return hdi_json_no_memory(&r->json);
    const hd_stream_data *at = &s->datas[*out];
    return (hdi_base64_read(text, characters, s->bytes + at->byte_begin) ||
            hdi_json_fail(&r->json, "'data' is no base64")) &&
           read_refs(r, refs, s->refs + at->ref_begin);
}

/* An object names those before it alone. */
static bool read_objects(reader *r, const json_t *list)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        hd_stream_object object = {0};
        hdi_json_enter(&r->json, "objects[%zu]", i);
        if (!json_is_object(item))
            return hdi_json_fail(&r->json, "is no object");
        if (!string(r, item, "name", false, &object.name) || !read_data(r, item, &object.data))
            return false;
        if (!hdi_stream_object(r->s, &object))
            return hdi_json_no_memory(&r->json);
    }
    return true;
}

/* ---- tables ---- */

static bool read_queues(reader *r, const json_t *list)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        hdi_json_enter(&r->json, "queues[%zu]", i);
        if (i == HDI_STREAM_MAX_QUEUES)
            return hdi_json_fail(&r->json, "more than %d queues", HDI_STREAM_MAX_QUEUES);
        hd_stream_queue *queue = hdi_stream_queue(r->s);
        if (!queue)
            return hdi_json_no_memory(&r->json);
        if (!fields(r, item, &hdi_stream_queue_fields, queue))
            return false;
        if (queue->kind > HD_QUEUE_HOST)
            return hdi_json_fail(&r->json, "'kind' is larger than %d", HD_QUEUE_HOST);
    }
    return true;
}

static bool read_semaphores(reader *r, const json_t *list)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        hdi_json_enter(&r->json, "semaphores[%zu]", i);
        hd_stream_semaphore *semaphore = hdi_stream_semaphore(r->s);
        if (!semaphore)
            return hdi_json_no_memory(&r->json);
        if (!fields(r, item, &hdi_stream_semaphore_fields, semaphore))
            return false;
    }
    return true;
}

static bool read_resources(reader *r, const json_t *list)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        hdi_json_enter(&r->json, "resources[%zu]", i);
        hd_stream_resource *res = hdi_stream_resource(r->s);
        if (!res)
            return hdi_json_no_memory(&r->json);
        if (!fields(r, item, &hdi_stream_resource_fields, res) || !string(r, item, "name", true, &res->name) ||
            !is_object(r, "object", res->object))
            return false;
        if (res->bytes > INT64_MAX - res->offset)
            return hdi_json_fail(&r->json, "'offset' and 'bytes' reach too far");
        if (!res->mips || res->mips > UINT16_MAX || !res->layers)
            return hdi_json_fail(&r->json, "an image has 1 to %d mips and at least 1 layer", UINT16_MAX);
        if (!res->aspects && (res->mips > 1 || res->layers > 1))
            return hdi_json_fail(&r->json, "a buffer has neither mips nor layers");
    }
    return true;
}

/* ---- submits ---- */

static bool read_syncs(reader *r, const json_t *object, const char *key, uint32_t *begin, uint32_t *count)
{
    size_t i;
    json_t *item;
    const json_t *list;
    *begin = r->s->sync_count;
    if (!array(r, object, key, true, &list))
        return false;
    json_array_foreach(list, i, item)
    {
        hd_stream_sync *sync = hdi_stream_sync(r->s);
        if (!sync)
            return hdi_json_no_memory(&r->json);
        if (!fields(r, item, &hdi_stream_sync_fields, sync))
            return false;
        if (sync->semaphore != HD_NONE && sync->semaphore >= r->s->semaphore_count)
            return hdi_json_fail(&r->json, "'semaphore' is %u of %u", sync->semaphore, r->s->semaphore_count);
    }
    *count = r->s->sync_count - *begin;
    return true;
}

static bool read_access(reader *r, const json_t *item)
{
    hd_stream_access *access = hdi_stream_access(r->s);
    if (!access)
        return hdi_json_no_memory(&r->json);
    return fields(r, item, &hdi_stream_access_fields, access) && range(r, item, access->resource, &access->range) &&
           box(r, item, access->resource, &access->box);
}

static bool read_barrier(reader *r, const json_t *item)
{
    hd_stream_barrier *barrier = hdi_stream_barrier(r->s);
    if (!barrier)
        return hdi_json_no_memory(&r->json);
    return fields(r, item, &hdi_stream_barrier_fields, barrier) &&
           (barrier->resource == HD_NONE || range(r, item, barrier->resource, &barrier->range));
}

static bool read_command(reader *r, const json_t *object)
{
    hd_stream_command command;
    if (!fields(r, object, &hdi_stream_command_fields, &command) || !string(r, object, "name", false, &command.name) ||
        !string(r, object, "label", true, &command.label) || !is_object(r, "changes", command.changes) ||
        !read_data(r, object, &command.data))
        return false;
    const char *word = json_string_value(json_object_get(object, "kind"));
    for (command.kind = 0; command.kind < 4 && word; command.kind++) {
        if (strcmp(word, hdi_stream_kinds[command.kind]) == 0)
            break;
    }
    if (!word || command.kind == 4)
        return hdi_json_fail(&r->json, "'kind' is none of access, barrier, set, wait");
    const json_t *list;
    size_t i;
    json_t *item;
    if (!array(r, object, "list", false, &list))
        return false;
    bool accesses = command.kind == HD_STREAM_ACCESS;
    command.begin = accesses ? r->s->access_count : r->s->barrier_count;
    json_array_foreach(list, i, item)
    {
        if (accesses ? !read_access(r, item) : !read_barrier(r, item))
            return false;
    }
    command.count = (accesses ? r->s->access_count : r->s->barrier_count) - command.begin;
    hd_stream_command *slot = hdi_stream_command(r->s);
    if (!slot)
        return hdi_json_no_memory(&r->json);
    *slot = command;
    return true;
}

static bool read_submit(reader *r, size_t index, const json_t *object)
{
    hd_stream_submit submit;
    hdi_json_enter(&r->json, "submits[%zu]", index);
    if (!fields(r, object, &hdi_stream_submit_fields, &submit) || !string(r, object, "name", false, &submit.name))
        return false;
    const hd_stream *s = r->s;
    if (submit.queue >= s->queue_count)
        return hdi_json_fail(&r->json, "'queue' is %u of %u", submit.queue, s->queue_count);
    if (submit.thread != HD_NONE && (submit.thread >= s->queue_count || s->queues[submit.thread].kind != HD_QUEUE_HOST))
        return hdi_json_fail(&r->json, "'thread' is no host queue");
    const json_t *list;
    size_t c;
    json_t *item;
    if (!read_syncs(r, object, "waits", &submit.wait_begin, &submit.wait_count) ||
        !array(r, object, "commands", true, &list))
        return false;
    submit.command_begin = s->command_count;
    json_array_foreach(list, c, item)
    {
        hdi_json_enter(&r->json, "submits[%zu].commands[%zu]", index, c);
        if (!read_command(r, item))
            return false;
    }
    submit.command_count = s->command_count - submit.command_begin;
    hdi_json_enter(&r->json, "submits[%zu]", index);
    if (!read_syncs(r, object, "signals", &submit.signal_begin, &submit.signal_count))
        return false;
    hd_stream_submit *slot = hdi_stream_submit(r->s);
    if (!slot)
        return hdi_json_no_memory(&r->json);
    *slot = submit;
    return true;
}

static bool read_all(reader *r, const json_t *root)
{
    const json_t *queues, *semaphores, *resources, *submits, *objects, *device = json_object_get(root, "device");
    uint64_t number = 0;
    if (!json_is_object(root) || !json_is_integer(json_object_get(root, "capture")))
        return hdi_json_fail(&r->json, "this is no captured stream");
    if (json_integer_value(json_object_get(root, "capture")) != 1)
        return hdi_json_fail(&r->json, "its version is not 1");
    if (json_object_get(root, "unseen") &&
        !hdi_json_natural(&r->json, json_object_get(root, "unseen"), "unseen", INT64_MAX, &r->s->unseen))
        return false;
    if (!array(r, root, "queues", false, &queues) || !array(r, root, "semaphores", false, &semaphores) ||
        !array(r, root, "resources", false, &resources) || !array(r, root, "submits", false, &submits) ||
        !array(r, root, "objects", true, &objects) || !read_queues(r, queues) || !read_semaphores(r, semaphores) ||
        !read_objects(r, objects))
        return false;
    hdi_json_enter(&r->json, "capture");
    if (device && !hdi_json_natural(&r->json, device, "device", UINT32_MAX, &number))
        return false;
    r->s->device = (uint32_t)number;
    if (!is_object(r, "device", r->s->device) || !read_resources(r, resources))
        return false;
    size_t i;
    json_t *item;
    json_array_foreach(submits, i, item)
    {
        if (!read_submit(r, i, item))
            return false;
    }
    return true;
}

hd_result hd_stream_read(const char *text, size_t bytes, const hd_allocator *allocator, hd_stream **out, char *error,
                         size_t error_bytes)
{
    if (!text || !out)
        return HD_INVALID_ARGUMENT;
    reader r = {.s = hdi_stream_make(allocator),
                .json = {.what = "capture", .error = error, .error_bytes = error_bytes}};
    *out = NULL;
    if (!r.s) {
        hdi_json_no_memory(&r.json);
        return r.json.result;
    }
    json_t *root = hdi_json_parse(&r.json, text, bytes);
    if (root)
        read_all(&r, root);
    json_decref(root);
    if (r.json.result == HD_OK)
        *out = r.s;
    else
        hd_stream_free(r.s);
    return r.json.result;
}
