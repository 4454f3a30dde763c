/* What follows from a plan, its declaration and the device, and not from the frame (kept.c says more). */
#ifndef HDI_VK_KEPT_H
#define HDI_VK_KEPT_H

#include <heddle/vk.h>

#include "arena.h"
#include "tables.h"

#define HDI_VK_MAX_FRAMES 4
/* Color attachments of a rendering scope at most. */
enum { HDI_VK_COLORS = HD_VK_MAX_COLORS };

struct hdi_vk_key;
struct hdi_vk_join;
struct hdi_vk_heap;
struct hdi_vk_frame;

/* Of one frame, by queue of hd_vk. */
typedef struct hdi_vk_ends {
    uint32_t first[HD_MAX_QUEUES], last[HD_MAX_QUEUES]; /* plan submits; HD_NONE: none */
    uint64_t end[HD_MAX_QUEUES];
} hdi_vk_ends;

/* What a frame does to a resource on one queue. */
typedef struct hdi_vk_touch {
    uint32_t command, submit, last_submit; /* command: 1 + the first one that may wait; 0: not touched */
    bool writes, closed, apart; /* closed: a write of the whole has come. apart: ends in what no stage can name */
    uint64_t first_stages, first_access; /* up to the first write of the whole */
    uint64_t last_stages, last_access;   /* from the last write of the whole on; access only of writes */
} hdi_vk_touch;

/* What a view shows; no padding, compared as bytes. */
typedef struct hdi_vk_shape {
    hd_range range; /* explicit counts and aspects */
    uint32_t type, format;
    uint32_t usage; /* 0: the image's */
    VkComponentMapping swizzle;
    uint32_t zero;
} hdi_vk_shape;
_Static_assert(sizeof(hdi_vk_shape) == 48, "shapes are compared as bytes");

/* An image as a rendering sees it, and the views that were found before, of the objects with these serials. */
typedef struct hdi_vk_viewed {
    uint32_t res; /* HD_NONE: none */
    hdi_vk_shape shape;
    uint64_t serials[HDI_VK_MAX_FRAMES];
    VkImageView views[HDI_VK_MAX_FRAMES];
    uint32_t next; /* in serials */
} hdi_vk_viewed;

typedef struct hdi_vk_attached {
    hdi_vk_viewed from, to; /* to: resolved into */
    uint32_t clear_use;    /* whose clear value counts; HD_NONE: none's */
    bool depth;
    VkRenderingAttachmentInfo *infos[2]; /* the second: of stencil beside depth, or null */
} hdi_vk_attached;

/* A rendering scope but for its views and clear values. */
typedef struct hdi_vk_rendering {
    VkRenderingInfo info;
    VkViewport viewport;
    hdi_vk_attached *attached;
    uint32_t attached_count;
    VkFormat depth, stencil, colors[HDI_VK_COLORS];
    VkSampleCountFlagBits samples;
} hdi_vk_rendering;

/* Barriers of a plan batch but for their objects. */
typedef struct hdi_vk_barriers {
    VkDependencyInfo *infos; /* by plan batch */
    VkMemoryBarrier2 *memory;
    VkBufferMemoryBarrier2 *buffers;
    VkImageMemoryBarrier2 *images;
    uint32_t *buffer_res, *image_res; /* declared resources */
    uint32_t memory_count, buffer_count, image_count;
} hdi_vk_barriers;

/* Joins that come out the same in every frame, while one plan is executed again and again. */
typedef struct hdi_vk_steady_join {
    uint64_t frame; /* in which it was noted */
    uint32_t *before_all, *before_left; /* by command, as in hdi_vk_frame; the second without what others contain */
    struct hdi_vk_join *joins;
    uint32_t join_count;
    uint32_t *wait_at;   /* in join_values */
    uint64_t *wait_back; /* how far behind the base of its queue the value is */
    uint32_t wait_count;
    uint64_t *offsets;      /* by plan resource: where it lay in that frame */
    struct hdi_vk_object **turns; /* plan resource * 2 + frames since then, modulo 2: what it was, of what takes turns;
                                     else null */
    struct hdi_vk_heap **heaps;    /* copy of the memory * heap_count + plan heap: as last used */
    uint64_t *heap_serials; /* the same */
    uint64_t histories;     /* a hash of those that were last used, and of whose turn it was */
} hdi_vk_steady_join;

