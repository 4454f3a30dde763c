#include <math.h>
#include <string.h>

#include "schedule_work.h"

/* List: order and queue of each pass for several GPU queues, by list scheduling (Graham) over a simulated time: of the
 * ready passes in a window of ranks, the pass and the queue with the earliest start; ties go to the longest path to the
 * end. A pass that needs a barrier behind the newest group of its queue starts later by the time that draining the
 * queue costs, so passes gather into groups; that time is free while another queue has nothing to do. A pass that
 * depends on slots of another queue which its queue does not know to have finished starts later by the price of a
 * hand-off, so a queue first does what it can do without waiting. Of passes that wait and could start at once, the one
 * that waits for the newest slots comes first: its wait covers the others.
 *
 * Of all that a pass depends on, the newest slot of each queue counts: it finished last there, and knows all that
 * earlier slots knew. So an edge costs a store.
 *
 * Memory has a cap as in schedule_groups.c. Bytes that were closed on another queue serve only a queue that knows that
 * they are free; a pass that needs other bytes waits for the slots that closed them, and that wait becomes an edge of
 * the plan. So the packing finds what the cap promised.
 *
 * O(passes * LOOK * queues + uses + edges). Serial, but for regions. */

enum { LOOK = 10, LOOK_CLOSED = 32 }; /* ready passes of a lane and closed resources of a queue that are looked at */
#define NEVER 1e300

/* A closed resource, and those of its bytes that no pass took over. */
typedef struct list_closing {
    int64_t left;
    uint32_t res;
} list_closing;

typedef struct list_queue {
    double free_at;
    uint32_t index;
    uint32_t group;                 /* 1 + the slots before its newest barrier: later slots are in one group */
    list_closing *begin, *end;      /* closed there; before begin all bytes are taken over */
    uint32_t knows[HD_MAX_QUEUES];  /* clock: what has finished before its next pass */
} list_queue;

/* Passes that can be scheduled: their keys, ascending. */
typedef struct list_ready {
    uint32_t queue_count, count;
    uint32_t home; /* a bit for each queue that is there for these passes */
    list_queue *queue[HD_MAX_QUEUES];
    float foreign[HD_MAX_QUEUES]; /* 1: of another kind than the passes are of; else 0 */
    uint64_t *key;
} list_ready;

enum { RANK_LEFT, RANK_WAITS, RANK_TAKEN }; /* waits: it is ready, and in no lane yet */

typedef struct list_work {
    const hdi_sched *s;
    hdi_list l;
    hdi_list_rules rules;
    hdi_schedule *out;
    hdi_room room;
    double drain_us; /* what a barrier costs: nothing while another queue has nothing to do */
    int64_t fresh; /* bytes under the cap that no pass has had yet */
    uint32_t slots, queue_count, words, waiting_count, edge_capacity;
    uint32_t homes; /* of all lanes */
    list_queue queue[HD_MAX_QUEUES];
    list_ready lane[HDI_MOST_LANES];
    uint8_t *state; /* by rank, with as many behind the last as a window has */
} list_work;

typedef struct list_choice {
    double start;
    uint32_t rank; /* HDI_NONE: no pass */
    list_queue *queue;
} list_choice;

static HDI_INLINE uint32_t *pred_of(const list_work *w, uint32_t rank)
{
    return &w->l.pred[(size_t)rank * w->words];
}

/* Whether a clock knows all that another one does. */
static HDI_INLINE bool covers(const list_work *w, const uint32_t *clock, const uint32_t *other)
{
    uint32_t q = 0;
    do {
        if (hdi_u31x4_exceeds(other + q, clock + q))
            return false;
    } while ((q += 4) < w->words);
    return true;
}

/* A clock learns of slots that are waited for: all that was known when they had finished. */
static void learn(const list_work *w, uint32_t *clock, const uint32_t *slots)
{
    for (uint32_t q = 0; q < w->queue_count; q++) {
        if (slots[q] > clock[q])
            hdi_clock_raise(clock, &w->l.clock[(size_t)slots[q] * w->words], w->words);
    }
}

/* ---- memory ---- */

