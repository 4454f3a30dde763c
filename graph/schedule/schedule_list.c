#include "schedule_list.h"

#include <math.h>
#include <string.h>

/* List: order and queue of each pass for several GPU queues, by list scheduling (Graham) in a window of ranks over a
 * simulated time: the pass and queue with the earliest start; ties go to the longest path to the end. A pass that needs
 * a barrier behind the newest group of its queue starts later by the time that draining the queue costs, so that passes
 * gather into groups.
 *
 * A hand-off costs its price where a queue waits for what it does not know to have finished, so a queue first does what
 * it can do without waiting. Of passes that wait and could start at once, the one that waits for the newest slots comes
 * first: its wait covers those of the others. Where another queue has nothing to do, groups count for nothing: the
 * longest path feeds it.
 *
 * Of all that a pass depends on, what counts of each queue is the newest: it finished last there, and knows all that
 * those before it knew. So an edge costs a store.
 *
 * O(passes * window * queues + uses + edges), mostly far from it. Serial, but for regions: each begins as if no queue
 * had anything to do, and waits of its first slots (schedule.c) make what earlier ones have closed free for all. */

typedef struct place {
    double start;
    hdi_list_queue *queue;
} place;

typedef struct choice {
    hdi_list_node *node; /* null: none */
    double start;
    hdi_list_queue *queue;
} choice;

static HDI_INLINE bool comes_before(const choice *a, const choice *b)
{
    return a->start < b->start || (a->start <= b->start && b->node && a->node->key < b->node->key);
}

static HDI_INLINE hdi_list_node *node_at(const hdi_list_work *w, uint32_t rank)
{
    return &w->l.node[w->s->rank_pass[rank] - w->s->pass_begin];
}
static HDI_INLINE hdi_list_node *node_of(const hdi_list_work *w, uint64_t key)
{
    return &w->l.node[(uint32_t)key];
}
static HDI_INLINE uint32_t *pred_of(const hdi_list_work *w, const hdi_list_node *v)
{
    return &w->l.pred[(size_t)(uint32_t)v->key * w->queue_count];
}

/* ---- candidates ---- */

/* Whether a pass depends on what a queue does not know to have finished: it waits for another queue there. */
static HDI_INLINE bool needs_wait(const hdi_list_work *w, const uint32_t *pred, const hdi_list_queue *q)
{
    return !hdi_list_covers(q->knows, pred, w->queue_count);
}

static HDI_INLINE bool needs_barrier(const uint32_t *pred, const hdi_list_queue *q)
{
    return pred[q->index] > q->group;
}

static void insert(hdi_list_work *w, hdi_list_node *v)
{
    hdi_list_ready *l = &w->lane[v->lane];
    const uint32_t *pred = pred_of(w, v);
    v->waits = v->drains = 0;
    for (uint32_t i = 0; i < l->queue_count; i++) {
        const hdi_list_queue *q = l->queue[i];
        v->waits |= (uint16_t)(needs_wait(w, pred, q) << q->index);
        v->drains |= (uint16_t)(needs_barrier(pred, q) << q->index);
    }
    uint32_t at = l->count++;
    for (; at > 0 && l->key[at - 1] > v->key; at--)
        l->key[at] = l->key[at - 1];
    l->key[at] = v->key;
    w->open_lanes |= 1u << v->lane;
}

static void leave(hdi_list_work *w, const hdi_list_node *v)
{
    hdi_list_ready *l = &w->lane[v->lane];
    uint32_t at = 0;
    while (l->key[at] != v->key)
        at++;
    for (l->count--; at < l->count; at++)
        l->key[at] = l->key[at + 1];
    w->open_lanes &= ~((uint32_t)(l->count == 0) << v->lane);
}

