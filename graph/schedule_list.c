#include "schedule.h"

#include <string.h>

#include "bitset.h"

/* List: order and queue of each pass for several GPU queues, by list scheduling (Graham) in a window of ranks over a
 * simulated time: the pass and queue with the earliest start; ties go to the longest path to the end. A pass that needs
 * a barrier behind the newest group of its queue starts later by the time that draining the queue costs, so that passes
 * gather into groups.
 *
 * Memory: a cap on live bytes as in schedule_groups.c, with one thing more: bytes that were freed on another queue serve
 * only who knows that they are free. Clocks are simulated along with the time; a pass that needs bytes which its queue
 * does not know to be free waits for those who freed them, and that wait becomes an edge of the plan. So alias.c later
 * finds what the cap promised.
 *
 * O(passes * window * queues + edges * queues). Serial, but for regions: each begins as if no queue had anything to do,
 * and waits of its first slots (schedule.c) make what earlier ones have closed free for everybody. */

/* How many closed resources of a queue are looked at, from the oldest whose bytes are not all taken. */
enum { LOOK = 32 };

/* Resources closed on one queue, in the order of the list, and of their bytes those that nobody took over. */
typedef struct closings {
    uint32_t *res;
    int64_t *left;
    uint32_t count, head;
} closings;

typedef struct work {
    const hdi_sched *s;
    const hdi_list_rules *rules;
    hdi_schedule *out;
    uint32_t queues;
    uint64_t *ready;      /* ranks whose predecessors are all chosen */
    uint32_t *left;       /* predecessors not chosen yet, per pass */
    int64_t *bytes;       /* per pass, once it is ready: what it opens */
    float *ready_at;      /* and the earliest that it could start on any queue */
    uint8_t *done;        /* per rank */
    uint16_t *may_run;    /* per pass: queues */
    float *path;          /* microseconds to the end, per pass */
    float *start;         /* [pass * queues + q]: when what it depends on is done, seen from q */
    uint32_t *group;      /* [pass * queues + q]: newest group of q that it depends on */
    uint32_t *clock;      /* [pass * queues + q]: passes of q that have finished before it, by what it depends on */
    uint32_t *queue_slot; /* [q * kept + place on the queue] */
    double *finish;       /* per slot */
    double free_at[HD_MAX_QUEUES];
    uint32_t newest_group[HD_MAX_QUEUES], placed[HD_MAX_QUEUES];
    uint32_t knows[HD_MAX_QUEUES][HD_MAX_QUEUES]; /* clock of the newest pass of each queue */
    uint32_t oldest;
    /* memory */
    uint32_t *res_left;
    uint8_t *res_open;
    uint32_t *res_last; /* [res * queues + q]: passes of q up to its last use there */
    closings closed[HD_MAX_QUEUES];
    int64_t footprint;                             /* bytes that were ever taken and not taken over */
    int64_t *early_first, *early_last, early;      /* as in schedule_groups.c */
    uint32_t edge_capacity;
} work;

typedef struct choice {
    uint32_t rank, queue;
    double start;
    float path;
    bool opens_group; /* needs a barrier behind the newest group of the queue */
    int64_t bytes;    /* that it opens */
} choice;

/* ---- memory ---- */

/* The clock that a pass would have on a queue. */
static void clock_on(const work *w, uint32_t pass, uint32_t queue, uint32_t *clock)
{
    const uint32_t *own = &w->clock[(size_t)pass * w->queues];
    for (uint32_t q = 0; q < w->queues; q++)
        clock[q] = own[q] > w->knows[queue][q] ? own[q] : w->knows[queue][q];
    clock[queue] = w->placed[queue];
}

static bool is_known(const work *w, uint32_t res, const uint32_t *clock)
{
    const uint32_t *last = &w->res_last[(size_t)res * w->queues];
    bool known = true;
    for (uint32_t q = 0; q < w->queues; q++)
        known &= last[q] <= clock[q];
    return known;
}

/* When everybody on other queues has finished with a resource, seen from a queue. */
static double free_time(const work *w, uint32_t res, uint32_t queue)
{
    double time = 0.0;
    const uint32_t *last = &w->res_last[(size_t)res * w->queues];
    for (uint32_t q = 0; q < w->queues; q++) {
        if (last[q] == 0)
            continue;
        double done = w->finish[w->queue_slot[(size_t)q * w->s->kept_count + last[q] - 1]];
        done += q == queue ? 0.0 : w->rules->handoff_us;
        time = done > time ? done : time;
    }
    return time;
}

