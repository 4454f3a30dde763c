#include "stream_graph.h"

#include <stdlib.h>
#include <string.h>

#include "sort.h"

/* A stream as a graph of what needs what, after the dependency graph of gapid. The stream becomes one sequence of steps
 * (the submits in a topological order); stream_content.c walks them and finds whose content each command uses and which
 * commands must not overlap; stream_order.c finds the barriers and semaphores that keep these apart; stream_needs.c
 * follows the edges. All edges but those of renderings lead from a lower node to a higher one.
 * O(commands + edges) beside the two walks. */

uint32_t hdi_graph_group(hdi_gbuild *b, uint32_t segment)
{
    while (b->first_group[segment] != segment) {
        b->first_group[segment] = b->first_group[b->first_group[segment]];
        segment = b->first_group[segment];
    }
    return segment;
}

bool hdi_graph_edge(hdi_gbuild *b, uint32_t from, uint32_t to, uint32_t kind, uint32_t resource)
{
    hdi_arena *arena = &b->c.v.arena;
    if (from == to || from == HDI_NONE || to == HDI_NONE)
        return true;
    if (!hdi_arena_grow(arena, &b->edge, &b->edge_room, b->edge_count, b->edge_count + 1, sizeof(*b->edge)))
        return false;
    b->edge[b->edge_count++] = (hdi_gedge){to, from, kind, resource};
    return true;
}

/* ---- steps and nodes ---- */

static void add_step(hdi_gbuild *b, uint32_t kind, uint32_t index)
{
    uint32_t *at = kind == HDI_GSTEP_COMMAND  ? &b->command_step[index]
                   : kind == HDI_GSTEP_GATHER ? &b->gather_step[index]
                                              : &b->spread_step[index];
    *at = b->step_count;
    b->step[b->step_count++] = (hdi_gstep){kind, index};
}

static uint32_t add_node(hdi_gbuild *b, uint32_t kind, uint32_t submit, uint32_t command, uint32_t element)
{
    b->node[b->node_count] = (hd_stream_node){kind, submit, command, element};
    return b->node_count++;
}

static void add_batch(hdi_gbuild *b, uint32_t submit, uint32_t command)
{
    const hdi_verify *v = &b->c.v;
    const hd_plan_command *x = &v->p.commands[command];
    uint32_t first = v->command_node[command], count = v->p.batches[x->index].barrier_count;
    for (uint32_t n = first; n < first + count && x->kind != HD_COMMAND_WAIT; n++) {
        b->sync_node[n] = add_node(b, HD_STREAM_NODE_BARRIER, submit, b->c.command_of[command], v->node[n].barrier);
        add_step(b, HDI_GSTEP_GATHER, n);
    }
    for (uint32_t n = first; n < first + count && x->kind != HD_COMMAND_SET; n++)
        add_step(b, HDI_GSTEP_SPREAD, n);
}

static void add_submit(hdi_gbuild *b, uint32_t index)
{
    const hdi_verify *v = &b->c.v;
    const hd_plan_submit *x = &v->p.submits[index];
    uint32_t submit = b->c.sub[index];
    for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++) {
        uint32_t n = v->wait_node[w], sync = b->c.wait_sync[w];
        if (sync != HDI_NONE)
            b->sync_node[n] = add_node(b, HD_STREAM_NODE_WAIT, submit, HD_NONE, sync);
        add_step(b, HDI_GSTEP_GATHER, n);
    }
    for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++)
        add_step(b, HDI_GSTEP_SPREAD, v->wait_node[w]);
    for (uint32_t i = x->command_begin; i < x->command_begin + x->command_count; i++) {
        uint32_t command = b->c.command_of[i];
        if (v->p.commands[i].kind != HD_COMMAND_PASS) {
            add_batch(b, submit, i);
            continue;
        }
        b->command_node[command] = add_node(b, HD_STREAM_NODE_COMMAND, submit, command, HD_NONE);
        add_step(b, HDI_GSTEP_COMMAND, command);
    }
    uint32_t n = v->submit_signal[index];
    if (n == HDI_NONE)
        return;
    if (b->c.signal_sync[index] != HDI_NONE)
        b->sync_node[n] = add_node(b, HD_STREAM_NODE_SIGNAL, submit, HD_NONE, b->c.signal_sync[index]);
    add_step(b, HDI_GSTEP_GATHER, n);
}

