#include "vk_scene.h"

#include <heddle/capture.h>

#include "checked.h"
#include "limited.h"

/* hd_vk_upload_async: data of other threads arrives whole, in order, within the budget, in images and buffers of the
 * engine's; and every way in which it does not. */

enum { LEVELS = 4 };

/* A texture and a buffer that outlive frames. */
typedef struct lasting {
    hd_import_desc image, words;
    VkDeviceMemory memory[2];
} lasting;

static VkDeviceMemory bind(scene *s, const VkMemoryRequirements *needs)
{
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs->size};
    while (!(needs->memoryTypeBits >> info.memoryTypeIndex & 1))
        info.memoryTypeIndex++;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    cr_assert_eq(HDT_FN(&s->f, vkAllocateMemory)(s->f.info.device, &info, NULL, &memory), VK_SUCCESS);
    return memory;
}

static void make_lasting(scene *s, VkSharingMode sharing, lasting *out)
{
    VkDevice device = s->f.info.device;
    uint32_t families[HD_MAX_QUEUES], count = 0;
    for (uint32_t q = 0; q < s->f.info.queue_count; q++) {
        bool known = false;
        for (uint32_t f = 0; f < count; f++)
            known |= families[f] == s->f.info.queues[q].family;
        if (!known)
            families[count++] = s->f.info.queues[q].family;
    }
    const hd_sharing as = sharing == VK_SHARING_MODE_CONCURRENT ? HD_SHARING_CONCURRENT : HD_SHARING_EXCLUSIVE;
#ifdef HDT_THREE_FAMILIES
    count = 1; /* the driver's */
#endif
    if (count == 1)
        sharing = VK_SHARING_MODE_EXCLUSIVE;
    const bool shared = sharing == VK_SHARING_MODE_CONCURRENT;
    VkImageCreateInfo image = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = VK_FORMAT_R8G8B8A8_UNORM,
                               .extent = {SIZE, SIZE, 1},
                               .mipLevels = LEVELS,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                                        VK_IMAGE_USAGE_SAMPLED_BIT,
                               .sharingMode = sharing,
                               .queueFamilyIndexCount = shared ? count : 0,
                               .pQueueFamilyIndices = families};
    VkBufferCreateInfo words = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .size = 65536,
                                .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                .sharingMode = sharing,
                                .queueFamilyIndexCount = shared ? count : 0,
                                .pQueueFamilyIndices = families};
    VkImage made;
    VkBuffer buffer;
    VkMemoryRequirements needs;
    cr_assert_eq(HDT_FN(&s->f, vkCreateImage)(device, &image, NULL, &made), VK_SUCCESS);
    HDT_FN(&s->f, vkGetImageMemoryRequirements)(device, made, &needs);
    out->memory[0] = bind(s, &needs);
    cr_assert_eq(HDT_FN(&s->f, vkBindImageMemory)(device, made, out->memory[0], 0), VK_SUCCESS);
    cr_assert_eq(HDT_FN(&s->f, vkCreateBuffer)(device, &words, NULL, &buffer), VK_SUCCESS);
    HDT_FN(&s->f, vkGetBufferMemoryRequirements)(device, buffer, &needs);
    out->memory[1] = bind(s, &needs);
    cr_assert_eq(HDT_FN(&s->f, vkBindBufferMemory)(device, buffer, out->memory[1], 0), VK_SUCCESS);
    out->image = (hd_import_desc){.name = "texture",
                                  .image = (void *)made,
                                  .width = SIZE,
                                  .height = SIZE,
                                  .format = VK_FORMAT_R8G8B8A8_UNORM,
                                  .mips = LEVELS,
                                  .initial_layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                                  .final_layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                                  .serial = 7,
                                  .sharing = as};
    out->words = (hd_import_desc){.name = "words", .buffer = (void *)buffer, .bytes = 65536, .sharing = as};
}

static void free_lasting(scene *s, lasting *l)
{
    cr_expect_eq(hd_vk_wait(s->f.vk), HD_OK);
    HDT_FN(&s->f, vkDestroyImage)(s->f.info.device, (VkImage)l->image.image, NULL);
    HDT_FN(&s->f, vkDestroyBuffer)(s->f.info.device, (VkBuffer)l->words.buffer, NULL);
    for (uint32_t i = 0; i < 2; i++)
        HDT_FN(&s->f, vkFreeMemory)(s->f.info.device, l->memory[i], NULL);
}

