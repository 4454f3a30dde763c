#include "phases.h"

#include <string.h>

#include "csr.h"
#include "sort.h"

/* Alias: heap and offset of each resource. Two resources may share bytes when the clocks order all uses of one before
 * all uses of the other, on whatever queues they are. Largest first, each at the lowest offset that is free of those it
 * may not share with. Histories, what they are of, and host-visible buffers share with nobody.
 *
 * Then a skyline over each heap, in order of first use, tells whose bytes each resource takes over: only the newest
 * tenant of each byte matters, older ones were handed over before. O(resources^2) in the worst case. */

typedef struct place {
    uint64_t offset, end;
    uint32_t res;
} place;

typedef struct work {
    const hdi_decl *decl;
    const hdi_sizes *sizes;
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    const hdi_lifetimes *lifetimes;
    uint32_t queues;
    hdi_arena *arena;
    hdi_placed *out;
} work;

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* All uses of a have finished before b starts, as far as the clocks know. */
static bool comes_before(const work *w, uint32_t a, uint32_t b)
{
    const hdi_stay *x = &w->lifetimes->stay[(size_t)a * w->queues], *y = &w->lifetimes->stay[(size_t)b * w->queues];
    for (uint32_t q = 0; q < w->queues; q++) {
        if (x[q].first == HDI_NONE)
            continue;
        for (uint32_t k = 0; k < w->queues; k++) {
            if (y[k].first == HDI_NONE)
                continue;
            if (k == q) {
                if (y[k].first <= x[q].close)
                    return false;
                continue;
            }
            uint32_t slot = w->hazards->queue_slot[w->hazards->queue_begin[k] + y[k].first];
            if (w->synced->slot_clock[(size_t)slot * w->queues + q] <= x[q].last)
                return false;
        }
    }
    return true;
}

/* Slot order agrees with every clock: only one direction is possible, and none where the slots overlap. On one queue the
 * slots say it all. */
static bool may_share(const work *w, uint32_t a, uint32_t b)
{
    const uint32_t *first = w->lifetimes->res_first, *close = w->lifetimes->res_close;
    if (first[a] > first[b]) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    if (close[a] >= first[b])
        return false;
    return w->queues == 1 || comes_before(w, a, b);
}

/* placed: by offset. Returns where the newcomer was put. */
static uint32_t put_lowest(const work *w, place *placed, uint32_t count, uint32_t res)
{
    const hd_memory_need *need = &w->sizes->need[res];
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (placed[i].end <= at || may_share(w, placed[i].res, res))
            continue;
        if (placed[i].offset >= at + need->bytes)
            break;
        at = align_up(placed[i].end, need->alignment);
    }
    uint32_t i = count;
    while (i > 0 && placed[i - 1].offset > at) {
        placed[i] = placed[i - 1];
        i--;
    }
    placed[i] = (place){at, at + need->bytes, res};
    w->out->res_offset[res] = at;
    return i;
}

/* ---- heaps ---- */

static bool has_memory(const work *w, uint32_t res)
{
    return w->sizes->need[res].bytes != 0;
}

static uint32_t heap_flags(const work *w, uint32_t res)
{
    hd_resource_info info;
    hdi_resource_info(w->decl, res, &info);
    return (info.host_visible ? HD_HEAP_HOST : 0) | (w->sizes->res_persistent[res] ? HD_HEAP_PERSISTENT : 0);
}

static void choose_heaps(work *w)
{
    hdi_placed *out = w->out;
    for (uint32_t r = 0; r < w->decl->res_count; r++) {
        out->res_heap[r] = HDI_NONE;
        if (!has_memory(w, r))
            continue;
        uint32_t memory = w->sizes->need[r].heap, flags = heap_flags(w, r), h = 0;
        while (h < out->heap_count && (out->heap[h].memory != memory || out->heap[h].flags != flags))
            h++;
        if (h == out->heap_count)
            out->heap[out->heap_count++] = (hd_plan_heap){.memory = memory, .flags = flags};
        out->res_heap[r] = h;
    }
}

