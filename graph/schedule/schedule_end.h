/* Inside the group scheduler (schedule_groups.c): what the end of a group changes. Its passes are put in order, what it
 * closed is free, and who waited for it alone is ready. */
#ifndef HDI_SCHEDULE_END_H
#define HDI_SCHEDULE_END_H

#include <string.h>

#include "bitset.h"
#include "schedule_take.h"
#include "sort.h"

enum { COPIED = 4 }; /* passes that follow one, at once */

/* ---- order inside ---- */

static void sort_many(work *w, uint32_t *pass, int64_t *net, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        w->key[i] = (uint64_t)(INT64_MAX / 2 - net[i]);
    hdi_sort_u64(w->key, pass, w->scratch_key, w->scratch, count);
    for (uint32_t i = 0; i < count; i++)
        net[i] = INT64_MAX / 2 - (int64_t)w->key[i];
}

enum { FEW_PASSES = 24, INDEX_BITS = 5, NET_BITS = 64 - INDEX_BITS - 2 };

/* Each goes behind those whose keys are less. most: not less than count, of fours; keys behind that are larger than
 * all. */
static HDI_INLINE void put_in_order(const uint64_t *key, const uint32_t *from, size_t count, size_t most,
                                    uint32_t *pass, int64_t *net)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t own = key[i];
        size_t to = 0;
        for (const uint64_t *other = key, *end = key + most; other < end; other += 4)
            to += (size_t)(other[0] < own) + (other[1] < own) + (other[2] < own) + (other[3] < own);
        pass[to] = from[i];
        net[to] = (int64_t)((UINT64_C(1) << NET_BITS) - (own >> INDEX_BITS));
    }
}

/* By counting, in loops of one length: how they come, and how many they are, nobody could predict. False: the numbers
 * are too large for it. */
static bool sort_few(uint32_t *pass, int64_t *net, size_t count)
{
    enum { EIGHT = 8, SIXTEEN = 16 };
    uint64_t key[FEW_PASSES], large = 0;
    uint32_t from[FEW_PASSES];
    memset(key, 0xff, sizeof(key));
    for (size_t i = 0; i < count; i++) {
        int64_t own = net[i];
        large |= (uint64_t)(own ^ own >> 63) >> NET_BITS;
        key[i] = ((UINT64_C(1) << NET_BITS) - (uint64_t)own) << INDEX_BITS | i;
        from[i] = pass[i];
    }
    if (large)
        return false;
    if (count <= EIGHT)
        put_in_order(key, from, count, EIGHT, pass, net);
    else if (count <= SIXTEEN)
        put_in_order(key, from, count, SIXTEEN, pass, net);
    else
        put_in_order(key, from, count, FEW_PASSES, pass, net);
    return true;
}

static HDI_INLINE void insert(uint32_t *pass, int64_t *net, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int64_t own = net[i];
        uint32_t p = pass[i];
        size_t to = i;
        for (; to > 0 && net[to - 1] < own; to--) {
            net[to] = net[to - 1];
            pass[to] = pass[to - 1];
        }
        net[to] = own;
        pass[to] = p;
    }
}

/* Most bytes opened less closed first; as they were taken where that is equal. */
static HDI_APART void sort_group(work *w)
{
    enum { A_FEW = 6 };
    size_t count = w->slots - w->group_begin;
    uint32_t *pass = &w->slot_pass[w->group_begin];
    int64_t *net = &w->net[w->group_begin];
    size_t sorted = 1;
    while (count > FEW_PASSES && sorted < count && net[sorted - 1] >= net[sorted])
        sorted++;
    if (count <= A_FEW)
        insert(pass, net, count);
    else if (sorted == count)
        return;
    else if (count > FEW_PASSES || !sort_few(pass, net, count))
        sort_many(w, pass, net, (uint32_t)count);
}

/* ---- who is ready ---- */

