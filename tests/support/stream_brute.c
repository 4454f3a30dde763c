#include "stream_brute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brute_graph.h"

/* Nodes: elements of barriers, waits, signals, and one at the head of each submit for what its thread knew. Sets of
 * nodes are bits. An operation is an access, or a barrier that moves: O(nodes^3 / 64 + operations^2) */

#define BIT(n) (UINT64_C(1) << (n))
#define HOST BIT(14)
#define HOST_READ BIT(13)
#define ALL BIT(16)

typedef struct node {
    const hd_stream_barrier *b; /* null: a semaphore, or the head of a submit */
    uint64_t src, dst, src_near, dst_near, value;
    uint32_t queue, at, command;
    uint32_t semaphore, turn; /* turn: of a binary one */
    enum { OF_BARRIER, OF_WAIT, OF_SIGNAL, OF_HEAD } kind;
    bool moves, whole, host;
    uint32_t thread, thread_at; /* HEAD */
} node;

typedef struct op {
    const hd_stream_access *access; /* null: a barrier that moves */
    uint32_t node;
    uint32_t queue, at, command, group, resource;
    bool writes, reads, host;
} op;

typedef struct plain {
    const hd_stream *s;
    node *nodes;
    op *ops;
    uint32_t node_count, op_count, words;
    uint64_t *reach;       /* node x nodes: after it, itself too */
    uint64_t *after;       /* op x nodes */
    unsigned char *before; /* op x op */
} plain;

static const uint64_t write_bits = BIT(6) | BIT(8) | BIT(10) | BIT(12) | BIT(14) | BIT(16) | BIT(34);

static bool matches(uint64_t mask, uint64_t bit)
{
    bool write = bit & write_bits;
    return (mask & bit) || (mask & (write ? BIT(16) : BIT(15))) || (mask & BIT(5) && bit & (BIT(32) | BIT(33))) ||
           (mask & BIT(6) && bit & BIT(34));
}

static uint64_t stages_of(uint64_t bit)
{
    const uint64_t shaders = BIT(3) | BIT(4) | BIT(5) | BIT(6) | BIT(7) | BIT(11);
    const uint64_t of[35] = {[0] = BIT(1), [1] = BIT(36), [2] = BIT(37), [3] = shaders, [4] = BIT(7),
                             [5] = shaders, [6] = shaders, [7] = BIT(10), [8] = BIT(10), [9] = BIT(8) | BIT(9),
                             [10] = BIT(8) | BIT(9), [11] = BIT(32) | BIT(33) | BIT(34) | BIT(35),
                             [12] = BIT(32) | BIT(33) | BIT(34) | BIT(35), [13] = HOST, [14] = HOST,
                             [15] = ~UINT64_C(0), [16] = ~UINT64_C(0), [32] = shaders, [33] = shaders,
                             [34] = shaders};
    int n = __builtin_ctzll(bit);
    return n < 35 ? of[n] : ~UINT64_C(0);
}

