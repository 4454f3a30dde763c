/* Between hazard.c, which finds epochs, hazard_steps.c, which places the steps between them where several queues take
 * part, and hazard_slots.c, which numbers the slots. */
#ifndef HDI_HAZARD_WORK_H
#define HDI_HAZARD_WORK_H

#include "phases.h"

/* Extra slots, chained by the slot that they stand before (slot_count: at the end). */
typedef struct hdi_extras {
    uint32_t *at; /* newest of each slot, slot_count + 1 of them; null without extra slots */
    uint32_t *queue, *next;
    uint32_t count, capacity;
} hdi_extras;

typedef struct hdi_hazard_work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_schedule *schedule;
    const hdi_queues *queues;
    const hdi_crew *crew;
    hdi_arena *arena;
    hdi_hazards *out;
    hdi_epoch *first_epoch; /* those of a range of resources are counted from here */
    uint32_t nobody;        /* a use for the rest, of its own */
    uint32_t *entry_begin; /* per segment + 1 */
    uint32_t *crossing;    /* segments with steps that more than one queue or the host takes part in */
    uint32_t crossing_count;
    hdi_edge *edges; /* slots of the schedule; extra slots count from slot_count on */
    uint32_t edge_count, edge_capacity;
    hdi_extras extras;
    uint32_t gpu_mask;
    bool several_families;
    uint16_t family_bit[HD_MAX_QUEUES]; /* of each queue: the first one of its family; 0: the host */
} hdi_hazard_work;

/* Places the steps of the segments that are crossing, with the edges and extra slots that they need. */
hd_result hdi_place_steps(hdi_hazard_work *work);
hd_result hdi_number_slots(const hdi_hazard_work *work);

#endif
