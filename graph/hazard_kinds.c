#include "hazard_work.h"

#include "vk_numbers.h"

/* What accesses ask for, on images and on buffers, as barriers say it, and what they do to the epoch before them. Few
 * kinds are in use at a time, so that an epoch names its kind and those are at hand. Where uses of an epoch differ, a
 * kind of both is mixed; frames mix the same few again and again, and the newest mixtures are found without a search.
 * O(accesses + mixtures). */

static hdi_kind make(uint64_t stages, uint64_t access, uint32_t layout, uint32_t flags, uint32_t queue_mask,
                     bool is_buffer)
{
    const hdi_epoch state = {
        .queue_mask = (uint16_t)queue_mask, .flags = (uint8_t)flags, .place = HDI_PLACE_CONSUMER};
    uint32_t reads = is_buffer ? HDI_LEFT_READS : HDI_LEFT_READS + layout;
    bool writes = (flags & HDI_EPOCH_WRITES) != 0, alone = writes || layout > INT32_MAX; /* no layout that there is */
    return (hdi_kind){.src_stages = hdi_stages_or_all(stages),
                      .src_access = access & HDI_WRITE_BITS,
                      .dst_stages = hdi_stages_or_all(stages),
                      .dst_access = access,
                      .stages = stages,
                      .layout = is_buffer ? HDI_LAYOUT_UNDEFINED : layout,
                      .keeps = flags == HDI_EPOCH_WRITES ? 0 : UINT32_MAX,
                      .joins = alone ? HDI_LEFT_NEVER : reads,
                      .leaves = writes ? HDI_LEFT_WRITE : alone ? HDI_LEFT_OTHER : reads,
                      .state = state.state,
                      .flags = flags};
}

bool hdi_find_kinds(hdi_hazard_work *w, uint32_t more)
{
    const hdi_decl *decl = w->decl;
    uint32_t queue_mask = w->several ? 0 : 1;
    w->kinds = (hdi_kinds){.count = hdi_kind_of(decl->access_count, false), .arena = w->alone ? w->arena : NULL};
    w->kinds.capacity = w->kinds.count + more;
    w->kinds.kind = HDI_ARENA_ARRAY(w->arena, hdi_kind, w->kinds.capacity);
    for (uint32_t i = 0; w->kinds.kind && i < decl->access_count; i++) {
        const hdi_access_info *access = &decl->access[i];
        uint32_t flags = (access->reads ? HDI_EPOCH_READS : 0) | (access->writes ? HDI_EPOCH_WRITES : 0);
        for (uint32_t is_buffer = 0; is_buffer < 2; is_buffer++)
            w->kinds.kind[hdi_kind_of(i, is_buffer)] =
                make(access->stages, access->access, access->layout, flags, queue_mask, is_buffer);
    }
    if (w->kinds.kind) /* HD_ACCESS_NONE: of what is not used yet */
        w->kinds.kind[0].leaves = HDI_LEFT_NOTHING;
    return w->kinds.kind != NULL;
}

/* Reads that differ in their layout are of one pass, and agree on the read-only depth layout: declare checked it. */
uint32_t hdi_mix_kinds(hdi_kinds *kinds, uint32_t a, uint32_t b)
{
    struct hdi_mix *mix = &kinds->mix[(a / 2 + 3 * (b / 2)) % HDI_MIXES];
    if (mix->made && mix->a == a && mix->b == b)
        return mix->made;
    const hdi_kind *one = &kinds->kind[a], *other = &kinds->kind[b];
    uint64_t stages = one->stages | other->stages, access = one->dst_access | other->dst_access;
    if (one->layout == other->layout && stages == one->stages && access == one->dst_access) {
        *mix = (struct hdi_mix){a, b, a};
        return a;
    }
    const hdi_epoch state = {.state = one->state};
    bool is_buffer = one->leaves == HDI_LEFT_READS && one->layout == HDI_LAYOUT_UNDEFINED;
    uint32_t layout = one->layout == other->layout ? one->layout : HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY;
    hdi_kind both = make(stages, access, layout, one->flags | other->flags, state.queue_mask, is_buffer);
    if (kinds->count == kinds->capacity &&
        (!kinds->arena || !hdi_arena_grow(kinds->arena, &kinds->kind, &kinds->capacity, kinds->count, kinds->count + 1,
                                          sizeof(*kinds->kind))))
        return a;
    kinds->kind[kinds->count] = both;
    *mix = (struct hdi_mix){a, b, kinds->count};
    return kinds->count++;
}
