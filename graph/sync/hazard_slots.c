#include "hazard_work.h"

#include <string.h>

/* Places of slots on their queues. Extra slots join the numbering of the schedule; where there are none, which is
 * nearly always, it stays as it is. O(slots * queues). */

/* Queue by queue: a count in memory would be waited for at each slot. */
void hdi_count_slots(const hdi_hazard_work *w, uint32_t begin, uint32_t end, uint32_t count[HD_MAX_QUEUES])
{
    const uint8_t *slot_queue = w->out->slot_queue;
    uint32_t rest = end - begin, last = w->queues->count - 1;
    for (uint32_t q = 0; q < last; q++) {
        uint32_t on_queue = 0;
        for (uint32_t s = begin; s < end; s++)
            on_queue += slot_queue[s] == q;
        count[q] += on_queue;
        rest -= on_queue;
    }
    count[last] += rest;
}

void hdi_begin_queues(const hdi_hazard_work *w, uint32_t (*on_queue)[HD_MAX_QUEUES], uint32_t ranges)
{
    hdi_hazards *out = w->out;
    uint32_t sum = 0;
    for (uint32_t q = 0; q < w->queues->count; q++) {
        out->queue_begin[q] = sum;
        for (uint32_t r = 0, at = 0; r < ranges; r++) {
            uint32_t count = on_queue[r][q];
            on_queue[r][q] = at;
            at += count;
            sum += count;
        }
    }
    out->queue_begin[w->queues->count] = w->several ? sum : out->slot_count;
}

void hdi_clear_wants(const hdi_hazard_work *w, uint32_t begin, uint32_t end)
{
    size_t queues = w->queues->count;
    memset(w->out->slot_want + begin * queues, 0, (end - begin) * queues * sizeof(*w->out->slot_want));
}

void hdi_place_slots(const hdi_hazard_work *w, uint32_t begin, uint32_t end, uint32_t at[HD_MAX_QUEUES])
{
    hdi_hazards *out = w->out;
    if (!w->several) {
        for (uint32_t s = begin; s < end; s++)
            out->slot_pos[s] = s;
        return;
    }
    for (uint32_t s = begin; s < end; s++)
        hdi_place_slot(out, s, at);
    hdi_clear_wants(w, begin, end);
}

/* Slots of the schedule and extra ones, in the order in which they stand; final_of: the number of each. */
static void number_all(const hdi_schedule *schedule, const hdi_extras *extras, uint32_t *final_of, hdi_hazards *out)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s <= schedule->slot_count; s++) {
        for (uint32_t x = extras->at[s]; x != HDI_NONE; x = extras->extra[x].next) {
            out->slot_pass[n] = HDI_NONE;
            out->slot_queue[n] = (uint8_t)extras->extra[x].queue;
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
    for (uint32_t k = 1; k < schedule->region_count; k++)
        out->region_begin[k] = final_of[schedule->region_begin[k] - 1] + 1;
    for (uint32_t e = 0; e < out->memory_edge_count; e++)
        out->memory_edge[e] = (hdi_edge){final_of[schedule->edge[e].from], final_of[schedule->edge[e].to]};
}

static void number_epochs(const hdi_hazard_work *w, const uint32_t *final_of)
{
    hdi_hazards *out = w->out;
    for (uint32_t seg = 0; seg < w->frozen->seg_count; seg++) {
        for (uint32_t e = out->seg_epoch_begin[seg]; e < out->seg_epoch_end[seg]; e++) {
            hdi_epoch *epoch = &out->epoch[e];
            if (epoch->extra != HDI_NONE)
                epoch->extra = final_of[epoch->extra];
            if (epoch->flags & HDI_EPOCH_FINAL)
                continue;
            epoch->first = final_of[epoch->first];
            epoch->last = final_of[epoch->last];
            for (uint32_t i = epoch->more; i != HDI_NONE; i = out->entry[i].older)
                out->entry[i].slot = final_of[out->entry[i].slot];
        }
    }
}

/* What slots want of slots, and then what they want of extra ones or these of them. */
static void number_wants(const hdi_hazard_work *w, const hdi_hazards *old, const uint32_t *final_of)
{
    hdi_hazards *out = w->out;
    uint32_t queues = w->queues->count;
    for (uint32_t s = 0; s < old->slot_count; s++) {
        for (uint32_t q = 0; q < queues; q++) {
            uint32_t count = old->slot_want[(size_t)s * queues + q];
            if (count)
                hdi_want(out, queues, out->slot_want, final_of[old->queue_slot[old->queue_begin[q] + count - 1]],
                         final_of[s], true);
        }
    }
    for (uint32_t e = 0; e < w->edge_count; e++)
        hdi_want(out, queues, out->slot_want, final_of[w->edges[e].from], final_of[w->edges[e].to], true);
}

hd_result hdi_add_extra_slots(const hdi_hazard_work *w)
{
    const hdi_schedule *schedule = w->schedule;
    hdi_hazards *out = w->out, old = *out;
    uint32_t total = old.slot_count + w->extras.count, on_queue[HD_MAX_QUEUES] = {0};
    uint32_t *final_of = HDI_ARENA_ARRAY(w->arena, uint32_t, total);
    out->slot_count = total;
    out->slot_pass = HDI_ARENA_ARRAY(w->arena, uint32_t, total);
    out->slot_queue = HDI_ARENA_ARRAY(w->arena, uint8_t, total);
    out->slot_group = schedule->slot_group ? HDI_ARENA_ARRAY(w->arena, uint32_t, total) : NULL;
    out->memory_edge = HDI_ARENA_ARRAY(w->arena, hdi_edge, schedule->edge_count);
    out->region_begin = HDI_ARENA_ARRAY(w->arena, uint32_t, (size_t)schedule->region_count + 1);
    out->slot_pos = HDI_ARENA_ARRAY(w->arena, uint32_t, total);
    out->queue_slot = HDI_ARENA_ARRAY(w->arena, uint32_t, total);
    out->slot_want = HDI_ARENA_ARRAY(w->arena, uint32_t, (size_t)total * w->queues->count + HDI_ROW_SLACK);
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    out->region_begin[0] = 0;
    out->region_begin[schedule->region_count] = total;
    number_all(schedule, &w->extras, final_of, out);
    number_epochs(w, final_of);
    hdi_count_slots(w, 0, total, on_queue);
    hdi_begin_queues(w, &on_queue, 1);
    hdi_place_slots(w, 0, total, on_queue);
    number_wants(w, &old, final_of);
    return HD_OK;
}
