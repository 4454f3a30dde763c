#include "phases.h"

#include <string.h>

#include "hints.h"
#include "vk_numbers.h"

/* Plan: packs the tables into one block, in the order in which an executor reads them. O(output). By ranges of
 * resources, and of places in the order of the submits, each behind what the others write before it; all tables at
 * once. What stands before a range of places was counted with their scopes (attach.c). */

enum { RESOURCE_GRAIN = 1024, COPY_GRAIN = 4096 };

typedef hdi_plan_place cursor;

/* Ranges that several kinds of work are cut into: the parts of one kind stand behind those of the one before. */
typedef struct cuts {
    uint32_t places, resources, scopes, attachments; /* how many ranges */
} cuts;

typedef struct work {
    const hdi_tables *t;
    cuts cuts;
    hd_plan_resource *resources;
    hd_plan_submit *submits;
    hd_plan_wait *waits;
    hd_plan_command *commands;
    hd_plan_batch *batches;
    hd_plan_barrier *barriers;
    hd_plan_scope *scopes;
    hd_plan_attachment *attachments;
    const uint32_t *resource_begin;
    uint32_t *culled, culled_count;
    uint32_t over[HDI_MOST_PARTS]; /* of the submit that ends in a range and begins before it: its last command + 1 */
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
static inline hd_plan_resource plain_resource(const hdi_tables *t, uint32_t res, uint32_t flags, bool placed)
{
    hd_plan_resource out = {
        .id = res, .heap = HD_NONE, .first_family = HD_NONE, .final_family = HD_NONE, .tenant = HD_NONE};
    out.flags =
        (t->hazards.res_concurrent[res] ? HD_PLAN_CONCURRENT : 0) | (flags & HDI_RES_BUFFER ? 0 : HD_PLAN_IMAGE);
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
    if (heap_flags) { /* nobody shares bytes there */
        out.placing = heap_flags & HD_HEAP_PERSISTENT ? HD_PLACING_PERSISTENT : HD_PLACING_HOST;
        out.tenant = HD_NONE;
    }
    return out;
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
        uint32_t owner = hazards->res_first_family[res] != HDI_NONE || pair == HDI_NONE ? res : pair;
        out.first_family = hazards->res_first_family[owner];
        out.final_family = hazards->res_final_family[owner];
    }
    return out;
}

static void fill_resources(const work *w, uint32_t begin, uint32_t end, hd_plan_resource *to)
{
    const uint8_t *res_flags = w->t->decl->res_flags;
    const uint32_t *heap = w->t->placed.res_heap;
    for (uint32_t r = begin; r < end; r++) {
        if (!in_plan(w->t, r))
            continue;
        if (res_flags[r] & HDI_KEEPS_STATE || heap[r] == HDI_NONE)
            *to++ = special_resource(w->t, r, res_flags[r]);
        else
            *to++ = plain_resource(w->t, r, res_flags[r], true);
    }
}

/* ---- commands ---- */

/* Apart from the walk over the slots, of which few have a batch. */
HDI_APART static void add_batch(const work *w, uint32_t from, cursor *at)
{
    const hdi_tables *t = w->t;
    const hd_plan_batch batch = t->barriers.batch[from];
    const hd_plan_barrier *barriers = t->barriers.barrier;
    const uint32_t *order = t->barriers.order;
    hd_plan_barrier *to = w->barriers + at->barrier;
    w->commands[at->command++] = (hd_plan_command){HD_COMMAND_BARRIER, at->batch, 0};
    w->batches[at->batch++] = (hd_plan_batch){at->barrier, batch.barrier_count};
    at->barrier += batch.barrier_count;
    for (uint32_t b = batch.barrier_begin, end = b + batch.barrier_count; b < end; b++, to++) {
        *to = barriers[order ? order[b] : b];
        to->reason_pass = hdi_declared_pass(&t->versions, to->reason_pass);
    }
}

/* A plan speaks of passes as they were declared. */
static inline void fill_slot(const work *w, uint32_t slot, cursor *at)
{
    uint32_t pre = w->t->barriers.slot_pre[slot], post = w->t->barriers.slot_post[slot];
    uint32_t pass = w->t->hazards.slot_pass[slot];
    if (pre != HDI_NONE)
        add_batch(w, pre, at);
    if (pass != HDI_NONE)
        w->commands[at->command++] = (hd_plan_command){HD_COMMAND_PASS, hdi_declared_pass(&w->t->versions, pass), 0};
    if (post != HDI_NONE)
        add_batch(w, post, at);
}

/* Slots of a submit in the order of its places. */
static const uint32_t *slots_of(const hdi_tables *t, const hdi_submit *submit)
{
    return &t->hazards.queue_slot[t->hazards.queue_begin[submit->queue] + submit->first_pos];
}

