#include "depend_edges.h"

#include <string.h>

#include "hints.h"

/* Depend: who must come before whom, among kept passes, in declaration order. A read follows whose content it finds; a
 * write follows the reads since the write before it, or that write where there are none. (What a kept pass finds is
 * kept, too: only before a write there may be visits of culled passes, which are passed over.) Edges are found pass by
 * pass, each once, grouped by the pass that follows; the other way round they are put in order by the counts of that
 * walk. O(visits + edges).
 *
 * In parallel each part walks passes of its own, with counts and edges of its own; when it is known what stands before
 * them, in both tables, it puts them there. Most edges are short, so counts are joined block by block, of the parts
 * that follow somebody in it. */

enum { BLOCK = HDI_EDGES_BLOCK };

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_flow *flow;
    const uint8_t *pass_kept;
    hdi_depends *out;
    const hdi_crew *crew;
    hdi_arena *arena;
    bool all_kept;
    uint32_t parts, blocks;
    uint32_t first_edge[HDI_FEW_PARTS + 1]; /* of the passes of a part */
    hdi_edges part[HDI_FEW_PARTS];
} work;

/* A write of what was visited before: the visits of its segment from the newest on. In a pass that writes it nothing
 * else visits it, so the writer's visit is known by its pass. */
static uint32_t add_late(const work *w, hdi_edges *own, uint32_t id, uint32_t to, uint32_t count)
{
    hdi_visit visit = w->flow->visit[id];
    uint32_t writer = hdi_visit_found(visit) & ~HDI_FOUND_LATE;
    bool read = false;
    for (uint32_t before; (before = hdi_visit_before(visit)) != 0;) {
        uint32_t pass = w->flow->pass[before & ~HDI_VISITED];
        bool kept = w->pass_kept[pass], writes = pass == writer;
        if (kept && !(writes && read))
            count = hdi_edges_add_more(own, pass, to, count);
        if (kept && writes)
            break;
        visit = w->flow->visit[before & ~HDI_VISITED];
        read |= kept;
        writer = writes ? hdi_visit_found(visit) & ~HDI_FOUND_LATE : writer;
    }
    return count;
}

/* Of a use that does not just find what one pass wrote. */
static HDI_APART uint32_t add_others(const work *w, hdi_edges *own, uint32_t use, uint32_t count)
{
    uint32_t to = w->decl->use_pass[use];
    if (!w->pass_kept[to])
        return count;
    if (hdi_visit_found(w->flow->visit[use]) & HDI_FOUND_LATE)
        return add_late(w, own, use, to, count);
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    uint32_t first = hdi_visit_found(w->flow->visit[use]) & ~HDI_FOUND_SEVERAL, end = first + span.rows * span.cols;
    for (uint32_t id = first; id < end; id++) {
        uint32_t found = hdi_visit_found(w->flow->visit[id]);
        if (found & HDI_FOUND_LATE)
            count = add_late(w, own, id, to, count);
        else
            count = hdi_edges_add_more(own, found, to, count);
    }
    return count;
}

/* Edges to what the passes of a part follow, over uses, and not over passes and their uses: how many a pass has nobody
 * can foresee. Where those of each pass end is counted from the part's first. */
static HDI_INLINE void find_edges(const work *w, hdi_edges *own, size_t first, size_t end, bool all_kept)
{
    const hdi_visit *const visits = w->flow->visit;
    const uint8_t *const pass_kept = w->pass_kept;
    const uint32_t *const use_pass = w->decl->use_pass;
    uint32_t *const pred_end = own->pred_end;
    const uint32_t none = hdi_flow_nobody(w->decl);
    hdi_pass_edge *edge = own->edge; /* in registers, like `follow` */
    uint64_t *const follow = own->follow;
    size_t count = 0; /* this and the counter of the loop are as wide as addresses: nothing is to be extended */
    for (size_t u = first; u < end; u++) {
        uint32_t from = hdi_visit_found(visits[u]), to = use_pass[u];
        if (HDI_LIKELY(from < HDI_FOUND_SEVERAL)) {
            count = hdi_edges_add(follow, edge, all_kept || pass_kept[to] ? from : none, to, count);
        } else {
            count = add_others(w, own, (uint32_t)u, (uint32_t)count);
            edge = own->edge;
        }
        pred_end[to] = (uint32_t)count;
    }
    own->count = (uint32_t)count;
}

/* Of the passes of a block. Returns what stands behind them. */
static uint32_t find_places_of(const work *w, uint32_t block, uint32_t sum)
{
    uint32_t *const succ_begin = w->out->succ_begin;
    uint32_t begin = block * BLOCK, rest = w->decl->pass_count - begin, end = begin + (rest < BLOCK ? rest : BLOCK);
    uint64_t *follow[HDI_FEW_PARTS];
    uint32_t parts = 0;
    for (uint32_t k = 0; k < w->parts; k++) {
        if (w->part[k].blocks[block])
            follow[parts++] = w->part[k].follow;
    }
    for (uint32_t p = begin; p < end; p++) {
        succ_begin[p] = sum;
        for (uint32_t k = 0; k < parts; k++) {
            const uint32_t count = (uint32_t)follow[k][p];
            follow[k][p] = sum;
            sum += count;
        }
    }
    return sum;
}