#define EACH_BIT(bit, mask)                                                                                            \
    for (uint64_t bit##_left = (mask), bit; bit = bit##_left & -bit##_left, bit##_left; bit##_left &= bit##_left - 1)

static void set(uint64_t *row, uint32_t n)
{
    row[n / 64] |= BIT(n % 64);
}

static bool get(const uint64_t *row, uint32_t n)
{
    return row[n / 64] >> n % 64 & 1;
}

/* ---- the graph ---- */

static node *add_node(plain *p, node n)
{
    p->nodes[p->node_count] = n;
    return &p->nodes[p->node_count++];
}

static void add_barrier(plain *p, uint32_t queue, uint32_t at, uint32_t c, uint32_t b)
{
    const hd_stream_barrier *x = &p->s->barriers[b];
    bool between = x->src_family != x->dst_family, release = between && p->s->queues[queue].family == x->src_family;
    uint64_t src = between && !release ? 0 : x->src_stages, dst = release ? 0 : x->dst_stages;
    bool image = x->resource != HD_NONE && p->s->resources[x->resource].aspects;
    add_node(p, (node){.b = x,
                       .src = hdt_stages_src(src),
                       .dst = hdt_stages_dst(dst),
                       .src_near = hdt_stages_expand(src),
                       .dst_near = hdt_stages_expand(dst),
                       .queue = queue, .at = at, .command = c,
                       .kind = OF_BARRIER,
                       .moves = x->resource != HD_NONE && (between || (image && x->old_layout != x->new_layout))});
    const node *n = &p->nodes[p->node_count - 1];
    if (n->moves)
        p->ops[p->op_count++] = (op){
            .node = p->node_count - 1, .queue = queue, .at = at, .command = c, .resource = x->resource, .writes = true};
}

static void add_sync(plain *p, uint32_t queue, uint32_t at, const hd_stream_sync *x, bool wait, uint32_t *turns)
{
    bool host = p->s->queues[queue].kind == HD_QUEUE_HOST;
    if (x->semaphore == HD_NONE)
        return;
    node n = {.queue = queue, .at = at, .command = HDT_NOBODY, .semaphore = x->semaphore, .value = x->value};
    n.kind = wait ? OF_WAIT : OF_SIGNAL;
    n.whole = x->stages & ALL;
    n.host = host;
    n.turn = turns[x->semaphore * 2 + wait]++;
    if (wait)
        n.dst = host ? HOST : hdt_stages_dst(x->stages);
    else
        n.src = host ? HOST : hdt_stages_src(x->stages) | (n.whole ? HOST : 0);
    add_node(p, n);
}

static void add_command(plain *p, uint32_t queue, uint32_t at, uint32_t c)
{
    const hd_stream_command *x = &p->s->commands[c];
    for (uint32_t i = x->begin; i < x->begin + x->count; i++) {
        if (x->kind == HD_STREAM_BARRIER) {
            add_barrier(p, queue, at, c, i);
            continue;
        }
        const hd_stream_access *a = &p->s->accesses[i];
        if (a->flags & (HD_STREAM_OBSERVED | HD_STREAM_BOUND))
            continue;
        p->ops[p->op_count++] = (op){.access = a,
                                     .queue = queue,
                                     .at = at,
                                     .command = c,
                                     .group = x->group,
                                     .resource = a->resource,
                                     .writes = a->access & write_bits,
                                     .reads = a->access & ~write_bits,
                                     .host = p->s->queues[queue].kind == HD_QUEUE_HOST};
    }
}

static bool make_nodes(plain *p)
{
    const hd_stream *s = p->s;
    uint32_t at = 0, *turns = hdt_zeroed((size_t)s->semaphore_count * 2, sizeof(*turns));
    bool known = true;
    p->nodes = hdt_zeroed((size_t)s->barrier_count + s->sync_count + s->submit_count, sizeof(*p->nodes));
    p->ops = hdt_zeroed((size_t)s->barrier_count + s->access_count, sizeof(*p->ops));
    for (uint32_t i = 0; i < s->submit_count; i++) {
        const hd_stream_submit *x = &s->submits[i];
        at++;
        if (s->queues[x->queue].kind != HD_QUEUE_HOST && x->thread != HD_NONE)
            add_node(p, (node){.queue = x->queue,
                               .at = at,
                               .command = HDT_NOBODY,
                               .dst = ~UINT64_C(0),
                               .kind = OF_HEAD,
                               .whole = true,
                               .thread = x->thread,
                               .thread_at = at});
        at++;
        for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++)
            add_sync(p, x->queue, at, &s->syncs[w], true, turns);
        for (uint32_t c = x->command_begin; c < x->command_begin + x->command_count; c++) {
            known &= s->commands[c].kind <= HD_STREAM_BARRIER;
            add_command(p, x->queue, ++at, c);
        }
        at++;
        for (uint32_t g = x->signal_begin; g < x->signal_begin + x->signal_count; g++)
            add_sync(p, x->queue, at, &s->syncs[g], false, turns);
    }
    free(turns);
    return known;
}

