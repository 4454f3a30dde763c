/* Eight numbers of 16 bits at once, or four of 32: SSE2 where the compiler has it, else plain C with the same results.
 * A mask has all bits of a lane set, or none. */
#ifndef HDI_SIMD_H
#define HDI_SIMD_H

#include "hints.h"

#include <stdbool.h>
#include <stdint.h>

enum { HDI_LANES = 8 };

#if defined(__SSE2__) && !defined(HDI_PLAIN_SIMD)

#include <emmintrin.h>

typedef __m128i hdi_i16x8;

static HDI_INLINE hdi_i16x8 hdi_i16_load(const int16_t *from)
{
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

static HDI_INLINE void hdi_i16_store(int16_t *to, hdi_i16x8 a)
{
    _mm_storeu_si128((__m128i *)(void *)to, a);
}

static HDI_INLINE hdi_i16x8 hdi_i16_all(int16_t value)
{
    return _mm_set1_epi16(value);
}

/* The nearest number that there is where the difference is none. */
static HDI_INLINE hdi_i16x8 hdi_i16_subtract_clamped(hdi_i16x8 a, hdi_i16x8 b)
{
    return _mm_subs_epi16(a, b);
}

static HDI_INLINE hdi_i16x8 hdi_i16_max(hdi_i16x8 a, hdi_i16x8 b)
{
    return _mm_max_epi16(a, b);
}

static HDI_INLINE hdi_i16x8 hdi_i16_greater(hdi_i16x8 a, hdi_i16x8 b)
{
    return _mm_cmpgt_epi16(a, b);
}

static HDI_INLINE hdi_i16x8 hdi_i16_and(hdi_i16x8 a, hdi_i16x8 b)
{
    return _mm_and_si128(a, b);
}

static HDI_INLINE hdi_i16x8 hdi_i16_or(hdi_i16x8 a, hdi_i16x8 b)
{
    return _mm_or_si128(a, b);
}

/* Zero where the mask is set. */
static HDI_INLINE hdi_i16x8 hdi_i16_unless(hdi_i16x8 mask, hdi_i16x8 a)
{
    return _mm_andnot_si128(mask, a);
}

/* A bit for each lane of a mask. */
static HDI_INLINE uint32_t hdi_i16_bits(hdi_i16x8 mask)
{
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(mask, _mm_setzero_si128()));
}

/* Each lane gets the one before it, the first one zero. */
static HDI_INLINE hdi_i16x8 hdi_i16_move_up(hdi_i16x8 a)
{
    return _mm_slli_si128(a, 2);
}

/* Each lane gets the largest of those up to it. None may be below zero. */
static HDI_INLINE hdi_i16x8 hdi_i16_largest_so_far(hdi_i16x8 a)
{
    a = _mm_max_epi16(a, _mm_slli_si128(a, 2));
    a = _mm_max_epi16(a, _mm_slli_si128(a, 4));
    return _mm_max_epi16(a, _mm_slli_si128(a, 8));
}

/* All lanes get the last one. */
static HDI_INLINE hdi_i16x8 hdi_i16_spread_last(hdi_i16x8 a)
{
    return _mm_shuffle_epi32(_mm_shufflehi_epi16(a, 0xff), 0xff);
}

/* Four numbers of 32 bits, none negative: whether some number of a is greater than that of b; the greater ones. */
static HDI_INLINE bool hdi_u31x4_exceeds(const uint32_t *a, const uint32_t *b)
{
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)a);
    __m128i y = _mm_loadu_si128((const __m128i *)(const void *)b);
    return _mm_movemask_epi8(_mm_cmpgt_epi32(x, y)) != 0;
}

static HDI_INLINE void hdi_u31x4_raise(uint32_t *a, const uint32_t *b)
{
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)a);
    __m128i y = _mm_loadu_si128((const __m128i *)(const void *)b);
    __m128i less = _mm_cmpgt_epi32(y, x);
    _mm_storeu_si128((__m128i *)(void *)a, _mm_or_si128(_mm_and_si128(less, y), _mm_andnot_si128(less, x)));
}

#else

typedef struct hdi_i16x8 {
    int16_t lane[HDI_LANES];
} hdi_i16x8;

#define HDI_EACH_LANE(value)                                                                                           \
    hdi_i16x8 to;                                                                                                      \
    for (int k = 0; k < HDI_LANES; k++)                                                                                \
        to.lane[k] = (int16_t)(value);                                                                                 \
    return to

static inline hdi_i16x8 hdi_i16_load(const int16_t *from)
{
    HDI_EACH_LANE(from[k]);
}

static inline void hdi_i16_store(int16_t *to, hdi_i16x8 a)
{
    for (int k = 0; k < HDI_LANES; k++)
        to[k] = a.lane[k];
}

static inline hdi_i16x8 hdi_i16_all(int16_t value)
{
    HDI_EACH_LANE(value);
}

static inline hdi_i16x8 hdi_i16_subtract_clamped(hdi_i16x8 a, hdi_i16x8 b)
{
    HDI_EACH_LANE(a.lane[k] - b.lane[k] < INT16_MIN   ? INT16_MIN
                  : a.lane[k] - b.lane[k] > INT16_MAX ? INT16_MAX
                                                      : a.lane[k] - b.lane[k]);
}

static inline hdi_i16x8 hdi_i16_max(hdi_i16x8 a, hdi_i16x8 b)
{
    HDI_EACH_LANE(a.lane[k] > b.lane[k] ? a.lane[k] : b.lane[k]);
}

static inline hdi_i16x8 hdi_i16_greater(hdi_i16x8 a, hdi_i16x8 b)
{
    HDI_EACH_LANE(-(a.lane[k] > b.lane[k]));
}

static inline hdi_i16x8 hdi_i16_and(hdi_i16x8 a, hdi_i16x8 b)
{
    HDI_EACH_LANE(a.lane[k] & b.lane[k]);
}

static inline hdi_i16x8 hdi_i16_or(hdi_i16x8 a, hdi_i16x8 b)
{
    HDI_EACH_LANE(a.lane[k] | b.lane[k]);
}

static inline hdi_i16x8 hdi_i16_unless(hdi_i16x8 mask, hdi_i16x8 a)
{
    HDI_EACH_LANE(~mask.lane[k] & a.lane[k]);
}

static inline uint32_t hdi_i16_bits(hdi_i16x8 mask)
{
    uint32_t bits = 0;
    for (int k = 0; k < HDI_LANES; k++)
        bits |= (uint32_t)(mask.lane[k] & 1) << k;
    return bits;
}

static inline hdi_i16x8 hdi_i16_move_up(hdi_i16x8 a)
{
    HDI_EACH_LANE(k ? a.lane[k - 1] : 0);
}

static inline hdi_i16x8 hdi_i16_largest_so_far(hdi_i16x8 a)
{
    int16_t most = 0;
    for (int k = 0; k < HDI_LANES; k++)
        a.lane[k] = most = a.lane[k] > most ? a.lane[k] : most;
    return a;
}

static inline hdi_i16x8 hdi_i16_spread_last(hdi_i16x8 a)
{
    HDI_EACH_LANE(a.lane[HDI_LANES - 1]);
}

#undef HDI_EACH_LANE

static inline bool hdi_u31x4_exceeds(const uint32_t *a, const uint32_t *b)
{
    return a[0] > b[0] || a[1] > b[1] || a[2] > b[2] || a[3] > b[3];
}

static inline void hdi_u31x4_raise(uint32_t *a, const uint32_t *b)
{
    for (int k = 0; k < 4; k++)
        a[k] = b[k] > a[k] ? b[k] : a[k];
}

#endif

#endif
