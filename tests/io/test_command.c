#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command_line.h"
#include "folder.h"

/* The heddle command as a user runs it: exit statuses, errors, files, and plans of all workload families. */

TestSuite(command, .init = hdt_enter_folder, .fini = hdt_leave_folder);

Test(command, wrong_command_lines_exit_with_1)
{
    static const char *const lines[] = {
        "",
        "frobnicate",
        "compile",
        "compile a b",
        "compile --fast in.fgt",
        "compile in.fgt --queues",
        "compile in.fgt --queues gfx,video",
        "compile in.fgt --queues ''",
        "compile in.fgt --order fastest",
        "compile in.fgt --repeat 0",
        "compile in.fgt --threads x",
        "compile in.fgt --threads 257", /* HD_MAX_WORKERS is 256 */
        "compile in.fgt --memory-budget -5",
        "compile in.fgt --packing-effort -1",
        "verify in.fgt",
        "verify in.fgt a b",
        "verify --fast in.fgt a",
        "run",
        "run in.fgt a",
        "run in.fgt --frames 0",
        "run in.fgt --workers 0",
        "run in.fgt --workers 1000",
        "run in.fgt --scale x",
        "run in.fgt --device -1",
        "run in.fgt --queues host",
        "explain in.fgt 0",
        "explain in.fgt 0 0",
        "explain in.fgt 0 1 2",
        "explain in.fgt 0 1 --queues video",
        "diff in.fgt",
        "diff in.fgt in.fgt in.fgt",
        "diff in.fgt in.fgt --order sideways",
        "diff in.fgt in.fgt --html in.fgt",
        "view",
        "view in.fgt in.fgt",
        "view in.fgt --html page",
    };
    hdt_put("in.fgt", HDT_FRAME);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        cr_assert_eq(hdt_heddle(lines[i]), 1, "heddle %s", lines[i]);
        cr_assert_neq(hdt_contents("err")[0], 0, "heddle %s", lines[i]);
        hdt_expect_no_output();
    }
    cr_assert_eq(hdt_heddle("compile in.fgt -xyz"), 1);
    cr_assert_not_null(strstr(hdt_contents("err"), "option '-xyz'"), "%s", hdt_contents("err"));
    cr_assert_eq(hdt_heddle("compile in.fgt --queues gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx"),
                 1);
    cr_assert_not_null(strstr(hdt_contents("err"), "at most 15 queues"), "%s", hdt_contents("err"));
    cr_assert_eq(hdt_heddle("compile in.fgt --verify=3"), 1);
    cr_assert_not_null(strstr(hdt_contents("err"), "option '--verify=3'"), "%s", hdt_contents("err"));
}

Test(command, bad_input_exits_with_2_and_leaves_nothing)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"graph g\nimage 0 64\n", "in.fgt:2: "},
        {"graph g\nthing\n", "in.fgt:2: "},
        {"graph g\nbuffer 0 99999999999999999999\n", "in.fgt:2: "},
        {"graph g\nbuffer 1 4\n", "in.fgt:2: "},
        {"graph g\nbuffer 0 4\npass 0 transfer\nuse 0 0 transfer_dst @4 1\n", "in.fgt:4: "},
        {"graph g\nbuffer 0 4\npass 0 transfer\nuse 0 0 vertex_read\n", "in.fgt:4: "},
        {"graph g\nbuffer 0 4\npass 0 transfer\nuse 0 0 transfer_dst\nuse 0 0 transfer_src\n", "in.fgt:5: "},
        {"graph g\nbuffer 0 4\nhistory 1 0\npass 0 transfer\nuse 0 1 transfer_dst\n", "in.fgt:5: "},
        {"graph g\nbuffer 0 4\nhistory 1 0\nhistory 2 1\n", "in.fgt:4: "},
        {"graph g\nbuffer 0 4\nhistory 1 0\nhistory 2 0\n", "in.fgt:4: "},
        {"graph g\nbuffer 0 4\npass 0 gfx on=compute\nuse 0 0 storage_write_compute\n", "in.fgt:3: "},
        {"graph g\nbuffer 0 4\npass 0 transfer\nuse 0 0 transfer_src\n", "in.fgt:4: "},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hdt_put("in.fgt", bad[i].text);
        cr_assert_eq(hdt_heddle("compile in.fgt --plan p.json --dot p.dot --html p.html --stats"), 2, "%zu", i);
        const char *error = hdt_contents("err");
        cr_assert_eq(strncmp(error, bad[i].says, strlen(bad[i].says)), 0, "'%s' is not at %s", error, bad[i].says);
        cr_assert_eq(strchr(error, '\n'), error + strlen(error) - 1, "one line: %s", error);
        cr_assert_eq(hdt_contents("out")[0], 0);
        hdt_expect_no_output();
    }
}

