#include "alias_pack.h"

#include <string.h>

#include "csr.h"

/* Tenants: a skyline over each heap, in order of first use, tells whose bytes each resource takes over: only the newest
 * tenant of each byte matters, older ones were handed over before. O(resources * log pieces + tenants), and the moving
 * of pieces. */

typedef struct piece {
    uint64_t offset, end;
    uint32_t res;
} piece;

typedef struct skyline {
    piece *item; /* by offset, without overlaps */
    uint32_t count;
} skyline;

typedef struct pair_list {
    uint32_t *res, *tenant;
    uint32_t count, capacity;
} pair_list;

static bool add_pair(hdi_arena *arena, pair_list *pairs, uint32_t res, uint32_t tenant)
{
    for (uint32_t i = pairs->count; i-- > 0 && pairs->res[i] == res;) {
        if (pairs->tenant[i] == tenant)
            return true;
    }
    if (pairs->count == pairs->capacity) {
        uint32_t grown = 2 * pairs->capacity;
        uint32_t *a = HDI_ARENA_ARRAY(arena, uint32_t, grown), *b = HDI_ARENA_ARRAY(arena, uint32_t, grown);
        if (!a || !b)
            return false;
        memcpy(a, pairs->res, pairs->count * sizeof(*a));
        memcpy(b, pairs->tenant, pairs->count * sizeof(*b));
        *pairs = (pair_list){a, b, pairs->count, grown};
    }
    pairs->res[pairs->count] = res;
    pairs->tenant[pairs->count++] = tenant;
    return true;
}

/* First piece that ends behind an offset. */
static uint32_t find(const skyline *sky, uint64_t offset)
{
    uint32_t low = 0, high = sky->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (sky->item[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The newcomer covers its bytes; whom it covers are its tenants. */
static bool cover(hdi_arena *arena, skyline *sky, pair_list *pairs, uint32_t res, uint64_t begin, uint64_t end)
{
    uint32_t from = find(sky, begin), to = from;
    for (; to < sky->count && sky->item[to].offset < end; to++) {
        if (!add_pair(arena, pairs, res, sky->item[to].res))
            return false;
    }
    piece fresh[3];
    uint32_t n = 0;
    if (from < to && sky->item[from].offset < begin)
        fresh[n++] = (piece){sky->item[from].offset, begin, sky->item[from].res};
    fresh[n++] = (piece){begin, end, res};
    if (from < to && sky->item[to - 1].end > end)
        fresh[n++] = (piece){end, sky->item[to - 1].end, sky->item[to - 1].res};
    memmove(&sky->item[from + n], &sky->item[to], (sky->count - to) * sizeof(piece));
    memcpy(&sky->item[from], fresh, n * sizeof(piece));
    sky->count = sky->count - (to - from) + n;
    return true;
}

hd_result hdi_find_tenants(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, hdi_placed *out)
{
    hdi_arena *arena = pack->arena;
    pair_list pairs = {HDI_ARENA_ARRAY(arena, uint32_t, (size_t)count + 64),
                       HDI_ARENA_ARRAY(arena, uint32_t, (size_t)count + 64), 0, count + 64};
    skyline sky = {HDI_ARENA_ARRAY(arena, piece, 2 * (size_t)count + 3), 0};
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t heap = 0; heap < out->heap_count; heap++) {
        sky.count = 0;
        for (uint32_t i = 0; out->heap[heap].flags == 0 && i < count; i++) {
            uint32_t r = by_first[i];
            if (out->res_heap[r] == heap &&
                !cover(arena, &sky, &pairs, r, out->res_offset[r], out->res_offset[r] + pack->sizes->need[r].bytes))
                return HD_OUT_OF_MEMORY;
        }
    }
    out->tenant_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)pack->res_count + 1);
    out->tenant = HDI_ARENA_ARRAY(arena, uint32_t, pairs.count);
    uint32_t *order = HDI_ARENA_ARRAY(arena, uint32_t, pairs.count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_csr_build(pairs.res, pairs.count, pack->res_count, out->tenant_begin, order);
    for (uint32_t i = 0; i < pairs.count; i++)
        out->tenant[i] = pairs.tenant[order[i]];
    return HD_OK;
}
