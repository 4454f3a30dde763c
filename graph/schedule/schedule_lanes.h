/* Passes that could be taken, for the list schedule (schedule_list.c): in lanes, one for each set of queues that passes
 * may run on, and there in no order. Who of them could start first is found by looking at all, memory aside: that only
 * makes a start later, and is asked of the first alone. O(passes that could be taken) */
#ifndef HDI_SCHEDULE_LANES_H
#define HDI_SCHEDULE_LANES_H

#include "schedule_bytes.h"

static HDI_INLINE hdi_list_node *node_of(const work *w, uint64_t key)
{
    return &w->l.node[(uint32_t)key];
}
static HDI_INLINE lane *lane_of(const work *w, uint32_t words, const hdi_list_node *v)
{
    return &w->lane[words ? v->lane : 0];
}
static HDI_INLINE uint64_t *pred_of(const work *w, uint32_t words, hdi_list_node *v)
{
    return words <= 1 ? v->pred : &w->l.pred[(size_t)(v - w->l.node) * words];
}

/* Times are not negative, so their bits order as they do. */
static HDI_INLINE uint64_t bits_of(double time)
{
    uint64_t bits;
    memcpy(&bits, &time, sizeof(bits));
    return bits;
}

/* Who starts when: the lowest comes first. */
static HDI_INLINE start_key start_of(double time, uint64_t key)
{
    return (start_key)bits_of(time) << 64 | key;
}
static HDI_INLINE double time_of(start_key of)
{
    uint64_t bits = (uint64_t)(of >> 64);
    double time;
    memcpy(&time, &bits, sizeof(time));
    return time;
}
#define NOBODY start_of(NEVER, 0)

/* Whether a pass needs a barrier on a queue. */
static HDI_INLINE bool needs_barrier(const work *w, uint32_t words, const uint64_t *pred, const queue *q)
{
    if (words == 0)
        return *pred > w->group[0];
    uint32_t k = words == 1 ? 0 : q->word;
    return ((w->group[k] - pred[k]) & q->guard) == 0;
}

/* When what a pass depends on is done, seen from the first queue of its lane. Where clocks are long and it is one
 * queue, that is home, or none. */
static HDI_INLINE double ready_of(const work *w, uint32_t words, const hdi_list_node *v)
{
    if (words == 0)
        return 0.0;
    return (double)v->ready[words == 1 ? w->lane[v->lane].on->queue->index : 1];
}

/* ready: as above. What follows waits for it less long where it was found just now. */
static HDI_INLINE void insert(work *w, uint32_t words, hdi_list_node *v, double ready)
{
    uint32_t index = words ? v->lane : 0;
    lane *l = &w->lane[index];
    const queue *q = l->on->queue;
    uint32_t at = l->count++;
    v->at = (uint8_t)at;
    l->key[at] = v->key;
    l->pred[at] = pred_of(w, words, v)[words <= 1 ? 0 : q->word];
    l->ready[at] = ready;
    w->open_lanes |= 1u << index;
}

static HDI_INLINE void leave(work *w, uint32_t words, const hdi_list_node *v)
{
    uint32_t index = words ? v->lane : 0, at = v->at;
    lane *l = &w->lane[index];
    uint32_t last = --l->count;
    uint64_t key = l->key[last];
    l->key[at] = key;
    l->pred[at] = l->pred[last];
    l->ready[at] = l->ready[last];
    node_of(w, key)->at = (uint8_t)at;
    w->open_lanes &= ~((uint32_t)(last == 0) << index);
}

typedef struct place {
    double start;
    queue *queue;
} place;

static const double barrier_us[] = {0.0, HDI_DRAIN_US};

/* When a pass can start on a queue, but for what it opens. */
static HDI_INLINE double start_on(const work *w, uint32_t words, const hdi_list_node *v, const uint64_t *pred,
                                  const queue *q)
{
    double ready = words ? (double)v->ready[words == 1 ? q->index : q->index == v->home] : 0.0;
    return (ready > q->free_at ? ready : q->free_at) + barrier_us[needs_barrier(w, words, pred, q)];
}

/* Another kind's queue has its own to do: there a pass must start clearly earlier. */
static HDI_INLINE place best_place(const work *w, uint32_t words, const lane *l, uint32_t count, hdi_list_node *v)
{
    const uint64_t *pred = pred_of(w, words, v);
    const lane_queue *on = l->on;
    place best = {start_on(w, words, v, pred, on->queue), on->queue};
    double least = best.start + (double)v->bias * on->foreign;
    for (uint32_t i = 1; i < count; i++) {
        place p = {start_on(w, words, v, pred, on[i].queue), on[i].queue};
        double biased = p.start + (double)v->bias * on[i].foreign;
        bool better = biased < least;
        best.start = better ? p.start : best.start;
        best.queue = better ? p.queue : best.queue;
        least = better ? biased : least;
    }
    return best;
}

