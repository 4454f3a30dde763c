#include "sketch.h"

#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "plan_block.h"

/* Reading and packing walk the submits once; inserting and deleting move the rest of the list. All O(plan). */

static void *copied(const void *from, size_t count, size_t bytes)
{
    void *to = hdt_zeroed(count, bytes);
    if (count)
        memcpy(to, from, count * bytes);
    return to;
}

static void append(hdt_sketch *s, hdt_item item)
{
    hdt_sketch_insert(s, s->item_count, item);
}

static void read_submit(hdt_sketch *s, const hd_plan_view *p, const hd_plan_submit *x, const uint32_t *scope_of)
{
    append(s, (hdt_item){.kind = HDT_SUBMIT, .index = x->queue, .value = x->cut});
    for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++)
        append(s, (hdt_item){.kind = HDT_WAIT, .wait = p->waits[w]});
    for (uint32_t c = x->command_begin; c < x->command_begin + x->command_count; c++) {
        const hd_plan_command *command = &p->commands[c];
        if (command->kind == HD_COMMAND_PASS) {
            append(s, (hdt_item){.kind = HDT_PASS, .index = command->index, .scope = scope_of[c]});
            continue;
        }
        if (command->kind != HD_COMMAND_BARRIER)
            abort(); /* no compiled plan holds one */
        const hd_plan_batch *batch = &p->batches[command->index];
        for (uint32_t i = 0; i < batch->barrier_count; i++)
            append(s, (hdt_item){.kind = HDT_BARRIER,
                                 .index = batch->barrier_begin + i,
                                 .joined = i > 0,
                                 .barrier = p->barriers[batch->barrier_begin + i]});
    }
    if (x->signal_value)
        append(s, (hdt_item){.kind = HDT_SIGNAL, .value = x->signal_value, .stages = x->signal_stages});
}

void hdt_sketch_read(hdt_sketch *s, const hd_plan *plan)
{
    hd_plan_view p = hd_plan_read(plan);
    *s = (hdt_sketch){.pass_count = p.pass_count,
                      .declared_resource_count = p.declared_resource_count,
                      .queue_count = p.queue_count,
                      .culled_count = p.culled_count,
                      .heap_count = p.heap_count,
                      .resource_count = p.resource_count,
                      .scope_count = p.scope_count,
                      .attachment_count = p.attachment_count,
                      .queues = copied(p.queues, p.queue_count, sizeof(*p.queues)),
                      .culled = hdt_zeroed(p.pass_count + 1, sizeof(*p.culled)),
                      .heaps = copied(p.heaps, p.heap_count, sizeof(*p.heaps)),
                      .resources = copied(p.resources, p.resource_count, sizeof(*p.resources)),
                      .scopes = copied(p.scopes, p.scope_count, sizeof(*p.scopes)),
                      .attachments = copied(p.attachments, p.attachment_count, sizeof(*p.attachments))};
    for (uint32_t i = 0; i < p.culled_count; i++)
        s->culled[i] = p.culled[i];
    uint32_t *scope_of = hdt_zeroed(p.command_count, sizeof(*scope_of));
    memset(scope_of, 0xff, p.command_count * sizeof(*scope_of));
    for (uint32_t i = 0; i < p.scope_count; i++)
        for (uint32_t c = 0; c < p.scopes[i].command_count; c++)
            scope_of[p.scopes[i].command_begin + c] = i;
    for (uint32_t i = 0; i < p.submit_count; i++)
        read_submit(s, &p, &p.submits[i], scope_of);
    free(scope_of);
}

void hdt_sketch_copy(hdt_sketch *to, const hdt_sketch *from)
{
    hdt_sketch_free(to);
    *to = *from;
    to->queues = copied(from->queues, from->queue_count, sizeof(*from->queues));
    to->culled = copied(from->culled, from->pass_count + 1, sizeof(*from->culled));
    to->heaps = copied(from->heaps, from->heap_count, sizeof(*from->heaps));
    to->resources = copied(from->resources, from->resource_count, sizeof(*from->resources));
    to->scopes = copied(from->scopes, from->scope_count, sizeof(*from->scopes));
    to->attachments = copied(from->attachments, from->attachment_count, sizeof(*from->attachments));
    to->room = from->item_count + 16;
    to->items = hdt_zeroed(to->room, sizeof(*to->items));
    if (from->item_count)
        memcpy(to->items, from->items, from->item_count * sizeof(*to->items));
    to->block = NULL;
}

