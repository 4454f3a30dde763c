#include "schedule.h"

#include <string.h>

/* Schedule: order and queue of each kept pass. What both schedulers need is prepared here (ranks, levels, what each rank
 * keeps alive), then one of them runs: schedule_groups.c for one GPU queue, schedule_list.c for several.
 *
 *   overlap   one queue: the fewest groups between barriers that the memory allows. First as much as the passes would
 *             need by rank; where that leaves clearly more groups than the longest chain has, twice as much.
 *             Several queues: the shortest frame within a fifth more than that, or three times as much where that
 *             makes it clearly shorter.
 *   memory    groups within the memory that the passes need by rank
 *   declared  as declared; groups end where a dependence, a layout or the memory says so
 *
 * Serial. */

enum { WINDOW = 64, LIST_WINDOW = 48, WIDE_WINDOW = 80 };
#define SMALL_BYTES (UINT64_C(8) << 20) /* not worth a wait */

uint32_t hdi_allowed_kinds(const hdi_decl *decl, const hdi_queues *queues, uint32_t pass)
{
    static const uint8_t by_type[] = {
        [HD_PASS_GFX] = 1u << HD_QUEUE_GFX,
        [HD_PASS_COMPUTE] = 1u << HD_QUEUE_GFX | 1u << HD_QUEUE_COMPUTE,
        [HD_PASS_TRANSFER] = 1u << HD_QUEUE_GFX | 1u << HD_QUEUE_COMPUTE | 1u << HD_QUEUE_TRANSFER,
        [HD_PASS_HOST] = 1u << HD_QUEUE_HOST,
    };
    static const uint8_t by_pin[] = {
        [HD_PIN_NONE] = 0,
        [HD_PIN_GFX] = 1u << HD_QUEUE_GFX,
        [HD_PIN_COMPUTE] = 1u << HD_QUEUE_COMPUTE,
        [HD_PIN_TRANSFER] = 1u << HD_QUEUE_TRANSFER,
    };
    uint32_t kinds = by_type[decl->pass_type[pass]] & queues->kinds;
    uint32_t pinned = kinds & by_pin[decl->pass_pin[pass]];
    return pinned ? pinned : kinds;
}

/* ---- preparation ---- */

static hd_result number_ranks(hdi_sched *s, const hdi_kept *kept, uint32_t *bad_pass)
{
    const hdi_decl *decl = s->decl;
    uint32_t count = 0;
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        if (!kept->pass_kept[p])
            continue;
        if (hdi_allowed_kinds(decl, s->queues, p) == 0) {
            *bad_pass = p;
            return HD_NO_QUEUE;
        }
        s->pass_rank[p] = count;
        s->rank_pass[count++] = p;
    }
    s->kept_count = count;
    return HD_OK;
}

/* A pass lies one level behind the deepest that it depends on. */
static void find_levels(hdi_sched *s)
{
    const hdi_depends *depends = s->depends;
    uint32_t *level = s->pass_level, *next = s->pass_float, depth = 0;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank], end = depends->pred_begin[p + 1], deepest = 0;
        for (uint32_t e = depends->pred_begin[p]; e < end; e++) {
            uint32_t before = level[depends->pred[e]] + 1;
            deepest = before > deepest ? before : deepest;
        }
        for (uint32_t e = depends->pred_begin[p]; e < end; e++) {
            uint32_t *first = &next[depends->pred[e]];
            *first = deepest < *first ? deepest : *first;
        }
        level[p] = deepest;
        next[p] = HDI_NONE; /* level of its first consumer */
        depth = deepest + 1 > depth ? deepest + 1 : depth;
    }
    s->depth = depth;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank];
        next[p] = next[p] == HDI_NONE ? 0 : next[p] - level[p] - 1;
    }
}

/* What a look at all uses by rank finds out of a resource. */
typedef struct res_look {
    uint32_t first, last, uses;
    uint32_t layout; /* of its readers + 2; UNREAD, MIXED */
    uint8_t writers; /* 2: several */
} res_look;
enum { UNREAD = 0, MIXED = 1 };

static void flag_passes(hdi_sched *s, const res_look *look)
{
    const hdi_decl *decl = s->decl;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank], flags = 0;
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            uint32_t r = decl->use_res[u];
            flags |= look[r].layout == MIXED ? HDI_MIXED_LAYOUTS : 0;
            flags |= look[r].writers > 1 && s->res_bytes[r] ? HDI_MIXED_OPENERS : 0;
        }
        s->pass_mixed[p] = (uint8_t)flags;
    }
}

/* Who uses what when; which images are read in several layouts, what is overwritten by several, and by whom; and how
 * much is alive when passes run by rank. */
