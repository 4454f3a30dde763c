#include "graph_state.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "phases.h"

/* Compile: the list of phases and nothing else. */

static const char *const phase_names[HD_PHASE_COUNT] = {
    [HD_PHASE_FREEZE] = "freeze",     [HD_PHASE_CULL] = "cull",         [HD_PHASE_DEPEND] = "depend",
    [HD_PHASE_SIZE] = "size",         [HD_PHASE_SCHEDULE] = "schedule", [HD_PHASE_SYNC] = "sync",
    [HD_PHASE_LIFETIME] = "lifetime", [HD_PHASE_ALIAS] = "alias",       [HD_PHASE_BARRIER] = "barrier",
    [HD_PHASE_ATTACH] = "attach",     [HD_PHASE_PLAN] = "plan",
};

const char *hd_phase_name(int phase)
{
    return phase >= 0 && phase < HD_PHASE_COUNT ? phase_names[phase] : "?";
}

/* Null, or which field of the description is wrong. */
static const char *desc_fault(const hd_compile_desc *desc)
{
    if ((uint32_t)desc->order > HD_ORDER_DECLARED)
        return "order is no hd_order";
    if ((uint32_t)desc->cache > HD_CACHE_CHECK)
        return "cache is no hd_cache";
    if (!(desc->handoff_us >= 0.0f && desc->handoff_us <= FLT_MAX))
        return "handoff_us is negative, infinite or no number";
    return NULL;
}

/* Returns null, or what is wrong with the queue set. */
static const char *build_queues(const hdi_decl *decl, const hd_compile_desc *desc, hdi_queues *out)
{
    static const hd_queue_desc one = {HD_QUEUE_GFX, 0};
    const hd_queue_desc *queues = desc->queues ? desc->queues : &one;
    uint32_t count = desc->queues ? desc->queue_count : 1;
    _Static_assert(HD_MAX_QUEUES - 1 == 15, "the sentence says so");
    if (count == 0 || count > HD_MAX_QUEUES - 1)
        return "the queue set: queue_count is 0 or more than 15";
    *out = (hdi_queues){.count = count, .gpu_count = count, .host = HDI_NONE};
    for (uint32_t q = 0; q < count; q++) {
        if ((uint32_t)queues[q].kind > HD_QUEUE_TRANSFER)
            return "the queue set: a kind is none of gfx, compute and transfer";
        if (queues[q].family == HDI_NONE)
            return "the queue set: a family is HD_NONE";
        out->kind[q] = (uint8_t)queues[q].kind;
        out->number[q] = (uint8_t)q;
        out->family[q] = queues[q].family;
        out->kinds |= 1u << queues[q].kind;
    }
    if (decl->pass_count && memchr(decl->pass_type, HD_PASS_HOST, decl->pass_count)) {
        out->host = out->count++;
        out->kind[out->host] = HD_QUEUE_HOST;
        out->number[out->host] = (uint8_t)out->host;
        out->family[out->host] = HDI_NONE;
        out->kinds |= 1u << HD_QUEUE_HOST;
    }
    return NULL;
}

static hd_result fail_use(hd_graph *graph, const hdi_tables *t, hd_result result, uint32_t use)
{
    uint32_t pass = t->decl->use_pass[use];
    return hdi_graph_fail(graph, result, hdi_declared_pass(&t->versions, pass), t->decl->use_res[use],
                          use - t->decl->pass_use_begin[pass], NULL);
}

/* Names at most five passes of the cycle. */
static hd_result fail_cycle(hd_graph *graph, const hdi_versions *versions)
{
    const uint32_t *cycle = versions->cycle, count = versions->cycle_count, use = versions->bad_use;
    char detail[200];
    size_t at = 0;
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t pass = cycle[i % count];
        const char *name = graph->pass_exec[pass].name;
        if (i < 4 || i == count)
            at += (size_t)snprintf(detail + at, sizeof(detail) - at, name ? "%spass %u '%.12s'" : "%spass %u",
                                   i ? " before " : "", pass, name);
        else if (i == 4)
            at += (size_t)snprintf(detail + at, sizeof(detail) - at, " before %u more", count - 4);
    }
    return hdi_graph_fail(graph, HD_VERSION_CYCLE, cycle[0], graph->use_res[use],
                          use - graph->pass_use_begin[cycle[0]], detail);
}

