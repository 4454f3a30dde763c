/* Which waits and barriers of a plan can be taken out, one at a time, without the verifier minding. */
#ifndef HDB_SPARE_H
#define HDB_SPARE_H

#include <heddle/graph.h>

typedef struct hdb_spare {
    uint32_t barriers, waits;             /* of the plan */
    uint32_t spare_barriers, spare_waits; /* of these, those that can go */
    uint32_t by_reason[16];               /* spare barriers by hd_reason */
} hdb_spare;

/* What is taken out, while it is looked at: a barrier of the plan, or a wait where is_wait. */
typedef void (*hdb_spare_fn)(const hd_plan_view *view, bool is_wait, uint32_t index, void *user);

/* Adds the plan's figures to *out. found may be null. HD_OK, HD_OUT_OF_MEMORY, or HD_PLAN_INVALID for a plan that does
 * not hold as it is. O(records * verification). */
hd_result hdb_count_spare(const hd_graph *graph, const hd_plan *plan, hdb_spare_fn found, void *user, hdb_spare *out);

#endif
