#include "schedule_list.h"

#include <string.h>

/* Several GPU queues: what the list scheduler needs, prepared once, and what it is run with (schedule.c says what for).
 * O(uses + edges). */

enum { PATIENCE = 3 }; /* levels behind a pass from which on its first consumer waits for others anyway */
enum { LIST_WINDOW = 48, LIST_PATIENCE = 12, LEAN_PATIENCE = 16, WIDE_WINDOW = 76, WIDE_PATIENCE = 42 }; /* ranks */

/* No schedule is shorter: the longest chain, the passes that only gfx queues run, all passes on all queues. */
typedef struct bounds {
    double least_us;
    double rate; /* work a microsecond at which the last of these is met, where it is what counts; else 0 */
    uint32_t wide_queues; /* those for more than copies */
} bounds;

/* ---- preparing ---- */

/* The lane of passes of a type that run on some kinds of queues. */
static uint8_t find_lane(const hdi_sched *s, hdi_list *list, uint32_t type, uint32_t kinds)
{
    const hdi_queues *queues = s->queues;
    uint16_t mask = 0, foreign = 0;
    for (uint32_t q = 0; q < queues->count; q++) {
        mask |= (uint16_t)((kinds >> queues->kind[q] & 1) << q);
        foreign |= (uint16_t)((queues->kind[q] != type) << q);
    }
    foreign = mask & (mask - 1) ? foreign & mask : 0;
    uint32_t k = 0;
    while (k < list->lane_count && (list->lane[k].queues != mask || list->lane[k].foreign != foreign))
        k++;
    if (k == list->lane_count)
        list->lane[list->lane_count++] = (hdi_list_lane){.queues = mask, .foreign = foreign};
    return (uint8_t)k;
}

/* What it opens for certain, and what others might open before it. False: nothing. */
static bool look_alone(const hdi_sched *s, uint32_t pass, uint32_t rank, int64_t *out)
{
    const hdi_decl *decl = s->decl;
    const uint32_t *use_res = decl->use_res;
    uint32_t begin = decl->pass_use_begin[pass], end = decl->pass_use_begin[pass + 1];
    bool shares = false;
    *out = (int64_t)s->rank[rank].opens;
    for (uint32_t u = begin; u < end; u++) {
        hdi_sched_res *res = &s->res[use_res[u]];
        if (!hdi_list_shares(s, res))
            continue;
        shares = true;
        if (res->first != s->rank_begin + rank || res->apart) /* or it was used before in the pass */
            continue;
        *out -= (int64_t)res->bytes;
        res->apart = true;
    }
    return shares;
}

/* Passes that may open what others might open before them. */
static void find_shared(const hdi_sched *s, const hdi_list *list)
{
    const hdi_decl *decl = s->decl;
    const uint32_t *use_begin = decl->pass_use_begin;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t pass = s->rank_pass[rank], place = pass - s->pass_begin;
        bool opens = false;
        for (uint32_t u = use_begin[pass]; u < use_begin[pass + 1]; u++)
            opens |= !(decl->use_flags[u] & HDI_USE_READS) && s->res[decl->use_res[u]].mixed & HDI_MIXED_OPENERS;
        if (opens && look_alone(s, pass, rank, &list->alone[place]))
            list->node[place].flags |= HDI_NODE_SHARED;
    }
}

/* What a pass has before and behind it. */
typedef struct chain {
    float path;     /* microseconds to the end */
    float drained;  /* the same with a barrier behind each pass and one in front of it */
    uint32_t level; /* most passes one behind the other before it */
    uint32_t home;  /* a bit for the kind of queue that it is there for */
} chain;

/* All of a pass that does not come from those behind it. Passes that are not kept have no edges. */
static void make_nodes(const hdi_sched *s, hdi_list *list, chain *of_place)
{
    const hdi_decl *decl = s->decl;
    const hdi_depends *depends = s->depends;
    uint32_t pass_begin = s->pass_begin, kept = s->kept_count;
    int64_t before = 0; /* bytes alive at the rank before */
    for (uint32_t rank = 0; rank < kept; rank++) {
        uint32_t p = s->rank_pass[rank], place = p - pass_begin, left = 0, level = 0;
        for (size_t e = depends->pred_begin[p], end = depends->pred_begin[p + 1]; e < end; e++) {
            if (depends->pred[e] < pass_begin)
                continue;
            uint32_t lower = of_place[depends->pred[e] - pass_begin].level;
            level = lower >= level ? lower + 1 : level;
            left++;
        }
        of_place[place].level = level;
        s->pass_need[p] = left;
        list->root[list->root_count] = place;
        list->root_count += left == 0;
        int64_t live = (int64_t)s->rank[rank].live;
        list->alive_step[rank] = live - before;
        before = live;
        list->node[place] = (hdi_list_node){
            .bytes = (int64_t)s->rank[rank].opens, .cost = decl->pass_cost[p], .left = left, .rank = rank};
    }
    list->alive_step[kept] = -before;
}

