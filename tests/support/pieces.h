/* Small pieces of graphs, for tests that put them together by hand. */
#ifndef HDT_PIECES_H
#define HDT_PIECES_H

#include <criterion/criterion.h>

#include "checked.h"

static const hd_queue_desc three[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}};

static inline hd_graph *new_graph(void)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    return graph;
}

static inline hd_plan_view compiled(hd_graph *graph, const hd_compile_desc *desc)
{
    const hd_plan *plan = NULL;
    hd_result result = hdt_compile(graph, desc, &plan);
    cr_assert_eq(result, HD_OK, "%s: %s", hd_result_name(result), hd_graph_error(graph)->text);
    return hd_plan_read(plan);
}

static inline hd_resource buffer(hd_graph *graph, uint64_t bytes)
{
    return hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = bytes});
}

static inline hd_resource external(hd_graph *graph)
{
    return hd_graph_import(graph, &(hd_import_desc){.bytes = 4096});
}

/* A pass that reads one buffer and writes another; none: {0}. */
static inline void pass(hd_graph *graph, hd_pin pin, float cost, hd_resource from, hd_resource to)
{
    hd_use uses[2];
    uint32_t count = 0;
    if (from.id)
        uses[count++] = (hd_use){from, HD_STORAGE_READ_COMPUTE};
    if (to.id)
        uses[count++] = (hd_use){to, HD_STORAGE_WRITE_COMPUTE};
    hd_graph_pass(graph, &(hd_pass_desc){.type = pin == HD_PIN_GFX ? HD_PASS_GFX : HD_PASS_COMPUTE,
                                         .pin = pin,
                                         .cost_us = cost,
                                         .uses = uses,
                                         .use_count = count});
}

static const hd_resource nothing = {0};

#endif
