#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"

/* The heddle command as a user runs it: exit statuses, errors, files, and plans of all workload families. */

TestSuite(command, .init = hdt_enter_folder, .fini = hdt_leave_folder);

#define HEDDLE "'" HEDDLE_BINARY_DIR "/samples/heddle/heddle' "

/* Exit status; both outputs land in the files `out` and `err`. */
static int run(const char *arguments)
{
    char command[2048];
    snprintf(command, sizeof(command), HEDDLE "%s >out 2>err", arguments);
    int status = system(command);
    cr_assert(WIFEXITED(status), "%s: signal", arguments);
    return WEXITSTATUS(status);
}

static char *contents(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    return text;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* Nothing but what the tests themselves put there. */
static void expect_no_output(void)
{
    cr_assert_eq(system("test -z \"$(ls -A | grep -v -x -e out -e err -e in.fgt -e bad.json)\""), 0);
}

#define FRAME                                                                                                          \
    "graph frame\nimage 0 64 64 rgba8 1 1\nimage 1 64 64 bgra8 1 1 external\npass 0 gfx\nuse 0 0 color_write\n"        \
    "pass 1 gfx\nuse 1 0 sampled_graphics\nuse 1 1 color_write\n"

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
        "explain in.fgt 0 x",
        "explain in.fgt 0 1 2",
        "explain in.fgt 0 1 --queues video",
        "explain in.fgt 0 1 --plan p",
        "diff in.fgt",
        "diff in.fgt in.fgt in.fgt",
        "diff in.fgt in.fgt --order sideways",
        "diff in.fgt in.fgt --html in.fgt",
        "view",
        "view in.fgt in.fgt",
        "view in.fgt --html page",
    };
    put("in.fgt", FRAME);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        cr_assert_eq(run(lines[i]), 1, "heddle %s", lines[i]);
        cr_assert_neq(contents("err")[0], 0, "heddle %s", lines[i]);
        expect_no_output();
    }
    cr_assert_eq(run("compile in.fgt -xyz"), 1);
    cr_assert_not_null(strstr(contents("err"), "option '-xyz'"), "%s", contents("err"));
    cr_assert_eq(run("compile in.fgt --queues gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx,gfx"), 1);
    cr_assert_not_null(strstr(contents("err"), "at most 15 queues"), "%s", contents("err"));
    cr_assert_eq(run("compile in.fgt --verify=3"), 1);
    cr_assert_not_null(strstr(contents("err"), "option '--verify=3'"), "%s", contents("err"));
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
        put("in.fgt", bad[i].text);
        cr_assert_eq(run("compile in.fgt --plan p.json --dot p.dot --html p.html --stats"), 2, "%zu", i);
        const char *error = contents("err");
        cr_assert_eq(strncmp(error, bad[i].says, strlen(bad[i].says)), 0, "'%s' is not at %s", error, bad[i].says);
        cr_assert_eq(strchr(error, '\n'), error + strlen(error) - 1, "one line: %s", error);
        cr_assert_eq(contents("out")[0], 0);
        expect_no_output();
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
    put(path, "graph g\nthing\n");
    snprintf(command, sizeof(command), "compile %s", path);
    cr_assert_eq(run(command), 2);
    cr_assert_not_null(strstr(contents("err"), "in.fgt:2: unknown word 'thing'"), "%s", contents("err"));
    put(path, "graph g\nbuffer 0 4\npass 0 transfer root\nuse 0 0 transfer_src\n");
    cr_assert_eq(run(command), 2);
    cr_assert_not_null(strstr(contents("err"), "in.fgt:4: pass 0"), "%s", contents("err"));
}

