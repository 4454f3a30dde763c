#include "alias_pack.h"

#include <string.h>

/* Alias: heap and offset of each resource. Two resources may share bytes when the clocks order all uses of one before
 * all uses of the other, on whatever queues they are. Histories and what they are of share with nobody, and of
 * host-visible buffers those that the host writes once it has waited for the GPU (alias_host.c).
 *
 * How the members of a heap are packed stands in alias_improve.c. Which resource takes over whose bytes is found last
 * (alias_tenants.c).
 *
 * Of a long frame each region is packed by itself, side by side, around those that live on into another one: these come
 * first. Regions are those of the schedule (schedule.c), or several of these together. Where memory is what matters the
 * frame stays whole, and where all have one size, as that is done sooner than cutting it would be. */

typedef hdi_pack_work work;

/* One behind another, by first use, and nobody after somebody else. */
static uint64_t line_up(work *w, const uint32_t *res, uint32_t count)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++)
        end = hdi_pack_behind(w, res[i], end);
    return end;
}

/* ---- regions ---- */

typedef struct region {
    const uint32_t *inner;             /* those that live in it alone */
    uint32_t inner_count, begin;       /* how many; its first member */
    uint32_t crossing, crossing_begin; /* how many live on into another one, and where in crossing they stand */
    uint32_t placed_begin, placed_end; /* in placed: those that live on into it or out of it */
    uint32_t ending_begin, ending_end; /* in ending, as hdi_pack_others has them */
    uint32_t next;                     /* itself, or the next one that has somebody of its own */
    uint64_t before;                   /* bytes that live on into it */
    uint64_t least, needed, bytes;     /* least: if lives end with the groups; needed: with the last use */
} region;

/* Crossing ones whose lives hang together. Others come before or behind all of them, so that each is packed alone. */
typedef struct component {
    work part;
    hdi_pack_mix mix;
    hdi_arena_mark mark;
    uint32_t begin, count; /* in crossing */
    uint64_t top;
} component;

typedef struct region_work {
    work *whole;
    const hdi_crew *crew;
    const hdi_members *members;
    uint32_t heap, regions;
    uint32_t begin[HDI_MOST_PARTS + 1];    /* of each: among those of the schedule */
    uint8_t region_of[HDI_MOST_PARTS + 1]; /* by region of the schedule, and one behind the last */
    region *region;
    hdi_pack_mix *mix;  /* by region: those that live in it alone */
    uint32_t *piece_of; /* of each region, one behind the other: by slot, and one more */
    uint8_t *sizes_of;  /* of crossing ones */
    uint32_t *inner, *crossing, *placed, *ending, crossing_count;
    component *component;
    uint32_t component_count;
    uint64_t enough;
} region_work;

static uint32_t slot_of(const region_work *w, uint32_t k)
{
    return w->whole->pack.hazards->region_begin[w->begin[k]];
}

static uint32_t region_of(const region_work *w, uint32_t slot)
{
    return w->region_of[hdi_region_of(w->whole->pack.hazards, slot)];
}

/* Each of so many is some of the schedule's, one behind another. */
static void join_regions(region_work *w, uint32_t count)
{
    uint32_t all = w->whole->pack.hazards->region_count;
    w->regions = count;
    for (uint32_t k = 0; k <= count; k++) {
        w->begin[k] = hdi_range_begin(all, count, k);
        w->region_of[w->begin[k]] = (uint8_t)k;
    }
    for (uint32_t k = 0; k < count; k++)
        memset(w->region_of + w->begin[k], (int)k, w->begin[k + 1] - w->begin[k]);
}

static void sort_region(uint32_t k, void *user)
{
    const region_work *w = user;
    const hdi_pack *pack = &w->whole->pack;
    const uint32_t *res = w->members->by_first, *heap = w->whole->out->res_heap;
    uint32_t begin = w->members->region_begin[w->begin[k]], end = w->members->region_begin[w->begin[k + 1]],
             slot_end = slot_of(w, k + 1), i = begin, crossing = begin;
    if (w->whole->out->heap_count == 1) {
        while (i < end && pack->end[res[i]] < slot_end)
            i++;
    }
    if (i == end) { /* the members as they are */
        w->region[k] = (region){.inner = res + begin, .inner_count = end - begin, .begin = begin};
        return;
    }
    uint32_t inner = i;
    memcpy(w->inner + begin, res + begin, (i - begin) * sizeof(*res));
    for (; i < end; i++) {
        if (heap[res[i]] != w->heap)
            continue;
        if (pack->end[res[i]] < slot_end)
            w->inner[inner++] = res[i];
        else
            w->crossing[crossing++] = res[i];
    }
    w->region[k] =
        (region){.inner = w->inner + begin, .inner_count = inner - begin, .begin = begin, .crossing = crossing - begin};
}

