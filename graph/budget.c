#include "compile.h"

#include <stdio.h>
#include <string.h>

/* The search within a memory budget: schedules under several windows and caps, of which the plan with the fewest barrier
 * batches is kept. Each attempt runs all phases behind the front. */

static uint64_t heap_bytes(const hdi_tables *t)
{
    uint64_t bytes = 0;
    for (uint32_t h = 0; h < t->placed.heap_count; h++)
        bytes += t->placed.heap[h].bytes;
    return bytes;
}

/* Schedules of one window, under caps that shrink by as much as the packing was over, until one fits. *best: the plan
 * with the fewest batches that did; decl null: none. *least: bytes that would do. */
static hd_result fit_window(const hdi_compile *c, uint64_t budget, hdi_goal goal, hdi_tables *best, uint64_t *least)
{
    hdi_tables *t = c->tables;
    goal.cap = goal.enough = budget;
    for (int attempt = 0; attempt < 4; attempt++) {
        hd_result result = hdi_run_back(c, &goal);
        if (result != HD_OK)
            return result;
        uint64_t bytes = heap_bytes(t);
        *least = bytes < *least ? bytes : *least;
        if (bytes <= budget) {
            if (!best->decl || t->barriers.batch_count < best->barriers.batch_count)
                *best = *t;
            break;
        }
        if (goal.cap <= t->schedule.peak_bytes)
            break; /* no leaner that way */
        goal.cap -= bytes - budget < goal.cap ? bytes - budget : goal.cap - 1;
    }
    return HD_OK;
}

/* Schedules are tried from the largest window to the smallest, where rendering may merge with its scopes gathered, too,
 * which pays where there is much memory. *best, *least: as above. */
static hd_result fit_windows(const hdi_compile *c, uint64_t budget, hdi_goal goal, hdi_tables *best, uint64_t *least)
{
    static const uint32_t windows[] = {UINT32_MAX, 256, 64, 1};
    enum { WINDOWS = sizeof(windows) / sizeof(windows[0]) };
    const hdi_tables *t = c->tables;
    const hdi_decl *decl = t->decl;
    bool renders = decl->pass_count && memchr(decl->pass_type, HD_PASS_GFX, decl->pass_count);
    bool gathers = c->desc->merge_rendering && renders && t->queues.gpu_count == 1;
    *best = (hdi_tables){0};
    *least = UINT64_MAX;
    for (size_t i = 0; i < (gathers ? 2 * WINDOWS : WINDOWS); i++) {
        goal.window = windows[i % WINDOWS];
        goal.gather = i < WINDOWS ? HDI_GATHER_NONE : HDI_GATHER_ALL;
        hd_result result = fit_window(c, budget, goal, best, least);
        if (result != HD_OK)
            return result;
    }
    return HD_OK;
}

/* Within a budget. Where no window fits, what is done without one is tried, and then what order `memory` does: these
 * take the same with every budget, so that what a frame takes without one is never too little. Windows find other
 * schedules with other budgets: that what one of them took would do is tried before it is told. */
hd_result hdi_fit_budget(const hdi_compile *c, const hdi_goal *plain)
{
    hdi_tables *t = c->tables;
    const uint64_t budget = c->desc->memory_budget;
    const hdi_goal lean = {.order = HD_ORDER_MEMORY, .handoff_us = plain->handoff_us};
    const hdi_goal *last[] = {plain, &lean};
    hdi_tables best;
    uint64_t least, told = UINT64_MAX;
    hd_result result = fit_windows(c, budget, *plain, &best, &least);
    if (result == HD_OK && best.decl)
        *t = best;
    if (result != HD_OK || best.decl)
        return result;
    for (int i = 0; i < 2; i++) {
        result = hdi_run_back(c, last[i]);
        if (result != HD_OK || heap_bytes(t) <= budget)
            return result;
        told = heap_bytes(t) < told ? heap_bytes(t) : told;
    }
    if (least < told) {
        uint64_t unused;
        result = fit_windows(c, least, *plain, &best, &unused);
        if (result != HD_OK)
            return result;
        told = best.decl ? least : told;
    }
    char detail[128];
    snprintf(detail, sizeof(detail), "%llu bytes are allowed, %llu would do", (unsigned long long)budget,
             (unsigned long long)told);
    return hdi_graph_fail(c->graph, HD_OVER_BUDGET, HD_NONE, HD_NONE, HD_NONE, detail);
}
