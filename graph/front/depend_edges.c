#include "depend_edges.h"

#include <string.h>

#include "hints.h"

/* Edges from where they are found to where they belong: grouped by the pass that follows they come, the other way round
 * they are put in order by the counts of that walk. O(passes + edges) */

bool hdi_edges_start_part(const hdi_decl *decl, const hdi_crew *crew, uint32_t begin, uint32_t end, hdi_edges *own)
{
    uint32_t pass_count = decl->pass_count, none = hdi_flow_end(decl, crew) - pass_count;
    hdi_arena *arena = own->arena;
    own->slack = decl->pass_use_begin[end] - decl->pass_use_begin[begin];
    own->follow = HDI_ARENA_ARRAY(arena, uint64_t, pass_count + none);
    own->edge = HDI_ARENA_ARRAY(arena, hdi_pass_edge, 2 * own->slack + HDI_EDGES_BLOCK);
    if (arena->failed)
        return false;
    own->capacity = 2 * own->slack + HDI_EDGES_BLOCK;
    /* Nobody of the part follows those behind it. */
    uint32_t last_block = (end + HDI_EDGES_BLOCK - 1) / HDI_EDGES_BLOCK * HDI_EDGES_BLOCK,
             most = last_block < pass_count ? last_block : pass_count;
    memset(own->follow, 0, most * sizeof(*own->follow));
    memset(own->follow + pass_count, 0xff, none * sizeof(*own->follow));
    return true;
}

bool hdi_edges_start(const hdi_decl *decl, const hdi_crew *crew, hdi_arena *arena, hdi_edges *own)
{
    *own = (hdi_edges){.arena = arena};
    uint32_t *pred_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)decl->pass_count + 1);
    own->mark = hdi_arena_here(arena);
    if (arena->failed)
        return false;
    own->pred_end = pred_begin + 1;
    pred_begin[0] = 0;
    return hdi_edges_start_part(decl, crew, 0, decl->pass_count, own);
}

void hdi_edges_end_empty(const hdi_decl *decl, const hdi_edges *own, uint32_t begin, uint32_t end)
{
    const uint32_t *const use_begin = decl->pass_use_begin;
    for (uint32_t p = begin; p < end; p++) {
        if (use_begin[p] == use_begin[p + 1])
            own->pred_end[p] = p > begin ? own->pred_end[p - 1] : 0;
    }
}

/* The first pass from `pass` on that is not kept. */
static uint32_t find_dead(const uint8_t *pass_kept, uint32_t pass, uint32_t pass_count)
{
    const uint8_t *dead = pass < pass_count ? memchr(pass_kept + pass, 0, pass_count - pass) : NULL;
    return dead ? (uint32_t)(dead - pass_kept) : pass_count;
}

/* Where few go edges of the passes between one of them and the next stay together. */
void hdi_edges_close(hdi_edges *own, const uint8_t *pass_kept, uint32_t pass_count)
{
    uint32_t *const pred_end = own->pred_end, *const pred_begin = pred_end - 1;
    const uint32_t first = find_dead(pass_kept, 0, pass_count);
    uint32_t count = pred_begin[first];
    for (uint32_t p = first; p < pass_count;) {
        uint32_t next = find_dead(pass_kept, p + 1, pass_count), begin = pred_end[p], end = pred_begin[next];
        uint32_t less = begin - count;
        memmove(own->edge + count, own->edge + begin, (end - begin) * sizeof(*own->edge));
        for (; p < next; p++)
            pred_end[p] -= less;
        count += end - begin;
    }
    own->count = count;
}

/* Few go: theirs alone are looked at. Returns whether kept ones follow them. */
static bool drop_few(hdi_edges *own, const uint8_t *pass_kept, uint32_t pass_count)
{
    uint32_t *const pred_end = own->pred_end, *const pred_begin = pred_end - 1, followed = 0;
    const uint32_t first = find_dead(pass_kept, 0, pass_count);
    for (uint32_t p = first; p < pass_count; p = find_dead(pass_kept, p + 1, pass_count)) {
        for (uint32_t e = pred_begin[p]; e < pred_end[p]; e++)
            own->follow[hdi_edge_from(own->edge[e])]--;
    }
    for (uint32_t p = first; p < pass_count; p = find_dead(pass_kept, p + 1, pass_count))
        followed |= (uint32_t)own->follow[p];
    hdi_edges_close(own, pass_kept, pass_count);
    return followed != 0;
}