static hd_result make_steps(hdi_gbuild *b)
{
    const hdi_verify *v = &b->c.v;
    const hd_stream *s = b->c.s;
    hdi_arena *arena = &b->c.v.arena;
    size_t most = (size_t)s->command_count + 2 * (size_t)v->node_count;
    b->step = HDI_ARENA_ARRAY(arena, hdi_gstep, most);
    b->node = HDI_ARENA_ARRAY(arena, hd_stream_node, (size_t)s->command_count + v->node_count);
    b->command_step = HDI_ARENA_ARRAY(arena, uint32_t, s->command_count);
    b->command_node = HDI_ARENA_ARRAY(arena, uint32_t, s->command_count);
    b->gather_step = HDI_ARENA_ARRAY(arena, uint32_t, v->node_count);
    b->spread_step = HDI_ARENA_ARRAY(arena, uint32_t, v->node_count);
    b->sync_node = HDI_ARENA_ARRAY(arena, uint32_t, v->node_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    memset(b->command_node, 0xff, s->command_count * sizeof(uint32_t));
    memset(b->sync_node, 0xff, v->node_count * sizeof(uint32_t));
    memset(b->spread_step, 0xff, v->node_count * sizeof(uint32_t));
    for (uint32_t i = 0; i < b->c.order_count; i++)
        add_submit(b, b->c.order[i]);
    return HD_OK;
}

static bool same_barriers(const hdi_verify *v, uint32_t s, uint32_t t)
{
    uint32_t count = v->seg_node_begin[s + 1] - v->seg_node_begin[s];
    return count == v->seg_node_begin[t + 1] - v->seg_node_begin[t] &&
           memcmp(v->seg_node + v->seg_node_begin[s], v->seg_node + v->seg_node_begin[t], count * sizeof(uint32_t)) ==
               0;
}

static hd_result make_groups(hdi_gbuild *b)
{
    const hdi_verify *v = &b->c.v;
    b->first_group = HDI_ARENA_ARRAY(&b->c.v.arena, uint32_t, v->seg_count);
    b->class_of = HDI_ARENA_ARRAY(&b->c.v.arena, uint32_t, v->seg_count);
    if (b->c.v.arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t r = 0; r < v->d.res_count; r++) {
        for (uint32_t s = v->seg_begin[r]; s < v->seg_begin[r + 1]; s++) {
            b->first_group[s] = s;
            b->class_of[s] = s > v->seg_begin[r] && same_barriers(v, s, s - 1) ? b->class_of[s - 1] : s;
        }
    }
    return HD_OK;
}

/* Waits and their signals. */
static hd_result pair_signals(hdi_gbuild *b)
{
    const hdi_verify *v = &b->c.v;
    for (uint32_t n = 0; n < v->p.submit_count; n++) {
        const hd_plan_submit *x = &v->p.submits[n];
        for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++) {
            uint32_t signal = v->submit_signal[v->wait_signal[w]];
            if (signal != HDI_NONE &&
                !hdi_graph_edge(b, b->sync_node[signal], b->sync_node[v->wait_node[w]], HD_STREAM_EDGE_SIGNAL, HD_NONE))
                return HD_OUT_OF_MEMORY;
        }
    }
    return HD_OK;
}

/* A command of which nothing is known but that it was given something is a part of all other state. */
static uint64_t other_state(const hd_stream_command *x)
{
    return x->data && !x->count && !x->sets && !x->uses && !x->changes ? HD_STREAM_STATE_OTHER : 0;
}

/* Draws and dispatches use the state that was set last in their command buffer. */
static hd_result pair_states(hdi_gbuild *b)
{
    const hd_stream *s = b->c.s;
    uint32_t setter[64], buffer = 0;
    memset(setter, 0xff, sizeof(setter));
    for (uint32_t n = 0; n < b->node_count; n++) {
        if (b->node[n].kind != HD_STREAM_NODE_COMMAND)
            continue;
        const hd_stream_command *x = &s->commands[b->node[n].command];
        if (x->buffer != buffer)
            memset(setter, 0xff, sizeof(setter));
        buffer = x->buffer;
        for (uint64_t left = x->uses | other_state(x); left; left &= left - 1) {
            if (!hdi_graph_edge(b, setter[__builtin_ctzll(left)], n, HD_STREAM_EDGE_STATE, HD_NONE))
                return HD_OUT_OF_MEMORY;
        }
        for (uint64_t left = x->sets | other_state(x); left; left &= left - 1)
            setter[__builtin_ctzll(left)] = n;
    }
    return HD_OK;
}

