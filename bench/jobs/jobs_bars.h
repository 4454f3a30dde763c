/* What the job pool is to reach, and what it does, on this machine. */
#ifndef JOBS_BARS_H
#define JOBS_BARS_H

/* Tables for 1, 2, 4, 8 and 16 workers, as many as there are processors, then each bar with its figure. Takes up to a
 * minute. Returns how many bars are missed, or -1 where no pool could be made. */
int jobs_print_bars(void);

#endif