Test(command, errors_of_long_paths_keep_their_line)
{
    char command[2048], path[700] = "";
    for (int i = 0; i < 3; i++)
        snprintf(path + strlen(path), sizeof(path) - strlen(path), "%0200d/", i);
    snprintf(command, sizeof(command), "mkdir -p %s", path);
    cr_assert_eq(system(command), 0);
    strcat(path, "in.fgt");
    hdt_put(path, "graph g\nthing\n");
    snprintf(command, sizeof(command), "compile %s", path);
    cr_assert_eq(hdt_heddle(command), 2);
    cr_assert_not_null(strstr(hdt_contents("err"), "in.fgt:2: unknown word 'thing'"), "%s", hdt_contents("err"));
    hdt_put(path, "graph g\nbuffer 0 4\npass 0 transfer root\nuse 0 0 transfer_src\n");
    cr_assert_eq(hdt_heddle(command), 2);
    cr_assert_not_null(strstr(hdt_contents("err"), "in.fgt:4: pass 0"), "%s", hdt_contents("err"));
}

Test(command, io_failures_exit_with_2)
{
    cr_assert_eq(hdt_heddle("compile none.fgt"), 2);
    cr_assert_not_null(strstr(hdt_contents("err"), "none.fgt"));
    cr_assert_eq(hdt_heddle("compile ."), 2);
    hdt_put("in.fgt", HDT_FRAME);
    cr_assert_eq(hdt_heddle("compile in.fgt --plan p.json --dot none/p.dot"), 2);
    cr_assert_not_null(strstr(hdt_contents("err"), "none/p.dot"));
    hdt_expect_no_output();
    cr_assert_eq(hdt_heddle("verify in.fgt none.json"), 2);
    hdt_put("bad.json", "{\"plan\": 1, \"queues\": 7}");
    cr_assert_eq(hdt_heddle("verify in.fgt bad.json"), 2);
    cr_assert_not_null(strstr(hdt_contents("err"), "bad.json: "));
    hdt_put("bad.json", "{\"plan\": ");
    cr_assert_eq(hdt_heddle("verify in.fgt bad.json"), 2);
    cr_assert_eq(hdt_heddle("compile in.fgt --queues compute"), 2);
    cr_assert_eq(strncmp(hdt_contents("err"), "in.fgt:4: ", 10), 0, "%s", hdt_contents("err"));
    cr_assert_eq(hdt_heddle("compile in.fgt --memory-budget 100"), 2);
    cr_assert_not_null(strstr(hdt_contents("err"), "65536"));
    hdt_expect_no_output();
}