/* Of an object that commands change, the part of each stays: a command that names it needs the latest
 * change, and that one the change before it. */
static hd_result pair_objects(hdi_gbuild *b)
{
    const hd_stream *s = b->c.s;
    uint32_t *latest = HDI_ARENA_ARRAY(&b->c.v.arena, uint32_t, s->object_count);
    if (b->c.v.arena.failed)
        return HD_OUT_OF_MEMORY;
    memset(latest, 0xff, s->object_count * sizeof(*latest));
    for (uint32_t n = 0; n < b->node_count; n++) {
        if (b->node[n].kind != HD_STREAM_NODE_COMMAND)
            continue;
        const hd_stream_command *x = &s->commands[b->node[n].command];
        const hd_stream_data *data = x->data ? &s->datas[x->data] : NULL;
        for (uint32_t i = 0; data && i < data->ref_count; i++) {
            if (!hdi_graph_edge(b, latest[s->refs[data->ref_begin + i]], n, HD_STREAM_EDGE_OBJECT, HD_NONE))
                return HD_OUT_OF_MEMORY;
        }
        if (!x->changes)
            continue;
        if (!hdi_graph_edge(b, latest[x->changes], n, HD_STREAM_EDGE_OBJECT, HD_NONE))
            return HD_OUT_OF_MEMORY;
        latest[x->changes] = n;
    }
    return HD_OK;
}

typedef struct gmember {
    uint32_t buffer, pair, node;
} gmember;

static int by_member(const void *a, const void *b)
{
    const gmember *x = a, *y = b;
    if (x->buffer != y->buffer)
        return x->buffer < y->buffer ? -1 : 1;
    if (x->pair != y->pair)
        return x->pair < y->pair ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Commands that say that they belong together. */
static hd_result pair_members(hdi_gbuild *b)
{
    const hd_stream *s = b->c.s;
    gmember *list = HDI_ARENA_ARRAY(&b->c.v.arena, gmember, b->node_count);
    uint32_t count = 0, first = 0;
    if (b->c.v.arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t n = 0; n < b->node_count; n++) {
        if (b->node[n].kind != HD_STREAM_NODE_COMMAND)
            continue;
        const hd_stream_command *x = &s->commands[b->node[n].command];
        if (x->pair)
            list[count++] = (gmember){x->buffer, x->pair, n};
    }
    if (count)
        qsort(list, count, sizeof(*list), by_member);
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].buffer != list[first].buffer || list[i].pair != list[first].pair)
            first = i;
        if (!hdi_graph_edge(b, list[first].node, list[i].node, HD_STREAM_EDGE_PAIR, HD_NONE))
            return HD_OUT_OF_MEMORY;
    }
    return HD_OK;
}

static bool declares(const hd_stream *s, const hd_stream_command *x)
{
    return x->kind == HD_STREAM_ACCESS && x->count && s->accesses[x->begin].flags & HD_STREAM_DECLARED;
}

/* What the shaders of a pass access is known by its declaration alone: draws and dispatches belong to that, and so do the
 * barriers between them. Of others nothing is known, so none of them is dead. */
static hd_result pair_shaders(hdi_gbuild *b)
{
    const uint64_t pipelines = HD_STREAM_STATE_PIPELINE(0) | HD_STREAM_STATE_PIPELINE(1);
    const hd_stream *s = b->c.s;
    uint32_t group = 0, declared = HDI_NONE;
    for (uint32_t n = 0; n < b->node_count; n++) {
        if (b->node[n].command == HD_NONE)
            continue;
        const hd_stream_command *x = &s->commands[b->node[n].command];
        bool barrier = b->node[n].kind == HD_STREAM_NODE_BARRIER, outside = !x->group || x->group != group;
        if (declares(s, x)) {
            group = x->group;
            declared = n;
        }
        if (barrier ? outside : !(x->uses & pipelines))
            continue;
        if (!x->group || x->group != group)
            b->root[n] |= HDI_GROOT_OUT;
        else if (!hdi_graph_edge(b, declared, n, HD_STREAM_EDGE_PAIR, HD_NONE))
            return HD_OUT_OF_MEMORY;
    }
    return HD_OK;
}

