/* The graph of a captured stream: edges of content against a model that looks at all pairs of commands, what a command
 * needs and what is dead against the content that the stream leaves. Random streams need no device; those of frames, in
 * tests/capture, show that what is left verifies. HEDDLE_SEED replays one stream, HEDDLE_SEEDS sets how many. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "limited.h"
#include "random.h"
#include "random_graph.h"
#include "random_stream.h"
#include "slow.h"
#include "stream_content.h"

enum { SUBMITS = 5, SEEDS = HDT_SLOW ? 600 : 3000 };

static hd_stream_graph *graph_of(const hd_stream *s)
{
    hd_stream_graph *g = NULL;
    cr_assert_eq(hd_stream_graph_build(s, NULL, &g), HD_OK);
    return g;
}

static bool has_edge(const hd_stream_graph *g, uint32_t from, uint32_t to, uint32_t kind)
{
    for (uint32_t e = g->edge_begin[to]; e < g->edge_begin[to + 1]; e++) {
        if (g->edges[e].from == from && g->edges[e].kind == kind)
            return true;
    }
    return false;
}

/* A command all of whose accesses the capture only saw. */
static bool is_seen(const hd_stream *s, const hd_stream_node *node)
{
    if (node->kind != HD_STREAM_NODE_COMMAND)
        return false;
    const hd_stream_command *x = &s->commands[node->command];
    uint32_t seen = 0;
    for (uint32_t i = x->begin; i < x->begin + x->count; i++)
        seen += (s->accesses[i].flags & HD_STREAM_OBSERVED) != 0;
    return seen == x->count;
}

Test(stream_graph, content_of_random_streams)
{
    uint64_t base = hdt_seed(), seeds = SEEDS;
    hdt_seeds(&base, &seeds);
    uint64_t edges = 0;
    for (uint32_t i = 0; i < seeds; i++) {
        hd_stream *s = hdt_random_stream(base + i, SUBMITS);
        hd_stream_graph *g = graph_of(s);
        uint8_t *models = hdt_content_edges(s, g);
        for (uint32_t y = 0; y < g->node_count; y++) {
            for (uint32_t x = 0; x < g->node_count; x++) {
                bool model = models[(size_t)y * g->node_count + x], has = has_edge(g, x, y, HD_STREAM_EDGE_CONTENT);
                cr_assert_eq(has, model, "seed %llu: node %u %s node %u", (unsigned long long)(base + i), y,
                             has ? "needs, and should not," : "does not need, and should,", x);
                edges += has;
            }
        }
        for (uint32_t e = 0; e < g->edge_count; e++) {
            const hd_stream_edge *x = &g->edges[e];
            cr_assert(x->kind != HD_STREAM_EDGE_ORDER ||
                          (!is_seen(s, &g->nodes[x->from]) && !is_seen(s, &g->nodes[x->to])),
                      "seed %llu: nodes %u and %u are in order", (unsigned long long)(base + i), x->from, x->to);
        }
        free(models);
        hd_stream_graph_free(g);
        hd_stream_free(s);
    }
    cr_assert_gt(edges, seeds);
}

static uint64_t bare(const hd_stream_command *x)
{
    return x->data && !(x->count || x->sets || x->uses || x->changes) ? HD_STREAM_STATE_OTHER : 0;
}

/* The command that set a bit of state last in the command buffer, by looking at all of them. */
static bool state_edge(const hd_stream *s, const hd_stream_graph *g, uint32_t from, uint32_t to)
{
    const hd_stream_command *x = &s->commands[g->nodes[from].command], *y = &s->commands[g->nodes[to].command];
    uint64_t shared = (x->sets | bare(x)) & (y->uses | bare(y));
    for (uint32_t n = from + 1; n < to; n++) {
        const hd_stream_node *node = &g->nodes[n];
        if (node->kind == HD_STREAM_NODE_COMMAND && s->commands[node->command].buffer == y->buffer)
            shared &= ~(s->commands[node->command].sets | bare(&s->commands[node->command]));
    }
    return x->buffer == y->buffer && shared;
}

