#include <string.h>

#include "bitset.h"
#include "schedule_take.h"
#include "sort.h"

/* Groups: the order for one GPU queue. Passes are taken in groups that need no barrier inside; a pass joins a group
 * once all that it depends on stands in earlier ones. Taking every ready pass gives the fewest groups and keeps the
 * most alive, so a cap on live bytes holds it back: within a window of ranks, oldest first, a pass may open memory
 * while
 *
 *   - what the group has opened and not yet closed stays under the cap (bytes that the group closes serve only behind
 *     its barrier), and
 *   - going on by rank from here would stay under it as well: at each rank between the oldest pass that is left and the
 *     newcomer, the bytes alive there by rank, with what was opened early and without what was closed early. So
 *     the oldest pass never finds its memory taken, and the cap holds to the end where it is no less than the peak by
 *     rank.
 *
 * A pass whose consumers must wait for longer chains anyway may wait too (wait_in_float): what it opens lives shorter.
 * Inside a group, passes that open more than they close come first: then the group's bytes are alive at once at some
 * moment, and the heap is no larger than the peak.
 *
 * Who opens a resource is known beforehand: who uses it first by rank, as all others follow that one, unless several
 * overwrite it. Those few, and readers of images that are read in several layouts, have a list of such uses.
 * O(uses + edges + groups * window). Serial, but for regions. */

/* ---- preparation ---- */

static uint32_t count_own(const uint32_t *pred, size_t e, size_t end, uint32_t pass_begin)
{
    uint32_t count = 0;
    for (; e < end; e++)
        count += pred[e] >= pass_begin;
    return count;
}

/* How many each waits for, and whether it uses what somebody has to count. */
static void count_needs(work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *pred_begin = s->depends->pred_begin, *rank_pass = s->rank_pass;
    uint32_t *left = w->left, ready_count = 0;
    uint64_t *ready = w->ready_first;
    hdi_ask *ask = w->ask;
    size_t kept = s->kept_count;
    for (size_t rank = 0; rank < kept; rank++) {
        size_t p = rank_pass[rank], begin = pred_begin[p], end = pred_begin[p + 1];
        uint32_t count = (uint32_t)(end - begin);
        if (!s->whole)
            count = count_own(s->depends->pred, begin, end, s->pass_begin);
        left[p] = count;
        ask[rank].more = ask[rank].more == w->use_begin[p + 1] - w->use_begin[p] ? 0 : HDI_COUNTED;
        if (count)
            continue;
        s->pass_level[p] = 0;
        hdi_bit_set(ready, (uint32_t)rank);
        ready_count++;
    }
    w->ready_first_count = ready_count;
}

/* Levels, for who waits in float, and who must know how many groups are too many. */
static HDI_APART void find_levels(work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *pred_begin = s->depends->pred_begin, *pred = s->depends->pred, *rank_pass = s->rank_pass;
    uint32_t *pass_level = s->pass_level, pass_begin = s->pass_begin, depth = 0;
    size_t kept = s->kept_count, e = pred_begin[pass_begin]; /* those of passes that are not kept are none */
    for (size_t rank = 0; rank < kept; rank++) {
        size_t p = rank_pass[rank], end = pred_begin[p + 1];
        uint32_t level = 0;
        for (; e < end; e++) {
            size_t before = pred[e];
            if (HDI_UNLIKELY(before < pass_begin))
                continue;
            uint32_t behind = pass_level[before] + 1;
            level = behind > level ? behind : level;
        }
        pass_level[p] = level;
        depth = level > depth ? level : depth;
    }
    w->depth = depth + 1;
    w->levelled = true;
}

static bool prepare(work *w)
{
    const hdi_sched *s = w->s;
    hdi_arena *arena = s->arena;
    uint32_t kept = s->kept_count, words = hdi_bit_words(kept) + 1;
    w->step = HDI_ARENA_ARRAY(arena, int64_t, (size_t)kept + 1);
    w->ready = HDI_ARENA_ARRAY(arena, uint64_t, words);
    w->ready_first = HDI_ARENA_ZEROED(arena, uint64_t, words);
    w->left = s->pass_need;
    w->net = HDI_ARENA_ARRAY(arena, int64_t, kept);
    w->key = HDI_ARENA_ARRAY(arena, uint64_t, kept);
    w->scratch_key = HDI_ARENA_ARRAY(arena, uint64_t, kept);
    w->scratch = HDI_ARENA_ARRAY(arena, uint32_t, kept);
    w->group_live = HDI_ARENA_ARRAY(arena, int64_t, w->rules.level ? (size_t)kept + 2 : 0);
    w->closed = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)s->use_count + 1);
    w->early = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)kept + 1);
    if (arena->failed)
        return false;
    count_needs(w);
    return !(s->mixed_uses || s->live_bytes) || hdi_find_specials(s, &w->special);
}

