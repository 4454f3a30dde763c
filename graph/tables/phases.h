/* One struct a phase, written by that phase only. Every array lies in the arena of the compile. */
#ifndef HDI_PHASES_H
#define HDI_PHASES_H

#include "crew.h"
#include "hints.h"
#include "tables.h"

/* ---- the queue set: the engine's queues, then the host queue if the graph has host passes ---- */

typedef struct hdi_queues {
    uint32_t count, gpu_count;
    uint32_t host; /* index of the host queue, HDI_NONE without */
    uint32_t kinds; /* a bit for each hd_queue_kind that is there */
    uint8_t kind[HD_MAX_QUEUES];
    uint8_t number[HD_MAX_QUEUES];  /* in the plan */
    uint32_t family[HD_MAX_QUEUES]; /* HDI_NONE for the host */
} hdi_queues;

/* ---- version ---- */

/* All zero where there are no late reads: the passes stay as they are declared, and the phase is not called. */
typedef struct hdi_versions {
    hdi_decl decl; /* for all later phases: the passes in an order in which each read sees its version */
    const uint32_t *pass_declared; /* number of each of its passes as declared; null: the same */
    const uint32_t *pass_place;    /* the other way round; null: the same */
    uint32_t cycle_count;          /* passes as declared, each has to run before the next, the last before the first */
    uint32_t *cycle;
    uint32_t bad_use; /* as declared: a read of the first of them */
} hdi_versions;

static inline uint32_t hdi_declared_pass(const hdi_versions *versions, uint32_t pass)
{
    return versions->pass_declared && pass != HDI_NONE ? versions->pass_declared[pass] : pass;
}

/* ---- freeze ---- */

/* The segments of a range: rows runs of cols consecutive segments, stride apart. */
typedef struct hdi_span {
    uint32_t base, rows, cols, stride;
} hdi_span;

typedef struct hdi_frozen {
    uint32_t seg_count;
    uint32_t visit_count;    /* numbers of visits, see flow */
    uint32_t *res_seg_begin; /* res_count + 1 */
    uint32_t *seg_res;
    const uint32_t *use_seg; /* the segment of a use that has just one, else HDI_NONE: hdi_use_span tells */
    hd_range *seg_range;  /* explicit; only filled for resources of several segments */
    hdi_span *range_span; /* of each range of the declaration that has several segments */
    uint32_t part_visit[HDI_FEW_PARTS]; /* number of the first visit behind all uses, of each part of the passes */
} hdi_frozen;

static inline hdi_span hdi_use_span(const hdi_decl *decl, const hdi_frozen *frozen, uint32_t use)
{
    uint32_t seg = frozen->use_seg[use], range = decl->use_range[use];
    if (seg != HDI_NONE)
        return (hdi_span){seg, 1, 1, 0};
    if (range != HDI_NONE)
        return frozen->range_span[range];
    uint32_t begin = frozen->res_seg_begin[decl->use_res[use]];
    uint32_t end = frozen->res_seg_begin[decl->use_res[use] + 1];
    return (hdi_span){begin, 1, end - begin, 0};
}

/* Whether a resource is several segments. */
static inline bool hdi_has_several(const hdi_frozen *frozen, uint32_t res)
{
    return frozen->res_seg_begin[res + 1] - frozen->res_seg_begin[res] > 1;
}

/* All of an image. Most have one mip and layer, and nothing is to be looked up. */
static HDI_INLINE hd_range hdi_image_range(const uint8_t *res_flags, const hdi_res_info *res_info, uint32_t res)
{
    hd_range range = {.mip_count = 1, .layer_count = 1};
    if (HDI_UNLIKELY(res_flags[res] & HDI_RES_LEVELS)) {
        range.mip_count = (uint16_t)res_info[res].mips;
        range.layer_count = res_info[res].layers;
    }
    return range;
}

/* The range of a segment, with explicit counts. */
static inline hd_range hdi_seg_range(const hdi_decl *decl, const hdi_frozen *frozen, uint32_t seg)
{
    uint32_t res = frozen->seg_res[seg];
    if (hdi_has_several(frozen, res))
        return frozen->seg_range[seg];
    if (decl->res_flags[res] & HDI_RES_BUFFER)
        return (hd_range){.offset = 0, .bytes = decl->res_info[res].bytes};
    return hdi_image_range(decl->res_flags, decl->res_info, res);
}


