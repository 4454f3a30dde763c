#include <criterion/criterion.h>

#include <inttypes.h>

#include "alias_buckets.h"
#include "random.h"

/* The packer by buckets of whole grains, eight items at a time, against a search over all items that came before. Clocks here are any numbers: packers do not ask whether a schedule could have
 * them. */

#ifdef __SSE2__

enum { TOP = 0x7f7f, SLOTS = 600, MEMBERS = 700, SHIFT = 7, BUCKETS = (SLOTS - 1) / (1 << SHIFT) + 1 };

typedef struct frame {
    hdi_sizes sizes;
    hdi_hazards hazards;
    hdi_synced synced;
    hdi_lifetimes lifetimes;
    hdi_pack pack;
    uint32_t slot_pos[SLOTS], queue_slot[SLOTS], slot_queue[SLOTS];
    uint32_t slot_clock[SLOTS * HD_MAX_QUEUES], place_unaware[SLOTS * (HD_MAX_QUEUES + 1)];
    uint32_t res_first[MEMBERS], res_close[MEMBERS], order[MEMBERS], placed[MEMBERS];
    uint16_t res_queues[MEMBERS];
    hdi_stay stay[MEMBERS * HD_MAX_QUEUES];
    hd_memory_need need[MEMBERS];
    uint64_t offset[MEMBERS];
    uint32_t count;
} frame;

static void make_slots(frame *f, uint64_t *random, uint32_t queues)
{
    uint32_t places[HD_MAX_QUEUES] = {0}, at = 0;
    for (uint32_t s = 0; s < SLOTS; s++)
        f->slot_queue[s] = hdt_below(random, queues);
    for (uint32_t q = 0; q < queues; q++) {
        f->hazards.queue_begin[q] = at;
        for (uint32_t s = 0; s < SLOTS; s++) {
            if (f->slot_queue[s] == q)
                f->queue_slot[at++] = s;
        }
    }
    f->hazards.queue_begin[queues] = at;
    for (uint32_t s = 0; s < SLOTS; s++) {
        uint32_t q = f->slot_queue[s];
        f->slot_pos[s] = places[q]++;
        uint32_t *unaware = &f->place_unaware[hdi_unaware_row(queues, f->hazards.queue_begin[q] + f->slot_pos[s])];
        for (uint32_t k = 0; k < queues; k++) {
            uint32_t behind = places[k] + hdt_below(random, 30), ahead = hdt_below(random, 30);
            uint32_t all = f->hazards.queue_begin[k + 1] - f->hazards.queue_begin[k];
            f->slot_clock[s * queues + k] = places[k] > ahead ? places[k] - ahead : 0;
            unaware[k] = behind < all ? behind : all;
        }
    }
}

static void make_member(frame *f, uint64_t *random, uint32_t queues, uint32_t res, uint32_t size)
{
    uint32_t most = hdt_below(random, 8) ? 40 : 300, first = hdt_below(random, SLOTS),
             close = first + hdt_below(random, most);
    close = close < SLOTS ? close : SLOTS - 1;
    f->need[res] = (hd_memory_need){.bytes = (uint64_t)size * HDI_GRAIN,
                                    .alignment = (uint64_t)HDI_GRAIN >> 1 << hdt_below(random, 4)};
    f->res_first[res] = first;
    f->res_close[res] = close;
    hdi_stay *stay = &f->stay[(size_t)res * queues];
    for (uint32_t q = 0; q < queues; q++)
        stay[q] = (hdi_stay){.first = HDI_NONE};
    for (uint32_t s = first; s <= close; s++) {
        uint32_t q = f->slot_queue[s];
        if (s != first && s != close && hdt_below(random, 16))
            continue;
        stay[q].first = stay[q].first == HDI_NONE ? f->slot_pos[s] : stay[q].first;
        stay[q].last = stay[q].close = f->slot_pos[s];
        f->res_queues[res] |= (uint16_t)(1u << q);
    }
}

static void make(frame *f, uint64_t seed, uint32_t queues)
{
    uint64_t random = seed;
    uint32_t sizes = 1 + hdt_below(&random, 30), size = 1 + hdt_below(&random, 100);
    *f = (frame){.count = 1 + hdt_below(&random, MEMBERS)};
    make_slots(f, &random, queues);
    for (uint32_t r = 0; r < f->count; r++) {
        make_member(f, &random, queues, r, 1 + hdt_below(&random, sizes) * size);
        f->order[r] = r;
    }
    if (hdt_below(&random, 2)) /* it ends there */
        f->need[hdt_below(&random, f->count)].bytes += HDI_GRAIN / 2;
    uint32_t before = hdt_below(&random, 4) ? 0 : hdt_below(&random, f->count);
    for (uint32_t r = 0; r < before; r++) {
        f->placed[r] = r;
        f->offset[r] = (uint64_t)hdt_below(&random, 500) * HDI_GRAIN;
        f->need[r].bytes &= ~(uint64_t)(HDI_GRAIN - 1);
    }
    f->sizes.need = f->need;
    f->hazards.slot_pos = f->slot_pos;
    f->hazards.queue_slot = f->queue_slot;
    f->hazards.res_queues = f->res_queues;
    f->synced.slot_clock = f->slot_clock;
    f->lifetimes.res_first = f->res_first;
    f->lifetimes.res_close = f->res_close;
    f->lifetimes.stay = f->stay;
    f->lifetimes.place_unaware = f->place_unaware;
    f->pack = (hdi_pack){.sizes = &f->sizes,
                         .hazards = &f->hazards,
                         .synced = &f->synced,
                         .lifetimes = &f->lifetimes,
                         .end = f->res_close,
                         .queues = queues,
                         .gpu_mask = (1u << queues) - 1,
                         .res_count = f->count,
                         .by_clocks = queues > 1,
                         .slot_end = SLOTS,
                         .placed = f->placed,
                         .placed_count = before,
                         .placed_offset = f->offset,
                         .bucket_count = BUCKETS,
                         .bucket_shift = SHIFT};
}