static void open_with_uploads(scene *s, uint64_t bytes)
{
    open_scene(s, &(hd_vk_desc){.upload_bytes = bytes});
}

static void open_under_capture(scene *s)
{
    memset(s, 0, sizeof(*s));
    const hd_vk_desc desc = {.upload_bytes = 1 << 20, .get_instance_proc = hd_capture_get_instance_proc};
    hd_result result = hdt_vk_open(&s->f, &desc);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK);
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = hdt_log()}, &s->graph), HD_OK);
}

static hd_vk_token hand_words(scene *s, const lasting *l, uint64_t offset, const void *data, uint64_t bytes)
{
    hd_vk_token token;
    hd_vk_upload_desc desc = {.target = l->words, .range = {.offset = offset}, .data = data, .bytes = bytes};
    cr_assert_eq(hd_vk_upload_async(s->f.vk, &desc, &token), HD_OK);
    return token;
}

static void frame(scene *s)
{
    hd_result result = hdt_frame(s->f.vk, s->graph);
    cr_assert_eq(result, HD_OK, "%s: %s", hd_result_name(result), hd_graph_error(s->graph)->text);
}

static hd_vk_upload_state state(scene *s, hd_vk_token token)
{
    return hd_vk_upload_done(s->f.vk, token, NULL);
}

typedef struct seen {
    uint8_t bytes[65536];
    uint32_t runs;
} seen;

static void see(const void *data, uint64_t bytes, void *user)
{
    seen *to = user;
    memcpy(to->bytes, data, bytes < sizeof(to->bytes) ? bytes : sizeof(to->bytes));
    to->runs++;
}

/* Reads the engine's buffer back in a frame of its own. */
static void read_words(scene *s, const lasting *l, seen *out)
{
    hd_graph_begin(s->graph);
    hd_vk_readback(s->f.vk, s->graph, hd_graph_import(s->graph, &l->words), NULL, see, out, NULL);
    frame(s);
    cr_assert_eq(hd_vk_wait(s->f.vk), HD_OK);
}

static void fill(uint8_t *bytes, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(i * 13 + seed * 101 + (i >> 7));
}

/* What the graph declares runs on transfer queues, where the device has any. */
static void expect_on_transfer(scene *s)
{
    const hd_plan *plan;
    bool has = false;
    for (uint32_t q = 0; q < s->f.info.queue_count; q++)
        has |= s->f.info.queues[q].kind == HD_QUEUE_TRANSFER;
    cr_assert_eq(hd_vk_compile(s->f.vk, s->graph, NULL, &plan), HD_OK);
    hd_plan_view view = hd_plan_read(plan);
    for (uint32_t i = 0; i < view.submit_count && has; i++)
        cr_expect_eq(view.queues[view.submits[i].queue].kind, HD_QUEUE_TRANSFER);
}

/* Each frame takes what fits its budget, the oldest first, and one at least. */
Test(vk_upload, budget_of_a_frame)
{
    enum { COUNT = 7, BYTES = 1000 };
    static seen back;
    static uint8_t data[COUNT][BYTES];
    scene s;
    lasting l;
    hd_vk_token tokens[COUNT];
    open_with_uploads(&s, 1 << 20);
    make_lasting(&s, VK_SHARING_MODE_CONCURRENT, &l);
    for (uint32_t i = 0; i < COUNT; i++) {
        fill(data[i], BYTES, i);
        tokens[i] = hand_words(&s, &l, i * BYTES, data[i], BYTES);
        memset(data[i], 0, BYTES); /* it was copied */
        cr_expect_eq(state(&s, tokens[i]), HD_VK_UPLOAD_WAITING);
    }
    hd_vk_frame_stats stats;
    hd_vk_frame_stats_get(s.f.vk, &stats);
    cr_expect_geq(stats.upload_bytes, COUNT * BYTES);
    static const uint64_t budgets[] = {2500, 0, 10, 100000};
    static const uint32_t expect[] = {2, 2, 3, COUNT};
    uint64_t in = 0;
    for (uint32_t f = 0; f < 4; f++) {
        hd_graph_begin(s.graph);
        cr_expect_eq(hd_vk_upload_some(s.f.vk, s.graph, budgets[f]), HD_OK);
        cr_expect_eq(hd_graph_pass_count(s.graph), expect[f] - (f ? expect[f - 1] : 0));
        expect_on_transfer(&s);
        frame(&s);
        for (uint32_t i = 0; i < COUNT; i++)
            cr_expect_eq(hd_vk_upload_done(s.f.vk, tokens[i], &in) >= HD_VK_UPLOAD_PLANNED, i < expect[f], "%u", i);
    }
    cr_expect_eq(in, 3, "the frame of the last one");
    read_words(&s, &l, &back);
    for (uint32_t i = 0; i < COUNT; i++) {
        fill(data[i], BYTES, i);
        cr_expect_eq(memcmp(back.bytes + i * BYTES, data[i], BYTES), 0, "upload %u", i);
        cr_expect_eq(hd_vk_upload_done(s.f.vk, tokens[i], &in), HD_VK_UPLOAD_DONE);
        cr_expect_eq(in, 0);
    }
    free_lasting(&s, &l);
    close_scene(&s);
}