/* As nothing was taken. */
static moment begin(work *w)
{
    const hdi_sched *s = w->s;
    uint64_t live = s->rank[0].live;
    memcpy(w->ready, w->ready_first, (hdi_bit_words(s->kept_count) + 1) * sizeof(*w->ready));
    moment now = {.live = s->live_bytes,
                  .room = (int64_t)(w->rules.cap - live),
                  .end = w->rules.window < s->kept_count ? w->rules.window : s->kept_count,
                  .group = 1,
                  .ready = w->ready_first_count,
                  .follower = HDI_NONE};
    w->full = 0;
    w->scan = (scan){.here = now.room, .least = INT64_MAX};
    const hdi_sched_rank *by_rank = s->rank;
    int64_t *step = w->step;
    size_t kept = s->kept_count;
    for (size_t rank = 0; rank < kept; rank++) {
        step[rank] = (int64_t)(by_rank[rank].live - live);
        live = by_rank[rank].live;
    }
    step[kept] = 0;
    if (w->rules.wait_in_float && !w->levelled)
        find_levels(w);
    return now;
}

static inline bool is_counted(const hdi_sched *s, const hdi_sched_res *res)
{
    return hdi_sched_has(s, res->last) && !(res->mixed & HDI_CLOSES_LAST);
}

/* Undoes what a run did that gave up. */
static void give_back(work *w)
{
    const hdi_sched *s = w->s;
    for (uint32_t slot = 0; slot < w->slot_count; slot++) {
        uint32_t p = w->slot_pass[slot], more = w->ask[s->pass_rank[p] - s->rank_begin].more;
        for (uint32_t u = w->use_begin[p]; more && u < w->use_begin[p + 1]; u++) {
            hdi_sched_res *res = &w->res[w->use_res[u]];
            if (is_counted(s, res))
                res->left++;
        }
        for (uint32_t e = s->depends->succ_begin[p]; e < s->depends->succ_begin[p + 1]; e++) {
            if (s->depends->succ[e] < s->pass_end)
                w->left[s->depends->succ[e]]++;
        }
        uint32_t list = more & ~HDI_COUNTED;
        for (const hdi_special *x = &w->special.list[list]; list && x->at != HDI_NONE; x++) {
            if (x->count == 0)
                w->res[x->at].open = 0;
        }
    }
    for (uint32_t rank = 0; rank < s->kept_count; rank++)
        w->ask[rank].due = 0;
    if (w->special.note_count)
        memset(w->special.note, 0, w->special.note_count * sizeof(*w->special.note));
}

/* ---- groups ---- */

/* Bytes of resources that no other pass uses any more. */
static int64_t closes(const work *w, size_t rank)
{
    int64_t bytes = w->ask[rank].closes;
    size_t pass = w->rank_pass[rank];
    for (size_t u = w->use_begin[pass]; w->ask[rank].more && u < w->use_begin[pass + 1]; u++) {
        const hdi_sched_res *res = &w->res[w->use_res[u]];
        bytes += hdi_sched_has(w->s, res->last) && res->left == 1 ? (int64_t)res->bytes : 0;
    }
    return bytes;
}

/* Where there was room for one pass alone, and another can open just the bytes that it closed: that one first. A strand
 * that goes on takes over its own bytes again and again; taking turns with others, it would leave holes that fit
 * nobody. */
static HDI_INLINE void follow(work *w, moment *now)
{
    size_t rank = now->follower;
    now->follower = HDI_NONE;
    int64_t opens = (int64_t)w->rank[rank].opens;
    if (rank < now->end && now->live + opens <= (int64_t)w->rules.cap && closes(w, rank) >= opens) {
        w->ready[rank / 64] &= ~((uint64_t)1 << (rank % 64));
        take(w, now, rank);
    }
}

static HDI_INLINE void fill_group(work *w, moment *now)
{
    const hdi_ask *ask = w->ask;
    const hdi_sched_rank *by_rank = w->rank;
    uint64_t *ready = w->ready;
    for (size_t word = now->oldest / 64; word * 64 < now->end; word++) {
        uint64_t left = ready[word];
        for (uint64_t bits = left; bits; bits &= bits - 1) {
            size_t rank = word * 64 + (size_t)__builtin_ctzll(bits);
            if (rank >= now->end)
                break;
            int64_t opens = (int64_t)by_rank[rank].opens;
            uint32_t list = ask[rank].more & ~HDI_COUNTED;
            if (HDI_UNLIKELY(list)) {
                int64_t more = look_at_specials(w, now->group, &w->special.list[list]);
                if (more == REFUSED)
                    continue;
                opens += more;
            }
            if (opens && !fits(w, now, rank, opens, ask[rank].due)) {
                now->refused = true;
                continue;
            }
            left ^= bits & -bits;
            take(w, now, rank);
        }
        ready[word] = left;
    }
}

