/* The graph of a captured stream: edges of content against a model that looks at all pairs of commands, what a command
 * needs and what is dead against the content that the stream leaves. Random streams need no device; those of frames, in
 * tests/capture, show that what is left verifies. HEDDLE_SEED replays one stream, HEDDLE_SEEDS sets how many. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "limited.h"
#include "random.h"
#include "random_graph.h"
#include "stream_content.h"

enum { BUFFER_BYTES = 8, WIDE = 3, HIGH = 3, MIPS = 2, QUEUES = 3, SUBMITS = 5, SEEDS = 3000 };
enum { BUFFER, IMAGE, ALIAS_BUFFER, ALIAS_IMAGE, MAPPED, RESOURCES };

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
        fprintf(f, "%s{\"kind\": \"%s\", \"name\": \"c%u\", ", i ? ", " : ", \"commands\": [",
                barrier ? "barrier" : "access", (*count)++);
        if (!barrier) /* two command buffers a submit */
            fprintf(f, "\"buffer\": %u, \"sets\": %u, \"uses\": %u, ", 2 * *submit + (i > 2),
                    hdt_below(seed, 4) * hdt_below(seed, 4), hdt_below(seed, 4) * hdt_below(seed, 4));
        fprintf(f, "\"list\": [");
        for (uint32_t k = 0; k < parts; k++) {
            fprintf(f, k ? ", " : "");
            if (barrier)
                put_barrier(f, seed, tenant);
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
    fprintf(f, "{\"memory\": 3, \"bytes\": %d, \"flags\": 4}], \"submits\": [", BUFFER_BYTES);
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

/* The command that set a bit of state last in the command buffer, by looking at all of them. */
static bool state_edge(const hd_stream *s, const hd_stream_graph *g, uint32_t from, uint32_t to)
{
    const hd_stream_command *x = &s->commands[g->nodes[from].command], *y = &s->commands[g->nodes[to].command];
    uint64_t shared = x->sets & y->uses;
    for (uint32_t n = from + 1; n < to; n++) {
        const hd_stream_node *node = &g->nodes[n];
        if (node->kind == HD_STREAM_NODE_COMMAND && s->commands[node->command].buffer == y->buffer)
            shared &= ~s->commands[node->command].sets;
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
    cr_assert_gt(edges, seeds);
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
            cr_assert_eq(whole.out, part.out, "seed %llu", (unsigned long long)(base + i));
            cr_assert(!end || hdt_content_stays(&whole, &part), "seed %llu: at the end",
                      (unsigned long long)(base + i));
            hdt_content_free(&part);
            for (uint32_t x = 0; x < g->node_count; x++) {
                if (live[x])
                    continue;
                keep[x] = 0;
                part = hdt_content_of(s, g, keep);
                cr_assert(whole.out == part.out && (!end || hdt_content_stays(&whole, &part)),
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
Test(stream_graph, reduced)
{
    uint64_t base = hdt_seed(), seeds = SEEDS / 10;
    hdt_seeds(&base, &seeds);
    for (uint32_t i = 0; i < seeds; i++) {
        hd_stream *s = random_stream(base + i, SUBMITS), *r = NULL;
        hd_stream_graph *g = graph_of(s);
        uint8_t *keep = calloc(g->node_count + 1, 1);
        uint32_t *number = malloc((g->node_count + 1) * sizeof(*number)), kept = 0;
        if (g->node_count)
            keep[hdt_below(&(uint64_t){base + i}, g->node_count)] = 1;
        cr_assert_eq(hd_stream_graph_needs(g, keep), HD_OK);
        cr_assert_eq(hd_stream_graph_reduce(s, g, keep, &r), HD_OK);
        hd_stream_graph *small = graph_of(r);
        for (uint32_t n = 0; n < g->node_count; n++) {
            number[n] = kept;
            kept += keep[n];
        }
        cr_assert_eq(small->node_count, kept, "seed %llu", (unsigned long long)(base + i));
        for (uint32_t e = 0; e < g->edge_count; e++) {
            const hd_stream_edge *x = &g->edges[e];
            if (x->kind == HD_STREAM_EDGE_CONTENT && keep[x->to])
                cr_assert(keep[x->from] && has_edge(small, number[x->from], number[x->to], x->kind));
        }
        hd_stream_graph_free(small);
        hd_stream_graph_free(g);
        hd_stream_free(s);
        hd_stream_free(r);
        free(keep);
        free(number);
    }
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
