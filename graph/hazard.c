#include "hazard_work.h"

#include <string.h>

#include "hints.h"

/* Hazard: what each segment goes through in the order of the schedule. Uses of a segment become epochs: one write, or a
 * run of reads of one layout. Between two epochs stands a step that needs a barrier, a semaphore or both; `place` says
 * where, and hazard_steps.c finds which slots must wait for slots of other queues. Layout and family changes between
 * readers are found after scheduling on purpose: any order that the schedule chose is free of cycles, an order chosen
 * before it might not be.
 *
 * Uses are counted, so that each segment has room for as many epochs and one for the state that the frame must leave; then
 * they are taken in the order of the schedule (hazard_epochs.c). What there is to do beyond that is about the few resources
 * that keep their state or that several queues use (hazard_states.c). O(uses).
 *
 * In parallel: a two-level counting sort. Ranges of slots count their uses by buckets of resources, then put them there, in
 * the order of the schedule; then each bucket goes its way alone. */

typedef hdi_hazard_work work;

enum { SLOT_GRAIN = 256, BUCKETS = HDI_MOST_PARTS };

/* ---- by the caller alone ---- */

static HDI_APART void count_span(const work *w, uint32_t use, uint32_t *count)
{
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t c = 0; c < span.cols; c++)
            count[span.base + row * span.stride + c]++;
    }
}

/* Of all passes, as room is not taken unless it is used. */
static void count_uses(const work *w, uint32_t *count)
{
    const uint32_t *use_seg = w->frozen->use_seg;
    uint32_t uses = w->decl->use_count;
    for (uint32_t u = 0; u < uses; u++) {
        uint32_t seg = use_seg[u];
        if (HDI_LIKELY(seg != HDI_NONE))
            count[seg]++;
        else
            count_span(w, u, count);
    }
}

/* Who uses which resource. */
static void find_queues(const work *w, uint16_t *res_queues)
{
    const uint32_t *slot_pass = w->schedule->slot_pass, *use_begin = w->decl->pass_use_begin, *use_res = w->decl->use_res;
    const uint8_t *slot_queue = w->schedule->slot_queue;
    uint32_t slots = w->schedule->slot_count;
    for (uint32_t s = 0; s < slots; s++) {
        uint32_t end = use_begin[slot_pass[s] + 1];
        uint16_t queue = (uint16_t)(1u << slot_queue[s]);
        for (uint32_t u = use_begin[slot_pass[s]]; u < end; u++)
            res_queues[use_res[u]] |= queue;
    }
}

/* From counts to where the epochs of each segment begin. Returns where the room ends. */
static uint32_t make_room(const hdi_hazards *out, uint32_t first_seg, uint32_t last_seg, uint32_t at)
{
    uint32_t *begin = out->seg_epoch_begin, *end = out->seg_epoch_end;
    for (uint32_t seg = first_seg; seg < last_seg; seg++) {
        uint32_t count = end[seg];
        begin[seg] = end[seg] = at;
        at += count + 1;
    }
    return at;
}

static bool reserve(work *w, uint32_t entries)
{
    w->out->epoch = HDI_ARENA_ARRAY(w->arena, hdi_epoch, (size_t)entries + w->frozen->seg_count);
    w->out->entry = HDI_ARENA_ARRAY(w->arena, hdi_entry, entries);
    return !w->arena->failed;
}

static bool walk_alone(work *w)
{
    hdi_hazards *out = w->out;
    uint32_t seg_count = w->frozen->seg_count, slots = w->schedule->slot_count, at[HD_MAX_QUEUES] = {0};
    memset(out->seg_epoch_end, 0, seg_count * sizeof(*out->seg_epoch_end));
    count_uses(w, out->seg_epoch_end);
    if (!reserve(w, make_room(out, 0, seg_count, 0) - seg_count))
        return false;
    if (w->several)
        find_queues(w, out->res_queues);
    hdi_count_slots(w, 0, slots, at);
    hdi_begin_queues(w, &at, 1);
    hdi_place_slots(w, 0, slots, at);
    hdi_walk_slots(w);
    return true;
}

/* ---- by several ---- */

