/* For tests that give null to each pointer of each function of a header: notes which functions were called, and reads
 * the header to see that none is left out. Included by Criterion programs only. */
#ifndef HDT_NULL_CALLS_H
#define HDT_NULL_CALLS_H

#include <criterion/criterion.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static char called[160][48];
static uint32_t called_count;

static inline void note(const char *name)
{
    for (uint32_t i = 0; i < called_count; i++) {
        if (strcmp(called[i], name) == 0)
            return;
    }
    cr_assert_lt(called_count, sizeof(called) / sizeof(called[0]));
    snprintf(called[called_count++], sizeof(called[0]), "%s", name);
}

/* Answers HD_INVALID_ARGUMENT; does nothing; gives something. */
#define REFUSES(name, ...)                                                                                             \
    do {                                                                                                               \
        note(#name);                                                                                                   \
        cr_expect_eq(name(__VA_ARGS__), HD_INVALID_ARGUMENT, #name);                                                   \
    } while (0)
#define BEARS(name, ...) (note(#name), name(__VA_ARGS__))
#define GIVES(what, name, ...)                                                                                         \
    do {                                                                                                               \
        note(#name);                                                                                                   \
        cr_expect(name(__VA_ARGS__) == (what), #name);                                                                 \
    } while (0)

/* Each function that the header declares: the name before the first bracket of a line that does not begin with a blank.
 * Returns how many there are. */
static inline uint32_t expect_called(const char *path)
{
    char line[512];
    uint32_t found = 0;
    FILE *header = fopen(path, "r");
    cr_assert_not_null(header, "%s", path);
    while (fgets(line, sizeof(line), header)) {
        char *open = strchr(line, '('), *name = open;
        if (line[0] == ' ' || line[0] == '/' || line[0] == '#' || strncmp(line, "typedef", 7) == 0 || !open)
            continue;
        while (name > line && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
            name--;
        if (strncmp(name, "hd_", 3) != 0)
            continue;
        *open = 0;
        bool was = false;
        for (uint32_t i = 0; i < called_count && !was; i++)
            was = strcmp(called[i], name) == 0;
        cr_expect(was, "%s is not called", name);
        found++;
    }
    fclose(header);
    return found;
}

#endif
