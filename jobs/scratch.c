#include "scratch.h"

#include <pthread.h>
#include <stdalign.h>
#include <string.h>

#include "alloc.h"

/* Which worker runs which job differs from frame to frame, so arenas with memory of their own would keep growing until
 * each of them held the worst frame. Here the workers' arenas take their blocks from one slab, an arena as well, under
 * a lock: once at the first job, then each time that an arena doubles.
 *
 * The slab must have room for any distribution of the same pieces. A worker that is handed out T bytes holds at most
 * 4 T in blocks: the newest is twice the one before, which could not hold the piece that made it necessary, and all
 * older ones together are smaller than the newest. So 4 times the sum, and a first block a worker, are enough for every
 * schedule. Most of that is never touched. One worker allocates in the same order every time: what it took is enough.
 *
 * Where arrays are given back (hdi_arena_keep) the sum is no bound; then the most that was ever taken is a good guess.
 */

enum { LINE_BYTES = 64, FIRST_BYTES = 32768 /* an arena's first block, and the headers of all */ };

typedef struct worker_arena {
    alignas(LINE_BYTES) hdi_arena arena;
} worker_arena;

struct hdi_scratch {
    hd_allocator allocator;
    uint32_t worker_count;
    worker_arena *workers;
    size_t workers_bytes;
    pthread_mutex_t lock; /* of the slab while jobs run */
    hdi_arena slab;
    size_t slab_bytes; /* what the slab's only block holds; 0: it grew as needed */
};

static void *take_block(size_t bytes, size_t alignment, void *user)
{
    hdi_scratch *scratch = user;

    (void)alignment; /* an arena's pieces are aligned as its blocks must be */
    pthread_mutex_lock(&scratch->lock);
    void *block = hdi_arena_alloc(&scratch->slab, bytes);
    pthread_mutex_unlock(&scratch->lock);
    return block;
}

static void leave_block(void *pointer, size_t bytes, void *user)
{
    (void)pointer; /* all blocks go back at once, with the slab's reset */
    (void)bytes;
    (void)user;
}

static void forget_blocks(hdi_scratch *scratch)
{
    const hd_allocator from_slab = {take_block, leave_block, scratch};

    for (uint32_t i = 0; i < scratch->worker_count; i++)
        hdi_arena_init(&scratch->workers[i].arena, &from_slab);
}

hd_result hdi_scratch_create(uint32_t worker_count, const hd_allocator *allocator, hdi_scratch **out)
{
    size_t bytes = worker_count * sizeof(worker_arena);

    *out = NULL;
    hdi_scratch *scratch = hdi_alloc(allocator, sizeof *scratch, LINE_BYTES);
    worker_arena *workers = hdi_alloc(allocator, bytes, LINE_BYTES);
    if (!scratch || !workers || pthread_mutex_init(&scratch->lock, NULL) != 0) {
        hdi_free(allocator, scratch, sizeof *scratch);
        hdi_free(allocator, workers, bytes);
        return HD_OUT_OF_MEMORY;
    }
    scratch->allocator = *allocator;
    scratch->worker_count = worker_count;
    scratch->workers = workers;
    scratch->workers_bytes = bytes;
    scratch->slab_bytes = 0;
    hdi_arena_init(&scratch->slab, allocator);
    forget_blocks(scratch);
    *out = scratch;
    return HD_OK;
}

void hdi_scratch_destroy(hdi_scratch *scratch)
{
    if (!scratch)
        return;
    hd_allocator allocator = scratch->allocator;
    pthread_mutex_destroy(&scratch->lock);
    hdi_arena_free(&scratch->slab);
    hdi_free(&allocator, scratch->workers, scratch->workers_bytes);
    hdi_free(&allocator, scratch, sizeof *scratch);
}

hdi_arena *hdi_scratch_arena(hdi_scratch *scratch, uint32_t worker)
{
    return &scratch->workers[worker].arena;
}

bool hdi_scratch_failed(const hdi_scratch *scratch)
{
    bool failed = false;

    for (uint32_t i = 0; i < scratch->worker_count; i++)
        failed |= scratch->workers[i].arena.failed;
    return failed;
}

void hdi_scratch_reset(hdi_scratch *scratch)
{
    size_t need = hdi_arena_total(&scratch->slab), sum = 0;

    for (uint32_t i = 0; i < scratch->worker_count; i++)
        sum += hdi_arena_total(&scratch->workers[i].arena);
    if (scratch->worker_count > 1 && sum > 0 && need < 4 * sum + scratch->worker_count * (size_t)FIRST_BYTES)
        need = 4 * sum + scratch->worker_count * (size_t)FIRST_BYTES;
    forget_blocks(scratch);
    if (need > scratch->slab_bytes) {
        need += need / 8; /* frames that grow little by little do not end here each time */
        hdi_arena_free(&scratch->slab);
        hdi_arena_reserve(&scratch->slab, need);
        scratch->slab_bytes = scratch->slab.block ? need : 0; /* without it the slab grows as it is used */
    } else {
        hdi_arena_reset(&scratch->slab);
    }
}