/* Many go: which ones nobody can foresee, so that each edge is looked at, and there is no branch. */
static bool drop_many(hdi_edges *own, const uint8_t *pass_kept, uint32_t pass_count)
{
    uint64_t *const follow = own->follow;
    hdi_pass_edge *const edges = own->edge;
    uint32_t *const pred_end = own->pred_end, followed = 0, before = 0, less = 0;
    size_t count = 0;
    for (size_t e = 0, end = own->count; e < end; e++) {
        const hdi_pass_edge edge = edges[e];
        const uint32_t kept = pass_kept[hdi_edge_to(edge)];
        follow[hdi_edge_from(edge)] -= 1 - kept;
        edges[count] = edge;
        count += kept;
    }
    for (size_t p = 0; p < pass_count; p++) {
        const uint32_t end = pred_end[p], dead = pass_kept[p] - 1u;
        less += (end - before) & dead;
        followed |= (uint32_t)follow[p] & dead;
        pred_end[p] = end - less;
        before = end;
    }
    own->count = (uint32_t)count;
    return followed != 0;
}

bool hdi_edges_drop(hdi_edges *own, const hdi_kept *kept, uint32_t pass_count)
{
    const bool few = pass_count - kept->kept_count < pass_count / 10;
    return !(few ? drop_few : drop_many)(own, kept->pass_kept, pass_count);
}

/* Where the next one that follows a pass is to stand is kept where those of the next pass begin, which is what it is in
 * the end. All edges to a pass stand before those from it: so its level is known then. */
static HDI_INLINE void turn(const hdi_edges *own, const hdi_depends *out, bool levels)
{
    uint32_t *const next = out->succ_begin + 1, *const pred = out->pred, *const succ = out->succ;
    uint32_t *const level = out->level;
    const hdi_pass_edge *const edge = own->edge;
    for (size_t e = 0, end = own->count; e < end; e++) {
        size_t from = hdi_edge_from(edge[e]), to = hdi_edge_to(edge[e]), place = next[from];
        pred[e] = (uint32_t)from;
        HDI_HIDE(from); /* else addresses are found before they are used, which takes more, here and below */
        next[from] = (uint32_t)place + 1;
        succ[place] = (uint32_t)to;
        if (levels) {
            const uint32_t behind = level[from] + 1, before = level[to];
            HDI_HIDE(to);
            level[to] = behind > before ? behind : before;
        }
    }
}

void hdi_edges_turn(const hdi_edges *own, const hdi_depends *out)
{
    out->succ_begin[0] = 0;
    out->succ[own->count] = HDI_NONE;
    if (out->level)
        turn(own, out, true);
    else
        turn(own, out, false);
}

/* From counts to places. */
static void find_places(const hdi_edges *own, uint32_t pass_count, uint32_t *succ_begin)
{
    const uint64_t *const follow = own->follow;
    uint32_t sum = 0;
    for (size_t p = 0; p < pass_count; p++) {
        succ_begin[p + 1] = sum;
        sum += (uint32_t)follow[p];
    }
}

bool hdi_edges_finish(hdi_edges *own, uint32_t pass_count, uint8_t **pass_kept, hdi_depends *out)
{
    hdi_arena *arena = own->arena;
    out->pred_begin = own->pred_end - 1;
    out->succ_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)pass_count + 1);
    out->pred = HDI_ARENA_ARRAY(arena, uint32_t, own->count);
    out->succ = HDI_ARENA_ARRAY(arena, uint32_t, own->count + 1);
    if (arena->failed)
        return false;
    find_places(own, pass_count, out->succ_begin);
    hdi_edges_turn(own, out);
    const hdi_arena_kept kept[] = {{pass_kept, pass_count * sizeof(**pass_kept)},
                                   {&out->succ_begin, ((size_t)pass_count + 1) * sizeof(uint32_t)},
                                   {&out->pred, own->count * sizeof(uint32_t)},
                                   {&out->succ, (own->count + 1) * sizeof(uint32_t)}};
    hdi_arena_keep(arena, own->mark, pass_kept ? kept : kept + 1, pass_kept ? 4 : 3);
    return true;
}
