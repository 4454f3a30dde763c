#include "phases.h"

#include "vk_numbers.h"

/* Lifetime: for each resource and queue the first and last place where it is used, and what its last epochs leave to be
 * waited for; and its size. Extra slots that hold its barriers count as uses. O(entries + resources * queues). */

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

static hd_result find_need(const hdi_decl *decl, const hd_compile_desc *desc, uint32_t res, hd_memory_need *need)
{
    hd_resource_info info;
    hdi_resource_info(decl, res, &info);
    if (!desc->size) {
        hdi_default_need(&info, need);
        return HD_OK;
    }
    hd_result result = desc->size(&info, need, desc->size_user);
    if (result == HD_OK && (need->heap >= 64 || need->alignment == 0 || (need->alignment & (need->alignment - 1))))
        return HD_INVALID_ARGUMENT;
    return result;
}

hd_result hdi_lifetime(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                       const hdi_queues *queues, const hd_compile_desc *desc, hdi_arena *arena, hdi_lifetimes *out,
                       uint32_t *bad_res)
{
    uint32_t q_count = queues->count;
    out->stay = HDI_ARENA_ARRAY(arena, hdi_stay, (size_t)decl->res_count * q_count);
    out->res_first = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->res_last = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->need = HDI_ARENA_ZEROED(arena, hd_memory_need, decl->res_count);
    out->res_persistent = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t r = 0; r < decl->res_count; r++) {
        hdi_stay *stay = &out->stay[(size_t)r * q_count];
        for (uint32_t q = 0; q < q_count; q++)
            stay[q] = (hdi_stay){.first = HDI_NONE, .last = HDI_NONE};
        out->res_first[r] = HDI_NONE;
        out->res_last[r] = 0;
        out->res_persistent[r] = (decl->res_flags[r] & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY)) != 0;
        /* A history and what it is of take turns: where one is used, both have memory. */
        uint32_t pair = decl->res_pair[r];
        bool used = hazards->res_used[r] || (pair != HDI_NONE && hazards->res_used[pair]);
        if (!used)
            continue;
        if (!(decl->res_flags[r] & HDI_RES_EXTERNAL)) {
            hd_result result = find_need(decl, desc, r, &out->need[r]);
            if (result != HD_OK) {
                *bad_res = r;
                return result;
            }
        }
        for (uint32_t seg = frozen->res_seg_begin[r]; seg < frozen->res_seg_begin[r + 1]; seg++) {
            uint32_t begin = hazards->seg_epoch_begin[seg], end = hazards->seg_epoch_begin[seg + 1];
            for (uint32_t e = begin; e < end; e++) {
                const hdi_epoch *epoch = &hazards->epoch[e];
                for (uint32_t k = epoch->entry_begin; k < epoch->entry_end; k++)
                    extend(hazards, out, q_count, r, hazards->entry_slot[k]);
                if (epoch->extra != HDI_NONE)
                    extend(hazards, out, q_count, r, epoch->extra);
            }
            if (end > begin)
                add_tail(decl, hazards, &hazards->epoch[end - 1], stay);
        }
    }
    return HD_OK;
}
