#include "arena.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "alloc.h"

#ifdef HDI_ARENA_GUARDS
#include <sanitizer/asan_interface.h>
#endif

/* Bump allocation. A full block stays where it is (what was handed out never moves) and a new one, at least twice as
 * large, goes in front of it, or a sixteenth of what there is once that is much: O(log bytes) blocks on the way. Reset
 * replaces a chain by one block of the chain's whole capacity. Capacity and not bytes used: the next frame may spend
 * its bytes in another order, and what fitted into the chain with any gaps at block ends then fits into the one block
 * too, as all pieces are multiples of 64 bytes. The join happens in reset and not at the next allocation, so that a
 * frame's first allocation is no dearer than the others.
 *
 * An array that grows is copied, and its old place is not used again: doubling bounds that waste. What was handed out
 * last could grow in its place, but two arrays that grow in turn, which is what there mostly is, would never do so. */

enum { ALIGNMENT = HDI_ARENA_ALIGNMENT, FIRST_BLOCK_BYTES = 16384, LARGE_BYTES = 1 << 20, FIRST_GROWN_BYTES = 2048 };

struct hdi_arena_block {
    hdi_arena_block *older;
    size_t capacity; /* bytes behind the header */
    unsigned char pad[ALIGNMENT - sizeof(hdi_arena_block *) - sizeof(size_t)];
};

_Static_assert(sizeof(hdi_arena_block) == ALIGNMENT, "the bytes behind the header must be aligned");

#ifdef HDI_ARENA_GUARDS
void hdi_arena_guard(const void *array, size_t bytes, size_t room)
{
    ASAN_UNPOISON_MEMORY_REGION(array, bytes);
    ASAN_POISON_MEMORY_REGION((const unsigned char *)array + bytes, room - bytes);
}
#endif

/* The whole block may be touched again: by the allocator that frees it, or by its next owner. */
static void unguard(const hdi_arena_block *block)
{
    const size_t bytes = sizeof(*block) + block->capacity;
    hdi_arena_guard(block, bytes, bytes);
}

static hdi_arena_block *make_block(hdi_arena *arena, size_t capacity)
{
    if (capacity > SIZE_MAX - sizeof(hdi_arena_block))
        return NULL;
    hdi_arena_block *block = hdi_alloc(&arena->allocator, sizeof(hdi_arena_block) + capacity, ALIGNMENT);
    if (block) {
        block->older = NULL;
        block->capacity = capacity;
    }
    return block;
}

/* Hands out from there on: null: from none. */
static void begin_block(hdi_arena *arena, hdi_arena_block *block)
{
    arena->block = block;
    arena->at = block ? (unsigned char *)(block + 1) : NULL;
    arena->end = block ? arena->at + block->capacity / ALIGNMENT * ALIGNMENT : NULL;
}

static size_t bytes_used(const hdi_arena *arena)
{
    return arena->block ? (size_t)(arena->at - (unsigned char *)(arena->block + 1)) : 0;
}

static void free_chain(hdi_arena *arena, hdi_arena_block *block)
{
    while (block) {
        hdi_arena_block *older = block->older;
        unguard(block);
        hdi_free(&arena->allocator, block, sizeof(hdi_arena_block) + block->capacity);
        block = older;
    }
}

static size_t chain_bytes(const hdi_arena *arena)
{
    size_t bytes = 0;
    for (const hdi_arena_block *block = arena->block; block; block = block->older)
        bytes += block->capacity;
    return bytes;
}

static void *grow_and_take(hdi_arena *arena, size_t bytes)
{
    size_t capacity = FIRST_BLOCK_BYTES, all = chain_bytes(arena);

    if (all >= LARGE_BYTES)
        capacity = all / 16;
    else if (arena->block)
        capacity = arena->block->capacity * 2;
    if (capacity < bytes)
        capacity = bytes;
    hdi_arena_block *block = make_block(arena, capacity);
    if (!block && capacity > bytes)
        block = make_block(arena, bytes); /* memory is tight: take no more than is needed now */
    if (!block)
        return NULL;
    block->older = arena->block;
    arena->before += bytes_used(arena);
    begin_block(arena, block);
    arena->at += bytes;
    return block + 1;
}

void hdi_arena_init(hdi_arena *arena, const hd_allocator *allocator)
{
    memset(arena, 0, sizeof *arena);
    if (allocator)
        arena->allocator = *allocator;
}

void hdi_arena_free(hdi_arena *arena)
{
    hd_allocator allocator = arena->allocator;

    free_chain(arena, arena->block);
    hdi_arena_init(arena, &allocator);
}

