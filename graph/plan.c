#include "phases.h"

#include <string.h>

#include "vk_numbers.h"

/* Plan: packs the tables into one block, in the order in which an executor reads them. O(output). */

static bool in_plan(const hdi_tables *t, uint32_t res)
{
    return t->hazards.res_used[res] || t->placed.res_heap[res] != HDI_NONE;
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
    for (uint32_t r = 0; r < t->decl->res_count; r++)
        out->resource_count += in_plan(t, r);
}

/* Why it lies there; heaps with flags share nothing. */
static void explain_place(const hdi_tables *t, hd_plan_resource *out)
{
    out->tenant = HD_NONE;
    if (out->heap == HD_NONE) {
        out->placing = out->flags & HD_PLAN_EXTERNAL ? HD_PLACING_EXTERNAL : HD_PLACING_NONE;
        return;
    }
    uint32_t flags = t->placed.heap[out->heap].flags, first = t->placed.tenant_begin[out->id];
    if (flags) {
        out->placing = flags & HD_HEAP_PERSISTENT ? HD_PLACING_PERSISTENT : HD_PLACING_HOST;
    } else if (first != t->placed.tenant_begin[out->id + 1]) {
        out->placing = HD_PLACING_TAKES_OVER;
        out->tenant = t->placed.tenant[first];
    } else {
        out->placing = HD_PLACING_FIRST;
    }
}

static hd_plan_resource plan_resource(const hdi_tables *t, uint32_t res)
{
    const hdi_hazards *hazards = &t->hazards;
    uint32_t decl_flags = t->decl->res_flags[res], pair = t->decl->res_pair[res];
    hd_plan_resource out = {.id = res, .heap = HD_NONE, .first_family = HD_NONE, .final_family = HD_NONE};
    bool is_image = !(decl_flags & HDI_RES_BUFFER);
    bool keeps_state = (decl_flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY)) != 0;
    out.flags = (hazards->res_concurrent[res] ? HD_PLAN_CONCURRENT : 0) |
                (decl_flags & HDI_RES_EXTERNAL ? HD_PLAN_EXTERNAL : 0) | (is_image ? HD_PLAN_IMAGE : 0) |
                (keeps_state ? HD_PLAN_PERSISTENT : 0);
    if (is_image && keeps_state)
        out.final_layout = hazards->res_final_layout[res];
    if (keeps_state && !hazards->res_concurrent[res]) {
        /* A history and what it is of are handed on by one family: where only the host uses one, the other's. */
        uint32_t owner = hazards->res_first_family[res] != HDI_NONE || pair == HDI_NONE ? res : pair;
        out.first_family = hazards->res_first_family[owner];
        out.final_family = hazards->res_final_family[owner];
    }
    if (!(decl_flags & HDI_RES_EXTERNAL)) {
        out.heap = t->placed.res_heap[res];
        out.offset = t->placed.res_offset[res];
        out.bytes = t->sizes.need[res].bytes;
    }
    explain_place(t, &out);
    return out;
}

static void fill_resources(const hdi_tables *t, hd_plan_resource *resources)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < t->decl->res_count; r++) {
        if (in_plan(t, r))
            resources[n++] = plan_resource(t, r);
    }
}

/* Where the next elements go. Batches and barriers stand in the order of the commands, as an executor walks them. */
typedef struct cursor {
    hd_plan_command *command;
    hd_plan_batch *batch;
    hd_plan_barrier *barrier;
    uint32_t command_count, batch_count, barrier_count;
} cursor;

static void add_batch(const hdi_tables *t, uint32_t from, cursor *at)
{
    if (from == HDI_NONE)
        return;
    const hd_plan_batch *batch = &t->barriers.batch[from];
    at->command[at->command_count++] = (hd_plan_command){HD_COMMAND_BARRIER, at->batch_count, 0};
    at->batch[at->batch_count++] = (hd_plan_batch){at->barrier_count, batch->barrier_count};
    for (uint32_t b = 0; b < batch->barrier_count; b++)
        at->barrier[at->barrier_count++] = t->barriers.barrier[batch->barrier_begin + b];
}

