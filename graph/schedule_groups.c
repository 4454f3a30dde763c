#include "schedule.h"

#include <string.h>

#include "bitset.h"
#include "hints.h"
#include "sort.h"

/* Groups: the order for one GPU queue. Passes are taken in groups that need no barrier inside; a pass joins a group once
 * all that it depends on stands in earlier ones. Taking every ready pass gives the fewest groups and keeps the most alive,
 * so a cap on live bytes holds it back: within a window of ranks, oldest first, a pass may open memory while
 *
 *   - what the group has opened and not yet closed stays under the cap (bytes that the group closes serve only behind
 *     its barrier), and
 *   - going on by rank from here would stay under it as well: at each rank between the oldest pass that is left and the
 *     newcomer, the bytes alive there by rank, with what was opened early and without what was closed early. So
 *     the oldest pass never finds its memory taken, and the cap holds to the end where it is no less than the peak by rank.
 *
 * A pass whose consumers must wait for longer chains anyway may wait too (wait_in_float): what it opens lives shorter.
 * Inside a group, passes that open more than they close come first: then the group's bytes are alive at once at some
 * moment, and the heap is no larger than the peak.
 *
 * Who opens a resource is known beforehand: who uses it first by rank, as all others follow that one, unless several
 * overwrite it. Those few, and readers of images that are read in several layouts, have a list of such uses.
 * O(uses + edges + groups * window). Serial, but for regions. */

/* The newest group that reads a segment of an image in one of several layouts, and which. Those of an image stand together. */
typedef struct note {
    uint32_t group, layout;
} note;

/* Where the notes of an image begin: by the lowest bits of its number, the next free place where others have those too. It
 * grows with what a region holds: a table for all that the frame holds would cost each region more than its passes do. */
typedef struct noted {
    uint32_t res, begin; /* res HDI_NONE: free */
} noted;
typedef struct noted_table {
    noted *at;
    uint32_t places, count; /* places: a power of two, at most half of them taken */
} noted_table;

/* A use that is looked at when its pass is. Those of a pass stand together, behind them one of HDI_NONE. */
typedef struct special {
    uint32_t at;           /* an overwrite: the resource; a read: first of its notes */
    uint32_t count;        /* of notes; 0: an overwrite */
    uint32_t cols, stride; /* as in hdi_span */
    uint32_t layout;
} special;

/* What is asked of a rank whose pass is ready. */
typedef struct ask {
    int64_t opens;    /* bytes of resources whose first rank it is, but for those that others may open as well */
    uint32_t due;     /* group from which it should be taken, if it opens memory; TAKEN */
    uint32_t special; /* the list of its uses that must be looked at; 0: none */
} ask;
#define TAKEN HDI_NONE

/* Room at a rank is what the cap leaves there when all goes on by rank from here. A scan looks at that of the ranks from
 * the oldest up to at, exclusive. */
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
    ask *ask;                      /* by rank */
    int64_t *step;                 /* by rank: room at the rank before it less room there */
    uint64_t *ready, *ready_first; /* ranks whose predecessors stand in earlier groups; those that have none */
    uint32_t *left;                /* per pass: predecessors not in earlier groups */
    special *special;
    note *note;
    uint32_t special_count, note_count;
    int64_t *net;           /* per slot: bytes that it opens less those that it closes */
    uint64_t *key, *scratch_key;
    uint32_t *scratch;
    int64_t *group_live;    /* bytes alive in each group, for rules.level */
    uint32_t full;          /* groups that come near the cap */
    uint32_t follower;      /* rank of a pass that may take over what the last group closed; HDI_NONE: none */
    bool refused;           /* somebody found no room in the group */
    const hdi_sched_res **closed; /* by the group */
    uint32_t closed_count;
    int64_t room; /* at the oldest rank */
    uint32_t depth, oldest, end, group, group_begin; /* end: of the window */
    /* What the group closes, and of that what it closes late, as the last use writes: a second barrier hands it on. */
    int64_t live, closing, closing_late, closed_late;
    scan scan;
} work;

/* ---- preparation ---- */