static bool look_at_uses(hdi_sched *s)
{
    const hdi_decl *decl = s->decl;
    res_look *look = HDI_ARENA_ZEROED(s->arena, res_look, decl->res_count);
    if (!look)
        return false;
    bool any = false;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank], end = decl->pass_use_begin[p + 1];
        for (uint32_t u = decl->pass_use_begin[p]; u < end; u++) {
            const hdi_access_info *access = &decl->access[decl->use_access[u]];
            res_look *of = &look[decl->use_res[u]];
            if (of->uses++ == 0)
                of->first = rank;
            of->last = rank;
            uint32_t layout = access->layout + 2;
            if (access->writes) {
                any |= of->writers;
                of->writers = (uint8_t)(of->writers ? 2 : 1);
            } else if (of->layout != layout && !(decl->res_flags[decl->use_res[u]] & HDI_RES_BUFFER)) {
                any |= of->layout != UNREAD;
                of->layout = of->layout == UNREAD ? layout : MIXED;
            }
        }
    }
    memset(s->pass_mixed, 0, decl->pass_count);
    if (any)
        flag_passes(s, look);
    memset(s->rank_live, 0, ((size_t)s->kept_count + 1) * sizeof(*s->rank_live));
    for (uint32_t r = 0; r < decl->res_count; r++) {
        s->res_uses[r] = look[r].uses;
        s->res_first[r] = look[r].first;
        s->res_last[r] = look[r].last;
        if (look[r].uses == 0 || s->res_bytes[r] == 0)
            continue;
        s->rank_live[look[r].first] += s->res_bytes[r];
        s->rank_live[look[r].last + 1] -= s->res_bytes[r]; /* unsigned wrap is undone by the running sum */
    }
    uint64_t live = 0, peak = 0;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        live += s->rank_live[rank];
        s->rank_live[rank] = live;
        peak = live > peak ? live : peak;
    }
    s->peak = peak;
    return true;
}

static hd_result prepare(hdi_sched *s, const hdi_kept *kept, const hdi_sizes *sizes, uint32_t *bad_pass)
{
    const hdi_decl *decl = s->decl;
    hdi_arena *arena = s->arena;
    s->rank_pass = HDI_ARENA_ARRAY(arena, uint32_t, kept->kept_count);
    s->pass_rank = HDI_ARENA_ARRAY(arena, uint32_t, decl->pass_count);
    s->pass_level = HDI_ARENA_ARRAY(arena, uint32_t, decl->pass_count);
    s->pass_float = HDI_ARENA_ARRAY(arena, uint32_t, decl->pass_count);
    s->pass_mixed = HDI_ARENA_ARRAY(arena, uint8_t, decl->pass_count);
    s->res_bytes = HDI_ARENA_ARRAY(arena, uint64_t, decl->res_count);
    s->res_uses = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    s->res_first = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    s->res_last = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    s->rank_live = HDI_ARENA_ARRAY(arena, uint64_t, (size_t)kept->kept_count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hd_result result = number_ranks(s, kept, bad_pass);
    if (result != HD_OK)
        return result;
    /* What shares memory with nobody costs the same in every order. */
    for (uint32_t r = 0; r < decl->res_count; r++)
        s->res_bytes[r] = sizes->res_persistent[r] || decl->res_flags[r] & HDI_RES_HOST ? 0 : sizes->need[r].bytes;
    find_levels(s);
    return look_at_uses(s) ? HD_OK : HD_OUT_OF_MEMORY;
}

/* ---- one GPU queue ---- */

static hd_result run_groups(const hdi_sched *s, const hdi_group_rules *rules, hdi_schedule *out)
{
    return hdi_schedule_groups(s, rules, out) ? HD_OK : HD_OUT_OF_MEMORY;
}

static hd_result one_queue(hdi_sched *s, const hdi_goal *goal, hdi_schedule *out)
{
    hdi_group_rules rules = {.cap = s->peak, .window = WINDOW, .most = HDI_NONE};
    if (goal->cap) {
        rules.cap = goal->cap > s->peak ? goal->cap : s->peak;
        rules.window = goal->window;
        rules.wait_in_float = true;
        return run_groups(s, &rules, out);
    }
    switch (goal->order) {
    case HD_ORDER_DECLARED:
        rules.in_order = true;
        return run_groups(s, &rules, out);
    case HD_ORDER_MEMORY:
        rules.wait_in_float = true;
        return run_groups(s, &rules, out);
    default:
        break;
    }
    rules.most = 2 * s->depth + 8;
    if (hdi_schedule_groups(s, &rules, out))
        return HD_OK;
    if (s->arena->failed)
        return HD_OUT_OF_MEMORY;
    rules = (hdi_group_rules){.cap = 2 * s->peak, .window = WINDOW, .most = HDI_NONE, .wait_in_float = true};
    return run_groups(s, &rules, out);
}

/* ---- several ---- */

static hd_result run_list(const hdi_sched *s, const hdi_list_rules *rules, hdi_schedule *out)
{
    return hdi_schedule_list(s, rules, out) ? HD_OK : HD_OUT_OF_MEMORY;
}

/* No schedule is shorter: the longest chain, the passes that only gfx queues run, all passes on all queues. */
typedef struct bounds {
    double least_us;
    double rate; /* work a microsecond at which the last of these is met, where it is what counts; else 0 */
} bounds;

static bounds find_bounds(const hdi_sched *s)
{
    const hdi_decl *decl = s->decl;
    double all = 0.0, gfx = 0.0, chain = 0.0;
    float *path = HDI_ARENA_ZEROED(s->arena, float, decl->pass_count);
    if (!path)
        return (bounds){0.0, 0.0};
    uint32_t gfx_queues = 0, wide_queues = 0;
    for (uint32_t q = 0; q < s->queues->gpu_count; q++) {
        gfx_queues += s->queues->kind[q] == HD_QUEUE_GFX;
        wide_queues += s->queues->kind[q] != HD_QUEUE_TRANSFER;
    }
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank];
        for (uint32_t e = s->depends->pred_begin[p]; e < s->depends->pred_begin[p + 1]; e++) {
            float before = path[s->depends->pred[e]];
            path[p] = before > path[p] ? before : path[p];
        }
        bool follows = s->depends->pred_begin[p] != s->depends->pred_begin[p + 1];
        path[p] += decl->pass_cost[p] + (follows ? (float)HDI_DRAIN_US : 0.0f);
        chain = (double)path[p] > chain ? (double)path[p] : chain;
        uint32_t type = decl->pass_type[p];
        all += type == HD_PASS_GFX || type == HD_PASS_COMPUTE ? (double)decl->pass_cost[p] : 0.0;
        gfx += type == HD_PASS_GFX ? (double)decl->pass_cost[p] : 0.0;
    }
    gfx = gfx_queues ? gfx / gfx_queues : 0.0;
    all = wide_queues ? all / wide_queues : 0.0;
    double most = chain > gfx ? chain : gfx;
    return most > all ? (bounds){most, 0.0} : (bounds){all, wide_queues};
}

