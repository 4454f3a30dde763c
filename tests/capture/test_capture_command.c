/* heddle capture as a user runs it. */
#include <criterion/criterion.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "folder.h"

TestSuite(capture_command, .init = hdt_enter_folder, .fini = hdt_leave_folder);

#define HEDDLE "'" HEDDLE_BINARY_DIR "/samples/heddle/heddle' capture "
#define COPY_STAGE "\"stages\": 4294967296"
#define ACCESS(resource, access)                                                                                       \
    "{\"resource\": " resource ", " COPY_STAGE ", \"access\": " access ", \"range\": [0, 64]}"
#define COMMAND(name, accesses)                                                                                        \
    "{\"kind\": \"access\", \"name\": \"" name "\", \"label\": \"pass\", \"list\": [" accesses "]}"
#define BARRIER                                                                                                        \
    "{\"kind\": \"barrier\", \"name\": \"barrier\", \"list\": [{\"src_stages\": 4294967296, \"src_access\": 4096, "    \
    "\"dst_stages\": 4294967296, \"dst_access\": 6144}]}"
/* The first fill is dead: the second one takes its place. The host reads what was copied. */
static const char stream[] =
    "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}, {\"kind\": 3}], \"semaphores\": [{}], \"resources\": ["
    "{\"bytes\": 64}, {\"bytes\": 64, \"flags\": 4}], \"submits\": [{\"name\": \"submit\", \"queue\": 0, \"commands\": "
    "[" COMMAND("dead_fill", ACCESS("0", "4096")) ", " BARRIER ", " COMMAND(
        "fill",
        ACCESS("0", "4096")) ", " BARRIER
                             ", " COMMAND(
                                 "copy",
                                 ACCESS("0", "2048") ", " ACCESS(
                                     "1",
                                     "4096")) ", "
                                              "{\"kind\": \"barrier\", \"name\": \"barrier\", \"list\": "
                                              "[{\"src_stages\": 4294967296, \"src_access\": 4096, "
                                              "\"dst_stages\": 16384, \"dst_access\": 8192}]}],"
                                              "\"signals\": [{\"semaphore\": 0, \"value\": 1, \"stages\": 65536}]}, "
                                              "{\"name\": \"host\", \"queue\": 1, \"waits\": ["
                                              "{\"semaphore\": 0, \"value\": 1, \"stages\": 65536}], \"commands\": "
                                              "[{\"kind\": \"access\", \"name\": \"reads\", \"list\": ["
                                              "{\"resource\": 1, \"stages\": 16384, \"access\": 8192, \"range\": [0, "
                                              "64]}]}]}]}";

static int run(const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof(command), HEDDLE "%s >out 2>err", arguments);
    int status = system(command);
    cr_assert(WIFEXITED(status), "%s: signal", arguments);
    return WEXITSTATUS(status);
}

static const char *contents(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    return text;
}

static void put_stream(void)
{
    FILE *file = fopen("in.json", "wb");
    cr_assert_not_null(file);
    fputs(stream, file);
    fclose(file);
}

Test(capture_command, dead_and_needs)
{
    put_stream();
    cr_assert_eq(run("in.json --dead"), 0);
    cr_expect_not_null(strstr(contents("out"), "0:0  dead_fill of 'pass', queue 0, frame 0\n"), "%s", contents("out"));
    cr_expect_not_null(strstr(contents("out"), "barrier: barrier 0 of all memory, queue 0, frame 0\n"), "%s",
                       contents("out"));
    cr_expect_not_null(strstr(contents("out"), "1 commands and 1 barriers are dead\n"), "%s", contents("out"));
    cr_assert_eq(run("in.json --needs last"), 0);
    cr_expect_null(strstr(contents("out"), "dead_fill"));
    cr_expect_not_null(strstr(contents("out"), "0:4  copy of 'pass'"));
    cr_expect_not_null(strstr(contents("out"), "0    submit: signals semaphore 0 value 1"));
    cr_assert_eq(run("in.json --needs 0:2"), 0);
    cr_expect_str_eq(contents("out"), "0:2  fill of 'pass', queue 0, frame 0\n");
}

Test(capture_command, the_smaller_stream_verifies)
{
    put_stream();
    cr_assert_eq(run("in.json --reduce last smaller.json"), 0);
    cr_expect_not_null(strstr(contents("err"), "smaller.json: 5 of 7 commands, 2 of 3 barriers, 0 of 0 objects"), "%s",
                       contents("err"));
    cr_expect_null(strstr(contents("smaller.json"), "dead_fill"));
    cr_expect_eq(system("'" HEDDLE_BINARY_DIR "/samples/heddle/heddle' verify --capture smaller.json >out 2>err"), 0,
                 "%s", contents("err"));
}

