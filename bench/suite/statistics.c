#include "statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the two nearest samples where none is there. */
static double quantile(const double *sorted, uint32_t count, double q)
{
    double at = q * (count - 1);
    uint32_t below = (uint32_t)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

hbs_spread hbs_spread_of(double *samples, uint32_t count)
{
    if (count == 0)
        return (hbs_spread){0};
    qsort(samples, count, sizeof(*samples), compare_doubles);
    return (hbs_spread){quantile(samples, count, 0.5), quantile(samples, count, 0.25), quantile(samples, count, 0.75)};
}

typedef struct ranked {
    double value;
    uint32_t of_a;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    return compare_doubles(&((const ranked *)a)->value, &((const ranked *)b)->value);
}

double hbs_mann_whitney(const double *a, uint32_t n, const double *b, uint32_t m)
{
    ranked *all = n && m ? malloc((n + (size_t)m) * sizeof(*all)) : NULL;
    if (!all)
        return 1;
    for (uint32_t i = 0; i < n + m; i++)
        all[i] = i < n ? (ranked){a[i], 1} : (ranked){b[i - n], 0};
    qsort(all, n + (size_t)m, sizeof(*all), compare_ranked);
    double ranks_of_a = 0, ties = 0, total = (double)n + m;
    for (uint32_t i = 0, end; i < n + m; i = end) {
        end = i + 1;
        while (end < n + m && all[end].value == all[i].value)
            end++;
        double alike = end - i, rank = (i + 1 + end) / 2.0; /* the mean of their ranks, which count from 1 */
        for (uint32_t k = i; k < end; k++)
            ranks_of_a += all[k].of_a ? rank : 0;
        ties += alike * alike * alike - alike;
    }
    free(all);
    double u = ranks_of_a - n * (n + 1.0) / 2, mean = (double)n * m / 2;
    double variance = (double)n * m / 12 * (total + 1 - ties / (total * (total - 1)));
    if (variance <= 0)
        return 1;
    double away = fabs(u - mean) - 0.5; /* correction for continuity */
    return away <= 0 ? 1 : erfc(away / sqrt(2 * variance));
}
