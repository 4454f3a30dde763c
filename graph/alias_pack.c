#include "alias_pack.h"

#include <string.h>

/* Packers. In order: greedy by a given order (size first, as in greedy-by-size arena planning), first fit by offset.
 * Those that may be in the way are found over time: slots are cut into buckets, and each keeps what was placed in it by
 * offset. O(resources * (placed in a bucket) * buckets of a life). In time: first fit over free ranges, O(resources *
 * free ranges). */

enum { BUCKET_SLOTS = 32 };

/* Small, as most of the time goes into looking at them. Offsets in units of 256 bytes, the coarsest that all alignments
 * of the .fgt format have in common; a finer end is rounded up. */
typedef struct entry {
    uint32_t offset, end, first, close, last; /* close: where slots alone allow others; last: where clocks may */
} entry;

struct hdi_pack_bucket {
    entry *item;
    uint32_t *res;
    uint32_t count, capacity;
};

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* All uses of a have finished before b starts, as far as the clocks know. */
static bool comes_before(const hdi_pack *pack, uint32_t a, uint32_t b)
{
    const hdi_stay *x = &pack->lifetimes->stay[(size_t)a * pack->queues],
                   *y = &pack->lifetimes->stay[(size_t)b * pack->queues];
    for (uint32_t q = 0; q < pack->queues; q++) {
        if (x[q].first == HDI_NONE)
            continue;
        for (uint32_t k = 0; k < pack->queues; k++) {
            if (y[k].first == HDI_NONE)
                continue;
            if (k == q) {
                if (y[k].first <= x[q].close)
                    return false;
                continue;
            }
            uint32_t slot = pack->hazards->queue_slot[pack->hazards->queue_begin[k] + y[k].first];
            if (pack->synced->slot_clock[(size_t)slot * pack->queues + q] <= x[q].last)
                return false;
        }
    }
    return true;
}

/* Slot order agrees with every clock: only one direction is possible, and none where the slots overlap. */
bool hdi_may_share(const hdi_pack *pack, uint32_t a, uint32_t b)
{
    const uint32_t *first = pack->lifetimes->res_first, *last = pack->lifetimes->res_last;
    if (first[a] > first[b]) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    if (pack->by_clocks)
        return last[a] < first[b] && comes_before(pack, a, b);
    return pack->end[a] < first[b];
}

/* ---- in a given order ---- */

static bool insert(hdi_pack *pack, struct hdi_pack_bucket *bucket, const entry *e, uint32_t res)
{
    if (bucket->count == bucket->capacity) {
        uint32_t grown = bucket->capacity ? 2 * bucket->capacity : 32;
        entry *fresh = HDI_ARENA_ARRAY(pack->arena, entry, grown);
        uint32_t *fresh_res = HDI_ARENA_ARRAY(pack->arena, uint32_t, grown);
        if (!fresh || !fresh_res)
            return false;
        if (bucket->count) {
            memcpy(fresh, bucket->item, bucket->count * sizeof(*fresh));
            memcpy(fresh_res, bucket->res, bucket->count * sizeof(*fresh_res));
        }
        bucket->item = fresh;
        bucket->res = fresh_res;
        bucket->capacity = grown;
    }
    uint32_t at = bucket->count++;
    for (; at > 0 && bucket->item[at - 1].offset > e->offset; at--) {
        bucket->item[at] = bucket->item[at - 1];
        bucket->res[at] = bucket->res[at - 1];
    }
    bucket->item[at] = *e;
    bucket->res[at] = res;
    return true;
}

/* What is placed, in the units of entries. */
typedef struct newcomer {
    uint32_t res, units, alignment, first, close, last;
} newcomer;

