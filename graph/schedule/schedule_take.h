/* Inside the group scheduler (schedule_groups.c): whether a pass may join the group, and what it changes then. */
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
    hdi_sched_res *res;
    bool counts_all;     /* of earlier regions all uses were counted down */
    hdi_ask *ask;        /* by rank */
    hdi_ask behind_last; /* what stood there */
    uint32_t *slot_pass;
    int64_t *net; /* per slot: bytes that it opens less those that it closes, when its group has ended */
    /* Of the window, and what is alive. */
    size_t oldest, end, slots;
    int64_t live, room; /* room at the oldest rank */
    scan scan;
    /* Of the group. */
    size_t group_begin;
    uint32_t group;
    uint32_t groups_before; /* what their numbers in notes begin behind */
    uint32_t full;       /* how many there are in which somebody found no room */
    uint32_t full_next;  /* then it is asked how many groups there will be */
    bool refused;        /* somebody found no room in it */
    int64_t closed;      /* bytes that are closed with its passes in every order */
    int64_t closed_late; /* by the group before: the last use writes, a second barrier hands it on */
    uint32_t *early;     /* its ranks that close so, and were not the oldest */
    uint32_t *counted;   /* the last uses of what it closes else */
    size_t early_count, counted_count;
    /* Who may be in it. */
    uint64_t *ready, *ready_first; /* ranks whose predecessors stand in earlier groups; those that have none */
    uint32_t ready_count, ready_first_count;
    uint32_t *left;    /* per pass: predecessors not in earlier groups; then, of one that is counted down, its slot */
    uint32_t follower; /* rank of a pass that may take over what the last group closed; HDI_NONE: none */
    hdi_specials special;
    uint32_t *next, *behind; /* passes that follow those of the group, and a level of each */
    bool levelled;           /* the levels of passes are known: one behind the deepest that it depends on */
    uint32_t depth;          /* then, passes on the longest chain of dependences; before, not more */
    uint64_t *key, *scratch_key;
    uint32_t *scratch;
    int64_t *group_live; /* bytes alive in each group */
} work;

/* ---- may a pass join? ---- */

/* Whether at all ranks from the oldest up to rank, exclusive, there is room for bytes. Candidates come by rank, so the
 * scan goes on from the one before. It stops at a rank without room, which stays in its way: only what is behind it may
 * have to be found out anew. */
static HDI_APART bool has_room(work *w, size_t rank, int64_t bytes)
{
    const hdi_ask *ask = w->ask;
    scan now = w->scan;
    if (now.at < w->oldest || (now.least < bytes && (now.stale || now.from != w->oldest)))
        now = (scan){(uint32_t)w->oldest, (uint32_t)w->oldest, w->room, INT64_MAX, false};
    const hdi_ask *at = &ask[now.at], *end = &ask[rank];
    if (now.least >= bytes) {
        for (; at < end && now.here >= bytes; now.here -= (++at)->step)
            now.least = now.here < now.least ? now.here : now.least;
    }
    now.at = (uint32_t)(at - ask);
    w->scan = now;
    return now.least >= bytes && at >= end;
}

/* Of what opens more than the cap leaves now, only the oldest pass may be taken, alone. */
static HDI_INLINE bool fits(work *w, size_t rank, int64_t bytes, uint32_t due)
{
    if (bytes > (int64_t)w->rules.cap - w->live)
        return rank == w->oldest && w->slots == w->group_begin;
    if (rank == w->oldest)
        return true;
    return bytes <= w->room && w->group >= due &&
           ((w->scan.at >= rank && w->scan.least >= bytes) || has_room(w, rank, bytes));
}

static inline bool is_other(const work *w, const hdi_special *x, const hdi_note *newest)
{
    return newest->group == w->groups_before + w->group && newest->layout != x->layout;
}

/* Bytes that a pass would open beside what is known; REFUSED: readers of one content in this group want another
 * layout. */
static HDI_APART int64_t look_at_specials(const work *w, const hdi_special *last)
{
    const hdi_special *x = last;
    int64_t bytes = 0;
    do {
        x = &w->special.list[x->next];
        if (x->count == 0)
            bytes += w->res[x->at].open ? 0 : (int64_t)w->res[x->at].bytes;
        else if (is_other(w, x, &w->special.note[x->at]))
            return REFUSED;
        for (uint32_t i = 1; i < x->count; i++) {
            if (is_other(w, x, hdi_note_of(&w->special, x, i)))
                return REFUSED;
        }
    } while (x != last);
    return bytes;
}

/* what: as in hdi_ask, but for HDI_COUNTED. */
static HDI_INLINE int64_t look_at_more(const work *w, uint32_t what)
{
    if (what & HDI_OPENER) {
        const hdi_sched_res *res = &w->res[what & ~HDI_OPENER];
        return (int64_t)(res->bytes & ((uint64_t)res->open - 1));
    }
    if (HDI_UNLIKELY(!(what & HDI_READER)))
        return look_at_specials(w, &w->special.list[what]);
    const hdi_special *x = &w->special.list[what & ~HDI_READER];
    return is_other(w, x, &w->special.note[x->at]) ? REFUSED : 0;
}

/* ---- taking ---- */

/* Bytes of resources that no other pass uses any more. */
static inline int64_t closes(const work *w, size_t rank)
{
    int64_t bytes = w->ask[rank].closes;
    if (HDI_LIKELY(!w->ask[rank].more))
        return bytes;
    size_t pass = w->rank_pass[rank];
    for (size_t u = w->use_begin[pass]; u < w->use_begin[pass + 1]; u++) {
        const hdi_sched_res *res = &w->res[w->use_res[u]];
        bytes += hdi_sched_has(w->s, res->last) && res->left == 1 ? (int64_t)res->bytes : 0;
    }
    return bytes;
}

