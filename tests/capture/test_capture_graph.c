/* What random frames need, taken out of captured streams: what is left breaks no rule of synchronization, and gives the
 * same content. HEDDLE_SEED replays one frame, HEDDLE_SEEDS sets how many there are. */
#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <stdlib.h>
#include <string.h>

#include "capture_frames.h"
#include "random.h"
#include "random_graph.h"
#include "stream_content.h"

#if defined(__SANITIZE_ADDRESS__)
enum { SEEDS = 3, NEEDS = 4, ALONE = 10 }; /* many times as slow there */
#else
enum { SEEDS = 24, NEEDS = 12, ALONE = 40 };
#endif

typedef struct note {
    unsigned content, others;
    char first[400];
} note;

static void take(const char *text, void *user)
{
    note *n = user;
    bool content = strncmp(text, "content:", 8) == 0;
    n->content += content;
    if (!content && n->others++ == 0)
        snprintf(n->first, sizeof(n->first), "%.*s", (int)sizeof(n->first) - 1, text);
}

static note verify(const hd_stream *stream)
{
    note n = {0};
    hd_result result = hd_stream_verify(stream, &(hd_verify_desc){.message = take, .user = &n, .max_messages = 10000});
    cr_assert(result == HD_OK || result == HD_PLAN_INVALID);
    return n;
}

static void expect_valid(const hd_stream *s, const hd_stream_graph *g, const uint8_t *keep, unsigned content,
                         uint64_t seed, const char *what)
{
    hd_stream *part;
    cr_assert_eq(hd_stream_graph_reduce(s, g, keep, &part), HD_OK);
    note n = verify(part);
    cr_expect(n.others == 0 && n.content <= content, "HEDDLE_SEED=%llu: %s: %s", (unsigned long long)seed, what,
              n.first);
    hd_stream_free(part);
}

static void try_stream(const hd_stream *s, uint64_t seed, unsigned *left_out, unsigned *dead)
{
    char what[64];
    uint64_t random = seed;
    note before = verify(s);
    cr_assert_eq(before.others, 0, "HEDDLE_SEED=%llu: %s", (unsigned long long)seed, before.first);
    hd_stream_graph *g;
    cr_assert_eq(hd_stream_graph_build(s, NULL, &g), HD_OK);
    uint8_t *keep = malloc(g->node_count + 1), *live = malloc(g->node_count + 1);
    memset(keep, 1, g->node_count);
    hdt_content whole = hdt_content_of(s, g, keep);
    for (int i = 0; i < NEEDS && g->node_count; i++) {
        uint32_t y = hdt_below(&random, g->node_count);
        memset(keep, 0, g->node_count);
        keep[y] = 1;
        cr_assert_eq(hd_stream_graph_needs(g, keep), HD_OK);
        snprintf(what, sizeof(what), "what node %u needs", y);
        expect_valid(s, g, keep, before.content, seed, what);
        hdt_content part = hdt_content_of(s, g, keep);
        cr_expect(hdt_content_same(&whole, &part, y), "HEDDLE_SEED=%llu: node %u", (unsigned long long)seed, y);
        hdt_content_free(&part);
        for (uint32_t x = 0; x < g->node_count; x++)
            *left_out += !keep[x];
    }
    for (int end = 0; end < 2; end++) {
        cr_assert_eq(hd_stream_graph_live(g, end, live), HD_OK);
        expect_valid(s, g, live, before.content, seed, end ? "what is live, with the end" : "what is live");
        memset(keep, 1, g->node_count);
        for (int i = 0; i < ALONE && g->node_count; i++) {
            uint32_t x = hdt_below(&random, g->node_count);
            if (live[x])
                continue;
            keep[x] = 0;
            hdt_content part = hdt_content_of(s, g, keep);
            cr_expect(hdt_content_shows(&whole, &part) && (!end || hdt_content_stays(&whole, &part)),
                      "HEDDLE_SEED=%llu: node %u is not dead", (unsigned long long)seed, x);
            hdt_content_free(&part);
            keep[x] = 1;
            ++*dead;
        }
    }
    hdt_content_free(&whole);
    free(keep);
    free(live);
    hd_stream_graph_free(g);
}

Test(capture_graph, what_frames_need, .timeout = 1000)
{
    uint64_t first = 1, count = SEEDS;
    unsigned left_out = 0, dead = 0;
    hd_graph *graph;
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        hdt_random_executable_graph(graph, seed, 8 + (uint32_t)(seed % 12));
        hd_stream *stream = capture_frames(graph, 3);
        try_stream(stream, seed, &left_out, &dead);
        hd_stream_free(stream);
    }
    hd_graph_destroy(graph);
    cr_expect_gt(left_out, 0);
    cr_expect_gt(dead, 0);
}

/* What the host wrote counts on top of what its pass wrote: bytes beside it are the pass's, too. */
Test(capture_graph, writes_of_host_passes)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hd_graph_begin(graph);
    hd_resource from = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "from", .bytes = 4096});
    hd_resource to = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "to", .bytes = 4096});
    hd_graph_pass(graph, &(hd_pass_desc){.name = "fill", .type = HD_PASS_HOST, .uses = HD_USES({from, HD_HOST_WRITE})});
    hd_graph_pass(graph, &(hd_pass_desc){.name = "copy",
                                         .type = HD_PASS_TRANSFER,
                                         .root = true,
                                         .uses = HD_USES({from, HD_TRANSFER_SRC}, {to, HD_TRANSFER_DST})});
    hd_stream *s = capture_for_replay(graph, 2, false);
    unsigned writes = 0;
    uint32_t written = HD_NONE; /* by a host pass */
    for (uint32_t i = 0; i < s->command_count; i++) {
        const hd_stream_command *x = &s->commands[i];
        const hd_stream_access *a = &s->accesses[x->begin];
        if (strcmp(s->strings[x->name], "host pass") == 0 && a->access & VK_ACCESS_2_HOST_WRITE_BIT)
            written = a->resource;
        if (strcmp(s->strings[x->name], "host write") != 0 || !x->count || a->resource != written)
            continue;
        writes++;
        cr_expect_eq(a->access, VK_ACCESS_2_HOST_READ_BIT | VK_ACCESS_2_HOST_WRITE_BIT);
    }
    cr_expect_gt(writes, 0);
    hd_stream_free(s);
    hd_graph_destroy(graph);
}
