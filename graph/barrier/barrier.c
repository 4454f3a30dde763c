#include "barrier_steps.h"

#include <string.h>

/* Barrier: which barriers each step between two epochs needs, and between which two points of its queue each must stand
 * (barrier_steps.c). Points of a queue: 2 * pos before a slot, 2 * pos + 1 behind it. barrier_place.c then chooses the
 * points. O(entries). By ranges of segments, each with a list of its own. Of one GPU queue, with the host's beside it
 * or without, barriers are found on the way instead (barrier_one.c, barrier_host.c). */

enum { GRAIN = 256 };
/* Regions of a long frame up to which one worker writes its barriers at once, as of a short one: it takes fewer steps
 * than what they are about, but of more regions it would be out of the cache, and too much memory. */
enum { MOST_WHOLE = 16 };

typedef hdi_step_work work;

/* Of the rest nobody ever knows. */
static void tell_rest(const work *w, uint32_t queue, const uint32_t *told)
{
    const uint32_t *queue_begin = w->hazards->queue_begin;
    for (uint32_t q = 0; q < w->queues->count; q++) {
        uint32_t *known = w->known[queue] + w->known_begin[q];
        for (uint32_t pos = told[q]; q != queue && pos < queue_begin[q + 1] - queue_begin[q]; pos++)
            known[pos] = HDI_NONE;
    }
}

/* Places of a queue from begin up to end tell of those of others that they are the first to know of: those that have to
 * wait for others. */
static void find_known(const work *w, uint32_t queue, uint32_t begin, uint32_t end, bool last)
{
    const uint32_t *slots = w->slots[queue], *slot_clock = w->synced->slot_clock;
    const uint16_t *slot_waits = w->synced->slot_waits;
    uint32_t queues = w->queues->count, told[HD_MAX_QUEUES] = {0};
    if (begin > 0)
        memcpy(told, slot_clock + (size_t)slots[begin - 1] * queues, queues * sizeof(*told));
    for (uint32_t pos = begin; pos < end; pos++) {
        if (!slot_waits[slots[pos]])
            continue;
        const uint32_t *clock = slot_clock + (size_t)slots[pos] * queues;
        for (uint32_t q = 0; q < queues; q++) {
            for (; q != queue && told[q] < clock[q]; told[q]++)
                w->known[queue][w->known_begin[q] + told[q]] = pos;
        }
    }
    if (last)
        tell_rest(w, queue, told);
}

/* The most requests that segments of a range may make. Whether a first use has to flush what former tenants wrote is
 * not looked at: they stand all over a table that is long in a long frame. */
static uint32_t count_most(const work *w, uint32_t begin, uint32_t end)
{
    const uint8_t of_place[] = {[HDI_PLACE_NONE] = 0,
                                [HDI_PLACE_CONSUMER] = 1,
                                [HDI_PLACE_PRODUCER] = w->queues->host == HDI_NONE ? 1 : 2, /* the host's own */
                                [HDI_PLACE_TRANSFER] = 2,
                                [HDI_PLACE_EXTRA] = 1};
    uint32_t most = 0;
    for (uint32_t seg = begin; seg < end; seg++) {
        uint32_t first = w->hazards->seg_epoch_begin[seg], last = w->hazards->seg_epoch_end[seg];
        hdi_tenants tenants = w->res_tenants[w->frozen->seg_res[seg]];
        most += first < last && tenants.begin < tenants.end;
        for (uint32_t e = first; e < last; e++)
            most += of_place[w->epochs[e].place];
    }
    return most;
}

/* The same of all by one worker: each step asks for one, but for those that were counted. */
static uint32_t count_all(const work *w, uint32_t resources)
{
    const uint32_t *seg_begin = w->frozen->res_seg_begin;
    uint32_t most = w->hazards->epoch_count + w->hazards->second_count;
    for (uint32_t r = 0; r < resources; r++)
        most += (seg_begin[r + 1] - seg_begin[r]) & (0 - (uint32_t)(w->res_tenants[r].begin < w->res_tenants[r].end));
    return most;
}

static void count(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    hdi_request_list *list = &w->requests->list[part];
    if (!w->cuts)
        list->count = 2 * w->hazards->epoch_count;
    else
        list->count = w->alone ? count_all(w, w->decl->res_count) : count_most(w, begin, end);
}

