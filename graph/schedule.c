#include "schedule.h"

#include <string.h>

#include "vk_numbers.h"

/* Schedule: order and queue of each kept pass. What both schedulers need is prepared here (ranks, levels, what each rank
 * keeps alive), then one of them runs: schedule_groups.c for one GPU queue, schedule_list.c for several.
 *
 *   overlap   one queue: the fewest groups between barriers that the memory allows. First as much as the passes would
 *             need by rank, or a few MiB; where that leaves clearly more groups than the longest chain has, twice as much.
 *             Several queues: the shortest frame within a fifth more than that, or three times as much where that
 *             makes it clearly shorter.
 *   memory    groups within the memory that the passes need by rank
 *   declared  as declared; groups end where a dependence, a layout or the memory says so
 *
 * A scheduler takes one pass after another, so a long frame is cut into regions, runs of ranks that are scheduled side by
 * side, as if everything before were done: the order of the frame is that of its regions. Where they end depends on the
 * ranks and on the bytes alive there, and on nothing else; so there is the same plan with any number of workers. Letting
 * later phases stream behind one scheduler instead would leave the frame waiting for it, and it takes a third of all.
 * A cut costs what could have been moved across it: a group, or on several queues what these wait for one another. */

enum { WINDOW = 64, LIST_WINDOW = 48, WIDE_WINDOW = 80 };
#define SMALL_BYTES (UINT64_C(8) << 20) /* not worth a wait or a barrier */

/* Vulkan copies and clears depth and stencil on graphics queues only, whatever the type of the pass. */
static bool copies_depth(const hdi_decl *decl, uint32_t pass)
{
    const uint64_t copies = HDI_STAGE_COPY | HDI_STAGE_BLIT | HDI_STAGE_RESOLVE | HDI_STAGE_CLEAR;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        uint32_t res = decl->use_res[u];
        if (decl->access[decl->use_access[u]].stages & copies && !(decl->res_flags[res] & HDI_RES_BUFFER) &&
            (hdi_format_has_depth(decl->res_info[res].format) || hdi_format_has_stencil(decl->res_info[res].format)))
            return true;
    }
    return false;
}

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
    const uint32_t gfx = 1u << HD_QUEUE_GFX;
    if (!pinned && kinds & gfx && kinds != gfx && copies_depth(decl, pass))
        return gfx;
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
    const uint32_t *pass_rank = s->pass_rank;
    uint32_t rank_begin = s->rank_begin;
    uint32_t *level = s->pass_level, *next = s->pass_float, depth = 0;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank], end = depends->pred_begin[p + 1], deepest = 0;
        for (uint32_t e = depends->pred_begin[p]; e < end; e++) {
            uint32_t before = depends->pred[e];
            if (rank_begin && pass_rank[before] < rank_begin)
                continue;
            deepest = level[before] + 1 > deepest ? level[before] + 1 : deepest;
        }
        for (uint32_t e = depends->pred_begin[p]; e < end; e++) {
            uint32_t before = depends->pred[e];
            if (!rank_begin || pass_rank[before] >= rank_begin)
                next[before] = deepest < next[before] ? deepest : next[before];
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

typedef struct look_work {
    hdi_sched *s;
    const hdi_sizes *sizes;
    uint32_t parts;
    res_look *look;
    bool any[HDI_MOST_PARTS];
} look_work;

/* Who uses what when; which images are read in several layouts and what is overwritten by several. Each part looks at all
 * uses for those of its own resources, so that it meets them by rank. */
static void look_at_uses(uint32_t part, void *user)
{
    look_work *w = user;
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    res_look *look = w->look;
    uint32_t begin = hdi_range_begin(decl->res_count, w->parts, part);
    uint32_t count = hdi_range_begin(decl->res_count, w->parts, part + 1) - begin;
    bool any = false;
    memset(look + begin, 0, count * sizeof(*look));
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank], end = decl->pass_use_begin[p + 1];
        for (uint32_t u = decl->pass_use_begin[p]; u < end; u++) {
            uint32_t res = decl->use_res[u];
            if (res - begin >= count)
                continue;
            const hdi_access_info *access = &decl->access[decl->use_access[u]];
            res_look *of = &look[res];
            if (of->uses++ == 0)
                of->first = rank;
            of->last = rank;
            uint32_t layout = access->layout + 2;
            if (access->writes) {
                any |= of->writers;
                of->writers = (uint8_t)(of->writers ? 2 : 1);
            } else if (of->layout != layout && !(decl->res_flags[res] & HDI_RES_BUFFER)) {
                any |= of->layout != UNREAD;
                of->layout = of->layout == UNREAD ? layout : MIXED;
            }
        }
    }
    w->any[part] = any;
    for (uint32_t r = begin; r < begin + count; r++) {
        s->res_uses[r] = look[r].uses;
        s->res_first[r] = look[r].first;
        s->res_last[r] = look[r].last;
        /* What shares memory with nobody costs the same in every order. */
        s->res_bytes[r] =
            w->sizes->res_persistent[r] || decl->res_flags[r] & HDI_RES_HOST ? 0 : w->sizes->need[r].bytes;
    }
}

