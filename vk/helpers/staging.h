/* What helpers keep for a frame until it has finished; in staging.c. */
#ifndef HDI_VK_STAGING_H
#define HDI_VK_STAGING_H

#include <pthread.h>
#include <stdatomic.h>

#include <heddle/vk.h>

#include "arena.h"

/* Staging memory: one buffer, mapped, taken from front to back. */
typedef struct hdi_vk_chunk {
    struct hdi_vk_chunk *next; /* of a frame's, or of those that are idle */
    VkBuffer buffer;
    hd_vk_memory at;
    uint64_t bytes, used;
    uint64_t last_frame;
} hdi_vk_chunk;

/* What helpers keep for one frame that was or will be executed. */
typedef struct hdi_vk_help {
    hdi_arena arena;
    hdi_vk_chunk *chunks; /* the first is filled */
    uint64_t frame;
    const hd_graph *graph; /* the last whose frame has filled it; tag: which of its frames */
    uint32_t tag;
    bool stays; /* until another frame is declared: other graphs have filled it, too, or the GPU uses it by now */
} hdi_vk_help;

/* What one hd_vk_upload_async handed over. */
typedef struct hdi_vk_upload {
    hd_import_desc target; /* without its name */
    char name[48];
    hd_range range; /* explicit counts */
    uint64_t bytes;
    uint64_t begin, end;   /* in the ring's positions; what lies before it goes when it goes */
    uint32_t state, tag;   /* upload.c; tag: of the graph's frame that declared it */
    const hd_graph *graph; /* of that frame, whose number was, or is: */
    uint64_t frame;
} hdi_vk_upload;

/* All but finished under the lock. Positions rise until the ring is empty: one modulo the ring's bytes is where its
 * data lies. Tokens are ids: those before next were handed over, those before first are done. */
typedef struct hdi_vk_uploads {
    pthread_mutex_t lock;
    hdi_vk_chunk *ring;     /* null: hd_vk_desc.upload_bytes is 0 */
    hdi_vk_upload *uploads; /* by id modulo capacity, a power of two */
    uint32_t capacity;
    uint64_t first, next, head, tail;
    atomic_uint_least64_t finished; /* frames before this one have finished */
} hdi_vk_uploads;

struct hdi_vk_frame;
hd_result hdi_vk_uploads_open(hd_vk *vk, uint64_t bytes);
void hdi_vk_uploads_close(hd_vk *vk);
/* The frame was executed: what it declared is planned for it. */
void hdi_vk_uploads_commit(const struct hdi_vk_frame *frame);
/* Frames before this one have finished. */
void hdi_vk_uploads_finish(hd_vk *vk, uint64_t frame);

/* Bytes of the ring that hold something. Any thread. */
uint64_t hdi_vk_uploads_held(hd_vk *vk);

/* A chunk of at least so many bytes, idle in no list. */
hd_result hdi_vk_chunk_make(hd_vk *vk, uint64_t bytes, hdi_vk_chunk **out);
void hdi_vk_chunk_free(hd_vk *vk, hdi_vk_chunk *chunk);
/* Copies want offsets that are multiples of a texel, which may have 3, 6 or 12 bytes, and like those of a cache line.
 */
enum { HDI_VK_STAGING_ALIGNMENT = 3 * 64 };
/* For what helpers declare now; it lives until the frame that is executed next has finished. */
hdi_vk_help *hdi_vk_help_now(hd_vk *vk, const hd_graph *graph);
hd_result hdi_vk_stage(hd_vk *vk, const hd_graph *graph, uint64_t bytes, hdi_vk_chunk **chunk, uint64_t *offset);
/* Frees chunks that so many frames did not use: as many as can be in flight at the least, or 0 when all have finished.
 */
void hdi_vk_sweep_staging(hd_vk *vk, uint64_t age);
void hdi_vk_help_open(hd_vk *vk);
void hdi_vk_help_close(hd_vk *vk);

#endif
