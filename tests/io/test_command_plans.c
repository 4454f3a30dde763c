#include <criterion/criterion.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "folder.h"

/* What the heddle command says of plans: of all workload families, side by side, as a page, in words. */

TestSuite(command_plans, .init = hdt_enter_folder, .fini = hdt_leave_folder);

/* What FORMATS keeps, in a few lines of Python that share nothing with heddle. */
static const char model[] =
    "import json, sys\n"
    "mips, kind, live, uses, passes, roots = {}, {}, set(), {}, 0, set()\n"
    "cuts, ends, lines = {}, {}, [l.split() for l in open(sys.argv[1])]\n"
    "for f in lines:\n"
    "    if f[0] == 'image': kind[f[1]] = (int(f[5]), int(f[6]))\n"
    "    if f[0] == 'buffer': kind[f[1]] = int(f[2]); cuts[f[1]] = {0, int(f[2])}\n"
    "    if f[0] == 'history': kind[f[1]] = kind[f[2]]; cuts[f[1]] = cuts.get(f[2], set())\n"
    "    if f[0] == 'use' and len(f) == 6:\n"
    "        o = int(f[4][1:]); cuts[f[2]] |= {o, o + int(f[5])}\n"
    "def cells(f):\n"
    "    r, k = f[2], kind[f[2]]\n"
    "    if isinstance(k, int):\n"
    "        o, n = (int(f[4][1:]), int(f[5])) if len(f) == 6 else (0, k)\n"
    "        return {(r, c) for c in cuts[r] if o <= c < o + n}\n"
    "    a, b, c, d = map(int, f[4:8]) if len(f) == 8 else (0, k[0], 0, k[1])\n"
    "    return {(r, m, l) for m in range(a, a + b) for l in range(c, c + d)}\n"
    "for f in lines:\n"
    "    if f[-1] == 'external' and f[0] in ('image', 'buffer'): live |= cells([0, 0, f[1]])\n"
    "    if f[0] == 'history': live |= cells([0, 0, f[2]])\n"
    "    if f[0] == 'pass': passes += 1; uses[f[1]] = []; roots |= {f[1]} if 'root' in f else set()\n"
    "    if f[0] == 'use': uses[f[1]].append((f[3], cells(f)))\n"
    "writes = lambda a: a.endswith(('_write', '_rw', '_dst')) or '_write_' in a or '_rw_' in a\n"
    "both = lambda a: a.endswith('_rw') or '_rw_' in a\n"
    "culled = []\n"
    "for p in reversed(range(passes)):\n"
    "    u = uses[str(p)]\n"
    "    if str(p) not in roots and not any(writes(a) and c & live for a, c in u): culled.append(p); continue\n"
    "    for a, c in u:\n"
    "        if writes(a) and not both(a): live -= c\n"
    "    for a, c in u:\n"
    "        if not writes(a) or both(a): live |= c\n"
    "sys.exit(any(json.load(open(plan))['culled'] != culled[::-1] for plan in sys.argv[2:]))\n";

static void check_workload(const char *family, int passes, bool all)
{
    static const char *const queues[] = {"gfx", "gfx,compute", "gfx,compute,transfer"};
    static const char *const orders[] = {"overlap", "memory", "declared"};
    char command[512];
    snprintf(command, sizeof(command), "python3 '" HEDDLE_SOURCE_DIR "/../shared/workloads/gen.py' %s %d 1 > in.fgt",
             family, passes);
    cr_assert_eq(system(command), 0);
    for (int q = 0; q < 3; q++) {
        for (int o = 0; o < 3; o++) {
            if (!all && o != q)
                continue;
            snprintf(command, sizeof(command), "compile in.fgt --queues %s --order %s --plan %d%d.json --stats",
                     queues[q], orders[o], q, o);
            cr_assert_eq(hdt_heddle(command), 0, "%s %d: %s: %s", family, passes, command, hdt_contents("err"));
            if (strcmp(family, "layered") == 0 && passes == 1000)
                cr_assert_not_null(strstr(hdt_contents("out"), "kept=749\n"));
            snprintf(command, sizeof(command), "verify in.fgt %d%d.json", q, o);
            cr_assert_eq(hdt_heddle(command), 0, "%s %d: %s: %s", family, passes, command, hdt_contents("err"));
        }
    }
    hdt_put("model.py", model);
    cr_assert_eq(system("python3 model.py in.fgt ??.json && rm ??.json"), 0, "%s %d: the kept set is another", family,
                 passes);
}