Test(stream_graph, state_of_random_streams)
{
    uint64_t base = hdt_seed(), seeds = SEEDS;
    hdt_seeds(&base, &seeds);
    uint64_t edges = 0;
    for (uint32_t i = 0; i < seeds; i++) {
        hd_stream *s = hdt_random_stream(base + i, SUBMITS);
        hd_stream_graph *g = graph_of(s);
        for (uint32_t y = 0; y < g->node_count; y++) {
            for (uint32_t x = 0; x < y; x++) {
                if (g->nodes[x].kind != HD_STREAM_NODE_COMMAND || g->nodes[y].kind != HD_STREAM_NODE_COMMAND)
                    continue;
                bool has = has_edge(g, x, y, HD_STREAM_EDGE_STATE);
                cr_assert_eq(has, state_edge(s, g, x, y), "seed %llu: nodes %u and %u", (unsigned long long)(base + i),
                             x, y);
                edges += has;
            }
        }
        hd_stream_graph_free(g);
        hd_stream_free(s);
    }
    cr_assert_gt(edges, seeds / 2);
}

/* The latest command before that changes the object. */
static uint32_t changed_by(const hd_stream *s, const hd_stream_graph *g, uint32_t object, uint32_t before)
{
    while (before-- > 0) {
        const hd_stream_node *node = &g->nodes[before];
        if (node->kind == HD_STREAM_NODE_COMMAND && object && s->commands[node->command].changes == object)
            return before;
    }
    return HD_NONE;
}

static bool object_edge(const hd_stream *s, const hd_stream_graph *g, uint32_t from, uint32_t to)
{
    const hd_stream_command *y = &s->commands[g->nodes[to].command];
    bool edge = changed_by(s, g, y->changes, to) == from;
    for (uint32_t i = 0; y->data && i < s->datas[y->data].ref_count; i++)
        edge |= changed_by(s, g, s->refs[s->datas[y->data].ref_begin + i], to) == from;
    return edge;
}

/* The first one of a pair with each other one. */
static bool pair_edge(const hd_stream *s, const hd_stream_graph *g, uint32_t from, uint32_t to)
{
    const hd_stream_command *x = &s->commands[g->nodes[from].command], *y = &s->commands[g->nodes[to].command];
    bool first = true;
    for (uint32_t n = 0; n < from; n++) {
        const hd_stream_command *z = &s->commands[g->nodes[n].kind == HD_STREAM_NODE_COMMAND ? g->nodes[n].command : 0];
        first &= g->nodes[n].kind != HD_STREAM_NODE_COMMAND || z->buffer != x->buffer || z->pair != x->pair;
    }
    return x->pair && first && x->buffer == y->buffer && x->pair == y->pair;
}

Test(stream_graph, objects_and_pairs_of_random_streams)
{
    uint64_t base = hdt_seed(), seeds = SEEDS;
    hdt_seeds(&base, &seeds);
    uint64_t objects = 0, pairs = 0;
    for (uint32_t i = 0; i < seeds; i++) {
        hd_stream *s = hdt_random_stream(base + i, SUBMITS);
        hd_stream_graph *g = graph_of(s);
        for (uint32_t y = 0; y < g->node_count; y++) {
            for (uint32_t x = 0; x < y; x++) {
                if (g->nodes[x].kind != HD_STREAM_NODE_COMMAND || g->nodes[y].kind != HD_STREAM_NODE_COMMAND)
                    continue;
                bool object = has_edge(g, x, y, HD_STREAM_EDGE_OBJECT), pair = has_edge(g, x, y, HD_STREAM_EDGE_PAIR);
                cr_assert(object == object_edge(s, g, x, y) && pair == pair_edge(s, g, x, y),
                          "seed %llu: nodes %u and %u", (unsigned long long)(base + i), x, y);
                objects += object;
                pairs += pair;
            }
        }
        hd_stream_graph_free(g);
        hd_stream_free(s);
    }
    cr_assert(objects > seeds && pairs > seeds / 10);
}

