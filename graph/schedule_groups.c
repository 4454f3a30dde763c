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

/* Where the notes of an image begin: by the lowest bits of its number, the next free place where others have those too. */
typedef struct noted {
    uint32_t res, begin; /* res HDI_NONE: free */
} noted;

/* A use that is looked at when its pass is. Those of a pass stand together, behind them one of HDI_NONE. */
typedef struct special {
    uint32_t at;           /* an overwrite: the resource; a read: first of its notes */
    uint32_t count;        /* of notes; 0: an overwrite */
    uint32_t cols, stride; /* as in hdi_span */
    uint32_t layout;
} special;

/* A scan over ranks from the oldest up to at, exclusive. */
typedef struct scan {
    uint32_t at;
    bool stale;   /* there may be more room by now: it began at ranks that were older, or something was closed */
    int64_t sum;  /* bytes that are alive at rank at and would not be by rank, less those the other way */
    int64_t room; /* the least, and not more than that where it is stale */
} scan;

#define REFUSED INT64_MIN

typedef struct work {
    const hdi_sched *s;
    hdi_group_rules rules;
    hdi_schedule *out;
    hdi_sched_rank *rank;
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
    int64_t early; /* bytes that are alive at the oldest rank and would not be by rank, less those the other way */
    uint32_t depth, oldest, end, group, group_begin; /* end: of the window */
    int64_t live, closing[2], closed_late; /* [1], late: the last use writes, a second barrier hands it on */
    scan scan;
} work;

/* ---- preparation ---- */

/* What a pass reads stands behind somebody who opened it. */
static bool is_read(const hdi_decl *decl, uint32_t pass, uint32_t res)
{
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        if (decl->use_res[u] == res && decl->use_flags[u] & HDI_USE_READS)
            return true;
    }
    return false;
}

/* HDI_MIXED_*: what a use must be looked at for. */
static uint32_t find_special(const hdi_sched *s, uint32_t pass, uint32_t use)
{
    const hdi_decl *decl = s->decl;
    const hdi_sched_res *res = &s->res[decl->use_res[use]];
    uint32_t flags = decl->use_flags[use];
    if (!(flags & HDI_USE_WRITES))
        return flags & HDI_USE_BUFFER ? 0 : res->mixed & HDI_MIXED_LAYOUTS;
    return res->first < s->rank_begin || is_read(decl, pass, decl->use_res[use]) ? 0 : res->mixed & HDI_MIXED_OPENERS;
}

/* The first note of an image. */
static uint32_t find_notes(work *w, noted *table, uint32_t mask, uint32_t res)
{
    const uint32_t *begin = w->s->frozen->res_seg_begin;
    uint32_t at = res & mask;
    while (table[at].res != res && table[at].res != HDI_NONE)
        at = (at + 1) & mask;
    if (table[at].res == HDI_NONE) {
        table[at] = (noted){res, w->note_count};
        w->note_count += begin[res + 1] - begin[res];
    }
    return table[at].begin;
}

/* Any of several may open it: not the first by rank for certain. */
static void take_apart(const hdi_sched *s, hdi_sched_res *res)
{
    if (!res->apart)
        s->rank[res->first - s->rank_begin].opens -= res->bytes;
    res->apart = 1;
}

static HDI_APART void list_use(work *w, noted *table, uint32_t mask, uint32_t pass, uint32_t use)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    uint32_t r = decl->use_res[use], what = find_special(s, pass, use);
    hdi_sched_res *res = &s->res[r];
    if (res->mixed & HDI_MIXED_REGIONS && hdi_sched_has(s, res->last))
        res->left++;
    if (what & HDI_MIXED_LAYOUTS) {
        hdi_span span = hdi_use_span(decl, s->frozen, use);
        uint32_t first = find_notes(w, table, mask, r) + span.base - s->frozen->res_seg_begin[r];
        uint32_t layout = decl->access[decl->use_access[use]].layout;
        w->special[w->special_count++] = (special){first, span.rows * span.cols, span.cols, span.stride, layout};
    } else if (what & HDI_MIXED_OPENERS) {
        w->special[w->special_count++] = (special){.at = r};
        take_apart(s, res);
    }
}