/* Of a wait: its signal; HDT_NOBODY: it was reached before the stream; node_count: nothing signals. */
static uint32_t signal_of(const plain *p, const node *w)
{
    const hd_stream_semaphore *s = &p->s->semaphores[w->semaphore];
    uint32_t found = p->node_count;
    if (s->binary ? w->turn < s->initial : w->value <= s->initial)
        return HDT_NOBODY;
    for (uint32_t n = 0; n < p->node_count; n++) {
        const node *g = &p->nodes[n];
        if (g->kind != OF_SIGNAL || g->semaphore != w->semaphore)
            continue;
        if (s->binary ? g->turn + s->initial == w->turn
                      : g->value >= w->value && (found == p->node_count || g->value < p->nodes[found].value))
            found = n;
    }
    return found;
}

static bool is_edge(const plain *p, uint32_t x, uint32_t y)
{
    const node *m = &p->nodes[x], *n = &p->nodes[y];
    if (n->kind == OF_HEAD) /* what its thread has waited for */
        return m->kind == OF_WAIT && m->queue == n->thread && m->at < n->thread_at;
    if (m->kind == OF_SIGNAL || m->queue != n->queue || m->at >= n->at || n->kind == OF_WAIT)
        return false;
    if (m->kind == OF_BARRIER && n->kind == OF_BARRIER && m->command == n->command)
        return false;
    if (m->dst & n->src || (m->host && n->host))
        return true;
    return (m->moves && n->kind == OF_SIGNAL && n->whole) ||
           ((m->kind == OF_WAIT || m->kind == OF_HEAD) && m->whole && n->moves);
}

static bool make_reach(plain *p)
{
    bool known = true;
    p->words = p->node_count / 64 + 1;
    p->reach = hdt_zeroed((size_t)p->node_count * p->words, sizeof(*p->reach));
    for (uint32_t x = 0; x < p->node_count; x++) {
        set(p->reach + (size_t)x * p->words, x);
        for (uint32_t y = 0; y < p->node_count; y++)
            if (is_edge(p, x, y))
                set(p->reach + (size_t)x * p->words, y);
        uint32_t g = p->nodes[x].kind == OF_WAIT ? signal_of(p, &p->nodes[x]) : HDT_NOBODY;
        known &= g != p->node_count;
        if (g < p->node_count)
            set(p->reach + (size_t)g * p->words, x);
    }
    for (uint32_t k = 0; k < p->node_count; k++) /* Warshall */
        for (uint32_t x = 0; x < p->node_count; x++)
            if (get(p->reach + (size_t)x * p->words, k))
                for (uint32_t w = 0; w < p->words; w++)
                    p->reach[(size_t)x * p->words + w] |= p->reach[(size_t)k * p->words + w];
    return known;
}

/* ---- operations ---- */

static bool leaves(const plain *p, const op *x, uint64_t stage, uint32_t n)
{
    const node *a = &p->nodes[n];
    if (x->host && a->kind == OF_HEAD)
        return a->thread == x->queue && a->thread_at > x->at;
    return a->kind != OF_WAIT && a->kind != OF_HEAD && a->queue == x->queue && a->at > x->at && (a->src & stage);
}

static bool enters(const plain *p, uint32_t n, const op *y, uint64_t stage)
{
    const node *v = &p->nodes[n];
    return v->kind != OF_SIGNAL && v->queue == y->queue && v->at < y->at && (v->dst & stage);
}

