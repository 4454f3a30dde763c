/* Bitset over 64-bit words, in the caller's memory. */
#ifndef HDI_BITSET_H
#define HDI_BITSET_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t hdi_bit_words(uint32_t bits)
{
    return (uint32_t)(((uint64_t)bits + 63) / 64);
}
static inline bool hdi_bit_get(const uint64_t *words, uint32_t bit)
{
    return (words[bit >> 6] >> (bit & 63)) & 1;
}
static inline void hdi_bit_set(uint64_t *words, uint32_t bit)
{
    words[bit >> 6] |= (uint64_t)1 << (bit & 63);
}
static inline void hdi_bit_clear(uint64_t *words, uint32_t bit)
{
    words[bit >> 6] &= ~((uint64_t)1 << (bit & 63));
}
/* Sets, clears or tests (any set) the bits begin .. end - 1, whole words at a time. */
void hdi_bit_set_range(uint64_t *words, uint32_t begin, uint32_t end);
void hdi_bit_clear_range(uint64_t *words, uint32_t begin, uint32_t end);
bool hdi_bit_any_range(const uint64_t *words, uint32_t begin, uint32_t end);
uint32_t hdi_bit_count(const uint64_t *words, uint32_t bits);

#endif
