#include "schedule_groups.h"

#include <string.h>

#include "hints.h"

/* Special uses: who opens a resource is known beforehand, as all others follow who uses it first by rank, unless
 * several overwrite it. Those few, and readers of images that are read in several layouts, are looked at each time that
 * their pass is. O(uses). */

/* Where the notes of an image begin: in a whole frame, where its segments do. Of a region, by the lowest bits of its
 * number, the next free place where others have those too: it grows with what a region holds, as a table for all that
 * the frame holds would cost each region more than its passes do. */
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
} work;

/* What a pass reads stands behind somebody who opened it. */
static bool is_read(const hdi_decl *decl, size_t pass, uint32_t res)
{
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        if (decl->use_res[u] == res && decl->use_flags[u] & HDI_USE_READS)
            return true;
    }
    return false;
}

/* HDI_MIXED_*: what uses may have to be looked at for, by HDI_USE_READS and HDI_USE_WRITES. */
static const uint8_t asked_for[4] = {HDI_MIXED_LAYOUTS, HDI_MIXED_LAYOUTS, HDI_MIXED_OPENERS, 0};

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

/* The first note of an image. */
static HDI_INLINE uint32_t find_notes(work *w, uint32_t res)
{
    if (!w->s->whole)
        return find_own_notes(w, res);
    w->out->note_count = w->s->frozen->seg_count;
    return w->s->frozen->res_seg_begin[res];
}

/* Any of several may open it: not the first by rank for certain. */
static void take_apart(work *w, hdi_sched_res *res)
{
    if (!res->apart)
        w->ask[res->first - w->s->rank_begin].opens -= (int64_t)res->bytes;
    res->apart = 1;
}

/* Whether a use may have to be looked at: also one of what earlier regions have opened, if it counts. all: of these
 * those regions counted the uses. */
static HDI_INLINE bool is_special(const hdi_sched_res *res, uint32_t flags, uint32_t rank_begin, bool all)
{
    return res->mixed & asked_for[flags & 3] || (!all && res->first < rank_begin && !(res->mixed & HDI_CLOSES_LAST));
}

/* The first use of these that is. */
static HDI_INLINE size_t find_next(const hdi_sched *s, size_t use, size_t end, bool all)
{
    const uint32_t *use_res = s->decl->use_res, rank_begin = s->rank_begin;
    const uint8_t *use_flags = s->decl->use_flags;
    const hdi_sched_res *res = s->res;
    while (use < end && HDI_LIKELY(!is_special(&res[use_res[use]], use_flags[use], rank_begin, all)))
        use++;
    return use;
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

/* What one must be. */
static HDI_INLINE uint32_t find_special(const hdi_sched *s, const hdi_sched_res *res, size_t use)
{
    const hdi_decl *decl = s->decl;
    uint32_t what = res->mixed & asked_for[decl->use_flags[use] & 3];
    if (what & HDI_MIXED_OPENERS &&
        (res->first < s->rank_begin || goes_on(decl, use) || is_read(decl, decl->use_pass[use], decl->use_res[use])))
        return 0;
    return what;
}

/* Those of a rank, from begin on. opener: where that is the resource of the only one, an overwrite. */
static HDI_INLINE void end_list(work *w, size_t rank, const hdi_special *begin, hdi_special *end, uint32_t opener)
{
    if (begin == end)
        return;
    if (end == begin + 1 && opener < HDI_OPENER) {
        w->ask[rank].more |= HDI_OPENER | opener;
        return;
    }
    w->ask[rank].more |= w->out->count;
    end->at = HDI_NONE;
    w->out->count += (uint32_t)(end - begin) + 1;
}

/* Those of some uses: of one pass, or of all that stand between the first and the last. */
static HDI_INLINE void list_uses(work *w, size_t use, size_t end, bool all)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    hdi_special *begin = NULL, *x = NULL;
    uint32_t pass = HDI_NONE, opener = HDI_NONE;
    size_t rank = 0;
    for (use = find_next(s, use, end, all); use < end; use = find_next(s, use + 1, end, all)) {
        uint32_t r = decl->use_res[use];
        hdi_sched_res *res = &s->res[r];
        uint32_t what = find_special(s, res, use);
        bool counts = !all && res->first < s->rank_begin && hdi_sched_has(s, res->last);
        if (!what && !counts)
            continue;
        if (decl->use_pass[use] != pass) {
            end_list(w, rank, begin, x, opener);
            pass = decl->use_pass[use];
            rank = s->pass_rank[pass] - s->rank_begin;
            begin = x = &w->out->list[w->out->count];
            opener = HDI_NONE;
        }
        if (s->rank_pass[rank] != pass) /* it is culled */
            continue;
        if (counts)
            count_here(res);
        if (what & HDI_MIXED_LAYOUTS) {
            hdi_span span = hdi_use_span(decl, s->frozen, (uint32_t)use);
            uint32_t first = find_notes(w, r) + span.base - s->frozen->res_seg_begin[r];
            uint32_t layout = decl->access[decl->use_access[use]].layout;
            *x++ = (hdi_special){first, span.rows * span.cols, span.cols, span.stride, layout};
        } else if (what & HDI_MIXED_OPENERS) {
            x->at = opener = r;
            x++->count = 0;
            take_apart(w, res);
        }
    }
    end_list(w, rank, begin, x, opener);
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

bool hdi_find_specials(const hdi_sched *s, hdi_ask *ask, hdi_specials *out)
{
    uint32_t most = s->mixed_uses < s->use_count ? s->mixed_uses : s->use_count;
    work w = {.s = s, .ask = ask, .out = out};
    *out = (hdi_specials){.count = 1};
    out->list = HDI_ARENA_ARRAY(s->arena, hdi_special, 2 * (size_t)most + 1); /* with what ends that of a pass */
    if (s->arena->failed)
        return false;
    if (s->alone || s->rank_begin == 0)
        find_when_alone(&w);
    else
        find_beside_others(&w);
    out->note = HDI_ARENA_ZEROED(s->arena, hdi_note, out->note_count);
    return !s->arena->failed;
}
