#include "list_parts.h"

#include <stdlib.h>

#include "random.h"

static hd_resource image(const hdt_sink *s, const hd_image_desc *desc)
{
    return s->list ? hd_list_image(s->list, desc) : hd_graph_image(s->graph, desc);
}

static hd_resource buffer(const hdt_sink *s, const hd_buffer_desc *desc)
{
    return s->list ? hd_list_buffer(s->list, desc) : hd_graph_buffer(s->graph, desc);
}

static hd_pass pass(const hdt_sink *s, const hd_pass_desc *desc)
{
    return s->list ? hd_list_pass(s->list, desc) : hd_graph_pass(s->graph, desc);
}

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
static void add_resolve(const hdt_sink *s, uint64_t *random)
{
    hd_image_desc desc = {.width = 64, .height = 64, .format = 37, .samples = 4};
    hd_resource many = image(s, &desc);
    desc.samples = 1;
    hd_resource one = image(s, &desc);
    pass(s, &(hd_pass_desc){.uses = HD_USES({many, HD_COLOR_WRITE},
                                            {one, HD_RESOLVE_WRITE, .resolve_of = many})});
    hd_custom_access custom = {.stages = UINT64_C(1) << 11, .access = 1u << 5, .layout = 5, .usage = 4, .reads = true};
    pass(s, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                            .root = true,
                            .cost_us = (float)(1 + hdt_below(random, 50)),
                            .uses = HD_USES({one, HD_ACCESS_CUSTOM, .custom = &custom})});
}

/* A chain of versions of one buffer; an old one is read after it was ended. */
static void add_versions(const hdt_sink *s, uint64_t *random)
{
    hd_resource first = buffer(s, &(hd_buffer_desc){.bytes = 8192}), next, later, same;
    pass(s, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                            .uses = HD_USES({first, HD_STORAGE_WRITE_COMPUTE, .next = &next})});
    pass(s, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                            .uses = HD_USES({next, HD_STORAGE_RW_COMPUTE, .next = &later})});
    pass(s, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                            .root = true,
                            .cost_us = (float)(1 + hdt_below(random, 50)),
                            .uses = HD_USES({next, HD_STORAGE_READ_COMPUTE, .next = &same})});
    pass(s, &(hd_pass_desc){.type = HD_PASS_GFX, .root = true, .uses = HD_USES({later, HD_VERTEX_READ})});
}

static void add_history(const hdt_sink *s)
{
    hd_resource now = image(s, &(hd_image_desc){.width = 128, .height = 128, .format = 97});
    const hd_history_desc desc = {.of = now, .skipped = HD_SKIPPED_RESTART, .key = 1};
    hd_resource before = s->list ? hd_list_history_with(s->list, &desc) : hd_graph_history_with(s->graph, &desc);
    pass(s, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                            .uses = HD_USES({before, HD_SAMPLED_COMPUTE}, {now, HD_STORAGE_WRITE_COMPUTE})});
}

/* A buffer of the engine's: its content from before the frame is read, and then overwritten for the next frame. */
static void add_import(const hdt_sink *s, uint64_t *random)
{
    hd_import_desc desc = {.name = "import", .bytes = 256u << hdt_below(random, 8)};
    hd_resource import = s->list ? hd_list_import(s->list, &desc) : hd_graph_import(s->graph, &desc);
    pass(s, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = HD_USES({import, HD_STORAGE_READ_COMPUTE})});
    pass(s, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .uses = HD_USES({import, HD_TRANSFER_DST})});
}

/* Reads and writes of what all parts share, through pieces at times. */
static void add_shared(const hdt_sink *s, const hd_resource *shared, uint64_t *random)
{
    uint32_t i = hdt_below(random, HDT_SHARED), mip = hdt_below(random, 3);
    hd_resource own = buffer(s, &(hd_buffer_desc){.bytes = 256u << hdt_below(random, 8)});
    hd_use use = {.resource = shared[i], .access = i % 2 ? HD_STORAGE_READ_COMPUTE : HD_SAMPLED_COMPUTE};
    if (hdt_below(random, 3) == 0)
        use.access = HD_STORAGE_RW_COMPUTE;
    if (i % 2 == 0)
        use.range = (hd_range){.mip_base = (uint16_t)mip, .mip_count = 1};
    pass(s, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                            .uses = HD_USES(use, {own, HD_STORAGE_WRITE_COMPUTE})});
    pass(s, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = HD_USES({own, HD_UNIFORM_READ_COMPUTE})});
}

void hdt_declare_part(const hdt_sink *sink, const hd_resource *shared, uint64_t seed, uint32_t part)
{
    uint64_t random = seed * 1000003 + part;
    for (uint32_t count = hdt_below(&random, 12); count > 0; count--) {
        switch (hdt_below(&random, 7)) {
        case 0:
            add_resolve(sink, &random);
            break;
        case 1:
            add_versions(sink, &random);
            break;
        case 2:
            add_history(sink);
            break;
        case 3:
            add_import(sink, &random);
            break;
        default:
            add_shared(sink, shared, &random);
        }
    }
}
