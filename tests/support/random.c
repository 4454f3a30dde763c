#include "random.h"

#include <stdlib.h>

/* SplitMix64 (Steele, Lea, Flood 2014): any seed is a good seed. */

uint64_t hdt_seed(void)
{
    const char *text = getenv("HEDDLE_SEED");

    return text ? strtoull(text, NULL, 0) : 20240917;
}

uint64_t hdt_random(uint64_t *state)
{
    uint64_t value = *state += 0x9e3779b97f4a7c15u;

    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

uint32_t hdt_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)((hdt_random(state) >> 32) % limit);
}
