#include <criterion/criterion.h>

#include <inttypes.h>

#include "alias_pack.h"
#include "random.h"

/* First fit by clocks, eight items at a time, against a search over all items that came before. Clocks here are any
 * numbers: packers do not ask whether a schedule could have them. */

enum { SLOTS = 600, MEMBERS = 700, SHIFT = 7, UNIT = 1 << 16 };

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
    f->need[res] =
        (hd_memory_need){.bytes = (uint64_t)size * UNIT, .alignment = (uint64_t)UNIT >> 1 << hdt_below(random, 4)};
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
    if (hdt_below(&random, 2)) { /* no common grain */
        for (uint32_t r = 0; r < f->count; r += 1 + hdt_below(&random, 20))
            f->need[r].bytes += hdt_below(&random, 1000);
    }
    uint32_t before = hdt_below(&random, 4) ? 0 : hdt_below(&random, f->count);
    for (uint32_t r = 0; r < before; r++) {
        f->placed[r] = r;
        f->offset[r] = (uint64_t)hdt_below(&random, 500) * UNIT;
    }
    f->sizes.need = f->need;
    f->hazards.slot_pos = f->slot_pos;
    f->hazards.queue_slot = f->queue_slot;
    f->hazards.res_queues = f->res_queues;
    f->synced.slot_clock = f->slot_clock;
    f->lifetimes.res_first = f->res_first;
    f->lifetimes.res_last = f->lifetimes.res_close = f->res_close;
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
                         .lives = UINT64_MAX, /* long ones */
                         .live_bytes = hdt_below(&random, 2) ? 0 : UINT64_C(1) << 40};
}

static bool shares_bucket(const frame *f, uint32_t a, uint32_t b)
{
    return f->res_first[a] >> SHIFT <= f->res_close[b] >> SHIFT && f->res_first[b] >> SHIFT <= f->res_close[a] >> SHIFT;
}

static bool is_in_way(const frame *f, uint32_t before, uint32_t res)
{
    hdi_pack_time old, n;
    bool over = true, behind = true;
    hdi_pack_read_time(&f->pack, before, f->pack.queues, &old);
    hdi_pack_read_time(&f->pack, res, f->pack.queues, &n);
    for (uint32_t q = 0; q < f->pack.queues; q++) {
        if (!(n.queues >> q & 1))
            continue;
        over &= n.first[q] > old.unaware[q];
        behind &= old.known[q] > n.last[q];
    }
    return !over && !behind && shares_bucket(f, before, res);
}

static uint64_t round_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

/* The lowest place that is free of all that came before, in whole grains. */
static uint64_t lowest(const frame *f, uint32_t res, uint64_t grain)
{
    uint64_t alignment = f->need[res].alignment > grain ? f->need[res].alignment : grain, at = 0,
             bytes = round_up(f->need[res].bytes, grain);
    bool way[MEMBERS];
    for (uint32_t r = 0; r < res; r++)
        way[r] = is_in_way(f, r, res);
    for (uint32_t r = 0; r < res; r++) {
        uint64_t begin = f->offset[r] / grain * grain, end = round_up(f->offset[r] + f->need[r].bytes, grain);
        if (!way[r] || end <= at || begin >= at + bytes)
            continue;
        at = round_up(end, alignment);
        r = UINT32_MAX; /* from the first one on */
    }
    return at;
}

static void check(frame *f, uint64_t seed)
{
    static uint64_t offset[MEMBERS];
    uint32_t queues = f->pack.queues, placed = f->pack.placed_count;
    uint64_t top = UINT64_MAX, most = 0;
    hdi_arena arena;
    hdi_arena_init(&arena, NULL);
    f->pack.arena = &arena;
    cr_assert(hdi_pack_in_lists(&f->pack, f->order + placed, f->count - placed, offset, &top));
    for (uint32_t r = placed; r < f->count; r++) {
        f->offset[r] = lowest(f, r, UINT64_C(1) << f->pack.grain_shift);
        cr_assert(offset[r] == f->offset[r], "HEDDLE_SEED=%" PRIu64 " queues %u: %u", seed, queues, r);
        most = offset[r] + f->need[r].bytes > most ? offset[r] + f->need[r].bytes : most;
    }
    cr_assert_eq(top, most, "HEDDLE_SEED=%" PRIu64 " queues %u", seed, queues);
    cr_assert(f->pack.steps >= f->count - placed);
    top = most; /* as much is of no use */
    cr_assert(hdi_pack_in_lists(&f->pack, f->order + placed, f->count - placed, offset, &top));
    cr_assert_eq(top, UINT64_MAX);
    hdi_arena_free(&arena);
}

Test(packing, lists_find_the_lowest_places)
{
    static frame f;
    for (uint64_t seed = hdt_seed(), last = seed + 40; seed < last; seed++) {
        make(&f, seed, 1 + (uint32_t)(seed % 6));
        check(&f, seed);
    }
}