static bool shares_bucket(const frame *f, uint32_t a, uint32_t b)
{
    return f->res_first[a] >> SHIFT <= f->res_close[b] >> SHIFT && f->res_first[b] >> SHIFT <= f->res_close[a] >> SHIFT;
}

static bool is_in_way(const frame *f, uint32_t before, uint32_t res)
{
    hdi_newcomer old, n;
    bool over = true, behind = true;
    hdi_read_newcomer(&f->pack, before, &old, f->pack.queues);
    hdi_read_newcomer(&f->pack, res, &n, f->pack.queues);
    for (uint32_t q = 0; q < f->pack.queues; q++) {
        if (!(n.queues >> q & 1))
            continue;
        over &= n.first[q] > old.unaware[q];
        behind &= old.known[q] > n.last[q];
    }
    return !over && !behind && shares_bucket(f, before, res);
}

/* The lowest place that is free of all who came before. */
static uint64_t lowest(const frame *f, uint32_t res)
{
    uint64_t alignment = f->need[res].alignment > HDI_GRAIN ? f->need[res].alignment : HDI_GRAIN, at = 0;
    bool way[MEMBERS];
    for (uint32_t r = 0; r < res; r++)
        way[r] = is_in_way(f, r, res);
    for (uint32_t r = 0; r < res; r++) {
        if (!way[r] || f->offset[r] + f->need[r].bytes <= at || f->offset[r] >= at + f->need[res].bytes)
            continue;
        at = (f->offset[r] + f->need[r].bytes + alignment - 1) & ~(alignment - 1);
        r = UINT32_MAX; /* from the first one on */
    }
    return at;
}

static uint64_t highest(const frame *f, uint32_t res, uint64_t most)
{
    uint64_t end = f->offset[res] + f->need[res].bytes;
    return end > most ? end : most;
}

/* Whether he is packed behind others, the highest of which ends there. */
static bool fits(const frame *f, uint32_t res, uint64_t most)
{
    const hd_memory_need *need = &f->need[res];
    return need->bytes % HDI_GRAIN == 0 && (most + need->bytes + need->alignment) / HDI_GRAIN < TOP;
}

static void check(const frame *f, uint64_t seed)
{
    uint32_t queues = f->pack.queues, lanes = hdi_bucket_lanes(queues), placed = f->pack.placed_count, whole = placed;
    static uint64_t offset[MEMBERS];
    uint64_t end, most = 0;
    hdi_arena arena;
    hdi_arena_init(&arena, NULL);
    hdi_pack pack = f->pack;
    pack.arena = &arena;
    pack.bucket_base = HDI_ARENA_ZEROED(&arena, int32_t, (size_t)BUCKETS * lanes);
    cr_assert(pack.bucket_base);
    for (uint32_t b = 0; b < BUCKETS; b++) {
        for (uint32_t q = 0; q < queues; q++)
            pack.bucket_base[b * lanes + q] = (int32_t)(b << SHIFT) / (int32_t)queues;
    }
    uint32_t count = hdi_pack_in_grains(&pack, f->order + placed, f->count - placed, offset, UINT64_MAX, &end);
    for (uint32_t r = 0; r < placed; r++)
        most = highest(f, r, most);
    for (; whole < f->count && fits(f, whole, most); whole++)
        most = highest(f, whole, most);
    cr_assert(count == whole - placed, "HEDDLE_SEED=%" PRIu64 " queues %u: %u of %u", seed, queues, count, whole);
    for (uint32_t r = placed; r < whole; r++)
        cr_assert(offset[r] == f->offset[r], "HEDDLE_SEED=%" PRIu64 " queues %u: %u", seed, queues, r);
    cr_assert(count == 0 || end == most, "HEDDLE_SEED=%" PRIu64 " queues %u", seed, queues);
    hdi_arena_free(&arena);
}

Test(grains, eight_at_a_time_find_the_lowest_places)
{
    static frame f;
    for (uint64_t seed = hdt_seed(), last = seed + 40; seed < last; seed++) {
        uint32_t queues = 1 + (uint32_t)(seed % 6);
        make(&f, seed, queues);
        for (uint32_t r = f.pack.placed_count; r < f.count; r++)
            f.offset[r] = lowest(&f, r);
        check(&f, seed);
    }
}

#else

Test(grains, are_packed_elsewhere)
{
    uint64_t end;
    cr_assert(hdi_pack_in_grains(NULL, NULL, 0, NULL, 0, &end) == 0);
}

#endif