/* Levels that a pass can wait without its first consumer waiting. */
static HDI_APART uint32_t find_float(const hdi_sched *s, size_t pass)
{
    const uint32_t *succ = s->depends->succ, *pass_level = s->pass_level;
    uint32_t first = HDI_NONE;
    for (size_t e = s->depends->succ_begin[pass], end = s->depends->succ_begin[pass + 1]; e < end; e++) {
        uint32_t next = succ[e];
        if (next < s->pass_end && pass_level[next] < first)
            first = pass_level[next];
    }
    return first == HDI_NONE || first == pass_level[pass] ? 0 : first - pass_level[pass] - 1;
}

/* Whether the first one to follow a pass, or, where nobody does, somebody else, is just behind it: then it cannot wait
 * at all, as nearly none can. */
static HDI_INLINE bool is_needed_next(const hdi_sched *s, size_t pass)
{
    const uint32_t *level = s->pass_level;
    size_t next = s->depends->succ[s->depends->succ_begin[pass]];
    return next < s->pass_end && level[next] == level[pass] + 1;
}

/* A pass has one predecessor less to wait for. 1: it was the last one, and the pass is ready; else 0. */
static HDI_INLINE uint32_t lose_one(uint32_t *left, size_t pass, uint64_t *ready, uint32_t rank)
{
    uint32_t last = --left[pass] == 0;
    ready[rank / 64] |= (uint64_t)last << rank % 64;
    return last;
}

/* Whoever waited for passes of the group alone is ready. */
static HDI_INLINE void make_ready(work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *succ_begin = s->depends->succ_begin, *succ = s->depends->succ, *pass_rank = s->pass_rank;
    const uint32_t *slot_pass = w->slot_pass;
    uint32_t *left = w->left, *level = s->pass_level, *slot_group = w->out->slot_group, own = 0;
    uint32_t group = w->group, rank_begin = s->rank_begin, ready_count = w->ready_count;
    uint64_t *ready = w->ready;
    bool levelled = w->levelled;
    size_t pass_end = s->pass_end;
    for (size_t i = w->group_begin, slots = w->slots; i < slots; i++) {
        size_t p = slot_pass[i], end = succ_begin[p + 1];
        slot_group[i] = group;
        own = level[p] + 1;
        for (size_t e = succ_begin[p]; e < end; e++) {
            size_t next = succ[e];
            if (HDI_UNLIKELY(next >= pass_end))
                continue;
            if (!levelled)
                level[next] = own;
            ready_count += lose_one(left, next, ready, pass_rank[next] - rank_begin);
        }
    }
    w->ready_count = ready_count;
    w->depth = own > w->depth ? own : w->depth;
}

/* The same where what a pass opens has a time, by levels, which are known. How many are ready nobody asks then. */
static HDI_INLINE void make_ready_in_time(const work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *succ_begin = s->depends->succ_begin, *succ = s->depends->succ, *pass_rank = s->pass_rank;
    const uint32_t *slot_pass = w->slot_pass;
    uint32_t *left = w->left, *slot_group = w->out->slot_group;
    uint32_t group = w->group, rank_begin = s->rank_begin;
    uint64_t *ready = w->ready;
    hdi_ask *ask = w->ask;
    size_t pass_end = s->pass_end;
    for (size_t i = w->group_begin, slots = w->slots; i < slots; i++) {
        size_t p = slot_pass[i], end = succ_begin[p + 1];
        slot_group[i] = group;
        for (size_t e = succ_begin[p]; e < end; e++) {
            size_t next = succ[e];
            if (HDI_UNLIKELY(next >= pass_end) || --left[next])
                continue;
            size_t rank = pass_rank[next] - rank_begin;
            hdi_bit_set(ready, (uint32_t)rank);
            if (!is_needed_next(s, next) && (ask[rank].opens || ask[rank].more & ~HDI_COUNTED))
                ask[rank].due = group + 1 + find_float(s, next);
        }
    }
}