static bounds bounds_of(const hdi_queues *queues, double longest, const double *work)
{
    uint32_t gfx_queues = 0, wide_queues = 0;
    for (uint32_t q = 0; q < queues->gpu_count; q++) {
        gfx_queues += queues->kind[q] == HD_QUEUE_GFX;
        wide_queues += queues->kind[q] != HD_QUEUE_TRANSFER;
    }
    double gfx = gfx_queues ? work[HD_PASS_GFX] / gfx_queues : 0.0;
    double all = wide_queues ? (work[HD_PASS_GFX] + work[HD_PASS_COMPUTE]) / wide_queues : 0.0;
    double most = longest > gfx ? longest : gfx;
    return most > all ? (bounds){most, 0.0, wide_queues} : (bounds){all, wide_queues, wide_queues};
}

/* Kinds of queues that a pass may run on. One that is shorter than a hand-off runs where all that read it do. */
static uint32_t find_kinds(const hdi_sched *s, uint32_t pass, bool is_short, uint32_t consumers, uint32_t *home)
{
    uint32_t kinds = hdi_allowed_kinds(s->decl, s->queues, pass, s->may_copy_depth);
    uint32_t own = 1u << s->decl->pass_type[pass];
    bool one = consumers && !(consumers & (consumers - 1));
    if (is_short && one && kinds & consumers)
        kinds = consumers;
    *home = kinds & own ? own : kinds & -kinds;
    return kinds;
}

/* The rest of a pass, by rank backwards. */
static bounds find_paths(const hdi_sched *s, double handoff_us, hdi_list *list, chain *of_place)
{
    const hdi_decl *decl = s->decl;
    const hdi_depends *depends = s->depends;
    uint32_t pass_begin = s->pass_begin, count = s->pass_end - pass_begin;
    double work[4] = {0.0};
    float longest = 0.0f;
    uint8_t lane_of[4][16]; /* by type and kinds */
    memset(lane_of, 0xff, sizeof(lane_of));
    for (uint32_t rank = s->kept_count; rank-- > 0;) {
        uint32_t p = s->rank_pass[rank], place = p - pass_begin, consumer = UINT32_MAX, homes = 0, bits;
        float cost = decl->pass_cost[p], path = 0.0f, drained = 0.0f;
        for (size_t e = depends->succ_begin[p], end = depends->succ_begin[p + 1]; e < end; e++) {
            uint32_t next = depends->succ[e] - pass_begin;
            if (next >= count)
                continue;
            const chain *behind = &of_place[next];
            path = behind->path > path ? behind->path : path;
            drained = behind->drained > drained ? behind->drained : drained;
            consumer = behind->level < consumer ? behind->level : consumer;
            homes |= behind->home;
        }
        path += cost;
        drained += cost;
        longest = drained > longest ? drained : longest;
        uint32_t type = decl->pass_type[p], kinds;
        kinds = find_kinds(s, p, (double)cost < handoff_us, homes, &of_place[place].home);
        uint8_t *lane = &lane_of[type][kinds];
        if (*lane == 0xff)
            *lane = find_lane(s, list, type, kinds);
        list->lane[*lane].count++;
        list->lane[*lane].work_us += (double)cost;
        list->node[place].lane = *lane;
        list->node[place].bias = (float)handoff_us + 0.45f * cost;
        work[type] += (double)cost;
        memcpy(&bits, &path, sizeof(bits)); /* not negative: they order as it does */
        list->node[place].key = (uint64_t)~bits << 32 | place;
        if (consumer != UINT32_MAX && consumer - of_place[place].level > PATIENCE)
            list->node[place].flags |= HDI_NODE_PATIENT;
        of_place[place].path = path;
        of_place[place].drained = drained + (float)HDI_DRAIN_US;
    }
    return bounds_of(s->queues, (double)longest, work);
}