/* Takes up to `bytes` from what is free and known to a clock; the queue's own first, which others know last. */
static int64_t known_bytes(const work *w, uint32_t queue, int64_t most, const uint32_t *clock)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < w->queues && bytes < most; i++) {
        const closings *c = &w->closed[i == 0 ? queue : i <= queue ? i - 1 : i];
        for (uint32_t e = c->head; e < c->count && e < c->head + LOOK && bytes < most; e++)
            bytes += c->left[e] && is_known(w, c->res[e], clock) ? c->left[e] : 0;
    }
    return bytes < most ? bytes : most;
}

static int64_t claim_known(work *w, uint32_t queue, int64_t bytes, const uint32_t *clock)
{
    for (uint32_t i = 0; i < w->queues && bytes > 0; i++) {
        closings *c = &w->closed[i == 0 ? queue : i <= queue ? i - 1 : i];
        while (c->head < c->count && c->left[c->head] == 0)
            c->head++;
        for (uint32_t e = c->head; e < c->count && e < c->head + LOOK && bytes > 0; e++) {
            if (c->left[e] == 0 || !is_known(w, c->res[e], clock))
                continue;
            int64_t part = c->left[e] < bytes ? c->left[e] : bytes;
            c->left[e] -= part;
            bytes -= part;
        }
    }
    return bytes;
}

/* What must still be waited for when a pass opens `bytes`: of what was closed, that which is free first. clock rises to
 * it, *start grows. False: not enough was closed. commit: the bytes are taken. */
static bool claim(work *w, uint32_t queue, int64_t bytes, uint32_t *clock, double *start, bool commit)
{
    int64_t fresh = (int64_t)w->rules->cap - w->footprint;
    if (!commit && bytes <= fresh)
        return true;
    bytes = commit ? claim_known(w, queue, bytes, clock) : bytes - known_bytes(w, queue, bytes, clock);
    int64_t part = bytes < fresh ? bytes : fresh;
    if (part > 0) {
        bytes -= part;
        w->footprint += commit ? part : 0;
    }
    while (bytes > 0) {
        uint32_t best = HDI_NONE, best_list = 0;
        double best_time = 0.0;
        for (uint32_t k = 0; k < w->queues; k++) {
            const closings *c = &w->closed[k];
            for (uint32_t e = c->head; e < c->count && e < c->head + LOOK; e++) {
                if (c->left[e] == 0 || is_known(w, c->res[e], clock))
                    continue;
                double time = free_time(w, c->res[e], queue);
                if (best == HDI_NONE || time < best_time) {
                    best = e;
                    best_list = k;
                    best_time = time;
                }
                break;
            }
        }
        if (best == HDI_NONE)
            return false;
        closings *c = &w->closed[best_list];
        const uint32_t *last = &w->res_last[(size_t)c->res[best] * w->queues];
        for (uint32_t q = 0; q < w->queues; q++)
            clock[q] = last[q] > clock[q] ? last[q] : clock[q];
        *start = best_time > *start ? best_time : *start;
        part = c->left[best] < bytes ? c->left[best] : bytes;
        c->left[best] -= commit ? part : 0;
        bytes -= part;
    }
    return true;
}

static int64_t opens(const work *w, uint32_t pass)
{
    const hdi_decl *decl = w->s->decl;
    int64_t bytes = 0;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        uint32_t res = decl->use_res[u];
        bytes += w->res_open[res] ? 0 : (int64_t)w->s->res_bytes[res];
    }
    return bytes;
}

static void make_ready(work *w, uint32_t rank, uint32_t pass)
{
    const float *start = &w->start[(size_t)pass * w->queues];
    hdi_bit_set(w->ready, rank);
    w->bytes[pass] = opens(w, pass);
    w->ready_at[pass] = start[0];
    for (uint32_t q = 1; q < w->queues; q++)
        w->ready_at[pass] = start[q] < w->ready_at[pass] ? start[q] : w->ready_at[pass];
}

/* ---- choosing ---- */

