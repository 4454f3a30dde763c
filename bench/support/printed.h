/* For the end of a benchmark's main. */
#ifndef HDB_PRINTED_H
#define HDB_PRINTED_H

#include <stdbool.h>
#include <stdio.h>

/* The status to end with: 2, and why, where what was printed could not be written, so that nobody takes half a table
 * for a whole one. */
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
