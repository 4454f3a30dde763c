/* The verifier against compiled plans: random graphs must verify, and plans with one thing broken must be refused with
 * the message of the rule that broke. HEDDLE_SEED=n replays one graph. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <heddle/graph.h>

#include "checked.h"
#include "random_graph.h"

static const hd_queue_desc queue_sets[3][4] = {
    {{HD_QUEUE_GFX, 0}},
    {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}},
    {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}, {HD_QUEUE_GFX, 0}},
};
static const uint32_t queue_counts[3] = {1, 2, 4};

typedef struct sink {
    char text[4][512];
    uint32_t count;
} sink;

static void keep(const char *text, void *user)
{
    sink *s = user;
    if (s->count < 4)
        strncpy(s->text[s->count], text, sizeof(s->text[0]) - 1);
    s->count++;
}

static hd_result verify(const hd_graph *graph, const hd_plan *plan, sink *s)
{
    *s = (sink){0};
    return hd_plan_verify(graph, plan, &(hd_verify_desc){.message = keep, .user = s});
}

/* Images may be in UNDEFINED and PREINITIALIZED at the start, and get there no more. */
Test(verify, no_barrier_leads_to_where_images_begin)
{
    static const char text[] =
        "{\"plan\": 1, \"queues\": [{\"kind\": \"gfx\", \"family\": 0}], \"culled\": [], \"heaps\": [],"
        " \"resources\": [{\"id\": 0, \"external\": true, \"final_layout\": 2}],"
        " \"submits\": [{\"queue\": 0, \"waits\": [], \"commands\": ["
        "{\"barrier\": [{\"src_stages\": 0, \"src_access\": 0, \"dst_stages\": 1024, \"dst_access\": 0,"
        " \"resource\": 0, \"old_layout\": %u, \"new_layout\": %u, \"range\": [0, 1, 0, 1]}]},"
        "{\"barrier\": [{\"src_stages\": 1024, \"src_access\": 0, \"dst_stages\": 1024, \"dst_access\": 384,"
        " \"resource\": 0, \"old_layout\": %u, \"new_layout\": 2, \"range\": [0, 1, 0, 1]}]}, {\"pass\": 0}]}]}";
    for (uint32_t initial = 1; initial <= 8; initial += 7) {
        for (uint32_t to = 7; to <= 8; to++) {
            hd_graph *graph;
            hd_plan *plan;
            sink s;
            char json[1024], error[256] = "";
            cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
            hd_resource image = hd_graph_import(
                graph, &(hd_import_desc){.width = 4, .height = 4, .format = 37, .initial_layout = initial});
            hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({image, HD_COLOR_RW})});
            snprintf(json, sizeof(json), text, initial, to, to);
            cr_assert_eq(hd_plan_read_json(graph, json, strlen(json), NULL, &plan, error, sizeof(error)), HD_OK, "%s",
                         error);
            bool bad = to == 8 && initial != 8;
            cr_expect_eq(verify(graph, plan, &s), bad ? HD_PLAN_INVALID : HD_OK, "%u to %u: %s", initial, to,
                         s.text[0]);
            cr_expect(!bad || strstr(s.text[0], "to PREINITIALIZED"), "%s", s.text[0]);
            hd_plan_free(plan, NULL);
            hd_graph_destroy(graph);
        }
    }
}

Test(verify, compiled_random_graphs_are_accepted)
{
    uint64_t first = 1, count = 60, refused = 0;
    hdt_seeds(&first, &count);
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++)
        for (int set = 0; set < 3; set++)
            for (int order = 0; order < 3; order++) {
                hdt_random_graph(graph, seed, 10 + (uint32_t)(seed % 7) * 10);
                const hd_plan *plan;
                hd_compile_desc desc = {
                    .queues = queue_sets[set], .queue_count = queue_counts[set], .order = (hd_order)order};
                cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK, "seed %llu", (unsigned long long)seed);
                sink s;
                if (verify(graph, plan, &s) == HD_OK)
                    continue;
                if (refused++ < 6)
                    cr_log_error("HEDDLE_SEED=%llu set %d order %d: %s", (unsigned long long)seed, set, order,
                                 s.text[0]);
            }
    cr_assert_eq(refused, 0, "%llu plans refused", (unsigned long long)refused);
    hd_graph_destroy(graph);
}

static bool holds(const sink *s, const char *word)
{
    for (uint32_t i = 0; i < s->count && i < 4; i++)
        if (strstr(s->text[i], word))
            return true;
    return false;
}