/* ---- flow ---- */

/* A visit is a use of one segment. The visit of a use of a single segment has the number of the use. The visits of a
 * use of several segments stand side by side behind all uses. */
#define HDI_FOUND_SEVERAL (UINT32_C(1) << 30) /* in the word of a use of several segments; plus its first visit */
#define HDI_FOUND_LATE (UINT32_C(1) << 31)    /* a write of a segment that was visited before */
#define HDI_VISITED (UINT32_C(1) << 31)
/* One word for each use and each visit behind them. found, the lower half: the pass that wrote what the segment holds
 * before the visit, or hdi_flow_no_pass and above. before, the upper half: HDI_VISITED and the number of the visit
 * before it of the same segment; 0: there is none. */
typedef uint64_t hdi_visit;
static inline uint32_t hdi_visit_found(hdi_visit visit)
{
    return (uint32_t)visit;
}
static inline uint32_t hdi_visit_before(hdi_visit visit)
{
    return (uint32_t)(visit >> 32);
}
typedef struct hdi_flow {
    hdi_visit *visit;
    const uint32_t *pass; /* per visit; for depend */
    uint32_t *pass_reads; /* visits that read what the pass wrote, and one more for each piece that the frame leaves */
} hdi_flow;
/* In place of the pass that wrote a piece: no pass wrote it, or it holds content from the frame's start. Where the
 * difference does not matter any number from hdi_flow_no_pass on and below hdi_flow_end stands for both. */
static inline uint32_t hdi_flow_no_pass(const hdi_decl *decl)
{
    return decl->pass_count;
}
static inline uint32_t hdi_flow_start(const hdi_decl *decl)
{
    return decl->pass_count + 1;
}
static inline uint32_t hdi_flow_end(const hdi_decl *decl, const hdi_crew *crew)
{
    /* What parts count at numbers of their own lies on lines of its own. */
    return decl->pass_count + (hdi_crew_part_count(crew) + 2) * (uint32_t)(HDI_LINE_PAIR / sizeof(uint32_t));
}
/* The first resource from `res` on, below `end`, that has any of these flags, as few do; end: none. */
uint32_t hdi_next_flagged(const hdi_decl *decl, uint32_t res, uint32_t end, uint8_t flags);
enum { HDI_RES_OUTLIVES = HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY }; /* the frame */

/* ---- cull ---- */

typedef struct hdi_kept {
    uint32_t kept_count;
    uint8_t *pass_kept;
} hdi_kept;

/* ---- depend ---- */

typedef struct hdi_depends {
    uint32_t *pred_begin, *pred; /* per pass, kept passes only, no duplicates */
    uint32_t *succ_begin, *succ; /* HDI_NONE behind the last */
} hdi_depends;
/* ---- size ---- */

typedef struct hdi_sizes {
    hd_memory_need *need;    /* of used, non-external resources; else 0 bytes */
    uint8_t *res_used;       /* by a kept pass */
    uint8_t *res_persistent; /* history, or what one is of */
} hdi_sizes;

/* ---- schedule ---- */

/* A slot that must have finished before another. */
typedef struct hdi_edge {
    uint32_t from, to;
} hdi_edge;

typedef struct hdi_schedule {
    uint32_t slot_count, group_count, edge_count;
    uint32_t *slot_pass;
    uint8_t *slot_queue;
    uint32_t *slot_group; /* with one GPU queue: no barrier is needed inside a group; null with several */
    uint32_t region_count, *region_begin; /* slots, + 1: a long frame is one region behind another */
    hdi_edge *edge;       /* waits that free memory, between queues */
    uint64_t peak_bytes;  /* of transient memory by rank: less cannot be asked for */
    double makespan_us;   /* with several queues */
} hdi_schedule;

#define HDI_SMALL_BYTES (UINT64_C(8) << 20) /* not worth a wait or a barrier */

