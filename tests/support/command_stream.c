#include "command_stream.h"

#include <stdlib.h>
#include <string.h>

#include "plan_block.h"
#include "random.h"

#define BIT(n) (UINT64_C(1) << (n))
#define COPY BIT(32)
#define BLIT BIT(34)
#define CLEAR BIT(35)
#define COMPUTE BIT(11)
#define INDIRECT BIT(1)
#define ALL BIT(16)
#define ALL_TRANSFER BIT(12)
#define TRANSFER_READ BIT(11)
#define TRANSFER_WRITE BIT(12)
#define STORAGE_READ BIT(33)
#define STORAGE_WRITE BIT(34)
#define INDIRECT_READ BIT(0)
#define MEMORY_READ BIT(15)
#define MEMORY_WRITE BIT(16)
enum { GENERAL = 1, SRC = 6, DST = 7 };

/* ---- what operations do ---- */

uint32_t hdt_stream_uses(const hdt_stream_item *i, hdt_stream_use uses[HDT_MOST_USES])
{
    uint32_t n = 0;
    bool shader = i->op == HDT_DISPATCH || i->op == HDT_INDIRECT;
    bool reads = i->op != HDT_FILL && i->op != HDT_UPDATE && i->op != HDT_CLEAR;
    bool clears = i->op == HDT_FILL || i->op == HDT_UPDATE || i->op == HDT_CLEAR;
    uint64_t stage = shader ? COMPUTE : clears ? CLEAR : i->op == HDT_BLIT ? BLIT : COPY;
    if (reads)
        uses[n++] = (hdt_stream_use){
            i->a, i->half_a, i->a < HDT_BUFFERS ? 0 : SRC, stage, shader ? STORAGE_READ : TRANSFER_READ, false};
    uses[n++] = (hdt_stream_use){
        i->b, i->half_b, i->b < HDT_BUFFERS ? 0 : DST, stage, shader ? STORAGE_WRITE : TRANSFER_WRITE, true};
    if (i->op == HDT_INDIRECT)
        uses[n++] = (hdt_stream_use){i->c, 1, 0, INDIRECT, INDIRECT_READ, false};
    return n;
}

static bool used_by_any(const hdt_stream *s, uint32_t resource)
{
    for (uint32_t i = 0; i < s->count; i++) {
        hdt_stream_use uses[HDT_MOST_USES];
        uint32_t n = s->item[i].kind == HDT_STREAM_OP ? hdt_stream_uses(&s->item[i], uses) : 0;
        while (n-- > 0)
            if (uses[n].resource == resource)
                return true;
    }
    return false;
}

bool hdt_stream_layouts(const hdt_stream *s, hdt_layouts layouts)
{
    memset(layouts[0], 0, sizeof(layouts[0]));
    for (uint32_t i = 0; i < s->count; i++) {
        const hdt_stream_item *x = &s->item[i];
        memcpy(layouts[i + 1], layouts[i], sizeof(layouts[0]));
        uint32_t signals = 0, waits = 0;
        for (uint32_t o = 0; o < s->count && x->kind == HDT_STREAM_CUT; o++) {
            bool cut = s->item[o].kind == HDT_STREAM_CUT;
            signals += cut && x->wait && s->item[o].id == x->wait && o <= i;
            waits += cut && x->id && s->item[o].wait == x->id;
        }
        if (x->kind == HDT_STREAM_CUT && ((x->wait && signals != 1) || waits > 1))
            return false;
        for (uint32_t e = 0; x->kind == HDT_STREAM_BARRIER && e < x->element_count; e++) {
            uint32_t r = x->element[e].resource;
            if (r == HD_NONE)
                continue;
            if (!used_by_any(s, r) || (r >= HDT_BUFFERS && !x->element[e].layout) ||
                (e == 1 && r == x->element[0].resource))
                return false;
            if (r >= HDT_BUFFERS)
                layouts[i + 1][r] = x->element[e].layout;
        }
        hdt_stream_use uses[HDT_MOST_USES];
        uint32_t n = x->kind == HDT_STREAM_OP ? hdt_stream_uses(x, uses) : 0;
        for (uint32_t u = 0; u < n; u++)
            if (uses[u].layout && layouts[i][uses[u].resource] != GENERAL &&
                layouts[i][uses[u].resource] != uses[u].layout)
                return false;
    }
    return true;
}