/* A command sees the same content when only what it needs is executed. */
Test(stream_graph, needs_of_random_streams)
{
    uint64_t base = hdt_seed(), seeds = SEEDS;
    hdt_seeds(&base, &seeds);
    uint64_t left_out = 0, defined = 0;
    for (uint32_t i = 0; i < seeds; i++) {
        hd_stream *s = hdt_random_stream(base + i, SUBMITS);
        hd_stream_graph *g = graph_of(s);
        uint8_t *keep = calloc(g->node_count + 1, 1), *all = malloc(g->node_count + 1);
        memset(all, 1, g->node_count + 1);
        hdt_content whole = hdt_content_of(s, g, all);
        for (uint32_t y = 0; y < g->node_count; y++) {
            memset(keep, 0, g->node_count);
            keep[y] = 1;
            cr_assert_eq(hd_stream_graph_needs(g, keep), HD_OK);
            hdt_content part = hdt_content_of(s, g, keep);
            defined += whole.seen[y] != 0;
            cr_assert(hdt_content_same(&whole, &part, y), "seed %llu: node %u", (unsigned long long)(base + i), y);
            for (uint32_t x = 0; x < g->node_count; x++)
                left_out += !keep[x];
            for (uint32_t e = 0; e < g->edge_count; e++) /* neither goes without the other */
                cr_assert(g->edges[e].kind != HD_STREAM_EDGE_PAIR || keep[g->edges[e].from] == keep[g->edges[e].to]);
            hdt_content_free(&part);
        }
        hdt_content_free(&whole);
        free(keep);
        free(all);
        hd_stream_graph_free(g);
        hd_stream_free(s);
    }
    cr_assert_gt(left_out, seeds);
    cr_assert_gt(defined, seeds);
}

/* Each dead node goes alone, and all together: what the host reads, what is presented and what stands at the end stays.
 */
Test(stream_graph, dead_of_random_streams)
{
    uint64_t base = hdt_seed(), seeds = SEEDS;
    hdt_seeds(&base, &seeds);
    uint64_t dead = 0;
    for (uint32_t i = 0; i < seeds; i++) {
        hd_stream *s = hdt_random_stream(base + i, SUBMITS);
        hd_stream_graph *g = graph_of(s);
        uint8_t *live = malloc(g->node_count + 1), *keep = malloc(g->node_count + 1);
        for (int end = 0; end < 2; end++) {
            cr_assert_eq(hd_stream_graph_live(g, end, live), HD_OK);
            memset(keep, 1, g->node_count);
            hdt_content whole = hdt_content_of(s, g, keep), part = hdt_content_of(s, g, live);
            cr_assert(hdt_content_shows(&whole, &part), "seed %llu", (unsigned long long)(base + i));
            cr_assert(!end || hdt_content_stays(&whole, &part), "seed %llu: at the end",
                      (unsigned long long)(base + i));
            hdt_content_free(&part);
            for (uint32_t x = 0; x < g->node_count; x++) {
                if (live[x])
                    continue;
                keep[x] = 0;
                part = hdt_content_of(s, g, keep);
                cr_assert(hdt_content_shows(&whole, &part) && (!end || hdt_content_stays(&whole, &part)),
                          "seed %llu: node %u is not dead", (unsigned long long)(base + i), x);
                hdt_content_free(&part);
                keep[x] = 1;
                dead++;
            }
            hdt_content_free(&whole);
        }
        free(live);
        free(keep);
        hd_stream_graph_free(g);
        hd_stream_free(s);
    }
    cr_assert_gt(dead, seeds);
}

/* The smaller stream is the kept nodes: its own graph has as many, and the same edges of content. */
static void compare_nodes(const hd_stream_graph *g, const uint8_t *keep, const hd_stream_graph *small, uint64_t seed)
{
    uint32_t *number = malloc((g->node_count + 1) * sizeof(*number)), kept = 0;
    for (uint32_t n = 0; n < g->node_count; n++) {
        number[n] = kept;
        kept += keep[n];
    }
    cr_assert_eq(small->node_count, kept, "seed %llu", (unsigned long long)seed);
    for (uint32_t e = 0; e < g->edge_count; e++) {
        const hd_stream_edge *x = &g->edges[e];
        if (x->kind == HD_STREAM_EDGE_CONTENT && keep[x->to])
            cr_assert(keep[x->from] && has_edge(small, number[x->from], number[x->to], x->kind));
    }
    free(number);
}

