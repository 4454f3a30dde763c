#include "alias_pack.h"

#include <string.h>

#include "csr.h"

/* Tenants: a skyline over each heap, in order of first use, tells whose bytes each resource takes over: only the newest
 * tenant of each byte matters, older ones were handed over before. O(resources * log pieces + tenants), and the moving
 * of pieces.
 *
 * Bytes have nothing to do with one another: in parallel each part has some of them, of heaps that lie one behind another,
 * and sees of each resource what lies there. The tenants of a resource are those of all parts, in the order of the bytes:
 * the same however many parts there are, so that there are as many as workers. */

enum { MOST_SLICES = 32, SAMPLES = 256, GRAIN = 1024 };

/* Bytes as far as the next piece; ranks are places in the order of first use, HDI_NONE: nobody has them. */
typedef struct piece {
    uint64_t offset;
    uint32_t rank;
} piece;

typedef struct place {
    uint64_t begin, end; /* empty: shares with nobody */
} place;

typedef struct pair {
    uint32_t rank, tenant;
} pair;

typedef struct slice {
    uint64_t begin, end;
    piece *item; /* by offset; the last one begins where nothing is */
    uint32_t piece_count, piece_capacity;
    pair *pair; /* by rank, then by offset */
    uint32_t pair_count, pair_capacity;
    bool failed;
} slice;

typedef struct work {
    const hdi_pack *pack;
    const hdi_crew *crew;
    const uint32_t *by_first;
    const uint64_t *heap_base;
    hdi_placed *out;
    uint32_t count;
    place *place; /* by rank */
    slice *slice;
    uint32_t slice_count;
    bool fill;
} work;

static bool grow(hdi_arena *arena, void *array, uint32_t *capacity, uint32_t count, uint32_t need, size_t bytes)
{
    if (need <= *capacity)
        return true;
    uint32_t grown = need > 2 * *capacity ? need : 2 * *capacity;
    void *fresh = hdi_arena_array(arena, grown, bytes);
    if (!fresh)
        return false;
    if (count)
        memcpy(fresh, *(void **)array, count * bytes);
    *(void **)array = fresh;
    *capacity = grown;
    return true;
}

/* own: the pairs of the same rank begin there. */
static inline bool add_pair(hdi_arena *arena, slice *s, uint32_t own, uint32_t rank, uint32_t tenant)
{
    for (uint32_t i = own; i < s->pair_count; i++) {
        if (s->pair[i].tenant == tenant)
            return true;
    }
    if (!grow(arena, &s->pair, &s->pair_capacity, s->pair_count, s->pair_count + 1, sizeof(pair)))
        return false;
    s->pair[s->pair_count++] = (pair){rank, tenant};
    return true;
}

/* The piece that an offset is in. No branch: which way it goes, nobody can foresee. */
static inline piece *find(const slice *s, uint64_t offset)
{
    piece *low = s->item;
    for (uint32_t count = s->piece_count, half; count > 1; count -= half) {
        half = count / 2;
        low += low[half].offset <= offset ? half : 0;
    }
    return low;
}

/* The newcomer covers its bytes; whom it covers are its tenants. */
static inline bool cover(hdi_arena *arena, slice *s, uint32_t rank, uint64_t begin, uint64_t end)
{
    if (!grow(arena, &s->item, &s->piece_capacity, s->piece_count, s->piece_count + 2, sizeof(piece)))
        return false;
    piece *from = find(s, begin), *to = from;
    uint32_t covered = HDI_NONE, own = s->pair_count;
    for (; to->offset < end; to++) {
        covered = to->rank;
        if (covered != HDI_NONE && !add_pair(arena, s, own, rank, covered))
            return false;
    }
    from += from->offset < begin;
    bool splits = to->offset > end;
    piece *behind = from + 1 + splits;
    if (behind != to) {
        memmove(behind, to, (size_t)((char *)&s->item[s->piece_count] - (char *)to));
        s->piece_count = (uint32_t)((int64_t)s->piece_count + (behind - to));
    }
    if (splits)
        from[1] = (piece){end, covered};
    *from = (piece){begin, rank};
    return true;
}

static void run_slice(uint32_t part, void *user)
{
    const work *w = user;
    slice *s = &w->slice[part];
    hdi_arena *arena = w->slice_count > 1 ? &w->crew->arena[part] : w->pack->arena;
    uint64_t first = s->begin, last = s->end;
    s->failed = !grow(arena, &s->item, &s->piece_capacity, 0, 256, sizeof(piece)) ||
                !grow(arena, &s->pair, &s->pair_capacity, 0, w->count / w->slice_count + 64, sizeof(pair));
    if (s->failed)
        return;
    s->item[s->piece_count++] = (piece){0, HDI_NONE};
    s->item[s->piece_count++] = (piece){UINT64_MAX, HDI_NONE};
    for (uint32_t rank = 0; rank < w->count && !s->failed; rank++) {
        uint64_t begin = w->place[rank].begin, end = w->place[rank].end;
        if (end <= first || begin >= last || begin == end)
            continue;
        s->failed = !cover(arena, s, rank, begin > first ? begin : first, end < last ? end : last);
    }
}