/* Behind a group of one pass, who opens just the bytes that it closed may follow it. */
static HDI_APART void find_follower(work *w, int64_t closed)
{
    const hdi_sched *s = w->s;
    size_t p = w->slot_pass[w->group_begin];
    for (size_t e = s->depends->succ_begin[p], end = s->depends->succ_begin[p + 1]; e < end; e++) {
        size_t next = s->depends->succ[e], rank = next < s->pass_end ? s->pass_rank[next] - s->rank_begin : HDI_NONE;
        if (rank == HDI_NONE || w->left[next])
            continue;
        if (w->ask[rank].opens == closed && !(w->ask[rank].more & ~HDI_COUNTED))
            w->follower = (uint32_t)rank;
    }
}

/* The same for many passes: who follows them is put together first, as how many they are nobody could predict. */
static HDI_APART void make_many_ready(work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *succ_begin = s->depends->succ_begin, *succ = s->depends->succ, *slot_pass = w->slot_pass;
    const uint32_t *pass_rank = s->pass_rank;
    uint32_t *next = w->next, *behind = w->behind, *level = s->pass_level, *slot_group = w->out->slot_group;
    uint32_t group = w->group, rank_begin = s->rank_begin, pass_end = s->pass_end, own = 0;
    size_t count = 0, edges = succ_begin[s->decl->pass_count];
    for (size_t i = w->group_begin, slots = w->slots; i < slots; i++) {
        size_t p = slot_pass[i], first = succ_begin[p], some = succ_begin[p + 1] - first;
        slot_group[i] = group;
        own = level[p] + 1;
        for (size_t k = 0; k < COPIED; k++)
            behind[count + k] = own;
        if (HDI_LIKELY(some <= COPIED && first + COPIED <= edges)) {
            memcpy(next + count, succ + first, COPIED * sizeof(*next));
        } else {
            memcpy(next + count, succ + first, some * sizeof(*next));
            for (size_t k = COPIED; k < some; k++)
                behind[count + k] = own;
        }
        count += some;
    }
    uint32_t *left = w->left, ready_count = w->ready_count;
    uint64_t *ready = w->ready;
    bool levelled = w->levelled;
    for (size_t e = 0; e < count; e++) {
        size_t to = next[e];
        if (HDI_UNLIKELY(to >= pass_end))
            continue;
        uint32_t rank = pass_rank[to] - rank_begin, last = lose_one(left, to, ready, rank);
        ready_count += last;
        if (!levelled)
            level[to] = behind[e];
    }
    w->ready_count = ready_count;
    w->depth = own > w->depth ? own : w->depth;
}

/* One pass is left, the oldest: whom it waited for need not be counted. */
static HDI_INLINE void make_last_ready(work *w)
{
    for (size_t i = w->group_begin; i < w->slots; i++)
        w->out->slot_group[i] = w->group;
    hdi_bit_set(w->ready, (uint32_t)w->oldest);
    if (!w->levelled)
        w->s->pass_level[w->rank_pass[w->oldest]] = w->depth;
    w->ready_count = 1;
}

/* Counts down the uses of all passes of the group, which nobody asks for before it ends: so the loop has what it reads
 * in registers. */
static HDI_INLINE void count_group_of(work *w, bool all)
{
    size_t count = 0;
    for (size_t i = w->group_begin, slots = w->slots; i < slots; i++)
        count = count_down_of(w, w->slot_pass[i], count, all, false);
    w->counted_count = count;
}

static HDI_APART void count_group(work *w)
{
    if (HDI_LIKELY(w->counts_all))
        count_group_of(w, true);
    else
        count_group_of(w, false);
}

