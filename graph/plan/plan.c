#include "plan_places.h"

#include <string.h>

/* Plan: packs the tables into one block, in the order in which an executor reads them. O(output). Workers take ranges
 * of resources, and ranges of places in the order of the submits (plan_places.c); each range writes its rows of all
 * tables. attach.c has counted the rows before each range of places. */

enum { RESOURCE_GRAIN = 1024 };

/* The parts of one shared loop: the list of culled passes, then ranges of places, then ranges of resources. */
typedef struct cuts {
    uint32_t places, resources; /* how many ranges */
} cuts;

typedef struct work {
    const hdi_tables *t;
    cuts cuts;
    hd_plan_resource *resources;
    hdi_plan_tables to;
    const uint32_t *resource_begin;
    uint32_t *culled, culled_count;
    hdi_plan_place end; /* of the last range */
    uint32_t *over; /* of the submit that ends in a range and begins before it: its last command + 1 */
} work;

static bool in_plan(const hdi_tables *t, uint32_t res)
{
    return t->sizes.res_used[res] || t->placed.res_heap[res] != HDI_NONE;
}

static uint32_t count_resources(const hdi_tables *t, uint32_t begin, uint32_t end)
{
    const uint8_t *used = t->sizes.res_used;
    const uint32_t *heap = t->placed.res_heap;
    uint32_t count = 0;
    for (uint32_t r = begin; r < end; r++)
        count += (uint32_t)(used[r] != 0) | (uint32_t)(heap[r] != HDI_NONE);
    return count;
}

/* What every resource has. placed: it lies in a heap. */
static HDI_INLINE hd_plan_resource plain_resource(const hdi_tables *t, uint32_t res, uint32_t flags, bool placed)
{
    hd_plan_resource out = {
        .id = res, .heap = HD_NONE, .first_family = HD_NONE, .final_family = HD_NONE, .tenant = HD_NONE};
    out.flags = (t->hazards.res_concurrent[res] ? HD_PLAN_CONCURRENT : 0) |
                (flags & HDI_RES_BUFFER ? 0 : HD_PLAN_IMAGE);
    if (!placed)
        return out;
    uint32_t first = t->placed.res_tenants[res].begin, heap_flags;
    bool takes_over = first != t->placed.res_tenants[res].end;
    out.heap = t->placed.res_heap[res];
    out.offset = t->placed.res_offset[res];
    out.bytes = t->sizes.need[res].bytes;
    out.placing = takes_over ? HD_PLACING_TAKES_OVER : HD_PLACING_FIRST;
    if (takes_over)
        out.tenant = t->placed.tenant[first];
    heap_flags = t->placed.heap[out.heap].flags;
    if (heap_flags && !takes_over)
        out.placing = heap_flags & HD_HEAP_PERSISTENT ? HD_PLACING_PERSISTENT : HD_PLACING_HOST;
    return out;
}

/* HD_MAX_QUEUES: none. */
static uint32_t family_of(const hdi_tables *t, uint32_t queue)
{
    return queue == HD_MAX_QUEUES ? HD_NONE : t->queues.family[queue];
}

