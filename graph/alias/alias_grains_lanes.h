/* The packer of alias_grains.c, for as many items at a time as lanes have. No guard: it is read once for each. */

#include <string.h>

#include "alias_lanes.h"

typedef struct hdi_pack_grains bucket;

enum { MEMBER_STEPS = 20, BUCKET_STEPS = 12 };
enum { BLOCK = HDI_LANES, BOTTOM = 0, TOP = 0x7f7f };

/* What lies behind the last item is looked at, too. */
static inline void fill_up(int16_t *row, size_t capacity)
{
    memset(row, TOP & 0xff, HDI_GRAINS_TIME * capacity * sizeof(*row));
}

static HDI_APART bool enlarge(hdi_arena *arena, bucket *b, uint32_t queues)
{
    size_t capacity = b->capacity * (size_t)2;
    uint32_t rows = HDI_GRAINS_TIME + 2 * queues;
    int16_t *row = HDI_ARENA_ARRAY(arena, int16_t, capacity * rows);
    if (!row)
        return false;
    fill_up(row, capacity);
    for (uint32_t k = 0; k < rows; k++)
        memcpy(row + k * capacity, b->row + k * (size_t)b->capacity, b->count * sizeof(*row));
    b->row = row;
    b->capacity = (uint32_t)capacity;
    return true;
}

/* Items from `at` on move up by one, and maybe some of what lies behind them. */
static HDI_INLINE void make_room(const bucket *b, uint32_t at, uint32_t queues)
{
    size_t stride = b->capacity;
    int16_t *row = b->row + at;
    for (size_t from = ((b->count - 1 - at) / BLOCK + 1) * (size_t)BLOCK; from;) {
        int16_t *to = row + (from -= BLOCK);
        HDI_HIDE(to); /* as many addresses as there are rows are not worth their registers */
        for (uint32_t k = 0; k < HDI_GRAINS_TIME / 2 + queues; k++, to += 2 * stride) {
            hdi_lanes one = hdi_lanes_load(to), other = hdi_lanes_load(to + stride);
            hdi_lanes_store(to + 1, one);
            hdi_lanes_store(to + stride + 1, other);
        }
    }
}

/* From the item `at` on nobody lies lower. */
static HDI_INLINE bool insert(hdi_arena *arena, bucket *b, uint32_t at, uint32_t offset, const hdi_newcomer *n,
                              uint32_t queues)
{
    if (HDI_UNLIKELY(b->count + BLOCK == b->capacity) && !enlarge(arena, b, queues))
        return false;
    while (at && b->row[at - 1] > (int32_t)offset)
        at--;
    make_room(b, at, queues);
    b->count++;
    int16_t *row = b->row + at;
    size_t stride = b->capacity;
    row[0] = (int16_t)offset;
    row[stride] = (int16_t)(offset + n->units);
    hdi_write_time(row + HDI_GRAINS_TIME * stride, stride, n, b->base, queues);
    return true;
}

/* Goes on in one bucket from an offset to the lowest that is free there. What it has passed lies below for good:
 * offsets only grow. */
static HDI_INLINE uint32_t lowest_in_bucket(bucket *b, uint32_t from, uint32_t at, const hdi_newcomer *n,
                                            uint32_t queues, uint32_t own)
{
    size_t capacity = b->capacity;
    const int16_t *offset = b->row, *end = offset + capacity;
    hdi_bucket_view v[HD_MAX_QUEUES];
    hdi_find_views(offset + HDI_GRAINS_TIME * capacity, capacity, b->base, n, queues, own, v);
    hdi_lanes below = hdi_lanes_all((int32_t)at, 0), room = hdi_lanes_all((int32_t)n->units - 1, 0);
    for (uint32_t k = from;; k += BLOCK) {
        hdi_lanes all = hdi_lanes_highest(hdi_lanes_unless(hdi_find_aside(v, own, k), hdi_lanes_load(end + k))),
                  before = hdi_lanes_max(hdi_lanes_up(all), below);
        below = hdi_lanes_max(below, hdi_lanes_last(all));
        uint32_t bits = hdi_lanes_bits(hdi_lanes_more(hdi_lanes_minus(hdi_lanes_load(offset + k), room), before));
        if (HDI_LIKELY(!bits))
            continue;
        int16_t ends[BLOCK];
        hdi_lanes_store(ends, before);
        for (; bits; bits &= bits - 1, bits &= bits - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(bits) / 2, lowest = hdi_aligned((uint32_t)ends[i], n);
            if (HDI_LIKELY((uint32_t)offset[k + i] >= lowest + n->units)) {
                b->next = k;
                b->above = k + i;
                return lowest;
            }
        }
    }
}

#include "alias_lowest.h"

/* ---- who is placed ---- */

