#include "sync_work.h"

#include <string.h>


/* Hazard: what each segment goes through in the order of the schedule. Uses of a segment become epochs: one write, or a
 * run of reads of one layout. Between two epochs stands a step that needs a barrier, a semaphore or both. Layout and
 * family changes between readers are found after scheduling on purpose: any order that the schedule chose is free of
 * cycles, an order chosen before it might not be.
 *
 * One worker walks the slots (hazard_walk.c). Several sort the uses by buckets of resources first, each in the order of
 * the slots, by counting: ranges of slots count and fill, then each bucket is walked alone. There each step stands at
 * the place of its visit, so that steps are in the order of the slots either way. O(uses). */

typedef hdi_hazard_work work;

enum { SLOT_GRAIN = 256, BUCKETS = HDI_MOST_PARTS };

/* For what walks write, states of segments and what slots want among it, and the kinds of accesses. more: how many
 * kinds may be mixed. */
static bool make_room(work *w, hdi_arena *early, uint32_t more)
{
    hdi_hazards *out = w->out;
    size_t wants = (size_t)out->slot_count * w->queues->count;
    out->seg_state = HDI_ARENA_ARRAY(early, hdi_seg_state, w->frozen->seg_count);
    w->seg_due = w->decl->mixed_layouts ? HDI_ARENA_ARRAY(w->arena, hdi_due, w->frozen->seg_count) : NULL;
    out->slot_want = w->several ? HDI_ARENA_ARRAY(early, uint32_t, wants + HDI_ROW_SLACK) : NULL;
    return hdi_find_kinds(w, more) && !early->failed && !w->arena->failed;
}

/* A share of it. */
static void clear(const work *w, uint32_t part, uint32_t parts)
{
    const hdi_hazards *out = w->out;
    const hdi_decl *decl = w->decl;
    const size_t queues = w->queues->count;
    uint32_t res = hdi_range_begin(decl->res_count, parts, part), use = hdi_range_begin(decl->use_count, parts, part),
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

/* ---- by one worker ---- */

static bool find_alone(work *w)
{
    enum { ALL_APART = 256 };
    hdi_hazards *out = w->out;
    uint32_t on_queue[HD_MAX_QUEUES] = {0};
    size_t visits = 1 + (size_t)w->frozen->visit_count, wants = (size_t)out->slot_count * w->queues->count,
           bytes = visits * sizeof(hdi_step) + w->frozen->seg_count * sizeof(hdi_seg_state) +
                   wants * sizeof(uint32_t) + ALL_APART;
    if (w->crew->early)
        hdi_arena_widen(w->crew->early, bytes);
    hdi_arena *arena = hdi_crew_early(w->crew, bytes, w->arena);
    if (!make_room(w, arena, HDI_MIXES))
        return false;
    clear(w, 0, 1);
    hdi_arena_mark mark = hdi_arena_here(arena);
    out->step = HDI_ARENA_ARRAY(arena, hdi_step, visits);
    if (arena->failed)
        return false;
    w->sides = (hdi_sides){.count = 1, .grows = true};
    hdi_count_slots(w, 0, out->slot_count, on_queue);
    hdi_begin_queues(w, &on_queue, 1);
    hdi_walk_slots(w);
    out->side = w->sides.side;
    out->kind = w->kinds.kind;
    const hdi_arena_kept kept[] = {{&out->step, out->step_count * sizeof(*out->step)},
                                   {&out->side, w->sides.count * sizeof(*out->side)}};
    if (arena != w->arena) /* else kinds may lie behind them */
        hdi_arena_keep(arena, mark, kept, w->sides.arena == arena ? 2 : 1);
    return !w->arena->failed;
}

/* ---- by several ---- */

/* What a range of slots holds, then what stands before it. */
typedef struct slot_range {
    uint32_t record[BUCKETS], visits[BUCKETS], all_visits;
} slot_range;

typedef struct bucket_sort {
    work *w;
    uint32_t shift; /* of a resource: its bucket */
    uint32_t ranges;
    slot_range *range;
    uint32_t (*on_queue)[HD_MAX_QUEUES]; /* of each range */
    uint32_t record_begin[BUCKETS + 1], visit_begin[BUCKETS + 1];
    hdi_visit_record *record; /* by bucket */
} bucket_sort;

static uint32_t count_visits(const work *w, uint32_t use)
{
    if (HDI_LIKELY(w->frozen->use_seg[use] != HDI_NONE))
        return 1;
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    return span.rows * span.cols;
}

static void count_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const bucket_sort *s = user;
    const work *w = s->w;
    slot_range count = {0};
    for (uint32_t slot = begin; slot < end; slot++) {
        const uint32_t *of_pass = &w->decl->pass_use_begin[w->schedule->slot_pass[slot]];
        for (uint32_t u = of_pass[0]; u < of_pass[1]; u++) {
            uint32_t bucket = w->decl->use_res[u] >> s->shift, visits = count_visits(w, u);
            count.record[bucket]++;
            count.visits[bucket] += visits;
            count.all_visits += visits;
        }
    }
    s->range[part] = count;
    hdi_count_slots(w, begin, end, s->on_queue[part]);
}

