#include <string.h>

#include "vk_join.h"

/* What joins a frame to earlier ones and says nothing new: barriers that an earlier barrier of the queue contains, and
 * waits for what the queue knows by other waits. */

void hdi_vk_drop_contained(hdi_vk_frame *frame)
{
    enum { KEPT = 8 };
    const hdi_vk_join *kept[HD_MAX_QUEUES][KEPT];
    uint32_t kept_count[HD_MAX_QUEUES] = {0};
    for (uint32_t s = 0; s < frame->plan.submit_count; s++) {
        const hd_plan_submit *submit = &frame->plan.submits[s];
        uint32_t q = frame->queue_of[submit->queue];
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
            if (frame->before[c] == 0)
                continue;
            const hdi_vk_join *join = &frame->joins[frame->before[c] - 1];
            bool contained = false;
            for (uint32_t k = 0; k < kept_count[q] && k < KEPT && !contained; k++) {
                const hdi_vk_join *by = kept[q][k];
                contained = !(join->src_stages & ~by->src_stages) && !(join->src_access & ~by->src_access) &&
                            !(join->dst_stages & ~by->dst_stages) && !(join->dst_access & ~by->dst_access);
            }
            if (contained)
                frame->before[c] = 0;
            else
                kept[q][kept_count[q]++ % KEPT] = join;
        }
    }
}

void hdi_vk_drop_known(const hd_vk *vk, const uint64_t *known, uint64_t *wait)
{
    uint32_t count = 0, queues = vk->queue_count + 1;
    for (uint32_t p = 0; p < queues; p++) {
        wait[p] = wait[p] > known[p] ? wait[p] : 0;
        count += wait[p] != 0;
    }
    for (uint32_t by = 0; by < vk->queue_count && count > 1; by++) {
        for (uint32_t p = 0; p < queues && wait[by] != 0 && wait[by] >= vk->queues[by].base; p++) {
            if (p != by && wait[p] <= vk->known[by][p])
                wait[p] = 0;
        }
    }
}

/* A queue that waits for the end of another queue's last frame knows what that queue had waited for. */
static void learn(const hd_vk *vk, uint64_t *known, uint32_t p, uint64_t value)
{
    known[p] = value > known[p] ? value : known[p];
    bool whole = p < vk->queue_count && value >= vk->queues[p].base; /* the host's are left aside */
    for (uint32_t r = 0; r <= vk->queue_count && whole; r++)
        known[r] = vk->known[p][r] > known[r] ? vk->known[p][r] : known[r];
}

void hdi_vk_drop_implied(hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    uint32_t queues = vk->queue_count + 1;
    memcpy(frame->known, vk->known, sizeof(frame->known));
    for (uint32_t s = 0; s < frame->plan.submit_count; s++) {
        const hd_plan_submit *submit = &frame->plan.submits[s];
        uint32_t q = frame->queue_of[submit->queue];
        uint64_t *known = frame->known[q], *wait = &frame->join_values[(size_t)s * queues];
        for (uint32_t p = 0; p < queues && vk->fresh[q] && frame->ends.first[q] == s; p++)
            wait[p] = vk->queues[p].base;
        for (uint32_t w = submit->wait_begin; w < submit->wait_begin + submit->wait_count; w++) {
            const hd_plan_wait *planned = &frame->plan.waits[w];
            uint32_t p = frame->queue_of[planned->queue];
            if (planned->stages & VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT)
                learn(vk, known, p, vk->queues[p].base + planned->value);
        }
        hdi_vk_drop_known(vk, known, wait);
        for (uint32_t p = 0; p < queues; p++) {
            if (wait[p] != 0)
                learn(vk, known, p, wait[p]);
        }
    }
}