static uint32_t align_units(uint32_t value, uint32_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* Goes on in one bucket from an offset to the lowest that is free there. What the cursor has passed lies below for
 * good: offsets only grow. */
static uint32_t lowest_in_bucket(const struct hdi_pack_bucket *bucket, uint32_t *cursor, uint32_t at, newcomer n)
{
    if (bucket->count == 0)
        return at;
    const entry *e = &bucket->item[*cursor], *end = &bucket->item[bucket->count];
    for (; e < end; e++) {
        bool in_the_way = (e->first <= n.close) & (e->close >= n.first) & (e->end > at);
        if (in_the_way & (e->offset >= at + n.units))
            break;
        uint32_t above = align_units(e->end, n.alignment);
        at = in_the_way ? above : at; /* no branch: which way it goes, nobody can foresee */
    }
    *cursor = (uint32_t)(e - bucket->item);
    return at;
}

/* The same where clocks may allow what slots do not. */
static uint32_t lowest_by_clocks(const hdi_pack *pack, const struct hdi_pack_bucket *bucket, uint32_t *cursor,
                                 uint32_t at, newcomer n)
{
    uint32_t i = *cursor;
    for (; i < bucket->count; i++) {
        const entry *e = &bucket->item[i];
        if ((e->first > n.close) | (e->close < n.first) | (e->end <= at))
            continue;
        if ((e->last < n.first && comes_before(pack, bucket->res[i], n.res)) ||
            (n.last < e->first && comes_before(pack, n.res, bucket->res[i])))
            continue;
        if (e->offset >= at + n.units)
            break;
        at = align_units(e->end, n.alignment);
    }
    *cursor = i;
    return at;
}

/* The same over several: in turn, until nobody in any of them is in the way. */
static uint32_t lowest_in_buckets(const hdi_pack *pack, uint32_t from, uint32_t to, uint32_t *cursor, const newcomer *n)
{
    uint32_t at = 0;
    for (uint32_t b = from; b <= to; b++)
        cursor[b] = 0;
    for (uint32_t b = from, agreed = 0; agreed <= to - from; b = b < to ? b + 1 : from) {
        uint32_t before = at;
        at = pack->by_clocks ? lowest_by_clocks(pack, &pack->bucket[b], &cursor[b], at, *n)
                             : lowest_in_bucket(&pack->bucket[b], &cursor[b], at, *n);
        agreed = at == before ? agreed + 1 : 1;
    }
    return at;
}

/* *end: the highest of them. */
static bool insert_placed(hdi_pack *pack, uint64_t *end)
{
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i], first = pack->lifetimes->res_first[res], close = pack->end[res];
        uint64_t at = pack->placed_offset[res] / HDI_PACK_UNIT, above = at + hdi_pack_units(pack->sizes->need[res].bytes);
        entry e = {(uint32_t)at, (uint32_t)above, first, close, pack->lifetimes->res_last[res]};
        uint32_t to = hdi_pack_slot(pack, close) / BUCKET_SLOTS;
        *end = above > *end ? above : *end;
        for (uint32_t b = hdi_pack_slot(pack, first) / BUCKET_SLOTS; b <= to; b++) {
            if (!insert(pack, &pack->bucket[b], &e, res))
                return false;
        }
    }
    return true;
}

