#include "barrier_steps.h"

#include <string.h>

/* Barrier: which barriers each step between two epochs needs, and between which two points of its queue each must stand
 * (barrier_steps.c). Points of a queue: 2 * pos before a slot, 2 * pos + 1 behind it. barrier_place.c then chooses the
 * points. O(entries). By ranges of segments, each with a list of its own. */

enum { GRAIN = 256 };

typedef hdi_step_work work;

/* Places of a queue from begin up to end tell of those of others that they are the first to know of: those that have to
 * wait for others. */
static void find_known(const work *w, uint32_t queue, uint32_t begin, uint32_t end, bool last)
{
    const uint32_t *queue_begin = w->hazards->queue_begin, *slots = w->hazards->queue_slot + queue_begin[queue];
    const uint32_t *slot_clock = w->synced->slot_clock;
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
                w->known[queue][queue_begin[q] + told[q]] = pos;
        }
    }
    for (uint32_t q = 0; q < queues && last; q++) { /* never */
        for (uint32_t other = queue_begin[q] + told[q]; q != queue && other < queue_begin[q + 1]; other++)
            w->known[queue][other] = HDI_NONE;
    }
}

/* The most requests that segments may make. */
static uint32_t count_most(const work *w, uint32_t begin, uint32_t end)
{
    uint32_t most = 0;
    for (uint32_t seg = begin; seg < end; seg++) {
        hdi_tenants tenants = w->res_tenants[w->frozen->seg_res[seg]];
        most += tenants.begin != tenants.end; /* a flush at the first use */
        for (uint32_t e = w->hazards->seg_epoch_begin[seg]; e < w->hazards->seg_epoch_end[seg]; e++)
            most += w->epochs[e].place == HDI_PLACE_CONSUMER ? 1 : 2;
    }
    return most;
}

static void count(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    w->requests->list[part].count = w->cuts ? count_most(w, begin, end) : 2 * w->hazards->epoch_count;
}

static void prepare(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)begin;
    (void)end;
    uint32_t slots = w->hazards->slot_count, slot = hdi_range_begin(slots, w->ranges, part),
             count = hdi_range_begin(slots, w->ranges, part + 1) - slot;
    memset(w->out->slot_wait_stages + slot, 0, count * sizeof(*w->out->slot_wait_stages));
    memset(w->out->slot_pre + slot, 0xff, count * sizeof(*w->out->slot_pre));
    memset(w->out->slot_post + slot, 0xff, count * sizeof(*w->out->slot_post));
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

/* Room for what each queue knows. */
static bool make_known(work *w, hdi_arena *arena)
{
    uint32_t slots = w->hazards->slot_count;
    uint32_t *known = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)slots * w->queues->count);
    for (uint32_t q = 0; known && q < w->queues->count; q++)
        w->known[q] = known + (size_t)q * slots;
    return known != NULL;
}

/* Finds requests and places them. aside: of several workers, where what is only looked at here does not stand in front
 * of what is kept; of one it stands behind. */
static hd_result find_and_place(work *w, const hdi_crew *crew, hdi_arena *arena, hdi_arena *aside)
{
    const hdi_hazards *hazards = w->hazards;
    hdi_barriers *out = w->out;
    hdi_requests *requests = w->requests;
    uint32_t slots = hazards->slot_count, segs = w->frozen->seg_count;
    out->slot_wait_stages = HDI_ARENA_ARRAY(arena, uint64_t, slots);
    out->slot_pre = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    out->slot_post = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    bool apart = aside != arena;
    if ((apart && !make_known(w, aside)) || arena->failed)
        return HD_OUT_OF_MEMORY;
    w->slot_wait_stages = out->slot_wait_stages;
    hdi_crew_ranges(crew, segs, GRAIN, apart ? count_and_prepare : count, w);
    uint32_t most = number_lists(requests);
    out->barrier = HDI_ARENA_ARRAY(arena, hd_plan_barrier, most);
    out->order = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)most + HDI_ORDER_SLACK);
    out->batch = HDI_ARENA_ARRAY(arena, hd_plan_batch, most);
    hdi_arena_mark mark = hdi_arena_here(arena);
    requests->item = HDI_ARENA_ARRAY(aside, hdi_request, most);
    requests->order = HDI_ARENA_ARRAY(aside, uint32_t, most);
    if ((!apart && !make_known(w, arena)) || arena->failed || aside->failed)
        return HD_OUT_OF_MEMORY;
    if (!apart)
        prepare(0, segs, 0, w);
    hdi_crew_ranges(crew, segs, GRAIN, hdi_visit_steps, w);
    hd_result result =
        hdi_place_barriers(w->decl, w->queues, hazards, w->synced, w->region, requests, crew, aside, out);
    hdi_arena_keep(arena, mark, NULL, 0);
    return result;
}

hd_result hdi_barrier(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues,
                      const hdi_hazards *hazards, const hdi_synced *synced, const hdi_lifetimes *lifetimes,
                      const hdi_placed *placed, const hdi_merged *merged, const hdi_crew *crew, hdi_arena *arena,
                      hdi_barriers *out)
{
    if (queues->count == 1)
        return hdi_barrier_one_queue(decl, frozen, hazards, lifetimes, placed, merged, crew, arena, out);
    hdi_barrier_region region[HDI_MOST_PARTS];
    hdi_requests requests;
    requests.list_count = hdi_range_count(crew, frozen->seg_count, GRAIN);
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
              .res_tenants = placed->res_tenants,
              .tenant = placed->tenant,
              .queue_begin = hazards->queue_begin,
              .slot_first = merged->slot_first ? merged->slot_first : hazards->slot_pos,
              .slot_last = merged->slot_last ? merged->slot_last : hazards->slot_pos,
              .res_flags = decl->res_flags,
              .res_info = decl->res_info,
              .res_queues = hazards->res_queues,
              .stay = lifetimes->stay,
              .queue_count = queues->count,
              .gpu_mask = (1u << queues->gpu_count) - 1,
              .merges = merged->slot_first != NULL};
    for (uint32_t q = 0; q < queues->count; q++)
        w.slots[q] = hazards->queue_slot + hazards->queue_begin[q];
    hdi_cut_barriers(queues, hazards, merged, region);
    hdi_arena *aside = hdi_crew_arena(crew, HDI_MOST_PARTS - 1, arena);
    hdi_arena_mark mark = hdi_arena_here(aside);
    hd_result result = find_and_place(&w, crew, arena, aside);
    if (aside != arena)
        hdi_arena_keep(aside, mark, NULL, 0);
    return result;
}
