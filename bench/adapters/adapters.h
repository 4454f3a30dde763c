/* The adapters of this tree, which heddle-bench has built in. */
#ifndef HB_ADAPTERS_H
#define HB_ADAPTERS_H

#include "adapter.h"

#include <heddle/graph.h>

extern const hb_adapter hb_heddle, hb_textbook;

/* Begins a frame of graph and declares the workload. handles, uses, ranges: room for those of the workload, of one of its
 * passes, and its ranges, which hb_heddle_ranges fills. */
void hb_heddle_say(const hb_workload *workload, hd_graph *graph, hd_resource *handles, hd_use *uses,
                   const hd_range *ranges);
/* The same once, with memory of its own. Where that runs out the frame is empty. */
void hb_heddle_declare(const hb_workload *workload, hd_graph *graph);

#endif
