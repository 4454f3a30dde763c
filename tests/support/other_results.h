/* Results that no mistake in a frame leads to, each provoked. */
#ifndef HDT_OTHER_RESULTS_H
#define HDT_OTHER_RESULTS_H

#include <heddle/graph.h>

enum { HDT_OTHER_RESULTS = 14 };

typedef struct hdt_other_result {
    hd_result result;
    hd_result (*make)(hd_graph *graph); /* of a graph that has begun a frame; asserts what else there is to see */
} hdt_other_result;
extern const hdt_other_result hdt_other_results[HDT_OTHER_RESULTS];

#endif