static const uint32_t *users_of(const list_work *w, const list_closing *c)
{
    return &w->s->res_last_slots[(size_t)c->res * w->words];
}

static const list_closing *look_end(const list_queue *q)
{
    return q->end - q->begin < LOOK_CLOSED ? q->end : q->begin + LOOK_CLOSED;
}

/* How many of `bytes` are left when closed resources serve that a clock knows to be free: those of its own queue first,
 * which others know last. take: they are taken over. */
static int64_t claim_known(list_work *w, const list_queue *own, int64_t bytes, const uint32_t *clock, bool take)
{
    for (uint32_t i = 0; bytes > 0 && i < w->queue_count; i++) {
        list_queue *q = &w->queue[i == 0 ? own->index : i - (i <= own->index)];
        while (q->begin != q->end && q->begin->left == 0)
            q->begin++;
        const list_closing *end = look_end(q);
        for (list_closing *at = q->begin; at != end && bytes > 0; at++) {
            int64_t left = at->left;
            if (left == 0 || !covers(w, clock, users_of(w, at)))
                continue;
            at->left -= !take ? 0 : left < bytes ? left : bytes;
            bytes = left < bytes ? bytes - left : 0;
        }
    }
    return bytes;
}

/* Of the closed resources that a clock does not know to be free, the one that is free first; null: there is none. */
static list_closing *find_free(const list_work *w, const list_queue *own, const uint32_t *clock, double *time)
{
    list_closing *best = NULL;
    for (uint32_t q = 0; q < w->queue_count; q++) {
        list_closing *at = w->queue[q].begin;
        const list_closing *end = look_end(&w->queue[q]);
        while (at != end && (at->left == 0 || covers(w, clock, users_of(w, at))))
            at++;
        double free_at = 0.0;
        for (uint32_t user = 0; at != end && user < w->queue_count; user++) {
            double done = w->l.finish[users_of(w, at)[user]] + (user == own->index ? 0.0 : w->rules.handoff_us);
            free_at = done > free_at ? done : free_at;
        }
        if (at != end && (!best || free_at < *time)) {
            best = at;
            *time = free_at;
        }
    }
    return best;
}

/* Waits for bytes that were closed elsewhere: the clock rises to what is waited for. Returns when that is, `start` at
 * the earliest, or NEVER: not enough was closed. */
static double wait_for_bytes(const list_work *w, const list_queue *own, int64_t bytes, uint32_t *clock, double start,
                             bool take)
{
    while (bytes > 0) {
        double time = 0.0;
        list_closing *c = find_free(w, own, clock, &time);
        if (!c)
            return NEVER;
        hdi_clock_raise(clock, users_of(w, c), w->words);
        start = time > start ? time : start;
        int64_t part = c->left < bytes ? c->left : bytes;
        c->left -= take ? part : 0;
        bytes -= part;
    }
    return start;
}

/* When a pass that could start at c->start has its bytes on the queue; NEVER: it has no room. */
static double find_start(list_work *w, const list_choice *c)
{
    int64_t bytes = hdi_sched_bytes(w->s, c->rank);
    uint32_t clock[HD_MAX_QUEUES];
    if (bytes == 0)
        return c->start;
    if (c->rank != w->room.oldest && !hdi_room_fits(&w->room, c->rank, bytes))
        return NEVER;
    if (bytes <= w->fresh)
        return c->start;
    memcpy(clock, c->queue->knows, w->words * sizeof(*clock));
    learn(w, clock, pred_of(w, c->rank));
    bytes = claim_known(w, c->queue, bytes - (w->fresh > 0 ? w->fresh : 0), clock, false);
    return bytes <= 0 ? c->start : wait_for_bytes(w, c->queue, bytes, clock, c->start, false);
}

