#include "verify.h"

#include "sort.h"

/* Placement: sizes, alignment, heaps, and that nothing shares bytes with what is persistent. O(n log n). */

static hd_result need_of(hdi_verify *v, uint32_t res, hd_memory_need *need)
{
    hd_resource_info info;
    hdi_resource_info(&v->d, res, &info);
    *need = (hd_memory_need){0};
    if (v->desc->size)
        return v->desc->size(&info, need, v->desc->size_user);
    hdi_default_need(&info, need);
    return HD_OK;
}

static void check_one(hdi_verify *v, const hd_plan_resource *r, const hd_memory_need *need)
{
    uint32_t entry = v->plan_res[r->id];
    const char *name = hdi_verify_res_name(v, r->id);
    uint64_t align = need->alignment ? need->alignment : 1;
    if (r->bytes < need->bytes) {
        v->found.resource = r->id;
        hdi_verify_mend_place(v, entry, r->bytes < need->bytes ? need->bytes : r->bytes, align);
        hdi_verify_fail(v, HD_RULE_PLACEMENT, "placement: resource %u '%s' has %llu bytes and needs %llu", r->id, name,
                        (unsigned long long)r->bytes, (unsigned long long)need->bytes);
    }
    if (r->offset % align) {
        v->found.resource = r->id;
        hdi_verify_mend_place(v, entry, r->bytes < need->bytes ? need->bytes : r->bytes, align);
        hdi_verify_fail(v, HD_RULE_PLACEMENT, "alignment: resource %u '%s' stands at %llu, not a multiple of %llu",
                        r->id, name, (unsigned long long)r->offset, (unsigned long long)align);
    }
    uint64_t heap = v->p.heaps[r->heap].bytes;
    if (r->offset > heap || r->bytes > heap - r->offset) {
        v->found.resource = r->id;
        hdi_verify_mend_place(v, entry, r->bytes < need->bytes ? need->bytes : r->bytes, align);
        hdi_verify_fail(v, HD_RULE_PLACEMENT, "placement: resource %u '%s' reaches outside heap %u", r->id, name,
                        r->heap);
    }
}

static bool is_persistent(const hdi_verify *v, const hd_plan_resource *r)
{
    return v->d.res_flags[r->id] & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY);
}

/* Of two resources that share bytes none may be persistent. In the order of their offsets it is enough to know the one
 * that reaches furthest, of all and of those that are persistent. */
static void check_sharing(hdi_verify *v, const uint32_t *order, uint32_t n)
{
    const hd_plan_resource *furthest[2] = {NULL, NULL};
    for (uint32_t i = 0; i < n && !v->stop; i++) {
        const hd_plan_resource *b = &v->p.resources[order[i]], *a = furthest[!is_persistent(v, b)];
        if (b->bytes == 0)
            continue;
        if (a && b->offset < a->offset + a->bytes) {
            hdi_verify_about(v, v->found.first, v->found.second, a->id, b->id);
            hdi_verify_mend_place(v, v->plan_res[a->id], a->bytes, 65536);
            hdi_verify_fail(v, HD_RULE_PLACEMENT,
                            "placement: resources %u '%s' and %u '%s' share bytes, and one is persistent (a history or "
                            "what it is of)",
                            a->id, hdi_verify_res_name(v, a->id), b->id, hdi_verify_res_name(v, b->id));
        }
        for (int only = 0; only <= is_persistent(v, b); only++)
            if (!furthest[only] || b->offset + b->bytes > furthest[only]->offset + furthest[only]->bytes)
                furthest[only] = b;
    }
}

/* Next frame's history is what this frame leaves: nothing moves it between two frames, and it is shared as it was made.
 */
static void check_pair(hdi_verify *v, const hd_plan_resource *history)
{
    if (!(v->d.res_flags[history->id] & HDI_RES_HISTORY))
        return;
    uint32_t index = v->plan_res[v->d.res_pair[history->id]];
    const hd_plan_resource *of = index == HDI_NONE ? history : &v->p.resources[index];
    bool shared = history->flags & HD_PLAN_CONCURRENT;
    if (shared != ((of->flags & HD_PLAN_CONCURRENT) != 0)) {
        v->found.resource = history->id;
        hdi_verify_fail(v, HD_RULE_FINAL_STATE, "final state: history %u '%s' is %s, what it is of is %s", history->id,
                        hdi_verify_res_name(v, history->id), shared ? "concurrent" : "exclusive",
                        shared ? "exclusive" : "concurrent");
    }
    if (shared)
        return;
    if (history->first_family == HDI_NONE || of->final_family == HDI_NONE || history->first_family == of->final_family)
        return;
    v->found.resource = history->id;
    hdi_verify_fail(v, HD_RULE_FINAL_STATE,
                    "final state: history %u '%s' starts with family %u, what it is of ends with %u", history->id,
                    hdi_verify_res_name(v, history->id), history->first_family, of->final_family);
}

hd_result hdi_verify_placement(hdi_verify *v)
{
    uint32_t n = v->p.resource_count, heaps = v->p.heap_count, placed = 0;
    uint64_t *key = HDI_ARENA_ARRAY(&v->arena, uint64_t, n), *key2 = HDI_ARENA_ARRAY(&v->arena, uint64_t, n);
    uint32_t *order = HDI_ARENA_ARRAY(&v->arena, uint32_t, n), *order2 = HDI_ARENA_ARRAY(&v->arena, uint32_t, n);
    uint32_t *by_heap = HDI_ARENA_ARRAY(&v->arena, uint32_t, n);
    uint32_t *heap_begin = HDI_ARENA_ZEROED(&v->arena, uint32_t, (size_t)heaps + 2);
    uint32_t *memory = HDI_ARENA_ARRAY(&v->arena, uint32_t, heaps);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t h = 0; h < heaps; h++)
        memory[h] = HDI_NONE;
    for (uint32_t i = 0; i < n; i++) {
        const hd_plan_resource *r = &v->p.resources[i];
        bool external = v->d.res_flags[r->id] & HDI_RES_EXTERNAL || hdi_is_token(&v->d, r->id);
        check_pair(v, r);
        if (external != (r->heap == HDI_NONE) || (!external && r->heap >= heaps)) {
            hdi_verify_fail(v, HD_RULE_PLACEMENT, "placement: resource %u '%s' has the wrong heap", r->id,
                            hdi_verify_res_name(v, r->id));
            return HD_PLAN_INVALID;
        }
        if (external)
            continue;
        hd_memory_need need;
        hd_result result = need_of(v, r->id, &need);
        if (result != HD_OK)
            return result;
        check_one(v, r, &need);
        if (memory[r->heap] != HDI_NONE && memory[r->heap] != need.heap)
            hdi_verify_fail(v, HD_RULE_PLACEMENT, "placement: heap %u holds resources of memory %u and %u", r->heap,
                            memory[r->heap], need.heap);
        memory[r->heap] = need.heap;
        key[placed] = r->offset;
        order[placed++] = i;
        heap_begin[r->heap + 2]++;
    }
    if (v->bad)
        return HD_PLAN_INVALID;
    hdi_sort_u64(key, order, key2, order2, placed);
    for (uint32_t h = 0; h < heaps; h++)
        heap_begin[h + 2] += heap_begin[h + 1];
    for (uint32_t i = 0; i < placed; i++)
        by_heap[heap_begin[v->p.resources[order[i]].heap + 1]++] = order[i];
    for (uint32_t h = 0; h < heaps; h++)
        check_sharing(v, by_heap + heap_begin[h], heap_begin[h + 1] - heap_begin[h]);
    return HD_OK;
}
