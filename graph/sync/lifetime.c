#include "sync_work.h"

#include <string.h>

#include "vk_numbers.h"

/* Lifetime: for each resource and queue the first and last place where it is used, and what its last epochs leave to be
 * waited for. Extra slots that hold its barriers count as uses. Most resources live on one GPU queue, where the epochs
 * of a segment stand in order: the first and the last one tell all. O(segments + resources * queues + slots * queues),
 * and entries of what several queues use. By ranges of resources. */

enum { GRAIN = 384 };

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_hazards *hazards;
    const hdi_queues *queues;
    const uint32_t *group_end;
    hdi_lifetimes *out;
} work;

/* Last place of each group on the GPU queue: what comes after it is behind the group's barrier. A group without slots
 * ends where the one before it does; there is one more at the end. Places stand in the order of their groups. */
static uint32_t *find_group_ends(const hdi_hazards *hazards, const hdi_crew *crew, hdi_arena *arena)
{
    const uint32_t *slot_group = hazards->slot_group, *slots = hazards->queue_slot;
    uint32_t count = hazards->slot_count ? slot_group[hazards->slot_count - 1] + 2 : 1, group = 0,
             places = hazards->queue_begin[1], *end = HDI_EARLY_ARRAY(crew, arena, uint32_t, count);
    for (uint32_t pos = 0; end && pos <= places; pos++) {
        for (uint32_t behind = pos < places ? slot_group[slots[pos]] : count; group < behind; group++)
            end[group] = pos ? pos - 1 : 0;
    }
    return end;
}

/* From and to which slot a resource is used, and up to which one no other resource may take over its bytes. */
typedef struct life {
    uint32_t first, last, close;
} life;

/* What the last epoch of a stay leaves, both in one. */
static HDI_INLINE void set_tail(hdi_stay *stay, const hdi_kind *kind)
{
    _Static_assert(offsetof(hdi_stay, tail_stages) == offsetof(hdi_stay, tail_writes) + sizeof(uint64_t) &&
                       offsetof(hdi_kind, src_stages) == offsetof(hdi_kind, left_access) + sizeof(uint64_t),
                   "side by side");
    memcpy(&stay->tail_writes, &kind->left_access, 2 * sizeof(uint64_t));
}

/* Of several segments; slots are places yet. What the caller goes on with comes in registers: read from the stay, it
 * would be waited for. */
static HDI_APART life find_stay_of_several(const hdi_hazards *hazards, uint32_t seg, uint32_t seg_end, hdi_stay *stay)
{
    uint32_t first = HDI_NONE, behind = 0;
    uint64_t tail_stages = 0, tail_writes = 0;
    for (; seg < seg_end; seg++) {
        const hdi_seg_state *state = &hazards->seg_state[seg];
        const hdi_kind *kind = hdi_kind_of(hazards, state->to);
        if (state->behind == 0)
            continue;
        first = state->first < first ? state->first : first;
        behind = state->behind > behind ? state->behind : behind;
        tail_stages |= kind->src_stages;
        tail_writes |= kind->left_access;
    }
    stay->tail_stages = tail_stages;
    stay->tail_writes = tail_writes;
    return (life){first, behind - 1, 0};
}

/* Of what one queue uses; first HDI_NONE: nothing. Most have one segment. */
static HDI_INLINE life find_stay(const hdi_hazards *hazards, uint32_t seg, uint32_t seg_end, hdi_stay *stay)
{
    life out;
    if (HDI_LIKELY(seg_end - seg == 1)) {
        const hdi_seg_state *state = &hazards->seg_state[seg];
        set_tail(stay, hdi_kind_of(hazards, state->to));
        out = (life){state->behind ? state->first : HDI_NONE, state->behind - 1, 0};
    } else {
        out = find_stay_of_several(hazards, seg, seg_end, stay);
    }
    stay->first = out.first;
    stay->last = out.last;
    return out;
}

/* Nothing but one GPU queue: slots are places, and there are groups. */
static void one_queue(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    const uint32_t *slot_group = w->hazards->slot_group, *group_end = w->group_end,
                   *seg_begin = w->frozen->res_seg_begin;
    uint32_t *res_first = w->out->res_first, *res_last = w->out->res_last, *res_close = w->out->res_close;
    (void)part;
    for (uint32_t r = begin; r < end; r++) {
        hdi_stay *stay = &w->out->stay[r];
        life all = find_stay(w->hazards, seg_begin[r], seg_begin[r + 1], stay);
        bool any = all.first != HDI_NONE;
        res_first[r] = all.first;
        res_last[r] = any ? all.last : 0;
        res_close[r] = any ? group_end[slot_group[all.last] + (stay->tail_writes != 0)] : 0;
    }
}

/* Places of a stay are slots yet, which rise with them. */
static inline void extend(hdi_stay *on, uint32_t first, uint32_t last)
{
    if (on->first == HDI_NONE)
        *on = (hdi_stay){.first = first, .last = last};
    on->first = first < on->first ? first : on->first;
    on->last = last > on->last ? last : on->last;
}

/* All slots of what several queues use, or the host, and what its segments end with. */
static HDI_INLINE void add_side(const hdi_hazards *hazards, hdi_stay *stay, uint32_t to, uint32_t first, uint32_t last,
                                bool is_last)
{
    hdi_stay *on = &stay[to >> HDI_QUEUE_SHIFT];
    extend(on, first, last);
    if (is_last) {
        on->tail_stages |= hdi_kind_of(hazards, to)->src_stages;
        on->tail_writes |= hdi_kind_of(hazards, to)->left_access;
    }
}