/* Crossing ones go to the lists of the regions that they live in: once to count, once to fill. Where nobody is to be
 * packed around them nobody asks where they are, so that those of a long frame are not listed in all its regions for
 * nothing. */
static void list_crossing(region_work *w, bool fill)
{
    const uint32_t *close = w->whole->pack.end, *last = w->whole->lifetimes->res_last;
    uint32_t regions = w->regions;
    region *r = w->region;
    for (uint32_t k = 0; k < regions; k++) {
        for (uint32_t i = r[k].crossing_begin, end = i + r[k].crossing; i < end; i++) {
            uint32_t res = w->crossing[i], ends = region_of(w, last[res]);
            for (uint32_t j = r[k].next; j < regions && slot_of(w, j) <= close[res]; j = r[j + 1].next) {
                if (fill)
                    w->placed[r[j].placed_end] = res;
                r[j].placed_end++;
            }
            for (uint32_t j = ends > k ? ends : k + 1; j < regions && slot_of(w, j) <= close[res]; j++) {
                if (fill)
                    w->ending[r[j].ending_end] = res;
                r[j].ending_end++;
            }
        }
    }
}

/* Joins the crossing ones of all regions, and finds how much lives on into each. */
static void join_crossing(region_work *w)
{
    const hdi_pack *pack = &w->whole->pack;
    uint32_t regions = w->regions;
    uint64_t before = 0;
    w->region[regions] = (region){.next = regions};
    for (uint32_t k = regions; k-- > 0;)
        w->region[k].next = w->region[k].inner_count ? k : w->region[k + 1].next;
    for (uint32_t k = 0; k < regions; k++) {
        region *r = &w->region[k];
        r->crossing_begin = w->crossing_count;
        for (uint32_t i = r->begin; i < r->begin + r->crossing; i++) {
            uint32_t res = w->crossing[i];
            uint64_t bytes = pack->sizes->need[res].bytes;
            w->crossing[w->crossing_count++] = res;
            r[1].before += bytes;
            w->region[region_of(w, pack->end[res]) + 1].before -= bytes; /* a sum: it may wrap */
        }
    }
    for (uint32_t k = 0; k < regions; k++)
        w->region[k].before = before += w->region[k].before;
}

/* Who lives in which regions. */
static bool sort_regions(region_work *w)
{
    const hdi_pack *pack = &w->whole->pack;
    uint32_t regions = w->regions, placed = 0, ending = 0;
    w->region = HDI_ARENA_ARRAY(pack->arena, region, (size_t)regions + 1);
    w->inner = HDI_ARENA_ARRAY(pack->arena, uint32_t, w->members->count);
    w->crossing = HDI_ARENA_ARRAY(pack->arena, uint32_t, w->members->count);
    w->mix = HDI_ARENA_ARRAY(pack->arena, hdi_pack_mix, regions);
    w->piece_of = HDI_EARLY_ARRAY(w->crew, pack->arena, uint32_t, (size_t)pack->slot_end + regions);
    if (pack->arena->failed)
        return false;
    hdi_crew_parts(w->crew, regions, sort_region, w);
    join_crossing(w);
    list_crossing(w, false);
    for (uint32_t k = 0; k < regions; k++) {
        region *r = &w->region[k];
        placed += r->placed_end;
        ending += r->ending_end;
        r->placed_begin = r->placed_end = placed - r->placed_end;
        r->ending_begin = r->ending_end = ending - r->ending_end;
    }
    w->placed = HDI_ARENA_ARRAY(pack->arena, uint32_t, placed);
    w->ending = HDI_ARENA_ARRAY(pack->arena, uint32_t, ending);
    w->sizes_of = HDI_ARENA_ARRAY(pack->arena, uint8_t, w->crossing_count);
    if (pack->arena->failed)
        return false;
    list_crossing(w, true);
    return true;
}

/* Of members from `begin` on: with arrays of their own, as long as they are. */
static work work_of_part(const region_work *w, uint32_t k, uint32_t begin)
{
    work part = *w->whole;
    part.is_part = true;
    part.key += begin;
    part.scratch_key += begin;
    part.order += begin;
    part.scratch += begin;
    part.sizes_of += begin;
    part.pack.arena = hdi_crew_arena(w->crew, k, w->whole->pack.arena);
    return part;
}

