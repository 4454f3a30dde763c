#include <criterion/criterion.h>

#include <pthread.h>
#include <string.h>

#include "tables.h"
#include "vk_scene.h"

/* Helpers in lists, and what a helper's pass is called, where it is pinned and what it costs. */

enum { LISTS = 4, WORDS = 64 };

typedef struct part {
    scene *s;
    uint32_t number;
    pthread_t thread;
    uint32_t runs, bad;
} part;

static void check_part(const void *data, uint64_t bytes, void *user)
{
    part *p = user;
    const uint32_t *words = data;
    p->runs++;
    for (uint32_t i = 0; i < bytes / 4; i++)
        p->bad += words[i] != (i < WORDS / 2 ? p->number * 1000 + i : 7);
}

/* Its data does not outlive the call: a list keeps a copy. */
static void *declare_part(void *user)
{
    part *p = user;
    hd_graph *list = hd_graph_list(p->s->graph, p->number);
    uint32_t data[WORDS / 2];
    for (uint32_t i = 0; i < WORDS / 2; i++)
        data[i] = p->number * 1000 + i;
    hd_resource a = hd_graph_buffer(list, &(hd_buffer_desc){.name = "a", .bytes = WORDS * 4});
    hd_resource b = hd_graph_buffer(list, &(hd_buffer_desc){.name = "b", .bytes = WORDS * 4});
    hd_pass first = hd_vk_fill(p->s->f.vk, list, a, NULL, 7, NULL);
    hd_vk_upload(p->s->f.vk, list, a, NULL, data, sizeof(data), &(hd_vk_as){.name = "part"});
    memset(data, 0xff, sizeof(data));
    hd_vk_copy(p->s->f.vk, list, a, NULL, b, NULL, NULL);
    hd_vk_readback(p->s->f.vk, list, b, NULL, check_part, p, NULL);
    p->bad += first.id == 0;
    return NULL;
}

Test(vk_lists, helpers_on_several_threads, .timeout = 60)
{
    scene s;
    open_scene(&s, NULL);
    for (uint32_t frame = 0; frame < 5; frame++) {
        part parts[LISTS];
        hd_graph_begin(s.graph);
        for (uint32_t i = 0; i < LISTS; i++) {
            parts[i] = (part){.s = &s, .number = i};
            cr_assert_eq(pthread_create(&parts[i].thread, NULL, declare_part, &parts[i]), 0);
        }
        for (uint32_t i = 0; i < LISTS; i++)
            pthread_join(parts[i].thread, NULL);
        cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK, "%s", hd_graph_error(s.graph)->text);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
        for (uint32_t i = 0; i < LISTS; i++) {
            cr_expect_eq(parts[i].runs, 1);
            cr_expect_eq(parts[i].bad, 0, "list %u: %u wrong words", i, parts[i].bad);
        }
        cr_expect_eq(hd_graph_pass_count(s.graph), LISTS * 5);
        cr_expect_str_eq(hdi_graph_decl(s.graph).pass_exec[6].name, "part");
    }
    close_scene(&s);
}

Test(vk_lists, mistakes_come_with_the_join)
{
    scene s;
    open_scene(&s, NULL);
    hd_graph *list = hd_graph_list(s.graph, 3);
    hd_vk_fill(s.f.vk, list, (hd_resource){0}, NULL, 0, NULL);
    cr_expect_eq(hd_graph_error(s.graph)->result, HD_OK);
    cr_expect_eq(hd_graph_join(s.graph), HD_BAD_HANDLE);
    hd_graph_begin(s.graph);
    list = hd_graph_list(s.graph, 3);
    hd_vk_upload(s.f.vk, list, hd_graph_buffer(list, &(hd_buffer_desc){.bytes = 4}), NULL, NULL, 4, NULL);
    cr_expect_eq(hd_graph_join(s.graph), HD_INVALID_ARGUMENT);
    cr_expect(strstr(hd_graph_error(s.graph)->text, "upload: no data"), "%s", hd_graph_error(s.graph)->text);
    hd_graph_begin(s.graph);
    list = hd_graph_list(s.graph, 3);
    hd_vk_fill(NULL, list, hd_graph_buffer(list, &(hd_buffer_desc){.bytes = 4}), NULL, 4, NULL);
    cr_expect_eq(hd_graph_join(s.graph), HD_INVALID_ARGUMENT);
    cr_expect(strstr(hd_graph_error(s.graph)->text, "hd_vk"), "%s", hd_graph_error(s.graph)->text);
    close_scene(&s);
}