/* ---- random ones ---- */

typedef struct maker {
    hdt_stream *s;
    uint64_t rng;
    uint32_t layout[HDT_RESOURCES], next_id, open_ids[4], open_count;
} maker;

static uint32_t below(maker *m, uint32_t n)
{
    return hdt_below(&m->rng, n);
}

static hdt_stream_item *add(maker *m, int kind)
{
    hdt_stream_item *x = &m->s->item[m->s->count++];
    *x = (hdt_stream_item){.kind = kind};
    return x;
}

static uint64_t random_stages(maker *m)
{
    static const uint64_t some[] = {COPY,         BLIT, CLEAR,          COMPUTE,     INDIRECT,
                                    ALL_TRANSFER, ALL,  COPY | COMPUTE, CLEAR | COPY};
    return some[below(m, sizeof(some) / sizeof(some[0]))];
}

static uint64_t access_of(maker *m, uint64_t stages)
{
    uint64_t can = 0;
    if (stages & (ALL | ALL_TRANSFER | COPY | BLIT | CLEAR))
        can |= TRANSFER_READ | TRANSFER_WRITE;
    if (stages & (ALL | COMPUTE))
        can |= STORAGE_READ | STORAGE_WRITE;
    if (stages & (ALL | INDIRECT))
        can |= INDIRECT_READ;
    if (stages & CLEAR && !(stages & (ALL | ALL_TRANSFER | COPY | BLIT)))
        can &= ~TRANSFER_READ;
    switch (below(m, 4)) {
    case 0:
        return MEMORY_READ | MEMORY_WRITE;
    case 1:
        return can & (TRANSFER_WRITE | STORAGE_WRITE);
    default:
        return can;
    }
}

/* The masks of a use before and one behind, or random ones. */
static void random_masks(maker *m, hdt_element *e, const hdt_stream_use *after)
{
    e->src_stages = random_stages(m);
    e->dst_stages = random_stages(m);
    hdt_stream_use uses[HDT_MOST_USES];
    uint32_t from = m->s->count;
    while (from-- > 0 && m->s->item[from].kind != HDT_STREAM_OP)
        ;
    if (from < m->s->count && below(m, 4)) {
        uint32_t u = below(m, hdt_stream_uses(&m->s->item[from], uses));
        e->src_stages = uses[u].stage | (below(m, 5) ? 0 : e->src_stages);
        e->src_access = uses[u].access;
    } else {
        e->src_access = access_of(m, e->src_stages);
    }
    if (after && below(m, 4)) {
        e->dst_stages = after->stage | (below(m, 5) ? 0 : e->dst_stages);
        e->dst_access = after->access;
    } else {
        e->dst_access = access_of(m, e->dst_stages);
    }
    if (!below(m, 8))
        e->src_access = 0;
    if (!below(m, 12))
        e->dst_access = 0;
}

static void add_barrier(maker *m, const hdt_stream_use *after, uint32_t image, uint32_t layout)
{
    hdt_stream_item *x = add(m, HDT_STREAM_BARRIER);
    m->s->count--; /* not among those before itself */
    x->element_count = 1;
    random_masks(m, &x->element[0], after);
    m->s->count++;
    x->element[0].resource = image;
    x->element[0].layout = layout;
    if (image != HD_NONE) {
        m->layout[image] = layout;
    } else if (after && below(m, 2)) {
        x->element[0].resource = after->resource;
        x->element[0].half = after->resource < HDT_BUFFERS ? after->half : 0;
        x->element[0].layout = after->resource < HDT_BUFFERS ? 0 : m->layout[after->resource];
        if (after->resource >= HDT_BUFFERS && !m->layout[after->resource])
            x->element[0].resource = HD_NONE, x->element[0].layout = 0;
    }
    if (!below(m, 5)) {
        x->element_count = 2;
        m->s->count--;
        random_masks(m, &x->element[1], after);
        m->s->count++;
        x->element[1].resource = HD_NONE;
    }
}

