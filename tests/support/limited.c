#include "limited.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A guard word on either side of a piece holds its size: a wrong size at free and a write past the end both show. */

enum { GUARD = 64 };

static uint64_t guard_of(size_t bytes)
{
    return bytes ^ 0xa5a5c3c3b4b4d2d2u;
}

/* Counts an allocation; true if it is to fail. */
static bool fails(hdt_limited *limited)
{
    uint64_t number = atomic_fetch_add(&limited->made, 1) + 1;
    return limited->fail_at && number >= limited->fail_at &&
           (limited->fail_count == 0 || number < limited->fail_at + limited->fail_count);
}

static void *limited_alloc(size_t bytes, size_t alignment, void *user)
{
    hdt_limited *limited = user;
    uint64_t guard = guard_of(bytes);
    bool none = fails(limited) || (limited->most_bytes && atomic_load(&limited->bytes) + bytes > limited->most_bytes);
    size_t before = alignment > GUARD ? alignment : GUARD;
    void *base;

    if (bytes == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        atomic_fetch_add(&limited->wrong, 1);
    if (none || posix_memalign(&base, before, before + bytes + sizeof guard) != 0)
        return NULL;
    unsigned char *piece = (unsigned char *)base + before;
    memset(piece, 0xcd, bytes); /* no caller may rely on zeros */
    memcpy(piece - sizeof guard, &guard, sizeof guard);
    memcpy(piece - 2 * sizeof guard, &before, sizeof before);
    memcpy(piece + bytes, &guard, sizeof guard);
    atomic_fetch_add(&limited->out, 1);
    atomic_fetch_add(&limited->bytes, bytes);
    return piece;
}

static void limited_free(void *pointer, size_t bytes, void *user)
{
    hdt_limited *limited = user;
    unsigned char *piece = pointer;
    uint64_t guard = guard_of(bytes), low, high;
    size_t before;

    memcpy(&low, piece - sizeof low, sizeof low);
    memcpy(&before, piece - 2 * sizeof low, sizeof before);
    if (low != guard) {
        atomic_fetch_add(&limited->wrong, 1); /* the end cannot be known then */
    } else {
        memcpy(&high, piece + bytes, sizeof high);
        if (high != guard)
            atomic_fetch_add(&limited->wrong, 1);
    }
    atomic_fetch_sub(&limited->out, 1);
    atomic_fetch_sub(&limited->bytes, bytes);
    free(piece - before);
}

hd_allocator hdt_limited_allocator(hdt_limited *limited)
{
    return (hd_allocator){limited_alloc, limited_free, limited};
}

static hdt_limited *of_json;

static void *json_alloc(size_t bytes)
{
    if (fails(of_json))
        return NULL;
    atomic_fetch_add(&of_json->out, 1);
    return malloc(bytes);
}

static void json_release(void *pointer)
{
    if (pointer)
        atomic_fetch_sub(&of_json->out, 1);
    free(pointer);
}

void hdt_limit_json(hdt_limited *limited)
{
    of_json = limited;
    if (limited)
        json_set_alloc_funcs(json_alloc, json_release);
    else
        json_set_alloc_funcs(malloc, free);
}