/* What a pass reads stands behind somebody who opened it. */
static bool is_read(const hdi_decl *decl, size_t pass, uint32_t res)
{
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        if (decl->use_res[u] == res && decl->use_flags[u] & HDI_USE_READS)
            return true;
    }
    return false;
}

/* HDI_MIXED_*: what a use must be looked at for. */
static inline uint32_t find_special(const hdi_sched *s, const hdi_sched_res *res, size_t pass, size_t use)
{
    const hdi_decl *decl = s->decl;
    uint32_t flags = decl->use_flags[use];
    if (!(flags & HDI_USE_WRITES))
        return flags & HDI_USE_BUFFER ? 0 : res->mixed & HDI_MIXED_LAYOUTS;
    if (!(res->mixed & HDI_MIXED_OPENERS) || res->first < s->rank_begin)
        return 0;
    return is_read(decl, pass, decl->use_res[use]) ? 0 : HDI_MIXED_OPENERS;
}

static noted *find_noted(const noted_table *t, uint32_t res)
{
    uint32_t at = res & (t->places - 1);
    while (t->at[at].res != res && t->at[at].res != HDI_NONE)
        at = (at + 1) & (t->places - 1);
    return &t->at[at];
}

/* False: memory ran out. */
static bool grow(noted_table *t, hdi_arena *arena)
{
    enum { FEW = 32 };
    noted_table old = *t;
    uint32_t places = old.places ? 2 * old.places : FEW;
    noted *fresh = HDI_ARENA_ARRAY(arena, noted, places);
    if (!fresh)
        return false;
    *t = (noted_table){fresh, places, old.count};
    memset(fresh, 0xff, places * sizeof(*fresh));
    for (uint32_t i = 0; i < old.places; i++) {
        if (old.at[i].res != HDI_NONE)
            *find_noted(t, old.at[i].res) = old.at[i];
    }
    return true;
}

/* The first note of an image; any, where memory ran out. */
static uint32_t find_notes(work *w, noted_table *t, uint32_t res)
{
    const uint32_t *begin = w->s->frozen->res_seg_begin;
    if (2 * t->count >= t->places && !grow(t, w->s->arena))
        return 0;
    noted *of = find_noted(t, res);
    if (of->res == HDI_NONE) {
        *of = (noted){res, w->note_count};
        t->count++;
        w->note_count += begin[res + 1] - begin[res];
    }
    return of->begin;
}

/* Any of several may open it: not the first by rank for certain. */
static void take_apart(work *w, hdi_sched_res *res)
{
    if (!res->apart)
        w->ask[res->first - w->s->rank_begin].opens -= (int64_t)res->bytes;
    res->apart = 1;
}

/* Those of a pass, from a use on; returns where the next pass's begin. */
static HDI_APART size_t list_uses(work *w, noted_table *table, size_t rank, size_t use)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    size_t pass = w->rank_pass[rank], end = w->use_begin[pass + 1];
    special *begin = &w->special[w->special_count], *x = begin;
    for (; use < end; use++) {
        uint32_t r = decl->use_res[use];
        hdi_sched_res *res = &w->res[r];
        if (!(res->mixed & HDI_MIXED_ALL))
            continue;
        uint32_t what = find_special(s, res, pass, use);
        if (HDI_UNLIKELY(res->mixed & HDI_MIXED_REGIONS) && hdi_sched_has(s, res->last))
            res->left++;
        if (what & HDI_MIXED_LAYOUTS) {
            hdi_span span = hdi_use_span(decl, s->frozen, (uint32_t)use);
            uint32_t first = find_notes(w, table, r) + span.base - s->frozen->res_seg_begin[r];
            uint32_t layout = decl->access[decl->use_access[use]].layout;
            *x++ = (special){first, span.rows * span.cols, span.cols, span.stride, layout};
        } else if (what & HDI_MIXED_OPENERS) {
            *x++ = (special){.at = r};
            take_apart(w, res);
        }
    }
    if (x == begin)
        return end;
    w->ask[rank].special = w->special_count;
    *x++ = (special){.at = HDI_NONE};
    w->special_count += (uint32_t)(x - begin);
    return end;
}

