/* What plans are to reach, and what they do. */
#ifndef HDB_BARS_H
#define HDB_BARS_H

#include <stdio.h>

#include <heddle/graph.h>

/* Prints each aim with the figure of now. The aims are given for seed 1; others show what is luck. */
hd_result hdb_print_bars(FILE *stream, uint64_t seed);
/* Prints for every family at pass_count passes how many waits and barriers can be taken out alone, and with `each`
 * which. */
hd_result hdb_print_spare(FILE *stream, uint64_t seed, uint32_t pass_count, hd_order order, bool each);

#endif
