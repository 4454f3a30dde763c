/* heddle replay as a user runs it. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "command_line.h"
#include "folder.h"
#include "hash.h"
#include "replay_stream.h"
#include "vk_fixture.h"

/* A driver's library is unloaded before the sanitizer looks for leaks, which it then cannot name: test_replay looks for
 * them. */
static void enter(void)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    hdt_enter_folder();
}

TestSuite(replay_command, .init = enter, .fini = hdt_leave_folder);

enum { SIDE = 8 };
static const hd_stream_sync none = {.semaphore = HD_NONE};

static int run(const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof(command), "'" HEDDLE_BINARY_DIR "/samples/heddle/heddle' replay %s >out 2>err", arguments);
    int status = system(command);
    cr_assert(WIFEXITED(status), "%s: signal", arguments);
    return WEXITSTATUS(status);
}

static void write_stream(const hd_stream *s, const char *path)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(hd_stream_write(s, file), HD_OK);
    fclose(file);
}

static void change_layout(hdt_maker *m, uint32_t image, uint32_t from, uint32_t to)
{
    hdt_maker_command(m, HD_STREAM_BARRIER, "vkCmdPipelineBarrier2");
    hd_stream_barrier *b = hdt_maker_barrier(m, image);
    b->old_layout = from;
    b->new_layout = to;
}

/* An image is cleared to red and copied, the host reads it. Skips the test where there is no device. */
static hd_stream *red_stream(void)
{
    static const VkQueueFlags families[] = {VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT};
    uint8_t red[SIDE * SIDE * 4];
    for (uint32_t i = 0; i < sizeof(red); i++)
        red[i] = i % 4 == 0 || i % 4 == 3 ? 255 : 0;
    hdt_maker m = hdt_maker_begin(families, 1);
    uint32_t host = hdt_maker_queue(&m, HD_QUEUE_HOST, HD_NONE), gfx = hdt_maker_queue(&m, HD_QUEUE_GFX, 0);
    uint32_t memory = hdt_maker_memory(&m, 4096), image = hdt_maker_image(&m, "red", SIDE, SIDE);
    uint32_t buffer = hdt_maker_buffer(&m, "texels", sizeof(red), memory, 0);
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {SIDE, SIDE, 1}};
    VkImage image_number = HDT_NUMBER(VkImage, m.s->resources[image].object);
    struct {
        VkCommandBuffer commands;
        VkImage image;
        VkImageLayout layout;
        VkBuffer buffer;
        uint32_t count;
        const VkBufferImageCopy *regions;
    } copy = {NULL, image_number, VK_IMAGE_LAYOUT_GENERAL, HDT_NUMBER(VkBuffer, m.s->resources[buffer].object),
              1,    &region};
    hdt_maker_submit(&m, gfx, none, none);
    change_layout(&m, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    hdt_maker_clear(&m, image, 1, VK_IMAGE_LAYOUT_GENERAL);
    change_layout(&m, image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
    hdt_maker_call(&m, "vkCmdCopyImageToBuffer", &copy);
    hdt_maker_access(&m, image, VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_READ_BIT)->layout =
        VK_IMAGE_LAYOUT_GENERAL;
    hdt_maker_access(&m, buffer, VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT);
    hdt_maker_submit(&m, host, none, none);
    hdt_maker_read(&m, memory, buffer, 0, sizeof(red), hdi_hash_bytes(red, sizeof(red), 0));
    hd_stream *s = hdt_maker_end(&m);
    hdt_vk_keep_libraries();
    hd_result result = hd_replay(s, NULL, NULL);
    if (result == HD_NO_LOADER || result == HD_NO_DEVICE)
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK);
    return s;
}

Test(replay_command, checks_and_pictures)
{
    hd_stream *s = red_stream();
    write_stream(s, "in.json");
    cr_expect_eq(run("in.json"), 0, "%s", hdt_contents("err"));
    cr_expect_str_eq(hdt_contents("out"), "in.json: replayed: 1 submits, 4 commands, 1 contents\n");
    cr_expect_eq(run("--check in.json --pictures folder"), 0, "%s", hdt_contents("err"));
    cr_expect_not_null(strstr(hdt_contents("out"), "1 contents, 0 different, 1 pictures\n"), "%s", hdt_contents("out"));
    cr_expect_eq(memcmp(hdt_contents("folder/000001-00.png"), "\x89PNG", 4), 0);
    s->bytes[s->datas[s->commands[s->command_count - 1].data].byte_begin + 16] ^= 1; /* the hash */
    write_stream(s, "in.json");
    cr_expect_eq(run("in.json"), 0);
    cr_expect_eq(run("--check in.json"), 3);
    cr_expect_eq(strncmp(hdt_contents("err"), "1:0  host read of buffer 1 'texels': 256 bytes have the hash ", 61), 0,
                 "%s", hdt_contents("err"));
    s->submit_count--;
    s->command_count--;
    write_stream(s, "in.json");
    cr_expect_eq(run("--check in.json"), 0);
    cr_expect_not_null(strstr(hdt_contents("out"), "there is nothing to compare"), "%s", hdt_contents("out"));
    hd_stream_free(s);
}

Test(replay_command, what_it_refuses)
{
    hd_stream *s = red_stream();
    write_stream(s, "in.json");
    cr_expect_eq(run(""), 1);
    cr_expect_eq(run("in.json in.json"), 1);
    cr_expect_eq(run("nowhere.json"), 2);
    cr_expect_eq(run("in.json --device 'no such name'"), 2);
    cr_expect_not_null(strstr(hdt_contents("err"), "its name is another one"), "%s", hdt_contents("err"));
    cr_expect_eq(run("in.json --pictures /proc/nowhere"), 2);
    cr_expect_eq(run("in.json --pictures in.json"), 2);
    cr_expect_str_eq(hdt_contents("err"), "heddle: in.json: Not a directory\n");
    cr_expect_str_empty(hdt_contents("out"));
    s->device = 0;
    write_stream(s, "in.json");
    cr_expect_eq(run("in.json"), 2);
    cr_expect_not_null(strstr(hdt_contents("err"), "captured without .replay"), "%s", hdt_contents("err"));
    cr_expect_str_empty(hdt_contents("out"));
    hd_stream_free(s);
}
