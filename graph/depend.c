#include "phases.h"

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

enum {
    BLOCK = 256, /* passes */
};

typedef struct part {
    _Alignas(HDI_LINE_PAIR) hdi_arena_mark mark;
    hdi_arena *arena;
    uint32_t *pred;     /* its edges */
    uint32_t *follower; /* of each edge: the pass that it leads to */
    uint32_t count, capacity, follower_capacity;
    int32_t *stamp;   /* per pass: the newest pass of the part that follows it already, or -1; of no pass: beyond all */
    uint32_t *follow; /* per pass: how many of the part follow it; then where the next one is to stand */
    uint32_t *edges;  /* by block: sums of `follow`; not with one part */
    uint32_t slack;   /* room for edges that there always is at the start of a pass */
} part;

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
    part part[HDI_FEW_PARTS];
} work;

/* The edge from one pass to another, a kept one, unless it is there or leads from none: stamps rise. Returns the count
 * of edges. */
static HDI_INLINE size_t add_edge(const part *own, size_t from, uint32_t to, uint32_t kept, size_t count)
{
    int32_t before = own->stamp[from], newest = (int32_t)to;
    size_t is_new = (before < newest) & kept;
    own->pred[count] = (uint32_t)from; /* no edge is written, too, behind them */
    own->follower[count] = to;
    own->stamp[from] = before < newest ? newest : before;
    own->follow[from] += (uint32_t)is_new;
    return count + is_new;
}

/* Room for an edge and the slack. Without memory the edges are written over: the arena tells. */
static uint32_t have_room(part *own, uint32_t count)
{
    uint32_t need = count + 1 + own->slack;
    return hdi_arena_grow(own->arena, &own->pred, &own->capacity, count, need, sizeof(*own->pred)) &&
                   hdi_arena_grow(own->arena, &own->follower, &own->follower_capacity, count, need,
                                  sizeof(*own->follower))
               ? count
               : 0;
}

/* A write of what was visited before: the visits of its segment from the newest on. In a pass that writes it nothing
 * else visits it, so the writer's visit is known by its pass. */
static uint32_t add_late(const work *w, part *own, uint32_t id, uint32_t to, uint32_t count)
{
    hdi_visit visit = w->flow->visit[id];
    uint32_t writer = hdi_visit_found(visit) & ~HDI_FOUND_LATE;
    bool read = false;
    for (uint32_t before; (before = hdi_visit_before(visit)) != 0;) {
        uint32_t pass = w->flow->pass[before & ~HDI_VISITED];
        bool kept = w->pass_kept[pass], writes = pass == writer;
        if (kept && !(writes && read))
            count = (uint32_t)add_edge(own, pass, to, 1, have_room(own, count));
        if (kept && writes)
            break;
        visit = w->flow->visit[before & ~HDI_VISITED];
        read |= kept;
        writer = writes ? hdi_visit_found(visit) & ~HDI_FOUND_LATE : writer;
    }
    return count;
}

/* Of a use that does not just find what one pass wrote. */
static HDI_APART uint32_t add_others(const work *w, part *own, uint32_t use, uint32_t count)
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
            count = (uint32_t)add_edge(own, found, to, 1, have_room(own, count));
    }
    return count;
}

/* Where the edges of passes without uses end. */
static void end_empty(const work *w, uint32_t begin, uint32_t end)
{
    const uint32_t *const use_begin = w->decl->pass_use_begin;
    uint32_t *const pred_end = w->out->pred_begin + 1;
    for (uint32_t p = begin; p < end; p++) {
        if (use_begin[p] == use_begin[p + 1])
            pred_end[p] = p > begin ? pred_end[p - 1] : 0;
    }
}

/* Edges to what the passes of a part follow, over uses, and not over passes and their uses: how many a pass has nobody
 * can foresee. Where those of each pass end is counted from the part's first. */
