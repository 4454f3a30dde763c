#include <criterion/criterion.h>

#include <string.h>

#include "vk_scene.h"
#include "tables.h"

/* The passes that heddle brings along, on a real driver: what they write is read back and compared. */

typedef struct readback {
    uint8_t bytes[PIXELS * 4];
    uint64_t count;
    uint32_t runs;
} readback;

static void keep(const void *data, uint64_t bytes, void *user)
{
    readback *r = user;
    r->count = bytes;
    r->runs++;
    memcpy(r->bytes, data, bytes < sizeof(r->bytes) ? bytes : sizeof(r->bytes));
}

static void run(scene *s)
{
    cr_assert_eq(hd_vk_frame(s->f.vk, s->graph), HD_OK, "%s", hd_graph_error(s->graph)->text);
    cr_assert_eq(hd_vk_wait(s->f.vk), HD_OK);
}

static void pattern(uint8_t *bytes, uint32_t count, uint32_t seed)
{
    for (uint32_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(i * 7 + seed * 31 + (i >> 8));
}

/* Uploads of each frame differ and more than one frame is in flight: none may overwrite another's bytes. */
Test(vk_helpers, upload_and_readback)
{
    scene s;
    open_scene(&s, &(hd_vk_desc){.frames_in_flight = 3});
    enum { FRAMES = 9 };
    static uint8_t sent[PIXELS * 4];
    static readback buffers[FRAMES], images[FRAMES];
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        hd_graph_begin(s.graph);
        hd_resource words = buffer(&s, "words", 1024), texture = image(&s, "texture", VK_FORMAT_R8G8B8A8_UNORM);
        pattern(sent, sizeof(sent), frame);
        hd_vk_fill(s.f.vk, s.graph, words, NULL, 0x01020304u, NULL);
        hd_vk_upload(s.f.vk, s.graph, words, &(hd_range){.offset = 256}, sent, 500, NULL);
        hd_vk_upload(s.f.vk, s.graph, texture, NULL, sent, sizeof(sent), NULL);
        hd_vk_readback(s.f.vk, s.graph, words, NULL, keep, &buffers[frame], NULL);
        hd_vk_readback(s.f.vk, s.graph, texture, NULL, keep, &images[frame], NULL);
        cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK, "%s", hd_graph_error(s.graph)->text);
    }
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        pattern(sent, sizeof(sent), frame);
        cr_expect_eq(buffers[frame].runs, 1);
        cr_expect_eq(buffers[frame].count, 1024);
        cr_expect_eq(buffers[frame].bytes[0], 4);
        cr_expect_eq(buffers[frame].bytes[759], 1);
        cr_expect_eq(memcmp(buffers[frame].bytes + 256, sent, 500), 0, "frame %u", frame);
        cr_expect_eq(images[frame].runs, 1);
        cr_expect_eq(memcmp(images[frame].bytes, sent, sizeof(sent)), 0, "frame %u", frame);
    }
    close_scene(&s);
}

Test(vk_helpers, mips_of_layers)
{
    scene s;
    open_scene(&s, NULL);
    static uint8_t texels[PIXELS * 2];
    static readback last[2];
    hd_resource texture = hd_graph_image(
        s.graph,
        &(hd_image_desc){
            .name = "texture", .width = SIZE, .height = SIZE, .format = VK_FORMAT_R8_UNORM, .mips = 7, .layers = 2});
    for (uint32_t i = 0; i < PIXELS; i++) {
        texels[i] = i % SIZE < SIZE / 2 ? 0 : 200; /* mean 100 */
        texels[PIXELS + i] = 40;
    }
    hd_vk_upload(s.f.vk, s.graph, texture, &(hd_range){.mip_count = 1}, texels, sizeof(texels), NULL);
    hd_vk_generate_mips(s.f.vk, s.graph, texture, NULL);
    hd_vk_readback(s.f.vk, s.graph, texture, &(hd_range){{.mip_base = 6}}, keep, &last[0], NULL);
    hd_vk_readback(s.f.vk, s.graph, texture, &(hd_range){{.mip_base = 5, .layer_base = 1}}, keep, &last[1], NULL);
    run(&s);
    cr_expect_eq(last[0].count, 2);
    cr_expect(last[0].bytes[0] >= 99 && last[0].bytes[0] <= 101, "%u", last[0].bytes[0]);
    cr_expect_eq(last[0].bytes[1], 40);
    cr_expect_eq(last[1].count, 4);
    cr_expect_eq(last[1].bytes[3], 40);
    close_scene(&s);
}

