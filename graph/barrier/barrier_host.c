#include "barrier_host.h"

#include "sort.h"

/* Barriers of one GPU queue beside the host's. What the GPU alone uses has steps, which are walked as where there is
 * nothing else (barrier_walk.c). What the host uses, too, has epochs; barrier_steps.c says what these ask for. That,
 * and the states that the frame leaves, each of which belongs into the submit of the last use, are events: sorted by
 * the ends of their intervals, they are taken in between the steps. O(steps + events). */

typedef hdi_one_work work;

/* The end of the submit of a slot. */
static uint32_t submit_end(const hdi_beside *h, uint32_t slot)
{
    const hdi_synced *synced = h->several->synced;
    return 2 * h->slots[synced->submit[synced->place_submit[h->slot_pos[slot]]].end_pos - 1] + 1;
}

/* States that a resource is left in. What is not used takes any point. */
static uint32_t list_left(const work *w, const hdi_beside *h, uint32_t res, uint32_t count)
{
    const hdi_seg_state *state = w->hazards->seg_state;
    uint32_t first = w->frozen->res_seg_begin[res], end = w->frozen->res_seg_begin[res + 1], any = 0;
    uint32_t places = w->hazards->queue_begin[1];
    for (uint32_t seg = first; seg < end; seg++)
        any |= state[seg].behind;
    for (uint32_t seg = first; any && seg < end; seg++) {
        if (!hdi_is_left(w, res, seg))
            continue;
        uint32_t behind = state[seg].behind;
        h->event[count++] =
            (hdi_event){behind ? 2 * behind - 1 : 0, behind ? submit_end(h, behind - 1) : 2 * h->slots[places - 1] + 1,
                        seg | HDI_EVENT_LEAVES};
    }
    return count;
}

static bool sort_events(hdi_beside *h, hdi_arena *arena)
{
    uint32_t count = h->event_count;
    uint64_t *key = HDI_ARENA_ARRAY(arena, uint64_t, count), *scratch_key = HDI_ARENA_ARRAY(arena, uint64_t, count);
    uint32_t *order = HDI_ARENA_ARRAY(arena, uint32_t, count), *scratch = HDI_ARENA_ARRAY(arena, uint32_t, count);
    hdi_event *sorted = HDI_ARENA_ARRAY(arena, hdi_event, count);
    if (arena->failed)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        key[i] = h->event[i].high;
        order[i] = i;
    }
    hdi_sort_u64(key, order, scratch_key, scratch, count);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = h->event[order[i]];
    h->event = sorted;
    return true;
}

bool hdi_list_events(hdi_one_work *w, hdi_beside *h, hdi_arena *arena)
{
    const hdi_hazards *hazards = w->hazards;
    const hdi_request *item = h->several->requests->item;
    uint32_t count = h->several->requests->list->count, left = 0;
    for (uint32_t i = 0; i < hazards->keeper_count; i++)
        left += w->frozen->res_seg_begin[hazards->keeper[i] + 1] - w->frozen->res_seg_begin[hazards->keeper[i]];
    h->event = HDI_ARENA_ARRAY(arena, hdi_event, (size_t)count + left);
    if (arena->failed)
        return false;
    h->slots = hazards->queue_slot;
    h->slot_pos = hazards->slot_pos;
    h->slot_round = h->several->synced->slot_round;
    w->beside = h;
    for (uint32_t i = 0; i < count; i++)
        h->event[i] = (hdi_event){hdi_point_of(h, item[i].low), hdi_point_of(h, item[i].place), i};
    for (uint32_t i = 0; i < hazards->keeper_count; i++)
        count = list_left(w, h, hazards->keeper[i], count);
    h->event_count = count;
    return sort_events(h, arena);
}

/* As barriers of several queues are cut: the point behind the last slot before a region is its first. */
void hdi_cut_events(const hdi_one_work *w, hdi_beside *h)
{
    uint32_t at = 0, pos = 0;
    for (uint32_t k = 0; k < w->region_count; k++) {
        pos = hdi_pos_from(w->hazards, 0, pos, w->region[k].slot_begin);
        uint32_t floor = k && pos ? 2 * h->slots[pos - 1] + 1 : 0;
        while (at < h->event_count && h->event[at].high < floor)
            at++;
        h->event_begin[k] = at;
    }
    h->event_begin[w->region_count] = h->event_count;
}

uint32_t hdi_came_round(const hdi_one_work *w, uint32_t low, uint32_t high, uint64_t stages)
{
    const hdi_beside *h = w->beside;
    uint32_t last = h->slot_pos[high / 2], since = 2 * h->slot_pos[low / 2] + (low & 1), first = 0;
    if (2 * h->slot_round[h->slots[last]] <= since || stages & HDI_STAGE_HOST)
        return HDI_NONE;
    while (first < last) { /* the wait that brought it */
        uint32_t middle = first + (last - first) / 2;
        if (2 * h->slot_round[h->slots[middle]] > since)
            last = middle;
        else
            first = middle + 1;
    }
    hdi_count_on(&w->out->slot_wait_stages[h->slots[first]], stages, w->alone);
    return h->slots[first];
}
