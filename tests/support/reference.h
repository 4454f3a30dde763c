/* Models of what a plan must be, slow and plain, from the format's contract alone: which passes are kept, how they are
 * ordered, which resources may share bytes, and where. Barriers are brute.h's. */
#ifndef HDT_REFERENCE_H
#define HDT_REFERENCE_H

#include <heddle/graph.h>

/* Whether a compiled plan (with the sizes of the .fgt format) is as the models say; why gets the first thing that is
 * not. */
bool hdt_reference(const hd_graph *graph, const hd_plan *plan, char *why, size_t bytes);

#endif
