#include "alias_pack.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Packers. In order: greedy by a given order (size first, as in greedy-by-size arena planning), first fit by offset.
 * Those that may be in the way are found over time: slots are cut into buckets, and each keeps what was placed in it by
 * offset. O(resources * (placed in a bucket) * buckets of a life). In time: first fit over free ranges, O(resources *
 * free ranges). */

enum { BUCKET_SLOTS = 32, FIRST_ITEMS = 32, BLOCK = 16, MOST_UNITS = INT32_MAX };

/* Small, as most of the time goes into looking at them. Offsets in units of 256 bytes, the coarsest that all alignments
 * of the .fgt format have in common; a finer end is rounded up. Below 2^31. */
typedef struct item {
    uint32_t end, offset;
    uint64_t clock[]; /* as many words as the lanes have */
} item;

/* By offset; the last one is above everything, and in everybody's way. There is room for a multiple of BLOCK. */
struct hdi_pack_bucket {
    char *item; /* of item_bytes each */
    uint32_t count, capacity;
    uint32_t left;    /* of the search that is going on: who of a block of items is in the way, */
    const char *next; /* and the block behind it */
};

static inline size_t item_bytes(uint32_t words)
{
    return (1 + (size_t)words) * sizeof(uint64_t);
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* ---- in a given order ---- */

/* Who is placed: in the units of items, its clock as items have it and turned to compare it with theirs. */
typedef struct newcomer {
    uint32_t units, alignment;
    uint64_t clock[HD_MAX_QUEUES], turned[HD_MAX_QUEUES];
} newcomer;

static HDI_INLINE void read_newcomer(const hdi_pack *pack, uint32_t res, newcomer *n, uint32_t words)
{
    hdi_pack_read_clock(pack, res, n->clock);
    for (uint32_t k = 0; k < words; k++)
        n->turned[k] = hdi_pack_turned(n->clock[k]);
}

static HDI_APART bool enlarge(hdi_arena *arena, struct hdi_pack_bucket *bucket, uint32_t words)
{
    size_t bytes = item_bytes(words);
    char *fresh = hdi_arena_array(arena, 2 * (size_t)bucket->capacity, bytes);
    if (!fresh)
        return false;
    memcpy(fresh, bucket->item, bucket->count * bytes);
    bucket->item = fresh;
    bucket->capacity *= 2;
    return true;
}

/* From so many bytes on nobody lies lower. */
static HDI_INLINE bool insert(hdi_arena *arena, struct hdi_pack_bucket *bucket, size_t at, uint32_t offset,
                              const newcomer *n, uint32_t words)
{
    if (HDI_UNLIKELY(bucket->count == bucket->capacity) && !enlarge(arena, bucket, words))
        return false;
    size_t bytes = item_bytes(words), used = bucket->count++ * bytes;
    while (at && ((const item *)(bucket->item + at - bytes))->offset > offset)
        at -= bytes;
    item *place = (item *)(bucket->item + at);
    memmove((char *)place + bytes, place, used - at);
    place->offset = offset;
    place->end = offset + n->units;
    for (uint32_t k = 0; k < words; k++)
        place->clock[k] = n->clock[k];
    return true;
}

/* A bit for each item of a block that is in his way and ends above an offset. Who is, is anybody's guess: there is no
 * branch. Behind the last item bits mean nothing. */
static HDI_INLINE uint32_t find_in_way(const hdi_pack_lanes *lanes, const char *items, uint32_t above,
                                       const newcomer *n, uint32_t words)
{
    uint32_t bits = 0;
#ifdef __SSE2__
    if (words == 1) { /* sums of four items at a time; who has one that is 0 is not in his way */
        const __m128i *at = (const __m128i *)(const void *)items, none = _mm_setzero_si128(),
                      own = _mm_set_epi64x((int64_t)n->turned[0], MOST_UNITS - above),
                      guards = _mm_set_epi64x((int64_t)lanes->guards[0], MOST_UNITS + UINT64_C(1)),
                      all = _mm_set1_epi32(0xff00); /* what stands for the offset is 0 */
        for (uint32_t k = 0; k < BLOCK; k += 4, at += 4) {
            __m128i sum[4];
            for (uint32_t i = 0; i < 4; i++)
                sum[i] = _mm_and_si128(_mm_add_epi32(_mm_loadu_si128(at + i), own), guards);
            /* What is not 0 stays so, as it is saturated. */
            __m128i bytes = _mm_packs_epi16(_mm_packs_epi32(sum[0], sum[1]), _mm_packs_epi32(sum[2], sum[3])),
                    zero = _mm_cmpeq_epi32(_mm_cmpeq_epi8(bytes, none), all);
            bits |= (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(zero)) << k;
        }
        return bits;
    }
#endif
    for (uint32_t k = 0; k < BLOCK; k++, items += item_bytes(words)) {
        const item *i = (const item *)items;
        bits |= (uint32_t)(hdi_pack_conflict(lanes, i->clock, n->turned, words) & (i->end > above)) << k;
    }
    return bits;
}

static HDI_INLINE const item *first_in_way(const struct hdi_pack_bucket *bucket, uint32_t words)
{
    size_t first = (size_t)__builtin_ctz(bucket->left);
    return (const item *)(bucket->next - BLOCK * item_bytes(words) + first * item_bytes(words));
}

/* Goes on in one bucket from an offset to the lowest that is free there. What it has passed lies below for good:
 * offsets only grow. */
static HDI_INLINE uint32_t lowest_in_bucket(const hdi_pack_lanes *lanes, struct hdi_pack_bucket *bucket, uint32_t at,
                                            const newcomer *n, uint32_t words)
{
    uint32_t units = n->units, mask = n->alignment - 1;
    struct hdi_pack_bucket b = *bucket;
    for (;; b.left &= b.left - 1) {
        while (!b.left) {
            b.left = find_in_way(lanes, b.next, at, n, words);
            b.next += BLOCK * item_bytes(words);
        }
        const item *i = first_in_way(&b, words);
        if (i->offset >= at + units)
            break;
        uint32_t above = (i->end + mask) & ~mask;
        at = above > at ? above : at;
    }
    bucket->left = b.left;
    bucket->next = b.next;
    return at;
}

/* The same over several: in turn, until it is back at the one that moved it last. */
static HDI_INLINE uint32_t lowest_in_buckets(const hdi_pack_lanes *lanes, struct hdi_pack_bucket *from,
                                             struct hdi_pack_bucket *to, const newcomer *n, uint32_t words)
{
    uint32_t at = 0;
    for (struct hdi_pack_bucket *b = from; b <= to; b++) {
        b->next = b->item;
        b->left = 0;
    }
    struct hdi_pack_bucket *b = from, *mover = from;
    do {
        uint32_t before = at;
        at = lowest_in_bucket(lanes, b, at, n, words);
        mover = at == before ? mover : b;
        b = b < to ? b + 1 : from;
    } while (b != mover);
    return at;
}

/* Apart, as it has no register to spare. */
static HDI_APART uint32_t lowest_by_words(const hdi_pack_lanes *lanes, struct hdi_pack_bucket *from,
                                          struct hdi_pack_bucket *to, const newcomer *n)
{
    return lanes->words == 2 ? lowest_in_buckets(lanes, from, to, n, 2)
                             : lowest_in_buckets(lanes, from, to, n, lanes->words);
}
static HDI_APART uint32_t lowest_by_word(const hdi_pack_lanes *lanes, struct hdi_pack_bucket *from,
                                         struct hdi_pack_bucket *to, const newcomer *n)
{
    return lowest_in_buckets(lanes, from, to, n, 1);
}

/* *end: the highest of them. */
static HDI_INLINE bool insert_placed(hdi_pack *pack, uint64_t *end, uint32_t words)
{
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i];
        uint64_t at = pack->placed_offset[res] / HDI_PACK_UNIT, units = hdi_pack_units(pack->sizes->need[res].bytes);
        newcomer n;
        read_newcomer(pack, res, &n, words);
        n.units = (uint32_t)units;
        uint32_t to = hdi_pack_slot(pack, pack->end[res]) / BUCKET_SLOTS;
        *end = at + units > *end ? at + units : *end;
        for (uint32_t b = hdi_pack_slot(pack, pack->lifetimes->res_first[res]) / BUCKET_SLOTS; b <= to; b++) {
            struct hdi_pack_bucket *bucket = &pack->bucket[b];
            if (!insert(pack->arena, bucket, (bucket->count - 1) * item_bytes(words), (uint32_t)at, &n, words))
                return false;
        }
    }
    return true;
}

