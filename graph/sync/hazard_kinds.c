#include "sync_work.h"

#include <string.h>

#include "vk_numbers.h"

/* What accesses ask for, on images and on buffers, as barriers say it, and what they do to the epoch before them. Few
 * kinds are in use at a time, so that an epoch names its kind and those are at hand. Where uses of an epoch differ, a
 * kind of both is mixed; frames mix the same few again and again, and the newest mixtures are found without a search.
 * Kinds of the table's accesses are made with the graph; one worker takes them as they are, and copies them where
 * the first is mixed. O(custom accesses + mixtures). */

/* Room for so many, in which there are those that were there. */
static bool move_kinds(hdi_kinds *kinds, uint32_t capacity)
{
    hdi_kind *own = HDI_ARENA_ARRAY(kinds->arena, hdi_kind, capacity);
    hdi_link *own_link = HDI_ARENA_ARRAY(kinds->arena, hdi_link, capacity);
    if (!own || !own_link)
        return false;
    memcpy(own, kinds->kind, kinds->count * sizeof(*own));
    memcpy(own_link, kinds->link, kinds->count * sizeof(*own_link));
    kinds->kind = kinds->own = own;
    kinds->link = kinds->own_link = own_link;
    kinds->capacity = capacity;
    return true;
}

bool hdi_find_kinds(hdi_hazard_work *w, uint32_t more)
{
    const hdi_decl *decl = w->decl;
    uint32_t custom = decl->access_count - HDI_ACCESS_CUSTOM_FIRST;
    hdi_kinds *kinds = &w->kinds;
    *kinds = (hdi_kinds){.kind = decl->first_kind,
                         .link = decl->first_link,
                         .count = HDI_ACCESS_CUSTOM_FIRST,
                         .capacity = HDI_ACCESS_CUSTOM_FIRST,
                         .arena = w->arena};
    if (w->alone && !custom)
        return true;
    if (!move_kinds(kinds, decl->access_count + more))
        return false;
    hdi_make_kinds(decl->access + HDI_ACCESS_CUSTOM_FIRST, custom, kinds->own + kinds->count,
                   kinds->own_link + kinds->count);
    kinds->count = decl->access_count;
    return true;
}

/* Reads that differ in their layout are of one pass, and agree on the read-only depth layout: declare checked it. */
uint32_t hdi_mix_kinds(hdi_hazard_work *w, hdi_mixes *mixes, uint32_t a, uint32_t b)
{
    hdi_kinds *kinds = &w->kinds;
    struct hdi_mix *mix = &mixes->mix[(a + 3 * b) % HDI_MIXES];
    if (mix->made && mix->a == a && mix->b == b)
        return mix->made;
    const hdi_kind *one = &kinds->kind[a], *other = &kinds->kind[b];
    uint64_t stages = one->stages | other->stages, access = one->dst_access | other->dst_access;
    if (one->layout == other->layout && stages == one->stages && access == one->dst_access) {
        *mix = (struct hdi_mix){a, b, a};
        return a;
    }
    bool is_buffer = kinds->link[a].leaves == HDI_LEFT_READS && one->layout == HDI_LAYOUT_UNDEFINED;
    uint32_t flags = one->flags | other->flags;
    uint32_t layout = one->layout == other->layout ? one->layout : HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY;
    if (w->alone && kinds->count == kinds->capacity && !move_kinds(kinds, kinds->count + kinds->count / 2))
        return a;
    uint32_t number = hdi_next_number(&kinds->count, w->alone);
    hdi_make_kind(stages, access, layout, flags, is_buffer, &kinds->own[number], &kinds->own_link[number]);
    *mix = (struct hdi_mix){a, b, number};
    return number;
}