/* Texels that come in blocks are packed block by block, and levels smaller than a block have a whole one. */
Test(vk_helpers, block_compressed)
{
    static const struct {
        VkFormat format;
        uint32_t bytes;
    } blocks[] = {{VK_FORMAT_BC1_RGB_UNORM_BLOCK, 8}, {VK_FORMAT_BC7_UNORM_BLOCK, 16}};
    enum { MIPS = 5 }; /* 20 x 12, 10 x 6, 5 x 3, 2 x 1, 1 x 1 texels */
    static const uint32_t counts[MIPS] = {5 * 3, 3 * 2, 2 * 1, 1, 1};
    static uint8_t sent[MIPS][2 * 15 * 16];
    static readback back[MIPS], through;
    scene s;
    open_scene(&s, &(hd_vk_desc){.features = &(VkPhysicalDeviceFeatures){.textureCompressionBC = VK_TRUE}});
    for (int i = 0; i < 2; i++) {
        hd_graph_begin(s.graph);
        hd_resource texture = hd_graph_image(s.graph, &(hd_image_desc){.name = "texture",
                                                                       .width = 20,
                                                                       .height = 12,
                                                                       .mips = MIPS,
                                                                       .layers = 2,
                                                                       .format = (uint32_t)blocks[i].format}),
                    words = buffer(&s, "words", sizeof(sent[0]));
        for (uint16_t m = 0; m < MIPS; m++) {
            uint32_t bytes = 2 * counts[m] * blocks[i].bytes;
            pattern(sent[m], bytes, m);
            hd_vk_upload(s.f.vk, s.graph, texture, &(hd_range){{.mip_base = m}}, sent[m], bytes, NULL);
            hd_vk_readback(s.f.vk, s.graph, texture, &(hd_range){{.mip_base = m}}, keep, &back[m], NULL);
        }
        hd_vk_fill(s.f.vk, s.graph, words, NULL, 0, NULL);
        hd_vk_copy(s.f.vk, s.graph, texture, &(hd_range){{.mip_base = 2}}, words, NULL, NULL);
        hd_vk_readback(s.f.vk, s.graph, words, NULL, keep, &through, NULL);
        run(&s);
        for (uint32_t m = 0; m < MIPS; m++) {
            cr_expect_eq(back[m].count, 2 * counts[m] * blocks[i].bytes, "level %u", m);
            cr_expect_eq(memcmp(back[m].bytes, sent[m], back[m].count), 0, "level %u", m);
        }
        cr_expect_eq(memcmp(through.bytes, sent[2], back[2].count), 0);
        cr_expect_eq(through.bytes[back[2].count], 0);
    }
    close_scene(&s);
}

/* Naming both aspects is naming none: of one level depth is meant. */
Test(vk_helpers, both_aspects_by_name)
{
    const hd_range both = {{.aspect = HD_ASPECT_DEPTH | HD_ASPECT_STENCIL}};
    static readback back;
    scene s;
    open_scene(&s, NULL);
    hd_resource d = image(&s, "d", VK_FORMAT_D32_SFLOAT_S8_UINT);
    hd_vk_clear(s.f.vk, s.graph, d, &both, &(VkClearValue){.depthStencil = {0.5f, 3}}, NULL);
    hd_vk_readback(s.f.vk, s.graph, d, &both, keep, &back, NULL);
    run(&s);
    cr_expect_eq(back.count, PIXELS * 4);
    cr_expect_eq(back.bytes[PIXELS * 4 - 1], 0x3f);
    close_scene(&s);
}