/* Empty ones. */
static bool set_up_buckets(hdi_pack *pack)
{
    if (!pack->bucket) {
        hdi_pack_find_lanes(pack);
        uint32_t buckets = pack->bucket_count = (pack->slot_end - pack->slot_begin) / BUCKET_SLOTS + 1;
        size_t bytes = FIRST_ITEMS * item_bytes(pack->lanes.words);
        pack->bucket = HDI_ARENA_ARRAY(pack->arena, struct hdi_pack_bucket, buckets);
        char *first = hdi_arena_array(pack->arena, buckets, bytes);
        for (uint32_t b = 0; pack->bucket && first && b < buckets; b++)
            pack->bucket[b] = (struct hdi_pack_bucket){.item = first + b * bytes, .capacity = FIRST_ITEMS};
        if (!pack->bucket || !first)
            return false;
    }
    for (uint32_t b = 0; b < pack->bucket_count; b++) {
        item *last = (item *)pack->bucket[b].item;
        last->offset = last->end = MOST_UNITS;
        memcpy(last->clock, pack->lanes.guards, pack->lanes.words * sizeof(*last->clock));
        pack->bucket[b].count = 1;
    }
    return true;
}

static HDI_INLINE bool pack_in_buckets(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset,
                                       uint64_t *top, uint32_t words)
{
    const uint32_t *res_first = pack->lifetimes->res_first, *res_close = pack->end;
    const hd_memory_need *needs = pack->sizes->need;
    struct hdi_pack_bucket *buckets = pack->bucket;
    uint32_t begin = pack->slot_begin;
    uint64_t most = *top, end = 0;
    newcomer n;
    *top = UINT64_MAX;
    if (!insert_placed(pack, &end, words))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = order[i];
        uint64_t units = hdi_pack_units(needs[res].bytes), alignment = needs[res].alignment / HDI_PACK_UNIT;
        if (end + units + alignment > UINT32_MAX / 2) /* a terabyte */
            return true;
        read_newcomer(pack, res, &n, words);
        n.units = (uint32_t)units;
        n.alignment = alignment > 1 ? (uint32_t)alignment : 1;
        struct hdi_pack_bucket *from = &buckets[(res_first[res] - begin) / BUCKET_SLOTS],
                               *to = &buckets[(res_close[res] - begin) / BUCKET_SLOTS];
        uint32_t at = words == 1 ? lowest_by_word(&pack->lanes, from, to, &n)
                                 : lowest_by_words(&pack->lanes, from, to, &n);
        for (struct hdi_pack_bucket *b = from; b <= to; b++) {
            if (!insert(pack->arena, b, (size_t)((const char *)first_in_way(b, words) - b->item), at, &n, words))
                return false;
        }
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
    if (!set_up_buckets(pack)) {
        *top = UINT64_MAX;
        return false;
    }
    return pack->lanes.words == 1 ? pack_in_buckets(pack, order, count, offset, top, 1)
                                  : pack_in_buckets(pack, order, count, offset, top, pack->lanes.words);
}

