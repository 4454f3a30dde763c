#include "verify.h"

#include <float.h>

#include "tables.h"

/* Figures of a plan, worked out from the plan and the declaration alone, simply: nothing of it is on a frame's way.
 * Sizes of transients follow the plan's order of submits; the makespan plays the queues' passes at their costs; the
 * critical path follows dependences by content, over the pieces that no range cuts. O(pieces that the uses touch). */

typedef struct work {
    hdi_decl decl;
    hd_plan_view view;
    hdi_arena arena;
    uint8_t *kept;
    uint32_t *order; /* passes in the order of the submits */
    uint32_t order_count;
} work;

static void collect_order(work *w)
{
    for (uint32_t s = 0; s < w->view.submit_count; s++) {
        const hd_plan_submit *submit = &w->view.submits[s];
        for (uint32_t c = 0; c < submit->command_count; c++) {
            hd_plan_command command = w->view.commands[submit->command_begin + c];
            if (command.kind == HD_COMMAND_PASS && command.index < w->decl.pass_count && !w->kept[command.index]) {
                w->order[w->order_count++] = command.index;
                w->kept[command.index] = 1;
            }
        }
    }
}

/* ---- memory ---- */

static hd_result measure_memory(work *w, hd_plan_stats *out)
{
    const hdi_decl *decl = &w->decl;
    uint32_t *first = HDI_ARENA_ARRAY(&w->arena, uint32_t, decl->res_count);
    uint32_t *last = HDI_ARENA_ZEROED(&w->arena, uint32_t, decl->res_count);
    int64_t *change = HDI_ARENA_ZEROED(&w->arena, int64_t, (size_t)w->order_count + 2);
    if (w->arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t r = 0; r < decl->res_count; r++)
        first[r] = HDI_NONE;
    for (uint32_t i = 0; i < w->order_count; i++) {
        uint32_t p = w->order[i];
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            uint32_t r = decl->use_res[u];
            first[r] = first[r] == HDI_NONE ? i : first[r];
            last[r] = i;
        }
    }
    for (uint32_t h = 0; h < w->view.heap_count; h++)
        out->heap_bytes += w->view.heaps[h].bytes;
    for (uint32_t i = 0; i < w->view.resource_count; i++) {
        const hd_plan_resource *res = &w->view.resources[i];
        if (res->heap == HD_NONE || res->id >= decl->res_count)
            continue;
        out->unaliased_bytes += res->bytes;
        bool always =
            (decl->res_flags[res->id] & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY)) || first[res->id] == HDI_NONE;
        change[always ? 0 : first[res->id]] += (int64_t)res->bytes;
        change[always ? w->order_count : last[res->id] + 1] -= (int64_t)res->bytes;
    }
    int64_t live = 0;
    for (uint32_t i = 0; i <= w->order_count; i++) {
        live += change[i];
        if (live > 0 && (uint64_t)live > out->peak_live_bytes)
            out->peak_live_bytes = (uint64_t)live;
    }
    return HD_OK;
}

/* ---- time ---- */

/* *out: the end of the last pass, where a wait is met handoff_us behind its signal. */
static hd_result measure_makespan(work *w, double handoff_us, double *out)
{
    double *end = HDI_ARENA_ZEROED(&w->arena, double, w->view.submit_count);
    double *free_at = HDI_ARENA_ZEROED(&w->arena, double, w->view.queue_count);
    hdi_signals signals;
    if (w->arena.failed || !hdi_signals_list(&signals, &w->view, &w->arena))
        return HD_OUT_OF_MEMORY;
    for (uint32_t s = 0; s < w->view.submit_count; s++) {
        const hd_plan_submit *submit = &w->view.submits[s];
        double now = free_at[submit->queue];
        for (uint32_t i = 0; i < submit->wait_count; i++) {
            const hd_plan_wait *wait = &w->view.waits[submit->wait_begin + i];
            uint32_t from = hdi_signals_find(&signals, &w->view, wait->queue, wait->value);
            if (from != HDI_NONE && end[from] + handoff_us > now)
                now = end[from] + handoff_us;
        }
        for (uint32_t c = 0; c < submit->command_count; c++) {
            hd_plan_command command = w->view.commands[submit->command_begin + c];
            if (command.kind == HD_COMMAND_PASS)
                now += (double)w->decl.pass_cost[command.index];
        }
        end[s] = free_at[submit->queue] = now;
        *out = now > *out ? now : *out;
    }
    return HD_OK;
}