/* Ends a phase: its time goes where the caller wants it. To read the clock may take longer than a small phase does, so
 * that the time of what is next to nothing goes to the next one. */
HDI_COLD static void read_clock(const hd_compile_desc *desc, int phase, uint64_t *since)
{
    uint64_t now = hdi_clock_ns();
    desc->phase_ns[phase] += now - *since;
    *since = now;
}

static inline void lap(const hd_compile_desc *desc, int phase, uint64_t *since)
{
    if (HDI_UNLIKELY(desc->phase_ns != NULL))
        read_clock(desc, phase, since);
}

/* Passes that follow each other, and bytes: both need nothing but who is kept. */
typedef struct sides {
    const hd_compile_desc *desc;
    hdi_arena *arena;
    hdi_tables *t;
    hd_result sized, depended;
    uint32_t bad_res;
    uint64_t *since;
} sides;

/* The callback is for the caller's thread alone. */
static void find_sizes(const hdi_crew *crew, void *user)
{
    sides *s = user;
    s->sized = hdi_size(s->t->decl, &s->t->kept, s->desc, crew, s->arena, &s->t->sizes, &s->bad_res);
    lap(s->desc, HD_PHASE_SIZE, s->since);
}

static void find_depends(const hdi_crew *crew, void *user)
{
    sides *s = user;
    hdi_tables *t = s->t;
    s->depended = hdi_depend(t->decl, &t->frozen, &t->flow, &t->kept, crew, t->aside, &t->depends);
}

/* Up to what the schedule starts from: the same whatever it aims at. */
static hd_result run_front(hd_graph *graph, const hd_compile_desc *desc, const hdi_decl *declared, hdi_tables *t,
                           uint64_t *since)
{
    const hdi_crew *crew = &t->crew;
    hdi_arena *arena = &graph->scratch;
    uint32_t bad = HDI_NONE;
    hd_result result = HD_OK;
    if (HDI_UNLIKELY(declared->late_count)) {
        result = hdi_version(declared, crew, arena, &t->versions);
        if (result == HD_VERSION_CYCLE)
            return fail_cycle(graph, &t->versions);
        if (result != HD_OK)
            return hdi_graph_fail(graph, result, HD_NONE, HD_NONE, HD_NONE, NULL);
        t->decl = &t->versions.decl;
    }
    const hdi_decl *decl = t->decl;
    result = hdi_freeze(decl, crew, arena, &t->frozen);
    t->aside = hdi_crew_arena(crew, HDI_MOST_PARTS - 1, arena);
    t->front = hdi_arena_here(t->aside);
    lap(desc, HD_PHASE_FREEZE, since);
    if (result == HD_OK)
        result = hdi_flow_find(decl, &t->frozen, crew, t->aside, &t->flow, &bad);
    if (result == HD_UNWRITTEN_READ)
        return fail_use(graph, t, result, bad);
    lap(desc, HD_PHASE_DEPEND, since);
    if (result == HD_OK)
        result = hdi_cull(decl, &t->frozen, &t->flow, crew, arena, &t->kept);
    lap(desc, HD_PHASE_CULL, since);
    if (result == HD_OK) {
        sides s = {.desc = desc, .arena = arena, .t = t, .bad_res = HDI_NONE, .since = since};
        hdi_crew_both(crew, find_sizes, find_depends, &s);
        lap(desc, HD_PHASE_DEPEND, since);
        result = s.sized != HD_OK ? s.sized : s.depended;
        if (s.sized != HD_OK && s.bad_res != HDI_NONE)
            return hdi_graph_fail(graph, result, HD_NONE, s.bad_res, HD_NONE, "from the size callback");
    }
    if (result != HD_OK)
        hdi_graph_fail(graph, result, HD_NONE, HD_NONE, HD_NONE, NULL);
    return result;
}

