/* Of the skyline (alias_skyline.c): rows of eight numbers of 16 bits, by list or by piece of time. They are written
 * whole, as they are read next: what has just been written could not be read in wider pieces. */
#ifndef HDI_ALIAS_SKYLINE_ROWS_H
#define HDI_ALIAS_SKYLINE_ROWS_H

#include "hints.h"

#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { HDI_ROW = 8 };

#ifdef __SSE2__
static HDI_INLINE __m128i hdi_load_row(const int16_t *row)
{
    return _mm_loadu_si128((const __m128i *)(const void *)row);
}

static HDI_INLINE void hdi_store_row(int16_t *row, __m128i value)
{
    _mm_storeu_si128((__m128i *)(void *)row, value);
}

/* In all eight of them. */
static HDI_INLINE __m128i hdi_largest_of(__m128i row)
{
    row = _mm_max_epi16(row, _mm_shuffle_epi32(row, 0x4e));
    row = _mm_max_epi16(row, _mm_shuffle_epi32(row, 0xb1));
    return _mm_max_epi16(row, _mm_or_si128(_mm_slli_epi32(row, 16), _mm_srli_epi32(row, 16)));
}

/* Which of eight from one on are within [begin, last]. */
static HDI_INLINE __m128i hdi_within(uint32_t from, uint32_t begin, uint32_t last)
{
    __m128i at = _mm_add_epi16(_mm_set1_epi16((int16_t)from), _mm_set_epi16(7, 6, 5, 4, 3, 2, 1, 0));
    return _mm_andnot_si128(_mm_cmpgt_epi16(_mm_set1_epi16((int16_t)begin), at),
                            _mm_cmpgt_epi16(_mm_set1_epi16((int16_t)(last + 1)), at));
}
#endif

static HDI_INLINE void hdi_set_in_row(int16_t *rows, uint32_t at, int16_t value)
{
#ifdef __SSE2__
    static const int16_t only[15] = {[7] = -1};
    __m128i one = hdi_load_row(&only[7 - at % HDI_ROW]), old = hdi_load_row(&rows[at & ~7u]);
    hdi_store_row(&rows[at & ~7u], _mm_or_si128(_mm_andnot_si128(one, old), _mm_and_si128(one, _mm_set1_epi16(value))));
#else
    rows[at] = value;
#endif
}

/* Which of those within [begin, last] is the largest, of several the first; where none is above 0, the first of all. */
static HDI_INLINE uint32_t hdi_find_largest(const int16_t *rows, uint32_t begin, uint32_t last)
{
#ifdef __SSE2__
    const __m128i zero = _mm_setzero_si128();
    __m128i most = zero;
    for (uint32_t p = begin & ~7u; p <= last; p += HDI_ROW)
        most = _mm_max_epi16(most, _mm_and_si128(hdi_load_row(&rows[p]), hdi_within(p, begin, last)));
    most = hdi_largest_of(most);
    __m128i nothing = _mm_cmpeq_epi16(most, zero);
    for (uint32_t p = begin & ~7u; p <= last; p += HDI_ROW) {
        __m128i here = _mm_and_si128(_mm_or_si128(_mm_cmpeq_epi16(hdi_load_row(&rows[p]), most), nothing),
                                     hdi_within(p, begin, last));
        uint32_t where = (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(here, here)) & 0xff;
        if (where)
            return p + (uint32_t)__builtin_ctz(where);
    }
    return begin;
#else
    uint32_t largest = begin;
    int16_t most = 0;
    for (uint32_t p = begin; p <= last; p++) {
        largest = rows[p] > most ? p : largest;
        most = rows[p] > most ? rows[p] : most;
    }
    return largest;
#endif
}

static HDI_INLINE void hdi_subtract_within(int16_t *rows, uint32_t begin, uint32_t last, int16_t value)
{
#ifdef __SSE2__
    for (uint32_t p = begin & ~7u; p <= last; p += HDI_ROW) {
        __m128i less = _mm_and_si128(_mm_set1_epi16(value), hdi_within(p, begin, last));
        hdi_store_row(&rows[p], _mm_sub_epi16(hdi_load_row(&rows[p]), less));
    }
#else
    for (uint32_t p = begin; p <= last; p++)
        rows[p] = (int16_t)(rows[p] - value);
#endif
}

#endif