static bool make_list(const hdi_sched *s, hdi_list *list)
{
    hdi_arena *arena = s->arena;
    uint32_t n = s->queues->count, kept = s->kept_count, passes = s->pass_end - s->pass_begin;
    *list = (hdi_list){0};
    list->node = HDI_ARENA_ARRAY(arena, hdi_list_node, passes);
    list->pred = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)passes * n);
    list->root = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)kept + 1);
    list->alone = HDI_ARENA_ARRAY(arena, int64_t, s->mixed_uses ? passes : 0);
    list->state = HDI_ARENA_ARRAY(arena, uint8_t, (size_t)kept + HDI_MOST_LIST_WINDOW);
    list->opener = HDI_ARENA_ARRAY(arena, hdi_list_opener, s->mixed_uses ? kept : 0);
    list->clock = HDI_ARENA_ARRAY(arena, uint32_t, ((size_t)kept + 1) * n);
    list->finish = HDI_ARENA_ARRAY(arena, double, (size_t)kept + 1);
    list->alive_step = HDI_ARENA_ARRAY(arena, int64_t, (size_t)kept + 1);
    for (uint32_t q = 0; q < n; q++)
        list->closing[q] = HDI_ARENA_ARRAY(arena, hdi_list_closing, s->use_count);
    return !arena->failed;
}

/* Whether a region closes what earlier ones use. */
static HDI_INLINE bool closes_older(const hdi_sched *s, const hdi_sched_res *res)
{
    return res->first < s->rank_begin && hdi_sched_has(s, res->last);
}

/* Uses to come, of what a region closes. One worker counts those of earlier regions down as it goes. */
static void count_uses(const hdi_sched *s)
{
    const hdi_decl *decl = s->decl;
    hdi_sched_res *all = s->res;
    for (int count = 0; count < 2 && !s->whole && !s->alone; count++) {
        for (uint32_t rank = 0; rank < s->kept_count; rank++) {
            uint32_t p = s->rank_pass[rank];
            for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
                hdi_sched_res *res = &all[decl->use_res[u]];
                if (closes_older(s, res))
                    res->left = count ? res->left + 1 : 0;
            }
        }
    }
}

/* ---- runs ---- */

/* What a run has changed of what it found. taken: it was given up after that, or another one is tried. */
static void begin_again(const hdi_sched *s, const hdi_list *list, const hdi_schedule *taken)
{
    const hdi_decl *decl = s->decl;
    size_t queues = s->queues->count;
    int64_t live = 0;
    for (uint32_t slot = 0; slot < taken->slot_count; slot++) {
        uint32_t p = taken->slot_pass[slot];
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            uint32_t r = decl->use_res[u];
            hdi_sched_res *res = &s->res[r];
            if (s->alone || hdi_sched_has(s, res->last))
                res->left++;
            if (hdi_sched_has(s, res->first))
                res->open = false;
            if (hdi_sched_has(s, res->last))
                memset(&s->res_last_slots[r * queues], 0, queues * sizeof(*s->res_last_slots));
        }
    }
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank];
        hdi_list_node *node = &list->node[p - s->pass_begin];
        int64_t at = (int64_t)s->rank[rank].live;
        node->left = s->pass_need[p];
        node->ready = 0.0;
        list->alive_step[rank] = at - live;
        live = at;
    }
    list->alive_step[s->kept_count] = -live;
}

/* False: gave up, or memory ran out (arena->failed). taken: what was tried before. */
static bool run(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, const hdi_schedule *taken,
                hdi_schedule *out)
{
    if (taken->slot_count)
        begin_again(s, list, taken);
    memset(list->state, HDI_RANK_LEFT, s->kept_count + HDI_MOST_LIST_WINDOW);
    memset(list->pred, 0, (size_t)(s->pass_end - s->pass_begin) * s->queues->count * sizeof(*list->pred));
    return hdi_schedule_list(s, list, rules, out);
}

/* Queues that passes run on which have the choice: those for copies only where hand-offs leave so much of what they
 * take off the others that the frame is clearly shorter. */
static uint32_t find_queues(const hdi_sched *s, const hdi_list *list, double handoff_us, const bounds *limit)
{
    uint32_t narrow = 0;
    double gain = 0.0;
    for (uint32_t q = 0; q < s->queues->count; q++)
        narrow |= (uint32_t)(s->queues->kind[q] == HD_QUEUE_TRANSFER) << q;
    for (uint32_t k = 0; k < list->lane_count; k++) {
        const hdi_list_lane *l = &list->lane[k];
        if (l->queues & narrow && l->queues & ~narrow)
            gain += l->work_us / limit->wide_queues - handoff_us * l->count;
    }
    return gain > 0.01 * limit->least_us ? UINT32_MAX : ~narrow;
}

/* The queue that most work may run on. */
static uint32_t main_queue(const hdi_sched *s, const hdi_list *list)
{
    double most = -1.0;
    uint32_t best = 0;
    for (uint32_t q = 0; q < s->queues->gpu_count; q++) {
        double work_us = 0.0;
        for (uint32_t k = 0; k < list->lane_count; k++)
            work_us += list->lane[k].queues >> q & 1 ? list->lane[k].work_us : 0.0;
        if (work_us > most) {
            most = work_us;
            best = q;
        }
    }
    return best;
}

