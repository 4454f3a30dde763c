#include "depend_edges.h"

#include <string.h>

#include "hints.h"

/* Flow, cull and depend at once, of a simple frame: nothing is used by ranges, each resource is written at most once,
 * before all else is done with it, and each pass is read by somebody, is a root, or writes what outlives the frame. So
 * an edge leads from a resource's only writer to each of its readers, there is nothing else to know of the past, and
 * nobody is culled. One walk over the uses finds the edges, and whether the frame is such a one: it is taken for one
 * first, as asking costs as much as doing. O(uses + edges), a third of what the three phases take. For the caller
 * alone. */

typedef struct work {
    const hdi_decl *decl;
    uint32_t *writer; /* per resource; nobody: it is not used yet, start: it is, and not written */
    hdi_edges edges;
} work;

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
    w->edges.count = (uint32_t)count;
    return !(later & HDI_USE_WRITES);
}

/* Whether a pass that nobody follows is kept. */
static HDI_APART bool is_wanted(const work *w, uint32_t pass)
{
    const hdi_decl *decl = w->decl;
    if (decl->pass_flags[pass] & HDI_PASS_ROOT)
        return true;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        if (decl->use_flags[u] & HDI_USE_WRITES &&
            decl->res_flags[decl->use_res[u]] & (HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY))
            return true;
    }
    return false;
}

/* From counts to places. Returns whether all passes are kept. */
static bool find_places(work *w, uint32_t *succ_begin)
{
    uint64_t *const follow = w->edges.follow;
    uint32_t sum = 0, passes = w->decl->pass_count;
    for (uint32_t p = 0; p < passes; p++) {
        uint32_t count = (uint32_t)follow[p];
        succ_begin[p] = sum;
        follow[p] = sum += count;
        if (HDI_UNLIKELY(count == 0) && !is_wanted(w, p))
            return false;
    }
    succ_begin[passes] = sum;
    return true;
}

static bool start(work *w, const hdi_crew *crew, hdi_arena *arena)
{
    const uint32_t resources = w->decl->res_count;
    if (!hdi_edges_start(w->decl, crew, arena, &w->edges))
        return false;
    w->writer = HDI_ARENA_ARRAY(arena, uint32_t, resources);
    if (!w->writer)
        return false;
    for (uint32_t r = 0; r < resources; r++)
        w->writer[r] = hdi_flow_nobody(w->decl);
    return true;
}

hd_result hdi_depend_simple(const hdi_decl *decl, const hdi_crew *crew, hdi_arena *arena, hdi_kept *kept,
                            hdi_depends *out, bool *done)
{
    *done = false;
    if (decl->range_count || decl->may_read_unwritten || decl->has_empty_passes || hdi_crew_part_count(crew) > 1)
        return HD_OK;
    work w = {.decl = decl};
    hdi_arena_mark mark = hdi_arena_here(arena);
    uint32_t passes = decl->pass_count;
    kept->kept_count = passes;
    kept->pass_kept = HDI_ARENA_ARRAY(arena, uint8_t, passes);
    out->succ_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)passes + 1);
    if (!start(&w, crew, arena))
        return HD_OUT_OF_MEMORY;
    if (!walk(&w) || !find_places(&w, out->succ_begin)) {
        hdi_arena_keep(arena, mark, NULL, 0);
        return HD_OK;
    }
    out->pred_begin = w.edges.pred_end - 1;
    out->pred = HDI_ARENA_ARRAY(arena, uint32_t, w.edges.count);
    out->succ = HDI_ARENA_ARRAY(arena, uint32_t, w.edges.count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    memset(kept->pass_kept, 1, passes);
    hdi_edges_turn(&w.edges, out->pred, out->succ);
    const hdi_arena_kept arrays[] = {{&out->pred, w.edges.count * sizeof(uint32_t)},
                                     {&out->succ, w.edges.count * sizeof(uint32_t)}};
    hdi_arena_keep(arena, w.edges.mark, arrays, 2);
    *done = out->simple = true;
    return HD_OK;
}