/* With one queue, of passes that go on with one another's attachments (schedule_scopes.c). */
typedef enum hdi_gather {
    HDI_GATHER_NONE,  /* they stand where they come */
    HDI_GATHER_ALONE, /* side by side, where that leaves a group empty */
    HDI_GATHER_ALL,   /* wherever there is room, and others wait as if they did */
} hdi_gather;

/* What an attempt aims at. cap 0: the rules of the order; else bytes that transients may take, with a window of ranks.
 * enough: bytes of heaps below which the packing is not improved, 0: it is. */
typedef struct hdi_goal {
    hd_order order;
    double handoff_us;
    uint64_t cap, enough;
    uint32_t window;
    hdi_gather gather;
} hdi_goal;

/* ---- hazard: what each segment goes through, in the order of the schedule ---- */

/* An epoch is a run of uses of a segment that need nothing between them: one write, or reads that agree. The step into
 * it, from the epoch before, is what barriers and semaphores are for. Steps stand in the order of the first slots of
 * their epochs. `to` has the kind of all uses of the epoch, HDI_CROSSES where queues of the epoch before differ from
 * the queue of its first use, and on top that queue, or HDI_SEVERAL_QUEUES. */
typedef struct hdi_step {
    uint32_t use; /* the first use of the epoch; where several queues use it: its newest side */
    uint32_t seg;
    uint32_t slot;   /* of the first use */
    uint32_t low;    /* the slot behind the last use of the epoch before; 0: there is none */
    uint32_t before; /* 1 + the step into the epoch before; 0: there is none */
    uint32_t to;     /* HDI_NONE: a gap, as several workers leave them */
} hdi_step;
#define HDI_KIND_BITS ((UINT32_C(1) << 23) - 1)
#define HDI_CROSSES (UINT32_C(1) << 23)
#define HDI_QUEUE_BITS (UINT32_C(255) << 24)
enum { HDI_QUEUE_SHIFT = 24, HDI_SEVERAL_QUEUES = 255 };

/* What an epoch does on one queue. Where several queues use it: one of its sides, the first use is of the oldest. */
typedef struct hdi_side {
    uint32_t use, first, last; /* slots */
    uint32_t to;               /* as in a step */
    uint32_t older;            /* the side before it; 0: there is none */
} hdi_side;

/* What a segment is in behind all steps. */
typedef struct hdi_seg_state {
    uint32_t first, behind; /* its first slot, and the one behind its last one; behind 0: it is not used */
    uint32_t to;            /* of its last epoch, as in a step */
    uint32_t step_end;      /* 1 + the step into that */
} hdi_seg_state;

/* A step whose barrier has a slot of its own, as no slot of one queue could hold it: several queues before, and several
 * or the host behind, and another layout. */
typedef struct hdi_extra_step {
    uint32_t seg;
    uint32_t step; /* HDI_NONE: into the state that the frame leaves */
    uint32_t slot;
} hdi_extra_step;

/* Slots of the schedule, and extra ones that hold only barriers (slot_pass HDI_NONE), in one numbering. */
typedef struct hdi_hazards {
    uint32_t slot_count, memory_edge_count;
    uint32_t *slot_pass;
    uint8_t *slot_queue;
    uint32_t *slot_pos;                      /* place on its queue */
    uint32_t *slot_group;                    /* of the schedule; null with several GPU queues */
    uint32_t region_count, *region_begin;    /* the schedule's regions, in slots as they are numbered here */
    uint32_t queue_begin[HD_MAX_QUEUES + 1]; /* in queue_slot */
    uint32_t *queue_slot;
    uint8_t *use_kept; /* a later use reads what this use leaves, or it outlives the frame; the barrier phase says what
                        * is read */
    const hdi_kind *kind;
    hdi_step *step;
    uint32_t step_count; /* gaps count */
    hdi_side *side;      /* from 1 on; null where no epoch has several queues */
    hdi_seg_state *seg_state;
    hdi_extra_step *extra;
    uint32_t extra_count;
    uint32_t *keeper, keeper_count; /* resources that keep their state, ascending */
    uint32_t *slot_want; /* [slot * queues + q]: how many slots of queue q must have finished before it; null with one
                          * queue */
    hdi_edge *memory_edge;       /* the schedule's edges */
    uint8_t *res_concurrent;
    uint16_t *res_queues; /* mask of the queues whose passes use it; null with one queue */
    uint32_t *res_final_layout;
    /* Of what keeps its state: GPU queues in whose families it is at first and at last; HD_MAX_QUEUES: in none. */
    uint8_t *res_first_owner, *res_final_owner;
} hdi_hazards;
static inline const hdi_kind *hdi_kind_of(const hdi_hazards *hazards, uint32_t to)
{
    return &hazards->kind[to & HDI_KIND_BITS];
}
static inline bool hdi_has_sides(uint32_t to)
{
    return to >> HDI_QUEUE_SHIFT == HDI_SEVERAL_QUEUES;
}
/* What the epoch behind a step does on each of its queues, and which slot is behind its last use. Returns how many
 * queues. */
