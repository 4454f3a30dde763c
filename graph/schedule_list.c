#include "schedule_bytes.h"

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
 * everybody. All is compiled for short clocks as well as for any (schedule_clock.h), and once more with no words for
 * passes that all run on one queue: it knows all, so there are no clocks and no times but when it is free. */

typedef struct choice {
    double start;
    uint64_t key;
    queue *queue; /* null: none */
    uint8_t at;   /* where in its lane */
    bool waits;   /* it is in none */
} choice;

static HDI_INLINE hdi_list_node *node_of(const work *w, uint64_t key)
{
    return &w->l.node[~(uint32_t)key];
}
static HDI_INLINE hdi_list_node *node_at(const work *w, uint32_t rank)
{
    return &w->l.node[w->s->rank_pass[rank] - w->s->pass_begin];
}
static HDI_INLINE uint32_t pass_of(const work *w, const hdi_list_node *v)
{
    return (uint32_t)(v - w->l.node) + w->s->pass_begin;
}
static HDI_INLINE uint64_t *pred_of(const work *w, uint32_t words, hdi_list_node *v)
{
    return words <= 1 ? &v->pred : &w->l.pred[(size_t)(v - w->l.node) * words];
}

/* ---- candidates ---- */

static HDI_INLINE void insert(work *w, const hdi_list_node *v)
{
    lane *l = &w->lane[v->lane];
    uint64_t *keys = l->key, key = v->key;
    uint8_t first = l->first, end = l->end, middle = (uint8_t)(first + (uint8_t)(end - first) / 2);
    uint8_t at;
    w->open_lanes |= 1u << v->lane;
    if (first != end && key > keys[middle]) { /* the shorter half makes room */
        for (at = first--; keys[at] > key; at++)
            keys[(uint8_t)(at - 1)] = keys[at];
        keys[--at] = key;
        l->first = first;
    } else {
        for (at = end++; at != first && keys[(uint8_t)(at - 1)] < key; at--)
            keys[at] = keys[(uint8_t)(at - 1)];
        keys[at] = key;
        l->end = end;
    }
    uint8_t before = (uint8_t)(at - first);
    l->barred = before < l->barred ? before : l->barred;
}

static HDI_INLINE void leave(work *w, uint32_t index, uint8_t at)
{
    lane *l = &w->lane[index];
    uint64_t *keys = l->key;
    uint8_t first = l->first++;
    l->barred -= (uint8_t)(at - first) < l->barred;
    for (; at != first; at--)
        keys[at] = keys[(uint8_t)(at - 1)];
    if (l->first == l->end) {
        l->first = l->end = 0; /* where the keys are still near */
        w->open_lanes &= ~(1u << index);
    }
}

/* Whether a pass that is ready may be taken: in the window, and not too early where its consumers wait anyway. */
static HDI_INLINE bool is_due(const work *w, const hdi_list_node *v)
{
    uint32_t distance = v->rank - w->oldest;
    return distance < w->window && (distance <= w->window / 4 || !(v->flags & HDI_NODE_PATIENT) || v->bytes == 0);
}

static HDI_INLINE void admit(work *w, uint32_t rank)
{
    if (HDI_LIKELY(w->l.state[rank] != HDI_RANK_WAITS))
        return;
    const hdi_list_node *v = node_at(w, rank);
    if (is_due(w, v)) {
        w->l.state[rank] = HDI_RANK_LEFT;
        w->waiting_count--;
        insert(w, v);
    }
}

