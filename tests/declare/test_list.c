#include <criterion/criterion.h>

#include <inttypes.h>
#include <string.h>

#include <heddle/graph.h>

#include "limited.h"
#include "list_parts.h"
#include "random.h"
#include "tables.h"

/* Lists: a frame from lists is the frame that one thread declares part after part. Threads are stress_declare's
 * business; here parts are declared in any order, and calls of several lists take turns. */

static hd_graph *make_graph(void)
{
    hd_graph *graph = NULL;
    cr_assert(hd_graph_create(NULL, &graph) == HD_OK);
    return graph;
}

static void same_plans(hd_graph *a, hd_graph *b, uint64_t seed)
{
    const hd_plan *x = NULL, *y = NULL;
    const hd_queue_desc queues[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}};
    const hd_compile_desc desc = {.queues = queues, .queue_count = 2};
    size_t x_bytes, y_bytes;
    cr_assert(hd_graph_compile(a, &desc, &x) == HD_OK, "HEDDLE_SEED=%" PRIu64 " %s", seed, hd_graph_error(a)->text);
    cr_assert(hd_graph_compile(b, &desc, &y) == HD_OK, "HEDDLE_SEED=%" PRIu64 " %s", seed, hd_graph_error(b)->text);
    const void *x_data = hd_plan_data(x, &x_bytes), *y_data = hd_plan_data(y, &y_bytes);
    cr_assert(x_bytes == y_bytes && memcmp(x_data, y_data, x_bytes) == 0, "HEDDLE_SEED=%" PRIu64, seed);
    cr_assert(hd_plan_verify(b, y, NULL) == HD_OK);
}

Test(list, joins_by_key_whatever_the_order_of_filling)
{
    enum { PARTS = 17 };
    hd_graph *one = make_graph(), *lists = make_graph();
    for (uint64_t seed = hdt_seed(), last = seed + 150; seed < last; seed++) {
        hd_resource shared[HDT_SHARED];
        hd_graph_begin(one);
        hdt_shared_resources(one, shared);
        for (uint32_t part = 0; part < PARTS; part++)
            hdt_declare_part(one, shared, seed, part);
        hd_graph_begin(lists);
        hdt_shared_resources(lists, shared);
        uint32_t step = 1 + hdt_below(&(uint64_t){seed}, PARTS - 1); /* PARTS is prime: all parts in some order */
        for (uint32_t i = 0; i < PARTS; i++) {
            uint32_t part = i * step % PARTS;
            hdt_declare_part(hd_graph_list(lists, part * 7), shared, seed, part);
        }
        same_plans(one, lists, seed);
    }
    hd_graph_destroy(one);
    hd_graph_destroy(lists);
}

static const hd_image_desc small = {.width = 8, .height = 8, .format = 37};

Test(list, handles_are_good_after_the_join_and_in_later_lists)
{
    hd_graph *g = make_graph();
    hd_graph *later = hd_graph_list(g, 9), *first = hd_graph_list(g, 3);
    hd_resource next, third, image = hd_graph_image(first, &small);
    hd_pass pass =
        hd_graph_pass(first, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                             .uses = HD_USES({image, HD_STORAGE_WRITE_COMPUTE, .next = &next})});
    cr_assert(image.id && next.id && pass.id);
    cr_assert(hd_graph_resource_index(g, image) == HD_NONE && hd_graph_pass_index(g, pass) == HD_NONE);
    hd_graph_pass(later, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                         .root = true,
                                         .uses = HD_USES({next, HD_STORAGE_RW_COMPUTE, .next = &third})});
    hd_resource own = hd_graph_image(g, &small);
    cr_assert(hd_graph_join(g) == HD_OK, "%s", hd_graph_error(g)->text);
    cr_assert(hd_graph_resource_index(g, own) == 0);
    cr_assert(hd_graph_resource_index(g, image) == 1 && hd_graph_resource_index(g, next) == 1);
    cr_assert(hd_graph_resource_index(g, third) == 1 && hd_graph_pass_index(g, pass) == 0);
    /* The second version was ended by the later list's pass: this reads it before that. */
    hd_graph_pass(g,
                  &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = HD_USES({next, HD_SAMPLED_COMPUTE})});
    hd_graph *again = hd_graph_list(g, 3); /* keys of joined lists are free again */
    hd_graph_pass(again,
                  &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = HD_USES({third, HD_SAMPLED_COMPUTE})});
    const hd_plan *plan;
    cr_assert(hd_graph_compile(g, NULL, &plan) == HD_OK, "%s", hd_graph_error(g)->text);
    cr_assert(hd_plan_verify(g, plan, NULL) == HD_OK);
    cr_assert(hd_graph_pass_count(g) == 4);
    hd_graph_begin(g);
    cr_assert(hd_graph_resource_index(g, image) == HD_NONE && hd_graph_pass_index(g, pass) == HD_NONE);
    hd_graph_destroy(g);
}

