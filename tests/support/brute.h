/* The reference of the verifier: a plan's waits, barriers, layouts, content and owners, judged by the plain graph of
 * sync nodes with depth-first search and all pairs. For small plans. Knows nothing of the compiler's and the verifier's
 * code. */
#ifndef HDT_BRUTE_H
#define HDT_BRUTE_H

#include <heddle/graph.h>

/* Whether the plan, whose structure (indices, queues, culling, scopes) must be right, holds. why gets the first thing
 * that is wrong. */
bool hdt_brute(const hd_graph *graph, const hd_plan *plan, char *why, size_t bytes);

#endif
