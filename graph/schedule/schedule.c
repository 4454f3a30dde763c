#include "schedule_work.h"

#include <string.h>

/* Schedule: order and queue of each kept pass. What both schedulers need is prepared (schedule_prepare.c), then one of
 * them runs: schedule_groups.c for one GPU queue, schedule_queues.c for several.
 *
 *   overlap   one queue: the fewest groups between barriers that the memory allows: first as much as the passes need
 *             by rank, or a few MiB; where that leaves clearly more groups than the longest chain has passes, twice as
 *             much. Where that is full most of the time, passes wait for their consumers (schedule_level.c).
 *             Several queues: the shortest frame within a fifth more than that, or three times as much where that
 *             makes the frame clearly shorter.
 *   memory    the same within the memory that the passes need by rank
 *   declared  as declared; groups end where a dependence, a layout or the memory says so
 *
 * Where rendering may merge, one queue gathers the passes that can share a scope (schedule_scopes.c), unless the order
 * is declared.
 *
 * A long frame is cut into regions, runs of ranks that are scheduled independently, as if everything before were done:
 * the order of the frame is that of its regions. Where they end depends on the ranks and on the bytes alive there, so
 * the plan is the same with any number of workers. A cut costs what could have been moved across it: a group, or on
 * several queues the waits of the region's first slots. */

enum { GROUP_WINDOW = 64 };

static hd_result run_groups(hdi_sched *s, const hdi_goal *goal, hdi_schedule *out)
{
    hdi_group_rules rules[2] = {{.cap = s->peak, .window = GROUP_WINDOW}};
    uint32_t count = 1;
    if (goal->cap) {
        rules[0].cap = goal->cap > s->peak ? goal->cap : s->peak;
        rules[0].window = goal->window;
    } else if (goal->order == HD_ORDER_DECLARED) {
        rules[0].in_order = true;
        rules[0].window = 1;
    } else if (goal->order == HD_ORDER_MEMORY) {
        rules[0].level = true;
    } else {
        rules[0].cap = s->peak > HDI_SMALL_BYTES ? s->peak : HDI_SMALL_BYTES;
        rules[0].gives_up = rules[0].level = true;
        rules[1] = (hdi_group_rules){.cap = 2 * rules[0].cap, .window = GROUP_WINDOW, .level = true};
        count = 2;
    }
    rules[0].gather = rules[1].gather = rules[0].in_order ? HDI_GATHER_NONE : goal->gather;
    return hdi_schedule_groups(s, rules, count, out) ? HD_OK : HD_OUT_OF_MEMORY;
}

/* ---- regions ---- */

typedef struct sched_region {
    hdi_sched s;
    hdi_schedule out; /* slots in their place in the frame's; edges in the arena of the region */
    hdi_arena_mark mark;
    hd_result result;
    uint32_t groups_before;
    uint32_t first[HD_MAX_QUEUES], newest[HD_MAX_QUEUES]; /* several queues: slots of the frame; HDI_NONE: none */
} sched_region;

typedef struct regions_work {
    const hdi_goal *goal;
    sched_region *region;
} regions_work;

static void describe_region(const hdi_sched *s, const hdi_crew *crew, const hdi_sched_cuts *cuts,
                            const hdi_schedule *out, uint32_t k, sched_region *r)
{
    const uint32_t begin = cuts->begin[k], *use_begin = s->decl->pass_use_begin;
    hdi_sched *of = &r->s;
    *r = (sched_region){.s = *s};
    r->out.slot_pass = out->slot_pass + begin;
    r->out.slot_queue = out->slot_queue + begin;
    r->out.slot_group = out->slot_group ? out->slot_group + begin : NULL;
    of->whole = cuts->count == 1;
    of->arena = of->whole ? s->arena : hdi_crew_arena(crew, k, s->arena);
    of->rank_begin = begin;
    of->kept_count = cuts->begin[k + 1] - begin;
    of->live_before = cuts->live_before[k];
    of->rank_pass += begin;
    of->rank += begin;
    of->pass_end = of->kept_count ? of->rank_pass[of->kept_count - 1] + 1 : 0;
    of->pass_begin = of->kept_count ? of->rank_pass[0] : 0;
    of->use_count = use_begin[of->pass_end] - use_begin[of->pass_begin];
}