Test(command, io_failures_exit_with_2)
{
    cr_assert_eq(run("compile none.fgt"), 2);
    cr_assert_not_null(strstr(contents("err"), "none.fgt"));
    cr_assert_eq(run("compile ."), 2);
    put("in.fgt", FRAME);
    cr_assert_eq(run("compile in.fgt --plan p.json --dot none/p.dot"), 2);
    cr_assert_not_null(strstr(contents("err"), "none/p.dot"));
    expect_no_output();
    cr_assert_eq(run("verify in.fgt none.json"), 2);
    put("bad.json", "{\"plan\": 1, \"queues\": 7}");
    cr_assert_eq(run("verify in.fgt bad.json"), 2);
    cr_assert_not_null(strstr(contents("err"), "bad.json: "));
    put("bad.json", "{\"plan\": ");
    cr_assert_eq(run("verify in.fgt bad.json"), 2);
    cr_assert_eq(run("compile in.fgt --queues compute"), 2);
    cr_assert_eq(strncmp(contents("err"), "in.fgt:4: ", 10), 0, "%s", contents("err"));
    cr_assert_eq(run("compile in.fgt --memory-budget 100"), 2);
    cr_assert_not_null(strstr(contents("err"), "65536"));
    expect_no_output();
}

/* Two views blended into one image: no barrier between them in a plan whose passes may share scopes. */
Test(command, merged_rendering)
{
    put("in.fgt", "graph g\nimage 0 64 64 rgba8 1 1 external\nimage 1 64 64 rgba8 1 1\nimage 2 64 64 rgba8 1 1\n"
                  "pass 0 gfx\nuse 0 1 color_write\npass 1 gfx\nuse 1 2 color_write\n"
                  "pass 2 gfx\nuse 2 1 sampled_graphics\nuse 2 0 color_rw\n"
                  "pass 3 gfx\nuse 3 2 sampled_graphics\nuse 3 0 color_rw\n");
    cr_assert_eq(run("compile in.fgt --queues gfx --stats"), 0);
    cr_expect_not_null(strstr(contents("out"), "barrier_batches=3\n"), "%s", contents("out"));
    cr_assert_eq(run("compile in.fgt --queues gfx --stats --merge-rendering --plan p.json"), 0);
    cr_expect_not_null(strstr(contents("out"), "barrier_batches=2\n"), "%s", contents("out"));
    cr_assert_eq(run("verify in.fgt p.json"), 0, "%s", contents("err"));
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
    put("in.fgt", FRAME);
    cr_assert_eq(run("compile in.fgt --plan p.json"), 0);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char command[256];
        snprintf(command, sizeof(command), HEDDLE "%s >/dev/full 2>err", lines[i]);
        int status = system(command);
        cr_expect_eq(WEXITSTATUS(status), 2, "%s", lines[i]);
        cr_expect_neq(contents("err")[0], 0, "%s", lines[i]);
        /* Closed, its number must not go to a file that is made: the command would write there. */
        snprintf(command, sizeof(command), HEDDLE "%s >&- 2>err", lines[i]);
        status = system(command);
        cr_expect_eq(WEXITSTATUS(status), 2, "closed: %s", lines[i]);
    }
}