/* ---- the graph ---- */

typedef struct gsort {
    uint64_t *key, *key2;
    uint32_t *order, *order2;
} gsort;

static bool open_sort(hdi_gbuild *b, gsort *s, uint32_t count)
{
    hdi_arena *arena = &b->c.v.arena;
    s->key = HDI_ARENA_ARRAY(arena, uint64_t, count);
    s->key2 = HDI_ARENA_ARRAY(arena, uint64_t, count);
    s->order = HDI_ARENA_ARRAY(arena, uint32_t, count);
    s->order2 = HDI_ARENA_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count && !arena->failed; i++)
        s->order[i] = i;
    return !arena->failed;
}

static uint64_t key_of(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* By to, from, kind and resource, each once. */
static hd_result sort_edges(hdi_gbuild *b)
{
    gsort s;
    hdi_gedge *sorted = HDI_ARENA_ARRAY(&b->c.v.arena, hdi_gedge, b->edge_count);
    if (!open_sort(b, &s, b->edge_count))
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < b->edge_count; i++)
        s.key[i] = key_of(b->edge[i].kind, b->edge[i].resource);
    hdi_sort_u64(s.key, s.order, s.key2, s.order2, b->edge_count);
    for (uint32_t i = 0; i < b->edge_count; i++)
        s.key[i] = key_of(b->edge[s.order[i]].to, b->edge[s.order[i]].from);
    hdi_sort_u64(s.key, s.order, s.key2, s.order2, b->edge_count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->edge_count; i++) {
        const hdi_gedge *e = &b->edge[s.order[i]], *last = kept ? &sorted[kept - 1] : NULL;
        if (!last || memcmp(e, last, sizeof(*e)) != 0)
            sorted[kept++] = *e;
    }
    b->edge = sorted;
    b->edge_count = kept;
    return HD_OK;
}

/* By group and node, each once. */
static hd_result sort_touches(hdi_gbuild *b)
{
    gsort s;
    if (!open_sort(b, &s, b->touch_count))
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < b->touch_count; i++)
        s.key[i] = key_of(hdi_graph_group(b, b->touch[i].group), b->touch[i].node);
    hdi_sort_u64(s.key, s.order, s.key2, s.order2, b->touch_count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->touch_count; i++) {
        if (i == 0 || s.key[i] != s.key[i - 1])
            b->touch[kept++] = (hdi_gtouch){.node = (uint32_t)s.key[i], .group = (uint32_t)(s.key[i] >> 32)};
    }
    b->touch_count = kept;
    return HD_OK;
}

static uint32_t end_node(const hdi_gbuild *b, uint32_t end)
{
    const hdi_verify *v = &b->c.v;
    return end < v->d.use_count ? b->command_node[b->c.use_command[end]] : b->sync_node[end - v->d.use_count];
}

static uint32_t end_resource(const hdi_gbuild *b, uint32_t end)
{
    const hdi_verify *v = &b->c.v;
    return end < v->d.use_count ? v->d.use_res[end] : v->node[end - v->d.use_count].resource;
}

/* Pairs get their nodes, and an edge each; double edges and touches go. */
static hd_result close_lists(hdi_gbuild *b)
{
    for (uint32_t i = 0; i < b->pair_count; i++) {
        hdi_gpair *pair = &b->pair[i];
        uint32_t res = end_resource(b, pair->y);
        pair->x = end_node(b, pair->x);
        pair->y = end_node(b, pair->y);
        pair->group = hdi_graph_group(b, pair->group);
        if (!hdi_graph_edge(b, pair->x, pair->y, HD_STREAM_EDGE_ORDER, res))
            return HD_OUT_OF_MEMORY;
    }
    hd_result result = sort_touches(b);
    return result == HD_OK ? sort_edges(b) : result;
}

