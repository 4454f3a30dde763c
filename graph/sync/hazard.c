#include "sync_work.h"

#include <string.h>


/* Hazard: what each segment goes through in the order of the schedule. Uses of a segment become epochs: one write, or a
 * run of reads of one layout. Between two epochs stands a step that needs a barrier, a semaphore or both. Layout and
 * family changes between readers are found after scheduling on purpose: any order that the schedule chose is free of
 * cycles, an order chosen before it might not be.
 *
 * Each worker walks all slots (hazard_walk.c) for a range of resources. With several workers each step stands at the
 * place of its visit, with gaps, so that steps are in the order of the slots either way. O(uses). */

typedef hdi_hazard_work work;

/* A share of what walks write. */
static void clear(uint32_t part, void *user)
{
    const work *w = user;
    const hdi_hazards *out = w->out;
    const hdi_decl *decl = w->decl;
    const size_t queues = w->queues->count;
    uint32_t parts = w->parts, res = hdi_range_begin(decl->res_count, parts, part),
             use = hdi_range_begin(decl->use_count, parts, part),
             seg = hdi_range_begin(w->frozen->seg_count, parts, part),
             slot = hdi_range_begin(out->slot_count, parts, part),
             resources = hdi_range_begin(decl->res_count, parts, part + 1) - res,
             segs = hdi_range_begin(w->frozen->seg_count, parts, part + 1) - seg,
             slots = hdi_range_begin(out->slot_count, parts, part + 1) - slot;
    memset(out->use_kept + use, 0, hdi_range_begin(decl->use_count, parts, part + 1) - use);
    memset(out->seg_state + seg, 0, segs * sizeof(*out->seg_state));
    memset(out->res_concurrent + res, 0, resources);
    if (w->seg_due)
        memset(w->seg_due + seg, 0, segs * sizeof(*w->seg_due));
    if (!w->several)
        return;
    memset(out->res_queues + res, 0, resources * sizeof(*out->res_queues));
    memset(out->slot_want + slot * queues, 0, slots * queues * sizeof(*out->slot_want));
}

/* Of one worker what walks write lies in the plan's memory where there is room, and steps that were not needed are
 * given back. Several have room for all kinds and sides that visits may make: three and two each. */
static bool find_steps(work *w)
{
    enum { ALL_APART = 256 };
    hdi_hazards *out = w->out;
    size_t visits = 1 + (size_t)w->frozen->visit_count, wants = (size_t)out->slot_count * w->queues->count,
           bytes = visits * sizeof(hdi_step) + w->frozen->seg_count * sizeof(hdi_seg_state) + wants * sizeof(uint32_t) +
                   ALL_APART;
    hdi_arena *arena = w->arena;
    if (w->alone) {
        hdi_arena_widen(w->crew->early, bytes);
        arena = hdi_crew_early(w->crew, bytes, arena);
    }
    out->seg_state = HDI_ARENA_ARRAY(arena, hdi_seg_state, w->frozen->seg_count);
    w->seg_due = w->decl->mixed_layouts ? HDI_ARENA_ARRAY(w->arena, hdi_due, w->frozen->seg_count) : NULL;
    out->slot_want = w->several ? HDI_ARENA_ARRAY(arena, uint32_t, wants + HDI_ROW_SLACK) : NULL;
    hdi_arena_mark mark = hdi_arena_here(arena);
    out->step = HDI_ARENA_ARRAY(arena, hdi_step, visits);
    if (!w->alone && w->several)
        w->sides.side = HDI_ARENA_ARRAY(arena, hdi_side, 2 * visits + 1);
    if (!hdi_find_kinds(w, w->alone ? HDI_MIXES : 3 * (uint32_t)visits) || arena->failed || w->arena->failed)
        return false;
    hdi_crew_parts(w->crew, w->parts, clear, w);
    hdi_place_slots(w);
    hdi_crew_parts(w->crew, w->parts, hdi_walk_slots, w);
    out->side = w->sides.side;
    out->kind = w->kinds.kind;
    const hdi_arena_kept kept[] = {{&out->step, out->step_count * sizeof(*out->step)},
                                   {&out->side, w->sides.count * sizeof(*out->side)}};
    if (arena != w->arena) /* else kinds may lie behind them */
        hdi_arena_keep(arena, mark, kept, w->sides.arena == arena ? 2 : 1);
    return !w->arena->failed;
}

static void find_families(work *w)
{
    const hdi_queues *queues = w->queues;
    w->gpu_mask = (1u << queues->gpu_count) - 1;
    for (uint32_t q = 0; q < queues->gpu_count; q++) {
        for (uint32_t other = 0; other < queues->gpu_count; other++)
            w->family_mask[q] |= (uint16_t)((queues->family[other] == queues->family[q]) << other);
        w->several_families |= w->family_mask[q] != w->gpu_mask;
    }
}

hd_result hdi_hazard(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept, const hdi_schedule *schedule,
                     const hdi_queues *queues, const hdi_crew *crew, hdi_arena *arena, hdi_hazards *out)
{
    work w = {.decl = decl, .frozen = frozen, .schedule = schedule, .queues = queues, .crew = crew, .arena = arena};
    uint32_t slots = schedule->slot_count, resources = decl->res_count;
    w.kept = kept;
    w.out = out;
    w.alone = crew->workers == 1;
    w.parts = hdi_crew_part_count(crew);
    w.several = queues->count > 1;
    w.sides.count = 1;
    find_families(&w);
    *out = (hdi_hazards){.slot_count = slots,
                         .slot_pass = schedule->slot_pass,
                         .slot_queue = schedule->slot_queue,
                         .slot_group = schedule->slot_group,
                         .region_count = schedule->region_count,
                         .region_begin = schedule->region_begin,
                         .memory_edge_count = schedule->edge_count,
                         .memory_edge = schedule->edge};
    out->res_concurrent = HDI_ARENA_ARRAY(arena, uint8_t, resources);
    out->res_queues = w.several ? HDI_ARENA_ARRAY(arena, uint16_t, resources) : NULL;
    out->res_final_layout = HDI_ARENA_ARRAY(arena, uint32_t, resources);
    out->res_first_owner = HDI_ARENA_ARRAY(arena, uint8_t, resources);
    out->res_final_owner = HDI_ARENA_ARRAY(arena, uint8_t, resources);
    out->slot_pos = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    out->queue_slot = w.several ? HDI_ARENA_ARRAY(arena, uint32_t, slots) : out->slot_pos;
    out->use_kept = HDI_ARENA_ARRAY(arena, uint8_t, decl->use_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    return find_steps(&w) && hdi_settle(&w) ? HD_OK : HD_OUT_OF_MEMORY;
}
