#include "barrier_work.h"

#include <string.h>

/* Barrier: what each step between two epochs needs beside semaphores, and where it stands: the fewest batches that hold
 * all barriers of a queue. First events are listed, which are not asked for before the slot of their step
 * (barrier_events.c). Then each region of a long frame (schedule.c) is walked by itself, side by side
 * (barrier_walk.c): what could have stood at a point of an earlier region stands at one of its own, as most of it must
 * anyway. O(steps + events). */

typedef hdi_barrier_work work;

/* The first step of a slot or a later one, from some on. */
static uint32_t find_step(const hdi_hazards *hazards, uint32_t step, uint32_t slot)
{
    uint32_t end = hazards->step_count;
    while (step < end) {
        uint32_t middle = step + (end - step) / 2;
        if (hazards->step[middle].slot < slot)
            step = middle + 1;
        else
            end = middle;
    }
    return step;
}

/* Regions begin where no rendering scope of any queue is shared. */
static void cut(work *w)
{
    const hdi_hazards *hazards = w->hazards;
    const uint32_t *slot_first = w->slot_first, *slot_last = w->slot_last;
    for (uint32_t k = 0; k < hazards->region_count; k++) {
        uint32_t begin = hazards->region_begin[k];
        for (uint32_t q = 0; slot_first && q < w->queues->count; q++) {
            uint32_t pos = hdi_pos_from(hazards, q, 0, begin), slot;
            if (pos == hazards->queue_begin[q + 1] - hazards->queue_begin[q])
                continue;
            slot = hdi_slot_at(hazards, q, pos);
            if (slot_first[slot] != slot) { /* all queues are looked at again */
                begin = slot_last[slot] + 1;
                q = UINT32_MAX;
            }
        }
        w->region[k].slot_begin = k && begin < w->region[k - 1].slot_begin ? w->region[k - 1].slot_begin : begin;
        w->region[k].step_begin = find_step(hazards, k ? w->region[k - 1].step_begin : 0, w->region[k].slot_begin);
    }
    w->region[hazards->region_count].slot_begin = hazards->slot_count;
    w->region[hazards->region_count].step_begin = hazards->step_count;
}

/* Each region may have two barriers a step, and two events a step; the last one also what the frame leaves. */
static bool make_room(work *w)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t sum = 0, slots = 0, begin[HDI_MOST_PARTS], left = hazards->extra_count;
    for (uint32_t i = 0; i < hazards->keeper_count; i++)
        left += w->frozen->res_seg_begin[hazards->keeper[i] + 1] - w->frozen->res_seg_begin[hazards->keeper[i]];
    for (uint32_t k = 0; k < hazards->region_count; k++) {
        uint32_t of = w->region[k + 1].slot_begin - w->region[k].slot_begin;
        slots = of > slots ? of : slots;
        begin[k] = sum;
        sum += 4 * (w->region[k + 1].step_begin - w->region[k].step_begin) / HDI_CHUNK_RECORDS + 2;
    }
    w->out->chunk = HDI_ARENA_ARRAY(w->arena, hdi_record_chunk *, sum + left / HDI_CHUNK_RECORDS + 1);
    if (w->alone) {
        w->lane = HDI_EARLY_ARRAY(w->crew, w->arena, hdi_lane, w->queues->count);
        w->point = HDI_EARLY_ARRAY(w->crew, w->arena, hdi_point, hdi_most_points(slots, w->queues->count));
    }
    bool failed = w->arena->failed;
    for (uint32_t k = 0; !failed && k < hazards->region_count; k++) {
        hdi_begin_writer(&w->region[k].writer, w, begin[k], hdi_crew_arena(w->crew, k, w->arena));
        failed = w->region[k].writer.failed;
    }
    return !failed;
}

static void clear(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)part;
    memset(w->out->place_batch + 2 * (size_t)begin, 0, 2 * (size_t)(end - begin) * sizeof(*w->out->place_batch));
    if (w->out->slot_wait_stages)
        memset(w->out->slot_wait_stages + begin, 0, (end - begin) * sizeof(*w->out->slot_wait_stages));
}

hd_result hdi_barrier(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues,
                      const hdi_hazards *hazards, const hdi_synced *synced, const hdi_lifetimes *lifetimes,
                      const hdi_placed *placed, const hdi_merged *merged, const hdi_crew *crew, hdi_arena *arena,
                      hdi_barriers *out)
{
    enum { GRAIN = 1024 };
    uint32_t slots = hazards->slot_count;
    work w = {.decl = decl,
              .frozen = frozen,
              .queues = queues,
              .hazards = hazards,
              .synced = synced,
              .slot_first = merged->slot_first,
              .slot_last = merged->slot_last,
              .stay = lifetimes->stay,
              .res_tenants = placed->res_tenants,
              .tenant = placed->tenant,
              .out = out,
              .crew = crew,
              .arena = arena,
              .alone = crew->workers == 1,
              .parts = frozen->seg_count > decl->res_count,
              .gpu_mask = (1u << queues->gpu_count) - 1};
    for (uint32_t q = 1; q < queues->gpu_count; q++)
        w.several_families |= queues->family[q] != queues->family[0];
    *out = (hdi_barriers){.place_batch = HDI_ARENA_ARRAY(arena, hdi_batch, 2 * (size_t)slots)};
    w.region = HDI_ARENA_ARRAY(arena, hdi_barrier_region, (size_t)hazards->region_count + 1);
    if (queues->count > 1)
        out->slot_wait_stages = HDI_ARENA_ARRAY(arena, uint64_t, slots);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(crew, slots, GRAIN, clear, &w);
    cut(&w);
    if (!make_room(&w) || !hdi_list_events(&w))
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(crew, hazards->region_count, hdi_walk_barriers, &w);
    for (uint32_t k = 0; k < hazards->region_count; k++) {
        if (w.region[k].writer.failed)
            return HD_OUT_OF_MEMORY;
        out->batch_count += w.region[k].batch_count;
        out->barrier_count += w.region[k].barrier_count;
    }
    return HD_OK;
}