/* Takes bytes for a slot. Waits become edges; the queue learns what they cover. Whether there are any. */
static bool take_bytes(list_work *w, list_queue *q, int64_t bytes, uint32_t slot)
{
    uint32_t before[HD_MAX_QUEUES];
    hdi_schedule *out = w->out;
    int64_t left = claim_known(w, q, bytes, q->knows, true);
    int64_t fresh = w->fresh < 0 ? 0 : w->fresh < left ? w->fresh : left;
    w->fresh -= fresh;
    if (left <= fresh)
        return false;
    memcpy(before, q->knows, sizeof(before));
    if (wait_for_bytes(w, q, left - fresh, q->knows, 0.0, true) >= NEVER)
        w->fresh = 0; /* forced: more than the cap */
    for (uint32_t other = 0; other < w->queue_count; other++) {
        if (other == q->index || q->knows[other] == before[other])
            continue;
        if (!hdi_arena_grow(w->s->arena, &out->edge, &w->edge_capacity, out->edge_count, out->edge_count + 1,
                            sizeof(*out->edge)))
            break;
        out->edge[out->edge_count++] = (hdi_edge){q->knows[other] - 1, slot};
    }
    return true;
}

/* ---- ready passes ---- */

static void insert(list_work *w, uint32_t rank)
{
    const uint64_t key = w->l.node[rank].key;
    list_ready *l = &w->lane[w->l.node[rank].lane];
    uint32_t at = l->count++;
    for (; at > 0 && l->key[at - 1] > key; at--)
        l->key[at] = l->key[at - 1];
    l->key[at] = key;
}

static void leave(list_work *w, uint32_t rank)
{
    list_ready *l = &w->lane[w->l.node[rank].lane];
    uint32_t at = 0;
    while (l->key[at] != w->l.node[rank].key)
        at++;
    for (l->count--; at < l->count; at++)
        l->key[at] = l->key[at + 1];
}

/* Whether a ready pass may be scheduled: in the window, and not too early where its consumers wait anyway and what it
 * opens is much. */
static HDI_INLINE bool is_due(const list_work *w, uint32_t rank)
{
    enum { SMALL_PART = 64 };
    bool waits = w->l.node[rank].patient && hdi_sched_bytes(w->s, rank) > (int64_t)w->rules.cap / SMALL_PART;
    return rank - w->room.oldest < (waits ? w->rules.patience + 1 : w->rules.window);
}

static void make_ready(list_work *w, uint32_t rank)
{
    if (is_due(w, rank)) {
        insert(w, rank);
    } else {
        w->state[rank] = RANK_WAITS;
        w->waiting_count++;
    }
}

static HDI_INLINE void admit(list_work *w, uint32_t rank)
{
    if (w->state[rank] != RANK_WAITS || !is_due(w, rank))
        return;
    w->state[rank] = RANK_LEFT;
    w->waiting_count--;
    insert(w, rank);
}

/* ---- choosing ---- */

/* pred: the newest slots that a pass depends on. */
static HDI_INLINE bool needs_barrier(const uint32_t *pred, const list_queue *q)
{
    return pred[q->index] > q->group;
}

/* The queue for a pass, and its start there, memory aside. A queue of another kind has its own passes to run: there a
 * pass must start clearly earlier. */
static HDI_INLINE list_choice find_queue(const list_work *w, const list_ready *l, uint32_t rank)
{
    const hdi_list_node *v = &w->l.node[rank];
    const uint32_t *pred = pred_of(w, rank);
    list_choice best = {NEVER, rank, l->queue[0]};
    double least = INFINITY;
    for (uint32_t i = 0; i < l->queue_count; i++) {
        list_queue *q = l->queue[i];
        double start = v->ready > q->free_at ? v->ready : q->free_at;
        start += needs_barrier(pred, q) ? w->drain_us : 0.0;
        start += covers(w, q->knows, pred) ? 0.0 : w->rules.handoff_us;
        double biased = start + (double)(v->bias * l->foreign[i]);
        if (biased < least) {
            best.start = start;
            best.queue = q;
            least = biased;
        }
    }
    return best;
}

/* Ties of the start go to the longest path to the end. */
static HDI_INLINE bool comes_before(const list_work *w, const list_choice *a, const list_choice *b)
{
    return a->start < b->start ||
           (a->start <= b->start && (b->rank == HDI_NONE || w->l.node[a->rank].key < w->l.node[b->rank].key));
}

