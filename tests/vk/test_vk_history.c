#include <criterion/criterion.h>

#include <string.h>

#include "checked.h"
#include "tables.h"
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
    for (uint32_t i = 16; i < 24; i++) /* something else changed */
        expect_row(&shifts[i], i + 1, 1);
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

/* What no pass writes is handed on all the same: cleared, and in the layout that the plan says. */
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

/* ---- what becomes of a history when the frame is another one ---- */

typedef struct shown {
    uint32_t runs, word;
    bool same; /* all words are */
} shown;

static void look(const void *data, uint64_t bytes, void *user)
{
    shown *to = user;
    const uint32_t *words = data;
    *to = (shown){.runs = to->runs + 1, .word = words[0], .same = true};
    for (uint64_t i = 0; i < bytes / 4; i++)
        to->same &= words[i] == words[0];
}

/* A buffer with a history: shows the history and fills the buffer. */
static void declare_sized(scene *s, const char *name, uint64_t bytes, uint32_t word, shown *to)
{
    hd_resource next = buffer(s, name, bytes), last = hd_graph_history(s->graph, next);
    hd_vk_readback(s->f.vk, s->graph, last, NULL, look, to, NULL);
    hd_vk_fill(s->f.vk, s->graph, next, NULL, word, NULL);
}

static void declare_filled(scene *s, const char *name, uint32_t word, shown *to)
{
    declare_sized(s, name, 4096, word, to);
}

/* Alike, and declared in either order: none ever finds what the other left. */
Test(vk_history, resources_that_are_alike_change_places)
{
    scene s;
    shown shows[8][2] = {0};
    open_scene(&s, NULL);
    for (uint32_t frame = 0; frame < 8; frame++) {
        hd_graph_begin(s.graph);
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t which = (frame & 4) ? 1 - i : i;
            declare_filled(&s, which ? "one" : "other", 100 * (which + 1) + frame, &shows[frame][which]);
        }
        cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK);
    }
    cr_expect_eq(hd_vk_wait(s.f.vk), HD_OK);
    for (uint32_t frame = 0; frame < 8; frame++) {
        for (uint32_t which = 0; which < 2; which++) {
            uint32_t left = frame ? 100 * (which + 1) + frame - 1 : 0, found = shows[frame][which].word;
            cr_expect(shows[frame][which].same && shows[frame][which].runs == 1);
            cr_expect_eq(found, left, "frame %u, %u: %u", frame, which, found);
        }
    }
    close_scene(&s);
}

/* One of another name in its place begins anew; one that is left out for a frame keeps what it held. */
Test(vk_history, of_another_name_or_left_out)
{
    scene s;
    shown shows[6] = {0};
    static const char *const names[] = {"one", "one", "other", "other", NULL, "other"};
    open_scene(&s, NULL);
    for (uint32_t frame = 0; frame < 6; frame++) {
        hd_graph_begin(s.graph);
        if (names[frame])
            declare_filled(&s, names[frame], frame + 1, &shows[frame]);
        cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK);
    }
    cr_expect_eq(hd_vk_wait(s.f.vk), HD_OK);
    static const uint32_t expected[] = {0, 1, 0, 3, 0, 4};
    for (uint32_t frame = 0; frame < 6; frame++)
        cr_expect_eq(shows[frame].word, expected[frame], "frame %u: %u", frame, shows[frame].word);
    close_scene(&s);
}

/* A frame that does not read a history hands on what it is of all the same. */
Test(vk_history, that_a_frame_does_not_read)
{
    scene s;
    shown shows[6] = {0};
    open_scene(&s, NULL);
    for (uint32_t frame = 0; frame < 6; frame++) {
        hd_graph_begin(s.graph);
        if (frame % 2) {
            declare_filled(&s, "filled", frame + 1, &shows[frame]);
        } else {
            hd_resource next = buffer(&s, "filled", 4096);
            hd_graph_history(s.graph, next);
            hd_vk_fill(s.f.vk, s.graph, next, NULL, frame + 1, NULL);
        }
        cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK);
    }
    cr_expect_eq(hd_vk_wait(s.f.vk), HD_OK);
    for (uint32_t frame = 1; frame < 6; frame += 2)
        cr_expect_eq(shows[frame].word, frame, "frame %u: %u", frame, shows[frame].word);
    close_scene(&s);
}

/* What the log says of histories. */
typedef struct said {
    char text[4][160];
    uint32_t count, warnings;
} said;

static void note_restarts(hd_log_level level, const char *text, void *user)
{
    said *to = user;
    to->warnings += level != HD_LOG_INFO;
    if (strncmp(text, "history ", 8) == 0 && to->count < 4)
        snprintf(to->text[to->count++], sizeof(to->text[0]), "%s", text);
}