static void sort_many(work *w, uint32_t *pass, int64_t *net, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        w->key[i] = (uint64_t)(INT64_MAX / 2 - net[i]);
    hdi_sort_u64(w->key, pass, w->scratch_key, w->scratch, count);
    for (uint32_t i = 0; i < count; i++)
        net[i] = INT64_MAX / 2 - (int64_t)w->key[i];
}

/* Most bytes opened less closed first; as they were taken where that is equal. */
static HDI_APART void sort_group(work *w, size_t group_begin, size_t count)
{
    enum { FEW = 24 };
    uint32_t *pass = &w->slot_pass[group_begin];
    int64_t *net = &w->net[group_begin];
    if (count > FEW) {
        sort_many(w, pass, net, (uint32_t)count);
        return;
    }
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

/* Levels that a pass can wait without its first consumer waiting. */
static uint32_t find_float(const hdi_sched *s, size_t pass)
{
    const hdi_depends *depends = s->depends;
    uint32_t first = HDI_NONE;
    for (size_t e = depends->succ_begin[pass], end = depends->succ_begin[pass + 1]; e < end; e++) {
        uint32_t next = depends->succ[e];
        if (next < s->pass_end && s->pass_level[next] < first)
            first = s->pass_level[next];
    }
    return first == HDI_NONE ? 0 : first - s->pass_level[pass] - 1;
}

/* Whoever waited for passes of the group alone is ready. wait: what it opens has a time, by levels; before these are
 * found they may be less than they are. alone: the group is of one pass, and others may follow, who open just what it closes. Returns the
 * level of one of them. */
static HDI_INLINE uint32_t make_ready(work *w, moment *now, bool wait, bool alone, int64_t closed)
{
    const bool level_is_known = wait || w->levelled;
    const hdi_sched *s = w->s;
    const uint32_t *succ_begin = s->depends->succ_begin, *succ = s->depends->succ, *pass_rank = s->pass_rank;
    const uint32_t *slot_pass = w->slot_pass;
    uint32_t *left = w->left, *level = s->pass_level, *slot_group = w->out->slot_group, own = 0;
    uint32_t group = now->group, rank_begin = s->rank_begin, ready_count = now->ready;
    uint64_t *ready = w->ready;
    size_t pass_end = s->pass_end;
    for (size_t i = now->group_begin, slots = now->slots; i < slots; i++) {
        size_t p = slot_pass[i], end = succ_begin[p + 1];
        slot_group[i] = group;
        own = level[p];
        for (size_t e = succ_begin[p]; e < end; e++) {
            size_t next = succ[e];
            if (HDI_UNLIKELY(next >= pass_end))
                continue;
            uint32_t rank = pass_rank[next] - rank_begin;
            uint64_t last = --left[next] == 0;
            if (!level_is_known)
                level[next] = own + 1;
            ready[rank / 64] |= last << rank % 64;
            ready_count += (uint32_t)last;
            if (!(wait || alone) || !last)
                continue;
            hdi_ask *at = &w->ask[rank];
            int64_t opens = (int64_t)w->rank[rank].opens;
            if (alone && closed && opens == closed && !(at->more & ~HDI_COUNTED))
                now->follower = rank;
            if (wait && (opens || at->more & ~HDI_COUNTED))
                at->due = group + 1 + find_float(s, next);
        }
    }
    now->ready = ready_count;
    return own;
}

/* What the group closed is free behind its barrier. Returns how much. */
static HDI_INLINE int64_t free_closed(work *w, moment *now)
{
    const hdi_sched_res *res = w->res;
    uint32_t rank_begin = w->s->rank_begin;
    int64_t *step = w->step, room = 0, closed = now->closed, late = 0, here = 0;
    size_t oldest = now->oldest, at = w->scan.at;
    for (size_t i = 0; i < now->early_count; i++) {
        size_t last = w->early[i];
        if (last < oldest)
            continue;
        int64_t bytes = w->ask[last].closes;
        step[last + 1] += bytes;
        room += bytes;
        here += last >= at ? bytes : 0;
    }
    for (size_t i = 0; i < now->closed_count; i++) {
        size_t use = w->closed[i];
        const hdi_sched_res *of = &res[w->use_res[use]];
        size_t last = of->last - rank_begin;
        int64_t bytes = (int64_t)of->bytes;
        closed += bytes;
        late += bytes & -(int64_t)(w->use_flags[use] / HDI_USE_WRITES & 1);
        if (last < oldest)
            continue;
        step[last + 1] += bytes;
        room += bytes;
        here += last >= at ? bytes : 0;
    }
    if (room) {
        w->scan.here += here;
        w->scan.stale = true;
        now->room += room;
    }
    now->live -= closed - late + now->closed_late;
    now->closed_late = late;
    now->closed = 0;
    now->closed_count = now->early_count = 0;
    return closed;
}

/* Returns the level of one of its passes, or less. */
static HDI_INLINE uint32_t end_group(work *w, moment *now)
{
    bool wait = w->rules.wait_in_float;
    int64_t closed = free_closed(w, now);
    uint32_t level;
    now->ready -= (uint32_t)(now->slots - now->group_begin);
    if (HDI_UNLIKELY(now->refused) && now->slots - now->group_begin == 1 && !w->rules.in_order)
        level = wait ? make_ready(w, now, true, true, closed) : make_ready(w, now, false, true, closed);
    else
        level = wait ? make_ready(w, now, true, false, 0) : make_ready(w, now, false, false, 0);
    now->group++;
    return level;
}

/* A region is short: that it will have too many groups shows soon. */
static bool are_too_many(const work *w, size_t group, size_t slots, size_t depth)
{
    enum { FEW = 16 };
    size_t most = 2 * depth + 8;
    return w->s->whole ? group > most : group > FEW && (group - FEW) * w->s->kept_count > most * slots;
}

static bool run(work *w)
{
    int64_t near_cap = (int64_t)(w->rules.cap / 8 * 7);
    bool level = w->rules.level, gives_up = w->rules.gives_up;
    size_t kept = w->s->kept_count, depth = 1; /* not more than it is */
    moment now = begin(w);
    while (now.slots < kept) {
        if (gives_up && HDI_UNLIKELY(are_too_many(w, now.group, now.slots, depth))) {
            if (!w->levelled)
                find_levels(w);
            depth = w->depth;
            if (are_too_many(w, now.group, now.slots, depth)) {
                w->slot_count = (uint32_t)now.slots;
                return false;
            }
        }
        now.group_begin = now.slots;
        now.refused = false;
        if (now.ready == 1) { /* it is the oldest */
            now.follower = HDI_NONE;
            w->ready[now.oldest / 64] = 0;
            take(w, &now, now.oldest);
        } else {
            if (now.follower != HDI_NONE)
                follow(w, &now);
            fill_group(w, &now);
        }
        if (level) {
            w->group_live[now.group] = now.live;
            w->full += now.live > near_cap;
        }
        size_t behind = end_group(w, &now) + 1;
        depth = behind > depth ? behind : depth;
        if (now.slots - now.group_begin > 1 && !w->rules.in_order)
            sort_group(w, now.group_begin, now.slots - now.group_begin);
    }
    w->slot_count = w->out->slot_count = (uint32_t)now.slots;
    w->group = w->out->group_count = now.group;
    if (level)
        w->group_live[0] = w->group_live[now.group] = 0;
    return true;
}

/* Many groups at the cap, and passes enough in each that some could be in another. */
static bool is_full(const work *w)
{
    enum { PASSES = 4 };
    return w->full >= w->group / 4 && w->slot_count >= PASSES * w->group;
}

bool hdi_schedule_groups(const hdi_sched *s, const hdi_group_rules *rules, uint32_t rules_count, hdi_schedule *out)
{
    work w = {.s = s,
              .rules = rules[0],
              .out = out,
              .rank_pass = s->rank_pass,
              .use_begin = s->decl->pass_use_begin,
              .use_res = s->decl->use_res,
              .use_flags = s->decl->use_flags,
              .rank = s->rank,
              .res = s->res,
              .ask = s->ask,
              .slot_pass = out->slot_pass};
    if (!prepare(&w))
        return false;
    for (uint32_t i = 1; !run(&w) && i < rules_count; i++) {
        give_back(&w);
        w.rules = rules[i];
    }
    if (w.rules.level && is_full(&w) && !hdi_sched_level(s, w.rules.cap, w.net, w.group_live, out))
        return false;
    memset(out->slot_queue, 0, s->kept_count);
    for (uint32_t slot = 0; s->queues->host != HDI_NONE && slot < s->kept_count; slot++) {
        if (s->decl->pass_type[out->slot_pass[slot]] == HD_PASS_HOST)
            out->slot_queue[slot] = (uint8_t)s->queues->host;
    }
    return true;
}
