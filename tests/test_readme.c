#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The example in the README is samples/first/main.c, to the letter: the build compiles it. */

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

Test(readme, example_is_the_first_sample)
{
    char *readme = read_file("README.md"), *sample = read_file("samples/first/main.c");
    cr_assert_not_null(strstr(readme, sample));
    free(readme);
    free(sample);
}