/* The nodes that come after all stages of an operation. */
static void fill_after(plain *p, uint32_t i)
{
    const op *x = &p->ops[i];
    uint64_t *row = p->after + (size_t)i * p->words;
    if (!x->access) {
        memcpy(row, p->reach + (size_t)x->node * p->words, p->words * sizeof(*row));
        return;
    }
    uint64_t *one = hdt_zeroed(p->words, sizeof(*one));
    memset(row, 0xff, p->words * sizeof(*row));
    EACH_BIT(stage, x->host ? HOST : hdt_stages_expand(x->access->stages))
    {
        memset(one, 0, p->words * sizeof(*one));
        for (uint32_t a = 0; a < p->node_count; a++)
            for (uint32_t w = 0; leaves(p, x, stage, a) && w < p->words; w++)
                one[w] |= p->reach[(size_t)a * p->words + w];
        for (uint32_t w = 0; w < p->words; w++)
            row[w] &= one[w];
    }
    free(one);
}

static bool comes_before(const plain *p, uint32_t i, uint32_t j)
{
    const op *x = &p->ops[i], *y = &p->ops[j];
    const uint64_t *row = p->after + (size_t)i * p->words;
    if (x->host && y->host && x->queue == y->queue)
        return x->at < y->at;
    if (!y->access)
        return get(row, y->node) || (!x->access && x->queue == y->queue && x->at < y->at);
    EACH_BIT(stage, y->host ? HOST : hdt_stages_expand(y->access->stages))
    {
        bool found = false;
        for (uint32_t v = 0; v < p->node_count && !found; v++)
            found = get(row, v) && enters(p, v, y, stage);
        if (!found)
            return false;
    }
    return true;
}

static void make_before(plain *p)
{
    p->after = hdt_zeroed((size_t)p->op_count * p->words, sizeof(*p->after));
    p->before = hdt_zeroed((size_t)p->op_count * p->op_count, 1);
    for (uint32_t i = 0; i < p->op_count; i++)
        fill_after(p, i);
    for (uint32_t i = 0; i < p->op_count; i++)
        for (uint32_t j = 0; j < p->op_count; j++)
            p->before[(size_t)i * p->op_count + j] = i != j && comes_before(p, i, j);
}

/* ---- memory ---- */

static hd_range range_of(const plain *p, const op *x)
{
    return x->access ? x->access->range : p->nodes[x->node].b->range;
}

static bool ranges_meet(bool image, const hd_range *a, const hd_range *b)
{
    if (!image)
        return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
    return a->mip_base < b->mip_base + b->mip_count && b->mip_base < a->mip_base + a->mip_count &&
           a->layer_base < b->layer_base + b->layer_count && b->layer_base < a->layer_base + a->layer_count &&
           (!a->aspect || !b->aspect || a->aspect & b->aspect);
}

/* The texels of an access; all of them: as far as numbers go. */
static hd_stream_box box_of(const op *x)
{
    if (x->access && x->access->box.extent[0])
        return x->access->box;
    return (hd_stream_box){{0}, {UINT32_MAX, UINT32_MAX, UINT32_MAX}};
}

/* False: there is none. */
static bool common_box(const hd_stream_box *a, const hd_stream_box *b, hd_stream_box *out)
{
    for (int i = 0; i < 3; i++) {
        uint64_t ends[2] = {(uint64_t)a->offset[i] + a->extent[i], (uint64_t)b->offset[i] + b->extent[i]};
        uint64_t end = ends[0] < ends[1] ? ends[0] : ends[1];
        out->offset[i] = a->offset[i] > b->offset[i] ? a->offset[i] : b->offset[i];
        if (end <= out->offset[i])
            return false;
        out->extent[i] = (uint32_t)(end - out->offset[i]);
    }
    return true;
}

/* Of an alias: the bytes of the whole image, or of the range of the buffer. */
static void bytes_of(const plain *p, const op *x, uint64_t *begin, uint64_t *end)
{
    const hd_stream_resource *r = &p->s->resources[x->resource];
    hd_range range = range_of(p, x);
    *begin = r->offset + (r->aspects ? 0 : range.offset);
    *end = r->aspects ? r->offset + r->bytes : *begin + range.bytes;
}

