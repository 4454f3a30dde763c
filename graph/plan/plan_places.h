/* Between plan.c, which packs a plan, and plan_places.c, which fills the tables that follow the places of the slots. */
#ifndef HDI_PLAN_PLACES_H
#define HDI_PLAN_PLACES_H

#include "plan.h"

typedef struct hdi_plan_tables {
    hd_plan_submit *submits;
    hd_plan_wait *waits;
    hd_plan_command *commands;
    hd_plan_batch *batches;
    hd_plan_barrier *barriers;
    hd_plan_scope *scopes;
    hd_plan_attachment *attachments;
} hdi_plan_tables;

/* Fills what stands in a range of places. *at becomes what stands before the next one. *over: the last command + 1 of
 * the submit that ends in the range and begins before it, or HDI_NONE. */
void hdi_plan_fill_places(const hdi_tables *t, const hdi_plan_tables *to, uint32_t part, hdi_plan_place *at,
                          uint32_t *over);

#endif
