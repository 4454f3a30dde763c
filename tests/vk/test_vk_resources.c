#include <criterion/criterion.h>

#include <string.h>

#include "checked.h"
#include "vk_scene.h"

/* Resources from outside, and the views that passes get. */

/* ---- the engine's own image and buffer ---- */

typedef struct engine {
    VkImage image;
    VkBuffer buffer;
    VkDeviceMemory image_memory, buffer_memory;
    const uint32_t *words;
} engine;

/* The memory comes from type 0 of those allowed that the host can map; such a type has to be there for buffers, and
 * where images cannot have one any type will do for them. */
static VkDeviceMemory allocate(hdt_vk *f, const VkMemoryRequirements *needs, VkMemoryPropertyFlags wanted)
{
    VkPhysicalDeviceMemoryProperties has;
    HDT_FN(f, vkGetPhysicalDeviceMemoryProperties)(f->info.physical_device, &has);
    uint32_t type = 0;
    while (type < has.memoryTypeCount &&
           (!(needs->memoryTypeBits >> type & 1) || (has.memoryTypes[type].propertyFlags & wanted) != wanted))
        type++;
    cr_assert(type < has.memoryTypeCount);
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs->size, .memoryTypeIndex = type};
    VkDeviceMemory memory;
    cr_assert_eq(HDT_FN(f, vkAllocateMemory)(f->info.device, &info, NULL, &memory), VK_SUCCESS);
    return memory;
}

static void make_engine(hdt_vk *f, engine *e)
{
    VkDevice device = f->info.device;
    VkMemoryRequirements needs;
    VkImageCreateInfo image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .extent = {SIZE, SIZE, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
    };
    cr_assert_eq(HDT_FN(f, vkCreateImage)(device, &image, NULL, &e->image), VK_SUCCESS);
    HDT_FN(f, vkGetImageMemoryRequirements)(device, e->image, &needs);
    e->image_memory = allocate(f, &needs, 0);
    cr_assert_eq(HDT_FN(f, vkBindImageMemory)(device, e->image, e->image_memory, 0), VK_SUCCESS);

    VkBufferCreateInfo buffer_info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = PIXELS * 4, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    cr_assert_eq(HDT_FN(f, vkCreateBuffer)(device, &buffer_info, NULL, &e->buffer), VK_SUCCESS);
    HDT_FN(f, vkGetBufferMemoryRequirements)(device, e->buffer, &needs);
    e->buffer_memory = allocate(f, &needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    cr_assert_eq(HDT_FN(f, vkBindBufferMemory)(device, e->buffer, e->buffer_memory, 0), VK_SUCCESS);
    void *mapped;
    cr_assert_eq(HDT_FN(f, vkMapMemory)(device, e->buffer_memory, 0, VK_WHOLE_SIZE, 0, &mapped), VK_SUCCESS);
    e->words = mapped;
}

static void free_engine(hdt_vk *f, engine *e)
{
    HDT_FN(f, vkDestroyImage)(f->info.device, e->image, NULL);
    HDT_FN(f, vkDestroyBuffer)(f->info.device, e->buffer, NULL);
    HDT_FN(f, vkFreeMemory)(f->info.device, e->image_memory, NULL);
    HDT_FN(f, vkFreeMemory)(f->info.device, e->buffer_memory, NULL);
}

/* One frame draws into the engine's image, the next one copies it into the engine's buffer. */
Test(vk_resources, imports)
{
    scene s;
    open_scene(&s, NULL);
    engine e;
    make_engine(&s.f, &e);
    for (uint32_t round = 0; round < 3; round++) {
        float shade = (float)(round + 1) / 255.0f;
        hd_import_desc image_desc = {.name = "engine's image",
                                     .image = (void *)e.image,
                                     .width = SIZE,
                                     .height = SIZE,
                                     .format = VK_FORMAT_R8G8B8A8_UNORM,
                                     .initial_layout = round ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : 0,
                                     .final_layout = VK_IMAGE_LAYOUT_GENERAL};
        hd_graph_begin(s.graph);
        hd_resource target = hd_graph_import(s.graph, &image_desc);
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "draw",
                                               .type = HD_PASS_GFX,
                                               .uses = HD_USES({target, HD_COLOR_WRITE,
                                                                .clear.color = {shade, shade, shade, shade}})});
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);

        hd_graph_begin(s.graph);
        image_desc.initial_layout = VK_IMAGE_LAYOUT_GENERAL;
        image_desc.final_layout = 0;
        hd_resource source = hd_graph_import(s.graph, &image_desc);
        hd_resource out = hd_graph_import(
            s.graph, &(hd_import_desc){.name = "engine's buffer", .buffer = (void *)e.buffer, .bytes = PIXELS * 4});
        copy_pass copy = {&s, source, out, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "copy",
                                               .type = HD_PASS_TRANSFER,
                                               .record = copy_to_buffer,
                                               .user = &copy,
                                               .uses = HD_USES({source, HD_TRANSFER_SRC}, {out, HD_TRANSFER_DST})});
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < PIXELS; i++)
            wrong += e.words[i] != (round + 1) * 0x01010101u;
        cr_expect_eq(wrong, 0, "round %u: %u wrong pixels", round, wrong);
    }
    /* Views of imports are the frame's: all of them are gone once the frames are. */
    hd_graph_begin(s.graph);
    cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
    cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    free_engine(&s.f, &e);
    close_scene(&s);
}

