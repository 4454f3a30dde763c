#include "stream.h"

#include <string.h>

#include "utf8.h"

/* A stream is a handful of arrays that grow by doubling. Strings are few (names of functions and passes): they are
 * found by going through them, the newest first. */

typedef struct array {
    size_t pointer, count, room, bytes;
} array;

#define ARRAY(name, type)                                                                                              \
    {                                                                                                                  \
        offsetof(hd_stream, name), offsetof(hd_stream, type##_count), offsetof(hd_stream, type##_room),                \
            sizeof(*((hd_stream *)0)->name)                                                                            \
    }
static const array arrays[] = {
    ARRAY(strings, string),  ARRAY(queues, queue),   ARRAY(resources, resource), ARRAY(semaphores, semaphore),
    ARRAY(submits, submit),  ARRAY(syncs, sync),     ARRAY(commands, command),   ARRAY(barriers, barrier),
    ARRAY(accesses, access), ARRAY(objects, object), ARRAY(datas, data),         ARRAY(refs, ref),
    ARRAY(bytes, byte),
};
enum {
    STRINGS,
    QUEUES,
    RESOURCES,
    SEMAPHORES,
    SUBMITS,
    SYNCS,
    COMMANDS,
    BARRIERS,
    ACCESSES,
    OBJECTS,
    DATAS,
    REFS,
    BYTES,
    ARRAYS
};

static void **pointer_of(const hd_stream *s, const array *a)
{
    return (void **)((char *)s + a->pointer);
}

static uint32_t *count_of(const hd_stream *s, const array *a)
{
    return (uint32_t *)((char *)s + a->count);
}

static uint32_t *room_of(const hd_stream *s, const array *a)
{
    return (uint32_t *)((char *)s + a->room);
}

/* For none, too, so that data without bytes points somewhere. */
static bool make_room(hd_stream *s, int which, uint32_t more)
{
    const array *a = &arrays[which];
    uint32_t count = *count_of(s, a), least = count + (more ? more : 1);
    return more < UINT32_MAX - count - 1 &&
           hdi_grow(&s->allocator, pointer_of(s, a), room_of(s, a), least, a->bytes) == HD_OK;
}

static void *append(hd_stream *s, int which)
{
    const array *a = &arrays[which];
    uint32_t *count = count_of(s, a);
    if (!make_room(s, which, 1))
        return NULL;
    void *element = (char *)*pointer_of(s, a) + (size_t)*count * a->bytes;
    memset(element, 0, a->bytes);
    ++*count;
    return element;
}

#define APPEND(name, array)                                                                                            \
    hd_stream_##name *hdi_stream_##name(hd_stream *s)                                                                  \
    {                                                                                                                  \
        return append(s, array);                                                                                       \
    }
APPEND(queue, QUEUES)
APPEND(resource, RESOURCES)
APPEND(semaphore, SEMAPHORES)
APPEND(submit, SUBMITS)
APPEND(sync, SYNCS)
APPEND(command, COMMANDS)
APPEND(barrier, BARRIERS)
APPEND(access, ACCESSES)

/* Behind the element that is none. */
static void *append_numbered(hd_stream *s, int which)
{
    return *count_of(s, &arrays[which]) || append(s, which) ? append(s, which) : NULL;
}

uint32_t hdi_stream_object(hd_stream *s, const hd_stream_object *object)
{
    hd_stream_object *slot = append_numbered(s, OBJECTS);
    if (!slot)
        return 0;
    *slot = *object;
    return s->object_count - 1;
}

uint32_t hdi_stream_data(hd_stream *s, const void *bytes, uint32_t byte_count, const uint32_t *refs, uint32_t ref_count)
{
    hd_stream_data *slot =
        make_room(s, BYTES, byte_count) && make_room(s, REFS, ref_count) ? append_numbered(s, DATAS) : NULL;
    if (!slot)
        return 0;
    *slot = (hd_stream_data){s->byte_count, byte_count, s->ref_count, ref_count};
    if (bytes && byte_count)
        memcpy(s->bytes + s->byte_count, bytes, byte_count);
    if (refs && ref_count)
        memcpy(s->refs + s->ref_count, refs, ref_count * sizeof(*refs));
    s->byte_count += byte_count;
    s->ref_count += ref_count;
    return s->data_count - 1;
}

hd_stream *hdi_stream_make(const hd_allocator *allocator)
{
    hd_stream *s = hdi_alloc(allocator, sizeof(*s), 64);
    if (!s)
        return NULL;
    memset(s, 0, sizeof(*s));
    if (allocator)
        s->allocator = *allocator;
    return s;
}

void hd_stream_free(hd_stream *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->string_count; i++)
        hdi_free(&s->allocator, s->strings[i], strlen(s->strings[i]) + 1);
    for (int i = 0; i < ARRAYS; i++)
        hdi_free(&s->allocator, *pointer_of(s, &arrays[i]), (size_t)*room_of(s, &arrays[i]) * arrays[i].bytes);
    hd_allocator allocator = s->allocator;
    hdi_free(&allocator, s, sizeof(*s));
}

uint32_t hdi_stream_string(hd_stream *s, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = hdi_alloc(&s->allocator, bytes, 1);
    if (!copy)
        return HD_NONE;
    memcpy(copy, text, bytes);
    hdi_utf8_clean(copy);
    for (uint32_t i = s->string_count; i-- > 0;) {
        if (strcmp(s->strings[i], copy) == 0) {
            hdi_free(&s->allocator, copy, bytes);
            return i;
        }
    }
    char **slot = append(s, STRINGS);
    if (!slot) {
        hdi_free(&s->allocator, copy, bytes);
        return HD_NONE;
    }
    *slot = copy;
    return s->string_count - 1;
}

hd_result hd_stream_copy(const hd_stream *from, hd_stream **out)
{
    if (!from || !out)
        return HD_INVALID_ARGUMENT;
    hd_stream *s = hdi_stream_make(&from->allocator);
    *out = NULL;
    if (!s)
        return HD_OUT_OF_MEMORY;
    s->unseen = from->unseen;
    s->device = from->device;
    for (uint32_t i = 0; i < from->string_count; i++) {
        if (hdi_stream_string(s, from->strings[i]) == HD_NONE) {
            hd_stream_free(s);
            return HD_OUT_OF_MEMORY;
        }
    }
    for (int i = QUEUES; i < ARRAYS; i++) {
        const array *a = &arrays[i];
        uint32_t count = *count_of(from, a);
        if (!make_room(s, i, count)) {
            hd_stream_free(s);
            return HD_OUT_OF_MEMORY;
        }
        if (count)
            memcpy(*pointer_of(s, a), *pointer_of(from, a), (size_t)count * a->bytes);
        *count_of(s, a) = count;
    }
    *out = s;
    return HD_OK;
}
