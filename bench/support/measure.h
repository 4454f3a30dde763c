/* Measuring: medians, an allocator that counts, one processor. */
#ifndef HDB_MEASURE_H
#define HDB_MEASURE_H

#include <heddle/base.h>

#include <stdbool.h>

/* Times of one kind, as many as were taken. */
typedef struct hdb_times {
    uint64_t *ns;
    uint32_t count, capacity;
} hdb_times;

/* False: no memory. */
bool hdb_times_add(hdb_times *times, uint64_t ns);
/* Sorts them; 0 where there are none. */
double hdb_times_median(hdb_times *times);
void hdb_times_clear(hdb_times *times);
void hdb_times_free(hdb_times *times);

/* Counts what goes through it. One thread. */
typedef struct hdb_counted {
    uint64_t made;        /* allocations so far */
    uint64_t bytes, peak; /* out now; the most that were out at once */
} hdb_counted;
hd_allocator hdb_counted_allocator(hdb_counted *counted);

/* A number of an argument, from least to most; false where it is none. */
bool hdb_number(const char *text, uint32_t least, uint32_t most, uint32_t *out);

/* Keeps this thread on the processor that it is on. False where the system does not allow it. */
bool hdb_pin(int *processor);

#endif
