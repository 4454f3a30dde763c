#include "barrier_one.h"

#include <string.h>

#include "barrier_requests.h"

/* Barriers where there is nothing but one GPU queue: the same requests as in barrier.c, which come in the order of the
 * ends of their intervals when slots are walked in order (barrier_walk.c). No sort, no list of requests. O(uses).
 *
 * Each region of a long frame (schedule.c) is walked by itself, side by side: what could have stood at a point of an
 * earlier region stands at one of its own, as most of it must anyway. Each writes where there is room for the most that
 * it can need, and nothing moves up to the one before: what the plan reads may have gaps. */

enum { GRAIN = 512 };

typedef hdi_one_work work;

static void clear(const work *w, uint32_t part)
{
    uint32_t parts = w->part_count, slot = hdi_range_begin(w->hazards->slot_count, parts, part),
             slot_end = hdi_range_begin(w->hazards->slot_count, parts, part + 1);
    memset(w->out->slot_pre + slot, 0xff, (slot_end - slot) * sizeof(*w->out->slot_pre));
    memset(w->out->slot_post + slot, 0xff, (slot_end - slot) * sizeof(*w->out->slot_post));
}

/* Where a slot lies, from about there on. */
static uint32_t region_of(const work *w, uint32_t slot, uint32_t k)
{
    while (w->region[k].slot_begin > slot)
        k--;
    while (w->region[k].slot_end <= slot)
        k++;
    return k;
}

static void find(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    const hdi_epoch *epoch = w->hazards->epoch;
    const uint32_t *epoch_begin = w->hazards->seg_epoch_begin, *epoch_end = w->hazards->seg_epoch_end;
    const uint32_t *seg_res = w->frozen->seg_res;
    uint32_t regions = w->region_count, near = w->last_region;
    hdi_one_found f; /* its own until the end: it stands on a line with those of other parts */
    clear(w, part);
    f.leave_begin = end;
    f.leave_end = begin;
    memset(f.most, 0, regions * sizeof(*f.most));
    for (uint32_t seg = begin; seg < end; seg++) {
        bool stays = (w->res_flags[seg_res[seg]] & HDI_KEEPS_STATE) != 0;
        if (regions == 1 && !stays)
            continue;
        uint32_t e = epoch_begin[seg], last = epoch_end[seg];
        if (e == last)
            continue;
        if (stays && epoch[last - 1].flags & HDI_EPOCH_FINAL) {
            f.leave_begin = seg < f.leave_begin ? seg : f.leave_begin;
            f.leave_end = seg + 1;
            f.most[w->last_region]++;
            last--;
        }
        for (uint32_t k = near, first = e; regions > 1 && e < last; e++) {
            k = region_of(w, epoch[e].first, k);
            if (e == first) {
                f.most[k]++; /* maybe a flush: to look whether would cost several workers more than the room */
                near = k;
            }
            f.most[k]++;
        }
    }
    memcpy(w->found[part].most, f.most, regions * sizeof(*f.most));
    w->found[part].leave_begin = f.leave_begin;
    w->found[part].leave_end = f.leave_end;
}

/* Which steps are whose. */
static void find_steps(const work *w)
{
    const hdi_hazards *hazards = w->hazards;
    const hdi_region_steps *end = &hazards->region_step[w->region_count];
    uint32_t step = 0;
    for (uint32_t k = 0; k < w->region_count; k++) {
        w->region[k].step_begin = step;
        step = hazards->region_step[k + 1].step;
        while (step < end->step && hazards->step[step].slot < w->region[k].slot_end)
            step++; /* of a scope that is shared across its end */
        w->region[k].step_end = step;
    }
    w->found->leave_begin = end->step;
    w->found->leave_end = hazards->step_count;
}

/* One region after another; a scope that is shared across its begin belongs to the one before. */
static void cut(work *w)
{
    const hdi_hazards *hazards = w->hazards;
    const uint32_t *slot_first = w->merged->slot_first;
    for (uint32_t k = 0; k < w->region_count; k++) {
        uint32_t begin = hazards->region_begin[k];
        while (slot_first && begin < hazards->slot_count && slot_first[begin] != begin)
            begin++;
        w->region[k].slot_begin = begin;
        w->region[k].slot_end = hazards->slot_count;
        if (k)
            w->region[k - 1].slot_end = begin;
        if (begin < hazards->slot_count)
            w->last_region = k;
    }
}