/* Two views blended into one image: no barrier between them in a plan whose passes may share scopes. */
Test(command, merged_rendering)
{
    hdt_put("in.fgt", "graph g\nimage 0 64 64 rgba8 1 1 external\nimage 1 64 64 rgba8 1 1\nimage 2 64 64 rgba8 1 1\n"
                      "pass 0 gfx\nuse 0 1 color_write\npass 1 gfx\nuse 1 2 color_write\n"
                      "pass 2 gfx\nuse 2 1 sampled_graphics\nuse 2 0 color_rw\n"
                      "pass 3 gfx\nuse 3 2 sampled_graphics\nuse 3 0 color_rw\n");
    cr_assert_eq(hdt_heddle("compile in.fgt --queues gfx --stats"), 0);
    cr_expect_not_null(strstr(hdt_contents("out"), "barrier_batches=3\n"), "%s", hdt_contents("out"));
    cr_assert_eq(hdt_heddle("compile in.fgt --queues gfx --stats --merge-rendering --plan p.json"), 0);
    cr_expect_not_null(strstr(hdt_contents("out"), "barrier_batches=2\n"), "%s", hdt_contents("out"));
    cr_assert_eq(hdt_heddle("verify in.fgt p.json"), 0, "%s", hdt_contents("err"));
}

/* What cannot be written to standard output is an I/O failure in each command; /dev/full takes nothing. */
Test(command, standard_output_that_fails_exits_with_2)
{
    static const char *const lines[] = {
        "--help",
        "--version",
        "compile in.fgt --stats",
        "compile in.fgt --plan -",
        "explain in.fgt 0 1",
        "diff in.fgt in.fgt",
        "diff in.fgt in.fgt --html -",
        "verify in.fgt p.json",
    };
    hdt_put("in.fgt", HDT_FRAME);
    cr_assert_eq(hdt_heddle("compile in.fgt --plan p.json"), 0);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char command[256];
        snprintf(command, sizeof(command), HDT_HEDDLE "%s >/dev/full 2>err", lines[i]);
        int status = system(command);
        cr_expect_eq(WEXITSTATUS(status), 2, "%s", lines[i]);
        cr_expect_neq(hdt_contents("err")[0], 0, "%s", lines[i]);
        /* Closed, its number must not go to a file that is made: the command would write there. */
        snprintf(command, sizeof(command), HDT_HEDDLE "%s >&- 2>err", lines[i]);
        status = system(command);
        cr_expect_eq(WEXITSTATUS(status), 2, "closed: %s", lines[i]);
    }
}