/* The pass that seems to start first, memory aside, of those that come behind `after` (rank HDI_NONE: of all). */
static list_choice find_first(const list_work *w, const list_choice *after)
{
    list_choice best = {NEVER, HDI_NONE, NULL};
    for (uint32_t k = 0; k < w->l.lane_count; k++) {
        const list_ready *l = &w->lane[k];
        double free_at = l->queue[0]->free_at;
        for (uint32_t i = 1; i < l->queue_count; i++)
            free_at = l->queue[i]->free_at < free_at ? l->queue[i]->free_at : free_at;
        for (uint32_t i = 0, count = l->count < LOOK ? l->count : LOOK; i < count; i++) {
            const uint32_t rank = (uint32_t)l->key[i];
            list_choice earliest = {free_at, rank, NULL};
            if (!comes_before(w, &earliest, &best))
                break; /* nor do those behind it */
            earliest.start = w->l.node[rank].ready > free_at ? w->l.node[rank].ready : free_at;
            if (!comes_before(w, &earliest, &best))
                continue;
            const list_choice c = find_queue(w, l, rank);
            if (comes_before(w, &c, &best) && (after->rank == HDI_NONE || comes_before(w, after, &c)))
                best = c;
        }
    }
    return best;
}

/* The pass that seems to be first may have its memory later, or no room: each pass that may come before it is tried. */
static list_choice choose(list_work *w)
{
    list_choice best = {NEVER, HDI_NONE, NULL}, seemed = find_first(w, &best);
    while (seemed.rank != HDI_NONE && comes_before(w, &seemed, &best)) {
        const list_choice placed = {find_start(w, &seemed), seemed.rank, seemed.queue};
        if (placed.start < NEVER && comes_before(w, &placed, &best))
            best = placed;
        if (placed.start <= seemed.start)
            break;
        seemed = find_first(w, &seemed);
    }
    return best;
}

/* No pass fits: the oldest is scheduled all the same. */
static list_choice force_oldest(list_work *w)
{
    const uint32_t rank = w->room.oldest;
    if (w->state[rank] == RANK_WAITS) {
        insert(w, rank);
        w->waiting_count--;
        w->state[rank] = RANK_LEFT;
    }
    return find_queue(w, &w->lane[w->l.node[rank].lane], rank);
}

/* In place of a pass that waits for other queues, a pass that could start there as early and waits for all that the
 * first one does and more: then the passes between need no waits of their own. */
static list_choice find_widest(list_work *w, list_choice c)
{
    uint32_t most[HD_MAX_QUEUES], more[HD_MAX_QUEUES];
    memcpy(most, c.queue->knows, sizeof(most));
    hdi_clock_raise(most, pred_of(w, c.rank), w->words);
    for (uint32_t k = 0; k < w->l.lane_count; k++) {
        const list_ready *l = &w->lane[k];
        for (uint32_t i = 0, count = l->count < LOOK ? l->count : LOOK; i < count; i++) {
            const uint32_t rank = (uint32_t)l->key[i], *pred = pred_of(w, rank);
            if (w->l.node[rank].ready > c.start || covers(w, most, pred))
                continue;
            memcpy(more, c.queue->knows, sizeof(more));
            hdi_clock_raise(more, pred, w->words);
            if (!covers(w, more, most))
                continue;
            const list_choice other = find_queue(w, l, rank);
            if (other.queue != c.queue || other.start > c.start || find_start(w, &other) > c.start)
                continue;
            c = other;
            memcpy(most, more, sizeof(most));
        }
    }
    return c;
}

/* ---- scheduling a pass ---- */

/* Closes what the pass uses and no pass is left to use. */
static void close_uses(list_work *w, uint32_t rank, list_queue *q)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_res = s->decl->use_res, *use = &s->decl->pass_use_begin[s->rank_pass[rank]];
    for (size_t u = use[0], end = use[1]; u < end; u++) {
        const uint32_t r = use_res[u];
        hdi_sched_res *res = &s->res[r];
        if (!hdi_sched_has(s, res->last)) /* a later region closes it, or it has no bytes */
            continue;
        s->res_last_slots[(size_t)r * w->words + q->index] = w->slots;
        if (--res->left)
            continue;
        *q->end++ = (list_closing){(int64_t)res->bytes, r};
        hdi_room_add(&w->room, res->last - s->rank_begin + 1, -(int64_t)res->bytes);
    }
}