static bool meet(const frame *f, uint32_t a, uint32_t b)
{
    return f->res_first[a] <= f->res_close[b] && f->res_first[b] <= f->res_close[a] &&
           f->offset[a] < f->offset[b] + f->need[b].bytes && f->offset[b] < f->offset[a] + f->need[a].bytes;
}

/* Sizes of which a heap of 8 MiB holds all: lists count them in units then, as the packers of one queue do. */
static void make_small(frame *f, uint64_t seed, hdi_arena *arena)
{
    uint64_t random = seed * 7;
    make(f, seed, 1);
    for (uint32_t r = 0; r < f->count; r++) {
        f->need[r] = (hd_memory_need){.bytes = (1 + hdt_below(&random, 100)) * HDI_PACK_UNIT,
                                      .alignment = (uint64_t)HDI_PACK_UNIT << hdt_below(&random, 3)};
        f->offset[r] = hdt_below(&random, 1000) * (uint64_t)HDI_PACK_UNIT;
    }
    for (uint32_t r = 1; r < f->pack.placed_count; r++) { /* what is placed lies apart, too */
        for (uint32_t other = 0; other < r; other++) {
            if (meet(f, other, r)) {
                f->offset[r] = f->offset[other] + f->need[other].bytes;
                other = UINT32_MAX; /* from the first one on */
            }
        }
    }
    f->need[f->count - 1].bytes = HDI_PACK_UNIT;
    f->pack.live_bytes = 0;
    f->pack.arena = arena;
}

Test(packing, runs_find_what_lists_find)
{
    static frame f;
    static uint64_t by_lists[MEMBERS], by_runs[MEMBERS];
    for (uint64_t seed = hdt_seed(), last = seed + 40; seed < last; seed++) {
        hdi_arena arena;
        hdi_arena_init(&arena, NULL);
        make_small(&f, seed, &arena);
        uint32_t placed = f.pack.placed_count, count = f.count - placed;
        uint64_t lists = UINT64_MAX, runs = UINT64_MAX;
        hdi_pack pack = f.pack;
        cr_assert(hdi_pack_in_lists(&pack, f.order + placed, count, by_lists, &lists));
        cr_assert_eq(pack.grain_shift, 8u);
        cr_assert(hdi_pack_look(&f.pack, f.order + placed, count));
        cr_assert(hdi_pack_in_runs(&f.pack, f.order + placed, count, by_runs, &runs));
        for (uint32_t r = placed; r < f.count; r++)
            cr_assert_eq(by_runs[r], by_lists[r], "HEDDLE_SEED=%" PRIu64 ": %u", seed, r);
        uint64_t highest = 0; /* runs count what is placed */
        for (uint32_t r = 0; r < placed; r++)
            highest = f.offset[r] + f.need[r].bytes > highest ? f.offset[r] + f.need[r].bytes : highest;
        cr_assert_eq(runs, lists > highest ? lists : highest, "HEDDLE_SEED=%" PRIu64, seed);
        hdi_arena_free(&arena);
    }
}

/* In order of time: no two share bytes at a time, what is placed keeps its bytes, and the top is what the members take. */
Test(packing, what_is_alive_at_once_lies_apart)
{
    static frame f;
    for (uint64_t seed = hdt_seed(), last = seed + 40; seed < last; seed++) {
        hdi_arena arena;
        hdi_arena_init(&arena, NULL);
        make_small(&f, seed, &arena);
        uint32_t placed = f.pack.placed_count, count = f.count - placed;
        uint64_t top = UINT64_MAX, most = 0;
        for (uint32_t i = 1; i < count; i++) { /* by first use */
            uint32_t *at = &f.order[placed + i], res = *at;
            for (; at > f.order + placed && f.res_first[at[-1]] > f.res_first[res]; at--)
                at[0] = at[-1];
            *at = res;
        }
        cr_assert(hdi_pack_in_time(&f.pack, f.order + placed, count, f.offset, &top));
        for (uint32_t r = 0; r < f.count; r++) {
            most = f.offset[r] + f.need[r].bytes > most ? f.offset[r] + f.need[r].bytes : most;
            cr_assert(r < placed || f.offset[r] % f.need[r].alignment == 0);
            for (uint32_t other = placed; other < r; other++)
                cr_assert(!meet(&f, other, r), "HEDDLE_SEED=%" PRIu64 ": %u and %u", seed, other, r);
            for (uint32_t other = 0; r >= placed && other < placed; other++)
                cr_assert(f.offset[other] >= f.offset[r] + f.need[r].bytes ||
                              f.offset[r] >= f.offset[other] + f.need[other].bytes,
                          "HEDDLE_SEED=%" PRIu64 ": %u and placed %u", seed, r, other);
        }
        cr_assert_eq(top, most, "HEDDLE_SEED=%" PRIu64, seed);
        hdi_arena_free(&arena);
    }
}