Test(vk_helpers, clear_copy_blit)
{
    scene s;
    open_scene(&s, NULL);
    static readback small, depth, through;
    hd_resource a = image(&s, "a", VK_FORMAT_R8G8B8A8_UNORM), b = image(&s, "b", VK_FORMAT_R8G8B8A8_UNORM);
    hd_resource c = hd_graph_image(
        s.graph, &(hd_image_desc){.name = "c", .width = 8, .height = 8, .format = VK_FORMAT_R8G8B8A8_UNORM});
    hd_resource d = image(&s, "d", VK_FORMAT_D32_SFLOAT), words = buffer(&s, "words", PIXELS * 4),
                more = buffer(&s, "more", PIXELS * 8), e = image(&s, "e", VK_FORMAT_R8G8B8A8_UNORM);
    hd_vk_clear(s.f.vk, s.graph, a, NULL, &(VkClearValue){.color.float32 = {1.0f, 0.0f, 1.0f, 0.0f}}, NULL);
    hd_vk_clear(s.f.vk, s.graph, d, NULL, &(VkClearValue){.depthStencil = {0.5f, 0}}, NULL);
    hd_vk_copy(s.f.vk, s.graph, a, NULL, b, NULL, NULL);
    hd_vk_blit(s.f.vk, s.graph, b, NULL, c, NULL, VK_FILTER_NEAREST, NULL);
    hd_vk_readback(s.f.vk, s.graph, c, NULL, keep, &small, NULL);
    hd_vk_readback(s.f.vk, s.graph, d, NULL, keep, &depth, NULL);
    hd_vk_copy(s.f.vk, s.graph, b, NULL, words, NULL, NULL);
    hd_vk_copy(s.f.vk, s.graph, words, NULL, more, &(hd_range){.offset = 1024}, NULL);
    hd_vk_copy(s.f.vk, s.graph, more, &(hd_range){.offset = 1024}, e, NULL, NULL);
    hd_vk_readback(s.f.vk, s.graph, e, NULL, keep, &through, NULL);
    run(&s);
    cr_expect_eq(small.count, 8 * 8 * 4);
    cr_expect_eq(through.count, PIXELS * 4);
    const uint8_t expect[4] = {255, 0, 255, 0};
    cr_expect_eq(memcmp(small.bytes + 8 * 8 * 4 - 4, expect, 4), 0);
    cr_expect_eq(memcmp(through.bytes + PIXELS * 4 - 4, expect, 4), 0);
    float value;
    memcpy(&value, depth.bytes, sizeof(value));
    cr_expect_float_eq(value, 0.5f, 1e-6);
    close_scene(&s);
}

static hd_resource four_samples(scene *s, const char *name, uint32_t format)
{
    return hd_graph_image(
        s->graph, &(hd_image_desc){.name = name, .width = SIZE, .height = SIZE, .format = format, .samples = 4});
}

