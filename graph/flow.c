#include "phases.h"

#include <stdatomic.h>
#include <string.h>

#include "hints.h"

/* Flow: whose content each use finds, before anything is culled. One walk over all uses with a state for each segment:
 * who wrote it last, and its newest visit. Each visit is tied to the one before it of the same segment; passes learn how
 * often somebody reads what they wrote. O(visits + segments).
 *
 * In parallel each part walks passes of its own over segments of its own, all untouched at first. What a part finds
 * untouched it keeps in a list; then the parts are joined segment by segment, and the lists are gone through again, now
 * that it is known what earlier parts left behind. */

enum { GRAIN = 2048, OUTLIVES = HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY };

typedef struct segment {
    uint32_t writer, newest; /* the last pass that writes it; its newest visit, as in hdi_flow.before */
} segment;

typedef struct part {
    hdi_arena_mark mark;
    segment *segment;    /* once the parts are joined: what stood before it */
    uint32_t *open;      /* uses that found segments untouched */
    uint32_t open_count;
    uint32_t nobody;     /* in place of a writer where it found none */
} part;

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    hdi_flow *out;
    const hdi_crew *crew;
    hdi_arena *arena;
    uint32_t parts;
    _Atomic(uint32_t) next_visit; /* of uses of several segments */
    part part[HDI_MOST_PARTS];
} work;

/* Each part has a number of its own for `nobody` while it walks, and counts in a cache line of its own what nobody
 * wrote. */
static uint32_t nobody_of(const work *w, uint32_t k)
{
    enum { CACHE_LINE_NUMBERS = 16 };
    return hdi_flow_nobody(w->decl) + k * CACHE_LINE_NUMBERS;
}

/* Visit `id` of a segment. */
static inline void visit(segment *s, const hdi_flow *out, uint32_t id, uint32_t pass, uint32_t flags)
{
    uint32_t writer = s->writer, newest = s->newest;
    out->before[id] = newest;
    out->pass[id] = pass;
    out->found[id] = writer | (newest & flags << 30); /* HDI_FOUND_LATE, as that is where HDI_USE_WRITES goes */
    out->pass_reads[writer] += flags & HDI_USE_READS;
    s->writer = flags & HDI_USE_WRITES ? pass : writer;
    s->newest = id | HDI_VISITED;
}

/* All visits of a use of several segments. Returns whether it found some untouched. */
static HDI_APART bool visit_several(work *w, const part *own, uint32_t use, uint32_t pass)
{
    bool untouched = false;
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    uint32_t flags = w->decl->use_flags[use];
    uint32_t first = atomic_fetch_add_explicit(&w->next_visit, span.rows * span.cols, memory_order_relaxed), id = first;
    for (uint32_t row = 0; row < span.rows; row++) {
        for (segment *s = own->segment + span.base + row * span.stride, *end = s + span.cols; s < end; s++, id++) {
            untouched |= s->writer == own->nobody;
            visit(s, w->out, id, pass, flags);
        }
    }
    w->out->found[use] = first | HDI_FOUND_SEVERAL;
    return untouched;
}

/* As the frame finds them; what nobody wrote in it is told from what it holds from the start, where it matters. */
static void start_segments(const work *w, part *own)
{
    const hdi_decl *decl = w->decl;
    for (uint32_t s = 0; s < w->frozen->seg_count; s++)
        own->segment[s] = (segment){own->nobody, 0};
    if (!decl->may_read_unwritten || own->nobody != hdi_flow_nobody(decl))
        return;
    for (uint32_t r = 0; r < decl->res_count; r++) {
        uint32_t end = decl->res_flags[r] & HDI_RES_CONTENT ? w->frozen->res_seg_begin[r + 1] : 0;
        for (uint32_t s = end ? w->frozen->res_seg_begin[r] : 0; s < end; s++)
            own->segment[s].writer = hdi_flow_start(decl);
    }
}

static bool make_columns(work *w, uint32_t k, uint32_t uses)
{
    hdi_arena *arena = hdi_crew_arena(w->crew, k, w->arena);
    part *own = &w->part[k];
    own->mark = hdi_arena_here(arena);
    own->segment = HDI_ARENA_ARRAY(arena, segment, w->frozen->seg_count);
    own->open = HDI_ARENA_ARRAY(arena, uint32_t, k ? uses : 0);
    own->nobody = nobody_of(w, k);
    return own->segment && own->open;
}

/* later: other parts go before this one. */
static inline __attribute__((always_inline)) void walk(work *w, uint32_t k, bool later)
{
    const hdi_decl *decl = w->decl;
    const hdi_flow out = *w->out;
    const uint32_t *const use_seg = w->frozen->use_seg, *const use_begin = decl->pass_use_begin;
    const uint8_t *const use_flags = decl->use_flags;
    uint32_t p = hdi_range_begin(decl->pass_count, w->parts, k), u = use_begin[p], open_count = 0;
    uint32_t end = hdi_range_begin(decl->pass_count, w->parts, k + 1);
    if (!make_columns(w, k, use_begin[end] - u))
        return;
    const part own = w->part[k];
    start_segments(w, &w->part[k]);
    memset(out.pass_reads + p, 0, (end - p) * sizeof(*out.pass_reads));
    out.pass_reads[own.nobody] = 0;
    for (uint32_t behind = u, last = use_begin[end]; u < last; u++) {
        while (u == behind)
            behind = use_begin[++p];
        uint32_t seg = use_seg[u];
        bool untouched = later && seg != HDI_NONE && own.segment[seg].writer == own.nobody;
        if (HDI_LIKELY(seg != HDI_NONE))
            visit(&own.segment[seg], &out, u, p - 1, use_flags[u]);
        else
            untouched = visit_several(w, &own, u, p - 1);
        if (later) {
            own.open[open_count] = u;
            open_count += untouched;
        }
    }
    w->part[k].open_count = open_count;
}