/* Host passes come one after another, but one that reads a and writes b needs both at once. */
Test(verify, what_one_host_pass_uses_shares_no_bytes)
{
    hd_graph *graph;
    const hd_plan *plan;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hd_resource r[4];
    for (uint32_t i = 0; i < 4; i++)
        r[i] = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 256});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_HOST, .uses = HD_USES({r[0], HD_HOST_WRITE})});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER,
                                         .uses = HD_USES({r[0], HD_TRANSFER_SRC}, {r[1], HD_TRANSFER_DST})});
    hd_graph_pass(graph,
                  &(hd_pass_desc){.type = HD_PASS_HOST, .uses = HD_USES({r[1], HD_HOST_READ}, {r[2], HD_HOST_WRITE})});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_HOST,
                                         .root = true,
                                         .uses = HD_USES({r[2], HD_HOST_READ}, {r[3], HD_HOST_WRITE})});
    cr_assert_eq(hdt_compile(graph, &(hd_compile_desc){.queues = queue_sets[0], .queue_count = 1}, &plan), HD_OK);
    hd_plan_view view = hd_plan_read(plan);
    cr_assert_eq(view.resource_count, 4);
    for (uint32_t a = 0; a < 4; a++) {
        for (uint32_t b = 0; b < 4; b++) {
            sink s;
            for (uint32_t i = 0; i < 4; i++)
                ((hd_plan_resource *)view.resources)[i].offset =
                    256 * (view.resources[i].id == b ? a : view.resources[i].id);
            ((hd_plan_heap *)view.heaps)[0].bytes = 1024;
            bool apart = a == b || (a < b ? b - a : a - b) > 1; /* neighbours have a pass in common */
            cr_expect_eq(verify(graph, plan, &s), apart ? HD_OK : HD_PLAN_INVALID, "%u over %u: %s", b, a, s.text[0]);
            cr_expect(apart || (holds(&s, "race") && holds(&s, "resource")), "%u over %u: %s", b, a, s.text[0]);
        }
    }
    hd_graph_destroy(graph);
}

/* ---- a history takes turns with what it is of ---- */

/* A history that is sampled, and an image of two levels that it is of; written: the first level of that is. */
static const hd_plan *compile_history(hd_graph *graph, bool written)
{
    const hd_plan *plan;
    hd_graph_begin(graph);
    hd_resource next =
        hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37, .mips = 2, .name = "next"});
    hd_resource last = hd_graph_history(graph, next);
    if (written)
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                             .uses = HD_USES({next, HD_STORAGE_WRITE_COMPUTE, {{0, 1, 0, 0, 0}}})});
    hd_graph_pass(graph, &(hd_pass_desc){
                             .type = HD_PASS_COMPUTE, .root = true, .uses = HD_USES({last, HD_SAMPLED_COMPUTE})});
    hd_compile_desc desc = {.queues = queue_sets[0], .queue_count = queue_counts[0]};
    cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK);
    return plan;
}

/* The next frame finds all levels in the layout that the plan names, on a device on which the image was new. */
Test(verify, levels_that_no_pass_uses_are_left_in_the_final_layout)
{
    hd_graph *graph;
    sink s;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    const hd_plan *plan = compile_history(graph, true);
    hd_plan_view view = hd_plan_read(plan);
    uint32_t of_unused = 0;
    for (uint32_t b = 0; b < view.barrier_count; b++) {
        hd_plan_barrier *barrier = (hd_plan_barrier *)&view.barriers[b], was = *barrier;
        if (was.resource != 0 || was.range.mip_base != 1)
            continue;
        of_unused++;
        *barrier = (hd_plan_barrier){.resource = HD_NONE, .src_family = HD_NONE, .dst_family = HD_NONE};
        cr_expect_eq(verify(graph, plan, &s), HD_PLAN_INVALID);
        cr_expect(holds(&s, "final state: resource 0 'next' ends in layout UNDEFINED, the plan says SHADER_READ_ONLY_OPTIMAL"), "%s", s.text[0]);
        *barrier = was;
    }
    cr_expect_eq(of_unused, 1);
    cr_expect_eq(verify(graph, plan, &s), HD_OK);
    /* A frame that does not use the image leaves the history as it is: there is no barrier for either. */
    plan = compile_history(graph, false);
    view = hd_plan_read(plan);
    cr_expect_eq(view.resource_count, 2);
    cr_expect_eq(view.barrier_count, 0);
    cr_expect_eq(verify(graph, plan, &s), HD_OK);
    hd_graph_destroy(graph);
}