static work work_of_region(const region_work *w, uint32_t k)
{
    const region *r = &w->region[k];
    work part = work_of_part(w, k, r->begin);
    part.pack.slot_begin = slot_of(w, k);
    part.pack.slot_end = slot_of(w, k + 1);
    part.pack.placed = w->placed + r->placed_begin;
    part.pack.placed_count = r->placed_end - r->placed_begin;
    part.pack.placed_offset = part.out->res_offset;
    part.pack.piece_of = w->piece_of + part.pack.slot_begin + k;
    part.mix = &w->mix[k];
    return part;
}

static bool find_components(region_work *w)
{
    const uint32_t *first = w->whole->lifetimes->res_first, *close = w->whole->pack.end;
    hdi_arena *arena = w->whole->pack.arena;
    w->component = HDI_ARENA_ARRAY(arena, component, w->regions); /* each over a border */
    for (uint32_t i = 0, next, end; w->component && i < w->crossing_count; i = next) {
        component *c = &w->component[w->component_count];
        end = close[w->crossing[i]];
        for (next = i + 1; next < w->crossing_count && first[w->crossing[next]] <= end; next++)
            end = close[w->crossing[next]] > end ? close[w->crossing[next]] : end;
        c->part = work_of_part(w, w->component_count, i);
        c->part.sizes_of = w->sizes_of + i;
        c->part.mix = &c->mix;
        c->begin = i;
        c->count = next - i;
        c->part.pack.slot_begin = first[w->crossing[i]];
        c->part.pack.slot_end = end + 1;
        c->mark = hdi_arena_here(c->part.pack.arena);
        w->component_count++;
    }
    return !arena->failed;
}

static void look_at_region(uint32_t k, void *user)
{
    const region_work *w = user;
    region *r = &w->region[k];
    work part = work_of_region(w, k);
    hdi_pack_others others = {.leaving = {w->crossing + r->crossing_begin, r->crossing},
                              .ending = {w->ending + r->ending_begin, r->ending_end - r->ending_begin},
                              .before = r->before};
    hdi_pack_mix *mix = &w->mix[k];
    if (!hdi_pack_look(&part.pack, r->inner, r->inner_count, &others, part.sizes_of, mix)) {
        r->least = UINT64_MAX;
        return;
    }
    r->least = mix->all_least;
    r->needed = part.pack.by_clocks ? 0 : mix->all_needed;
}

/* A component, and then the look at a region: they share an arena. */
static void start_part(uint32_t k, void *user)
{
    const region_work *w = user;
    if (k < w->component_count) {
        component *c = &w->component[k];
        const uint32_t *res = w->crossing + c->begin;
        c->top = UINT64_MAX;
        if (!hdi_pack_look(&c->part.pack, res, c->count, NULL, c->part.sizes_of, &c->mix) ||
            !hdi_pack_first_fit(&c->part, res, c->count, c->part.offset, &c->top))
            c->top = UINT64_MAX;
    }
    look_at_region(k, user);
}

/* Bytes; UINT64_MAX: out of memory. */
static uint64_t pack_crossing(region_work *w)
{
    uint64_t best = 0;
    hdi_crew_parts(w->crew, w->regions, start_part, w);
    for (uint32_t k = 0; k < w->component_count; k++) {
        best = w->component[k].top > best ? w->component[k].top : best;
        if (w->component[k].part.pack.arena->failed)
            best = UINT64_MAX;
        hdi_arena_keep(w->component[k].part.pack.arena, w->component[k].mark, NULL, 0);
    }
    hdi_pack_keep(w->whole, w->crossing, w->crossing_count);
    return best;
}

static void pack_region(uint32_t k, void *user)
{
    const region_work *w = user;
    region *r = &w->region[k];
    work part = work_of_region(w, k);
    hdi_arena_mark mark = hdi_arena_here(part.pack.arena);
    hdi_pack_recall(&part.pack, part.mix);
    r->bytes = r->inner_count ? hdi_pack_members(&part, r->inner, r->inner_count, w->enough, NULL) : 0;
    hdi_arena_keep(part.pack.arena, mark, NULL, 0);
}