/* ---- in time ---- */

typedef struct range {
    uint64_t begin, end;
} range;

/* Free ranges by offset; the last one has no end. */
typedef struct free_list {
    range *item;
    uint32_t count;
} free_list;

/* Ranges from `from` on, of which few there mostly are, move up or down. */
static HDI_INLINE void move(free_list *list, uint32_t from, int by)
{
    enum { FEW = 8 };
    range *first = &list->item[from], *end = &list->item[list->count];
    if (end - first > FEW)
        memmove(first + by, first, (size_t)((char *)end - (char *)first));
    else if (by < 0)
        for (range *r = first; r < end; r++)
            r[by] = *r;
    else
        for (range *r = end; r-- > first;)
            r[by] = *r;
    list->count += (uint32_t)by;
}

static HDI_INLINE uint64_t take_lowest(free_list *list, uint64_t bytes, uint64_t alignment)
{
    range *r = list->item;
    uint64_t at = align_up(r->begin, alignment);
    while (at + bytes > r->end)
        at = align_up((++r)->begin, alignment);
    uint64_t end = at + bytes;
    if (r->begin == at && end < r->end) {
        r->begin = end;
    } else if (r->begin == at) {
        move(list, (uint32_t)(r + 1 - list->item), -1);
    } else if (end == r->end) {
        r->end = at;
    } else {
        move(list, (uint32_t)(r - list->item), 1);
        r[0].end = at;
        r[1].begin = end;
    }
    return at;
}

