#include <getopt.h>
#include <stdlib.h>

#include "sections.h"
#include "bars.h"
#include "printed.h"
#include "quality_rows.h"

/* What plans cost: exact figures, no times.
 *
 * usage: heddle-bench quality            prints the figures that are committed, as CSV
 *        heddle-bench quality --update   writes them to bench/baseline/quality.csv
 *        heddle-bench quality --bars     prints what plans are to reach, and what they do
 *        heddle-bench quality --spare    counts the waits and barriers that a plan does not need; --each names them
 * --bars and --spare take --seed N, to see whether a figure is luck. */

static bool print_row(const hdb_quality_row *row, void *user)
{
    return fprintf(user, "%s\n", row->text) > 0;
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "heddle-bench quality: %s: %s\n", what, why);
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

static hd_result print_spare(uint64_t seed, bool each)
{
    hd_result result = HD_OK;
    for (int order = 0; result == HD_OK && order < 3; order++)
        result = hdb_print_spare(stdout, seed, 200, (hd_order)order, each);
    return result;
}

int hbs_quality(int argc, char **argv)
{
    static const struct option longs[] = {{"update", no_argument, NULL, 'u'},     {"bars", no_argument, NULL, 'b'},
                                          {"spare", no_argument, NULL, 's'},      {"each", no_argument, NULL, 'e'},
                                          {"seed", required_argument, NULL, 'n'},
                                          {"help", no_argument, NULL, 'h'},       {0}};
    static const char usage[] =
        "usage: heddle-bench quality [--update | --bars | --spare [--each]] [--seed N]\n"
        "what plans cost, as CSV\n"
        "  --update   writes the figures that are committed\n"
        "  --bars     what the project promises, beside what is reached\n"
        "  --spare    heaps beside a bound below; --each: of each row\n"
        "  --seed N   of the workloads\n";
    int option, mode = 'p';
    uint64_t seed = HDB_SEED;
    char *end = "";
    bool each = false;
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1 && option != '?') {
        if (option == 'e')
            each = true;
        else if (option == 'n')
            seed = strtoull(optarg, &end, 10);
        else
            mode = option;
    }
    if (option == '?' || mode == 'h' || optind != argc || *end)
        return hdb_usage(argc, argv, usage);
    hd_result result;
    switch (mode) {
    case 'u':
        return update();
    case 'b':
        result = hdb_print_bars(stdout, seed);
        break;
    case 's':
        result = print_spare(seed, each);
        break;
    default:
        hdb_quality_head(stdout);
        result = hdb_quality_rows(false, print_row, stdout);
    }
    return result == HD_OK ? hdb_printed(0) : fail("stopped", hd_result_text(result));
}
