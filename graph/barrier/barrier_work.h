/* Between the files of the barrier phase: barrier.c, which cuts the frame into regions, barrier_events.c, which lists
 * what is asked for on a queue before or behind its turn, barrier_walk.c, which walks steps and events of a region, and
 * barrier_points.c, which chooses the point of each barrier. */
#ifndef HDI_BARRIER_WORK_H
#define HDI_BARRIER_WORK_H

#include <stdatomic.h>

#include "barrier.h"
#include "hints.h"
#include "vk_numbers.h"

/* Points of a queue: 2 * slot before a slot of it, 2 * slot + 1 behind it. */

/* What is asked for somewhere else than before the slot of a step: a barrier, at a point of a queue from low up to
 * high. */
typedef struct hdi_event {
    uint32_t low, high;
    uint32_t barrier;
    uint16_t queue, region;
} hdi_event;

/* Where barriers are written: the place of the next one, which may be written before it is known whether there will be
 * one. */
typedef struct hdi_barrier_writer {
    hdi_record *next;
    hdi_record_chunk *chunk;    /* of the next one */
    size_t chunk_bytes;
    uint32_t number, chunk_end; /* number of the next one, and behind its chunk */
    hdi_barriers *out;
    hdi_arena *arena; /* of chunks */
    bool failed;      /* there is no memory: barriers are lost */
} hdi_barrier_writer;
struct hdi_lane;
struct hdi_point;
typedef struct hdi_barrier_region {
    uint32_t slot_begin, step_begin, event_begin;
    uint32_t event_end; /* while they are listed */
    uint32_t batch_count, barrier_count;
    hdi_barrier_writer writer;
} hdi_barrier_region;
/* What all regions look at. */
typedef struct hdi_barrier_work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_queues *queues;
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    const uint32_t *slot_first, *slot_last; /* of rendering scopes; null: none are shared */
    const hdi_stay *stay;
    const hdi_tenants *res_tenants;
    const uint32_t *tenant;
    hdi_barriers *out;
    const hdi_crew *crew;
    hdi_arena *arena;
    bool alone; /* one worker */
    bool several_families;
    bool parts; /* some resources have several segments */
    uint32_t gpu_mask;
    hdi_event *event;
    struct hdi_barrier_region *region; /* one more, which begins where the last one ends */
    /* Of one worker, region after region; else null. */
    struct hdi_lane *lane;
    struct hdi_point *point;
} hdi_barrier_work;

/* What a barrier orders and makes visible. */
typedef struct hdi_scopes {
    uint64_t src_stages, src_access, dst_stages, dst_access;
} hdi_scopes;

/* An hd_reason, for the step from one epoch into the next, by their flags. */
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

static HDI_INLINE hdi_scopes hdi_scopes_of(const hdi_record *b)
{
    return (hdi_scopes){b->src_stages, b->src_access, b->dst_stages, b->dst_access};
}

/* Why there is a barrier. */
typedef struct hdi_cause {
    uint32_t reason, pass, res;
} hdi_cause;

/* resource: HD_NONE, of a global one, which has no layouts. */
static HDI_INLINE void hdi_write_record(hdi_record *b, hdi_scopes does, uint32_t resource, uint32_t old_layout,
                                        uint32_t new_layout, hdi_cause why)
{
    *b = (hdi_record){does.src_stages, does.src_access, does.dst_stages, does.dst_access,
                      resource,        old_layout,      new_layout,      HD_NONE,
                      HD_NONE,         why.reason,      why.pass,        why.res};
}

/* Points before and behind a slot, outside of the rendering scope that it is in. */
static HDI_INLINE uint32_t hdi_before_slot(const hdi_barrier_work *w, uint32_t slot)
{
    return 2 * (HDI_UNLIKELY(w->slot_first != NULL) ? w->slot_first[slot] : slot);
}
static HDI_INLINE uint32_t hdi_behind_slot(const hdi_barrier_work *w, uint32_t slot)
{
    return 2 * (HDI_UNLIKELY(w->slot_last != NULL) ? w->slot_last[slot] : slot) + 1;
}

/* What a write leaves, which is alone in its epoch, is read. */
static HDI_INLINE void hdi_note_read(const hdi_barrier_work *w, const hdi_step *write)
{
    atomic_store_explicit((_Atomic(uint8_t) *)&w->hazards->use_kept[write->use], 1, memory_order_relaxed);
}