/* Devices, pipes and what links lead to are written to; only files are replaced. */
Test(command, outputs_replace_nothing_but_files)
{
    struct stat is;
    put("in.fgt", FRAME);
    cr_assert_eq(system("mkfifo pipe && ln -s p.json link && touch p.json && chmod 600 p.json"), 0);
    cr_assert_eq(system("timeout 10 sh -c 'head -c 9 <pipe >read' & " HEDDLE "compile in.fgt --plan pipe && wait"), 0);
    cr_assert_eq(lstat("pipe", &is), 0);
    cr_assert(S_ISFIFO(is.st_mode), "the pipe was replaced");
    cr_assert_str_eq(contents("read"), "{\"plan\": ");
    cr_assert_eq(run("compile in.fgt --plan link"), 0, "%s", contents("err"));
    cr_assert_eq(lstat("link", &is), 0);
    cr_assert(S_ISLNK(is.st_mode), "the link was replaced");
    cr_assert_eq(stat("p.json", &is), 0);
    cr_assert_eq(is.st_mode & 0777, 0600);
    cr_assert_eq(run("verify in.fgt p.json"), 0, "%s", contents("err"));
    /* A link of our own to the device: were it replaced, the machine's would be whole. */
    cr_assert_eq(symlink("/dev/full", "full"), 0);
    cr_assert_eq(run("compile in.fgt --plan full --dot p.dot"), 2);
    cr_assert_not_null(strstr(contents("err"), "full: "), "%s", contents("err"));
    cr_assert(!exists("p.dot"));
    cr_assert_eq(lstat("full", &is), 0);
    cr_assert(S_ISLNK(is.st_mode), "the link was replaced");
    static const char *const nowhere[][2] = {{"none", "nothing"}, {"round", "round"}};
    for (int i = 0; i < 2; i++) {
        char arguments[64];
        cr_assert_eq(symlink(nowhere[i][1], nowhere[i][0]), 0);
        snprintf(arguments, sizeof(arguments), "compile in.fgt --plan %s", nowhere[i][0]);
        cr_assert_eq(run(arguments), 2);
        cr_assert_not_null(strstr(contents("err"), nowhere[i][0]), "%s", contents("err"));
        cr_assert(i == 1 || strstr(contents("err"), "a link to a file that does not exist"), "%s", contents("err"));
        cr_assert_eq(lstat(nowhere[i][0], &is), 0);
        cr_assert(S_ISLNK(is.st_mode), "the link was replaced");
    }
    cr_assert(!exists("nothing"));
    /* As long as a name can be. */
    char longest[300], name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    snprintf(longest, sizeof(longest), "compile in.fgt --plan %s", name);
    for (int again = 0; again < 2; again++)
        cr_assert_eq(run(longest), 0, "%s", contents("err"));
    cr_assert(exists(name));
    /* Standard output by another name, or the file that it goes to: what else is printed there stays. */
    static const char *const standard[] = {"/dev/stdout", "out"};
    for (int i = 0; i < 2; i++) {
        char arguments[64];
        snprintf(arguments, sizeof(arguments), "compile in.fgt --stats --plan %s", standard[i]);
        cr_assert_eq(run(arguments), 0, "%s", contents("err"));
        cr_expect(strstr(contents("out"), "passes=2") && strstr(contents("out"), "{\"plan\": "), "%s", standard[i]);
    }
}

/* What would take away the graph, or one another, is not written. */
Test(command, outputs_are_files_of_their_own)
{
    static const char *const lines[] = {"compile in.fgt --plan in.fgt",       "compile in.fgt --html ./in.fgt",
                                        "compile in.fgt --plan link",         "compile in.fgt --plan a --dot a",
                                        "compile in.fgt --plan a --html ./a", "run in.fgt --capture ./in.fgt",
                                        "compile - --plan in.fgt <in.fgt",    "run - --capture in.fgt <in.fgt",
                                        "compile in.fgt --plan - --html -"};
    put("in.fgt", FRAME);
    cr_assert_eq(symlink("in.fgt", "link"), 0);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        cr_expect_eq(run(lines[i]), 1, "%s", lines[i]);
        cr_expect(strstr(contents("err"), "too"), "%s: %s", lines[i], contents("err"));
    }
    cr_expect_str_eq(contents("in.fgt"), FRAME);
    cr_expect(!exists("a"));
    cr_expect_eq(run("compile in.fgt --plan /dev/null --dot /dev/null"), 0);
    /* known before the work is done */
    cr_expect_eq(run("run in.fgt --frames 1000000 --capture none/where"), 2);
    cr_expect(strstr(contents("err"), "none/where"), "%s", contents("err"));
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
            put("plan", "before");
        cr_assert_eq(system("mkfifo pipe; (exec 3<pipe; head -c 1 <&3; mkdir page; cat <&3) >none 2>&1 </dev/null &"),
                     0);
        cr_assert_eq(run("compile in.fgt --plan plan --dot pipe --html page"), 2);
        cr_assert(strstr(contents("err"), "page: "), "%s", contents("err"));
        cr_assert_eq(exists("plan"), old == 1);
        cr_assert(!old || strcmp(contents("plan"), "before") == 0);
        cr_assert_eq(system("rm -rf page pipe plan none"), 0);
        expect_no_output();
    }
    put("plan", "before");
    cr_assert_eq(run("compile in.fgt --plan plan"), 0);
    cr_assert(strstr(contents("plan"), "{\"plan\": 1, \"graph\": \"long\""));
    cr_assert_eq(system("rm plan"), 0);
    expect_no_output();
}