static void move_oldest(list_work *w)
{
    uint32_t rank = w->room.oldest;
    while (w->state[rank] == RANK_TAKEN) {
        hdi_room_move(&w->room);
        rank++;
        if (w->waiting_count) {
            admit(w, rank + w->rules.window - 1);
            admit(w, rank + w->rules.patience);
        }
    }
}

/* The passes that depend on the one that was scheduled. */
static void release(list_work *w, uint32_t rank, const list_queue *q)
{
    const hdi_sched *s = w->s;
    const hdi_depends *depends = s->depends;
    const uint32_t pass = s->rank_pass[rank];
    for (size_t e = depends->succ_begin[pass], end = depends->succ_begin[pass + 1]; e < end; e++) {
        const uint32_t next = depends->succ[e];
        if (next >= s->pass_end)
            continue;
        const uint32_t to = s->pass_rank[next] - s->rank_begin;
        hdi_list_node *v = &w->l.node[to];
        pred_of(w, to)[q->index] = w->slots;
        v->ready = q->free_at > v->ready ? q->free_at : v->ready;
        if (--s->pass_left[next] == 0)
            make_ready(w, to);
    }
}

static void schedule_pass(list_work *w, const list_choice *c)
{
    const uint32_t rank = c->rank, slot = w->slots++;
    const hdi_list_node *v = &w->l.node[rank];
    list_queue *q = c->queue;
    double start = c->start;
    if (!covers(w, q->knows, pred_of(w, rank))) { /* the price is not time that passes */
        start -= w->rules.handoff_us;
        start = start > v->ready + w->rules.handoff_us ? start : v->ready + w->rules.handoff_us;
    }
    if (needs_barrier(pred_of(w, rank), q))
        q->group = slot;
    w->out->slot_pass[slot] = w->s->rank_pass[rank];
    w->out->slot_queue[slot] = (uint8_t)q->index;
    w->state[rank] = RANK_TAKEN;
    q->free_at = start + (double)v->cost;
    leave(w, rank);
    learn(w, q->knows, pred_of(w, rank));
    int64_t bytes = hdi_room_take(&w->room, w->s, rank);
    if (bytes)
        take_bytes(w, q, bytes, slot);
    w->l.finish[slot + 1] = q->free_at;
    q->knows[q->index] = slot + 1;
    memcpy(&w->l.clock[(size_t)(slot + 1) * w->words], q->knows, w->words * sizeof(q->knows[0]));
    close_uses(w, rank, q);
    if (rank == w->room.oldest)
        move_oldest(w);
    release(w, rank, q);
}

/* ---- a run ---- */

static double find_makespan(const list_work *w)
{
    double us = 0.0;
    for (uint32_t q = 0; q < w->queue_count; q++)
        us = w->queue[q].free_at > us ? w->queue[q].free_at : us;
    return us;
}

/* Whether the first passes do less work in a microsecond than a run must. */
static bool is_too_slow(const list_work *w)
{
    double work_us = 0.0;
    for (uint32_t slot = 0; slot < w->slots; slot++)
        work_us += (double)w->s->decl->pass_cost[w->out->slot_pass[slot]];
    return work_us < w->rules.least_rate * find_makespan(w);
}

/* Whether a queue has nothing to do before another queue is done that has. */
static bool is_starved(const list_work *w)
{
    uint32_t fed = 0;
    double last = 0.0;
    for (uint32_t k = 0; k < w->l.lane_count; k++)
        fed |= w->lane[k].count ? w->lane[k].home : 0;
    const uint32_t hungry = w->homes & ~fed;
    for (uint32_t left = hungry ? fed : 0; left; left &= left - 1) {
        const list_queue *q = &w->queue[__builtin_ctz(left)];
        last = q->free_at > last ? q->free_at : last;
    }
    for (uint32_t left = hungry; left; left &= left - 1) {
        if (w->queue[__builtin_ctz(left)].free_at < last)
            return true;
    }
    return false;
}

