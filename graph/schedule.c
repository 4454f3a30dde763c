#include "phases.h"

/* Schedule: order and queue of each kept pass. */

static uint32_t allowed_kinds(const hdi_decl *decl, const hdi_queues *queues, uint32_t pass)
{
    static const uint8_t by_type[] = {
        [HD_PASS_GFX] = 1u << HD_QUEUE_GFX,
        [HD_PASS_COMPUTE] = 1u << HD_QUEUE_GFX | 1u << HD_QUEUE_COMPUTE,
        [HD_PASS_TRANSFER] = 1u << HD_QUEUE_GFX | 1u << HD_QUEUE_COMPUTE | 1u << HD_QUEUE_TRANSFER,
        [HD_PASS_HOST] = 1u << HD_QUEUE_HOST,
    };
    uint32_t kinds = by_type[decl->pass_type[pass]], present = 0;
    for (uint32_t q = 0; q < queues->count; q++)
        present |= 1u << queues->kind[q];
    kinds &= present;
    uint32_t pin = decl->pass_pin[pass];
    if (pin != HD_PIN_NONE && kinds >> (pin - HD_PIN_GFX + HD_QUEUE_GFX) & 1)
        kinds = 1u << (pin - HD_PIN_GFX + HD_QUEUE_GFX);
    return kinds;
}

hd_result hdi_schedule_passes(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept,
                              const hdi_depends *depends, const hdi_queues *queues, const hd_compile_desc *desc,
                              hdi_arena *arena, hdi_schedule *out, uint32_t *bad_pass)
{
    (void)frozen;
    double handoff = desc->handoff_us > 0 ? desc->handoff_us : 6.0;
    out->slot_pass = HDI_ARENA_ARRAY(arena, uint32_t, kept->kept_count);
    out->slot_queue = HDI_ARENA_ARRAY(arena, uint8_t, kept->kept_count);
    double *finish = HDI_ARENA_ARRAY(arena, double, decl->pass_count);
    uint8_t *pass_queue = HDI_ARENA_ARRAY(arena, uint8_t, decl->pass_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    out->slot_count = 0;
    double free_at[HD_MAX_QUEUES] = {0};
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        if (!kept->pass_kept[p])
            continue;
        uint32_t kinds = allowed_kinds(decl, queues, p), best = HDI_NONE;
        double best_start = 0;
        for (uint32_t q = 0; q < queues->count; q++) {
            if (!(kinds >> queues->kind[q] & 1))
                continue;
            double start = free_at[q];
            for (uint32_t e = depends->pred_begin[p]; e < depends->pred_begin[p + 1]; e++) {
                uint32_t pred = depends->pred[e];
                double ready = finish[pred] + (pass_queue[pred] != q ? handoff : 0.0);
                start = ready > start ? ready : start;
            }
            if (best == HDI_NONE || start < best_start) {
                best = q;
                best_start = start;
            }
        }
        if (best == HDI_NONE) {
            *bad_pass = p;
            return HD_NO_QUEUE;
        }
        finish[p] = free_at[best] = best_start + (double)decl->pass_cost[p];
        pass_queue[p] = (uint8_t)best;
        out->slot_pass[out->slot_count] = p;
        out->slot_queue[out->slot_count++] = (uint8_t)best;
    }
    return HD_OK;
}