/* The region's first and newest slot on each queue; its edges become those of the frame. */
static void end_lists(sched_region *r)
{
    const uint32_t begin = r->s.rank_begin;
    memset(r->first, 0xff, sizeof(r->first));
    memset(r->newest, 0xff, sizeof(r->newest));
    for (uint32_t i = 0; i < r->out.slot_count; i++) {
        uint32_t q = r->out.slot_queue[i];
        r->newest[q] = begin + i;
        r->first[q] = r->first[q] == HDI_NONE ? begin + i : r->first[q];
    }
    for (uint32_t e = 0; e < r->out.edge_count; e++) {
        r->out.edge[e].from += begin;
        r->out.edge[e].to += begin;
    }
}

static void run_region(uint32_t part, void *user)
{
    const regions_work *w = user;
    sched_region *r = &w->region[part];
    r->mark = hdi_arena_here(r->s.arena);
    if (!hdi_sched_begin_region(&r->s)) {
        r->result = HD_OUT_OF_MEMORY;
    } else if (r->s.queues->gpu_count == 1) {
        r->result = run_groups(&r->s, w->goal, &r->out);
    } else {
        r->result = hdi_schedule_queues(&r->s, w->goal, &r->out);
        if (r->result == HD_OK)
            end_lists(r);
    }
    const hdi_arena_kept edges = {&r->out.edge, r->out.edge_count * sizeof(*r->out.edge)};
    if (r->result == HD_OK)
        hdi_arena_keep(r->s.arena, r->mark, &edges, r->out.edge ? 1 : 0);
}

/* The groups of each region are numbered behind those of the regions before. */
static void shift_groups(uint32_t part, void *user)
{
    const sched_region *r = &((const regions_work *)user)->region[part];
    for (uint32_t i = 0; i < r->out.slot_count; i++)
        r->out.slot_group[i] += r->groups_before;
}

static void join_groups(const hdi_crew *crew, regions_work *w, uint32_t count, hdi_schedule *out)
{
    uint32_t groups = 0;
    for (uint32_t k = 0; k < count; k++) {
        w->region[k].groups_before = groups;
        groups += w->region[k].out.group_count - 1;
    }
    out->group_count = groups + 1;
    if (count > 1)
        hdi_crew_parts(crew, count, shift_groups, w);
}

/* The first slot of a region on a queue waits for the newest slots that the other queues had before the region. */
static uint32_t add_edges(const sched_region *r, uint32_t regions, uint32_t queues, hdi_edge *edge)
{
    uint32_t count = 0, newest[HD_MAX_QUEUES];
    memset(newest, 0xff, sizeof(newest));
    for (uint32_t k = 0; k < regions; k++) {
        uint32_t left = (1u << queues) - 1;
        while (left) { /* queues by their first slots */
            uint32_t q = (uint32_t)__builtin_ctz(left);
            for (uint32_t other = q + 1; other < queues; other++)
                q = left >> other & 1 && r[k].first[other] < r[k].first[q] ? other : q;
            left &= ~(1u << q);
            for (uint32_t other = 0; r[k].first[q] != HDI_NONE && other < queues; other++) {
                if (other != q && newest[other] != HDI_NONE)
                    edge[count++] = (hdi_edge){newest[other], r[k].first[q]};
            }
        }
        for (uint32_t q = 0; q < queues; q++)
            newest[q] = r[k].newest[q] != HDI_NONE ? r[k].newest[q] : newest[q];
    }
    return count;
}

