#include "alias_pack.h"

#include <string.h>

/* Alias: heap and offset of each resource. Two resources may share bytes when the clocks order all uses of one before
 * all uses of the other, on whatever queues they are. Histories and what they are of share with no other, and of
 * host-visible buffers those that the host writes once it has waited for the GPU (alias_host.c). README.md says how a
 * heap is packed. */

/* ---- heaps and their members ----
 *
 * Which heap each resource is in, and which resources have memory at all, by first use. A heap holds what has the same
 * kind of memory and the same flags; heaps are numbered as they come up. Parts of the resources find their own heaps
 * first, and drop their members into bins of slots; then each bin is sorted by counting. One worker has one part and
 * one bin. O(resources + slots). */

enum { GRAIN = 512, BINS = 64, KINDS = HDI_MOST_HEAPS, SPECIAL = HDI_RES_HOST | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY };
_Static_assert((HD_HEAP_HOST | HD_HEAP_PERSISTENT) == 3, "flags are a digit of the kind");

typedef struct part_heaps {
    uint32_t member_count, heap_count;
    uint16_t number[KINDS]; /* of each kind, in the part: 1 and up */
    uint8_t kind[KINDS];
    uint8_t heap[KINDS]; /* what the numbers of the part become */
    bool sorted;         /* members are in order of first use */
} part_heaps;

typedef struct heaps_work {
    const hdi_pack *pack;
    const hdi_decl *decl;
    hdi_placed *out;
    hdi_members *members;
    uint32_t bins, shift;      /* from a slot to its bin */
    uint32_t *bin_begin;       /* by part: where its members of each bin go */
    uint32_t begin[BINS + 1];  /* of each bin */
    uint32_t *list;            /* members of each part, from its first resource on */
    uint32_t *binned;
    uint32_t *at; /* by slot */
    part_heaps *part;
} heaps_work;

static bool is_host_visible(const hdi_decl *decl, uint32_t res)
{
    uint32_t pair = decl->res_pair[res];
    return (decl->res_flags[res] & HDI_RES_HOST) || (pair != HDI_NONE && decl->res_flags[pair] & HDI_RES_HOST);
}

/* One behind the last: a history without uses. */
static inline uint32_t first_slot(const heaps_work *w, uint32_t res)
{
    uint32_t first = w->pack->lifetimes->res_first[res], slots = w->pack->hazards->slot_count;
    return first < slots ? first : slots;
}

static HDI_APART uint32_t special_flags(const heaps_work *w, uint32_t res)
{
    return (is_host_visible(w->decl, res) ? HD_HEAP_HOST : 0) |
           (w->pack->sizes->res_persistent[res] ? HD_HEAP_PERSISTENT : 0);
}

/* The heap of a kind, numbered by the part. */
static HDI_APART uint32_t number_of(part_heaps *p, uint32_t kind)
{
    if (!p->number[kind]) {
        p->kind[p->heap_count] = (uint8_t)kind;
        p->number[kind] = (uint16_t)++p->heap_count;
    }
    return p->number[kind] - 1u;
}

static void find_heaps(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const heaps_work *w = user;
    const hd_memory_need *needs = w->pack->sizes->need;
    const uint8_t *res_flags = w->decl->res_flags;
    part_heaps *p = &w->part[part];
    uint32_t *put = w->list + begin, *bin = w->bin_begin + (size_t)part * w->bins, kind = KINDS, number = 0, slot = 0;
    p->heap_count = 0;
    p->sorted = true;
    memset(p->number, 0, sizeof(p->number));
    for (uint32_t r = begin; r < end; r++) {
        const hd_memory_need *need = &needs[r];
        if (HDI_UNLIKELY(need->bytes == 0)) {
            w->out->res_heap[r] = HDI_NONE;
            w->out->res_offset[r] = 0;
            w->out->res_tenants[r] = (hdi_tenants){0, 0};
            continue;
        }
        uint32_t own = need->heap * 4 + (HDI_UNLIKELY(res_flags[r] & SPECIAL) ? special_flags(w, r) : 0),
                 at = first_slot(w, r);
        if (HDI_UNLIKELY(own != kind)) { /* neighbours are mostly of one kind */
            kind = own;
            number = number_of(p, kind);
        }
        w->out->res_heap[r] = number;
        *put++ = r;
        p->sorted &= at >= slot;
        slot = at;
    }
    p->member_count = (uint32_t)(put - (w->list + begin));
    if (w->bins == 1)
        return;
    memset(bin, 0, w->bins * sizeof(*bin));
    for (uint32_t i = 0; i < p->member_count; i++)
        bin[first_slot(w, w->list[begin + i]) >> w->shift]++;
}

/* Heaps in the order in which resources come up, and where the members of each part and bin go. */
static void join_parts(heaps_work *w, uint32_t parts)
{
    hdi_placed *out = w->out;
    uint16_t number[KINDS] = {0};
    uint32_t sum = 0;
    out->heap_count = 0;
    for (uint32_t k = 0; k < parts; k++) {
        part_heaps *p = &w->part[k];
        for (uint32_t h = 0; h < p->heap_count; h++) {
            uint32_t kind = p->kind[h];
            if (!number[kind]) {
                out->heap[out->heap_count] = (hd_plan_heap){.memory = kind / 4, .flags = kind % 4};
                number[kind] = (uint16_t)++out->heap_count;
            }
            p->heap[h] = (uint8_t)(number[kind] - 1);
        }
        w->members->count += p->member_count;
    }
    for (uint32_t b = 0; b < w->bins && w->bins > 1; b++) {
        w->begin[b] = sum;
        for (uint32_t k = 0; k < parts; k++) {
            uint32_t *begin = &w->bin_begin[(size_t)k * w->bins + b], count = *begin;
            *begin = sum;
            sum += count;
        }
    }
    w->begin[w->bins] = w->members->count;
}