/* Lists of special uses, for who has any. */
static bool find_specials(work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_res = s->decl->use_res, *pass_use_begin = s->decl->pass_use_begin;
    const hdi_sched_res *res = s->res;
    uint32_t most = s->mixed_uses < s->use_count ? s->mixed_uses : s->use_count, places = 1;
    while (places < 2 * (uint64_t)s->mixed_images)
        places *= 2;
    noted *table = HDI_ARENA_ARRAY(s->arena, noted, places);
    w->special = HDI_ARENA_ARRAY(s->arena, special, 2 * (size_t)most + 1); /* with what stands behind those of a pass */
    if (s->arena->failed)
        return false;
    memset(table, 0xff, places * sizeof(*table));
    w->special_count = 1;
    for (size_t rank = 0; rank < s->kept_count; rank++) {
        size_t p = s->rank_pass[rank], end = pass_use_begin[p + 1];
        uint32_t first = w->special_count;
        for (size_t u = pass_use_begin[p]; u < end; u++) {
            if (HDI_UNLIKELY(res[use_res[u]].mixed & HDI_MIXED_ALL))
                list_use(w, table, places - 1, (uint32_t)p, (uint32_t)u);
        }
        if (HDI_LIKELY(w->special_count == first))
            continue;
        w->special[w->special_count++] = (special){.at = HDI_NONE};
        w->rank[rank].special = first;
    }
    w->note = HDI_ARENA_ZEROED(s->arena, note, w->note_count);
    return w->note != NULL;
}

static bool prepare(work *w)
{
    const hdi_sched *s = w->s;
    hdi_arena *arena = s->arena;
    uint32_t kept = s->kept_count, words = hdi_bit_words(kept) + 1;
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
    w->depth = hdi_sched_find_levels(s, w->ready_first);
    return !(s->mixed_uses || s->live_bytes) || find_specials(w);
}

/* As nothing was taken. */
static void begin(work *w)
{
    const hdi_sched *s = w->s;
    memcpy(w->left + s->pass_begin, s->pass_need + s->pass_begin, (s->pass_end - s->pass_begin) * sizeof(*w->left));
    memcpy(w->ready, w->ready_first, (hdi_bit_words(s->kept_count) + 1) * sizeof(*w->ready));
    w->out->slot_count = w->closed_count = w->oldest = 0;
    if (w->rules.wait_in_float)
        hdi_sched_find_consumers(s);
    w->early = w->closing[0] = w->closing[1] = w->closed_late = 0;
    w->end = w->rules.window < s->kept_count ? w->rules.window : s->kept_count;
    w->live = s->live_bytes;
    w->group = 1;
    w->full = 0;
    w->follower = HDI_NONE;
    w->refused = false;
    w->scan = (scan){.at = 0, .room = INT64_MAX};
}

/* Undoes what a run did that gave up. */
static void give_back(work *w)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    for (uint32_t slot = 0; slot < w->out->slot_count; slot++) {
        uint32_t p = w->out->slot_pass[slot];
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            hdi_sched_res *res = &s->res[decl->use_res[u]];
            if (hdi_sched_has(s, res->last))
                res->left++;
        }
        uint32_t list = w->rank[s->pass_rank[p] - s->rank_begin].special;
        for (const special *x = &w->special[list]; list && x->at != HDI_NONE; x++) {
            if (x->count == 0)
                s->res[x->at].open = 0;
        }
    }
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        hdi_sched_rank *at = &w->rank[rank];
        at->early_first = at->early_last = 0;
        at->due = 0;
        at->done = false;
    }
    if (w->note_count)
        memset(w->note, 0, w->note_count * sizeof(*w->note));
}

/* ---- may a pass join? ---- */

/* Whether at all ranks from the oldest up to rank, exclusive, there is room for bytes. Candidates come by rank, so the
 * scan goes on from the one before. It stops at a rank without room, which stays in its way: only what is behind it may
 * have to be found out anew. */
static HDI_APART bool has_room(work *w, size_t rank, int64_t bytes)
{
    const hdi_sched_rank *by_rank = w->rank;
    int64_t cap = (int64_t)w->rules.cap;
    scan now = w->scan;
    if (now.room < bytes && now.stale)
        now = (scan){w->oldest, false, w->early, INT64_MAX};
    for (; now.at < rank && now.room >= bytes; now.at++) {
        int64_t room = cap - (int64_t)by_rank[now.at].live - now.sum;
        if (room < bytes) {
            w->scan = now;
            return false;
        }
        now.room = room < now.room ? room : now.room;
        now.sum += by_rank[now.at].early_last - by_rank[now.at + 1].early_first;
    }
    w->scan = now;
    return now.room >= bytes;
}