static void find_slots(const hdi_hazards *hazards, uint32_t seg, uint32_t seg_end, hdi_stay *stay)
{
    for (; seg < seg_end; seg++) {
        const hdi_seg_state *state = &hazards->seg_state[seg];
        uint32_t end = state->step_end, behind = state->behind;
        for (bool is_last = true; end; is_last = false) {
            const hdi_step *step = &hazards->step[end - 1];
            if (!hdi_has_sides(step->to))
                add_side(hazards, stay, step->to, step->slot, behind - 1, is_last);
            for (uint32_t i = hdi_has_sides(step->to) ? step->use : 0; i; i = hazards->side[i].older)
                add_side(hazards, stay, hazards->side[i].to, hazards->side[i].first, hazards->side[i].last, is_last);
            behind = step->low;
            end = step->before;
        }
    }
}

/* Places of a stay from its slots. On each queue, what comes before the last slot that may not take over its bytes is
 * known there. Where there are groups, which one GPU queue has, a tenant that comes after takes the bytes over behind a
 * barrier; an image behind two where the last use writes. */
static HDI_INLINE life settle(const work *w, uint32_t queue, life slots, hdi_stay *stay)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t queues = w->queues->count, last = hazards->slot_pos[slots.last], behind = slots.last + 1;
    stay->first = hazards->slot_pos[slots.first];
    stay->last = stay->close = last;
    if (w->group_end && queue == 0) {
        stay->close = w->group_end[hazards->slot_group[slots.last] + (stay->tail_writes != 0)];
        behind = hdi_slot_at(hazards, 0, stay->close) + 1;
    }
    uint32_t unaware = w->out->place_unaware[hdi_unaware_row(queues, hazards->queue_begin[queue] + last) + queues];
    slots.close = (behind > unaware ? behind : unaware) - 1;
    return slots;
}

static inline life join_lives(life a, life b)
{
    return (life){b.first < a.first ? b.first : a.first, b.last > a.last ? b.last : a.last,
                  b.close > a.close ? b.close : a.close};
}

/* Of what several queues use, or the host. */
static HDI_APART life visit_shared(const work *w, uint32_t seg, uint32_t seg_end, hdi_stay *stay)
{
    life all = {HDI_NONE, 0, 0};
    for (uint32_t q = 0; q < w->queues->count; q++)
        stay[q].first = HDI_NONE;
    find_slots(w->hazards, seg, seg_end, stay);
    for (uint32_t q = 0; q < w->queues->count; q++) {
        if (stay[q].first != HDI_NONE)
            all = join_lives(all, settle(w, q, (life){stay[q].first, stay[q].last, 0}, &stay[q]));
    }
    return all;
}

/* Stays on queues that nothing of a resource is on have only a first place, and none at all where it lives on one GPU
 * queue: that one's is what there is. */
static void several_queues(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    const hdi_hazards *hazards = w->hazards;
    const uint32_t *seg_begin = w->frozen->res_seg_begin, gpu_mask = (1u << w->queues->gpu_count) - 1;
    hdi_stay *stay = w->out->stay + (size_t)begin * w->queues->count;
    (void)part;
    for (uint32_t r = begin; r < end; r++, stay += w->queues->count) {
        uint32_t mask = hazards->res_queues[r];
        life all = {HDI_NONE, 0, 0};
        if (HDI_LIKELY(!(mask & (mask - 1)) && mask & gpu_mask)) {
            uint32_t q = (uint32_t)__builtin_ctz(mask);
            all = settle(w, q, find_stay(hazards, seg_begin[r], seg_begin[r + 1], &stay[q]), &stay[q]);
        } else if (mask) {
            all = visit_shared(w, seg_begin[r], seg_begin[r + 1], stay);
        }
        w->out->res_first[r] = all.first;
        w->out->res_last[r] = all.last;
        w->out->res_close[r] = all.close;
    }
}

/* A slot that holds nothing but a barrier of a resource counts as a use. */
static void add_extra(const work *w, const hdi_extra_step *extra)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t res = w->frozen->seg_res[extra->seg], q = hazards->slot_queue[extra->slot];
    hdi_stay *stay = &w->out->stay[(size_t)res * w->queues->count + q];
    if (stay->first != HDI_NONE) {
        stay->first = hdi_slot_at(hazards, q, stay->first);
        stay->last = hdi_slot_at(hazards, q, stay->last);
    }
    extend(stay, extra->slot, extra->slot);
    life all = {w->out->res_first[res], w->out->res_last[res], w->out->res_close[res]};
    all = join_lives(all, settle(w, q, (life){stay->first, stay->last, 0}, stay));
    w->out->res_first[res] = all.first;
    w->out->res_last[res] = all.last;
    w->out->res_close[res] = all.close;
}

hd_result hdi_lifetime(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                       const hdi_queues *queues, const hdi_synced *synced, const hdi_crew *crew, hdi_arena *arena,
                       hdi_lifetimes *out)
{
    uint32_t count = queues->count;
    out->stay = HDI_EARLY_ARRAY(crew, arena, hdi_stay, (size_t)decl->res_count * count);
    out->res_first = HDI_EARLY_ARRAY(crew, arena, uint32_t, decl->res_count);
    out->res_last = HDI_EARLY_ARRAY(crew, arena, uint32_t, decl->res_count);
    out->res_close = HDI_EARLY_ARRAY(crew, arena, uint32_t, decl->res_count);
    const uint32_t *group_end = hazards->slot_group ? find_group_ends(hazards, crew, arena) : NULL;
    out->place_unaware = synced->place_unaware;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    work w = {decl, frozen, hazards, queues, group_end, out};
    hdi_crew_ranges(crew, decl->res_count, GRAIN, count > 1 ? several_queues : one_queue, &w);
    for (uint32_t i = 0; i < hazards->extra_count; i++)
        add_extra(&w, &hazards->extra[i]);
    return HD_OK;
}
