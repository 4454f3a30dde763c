#include "bitset.h"

/* Ranges go by whole words: a mask for the first, full words between, a mask for the last. O(words). */

/* Bits of word that lie in [begin, end). */
static uint64_t range_mask(uint32_t word, uint32_t begin, uint32_t end)
{
    uint64_t mask = UINT64_MAX;

    if (word == begin >> 6)
        mask &= UINT64_MAX << (begin & 63);
    if (word == (end - 1) >> 6)
        mask &= UINT64_MAX >> (63 - ((end - 1) & 63));
    return mask;
}

void hdi_bit_set_range(uint64_t *words, uint32_t begin, uint32_t end)
{
    if (begin >= end)
        return;
    for (uint32_t word = begin >> 6; word <= (end - 1) >> 6; word++)
        words[word] |= range_mask(word, begin, end);
}

void hdi_bit_clear_range(uint64_t *words, uint32_t begin, uint32_t end)
{
    if (begin >= end)
        return;
    for (uint32_t word = begin >> 6; word <= (end - 1) >> 6; word++)
        words[word] &= ~range_mask(word, begin, end);
}

bool hdi_bit_any_range(const uint64_t *words, uint32_t begin, uint32_t end)
{
    if (begin >= end)
        return false;
    for (uint32_t word = begin >> 6; word <= (end - 1) >> 6; word++)
        if (words[word] & range_mask(word, begin, end))
            return true;
    return false;
}

uint32_t hdi_bit_count(const uint64_t *words, uint32_t bits)
{
    uint32_t count = 0;

    if (bits == 0)
        return 0;
    for (uint32_t word = 0; word <= (bits - 1) >> 6; word++)
        count += (uint32_t)__builtin_popcountll(words[word] & range_mask(word, 0, bits));
    return count;
}