/* One begins anew, and none but that; the log says so once. */
Test(vk_history, that_is_resized)
{
    scene s;
    shown shows[8][3] = {0};
    said log = {0};
    open_scene(&s, &(hd_vk_desc){.log = {note_restarts, &log}});
    for (uint32_t frame = 0; frame < 8; frame++) {
        hd_graph_begin(s.graph);
        declare_sized(&s, "one", frame < 4 ? 4096 : 1 << 20, frame + 1, &shows[frame][0]);
        declare_filled(&s, "other", frame + 101, &shows[frame][1]);
        if (frame >= 2)
            declare_filled(&s, "more", frame + 201, &shows[frame][2]);
        cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK);
    }
    cr_expect_eq(hd_vk_wait(s.f.vk), HD_OK);
    for (uint32_t frame = 0; frame < 8; frame++) {
        cr_expect(shows[frame][0].word == (frame == 4 ? 0 : frame) && (shows[frame][0].same), "frame %u", frame);
        cr_expect(shows[frame][1].word == (frame ? frame + 100 : 0) && shows[frame][1].same, "frame %u", frame);
        cr_expect_eq(shows[frame][2].word, frame > 2 ? frame + 200 : 0, "frame %u", frame);
    }
    cr_expect(log.count == 1 && log.warnings == 0, "%u lines, %u warnings", log.count, log.warnings);
    cr_expect_str_eq(log.text[0], "history 'one' restarts: its size, format or flags changed");
    close_scene(&s);
}

/* Frames that skip it: so many and it is still there, one more and it has gone, with its memory. */
static void skip(uint32_t frames, bool trim, uint32_t expected, const char *line)
{
    scene s;
    shown shows[2] = {0};
    said log = {0};
    hd_vk_frame_stats before, after;
    open_scene(&s, &(hd_vk_desc){.log = {note_restarts, &log}});
    for (uint32_t frame = 0; frame < frames + 2; frame++) {
        bool has = frame == 0 || frame == frames + 1;
        hd_graph_begin(s.graph);
        if (has)
            declare_filled(&s, "kept", 7, &shows[frame != 0]);
        cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK);
        if (frame == 0)
            hd_vk_frame_stats_get(s.f.vk, &before);
        if (trim && frame == frames)
            hd_vk_trim(s.f.vk);
    }
    cr_expect_eq(hd_vk_wait(s.f.vk), HD_OK);
    cr_expect_eq(shows[0].word, 0);
    cr_expect_eq(shows[1].word, expected, "%u frames: %u", frames, shows[1].word);
    cr_expect_eq(log.count, line != NULL);
    cr_expect_str_eq(log.text[0], line ? line : "");
    for (uint32_t frame = 0; frame < 256 + 32; frame++) {
        hd_graph_begin(s.graph);
        cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK);
    }
    hd_vk_frame_stats_get(s.f.vk, &after);
    cr_expect(before.history_bytes > 0 && after.history_bytes == 0);
    close_scene(&s);
}

Test(vk_history, that_frames_skip, .timeout = 60)
{
    skip(1, false, 7, NULL);
    skip(255, false, 7, NULL);
    skip(256, false, 0, "history 'kept' restarts: it goes after 256 frames that skipped it");
    skip(2, true, 0, "history 'kept' restarts: memory was trimmed after 2 frames that skipped it");
    skip(1, true, 7, NULL); /* a frame in flight may have it */
}

#ifdef HDT_THREE_FAMILIES
enum { PLANS = 12 };

typedef struct seen_images {
    hd_resource last;
    VkImage images[PLANS];
    uint32_t count;
} seen_images;

static void note_seen_image(hd_recorder *recorder, void *user)
{
    seen_images *to = user;
    VkImage image = hd_vk_image(recorder, to->last);
    for (uint32_t i = 0; i < to->count; i++) {
        if (to->images[i] == image)
            return;
    }
    to->images[to->count++] = image;
}

/* Every second plan reads it on two queues at once, and shares it among all families; the others keep it for one, and
 * do with what there is. */