static bool best_queue(work *w, uint32_t pass, choice *c)
{
    uint32_t n = w->queues;
    double best = 0.0;
    c->queue = HDI_NONE;
    for (uint32_t mask = w->may_run[pass]; mask; mask &= mask - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(mask);
        double start = (double)w->start[(size_t)pass * n + q];
        start = start > w->free_at[q] ? start : w->free_at[q];
        bool opens_group = w->group[(size_t)pass * n + q] == w->newest_group[q];
        start += opens_group ? HDI_DRAIN_US : 0.0;
        /* Another kind's queue has its own to do: there a pass must start clearly earlier. */
        bool native = (uint32_t)w->s->queues->kind[q] == w->s->decl->pass_type[pass];
        double bias = native ? 0.0 : w->rules->handoff_us + 0.25 * (double)w->s->decl->pass_cost[pass];
        if (c->queue != HDI_NONE && start + bias >= best)
            continue;
        if (c->bytes) {
            uint32_t clock[HD_MAX_QUEUES];
            clock_on(w, pass, q, clock);
            if (!claim(w, q, c->bytes, clock, &start, false) || (c->queue != HDI_NONE && start + bias >= best))
                continue;
        }
        best = start + bias;
        c->queue = q;
        c->start = start;
        c->opens_group = opens_group;
    }
    return c->queue != HDI_NONE;
}

static bool is_better(const choice *a, const choice *b)
{
    if (a->start < b->start || b->start < a->start)
        return a->start < b->start;
    return a->path > b->path;
}

/* A look at the earliest start there could be, before the costly one. */
static bool might_beat(const work *w, uint32_t pass, const choice *best)
{
    double free_at = 1e300;
    for (uint32_t mask = w->may_run[pass]; mask; mask &= mask - 1) {
        double at = w->free_at[__builtin_ctz(mask)];
        free_at = at < free_at ? at : free_at;
    }
    double start = (double)w->ready_at[pass] > free_at ? (double)w->ready_at[pass] : free_at;
    return start < best->start || (start <= best->start && w->path[pass] > best->path);
}

static choice choose(work *w)
{
    choice best = {.rank = HDI_NONE};
    const hdi_sched *s = w->s;
    uint32_t end = w->oldest + w->rules->window < s->kept_count ? w->oldest + w->rules->window : s->kept_count;
    int64_t sum = w->early, room = INT64_MAX;
    uint32_t at = w->oldest;
    for (uint32_t word = w->oldest / 64; word * 64 < end; word++) {
        for (uint64_t bits = w->ready[word]; bits; bits &= bits - 1) {
            uint32_t rank = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (rank >= end)
                break;
            uint32_t pass = s->rank_pass[rank];
            if (best.rank != HDI_NONE && !might_beat(w, pass, &best))
                continue;
            bool shared = s->pass_mixed[pass] & HDI_MIXED_OPENERS;
            choice c = {.rank = rank, .path = w->path[pass], .bytes = shared ? opens(w, pass) : w->bytes[pass]};
            if (c.bytes && hdi_sched_float(s, pass) > 2 && rank - w->oldest > w->rules->window / 4)
                continue;
            if (c.bytes) {
                for (; at < rank; at++) { /* room at ranks below, as in schedule_groups.c */
                    int64_t here = (int64_t)w->rules->cap - (int64_t)s->rank_live[at] - sum;
                    room = here < room ? here : room;
                    sum += w->early_last[at] - w->early_first[at + 1];
                }
                if (rank != w->oldest && room < c.bytes)
                    continue;
            }
            if (best_queue(w, pass, &c) && (best.rank == HDI_NONE || is_better(&c, &best)))
                best = c;
            if (w->rules->order == HD_ORDER_DECLARED && best.rank != HDI_NONE)
                return best;
        }
    }
    if (best.rank == HDI_NONE) { /* nothing fits: the oldest goes on all the same */
        uint32_t pass = s->rank_pass[w->oldest];
        best = (choice){.rank = w->oldest, .path = w->path[pass]};
        best_queue(w, pass, &best);
        best.bytes = opens(w, pass);
    }
    return best;
}

/* ---- taking ---- */