Test(command_plans, workloads_compile_and_verify, .timeout = 200)
{
    static const char *const families[] = {"deferred", "layered", "chain", "fanout", "async", "temporal"};
    if (!hdt_exists(HEDDLE_SOURCE_DIR "/../shared/workloads/gen.py")) {
        cr_skip_test("no workload generator beside the source");
        return;
    }
    for (int f = 0; f < 6; f++) {
        check_workload(families[f], 50, true);
        check_workload(families[f], 200, true);
        check_workload(families[f], 1000, false);
    }
}

/* Figures of both and what lies between; plans may come from files. */
Test(command_plans, diff_compares_two_plans)
{
    hdt_put("in.fgt", HDT_FRAME);
    hdt_put("other.fgt", HDT_FRAME "buffer 2 4096 external\npass 2 compute\nuse 2 2 storage_write_compute\n");
    cr_assert_eq(hdt_heddle("diff in.fgt other.fgt --html page.html"), 0, "%s", hdt_contents("err"));
    cr_assert_not_null(strstr(hdt_contents("out"), "passes=2 3 +1\n"), "%s", hdt_contents("out"));
    cr_assert_eq(system("grep -q '\"before\":{\"name\":' page.html"), 0);
    cr_assert_eq(hdt_heddle("diff in.fgt in.fgt"), 0);
    cr_assert_not_null(strstr(hdt_contents("out"), "barrier_batches=2 2 +0\n"), "%s", hdt_contents("out"));
    cr_assert_eq(hdt_heddle("compile in.fgt --plan p.json"), 0);
    cr_assert_eq(hdt_heddle("diff in.fgt in.fgt --before-plan p.json --plan p.json"), 0, "%s", hdt_contents("err"));
    cr_assert_eq(hdt_heddle("diff in.fgt other.fgt --plan in.fgt"), 2);
    cr_assert_neq(hdt_contents("err")[0], 0);
    cr_assert_eq(hdt_heddle("diff none.fgt in.fgt"), 2);
    cr_assert_eq(hdt_heddle("diff in.fgt none.fgt --html never.html"), 2);
    cr_assert_not(hdt_exists("never.html"));
}

/* The browser gets a page that stays; without one the page's name is said. */
Test(command_plans, view_opens_a_page)
{
    hdt_put("in.fgt", HDT_FRAME);
    hdt_put("browser", "#!/bin/sh\ncp \"$1\" seen.html\n");
    cr_assert_eq(system("chmod +x browser"), 0);
    cr_assert_eq(setenv("TMPDIR", ".", 1), 0);
    cr_assert_eq(setenv("BROWSER", "./browser:other", 1), 0);
    cr_assert_eq(hdt_heddle("view in.fgt --order memory"), 0, "%s", hdt_contents("err"));
    cr_assert_eq(system("grep -q '</html>' seen.html"), 0);
    cr_assert_eq(strncmp(hdt_contents("out"), "./heddle-", 9), 0, "%s", hdt_contents("out"));
    cr_assert_eq(setenv("BROWSER", "./no-such-browser", 1), 0);
    cr_assert_eq(hdt_heddle("view in.fgt"), 2);
    cr_assert_not_null(strstr(hdt_contents("err"), "open ./heddle-"), "%s", hdt_contents("err"));
}

