/* Memory while a list schedule is made (schedule_list.c): a cap on live bytes as in schedule_groups.c, with one thing
 * more: bytes that were freed on another queue serve only who knows that they are free. Clocks are simulated along with
 * the time; a pass that needs bytes which its queue does not know to be free waits for those who freed them, and that
 * wait becomes an edge of the plan. So alias.c later finds what the cap promised. */
#ifndef HDI_SCHEDULE_BYTES_H
#define HDI_SCHEDULE_BYTES_H

#include <string.h>

#include "hints.h"
#include "schedule_list.h"

/* How many closed resources of a queue are looked at, from the oldest whose bytes are not all taken. */
enum { LOOK = 32 };
#define NEVER 1e300
#define ANY_ROOM (INT64_MAX / 2) /* what is given back may be added */

/* Resources closed on one queue, in the order of the schedule. */
typedef struct closings {
    hdi_list_closing *of;
    uint32_t count, head; /* before head, all bytes are taken */
} closings;

/* Queues know of one another by slots: the newest that has finished, + 1. */
typedef struct work {
    const hdi_sched *s;
    hdi_list l;
    hdi_schedule *out;
    double handoff_us;
    int64_t cap;
    uint32_t window;
    double free_at[HD_MAX_QUEUES];
    uint32_t group[HD_MAX_QUEUES];                /* first slot of its newest group */
    uint32_t knows[HD_MAX_QUEUES][HD_MAX_QUEUES]; /* by queue: what has finished on each before its next pass */
    closings closed[HD_MAX_QUEUES];
    int64_t fresh; /* bytes under the cap that nobody has taken yet */
    int64_t early; /* as in schedule_groups.c */
    /* A look at room from the oldest rank up to room_end, exclusive: there is room_low at the least, and room_early is
     * alive early at room_end. */
    uint32_t room_end;
    bool room_exact; /* nothing has changed since */
    int64_t room_low, room_early;
    uint32_t oldest, shared_count, edge_capacity;
} work;

/* What a queue would know in front of a pass; clock: what it knows now. */
static HDI_INLINE void learn(const work *w, uint32_t n, uint32_t rank, uint32_t queue, uint32_t *clock)
{
    for (uint32_t mask = w->l.node[rank].pred_queues & ~(1u << queue); mask; mask &= mask - 1) {
        uint32_t slot = w->l.newest_pred[(size_t)rank * n + (uint32_t)__builtin_ctz(mask)] - 1;
        const uint32_t *known = &w->l.clock[(size_t)slot * n];
        for (uint32_t k = 0; k < n; k++)
            clock[k] = known[k] > clock[k] ? known[k] : clock[k];
    }
}

static HDI_INLINE bool is_known(const work *w, uint32_t n, uint32_t res, const uint32_t *clock)
{
    const uint32_t *last = &w->s->res_queue_last[(size_t)res * n];
    for (uint32_t q = 0; q < n; q++) {
        if (last[q] > clock[q])
            return false;
    }
    return true;
}

/* When everybody on other queues has finished with a resource, seen from a queue. */
static double free_time(const work *w, uint32_t n, uint32_t res, uint32_t queue)
{
    double time = 0.0;
    const uint32_t *last = &w->s->res_queue_last[(size_t)res * n];
    for (uint32_t q = 0; q < n; q++) {
        if (last[q] == 0)
            continue;
        double done = w->l.finish[last[q] - 1] + (q == queue ? 0.0 : w->handoff_us);
        time = done > time ? done : time;
    }
    return time;
}

/* How much of `bytes` is free and known to a clock; the queue's own first, which others know last. take: it is taken.
 */
static HDI_INLINE int64_t claim_known(work *w, uint32_t n, uint32_t queue, int64_t bytes, const uint32_t *clock, bool take)
{
    int64_t rest = bytes;
    for (uint32_t i = 0; i < n; i++) {
        closings *c = &w->closed[i == 0 ? queue : i <= queue ? i - 1 : i];
        hdi_list_closing *at = c->of + c->head, *end = c->of + c->count;
        while (at < end && at->left == 0)
            at++;
        c->head = (uint32_t)(at - c->of);
        end = end - at < LOOK ? end : at + LOOK;
        for (; at < end; at++) {
            int64_t left = at->left;
            if (left == 0 || !is_known(w, n, at->res, clock))
                continue;
            if (take)
                at->left = left > rest ? left - rest : 0;
            rest -= left;
            if (rest <= 0)
                return bytes;
        }
    }
    return bytes - rest;
}

