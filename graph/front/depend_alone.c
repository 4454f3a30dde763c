#include "depend_edges.h"

#include <string.h>

#include "hints.h"

/* Flow, cull and depend of any frame by the caller alone: one walk over the uses finds whose content each one finds and
 * the edges that there are if all passes are kept. Then those are culled whom nobody reads, and their edges go. Where a
 * pass that is kept overwrites what one of these used, depend finds the edges anew, as it knows who is kept: that is
 * rare. The same visits and edges as of the three phases, in their order. O(visits + edges) */

typedef hdi_flow_state state;

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    hdi_flow *flow;
    uint32_t *visit_pass; /* of those behind the uses; null: there are none */
    state *state;         /* per segment */
    uint32_t next_visit;
    hdi_edges edges;
} work;

static inline uint32_t writer_of(state s)
{
    return (uint32_t)s;
}

static inline bool is_untouched(state s)
{
    return s >> 32 == 0;
}

/* The upper half of a state. */
static inline state newest(uint32_t id)
{
    return (state)(id | HDI_VISITED) << 32;
}

/* Edges to a pass that writes what was visited before: from those who read since the write before it, or from that one.
 * In a pass that writes it nothing else visits a segment, so the writer's visit is known by its pass. */
static HDI_APART uint32_t add_late(work *w, state before, uint32_t to, uint32_t count)
{
    const uint32_t writer = writer_of(before), use_count = w->decl->use_count;
    const uint32_t *const use_pass = w->decl->use_pass;
    bool read = false;
    for (uint32_t last = hdi_visit_before(before); last;) {
        uint32_t id = last & ~HDI_VISITED, pass = id < use_count ? use_pass[id] : w->visit_pass[id];
        if (pass != writer || !read)
            count = hdi_edges_add_more(&w->edges, pass, to, count);
        if (pass == writer)
            break;
        read = true;
        last = hdi_visit_before(w->flow->visit[id]);
    }
    return count;
}

/* A write of what was visited before. */
static HDI_APART uint32_t write_late(work *w, uint32_t id, uint32_t seg, uint32_t use, uint32_t count)
{
    const state before = w->state[seg];
    const uint32_t pass = w->decl->use_pass[use];
    w->flow->visit[id] = before | HDI_FOUND_LATE;
    w->flow->pass_reads[writer_of(before)] += w->decl->use_flags[use] & HDI_USE_READS;
    w->state[seg] = newest(id) | pass;
    return add_late(w, before, pass, count);
}

/* Visits of a row of segments that a use reads. There is room for their edges. */
static HDI_INLINE size_t read_row(const work *w, uint32_t id, uint32_t seg, uint32_t cols, uint32_t pass, size_t count)
{
    hdi_visit *const visit = w->flow->visit + id;
    uint32_t *const visit_pass = w->visit_pass + id, *const pass_reads = w->flow->pass_reads;
    state *const states = w->state + seg, own = newest(id);
    for (uint32_t i = 0; i < cols; i++) {
        const state before = states[i];
        visit[i] = before;
        visit_pass[i] = pass;
        pass_reads[writer_of(before)]++;
        states[i] = (own + ((state)i << 32)) | writer_of(before);
        count = hdi_edges_add(w->edges.follow, w->edges.edge, writer_of(before), pass, count);
    }
    return count;
}

/* The same of one that writes, and may read. */
static HDI_APART uint32_t write_row(work *w, uint32_t id, uint32_t seg, uint32_t cols, uint32_t use, uint32_t count)
{
    const uint32_t pass = w->decl->use_pass[use], reads = w->decl->use_flags[use] & HDI_USE_READS;
    for (uint32_t end = seg + cols; seg < end; seg++, id++) {
        const state before = w->state[seg];
        w->visit_pass[id] = pass;
        if (!is_untouched(before)) {
            count = write_late(w, id, seg, use, count);
            continue;
        }
        w->flow->visit[id] = before;
        w->flow->pass_reads[writer_of(before)] += reads;
        w->state[seg] = newest(id) | pass;
    }
    return count;
}

/* All visits of a use of several segments. */
static HDI_APART uint32_t visit_several(work *w, uint32_t use, uint32_t count)
{
    const hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    const uint32_t pass = w->decl->use_pass[use];
    const bool writes = (w->decl->use_flags[use] & HDI_USE_WRITES) != 0;
    uint32_t id = w->next_visit, seg = span.base;
    w->flow->visit[use] = id | HDI_FOUND_SEVERAL;
    w->next_visit = id + span.rows * span.cols;
    if (!hdi_edges_room(&w->edges, count, span.rows * span.cols))
        return 0;
    for (uint32_t row = 0; row < span.rows; row++, id += span.cols, seg += span.stride)
        count = writes ? write_row(w, id, seg, span.cols, use, count)
                       : (uint32_t)read_row(w, id, seg, span.cols, pass, count);
    return count;
}

_Static_assert(HDI_VISITED >> 30 == HDI_USE_WRITES, "a write of what was visited is a sign");

/* Over uses, and not over passes and their uses: how many a pass has nobody can foresee. In frames with ranges those
 * that are the first of their segment can be foreseen, mostly, and they lead to no edge. In others nobody can, and
 * there is no choice but for writes of what was visited before: who is first finds a writer that is none, from whom no
 * edge leads. */
