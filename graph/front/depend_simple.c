#include "depend_edges.h"

#include <string.h>

#include "hints.h"

/* Flow, cull and depend at once, of a simple frame. One walk over the uses finds the edges, and whether the frame is
 * such a one: it is taken for one first, as asking costs as much as doing. For the caller alone.
 *
 * Without ranges each resource of it is written at most once, before all else is done with it, and each pass is read by
 * somebody, is a root, or writes what outlives the frame. So an edge leads from a resource's only writer to each of its
 * readers, there is nothing else to know of the past, and nobody is culled. O(uses + edges), a third of what the three
 * phases take. (Culling here, too, takes a third less instructions of a frame with many dead passes than
 * depend_alone.c, but a quarter more time: who is the first, and who is dead, nobody can foresee there.)
 *
 * Frames with ranges mostly have few dead passes, and write again some of what they read: such a write looks back over
 * the uses for who read it. To tie all visits for that, and to count all reads, took a third as much again. Who looks
 * back further than FURTHEST in all is no simple frame. */

enum { FURTHEST = 4 }; /* so many uses may be looked back over for each use there is */

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    uint32_t *writer; /* per resource; nobody: it is not used yet, start: it is, and not written */
    /* With ranges instead; per segment: the same in the lower half, and in the upper one the use that wrote it; not
     * written: its first one. */
    uint64_t *state;
    uint32_t *not_read; /* per pass: how many follow it that may not read what it wrote */
    uint64_t looked;    /* uses that were looked back over */
    bool unwritten;     /* somebody reads what nobody wrote */
    hdi_edges edges;
} work;

static inline uint32_t writer_of(uint64_t state)
{
    return (uint32_t)state;
}

/* Over uses, and not over passes and their uses: how many a pass has nobody can foresee. Which uses are the first of
 * their resource can be foreseen, mostly, and they lead to no edge. Returns whether all writes are such. */
static HDI_APART bool walk(work *w)
{
    const uint32_t *const use_res = w->decl->use_res, *const use_pass = w->decl->use_pass;
    const uint8_t *const use_flags = w->decl->use_flags;
    uint32_t *const pred_end = w->edges.pred_end, *const writers = w->writer;
    uint64_t *const follow = w->edges.follow;
    hdi_pass_edge *const edge = w->edges.edge;
    const uint32_t nobody = hdi_flow_nobody(w->decl), start = hdi_flow_start(w->decl);
    uint32_t later = 0;
    size_t count = 0;
    for (size_t u = 0, end = w->decl->use_count; u < end; u++) {
        uint32_t flags = use_flags[u], pass = use_pass[u], *writer = &writers[use_res[u]];
        if (*writer == nobody) {
            *writer = flags & HDI_USE_WRITES ? pass : start;
        } else {
            later |= flags;
            count = hdi_edges_add(follow, edge, *writer, pass, count);
        }
        pred_end[pass] = (uint32_t)count;
    }
    HDI_HIDE(count); /* else the loop keeps it in 32 bits, too */
    w->edges.count = (uint32_t)count;
    return !(later & HDI_USE_WRITES);
}

/* ---- with ranges ---- */

/* Whether a use visits a segment of its resource. */
static inline bool covers(const work *w, uint32_t use, uint32_t seg)
{
    const uint32_t own = w->frozen->use_seg[use];
    if (own != HDI_NONE)
        return own == seg;
    const hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    const uint32_t at = seg - span.base; /* below the base: behind all */
    return span.stride ? at / span.stride < span.rows && at % span.stride < span.cols : at < span.cols;
}

/* A write of what was used: edges from those who read since the write before it, the newest first, or from that one. */
static HDI_APART size_t write_late(work *w, uint32_t seg, uint32_t use, size_t count)
{
    const uint32_t *const use_res = w->decl->use_res;
    const uint32_t res = use_res[use], pass = w->decl->use_pass[use], writer = writer_of(w->state[seg]),
                   since = (uint32_t)(w->state[seg] >> 32);
    bool read = false;
    w->state[seg] = (uint64_t)use << 32 | pass;
    w->looked += use - since;
    if (w->looked > (uint64_t)FURTHEST * w->decl->use_count)
        return count;
    for (size_t u = use; u > since;) {
        do
            u--;
        while (use_res[u] != res); /* `since` is one of its uses */
        const uint32_t before = w->decl->use_pass[u];
        if (!covers(w, (uint32_t)u, seg) || (before == writer && read))
            continue;
        const uint32_t more = hdi_edges_add_more(&w->edges, before, pass, (uint32_t)count);
        if (before != writer || !(w->decl->use_flags[use] & HDI_USE_READS))
            w->not_read[before] += more - (uint32_t)count;
        read = true;
        count = more;
    }
    return count;
}