/* When a pass could start, on each queue that it may run on. */
static HDI_INLINE void find_start(const work *w, uint32_t words, hdi_list_node *v)
{
    if (words == 0)
        return; /* as soon as the queue is free */
    const uint64_t *pred = pred_of(w, words, v);
    const double *finish = w->l.finish;
    double first = -NEVER, second = -NEVER, far = 0.0;
    uint32_t home = 0;
    for (uint32_t k = 0; k < words; k++) {
        uint32_t q = 2 * k;
        for (uint64_t slots = pred[k]; slots; slots >>= hdi_clock_bits(words), q++) {
            double done = finish[slots & hdi_clock_mask(words)], earlier = done < first ? done : first;
            second = earlier > second ? earlier : second;
            home = done > first ? q : home;
            first = done > first ? done : first;
        }
    }
    if (first >= 0.0) /* it depends on somebody */
        far = first + w->handoff_us;
    if (!(first > 0.0)) { /* on no queue there was anything to do */
        second = first;
        first = 0.0;
        home = 0;
    }
    double near = second + w->handoff_us > first ? second + w->handoff_us : first;
    bool at_home = w->l.lane[v->lane].queues >> home & 1;
    v->home = at_home ? (uint8_t)home : HDI_LIST_NOWHERE;
    v->ready[1] = (double)(float)(at_home ? near : far); /* rounded: who is ready at about the same time is at once */
    v->ready[0] = (double)(float)far;
}

static HDI_INLINE bool is_unopened(const hdi_sched *s, const hdi_sched_res *res)
{
    return res->mixed & HDI_MIXED_OPENERS && hdi_sched_has(s, res->first) && !res->open;
}

/* What a pass that shares resources with others would open. Who finds all of them open never opens any. Returns the one
 * that it would open; HDI_NONE: several, or none. */
static HDI_APART uint32_t look_at_shared(const work *w, hdi_list_node *v)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_res = s->decl->use_res, *use = &s->decl->pass_use_begin[pass_of(w, v)];
    uint32_t count = 0, only = HDI_NONE;
    int64_t bytes = w->l.alone[v - w->l.node];
    for (uint32_t u = use[0], end = use[1]; u < end; u++) {
        const hdi_sched_res *res = &s->res[use_res[u]];
        if (!is_unopened(s, res))
            continue;
        bytes += (int64_t)res->bytes;
        only = count++ ? HDI_NONE : use_res[u];
    }
    v->bytes = bytes;
    v->flags = (uint8_t)((v->flags & ~HDI_NODE_OPENS) | (count ? HDI_NODE_OPENS : 0));
    return only;
}

static HDI_INLINE void make_ready(work *w, uint32_t words, hdi_list_node *v)
{
    find_start(w, words, v);
    if (v->flags & HDI_NODE_SHARED) {
        uint32_t res = look_at_shared(w, v);
        if (v->flags & HDI_NODE_OPENS)
            w->l.opener[w->opener_count++] = (hdi_list_opener){(uint32_t)(v - w->l.node), res};
    }
    if (is_due(w, v)) {
        insert(w, v);
    } else {
        w->l.state[v->rank] = HDI_RANK_WAITS;
        w->waiting_count++;
    }
}

/* ---- choosing ---- */

static HDI_INLINE bool comes_first(double start, uint64_t key, const choice *best)
{
    return start < best->start || (start <= best->start && key > best->key);
}

/* Whether a pass needs a barrier on a queue. */
static HDI_INLINE bool needs_barrier(const work *w, uint32_t words, const uint64_t *pred, const queue *q)
{
    if (words == 0)
        return *pred > w->group[0];
    uint32_t k = words == 1 ? 0 : q->word;
    return (((w->group[k] | hdi_clock_guards(words)) - pred[k]) & q->guard) == 0;
}

typedef struct place {
    double start;
    queue *queue;
} place;

/* When a pass can start on a queue, but for what it opens. */
static HDI_INLINE double start_on(const work *w, uint32_t words, const hdi_list_node *v, const uint64_t *pred,
                                  const queue *q)
{
    static const double barrier_us[] = {0.0, HDI_DRAIN_US};
    double start = words ? v->ready[q->index == v->home] : q->free_at;
    start = start > q->free_at ? start : q->free_at;
    return start + barrier_us[needs_barrier(w, words, pred, q)];
}

/* Another kind's queue has its own to do: there a pass must start clearly earlier. */
static HDI_INLINE place best_place(const work *w, uint32_t words, const lane *l, uint32_t count, hdi_list_node *v)
{
    const uint64_t *pred = pred_of(w, words, v);
    const lane_queue *on = l->on;
    place best = {start_on(w, words, v, pred, on->queue), on->queue};
    double least = best.start + v->bias * on->foreign;
    for (uint32_t i = 1; i < count; i++) {
        place p = {start_on(w, words, v, pred, on[i].queue), on[i].queue};
        double biased = p.start + v->bias * on[i].foreign;
        if (biased < least) {
            least = biased;
            best = p;
        }
    }
    return best;
}

