#include <string.h>

#include "schedule_work.h"

/* Several GPU queues: what the list scheduler needs, prepared once for a region, and the rules that it runs by (see
 * schedule.c for the orders). O(uses + edges). */

enum { PATIENCE = 3 }; /* levels behind a pass from which on its first consumer waits for longer chains anyway */
enum { LIST_WINDOW = 48, LIST_PATIENCE = 12, LEAN_PATIENCE = 16, WIDE_WINDOW = 76, WIDE_PATIENCE = 42 }; /* ranks */

/* No schedule is shorter than the longest chain, the passes that only graphics queues run, and all passes on all
 * queues. */
typedef struct list_bounds {
    double least_us;
    double rate;          /* work a microsecond at which the last of these is met, where it is the largest; else 0 */
    uint32_t wide_queues; /* queues for more than copies */
} list_bounds;

/* What stands behind a pass. */
typedef struct list_chain {
    float path;    /* microseconds to the end */
    float drained; /* the same with a barrier behind each pass */
    uint32_t home; /* a bit for the kind of queue that the pass is for */
} list_chain;

/* ---- preparing ---- */

/* The lane of passes of a type that run on some kinds of queues. */
static uint16_t find_lane(const hdi_sched *s, hdi_list *list, uint32_t type, uint32_t kinds)
{
    const hdi_queues *queues = s->queues;
    uint16_t mask = 0, foreign = 0, k = 0;
    for (uint32_t q = 0; q < queues->count; q++) {
        mask |= (uint16_t)((kinds >> queues->kind[q] & 1) << q);
        foreign |= (uint16_t)((queues->kind[q] != type) << q);
    }
    foreign = mask & (mask - 1) ? foreign & mask : 0;
    while (k < list->lane_count && (list->lane[k].queues != mask || list->lane[k].foreign != foreign))
        k++;
    if (k == list->lane_count)
        list->lane[list->lane_count++] = (hdi_list_lane){.queues = mask, .foreign = foreign};
    return k;
}

static list_bounds find_bounds(const hdi_queues *queues, double longest, const double *work)
{
    uint32_t gfx_queues = 0, wide_queues = 0;
    for (uint32_t q = 0; q < queues->gpu_count; q++) {
        gfx_queues += queues->kind[q] == HD_QUEUE_GFX;
        wide_queues += queues->kind[q] != HD_QUEUE_TRANSFER;
    }
    double gfx = gfx_queues ? work[HD_PASS_GFX] / gfx_queues : 0.0;
    double all = wide_queues ? (work[HD_PASS_GFX] + work[HD_PASS_COMPUTE]) / wide_queues : 0.0;
    double most = longest > gfx ? longest : gfx;
    return most > all ? (list_bounds){most, 0.0, wide_queues} : (list_bounds){all, wide_queues, wide_queues};
}

/* Kinds of queues that a pass may run on. A pass that is shorter than a hand-off runs where all its consumers do. */
static uint32_t find_kinds(const hdi_sched *s, uint32_t pass, bool is_short, uint32_t consumers, uint32_t *home)
{
    uint32_t kinds = hdi_sched_kinds(s, pass), own = 1u << s->decl->pass_type[pass];
    bool one = consumers && !(consumers & (consumers - 1));
    if (is_short && one && kinds & consumers)
        kinds = consumers;
    *home = kinds & own ? own : kinds & -kinds;
    return kinds;
}