/* A queue has waited, or begun a group: fewer passes do so on it now. */
static void look_again(const hdi_list_work *w, const hdi_list_queue *q)
{
    const uint32_t bit = 1u << q->index;
    for (uint32_t open = w->open_lanes; open; open &= open - 1) {
        const hdi_list_ready *l = &w->lane[__builtin_ctz(open)];
        for (uint32_t i = 0; i < l->count; i++) {
            hdi_list_node *v = node_of(w, l->key[i]);
            const uint32_t *pred = pred_of(w, v);
            if (v->waits & bit && !needs_wait(w, pred, q))
                v->waits &= (uint16_t)~bit;
            if (v->drains & bit && !needs_barrier(pred, q))
                v->drains &= (uint16_t)~bit;
        }
    }
}

/* Whether a pass that is ready may be taken: in the window, and not too early where its consumers wait anyway. */
static HDI_INLINE bool is_due(const hdi_list_work *w, const hdi_list_node *v)
{
    bool waits = v->flags & HDI_NODE_PATIENT && v->bytes > w->small_bytes;
    return v->rank - w->oldest < (waits ? w->patience + 1 : w->window);
}

static HDI_INLINE void admit(hdi_list_work *w, uint32_t rank)
{
    if (w->l.state[rank] != HDI_RANK_WAITS || !is_due(w, node_at(w, rank)))
        return;
    w->l.state[rank] = HDI_RANK_LEFT;
    w->waiting_count--;
    insert(w, node_at(w, rank));
}

/* What a pass that shares resources with others would open. Who finds all of them open never opens any. Returns the one
 * that it would open; HDI_NONE: several, or none. */
static uint32_t look_at_shared(const hdi_list_work *w, hdi_list_node *v)
{
    const hdi_decl *decl = w->s->decl;
    const uint32_t *use = &decl->pass_use_begin[(uint32_t)v->key + w->s->pass_begin];
    uint32_t count = 0, only = HDI_NONE;
    int64_t bytes = w->l.alone[(uint32_t)v->key];
    for (uint32_t u = use[0], end = use[1]; u < end; u++) {
        const hdi_sched_res *res = &w->s->res[decl->use_res[u]];
        if (!hdi_list_shares(w->s, res) || res->open)
            continue;
        bytes += (int64_t)res->bytes;
        only = count++ && only != decl->use_res[u] ? HDI_NONE : decl->use_res[u];
    }
    v->bytes = bytes;
    v->flags = (uint8_t)((v->flags & ~HDI_NODE_OPENS) | (count ? HDI_NODE_OPENS : 0));
    return only;
}

static void make_ready(hdi_list_work *w, hdi_list_node *v)
{
    if (v->flags & HDI_NODE_SHARED) {
        uint32_t res = look_at_shared(w, v);
        if (v->flags & HDI_NODE_OPENS)
            w->l.opener[w->opener_count++] = (hdi_list_opener){(uint32_t)v->key, res};
    }
    if (is_due(w, v)) {
        insert(w, v);
    } else {
        w->l.state[v->rank] = HDI_RANK_WAITS;
        w->waiting_count++;
    }
}

/* ---- where and when ---- */

/* When a pass can start on a queue, but for what it opens. */
static HDI_INLINE double start_on(const hdi_list_work *w, const hdi_list_node *v, const hdi_list_queue *q)
{
    double start = v->ready > q->free_at ? v->ready : q->free_at;
    return start + w->drain_us[v->drains >> q->index & 1] + w->wait_us[v->waits >> q->index & 1];
}

/* Another kind's queue has its own to do: there a pass must start clearly earlier. */
static HDI_INLINE place best_place(const hdi_list_work *w, const hdi_list_ready *l, const hdi_list_node *v)
{
    place best = {start_on(w, v, l->queue[0]), l->queue[0]};
    double least = best.start + (double)(v->bias * l->foreign[0]);
    for (uint32_t i = 1; i < l->queue_count; i++) {
        double start = start_on(w, v, l->queue[i]), biased = start + (double)(v->bias * l->foreign[i]);
        if (biased < least) {
            best = (place){start, l->queue[i]};
            least = biased;
        }
    }
    return best;
}

