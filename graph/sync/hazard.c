#include "sync_work.h"

#include <string.h>

#include "vk_numbers.h"


/* Hazard: what each segment goes through in the order of the schedule. Uses of a segment become epochs: one write, or a
 * run of reads of one layout. Between two epochs stands a step that needs a barrier, a semaphore or both. Layout and
 * family changes between readers are found after scheduling on purpose: any order that the schedule chose is free of
 * cycles, an order chosen before it might not be.
 *
 * Each worker walks all slots (hazard_walk.c) for a range of resources. With several workers each step stands at the
 * place of its visit, with gaps, so that steps are in the order of the slots either way. O(uses). */

typedef hdi_hazard_work work;

/* ---- kinds: what accesses ask for, and what they do to the epoch before them ----
 *
 * An epoch names its kind, of which few are in use at a time. Where uses of an epoch differ, a kind of both is mixed;
 * frames mix the same few again and again, and the newest mixtures are found without a search. Kinds of the table's
 * accesses are made with the graph; one worker takes them as they are, and copies them where the first is mixed. */

/* Room for so many, in which there are those that were there. */
static bool move_kinds(hdi_kinds *kinds, uint32_t capacity)
{
    hdi_kind *own = HDI_ARENA_ARRAY(kinds->arena, hdi_kind, capacity);
    hdi_link *own_link = HDI_ARENA_ARRAY(kinds->arena, hdi_link, capacity);
    if (!own || !own_link)
        return false;
    memcpy(own, kinds->kind, kinds->count * sizeof(*own));
    memcpy(own_link, kinds->link, kinds->count * sizeof(*own_link));
    kinds->kind = kinds->own = own;
    kinds->link = kinds->own_link = own_link;
    kinds->capacity = capacity;
    return true;
}

/* Kinds of accesses, with room for `more`. */
static bool find_kinds(work *w, uint32_t more)
{
    const hdi_decl *decl = w->decl;
    uint32_t custom = decl->access_count - HDI_ACCESS_CUSTOM_FIRST;
    hdi_kinds *kinds = &w->kinds;
    *kinds = (hdi_kinds){.kind = decl->first_kind,
                         .link = decl->first_link,
                         .count = HDI_ACCESS_CUSTOM_FIRST,
                         .capacity = HDI_ACCESS_CUSTOM_FIRST,
                         .arena = w->arena};
    if (w->alone && !custom)
        return true;
    if (!move_kinds(kinds, decl->access_count + more))
        return false;
    hdi_make_kinds(decl->access + HDI_ACCESS_CUSTOM_FIRST, custom, kinds->own + kinds->count,
                   kinds->own_link + kinds->count);
    kinds->count = decl->access_count;
    return true;
}

/* Reads that differ in their layout are of one pass, and agree on the read-only depth layout: declare checked it. */
uint32_t hdi_mix_kinds(hdi_hazard_work *w, hdi_mixes *mixes, uint32_t a, uint32_t b)
{
    hdi_kinds *kinds = &w->kinds;
    struct hdi_mix *mix = &mixes->mix[(a + 3 * b) % HDI_MIXES];
    if (mix->made && mix->a == a && mix->b == b)
        return mix->made;
    const hdi_kind *one = &kinds->kind[a], *other = &kinds->kind[b];
    uint64_t stages = one->stages | other->stages, access = one->dst_access | other->dst_access;
    if (one->layout == other->layout && stages == one->stages && access == one->dst_access) {
        *mix = (struct hdi_mix){a, b, a};
        return a;
    }
    bool is_buffer = kinds->link[a].leaves == HDI_LEFT_READS && one->layout == HDI_LAYOUT_UNDEFINED;
    uint32_t flags = one->flags | other->flags;
    uint32_t layout = one->layout == other->layout ? one->layout : HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY;
    if (w->alone && kinds->count == kinds->capacity && !move_kinds(kinds, kinds->count + kinds->count / 2))
        return a;
    uint32_t number = hdi_next_number(&kinds->count, w->alone);
    hdi_make_kind(stages, access, layout, flags, is_buffer, &kinds->own[number], &kinds->own_link[number]);
    *mix = (struct hdi_mix){a, b, number};
    return number;
}

/* ---- steps ---- */

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
    if (!find_kinds(w, w->alone ? HDI_MIXES : 3 * (uint32_t)visits) || arena->failed || w->arena->failed)
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
