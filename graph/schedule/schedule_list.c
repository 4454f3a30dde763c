#include "schedule_lanes.h"

#include <math.h>

/* List: order and queue of each pass for several GPU queues, by list scheduling (Graham) in a window of ranks over a
 * simulated time: the pass and queue with the earliest start; ties go to the longest path to the end. A pass that needs
 * a barrier behind the newest group of its queue starts later by the time that draining the queue costs, so that passes
 * gather into groups.
 *
 * Passes that could be taken stand in lanes, one for each set of queues that passes may run on (schedule_lanes.h).
 * Of all that a pass depends on, what counts of each queue is the newest: that finished last there, and knows all that
 * those before it knew. So an edge costs a store, and times and clocks are found once for each pass.
 *
 * O(passes * (window + queues^2) + uses + edges), mostly far from it. Serial, but for regions: each begins as if no
 * queue had anything to do, and waits of its first slots (schedule.c) make what earlier ones have closed free for
 * everybody. All is compiled for short clocks as well as for any (schedule_clock.h), of a frame of one region and else,
 * and once more with no words for passes that all run on one queue: it knows all, so there are no clocks and no times
 * but when it is free. */

typedef struct choice {
    hdi_list_node *node; /* null: none */
    queue *queue;
    double start;
} choice;

static HDI_INLINE hdi_list_node *node_at(const work *w, uint32_t rank)
{
    return &w->l.node[w->rank_pass[rank] - w->pass_begin];
}
static HDI_INLINE uint32_t pass_of(const work *w, const hdi_list_node *v)
{
    return (uint32_t)v->key + w->pass_begin;
}

/* ---- candidates ---- */

/* Whether a pass that is ready may be taken: in the window, and not too early where its consumers wait anyway. */
static HDI_INLINE bool is_due(const work *w, const hdi_list_node *v)
{
    return v->rank - w->oldest < w->reach[(v->flags & HDI_NODE_PATIENT) & (v->bytes != 0)];
}

static HDI_INLINE void admit(work *w, uint32_t words, uint32_t rank)
{
    if (HDI_LIKELY(w->l.state[rank] != HDI_RANK_WAITS))
        return;
    hdi_list_node *v = node_at(w, rank);
    if (is_due(w, v)) {
        w->l.state[rank] = HDI_RANK_LEFT;
        w->waiting_count--;
        insert(w, words, v, ready_of(w, words, v));
    }
}

/* When a pass could start: what it depends on is done at `near` seen from queue `home`, at `far` from all others. What
 * is rounded is memory: gcc 12 leaves conversions there and back out where it makes vectors. Returns it as its lane has
 * it. */
static HDI_INLINE double set_start(const work *w, uint32_t words, hdi_list_node *v, uint32_t home, double near,
                                   double far)
{
    if (words == 1) {
        float seen_near = (float)near, seen_far = (float)far;
        for (uint32_t q = 0; q < HDI_SHORT_QUEUES; q++)
            v->ready[q] = seen_far;
        v->ready[home] = seen_near;
        return (double)(w->lane[v->lane].on->queue->index == home ? seen_near : seen_far);
    }
    bool at_home = w->l.lane[v->lane].queues >> home & 1;
    v->home = at_home ? (uint8_t)home : HDI_LIST_NOWHERE;
    v->ready[1] = (float)(at_home ? near : far);
    v->ready[0] = (float)far;
    return (double)v->ready[1];
}

/* The same of a pass that waited for one more, which was taken on queue `last` just now. Most passes depend on one
 * queue alone. Else, of queues that it depends on nobody on costs less than asking whether it does. */
