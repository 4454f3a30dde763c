#include "hazard_slots.h"

#include "csr.h"

/* Extra slots join the numbering of the schedule; edges become adjacency by the slot that waits. O(slots + edges). */

hd_result hdi_number_slots(const hdi_schedule *schedule, const hdi_queues *queues, const hdi_extras *extras,
                           const hdi_edge *edges, uint32_t edge_count, hdi_arena *arena, hdi_hazards *out)
{
    uint32_t total = schedule->slot_count + extras->count;
    uint32_t *final_of = HDI_ARENA_ARRAY(arena, uint32_t, total);
    out->slot_pass = HDI_ARENA_ARRAY(arena, uint32_t, total);
    out->slot_queue = HDI_ARENA_ARRAY(arena, uint8_t, total);
    out->slot_pos = HDI_ARENA_ARRAY(arena, uint32_t, total);
    out->queue_slot = HDI_ARENA_ARRAY(arena, uint32_t, total);
    out->edge_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)total + 1);
    out->edge = HDI_ARENA_ARRAY(arena, uint32_t, edge_count);
    uint32_t *key = HDI_ARENA_ARRAY(arena, uint32_t, edge_count);
    out->memory_edge_count = schedule->edge_count;
    out->memory_edge = HDI_ARENA_ARRAY(arena, hdi_edge, schedule->edge_count);
    out->slot_group = schedule->slot_group ? HDI_ARENA_ARRAY(arena, uint32_t, total) : NULL;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    uint32_t n = 0, on_queue[HD_MAX_QUEUES] = {0};
    for (uint32_t s = 0; s <= schedule->slot_count; s++) {
        for (uint32_t x = extras->at[s]; x != HDI_NONE; x = extras->next[x]) {
            out->slot_pass[n] = HDI_NONE;
            out->slot_queue[n] = (uint8_t)extras->queue[x];
            if (out->slot_group)
                out->slot_group[n] = s < schedule->slot_count ? schedule->slot_group[s] : schedule->group_count;
            final_of[schedule->slot_count + x] = n++;
        }
        if (s == schedule->slot_count)
            break;
        out->slot_pass[n] = schedule->slot_pass[s];
        out->slot_queue[n] = schedule->slot_queue[s];
        if (out->slot_group)
            out->slot_group[n] = schedule->slot_group[s];
        final_of[s] = n++;
    }
    out->slot_count = total;
    for (uint32_t s = 0; s < total; s++)
        out->slot_pos[s] = on_queue[out->slot_queue[s]]++;
    for (uint32_t q = 0, at = 0; q <= queues->count; q++) {
        out->queue_begin[q] = at;
        at += q < queues->count ? on_queue[q] : 0;
    }
    for (uint32_t s = 0; s < total; s++)
        out->queue_slot[out->queue_begin[out->slot_queue[s]] + out->slot_pos[s]] = s;
    for (uint32_t e = 0; e < out->entry_count; e++)
        out->entry_slot[e] = final_of[out->entry_slot[e]];
    for (uint32_t e = 0; e < out->epoch_count; e++) {
        hdi_epoch *epoch = &out->epoch[e];
        if (epoch->entry_begin < epoch->entry_end) {
            epoch->first = final_of[epoch->first];
            epoch->last = final_of[epoch->last];
        }
        if (epoch->extra != HDI_NONE)
            epoch->extra = final_of[epoch->extra];
    }
    for (uint32_t e = 0; e < schedule->edge_count; e++)
        out->memory_edge[e] = (hdi_edge){final_of[schedule->edge[e].from], final_of[schedule->edge[e].to]};
    for (uint32_t e = 0; e < edge_count; e++)
        key[e] = final_of[edges[e].to];
    uint32_t *order = HDI_ARENA_ARRAY(arena, uint32_t, edge_count);
    if (!order)
        return HD_OUT_OF_MEMORY;
    hdi_csr_build(key, edge_count, total, out->edge_begin, order);
    for (uint32_t e = 0; e < edge_count; e++)
        out->edge[e] = final_of[edges[order[e]].from];
    out->edge_count = edge_count;
    return HD_OK;
}