/* A stream with data: the display reads what 0:2 draws with set 4, which the host has changed; the host writes after.
 */
#define SEEN(name, resource, access, more)                                                                             \
    "{\"kind\": \"access\", \"name\": \"" name "\", " more "\"list\": [{\"resource\": " resource                       \
    ", \"stages\": 16384, "                                                                                            \
    "\"access\": " access ", \"flags\": 4, \"range\": [0, 64]}]}"
#define HOST(commands) "{\"name\": \"host\", \"queue\": 1, \"commands\": [" commands "]}"
static const char replayed[] = "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}, {\"kind\": 3}], "
                               "\"semaphores\": [], \"device\": 1, "
                               "\"objects\": [{\"name\": \"vkCreateDevice\", \"data\": \"\"}, {\"name\": "
                               "\"vkAllocateMemory\", \"refs\": [1], \"data\": "
                               "\"AAAA\"}, {\"name\": \"vkCreateSampler\", \"refs\": [1], \"data\": \"\"}, {\"name\": "
                               "\"vkAllocateDescriptorSets\", \"refs\": "
                               "[1], \"data\": \"\"}], \"resources\": [{\"bytes\": 64, \"object\": 2}, {\"bytes\": 64, "
                               "\"object\": 3}], \"submits\": [" HOST(SEEN(
                                   "host write", "0", "16384",
                                   "\"refs\": [2], \"data\": \"AAAA\", ") ", "
                                                                          "{\"kind\": \"access\", \"name\": "
                                                                          "\"vkUpdateDescriptorSets\", \"changes\": 4, "
                                                                          "\"refs\": [4], \"data\": \"\", \"list\": "
                                                                          "[]}") ", {\"name\": \"submit\", \"queue\": "
                                                                                 "0, \"thread\": 1, \"commands\": ["
                                                                                 "{\"kind\": \"access\", \"name\": "
                                                                                 "\"unused\", \"buffer\": 1, \"refs\": "
                                                                                 "[3], \"data\": \"\", \"sets\": 1, "
                                                                                 "\"list\": []}, "
                                                                                 "{\"kind\": \"access\", \"name\": "
                                                                                 "\"bind\", \"buffer\": 1, \"refs\": "
                                                                                 "[4], \"data\": \"AAAAAA==\", "
                                                                                 "\"sets\": 4, \"list\": []}, "
                                                                                 "{\"kind\": \"access\", \"name\": "
                                                                                 "\"draw\", \"buffer\": 1, \"data\": "
                                                                                 "\"\", \"uses\": 4, \"list\": "
                                                                                 "[" ACCESS(
                                                                                     "0",
                                                                                     "4096") "]}]}, "
                                                                                             "{\"name\": "
                                                                                             "\"vkQueuePresentKHR\", "
                                                                                             "\"queue\": 0, "
                                                                                             "\"commands\": [" SEEN(
                                                                                                 "vkQueuePresentKHR",
                                                                                                 "0", "32768",
                                                                                                 "") "]}, " HOST(SEEN("host write",
                                                                                                                      "1",
                                                                                                                      "16384",
                                                                                                                      "\"refs\": [2], \"data\": \"AAAA\", ")) "]}";

static void put_replayed(void)
{
    FILE *file = fopen("in.json", "wb");
    cr_assert_not_null(file);
    fputs(replayed, file);
    fclose(file);
}

Test(capture_command, what_the_last_present_needs)
{
    put_replayed();
    cr_assert_eq(run("in.json --needs last"), 0, "%s", contents("err"));
    cr_expect_str_eq(contents("out"),
                     "0:1  vkUpdateDescriptorSets, changes 4 vkAllocateDescriptorSets, queue 1, frame 0\n"
                     "1:1  bind, queue 0, frame 0\n1:2  draw, queue 0, frame 0\n"
                     "2:0  vkQueuePresentKHR, queue 0, frame 0\n");
    cr_assert_eq(run("in.json --reduce last out.json"), 0);
    cr_expect_not_null(strstr(contents("err"), "4 of 7 commands, 0 of 0 barriers, 3 of 4 objects"), "%s",
                       contents("err"));
    cr_expect_null(strstr(contents("out.json"), "vkCreateSampler"));
    cr_expect_not_null(strstr(contents("out.json"), "vkAllocateMemory")); /* of the buffer */
}