static HDI_INLINE double find_start(const work *w, uint32_t words, const queue *last, hdi_list_node *v)
{
    const uint64_t *pred = pred_of(w, words, v);
    if (words == 1 && (*pred & last->keep) == 0)
        return set_start(w, words, v, last->index, last->free_at, last->free_at + w->handoff_us);
    const double *finish = w->l.finish;
    double first = -NEVER, second = -NEVER;
    uint32_t home = 0;
    for (uint32_t k = 0; k < words; k++) {
        uint32_t q = 2 * k;
        for (uint32_t shift = 0; shift < 64; shift += hdi_clock_bits(words), q++) {
            if (words == 1 && q == HDI_SHORT_QUEUES - 1 && w->queue_count <= q)
                break; /* most often there are three */
            double done = finish[pred[k] >> shift & hdi_clock_mask(words)], earlier = done < first ? done : first;
            second = earlier > second ? earlier : second;
            home = done > first ? q : home;
            first = done > first ? done : first;
        }
    }
    double near = second + w->handoff_us;
    return set_start(w, words, v, home, near > first ? near : first, first + w->handoff_us);
}

static HDI_APART uint32_t look_at_all_shared(const work *w, hdi_list_node *v)
{
    const uint32_t *use_res = w->use_res, *use = &w->pass_use_begin[pass_of(w, v)];
    uint32_t count = 0, only = HDI_NONE;
    int64_t bytes = w->l.alone[(uint32_t)v->key].bytes;
    for (uint32_t u = use[0], end = use[1]; u < end; u++) {
        const hdi_sched_res *res = &w->res[use_res[u]];
        if (!hdi_list_shares(w->s, res) || res->open)
            continue;
        bytes += (int64_t)res->bytes;
        only = count++ ? HDI_NONE : use_res[u];
    }
    v->bytes = bytes;
    v->flags = (uint8_t)((v->flags & ~HDI_NODE_OPENS) | (count ? HDI_NODE_OPENS : 0));
    return only;
}

/* What a pass that shares resources with others would open. Who finds all of them open never opens any. Returns the one
 * that it would open; HDI_NONE: several, or none. */
static HDI_INLINE uint32_t look_at_shared(const work *w, hdi_list_node *v)
{
    const hdi_list_alone *alone = &w->l.alone[(uint32_t)v->key];
    if (alone->res == HDI_NONE)
        return look_at_all_shared(w, v);
    const hdi_sched_res *res = &w->res[alone->res];
    bool opens = !res->open;
    v->bytes = alone->bytes + (opens ? (int64_t)res->bytes * alone->uses : 0);
    v->flags = (uint8_t)((v->flags & ~HDI_NODE_OPENS) | (opens ? HDI_NODE_OPENS : 0));
    return opens ? alone->res : HDI_NONE;
}

static HDI_INLINE void make_ready(work *w, uint32_t words, hdi_list_node *v, double ready)
{
    if (v->flags & HDI_NODE_SHARED) {
        uint32_t res = look_at_shared(w, v);
        if (v->flags & HDI_NODE_OPENS)
            w->l.opener[w->opener_count++] = (hdi_list_opener){(uint32_t)v->key, res};
    }
    if (is_due(w, v)) {
        insert(w, words, v, ready);
    } else {
        w->l.state[v->rank] = HDI_RANK_WAITS;
        w->waiting_count++;
    }
}

/* ---- choosing ---- */

/* For a pass that gets what it needs later than it could start: the first queue counts, once it has that. p: one of
 * them, when it has. */
static HDI_APART place claim_best_place(const work *w, uint32_t words, const lane *l, hdi_list_node *v, place p)
{
    const uint64_t *pred = pred_of(w, words, v);
    double start[HD_MAX_QUEUES], biased[HD_MAX_QUEUES];
    uint32_t count = l->queue_count, claimed = 0;
    for (uint32_t i = 0; i < count; i++) {
        const lane_queue *on = &l->on[i];
        bool known = on->queue == p.queue;
        start[i] = known ? p.start : start_on(w, words, v, pred, on->queue);
        biased[i] = start[i] + (double)v->bias * on->foreign;
        claimed |= (uint32_t)known << i;
    }
    for (;;) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < count; i++)
            best = biased[i] < biased[best] ? i : best;
        if (claimed >> best & 1)
            return (place){start[best], l->on[best].queue};
        claimed |= 1u << best;
        start[best] = claim(w, words, pred, l->on[best].queue, v->bytes, start[best]);
        biased[best] = start[best] + (double)v->bias * l->on[best].foreign;
    }
}