/* Stages of a slot count on what it waits for. Several regions may say so of one slot. */
static inline void hdi_count_on(const hdi_barrier_work *w, uint32_t slot, uint64_t stages)
{
    uint64_t *wait_stages = &w->out->slot_wait_stages[slot];
    if (w->alone)
        *wait_stages |= stages;
    else if (stages & ~atomic_load_explicit((_Atomic(uint64_t) *)wait_stages, memory_order_relaxed))
        atomic_fetch_or_explicit((_Atomic(uint64_t) *)wait_stages, stages, memory_order_relaxed);
}

/* Stages of a queue count on the semaphore that first told it of a place (as in queue_slot) of another queue, which it
 * knows of before the slot `limit` starts. Returns the slot before which it waited. */
static HDI_INLINE uint32_t hdi_rely_on(const hdi_barrier_work *w, uint32_t queue, uint32_t limit, size_t place,
                                       uint64_t stages)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t pos = w->synced->place_unaware[hdi_unaware_row(w->queues->count, (uint32_t)place) + queue],
             slot = pos < hazards->slot_pos[limit] ? hdi_slot_at(hazards, queue, pos) : limit;
    hdi_count_on(w, slot, stages);
    return slot;
}
/* The place of the last slot of a side. */
static HDI_INLINE size_t hdi_last_place(const hdi_barrier_work *w, const hdi_side *side)
{
    return (size_t)w->hazards->queue_begin[side->to >> HDI_QUEUE_SHIFT] + w->hazards->slot_pos[side->last];
}

/* Whether a step moves an exclusive resource from the family of queues to that of a queue; and whether content that is
 * thrown away changes hands without, by a transition from UNDEFINED, also where the layout stays. */
static HDI_INLINE bool hdi_is_transfer(const hdi_barrier_work *w, const hdi_step *step, uint32_t from_queues,
                                       uint32_t queue)
{
    uint32_t gpus = from_queues & w->gpu_mask;
    return w->several_families && gpus && hdi_kind_of(w->hazards, step->to)->flags & HDI_EPOCH_READS &&
           !w->hazards->res_concurrent[w->frozen->seg_res[step->seg]] &&
           w->queues->family[__builtin_ctz(gpus)] != w->queues->family[queue];
}

static HDI_INLINE bool hdi_discards_for_family(const hdi_barrier_work *w, const hdi_step *step, uint32_t from_queues,
                                               uint32_t queue)
{
    uint32_t res = w->frozen->seg_res[step->seg], gpus = from_queues & w->gpu_mask;
    return w->several_families && gpus && w->gpu_mask >> queue & 1 &&
           hdi_kind_of(w->hazards, step->to)->flags == HDI_EPOCH_WRITES && !w->hazards->res_concurrent[res] &&
           !(w->decl->res_flags[res] & HDI_RES_BUFFER) &&
           w->queues->family[__builtin_ctz(gpus)] != w->queues->family[queue];
}

/* Whether the reads behind a step found what was there before the frame, and as it was: a write behind them needs
 * order alone, as there is nothing to be made visible. */
static HDI_INLINE bool hdi_is_untouched(const hdi_barrier_work *w, const hdi_step *step)
{
    uint32_t res = w->frozen->seg_res[step->seg];
    uint32_t layout = hdi_kind_of(w->hazards, step->to)->layout;
    return step->low == 0 &&
           (w->decl->res_flags[res] & HDI_RES_BUFFER || hdi_initial_layout(w->decl, w->hazards, res) == layout);
}

/* ---- barrier_events.c ---- */

/* Lists events, with their barriers, by the regions that they are for and by their ends. False: no memory. */
bool hdi_list_events(hdi_barrier_work *work);

/* ---- barrier_points.c ---- */

/* Where a batch stands, and its barriers. */
typedef struct hdi_point {
    uint32_t at;
    uint32_t before; /* 1 + the point before it on its queue; 0: none */
    uint32_t newest; /* 1 + its newest barrier; 0: none */
    uint32_t count;
    uint32_t global; /* 1 + its global barrier; 0: none */
} hdi_point;
/* Points that a region of so many slots may have. */
static inline size_t hdi_most_points(uint32_t slots, uint32_t queues)
{
    return 2 * (size_t)slots + 2 * queues;
}

enum { HDI_RECENT = 16 };

