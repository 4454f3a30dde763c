#include "schedule_bytes.h"

#include "bitset.h"

/* List: order and queue of each pass for several GPU queues, by list scheduling (Graham) in a window of ranks over a
 * simulated time: the pass and queue with the earliest start; ties go to the longest path to the end. A pass that needs
 * a barrier behind the newest group of its queue starts later by the time that draining the queue costs, so that passes
 * gather into groups.
 *
 * Passes that could be taken stand in lanes, longest path first, one for each set of queues that passes may run on.
 * Behind a pass that starts as soon as a queue of its lane is free nobody can come before it, so a choice looks at few.
 * Of all that a pass depends on, what counts of each queue is the newest: that finished last there, and knows all that
 * those before it knew. So an edge costs a store, and times and clocks are found once for each pass.
 *
 * O(passes * (window + queues^2) + uses + edges), mostly far from it. Serial, but for regions: each begins as if no
 * queue had anything to do, and waits of its first slots (schedule.c) make what earlier ones have closed free for
 * everybody. All is compiled for two and three queues as well as for any number, as loops over queues are most of what
 * it does. */

typedef struct choice {
    uint64_t key;
    double start;
    uint32_t rank, queue;
    bool opens_group; /* needs a barrier behind the newest group of the queue */
} choice;

/* ---- candidates ---- */

static HDI_INLINE void insert(work *w, uint32_t rank)
{
    const hdi_list_node *v = &w->l.node[rank];
    hdi_list_lane *lane = &w->l.lane[v->lane];
    uint64_t *keys = lane->key;
    uint32_t path;
    memcpy(&path, &v->path, sizeof(path)); /* not negative: its bits order as it does */
    uint64_t key = (uint64_t)path << 32 | (uint32_t)~rank;
    uint8_t first = lane->first, end = lane->end, middle = (uint8_t)(first + (uint8_t)(end - first) / 2);
    uint8_t at;
    if (first != end && key > keys[middle]) { /* the shorter half makes room */
        for (at = first--; keys[at] > key; at++)
            keys[(uint8_t)(at - 1)] = keys[at];
        keys[(uint8_t)(at - 1)] = key;
        lane->first = first;
        return;
    }
    for (at = end++; at != first && keys[(uint8_t)(at - 1)] < key; at--)
        keys[at] = keys[(uint8_t)(at - 1)];
    keys[at] = key;
    lane->end = end;
}

static HDI_INLINE void leave(hdi_list_lane *lane, uint64_t key)
{
    uint64_t *keys = lane->key;
    uint8_t at = lane->first, first = lane->first++;
    while (keys[at] != key)
        at++;
    for (; at != first; at--)
        keys[at] = keys[(uint8_t)(at - 1)];
}

/* Whether a pass that is ready may be taken: in the window, and not too early where its consumers wait anyway. */
static HDI_INLINE bool is_due(const work *w, uint32_t rank)
{
    const hdi_list_node *v = &w->l.node[rank];
    uint32_t distance = rank - w->oldest;
    return distance < w->window && (distance <= w->window / 4 || !v->patient || v->bytes == 0);
}

static HDI_INLINE void admit(work *w, uint32_t rank)
{
    if (hdi_bit_get(w->l.waiting, rank) && is_due(w, rank)) {
        hdi_bit_clear(w->l.waiting, rank);
        insert(w, rank);
    }
}

/* When a pass could start, on each queue that it may run on. */
static HDI_INLINE void find_start(const work *w, uint32_t n, hdi_list_node *v, const uint32_t *pred)
{
    double first = 0.0, second = -NEVER, handoff_us = v->pred_queues ? w->handoff_us : 0.0;
    uint32_t home = 0;
    (void)n;
    for (uint32_t mask = v->pred_queues; mask; mask &= mask - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(mask);
        double done = w->l.finish[pred[q] - 1];
        if (done > first) {
            second = mask == v->pred_queues ? second : first;
            first = done;
            home = q;
        } else {
            second = done > second ? done : second;
        }
    }
    double near = second + handoff_us > first ? second + handoff_us : first, far = first + handoff_us;
    bool at_home = w->l.lane[v->lane].queues >> home & 1;
    v->home = at_home ? (uint8_t)home : HDI_LIST_NOWHERE;
    v->ready = (float)(at_home ? near : far);
    v->far = (float)far;
}