/* Those that wait for themselves come last. */
static uint32_t *order_submits(hdi_gbuild *b)
{
    uint32_t count = b->c.s->submit_count, at = 0;
    uint32_t *order = HDI_ARENA_ARRAY(&b->c.v.arena, uint32_t, count);
    uint8_t *seen = HDI_ARENA_ZEROED(&b->c.v.arena, uint8_t, count);
    for (uint32_t i = 0; i < b->c.order_count + count && !b->c.v.arena.failed; i++) {
        uint32_t submit = i < b->c.order_count ? b->c.sub[b->c.order[i]] : i - b->c.order_count;
        if (submit == HDI_NONE || seen[submit])
            continue;
        seen[submit] = 1;
        order[at++] = submit;
    }
    return order;
}

static hd_result publish(hdi_gbuild *b, hdi_stream_graph *g)
{
    hdi_arena *arena = &b->c.v.arena;
    hd_stream_edge *edges = HDI_ARENA_ARRAY(arena, hd_stream_edge, b->edge_count);
    uint32_t *begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)b->node_count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < b->edge_count; i++) {
        const hdi_gedge *e = &b->edge[i];
        edges[i] = (hd_stream_edge){e->from, e->to, e->kind, e->resource};
        begin[e->to + 1]++;
    }
    for (uint32_t n = 0; n < b->node_count; n++)
        begin[n + 1] += begin[n];
    g->view = (hd_stream_graph){.nodes = b->node,
                                .node_count = b->node_count,
                                .edges = edges,
                                .edge_count = b->edge_count,
                                .edge_begin = begin,
                                .command_node = b->command_node,
                                .command_count = b->c.s->command_count};
    g->pair = b->pair;
    g->pair_count = b->pair_count;
    g->touch = b->touch;
    g->touch_count = b->touch_count;
    g->group_count = b->c.v.seg_count;
    g->via = b->via;
    g->chain_begin = b->chain_begin;
    g->root = b->root;
    g->submit_order = order_submits(b);
    return HD_OK;
}

static hd_result build_graph(hdi_gbuild *b, hdi_stream_graph *g)
{
    hd_result result = hdi_cverify_build(&b->c);
    if (result == HD_OK)
        result = hdi_cverify_aliases(&b->c);
    if (result == HD_OK)
        result = make_steps(b);
    if (result == HD_OK)
        result = make_groups(b);
    if (result == HD_OK)
        result = hdi_graph_content(b);
    if (result == HD_OK)
        result = hdi_graph_order(b);
    if (result == HD_OK)
        result = pair_signals(b);
    if (result == HD_OK)
        result = pair_states(b);
    if (result == HD_OK)
        result = pair_objects(b);
    if (result == HD_OK)
        result = pair_members(b);
    if (result == HD_OK)
        result = pair_shaders(b);
    if (result == HD_OK)
        result = close_lists(b);
    if (result == HD_OK)
        result = publish(b, g);
    return result == HD_OK && b->c.v.arena.failed ? HD_OUT_OF_MEMORY : result;
}

hd_result hd_stream_graph_build(const hd_stream *stream, const hd_allocator *allocator, hd_stream_graph **out)
{
    static const hd_verify_desc none;
    if (!stream || !out)
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    hdi_gbuild b = {.c = {.s = stream, .desc = &none, .limit = UINT32_MAX}};
    b.c.v.desc = &none;
    b.c.v.limit = 1;
    hdi_arena_init(&b.c.v.arena, allocator);
    hdi_stream_graph *g = HDI_ARENA_ZEROED(&b.c.v.arena, hdi_stream_graph, 1);
    hd_result result = g ? build_graph(&b, g) : HD_OUT_OF_MEMORY;
    if (result != HD_OK) {
        hdi_arena_free(&b.c.v.arena);
        return result;
    }
    g->arena = b.c.v.arena;
    *out = &g->view;
    return HD_OK;
}

void hd_stream_graph_free(hd_stream_graph *graph)
{
    if (!graph)
        return;
    hdi_arena arena = ((hdi_stream_graph *)graph)->arena; /* the graph itself lies in it */
    hdi_arena_free(&arena);
}
