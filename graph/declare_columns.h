/* What declare_pass.c needs of declare.c: room in the columns, and handles. */
#ifndef HDI_DECLARE_COLUMNS_H
#define HDI_DECLARE_COLUMNS_H

#include "graph_state.h"

hd_result hdi_need_passes(hd_graph *graph, uint64_t need);
hd_result hdi_need_uses(hd_graph *graph, uint64_t need);
hd_result hdi_need_ranges(hd_graph *graph, uint64_t need);
hd_result hdi_need_accesses(hd_graph *graph, uint64_t need);
uint32_t hdi_handle(const hd_graph *graph, uint32_t index);

#endif
