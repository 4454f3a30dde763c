/* Replay of streams that are made by hand: what each part of the player does, what it says of streams that cannot be,
 * and what it leaves behind where something fails. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "limited.h"
#include "replay_stream.h"
#include "vk_faults.h"
#include "vk_fixture.h"

enum { BYTES = 256, SIDE = 16 };

static const VkQueueFlags one_family[] = {VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT};
static const VkQueueFlags two_families[] = {VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT,
                                            VK_QUEUE_TRANSFER_BIT};
static const hd_stream_sync none = {.semaphore = HD_NONE};

typedef struct seen {
    unsigned messages, contents, different;
    char first[1200];
    hd_replay_content last;
    uint8_t bytes[4096]; /* of the last one */
} seen;

static void take_message(const char *text, void *user)
{
    seen *n = user;
    if (n->messages++ == 0)
        snprintf(n->first, sizeof(n->first), "%s", text);
}

static void take_content(const hd_replay_content *content, void *user)
{
    seen *n = user;
    n->contents++;
    n->different += content->hash != content->captured_hash;
    n->last = *content;
    memcpy(n->bytes, content->bytes, content->byte_count < sizeof(n->bytes) ? content->byte_count : sizeof(n->bytes));
}

/* Skips the test where there is no device. */
static hd_result replay_with(const hd_stream *s, hd_replay_desc desc, seen *n)
{
    hd_replay_report report;
    memset(n, 0, sizeof(*n));
    hdt_vk_keep_libraries();
    desc.message = take_message;
    desc.content = take_content;
    desc.user = n;
    hd_result result = hd_replay(s, &desc, &report);
    if (result == HD_NO_LOADER || result == HD_NO_DEVICE)
        cr_skip_test("no Vulkan 1.3 device");
    cr_expect(report.contents == n->contents && report.different == n->different);
    return result;
}

static bool has_layer(void)
{
    hdt_vk f;
    hd_result result = hdt_vk_open(&f, NULL);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK);
    uint32_t layer = f.layer;
    hdt_vk_close(&f);
    return layer != 0;
}

static hd_result replay(const hd_stream *s, seen *n)
{
    return replay_with(s, (hd_replay_desc){.validate = has_layer()}, n);
}

static void expect_same(const hd_stream *s, unsigned contents)
{
    seen n;
    cr_expect_eq(replay(s, &n), HD_OK, "%s", n.first);
    cr_expect_eq(n.messages, 0, "%s", n.first);
    cr_expect_eq(n.contents, contents);
    cr_expect_eq(n.different, 0);
}

static void expect_message(const hd_stream *s, hd_result result, const char *part)
{
    seen n;
    cr_expect_eq(replay_with(s, (hd_replay_desc){0}, &n), result, "%s: %s", part, n.first);
    cr_expect(strstr(n.first, part), "'%s' has no '%s'", n.first, part);
}

/* ---- parts of streams ---- */

typedef struct copy_arguments {
    VkCommandBuffer commands;
    VkBuffer from, to;
    uint32_t count;
    const VkBufferCopy *regions;
} copy_arguments;

static void copy(hdt_maker *m, uint32_t from, uint32_t to)
{
    VkBufferCopy region = {.size = m->s->resources[from].bytes};
    hdt_maker_call(m, "vkCmdCopyBuffer",
                   &(copy_arguments){.from = HDT_NUMBER(VkBuffer, m->s->resources[from].object),
                                     .to = HDT_NUMBER(VkBuffer, m->s->resources[to].object),
                                     .count = 1,
                                     .regions = &region});
    hdt_maker_access(m, from, VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_READ_BIT);
    hdt_maker_access(m, to, VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT);
}

static void fill(hdt_maker *m, uint32_t buffer, uint32_t value)
{
    struct {
        VkCommandBuffer commands;
        VkBuffer buffer;
        VkDeviceSize offset, size;
        uint32_t value;
    } arguments = {NULL, HDT_NUMBER(VkBuffer, m->s->resources[buffer].object), 0, m->s->resources[buffer].bytes, value};
    hdt_maker_call(m, "vkCmdFillBuffer", &arguments);
    hdt_maker_access(m, buffer, VK_PIPELINE_STAGE_2_CLEAR_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT);
}