/* Of one queue in a region. */
typedef struct hdi_lane {
    uint32_t newest;     /* 1 + its newest point; 0: none */
    uint32_t newest_end; /* behind that; 0: none */
    uint64_t said;       /* signs of barriers of parts since then: with what has none of them nothing is joined */
    uint32_t asked;      /* how many barriers there were, joined ones too */
    /* The newest global ones, which might stand for others. */
    uint32_t recent_count, top_end; /* top_end: none is at this point or a later one */
    struct hdi_recent {
        hdi_scopes does;
        uint32_t at, number; /* number: of those that were asked for */
        uint32_t top_end;    /* of this one and those before it */
    } recent[HDI_RECENT];
} hdi_lane;

/* Begins with a chunk of a number. */
void hdi_begin_writer(hdi_barrier_writer *writer, const hdi_barrier_work *work, uint32_t chunk, hdi_arena *arena);
void hdi_next_chunk(hdi_barrier_writer *writer);
/* The next one is of a segment. parts: some resources have several. */
static HDI_INLINE void hdi_write_seg(hdi_barrier_writer *writer, uint32_t seg, bool parts)
{
    if (parts)
        writer->chunk->corners[writer->number % HDI_CHUNK_RECORDS] = (struct hdi_corners){seg, seg};
}
static HDI_INLINE void hdi_advance(hdi_barrier_writer *writer)
{
    writer->next++;
    if (HDI_UNLIKELY(++writer->number == writer->chunk_end))
        hdi_next_chunk(writer);
}

/* Where a region is on its way. */
typedef struct hdi_walker {
    hdi_barrier_work *w;
    hdi_barrier_writer to;
    hdi_point *point;
    uint32_t point_count, barrier_count;
    hdi_lane *lane;
} hdi_walker;

static HDI_INLINE uint32_t hdi_add_point(hdi_walker *k, uint32_t at, uint32_t before)
{
    k->point[k->point_count] = (hdi_point){.at = at, .before = before};
    return ++k->point_count;
}

/* The newest point of an interval; a new one, at its end, where there is none. No point is behind the end of the
 * interval: those only rise. */
static HDI_INLINE hdi_point *hdi_choose_point(hdi_walker *k, hdi_lane *lane, uint32_t low, uint32_t high)
{
    if (lane->newest_end <= low) {
        lane->newest = hdi_add_point(k, high, lane->newest);
        lane->newest_end = high + 1;
        lane->said = 0;
    }
    return &k->point[lane->newest - 1];
}

/* A barrier becomes one of a point. */
static HDI_INLINE void hdi_append(hdi_walker *k, hdi_point *p, uint32_t number)
{
    bool is_next = number == k->to.number;
    hdi_record_chunk *chunk = is_next ? k->to.chunk : k->to.out->chunk[number / HDI_CHUNK_RECORDS];
    chunk->older[number % HDI_CHUNK_RECORDS] = p->newest;
    p->newest = number + 1;
    p->count++;
    k->barrier_count++;
    if (is_next)
        hdi_advance(&k->to);
}

/* Joins a barrier of a part with others of the point; false: with none. */
bool hdi_join_parts(hdi_walker *walker, hdi_point *point, uint32_t number);

/* Keeps a barrier, the next one or that of an event, of all or a part of something. joins: it is of a part of an image,
 * and moves nothing. */
static HDI_INLINE void hdi_keep_part(hdi_walker *k, uint32_t queue, uint32_t low, uint32_t high, uint32_t number,
                                     bool joins)
{
    hdi_lane *lane = &k->lane[queue];
    hdi_point *p = hdi_choose_point(k, lane, low, high);
    lane->asked++;
    if (HDI_UNLIKELY(joins)) {
        const hdi_record *b = hdi_record_at(k->to.out, number);
        uint64_t sign = UINT64_C(1) << ((b->resource + 8 * b->new_layout) & 63), said = lane->said;
        lane->said = said | sign;
        if (said & sign && hdi_join_parts(k, p, number))
            return;
    }
    hdi_append(k, p, number);
}

/* The same of a global one, unless another one does its work. Returns the point where it, or what does its work,
 * stands. */
uint32_t hdi_keep_global(hdi_walker *walker, uint32_t queue, uint32_t low, uint32_t high, uint32_t number);
/* The same of the next one, which flushes writes for another barrier, that stands behind it and up to the point
 * `follows`: it takes the earliest of the points that there are. */
uint32_t hdi_keep_flush(hdi_walker *walker, uint32_t queue, uint32_t low, uint32_t high, uint32_t follows);
/* The batches of the region. */
void hdi_write_batches(hdi_walker *walker, uint32_t region);

/* ---- barrier_walk.c ---- */

/* Steps and events of a region. */
void hdi_walk_barriers(uint32_t region, void *barrier_work);

#endif