/* A region may take as much as the others must. */
static uint64_t pack_regions(work *whole, const hdi_crew *crew, const hdi_members *members, uint32_t heap,
                             uint32_t regions)
{
    region_work w = {.whole = whole, .crew = crew, .members = members, .heap = heap};
    join_regions(&w, regions);
    if (!sort_regions(&w) || !find_components(&w))
        return UINT64_MAX;
    uint64_t bytes = pack_crossing(&w);
    w.enough = bytes;
    uint64_t needed = 0;
    for (uint32_t k = 0; k < regions; k++) {
        w.enough = w.region[k].least > w.enough ? w.region[k].least : w.enough;
        needed = w.region[k].needed > needed ? w.region[k].needed : needed;
    }
    hdi_pack_set_goal(whole, needed);
    if (w.enough == UINT64_MAX)
        return w.enough;
    hdi_crew_parts(crew, regions, pack_region, &w);
    for (uint32_t k = 0; k < regions; k++)
        bytes = w.region[k].bytes > bytes ? w.region[k].bytes : bytes;
    return bytes;
}

/* In how many regions a shared heap is packed, by a sample of how many members are alive at a time. Where they are few,
 * the whole frame is one: it is packed quickly, however long it is, and to the brim, as two that take turns do not fit
 * together at borders (of several queues such frames took half as much again in regions). Where they are many, what
 * lives on over a border is in the way of many, so several of the schedule's are one region. Else these are as long as
 * is best for a cache. */
static uint32_t count_regions(const work *w, const hdi_members *members)
{
    enum { STEP = 16, FEW_ALIVE = 8, FEW_BY_CLOCKS = 12, MANY_ALIVE = 32, TOGETHER = 4 };
    uint32_t all = w->pack.hazards->region_count, joined = (all + TOGETHER - 1) / TOGETHER,
             few = w->pack.by_clocks ? FEW_BY_CLOCKS : FEW_ALIVE;
    uint64_t lives = 0, slots = w->pack.slot_end / STEP;
    if (all < 2 || w->how->lean)
        return 1;
    for (uint32_t i = 0; i < members->count && lives < MANY_ALIVE * slots; i += STEP) {
        uint32_t res = members->by_first[i];
        if (w->out->heap[w->out->res_heap[res]].flags == 0)
            lives += w->lifetimes->res_close[res] - w->lifetimes->res_first[res] + 1;
    }
    if (lives < few * slots)
        return 1;
    return lives < MANY_ALIVE * slots ? all : joined;
}

/* *known: whose bytes each of them takes over. UINT64_MAX: out of memory. */
static uint64_t pack_heap(work *w, const hdi_crew *crew, const hdi_members *members, uint32_t heap, uint32_t host,
                          uint32_t *own, bool *known)
{
    bool shared = w->out->heap[heap].flags == 0;
    uint32_t regions = shared && members->mixed[heap] ? count_regions(w, members) : 1;
    if (regions > 1)
        return pack_regions(w, crew, members, heap, regions);
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
    if (!shared)
        return line_up(w, in_heap, count);
    uint64_t bytes = UINT64_MAX;
    if (!members->mixed[heap] && !hdi_pack_places(w, in_heap, count, &bytes))
        return UINT64_MAX;
    *known = bytes != UINT64_MAX;
    if (*known)
        return bytes;
    return hdi_pack_members(w, in_heap, count, 0, known);
}

hd_result hdi_alias(const hdi_decl *decl, const hdi_sizes *sizes, const hdi_hazards *hazards, const hdi_queues *queues,
                    const hdi_synced *synced, const hdi_lifetimes *lifetimes, const hdi_packing *how,
                    const hdi_crew *crew, hdi_arena *arena, hdi_placed *out)
{
    uint32_t n = decl->res_count;
    work w = {.decl = decl, .sizes = sizes, .lifetimes = lifetimes, .out = out, .how = how, .enough = how->enough};
    uint64_t steps = hdi_pack_budget(hazards->slot_count, how);
    w.steps_left = &steps;
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
                        .lives = HDI_PACK_NOT_KNOWN,
                        .most_steps = UINT64_MAX,
                        .arena = arena};
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
    w.pack.scratch = w.scratch;
    w.sizes_of = HDI_EARLY_ARRAY(crew, arena, uint8_t, n);
    uint32_t *in_heap = HDI_EARLY_ARRAY(crew, arena, uint32_t, n);
    bool known[HDI_MOST_HEAPS] = {false};
    hdi_members members;
    if (arena->failed || !hdi_find_members(&w.pack, decl, crew, out, &members))
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < 2 * out->heap_count; i++) {
        uint32_t heap = i % out->heap_count;
        if ((out->heap[heap].flags == 0) == (i < out->heap_count))
            continue; /* first those in which nobody shares: they leave what they leave */
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
