#include "schedule_list.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Several GPU queues: what the list scheduler needs, prepared once, and what it is run with (schedule.c says what for).
 * O(uses + edges). */

enum { PATIENCE = 3 }; /* levels behind a pass from which on its first consumer waits for others anyway */
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
        list->lane[list->lane_count++] = (hdi_list_lane){mask, foreign};
    return (uint8_t)k;
}

/* What it opens for certain, and what others might open before it. False: nothing. */
static HDI_APART bool look_alone(const hdi_sched *s, uint32_t pass, uint32_t rank, hdi_list_alone *out)
{
    const hdi_decl *decl = s->decl;
    const uint32_t *use_res = decl->use_res;
    uint32_t begin = decl->pass_use_begin[pass], end = decl->pass_use_begin[pass + 1];
    uint32_t count = 0, first = 0, others = 0;
    int64_t bytes = (int64_t)s->rank[rank].opens;
    for (uint32_t u = begin; u < end; u++) {
        uint32_t r = use_res[u];
        hdi_sched_res *res = &s->res[r];
        if (!hdi_list_shares(s, res))
            continue;
        first = count++ ? first : r;
        others |= r ^ first;
        if (res->first != s->rank_begin + rank || res->apart) /* or it was used before in the pass */
            continue;
        bytes -= (int64_t)res->bytes;
        res->apart = true;
    }
    *out = (hdi_list_alone){bytes, others ? HDI_NONE : first, count};
    return count != 0;
}

/* Passes that may open what others might open before them. Over uses: how many a pass has nobody can foresee. */
static HDI_APART void find_shared(const hdi_sched *s, const hdi_list *list)
{
    const hdi_decl *decl = s->decl;
    const uint32_t *use_begin = decl->pass_use_begin, *use_res = decl->use_res, *rank_pass = s->rank_pass;
    const uint8_t *use_flags = decl->use_flags;
    const hdi_sched_res *res = s->res;
    for (size_t u = use_begin[s->pass_begin], end = use_begin[rank_pass[s->kept_count - 1] + 1]; u < end; u++) {
        if (use_flags[u] & HDI_USE_READS || HDI_LIKELY(!(res[use_res[u]].mixed & HDI_MIXED_OPENERS)))
            continue;
        uint32_t pass = decl->use_pass[u], rank = s->pass_rank[pass] - s->rank_begin, place = pass - s->pass_begin;
        u = use_begin[pass + 1] - 1;
        if (rank_pass[rank] == pass && look_alone(s, pass, rank, &list->alone[place])) /* else it is culled */
            list->node[place].flags |= HDI_NODE_SHARED;
    }
}

/* By type of pass and where it is pinned: the lane of such passes, or one of these. */
enum { UNKNOWN_LANE = 0xff, DEPTH_LANE = 0xfe }; /* nobody asked yet; who copies depth has another one than others */

typedef struct lanes {
    uint8_t of[4][4], by_depth[4][4][2]; /* by_depth: for DEPTH_LANE, [1] of those who copy it */
    uint64_t copies; /* accesses that copy: a bit for all that are the same modulo 64 */
} lanes;

static void begin_lanes(const hdi_sched *s, lanes *l)
{
    const hdi_decl *decl = s->decl;
    memset(l, UNKNOWN_LANE, sizeof(*l));
    l->copies = 0;
    for (uint32_t a = 0; s->may_copy_depth && a < decl->access_count; a++) {
        if (hdi_copies(&decl->access[a]))
            l->copies |= (uint64_t)1 << (a & 63);
    }
}

static HDI_APART uint8_t look_for_lane(const hdi_sched *s, hdi_list *list, lanes *l, uint32_t pass)
{
    const uint32_t gfx = 1u << HD_QUEUE_GFX;
    const hdi_decl *decl = s->decl;
    uint32_t type = decl->pass_type[pass], pin = decl->pass_pin[pass], kinds = hdi_type_kinds(type) & s->queues->kinds;
    uint8_t *lane = &l->of[type][pin];
    if (*lane == DEPTH_LANE) {
        uint64_t copies = 0;
        for (size_t u = decl->pass_use_begin[pass], end = decl->pass_use_begin[pass + 1]; u < end; u++)
            copies |= l->copies >> (decl->use_access[u] & 63);
        lane = &l->by_depth[type][pin][copies & 1 && hdi_copies_depth(decl, pass)];
    }
    if (*lane != UNKNOWN_LANE)
        return *lane;
    uint8_t found = find_lane(s, list, type, hdi_allowed_kinds(decl, s->queues, pass));
    *lane = found;
    if (l->copies && !(kinds & hdi_pin_kinds(pin)) && kinds & gfx && kinds != gfx) {
        l->by_depth[type][pin][hdi_copies_depth(decl, pass)] = found;
        l->of[type][pin] = DEPTH_LANE;
    }
    return found;
}