enum { WANT_GRAIN = 1024 }; /* slots or edges at a time */

typedef struct want_work {
    const hdi_hazards *hazards;
    uint32_t queues, *want;
    bool alone;
} want_work;

static void copy_wants(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const want_work *w = user;
    size_t at = (size_t)begin * w->queues, words = (size_t)(end - begin) * w->queues;
    (void)part;
    memcpy(w->want + at, w->hazards->slot_want + at, words * sizeof(*w->want));
}

static void want_edges(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const want_work *w = user;
    const hdi_edge *edge = w->hazards->memory_edge;
    (void)part;
    for (uint32_t e = begin; e < end; e++)
        hdi_want(w->hazards, w->queues, w->want, edge[e].from, edge[e].to, w->alone);
}

/* First who must be done before whom, by what the schedule promised about memory. *words: room for it, or null. */
static hd_result sync_promised(hdi_tables *t, hdi_arena *arena, uint32_t **words)
{
    const hdi_hazards *hazards = &t->hazards;
    uint32_t queues = t->queues.count, *want = hazards->slot_want;
    t->synced = (hdi_synced){0};
    *words = NULL;
    if (hazards->memory_edge_count) {
        size_t count = (size_t)hazards->slot_count * queues + HDI_ROW_SLACK;
        want = *words = HDI_EARLY_ARRAY(&t->crew, arena, uint32_t, count);
        if (!want)
            return HD_OUT_OF_MEMORY;
        want_work w = {hazards, queues, want, t->crew.workers == 1};
        hdi_crew_ranges(&t->crew, hazards->slot_count, WANT_GRAIN, copy_wants, &w);
        hdi_crew_ranges(&t->crew, hazards->memory_edge_count, WANT_GRAIN, want_edges, &w);
    }
    return hdi_sync_clocks(hazards, &t->queues, want, &t->crew, arena, &t->synced);
}

/* Now it is known who takes over whose bytes, and only that is waited for. */
static hd_result sync_again(hdi_tables *t, hdi_arena *arena, uint32_t *want)
{
    const hdi_hazards *hazards = &t->hazards;
    want_work w = {hazards, t->queues.count, want, t->crew.workers == 1};
    hdi_crew_ranges(&t->crew, hazards->slot_count, WANT_GRAIN, copy_wants, &w);
    hdi_want_tenants(t->decl, hazards, &t->queues, &t->lifetimes, &t->placed, &t->crew, want);
    return hdi_sync_clocks(hazards, &t->queues, want, &t->crew, arena, &t->synced);
}

/* What only the schedule was made from is of no more use, where there will be no other one. Of several workers it
 * stands aside: tables that others have just written are not moved by one. */
static void forget_front(hd_graph *graph, hdi_tables *t)
{
    hdi_schedule *s = &t->schedule;
    size_t slots = s->slot_count, resources = t->decl->res_count;
    const hdi_arena_kept kept[] = {{&t->kept.pass_kept, t->decl->pass_count * sizeof(*t->kept.pass_kept)},
                                   {&t->sizes.need, resources * sizeof(*t->sizes.need)},
                                   {&t->sizes.res_used, resources * sizeof(*t->sizes.res_used)},
                                   {&t->sizes.res_persistent, resources * sizeof(*t->sizes.res_persistent)},
                                   {&s->region_begin, ((size_t)s->region_count + 1) * sizeof(*s->region_begin)},
                                   {&s->slot_pass, slots * sizeof(*s->slot_pass)},
                                   {&s->slot_queue, slots * sizeof(*s->slot_queue)},
                                   {&s->slot_group, slots * sizeof(*s->slot_group)},
                                   {&s->edge, s->edge_count * sizeof(*s->edge)}};
    hdi_arena_keep(t->aside, t->front, kept, t->aside == &graph->scratch ? sizeof(kept) / sizeof(kept[0]) : 0);
    t->flow = (hdi_flow){0};
    t->depends = (hdi_depends){0};
}

