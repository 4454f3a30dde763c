#include "verify.h"

#include <stdlib.h>

#include "csr.h"

/* What the verifier takes for the order of a declaration. A read of an ended version stands, in the sequence of uses,
 * just before the pass that ended it: that sequence says what each use must see. Culling goes through the passes from
 * the last to the first, and wants conflicting ones in the sequence's order: an edge leads from the write of a segment
 * to the reads behind it, and from those to the next write, and each pass gets a rank above those of all passes that it
 * follows. Passes that are left over without a rank follow one another in a cycle. O(uses * segments + passes). */

typedef struct place {
    uint32_t anchor, late, item; /* pass before or in which it stands, 0 before and 1 in; the use */
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->anchor != y->anchor)
        return x->anchor < y->anchor ? -1 : 1;
    if (x->late != y->late)
        return x->late < y->late ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static void order_uses(hdi_verify *v, place *places)
{
    for (uint32_t u = 0; u < v->d.use_count; u++)
        places[u] = (place){v->use_pass[u], 1, u};
    for (uint32_t i = 0; i < v->d.late_count; i++)
        places[v->d.late_use[i]] = (place){v->d.late_end[i], 0, v->d.late_use[i]};
    qsort(places, v->d.use_count, sizeof(*places), by_place);
    for (uint32_t i = 0; i < v->d.use_count; i++)
        v->use_order[i] = places[i].item;
}

/* Edges between passes: at first pairs, then grouped by the pass that they lead from. */
typedef struct edges {
    uint32_t *from, *to, count, capacity;
    uint32_t *begin, *next; /* per pass; edge -> the pass that it leads to */
} edges;

static bool add_edge(hdi_verify *v, edges *e, uint32_t from, uint32_t to)
{
    uint32_t capacity = e->capacity;
    if (!hdi_arena_grow(&v->arena, &e->from, &capacity, e->count, e->count + 1, sizeof(*e->from)) ||
        !hdi_arena_grow(&v->arena, &e->to, &e->capacity, e->count, e->count + 1, sizeof(*e->to)))
        return false;
    e->from[e->count] = from;
    e->to[e->count++] = to;
    return true;
}

/* Through the sequence of the uses, with the last write of each segment and the reads since. */
static bool find_edges(hdi_verify *v, edges *e)
{
    uint32_t *writer = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->seg_count);
    uint32_t *reads = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->seg_count); /* lists in v->read */
    for (uint32_t s = 0; s < v->seg_count && !v->arena.failed; s++)
        writer[s] = reads[s] = HDI_NONE;
    for (uint32_t i = 0; i < v->d.use_count && !v->arena.failed; i++) {
        uint32_t u = v->use_order[i], p = v->use_pass[u];
        bool writes = v->d.access[v->d.use_access[u]].writes;
        HV_EACH_SEG(hdi_verify_use_rect(v, u), s)
        {
            if (writer[s] != HDI_NONE && (!writes || reads[s] == HDI_NONE) && !add_edge(v, e, writer[s], p))
                return false;
            for (; writes && reads[s] != HDI_NONE; reads[s] = v->read[reads[s]].next)
                if (!add_edge(v, e, v->read[reads[s]].use, p))
                    return false;
            if (writes) {
                writer[s] = p;
                continue;
            }
            if (!hdi_arena_grow(&v->arena, &v->read, &v->read_capacity, v->read_count, v->read_count + 1,
                                sizeof(*v->read)))
                return false;
            v->read[v->read_count] = (hdi_vlink){p, reads[s]};
            reads[s] = v->read_count++;
        }
    }
    v->read_count = 0;
    return !v->arena.failed;
}

/* Ranks, from the passes on that follow none. left: how many edges lead to a pass from passes without a rank. */
static hd_result rank_passes(hdi_verify *v, edges *e, uint32_t *rank)
{
    uint32_t *left = HDI_ARENA_ZEROED(&v->arena, uint32_t, v->d.pass_count), done = 0, ready = 0;
    uint32_t *queue = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->d.pass_count);
    e->begin = HDI_ARENA_ARRAY(&v->arena, uint32_t, (size_t)v->d.pass_count + 1);
    e->next = HDI_ARENA_ARRAY(&v->arena, uint32_t, e->count);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    hdi_csr_build(e->from, e->count, v->d.pass_count, e->begin, e->next);
    for (uint32_t i = 0; i < e->count; i++)
        left[e->to[i]]++;
    for (uint32_t p = 0; p < v->d.pass_count; p++)
        if (!left[p])
            queue[ready++] = p;
    for (; done < ready; done++)
        for (uint32_t p = queue[done], i = e->begin[p]; i < e->begin[p + 1]; i++) {
            uint32_t to = e->to[e->next[i]];
            rank[to] = rank[p] + 1 > rank[to] ? rank[p] + 1 : rank[to];
            if (--left[to] == 0)
                queue[ready++] = to;
        }
    for (uint32_t p = 0; p < v->d.pass_count && ready < v->d.pass_count; p++) {
        if (!left[p])
            continue;
        hdi_verify_fail(v, HD_RULE_VERSIONS, "versions: pass %u '%s' would have to run before itself", p,
                        hdi_verify_pass_name(v, p));
        return HD_PLAN_INVALID;
    }
    return HD_OK;
}

static hd_result order_passes(hdi_verify *v)
{
    edges e = {0};
    uint32_t *rank = HDI_ARENA_ZEROED(&v->arena, uint32_t, v->d.pass_count);
    place *places = HDI_ARENA_ARRAY(&v->arena, place, v->d.pass_count);
    if (v->arena.failed || !find_edges(v, &e))
        return HD_OUT_OF_MEMORY;
    hd_result result = rank_passes(v, &e, rank);
    if (result != HD_OK)
        return result;
    for (uint32_t p = 0; p < v->d.pass_count; p++)
        places[p] = (place){rank[p], 0, p};
    qsort(places, v->d.pass_count, sizeof(*places), by_place);
    for (uint32_t p = 0; p < v->d.pass_count; p++)
        v->pass_order[p] = places[p].item;
    return HD_OK;
}

hd_result hdi_verify_versions(hdi_verify *v)
{
    v->use_order = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->d.use_count);
    v->pass_order = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->d.pass_count);
    place *places = HDI_ARENA_ARRAY(&v->arena, place, v->d.late_count ? v->d.use_count : 0);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    if (v->d.late_count) {
        order_uses(v, places);
        return order_passes(v);
    }
    for (uint32_t u = 0; u < v->d.use_count; u++)
        v->use_order[u] = u;
    for (uint32_t p = 0; p < v->d.pass_count; p++)
        v->pass_order[p] = p;
    return HD_OK;
}
