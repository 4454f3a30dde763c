#include "barrier_steps.h"

/* What barrier_steps.c and barrier_odd.c ask for less often: what an epoch that several queues share does on each, and
 * scopes that are not those of epochs. Few of these differ, so that a barrier names its scope: a table by hash values.
 * O(entries). */

static HDI_INLINE void add_to_sides(const hdi_step_work *w, uint32_t slot, uint32_t use, hdi_side *sides)
{
    const hdi_access_info *access = &w->decl->access[w->decl->use_access[use]];
    uint32_t pos = w->slot_pos[slot];
    hdi_side *s = &sides[w->slot_queue[slot]];
    s->stages |= access->stages;
    s->access |= access->access;
    s->last = pos > s->last ? pos : s->last;
    s->first = pos < s->first ? pos : s->first;
}

/* Of one that several queues may share: all of them in one walk. */
void hdi_find_sides(const hdi_step_work *w, const hdi_epoch *epoch, hdi_side *sides)
{
    const hdi_entry *entry = w->hazards->entry;
    uint32_t mask = epoch->queue_mask;
    for (uint32_t q = 0; q < w->queue_count; q++)
        sides[q] = (hdi_side){.first = HDI_NONE};
    if (!mask)
        return;
    if (!(mask & (mask - 1))) {
        const hdi_kind *kind = &w->kinds[epoch->kind];
        sides[__builtin_ctz(mask)] =
            (hdi_side){kind->dst_stages, kind->dst_access, w->slot_pos[epoch->first], w->slot_pos[epoch->last]};
        return;
    }
    add_to_sides(w, epoch->first, epoch->use, sides);
    for (uint32_t i = epoch->more; i != HDI_NONE; i = entry[i].older)
        add_to_sides(w, entry[i].slot, entry[i].use, sides);
    for (; mask; mask &= mask - 1)
        sides[__builtin_ctz(mask)].stages = hdi_stages_or_all(sides[__builtin_ctz(mask)].stages);
}

uint32_t hdi_make_scope(hdi_step_work *w, uint32_t at, uint64_t stages, uint64_t access, uint32_t layout,
                        uint32_t keeps)
{
    uint32_t mask = w->made_slots - 1;
    hdi_kind *kind = &w->made[at];
    for (; kind->src_stages != HDI_FREE_SCOPE; at = (at + 1) & mask, kind = &w->made[at]) {
        if (kind->src_stages == stages && kind->src_access == access && kind->layout == layout && kind->keeps == keeps)
            return (w->made_begin + at) | HDI_ASKED_MADE;
    }
    if (w->made_count == mask) {
        w->full = true; /* one of its own all the same: who asks may look at it */
        return w->made_begin | HDI_ASKED_MADE;
    }
    w->made_count++;
    kind->src_stages = kind->dst_stages = stages;
    kind->src_access = kind->dst_access = access;
    kind->layout = layout;
    kind->keeps = keeps;
    return (w->made_begin + at) | HDI_ASKED_MADE;
}