/* What a semaphore operation covers: everything of its queue, and the host's own accesses on the host queue. */
static uint64_t stages_of(const hdi_tables *t, uint32_t queue)
{
    return HDI_STAGE_ALL_COMMANDS | (queue == t->queues.host ? HDI_STAGE_HOST : 0);
}

/* What stands behind a wait and counts on it; all of it where nothing says more. */
static uint64_t wait_stages(const hdi_tables *t, const hdi_submit *submit)
{
    uint32_t slot = *slots_of(t, submit);
    uint64_t stages =
        submit->queue == t->queues.host || !t->barriers.slot_wait_stages ? 0 : t->barriers.slot_wait_stages[slot];
    return stages & ~HDI_STAGE_HOST ? stages & ~HDI_STAGE_HOST : stages_of(t, submit->queue);
}

/* The submit of the slot at a place of a queue. */
static const hdi_submit *submit_at(const hdi_tables *t, uint32_t queue, uint32_t pos)
{
    return &t->synced.submit[t->synced.slot_submit[t->hazards.queue_slot[t->hazards.queue_begin[queue] + pos]]];
}

/* Why a submit is not one with that before it on its queue. */
static uint32_t cut_of(const hdi_tables *t, const hdi_submit *submit)
{
    if (submit->first_pos == 0)
        return HD_CUT_FIRST;
    if (submit->wait_count)
        return HD_CUT_WAIT;
    return submit_at(t, submit->queue, submit->first_pos - 1)->signal ? HD_CUT_SIGNAL : HD_CUT_NONE;
}

/* A submit with its waits, but for how many commands it has. */
static void begin_submit(const work *w, uint32_t s, cursor *at)
{
    const hdi_tables *t = w->t;
    const hdi_submit *from = &t->synced.submit[s];
    w->submits[s] = (hd_plan_submit){.queue = from->queue,
                                     .wait_begin = at->wait,
                                     .wait_count = from->wait_count,
                                     .command_begin = at->command,
                                     .cut = cut_of(t, from),
                                     .signal_value = from->signal,
                                     .signal_stages = from->signal ? stages_of(t, from->queue) : 0};
    uint64_t stages = from->wait_count ? wait_stages(t, from) : 0;
    for (uint32_t i = 0; i < from->wait_count; i++) {
        const hdi_wait *wait = &t->synced.wait[from->wait_begin + i];
        w->waits[at->wait++] = (hd_plan_wait){.queue = wait->queue,
                                              .reason_pass = hdi_declared_pass(&t->versions, wait->reason_pass),
                                              .value = submit_at(t, wait->queue, wait->pos)->signal,
                                              .stages = stages};
    }
}

static void fill_places(work *w, uint32_t part)
{
    const hdi_tables *t = w->t;
    const uint32_t *submit_begin = t->synced.submit_begin;
    uint32_t place = t->attached.range_begin[part], end = t->attached.range_begin[part + 1];
    cursor at = t->attached.range_at[part];
    w->over[part] = HDI_NONE;
    for (uint32_t s = hdi_submit_of(&t->synced, place); place < end; s++) {
        const uint32_t *slots = slots_of(t, &t->synced.submit[s]);
        uint32_t base = submit_begin[s], last = submit_begin[s + 1] < end ? submit_begin[s + 1] : end;
        bool begins = place == base;
        if (begins)
            begin_submit(w, s, &at);
        for (; place < last; place++)
            fill_slot(w, slots[place - base], &at);
        if (last < submit_begin[s + 1])
            break;
        if (begins)
            w->submits[s].command_count = at.command - w->submits[s].command_begin;
        else
            w->over[part] = at.command;
    }
}

/* Submits in which a range begins are as long as the range that they end in says. */
static void end_submits(work *w)
{
    for (uint32_t part = 0; part < w->cuts.places; part++) {
        if (w->over[part] != HDI_NONE) {
            hd_plan_submit *submit = &w->submits[hdi_submit_of(&w->t->synced, w->t->attached.range_begin[part])];
            submit->command_count = w->over[part] - submit->command_begin;
        }
    }
}

/* ---- all tables ---- */

static void copy(void *to, const void *from, size_t bytes, uint32_t begin, uint32_t end)
{
    if (begin < end) /* no copy from null */
        memcpy((char *)to + begin * bytes, (const char *)from + begin * bytes, (end - begin) * bytes);
}

/* Which range of its kind a part is. Its number counts down to that. */
static bool is_of(uint32_t *part, uint32_t ranges)
{
    if (*part < ranges)
        return true;
    *part -= ranges;
    return false;
}

