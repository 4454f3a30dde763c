/* Who is to be packed by clocks. */
#ifndef HDI_ALIAS_NEWCOMER_H
#define HDI_ALIAS_NEWCOMER_H

#include "alias_pack.h"

/* By queue how many places have finished before he starts, and the last one that does not know that he is over; the
 * first and the last one of his own, on his own queues. Units and alignment are for the packer to set. */
typedef struct hdi_newcomer {
    uint32_t units, alignment, queues;
    int32_t known[HD_MAX_QUEUES], unaware[HD_MAX_QUEUES], first[HD_MAX_QUEUES], last[HD_MAX_QUEUES];
} hdi_newcomer;

/* Who lives on one queue. */
static HDI_INLINE void hdi_read_alone(const hdi_pack *pack, uint32_t res, uint32_t own, hdi_newcomer *n,
                                      uint32_t queues)
{
    const hdi_hazards *hazards = pack->hazards;
    const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * queues + own];
    const uint32_t *knows = &pack->synced->slot_clock[(size_t)pack->lifetimes->res_first[res] * queues],
                   *unaware = &pack->lifetimes
                                   ->place_unaware[hdi_unaware_row(queues, hazards->queue_begin[own] + stay->close)];
    uint32_t first = stay->first, close = stay->close;
    for (uint32_t q = 0; q < queues; q++) {
        n->known[q] = (int32_t)knows[q];
        n->unaware[q] = (int32_t)unaware[q] - 1;
    }
    n->known[own] = n->first[own] = (int32_t)first;
    n->unaware[own] = n->last[own] = (int32_t)close;
    n->queues = 1u << own;
}

/* Who does not live on one GPU queue alone; in alias_clocks.c. */
void hdi_read_several(const hdi_pack *pack, uint32_t res, hdi_newcomer *n);

static HDI_INLINE void hdi_read_newcomer(const hdi_pack *pack, uint32_t res, hdi_newcomer *n, uint32_t queues)
{
    if (queues == 1 && !pack->by_clocks) { /* places are slots */
        n->known[0] = n->first[0] = (int32_t)pack->lifetimes->res_first[res];
        n->unaware[0] = n->last[0] = (int32_t)pack->end[res];
        n->queues = 1;
        return;
    }
    uint32_t mask = pack->hazards->res_queues[res];
    if (!(mask & (mask - 1)) && mask & pack->gpu_mask)
        hdi_read_alone(pack, res, (uint32_t)__builtin_ctz(mask), n, queues);
    else
        hdi_read_several(pack, res, n);
}

#endif