/* They are the same two images in each frame, made once: for one family or for all of them. */
Test(verify, a_history_is_shared_as_what_it_is_of)
{
    hd_graph *graph;
    sink s;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    const hd_plan *plan = compile_history(graph, true);
    hd_plan_view view = hd_plan_read(plan);
    cr_assert_eq(view.resource_count, 2);
    cr_assert_eq((view.resources[0].flags | view.resources[1].flags) & HD_PLAN_CONCURRENT, 0);
    for (uint32_t i = 0; i < 2; i++) {
        ((hd_plan_resource *)view.resources)[i].flags ^= HD_PLAN_CONCURRENT;
        cr_expect_eq(verify(graph, plan, &s), HD_PLAN_INVALID);
        cr_expect(holds(&s, i ? "final state: history 1 'next' is concurrent, what it is of is exclusive"
                              : "final state: history 1 'next' is exclusive, what it is of is concurrent"),
                  "%s", s.text[0]);
        ((hd_plan_resource *)view.resources)[i].flags ^= HD_PLAN_CONCURRENT;
    }
    cr_expect_eq(verify(graph, plan, &s), HD_OK);
    hd_graph_destroy(graph);
}

/* What is broken here cannot be said of a plan that is taken apart; the other ways are in broken_plans/. Each gets the
 * tables of a copy and a place to break; false: nothing to break there. rule: a word that some message must hold. */
typedef bool (*break_fn)(const hd_plan_view *p, uint32_t i);

static bool longer_scope(const hd_plan_view *p, uint32_t i)
{
    if (i >= p->scope_count)
        return false;
    ((hd_plan_scope *)p->scopes)[i].command_count++;
    return true;
}

static bool later_scope(const hd_plan_view *p, uint32_t i)
{
    if (i >= p->scope_count)
        return false;
    ((hd_plan_scope *)p->scopes)[i].command_begin++;
    return true;
}

static const struct {
    const char *name, *rule;
    break_fn run;
} mutants[] = {
    {"longer scope", "rendering:", longer_scope},
    {"later scope", "rendering:", later_scope},
};

static void try_mutants(const hd_graph *graph, const hd_plan *plan, uint32_t (*tally)[3])
{
    size_t bytes;
    const void *data = hd_plan_data(plan, &bytes);
    void *copy = malloc(bytes);
    hd_plan_view view = hd_plan_read(plan);
    for (size_t m = 0; m < sizeof(mutants) / sizeof(mutants[0]); m++)
        for (uint32_t i = 0; i < view.barrier_count + view.command_count + view.resource_count; i++) {
            memcpy(copy, data, bytes);
            hd_plan_view broken = hd_plan_read(copy);
            if (!mutants[m].run(&broken, i))
                continue;
            sink s;
            hd_result result = verify(graph, copy, &s);
            cr_assert(result == HD_OK || result == HD_PLAN_INVALID);
            cr_assert_eq(result == HD_PLAN_INVALID, s.count > 0);
            tally[m][0]++;
            tally[m][1] += result == HD_PLAN_INVALID;
            tally[m][2] += holds(&s, mutants[m].rule);
        }
    free(copy);
}

Test(verify, broken_plans_are_refused)
{
    uint32_t tally[sizeof(mutants) / sizeof(mutants[0])][3] = {0};
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = 1; seed <= 12; seed++)
        for (int set = 0; set < 3; set++) {
            hdt_random_graph(graph, seed, 25);
            const hd_plan *plan;
            hd_compile_desc desc = {.queues = queue_sets[set], .queue_count = queue_counts[set]};
            cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK);
            sink s;
            if (verify(graph, plan, &s) == HD_OK) /* else the other test speaks */
                try_mutants(graph, plan, tally);
        }
    for (size_t m = 0; m < sizeof(mutants) / sizeof(mutants[0]); m++) {
        printf("%-24s %6u tried %6u refused %6u with \"%s\"\n", mutants[m].name, tally[m][0], tally[m][1], tally[m][2],
               mutants[m].rule);
        cr_expect(tally[m][0] && tally[m][2] && tally[m][1] == tally[m][0], "%s: %u of %u refused", mutants[m].name,
                  tally[m][1], tally[m][0]);
    }
    hd_graph_destroy(graph);
}