/* Ascending, as declared. Eight at a time, which mostly are all kept; else which are not cannot be foreseen. */
static void fill_culled(const hdi_tables *t, uint32_t *culled, uint32_t count)
{
    const uint32_t *place = t->versions.pass_place, passes = t->decl->pass_count;
    const uint8_t *kept = t->kept.pass_kept;
    uint32_t found = 0;
    for (uint32_t p = 0; found < count; p += 8) {
        uint32_t end = p + 8 < passes ? p + 8 : passes;
        if (!place && end - p == 8 && !memchr(kept + p, 0, 8))
            continue;
        for (uint32_t i = p; i < end && found < count; i++) {
            culled[found] = i;
            found += !kept[place ? place[i] : i];
        }
    }
}

static void fill_part(uint32_t part, void *user)
{
    work *w = user;
    const hdi_tables *t = w->t;
    uint32_t resources = t->decl->res_count;
    const cuts *c = &w->cuts;
    if (is_of(&part, 1)) /* first, as it is one */
        fill_culled(t, w->culled, w->culled_count);
    else if (is_of(&part, c->places))
        fill_places(w, part);
    else if (is_of(&part, c->resources))
        fill_resources(w, hdi_range_begin(resources, c->resources, part),
                       hdi_range_begin(resources, c->resources, part + 1), w->resources + w->resource_begin[part]);
    else if (is_of(&part, c->scopes))
        copy(w->scopes, t->attached.scope, sizeof(*w->scopes),
             hdi_range_begin(t->attached.scope_count, c->scopes, part),
             hdi_range_begin(t->attached.scope_count, c->scopes, part + 1));
    else
        copy(w->attachments, t->attached.attachment, sizeof(*w->attachments),
             hdi_range_begin(t->attached.attachment_count, c->attachments, part),
             hdi_range_begin(t->attached.attachment_count, c->attachments, part + 1));
}

static cuts cut(const hdi_tables *t)
{
    const hdi_crew *crew = &t->crew;
    return (cuts){t->attached.ranges, hdi_range_count(crew, t->decl->res_count, RESOURCE_GRAIN),
                  hdi_range_count(crew, t->attached.scope_count, COPY_GRAIN),
                  hdi_range_count(crew, t->attached.attachment_count, COPY_GRAIN)};
}

typedef struct count_work {
    const hdi_tables *t;
    uint32_t ranges, *resources;
} count_work;

static void count_range(uint32_t part, void *user)
{
    const count_work *w = user;
    uint32_t count = w->t->decl->res_count;
    w->resources[part] =
        count_resources(w->t, hdi_range_begin(count, w->ranges, part), hdi_range_begin(count, w->ranges, part + 1));
}

void hdi_plan_count(const hdi_tables *t, hdi_plan_counts *out, uint32_t resource_begin[HDI_MOST_PARTS])
{
    count_work w = {t, cut(t).resources, resource_begin};
    uint32_t resources = 0;
    hdi_crew_parts(&t->crew, w.ranges, count_range, &w);
    for (uint32_t part = 0; part < w.ranges; part++) {
        uint32_t more = resource_begin[part];
        resource_begin[part] = resources;
        resources += more;
    }
    *out = (hdi_plan_counts){
        .pass_count = t->decl->pass_count,
        .declared_resource_count = t->decl->res_count,
        .queue_count = t->queues.count,
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
    work w = {.t = t,
              .cuts = cut(t),
              .resource_begin = resource_begin,
              .culled = (uint32_t *)view.culled,
              .culled_count = view.culled_count,
              .resources = (hd_plan_resource *)view.resources,
              .submits = (hd_plan_submit *)view.submits,
              .waits = (hd_plan_wait *)view.waits,
              .commands = (hd_plan_command *)view.commands,
              .batches = (hd_plan_batch *)view.batches,
              .barriers = (hd_plan_barrier *)view.barriers,
              .scopes = (hd_plan_scope *)view.scopes,
              .attachments = (hd_plan_attachment *)view.attachments};
    hd_plan_queue *queues = (hd_plan_queue *)view.queues;
    for (uint32_t q = 0; q < t->queues.count; q++)
        queues[q] = (hd_plan_queue){t->queues.kind[q], t->queues.family[q]};
    hd_plan_heap *heaps = (hd_plan_heap *)view.heaps;
    for (uint32_t h = 0; h < t->placed.heap_count; h++)
        heaps[h] = t->placed.heap[h];
    hdi_crew_parts(&t->crew, 1 + w.cuts.places + w.cuts.resources + w.cuts.scopes + w.cuts.attachments, fill_part, &w);
    end_submits(&w);
    hdi_plan_finish_by(plan, &t->crew);
}