/* ---- views ---- */

typedef struct view_pass {
    hd_resource color, cube, volume, depth, words;
    uint32_t runs, bad;
} view_pass;

static void ask_views(hd_recorder *recorder, void *user)
{
    view_pass *v = user;
    const hd_range mip = {.mip_base = 1, .mip_count = 1}, face = {.layer_base = 2, .layer_count = 1};
    VkImageView all = hd_vk_view(recorder, v->color, NULL), one = hd_vk_view(recorder, v->color, &mip);
    v->runs++;
    v->bad += !all || !one || all == one;
    v->bad += hd_vk_view(recorder, v->color, NULL) != all || hd_vk_view(recorder, v->color, &mip) != one;
    VkImageView cube = hd_vk_view(recorder, v->cube, NULL), side = hd_vk_view(recorder, v->cube, &face);
    v->bad += !cube || !side || cube == side;
    v->bad += !hd_vk_view(recorder, v->volume, NULL) || !hd_vk_view(recorder, v->depth, NULL);
    v->bad += !hd_vk_buffer(recorder, v->words) || !hd_vk_image(recorder, v->color);
}

Test(vk_resources, views)
{
    scene s;
    open_scene(&s, NULL);
    view_pass v = {.runs = 0};
    const uint32_t rgba = VK_FORMAT_R8G8B8A8_UNORM;
    for (uint32_t frame = 0; frame < 3; frame++) {
        hd_graph *g = s.graph;
        hd_graph_begin(g);
        v.color = hd_graph_image(
            g, &(hd_image_desc){.name = "color", .width = SIZE, .height = SIZE, .format = rgba, .mips = 2});
        v.cube = hd_graph_image(g, &(hd_image_desc){.name = "cube",
                                                    .width = SIZE,
                                                    .height = SIZE,
                                                    .format = rgba,
                                                    .layers = 6,
                                                    .flags = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT});
        v.volume = hd_graph_image(
            g, &(hd_image_desc){.name = "volume", .width = 16, .height = 16, .depth = 16, .format = rgba});
        v.depth = hd_graph_image(
            g,
            &(hd_image_desc){.name = "depth", .width = SIZE, .height = SIZE, .format = VK_FORMAT_D32_SFLOAT_S8_UINT});
        v.words = buffer(&s, "words", 256);
        hd_graph_pass(g, &(hd_pass_desc){.name = "depth",
                                         .type = HD_PASS_GFX,
                                         .uses = HD_USES({v.depth, HD_DEPTH_WRITE, .clear.depth = 1.0f})});
        hd_graph_pass(
            g, &(hd_pass_desc){.name = "ask",
                               .type = HD_PASS_COMPUTE,
                               .root = true,
                               .record = ask_views,
                               .user = &v,
                               .uses = HD_USES({v.color, HD_STORAGE_WRITE_COMPUTE}, {v.cube, HD_STORAGE_WRITE_COMPUTE},
                                               {v.volume, HD_STORAGE_WRITE_COMPUTE}, {v.depth, HD_SAMPLED_COMPUTE},
                                               {v.words, HD_STORAGE_WRITE_COMPUTE})});
        cr_assert_eq(hdt_frame(s.f.vk, g), HD_OK);
    }
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    cr_expect_eq(v.runs, 3);
    cr_expect_eq(v.bad, 0, "%u wrong answers", v.bad);
    close_scene(&s);
}

/* A pass that renders by itself gets its command buffer outside any rendering scope: a clear command may stand there.
 */
typedef struct own_rendering {
    scene *s;
    hd_resource image;
} own_rendering;

static void clear_by_command(hd_recorder *recorder, void *user)
{
    const own_rendering *o = user;
    VkClearColorValue color = {.float32 = {1.0f, 1.0f, 1.0f, 1.0f}};
    VkImageSubresourceRange whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    HDT_FN(&o->s->f, vkCmdClearColorImage)
    (hd_vk_commands(recorder), hd_vk_image(recorder, o->image), VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1,
     &whole);
}

Test(vk_resources, custom_access_without_rendering)
{
    scene s;
    open_scene(&s, NULL);
    own_rendering own = {&s, image(&s, "image", VK_FORMAT_R8G8B8A8_UNORM)};
    word_check check = {.count = PIXELS, .expect = 0xffffffffu, .buffer = buffer(&s, "pixels", PIXELS * 4)};
    hd_custom_access access = {.stages = VK_PIPELINE_STAGE_2_CLEAR_BIT,
                               .access = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                               .layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                               .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                               .writes = true};
    hd_graph_pass(s.graph, &(hd_pass_desc){.name = "own",
                                           .type = HD_PASS_GFX,
                                           .no_rendering = true,
                                           .record = clear_by_command,
                                           .user = &own,
                                           .uses = HD_USES({own.image, HD_ACCESS_CUSTOM, .custom = &access})});
    copy_pass copy = {&s, own.image, check.buffer, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
    add_copy(&copy);
    add_check(&s, &check);
    cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    expect_check(&check, 1);
    close_scene(&s);
}
