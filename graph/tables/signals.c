#include "signals.h"

bool hdi_signals_list(hdi_signals *signals, const hd_plan_view *plan, hdi_arena *arena)
{
    uint32_t count[HD_MAX_QUEUES] = {0}, at = 0;
    signals->submit = HDI_ARENA_ARRAY(arena, uint32_t, plan->submit_count);
    if (!signals->submit)
        return false;
    for (uint32_t s = 0; s < plan->submit_count; s++)
        count[plan->submits[s].queue]++;
    for (uint32_t q = 0; q < plan->queue_count; at += count[q++])
        signals->begin[q] = signals->end[q] = at;
    for (uint32_t s = 0; s < plan->submit_count; s++) {
        uint32_t q = plan->submits[s].queue, *end = &signals->end[q];
        uint64_t most = *end == signals->begin[q] ? 0 : plan->submits[signals->submit[*end - 1]].signal_value;
        if (plan->submits[s].signal_value > most)
            signals->submit[(*end)++] = s;
    }
    return true;
}

uint32_t hdi_signals_find(const hdi_signals *signals, const hd_plan_view *plan, uint32_t queue, uint64_t value)
{
    if (queue >= plan->queue_count || value == 0)
        return HDI_NONE;
    uint32_t low = signals->begin[queue], high = signals->end[queue];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->submits[signals->submit[middle]].signal_value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < signals->end[queue] ? signals->submit[low] : HDI_NONE;
}