Test(vk_helpers, resolve)
{
    scene s;
    open_scene(&s, NULL);
    static readback colors, depths;
    rect_pass color_rect = {&s,
                            {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .clearValue.color.float32 = {0, 1, 0, 1}},
                            {{0, 0}, {SIZE / 2, SIZE}}};
    hd_resource color4 = four_samples(&s, "color4", VK_FORMAT_R8G8B8A8_UNORM),
                depth4 = four_samples(&s, "depth4", VK_FORMAT_D32_SFLOAT),
                color = image(&s, "color", VK_FORMAT_R8G8B8A8_UNORM), depth = image(&s, "depth", VK_FORMAT_D32_SFLOAT);
    hd_graph_pass(s.graph, &(hd_pass_desc){.name = "draw",
                                           .record = clear_rect,
                                           .user = &color_rect,
                                           .uses = HD_USES({color4, HD_COLOR_WRITE, .clear.color = {1, 0, 0, 1}},
                                                           {depth4, HD_DEPTH_WRITE, .clear.depth = 0.25f})});
    hd_vk_resolve(s.f.vk, s.graph, color4, NULL, color, NULL, VK_RESOLVE_MODE_NONE, NULL);
    hd_vk_resolve(s.f.vk, s.graph, depth4, NULL, depth, NULL, VK_RESOLVE_MODE_NONE, NULL);
    hd_vk_readback(s.f.vk, s.graph, color, NULL, keep, &colors, NULL);
    hd_vk_readback(s.f.vk, s.graph, depth, NULL, keep, &depths, NULL);
    run(&s);
    uint32_t bad = 0;
    for (uint32_t i = 0; i < PIXELS; i++) {
        const uint8_t expect[4] = {i % SIZE < SIZE / 2 ? 0 : 255, i % SIZE < SIZE / 2 ? 255 : 0, 0, 255};
        float value;
        memcpy(&value, depths.bytes + i * 4, sizeof(value));
        bad += memcmp(colors.bytes + i * 4, expect, 4) != 0 || value != 0.25f;
    }
    cr_expect_eq(bad, 0, "%u wrong texels", bad);

    hd_resource other = {0};
    for (uint32_t fault = 0; fault < 4; fault++) {
        hd_graph_begin(s.graph);
        color4 = four_samples(&s, "color4", VK_FORMAT_R8G8B8A8_UNORM);
        color = image(&s, "color", VK_FORMAT_R8G8B8A8_UNORM);
        other = image(&s, "other", VK_FORMAT_R8_UNORM);
        hd_pass pass =
            fault == 0   ? hd_vk_resolve(s.f.vk, s.graph, color, NULL, color, NULL, VK_RESOLVE_MODE_NONE, NULL)
            : fault == 1 ? hd_vk_resolve(s.f.vk, s.graph, color4, NULL, other, NULL, VK_RESOLVE_MODE_NONE, NULL)
            : fault == 2
                ? hd_vk_resolve(s.f.vk, s.graph, color4, NULL, color, NULL, VK_RESOLVE_MODE_MIN_BIT, NULL)
                : hd_vk_resolve(s.f.vk, s.graph, color4, NULL, (hd_resource){0}, NULL, VK_RESOLVE_MODE_NONE, NULL);
        cr_expect_eq(pass.id, 0, "fault %u", fault);
        cr_expect_eq(hd_graph_error(s.graph)->result, fault == 3 ? HD_BAD_HANDLE : HD_INVALID_ARGUMENT, "fault %u",
                     fault);
    }
    close_scene(&s);
}

/* A frame of an import of the engine's own, with a timeline of its own around it. */
Test(vk_helpers, semaphores_of_the_engine)
{
    scene s;
    open_scene(&s, NULL);
    VkDevice device = s.f.info.device;
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                      .initialValue = 1};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore timeline;
    cr_assert_eq(HDT_FN(&s.f, vkCreateSemaphore)(device, &info, NULL, &timeline), VK_SUCCESS);
    VkBufferCreateInfo made = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = 1024,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer own;
    cr_assert_eq(HDT_FN(&s.f, vkCreateBuffer)(device, &made, NULL, &own), VK_SUCCESS);
    VkMemoryRequirements needs;
    HDT_FN(&s.f, vkGetBufferMemoryRequirements)(device, own, &needs);
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
    VkDeviceMemory bytes;
    cr_assert_eq(HDT_FN(&s.f, vkAllocateMemory)(device, &memory, NULL, &bytes), VK_SUCCESS);
    cr_assert_eq(HDT_FN(&s.f, vkBindBufferMemory)(device, own, bytes, 0), VK_SUCCESS);
    static readback seen;
    for (uint64_t frame = 0; frame < 4; frame++) {
        hd_graph_begin(s.graph);
        hd_resource target =
            hd_graph_import(s.graph, &(hd_import_desc){.name = "own", .buffer = (void *)own, .bytes = 1024});
        hd_vk_sync sync = {timeline, 1 + frame, timeline, 2 + frame};
        cr_assert_eq(hd_vk_sync_import(s.f.vk, s.graph, target, &sync), HD_OK);
        hd_vk_fill(s.f.vk, s.graph, target, NULL, (uint32_t)frame, NULL);
        hd_vk_readback(s.f.vk, s.graph, target, NULL, keep, &seen, NULL);
        cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK, "%s", hd_graph_error(s.graph)->text);
    }
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    uint64_t value = 0;
    cr_assert_eq(HDT_FN(&s.f, vkGetSemaphoreCounterValue)(device, timeline, &value), VK_SUCCESS);
    cr_expect_eq(value, 5);
    cr_expect_eq(seen.runs, 4);
    cr_expect_eq(seen.bytes[0], 3);
    HDT_FN(&s.f, vkDestroyBuffer)(device, own, NULL);
    HDT_FN(&s.f, vkFreeMemory)(device, bytes, NULL);
    HDT_FN(&s.f, vkDestroySemaphore)(device, timeline, NULL);
    close_scene(&s);
}