/* About what the plan's memory will have to hold, from what is known before the barriers. */
static size_t plan_bytes(const hdi_tables *t)
{
    const hdi_decl *decl = t->decl;
    size_t passes = decl->pass_count, resources = decl->res_count, uses = decl->use_count;
    size_t all = resources * sizeof(hd_plan_resource) + uses * 60 + passes * 60;
    return passes ? (size_t)((double)all * t->kept.kept_count / (double)passes) : 0;
}

static hd_result run_back(hd_graph *graph, const hd_compile_desc *desc, const hdi_goal *goal, hdi_tables *t,
                          uint64_t *since)
{
    const hdi_decl *decl = t->decl;
    const hdi_crew *crew = &t->crew;
    hdi_arena *arena = &graph->scratch;
    uint32_t bad = HDI_NONE, *want = NULL;
    hdi_arena_reset(crew->early); /* what another goal left there */
    hd_result result = hdi_schedule_passes(decl, &t->frozen, &t->kept, &t->depends, &t->sizes, &t->queues, goal, crew,
                                           arena, &t->schedule, &bad);
    if (result == HD_NO_QUEUE)
        return hdi_graph_fail(graph, result, hdi_declared_pass(&t->versions, bad), HD_NONE, HD_NONE, NULL);
    if (result == HD_OK && !desc->memory_budget)
        forget_front(graph, t);
    lap(desc, HD_PHASE_SCHEDULE, since);
    if (crew->workers == 1)
        hdi_attach_most(decl, &t->kept, &t->attached);
    hdi_arena_widen(crew->early, plan_bytes(t));
    if (result == HD_OK)
        result = hdi_hazard(decl, &t->frozen, &t->kept, &t->schedule, &t->queues, crew, arena, &t->hazards);
    if (result == HD_OK)
        result = sync_promised(t, arena, &want);
    lap(desc, HD_PHASE_SYNC, since);
    if (result == HD_OK)
        result = hdi_lifetime(decl, &t->frozen, &t->hazards, &t->queues, &t->synced, crew, arena, &t->lifetimes);
    lap(desc, HD_PHASE_LIFETIME, since);
    hdi_packing packing = {.lean = goal->cap || goal->order != HD_ORDER_OVERLAP,
                           .effort = desc->packing_effort,
                           .enough = goal->cap ? desc->memory_budget : 0};
    if (result == HD_OK)
        result = hdi_alias(decl, &t->sizes, &t->hazards, &t->queues, &t->synced, &t->lifetimes, &packing, crew, arena,
                           &t->placed);
    lap(desc, HD_PHASE_ALIAS, since);
    if (result == HD_OK && want)
        result = sync_again(t, arena, want);
    if (result == HD_OK)
        result = hdi_sync(&t->hazards, &t->queues, crew, arena, &t->synced);
    if (t->queues.count > 1)
        lap(desc, HD_PHASE_SYNC, since);
    t->merged = (hdi_merged){0};
    if (result == HD_OK && desc->merge_rendering)
        result = hdi_merge(decl, &t->frozen, &t->queues, &t->hazards, &t->synced, &t->lifetimes, &t->placed, arena,
                           &t->merged);
    if (result == HD_OK)
        result = hdi_barrier(decl, &t->frozen, &t->queues, &t->hazards, &t->synced, &t->lifetimes, &t->placed,
                             &t->merged, crew, arena, &t->barriers);
    lap(desc, HD_PHASE_BARRIER, since);
    if (result == HD_OK)
        hdi_attach(decl, &t->kept, &t->hazards, &t->synced, &t->barriers, crew, &t->attached);
    if (crew->workers > 1)
        lap(desc, HD_PHASE_ATTACH, since);
    if (result != HD_OK)
        hdi_graph_fail(graph, result, HD_NONE, HD_NONE, HD_NONE, NULL);
    return result;
}