static HDI_INLINE bool is_unopened(const hdi_sched *s, const hdi_sched_res *res)
{
    return res->mixed & HDI_MIXED_OPENERS && hdi_sched_has(s, res->first) && !res->open;
}

/* What a pass that shares resources with others would open. */
static void look_at_shared(work *w, uint32_t rank)
{
    const hdi_sched *s = w->s;
    const uint32_t *use = &s->decl->pass_use_begin[s->rank_pass[rank]];
    int64_t bytes = w->l.node[rank].alone;
    for (uint32_t u = use[0]; u < use[1]; u++) {
        const hdi_sched_res *res = &s->res[s->decl->use_res[u]];
        if (is_unopened(s, res))
            bytes += (int64_t)res->bytes;
    }
    w->l.node[rank].bytes = bytes;
}

static HDI_INLINE void make_ready(work *w, uint32_t n, uint32_t rank)
{
    hdi_list_node *v = &w->l.node[rank];
    find_start(w, n, v, &w->l.newest_pred[(size_t)rank * n]);
    if (v->shared) {
        look_at_shared(w, rank);
        w->l.shared[w->shared_count++] = rank;
    }
    if (is_due(w, rank))
        insert(w, rank);
    else
        hdi_bit_set(w->l.waiting, rank);
}

/* ---- choosing ---- */

static HDI_INLINE bool comes_first(double start, uint64_t key, const choice *best)
{
    return start < best->start || (start <= best->start && key > best->key);
}

/* Another kind's queue has its own to do: there a pass must start clearly earlier. Returns whether the pass can start.
 */
static HDI_INLINE bool best_queue(work *w, uint32_t n, const hdi_list_lane *lane, const hdi_list_node *v, int64_t bytes, choice *c)
{
    const uint32_t *pred = &w->l.newest_pred[(size_t)c->rank * n];
    double best = NEVER;
    for (uint32_t mask = lane->queues; mask; mask &= mask - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(mask);
        double start = q == v->home ? (double)v->ready : (double)v->far;
        double bias = lane->native >> q & 1 ? 0.0 : v->bias;
        start = start > w->free_at[q] ? start : w->free_at[q];
        bool opens_group = pred[q] > w->group[q];
        if (opens_group)
            start += HDI_DRAIN_US;
        if (start + bias >= best ||
            (bytes > w->fresh && (!may_claim(w, n, c->rank, q, bytes, &start) || start + bias >= best)))
            continue;
        best = start + bias;
        c->queue = q;
        c->start = start;
        c->opens_group = opens_group;
    }
    return best < NEVER;
}

static HDI_INLINE void look_at_lane(work *w, uint32_t n, const hdi_list_lane *lane, choice *best)
{
    double free_at = NEVER;
    for (uint32_t mask = lane->queues; mask; mask &= mask - 1) {
        double at = w->free_at[__builtin_ctz(mask)];
        free_at = at < free_at ? at : free_at;
    }
    for (uint8_t i = lane->first; i != lane->end; i++) {
        uint64_t key = lane->key[i];
        if (!comes_first(free_at, key, best))
            break; /* and so with all behind it */
        uint32_t rank = ~(uint32_t)key;
        const hdi_list_node *v = &w->l.node[rank];
        if (!comes_first((double)v->ready, key, best))
            continue;
        bool roomy = v->bytes == 0 || rank == w->oldest, claims = v->bytes > w->fresh; /* which takes longest */
        choice c = {.key = key, .rank = rank};
        if ((!roomy && claims && !has_room(w, rank, v->bytes)) || !best_queue(w, n, lane, v, v->bytes, &c) ||
            !comes_first(c.start, key, best) || (!roomy && !claims && !has_room(w, rank, v->bytes)))
            continue;
        *best = c;
    }
}