/* Where a pass goes, and when, with the memory that it needs; NEVER: it finds no room. p: when without. */
static HDI_INLINE place place_first(work *w, uint32_t words, const lane *l, hdi_list_node *v, place p)
{
    int64_t bytes = v->bytes;
    if (bytes == 0)
        return p;
    if (v->rank != w->oldest && !has_room(w, v->rank, bytes))
        return (place){NEVER, NULL};
    if (bytes <= w->fresh)
        return p;
    double start = claim(w, words, pred_of(w, words, v), p.queue, bytes, p.start);
    if (start > p.start && words && l->queue_count > 1)
        return claim_best_place(w, words, l, v, (place){start, p.queue});
    p.start = start;
    return p;
}

/* Who is not looked at for as long as a choice is made. */
typedef struct late {
    hdi_list_node *node;
    float ready[HDI_SHORT_QUEUES];
    double ready_there; /* in its lane */
} late;

static HDI_INLINE void hide(lane *l, hdi_list_node *v, late *out)
{
    out->node = v;
    out->ready_there = l->ready[v->at];
    for (uint32_t q = 0; q < HDI_SHORT_QUEUES; q++) {
        out->ready[q] = v->ready[q];
        v->ready[q] = INFINITY;
    }
    l->ready[v->at] = GONE;
}

static HDI_INLINE void show_again(const work *w, uint32_t words, const late *of)
{
    hdi_list_node *v = of->node;
    lane *l = lane_of(w, words, v);
    memcpy(v->ready, of->ready, sizeof(v->ready));
    l->ready[v->at] = of->ready_there;
}

/* The one that seemed to be first has its place later, or none: whoever may come before it is placed. */
static HDI_APART choice choose_later(work *w, uint32_t words, pick seemed, place p)
{
    late all[HDI_MOST_LIST_WINDOW];
    uint32_t count = 0;
    start_key best = NOBODY;
    choice out = {.node = NULL};
    do {
        hdi_list_node *v = node_of(w, (uint64_t)seemed.at);
        lane *l = lane_of(w, words, v);
        if (count)
            p = place_first(w, words, l, v, (place){time_of(seemed.at), seemed.queue});
        start_key placed = start_of(p.start, v->key);
        if (placed < best) {
            best = placed;
            out = (choice){v, p.queue, p.start};
        }
        if (placed <= seemed.at)
            break;
        hide(l, v, &all[count++]);
        seemed = find_first(w, words);
    } while (seemed.at < best);
    while (count)
        show_again(w, words, &all[--count]);
    return out;
}

static HDI_INLINE choice choose(work *w, uint32_t words)
{
    pick seemed = find_first(w, words);
    if (HDI_UNLIKELY(!seemed.queue))
        return (choice){.node = NULL};
    hdi_list_node *v = node_of(w, (uint64_t)seemed.at);
    place p = {time_of(seemed.at), seemed.queue};
    double start = p.start;
    p = place_first(w, words, lane_of(w, words, v), v, p);
    if (p.start <= start)
        return (choice){v, p.queue, p.start};
    return choose_later(w, words, seemed, p);
}

/* Nothing fits: the oldest goes on all the same. */
static HDI_APART choice force(work *w, uint32_t words)
{
    hdi_list_node *v = node_at(w, w->oldest);
    const lane *l = lane_of(w, words, v);
    if (w->l.state[w->oldest] == HDI_RANK_WAITS) {
        insert(w, words, v, ready_of(w, words, v));
        w->waiting_count--;
    }
    place p = best_place(w, words, l, l->queue_count, v);
    return (choice){v, p.queue, p.start};
}

/* ---- taking ---- */