Test(vk_history, of_plans_that_take_turns)
{
    scene s;
    seen_images to = {0};
    uint32_t shared = 0;
    open_scene(&s, NULL);
    for (uint32_t frame = 0; frame < PLANS; frame++) {
        const hd_plan *plan;
        hd_graph_begin(s.graph);
        hd_resource next = image(&s, "next", VK_FORMAT_R32_UINT);
        to.last = hd_graph_history(s.graph, next);
        hd_graph_pass(s.graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                               .pin = HD_PIN_GFX,
                                               .root = true,
                                               .record = note_seen_image,
                                               .user = &to,
                                               .uses = HD_USES({to.last, HD_SAMPLED_COMPUTE})});
        if (frame % 2)
            hd_graph_pass(s.graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                                   .pin = HD_PIN_COMPUTE,
                                                   .root = true,
                                                   .uses = HD_USES({to.last, HD_SAMPLED_COMPUTE})});
        hd_graph_pass(s.graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                               .pin = HD_PIN_GFX,
                                               .uses = HD_USES({next, HD_STORAGE_WRITE_COMPUTE})});
        cr_assert_eq(hd_vk_compile(s.f.vk, s.graph, NULL, &plan), HD_OK);
        shared += hd_plan_read(plan).resources[0].flags & HD_PLAN_CONCURRENT;
        cr_assert_eq(hd_vk_execute(s.f.vk, s.graph, plan), HD_OK);
    }
    cr_expect_eq(shared, PLANS / 2);
    cr_expect_eq(to.count, 1 + 2, "%u images", to.count); /* of the first frame, and those of all others */
    close_scene(&s);
}
#endif

/* ---- what no command clears ---- */

enum { LEVELS = 3, LAYERS = 2, MOST_BYTES = 1 << 21 };

static void look_at_bytes(const void *data, uint64_t bytes, void *user)
{
    shown *to = user;
    const unsigned char *all = data;
    *to = (shown){.runs = to->runs + 1, .word = all[0], .same = true};
    for (uint64_t i = 0; i < bytes; i++)
        to->same &= all[i] == all[0];
}

/* An image with a history: shows the history, and fills the image, level by level. */
static void declare_uploaded(scene *s, const hd_image_desc *desc, unsigned char byte, shown to[LEVELS])
{
    static unsigned char bytes[MOST_BYTES];
    hd_resource next = hd_graph_image(s->graph, desc), last = hd_graph_history(s->graph, next);
    hdi_texel_block block = hdi_format_block(desc->format);
    memset(bytes, byte, sizeof(bytes));
    for (uint16_t m = 0; m < desc->mips; m++) {
        uint32_t w = desc->width >> m, h = desc->height >> m, d = desc->depth >> m;
        uint64_t size = hdi_texel_blocks(w ? w : 1, block.width) * hdi_texel_blocks(h ? h : 1, block.height) *
                        (d ? d : 1) * block.bytes * (desc->layers ? desc->layers : 1);
        cr_assert_leq(size, MOST_BYTES);
        hd_vk_readback(s->f.vk, s->graph, last, &(hd_range){{.mip_base = m}}, look_at_bytes, &to[m], NULL);
        hd_vk_upload(s->f.vk, s->graph, next, &(hd_range){{.mip_base = m}}, bytes, size, NULL);
    }
}

/* Under a new name in memory that is full of something else. */
static void begin_anew(scene *s, hd_image_desc desc)
{
    static const char *const names[] = {"one", "one", "other", "other"};
    static const uint32_t expected[] = {0, 1, 0, 3};
    for (uint32_t frame = 0; frame < 4; frame++) {
        shown to[LEVELS] = {0};
        hd_graph_begin(s->graph);
        desc.name = names[frame];
        declare_uploaded(s, &desc, (unsigned char)(frame + 1), to);
        cr_assert_eq(hd_vk_frame(s->f.vk, s->graph), HD_OK, "format %u", desc.format);
        cr_assert_eq(hd_vk_wait(s->f.vk), HD_OK);
        for (uint32_t m = 0; m < desc.mips; m++)
            cr_expect(to[m].runs == 1 && to[m].same && to[m].word == expected[frame],
                      "format %u, frame %u, level %u: %u%s", desc.format, frame, m, to[m].word,
                      to[m].same ? "" : " and others");
    }
}

/* The largest in more than one piece. */
static const hd_image_desc block_images[] = {
    {.width = 20, .height = 12, .format = VK_FORMAT_BC1_RGB_UNORM_BLOCK, .mips = LEVELS, .layers = LAYERS},
    {.width = 1000, .height = 700, .format = VK_FORMAT_BC7_UNORM_BLOCK, .mips = LEVELS, .layers = LAYERS},
    {.width = 1, .height = 1, .format = VK_FORMAT_BC3_UNORM_BLOCK, .mips = 1},
};
static const VkPhysicalDeviceFeatures with_blocks = {.textureCompressionBC = VK_TRUE};

