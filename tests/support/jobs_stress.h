/* The job pool under load: more threads than processors, submits and waits from everywhere, a host's threads, thousands
 * of counters that live and die on stacks, pauses that let the workers park. */
#ifndef HDT_JOBS_STRESS_H
#define HDT_JOBS_STRESS_H

#include <stdint.h>

/* Runs all parts, each for so long (HEDDLE_STRESS_MS: for another time), and prints what passed. HEDDLE_SEED replays
 * one seed. Returns the program's exit status. */
int hdt_jobs_stress(uint64_t part_ms);

/* The program's: told the seed before the parts begin. */
void hdt_stress_seed(uint64_t seed);

#endif
