/* Between alias_blocks.c, which makes lists of blocks, and alias_skyline.c, which packs them. */
#ifndef HDI_ALIAS_SKYLINE_H
#define HDI_ALIAS_SKYLINE_H

#include "alias_pack.h"

#define HDI_SKYLINE_MOST_UNITS (UINT32_MAX / 2) /* half a terabyte: nobody ends there or above */
/* Lists that are compared at once; sizes of worth, in eighths of a logarithm. */
enum { HDI_SKYLINE_LANES = 32, HDI_SKYLINE_SIZES = 48, HDI_SKYLINE_LOG_BITS = 3 };

/* A member, and then a block. */
typedef struct hdi_block {
    uint32_t id; /* the resource; which block it is */
    uint32_t units, alignment;
    uint16_t first, last; /* pieces of time */
} hdi_block;

/* Where a member lies: in its block, above so many units. */
typedef struct hdi_block_part {
    uint32_t res, block, below;
} hdi_block_part;

typedef struct hdi_blocks {
    hdi_block_part *part;
    hdi_block *item; /* members, then blocks by lists; behind all of these an empty one */
    /* By list, in the order of first and last pieces; behind all of them as many as are compared with it. */
    int16_t *first, *last;
    uint32_t *end;        /* in item */
    uint32_t *list_begin; /* by piece: those that start there */
    uint32_t pieces, lists, blocks, most_live;
    uint32_t clear_begin, clear_end; /* pieces in a row, over which nothing hangs */
    uint32_t largest;                /* of all, and its alignment */
    int32_t least_log;               /* of sizes that can be told from smaller ones */
} hdi_blocks;

static inline uint64_t hdi_align_units(uint64_t value, uint32_t alignment)
{
    return (value + alignment - 1) & ~((uint64_t)alignment - 1);
}

/* by_size: the largest first. False: out of memory, or they are too large for less than `most` units. */
bool hdi_make_blocks(const hdi_pack *pack, const uint32_t *by_size, uint32_t count, uint64_t most, hdi_blocks *out);

#endif