void hdt_sketch_free(hdt_sketch *s)
{
    void *const blocks[] = {s->queues, s->culled,      s->heaps, s->resources,
                            s->scopes, s->attachments, s->items, s->block};
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        free(blocks[i]);
    *s = (hdt_sketch){0};
}

/* ---- packing ---- */

typedef struct packer {
    hd_plan_submit *submits;
    hd_plan_wait *waits;
    hd_plan_command *commands;
    hd_plan_batch *batches;
    hd_plan_barrier *barriers;
    hd_plan_scope *scopes;
    hdi_plan_counts n;
    uint32_t scope; /* that goes on if the next command is of it */
} packer;

/* Whether an item cannot stand in the submit any more, behind what is in it already. */
static bool cuts(const hd_plan_submit *now, const hdt_item *item)
{
    if (item->kind == HDT_WAIT)
        return now->command_count || now->signal_value;
    return item->kind != HDT_SUBMIT && now->signal_value;
}

static void open_submit(packer *k, uint32_t queue, uint32_t cut)
{
    k->submits[k->n.submit_count++] = (hd_plan_submit){
        .queue = queue, .wait_begin = k->n.wait_count, .command_begin = k->n.command_count, .cut = cut};
    k->scope = HD_NONE;
}

static void pack_pass(packer *k, const hdt_sketch *s, const hdt_item *item)
{
    if (item->scope == HD_NONE) {
        k->scope = HD_NONE;
    } else if (item->scope == k->scope) {
        k->scopes[k->n.scope_count - 1].command_count++;
    } else {
        hd_plan_scope scope = s->scopes[item->scope];
        scope.command_begin = k->n.command_count;
        scope.command_count = 1;
        k->scopes[k->n.scope_count++] = scope;
        k->scope = item->scope;
    }
    k->commands[k->n.command_count++] = (hd_plan_command){HD_COMMAND_PASS, item->index, 0};
}

static void pack_item(packer *k, const hdt_sketch *s, const hdt_item *item, bool first)
{
    hd_plan_submit *now = &k->submits[k->n.submit_count - 1];
    if (item->kind == HDT_SUBMIT || first || cuts(now, item)) {
        bool begins = item->kind == HDT_SUBMIT;
        open_submit(k, begins ? item->index : first ? 0 : now->queue, begins ? (uint32_t)item->value : HD_CUT_NONE);
        now = &k->submits[k->n.submit_count - 1];
    }
    switch (item->kind) {
    case HDT_SUBMIT:
        return;
    case HDT_WAIT:
        k->waits[k->n.wait_count++] = item->wait;
        now->wait_count++;
        return;
    case HDT_SIGNAL:
        now->signal_value = item->value;
        now->signal_stages = item->stages;
        return;
    case HDT_PASS:
        pack_pass(k, s, item);
        break;
    case HDT_BARRIER:
        if (!item->joined || !now->command_count || k->commands[k->n.command_count - 1].kind != HD_COMMAND_BARRIER) {
            k->batches[k->n.batch_count] = (hd_plan_batch){k->n.barrier_count, 0};
            k->commands[k->n.command_count++] = (hd_plan_command){HD_COMMAND_BARRIER, k->n.batch_count++, 0};
            k->scope = HD_NONE;
        } else {
            now->command_count--; /* counted again below */
        }
        k->batches[k->n.batch_count - 1].barrier_count++;
        k->barriers[k->n.barrier_count++] = item->barrier;
    }
    now->command_count++;
}

