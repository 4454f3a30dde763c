#include "compile.h"

#include <stdio.h>

#include "alias.h"
#include "alloc.h"
#include "barrier.h"
#include "clock.h"
#include "front.h"
#include "plan.h"
#include "schedule.h"
#include "sync.h"

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
    t->front = hdi_arena_here(arena);
    lap(desc, HD_PHASE_FREEZE, since);
    if (result == HD_OK)
        result = hdi_flow_find(decl, &t->frozen, crew, arena, &t->flow, &bad);
    if (result == HD_UNWRITTEN_READ)
        return fail_use(graph, t, result, bad);
    lap(desc, HD_PHASE_DEPEND, since);
    if (result == HD_OK)
        result = hdi_cull(decl, &t->frozen, &t->flow, crew, arena, &t->kept);
    lap(desc, HD_PHASE_CULL, since);
    if (result == HD_OK)
        result = hdi_size(decl, &t->kept, desc, crew, arena, &t->sizes, &bad);
    lap(desc, HD_PHASE_SIZE, since);
    if (result != HD_OK && bad != HDI_NONE)
        return hdi_graph_fail(graph, result, HD_NONE, bad, HD_NONE, "from the size callback");
    if (result == HD_OK)
        result = hdi_depend(decl, &t->frozen, &t->flow, &t->kept, crew, arena, &t->depends);
    lap(desc, HD_PHASE_DEPEND, since);
    if (result != HD_OK)
        hdi_graph_fail(graph, result, HD_NONE, HD_NONE, HD_NONE, NULL);
    return result;
}

/* What only the schedule was made from is of no more use, where there will be no other one. */
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
    hdi_crew_keep(&t->crew, &graph->scratch, t->front, kept, sizeof(kept) / sizeof(kept[0]));
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

hd_result hdi_run_back(const hdi_compile *c, const hdi_goal *goal)
{
    hd_graph *graph = c->graph;
    const hd_compile_desc *desc = c->desc;
    hdi_tables *t = c->tables;
    uint64_t *since = c->since;
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
        result = hdi_sync_promised(&t->hazards, &t->queues, crew, arena, &want, &t->synced);
    lap(desc, HD_PHASE_SYNC, since);
    if (result == HD_OK)
        result = hdi_lifetime(decl, &t->frozen, &t->hazards, &t->queues, &t->synced, crew, arena, &t->lifetimes);
    lap(desc, HD_PHASE_LIFETIME, since);
    hdi_packing packing = {.lean = goal->cap || goal->order != HD_ORDER_OVERLAP,
                           .effort = desc->packing_effort,
                           .enough = goal->enough};
    if (result == HD_OK)
        result = hdi_alias(decl, &t->sizes, &t->hazards, &t->queues, &t->synced, &t->lifetimes, &packing, crew, arena,
                           &t->placed);
    lap(desc, HD_PHASE_ALIAS, since);
    if (result == HD_OK && want)
        result = hdi_sync_again(decl, &t->hazards, &t->queues, &t->lifetimes, &t->placed, crew, want, arena,
                                &t->synced);
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

/* About the most memory that the phases of a first compile take beside the plan's own, so that the arena is one block
 * from the start. The barrier phase takes the most: one worker gives back what a region needed before the next region,
 * and with several workers most of what the schedule needs lies in the arenas of the parts. */
static size_t scratch_bytes(const hdi_decl *decl, const hdi_queues *queues, const hdi_crew *crew)
{
    size_t queue_count = queues->count, passes = decl->pass_count, uses = decl->use_count, ranges = decl->range_count;
    if (crew->workers == 1) {
        size_t per_pass = crew->cuts ? 248 + 20 * queue_count : 175 + 30 * queue_count, per_use = crew->cuts ? 7 : 50,
               bytes = passes * per_pass + uses * per_use + ranges * 70;
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
        jobs, hd_jobs_worker_count(jobs), several, graph->part, several ? graph->region_passes : UINT32_MAX, NULL};
}

hd_result hdi_compile_frame(hd_graph *graph, const hd_compile_desc *desc, hdi_tables *t, const hd_plan **out)
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
    const hdi_compile c = {graph, desc, t, &since};
    if (result == HD_OK)
        result = desc->memory_budget ? hdi_fit_budget(&c, &goal) : hdi_run_back(&c, &goal);
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
