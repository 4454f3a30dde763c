/* Inside the group scheduler (schedule_groups.c): whether a pass may join the group, and what it changes then. What few
 * passes need is apart, so that the loop over all has the registers. */
#ifndef HDI_SCHEDULE_TAKE_H
#define HDI_SCHEDULE_TAKE_H

#include "hints.h"
#include "schedule_groups.h"

/* Room at a rank is what the cap leaves there when all goes on by rank from here. A scan looks at that of the ranks
 * from the oldest up to at, exclusive. */
typedef struct scan {
    uint32_t at, from; /* from: the oldest rank when it began */
    int64_t here;      /* room at rank at */
    int64_t least;     /* and before it, and not more than that where it is stale */
    bool stale;        /* there may be more room by now, as something was closed */
} scan;

#define REFUSED INT64_MIN

typedef struct work {
    const hdi_sched *s;
    hdi_group_rules rules;
    hdi_schedule *out;
    const uint32_t *rank_pass, *use_begin, *use_res; /* of the above, as each pass asks for them */
    const uint8_t *use_flags;
    const hdi_sched_rank *rank;
    hdi_sched_res *res;
    hdi_ask *ask;                  /* by rank */
    uint32_t *slot_pass;
    int64_t *step;                 /* by rank: room at the rank before it less room there */
    uint64_t *ready, *ready_first; /* ranks whose predecessors stand in earlier groups; those that have none */
    uint32_t ready_first_count;
    uint32_t *left;                /* per pass: predecessors not in earlier groups */
    hdi_specials special;
    int64_t *net;           /* per slot: bytes that it opens less those that it closes */
    uint64_t *key, *scratch_key;
    uint32_t *scratch;
    int64_t *group_live;    /* bytes alive in each group, for rules.level */
    uint32_t slot_count, group, full; /* full: groups that come near the cap */
    bool levelled;          /* pass_level is found: one behind the deepest that it depends on */
    uint32_t depth;         /* then, passes on the longest chain of dependences */
    uint32_t *closed;       /* by the group: the last uses of what it closes, where that had to be counted */
    uint32_t *early;        /* and ranks, of what is closed with them, that were not the oldest */
    scan scan;
} work;

/* What changes with each pass that is taken: in registers, as far as there are some. */
typedef struct moment {
    int64_t live, room; /* room at the oldest rank */
    int64_t closed;     /* bytes that the group closes, but those that had to be counted */
    int64_t closed_late; /* by the group before: the last use writes, a second barrier hands it on */
    size_t oldest, end; /* of the window */
    size_t slots, group_begin;
    size_t closed_count, early_count;
    uint32_t group;
    uint32_t ready;     /* how many are */
    uint32_t follower;  /* rank of a pass that may take over what the last group closed; HDI_NONE: none */
    bool refused;       /* somebody found no room in the group */
} moment;

/* ---- may a pass join? ---- */

/* Whether at all ranks from the oldest up to rank, exclusive, there is room for bytes. Candidates come by rank, so the
 * scan goes on from the one before. It stops at a rank without room, which stays in its way: only what is behind it may
 * have to be found out anew. */
static HDI_APART bool has_room(work *w, size_t rank, int64_t bytes, size_t oldest, int64_t room)
{
    const int64_t *step = w->step;
    scan now = w->scan;
    if (now.at < oldest || (now.least < bytes && (now.stale || now.from != oldest)))
        now = (scan){(uint32_t)oldest, (uint32_t)oldest, room, INT64_MAX, false};
    size_t at = now.at;
    if (now.least >= bytes) {
        for (; at < rank && now.here >= bytes; now.here -= step[++at])
            now.least = now.here < now.least ? now.here : now.least;
    }
    now.at = (uint32_t)at;
    w->scan = now;
    return now.least >= bytes && at >= rank;
}

static HDI_INLINE bool fits(work *w, const moment *now, size_t rank, int64_t bytes, uint32_t due)
{
    if (bytes > (int64_t)w->rules.cap - now->live)
        return rank == now->oldest && now->slots == now->group_begin;
    if (rank == now->oldest)
        return true;
    if (now->group < due)
        return false;
    return (w->scan.at >= rank && w->scan.least >= bytes) || has_room(w, rank, bytes, now->oldest, now->room);
}

static inline hdi_note *note_of(const work *w, const hdi_special *x, uint32_t i)
{
    return &w->special.note[x->at + (i < x->cols ? i : i / x->cols * x->stride + i % x->cols)];
}

/* Bytes that a pass would open beside what is known; REFUSED: readers of one content in this group want another
 * layout. */