static void add_op(maker *m, bool shaders)
{
    hdt_stream_item op = {.kind = HDT_STREAM_OP};
    op.op = (hdt_op)below(m, shaders ? HDT_OP_COUNT : HDT_DISPATCH);
    bool out = op.op == HDT_COPY_OUT, in = op.op == HDT_COPY_IN;
    bool images = op.op == HDT_COPY_IMAGE || op.op == HDT_CLEAR || op.op == HDT_BLIT;
    op.a = out || images ? HDT_BUFFERS + below(m, HDT_IMAGES) : below(m, HDT_BUFFERS);
    op.b = in || images ? HDT_BUFFERS + below(m, HDT_IMAGES) : below(m, HDT_BUFFERS);
    while (op.a == op.b)
        op.b = images ? HDT_BUFFERS + below(m, HDT_IMAGES) : below(m, HDT_BUFFERS);
    for (op.c = 0; op.c == op.a || op.c == op.b;)
        op.c++;
    op.half_a = op.a < HDT_BUFFERS && !out && !in ? below(m, 3) : 0;
    op.half_b = op.b < HDT_BUFFERS && !out && !in ? below(m, 3) : 0;
    if (op.half_a != op.half_b && (!op.half_a || !op.half_b))
        op.half_a = op.half_b = 1 + below(m, 2);
    hdt_stream_use uses[HDT_MOST_USES];
    uint32_t n = hdt_stream_uses(&op, uses);
    for (uint32_t u = 0; u < n; u++) {
        uint32_t r = uses[u].resource;
        bool fits = !uses[u].layout || m->layout[r] == GENERAL || m->layout[r] == uses[u].layout;
        if (!fits)
            add_barrier(m, &uses[u], r, below(m, 2) ? (uint32_t)GENERAL : uses[u].layout);
        else if (below(m, 3))
            add_barrier(m, &uses[u], HD_NONE, 0);
    }
    *add(m, HDT_STREAM_OP) = op;
}

static void add_cut(maker *m)
{
    hdt_stream_item *x = add(m, HDT_STREAM_CUT);
    if (below(m, 3)) {
        x->id = ++m->next_id;
        x->signal_stages = below(m, 2) ? ALL : random_stages(m);
        m->open_ids[m->open_count++ % 4] = x->id;
    }
    if (m->open_count && m->open_ids[(m->open_count - 1) % 4] && below(m, 3)) {
        uint32_t *id = &m->open_ids[(m->open_count - 1) % 4];
        x->wait = *id;
        x->wait_stages = below(m, 2) ? ALL : random_stages(m);
        *id = 0;
    }
}

void hdt_stream_make(hdt_stream *s, uint64_t seed, bool shaders)
{
    maker m = {.s = s, .rng = seed};
    memset(s, 0, sizeof(*s));
    uint32_t ops = 2 + below(&m, 4);
    for (uint32_t i = 0; i < ops && s->count + 8 < HDT_MOST_ITEMS; i++) {
        add_op(&m, shaders);
        if (i + 1 < ops && !below(&m, 3))
            add_cut(&m);
    }
}

/* ---- as a graph and a plan ---- */

static void half_range(uint32_t half, hd_range *range)
{
    *range = (hd_range){.offset = half == 2 ? HDT_STREAM_BYTES / 2 : 0,
                        .bytes = half ? HDT_STREAM_BYTES / 2 : HDT_STREAM_BYTES};
}

