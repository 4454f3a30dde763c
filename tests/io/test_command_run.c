#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "folder.h"

/* heddle run as a user runs it, and what verify makes of its captures. */

TestSuite(command_run, .init = hdt_enter_folder, .fini = hdt_leave_folder);

Test(command_run, executes_and_checks)
{
    /* What a driver keeps cannot be named once its library is unloaded: the sanitizer's look at leaks is for programs
     * that call the library themselves. */
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    hdt_put("in.fgt", HDT_FRAME);
    cr_assert_eq(hdt_heddle("run none.fgt"), 2);
    cr_assert_eq(hdt_heddle("run in.fgt --device 1000"), 2);
    cr_assert_neq(hdt_contents("err")[0], 0);
    if (hdt_heddle("run in.fgt --frames 3 --check --workers 2") == 2)
        cr_skip_test("no device: %s", hdt_contents("err"));
    cr_assert_eq(hdt_contents("err")[0], 0, "%s", hdt_contents("err"));
    cr_assert_not_null(strstr(hdt_contents("out"), "\nchecks=4\nunchecked=0\nwrong=0\n"), "%s", hdt_contents("out"));
    cr_assert_not_null(strstr(hdt_contents("out"), "\npass 1 queue=0 us="), "%s", hdt_contents("out"));
    hdt_put("in.fgt", "graph g\nbuffer 0 3\npass 0 transfer\nuse 0 0 transfer_dst\npass 1 transfer root\n"
                      "use 1 0 transfer_src\n"); /* no whole word */
    cr_assert_eq(hdt_heddle("run in.fgt --frames 3 --check"), 0, "%s", hdt_contents("err"));
    cr_assert_not_null(strstr(hdt_contents("out"), "\nchecks=0\nunchecked=3\nwrong=0\n"), "%s", hdt_contents("out"));
    hdt_put("in.fgt", "graph g\nimage 0 64 64 d32f 1 1\npass 0 compute root\nuse 0 0 storage_write_compute\n");
    cr_assert_eq(hdt_heddle("run in.fgt"), 2);
    cr_assert_not_null(strstr(hdt_contents("err"), "resource 0"), "%s", hdt_contents("err"));
    hdt_put("in.fgt", "graph g\nimage 0 64 64 r8 1 1\npass 0 host root\nuse 0 0 host_write\n");
    cr_assert_eq(hdt_heddle("run in.fgt"), 2);
    cr_assert_not_null(strstr(hdt_contents("err"), "host pass"), "%s", hdt_contents("err"));
}

/* A frame as it was given to Vulkan: kept, verified, listed; and with one barrier's stages changed. */
Test(command_run, captures_what_verify_reads, .timeout = 60)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    hdt_put("in.fgt", HDT_FRAME);
    cr_assert_eq(hdt_heddle("verify --list"), 1);
    cr_assert_eq(hdt_heddle("verify --capture none.json"), 2);
    hdt_put("c.json", "{\"capture\": 1}");
    cr_assert_eq(hdt_heddle("verify --capture c.json"), 2);
    cr_assert_not_null(strstr(hdt_contents("err"), "c.json: capture: 'queues' is missing"), "%s", hdt_contents("err"));
    if (hdt_heddle("run in.fgt --frames 3 --capture c.json") == 2)
        cr_skip_test("no device: %s", hdt_contents("err"));
    cr_assert_eq(hdt_heddle("verify --capture c.json --list"), 0, "%s", hdt_contents("err"));
    cr_assert_not_null(strstr(hdt_contents("out"), "c.json: verified: "), "%s", hdt_contents("out"));
    cr_assert_not_null(strstr(hdt_contents("out"), "vkCmdBeginRendering"), "%s", hdt_contents("out"));
    cr_assert_not_null(strstr(hdt_contents("out"), "COLOR_ATTACHMENT_WRITE in COLOR_ATTACHMENT_OUTPUT"));
    cr_assert_eq(system("sed -i 's/\"src_stages\": 1024,/\"src_stages\": 0,/' c.json"), 0);
    cr_assert_eq(hdt_heddle("verify --capture c.json"), 3, "%s", hdt_contents("out"));
    cr_assert_not_null(strstr(hdt_contents("err"), "c.json: race on image"), "%s", hdt_contents("err"));
    cr_assert_not_null(strstr(hdt_contents("err"), "vkCmdPipelineBarrier2"), "%s", hdt_contents("err"));
}

/* What fills an external shows it to the host, if the frames' host passes read it. */
Test(command_run, shows_externals_to_the_host, .timeout = 60)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    hdt_put("in.fgt", "graph g\nimage 0 8 8 rgba8 1 1 external\nbuffer 1 4096 external\nbuffer 2 4096\n"
                      "pass 0 host root\nuse 0 1 host_read\nuse 0 2 host_write\n"
                      "pass 1 transfer\nuse 1 2 transfer_src\nuse 1 1 transfer_dst\n");
    if (hdt_heddle("run in.fgt --frames 3 --check --capture c.json") == 2)
        cr_skip_test("no device: %s", hdt_contents("err"));
    cr_assert_eq(hdt_heddle("verify --capture c.json"), 0, "%s", hdt_contents("err"));
}

/* A frame draws while the next one writes the memory that it samples: Mesa's CPU driver of before version 25 drops the
 * barrier between them, and gets it right as samples/lavapipe.h sets it. */
Test(command_run, is_right_where_frames_share_memory, .timeout = 60)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    hdt_put("in.fgt",
            "graph g\nbuffer 0 16777216\nimage 1 2048 2048 rgba8 1 1\n"
            "pass 0 compute\nuse 0 0 storage_write_compute\npass 1 compute root\nuse 1 0 storage_read_compute\n"
            "pass 2 gfx\nuse 2 1 color_write\npass 3 gfx root\nuse 3 1 sampled_graphics\n");
    for (int times = 0; times < 3; times++) {
        int status = hdt_heddle("run in.fgt --frames 12 --check --queues gfx");
        if (status == 2)
            cr_skip_test("no device: %s", hdt_contents("err"));
        cr_assert_eq(status, 0, "%s", hdt_contents("err"));
    }
}
