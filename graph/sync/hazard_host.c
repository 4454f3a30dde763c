#include "hazard_work.h"

#include <string.h>

/* The host beside one GPU queue, as frames with uploads and read-backs have it. Most of a frame is used by the GPU
 * alone, and is found as where there is nothing else: as steps, in the order of the schedule. What the host uses, too,
 * becomes epochs, as of several queues, from a list of its uses; steps of it do not count. Frames where these are
 * images go the way of several queues as a whole: their layouts may ask for extra slots. O(uses). */

typedef hdi_hazard_work work;

bool hdi_is_beside_host(const hdi_decl *decl, const hdi_queues *queues, bool merges)
{
    const uint8_t *res_flags = decl->res_flags;
    uint32_t images = 0;
    if (merges || queues->count != 2 || queues->gpu_count != 1)
        return false;
    for (uint32_t r = 0; r < decl->res_count; r++)
        images |= (res_flags[r] & (HDI_RES_HOST | HDI_RES_BUFFER)) == HDI_RES_HOST;
    return !images;
}

/* Places of slots on the two queues: counts in registers, as one in memory would be waited for at each slot. */
static void place_slots(const work *w)
{
    const uint8_t *slot_queue = w->out->slot_queue;
    uint32_t *slot_pos = w->out->slot_pos, *queue_slot = w->out->queue_slot, *host_slot, host = 0;
    host_slot = queue_slot + w->out->queue_begin[1];
    for (uint32_t s = 0; s < w->out->slot_count; s++) {
        uint32_t is_host = slot_queue[s], pos = is_host ? host : s - host;
        slot_pos[s] = pos;
        *(is_host ? &host_slot[pos] : &queue_slot[pos]) = s;
        host += is_host;
    }
    hdi_clear_wants(w, 0, w->out->slot_count);
}

void hdi_begin_beside_host(const hdi_hazard_work *w)
{
    hdi_hazards *out = w->out;
    const uint8_t *res_flags = w->decl->res_flags;
    uint32_t on_queue[HD_MAX_QUEUES] = {0}, count = 0, end = w->decl->res_count;
    for (uint32_t r = 0; r < end; r++)
        out->res_queues[r] = !(res_flags[r] & HDI_RES_HOST);
    for (uint32_t r = 0; (r = hdi_next_flagged(w->decl, r, end, HDI_RES_HOST)) < end; r++)
        out->host_res[count++] = r;
    out->host_res_count = count;
    hdi_count_slots(w, 0, out->slot_count, on_queue);
    hdi_begin_queues(w, &on_queue, 1);
    place_slots(w);
}

/* Which ones they are cannot be foreseen. */
bool hdi_list_host_uses(hdi_hazard_work *w, hdi_arena *arena)
{
    const uint32_t *slot_pass = w->schedule->slot_pass, *use_begin = w->decl->pass_use_begin,
                   *use_res = w->decl->use_res;
    const uint8_t *res_flags = w->decl->res_flags;
    hdi_record *list = HDI_ARENA_ARRAY(arena, hdi_record, (size_t)w->decl->use_count + 1);
    uint32_t count = 0;
    for (uint32_t s = 0; list && s < w->out->slot_count; s++) {
        const uint32_t *of_pass = &use_begin[slot_pass[s]];
        for (uint32_t u = of_pass[0], end = of_pass[1]; u < end; u++) {
            list[count] = (hdi_record){u, s};
            count += (res_flags[use_res[u]] & HDI_RES_HOST) != 0;
        }
    }
    w->host_use = list;
    w->host_use_count = count;
    return list != NULL;
}

/* Of a buffer they are one row. */
uint32_t hdi_count_host_visits(const hdi_hazard_work *w)
{
    uint32_t visits = 0;
    for (uint32_t i = 0; i < w->host_use_count; i++)
        visits += hdi_use_span(w->decl, w->frozen, w->host_use[i].use).cols;
    return visits;
}

/* Segments of what the host uses. */
static uint32_t count_segments(const work *w)
{
    const uint32_t *seg_begin = w->frozen->res_seg_begin;
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->out->host_res_count; i++)
        count += seg_begin[w->out->host_res[i] + 1] - seg_begin[w->out->host_res[i]];
    return count;
}

/* Sorts visits by segments, those of one in their order, and tells who uses what. at, of these segments: becomes their
 * ends. */
static void sort_visits(const work *w, uint32_t *at, hdi_record *sorted)
{
    const hdi_hazards *out = w->out;
    const hdi_record *end = w->host_use + w->host_use_count;
    const uint32_t *seg_begin = w->frozen->res_seg_begin;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < out->host_res_count; i++) {
        for (uint32_t seg = seg_begin[out->host_res[i]]; seg < seg_begin[out->host_res[i] + 1]; seg++)
            at[seg] = 0;
    }
    for (const hdi_record *r = w->host_use; r < end; r++) {
        hdi_span span = hdi_use_span(w->decl, w->frozen, r->use);
        out->res_queues[w->decl->use_res[r->use]] |= (uint16_t)(1u << out->slot_queue[r->slot]);
        for (uint32_t i = 0; i < span.cols; i++)
            at[span.base + i]++;
    }
    for (uint32_t i = 0; i < out->host_res_count; i++) {
        for (uint32_t seg = seg_begin[out->host_res[i]]; seg < seg_begin[out->host_res[i] + 1]; seg++) {
            uint32_t of = at[seg];
            at[seg] = sum;
            sum += of;
        }
    }
    for (const hdi_record *r = w->host_use; r < end; r++) {
        hdi_span span = hdi_use_span(w->decl, w->frozen, r->use);
        for (uint32_t i = 0; i < span.cols; i++)
            sorted[at[span.base + i]++] = *r;
    }
    sorted[sum].slot = HDI_NONE;
}

bool hdi_build_host_epochs(hdi_hazard_work *w, hdi_kinds *kinds)
{
    hdi_hazards *out = w->out;
    uint32_t segs = w->frozen->seg_count, visits = hdi_count_host_visits(w);
    out->seg_epoch_begin = HDI_ARENA_ARRAY(w->arena, uint32_t, segs);
    out->seg_epoch_end = HDI_ARENA_ARRAY(w->arena, uint32_t, segs);
    out->epoch = HDI_ARENA_ARRAY(w->arena, hdi_epoch, (size_t)visits + count_segments(w));
    out->entry = HDI_ARENA_ARRAY(w->arena, hdi_entry, visits);
    hdi_record *sorted = HDI_ARENA_ARRAY(w->arena, hdi_record, (size_t)visits + 1);
    if (w->arena->failed)
        return false;
    sort_visits(w, out->seg_epoch_end, sorted);
    out->epoch_count = hdi_build_listed_epochs(w, kinds, out->host_res, out->host_res_count, sorted);
    return true;
}