/* For a pass that opens more than is fresh: the first queue counts, once the pass has its bytes there. */
static place claim_best_place(const hdi_list_work *w, const hdi_list_ready *l, const hdi_list_node *v)
{
    double start[HD_MAX_QUEUES];
    uint32_t claimed = 0;
    for (uint32_t i = 0; i < l->queue_count; i++)
        start[i] = start_on(w, v, l->queue[i]);
    for (;;) {
        uint32_t best = 0;
        double least = INFINITY;
        for (uint32_t i = 0; i < l->queue_count; i++) {
            double biased = start[i] + (double)(v->bias * l->foreign[i]);
            best = biased < least ? i : best;
            least = biased < least ? biased : least;
        }
        if (claimed >> best & 1)
            return (place){start[best], l->queue[best]};
        claimed |= 1u << best;
        start[best] = hdi_list_claim(w, pred_of(w, v), l->queue[best], v->bytes, start[best]);
    }
}

/* Where a pass goes, and when, with the memory that it needs; HDI_NEVER: it finds no room. p: when without. */
static HDI_INLINE place place_first(hdi_list_work *w, hdi_list_node *v, place p)
{
    if (v->bytes == 0)
        return p;
    if (v->rank != w->oldest && !hdi_list_has_room(w, v->rank, v->bytes))
        return (place){HDI_NEVER, NULL};
    return v->bytes <= w->fresh ? p : claim_best_place(w, &w->lane[v->lane], v);
}

/* ---- choosing ---- */

/* The pass that seems to start first, memory aside. */
static choice find_first(const hdi_list_work *w)
{
    choice best = {NULL, HDI_NEVER, NULL};
    for (uint32_t open = w->open_lanes; open; open &= open - 1) {
        const hdi_list_ready *l = &w->lane[__builtin_ctz(open)];
        double free_at = l->queue[0]->free_at;
        for (uint32_t i = 1; i < l->queue_count; i++)
            free_at = l->queue[i]->free_at < free_at ? l->queue[i]->free_at : free_at;
        for (uint32_t i = 0; i < l->count; i++) {
            choice c = {node_of(w, l->key[i]), free_at, NULL};
            if (!comes_before(&c, &best))
                break; /* nor do those behind it */
            hdi_list_node *v = c.node;
            c.start = v->ready > free_at ? v->ready : free_at;
            if (!comes_before(&c, &best))
                continue;
            place p = best_place(w, l, v);
            c.start = p.start;
            c.queue = p.queue;
            if (comes_before(&c, &best))
                best = c;
        }
    }
    return best;
}

/* The one that seems to be first may have its memory later, or none: whoever may come before it is placed. */
static choice choose(hdi_list_work *w)
{
    choice best = {NULL, HDI_NEVER, NULL}, seemed = find_first(w);
    uint32_t count = 0;
    while (seemed.node && (!best.node || comes_before(&seemed, &best))) {
        place p = place_first(w, seemed.node, (place){seemed.start, seemed.queue});
        choice placed = {seemed.node, p.start, p.queue};
        if (p.queue && p.start < HDI_NEVER && (!best.node || comes_before(&placed, &best)))
            best = placed;
        if (p.start <= seemed.start)
            break;
        w->late[count++] = (hdi_list_late){seemed.node, seemed.node->ready};
        seemed.node->ready = INFINITY;
        seemed = find_first(w);
    }
    while (count-- > 0)
        w->late[count].node->ready = w->late[count].ready;
    return best;
}

/* Nothing fits: the oldest goes on all the same. */
static choice force(hdi_list_work *w)
{
    hdi_list_node *v = node_at(w, w->oldest);
    if (w->l.state[w->oldest] == HDI_RANK_WAITS) {
        insert(w, v);
        w->waiting_count--;
        w->l.state[w->oldest] = HDI_RANK_LEFT;
    }
    place p = best_place(w, &w->lane[v->lane], v);
    return (choice){v, p.start, p.queue};
}

/* In place of a pass that waits for other queues, one that could start there as early and waits for all that it does
 * and more: then those between need no waits of their own. */