/* How many barriers and batches there may be at most. A region has no more points than there are before and behind its
 * slots. */
static void share_room(const work *w, size_t *barriers, size_t *batches)
{
    uint32_t barrier = 0, batch = 0;
    for (uint32_t k = 0; k < w->region_count; k++) {
        hdi_one_region *r = &w->region[k];
        uint32_t most = 0, points = 2 * (r->slot_end - r->slot_begin) + 1;
        for (uint32_t part = 0; part < w->part_count; part++)
            most += w->found[part].most[k];
        r->barrier_begin = barrier;
        r->batch_begin = batch;
        barrier += most;
        batch += most < points || k >= w->last_region ? most : points; /* the last one has the ends of the frame, too */
    }
    *barriers = barrier;
    *batches = batch;
    if (w->region_count == 1) /* they were not counted: at the first use, a barrier and a flush */
        *barriers = *batches = (size_t)w->hazards->epoch_count + w->frozen->seg_count;
}

static void count_all(const work *w)
{
    w->out->batch_count = w->out->barrier_count = 0;
    for (uint32_t k = 0; k < w->region_count; k++) {
        w->out->batch_count += w->region[k].batch_count;
        w->out->barrier_count += w->region[k].barrier_count;
    }
}

static void keep(const work *w, hdi_arena *arena, hdi_arena_mark mark)
{
    hdi_barriers *out = w->out;
    const hdi_one_region *last = &w->region[w->region_count - 1];
    size_t slots = w->hazards->slot_count, barriers = last->barrier_begin + last->barrier_count,
           batches = last->batch_begin + last->batch_count;
    const hdi_arena_kept out_arrays[] = {{&out->slot_pre, slots * sizeof(*out->slot_pre)},
                                         {&out->slot_post, slots * sizeof(*out->slot_post)},
                                         {&out->batch, batches * sizeof(*out->batch)},
                                         {&out->barrier, barriers * sizeof(*out->barrier)}};
    hdi_arena_keep(arena, mark, out_arrays, out->in_plan ? 3 : 4);
}