bool hdi_pack_in_order(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    const uint32_t *res_first = pack->lifetimes->res_first, *res_close = pack->end;
    if (hdi_pack_cuts_time(pack, order, count))
        return hdi_pack_in_runs(pack, order, count, offset, top);
    if (!pack->bucket) {
        pack->bucket_count = (pack->slot_end - pack->slot_begin) / BUCKET_SLOTS + 1;
        pack->bucket = HDI_ARENA_ZEROED(pack->arena, struct hdi_pack_bucket, pack->bucket_count);
    }
    uint32_t *cursor = HDI_ARENA_ARRAY(pack->arena, uint32_t, pack->bucket_count);
    if (!pack->bucket || !cursor)
        return false;
    for (uint32_t b = 0; b < pack->bucket_count; b++)
        pack->bucket[b].count = 0;
    uint64_t end = 0;
    if (!insert_placed(pack, &end))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = order[i];
        const hd_memory_need *need = &pack->sizes->need[res];
        uint64_t units = hdi_pack_units(need->bytes),
                 alignment = need->alignment > HDI_PACK_UNIT ? need->alignment / HDI_PACK_UNIT : 1;
        if (end + units + alignment > UINT32_MAX / 2) { /* a terabyte */
            *top = UINT64_MAX;
            return true;
        }
        newcomer n = {
            res, (uint32_t)units, (uint32_t)alignment, res_first[res], res_close[res], pack->lifetimes->res_last[res]};
        uint32_t from = (n.first - pack->slot_begin) / BUCKET_SLOTS, to = (n.close - pack->slot_begin) / BUCKET_SLOTS;
        uint32_t at = lowest_in_buckets(pack, from, to, cursor, &n);
        entry e = {at, at + n.units, n.first, n.close, n.last};
        for (uint32_t b = from; b <= to; b++) {
            if (!insert(pack, &pack->bucket[b], &e, res))
                return false;
        }
        offset[res] = (uint64_t)at * HDI_PACK_UNIT;
        end = e.end > end ? e.end : end;
        if (end * HDI_PACK_UNIT >= *top) { /* no better than what there is */
            *top = UINT64_MAX;
            return true;
        }
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

static uint64_t take_lowest(free_list *list, uint64_t bytes, uint64_t alignment)
{
    uint32_t i = 0;
    uint64_t at = align_up(list->item[0].begin, alignment);
    while (at + bytes > list->item[i].end)
        at = align_up(list->item[++i].begin, alignment);
    range before = {list->item[i].begin, at}, behind = {at + bytes, list->item[i].end};
    uint32_t parts = (before.begin < before.end) + (behind.begin < behind.end);
    if (parts == 2) {
        memmove(&list->item[i + 2], &list->item[i + 1], (list->count - i - 1) * sizeof(range));
        list->item[i] = before;
        list->item[i + 1] = behind;
        list->count++;
    } else if (parts == 1) {
        list->item[i] = before.begin < before.end ? before : behind;
    } else {
        memmove(&list->item[i], &list->item[i + 1], (list->count - i - 1) * sizeof(range));
        list->count--;
    }
    return at;
}

static void give_back(free_list *list, uint64_t begin, uint64_t end)
{
    uint32_t i = 0;
    while (list->item[i].begin < begin) /* the last one is behind everything taken */
        i++;
    bool joins_behind = list->item[i].begin == end, joins_before = i > 0 && list->item[i - 1].end == begin;
    if (joins_behind && joins_before) {
        list->item[i - 1].end = list->item[i].end;
        memmove(&list->item[i], &list->item[i + 1], (list->count - i - 1) * sizeof(range));
        list->count--;
    } else if (joins_behind) {
        list->item[i].begin = begin;
    } else if (joins_before) {
        list->item[i - 1].end = end;
    } else {
        memmove(&list->item[i + 1], &list->item[i], (list->count - i) * sizeof(range));
        list->item[i] = (range){begin, end};
        list->count++;
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
    for (uint32_t i = 0, slot = begin; i < count; i++) {
        uint32_t res = by_first[i];
        for (; slot < res_first[res]; slot++) {
            for (uint32_t k = closing[slot - begin]; k != HDI_NONE; k = next[k])
                give_back(&list, offset[by_first[k]], offset[by_first[k]] + pack->sizes->need[by_first[k]].bytes);
        }
        offset[res] = take_lowest(&list, pack->sizes->need[res].bytes, pack->sizes->need[res].alignment);
        uint64_t end = offset[res] + pack->sizes->need[res].bytes;
        most = end > most ? end : most;
        if (most >= *top) {
            *top = UINT64_MAX;
            return true;
        }
        next[i] = closing[res_close[res] - begin];
        closing[res_close[res] - begin] = i;
    }
    *top = most;
    return true;
}