static uint64_t closure_of_data(const hd_stream *s, uint32_t number, uint8_t *reached);

/* The object, what it was given, and all that it names, without numbers. */
static uint64_t closure_of(const hd_stream *s, uint32_t object, uint8_t *reached)
{
    if (!object)
        return 0;
    reached[object] = 1;
    const char *name = s->strings[s->objects[object].name];
    return hdi_hash_bytes(name, strlen(name), closure_of_data(s, s->objects[object].data, reached));
}

static uint64_t closure_of_data(const hd_stream *s, uint32_t number, uint8_t *reached)
{
    const hd_stream_data *data = &s->datas[number];
    if (!number)
        return 0;
    uint64_t hash = hdi_hash_bytes(s->bytes + data->byte_begin, data->byte_count, data->ref_count);
    for (uint32_t i = 0; i < data->ref_count; i++) {
        uint64_t ref = closure_of(s, s->refs[data->ref_begin + i], reached);
        hash = hdi_hash_bytes(&ref, sizeof(ref), hash);
    }
    return hash;
}

/* The kept commands have what they had, and nothing else is left of objects. Names of commands are unique. */
static void compare_given(const hd_stream *s, const hd_stream *r, uint64_t seed)
{
    uint8_t *from = calloc(s->object_count + 1, 1), *to = calloc(r->object_count + 1, 1);
    uint8_t *touched = calloc(s->resource_count, 1);
    uint32_t left = 0, objects = 0;
    for (uint32_t c = 0; c < r->command_count; c++) {
        const hd_stream_command *x = s->commands, *y = &r->commands[c];
        while (strcmp(s->strings[x->name], r->strings[y->name]) != 0)
            x++;
        cr_assert_eq(closure_of_data(s, x->data, from), closure_of_data(r, y->data, to), "seed %llu: command %u",
                     (unsigned long long)seed, c);
        cr_assert_eq(closure_of(s, x->changes, from), closure_of(r, y->changes, to));
        cr_assert(x->pair == y->pair && (x->data == 0) == (y->data == 0));
    }
    for (uint32_t i = 0; i < r->access_count; i++)
        touched[r->accesses[i].resource] = 1;
    for (uint32_t i = 0; i < r->barrier_count; i++)
        touched[r->barriers[i].resource == HD_NONE ? 0 : r->barriers[i].resource] |= r->barriers[i].resource != HD_NONE;
    for (uint32_t i = 0; i < s->resource_count; i++)
        cr_assert_eq(touched[i] ? closure_of(s, s->resources[i].object, from) : 0,
                     closure_of(r, r->resources[i].object, to));
    cr_assert_eq(closure_of(s, s->device, from), closure_of(r, r->device, to));
    for (uint32_t o = 1; o < s->object_count; o++)
        left += from[o];
    for (uint32_t o = 1; o < r->object_count; o++)
        objects += to[o];
    cr_assert(left == objects && objects + 1 == r->object_count, "seed %llu", (unsigned long long)seed);
    free(from);
    free(to);
    free(touched);
}

/* It is the same once it has been in a file. */
static void compare_file(const hd_stream *r)
{
    char *text[2] = {0}, error[256];
    size_t bytes[2];
    hd_stream *back = NULL;
    for (int i = 0; i < 2; i++) {
        FILE *f = open_memstream(&text[i], &bytes[i]);
        cr_assert(f && hd_stream_write(i ? back : r, f) == HD_OK);
        fclose(f);
        if (i == 0)
            cr_assert_eq(hd_stream_read(text[0], bytes[0], NULL, &back, error, sizeof(error)), HD_OK, "%s", error);
    }
    cr_assert_str_eq(text[0], text[1]);
    hd_stream_free(back);
    free(text[0]);
    free(text[1]);
}

