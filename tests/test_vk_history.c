#include <criterion/criterion.h>

#include <string.h>

#include "checked.h"
#include "vk_scene.h"

/* Histories: what a frame leaves is what the next one finds. */

/* Each frame shifts what the last one left by one word and puts its own number behind: after n frames the numbers of
 * the last COUNT frames stand in a row, and before the first there was zero. */
enum { COUNT = 8 };

typedef struct shift {
    scene *s;
    hd_resource last, now, readback;
    bool is_image;
    hd_pin pin;
    uint32_t frame, words[COUNT];
} shift;

static void shift_buffers(hd_recorder *recorder, void *user)
{
    const shift *u = user;
    VkBufferCopy region = {.srcOffset = 4, .dstOffset = 0, .size = (COUNT - 1) * 4};
    HDT_FN(&u->s->f, vkCmdCopyBuffer)
    (hd_vk_commands(recorder), hd_vk_buffer(recorder, u->last), hd_vk_buffer(recorder, u->now), 1, &region);
    HDT_FN(&u->s->f, vkCmdUpdateBuffer)
    (hd_vk_commands(recorder), hd_vk_buffer(recorder, u->now), (COUNT - 1) * 4, 4, &u->frame);
}

static void shift_images(hd_recorder *recorder, void *user)
{
    const shift *u = user;
    VkImageSubresourceLayers whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    VkImageCopy region = {
        .srcSubresource = whole, .srcOffset = {1, 0, 0}, .dstSubresource = whole, .extent = {COUNT - 1, 1, 1}};
    VkImage last = hd_vk_image(recorder, u->last), now = hd_vk_image(recorder, u->now);
    HDT_FN(&u->s->f, vkCmdCopyImage)
    (hd_vk_commands(recorder), last, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, now, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
     &region);
    VkBufferImageCopy put = {.imageSubresource = whole, .imageOffset = {COUNT - 1, 0, 0}, .imageExtent = {1, 1, 1}};
    HDT_FN(&u->s->f, vkCmdCopyBufferToImage)
    (hd_vk_commands(recorder), hd_vk_buffer(recorder, u->s->a), now, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &put);
}

static void put_number(hd_recorder *recorder, void *user)
{
    const shift *u = user;
    HDT_FN(&u->s->f, vkCmdUpdateBuffer)(hd_vk_commands(recorder), hd_vk_buffer(recorder, u->s->a), 0, 4, &u->frame);
}

static void read_out(hd_recorder *recorder, void *user)
{
    const shift *u = user;
    if (u->is_image) {
        VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                    .imageExtent = {COUNT, 1, 1}};
        HDT_FN(&u->s->f, vkCmdCopyImageToBuffer)
        (hd_vk_commands(recorder), hd_vk_image(recorder, u->now), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
         hd_vk_buffer(recorder, u->readback), 1, &region);
    } else {
        VkBufferCopy region = {.size = COUNT * 4};
        HDT_FN(&u->s->f, vkCmdCopyBuffer)
        (hd_vk_commands(recorder), hd_vk_buffer(recorder, u->now), hd_vk_buffer(recorder, u->readback), 1, &region);
    }
}

static void keep_words(hd_recorder *recorder, void *user)
{
    shift *u = user;
    const uint32_t *words = hd_vk_mapped(recorder, u->readback);
    if (words)
        memcpy(u->words, words, sizeof(u->words));
}

