#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "checked.h"

/* Order tokens: passes ordered without a resource, on one queue and over several, culled like any reader and writer,
 * without memory, and seen by the verifier, the files and the statistics. */

static hd_graph *graph;

static void setup(void)
{
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
}

static void teardown(void)
{
    hd_graph_destroy(graph);
}

TestSuite(token, .init = setup, .fini = teardown);

static hd_resource token(void)
{
    return hd_graph_buffer(graph, &(hd_buffer_desc){.name = "order", .token = true});
}

static hd_pass pass(const char *name, hd_pin pin, bool root, const hd_use *use)
{
    return hd_graph_pass(
        graph,
        &(hd_pass_desc){
            .name = name, .type = HD_PASS_TRANSFER, .pin = pin, .root = root, .uses = use, .use_count = use ? 1 : 0});
}

static hd_pass signals(const char *name, hd_pin pin, bool root, hd_resource t)
{
    return pass(name, pin, root, &(hd_use){t, HD_ACCESS_CUSTOM, .custom = &hd_token_signal});
}

static hd_pass waits(const char *name, hd_pin pin, bool root, hd_resource t)
{
    return pass(name, pin, root, &(hd_use){t, HD_ACCESS_CUSTOM, .custom = &hd_token_wait});
}

static const hd_queue_desc three[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}};

static hd_plan_view compile(uint32_t queues, hd_order order)
{
    const hd_plan *plan;
    hd_compile_desc desc = {.queues = three, .queue_count = queues, .order = order};
    cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK, "%s", hd_graph_error(graph)->text);
    return hd_plan_read(plan);
}

/* Where a pass stands among the commands; HD_NONE: culled. */
static uint32_t place_of(const hd_plan_view *plan, hd_pass p)
{
    for (uint32_t c = 0; c < plan->command_count; c++) {
        if (plan->commands[c].kind == HD_COMMAND_PASS && plan->commands[c].index == hd_graph_pass_index(graph, p))
            return c;
    }
    return HD_NONE;
}

/* On one queue a full barrier stands between the two, and nothing has memory. */
Test(token, on_one_queue)
{
    for (hd_order order = HD_ORDER_OVERLAP; order <= HD_ORDER_DECLARED; order++) {
        hd_graph_begin(graph);
        hd_resource t = token();
        hd_pass a = signals("a", HD_PIN_NONE, true, t), b = pass("b", HD_PIN_NONE, true, NULL),
                c = waits("c", HD_PIN_NONE, true, t), d = waits("d", HD_PIN_NONE, true, t);
        hd_plan_view plan = compile(1, order);
        cr_expect_eq(plan.heap_count, 0);
        cr_expect_eq(plan.resource_count, 1);
        cr_expect_eq(plan.resources[0].heap, HD_NONE);
        cr_expect_eq(plan.resources[0].bytes, 0);
        cr_expect_eq(plan.barrier_count, 1);
        const hd_plan_barrier *barrier = &plan.barriers[0];
        cr_expect_eq(barrier->resource, HD_NONE);
        cr_expect(barrier->src_stages == 0x10000 && barrier->dst_stages == 0x10000, "ALL_COMMANDS");
        cr_expect(barrier->src_access == 0x10000 && barrier->dst_access == 0x18000, "MEMORY_WRITE, _READ");
        uint32_t at = HD_NONE;
        for (uint32_t i = 0; i < plan.command_count; i++)
            at = plan.commands[i].kind == HD_COMMAND_BARRIER ? i : at;
        cr_expect(place_of(&plan, a) < at && at < place_of(&plan, c) && at < place_of(&plan, d));
        cr_expect_neq(place_of(&plan, b), HD_NONE);
    }
}

Test(token, over_queues)
{
    hd_resource t = token();
    hd_pass a = signals("a", HD_PIN_COMPUTE, true, t), b = waits("b", HD_PIN_TRANSFER, true, t);
    hd_plan_view plan = compile(3, HD_ORDER_OVERLAP);
    cr_expect_eq(plan.submit_count, 2);
    cr_expect_eq(plan.wait_count, 1);
    cr_expect_lt(place_of(&plan, a), place_of(&plan, b));
    cr_expect_eq(plan.waits[0].stages, 0x10000, "ALL_COMMANDS");
}

/* A pass is kept for the sake of a kept one that waits for it, and of no other. */
Test(token, culled)
{
    hd_resource first = token(), second = token(), third = token();
    hd_pass a = signals("a", HD_PIN_NONE, false, first), b = waits("b", HD_PIN_NONE, true, first),
            c = signals("c", HD_PIN_NONE, false, second), d = waits("d", HD_PIN_NONE, false, second),
            e = signals("e", HD_PIN_NONE, false, third), f = signals("f", HD_PIN_NONE, false, third),
            g = waits("g", HD_PIN_NONE, true, third);
    hd_plan_view plan = compile(1, HD_ORDER_OVERLAP);
    cr_expect(place_of(&plan, a) < place_of(&plan, b));
    cr_expect(place_of(&plan, c) == HD_NONE && place_of(&plan, d) == HD_NONE);
    cr_expect(place_of(&plan, e) == HD_NONE, "f signals anew");
    cr_expect(place_of(&plan, f) < place_of(&plan, g));
}