/* The same for a pass that needs more than is fresh: the first queue counts, once it has what it needs. */
static HDI_APART place claim_best_place(const work *w, uint32_t words, const lane *l, hdi_list_node *v)
{
    const uint64_t *pred = pred_of(w, words, v);
    double start[HD_MAX_QUEUES], biased[HD_MAX_QUEUES];
    uint32_t count = l->queue_count, claimed = 0;
    for (uint32_t i = 0; i < count; i++) {
        start[i] = start_on(w, words, v, pred, l->on[i].queue);
        biased[i] = start[i] + v->bias * l->on[i].foreign;
    }
    for (;;) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < count; i++)
            best = biased[i] < biased[best] ? i : best;
        if (claimed >> best & 1)
            return (place){start[best], l->on[best].queue};
        claimed |= 1u << best;
        start[best] = claim(w, words, pred, l->on[best].queue, v->bytes, start[best]);
        biased[best] = start[best] + v->bias * l->on[best].foreign;
    }
}

/* Those of a lane from `begin` to `end`, of whom none starts before `from`. count: of its queues, a constant where they
 * are few. */
static HDI_INLINE void look_at_some(work *w, uint32_t words, const lane *l, uint32_t count, uint8_t begin, uint8_t end,
                                    double from, choice *best)
{
    for (uint8_t i = begin; i != end; i++) {
        uint64_t key = l->key[i];
        if (!comes_first(from, key, best))
            break; /* and so with all behind it */
        hdi_list_node *v = node_of(w, key);
        if (count > 1 && !comes_first(v->ready[1], key, best))
            continue;
        int64_t bytes = v->bytes;
        place p = {0};
        if (count == 1 || HDI_LIKELY(bytes <= w->fresh)) {
            p = best_place(w, words, l, count, v);
            if (!comes_first(p.start, key, best))
                continue;
        }
        if (bytes && v->rank != w->oldest && !has_room(w, v->rank, bytes))
            continue;
        if (bytes > w->fresh) {
            if (count == 1)
                p.start = claim(w, words, pred_of(w, words, v), p.queue, bytes, p.start);
            else
                p = claim_best_place(w, words, l, v);
            if (!comes_first(p.start, key, best))
                continue;
        }
        *best = (choice){.start = p.start, .key = key, .queue = p.queue, .at = i};
    }
}

/* Where many stand in a lane of one queue, most of them need a barrier, and go on needing it until a group ends: those
 * at the front are asked for that once. */
static HDI_INLINE void look_at_lane(work *w, uint32_t words, lane *l, uint32_t count, choice *best)
{
    enum { FEW = 8 };
    double free_at = l->on[0].queue->free_at;
    for (uint32_t i = 1; i < count; i++)
        free_at = l->on[i].queue->free_at < free_at ? l->on[i].queue->free_at : free_at;
    uint8_t at = l->first, end = l->end;
    if (words && count == 1 && (uint8_t)(end - at) > FEW) {
        const queue *q = l->on[0].queue;
        at += l->groups == q->groups ? l->barred : 0;
        while (at != end && needs_barrier(w, words, pred_of(w, words, node_of(w, l->key[at])), q))
            at++;
        l->groups = q->groups;
        l->barred = (uint8_t)(at - l->first);
        look_at_some(w, words, l, 1, at, end, free_at, best);
        end = at;
        at = l->first;
        free_at += HDI_DRAIN_US;
    }
    look_at_some(w, words, l, count, at, end, free_at, best);
}

static HDI_INLINE choice choose(work *w, uint32_t words)
{
    choice best = {.start = NEVER, .key = UINT64_MAX};
    for (uint32_t open = w->open_lanes; open; open &= open - 1) {
        lane *l = &w->lane[words ? (uint32_t)__builtin_ctz(open) : 0];
        if (words == 0 || l->queue_count == 1)
            look_at_lane(w, words, l, 1, &best);
        else if (l->queue_count == 2)
            look_at_lane(w, words, l, 2, &best);
        else
            look_at_lane(w, words, l, l->queue_count, &best);
    }
    return best;
}

