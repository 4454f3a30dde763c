/* What is known of queues: of each the newest slot that has finished, + 1; 0: none. They stand in fields of words, each
 * with a bit above it that is clear, so that a subtraction compares all of a word at once. Short clocks are one word of
 * four, which lives in a register; where there are more queues or more slots than that, two to a word. `words` says
 * which: 1 is a short one, and a constant where code is made for it. */
#ifndef HDI_SCHEDULE_CLOCK_H
#define HDI_SCHEDULE_CLOCK_H

#include <heddle/graph.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "hints.h"

enum { HDI_CLOCK_WORDS = HD_MAX_QUEUES / 2, HDI_SHORT_QUEUES = 4, HDI_SHORT_SLOTS = (1 << 15) - 1 };

static inline uint32_t hdi_clock_words(uint32_t queues, uint32_t slots)
{
    uint32_t words = (queues + 1) / 2;
    return queues <= HDI_SHORT_QUEUES && slots <= HDI_SHORT_SLOTS ? 1 : words > 2 ? words : 2;
}
static HDI_INLINE uint32_t hdi_clock_bits(uint32_t words)
{
    return words == 1 ? 16 : 32;
}
static HDI_INLINE uint64_t hdi_clock_mask(uint32_t words)
{
    return ((uint64_t)1 << (hdi_clock_bits(words) - 1)) - 1;
}
static HDI_INLINE uint64_t hdi_clock_guards(uint32_t words)
{
    return words == 1 ? 0x8000800080008000u : 0x8000000080000000u;
}
static HDI_INLINE uint32_t hdi_clock_word(uint32_t words, uint32_t queue)
{
    return words == 1 ? 0 : queue / 2;
}
static HDI_INLINE uint32_t hdi_clock_shift(uint32_t words, uint32_t queue)
{
    return words == 1 ? queue * 16 : queue % 2 * 32;
}
static HDI_INLINE uint32_t hdi_clock_get(uint32_t words, const uint64_t *clock, uint32_t queue)
{
    return (uint32_t)(clock[hdi_clock_word(words, queue)] >> hdi_clock_shift(words, queue) & hdi_clock_mask(words));
}

/* Whether there is nothing that only `other` knows. */
static HDI_INLINE bool hdi_clock_covers(uint32_t words, const uint64_t *clock, const uint64_t *other)
{
    uint64_t guards = hdi_clock_guards(words);
    for (uint32_t k = 0; k < words; k++)
        guards &= (clock[k] | hdi_clock_guards(words)) - other[k];
    return guards == hdi_clock_guards(words);
}
/* Learns what `other` knows. Fields are positive numbers, so those of a short clock are one maximum. */
static HDI_INLINE void hdi_clock_raise(uint32_t words, uint64_t *clock, const uint64_t *other)
{
#ifdef __SSE2__
    if (words == 1) {
        __m128i all = _mm_max_epi16(_mm_loadl_epi64((const __m128i *)(const void *)clock),
                                    _mm_loadl_epi64((const __m128i *)(const void *)other));
        _mm_storel_epi64((__m128i *)(void *)clock, all);
        return;
    }
#endif
    for (uint32_t k = 0; k < words; k++) {
        uint64_t guards = ((clock[k] | hdi_clock_guards(words)) - other[k]) & hdi_clock_guards(words);
        uint64_t kept = guards - (guards >> (hdi_clock_bits(words) - 1)); /* all bits of those that are as new here */
        clock[k] = (clock[k] & kept) | (other[k] & ~kept);
    }
}
/* The same of two short clocks, side by side. */
static HDI_INLINE void hdi_clock_raise_two(uint64_t clock[2], const uint64_t other[2])
{
#ifdef __SSE2__
    __m128i all = _mm_max_epi16(_mm_loadu_si128((const __m128i *)(const void *)clock),
                                _mm_set_epi64x((long long)other[1], (long long)other[0]));
    _mm_storeu_si128((__m128i *)(void *)clock, all);
#else
    hdi_clock_raise(1, &clock[0], &other[0]);
    hdi_clock_raise(1, &clock[1], &other[1]);
#endif
}

#endif
