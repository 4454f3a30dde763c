/* What helpers keep for a frame until it has finished; in staging.c. */
#ifndef HDI_VK_STAGING_H
#define HDI_VK_STAGING_H

#include <heddle/vk.h>

#include "arena.h"

/* Staging memory: one buffer, mapped, taken from front to back. */
typedef struct hdi_vk_chunk {
    struct hdi_vk_chunk *next;
    VkBuffer buffer;
    hd_vk_memory at;
    uint64_t bytes, used;
} hdi_vk_chunk;

/* What helpers keep for one frame that was or will be executed. */
typedef struct hdi_vk_help {
    hdi_arena arena;
    hdi_vk_chunk *chunks, *current; /* those behind current are unused */
    uint64_t frame;
    const hd_graph *graph; /* the last whose frame has filled it; tag: which of its frames */
    uint32_t tag;
    bool several; /* other graphs have, too */
} hdi_vk_help;

/* For what helpers declare now; it lives until the frame that is executed next has finished. */
hdi_vk_help *hdi_vk_help_now(hd_vk *vk, const hd_graph *graph);
hd_result hdi_vk_stage(hd_vk *vk, const hd_graph *graph, uint64_t bytes, hdi_vk_chunk **chunk, uint64_t *offset);
void hdi_vk_help_open(hd_vk *vk);
void hdi_vk_help_close(hd_vk *vk);

#endif
