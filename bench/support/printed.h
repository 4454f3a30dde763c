/* For the end of a benchmark's main. */
#ifndef HDB_PRINTED_H
#define HDB_PRINTED_H

#include <stdio.h>

/* The status to end with: 2, and why, where what was printed could not be written, so that nobody takes half a table
 * for a whole one. */
static inline int hdb_printed(int status)
{
    if (!ferror(stdout) && fflush(stdout) == 0)
        return status;
    perror("standard output");
    return 2;
}

#endif
