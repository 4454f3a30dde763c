#include "alias_buckets.h"

/* The packer of alias_buckets.c for members of whole grains, as most are where memory for images comes in these: places
 * and bytes alike are 16 bits then, and who is in the way and where there is room is found of eight items in fewer
 * steps. It ends with the first member who is
 * smaller than a grain or no multiple, or for whom there might be no place below TOP, nearly 2 GiB, and leaves the rest
 * to the other one. O(resources * (placed in a bucket) * buckets of a life). */

#ifdef __SSE2__

#include "alias_grains_lanes.h"

uint32_t hdi_pack_in_grains(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t most,
                            uint64_t *end)
{
    return pack_on_queues(pack, order, count, offset, most, end);
}

#else

uint32_t hdi_pack_in_grains(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t most,
                            uint64_t *end)
{
    (void)pack, (void)order, (void)count, (void)offset, (void)most, (void)end;
    return 0;
}

#endif
