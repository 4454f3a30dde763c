#include "schedule_list.h"

#include <string.h>

#include "bitset.h"

/* Several GPU queues: what the list scheduler needs, prepared once, and what it is run with (schedule.c says what for).
 * O(uses + edges). */

enum { LIST_WINDOW = 48, WIDE_WINDOW = HDI_MOST_LIST_WINDOW };

/* No schedule is shorter: the longest chain, the passes that only gfx queues run, all passes on all queues. */
typedef struct bounds {
    double least_us;
    double rate; /* work a microsecond at which the last of these is met, where it is what counts; else 0 */
} bounds;

/* The lane of passes of a type that run on some kinds of queues. */
static uint8_t find_lane(const hdi_sched *s, hdi_list *list, uint32_t type, uint32_t kinds)
{
    const hdi_queues *queues = s->queues;
    uint16_t mask = 0, native = 0;
    for (uint32_t q = 0; q < queues->count; q++) {
        mask |= (uint16_t)((kinds >> queues->kind[q] & 1) << q);
        native |= (uint16_t)((queues->kind[q] == type) << q);
    }
    native = mask & (mask - 1) ? native & mask : mask;
    uint32_t k = 0;
    while (k < list->lane_count && (list->lane[k].queues != mask || list->lane[k].native != native))
        k++;
    if (k == list->lane_count) {
        uint64_t *key = HDI_ARENA_ARRAY(s->arena, uint64_t, HDI_LANE_KEYS);
        list->lane[list->lane_count++] = (hdi_list_lane){.key = key, .queues = mask, .native = native};
    }
    return (uint8_t)k;
}

/* Of what a pass opens, that which others might open before it. */
static void leave_out_shared(const hdi_sched *s, uint32_t pass, uint32_t rank, hdi_list_node *node)
{
    const hdi_decl *decl = s->decl;
    uint32_t begin = decl->pass_use_begin[pass];
    for (uint32_t u = begin; u < decl->pass_use_begin[pass + 1]; u++) {
        const hdi_sched_res *res = &s->res[decl->use_res[u]];
        if (res->mixed & HDI_MIXED_OPENERS && res->first == s->rank_begin + rank && hdi_sched_is_first(decl, begin, u))
            node->bytes -= (int64_t)res->bytes;
    }
    node->alone = node->bytes;
}

/* By rank backwards, so that paths to the end are known. */
static bounds make_nodes(const hdi_sched *s, double handoff_us, hdi_list *list)
{
    const hdi_decl *decl = s->decl;
    hdi_list_node *node = list->node;
    uint8_t lane_of[4][16];
    double work[4] = {0.0};
    float chain = 0.0f;
    memset(lane_of, 0xff, sizeof(lane_of));
    for (uint32_t rank = s->kept_count; rank-- > 0;) {
        uint32_t p = s->rank_pass[rank], type = decl->pass_type[p], kinds = hdi_allowed_kinds(decl, s->queues, p);
        float path = 0.0f, drained = 0.0f, cost = decl->pass_cost[p]; /* drained: with a barrier behind each pass */
        for (uint32_t e = s->depends->succ_begin[p], end = s->depends->succ_begin[p + 1]; e < end; e++) {
            uint32_t next = s->pass_rank[s->depends->succ[e]] - s->rank_begin;
            if (!s->whole && next >= s->kept_count)
                continue;
            float behind = node[next].ready + (float)HDI_DRAIN_US; /* kept there for now */
            path = node[next].path > path ? node[next].path : path;
            drained = behind > drained ? behind : drained;
        }
        if (lane_of[type][kinds] == 0xff)
            lane_of[type][kinds] = find_lane(s, list, type, kinds);
        path += cost;
        drained += cost;
        chain = drained > chain ? drained : chain;
        work[type] += (double)cost;
        node[rank] = (hdi_list_node){.bytes = (int64_t)s->rank[rank].opens,
                                     .path = path,
                                     .cost = cost,
                                     .ready = drained,
                                     .bias = handoff_us + 0.25 * (double)cost,
                                     .preds = s->pass_need[p],
                                     .lane = lane_of[type][kinds],
                                     .patient = hdi_sched_float(s, p) > 2,
                                     .shared = s->pass_mixed[p] != 0};
        if (s->pass_mixed[p])
            leave_out_shared(s, p, rank, &node[rank]);
    }
    node[s->kept_count] = (hdi_list_node){0}; /* is never taken */

    uint32_t gfx_queues = 0, wide_queues = 0;
    for (uint32_t q = 0; q < s->queues->gpu_count; q++) {
        gfx_queues += s->queues->kind[q] == HD_QUEUE_GFX;
        wide_queues += s->queues->kind[q] != HD_QUEUE_TRANSFER;
    }
    double gfx = gfx_queues ? work[HD_PASS_GFX] / gfx_queues : 0.0;
    double all = wide_queues ? (work[HD_PASS_GFX] + work[HD_PASS_COMPUTE]) / wide_queues : 0.0;
    double most = (double)chain > gfx ? (double)chain : gfx;
    return most > all ? (bounds){most, 0.0} : (bounds){all, wide_queues};
}