static HDI_INLINE uint8_t lane_of(const hdi_sched *s, hdi_list *list, lanes *l, size_t pass)
{
    uint8_t lane = l->of[s->decl->pass_type[pass]][s->decl->pass_pin[pass]];
    return HDI_LIKELY(lane < DEPTH_LANE) ? lane : look_for_lane(s, list, l, (uint32_t)pass);
}

/* What a pass has before and behind it. Read as floats, all are not negative, which order as their bits do: so one
 * maximum finds the longest paths and the first consumer. */
typedef float chain_lanes __attribute__((vector_size(16)));
typedef union chain {
    chain_lanes all;
    struct {
        float path;     /* microseconds to the end */
        float drained;  /* the same with a barrier behind each pass and one in front of it */
        uint32_t level; /* HIGHEST_LEVEL, or one less than the lowest of those that it depends on */
        uint32_t none;  /* 0: whatever else stood here might be slow to add to */
    };
} chain;
#define HIGHEST_LEVEL UINT32_C(0x7f000000) /* of a finite float */

static bounds bounds_of(const hdi_queues *queues, float longest, const double *work)
{
    uint32_t gfx_queues = 0, wide_queues = 0;
    for (uint32_t q = 0; q < queues->gpu_count; q++) {
        gfx_queues += queues->kind[q] == HD_QUEUE_GFX;
        wide_queues += queues->kind[q] != HD_QUEUE_TRANSFER;
    }
    double gfx = gfx_queues ? work[HD_PASS_GFX] / gfx_queues : 0.0;
    double all = wide_queues ? (work[HD_PASS_GFX] + work[HD_PASS_COMPUTE]) / wide_queues : 0.0;
    double most = (double)longest > gfx ? (double)longest : gfx;
    return most > all ? (bounds){most, 0.0} : (bounds){all, wide_queues};
}

/* All of a pass but how long it is to the end. whole: of a frame, not of a region; level: there, null or known. */
static HDI_INLINE void make_nodes(const hdi_sched *s, double handoff_us, hdi_list *list, bool whole,
                                  const uint32_t *level, chain *of_place)
{
    const hdi_decl *decl = s->decl;
    const uint32_t *pred_begin = s->depends->pred_begin, *all_preds = s->depends->pred, *rank_pass = s->rank_pass;
    const hdi_sched_rank *by_rank = s->rank;
    const float *pass_cost = decl->pass_cost;
    uint32_t pass_begin = whole ? 0 : s->pass_begin, kept = s->kept_count, roots = 0;
    uint32_t *pass_need = s->pass_need, *root = list->root;
    hdi_list_node *node = list->node;
    int64_t *alive_step = list->alive_step, before = 0; /* bytes alive at the rank before */
    lanes l;
    begin_lanes(s, &l);
    for (size_t rank = 0; rank < kept; rank++) {
        size_t p = rank_pass[rank], place = p - pass_begin;
        const uint32_t *pred = all_preds + pred_begin[p], *end = all_preds + pred_begin[p + 1];
        uint32_t lowest = HIGHEST_LEVEL + 1, left = whole ? (uint32_t)(end - pred) : 0;
        for (; !level && pred < end; pred++) {
            if (!whole && *pred < pass_begin)
                continue;
            uint32_t lower = of_place[*pred - pass_begin].level;
            lowest = lower < lowest ? lower : lowest;
            HDI_HIDE(lowest); /* else vectors are set up for two or three */
            left += !whole;
        }
        of_place[place].level = level ? HIGHEST_LEVEL - level[p] : lowest - 1;
        of_place[place].none = 0;
        pass_need[p] = left;
        root[roots] = (uint32_t)place;
        roots += left == 0;
        int64_t live = (int64_t)by_rank[rank].live;
        alive_step[rank] = live - before;
        before = live;
        float cost = pass_cost[p];
        hdi_list_node *own = &node[place];
        own->pred[0] = own->pred[1] = 0;
        own->bytes = (int64_t)by_rank[rank].opens;
        own->bias = (float)(handoff_us + 0.25 * (double)cost);
        own->cost = cost;
        own->left = left;
        own->rank = (uint32_t)rank;
        own->lane = lane_of(s, list, &l, p);
        own->flags = 0;
    }
    alive_step[kept] = -before;
    list->root_count = roots;
    if (s->mixed_uses)
        find_shared(s, list);
}

