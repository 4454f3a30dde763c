#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "quality_rows.h"

/* The figures of quality, all exact, as CSV.
 *
 * usage: bench_quality            prints them
 *        bench_quality --update   writes them to bench/baseline/quality.csv */

static bool print_row(const hdb_quality_row *row, void *user)
{
    return fprintf(user, "%s\n", row->text) > 0;
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "bench_quality: %s: %s\n", what, why);
    return 2;
}

/* Under another name first: a run that is stopped leaves the old figures whole. */
static int update(void)
{
    static const char fresh[] = HDB_QUALITY_FILE ".new";
    FILE *stream = fopen(fresh, "w");
    if (!stream)
        return fail(fresh, "cannot be written");
    hdb_quality_head(stream);
    hd_result result = hdb_quality_rows(false, print_row, stream);
    bool written = !ferror(stream);
    written = fclose(stream) == 0 && written;
    if (result == HD_OK && written && rename(fresh, HDB_QUALITY_FILE) == 0)
        return 0;
    remove(fresh);
    return fail(HDB_QUALITY_FILE, result == HD_OK ? hd_result_text(HD_IO) : hd_result_text(result));
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {{"update", no_argument, NULL, 'u'}, {0}};
    bool updates = false;
    int option;
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (option != 'u')
            return 1;
        updates = true;
    }
    if (optind != argc) {
        fprintf(stderr, "usage: bench_quality [--update]\n");
        return 1;
    }
    if (updates)
        return update();
    hdb_quality_head(stdout);
    hd_result result = hdb_quality_rows(false, print_row, stdout);
    return result == HD_OK ? 0 : fail("stopped", hd_result_text(result));
}
