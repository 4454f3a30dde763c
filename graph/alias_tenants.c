#include "alias_pack.h"

#include <string.h>

#include "csr.h"

/* Tenants: a skyline over the heaps, one behind another, in order of first use, tells whose bytes each resource takes over:
 * only the newest tenant of each byte matters, older ones were handed over before. O(resources * log pieces + tenants), and
 * the moving of pieces.
 *
 * In parallel each part has some of the resources, and starts from a skyline of which it knows nothing: what its resources
 * take over there are holes. Once all parts have built theirs, holes are filled from the skyline that the part before has
 * left, and where that has holes too, from the one before that. The tenants are the same however many parts there are, so
 * that there are as many as workers. */

enum { MOST_PARTS = 32, GRAIN = 512 };

/* Bytes as far as the next piece; ranks are places in the order of first use, HDI_NONE: nobody has them yet. */
typedef struct piece {
    uint64_t offset;
    uint32_t rank;
} piece;

typedef struct pair {
    uint32_t rank, tenant; /* HDI_NONE: the next hole */
} pair;

typedef struct hole {
    uint64_t begin, end;
} hole;

/* What grows while a part runs. */
typedef struct pairs {
    pair *item;
    uint32_t count, capacity;
} pairs;

typedef struct part {
    hdi_arena *arena;
    uint32_t begin, end; /* ranks */
    piece *item;         /* by offset; the last one begins where nothing is */
    uint32_t piece_count, piece_capacity;
    pairs found, filled; /* by rank, then by offset; with holes, without */
    hole *hole;
    uint32_t hole_count, hole_capacity;
    bool failed;
    char apart[HDI_LINE_PAIR]; /* so that no line is of two parts: they count all the time */
} part;

