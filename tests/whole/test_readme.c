#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"

/* The example in the README stands in samples/hello/main.c, to the letter: the build compiles it. */

static char *read_file(const char *name)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", HEDDLE_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    char *text = calloc(1, 1 << 20);
    cr_assert_lt(fread(text, 1, (1 << 20) - 1, file), (size_t)(1 << 20) - 1);
    fclose(file);
    return text;
}

Test(readme, example_is_of_hello)
{
    char *readme = read_file("README.md"), *sample = read_file("samples/hello/main.c");
    char *example = strstr(readme, "```c\n"), *end = example ? strstr(example, "\n```\n") : NULL;
    cr_assert_not_null(end);
    *end = '\0';
    cr_expect_not_null(strstr(sample, example + strlen("```c\n")));
    cr_expect_gt(end - example, 1000);
    free(readme);
    free(sample);
}

/* What a sample prints is what it is run for: where it cannot be written, it says so and ends with 2. */
Test(readme, samples_need_their_output, .init = hdt_enter_folder, .fini = hdt_leave_folder)
{
    static const char *const samples[] = {"hello/hello", "vma/vma",
                                          "deferred/deferred --frames 1 --size 64x64"};
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        char command[1024];
        int n = snprintf(command, sizeof(command), "'" HEDDLE_BINARY_DIR "'/samples/%s >", samples[i]);
        snprintf(command + n, sizeof(command) - (size_t)n, "text 2>err");
        if (system(command) != 0) {
            printf("%s: not built, or no device\n", samples[i]);
            continue;
        }
        snprintf(command + n, sizeof(command) - (size_t)n, "/dev/full 2>err");
        int status = system(command);
        cr_expect_eq(WEXITSTATUS(status), 2, "%s: %d", samples[i], status);
        cr_expect_eq(system("test -s err"), 0, "%s says nothing", samples[i]);
    }
}