/* Of resources that several might open; whoever waits to do so opens less now. */
static HDI_APART void open_shared(work *w, uint32_t words, const hdi_list_node *taken)
{
    const hdi_sched *s = w->s;
    const uint32_t *use = &s->decl->pass_use_begin[pass_of(w, taken)];
    hdi_list_opener *opener = w->l.opener;
    uint32_t kept = 0;
    for (uint32_t u = use[0]; u < use[1]; u++) {
        hdi_sched_res *res = &s->res[s->decl->use_res[u]];
        if (!hdi_list_shares(s, res) || res->open)
            continue;
        if (res->first - s->rank_begin > w->oldest)
            add_alive(w, res->first - s->rank_begin, (int64_t)res->bytes, false);
        res->open = true;
    }
    for (uint32_t i = 0; i < w->opener_count; i++) {
        hdi_list_opener o = opener[i];
        hdi_list_node *v = &w->l.node[o.place];
        if (v == taken)
            continue;
        if (o.res == HDI_NONE || s->res[o.res].open) {
            o.res = look_at_shared(w, v);
            admit(w, words, v->rank);
        }
        opener[kept] = o;
        kept += (v->flags & HDI_NODE_OPENS) != 0;
    }
    w->opener_count = kept;
}

/* What a pass uses, and nobody else any more, is closed. whole: of a frame of one region, all that has bytes is. */
static HDI_INLINE void close_uses(work *w, uint32_t words, bool whole, uint32_t pass, queue *q, uint64_t now)
{
    const uint32_t *use_res = w->use_res, *use = &w->pass_use_begin[pass];
    hdi_sched_res *all = w->res;
    uint32_t rank_begin = w->rank_begin, kept = w->kept_count;
    bool of_all = w->counts_all;
    for (size_t u = use[0], end = use[1]; u < end; u++) {
        uint32_t r = use_res[u];
        hdi_sched_res *res = &all[r];
        if (!whole && res->last - rank_begin >= kept) { /* a later region closes it, or it has no bytes */
            if (of_all)
                res->left--;
            continue;
        }
        uint64_t *of = words <= 1 ? &res->slots : &w->res_last_slots[(size_t)r * words + q->word];
        if (words)
            *of = (*of & q->keep) | now;
        if (--res->left)
            continue;
        int64_t bytes = (int64_t)res->bytes;
        if (whole && bytes == 0)
            continue;
        *q->closed.end++ = (hdi_list_closing){bytes, words == 1 ? *of : r};
        add_alive(w, res->last - (whole ? 0 : rank_begin) + 1, -bytes, true);
    }
}

/* The oldest was taken: past all that were. */
static HDI_INLINE void move_on(work *w, uint32_t words)
{
    uint32_t window = w->window, oldest = w->oldest;
    int64_t alive = w->alive;
    do {
        alive += w->l.alive_step[++oldest];
        if (w->waiting_count) {
            w->oldest = oldest;
            admit(w, words, oldest + window - 1);
            admit(w, words, oldest + w->patience);
        }
    } while (w->l.state[oldest] == HDI_RANK_TAKEN);
    w->oldest = oldest;
    w->alive = alive;
    if (oldest > w->full_rank)
        w->full_rank = HDI_NONE;
    if (oldest > w->room_end) {
        w->room_end = oldest;
        w->room_alive = alive;
        w->most = -ANY_ROOM;
    }
}

/* Who depends on a pass that was taken. */
static HDI_INLINE void release(work *w, uint32_t words, bool whole, uint32_t pass, const queue *q, uint64_t now)
{
    const uint32_t *succ = w->succ, *begin = &w->succ_begin[pass];
    const uint64_t newest[] = {now, *q->knows};
    uint32_t pass_begin = whole ? 0 : w->pass_begin, count = w->pass_count;
    hdi_list_node *all = w->l.node;
    for (size_t e = begin[0], end = begin[1]; e < end; e++) {
        size_t next = succ[e] - pass_begin;
        if (!whole && next >= count)
            continue;
        hdi_list_node *v = &all[next];
        uint64_t *of = pred_of(w, words, v) + (words <= 1 ? 0 : q->word);
        if (words == 1)
            hdi_clock_raise_two(of, newest);
        else
            *of = words ? (*of & q->keep) | now : now;
        if (--v->left)
            continue;
        make_ready(w, words, v, words ? find_start(w, words, q, v) : 0.0);
    }
}