/* Before its turn. first: the first rank of what is opened. */
static inline void open_early(work *w, size_t first, int64_t bytes)
{
    w->ask[first].step -= bytes;
    w->room -= bytes;
    w->scan.least -= bytes;
    if (first > w->scan.at) /* else the scan is where it counts by rank */
        w->scan.here -= bytes;
    w->scan.stale |= first < w->scan.at;
}

/* Opens what nobody opened yet. Returns how many bytes. */
static HDI_INLINE int64_t open_shared(work *w, hdi_sched_res *res)
{
    if (res->open)
        return 0;
    res->open = 1;
    size_t first = res->first - w->s->rank_begin;
    if (first > w->oldest)
        open_early(w, first, (int64_t)res->bytes);
    return (int64_t)res->bytes;
}

/* The same for all, and notes layouts. */
static HDI_APART int64_t take_specials(work *w, const hdi_special *last)
{
    const hdi_special *x = last;
    int64_t opened = 0;
    do {
        x = &w->special.list[x->next];
        for (uint32_t i = 0; i < x->count; i++)
            *hdi_note_of(&w->special, x, i) = (hdi_note){w->groups_before + w->group, x->layout};
        opened += x->count ? 0 : open_shared(w, &w->res[x->at]);
    } while (x != last);
    return opened;
}

static HDI_INLINE int64_t take_more(work *w, uint32_t what)
{
    if (what & HDI_OPENER)
        return open_shared(w, &w->res[what & ~HDI_OPENER]);
    if (HDI_UNLIKELY(!(what & HDI_READER)))
        return take_specials(w, &w->special.list[what]);
    const hdi_special *x = &w->special.list[what & ~HDI_READER];
    w->special.note[x->at] = (hdi_note){w->groups_before + w->group, x->layout};
    return 0;
}

/* Counts down the uses of what a pass uses. Behind `count` in the list come those that were the last. Which that is
 * nobody could predict, so it is found without a branch. all: else only of what the region closes, as others run at the
 * same time. known: of some nobody counts the uses, and that stays so; else it does not matter what comes of the count
 * of what has no bytes. Returns how many there are. */
static HDI_INLINE size_t count_down_of(const work *w, size_t pass, size_t count, bool all, bool known)
{
    const uint32_t *use_res = w->use_res;
    hdi_sched_res *res = w->res;
    uint32_t rank_begin = w->s->rank_begin, kept = w->s->kept_count, *counted = w->counted;
    for (size_t u = w->use_begin[pass], end = w->use_begin[pass + 1]; u < end; u++) {
        hdi_sched_res *of = &res[use_res[u]];
        if (!all && HDI_UNLIKELY(of->last - rank_begin >= kept)) /* later, or it has no bytes */
            continue;
        if (known && of->left == 0)
            continue;
        uint32_t left = --of->left;
        counted[count] = (uint32_t)u;
        count += left < 1;
    }
    return count;
}

/* The same where something is known. */
static HDI_INLINE void count_down(work *w, size_t pass)
{
    size_t count = w->counted_count;
    w->counted_count =
        w->counts_all ? count_down_of(w, pass, count, true, true) : count_down_of(w, pass, count, false, true);
}

/* Candidates are looked for in a window of ranks from the oldest on. */
static HDI_INLINE void set_oldest(work *w, size_t rank)
{
    size_t kept = w->s->kept_count, window = w->rules.window;
    w->oldest = rank;
    w->end = window < kept - rank ? rank + window : kept;
}

/* The oldest pass was taken: on to the next that was not. */
static HDI_INLINE void move_oldest(work *w)
{
    const hdi_ask *ask = w->ask;
    size_t rank = w->oldest;
    int64_t room = w->room;
    do {
        room -= ask[++rank].step;
    } while (ask[rank].due == HDI_TAKEN); /* behind the last there is one that never is */
    w->room = room;
    set_oldest(w, rank);
}

/* known: of what it closes; else that is found when the group ends, as all passes have uses to count. */
static HDI_INLINE void take(work *w, size_t rank, bool oldest, bool known)
{
    hdi_ask *at = &w->ask[rank];
    size_t pass = w->rank_pass[rank], slot = w->slots++;
    int64_t opens = at->opens, closes = known ? at->closes : 0;
    uint32_t more = at->more, what = more & ~HDI_COUNTED;
    at->due = HDI_TAKEN;
    w->slot_pass[slot] = (uint32_t)pass;
    w->left[pass] = (uint32_t)slot;
    w->closed += closes;
    if (!oldest) {
        if (opens)
            open_early(w, rank, opens);
        if (closes)
            w->early[w->early_count++] = (uint32_t)rank;
    }
    if (what)
        opens += take_more(w, what);
    if (known && more)
        count_down(w, pass);
    w->live += opens;
    w->net[slot] = opens - closes;
    if (oldest)
        move_oldest(w);
}

/* Out of the loops over candidates, which then have the registers. */
static HDI_APART void take_one(work *w, size_t rank)
{
    take(w, rank, rank == w->oldest, true);
}

static HDI_INLINE void take_by(work *w, size_t rank, bool known)
{
    if (known)
        take_one(w, rank);
    else
        take(w, rank, rank == w->oldest, false);
}

#endif