static hd_result join_lists(const hdi_sched *s, const hdi_crew *crew, sched_region *r, uint32_t count,
                            hdi_schedule *out)
{
    const uint32_t queues = s->queues->count;
    size_t edges = (size_t)count * queues * queues;
    for (uint32_t k = 0; k < count; k++)
        edges += r[k].out.edge_count;
    out->edge = HDI_ARENA_ARRAY(s->arena, hdi_edge, edges);
    if (s->arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < count; k++) {
        const hdi_schedule *of = &r[k].out;
        if (of->edge_count)
            memcpy(out->edge + out->edge_count, of->edge, of->edge_count * sizeof(*of->edge));
        out->edge_count += of->edge_count;
        out->makespan_us += of->makespan_us;
        if (crew->workers > 1 && count > 1)
            hdi_arena_keep(r[k].s.arena, r[k].mark, NULL, 0);
    }
    out->edge_count += add_edges(r, count, queues, out->edge + out->edge_count);
    return HD_OK;
}

static hd_result run_regions(const hdi_sched *s, const hdi_goal *goal, const hdi_sched_cuts *cuts, const hdi_crew *crew,
                             hdi_schedule *out)
{
    const uint32_t count = cuts->count;
    const bool one = s->queues->gpu_count == 1;
    regions_work w = {goal, hdi_arena_array(s->arena, count, sizeof(*w.region))};
    out->region_begin = HDI_ARENA_ARRAY(s->arena, uint32_t, (size_t)count + 1);
    out->slot_pass = HDI_ARENA_ARRAY(s->arena, uint32_t, s->kept_count);
    out->slot_queue = HDI_ARENA_ARRAY(s->arena, uint8_t, s->kept_count);
    out->slot_group = one ? HDI_ARENA_ARRAY(s->arena, uint32_t, s->kept_count) : NULL;
    if (s->arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < count; k++)
        describe_region(s, crew, cuts, out, k, &w.region[k]);
    hdi_crew_parts(crew, count, run_region, &w);
    for (uint32_t k = 0; k < count; k++) {
        if (w.region[k].result != HD_OK)
            return w.region[k].result;
    }
    memcpy(out->region_begin, cuts->begin, ((size_t)count + 1) * sizeof(*out->region_begin));
    out->region_count = count;
    out->slot_count = s->kept_count;
    if (!one)
        return join_lists(s, crew, w.region, count, out);
    join_groups(crew, &w, count, out);
    return HD_OK;
}

hd_result hdi_schedule_passes(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept,
                              const hdi_depends *depends, const hdi_sizes *sizes, const hdi_queues *queues,
                              const hdi_goal *goal, const hdi_crew *crew, hdi_arena *arena, hdi_schedule *out,
                              uint32_t *bad_pass)
{
    hdi_sched s = {.decl = decl, .frozen = frozen, .depends = depends, .queues = queues, .arena = arena};
    hdi_arena_mark mark = hdi_arena_here(arena);
    hdi_sched_cuts cuts;
    *out = (hdi_schedule){0};
    hd_result result = hdi_sched_prepare(&s, kept, sizes, crew, &cuts, bad_pass);
    if (result == HD_OK)
        result = run_regions(&s, goal, &cuts, crew, out);
    out->peak_bytes = s.peak;
    if (result != HD_OK)
        return result;
    size_t begins = (size_t)out->region_count + 1;
    const hdi_arena_kept out_arrays[] = {{&out->region_begin, begins * sizeof(*out->region_begin)},
                                         {&out->slot_pass, out->slot_count * sizeof(*out->slot_pass)},
                                         {&out->slot_queue, out->slot_count * sizeof(*out->slot_queue)},
                                         {&out->slot_group, out->slot_count * sizeof(*out->slot_group)},
                                         {&out->edge, out->edge_count * sizeof(*out->edge)}};
    hdi_crew_keep(crew, arena, mark, out_arrays, 5);
    return HD_OK;
}