static void walk_part(uint32_t k, void *user)
{
    if (k == 0)
        walk(user, k, false);
    else
        walk(user, k, true);
}

static void count_read(const work *w, uint32_t writer)
{
    _Atomic(uint32_t) *reads = (_Atomic(uint32_t) *)&w->out->pass_reads[writer];
    if (w->parts > 1)
        atomic_fetch_add_explicit(reads, 1, memory_order_relaxed);
    else
        w->out->pass_reads[writer]++;
}

/* What a segment holds at the end. Each part gets what it holds before it. */
static segment join(const work *w, uint32_t seg)
{
    segment carry = w->part[0].segment[seg];
    for (uint32_t k = 1; k < w->parts; k++) {
        segment *s = &w->part[k].segment[seg], of_part = *s;
        *s = carry;
        carry.writer = of_part.writer == w->part[k].nobody ? carry.writer : of_part.writer;
        carry.newest = of_part.newest ? of_part.newest : carry.newest;
    }
    return carry;
}

/* And who wrote what is read when the frame is over. */
static void join_range(uint32_t begin, uint32_t end, uint32_t range, void *user)
{
    const work *w = user;
    const uint32_t *seg_begin = w->frozen->res_seg_begin;
    const uint8_t *res_flags = w->decl->res_flags;
    (void)range;
    for (uint32_t r = begin; r < end; r++) {
        bool outlives = res_flags[r] & OUTLIVES;
        if (w->parts == 1 && !outlives)
            continue;
        for (uint32_t seg = seg_begin[r]; seg < seg_begin[r + 1]; seg++) {
            segment last = join(w, seg);
            if (outlives && last.writer < w->decl->pass_count)
                count_read(w, last.writer);
        }
    }
}

/* A visit of what its part found untouched; before: what earlier parts left there. */
static void visit_again(const work *w, uint32_t id, segment before, uint32_t flags)
{
    uint32_t *own = &w->out->before[id], late = w->out->found[id] & HDI_FOUND_LATE;
    if (*own == 0) {
        *own = before.newest;
        late = before.newest & flags << 30;
    }
    w->out->found[id] = before.writer | late;
    if (flags & HDI_USE_READS && before.writer != hdi_flow_start(w->decl))
        count_read(w, before.writer);
}

static void visit_several_again(const work *w, const part *own, uint32_t use)
{
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    uint32_t flags = w->decl->use_flags[use], id = w->out->found[use] & ~HDI_FOUND_SEVERAL;
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t c = 0; c < span.cols; c++, id++) {
            if ((w->out->found[id] & ~HDI_FOUND_LATE) == own->nobody)
                visit_again(w, id, own->segment[span.base + row * span.stride + c], flags);
        }
    }
}

static void close_part(uint32_t k, void *user)
{
    const work *w = user;
    const part *own = &w->part[k];
    for (uint32_t i = 0; i < own->open_count; i++) {
        uint32_t use = own->open[i], seg = w->frozen->use_seg[use];
        if (seg == HDI_NONE)
            visit_several_again(w, own, use);
        else
            visit_again(w, use, own->segment[seg], w->decl->use_flags[use]);
    }
    hdi_arena_keep(hdi_crew_arena(w->crew, k, w->arena), own->mark, NULL, 0);
}

/* The first use that reads what nobody wrote. */
static uint32_t find_bad(const work *w)
{
    const hdi_decl *decl = w->decl;
    const uint32_t *found = w->out->found;
    for (uint32_t u = 0; u < decl->use_count; u++) {
        uint32_t first = u, count = 1;
        if (!(decl->use_flags[u] & HDI_USE_READS))
            continue;
        if (w->frozen->use_seg[u] == HDI_NONE) {
            hdi_span span = hdi_use_span(decl, w->frozen, u);
            first = found[u] & ~HDI_FOUND_SEVERAL;
            count = span.rows * span.cols;
        }
        for (uint32_t id = first; id < first + count; id++) {
            if ((found[id] & ~HDI_FOUND_LATE) == hdi_flow_nobody(decl))
                return u;
        }
    }
    return HDI_NONE;
}

hd_result hdi_flow_find(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_crew *crew, hdi_arena *arena, hdi_flow *out,
                        uint32_t *bad_use)
{
    work w = {.decl = decl, .frozen = frozen, .out = out, .crew = crew, .arena = arena, .next_visit = decl->use_count};
    w.parts = hdi_crew_part_count(crew);
    out->found = HDI_ARENA_ARRAY(arena, uint32_t, frozen->visit_count);
    out->before = HDI_ARENA_ARRAY(arena, uint32_t, frozen->visit_count);
    out->pass = HDI_ARENA_ARRAY(arena, uint32_t, frozen->visit_count);
    out->pass_reads = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)nobody_of(&w, w.parts) + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(crew, w.parts, walk_part, &w);
    for (uint32_t k = 0; k < w.parts; k++) {
        if (hdi_crew_arena(crew, k, arena)->failed)
            return HD_OUT_OF_MEMORY;
    }
    hdi_crew_ranges(crew, decl->res_count, GRAIN, join_range, &w);
    hdi_crew_parts(crew, w.parts, close_part, &w);
    if (decl->may_read_unwritten && out->pass_reads[hdi_flow_nobody(decl)])
        *bad_use = find_bad(&w);
    return *bad_use == HDI_NONE ? HD_OK : HD_UNWRITTEN_READ;
}
