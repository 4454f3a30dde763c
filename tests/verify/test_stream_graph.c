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
#include "stream_content.h"

enum { BUFFER_BYTES = 8, WIDE = 3, HIGH = 3, MIPS = 2, QUEUES = 3, SUBMITS = 5, SEEDS = 3000 };
enum { BUFFER, IMAGE, ALIAS_BUFFER, ALIAS_IMAGE, MAPPED, RESOURCES };
enum { OBJECTS = 5 }; /* from 1 on */

static void put_range(FILE *f, uint64_t *seed, uint32_t res)
{
    if (res == IMAGE || res == ALIAS_IMAGE) {
        uint32_t first = res == IMAGE ? hdt_below(seed, MIPS) : 0;
        fprintf(f, ", \"range\": [%u, %u, 0, 1]", first, res == IMAGE ? 1 + hdt_below(seed, MIPS - first) : 1);
        return;
    }
    uint32_t at = res == BUFFER ? hdt_below(seed, BUFFER_BYTES) : 0;
    fprintf(f, ", \"range\": [%u, %u]", at, res == BUFFER ? 1 + hdt_below(seed, BUFFER_BYTES - at) : BUFFER_BYTES);
}

/* Two resources share bytes. tenant: the one that has them; the buffer takes them by a copy over all of it, the image
 * by a transition from UNDEFINED, as valid streams do. */
static void put_access(FILE *f, uint64_t *seed, uint32_t *tenant)
{
    static const char *const masks[] = {"\"stages\": 4096, \"access\": 2048", "\"stages\": 4096, \"access\": 4096",
                                        "\"stages\": 2048, \"access\": 32", "\"stages\": 2048, \"access\": 64",
                                        "\"stages\": 2048, \"access\": 96"};
    uint32_t res = hdt_below(seed, RESOURCES), mask = hdt_below(seed, sizeof(masks) / sizeof(masks[0]));
    if (res == ALIAS_IMAGE && *tenant != ALIAS_IMAGE)
        res = IMAGE;
    if (res == ALIAS_BUFFER && *tenant != ALIAS_BUFFER) {
        mask = 1;
        *tenant = ALIAS_BUFFER;
    }
    fprintf(f, "{\"resource\": %u, %s", res, masks[mask]);
    if (res == IMAGE || res == ALIAS_IMAGE)
        fprintf(f, ", \"layout\": 1");
    if (hdt_below(seed, 8) == 0)
        fprintf(f, ", \"flags\": 2");
    put_range(f, seed, res);
    if (res == IMAGE && hdt_below(seed, 3)) {
        uint32_t x = hdt_below(seed, WIDE), y = hdt_below(seed, HIGH);
        fprintf(f, ", \"box\": [%u, %u, 0, %u, %u, 1]", x, y, 1 + hdt_below(seed, WIDE - x),
                1 + hdt_below(seed, HIGH - y));
    }
    fprintf(f, "}");
}

/* What the capture saw: reads of any queue, and writes by the host, which name all that shares the bytes. */
static void put_seen(FILE *f, uint64_t *seed, bool host, uint32_t tenant)
{
    static const uint32_t masks[] = {0x2000, 0x4000, 0x4000, 0x6000};
    uint32_t res = hdt_below(seed, RESOURCES), mask = masks[host ? hdt_below(seed, 4) : 0];
    bool alias = res == ALIAS_BUFFER || res == ALIAS_IMAGE;
    if (alias)
        res = mask & 0x4000 ? ALIAS_BUFFER : tenant == RESOURCES ? IMAGE : tenant;
    fprintf(f, "{\"resource\": %u, \"stages\": 16384, \"access\": %u, \"flags\": 4", res, mask);
    put_range(f, seed, res);
    if (alias && mask & 0x4000)
        fprintf(f, "}, {\"resource\": %u, \"stages\": 16384, \"access\": %u, \"flags\": 4, \"range\": [0, 1, 0, 1]",
                ALIAS_IMAGE, mask);
    fprintf(f, "}");
}

