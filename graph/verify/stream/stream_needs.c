#include "stream_graph.h"

#include <string.h>

/* What a set of nodes needs: all that edges of content, layouts, signals and pairs lead to, and then what keeps the
 * commands in order that are left. A barrier between two accesses of a group of segments is needed when an access at or
 * before the first and one at or behind the second are: the chains of the pairs between them stay, so that a chain
 * leads on where a command in the middle is gone. Both are repeated until nothing is added: O((edges + pairs) *
 * rounds), with a few rounds. */

static const hdi_stream_graph *graph_of(const hd_stream_graph *graph)
{
    return (const hdi_stream_graph *)graph;
}

typedef struct closure {
    const hdi_stream_graph *g;
    uint8_t *keep;
    uint32_t *list, count;
    uint32_t *pair_begin, *partner; /* nodes that a later one belongs together with */
    uint32_t *first, *last;         /* of each group: the kept nodes that touch it */
} closure;

static void add(closure *c, uint32_t node)
{
    if (c->keep[node])
        return;
    c->keep[node] = 1;
    c->list[c->count++] = node;
}

static void follow(closure *c)
{
    const hd_stream_graph *g = &c->g->view;
    while (c->count) {
        uint32_t node = c->list[--c->count];
        for (uint32_t e = g->edge_begin[node]; e < g->edge_begin[node + 1]; e++) {
            if (g->edges[e].kind != HD_STREAM_EDGE_ORDER)
                add(c, g->edges[e].from);
        }
        for (uint32_t i = c->pair_begin[node]; i < c->pair_begin[node + 1]; i++)
            add(c, c->partner[i]);
    }
}

static void find_spans(closure *c)
{
    const hdi_stream_graph *g = c->g;
    memset(c->first, 0xff, g->group_count * sizeof(uint32_t));
    for (uint32_t i = 0; i < g->touch_count; i++) { /* by group, nodes ascend */
        const hdi_gtouch *touch = &g->touch[i];
        if (!c->keep[touch->node])
            continue;
        if (c->first[touch->group] == HDI_NONE)
            c->first[touch->group] = touch->node;
        c->last[touch->group] = touch->node;
    }
}

static void keep_in_order(closure *c)
{
    const hdi_stream_graph *g = c->g;
    for (uint32_t i = 0; i < g->pair_count; i++) {
        const hdi_gpair *pair = &g->pair[i];
        if (c->first[pair->group] == HDI_NONE || pair->x < c->first[pair->group] || pair->y > c->last[pair->group])
            continue;
        for (uint32_t v = g->chain_begin[pair->chain]; v < g->chain_begin[pair->chain + 1]; v++)
            add(c, g->via[v]);
        if (g->view.nodes[pair->x].kind == HD_STREAM_NODE_BARRIER) /* transitions order what they stand between */
            add(c, pair->x);
        if (g->view.nodes[pair->y].kind == HD_STREAM_NODE_BARRIER)
            add(c, pair->y);
    }
}

static void list_partners(closure *c)
{
    const hd_stream_graph *g = &c->g->view;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t e = 0; e < g->edge_count; e++) {
            if (g->edges[e].kind != HD_STREAM_EDGE_PAIR)
                continue;
            if (fill)
                c->partner[c->pair_begin[g->edges[e].from]++] = g->edges[e].to;
            else
                c->pair_begin[g->edges[e].from + 1]++;
        }
        for (uint32_t n = 0; n < g->node_count && !fill; n++)
            c->pair_begin[n + 1] += c->pair_begin[n];
    }
    memmove(c->pair_begin + 1, c->pair_begin, g->node_count * sizeof(uint32_t));
    c->pair_begin[0] = 0;
}

hd_result hd_stream_graph_needs(const hd_stream_graph *graph, uint8_t *keep)
{
    if (!graph || !keep)
        return HD_INVALID_ARGUMENT;
    closure c = {.g = graph_of(graph), .keep = keep};
    hdi_arena arena;
    hdi_arena_init(&arena, &c.g->arena.allocator);
    c.list = HDI_ARENA_ARRAY(&arena, uint32_t, graph->node_count);
    c.pair_begin = HDI_ARENA_ZEROED(&arena, uint32_t, (size_t)graph->node_count + 2);
    c.partner = HDI_ARENA_ARRAY(&arena, uint32_t, graph->edge_count);
    c.first = HDI_ARENA_ARRAY(&arena, uint32_t, c.g->group_count);
    c.last = HDI_ARENA_ARRAY(&arena, uint32_t, c.g->group_count);
    if (!arena.failed) {
        list_partners(&c);
        for (uint32_t n = 0; n < graph->node_count; n++) {
            if (keep[n])
                c.list[c.count++] = n;
        }
        while (c.count) {
            follow(&c);
            find_spans(&c);
            keep_in_order(&c);
        }
    }
    hd_result result = arena.failed ? HD_OUT_OF_MEMORY : HD_OK;
    hdi_arena_free(&arena);
    return result;
}

hd_result hd_stream_graph_live(const hd_stream_graph *graph, bool end, uint8_t *live)
{
    if (!graph || !live)
        return HD_INVALID_ARGUMENT;
    const uint8_t *root = graph_of(graph)->root;
    for (uint32_t n = 0; n < graph->node_count; n++)
        live[n] = (root[n] & HDI_GROOT_OUT) || (end && root[n]);
    return hd_stream_graph_needs(graph, live);
}