static void find_places(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)part;
    for (uint32_t rank = begin; rank < end; rank++) {
        uint32_t res = w->by_first[rank], heap = w->out->res_heap[res];
        uint64_t at = w->heap_base[heap] + w->out->res_offset[res];
        w->place[rank] = (place){at, w->out->heap[heap].flags ? at : at + w->pack->sizes->need[res].bytes};
    }
}

/* About as much for each slice: where resources of a sample begin. */
static void cut_slices(const work *w)
{
    uint64_t sample[SAMPLES];
    uint32_t n = w->slice_count > 1 ? SAMPLES : 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t offset = w->place[(uint64_t)w->count * i / n].begin;
        uint32_t at = i;
        for (; at > 0 && sample[at - 1] > offset; at--)
            sample[at] = sample[at - 1];
        sample[at] = offset;
    }
    for (uint32_t k = 0; k < w->slice_count; k++) {
        w->slice[k].begin = k ? w->slice[k - 1].end : 0;
        w->slice[k].end = k + 1 < w->slice_count ? sample[(k + 1) * n / w->slice_count] : UINT64_MAX;
    }
}

/* The first pair of a rank or of a later one. */
static uint32_t find_pair(const slice *s, uint32_t rank)
{
    uint32_t low = 0, high = s->pair_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (s->pair[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Counts, or fills in, the tenants of some ranks, each once. */
static void join_slices(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    hdi_placed *out = w->out;
    uint32_t at[MOST_SLICES];
    (void)part;
    for (uint32_t k = 0; k < w->slice_count; k++)
        at[k] = find_pair(&w->slice[k], begin);
    for (uint32_t rank = begin; rank < end; rank++) {
        uint32_t res = w->by_first[rank], count = 0, several = 0;
        uint32_t *tenant = w->fill ? &out->tenant[out->tenant_begin[res]] : NULL;
        uint32_t first = 0;
        while (w->slice[first].end <= w->place[rank].begin)
            first++;
        for (uint32_t k = first; k < w->slice_count && w->slice[k].begin < w->place[rank].end; k++) {
            const slice *s = &w->slice[k];
            uint32_t from = at[k];
            for (; at[k] < s->pair_count && s->pair[at[k]].rank == rank; at[k]++) {
                bool seen = false;
                if (several) { /* in another slice */
                    for (uint32_t j = 0; j < k && !seen; j++) {
                        for (uint32_t i = at[j]; i-- > 0 && w->slice[j].pair[i].rank == rank && !seen;)
                            seen = w->slice[j].pair[i].tenant == s->pair[at[k]].tenant;
                    }
                }
                if (!seen && tenant)
                    tenant[count] = w->by_first[s->pair[at[k]].tenant];
                count += !seen;
            }
            several += at[k] != from;
        }
        if (!w->fill)
            out->tenant_begin[res] = count;
    }
}

/* The same, of the only slice. */
static void fill_in(const work *w, const slice *s)
{
    for (uint32_t i = 0, at = 0; i < s->pair_count; i++) {
        if (i == 0 || s->pair[i].rank != s->pair[i - 1].rank)
            at = w->out->tenant_begin[w->by_first[s->pair[i].rank]];
        w->out->tenant[at++] = w->by_first[s->pair[i].tenant];
    }
}

hd_result hdi_find_tenants(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, const hdi_crew *crew,
                           hdi_placed *out)
{
    hdi_arena *arena = pack->arena;
    uint64_t heap_base[64 * 4 + 1];
    work w = {.pack = pack, .crew = crew, .by_first = by_first, .heap_base = heap_base, .out = out, .count = count};
    w.slice_count = crew->workers < MOST_SLICES ? crew->workers : MOST_SLICES;
    w.place = HDI_ARENA_ARRAY(arena, place, count);
    w.slice = hdi_arena_zeroed(arena, w.slice_count, sizeof(*w.slice));
    out->tenant_begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)pack->res_count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    heap_base[0] = 0;
    for (uint32_t h = 0; h < out->heap_count; h++)
        heap_base[h + 1] = heap_base[h] + out->heap[h].bytes;
    hdi_crew_ranges(crew, count, GRAIN, find_places, &w);
    cut_slices(&w);
    hdi_crew_parts(crew, w.slice_count, run_slice, &w);
    for (uint32_t k = 0; k < w.slice_count; k++) {
        if (w.slice[k].failed)
            return HD_OUT_OF_MEMORY;
    }
    const slice *only = w.slice_count == 1 ? w.slice : NULL;
    for (uint32_t i = 0; only && i < only->pair_count; i++)
        out->tenant_begin[by_first[only->pair[i].rank]]++;
    if (!only)
        hdi_crew_ranges(crew, count, GRAIN, join_slices, &w);
    uint32_t total = hdi_csr_scan(out->tenant_begin, pack->res_count);
    out->tenant = HDI_ARENA_ARRAY(arena, uint32_t, total);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (only) {
        fill_in(&w, only);
        return HD_OK;
    }
    w.fill = true;
    hdi_crew_ranges(crew, count, GRAIN, join_slices, &w);
    return HD_OK;
}
