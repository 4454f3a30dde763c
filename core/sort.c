#include "sort.h"

#include <string.h>

/* LSD radix sort, 8 bits a round; one pass counts all eight histograms, and a round whose digit is the same in every
 * key is skipped: keys made of a few small fields cost two to four rounds. Below SMALL elements insertion is faster
 * than clearing 8 KiB of counts. Both are stable, so which of them ran cannot be seen. */

enum { SMALL = 48, ROUNDS = 8, DIGITS = 256 };

static void insertion(uint64_t *keys, uint32_t *values, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint64_t key = keys[i];
        uint32_t value = values[i];
        uint32_t at = i;
        for (; at > 0 && keys[at - 1] > key; at--) {
            keys[at] = keys[at - 1];
            values[at] = values[at - 1];
        }
        keys[at] = key;
        values[at] = value;
    }
}

static unsigned digit(uint64_t key, unsigned round)
{
    return (unsigned)(key >> (8 * round)) & 255;
}

void hdi_sort_u64(uint64_t *keys, uint32_t *values, uint64_t *scratch_keys, uint32_t *scratch_values, uint32_t n)
{
    uint32_t counts[ROUNDS][DIGITS];
    uint64_t *from_keys = keys, *to_keys = scratch_keys;
    uint32_t *from_values = values, *to_values = scratch_values;

    if (n < SMALL) {
        insertion(keys, values, n);
        return;
    }
    memset(counts, 0, sizeof counts);
    for (uint32_t i = 0; i < n; i++)
        for (unsigned round = 0; round < ROUNDS; round++)
            counts[round][digit(keys[i], round)]++;

    for (unsigned round = 0; round < ROUNDS; round++) {
        uint32_t *at = counts[round];
        if (at[digit(from_keys[0], round)] == n)
            continue;
        uint32_t sum = 0;
        for (unsigned d = 0; d < DIGITS; d++) {
            uint32_t count = at[d];
            at[d] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < n; i++) {
            uint32_t place = at[digit(from_keys[i], round)]++;
            to_keys[place] = from_keys[i];
            to_values[place] = from_values[i];
        }
        uint64_t *swap_keys = from_keys;
        uint32_t *swap_values = from_values;
        from_keys = to_keys;
        from_values = to_values;
        to_keys = swap_keys;
        to_values = swap_values;
    }
    if (from_keys != keys) {
        memcpy(keys, from_keys, (size_t)n * sizeof *keys);
        memcpy(values, from_values, (size_t)n * sizeof *values);
    }
}
