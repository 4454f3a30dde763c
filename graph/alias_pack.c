#include "alias_pack.h"

#include <string.h>

/* Packers. In order: greedy by a given order (size first, as in greedy-by-size arena planning), first fit by offset.
 * Those that may be in the way are found over time: slots are cut into buckets, and each keeps what was placed in it by
 * offset. O(resources * (placed in a bucket) * buckets of a life). In time: first fit over free ranges, O(resources *
 * free ranges). */

enum { BUCKET_SLOTS = 48, FIRST_ITEMS = 32 };

/* Small, as most of the time goes into looking at them. Offsets in units of 256 bytes, the coarsest that all alignments
 * of the .fgt format have in common; a finer end is rounded up. */
typedef struct item {
    uint32_t offset, end;
    uint64_t known_closed[]; /* the words of `known`, then those of `closed` */
} item;

/* By offset; the last one is above everything, and in everybody's way. */
struct hdi_pack_bucket {
    char *item; /* of item_bytes each */
    uint32_t count, capacity;
    uint32_t cursor; /* of the search that is going on: bytes */
};

static inline size_t item_bytes(uint32_t words)
{
    return (1 + 2 * (size_t)words) * sizeof(uint64_t);
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* ---- clocks ---- */

bool hdi_pack_need_clocks(hdi_pack *pack)
{
    uint32_t most = pack->slot_end, words = pack->by_clocks ? (pack->queues + HDI_PACK_LANES - 1) / HDI_PACK_LANES : 1;
    for (pack->clock_shift = 0; most >> pack->clock_shift >= (1 << (HDI_PACK_LANE_BITS - 1)) - 2;)
        pack->clock_shift++; /* coarser, with more of them in each other's way */
    pack->words = words;
    pack->known = HDI_ARENA_ARRAY(pack->arena, uint64_t, (size_t)pack->res_count * words);
    pack->closed = HDI_ARENA_ARRAY(pack->arena, uint64_t, (size_t)pack->res_count * words);
    return !pack->arena->failed;
}

/* On its own queue a resource is over where its stay closes; each of its queues has to know of the others. */
static inline void read_clocks(const hdi_pack *pack, uint32_t queues, uint32_t res, uint64_t *known, uint64_t *closed)
{
    const hdi_hazards *hazards = pack->hazards;
    const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * queues];
    uint32_t count[HD_MAX_QUEUES], close[HD_MAX_QUEUES], shift = pack->clock_shift;
    for (uint32_t q = 0; q < queues; q++)
        count[q] = UINT32_MAX;
    for (uint32_t k = 0; k < queues; k++) {
        uint32_t first = stay[k].first;
        close[k] = first == HDI_NONE ? 0 : (stay[k].close >> shift) + 1;
        if (first == HDI_NONE)
            continue;
        uint32_t slot = hazards->queue_slot[hazards->queue_begin[k] + first];
        const uint32_t *clock = &pack->synced->slot_clock[(size_t)slot * queues];
        for (uint32_t q = 0; q < queues; q++) {
            uint32_t before = q == k ? first : clock[q];
            count[q] = before < count[q] ? before : count[q];
        }
    }
    for (uint32_t q = 0, lane = 0, word = 0; q < queues; q++) {
        known[word] += (uint64_t)(count[q] >> shift) << lane;
        closed[word] += (uint64_t)close[q] << lane;
        lane += HDI_PACK_LANE_BITS;
        if (lane == HDI_PACK_LANES * HDI_PACK_LANE_BITS) {
            lane = 0;
            word++;
        }
    }
}