/* The plan's memory is lent to phases before, whose tables are of no use any more. */
static hd_result pack(hd_graph *graph, const hd_compile_desc *desc, const hdi_tables *t, uint64_t *since,
                      const hd_plan **out)
{
    hdi_block *block = &graph->plan;
    hdi_plan_counts counts;
    uint32_t resource_begin[HDI_MOST_PARTS];
    hdi_plan_count(t, &counts, resource_begin);
    block->data = hdi_arena_return(t->crew.early, &block->bytes);
    if (hdi_block_need(block, &graph->allocator, hdi_plan_size(&counts)) != HD_OK)
        return hdi_graph_fail(graph, HD_OUT_OF_MEMORY, HD_NONE, HD_NONE, HD_NONE, "the plan");
    hd_plan *plan = hdi_plan_begin(block->data, &counts);
    hdi_plan_fill(t, resource_begin, plan);
    lap(desc, HD_PHASE_PLAN, since);
    *out = plan;
    return HD_OK;
}

static uint64_t heap_bytes(const hdi_tables *t)
{
    uint64_t bytes = 0;
    for (uint32_t h = 0; h < t->placed.heap_count; h++)
        bytes += t->placed.heap[h].bytes;
    return bytes;
}

/* Schedules of one window, under caps that shrink by as much as the packing was over, until one fits. *best: the plan
 * with the fewest batches that did; decl null: none. *least: bytes that would do. */
static hd_result fit_window(hd_graph *graph, const hd_compile_desc *desc, hdi_goal goal, hdi_tables *t,
                            uint64_t *since, hdi_tables *best, uint64_t *least)
{
    goal.cap = desc->memory_budget;
    for (int attempt = 0; attempt < 4; attempt++) {
        hd_result result = run_back(graph, desc, &goal, t, since);
        if (result != HD_OK)
            return result;
        uint64_t bytes = heap_bytes(t);
        *least = bytes < *least ? bytes : *least;
        if (bytes <= desc->memory_budget) {
            if (!best->decl || t->barriers.batch_count < best->barriers.batch_count)
                *best = *t;
            break;
        }
        if (goal.cap <= t->schedule.peak_bytes)
            break; /* no leaner that way */
        goal.cap -= bytes - desc->memory_budget < goal.cap ? bytes - desc->memory_budget : goal.cap - 1;
    }
    return HD_OK;
}

/* Schedules are tried from the largest window to the smallest, where rendering may merge with its scopes gathered, too,
 * which pays where there is much memory. *best, *least: as above. */
static hd_result fit_windows(hd_graph *graph, const hd_compile_desc *desc, hdi_goal goal, hdi_tables *t,
                             uint64_t *since, hdi_tables *best, uint64_t *least)
{
    static const uint32_t windows[] = {UINT32_MAX, 256, 64, 1};
    enum { WINDOWS = sizeof(windows) / sizeof(windows[0]) };
    const hdi_decl *decl = t->decl;
    bool renders = decl->pass_count && memchr(decl->pass_type, HD_PASS_GFX, decl->pass_count);
    bool gathers = desc->merge_rendering && renders && t->queues.gpu_count == 1;
    *best = (hdi_tables){0};
    *least = UINT64_MAX;
    for (size_t i = 0; i < (gathers ? 2 * WINDOWS : WINDOWS); i++) {
        goal.window = windows[i % WINDOWS];
        goal.gather = i < WINDOWS ? HDI_GATHER_NONE : HDI_GATHER_ALL;
        hd_result result = fit_window(graph, desc, goal, t, since, best, least);
        if (result != HD_OK)
            return result;
    }
    return HD_OK;
}