static void nothing(const void *data, uint64_t bytes, void *user)
{
    (void)data, (void)bytes, (void)user;
}

Test(vk_lists, names_pins_and_costs)
{
    static const struct {
        const char *name;
        uint32_t pin;
        float cost;
    } expected[] = {
        {"fill words", HD_PIN_COMPUTE, 3}, {"upload", HD_PIN_NONE, 10},       {"bricks 1", HD_PIN_GFX, 5},
        {"bricks 2", HD_PIN_GFX, 5},       {"mips 1", HD_PIN_GFX, 10},        {"mips 2", HD_PIN_GFX, 10},
        {"sky", HD_PIN_COMPUTE, 8},        {"shrink", HD_PIN_GFX, 9},         {"readback copy", HD_PIN_NONE, 10},
        {"readback", HD_PIN_NONE, 10},     {"save copy", HD_PIN_TRANSFER, 2}, {"save", HD_PIN_NONE, 10},
        {"average", HD_PIN_GFX, 4},        {"nearest", HD_PIN_GFX, 6},        {"move", HD_PIN_GFX, 7}};
    scene s;
    open_scene(&s, NULL);
    hd_vk *vk = s.f.vk;
    hd_graph *g = s.graph;
    const uint32_t color = VK_FORMAT_R8G8B8A8_UNORM, depth = VK_FORMAT_D32_SFLOAT;
    uint32_t data[WORDS] = {0};
    hd_image_desc desc = {.name = "texture", .width = 4, .height = 4, .format = color, .mips = 3};
    hd_resource words = buffer(&s, "words", sizeof(data)), texture = hd_graph_image(g, &desc);
    desc = (hd_image_desc){.name = "many", .width = 4, .height = 4, .format = color, .samples = 4};
    hd_resource many = hd_graph_image(g, &desc);
    desc.format = depth;
    hd_resource deep = hd_graph_image(g, &desc);
    desc.samples = 1;
    hd_resource shallow = hd_graph_image(g, &desc);
    desc.format = color;
    hd_resource one = hd_graph_image(g, &desc), other = hd_graph_image(g, &desc);
    hd_vk_fill(vk, g, words, NULL, 1, &(hd_vk_as){"fill words", HD_PIN_COMPUTE, 3});
    hd_vk_upload(vk, g, words, NULL, data, sizeof(data), NULL);
    hd_vk_generate_mips(vk, g, texture, &(hd_vk_as){.name = "bricks", .cost_us = 5});
    hd_vk_generate_mips(vk, g, texture, NULL);
    hd_vk_clear(vk, g, one, NULL, &(VkClearValue){0}, &(hd_vk_as){"sky", HD_PIN_COMPUTE, 8});
    hd_vk_blit(vk, g, one, NULL, texture, NULL, VK_FILTER_LINEAR, &(hd_vk_as){"shrink", HD_PIN_GFX, 9});
    hd_vk_readback(vk, g, words, NULL, nothing, NULL, NULL);
    hd_vk_readback(vk, g, words, NULL, nothing, NULL, &(hd_vk_as){"save", HD_PIN_TRANSFER, 2});
    hd_vk_resolve(vk, g, many, NULL, one, NULL, 0, &(hd_vk_as){.name = "average", .cost_us = 4});
    hd_vk_resolve(vk, g, deep, NULL, shallow, NULL, 0, &(hd_vk_as){"nearest", HD_PIN_GFX, 6});
    hd_vk_copy(vk, g, one, NULL, other, NULL, &(hd_vk_as){"move", HD_PIN_GFX, 7});
    cr_assert_eq(hd_graph_error(g)->result, HD_OK, "%s", hd_graph_error(g)->text);
    hdi_decl decl = hdi_graph_decl(g);
    cr_assert_eq(decl.pass_count, sizeof(expected) / sizeof(expected[0]));
    for (uint32_t p = 0; p < decl.pass_count; p++) {
        cr_expect_str_eq(decl.pass_exec[p].name, expected[p].name);
        cr_expect_eq(decl.pass_pin[p], expected[p].pin, "%s", expected[p].name);
        cr_expect_eq(decl.pass_cost[p], expected[p].cost, "%s", expected[p].name);
    }
    hd_graph_begin(g);
    hd_vk_blit(vk, g, image(&s, "a", color), NULL, image(&s, "b", color), NULL, VK_FILTER_LINEAR,
               &(hd_vk_as){.pin = HD_PIN_TRANSFER});
    cr_expect_eq(hd_graph_error(g)->result, HD_BAD_PIN, "a blit needs graphics");
    hd_graph_begin(g);
    close_scene(&s);
}
