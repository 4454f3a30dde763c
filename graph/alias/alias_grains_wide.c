#include "alias_buckets.h"

/* The packer of alias_grains.c by sixteen items at a time, for processors with AVX2. */

#ifdef __SSE2__

#include <immintrin.h>
#include <string.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#define HDI_WIDE_LANES
#include "alias_grains_lanes.h"

uint32_t hdi_pack_in_wide_grains(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t most,
                                 uint64_t *end)
{
    return pack_on_queues(pack, order, count, offset, most, end);
}

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