static HDI_INLINE void find_edges(const work *w, part *own, size_t first, size_t end, bool all_kept)
{
    const hdi_visit *const visits = w->flow->visit;
    const uint8_t *const pass_kept = w->pass_kept;
    const uint32_t *const use_pass = w->decl->use_pass;
    uint32_t *const pred_end = w->out->pred_begin + 1;
    part at = *own; /* in registers */
    size_t count = 0; /* this and the counter of the loop are as wide as addresses: nothing is to be extended */
    for (size_t u = first; u < end; u++) {
        uint32_t from = hdi_visit_found(visits[u]), to = use_pass[u];
        if (HDI_LIKELY(from < HDI_FOUND_SEVERAL)) {
            count = add_edge(&at, from, to, all_kept ? 1 : pass_kept[to], count);
        } else {
            count = add_others(w, own, (uint32_t)u, (uint32_t)count);
            at.pred = own->pred;
            at.follower = own->follower;
        }
        pred_end[to] = (uint32_t)count;
    }
    own->count = (uint32_t)count;
}

/* The edges of a part the other way round: from the last on, as `follow` now says where those of each pass end. */
static void turn(const work *w, const part *own)
{
    uint32_t *const follow = own->follow, *const succ = w->out->succ;
    const uint32_t *const pred = own->pred, *const follower = own->follower;
    for (size_t e = own->count; e-- > 0;)
        succ[--follow[pred[e]]] = follower[e];
}

/* Of the passes of a block. Returns what stands behind them. */
static uint32_t find_places_of(const work *w, uint32_t block, uint32_t sum)
{
    uint32_t *const succ_begin = w->out->succ_begin;
    uint32_t begin = block * BLOCK, rest = w->decl->pass_count - begin, end = begin + (rest < BLOCK ? rest : BLOCK);
    uint32_t *follow[HDI_FEW_PARTS], parts = 0;
    for (uint32_t k = 0; k < w->parts; k++) {
        if (w->parts == 1 || w->part[k].edges[block])
            follow[parts++] = w->part[k].follow;
    }
    for (uint32_t p = begin; p < end; p++) {
        succ_begin[p] = sum;
        for (uint32_t k = 0; k < parts; k++)
            follow[k][p] = sum += follow[k][p];
    }
    return sum;
}

/* From counts to places: where the edges end. */
static void find_places(uint32_t k, void *user)
{
    const work *w = user;
    uint32_t block = hdi_range_begin(w->blocks, w->parts, k), end = hdi_range_begin(w->blocks, w->parts, k + 1),
             sum = 0;
    for (const part *of = w->part; k > 0 && of < w->part + w->parts; of++) {
        for (uint32_t before = 0; before < block; before++)
            sum += of->edges[before];
    }
    for (; block < end; block++)
        sum = find_places_of(w, block, sum);
}

static bool start_part(work *w, uint32_t k, uint32_t begin, uint32_t end)
{
    const uint32_t *use_begin = w->decl->pass_use_begin, pass_count = w->decl->pass_count,
                   none = hdi_flow_end(w->decl, w->crew) - pass_count;
    part *own = &w->part[k];
    hdi_arena *arena = own->arena = hdi_crew_arena(w->crew, k, w->arena);
    own->mark = hdi_arena_here(arena);
    own->slack = use_begin[end] - use_begin[begin];
    own->stamp = HDI_ARENA_ARRAY(arena, int32_t, pass_count + none);
    own->follow = HDI_ARENA_ARRAY(arena, uint32_t, pass_count + none);
    own->pred = HDI_ARENA_ARRAY(arena, uint32_t, 2 * own->slack + BLOCK);
    own->follower = HDI_ARENA_ARRAY(arena, uint32_t, 2 * own->slack + BLOCK);
    if (arena->failed)
        return false;
    own->capacity = own->follower_capacity = 2 * own->slack + BLOCK;
    /* Nobody of the part follows those behind it. */
    uint32_t last_block = (end + BLOCK - 1) / BLOCK * BLOCK, most = last_block < pass_count ? last_block : pass_count;
    memset(own->stamp, 0xff, end * sizeof(*own->stamp));
    memset(own->stamp + pass_count, 0x7f, none * sizeof(*own->stamp));
    memset(own->follow, 0, most * sizeof(*own->follow));
    memset(own->follow + pass_count, 0, none * sizeof(*own->follow));
    return true;
}

