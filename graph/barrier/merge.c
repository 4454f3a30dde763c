#include "phases.h"

/* Merge: which gfx passes share a rendering scope, although by themselves they would want a barrier between them:
 * within one scope attachments are accessed in the order of the commands, whoever recorded them. Asked for by
 * hd_compile_desc.merge_rendering. The schedule puts them side by side (schedule_scopes.c).
 *
 * A pass joins the scope of the pass before it on its queue when both stand in one submit, it goes on with the same
 * attachments, it waits for no other queue, and nothing else that it uses needs a barrier behind the scope's first
 * pass: neither a resource that a pass of the scope used otherwise nor memory that one of them was the last to use. The
 * barrier phase then puts nothing between the two. One look at each epoch gives the place behind which a use may be
 * moved no further, a sweep over the slots joins passes. O(epochs + slots + uses). */

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_queues *queues;
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    const hdi_lifetimes *lifetimes;
    const hdi_placed *placed;
    uint32_t *use_floor; /* place on its queue at or behind which the scope of a use must begin */
    hdi_merged *out;
} work;

/* The step between two epochs that a scope spares: from one attachment to the next, on one queue, in one layout. */
static bool spared(const work *w, const hdi_epoch *before, const hdi_epoch *behind)
{
    return before->more == HDI_NONE && behind->more == HDI_NONE && before->queue_mask == behind->queue_mask &&
           hdi_epoch_layout(w->hazards, before) == hdi_epoch_layout(w->hazards, behind) &&
           hdi_is_attachment(w->decl->use_access[before->use]) &&
           hdi_is_attachment(w->decl->use_access[behind->use]);
}

static uint32_t last_on(const work *w, const hdi_epoch *epoch, uint32_t queue)
{
    const hdi_hazards *hazards = w->hazards;
    for (uint32_t e = epoch->more; e != HDI_NONE; e = hazards->entry[e].older) { /* newest first */
        uint32_t slot = hazards->entry[e].slot;
        if (hazards->slot_queue[slot] == queue)
            return hazards->slot_pos[slot] + 1;
    }
    return hazards->slot_queue[epoch->first] == queue ? hazards->slot_pos[epoch->first] + 1 : 0;
}

/* Behind the last use of whoever had the memory before. */
static uint32_t tenants_on(const work *w, uint32_t res, uint32_t queue)
{
    uint32_t floor = 0;
    for (uint32_t t = w->placed->res_tenants[res].begin; t < w->placed->res_tenants[res].end; t++) {
        const hdi_stay *stay = hdi_stay_on(w->lifetimes, w->hazards, w->queues, w->placed->tenant[t], queue);
        if (stay && stay->last + 1 > floor)
            floor = stay->last + 1;
    }
    return floor;
}

static void raise_to(work *w, uint32_t use, uint32_t floor)
{
    w->use_floor[use] = floor > w->use_floor[use] ? floor : w->use_floor[use];
}

static void raise_floor(work *w, uint32_t seg, const hdi_epoch *before, const hdi_epoch *behind, uint32_t slot,
                        uint32_t use)
{
    uint32_t queue = w->hazards->slot_queue[slot];
    if (!before)
        raise_to(w, use, tenants_on(w, w->frozen->seg_res[seg], queue));
    else if (!spared(w, before, behind))
        raise_to(w, use, last_on(w, before, queue));
}

static void find_floors(work *w)
{
    const hdi_hazards *hazards = w->hazards;
    for (uint32_t seg = 0; seg < w->frozen->seg_count; seg++) {
        const hdi_epoch *before = NULL;
        for (uint32_t e = hazards->seg_epoch_begin[seg]; e < hazards->seg_epoch_end[seg]; e++) {
            const hdi_epoch *behind = &hazards->epoch[e];
            if (behind->flags & HDI_EPOCH_FINAL)
                break;
            raise_floor(w, seg, before, behind, behind->first, behind->use);
            for (uint32_t i = behind->more; i != HDI_NONE; i = hazards->entry[i].older)
                raise_floor(w, seg, before, behind, hazards->entry[i].slot, hazards->entry[i].use);
            before = behind;
        }
    }
}

/* The epoch that a segment is in, on the walk over steps: what its step was, and that of the epoch before; 0: none. */
typedef struct stage {
    uint32_t step, before;
} stage;

/* The walk finds which steps lead into epochs of several uses first, then the floors. */
typedef struct steps {
    const hdi_step *all; /* in the order of the uses that they are for */
    uint32_t count, next;
    stage *stage;    /* of segments; steps are counted from 1 on */
    uint8_t *shared; /* of steps: whether the epoch has several uses */
    bool floors;
} steps;