/* The makespan of a schedule with the price of hand-offs, that to what follows the frame too, where memory makes no
 * pass wait: how much of that the packing will need is not known yet. */
static double priced_us(const hdi_sched *s, const hdi_list *list, double handoff_us, uint32_t main,
                        const hdi_schedule *of)
{
    const hdi_depends *depends = s->depends;
    uint32_t knows[HD_MAX_QUEUES][HD_MAX_QUEUES] = {{0}}, queues = s->queues->count;
    double free_at[HD_MAX_QUEUES] = {0.0}, last = 0.0;
    for (uint32_t slot = 0; slot < of->slot_count; slot++) {
        uint32_t p = of->slot_pass[slot], q = of->slot_queue[slot];
        hdi_list_node *v = &list->node[p - s->pass_begin];
        double start = free_at[q];
        v->left = slot;
        for (size_t e = depends->pred_begin[p], end = depends->pred_begin[p + 1]; e < end; e++) {
            if (depends->pred[e] < s->pass_begin)
                continue;
            uint32_t from = list->node[depends->pred[e] - s->pass_begin].left;
            if (from < knows[q][of->slot_queue[from]])
                continue;
            double done = list->finish[from + 1] + handoff_us;
            start = done > start ? done : start;
            hdi_list_raise(knows[q], &list->clock[(size_t)(from + 1) * queues], queues);
        }
        knows[q][q] = slot + 1;
        memcpy(&list->clock[(size_t)(slot + 1) * queues], knows[q], queues * sizeof(knows[q][0]));
        list->finish[slot + 1] = free_at[q] = start + (double)v->cost;
        double done = free_at[q] + (q == main ? 0.0 : handoff_us);
        last = done > last ? done : last;
    }
    return last;
}

/* All that has the choice on one queue, where the frame is not longer then. */
static bool run_on_one(const hdi_sched *s, const hdi_list *list, hdi_list_rules rules, hdi_schedule *out)
{
    uint32_t q = main_queue(s, list);
    double work_us = 0.0;
    hdi_schedule several = *out;
    for (uint32_t k = 0; k < list->lane_count; k++)
        work_us += list->lane[k].queues >> q & 1 ? list->lane[k].work_us : 0.0;
    if (work_us >= several.makespan_us + rules.handoff_us ||
        work_us > priced_us(s, list, rules.handoff_us, q, &several))
        return true;
    rules.queues = 1u << q;
    return run(s, list, &rules, &several, out);
}

/* Within a fifth more memory than the passes need, or three times as much, where that makes the frame clearly
 * shorter. */
static bool run_caps(const hdi_sched *s, const hdi_list *list, const bounds *limit, hdi_list_rules *rules,
                     hdi_schedule *out)
{
    hdi_schedule lean, none = {.slot_count = 0};
    rules->least_rate = limit->rate / 1.1;
    bool done = run(s, list, rules, &none, &lean);
    *out = lean;
    if (s->arena->failed || (done && lean.makespan_us <= 1.1 * limit->least_us))
        return !s->arena->failed;
    rules->cap = 3 * s->peak;
    rules->window = WIDE_WINDOW;
    rules->patience = WIDE_PATIENCE;
    rules->least_rate = 0.0;
    if (!run(s, list, rules, &lean, out))
        return false;
    if (done && out->makespan_us > 0.97 * lean.makespan_us)
        *out = lean;
    return true;
}

hd_result hdi_schedule_queues(const hdi_sched *s, const hdi_goal *goal, hdi_schedule *out)
{
    hdi_list list;
    bool made = make_list(s, &list);
    chain *scratch = HDI_ARENA_ARRAY(s->arena, chain, s->pass_end - s->pass_begin);
    if (!made || !scratch)
        return HD_OUT_OF_MEMORY;
    count_uses(s);
    make_nodes(s, &list, scratch);
    if (s->mixed_uses)
        find_shared(s, &list);
    bounds limit = find_paths(s, goal->handoff_us, &list, scratch);
    hdi_list_rules rules = {
        .handoff_us = goal->handoff_us, .cap = s->peak, .window = LIST_WINDOW, .patience = LIST_PATIENCE};
    rules.queues = find_queues(s, &list, goal->handoff_us, &limit);
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
    const hdi_schedule none = {.slot_count = 0};
    bool one_run = goal->cap || goal->order != HD_ORDER_OVERLAP;
    bool done = one_run ? run(s, &list, &rules, &none, out) : run_caps(s, &list, &limit, &rules, out);
    rules.least_rate = 0.0;
    return done && run_on_one(s, &list, rules, out) ? HD_OK : HD_OUT_OF_MEMORY;
}
