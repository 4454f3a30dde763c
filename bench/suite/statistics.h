/* Statistics of samples: order statistics, and whether two sets of samples differ. */
#ifndef HBS_STATISTICS_H
#define HBS_STATISTICS_H

#include <stdint.h>

typedef struct hbs_spread {
    double median, low, high; /* low, high: the first and the third quartile */
} hbs_spread;

/* Sorts the samples. All zero where there are none. O(n log n) */
hbs_spread hbs_spread_of(double *samples, uint32_t count);

/* The two-sided probability that two sets of samples as different as these come from one distribution: Mann-Whitney U,
 * by the normal approximation with a correction for ties (good from 8 samples each on). 1 where one is empty.
 * Source: Mann and Whitney, On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other,
 * 1947. O((n + m) log(n + m)); no memory: 1. */
double hbs_mann_whitney(const double *a, uint32_t n, const double *b, uint32_t m);

#endif