void hdi_pack_read_clocks(const hdi_pack *pack, const uint32_t *res, uint32_t count)
{
    static const uint64_t ones = HDI_PACK_GUARDS >> (HDI_PACK_LANE_BITS - 1);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *known = &pack->known[(size_t)res[i] * pack->words],
                 *closed = &pack->closed[(size_t)res[i] * pack->words];
        for (uint32_t k = 0; k < pack->words; k++) {
            known[k] = ones;
            closed[k] = HDI_PACK_GUARDS;
        }
        if (!pack->by_clocks) {
            *known += pack->lifetimes->res_first[res[i]] >> pack->clock_shift;
            *closed += (pack->end[res[i]] >> pack->clock_shift) + 1;
        } else if (pack->queues == 3) { /* the loops are unrolled for what is most common */
            read_clocks(pack, 3, res[i], known, closed);
        } else {
            read_clocks(pack, pack->queues, res[i], known, closed);
        }
    }
}

bool hdi_may_share(const hdi_pack *pack, uint32_t a, uint32_t b)
{
    const uint32_t *first = pack->lifetimes->res_first, words = pack->words;
    if (pack->by_clocks) {
        size_t at = (size_t)a * words, of = (size_t)b * words;
        return !hdi_pack_outlasts(&pack->closed[at], &pack->known[of], words) ||
               !hdi_pack_outlasts(&pack->closed[of], &pack->known[at], words);
    }
    return first[a] <= first[b] ? pack->end[a] < first[b] : pack->end[b] < first[a];
}

/* ---- in a given order ---- */

/* What is placed, in the units of items. */
typedef struct newcomer {
    uint32_t units, alignment;
    const uint64_t *known, *closed;
} newcomer;

static uint32_t align_units(uint32_t value, uint32_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* Behind the cursor nobody lies lower. */
static bool insert(const hdi_pack *pack, struct hdi_pack_bucket *bucket, uint32_t offset, uint32_t end,
                   const newcomer *n)
{
    size_t words = pack->words, bytes = item_bytes(pack->words), used = bucket->count * bytes, at = bucket->cursor;
    if (bucket->count == bucket->capacity) {
        char *fresh = hdi_arena_array(pack->arena, 2 * (size_t)bucket->capacity, bytes);
        if (!fresh)
            return false;
        memcpy(fresh, bucket->item, used);
        bucket->item = fresh;
        bucket->capacity *= 2;
    }
    while (at && ((const item *)(bucket->item + at - bytes))->offset > offset)
        at -= bytes;
    item *place = (item *)(bucket->item + at);
    memmove(bucket->item + at + bytes, place, used - at);
    place->offset = offset;
    place->end = end;
    for (size_t k = 0; k < words; k++) {
        place->known_closed[k] = n->known[k];
        place->known_closed[words + k] = n->closed[k];
    }
    bucket->count++;
    return true;
}

/* Goes on in one bucket from an offset to the lowest that is free there. What the cursor has passed lies below for
 * good: offsets only grow. */
static inline uint32_t lowest_in_bucket(struct hdi_pack_bucket *bucket, uint32_t at, newcomer n, uint32_t words)
{
    const char *next = bucket->item + bucket->cursor;
    for (;; next += item_bytes(words)) {
        const item *i = (const item *)next;
        if (i->end <= at || !hdi_pack_outlasts(i->known_closed + words, n.known, words) ||
            !hdi_pack_outlasts(n.closed, i->known_closed, words))
            continue;
        if (i->offset >= at + n.units)
            break;
        at = align_units(i->end, n.alignment);
    }
    bucket->cursor = (uint32_t)(next - bucket->item);
    return at;
}

/* The same over several: in turn, until it is back at the one that moved it last. */
static uint32_t lowest_in_buckets(const hdi_pack *pack, uint32_t from, uint32_t to, newcomer n)
{
    uint32_t at = 0, mover = from, b = from;
    for (uint32_t k = from; k <= to; k++)
        pack->bucket[k].cursor = 0;
    do {
        uint32_t before = at;
        at = pack->words == 1 ? lowest_in_bucket(&pack->bucket[b], at, n, 1)
                              : lowest_in_bucket(&pack->bucket[b], at, n, pack->words);
        mover = at == before ? mover : b;
        b = b < to ? b + 1 : from;
    } while (b != mover);
    return at;
}

static newcomer newcomer_of(const hdi_pack *pack, uint32_t res)
{
    return (newcomer){.known = &pack->known[(size_t)res * pack->words],
                      .closed = &pack->closed[(size_t)res * pack->words]};
}

/* *end: the highest of them. */
static bool insert_placed(hdi_pack *pack, uint64_t *end)
{
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i];
        uint64_t at = pack->placed_offset[res] / HDI_PACK_UNIT,
                 above = at + hdi_pack_units(pack->sizes->need[res].bytes);
        newcomer n = newcomer_of(pack, res);
        uint32_t to = hdi_pack_slot(pack, pack->end[res]) / BUCKET_SLOTS;
        *end = above > *end ? above : *end;
        for (uint32_t b = hdi_pack_slot(pack, pack->lifetimes->res_first[res]) / BUCKET_SLOTS; b <= to; b++) {
            pack->bucket[b].cursor = (uint32_t)((pack->bucket[b].count - 1) * item_bytes(pack->words));
            if (!insert(pack, &pack->bucket[b], (uint32_t)at, (uint32_t)above, &n))
                return false;
        }
    }
    return true;
}