/* Devices, pipes and what links lead to are written to; only files are replaced. */
Test(command, outputs_replace_nothing_but_files)
{
    struct stat is;
    hdt_put("in.fgt", HDT_FRAME);
    cr_assert_eq(system("mkfifo pipe && ln -s p.json link && touch p.json && chmod 600 p.json"), 0);
    cr_assert_eq(system("timeout 10 sh -c 'head -c 9 <pipe >read' & " HDT_HEDDLE "compile in.fgt --plan pipe && wait"),
                 0);
    cr_assert_eq(lstat("pipe", &is), 0);
    cr_assert(S_ISFIFO(is.st_mode), "the pipe was replaced");
    cr_assert_str_eq(hdt_contents("read"), "{\"plan\": ");
    cr_assert_eq(hdt_heddle("compile in.fgt --plan link"), 0, "%s", hdt_contents("err"));
    cr_assert_eq(lstat("link", &is), 0);
    cr_assert(S_ISLNK(is.st_mode), "the link was replaced");
    cr_assert_eq(stat("p.json", &is), 0);
    cr_assert_eq(is.st_mode & 0777, 0600);
    cr_assert_eq(hdt_heddle("verify in.fgt p.json"), 0, "%s", hdt_contents("err"));
    /* A link of our own to the device: were it replaced, the machine's would be whole. */
    cr_assert_eq(symlink("/dev/full", "full"), 0);
    cr_assert_eq(hdt_heddle("compile in.fgt --plan full --dot p.dot"), 2);
    cr_assert_not_null(strstr(hdt_contents("err"), "full: "), "%s", hdt_contents("err"));
    cr_assert(!hdt_exists("p.dot"));
    cr_assert_eq(lstat("full", &is), 0);
    cr_assert(S_ISLNK(is.st_mode), "the link was replaced");
    static const char *const nowhere[][2] = {{"none", "nothing"}, {"round", "round"}};
    for (int i = 0; i < 2; i++) {
        char arguments[64];
        cr_assert_eq(symlink(nowhere[i][1], nowhere[i][0]), 0);
        snprintf(arguments, sizeof(arguments), "compile in.fgt --plan %s", nowhere[i][0]);
        cr_assert_eq(hdt_heddle(arguments), 2);
        cr_assert_not_null(strstr(hdt_contents("err"), nowhere[i][0]), "%s", hdt_contents("err"));
        cr_assert(i == 1 || strstr(hdt_contents("err"), "a link to a file that does not exist"), "%s",
                  hdt_contents("err"));
        cr_assert_eq(lstat(nowhere[i][0], &is), 0);
        cr_assert(S_ISLNK(is.st_mode), "the link was replaced");
    }
    cr_assert(!hdt_exists("nothing"));
    /* As long as a name can be. */
    char longest[300], name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    snprintf(longest, sizeof(longest), "compile in.fgt --plan %s", name);
    for (int again = 0; again < 2; again++)
        cr_assert_eq(hdt_heddle(longest), 0, "%s", hdt_contents("err"));
    cr_assert(hdt_exists(name));
    /* Standard output by another name, or the file that it goes to: what else is printed there stays. */
    static const char *const standard[] = {"/dev/stdout", "out"};
    for (int i = 0; i < 2; i++) {
        char arguments[64];
        snprintf(arguments, sizeof(arguments), "compile in.fgt --stats --plan %s", standard[i]);
        cr_assert_eq(hdt_heddle(arguments), 0, "%s", hdt_contents("err"));
        cr_expect(strstr(hdt_contents("out"), "passes=2") && strstr(hdt_contents("out"), "{\"plan\": "), "%s",
                  standard[i]);
    }
}

/* What would take away the graph, or one another, is not written. */
Test(command, outputs_are_files_of_their_own)
{
    static const char *const lines[] = {
        "compile in.fgt --plan in.fgt",    "compile in.fgt --html ./in.fgt",     "compile in.fgt --plan link",
        "compile in.fgt --plan a --dot a", "compile in.fgt --plan a --html ./a", "run in.fgt --capture ./in.fgt",
        "compile - --plan in.fgt <in.fgt", "run - --capture in.fgt <in.fgt",     "compile in.fgt --plan - --html -"};
    hdt_put("in.fgt", HDT_FRAME);
    cr_assert_eq(symlink("in.fgt", "link"), 0);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        cr_expect_eq(hdt_heddle(lines[i]), 1, "%s", lines[i]);
        cr_expect(strstr(hdt_contents("err"), "too"), "%s: %s", lines[i], hdt_contents("err"));
    }
    cr_expect_str_eq(hdt_contents("in.fgt"), HDT_FRAME);
    cr_expect(!hdt_exists("a"));
    cr_expect_eq(hdt_heddle("compile in.fgt --plan /dev/null --dot /dev/null"), 0);
    /* known before the work is done */
    cr_expect_eq(hdt_heddle("run in.fgt --frames 1000000 --capture none/where"), 2);
    cr_expect(strstr(hdt_contents("err"), "none/where"), "%s", hdt_contents("err"));
}

/* The last of several files cannot be put in its place: while the second, a pipe, is not read to its end, which begins
 * when all are made, a folder takes it. What the first replaced comes back. */