/* Mistakes stick in the graph like those of any pass. */
Test(vk_helpers, mistakes)
{
    scene s;
    open_scene(&s, NULL);
    uint8_t bytes[16] = {0};
    for (uint32_t fault = 0; fault < 8; fault++) {
        hd_graph_begin(s.graph);
        hd_resource words = buffer(&s, "words", 8), a = image(&s, "a", VK_FORMAT_R8_UNORM);
        hd_pass pass = {0};
        switch (fault) {
        case 0:
            pass = hd_vk_upload(s.f.vk, s.graph, words, NULL, bytes, 9, NULL);
            break;
        case 1:
            pass = hd_vk_upload(s.f.vk, s.graph, a, NULL, bytes, 16, NULL);
            break;
        case 2:
            pass = hd_vk_upload(s.f.vk, s.graph, (hd_resource){0}, NULL, bytes, 4, NULL);
            break;
        case 3:
            pass = hd_vk_fill(s.f.vk, s.graph, words, &(hd_range){.offset = 2}, 0, NULL);
            break;
        case 4:
            pass = hd_vk_copy(s.f.vk, s.graph, a, NULL, words, NULL, NULL);
            break;
        case 5:
            pass = hd_vk_blit(s.f.vk, s.graph, a, NULL, words, NULL, VK_FILTER_LINEAR, NULL);
            break;
        case 6:
            pass = hd_vk_clear(s.f.vk, s.graph, a, &(hd_range){{.mip_base = 1}}, &(VkClearValue){0}, NULL);
            break;
        default:
            pass = hd_vk_readback(s.f.vk, s.graph, words, NULL, NULL, NULL, NULL);
            break;
        }
        cr_expect_eq(pass.id, 0, "fault %u", fault);
        const hd_error *error = hd_graph_error(s.graph);
        hd_result expected = fault == 2 ? HD_BAD_HANDLE : HD_INVALID_ARGUMENT;
        cr_expect_eq(error->result, expected, "fault %u", fault);
        cr_expect_eq(error->resource == HD_NONE, fault == 2, "fault %u names no resource", fault);
        cr_expect_eq(hd_vk_frame(s.f.vk, s.graph), expected);
    }
    close_scene(&s);
}

static hd_resource odd_image(scene *s, uint32_t format, uint32_t samples)
{
    const hd_image_desc desc = {.name = "odd", .width = SIZE, .height = SIZE, .format = format, .samples = samples};
    return hd_graph_image(s->graph, &desc);
}

