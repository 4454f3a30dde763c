#include "tables.h"

#include <string.h>

#include "alloc.h"

/* A copy of a plan with one change. All tables are copied with room for one element more, changed, and packed again.
 * O(plan). */

typedef struct copy {
    hdi_plan_counts counts;
    hd_plan_view v; /* of the new block */
    hd_plan *plan;
} copy;

static bool fits(const hd_plan_view *p, const hd_repair *r)
{
    switch (r->kind) {
    case HD_REPAIR_WIDEN:
    case HD_REPAIR_NARROW:
    case HD_REPAIR_CHANGE:
        return r->index < p->barrier_count;
    case HD_REPAIR_ADD:
        return r->submit < p->submit_count && r->command >= p->submits[r->submit].command_begin &&
               r->command - p->submits[r->submit].command_begin <= p->submits[r->submit].command_count;
    case HD_REPAIR_WAIT_STAGES:
    case HD_REPAIR_WAIT_VALUE:
    case HD_REPAIR_DROP_WAIT:
        return r->index < p->wait_count;
    case HD_REPAIR_SIGNAL_STAGES:
        return r->index < p->submit_count;
    case HD_REPAIR_ADD_WAIT:
        return r->submit < p->submit_count && r->index < r->submit;
    case HD_REPAIR_LOAD:
    case HD_REPAIR_STORE:
        return r->index < p->attachment_count;
    case HD_REPAIR_MOVE:
        return r->index < p->resource_count && p->resources[r->index].heap < p->heap_count;
    case HD_REPAIR_FINAL_LAYOUT:
    case HD_REPAIR_FINAL_FAMILY:
        return r->index < p->resource_count;
    default:
        return false;
    }
}

/* Whether the added barrier joins the batch of the command before. */
static bool joins(const hd_plan_view *p, const hd_repair *r)
{
    return r->kind == HD_REPAIR_ADD && r->value == 0 && r->command > p->submits[r->submit].command_begin &&
           p->commands[r->command - 1].kind == HD_COMMAND_BARRIER;
}

static hdi_plan_counts counts_of(const hd_plan_view *p, const hd_repair *r)
{
    bool add = r->kind == HD_REPAIR_ADD, alone = add && !joins(p, r);
    return (hdi_plan_counts){
        .pass_count = p->pass_count,
        .declared_resource_count = p->declared_resource_count,
        .queue_count = p->queue_count,
        .culled_count = p->culled_count,
        .heap_count = p->heap_count,
        .resource_count = p->resource_count,
        .submit_count = p->submit_count,
        .wait_count = p->wait_count + (r->kind == HD_REPAIR_ADD_WAIT),
        .command_count = p->command_count + alone,
        .batch_count = p->batch_count + alone,
        .barrier_count = p->barrier_count + add,
        .scope_count = p->scope_count,
        .attachment_count = p->attachment_count,
    };
}

/* Copies a table; where at < count, leaves a hole of one element there. */
static void copy_table(const void *to, const void *from, uint32_t count, size_t size, uint32_t at)
{
    uint32_t before = at < count ? at : count;
    if (before)
        memcpy((void *)to, from, before * size);
    if (count > before)
        memcpy((char *)to + (before + 1) * size, (const char *)from + before * size, (count - before) * size);
}

static void copy_all(copy *c, const hd_plan_view *p, uint32_t wait_at, uint32_t command_at, uint32_t barrier_at)
{
#define COPY(table, count, at) copy_table(c->v.table, p->table, p->count, sizeof(*p->table), at)
    COPY(queues, queue_count, HDI_NONE);
    COPY(culled, culled_count, HDI_NONE);
    COPY(heaps, heap_count, HDI_NONE);
    COPY(resources, resource_count, HDI_NONE);
    COPY(submits, submit_count, HDI_NONE);
    COPY(waits, wait_count, wait_at);
    COPY(commands, command_count, command_at);
    COPY(batches, batch_count, HDI_NONE);
    COPY(barriers, barrier_count, barrier_at);
    COPY(scopes, scope_count, HDI_NONE);
    COPY(attachments, attachment_count, HDI_NONE);
#undef COPY
}

