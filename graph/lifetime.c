#include "phases.h"

#include "vk_numbers.h"

/* Lifetime: for each resource and queue the first and last place where it is used, and what its last epochs leave to be
 * waited for. Extra slots that hold its barriers count as uses. O(entries + resources * queues). */

static void extend(const hdi_hazards *hazards, hdi_lifetimes *out, uint32_t queues, uint32_t res, uint32_t slot)
{
    hdi_stay *stay = &out->stay[(size_t)res * queues + hazards->slot_queue[slot]];
    uint32_t pos = hazards->slot_pos[slot];
    stay->first = pos < stay->first ? pos : stay->first;
    stay->last = stay->last == HDI_NONE || pos > stay->last ? pos : stay->last;
    out->res_first[res] = slot < out->res_first[res] ? slot : out->res_first[res];
    out->res_last[res] = slot > out->res_last[res] ? slot : out->res_last[res];
}

/* The last epoch of a segment: its stages, and writes that nothing behind them made available. */
static void add_tail(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_epoch *epoch, hdi_stay *stay)
{
    for (uint32_t e = epoch->entry_begin; e < epoch->entry_end; e++) {
        const hdi_access_info *access = &decl->access[decl->use_access[hazards->entry_use[e]]];
        hdi_stay *on = &stay[hazards->slot_queue[hazards->entry_slot[e]]];
        /* An access without stages (present) is still a layout to be waited for. */
        on->tail_stages |= access->stages ? access->stages : HDI_STAGE_ALL_COMMANDS;
        on->tail_writes |= access->writes ? access->access : 0;
    }
}

/* Last slot of each group on the GPU queue: what comes after it is behind the group's barrier. */
static uint32_t *find_group_ends(const hdi_hazards *hazards, hdi_arena *arena, uint32_t *group_count)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < hazards->slot_count; s++)
        count = hazards->slot_group[s] + 1 > count ? hazards->slot_group[s] + 1 : count;
    uint32_t *end = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)count + 1);
    if (!end)
        return NULL;
    for (uint32_t s = 0; s < hazards->slot_count; s++) {
        if (hazards->slot_queue[s] == 0)
            end[hazards->slot_group[s]] = hazards->slot_pos[s];
    }
    for (uint32_t g = 1; g <= count; g++) /* groups of host passes only */
        end[g] = end[g] > end[g - 1] ? end[g] : end[g - 1];
    *group_count = count;
    return end;
}

static uint32_t slot_at(const hdi_hazards *hazards, uint32_t queue, uint32_t pos)
{
    return hazards->queue_slot[hazards->queue_begin[queue] + pos];
}

/* A tenant that comes after takes the bytes over behind a barrier; an image behind two where the last use writes. */
static void close_stay(const hdi_hazards *hazards, const uint32_t *group_end, uint32_t group_count, uint32_t queue,
                       hdi_stay *stay)
{
    stay->close = stay->last;
    if (!group_end || queue != 0 || stay->first == HDI_NONE)
        return;
    uint32_t group = hazards->slot_group[slot_at(hazards, 0, stay->last)] + (stay->tail_writes ? 1 : 0);
    stay->close = group_end[group < group_count ? group : group_count];
}

/* The same where there is nothing but one GPU queue: slots are places, and epochs of a segment stand in their order. */
static void one_queue(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                      const uint32_t *group_end, uint32_t group_count, hdi_lifetimes *out)
{
    for (uint32_t r = 0; r < decl->res_count; r++) {
        hdi_stay stay = {.first = HDI_NONE};
        for (uint32_t seg = frozen->res_seg_begin[r]; seg < frozen->res_seg_begin[r + 1]; seg++) {
            uint32_t begin = hazards->seg_epoch_begin[seg], end = hazards->seg_epoch_begin[seg + 1];
            uint32_t extra = begin < end ? hazards->epoch[end - 1].extra : HDI_NONE;
            if (extra != HDI_NONE) { /* for a state that nothing but the end of the frame asks for */
                stay.first = extra < stay.first ? extra : stay.first;
                stay.last = extra > stay.last ? extra : stay.last;
            }
            if (begin < end && hazards->epoch[end - 1].flags & HDI_EPOCH_FINAL)
                end--;
            if (begin == end)
                continue;
            const hdi_epoch *first = &hazards->epoch[begin], *last = &hazards->epoch[end - 1];
            stay.first = first->first < stay.first ? first->first : stay.first;
            stay.last = last->last > stay.last ? last->last : stay.last;
            /* An access without stages (present) is still a layout to be waited for. */
            stay.tail_stages |= last->stages ? last->stages : HDI_STAGE_ALL_COMMANDS;
            stay.tail_writes |= last->flags & HDI_EPOCH_WRITES ? last->access : 0;
        }
        if (stay.first == HDI_NONE)
            stay.last = HDI_NONE;
        close_stay(hazards, group_end, group_count, 0, &stay);
        out->stay[r] = stay;
        out->res_first[r] = stay.first;
        out->res_last[r] = stay.first == HDI_NONE ? 0 : stay.last;
        out->res_close[r] = stay.first == HDI_NONE ? 0 : stay.close;
    }
}