static int64_t look_at_specials(const work *w, uint32_t group, const hdi_special *x)
{
    int64_t bytes = 0;
    for (; x->at != HDI_NONE; x++) {
        if (x->count == 0)
            bytes += w->res[x->at].open ? 0 : (int64_t)w->res[x->at].bytes;
        for (uint32_t i = 0; i < x->count; i++) {
            const hdi_note *newest = note_of(w, x, i);
            if (newest->group == group && newest->layout != x->layout)
                return REFUSED;
        }
    }
    return bytes;
}

/* ---- taking ---- */

/* Before its turn. first: the first rank of what is opened. */
static inline void open_early(work *w, size_t first, int64_t bytes)
{
    w->step[first] -= bytes;
    w->scan.least -= bytes;
    if (first > w->scan.at) /* else the scan is where it counts by rank */
        w->scan.here -= bytes;
    w->scan.stale |= first < w->scan.at;
}

/* Opens what nobody opened yet, and notes layouts. Returns how many bytes; *early: those before their turn. */
static HDI_APART int64_t take_specials(work *w, const hdi_special *x, uint32_t group, size_t oldest, int64_t *early)
{
    int64_t opened = 0;
    *early = 0;
    for (; x->at != HDI_NONE; x++) {
        for (uint32_t i = 0; i < x->count; i++)
            *note_of(w, x, i) = (hdi_note){group, x->layout};
        hdi_sched_res *res = &w->res[x->at];
        if (x->count || res->open)
            continue;
        res->open = 1;
        size_t first = res->first - w->s->rank_begin;
        int64_t bytes = (int64_t)res->bytes;
        opened += bytes;
        if (first <= oldest)
            continue;
        open_early(w, first, bytes);
        *early += bytes;
    }
    return opened;
}

/* What a pass closes of what its users count. */
typedef struct closing {
    uint64_t bytes;
    size_t count; /* of all that the group closes so */
} closing;

/* Counts down the uses of what a pass uses. Which of them is the last nobody could predict, so it is found without a
 * branch. */
static HDI_INLINE closing count_down(const work *w, size_t pass, size_t count, bool whole)
{
    const uint32_t *use_res = w->use_res;
    hdi_sched_res *res = w->res;
    uint32_t *closed = w->closed, rank_begin = w->s->rank_begin, kept = w->s->kept_count;
    uint64_t bytes = 0;
    for (size_t u = w->use_begin[pass], end = w->use_begin[pass + 1]; u < end; u++) {
        hdi_sched_res *of = &res[use_res[u]];
        if (!whole && HDI_UNLIKELY(of->last - rank_begin >= kept)) /* later, or it has no bytes */
            continue;
        uint32_t left = of->left;
        uint64_t last = left == 1;
        of->left = left - (left != 0);
        closed[count] = (uint32_t)u;
        count += last;
        bytes += of->bytes & -last;
    }
    return (closing){bytes, count};
}

static HDI_APART closing close_counted(const work *w, size_t pass, size_t count)
{
    return w->s->whole ? count_down(w, pass, count, true) : count_down(w, pass, count, false);
}

/* It was taken: on to the next that was not. */
static HDI_INLINE void move_oldest(const work *w, moment *now)
{
    const int64_t *step = w->step;
    const hdi_ask *ask = w->ask;
    size_t rank = now->oldest, kept = w->s->kept_count, window = w->rules.window;
    int64_t room = now->room;
    do {
        room -= step[++rank];
    } while (rank < kept && ask[rank].due == HDI_TAKEN);
    now->room = room;
    now->oldest = rank;
    now->end = window < kept - rank ? rank + window : kept;
}

static HDI_INLINE void take(work *w, moment *now, size_t rank)
{
    hdi_ask *at = &w->ask[rank];
    size_t pass = w->rank_pass[rank], slot = now->slots++;
    int64_t opens = (int64_t)w->rank[rank].opens, closes = at->closes;
    bool oldest = rank == now->oldest;
    uint32_t more = at->more;
    if (!oldest && opens) {
        open_early(w, rank, opens);
        now->room -= opens;
    }
    now->closed += closes;
    if (!oldest && closes)
        w->early[now->early_count++] = (uint32_t)rank;
    if (more & ~HDI_COUNTED) {
        int64_t early;
        opens += take_specials(w, &w->special.list[more & ~HDI_COUNTED], now->group, now->oldest, &early);
        now->room -= early;
    }
    if (more) {
        closing counted = close_counted(w, pass, now->closed_count);
        closes += (int64_t)counted.bytes;
        now->closed_count = counted.count;
    }
    now->live += opens;
    w->net[slot] = opens - closes;
    w->slot_pass[slot] = (uint32_t)pass;
    at->due = HDI_TAKEN;
    if (oldest)
        move_oldest(w, now);
}

#endif