static hd_result place_heap(work *w, uint32_t heap, const uint32_t *order, uint32_t count)
{
    place *placed = HDI_ARENA_ARRAY(w->arena, place, count);
    if (!placed)
        return HD_OUT_OF_MEMORY;
    uint32_t n = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t r = order[i];
        if (w->out->res_heap[r] != heap)
            continue;
        if (w->out->heap[heap].flags) {
            w->out->res_offset[r] = align_up(end, w->sizes->need[r].alignment);
        } else {
            put_lowest(w, placed, n++, r);
        }
        uint64_t last = w->out->res_offset[r] + w->sizes->need[r].bytes;
        end = last > end ? last : end;
    }
    w->out->heap[heap].bytes = end;
    return HD_OK;
}

/* ---- tenants ---- */

typedef struct skyline {
    place *piece, *next; /* by offset, without overlaps */
    uint32_t count;
} skyline;

typedef struct pair_list {
    uint32_t *res, *tenant;
    uint32_t count, capacity;
} pair_list;

static bool add_pair(work *w, pair_list *pairs, uint32_t res, uint32_t tenant)
{
    for (uint32_t i = pairs->count; i-- > 0 && pairs->res[i] == res;) {
        if (pairs->tenant[i] == tenant)
            return true;
    }
    if (pairs->count == pairs->capacity) {
        uint32_t grown = pairs->capacity ? 2 * pairs->capacity : 256;
        uint32_t *a = HDI_ARENA_ARRAY(w->arena, uint32_t, grown), *b = HDI_ARENA_ARRAY(w->arena, uint32_t, grown);
        if (!a || !b)
            return false;
        if (pairs->count) {
            memcpy(a, pairs->res, pairs->count * sizeof(*a));
            memcpy(b, pairs->tenant, pairs->count * sizeof(*b));
        }
        *pairs = (pair_list){a, b, pairs->count, grown};
    }
    pairs->res[pairs->count] = res;
    pairs->tenant[pairs->count++] = tenant;
    return true;
}

/* The newcomer covers its bytes; whom it covers are its tenants. A piece is split at most once on either side. */
static bool cover(work *w, skyline *sky, pair_list *pairs, uint32_t res)
{
    uint64_t begin = w->out->res_offset[res], end = begin + w->sizes->need[res].bytes;
    uint32_t n = 0;
    bool added = false;
    for (uint32_t i = 0; i < sky->count; i++) {
        place p = sky->piece[i];
        if (p.end <= begin || p.offset >= end) {
            if (p.offset >= end && !added) {
                sky->next[n++] = (place){begin, end, res};
                added = true;
            }
            sky->next[n++] = p;
            continue;
        }
        if (!add_pair(w, pairs, res, p.res))
            return false;
        if (p.offset < begin)
            sky->next[n++] = (place){p.offset, begin, p.res};
        if (!added)
            sky->next[n++] = (place){begin, end, res};
        added = true;
        if (p.end > end)
            sky->next[n++] = (place){end, p.end, p.res};
    }
    if (!added)
        sky->next[n++] = (place){begin, end, res};
    place *swap = sky->piece;
    sky->piece = sky->next;
    sky->next = swap;
    sky->count = n;
    return true;
}

static hd_result find_tenants(work *w, const uint32_t *by_first, uint32_t count)
{
    hdi_placed *out = w->out;
    pair_list pairs = {0};
    skyline sky = {HDI_ARENA_ARRAY(w->arena, place, 2 * (size_t)count + 1),
                   HDI_ARENA_ARRAY(w->arena, place, 2 * (size_t)count + 1), 0};
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t heap = 0; heap < out->heap_count; heap++) {
        sky.count = 0;
        for (uint32_t i = 0; out->heap[heap].flags == 0 && i < count; i++) {
            if (out->res_heap[by_first[i]] == heap && !cover(w, &sky, &pairs, by_first[i]))
                return HD_OUT_OF_MEMORY;
        }
    }
    out->tenant_begin = HDI_ARENA_ARRAY(w->arena, uint32_t, (size_t)w->decl->res_count + 1);
    out->tenant = HDI_ARENA_ARRAY(w->arena, uint32_t, pairs.count);
    uint32_t *order = HDI_ARENA_ARRAY(w->arena, uint32_t, pairs.count);
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_csr_build(pairs.res, pairs.count, w->decl->res_count, out->tenant_begin, order);
    for (uint32_t i = 0; i < pairs.count; i++)
        out->tenant[i] = pairs.tenant[order[i]];
    return HD_OK;
}

