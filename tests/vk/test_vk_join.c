#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "vk_device.h"
#include "stream_check.h"
#include "stub_driver.h"
#include "vk_fixture.h"

/* How frames are joined to the ones before them, over a driver that does nothing and writes down what it is given. */

enum { MOST_PASSES = 24, MOST_USES = 3, RESOURCES = 10 };

typedef struct pass_marks {
    const hd_graph *graph;
    hd_resource resource[MOST_USES];
    hd_range range[MOST_USES];
    hd_access access[MOST_USES];
    bool image[MOST_USES];
    uint32_t count;
} pass_marks;

static void record_marks(hd_recorder *recorder, void *user)
{
    const pass_marks *marks = user;
    for (uint32_t u = 0; u < marks->count; u++) {
        const hdi_access_info *info = &hdi_access_table[marks->access[u]];
        bool image = marks->image[u];
        uint32_t mips = marks->range[u].mip_count;
        hdb_event mark = {.kind = HDB_MARK,
                          .object = image ? (uint64_t)(uintptr_t)hd_vk_image(recorder, marks->resource[u])
                                          : (uint64_t)(uintptr_t)hd_vk_buffer(recorder, marks->resource[u]),
                          .src_stages = info->stages,
                          .src_access = info->access,
                          .writes = info->writes,
                          .mip_base = image ? marks->range[u].mip_base : 0,
                          .mip_count = image && mips ? mips
                                       : image       ? 2
                                                     : 1};
        hdb_stub_mark(hd_vk_commands(recorder), &mark);
    }
}

typedef struct world {
    hd_vk *vk;
    hd_graph *graph;
    pass_marks marks[MOST_PASSES];
    uint32_t mark_count;
} world;

static void open_world(world *w, uint32_t queues, uint32_t frames_in_flight, uint32_t memory_copies)
{
    memset(w, 0, sizeof(*w));
    hdb_stub_clear();
    hd_vk_desc desc = hdb_stub_desc(queues);
    desc.log = hdt_log();
    desc.frames_in_flight = frames_in_flight;
    desc.memory_copies = memory_copies;
    cr_assert_eq(hd_vk_create(&desc, &w->vk), HD_OK);
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = hdt_log()}, &w->graph), HD_OK);
    hdb_stub_state.capture = true;
}

static void begin(world *w)
{
    hd_graph_begin(w->graph);
    w->mark_count = 0;
}

static void run(world *w)
{
    cr_assert_eq(hd_vk_frame(w->vk, w->graph), HD_OK, "%s", hd_graph_error(w->graph)->text);
    hdb_stub_state.frame++;
}

static void close_world(world *w)
{
    hd_graph_destroy(w->graph);
    hd_vk_destroy(w->vk);
    hdb_stub_clear();
}

static void expect_ordered(unsigned at_least, const char *what, uint64_t seed)
{
    char text[512] = "";
    unsigned pairs, faults = hdt_stream_faults(text, sizeof(text), &pairs);
    cr_expect_eq(faults, 0, "%s, HEDDLE_SEED=%llu: %u of %u pairs are not ordered: %s", what, (unsigned long long)seed,
                 faults, pairs, text);
    cr_expect(pairs >= at_least, "%s: only %u pairs", what, pairs);
}

static void add_pass(world *w, hd_pass_type type, const hd_use *uses, uint32_t count)
{
    pass_marks *marks = &w->marks[w->mark_count++];
    marks->count = count;
    for (uint32_t u = 0; u < count; u++) {
        marks->resource[u] = uses[u].resource;
        marks->access[u] = uses[u].access;
        marks->range[u] = uses[u].range;
        uint32_t index = hd_graph_resource_index(w->graph, uses[u].resource);
        marks->image[u] = !(hdi_graph_decl(w->graph).res_flags[index] & HDI_RES_BUFFER);
    }
    hd_graph_pass(w->graph, &(hd_pass_desc){.name = "pass",
                                            .type = type,
                                            .pin = type == HD_PASS_GFX       ? HD_PIN_GFX
                                                   : type == HD_PASS_COMPUTE ? HD_PIN_COMPUTE
                                                                             : HD_PIN_TRANSFER,
                                            .root = true,
                                            .uses = uses,
                                            .use_count = count,
                                            .record = record_marks,
                                            .user = marks});
}