/* A history of which the plan has both halves, or one. */
typedef struct hdi_vk_kept_history {
    uint32_t res;      /* the history, as it was declared */
    uint32_t plan, of; /* the two in the plan, or HDI_NONE */
    bool used;         /* a pass uses what it is of: the next frame's history is what this frame leaves there */
    bool moves;        /* a barrier hands one of the two to another family */
} hdi_vk_kept_history;

/* What follows from a plan, its declaration and the device alone. That of a plan that comes again is kept with copies
 * of both; else it lives for the frame. */
typedef struct hdi_vk_kept {
    struct hdi_vk_kept *next;
    hdi_arena arena;
    uint64_t serial; /* never used twice; 0: of one frame */
    uint64_t last_frame;
    const void *plan_at; /* where the plan was last */
    uint64_t hash, bytes;
    const void *plan; /* the copy */
    hdi_decl decl;    /* the copy of what counts */

    uint32_t queue_of[HD_MAX_QUEUES]; /* plan queue -> queues of hd_vk */
    uint32_t *plan_index;             /* declared resource -> plan.resources, or HDI_NONE */
    struct hdi_vk_key *keys;                 /* by plan resource */
    hdi_vk_kept_history *histories;
    uint32_t history_count, import_count;
    uint8_t *heap_used; /* by plan heap: something else than histories and what they are of lies in it */
    uint32_t event_count;
    hdi_vk_ends ends; /* end: how far it raises the queue's base */
    hdi_vk_touch *touches; /* plan resource * (queue_count + 1) + queue */
    uint32_t *order;       /* plan resources by first touch */
    uint32_t order_count;
    uint32_t join_capacity;
    uint64_t *covered; /* by submit: value above the base whose signal covers all that stands in it */
    uint8_t *to_host;  /* by submit: ends with a barrier that shows later frames' host passes what it wrote */
    hdi_vk_barriers barriers;
    hdi_vk_rendering *renderings; /* by plan scope */
    uint64_t *patched;            /* by plan resource: serial of the object that stands in the barriers; 0: none does */
    hdi_vk_steady_join steady;
} hdi_vk_kept;

/* ---- kept.c, check.c, touch.c ---- */
/* Finds or makes what follows from the frame's plan. */
hd_result hdi_vk_keep(struct hdi_vk_frame *frame, const hd_plan *plan);
/* Drops kept plans that the last `age` frames did not use. 0: all. */
void hdi_vk_sweep_kept(hd_vk *vk, uint64_t age);
/* Whether the plan fits the declaration and the device; plan_index and queue_of are known. */
hd_result hdi_vk_check_plan(const struct hdi_vk_frame *frame);
/* Plan queues as queues of hd_vk. Then: whether these can do what the passes do. */
hd_result hdi_vk_match_queues(const struct hdi_vk_frame *frame, uint32_t *queue_of);
hd_result hdi_vk_check_queues(const struct hdi_vk_frame *frame);
/* Ends, touches, order, covered. */
hd_result hdi_vk_keep_touches(const struct hdi_vk_frame *frame, hdi_vk_kept *kept, hdi_arena *arena);

/* ---- rendering.c, barriers.c ---- */
/* Prepares the renderings of a plan's scopes. */
hd_result hdi_vk_keep_renderings(const struct hdi_vk_frame *frame, hdi_vk_kept *kept, hdi_arena *arena);
/* Prepares the barriers of a plan's batches. */
hd_result hdi_vk_keep_barriers(const struct hdi_vk_frame *frame, hdi_vk_kept *kept, hdi_arena *arena);

#endif