static inline bool fits(work *w, size_t rank, int64_t bytes)
{
    if (w->live + bytes > (int64_t)w->rules.cap)
        return rank == w->oldest && w->out->slot_count == w->group_begin;
    if (rank == w->oldest)
        return true;
    return w->group >= w->rank[rank].due && (w->scan.at < rank || w->scan.room < bytes ? has_room(w, rank, bytes) : true);
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
            bytes += w->s->res[x->at].open ? 0 : (int64_t)w->s->res[x->at].bytes;
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
    w->rank[first].early_first += bytes;
    w->early += bytes;
    w->scan.room -= bytes;
    if (first > w->scan.at) /* else the scan is where it counts by rank */
        w->scan.sum += bytes;
    w->scan.stale |= first < w->scan.at;
}

/* Opens what nobody opened yet, and notes layouts. */
static HDI_APART void take_specials(work *w, const special *x)
{
    const hdi_sched *s = w->s;
    for (; x->at != HDI_NONE; x++) {
        for (uint32_t i = 0; i < x->count; i++)
            *note_of(w, x, i) = (note){w->group, x->layout};
        if (x->count || s->res[x->at].open)
            continue;
        s->res[x->at].open = 1;
        open_bytes(w, s->res[x->at].first - s->rank_begin, (int64_t)s->res[x->at].bytes);
    }
}

/* Counts down the uses of what a pass uses; returns the bytes of what it uses last. */
static inline int64_t close_resources(work *w, size_t pass)
{
    const hdi_decl *decl = w->s->decl;
    const uint32_t *use_res = decl->use_res;
    hdi_sched_res *res = w->s->res;
    int64_t bytes = 0;
    for (size_t u = decl->pass_use_begin[pass], end = decl->pass_use_begin[pass + 1]; u < end; u++) {
        hdi_sched_res *of = &res[use_res[u]];
        if (HDI_UNLIKELY(of->mixed & (HDI_MIXED_REGIONS | HDI_NO_BYTES)) && !hdi_sched_has(w->s, of->last))
            continue;
        if (--of->left)
            continue;
        w->closed[w->closed_count++] = of;
        w->closing[(decl->use_flags[u] & HDI_USE_WRITES) != 0] += (int64_t)of->bytes;
        bytes += (int64_t)of->bytes;
    }
    return bytes;
}

/* The oldest pass that is left is behind rank. */
static inline void move_oldest(work *w, size_t rank)
{
    const hdi_sched_rank *by_rank = w->rank;
    size_t kept = w->s->kept_count, window = w->rules.window;
    int64_t early = w->early;
    do {
        early += by_rank[rank].early_last;
        if (++rank == kept)
            break;
        early -= by_rank[rank].early_first;
    } while (by_rank[rank].done);
    w->early = early;
    w->oldest = (uint32_t)rank;
    w->end = (uint32_t)(window < kept - rank ? rank + window : kept);
    w->scan.stale = true;
    if (w->scan.at < rank)
        w->scan = (scan){(uint32_t)rank, false, early, INT64_MAX};
}

static inline void take(work *w, size_t rank)
{
    hdi_sched_rank *at = &w->rank[rank];
    size_t pass = w->s->rank_pass[rank], slot = w->out->slot_count++;
    int64_t live = w->live;
    if (at->opens)
        open_bytes(w, rank, (int64_t)at->opens);
    if (HDI_UNLIKELY(at->special))
        take_specials(w, &w->special[at->special]);
    int64_t opens = w->live - live;
    w->net[slot] = opens - close_resources(w, pass);
    w->out->slot_pass[slot] = (uint32_t)pass;
    at->done = true;
    if (rank == w->oldest)
        move_oldest(w, rank);
}

/* ---- groups ---- */

/* Bytes of resources that no other pass uses any more. */
static uint64_t closes(const work *w, size_t pass)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    uint64_t bytes = 0;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        const hdi_sched_res *res = &s->res[decl->use_res[u]];
        bytes += hdi_sched_has(s, res->last) && res->left == 1 ? res->bytes : 0;
    }
    return bytes;
}

/* Where there was room for one pass alone, and another can open just the bytes that it closed: that one first. A strand
 * that goes on takes over its own bytes again and again; taking turns with others, it would leave holes that fit nobody. */
static void follow(work *w)
{
    size_t rank = w->follower;
    if (rank != HDI_NONE && rank < w->end && w->live + (int64_t)w->rank[rank].opens <= (int64_t)w->rules.cap &&
        closes(w, w->s->rank_pass[rank]) >= w->rank[rank].opens) {
        w->ready[rank / 64] &= ~((uint64_t)1 << (rank % 64));
        take(w, rank);
        w->scan.stale = true;
    }
    w->follower = HDI_NONE;
    w->refused = false;
}