static void add_commands(const hdi_tables *t, const hdi_submit *submit, cursor *at)
{
    const hdi_hazards *hazards = &t->hazards;
    for (uint32_t pos = submit->first_pos; pos < submit->end_pos; pos++) {
        uint32_t slot = hazards->queue_slot[hazards->queue_begin[submit->queue] + pos];
        add_batch(t, t->barriers.slot_pre[slot], at);
        if (hazards->slot_pass[slot] != HDI_NONE)
            at->command[at->command_count++] = (hd_plan_command){HD_COMMAND_PASS, hazards->slot_pass[slot], 0};
        add_batch(t, t->barriers.slot_post[slot], at);
    }
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

static void fill_submits(const hdi_tables *t, hd_plan_submit *submits, hd_plan_wait *waits, cursor *at)
{
    uint32_t wait_count = 0;
    uint8_t cut[HD_MAX_QUEUES]; /* of the next submit of each queue */
    memset(cut, HD_CUT_FIRST, sizeof(cut));
    for (uint32_t s = 0; s < t->synced.submit_count; s++) {
        const hdi_submit *from = &t->synced.submit[s];
        hd_plan_submit *to = &submits[s];
        *to = (hd_plan_submit){.queue = from->queue,
                               .wait_begin = wait_count,
                               .wait_count = from->wait_count,
                               .command_begin = at->command_count,
                               .cut = from->wait_count && cut[from->queue] != HD_CUT_FIRST ? HD_CUT_WAIT : cut[from->queue],
                               .signal_value = from->signal,
                               .signal_stages = from->signal ? stages_of(t, from->queue) : 0};
        for (uint32_t w = from->wait_begin; w < from->wait_begin + from->wait_count; w++) {
            const hdi_wait *wait = &t->synced.wait[w];
            waits[wait_count++] = (hd_plan_wait){.queue = wait->queue,
                                                 .reason_pass = wait->reason_pass,
                                                 .value = wait->value,
                                                 .stages = wait_stages(t, from)};
        }
        add_commands(t, from, at);
        to->command_count = at->command_count - to->command_begin;
        cut[from->queue] = from->signal ? HD_CUT_SIGNAL : HD_CUT_NONE;
    }
}

/* A plan speaks of passes as they were declared. */
static void name_as_declared(const hdi_tables *t, const hd_plan_view *view)
{
    const hdi_versions *versions = &t->versions;
    hd_plan_command *commands = (hd_plan_command *)view->commands;
    for (uint32_t c = 0; c < view->command_count; c++) {
        if (commands[c].kind == HD_COMMAND_PASS)
            commands[c].index = hdi_declared_pass(versions, commands[c].index);
    }
    hd_plan_wait *waits = (hd_plan_wait *)view->waits;
    for (uint32_t w = 0; w < view->wait_count; w++)
        waits[w].reason_pass = hdi_declared_pass(versions, waits[w].reason_pass);
    hd_plan_barrier *barriers = (hd_plan_barrier *)view->barriers;
    for (uint32_t b = 0; b < view->barrier_count; b++)
        barriers[b].reason_pass = hdi_declared_pass(versions, barriers[b].reason_pass);
}

/* Ascending, as declared. */
static void fill_culled(const hdi_tables *t, uint32_t *culled)
{
    const uint32_t *place = t->versions.pass_place;
    for (uint32_t p = 0; p < t->decl->pass_count; p++) {
        if (!t->kept.pass_kept[place ? place[p] : p])
            *culled++ = p;
    }
}

void hdi_plan_fill(const hdi_tables *t, hd_plan *plan)
{
    hd_plan_view view = hd_plan_read(plan);
    hd_plan_queue *queues = (hd_plan_queue *)view.queues;
    for (uint32_t q = 0; q < t->queues.count; q++)
        queues[q] = (hd_plan_queue){t->queues.kind[q], t->queues.family[q]};
    fill_culled(t, (uint32_t *)view.culled);
    hd_plan_heap *heaps = (hd_plan_heap *)view.heaps;
    for (uint32_t h = 0; h < t->placed.heap_count; h++)
        heaps[h] = t->placed.heap[h];
    fill_resources(t, (hd_plan_resource *)view.resources);
    cursor at = {.command = (hd_plan_command *)view.commands,
                 .batch = (hd_plan_batch *)view.batches,
                 .barrier = (hd_plan_barrier *)view.barriers};
    fill_submits(t, (hd_plan_submit *)view.submits, (hd_plan_wait *)view.waits, &at);
    if (t->versions.pass_declared)
        name_as_declared(t, &view);
    /* Tables that may be empty: no copy from null. */
    if (t->attached.scope_count) {
        memcpy((void *)view.scopes, t->attached.scope, t->attached.scope_count * sizeof(*view.scopes));
        memcpy((void *)view.attachments, t->attached.attachment,
               t->attached.attachment_count * sizeof(*view.attachments));
    }
    hdi_plan_finish(plan);
}
