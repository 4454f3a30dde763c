#include "alloc.h"
#include "tables.h"

/* Figures of a plan, worked out from the plan and the declaration alone, slowly and simply: nothing of it is on a
 * frame's way. Sizes of transients follow the plan's order of submits; the makespan plays the queues' passes at their
 * costs; the critical path follows dependences by content, found by a sweep over the boundaries of ranges. O(uses^2) a
 * resource at worst, where many ranges of one resource are used. */

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

static hd_result measure_makespan(work *w, hd_plan_stats *out)
{
    double *end = HDI_ARENA_ZEROED(&w->arena, double, w->view.submit_count);
    double *free_at = HDI_ARENA_ZEROED(&w->arena, double, w->view.queue_count);
    /* Newest submit of each queue with a signal, chained by `before`: a wait looks for its value from there. */
    uint32_t *newest = HDI_ARENA_ARRAY(&w->arena, uint32_t, w->view.queue_count);
    uint32_t *before = HDI_ARENA_ARRAY(&w->arena, uint32_t, w->view.submit_count);
    if (w->arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t q = 0; q < w->view.queue_count; q++)
        newest[q] = HDI_NONE;
    for (uint32_t s = 0; s < w->view.submit_count; s++) {
        const hd_plan_submit *submit = &w->view.submits[s];
        double now = free_at[submit->queue];
        for (uint32_t i = 0; i < submit->wait_count; i++) {
            const hd_plan_wait *wait = &w->view.waits[submit->wait_begin + i];
            uint32_t from = newest[wait->queue];
            while (from != HDI_NONE && before[from] != HDI_NONE &&
                   w->view.submits[before[from]].signal_value >= wait->value)
                from = before[from];
            if (from != HDI_NONE && end[from] > now)
                now = end[from];
        }
        for (uint32_t c = 0; c < submit->command_count; c++) {
            hd_plan_command command = w->view.commands[submit->command_begin + c];
            if (command.kind == HD_COMMAND_PASS)
                now += (double)w->decl.pass_cost[command.index];
        }
        end[s] = free_at[submit->queue] = now;
        if (submit->signal_value) {
            before[s] = newest[submit->queue];
            newest[submit->queue] = s;
        }
        out->makespan_us = now > out->makespan_us ? now : out->makespan_us;
    }
    return HD_OK;
}

static bool overlap(const hdi_decl *decl, uint32_t a, uint32_t b)
{
    if (decl->use_range[a] == HDI_NONE || decl->use_range[b] == HDI_NONE)
        return true;
    const hd_range *x = &decl->range[decl->use_range[a]], *y = &decl->range[decl->use_range[b]];
    if (decl->res_flags[decl->use_res[a]] & HDI_RES_BUFFER)
        return x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
    return x->mip_base < y->mip_base + y->mip_count && y->mip_base < x->mip_base + x->mip_count &&
           x->layer_base < y->layer_base + y->layer_count && y->layer_base < x->layer_base + x->layer_count &&
           hdi_aspects_meet(x, y);
}

/* Longest chain of costs: each use follows earlier uses of the same resource that overlap it, one of the two writing. A
 * write of the whole ends the list: what follows depends on it. Passes are taken in the plan's order, which agrees with
 * the declaration's wherever two uses conflict, versions included. */
static hd_result measure_critical_path(work *w, hd_plan_stats *out)
{
    const hdi_decl *decl = &w->decl;
    double *end = HDI_ARENA_ZEROED(&w->arena, double, decl->pass_count);
    uint32_t *use_pass = HDI_ARENA_ARRAY(&w->arena, uint32_t, decl->use_count);
    uint32_t *head = HDI_ARENA_ARRAY(&w->arena, uint32_t, decl->res_count);
    uint32_t *next = HDI_ARENA_ARRAY(&w->arena, uint32_t, decl->use_count);
    if (w->arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t r = 0; r < decl->res_count; r++)
        head[r] = HDI_NONE;
    for (uint32_t i = 0; i < w->order_count; i++) {
        uint32_t p = w->order[i];
        double start = 0;
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            bool writes = decl->access[decl->use_access[u]].writes;
            for (uint32_t v = head[decl->use_res[u]]; v != HDI_NONE; v = next[v]) {
                if ((writes || decl->access[decl->use_access[v]].writes) && overlap(decl, u, v) &&
                    end[use_pass[v]] > start)
                    start = end[use_pass[v]];
            }
        }
        end[p] = start + (double)decl->pass_cost[p];
        out->critical_path_us = end[p] > out->critical_path_us ? end[p] : out->critical_path_us;
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            uint32_t r = decl->use_res[u];
            bool ends = decl->access[decl->use_access[u]].writes && decl->use_range[u] == HDI_NONE;
            use_pass[u] = p;
            next[u] = ends ? HDI_NONE : head[r];
            head[r] = u;
        }
    }
    return HD_OK;
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

hd_result hd_plan_stats_get(const hd_graph *graph, const hd_plan *plan, hd_plan_stats *out)
{
    if (!graph || !plan || !out)
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
        result = measure_makespan(&w, out);
    if (result == HD_OK)
        result = measure_critical_path(&w, out);
    hdi_arena_free(&w.arena);
    return result;
}
