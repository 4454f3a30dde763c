#include "phases.h"

#include <string.h>

#include "hints.h"
#include "vk_numbers.h"

/* Plan: packs the tables into one block, in the order in which an executor reads them. O(output). By ranges of resources,
 * and of places in the order of the submits: first how much each range writes, then, behind what the others write before
 * it, the range itself. */

enum { RESOURCE_GRAIN = 1024, PLACE_GRAIN = 512, COPY_GRAIN = 4096 };
enum { KEEPS_STATE = HDI_RES_EXTERNAL | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY };

/* Where the next elements go. Batches and barriers stand in the order of the commands, as an executor walks them. */
typedef struct cursor {
    uint32_t command, batch, barrier;
} cursor;

typedef struct work {
    const hdi_tables *t;
    const uint32_t *submit_begin; /* the first place of each submit: all places of the one before come first; + 1 */
    hd_plan_resource *resources;
    hd_plan_submit *submits;
    hd_plan_command *commands;
    hd_plan_batch *batches;
    hd_plan_barrier *barriers;
    hd_plan_scope *scopes;
    hd_plan_attachment *attachments;
    uint32_t resource_begin[HDI_MOST_PARTS + 1];
    cursor begin[HDI_MOST_PARTS];
} work;

static bool in_plan(const hdi_tables *t, uint32_t res)
{
    return t->sizes.res_used[res] || t->placed.res_heap[res] != HDI_NONE;
}

static void count_resources(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work *w = user;
    const uint8_t *used = w->t->sizes.res_used;
    const uint32_t *heap = w->t->placed.res_heap;
    uint32_t count = 0;
    for (uint32_t r = begin; r < end; r++)
        count += (uint32_t)(used[r] != 0) | (uint32_t)(heap[r] != HDI_NONE);
    w->resource_begin[part] = count;
}

void hdi_plan_count(const hdi_tables *t, hdi_plan_counts *out)
{
    *out = (hdi_plan_counts){
        .pass_count = t->decl->pass_count,
        .declared_resource_count = t->decl->res_count,
        .queue_count = t->queues.count,
        .culled_count = t->decl->pass_count - t->kept.kept_count,
        .heap_count = t->placed.heap_count,
        .submit_count = t->synced.submit_count,
        .wait_count = t->synced.wait_count,
        .command_count = t->kept.kept_count + t->barriers.batch_count,
        .batch_count = t->barriers.batch_count,
        .barrier_count = t->barriers.barrier_count,
        .scope_count = t->attached.scope_count,
        .attachment_count = t->attached.attachment_count,
    };
    work w = {.t = t};
    uint32_t res_count = t->decl->res_count, ranges = hdi_range_count(&t->crew, res_count, RESOURCE_GRAIN);
    hdi_crew_ranges(&t->crew, res_count, RESOURCE_GRAIN, count_resources, &w);
    for (uint32_t part = 0; part < ranges; part++)
        out->resource_count += w.resource_begin[part];
}

/* What every resource has. placed: it lies in a heap. */
static inline hd_plan_resource plain_resource(const hdi_tables *t, uint32_t res, uint32_t flags, bool placed)
{
    hd_plan_resource out = {.id = res, .heap = HD_NONE, .first_family = HD_NONE, .final_family = HD_NONE, .tenant = HD_NONE};
    out.flags = (t->hazards.res_concurrent[res] ? HD_PLAN_CONCURRENT : 0) | (flags & HDI_RES_BUFFER ? 0 : HD_PLAN_IMAGE);
    if (!placed)
        return out;
    uint32_t first = t->placed.tenant_begin[res], heap_flags;
    bool takes_over = first != t->placed.tenant_begin[res + 1];
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
    if (!(flags & KEEPS_STATE))
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

static void fill_resources(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    const uint8_t *res_flags = w->t->decl->res_flags;
    const uint32_t *heap = w->t->placed.res_heap;
    hd_plan_resource *to = w->resources + w->resource_begin[part];
    for (uint32_t r = begin; r < end; r++) {
        if (!in_plan(w->t, r))
            continue;
        if (res_flags[r] & KEEPS_STATE || heap[r] == HDI_NONE)
            *to++ = special_resource(w->t, r, res_flags[r]);
        else
            *to++ = plain_resource(w->t, r, res_flags[r], true);
    }
}

/* ---- commands ---- */

static void count_batch(const hdi_tables *t, uint32_t from, cursor *at)
{
    if (from == HDI_NONE)
        return;
    at->command++;
    at->batch++;
    at->barrier += t->barriers.batch[from].barrier_count;
}

/* Apart from the walk over the slots, of which few have a batch. */
HDI_APART static void add_batch(const work *w, uint32_t from, cursor *at)
{
    const hdi_tables *t = w->t;
    const hd_plan_batch batch = t->barriers.batch[from];
    const hd_plan_barrier *barrier = t->barriers.barrier + batch.barrier_begin, *end = barrier + batch.barrier_count;
    hd_plan_barrier *to = w->barriers + at->barrier;
    w->commands[at->command++] = (hd_plan_command){HD_COMMAND_BARRIER, at->batch, 0};
    w->batches[at->batch++] = (hd_plan_batch){at->barrier, batch.barrier_count};
    at->barrier += batch.barrier_count;
    for (; barrier != end; barrier++, to++) {
        *to = *barrier;
        to->reason_pass = hdi_declared_pass(&t->versions, to->reason_pass);
    }
}

static uint32_t submit_of(const work *w, uint32_t place)
{
    uint32_t low = 0, high = w->t->synced.submit_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(w->submit_begin[middle] <= place ? &low : &high) = middle;
    }
    return low;
}