static HDI_INLINE void take(work *w, uint32_t words, bool whole, const choice *c)
{
    hdi_list_node *v = c->node;
    queue *q = c->queue;
    const uint64_t *pred = pred_of(w, words, v);
    uint32_t pass = (uint32_t)v->key + (whole ? 0 : w->pass_begin), slot = w->slots++, rank = v->rank;
    uint32_t k = words <= 1 ? 0 : q->word;
    uint64_t now = (uint64_t)(slot + 1) << (words ? q->shift : 0);
    w->slot_pass[slot] = pass;
    w->slot_queue[slot] = (uint8_t)q->index;
    w->l.state[rank] = HDI_RANK_TAKEN;
    q->free_at = c->start + (double)v->cost;
    if (needs_barrier(w, words, pred, q))
        w->group[k] = words ? (w->group[k] & q->keep) | (uint64_t)slot << q->shift : slot;
    learn(w, words, pred, q, q->knows);
    if (v->bytes) {
        take_bytes(w, words, q, v->bytes, slot);
        if (v->flags & HDI_NODE_OPENS)
            v->bytes = w->l.alone[(uint32_t)v->key].bytes;
        if (rank > w->oldest)
            add_alive(w, rank, v->bytes, false);
    }
    if (words) {
        w->l.finish[slot + 1] = q->free_at;
        q->knows[k] = (q->knows[k] & q->keep) | now;
    }
    for (uint32_t i = 0; words > 1 && i < words; i++)
        w->l.clock[(size_t)(slot + 1) * words + i] = q->knows[i];
    leave(w, words, v);
    if (v->flags & HDI_NODE_OPENS)
        open_shared(w, words, v);
    close_uses(w, words, whole, pass, q, now);
    if (rank == w->oldest)
        move_on(w, words);
    release(w, words, whole, pass, q, now);
}

/* ---- a run ---- */

static double makespan(const work *w)
{
    double us = 0.0;
    for (uint32_t q = 0; q < w->queue_count; q++)
        us = w->queue[q].free_at > us ? w->queue[q].free_at : us;
    return us;
}

static inline uint32_t part_of(uint32_t kept, uint32_t part)
{
    return (uint32_t)((uint64_t)kept * part / 32);
}

/* A run that is to be given up shows early: from a sixteenth to a quarter of the passes it has to come nearer and
 * nearer to the rate. */
static HDI_INLINE bool run(work *w, uint32_t words, bool whole, double least_rate)
{
    enum { FEW = 16, FIRST_PART = 2, LAST_PART = 8 };
    const hdi_sched *s = w->s;
    uint32_t kept = s->kept_count, part = FIRST_PART, counted = 0;
    double work_us = 0.0;
    while (part < LAST_PART && part_of(kept, part) < FEW)
        part++;
    uint32_t check = least_rate > 0.0 ? part_of(kept, part) : kept;
    for (uint32_t i = 0; i < w->l.root_count; i++) {
        hdi_list_node *v = &w->l.node[w->l.root[i]];
        make_ready(w, words, v, set_start(w, words, v, 0, 0.0, 0.0));
    }
    for (;;) {
        while (w->slots < check) {
            choice c = choose(w, words);
            if (HDI_UNLIKELY(!c.node))
                c = force(w, words);
            take(w, words, whole, &c);
        }
        if (check == kept)
            break;
        for (; counted < check; counted++)
            work_us += (double)s->decl->pass_cost[w->slot_pass[counted]];
        double aim = 0.8 + 0.2 * (part - FIRST_PART) / (LAST_PART - FIRST_PART);
        if (work_us < aim * least_rate * makespan(w))
            return false;
        check = ++part <= LAST_PART ? part_of(kept, part) : kept;
    }
    w->out->makespan_us = makespan(w);
    return !s->arena->failed;
}