static choice find_widest(hdi_list_work *w, choice c)
{
    uint32_t most[HD_MAX_QUEUES], more[HD_MAX_QUEUES], queues = w->queue_count;
    size_t bytes = queues * sizeof(*most);
    memcpy(most, c.queue->knows, bytes);
    hdi_list_raise(most, pred_of(w, c.node), queues);
    for (uint32_t open = w->open_lanes; open; open &= open - 1) {
        const hdi_list_ready *l = &w->lane[__builtin_ctz(open)];
        for (uint32_t i = 0; i < l->count; i++) {
            hdi_list_node *v = node_of(w, l->key[i]);
            const uint32_t *pred = pred_of(w, v);
            if (v->ready > c.start || hdi_list_covers(most, pred, queues))
                continue;
            memcpy(more, c.queue->knows, bytes);
            hdi_list_raise(more, pred, queues);
            if (!hdi_list_covers(more, most, queues))
                continue;
            place p = best_place(w, l, v);
            if (p.queue == c.queue && p.start <= c.start)
                p = place_first(w, v, p);
            if (p.queue != c.queue || p.start > c.start)
                continue;
            c = (choice){v, p.start, p.queue};
            memcpy(most, more, bytes);
        }
    }
    return c;
}

/* Whether a queue has nothing to do before another one is done that has. */
static bool is_starved(const hdi_list_work *w)
{
    uint32_t fed = 0;
    double last = 0.0;
    for (uint32_t open = w->open_lanes; open; open &= open - 1)
        fed |= w->lane[__builtin_ctz(open)].home;
    if (!(w->homes & ~fed))
        return false;
    for (uint32_t left = fed; left; left &= left - 1) {
        const hdi_list_queue *q = &w->queue[__builtin_ctz(left)];
        last = q->free_at > last ? q->free_at : last;
    }
    for (uint32_t left = w->homes & ~fed; left; left &= left - 1) {
        if (w->queue[__builtin_ctz(left)].free_at < last)
            return true;
    }
    return false;
}

/* ---- taking ---- */

/* Of resources that several might open; whoever waits to do so opens less now. */
static void open_shared(hdi_list_work *w, const hdi_list_node *taken)
{
    const hdi_sched *s = w->s;
    const uint32_t *use = &s->decl->pass_use_begin[(uint32_t)taken->key + s->pass_begin];
    hdi_list_opener *opener = w->l.opener;
    uint32_t kept = 0;
    for (uint32_t u = use[0]; u < use[1]; u++) {
        hdi_sched_res *res = &s->res[s->decl->use_res[u]];
        if (!hdi_list_shares(s, res) || res->open)
            continue;
        if (res->first - s->rank_begin > w->oldest)
            hdi_list_add_alive(w, res->first - s->rank_begin, (int64_t)res->bytes, false);
        res->open = true;
    }
    for (uint32_t i = 0; i < w->opener_count; i++) {
        hdi_list_opener o = opener[i];
        hdi_list_node *v = &w->l.node[o.place];
        if (v == taken)
            continue;
        if (o.res == HDI_NONE || s->res[o.res].open) {
            o.res = look_at_shared(w, v);
            admit(w, v->rank);
        }
        opener[kept] = o;
        kept += (v->flags & HDI_NODE_OPENS) != 0;
    }
    w->opener_count = kept;
}

/* What a pass uses, and nobody else any more, is closed. */
static void close_uses(hdi_list_work *w, uint32_t pass, hdi_list_queue *q)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_res = s->decl->use_res, *use = &s->decl->pass_use_begin[pass];
    for (size_t u = use[0], end = use[1]; u < end; u++) {
        uint32_t r = use_res[u];
        hdi_sched_res *res = &s->res[r];
        if (!hdi_sched_has(s, res->last)) { /* a later region closes it, or it has no bytes */
            if (s->alone) /* else workers of other regions count as well, and nothing reads it */
                res->left--;
            continue;
        }
        s->res_last_slots[(size_t)r * w->queue_count + q->index] = w->slots;
        if (--res->left)
            continue;
        *q->end++ = (hdi_list_closing){(int64_t)res->bytes, r};
        hdi_list_add_alive(w, res->last - s->rank_begin + 1, -(int64_t)res->bytes, true);
    }
}