static void declare(const hdt_stream *s, hd_graph *graph, hdt_layouts layouts, bool fill_copies)
{
    hd_resource r[HDT_RESOURCES];
    hd_graph_begin(graph);
    for (uint32_t i = 0; i < HDT_RESOURCES; i++)
        r[i] =
            i < HDT_BUFFERS
                ? hd_graph_import(graph, &(hd_import_desc){.bytes = HDT_STREAM_BYTES, .sharing = HD_SHARING_EXCLUSIVE})
                : hd_graph_import(graph, &(hd_import_desc){.width = HDT_STREAM_SIDE,
                                                           .height = HDT_STREAM_SIDE,
                                                           .format = VK_FORMAT_R8G8B8A8_UNORM,
                                                           .sharing = HD_SHARING_EXCLUSIVE});
    for (uint32_t i = 0; i < s->count; i++) {
        hdt_stream_use from[HDT_MOST_USES];
        hd_custom_access custom[HDT_MOST_USES];
        hd_use uses[HDT_MOST_USES] = {0};
        if (s->item[i].kind != HDT_STREAM_OP)
            continue;
        uint32_t n = hdt_stream_uses(&s->item[i], from);
        for (uint32_t u = 0; u < n; u++) {
            bool buffer = from[u].resource < HDT_BUFFERS;
            bool fill = fill_copies && (s->item[i].op == HDT_FILL || s->item[i].op == HDT_UPDATE);
            custom[u] = (hd_custom_access){.stages = fill ? COPY : from[u].stage,
                                           .access = from[u].access,
                                           .layout = layouts[i][from[u].resource],
                                           .reads = !from[u].writes,
                                           .writes = from[u].writes};
            uses[u] = (hd_use){.resource = r[from[u].resource], .access = HD_ACCESS_CUSTOM, .custom = &custom[u]};
            if (buffer && from[u].half)
                half_range(from[u].half, &uses[u].range);
        }
        hd_graph_pass(
            graph,
            &(hd_pass_desc){.type = HD_PASS_GFX, .root = true, .no_rendering = true, .uses = uses, .use_count = n});
    }
}

static void fill_barrier(hd_plan_barrier *b, const hdt_element *e, const uint32_t *layout)
{
    *b = (hd_plan_barrier){.src_stages = e->src_stages,
                           .src_access = e->src_access,
                           .dst_stages = e->dst_stages,
                           .dst_access = e->dst_access,
                           .resource = e->resource,
                           .src_family = HD_NONE,
                           .dst_family = HD_NONE,
                           .reason_pass = HD_NONE,
                           .reason_resource = HD_NONE};
    if (e->resource == HD_NONE)
        return;
    if (e->resource < HDT_BUFFERS) {
        half_range(e->half, &b->range);
        return;
    }
    b->range.mip_count = 1;
    b->range.layer_count = 1;
    b->old_layout = layout[e->resource];
    b->new_layout = e->layout;
}

static void fill_items(const hdt_stream *s, const hd_plan_view *v, hdt_layouts layouts)
{
    hd_plan_submit *submit = (hd_plan_submit *)v->submits;
    hd_plan_wait *wait = (hd_plan_wait *)v->waits;
    hd_plan_command *command = (hd_plan_command *)v->commands;
    hd_plan_batch *batch = (hd_plan_batch *)v->batches;
    hd_plan_barrier *barrier = (hd_plan_barrier *)v->barriers;
    uint32_t passes = 0, barriers = 0, batches = 0, commands = 0, waits = 0;
    *submit = (hd_plan_submit){0};
    for (uint32_t i = 0; i < s->count; i++) {
        const hdt_stream_item *x = &s->item[i];
        if (x->kind == HDT_STREAM_OP) {
            command[commands++] = (hd_plan_command){HD_COMMAND_PASS, passes++, 0};
            submit->command_count++;
        } else if (x->kind == HDT_STREAM_BARRIER) {
            command[commands++] = (hd_plan_command){HD_COMMAND_BARRIER, batches, 0};
            submit->command_count++;
            batch[batches++] = (hd_plan_batch){barriers, x->element_count};
            for (uint32_t e = 0; e < x->element_count; e++)
                fill_barrier(&barrier[barriers++], &x->element[e], layouts[i]);
        } else {
            submit->signal_value = x->id;
            submit->signal_stages = x->id ? x->signal_stages : 0;
            *++submit = (hd_plan_submit){.command_begin = commands, .wait_begin = waits, .wait_count = x->wait != 0};
            if (x->wait)
                wait[waits++] = (hd_plan_wait){.reason_pass = HD_NONE, .value = x->wait, .stages = x->wait_stages};
        }
    }
}