typedef void (*visit_fn)(const work *w, uint32_t slot, cursor *at);

static void count_slot(const work *w, uint32_t slot, cursor *at)
{
    count_batch(w->t, w->t->barriers.slot_pre[slot], at);
    at->command += w->t->hazards.slot_pass[slot] != HDI_NONE;
    count_batch(w->t, w->t->barriers.slot_post[slot], at);
}

/* A plan speaks of passes as they were declared. */
static void fill_slot(const work *w, uint32_t slot, cursor *at)
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

/* Visits the slots of places of the submits. begins: those of submits get the command that they begin with. */
static inline void visit_places(const work *w, uint32_t begin, uint32_t end, visit_fn visit, bool begins, cursor *at)
{
    const hdi_hazards *hazards = &w->t->hazards;
    for (uint32_t s = submit_of(w, begin), place = begin; place < end; s++) {
        const hdi_submit *from = &w->t->synced.submit[s];
        const uint32_t *slots = &hazards->queue_slot[hazards->queue_begin[from->queue] + from->first_pos];
        uint32_t last = w->submit_begin[s + 1] < end ? w->submit_begin[s + 1] : end;
        if (begins && place == w->submit_begin[s])
            w->submits[s].command_begin = at->command;
        for (; place < last; place++)
            visit(w, slots[place - w->submit_begin[s]], at);
    }
}

static void count_places(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work *w = user;
    cursor at = {0, 0, 0};
    visit_places(w, begin, end, count_slot, false, &at);
    w->begin[part] = at;
}

static void fill_places(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    cursor at = w->begin[part];
    visit_places(w, begin, end, fill_slot, true, &at);
}

/* What a semaphore operation covers: everything of its queue, and the host's own accesses on the host queue. */
static uint64_t stages_of(const hdi_tables *t, uint32_t queue)
{
    return HDI_STAGE_ALL_COMMANDS | (queue == t->queues.host ? HDI_STAGE_HOST : 0);
}

/* What stands behind a wait and counts on it; all of it where nothing says more. */
static uint64_t wait_stages(const hdi_tables *t, const hdi_submit *submit)
{
    uint32_t slot = t->hazards.queue_slot[t->hazards.queue_begin[submit->queue] + submit->first_pos];
    uint64_t stages = submit->queue == t->queues.host || !t->barriers.slot_wait_stages ? 0 : t->barriers.slot_wait_stages[slot];
    return stages & ~HDI_STAGE_HOST ? stages & ~HDI_STAGE_HOST : stages_of(t, submit->queue);
}

/* All of the submits but where their commands begin. */
static void fill_submits(const hdi_tables *t, uint32_t command_count, hd_plan_submit *submits, hd_plan_wait *waits)
{
    uint32_t wait_count = 0, count = t->synced.submit_count;
    uint8_t cut[HD_MAX_QUEUES]; /* of the next submit of each queue */
    memset(cut, HD_CUT_FIRST, sizeof(cut));
    for (uint32_t s = 0; s < count; s++) {
        const hdi_submit *from = &t->synced.submit[s];
        uint32_t begin = submits[s].command_begin, end = s + 1 < count ? submits[s + 1].command_begin : command_count;
        submits[s] =
            (hd_plan_submit){.queue = from->queue,
                             .wait_begin = wait_count,
                             .wait_count = from->wait_count,
                             .command_begin = begin,
                             .command_count = end - begin,
                             .cut = from->wait_count && cut[from->queue] != HD_CUT_FIRST ? HD_CUT_WAIT : cut[from->queue],
                             .signal_value = from->signal,
                             .signal_stages = from->signal ? stages_of(t, from->queue) : 0};
        for (uint32_t w = from->wait_begin; w < from->wait_begin + from->wait_count; w++) {
            const hdi_wait *wait = &t->synced.wait[w];
            waits[wait_count++] = (hd_plan_wait){.queue = wait->queue,
                                                 .reason_pass = hdi_declared_pass(&t->versions, wait->reason_pass),
                                                 .value = wait->value,
                                                 .stages = wait_stages(t, from)};
        }
        cut[from->queue] = from->signal ? HD_CUT_SIGNAL : HD_CUT_NONE;
    }
}