static inline uint32_t hdi_find_sides(const hdi_hazards *hazards, const hdi_step *step, uint32_t behind,
                                      hdi_side sides[HD_MAX_QUEUES])
{
    uint32_t count = 0;
    if (!hdi_has_sides(step->to)) {
        sides[0] = (hdi_side){step->use, step->slot, behind - 1, step->to & ~HDI_CROSSES, 0};
        return 1;
    }
    for (uint32_t i = step->use; i; i = hazards->side[i].older)
        sides[count++] = hazards->side[i];
    return count;
}
/* A mask of the queues of the epoch behind a step. */
static inline uint32_t hdi_step_queues(const hdi_hazards *hazards, const hdi_step *step)
{
    uint32_t queues = 0;
    if (!hdi_has_sides(step->to))
        return 1u << (step->to >> HDI_QUEUE_SHIFT);
    for (uint32_t i = step->use; i; i = hazards->side[i].older)
        queues |= 1u << (hazards->side[i].to >> HDI_QUEUE_SHIFT);
    return queues;
}
static inline uint32_t hdi_slot_at(const hdi_hazards *hazards, uint32_t queue, uint32_t pos)
{
    return hazards->queue_slot[hazards->queue_begin[queue] + pos];
}

/* The first place of a queue from `pos` on whose slot is not before another one; behind the last one: its count.
 * O(log places) */
static inline uint32_t hdi_pos_from(const hdi_hazards *hazards, uint32_t queue, uint32_t pos, uint32_t slot)
{
    uint32_t high = hazards->queue_begin[queue + 1] - hazards->queue_begin[queue];
    while (pos < high) {
        uint32_t middle = pos + (high - pos) / 2;
        if (hdi_slot_at(hazards, queue, middle) < slot)
            pos = middle + 1;
        else
            high = middle;
    }
    return pos;
}

/* The layout that an image has at the frame's start; a history has what its OF was left in. */
static inline uint32_t hdi_initial_layout(const hdi_decl *decl, const hdi_hazards *hazards, uint32_t res)
{
    if (decl->res_flags[res] & HDI_RES_EXTERNAL)
        return decl->res_info[res].initial_layout;
    return decl->res_flags[res] & HDI_RES_HISTORY ? hazards->res_final_layout[decl->res_pair[res]] : 0;
}
/* The layout that a segment of an image has behind its last use, or from the frame's start on where nothing uses it. */
static inline uint32_t hdi_last_layout(const hdi_decl *decl, const hdi_hazards *hazards, uint32_t res, uint32_t seg)
{
    const hdi_seg_state *state = &hazards->seg_state[seg];
    return state->behind ? hdi_kind_of(hazards, state->to)->layout : hdi_initial_layout(decl, hazards, res);
}
/* Whether the frame leaves a segment of what keeps its state in another layout than that. */
static inline bool hdi_is_left(const hdi_decl *decl, const hdi_hazards *hazards, uint32_t res, uint32_t seg)
{
    return !(decl->res_flags[res] & HDI_RES_BUFFER) &&
           hdi_last_layout(decl, hazards, res, seg) != hazards->res_final_layout[res];
}

/* ---- sync ---- */