void hdi_arena_reset(hdi_arena *arena)
{
    hdi_arena_block *newest = arena->block;

    arena->before = 0;
    arena->failed = false;
    if (!newest || !newest->older) {
        begin_block(arena, newest);
        return;
    }

    size_t capacity = chain_bytes(arena);
    /* Free first: the sum of both would be the largest demand of all. Should the joined block fail, the arena is empty
     * and grows again when it is used. */
    free_chain(arena, newest);
    begin_block(arena, make_block(arena, capacity));
}

HDI_COLD void *hdi_arena_more(hdi_arena *arena, size_t bytes)
{
    const size_t rounded = (bytes + (bytes == 0) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    unsigned char *pointer = arena->at;
    if (rounded && rounded <= hdi_arena_room(arena))
        arena->at += rounded;
    else
        pointer = rounded ? grow_and_take(arena, rounded) : NULL; /* 0: more than there can be */
    arena->failed |= !pointer;
    if (pointer)
        hdi_arena_guard(pointer, bytes, rounded);
    return pointer;
}

void *hdi_arena_zeroed(hdi_arena *arena, size_t count, size_t element_bytes)
{
    void *pointer = hdi_arena_array(arena, count, element_bytes);

    if (pointer)
        memset(pointer, 0, count * element_bytes);
    return pointer;
}

bool hdi_arena_enlarge(hdi_arena *arena, void *array, uint32_t *capacity, uint32_t count, uint32_t need,
                       size_t element_bytes)
{
    uint32_t doubled = *capacity <= UINT32_MAX / 2 ? *capacity * 2 : UINT32_MAX;
    uint32_t first = (uint32_t)(FIRST_GROWN_BYTES / element_bytes), grown = doubled > first ? doubled : first;
    unsigned char *old, *fresh;

    grown = grown > need ? grown : need;
    fresh = hdi_arena_array(arena, grown, element_bytes);
    if (!fresh)
        return false;
    memcpy(&old, array, sizeof old); /* a pointer of any type */
    if (count)
        memcpy(fresh, old, count * element_bytes);
    memcpy(array, &fresh, sizeof fresh);
    *capacity = grown;
    return true;
}

void hdi_arena_reserve(hdi_arena *arena, size_t bytes)
{
    if (bytes <= FIRST_BLOCK_BYTES || hdi_arena_total(arena) || hdi_arena_room(arena) >= bytes)
        return;
    free_chain(arena, arena->block);
    begin_block(arena, make_block(arena, bytes + ALIGNMENT)); /* without it the arena grows as it is used */
}

void hdi_arena_lend(hdi_arena *arena, const hd_allocator *allocator, void *memory, size_t bytes)
{
    hdi_arena_init(arena, allocator);
    if (bytes <= sizeof(hdi_arena_block))
        return;
    hdi_arena_block *block = memory;
    *block = (hdi_arena_block){.capacity = bytes - sizeof(hdi_arena_block)};
    begin_block(arena, block);
}

void hdi_arena_widen(hdi_arena *arena, size_t bytes)
{
    enum { MOST_SPARE = 1 << 16 };
    if (hdi_arena_room(arena) >= bytes || hdi_arena_total(arena))
        return;
    free_chain(arena, arena->block);
    begin_block(arena, make_block(arena, bytes + (bytes / 4 < MOST_SPARE ? bytes / 4 : MOST_SPARE)));
}

void *hdi_arena_return(hdi_arena *arena, size_t *bytes)
{
    hdi_arena_block *block = arena->block;
    *bytes = block ? sizeof(*block) + block->capacity : 0;
    if (block) {
        free_chain(arena, block->older);
        unguard(block);
    }
    begin_block(arena, NULL);
    return block;
}

size_t hdi_arena_total(const hdi_arena *arena)
{
    return arena->before + bytes_used(arena);
}

/* Bytes that a move would win, over which the array is moved. */
static bool worth_moving(size_t won, size_t bytes)
{
    return won > bytes / 4;
}

void hdi_arena_keep(hdi_arena *arena, hdi_arena_mark mark, const hdi_arena_kept *kept, size_t count)
{
    if (arena->failed || arena->block != mark.block || !arena->block)
        return;
    unsigned char *at = mark.at;
    for (size_t i = 0; i < count; i++) {
        unsigned char *from;
        memcpy(&from, kept[i].array, sizeof from); /* a pointer of any type */
        if (!from)
            continue;
        const size_t bytes = kept[i].bytes;
        assert(from >= at && bytes <= (size_t)(arena->end - from));
        if (worth_moving((size_t)(from - at), bytes)) {
            hdi_arena_guard(at, bytes, bytes);
            memmove(at, from, bytes);
            memcpy(kept[i].array, &at, sizeof at);
        } else {
            at = from;
        }
        at += (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    }
    arena->at = at;
}
