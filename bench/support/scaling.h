/* What workers make of a compile: the same frames with pools of several sizes, in turn, so that a machine that slows
 * down slows all. */
#ifndef HDB_SCALING_H
#define HDB_SCALING_H

#include <heddle/graph.h>

#include "quality_rows.h"
#include "workloads.h"

typedef struct hdb_scaling_options {
    const uint32_t *passes;
    uint32_t size_count;
    bool family[HDB_FAMILY_COUNT], queue_set[HDB_QUEUE_SET_COUNT];
    hd_order order;
    uint64_t seed;
    double seconds; /* for each row */
    bool cost;
} hdb_scaling_options;

/* Prints a table: the least microseconds with 1, 2, 4, 8 and 16 workers, how many times as fast as one, and with most
 * of them what each phase takes. Pools have no more workers than twice the processors. */
hd_result hdb_scaling(const hdb_scaling_options *options);

#endif