static void copy_out(hdt_maker *m, uint32_t image, uint32_t buffer, uint32_t side)
{
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {side, side, 1}};
    struct {
        VkCommandBuffer commands;
        VkImage image;
        VkImageLayout layout;
        VkBuffer buffer;
        uint32_t count;
        const VkBufferImageCopy *regions;
    } arguments = {NULL,
                   HDT_NUMBER(VkImage, m->s->resources[image].object),
                   VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                   HDT_NUMBER(VkBuffer, m->s->resources[buffer].object),
                   1,
                   &region};
    hdt_maker_call(m, "vkCmdCopyImageToBuffer", &arguments);
    hdt_maker_access(m, image, VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_READ_BIT)->layout =
        VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    hdt_maker_access(m, buffer, VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT);
}

static hd_stream_barrier *transition(hdt_maker *m, uint32_t image, uint32_t from, uint32_t to)
{
    hdt_maker_command(m, HD_STREAM_BARRIER, "vkCmdPipelineBarrier2");
    hd_stream_barrier *b = hdt_maker_barrier(m, image);
    b->old_layout = from;
    b->new_layout = to;
    return b;
}

/* All writes before are there for the commands behind. */
static void barrier(hdt_maker *m)
{
    hdt_maker_command(m, HD_STREAM_BARRIER, "vkCmdPipelineBarrier2");
    hdt_maker_barrier(m, HD_NONE);
}

static void to_host(hdt_maker *m)
{
    hdt_maker_command(m, HD_STREAM_BARRIER, "vkCmdPipelineBarrier2");
    hd_stream_barrier *b = hdt_maker_barrier(m, HD_NONE);
    b->dst_stages = VK_PIPELINE_STAGE_2_HOST_BIT;
    b->dst_access = VK_ACCESS_2_HOST_READ_BIT;
}

static uint64_t hash_of(const uint8_t *bytes, uint32_t count)
{
    return hdi_hash_bytes(bytes, count, 0);
}

static uint64_t hash_of_words(uint32_t value)
{
    uint32_t words[BYTES / 4];
    for (uint32_t i = 0; i < BYTES / 4; i++)
        words[i] = value;
    return hdi_hash_bytes(words, BYTES, 0);
}