/* Stopped in the middle, or at a limit of the system's: the files that it was about to make are not there, nor is
 * anything beside them. A kill leaves nothing where the system has files without names. */
Test(command, signals_leave_nothing, .timeout = 60)
{
    char command[1024];
    put("in.fgt", FRAME);
    cr_assert_eq(mkfifo("pipe", 0600), 0);
    int nameless = open(".", O_TMPFILE | O_RDWR, 0600);
    for (int signal = nameless >= 0 ? 9 : 15; signal < 16; signal += 6) {
        /* the pipe has no reader, so the command waits with a plan that is not in its place yet */
        snprintf(command, sizeof(command),
                 HEDDLE "compile in.fgt --threads 4 --plan p.json --dot pipe 2>err & heddle=$!; "
                        "for i in $(seq 200); do ls -l /proc/$heddle/fd | grep '(deleted)' || ls .heddle.* && break; "
                        "sleep 0.02; done >found 2>&1; test -s found && kill -%d $heddle; wait $heddle",
                 signal);
        cr_expect_eq(WEXITSTATUS(system(command)), 128 + signal);
        cr_expect(strstr(contents("found"), nameless >= 0 ? "(deleted)" : ".heddle."), "%s", contents("found"));
        cr_expect_eq(system("test -z \"$(ls -A | grep -e p.json -e heddle)\""), 0);
    }
    close(nameless);
    /* standard output has no reader either: no plan is left behind */
    snprintf(command, sizeof(command), "{ sleep 0.2; " HEDDLE "compile in.fgt --plan p.json --dot - 2>err; } | true");
    cr_expect_eq(WEXITSTATUS(system(command)), 0);
    cr_expect_eq(system("test -z \"$(ls | grep p.json)\""), 0);
    snprintf(command, sizeof(command), "ulimit -f 0; " HEDDLE "compile in.fgt --plan p.json 2>/dev/null");
    cr_expect_eq(WEXITSTATUS(system(command)), 2);
    cr_expect_eq(system("test -z \"$(ls | grep p.json)\""), 0);
}

