#include "sync_work.h"

#include <string.h>

/* Places of slots on their queues. Extra slots join the numbering of the schedule; where there are none, which is
 * nearly always, it stays as it is. O(slots * queues), and with extra slots steps. */

/* With one queue places are slots, in one table. */
void hdi_place_slots(const hdi_hazard_work *w)
{
    hdi_hazards *out = w->out;
    uint32_t at[HD_MAX_QUEUES] = {0}, *begin = out->queue_begin, queues = w->queues->count, slots = out->slot_count;
    begin[0] = 0;
    begin[queues] = slots;
    for (uint32_t s = 0; !w->several && s < slots; s++)
        out->slot_pos[s] = s;
    if (!w->several)
        return;
    for (uint32_t s = 0; s < slots; s++)
        at[out->slot_queue[s]]++;
    for (uint32_t q = 1; q < queues; q++)
        begin[q] = begin[q - 1] + at[q - 1];
    memset(at, 0, sizeof(at));
    for (uint32_t s = 0; s < slots; s++) {
        uint32_t queue = out->slot_queue[s], pos = at[queue]++;
        out->slot_pos[s] = pos;
        out->queue_slot[begin[queue] + pos] = s;
    }
}

/* ---- extra slots ---- */

/* Those before each slot of the schedule, chained: newest first. */
typedef struct extra_slots {
    uint32_t *at, *next, count;
    uint8_t *queue;
} extra_slots;

/* One serves all that ask for the same. The slot of an extra step becomes the number of its extra slot. */
static bool join_asks(const hdi_hazard_work *w, const hdi_extra_ask *ask, extra_slots *out)
{
    uint32_t slots = w->schedule->slot_count, asks = w->out->extra_count;
    *out = (extra_slots){.at = HDI_ARENA_ARRAY(w->arena, uint32_t, (size_t)slots + 1),
                         .next = HDI_ARENA_ARRAY(w->arena, uint32_t, asks),
                         .queue = HDI_ARENA_ARRAY(w->arena, uint8_t, asks)};
    if (w->arena->failed)
        return false;
    memset(out->at, 0xff, ((size_t)slots + 1) * sizeof(*out->at));
    for (uint32_t i = 0; i < asks; i++) {
        uint32_t x = out->at[ask[i].before];
        while (x != HDI_NONE && out->queue[x] != ask[i].queue)
            x = out->next[x];
        if (x == HDI_NONE) {
            x = out->count++;
            out->queue[x] = (uint8_t)ask[i].queue;
            out->next[x] = out->at[ask[i].before];
            out->at[ask[i].before] = x;
        }
        w->out->extra[i].slot = x;
    }
    return true;
}

/* Slots of the schedule and extra ones, in the order in which they stand; final_of: the number of each, extra ones
 * behind those of the schedule. */
static void number_all(const hdi_schedule *schedule, const extra_slots *extras, uint32_t *final_of, hdi_hazards *out)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s <= schedule->slot_count; s++) {
        for (uint32_t x = extras->at[s]; x != HDI_NONE; x = extras->next[x]) {
            out->slot_pass[n] = HDI_NONE;
            out->slot_queue[n] = extras->queue[x];
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

/* behind: 1 + a slot, or 0. */
static uint32_t final_behind(const uint32_t *final_of, uint32_t behind)
{
    return behind ? final_of[behind - 1] + 1 : 0;
}

static void number_steps(const hdi_hazard_work *w, const uint32_t *final_of)
{
    hdi_hazards *out = w->out;
    for (uint32_t i = 0; i < out->step_count; i++) {
        hdi_step *step = &out->step[i];
        step->slot = final_of[step->slot]; /* of gaps, too: they stand in the order of the slots */
        if (step->to == HDI_NONE)
            continue;
        step->low = final_behind(final_of, step->low);
        for (uint32_t k = hdi_has_sides(step->to) ? step->use : 0; k; k = out->side[k].older) {
            out->side[k].first = final_of[out->side[k].first];
            out->side[k].last = final_of[out->side[k].last];
        }
    }
    for (uint32_t seg = 0; seg < w->frozen->seg_count; seg++) {
        hdi_seg_state *state = &out->seg_state[seg];
        state->first = state->behind ? final_of[state->first] : 0;
        state->behind = final_behind(final_of, state->behind);
    }
    for (uint32_t i = 0; i < out->extra_count; i++)
        out->extra[i].slot = final_of[w->schedule->slot_count + out->extra[i].slot];
}

/* What slots want of slots. */
static void number_wants(const hdi_hazard_work *w, const hdi_hazards *old, const uint32_t *final_of)
{
    hdi_hazards *out = w->out;
    uint32_t queues = w->queues->count;
    memset(out->slot_want, 0, (size_t)out->slot_count * queues * sizeof(*out->slot_want));
    for (uint32_t s = 0; s < old->slot_count; s++) {
        for (uint32_t q = 0; q < queues; q++) {
            uint32_t count = old->slot_want[(size_t)s * queues + q];
            if (count)
                hdi_want(out, queues, out->slot_want, final_of[old->queue_slot[old->queue_begin[q] + count - 1]],
                         final_of[s], true);
        }
    }
}

/* An extra slot wants all of the epoch before, and all of the epoch behind wants it. */
static void want_extra(const hdi_hazard_work *w, const hdi_extra_step *extra)
{
    hdi_hazards *out = w->out;
    uint32_t queues = w->queues->count, queue = out->slot_queue[extra->slot];
    const hdi_step *behind = extra->step == HDI_NONE ? NULL : &out->step[extra->step];
    uint32_t before = behind ? behind->before : out->seg_state[extra->seg].step_end,
             low = behind ? behind->low : out->seg_state[extra->seg].behind;
    hdi_side sides[HD_MAX_QUEUES];
    for (uint32_t i = before ? hdi_find_sides(out, &out->step[before - 1], low, sides) : 0; i-- > 0;) {
        if (sides[i].to >> HDI_QUEUE_SHIFT != queue)
            hdi_want(out, queues, out->slot_want, sides[i].last, extra->slot, true);
    }
    for (uint32_t i = behind ? hdi_find_sides(out, behind, 1, sides) : 0; i-- > 0;) {
        if (sides[i].to >> HDI_QUEUE_SHIFT != queue)
            hdi_want(out, queues, out->slot_want, extra->slot, sides[i].first, true);
    }
}

hd_result hdi_add_extra_slots(const hdi_hazard_work *w, const hdi_extra_ask *ask)
{
    const hdi_schedule *schedule = w->schedule;
    hdi_hazards *out = w->out, old = *out;
    extra_slots extras;
    if (!join_asks(w, ask, &extras))
        return HD_OUT_OF_MEMORY;
    uint32_t total = old.slot_count + extras.count, *final_of = HDI_ARENA_ARRAY(w->arena, uint32_t, total);
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
    number_all(schedule, &extras, final_of, out);
    number_steps(w, final_of);
    hdi_place_slots(w);
    number_wants(w, &old, final_of);
    for (uint32_t i = 0; i < out->extra_count; i++)
        want_extra(w, &out->extra[i]);
    return HD_OK;
}
