/* What the executor gives to Vulkan, broken in single ways: the verifier of streams against the plain graph of barriers
 * and semaphores, which looks for races only. What both let live must be harmless. HEDDLE_SEED replays one graph,
 * HEDDLE_SEEDS sets how many there are. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "capture_frames.h"
#include "random.h"
#include "random_graph.h"
#include "stream_brute.h"
#include "stream_mutate.h"

#if defined(__SANITIZE_ADDRESS__)
enum { PLACES = 4, SEEDS = 1 }; /* many times as slow there */
#else
enum { PLACES = 24, SEEDS = 3 };
#endif

typedef enum harmless { SAME, MORE, NOT_MET, NOT_LOOKED, HARMLESS } harmless;
static const char *const harmless_names[HARMLESS] = {"others order the same", "it orders more",
                                                     "what it ordered does not meet", "no use has the layout"};

typedef struct tally {
    unsigned made, verifier, asked, graph, live[HARMLESS];
} tally;

typedef struct note {
    bool race;
    unsigned content; /* reads of unwritten content: random graphs read histories that are not written as a whole */
    char first[400];  /* of the others */
} note;

static void take(const char *text, void *user)
{
    note *n = user;
    bool content = strncmp(text, "content:", 8) == 0;
    n->content += content;
    n->race |= strncmp(text, "race", 4) == 0;
    if (!n->first[0] && !content)
        snprintf(n->first, sizeof(n->first), "%.*s", (int)sizeof(n->first) - 1, text);
}

static note verify(const hd_stream *stream)
{
    note n = {0};
    hd_result result = hd_stream_verify(stream, &(hd_verify_desc){.message = take, .user = &n, .max_messages = 10000});
    cr_assert(result == HD_OK || result == HD_PLAN_INVALID);
    return n;
}

static bool ranges_meet(const hd_range *a, const hd_range *b)
{
    return a->mip_base < b->mip_base + b->mip_count && b->mip_base < a->mip_base + a->mip_count &&
           a->layer_base < b->layer_base + b->layer_count && b->layer_base < a->layer_base + a->layer_count;
}

/* The first command from c on, in the order of the calls, that touches the subresource throws its content away, or
 * there is none. */
static bool is_thrown_away(const hd_stream *s, uint32_t c, uint32_t resource, const hd_range *cell)
{
    for (; c < s->command_count; c++)
        for (uint32_t i = s->commands[c].begin; i < s->commands[c].begin + s->commands[c].count; i++) {
            bool access = s->commands[c].kind == HD_STREAM_ACCESS;
            const hd_range *range = access ? &s->accesses[i].range : &s->barriers[i].range;
            if ((access ? s->accesses[i].resource : s->barriers[i].resource) == resource && ranges_meet(range, cell))
                return !access && !s->barriers[i].old_layout;
        }
    return true;
}

static bool layout_is_unused(const hd_stream *s, uint32_t barrier)
{
    const hd_stream_barrier *b = &s->barriers[barrier];
    uint32_t c = 0;
    while (s->commands[c].kind == HD_STREAM_ACCESS || barrier < s->commands[c].begin ||
           barrier >= s->commands[c].begin + s->commands[c].count)
        c++;
    for (uint32_t n = 0; n < (uint32_t)b->range.mip_count * b->range.layer_count; n++) {
        hd_range cell = b->range;
        cell.mip_base = (uint16_t)(cell.mip_base + n % b->range.mip_count);
        cell.layer_base += n / b->range.mip_count;
        cell.mip_count = 1;
        cell.layer_count = 1;
        if (!is_thrown_away(s, c + 1, b->resource, &cell))
            return false;
    }
    return true;
}

/* The barrier whose new layout alone is another; HD_NONE: there is none. */
static uint32_t other_layout(const hd_stream *whole, const hd_stream *broken)
{
    for (uint32_t b = 0; b < whole->barrier_count; b++)
        if (whole->barriers[b].new_layout != broken->barriers[b].new_layout)
            return b;
    return HD_NONE;
}

