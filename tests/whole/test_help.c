#include <criterion/criterion.h>

#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command_line.h"
#include "folder.h"

/* Every program of the build says with --help what it takes, and refuses what it does not know. */

TestSuite(help, .init = hdt_enter_folder, .fini = hdt_leave_folder);

static int run(const char *program, const char *arguments)
{
    char command[2048];
    snprintf(command, sizeof(command), "timeout 60 '%s' %s >out 2>err </dev/null", program, arguments);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* section: null, or what stands before the option. */
static bool check(const char *program, const char *section)
{
    char arguments[128];
    if (access(program, X_OK) != 0)
        return false;
    snprintf(arguments, sizeof(arguments), "%s --help", section);
    cr_expect_eq(run(program, arguments), 0, "%s %s: %s", program, arguments, hdt_contents("err"));
    cr_expect_eq(strncmp(hdt_contents("out"), "usage: ", 7), 0, "%s %s: '%.40s'", program, arguments,
                 hdt_contents("out"));
    cr_expect_str_empty(hdt_contents("err"), "%s %s", program, arguments);
    snprintf(arguments, sizeof(arguments), "%s --no-such-option", section);
    cr_expect_eq(run(program, arguments), 1, "%s %s", program, arguments);
    cr_expect_str_empty(hdt_contents("out"), "%s %s", program, arguments);
    cr_expect_not_null(strstr(hdt_contents("err"), "no-such-option"), "%s %s: '%s'", program, arguments,
                       hdt_contents("err"));
    cr_expect_eq(system("test \"$(ls -A | tr '\\n' ' ')\" = 'err out '"), 0, "%s leaves files", program);
    return true;
}

Test(help, of_the_command)
{
    static const char *const commands[] = {"", "compile", "verify", "explain", "diff", "view", "run", "capture", "replay"};
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        cr_expect(check(HEDDLE_BINARY_DIR "/samples/heddle/heddle", commands[i]), "not built");
    /* Wherever it stands. */
    cr_expect_eq(run(HEDDLE_BINARY_DIR "/samples/heddle/heddle", "compile in.fgt --order memory --help"), 0);
    cr_expect_not_null(strstr(hdt_contents("out"), "--packing-effort"));
}

/* A sample has the name of its folder. */
Test(help, of_samples, .timeout = 120)
{
    glob_t folders;
    uint32_t checked = 0;
    cr_assert_eq(glob(HEDDLE_BINARY_DIR "/samples/*", GLOB_ONLYDIR, NULL, &folders), 0);
    for (size_t i = 0; i < folders.gl_pathc; i++) {
        char program[1024];
        const char *name = strrchr(folders.gl_pathv[i], '/') + 1;
        snprintf(program, sizeof(program), "%s/%s", folders.gl_pathv[i], name);
        bool is_command = strcmp(name, "heddle") == 0;
        char source[1024];
        snprintf(source, sizeof(source), HEDDLE_SOURCE_DIR "/samples/%s",
                 name); /* what is left of others is not ours */
        bool built = !is_command && access(source, F_OK) == 0 && check(program, "");
        printf("%s: %s\n", name, built ? "checked" : is_command ? "above" : "not built");
        checked += built;
    }
    globfree(&folders);
    printf("%u samples\n", checked);
}

Test(help, of_benchmarks_and_tools, .timeout = 120)
{
    static const struct {
        const char *program, *section;
    } all[] = {{"bench/heddle-bench", ""},        {"bench/heddle-bench", "quality"}, {"bench/heddle-bench", "verify"},
               {"bench/heddle-bench", "execute"}, {"bench/heddle-bench", "record"},  {"bench/heddle-bench", "jobs"},
               {"bench/bench_gpu", ""},           {"bench/bench_jobs", ""},          {"bench/bench_tbb", ""},
               {"tests/page_frames", ""},         {"tests/layer/random_graphs", ""}, {"tests/compare_pictures", ""}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        char program[1024];
        snprintf(program, sizeof(program), HEDDLE_BINARY_DIR "/%s", all[i].program);
        if (!check(program, all[i].section))
            printf("%s: not built\n", all[i].program);
    }
}