Test(command, outputs_appear_together_or_not_at_all, .timeout = 60)
{
    FILE *graph = fopen("in.fgt", "wb");
    cr_assert_not_null(graph);
    fputs("graph long\n", graph);
    for (int i = 0; i < 3000; i++) /* more of Graphviz than a pipe holds */
        fprintf(graph, "pass %d compute root\n", i);
    fclose(graph);
    for (int old = 0; old < 2; old++) {
        if (old)
            hdt_put("plan", "before");
        cr_assert_eq(system("mkfifo pipe; (exec 3<pipe; head -c 1 <&3; mkdir page; cat <&3) >none 2>&1 </dev/null &"),
                     0);
        cr_assert_eq(hdt_heddle("compile in.fgt --plan plan --dot pipe --html page"), 2);
        cr_assert(strstr(hdt_contents("err"), "page: "), "%s", hdt_contents("err"));
        cr_assert_eq(hdt_exists("plan"), old == 1);
        cr_assert(!old || strcmp(hdt_contents("plan"), "before") == 0);
        cr_assert_eq(system("rm -rf page pipe plan none"), 0);
        hdt_expect_no_output();
    }
    hdt_put("plan", "before");
    cr_assert_eq(hdt_heddle("compile in.fgt --plan plan"), 0);
    cr_assert(strstr(hdt_contents("plan"), "{\"plan\": 1, \"graph\": \"long\""));
    cr_assert_eq(system("rm plan"), 0);
    hdt_expect_no_output();
}

/* Stopped in the middle, or at a limit of the system's: the files that it was about to make are not there, nor is
 * anything beside them. A kill leaves nothing where the system has files without names. */
Test(command, signals_leave_nothing, .timeout = 60)
{
    char command[1024];
    hdt_put("in.fgt", HDT_FRAME);
    cr_assert_eq(mkfifo("pipe", 0600), 0);
    int nameless = open(".", O_TMPFILE | O_RDWR, 0600);
    for (int signal = nameless >= 0 ? 9 : 15; signal < 16; signal += 6) {
        /* the pipe has no reader, so the command waits with a plan that is not in its place yet */
        snprintf(command, sizeof(command),
                 HDT_HEDDLE
                 "compile in.fgt --threads 4 --plan p.json --dot pipe 2>err & heddle=$!; "
                 "for i in $(seq 200); do ls -l /proc/$heddle/fd | grep '(deleted)' || ls .heddle.* && break; "
                 "sleep 0.02; done >found 2>&1; test -s found && kill -%d $heddle; wait $heddle",
                 signal);
        cr_expect_eq(WEXITSTATUS(system(command)), 128 + signal);
        cr_expect(strstr(hdt_contents("found"), nameless >= 0 ? "(deleted)" : ".heddle."), "%s", hdt_contents("found"));
        cr_expect_eq(system("test -z \"$(ls -A | grep -e p.json -e heddle)\""), 0);
    }
    close(nameless);
    /* standard output has no reader either: no plan is left behind */
    snprintf(command, sizeof(command),
             "{ sleep 0.2; " HDT_HEDDLE "compile in.fgt --plan p.json --dot - 2>err; } | true");
    cr_expect_eq(WEXITSTATUS(system(command)), 0);
    cr_expect_eq(system("test -z \"$(ls | grep p.json)\""), 0);
    snprintf(command, sizeof(command), "ulimit -f 0; " HDT_HEDDLE "compile in.fgt --plan p.json 2>/dev/null");
    cr_expect_eq(WEXITSTATUS(system(command)), 2);
    cr_expect_eq(system("test -z \"$(ls | grep p.json)\""), 0);
}