/* External, a history, or what one is of: its state outlives the frame. Or it has no place. */
static hd_plan_resource special_resource(const hdi_tables *t, uint32_t res, uint32_t flags)
{
    const hdi_hazards *hazards = &t->hazards;
    uint32_t pair = t->decl->res_pair[res];
    bool placed = !(flags & HDI_RES_EXTERNAL) && t->placed.res_heap[res] != HDI_NONE;
    hd_plan_resource out = plain_resource(t, res, flags, placed);
    if (flags & HDI_RES_EXTERNAL) {
        out.flags |= HD_PLAN_EXTERNAL;
        out.placing = HD_PLACING_EXTERNAL;
    } else if (!placed) {
        out.bytes = t->sizes.need[res].bytes;
    }
    if (!(flags & HDI_KEEPS_STATE))
        return out;
    out.flags |= HD_PLAN_PERSISTENT;
    if (out.flags & HD_PLAN_IMAGE)
        out.final_layout = hazards->res_final_layout[res];
    if (!hazards->res_concurrent[res]) {
        /* A history and what it is of are handed on by one family: where only the host uses one, the other's. */
        uint32_t owner = hazards->res_first_owner[res] != HD_MAX_QUEUES || pair == HDI_NONE ? res : pair;
        out.first_family = family_of(t, hazards->res_first_owner[owner]);
        out.final_family = family_of(t, hazards->res_final_owner[owner]);
        /* What only the host uses has its barriers on the first queue in use, which need not be the set's first. */
        bool given = flags & HDI_RES_EXTERNAL && out.flags & HD_PLAN_IMAGE && out.first_family == HD_NONE;
        if (given && t->queues.family[0] != t->all_queues.family[0])
            out.first_family = out.final_family = t->queues.family[0];
    }
    return out;
}

static void fill_resources(const hdi_tables *t, uint32_t begin, uint32_t end, hd_plan_resource *to)
{
    const uint8_t *res_flags = t->decl->res_flags;
    const uint32_t *heap = t->placed.res_heap;
    for (uint32_t r = begin; r < end; r++) {
        if (!in_plan(t, r))
            continue;
        if (res_flags[r] & HDI_KEEPS_STATE || heap[r] == HDI_NONE)
            *to++ = special_resource(t, r, res_flags[r]);
        else
            *to++ = plain_resource(t, r, res_flags[r], true);
    }
}

/* Submits in which a range begins are as long as the range that they end in says. */
static void end_submits(work *w)
{
    for (uint32_t part = 0; part < w->cuts.places; part++) {
        if (w->over[part] != HDI_NONE) {
            hd_plan_submit *submit = &w->to.submits[hdi_submit_of(&w->t->synced, w->t->attached.range_begin[part])];
            submit->command_count = w->over[part] - submit->command_begin;
        }
    }
}

/* Submits that wait for nothing, do nothing and are not waited for are taken out: a slot without a pass is left so
 * where its barriers found another place. How many stay. */
static uint32_t drop_idle_submits(const hdi_tables *t, hd_plan_submit *submits)
{
    uint32_t count = t->synced.submit_count, kept = 0;
    if (t->hazards.slot_count == t->kept.kept_count || count < 2)
        return count; /* each has a pass */
    for (uint32_t s = 0; s < count; s++) {
        const hd_plan_submit submit = submits[s];
        if (HDI_LIKELY(submit.command_count || submit.wait_count || submit.signal_value)) {
            submits[kept++] = submit;
            continue;
        }
        for (uint32_t next = s + 1; submit.cut == HD_CUT_FIRST && next < count; next++) {
            if (submits[next].queue == submit.queue) {
                submits[next].cut = HD_CUT_FIRST;
                break;
            }
        }
    }
    return kept;
}

/* Which range of its kind a part is. Its number counts down to that. */
static bool is_of(uint32_t *part, uint32_t ranges)
{
    if (*part < ranges)
        return true;
    *part -= ranges;
    return false;
}

static HDI_INLINE bool are_kept(const uint8_t eight[8])
{
    uint64_t word;
    memcpy(&word, eight, sizeof(word));
    return word == UINT64_C(0x0101010101010101); /* nothing else is true */
}

/* Ascending, as declared. Eight at a time, which mostly are all kept; else which are not cannot be foreseen. */
static void fill_culled(const hdi_tables *t, uint32_t *culled, uint32_t count)
{
    const uint32_t *place = t->versions.pass_place, passes = t->decl->pass_count;
    const uint8_t *kept = t->kept.pass_kept;
    uint32_t found = 0;
    for (uint32_t p = 0; found < count; p += 8) {
        uint32_t end = p + 8 < passes ? p + 8 : passes;
        if (!place && end - p == 8 && are_kept(kept + p))
            continue;
        for (uint32_t i = p; i < end && found < count; i++) {
            culled[found] = i;
            found += !kept[place ? place[i] : i];
        }
    }
}

