#include "schedule_groups.h"

#include <string.h>

#include "hints.h"

/* Special uses: who opens a resource is known beforehand, as all others follow who uses it first by rank, unless
 * several overwrite it. Those few, and readers of images that are read in several layouts, are looked at each time that
 * their pass is. O(uses). */

/* Where the notes of an image begin: where its segments do for who works alone, as regions one after another have the
 * same ones. Of a region beside others, by the lowest bits of its number, the next free place where others have those
 * too: it grows with what a region holds, as a table for all that the frame holds would cost each region more than its
 * passes do. */
typedef struct noted {
    uint32_t res, begin; /* res HDI_NONE: free */
} noted;
typedef struct noted_table {
    noted *at;
    uint32_t places, count; /* places: a power of two, at most half of them taken */
} noted_table;

typedef struct work {
    const hdi_sched *s;
    hdi_ask *ask;
    hdi_specials *out;
    noted_table table;
    size_t reader; /* the pass of which it is noted with resources that it reads them; HDI_NONE: there is none */
} work;

/* Of what several overwrite, and first in this region: so no other region looks at it. */
static void note_reads(const work *w, size_t pass, bool reads)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    for (size_t u = decl->pass_use_begin[pass], end = decl->pass_use_begin[pass + 1]; u < end; u++) {
        hdi_sched_res *res = &s->res[decl->use_res[u]];
        if (decl->use_flags[u] & HDI_USE_READS && res->mixed & HDI_MIXED_OPENERS && res->first >= s->rank_begin)
            res->read = reads;
    }
}

/* What a pass reads stands behind somebody who opened it. Asked of each of its uses, they are walked over twice. */
static bool is_read(work *w, size_t pass, const hdi_sched_res *res)
{
    if (w->reader != pass) {
        if (w->reader != HDI_NONE)
            note_reads(w, w->reader, false);
        note_reads(w, pass, true);
        w->reader = pass;
    }
    return res->read;
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

/* In a region; any, where memory ran out. */
static uint32_t find_own_notes(work *w, uint32_t res)
{
    noted_table *t = &w->table;
    const uint32_t *begin = w->s->frozen->res_seg_begin;
    if (2 * t->count >= t->places && !grow(t, w->s->arena))
        return 0;
    noted *of = find_noted(t, res);
    if (of->res == HDI_NONE) {
        *of = (noted){res, w->out->note_count};
        t->count++;
        w->out->note_count += begin[res + 1] - begin[res];
    }
    return of->begin;
}

/* The first note of a use of an image; seg: its first segment. */
static HDI_INLINE uint32_t find_notes(work *w, uint32_t res, uint32_t seg)
{
    return w->s->note ? seg : find_own_notes(w, res) + seg - w->s->frozen->res_seg_begin[res];
}

/* Any of several may open it: not the first by rank for certain. */
static void take_apart(work *w, hdi_sched_res *res)
{
    if (!res->apart)
        w->ask[res->first - w->s->rank_begin].opens -= (int64_t)res->bytes;
    res->apart = 1;
}

/* Whether a use may have to be looked at: a read for its layout, an overwrite as it may open. */
static HDI_INLINE bool is_asked(const hdi_sched_res *res, uint32_t flags)
{
    return (res->mixed & UINT32_C(1) << flags) != 0;
}

/* The same with one of what earlier regions have opened, if it counts. all: of these those regions counted the uses. */
static HDI_INLINE bool is_special(const hdi_sched_res *res, uint32_t flags, uint32_t rank_begin, bool all)
{
    bool asked = is_asked(res, flags);
    return all ? asked : asked | ((res->first < rank_begin) & !(res->mixed & HDI_CLOSES_LAST));
}

/* A use of what earlier regions have opened, by the one that closes it: it counts its own. */
static void count_here(hdi_sched_res *res)
{
    enum { COUNTS = 2 };
    res->left = res->closed == COUNTS ? res->left + 1 : 1;
    res->closed = COUNTS;
}

/* Whether a use is of what the one before it reads, in the same pass: then it is no overwrite. */
static HDI_INLINE bool goes_on(const hdi_decl *decl, size_t use)
{
    return use > 0 && decl->use_res[use - 1] == decl->use_res[use] && decl->use_flags[use - 1] & HDI_USE_READS &&
           decl->use_pass[use - 1] == decl->use_pass[use];
}

/* One of a pass that has several, or is of several pieces. Of one resource the last one counts, so it comes behind. */
static HDI_APART void add_to_list(work *w, hdi_ask *at, hdi_special more)
{
    hdi_special *list = w->out->list;
    uint32_t last = at->more & ~HDI_COUNTED, count = w->out->count;
    if (last & HDI_OPENER) {
        list[count] = (hdi_special){.at = last & ~HDI_OPENER, .next = count};
        last = count++;
    }
    last &= ~HDI_READER;
    more.next = count;
    if (last) {
        more.next = list[last].next;
        list[last].next = count;
    }
    list[count] = more;
    at->more = (at->more & HDI_COUNTED) | count;
    w->out->count = count + 1;
}

/* A read of an image of several layouts. */
static HDI_INLINE void add_reader(work *w, hdi_ask *at, uint32_t use, uint32_t res)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    uint32_t layout = decl->access[decl->use_access[use]].layout, seg = s->frozen->use_seg[use];
    if (HDI_UNLIKELY(at->more & ~HDI_COUNTED || seg == HDI_NONE)) {
        hdi_span span = hdi_use_span(decl, s->frozen, use);
        uint32_t count = span.rows * span.cols;
        add_to_list(w, at, (hdi_special){find_notes(w, res, span.base), count, span.cols, span.stride, layout, 0});
        return;
    }
    uint32_t count = w->out->count++;
    at->more |= HDI_READER | count;
    w->out->list[count] = (hdi_special){find_notes(w, res, seg), 1, 1, 0, layout, count};
}