/* What no device copies or blits is refused where it is declared, in words. */
Test(vk_helpers, images_that_do_not_go_together)
{
    enum { UNORM = VK_FORMAT_R8G8B8A8_UNORM, UINT = VK_FORMAT_R8G8B8A8_UINT, FLOATS = VK_FORMAT_R32_SFLOAT,
           HALF = VK_FORMAT_R16_SFLOAT, DEPTH = VK_FORMAT_D32_SFLOAT, BOTH = VK_FORMAT_D32_SFLOAT_S8_UINT,
           BLOCKS = VK_FORMAT_BC1_RGB_UNORM_BLOCK, OTHERS = VK_FORMAT_BC4_UNORM_BLOCK,
           LARGE = VK_FORMAT_ASTC_8x8_UNORM_BLOCK, TWICE = VK_FORMAT_BC3_UNORM_BLOCK,
           WIDE = VK_FORMAT_R16G16B16A16_SFLOAT, SINT = VK_FORMAT_R8G8B8A8_SINT,
           SINT_WIDE = VK_FORMAT_R32G32B32A32_SINT };
    enum { COPY, BLIT, LINEAR };
    static const struct {
        uint32_t what, from, from_samples, to, to_samples;
        const char *why; /* null: it goes */
    } cases[] = {
        {COPY, UNORM, 1, FLOATS, 1, NULL},
        {COPY, BLOCKS, 1, OTHERS, 1, NULL},
        {COPY, UNORM, 4, FLOATS, 4, NULL},
        {COPY, DEPTH, 1, FLOATS, 1, NULL}, /* with VK_KHR_maintenance8 */
        {COPY, UNORM, 1, HALF, 1, "bytes"},
        {COPY, BLOCKS, 1, TWICE, 1, "bytes"},
        {COPY, BLOCKS, 1, WIDE, 1, "other blocks"}, /* the first texels only */
        {COPY, WIDE, 1, BLOCKS, 1, "other blocks"}, /* and beyond its sides */
        {COPY, LARGE, 1, TWICE, 1, "other blocks"},
        {COPY, UNORM, 1, UNORM, 4, "samples"},
        {COPY, BOTH, 1, DEPTH, 1, "another format"},
        {BLIT, UNORM, 1, HALF, 1, NULL},
        {BLIT, DEPTH, 1, DEPTH, 1, NULL},
        {BLIT, UNORM, 4, UNORM, 1, "samples"},
        {BLIT, UNORM, 1, UINT, 1, "integers"},
        {BLIT, UINT, 1, SINT, 1, "UINT goes to UINT"},
        {BLIT, SINT_WIDE, 1, UINT, 1, "UINT goes to UINT"},
        {BLIT, SINT, 1, SINT_WIDE, 1, NULL},
        {LINEAR, UINT, 1, UINT, 1, "VK_FILTER_NEAREST"},
        {BLIT, DEPTH, 1, FLOATS, 1, "same format"},
        {LINEAR, DEPTH, 1, DEPTH, 1, "VK_FILTER_NEAREST"},
        {7, UNORM, 1, UNORM, 1, "no VkFilter"},
    };
    scene s;
    open_scene(&s, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hd_graph_begin(s.graph);
        hd_resource from = odd_image(&s, cases[i].from, cases[i].from_samples),
                    to = odd_image(&s, cases[i].to, cases[i].to_samples);
        hd_pass pass = cases[i].what == COPY
                           ? hd_vk_copy(s.f.vk, s.graph, from, NULL, to, NULL, NULL)
                           : hd_vk_blit(s.f.vk, s.graph, from, NULL, to, NULL, (VkFilter)(cases[i].what - BLIT), NULL);
        const hd_error *error = hd_graph_error(s.graph);
        cr_expect_eq(pass.id != 0, !cases[i].why, "case %zu: %s", i, error->text);
        cr_expect_eq(error->result, cases[i].why ? HD_INVALID_ARGUMENT : HD_OK, "case %zu: %s", i, error->text);
        cr_expect(!cases[i].why || strstr(error->text, cases[i].why), "case %zu: %s", i, error->text);
    }
    hd_graph_begin(s.graph);
    VkClearValue value = {0};
    cr_expect_eq(hd_vk_clear(s.f.vk, s.graph, odd_image(&s, BLOCKS, 1), NULL, &value, NULL).id, 0);
    cr_expect(strstr(hd_graph_error(s.graph)->text, "blocks"), "%s", hd_graph_error(s.graph)->text);
    hd_graph_begin(s.graph);
    hd_resource behind = buffer(&s, "behind", 64);
    cr_expect_eq(hd_vk_readback(s.f.vk, s.graph, behind, &(hd_range){.offset = 64}, keep, NULL, NULL).id, 0);
    cr_expect(strstr(hd_graph_error(s.graph)->text, "no such part"), "%s", hd_graph_error(s.graph)->text);
    for (uint32_t fault = 0; fault < 4; fault++) {
        hd_resource stale = behind, good;
        hd_graph_begin(s.graph);
        good = buffer(&s, "good", 64);
        if (fault == 0)
            hd_vk_fill(s.f.vk, s.graph, stale, NULL, 0, NULL);
        else if (fault == 1)
            hd_vk_upload(s.f.vk, s.graph, (hd_resource){0}, NULL, &value, sizeof(value), NULL);
        else
            hd_vk_copy(s.f.vk, s.graph, fault == 2 ? stale : good, NULL, fault == 2 ? good : stale, NULL, NULL);
        cr_expect_eq(hd_graph_error(s.graph)->result, HD_BAD_HANDLE, "%s", hd_graph_error(s.graph)->text);
    }
    static const uint8_t texels[PIXELS * 4];
    for (uint32_t fault = 0; fault < 3; fault++) {
        hd_graph_begin(s.graph);
        hd_resource a = odd_image(&s, UNORM, 4), words = buffer(&s, "words", sizeof(texels));
        hd_pass pass = fault == 0   ? hd_vk_upload(s.f.vk, s.graph, a, NULL, texels, sizeof(texels), NULL)
                       : fault == 1 ? hd_vk_copy(s.f.vk, s.graph, words, NULL, a, NULL, NULL)
                                    : hd_vk_readback(s.f.vk, s.graph, a, NULL, keep, NULL, NULL);
        cr_expect_eq(pass.id, 0);
        cr_expect(strstr(hd_graph_error(s.graph)->text, "samples"), "%s", hd_graph_error(s.graph)->text);
    }
    close_scene(&s);
}