static void find_part(uint32_t k, void *user)
{
    work *w = user;
    uint32_t pass_count = w->decl->pass_count;
    uint32_t begin = hdi_range_begin(pass_count, w->parts, k), end = hdi_range_begin(pass_count, w->parts, k + 1);
    if (!start_part(w, k, begin, end))
        return;
    part *own = &w->part[k];
    const uint32_t *use_begin = w->decl->pass_use_begin;
    if (w->all_kept)
        find_edges(w, own, use_begin[begin], use_begin[end], true);
    else
        find_edges(w, own, use_begin[begin], use_begin[end], false);
    if (HDI_UNLIKELY(w->decl->has_empty_passes))
        end_empty(w, begin, end);
    if (w->parts == 1)
        return;
    own->edges = HDI_ARENA_ZEROED(own->arena, uint32_t, w->blocks);
    for (uint32_t block = 0; own->edges && block * BLOCK < end; block++) {
        uint32_t rest = end - block * BLOCK;
        for (uint32_t p = block * BLOCK, last = p + (rest < BLOCK ? rest : BLOCK); p < last; p++)
            own->edges[block] += own->follow[p];
    }
}

/* The edges of a part to where they belong. */
static void place_part(uint32_t k, void *user)
{
    const work *w = user;
    const part *own = &w->part[k];
    uint32_t pass_count = w->decl->pass_count, first = w->first_edge[k];
    uint32_t begin = hdi_range_begin(pass_count, w->parts, k), end = hdi_range_begin(pass_count, w->parts, k + 1);
    turn(w, own);
    memcpy(w->out->pred + first, own->pred, own->count * sizeof(*own->pred));
    for (uint32_t p = begin; p < end; p++)
        w->out->pred_begin[p + 1] += first;
    hdi_arena_keep(own->arena, own->mark, NULL, 0);
}

static bool depend_by_parts(work *w)
{
    hdi_crew_parts(w->crew, w->parts, find_part, w);
    for (uint32_t k = 0; k < w->parts; k++) {
        if (w->crew->arena[k].failed)
            return false;
        w->first_edge[k + 1] = w->first_edge[k] + w->part[k].count;
    }
    w->out->pred = HDI_ARENA_ARRAY(w->arena, uint32_t, w->first_edge[w->parts]);
    w->out->succ = HDI_ARENA_ARRAY(w->arena, uint32_t, w->first_edge[w->parts]);
    if (w->arena->failed)
        return false;
    hdi_crew_parts(w->crew, w->parts, find_places, w);
    hdi_crew_parts(w->crew, w->parts, place_part, w);
    return true;
}

/* The edges of the only part are those of the frame, in its own arena, where they slide down at last. */
static bool depend_at_once(work *w)
{
    hdi_depends *out = w->out;
    part *own = &w->part[0];
    find_part(0, w);
    out->succ = HDI_ARENA_ARRAY(w->arena, uint32_t, own->count);
    if (w->arena->failed)
        return false;
    find_places(0, w);
    out->pred = own->pred;
    turn(w, own);
    const hdi_arena_kept kept[] = {{&out->pred, own->count * sizeof(uint32_t)},
                                   {&out->succ, own->count * sizeof(uint32_t)}};
    hdi_arena_keep(w->arena, own->mark, kept, 2);
    return true;
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
    out->pred_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)decl->pass_count + 1);
    out->succ_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)decl->pass_count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    out->pred_begin[0] = 0;
    if (!(w.parts > 1 ? depend_by_parts(&w) : depend_at_once(&w)))
        return HD_OUT_OF_MEMORY;
    out->succ_begin[decl->pass_count] = out->pred_begin[decl->pass_count];
    return HD_OK;
}
