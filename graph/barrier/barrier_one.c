#include "barrier_one.h"

#include <string.h>

#include "barrier_host.h"

/* Barriers where there is but one GPU queue: the same requests as in barrier.c, which come in the order of the
 * ends of their intervals when slots are walked in order (barrier_walk.c). No sort, no list of requests. O(uses).
 *
 * Each region of a long frame (schedule.c) is walked by itself, side by side: what could have stood at a point of an
 * earlier region stands at one of its own, as most of it must anyway. By several workers each writes where there is
 * room for the most that it can need, and nothing moves up to the one before: what the plan reads may have gaps. One
 * worker writes each behind the one before it, where the plan has them if there is room. */

typedef hdi_one_work work;

/* The steps of the uses of some slots, or more. */
static uint32_t most_steps(const work *w, uint32_t slot, uint32_t end)
{
    uint32_t most = 0;
    for (; slot < end; slot++) {
        const uint32_t *of_pass = &w->decl->pass_use_begin[w->hazards->slot_pass[slot]];
        for (uint32_t u = of_pass[0]; u < of_pass[1]; u++) {
            hdi_span span = hdi_use_span(w->decl, w->frozen, u);
            most += span.rows * span.cols;
        }
    }
    return most;
}

/* By several workers. To look whether a first use needs a flush would cost them more than the room. */
static void count_steps(const work *w)
{
    for (uint32_t k = 0; k < w->region_count; k++) {
        hdi_one_region *r = &w->region[k];
        const hdi_region_steps *steps = &w->hazards->region_step[k];
        r->most = steps->end - steps->begin + steps->firsts;
        if (w->merged->slot_first) /* of a scope that is shared across its end */
            r->most += 2 * most_steps(w, w->hazards->region_begin[k + 1], r->slot_end);
    }
}

/* What the frame must leave in another layout. */
static uint32_t count_left(const work *w)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->hazards->keeper_count; i++) {
        uint32_t res = w->hazards->keeper[i];
        for (uint32_t seg = w->frozen->res_seg_begin[res]; seg < w->frozen->res_seg_begin[res + 1]; seg++)
            count += hdi_is_left(w, res, seg);
    }
    return count;
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
        uint32_t most = r->most, points = 2 * (r->slot_end - r->slot_begin) + 1;
        r->barrier_begin = barrier;
        r->batch_begin = batch;
        barrier += most;
        batch += most < points || k >= w->last_region ? most : points; /* the last one has the ends of the frame, too */
    }
    *barriers = barrier;
    *batches = batch;
}

static void count_all(const work *w)
{
    w->out->batch_count = w->out->barrier_count = 0;
    for (uint32_t k = 0; k < w->region_count; k++) {
        w->out->batch_count += w->region[k].batch_count;
        w->out->barrier_count += w->region[k].barrier_count;
    }
}

