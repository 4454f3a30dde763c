#include <criterion/criterion.h>

#include <string.h>

#include <heddle/graph.h>

/* What modules of an engine find by name. */

static hd_graph *graph;

static void setup(void)
{
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
}

static void teardown(void)
{
    hd_graph_destroy(graph);
}

TestSuite(names, .init = setup, .fini = teardown);

static hd_resource buffer(hd_graph *g)
{
    return hd_graph_buffer(g, &(hd_buffer_desc){.name = "buffer", .bytes = 64});
}

Test(names, passes)
{
    hd_graph_pass(graph, &(hd_pass_desc){.root = true});
    hd_pass shadows = hd_graph_pass(graph, &(hd_pass_desc){.name = "shadows", .root = true});
    hd_graph_pass(graph, &(hd_pass_desc){.name = "shadows", .root = true});
    hd_graph_pass(hd_graph_list(graph, 1), &(hd_pass_desc){.name = "sky", .root = true});
    cr_expect_eq(hd_graph_find_pass(graph, "shadows").id, shadows.id, "the first of that name");
    cr_expect_eq(hd_graph_find_pass(graph, "sky").id, 0u);
    cr_expect_eq(hd_graph_find_pass(graph, "").id, 0u);
    cr_expect_eq(hd_graph_find_pass(graph, NULL).id, 0u);
    cr_assert_eq(hd_graph_join(graph), HD_OK);
    cr_expect_eq(hd_graph_pass_index(graph, hd_graph_find_pass(graph, "sky")), 3u);
    hd_graph_begin(graph);
    cr_expect_eq(hd_graph_find_pass(graph, "shadows").id, 0u);
}

/* A module that knows of "depth" only: it reads it where there is one, and publishes what it makes. */
static void add_occlusion(hd_graph *g)
{
    hd_resource depth = hd_graph_find(g, "depth"), occlusion = buffer(g);
    if (!depth.id)
        return;
    hd_graph_pass(
        g, &(hd_pass_desc){.name = "occlusion",
                           .type = HD_PASS_COMPUTE,
                           .uses = HD_USES({depth, HD_STORAGE_READ_COMPUTE}, {occlusion, HD_STORAGE_WRITE_COMPUTE})});
    cr_expect_eq(hd_graph_publish(g, "occlusion", occlusion), HD_OK);
}

Test(names, modules_pass_resources_on)
{
    add_occlusion(graph);
    cr_expect_eq(hd_graph_find(graph, "occlusion").id, 0u, "no pass made depth");
    for (int frame = 0; frame < 3; frame++) {
        hd_graph_begin(graph);
        cr_expect_eq(hd_graph_find(graph, "depth").id, 0u, "of the frame before");
        hd_resource depth = buffer(graph), next;
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                             .uses = HD_USES({depth, HD_STORAGE_WRITE_COMPUTE, .next = &next})});
        cr_expect_eq(hd_graph_publish(graph, "depth", depth), HD_OK);
        cr_expect_eq(hd_graph_publish(graph, "depth", next), HD_OK);
        cr_expect_eq(hd_graph_find(graph, "depth").id, next.id, "the newest version");
        add_occlusion(graph);
        hd_graph_pass(graph,
                      &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                      .root = true,
                                      .uses = HD_USES({hd_graph_find(graph, "occlusion"), HD_STORAGE_READ_COMPUTE})});
        const hd_plan *plan;
        cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK, "%s", hd_graph_error(graph)->text);
        cr_expect_eq(hd_plan_read(plan).culled_count, 0u);
        cr_expect_eq(hd_plan_verify(graph, plan, NULL), HD_OK);
    }
}

Test(names, of_nothing_or_of_lists)
{
    cr_expect_eq(hd_graph_publish(NULL, "a", (hd_resource){0}), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_graph_publish(graph, NULL, buffer(graph)), HD_INVALID_ARGUMENT);
    hd_graph *list = hd_graph_list(graph, 1);
    hd_resource of_list = buffer(list);
    cr_expect_eq(hd_graph_publish(list, "a", of_list), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_graph_find(list, "a").id, 0u);
    cr_assert_eq(hd_graph_join(graph), HD_OK);
    cr_expect_eq(hd_graph_publish(graph, "a", of_list), HD_OK);
    cr_expect_eq(hd_graph_find(graph, "a").id, of_list.id);
    cr_expect_eq(hd_graph_find(NULL, "a").id, 0u);
    cr_expect_eq(hd_graph_publish(graph, "stale", (hd_resource){7}), HD_BAD_HANDLE);
    cr_expect(strstr(hd_graph_error(graph)->text, "published as 'stale'"), "%s", hd_graph_error(graph)->text);
    cr_expect_eq(hd_graph_publish(graph, "a", of_list), HD_BAD_HANDLE, "the error sticks");
}