/* Where each range's uses stand in each bucket, and each bucket's in all. Returns how many visits there are. */
static uint32_t add_up(bucket_sort *s)
{
    uint32_t records[BUCKETS] = {0}, visits[BUCKETS] = {0}, all = 0;
    for (uint32_t r = 0; r < s->ranges; r++) {
        slot_range *range = &s->range[r];
        for (uint32_t b = 0; b < BUCKETS; b++) {
            uint32_t count = range->record[b];
            range->record[b] = records[b];
            records[b] += count;
            visits[b] += range->visits[b];
        }
        uint32_t of = range->all_visits;
        range->all_visits = all;
        all += of;
    }
    s->record_begin[0] = s->visit_begin[0] = 0;
    for (uint32_t b = 0; b < BUCKETS; b++) {
        s->record_begin[b + 1] = s->record_begin[b] + records[b];
        s->visit_begin[b + 1] = s->visit_begin[b] + visits[b];
    }
    return all;
}

static void fill_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const bucket_sort *s = user;
    const work *w = s->w;
    uint32_t at[BUCKETS], visit = s->range[part].all_visits;
    for (uint32_t b = 0; b < BUCKETS; b++)
        at[b] = s->record_begin[b] + s->range[part].record[b];
    for (uint32_t slot = begin; slot < end; slot++) {
        const uint32_t *of_pass = &w->decl->pass_use_begin[w->schedule->slot_pass[slot]];
        for (uint32_t u = of_pass[0]; u < of_pass[1]; u++) {
            s->record[at[w->decl->use_res[u] >> s->shift]++] = (hdi_visit_record){u, slot, visit};
            visit += count_visits(w, u);
        }
    }
    hdi_place_slots(w, begin, end, s->on_queue[part]);
    clear(w, part, s->ranges);
}

/* Each has room of its own: one kind and two sides for each visit; two kinds where passes mix them. */
static void walk_bucket(uint32_t bucket, void *user)
{
    const bucket_sort *s = user;
    const work *w = s->w;
    uint32_t visits = s->visit_begin[bucket];
    hdi_kinds kinds = w->kinds;
    hdi_sides sides = w->sides;
    kinds.count += 3 * visits;
    sides.count += 2 * visits;
    hdi_walk_records(w, &kinds, &sides, s->record + s->record_begin[bucket], s->record + s->record_begin[bucket + 1]);
}

static bool find_by_buckets(work *w)
{
    const hdi_crew *crew = w->crew;
    hdi_hazards *out = w->out;
    uint32_t slots = out->slot_count, res_count = w->decl->res_count;
    hdi_arena *aside = &crew->arena[HDI_MOST_PARTS - 1];
    hdi_arena_mark mark = hdi_arena_here(aside);
    bucket_sort s = {.w = w, .ranges = hdi_range_count(crew, slots, SLOT_GRAIN)};
    while (res_count >> s.shift >= BUCKETS)
        s.shift++;
    s.range = HDI_ARENA_ARRAY(aside, slot_range, s.ranges);
    s.on_queue = hdi_arena_zeroed(aside, s.ranges, sizeof(*s.on_queue));
    if (aside->failed)
        return false;
    hdi_crew_ranges(crew, slots, SLOT_GRAIN, count_range, &s);
    uint32_t visits = add_up(&s);
    hdi_begin_queues(w, s.on_queue, s.ranges);
    s.record = HDI_ARENA_ARRAY(aside, hdi_visit_record, s.record_begin[BUCKETS]);
    if (aside->failed || !make_room(w, w->arena, 3 * visits))
        return false;
    out->step = HDI_ARENA_ARRAY(w->arena, hdi_step, (size_t)visits + 1);
    out->side = w->several ? HDI_ARENA_ARRAY(w->arena, hdi_side, 2 * (size_t)visits + 1) : NULL;
    if (w->arena->failed)
        return false;
    w->sides = (hdi_sides){.side = out->side, .count = 1};
    out->kind = w->kinds.kind;
    out->step_count = visits;
    hdi_crew_ranges(crew, slots, SLOT_GRAIN, fill_range, &s);
    hdi_crew_parts(crew, BUCKETS, walk_bucket, &s);
    hdi_arena_keep(aside, mark, NULL, 0);
    return true;
}

/* ---- all of it ---- */

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
    w.several = queues->count > 1;
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
    bool found = w.alone ? find_alone(&w) : find_by_buckets(&w);
    return found && hdi_settle(&w) ? HD_OK : HD_OUT_OF_MEMORY;
}