/* How much is alive when passes run by rank. */
static void find_live(hdi_sched *s)
{
    memset(s->rank_live, 0, ((size_t)s->kept_count + 1) * sizeof(*s->rank_live));
    for (uint32_t r = 0; r < s->decl->res_count; r++) {
        if (s->res_uses[r] == 0 || s->res_bytes[r] == 0)
            continue;
        s->rank_live[s->res_first[r]] += s->res_bytes[r];
        s->rank_live[s->res_last[r] + 1] -= s->res_bytes[r]; /* unsigned wrap is undone by the running sum */
    }
    uint64_t live = 0, peak = 0;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        live += s->rank_live[rank];
        s->rank_live[rank] = live;
        peak = live > peak ? live : peak;
    }
    s->peak = peak;
}

/* *flagged: null where there is nothing to flag a pass for. */
static bool look(hdi_sched *s, const hdi_sizes *sizes, const hdi_crew *crew, const res_look **flagged)
{
    look_work w = {.s = s, .sizes = sizes, .parts = crew->workers < HDI_MOST_PARTS ? crew->workers : HDI_MOST_PARTS};
    w.look = HDI_ARENA_ARRAY(s->arena, res_look, s->decl->res_count);
    if (!w.look)
        return false;
    memset(s->pass_mixed, 0, s->decl->pass_count);
    hdi_crew_parts(crew, w.parts, look_at_uses, &w);
    for (uint32_t k = 0; k < w.parts; k++)
        *flagged = w.any[k] ? w.look : *flagged;
    find_live(s);
    return true;
}

/* Columns that the schedulers need while they run. */
static void make_columns(hdi_sched *s)
{
    size_t passes = s->decl->pass_count, resources = s->decl->res_count, queues = s->queues->count;
    s->pass_left = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    s->pass_net = HDI_ARENA_ARRAY(s->arena, int64_t, passes);
    s->res_left = HDI_ARENA_ARRAY(s->arena, uint32_t, resources);
    if (s->queues->gpu_count == 1) {
        s->pass_due = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
        return;
    }
    s->pass_ready_at = HDI_ARENA_ARRAY(s->arena, float, passes);
    s->pass_path = HDI_ARENA_ARRAY(s->arena, float, passes);
    s->pass_may_run = HDI_ARENA_ARRAY(s->arena, uint16_t, passes);
    s->pass_queue_start = HDI_ARENA_ARRAY(s->arena, float, passes * queues);
    s->pass_queue_group = HDI_ARENA_ARRAY(s->arena, uint32_t, passes * queues);
    s->pass_queue_clock = HDI_ARENA_ARRAY(s->arena, uint32_t, passes * queues);
    s->res_queue_last = HDI_ARENA_ARRAY(s->arena, uint32_t, resources * queues);
}