/* The oldest was taken: past all that were. */
static void move_on(hdi_list_work *w)
{
    uint32_t oldest = w->oldest;
    int64_t alive = w->alive;
    do {
        alive += w->l.alive_step[++oldest];
        if (w->waiting_count) {
            w->oldest = oldest;
            admit(w, oldest + w->window - 1);
            admit(w, oldest + w->patience);
        }
    } while (w->l.state[oldest] == HDI_RANK_TAKEN);
    hdi_list_move_room(w, oldest, alive);
}

/* Passes that depend on one that was taken. */
static void release(hdi_list_work *w, uint32_t pass, const hdi_list_queue *q)
{
    const hdi_depends *depends = w->s->depends;
    uint32_t pass_begin = w->s->pass_begin, count = w->s->pass_end - pass_begin;
    for (size_t e = depends->succ_begin[pass], end = depends->succ_begin[pass + 1]; e < end; e++) {
        uint32_t next = depends->succ[e] - pass_begin;
        if (next >= count)
            continue;
        hdi_list_node *v = &w->l.node[next];
        w->l.pred[(size_t)next * w->queue_count + q->index] = w->slots;
        v->ready = q->free_at > v->ready ? q->free_at : v->ready;
        if (--v->left == 0)
            make_ready(w, v);
    }
}

static void take(hdi_list_work *w, const choice *c)
{
    hdi_list_node *v = c->node;
    hdi_list_queue *q = c->queue;
    const uint32_t *pred = pred_of(w, v);
    uint32_t pass = (uint32_t)v->key + w->s->pass_begin, slot = w->slots++, rank = v->rank;
    w->out->slot_pass[slot] = pass;
    w->out->slot_queue[slot] = (uint8_t)q->index;
    w->l.state[rank] = HDI_RANK_TAKEN;
    double start = c->start;
    bool waits = v->waits >> q->index & 1, drains = v->drains >> q->index & 1;
    if (waits) {
        start -= w->handoff_us;
        start = start > v->ready + w->handoff_us ? start : v->ready + w->handoff_us;
    }
    q->free_at = start + (double)v->cost;
    q->group = drains ? slot : q->group;
    hdi_list_learn(w, q->knows, pred);
    if (v->bytes) {
        waits |= hdi_list_take_bytes(w, q, v->bytes, slot);
        if (v->flags & HDI_NODE_OPENS)
            v->bytes = w->l.alone[(uint32_t)v->key];
        if (rank > w->oldest)
            hdi_list_add_alive(w, rank, v->bytes, false);
    }
    w->l.finish[slot + 1] = q->free_at;
    q->knows[q->index] = slot + 1;
    for (uint32_t other = 0; other < w->queue_count; other++)
        w->l.clock[(size_t)(slot + 1) * w->queue_count + other] = q->knows[other];
    leave(w, v);
    if (waits || drains)
        look_again(w, q);
    if (v->flags & HDI_NODE_OPENS)
        open_shared(w, v);
    close_uses(w, pass, q);
    if (rank == w->oldest)
        move_on(w);
    release(w, pass, q);
}

/* ---- a run ---- */

static double makespan(const hdi_list_work *w)
{
    double us = 0.0;
    for (uint32_t q = 0; q < w->queue_count; q++)
        us = w->queue[q].free_at > us ? w->queue[q].free_at : us;
    return us;
}

static inline uint32_t part_of(uint32_t kept, uint32_t part)
{
    return (uint32_t)((uint64_t)kept * part / 128);
}

/* A run that is to be given up shows early: from a sixty-fourth to a sixteenth of the passes it has to come nearer and
 * nearer to the rate. */
