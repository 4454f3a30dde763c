/* An allocator for tests: fails the k-th allocation and all after it, counts what is out, checks sizes and alignment.
 * Thread-safe. */
#ifndef HDT_LIMITED_H
#define HDT_LIMITED_H

#include <stdatomic.h>
#include <stdint.h>

#include <heddle/base.h>

typedef struct hdt_limited {
    _Atomic(uint64_t) made;  /* allocations that were asked for */
    _Atomic(uint64_t) out;   /* pieces not freed yet */
    _Atomic(uint64_t) bytes; /* bytes not freed yet */
    _Atomic(uint64_t) wrong; /* frees with another size than was allocated, pieces not aligned as asked */
    uint64_t fail_at;        /* number, from 1, of the first allocation that fails; 0: none does */
    uint64_t fail_count;     /* how many fail from there on; 0: all */
    uint64_t most_bytes;     /* what would be more at once fails; 0: nothing does */
} hdt_limited;

hd_allocator hdt_limited_allocator(hdt_limited *limited);
/* The JSON library has an allocator of its own, one for the process: it counts (made and out) and fails as `limited`
 * says from here on; null: never again. */
void hdt_limit_json(hdt_limited *limited);

#endif
