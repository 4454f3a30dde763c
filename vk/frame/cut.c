#include "vk_frame.h"
#include "vk_window.h"

#include <string.h>

#include "alloc.h"
#include "sort.h"

/* Cuts a plan into what is recorded side by side: batches of consecutive commands, each a primary command buffer, which
 * a submit lists in the plan's order, and strands, secondary command buffers which their batch executes. Where to cut
 * is free for correctness: submission order runs through command buffers.
 *
 * A batch is closed where its expected cost (that of its passes) passes a third of a worker's share of the frame, so
 * that what is uneven evens out; the dearest are recorded first. Strands are the parts of passes that the engine
 * splits, and runs of passes of one rendering scope that is dearer than a batch should be: a scope cannot go on from
 * one primary command buffer to the next but by suspending and resuming it, which was tried: the pictures were right,
 * but validation layers of 1.3.239 take a command buffer that both resumes and suspends for one that only resumes, and
 * report the next one. A batch holds strands or passes, not both: it can be recorded only once its strands are, and
 * should then be short.
 *
 * One worker gets one command buffer a submit and no strands. Cost: two walks over the commands, and a sort of the
 * jobs. */

typedef struct cutter {
    const hdi_vk_frame *frame;
    float target;          /* cost of a batch or strand; 0: one worker, nothing is cut */
    hdi_vk_batch *batches; /* null: they are only counted */
    hdi_vk_strand *strands;
    uint32_t batch_count, strand_count;
} cutter;

/* Commands that stay together: a rendering scope, or a command outside of all. */
typedef struct unit {
    uint32_t scope; /* HD_NONE: none */
    uint32_t begin, count;
    float cost;
    bool pass, apart; /* apart: in strands */
} unit;

static bool is_host(const hdi_vk_frame *frame, uint32_t submit)
{
    return frame->plan.queues[frame->plan.submits[submit].queue].kind == HD_QUEUE_HOST;
}

static bool waits_for_host(const hdi_vk_frame *frame, uint32_t s)
{
    const hd_plan_submit *submit = &frame->plan.submits[s];
    uint32_t host = frame->vk->queue_count;
    if (frame->join_values[(size_t)s * (host + 1) + host])
        return true;
    for (uint32_t w = 0; w < submit->wait_count; w++) {
        if (frame->plan.queues[frame->plan.waits[submit->wait_begin + w].queue].kind == HD_QUEUE_HOST)
            return true;
    }
    return false;
}