static void fill_bins(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const heaps_work *w = user;
    const part_heaps *p = &w->part[part];
    const uint32_t *list = w->list + begin;
    uint32_t *bin = w->bin_begin + (size_t)part * w->bins, *heap = w->out->res_heap;
    (void)end;
    for (uint32_t i = 0; i < p->member_count; i++) {
        uint32_t res = list[i];
        heap[res] = p->heap[heap[res]];
        w->binned[bin[first_slot(w, res) >> w->shift]++] = res;
    }
}

/* By first use. */
static void sort_bin(uint32_t bin, void *user)
{
    const heaps_work *w = user;
    uint32_t begin = w->begin[bin], end = w->begin[bin + 1], slots = w->pack->hazards->slot_count + 1,
             slot_begin = bin << w->shift, slot_end = bin + 1 < w->bins ? slot_begin + (1u << w->shift) : slots,
             *at = w->at, sum = begin;
    memset(at + slot_begin, 0, (slot_end - slot_begin) * sizeof(*at));
    for (uint32_t i = begin; i < end; i++)
        at[first_slot(w, w->binned[i])]++;
    for (uint32_t s = slot_begin; s < slot_end; s++) {
        uint32_t here = at[s];
        at[s] = sum;
        sum += here;
    }
    for (uint32_t i = begin; i < end; i++)
        w->members->by_first[at[first_slot(w, w->binned[i])]++] = w->binned[i];
}

/* Where those of each region begin. */
static void find_regions(const heaps_work *w)
{
    const hdi_hazards *hazards = w->pack->hazards;
    for (uint32_t k = 1; k <= hazards->region_count; k++) {
        uint32_t low = 0, high = w->members->count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (first_slot(w, w->members->by_first[middle]) < hazards->region_begin[k])
                low = middle + 1;
            else
                high = middle;
        }
        w->members->region_begin[k] = low;
    }
}

static bool find_members(const hdi_pack *pack, const hdi_decl *decl, const hdi_crew *crew, hdi_placed *out,
                      hdi_members *members)
{
    const hdi_hazards *hazards = pack->hazards;
    hdi_arena *arena = pack->arena;
    uint32_t n = decl->res_count, grain = hazards->slot_count ? GRAIN : UINT32_MAX,
             parts = hdi_range_count(crew, n, grain);
    heaps_work w = {.pack = pack, .decl = decl, .out = out, .members = members, .bins = 1, .shift = 31};
    if (parts > 1) {
        for (w.shift = 0; hazards->slot_count >> w.shift >= BINS;)
            w.shift++;
        w.bins = (hazards->slot_count >> w.shift) + 1;
    }
    *members = (hdi_members){.by_first = HDI_EARLY_ARRAY(crew, arena, uint32_t, n)};
    members->region_begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)hazards->region_count + 1);
    w.list = HDI_EARLY_ARRAY(crew, arena, uint32_t, n);
    w.at = HDI_EARLY_ARRAY(crew, arena, uint32_t, (size_t)hazards->slot_count + 1);
    w.part = HDI_ARENA_ARRAY(arena, part_heaps, parts);
    w.bin_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)parts * w.bins);
    w.binned = w.bins > 1 ? HDI_ARENA_ARRAY(arena, uint32_t, n) : w.list;
    if (arena->failed)
        return false;
    hdi_crew_ranges(crew, n, grain, find_heaps, &w);
    join_parts(&w, parts);
    if (parts == 1 && w.part->sorted) {
        members->by_first = w.list;
    } else {
        if (parts > 1)
            hdi_crew_ranges(crew, n, grain, fill_bins, &w);
        hdi_crew_parts(crew, w.bins, sort_bin, &w);
    }
    find_regions(&w);
    return true;
}

/* ---- offsets ---- */

typedef hdi_pack_work work;

/* One behind another, by first use. */
static uint64_t line_up(work *w, const uint32_t *res, uint32_t count)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++)
        end = hdi_pack_behind(w, res[i], end);
    return end;
}

/* Whether all members of a heap have one size and alignment. */
static bool are_alike(const work *w, const hdi_members *members, uint32_t heap)
{
    const hd_memory_need *need = w->sizes->need, *one = NULL;
    for (uint32_t i = 0; i < members->count; i++) {
        uint32_t res = members->by_first[i];
        if (w->out->res_heap[res] != heap)
            continue;
        one = one ? one : &need[res];
        if (need[res].bytes != one->bytes || need[res].alignment != one->alignment)
            return false;
    }
    return true;
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
    bool shared = w->out->heap[heap].flags == 0, alike = shared && are_alike(w, members, heap);
    if (shared && !alike && has_regions(w, members))
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
    return shared ? hdi_pack_members(w, in_heap, count, alike, known) : line_up(w, in_heap, count);
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
    if (arena->failed || !find_members(&w.pack, decl, crew, out, &members))
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