/* The order of the submits' places; the commands of each range behind those before it. */
static hd_result fill_commands(work *w, uint32_t command_count, hd_plan_wait *waits, hdi_arena *arena)
{
    const hdi_tables *t = w->t;
    uint32_t submits = t->synced.submit_count, places = 0;
    uint32_t *submit_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)submits + 1);
    if (!submit_begin)
        return HD_OUT_OF_MEMORY;
    for (uint32_t s = 0; s < submits; s++) {
        submit_begin[s] = places;
        places += t->synced.submit[s].end_pos - t->synced.submit[s].first_pos;
    }
    submit_begin[submits] = places;
    w->submit_begin = submit_begin;
    if (places == 0)
        return HD_OK;
    uint32_t ranges = hdi_range_count(&t->crew, places, PLACE_GRAIN);
    cursor sum = {0, 0, 0};
    if (ranges > 1)
        hdi_crew_ranges(&t->crew, places, PLACE_GRAIN, count_places, w);
    for (uint32_t part = 0; part < ranges; part++) {
        cursor of = w->begin[part];
        w->begin[part] = sum;
        sum = (cursor){sum.command + of.command, sum.batch + of.batch, sum.barrier + of.barrier};
    }
    hdi_crew_ranges(&t->crew, places, PLACE_GRAIN, fill_places, w);
    fill_submits(t, command_count, w->submits, waits);
    return HD_OK;
}

static void copy_attachments(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)part;
    if (begin < end) /* no copy from null */
        memcpy(w->attachments + begin, w->t->attached.attachment + begin, (end - begin) * sizeof(*w->attachments));
}

static void copy_scopes(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)part;
    if (begin < end)
        memcpy(w->scopes + begin, w->t->attached.scope + begin, (end - begin) * sizeof(*w->scopes));
}

/* Ascending, as declared. */
static void fill_culled(const hdi_tables *t, uint32_t *culled)
{
    const uint32_t *place = t->versions.pass_place, count = t->decl->pass_count;
    const uint8_t *kept = t->kept.pass_kept;
    for (uint32_t p = 0; place && p < count; p++) {
        if (!kept[place[p]])
            *culled++ = p;
    }
    const uint8_t *from = kept, *end = kept + count;
    while (!place && from < end && (from = memchr(from, 0, (size_t)(end - from))))
        *culled++ = (uint32_t)(from++ - kept);
}

hd_result hdi_plan_fill(const hdi_tables *t, hdi_arena *arena, hd_plan *plan)
{
    hd_plan_view view = hd_plan_read(plan);
    work w = {.t = t,
              .resources = (hd_plan_resource *)view.resources,
              .submits = (hd_plan_submit *)view.submits,
              .commands = (hd_plan_command *)view.commands,
              .batches = (hd_plan_batch *)view.batches,
              .barriers = (hd_plan_barrier *)view.barriers,
              .scopes = (hd_plan_scope *)view.scopes,
              .attachments = (hd_plan_attachment *)view.attachments};
    hd_plan_queue *queues = (hd_plan_queue *)view.queues;
    for (uint32_t q = 0; q < t->queues.count; q++)
        queues[q] = (hd_plan_queue){t->queues.kind[q], t->queues.family[q]};
    if (view.culled_count)
        fill_culled(t, (uint32_t *)view.culled);
    hd_plan_heap *heaps = (hd_plan_heap *)view.heaps;
    for (uint32_t h = 0; h < t->placed.heap_count; h++)
        heaps[h] = t->placed.heap[h];
    uint32_t res_count = t->decl->res_count, ranges = hdi_range_count(&t->crew, res_count, RESOURCE_GRAIN);
    if (ranges > 1)
        hdi_crew_ranges(&t->crew, res_count, RESOURCE_GRAIN, count_resources, &w);
    for (uint32_t part = 0, sum = 0; part < ranges; part++) {
        uint32_t count = w.resource_begin[part];
        w.resource_begin[part] = sum;
        sum += count;
    }
    hdi_crew_ranges(&t->crew, res_count, RESOURCE_GRAIN, fill_resources, &w);
    hd_result result = fill_commands(&w, view.command_count, (hd_plan_wait *)view.waits, arena);
    if (result != HD_OK)
        return result;
    hdi_crew_ranges(&t->crew, view.scope_count, COPY_GRAIN, copy_scopes, &w);
    hdi_crew_ranges(&t->crew, view.attachment_count, COPY_GRAIN, copy_attachments, &w);
    hdi_plan_finish_by(plan, &t->crew);
    return HD_OK;
}