static void add_barrier(copy *c, const hd_plan_view *p, const hd_repair *r)
{
    hd_plan_batch *batches = (hd_plan_batch *)c->v.batches;
    hd_plan_barrier *barriers = (hd_plan_barrier *)c->v.barriers;
    if (joins(p, r)) {
        uint32_t batch = p->commands[r->command - 1].index;
        uint32_t at = p->batches[batch].barrier_begin + p->batches[batch].barrier_count;
        copy_all(c, p, HDI_NONE, HDI_NONE, at);
        for (uint32_t b = 0; b < p->batch_count; b++)
            if (batches[b].barrier_begin >= at)
                batches[b].barrier_begin++;
        batches[batch].barrier_count++;
        barriers[at] = r->barrier;
        return;
    }
    copy_all(c, p, HDI_NONE, r->command, HDI_NONE);
    ((hd_plan_command *)c->v.commands)[r->command] = (hd_plan_command){HD_COMMAND_BARRIER, p->batch_count, 0};
    batches[p->batch_count] = (hd_plan_batch){p->barrier_count, 1};
    barriers[p->barrier_count] = r->barrier;
    hd_plan_submit *submits = (hd_plan_submit *)c->v.submits;
    for (uint32_t s = 0; s < p->submit_count; s++)
        if (s == r->submit)
            submits[s].command_count++;
        else if (submits[s].command_begin > r->command || (submits[s].command_begin == r->command && s > r->submit))
            submits[s].command_begin++;
    hd_plan_scope *scopes = (hd_plan_scope *)c->v.scopes;
    for (uint32_t s = 0; s < p->scope_count; s++)
        if (scopes[s].command_begin >= r->command)
            scopes[s].command_begin++;
}

/* The submit signals from now on; what its queue signals later, and waits for that, count one more. */
static uint64_t signal_of(copy *c, uint32_t submit)
{
    hd_plan_submit *submits = (hd_plan_submit *)c->v.submits, *s = &submits[submit];
    if (s->signal_value)
        return s->signal_value;
    uint64_t value = 1;
    for (uint32_t t = 0; t < submit; t++)
        if (submits[t].queue == s->queue && submits[t].signal_value)
            value = submits[t].signal_value + 1;
    for (uint32_t t = submit + 1; t < c->counts.submit_count; t++)
        if (submits[t].queue == s->queue && submits[t].signal_value)
            submits[t].signal_value++;
    hd_plan_wait *waits = (hd_plan_wait *)c->v.waits;
    for (uint32_t w = 0; w < c->counts.wait_count; w++)
        if (waits[w].queue == s->queue && waits[w].value >= value)
            waits[w].value++;
    s->signal_value = value;
    s->signal_stages = UINT64_C(1) << 16 | (c->v.queues[s->queue].kind == HD_QUEUE_HOST ? UINT64_C(1) << 14 : 0);
    return value;
}

static void add_wait(copy *c, const hd_plan_view *p, const hd_repair *r)
{
    const hd_plan_submit *s = &p->submits[r->submit];
    uint32_t at = s->wait_count ? s->wait_begin + s->wait_count : p->wait_count;
    copy_all(c, p, at, HDI_NONE, HDI_NONE);
    hd_plan_submit *submits = (hd_plan_submit *)c->v.submits;
    hd_plan_wait *waits = (hd_plan_wait *)c->v.waits;
    waits[at] = (hd_plan_wait){.queue = HDI_NONE, .reason_pass = HD_NONE, .stages = r->barrier.dst_stages};
    for (uint32_t t = 0; t < p->submit_count; t++)
        if (submits[t].wait_begin >= at && t != r->submit)
            submits[t].wait_begin++;
    if (!s->wait_count)
        submits[r->submit].wait_begin = at;
    submits[r->submit].wait_count++;
    waits[at].value = signal_of(c, r->index);
    waits[at].queue = submits[r->index].queue;
}

static void drop_wait(copy *c, uint32_t wait)
{
    hd_plan_wait *waits = (hd_plan_wait *)c->v.waits;
    for (uint32_t s = 0; s < c->counts.submit_count; s++) {
        hd_plan_submit *submit = (hd_plan_submit *)&c->v.submits[s];
        if (wait < submit->wait_begin || wait >= submit->wait_begin + submit->wait_count)
            continue;
        submit->wait_count--;
        waits[wait] = waits[submit->wait_begin + submit->wait_count];
        return;
    }
}