/* By epochs: each region has room of its own. */
static hd_result walk_regions(work *w, const hdi_crew *crew, hdi_arena *arena, hdi_arena *aside)
{
    size_t barriers, batches;
    hdi_crew_ranges(crew, w->frozen->seg_count, GRAIN, find, w);
    share_room(w, &barriers, &batches);
    w->out->batch = HDI_ARENA_ARRAY(arena, hd_plan_batch, batches);
    w->out->barrier = HDI_ARENA_ARRAY(arena, hd_plan_barrier, barriers);
    w->point = HDI_EARLY_ARRAY(crew, aside, hdi_one_point, batches);
    w->barrier_point = HDI_EARLY_ARRAY(crew, aside, uint32_t, barriers);
    if (arena->failed || aside->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(crew, w->region_count, hdi_walk_region, w);
    count_all(w);
    return HD_OK;
}

/* Behind what is still read: steps, and stays behind them. */
static size_t begin_in_plan(const work *w, const hdi_plan_room *room, const hdi_arena *early)
{
    size_t behind_stays = hdi_arena_offset(early, w->stay + w->decl->res_count),
           behind_steps = hdi_arena_offset(early, w->hazards->step + w->hazards->step_count),
           behind = behind_stays > behind_steps ? behind_stays : behind_steps;
    return behind > room->front ? behind : room->front;
}

HDI_COLD void hdi_leave_plan(hdi_one_work *w, size_t barrier_count)
{
    hd_plan_barrier *to = HDI_ARENA_ARRAY(w->arena, hd_plan_barrier, w->most);
    w->failed = !to;
    if (!to)
        return;
    memcpy(to, w->out->barrier, barrier_count * sizeof(*to));
    w->out->barrier = to;
    w->out->in_plan = false;
    w->barrier_end = to + w->most;
}

/* By steps: barriers are written where the plan has them, if its memory has room: it will begin so far in front of them
 * as its other tables ask for. What lies there now is read up to the last barrier, and then no more. */
static hd_result walk_alone(work *w, const hdi_plan_room *room, const hdi_crew *crew, hdi_arena *arena)
{
    const hdi_hazards *hazards = w->hazards;
    hdi_barriers *out = w->out;
    size_t most = (size_t)hazards->step_count + hazards->region_step[w->region_count].firsts, bytes,
           points = 2 * (size_t)hazards->slot_count;
    clear(w, 0);
    find_steps(w);
    points = most < points ? most : points;
    w->arena = arena;
    w->most = most + HDI_ONE_SPARE;
    size_t begin = room ? begin_in_plan(w, room, crew->early) : 0;
    out->batch = HDI_ARENA_ARRAY(arena, hd_plan_batch, points);
    out->barrier = begin ? hdi_arena_rest(crew->early, begin, &bytes) : NULL;
    out->in_plan = out->barrier && bytes > room->behind;
    if (out->in_plan)
        w->barrier_end = out->barrier + (bytes - room->behind) / sizeof(*out->barrier);
    else if ((out->barrier = HDI_ARENA_ARRAY(arena, hd_plan_barrier, w->most)) != NULL)
        w->barrier_end = out->barrier + w->most;
    w->point = HDI_ARENA_ARRAY(arena, hdi_one_point, points);
    w->barrier_point = HDI_ARENA_ARRAY(arena, uint32_t, w->most);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    out->batch_count = out->barrier_count = 0;
    for (uint32_t k = 0; k < w->region_count && !w->failed; k++) {
        hdi_one_region *r = &w->region[k];
        r->barrier_begin = out->barrier_count;
        r->batch_begin = out->batch_count;
        hdi_walk_region(k, w);
        out->barrier_count += r->barrier_count;
        out->batch_count += r->batch_count;
    }
    if (out->in_plan && out->batch_count > room->batches)
        hdi_leave_plan(w, out->barrier_count);
    if (begin)
        out->plan_bytes = begin + HDI_ARENA_ALIGNMENT + room->behind +
                          ((size_t)out->barrier_count + HDI_ONE_SPARE) * sizeof(*out->barrier);
    return w->failed ? HD_OUT_OF_MEMORY : HD_OK;
}

hd_result hdi_barrier_one_queue(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                                const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_merged *merged,
                                const hdi_plan_room *room, const hdi_crew *crew, hdi_arena *arena, hdi_barriers *out)
{
    uint32_t slots = hazards->slot_count, regions = hazards->region_count,
             parts = hazards->step ? 1 : hdi_range_count(crew, frozen->seg_count, GRAIN);
    hdi_arena *aside = hdi_crew_arena(crew, HDI_MOST_PARTS - 1, arena);
    hdi_arena_mark mark = hdi_arena_here(arena), aside_mark = hdi_arena_here(aside);
    work w = {.decl = decl,
              .frozen = frozen,
              .hazards = hazards,
              .merged = merged,
              .res_tenants = placed->res_tenants,
              .tenant = placed->tenant,
              .stay = lifetimes->stay,
              .res_flags = decl->res_flags,
              .res_info = decl->res_info,
              .out = out,
              .region_count = regions,
              .part_count = parts};
    out->slot_wait_stages = NULL;
    out->order = NULL;
    out->slot_pre = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    out->slot_post = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    w.region = HDI_ARENA_ARRAY(aside, hdi_one_region, regions);
    w.found = HDI_ARENA_ARRAY(aside, hdi_one_found, parts);
    if (arena->failed || aside->failed)
        return HD_OUT_OF_MEMORY;
    cut(&w);
    hd_result result = hazards->step ? walk_alone(&w, room, crew, arena) : walk_regions(&w, crew, arena, aside);
    if (result != HD_OK)
        return result;
    if (aside != arena) /* nothing lies behind what is kept */
        hdi_arena_keep(aside, aside_mark, NULL, 0);
    else
        keep(&w, arena, mark);
    return HD_OK;
}
