#include "alias_pack.h"

#include "simd.h"

#include <string.h>

/* First fit in a given order, by clocks: a member gets the lowest offset that is free of all members before it with
 * which it may not share bytes.
 *
 * Members that are alive at about the same time are found by buckets: stretches of slots, each with a list of what was
 * placed in it, by offset. Two members may share bytes where one is over when the other starts. On each of its queues a
 * member has a first and a last place; for each queue it is known how many places have finished before it starts
 * (`known`), and which is the last place that does not know that it is over (`unaware`). So it may share with an item
 * where on all its queues its first place comes behind the item's `unaware`, or its last one before the item's `known`.
 * On one queue places are slots, and both are the life of the item.
 *
 * Whether an item is in the way, and whether there is room below it, cannot be foretold. So eight items are looked at
 * together and without a branch. For that, bytes are counted in grains and places from the begin of a bucket, both in
 * 16 bits. What is further away counts as just outside, so two items may seem to be in each other's way that are not. A
 * grain is a power of two: as large as all sizes allow, or as small as the heap allows, with sizes rounded up to it.
 * Where the heap outgrows the numbers, all is packed again with a grain of twice the size.
 *
 * O(members * buckets of a life * items of a bucket). */

enum { SHORT_LIFE = 16, SHORT_SHIFT = 5, LONG_SHIFT = 7 }; /* slots; buckets are longer for longer lives */
enum { FIRST_ITEMS = 64, TOP = 0x7f7f };                   /* above everything: both its bytes are the same */
enum { AHEAD = 8 };                                        /* members: their clocks are fetched so much earlier */
enum { MEMBER_STEPS = 40, BUCKET_STEPS = 40, BLOCK_STEPS = 12 };
enum { LEAST_SHIFT = 8, MOST_SHIFT = 40 }; /* a grain has at least HDI_PACK_UNIT bytes */

/* Rows of numbers by item: begin, end, `known` of each queue, `unaware` of each queue. The last item is above
 * everything. There is room for a whole block behind the items. */
enum { BEGIN, END, TIME };
struct hdi_pack_bucket {
    int16_t *row;
    const int32_t *base; /* by queue: the place from which places are counted */
    uint32_t count, capacity;
    uint32_t next, above; /* of the member that is being placed: the block to go on with, the item above it */
};
typedef struct hdi_pack_bucket bucket;

typedef struct member {
    uint32_t grains, alignment;
    hdi_pack_time time;
} member;

static HDI_INLINE int16_t narrow(int32_t place, int32_t base)
{
    int32_t value = place - base;
    return (int16_t)(value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value);
}

/* ---- when a member lives ---- */

/* Each of its queues has to know of the items before it, and the items behind it of all its queues. */
void hdi_pack_read_several(const hdi_pack *pack, uint32_t res, hdi_pack_time *t)
{
    const hdi_hazards *hazards = pack->hazards;
    uint32_t queues = pack->queues;
    t->queues = 0;
    for (uint32_t q = 0; q < queues; q++) {
        t->known[q] = INT32_MAX;
        t->unaware[q] = -1;
    }
    for (uint32_t k = 0; k < queues; k++) {
        const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * queues + k];
        if (stay->first == HDI_NONE)
            continue;
        const uint32_t *knows = &pack->synced->slot_clock[(size_t)hdi_slot_at(hazards, k, stay->first) * queues],
                       *unaware = &pack->lifetimes
                                       ->place_unaware[hdi_unaware_row(queues, hazards->queue_begin[k] + stay->close)];
        for (uint32_t q = 0; q < queues; q++) {
            int32_t known = (int32_t)(q == k ? stay->first : knows[q]),
                    last = q == k ? (int32_t)stay->close : (int32_t)unaware[q] - 1;
            t->known[q] = known < t->known[q] ? known : t->known[q];
            t->unaware[q] = last > t->unaware[q] ? last : t->unaware[q];
        }
        t->first[k] = (int32_t)stay->first;
        t->last[k] = (int32_t)stay->close;
        t->queues |= 1u << k;
    }
}

/* ---- buckets ---- */

static void fill_up(bucket *b)
{
    b->count = 1;
    memset(b->row, TOP & 0xff, TIME * (size_t)b->capacity * sizeof(*b->row));
}

