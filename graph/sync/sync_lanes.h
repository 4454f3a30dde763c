/* What a slot knows or wants of up to four queues: four words side by side. Of three or two, lanes behind theirs hold
 * whatever follows in memory, and are of no queue. */
#ifndef HDI_SYNC_LANES_H
#define HDI_SYNC_LANES_H

#include <stdint.h>
#include <string.h>

#include "hints.h"

typedef uint32_t hdi_sync_lanes __attribute__((vector_size(16)));
typedef int32_t hdi_sync_signed_lanes __attribute__((vector_size(16)));
typedef uint64_t hdi_sync_lane_pairs __attribute__((vector_size(16)));
enum { HDI_SYNC_LANES = 4 };

static HDI_INLINE hdi_sync_lanes hdi_sync_load(const uint32_t *row)
{
    hdi_sync_lanes out;
    memcpy(&out, row, sizeof(out));
    return out;
}

static HDI_INLINE hdi_sync_lanes hdi_sync_all(uint32_t word)
{
    return (hdi_sync_lanes){word, word, word, word};
}

/* More than the other: counts are far below half of all numbers. */
static HDI_INLINE hdi_sync_lanes hdi_sync_are_more(hdi_sync_lanes a, hdi_sync_lanes b)
{
    return (hdi_sync_lanes)((hdi_sync_signed_lanes)a > (hdi_sync_signed_lanes)b);
}

static HDI_INLINE hdi_sync_lanes hdi_sync_most(hdi_sync_lanes a, hdi_sync_lanes b)
{
    hdi_sync_lanes more = hdi_sync_are_more(a, b);
    return (a & more) | (b & ~more);
}

/* Not 0 where any bit of any lane is set, and the bits of all lanes together. */
static HDI_INLINE uint64_t hdi_sync_any(hdi_sync_lanes lanes)
{
    hdi_sync_lane_pairs pairs = (hdi_sync_lane_pairs)lanes;
    return pairs[0] | pairs[1];
}
static HDI_INLINE uint32_t hdi_sync_bits(uint64_t any)
{
    return (uint32_t)(any | any >> 32);
}

/* For each queue: all bits of its own lane, and in those of the others the bit of each. */
typedef struct hdi_sync_masks {
    hdi_sync_lanes own[HDI_SYNC_LANES], others[HDI_SYNC_LANES];
} hdi_sync_masks;

static HDI_INLINE hdi_sync_masks hdi_sync_masks_of(uint32_t queues)
{
    hdi_sync_masks out = {0};
    for (uint32_t q = 0; q < queues; q++) {
        out.own[q][q] = UINT32_MAX;
        for (uint32_t other = 0; other < queues; other++)
            out.others[q][other] = other == q ? 0 : 1u << other;
    }
    return out;
}

#endif
