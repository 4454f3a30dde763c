#include "alias_buckets.h"

#include <string.h>

/* In a given order: greedy (size first, as in greedy-by-size arena planning), first fit by offset. Where lives end at
 * few places, or members have few sizes, another packer finds the same sooner. Else those that may be in the way are
 * found over time: slots are cut into buckets, and each keeps what was placed in it by offset. Who of a bucket is in
 * the way of a newcomer, and whether he fits below, is anybody's guess, so that it is found without a branch, of eight
 * at once: by the places on the newcomer's queues from which and up to which nobody may share with an item, which stand
 * in arrays of their own, and by the highest end of all in the way that begin lower. Places are counted from where the
 * bucket begins, in 16 bits, which hold what is too far away by what is as far as that: then two are in each other's
 * way that need not be. O(resources * (placed in a bucket) * buckets of a life).
 *
 * So long as all are whole grains, bytes are in 16 bits as well: alias_grains.c. */

enum { SHORT_LIFE = 16, SHORT_SHIFT = 5, LONG_SHIFT = 7, FIRST_ITEMS = HDI_BUCKET_FIRST, BLOCK = HDI_BUCKET_BLOCK };
/* SSE2 finds the larger of two floats, and not of two integers: positive ones are in the same order as the floats that
 * have their bits. Offsets are counted from BOTTOM, so that these are ordinary numbers in every mode of a processor. */
enum { BOTTOM = 1 << 23, TOP = 0x7f7f7f7f, MOST_UNITS = 0x7e000000 };

/* Items by offset; the last one is above everything. Offsets in units of 256 bytes, the coarsest that all alignments of
 * the .fgt format have in common; a finer end is rounded up. There is room for whole blocks, one of it for what is
 * moved along with the last items. */
struct hdi_pack_bucket {
    uint32_t *offset, *end;
    int16_t *time; /* by queue: what items know when they start; then, likewise, who does not know that they are over */
    const int32_t *base;
    uint32_t count, capacity;
    uint32_t next, above; /* of the search that is going on: the block to go on with, the item that he fits below */
};
typedef struct hdi_pack_bucket bucket;

/* ---- buckets ---- */

/* What lies behind the last item is looked at, too. */
static inline void fill_up(uint32_t *offset, size_t capacity)
{
    memset(offset, TOP & 0xff, 2 * capacity * sizeof(*offset)); /* their ends stand behind them */
}

static HDI_APART bool enlarge(hdi_arena *arena, bucket *b, uint32_t queues)
{
    size_t capacity = b->capacity * (size_t)2;
    uint32_t *offset = HDI_ARENA_ARRAY(arena, uint32_t, capacity * (2 + queues));
    if (!offset)
        return false;
    uint32_t *end = offset + capacity;
    int16_t *time = (int16_t *)(void *)(end + capacity);
    fill_up(offset, capacity);
    memcpy(offset, b->offset, b->count * sizeof(*offset));
    memcpy(end, b->end, b->count * sizeof(*end));
    for (uint32_t k = 0; k < 2 * queues; k++)
        memcpy(time + k * capacity, b->time + k * (size_t)b->capacity, b->count * sizeof(*time));
    b->offset = offset;
    b->end = end;
    b->time = time;
    b->capacity = (uint32_t)capacity;
    return true;
}

/* Items from `at` on move up by one, and maybe some of what lies behind them. */
static HDI_INLINE void make_room(bucket *b, uint32_t at, uint32_t queues)
{
    size_t stride = b->capacity;
#ifdef __SSE2__
    uint32_t *offset = b->offset + at, *end = b->end + at;
    int16_t *time = b->time + at;
    for (size_t from = (b->count - 1 - at) / 8 * (size_t)8;; from -= 8) {
        __m128i low = hdi_load(offset + from), high = hdi_load(offset + from + 4), low_end = hdi_load(end + from),
                high_end = hdi_load(end + from + 4);
        hdi_store(offset + from + 1, low);
        hdi_store(offset + from + 5, high);
        hdi_store(end + from + 1, low_end);
        hdi_store(end + from + 5, high_end);
        for (uint32_t k = 0; k < queues; k++) {
            int16_t *known = time + k * stride + from, *unaware = time + (queues + k) * stride + from;
            __m128i one = hdi_load(known), other = hdi_load(unaware);
            hdi_store(known + 1, one);
            hdi_store(unaware + 1, other);
        }
        if (!from)
            break;
    }
#else
    size_t count = b->count - at;
    memmove(b->offset + at + 1, b->offset + at, count * sizeof(*b->offset));
    memmove(b->end + at + 1, b->end + at, count * sizeof(*b->end));
    for (uint32_t k = 0; k < 2 * queues; k++)
        memmove(b->time + k * stride + at + 1, b->time + k * stride + at, count * sizeof(*b->time));
#endif
}