/* Lists of special uses, for who has any. */
static bool find_specials(work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_res = w->use_res, *use_begin = w->use_begin, *rank_pass = w->rank_pass;
    const hdi_sched_res *res = w->res;
    uint32_t most = s->mixed_uses < s->use_count ? s->mixed_uses : s->use_count;
    noted_table table = {0};
    w->special = HDI_ARENA_ARRAY(s->arena, special, 2 * (size_t)most + 1); /* with what stands behind those of a pass */
    if (s->arena->failed)
        return false;
    w->special_count = 1;
    size_t rank = 0, end = use_begin[rank_pass[s->kept_count - 1] + 1];
    for (size_t u = use_begin[rank_pass[0]]; u < end;) {
        if (HDI_LIKELY(!(res[use_res[u]].mixed & HDI_MIXED_ALL))) {
            u++;
            continue;
        }
        while (use_begin[rank_pass[rank] + 1] <= u)
            rank++;
        u = u < use_begin[rank_pass[rank]] ? u + 1 : list_uses(w, &table, rank, u); /* its pass may be culled */
    }
    w->note = HDI_ARENA_ZEROED(s->arena, note, w->note_count);
    return !s->arena->failed;
}

static bool prepare(work *w)
{
    const hdi_sched *s = w->s;
    hdi_arena *arena = s->arena;
    uint32_t kept = s->kept_count, words = hdi_bit_words(kept) + 1;
    w->ask = HDI_ARENA_ARRAY(arena, ask, kept);
    w->step = HDI_ARENA_ARRAY(arena, int64_t, (size_t)kept + 1);
    w->ready = HDI_ARENA_ARRAY(arena, uint64_t, words);
    w->ready_first = HDI_ARENA_ZEROED(arena, uint64_t, words);
    w->left = s->pass_left;
    w->net = HDI_ARENA_ARRAY(arena, int64_t, kept);
    w->key = HDI_ARENA_ARRAY(arena, uint64_t, kept);
    w->scratch_key = HDI_ARENA_ARRAY(arena, uint64_t, kept);
    w->scratch = HDI_ARENA_ARRAY(arena, uint32_t, kept);
    w->group_live = HDI_ARENA_ARRAY(arena, int64_t, w->rules.level ? (size_t)kept + 2 : 0);
    w->closed = HDI_ARENA_ARRAY(arena, const hdi_sched_res *, s->use_count);
    if (arena->failed)
        return false;
    for (size_t rank = 0; rank < kept; rank++)
        w->ask[rank] = (ask){.opens = (int64_t)s->rank[rank].opens};
    w->depth = hdi_sched_find_levels(s, w->ready_first);
    return !(s->mixed_uses || s->live_bytes) || find_specials(w);
}

/* As nothing was taken. */
static void begin(work *w)
{
    const hdi_sched *s = w->s;
    uint64_t live = s->rank[0].live;
    memcpy(w->left + s->pass_begin, s->pass_need + s->pass_begin, (s->pass_end - s->pass_begin) * sizeof(*w->left));
    memcpy(w->ready, w->ready_first, (hdi_bit_words(s->kept_count) + 1) * sizeof(*w->ready));
    w->slot_count = w->closed_count = w->oldest = 0;
    w->closing = w->closing_late = w->closed_late = 0;
    w->end = w->rules.window < s->kept_count ? w->rules.window : s->kept_count;
    w->live = s->live_bytes;
    w->group = 1;
    w->full = 0;
    w->follower = HDI_NONE;
    w->refused = false;
    int64_t room = w->room = (int64_t)(w->rules.cap - s->rank[0].live);
    w->scan = (scan){.at = 0, .here = room, .least = INT64_MAX};
    for (size_t rank = 0; rank < s->kept_count; rank++) {
        w->step[rank] = (int64_t)(s->rank[rank].live - live);
        live = s->rank[rank].live;
    }
    w->step[s->kept_count] = 0;
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
        uint32_t list = w->ask[s->pass_rank[p] - s->rank_begin].special;
        for (const special *x = &w->special[list]; list && x->at != HDI_NONE; x++) {
            if (x->count == 0)
                w->res[x->at].open = 0;
        }
    }
    for (uint32_t rank = 0; rank < s->kept_count; rank++)
        w->ask[rank].due = 0;
    if (w->note_count)
        memset(w->note, 0, w->note_count * sizeof(*w->note));
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