/* From counts to places: where the edges begin. */
static void find_places(uint32_t k, void *user)
{
    const work *w = user;
    uint32_t block = hdi_range_begin(w->blocks, w->parts, k), end = hdi_range_begin(w->blocks, w->parts, k + 1),
             sum = 0;
    for (const hdi_edges *of = w->part; k > 0 && of < w->part + w->parts; of++) {
        for (uint32_t before = 0; before < block; before++)
            sum += of->blocks[before];
    }
    for (; block < end; block++)
        sum = find_places_of(w, block, sum);
}

static void find_all(const work *w, hdi_edges *own, uint32_t begin, uint32_t end)
{
    const uint32_t *use_begin = w->decl->pass_use_begin;
    if (w->all_kept)
        find_edges(w, own, use_begin[begin], use_begin[end], true);
    else
        find_edges(w, own, use_begin[begin], use_begin[end], false);
    if (HDI_UNLIKELY(w->decl->has_empty_passes))
        hdi_edges_end_empty(w->decl, own, begin, end);
}

static void find_part(uint32_t k, void *user)
{
    work *w = user;
    uint32_t pass_count = w->decl->pass_count;
    uint32_t begin = hdi_range_begin(pass_count, w->parts, k), end = hdi_range_begin(pass_count, w->parts, k + 1);
    hdi_edges *own = &w->part[k];
    hdi_arena *arena = own->arena = &w->crew->arena[k];
    own->mark = hdi_arena_here(arena);
    own->pred_end = w->out->pred_begin + 1;
    own->blocks = HDI_ARENA_ZEROED(arena, uint32_t, w->blocks);
    if (arena->failed || !hdi_edges_start_part(w->decl, w->crew, begin, end, own))
        return;
    find_all(w, own, begin, end);
    for (uint32_t block = 0; block * BLOCK < end; block++) {
        uint32_t rest = end - block * BLOCK;
        for (uint32_t p = block * BLOCK, last = p + (rest < BLOCK ? rest : BLOCK); p < last; p++)
            own->blocks[block] += (uint32_t)own->follow[p];
    }
}

/* The edges of a part to where they belong. */
static void place_part(uint32_t k, void *user)
{
    const work *w = user;
    const hdi_edges *own = &w->part[k];
    uint32_t pass_count = w->decl->pass_count, first = w->first_edge[k];
    uint32_t *const pred = w->out->pred + first, *const succ = w->out->succ;
    uint32_t begin = hdi_range_begin(pass_count, w->parts, k), end = hdi_range_begin(pass_count, w->parts, k + 1);
    for (size_t e = 0; e < own->count; e++) {
        const uint32_t from = hdi_edge_from(own->edge[e]);
        pred[e] = from;
        succ[own->follow[from]++] = hdi_edge_to(own->edge[e]);
    }
    for (uint32_t p = begin; p < end; p++)
        w->out->pred_begin[p + 1] += first;
    hdi_arena_keep(own->arena, own->mark, NULL, 0);
}

static hd_result depend_by_parts(work *w)
{
    hdi_depends *out = w->out;
    out->pred_begin = HDI_ARENA_ARRAY(w->arena, uint32_t, (size_t)w->decl->pass_count + 1);
    out->succ_begin = HDI_ARENA_ARRAY(w->arena, uint32_t, (size_t)w->decl->pass_count + 1);
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    out->pred_begin[0] = 0;
    hdi_crew_parts(w->crew, w->parts, find_part, w);
    for (uint32_t k = 0; k < w->parts; k++) {
        if (w->crew->arena[k].failed)
            return HD_OUT_OF_MEMORY;
        w->first_edge[k + 1] = w->first_edge[k] + w->part[k].count;
    }
    out->pred = HDI_ARENA_ARRAY(w->arena, uint32_t, w->first_edge[w->parts]);
    out->succ = HDI_ARENA_ARRAY(w->arena, uint32_t, w->first_edge[w->parts] + 1);
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(w->crew, w->parts, find_places, w);
    hdi_crew_parts(w->crew, w->parts, place_part, w);
    out->succ_begin[w->decl->pass_count] = out->pred_begin[w->decl->pass_count];
    out->succ[w->first_edge[w->parts]] = HDI_NONE;
    return HD_OK;
}

static hd_result depend_at_once(work *w)
{
    hdi_edges *own = &w->part[0];
    if (!hdi_edges_start(w->decl, w->crew, w->arena, own))
        return HD_OUT_OF_MEMORY;
    find_all(w, own, 0, w->decl->pass_count);
    return hdi_edges_finish(own, w->decl->pass_count, NULL, w->out) ? HD_OK : HD_OUT_OF_MEMORY;
}

hd_result hdi_depend(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_flow *flow, const hdi_kept *kept,
                     const hdi_crew *crew, hdi_arena *arena, hdi_depends *out)
{
    work w = {decl,
              frozen,
              flow,
              kept->pass_kept,
              out,
              crew,
              arena,
              .all_kept = kept->kept_count == decl->pass_count,
              .parts = hdi_crew_part_count(crew),
              .blocks = (decl->pass_count + BLOCK - 1) / BLOCK};
    return w.parts > 1 ? depend_by_parts(&w) : depend_at_once(&w);
}
