/* Between barrier.c, which finds what must be synchronized, and barrier_place.c, which chooses where. */
#ifndef HDI_BARRIER_REQUESTS_H
#define HDI_BARRIER_REQUESTS_H

#include <stdatomic.h>

#include "phases.h"
#include "vk_numbers.h"

/* A barrier that must stand at some point low .. high of a queue. */
typedef struct hdi_request {
    uint32_t low, high;
    uint32_t barrier; /* as the plan is to have it, in hdi_requests.barrier */
    uint8_t queue, region;
    bool global;   /* resource HD_NONE */
    uint8_t order; /* HDI_EARLY, HDI_FOLLOWS, HDI_MOVES */
} hdi_request;

/* MOVES: to or from another family. EARLY: takes the earliest of the points that there are, not the newest, as another
 * comes after it. FOLLOWS: must stand at a later point than the request before it, whose highest point is before this
 * one's. */
enum { HDI_EARLY = 1, HDI_FOLLOWS = 2, HDI_MOVES = 4 };

/* Requests of a range of segments: they begin at `begin` of both arrays and stand in the order of the regions that
 * their highest points lie in. */
typedef struct hdi_request_list {
    uint32_t begin, count, region_begin[HDI_MOST_PARTS + 1];
} hdi_request_list;

typedef struct hdi_requests {
    uint32_t list_count;
    hdi_request_list list[HDI_MOST_PARTS];
    hdi_request *item;
    hd_plan_barrier *barrier;
} hdi_requests;

/* Points of each queue that lie in a region of the frame. The point behind the last slot of the region before is the
 * first: a request and the one that it follows, whose highest points are neighbours, are in one region then. */
typedef struct hdi_barrier_region {
    uint32_t floor[HD_MAX_QUEUES], end[HD_MAX_QUEUES];
} hdi_barrier_region;

/* Stages of a slot count on what it waits for. Several regions may say so of one slot. */
static inline void hdi_count_on(uint64_t *wait_stages, uint64_t stages)
{
    _Atomic(uint64_t) *word = (_Atomic(uint64_t) *)wait_stages;
    if (stages & ~atomic_load_explicit(word, memory_order_relaxed))
        atomic_fetch_or_explicit(word, stages, memory_order_relaxed);
}

void hdi_cut_barriers(const hdi_queues *queues, const hdi_hazards *hazards, const hdi_merged *merged,
                      hdi_barrier_region *region);
/* Requests of a list in the order of the regions, with region_begin. */
void hdi_sort_requests(const hdi_barrier_region *regions, uint32_t region_count, hdi_request *raw, hdi_request *to,
                       hdi_request_list *list);
/* Chooses points for the requests of all lists, one list after another. */
hd_result hdi_place_barriers(const hdi_decl *decl, const hdi_queues *queues, const hdi_hazards *hazards,
                             const hdi_synced *synced, const hdi_barrier_region *regions, const hdi_requests *requests,
                             const hdi_crew *crew, hdi_arena *arena, hdi_barriers *out);

/* With one queue and no host: places them on the way. */
hd_result hdi_barrier_one_queue(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                                const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_merged *merged,
                                const hdi_crew *crew, hdi_arena *arena, hdi_barriers *out);

/* What a barrier orders and makes visible. */
typedef struct hdi_scopes {
    uint64_t src_stages, src_access, dst_stages, dst_access;
} hdi_scopes;

/* Whether a barrier that stands where another could stand does its work too. For memory it must be a global one: an
 * image's covers that image alone. */
static inline bool hdi_stands_for(const hdi_scopes *a, bool a_is_global, const hdi_scopes *b)
{
    if (b->src_stages & ~a->src_stages || b->dst_stages & ~a->dst_stages)
        return false;
    return !(b->src_access | b->dst_access) ||
           (a_is_global && !(b->src_access & ~a->src_access) && !(b->dst_access & ~a->dst_access));
}

/* Makes one barrier of two neighbouring ones of an image or buffer that say the same; false: they do not. */
bool hdi_join_barriers(hd_plan_barrier *a, const hd_plan_barrier *b, bool is_buffer);

/* Access bits that write. */
#define HDI_WRITE_BITS                                                                                                 \
    (UINT64_C(0x40) | HDI_ACCESS_COLOR_WRITE | HDI_ACCESS_DEPTH_STENCIL_WRITE | HDI_ACCESS_TRANSFER_WRITE |            \
     HDI_ACCESS_HOST_WRITE | UINT64_C(0x10000) | UINT64_C(0x40000) | UINT64_C(0x400000) | UINT64_C(0x2000000) |        \
     UINT64_C(0x8000000) | HDI_ACCESS_SHADER_STORAGE_WRITE | UINT64_C(0x1000000000) | UINT64_C(0x4000000000) |         \
     UINT64_C(0x80000000000) | UINT64_C(0x200000000000))

#endif