/* Levels of one image in any order and frame, each left in the layout in which the engine reads it. Also of an image
 * that one family owns at a time. */
static void check_levels(VkSharingMode sharing)
{
    static uint8_t data[LEVELS][PIXELS * 4];
    static seen back[LEVELS];
    scene s;
    lasting l;
    hd_vk_token tokens[LEVELS];
    open_with_uploads(&s, 1 << 20);
    make_lasting(&s, sharing, &l);
    memset(back, 0, sizeof(back));
    for (uint16_t m = LEVELS; m-- > 0;) {
        hd_vk_upload_desc desc = {.target = l.image, .range = {{.mip_base = m}}, .data = data[m]};
        desc.bytes = (uint64_t)PIXELS * 4 >> (2 * m);
        fill(data[m], desc.bytes, m);
        cr_assert_eq(hd_vk_upload_async(s.f.vk, &desc, &tokens[m]), HD_OK);
    }
    for (uint32_t f = 0; f < LEVELS; f++) { /* one a frame, and the frame reads what has come */
        hd_graph_begin(s.graph);
        hd_resource texture = {0};
        if (f % 2)
            texture = hd_graph_import(s.graph, &l.image);
        cr_expect_eq(hd_vk_upload_some(s.f.vk, s.graph, 1), HD_OK);
        uint16_t m = (uint16_t)(LEVELS - 1 - f);
        cr_expect_eq(state(&s, tokens[m]), HD_VK_UPLOAD_PLANNED);
        if (f % 2)
            hd_vk_readback(s.f.vk, s.graph, texture, &(hd_range){{.mip_base = m}}, see, &back[m], NULL);
        frame(&s);
    }
    hd_graph_begin(s.graph);
    hd_resource texture = hd_graph_import(s.graph, &l.image);
    for (uint16_t m = 0; m < LEVELS; m++)
        hd_vk_readback(s.f.vk, s.graph, texture, &(hd_range){{.mip_base = m}}, see, &back[m], NULL);
    frame(&s);
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    for (uint16_t m = 0; m < LEVELS; m++) {
        cr_expect_eq(back[m].runs, (LEVELS - 1 - m) % 2 ? 2 : 1, "level %u", m);
        cr_expect_eq(memcmp(back[m].bytes, data[m], (size_t)PIXELS * 4 >> (2 * m)), 0, "level %u", m);
    }
    free_lasting(&s, &l);
    close_scene(&s);
}

Test(vk_upload, levels_of_an_image)
{
    check_levels(VK_SHARING_MODE_CONCURRENT);
}

Test(vk_upload, levels_of_an_exclusive_image)
{
    check_levels(VK_SHARING_MODE_EXCLUSIVE);
}

/* A pass that cannot do without: the token's data, and all that was handed over for the same target before, whatever
 * the budget; what is for other targets waits. */