/* The first use of a segment, which mostly just writes it. Which one reads what nobody wrote, the three phases tell. */
static HDI_APART uint64_t read_first(work *w, uint32_t use)
{
    w->unwritten |= !(w->decl->res_flags[w->decl->use_res[use]] & HDI_RES_CONTENT);
    const bool writes = (w->decl->use_flags[use] & HDI_USE_WRITES) != 0;
    return (uint64_t)use << 32 | (writes ? w->decl->use_pass[use] : hdi_flow_start(w->decl));
}

static HDI_INLINE uint64_t use_first(work *w, size_t use, uint32_t flags, uint32_t pass)
{
    return HDI_LIKELY(!(flags & HDI_USE_READS)) ? (uint64_t)use << 32 | pass : read_first(w, (uint32_t)use);
}

/* A use of several segments. */
static HDI_APART size_t use_several(work *w, uint32_t use, size_t count)
{
    const hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    const uint32_t pass = w->decl->use_pass[use], flags = w->decl->use_flags[use], nobody = hdi_flow_nobody(w->decl);
    uint32_t seg = span.base;
    if (!hdi_edges_room(&w->edges, (uint32_t)count, span.rows * span.cols))
        return 0;
    for (uint32_t row = 0; row < span.rows; row++, seg += span.stride) {
        for (uint32_t s = seg; s < seg + span.cols; s++) {
            const uint32_t writer = writer_of(w->state[s]);
            if (writer == nobody)
                w->state[s] = use_first(w, use, flags, pass);
            else if (flags & HDI_USE_WRITES)
                count = write_late(w, s, use, count);
            else
                count = hdi_edges_add(w->edges.follow, w->edges.edge, writer, pass, count);
        }
    }
    return count;
}

/* The same over segments. Returns whether all is well, and nobody had to look back too far. Without memory edges are
 * written over, and tell nothing. */
static HDI_APART bool walk_ranges(work *w)
{
    const uint32_t *const use_seg = w->frozen->use_seg, *const use_pass = w->decl->use_pass;
    const uint8_t *const use_flags = w->decl->use_flags;
    uint32_t *const pred_end = w->edges.pred_end;
    uint64_t *const follow = w->edges.follow, *const states = w->state;
    hdi_pass_edge *edge = w->edges.edge;
    const uint32_t nobody = hdi_flow_nobody(w->decl);
    size_t count = 0;
    for (size_t u = 0, end = w->decl->use_count; u < end; u++) {
        const uint32_t seg = use_seg[u], pass = use_pass[u], flags = use_flags[u];
        if (HDI_UNLIKELY(seg == HDI_NONE)) {
            count = use_several(w, (uint32_t)u, count);
            edge = w->edges.edge;
        } else if (writer_of(states[seg]) == nobody) {
            states[seg] = use_first(w, u, flags, pass);
        } else if (HDI_UNLIKELY(flags & HDI_USE_WRITES)) {
            count = write_late(w, seg, (uint32_t)u, count);
            edge = w->edges.edge;
        } else {
            count = hdi_edges_add(follow, edge, writer_of(states[seg]), pass, count);
        }
        pred_end[pass] = (uint32_t)count;
    }
    HDI_HIDE(count); /* else the loop keeps it in 32 bits, too */
    w->edges.count = (uint32_t)count;
    return !w->unwritten && !w->edges.arena->failed && w->looked <= (uint64_t)FURTHEST * w->decl->use_count;
}

/* Whether a use writes what a frame leaves, as the last one. */
static bool is_last(const work *w, uint32_t use)
{
    const uint32_t pass = w->decl->use_pass[use];
    const hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    for (uint32_t row = 0, seg = span.base; row < span.rows; row++, seg += span.stride) {
        for (uint32_t s = seg; s < seg + span.cols; s++) {
            if (writer_of(w->state[s]) == pass)
                return true;
        }
    }
    return false;
}

/* ---- both ---- */

/* Whether a pass that nobody reads is kept. */
static HDI_APART bool is_wanted(const work *w, uint32_t pass)
{
    const hdi_decl *decl = w->decl;
    if (decl->pass_flags[pass] & HDI_PASS_ROOT)
        return true;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        if (decl->use_flags[u] & HDI_USE_WRITES && decl->res_flags[decl->use_res[u]] & HDI_RES_OUTLIVES &&
            (!w->state || is_last(w, u)))
            return true;
    }
    return false;
}

