/* For the end of a benchmark's main. */
#ifndef HDB_PRINTED_H
#define HDB_PRINTED_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The exit status: 2, with the reason on stderr, where what was printed could not be written, so that half a table does
 * not pass for a whole one. */
static inline int hdb_printed(int status)
{
    const bool failed = ferror(stdout); /* with an errno that others have overwritten since */
    if (fflush(stdout) == 0 && !failed)
        return status;
    if (failed)
        fputs("standard output: not all of it could be written\n", stderr);
    else
        perror("standard output");
    return 2;
}

/* Of a command line that is not understood; or that asks for help, which is no mistake. The exit status. */
static inline int hdb_usage(int argc, char **argv, const char *usage)
{
    const bool asked = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (!asked && argc > 1)
        fprintf(stderr, "'%s' is not understood\n", argv[argc - 1]);
    fputs(usage, asked ? stdout : stderr);
    return asked ? hdb_printed(0) : 1;
}

#endif
