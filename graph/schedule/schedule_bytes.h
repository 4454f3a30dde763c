/* Memory while a list schedule is made (schedule_list.c): a cap on live bytes as in schedule_groups.c, with one thing
 * more: bytes that were freed on another queue serve only who knows that they are free. Clocks are simulated along with
 * the time; a pass that needs bytes which its queue does not know to be free waits for those who freed them, and that
 * wait becomes an edge of the plan. So alias.c later finds what the cap promised. */
#ifndef HDI_SCHEDULE_BYTES_H
#define HDI_SCHEDULE_BYTES_H

#include <string.h>

#include "schedule_list.h"

/* How many closed resources of a queue are looked at, from the oldest whose bytes are not all taken. */
enum { LOOK = 32 };
#define NEVER 1e300
#define GONE 1e301 /* later: of whoever is not looked at */
#define ANY_ROOM (INT64_MAX / 2) /* what is given back may be added */

/* A time, as bits, and behind it a key. */
__extension__ typedef unsigned __int128 start_key;

/* Resources closed on one queue, in the order of the schedule; before `begin`, all bytes are taken. */
typedef struct closings {
    hdi_list_closing *begin, *end;
} closings;

typedef struct queue {
    double free_at;
    uint64_t guard, keep; /* of its field of a clock */
    uint32_t word, shift, index;
    closings closed;
    uint64_t knows[HDI_CLOCK_WORDS]; /* what has finished before its next pass */
} queue;

typedef struct lane_queue {
    queue *queue;
    double foreign; /* 1: of another kind than the passes are of; else 0 */
} lane_queue;

/* Passes that could be taken, in no order. */
typedef struct lane {
    uint32_t queue_count, count;
    lane_queue on[HD_MAX_QUEUES]; /* ascending */
    uint64_t key[HDI_MOST_LIST_WINDOW];
    uint64_t pred[HDI_MOST_LIST_WINDOW]; /* seen from the first queue */
    double ready[HDI_MOST_LIST_WINDOW];  /* the same; where clocks are long, from the node's home */
} lane;

typedef struct work {
    const hdi_sched *s;
    /* What each pass asks for, of s and what that points to. */
    const uint32_t *use_res, *pass_use_begin, *succ, *succ_begin, *rank_pass;
    hdi_sched_res *res;
    uint64_t *res_last_slots;
    bool counts_all; /* also uses of what later regions close */
    uint32_t pass_begin, pass_count, rank_begin, kept_count;
    hdi_list l;
    hdi_schedule *out;
    uint32_t *slot_pass, slots; /* of out, which is told how many there are in the end */
    uint8_t *slot_queue;
    double handoff_us;
    int64_t cap;
    uint32_t window, patience, queue_count; /* patience: ranks ahead of the oldest at which passes may have to wait */
    uint32_t reach[2]; /* ranks from the oldest on at which passes may be taken, [1]: patient ones */
    queue *queue;
    lane *lane;
    uint64_t group[HDI_CLOCK_WORDS]; /* first slot of the newest group of each queue; of clocks, with their guards */
    int64_t fresh; /* bytes under the cap that nobody has taken yet */
    int64_t alive; /* at the oldest rank, when all goes on by rank from here */
    /* A look at the ranks from the oldest up to room_end, exclusive: no more than `most` is alive there, and room_alive
     * at room_end. And a rank where there was no room for somebody, or HDI_NONE, and what is alive there. */
    uint32_t room_end, full_rank;
    int64_t most, room_alive, full_alive;
    uint32_t oldest, waiting_count, opener_count, edge_capacity;
    uint32_t open_lanes; /* a bit for each that is not empty */
} work;

/* What a queue learns in front of a pass that depends on `pred`: where clocks are short, what stands behind that. */
static HDI_INLINE void learn(const work *w, uint32_t words, const uint64_t *pred, const queue *q, uint64_t *clock)
{
    if (words == 1)
        hdi_clock_raise(1, clock, &pred[1]);
    for (uint32_t k = 0; words > 1 && k < words; k++) {
        uint64_t slots = pred[k];
        if (q->word == k)
            slots &= q->keep; /* its own it knows */
        for (; slots; slots >>= hdi_clock_bits(words))
            hdi_clock_raise(words, clock, &w->l.clock[(slots & hdi_clock_mask(words)) * words]);
    }
}

/* The newest slots that used what was closed. */
static HDI_INLINE const uint64_t *users_of(const work *w, uint32_t words, const hdi_list_closing *c)
{
    return words == 1 ? &c->slots : &w->res_last_slots[(size_t)c->slots * words];
}

