#include "list_parts.h"

#include <stdlib.h>

#include "random.h"

void hdt_shared_resources(hd_graph *graph, hd_resource *shared)
{
    for (uint32_t i = 0; i < HDT_SHARED; i++)
        shared[i] = i % 2 ? hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 4096 * (i + 1)})
                          : hd_graph_import(graph, &(hd_import_desc){.width = 256,
                                                                     .height = 256,
                                                                     .format = 37,
                                                                     .mips = 3,
                                                                     .initial_layout = 1});
    for (uint32_t i = 1; i < HDT_SHARED; i += 2)
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .uses = HD_USES({shared[i], HD_TRANSFER_DST})});
}

/* Color of several samples that is resolved, then read through an access of its own. */
static void add_resolve(hd_graph *g, uint64_t *random)
{
    hd_image_desc desc = {.width = 64, .height = 64, .format = 37, .samples = 4};
    hd_resource many = hd_graph_image(g, &desc);
    desc.samples = 1;
    hd_resource one = hd_graph_image(g, &desc);
    hd_graph_pass(
        g, &(hd_pass_desc){.uses = HD_USES({many, HD_COLOR_WRITE}, {one, HD_RESOLVE_WRITE, .resolve_of = many})});
    hd_custom_access custom = {.stages = UINT64_C(1) << 11, .access = 1u << 5, .layout = 5, .usage = 4, .reads = true};
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                     .root = true,
                                     .cost_us = (float)(1 + hdt_below(random, 50)),
                                     .uses = HD_USES({one, HD_ACCESS_CUSTOM, .custom = &custom})});
}

/* A chain of versions of one buffer; an old one is read after it was ended. */
static void add_versions(hd_graph *g, uint64_t *random)
{
    hd_resource first = hd_graph_buffer(g, &(hd_buffer_desc){.bytes = 8192}), next, later, same;
    hd_graph_pass(
        g, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = HD_USES({first, HD_STORAGE_WRITE_COMPUTE, .next = &next})});
    hd_graph_pass(
        g, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = HD_USES({next, HD_STORAGE_RW_COMPUTE, .next = &later})});
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                     .root = true,
                                     .cost_us = (float)(1 + hdt_below(random, 50)),
                                     .uses = HD_USES({next, HD_STORAGE_READ_COMPUTE, .next = &same})});
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_GFX, .root = true, .uses = HD_USES({later, HD_VERTEX_READ})});
}

static void add_history(hd_graph *g)
{
    hd_resource now = hd_graph_image(g, &(hd_image_desc){.width = 128, .height = 128, .format = 97});
    const hd_history_desc desc = {.of = now, .skipped = HD_SKIPPED_RESTART, .key = 1};
    hd_resource before = hd_graph_history_with(g, &desc);
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                     .uses = HD_USES({before, HD_SAMPLED_COMPUTE}, {now, HD_STORAGE_WRITE_COMPUTE})});
}

/* A buffer of the engine's: its content from before the frame is read, and then overwritten for the next frame. */
static void add_import(hd_graph *g, uint64_t *random)
{
    hd_import_desc desc = {.name = "import", .bytes = 256u << hdt_below(random, 8)};
    hd_resource import = hd_graph_import(g, &desc);
    hd_graph_pass(
        g, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = HD_USES({import, HD_STORAGE_READ_COMPUTE})});
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .uses = HD_USES({import, HD_TRANSFER_DST})});
}

/* Reads and writes of what all parts share, through pieces at times. */
static void add_shared(hd_graph *g, const hd_resource *shared, uint64_t *random)
{
    uint32_t i = hdt_below(random, HDT_SHARED), mip = hdt_below(random, 3);
    hd_resource own = hd_graph_buffer(g, &(hd_buffer_desc){.bytes = 256u << hdt_below(random, 8)});
    hd_use use = {.resource = shared[i], .access = i % 2 ? HD_STORAGE_READ_COMPUTE : HD_SAMPLED_COMPUTE};
    if (hdt_below(random, 3) == 0)
        use.access = HD_STORAGE_RW_COMPUTE;
    if (i % 2 == 0)
        use.range = (hd_range){.mip_base = (uint16_t)mip, .mip_count = 1};
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = HD_USES(use, {own, HD_STORAGE_WRITE_COMPUTE})});
    hd_graph_pass(
        g, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = HD_USES({own, HD_UNIFORM_READ_COMPUTE})});
}

void hdt_declare_part(hd_graph *graph, const hd_resource *shared, uint64_t seed, uint32_t part)
{
    uint64_t random = seed * 1000003 + part;
    for (uint32_t count = hdt_below(&random, 12); count > 0; count--) {
        switch (hdt_below(&random, 7)) {
        case 0:
            add_resolve(graph, &random);
            break;
        case 1:
            add_versions(graph, &random);
            break;
        case 2:
            add_history(graph);
            break;
        case 3:
            add_import(graph, &random);
            break;
        default:
            add_shared(graph, shared, &random);
        }
    }
}