static HDI_COLD bool enlarge(hdi_arena *arena, bucket *b, uint32_t rows)
{
    bucket old = *b;
    b->capacity *= 2;
    b->row = HDI_ARENA_ARRAY(arena, int16_t, (size_t)b->capacity * rows);
    if (!b->row)
        return false;
    fill_up(b);
    b->count = old.count;
    for (uint32_t k = 0; k < rows; k++)
        memcpy(b->row + k * (size_t)b->capacity, old.row + k * (size_t)old.capacity, old.count * sizeof(*old.row));
    return true;
}

/* Items from `at` on move up by one, and maybe some of what lies behind them. */
static HDI_INLINE void make_room(const bucket *b, uint32_t at, uint32_t rows)
{
    for (uint32_t from = (b->count - 1 - at) / HDI_LANES * HDI_LANES + HDI_LANES; from;) {
        int16_t *to = b->row + at + (from -= HDI_LANES);
        for (uint32_t k = 0; k < rows; k++, to += b->capacity)
            hdi_i16_store(to + 1, hdi_i16_load(to));
    }
}

/* Below the item b->above, or lower. */
static HDI_INLINE bool put(hdi_arena *arena, bucket *b, uint32_t begin, const member *m, uint32_t queues)
{
    uint32_t rows = TIME + 2 * queues, at = b->above;
    if (HDI_UNLIKELY(b->count + HDI_LANES >= b->capacity) && !enlarge(arena, b, rows))
        return false;
    while (at && b->row[at - 1] > (int32_t)begin)
        at--;
    make_room(b, at, rows);
    b->count++;
    int16_t *to = b->row + at;
    size_t stride = b->capacity;
    to[BEGIN * stride] = (int16_t)begin;
    to[END * stride] = (int16_t)(begin + m->grains);
    to += TIME * stride;
    for (uint32_t q = 0; q < queues; q++, to += stride) {
        to[0] = narrow(m->time.known[q], b->base[q]);
        to[queues * stride] = narrow(m->time.unaware[q], b->base[q]);
    }
    return true;
}

/* Where buckets begin. */
static bool cut_time(hdi_pack *pack, uint32_t count, uint32_t queues)
{
    uint32_t slots = pack->slot_end - pack->slot_begin, rows = TIME + 2 * queues;
    pack->bucket_shift = pack->lives <= (uint64_t)count * SHORT_LIFE ? SHORT_SHIFT : LONG_SHIFT;
    pack->bucket_count = (slots >> pack->bucket_shift) + 1;
    int32_t *base = HDI_ARENA_ZEROED(pack->arena, int32_t, (size_t)pack->bucket_count * queues);
    int16_t *row = HDI_ARENA_ARRAY(pack->arena, int16_t, (size_t)pack->bucket_count * FIRST_ITEMS * rows);
    bucket *buckets = HDI_ARENA_ARRAY(pack->arena, bucket, pack->bucket_count);
    if (pack->arena->failed)
        return false;
    for (uint32_t b = 0; b < pack->bucket_count; b++, base += queues, row += FIRST_ITEMS * rows) {
        uint32_t slot = pack->slot_begin + (b << pack->bucket_shift);
        buckets[b] = (bucket){.row = row, .base = base, .capacity = FIRST_ITEMS};
        base[0] = (int32_t)slot;
        for (uint32_t q = 0; q < queues && pack->by_clocks; q++)
            base[q] = (int32_t)hdi_pos_from(pack->hazards, q, b ? (uint32_t)buckets[b - 1].base[q] : 0, slot);
    }
    pack->bucket = buckets;
    return true;
}

/* ---- where a member fits ---- */

/* One of the member's queues, in a bucket. */
typedef struct view {
    const int16_t *known, *unaware;
    hdi_i16x8 first, last;
} view;

/* Items that are over before, or start behind, all that the member does. */
static HDI_INLINE hdi_i16x8 find_aside(const view *v, uint32_t views, uint32_t from)
{
    hdi_i16x8 before = hdi_i16_greater(v->first, hdi_i16_load(v->unaware + from)),
              behind = hdi_i16_greater(hdi_i16_load(v->known + from), v->last);
    for (uint32_t k = 1; k < views; k++) {
        before = hdi_i16_and(before, hdi_i16_greater(v[k].first, hdi_i16_load(v[k].unaware + from)));
        behind = hdi_i16_and(behind, hdi_i16_greater(hdi_i16_load(v[k].known + from), v[k].last));
    }
    return hdi_i16_or(before, behind);
}

