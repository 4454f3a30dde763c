/* Between barrier.c, which finds what must be synchronized, and barrier_place.c, which chooses where. */
#ifndef HDI_BARRIER_REQUESTS_H
#define HDI_BARRIER_REQUESTS_H

#include <stdatomic.h>

#include "phases.h"
#include "vk_numbers.h"

/* A barrier that must stand at some point low .. high of a queue. */
typedef struct hdi_request {
    uint64_t src_stages, src_access, dst_stages, dst_access;
    uint32_t queue, low, high;
    uint32_t after; /* the request before, of the highest point before this one's, must stand at an earlier one; or HDI_NONE */
    bool early;     /* takes the earliest of the points that there are, not the newest: another comes after it */
    uint32_t seg;   /* HDI_NONE: global */
    uint32_t old_layout, new_layout, src_family, dst_family;
    uint32_t reason, pass, res;
} hdi_request;

typedef struct hdi_request_list {
    hdi_arena *arena;
    hdi_request *item;
    uint32_t count, capacity;
} hdi_request_list;

/* Room for so many before the list has to grow. */
void hdi_request_reserve(hdi_request_list *list, uint32_t capacity);
/* Returns its index; when memory is out the arena says so. */
uint32_t hdi_request_add(hdi_request_list *list, const hdi_request *request);

/* Stages of a slot count on what it waits for. Several regions may say so of one slot. */
static inline void hdi_count_on(uint64_t *wait_stages, uint64_t stages)
{
    _Atomic(uint64_t) *word = (_Atomic(uint64_t) *)wait_stages;
    if (stages & ~atomic_load_explicit(word, memory_order_relaxed))
        atomic_fetch_or_explicit(word, stages, memory_order_relaxed);
}

/* The requests of all lists, one list after another. */
hd_result hdi_place_barriers(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues,
                             const hdi_hazards *hazards, const hdi_synced *synced, const hdi_merged *merged,
                             const hdi_request_list *list, uint32_t list_count, const hdi_crew *crew, hdi_arena *arena,
                             hdi_barriers *out);

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
#define HDI_WRITE_BITS                                                                                                     \
    (UINT64_C(0x40) | HDI_ACCESS_COLOR_WRITE | HDI_ACCESS_DEPTH_STENCIL_WRITE | HDI_ACCESS_TRANSFER_WRITE |            \
     HDI_ACCESS_HOST_WRITE | UINT64_C(0x10000) | UINT64_C(0x40000) | UINT64_C(0x400000) | UINT64_C(0x2000000) |        \
     UINT64_C(0x8000000) | HDI_ACCESS_SHADER_STORAGE_WRITE | UINT64_C(0x1000000000) | UINT64_C(0x4000000000) |         \
     UINT64_C(0x80000000000) | UINT64_C(0x200000000000))

#endif