Test(stream_graph, reduced)
{
    uint64_t base = hdt_seed(), seeds = SEEDS / 10, gone = 0;
    hdt_seeds(&base, &seeds);
    for (uint32_t i = 0; i < seeds; i++) {
        hd_stream *s = hdt_random_stream(base + i, SUBMITS), *r = NULL;
        hd_stream_graph *g = graph_of(s);
        uint8_t *keep = calloc(g->node_count + 1, 1);
        if (g->node_count)
            keep[hdt_below(&(uint64_t){base + i}, g->node_count)] = 1;
        cr_assert_eq(hd_stream_graph_needs(g, keep), HD_OK);
        cr_assert_eq(hd_stream_graph_reduce(s, g, keep, &r), HD_OK);
        hd_stream_graph *small = graph_of(r);
        compare_nodes(g, keep, small, base + i);
        compare_given(s, r, base + i);
        compare_file(r);
        gone += s->object_count - r->object_count;
        hd_stream_graph_free(small);
        hd_stream_graph_free(g);
        hd_stream_free(s);
        hd_stream_free(r);
        free(keep);
    }
    cr_assert_gt(gone, seeds / 2);
}

/* Two writes by the device stay in order where the host has written between them. */
Test(stream_graph, writes_below_a_seen_one)
{
    static const char text[] = "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}, {\"kind\": 3}], "
                               "\"semaphores\": [], \"resources\": "
                               "[{\"bytes\": 8}], \"submits\": [{\"name\": \"s\", \"queue\": 0, \"commands\": "
                               "[{\"kind\": \"access\", \"name\": "
                               "\"fill\", \"list\": [{\"resource\": 0, \"stages\": 4096, \"access\": 4096, \"range\": "
                               "[0, 8]}]}]}, {\"name\": \"h\", "
                               "\"queue\": 1, \"commands\": [{\"kind\": \"access\", \"name\": \"host write\", "
                               "\"data\": \"AAAA\", \"list\": [{\"resource\": 0, "
                               "\"stages\": 16384, \"access\": 16384, \"flags\": 4, \"range\": [0, 8]}]}]}, {\"name\": "
                               "\"s\", \"queue\": 0, \"commands\": "
                               "[{\"kind\": \"barrier\", \"name\": \"b\", \"list\": [{\"src_stages\": 4096, "
                               "\"src_access\": 4096, \"dst_stages\": 4096, "
                               "\"dst_access\": 4096}]}, {\"kind\": \"access\", \"name\": \"part\", \"list\": "
                               "[{\"resource\": 0, \"stages\": 4096, "
                               "\"access\": 4096, \"range\": [0, 4]}]}]}]}";
    hd_stream *s = NULL, *r = NULL;
    cr_assert_eq(hd_stream_read(text, strlen(text), NULL, &s, NULL, 0), HD_OK);
    s->commands[0].data = s->commands[1].data; /* data that two commands share is copied once */
    hd_stream_graph *g = graph_of(s);
    cr_assert_eq(g->node_count, 4);
    cr_expect(has_edge(g, 0, 3, HD_STREAM_EDGE_ORDER) && !has_edge(g, 0, 3, HD_STREAM_EDGE_CONTENT));
    uint8_t keep[4] = {1, 1, 0, 1};
    cr_assert_eq(hd_stream_graph_needs(g, keep), HD_OK);
    cr_expect(keep[2], "the barrier between both writes");
    cr_assert_eq(hd_stream_graph_reduce(s, g, keep, &r), HD_OK);
    cr_expect(r->data_count == 2 && r->byte_count == 3 && r->commands[0].data == 1 && r->commands[1].data == 1);
    uint8_t live[4];
    cr_assert_eq(hd_stream_graph_live(g, true, live), HD_OK);
    cr_expect(!live[0] && live[1] && live[3], "the first write does not stand at the end");
    hd_stream_graph_free(g);
    hd_stream_free(s);
    hd_stream_free(r);
}