/* Formats of which heddle cannot tell how much memory the device would touch; and some beyond the first numbers. */
Test(vk_helpers, sizes_of_texels)
{
    static const uint8_t texels[PIXELS * 4];
    static const struct {
        uint32_t format, bytes; /* 0: not known */
    } cases[] = {{VK_FORMAT_G8B8G8R8_422_UNORM, 0},
                 {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 0},
                 {VK_FORMAT_R10X6_UNORM_PACK16, PIXELS * 2},
                 {VK_FORMAT_A4R4G4B4_UNORM_PACK16, PIXELS * 2},
                 {VK_FORMAT_ASTC_8x8_SFLOAT_BLOCK, PIXELS / 64 * 16}};
    scene s;
    open_scene(&s, NULL);
    for (uint32_t i = 0; i < 5 * sizeof(cases) / sizeof(cases[0]); i++) {
        const uint32_t known = cases[i / 5].bytes, way = i % 5;
        const VkClearValue none = {0};
        if (way == 4 && known && known < PIXELS) /* of blocks */
            continue;
        hd_graph_begin(s.graph);
        hd_resource a = odd_image(&s, cases[i / 5].format, 1), words = buffer(&s, "words", known ? known : 4);
        hd_pass pass = way == 0   ? hd_vk_upload(s.f.vk, s.graph, a, NULL, texels, known ? known : 4, NULL)
                       : way == 1 ? hd_vk_copy(s.f.vk, s.graph, words, NULL, a, NULL, NULL)
                       : way == 2 ? hd_vk_copy(s.f.vk, s.graph, a, NULL, words, NULL, NULL)
                       : way == 3 ? hd_vk_readback(s.f.vk, s.graph, a, NULL, keep, NULL, NULL)
                                  : hd_vk_clear(s.f.vk, s.graph, a, NULL, &none, NULL);
        cr_expect_eq(pass.id != 0, known != 0, "%u: %s", i, hd_graph_error(s.graph)->text);
        cr_expect(known || strstr(hd_graph_error(s.graph)->text, "'odd': an argument is null or outside its documented "
                                                                  "range: heddle does not know the size"),
                  "%u: %s", i, hd_graph_error(s.graph)->text);
    }
    close_scene(&s);
}

/* Frames that are declared and never executed, as while a window is minimised, keep no memory; what another graph has
 * declared meanwhile stays. */