typedef struct hdi_submit {
    uint32_t queue, first_pos, end_pos; /* passes [first, end) of the queue */
    uint32_t wait_begin, wait_count;
    uint32_t signal; /* 0: none */
} hdi_submit;
typedef struct hdi_wait {
    uint32_t queue, pos; /* until the slot at this place of that queue is done: for the signal of its submit */
    uint32_t reason_pass;
} hdi_wait;
typedef struct hdi_synced {
    uint32_t submit_count, wait_count;
    hdi_submit *submit; /* in the order in which they are handed to the driver */
    hdi_wait *wait;
    uint32_t *submit_begin; /* submit_count + 1: the first place of each submit; places are counted through submits */
    uint32_t *place_submit; /* places as in queue_slot; null with one queue */
    const uint32_t *slot_want; /* what the clocks were made from; null with one queue */
    uint16_t *slot_waits; /* a mask of queues. After hdi_sync_clocks: queues of which the slot before on the same queue
                           * does not know all that this slot wants. After hdi_sync: queues that this slot waits for */
    uint32_t *slot_clock; /* [slot * queues + q]: how many slots of queue q have finished before this one starts */
    uint32_t *slot_round; /* how many slots of its own queue waits have brought back to it, by way of other queues */
    /* By place, as in queue_slot, a row of so many as there are queues and one: on each other one how many places start
     * before it knows that what is there has finished; at last one more than the last slot of all these, 0: none. Null
     * with one queue. */
    uint32_t *place_unaware;
} hdi_synced;
/* Where the row of a place begins. */
static inline size_t hdi_unaware_row(uint32_t queues, uint32_t place)
{
    return (queues + (size_t)1) * place;
}
/* Whose place it is. O(log submits) */
static inline uint32_t hdi_submit_of(const hdi_synced *synced, uint32_t place)
{
    uint32_t low = 0, high = synced->submit_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(synced->submit_begin[middle] <= place ? &low : &high) = middle;
    }
    return low;
}

/* ---- lifetime ---- */

/* What a resource does on one queue. first HDI_NONE: nothing, and the other fields mean nothing. */
typedef struct hdi_stay {
    uint32_t first, last; /* places on the queue */
    uint32_t close; /* last place of its last group, or of the group behind where its last use writes: a pass after this
                     * place has a barrier before it. Without groups: last. With one queue res_close says it */
    uint64_t tail_writes, tail_stages; /* write access that nothing made available yet; stages of the last epochs */
} hdi_stay;
typedef struct hdi_lifetimes {
    hdi_stay *stay; /* [res * queues + q]; of what one GPU queue alone uses only that one's is filled: hdi_stay_on */
    uint32_t *res_first, *res_last;    /* slots; first > last: unused */
    uint32_t *res_close;               /* slot: a resource that starts behind it, on any queue, may take its bytes */
    const uint32_t *place_unaware; /* of the clocks by which lifetimes were found */
} hdi_lifetimes;
/* ---- alias ---- */

/* Whose bytes a resource takes over: a range of the tenants, in the order of the bytes. */
typedef struct hdi_tenants {
    uint32_t begin, end;
} hdi_tenants;
typedef struct hdi_placed {
    uint32_t heap_count;
    hd_plan_heap *heap;
    uint32_t *res_heap; /* HDI_NONE: none */
    uint64_t *res_offset;
    hdi_tenants *res_tenants;
    uint32_t *tenant, tenant_count;
} hdi_placed;
/* lean: memory matters more than barriers. effort: hd_compile_desc's packing_effort. enough: bytes of all heaps below
 * which less is not better. */
typedef struct hdi_packing {
    bool lean;
    uint32_t effort;
    uint64_t enough;
} hdi_packing;

/* ---- merge: only when asked for ---- */

/* The first and the last slot of the rendering scope that a slot is in; itself where it shares none. No barrier stands
 * inside a scope. Null: no scopes are shared. */
typedef struct hdi_merged {
    uint32_t *slot_first, *slot_last;
} hdi_merged;
/* Whether the rendering of a pass goes on with the attachments of the pass before it. In declared.c. */
bool hdi_goes_on(const hdi_decl *decl, uint32_t before, uint32_t pass);

/* ---- barrier ---- */

