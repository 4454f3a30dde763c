#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "random_graph.h"

/* hd_file_write: a file is there whole or not at all. */

TestSuite(file, .init = hdt_enter_folder, .fini = hdt_leave_folder);

static hd_result write_word(FILE *stream, void *user)
{
    fputs(user, stream);
    return HD_OK;
}

static hd_result write_half(FILE *stream, void *user)
{
    fputs("half", stream);
    return *(hd_result *)user;
}

static hd_result write_frame(FILE *stream, void *user)
{
    return hd_graph_write_fgt(user, stream);
}

static void expect_text(const char *path, const char *text)
{
    char read[256] = "";
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    read[fread(read, 1, sizeof(read) - 1, file)] = 0;
    fclose(file);
    cr_expect_str_eq(read, text, "%s", path);
}

static void expect_files(const char *names)
{
    char command[512];
    snprintf(command, sizeof(command), "test \"$(ls -A | tr '\\n' ' ')\" = '%s'", names);
    cr_expect_eq(system(command), 0, "not '%s'", names);
}

Test(file, takes_the_place_of_the_old_one)
{
    struct stat is;
    umask(022);
    cr_assert_eq(hd_file_write("a", write_word, "one"), HD_OK);
    expect_text("a", "one");
    cr_assert_eq(stat("a", &is), 0);
    cr_expect_eq(is.st_mode & 07777, 0644);
    cr_assert_eq(chmod("a", 0600), 0);
    cr_assert_eq(symlink("a", "link"), 0);
    cr_assert_eq(hd_file_write("link", write_word, "two"), HD_OK);
    expect_text("a", "two");
    cr_assert_eq(lstat("link", &is), 0);
    cr_expect(S_ISLNK(is.st_mode));
    cr_assert_eq(stat("a", &is), 0);
    cr_expect_eq(is.st_mode & 07777, 0600);
    expect_files("a link ");
}

Test(file, a_write_that_fails_leaves_none)
{
    hd_result unsupported = HD_UNSUPPORTED;
    cr_expect_eq(hd_file_write("new", write_half, &unsupported), HD_UNSUPPORTED);
    cr_expect_eq(hd_file_write("none/new", write_word, "word"), HD_IO);
    cr_expect_eq(errno, ENOENT);
    cr_expect_eq(hd_file_write(".", write_word, "word"), HD_IO);
    expect_files("");
    cr_assert_eq(hd_file_write("old", write_word, "old"), HD_OK);
    cr_expect_eq(hd_file_write("old", write_half, &unsupported), HD_UNSUPPORTED);
    expect_text("old", "old");
    expect_files("old ");
    cr_expect_eq(hd_file_write(NULL, write_word, "word"), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_file_write("old", NULL, NULL), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_file_write("/dev/null", write_word, "word"), HD_OK);
    cr_expect_eq(hd_file_write("/dev/full", write_word, "word"), HD_IO);
}

/* A disk that is full: the limit of a file's size stands in for it. */
Test(file, a_frame_that_does_not_fit_leaves_none)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hdt_random_graph(graph, 5, 200);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, RLIM_INFINITY}), 0);
    cr_expect_eq(hd_file_write("frame.fgt", write_frame, graph), HD_IO);
    expect_files("");
    hd_graph_destroy(graph);
}

Test(file, an_unwritable_folder_gets_none)
{
    if (geteuid() == 0)
        cr_skip_test("root writes everywhere");
    cr_assert_eq(mkdir("closed", 0500), 0);
    cr_expect_eq(hd_file_write("closed/new", write_word, "word"), HD_IO);
    cr_expect_eq(chmod("closed", 0700), 0);
    expect_files("closed ");
}