/* Longest chain of costs: each use follows the earlier uses of the same pieces, one of the two writing. Passes are
 * taken in the plan's order, which agrees with the declaration's wherever two uses conflict, versions included. */
static hd_result measure_critical_path(work *w, hd_plan_stats *out)
{
    const hdi_decl *decl = &w->decl;
    hdi_verify v = {.d = *decl, .p = w->view};
    hdi_arena_init(&v.arena, &w->arena.allocator);
    hd_result result = hdi_verify_model(&v);
    /* By piece, the latest end of the passes that wrote and read it. */
    double *written = HDI_ARENA_ZEROED(&v.arena, double, v.seg_count);
    double *read = HDI_ARENA_ZEROED(&v.arena, double, v.seg_count);
    if (v.arena.failed)
        result = HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; result == HD_OK && i < w->order_count; i++) {
        uint32_t begin = decl->pass_use_begin[w->order[i]], finish = decl->pass_use_begin[w->order[i] + 1];
        double end = 0;
        for (uint32_t u = begin; u < finish; u++) {
            bool writes = decl->access[decl->use_access[u]].writes;
            HV_EACH_SEG(hdi_verify_use_rect(&v, u), s)
            {
                end = written[s] > end ? written[s] : end;
                end = writes && read[s] > end ? read[s] : end;
            }
        }
        end += (double)decl->pass_cost[w->order[i]];
        out->critical_path_us = end > out->critical_path_us ? end : out->critical_path_us;
        for (uint32_t u = begin; u < finish; u++) {
            double *last = decl->access[decl->use_access[u]].writes ? written : read;
            HV_EACH_SEG(hdi_verify_use_rect(&v, u), s)
            last[s] = end > last[s] ? end : last[s];
        }
    }
    hdi_arena_free(&v.arena);
    return result;
}

static void count(const work *w, hd_plan_stats *out)
{
    out->passes = w->decl.pass_count;
    out->kept = w->order_count;
    out->uses = w->decl.use_count;
    out->resources = w->decl.res_count;
    out->queues = w->view.queue_count;
    out->barriers = w->view.barrier_count;
    out->submits = w->view.submit_count;
    out->semaphore_waits = w->view.wait_count;
    for (uint32_t c = 0; c < w->view.command_count; c++)
        out->barrier_batches += w->view.commands[c].kind != HD_COMMAND_PASS;
}

hd_result hd_plan_stats_get(const hd_graph *graph, const hd_plan *plan, float handoff_us,
                            hd_plan_stats *out)
{
    if (!graph || !plan || !out || !(handoff_us >= 0.0f && handoff_us <= FLT_MAX))
        return HD_INVALID_ARGUMENT;
    *out = (hd_plan_stats){0};
    work w = {.decl = hdi_graph_decl(graph), .view = hd_plan_read(plan)};
    if (w.view.pass_count != w.decl.pass_count || w.view.declared_resource_count != w.decl.res_count)
        return HD_INVALID_ARGUMENT;
    hdi_arena_init(&w.arena, hdi_graph_allocator(graph));
    w.kept = HDI_ARENA_ZEROED(&w.arena, uint8_t, w.decl.pass_count);
    w.order = HDI_ARENA_ARRAY(&w.arena, uint32_t, w.decl.pass_count);
    hd_result result = w.arena.failed ? HD_OUT_OF_MEMORY : HD_OK;
    if (result == HD_OK) {
        collect_order(&w);
        count(&w, out);
        result = measure_memory(&w, out);
    }
    if (result == HD_OK)
        result = measure_makespan(&w, 0.0, &out->makespan_us);
    if (result == HD_OK)
        result = measure_makespan(&w, handoff_us > 0.0f ? (double)handoff_us : 6.0, &out->makespan_priced_us);
    if (result == HD_OK)
        result = measure_critical_path(&w, out);
    hdi_arena_free(&w.arena);
    return result;
}