static bool run(hdi_list_work *w, double least_rate)
{
    enum { FEW = 16, FIRST_PART = 2, LAST_PART = 8 };
    const hdi_sched *s = w->s;
    uint32_t kept = s->kept_count, part = FIRST_PART, counted = 0;
    double work_us = 0.0;
    while (part < LAST_PART && part_of(kept, part) < FEW)
        part++;
    uint32_t check = least_rate > 0.0 ? part_of(kept, part) : kept;
    for (uint32_t i = 0; i < w->l.root_count; i++)
        make_ready(w, &w->l.node[w->l.root[i]]);
    for (;;) {
        while (w->slots < check) {
            w->drain_us[1] = is_starved(w) ? 0.0 : HDI_DRAIN_US;
            choice c = choose(w);
            if (!c.node)
                c = force(w);
            if (c.node->waits >> c.queue->index & 1)
                c = find_widest(w, c);
            take(w, &c);
        }
        if (check == kept)
            break;
        for (; counted < check; counted++)
            work_us += (double)s->decl->pass_cost[w->out->slot_pass[counted]];
        double aim = 0.8 + 0.2 * (part - FIRST_PART) / (LAST_PART - FIRST_PART);
        if (work_us < aim * least_rate * makespan(w))
            return false;
        check = ++part <= LAST_PART ? part_of(kept, part) : kept;
    }
    w->out->makespan_us = makespan(w);
    return !s->arena->failed;
}

/* queues: those that passes run on which have the choice. */
static void begin_lanes(hdi_list_work *w, uint32_t queues)
{
    const hdi_queues *set = w->s->queues;
    for (uint32_t k = 0; k < w->l.lane_count; k++) {
        const hdi_list_lane *of = &w->l.lane[k];
        hdi_list_ready *l = &w->lane[k];
        uint32_t mask = of->queues & queues ? of->queues & queues : of->queues;
        l->count = l->queue_count = l->home = 0;
        for (; mask; mask &= mask - 1) {
            uint32_t q = (uint32_t)__builtin_ctz(mask);
            bool foreign = of->foreign >> q & 1;
            l->home |= foreign || set->kind[q] >= HD_QUEUE_TRANSFER ? 0 : 1u << q;
            l->foreign[l->queue_count] = foreign ? 1.0f : 0.0f;
            l->queue[l->queue_count++] = &w->queue[q];
        }
        w->homes |= l->home;
    }
}

static bool make_work(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, hdi_list_work *w)
{
    enum { SMALL_PART = 64 };
    size_t most = rules->window < s->kept_count ? rules->window : s->kept_count;
    uint32_t queues = s->queues->count;
    *w = (hdi_list_work){.s = s,
                         .l = *list,
                         .handoff_us = rules->handoff_us,
                         .wait_us = {0.0, rules->handoff_us},
                         .cap = (int64_t)rules->cap,
                         .small_bytes = (int64_t)rules->cap / SMALL_PART,
                         .window = rules->window,
                         .patience = rules->patience,
                         .queue_count = queues,
                         .lane = HDI_ARENA_ARRAY(s->arena, hdi_list_ready, list->lane_count),
                         .late = HDI_ARENA_ARRAY(s->arena, hdi_list_late, most),
                         .fresh = (int64_t)rules->cap - s->live_bytes,
                         .full_rank = HDI_NONE};
    uint64_t *keys = HDI_ARENA_ARRAY(s->arena, uint64_t, most * list->lane_count);
    if (s->arena->failed)
        return false;
    for (uint32_t k = 0; k < list->lane_count; k++)
        w->lane[k].key = keys + k * most;
    for (uint32_t q = 0; q < queues; q++) {
        w->queue[q].index = q;
        w->queue[q].begin = w->queue[q].end = list->closing[q];
    }
    w->l.finish[0] = -HDI_NEVER;
    memset(w->l.clock, 0, queues * sizeof(*w->l.clock));
    hdi_list_move_room(w, 0, list->alive_step[0]);
    begin_lanes(w, rules->queues);
    return true;
}

bool hdi_schedule_list(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, hdi_schedule *out)
{
    hdi_list_work *w = HDI_ARENA_ARRAY(s->arena, hdi_list_work, 1); /* much for the stack of a fiber */
    *out = (hdi_schedule){.slot_pass = HDI_ARENA_ARRAY(s->arena, uint32_t, s->kept_count),
                          .slot_queue = HDI_ARENA_ARRAY(s->arena, uint8_t, s->kept_count)};
    if (s->arena->failed || !make_work(s, list, rules, w))
        return false;
    w->out = out;
    bool done = run(w, rules->least_rate);
    out->slot_count = w->slots;
    return done;
}