Test(vk_upload, now)
{
    static seen back;
    static uint8_t old[3000], new[3000], texels[PIXELS * 4];
    scene s;
    lasting l;
    open_with_uploads(&s, 1 << 20);
    make_lasting(&s, VK_SHARING_MODE_CONCURRENT, &l);
    fill(old, sizeof(old), 1);
    fill(new, sizeof(new), 2);
    hd_vk_token first = hand_words(&s, &l, 0, old, sizeof(old)), other;
    hd_vk_upload_desc desc = {.target = l.image, .data = texels, .bytes = sizeof(texels)};
    cr_assert_eq(hd_vk_upload_async(s.f.vk, &desc, &other), HD_OK);
    hd_vk_token second = hand_words(&s, &l, 1000, new, 1000), third = hand_words(&s, &l, 8192, new, sizeof(new));
    hd_graph_begin(s.graph);
    hd_resource words = hd_graph_import(s.graph, &l.words);
    cr_expect_eq(hd_vk_upload_now(s.f.vk, s.graph, second), HD_OK);
    cr_expect_eq(hd_vk_upload_now(s.f.vk, s.graph, second), HD_OK, "again is nothing");
    cr_expect_eq(hd_graph_pass_count(s.graph), 2);
    hd_vk_readback(s.f.vk, s.graph, words, NULL, see, &back, NULL);
    uint64_t in;
    cr_expect_eq(hd_vk_upload_done(s.f.vk, first, &in), HD_VK_UPLOAD_PLANNED);
    cr_expect_eq(in, 0, "this frame");
    frame(&s);
    cr_expect_eq(state(&s, other), HD_VK_UPLOAD_WAITING);
    cr_expect_eq(state(&s, third), HD_VK_UPLOAD_WAITING);
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    cr_expect_eq(memcmp(back.bytes, old, 1000), 0);
    cr_expect_eq(memcmp(back.bytes + 1000, new, 1000), 0, "the newer one");
    cr_expect_eq(memcmp(back.bytes + 2000, old + 2000, 1000), 0);
    /* What a frame was given counts for its budget. */
    hd_graph_begin(s.graph);
    cr_expect_eq(hd_vk_upload_now(s.f.vk, s.graph, first), HD_OK, "it is done");
    cr_expect_eq(hd_vk_upload_now(s.f.vk, s.graph, third), HD_OK);
    cr_expect_eq(hd_vk_upload_some(s.f.vk, s.graph, 1), HD_OK);
    cr_expect_eq(hd_graph_pass_count(s.graph), 2, "one at least");
    frame(&s);
    cr_expect_eq(hd_vk_upload_now(s.f.vk, s.graph, (hd_vk_token){third.id + 1}), HD_BAD_HANDLE);
    hd_graph_begin(s.graph);
    cr_expect_eq(hd_vk_upload_now(s.f.vk, s.graph, (hd_vk_token){0}), HD_BAD_HANDLE);
    cr_expect_eq(hd_vk_upload_done(s.f.vk, (hd_vk_token){0}, &in), HD_VK_UPLOAD_NONE);
    cr_expect_eq(state(&s, (hd_vk_token){third.id + 1}), HD_VK_UPLOAD_NONE);
    free_lasting(&s, &l);
    close_scene(&s);
}

/* Pieces of all sizes through a small ring for many frames: nothing is overwritten before it was copied, and a full
 * ring says so and comes free again. */
Test(vk_upload, ring_that_is_full)
{
    enum { RING = 4096 };
    static seen back;
    static uint8_t expect[65536], data[RING];
    scene s;
    lasting l;
    open_with_uploads(&s, RING);
    make_lasting(&s, VK_SHARING_MODE_CONCURRENT, &l);
    hd_vk_token token;
    hd_vk_upload_desc whole = {.target = l.words, .data = expect, .bytes = 65536};
    cr_expect_eq(hd_vk_upload_async(s.f.vk, &whole, &token), HD_TOO_LARGE);
    cr_expect_eq(token.id, 0);
    uint32_t random = 1, busy = 0, handed = 0;
    for (uint32_t at = 0; at < 65536 && handed < 4096;) {
        random = random * 1664525 + 1013904223;
        uint32_t bytes = 1 + (random >> 8) % (random >> 30 ? 700 : RING);
        bytes = bytes < 65536 - at ? bytes : 65536 - at;
        fill(data, bytes, at);
        hd_vk_upload_desc desc = {.target = l.words, .range = {.offset = at}, .data = data, .bytes = bytes};
        hd_result result = hd_vk_upload_async(s.f.vk, &desc, &token);
        if (result == HD_OK) {
            memcpy(expect + at, data, bytes);
            at += bytes;
            handed++;
            continue;
        }
        cr_assert_eq(result, HD_BUSY);
        cr_expect_eq(token.id, 0);
        busy++;
        hd_graph_begin(s.graph);
        cr_expect_eq(hd_vk_upload_some(s.f.vk, s.graph, 1500), HD_OK);
        frame(&s);
    }
    cr_expect_gt(busy, 10);
    for (hd_vk_upload_state last; (last = state(&s, token)) < HD_VK_UPLOAD_PLANNED;) {
        hd_graph_begin(s.graph);
        cr_expect_eq(hd_vk_upload_some(s.f.vk, s.graph, 1500), HD_OK);
        frame(&s);
    }
    read_words(&s, &l, &back);
    cr_expect_eq(memcmp(back.bytes, expect, sizeof(expect)), 0);
    free_lasting(&s, &l);
    close_scene(&s);
}

