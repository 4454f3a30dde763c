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
 * that it is known what earlier parts left behind. Passes that stand together mostly use what was declared together, so a
 * part first marks the blocks of segments that it comes to: of other blocks neither it nor the join reads or writes its
 * segments. */

enum {
    GRAIN = 512,
    BLOCK = 256,     /* segments */
    OUTLIVES = HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY
};

typedef struct segment {
    uint32_t writer, newest; /* the last pass that writes it; its newest visit, as in hdi_flow.before */
} segment;

typedef struct part {
    _Alignas(HDI_LINE_PAIR) hdi_arena_mark mark;
    segment *segment;    /* once the parts are joined: what stood before it */
    uint8_t *touched;    /* blocks of segments; unused with one part */
    uint32_t *open;      /* uses that found segments untouched */
    uint32_t open_count;
    uint32_t nobody;     /* in place of a writer where it found none */
    uint32_t next_visit; /* of uses of several segments */
} part;

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    hdi_flow *out;
    const hdi_crew *crew;
    hdi_arena *arena;
    uint32_t parts;
    _Atomic(uint32_t) next_visit; /* of uses of several segments: the parts take theirs at once */
    part part[HDI_MOST_PARTS];
} work;

/* Each part has a number of its own for `nobody` while it walks, and counts on a line of its own what nobody wrote. */
static uint32_t nobody_of(const work *w, uint32_t k)
{
    return hdi_flow_nobody(w->decl) + k * (HDI_LINE_PAIR / sizeof(uint32_t));
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
static HDI_APART bool visit_several(const work *w, part *own, uint32_t use, uint32_t pass)
{
    bool untouched = false;
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    uint32_t flags = w->decl->use_flags[use];
    uint32_t first = own->next_visit, id = first;
    own->next_visit += span.rows * span.cols;
    for (uint32_t row = 0; row < span.rows; row++) {
        for (segment *s = own->segment + span.base + row * span.stride, *end = s + span.cols; s < end; s++, id++) {
            untouched |= s->writer == own->nobody;
            visit(s, w->out, id, pass, flags);
        }
    }
    w->out->found[use] = first | HDI_FOUND_SEVERAL;
    return untouched;
}

/* Marks the blocks of the segments of a part's uses. Returns how many visits there are of uses of several. */
static uint32_t touch(const work *w, uint32_t begin, uint32_t end, uint8_t *touched)
{
    const uint32_t *const use_seg = w->frozen->use_seg;
    uint32_t several = 0;
    for (uint32_t u = begin; u < end; u++) {
        uint32_t seg = use_seg[u];
        if (HDI_LIKELY(seg != HDI_NONE)) {
            touched[seg / BLOCK] = 1;
            continue;
        }
        hdi_span span = hdi_use_span(w->decl, w->frozen, u);
        uint32_t last = span.base + (span.rows - 1) * span.stride + span.cols - 1;
        for (uint32_t block = span.base / BLOCK; block <= last / BLOCK; block++)
            touched[block] = 1;
        several += span.rows * span.cols;
    }
    return several;
}

/* What the frame holds from its start is told from what nobody wrote in it, where it matters. */
static bool from_start(const hdi_decl *decl, uint32_t res)
{
    return decl->may_read_unwritten && decl->res_flags[res] & HDI_RES_CONTENT;
}

/* As the frame finds them; of a part of several what it comes to. */
static void start_segments(const work *w, part *own, bool first)
{
    const hdi_decl *decl = w->decl;
    uint32_t seg_count = w->frozen->seg_count;
    for (uint32_t begin = 0, end; begin < seg_count; begin = end) {
        end = w->parts > 1 && seg_count - begin > BLOCK ? begin + BLOCK : seg_count;
        bool needed = w->parts == 1 || own->touched[begin / BLOCK];
        for (uint32_t s = needed ? begin : end; s < end; s++)
            own->segment[s] = (segment){own->nobody, 0};
    }
    if (!first || !decl->may_read_unwritten)
        return;
    for (uint32_t r = 0; r < decl->res_count; r++) {
        uint32_t end = from_start(decl, r) ? w->frozen->res_seg_begin[r + 1] : 0;
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
    own->touched = HDI_ARENA_ZEROED(arena, uint8_t, w->parts > 1 ? (w->frozen->seg_count / BLOCK) + 1 : 0);
    own->nobody = nobody_of(w, k);
    return !arena->failed;
}

/* Returns the number of the first visit of its uses of several segments. */
static uint32_t start_part(work *w, uint32_t k, uint32_t begin, uint32_t end)
{
    part *own = &w->part[k];
    uint32_t several = w->parts > 1 ? touch(w, begin, end, own->touched) : 0;
    start_segments(w, own, k == 0);
    if (w->parts == 1)
        return w->decl->use_count;
    return several ? atomic_fetch_add_explicit(&w->next_visit, several, memory_order_relaxed) : 0;
}

/* later: other parts go before this one. */
static HDI_INLINE void walk(work *w, uint32_t k, bool later)
{
    const hdi_decl *decl = w->decl;
    const hdi_flow out = *w->out;
    const uint32_t *const use_seg = w->frozen->use_seg, *const use_begin = decl->pass_use_begin;
    const uint8_t *const use_flags = decl->use_flags;
    uint32_t p = hdi_range_begin(decl->pass_count, w->parts, k), u = use_begin[p], open_count = 0;
    uint32_t end = hdi_range_begin(decl->pass_count, w->parts, k + 1);
    if (!make_columns(w, k, use_begin[end] - u))
        return;
    w->part[k].next_visit = start_part(w, k, u, use_begin[end]);
    part own = w->part[k];
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

/* The parts that come to a block. */
typedef struct block {
    uint32_t number, count;
    uint8_t part[HDI_MOST_PARTS];
} block;

static void find_parts(const work *w, uint32_t number, block *out)
{
    out->number = number;
    out->count = 0;
    for (uint32_t k = 0; k < w->parts; k++) {
        out->part[out->count] = (uint8_t)k;
        out->count += w->parts == 1 || w->part[k].touched[number];
    }
}

/* What a segment holds at the end. Each part gets what it holds before it. */
static segment join(const work *w, const block *b, uint32_t seg, segment carry)
{
    for (uint32_t i = 0; i < b->count; i++) {
        const part *own = &w->part[b->part[i]];
        segment of_part = own->segment[seg];
        own->segment[seg] = carry;
        carry.writer = of_part.writer == own->nobody ? carry.writer : of_part.writer;
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
    block b = {.number = HDI_NONE};
    (void)range;
    for (uint32_t r = begin; r < end; r++) {
        bool outlives = res_flags[r] & OUTLIVES;
        if (w->parts == 1 && !outlives)
            continue;
        segment start = {from_start(w->decl, r) ? hdi_flow_start(w->decl) : hdi_flow_nobody(w->decl), 0};
        for (uint32_t seg = seg_begin[r]; seg < seg_begin[r + 1]; seg++) {
            if (seg / BLOCK != b.number)
                find_parts(w, seg / BLOCK, &b);
            segment last = join(w, &b, seg, start);
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
    if (!(flags & HDI_USE_READS))
        return;
    if (before.writer < w->decl->pass_count)
        count_read(w, before.writer);
    else if (w->decl->may_read_unwritten && before.writer == hdi_flow_nobody(w->decl))
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