static bool set_up(hdi_pack *pack, uint32_t queues)
{
    uint32_t rows = HDI_GRAINS_TIME + 2 * queues, buckets = pack->bucket_count;
    if (!pack->grains) {
        pack->grains = HDI_ARENA_ARRAY(pack->arena, bucket, buckets);
        int16_t *row = HDI_ARENA_ARRAY(pack->arena, int16_t, (size_t)buckets * HDI_BUCKET_FIRST * rows);
        if (pack->arena->failed)
            return false;
        const int32_t *base = pack->bucket_base;
        for (uint32_t k = 0; k < buckets; k++, row += HDI_BUCKET_FIRST * rows, base += hdi_bucket_lanes(queues))
            pack->grains[k] = (bucket){.row = row, .base = base, .capacity = HDI_BUCKET_FIRST};
    }
    for (uint32_t k = 0; k < buckets; k++) {
        bucket *b = &pack->grains[k];
        b->count = 1;
        fill_up(b->row, b->capacity);
    }
    return true;
}

/* More than any heap has, if they are no multiple. */
static HDI_INLINE uint64_t grains_of(uint64_t bytes)
{
    return bytes / HDI_GRAIN | bytes << (64 - HDI_GRAIN_BITS);
}

/* *end: the highest of them. False: they are not of whole grains, or it is out of memory. */
static bool insert_placed(hdi_pack *pack, uint32_t *end, uint32_t queues)
{
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i];
        uint64_t at = grains_of(pack->placed_offset[res]), units = grains_of(pack->sizes->need[res].bytes);
        if (at > TOP || units > TOP - at)
            return false;
        uint32_t offset = (uint32_t)at;
        hdi_newcomer n = {.units = (uint32_t)units};
        hdi_read_newcomer(pack, res, &n, queues);
        *end = offset + n.units > *end ? offset + n.units : *end;
        uint32_t to = hdi_pack_slot(pack, pack->end[res]) >> pack->bucket_shift;
        for (uint32_t b = hdi_pack_slot(pack, pack->lifetimes->res_first[res]) >> pack->bucket_shift; b <= to; b++) {
            if (!insert(pack->arena, &pack->grains[b], pack->grains[b].count - 1, offset, &n, queues))
                return false;
        }
    }
    return true;
}

static HDI_INLINE uint32_t pack_in_grains(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset,
                                          uint64_t most, uint64_t *highest, uint32_t queues)
{
    const uint32_t *res_first = pack->lifetimes->res_first, *res_close = pack->end;
    const hd_memory_need *needs = pack->sizes->need;
    uint32_t begin = pack->slot_begin, shift = pack->bucket_shift, end = 0, i;
    uint32_t fetched = hdi_bucket_fetched(pack, count);
    uint64_t steps = 0;
    hdi_newcomer n = {.queues = 0};
    if (count == 0 || grains_of(needs[order[0]].bytes) > TOP)
        return 0;
    if (!set_up(pack, queues) || !insert_placed(pack, &end, queues))
        return pack->arena->failed ? HDI_NONE : 0;
    uint64_t most_grains = most / HDI_GRAIN + (most % HDI_GRAIN != 0);
    for (i = 0; i < count && end < most_grains; i++) {
        uint32_t res = order[i];
        if (i < fetched)
            hdi_fetch_stay(pack, order[i + HDI_BUCKET_AHEAD], queues);
        uint64_t units = grains_of(needs[res].bytes), alignment = needs[res].alignment / HDI_GRAIN;
        if (HDI_UNLIKELY(end + units + alignment >= TOP))
            break;
        hdi_read_newcomer(pack, res, &n, queues);
        n.units = (uint32_t)units;
        n.alignment = (uint32_t)alignment + (alignment == 0);
        bucket *from = &pack->grains[(res_first[res] - begin) >> shift],
               *to = &pack->grains[(res_close[res] - begin) >> shift];
        uint32_t at = lowest_of(from, to, &n, queues);
        for (bucket *b = from; b <= to; b++) {
            steps += b->next / 2;
            if (!insert(pack->arena, b, b->above, at, &n, queues))
                return HDI_NONE;
        }
        steps += MEMBER_STEPS + BUCKET_STEPS * (uint32_t)(to - from);
        offset[res] = (uint64_t)at * HDI_GRAIN;
        end = at + n.units > end ? at + n.units : end;
    }
    pack->steps += steps;
    *highest = (uint64_t)end * HDI_GRAIN;
    return i;
}

static uint32_t pack_on_queues(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t most,
                               uint64_t *end)
{
    uint32_t queues = pack->by_clocks ? pack->queues : 1;
    return queues == 2   ? pack_in_grains(pack, order, count, offset, most, end, 2)
           : queues == 3 ? pack_in_grains(pack, order, count, offset, most, end, 3)
                         : pack_in_grains(pack, order, count, offset, most, end, queues);
}