/* A pass that may run beside another one, and one that reads what both wrote. */
Test(command, handoff_has_a_price)
{
    put("in.fgt", "graph price\nimage 0 64 64 rgba8 1 1\nbuffer 1 256\nimage 2 64 64 rgba8 1 1 external\n"
                  "pass 0 gfx cost=100\nuse 0 0 color_write\n"
                  "pass 1 compute cost=100\nuse 1 1 storage_write_compute\n"
                  "pass 2 gfx cost=10\nuse 2 0 sampled_graphics\nuse 2 1 uniform_read\nuse 2 2 color_write\n");
    cr_assert_eq(run("compile in.fgt --stats --handoff 20"), 0, "%s", contents("err"));
    cr_expect_not_null(strstr(contents("out"), "semaphore_waits=1\n"), "%s", contents("out"));
    cr_expect_not_null(strstr(contents("out"), "makespan_us=110.000\nmakespan_priced_us=130.000\n"), "%s",
                       contents("out"));
    cr_assert_eq(run("compile in.fgt --stats --handoff 1000000"), 0, "%s", contents("err"));
    cr_expect_not_null(strstr(contents("out"), "semaphore_waits=0\n"), "%s", contents("out"));
    cr_assert_eq(run("compile in.fgt --stats --handoff 0"), 0, "%s", contents("err"));
    cr_expect_not_null(strstr(contents("out"), "makespan_priced_us=110.000\n"), "%s", contents("out"));
    cr_expect_eq(run("compile in.fgt --handoff -1"), 1);
    cr_expect_eq(run("compile in.fgt --handoff nan"), 1);
    cr_expect_eq(run("compile in.fgt --handoff 6us"), 1);
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
    put("in.fgt", FRAME);
    cr_assert_eq(run("compile in.fgt --plan p.json --dot p.dot --html p.html --verify --stats --repeat 3"), 0, "%s",
                 contents("err"));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *at = strstr(contents("out"), keys[i]);
        cr_assert(at && (at == contents("out") || at[-1] == '\n'), "no %s", keys[i]);
    }
    cr_assert(exists("p.json") && exists("p.dot") && exists("p.html"));
    cr_assert_eq(run("verify in.fgt p.json"), 0, "%s", contents("err"));
    /* A plan without its barriers fails the proof. */
    cr_assert_eq(system("python3 -c \"import json; p = json.load(open('p.json'))\n"
                        "for s in p['submits']: s['commands'] = [c for c in s['commands'] if 'pass' in c]\n"
                        "json.dump(p, open('bad.json', 'w'))\""),
                 0);
    cr_assert_eq(run("verify in.fgt bad.json"), 3);
    cr_assert_not_null(strstr(contents("err"), "bad.json: "));
    cr_assert_eq(run("compile in.fgt --plan -"), 0);
    cr_assert_not_null(strstr(contents("out"), "\"plan\": 1"));
    cr_assert_eq(run("compile - < in.fgt"), 0);
    cr_assert_eq(run("--version"), 0);
    static const char *const helps[] = {"--help", "-h", "compile --help", "verify -h", "explain --help", "run -h"};
    for (size_t i = 0; i < sizeof(helps) / sizeof(helps[0]); i++) {
        cr_assert_eq(run(helps[i]), 0, "%s", helps[i]);
        cr_assert_eq(strncmp(contents("out"), "usage: heddle ", 14), 0, "%s", helps[i]);
    }
}

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
            cr_assert_eq(run(command), 0, "%s %d: %s: %s", family, passes, command, contents("err"));
            if (strcmp(family, "layered") == 0 && passes == 1000)
                cr_assert_not_null(strstr(contents("out"), "kept=749\n"));
            snprintf(command, sizeof(command), "verify in.fgt %d%d.json", q, o);
            cr_assert_eq(run(command), 0, "%s %d: %s: %s", family, passes, command, contents("err"));
        }
    }
    put("model.py", model);
    cr_assert_eq(system("python3 model.py in.fgt ??.json && rm ??.json"), 0, "%s %d: the kept set is another", family,
                 passes);
}