static void visit_use(work *w, steps *s, uint32_t use, uint32_t seg)
{
    const hdi_step *all = s->all;
    stage *at = &s->stage[seg];
    if (s->next < s->count && all[s->next].use == use && all[s->next].seg == seg) {
        at->before = all[s->next].low ? at->step : 0;
        at->step = ++s->next;
    } else {
        s->shared[at->step - 1] = true;
    }
    if (!s->floors)
        return;
    const hdi_step *step = &all[at->step - 1];
    const hdi_kind *kind = w->hazards->kind;
    if (!at->before)
        raise_to(w, use, tenants_on(w, w->frozen->seg_res[seg], 0));
    else if (s->shared[at->before - 1] || s->shared[at->step - 1] ||
             kind[all[at->before - 1].to].layout != kind[step->to].layout ||
             !hdi_is_attachment(w->decl->use_access[all[at->before - 1].use]) ||
             !hdi_is_attachment(w->decl->use_access[step->use]))
        raise_to(w, use, step->low);
}

static void walk_uses(work *w, steps *s)
{
    const uint32_t *use_begin = w->decl->pass_use_begin;
    s->next = 0;
    for (uint32_t slot = 0; slot < w->hazards->slot_count; slot++) {
        uint32_t pass = w->hazards->slot_pass[slot];
        for (uint32_t u = use_begin[pass]; u < use_begin[pass + 1]; u++) {
            hdi_span span = hdi_use_span(w->decl, w->frozen, u);
            for (uint32_t row = 0; row < span.rows; row++) {
                for (uint32_t c = 0; c < span.cols; c++)
                    visit_use(w, s, u, span.base + row * span.stride + c);
            }
        }
    }
}

/* Without the gaps. */
static const hdi_step *list_steps(const work *w, hdi_arena *arena, uint32_t *count)
{
    const hdi_step *all = w->hazards->step;
    hdi_step *list = HDI_ARENA_ARRAY(arena, hdi_step, w->hazards->step_count), *next = list;
    for (uint32_t k = 0; list && k < w->hazards->region_count; k++) {
        for (uint32_t i = w->hazards->region_step[k].begin; i < w->hazards->region_step[k].end; i++) {
            if (all[i].to != HDI_NONE)
                *next++ = all[i];
        }
    }
    *count = (uint32_t)(next - list);
    return list;
}

static bool find_floors_by_steps(work *w, hdi_arena *arena)
{
    hdi_arena_mark mark = hdi_arena_here(arena);
    steps s = {.all = w->hazards->step,
               .count = w->hazards->step_count,
               .stage = HDI_ARENA_ARRAY(arena, stage, w->frozen->seg_count),
               .shared = HDI_ARENA_ZEROED(arena, uint8_t, w->hazards->step_count)};
    if (w->hazards->has_gaps)
        s.all = list_steps(w, arena, &s.count);
    if (arena->failed)
        return false;
    walk_uses(w, &s);
    s.floors = true;
    walk_uses(w, &s);
    hdi_arena_keep(arena, mark, NULL, 0);
    return true;
}

/* Whether it must come after slots of other queues. */
static bool wants(const work *w, uint32_t slot)
{
    uint32_t queues = w->queues->count, any = 0;
    for (uint32_t q = 0; queues > 1 && q < queues; q++)
        any |= w->hazards->slot_want[(size_t)slot * queues + q];
    return any != 0;
}

static bool renders(const work *w, uint32_t slot)
{
    uint32_t pass = w->hazards->slot_pass[slot];
    return pass != HDI_NONE && w->decl->pass_type[pass] == HD_PASS_GFX &&
           !(w->decl->pass_flags[pass] & HDI_PASS_NO_RENDERING);
}

static bool joins(const work *w, uint32_t before, uint32_t slot, uint32_t first)
{
    const hdi_hazards *hazards = w->hazards;
    if (!renders(w, before) || !renders(w, slot) || wants(w, slot) ||
        !hdi_goes_on(w->decl, hazards->slot_pass[before], hazards->slot_pass[slot]))
        return false;
    uint32_t pass = hazards->slot_pass[slot];
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
    uint32_t first = submit->first_pos;
    for (uint32_t pos = submit->first_pos; pos < submit->end_pos; pos++) {
        if (pos == first || !joins(w, slots[pos - 1], slots[pos], first))
            first = pos;
        w->out->slot_first[slots[pos]] = first;
    }
    uint32_t last = 0;
    for (uint32_t pos = submit->end_pos; pos-- > submit->first_pos;) {
        if (pos + 1 == submit->end_pos || w->out->slot_first[slots[pos + 1]] == pos + 1)
            last = pos;
        w->out->slot_last[slots[pos]] = last;
    }
}

hd_result hdi_merge(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues,
                    const hdi_hazards *hazards, const hdi_synced *synced, const hdi_lifetimes *lifetimes,
                    const hdi_placed *placed, hdi_arena *arena, hdi_merged *out)
{
    work w = {decl, frozen, queues, hazards, synced, lifetimes, placed, NULL, out};
    w.use_floor = HDI_ARENA_ZEROED(arena, uint32_t, decl->use_count);
    out->slot_first = HDI_ARENA_ARRAY(arena, uint32_t, hazards->slot_count);
    out->slot_last = HDI_ARENA_ARRAY(arena, uint32_t, hazards->slot_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (!hazards->step)
        find_floors(&w);
    else if (!find_floors_by_steps(&w, arena))
        return HD_OUT_OF_MEMORY;
    for (uint32_t s = 0; s < synced->submit_count; s++)
        visit_submit(&w, &synced->submit[s]);
    return HD_OK;
}