/* A submit that is held back reads what the host writes behind it: in a smaller stream it comes behind. */
Test(stream_graph, reduced_in_the_order_of_nodes)
{
    static const char text[] =
        "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}, {\"kind\": 3}], \"semaphores\": [{}], "
        "\"resources\": "
        "[{\"bytes\": 8, \"flags\": 4}], \"submits\": [{\"name\": \"s\", \"queue\": 0, \"waits\": [{\"semaphore\": 0, "
        "\"value\": 1, \"stages\": 65536}], \"commands\": [{\"kind\": \"access\", \"name\": \"copy\", \"list\": "
        "[{\"resource\": 0, "
        "\"stages\": 4096, \"access\": 2048, \"range\": [0, 8]}]}]}, {\"name\": \"h\", \"queue\": 1, \"commands\": "
        "[{\"kind\": "
        "\"access\", \"name\": \"host write\", \"list\": [{\"resource\": 0, \"stages\": 16384, \"access\": 16384, "
        "\"flags\": 4, "
        "\"range\": [0, 8]}]}]}, {\"name\": \"signal\", \"queue\": 1, \"signals\": [{\"semaphore\": 0, \"value\": 1, "
        "\"stages\": "
        "65536}]}]}";
    hd_stream *s = NULL, *r = NULL;
    cr_assert_eq(hd_stream_read(text, strlen(text), NULL, &s, NULL, 0), HD_OK);
    hd_stream_graph *g = graph_of(s);
    uint8_t keep[8] = {0};
    cr_assert(g->node_count <= 8);
    keep[g->command_node[0]] = 1;
    cr_assert_eq(hd_stream_graph_needs(g, keep), HD_OK);
    cr_assert_eq(hd_stream_graph_reduce(s, g, keep, &r), HD_OK);
    cr_assert_eq(r->command_count, 2);
    cr_expect_str_eq(r->strings[r->commands[0].name], "host write");
    cr_expect_str_eq(r->strings[r->submits[0].name], "h");
    hd_stream_graph_free(g);
    hd_stream_free(s);
    hd_stream_free(r);
}

/* The last read of a kind stands for those before it in front of a write; one of another pass does not. */
Test(stream_graph, reads_of_one_kind)
{
#define READ(group)                                                                                                    \
    "{\"kind\": \"access\", \"name\": \"read\", \"group\": " group ", \"list\": [{\"resource\": 0, \"stages\": 4096, " \
    "\"access\": 2048, \"range\": [0, 8]}]}, "
    static const char text[] =
        "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}], \"semaphores\": [], \"resources\": [{\"bytes\": "
        "8}], "
        "\"submits\": [{\"name\": \"s\", \"queue\": 0, \"commands\": [" READ("1") READ("2") READ("1")
            READ("1") "{\"kind\": \"barrier\", \"name\": \"b\", \"list\": [{\"src_stages\": 4096, \"src_access\": 0, "
                      "\"dst_stages\": 4096, "
                      "\"dst_access\": 0}]}, {\"kind\": \"access\", \"name\": \"write\", \"list\": [{\"resource\": 0, "
                      "\"stages\": 4096, "
                      "\"access\": 4096, \"range\": [0, 8]}]}]}]}";
    hd_stream *s = NULL;
    cr_assert_eq(hd_stream_read(text, strlen(text), NULL, &s, NULL, 0), HD_OK);
    hd_stream_graph *g = graph_of(s);
    cr_assert_eq(g->node_count, 6);
    cr_expect(!has_edge(g, 0, 5, HD_STREAM_EDGE_ORDER) && has_edge(g, 1, 5, HD_STREAM_EDGE_ORDER));
    cr_expect(!has_edge(g, 2, 5, HD_STREAM_EDGE_ORDER) && has_edge(g, 3, 5, HD_STREAM_EDGE_ORDER));
    uint8_t keep[6] = {1, 0, 0, 0, 0, 1};
    cr_assert_eq(hd_stream_graph_needs(g, keep), HD_OK);
    cr_expect(keep[4] && !keep[3], "the barrier stays for the first read");
    hd_stream_graph_free(g);
    hd_stream_free(s);
}

/* A submit waits for a signal of the host that comes later, and a read is seen right behind the signal: it sees what
 * the submit wrote, as in any order of the calls, and not the write of a submit before. */