/* What a frame took that was not executed goes with the next one; a plan that is executed twice copies nothing else. */
Test(vk_upload, frames_that_were_left)
{
    static seen back;
    static uint8_t data[512];
    scene s;
    lasting l;
    open_with_uploads(&s, 1 << 16);
    make_lasting(&s, VK_SHARING_MODE_CONCURRENT, &l);
    fill(data, sizeof(data), 5);
    hd_vk_token token = hand_words(&s, &l, 64, data, sizeof(data));
    for (uint32_t left = 0; left < 3; left++) {
        hd_graph_begin(s.graph);
        cr_expect_eq(hd_vk_upload_some(s.f.vk, s.graph, 1), HD_OK);
        cr_expect_eq(state(&s, token), HD_VK_UPLOAD_PLANNED);
    }
    hd_graph *other;
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = hdt_log()}, &other), HD_OK);
    cr_expect_eq(hd_vk_upload_some(s.f.vk, other, 1), HD_OK);
    cr_expect_eq(hd_graph_pass_count(other), 0, "it is in the first graph's frame");
    frame(&s);
    const hd_plan *plan;
    cr_assert_eq(hd_vk_compile(s.f.vk, s.graph, NULL, &plan), HD_OK);
    cr_expect_eq(hd_vk_execute(s.f.vk, s.graph, plan), HD_INVALID_ARGUMENT, "it went before");
    hd_error error;
    hd_vk_error_get(s.f.vk, &error);
    cr_expect(strstr(error.text, "upload") && error.pass == 0, "%s", error.text);
    read_words(&s, &l, &back);
    cr_expect_eq(memcmp(back.bytes + 64, data, sizeof(data)), 0);
    /* A graph that took something and was destroyed holds it for some frames only. */
    token = hand_words(&s, &l, 0, data, sizeof(data));
    cr_expect_eq(hd_vk_upload_some(s.f.vk, other, 1), HD_OK);
    cr_expect_eq(hd_graph_pass_count(other), 1);
    hd_graph_destroy(other);
    uint32_t frames = 0;
    for (uint32_t passes = 0; passes == 0 && frames < 40; frames++) {
        hd_graph_begin(s.graph);
        cr_expect_eq(hd_vk_upload_some(s.f.vk, s.graph, 1), HD_OK);
        passes = hd_graph_pass_count(s.graph);
        frame(&s);
    }
    cr_expect_lt(frames, 40);
    cr_expect_eq(hd_vk_wait(s.f.vk), HD_OK);
    cr_expect_eq(state(&s, token), HD_VK_UPLOAD_DONE);
    free_lasting(&s, &l);
    close_scene(&s);
}

Test(vk_upload, dropped)
{
    static seen back;
    static uint8_t data[256], zero[256];
    scene s;
    lasting l;
    open_with_uploads(&s, 1 << 16);
    make_lasting(&s, VK_SHARING_MODE_CONCURRENT, &l);
    fill(data, sizeof(data), 9);
    hd_graph_begin(s.graph);
    hd_vk_fill(s.f.vk, s.graph, hd_graph_import(s.graph, &l.words), NULL, 0, NULL);
    frame(&s);
    hd_vk_token waits = hand_words(&s, &l, 0, data, 256), goes = hand_words(&s, &l, 256, data, 256);
    cr_expect_eq(hd_vk_upload_drop(s.f.vk, waits), HD_VK_UPLOAD_DONE);
    hd_graph_begin(s.graph);
    cr_expect_eq(hd_vk_upload_now(s.f.vk, s.graph, waits), HD_OK);
    cr_expect_eq(hd_graph_pass_count(s.graph), 0);
    cr_expect_eq(hd_vk_upload_some(s.f.vk, s.graph, 4096), HD_OK);
    cr_expect_eq(hd_vk_upload_drop(s.f.vk, goes), HD_VK_UPLOAD_PLANNED, "it stays");
    frame(&s);
    read_words(&s, &l, &back);
    cr_expect_eq(memcmp(back.bytes, zero, 256), 0);
    cr_expect_eq(memcmp(back.bytes + 256, data, 256), 0);
    cr_expect_eq(hd_vk_upload_drop(s.f.vk, goes), HD_VK_UPLOAD_DONE);
    hand_words(&s, &l, 0, data, 256); /* pending when everything ends */
    free_lasting(&s, &l);
    close_scene(&s);
}