static bool add_edge(work *w, uint32_t from, uint32_t to)
{
    if (w->out->edge_count == w->edge_capacity) {
        uint32_t grown = w->edge_capacity ? 2 * w->edge_capacity : 256;
        hdi_edge *fresh = HDI_ARENA_ARRAY(w->s->arena, hdi_edge, grown);
        if (!fresh)
            return false;
        if (w->edge_capacity)
            memcpy(fresh, w->out->edge, w->edge_capacity * sizeof(*fresh));
        w->out->edge = fresh;
        w->edge_capacity = grown;
    }
    w->out->edge[w->out->edge_count++] = (hdi_edge){from, to};
    return true;
}

/* Waits for memory become edges; the queue learns what they cover. */
static void take_memory(work *w, const choice *c, uint32_t pass, uint32_t slot)
{
    uint32_t n = w->queues, q = c->queue, clock[HD_MAX_QUEUES], before[HD_MAX_QUEUES];
    double ignored = 0.0;
    clock_on(w, pass, q, clock);
    memcpy(before, clock, sizeof(clock));
    if (c->bytes && !claim(w, q, c->bytes, clock, &ignored, true))
        w->footprint = (int64_t)w->rules->cap; /* forced: more than the cap */
    for (uint32_t k = 0; k < n; k++) {
        if (clock[k] > before[k] && k != q)
            add_edge(w, w->queue_slot[(size_t)k * w->s->kept_count + clock[k] - 1], slot);
    }
    memcpy(w->knows[q], clock, sizeof(clock));
    memcpy(&w->clock[(size_t)pass * n], clock, n * sizeof(*clock));
}

static void take_uses(work *w, uint32_t pass, uint32_t queue)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        uint32_t res = decl->use_res[u];
        int64_t bytes = (int64_t)s->res_bytes[res];
        if (!w->res_open[res]) {
            uint32_t first = s->res_first[res] - s->rank_begin;
            w->res_open[res] = 1;
            if (bytes && first > w->oldest) {
                w->early_first[first] += bytes;
                w->early += bytes;
            }
        }
        if (!bytes || !(s->whole || hdi_sched_has(s, s->res_last[res])))
            continue; /* another region closes it */
        w->res_last[(size_t)res * w->queues + queue] = w->placed[queue] + 1;
        if (--w->res_left[res])
            continue;
        w->closed[queue].left[w->closed[queue].count] = bytes;
        w->closed[queue].res[w->closed[queue].count++] = res;
        w->early_last[s->res_last[res] - s->rank_begin] += bytes;
        w->early -= bytes;
    }
}

static void take(work *w, const choice *c)
{
    const hdi_sched *s = w->s;
    const hdi_depends *depends = s->depends;
    uint32_t pass = s->rank_pass[c->rank], n = w->queues, q = c->queue, slot = w->out->slot_count++;
    double finish = c->start + (double)s->decl->pass_cost[pass];
    w->out->slot_pass[slot] = pass;
    w->out->slot_queue[slot] = (uint8_t)q;
    take_memory(w, c, pass, slot);
    take_uses(w, pass, q);
    w->queue_slot[(size_t)q * s->kept_count + w->placed[q]++] = slot;
    w->finish[slot] = w->free_at[q] = finish;
    w->newest_group[q] += c->opens_group;
    hdi_bit_clear(w->ready, c->rank);
    w->done[c->rank] = 1;
    while (w->oldest < s->kept_count && w->done[w->oldest]) {
        w->early += w->early_last[w->oldest] - w->early_first[w->oldest + 1];
        w->oldest++;
    }
    const uint32_t *clock = &w->clock[(size_t)pass * n];
    for (uint32_t e = depends->succ_begin[pass]; e < depends->succ_begin[pass + 1]; e++) {
        uint32_t next = depends->succ[e], rank = s->pass_rank[next] - s->rank_begin;
        if (!s->whole && rank >= s->kept_count)
            continue;
        for (uint32_t k = 0; k < n; k++) {
            float done = (float)(finish + (k == q ? 0.0 : w->rules->handoff_us));
            float *start = &w->start[(size_t)next * n + k];
            uint32_t *known = &w->clock[(size_t)next * n + k];
            *start = done > *start ? done : *start;
            *known = clock[k] > *known ? clock[k] : *known;
        }
        w->clock[(size_t)next * n + q] = w->placed[q] > w->clock[(size_t)next * n + q] ? w->placed[q] : w->clock[(size_t)next * n + q];
        w->group[(size_t)next * n + q] = w->newest_group[q];
        if (--w->left[next] == 0)
            make_ready(w, rank, next);
    }
    w->out->makespan_us = finish > w->out->makespan_us ? finish : w->out->makespan_us;
}