static bool meet(const plain *p, const op *x, const op *y)
{
    hd_range a = range_of(p, x), b = range_of(p, y);
    hd_stream_box boxes[2] = {box_of(x), box_of(y)}, common;
    if (x->resource == y->resource)
        return ranges_meet(p->s->resources[x->resource].aspects, &a, &b) && common_box(&boxes[0], &boxes[1], &common);
    const hd_stream_resource *r = &p->s->resources[x->resource], *q = &p->s->resources[y->resource];
    uint64_t begin[2], end[2];
    if (r->memory == HD_NONE || r->memory != q->memory || !r->bytes || !q->bytes)
        return false;
    bytes_of(p, x, &begin[0], &end[0]);
    bytes_of(p, y, &begin[1], &end[1]);
    return begin[0] < end[1] && begin[1] < end[0];
}

/* Nothing orders the regions of a command, but only a source that is overwritten is an error; and nothing orders two
 * attachments of one rendering. */
static bool overwrites_its_source(const plain *p, const op *x, const op *y)
{
    const hd_stream_access *a = x->access, *b = y->access;
    if (a && b && !((a->flags | b->flags) & HD_STREAM_DECLARED) && a->scope && a->scope == b->scope)
        return x->resource == y->resource && (x->writes || y->writes);
    if (!a || !b || x->writes == y->writes || (a->flags | b->flags) & HD_STREAM_DECLARED ||
        (a->stages | b->stages) & ~(BIT(12) | BIT(32) | BIT(33) | BIT(34) | BIT(35)))
        return false;
    return !(p->s->resources[x->resource].aspects | p->s->resources[y->resource].aspects) ||
           (x->resource == y->resource && a->box.extent[0] && b->box.extent[0]);
}

/* A declaration and a command of its pass, but not one that writes what is declared to be read. */
static bool of_one_pass(const op *x, const op *y)
{
    bool x_declared = x->access->flags & HD_STREAM_DECLARED, y_declared = y->access->flags & HD_STREAM_DECLARED;
    if (!x->group || x->group != y->group || !(x_declared || y_declared))
        return false;
    return (x_declared && y_declared) || (x_declared ? x : y)->writes || !(x_declared ? y : x)->writes;
}

static bool of_one_attachment(const op *x, const op *y)
{
    const hd_stream_access *a = x->access, *b = y->access;
    return a && b && a->scope && a->scope == b->scope && x->resource == y->resource;
}

static bool together(const plain *p, const op *x, const op *y)
{
    if (x->command == y->command)
        return !overwrites_its_source(p, x, y);
    return of_one_attachment(x, y) || (x->access && y->access && of_one_pass(x, y));
}

/* Whether a range holds a cell: a subresource of an image, or what two accesses of a buffer share. */
static bool holds(bool image, const hd_range *range, const hd_range *cell)
{
    if (!image)
        return range->offset <= cell->offset && cell->offset + cell->bytes <= range->offset + range->bytes;
    return cell->mip_base >= range->mip_base && cell->mip_base < range->mip_base + range->mip_count &&
           cell->layer_base >= range->layer_base && cell->layer_base < range->layer_base + range->layer_count &&
           (!range->aspect || !(cell->aspect & ~range->aspect));
}

static bool covers(const plain *p, const node *n, const op *x, const hd_range *cell)
{
    return n->b->resource == HD_NONE ||
           (n->b->resource == x->resource && holds(p->s->resources[x->resource].aspects, &n->b->range, cell));
}

static bool makes_available(const plain *p, const op *x, const hd_range *cell, uint64_t stage, uint64_t bit, uint32_t n)
{
    const node *a = &p->nodes[n];
    return leaves(p, x, stage, n) &&
           (a->kind != OF_BARRIER || (a->src_near & stage && matches(a->b->src_access, bit) && covers(p, a, x, cell)));
}

