#include "front.h"

#include <string.h>

#include "hints.h"

/* Depend: which passes must come before which, among kept passes, in declaration order. A read follows the pass whose
 * content it finds; a write follows the reads since the write before it, or that write where there are none. (What a
 * kept pass finds is kept, too: only before a write there may be visits of culled passes, which are passed over.)
 * Edges are found pass by pass, each once, grouped by the pass that follows; the other way round they are put in
 * order by the counts of that walk. O(visits + edges).
 *
 * Each part walks passes of its own, with counts and edges of its own; when it is known what stands before them, in
 * both tables, it puts them there. Most edges are short, so counts are joined block by block, of the parts that have an
 * edge from a pass of the block. */

/* ---- edges ---- */

/* One word an edge: in its lower half the pass that it leads from, in the upper one the pass that it leads to. */
typedef uint64_t pass_edge;
static inline uint32_t from_of(pass_edge edge)
{
    return (uint32_t)edge;
}
static inline uint32_t to_of(pass_edge edge)
{
    return (uint32_t)(edge >> 32);
}

enum { BLOCK = 256 }; /* passes */

typedef struct edges {
    _Alignas(HDI_LINE_PAIR) hdi_arena_mark mark;
    hdi_arena *arena;
    pass_edge *edge; /* grouped by the pass that they lead to */
    uint32_t count, capacity;
    uint32_t slack;     /* room for edges that there always is at the start of a pass */
    uint32_t *pred_end; /* per pass: where its edges end, from the first one of the part on */
    /* Per pass: in the upper half the newest pass that follows it already, which is never the first one, of no pass all
     * bits; in the lower one how many follow it. Then where the next of these is to stand. */
    uint64_t *follow;
    uint32_t *blocks; /* by block: how many follow its passes; not with one part */
} edges;

/* The edge from one pass to another unless it is there or leads from none. Returns the count of edges; behind them no
 * edge may be written, too. */
static HDI_INLINE size_t add_edge(uint64_t *follow, pass_edge *edge, size_t from, uint32_t to, size_t count)
{
    const uint64_t mark = (uint64_t)to << 32, before = follow[from], after = mark + (uint32_t)before + 1;
    edge[count] = mark | from;
    follow[from] = before < mark ? after : before;
    return count + (before < mark);
}

/* Room for so many more edges, and the slack. */
static inline bool make_room(edges *own, uint32_t count, uint32_t more)
{
    return hdi_arena_grow(own->arena, &own->edge, &own->capacity, count, count + more + own->slack, sizeof(*own->edge));
}

/* An edge for which there may be no room. Without memory the edges are written over: the arena tells. */
static inline uint32_t add_more(edges *own, uint32_t from, uint32_t to, uint32_t count)
{
    count = make_room(own, count, 1) ? count : 0;
    return (uint32_t)add_edge(own->follow, own->edge, from, to, count);
}

/* No edges yet, of a part of the passes; its arena and pred_end are set. False: no memory. */
static bool start_part(const hdi_decl *decl, const hdi_crew *crew, uint32_t begin, uint32_t end, edges *own)
{
    uint32_t pass_count = decl->pass_count, none = hdi_flow_end(decl, crew) - pass_count;
    hdi_arena *arena = own->arena;
    own->slack = decl->pass_use_begin[end] - decl->pass_use_begin[begin];
    own->follow = HDI_ARENA_ARRAY(arena, uint64_t, pass_count + none);
    own->edge = HDI_ARENA_ARRAY(arena, pass_edge, 2 * own->slack + BLOCK);
    if (arena->failed)
        return false;
    own->capacity = 2 * own->slack + BLOCK;
    /* No pass of the part comes before those behind it. */
    uint32_t last_block = (end + BLOCK - 1) / BLOCK * BLOCK, most = last_block < pass_count ? last_block : pass_count;
    memset(own->follow, 0, most * sizeof(*own->follow));
    memset(own->follow + pass_count, 0xff, none * sizeof(*own->follow));
    return true;
}

/* Where the edges of passes without uses end. */
static void end_empty(const hdi_decl *decl, const edges *own, uint32_t begin, uint32_t end)
{
    const uint32_t *const use_begin = decl->pass_use_begin;
    for (uint32_t p = begin; p < end; p++) {
        if (use_begin[p] == use_begin[p + 1])
            own->pred_end[p] = p > begin ? own->pred_end[p - 1] : 0;
    }
}

/* ---- the walk ---- */

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_flow *flow;
    const uint8_t *pass_kept;
    hdi_depends *out;
    const hdi_crew *crew;
    hdi_arena *arena;
    uint32_t parts, blocks;
    uint32_t first_edge[HDI_FEW_PARTS + 1]; /* of the passes of a part */
    edges part[HDI_FEW_PARTS];
} work;

/* A write of what was visited before: the visits of its segment from the newest on. In a pass that writes it nothing
 * else visits it, so the writer's visit is known by its pass. */
static uint32_t add_late(const work *w, edges *own, uint32_t id, uint32_t to, uint32_t count)
{
    hdi_visit visit = w->flow->visit[id];
    uint32_t writer = hdi_visit_found(visit) & ~HDI_FOUND_LATE;
    bool read = false;
    for (uint32_t before; (before = hdi_visit_before(visit)) != 0;) {
        uint32_t pass = w->flow->pass[before & ~HDI_VISITED];
        bool kept = w->pass_kept[pass], writes = pass == writer;
        if (kept && !(writes && read))
            count = add_more(own, pass, to, count);
        if (kept && writes)
            break;
        visit = w->flow->visit[before & ~HDI_VISITED];
        read |= kept;
        writer = writes ? hdi_visit_found(visit) & ~HDI_FOUND_LATE : writer;
    }
    return count;
}