Test(command, workloads_compile_and_verify, .timeout = 200)
{
    static const char *const families[] = {"deferred", "layered", "chain", "fanout", "async", "temporal"};
    if (!exists(HEDDLE_SOURCE_DIR "/../shared/workloads/gen.py")) {
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
Test(command, diff_compares_two_plans)
{
    put("in.fgt", FRAME);
    put("other.fgt", FRAME "buffer 2 4096 external\npass 2 compute\nuse 2 2 storage_write_compute\n");
    cr_assert_eq(run("diff in.fgt other.fgt --html page.html"), 0, "%s", contents("err"));
    cr_assert_not_null(strstr(contents("out"), "passes=2 3 +1\n"), "%s", contents("out"));
    cr_assert_eq(system("grep -q '\"before\":{\"name\":' page.html"), 0);
    cr_assert_eq(run("diff in.fgt in.fgt"), 0);
    cr_assert_not_null(strstr(contents("out"), "barrier_batches=2 2 +0\n"), "%s", contents("out"));
    cr_assert_eq(run("compile in.fgt --plan p.json"), 0);
    cr_assert_eq(run("diff in.fgt in.fgt --before-plan p.json --plan p.json"), 0, "%s", contents("err"));
    cr_assert_eq(run("diff in.fgt other.fgt --plan in.fgt"), 2);
    cr_assert_neq(contents("err")[0], 0);
    cr_assert_eq(run("diff none.fgt in.fgt"), 2);
    cr_assert_eq(run("diff in.fgt none.fgt --html never.html"), 2);
    cr_assert_not(exists("never.html"));
}

/* The browser gets a page that stays; without one the page's name is said. */
Test(command, view_opens_a_page)
{
    put("in.fgt", FRAME);
    put("browser", "#!/bin/sh\ncp \"$1\" seen.html\n");
    cr_assert_eq(system("chmod +x browser"), 0);
    cr_assert_eq(setenv("TMPDIR", ".", 1), 0);
    cr_assert_eq(setenv("BROWSER", "./browser:other", 1), 0);
    cr_assert_eq(run("view in.fgt --order memory"), 0, "%s", contents("err"));
    cr_assert_eq(system("grep -q '</html>' seen.html"), 0);
    cr_assert_eq(strncmp(contents("out"), "./heddle-", 9), 0, "%s", contents("out"));
    cr_assert_eq(setenv("BROWSER", "./no-such-browser", 1), 0);
    cr_assert_eq(run("view in.fgt"), 2);
    cr_assert_not_null(strstr(contents("err"), "open ./heddle-"), "%s", contents("err"));
}

/* A chain with its links and reasons, one between queues, none, and a pass that is culled. */
Test(command, explain_says_what_orders_two_passes)
{
    put("in.fgt", FRAME);
    cr_assert_eq(run("explain in.fgt 1 0"), 0, "%s", contents("err"));
    cr_assert_not_null(strstr(contents("out"), "pass 0 comes before pass 1\n"), "%s", contents("out"));
    cr_assert_not_null(strstr(contents("out"), "image 0: color_write of pass 0, then sampled_graphics of pass 1\n"));
    cr_assert_not_null(strstr(contents("out"), "COLOR_ATTACHMENT_OUTPUT [COLOR_ATTACHMENT_WRITE] -> "));
    cr_assert_not_null(strstr(contents("out"), "read after write, for pass 1"), "%s", contents("out"));
    cr_assert_eq(run("explain in.fgt 0 2"), 2);
    cr_assert_not_null(strstr(contents("err"), "there is no pass 2"));
    cr_assert_eq(run("explain none.fgt 0 1"), 2);
    put("in.fgt", "graph g\nbuffer 0 256\nbuffer 1 256 external\nbuffer 2 256 external\nbuffer 3 256\n"
                  "pass 0 transfer on=transfer\nuse 0 0 transfer_dst\npass 1 compute on=compute\n"
                  "use 1 0 storage_read_compute\nuse 1 1 storage_write_compute\npass 2 gfx\nuse 2 2 uniform_read\n"
                  "pass 3 compute\nuse 3 3 storage_write_compute\npass 4 gfx root\nuse 4 2 uniform_read\n");
    cr_assert_eq(run("explain in.fgt 0 1"), 0, "%s", contents("err"));
    cr_assert_not_null(strstr(contents("out"), "  signal (queue "), "%s", contents("out"));
    cr_assert_not_null(strstr(contents("out"), "  wait (queue "));
    cr_assert_eq(run("explain in.fgt 1 4"), 0);
    cr_assert_not_null(strstr(contents("out"), "are not ordered: nothing that they touch conflicts"), "%s",
                       contents("out"));
    cr_assert_eq(run("explain in.fgt 1 3"), 0);
    cr_assert_not_null(strstr(contents("out"), "pass 3 is culled"), "%s", contents("out"));
}

Test(command, run_executes_and_checks)
{
    /* What a driver keeps cannot be named once its library is unloaded: the sanitizer's look at leaks is for programs
     * that call the library themselves. */
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    put("in.fgt", FRAME);
    cr_assert_eq(run("run none.fgt"), 2);
    cr_assert_eq(run("run in.fgt --device 1000"), 2);
    cr_assert_neq(contents("err")[0], 0);
    if (run("run in.fgt --frames 3 --check --workers 2") == 2)
        cr_skip_test("no device: %s", contents("err"));
    cr_assert_eq(contents("err")[0], 0, "%s", contents("err"));
    cr_assert_not_null(strstr(contents("out"), "\nchecks=4\nunchecked=0\nwrong=0\n"), "%s", contents("out"));
    cr_assert_not_null(strstr(contents("out"), "\npass 1 queue=0 us="), "%s", contents("out"));
    put("in.fgt", "graph g\nbuffer 0 3\npass 0 transfer\nuse 0 0 transfer_dst\npass 1 transfer root\n"
                  "use 1 0 transfer_src\n"); /* no whole word */
    cr_assert_eq(run("run in.fgt --frames 3 --check"), 0, "%s", contents("err"));
    cr_assert_not_null(strstr(contents("out"), "\nchecks=0\nunchecked=3\nwrong=0\n"), "%s", contents("out"));
    put("in.fgt", "graph g\nimage 0 64 64 d32f 1 1\npass 0 compute root\nuse 0 0 storage_write_compute\n");
    cr_assert_eq(run("run in.fgt"), 2);
    cr_assert_not_null(strstr(contents("err"), "resource 0"), "%s", contents("err"));
    put("in.fgt", "graph g\nimage 0 64 64 r8 1 1\npass 0 host root\nuse 0 0 host_write\n");
    cr_assert_eq(run("run in.fgt"), 2);
    cr_assert_not_null(strstr(contents("err"), "host pass"), "%s", contents("err"));
}

/* A frame as it was given to Vulkan: kept, verified, listed; and with one barrier's stages changed. */
Test(command, run_captures_what_verify_reads, .timeout = 60)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    put("in.fgt", FRAME);
    cr_assert_eq(run("verify --list"), 1);
    cr_assert_eq(run("verify --capture none.json"), 2);
    put("c.json", "{\"capture\": 1}");
    cr_assert_eq(run("verify --capture c.json"), 2);
    cr_assert_not_null(strstr(contents("err"), "c.json: capture: 'queues' is missing"), "%s", contents("err"));
    if (run("run in.fgt --frames 3 --capture c.json") == 2)
        cr_skip_test("no device: %s", contents("err"));
    cr_assert_eq(run("verify --capture c.json --list"), 0, "%s", contents("err"));
    cr_assert_not_null(strstr(contents("out"), "c.json: verified: "), "%s", contents("out"));
    cr_assert_not_null(strstr(contents("out"), "vkCmdBeginRendering"), "%s", contents("out"));
    cr_assert_not_null(strstr(contents("out"), "COLOR_ATTACHMENT_WRITE in COLOR_ATTACHMENT_OUTPUT"));
    cr_assert_eq(system("sed -i 's/\"src_stages\": 1024,/\"src_stages\": 0,/' c.json"), 0);
    cr_assert_eq(run("verify --capture c.json"), 3, "%s", contents("out"));
    cr_assert_not_null(strstr(contents("err"), "c.json: race on image"), "%s", contents("err"));
    cr_assert_not_null(strstr(contents("err"), "vkCmdPipelineBarrier2"), "%s", contents("err"));
}

/* What fills an external shows it to the host, if the frames' host passes read it. */
Test(command, run_shows_externals_to_the_host, .timeout = 60)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    put("in.fgt", "graph g\nimage 0 8 8 rgba8 1 1 external\nbuffer 1 4096 external\nbuffer 2 4096\n"
                  "pass 0 host root\nuse 0 1 host_read\nuse 0 2 host_write\n"
                  "pass 1 transfer\nuse 1 2 transfer_src\nuse 1 1 transfer_dst\n");
    if (run("run in.fgt --frames 3 --check --capture c.json") == 2)
        cr_skip_test("no device: %s", contents("err"));
    cr_assert_eq(run("verify --capture c.json"), 0, "%s", contents("err"));
}

/* A frame draws while the next one writes the memory that it samples: Mesa's CPU driver of before version 25 drops the
 * barrier between them, and gets it right as samples/lavapipe.h sets it. */
Test(command, run_is_right_where_frames_share_memory, .timeout = 60)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    put("in.fgt", "graph g\nbuffer 0 16777216\nimage 1 2048 2048 rgba8 1 1\n"
                  "pass 0 compute\nuse 0 0 storage_write_compute\npass 1 compute root\nuse 1 0 storage_read_compute\n"
                  "pass 2 gfx\nuse 2 1 color_write\npass 3 gfx root\nuse 3 1 sampled_graphics\n");
    for (int times = 0; times < 3; times++) {
        int status = run("run in.fgt --frames 12 --check --queues gfx");
        if (status == 2)
            cr_skip_test("no device: %s", contents("err"));
        cr_assert_eq(status, 0, "%s", contents("err"));
    }
}