/* A chain with its links and reasons, one between queues, none, and a pass that is culled. */
Test(command_plans, explain_says_what_orders_two_passes)
{
    hdt_put("in.fgt", HDT_FRAME);
    cr_assert_eq(hdt_heddle("explain in.fgt 1 0"), 0, "%s", hdt_contents("err"));
    cr_assert_not_null(strstr(hdt_contents("out"), "pass 0 comes before pass 1\n"), "%s", hdt_contents("out"));
    cr_assert_not_null(
        strstr(hdt_contents("out"), "image 0: color_write of pass 0, then sampled_graphics of pass 1\n"));
    cr_assert_not_null(strstr(hdt_contents("out"), "COLOR_ATTACHMENT_OUTPUT [COLOR_ATTACHMENT_WRITE] -> "));
    cr_assert_not_null(strstr(hdt_contents("out"), "read after write, for pass 1"), "%s", hdt_contents("out"));
    cr_assert_eq(hdt_heddle("explain in.fgt 0 2"), 2);
    cr_assert_not_null(strstr(hdt_contents("err"), "there is no pass 2"));
    cr_assert_eq(hdt_heddle("explain none.fgt 0 1"), 2);
    hdt_put("in.fgt", "graph g\nbuffer 0 256\nbuffer 1 256 external\nbuffer 2 256 external\nbuffer 3 256\n"
                      "pass 0 transfer on=transfer\nuse 0 0 transfer_dst\npass 1 compute on=compute\n"
                      "use 1 0 storage_read_compute\nuse 1 1 storage_write_compute\npass 2 gfx\nuse 2 2 uniform_read\n"
                      "pass 3 compute\nuse 3 3 storage_write_compute\npass 4 gfx root\nuse 4 2 uniform_read\n");
    cr_assert_eq(hdt_heddle("explain in.fgt 0 1"), 0, "%s", hdt_contents("err"));
    cr_assert_not_null(strstr(hdt_contents("out"), "  signal (queue "), "%s", hdt_contents("out"));
    cr_assert_not_null(strstr(hdt_contents("out"), "  wait (queue "));
    cr_assert_eq(hdt_heddle("explain in.fgt 1 4"), 0);
    cr_assert_not_null(strstr(hdt_contents("out"), "are not ordered: nothing that they touch conflicts"), "%s",
                       hdt_contents("out"));
    cr_assert_eq(hdt_heddle("explain in.fgt 1 3"), 0);
    cr_assert_not_null(strstr(hdt_contents("out"), "pass 3 is culled"), "%s", hdt_contents("out"));
}

#define NAMED                                                                                                          \
    "graph named\nimage 0 1024 1024 d32f 1 1 name=\"shadow map\"\nimage 1 256 256 rgba16f 1 1 name=light\n"            \
    "image 2 256 256 rgba16f 1 1 name=bloom\nimage 3 256 256 bgra8 1 1 external name=window initial=UNDEFINED "        \
    "final=PRESENT_SRC_KHR\nbuffer 4 65536 name=lights\n"                                                              \
    "pass 0 gfx name=shadow\nuse 0 0 depth_write clear=1,0,0,0\n"                                                      \
    "pass 1 compute name=cull on=compute\nuse 1 4 storage_write_compute\n"                                             \
    "pass 2 gfx name=light\nuse 2 0 sampled_graphics\nuse 2 4 uniform_read\nuse 2 1 color_write\n"                     \
    "pass 3 gfx name=bloom\nuse 3 1 sampled_graphics\nuse 3 2 color_write\n"                                           \
    "pass 4 gfx name=tonemap\nuse 4 2 sampled_graphics\nuse 4 3 color_write\n"                                         \
    "pass 5 compute name=light\nuse 5 4 storage_read_compute\n"

static uint32_t count_of(const char *text, const char *word)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        count++;
    return count;
}