/* From the item `at` on nobody lies lower. */
static HDI_INLINE bool insert(hdi_arena *arena, bucket *b, uint32_t at, uint32_t offset, const hdi_newcomer *n,
                              uint32_t queues)
{
    if (HDI_UNLIKELY(b->count + BLOCK == b->capacity) && !enlarge(arena, b, queues))
        return false;
    while (at && b->offset[at - 1] > offset)
        at--;
    make_room(b, at, queues);
    b->count++;
    b->offset[at] = offset;
    b->end[at] = offset + n->units;
    hdi_write_time(b->time + at, b->capacity, n, b->base, queues);
    return true;
}

/* Where buckets begin. Who lives long is in fewer of them where they are longer, but looks at more who are gone. */
static bool cut_time(hdi_pack *pack, uint32_t count, uint32_t queues)
{
    if (pack->bucket_base)
        return true;
    pack->bucket_shift = pack->lives <= (uint64_t)count * SHORT_LIFE ? SHORT_SHIFT : LONG_SHIFT;
    uint32_t buckets = pack->bucket_count = ((pack->slot_end - pack->slot_begin) >> pack->bucket_shift) + 1;
    uint32_t lanes = hdi_bucket_lanes(queues);
    int32_t *base = pack->bucket_base = HDI_ARENA_ZEROED(pack->arena, int32_t, (size_t)buckets * lanes);
    if (!base)
        return false;
    for (uint32_t b = 0; b < buckets; b++, base += lanes) {
        uint32_t slot = pack->slot_begin + (b << pack->bucket_shift);
        base[0] = (int32_t)slot;
        for (uint32_t q = 0; q < queues && pack->by_clocks; q++)
            base[q] =
                (int32_t)hdi_pos_from(pack->hazards, q, b ? (uint32_t)base[(int32_t)q - (int32_t)lanes] : 0, slot);
    }
    return true;
}

/* Empty ones. */
static bool set_up_buckets(hdi_pack *pack, uint32_t queues)
{
    if (!pack->bucket) {
        uint32_t buckets = pack->bucket_count;
        pack->bucket = HDI_ARENA_ARRAY(pack->arena, bucket, buckets);
        uint32_t *first = HDI_ARENA_ARRAY(pack->arena, uint32_t, (size_t)buckets * FIRST_ITEMS * (2 + queues));
        if (pack->arena->failed)
            return false;
        const int32_t *base = pack->bucket_base;
        for (uint32_t b = 0; b < buckets; b++, base += hdi_bucket_lanes(queues), first += FIRST_ITEMS * (2 + queues)) {
            pack->bucket[b] = (bucket){.offset = first,
                                       .end = first + FIRST_ITEMS,
                                       .time = (int16_t *)(void *)(first + 2 * FIRST_ITEMS),
                                       .base = base,
                                       .capacity = FIRST_ITEMS};
        }
    }
    for (uint32_t i = 0; i < pack->bucket_count; i++) {
        bucket *b = &pack->bucket[i];
        b->count = 1;
        fill_up(b->offset, b->capacity);
    }
    return true;
}

/* They get what has been placed in grains. */
static bool take_over(hdi_pack *pack, uint32_t queues)
{
    if (!set_up_buckets(pack, queues))
        return false;
    for (uint32_t i = 0; i < pack->bucket_count; i++) {
        const struct hdi_pack_grains *from = &pack->grains[i];
        bucket *b = &pack->bucket[i];
        const int16_t *row = from->row;
        uint32_t items = from->count - 1;
        while (b->capacity < from->capacity) {
            if (!enlarge(pack->arena, b, queues))
                return false;
        }
        for (uint32_t k = 0; k < items; k++) {
            b->offset[k] = BOTTOM + (uint32_t)row[k] * HDI_GRAIN_UNITS;
            b->end[k] = BOTTOM + (uint32_t)row[from->capacity + k] * HDI_GRAIN_UNITS;
        }
        for (uint32_t k = 0; k < 2 * queues; k++)
            memcpy(b->time + k * (size_t)b->capacity, row + (HDI_GRAINS_TIME + k) * (size_t)from->capacity,
                   items * sizeof(*row));
        b->count = from->count;
    }
    return true;
}

