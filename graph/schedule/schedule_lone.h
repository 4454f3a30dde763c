/* Inside the group scheduler (schedule_groups.c): groups of one pass beside which nobody else finds room. Where memory
 * is short they come one after another, and mostly the same passes are refused for the same reason, again and again:
 * the cap, or a rank that leaves too little room. So it is kept up from group to group who is refused, and why. */
#ifndef HDI_SCHEDULE_LONE_H
#define HDI_SCHEDULE_LONE_H

#include "schedule_end.h"

/* Who else is ready within the window, and opens how much at the least; INT64_MAX: there is none. Those behind a rank
 * that leaves too little room for all of them are refused there. */
typedef struct rivals {
    size_t block;      /* that rank; SIZE_MAX: there is none */
    int64_t room;      /* that it leaves */
    int64_t near, far; /* of those up to it, and behind it; not more than that */
    uint32_t count;
} rivals;

/* Who opens nothing, or must be looked at first, is refused nowhere. */
static HDI_INLINE void add_rival(rivals *r, const hdi_ask *at, size_t rank)
{
    int64_t opens = at->more & ~HDI_COUNTED ? 0 : at->opens;
    bool behind = rank > r->block && opens;
    int64_t near = behind ? INT64_MAX : opens, far = behind ? opens : INT64_MAX;
    r->near = near < r->near ? near : r->near;
    r->far = far < r->far ? far : r->far;
    r->count++;
}

/* Adds those who are ready, from a rank on and before another, but for one. */
static HDI_INLINE void find_rivals(const work *w, size_t but, size_t from, size_t end, rivals *r)
{
    for (size_t first = from; first < end; first = (first | 63) + 1) {
        uint64_t bits = w->ready[first / 64] & UINT64_MAX << first % 64;
        for (; bits; bits &= bits - 1) {
            size_t rank = (first & ~(size_t)63) + (size_t)__builtin_ctzll(bits);
            if (rank >= end)
                return;
            if (rank != but)
                add_rival(r, &w->ask[rank], rank);
        }
    }
}

/* The oldest rank may be behind that. */
static HDI_INLINE void leave_block(rivals *r, size_t oldest)
{
    if (r->block >= oldest)
        return;
    r->near = r->far < r->near ? r->far : r->near;
    r->block = SIZE_MAX;
    r->far = INT64_MAX;
}

/* Whether there are any, and none finds room. rest: what the cap leaves beside the pass of the group; taken: what that
 * takes from the rank in the way. */
static HDI_INLINE bool are_refused(const rivals *r, int64_t rest, int64_t taken)
{
    return r->near > rest && r->far > r->room - taken && r->count;
}

/* What of the window changes when a pass is taken. */
typedef struct view {
    size_t oldest, end;
    int64_t room; /* at the oldest rank */
} view;

/* Who there is beside a pass. v: as it is when that is taken; rest: as above. */
static HDI_APART rivals meet_rivals(const work *w, size_t pass, view v, int64_t rest)
{
    hdi_ask *ask = w->ask;
    int64_t opens = pass > v.oldest ? ask[pass].opens : 0, room = v.room - opens;
    size_t rank = v.oldest;
    rivals all = {SIZE_MAX, -1, INT64_MAX, INT64_MAX, 0};
    find_rivals(w, pass, v.oldest, v.end, &all);
    if (!all.count || all.near > rest)
        return all;
    ask[pass].step -= opens;
    while (room >= all.near && rank < v.end)
        room -= ask[++rank].step;
    ask[pass].step += opens;
    if (rank == v.end)
        return all;
    rivals r = {rank, rank < pass ? room + opens : room, INT64_MAX, INT64_MAX, 0};
    find_rivals(w, pass, v.oldest, v.end, &r);
    return r;
}

/* The oldest pass is taken. */
static HDI_INLINE view go_on(const work *w, view v)
{
    const hdi_ask *ask = w->ask;
    size_t kept = w->s->kept_count, window = w->rules.window;
    do {
        v.room -= ask[++v.oldest].step;
    } while (ask[v.oldest].due == HDI_TAKEN);
    v.end = window < kept - v.oldest ? v.oldest + window : kept;
    return v;
}

