#include "verify.h"

#include <stdlib.h>
#include <string.h>

/* The model: segments (the largest pieces that no use and no barrier splits; a grid of mips, aspects and layers, or
 * intervals),
 * and the culling rule recomputed over them, with the pass whose content each use must see. O(uses * segments). */

typedef struct cut_list {
    uint32_t *count; /* per axis of a resource: ends so far */
    bool fill;
} cut_list;

static uint32_t at_least_one(uint32_t n)
{
    return n ? n : 1;
}

static void cut_at(hdi_verify *v, cut_list *list, uint32_t axis, uint64_t value)
{
    if (list->fill)
        v->cut[v->cut_begin[axis] + list->count[axis]] = value;
    list->count[axis]++;
}

static void cut_range(hdi_verify *v, cut_list *list, uint32_t res, const hd_range *r)
{
    if (v->d.res_flags[res] & HDI_RES_BUFFER) {
        cut_at(v, list, res * 2, r->offset);
        cut_at(v, list, res * 2, r->offset + r->bytes);
        return;
    }
    if (r->aspect)
        v->res_aspects[res] = 2;
    cut_at(v, list, res * 2, r->mip_base);
    cut_at(v, list, res * 2, r->mip_base + r->mip_count);
    cut_at(v, list, res * 2 + 1, r->layer_base);
    cut_at(v, list, res * 2 + 1, r->layer_base + r->layer_count);
}