static bool makes_visible(const plain *p, uint32_t n, const op *y, const hd_range *cell, uint64_t stage, uint64_t bit)
{
    const node *v = &p->nodes[n];
    bool barrier = v->kind == OF_BARRIER && v->dst_near & stage && matches(v->b->dst_access, bit);
    barrier = barrier && covers(p, v, y, cell);
    if (!y->host || bit != HOST_READ)
        return enters(p, n, y, stage) && (v->kind != OF_BARRIER || barrier);
    for (uint32_t w = 0; barrier && w < p->node_count; w++)
        if (p->nodes[w].kind == OF_WAIT && enters(p, w, y, HOST) && get(p->reach + (size_t)n * p->words, w))
            return true;
    return false;
}

/* Every stage and access of y finds, behind some node of row, one that makes memory visible to it. */
static bool row_reaches(const plain *p, const uint64_t *row, const op *y, const hd_range *cell)
{
    if (!y->access)
        return get(row, y->node);
    EACH_BIT(by, y->access->access)
    EACH_BIT(sy, (y->host ? HOST : hdt_stages_expand(y->access->stages)) & stages_of(by))
    {
        bool found = false;
        for (uint32_t v = 0; v < p->node_count && !found; v++)
            found = get(row, v) && makes_visible(p, v, y, cell, sy, by);
        if (!found)
            return false;
    }
    return true;
}

/* Every stage and access of the write, or the barrier, reaches every one of the later operation. */
static bool sees(const plain *p, const op *x, const hd_range *cx, const op *y, const hd_range *cy)
{
    if (!x->access)
        return row_reaches(p, p->reach + (size_t)x->node * p->words, y, cy) ||
               (!y->access && x->queue == y->queue && x->at < y->at);
    if (x->host && y->host && x->queue == y->queue)
        return true;
    uint64_t *row = hdt_zeroed(p->words, sizeof(*row));
    bool all = true;
    EACH_BIT(bx, x->access->access & write_bits)
    EACH_BIT(sx, (x->host ? HOST : hdt_stages_expand(x->access->stages)) & stages_of(bx))
    {
        memset(row, 0, p->words * sizeof(*row));
        for (uint32_t a = 0; a < p->node_count && all; a++)
            for (uint32_t w = 0; makes_available(p, x, cx, sx, bx, a) && w < p->words; w++)
                row[w] |= p->reach[(size_t)a * p->words + w];
        all = all && row_reaches(p, row, y, cy);
    }
    free(row);
    return all;
}

/* z takes all texels that x and y share, or all of x where y is an alias. */
static bool takes_texels(const op *x, const op *y, const op *z)
{
    hd_stream_box a = box_of(x), b = box_of(y), all = box_of(z), taken;
    if (x->resource == y->resource && !common_box(&a, &b, &a))
        return true;
    return common_box(&a, &all, &taken) && memcmp(&a, &taken, sizeof(a)) == 0;
}

/* Another write stands between, on the cell of x; null: on something of x and of y. */
static bool between(const plain *p, uint32_t i, const hd_range *cell, uint32_t j)
{
    const op *x = &p->ops[i];
    for (uint32_t k = 0; k < p->op_count; k++) {
        const op *z = &p->ops[k];
        hd_range range = range_of(p, z);
        bool rasters = of_one_attachment(z, &p->ops[j]) && z->command < p->ops[j].command;
        if (!z->writes || !p->before[(size_t)i * p->op_count + k] || !meet(p, x, z) || !meet(p, z, &p->ops[j]) ||
            (!p->before[(size_t)k * p->op_count + j] && !rasters))
            continue;
        if (!cell || z->resource != x->resource ||
            (holds(p->s->resources[x->resource].aspects, &range, cell) && takes_texels(x, &p->ops[j], z)))
            return true;
    }
    return false;
}