/* ---- who is in the way ---- */

#ifdef __SSE2__

#include "alias_lanes.h"

/* Every other one of two fours. */
static HDI_INLINE __m128 every_other(__m128 low, __m128 high, bool odd)
{
    return odd ? _mm_shuffle_ps(low, high, 0xdd) : _mm_shuffle_ps(low, high, 0x88);
}

static HDI_INLINE __m128 max_of(__m128i one, __m128 other)
{
    return _mm_max_ps(_mm_castsi128_ps(one), other);
}

/* Of 4: the highest of those before each. */
static HDI_INLINE __m128 highest_before(__m128 ends)
{
    __m128i bits = _mm_castps_si128(ends);
    return max_of(_mm_slli_si128(bits, 12), max_of(_mm_slli_si128(bits, 8), _mm_castsi128_ps(_mm_slli_si128(bits, 4))));
}

/* Those that begin so far above that there is room below. */
static HDI_INLINE __m128i find_room(const uint32_t *offset, __m128 below, __m128i room)
{
    return _mm_cmpgt_epi32(_mm_sub_epi32(hdi_load(offset), room), _mm_castps_si128(below));
}

/* Goes on in one bucket from an offset to the lowest that is free there. What it has passed lies below for good:
 * offsets only grow. */
static HDI_INLINE uint32_t lowest_in_views(bucket *b, uint32_t from, uint32_t at, const hdi_newcomer *n,
                                           const hdi_bucket_view *v, uint32_t views)
{
    const uint32_t *offset = b->offset;
    __m128 below = _mm_castsi128_ps(_mm_set1_epi32((int32_t)at));
    __m128i room = _mm_set1_epi32((int32_t)n->units - 1);
    for (uint32_t k = from;; k += BLOCK) {
        __m128i aside = hdi_find_aside(v, views, k);
        __m128 low = _mm_andnot_ps(_mm_castsi128_ps(_mm_unpacklo_epi16(aside, aside)),
                                   _mm_castsi128_ps(hdi_load(b->end + k))),
               high = _mm_andnot_ps(_mm_castsi128_ps(_mm_unpackhi_epi16(aside, aside)),
                                    _mm_castsi128_ps(hdi_load(b->end + k + 4)));
        __m128 even = every_other(low, high, false), odd = every_other(low, high, true), pairs = _mm_max_ps(even, odd),
               before = highest_before(pairs), all = _mm_max_ps(before, pairs);
        __m128 below_even = _mm_max_ps(before, below), below_odd = _mm_max_ps(below_even, even);
        below = _mm_max_ps(below, _mm_shuffle_ps(all, all, 0xff));
        __m128 before_low = _mm_unpacklo_ps(below_even, below_odd),
               before_high = _mm_unpackhi_ps(below_even, below_odd);
        __m128i found =
            _mm_packs_epi32(find_room(offset + k, before_low, room), find_room(offset + k + 4, before_high, room));
        uint32_t bits = (uint32_t)_mm_movemask_epi8(found);
        if (HDI_LIKELY(!bits))
            continue;
        uint32_t ends[BLOCK];
        hdi_store(ends, _mm_castps_si128(before_low));
        hdi_store(ends + 4, _mm_castps_si128(before_high));
        for (; bits; bits &= bits - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(bits) / 2, lowest = hdi_aligned(ends[i], n);
            if (HDI_LIKELY(offset[k + i] >= lowest + n->units)) {
                b->next = k;
                b->above = k + i;
                return lowest;
            }
        }
    }
}

static HDI_INLINE uint32_t lowest_in_bucket(bucket *b, uint32_t from, uint32_t at, const hdi_newcomer *n,
                                            uint32_t queues, uint32_t own)
{
    hdi_bucket_view v[HD_MAX_QUEUES];
    hdi_find_views(b->time, b->capacity, b->base, n, queues, own, v);
    return lowest_in_views(b, from, at, n, v, own);
}

#else

static bool is_in_way(const bucket *b, uint32_t item, const hdi_newcomer *n, uint32_t queues)
{
    bool before = true, behind = true;
    for (uint32_t left = n->queues; left; left &= left - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(left);
        const int16_t *known = b->time + q * (size_t)b->capacity + item;
        before &= hdi_narrow(n->first[q] - b->base[q]) > known[queues * (size_t)b->capacity];
        behind &= *known > hdi_narrow(n->last[q] - b->base[q]);
    }
    return !before && !behind;
}

