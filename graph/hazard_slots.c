#include "hazard_work.h"

#include <string.h>

#include "csr.h"

/* Extra slots join the numbering of the schedule; where there are none, it stays as it is. Edges become adjacency by
 * the slot that waits. O(slots + edges). */

/* Slots of the schedule and extra ones in one numbering; final_of: of each. */
static void number_all(const hdi_schedule *schedule, const hdi_extras *extras, uint32_t *final_of, hdi_hazards *out)
{
    uint32_t n = 0;
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
    for (uint32_t k = 1; k < schedule->region_count; k++)
        out->region_begin[k] = final_of[schedule->region_begin[k] - 1] + 1;
    for (uint32_t e = 0; e < out->memory_edge_count; e++)
        out->memory_edge[e] = (hdi_edge){final_of[schedule->edge[e].from], final_of[schedule->edge[e].to]};
}

static hd_result renumber(const hdi_hazard_work *w, hdi_edge *edges)
{
    const hdi_schedule *schedule = w->schedule;
    hdi_hazards *out = w->out;
    uint32_t total = out->slot_count;
    uint32_t *final_of = HDI_ARENA_ARRAY(w->arena, uint32_t, total);
    out->slot_pass = HDI_ARENA_ARRAY(w->arena, uint32_t, total);
    out->slot_queue = HDI_ARENA_ARRAY(w->arena, uint8_t, total);
    out->slot_group = schedule->slot_group ? HDI_ARENA_ARRAY(w->arena, uint32_t, total) : NULL;
    out->memory_edge = HDI_ARENA_ARRAY(w->arena, hdi_edge, schedule->edge_count);
    out->region_begin = HDI_ARENA_ARRAY(w->arena, uint32_t, (size_t)schedule->region_count + 1);
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    out->region_begin[0] = 0;
    out->region_begin[schedule->region_count] = total;
    number_all(schedule, &w->extras, final_of, out);
    for (uint32_t e = 0; e < w->edge_count; e++)
        edges[e] = (hdi_edge){final_of[edges[e].from], final_of[edges[e].to]};
    return HD_OK;
}

static void number_places(const hdi_queues *queues, hdi_hazards *out)
{
    uint32_t total = out->slot_count, on_queue[HD_MAX_QUEUES] = {0};
    out->queue_begin[0] = 0;
    if (queues->count == 1) {
        for (uint32_t s = 0; s < total; s++)
            out->slot_pos[s] = s;
        out->queue_slot = out->slot_pos;
        out->queue_begin[1] = total;
        return;
    }
    for (uint32_t s = 0; s < total; s++)
        out->slot_pos[s] = on_queue[out->slot_queue[s]]++;
    for (uint32_t q = 0; q < queues->count; q++)
        out->queue_begin[q + 1] = out->queue_begin[q] + on_queue[q];
    for (uint32_t s = 0; s < total; s++)
        out->queue_slot[out->queue_begin[out->slot_queue[s]] + out->slot_pos[s]] = s;
}

hd_result hdi_number_slots(const hdi_hazard_work *w)
{
    const hdi_schedule *schedule = w->schedule;
    hdi_hazards *out = w->out;
    hdi_arena *arena = w->arena;
    uint32_t total = schedule->slot_count + w->extras.count;
    out->slot_count = total;
    out->edge_count = w->edge_count;
    out->memory_edge_count = schedule->edge_count;
    out->region_count = schedule->region_count;
    out->region_begin = schedule->region_begin;
    out->slot_pass = schedule->slot_pass;
    out->slot_queue = schedule->slot_queue;
    out->slot_group = schedule->slot_group;
    out->memory_edge = schedule->edge;
    if (w->extras.count && renumber(w, w->edges) != HD_OK)
        return HD_OUT_OF_MEMORY;
    out->slot_pos = HDI_ARENA_ARRAY(arena, uint32_t, total);
    out->queue_slot = w->queues->count > 1 ? HDI_ARENA_ARRAY(arena, uint32_t, total) : NULL;
    out->edge_begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)total + 1);
    out->edge = HDI_ARENA_ARRAY(arena, uint32_t, w->edge_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    number_places(w->queues, out);
    if (w->edge_count == 0)
        return HD_OK;
    uint32_t *key = HDI_ARENA_ARRAY(arena, uint32_t, w->edge_count),
             *order = HDI_ARENA_ARRAY(arena, uint32_t, w->edge_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t e = 0; e < w->edge_count; e++)
        key[e] = w->edges[e].to;
    hdi_csr_build(key, w->edge_count, total, out->edge_begin, order);
    for (uint32_t e = 0; e < w->edge_count; e++)
        out->edge[e] = w->edges[order[e]].from;
    return HD_OK;
}