const hd_plan *hdt_sketch_pack(hdt_sketch *s)
{
    uint32_t most = s->item_count + 1;
    packer k = {.submits = hdt_zeroed(most, sizeof(*k.submits)),
                .waits = hdt_zeroed(most, sizeof(*k.waits)),
                .commands = hdt_zeroed(most, sizeof(*k.commands)),
                .batches = hdt_zeroed(most, sizeof(*k.batches)),
                .barriers = hdt_zeroed(most, sizeof(*k.barriers)),
                .scopes = hdt_zeroed(most, sizeof(*k.scopes)),
                .scope = HD_NONE};
    for (uint32_t i = 0; i < s->item_count; i++)
        pack_item(&k, s, &s->items[i], i == 0);
    k.n.pass_count = s->pass_count;
    k.n.declared_resource_count = s->declared_resource_count;
    k.n.queue_count = s->queue_count;
    k.n.culled_count = s->culled_count;
    k.n.heap_count = s->heap_count;
    k.n.resource_count = s->resource_count;
    k.n.attachment_count = s->attachment_count;
    free(s->block);
    s->block = hdt_zeroed(hdi_plan_size(&k.n), 1);
    hd_plan *plan = hdi_plan_begin(s->block, &k.n);
    hd_plan_view v = hd_plan_read(plan);
#define PUT(table, from, count)                                                                                        \
    if (count)                                                                                                         \
    memcpy((void *)v.table, from, (count) * sizeof(*v.table))
    PUT(queues, s->queues, s->queue_count);
    PUT(culled, s->culled, s->culled_count);
    PUT(heaps, s->heaps, s->heap_count);
    PUT(resources, s->resources, s->resource_count);
    PUT(attachments, s->attachments, s->attachment_count);
    PUT(submits, k.submits, k.n.submit_count);
    PUT(waits, k.waits, k.n.wait_count);
    PUT(commands, k.commands, k.n.command_count);
    PUT(batches, k.batches, k.n.batch_count);
    PUT(barriers, k.barriers, k.n.barrier_count);
    PUT(scopes, k.scopes, k.n.scope_count);
#undef PUT
    void *const blocks[] = {k.submits, k.waits, k.commands, k.batches, k.barriers, k.scopes};
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        free(blocks[i]);
    hdi_plan_finish(plan);
    return plan;
}

/* ---- changing ---- */

void hdt_sketch_insert(hdt_sketch *s, uint32_t at, hdt_item item)
{
    if (s->item_count == s->room) {
        s->room = s->room * 2 + 64;
        s->items = realloc(s->items, s->room * sizeof(*s->items));
        if (!s->items)
            abort();
    }
    memmove(s->items + at + 1, s->items + at, (s->item_count - at) * sizeof(*s->items));
    s->items[at] = item;
    s->item_count++;
}

/* What was joined to a barrier that goes stands where it stood. */
void hdt_sketch_delete(hdt_sketch *s, uint32_t at)
{
    if (s->items[at].kind == HDT_BARRIER && !s->items[at].joined && at + 1 < s->item_count &&
        s->items[at + 1].kind == HDT_BARRIER && s->items[at + 1].joined)
        s->items[at + 1].joined = false;
    memmove(s->items + at, s->items + at + 1, (s->item_count - at - 1) * sizeof(*s->items));
    s->item_count--;
}

void hdt_sketch_move(hdt_sketch *s, uint32_t from, uint32_t to)
{
    hdt_item item = s->items[from];
    item.joined = false;
    hdt_sketch_delete(s, from);
    hdt_sketch_insert(s, to > from ? to - 1 : to, item);
}

uint32_t hdt_sketch_submit(const hdt_sketch *s, uint32_t item)
{
    while (s->items[item].kind != HDT_SUBMIT)
        item--;
    return item;
}

uint32_t hdt_sketch_submit_end(const hdt_sketch *s, uint32_t item)
{
    for (item++; item < s->item_count && s->items[item].kind != HDT_SUBMIT;)
        item++;
    return item;
}

uint32_t hdt_sketch_queue(const hdt_sketch *s, uint32_t item)
{
    return s->items[hdt_sketch_submit(s, item)].index;
}
