#include "phases.h"

/* Merge: which gfx passes share a rendering scope, although by themselves they would want a barrier between them:
 * within one scope attachments are accessed in the order of the commands, whoever recorded them. Asked for by
 * hd_compile_desc.merge_rendering.
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
           before->layout == behind->layout && hdi_is_attachment(w->decl->use_access[before->use]) &&
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

static void raise_floor(work *w, uint32_t seg, const hdi_epoch *before, const hdi_epoch *behind, uint32_t slot,
                        uint32_t use)
{
    uint32_t queue = w->hazards->slot_queue[slot], floor;
    if (!before)
        floor = tenants_on(w, w->frozen->seg_res[seg], queue);
    else
        floor = spared(w, before, behind) ? 0 : last_on(w, before, queue);
    if (floor > w->use_floor[use])
        w->use_floor[use] = floor;
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
    find_floors(&w);
    for (uint32_t s = 0; s < synced->submit_count; s++)
        visit_submit(&w, &synced->submit[s]);
    return HD_OK;
}