/* Of a use that does not just find what one pass wrote. */
static HDI_APART uint32_t add_others(const work *w, edges *own, uint32_t use, uint32_t count)
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
            count = add_more(own, found, to, count);
    }
    return count;
}

/* Edges to what the passes of a part follow. One loop over uses, and not two over passes and their uses: the end of
 * the inner one would be mispredicted. Where those of each pass end is counted from the part's first. */
static void find_edges(const work *w, edges *own, size_t first, size_t end)
{
    const hdi_visit *const visits = w->flow->visit;
    const uint8_t *const pass_kept = w->pass_kept;
    const uint32_t *const use_pass = w->decl->use_pass;
    uint32_t *const pred_end = own->pred_end;
    const uint32_t none = hdi_flow_no_pass(w->decl);
    pass_edge *edge = own->edge; /* in registers, like `follow` */
    uint64_t *const follow = own->follow;
    size_t count = 0; /* this and the counter of the loop are as wide as addresses: nothing is to be extended */
    for (size_t u = first; u < end; u++) {
        uint32_t from = hdi_visit_found(visits[u]), to = use_pass[u];
        if (HDI_LIKELY(from < HDI_FOUND_SEVERAL)) {
            count = add_edge(follow, edge, pass_kept[to] ? from : none, to, count);
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
        if (w->parts == 1 || w->part[k].blocks[block])
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
    for (const edges *of = w->part; k > 0 && of < w->part + w->parts; of++) {
        for (uint32_t before = 0; before < block; before++)
            sum += of->blocks[before];
    }
    for (; block < end; block++)
        sum = find_places_of(w, block, sum);
}

static void find_part(uint32_t k, void *user)
{
    work *w = user;
    uint32_t pass_count = w->decl->pass_count;
    uint32_t begin = hdi_range_begin(pass_count, w->parts, k), end = hdi_range_begin(pass_count, w->parts, k + 1);
    edges *own = &w->part[k];
    hdi_arena *arena = own->arena = hdi_crew_arena(w->crew, k, w->arena);
    own->mark = hdi_arena_here(arena);
    own->pred_end = w->out->pred_begin + 1;
    own->blocks = HDI_ARENA_ZEROED(arena, uint32_t, w->blocks);
    if (arena->failed || !start_part(w->decl, w->crew, begin, end, own))
        return;
    find_edges(w, own, w->decl->pass_use_begin[begin], w->decl->pass_use_begin[end]);
    if (HDI_UNLIKELY(w->decl->has_empty_passes))
        end_empty(w->decl, own, begin, end);
    for (uint32_t block = 0; w->parts > 1 && block * BLOCK < end; block++) {
        uint32_t rest = end - block * BLOCK;
        for (uint32_t p = block * BLOCK, last = p + (rest < BLOCK ? rest : BLOCK); p < last; p++)
            own->blocks[block] += (uint32_t)own->follow[p];
    }
}

/* The edges of a part to where they belong. */
static void place_part(uint32_t k, void *user)
{
    const work *w = user;
    const edges *own = &w->part[k];
    uint32_t pass_count = w->decl->pass_count, first = w->first_edge[k];
    uint32_t *const pred = w->out->pred + first, *const succ = w->out->succ;
    uint32_t begin = hdi_range_begin(pass_count, w->parts, k), end = hdi_range_begin(pass_count, w->parts, k + 1);
    for (size_t e = 0; e < own->count; e++) {
        const uint32_t from = from_of(own->edge[e]);
        pred[e] = from;
        succ[own->follow[from]++] = to_of(own->edge[e]);
    }
    for (uint32_t p = begin; first && p < end; p++)
        w->out->pred_begin[p + 1] += first;
    if (own->arena != w->arena)
        hdi_arena_keep(own->arena, own->mark, NULL, 0);
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
              .parts = hdi_crew_part_count(crew),
              .blocks = (decl->pass_count + BLOCK - 1) / BLOCK};
    size_t passes = decl->pass_count;
    out->pred_begin = HDI_ARENA_ARRAY(arena, uint32_t, passes + 1);
    out->succ_begin = HDI_ARENA_ARRAY(arena, uint32_t, passes + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    out->pred_begin[0] = 0;
    hdi_crew_parts(crew, w.parts, find_part, &w);
    for (uint32_t k = 0; k < w.parts; k++) {
        if (w.part[k].arena->failed)
            return HD_OUT_OF_MEMORY;
        w.first_edge[k + 1] = w.first_edge[k] + w.part[k].count;
    }
    size_t edge_count = w.first_edge[w.parts];
    out->pred = HDI_ARENA_ARRAY(arena, uint32_t, edge_count);
    out->succ = HDI_ARENA_ARRAY(arena, uint32_t, edge_count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(crew, w.parts, find_places, &w);
    hdi_crew_parts(crew, w.parts, place_part, &w);
    out->succ_begin[passes] = out->pred_begin[passes];
    out->succ[edge_count] = HDI_NONE;
    const hdi_arena_kept kept_arrays[] = {{&out->pred, edge_count * sizeof(*out->pred)},
                                          {&out->succ, (edge_count + 1) * sizeof(*out->succ)}};
    if (w.part[0].arena == arena) /* the part's tables lie in front of what is kept */
        hdi_arena_keep(arena, w.part[0].mark, kept_arrays, 2);
    return HD_OK;
}