static unsigned waits_of_frame(uint32_t frame)
{
    unsigned count = 0;
    for (uint32_t e = 0; e < hdb_stub_state.event_count; e++)
        count += hdb_stub_state.events[e].frame == frame && hdb_stub_state.events[e].kind == HDB_WAIT;
    return count;
}

static unsigned barriers_of_frame(uint32_t frame)
{
    unsigned count = 0;
    for (uint32_t e = 0; e < hdb_stub_state.event_count; e++)
        count += hdb_stub_state.events[e].frame == frame && hdb_stub_state.events[e].kind == HDB_BARRIER;
    return count;
}

/* ---- what must not wait ---- */

static hd_resource import_buffer(world *w, uint64_t handle)
{
    return hd_graph_import(w->graph,
                           &(hd_import_desc){.name = "import", .buffer = (void *)(uintptr_t)handle, .bytes = 1024});
}

Test(vk_join, frames_that_share_nothing_overlap)
{
    world w;
    open_world(&w, 3, 3, 0);
    for (uint32_t frame = 0; frame < 9; frame++) {
        begin(&w);
        hd_resource out = import_buffer(&w, 1000000 + frame);
        add_pass(&w, HD_PASS_COMPUTE, (hd_use[]){{out, HD_STORAGE_WRITE_COMPUTE}}, 1);
        run(&w);
        cr_expect_eq(waits_of_frame(frame), 0);
        cr_expect_eq(barriers_of_frame(frame), 0);
    }
    close_world(&w);
}

Test(vk_join, reads_of_one_import_overlap)
{
    world w;
    open_world(&w, 3, 3, 0);
    for (uint32_t frame = 0; frame < 9; frame++) {
        begin(&w);
        hd_resource in = import_buffer(&w, 1000000), out = import_buffer(&w, 2000000 + frame);
        add_pass(&w, frame % 2 ? HD_PASS_COMPUTE : HD_PASS_TRANSFER,
                 (hd_use[]){{in, frame % 2 ? HD_STORAGE_READ_COMPUTE : HD_TRANSFER_SRC},
                            {out, frame % 2 ? HD_STORAGE_WRITE_COMPUTE : HD_TRANSFER_DST}},
                 2);
        run(&w);
        cr_expect_eq(waits_of_frame(frame), 0);
        cr_expect_eq(barriers_of_frame(frame), 0);
    }
    close_world(&w);
}

/* Each frame overwrites the same image; with memory of its own it meets the frame that had that memory before, and
 * none once that one has finished. */
static void overwrite(uint32_t frames_in_flight, uint32_t copies)
{
    world w;
    open_world(&w, 1, frames_in_flight, copies);
    for (uint32_t frame = 0; frame < 9; frame++) {
        begin(&w);
        hd_resource words = hd_graph_buffer(w.graph, &(hd_buffer_desc){.name = "words", .bytes = 1024});
        add_pass(&w, HD_PASS_COMPUTE, (hd_use[]){{words, HD_STORAGE_WRITE_COMPUTE}}, 1);
        run(&w);
        cr_expect_eq(barriers_of_frame(frame), frame >= copies && copies < frames_in_flight, "frame %u, %u copies",
                     frame, copies);
    }
    expect_ordered(0, "overwrite", copies);
    close_world(&w);
}

Test(vk_join, memory_of_its_own)
{
    overwrite(3, 1);
    overwrite(3, 2);
    overwrite(3, 3);
    overwrite(4, 3);
}

/* A write, then nothing but reads, in stages and on queues that the first reads did not make it visible to. */
Test(vk_join, every_reader_waits_for_the_write)
{
    world w;
    open_world(&w, 3, 4, 0);
    for (uint32_t frame = 0; frame < 4; frame++) {
        begin(&w);
        hd_resource shared = import_buffer(&w, 1000000), out = import_buffer(&w, 2000000 + frame);
        if (frame == 0)
            add_pass(&w, HD_PASS_COMPUTE, (hd_use[]){{shared, HD_STORAGE_WRITE_COMPUTE}}, 1);
        else if (frame == 1)
            add_pass(&w, HD_PASS_COMPUTE, (hd_use[]){{shared, HD_INDIRECT_READ}, {out, HD_STORAGE_WRITE_COMPUTE}}, 2);
        else if (frame == 2)
            add_pass(&w, HD_PASS_COMPUTE, (hd_use[]){{shared, HD_STORAGE_READ_COMPUTE}}, 1);
        else
            add_pass(&w, HD_PASS_GFX, (hd_use[]){{shared, HD_VERTEX_READ}}, 1);
        run(&w);
    }
    cr_expect_eq(waits_of_frame(2), 0, "one queue needs no semaphore");
    cr_expect_eq(waits_of_frame(3), 1);
    expect_ordered(3, "readers", 0);
    close_world(&w);
}