/* Counts down what a pass uses, and frees what it uses last. Returns how much that is. */
static HDI_APART int64_t count_lone(work *w, size_t pass, uint32_t group, view *v, rivals *r)
{
    int64_t closed = 0, late = 0;
    count_down(w, pass);
    for (size_t i = 0; i < w->counted_count; i++) {
        size_t use = w->counted[i];
        hdi_sched_res *of = &w->res[w->use_res[use]];
        size_t last = of->last - w->s->rank_begin;
        int64_t bytes = (int64_t)of->bytes;
        uint32_t writes = w->use_flags[use] / HDI_USE_WRITES & 1;
        of->close = group + writes;
        closed += bytes;
        late += writes ? bytes : 0;
        if (last < v->oldest)
            continue;
        w->ask[last + 1].step += bytes;
        v->room += bytes;
        r->room += r->block <= last ? bytes : 0;
    }
    w->counted_count = 0;
    w->closed_late = late;
    return closed;
}

/* What goes on from group to group. */
typedef struct lone {
    view v;
    rivals r;
    size_t slot;
    uint32_t group, most; /* before which group it ends */
    int64_t live;         /* in each group of a strand; else behind the newest */
} lone;

/* Nobody is ready among the ranks, not many, that the window comes to, if any. Behind the last word of ranks is one
 * more. */
static HDI_INLINE bool is_idle(const uint64_t *ready, size_t from, size_t end)
{
    if (from == end)
        return true;
    size_t word = from / 64, at = from % 64;
    uint64_t bits = ready[word] >> at | ready[word + 1] << 1 << (63 - at);
    return end - from < 64 && !(bits & ((UINT64_C(1) << (end - from)) - 1));
}

/* A strand: behind a pass that opened as much as it closed comes one that does just that again, and nobody else follows
 * either. Then nobody else finds room: there is as much as before, but for the rank of the pass, which is taken.
 * Returns the last pass of it, whose followers are not made ready. */
static HDI_APART size_t run_strand(work *w, lone *l, size_t pass, int64_t bytes)
{
    const hdi_sched *s = w->s;
    const uint32_t *succ_begin = s->depends->succ_begin, *succ = s->depends->succ, *pass_rank = s->pass_rank;
    hdi_ask *ask = w->ask;
    uint32_t *left = w->left, *level = s->pass_level, *slot_pass = w->slot_pass, *slot_group = w->out->slot_group;
    const bool levelled = w->levelled;
    const int64_t live = l->live;
    uint32_t group = l->group, most = l->most, rank_begin = s->rank_begin, own = level[pass];
    int64_t *net = w->net, *group_live = w->group_live;
    size_t slot = l->slot, pass_end = s->pass_end;
    view v = l->v;
    for (; group < most; group++) {
        size_t e = succ_begin[pass], next;
        if (succ_begin[pass + 1] - e != 1 || (next = succ[e]) >= pass_end)
            break;
        size_t rank = pass_rank[next] - rank_begin;
        hdi_ask *at = &ask[rank];
        if (left[next] != 1 || rank >= v.end || at->opens != bytes || at->closes != bytes || at->more)
            break;
        if (rank == v.oldest) {
            view on = go_on(w, v);
            if (l->r.block < on.oldest || !is_idle(w->ready, v.end, on.end))
                break;
            v = on;
        } else {
            at->step -= bytes;
            at[1].step += bytes;
            l->r.room += rank == l->r.block ? bytes : 0;
        }
        own = levelled ? level[next] : own + 1;
        level[next] = own;
        left[next] = 0;
        at->due = HDI_TAKEN;
        slot_pass[slot] = (uint32_t)next;
        slot_group[slot] = group;
        net[slot++] = 0;
        group_live[group] = live;
        pass = next;
    }
    l->v = v;
    l->slot = slot;
    l->group = group;
    return pass;
}

/* A pass is taken before its turn, and what it closes is free behind it. */
static HDI_INLINE void take_before(hdi_ask *ask, size_t rank, view *v, rivals *r)
{
    int64_t opens = ask[rank].opens, closed = ask[rank].closes;
    ask[rank].step -= opens;
    ask[rank + 1].step += closed;
    v->room += closed - opens;
    r->room += rank < r->block ? 0 : rank == r->block ? closed : closed - opens;
}

/* Who waited for a pass alone is ready, in its window a rival, or follows it. own: levels behind it. Returns how many
 * there are. */