static uint32_t lowest_in_bucket(bucket *b, uint32_t from, uint32_t at, const hdi_newcomer *n, uint32_t queues,
                                 uint32_t own)
{
    uint32_t k = from;
    (void)own;
    for (; b->offset[k] < at + n->units; k++) {
        uint32_t end = hdi_aligned(b->end[k], n);
        at = end > at && is_in_way(b, k, n, queues) ? end : at;
    }
    b->next = b->above = k;
    return at;
}

#endif

#include "alias_lowest.h"

/* ---- who is placed ---- */

/* *end: the highest of them. */
static HDI_INLINE bool insert_placed(hdi_pack *pack, uint64_t *end, uint32_t queues)
{
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i];
        uint64_t at = pack->placed_offset[res] / HDI_PACK_UNIT, units = hdi_pack_units(pack->sizes->need[res].bytes);
        hdi_newcomer n = {.units = (uint32_t)units};
        hdi_read_newcomer(pack, res, &n, queues);
        uint32_t to = hdi_pack_slot(pack, pack->end[res]) >> pack->bucket_shift;
        *end = at + units > *end ? at + units : *end;
        for (uint32_t b = hdi_pack_slot(pack, pack->lifetimes->res_first[res]) >> pack->bucket_shift; b <= to; b++) {
            if (!insert(pack->arena, &pack->bucket[b], pack->bucket[b].count - 1, BOTTOM + (uint32_t)at, &n, queues))
                return false;
        }
    }
    return true;
}

static HDI_INLINE bool pack_in_buckets(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset,
                                       uint64_t *top, uint32_t queues)
{
    const uint32_t *res_first = pack->lifetimes->res_first, *res_close = pack->end;
    const hd_memory_need *needs = pack->sizes->need;
    uint32_t begin = pack->slot_begin, shift = pack->bucket_shift;
    uint64_t most = *top, end = 0;
    uint32_t fetched = hdi_bucket_fetched(pack, count);
    hdi_newcomer n = {.queues = 0};
    *top = UINT64_MAX;
    uint32_t whole = hdi_pack_in_grains(pack, order, count, offset, most, &end);
    if (whole == HDI_NONE || (whole && end >= most)) /* no better than what there is */
        return whole != HDI_NONE;
    if (whole == count) {
        *top = end;
        return true;
    }
    end /= HDI_PACK_UNIT;
    if (whole ? !take_over(pack, queues) : !set_up_buckets(pack, queues) || !insert_placed(pack, &end, queues))
        return false;
    bucket *buckets = pack->bucket;
    for (uint32_t i = whole; i < count; i++) {
        uint32_t res = order[i];
        if (i < fetched)
            hdi_fetch_stay(pack, order[i + HDI_BUCKET_AHEAD], queues);
        uint64_t units = hdi_pack_units(needs[res].bytes), alignment = needs[res].alignment / HDI_PACK_UNIT;
        if (end + units + alignment > MOST_UNITS || alignment > BOTTOM) /* half a terabyte, 2 GiB */
            return true;
        hdi_read_newcomer(pack, res, &n, queues);
        n.units = (uint32_t)units;
        n.alignment = alignment > 1 ? (uint32_t)alignment : 1;
        bucket *from = &buckets[(res_first[res] - begin) >> shift], *to = &buckets[(res_close[res] - begin) >> shift];
        uint32_t at = lowest_of(from, to, &n, queues);
        pack->steps += 20 + 12 * (uint64_t)(to - from);
        for (bucket *b = from; b <= to; b++) {
            pack->steps += b->next;
            if (!insert(pack->arena, b, b->above, at, &n, queues))
                return false;
        }
        at -= BOTTOM;
        offset[res] = (uint64_t)at * HDI_PACK_UNIT;
        end = at + units > end ? at + units : end;
        if (end * HDI_PACK_UNIT >= most) /* no better than what there is */
            return true;
    }
    *top = end * HDI_PACK_UNIT;
    return true;
}

bool hdi_pack_in_order(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    if (hdi_pack_cuts_time(pack, order, count))
        return hdi_pack_in_runs(pack, order, count, offset, top);
    uint32_t queues = pack->by_clocks ? pack->queues : 1;
    if (!cut_time(pack, count, queues)) {
        *top = UINT64_MAX;
        return false;
    }
    return queues == 2   ? pack_in_buckets(pack, order, count, offset, top, 2)
           : queues == 3 ? pack_in_buckets(pack, order, count, offset, top, 3)
                         : pack_in_buckets(pack, order, count, offset, top, queues);
}