/* The n-th cell of an operation; other: of the same buffer, or null. False: it has fewer. */
static bool cell_of(const plain *p, const op *x, const op *other, uint32_t n, hd_range *cell)
{
    hd_range range = range_of(p, x);
    *cell = range;
    if (p->s->resources[x->resource].aspects) {
        cell->mip_base = (uint16_t)(range.mip_base + n % range.mip_count);
        cell->layer_base = range.layer_base + n / range.mip_count;
        cell->layer_count = cell->mip_count = 1;
        return n < (uint64_t)range.mip_count * range.layer_count;
    }
    if (other) {
        hd_range b = range_of(p, other);
        uint64_t end = range.offset + range.bytes, other_end = b.offset + b.bytes;
        cell->offset = range.offset > b.offset ? range.offset : b.offset;
        cell->bytes = (end < other_end ? end : other_end) - cell->offset;
    }
    return n == 0;
}

/* What i writes reaches j, on every cell that they share, but for what is overwritten on the way. */
static bool memory_holds(const plain *p, uint32_t i, uint32_t j)
{
    const op *x = &p->ops[i], *y = &p->ops[j];
    bool same = x->resource == y->resource, image = p->s->resources[x->resource].aspects;
    hd_range cx, cy, range = range_of(p, y);
    for (uint32_t m = 0; cell_of(p, x, same ? y : NULL, m, &cx); m++) {
        if (same && image && !ranges_meet(true, &cx, &range))
            continue;
        for (uint32_t n = 0; cell_of(p, y, same ? x : NULL, n, &cy); n++)
            if ((!same || !image || ranges_meet(true, &cx, &cy)) && !sees(p, x, &cx, y, &cy) && !between(p, i, &cx, j))
                return false;
    }
    return true;
}

static bool pair_holds(const plain *p, uint32_t i, uint32_t j)
{
    bool forth = p->before[(size_t)i * p->op_count + j], back = p->before[(size_t)j * p->op_count + i];
    if (!forth && !back)
        return between(p, i, NULL, j) || between(p, j, NULL, i);
    if (back)
        return !p->ops[j].writes || memory_holds(p, j, i);
    return !p->ops[i].writes || memory_holds(p, i, j);
}

static bool check_pairs(const plain *p, char *why, size_t bytes)
{
    for (uint32_t i = 0; i < p->op_count; i++)
        for (uint32_t j = i + 1; j < p->op_count; j++) {
            const op *x = &p->ops[i], *y = &p->ops[j];
            if ((!x->writes && !y->writes) || together(p, x, y) || !meet(p, x, y) || pair_holds(p, i, j))
                continue;
            snprintf(why, bytes, "commands %u and %u, resources %u and %u", x->command, y->command, x->resource,
                     y->resource);
            return false;
        }
    return true;
}

hdt_stream_verdict hdt_stream_brute(const hd_stream *stream, unsigned char **order, char *why, size_t bytes)
{
    plain p = {.s = stream};
    bool known = make_nodes(&p), holds = true;
    known = make_reach(&p) && known;
    *why = 0;
    if (known) {
        make_before(&p);
        holds = check_pairs(&p, why, bytes);
    }
    if (order) { /* of accesses alone, by their numbers */
        size_t n = stream->access_count;
        *order = hdt_zeroed(n * n, 1);
        for (uint32_t i = 0; i < p.op_count && known; i++)
            for (uint32_t j = 0; j < p.op_count; j++)
                if (p.ops[i].access && p.ops[j].access)
                    (*order)[(size_t)(p.ops[i].access - stream->accesses) * n +
                             (size_t)(p.ops[j].access - stream->accesses)] = p.before[(size_t)i * p.op_count + j];
    }
    void *const blocks[] = {p.nodes, p.ops, p.reach, p.after, p.before};
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        free(blocks[i]);
    return !known ? HDT_STREAM_UNKNOWN : holds ? HDT_STREAM_HOLDS : HDT_STREAM_RACES;
}

void hdt_stream_compare(const hd_stream *stream, const unsigned char *whole, const unsigned char *broken, bool *lost,
                        bool *gained)
{
    *lost = *gained = false;
    for (size_t i = 0; i < (size_t)stream->access_count * stream->access_count; i++) {
        *lost |= whole[i] && !broken[i];
        *gained |= broken[i] && !whole[i];
    }
}