/* An overwrite of what several overwrite. */
static HDI_INLINE void add_opener(work *w, hdi_ask *at, uint32_t res)
{
    if (HDI_UNLIKELY(at->more & ~HDI_COUNTED || res >= HDI_OPENER))
        add_to_list(w, at, (hdi_special){.at = res});
    else
        at->more |= HDI_OPENER | res;
    take_apart(w, &w->s->res[res]);
}

/* Those of some uses: of one pass, or of all that stand between the first and the last. */
static HDI_INLINE void list_uses(work *w, size_t use, size_t end, bool all)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_res = s->decl->use_res, *use_pass = s->decl->use_pass;
    const uint32_t *pass_rank = s->pass_rank, *rank_pass = s->rank_pass, rank_begin = s->rank_begin;
    const uint8_t *use_flags = s->decl->use_flags;
    hdi_sched_res *all_res = s->res;
    for (; use < end; use++) {
        if (!is_special(&all_res[use_res[use]], use_flags[use], rank_begin, all))
            continue;
        HDI_HIDE(use); /* else the loop would keep for these few what it has found */
        uint32_t r = use_res[use], flags = use_flags[use];
        hdi_sched_res *res = &all_res[r];
        size_t pass = use_pass[use], rank = pass_rank[pass] - rank_begin;
        if (rank_pass[rank] != pass) /* it is culled */
            continue;
        if (!all && res->first < rank_begin && hdi_sched_has(s, res->last))
            count_here(res);
        if (!all && !is_asked(res, flags))
            continue;
        if (!(flags & HDI_USE_WRITES))
            add_reader(w, &w->ask[rank], (uint32_t)use, r);
        else if (res->first >= rank_begin && !goes_on(s->decl, use) && !is_read(w, pass, res))
            add_opener(w, &w->ask[rank], r);
    }
}

/* Where most passes have none that must be counted, and so none of these. */
static HDI_INLINE void find_counted(work *w, bool all)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_begin = s->decl->pass_use_begin, *rank_pass = s->rank_pass;
    for (size_t rank = 0; rank < s->kept_count; rank++) {
        if (w->ask[rank].more & HDI_COUNTED)
            list_uses(w, use_begin[rank_pass[rank]], use_begin[rank_pass[rank] + 1], all);
    }
}

static HDI_INLINE void find_all(work *w, bool all)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_begin = s->decl->pass_use_begin;
    list_uses(w, use_begin[s->pass_begin], use_begin[s->rank_pass[s->kept_count - 1] + 1], all);
}

static HDI_APART void find_when_alone(work *w)
{
    if (w->s->known)
        find_counted(w, true);
    else
        find_all(w, true);
}

static HDI_APART void find_beside_others(work *w)
{
    if (w->s->known)
        find_counted(w, false);
    else
        find_all(w, false);
}

/* uses: there are no more. */
static bool begin(const hdi_sched *s, hdi_ask *ask, uint32_t uses, hdi_specials *out, work *w)
{
    uint32_t most = s->mixed_uses < uses ? s->mixed_uses : uses;
    *w = (work){.s = s, .ask = ask, .out = out, .reader = HDI_NONE};
    *out = (hdi_specials){.count = 1, .note = s->note};
    out->list = HDI_ARENA_ARRAY(s->arena, hdi_special, (size_t)most + 1);
    return !s->arena->failed;
}

bool hdi_find_specials(const hdi_sched *s, hdi_ask *ask, hdi_specials *out)
{
    work w;
    if (!begin(s, ask, s->use_count, out, &w))
        return false;
    if (s->alone || s->rank_begin == 0)
        find_when_alone(&w);
    else
        find_beside_others(&w);
    if (!s->note)
        out->note = HDI_ARENA_ZEROED(s->arena, hdi_note, out->note_count);
    return !s->arena->failed;
}