Test(list, histories_are_as_described)
{
    hd_graph *g = make_graph();
    hd_graph *list = hd_graph_list(g, 1);
    hd_resource a = hd_graph_image(list, &small), b = hd_graph_image(list, &small);
    hd_graph_history(list, a);
    hd_graph_history_with(list, &(hd_history_desc){.of = b, .skipped = HD_SKIPPED_RESTART, .key = 77});
    cr_assert(hd_graph_join(g) == HD_OK);
    hdi_decl decl = hdi_graph_decl(g);
    cr_assert(decl.res_count == 4 && decl.res_pair[2] == 0 && decl.res_pair[3] == 1);
    cr_expect(decl.res_import[2].skipped == HD_SKIPPED_KEEP && decl.res_import[2].serial == 0);
    cr_expect(decl.res_import[3].skipped == HD_SKIPPED_RESTART && decl.res_import[3].serial == 77);
    hd_graph_begin(g);
    list = hd_graph_list(g, 1);
    hd_graph_history_with(list, NULL);
    cr_assert(hd_graph_join(g) == HD_INVALID_ARGUMENT);
    hd_graph_destroy(g);
}

Test(list, a_handle_of_a_later_list_is_none)
{
    hd_graph *g = make_graph();
    hd_graph *first = hd_graph_list(g, 1), *later = hd_graph_list(g, 2);
    hd_resource image = hd_graph_image(later, &small);
    hd_graph_pass(
        first,
        &(hd_pass_desc){.name = "early", .type = HD_PASS_COMPUTE, .uses = HD_USES({image, HD_STORAGE_WRITE_COMPUTE})});
    cr_assert(hd_graph_join(g) == HD_BAD_HANDLE);
    cr_assert_not_null(strstr(hd_graph_error(g)->text, "early"));
    hd_graph_destroy(g);
}

Test(list, the_first_error_by_key_counts)
{
    for (uint32_t order = 0; order < 2; order++) {
        hd_graph *g = make_graph();
        hd_graph *lists[2] = {hd_graph_list(g, 10), hd_graph_list(g, 20)};
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t at = i ^ order;
            hd_graph_pass(lists[at], &(hd_pass_desc){.name = at ? "second" : "first", .use_count = 1});
        }
        const hd_plan *plan;
        cr_assert(hd_graph_compile(g, NULL, &plan) == HD_INVALID_ARGUMENT && !plan);
        cr_assert_not_null(strstr(hd_graph_error(g)->text, "first"));
        cr_assert(hd_graph_error(g)->pass == 0);
        hd_graph_destroy(g);
    }
    hd_graph *g = make_graph();
    hd_graph_list(g, 4);
    hd_graph_list(g, 4);
    cr_assert(hd_graph_join(g) == HD_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(hd_graph_error(g)->text, "order key 4"));
    hd_graph_begin(g);
    cr_assert(hd_graph_join(g) == HD_OK);
    hd_graph *list = hd_graph_list(g, 0);
    hd_graph_image(list, NULL);
    cr_assert(hd_graph_join(g) == HD_INVALID_ARGUMENT);
    hd_graph_begin(g);
    hd_graph_list(g, 0);
    hd_graph_begin(g); /* a list that was not joined goes with its frame */
    cr_assert(hd_graph_join(g) == HD_OK && hd_graph_pass_count(g) == 0);
    hd_graph_destroy(g);
}