/* ---- preparation ---- */

static void clear_last(work *w)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    size_t each = w->queues * sizeof(*w->res_last);
    if (s->whole) {
        memset(w->res_last, 0, decl->res_count * each);
        return;
    }
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank];
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            if (hdi_sched_has(s, s->res_last[decl->use_res[u]]))
                memset(&w->res_last[(size_t)decl->use_res[u] * w->queues], 0, each);
        }
    }
}

static bool prepare(work *w)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    hdi_arena *arena = s->arena;
    uint32_t n = w->queues, kept = s->kept_count;
    w->ready = HDI_ARENA_ZEROED(arena, uint64_t, (size_t)hdi_bit_words(kept) + 1);
    w->left = s->pass_left;
    w->bytes = s->pass_net;
    w->ready_at = s->pass_ready_at;
    w->done = HDI_ARENA_ZEROED(arena, uint8_t, (size_t)kept + 1);
    w->may_run = s->pass_may_run;
    w->path = s->pass_path;
    w->start = s->pass_queue_start;
    w->group = s->pass_queue_group;
    w->clock = s->pass_queue_clock;
    w->queue_slot = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)kept * n);
    w->finish = HDI_ARENA_ARRAY(arena, double, kept);
    w->res_left = s->res_left;
    w->res_open = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    w->res_last = s->res_queue_last;
    w->early_first = HDI_ARENA_ZEROED(arena, int64_t, (size_t)kept + 1);
    w->early_last = HDI_ARENA_ZEROED(arena, int64_t, (size_t)kept + 1);
    w->out->slot_pass = HDI_ARENA_ARRAY(arena, uint32_t, kept);
    w->out->slot_queue = HDI_ARENA_ARRAY(arena, uint8_t, kept);
    for (uint32_t q = 0; q < n; q++) {
        w->closed[q].res = HDI_ARENA_ARRAY(arena, uint32_t, s->use_count);
        w->closed[q].left = HDI_ARENA_ARRAY(arena, int64_t, s->use_count);
    }
    if (arena->failed)
        return false;
    hdi_sched_begin(s, w->res_left, w->res_open);
    clear_last(w);
    w->footprint = s->live_bytes;
    for (uint32_t rank = kept; rank-- > 0;) {
        uint32_t p = s->rank_pass[rank], kinds = hdi_allowed_kinds(decl, s->queues, p);
        for (uint32_t q = 0; q < n; q++) {
            w->start[(size_t)p * n + q] = 0.0f;
            w->group[(size_t)p * n + q] = w->clock[(size_t)p * n + q] = 0;
        }
        w->left[p] = s->pass_need[p];
        if (w->left[p] == 0)
            make_ready(w, rank, p);
        w->path[p] = 0.0f;
        w->may_run[p] = 0;
        for (uint32_t q = 0; q < n; q++)
            w->may_run[p] |= (uint16_t)((kinds >> s->queues->kind[q] & 1) << q);
        for (uint32_t e = s->depends->succ_begin[p]; e < s->depends->succ_begin[p + 1]; e++) {
            uint32_t next = s->depends->succ[e];
            if (s->whole || hdi_sched_has(s, s->pass_rank[next]))
                w->path[p] = w->path[next] > w->path[p] ? w->path[next] : w->path[p];
        }
        w->path[p] += decl->pass_cost[p];
    }
    for (uint32_t q = 0; q < n; q++)
        w->newest_group[q] = 1;
    return true;
}

bool hdi_schedule_list(const hdi_sched *s, const hdi_list_rules *rules, hdi_schedule *out)
{
    work w = {.s = s, .rules = rules, .out = out, .queues = s->queues->count};
    *out = (hdi_schedule){0};
    if (!prepare(&w))
        return false;
    double work_us = 0.0;
    while (out->slot_count < s->kept_count) {
        choice c = choose(&w);
        take(&w, &c);
        work_us += (double)s->decl->pass_cost[s->rank_pass[c.rank]];
        if (out->slot_count == s->kept_count / 4 && work_us < rules->least_rate * out->makespan_us)
            return false;
    }
    return !s->arena->failed;
}