Test(vk_history, of_blocks)
{
    scene s;
    open_scene(&s, &(hd_vk_desc){.features = &with_blocks});
    for (size_t i = 0; i < sizeof(block_images) / sizeof(block_images[0]); i++)
        begin_anew(&s, block_images[i]);
    close_scene(&s);
}

#ifdef HDT_THREE_FAMILIES
Test(vk_history, of_a_queue_for_copies)
{
    scene s;
    const hd_queue_kind only = HD_QUEUE_TRANSFER;
    open_scene(&s, &(hd_vk_desc){.features = &with_blocks, .queue_kinds = &only, .queue_kind_count = 1});
    for (size_t i = 0; i < sizeof(block_images) / sizeof(block_images[0]); i++)
        begin_anew(&s, block_images[i]);
    begin_anew(&s,
               (hd_image_desc){
                   .width = 100, .height = 60, .format = VK_FORMAT_R8G8B8A8_UNORM, .mips = LEVELS, .layers = LAYERS});
    begin_anew(&s,
               (hd_image_desc){.width = 20, .height = 12, .depth = 5, .format = VK_FORMAT_R32_UINT, .mips = LEVELS});
    close_scene(&s);
}
#endif

#ifndef HDT_THREE_FAMILIES /* with several queues the call that fails would leave half a frame under way */
static void declare_reader(scene *s, hd_resource last)
{
    hd_graph_pass(s->graph, &(hd_pass_desc){.name = "reader",
                                            .type = HD_PASS_COMPUTE,
                                            .root = true,
                                            .uses = HD_USES({last, HD_SAMPLED_COMPUTE})});
}

/* An image with a history, which stays in the layout in which it is read first. side 0: as it is. */
static void declare_cleared(scene *s, uint32_t side, bool reader_first, uint32_t word, shown *to)
{
    hd_resource next = hd_graph_image(s->graph, &(hd_image_desc){.name = side ? "another" : "cleared",
                                                                 .width = side ? side : SIZE,
                                                                 .height = side ? side : SIZE,
                                                                 .format = VK_FORMAT_R32_UINT});
    hd_resource last = hd_graph_history(s->graph, next);
    VkClearValue value = {.color.uint32 = {word}};
    if (reader_first)
        declare_reader(s, last);
    hd_vk_readback(s->f.vk, s->graph, last, NULL, look, to, NULL);
    if (!reader_first)
        declare_reader(s, last);
    hd_vk_clear(s->f.vk, s->graph, next, NULL, &value, NULL);
}

/* A frame that fails after its histories were cleared, or brought into another layout: the next one, as it was before,
 * finds what the last executed one left, and the image as it takes it to be. */
static void fail_between(uint32_t fails, uint32_t side, bool reader_first)
{
    scene s;
    shown shows[6] = {0}, nothing = {0};
    const hd_queue_kind one = HD_QUEUE_GFX;
    open_scene(&s, &(hd_vk_desc){.get_instance_proc = hdt_vk_hooked, .queue_kinds = &one, .queue_kind_count = 1});
    for (uint32_t frame = 0; frame < 6; frame++) {
        if (frame == fails) {
            hd_graph_begin(s.graph);
            declare_cleared(&s, side, reader_first, 99, &nothing);
            hdt_vk_hooks.failure = VK_ERROR_OUT_OF_HOST_MEMORY;
            atomic_store(&hdt_vk_hooks.fail_submit, 2); /* the first is that of the histories */
            cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OUT_OF_MEMORY);
            cr_expect_eq(atomic_load(&hdt_vk_hooks.fail_submit), 1);
            atomic_store(&hdt_vk_hooks.fail_submit, 0);
        }
        hd_graph_begin(s.graph);
        declare_cleared(&s, 0, false, frame + 1, &shows[frame]);
        hd_result result = hd_vk_frame(s.f.vk, s.graph);
        cr_assert_eq(result, HD_OK, "frame %u: %s", frame, hd_result_name(result));
    }
    cr_expect_eq(hd_vk_wait(s.f.vk), HD_OK);
    cr_expect_eq(nothing.runs, 0);
    for (uint32_t frame = 0; frame < 6; frame++) {
        cr_expect(shows[frame].same && shows[frame].word == frame, "frame %u: %u%s", frame, shows[frame].word,
                  shows[frame].same ? "" : " and others");
    }
    close_scene(&s);
}

Test(vk_history, layout_of_a_frame_that_failed)
{
    fail_between(3, 0, true);
}

Test(vk_history, content_after_a_frame_that_failed)
{
    for (uint32_t fails = 3; fails < 5; fails++) /* the history lies here or there */
        fail_between(fails, SIZE / 2, false);
}
#endif