/* Empty ones. */
static bool set_up_buckets(hdi_pack *pack, const uint32_t *res, uint32_t count)
{
    if (!pack->bucket) {
        if (!pack->by_clocks) { /* those are read for all heaps and regions at once */
            if (!hdi_pack_need_clocks(pack))
                return false;
            hdi_pack_read_clocks(pack, res, count);
            hdi_pack_read_clocks(pack, pack->placed, pack->placed_count);
        }
        uint32_t buckets = pack->bucket_count = (pack->slot_end - pack->slot_begin) / BUCKET_SLOTS + 1;
        size_t bytes = FIRST_ITEMS * item_bytes(pack->words);
        pack->bucket = HDI_ARENA_ARRAY(pack->arena, struct hdi_pack_bucket, buckets);
        char *first = hdi_arena_array(pack->arena, buckets, bytes);
        for (uint32_t b = 0; pack->bucket && first && b < buckets; b++)
            pack->bucket[b] = (struct hdi_pack_bucket){.item = first + b * bytes, .capacity = FIRST_ITEMS};
        if (!pack->bucket || !first)
            return false;
    }
    for (uint32_t b = 0; b < pack->bucket_count; b++) {
        item *last = (item *)pack->bucket[b].item;
        last->offset = last->end = UINT32_MAX;
        for (uint32_t k = 0; k < pack->words; k++) {
            last->known_closed[k] = 0;
            last->known_closed[pack->words + k] = UINT64_MAX;
        }
        pack->bucket[b].count = 1;
    }
    return true;
}

bool hdi_pack_in_order(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    const uint32_t *res_first = pack->lifetimes->res_first, *res_close = pack->end;
    uint64_t most = *top, end = 0;
    if (hdi_pack_cuts_time(pack, order, count))
        return hdi_pack_in_runs(pack, order, count, offset, top);
    *top = UINT64_MAX;
    if (!set_up_buckets(pack, order, count) || !insert_placed(pack, &end))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = order[i];
        const hd_memory_need *need = &pack->sizes->need[res];
        uint64_t units = hdi_pack_units(need->bytes),
                 alignment = need->alignment > HDI_PACK_UNIT ? need->alignment / HDI_PACK_UNIT : 1;
        if (end + units + alignment > UINT32_MAX / 2) /* a terabyte */
            return true;
        newcomer n = newcomer_of(pack, res);
        n.units = (uint32_t)units;
        n.alignment = (uint32_t)alignment;
        uint32_t from = (res_first[res] - pack->slot_begin) / BUCKET_SLOTS,
                 to = (res_close[res] - pack->slot_begin) / BUCKET_SLOTS, at = lowest_in_buckets(pack, from, to, n);
        for (uint32_t b = from; b <= to; b++) {
            if (!insert(pack, &pack->bucket[b], at, at + n.units, &n))
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
