/* For the end of a benchmark's main. */
#ifndef HDB_PRINTED_H
#define HDB_PRINTED_H

#include <stdbool.h>
#include <stdio.h>

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

#endif