static void fill_group(work *w)
{
    const hdi_sched_rank *by_rank = w->rank;
    follow(w);
    for (size_t word = w->oldest / 64; word * 64 < w->end; word++) {
        uint64_t left = w->ready[word];
        for (uint64_t bits = left; bits; bits &= bits - 1) {
            size_t rank = word * 64 + (size_t)__builtin_ctzll(bits);
            if (rank >= w->end)
                break;
            int64_t opens = (int64_t)by_rank[rank].opens;
            if (HDI_UNLIKELY(by_rank[rank].special)) {
                int64_t more = look_at_specials(w, &w->special[by_rank[rank].special]);
                if (more == REFUSED)
                    continue;
                opens += more;
            }
            if (opens && !fits(w, rank, opens)) {
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
static void sort_group(work *w)
{
    enum { FEW = 24 };
    size_t count = w->out->slot_count - w->group_begin;
    uint32_t *pass = &w->out->slot_pass[w->group_begin];
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

/* Whoever waited for passes of the group alone is ready. */
static void end_group(work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *succ_begin = s->depends->succ_begin, *succ = s->depends->succ;
    uint32_t *left = w->left, *slot_group = w->out->slot_group, group = w->group;
    size_t pass_end = s->pass_end;
    bool wait = w->rules.wait_in_float;
    bool alone = w->refused && w->out->slot_count - w->group_begin == 1 && !w->rules.in_order;
    int64_t closing = w->closing[0] + w->closing[1];
    for (size_t i = w->group_begin, slots = w->out->slot_count; i < slots; i++) {
        size_t p = w->out->slot_pass[i], end = succ_begin[p + 1];
        slot_group[i] = group;
        for (size_t e = succ_begin[p]; e < end; e++) {
            size_t next = succ[e];
            if (next >= pass_end || --left[next])
                continue;
            uint32_t rank = s->pass_rank[next] - s->rank_begin;
            hdi_bit_set(w->ready, rank);
            if (HDI_UNLIKELY(alone) && closing && (int64_t)w->rank[rank].opens == closing && !w->rank[rank].special)
                w->follower = rank;
            if (wait && (w->rank[rank].opens || w->rank[rank].special))
                w->rank[rank].due = group + 1 + hdi_sched_float(s, (uint32_t)next);
        }
    }
    for (uint32_t i = 0; i < w->closed_count; i++) {
        const hdi_sched_res *res = w->closed[i];
        uint32_t last = res->last - s->rank_begin;
        if (last < w->oldest)
            continue;
        w->rank[last].early_last += (int64_t)res->bytes;
        w->early -= (int64_t)res->bytes;
        w->scan.sum -= last >= w->scan.at ? (int64_t)res->bytes : 0;
        w->scan.stale = true;
    }
    w->closed_count = 0;
    if (w->rules.level) {
        w->group_live[w->group] = w->live;
        w->full += w->live > (int64_t)(w->rules.cap / 8 * 7);
    }
    w->live -= w->closing[0] + w->closed_late;
    w->closed_late = w->closing[1];
    w->closing[0] = w->closing[1] = 0;
    w->group++;
}

/* A region is short: that it will have too many groups shows soon. */
static uint32_t most_groups(const work *w)
{
    enum { FEW = 16 };
    uint32_t most = 2 * w->depth + 8;
    if (!w->rules.gives_up)
        return HDI_NONE;
    return w->s->whole ? most : FEW + (uint32_t)((uint64_t)most * w->out->slot_count / w->s->kept_count);
}

static bool run(work *w)
{
    begin(w);
    while (w->out->slot_count < w->s->kept_count) {
        if (w->group > most_groups(w))
            return false;
        w->group_begin = w->out->slot_count;
        fill_group(w);
        end_group(w);
        if (!w->rules.in_order && w->out->slot_count - w->group_begin > 1)
            sort_group(w);
    }
    w->out->group_count = w->group;
    if (w->rules.level)
        w->group_live[0] = w->group_live[w->group] = 0;
    return true;
}

/* Many groups at the cap, and passes enough in each that some could be in another. */
static bool is_full(const work *w)
{
    enum { PASSES = 4 };
    return w->full >= w->group / 4 && w->out->slot_count >= PASSES * w->group;
}

bool hdi_schedule_groups(const hdi_sched *s, const hdi_group_rules *rules, uint32_t rules_count, hdi_schedule *out)
{
    work w = {.s = s, .rules = rules[0], .out = out, .rank = s->rank};
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