/* Within a budget. Where no window fits, what is done without one is tried, and then what order `memory` does: these
 * take the same with every budget, so that what a frame takes without one is never too little. Windows find other
 * schedules with other budgets: that what one of them took would do is tried before it is told. */
static hd_result fit_budget(hd_graph *graph, const hd_compile_desc *desc, const hdi_goal *plain, hdi_tables *t,
                            uint64_t *since)
{
    const hdi_goal lean = {.order = HD_ORDER_MEMORY, .handoff_us = plain->handoff_us};
    const hdi_goal *last[] = {plain, &lean};
    hdi_tables best;
    uint64_t least, told = UINT64_MAX;
    hd_result result = fit_windows(graph, desc, *plain, t, since, &best, &least);
    if (result == HD_OK && best.decl)
        *t = best;
    if (result != HD_OK || best.decl)
        return result;
    for (int i = 0; i < 2; i++) {
        result = run_back(graph, desc, last[i], t, since);
        if (result != HD_OK || heap_bytes(t) <= desc->memory_budget)
            return result;
        told = heap_bytes(t) < told ? heap_bytes(t) : told;
    }
    if (least < told) {
        hd_compile_desc other = *desc;
        uint64_t unused;
        other.memory_budget = least;
        result = fit_windows(graph, &other, *plain, t, since, &best, &unused);
        if (result != HD_OK)
            return result;
        told = best.decl ? least : told;
    }
    char detail[128];
    snprintf(detail, sizeof(detail), "%llu bytes are allowed, %llu would do", (unsigned long long)desc->memory_budget,
             (unsigned long long)told);
    return hdi_graph_fail(graph, HD_OVER_BUDGET, HD_NONE, HD_NONE, HD_NONE, detail);
}

/* About what the phases of a first compile take at their most beside the plan's memory, so that the arena is one block
 * from the start. The barriers take it: those who work alone give back what they need for a region before the next one,
 * and of several most of what the schedule needs lies in the arenas of the parts. */
static size_t scratch_bytes(const hdi_decl *decl, const hdi_queues *queues, const hdi_crew *crew)
{
    size_t queue_count = queues->count, passes = decl->pass_count, uses = decl->use_count, ranges = decl->range_count;
    if (crew->workers == 1) {
        bool one = queue_count == 1;
        size_t per_pass = one ? 226 : crew->cuts ? 223 + 20 * queue_count : 175 + 30 * queue_count,
               per_use = one ? 3 : crew->cuts ? 7 : 50, bytes = passes * per_pass + uses * per_use + ranges * 70;
        return 32768 + bytes + (crew->cuts ? 0 : bytes / 3); /* a short frame is one region */
    }
    return 16384 + passes * (310 + 20 * queue_count) + uses * 145 + ranges * 200 +
           decl->res_count * (90 + 30 * queue_count);
}

/* Waking others costs more than it brings where there is little to do. */
static hdi_crew crew_of(hd_graph *graph, const hd_compile_desc *desc, uint32_t pass_count)
{
    bool several = pass_count >= graph->parallel_passes;
    hd_jobs *jobs = several ? desc->jobs : NULL;
    return (hdi_crew){
        jobs, hd_jobs_worker_count(jobs), several, graph->part, several ? graph->region_passes : UINT32_MAX, false,
        NULL};
}