static HDI_INLINE chain_lanes most_of(chain_lanes a, chain_lanes b)
{
#ifdef __SSE2__
    return _mm_max_ps(a, b);
#else
    for (int k = 0; k < 3; k++)
        a[k] = a[k] > b[k] ? a[k] : b[k];
    return a;
#endif
}

/* The first two lanes of one, the others of the other. */
static HDI_INLINE chain_lanes half_and_half(chain_lanes paths, chain_lanes others)
{
#ifdef __SSE2__
    return _mm_shuffle_ps(paths, others, _MM_SHUFFLE(3, 2, 1, 0));
#else
    others[0] = paths[0];
    others[1] = paths[1];
    return others;
#endif
}

/* By rank backwards. */
static HDI_INLINE bounds find_paths(const hdi_sched *s, const hdi_list *list, bool whole, chain *of_place)
{
    const hdi_decl *decl = s->decl;
    const uint32_t *succ_begin = s->depends->succ_begin, *all_succs = s->depends->succ, *rank_pass = s->rank_pass;
    const float *pass_cost = decl->pass_cost;
    const uint8_t *pass_type = decl->pass_type;
    size_t pass_begin = whole ? 0 : s->pass_begin, count = s->pass_end - pass_begin;
    hdi_list_node *node = list->node;
    double work[4] = {0.0};
    chain_lanes longest = {0.0f};
    for (uint32_t rank = s->kept_count; rank-- > 0;) {
        size_t p = rank_pass[rank], place = p - pass_begin;
        float cost = pass_cost[p];
        chain behind = {.all = {0.0f}}, own, *out = &of_place[place];
        const uint32_t *succ = all_succs + succ_begin[p], *end = all_succs + succ_begin[p + 1];
        for (; succ < end; succ++) {
            size_t next = *succ - pass_begin;
            if (whole || next < count)
                behind.all = most_of(behind.all, of_place[next].all);
        }
        uint32_t consumer = behind.level, bits;
        own.all = behind.all + (chain_lanes){cost, cost};
        longest = most_of(longest, own.all);
        work[pass_type[p]] += (double)cost;
        memcpy(&bits, &own.path, sizeof(bits)); /* not negative: they order as it does */
        node[place].key = (uint64_t)~bits << 32 | (uint32_t)place;
        if (consumer && out->level - consumer > PATIENCE)
            node[place].flags |= HDI_NODE_PATIENT;
        own.all += (chain_lanes){0.0f, (float)HDI_DRAIN_US};
        out->all = half_and_half(own.all, out->all);
    }
    return bounds_of(s->queues, longest[1], work);
}

/* Passes that are not kept have no edges. */
static bounds find_passes(const hdi_sched *s, double handoff_us, hdi_list *list, chain *of_place)
{
    if (s->whole) {
        if (s->depends->level)
            make_nodes(s, handoff_us, list, true, s->depends->level, of_place);
        else
            make_nodes(s, handoff_us, list, true, NULL, of_place);
        return find_paths(s, list, true, of_place);
    }
    make_nodes(s, handoff_us, list, false, NULL, of_place);
    return find_paths(s, list, false, of_place);
}

static bool prepare(const hdi_sched *s, hdi_list *list)
{
    hdi_arena *arena = s->arena;
    uint32_t n = s->queues->count, kept = s->kept_count, passes = s->pass_end - s->pass_begin;
    uint32_t words = s->clock_words;
    *list = (hdi_list){0};
    list->node = HDI_ARENA_ARRAY(arena, hdi_list_node, passes);
    list->pred = HDI_ARENA_ARRAY(arena, uint64_t, words > 1 ? (size_t)passes * words : 0);
    list->root = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)kept + 1);
    list->alone = HDI_ARENA_ARRAY(arena, hdi_list_alone, s->mixed_uses ? passes : 0);
    list->state = HDI_ARENA_ARRAY(arena, uint8_t, (size_t)kept + HDI_MOST_LIST_WINDOW);
    list->opener = HDI_ARENA_ARRAY(arena, hdi_list_opener, kept);
    list->clock = HDI_ARENA_ARRAY(arena, uint64_t, words > 1 ? ((size_t)kept + 1) * words : 0);
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