static HDI_INLINE bool is_known(const work *w, uint32_t words, const hdi_list_closing *c, const uint64_t *clock)
{
    return hdi_clock_covers(words, clock, users_of(w, words, c));
}

/* When everybody on other queues has finished with what was closed, seen from a queue. */
static HDI_INLINE double free_time(const work *w, uint32_t words, const hdi_list_closing *c, uint32_t seen_from)
{
    double time = 0.0;
    const uint64_t *last = users_of(w, words, c);
    for (uint32_t k = 0; k < words; k++) {
        uint32_t q = 2 * k;
        for (uint64_t slots = last[k]; slots; slots >>= hdi_clock_bits(words), q++) {
            double done = w->l.finish[slots & hdi_clock_mask(words)] + (q == seen_from ? 0.0 : w->handoff_us);
            time = done > time ? done : time;
        }
    }
    return time;
}

/* Of what was closed on one queue: what is free and known to a clock goes off `rest`, down to 0. */
static HDI_INLINE int64_t claim_of(const work *w, uint32_t words, closings *c, int64_t rest, const uint64_t *clock,
                                   bool take)
{
    hdi_list_closing *at = c->begin, *end = c->end;
    while (at != end && at->left == 0)
        at++;
    c->begin = at;
    end = end - at < LOOK ? end : at + LOOK;
    for (; at != end; at++) {
        int64_t left = at->left;
        if (left == 0 || !is_known(w, words, at, clock))
            continue;
        if (take)
            at->left = left > rest ? left - rest : 0;
        rest -= left;
        if (rest <= 0)
            return 0;
    }
    return rest;
}

/* How much of `bytes` is not free and known to a clock; the queue's own serves first, which others know last.
 * take: what is free is taken. */
static HDI_INLINE int64_t claim_known(const work *w, uint32_t words, queue *own, int64_t bytes, const uint64_t *clock,
                                      bool take)
{
    int64_t rest = claim_of(w, words, &own->closed, bytes, clock, take);
    for (uint32_t q = 0; rest > 0 && q < w->queue_count; q++) {
        closings *c = &w->queue[q].closed;
        if (q != own->index && c->begin != c->end)
            rest = claim_of(w, words, c, rest, clock, take);
    }
    return rest;
}

/* Of what was closed and a clock does not know to be free, that which is free first; null: there is none. */
static HDI_INLINE hdi_list_closing *find_free(const work *w, uint32_t words, uint32_t seen_from, const uint64_t *clock,
                                              double *time)
{
    hdi_list_closing *best = NULL;
    double first = NEVER;
    for (uint32_t q = 0; q < w->queue_count; q++) {
        hdi_list_closing *at = w->queue[q].closed.begin, *end = w->queue[q].closed.end;
        end = end - at < LOOK ? end : at + LOOK;
        while (at != end && (at->left == 0 || is_known(w, words, at, clock)))
            at++;
        if (at == end)
            continue;
        double free_at = free_time(w, words, at, seen_from);
        if (!best || free_at < first) {
            best = at;
            first = free_at;
        }
    }
    *time = first;
    return best;
}

/* Waits for memory that was closed elsewhere: clock rises to what was waited for; returns when that is, `start` at the
 * earliest, or NEVER: not enough was closed. */
static HDI_APART double wait_for_bytes(const work *w, uint32_t words, uint32_t seen_from, int64_t bytes,
                                       uint64_t *clock, double start, bool take)
{
    while (bytes > 0) {
        double time;
        hdi_list_closing *c = find_free(w, words, seen_from, clock, &time);
        if (!c)
            return NEVER;
        hdi_clock_raise(words, clock, users_of(w, words, c));
        start = time > start ? time : start;
        int64_t part = c->left < bytes ? c->left : bytes;
        c->left -= take ? part : 0;
        bytes -= part;
    }
    return start;
}

/* Of what was closed on a queue: how many of the oldest hold enough, where the queue knows them to be free; 0: more
 * than two, or others. */
static HDI_INLINE uint32_t oldest_serve(const work *w, uint32_t words, const queue *q, int64_t bytes)
{
    const hdi_list_closing *c = q->closed.begin, *end = q->closed.end;
    if (c == end || !is_known(w, words, c, q->knows))
        return 0;
    if (c->left >= bytes)
        return 1;
    return c + 1 != end && c[0].left + c[1].left >= bytes && is_known(w, words, c + 1, q->knows) ? 2 : 0;
}