/* Who seems to start first, memory aside, and where. */
typedef struct pick {
    start_key at;
    queue *queue; /* null: nobody */
} pick;

/* When one of a lane of one queue can start there. group: of that queue. */
static HDI_INLINE start_key start_in(const lane *l, uint32_t words, uint32_t i, uint64_t group)
{
    const queue *q = l->on->queue;
    uint32_t guard = q->shift + hdi_clock_bits(words) - 1;
    double ready = l->ready[i], start = ready > q->free_at ? ready : q->free_at;
    uint64_t drains = words ? ~((group - l->pred[i]) >> guard) & 1 : l->pred[i] > group;
    return start_of(start + barrier_us[drains], l->key[i]);
}

/* Of a lane of one queue. Who it is of many nobody could predict, so it is found without branches; with one alone it
 * often can be told, and what follows need not wait for it. */
static HDI_INLINE void look_at_one(const work *w, uint32_t words, const lane *l, pick *best)
{
    queue *q = l->on->queue;
    uint64_t group = w->group[words <= 1 ? 0 : q->word];
    if (l->count == 1) {
        start_key of = start_in(l, words, 0, group);
        if (of < best->at)
            *best = (pick){of, q};
        return;
    }
    start_key least = best->at;
    for (uint32_t i = 0, end = l->count; i < end; i++) {
        start_key of = start_in(l, words, i, group);
        least = of < least ? of : least;
    }
    best->queue = least < best->at ? q : best->queue;
    best->at = least;
}

/* Of a lane of several queues, where clocks are short: who starts first, and where, nobody could predict, so each of
 * its passes is placed, without branches. That takes more instructions than to ask first who could be the first. */
static HDI_INLINE void look_at_each(const work *w, const lane *l, uint32_t count, pick *best)
{
    const lane_queue *on = l->on;
    pick first = *best;
    for (uint32_t i = 0, end = l->count; i < end; i++) {
        uint64_t key = l->key[i];
        const hdi_list_node *v = node_of(w, key);
        double own = start_on(w, 1, v, v->pred, on->queue);
        uint64_t start = bits_of(own), least = bits_of(own + (double)v->bias * on->foreign);
        queue *q = on->queue;
        for (uint32_t k = 1; k < count; k++) {
            double other = start_on(w, 1, v, v->pred, on[k].queue);
            uint64_t biased = bits_of(other + (double)v->bias * on[k].foreign);
            start = biased < least ? bits_of(other) : start;
            q = biased < least ? on[k].queue : q;
            least = biased < least ? biased : least;
        }
        start_key of = (start_key)start << 64 | key;
        first.queue = of < first.at ? q : first.queue;
        first.at = of < first.at ? of : first.at;
    }
    *best = first;
}

/* One of them, where it can be told whether it is: so what follows need not wait for it. */
static HDI_INLINE void look_at_only(const work *w, uint32_t words, const lane *l, uint32_t i, uint32_t count,
                                    pick *best)
{
    uint64_t key = l->key[i];
    place p = best_place(w, words, l, count, node_of(w, key));
    if (start_of(p.start, key) < best->at)
        *best = (pick){start_of(p.start, key), p.queue};
}

/* The same of several queues, wherever its passes go. Where clocks are long, most start too late anyway. */
static HDI_INLINE void look_at_several(const work *w, uint32_t words, const lane *l, uint32_t count, pick *best)
{
    if (words == 1 && l->count == 1) {
        look_at_only(w, words, l, 0, count, best);
        return;
    }
    if (words == 1) {
        look_at_each(w, l, count, best);
        return;
    }
    double free_at = l->on[0].queue->free_at;
    for (uint32_t i = 1; i < count; i++)
        free_at = l->on[i].queue->free_at < free_at ? l->on[i].queue->free_at : free_at;
    for (uint32_t i = 0, end = l->count; i < end; i++) {
        uint64_t key = l->key[i];
        double ready = l->ready[i], least = ready > free_at ? ready : free_at;
        if (start_of(least, key) < best->at)
            look_at_only(w, words, l, i, count, best);
    }
}

static HDI_INLINE pick find_first(const work *w, uint32_t words)
{
    pick best = {NOBODY, NULL};
    if (words == 0) {
        look_at_one(w, 0, w->lane, &best);
        return best;
    }
    for (uint32_t open = w->open_lanes; open; open &= open - 1) {
        const lane *l = &w->lane[__builtin_ctz(open)];
        if (l->queue_count == 1)
            look_at_one(w, words, l, &best);
        else if (l->queue_count == 2)
            look_at_several(w, words, l, 2, &best);
        else
            look_at_several(w, words, l, l->queue_count, &best);
    }
    return best;
}

#endif
