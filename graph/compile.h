/* What the files that compile a frame call of one another. */
#ifndef HDI_COMPILE_H
#define HDI_COMPILE_H

#include "graph_state.h"
#include "phases.h"

/* A compile under way. */
typedef struct hdi_compile {
    hd_graph *graph;
    const hd_compile_desc *desc;
    hdi_tables *tables;
    uint64_t *since; /* when the phase at hand began, where phases are timed */
} hdi_compile;

/* Runs all phases and packs their tables into the graph's plan. */
hd_result hdi_compile_frame(hd_graph *graph, const hd_compile_desc *desc, hdi_tables *tables, const hd_plan **out);
/* The phases from the schedule on, toward a goal; may be called again with another one if there is a budget. */
hd_result hdi_run_back(const hdi_compile *c, const hdi_goal *goal);
/* The same, within desc->memory_budget. HD_OVER_BUDGET, with the bytes that would do. */
hd_result hdi_fit_budget(const hdi_compile *c, const hdi_goal *plain);

#endif