static void begin_queues(const hdi_list *list, uint32_t words, uint32_t count, queue *all)
{
    for (uint32_t q = 0; q < count; q++) {
        uint32_t shift = hdi_clock_shift(words, q);
        all[q] = (queue){.guard = (hdi_clock_mask(words) + 1) << shift,
                         .keep = ~(hdi_clock_mask(words) << shift),
                         .word = hdi_clock_word(words, q),
                         .shift = shift,
                         .index = q,
                         .closed = {list->closing[q], list->closing[q]}};
    }
}

static void begin_lanes(work *w, queue *queues)
{
    for (uint32_t k = 0; k < w->l.lane_count; k++) {
        const hdi_list_lane *of = &w->l.lane[k];
        lane *l = &w->lane[k];
        l->count = l->queue_count = 0;
        for (uint32_t mask = of->queues; mask; mask &= mask - 1) {
            uint32_t q = (uint32_t)__builtin_ctz(mask);
            l->on[l->queue_count++] = (lane_queue){&queues[q], of->foreign >> q & 1 ? 1.0 : 0.0};
        }
    }
}

bool hdi_schedule_list(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, hdi_schedule *out)
{
    uint32_t words = s->clock_words;
    queue queues[HD_MAX_QUEUES];
    lane *lanes = HDI_ARENA_ARRAY(s->arena, lane, list->lane_count); /* 2 KiB each: much for the stack of a fiber */
    work w = {.s = s,
              .use_res = s->decl->use_res,
              .pass_use_begin = s->decl->pass_use_begin,
              .succ = s->depends->succ,
              .succ_begin = s->depends->succ_begin,
              .rank_pass = s->rank_pass,
              .res = s->res,
              .res_last_slots = s->res_last_slots,
              .counts_all = s->alone,
              .pass_begin = s->pass_begin,
              .pass_count = s->pass_end - s->pass_begin,
              .rank_begin = s->rank_begin,
              .kept_count = s->kept_count,
              .l = *list,
              .out = out,
              .handoff_us = rules->handoff_us,
              .cap = (int64_t)rules->cap,
              .window = rules->window,
              .patience = rules->window / 4,
              .reach = {rules->window, rules->window / 4 + 1},
              .queue_count = s->queues->count,
              .queue = queues,
              .lane = lanes,
              .alive = list->alive_step[0],
              .room_alive = list->alive_step[0],
              .most = -ANY_ROOM,
              .full_rank = HDI_NONE};
    *out = (hdi_schedule){.slot_pass = HDI_ARENA_ARRAY(s->arena, uint32_t, s->kept_count),
                          .slot_queue = HDI_ARENA_ARRAY(s->arena, uint8_t, s->kept_count)};
    if (s->arena->failed)
        return false;
    w.slot_pass = out->slot_pass;
    w.slot_queue = out->slot_queue;
    w.fresh = w.cap - s->live_bytes;
    w.l.finish[0] = -NEVER;
    if (words > 1)
        memset(w.l.clock, 0, words * sizeof(*w.l.clock));
    begin_queues(list, words, w.queue_count, queues);
    begin_lanes(&w, queues);
    bool one = list->lane_count == 1 && lanes[0].queue_count == 1;
    for (uint32_t k = 0; !one && k < words; k++)
        w.group[k] = hdi_clock_guards(words);
    double least_rate = rules->least_rate;
    bool done;
    if (one)
        done = run(&w, 0, false, least_rate);
    else if (words > 1)
        done = run(&w, words, false, least_rate);
    else
        done = s->whole ? run(&w, 1, true, least_rate) : run(&w, 1, false, least_rate);
    out->slot_count = w.slots;
    return done;
}
