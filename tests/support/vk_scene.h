/* What tests of executed frames share: a device with a graph, and passes that copy and check. Included by Criterion
 * programs only. With HDT_THREE_FAMILIES the device pretends to have families for graphics, transfer and compute. */
#ifndef HDT_VK_SCENE_H
#define HDT_VK_SCENE_H

#include <criterion/criterion.h>

#include <string.h>

#include "vk_fixture.h"

enum { SIZE = 64, PIXELS = SIZE * SIZE };

typedef struct scene {
    hdt_vk f;
    hd_graph *graph;
    hd_resource a, b, c; /* of the current frame; host passes copy what they need into a check */
    uint32_t number;
} scene;

static inline void open_scene(scene *s, const hd_vk_desc *desc)
{
    memset(s, 0, sizeof(*s));
    hd_vk_desc mine = desc ? *desc : (hd_vk_desc){0};
#ifdef HDT_THREE_FAMILIES
    hdt_vk_three_families(true, 0);
    mine.get_instance_proc = hdt_vk_hooked;
#endif
    hd_result result = hdt_vk_open(&s->f, &mine);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK, "%s", hd_result_name(result));
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = hdt_log()}, &s->graph), HD_OK);
}

static inline void close_scene(scene *s)
{
    cr_expect_eq(hd_vk_wait(s->f.vk), HD_OK);
    unsigned messages = hdt_vk_close(&s->f);
    cr_expect_eq(messages, 0, "%u validation messages", messages);
#ifdef HDT_THREE_FAMILIES
    cr_expect_eq(hdt_vk_family_counts().faults, 0, "faults of queue families");
#endif
    hd_graph_destroy(s->graph);
}

static inline hd_resource image(scene *s, const char *name, uint32_t format)
{
    return hd_graph_image(s->graph, &(hd_image_desc){.name = name, .width = SIZE, .height = SIZE, .format = format});
}

static inline hd_resource buffer(scene *s, const char *name, uint64_t bytes)
{
    return hd_graph_buffer(s->graph, &(hd_buffer_desc){.name = name, .bytes = bytes});
}

/* Copies a level and layer of an image into a buffer. */
typedef struct copy_pass {
    scene *s;
    hd_resource image, buffer;
    uint32_t aspect, mip, layer;
} copy_pass;

static inline void copy_to_buffer(hd_recorder *recorder, void *user)
{
    const copy_pass *c = user;
    uint32_t side = SIZE >> c->mip;
    VkBufferImageCopy region = {.imageSubresource = {c->aspect, c->mip, c->layer, 1}, .imageExtent = {side, side, 1}};
    HDT_FN(&c->s->f, vkCmdCopyImageToBuffer)
    (hd_vk_commands(recorder), hd_vk_image(recorder, c->image), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
     hd_vk_buffer(recorder, c->buffer), 1, &region);
}

/* Depth and stencil are copied by gfx queues only. */
static inline void add_copy(copy_pass *c)
{
    bool is_color = c->aspect == VK_IMAGE_ASPECT_COLOR_BIT;
    hd_graph_pass(c->s->graph,
                  &(hd_pass_desc){.name = "copy",
                                  .type = is_color ? HD_PASS_TRANSFER : HD_PASS_GFX,
                                  .pin = is_color ? HD_PIN_TRANSFER : HD_PIN_NONE,
                                  .record = copy_to_buffer,
                                  .user = c,
                                  .uses = HD_USES({c->image, HD_TRANSFER_SRC}, {c->buffer, HD_TRANSFER_DST})});
}

/* Compares every word of a buffer with one value; or copies it out. */
typedef struct word_check {
    hd_resource buffer;
    uint32_t count, expect, bad, runs;
    uint32_t *copy;
} word_check;

static inline void check_words(hd_recorder *recorder, void *user)
{
    word_check *check = user;
    const uint32_t *words = hd_vk_mapped(recorder, check->buffer);
    check->runs++;
    if (!words || hd_vk_commands(recorder) != NULL || hd_vk_worker(recorder) != HD_NONE) {
        check->bad++;
        return;
    }
    if (check->copy)
        memcpy(check->copy, words, check->count * sizeof(*words));
    for (uint32_t i = 0; i < check->count && !check->copy; i++)
        check->bad += words[i] != check->expect;
}

static inline void add_check(scene *s, word_check *check)
{
    hd_graph_pass(s->graph, &(hd_pass_desc){.name = "check",
                                            .type = HD_PASS_HOST,
                                            .root = true,
                                            .record = check_words,
                                            .user = check,
                                            .uses = HD_USES({check->buffer, HD_HOST_READ})});
}

static inline void expect_check(const word_check *check, uint32_t runs)
{
    cr_expect_eq(check->runs, runs);
    cr_expect_eq(check->bad, 0, "%u wrong words, expected 0x%08x", check->bad, check->expect);
}

/* Clears part of the attachments from inside the rendering scope. */
typedef struct rect_pass {
    scene *s;
    VkClearAttachment clear;
    VkRect2D rect;
} rect_pass;

static inline void clear_rect(hd_recorder *recorder, void *user)
{
    const rect_pass *r = user;
    VkClearRect rect = {.rect = r->rect, .layerCount = 1};
    HDT_FN(&r->s->f, vkCmdClearAttachments)(hd_vk_commands(recorder), 1, &r->clear, 1, &rect);
}

#endif
