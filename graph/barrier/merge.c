#include "attach_uses.h"
#include "barrier.h"

/* Merge: which gfx passes share a rendering scope, although by themselves they would want a barrier between them:
 * within one scope attachments are accessed in the order of the commands, whichever pass recorded them. Asked for by
 * hd_compile_desc.merge_rendering. The schedule puts them side by side (schedule_scopes.c).
 *
 * A pass joins the scope of the pass before it on its queue when both stand in one submit, it goes on with the same
 * attachments, it waits for no other queue, and nothing else that it uses needs a barrier behind the scope's first
 * pass: neither a resource that a pass of the scope used otherwise nor memory that one of them was the last to use. The
 * barrier phase then puts nothing between the two. A walk over the uses finds the slot behind which each may be moved
 * no further, a sweep over the slots joins passes. O(steps + slots + uses). */

typedef struct merge_work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_queues *queues;
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    const hdi_lifetimes *lifetimes;
    const hdi_placed *placed;
    uint32_t *use_floor; /* the slot at or behind which the scope of a use must begin */
    hdi_merged *out;
    /* On the walk over uses: */
    uint32_t next;         /* step */
    uint32_t *seg_step;    /* 1 + the step into the epoch that each segment is in; 0: none */
    uint8_t *step_shared;  /* whether the epoch behind a step has several uses */
} merge_work;

typedef merge_work work;

/* What a resource that is used does on a queue; null: nothing. */
static const hdi_stay *stay_on(const work *w, uint32_t res, uint32_t queue)
{
    const hdi_stay *stay = &w->lifetimes->stay[(size_t)res * w->queues->count + queue];
    uint32_t mask = w->hazards->res_queues ? w->hazards->res_queues[res] : 1;
    bool alone = !(mask & (mask - 1)) && mask >> w->queues->gpu_count == 0;
    return alone && mask != 1u << queue ? NULL : stay->first == HDI_NONE ? NULL : stay;
}

/* Behind the last use of a former tenant. */
static uint32_t tenants_on(const work *w, uint32_t res, uint32_t queue)
{
    uint32_t floor = 0;
    for (uint32_t t = w->placed->res_tenants[res].begin; t < w->placed->res_tenants[res].end; t++) {
        const hdi_stay *stay = stay_on(w, w->placed->tenant[t], queue);
        uint32_t behind = stay ? hdi_slot_at(w->hazards, queue, stay->last) + 1 : 0;
        floor = behind > floor ? behind : floor;
    }
    return floor;
}

/* Behind the last use of an epoch on a queue. low: behind its last slot. */
static uint32_t epoch_on(const work *w, const hdi_step *step, uint32_t low, uint32_t queue)
{
    hdi_side sides[HD_MAX_QUEUES];
    for (uint32_t i = hdi_find_sides(w->hazards, step, low, sides); i-- > 0;) {
        if (sides[i].to >> HDI_QUEUE_SHIFT == queue)
            return sides[i].last + 1;
    }
    return 0;
}

/* The step between two epochs that a scope spares: from one attachment to the next, on one queue, in one layout. */
static bool spared(const work *w, const hdi_step *before, const hdi_step *behind)
{
    const hdi_hazards *hazards = w->hazards;
    return !w->step_shared[before - hazards->step] && !w->step_shared[behind - hazards->step] &&
           !(behind->to & HDI_CROSSES) &&
           hdi_kind_of(hazards, before->to)->layout == hdi_kind_of(hazards, behind->to)->layout &&
           hdi_is_attachment(w->decl->use_access[before->use]) && hdi_is_attachment(w->decl->use_access[behind->use]);
}

/* Steps stand in the order of their uses. */
static bool begins(work *w, uint32_t slot, uint32_t seg)
{
    const hdi_hazards *hazards = w->hazards;
    while (w->next < hazards->step_count && hazards->step[w->next].to == HDI_NONE)
        w->next++;
    return w->next < hazards->step_count && hazards->step[w->next].slot == slot && hazards->step[w->next].seg == seg;
}