/* Runs the phases and packs their tables into the graph's plan. */
static hd_result compile(hd_graph *graph, const hd_compile_desc *desc, hdi_tables *t, const hd_plan **out)
{
    hdi_arena early;
    hdi_goal goal = {.order = desc->order,
                     .handoff_us = desc->handoff_us > 0.0f ? (double)desc->handoff_us : 6.0,
                     .gather = desc->merge_rendering ? HDI_GATHER_ALONE : HDI_GATHER_NONE};
    t->crew = crew_of(graph, desc, t->decl->pass_count);
    t->crew.early = &early;
    hdi_queues_in_use(t->decl, &t->all_queues, &t->queues);
    hdi_arena_lend(&early, &graph->allocator, graph->plan.data, graph->plan.bytes);
    if (t->crew.workers > 1)
        hd_jobs_warm(t->crew.jobs); /* while the caller does what comes before the first ranges */
    hdi_arena_reserve(&graph->scratch, scratch_bytes(t->decl, &t->queues, &t->crew));
    uint64_t since = desc->phase_ns ? hdi_clock_ns() : 0;
    hd_result result = run_front(graph, desc, t->decl, t, &since);
    if (result == HD_OK && desc->memory_budget)
        result = fit_budget(graph, desc, &goal, t, &since);
    else if (result == HD_OK)
        result = run_back(graph, desc, &goal, t, &since);
    if (result == HD_OK)
        result = pack(graph, desc, t, &since, out);
    else
        graph->plan.data = hdi_arena_return(&early, &graph->plan.bytes);
    /* Joins their blocks now, so that a second frame that is the same allocates nothing. */
    hdi_arena_reset(&graph->scratch);
    for (int i = 0; t->crew.cuts && i < HDI_MOST_PARTS; i++)
        hdi_arena_reset(&graph->part[i]);
    return result;
}

/* Compiles what was found all the same. The plan that was found stays the one that is returned. */
static hd_result check(hd_graph *graph, const hd_compile_desc *desc, hdi_tables *t, const hd_plan *found,
                       const hd_plan **out)
{
    const hd_plan *fresh = NULL;
    hd_result result = compile(graph, desc, t, &fresh);
    if (result != HD_OK)
        return result;
    graph->cache.stats.checks++;
    size_t bytes, found_bytes;
    const void *data = hd_plan_data(fresh, &bytes), *found_data = hd_plan_data(found, &found_bytes);
    if (bytes != found_bytes || memcmp(data, found_data, bytes) != 0)
        return hdi_graph_fail(graph, HD_CACHE_MISMATCH, HD_NONE, HD_NONE, HD_NONE, NULL);
    *out = found;
    return HD_OK;
}

hd_result hd_graph_compile(hd_graph *graph, const hd_compile_desc *desc, const hd_plan **out)
{
    static const hd_compile_desc defaults = {0};
    if (!graph || !out)
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    if (hd_graph_join(graph) != HD_OK)
        return graph->error.result;
    desc = desc ? desc : &defaults;
    if (desc->phase_ns)
        memset(desc->phase_ns, 0, HD_PHASE_COUNT * sizeof(*desc->phase_ns));
    hdi_decl decl = hdi_graph_decl(graph);
    hdi_tables tables;
    memset(&tables, 0, offsetof(hdi_tables, attached)); /* that is long, and filled before it is read */
    tables.decl = &decl;
    const char *fault = desc_fault(desc);
    if (!fault)
        fault = build_queues(&decl, desc, &tables.all_queues);
    if (fault)
        return hdi_graph_fail(graph, HD_INVALID_ARGUMENT, HD_NONE, HD_NONE, HD_NONE, fault);
    if (desc->cache == HD_CACHE_OFF)
        return compile(graph, desc, &tables, out);
    hdi_cache_entry *entry = hdi_cache_find(&graph->cache, &graph->allocator, &decl, &tables.all_queues, desc);
    if (entry && desc->cache == HD_CACHE_CHECK)
        return check(graph, desc, &tables, entry->plan.data, out);
    if (entry) {
        *out = entry->plan.data;
        return HD_OK;
    }
    hd_result result = compile(graph, desc, &tables, out);
    if (result == HD_OK)
        hdi_cache_keep(&graph->cache, &graph->plan);
    return result;
}