/* Of what was closed and a clock does not know to be free, that which is free first; null: there is none. */
static hdi_list_closing *find_free(const work *w, uint32_t n, uint32_t queue, const uint32_t *clock, double *time)
{
    hdi_list_closing *best = NULL;
    for (uint32_t k = 0; k < n; k++) {
        const closings *c = &w->closed[k];
        uint32_t end = c->count - c->head < LOOK ? c->count : c->head + LOOK;
        for (uint32_t e = c->head; e < end; e++) {
            if (c->of[e].left == 0 || is_known(w, n, c->of[e].res, clock))
                continue;
            double at = free_time(w, n, c->of[e].res, queue);
            if (!best || at < *time) {
                best = &c->of[e];
                *time = at;
            }
            break;
        }
    }
    return best;
}

/* Waits for memory that was closed elsewhere: clock rises to what was waited for, *start to when. False: not enough was
 * closed. */
static bool wait_for_bytes(work *w, uint32_t n, uint32_t queue, int64_t bytes, uint32_t *clock, double *start,
                           bool take)
{
    while (bytes > 0) {
        double time = 0.0;
        hdi_list_closing *c = find_free(w, n, queue, clock, &time);
        if (!c)
            return false;
        const uint32_t *last = &w->s->res_queue_last[(size_t)c->res * n];
        for (uint32_t q = 0; q < n; q++)
            clock[q] = last[q] > clock[q] ? last[q] : clock[q];
        *start = time > *start ? time : *start;
        int64_t part = c->left < bytes ? c->left : bytes;
        c->left -= take ? part : 0;
        bytes -= part;
    }
    return true;
}

/* Whether a queue can have bytes that a pass opens there beyond those that are fresh, and when. */
static HDI_INLINE bool may_claim(work *w, uint32_t n, uint32_t rank, uint32_t queue, int64_t bytes, double *start)
{
    uint32_t clock[HD_MAX_QUEUES];
    for (uint32_t q = 0; q < n; q++)
        clock[q] = w->knows[queue][q];
    learn(w, n, rank, queue, clock);
    bytes -= claim_known(w, n, queue, bytes, clock, false);
    bytes -= w->fresh > 0 ? w->fresh : 0;
    return bytes <= 0 || wait_for_bytes(w, n, queue, bytes, clock, start, false);
}

/* Looks on, up to a rank; returns the least room. */
static int64_t look_for_room(work *w, uint32_t rank)
{
    const int64_t *step = w->l.early_step;
    const hdi_sched_rank *by_rank = w->s->rank;
    int64_t early = w->room_early, low = w->room_low;
    for (uint32_t at = w->room_end; at < rank; at++) {
        int64_t room = w->cap - (int64_t)by_rank[at].live - early;
        low = room < low ? room : low;
        early += step[at + 1];
    }
    w->room_end = rank;
    w->room_early = early;
    return w->room_low = low;
}

/* Whether there is room for bytes at the ranks from the oldest up to one, exclusive, when all goes on by rank from
 * here. What the last look has found was kept up since as the least that there can be. */
static HDI_INLINE bool has_room(work *w, uint32_t rank, int64_t bytes)
{
    if (w->room_low >= bytes && (rank <= w->room_end || look_for_room(w, rank) >= bytes))
        return true;
    if (w->room_exact && rank >= w->room_end)
        return false;
    w->room_end = w->oldest;
    w->room_early = w->early;
    w->room_low = ANY_ROOM;
    w->room_exact = true;
    return look_for_room(w, rank) >= bytes;
}

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
static void take_with_waits(work *w, uint32_t n, uint32_t queue, int64_t bytes, uint32_t slot)
{
    uint32_t *clock = w->knows[queue], before[HD_MAX_QUEUES];
    double ignored = 0.0;
    memcpy(before, clock, sizeof(before));
    if (!wait_for_bytes(w, n, queue, bytes, clock, &ignored, true))
        w->fresh = 0; /* forced: more than the cap */
    for (uint32_t k = 0; k < n; k++) {
        if (clock[k] > before[k] && k != queue)
            add_edge(w, clock[k] - 1, slot);
    }
}

static HDI_INLINE void take_bytes(work *w, uint32_t n, uint32_t queue, int64_t bytes, uint32_t slot)
{
    bytes -= claim_known(w, n, queue, bytes, w->knows[queue], true);
    int64_t fresh = w->fresh < 0 ? 0 : w->fresh < bytes ? w->fresh : bytes;
    w->fresh -= fresh;
    if (bytes > fresh)
        take_with_waits(w, n, queue, bytes - fresh, slot);
}

/* What is alive early grows, by that much, at all ranks from the oldest up to one, exclusive. */
static HDI_INLINE void add_early(work *w, uint32_t end, int64_t bytes)
{
    w->early += bytes;
    w->l.early_step[end] -= bytes;
    if (bytes > 0 || end >= w->room_end)
        w->room_low -= bytes;
    if (end > w->room_end)
        w->room_early += bytes;
    w->room_exact = false;
}

#endif