static inline note *note_of(const work *w, const special *x, uint32_t i)
{
    return &w->note[x->at + (i < x->cols ? i : i / x->cols * x->stride + i % x->cols)];
}

/* Bytes that a pass would open beside what is known; REFUSED: readers of one content in this group want another layout. */
static int64_t look_at_specials(const work *w, const special *x)
{
    int64_t bytes = 0;
    for (; x->at != HDI_NONE; x++) {
        if (x->count == 0)
            bytes += w->res[x->at].open ? 0 : (int64_t)w->res[x->at].bytes;
        for (uint32_t i = 0; i < x->count; i++) {
            const note *newest = note_of(w, x, i);
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
static HDI_APART void take_specials(work *w, const special *x)
{
    for (; x->at != HDI_NONE; x++) {
        for (uint32_t i = 0; i < x->count; i++)
            *note_of(w, x, i) = (note){w->group, x->layout};
        hdi_sched_res *res = &w->res[x->at];
        if (x->count || res->open)
            continue;
        res->open = 1;
        open_bytes(w, res->first - w->s->rank_begin, (int64_t)res->bytes);
    }
}

/* Counts down the uses of what a pass uses; returns the bytes of what it uses last. Which that is nobody could predict, so
 * it is found without a branch. */
static inline int64_t close_resources(work *w, size_t pass)
{
    const uint32_t *use_res = w->use_res;
    const uint8_t *use_flags = w->use_flags;
    hdi_sched_res *res = w->res;
    uint32_t count = w->closed_count;
    int64_t bytes = 0, late = 0;
    for (size_t u = w->use_begin[pass], end = w->use_begin[pass + 1]; u < end; u++) {
        hdi_sched_res *of = &res[use_res[u]];
        if (HDI_UNLIKELY(of->mixed & (HDI_MIXED_REGIONS | HDI_NO_BYTES)) && !hdi_sched_has(w->s, of->last))
            continue;
        bool last = --of->left == 0;
        int64_t closed = (int64_t)of->bytes & -(int64_t)last;
        w->closed[count] = of;
        count += last;
        bytes += closed;
        late += closed & -(int64_t)(use_flags[u] / HDI_USE_WRITES & 1);
    }
    w->closed_count = count;
    w->closing += bytes;
    w->closing_late += late;
    return bytes;
}

/* It was taken: on to the next that was not. */
static inline void move_oldest(work *w)
{
    size_t rank = w->oldest, kept = w->s->kept_count, window = w->rules.window;
    int64_t room = w->room;
    do {
        room -= w->step[++rank];
    } while (rank < kept && w->ask[rank].due == TAKEN);
    w->room = room;
    w->oldest = (uint32_t)rank;
    w->end = (uint32_t)(window < kept - rank ? rank + window : kept);
    w->scan.stale = true;
    if (w->scan.at < rank)
        w->scan = (scan){(uint32_t)rank, false, room, INT64_MAX};
}

static inline void take(work *w, size_t rank)
{
    ask *at = &w->ask[rank];
    size_t pass = w->rank_pass[rank], slot = w->slot_count++;
    int64_t live = w->live;
    if (at->opens)
        open_bytes(w, rank, at->opens);
    if (HDI_UNLIKELY(at->special))
        take_specials(w, &w->special[at->special]);
    int64_t opens = w->live - live;
    w->net[slot] = opens - close_resources(w, pass);
    w->slot_pass[slot] = (uint32_t)pass;
    at->due = TAKEN;
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
 * that goes on takes over its own bytes again and again; taking turns with others, it would leave holes that fit nobody. */
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
    const ask *by_rank = w->ask;
    w->refused = false;
    for (size_t word = w->oldest / 64; word * 64 < w->end; word++) {
        uint64_t left = w->ready[word];
        for (uint64_t bits = left; bits; bits &= bits - 1) {
            size_t rank = word * 64 + (size_t)__builtin_ctzll(bits);
            if (rank >= w->end)
                break;
            int64_t opens = by_rank[rank].opens;
            if (HDI_UNLIKELY(by_rank[rank].special)) {
                int64_t more = look_at_specials(w, &w->special[by_rank[rank].special]);
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

/* Whoever waited for passes of the group alone is ready. wait: what it opens has a time; alone: the group is of one pass,
 * and others may follow. */
static HDI_INLINE void make_ready(work *w, bool wait, bool alone)
{
    const hdi_sched *s = w->s;
    const uint32_t *succ_begin = s->depends->succ_begin, *succ = s->depends->succ, *pass_rank = s->pass_rank;
    uint32_t *left = w->left, *slot_group = w->out->slot_group, group = w->group, rank_begin = s->rank_begin;
    uint64_t *ready = w->ready;
    size_t pass_end = s->pass_end;
    for (size_t i = w->group_begin, slots = w->slot_count; i < slots; i++) {
        size_t p = w->slot_pass[i], end = succ_begin[p + 1];
        slot_group[i] = group;
        for (size_t e = succ_begin[p]; e < end; e++) {
            size_t next = succ[e];
            if (HDI_UNLIKELY(next >= pass_end))
                continue;
            uint32_t rank = pass_rank[next] - rank_begin;
            bool last = --left[next] == 0;
            ready[rank / 64] |= (uint64_t)last << rank % 64;
            if (!(wait || alone) || !last)
                continue;
            ask *at = &w->ask[rank];
            if (alone && w->closing && at->opens == w->closing && !at->special)
                w->follower = rank;
            if (wait && (at->opens || at->special))
                at->due = group + 1 + find_float(s, next);
        }
    }
}

static void end_group(work *w)
{
    bool wait = w->rules.wait_in_float;
    if (w->refused && w->slot_count - w->group_begin == 1 && !w->rules.in_order)
        make_ready(w, wait, true);
    else if (wait)
        make_ready(w, true, false);
    else
        make_ready(w, false, false);
}

/* What the group closed is free behind its barrier. */
static void free_closed(work *w)
{
    uint32_t rank_begin = w->s->rank_begin, oldest = w->oldest;
    scan now = w->scan;
    for (size_t i = 0, count = w->closed_count; i < count; i++) {
        size_t last = w->closed[i]->last - rank_begin;
        int64_t bytes = (int64_t)w->closed[i]->bytes;
        if (last < oldest)
            continue;
        w->step[last + 1] += bytes;
        w->room += bytes;
        now.here += last >= now.at ? bytes : 0;
        now.stale = true;
    }
    w->scan = now;
    w->closed_count = 0;
    w->live -= w->closing - w->closing_late + w->closed_late;
    w->closed_late = w->closing_late;
    w->closing = w->closing_late = 0;
}

/* A region is short: that it will have too many groups shows soon. */
static bool has_too_many(const work *w)
{
    enum { FEW = 16 };
    uint64_t most = 2 * w->depth + 8;
    if (!w->rules.gives_up || w->group <= FEW)
        return w->rules.gives_up && w->s->whole && w->group > most;
    return w->s->whole ? w->group > most : (uint64_t)(w->group - FEW) * w->s->kept_count > most * w->slot_count;
}

static bool run(work *w)
{
    int64_t near_cap = (int64_t)(w->rules.cap / 8 * 7);
    begin(w);
    while (w->slot_count < w->s->kept_count) {
        if (has_too_many(w))
            return false;
        w->group_begin = w->slot_count;
        if (w->follower != HDI_NONE)
            follow(w);
        fill_group(w);
        size_t count = w->slot_count - w->group_begin;
        end_group(w);
        if (w->rules.level) {
            w->group_live[w->group] = w->live;
            w->full += w->live > near_cap;
        }
        free_closed(w);
        w->group++;
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
    for (uint32_t slot = 0; s->queues->host != HDI_NONE && slot < s->kept_count; slot++)
        out->slot_queue[slot] = (uint8_t)(s->decl->pass_type[out->slot_pass[slot]] == HD_PASS_HOST ? s->queues->host : 0);
    return true;
}
