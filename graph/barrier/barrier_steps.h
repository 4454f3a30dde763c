/* Between barrier.c, which cuts segments into ranges, and barrier_steps.c, which finds what the steps of a range need.
 */
#ifndef HDI_BARRIER_STEPS_H
#define HDI_BARRIER_STEPS_H

#include "barrier_requests.h"

enum { HDI_KNOWN_SPARE = 8 };
/* Where a range of segments is on its way. */
typedef struct hdi_step_work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_queues *queues;
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    uint32_t ranges;
    bool cuts;       /* a long frame; a short one has room for more requests than there can be */
    bool alone;      /* one worker */
    bool fetches;    /* what first uses look at is fetched before their turn */
    bool has_extras; /* extra slots */
    hdi_barriers *out;
    const hdi_barrier_region *region;
    uint32_t place_begin[HD_MAX_QUEUES]; /* of each queue, as requests count them */
    uint8_t *place_region;               /* of a long frame: the region that each lies in */
    hdi_requests *requests;
    uint32_t *known[HD_MAX_QUEUES]; /* of each queue, by places of all queues: the first place of it where that one of
                                     * another queue is known to have finished */
    uint32_t known_begin[HD_MAX_QUEUES]; /* places of each queue there, with KNOWN_SPARE behind the last one */
    /* Of the tables: */
    const hdi_epoch *epochs;
    const hdi_kind *kinds;
    const hdi_tenants *res_tenants;
    const uint32_t *slot_pos, *slot_pass, *slots[HD_MAX_QUEUES], *tenant;
    const uint32_t *slot_first, *slot_last; /* slot_pos where no scopes are shared */
    const uint8_t *slot_queue, *res_flags;
    const hdi_res_info *res_info;
    const uint16_t *res_queues;
    const hdi_stay *stay;
    uint64_t *slot_wait_stages;
    uint32_t queue_count, queue_mask, gpu_mask; /* masks: of all queues, and of those of the GPU */
    bool merges;                                /* scopes are shared */
    uint32_t made_slots;                        /* for scopes of each range, a power of 2 */
    /* Where the range goes on: behind the last request, with what it asks for, or with its barrier. */
    hdi_request *item;
    hdi_spot *spot;      /* of each place, where barriers are written at once */
    uint32_t *in_region; /* how many requests each has */
    hdi_asked *asked;
    hd_plan_barrier *barrier;
    hdi_kind *made; /* scopes of the range: a table by hash values */
    uint32_t made_begin, made_count;
    bool full; /* there was no slot left for a scope */
} hdi_step_work;

/* What an epoch does on one queue. first > last: nothing. */
typedef struct hdi_side {
    uint64_t stages, access;
    uint32_t first, last; /* places on the queue */
} hdi_side;

/* What former tenants of a resource leave to who comes next on a queue. */
typedef struct hdi_handover {
    uint64_t stages, writes; /* of former tenants on this queue */
    uint32_t low;            /* earliest point for whoever comes after all of them */
    uint32_t flush_low;
    bool others; /* some were on other queues */
} hdi_handover;
/* stages: of who comes now, from `slot` on. */
hdi_handover hdi_find_handover(const hdi_step_work *work, uint32_t res, uint32_t queue, uint32_t slot, uint64_t stages);

/* In barrier_sides.c. Of an epoch on all queues. */
void hdi_find_sides(const hdi_step_work *work, const hdi_epoch *epoch, hdi_side *sides);
/* No scope has all stages that there could be: a slot of the table of scopes that is free. */
#define HDI_FREE_SCOPE UINT64_MAX
/* The scope in the slot at `at`, or in one behind it, or a new one. */
uint32_t hdi_make_scope(hdi_step_work *work, uint32_t at, uint64_t stages, uint64_t access, uint32_t layout,
                        uint32_t keeps);

/* The requests of a range of segments; its number is that of its list. whole: with barriers as the plan has them. */
void hdi_visit_steps(uint32_t begin, uint32_t end, uint32_t range, void *step_work);
void hdi_visit_steps_whole(uint32_t begin, uint32_t end, uint32_t range, void *step_work);
/* The same of some segments, behind what was asked for before. */
void hdi_visit_segments(hdi_step_work *work, uint32_t begin, uint32_t end);
void hdi_visit_segments_whole(hdi_step_work *work, uint32_t begin, uint32_t end);

/* In barrier_odd.c: what barrier_steps.c does not do itself, of the first use of a segment, and of a step behind
 * another. odd: of HDI_RES_BUFFER, HDI_RES_LEVELS and HDI_SEVERAL what is so; 0: it is a whole image of one mip and
 * layer. */
void hdi_visit_first_step(hdi_step_work *work, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *behind);
void hdi_visit_odd_step(hdi_step_work *work, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *behind);
void hdi_visit_first_step_whole(hdi_step_work *work, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *behind);
void hdi_visit_odd_step_whole(hdi_step_work *work, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *behind);

#endif
