#include "phases.h"

#include "bitset.h"

/* Schedule: order and queue of each kept pass, by list scheduling in a window. A pass may be chosen once all that it
 * depends on has been, and only within `window` passes of the oldest one that has not: so that frames do not open all
 * their strands at once, which would keep everything alive.
 *
 *   overlap   the pass and queue with the earliest start; a pass that needs a barrier behind the newest group of its queue
 *             starts later by the time that draining the queue costs, so that passes gather into groups between barriers;
 *             ties go to the longest path to the end (critical path, Coffman and Graham's list scheduling)
 *   memory    the pass that adds the fewest live bytes, ties to a pass that needs no barrier, then to the oldest
 *   declared  as declared
 *
 * O(passes * window + edges * queues). Serial. */

#define DRAIN_US 2.0

typedef struct work {
    const hdi_decl *decl;
    const hdi_depends *depends;
    const hdi_queues *queues;
    hd_order order;
    double handoff;
    uint32_t kept_count, window;
    uint32_t *rank_pass, *pass_rank; /* kept passes in order of declaration */
    uint64_t *ready;                 /* ranks whose predecessors are all chosen */
    uint32_t oldest;                 /* lowest rank that was not chosen */
    uint32_t *left;                  /* predecessors not chosen yet, per pass */
    float *path;                     /* microseconds to the end, per pass */
    float *start;                    /* [pass * queues + q]: when what it depends on is done, seen from q */
    uint32_t *group;                 /* [pass * queues + q]: newest group of q that it depends on */
    double free_at[HD_MAX_QUEUES];
    uint32_t newest_group[HD_MAX_QUEUES];
    uint64_t *res_bytes;             /* transient resources; else 0 */
    uint32_t *res_left;              /* uses not chosen yet */
    uint8_t *res_open;
    hdi_schedule *out;
} work;

static uint32_t allowed_kinds(const hdi_decl *decl, const hdi_queues *queues, uint32_t pass)
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
    uint32_t kinds = by_type[decl->pass_type[pass]], present = 0;
    for (uint32_t q = 0; q < queues->count; q++)
        present |= 1u << queues->kind[q];
    kinds &= present;
    uint32_t pinned = kinds & by_pin[decl->pass_pin[pass]];
    return pinned ? pinned : kinds;
}

/* ---- what choosing a pass would do ---- */

typedef struct choice {
    uint32_t rank, queue;
    double start;
    float path;
    int64_t bytes;
    bool opens; /* needs a barrier behind the newest group of the queue */
} choice;

static void best_queue(const work *w, uint32_t pass, choice *c)
{
    uint32_t kinds = allowed_kinds(w->decl, w->queues, pass), n = w->queues->count;
    c->queue = HDI_NONE;
    for (uint32_t q = 0; q < n; q++) {
        if (!(kinds >> w->queues->kind[q] & 1))
            continue;
        double start = (double)w->start[(size_t)pass * n + q];
        start = start > w->free_at[q] ? start : w->free_at[q];
        bool opens = w->group[(size_t)pass * n + q] == w->newest_group[q];
        start += opens ? DRAIN_US : 0.0;
        bool native = (uint32_t)w->queues->kind[q] == w->decl->pass_type[pass];
        if (c->queue == HDI_NONE || start < c->start || (start <= c->start && native)) {
            c->queue = q;
            c->start = start;
            c->opens = opens;
        }
    }
}

static int64_t live_change(const work *w, uint32_t pass)
{
    int64_t bytes = 0;
    for (uint32_t u = w->decl->pass_use_begin[pass]; u < w->decl->pass_use_begin[pass + 1]; u++) {
        uint32_t res = w->decl->use_res[u];
        if (!w->res_open[res])
            bytes += (int64_t)w->res_bytes[res];
        if (w->res_left[res] == 1)
            bytes -= (int64_t)w->res_bytes[res];
    }
    return bytes;
}

static bool is_better(const work *w, const choice *a, const choice *b)
{
    if (w->order == HD_ORDER_MEMORY) {
        if (a->bytes != b->bytes)
            return a->bytes < b->bytes;
        if (a->opens != b->opens)
            return !a->opens;
        return false; /* the older one stands already */
    }
    if (a->start < b->start || b->start < a->start)
        return a->start < b->start;
    return a->path > b->path;
}

static choice choose(const work *w)
{
    choice best = {.rank = HDI_NONE};
    uint32_t end = w->oldest + w->window < w->kept_count ? w->oldest + w->window : w->kept_count;
    for (uint32_t word = w->oldest / 64; word * 64 < end; word++) {
        for (uint64_t bits = w->ready[word]; bits; bits &= bits - 1) {
            uint32_t rank = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (rank >= end)
                break;
            uint32_t pass = w->rank_pass[rank];
            choice c = {.rank = rank, .path = w->path[pass]};
            best_queue(w, pass, &c);
            if (w->order == HD_ORDER_MEMORY)
                c.bytes = live_change(w, pass);
            if (best.rank == HDI_NONE || is_better(w, &c, &best))
                best = c;
            if (w->order == HD_ORDER_DECLARED)
                return best;
        }
    }
    return best;
}

