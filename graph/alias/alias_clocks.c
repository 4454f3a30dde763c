#include "alias_newcomer.h"

/* Clocks: which resource is over before another one starts. It is over where each of its queues is known to have
 * passed its last use, and known to whoever starts: to the first slots of the other, on all of its queues. So each
 * resource is as many numbers as there are queues twice over, and these are lanes of words: one addition compares two
 * resources both ways, where places of all queues together fit into one word. O(queues). */

/* Bits of a lane for numbers up to most, and its guard. */
static uint32_t lane_bits(uint32_t most)
{
    return 33 - (uint32_t)__builtin_clz(most | 1);
}

static bool is_alone(const hdi_pack *pack, uint32_t mask)
{
    return !(mask & (mask - 1)) && mask & pack->gpu_mask;
}

void hdi_pack_find_lanes(hdi_pack *pack)
{
    hdi_pack_lanes *lanes = &pack->lanes;
    uint32_t at = 0, bits;
    *lanes = (hdi_pack_lanes){.words = 1};
    for (uint32_t q = 0; q < pack->queues; q++, at += bits) {
        bits = lane_bits(pack->hazards->queue_begin[q + 1] - pack->hazards->queue_begin[q] + 1);
        if (at + bits > 32) {
            lanes->words++;
            at = 0;
        }
        uint32_t word = lanes->words - 1;
        uint64_t guard = (uint64_t)1 << (at + bits - 1);
        lanes->word[q] = (uint8_t)word;
        lanes->one[q] = (uint64_t)1 << at;
        lanes->guards[word] |= guard | guard << 32;
        lanes->nothing[word] |= (guard - lanes->one[q]) << 32;
    }
}

static HDI_INLINE void put(const hdi_pack_lanes *lanes, uint64_t *clock, uint32_t queue, uint32_t known,
                           uint32_t closed)
{
    clock[lanes->word[queue]] += (closed - ((uint64_t)known << 32)) * lanes->one[queue];
}

/* On its own queue a resource is over where its stay closes; each of its queues has to know of the others. */
static HDI_INLINE void read_clock(const hdi_pack *pack, uint32_t queues, uint32_t res, uint64_t *clock)
{
    const hdi_hazards *hazards = pack->hazards;
    const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * queues];
    const uint32_t *slot_clock = pack->synced->slot_clock, *knows;
    uint32_t mask = hazards->res_queues[res], own = (uint32_t)__builtin_ctz(mask), known[HD_MAX_QUEUES];
    if (is_alone(pack, mask)) {
        knows = &slot_clock[(size_t)pack->lifetimes->res_first[res] * queues];
        for (uint32_t q = 0; q < queues; q++)
            put(&pack->lanes, clock, q, q == own ? stay[own].first : knows[q], q == own ? stay[own].close + 1 : 0);
        return;
    }
    for (uint32_t q = 0; q < queues; q++)
        known[q] = UINT32_MAX;
    for (uint32_t k = 0; k < queues; k++) {
        if (stay[k].first == HDI_NONE)
            continue;
        knows = &slot_clock[(size_t)hdi_slot_at(hazards, k, stay[k].first) * queues];
        for (uint32_t q = 0; q < queues; q++) {
            uint32_t before = q == k ? stay[k].first : knows[q];
            known[q] = before < known[q] ? before : known[q];
        }
    }
    for (uint32_t q = 0; q < queues; q++)
        put(&pack->lanes, clock, q, known[q], stay[q].first == HDI_NONE ? 0 : stay[q].close + 1);
}

/* The same for one word and whoever lives on one queue. */
static HDI_INLINE uint64_t read_one(const hdi_pack *pack, uint32_t queues, uint32_t res, uint32_t own)
{
    const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * queues + own];
    const uint32_t *knows = &pack->synced->slot_clock[(size_t)pack->lifetimes->res_first[res] * queues];
    const uint64_t *one = pack->lanes.one;
    uint64_t known = 0;
    for (uint32_t q = 0; q < queues; q++)
        known += knows[q] * one[q];
    known += ((uint64_t)stay->first - knows[own]) * one[own];
    return pack->lanes.nothing[0] - (known << 32) + (stay->close + UINT64_C(1)) * one[own];
}

static HDI_APART void read_any(const hdi_pack *pack, uint32_t res, uint64_t *clock)
{
    for (uint32_t k = 0; k < pack->lanes.words; k++)
        clock[k] = pack->lanes.nothing[k];
    if (pack->queues == 3) /* the loops are unrolled for what is most common */
        read_clock(pack, 3, res, clock);
    else if (pack->queues == 4) /* the host's is the fourth */
        read_clock(pack, 4, res, clock);
    else
        read_clock(pack, pack->queues, res, clock);
}

void hdi_pack_read_clock(const hdi_pack *pack, uint32_t res, uint64_t *clock)
{
    uint32_t mask = pack->hazards->res_queues[res];
    if (pack->queues == 3 && pack->lanes.words == 1 && is_alone(pack, mask))
        *clock = read_one(pack, 3, res, (uint32_t)__builtin_ctz(mask));
    else
        read_any(pack, res, clock);
}

/* Each of its queues has to know of those before it, and those behind it of all its queues. */
static HDI_INLINE void read_several(const hdi_pack *pack, uint32_t res, hdi_newcomer *n, uint32_t queues)
{
    const hdi_hazards *hazards = pack->hazards;
    uint32_t mask = 0;
    for (uint32_t q = 0; q < queues; q++) {
        n->known[q] = INT32_MAX;
        n->unaware[q] = -1;
    }
    for (uint32_t k = 0; k < queues; k++) {
        const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * queues + k];
        if (stay->first == HDI_NONE)
            continue;
        const uint32_t *knows = &pack->synced->slot_clock[(size_t)hdi_slot_at(hazards, k, stay->first) * queues],
                       *unaware = &pack->lifetimes
                                       ->place_unaware[hdi_unaware_row(queues, hazards->queue_begin[k] + stay->close)];
        for (uint32_t q = 0; q < queues; q++) {
            int32_t known = (int32_t)(q == k ? stay->first : knows[q]), other = (int32_t)unaware[q] - 1,
                    last = q == k ? (int32_t)stay->close : other;
            n->known[q] = known < n->known[q] ? known : n->known[q];
            n->unaware[q] = last > n->unaware[q] ? last : n->unaware[q];
        }
        n->first[k] = (int32_t)stay->first;
        n->last[k] = (int32_t)stay->close;
        mask |= 1u << k;
    }
    n->queues = mask;
}

static HDI_APART void read_of_two(const hdi_pack *pack, uint32_t res, hdi_newcomer *n)
{
    read_several(pack, res, n, 2);
}

static HDI_APART void read_of_three(const hdi_pack *pack, uint32_t res, hdi_newcomer *n)
{
    read_several(pack, res, n, 3);
}

static HDI_APART void read_of_four(const hdi_pack *pack, uint32_t res, hdi_newcomer *n)
{
    read_several(pack, res, n, 4);
}

static HDI_APART void read_of_many(const hdi_pack *pack, uint32_t res, hdi_newcomer *n)
{
    read_several(pack, res, n, pack->queues);
}

void hdi_read_several(const hdi_pack *pack, uint32_t res, hdi_newcomer *n)
{
    if (pack->queues == 2)
        read_of_two(pack, res, n);
    else if (pack->queues == 3)
        read_of_three(pack, res, n);
    else if (pack->queues == 4) /* the host's is the fourth */
        read_of_four(pack, res, n);
    else
        read_of_many(pack, res, n);
}
