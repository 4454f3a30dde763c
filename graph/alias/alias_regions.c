#include "alias_pack.h"

#include <string.h>

/* A heap of a long frame, packed by regions side by side. Members that live on into another region cross its border:
 * they are packed first, and the members of each region then around them. Crossing members hang together where their
 * lives meet; each such component is packed alone. A region may take as much as the crossing members or another region
 * must. Regions are those of the schedule, or several of these together. O(members * regions of a life), and the
 * packers. */

typedef struct region {
    const uint32_t *inner; /* members that live in it alone */
    uint32_t inner_count;
    uint32_t begin, crossing;          /* its first member; how many members start here and cross a border */
    uint32_t placed_begin, placed_end; /* in placed: crossing members that are alive in it */
    uint64_t least, bytes;             /* alive at once at most, crossing members included; what it takes */
} region;

typedef struct component {
    hdi_pack_work part;
    hdi_pack_mix mix;
    hdi_arena_mark mark;
    uint32_t begin, count; /* in crossing */
    uint64_t top;
} component;

typedef struct region_work {
    hdi_pack_work *whole;
    const hdi_crew *crew;
    const hdi_members *members;
    uint32_t heap, regions;
    uint32_t begin[HDI_MOST_PARTS + 1];    /* of each: among those of the schedule */
    uint8_t region_of[HDI_MOST_PARTS + 1]; /* by region of the schedule, and one behind the last */
    region *region;
    hdi_pack_mix *mix;  /* by region: of inner members */
    uint32_t *piece_of; /* of each region, one behind the other: by slot, and one more */
    uint8_t *sizes_of;  /* of crossing members */
    uint32_t *inner, *crossing, *placed, crossing_count;
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
             inner = begin, crossing = begin, slot_end = slot_of(w, k + 1);
    for (uint32_t i = begin; i < end; i++) {
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

/* Crossing members go to the lists of the regions that they live in: once to count, once to fill. Regions without
 * members of their own need none. */
static void list_crossing(region_work *w, bool fill)
{
    for (uint32_t i = 0; i < w->crossing_count; i++) {
        uint32_t res = w->crossing[i], last = region_of(w, w->whole->pack.end[res]);
        for (uint32_t k = region_of(w, w->whole->lifetimes->res_first[res]); k <= last && k < w->regions; k++) {
            region *r = &w->region[k];
            if (fill && r->inner_count)
                w->placed[r->placed_end] = res;
            r->placed_end += r->inner_count != 0;
        }
    }
}

static bool sort_regions(region_work *w)
{
    const hdi_pack *pack = &w->whole->pack;
    uint32_t placed = 0;
    w->region = HDI_ARENA_ARRAY(pack->arena, region, w->regions);
    w->inner = HDI_ARENA_ARRAY(pack->arena, uint32_t, w->members->count);
    w->crossing = HDI_ARENA_ARRAY(pack->arena, uint32_t, w->members->count);
    w->mix = HDI_ARENA_ARRAY(pack->arena, hdi_pack_mix, w->regions);
    w->piece_of = HDI_EARLY_ARRAY(w->crew, pack->arena, uint32_t, (size_t)pack->slot_end + w->regions);
    if (pack->arena->failed)
        return false;
    hdi_crew_parts(w->crew, w->regions, sort_region, w);
    for (uint32_t k = 0; k < w->regions; k++) {
        const region *r = &w->region[k];
        memmove(w->crossing + w->crossing_count, w->crossing + r->begin, r->crossing * sizeof(*w->crossing));
        w->crossing_count += r->crossing;
    }
    list_crossing(w, false);
    for (uint32_t k = 0; k < w->regions; k++) {
        region *r = &w->region[k];
        placed += r->placed_end;
        r->placed_begin = r->placed_end = placed - r->placed_end;
    }
    w->placed = HDI_ARENA_ARRAY(pack->arena, uint32_t, placed);
    w->sizes_of = HDI_ARENA_ARRAY(pack->arena, uint8_t, w->crossing_count);
    if (pack->arena->failed)
        return false;
    list_crossing(w, true);
    return true;
}

/* Of members from `begin` on: with arrays of their own, as long as they are. */
static hdi_pack_work work_of_part(const region_work *w, uint32_t k, uint32_t begin)
{
    hdi_pack_work part = *w->whole;
    part.is_part = true;
    part.key += begin;
    part.scratch_key += begin;
    part.order += begin;
    part.scratch += begin;
    part.sizes_of += begin;
    part.pack.arena = hdi_crew_arena(w->crew, k, w->whole->pack.arena);
    return part;
}

static hdi_pack_work work_of_region(const region_work *w, uint32_t k)
{
    const region *r = &w->region[k];
    hdi_pack_work part = work_of_part(w, k, r->begin);
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

/* A component, and then the look at a region: they share an arena. */
static void start_part(uint32_t k, void *user)
{
    const region_work *w = user;
    region *r = &w->region[k];
    if (k < w->component_count) {
        component *c = &w->component[k];
        const uint32_t *res = w->crossing + c->begin;
        if (!hdi_pack_look(&c->part.pack, res, c->count, c->part.sizes_of, &c->mix) ||
            !hdi_pack_first_fit(&c->part, res, c->count, c->part.offset, &c->top))
            c->top = UINT64_MAX;
    }
    hdi_pack_work part = work_of_region(w, k);
    bool looked = hdi_pack_look(&part.pack, r->inner, r->inner_count, part.sizes_of, &w->mix[k]);
    r->least = looked ? w->mix[k].all_least : UINT64_MAX;
}

/* Bytes that the crossing members take; UINT64_MAX: out of memory. */
static uint64_t pack_crossing(region_work *w)
{
    uint64_t bytes = 0;
    hdi_crew_parts(w->crew, w->regions, start_part, w);
    for (uint32_t k = 0; k < w->component_count; k++) {
        component *c = &w->component[k];
        bytes = c->part.pack.arena->failed ? UINT64_MAX : c->top > bytes ? c->top : bytes;
        hdi_arena_keep(c->part.pack.arena, c->mark, NULL, 0);
    }
    hdi_pack_keep(w->whole, w->crossing, w->crossing_count);
    return bytes;
}

static void pack_region(uint32_t k, void *user)
{
    const region_work *w = user;
    region *r = &w->region[k];
    hdi_pack_work part = work_of_region(w, k);
    hdi_arena_mark mark = hdi_arena_here(part.pack.arena);
    hdi_pack_recall(&part.pack, part.mix);
    r->bytes = r->inner_count ? hdi_pack_members(&part, r->inner, r->inner_count, w->enough, NULL) : 0;
    hdi_arena_keep(part.pack.arena, mark, NULL, 0);
}

uint64_t hdi_pack_regions(hdi_pack_work *whole, const hdi_crew *crew, const hdi_members *members, uint32_t heap,
                          uint32_t regions)
{
    region_work w = {.whole = whole, .crew = crew, .members = members, .heap = heap};
    join_regions(&w, regions);
    if (!sort_regions(&w) || !find_components(&w))
        return UINT64_MAX;
    uint64_t bytes = pack_crossing(&w);
    w.enough = bytes;
    for (uint32_t k = 0; k < regions; k++)
        w.enough = w.region[k].least > w.enough ? w.region[k].least : w.enough;
    if (w.enough == UINT64_MAX)
        return w.enough;
    whole->goal = w.enough;
    hdi_crew_parts(crew, regions, pack_region, &w);
    for (uint32_t k = 0; k < regions; k++)
        bytes = w.region[k].bytes > bytes ? w.region[k].bytes : bytes;
    return bytes;
}
