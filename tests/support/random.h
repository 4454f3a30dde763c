/* Random numbers for property tests. hdt_seed() is the base seed of the run: HEDDLE_SEED if set, else a fixed one, so
 * that a plain run is the same everywhere; tests print the seed of the case that fails. */
#ifndef HDT_RANDOM_H
#define HDT_RANDOM_H

#include <stdint.h>

uint64_t hdt_seed(void);
/* The next 64 bits of a SplitMix64 sequence. */
uint64_t hdt_random(uint64_t *state);
/* Below limit, which is not zero; the bias of the division does not matter to tests. */
uint32_t hdt_below(uint64_t *state, uint32_t limit);

#endif