/* The capture sees uploads as it sees all passes: what was given to Vulkan holds, data of other threads included. */
Test(vk_upload, under_the_capture)
{
    static uint8_t data[4096], texels[PIXELS * 4];
    static seen back;
    scene s;
    lasting l;
    hd_stream *stream;
    hd_capture_desc desc = {0};
#ifdef HDT_THREE_FAMILIES
    desc.get_instance_proc = hdt_vk_hooked;
    hdt_vk_three_families(true, 0);
#endif
    cr_assert_eq(hd_capture_open(&desc), HD_OK);
    open_under_capture(&s);
    make_lasting(&s, VK_SHARING_MODE_CONCURRENT, &l);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    for (uint32_t f = 0; f < 6; f++) {
        hd_vk_token token;
        hd_vk_upload_desc image = {.target = l.image, .data = texels, .bytes = sizeof(texels)};
        fill(data, sizeof(data), f);
        hand_words(&s, &l, 0, data, sizeof(data));
        cr_assert_eq(hd_vk_upload_async(s.f.vk, &image, &token), HD_OK);
        hd_graph_begin(s.graph);
        hd_resource words = hd_graph_import(s.graph, &l.words);
        cr_expect_eq(hd_vk_upload_some(s.f.vk, s.graph, sizeof(texels) + sizeof(data)), HD_OK);
        hd_vk_readback(s.f.vk, s.graph, words, NULL, see, &back, NULL);
        frame(&s);
    }
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    cr_expect_eq(hd_stream_verify(stream, NULL), HD_OK);
    uint32_t copies = 0;
    for (uint32_t c = 0; c < stream->command_count; c++) {
        const hd_stream_command *command = &stream->commands[c];
        copies += command->label != HD_NONE && strcmp(stream->strings[command->label], "upload") == 0 &&
                  strstr(stream->strings[command->name], "vkCmdCopyBuffer");
    }
    cr_expect_eq(copies, 12);
    hd_stream_free(stream);
    free_lasting(&s, &l);
    close_scene(&s);
    hd_capture_close();
}

Test(vk_upload, mistakes)
{
    static uint8_t data[PIXELS * 4];
    scene s;
    lasting l;
    hd_vk_token token = {1};
    open_with_uploads(&s, 1 << 20);
    make_lasting(&s, VK_SHARING_MODE_CONCURRENT, &l);
    for (uint32_t fault = 0; fault < 10; fault++) {
        hd_vk_upload_desc desc = {.target = l.words, .data = data, .bytes = 64}, good = desc;
        hd_result expect = HD_INVALID_ARGUMENT;
        if (fault >= 5) {
            good = desc = (hd_vk_upload_desc){.target = l.image, .data = data, .bytes = sizeof(data)};
            good.range.mip_count = 1;
        }
        desc.data = fault == 0 ? NULL : desc.data;
        desc.bytes = fault == 1 ? 0 : desc.bytes - (fault == 5);
        desc.target.buffer = fault == 2 ? NULL : desc.target.buffer;
        if (fault == 3)
            desc.range.offset = 65536 - 32;
        desc.target.sharing = fault == 4 ? (hd_sharing)9 : desc.target.sharing;
        if (fault == 6)
            desc.range.mip_base = LEVELS;
        desc.target.final_layout = fault == 7 ? VK_IMAGE_LAYOUT_UNDEFINED : desc.target.final_layout;
        desc.target.samples = fault == 8 ? 4 : 1;
        desc.target.width = fault == 9 ? 0 : desc.target.width;
        expect = fault == 9 ? HD_BAD_DESC : expect;
        cr_expect_eq(hd_vk_upload_async(s.f.vk, &desc, &token), expect, "fault %u", fault);
        cr_expect_eq(token.id, 0);
        cr_expect_eq(hd_vk_upload_async(s.f.vk, &good, &token), HD_OK, "fault %u", fault);
    }
    free_lasting(&s, &l);
    close_scene(&s);
    open_scene(&s, NULL);
    hd_vk_upload_desc desc = {.target = l.words, .data = data, .bytes = 64};
    cr_expect_eq(hd_vk_upload_async(s.f.vk, &desc, &token), HD_INVALID_ARGUMENT, "no staging memory");
    close_scene(&s);
}