/* What the group closed is free behind its barrier. Returns how much. */
static HDI_INLINE int64_t free_closed(work *w)
{
    if (!w->s->known)
        count_group(w);
    hdi_sched_res *res = w->res;
    const uint32_t *left = w->left, *use_pass = w->s->decl->use_pass;
    uint32_t rank_begin = w->s->rank_begin, group = w->group;
    hdi_ask *ask = w->ask;
    int64_t *net = w->net, room = 0, closed = w->closed, late = 0, here = 0;
    size_t oldest = w->oldest, at = w->scan.at;
    for (size_t i = 0; i < w->early_count; i++) {
        size_t last = w->early[i];
        int64_t bytes = ask[last].closes & -(int64_t)(last >= oldest);
        ask[last + 1].step += bytes;
        room += bytes;
        here += last >= at ? bytes : 0;
    }
    for (size_t i = 0; i < w->counted_count; i++) {
        size_t use = w->counted[i];
        hdi_sched_res *of = &res[w->use_res[use]];
        size_t last = of->last - rank_begin;
        int64_t bytes = (int64_t)of->bytes;
        uint32_t writes = w->use_flags[use] / HDI_USE_WRITES & 1;
        of->close = group + writes;
        net[left[use_pass[use]]] -= bytes;
        closed += bytes;
        late += bytes & -(int64_t)writes;
        bytes &= -(int64_t)(last >= oldest);
        ask[last + 1].step += bytes;
        room += bytes;
        here += last >= at ? bytes : 0;
    }
    w->scan.here += here;
    w->scan.stale |= room != 0;
    w->room += room;
    w->live -= closed - late + w->closed_late;
    w->closed_late = late;
    w->closed = 0;
    w->counted_count = w->early_count = 0;
    return closed;
}

/* Of one pass. */
static HDI_APART void end_lone(work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *succ = s->depends->succ, *pass_rank = s->pass_rank;
    int64_t closed = free_closed(w);
    uint32_t *left = w->left, *level = s->pass_level, pass_end = s->pass_end, rank_begin = s->rank_begin;
    uint32_t ready_count = w->ready_count - 1;
    uint64_t *ready = w->ready;
    bool levelled = w->levelled, alone = w->refused && !w->rules.in_order;
    size_t p = w->slot_pass[w->group_begin], end = s->depends->succ_begin[p + 1];
    uint32_t own = level[p] + 1;
    w->out->slot_group[w->group_begin] = w->group++;
    for (size_t e = s->depends->succ_begin[p]; e < end; e++) {
        size_t next = succ[e];
        if (HDI_UNLIKELY(next >= pass_end))
            continue;
        uint32_t rank = pass_rank[next] - rank_begin, last = lose_one(left, next, ready, rank);
        ready_count += last;
        if (!levelled)
            level[next] = own;
        const hdi_ask *at = &w->ask[rank];
        if (last && alone && closed && at->opens == closed && !(at->more & ~HDI_COUNTED))
            w->follower = rank;
    }
    w->ready_count = ready_count;
    w->depth = own > w->depth ? own : w->depth;
}

/* Of the last group: nobody follows. */
static HDI_APART void end_last(work *w)
{
    for (size_t i = w->group_begin; i < w->slots; i++)
        w->out->slot_group[i] = w->group;
    free_closed(w);
    if (!w->rules.in_order)
        sort_group(w);
    w->group++;
}

static HDI_APART void end_group(work *w)
{
    enum { MANY = 8 };
    int64_t closed = free_closed(w);
    size_t count = w->slots - w->group_begin;
    w->ready_count -= (uint32_t)count;
    if (w->rules.wait_in_float) {
        make_ready_in_time(w);
        if (count == 1 && closed && w->refused && !w->rules.in_order)
            find_follower(w, closed);
    } else if (count < MANY) {
        make_ready(w);
    } else if (w->s->kept_count - w->slots > 1) {
        make_many_ready(w);
    } else {
        make_last_ready(w);
    }
    if (count > 1 && !w->rules.in_order)
        sort_group(w);
    w->group++;
}

#endif