/* A run that is too slow shows early: after a sixteenth of the passes, an eighth, or a quarter. */
static bool run(list_work *w)
{
    enum { FEW = 8, FIRST_PART = 16, LAST_PART = 4 };
    const uint32_t kept = w->s->kept_count;
    uint32_t check = kept / FIRST_PART > FEW ? kept / FIRST_PART : FEW;
    for (uint32_t i = 0; i < w->s->root_count; i++)
        make_ready(w, w->s->root[i]);
    while (w->slots < kept) {
        w->drain_us = is_starved(w) ? 0.0 : HDI_DRAIN_US;
        list_choice c = choose(w);
        if (c.rank == HDI_NONE)
            c = force_oldest(w);
        if (!covers(w, c.queue->knows, pred_of(w, c.rank)))
            c = find_widest(w, c);
        schedule_pass(w, &c);
        if (w->slots != check || check > kept / LAST_PART)
            continue;
        if (is_too_slow(w))
            return false;
        check *= 2;
    }
    w->out->makespan_us = find_makespan(w);
    return !w->s->arena->failed;
}

static void begin_lanes(list_work *w, uint64_t *keys, size_t lane_keys)
{
    for (uint32_t k = 0; k < w->l.lane_count; k++) {
        const hdi_list_lane *of = &w->l.lane[k];
        list_ready *l = &w->lane[k];
        uint32_t mask = of->queues & w->rules.queues ? of->queues & w->rules.queues : of->queues;
        l->key = keys + k * lane_keys;
        for (; mask; mask &= mask - 1) {
            const uint32_t q = (uint32_t)__builtin_ctz(mask);
            l->home |= of->foreign >> q & 1 || w->s->queues->kind[q] >= HD_QUEUE_TRANSFER ? 0 : 1u << q;
            l->foreign[l->queue_count] = of->foreign >> q & 1 ? 1.0f : 0.0f;
            l->queue[l->queue_count++] = &w->queue[q];
        }
        w->homes |= l->home;
    }
}

static bool make_work(list_work *w, const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules,
                      hdi_schedule *out)
{
    const uint32_t kept = s->kept_count, queues = s->queues->count;
    const size_t lane_keys = rules->window < kept ? rules->window : kept;
    *w = (list_work){.s = s,
                     .l = *list,
                     .rules = *rules,
                     .out = out,
                     .fresh = (int64_t)rules->cap - s->live_before,
                     .queue_count = queues,
                     .words = s->clock_words,
                     .state = HDI_ARENA_ARRAY(s->arena, uint8_t, (size_t)kept + HDI_MOST_LIST_WINDOW)};
    uint64_t *keys = HDI_ARENA_ARRAY(s->arena, uint64_t, lane_keys * list->lane_count);
    for (uint32_t q = 0; q < queues; q++) {
        w->queue[q].index = q;
        w->queue[q].begin = w->queue[q].end = HDI_ARENA_ARRAY(s->arena, list_closing, s->use_count);
    }
    if (s->arena->failed || !hdi_room_begin(&w->room, s, rules->cap))
        return false;
    memset(w->state, RANK_LEFT, (size_t)kept + HDI_MOST_LIST_WINDOW);
    memset(w->l.pred, 0, (size_t)kept * w->words * sizeof(*w->l.pred));
    memset(w->l.clock, 0, w->words * sizeof(*w->l.clock));
    w->l.finish[0] = -NEVER;
    for (uint32_t rank = 0; rank < kept; rank++)
        w->l.node[rank].ready = 0.0;
    begin_lanes(w, keys, lane_keys);
    return true;
}

bool hdi_schedule_list(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, hdi_schedule *out)
{
    list_work *w = HDI_ARENA_ARRAY(s->arena, list_work, 1); /* much for the stack of a fiber */
    out->slot_count = out->edge_count = 0;
    out->edge = NULL;
    if (!w || !make_work(w, s, list, rules, out))
        return false;
    bool done = run(w);
    out->slot_count = w->slots;
    return done;
}