/* With a host pass, by its own accesses; and versions as of any buffer. */
Test(token, hosts_and_versions)
{
    hd_resource t = token(), next = {0};
    hd_pass host = hd_graph_pass(
        graph, &(hd_pass_desc){.name = "host", .type = HD_PASS_HOST, .uses = HD_USES({t, HD_HOST_WRITE})});
    hd_pass b = waits("b", HD_PIN_NONE, true, t);
    hd_pass again =
        pass("again", HD_PIN_NONE, false, &(hd_use){t, HD_ACCESS_CUSTOM, .custom = &hd_token_signal, .next = &next});
    hd_pass last = hd_graph_pass(
        graph,
        &(hd_pass_desc){.name = "last", .type = HD_PASS_HOST, .root = true, .uses = HD_USES({next, HD_HOST_READ})});
    hd_plan_view plan = compile(3, HD_ORDER_OVERLAP);
    cr_expect(place_of(&plan, host) < place_of(&plan, b));
    cr_expect(place_of(&plan, b) < place_of(&plan, again), "a write behind a read");
    cr_expect(place_of(&plan, again) < place_of(&plan, last));
    cr_expect_eq(plan.heap_count, 0);
}

/* A plan that lacks the barrier is found out. */
Test(token, verified)
{
    hd_resource t = token();
    signals("a", HD_PIN_NONE, true, t);
    waits("b", HD_PIN_NONE, true, t);
    const hd_plan *plan;
    cr_assert_eq(hdt_compile(graph, NULL, &plan), HD_OK);
    size_t bytes;
    const void *data = hd_plan_data(plan, &bytes);
    void *copy = malloc(bytes);
    memcpy(copy, data, bytes);
    hd_plan_view view = hd_plan_read(copy);
    hd_plan_barrier *barrier = (hd_plan_barrier *)(uintptr_t)view.barriers;
    const hd_plan_barrier was = *barrier;
    const hd_verify_desc quiet = {0};
    barrier->src_stages = 0x800; /* COMPUTE_SHADER alone */
    cr_expect_eq(hd_plan_verify(graph, copy, &quiet), HD_PLAN_INVALID);
    *barrier = was;
    barrier->src_access = 0;
    cr_expect_eq(hd_plan_verify(graph, copy, &quiet), HD_PLAN_INVALID);
    *barrier = was;
    cr_expect_eq(hd_plan_verify(graph, copy, &quiet), HD_OK);
    free(copy);
}

Test(token, mistakes)
{
    cr_expect_eq(hd_graph_buffer(graph, &(hd_buffer_desc){.name = "order", .token = true, .bytes = 4}).id, 0);
    cr_expect_eq(hd_graph_error(graph)->result, HD_BAD_DESC);
    hd_graph_begin(graph);
    cr_expect_eq(hd_graph_buffer(graph, &(hd_buffer_desc){.name = "no token"}).id, 0);
    cr_expect_eq(hd_graph_error(graph)->result, HD_BAD_DESC);
    hd_graph_begin(graph);
    hd_graph_history(graph, token());
    cr_expect_eq(hd_graph_error(graph)->result, HD_HISTORY_OF_HISTORY);
    hd_graph_begin(graph);
    pass("part", HD_PIN_NONE, true, &(hd_use){token(), HD_TRANSFER_DST, .range = {.bytes = 1}});
    cr_expect_eq(hd_graph_error(graph)->result, HD_BAD_RANGE);
    hd_graph_begin(graph);
    const hd_plan *plan;
    waits("for nothing", HD_PIN_NONE, true, token());
    cr_expect_eq(hd_graph_compile(graph, NULL, &plan), HD_UNWRITTEN_READ);
}

/* Plans with tokens go to files and back. */
Test(token, files)
{
    hd_resource t = token();
    signals("a", HD_PIN_NONE, true, t);
    waits("b", HD_PIN_NONE, true, t);
    const hd_plan *plan;
    hd_plan *back;
    char *text = NULL, error[256];
    size_t bytes = 0;
    cr_assert_eq(hdt_compile(graph, NULL, &plan), HD_OK);
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(hd_plan_write_json(graph, plan, stream), HD_OK);
    fclose(stream);
    cr_assert_eq(hd_plan_read_json(graph, text, bytes, NULL, &back, error, sizeof(error)), HD_OK, "%s", error);
    cr_expect_eq(hd_plan_verify(graph, back, NULL), HD_OK);
    hd_plan_free(back, NULL);
    char *word = strstr(text, "\"token\"");
    cr_assert_not_null(word);
    memcpy(word, "\"taken\"", 7);
    cr_expect_eq(hd_plan_read_json(graph, text, bytes, NULL, &back, error, sizeof(error)), HD_PARSE);
    free(text);
    stream = open_memstream(&text, &bytes);
    cr_assert_eq(hd_graph_write_fgt(graph, stream), HD_OK);
    fclose(stream);
    cr_expect_not_null(strstr(text, "buffer 0 0 name=order\n"), "%s", text);
    hd_graph *other;
    const hd_plan *same;
    size_t sizes[2];
    cr_assert_eq(hd_graph_create(NULL, &other), HD_OK);
    cr_assert_eq(hd_graph_read_fgt(other, text, bytes, "f", error, sizeof(error)), HD_OK, "%s", error);
    cr_assert_eq(hdt_compile(other, NULL, &same), HD_OK);
    const void *data = hd_plan_data(same, &sizes[0]), *was = hd_plan_data(plan, &sizes[1]);
    cr_expect(sizes[0] == sizes[1] && memcmp(data, was, sizes[0]) == 0);
    hd_graph_destroy(other);
    free(text);
    stream = fopen("/dev/null", "w");
    hd_result page = hd_plan_write_html(graph, plan, stream);
    cr_expect(page == HD_OK || page == HD_NO_PAGE);
    fclose(stream);
}
