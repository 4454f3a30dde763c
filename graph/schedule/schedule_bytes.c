#include <string.h>

#include "schedule_list.h"

/* Memory while a list schedule is made: a cap on live bytes as in schedule_groups.c, with one thing more: bytes that
 * were freed on another queue serve only who knows that they are free. Clocks are simulated along with the time; a pass
 * that needs bytes which its queue does not know to be free waits for those who freed them, and that wait becomes an
 * edge of the plan. So the packing later finds what the cap promised. */

/* How many closed resources of a queue are looked at, from the oldest whose bytes are not all taken. */
enum { LOOK = 32 };
#define ANY_ROOM (INT64_MAX / 2) /* what is given back may be added */

/* ---- what is free ---- */

/* The newest slots that used what was closed. */
static const uint32_t *users_of(const hdi_list_work *w, const hdi_list_closing *c)
{
    return &w->s->res_last_slots[(size_t)c->res * w->queue_count];
}

static bool is_known(const hdi_list_work *w, const hdi_list_closing *c, const uint32_t *clock)
{
    return hdi_list_covers(clock, users_of(w, c), w->queue_count);
}

static const hdi_list_closing *looked_at_end(const hdi_list_queue *q)
{
    return q->end - q->begin < LOOK ? q->end : q->begin + LOOK;
}

/* When all other queues have finished with what was closed, seen from a queue. */
static double free_time(const hdi_list_work *w, const hdi_list_closing *c, uint32_t seen_from)
{
    double time = 0.0;
    const uint32_t *last = users_of(w, c);
    for (uint32_t q = 0; q < w->queue_count; q++) {
        double done = w->l.finish[last[q]] + (q == seen_from ? 0.0 : w->handoff_us);
        time = done > time ? done : time;
    }
    return time;
}

/* Of what was closed on one queue: what is free and known to a clock goes off `rest`, down to 0. */
static int64_t claim_of(const hdi_list_work *w, hdi_list_queue *q, int64_t rest, const uint32_t *clock, bool take)
{
    while (q->begin != q->end && q->begin->left == 0)
        q->begin++;
    const hdi_list_closing *end = looked_at_end(q);
    for (hdi_list_closing *at = q->begin; at != end && rest > 0; at++) {
        int64_t left = at->left;
        if (left == 0 || !is_known(w, at, clock))
            continue;
        at->left -= !take ? 0 : left < rest ? left : rest;
        rest = left < rest ? rest - left : 0;
    }
    return rest;
}

/* How much of `bytes` is not free and known to a clock; the queue's own serves first, which others know last.
 * take: what is free is taken. */
static int64_t claim_known(const hdi_list_work *w, hdi_list_queue *own, int64_t bytes, const uint32_t *clock, bool take)
{
    hdi_list_queue *all = own - own->index;
    int64_t rest = claim_of(w, own, bytes, clock, take);
    for (uint32_t q = 0; rest > 0 && q < w->queue_count; q++)
        rest = q == own->index ? rest : claim_of(w, &all[q], rest, clock, take);
    return rest;
}

/* Of what was closed and a clock does not know to be free, that which is free first; null: there is none. */
static hdi_list_closing *find_free(const hdi_list_work *w, const hdi_list_queue *own, const uint32_t *clock,
                                   double *time)
{
    const hdi_list_queue *all = own - own->index;
    hdi_list_closing *best = NULL;
    for (uint32_t q = 0; q < w->queue_count; q++) {
        hdi_list_closing *at = all[q].begin;
        const hdi_list_closing *end = looked_at_end(&all[q]);
        while (at != end && (at->left == 0 || is_known(w, at, clock)))
            at++;
        if (at == end)
            continue;
        double free_at = free_time(w, at, own->index);
        if (!best || free_at < *time) {
            best = at;
            *time = free_at;
        }
    }
    return best;
}

/* Waits for memory that was closed elsewhere: clock rises to what was waited for; returns when that is, `start` at the
 * earliest, or HDI_NEVER: not enough was closed. */
