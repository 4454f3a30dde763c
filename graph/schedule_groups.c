#include "schedule_groups.h"

#include <string.h>

#include "bitset.h"
#include "hints.h"
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

/* Room at a rank is what the cap leaves there when all goes on by rank from here. A scan looks at that of the ranks
 * from the oldest up to at, exclusive. */
typedef struct scan {
    uint32_t at;
    bool stale;    /* there may be more room by now: it began at ranks that were older, or something was closed */
    int64_t here;  /* room at rank at */
    int64_t least; /* and before it, and not more than that where it is stale */
} scan;

#define REFUSED INT64_MIN

typedef struct work {
    const hdi_sched *s;
    hdi_group_rules rules;
    hdi_schedule *out;
    const uint32_t *rank_pass, *use_begin, *use_res; /* of the above, as each pass asks for them */
    const uint8_t *use_flags;
    hdi_sched_res *res;
    uint32_t *slot_pass, slot_count;
    hdi_ask *ask;                      /* by rank */
    int64_t *step;                 /* by rank: room at the rank before it less room there */
    uint64_t *ready, *ready_first; /* ranks whose predecessors stand in earlier groups; those that have none */
    uint32_t *left;                /* per pass: predecessors not in earlier groups */
    hdi_specials special;
    int64_t *net;           /* per slot: bytes that it opens less those that it closes */
    uint64_t *key, *scratch_key;
    uint32_t *scratch;
    int64_t *group_live;    /* bytes alive in each group, for rules.level */
    uint32_t full;          /* groups that come near the cap */
    uint32_t follower;      /* rank of a pass that may take over what the last group closed; HDI_NONE: none */
    bool refused;           /* somebody found no room in the group */
    uint32_t *closed, closed_count; /* by the group: the last uses of what it closes */
    int64_t room; /* at the oldest rank */
    uint32_t depth, oldest, end, group, group_begin; /* end: of the window */
    int64_t live, closed_late; /* late: the last use writes, a second barrier hands it on */
    scan scan;
} work;

/* ---- preparation ---- */

/* By rank: what a pass opens, how many it waits for, and its level, one behind the deepest that it depends on. */
static void look_at_ranks(work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *pred_begin = s->depends->pred_begin, *pred = s->depends->pred, *rank_pass = s->rank_pass;
    uint32_t *pass_level = s->pass_level, *left = w->left, pass_begin = s->pass_begin, depth = 0;
    uint64_t *ready = w->ready_first;
    hdi_ask *ask = w->ask;
    size_t kept = s->kept_count, e = pred_begin[pass_begin]; /* those of passes that are not kept are none */
    for (size_t rank = 0; rank < kept; rank++) {
        size_t p = rank_pass[rank], end = pred_begin[p + 1];
        uint32_t level = 0, count = (uint32_t)(end - e);
        for (; e < end; e++) {
            size_t before = pred[e];
            if (HDI_UNLIKELY(before < pass_begin)) {
                count--;
                continue;
            }
            uint32_t behind = pass_level[before] + 1;
            level = behind > level ? behind : level;
        }
        pass_level[p] = level;
        left[p] = count;
        depth = level > depth ? level : depth;
        ask[rank] = (hdi_ask){.opens = (int64_t)s->rank[rank].opens};
        if (!count)
            hdi_bit_set(ready, (uint32_t)rank);
    }
    w->depth = depth + 1; /* passes on the longest chain of dependences */
}

static bool prepare(work *w)
{
    const hdi_sched *s = w->s;
    hdi_arena *arena = s->arena;
    uint32_t kept = s->kept_count, words = hdi_bit_words(kept) + 1;
    w->ask = HDI_ARENA_ARRAY(arena, hdi_ask, kept);
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
    if (arena->failed)
        return false;
    look_at_ranks(w);
    return !(s->mixed_uses || s->live_bytes) || hdi_find_specials(s, w->ask, &w->special);
}

