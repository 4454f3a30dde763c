/* How many processors the process may use at once. */
#ifndef HDI_CPUS_H
#define HDI_CPUS_H

#include <pthread.h>
#include <stdint.h>

/* The smaller of the processors in the thread's affinity mask and the cgroup's CPU quota rounded up; at least 1. */
uint32_t hdi_cpus_usable(void);

/* ceil(quota / period) from the text of a cgroup-2 cpu.max ("100000 100000", "max 100000"); 0: no limit. */
uint32_t hdi_cpus_parse_max(const char *text);

/* Binds a thread to processor number index (modulo their count) of the caller's affinity mask; where that is refused,
 * it stays free. */
void hdi_cpus_pin(pthread_t thread, uint32_t index);

#endif