/* Nodes and lanes, from the last rank to the first. */
static list_bounds make_nodes(const hdi_sched *s, double handoff_us, hdi_list *list, list_chain *chain)
{
    const hdi_decl *decl = s->decl;
    const hdi_depends *depends = s->depends;
    double work[4] = {0.0};
    float longest = 0.0f;
    uint16_t lane_of[4][16]; /* by type and kinds */
    memset(lane_of, 0xff, sizeof(lane_of));
    for (uint32_t rank = s->kept_count; rank-- > 0;) {
        const uint32_t p = s->rank_pass[rank], type = decl->pass_type[p];
        uint32_t consumer = HDI_NONE, homes = 0, bits;
        float cost = decl->pass_cost[p], path = 0.0f, drained = 0.0f;
        for (size_t e = depends->succ_begin[p], end = depends->succ_begin[p + 1]; e < end; e++) {
            if (depends->succ[e] >= s->pass_end)
                continue;
            const uint32_t next = s->pass_rank[depends->succ[e]] - s->rank_begin;
            const uint32_t level = s->pass_level[depends->succ[e]];
            const list_chain *behind = &chain[next];
            path = behind->path > path ? behind->path : path;
            drained = behind->drained > drained ? behind->drained : drained;
            consumer = level < consumer ? level : consumer;
            homes |= behind->home;
        }
        path += cost;
        drained += cost;
        longest = drained > longest ? drained : longest;
        chain[rank].path = path;
        chain[rank].drained = drained + (float)HDI_DRAIN_US;
        uint32_t kinds = find_kinds(s, p, (double)cost < handoff_us, homes, &chain[rank].home);
        uint16_t *lane = &lane_of[type][kinds];
        if (*lane == UINT16_MAX)
            *lane = find_lane(s, list, type, kinds);
        list->lane[*lane].count++;
        list->lane[*lane].work_us += (double)cost;
        work[type] += (double)cost;
        memcpy(&bits, &path, sizeof(bits)); /* not negative: they order as the path does */
        list->node[rank] = (hdi_list_node){
            .key = (uint64_t)~bits << 32 | rank,
            .cost = cost,
            .bias = (float)handoff_us + 0.45f * cost,
            .lane = *lane,
            .patient = consumer != HDI_NONE && consumer - s->pass_level[p] > PATIENCE,
        };
    }
    return find_bounds(s->queues, (double)longest, work);
}

/* ---- rules ---- */

/* Queues for passes that have the choice: those for copies only where hand-offs leave so much of the work that they
 * take off the others that the frame is clearly shorter. */
static uint32_t find_queues(const hdi_sched *s, const hdi_list *list, double handoff_us, const list_bounds *bounds)
{
    uint32_t narrow = 0;
    double gain = 0.0;
    for (uint32_t q = 0; q < s->queues->count; q++)
        narrow |= (uint32_t)(s->queues->kind[q] == HD_QUEUE_TRANSFER) << q;
    for (uint32_t k = 0; k < list->lane_count; k++) {
        const hdi_list_lane *l = &list->lane[k];
        if (l->queues & narrow && l->queues & ~narrow)
            gain += l->work_us / bounds->wide_queues - handoff_us * l->count;
    }
    return gain > 0.01 * bounds->least_us ? UINT32_MAX : ~narrow;
}

/* The queue that most work may run on, and that work. */
static uint32_t find_main_queue(const hdi_sched *s, const hdi_list *list, double *work_us)
{
    uint32_t best = 0;
    *work_us = -1.0;
    for (uint32_t q = 0; q < s->queues->gpu_count; q++) {
        double work = 0.0;
        for (uint32_t k = 0; k < list->lane_count; k++)
            work += list->lane[k].queues >> q & 1 ? list->lane[k].work_us : 0.0;
        if (work > *work_us) {
            *work_us = work;
            best = q;
        }
    }
    return best;
}

/* The makespan of a schedule with the price of hand-offs, that to what follows the frame too, where memory makes no
 * pass wait: how much of that the packing will need is not known yet. */
static double find_priced_us(const hdi_sched *s, const hdi_list *list, double handoff_us, uint32_t main,
                             const hdi_schedule *of)
{
    const hdi_depends *depends = s->depends;
    const uint32_t words = s->clock_words;
    uint32_t knows[HD_MAX_QUEUES][HD_MAX_QUEUES] = {{0}}, *pass_slot = s->pass_level;
    double free_at[HD_MAX_QUEUES] = {0.0}, last = 0.0;
    for (uint32_t slot = 0; slot < of->slot_count; slot++) {
        const uint32_t p = of->slot_pass[slot], q = of->slot_queue[slot];
        double start = free_at[q];
        pass_slot[p] = slot;
        for (size_t e = depends->pred_begin[p], end = depends->pred_begin[p + 1]; e < end; e++) {
            if (depends->pred[e] < s->pass_begin)
                continue;
            const uint32_t from = pass_slot[depends->pred[e]];
            if (from < knows[q][of->slot_queue[from]])
                continue;
            double done = list->finish[from + 1] + handoff_us;
            start = done > start ? done : start;
            hdi_clock_raise(knows[q], &list->clock[(size_t)(from + 1) * words], words);
        }
        knows[q][q] = slot + 1;
        memcpy(&list->clock[(size_t)(slot + 1) * words], knows[q], words * sizeof(knows[q][0]));
        list->finish[slot + 1] = free_at[q] = start + (double)s->decl->pass_cost[p];
        double done = free_at[q] + (q == main ? 0.0 : handoff_us);
        last = done > last ? done : last;
    }
    return last;
}

/* ---- runs ---- */