/* As nothing was taken. */
static void begin(work *w)
{
    const hdi_sched *s = w->s;
    uint64_t live = s->rank[0].live;
    memcpy(w->ready, w->ready_first, (hdi_bit_words(s->kept_count) + 1) * sizeof(*w->ready));
    w->slot_count = w->closed_count = w->oldest = 0;
    w->closed_late = 0;
    w->end = w->rules.window < s->kept_count ? w->rules.window : s->kept_count;
    w->live = s->live_bytes;
    w->group = 1;
    w->full = 0;
    w->follower = HDI_NONE;
    w->refused = false;
    w->room = (int64_t)(w->rules.cap - live);
    w->scan = (scan){.at = 0, .here = w->room, .least = INT64_MAX};
    const hdi_sched_rank *by_rank = s->rank;
    int64_t *step = w->step;
    size_t kept = s->kept_count;
    for (size_t rank = 0; rank < kept; rank++) {
        step[rank] = (int64_t)(by_rank[rank].live - live);
        live = by_rank[rank].live;
    }
    step[kept] = 0;
}

/* Undoes what a run did that gave up. */
static void give_back(work *w)
{
    const hdi_sched *s = w->s;
    for (uint32_t slot = 0; slot < w->slot_count; slot++) {
        uint32_t p = w->slot_pass[slot];
        for (uint32_t u = w->use_begin[p]; u < w->use_begin[p + 1]; u++) {
            hdi_sched_res *res = &w->res[w->use_res[u]];
            if (hdi_sched_has(s, res->last))
                res->left++;
        }
        for (uint32_t e = s->depends->succ_begin[p]; e < s->depends->succ_begin[p + 1]; e++) {
            if (s->depends->succ[e] < s->pass_end)
                w->left[s->depends->succ[e]]++;
        }
        uint32_t list = w->ask[s->pass_rank[p] - s->rank_begin].special;
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

/* ---- may a pass join? ---- */

/* Whether at all ranks from the oldest up to rank, exclusive, there is room for bytes. Candidates come by rank, so the
 * scan goes on from the one before. It stops at a rank without room, which stays in its way: only what is behind it may
 * have to be found out anew. */
static HDI_APART bool has_room(work *w, size_t rank, int64_t bytes)
{
    const int64_t *step = w->step;
    scan now = w->scan;
    if (now.least < bytes && now.stale)
        now = (scan){w->oldest, false, w->room, INT64_MAX};
    size_t at = now.at;
    if (now.least >= bytes) {
        for (; at < rank && now.here >= bytes; now.here -= step[++at])
            now.least = now.here < now.least ? now.here : now.least;
    }
    now.at = (uint32_t)at;
    w->scan = now;
    return now.least >= bytes && at >= rank;
}

static inline bool fits(work *w, size_t rank, int64_t bytes, uint32_t due)
{
    if (bytes > (int64_t)w->rules.cap - w->live)
        return rank == w->oldest && w->slot_count == w->group_begin;
    if (rank == w->oldest)
        return true;
    return w->group >= due && (w->scan.at < rank || w->scan.least < bytes ? has_room(w, rank, bytes) : true);
}

static inline hdi_note *note_of(const work *w, const hdi_special *x, uint32_t i)
{
    return &w->special.note[x->at + (i < x->cols ? i : i / x->cols * x->stride + i % x->cols)];
}

/* Bytes that a pass would open beside what is known; REFUSED: readers of one content in this group want another
 * layout. */
static int64_t look_at_specials(const work *w, const hdi_special *x)
{
    int64_t bytes = 0;
    for (; x->at != HDI_NONE; x++) {
        if (x->count == 0)
            bytes += w->res[x->at].open ? 0 : (int64_t)w->res[x->at].bytes;
        for (uint32_t i = 0; i < x->count; i++) {
            const hdi_note *newest = note_of(w, x, i);
            if (newest->group == w->group && newest->layout != x->layout)
                return REFUSED;
        }
    }
    return bytes;
}

/* ---- taking ---- */

/* first: the first rank of what is opened. */
static inline void open_bytes(work *w, size_t first, int64_t bytes)
{
    w->live += bytes;
    if (first <= w->oldest)
        return;
    w->step[first] -= bytes;
    w->room -= bytes;
    w->scan.least -= bytes;
    if (first > w->scan.at) /* else the scan is where it counts by rank */
        w->scan.here -= bytes;
    w->scan.stale |= first < w->scan.at;
}

/* Opens what nobody opened yet, and notes layouts. */
static HDI_APART void take_specials(work *w, const hdi_special *x)
{
    for (; x->at != HDI_NONE; x++) {
        for (uint32_t i = 0; i < x->count; i++)
            *note_of(w, x, i) = (hdi_note){w->group, x->layout};
        hdi_sched_res *res = &w->res[x->at];
        if (x->count || res->open)
            continue;
        res->open = 1;
        open_bytes(w, res->first - w->s->rank_begin, (int64_t)res->bytes);
    }
}

/* Counts down the uses of what a pass uses; returns the bytes of what it uses last. Which that is nobody could predict,
 * so it is found without a branch. */
static inline int64_t close_resources(work *w, size_t pass)
{
    const uint32_t *use_res = w->use_res;
    hdi_sched_res *res = w->res;
    uint32_t *closed = w->closed + w->closed_count, rank_begin = w->s->rank_begin, kept = w->s->kept_count;
    int64_t bytes = 0;
    for (size_t u = w->use_begin[pass], end = w->use_begin[pass + 1]; u < end; u++) {
        hdi_sched_res *of = &res[use_res[u]];
        if (HDI_UNLIKELY(of->last - rank_begin >= kept)) /* later, or it has no bytes */
            continue;
        bool last = --of->left == 0;
        *closed = (uint32_t)u;
        closed += last;
        bytes += (int64_t)of->bytes & -(int64_t)last;
    }
    w->closed_count = (uint32_t)(closed - w->closed);
    return bytes;
}

/* It was taken: on to the next that was not. */
static inline void move_oldest(work *w)
{
    size_t rank = w->oldest, kept = w->s->kept_count, window = w->rules.window;
    int64_t room = w->room;
    do {
        room -= w->step[++rank];
    } while (rank < kept && w->ask[rank].due == HDI_TAKEN);
    w->room = room;
    w->oldest = (uint32_t)rank;
    w->end = (uint32_t)(window < kept - rank ? rank + window : kept);
    w->scan.stale = true;
    if (w->scan.at < rank)
        w->scan = (scan){(uint32_t)rank, false, room, INT64_MAX};
}

static inline void take(work *w, size_t rank)
{
    hdi_ask *at = &w->ask[rank];
    size_t pass = w->rank_pass[rank], slot = w->slot_count++;
    int64_t live = w->live;
    if (at->opens)
        open_bytes(w, rank, at->opens);
    if (HDI_UNLIKELY(at->special))
        take_specials(w, &w->special.list[at->special]);
    int64_t opens = w->live - live;
    w->net[slot] = opens - close_resources(w, pass);
    w->slot_pass[slot] = (uint32_t)pass;
    at->due = HDI_TAKEN;
    if (rank == w->oldest)
        move_oldest(w);
}

/* ---- groups ---- */

/* Bytes of resources that no other pass uses any more. */
static int64_t closes(const work *w, size_t pass)
{
    int64_t bytes = 0;
    for (uint32_t u = w->use_begin[pass]; u < w->use_begin[pass + 1]; u++) {
        const hdi_sched_res *res = &w->res[w->use_res[u]];
        bytes += hdi_sched_has(w->s, res->last) && res->left == 1 ? (int64_t)res->bytes : 0;
    }
    return bytes;
}

/* Where there was room for one pass alone, and another can open just the bytes that it closed: that one first. A strand
 * that goes on takes over its own bytes again and again; taking turns with others, it would leave holes that fit
 * nobody. */
static void follow(work *w)
{
    size_t rank = w->follower;
    w->follower = HDI_NONE;
    if (rank < w->end && w->live + w->ask[rank].opens <= (int64_t)w->rules.cap &&
        closes(w, w->rank_pass[rank]) >= w->ask[rank].opens) {
        w->ready[rank / 64] &= ~((uint64_t)1 << (rank % 64));
        take(w, rank);
        w->scan.stale = true;
    }
}

static void fill_group(work *w)
{
    const hdi_ask *by_rank = w->ask;
    w->refused = false;
    for (size_t word = w->oldest / 64; word * 64 < w->end; word++) {
        uint64_t left = w->ready[word];
        for (uint64_t bits = left; bits; bits &= bits - 1) {
            size_t rank = word * 64 + (size_t)__builtin_ctzll(bits);
            if (rank >= w->end)
                break;
            int64_t opens = by_rank[rank].opens;
            if (HDI_UNLIKELY(by_rank[rank].special)) {
                int64_t more = look_at_specials(w, &w->special.list[by_rank[rank].special]);
                if (more == REFUSED)
                    continue;
                opens += more;
            }
            if (opens && !fits(w, rank, opens, by_rank[rank].due)) {
                w->refused = true;
                continue;
            }
            left ^= bits & -bits;
            take(w, rank);
        }
        w->ready[word] = left;
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
static void sort_group(work *w, size_t count)
{
    enum { FEW = 24 };
    uint32_t *pass = &w->slot_pass[w->group_begin];
    int64_t *net = &w->net[w->group_begin];
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

/* Whoever waited for passes of the group alone is ready. wait: what it opens has a time; alone: the group is of one
 * pass, and others may follow, who open just what it closes. */
static HDI_INLINE void make_ready(work *w, bool wait, bool alone, int64_t closed)
{
    const hdi_sched *s = w->s;
    const uint32_t *succ_begin = s->depends->succ_begin, *succ = s->depends->succ, *pass_rank = s->pass_rank;
    const uint32_t *slot_pass = w->slot_pass;
    uint32_t *left = w->left, *slot_group = w->out->slot_group, group = w->group, rank_begin = s->rank_begin;
    uint64_t *ready = w->ready;
    hdi_ask *ask = w->ask;
    size_t pass_end = s->pass_end;
    for (size_t i = w->group_begin, slots = w->slot_count; i < slots; i++) {
        size_t p = slot_pass[i], end = succ_begin[p + 1];
        slot_group[i] = group;
        for (size_t e = succ_begin[p]; e < end; e++) {
            size_t next = succ[e];
            if (HDI_UNLIKELY(next >= pass_end))
                continue;
            uint32_t rank = pass_rank[next] - rank_begin;
            uint64_t last = --left[next] == 0;
            ready[rank / 64] |= last << rank % 64;
            if (!(wait || alone) || !last)
                continue;
            hdi_ask *at = &ask[rank];
            if (alone && closed && at->opens == closed && !at->special)
                w->follower = rank;
            if (wait && (at->opens || at->special))
                at->due = group + 1 + find_float(s, next);
        }
    }
}

/* What the group closed is free behind its barrier. Returns how much. */
static int64_t free_closed(work *w)
{
    const hdi_sched_res *res = w->res;
    uint32_t rank_begin = w->s->rank_begin;
    int64_t *step = w->step, room = 0, closed = 0, late = 0;
    size_t oldest = w->oldest, count = w->closed_count;
    scan now = w->scan;
    for (size_t i = 0; i < count; i++) {
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
        now.here += last >= now.at ? bytes : 0;
        now.stale = true;
    }
    w->scan = now;
    w->room += room;
    w->closed_count = 0;
    w->live -= closed - late + w->closed_late;
    w->closed_late = late;
    return closed;
}

static void end_group(work *w)
{
    bool wait = w->rules.wait_in_float;
    int64_t closed = free_closed(w);
    if (HDI_UNLIKELY(w->refused) && w->slot_count - w->group_begin == 1 && !w->rules.in_order)
        make_ready(w, wait, true, closed);
    else if (wait)
        make_ready(w, true, false, 0);
    else
        make_ready(w, false, false, 0);
    w->group++;
}

/* A region is short: that it will have too many groups shows soon. */
static bool has_too_many(const work *w)
{
    enum { FEW = 16 };
    uint64_t most = 2 * w->depth + 8, group = w->group;
    if (!w->rules.gives_up)
        return false;
    return w->s->whole ? group > most : group > FEW && (group - FEW) * w->s->kept_count > most * w->slot_count;
}

static bool run(work *w)
{
    int64_t near_cap = (int64_t)(w->rules.cap / 8 * 7);
    bool level = w->rules.level;
    begin(w);
    while (w->slot_count < w->s->kept_count) {
        if (has_too_many(w))
            return false;
        w->group_begin = w->slot_count;
        if (w->follower != HDI_NONE)
            follow(w);
        fill_group(w);
        size_t count = w->slot_count - w->group_begin;
        if (level) {
            w->group_live[w->group] = w->live;
            w->full += w->live > near_cap;
        }
        end_group(w);
        if (count > 1 && !w->rules.in_order)
            sort_group(w, count);
    }
    w->out->slot_count = w->slot_count;
    w->out->group_count = w->group;
    if (w->rules.level)
        w->group_live[0] = w->group_live[w->group] = 0;
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
              .res = s->res,
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
