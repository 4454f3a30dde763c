/* Items of a bucket, eight at a time, with SSE2. */
#ifndef HDI_ALIAS_LANES_H
#define HDI_ALIAS_LANES_H

#include "alias_buckets.h"

enum { HDI_LANES = 8 };
typedef __m128i hdi_lanes;

static HDI_INLINE hdi_lanes hdi_lanes_load(const int16_t *from)
{
    return hdi_load(from);
}

static HDI_INLINE void hdi_lanes_store(int16_t *to, hdi_lanes value)
{
    hdi_store(to, value);
}

static HDI_INLINE hdi_lanes hdi_lanes_all(int32_t value, int32_t base)
{
    __m128i one = _mm_sub_epi32(_mm_cvtsi32_si128(value), _mm_cvtsi32_si128(base));
    return _mm_shuffle_epi32(_mm_shufflelo_epi16(_mm_packs_epi32(one, one), 0), 0);
}

static HDI_INLINE hdi_lanes hdi_lanes_more(hdi_lanes one, hdi_lanes other)
{
    return _mm_cmpgt_epi16(one, other);
}

static HDI_INLINE hdi_lanes hdi_lanes_max(hdi_lanes one, hdi_lanes other)
{
    return _mm_max_epi16(one, other);
}

static HDI_INLINE hdi_lanes hdi_lanes_minus(hdi_lanes one, hdi_lanes other)
{
    return _mm_subs_epi16(one, other);
}

static HDI_INLINE uint32_t hdi_lanes_bits(hdi_lanes set)
{
    return (uint32_t)_mm_movemask_epi8(set);
}

static HDI_INLINE hdi_lanes hdi_lanes_up(hdi_lanes all)
{
    return _mm_slli_si128(all, 2);
}

static HDI_INLINE hdi_lanes hdi_lanes_highest(hdi_lanes all)
{
    all = _mm_max_epi16(all, _mm_slli_si128(all, 2));
    all = _mm_max_epi16(all, _mm_slli_si128(all, 4));
    return _mm_max_epi16(all, _mm_slli_si128(all, 8));
}

static HDI_INLINE hdi_lanes hdi_lanes_last(hdi_lanes all)
{
    return _mm_shuffle_epi32(_mm_shufflehi_epi16(all, 0xff), 0xff);
}

static HDI_INLINE hdi_lanes hdi_lanes_and(hdi_lanes one, hdi_lanes other)
{
    return one & other;
}

static HDI_INLINE hdi_lanes hdi_lanes_or(hdi_lanes one, hdi_lanes other)
{
    return one | other;
}

/* Zero where it is set. */
static HDI_INLINE hdi_lanes hdi_lanes_unless(hdi_lanes set, hdi_lanes value)
{
    return ~set & value;
}

/* One of the newcomer's queues, in a bucket. */
typedef struct hdi_bucket_view {
    const int16_t *known, *unaware;
    hdi_lanes first, last;
} hdi_bucket_view;

/* Of so many of his queues. */
static HDI_INLINE void hdi_find_views(const int16_t *time, size_t capacity, const int32_t *base, const hdi_newcomer *n,
                                      uint32_t queues, uint32_t own, hdi_bucket_view *view)
{
    uint32_t left = n->queues;
    for (uint32_t k = 0; k < own; k++, left &= left - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(left);
        const int16_t *known = time + q * capacity;
        view[k] = (hdi_bucket_view){known, known + queues * capacity, hdi_lanes_all(n->first[q], base[q]),
                                    hdi_lanes_all(n->last[q], base[q])};
    }
}

/* Items that are over before, or start behind, all that he does. */
static HDI_INLINE hdi_lanes hdi_find_aside(const hdi_bucket_view *v, uint32_t views, uint32_t from)
{
    hdi_lanes before = hdi_lanes_more(v->first, hdi_lanes_load(v->unaware + from)),
              behind = hdi_lanes_more(hdi_lanes_load(v->known + from), v->last);
    for (uint32_t k = 1; k < views; k++) {
        before = hdi_lanes_and(before, hdi_lanes_more(v[k].first, hdi_lanes_load(v[k].unaware + from)));
        behind = hdi_lanes_and(behind, hdi_lanes_more(hdi_lanes_load(v[k].known + from), v[k].last));
    }
    return hdi_lanes_or(before, behind);
}

#endif