hd_plan *hdt_stream_plan(const hdt_stream *s, hd_graph *graph, bool fill_copies)
{
    hdt_layouts layouts;
    hdi_plan_counts counts = {.queue_count = 1, .submit_count = 1, .declared_resource_count = HDT_RESOURCES};
    if (!hdt_stream_layouts(s, layouts))
        return NULL;
    declare(s, graph, layouts, fill_copies);
    for (uint32_t i = 0; i < s->count; i++) {
        const hdt_stream_item *x = &s->item[i];
        counts.pass_count += x->kind == HDT_STREAM_OP;
        counts.batch_count += x->kind == HDT_STREAM_BARRIER;
        counts.barrier_count += x->element_count;
        counts.command_count += x->kind != HDT_STREAM_CUT;
        counts.submit_count += x->kind == HDT_STREAM_CUT;
        counts.wait_count += x->wait != 0;
    }
    for (uint32_t r = 0; r < HDT_RESOURCES; r++)
        counts.resource_count += used_by_any(s, r);
    void *block = calloc(1, hdi_plan_size(&counts));
    if (!block)
        abort();
    hd_plan *plan = hdi_plan_begin(block, &counts);
    hd_plan_view v = hd_plan_read(plan);
    ((hd_plan_queue *)v.queues)[0] = (hd_plan_queue){HD_QUEUE_GFX, 0};
    uint32_t n = 0;
    for (uint32_t r = 0; r < HDT_RESOURCES; r++)
        if (used_by_any(s, r))
            ((hd_plan_resource *)v.resources)[n++] =
                (hd_plan_resource){.id = r,
                                   .heap = HD_NONE,
                                   .final_layout = r < HDT_BUFFERS ? 0 : layouts[s->count][r],
                                   .flags = HD_PLAN_EXTERNAL | (r < HDT_BUFFERS ? 0 : HD_PLAN_IMAGE),
                                   .tenant = HD_NONE};
    fill_items(s, &v, layouts);
    hdi_plan_finish(plan);
    return plan;
}

/* ---- as text ---- */

static void print_element(const hdt_element *e, FILE *out)
{
    static const char *const halves[] = {"", " first half", " second half"};
    fprintf(out, " {%llx/%llx -> %llx/%llx", (unsigned long long)e->src_stages, (unsigned long long)e->src_access,
            (unsigned long long)e->dst_stages, (unsigned long long)e->dst_access);
    if (e->resource != HD_NONE)
        fprintf(out, " %s %u%s", e->resource < HDT_BUFFERS ? "buffer" : "image", e->resource, halves[e->half % 3]);
    if (e->layout)
        fprintf(out, " to layout %u", e->layout);
    fprintf(out, "}");
}

void hdt_stream_print(const hdt_stream *s, FILE *out)
{
    static const char *const names[] = {"fill",       "update", "copy", "copy out", "copy in",
                                        "copy image", "clear",  "blit", "dispatch", "dispatch indirect"};
    for (uint32_t i = 0; i < s->count; i++) {
        const hdt_stream_item *x = &s->item[i];
        fprintf(out, "    ");
        if (x->kind == HDT_STREAM_OP) {
            hdt_stream_use uses[HDT_MOST_USES];
            uint32_t n = hdt_stream_uses(x, uses);
            fprintf(out, "%s:", names[x->op]);
            for (uint32_t u = 0; u < n; u++)
                fprintf(out, " %s %u.%u (%llx/%llx)", uses[u].writes ? "writes" : "reads", uses[u].resource,
                        uses[u].half, (unsigned long long)uses[u].stage, (unsigned long long)uses[u].access);
        } else if (x->kind == HDT_STREAM_BARRIER) {
            fprintf(out, "barrier");
            for (uint32_t e = 0; e < x->element_count; e++)
                print_element(&x->element[e], out);
        } else {
            fprintf(out, "submit ends");
            if (x->id)
                fprintf(out, ", signals %u (%llx)", x->id, (unsigned long long)x->signal_stages);
            if (x->wait)
                fprintf(out, "; the next waits for %u (%llx)", x->wait, (unsigned long long)x->wait_stages);
        }
        fprintf(out, "\n");
    }
}