/* By several workers: each region has room of its own. */
static hd_result walk_regions(work *w, const hdi_crew *crew, hdi_arena *arena, hdi_arena *aside)
{
    size_t barriers, batches;
    count_steps(w);
    w->region[w->last_region].most += count_left(w);
    share_room(w, &barriers, &batches);
    uint32_t slots = w->hazards->slot_count;
    w->out->place_batch = HDI_ARENA_ARRAY(arena, uint32_t, 2 * (size_t)slots);
    w->out->batch = HDI_ARENA_ARRAY(arena, hd_plan_batch, batches);
    w->out->barrier = HDI_ARENA_ARRAY(arena, hd_plan_barrier, barriers);
    w->point = HDI_EARLY_ARRAY(crew, aside, hdi_point, batches);
    w->barrier_point = HDI_EARLY_ARRAY(crew, aside, uint32_t, barriers);
    if (arena->failed || aside->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(crew, w->region_count, hdi_walk_region, w);
    count_all(w);
    return HD_OK;
}

/* Behind what is still read: states and steps of segments, and stays behind them. */
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

bool hdi_are_scattered(const hdi_tenants *res_tenants, const uint32_t *tenant, uint32_t resources, uint32_t queues)
{
    enum { MANY = 16384, SOME = 32, NEAR = 16 };
    uint32_t apart = 0, pairs = 0;
    for (uint32_t i = 0; (size_t)resources * queues > MANY && i < SOME; i++) {
        const hdi_tenants *of = &res_tenants[hdi_range_begin(resources, SOME, i)];
        if (of[0].begin == of[0].end || of[1].begin == of[1].end)
            continue;
        uint32_t a = tenant[of[0].begin], b = tenant[of[1].begin];
        apart += (a > b ? a - b : b - a) > NEAR;
        pairs++;
    }
    return 2 * apart > pairs;
}

/* HDI_RES_LEVELS, where some image of one level may have several segments. */
static uint8_t find_apart(const work *w)
{
    uint32_t aspects = 0, count = w->frozen->seg_count > w->decl->res_count ? w->decl->range_count : 0;
    for (uint32_t r = 0; r < count; r++) /* of a buffer it is a part of the bytes, which matters to none */
        aspects |= w->decl->range[r].aspect;
    return aspects ? HDI_RES_LEVELS : 0;
}

/* By one worker: barriers are written where the plan has them, if its memory has room: it will begin so far in
 * front of them as its other tables ask for. What lies there now is read up to the last barrier, and then no more.
 * begin: from where on there may be room; 0: it is not asked for. */
static void place_barriers(work *w, size_t begin, const hdi_plan_room *room, const hdi_crew *crew)
{
    hdi_barriers *out = w->out;
    size_t bytes;
    out->barrier = begin ? hdi_arena_rest(crew->early, begin, &bytes) : NULL;
    out->in_plan = out->barrier && bytes > room->behind;
    if (out->in_plan)
        w->barrier_end = out->barrier + (bytes - room->behind) / sizeof(*out->barrier);
    else if ((out->barrier = HDI_ARENA_ARRAY(w->arena, hd_plan_barrier, w->most)) != NULL)
        w->barrier_end = out->barrier + w->most;
}

/* One region after another. begin: as above. */
static hd_result walk_in_turn(work *w, size_t begin, const hdi_plan_room *room)
{
    hdi_barriers *out = w->out;
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
                          ((size_t)out->barrier_count + w->left + HDI_ONE_SPARE) * sizeof(*out->barrier);
    return w->failed ? HD_OUT_OF_MEMORY : HD_OK;
}

static hd_result walk_alone(work *w, const hdi_plan_room *room, const hdi_crew *crew, hdi_arena *arena)
{
    const hdi_hazards *hazards = w->hazards;
    hdi_barriers *out = w->out;
    w->left = count_left(w);
    size_t most = (size_t)hazards->step_count + w->frozen->seg_count + w->left,
           points = 2 * (size_t)hazards->slot_count;
    if (hazards->step_count > HDI_ONE_AHEAD && hdi_are_scattered(w->res_tenants, w->tenant, w->decl->res_count, 1))
        w->fetch_end = hazards->step + hazards->step_count - HDI_ONE_AHEAD;
    points = (most < points ? most : points) + 1;
    w->arena = arena;
    w->most = most + HDI_ONE_SPARE;
    size_t begin = room ? begin_in_plan(w, room, crew->early) : 0;
    w->point = HDI_ARENA_ARRAY(arena, hdi_point, points);
    place_barriers(w, begin, room, crew);
    w->barrier_point = HDI_ARENA_ARRAY(arena, uint32_t, w->most);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hd_result result = walk_in_turn(w, begin, room);
    out->point = w->point;
    out->point[out->batch_count] = (hdi_point){.at = HDI_NONE, .begin = out->barrier_count};
    return result;
}

/* How many images' segments take over bytes, at most: each may need a flush. */
static uint32_t count_flushes(const work *w)
{
    const uint32_t *seg_begin = w->frozen->res_seg_begin;
    uint32_t count = 0;
    for (uint32_t r = 0; r < w->decl->res_count; r++) {
        bool may = w->res_tenants[r].begin < w->res_tenants[r].end && !(w->res_flags[r] & HDI_RES_BUFFER);
        count += (seg_begin[r + 1] - seg_begin[r]) & (0 - (uint32_t)may);
    }
    return count;
}

/* Beside the host's queue. Batches are cleared. One worker writes barriers behind all that lies in the plan's memory:
 * its GPU queue comes to each after those before it, as they stand. */
static hd_result walk_beside(work *w, hdi_beside *h, const hdi_plan_room *room, const hdi_crew *crew, hdi_arena *arena,
                             hdi_arena *aside)
{
    hdi_barriers *out = w->out;
    size_t barriers = (size_t)w->hazards->step_count + h->event_count + count_flushes(w),
           points = 2 * (size_t)w->hazards->slot_count, batches = (barriers < points ? barriers : points) + 1;
    hdi_cut_events(w, h);
    if (!w->alone) {
        count_steps(w);
        for (uint32_t k = 0; k < w->region_count; k++)
            w->region[k].most += h->event_begin[k + 1] - h->event_begin[k];
        share_room(w, &barriers, &batches);
    }
    w->arena = arena;
    w->most = barriers + HDI_ONE_SPARE;
    w->point = HDI_ARENA_ARRAY(aside, hdi_point, batches);
    w->barrier_point = HDI_ARENA_ARRAY(aside, uint32_t, w->most);
    out->batch = HDI_ARENA_ARRAY(arena, hd_plan_batch, batches);
    hdi_arena_mark mark = hdi_arena_here(arena);
    if (!w->alone) {
        out->barrier = HDI_ARENA_ARRAY(arena, hd_plan_barrier, barriers);
        if (arena->failed || aside->failed)
            return HD_OUT_OF_MEMORY;
        hdi_crew_parts(crew, w->region_count, hdi_walk_region, w);
        count_all(w);
        return HD_OK;
    }
    size_t begin = room ? hdi_arena_offset(crew->early, hdi_arena_here(crew->early).at) : 0;
    begin = begin && begin < room->front ? room->front : begin;
    place_barriers(w, begin, room, crew);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hd_result result = walk_in_turn(w, begin, room);
    const hdi_arena_kept kept = {&out->barrier, out->barrier_count * sizeof(*out->barrier)};
    if (!out->in_plan)
        hdi_arena_keep(arena, mark, &kept, 1);
    return result;
}

/* Of the queue, from the tables. */
static work begin_work(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                       const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_merged *merged,
                       hdi_barriers *out)
{
    return (work){.decl = decl,
                  .frozen = frozen,
                  .hazards = hazards,
                  .merged = merged,
                  .res_tenants = placed->res_tenants,
                  .tenant = placed->tenant,
                  .has_tenants = placed->tenant_count > 0,
                  .stay = lifetimes->stay,
                  .res_flags = decl->res_flags,
                  .res_info = decl->res_info,
                  .out = out,
                  .region_count = hazards->region_count};
}

hd_result hdi_barrier_beside_host(const hdi_step_work *several, const hdi_lifetimes *lifetimes,
                                  const hdi_placed *placed, const hdi_merged *merged, const hdi_plan_room *room,
                                  const hdi_crew *crew, hdi_arena *arena, hdi_arena *aside, hdi_barriers *out)
{
    work w = begin_work(several->decl, several->frozen, several->hazards, lifetimes, placed, merged, out);
    hdi_beside beside;
    beside.several = several;
    beside.asked = out->barrier;
    out->order = NULL;
    w.apart = find_apart(&w);
    w.region = HDI_ARENA_ARRAY(aside, hdi_one_region, w.region_count);
    if (aside->failed || !hdi_list_events(&w, &beside, aside))
        return HD_OUT_OF_MEMORY;
    cut(&w);
    w.alone = crew->workers == 1;
    return walk_beside(&w, &beside, room, crew, arena, aside);
}

hd_result hdi_barrier_one_queue(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                                const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_merged *merged,
                                const hdi_plan_room *room, const hdi_crew *crew, hdi_arena *arena, hdi_barriers *out)
{
    hdi_arena *aside = hdi_crew_arena(crew, HDI_MOST_PARTS - 1, arena);
    hdi_arena_mark mark = hdi_arena_here(arena), aside_mark = hdi_arena_here(aside);
    work w = begin_work(decl, frozen, hazards, lifetimes, placed, merged, out);
    out->slot_wait_stages = NULL;
    out->order = NULL;
    w.apart = find_apart(&w);
    w.region = HDI_ARENA_ARRAY(aside, hdi_one_region, w.region_count);
    if (aside->failed)
        return HD_OUT_OF_MEMORY;
    cut(&w);
    w.alone = crew->workers == 1;
    hd_result result = w.alone ? walk_alone(&w, room, crew, arena) : walk_regions(&w, crew, arena, aside);
    if (result == HD_OK && aside != arena) { /* nothing lies behind what is kept */
        hdi_arena_keep(aside, aside_mark, NULL, 0);
    } else if (result == HD_OK && !room) { /* other attempts come behind this one */
        const hdi_arena_kept kept[] = {{&out->point, ((size_t)out->batch_count + 1) * sizeof(*out->point)},
                                       {&out->barrier, out->barrier_count * sizeof(*out->barrier)}};
        hdi_arena_keep(arena, mark, kept, 2);
    }
    return result;
}