static hd_result prepare(hdi_sched *s, const hdi_kept *kept, const hdi_sizes *sizes, uint32_t *bad_pass,
                         const hdi_crew *crew, const res_look **flagged)
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
    make_columns(s);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hd_result result = number_ranks(s, kept, bad_pass);
    if (result != HD_OK)
        return result;
    return look(s, sizes, crew, flagged) ? HD_OK : HD_OUT_OF_MEMORY;
}

void hdi_sched_begin(const hdi_sched *s, uint32_t *res_left, uint8_t *res_open)
{
    const hdi_decl *decl = s->decl;
    if (s->whole) {
        memcpy(res_left, s->res_uses, decl->res_count * sizeof(*res_left));
        return;
    }
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank];
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            uint32_t res = decl->use_res[u];
            bool closes = hdi_sched_has(s, s->res_last[res]);
            if (s->res_first[res] >= s->rank_begin) {
                if (closes)
                    res_left[res] = s->res_uses[res];
                continue;
            }
            if (closes)
                res_left[res] = res_open[res] ? res_left[res] + 1 : 1;
            res_open[res] = 1;
        }
    }
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
    if (rules.cap < SMALL_BYTES)
        rules.cap = SMALL_BYTES;
    rules.most = 2 * s->depth + 8;
    if (hdi_schedule_groups(s, &rules, out))
        return HD_OK;
    if (s->arena->failed)
        return HD_OUT_OF_MEMORY;
    rules = (hdi_group_rules){.cap = 2 * rules.cap, .window = WINDOW, .most = HDI_NONE, .wait_in_float = true};
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
    float *path = s->pass_path; /* the scheduler fills it anew */
    uint32_t gfx_queues = 0, wide_queues = 0;
    for (uint32_t q = 0; q < s->queues->gpu_count; q++) {
        gfx_queues += s->queues->kind[q] == HD_QUEUE_GFX;
        wide_queues += s->queues->kind[q] != HD_QUEUE_TRANSFER;
    }
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank];
        bool follows = false;
        path[p] = 0.0f;
        for (uint32_t e = s->depends->pred_begin[p]; e < s->depends->pred_begin[p + 1]; e++) {
            uint32_t before = s->depends->pred[e];
            if (!s->whole && s->pass_rank[before] < s->rank_begin)
                continue;
            follows = true;
            path[p] = path[before] > path[p] ? path[before] : path[p];
        }
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

/* ---- regions ---- */

typedef struct region {
    hdi_sched s;
    hdi_schedule out;
    hdi_arena_mark mark;
    hd_result result;
} region;

typedef struct work {
    const hdi_goal *goal;
    region *region;
    const res_look *flagged;
} work;

/* The first rank of each region but the first: about evenly, where the least is alive. */
static uint32_t cut(const hdi_sched *s, uint32_t region_passes, uint32_t *begin)
{
    uint32_t kept = s->kept_count, count = kept / region_passes;
    count = count < 4 ? 1 : count < HDI_MOST_PARTS ? count : HDI_MOST_PARTS;
    begin[0] = 0;
    for (uint32_t k = 1; k < count; k++) {
        uint32_t middle = hdi_range_begin(kept, count, k), reach = kept / count / 8, best = middle;
        for (uint32_t rank = middle - reach; rank < middle + reach; rank++)
            best = s->rank_live[rank] < s->rank_live[best] ? rank : best;
        begin[k] = best;
    }
    begin[count] = kept;
    return count;
}

static uint32_t region_of(const uint32_t *begin, uint32_t count, uint32_t rank)
{
    uint32_t k = (uint32_t)((uint64_t)rank * count / begin[count]);
    while (begin[k] > rank)
        k--;
    while (begin[k + 1] <= rank)
        k++;
    return k;
}