/* The host writes a, the queue copies it to b, the host reads b. */
static hd_stream *small_stream(void)
{
    uint8_t bytes[BYTES];
    for (uint32_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(i * 7);
    hdt_maker m = hdt_maker_begin(one_family, 1);
    uint32_t host = hdt_maker_queue(&m, HD_QUEUE_HOST, HD_NONE), gfx = hdt_maker_queue(&m, HD_QUEUE_GFX, 0);
    uint32_t done = hdt_maker_semaphore(&m, false), memory = hdt_maker_memory(&m, 4096);
    uint32_t a = hdt_maker_buffer(&m, "a", BYTES, memory, 0), b = hdt_maker_buffer(&m, "b", BYTES, memory, 1024);
    hdt_maker_submit(&m, host, none, none);
    hdt_maker_write(&m, memory, a, 0, bytes, BYTES);
    hdt_maker_submit(&m, gfx, none, (hd_stream_sync){done, 1, 0});
    copy(&m, a, b);
    to_host(&m);
    hdt_maker_submit(&m, host, (hd_stream_sync){done, 1, 0}, none);
    hdt_maker_read(&m, memory, b, 1024, BYTES, hash_of(bytes, BYTES));
    return hdt_maker_end(&m);
}

/* ---- what is replayed ---- */

Test(replay, what_the_host_writes_and_reads)
{
    seen n;
    hd_stream *s = small_stream();
    expect_same(s, 1);
    cr_expect_eq(replay_with(s, (hd_replay_desc){0}, &n), HD_OK);
    cr_expect(n.last.byte_count == BYTES && n.last.width == 0 && n.last.format == 0 && n.last.resource == 1);
    cr_expect(n.last.submit == 2 && n.last.command == s->submits[2].command_begin);
    cr_expect(n.bytes[3] == 21);
    const hd_stream_data *written = &s->datas[s->commands[0].data];
    s->bytes[written->byte_begin + 8 + 5] ^= 1;
    cr_expect_eq(replay_with(s, (hd_replay_desc){0}, &n), HD_OK);
    cr_expect(n.contents == 1 && n.different == 1, "a byte that changed is not found");
    hd_stream_free(s);
}

/* A submit waits for the host, another one for that, a third for a binary semaphore of the second. */
Test(replay, submits_that_are_held_back)
{
    hdt_maker m = hdt_maker_begin(two_families, 2);
    uint32_t host = hdt_maker_queue(&m, HD_QUEUE_HOST, HD_NONE), gfx = hdt_maker_queue(&m, HD_QUEUE_GFX, 0);
    uint32_t transfer = hdt_maker_queue(&m, HD_QUEUE_TRANSFER, 1);
    uint32_t go = hdt_maker_semaphore(&m, false), then = hdt_maker_semaphore(&m, true);
    uint32_t memory = hdt_maker_memory(&m, 4096);
    uint32_t a = hdt_maker_buffer(&m, "a", BYTES, memory, 0), b = hdt_maker_buffer(&m, "b", BYTES, memory, 1024);
    for (uint32_t round = 1; round <= 3; round++) {
        hdt_maker_submit(&m, transfer, (hd_stream_sync){go, round, 0}, (hd_stream_sync){then, 0, 0});
        fill(&m, a, round);
        hdt_maker_submit(&m, gfx, (hd_stream_sync){then, 0, 0}, none);
        copy(&m, a, b);
        to_host(&m);
        hdt_maker_submit(&m, host, none, (hd_stream_sync){go, round, 0});
        hdt_maker_submit(&m, host, none, none);
        hdt_maker_read(&m, memory, b, 1024, BYTES, hash_of_words(round));
    }
    hd_stream *s = hdt_maker_end(&m);
    expect_same(s, 3);
    s->syncs[s->sync_count - 1].value = 2; /* the last signal of the host lets nothing go */
    expect_message(s, HD_INVALID_ARGUMENT, "waits for a semaphore that nothing signals");
    hd_stream_free(s);
}

/* Two families of the capture are one on a device with one family. */
Test(replay, ownership_and_pictures)
{
    seen n;
    uint8_t red[SIDE * SIDE * 4];
    for (uint32_t i = 0; i < sizeof(red); i++)
        red[i] = i % 4 == 0 || i % 4 == 3 ? 255 : 0;
    hdt_maker m = hdt_maker_begin(two_families, 2);
    uint32_t host = hdt_maker_queue(&m, HD_QUEUE_HOST, HD_NONE), gfx = hdt_maker_queue(&m, HD_QUEUE_GFX, 0);
    uint32_t transfer = hdt_maker_queue(&m, HD_QUEUE_TRANSFER, 1), given = hdt_maker_semaphore(&m, true);
    uint32_t memory = hdt_maker_memory(&m, 4096), image = hdt_maker_image(&m, "red", SIDE, SIDE);
    uint32_t buffer = hdt_maker_buffer(&m, "texels", sizeof(red), memory, 1024);
    hdt_maker_submit(&m, gfx, none, (hd_stream_sync){given, 0, 0});
    transition(&m, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    hdt_maker_clear(&m, image, 1, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    for (int i = 0; i < 2; i++) {
        if (i)
            hdt_maker_submit(&m, transfer, (hd_stream_sync){given, 0, 0}, none);
        hd_stream_barrier *b =
            transition(&m, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
        b->src_family = 0;
        b->dst_family = 1;
    }
    copy_out(&m, image, buffer, SIDE);
    to_host(&m);
    hdt_maker_submit(&m, host, none, none);
    hdt_maker_read(&m, memory, buffer, 1024, sizeof(red), hash_of(red, sizeof(red)));
    hd_stream *s = hdt_maker_end(&m);
    expect_same(s, 1);
    cr_expect_eq(replay_with(s, (hd_replay_desc){0}, &n), HD_OK);
    cr_expect(n.last.width == SIDE && n.last.height == SIDE && n.last.format == VK_FORMAT_R8G8B8A8_UNORM);
    cr_expect_eq(memcmp(n.bytes, red, sizeof(red)), 0);
    /* On a device with three families they are two again. */
    hdt_vk_three_families(true, 0);
    cr_expect_eq(replay_with(s, (hd_replay_desc){.get_instance_proc = hdt_vk_hooked}, &n), HD_OK, "%s", n.first);
    cr_expect(n.contents == 1 && n.different == 0);
    cr_expect(hdt_vk_family_counts().releases == 1 && hdt_vk_family_counts().acquires == 1 &&
              hdt_vk_family_counts().faults == 0);
    hd_stream_free(s);
}

/* An event is set and waited for twice; between the two sets nothing unsets it. */
Test(replay, events)
{
    hdt_maker m = hdt_maker_begin(one_family, 1);
    uint32_t host = hdt_maker_queue(&m, HD_QUEUE_HOST, HD_NONE), gfx = hdt_maker_queue(&m, HD_QUEUE_GFX, 0);
    uint32_t memory = hdt_maker_memory(&m, 4096);
    uint32_t a = hdt_maker_buffer(&m, "a", BYTES, memory, 0), b = hdt_maker_buffer(&m, "b", BYTES, memory, 1024);
    hdt_maker_submit(&m, gfx, none, none);
    for (uint32_t round = 1; round <= 2; round++) {
        fill(&m, a, round);
        hdt_maker_command(&m, HD_STREAM_SET, "vkCmdSetEvent2")->event = 70;
        hdt_maker_barrier(&m, HD_NONE);
        if (round == 2)
            hdt_maker_submit(&m, gfx, none, none);
        hdt_maker_command(&m, HD_STREAM_WAIT, "vkCmdWaitEvents2")->event = 70;
        hdt_maker_barrier(&m, HD_NONE);
        copy(&m, a, b);
        barrier(&m);
    }
    to_host(&m);
    hdt_maker_submit(&m, host, none, none);
    hdt_maker_read(&m, memory, b, 1024, BYTES, hash_of_words(2));
    hd_stream *s = hdt_maker_end(&m);
    expect_same(s, 1);
    hd_stream_free(s);
}

/* A window that is not there: its image is cleared and shown. */
static hd_stream *window_stream(void)
{
    uint8_t blue[SIDE * SIDE * 4];
    for (uint32_t i = 0; i < sizeof(blue); i++)
        blue[i] = i % 4 == 2 || i % 4 == 3 ? 255 : 0; /* red is the third byte of BGRA */
    const uint64_t hash = hash_of(blue, sizeof(blue));
    hdt_maker m = hdt_maker_begin(one_family, 1);
    VkSwapchainCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                     .minImageCount = 3,
                                     .imageFormat = VK_FORMAT_B8G8R8A8_UNORM,
                                     .imageExtent = {SIDE, SIDE},
                                     .imageArrayLayers = 1,
                                     .imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    hdi_call_write(&m.w, hdi_call_type_find("VkSwapchainCreateInfoKHR"), &info);
    uint32_t swapchain = hdt_maker_object(&m, "vkCreateSwapchainKHR"), index = 0;
    uint32_t gfx = hdt_maker_queue(&m, HD_QUEUE_GFX, 0), drawn = hdt_maker_semaphore(&m, true);
    uint32_t image = hdt_maker_image(&m, "shown", SIDE, SIDE);
    hdi_call_write_ref(&m.w, swapchain);
    hdi_call_write_bytes(&m.w, &index, sizeof(index));
    m.s->resources[image].object = hdt_maker_object(&m, "vkGetSwapchainImagesKHR");
    hdt_maker_submit(&m, gfx, none, (hd_stream_sync){drawn, 0, 0});
    transition(&m, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    hdt_maker_clear(&m, image, 1, VK_IMAGE_LAYOUT_GENERAL);
    transition(&m, image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
    hdt_maker_submit(&m, gfx, (hd_stream_sync){drawn, 0, 0}, none);
    hdi_call_write_bytes(&m.w, &hash, sizeof(hash));
    hdt_maker_command(&m, HD_STREAM_ACCESS, "vkQueuePresentKHR");
    hdt_maker_access(&m, image, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_READ_BIT)->layout =
        VK_IMAGE_LAYOUT_PRESENT_SRC_KHR;
    return hdt_maker_end(&m);
}

Test(replay, what_is_presented)
{
    seen n;
    hd_stream *s = window_stream();
    cr_expect_eq(replay_with(s, (hd_replay_desc){0}, &n), HD_OK, "%s", n.first);
    cr_expect(n.contents == 1 && n.different == 0 && n.last.width == SIDE && n.last.height == SIDE);
    cr_expect(n.last.resource == 0 && n.last.submit == 1 && n.last.format == VK_FORMAT_B8G8R8A8_UNORM);
    hd_stream_free(s);
}

/* ---- what is found ---- */

/* Without the barrier between two writes the validation layer has a complaint. */
Test(replay, the_validation_layer_is_listened_to)
{
    seen n;
    if (!has_layer())
        cr_skip_test("no validation layer");
    hdt_maker m = hdt_maker_begin(one_family, 1);
    uint32_t gfx = hdt_maker_queue(&m, HD_QUEUE_GFX, 0), memory = hdt_maker_memory(&m, 4096);
    uint32_t a = hdt_maker_buffer(&m, "a", BYTES, memory, 0);
    hdt_maker_submit(&m, gfx, none, none);
    fill(&m, a, 1);
    fill(&m, a, 2);
    hd_stream *s = hdt_maker_end(&m);
    cr_expect_eq(replay(s, &n), HD_VULKAN);
    cr_expect(n.messages == 2 && strstr(n.first, "WRITE_AFTER_WRITE"), "%s", n.first);
    cr_expect_eq(replay_with(s, (hd_replay_desc){0}, &n), HD_OK, "%s", n.first);
    hd_stream_free(s);
}

Test(replay, streams_that_cannot_be)
{
    hd_stream *s = small_stream();
    uint32_t device = s->device;
    hdt_vk_keep_libraries();
    cr_expect_eq(hd_replay(NULL, NULL, NULL), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_replay(s, NULL, NULL), HD_OK);
    s->device = 0;
    expect_message(s, HD_INVALID_ARGUMENT, "captured without .replay");
    s->device = device;
    s->commands[1].data = 0; /* of the copy */
    expect_message(s, HD_INVALID_ARGUMENT, "submit 1, command 0 (vkCmdCopyBuffer): what it was given cannot be read");
    hd_stream_free(s);

    hdt_maker m = hdt_maker_begin(one_family, 1);
    uint32_t gfx = hdt_maker_queue(&m, HD_QUEUE_GFX, 0), memory = hdt_maker_memory(&m, 4096);
    uint32_t a = hdt_maker_buffer(&m, "much too far", BYTES, memory, 4000);
    hdt_maker_submit(&m, gfx, none, none);
    fill(&m, a, 1);
    hdt_maker_command(&m, HD_STREAM_WAIT, "vkCmdWaitEvents2")->event = 3;
    s = hdt_maker_end(&m);
    expect_message(s, HD_MISSING_FEATURE, "buffer 0 'much too far' does not fit on this device");
    cr_expect_eq(s->objects[s->resources[0].object].data, 5);
    memset(s->bytes + s->datas[5].byte_begin, 0, 8); /* the offset */
    expect_message(s, HD_INVALID_ARGUMENT, "waits for event 3, which none sets");
    s->commands[1].kind = HD_STREAM_ACCESS;
    s->commands[1].count = 0;
    s->commands[1].name = hdi_stream_string(s, "not captured: vkCmdTraceRaysKHR");
    expect_message(s, HD_MISSING_FEATURE, "command 1 (not captured: vkCmdTraceRaysKHR)");
    s->queues[0].family = 1;
    expect_message(s, HD_INVALID_ARGUMENT, "a queue of a family that the device lacked");
    hd_stream_free(s);

    for (int host = 0; host < 2; host++) {
        m = hdt_maker_begin(one_family, 1);
        gfx = hdt_maker_queue(&m, host ? HD_QUEUE_HOST : HD_QUEUE_GFX, host ? HD_NONE : 0);
        hdt_maker_submit(&m, gfx, none, none);
        hdt_maker_command(&m, HD_STREAM_ACCESS, "not captured: vkX");
        s = hdt_maker_end(&m);
        expect_message(s, HD_MISSING_FEATURE, "submit 0, command 0 (not captured: vkX)");
        hd_stream_free(s);
    }
}

/* Each data cut short, each of its objects exchanged for another one, or for one that comes behind: a sentence. */
Test(replay, data_that_is_broken, .timeout = 100)
{
    seen n;
    unsigned found = 0;
    hd_stream *s = small_stream();
    for (uint32_t d = 1; d < s->data_count; d++) {
        hd_stream_data *data = &s->datas[d], before = *data;
        if (data->byte_count)
            data->byte_count -= s->commands[0].data == d ? BYTES + 1 : 1;
        cr_expect_eq(replay_with(s, (hd_replay_desc){0}, &n), HD_INVALID_ARGUMENT, "data %u: %s", d, n.first);
        cr_expect_eq(n.messages, 1);
        data->byte_begin = s->byte_count;
        data->byte_count = UINT32_MAX;
        cr_expect_eq(replay_with(s, (hd_replay_desc){0}, &n), HD_INVALID_ARGUMENT, "data %u: %s", d, n.first);
        *data = before;
        for (uint32_t r = data->ref_begin; r < data->ref_begin + data->ref_count; r++) {
            uint32_t object = s->refs[r];
            for (uint32_t other = 0; other <= s->object_count; other++) {
                bool same = s->objects[other < s->object_count ? other : 0].name == s->objects[object].name;
                if (same)
                    continue;
                s->refs[r] = other;
                hd_result result = replay_with(s, (hd_replay_desc){0}, &n);
                cr_expect_eq(result, HD_INVALID_ARGUMENT, "data %u, object %u in place of %u: %s", d, other, object,
                             n.first);
                found += result == HD_INVALID_ARGUMENT;
            }
            s->refs[r] = object;
        }
    }
    cr_expect_gt(found, 30);
    hd_stream_free(s);
}

Test(replay, devices_that_lack_something)
{
    seen n;
    static const char *const extension = "VK_HEDDLE_nowhere";
    hd_stream *s = small_stream();
    cr_expect_eq(replay_with(s, (hd_replay_desc){.device = "no such name"}, &n), HD_MISSING_FEATURE);
    cr_expect(strstr(n.first, "its name is another one"), "%s", n.first);
    hd_stream_free(s);
    hdt_maker m = hdt_maker_begin(one_family, 1);
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .enabledExtensionCount = 1,
                               .ppEnabledExtensionNames = &extension};
    VkPhysicalDeviceMemoryProperties memory = {.memoryTypeCount = 1};
    uint32_t families = 1;
    hdi_call_write_ref(&m.w, 1);
    hdi_call_write(&m.w, hdi_call_type_find("VkDeviceCreateInfo"), &info);
    hdi_call_write_bytes(&m.w, &memory, sizeof(memory));
    hdi_call_write_bytes(&m.w, &families, sizeof(families));
    hdi_call_write_bytes(&m.w, one_family, sizeof(one_family));
    m.s->device = hdt_maker_object(&m, "vkCreateDevice");
    s = hdt_maker_end(&m);
    expect_message(s, HD_MISSING_FEATURE, "it has no VK_HEDDLE_nowhere");
    hd_stream_free(s);
}

/* ---- what is left behind ---- */

Test(replay, memory_that_runs_out, .timeout = 100)
{
    hdt_limited limited = {0};
    hd_stream *streams[] = {small_stream(), window_stream()};
    for (int i = 0; i < 2; i++) {
        seen n;
        hd_replay_desc desc = {.allocator = hdt_limited_allocator(&limited)};
        limited.fail_at = 0;
        limited.made = 0;
        cr_expect_eq(replay_with(streams[i], desc, &n), HD_OK);
        uint64_t all = limited.made;
        cr_expect_gt(all, 5);
        for (uint64_t at = 1; at <= all; at++) {
            limited.made = 0;
            limited.fail_at = at;
            cr_expect_eq(replay_with(streams[i], desc, &n), HD_OUT_OF_MEMORY, "allocation %llu: %s",
                         (unsigned long long)at, n.first);
            cr_expect(limited.out == 0 && limited.wrong == 0);
        }
        hd_stream_free(streams[i]);
    }
}

/* Each call that may fail does: its name is in the sentence, and nothing is left. */
Test(replay, calls_that_fail, .timeout = 100)
{
    hdt_faults *f = &hdt_the_faults;
    hd_stream *streams[] = {small_stream(), window_stream()};
    for (int i = 0; i < 2; i++) {
        seen n;
        const hd_replay_desc desc = {.get_instance_proc = hdt_faults_proc};
        f->failure = VK_ERROR_OUT_OF_HOST_MEMORY;
        f->fail_at = 0;
        f->calls = 0;
        cr_expect_eq(replay_with(streams[i], desc, &n), HD_OK, "%s", n.first);
        cr_expect(f->live == 0 && f->wrong == 0);
        uint64_t all = f->calls;
        cr_expect_gt(all, 10);
        for (uint64_t at = 1; at <= all; at++) {
            f->calls = 0;
            f->fail_at = at;
            f->failed = NULL;
            hd_result result = replay_with(streams[i], desc, &n);
            cr_assert_not_null(f->failed);
            cr_expect_eq(result, HD_OUT_OF_MEMORY, "%s: %s", f->failed, n.first);
            cr_expect(strstr(n.first, f->failed), "'%s' does not name %s", n.first, f->failed);
            cr_expect(f->live == 0 && f->wrong == 0 && f->early == 0, "%s leaves something", f->failed);
        }
        hd_stream_free(streams[i]);
    }
}