/* What a run has changed of what it found. taken: it was given up after that. */
static void begin_again(const hdi_sched *s, const hdi_list *list, const hdi_schedule *taken)
{
    const hdi_decl *decl = s->decl;
    size_t words = s->clock_words;
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
            if (!hdi_sched_has(s, res->last))
                continue;
            res->slots = words == 1 ? 0 : res->slots;
            for (size_t k = 0; words > 1 && k < words; k++)
                s->res_last_slots[r * words + k] = 0;
        }
    }
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank];
        hdi_list_node *node = &list->node[p - s->pass_begin];
        int64_t at = (int64_t)s->rank[rank].live;
        node->pred[0] = node->pred[1] = 0;
        node->left = s->pass_need[p];
        list->alive_step[rank] = at - live;
        live = at;
    }
    list->alive_step[s->kept_count] = -live;
}

static bool run(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, bool again, hdi_schedule *out)
{
    if (again)
        begin_again(s, list, out);
    memset(list->state, HDI_RANK_LEFT, s->kept_count + HDI_MOST_LIST_WINDOW);
    if (s->clock_words > 1)
        memset(list->pred, 0, (size_t)(s->pass_end - s->pass_begin) * s->clock_words * sizeof(*list->pred));
    return hdi_schedule_list(s, list, rules, out);
}

/* Whether passes by rank, each as soon as it can on the queue that is free first, come near the bounds: all of a short
 * frame, else the first ones, by their rate, where that counts. Where they are far from it, what runs side by side
 * stands far apart, and so it takes memory for both: without that a run is given up, late in a short frame. A frame
 * whose lean run was kept came to 1.33 times the least, or 0.96 of the rate; others to 1.44, or 0.84. O(their edges)
 */
static bool is_near(const hdi_sched *s, const hdi_list *list, const bounds *limit)
{
    enum { SHORT = 64, FEW = 32, PART = 8 };
    const uint32_t *pred_begin = s->depends->pred_begin, *pred = s->depends->pred;
    double free_at[HD_MAX_QUEUES] = {0.0}, *finish = list->finish, work_us = 0.0, last = 0.0;
    uint32_t kept = s->kept_count, count = kept / PART > FEW ? kept / PART : FEW;
    bool all = kept < SHORT;
    if (!all && limit->rate <= 0.0)
        return true;
    count = all ? kept : count;
    for (uint32_t rank = 0; rank < count; rank++) {
        uint32_t p = s->rank_pass[rank];
        const hdi_list_node *v = &list->node[p - s->pass_begin];
        uint32_t mask = list->lane[v->lane].queues, best = (uint32_t)__builtin_ctz(mask);
        for (mask &= mask - 1; mask; mask &= mask - 1) {
            uint32_t q = (uint32_t)__builtin_ctz(mask);
            best = free_at[q] < free_at[best] ? q : best;
        }
        double start = free_at[best];
        for (uint32_t e = pred_begin[p]; e < pred_begin[p + 1]; e++) {
            double done = pred[e] < s->pass_begin ? 0.0 : finish[s->pass_rank[pred[e]] - s->rank_begin];
            start = done > start ? done : start;
        }
        free_at[best] = finish[rank] = start + (double)v->cost;
        last = finish[rank] > last ? finish[rank] : last;
        work_us += (double)v->cost;
    }
    return all ? last <= 1.4 * limit->least_us : work_us >= 0.88 * limit->rate * last;
}

hd_result hdi_schedule_queues(const hdi_sched *s, const hdi_goal *goal, hdi_schedule *out)
{
    hdi_list list;
    hdi_list_rules rules = {.handoff_us = goal->handoff_us, .cap = s->peak, .window = LIST_WINDOW};
    if (!prepare(s, &list))
        return HD_OUT_OF_MEMORY;
    chain *scratch = HDI_ARENA_ARRAY(s->arena, chain, s->pass_end - s->pass_begin);
    if (!scratch)
        return HD_OUT_OF_MEMORY;
    count_uses(s);
    bounds limit = find_passes(s, goal->handoff_us, &list, scratch);
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
        return run(s, &list, &rules, false, out) ? HD_OK : HD_OUT_OF_MEMORY;
    rules.least_rate = limit.rate / 1.1;
    bool lean = is_near(s, &list, &limit);
    bool done = lean && run(s, &list, &rules, false, out);
    if (s->arena->failed || (done && out->makespan_us <= 1.1 * limit.least_us))
        return s->arena->failed ? HD_OUT_OF_MEMORY : HD_OK;
    hdi_schedule of_lean = *out;
    rules = (hdi_list_rules){.handoff_us = goal->handoff_us, .cap = 3 * s->peak, .window = WIDE_WINDOW};
    if (!run(s, &list, &rules, lean, out))
        return HD_OUT_OF_MEMORY;
    if (done && out->makespan_us > 0.97 * of_lean.makespan_us)
        *out = of_lean;
    return HD_OK;
}