hd_result hdi_alias(const hdi_decl *decl, const hdi_sizes *sizes, const hdi_hazards *hazards, const hdi_queues *queues,
                    const hdi_synced *synced, const hdi_lifetimes *lifetimes, hdi_arena *arena, hdi_placed *out)
{
    work w = {decl, sizes, hazards, synced, lifetimes, queues->count, arena, out};
    uint32_t n = decl->res_count;
    out->heap_count = 0;
    out->heap = HDI_ARENA_ARRAY(arena, hd_plan_heap, 64 * 4);
    out->res_heap = HDI_ARENA_ARRAY(arena, uint32_t, n);
    out->res_offset = HDI_ARENA_ZEROED(arena, uint64_t, n);
    uint64_t *key = HDI_ARENA_ARRAY(arena, uint64_t, n), *scratch_key = HDI_ARENA_ARRAY(arena, uint64_t, n);
    uint32_t *by_first = HDI_ARENA_ARRAY(arena, uint32_t, n), *order = HDI_ARENA_ARRAY(arena, uint32_t, n);
    uint32_t *scratch = HDI_ARENA_ARRAY(arena, uint32_t, n);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    choose_heaps(&w);
    uint32_t count = 0;
    for (uint32_t r = 0; r < n; r++) {
        if (out->res_heap[r] == HDI_NONE)
            continue;
        key[count] = lifetimes->res_first[r];
        by_first[count++] = r;
    }
    hdi_sort_u64(key, by_first, scratch_key, scratch, count);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = by_first[i];
        key[i] = UINT64_MAX - sizes->need[order[i]].bytes;
    }
    hdi_sort_u64(key, order, scratch_key, scratch, count);
    for (uint32_t heap = 0; heap < out->heap_count; heap++) {
        hd_result result = place_heap(&w, heap, order, count);
        if (result != HD_OK)
            return result;
    }
    return find_tenants(&w, by_first, count);
}

hd_result hdi_tenant_edges(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_queues *queues,
                           const hdi_lifetimes *lifetimes, const hdi_placed *placed, hdi_arena *arena, hdi_edge **edge,
                           uint32_t *edge_count)
{
    uint32_t n = queues->count, count = 0;
    for (int fill = 0; fill < 2; fill++) {
        count = 0;
        for (uint32_t r = 0; r < decl->res_count; r++) {
            const hdi_stay *to = &lifetimes->stay[(size_t)r * n];
            for (uint32_t t = placed->tenant_begin[r]; t < placed->tenant_begin[r + 1]; t++) {
                const hdi_stay *from = &lifetimes->stay[(size_t)placed->tenant[t] * n];
                for (uint32_t i = 0; i < n * n; i++) {
                    uint32_t q = i / n, k = i % n;
                    if (q == k || from[q].first == HDI_NONE || to[k].first == HDI_NONE)
                        continue;
                    if (fill)
                        (*edge)[count] = (hdi_edge){hazards->queue_slot[hazards->queue_begin[q] + from[q].last],
                                                    hazards->queue_slot[hazards->queue_begin[k] + to[k].first]};
                    count++;
                }
            }
        }
        if (fill)
            break;
        *edge = HDI_ARENA_ARRAY(arena, hdi_edge, count);
        if (arena->failed)
            return HD_OUT_OF_MEMORY;
    }
    *edge_count = count;
    return HD_OK;
}