static void describe(const hdi_sched *s, const hdi_crew *crew, const uint32_t *begin, uint32_t count, region *r)
{
    const hdi_decl *decl = s->decl;
    for (uint32_t k = 0; k < count; k++) {
        hdi_sched *of = &r[k].s;
        r[k] = (region){.s = *s};
        of->whole = count == 1;
        of->use_count = decl->use_count;
        if (count == 1)
            return;
        of->arena = &crew->arena[k];
        of->rank_begin = begin[k];
        of->kept_count = begin[k + 1] - begin[k];
        of->rank_pass += begin[k];
        of->rank_live += begin[k];
        of->use_count = decl->pass_use_begin[s->rank_pass[begin[k + 1] - 1] + 1] - decl->pass_use_begin[of->rank_pass[0]];
        r[k].mark = hdi_arena_here(of->arena);
    }
}

typedef struct live_work {
    const hdi_sched *s;
    const uint32_t *begin;
    uint32_t count;
    int64_t (*live)[HDI_MOST_PARTS]; /* of each part: at the begin of each region */
} live_work;

static void count_live(uint32_t first, uint32_t end, uint32_t part, void *user)
{
    const live_work *w = user;
    const hdi_sched *s = w->s;
    for (uint32_t i = first; i < end; i++) {
        if (s->res_bytes[i] == 0 || s->res_uses[i] == 0)
            continue;
        uint32_t k = region_of(w->begin, w->count, s->res_first[i]);
        for (k++; k < w->count && w->begin[k] <= s->res_last[i]; k++)
            w->live[part][k] += (int64_t)s->res_bytes[i];
    }
}

/* What is open where each region begins. */
static bool find_open(const hdi_sched *s, const hdi_crew *crew, const uint32_t *begin, uint32_t count, region *r)
{
    enum { GRAIN = 1024 };
    uint32_t ranges = hdi_range_count(crew, s->decl->res_count, GRAIN);
    live_work w = {s, begin, count, hdi_arena_zeroed(s->arena, ranges, sizeof(*w.live))};
    if (!w.live)
        return false;
    hdi_crew_ranges(crew, s->decl->res_count, GRAIN, count_live, &w);
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t part = 0; part < ranges; part++)
            r[k].s.live_bytes += w.live[part][k];
    }
    return true;
}

static void run_region(uint32_t part, void *user)
{
    const work *w = user;
    region *r = &w->region[part];
    if (w->flagged)
        flag_passes(&r->s, w->flagged);
    find_levels(&r->s);
    r->result = r->s.queues->gpu_count == 1 ? one_queue(&r->s, w->goal, &r->out) : several_queues(&r->s, w->goal, &r->out);
}

/* Whoever comes first on its queue in a region waits for what the other queues had before. */
static uint32_t add_edges(const hdi_schedule *out, uint32_t queues, hdi_edge *edge)
{
    uint32_t count = 0, newest[HD_MAX_QUEUES];
    memset(newest, 0xff, sizeof(newest));
    for (uint32_t k = 0; k < out->region_count; k++) {
        uint32_t before[HD_MAX_QUEUES], begun = 0;
        memcpy(before, newest, sizeof(before));
        for (uint32_t slot = out->region_begin[k]; slot < out->region_begin[k + 1]; slot++) {
            uint32_t q = out->slot_queue[slot];
            newest[q] = slot;
            for (uint32_t other = 0; !(begun >> q & 1) && other < queues; other++) {
                if (other != q && before[other] != HDI_NONE)
                    edge[count++] = (hdi_edge){before[other], slot};
            }
            begun |= 1u << q;
        }
    }
    return count;
}