/* Nothing fits: the oldest goes on all the same. */
static HDI_APART choice force(const work *w, uint32_t words)
{
    hdi_list_node *v = node_at(w, w->oldest);
    const lane *l = &w->lane[v->lane];
    place p = best_place(w, words, l, l->queue_count, v);
    choice c = {.start = p.start, .key = v->key, .queue = p.queue, .waits = true};
    for (uint8_t i = l->first; i != l->end; i++) {
        if (l->key[i] == v->key) {
            c.at = i;
            c.waits = false;
        }
    }
    return c;
}

/* ---- taking ---- */

/* Of resources that several might open; whoever waits to do so opens less now. */
static HDI_APART void open_shared(work *w, const hdi_list_node *taken)
{
    const hdi_sched *s = w->s;
    const uint32_t *use = &s->decl->pass_use_begin[pass_of(w, taken)];
    hdi_list_opener *opener = w->l.opener;
    uint32_t kept = 0;
    for (uint32_t u = use[0]; u < use[1]; u++) {
        hdi_sched_res *res = &s->res[s->decl->use_res[u]];
        if (!is_unopened(s, res))
            continue;
        if (res->first - s->rank_begin > w->oldest)
            add_alive(w, res->first - s->rank_begin, (int64_t)res->bytes);
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

static HDI_INLINE void close_uses(work *w, uint32_t words, uint32_t pass, queue *q, uint64_t now)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_res = s->decl->use_res, *use = &s->decl->pass_use_begin[pass];
    hdi_sched_res *all = s->res;
    uint64_t *last_slots = s->res_last_slots;
    uint32_t rank_begin = s->rank_begin, kept = s->kept_count;
    for (size_t u = use[0], end = use[1]; u < end; u++) {
        uint32_t r = use_res[u];
        hdi_sched_res *res = &all[r];
        uint32_t last = res->last - rank_begin;
        if (last >= kept)
            continue; /* another region closes it, or it has no bytes */
        if (words) {
            uint64_t *of = &last_slots[(size_t)r * words + (words == 1 ? 0 : q->word)];
            *of = (*of & q->keep) | now;
        }
        if (--res->left)
            continue;
        int64_t bytes = (int64_t)res->bytes;
        *q->closed.end++ = (hdi_list_closing){bytes, r};
        add_alive(w, last + 1, -bytes);
    }
}

/* The oldest was taken: past all that were. */
static HDI_INLINE void move_on(work *w)
{
    uint32_t window = w->window, oldest = w->oldest;
    int64_t alive = w->alive;
    do {
        alive += w->l.alive_step[++oldest];
        if (w->waiting_count) {
            w->oldest = oldest;
            admit(w, oldest + window - 1);
            admit(w, oldest + window / 4);
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
static HDI_INLINE void release(work *w, uint32_t words, uint32_t pass, const queue *q, uint64_t now)
{
    const hdi_sched *s = w->s;
    const uint32_t *succ = s->depends->succ, *begin = &s->depends->succ_begin[pass];
    uint32_t pass_begin = s->pass_begin, count = s->pass_end - pass_begin;
    hdi_list_node *all = w->l.node;
    for (size_t e = begin[0], end = begin[1]; e < end; e++) {
        size_t next = succ[e] - pass_begin;
        if (next >= count)
            continue;
        hdi_list_node *v = &all[next];
        uint64_t *of = pred_of(w, words, v) + (words <= 1 ? 0 : q->word);
        *of = words ? (*of & q->keep) | now : now;
        if (--v->left == 0)
            make_ready(w, words, v);
    }
}

static HDI_INLINE void take(work *w, uint32_t words, const choice *c)
{
    hdi_list_node *v = node_of(w, c->key);
    queue *q = c->queue;
    const uint64_t *pred = pred_of(w, words, v);
    uint32_t pass = pass_of(w, v), slot = w->out->slot_count++, rank = v->rank, k = words <= 1 ? 0 : q->word;
    uint64_t now = (uint64_t)(slot + 1) << (words ? q->shift : 0);
    w->out->slot_pass[slot] = pass;
    w->out->slot_queue[slot] = (uint8_t)q->index;
    q->free_at = c->start + (double)v->cost;
    if (needs_barrier(w, words, pred, q)) {
        q->groups++;
        w->group[k] = words ? (w->group[k] & q->keep) | (uint64_t)slot << q->shift : slot;
    }
    learn(w, words, pred, q, q->knows);
    if (v->bytes)
        take_bytes(w, words, q, v->bytes, slot);
    if (words) {
        w->l.finish[slot + 1] = q->free_at;
        q->knows[k] = (q->knows[k] & q->keep) | now;
    }
    for (uint32_t i = 0; i < words; i++)
        w->l.clock[(size_t)(slot + 1) * words + i] = q->knows[i];
    w->l.state[rank] = HDI_RANK_TAKEN;
    if (HDI_LIKELY(!c->waits))
        leave(w, v->lane, c->at);
    else
        w->waiting_count--;
    if (v->flags & HDI_NODE_OPENS) {
        v->bytes = w->l.alone[v - w->l.node];
        open_shared(w, v);
    }
    if (v->bytes && rank > w->oldest)
        add_alive(w, rank, v->bytes);
    close_uses(w, words, pass, q, now);
    if (rank == w->oldest)
        move_on(w);
    release(w, words, pass, q, now);
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
static HDI_INLINE bool run(work *w, uint32_t words, double least_rate)
{
    enum { FEW = 16, FIRST_PART = 2, LAST_PART = 8 };
    const hdi_sched *s = w->s;
    uint32_t kept = s->kept_count, part = FIRST_PART;
    double work_us = 0.0;
    while (part < LAST_PART && part_of(kept, part) < FEW)
        part++;
    uint32_t check = least_rate > 0.0 ? part_of(kept, part) : HDI_NONE;
    for (uint32_t i = 0; i < w->l.root_count; i++)
        make_ready(w, words, &w->l.node[w->l.root[i]]);
    while (w->out->slot_count < kept) {
        choice c = choose(w, words);
        if (HDI_UNLIKELY(!c.queue))
            c = force(w, words);
        take(w, words, &c);
        if (check == HDI_NONE)
            continue;
        work_us += (double)node_of(w, c.key)->cost;
        if (w->out->slot_count == check) {
            double aim = 0.8 + 0.2 * (part - FIRST_PART) / (LAST_PART - FIRST_PART);
            if (work_us < aim * least_rate * makespan(w))
                return false;
            check = ++part <= LAST_PART ? part_of(kept, part) : HDI_NONE;
        }
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

static void begin_lanes(const hdi_list *list, queue *all, lane *lanes, lane_queue *on)
{
    for (uint32_t k = 0; k < list->lane_count; k++, on += HD_MAX_QUEUES) {
        lanes[k] = (lane){.key = list->lane[k].key, .on = on};
        for (uint32_t mask = list->lane[k].queues; mask; mask &= mask - 1) {
            uint32_t q = (uint32_t)__builtin_ctz(mask);
            on[lanes[k].queue_count++] = (lane_queue){&all[q], list->lane[k].foreign >> q & 1 ? 1.0 : 0.0};
        }
    }
}

bool hdi_schedule_list(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, hdi_schedule *out)
{
    uint32_t words = s->clock_words;
    queue queues[HD_MAX_QUEUES];
    lane lanes[HDI_MOST_LANES];
    lane_queue on[HDI_MOST_LANES * HD_MAX_QUEUES];
    work w = {.s = s,
              .l = *list,
              .out = out,
              .handoff_us = rules->handoff_us,
              .cap = (int64_t)rules->cap,
              .window = rules->window,
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
    w.fresh = w.cap - s->live_bytes;
    w.l.finish[0] = -NEVER;
    memset(w.l.clock, 0, words * sizeof(*w.l.clock));
    begin_queues(list, words, w.queue_count, queues);
    begin_lanes(list, queues, lanes, on);
    if (list->lane_count == 1 && lanes[0].queue_count == 1)
        return run(&w, 0, rules->least_rate);
    return words == 1 ? run(&w, 1, rules->least_rate) : run(&w, words, rules->least_rate);
}
