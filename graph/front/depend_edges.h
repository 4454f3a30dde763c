/* Edges between passes as they are found, each once. */
#ifndef HDI_DEPEND_EDGES_H
#define HDI_DEPEND_EDGES_H

#include "arena.h"
#include "phases.h"

/* One word an edge: in its lower half the pass that it leads from, in the upper one the pass that it leads to. */
typedef uint64_t hdi_pass_edge;
static inline uint32_t hdi_edge_from(hdi_pass_edge edge)
{
    return (uint32_t)edge;
}
static inline uint32_t hdi_edge_to(hdi_pass_edge edge)
{
    return (uint32_t)(edge >> 32);
}

enum { HDI_EDGES_BLOCK = 256 }; /* passes */

typedef struct hdi_edges {
    _Alignas(HDI_LINE_PAIR) hdi_arena_mark mark;
    hdi_arena *arena;
    hdi_pass_edge *edge; /* grouped by the pass that they lead to */
    uint32_t count, capacity;
    uint32_t slack;     /* room for edges that there always is at the start of a pass */
    uint32_t *pred_end; /* per pass: where its edges end, from the first one of the part on */
    /* Per pass: in the upper half the newest pass that follows it already, which is never the first one, of no pass all
     * bits; in the lower one how many follow it. Then, of parts, where the next of these is to stand. */
    uint64_t *follow;
    uint32_t *blocks; /* by block: how many follow its passes; not with one part */
} hdi_edges;

/* None yet, of the whole frame; pred_end[-1] is there and 0. False: no memory. */
bool hdi_edges_start(const hdi_decl *decl, const hdi_crew *crew, hdi_arena *arena, hdi_edges *out);

/* The same of a part of the passes, whose arena and pred_end are set. */
bool hdi_edges_start_part(const hdi_decl *decl, const hdi_crew *crew, uint32_t begin, uint32_t end, hdi_edges *own);

/* The edge from one pass to another unless it is there or leads from none. Returns the count of edges; behind them no
 * edge may be written, too. */
static HDI_INLINE size_t hdi_edges_add(uint64_t *follow, hdi_pass_edge *edge, size_t from, uint32_t to, size_t count)
{
    const uint64_t mark = (uint64_t)to << 32, before = follow[from], after = mark + (uint32_t)before + 1;
    edge[count] = mark | from;
    follow[from] = before < mark ? after : before;
    return count + (before < mark);
}

/* Room for so many more edges, and the slack. */
static inline bool hdi_edges_room(hdi_edges *own, uint32_t count, uint32_t more)
{
    return hdi_arena_grow(own->arena, &own->edge, &own->capacity, count, count + more + own->slack, sizeof(*own->edge));
}

/* An edge for which there may be no room. Without memory the edges are written over: the arena tells. */
static inline uint32_t hdi_edges_add_more(hdi_edges *own, uint32_t from, uint32_t to, uint32_t count)
{
    count = hdi_edges_room(own, count, 1) ? count : 0;
    return (uint32_t)hdi_edges_add(own->follow, own->edge, from, to, count);
}

/* To where they belong, also the other way round; succ_begin: behind each pass, where those who follow it are to stand.
 * With `level`, which are 0, counts these, too. */
void hdi_edges_turn(const hdi_edges *own, const hdi_depends *out);

/* Where the edges of passes without uses end. */
void hdi_edges_end_empty(const hdi_decl *decl, const hdi_edges *own, uint32_t begin, uint32_t end);

/* Takes away the edges of passes that are not kept. False: another pass follows one of them, and the edges are of no
 * use any more. */
bool hdi_edges_drop(hdi_edges *own, const hdi_kept *kept, uint32_t pass_count);

/* Takes away the edges of passes that are not kept, which are few, and whom nobody follows: `follow` stays as it is. */
void hdi_edges_close(hdi_edges *own, const uint8_t *pass_kept, uint32_t pass_count);

/* The edges of the whole frame, once they are all found, in the arena they are from; what was handed out since
 * hdi_edges_start goes, but for pass_kept, which may be null. False: no memory. */
bool hdi_edges_finish(hdi_edges *own, uint32_t pass_count, uint8_t **pass_kept, hdi_depends *out);

#endif
