/* The random generator of the workloads: the Mersenne Twister as Python's `random` seeds and reads it, so that a seed
 * gives the same graph here and in a script. */
#ifndef HDB_MERSENNE_H
#define HDB_MERSENNE_H

#include <stdint.h>

#define HDB_MERSENNE_WORDS 624

typedef struct hdb_mersenne {
    uint32_t word[HDB_MERSENNE_WORDS];
    uint32_t next; /* of word; all used: the next draw makes new ones */
} hdb_mersenne;

void hdb_mersenne_seed(hdb_mersenne *m, uint64_t seed);
/* In [0, 1), 53 bits. */
double hdb_random(hdb_mersenne *m);
/* Below limit, which is not zero; without bias. */
uint32_t hdb_below(hdb_mersenne *m, uint32_t limit);
/* From low to high, both possible. */
uint32_t hdb_between(hdb_mersenne *m, uint32_t low, uint32_t high);
/* `count` different numbers below limit, in the order in which they were drawn. count is at most limit and 16; scratch
 * has room for 512 numbers. */
void hdb_sample(hdb_mersenne *m, uint32_t limit, uint32_t count, uint32_t *scratch, uint32_t *out);

#endif