/* What finds no memory is refused, is moved in a later frame, or ends the frame; nothing is lost of what stands there.
 */
Test(vk_upload, without_memory)
{
    static seen back;
    static uint8_t data[200][64];
    hdt_limited limited = {0};
    scene s;
    lasting l;
    hd_vk_token tokens[200];
    uint32_t refused = 0, failed = 0;
    open_scene(&s, &(hd_vk_desc){.upload_bytes = 1 << 20, .allocator = hdt_limited_allocator(&limited)});
    make_lasting(&s, VK_SHARING_MODE_CONCURRENT, &l);
    for (uint32_t i = 0; i < 200; i++) {
        fill(data[i], 64, i);
        hd_vk_upload_desc desc = {.target = l.words, .range = {.offset = i * 64}, .data = data[i], .bytes = 64};
        limited.fail_at = limited.made + 1;
        hd_result result = hd_vk_upload_async(s.f.vk, &desc, &tokens[i]);
        limited.fail_at = 0;
        if (result == HD_OUT_OF_MEMORY) {
            refused++;
            result = hd_vk_upload_async(s.f.vk, &desc, &tokens[i]);
        }
        cr_assert_eq(result, HD_OK);
    }
    cr_expect_eq(refused, 3, "room for 64, 128 and 256 entries");
    for (uint64_t k = 1; k < 60; k++) {
        hd_graph_begin(s.graph);
        limited.fail_at = limited.made + k;
        hd_result result = hd_vk_upload_some(s.f.vk, s.graph, 640);
        if (result == HD_OK)
            result = hd_vk_frame(s.f.vk, s.graph);
        limited.fail_at = 0;
        cr_expect(result == HD_OK || result == HD_OUT_OF_MEMORY, "%s", hd_result_name(result));
        failed += result != HD_OK;
    }
    cr_expect_gt(failed, 0);
    hd_graph_begin(s.graph);
    cr_expect_eq(hd_vk_upload_some(s.f.vk, s.graph, UINT64_MAX), HD_OK);
    frame(&s);
    read_words(&s, &l, &back);
    cr_expect_eq(memcmp(back.bytes, data, sizeof(data)), 0);
    free_lasting(&s, &l);
    close_scene(&s);
    cr_expect(limited.out == 0 && limited.wrong == 0);
}

#ifndef HDT_THREE_FAMILIES
/* A lost device refuses, and leaves what was not done as it was. */
Test(vk_upload, lost_device)
{
    static uint8_t data[64];
    scene s;
    lasting l;
    hd_vk_token token;
    open_scene(&s, &(hd_vk_desc){.upload_bytes = 1 << 16, .get_instance_proc = hdt_vk_hooked});
    make_lasting(&s, VK_SHARING_MODE_CONCURRENT, &l);
    token = hand_words(&s, &l, 0, data, sizeof(data));
    hd_graph_begin(s.graph);
    cr_expect_eq(hd_vk_upload_some(s.f.vk, s.graph, 4096), HD_OK);
    hdt_vk_hooks.failure = VK_ERROR_DEVICE_LOST;
    atomic_store(&hdt_vk_hooks.fail_submit, 1);
    cr_expect_eq(hd_vk_frame(s.f.vk, s.graph), HD_DEVICE_LOST);
    atomic_store(&hdt_vk_hooks.fail_submit, 0);
    hd_vk_upload_desc desc = {.target = l.words, .data = data, .bytes = 64};
    hd_vk_token more;
    cr_expect_eq(hd_vk_upload_async(s.f.vk, &desc, &more), HD_DEVICE_LOST);
    cr_expect_eq(more.id, 0);
    cr_expect_neq(state(&s, token), HD_VK_UPLOAD_DONE);
    HDT_FN(&s.f, vkDestroyImage)(s.f.info.device, (VkImage)l.image.image, NULL);
    HDT_FN(&s.f, vkDestroyBuffer)(s.f.info.device, (VkBuffer)l.words.buffer, NULL);
    for (uint32_t i = 0; i < 2; i++)
        HDT_FN(&s.f, vkFreeMemory)(s.f.info.device, l.memory[i], NULL);
    cr_expect_eq(hdt_vk_close(&s.f), 0);
    hd_graph_destroy(s.graph);
}
#endif