/* What the command was given, what it sets, uses and changes, and what it belongs to. */
static void put_given(FILE *f, uint64_t *seed)
{
    if (hdt_below(seed, 4)) {
        uint64_t sets = hdt_below(seed, 4) * hdt_below(seed, 4), uses = hdt_below(seed, 4) * hdt_below(seed, 4);
        sets |= hdt_below(seed, 4) * hdt_below(seed, 2) * HD_STREAM_STATE_OTHER; /* and QUERY, the bit above it */
        uses |= hdt_below(seed, 4) * hdt_below(seed, 2) * HD_STREAM_STATE_OTHER;
        fprintf(f, "\"sets\": %llu, \"uses\": %llu, ", (unsigned long long)sets, (unsigned long long)uses);
    }
    if (hdt_below(seed, 4) == 0)
        fprintf(f, "\"changes\": %u, ", 1 + hdt_below(seed, OBJECTS));
    if (hdt_below(seed, 4) == 0)
        fprintf(f, "\"pair\": %u, ", 1 + hdt_below(seed, 2));
    if (hdt_below(seed, 3) == 0)
        fprintf(f, "\"refs\": [%u, %u], \"data\": \"AA%uA\", ", 1 + hdt_below(seed, OBJECTS),
                1 + hdt_below(seed, OBJECTS), hdt_below(seed, 10));
    else if (hdt_below(seed, 4) == 0)
        fprintf(f, "\"data\": \"\", ");
}

static void put_barrier(FILE *f, uint64_t *seed, uint32_t *tenant)
{
    fprintf(f, "{\"src_stages\": 65536, \"src_access\": 65536, \"dst_stages\": 65536, \"dst_access\": 98304");
    uint32_t kind = hdt_below(seed, 4);
    if (kind == 1 || kind == 2) {
        fprintf(f, ", \"resource\": %u, \"old_layout\": %u, \"new_layout\": 1", IMAGE, kind == 1 ? 0 : 7);
        put_range(f, seed, IMAGE);
    } else if (kind == 3) {
        fprintf(f, ", \"resource\": %u, \"old_layout\": %u, \"new_layout\": %u", ALIAS_IMAGE,
                *tenant == ALIAS_IMAGE ? hdt_below(seed, 2) * 7 : 0, hdt_below(seed, 3) ? 1 : 1000001002);
        put_range(f, seed, ALIAS_IMAGE);
        *tenant = ALIAS_IMAGE;
    }
    fprintf(f, "}");
}

static void put_submit(FILE *f, uint64_t *seed, uint32_t *values, uint32_t *count, uint32_t *tenant, uint32_t *submit)
{
    uint32_t queue = hdt_below(seed, QUEUES), commands = hdt_below(seed, 6), other = hdt_below(seed, QUEUES);
    fprintf(f, "{\"name\": \"s\", \"queue\": %u", queue);
    if (other != queue && values[other])
        fprintf(f, ", \"waits\": [{\"semaphore\": %u, \"value\": %u, \"stages\": 65536}]", other,
                1 + hdt_below(seed, values[other]));
    for (uint32_t i = 0; i < commands; i++) {
        bool barrier = queue != 2 && hdt_below(seed, 3) == 0;
        uint32_t parts = 1 + hdt_below(seed, 3);
        if (!barrier && hdt_below(seed, 6) == 0)
            parts = 0;
        fprintf(f, "%s{\"kind\": \"%s\", \"name\": \"c%u\", ", i ? ", " : ", \"commands\": [",
                barrier ? "barrier" : "access", (*count)++);
        if (!barrier) { /* two command buffers a submit */
            fprintf(f, "\"buffer\": %u, ", 1 + 2 * *submit + (i > 2));
            put_given(f, seed);
        }
        fprintf(f, "\"list\": [");
        for (uint32_t k = 0; k < parts; k++) {
            fprintf(f, k ? ", " : "");
            if (barrier)
                put_barrier(f, seed, tenant);
            else if (hdt_below(seed, queue == 2 ? 2 : 8) == 0)
                put_seen(f, seed, queue == 2, *tenant);
            else
                put_access(f, seed, tenant);
        }
        fprintf(f, "]}");
    }
    fprintf(f, "%s, \"signals\": [{\"semaphore\": %u, \"value\": %u, \"stages\": 65536}]}", commands ? "]" : "", queue,
            ++values[queue]);
}