uint32_t hdi_vk_scope_from(const hdi_vk_frame *frame, uint32_t command)
{
    uint32_t low = 0, high = frame->plan.scope_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (frame->plan.scopes[middle].command_begin < command)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- strands ---- */

static void put_strand(cutter *c, const hdi_vk_strand *strand)
{
    if (c->strands)
        c->strands[c->strand_count] = *strand;
    c->strand_count++;
}

static void cut_unit(cutter *c, const unit *u)
{
    const hdi_vk_frame *frame = c->frame;
    hdi_vk_strand run = {.batch = c->batch_count, .scope = u->scope, .command_begin = u->begin};
    for (uint32_t at = u->begin; at < u->begin + u->count; at++) {
        uint32_t pass = frame->plan.commands[at].index, splits = frame->decl.pass_exec[pass].splits;
        float cost = frame->decl.pass_cost[pass];
        if (run.command_count && (splits > 1 || run.cost + cost > c->target)) {
            put_strand(c, &run);
            run.command_count = 0;
        }
        if (splits > 1) {
            hdi_vk_strand part = {.batch = run.batch,
                                  .scope = u->scope,
                                  .command_begin = at,
                                  .command_count = 1,
                                  .part_count = splits,
                                  .cost = cost / (float)splits};
            for (; part.part < splits; part.part++)
                put_strand(c, &part);
            continue;
        }
        if (run.command_count == 0) {
            run.command_begin = at;
            run.cost = 0.0f;
        }
        run.command_count++;
        run.cost += cost;
    }
    if (run.command_count)
        put_strand(c, &run);
}

/* ---- batches ---- */

static unit unit_at(const cutter *c, uint32_t command, uint32_t *scope)
{
    const hdi_vk_frame *frame = c->frame;
    const hd_plan_view *plan = &frame->plan;
    unit u = {.scope = HD_NONE, .begin = command, .count = 1};
    if (plan->commands[command].kind != HD_COMMAND_PASS)
        return u;
    if (*scope < plan->scope_count && plan->scopes[*scope].command_begin == command) {
        u.scope = (*scope)++;
        u.count = plan->scopes[u.scope].command_count;
    }
    u.pass = true;
    for (uint32_t i = 0; i < u.count; i++) {
        uint32_t pass = plan->commands[command + i].index;
        u.cost += frame->decl.pass_cost[pass];
        u.apart |= frame->decl.pass_exec[pass].splits > 1;
    }
    u.apart |= u.count > 1 && u.cost > c->target;
    return u;
}

static void close_batch(cutter *c, hdi_vk_batch *batch, uint32_t end)
{
    batch->command_count = end - batch->command_begin;
    batch->strand_count = c->strand_count - batch->strand_begin;
    if (c->batches)
        c->batches[c->batch_count] = *batch;
    c->batch_count++;
    *batch = (hdi_vk_batch){.submit = batch->submit, .command_begin = end, .strand_begin = c->strand_count};
}

static void cut_submit(cutter *c, uint32_t s)
{
    const hd_plan_submit *submit = &c->frame->plan.submits[s];
    uint32_t end = submit->command_begin + submit->command_count, at = submit->command_begin;
    hdi_vk_batch batch = {
        .submit = s, .command_begin = at, .after_host = waits_for_host(c->frame, s), .strand_begin = c->strand_count};
    uint32_t scope = c->target > 0.0f ? hdi_vk_scope_from(c->frame, at) : 0;
    float whole = 0.0f; /* cost of the batch, strands included */
    bool passes = false;
    uint32_t synced = hdi_vk_synced_command(c->frame, s); /* a submit of its own begins there */
    if (synced != HD_NONE && c->target == 0.0f)
        close_batch(c, &batch, synced);
    while (at < end && c->target > 0.0f) {
        unit u = unit_at(c, at, &scope);
        if (at == synced) {
            close_batch(c, &batch, at);
            whole = 0.0f;
        } else if (u.pass && passes &&
                   (u.apart != (c->strand_count > batch.strand_begin) || whole + u.cost > c->target)) {
            close_batch(c, &batch, at);
            whole = 0.0f;
        }
        if (u.apart)
            cut_unit(c, &u);
        passes |= u.pass;
        whole += u.cost;
        batch.cost += u.apart ? 0.0f : u.cost;
        at += u.count;
    }
    if (end > batch.command_begin || batch.after_host)
        close_batch(c, &batch, end);
}

/* What a batch should cost at most. Plans of hosts' passes alone have none. */
static float target_of(const hdi_vk_frame *frame, uint32_t workers)
{
    double sum = 0.0;
    if (workers <= 1)
        return 0.0f;
    for (uint32_t c = 0; c < frame->plan.command_count; c++) {
        if (frame->plan.commands[c].kind == HD_COMMAND_PASS)
            sum += (double)frame->decl.pass_cost[frame->plan.commands[c].index];
    }
    return (float)(sum / (3.0 * workers));
}

static void cut_all(cutter *c, uint32_t *submit_batch_begin)
{
    uint32_t submit_count = c->frame->plan.submit_count;
    c->batch_count = c->strand_count = 0;
    for (uint32_t s = 0; s < submit_count; s++) {
        submit_batch_begin[s] = c->batch_count;
        if (!is_host(c->frame, s))
            cut_submit(c, s);
    }
    submit_batch_begin[submit_count] = c->batch_count;
}

/* ---- jobs ---- */

/* Costs are positive: their bits are ordered like they are. */
static uint64_t key_of(float cost)
{
    uint32_t bits;
    memcpy(&bits, &cost, sizeof(bits));
    return ~bits;
}

/* A batch with strands is no job of its own. */
static hd_result order_jobs(hdi_vk_frame *frame, bool sorted)
{
    hdi_arena *arena = &frame->slot->arena;
    uint32_t most = frame->batch_count + frame->strand_count, count = 0;
    frame->jobs = HDI_ARENA_ARRAY(arena, uint32_t, most);
    uint64_t *keys = HDI_ARENA_ARRAY(arena, uint64_t, sorted ? 2 * (size_t)most : 0);
    uint32_t *scratch = HDI_ARENA_ARRAY(arena, uint32_t, sorted ? most : 0);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t b = 0; b < frame->batch_count; b++) {
        atomic_init(&frame->batches[b].pending, frame->batches[b].strand_count);
        if (frame->batches[b].strand_count)
            continue;
        if (sorted)
            keys[count] = key_of(frame->batches[b].cost);
        frame->jobs[count++] = b;
    }
    for (uint32_t s = 0; s < frame->strand_count; s++) {
        keys[count] = key_of(frame->strands[s].cost);
        frame->jobs[count++] = frame->batch_count + s;
    }
    frame->job_count = count;
    if (sorted)
        hdi_sort_u64(keys, frame->jobs, keys + most, scratch, count);
    return HD_OK;
}

/* ---- entry ---- */

hd_result hdi_vk_cut(hdi_vk_frame *frame)
{
    hdi_arena *arena = &frame->slot->arena;
    cutter c = {.frame = frame, .target = target_of(frame, hd_jobs_worker_count(frame->vk->jobs))};
    frame->submit_batch_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)frame->plan.submit_count + 1);
    if (!frame->submit_batch_begin)
        return HD_OUT_OF_MEMORY;
    cut_all(&c, frame->submit_batch_begin);
    frame->batches = c.batches = HDI_ARENA_ARRAY(arena, hdi_vk_batch, c.batch_count);
    frame->strands = c.strands = HDI_ARENA_ARRAY(arena, hdi_vk_strand, c.strand_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    cut_all(&c, frame->submit_batch_begin);
    frame->batch_count = c.batch_count;
    frame->strand_count = c.strand_count;
    return order_jobs(frame, c.target > 0.0f);
}