Test(capture_command, objects_are_named)
{
    put_replayed();
    cr_assert_eq(system("'" HEDDLE_BINARY_DIR "/samples/heddle/heddle' verify --capture in.json --list >out 2>err"), 0);
    cr_expect_not_null(strstr(contents("out"), "object 2 vkAllocateMemory, 3 bytes, names 1 vkCreateDevice\n"));
    cr_expect_not_null(strstr(contents("out"), "1 bind, 4 bytes, names 4 vkAllocateDescriptorSets\n"), "%s",
                       contents("out"));
    cr_expect_not_null(strstr(contents("out"), "HOST, seen\n"));
    cr_assert_eq(run("in.json --graph json"), 0);
    cr_expect_not_null(strstr(contents("out"), "\"bytes\": 4, \"objects\": [4]"), "%s", contents("out"));
    cr_expect_not_null(strstr(contents("out"), "\"kind\": \"object\""));
    cr_assert_eq(run("in.json --graph dot"), 0);
    cr_expect_not_null(strstr(contents("out"), "bind"));
}

Test(capture_command, graphs)
{
    put_stream();
    cr_assert_eq(run("in.json --graph dot"), 0);
    cr_expect_eq(strncmp(contents("out"), "digraph stream {", 16), 0);
    cr_expect_not_null(strstr(contents("out"), "label=\"dead_fill\\npass\\n0:0\""), "%s", contents("out"));
    cr_assert_eq(run("in.json --graph dot --needs last needed.dot"), 0);
    cr_expect_null(strstr(contents("needed.dot"), "dead_fill"));
    cr_assert_eq(run("in.json --graph json graph.json"), 0);
    json_error_t error;
    json_t *graph = json_load_file("graph.json", 0, &error);
    cr_assert_not_null(graph, "%s", error.text);
    json_t *nodes = json_object_get(graph, "nodes");
    cr_expect_eq(json_array_size(nodes), 9); /* 4 commands, 3 barriers, a signal and a wait */
    cr_expect(json_is_false(json_object_get(json_array_get(nodes, 0), "live")));
    cr_expect(json_is_true(json_object_get(json_array_get(nodes, 2), "live")));
    cr_expect_gt(json_array_size(json_object_get(graph, "edges")), 3);
    json_decref(graph);
}

/* heddle verify --capture draws what is broken. */
Test(capture_command, pictures_of_what_is_broken)
{
    put_stream();
    FILE *file = fopen("broken.json", "wb");
    cr_assert_not_null(file);
    const char *barrier = strstr(stream, BARRIER);
    fprintf(file, "%.*s", (int)(barrier - stream), stream);
    fputs(barrier + strlen(BARRIER ", "), file); /* the first barrier is gone */
    fclose(file);
    const char *verify =
        "'" HEDDLE_BINARY_DIR "/samples/heddle/heddle' verify --capture broken.json --html out.html --dot "
        "out.dot >out 2>err";
    cr_expect_eq(WEXITSTATUS(system(verify)), 3, "%s", contents("err"));
    cr_expect_not_null(strstr(contents("out.html"), "race on buffer 0"));
    cr_expect_not_null(strstr(contents("out.dot"), "nothing between"));
    cr_expect_eq(WEXITSTATUS(system("'" HEDDLE_BINARY_DIR "/samples/heddle/heddle' verify a.fgt b.json --dot x 2>err")),
                 1);
}

Test(capture_command, mistakes)
{
    put_stream();
    cr_expect_eq(run(""), 1);
    cr_expect_eq(run("in.json"), 1);
    cr_expect_eq(run("in.json --needs 0:2 --reduce last out.json"), 1);
    cr_expect_eq(run("in.json --reduce last"), 1);
    cr_expect_eq(run("in.json --reduce last in.json"), 1);
    cr_expect_str_eq(contents("in.json"), stream);
    cr_expect_eq(run("in.json --graph png"), 1);
    cr_expect_not_null(strstr(contents("err"), "'png' is no value for --graph"), "%s", contents("err"));
    cr_expect_eq(run("in.json --needs fill"), 1);
    cr_expect_eq(run("in.json --needs 7:0"), 2);
    cr_expect_not_null(strstr(contents("err"), "submit 7 has no command 0"), "%s", contents("err"));
    cr_expect_eq(run("none.json --dead"), 2);
    cr_expect_eq(run("in.json --reduce last /no/such/folder/out.json"), 2);
    cr_expect_eq(run("/no/such/folder/out.json -- true"), 2);
    cr_expect_str_eq(contents("err"), "heddle: /no/such/folder/out.json: No such file or directory\n");
    FILE *file = fopen("bad.json", "wb");
    fputs("{\"capture\": 1", file);
    fclose(file);
    cr_expect_eq(run("bad.json --dead"), 2);
    cr_expect_not_null(strstr(contents("err"), "bad.json"), "%s", contents("err"));
}
