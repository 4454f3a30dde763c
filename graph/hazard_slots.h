/* Between hazard.c, which finds extra slots and edges, and hazard_slots.c, which numbers them. */
#ifndef HDI_HAZARD_SLOTS_H
#define HDI_HAZARD_SLOTS_H

#include "phases.h"

/* Extra slots, chained by the slot that they stand before (slot_count: at the end). */
typedef struct hdi_extras {
    uint32_t *at; /* newest of each slot, slot_count + 1 of them */
    uint32_t *queue, *next;
    uint32_t count, capacity;
} hdi_extras;

hd_result hdi_number_slots(const hdi_schedule *schedule, const hdi_queues *queues, const hdi_extras *extras,
                           const hdi_edge *edges, uint32_t edge_count, hdi_arena *arena, hdi_hazards *out);

#endif