/* One region behind another. */
static hd_result join_regions(const hdi_sched *s, const hdi_crew *crew, region *r, hdi_schedule *out)
{
    uint32_t count = out->region_count, queues = s->queues->count;
    size_t edges = s->queues->gpu_count > 1 ? (size_t)count * queues * queues : 0;
    for (uint32_t k = 0; k < count; k++)
        edges += r[k].out.edge_count;
    out->slot_pass = HDI_ARENA_ARRAY(s->arena, uint32_t, s->kept_count);
    out->slot_queue = HDI_ARENA_ARRAY(s->arena, uint8_t, s->kept_count);
    out->slot_group = s->queues->gpu_count == 1 ? HDI_ARENA_ARRAY(s->arena, uint32_t, s->kept_count) : NULL;
    out->edge = HDI_ARENA_ARRAY(s->arena, hdi_edge, edges);
    if (s->arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < count; k++) {
        const hdi_schedule *of = &r[k].out;
        uint32_t at = out->slot_count;
        memcpy(out->slot_pass + at, of->slot_pass, of->slot_count * sizeof(*of->slot_pass));
        memcpy(out->slot_queue + at, of->slot_queue, of->slot_count * sizeof(*of->slot_queue));
        for (uint32_t i = 0; out->slot_group && i < of->slot_count; i++)
            out->slot_group[at + i] = of->slot_group[i] + out->group_count;
        for (uint32_t e = 0; e < of->edge_count; e++)
            out->edge[out->edge_count++] = (hdi_edge){of->edge[e].from + at, of->edge[e].to + at};
        out->slot_count += of->slot_count;
        out->group_count += of->group_count ? of->group_count - 1 : 0; /* they count from 1 */
        out->makespan_us += of->makespan_us;
        hdi_arena_keep(&crew->arena[k], r[k].mark, NULL, 0);
    }
    out->group_count++;
    if (s->queues->gpu_count > 1)
        out->edge_count += add_edges(out, queues, out->edge + out->edge_count);
    return HD_OK;
}

static hd_result run_regions(const hdi_sched *s, const hdi_goal *goal, const hdi_crew *crew, const res_look *flagged,
                             hdi_schedule *out)
{
    uint32_t begin[HDI_MOST_PARTS + 1], count = cut(s, crew->region_passes, begin);
    region *r = hdi_arena_array(s->arena, count, sizeof(*r));
    uint32_t *region_begin = HDI_ARENA_ARRAY(s->arena, uint32_t, (size_t)count + 1);
    if (s->arena->failed)
        return HD_OUT_OF_MEMORY;
    describe(s, crew, begin, count, r);
    if (count > 1 && !find_open(s, crew, begin, count, r))
        return HD_OUT_OF_MEMORY;
    work w = {goal, r, flagged};
    hdi_crew_parts(crew, count, run_region, &w);
    for (uint32_t k = 0; k < count; k++) {
        if (r[k].result != HD_OK)
            return r[k].result;
    }
    memcpy(region_begin, begin, ((size_t)count + 1) * sizeof(*begin));
    if (count == 1)
        *out = r[0].out;
    out->region_count = count;
    out->region_begin = region_begin; /* ranks of a region are its slots */
    return count == 1 ? HD_OK : join_regions(s, crew, r, out);
}

hd_result hdi_schedule_passes(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept,
                              const hdi_depends *depends, const hdi_sizes *sizes, const hdi_queues *queues,
                              const hdi_goal *goal, const hdi_crew *crew, hdi_arena *arena, hdi_schedule *out,
                              uint32_t *bad_pass)
{
    hdi_sched s = {.decl = decl, .frozen = frozen, .depends = depends, .queues = queues, .arena = arena};
    hdi_arena_mark mark = hdi_arena_here(arena);
    const res_look *flagged = NULL;
    *out = (hdi_schedule){0};
    hd_result result = prepare(&s, kept, sizes, bad_pass, crew, &flagged);
    if (result == HD_OK)
        result = run_regions(&s, goal, crew, flagged, out);
    out->peak_bytes = s.peak;
    if (result != HD_OK)
        return result;
    const hdi_arena_kept out_arrays[] = {{&out->region_begin, ((size_t)out->region_count + 1) * sizeof(*out->region_begin)},
                                         {&out->slot_pass, out->slot_count * sizeof(*out->slot_pass)},
                                         {&out->slot_queue, out->slot_count * sizeof(*out->slot_queue)},
                                         {&out->slot_group, out->slot_count * sizeof(*out->slot_group)},
                                         {&out->edge, out->edge_count * sizeof(*out->edge)}};
    hdi_arena_keep(arena, mark, out_arrays, 5);
    return HD_OK;
}