/* A command a line, by queue, in Vulkan's words. */
Test(command_plans, list_is_the_plan_in_words)
{
    static const char *const lines[] = {
        "heap 0: ",
        "image 0 'shadow map', 1024x1024 D32_SFLOAT, heap 0 at 0, 4194304 bytes\n",
        "image 3 'window', 256x256 B8G8R8A8_UNORM, external, left in PRESENT_SRC_KHR\n",
        ", takes over bytes of image 0 'shadow map'\n",
        "culled pass 5 'light'; ",
        "queue 0 gfx, family 0\n",
        "queue 1 compute, family 2\n",
        "    begin rendering of 1 pass: image 0 'shadow map' CLEAR, STORE\n    pass 0 'shadow'\n    end rendering\n",
        "barrier EARLY_FRAGMENT_TESTS|LATE_FRAGMENT_TESTS [DEPTH_STENCIL_ATTACHMENT_WRITE] -> "
        "VERTEX_SHADER|FRAGMENT_SHADER [SHADER_SAMPLED_READ], image 0 'shadow map', layout "
        "DEPTH_STENCIL_ATTACHMENT_OPTIMAL -> SHADER_READ_ONLY_OPTIMAL; read after write, for pass 2 'light', behind "
        "pass 0 'shadow'\n",
        " discard ",
        "    pass 1 'cull'\n",
        "    signal value 1, of ALL_COMMANDS\n",
        "    wait for value 1 of queue 1 compute, in VERTEX_SHADER|FRAGMENT_SHADER; read after write, ",
    };
    hdt_put("in.fgt", NAMED);
    cr_assert_eq(hdt_heddle("compile in.fgt --list --plan p.json --order memory"), 0, "%s", hdt_contents("err"));
    const char *list = hdt_contents("out");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        cr_expect_not_null(strstr(list, lines[i]), "no '%s' in:\n%s", lines[i], list);
    cr_expect_eq(count_of(list, "\n    pass "), 5);
    uint32_t barriers = count_of(list, "    barrier ") + count_of(list, "  with ");
    cr_assert_eq(hdt_heddle("verify in.fgt p.json --list"), 0, "%s", hdt_contents("err"));
    cr_expect_not_null(strstr(hdt_contents("out"), "    pass 1 'cull'\n"));
    cr_expect_eq(count_of(hdt_contents("p.json"), "\"dst_stages\""), barriers);
}

/* Names do for passes where there is one of the name; the plan may be another one than compiling gives. */
Test(command_plans, explain_takes_names_and_plans)
{
    hdt_put("in.fgt", NAMED);
    cr_assert_eq(hdt_heddle("compile in.fgt --plan p.json --queues gfx"), 0, "%s", hdt_contents("err"));
    cr_assert_eq(hdt_heddle("explain in.fgt cull tonemap"), 0, "%s", hdt_contents("err"));
    cr_expect_not_null(strstr(hdt_contents("out"), "pass 1 'cull' comes before pass 4 'tonemap'"));
    cr_assert_eq(hdt_heddle("explain in.fgt cull 2"), 0, "%s", hdt_contents("err"));
    cr_expect_not_null(strstr(hdt_contents("out"), "  wait (queue 0 gfx, submit "), "%s", hdt_contents("out"));
    cr_expect_not_null(strstr(hdt_contents("out"), "buffer 4 'lights': storage_write_compute of pass 1 'cull', then "));
    cr_assert_eq(hdt_heddle("explain in.fgt cull 2 --plan p.json"), 0, "%s", hdt_contents("err"));
    cr_expect_null(strstr(hdt_contents("out"), "  wait (queue"), "%s", hdt_contents("out"));
    cr_expect_not_null(strstr(hdt_contents("out"), "for pass 2 'light', behind pass 1 'cull'"));
    cr_expect_eq(hdt_heddle("explain in.fgt cull light"), 2);
    cr_expect_not_null(strstr(hdt_contents("err"), "passes 2 and 5 are both 'light'"), "%s", hdt_contents("err"));
    cr_expect_eq(hdt_heddle("explain in.fgt cull culls"), 2);
    cr_expect_not_null(strstr(hdt_contents("err"), "there is no pass 'culls'"), "%s", hdt_contents("err"));
    cr_expect_eq(hdt_heddle("explain in.fgt cull 1"), 2);
    cr_expect_not_null(strstr(hdt_contents("err"), "the two are one pass"), "%s", hdt_contents("err"));
    cr_expect_eq(hdt_heddle("explain in.fgt 0 1 --plan none.json"), 2);
}