static void prepare(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)begin;
    (void)end;
    uint32_t slots = w->hazards->slot_count, slot = hdi_range_begin(slots, w->ranges, part),
             count = hdi_range_begin(slots, w->ranges, part + 1) - slot;
    memset(w->out->slot_wait_stages + slot, 0, count * sizeof(*w->out->slot_wait_stages));
    memset(w->out->place_batch + 2 * (size_t)slot, 0xff, 2 * (size_t)count * sizeof(*w->out->place_batch));
    for (uint32_t q = 0; q < w->queues->count; q++) {
        uint32_t places = w->hazards->queue_begin[q + 1] - w->hazards->queue_begin[q];
        find_known(w, q, hdi_range_begin(places, w->ranges, part), hdi_range_begin(places, w->ranges, part + 1),
                   part + 1 == w->ranges);
    }
}

static void count_and_prepare(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    count(begin, end, part, user);
    prepare(begin, end, part, user);
}

/* The counts of the lists become where they begin; returns their sum. */
static uint32_t number_lists(hdi_requests *requests)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < requests->list_count; k++) {
        requests->list[k].begin = sum;
        sum += requests->list[k].count;
    }
    return sum;
}

static uint32_t count_requests(const hdi_requests *requests)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < requests->list_count; k++)
        count += requests->list[k].count;
    return count;
}

/* What lies behind the last one. */
static size_t requests_end(const hdi_requests *requests)
{
    const hdi_request_list *last = &requests->list[requests->list_count - 1];
    return (size_t)last->begin + last->count;
}

/* The regions of places. */
static bool find_regions(work *w, const hdi_crew *crew, hdi_arena *arena)
{
    uint8_t *of = HDI_EARLY_ARRAY(crew, arena, uint8_t, 2 * (size_t)w->hazards->slot_count);
    for (uint32_t q = 0; of && q < w->queues->count; q++) {
        for (uint32_t k = 0; k < w->hazards->region_count; k++) {
            const hdi_barrier_region *region = &w->region[k];
            memset(of + w->place_begin[q] + region->floor[q], (int)k, region->end[q] - region->floor[q]);
        }
    }
    w->place_region = of;
    return of != NULL;
}

/* Room for what each queue knows. */
static bool make_known(work *w, const hdi_crew *crew, hdi_arena *arena)
{
    uint32_t queues = w->queues->count;
    size_t places = w->hazards->slot_count + (size_t)queues * HDI_KNOWN_SPARE;
    uint32_t *known = HDI_EARLY_ARRAY(crew, arena, uint32_t, places * queues);
    for (uint32_t q = 0; known && q < queues; q++) {
        w->known[q] = known + q * places;
        w->known_begin[q] = w->hazards->queue_begin[q] + q * HDI_KNOWN_SPARE;
    }
    return known != NULL;
}

/* Room for the lows of places. */
static bool make_spots(work *w, const hdi_crew *crew, hdi_arena *arena)
{
    size_t places = 2 * (size_t)w->hazards->slot_count;
    w->spot = w->requests->spot = HDI_EARLY_ARRAY(crew, arena, hdi_spot, places);
    if (w->spot)
        memset(w->spot, 0, places * sizeof(*w->spot));
    return w->spot != NULL;
}

/* Finds those of a frame that is not long, with their barriers; most: how many there may be. */
static bool find_whole(work *w, uint32_t most, hdi_arena *arena)
{
    hdi_barriers *out = w->out;
    hdi_arena_mark mark = hdi_arena_here(arena);
    out->barrier = HDI_ARENA_ARRAY(arena, hd_plan_barrier, most);
    if (arena->failed)
        return false;
    hdi_visit_steps_whole(0, w->frozen->seg_count, 0, w);
    hdi_arena_kept barriers = {&out->barrier, requests_end(w->requests) * sizeof(*out->barrier)};
    hdi_arena_keep(arena, mark, &barriers, 1);
    return true;
}

/* Finds those of a long frame, and what they are about. Should the scopes that are no kinds be too many, once more with
 * room for them. */