/* The frame before is on another queue with what both use at its start, and on this one with what it alone uses. */
Test(vk_join, only_the_first_common_use_waits)
{
    world w;
    open_world(&w, 3, 2, 0);
    for (uint32_t frame = 0; frame < 2; frame++) {
        begin(&w);
        hd_resource shared = import_buffer(&w, 1000000), own = import_buffer(&w, 2000000 + frame);
        add_pass(&w, frame ? HD_PASS_COMPUTE : HD_PASS_GFX, (hd_use[]){{shared, HD_STORAGE_RW_COMPUTE}}, 1);
        add_pass(&w, HD_PASS_COMPUTE, (hd_use[]){{own, HD_STORAGE_WRITE_COMPUTE}}, 1);
        run(&w);
    }
    cr_expect_eq(waits_of_frame(1), 1);
    cr_expect_eq(barriers_of_frame(1), 0);
    expect_ordered(1, "first use", 0);
    close_world(&w);
}

/* ---- the engine's semaphores ---- */

Test(vk_join, semaphores_of_an_import)
{
    world w;
    open_world(&w, 3, 2, 0);
    const uint64_t acquired = 7000001, presentable = 7000002;
    begin(&w);
    hd_resource target = import_buffer(&w, 1000000), other = import_buffer(&w, 2000000);
    hd_vk_sync sync = {
        .wait = (VkSemaphore)(uintptr_t)acquired, .signal = (VkSemaphore)(uintptr_t)presentable, .signal_value = 5};
    cr_expect_eq(hd_vk_sync_import(w.vk, w.graph, (hd_resource){0}, &sync), HD_BAD_HANDLE);
    cr_assert_eq(hd_vk_sync_import(w.vk, w.graph, target, &sync), HD_OK);
    add_pass(&w, HD_PASS_TRANSFER, (hd_use[]){{other, HD_TRANSFER_DST}}, 1);
    add_pass(&w, HD_PASS_COMPUTE, (hd_use[]){{other, HD_STORAGE_READ_COMPUTE}, {target, HD_STORAGE_WRITE_COMPUTE}}, 2);
    add_pass(&w, HD_PASS_GFX, (hd_use[]){{target, HD_VERTEX_READ}}, 1);
    run(&w);
    uint32_t waits = 0, signals = 0;
    for (uint32_t e = 0; e < hdb_stub_state.event_count; e++) {
        const hdb_event *event = &hdb_stub_state.events[e];
        if (event->kind == HDB_WAIT && event->object == acquired)
            waits += event->queue == 1; /* where the target is used first */
        if (event->kind == HDB_SIGNAL && event->object == presentable)
            signals += event->queue == 0 && event->value == 5; /* and last */
    }
    cr_expect_eq(waits, 1);
    cr_expect_eq(signals, 1);
    begin(&w); /* they were meant for one frame */
    add_pass(&w, HD_PASS_GFX, (hd_use[]){{import_buffer(&w, 1000000), HD_VERTEX_READ}}, 1);
    run(&w);
    for (uint32_t e = 0; e < hdb_stub_state.event_count; e++) {
        const hdb_event *event = &hdb_stub_state.events[e];
        cr_expect(event->frame == 0 || (event->object != acquired && event->object != presentable));
    }
    close_world(&w);
}

/* A frame that fails forgets them wherever it does, here before it waits for its slot. */
Test(vk_join, semaphores_of_a_frame_that_failed)
{
    world w;
    open_world(&w, 1, 2, 0);
    begin(&w);
    hd_resource target = import_buffer(&w, 1000000);
    hd_vk_sync sync = {.wait = (VkSemaphore)(uintptr_t)7000001};
    cr_assert_eq(hd_vk_sync_import(w.vk, w.graph, target, &sync), HD_OK);
    add_pass(&w, HD_PASS_GFX, (hd_use[]){{target, HD_VERTEX_READ}}, 1);
    hdi_vk_lose(w.vk, HD_DEVICE_LOST);
    cr_expect_eq(hd_vk_frame(w.vk, w.graph), HD_DEVICE_LOST);
    cr_expect_eq(w.vk->sync_count, 0);
    close_world(&w);
}

