#include "alias_pack.h"

/* Clocks: which resource is over before another one starts. It is over where each of its queues is known to have
 * passed its last use, and known to whoever starts: to the first slots of the other, on all of its queues. So each
 * resource is as many numbers as there are queues twice over, and these are lanes of words: one addition compares two
 * resources both ways, where places of all queues together fit into one word. Places are counted from the earliest one
 * that matters to whom is packed, so that regions of a long frame have small ones. O(queues). */

/* Bits of a lane for numbers up to most, and its guard. */
static uint32_t lane_bits(uint32_t most)
{
    return 33 - (uint32_t)__builtin_clz(most | 1);
}

static bool is_alone(const hdi_pack *pack, uint32_t mask)
{
    return !(mask & (mask - 1)) && mask & pack->gpu_mask;
}

/* Places from here on: none that anybody's stay closes at is before them. */
static uint32_t find_base(const hdi_pack *pack, uint32_t queue)
{
    uint32_t base = hdi_pos_from(pack->hazards, queue, 0, pack->slot_begin);
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i], mask = pack->hazards->res_queues[res];
        const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * pack->queues + queue];
        if (is_alone(pack, mask) ? mask != 1u << queue : stay->first == HDI_NONE)
            continue;
        base = stay->close < base ? stay->close : base;
    }
    return base;
}

void hdi_pack_find_lanes(hdi_pack *pack)
{
    hdi_pack_lanes *lanes = &pack->lanes;
    uint32_t at = 0, bits;
    *lanes = (hdi_pack_lanes){.words = 1};
    for (uint32_t q = 0; q < pack->queues; q++, at += bits) {
        lanes->base[q] = pack->by_clocks ? find_base(pack, q) : pack->slot_begin;
        lanes->most[q] = (pack->by_clocks ? hdi_pos_from(pack->hazards, q, 0, pack->slot_end) : pack->slot_end) -
                         lanes->base[q];
        bits = lane_bits(lanes->most[q] + 1);
        if (at + bits > 32) {
            lanes->words++;
            at = 0;
        }
        uint32_t word = lanes->words - 1;
        uint64_t guard = (uint64_t)1 << (at + bits - 1);
        lanes->word[q] = (uint8_t)word;
        lanes->shift[q] = (uint8_t)at;
        lanes->guards[word] |= guard | guard << 32;
        lanes->nothing[word] |= (guard - ((uint64_t)1 << at)) << 32;
    }
}

static HDI_INLINE void put(const hdi_pack_lanes *lanes, uint64_t *clock, uint32_t queue, uint32_t known,
                           uint32_t closed)
{
    uint32_t base = lanes->base[queue], most = lanes->most[queue];
    known = known > base ? known - base : 0; /* no stay closes before it */
    closed = closed > base ? closed - base : 0;
    closed = closed > most ? most + 1 : closed; /* nobody knows of more */
    clock[lanes->word[queue]] += ((uint64_t)closed << lanes->shift[queue]) -
                                 ((uint64_t)known << lanes->shift[queue] << 32);
}

static HDI_INLINE void read_alone(const hdi_pack *pack, uint32_t queues, uint32_t res, uint32_t own, uint64_t *clock)
{
    const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * queues + own];
    const uint32_t *knows = &pack->synced->slot_clock[(size_t)pack->lifetimes->res_first[res] * queues];
    for (uint32_t q = 0; q < queues; q++)
        put(&pack->lanes, clock, q, q == own ? stay->first : knows[q], q == own ? stay->close + 1 : 0);
}

/* On its own queue a resource is over where its stay closes; each of its queues has to know of the others. */
static HDI_INLINE void read_several(const hdi_pack *pack, uint32_t queues, uint32_t res, uint64_t *clock)
{
    const hdi_hazards *hazards = pack->hazards;
    const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * queues];
    uint32_t known[HD_MAX_QUEUES];
    for (uint32_t q = 0; q < queues; q++)
        known[q] = UINT32_MAX;
    for (uint32_t k = 0; k < queues; k++) {
        if (stay[k].first == HDI_NONE)
            continue;
        const uint32_t *knows = &pack->synced->slot_clock[(size_t)hdi_slot_at(hazards, k, stay[k].first) * queues];
        for (uint32_t q = 0; q < queues; q++) {
            uint32_t before = q == k ? stay[k].first : knows[q];
            known[q] = before < known[q] ? before : known[q];
        }
    }
    for (uint32_t q = 0; q < queues; q++)
        put(&pack->lanes, clock, q, known[q], stay[q].first == HDI_NONE ? 0 : stay[q].close + 1);
}

static HDI_INLINE void read_clock(const hdi_pack *pack, uint32_t queues, uint32_t res, uint64_t *clock)
{
    uint32_t mask = pack->hazards->res_queues[res];
    if (is_alone(pack, mask))
        read_alone(pack, queues, res, (uint32_t)__builtin_ctz(mask), clock);
    else
        read_several(pack, queues, res, clock);
}

void hdi_pack_read_clock(const hdi_pack *pack, uint32_t res, uint64_t *clock)
{
    for (uint32_t k = 0; k < pack->lanes.words; k++)
        clock[k] = pack->lanes.nothing[k];
    if (!pack->by_clocks)
        put(&pack->lanes, clock, 0, pack->lifetimes->res_first[res], pack->end[res] + 1);
    else if (pack->queues == 3) /* the loops are unrolled for what is most common */
        read_clock(pack, 3, res, clock);
    else
        read_clock(pack, pack->queues, res, clock);
}
