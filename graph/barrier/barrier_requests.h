/* Between barrier.c, which finds what must be synchronized, and barrier_place.c, which chooses where. */
#ifndef HDI_BARRIER_REQUESTS_H
#define HDI_BARRIER_REQUESTS_H

#include <stdatomic.h>

#include "barrier_asked.h"
#include "vk_numbers.h"

/* Where a barrier must stand: at some point of a queue from low on, up to that of a place; those of all queues stand
 * one behind another, two for each slot. */
typedef struct hdi_request {
    uint32_t low, place;
    uint8_t region, kind;
} hdi_request;

/* A place where intervals end. First, what is above the highest of their lows, and above that of those that others of
 * them follow; 0: there is none. When there are points, what is behind the one before it, and that one. */
typedef struct hdi_spot {
    uint32_t above, number;
} hdi_spot;

static HDI_INLINE void hdi_note_low(hdi_spot *spot, uint32_t low)
{
    spot->above = low + 1 > spot->above ? low + 1 : spot->above;
}

static HDI_INLINE void hdi_note_followed(hdi_spot *spot, uint32_t low)
{
    spot->number = low + 1 > spot->number ? low + 1 : spot->number;
}

/* Requests of a range of segments: they begin at `begin` of the barriers, of the items, and of their order, which is
 * that of the regions that their highest points lie in. */
typedef struct hdi_request_list {
    uint32_t begin, count, region_begin[HDI_MOST_PARTS + 1];
    bool full; /* there was no room for all scopes: it does not count */
} hdi_request_list;

typedef struct hdi_requests {
    uint32_t list_count;
    hdi_request_list list[HDI_MOST_PARTS];
    hdi_request *item; /* of each barrier that is asked for */
    uint32_t *order;   /* null: of one list and one region, as they stand */
    hdi_spot *spot;    /* of each place; null: lows are not noted */
} hdi_requests;

/* Points of each queue that lie in a region of the frame. The point behind the last slot of the region before is the
 * first: a request and the one that it follows, whose highest points are neighbours, are in one region then. */
typedef struct hdi_barrier_region {
    uint32_t floor[HD_MAX_QUEUES], end[HD_MAX_QUEUES];
} hdi_barrier_region;

/* Stages of a slot count on what it waits for. Several regions may say so of one slot. alone: nobody else does now. */
static inline void hdi_count_on(uint64_t *wait_stages, uint64_t stages, bool alone)
{
    if (alone) {
        *wait_stages |= stages;
        return;
    }
    _Atomic(uint64_t) *word = (_Atomic(uint64_t) *)wait_stages;
    if (stages & ~atomic_load_explicit(word, memory_order_relaxed))
        atomic_fetch_or_explicit(word, stages, memory_order_relaxed);
}

struct hdi_step_work;
void hdi_cut_barriers(const hdi_queues *queues, const hdi_hazards *hazards, const hdi_merged *merged,
                      hdi_barrier_region *region);
/* The order of a list's requests, with region_begin, which says how many each region has. */
void hdi_sort_requests(uint32_t region_count, const hdi_request *item, uint32_t *order, hdi_request_list *list);
/* Chooses points for the requests of all lists, one list after another. */
hd_result hdi_place_barriers(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues,
                             const hdi_hazards *hazards, const hdi_synced *synced, const hdi_barrier_region *regions,
                             const hdi_requests *requests, const hdi_crew *crew, hdi_arena *arena, hdi_barriers *out);

/* With one queue and no host: places them on the way. */
hd_result hdi_barrier_one_queue(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                                const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_merged *merged,
                                const hdi_plan_room *room, const hdi_crew *crew, hdi_arena *arena, hdi_barriers *out);
/* The same beside the host's queue, what it uses having been visited: requests of that stand in the first list. aside:
 * for what only this looks at. */
hd_result hdi_barrier_beside_host(const struct hdi_step_work *several, const hdi_lifetimes *lifetimes,
                                  const hdi_placed *placed, const hdi_merged *merged, const hdi_plan_room *room,
                                  const hdi_crew *crew, hdi_arena *arena, hdi_arena *aside, hdi_barriers *out);