/* False: the two do not agree. */
static bool try_one(const hd_stream *stream, const hd_stream *mutant, hdt_mutation mutation, const unsigned char *whole,
                    unsigned content, tally *t, char *why, size_t bytes)
{
    unsigned char *order;
    note n = verify(mutant);
    bool refused = n.first[0] || n.content > content;
    hdt_stream_verdict verdict = hdt_stream_brute(mutant, &order, why, bytes);
    bool agree = true, lost, gained;
    t->made++;
    t->verifier += refused;
    t->asked += verdict != HDT_STREAM_UNKNOWN;
    t->graph += verdict == HDT_STREAM_RACES;
    if (verdict == HDT_STREAM_HOLDS && n.race) {
        agree = false;
        snprintf(why, bytes, "only the verifier: %s", n.first);
    } else if (verdict == HDT_STREAM_RACES && !refused) {
        agree = false; /* why says which two */
    } else if (!refused) {
        agree = verdict == HDT_STREAM_HOLDS;
        hdt_stream_compare(mutant, whole, order, &lost, &gained);
        uint32_t barrier = mutation == HDT_WRONG_NEW_LAYOUT ? other_layout(stream, mutant) : HD_NONE;
        if (barrier != HD_NONE && !layout_is_unused(mutant, barrier)) {
            agree = false;
            snprintf(why, bytes, "barrier %u leaves a layout in which it is used", barrier);
        }
        t->live[barrier != HD_NONE ? NOT_LOOKED : lost ? NOT_MET : gained ? MORE : SAME]++;
    }
    free(order);
    return agree;
}

static void break_it(const hd_stream *stream, uint64_t seed, tally *tallies)
{
    char why[512];
    unsigned char *whole;
    uint64_t random = seed;
    note before = verify(stream);
    cr_assert_str_eq(before.first, "", "HEDDLE_SEED=%llu", (unsigned long long)seed);
    cr_assert_eq(hdt_stream_brute(stream, &whole, why, sizeof(why)), HDT_STREAM_HOLDS, "HEDDLE_SEED=%llu: %s",
                 (unsigned long long)seed, why);
    for (int m = 0; m < HDT_MUTATION_COUNT; m++) {
        uint32_t places = hdt_mutation_places(stream, (hdt_mutation)m), count = places < PLACES ? places : PLACES;
        for (uint32_t i = 0; i < count; i++) {
            hd_stream *mutant;
            uint32_t place = count < places ? hdt_below(&random, places) : i;
            cr_assert_eq(hd_stream_copy(stream, &mutant), HD_OK);
            hdt_mutate(mutant, (hdt_mutation)m, place);
            cr_expect(try_one(stream, mutant, (hdt_mutation)m, whole, before.content, &tallies[m], why, sizeof(why)),
                      "HEDDLE_SEED=%llu %s at %u: %s", (unsigned long long)seed, hdt_mutation_name((hdt_mutation)m),
                      place, why);
            hd_stream_free(mutant);
        }
    }
    free(whole);
}

Test(capture_mutants, by_the_plain_graph, .timeout = 1000)
{
    uint64_t first = 1, count = SEEDS;
    tally tallies[HDT_MUTATION_COUNT] = {0};
    hd_graph *graph;
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        hdt_random_executable_graph(graph, seed, 8 + (uint32_t)(seed % 12));
        hd_stream *stream = capture_frames(graph, 2);
        break_it(stream, seed, tallies);
        hd_stream_free(stream);
    }
    hd_graph_destroy(graph);
    printf("%-28s %6s %9s %14s  alive:", "", "made", "verifier", "graph, asked");
    for (int h = 0; h < HARMLESS; h++)
        printf("  %s", harmless_names[h]);
    for (int m = 0; m < HDT_MUTATION_COUNT; m++) {
        const tally *t = &tallies[m];
        printf("\n%-28s %6u %9u %6u of %5u  %22u %15u %30u %23u", hdt_mutation_name((hdt_mutation)m), t->made,
               t->verifier, t->graph, t->asked, t->live[SAME], t->live[MORE], t->live[NOT_MET], t->live[NOT_LOOKED]);
    }
    printf("\n");
}