/* A pass that may run beside another one, and one that reads what both wrote. */
Test(command, handoff_has_a_price)
{
    hdt_put("in.fgt", "graph price\nimage 0 64 64 rgba8 1 1\nbuffer 1 256\nimage 2 64 64 rgba8 1 1 external\n"
                      "pass 0 gfx cost=100\nuse 0 0 color_write\n"
                      "pass 1 compute cost=100\nuse 1 1 storage_write_compute\n"
                      "pass 2 gfx cost=10\nuse 2 0 sampled_graphics\nuse 2 1 uniform_read\nuse 2 2 color_write\n");
    cr_assert_eq(hdt_heddle("compile in.fgt --stats --handoff 20"), 0, "%s", hdt_contents("err"));
    cr_expect_not_null(strstr(hdt_contents("out"), "semaphore_waits=1\n"), "%s", hdt_contents("out"));
    cr_expect_not_null(strstr(hdt_contents("out"), "makespan_us=110.000\nmakespan_priced_us=130.000\n"), "%s",
                       hdt_contents("out"));
    cr_assert_eq(hdt_heddle("compile in.fgt --stats --handoff 1000000"), 0, "%s", hdt_contents("err"));
    cr_expect_not_null(strstr(hdt_contents("out"), "semaphore_waits=0\n"), "%s", hdt_contents("out"));
    cr_assert_eq(hdt_heddle("compile in.fgt --stats --handoff 0"), 0, "%s", hdt_contents("err"));
    cr_expect_not_null(strstr(hdt_contents("out"), "makespan_priced_us=110.000\n"), "%s", hdt_contents("out"));
    cr_expect_eq(hdt_heddle("compile in.fgt --handoff -1"), 1);
    cr_expect_eq(hdt_heddle("compile in.fgt --handoff nan"), 1);
    cr_expect_eq(hdt_heddle("compile in.fgt --handoff 6us"), 1);
}

Test(command, files_and_figures)
{
    static const char *const keys[] = {
        "passes=2",
        "kept=2",
        "uses=3",
        "resources=2",
        "queues=3",
        "barriers=",
        "barrier_batches=",
        "submits=1",
        "semaphore_waits=0",
        "heap_bytes=65536",
        "unaliased_bytes=65536",
        "peak_live_bytes=65536",
        "makespan_us=20",
        "makespan_priced_us=20",
        "critical_path_us=20",
        "threads=1",
        "build_ns=",
        "compile_ns=",
        "compile_ns_freeze=",
        "compile_ns_plan=",
    };
    hdt_put("in.fgt", HDT_FRAME);
    cr_assert_eq(hdt_heddle("compile in.fgt --plan p.json --dot p.dot --html p.html --verify --stats --repeat 3"), 0,
                 "%s", hdt_contents("err"));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *at = strstr(hdt_contents("out"), keys[i]);
        cr_assert(at && (at == hdt_contents("out") || at[-1] == '\n'), "no %s", keys[i]);
    }
    cr_assert(hdt_exists("p.json") && hdt_exists("p.dot") && hdt_exists("p.html"));
    cr_assert_eq(hdt_heddle("verify in.fgt p.json"), 0, "%s", hdt_contents("err"));
    /* A plan without its barriers fails the proof. */
    cr_assert_eq(system("python3 -c \"import json; p = json.load(open('p.json'))\n"
                        "for s in p['submits']: s['commands'] = [c for c in s['commands'] if 'pass' in c]\n"
                        "json.dump(p, open('bad.json', 'w'))\""),
                 0);
    cr_assert_eq(hdt_heddle("verify in.fgt bad.json"), 3);
    cr_assert_not_null(strstr(hdt_contents("err"), "bad.json: "));
    cr_assert_eq(hdt_heddle("compile in.fgt --plan -"), 0);
    cr_assert_not_null(strstr(hdt_contents("out"), "\"plan\": 1"));
    cr_assert_eq(hdt_heddle("compile - < in.fgt"), 0);
    cr_assert_eq(hdt_heddle("--version"), 0);
    static const char *const helps[] = {"--help", "-h", "compile --help", "verify -h", "explain --help", "run -h"};
    for (size_t i = 0; i < sizeof(helps) / sizeof(helps[0]); i++) {
        cr_assert_eq(hdt_heddle(helps[i]), 0, "%s", helps[i]);
        cr_assert_eq(strncmp(hdt_contents("out"), "usage: heddle ", 14), 0, "%s", helps[i]);
    }
}