static double wait_for_bytes(const hdi_list_work *w, const hdi_list_queue *own, int64_t bytes, uint32_t *clock,
                             double start, bool take)
{
    while (bytes > 0) {
        double time;
        hdi_list_closing *c = find_free(w, own, clock, &time);
        if (!c)
            return HDI_NEVER;
        hdi_list_raise(clock, users_of(w, c), w->queue_count);
        start = time > start ? time : start;
        int64_t part = c->left < bytes ? c->left : bytes;
        c->left -= take ? part : 0;
        bytes -= part;
    }
    return start;
}

double hdi_list_claim(const hdi_list_work *w, const uint32_t *pred, hdi_list_queue *q, int64_t bytes, double start)
{
    uint32_t clock[HD_MAX_QUEUES];
    memcpy(clock, q->knows, w->queue_count * sizeof(*clock));
    hdi_list_learn(w, clock, pred);
    int64_t rest = claim_known(w, q, bytes, clock, false);
    rest -= w->fresh > 0 ? w->fresh : 0;
    return rest <= 0 ? start : wait_for_bytes(w, q, rest, clock, start, false);
}

/* Waits for memory become edges; the queue learns what they cover. */
static void take_with_waits(hdi_list_work *w, hdi_list_queue *q, int64_t bytes, uint32_t slot)
{
    uint32_t *clock = q->knows, before[HD_MAX_QUEUES];
    hdi_schedule *out = w->out;
    memcpy(before, clock, sizeof(before));
    if (wait_for_bytes(w, q, bytes, clock, 0.0, true) >= HDI_NEVER)
        w->fresh = 0; /* forced: more than the cap */
    for (uint32_t other = 0; other < w->queue_count; other++) {
        if (other == q->index || clock[other] == before[other])
            continue;
        if (!hdi_arena_grow(w->s->arena, &out->edge, &w->edge_capacity, out->edge_count, out->edge_count + 1,
                            sizeof(*out->edge)))
            return;
        out->edge[out->edge_count++] = (hdi_edge){clock[other] - 1, slot};
    }
}

bool hdi_list_take_bytes(hdi_list_work *w, hdi_list_queue *q, int64_t bytes, uint32_t slot)
{
    int64_t rest = claim_known(w, q, bytes, q->knows, true);
    int64_t fresh = w->fresh < 0 ? 0 : w->fresh < rest ? w->fresh : rest;
    w->fresh -= fresh;
    if (rest > fresh)
        take_with_waits(w, q, rest - fresh, slot);
    return rest > fresh;
}

/* ---- room at ranks to come ---- */

/* Looks on, up to a rank, or to one where more than `room` is alive; whether there was none. */
static bool look_for_room(hdi_list_work *w, uint32_t rank, int64_t room)
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

static void look_again(hdi_list_work *w, uint32_t oldest)
{
    w->room_end = oldest;
    w->room_alive = w->alive;
    w->most = -ANY_ROOM;
}

/* What the last look has found was kept up since as the most that can be alive; what is alive at the rank where one has
 * ended, to the byte. */
bool hdi_list_has_room(hdi_list_work *w, uint32_t rank, int64_t bytes)
{
    int64_t room = w->cap - bytes;
    if (w->most <= room && (rank <= w->room_end || look_for_room(w, rank, room)))
        return true;
    if (w->full_rank < rank && w->full_alive > room)
        return false;
    look_again(w, w->oldest);
    return look_for_room(w, rank, room);
}

void hdi_list_add_alive(hdi_list_work *w, uint32_t end, int64_t bytes, bool closes)
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

void hdi_list_move_room(hdi_list_work *w, uint32_t oldest, int64_t alive)
{
    w->oldest = oldest;
    w->alive = alive;
    if (oldest > w->full_rank)
        w->full_rank = HDI_NONE;
    if (oldest >= w->room_end)
        look_again(w, oldest);
}
