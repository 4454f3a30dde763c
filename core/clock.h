/* Monotonic time in nanoseconds, for statistics, waits and what tells graphs apart: no plan depends on it. */
#ifndef HDI_CLOCK_H
#define HDI_CLOCK_H

#include <stdint.h>

uint64_t hdi_clock_ns(void);

#endif