/* What does not declare wants the graph. */
Test(list, other_calls_refuse_a_list)
{
    hd_graph *g = make_graph(), *list = hd_graph_list(g, 1);
    const hd_plan *plan;
    hd_resource image = hd_graph_image(list, &small);
    cr_expect_eq(hd_graph_compile(list, NULL, &plan), HD_INVALID_ARGUMENT);
    cr_expect_null(plan);
    cr_expect_eq(hd_graph_join(list), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_graph_error(list)->result, HD_OK);
    cr_expect_eq(hd_graph_resource_index(list, image), HD_NONE);
    cr_expect_eq(hd_graph_resource_count(list), 0u);
    cr_expect_eq(hd_graph_pass_count(list), 0u);
    hd_graph_begin(list);
    hd_graph_destroy(list);
    cr_expect_eq(hd_graph_join(g), HD_OK);
    cr_expect_eq(hd_graph_resource_index(g, image), 0u, "nothing has been harmed");
    hd_graph_destroy(g);
}

/* Its passes would be lost: the call gives none, the log says so at once, and the next join fails. A list is not opened
 * again before the frame after the next one, so that a pointer of the frame before is found out, too. */
Test(list, used_after_it_joined)
{
    hd_graph *g = make_graph();
    for (uint32_t late = 0; late < 3; late++) {
        hd_graph_begin(g);
        hd_graph *list = hd_graph_list(g, 7);
        hd_graph_image(list, &small);
        cr_assert_eq(hd_graph_join(g), HD_OK);
        if (late == 2) {
            hd_graph_begin(g);
            cr_assert_neq(hd_graph_list(g, 7), list);
        }
        if (late == 0)
            cr_expect_eq(hd_graph_image(list, &small).id, 0u);
        else
            cr_expect_eq(hd_graph_pass(list, &(hd_pass_desc){.root = true}).id, 0u);
        const hd_plan *plan;
        cr_expect_eq(hd_graph_compile(g, NULL, &plan), HD_LIST_JOINED);
        cr_expect(strstr(hd_graph_error(g)->text, "order key 7"), "%s", hd_graph_error(g)->text);
        hd_graph_begin(g);
        cr_expect_eq(hd_graph_compile(g, NULL, &plan), HD_OK, "it was told");
    }
    hd_graph_destroy(g);
}

static void declare_in_lists(hd_graph *graph)
{
    hd_resource shared[HDT_SHARED];
    hd_graph_begin(graph);
    hdt_shared_resources(graph, shared);
    for (uint32_t part = 0; part < 5; part++) {
        hd_graph *list = hd_graph_list(graph, 5 - part);
        if (list)
            hdt_declare_part(list, shared, 3, part);
    }
}

Test(list, every_allocation_may_fail)
{
    for (uint64_t at = 1;; at++) {
        hdt_limited limited = {.fail_at = at};
        hd_graph_desc desc = {.allocator = hdt_limited_allocator(&limited)};
        hd_graph *graph = NULL;
        hd_result result = hd_graph_create(&desc, &graph);
        if (result == HD_OK) {
            declare_in_lists(graph);
            result = hd_graph_join(graph);
        }
        hd_graph_destroy(graph);
        cr_assert(limited.out == 0 && limited.wrong == 0);
        if (result == HD_OK)
            break;
        cr_assert(result == HD_OUT_OF_MEMORY, "allocation %" PRIu64, at);
    }
}

Test(list, a_second_frame_allocates_nothing)
{
    hdt_limited limited = {0};
    hd_graph_desc desc = {.allocator = hdt_limited_allocator(&limited)};
    hd_graph *graph;
    cr_assert(hd_graph_create(&desc, &graph) == HD_OK);
    uint64_t made = 0;
    for (int frame = 0; frame < 20; frame++) {
        made = limited.made;
        declare_in_lists(graph);
        cr_assert(hd_graph_join(graph) == HD_OK);
        hd_graph_begin(graph);
    }
    cr_assert(limited.made == made);
    hd_graph_destroy(graph);
}