static bool find_requests(work *w, const hdi_crew *crew, uint32_t most, hdi_arena *arena)
{
    enum { SCOPES = 256 }; /* of 64, a quarter of the looks met another one */
    hdi_requests *requests = w->requests;
    hdi_barriers *out = w->out;
    const hdi_arena_mark begin = hdi_arena_here(arena);
    bool full = true;
    for (w->made_slots = SCOPES; full; w->made_slots *= 4) {
        hdi_arena_keep(arena, begin, NULL, 0);
        out->made = w->made = HDI_ARENA_ARRAY(arena, hdi_kind, (size_t)w->made_slots * requests->list_count);
        hdi_arena_mark mark = hdi_arena_here(arena);
        out->asked = HDI_ARENA_ARRAY(arena, hdi_asked, most);
        if (arena->failed)
            return false;
        hdi_crew_ranges(crew, w->frozen->seg_count, GRAIN, hdi_visit_steps, w);
        full = false;
        for (uint32_t k = 0; k < requests->list_count; k++)
            full |= requests->list[k].full;
        hdi_arena_kept asked = {&out->asked, requests_end(requests) * sizeof(*out->asked)};
        hdi_arena_keep(arena, mark, &asked, 1); /* fewer than there was room for */
    }
    return true;
}

/* Where the host works beside one GPU queue: of what it uses epochs say what they need, of all else steps. */
static hd_result find_beside_host(work *w, const hdi_lifetimes *lifetimes, const hdi_placed *placed,
                                  const hdi_merged *merged, const hdi_plan_room *room, const hdi_crew *crew,
                                  hdi_arena *arena, hdi_arena *aside)
{
    hdi_barriers *out = w->out;
    hdi_requests *requests = w->requests;
    uint32_t slots = w->hazards->slot_count, most = 2 * w->hazards->epoch_count;
    out->slot_wait_stages = HDI_ARENA_ARRAY(arena, uint64_t, slots);
    out->place_batch = HDI_ARENA_ARRAY(arena, uint32_t, 2 * (size_t)slots);
    requests->list->begin = 0;
    requests->order = NULL;
    requests->item = HDI_ARENA_ARRAY(aside, hdi_request, most);
    if (!make_known(w, crew, aside))
        return HD_OUT_OF_MEMORY;
    hdi_arena_mark early = hdi_arena_here(crew->early);
    if (!make_spots(w, crew, aside) || arena->failed || aside->failed)
        return HD_OUT_OF_MEMORY;
    w->slot_wait_stages = out->slot_wait_stages;
    prepare(0, 0, 0, w);
    out->barrier = HDI_ARENA_ARRAY(aside, hd_plan_barrier, most);
    if (aside->failed)
        return HD_OUT_OF_MEMORY;
    w->item = requests->item;
    w->barrier = out->barrier;
    for (uint32_t i = 0; i < w->hazards->host_res_count; i++) {
        const uint32_t *segs = &w->frozen->res_seg_begin[w->hazards->host_res[i]];
        hdi_visit_segments_whole(w, segs[0], segs[1]);
    }
    requests->list->count = (uint32_t)(w->item - requests->item);
    hdi_arena_keep(crew->early, early, NULL, 0); /* nobody asks for points of requests */
    return hdi_barrier_beside_host(w, lifetimes, placed, merged, room, crew, arena, aside, out);
}

/* Finds requests and places them. aside: of several workers, where what is only looked at here does not stand in front
 * of what is kept; of one it lies in the plan's memory, if that has room. */