Test(vk_helpers, frames_that_are_never_executed)
{
    enum { BYTES = 1 << 20 };
    static uint8_t data[BYTES];
    static readback seen[2];
    hd_graph *other;
    scene s;
    open_scene(&s, &(hd_vk_desc){.get_instance_proc = hdt_vk_hooked});
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = hdt_log()}, &other), HD_OK);
    unsigned before = 0;
    for (uint32_t i = 0; i < 64; i++) {
        hd_graph_begin(s.graph);
        pattern(data, BYTES, i);
        hd_resource to = buffer(&s, "to", BYTES);
        hd_vk_upload(s.f.vk, s.graph, to, NULL, data, BYTES, NULL);
        hd_vk_readback(s.f.vk, s.graph, to, &(hd_range){.bytes = sizeof(seen[0].bytes)}, keep, &seen[0], NULL);
        if (i == 0)
            before = atomic_load(&hdt_vk_hooks.creations);
    }
    cr_expect_eq(atomic_load(&hdt_vk_hooks.creations), before);
    run(&s);
    cr_expect(seen[0].runs == 1 && memcmp(seen[0].bytes, data, sizeof(seen[0].bytes)) == 0);
    hd_graph_begin(other);
    hd_resource to = hd_graph_buffer(other, &(hd_buffer_desc){.name = "to", .bytes = BYTES});
    pattern(data, BYTES, 77);
    hd_vk_upload(s.f.vk, other, to, NULL, data, BYTES, NULL);
    hd_vk_readback(s.f.vk, other, to, &(hd_range){.bytes = sizeof(seen[1].bytes)}, keep, &seen[1], NULL);
    for (uint32_t i = 0; i < 3; i++) {
        hd_graph_begin(s.graph);
        to = buffer(&s, "to", BYTES);
        pattern(data, BYTES, 100 + i);
        hd_vk_upload(s.f.vk, s.graph, to, NULL, data, BYTES, NULL);
        hd_vk_readback(s.f.vk, s.graph, to, &(hd_range){.bytes = sizeof(seen[0].bytes)}, keep, &seen[0], NULL);
    }
    cr_expect_eq(hd_vk_frame(s.f.vk, other), HD_OK);
    cr_expect_eq(hd_vk_wait(s.f.vk), HD_OK);
    pattern(data, BYTES, 77);
    cr_expect(seen[1].runs == 1 && memcmp(seen[1].bytes, data, sizeof(seen[1].bytes)) == 0);
    hd_graph_destroy(other);
    close_scene(&s);
}

#ifdef HDT_THREE_FAMILIES
static uint32_t queue_of(const hd_plan_view *plan, uint32_t pass)
{
    for (uint32_t s = 0; s < plan->submit_count; s++) {
        const hd_plan_submit *submit = &plan->submits[s];
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
            if (plan->commands[c].kind == HD_COMMAND_PASS && plan->commands[c].index == pass)
                return plan->queues[submit->queue].kind;
        }
    }
    return HD_NONE;
}

/* Vulkan has copies of depth and stencil on graphics queues only. */
Test(vk_helpers, copies_of_depth_run_on_graphics_queues)
{
    scene s;
    open_scene(&s, NULL);
    static readback seen;
    for (uint32_t round = 0; round < 3; round++) {
        hd_graph_begin(s.graph);
        hd_resource d = image(&s, "d", round ? VK_FORMAT_D32_SFLOAT : VK_FORMAT_R32_SFLOAT),
                    words = buffer(&s, "words", PIXELS * 4);
        hd_vk_fill(s.f.vk, s.graph, words, NULL, 0x3f000000, NULL);
        copy_pass copy = {&s, d, words, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
        hd_pass up =
            round < 2 ? hd_vk_copy(s.f.vk, s.graph, words, NULL, d, NULL, NULL)
                      : hd_graph_pass(s.graph,
                                      &(hd_pass_desc){.name = "pinned",
                                                      .type = HD_PASS_TRANSFER,
                                                      .pin = HD_PIN_TRANSFER,
                                                      .record = copy_to_buffer,
                                                      .user = &copy,
                                                      .uses = HD_USES({words, HD_TRANSFER_SRC}, {d, HD_TRANSFER_DST})});
        hd_vk_readback(s.f.vk, s.graph, d, NULL, keep, &seen, NULL);
        const hd_plan *plan;
        cr_assert_eq(hd_vk_compile(s.f.vk, s.graph, NULL, &plan), HD_OK);
        hd_plan_view view = hd_plan_read(plan);
        uint32_t kind = queue_of(&view, hd_graph_pass_index(s.graph, up));
        uint32_t type = hdi_graph_decl(s.graph).pass_type[hd_graph_pass_index(s.graph, up)];
        if (round == 0) /* any queue may run it: which one does is a matter of hand-offs */
            cr_expect_eq(type, HD_PASS_TRANSFER);
        else
            cr_expect_eq(kind, round == 1 ? HD_QUEUE_GFX : HD_QUEUE_TRANSFER, "round %u", round);
        cr_expect_eq(hd_vk_execute(s.f.vk, s.graph, plan), round == 2 ? HD_UNSUPPORTED : HD_OK);
        cr_expect_eq(hd_vk_wait(s.f.vk), HD_OK);
        cr_expect_eq(seen.runs, round ? 2 : 1);
        cr_expect_eq(seen.bytes[PIXELS * 4 - 1], 0x3f);
    }
    close_scene(&s);
}
#endif