static HDI_APART double claim_more(const work *w, uint32_t words, const uint64_t *pred, queue *q, int64_t bytes,
                                   double start)
{
    uint64_t clock[HDI_CLOCK_WORDS];
    for (uint32_t k = 0; k < words; k++)
        clock[k] = q->knows[k];
    learn(w, words, pred, q, clock);
    int64_t rest = claim_known(w, words, q, bytes, clock, false);
    rest -= w->fresh > 0 ? w->fresh : 0;
    return rest <= 0 ? start : wait_for_bytes(w, words, q->index, rest, clock, start, false);
}

/* When a pass that could start at `start` has the bytes that it opens, beyond those that are fresh; or NEVER. */
static HDI_INLINE double claim(const work *w, uint32_t words, const uint64_t *pred, queue *q, int64_t bytes,
                               double start)
{
    return oldest_serve(w, words, q, bytes) ? start : claim_more(w, words, pred, q, bytes, start);
}

/* Looks on, up to a rank, or to one where more than `room` is alive; whether there was none. */
static HDI_APART bool look_for_room(work *w, uint32_t rank, int64_t room)
{
    const int64_t *step = w->l.alive_step;
    int64_t alive = w->room_alive, most = w->most;
    uint32_t at = w->room_end;
    while (at < rank && most <= room) {
        most = alive > most ? alive : most;
        alive += step[++at];
    }
    w->room_end = at;
    w->room_alive = alive;
    w->most = most;
    if (most <= room)
        return true;
    w->full_rank = at - 1;
    w->full_alive = most;
    return false;
}

/* Whether there is room for bytes at the ranks from the oldest up to one, exclusive, when all goes on by rank from
 * here. What the last look has found was kept up since as the most that can be alive; what is alive at the rank where
 * one has ended, to the byte. */
static HDI_INLINE bool has_room(work *w, uint32_t rank, int64_t bytes)
{
    int64_t room = w->cap - bytes;
    if (w->most <= room && (rank <= w->room_end || look_for_room(w, rank, room)))
        return true;
    if (w->full_rank < rank && w->full_alive > room)
        return false;
    w->room_end = w->oldest;
    w->room_alive = w->alive;
    w->most = -ANY_ROOM;
    return look_for_room(w, rank, room);
}

/* Waits for memory become edges; the queue learns what they cover. */
static HDI_APART void take_with_waits(work *w, uint32_t words, queue *q, int64_t bytes, uint32_t slot)
{
    uint64_t *clock = q->knows, before[HDI_CLOCK_WORDS];
    hdi_schedule *out = w->out;
    memcpy(before, clock, sizeof(before));
    if (wait_for_bytes(w, words, q->index, bytes, clock, 0.0, true) >= NEVER)
        w->fresh = 0; /* forced: more than the cap */
    for (uint32_t other = 0; other < w->queue_count; other++) {
        uint32_t from = hdi_clock_get(words, clock, other);
        if (other == q->index || from == hdi_clock_get(words, before, other))
            continue;
        if (!hdi_arena_grow(w->s->arena, &out->edge, &w->edge_capacity, out->edge_count, out->edge_count + 1,
                            sizeof(*out->edge)))
            return;
        out->edge[out->edge_count++] = (hdi_edge){from - 1, slot};
    }
}

static HDI_APART void take_more(work *w, uint32_t words, queue *q, int64_t bytes, uint32_t slot)
{
    int64_t rest = claim_known(w, words, q, bytes, q->knows, true);
    int64_t fresh = w->fresh < 0 ? 0 : w->fresh < rest ? w->fresh : rest;
    w->fresh -= fresh;
    if (rest > fresh)
        take_with_waits(w, words, q, rest - fresh, slot);
}

static HDI_INLINE void take_bytes(work *w, uint32_t words, queue *q, int64_t bytes, uint32_t slot)
{
    uint32_t count = oldest_serve(w, words, q, bytes);
    if (count == 0) {
        take_more(w, words, q, bytes, slot);
        return;
    }
    hdi_list_closing *c = q->closed.begin;
    if (count == 2) {
        bytes -= c->left;
        c->left = 0;
        c++;
    }
    c->left -= bytes;
    q->closed.begin = c + (c->left == 0);
}

/* What is alive grows, by that much, at all ranks from the oldest up to one, exclusive. closes: it does not. */
static HDI_INLINE void add_alive(work *w, uint32_t end, int64_t bytes, bool closes)
{
    w->alive += bytes;
    w->l.alive_step[end] -= bytes;
    if (!closes || end >= w->room_end)
        w->most += bytes;
    if (end > w->room_end)
        w->room_alive += bytes;
    if (end > w->full_rank)
        w->full_alive += bytes;
}

#endif