/* Whether stays of former tenants are more than a cache holds, and are not asked for one after another as they stand:
 * by some neighbours. Where one of it is not so, fetching them is more work than it saves. In barrier_one.c. */
bool hdi_are_scattered(const hdi_tenants *res_tenants, const uint32_t *tenant, uint32_t resources, uint32_t queues);

/* What a barrier orders and makes visible. */
typedef struct hdi_scopes {
    uint64_t src_stages, src_access, dst_stages, dst_access;
} hdi_scopes;

/* An hd_reason, for the step from one epoch into the next, by their flags; neither is a final state. */
static HDI_INLINE uint32_t hdi_step_reason(uint32_t before, uint32_t behind)
{
    enum {
        L = HD_REASON_LAYOUT,
        WAR = HD_REASON_WRITE_AFTER_READ,
        WAW = HD_REASON_WRITE_AFTER_WRITE,
        RAW = HD_REASON_READ_AFTER_WRITE
    };
    static const uint8_t reason[][4] = {{L, L, WAR, WAR}, {L, L, WAR, WAR}, {WAW, RAW, WAW, RAW}, {WAW, RAW, WAW, RAW}};
    _Static_assert(HDI_EPOCH_READS == 1 && HDI_EPOCH_WRITES == 2, "they count the reasons");
    return reason[before][behind];
}

/* Between two epochs. */
static HDI_INLINE hdi_scopes hdi_step_scopes(const hdi_kind *before, const hdi_kind *behind)
{
    return (hdi_scopes){before->src_stages, before->src_access, behind->dst_stages, behind->dst_access};
}

static HDI_INLINE hdi_scopes hdi_scopes_of(const hd_plan_barrier *b)
{
    return (hdi_scopes){b->src_stages, b->src_access, b->dst_stages, b->dst_access};
}

static HDI_INLINE void hdi_add_scopes(hd_plan_barrier *b, hdi_scopes does)
{
    b->src_stages |= does.src_stages;
    b->src_access |= does.src_access;
    b->dst_stages |= does.dst_stages;
    b->dst_access |= does.dst_access;
}

/* A barrier, but for its scopes and its range. resource: HD_NONE, of a global one, which has no layouts. */
static HDI_INLINE void hdi_write_cause(hd_plan_barrier *b, uint32_t resource, uint32_t old_layout, uint32_t new_layout,
                                       uint32_t reason, uint32_t pass, uint32_t reason_resource)
{
    b->resource = resource;
    b->old_layout = old_layout;
    b->new_layout = new_layout;
    b->src_family = b->dst_family = HD_NONE;
    b->reason = reason;
    b->reason_pass = pass;
    b->reason_resource = reason_resource;
}

/* The same with its scopes. */
static HDI_INLINE void hdi_write_barrier(hd_plan_barrier *b, hdi_scopes does, uint32_t resource, uint32_t old_layout,
                                         uint32_t new_layout, uint32_t reason, uint32_t pass, uint32_t reason_resource)
{
    b->src_stages = does.src_stages;
    b->src_access = does.src_access;
    b->dst_stages = does.dst_stages;
    b->dst_access = does.dst_access;
    hdi_write_cause(b, resource, old_layout, new_layout, reason, pass, reason_resource);
}

/* Whether a global barrier that stands where another barrier could stand does its work too. */
static inline bool hdi_stands_for(const hdi_scopes *a, const hdi_scopes *b)
{
    return !(b->src_stages & ~a->src_stages) && !(b->dst_stages & ~a->dst_stages) &&
           !(b->src_access & ~a->src_access) && !(b->dst_access & ~a->dst_access);
}

/* Whether any barrier orders what another one is to order. An image's makes only that image visible. */
static inline bool hdi_orders(const hdi_scopes *a, const hdi_scopes *b)
{
    return !(b->src_stages & ~a->src_stages) && !(b->dst_stages & ~a->dst_stages);
}

/* With one queue: makes one barrier of two of neighbouring parts of an image that say the same; false: they do not. */
bool hdi_join_barriers(hd_plan_barrier *a, const hd_plan_barrier *b);

#endif
