/* A frame that reaches most of vk/: an upload, a pass with attachments, a history, copies, host passes; and what it
 * must compute. For tests that let parts of it fail. */
#ifndef HDT_VK_BUSY_H
#define HDT_VK_BUSY_H

#include <stdatomic.h>

#include <heddle/vk.h>

typedef struct hdt_busy {
    hd_graph *graph;
    uint32_t size;     /* of the image in texels; 0: 32 */
    uint32_t frames;   /* declared so far: seeds what is uploaded */
    atomic_uint right; /* readbacks with what must stand there */
    atomic_uint wrong;
    struct hdt_busy_frame {
        struct hdt_busy *busy;
        uint32_t seed;
    } in_flight[8];
} hdt_busy;

/* Declares one frame after hd_graph_begin: two readbacks that check themselves. */
void hdt_busy_declare(hdt_busy *busy, hd_vk *vk);
/* hd_graph_begin, declare, hd_vk_frame, `frames` times; stops at the first result other than HD_OK. */
hd_result hdt_busy_run(hdt_busy *busy, hd_vk *vk, uint32_t frames);

#endif