static void take(work *w, const choice *c)
{
    const hdi_decl *decl = w->decl;
    uint32_t pass = w->rank_pass[c->rank], n = w->queues->count, q = c->queue;
    double finish = c->start + (double)decl->pass_cost[pass];
    w->free_at[q] = finish;
    w->newest_group[q] += c->opens;
    hdi_bit_clear(w->ready, c->rank);
    w->left[pass] = HDI_NONE; /* chosen */
    while (w->oldest < w->kept_count && w->left[w->rank_pass[w->oldest]] == HDI_NONE)
        w->oldest++;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        w->res_open[decl->use_res[u]] = 1;
        w->res_left[decl->use_res[u]]--;
    }
    for (uint32_t e = w->depends->succ_begin[pass]; e < w->depends->succ_begin[pass + 1]; e++) {
        uint32_t next = w->depends->succ[e];
        for (uint32_t k = 0; k < n; k++) {
            float done = (float)(finish + (k == q ? 0.0 : w->handoff));
            float *start = &w->start[(size_t)next * n + k];
            *start = done > *start ? done : *start;
        }
        w->group[(size_t)next * n + q] = w->newest_group[q];
        if (--w->left[next] == 0)
            hdi_bit_set(w->ready, w->pass_rank[next]);
    }
    w->out->slot_pass[w->out->slot_count] = pass;
    w->out->slot_queue[w->out->slot_count++] = (uint8_t)q;
}

/* ---- preparation ---- */

static hd_result prepare(work *w, const hdi_kept *kept, hdi_arena *arena, uint32_t *bad_pass)
{
    const hdi_decl *decl = w->decl;
    uint32_t passes = decl->pass_count, n = w->queues->count;
    w->rank_pass = HDI_ARENA_ARRAY(arena, uint32_t, kept->kept_count);
    w->pass_rank = HDI_ARENA_ARRAY(arena, uint32_t, passes);
    w->ready = HDI_ARENA_ZEROED(arena, uint64_t, (size_t)hdi_bit_words(kept->kept_count) + 1);
    w->left = HDI_ARENA_ARRAY(arena, uint32_t, passes);
    w->path = HDI_ARENA_ZEROED(arena, float, passes);
    w->start = HDI_ARENA_ZEROED(arena, float, (size_t)passes * n);
    w->group = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)passes * n);
    w->res_bytes = HDI_ARENA_ZEROED(arena, uint64_t, decl->res_count);
    w->res_left = HDI_ARENA_ZEROED(arena, uint32_t, decl->res_count);
    w->res_open = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    w->out->slot_pass = HDI_ARENA_ARRAY(arena, uint32_t, kept->kept_count);
    w->out->slot_queue = HDI_ARENA_ARRAY(arena, uint8_t, kept->kept_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t p = 0; p < passes; p++) {
        if (!kept->pass_kept[p])
            continue;
        if (allowed_kinds(decl, w->queues, p) == 0) {
            *bad_pass = p;
            return HD_NO_QUEUE;
        }
        w->left[p] = w->depends->pred_begin[p + 1] - w->depends->pred_begin[p];
        if (w->left[p] == 0)
            hdi_bit_set(w->ready, w->kept_count);
        w->pass_rank[p] = w->kept_count;
        w->rank_pass[w->kept_count++] = p;
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++)
            w->res_left[decl->use_res[u]]++;
    }
    for (uint32_t rank = w->kept_count; rank-- > 0;) {
        uint32_t p = w->rank_pass[rank];
        for (uint32_t e = w->depends->succ_begin[p]; e < w->depends->succ_begin[p + 1]; e++) {
            float path = w->path[w->depends->succ[e]];
            w->path[p] = path > w->path[p] ? path : w->path[p];
        }
        w->path[p] += decl->pass_cost[p];
    }
    for (uint32_t r = 0; w->order == HD_ORDER_MEMORY && r < decl->res_count; r++) {
        if (decl->res_flags[r] & (HDI_RES_EXTERNAL | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY))
            continue;
        hd_resource_info info;
        hd_memory_need need;
        hdi_resource_info(decl, r, &info);
        hdi_default_need(&info, &need);
        w->res_bytes[r] = need.bytes;
    }
    return HD_OK;
}

/* How far ahead of the oldest pass a pass may be taken. One queue gains fewer barriers from it and pays in memory; several
 * queues gain overlap. */
static uint32_t window_of(hd_order order, uint32_t gpu_count)
{
    if (order == HD_ORDER_MEMORY)
        return 16;
    return gpu_count > 1 ? 48 : 32;
}

hd_result hdi_schedule_passes(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept,
                              const hdi_depends *depends, const hdi_queues *queues, const hd_compile_desc *desc,
                              hdi_arena *arena, hdi_schedule *out, uint32_t *bad_pass)
{
    (void)frozen;
    work w = {.decl = decl,
              .depends = depends,
              .queues = queues,
              .order = desc->order,
              .handoff = desc->handoff_us > 0.0f ? (double)desc->handoff_us : 6.0,
              .window = window_of(desc->order, queues->gpu_count),
              .out = out};
    out->slot_count = 0;
    for (uint32_t q = 0; q < queues->count; q++)
        w.newest_group[q] = 1;
    hd_result result = prepare(&w, kept, arena, bad_pass);
    while (result == HD_OK && out->slot_count < kept->kept_count) {
        choice c = choose(&w);
        take(&w, &c);
    }
    return result;
}