/* From counts to places. False: somebody is read by nobody. */
static bool find_places(const work *w, uint32_t *succ_begin)
{
    const uint64_t *const follow = w->edges.follow;
    uint32_t sum = 0, passes = w->decl->pass_count;
    for (uint32_t p = 0; p < passes; p++) {
        const uint32_t count = (uint32_t)follow[p];
        if (HDI_UNLIKELY(count == 0) && !is_wanted(w, p))
            return false;
        succ_begin[p + 1] = sum;
        sum += count;
    }
    return true;
}

/* The same with ranges, and finds who is culled: all that may be, as far as counts tell. Who follows a pass stands
 * behind it, so one walk from the last on does. Where a pass that is kept follows one of them it reads it after all, or
 * overwrites what it used: no simple frame, false. */
static HDI_APART bool find_kept(work *w, uint32_t *succ_begin, hdi_kept *kept)
{
    uint64_t *const follow = w->edges.follow;
    const uint32_t *const pred_begin = w->edges.pred_end - 1, *const not_read = w->not_read;
    const uint32_t passes = w->decl->pass_count;
    uint32_t at = w->edges.count;
    for (uint32_t p = passes; p-- > 0;) {
        const uint32_t count = (uint32_t)follow[p];
        if (HDI_UNLIKELY(count <= not_read[p]) && !is_wanted(w, p)) {
            if (count)
                return false;
            kept->pass_kept[p] = 0;
            kept->kept_count--;
            for (uint32_t e = pred_begin[p]; e < pred_begin[p + 1]; e++)
                follow[hdi_edge_from(w->edges.edge[e])]--;
        }
        succ_begin[p + 1] = at -= count;
    }
    if (kept->kept_count == passes)
        return true;
    for (uint32_t p = 1; p <= passes; p++) /* so many edges are gone */
        succ_begin[p] -= at;
    hdi_edges_close(&w->edges, kept->pass_kept, passes);
    return true;
}

static bool start(work *w, const hdi_crew *crew, hdi_arena *arena)
{
    const hdi_decl *decl = w->decl;
    const uint32_t resources = decl->res_count, nobody = hdi_flow_nobody(decl);
    if (!hdi_edges_start(decl, crew, arena, &w->edges))
        return false;
    if (decl->range_count) {
        w->not_read = HDI_ARENA_ZEROED(arena, uint32_t, decl->pass_count);
        w->state = HDI_ARENA_ARRAY(arena, uint64_t, w->frozen->seg_count);
        for (uint32_t s = 0; w->state && s < w->frozen->seg_count; s++)
            w->state[s] = nobody;
    } else {
        w->writer = HDI_ARENA_ARRAY(arena, uint32_t, resources);
        for (uint32_t r = 0; w->writer && r < resources; r++)
            w->writer[r] = nobody;
    }
    return !arena->failed;
}

/* Returns whether the frame is a simple one. */
static bool find_edges(work *w, uint32_t *succ_begin, hdi_kept *kept)
{
    memset(kept->pass_kept, 1, w->decl->pass_count);
    return w->state ? walk_ranges(w) && find_kept(w, succ_begin, kept) : walk(w) && find_places(w, succ_begin);
}

hd_result hdi_depend_simple(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_crew *crew, hdi_arena *arena,
                            hdi_kept *kept, hdi_depends *out, bool *done)
{
    *done = false;
    if ((decl->may_read_unwritten && !decl->range_count) || decl->has_empty_passes || hdi_crew_part_count(crew) > 1)
        return HD_OK;
    work w = {.decl = decl, .frozen = frozen};
    hdi_arena_mark mark = hdi_arena_here(arena);
    uint32_t passes = decl->pass_count;
    kept->kept_count = passes;
    kept->pass_kept = HDI_ARENA_ARRAY(arena, uint8_t, passes);
    out->succ_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)passes + 1);
    const bool levels = decl->range_count && passes < crew->region_passes;
    out->level = levels ? HDI_ARENA_ZEROED(arena, uint32_t, passes) : NULL;
    if (!start(&w, crew, arena))
        return HD_OUT_OF_MEMORY;
    const bool simple = find_edges(&w, out->succ_begin, kept);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (!simple) {
        hdi_arena_keep(arena, mark, NULL, 0);
        out->level = NULL;
        return HD_OK;
    }
    out->pred_begin = w.edges.pred_end - 1;
    out->pred = HDI_ARENA_ARRAY(arena, uint32_t, w.edges.count);
    out->succ = HDI_ARENA_ARRAY(arena, uint32_t, w.edges.count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_edges_turn(&w.edges, out);
    const hdi_arena_kept arrays[] = {{&out->pred, w.edges.count * sizeof(uint32_t)},
                                     {&out->succ, (w.edges.count + 1) * sizeof(uint32_t)}};
    hdi_arena_keep(arena, w.edges.mark, arrays, 2);
    *done = true;
    out->simple = decl->range_count == 0;
    return HD_OK;
}