/* ---- histories ---- */

/* Of texels that no command clears, or of which heddle does not know it, they get their layout alone. */
Test(vk_join, histories_of_unknown_texels)
{
    static const struct {
        uint32_t format, clears; /* of the history and of what it is of */
    } cases[] = {{VK_FORMAT_R8G8B8A8_UNORM, 2},           {VK_FORMAT_R10X6G10X6_UNORM_2PACK16, 2},
                 {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 0}, {VK_FORMAT_G8B8G8R8_422_UNORM, 0},
                 {VK_FORMAT_PVRTC1_2BPP_UNORM_BLOCK_IMG, 0}};
    for (uint32_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        world w;
        open_world(&w, i % 2 ? 3 : 1, 2, 0);
        atomic_store(&hdb_stub_state.color_clears, 0);
        begin(&w);
        hd_resource next = hd_graph_image(
            w.graph, &(hd_image_desc){.name = "next", .width = 16, .height = 16, .format = cases[i / 2].format});
        hd_resource last = hd_graph_history(w.graph, next);
        add_pass(&w, HD_PASS_COMPUTE, (hd_use[]){{last, HD_SAMPLED_COMPUTE}, {next, HD_STORAGE_WRITE_COMPUTE}}, 2);
        run(&w);
        uint32_t layouts = 0;
        for (uint32_t e = 0; e < hdb_stub_state.event_count; e++) {
            const hdb_event *event = &hdb_stub_state.events[e];
            layouts += event->kind == HDB_BARRIER && event->old_layout == VK_IMAGE_LAYOUT_UNDEFINED && event->object &&
                       event->new_layout != VK_IMAGE_LAYOUT_UNDEFINED;
        }
        cr_expect_eq(atomic_load(&hdb_stub_state.color_clears), cases[i / 2].clears, "format %u", cases[i / 2].format);
        cr_expect_geq(layouts, 2, "format %u: %u layouts", cases[i / 2].format, layouts);
        close_world(&w);
    }
}

/* Layers of a barrier may be the slices of a 3D image: all of them are named without a number, by the plan's barriers and
 * by those of histories' clears. */
Test(vk_join, slices_of_3d_images)
{
    world w;
    open_world(&w, 3, 2, 0);
    begin(&w);
    hd_resource next[2], last[2];
    for (uint32_t i = 0; i < 2; i++) {
        hd_image_desc desc = {.name = i ? "3D" : "2D", .width = 16, .height = 16, .format = VK_FORMAT_R8G8B8A8_UNORM};
        desc.depth = i ? 8 : 1;
        desc.layers = i ? 1 : 3;
        desc.flags = i ? VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT : 0;
        next[i] = hd_graph_image(w.graph, &desc);
        last[i] = hd_graph_history(w.graph, next[i]);
        add_pass(&w, HD_PASS_COMPUTE, (hd_use[]){{last[i], HD_SAMPLED_COMPUTE}, {next[i], HD_STORAGE_WRITE_COMPUTE}},
                 2);
    }
    run(&w);
    uint32_t barriers[2] = {0}, all[2] = {0};
    for (uint32_t e = 0; e < hdb_stub_state.event_count; e++) {
        const hdb_event *event = &hdb_stub_state.events[e];
        if (event->kind != HDB_BARRIER || !event->new_layout)
            continue;
        uint32_t solid = event->layer_count != 3;
        barriers[solid]++;
        all[solid] += event->layer_count == VK_REMAINING_ARRAY_LAYERS;
    }
    cr_expect_geq(barriers[1], 4, "%u", barriers[1]);
    cr_expect_eq(barriers[0], barriers[1]);
    cr_expect_eq(all[1], barriers[1]);
    cr_expect_eq(all[0], 0);
    close_world(&w);
}

/* ---- what must wait: random frames against the reference ---- */

typedef struct thing {
    hd_resource resource;
    bool image, defined, read_only;
} thing;

