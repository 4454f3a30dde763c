/* Between the packers by buckets. */
#ifndef HDI_ALIAS_BUCKETS_H
#define HDI_ALIAS_BUCKETS_H

#include "alias_newcomer.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { HDI_BUCKET_BLOCK = 8, HDI_BUCKET_LANES = 4, HDI_BUCKET_FIRST = 64 };
enum { HDI_BUCKET_AHEAD = 8 }; /* members, whose stays are fetched so much earlier */
enum { HDI_GRAIN_BITS = 16, HDI_GRAIN = 1 << HDI_GRAIN_BITS, HDI_GRAIN_UNITS = HDI_GRAIN / HDI_PACK_UNIT };

/* Items of a bucket of whole grains: rows of so many, one below the other. The last one is above everything. */
enum { HDI_GRAINS_OFFSET, HDI_GRAINS_END, HDI_GRAINS_TIME };
struct hdi_pack_grains {
    int16_t *row; /* offset, end; by queue: what items know when they start; then, likewise, who is unaware */
    const int32_t *base;
    uint32_t count, capacity;
    uint32_t next, above; /* of the search that is going on: the block to go on with, the item that he fits below */
};

/* As many members as are whole grains, from the first one on, around those that are placed. Returns how many; HDI_NONE:
 * out of memory. *end: bytes, the highest of all. It is not there without SSE2. */
uint32_t hdi_pack_in_grains(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t most,
                            uint64_t *end);

/* Of the table of where they begin: as many queues as are read at a time. */
static inline uint32_t hdi_bucket_lanes(uint32_t queues)
{
    return (queues + HDI_BUCKET_LANES - 1) / HDI_BUCKET_LANES * HDI_BUCKET_LANES;
}

/* In order of size those of a long frame lie far apart: at so many, from the first one on, one ahead is fetched. */
static inline uint32_t hdi_bucket_fetched(const hdi_pack *pack, uint32_t count)
{
    bool far = pack->by_clocks && pack->res_count >= HDI_PACK_FAR && count > HDI_BUCKET_AHEAD;
    return far ? count - HDI_BUCKET_AHEAD : 0;
}

static HDI_INLINE void hdi_fetch_stay(const hdi_pack *pack, uint32_t res, uint32_t queues)
{
    const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * queues];
    HDI_FETCH(stay);
    HDI_FETCH(stay + queues - 1);
}

static HDI_INLINE uint32_t hdi_aligned(uint32_t at, const hdi_newcomer *n)
{
    return (at + n->alignment - 1) & ~(n->alignment - 1);
}

#ifdef __SSE2__
static HDI_INLINE __m128i hdi_load(const void *from)
{
    return _mm_loadu_si128((const __m128i *)from);
}

static HDI_INLINE void hdi_store(void *to, __m128i value)
{
    _mm_storeu_si128((__m128i *)to, value);
}
#else
static inline int16_t hdi_narrow(int32_t value)
{
    return (int16_t)(value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value);
}
#endif

/* As many of two tables, counted from a third. */
static HDI_INLINE void hdi_narrow_lanes(const int32_t *one, const int32_t *other, const int32_t *base, int16_t *lane)
{
#ifdef __SSE2__
    __m128i from = hdi_load(base), low = _mm_sub_epi32(hdi_load(one), from),
            high = _mm_sub_epi32(hdi_load(other), from);
    hdi_store(lane, _mm_packs_epi32(low, high));
#else
    for (uint32_t k = 0; k < HDI_BUCKET_LANES; k++) {
        lane[k] = hdi_narrow(one[k] - base[k]);
        lane[HDI_BUCKET_LANES + k] = hdi_narrow(other[k] - base[k]);
    }
#endif
}

/* When an item lives: in arrays of so many, by queue. */
static HDI_INLINE void hdi_write_time(int16_t *at, size_t capacity, const hdi_newcomer *n, const int32_t *base,
                                      uint32_t queues)
{
    int16_t *known = at, *unaware = at + queues * capacity;
    for (uint32_t q = 0; q < queues; q += HDI_BUCKET_LANES) {
        int16_t lane[2 * HDI_BUCKET_LANES];
        hdi_narrow_lanes(n->known + q, n->unaware + q, base + q, lane);
        for (uint32_t k = 0; k < HDI_BUCKET_LANES && q + k < queues; k++, known += capacity, unaware += capacity) {
            *known = lane[k];
            *unaware = lane[HDI_BUCKET_LANES + k];
        }
    }
}

#endif
