#include "alias_pack.h"

#include <string.h>

/* Alias: heap and offset of each resource. Two resources may share bytes when the clocks order all uses of one before
 * all uses of the other, on whatever queues they are. Histories and what they are of share with no other, and of
 * host-visible buffers those that the host writes once it has waited for the GPU (alias_host.c). README.md says how a
 * heap is packed. */

typedef hdi_pack_work work;

/* One behind another, by first use. */
static uint64_t line_up(work *w, const uint32_t *res, uint32_t count)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++)
        end = hdi_pack_behind(w, res[i], end);
    return end;
}

/* Whether a shared heap is packed by the regions of the schedule, by a sample of how many members are alive at a time.
 * Where they are few, the whole frame is packed quickly, however long it is, and to the brim, as two that take turns do
 * not fit together at borders (of several queues such frames took half as much again in regions). */
static bool has_regions(const work *w, const hdi_members *members)
{
    enum { STEP = 16, FEW_ALIVE = 8, FEW_BY_CLOCKS = 12 };
    uint64_t lives = 0, few = w->pack.slot_end / STEP * (w->pack.by_clocks ? FEW_BY_CLOCKS : FEW_ALIVE);
    if (w->pack.hazards->region_count < 2 || w->how->lean)
        return false;
    for (uint32_t i = 0; i < members->count && lives < few; i += STEP) {
        uint32_t res = members->by_first[i];
        if (w->out->heap[w->out->res_heap[res]].flags == 0)
            lives += w->lifetimes->res_close[res] - w->lifetimes->res_first[res] + 1;
    }
    return lives >= few;
}

/* *known: former tenants are. UINT64_MAX: out of memory. */
static uint64_t pack_heap(work *w, const hdi_crew *crew, const hdi_members *members, uint32_t heap, uint32_t host,
                          uint32_t *own, bool *known)
{
    bool shared = w->out->heap[heap].flags == 0;
    if (shared && members->mixed[heap] && has_regions(w, members))
        return hdi_pack_regions(w, crew, members, heap);
    bool all = shared && w->out->heap_count == 1;
    const uint32_t *in_heap = all ? members->by_first : own;
    uint32_t count = all ? members->count : 0;
    for (uint32_t k = 0; k < members->count && !all; k++) {
        if (w->out->res_heap[members->by_first[k]] == heap)
            own[count++] = members->by_first[k];
    }
    if (w->out->heap[heap].flags == HD_HEAP_HOST)
        return *known = true, hdi_pack_host(w, host, own, count);
    *known = !shared;
    return shared ? hdi_pack_members(w, in_heap, count, !members->mixed[heap], known) : line_up(w, in_heap, count);
}

hd_result hdi_alias(const hdi_decl *decl, const hdi_sizes *sizes, const hdi_hazards *hazards, const hdi_queues *queues,
                    const hdi_synced *synced, const hdi_lifetimes *lifetimes, const hdi_packing *how,
                    const hdi_crew *crew, hdi_arena *arena, hdi_placed *out)
{
    uint32_t n = decl->res_count;
    work w = {.sizes = sizes, .lifetimes = lifetimes, .out = out, .how = how, .enough = how->enough};
    w.pack = (hdi_pack){.sizes = sizes,
                        .hazards = hazards,
                        .synced = synced,
                        .lifetimes = lifetimes,
                        .end = lifetimes->res_close,
                        .queues = queues->count,
                        .gpu_mask = (1u << queues->gpu_count) - 1,
                        .res_count = n,
                        .by_clocks = queues->count > 1,
                        .slot_end = hazards->slot_count,
                        .arena = arena};
    w.steps_left = hdi_pack_budget(&w.pack, how);
    out->heap = HDI_ARENA_ARRAY(arena, hd_plan_heap, HDI_MOST_HEAPS);
    out->res_heap = HDI_ARENA_ARRAY(arena, uint32_t, n);
    out->res_offset = HDI_ARENA_ARRAY(arena, uint64_t, n);
    out->res_tenants = HDI_ARENA_ARRAY(arena, hdi_tenants, n);
    out->tenant = NULL;
    out->tenant_count = 0;
    hdi_arena_mark mark = hdi_arena_here(arena), early_mark = hdi_arena_here(crew->early);
    w.offset = HDI_EARLY_ARRAY(crew, arena, uint64_t, n);
    w.key = HDI_EARLY_ARRAY(crew, arena, uint64_t, n);
    w.scratch_key = HDI_EARLY_ARRAY(crew, arena, uint64_t, n);
    w.order = HDI_EARLY_ARRAY(crew, arena, uint32_t, n);
    w.scratch = HDI_EARLY_ARRAY(crew, arena, uint32_t, n);
    w.end = HDI_EARLY_ARRAY(crew, arena, uint32_t, n);
    uint32_t *in_heap = HDI_EARLY_ARRAY(crew, arena, uint32_t, n);
    bool known[HDI_MOST_HEAPS] = {false};
    hdi_members members;
    if (arena->failed || !hdi_find_members(&w.pack, decl, crew, out, &members))
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < 2 * out->heap_count; i++) {
        uint32_t heap = i % out->heap_count;
        if ((out->heap[heap].flags == 0) == (i < out->heap_count))
            continue; /* first those whose bytes are not shared: the others may take what they leave of `enough` */
        uint64_t bytes = pack_heap(&w, crew, &members, heap, queues->host, in_heap, &known[heap]);
        if (bytes == UINT64_MAX)
            return HD_OUT_OF_MEMORY;
        out->heap[heap].bytes = bytes;
        w.enough -= bytes < w.enough ? bytes : w.enough;
    }
    hd_result result =
        arena->failed ? HD_OUT_OF_MEMORY : hdi_find_tenants(&w.pack, members.by_first, members.count, known, crew, out);
    if (result != HD_OK)
        return result;
    const hdi_arena_kept out_array = {&out->tenant, out->tenant_count * sizeof(*out->tenant)};
    hdi_crew_keep(crew, arena, mark, &out_array, 1);
    hdi_arena_keep(crew->early, early_mark, NULL, 0);
    return HD_OK;
}
