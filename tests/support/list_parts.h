/* Parts of a frame that can be declared into a graph or into a list of it: shared resources, ranges, versions,
 * histories, resolves and custom accesses, from a seed. */
#ifndef HDT_LIST_PARTS_H
#define HDT_LIST_PARTS_H

#include <heddle/graph.h>

enum { HDT_SHARED = 8 };

/* What all parts use; the graph declares it before them. */
void hdt_shared_resources(hd_graph *graph, hd_resource *shared);
/* graph: or a list of it. */
void hdt_declare_part(hd_graph *graph, const hd_resource *shared, uint64_t seed, uint32_t part);

#endif