/* The last slot that may not take over the bytes of a resource: on each queue, what comes before it is known there. */
static uint32_t find_close(const hdi_hazards *hazards, const hdi_synced *synced, uint32_t queues, const hdi_stay *stay)
{
    uint32_t close = 0;
    for (uint32_t q = 0; q < queues; q++) {
        if (stay[q].first == HDI_NONE)
            continue;
        const uint32_t *known = &synced->slot_known[(size_t)slot_at(hazards, q, stay[q].last) * queues];
        for (uint32_t k = 0; k < queues; k++) {
            uint32_t on_queue = hazards->queue_begin[k + 1] - hazards->queue_begin[k], last;
            if (on_queue == 0)
                continue;
            if (k == q)
                last = slot_at(hazards, q, stay[q].close);
            else if (known[k] == HDI_NONE)
                last = slot_at(hazards, k, on_queue - 1);
            else if (hazards->slot_pos[known[k]] == 0)
                continue;
            else
                last = slot_at(hazards, k, hazards->slot_pos[known[k]] - 1);
            close = last > close ? last : close;
        }
    }
    return close;
}

hd_result hdi_lifetime(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                       const hdi_queues *queues, const hdi_synced *synced, hdi_arena *arena, hdi_lifetimes *out)
{
    uint32_t q_count = queues->count;
    out->stay = HDI_ARENA_ARRAY(arena, hdi_stay, (size_t)decl->res_count * q_count);
    out->res_first = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->res_last = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->res_close = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    uint32_t group_count = 0, *group_end = hazards->slot_group ? find_group_ends(hazards, arena, &group_count) : NULL;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (q_count == 1) {
        one_queue(decl, frozen, hazards, group_end, group_count, out);
        return HD_OK;
    }
    for (uint32_t r = 0; r < decl->res_count; r++) {
        hdi_stay *stay = &out->stay[(size_t)r * q_count];
        for (uint32_t q = 0; q < q_count; q++)
            stay[q] = (hdi_stay){.first = HDI_NONE, .last = HDI_NONE};
        out->res_first[r] = HDI_NONE;
        out->res_last[r] = 0;
        out->res_close[r] = 0;
        if (!hazards->res_used[r])
            continue;
        for (uint32_t seg = frozen->res_seg_begin[r]; seg < frozen->res_seg_begin[r + 1]; seg++) {
            uint32_t begin = hazards->seg_epoch_begin[seg], end = hazards->seg_epoch_begin[seg + 1];
            for (uint32_t e = begin; e < end; e++) {
                const hdi_epoch *epoch = &hazards->epoch[e];
                if (epoch->queue_mask & (epoch->queue_mask - 1)) {
                    for (uint32_t k = epoch->entry_begin; k < epoch->entry_end; k++)
                        extend(hazards, out, q_count, r, hazards->entry_slot[k]);
                } else if (epoch->queue_mask) {
                    extend(hazards, out, q_count, r, epoch->first);
                    extend(hazards, out, q_count, r, epoch->last);
                }
                if (epoch->extra != HDI_NONE)
                    extend(hazards, out, q_count, r, epoch->extra);
            }
            if (end > begin)
                add_tail(decl, hazards, &hazards->epoch[end - 1], stay);
        }
        for (uint32_t q = 0; q < q_count; q++)
            close_stay(hazards, group_end, group_count, q, &stay[q]);
        out->res_close[r] = find_close(hazards, synced, q_count, stay);
    }
    return HD_OK;
}