/* What a range of slots holds, then where it goes. */
typedef struct range {
    uint32_t record[BUCKETS], entry[BUCKETS];
} range;

typedef struct sort {
    const work *w;
    uint32_t shift; /* of a resource: its bucket */
    range *range;
    uint32_t (*on_queue)[HD_MAX_QUEUES]; /* of each range */
    uint32_t record_begin[BUCKETS + 1], entry_begin[BUCKETS + 1];
    hdi_record *record;
} sort;

static void count_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const sort *s = user;
    const work *w = s->w;
    const uint32_t *slot_pass = w->schedule->slot_pass, *use_begin = w->decl->pass_use_begin, *use_res = w->decl->use_res,
                   *use_seg = w->frozen->use_seg;
    range count = {0};
    for (uint32_t slot = begin; slot < end; slot++) {
        uint32_t last = use_begin[slot_pass[slot] + 1];
        for (uint32_t u = use_begin[slot_pass[slot]]; u < last; u++) {
            uint32_t bucket = use_res[u] >> s->shift;
            count.record[bucket]++;
            if (HDI_UNLIKELY(use_seg[u] == HDI_NONE)) {
                hdi_span span = hdi_use_span(w->decl, w->frozen, u);
                count.entry[bucket] += span.rows * span.cols - 1;
            }
        }
    }
    for (uint32_t b = 0; b < BUCKETS; b++)
        count.entry[b] += count.record[b];
    s->range[part] = count;
    hdi_count_slots(w, begin, end, s->on_queue[part]);
}

/* Where each range's uses stand in each bucket, and each bucket's in all. */
static void add_up(sort *s, uint32_t ranges)
{
    uint32_t records[BUCKETS] = {0}, entries[BUCKETS] = {0};
    for (uint32_t r = 0; r < ranges; r++) {
        for (uint32_t b = 0; b < BUCKETS; b++) {
            uint32_t count = s->range[r].record[b];
            s->range[r].record[b] = records[b];
            records[b] += count;
            entries[b] += s->range[r].entry[b];
        }
    }
    s->record_begin[0] = s->entry_begin[0] = 0;
    for (uint32_t b = 0; b < BUCKETS; b++) {
        s->record_begin[b + 1] = s->record_begin[b] + records[b];
        s->entry_begin[b + 1] = s->entry_begin[b] + entries[b];
    }
}

static void fill_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const sort *s = user;
    const work *w = s->w;
    const uint32_t *slot_pass = w->schedule->slot_pass, *use_begin = w->decl->pass_use_begin, *use_res = w->decl->use_res;
    uint32_t at[BUCKETS];
    for (uint32_t b = 0; b < BUCKETS; b++)
        at[b] = s->record_begin[b] + s->range[part].record[b];
    for (uint32_t slot = begin; slot < end; slot++) {
        uint32_t last = use_begin[slot_pass[slot] + 1];
        for (uint32_t u = use_begin[slot_pass[slot]]; u < last; u++)
            s->record[at[use_res[u] >> s->shift]++] = (hdi_record){u, slot};
    }
    hdi_place_slots(w, begin, end, s->on_queue[part]);
}

static void walk_bucket(uint32_t bucket, void *user)
{
    const sort *s = user;
    const work *w = s->w;
    const hdi_hazards *out = w->out;
    uint32_t res_count = w->decl->res_count, first_res = bucket << s->shift, last_res = (bucket + 1) << s->shift;
    uint32_t first_seg = w->frozen->res_seg_begin[first_res],
             last_seg = w->frozen->res_seg_begin[last_res < res_count ? last_res : res_count];
    uint32_t *count = out->seg_epoch_end;
    memset(count + first_seg, 0, (last_seg - first_seg) * sizeof(*count));
    for (uint32_t i = s->record_begin[bucket]; i < s->record_begin[bucket + 1]; i++) {
        uint32_t u = s->record[i].use, seg = w->frozen->use_seg[u];
        if (HDI_LIKELY(seg != HDI_NONE))
            count[seg]++;
        else
            count_span(w, u, count);
        if (w->several)
            out->res_queues[w->decl->use_res[u]] |= (uint16_t)(1u << w->schedule->slot_queue[s->record[i].slot]);
    }
    make_room(out, first_seg, last_seg, s->entry_begin[bucket] + first_seg);
    hdi_walk_records(w, s->record + s->record_begin[bucket], s->record_begin[bucket + 1] - s->record_begin[bucket],
                     s->entry_begin[bucket]);
}