static bool prepare(const hdi_sched *s, hdi_list *list)
{
    hdi_arena *arena = s->arena;
    uint32_t n = s->queues->count, kept = s->kept_count;
    *list = (hdi_list){0};
    list->node = HDI_ARENA_ARRAY(arena, hdi_list_node, (size_t)kept + 1);
    list->newest_pred = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)kept * n);
    list->waiting = HDI_ARENA_ARRAY(arena, uint64_t, (size_t)hdi_bit_words(kept + HDI_MOST_LIST_WINDOW) + 1);
    list->shared = HDI_ARENA_ARRAY(arena, uint32_t, kept);
    list->clock = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)kept * n);
    list->finish = HDI_ARENA_ARRAY(arena, double, kept);
    list->early_step = HDI_ARENA_ARRAY(arena, int64_t, (size_t)kept + 1);
    for (uint32_t q = 0; q < n; q++)
        list->closing[q] = HDI_ARENA_ARRAY(arena, hdi_list_closing, s->use_count);
    return !arena->failed;
}

/* Uses to come, and what nobody has opened or used yet. */
static void clear_resources(const hdi_sched *s)
{
    const hdi_decl *decl = s->decl;
    hdi_sched_res *all = s->res;
    size_t n = s->queues->count, each = n * sizeof(*s->res_queue_last);
    if (s->whole) {
        for (uint32_t r = 0; r < decl->res_count; r++) {
            all[r].left = all[r].uses;
            all[r].open = false;
        }
        memset(s->res_queue_last, 0, decl->res_count * each);
        return;
    }
    uint32_t begin = decl->pass_use_begin[s->pass_begin], end = decl->pass_use_begin[s->pass_end];
    for (uint32_t u = begin; u < end; u++) {
        uint32_t r = decl->use_res[u];
        if (hdi_sched_has(s, all[r].first))
            all[r].open = false;
        if (!hdi_sched_has(s, all[r].last))
            continue;
        all[r].left = 0;
        memset(&s->res_queue_last[r * n], 0, each);
    }
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank];
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            if (hdi_sched_has(s, all[decl->use_res[u]].last))
                all[decl->use_res[u]].left++;
        }
    }
}

void hdi_list_reset(const hdi_sched *s, const hdi_list *list)
{
    uint32_t n = s->queues->count, kept = s->kept_count;
    memset(list->newest_pred, 0, (size_t)kept * n * sizeof(*list->newest_pred));
    memset(list->early_step, 0, ((size_t)kept + 1) * sizeof(*list->early_step));
    memset(list->waiting, 0, ((size_t)hdi_bit_words(kept + HDI_MOST_LIST_WINDOW) + 1) * sizeof(*list->waiting));
    for (uint32_t rank = 0; rank < kept; rank++) {
        list->node[rank].left = list->node[rank].preds;
        list->node[rank].pred_queues = 0;
    }
    clear_resources(s);
}

static hd_result run_list(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, hdi_schedule *out)
{
    return hdi_schedule_list(s, list, rules, out) ? HD_OK : HD_OUT_OF_MEMORY;
}

hd_result hdi_schedule_queues(const hdi_sched *s, const hdi_goal *goal, hdi_schedule *out)
{
    hdi_list list;
    hdi_list_rules rules = {.handoff_us = goal->handoff_us, .cap = s->peak, .window = LIST_WINDOW};
    if (!prepare(s, &list))
        return HD_OUT_OF_MEMORY;
    bounds limit = make_nodes(s, goal->handoff_us, &list);
    if (s->arena->failed)
        return HD_OUT_OF_MEMORY;
    if (goal->cap) {
        rules.cap = goal->cap > s->peak ? goal->cap : s->peak;
        rules.window = goal->window < LIST_WINDOW ? goal->window : LIST_WINDOW;
    } else if (goal->order != HD_ORDER_MEMORY) {
        rules.cap = s->peak + (s->peak / 5 > HDI_SMALL_BYTES ? s->peak / 5 : HDI_SMALL_BYTES);
    }
    if (goal->order == HD_ORDER_DECLARED)
        rules.window = 1;
    if (goal->cap || goal->order != HD_ORDER_OVERLAP)
        return run_list(s, &list, &rules, out);
    rules.least_rate = limit.rate / 1.1;
    bool done = hdi_schedule_list(s, &list, &rules, out);
    if (s->arena->failed || (done && out->makespan_us <= 1.1 * limit.least_us))
        return s->arena->failed ? HD_OUT_OF_MEMORY : HD_OK;
    hdi_schedule lean = *out;
    rules = (hdi_list_rules){.handoff_us = goal->handoff_us, .cap = 3 * s->peak, .window = WIDE_WINDOW};
    hd_result result = run_list(s, &list, &rules, out);
    if (result == HD_OK && done && out->makespan_us > 0.97 * lean.makespan_us)
        *out = lean;
    return result;
}
