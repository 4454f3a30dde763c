/* Between barrier.c, which cuts segments into ranges, and barrier_steps.c, which finds what the steps of a range need.
 */
#ifndef HDI_BARRIER_STEPS_H
#define HDI_BARRIER_STEPS_H

#include "barrier_requests.h"

/* Where a range of segments is on its way. */
typedef struct hdi_step_work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_queues *queues;
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    uint32_t ranges;
    bool cuts;  /* a long frame; a short one has room for more requests than there can be */
    bool alone; /* one worker */
    hdi_barriers *out;
    const hdi_barrier_region *region;
    hdi_requests *requests;
    uint32_t *known[HD_MAX_QUEUES]; /* of each queue, by places of all queues one behind another, as in queue_slot: the
                                     * first place of it where that one of another queue is known to have finished */
    /* Of the tables: */
    const hdi_epoch *epochs;
    const hdi_kind *kinds;
    const hdi_tenants *res_tenants;
    const uint32_t *slot_pos, *slot_pass, *slots[HD_MAX_QUEUES], *tenant, *queue_begin;
    const uint32_t *slot_first, *slot_last; /* slot_pos where no scopes are shared */
    const uint8_t *res_flags;
    const hdi_res_info *res_info;
    const uint16_t *res_queues;
    const hdi_stay *stay;
    uint64_t *slot_wait_stages;
    uint32_t queue_count, gpu_mask;
    bool merges; /* scopes are shared */
    /* Where the range goes on: */
    hdi_request *next;
    hd_plan_barrier *next_barrier;
} hdi_step_work;

/* The requests of a range of segments; its number is that of its list. */
void hdi_visit_steps(uint32_t begin, uint32_t end, uint32_t range, void *step_work);

#endif