static void add_things(world *w, uint64_t *random, thing *things, uint32_t plan)
{
    for (uint32_t i = 0; i < RESOURCES; i++) {
        things[i] = (thing){.image = hdt_below(random, 2)};
        uint32_t size = 8u << hdt_below(random, 4);
        if (i < 2) { /* the same one in every plan */
            things[i].image = i == 0;
            things[i].defined = true;
            hd_import_desc desc = {.name = "import"};
            if (i == 0)
                desc = (hd_import_desc){.name = "import",
                                        .image = (void *)(uintptr_t)3000000,
                                        .width = 16,
                                        .height = 16,
                                        .mips = 2,
                                        .format = VK_FORMAT_R8G8B8A8_UNORM,
                                        .initial_layout = VK_IMAGE_LAYOUT_GENERAL,
                                        .final_layout = VK_IMAGE_LAYOUT_GENERAL};
            else
                desc = (hd_import_desc){.name = "import", .buffer = (void *)(uintptr_t)4000000, .bytes = 4096};
            things[i].resource = hd_graph_import(w->graph, &desc);
        } else if (things[i].image) {
            things[i].resource = hd_graph_image(
                w->graph,
                &(hd_image_desc){
                    .name = "image", .width = size, .height = size, .mips = 2, .format = VK_FORMAT_R8G8B8A8_UNORM});
        } else {
            things[i].resource =
                hd_graph_buffer(w->graph, &(hd_buffer_desc){.name = "buffer", .bytes = (uint64_t)size * size * 8});
        }
        if (i == 3 && plan % 2 == 0) { /* i == 2 gets a history in some plans */
            things[i] = (thing){.resource = hd_graph_history(w->graph, things[2].resource),
                                .image = things[2].image,
                                .defined = true,
                                .read_only = true};
        }
    }
}

static hd_access choose_access(uint64_t *random, const thing *t, hd_pass_type type, bool write)
{
    static const hd_access image_writes[] = {HD_STORAGE_WRITE_COMPUTE, HD_TRANSFER_DST},
                           image_reads[] = {HD_SAMPLED_COMPUTE, HD_TRANSFER_SRC, HD_STORAGE_READ_COMPUTE},
                           buffer_reads[] = {HD_STORAGE_READ_COMPUTE, HD_INDIRECT_READ, HD_TRANSFER_SRC};
    if (type == HD_PASS_TRANSFER)
        return write ? HD_TRANSFER_DST : HD_TRANSFER_SRC;
    if (write)
        return image_writes[hdt_below(random, 2)];
    if (type == HD_PASS_GFX && hdt_below(random, 2))
        return t->image ? HD_SAMPLED_GRAPHICS : HD_VERTEX_READ;
    return t->image ? image_reads[hdt_below(random, 3)] : buffer_reads[hdt_below(random, 3)];
}

static void declare_random(world *w, uint64_t seed, uint32_t plan)
{
    uint64_t random = seed * 16 + plan;
    thing things[RESOURCES];
    begin(w);
    add_things(w, &random, things, plan);
    uint32_t passes = 3 + hdt_below(&random, MOST_PASSES - 3);
    for (uint32_t p = 0; p < passes; p++) {
        hd_pass_type type = (hd_pass_type)hdt_below(&random, 3);
        hd_use uses[MOST_USES];
        uint32_t count = 0, used = 0, wanted = 1 + hdt_below(&random, MOST_USES);
        for (uint32_t u = 0; u < wanted; u++) {
            uint32_t i = hdt_below(&random, RESOURCES);
            thing *t = &things[i];
            if (used >> i & 1)
                continue;
            used |= 1u << i;
            bool write = !t->read_only && (!t->defined || hdt_below(&random, 3) == 0);
            uses[count] = (hd_use){t->resource, choose_access(&random, t, type, write)};
            if (t->image && t->defined && hdt_below(&random, 3) == 0) {
                uses[count].range.mip_base = (uint16_t)hdt_below(&random, 2);
                uses[count].range.mip_count = 1;
            }
            t->defined = true;
            count++;
        }
        if (count)
            add_pass(w, type, uses, count);
    }
}

static void random_frames(uint64_t seed)
{
    world w;
    uint64_t random = seed * 7919;
    uint32_t queues = hdt_below(&random, 4) ? 3 : 1 + hdt_below(&random, 2), flying = 2 + hdt_below(&random, 3);
    open_world(&w, queues, flying, hdt_below(&random, flying + 1));
    for (uint32_t frame = 0; frame < 7; frame++) {
        declare_random(&w, seed, hdt_below(&random, 3));
        run(&w);
    }
    expect_ordered(1, "random frames", seed);
    close_world(&w);
}

Test(vk_join, random_frames_against_the_reference)
{
    const char *given = getenv("HEDDLE_SEED");
    if (given) {
        random_frames(strtoull(given, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= 150; seed++)
        random_frames(seed);
}