static void fill_places(work *w, uint32_t part)
{
    hdi_plan_place at;
    hdi_plan_fill_places(w->t, &w->to, part, &at, &w->over[part]);
    if (part + 1 == w->cuts.places)
        w->end = at;
}

static void fill_part(uint32_t part, void *user)
{
    work *w = user;
    uint32_t resources = w->t->decl->res_count, ranges = w->cuts.resources;
    if (is_of(&part, 1)) /* first, as it is one */
        fill_culled(w->t, w->culled, w->culled_count);
    else if (is_of(&part, w->cuts.places))
        fill_places(w, part);
    else
        fill_resources(w->t, hdi_range_begin(resources, ranges, part), hdi_range_begin(resources, ranges, part + 1),
                       w->resources + w->resource_begin[part]);
}

static cuts cut(const hdi_tables *t)
{
    return (cuts){t->attached.ranges, hdi_range_count(&t->crew, t->decl->res_count, RESOURCE_GRAIN)};
}

void hdi_plan_count(const hdi_tables *t, hdi_plan_counts *out, uint32_t resource_begin[HDI_MOST_PARTS])
{
    uint32_t count = t->decl->res_count, ranges = cut(t).resources, resources = 0;
    for (uint32_t part = 0; part < ranges; part++) {
        resource_begin[part] = resources;
        resources +=
            count_resources(t, hdi_range_begin(count, ranges, part), hdi_range_begin(count, ranges, part + 1));
    }
    *out = (hdi_plan_counts){
        .pass_count = t->decl->pass_count,
        .declared_resource_count = t->decl->res_count,
        .queue_count = t->all_queues.count,
        .culled_count = t->decl->pass_count - t->kept.kept_count,
        .heap_count = t->placed.heap_count,
        .resource_count = resources,
        .submit_count = t->synced.submit_count,
        .wait_count = t->synced.wait_count,
        .command_count = t->kept.kept_count + t->barriers.batch_count,
        .batch_count = t->barriers.batch_count,
        .barrier_count = t->barriers.barrier_count,
        .scope_count = t->attached.scope_count,
        .attachment_count = t->attached.attachment_count,
    };
}

void hdi_plan_fill(const hdi_tables *t, const uint32_t resource_begin[HDI_MOST_PARTS], hd_plan *plan)
{
    hd_plan_view view = hd_plan_read(plan);
    uint32_t over[HDI_MOST_PARTS];
    work w = {.t = t,
              .over = over,
              .cuts = cut(t),
              .resource_begin = resource_begin,
              .culled = (uint32_t *)view.culled,
              .culled_count = view.culled_count,
              .resources = (hd_plan_resource *)view.resources,
              .to = {.submits = (hd_plan_submit *)view.submits,
                     .waits = (hd_plan_wait *)view.waits,
                     .commands = (hd_plan_command *)view.commands,
                     .batches = (hd_plan_batch *)view.batches,
                     .barriers = (hd_plan_barrier *)view.barriers,
                     .scopes = (hd_plan_scope *)view.scopes,
                     .attachments = (hd_plan_attachment *)view.attachments}};
    hd_plan_queue *queues = (hd_plan_queue *)view.queues;
    for (uint32_t q = 0; q < t->all_queues.count; q++)
        queues[q] = (hd_plan_queue){t->all_queues.kind[q], t->all_queues.family[q]};
    hd_plan_heap *heaps = (hd_plan_heap *)view.heaps;
    for (uint32_t h = 0; h < t->placed.heap_count; h++)
        heaps[h] = t->placed.heap[h];
    hdi_crew_parts(&t->crew, 1 + w.cuts.places + w.cuts.resources, fill_part, &w);
    end_submits(&w);
    hdi_plan_shrink(plan, drop_idle_submits(t, w.to.submits), w.end.scope, w.end.attachment);
    hdi_plan_finish_by(plan, &t->crew);
}