static bool walk_sorted(work *w)
{
    const hdi_crew *crew = w->crew;
    uint32_t slots = w->schedule->slot_count, ranges = hdi_range_count(crew, slots, SLOT_GRAIN), res_count = w->decl->res_count;
    hdi_arena *aside = &crew->arena[HDI_MOST_PARTS - 1];
    hdi_arena_mark mark = hdi_arena_here(aside);
    sort s = {.w = w};
    while (res_count >> s.shift >= BUCKETS)
        s.shift++;
    s.range = HDI_ARENA_ARRAY(aside, range, ranges);
    s.on_queue = hdi_arena_zeroed(aside, ranges, sizeof(*s.on_queue));
    if (aside->failed)
        return false;
    hdi_crew_ranges(crew, slots, SLOT_GRAIN, count_range, &s);
    add_up(&s, ranges);
    hdi_begin_queues(w, s.on_queue, ranges);
    s.record = HDI_ARENA_ARRAY(aside, hdi_record, s.record_begin[BUCKETS]);
    if (aside->failed || !reserve(w, s.entry_begin[BUCKETS]))
        return false;
    hdi_crew_ranges(crew, slots, SLOT_GRAIN, fill_range, &s);
    hdi_crew_parts(crew, res_count ? ((res_count - 1) >> s.shift) + 1 : 0, walk_bucket, &s);
    hdi_arena_keep(aside, mark, NULL, 0);
    return true;
}

hd_result hdi_hazard(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_schedule *schedule,
                     const hdi_queues *queues, const hdi_crew *crew, hdi_arena *arena, hdi_hazards *out)
{
    work w = {.decl = decl, .frozen = frozen, .schedule = schedule, .queues = queues, .crew = crew, .arena = arena};
    w.out = out;
    w.alone = crew->workers == 1;
    w.several = queues->count > 1;
    w.gpu_mask = (1u << queues->gpu_count) - 1;
    for (uint32_t q = 0; q < queues->gpu_count; q++) {
        uint32_t first = 0;
        while (queues->family[first] != queues->family[q])
            first++;
        w.family_bit[q] = (uint16_t)(1u << first);
        w.several_families |= first != 0;
    }
    out->slot_count = schedule->slot_count;
    out->slot_pass = schedule->slot_pass;
    out->slot_queue = schedule->slot_queue;
    out->slot_group = schedule->slot_group;
    out->region_count = schedule->region_count;
    out->region_begin = schedule->region_begin;
    out->memory_edge_count = schedule->edge_count;
    out->memory_edge = schedule->edge;
    out->res_concurrent = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    out->res_queues = w.several ? HDI_ARENA_ZEROED(arena, uint16_t, decl->res_count) : NULL;
    out->res_final_layout = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->res_first_family = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->res_final_family = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->slot_pos = HDI_ARENA_ARRAY(arena, uint32_t, schedule->slot_count);
    out->queue_slot = w.several ? HDI_ARENA_ARRAY(arena, uint32_t, schedule->slot_count) : out->slot_pos;
    out->slot_want = w.several ? HDI_ARENA_ARRAY(arena, uint32_t, (size_t)schedule->slot_count * queues->count) : NULL;
    out->seg_epoch_begin = HDI_ARENA_ARRAY(arena, uint32_t, frozen->seg_count);
    out->seg_epoch_end = HDI_ARENA_ARRAY(arena, uint32_t, frozen->seg_count);
    out->use_kept = HDI_ARENA_ZEROED(arena, uint8_t, decl->use_count);
    out->use_epoch = w.several ? NULL : HDI_ARENA_ARRAY(arena, uint32_t, decl->use_count);
    if (arena->failed || !(w.alone ? walk_alone(&w) : walk_sorted(&w)))
        return HD_OUT_OF_MEMORY;
    hd_result result = hdi_settle(&w);
    return result == HD_OK && w.extras.count ? hdi_add_extra_slots(&w) : result;
}