/* Goes on in one bucket from an offset to the lowest that is free there. What it has passed lies below for good:
 * offsets only grow. */
static HDI_INLINE uint32_t lowest_in_views(bucket *b, uint32_t from, uint32_t at, const member *m, const view *v,
                                           uint32_t views)
{
    const int16_t *begins = b->row, *ends = begins + b->capacity;
    hdi_i16x8 below = hdi_i16_all((int16_t)at), room = hdi_i16_all((int16_t)(m->grains - 1));
    for (uint32_t k = from;; k += HDI_LANES) {
        hdi_i16x8 top = hdi_i16_largest_so_far(hdi_i16_unless(find_aside(v, views, k), hdi_i16_load(ends + k))),
                  before = hdi_i16_max(hdi_i16_move_up(top), below);
        below = hdi_i16_max(below, hdi_i16_spread_last(top));
        hdi_i16x8 space = hdi_i16_subtract_clamped(hdi_i16_load(begins + k), room);
        uint32_t fits = hdi_i16_bits(hdi_i16_greater(space, before));
        if (HDI_LIKELY(!fits))
            continue;
        int16_t lowest[HDI_LANES];
        hdi_i16_store(lowest, before);
        for (; fits; fits &= fits - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(fits),
                     aligned = ((uint32_t)lowest[i] + m->alignment - 1) & ~(m->alignment - 1);
            if (HDI_LIKELY((uint32_t)begins[k + i] >= aligned + m->grains)) {
                b->next = k;
                b->above = k + i;
                return aligned;
            }
        }
    }
}

static HDI_INLINE uint32_t lowest_in_bucket(bucket *b, uint32_t from, uint32_t at, const member *m, uint32_t queues)
{
    view v[HD_MAX_QUEUES];
    uint32_t views = 0;
    for (uint32_t left = m->time.queues; left; left &= left - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(left);
        const int16_t *known = b->row + (TIME + q) * (size_t)b->capacity;
        v[views++] =
            (view){known, known + queues * (size_t)b->capacity, hdi_i16_all(narrow(m->time.first[q], b->base[q])),
                   hdi_i16_all(narrow(m->time.last[q], b->base[q]))};
    }
    return views == 1 ? lowest_in_views(b, from, at, m, v, 1) : lowest_in_views(b, from, at, m, v, views);
}

/* In all buckets of a life, in turn, until it is back at the one that moved it last. */
static HDI_INLINE uint32_t find_lowest(bucket *from, bucket *to, const member *m, uint32_t queues)
{
    uint32_t at = lowest_in_bucket(from, 0, 0, m, queues);
    for (bucket *b = from + 1; b <= to; b++)
        b->next = 0;
    bucket *mover = from;
    for (bucket *b = from == to ? from : from + 1; b != mover; b = b < to ? b + 1 : from) {
        uint32_t before = at;
        at = lowest_in_bucket(b, b->next, at, m, queues);
        mover = at == before ? mover : b;
    }
    return at;
}

/* ---- packing ---- */

enum { PACKED, TOO_HIGH, TOO_FINE, NO_MEMORY };

static HDI_INLINE void read_size(const hdi_pack *pack, uint32_t res, uint64_t *grains, member *m)
{
    const hd_memory_need *need = &pack->sizes->need[res];
    uint64_t alignment = need->alignment >> pack->grain_shift;
    *grains = ((need->bytes - 1) >> pack->grain_shift) + 1;
    m->grains = (uint32_t)*grains;
    m->alignment = alignment > 1 ? (uint32_t)alignment : 1;
}

/* The buckets of a life. */
static HDI_INLINE bucket *first_bucket(const hdi_pack *pack, uint32_t res)
{
    return &pack->bucket[hdi_pack_slot(pack, pack->lifetimes->res_first[res]) >> pack->bucket_shift];
}

static HDI_INLINE bucket *last_bucket(const hdi_pack *pack, uint32_t res)
{
    return &pack->bucket[hdi_pack_slot(pack, pack->end[res]) >> pack->bucket_shift];
}

