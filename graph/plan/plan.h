/* The door of plan: the tables of all phases become one block without pointers. */
#ifndef HDI_PLAN_H
#define HDI_PLAN_H

#include "phases.h"

/* How many scopes and attachments there are at most; for the caller alone that is all that hdi_attach takes. */
void hdi_attach_most(const hdi_decl *decl, const hdi_kept *kept, hdi_attached *out);

/* Where each range of places begins in the plan. Workers share the ranges. */
void hdi_attach(const hdi_decl *decl, const hdi_kept *kept, const hdi_hazards *hazards, const hdi_synced *synced,
                const hdi_barriers *barriers, const hdi_crew *crew, hdi_attached *out);

/* resource_begin: how many resources stand in a plan before each range of them. */
void hdi_plan_count(const hdi_tables *tables, hdi_plan_counts *out, uint32_t resource_begin[HDI_MOST_PARTS]);
/* Fills a plan that has room for these counts, and computes its hash. */
void hdi_plan_fill(const hdi_tables *tables, const uint32_t resource_begin[HDI_MOST_PARTS], hd_plan *plan);

#endif