static hd_stream *random_stream(uint64_t seed, uint32_t submits)
{
    char *text = NULL, error[256] = "";
    size_t bytes = 0;
    uint32_t values[QUEUES] = {0}, count = 0, tenant = RESOURCES;
    FILE *f = open_memstream(&text, &bytes);
    cr_assert(f);
    fprintf(f,
            "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}, {\"kind\": 1, \"family\": 0}, {\"kind\": 3}], "
            "\"semaphores\": [{}, {}, {}], \"resources\": [");
    fprintf(f, "{\"memory\": 0, \"bytes\": %d}, {\"memory\": 1, \"bytes\": 64, \"mips\": %d, \"aspects\": 1}, ",
            BUFFER_BYTES, MIPS);
    fprintf(f, "{\"memory\": 2, \"bytes\": %d}, {\"memory\": 2, \"offset\": 4, \"bytes\": 64, \"aspects\": 1}, ",
            BUFFER_BYTES);
    fprintf(f, "{\"memory\": 3, \"bytes\": %d, \"flags\": 4, \"object\": 4}], ", BUFFER_BYTES);
    fprintf(f, "\"device\": 1, \"objects\": [{\"name\": \"d\", \"data\": \"\"}");
    for (uint32_t i = 2; i <= OBJECTS; i++)
        fprintf(f, ", {\"name\": \"o\", \"refs\": [%u, %u], \"data\": \"AA%uA\"}", 1 + hdt_below(&seed, i - 1),
                1 + hdt_below(&seed, i - 1), hdt_below(&seed, 10));
    fprintf(f, "], \"submits\": [");
    for (uint32_t i = 0; i < submits; i++) {
        fputs(i ? ", " : "", f);
        put_submit(f, &seed, values, &count, &tenant, &i);
    }
    fputs("]}", f);
    fclose(f);
    hd_stream *s = NULL;
    hd_result result = hd_stream_read(text, bytes, NULL, &s, error, sizeof(error));
    cr_assert_eq(result, HD_OK, "%s\n%s", error, text);
    free(text);
    if (getenv("HEDDLE_SEED") && !getenv("HEDDLE_SEEDS"))
        hd_stream_write(s, stderr);
    return s;
}

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

Test(stream_graph, content_of_random_streams)
{
    uint64_t base = hdt_seed(), seeds = SEEDS;
    hdt_seeds(&base, &seeds);
    uint64_t edges = 0;
    for (uint32_t i = 0; i < seeds; i++) {
        hd_stream *s = random_stream(base + i, SUBMITS);
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
        hd_stream *s = random_stream(base + i, SUBMITS);
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
        hd_stream *s = random_stream(base + i, SUBMITS);
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
        hd_stream *s = random_stream(base + i, SUBMITS);
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
            cr_assert(!whole.seen[y] || whole.seen[y] == part.seen[y], "seed %llu: node %u",
                      (unsigned long long)(base + i), y);
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
        hd_stream *s = random_stream(base + i, SUBMITS);
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

/* Commands in the order of the streams: the kept ones have what they had, and nothing else is left of objects. */
static void compare_given(const hd_stream *s, const hd_stream_graph *g, const uint8_t *keep, const hd_stream *r,
                          uint64_t seed)
{
    uint8_t *from = calloc(s->object_count + 1, 1), *to = calloc(r->object_count + 1, 1);
    uint8_t *touched = calloc(s->resource_count, 1);
    uint32_t at = 0, left = 0, objects = 0;
    for (uint32_t c = 0; c < s->command_count; c++) {
        const hd_stream_command *x = &s->commands[c];
        bool kept = x->kind == HD_STREAM_ACCESS && keep[g->command_node[c]];
        for (uint32_t n = 0; n < g->node_count && x->kind != HD_STREAM_ACCESS; n++)
            kept |= keep[n] && g->nodes[n].command == c;
        if (!kept)
            continue;
        const hd_stream_command *y = &r->commands[at++];
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
    cr_assert(at == r->command_count && left == objects && objects + 1 == r->object_count, "seed %llu",
              (unsigned long long)seed);
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
        hd_stream *s = random_stream(base + i, SUBMITS), *r = NULL;
        hd_stream_graph *g = graph_of(s);
        uint8_t *keep = calloc(g->node_count + 1, 1);
        if (g->node_count)
            keep[hdt_below(&(uint64_t){base + i}, g->node_count)] = 1;
        cr_assert_eq(hd_stream_graph_needs(g, keep), HD_OK);
        cr_assert_eq(hd_stream_graph_reduce(s, g, keep, &r), HD_OK);
        hd_stream_graph *small = graph_of(r);
        compare_nodes(g, keep, small, base + i);
        compare_given(s, g, keep, r, base + i);
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

Test(stream_graph, arguments_and_memory)
{
    hd_stream *s = random_stream(hdt_seed(), 20), *out = s;
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