static int put_placed(hdi_pack *pack, uint32_t queues)
{
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i];
        uint64_t at = pack->placed_offset[res], begin = at >> pack->grain_shift,
                 end = ((at + pack->sizes->need[res].bytes - 1) >> pack->grain_shift) + 1;
        member m = {.grains = (uint32_t)(end - begin)};
        if (end >= TOP)
            return TOO_FINE;
        hdi_pack_read_time(pack, res, queues, &m.time);
        for (bucket *b = first_bucket(pack, res), *to = last_bucket(pack, res); b <= to; b++) {
            b->above = b->count - 1;
            if (!put(pack->arena, b, (uint32_t)begin, &m, queues))
                return NO_MEMORY;
        }
    }
    return PACKED;
}

/* *top: the highest end; TOO_HIGH where that is `most` or more. */
static HDI_INLINE int pack_on(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t most,
                              uint64_t *top, uint32_t queues)
{
    uint32_t end = 0;
    uint64_t grains, highest = 0, steps = 0;
    member m;
    for (uint32_t b = 0; b < pack->bucket_count; b++)
        fill_up(&pack->bucket[b]);
    int done = put_placed(pack, queues);
    for (uint32_t i = 0; i < count && done == PACKED; i++) {
        uint32_t res = order[i];
        if (pack->by_clocks && i + AHEAD < count)
            HDI_FETCH(&pack->lifetimes->stay[(size_t)order[i + AHEAD] * queues]);
        read_size(pack, res, &grains, &m);
        if (HDI_UNLIKELY(end + grains + m.alignment >= TOP)) {
            done = TOO_FINE;
            break;
        }
        hdi_pack_read_time(pack, res, queues, &m.time);
        bucket *from = first_bucket(pack, res), *to = last_bucket(pack, res);
        uint32_t at = find_lowest(from, to, &m, queues);
        for (bucket *b = from; b <= to; b++) {
            steps += BUCKET_STEPS + b->next / HDI_LANES * BLOCK_STEPS;
            if (!put(pack->arena, b, at, &m, queues))
                return NO_MEMORY;
        }
        steps += MEMBER_STEPS;
        offset[res] = (uint64_t)at << pack->grain_shift;
        uint64_t above = offset[res] + pack->sizes->need[res].bytes;
        end = at + m.grains > end ? at + m.grains : end;
        highest = above > highest ? above : highest;
        done = highest < most ? PACKED : TOO_HIGH;
    }
    pack->steps += steps;
    *top = highest;
    return done;
}

/* The loops over queues are unrolled for what is most common. */
static int pack_all(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t most,
                    uint64_t *top)
{
    uint32_t queues = pack->by_clocks ? pack->queues : 1;
    return queues == 2   ? pack_on(pack, order, count, offset, most, top, 2)
           : queues == 3 ? pack_on(pack, order, count, offset, most, top, 3)
                         : pack_on(pack, order, count, offset, most, top, queues);
}

/* What half as much again as is alive at once can be counted in. */
static uint32_t choose_grain(const hdi_pack *pack, const uint32_t *order, uint32_t count)
{
    uint64_t bits = 0, most = 0;
    uint32_t shift = LEAST_SHIFT;
    for (uint32_t i = 0; i < count; i++)
        bits |= pack->sizes->need[order[i]].bytes;
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint64_t begin = pack->placed_offset[pack->placed[i]], end = begin + pack->sizes->need[pack->placed[i]].bytes;
        bits |= begin | end;
        most = end > most ? end : most;
    }
    most += pack->live_bytes + pack->live_bytes / 2;
    while (most >> shift >= TOP && shift < MOST_SHIFT)
        shift++;
    uint32_t common = bits ? (uint32_t)__builtin_ctzll(bits) : 0;
    return common > shift ? common < MOST_SHIFT ? common : MOST_SHIFT : shift;
}

bool hdi_pack_in_lists(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top)
{
    uint64_t most = *top, end = 0;
    int done = TOO_FINE;
    *top = UINT64_MAX;
    if (!pack->bucket) {
        if (!cut_time(pack, count, pack->by_clocks ? pack->queues : 1))
            return false;
        pack->grain_shift = choose_grain(pack, order, count);
    }
    for (; done == TOO_FINE && pack->grain_shift <= MOST_SHIFT; pack->grain_shift += done == TOO_FINE)
        done = pack_all(pack, order, count, offset, most, &end);
    if (done == PACKED)
        *top = end;
    return done != NO_MEMORY;
}