/* floors: whether they are found; first it is found which epochs have several uses. */
static void visit_use(work *w, uint32_t slot, uint32_t use, uint32_t seg, bool floors)
{
    const hdi_hazards *hazards = w->hazards;
    if (begins(w, slot, seg))
        w->seg_step[seg] = ++w->next;
    else
        w->step_shared[w->seg_step[seg] - 1] = true;
    if (!floors)
        return;
    const hdi_step *step = &hazards->step[w->seg_step[seg] - 1],
                   *before = step->before ? &hazards->step[step->before - 1] : NULL;
    uint32_t queue = w->queues->count > 1 ? hazards->slot_queue[slot] : 0, floor = 0;
    if (!before)
        floor = tenants_on(w, w->frozen->seg_res[seg], queue);
    else if (!spared(w, before, step))
        floor = epoch_on(w, before, step->low, queue);
    w->use_floor[use] = floor > w->use_floor[use] ? floor : w->use_floor[use];
}

static void walk_uses(work *w, bool floors)
{
    const uint32_t *use_begin = w->decl->pass_use_begin;
    w->next = 0;
    for (uint32_t slot = 0; slot < w->hazards->slot_count; slot++) {
        uint32_t pass = w->hazards->slot_pass[slot];
        for (uint32_t u = pass == HDI_NONE ? 0 : use_begin[pass]; pass != HDI_NONE && u < use_begin[pass + 1]; u++) {
            hdi_span span = hdi_use_span(w->decl, w->frozen, u);
            for (uint32_t row = 0; row < span.rows; row++) {
                for (uint32_t c = 0; c < span.cols; c++)
                    visit_use(w, slot, u, span.base + row * span.stride + c, floors);
            }
        }
    }
}

/* Whether it must come after slots of other queues. */
static bool wants(const work *w, uint32_t slot)
{
    uint32_t queues = w->queues->count, any = 0;
    for (uint32_t q = 0; queues > 1 && q < queues; q++)
        any |= w->hazards->slot_want[(size_t)slot * queues + q];
    return any != 0;
}

static bool joins(const work *w, uint32_t before, uint32_t slot, uint32_t first)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t pass = hazards->slot_pass[slot], pass_before = hazards->slot_pass[before];
    if (pass == HDI_NONE || pass_before == HDI_NONE || !hdi_renders(w->decl, pass_before) ||
        !hdi_renders(w->decl, pass) || wants(w, slot) || !hdi_goes_on(w->decl, pass_before, pass))
        return false;
    for (uint32_t u = w->decl->pass_use_begin[pass]; u < w->decl->pass_use_begin[pass + 1]; u++) {
        if (w->use_floor[u] > first)
            return false;
    }
    return true;
}

static void visit_submit(work *w, const hdi_submit *submit)
{
    const hdi_hazards *hazards = w->hazards;
    const uint32_t *slots = &hazards->queue_slot[hazards->queue_begin[submit->queue]];
    for (uint32_t pos = submit->first_pos, first = 0; pos < submit->end_pos; pos++) {
        if (pos == submit->first_pos || !joins(w, slots[pos - 1], slots[pos], first))
            first = slots[pos];
        w->out->slot_first[slots[pos]] = first;
    }
    for (uint32_t pos = submit->end_pos, last = 0; pos-- > submit->first_pos;) {
        if (pos + 1 == submit->end_pos || w->out->slot_first[slots[pos + 1]] == slots[pos + 1])
            last = slots[pos];
        w->out->slot_last[slots[pos]] = last;
    }
}

hd_result hdi_merge(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues,
                    const hdi_hazards *hazards, const hdi_synced *synced, const hdi_lifetimes *lifetimes,
                    const hdi_placed *placed, hdi_arena *arena, hdi_merged *out)
{
    work w = {decl, frozen, queues, hazards, synced, lifetimes, placed, NULL, out, 0, NULL, NULL};
    out->slot_first = HDI_ARENA_ARRAY(arena, uint32_t, hazards->slot_count);
    out->slot_last = HDI_ARENA_ARRAY(arena, uint32_t, hazards->slot_count);
    hdi_arena_mark mark = hdi_arena_here(arena);
    w.use_floor = HDI_ARENA_ZEROED(arena, uint32_t, decl->use_count);
    w.seg_step = HDI_ARENA_ARRAY(arena, uint32_t, frozen->seg_count);
    w.step_shared = HDI_ARENA_ZEROED(arena, uint8_t, hazards->step_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    walk_uses(&w, false);
    walk_uses(&w, true);
    for (uint32_t s = 0; s < synced->submit_count; s++)
        visit_submit(&w, &synced->submit[s]);
    hdi_arena_keep(arena, mark, NULL, 0);
    return HD_OK;
}