/* taken: what the run before has scheduled. */
static bool run_again( hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, const hdi_schedule *taken,
                      hdi_schedule *out)
{
    hdi_sched_undo(s, taken->slot_pass, taken->slot_count);
    return hdi_schedule_list(s, list, rules, out);
}

/* All passes that have the choice on one queue, where the frame is not longer then. */
static bool run_on_one( hdi_sched *s, const hdi_list *list, hdi_list_rules rules, hdi_schedule *out)
{
    double work_us;
    const uint32_t q = find_main_queue(s, list, &work_us);
    if (work_us >= out->makespan_us + rules.handoff_us || work_us > find_priced_us(s, list, rules.handoff_us, q, out))
        return true;
    rules.queues = 1u << q;
    rules.least_rate = 0.0;
    const hdi_schedule several = *out;
    return run_again(s, list, &rules, &several, out);
}

/* Within a fifth more memory than the passes need, or three times as much, where that makes the frame clearly
 * shorter. */
static bool run_caps( hdi_sched *s, const hdi_list *list, const list_bounds *bounds, hdi_list_rules *rules,
                     hdi_schedule *out)
{
    hdi_schedule wide = {.slot_pass = HDI_ARENA_ARRAY(s->arena, uint32_t, s->kept_count),
                         .slot_queue = HDI_ARENA_ARRAY(s->arena, uint8_t, s->kept_count)};
    rules->least_rate = bounds->rate / 1.1;
    bool done = hdi_schedule_list(s, list, rules, out);
    if (s->arena->failed || (done && out->makespan_us <= 1.1 * bounds->least_us))
        return !s->arena->failed;
    rules->cap = 3 * s->peak;
    rules->window = WIDE_WINDOW;
    rules->patience = WIDE_PATIENCE;
    rules->least_rate = 0.0;
    if (!run_again(s, list, rules, out, &wide))
        return false;
    if (done && wide.makespan_us > 0.97 * out->makespan_us)
        return true;
    memcpy(out->slot_pass, wide.slot_pass, wide.slot_count * sizeof(*out->slot_pass));
    memcpy(out->slot_queue, wide.slot_queue, wide.slot_count * sizeof(*out->slot_queue));
    wide.slot_pass = out->slot_pass;
    wide.slot_queue = out->slot_queue;
    *out = wide;
    return true;
}

static hdi_list_rules find_rules(const hdi_sched *s, const hdi_goal *goal)
{
    hdi_list_rules rules = {
        .handoff_us = goal->handoff_us, .cap = s->peak, .window = LIST_WINDOW, .patience = LIST_PATIENCE};
    if (goal->cap) {
        rules.cap = goal->cap > s->peak ? goal->cap : s->peak;
        rules.window = goal->window < HDI_MOST_LIST_WINDOW ? goal->window : HDI_MOST_LIST_WINDOW;
        rules.patience = WIDE_PATIENCE > rules.window / 2 ? WIDE_PATIENCE : rules.window / 2;
    } else if (goal->order == HD_ORDER_MEMORY) {
        rules.patience = LEAN_PATIENCE;
    } else {
        rules.cap = s->peak + (s->peak / 5 > HDI_SMALL_BYTES ? s->peak / 5 : HDI_SMALL_BYTES);
    }
    if (goal->order == HD_ORDER_DECLARED)
        rules.window = 1;
    rules.patience = rules.patience < rules.window ? rules.patience : rules.window - 1;
    return rules;
}

hd_result hdi_schedule_queues( hdi_sched *s, const hdi_goal *goal, hdi_schedule *out)
{
    hdi_arena *arena = s->arena;
    const size_t kept = s->kept_count, words = s->clock_words;
    hdi_list list = {.node = HDI_ARENA_ARRAY(arena, hdi_list_node, kept),
                     .pred = HDI_ARENA_ARRAY(arena, uint32_t, kept * words),
                     .clock = HDI_ARENA_ARRAY(arena, uint32_t, (kept + 1) * words),
                     .finish = HDI_ARENA_ARRAY(arena, double, kept + 1)};
    list_chain *chain = HDI_ARENA_ARRAY(arena, list_chain, kept);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    const list_bounds bounds = make_nodes(s, goal->handoff_us, &list, chain);
    hdi_list_rules rules = find_rules(s, goal);
    rules.queues = find_queues(s, &list, goal->handoff_us, &bounds);
    bool caps = !goal->cap && goal->order == HD_ORDER_OVERLAP;
    bool done = caps ? run_caps(s, &list, &bounds, &rules, out) : hdi_schedule_list(s, &list, &rules, out);
    return done && run_on_one(s, &list, rules, out) ? HD_OK : HD_OUT_OF_MEMORY;
}
