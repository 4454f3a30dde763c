/* Arena: bump allocation from a chain of blocks. Reset keeps one block large enough for all that the chain held, so a
 * steady frame allocates from the allocator at most once and then never again. Not thread-safe. */
#ifndef HDI_ARENA_H
#define HDI_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include <heddle/base.h>

#include "hints.h"

enum { HDI_ARENA_ALIGNMENT = 64 };

/* AddressSanitizer knows of whole blocks only. This tells it that the bytes between the end of an array and the next
 * array must not be touched. */
#if defined(__SANITIZE_ADDRESS__)
#define HDI_ARENA_GUARDS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HDI_ARENA_GUARDS
#endif
#endif
#ifdef HDI_ARENA_GUARDS
void hdi_arena_guard(const void *array, size_t bytes, size_t room);
#else
static inline void hdi_arena_guard(const void *array, size_t bytes, size_t room)
{
    (void)array;
    (void)bytes;
    (void)room;
}
#endif

typedef struct hdi_arena_block hdi_arena_block;

typedef struct hdi_arena {
    hd_allocator allocator;
    hdi_arena_block *block;    /* newest; older ones hang behind it */
    unsigned char *at, *end;   /* the free part of the newest block, a multiple of 64 bytes */
    size_t before;             /* bytes handed out from older blocks since the last reset, alignment included */
    bool failed;               /* sticks until reset: an allocation returned null */
    char apart[HDI_LINE_PAIR]; /* arenas of workers stand side by side: no cache line belongs to two of them */
} hdi_arena;

void hdi_arena_init(hdi_arena *arena, const hd_allocator *allocator);
void hdi_arena_free(hdi_arena *arena);
/* Forgets everything that was handed out; joins several blocks into one. */
void hdi_arena_reset(hdi_arena *arena);
/* Uninitialised memory, aligned to 64 bytes; null and failed = true when there is none. 0 bytes are valid. Inline, as a
 * compile allocates some hundred arrays one after another; hdi_arena_more serves what the newest block may not hold. */
void *hdi_arena_more(hdi_arena *arena, size_t bytes);
static inline void *hdi_arena_alloc(hdi_arena *arena, size_t bytes)
{
    unsigned char *pointer = arena->at;
    if (HDI_UNLIKELY(bytes >= (size_t)(arena->end - pointer)))
        return hdi_arena_more(arena, bytes);
    const size_t room = (bytes + HDI_ARENA_ALIGNMENT - 1) & ~(size_t)(HDI_ARENA_ALIGNMENT - 1);
    arena->at = pointer + room;
    hdi_arena_guard(pointer, bytes, room);
    return pointer;
}
/* The same, for count elements of element_bytes, overflow checked; hdi_arena_zeroed also clears them. */
static inline void *hdi_arena_array(hdi_arena *arena, size_t count, size_t element_bytes)
{
    return hdi_arena_alloc(arena, HDI_UNLIKELY(count > SIZE_MAX / element_bytes) ? SIZE_MAX : count * element_bytes);
}
void *hdi_arena_zeroed(hdi_arena *arena, size_t count, size_t element_bytes);

/* Room for `need` elements in an array that grows by doubling; `array` is the address of the pointer to it, which may
 * be null while *capacity is 0. The first `count` elements keep their values, the others are uninitialised. False,
 * with nothing changed but arena->failed, where there is no memory. */
bool hdi_arena_enlarge(hdi_arena *arena, void *array, uint32_t *capacity, uint32_t count, uint32_t need,
                       size_t element_bytes);
static inline bool hdi_arena_grow(hdi_arena *arena, void *array, uint32_t *capacity, uint32_t count, uint32_t need,
                                  size_t element_bytes)
{
    return need <= *capacity || hdi_arena_enlarge(arena, array, capacity, count, need, element_bytes);
}

/* One block of at least so many bytes, where the arena is empty and has less. */
void hdi_arena_reserve(hdi_arena *arena, size_t bytes);

/* An arena in memory that the caller owns, from hdi_alloc and aligned to 64 bytes, or null. hdi_arena_widen may enlarge
 * it while nothing is handed out, and then adds some bytes to spare, as frames differ by a little. Apart from that the
 * arena must not grow: a user of it asks for hdi_arena_room first. hdi_arena_return gives the memory back and leaves no
 * arena. */
void hdi_arena_lend(hdi_arena *arena, const hd_allocator *allocator, void *memory, size_t bytes);
void hdi_arena_widen(hdi_arena *arena, size_t bytes);
void *hdi_arena_return(hdi_arena *arena, size_t *bytes);
/* Free bytes of the newest block: allocations, each rounded up to 64 bytes, of at most this sum need no other block. */
static inline size_t hdi_arena_room(const hdi_arena *arena)
{
    return (size_t)(arena->end - arena->at);
}
/* Bytes handed out since the last reset, alignment included. */
size_t hdi_arena_total(const hdi_arena *arena);

/* hdi_arena_keep gives back what was handed out since a mark, apart from the kept arrays: they slide down to the mark,
 * in the order of their allocation, and their pointers are adjusted. Where the arena has grown since the mark, nothing
 * moves; nor does an array that would gain little by it. */
typedef struct hdi_arena_mark {
    hdi_arena_block *block;
    unsigned char *at;
} hdi_arena_mark;
typedef struct hdi_arena_kept {
    void *array; /* address of the pointer */
    size_t bytes;
} hdi_arena_kept;
static inline hdi_arena_mark hdi_arena_here(const hdi_arena *arena)
{
    return (hdi_arena_mark){arena->block, arena->at};
}
void hdi_arena_keep(hdi_arena *arena, hdi_arena_mark mark, const hdi_arena_kept *kept, size_t count);

#define HDI_ARENA_ARRAY(arena, type, count) ((type *)hdi_arena_array((arena), (count), sizeof(type)))
#define HDI_ARENA_ZEROED(arena, type, count) ((type *)hdi_arena_zeroed((arena), (count), sizeof(type)))

#endif