static void declare_shift(shift *u, uint32_t extra)
{
    hd_graph *g = u->s->graph;
    hd_graph_begin(g);
    if (extra) { /* another shape: something that changes where things lie */
        hd_resource other = buffer(u->s, "other", 4096 * extra);
        hd_graph_history(g, other);
        hd_graph_pass(
            g, &(hd_pass_desc){
                   .name = "other", .type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({other, HD_TRANSFER_DST})});
    }
    u->readback = buffer(u->s, "readback", COUNT * 4);
    if (u->is_image) {
        u->s->a = buffer(u->s, "number", 4);
        u->now = hd_graph_image(
            g, &(hd_image_desc){.name = "now", .width = COUNT, .height = 1, .format = VK_FORMAT_R32_UINT});
    } else {
        u->now = buffer(u->s, "now", COUNT * 4);
    }
    u->last = hd_graph_history(g, u->now);
    if (u->is_image) {
        hd_graph_pass(g, &(hd_pass_desc){.name = "number",
                                         .type = HD_PASS_TRANSFER,
                                         .record = put_number,
                                         .user = u,
                                         .uses = HD_USES({u->s->a, HD_TRANSFER_DST})});
        hd_graph_pass(g, &(hd_pass_desc){.name = "shift",
                                         .type = HD_PASS_TRANSFER,
                                         .pin = u->pin,
                                         .record = shift_images,
                                         .user = u,
                                         .uses = HD_USES({u->last, HD_TRANSFER_SRC}, {u->s->a, HD_TRANSFER_SRC},
                                                         {u->now, HD_TRANSFER_DST})});
    } else {
        hd_graph_pass(g, &(hd_pass_desc){.name = "shift",
                                         .type = HD_PASS_TRANSFER,
                                         .pin = u->pin,
                                         .record = shift_buffers,
                                         .user = u,
                                         .uses = HD_USES({u->last, HD_TRANSFER_SRC}, {u->now, HD_TRANSFER_DST})});
    }
    hd_graph_pass(g, &(hd_pass_desc){.name = "read out",
                                     .type = HD_PASS_TRANSFER,
                                     .pin = HD_PIN_TRANSFER,
                                     .record = read_out,
                                     .user = u,
                                     .uses = HD_USES({u->now, HD_TRANSFER_SRC}, {u->readback, HD_TRANSFER_DST})});
    hd_graph_pass(g, &(hd_pass_desc){.name = "keep",
                                     .type = HD_PASS_HOST,
                                     .root = true,
                                     .record = keep_words,
                                     .user = u,
                                     .uses = HD_USES({u->readback, HD_HOST_READ})});
}

/* The row after `frames` frames without loss; numbers count from 1. */
static void expect_row(const shift *u, uint32_t frame, uint32_t since)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        int64_t number = (int64_t)frame - (COUNT - 1) + i;
        uint32_t expect = number >= (int64_t)since ? (uint32_t)number : 0;
        cr_expect_eq(u->words[i], expect, "%s, frame %u, word %u: %u instead of %u", u->is_image ? "image" : "buffer",
                     frame, i, u->words[i], expect);
    }
}

static void run_history(bool is_image, hd_pin pin)
{
    scene s;
    open_scene(&s, &(hd_vk_desc){.memory_copies = 2});
    shift shifts[24];
    memset(shifts, 0, sizeof(shifts));
    for (uint32_t i = 0; i < 24; i++) {
        shifts[i] = (shift){.s = &s, .is_image = is_image, .pin = pin, .frame = i + 1};
        declare_shift(&shifts[i], i >= 16 ? 3 : 0);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
    }
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    for (uint32_t i = 0; i < 16; i++)
        expect_row(&shifts[i], i + 1, 1);
    /* The shape changed: what was before may be lost, but then it is zero, and nothing after it is. */
    bool kept = shifts[16].words[COUNT - 2] != 0;
    for (uint32_t i = 16; i < 24; i++)
        expect_row(&shifts[i], i + 1, kept ? 1 : 17);
#ifdef HDT_THREE_FAMILIES
    cr_expect(hdt_vk_family_counts().submits[1] >= 24, "the pins were followed");
    cr_expect(pin != HD_PIN_COMPUTE || hdt_vk_family_counts().submits[2] >= 24, "the pins were followed");
    /* A transfer queue cannot clear: its image was cleared elsewhere and handed over. */
    cr_expect(!is_image || pin == HD_PIN_COMPUTE || hdt_vk_family_counts().acquires >= 1);
#endif
    close_scene(&s);
}

Test(vk_history, buffer_of_two_queues, .timeout = 30)
{
    run_history(false, HD_PIN_COMPUTE);
}

Test(vk_history, image_of_two_queues, .timeout = 30)
{
    run_history(true, HD_PIN_COMPUTE);
}

Test(vk_history, buffer_of_one_queue, .timeout = 30)
{
    run_history(false, HD_PIN_TRANSFER);
}

Test(vk_history, image_of_one_queue, .timeout = 30)
{
    run_history(true, HD_PIN_TRANSFER);
}

/* What nobody writes is handed on all the same: cleared, and in the layout that the plan says. */
Test(vk_history, of_an_image_that_no_pass_uses)
{
    scene s;
    open_scene(&s, NULL);
    for (uint32_t frame = 0; frame < 4; frame++) {
        hd_graph_begin(s.graph);
        hd_resource last = hd_graph_history(s.graph, image(&s, "never", VK_FORMAT_R8G8B8A8_UNORM));
        word_check check = {.buffer = buffer(&s, "pixels", PIXELS * 4), .count = PIXELS};
        copy_pass copy = {&s, last, check.buffer, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
        add_copy(&copy);
        add_check(&s, &check);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
        cr_expect_eq(check.runs, 1);
        cr_expect_eq(check.bad, 0, "frame %u: %u words are not zero", frame, check.bad);
    }
    close_scene(&s);
}