static HDI_INLINE void give_back(free_list *list, uint64_t begin, uint64_t end)
{
    range *r = list->item;
    while (r->begin < begin) /* the last one is behind everything taken */
        r++;
    bool joins_behind = r->begin == end, joins_before = r > list->item && r[-1].end == begin;
    if (joins_behind && joins_before) {
        r[-1].end = r->end;
        move(list, (uint32_t)(r + 1 - list->item), -1);
    } else if (joins_behind) {
        r->begin = begin;
    } else if (joins_before) {
        r[-1].end = end;
    } else {
        move(list, (uint32_t)(r - list->item), 1);
        *r = (range){begin, end};
    }
}

/* Takes bytes out of the ranges that are free, of which they may be parts or none. */
static void take_away(free_list *list, uint64_t begin, uint64_t end)
{
    for (uint32_t i = 0; i < list->count && list->item[i].begin < end;) {
        range r = list->item[i];
        if (r.end <= begin) {
            i++;
        } else if (r.begin < begin && r.end > end) {
            memmove(&list->item[i + 2], &list->item[i + 1], (list->count - i - 1) * sizeof(range));
            list->item[i].end = begin;
            list->item[i + 1] = (range){end, r.end};
            list->count++;
            return;
        } else if (r.begin < begin) {
            list->item[i++].end = begin;
        } else if (r.end > end) {
            list->item[i++].begin = end;
        } else {
            memmove(&list->item[i], &list->item[i + 1], (list->count - i - 1) * sizeof(range));
            list->count--;
        }
    }
}

bool hdi_pack_in_time(hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t *offset, uint64_t *top)
{
    const uint32_t *res_first = pack->lifetimes->res_first, *res_close = pack->end;
    const hd_memory_need *need = pack->sizes->need;
    uint32_t slots = pack->slot_end - pack->slot_begin, begin = pack->slot_begin;
    free_list list = {HDI_ARENA_ARRAY(pack->arena, range, (size_t)count + pack->placed_count + 2), 1};
    uint32_t *closing = HDI_ARENA_ARRAY(pack->arena, uint32_t, slots); /* newest of each slot, chained */
    uint32_t *next = HDI_ARENA_ARRAY(pack->arena, uint32_t, count);
    if (pack->arena->failed)
        return false;
    memset(closing, 0xff, slots * sizeof(*closing));
    list.item[0] = (range){0, UINT64_MAX};
    uint64_t most = 0;
    /* Those that are placed keep their bytes to themselves all the time. */
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i];
        uint64_t at = pack->placed_offset[res], end = at + pack->sizes->need[res].bytes;
        take_away(&list, at, end);
        most = end > most ? end : most;
    }
    for (uint32_t i = 0, slot = 0; i < count; i++) {
        uint32_t res = by_first[i], first = res_first[res] - begin, close = res_close[res] - begin;
        for (; slot < first; slot++) {
            for (uint32_t k = closing[slot]; k != HDI_NONE; k = next[k])
                give_back(&list, offset[by_first[k]], offset[by_first[k]] + need[by_first[k]].bytes);
        }
        uint64_t at = take_lowest(&list, need[res].bytes, need[res].alignment), end = at + need[res].bytes;
        offset[res] = at;
        most = end > most ? end : most;
        if (most >= *top) {
            *top = UINT64_MAX;
            return true;
        }
        next[i] = closing[close];
        closing[close] = i;
    }
    *top = most;
    return true;
}
