#include "command_line.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

int hdt_heddle(const char *arguments)
{
    char command[2048];
    snprintf(command, sizeof(command), HDT_HEDDLE "%s >out 2>err", arguments);
    int status = system(command);
    cr_assert(WIFEXITED(status), "%s: signal", arguments);
    return WEXITSTATUS(status);
}

char *hdt_contents(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    return text;
}

void hdt_put(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

bool hdt_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

void hdt_expect_no_output(void)
{
    cr_assert_eq(system("test -z \"$(ls -A | grep -v -x -e out -e err -e in.fgt -e bad.json)\""), 0);
}