/* Whether a resource has bytes of the one that it is said to take over from. */
static bool has_bytes_of_tenant(const hd_plan_view *v, const hd_plan_resource *r)
{
    for (uint32_t i = 0; i < v->resource_count; i++) {
        const hd_plan_resource *t = &v->resources[i];
        if (t->id == r->tenant)
            return t->heap == r->heap && t->offset < r->offset + r->bytes && r->offset < t->offset + t->bytes;
    }
    return false;
}

/* Moves a resource. A resource whose tenant had none of its new bytes loses that reason: hd_plan_explain finds the
 * right one. */
static void move(copy *c, hd_plan_resource *res, const hd_repair *r)
{
    hd_plan_heap *heap = (hd_plan_heap *)&c->v.heaps[res->heap];
    res->offset = r->value;
    res->bytes = r->bytes;
    heap->bytes = heap->bytes > r->value + r->bytes ? heap->bytes : r->value + r->bytes;
    for (uint32_t i = 0; i < c->v.resource_count; i++) {
        hd_plan_resource *x = (hd_plan_resource *)&c->v.resources[i];
        if (x->placing != HD_PLACING_TAKES_OVER || (x != res && x->tenant != res->id) || has_bytes_of_tenant(&c->v, x))
            continue;
        x->placing = HD_PLACING_NONE;
        x->tenant = HD_NONE;
    }
}

static void change(copy *c, const hd_repair *r)
{
    hd_plan_barrier *b = (hd_plan_barrier *)&c->v.barriers[r->index];
    const hd_plan_barrier *m = &r->barrier;
    hd_plan_resource *res = (hd_plan_resource *)&c->v.resources[r->index];
    switch (r->kind) {
    case HD_REPAIR_WIDEN:
        b->src_stages |= m->src_stages, b->src_access |= m->src_access;
        b->dst_stages |= m->dst_stages, b->dst_access |= m->dst_access;
        break;
    case HD_REPAIR_NARROW:
        b->src_stages &= ~m->src_stages, b->src_access &= ~m->src_access;
        b->dst_stages &= ~m->dst_stages, b->dst_access &= ~m->dst_access;
        break;
    case HD_REPAIR_CHANGE:
        *b = *m;
        break;
    case HD_REPAIR_WAIT_STAGES:
        ((hd_plan_wait *)c->v.waits)[r->index].stages |= m->dst_stages;
        break;
    case HD_REPAIR_SIGNAL_STAGES:
        ((hd_plan_submit *)c->v.submits)[r->index].signal_stages |= m->src_stages;
        break;
    case HD_REPAIR_WAIT_VALUE:
        ((hd_plan_wait *)c->v.waits)[r->index].value = r->value;
        break;
    case HD_REPAIR_DROP_WAIT:
        drop_wait(c, r->index);
        break;
    case HD_REPAIR_LOAD:
        ((hd_plan_attachment *)c->v.attachments)[r->index].load = (uint32_t)r->value;
        break;
    case HD_REPAIR_STORE:
        ((hd_plan_attachment *)c->v.attachments)[r->index].store = (uint32_t)r->value;
        break;
    case HD_REPAIR_MOVE:
        move(c, res, r);
        break;
    case HD_REPAIR_FINAL_LAYOUT:
        res->final_layout = (uint32_t)r->value;
        break;
    default: /* HD_REPAIR_FINAL_FAMILY */
        res->final_family = (uint32_t)r->value;
    }
}

hd_result hd_plan_repair(const hd_plan *plan, const hd_repair *repair, const hd_allocator *allocator, hd_plan **out)
{
    if (!out)
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    if (!plan || !repair)
        return HD_INVALID_ARGUMENT;
    hd_plan_view p = hd_plan_read(plan);
    if (!fits(&p, repair))
        return HD_INVALID_ARGUMENT;
    copy c = {.counts = counts_of(&p, repair)};
    void *block = hdi_alloc(allocator, hdi_plan_size(&c.counts), 64);
    if (!block)
        return HD_OUT_OF_MEMORY;
    c.plan = hdi_plan_begin(block, &c.counts);
    c.v = hd_plan_read(c.plan);
    if (repair->kind == HD_REPAIR_ADD) {
        add_barrier(&c, &p, repair);
    } else if (repair->kind == HD_REPAIR_ADD_WAIT) {
        add_wait(&c, &p, repair);
    } else {
        copy_all(&c, &p, HDI_NONE, HDI_NONE, HDI_NONE);
        change(&c, repair);
    }
    hdi_plan_finish(c.plan);
    *out = c.plan;
    return HD_OK;
}