static hd_result several_queues(const hdi_sched *s, const hdi_goal *goal, hdi_schedule *out)
{
    hdi_list_rules rules = {.order = goal->order, .handoff_us = goal->handoff_us, .cap = s->peak, .window = LIST_WINDOW};
    if (goal->cap) {
        rules.cap = goal->cap > s->peak ? goal->cap : s->peak;
        rules.window = goal->window < LIST_WINDOW ? goal->window : LIST_WINDOW;
        return run_list(s, &rules, out);
    }
    if (goal->order == HD_ORDER_MEMORY)
        return run_list(s, &rules, out);
    rules.cap = s->peak + (s->peak / 5 > SMALL_BYTES ? s->peak / 5 : SMALL_BYTES);
    if (goal->order == HD_ORDER_DECLARED) {
        rules.window = 1;
        return run_list(s, &rules, out);
    }
    bounds limit = find_bounds(s);
    rules.least_rate = limit.rate / 1.1;
    bool done = hdi_schedule_list(s, &rules, out);
    if (s->arena->failed || (done && out->makespan_us <= 1.1 * limit.least_us))
        return s->arena->failed ? HD_OUT_OF_MEMORY : HD_OK;
    hdi_schedule lean = *out;
    rules = (hdi_list_rules){.order = goal->order, .handoff_us = goal->handoff_us, .cap = 3 * s->peak, .window = WIDE_WINDOW};
    hd_result result = run_list(s, &rules, out);
    if (result == HD_OK && done && out->makespan_us > 0.97 * lean.makespan_us)
        *out = lean;
    return result;
}

hd_result hdi_schedule_passes(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept,
                              const hdi_depends *depends, const hdi_sizes *sizes, const hdi_queues *queues,
                              const hdi_goal *goal, hdi_arena *arena, hdi_schedule *out, uint32_t *bad_pass)
{
    hdi_sched s = {.decl = decl, .frozen = frozen, .depends = depends, .queues = queues, .arena = arena};
    hdi_arena_mark mark = hdi_arena_here(arena);
    *out = (hdi_schedule){0};
    hd_result result = prepare(&s, kept, sizes, bad_pass);
    if (result != HD_OK)
        return result;
    result = queues->gpu_count == 1 ? one_queue(&s, goal, out) : several_queues(&s, goal, out);
    out->peak_bytes = s.peak;
    if (result != HD_OK)
        return result;
    const hdi_arena_kept out_arrays[] = {{&out->slot_pass, out->slot_count * sizeof(*out->slot_pass)},
                                         {&out->slot_queue, out->slot_count * sizeof(*out->slot_queue)},
                                         {&out->slot_group, out->slot_count * sizeof(*out->slot_group)},
                                         {&out->edge, out->edge_count * sizeof(*out->edge)}};
    hdi_arena_keep(arena, mark, out_arrays, 4);
    return HD_OK;
}