typedef struct work {
    const hdi_pack *pack;
    const uint32_t *by_first;
    const uint64_t *heap_base;
    hdi_placed *out;
    part *part;
    uint32_t parts;
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

/* own: the pairs of the same rank begin there. Each tenant once. */
static inline bool add_pair(hdi_arena *arena, pairs *p, uint32_t own, uint32_t rank, uint32_t tenant)
{
    for (uint32_t i = own; i < p->count; i++) {
        if (p->item[i].tenant == tenant && tenant != HDI_NONE)
            return true;
    }
    if (!grow(arena, &p->item, &p->capacity, p->count, p->count + 1, sizeof(pair)))
        return false;
    p->item[p->count++] = (pair){rank, tenant};
    return true;
}

static bool add_hole(part *p, uint32_t own, uint32_t rank, uint64_t begin, uint64_t end)
{
    if (!grow(p->arena, &p->hole, &p->hole_capacity, p->hole_count, p->hole_count + 1, sizeof(hole)))
        return false;
    p->hole[p->hole_count++] = (hole){begin, end};
    return add_pair(p->arena, &p->found, own, rank, HDI_NONE);
}

/* The piece that an offset is in. No branch: which way it goes, nobody can foresee. */
static inline piece *find(const part *p, uint64_t offset)
{
    piece *low = p->item;
    for (uint32_t count = p->piece_count, half; count > 1; count -= half) {
        half = count / 2;
        low += low[half].offset <= offset ? half : 0;
    }
    return low;
}

/* The newcomer covers its bytes; whom it covers are its tenants. */
static inline bool cover(part *p, uint32_t rank, uint64_t begin, uint64_t end)
{
    if (!grow(p->arena, &p->item, &p->piece_capacity, p->piece_count, p->piece_count + 2, sizeof(piece)))
        return false;
    piece *from = find(p, begin), *to = from;
    uint32_t covered = HDI_NONE, own = p->found.count;
    for (; to->offset < end; to++) {
        covered = to->rank;
        if (covered != HDI_NONE) {
            if (!add_pair(p->arena, &p->found, own, rank, covered))
                return false;
        } else if (p->begin) { /* before the first part nobody has anything */
            uint64_t low = to->offset > begin ? to->offset : begin, high = to[1].offset < end ? to[1].offset : end;
            if (!add_hole(p, own, rank, low, high))
                return false;
        }
    }
    from += from->offset < begin;
    bool splits = to->offset > end;
    piece *behind = from + 1 + splits;
    if (behind != to) {
        memmove(behind, to, (size_t)((char *)&p->item[p->piece_count] - (char *)to));
        p->piece_count = (uint32_t)((int64_t)p->piece_count + (behind - to));
    }
    if (splits)
        from[1] = (piece){end, covered};
    *from = (piece){begin, rank};
    return true;
}

static void build_skyline(uint32_t k, void *user)
{
    const work *w = user;
    const hdi_placed *out = w->out;
    part *p = &w->part[k];
    uint32_t first = hdi_range_begin(w->pack->res_count, w->parts, k), last = hdi_range_begin(w->pack->res_count, w->parts, k + 1);
    memset(out->tenant_begin + first, 0, (last - first) * sizeof(*out->tenant_begin));
    if (!grow(p->arena, &p->item, &p->piece_capacity, 0, 256, sizeof(piece)) ||
        !grow(p->arena, &p->found.item, &p->found.capacity, 0, (p->end - p->begin) * 3 / 2 + 64, sizeof(pair))) {
        p->failed = true;
        return;
    }
    p->item[p->piece_count++] = (piece){0, HDI_NONE};
    p->item[p->piece_count++] = (piece){UINT64_MAX, HDI_NONE};
    for (uint32_t rank = p->begin; rank < p->end && !p->failed; rank++) {
        uint32_t res = w->by_first[rank], heap = out->res_heap[res];
        if (out->heap[heap].flags) /* nobody shares there */
            continue;
        uint64_t begin = w->heap_base[heap] + out->res_offset[res];
        p->failed = !cover(p, rank, begin, begin + w->pack->sizes->need[res].bytes);
    }
}

/* Who has bytes at the end of a part, in the order of the bytes. */
static bool look_back(const work *w, part *p, uint32_t own, uint32_t rank, hole h, uint32_t k)
{
    const part *before = &w->part[k];
    for (const piece *i = find(before, h.begin); i->offset < h.end; i++) {
        hole rest = {i->offset > h.begin ? i->offset : h.begin, i[1].offset < h.end ? i[1].offset : h.end};
        if (i->rank != HDI_NONE ? !add_pair(p->arena, &p->filled, own, rank, i->rank)
                                : k > 0 && !look_back(w, p, own, rank, rest, k - 1))
            return false;
    }
    return true;
}

/* And counts tenants. */
static void fill_holes(uint32_t k, void *user)
{
    const work *w = user;
    part *p = &w->part[k];
    const pair *found = p->found.item;
    if (p->hole_count == 0) {
        p->filled = p->found;
    } else {
        p->failed = !grow(p->arena, &p->filled.item, &p->filled.capacity, 0, p->found.count + 64, sizeof(pair));
        for (uint32_t i = 0, holes = 0, own = 0; i < p->found.count && !p->failed; i++) {
            uint32_t rank = found[i].rank;
            if (i && found[i - 1].rank != rank)
                own = p->filled.count;
            p->failed = found[i].tenant != HDI_NONE
                            ? !add_pair(p->arena, &p->filled, own, rank, found[i].tenant)
                            : !look_back(w, p, own, rank, p->hole[holes++], k - 1);
        }
    }
    for (uint32_t i = 0; i < p->filled.count && !p->failed; i++)
        w->out->tenant_begin[w->by_first[p->filled.item[i].rank]]++;
}

static void write_tenants(uint32_t k, void *user)
{
    const work *w = user;
    const pairs *p = &w->part[k].filled;
    for (uint32_t i = 0, at = 0; i < p->count; i++) {
        if (i == 0 || p->item[i].rank != p->item[i - 1].rank)
            at = w->out->tenant_begin[w->by_first[p->item[i].rank]];
        w->out->tenant[at++] = w->by_first[p->item[i].tenant];
    }
}

hd_result hdi_find_tenants(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, const hdi_crew *crew,
                           hdi_placed *out)
{
    hdi_arena *arena = pack->arena;
    uint64_t heap_base[HDI_MOST_HEAPS + 1];
    uint32_t most = crew->workers < MOST_PARTS ? crew->workers : MOST_PARTS,
             parts = count < most * GRAIN ? count / GRAIN + 1 : most;
    work w = {.pack = pack, .by_first = by_first, .heap_base = heap_base, .out = out, .parts = parts};
    w.part = hdi_arena_zeroed(arena, parts, sizeof(*w.part));
    out->tenant_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)pack->res_count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    heap_base[0] = 0;
    for (uint32_t h = 0; h < out->heap_count; h++)
        heap_base[h + 1] = heap_base[h] + out->heap[h].bytes;
    for (uint32_t k = 0; k < parts; k++) {
        w.part[k].arena = parts > 1 ? &crew->arena[k] : arena;
        w.part[k].begin = hdi_range_begin(count, parts, k);
        w.part[k].end = hdi_range_begin(count, parts, k + 1);
    }
    hdi_crew_parts(crew, parts, build_skyline, &w);
    for (uint32_t k = 0; k < parts; k++) {
        if (w.part[k].failed)
            return HD_OUT_OF_MEMORY;
    }
    hdi_crew_parts(crew, parts, fill_holes, &w);
    for (uint32_t k = 0; k < parts; k++) {
        if (w.part[k].failed)
            return HD_OUT_OF_MEMORY;
    }
    uint32_t total = hdi_csr_scan(out->tenant_begin, pack->res_count);
    out->tenant = HDI_ARENA_ARRAY(arena, uint32_t, total);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(crew, parts, write_tenants, &w);
    return HD_OK;
}
