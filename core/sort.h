/* LSD radix sort of 64-bit keys with 32-bit values, stable, 8 bits a round, rounds in which all keys agree skipped.
 * O(8 n). The result stands in keys and values; the two scratch arrays hold n elements each. */
#ifndef HDI_SORT_H
#define HDI_SORT_H

#include <stdint.h>

void hdi_sort_u64(uint64_t *keys, uint32_t *values, uint64_t *scratch_keys, uint32_t *scratch_values, uint32_t n);

#endif