/* A barrier until it stands in the plan: what this has in front of its range. */
typedef struct hdi_record {
    uint64_t src_stages, src_access, dst_stages, dst_access;
    uint32_t resource, old_layout, new_layout, src_family, dst_family, reason, reason_pass, reason_resource;
} hdi_record;
_Static_assert(sizeof(hdi_record) == offsetof(hd_plan_barrier, range) &&
                   offsetof(hdi_record, reason_resource) == offsetof(hd_plan_barrier, reason_resource),
               "copied as it is");
/* They stand in chunks, so that none ever moves. Numbers count through all chunks. */
enum { HDI_CHUNK_RECORDS = 64 };
typedef struct hdi_record_chunk {
    hdi_record record[HDI_CHUNK_RECORDS];
    uint32_t older[HDI_CHUNK_RECORDS]; /* 1 + the number of the barrier before it in its batch; 0: none */
    struct hdi_corners {
        uint32_t seg, last_seg;
    } corners[HDI_CHUNK_RECORDS]; /* of its range; there only where resources have several segments */
} hdi_record_chunk;
typedef struct hdi_batch {
    uint32_t newest; /* 1 + its last barrier; 0: there is no batch */
    uint32_t barrier_count;
} hdi_batch;
typedef struct hdi_barriers {
    uint32_t batch_count, barrier_count;
    hdi_record_chunk **chunk;
    hdi_batch *place_batch;     /* before and behind each place, as in queue_slot */
    uint64_t *slot_wait_stages; /* what must wait for the semaphores before a slot; null with one queue */
} hdi_barriers;
static HDI_INLINE hdi_record *hdi_record_at(const hdi_barriers *barriers, uint32_t number)
{
    return &barriers->chunk[number / HDI_CHUNK_RECORDS]->record[number % HDI_CHUNK_RECORDS];
}
static HDI_INLINE uint32_t *hdi_older_record(const hdi_barriers *barriers, uint32_t number)
{
    return &barriers->chunk[number / HDI_CHUNK_RECORDS]->older[number % HDI_CHUNK_RECORDS];
}
static HDI_INLINE struct hdi_corners *hdi_corners_at(const hdi_barriers *barriers, uint32_t number)
{
    return &barriers->chunk[number / HDI_CHUNK_RECORDS]->corners[number % HDI_CHUNK_RECORDS];
}
/* The range from one segment to another of a resource that has several. */
static inline hd_range hdi_corners_range(const hdi_frozen *frozen, const struct hdi_corners *corners)
{
    hd_range range = frozen->seg_range[corners->seg];
    const hd_range *last = &frozen->seg_range[corners->last_seg];
    if (corners->seg == corners->last_seg)
        return range;
    range.mip_count = (uint16_t)(last->mip_base + last->mip_count - range.mip_base);
    range.layer_count = last->layer_base + last->layer_count - range.layer_base;
    range.aspect = range.aspect == last->aspect ? range.aspect : 0;
    return range;
}

/* ---- attach ---- */

/* Where the next elements go. Batches and barriers stand in the order of the commands, as an executor walks them. */
typedef struct hdi_plan_place {
    uint32_t command, batch, barrier, wait, scope, attachment;
} hdi_plan_place;

typedef struct hdi_attached {
    uint32_t scope_count, attachment_count; /* of one range: at most */
    /* Ranges of places in the order of the submits, and what stands in a plan before each. */
    uint32_t ranges, range_begin[HDI_MOST_PARTS + 1];
    hdi_plan_place range_at[HDI_MOST_PARTS];
} hdi_attached;

/* ---- the tables of all phases, for compile and plan ---- */

typedef struct hdi_tables {
    const hdi_decl *decl; /* versions.decl where there are late reads */
    hdi_crew crew;
    hdi_queues all_queues, queues; /* queues: the ones in use, for the phases */
    hdi_versions versions;
    hdi_frozen frozen;
    hdi_arena_mark front; /* of the arena: behind it lies what only the schedule reads */
    hdi_flow flow;
    hdi_kept kept;
    hdi_depends depends;
    hdi_sizes sizes;
    hdi_schedule schedule;
    hdi_hazards hazards;
    hdi_synced synced;
    hdi_lifetimes lifetimes;
    hdi_placed placed;
    hdi_merged merged;
    hdi_barriers barriers;
    hdi_attached attached; /* the last one: it is not cleared */
} hdi_tables;

#endif
