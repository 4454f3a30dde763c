#include "alias_pack.h"

#include <string.h>

/* A heap of a long frame, packed by regions side by side. Members that live on into another region cross its border:
 * they are packed first, and the members of each region then around them. Crossing members hang together where their
 * lives meet; each such component is packed alone. Regions are those of the schedule. O(members * regions of a life),
 * and the packers. */

typedef struct region {
    const uint32_t *inner; /* members that live in it alone */
    uint32_t inner_count;
    uint32_t begin, crossing;          /* its first member; how many members start here and cross a border */
    uint32_t placed_begin, placed_end; /* in placed: crossing members that are alive in it */
    uint64_t bytes;
} region;

/* Crossing members whose lives hang together, and the slots that they live in. */
typedef struct component {
    uint32_t begin, count; /* in crossing */
    uint32_t slot_begin, slot_end;
    uint64_t bytes;
} component;

typedef struct region_work {
    const hdi_pack_work *whole;
    const hdi_crew *crew;
    const hdi_members *members;
    uint32_t heap, regions;
    region *region;
    uint32_t *inner, *crossing, *placed, crossing_count;
    component *component;
    uint32_t component_count;
} region_work;

/* The region of a slot, of which there is one: they are about as long as one another. One behind the last slot is in
 * one behind the last region. */
static uint32_t region_of(const hdi_hazards *hazards, uint32_t slot)
{
    uint32_t k = (uint32_t)((uint64_t)slot * hazards->region_count / hazards->slot_count);
    while (k > 0 && slot < hazards->region_begin[k])
        k--;
    while (k < hazards->region_count && slot >= hazards->region_begin[k + 1])
        k++;
    return k;
}

static void sort_region(uint32_t k, void *user)
{
    const region_work *w = user;
    const hdi_pack *pack = &w->whole->pack;
    const uint32_t *res = w->members->by_first, *heap = w->whole->out->res_heap;
    uint32_t begin = w->members->region_begin[k], end = w->members->region_begin[k + 1],
             inner = begin, crossing = begin, slot_end = pack->hazards->region_begin[k + 1];
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
    const hdi_pack *pack = &w->whole->pack;
    for (uint32_t i = 0; i < w->crossing_count; i++) {
        uint32_t res = w->crossing[i], last = region_of(pack->hazards, pack->end[res]);
        for (uint32_t k = region_of(pack->hazards, pack->lifetimes->res_first[res]); k <= last && k < w->regions; k++) {
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
    w->component = HDI_ARENA_ARRAY(pack->arena, component, w->regions); /* each over a border */
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
    if (pack->arena->failed)
        return false;
    list_crossing(w, true);
    return true;
}

static void find_components(region_work *w)
{
    const uint32_t *first = w->whole->lifetimes->res_first, *close = w->whole->pack.end;
    for (uint32_t i = 0, next, end; i < w->crossing_count; i = next) {
        end = close[w->crossing[i]];
        for (next = i + 1; next < w->crossing_count && first[w->crossing[next]] <= end; next++)
            end = close[w->crossing[next]] > end ? close[w->crossing[next]] : end;
        w->component[w->component_count++] = (component){i, next - i, first[w->crossing[i]], end + 1, 0};
    }
}

/* Packs some members with arrays of their own, which begin with that of the first one. Returns how many bytes they
 * take; UINT64_MAX: out of memory. */
static uint64_t pack_part(const region_work *w, uint32_t k, hdi_pack_work part, const uint32_t *res, uint32_t count,
                          uint32_t begin)
{
    uint64_t top;
    part.order += begin;
    part.scratch += begin;
    part.pack.piece_of = NULL;
    part.pack.arena = hdi_crew_arena(w->crew, k, w->whole->pack.arena);
    hdi_arena_mark mark = hdi_arena_here(part.pack.arena);
    if (!hdi_pack_look(&part.pack, res, count) || !hdi_pack_first_fit(&part, res, count, &top))
        return UINT64_MAX;
    hdi_arena_keep(part.pack.arena, mark, NULL, 0);
    return top;
}

static void pack_component(uint32_t k, void *user)
{
    const region_work *w = user;
    component *c = &w->component[k];
    hdi_pack_work part = *w->whole;
    part.pack.slot_begin = c->slot_begin;
    part.pack.slot_end = c->slot_end;
    c->bytes = pack_part(w, k, part, w->crossing + c->begin, c->count, c->begin);
}

static void pack_region(uint32_t k, void *user)
{
    const region_work *w = user;
    region *r = &w->region[k];
    hdi_pack_work part = *w->whole;
    part.pack.slot_begin = part.pack.hazards->region_begin[k];
    part.pack.slot_end = part.pack.hazards->region_begin[k + 1];
    part.pack.placed = w->placed + r->placed_begin;
    part.pack.placed_count = r->placed_end - r->placed_begin;
    part.pack.placed_offset = part.out->res_offset;
    if (r->inner_count)
        r->bytes = pack_part(w, k, part, r->inner, r->inner_count, r->begin);
}

uint64_t hdi_pack_regions(const hdi_pack_work *whole, const hdi_crew *crew, const hdi_members *members, uint32_t heap)
{
    uint32_t regions = whole->pack.hazards->region_count;
    region_work w = {.whole = whole, .crew = crew, .members = members, .heap = heap, .regions = regions};
    uint64_t bytes = 0;
    if (!sort_regions(&w))
        return UINT64_MAX;
    find_components(&w);
    hdi_crew_parts(crew, w.component_count, pack_component, &w);
    hdi_crew_parts(crew, regions, pack_region, &w);
    for (uint32_t k = 0; k < w.component_count; k++)
        bytes = w.component[k].bytes > bytes ? w.component[k].bytes : bytes;
    for (uint32_t k = 0; k < regions; k++)
        bytes = w.region[k].bytes > bytes ? w.region[k].bytes : bytes;
    return bytes;
}
