/* Between barrier.c, barrier_host.c, which lists what a frame asks for beyond its steps where the host works beside one
 * GPU queue, and those who walk these. */
#ifndef HDI_BARRIER_HOST_H
#define HDI_BARRIER_HOST_H

#include "barrier_one.h"
#include "barrier_requests.h"
#include "barrier_steps.h"

/* What is asked for beyond steps: a global barrier for what the host uses, or the state that a segment is left in.
 * Points are those of slots, as in steps. */
typedef struct hdi_event {
    uint32_t low, high;
    uint32_t what; /* a request; or, with HDI_EVENT_LEAVES, a segment */
} hdi_event;
#define HDI_EVENT_LEAVES (UINT32_C(1) << 31)

typedef struct hdi_beside {
    const hdi_step_work *several;
    const hd_plan_barrier *asked;                          /* what requests ask for */
    const uint32_t *slots, *slot_pos, *slot_round;         /* slots: of the GPU queue */
    hdi_event *event;                                      /* by their ends */
    uint32_t event_count, event_begin[HDI_MOST_PARTS + 1]; /* of each region */
} hdi_beside;

/* Lists events, and makes this what is beside the queue. False: no memory. */
bool hdi_list_events(hdi_one_work *work, hdi_beside *beside, hdi_arena *arena);
/* Cuts them by regions. */
void hdi_cut_events(const hdi_one_work *work, hdi_beside *beside);
/* The point of slots for one of places. */
static HDI_INLINE uint32_t hdi_point_of(const hdi_beside *beside, uint32_t place)
{
    return 2 * beside->slots[place / 2] + (place & 1);
}
/* The slot before which semaphores have brought what happened before `low` back to its queue, by way of the host, at
 * the point `high` at the latest; HDI_NONE: there is none. stages count on it. */
uint32_t hdi_came_round(const hdi_one_work *work, uint32_t low, uint32_t high, uint64_t stages);

#endif