/* A frame's text says what it is compiled with; the command line may say otherwise. */
Test(command_plans, queues_options_and_needs_are_those_of_the_text)
{
    hdt_put("in.fgt", HDT_FRAME "queue gfx 7\noption order=memory\nneed 0 70000 16 3\n");
    cr_assert_eq(hdt_heddle("compile in.fgt --stats --verify --plan p.json"), 0, "%s", hdt_contents("err"));
    cr_expect_not_null(strstr(hdt_contents("out"), "queues=1\n"), "%s", hdt_contents("out"));
    cr_expect_not_null(strstr(hdt_contents("out"), "heap_bytes=70000\n"), "%s", hdt_contents("out"));
    cr_expect_not_null(strstr(hdt_contents("p.json"), "\"family\": 7"));
    cr_expect_not_null(strstr(hdt_contents("p.json"), "\"memory\": 3"));
    cr_expect_eq(hdt_heddle("verify in.fgt p.json"), 0, "%s", hdt_contents("err"));
    cr_assert_eq(hdt_heddle("compile in.fgt --stats --queues gfx,compute"), 0, "%s", hdt_contents("err"));
    cr_expect_not_null(strstr(hdt_contents("out"), "queues=2\n"), "%s", hdt_contents("out"));
    hdt_put("in.fgt", HDT_FRAME "option memory_budget=65535\n");
    cr_expect_eq(hdt_heddle("compile in.fgt"), 2);
    cr_expect_eq(hdt_heddle("compile in.fgt --memory-budget 65536"), 0, "%s", hdt_contents("err"));
    /* Without the needs of the text, the plan breaks what the format says of sizes. */
    hdt_put("in.fgt", HDT_FRAME "need 0 1024 16 3\n");
    cr_assert_eq(hdt_heddle("compile in.fgt --plan p.json"), 0);
    cr_expect_eq(hdt_heddle("verify in.fgt p.json"), 0, "%s", hdt_contents("err"));
    hdt_put("in.fgt", HDT_FRAME);
    cr_expect_eq(hdt_heddle("verify in.fgt p.json"), 3);
    cr_expect_not_null(strstr(hdt_contents("err"), "placement"), "%s", hdt_contents("err"));
}

/* What a device's frame leaves behind is what the tools take: with its sizes, queues and options, the plan verifies,
 * and compiling the text gives that plan again. */
Test(command_plans, frames_of_a_device, .timeout = 120)
{
    static const char *const scenes[] = {"deferred", "particles"};
    char command[512];
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof(command),
                 "LP_NUM_THREADS=0 '" HEDDLE_BINARY_DIR "/samples/%s/%s' --frames 2 --size 64x64 --out here >out 2>err",
                 scenes[i], scenes[i]);
        if (system(command) != 0) {
            printf("%s: not built, or no device\n", scenes[i]);
            continue;
        }
        cr_expect_eq(system("grep -q '^need ' here/frame.fgt && grep -q '^queue ' here/frame.fgt"), 0);
        cr_expect_eq(hdt_heddle("verify here/frame.fgt here/plan.json"), 0, "%s", hdt_contents("err"));
        cr_expect_eq(hdt_heddle("compile here/frame.fgt --plan again.json --html page.html --verify"), 0, "%s",
                     hdt_contents("err"));
        cr_expect_eq(system("cmp here/plan.json again.json"), 0, "%s: another plan", scenes[i]);
        cr_expect_eq(hdt_heddle("explain here/frame.fgt 0 1 --plan here/plan.json"), 0, "%s", hdt_contents("err"));
        cr_expect_eq(hdt_heddle("verify here/frame.fgt here/plan.json --list"), 0, "%s", hdt_contents("err"));
        cr_expect_eq(system("grep -q \"^    pass [0-9]* '\" out"), 0);
    }
}

/* A token has no memory. */
Test(command_plans, tokens_are_called_so)
{
    hdt_put("in.fgt", "graph g\nbuffer 0 0 name=done\npass 0 host root\nuse 0 0 host_write\n"
                      "pass 1 host root\nuse 1 0 host_read\n");
    cr_assert_eq(hdt_heddle("compile in.fgt --list --plan p.json --verify"), 0, "%s", hdt_contents("err"));
    cr_expect_not_null(strstr(hdt_contents("out"), "token 0 'done'\n"), "%s", hdt_contents("out"));
    cr_assert_eq(hdt_heddle("verify in.fgt p.json"), 0, "%s", hdt_contents("err"));
}