static hd_result find_and_place(work *w, const hdi_crew *crew, hdi_arena *arena, hdi_arena *aside)
{
    const hdi_hazards *hazards = w->hazards;
    hdi_barriers *out = w->out;
    hdi_requests *requests = w->requests;
    uint32_t slots = hazards->slot_count, segs = w->frozen->seg_count;
    const bool whole = !w->cuts || (w->alone && hazards->region_count <= MOST_WHOLE);
    out->slot_wait_stages = HDI_ARENA_ARRAY(arena, uint64_t, slots);
    out->place_batch = HDI_ARENA_ARRAY(arena, uint32_t, 2 * (size_t)slots);
    bool apart = aside != arena;
    if ((apart && !make_known(w, crew, aside)) || arena->failed)
        return HD_OUT_OF_MEMORY;
    w->slot_wait_stages = out->slot_wait_stages;
    hdi_crew_ranges(crew, segs, GRAIN, apart ? count_and_prepare : count, w);
    uint32_t most = number_lists(requests);
    requests->item = HDI_EARLY_ARRAY(crew, aside, hdi_request, most);
    if (w->cuts && !find_regions(w, crew, aside))
        return HD_OUT_OF_MEMORY;
    bool stand = requests->list_count == 1 && hazards->region_count == 1;
    requests->order = stand ? NULL : HDI_EARLY_ARRAY(crew, aside, uint32_t, most);
    if ((!apart && !make_known(w, crew, arena)) || (whole && !make_spots(w, crew, aside)))
        return HD_OUT_OF_MEMORY;
    if (!apart)
        prepare(0, segs, 0, w);
    if (arena->failed || aside->failed || !(whole ? find_whole(w, most, arena) : find_requests(w, crew, most, arena)))
        return HD_OUT_OF_MEMORY;
    size_t count = count_requests(requests), points = 2 * (size_t)slots;
    out->order = HDI_ARENA_ARRAY(arena, uint32_t, count + HDI_ORDER_SLACK);
    out->batch = HDI_ARENA_ARRAY(arena, hd_plan_batch, hazards->region_count > 1 || points < count ? points : count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    return hdi_place_barriers(w->decl, w->frozen, w->queues, hazards, w->synced, w->region, requests, crew, aside, out);
}

hd_result hdi_barrier(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues,
                      const hdi_hazards *hazards, const hdi_synced *synced, const hdi_lifetimes *lifetimes,
                      const hdi_placed *placed, const hdi_merged *merged, const hdi_plan_room *room,
                      const hdi_crew *crew, hdi_arena *arena, hdi_barriers *out)
{
    out->point = NULL;
    out->asked = NULL;
    out->barrier = NULL;
    out->in_plan = false;
    out->plan_bytes = 0;
    if (queues->count == 1)
        return hdi_barrier_one_queue(decl, frozen, hazards, lifetimes, placed, merged, room, crew, arena, out);
    hdi_barrier_region region[HDI_MOST_PARTS];
    hdi_requests requests;
    requests.spot = NULL;
    requests.list_count = hazards->step ? 1 : hdi_range_count(crew, frozen->seg_count, GRAIN);
    work w = {.decl = decl,
              .frozen = frozen,
              .queues = queues,
              .hazards = hazards,
              .synced = synced,
              .ranges = requests.list_count,
              .cuts = crew->cuts,
              .alone = crew->workers == 1,
              .out = out,
              .region = region,
              .requests = &requests,
              .epochs = hazards->epoch,
              .kinds = hazards->kind,
              .slot_pos = hazards->slot_pos,
              .slot_pass = hazards->slot_pass,
              .slot_queue = hazards->slot_queue,
              .res_tenants = placed->res_tenants,
              .tenant = placed->tenant,
              .fetches = crew->cuts && placed->tenant_count > 0 &&
                         hdi_are_scattered(placed->res_tenants, placed->tenant, decl->res_count, queues->count),
              .has_extras = hazards->has_extras,
              .slot_first = merged->slot_first ? merged->slot_first : hazards->slot_pos,
              .slot_last = merged->slot_last ? merged->slot_last : hazards->slot_pos,
              .res_flags = decl->res_flags,
              .res_info = decl->res_info,
              .res_queues = hazards->res_queues,
              .stay = lifetimes->stay,
              .queue_count = queues->count,
              .queue_mask = (1u << queues->count) - 1,
              .gpu_mask = (1u << queues->gpu_count) - 1,
              .merges = merged->slot_first != NULL};
    for (uint32_t q = 0; q < queues->count; q++) {
        w.slots[q] = hazards->queue_slot + hazards->queue_begin[q];
        w.place_begin[q] = 2 * hazards->queue_begin[q];
    }
    hdi_cut_barriers(queues, hazards, merged, region);
    hdi_arena *aside = hdi_crew_arena(crew, HDI_MOST_PARTS - 1, arena);
    hdi_arena_mark mark = hdi_arena_here(aside);
    hd_result result = hazards->step ? find_beside_host(&w, lifetimes, placed, merged, room, crew, arena, aside)
                                     : find_and_place(&w, crew, arena, aside);
    if (aside != arena)
        hdi_arena_keep(aside, mark, NULL, 0);
    return result;
}
