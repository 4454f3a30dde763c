#include "verify.h"

#include <stdlib.h>

/* What the verifier takes for the order of a declaration. A read of an ended version stands, in the sequence of uses,
 * just before the pass that ended it: that sequence says what each use must see. Culling goes through the passes from
 * the last to the first, and wants conflicting ones in the sequence's order: each pass gets a rank above those of all
 * passes that its uses follow, found by going through the sequence until no rank changes. One round where nothing is
 * out of order, one more for each step backwards on a chain; ranks that grow beyond the number of passes are a cycle.
 */

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

/* One round. writer, any: the highest rank so far among those that wrote, or used, a segment, plus one. */
static bool raise_ranks(const hdi_verify *v, uint32_t *rank, uint32_t *writer, uint32_t *any)
{
    bool changed = false;
    for (uint32_t s = 0; s < v->seg_count; s++)
        writer[s] = any[s] = 0;
    for (uint32_t i = 0; i < v->d.use_count; i++) {
        uint32_t u = v->use_order[i], p = v->use_pass[u], least = rank[p];
        bool writes = v->d.access[v->d.use_access[u]].writes;
        HV_EACH_SEG(hdi_verify_use_rect(v, u), s)
        {
            uint32_t above = writes ? any[s] : writer[s];
            least = above > least ? above : least;
        }
        changed |= least != rank[p];
        rank[p] = least;
        HV_EACH_SEG(hdi_verify_use_rect(v, u), s)
        {
            any[s] = any[s] > least + 1 ? any[s] : least + 1;
            if (writes)
                writer[s] = writer[s] > least + 1 ? writer[s] : least + 1;
        }
    }
    return changed;
}

static hd_result order_passes(hdi_verify *v)
{
    uint32_t *rank = HDI_ARENA_ZEROED(&v->arena, uint32_t, v->d.pass_count);
    uint32_t *writer = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->seg_count);
    uint32_t *any = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->seg_count);
    place *places = HDI_ARENA_ARRAY(&v->arena, place, v->d.pass_count);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    while (raise_ranks(v, rank, writer, any)) {
        for (uint32_t p = 0; p < v->d.pass_count; p++) {
            if (rank[p] < v->d.pass_count)
                continue;
            hdi_verify_fail(v, HD_RULE_VERSIONS, "versions: pass %u '%s' would have to run before itself", p,
                            hdi_verify_pass_name(v, p));
            return HD_PLAN_INVALID;
        }
    }
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
