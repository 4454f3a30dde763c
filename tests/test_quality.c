#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "quality_rows.h"

/* The compiler's figures of quality against those that are committed. A change is not wrong in itself; it must be seen.
 */

typedef struct comparison {
    FILE *file;
    uint32_t different, row_count;
} comparison;

/* The next row of the committed file without its end; "" at the end. */
static const char *committed_row(FILE *file, char *line, int line_bytes)
{
    while (fgets(line, line_bytes, file)) {
        if (line[0] == '#' || strncmp(line, "family,", 7) == 0)
            continue;
        line[strcspn(line, "\n")] = 0;
        return line;
    }
    return "";
}

static bool compare_row(const hdb_quality_row *row, void *user)
{
    comparison *c = user;
    char line[512];
    const char *before = committed_row(c->file, line, sizeof(line));

    cr_expect_eq(row->verified, HD_OK, "the plan of '%s' fails verification", row->text);
    c->row_count++;
    if (strcmp(before, row->text) == 0)
        return true;
    if (c->different++ < 20)
        fprintf(stderr, "quality:\n  was %s\n  now %s\n", *before ? before : "not there", row->text);
    return true;
}

Test(quality, figures_are_those_that_are_committed)
{
    comparison c = {.file = fopen(HDB_QUALITY_FILE, "r")};
    char line[512];

    cr_assert_not_null(c.file, HDB_QUALITY_FILE " cannot be read");
    cr_assert_eq(hdb_quality_rows(true, compare_row, &c), HD_OK);
    cr_expect_eq(*committed_row(c.file, line, sizeof(line)), 0, "the file has more rows: %s", line);
    fclose(c.file);
    cr_expect_eq(c.different, 0u,
                 "%u of %u rows of " HDB_QUALITY_FILE
                 " changed. If they are meant to, make them anew and commit them with "
                 "the change: cmake --build build/release --target quality_baseline",
                 c.different, c.row_count);
}
