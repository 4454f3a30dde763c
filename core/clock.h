/* Monotonic time in nanoseconds, for statistics only: nothing that heddle computes depends on it. */
#ifndef HDI_CLOCK_H
#define HDI_CLOCK_H

#include <stdint.h>

uint64_t hdi_clock_ns(void);

#endif
