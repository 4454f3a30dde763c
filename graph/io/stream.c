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
        offsetof(hd_stream, name), offsetof(hd_stream, type##_count), offsetof(hd_stream, type##_room),               \
            sizeof(*((hd_stream *)0)->name)                                                                            \
    }
static const array arrays[] = {
    ARRAY(strings, string),   ARRAY(queues, queue), ARRAY(resources, resource), ARRAY(semaphores, semaphore),
    ARRAY(submits, submit),   ARRAY(syncs, sync),   ARRAY(commands, command),   ARRAY(barriers, barrier),
    ARRAY(accesses, access),
};
enum { STRINGS, QUEUES, RESOURCES, SEMAPHORES, SUBMITS, SYNCS, COMMANDS, BARRIERS, ACCESSES, ARRAYS };

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

static void *append(hd_stream *s, int which)
{
    const array *a = &arrays[which];
    uint32_t *count = count_of(s, a);
    if (*count == UINT32_MAX - 1 ||
        hdi_grow(&s->allocator, pointer_of(s, a), room_of(s, a), *count + 1, a->bytes) != HD_OK)
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
    for (uint32_t i = 0; i < from->string_count; i++) {
        if (hdi_stream_string(s, from->strings[i]) == HD_NONE) {
            hd_stream_free(s);
            return HD_OUT_OF_MEMORY;
        }
    }
    for (int i = QUEUES; i < ARRAYS; i++) {
        const array *a = &arrays[i];
        uint32_t count = *count_of(from, a);
        if (hdi_grow(&s->allocator, pointer_of(s, a), room_of(s, a), count, a->bytes) != HD_OK) {
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