Test(stream_graph, what_is_seen_behind_a_signal)
{
#define ACCESS(name, flags, access)                                                                                    \
    "{\"kind\": \"access\", \"name\": \"" name "\", \"list\": [{\"resource\": 0, \"stages\": 16384, \"flags\": " flags \
    ", \"access\": " access ", \"range\": [0, 8]}]}"
#define SYNC(value) "[{\"semaphore\": 0, \"value\": " value ", \"stages\": 65536}]"
    static const char text[] =
        "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}, {\"kind\": 3}], \"semaphores\": [{\"binary\": 0, "
        "\"initial\": 0}], \"resources\": [{\"bytes\": 8}], \"submits\": ["
        "{\"name\": \"s\", \"queue\": 0, \"waits\": " SYNC("1") ", \"commands\": [" ACCESS(
            "first", "0",
            "16384") "]}, "
                     "{\"name\": \"s\", \"queue\": 1, \"signals\": " SYNC(
                         "1") "}, "
                              "{\"name\": \"s\", \"queue\": 0, \"waits\": " SYNC("2") ", \"commands\": [" ACCESS(
                                  "second", "0",
                                  "16384") "]}, "
                                           "{\"name\": \"s\", \"queue\": 1, \"signals\": " SYNC(
                                               "2") "}, "
                                                    "{\"name\": \"s\", \"queue\": 1, \"commands\": [" ACCESS(
                                                        "host read", "4", "8192") "]}]}";
    char error[256] = "";
    hd_stream *s = NULL;
    cr_assert_eq(hd_stream_read(text, strlen(text), NULL, &s, error, sizeof(error)), HD_OK, "%s", error);
    hd_stream_graph *g = graph_of(s);
    uint32_t second = g->command_node[1], seen = g->command_node[2];
    cr_expect_lt(second, seen);
    cr_expect(has_edge(g, second, seen, HD_STREAM_EDGE_CONTENT));
    hd_stream_graph_free(g);
    hd_stream_free(s);
}

/* Of two barriers behind a fill one shows it to the host, the other to no command. */
Test(stream_graph, barriers_for_the_host_live)
{
    static const char text[] =
        "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}], \"semaphores\": [], \"resources\": "
        "[{\"bytes\": 8}], \"submits\": [{\"name\": \"s\", \"queue\": 0, \"commands\": [{\"kind\": \"access\", "
        "\"name\": \"fill\", \"list\": [{\"resource\": 0, \"stages\": 4096, \"access\": 4096, \"range\": [0, 8]}]}, "
        "{\"kind\": \"barrier\", \"name\": \"b\", \"list\": [{\"src_stages\": 4096, \"src_access\": 4096, "
        "\"dst_stages\": 16384, \"dst_access\": 8192}, {\"src_stages\": 4096, \"src_access\": 4096, \"dst_stages\": "
        "4096, \"dst_access\": 2048}]}]}]}";
    hd_stream *s = NULL;
    cr_assert_eq(hd_stream_read(text, strlen(text), NULL, &s, NULL, 0), HD_OK);
    hd_stream_graph *g = graph_of(s);
    uint8_t live[3];
    cr_assert_eq(g->node_count, 3);
    cr_assert_eq(hd_stream_graph_live(g, true, live), HD_OK);
    cr_expect(live[0] && live[1] && !live[2]);
    hd_stream_graph_free(g);
    hd_stream_free(s);
}

Test(stream_graph, arguments_and_memory)
{
    hd_stream *s = hdt_random_stream(hdt_seed(), 20), *out = s;
    hd_stream_graph *g = graph_of(s), *none = g;
    uint8_t byte[1] = {0};
    cr_assert_eq(hd_stream_graph_build(NULL, NULL, &none), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_stream_graph_build(s, NULL, NULL), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_stream_graph_needs(NULL, byte), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_stream_graph_needs(g, NULL), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_stream_graph_live(NULL, true, byte), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_stream_graph_live(g, true, NULL), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_stream_graph_reduce(NULL, g, byte, &out), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_stream_graph_reduce(s, g, NULL, &out), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_stream_graph_reduce(s, g, byte, NULL), HD_INVALID_ARGUMENT);
    hd_stream_graph_free(NULL);
    hd_stream_graph_free(g);
    hd_stream_free(s);
}