static HDI_INLINE uint32_t release(const work *w, size_t pass, uint32_t own, int64_t closed, size_t window_end,
                                   rivals *r, size_t *follower)
{
    const hdi_sched *s = w->s;
    const uint32_t *succ = s->depends->succ, *pass_rank = s->pass_rank;
    const hdi_ask *ask = w->ask;
    const bool levelled = w->levelled;
    uint32_t *left = w->left, *level = s->pass_level, rank_begin = s->rank_begin, count = 0;
    size_t pass_end = s->pass_end, e = s->depends->succ_begin[pass], end = s->depends->succ_begin[pass + 1];
    for (; e < end; e++) {
        size_t next = succ[e];
        if (HDI_UNLIKELY(next >= pass_end))
            continue;
        uint32_t at = pass_rank[next] - rank_begin, last = lose_one(left, next, w->ready, at);
        level[next] = levelled ? level[next] : own;
        if (!last)
            continue;
        count++;
        if (closed && ask[at].opens == closed && !(ask[at].more & ~HDI_COUNTED)) {
            uint32_t other = (uint32_t)*follower;
            *follower = at;
            at = other;
        }
        if (at < window_end)
            add_rival(r, &ask[at], at);
    }
    return count;
}

/* As long as that is so. A pass beside which there may be others is put into a group that it leaves to be filled:
 * returns whether there is one. */
static HDI_APART bool run_lone(work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *rank_pass = w->rank_pass;
    const int64_t cap = (int64_t)w->rules.cap;
    hdi_ask *ask = w->ask;
    uint64_t *ready = w->ready;
    uint32_t *level = s->pass_level, *slot_pass = w->slot_pass, *slot_group = w->out->slot_group;
    uint32_t group = w->group, depth = w->depth, ready_count = w->ready_count;
    uint32_t most = w->levelled ? group + w->full_next - w->full : HDI_NONE;
    int64_t live = w->live, *net = w->net, *group_live = w->group_live;
    size_t slot = w->slots, rank = HDI_NONE, follower = w->follower;
    view v = {w->oldest, w->end, w->room};
    rivals r = {.near = INT64_MIN};
    while (group < most && group <= 2 * depth + 8) {
        int64_t rest = cap - live;
        rank = follower;
        follower = HDI_NONE;
        if (rank >= v.end || ask[rank].opens > rest || closes(w, rank) < ask[rank].opens) {
            if (rank < v.end)
                add_rival(&r, &ask[rank], rank);
            rank = v.oldest;
            r.count--;
            if (!hdi_bit_get(ready, (uint32_t)rank) || ask[rank].more & ~HDI_COUNTED || ask[rank].opens > rest) {
                rank = HDI_NONE;
                break;
            }
        }
        int64_t opens = ask[rank].opens, closed = ask[rank].closes;
        const view before = v;
        bool early = rank != v.oldest;
        rest -= opens;
        if (!early) {
            v = go_on(w, v);
            find_rivals(w, SIZE_MAX, before.end, v.end, &r);
            leave_block(&r, v.oldest);
        }
        if (!are_refused(&r, rest, rank > r.block ? opens : 0)) {
            r = meet_rivals(w, rank, v, rest);
            if (!are_refused(&r, rest, rank > r.block ? opens : 0)) {
                v = before;
                break;
            }
        }
        size_t p = rank_pass[rank];
        hdi_bit_clear(ready, (uint32_t)rank);
        ask[rank].due = HDI_TAKEN;
        if (early)
            take_before(ask, rank, &v, &r);
        group_live[group] = live + opens;
        if (HDI_UNLIKELY(ask[rank].more)) {
            view counted = v;
            rivals others = r;
            closed += count_lone(w, p, group, &counted, &others);
            v = counted;
            r = others;
            live += w->closed_late;
            most = w->closed_late ? 0 : most;
        }
        slot_pass[slot] = (uint32_t)p;
        slot_group[slot] = group++;
        net[slot++] = opens - closed;
        if (closed == opens && !ask[rank].more && opens) {
            lone l = {v, r, slot, group, most < 2 * depth + 9 ? most : 2 * depth + 9, live + opens};
            p = run_strand(w, &l, p, opens);
            v = l.v;
            r.room = l.r.room;
            slot = l.slot;
            group = l.group;
        }
        live += opens - closed;
        uint32_t own = level[p] + 1;
        ready_count += release(w, p, own, closed, v.end, &r, &follower) - 1;
        depth = own > depth ? own : depth;
        rank = HDI_NONE;
    }
    w->oldest = v.oldest;
    w->end = v.end;
    w->room = v.room;
    w->slots = w->group_begin = slot;
    w->live = live;
    w->full += group - w->group;
    w->group = group;
    w->depth = depth;
    w->ready_count = ready_count;
    w->follower = (uint32_t)follower;
    w->scan = (scan){.stale = true};
    if (rank == HDI_NONE)
        return false;
    hdi_bit_clear(ready, (uint32_t)rank);
    take_one(w, rank);
    return true;
}

#endif