static void cut_all(hdi_verify *v, cut_list *list)
{
    for (uint32_t r = 0; r < v->d.res_count; r++) {
        const hdi_res_info *info = &v->d.res_info[r];
        bool buffer = v->d.res_flags[r] & HDI_RES_BUFFER;
        cut_at(v, list, r * 2, 0);
        cut_at(v, list, r * 2, buffer ? info->bytes + (info->bytes == 0) : at_least_one(info->mips)); /* a token */
        cut_at(v, list, r * 2 + 1, 0);
        cut_at(v, list, r * 2 + 1, buffer ? 1 : at_least_one(info->layers));
    }
    for (uint32_t u = 0; u < v->d.use_count; u++)
        if (v->d.use_range[u] != HDI_NONE)
            cut_range(v, list, v->d.use_res[u], &v->d.range[v->d.use_range[u]]);
    for (uint32_t b = 0; b < v->p.barrier_count; b++) {
        const hd_plan_barrier *x = &v->p.barriers[b];
        if (x->resource != HDI_NONE && x->resource < v->d.res_count)
            cut_range(v, list, x->resource, &x->range);
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts the cuts and drops doubles in place; count becomes the number of pieces. */
static void make_pieces(hdi_verify *v, uint32_t *count)
{
    for (uint32_t axis = 0; axis < v->d.res_count * 2; axis++) {
        uint64_t *cut = v->cut + v->cut_begin[axis];
        if (count[axis] > 2)
            qsort(cut, count[axis], sizeof(*cut), by_value);
        uint32_t n = 1;
        for (uint32_t i = 1; i < count[axis]; i++)
            if (cut[i] != cut[n - 1])
                cut[n++] = cut[i];
        count[axis] = n - 1;
    }
}

static uint32_t find_cut(const hdi_verify *v, uint32_t axis, uint64_t value)
{
    const uint64_t *cut = v->cut + v->cut_begin[axis];
    uint32_t low = 0, high = v->cut_begin[axis + 1] - v->cut_begin[axis] - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (cut[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

hdi_vrect hdi_verify_rect(const hdi_verify *v, uint32_t res, const hd_range *r)
{
    uint32_t n0 = v->cut_begin[res * 2 + 1] - v->cut_begin[res * 2] - 1;
    uint32_t n1 = v->cut_begin[res * 2 + 2] - v->cut_begin[res * 2 + 1] - 1;
    uint32_t aspects = v->res_aspects[res];
    hdi_vrect rect = {.base = v->seg_begin[res], .a1 = n0 * aspects, .step = 1, .b1 = n1, .stride = n1};
    if (!r)
        return rect;
    if (v->d.res_flags[res] & HDI_RES_BUFFER) {
        rect.a0 = find_cut(v, res * 2, r->offset);
        rect.a1 = find_cut(v, res * 2, r->offset + r->bytes);
        return rect;
    }
    rect.a0 = find_cut(v, res * 2, r->mip_base) * aspects;
    rect.a1 = find_cut(v, res * 2, (uint64_t)r->mip_base + r->mip_count) * aspects;
    if (r->aspect) {
        rect.a0 += r->aspect == HD_ASPECT_STENCIL;
        rect.step = aspects;
    }
    rect.b0 = find_cut(v, res * 2 + 1, r->layer_base);
    rect.b1 = find_cut(v, res * 2 + 1, r->layer_base + r->layer_count);
    return rect;
}

static hd_result make_segments(hdi_verify *v)
{
    uint32_t axes = v->d.res_count * 2;
    cut_list list = {.count = HDI_ARENA_ZEROED(&v->arena, uint32_t, axes)};
    v->cut_begin = HDI_ARENA_ZEROED(&v->arena, uint32_t, (size_t)axes + 1);
    v->seg_begin = HDI_ARENA_ZEROED(&v->arena, uint32_t, (size_t)v->d.res_count + 1);
    v->res_aspects = HDI_ARENA_ARRAY(&v->arena, uint8_t, v->d.res_count);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    memset(v->res_aspects, 1, v->d.res_count);
    cut_all(v, &list);
    for (uint32_t i = 0; i < axes; i++)
        v->cut_begin[i + 1] = v->cut_begin[i] + list.count[i];
    v->cut = HDI_ARENA_ARRAY(&v->arena, uint64_t, v->cut_begin[axes]);
    if (!v->cut)
        return HD_OUT_OF_MEMORY;
    memset(list.count, 0, axes * sizeof(uint32_t));
    list.fill = true;
    cut_all(v, &list);
    make_pieces(v, list.count);
    uint32_t to = 0;
    for (uint32_t i = 0; i < axes; i++) { /* close the gaps that doubles left */
        memmove(v->cut + to, v->cut + v->cut_begin[i], (list.count[i] + 1) * sizeof(uint64_t));
        v->cut_begin[i] = to;
        to += list.count[i] + 1;
    }
    v->cut_begin[axes] = to;
    uint64_t total = 0;
    for (uint32_t r = 0; r < v->d.res_count; r++) {
        total += (uint64_t)list.count[r * 2] * list.count[r * 2 + 1] * v->res_aspects[r];
        if (total > UINT32_MAX / 2)
            return HD_OUT_OF_MEMORY;
        v->seg_begin[r + 1] = (uint32_t)total;
    }
    v->seg_count = (uint32_t)total;
    return HD_OK;
}

hd_result hdi_verify_model(hdi_verify *v)
{
    hd_result result = make_segments(v);
    if (result != HD_OK)
        return result;
    v->use_pass = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->d.use_count);
    v->kept = HDI_ARENA_ZEROED(&v->arena, uint8_t, v->d.pass_count);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t p = 0; p < v->d.pass_count; p++)
        for (uint32_t u = v->d.pass_use_begin[p]; u < v->d.pass_use_begin[p + 1]; u++)
            v->use_pass[u] = p;
    return HD_OK;
}

hdi_vrect hdi_verify_use_rect(const hdi_verify *v, uint32_t u)
{
    return hdi_verify_rect(v, v->d.use_res[u], v->d.use_range[u] == HDI_NONE ? NULL : &v->d.range[v->d.use_range[u]]);
}

static void find_kept(hdi_verify *v, uint8_t *live)
{
    for (uint32_t r = 0; r < v->d.res_count; r++)
        memset(live + v->seg_begin[r], !!(v->d.res_flags[r] & (HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY)),
               v->seg_begin[r + 1] - v->seg_begin[r]);
    for (uint32_t i = v->d.pass_count; i-- > 0;) {
        uint32_t p = v->pass_order[i];
        bool keep = v->d.pass_flags[p] & HDI_PASS_ROOT;
        uint32_t begin = v->d.pass_use_begin[p], end = v->d.pass_use_begin[p + 1];
        for (uint32_t u = begin; u < end && !keep; u++)
            if (v->d.access[v->d.use_access[u]].writes)
                HV_EACH_SEG(hdi_verify_use_rect(v, u), s)
        keep |= live[s];
        v->kept[p] = keep;
        for (int reads = 0; keep && reads < 2; reads++)
            for (uint32_t u = begin; u < end; u++)
                if (!!v->d.access[v->d.use_access[u]].reads == reads)
                    HV_EACH_SEG(hdi_verify_use_rect(v, u), s)
        live[s] = (uint8_t)reads;
    }
}

/* Compares what is kept with the plan: culled, placed passes and resources. */
static void compare(hdi_verify *v)
{
    uint8_t *used = v->res_used;
    uint32_t c = 0;
    for (uint32_t p = 0; p < v->d.pass_count; p++) {
        bool culled = c < v->p.culled_count && v->p.culled[c] == p, placed = v->pass_queue[p] != HDI_NONE;
        c += culled;
        if (culled == v->kept[p])
            hdi_verify_fail(v, HD_RULE_CULL, "cull: pass %u '%s' is %s but the rule %s it", p,
                            hdi_verify_pass_name(v, p), culled ? "culled" : "not culled", culled ? "keeps" : "culls");
        else if (placed == culled)
            hdi_verify_fail(v, HD_RULE_STRUCTURE, "structure: pass %u '%s' is %s", p, hdi_verify_pass_name(v, p),
                            placed ? "culled and yet in a submit" : "missing from the submits");
        for (uint32_t u = v->d.pass_use_begin[p]; v->kept[p] && u < v->d.pass_use_begin[p + 1]; u++)
            used[v->d.use_res[u]] = 1;
    }
    if (c != v->p.culled_count)
        hdi_verify_fail(v, HD_RULE_CULL, "cull: the culled list holds doubles or passes out of order");
    for (uint32_t r = 0; r < v->d.res_count; r++) {
        bool listed = v->plan_res[r] != HDI_NONE; /* a history and what it is of come as a pair: they take turns */
        bool pair = v->d.res_flags[r] & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY) && used[v->d.res_pair[r]];
        if (used[r] != listed && !(listed && pair))
            hdi_verify_fail(v, HD_RULE_STRUCTURE, "structure: resource %u '%s' is %s", r, hdi_verify_res_name(v, r),
                            used[r] ? "used by kept passes but not listed" : "listed but used by no kept pass");
    }
}

hd_result hdi_verify_cull(hdi_verify *v)
{
    uint8_t *live = HDI_ARENA_ZEROED(&v->arena, uint8_t, v->seg_count);
    v->res_used = HDI_ARENA_ZEROED(&v->arena, uint8_t, v->d.res_count);
    v->expect_begin = HDI_ARENA_ZEROED(&v->arena, uint32_t, (size_t)v->d.use_count + 1);
    v->final_holder = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->seg_count);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    find_kept(v, live);
    compare(v);
    if (v->bad)
        return HD_PLAN_INVALID;
    for (uint32_t u = 0; u < v->d.use_count; u++) {
        hdi_vrect r = hdi_verify_use_rect(v, u);
        v->expect_begin[u + 1] = v->expect_begin[u] + (r.a1 - r.a0) * (r.b1 - r.b0);
    }
    v->expect = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->expect_begin[v->d.use_count]);
    if (!v->expect)
        return HD_OUT_OF_MEMORY;
    for (uint32_t r = 0; r < v->d.res_count; r++)
        for (uint32_t s = v->seg_begin[r]; s < v->seg_begin[r + 1]; s++)
            v->final_holder[s] = v->d.res_flags[r] & HDI_RES_CONTENT ? HV_INITIAL : HDI_NONE;
    for (uint32_t n = 0; n < v->d.use_count; n++) {
        uint32_t u = v->use_order[n], i = v->expect_begin[u];
        if (!v->kept[v->use_pass[u]])
            continue;
        HV_EACH_SEG(hdi_verify_use_rect(v, u), s)
        {
            v->expect[i++] = v->final_holder[s];
            if (v->d.access[v->d.use_access[u]].writes)
                v->final_holder[s] = v->use_pass[u];
        }
    }
    return HD_OK;
}