static HDI_INLINE void walk(work *w, bool ranges)
{
    const uint32_t *const use_seg = w->frozen->use_seg, *const use_pass = w->decl->use_pass;
    const uint8_t *const use_flags = w->decl->use_flags;
    hdi_visit *const visits = w->flow->visit;
    state *const states = w->state;
    uint32_t *const pass_reads = w->flow->pass_reads, *const pred_end = w->edges.pred_end;
    uint64_t *const follow = w->edges.follow;
    hdi_pass_edge *edge = w->edges.edge;
    size_t count = 0;
    for (size_t u = 0, end = w->decl->use_count; u < end; u++) {
        const size_t pass = use_pass[u];
        const uint32_t seg = use_seg[u], flags = use_flags[u];
        if (ranges && HDI_UNLIKELY(seg == HDI_NONE)) {
            count = visit_several(w, (uint32_t)u, (uint32_t)count);
            edge = w->edges.edge;
        } else if (HDI_UNLIKELY((int64_t)(states[seg] & (uint64_t)flags << 62) < 0)) { /* it writes what was visited */
            count = write_late(w, (uint32_t)u, seg, (uint32_t)u, (uint32_t)count);
            edge = w->edges.edge;
        } else {
            const state before = states[seg];
            const size_t writer = writer_of(before), last = flags & HDI_USE_WRITES ? pass : writer;
            uint64_t own = u + HDI_VISITED;
            HDI_HIDE(own); /* else the shifted constant takes one more register */
            visits[u] = before;
            pass_reads[writer] += flags & HDI_USE_READS;
            if (ranges && is_untouched(before)) {
                states[seg] = own << 32 | last;
            } else {
                states[seg] = own << 32 | (ranges ? writer : last);
                count = hdi_edges_add(follow, edge, writer, (uint32_t)pass, count);
            }
        }
        pred_end[pass] = (uint32_t)count;
    }
    HDI_HIDE(count); /* else the loop keeps it in 32 bits, too */
    w->edges.count = (uint32_t)count;
}

/* Apart, so that they have the registers. */
static HDI_APART void depend_ranges(work *w)
{
    walk(w, true);
}

static HDI_APART void depend_whole(work *w)
{
    walk(w, false);
}

static bool start(work *w, const hdi_crew *crew, hdi_arena *arena)
{
    const hdi_decl *decl = w->decl;
    const uint32_t visit_count = w->frozen->visit_count, passes = hdi_flow_end(decl, crew);
    w->flow->visit = HDI_ARENA_ARRAY(arena, hdi_visit, visit_count);
    w->flow->pass = decl->use_pass;
    if (visit_count > decl->use_count)
        w->flow->pass = w->visit_pass = HDI_ARENA_ARRAY(arena, uint32_t, visit_count);
    w->flow->pass_reads = HDI_ARENA_ZEROED(arena, uint32_t, passes);
    w->next_visit = decl->use_count;
    if (!hdi_edges_start(decl, crew, arena, &w->edges))
        return false;
    w->state = HDI_ARENA_ARRAY(arena, state, w->frozen->seg_count);
    if (w->state)
        hdi_flow_start_states(decl, w->frozen, w->state);
    return !arena->failed;
}

/* The last writes of what outlives the frame are read when it is over. */
static void read_what_stays(const work *w)
{
    const uint32_t *const begin = w->frozen->res_seg_begin, end = w->decl->res_count;
    for (uint32_t r = 0; (r = hdi_next_flagged(w->decl, r, end, HDI_RES_OUTLIVES)) < end; r++) {
        for (uint32_t seg = begin[r]; seg < begin[r + 1]; seg++)
            w->flow->pass_reads[writer_of(w->state[seg])]++;
    }
}

/* Who uses what, anew, from the visits. */
static hd_result depend_again(work *w, hdi_kept *kept, const hdi_crew *crew, hdi_arena *arena, hdi_depends *out)
{
    const hdi_arena_kept kept_bytes = {&kept->pass_kept, hdi_flow_end(w->decl, crew)};
    hdi_arena_keep(arena, w->edges.mark, &kept_bytes, 1);
    if (w->visit_pass)
        memcpy(w->visit_pass, w->decl->use_pass, w->decl->use_count * sizeof(*w->visit_pass));
    return hdi_depend(w->decl, w->frozen, w->flow, kept, crew, arena, out);
}

hd_result hdi_depend_alone(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_crew *crew, hdi_arena *arena,
                           hdi_flow *flow, hdi_kept *kept, hdi_depends *out, uint32_t *bad_use)
{
    work w = {.decl = decl, .frozen = frozen, .flow = flow};
    const uint32_t passes = decl->pass_count;
    if (!start(&w, crew, arena))
        return HD_OUT_OF_MEMORY;
    if (w.visit_pass)
        depend_ranges(&w);
    else
        depend_whole(&w);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (HDI_UNLIKELY(decl->has_empty_passes))
        hdi_edges_end_empty(decl, &w.edges, 0, passes);
    if (decl->may_read_unwritten && flow->pass_reads[hdi_flow_nobody(decl)]) {
        *bad_use = hdi_flow_find_bad(decl, frozen, flow->visit);
        return HD_UNWRITTEN_READ;
    }
    read_what_stays(&w);
    hd_result result = hdi_cull(decl, frozen, flow, crew, arena, kept);
    if (result != HD_OK)
        return result;
    if (kept->kept_count != passes && !hdi_edges_drop(&w.edges, kept, passes))
        return depend_again(&w, kept, crew, arena, out);
    return hdi_edges_finish(&w.edges, passes, &kept->pass_kept, out) ? HD_OK : HD_OUT_OF_MEMORY;
}