/* The same, where there is one queue. */
static HDI_INLINE void look_at_lane_of_one(work *w, uint32_t n, const hdi_list_lane *lane, choice *best)
{
    uint32_t q = (uint32_t)__builtin_ctz(lane->queues), group = w->group[q];
    double free_at = w->free_at[q];
    for (uint8_t i = lane->first; i != lane->end; i++) {
        uint64_t key = lane->key[i];
        if (!comes_first(free_at, key, best))
            break;
        uint32_t rank = ~(uint32_t)key;
        const hdi_list_node *v = &w->l.node[rank];
        double start = (double)v->ready > free_at ? (double)v->ready : free_at;
        bool opens_group = w->l.newest_pred[(size_t)rank * n + q] > group;
        if (opens_group)
            start += HDI_DRAIN_US;
        if (!comes_first(start, key, best) || (v->bytes && rank != w->oldest && !has_room(w, rank, v->bytes)) ||
            (v->bytes > w->fresh && (!may_claim(w, n, rank, q, v->bytes, &start) || !comes_first(start, key, best))))
            continue;
        *best = (choice){key, start, rank, q, opens_group};
    }
}

static HDI_INLINE choice choose(work *w, uint32_t n)
{
    choice best = {.rank = HDI_NONE, .start = NEVER};
    for (uint32_t k = 0; k < w->l.lane_count; k++) {
        const hdi_list_lane *lane = &w->l.lane[k];
        if (lane->first == lane->end)
            continue;
        if (lane->queues & (lane->queues - 1))
            look_at_lane(w, n, lane, &best);
        else
            look_at_lane_of_one(w, n, lane, &best);
    }
    return best;
}

/* Nothing fits: the oldest goes on all the same. */
static choice force(work *w, uint32_t n)
{
    const hdi_list_node *v = &w->l.node[w->oldest];
    const hdi_list_lane *lane = &w->l.lane[v->lane];
    choice c = {.rank = w->oldest, .start = NEVER};
    for (uint8_t i = lane->first; i != lane->end; i++)
        c.key = ~(uint32_t)lane->key[i] == w->oldest ? lane->key[i] : c.key;
    best_queue(w, n, lane, v, INT64_MIN, &c);
    return c;
}

/* ---- taking ---- */

/* Of resources that several might open; whoever waits to do so opens less now. */
static void open_shared(work *w, uint32_t taken)
{
    const hdi_sched *s = w->s;
    const uint32_t *use = &s->decl->pass_use_begin[s->rank_pass[taken]];
    uint32_t at = 0, *shared = w->l.shared;
    bool any = false;
    while (shared[at] != taken)
        at++;
    shared[at] = shared[--w->shared_count];
    for (uint32_t u = use[0]; u < use[1]; u++) {
        hdi_sched_res *res = &s->res[s->decl->use_res[u]];
        if (!is_unopened(s, res))
            continue;
        any = true;
        if (res->first - s->rank_begin > w->oldest)
            add_early(w, res->first - s->rank_begin, (int64_t)res->bytes);
        res->open = true;
    }
    for (uint32_t i = 0; any && i < w->shared_count; i++) {
        look_at_shared(w, shared[i]);
        admit(w, shared[i]);
    }
}

static HDI_INLINE void close_uses(work *w, uint32_t n, uint32_t pass, uint32_t queue, uint32_t slot)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_res = s->decl->use_res;
    for (uint32_t u = s->decl->pass_use_begin[pass], end = s->decl->pass_use_begin[pass + 1]; u < end; u++) {
        uint32_t r = use_res[u];
        hdi_sched_res *res = &s->res[r];
        uint32_t last = res->last - s->rank_begin;
        if (last >= s->kept_count)
            continue; /* another region closes it, or it has no bytes */
        s->res_queue_last[(size_t)r * n + queue] = slot + 1;
        if (--res->left)
            continue;
        int64_t bytes = (int64_t)res->bytes;
        closings *c = &w->closed[queue];
        c->of[c->count++] = (hdi_list_closing){bytes, r};
        add_early(w, last + 1, -bytes);
    }
}

/* Past the passes that were taken. */
static HDI_INLINE void move_on(work *w)
{
    uint32_t window = w->window;
    while (w->l.node[w->oldest].left == HDI_LIST_TAKEN) {
        w->oldest++;
        w->early += w->l.early_step[w->oldest];
        admit(w, w->oldest + window - 1);
        admit(w, w->oldest + window / 4);
    }
    w->room_exact = false;
    if (w->oldest > w->room_end) {
        w->room_end = w->oldest;
        w->room_early = w->early;
        w->room_low = ANY_ROOM;
    }
}

