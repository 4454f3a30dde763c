#include "vk_busy.h"

enum { WORDS = 96 };

static uint32_t word(uint32_t seed, uint32_t i)
{
    return seed * 2654435761u + i * 40503u;
}

static void check_words(const void *data, uint64_t bytes, void *user)
{
    const struct hdt_busy_frame *frame = user;
    const uint32_t *words = data;
    bool good = bytes == WORDS * 4;
    for (uint32_t i = 0; i < WORDS && good; i++)
        good = words[i] == word(frame->seed, i);
    atomic_fetch_add(good ? &frame->busy->right : &frame->busy->wrong, 1);
}

static void check_texels(const void *data, uint64_t bytes, void *user)
{
    const struct hdt_busy_frame *frame = user;
    const uint32_t *texels = data;
    bool good = bytes > 0;
    for (uint64_t i = 0; i < bytes / 4 && good; i++)
        good = texels[i] == 0xff0000ffu; /* red */
    atomic_fetch_add(good ? &frame->busy->right : &frame->busy->wrong, 1);
}

void hdt_busy_declare(hdt_busy *busy, hd_vk *vk)
{
    hd_graph *g = busy->graph;
    uint32_t size = busy->size ? busy->size : 32, words[WORDS];
    struct hdt_busy_frame *frame = &busy->in_flight[busy->frames % 8];
    *frame = (struct hdt_busy_frame){busy, busy->frames++};
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = word(frame->seed, i);
    hd_resource color = hd_graph_image(
        g, &(hd_image_desc){.name = "color", .width = size, .height = size, .format = VK_FORMAT_R8G8B8A8_UNORM});
    hd_resource small = hd_graph_image(
        g,
        &(hd_image_desc){.name = "small", .width = size / 2, .height = size / 2, .format = VK_FORMAT_R8G8B8A8_UNORM});
    hd_resource mesh = hd_graph_buffer(g, &(hd_buffer_desc){.name = "mesh", .bytes = sizeof(words)});
    hd_resource kept = hd_graph_buffer(g, &(hd_buffer_desc){.name = "kept", .bytes = sizeof(words)});
    hd_resource before = hd_graph_history(g, kept);
    hd_vk_upload(vk, g, mesh, NULL, words, sizeof(words), NULL);
    hd_vk_copy(vk, g, before, NULL, kept, NULL, NULL);
    hd_vk_copy(vk, g, mesh, NULL, kept, NULL, NULL);
    hd_graph_pass(g, &(hd_pass_desc){.name = "draw",
                                     .type = HD_PASS_GFX,
                                     .uses = HD_USES({color, HD_COLOR_WRITE, .clear.color = {1, 0, 0, 1}})});
    hd_vk_blit(vk, g, color, NULL, small, NULL, VK_FILTER_NEAREST, NULL);
    hd_vk_readback(vk, g, small, NULL, check_texels, frame, NULL);
    hd_vk_readback(vk, g, kept, NULL, check_words, frame, NULL);
}

hd_result hdt_busy_run(hdt_busy *busy, hd_vk *vk, uint32_t frames)
{
    hd_result result = HD_OK;
    for (uint32_t i = 0; i < frames && result == HD_OK; i++) {
        hd_graph_begin(busy->graph);
        hdt_busy_declare(busy, vk);
        result = hd_vk_frame(vk, busy->graph);
    }
    return result;
}
