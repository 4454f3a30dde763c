/* What helpers keep for a frame until it has finished; in staging.c. */
#ifndef HDI_VK_STAGING_H
#define HDI_VK_STAGING_H

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

/* For what helpers declare now; it lives until the frame that is executed next has finished. */
hdi_vk_help *hdi_vk_help_now(hd_vk *vk, const hd_graph *graph);
hd_result hdi_vk_stage(hd_vk *vk, const hd_graph *graph, uint64_t bytes, hdi_vk_chunk **chunk, uint64_t *offset);
/* Frees chunks that so many frames did not use: as many as can be in flight at the least, or 0 when all have finished.
 */
void hdi_vk_sweep_staging(hd_vk *vk, uint64_t age);
void hdi_vk_help_open(hd_vk *vk);
void hdi_vk_help_close(hd_vk *vk);

#endif