static HDI_INLINE void take(work *w, uint32_t n, const choice *c)
{
    const hdi_sched *s = w->s;
    const hdi_depends *depends = s->depends;
    hdi_list_node *v = &w->l.node[c->rank];
    uint32_t pass = s->rank_pass[c->rank], q = c->queue, slot = w->out->slot_count++;
    double finish = c->start + (double)v->cost;
    w->out->slot_pass[slot] = pass;
    w->out->slot_queue[slot] = (uint8_t)q;
    w->l.finish[slot] = w->free_at[q] = finish;
    w->out->makespan_us = finish > w->out->makespan_us ? finish : w->out->makespan_us;
    learn(w, n, c->rank, q, w->knows[q]);
    if (v->bytes)
        take_bytes(w, n, q, v->bytes, slot);
    w->knows[q][q] = slot + 1;
    for (uint32_t k = 0; k < n; k++)
        w->l.clock[(size_t)slot * n + k] = w->knows[q][k];
    if (c->opens_group)
        w->group[q] = slot;
    if (c->key)
        leave(&w->l.lane[v->lane], c->key);
    else
        hdi_bit_clear(w->l.waiting, c->rank);
    if (v->shared) {
        v->bytes = v->alone;
        open_shared(w, c->rank);
    }
    if (v->bytes && c->rank > w->oldest)
        add_early(w, c->rank, v->bytes);
    close_uses(w, n, pass, q, slot);
    v->left = HDI_LIST_TAKEN;
    move_on(w);
    for (uint32_t e = depends->succ_begin[pass], end = depends->succ_begin[pass + 1]; e < end; e++) {
        uint32_t rank = s->pass_rank[depends->succ[e]] - s->rank_begin;
        if (!s->whole && rank >= s->kept_count)
            continue;
        w->l.newest_pred[(size_t)rank * n + q] = slot + 1;
        w->l.node[rank].pred_queues |= (uint16_t)(1u << q);
        if (--w->l.node[rank].left == 0)
            make_ready(w, n, rank);
    }
}

/* ---- a run ---- */

/* A run that is to be given up shows early: after a sixteenth and an eighth of the passes where it is far from the
 * rate. */
static HDI_INLINE bool run(work *w, uint32_t n, double least_rate)
{
    static const double part_of_rate[] = {0.8, 0.9, 1.0};
    enum { FEW = 16, CHECKS = 3 };
    uint32_t kept = w->s->kept_count, check = least_rate > 0.0 ? 0 : CHECKS;
    double work_us = 0.0;
    while (check + 1 < CHECKS && kept >> (4 - check) < FEW)
        check++;
    for (uint32_t rank = 0; rank < kept; rank++) {
        if (w->l.node[rank].left == 0)
            make_ready(w, n, rank);
    }
    while (w->out->slot_count < kept) {
        choice c = choose(w, n);
        if (c.rank == HDI_NONE)
            c = force(w, n);
        take(w, n, &c);
        work_us += (double)w->l.node[c.rank].cost;
        if (check < CHECKS && w->out->slot_count == kept >> (4 - check)) {
            if (work_us < part_of_rate[check] * least_rate * w->out->makespan_us)
                return false;
            check++;
        }
    }
    return !w->s->arena->failed;
}

bool hdi_schedule_list(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, hdi_schedule *out)
{
    work w = {.s = s,
              .l = *list,
              .out = out,
              .handoff_us = rules->handoff_us,
              .cap = (int64_t)rules->cap,
              .window = rules->window,
              .room_low = ANY_ROOM};
    *out = (hdi_schedule){.slot_pass = HDI_ARENA_ARRAY(s->arena, uint32_t, s->kept_count),
                          .slot_queue = HDI_ARENA_ARRAY(s->arena, uint8_t, s->kept_count)};
    if (s->arena->failed)
        return false;
    hdi_list_reset(s, list);
    w.fresh = w.cap - s->live_bytes;
    for (uint32_t q = 0; q < s->queues->count; q++)
        w.closed[q].of = list->closing[q];
    switch (s->queues->count) {
    case 2:
        return run(&w, 2, rules->least_rate);
    case 3:
        return run(&w, 3, rules->least_rate);
    default:
        return run(&w, s->queues->count, rules->least_rate);
    }
}
