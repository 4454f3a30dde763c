#include "phases.h"

#include <string.h>

#include "hints.h"
#include "vk_numbers.h"

/* Lifetime: for each resource and queue the first and last place where it is used, and what its last epochs leave to be
 * waited for. Extra slots that hold its barriers count as uses. Most resources live on one GPU queue, where the epochs
 * of a segment stand in order: the first and the last one tell all. O(segments + resources * queues + slots * queues),
 * and entries of what several queues use. By ranges of resources. */

enum { GRAIN = 384, UNAWARE_GRAIN = 512 };

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_hazards *hazards;
    const hdi_queues *queues;
    const uint32_t *group_end;
    hdi_lifetimes *out;
} work;

/* What a walk over resources of several queues reads, of its own: nothing that is written there changes it. */
typedef struct several {
    hdi_hazards hazards;
    const hdi_decl *decl;
    const uint32_t *group_end, *unaware;
} several;

typedef struct group_work {
    const hdi_hazards *hazards;
    uint32_t *end;
    uint32_t count;
} group_work;

/* Each place after which the group changes is the last of its group, and stands for those without slots behind it. */
static void end_groups(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const group_work *w = user;
    const uint32_t *slot_group = w->hazards->slot_group, *slots = w->hazards->queue_slot;
    uint32_t places = w->hazards->queue_begin[1];
    (void)part;
    for (uint32_t pos = begin; pos < end; pos++) {
        uint32_t behind = pos + 1 < places ? slot_group[slots[pos + 1]] : w->count;
        for (uint32_t g = slot_group[slots[pos]]; g < behind; g++)
            w->end[g] = pos;
    }
}

/* By one worker: each place says so of its group, and of the one behind it, in case that it has none. one: there is
 * nothing but the GPU queue, whose slots are places. */
static HDI_INLINE void end_groups_alone(const group_work *w, bool one)
{
    const uint32_t *slot_group = w->hazards->slot_group, *slots = w->hazards->queue_slot;
    uint32_t places = w->hazards->queue_begin[1], *ends = w->end;
    size_t behind = w->count;
    uint64_t twice = 0; /* the place, for both at once */
    for (size_t pos = 0; pos < places; pos++, twice += UINT64_C(0x100000001)) {
        size_t group = slot_group[one ? pos : slots[pos]];
        for (; HDI_UNLIKELY(behind < group); behind++)
            ends[behind] = (uint32_t)pos - 1;
        memcpy(&ends[group], &twice, sizeof(twice));
        behind = group + 2;
    }
    for (; behind < w->count; behind++)
        ends[behind] = places - 1;
}

/* Last place of each group on the GPU queue: what comes after it is behind the group's barrier. One more at the end. */
static uint32_t *find_group_ends(const hdi_hazards *hazards, bool one, const hdi_crew *crew, hdi_arena *arena)
{
    uint32_t slots = hazards->slot_count, places = hazards->queue_begin[1];
    /* They stand in order. */
    group_work w = {.hazards = hazards, .count = slots ? hazards->slot_group[slots - 1] + 2 : 1};
    w.end = HDI_EARLY_ARRAY(crew, arena, uint32_t, w.count);
    if (!w.end)
        return NULL;
    for (uint32_t g = 0, behind = places ? hazards->slot_group[hazards->queue_slot[0]] : w.count; g < behind; g++)
        w.end[g] = 0;
    if (crew->workers > 1)
        hdi_crew_ranges(crew, places, GRAIN, end_groups, &w);
    else if (one)
        end_groups_alone(&w, true);
    else
        end_groups_alone(&w, false);
    return w.end;
}

/* The stay on the one GPU queue that a resource lives on; places are slots yet. */
static HDI_APART hdi_stay stay_of_several(const hdi_hazards *hazards, uint32_t seg, uint32_t seg_end)
{
    hdi_stay stay = {.first = HDI_NONE};
    for (; seg < seg_end; seg++) {
        const hdi_epoch *first = hazards->epoch + hazards->seg_epoch_begin[seg],
                        *end = hazards->epoch + hazards->seg_epoch_end[seg];
        if (first == end)
            continue;
        const hdi_epoch *last = end - 1;
        if (last->flags & HDI_EPOCH_FINAL) {
            uint32_t extra = last->extra;
            if (extra != HDI_NONE) { /* for a state that nothing but the end of the frame asks for */
                stay.first = extra < stay.first ? extra : stay.first;
                stay.last = extra > stay.last ? extra : stay.last;
            }
            if (first == last)
                continue;
            last--;
        }
        stay.first = first->first < stay.first ? first->first : stay.first;
        stay.last = last->last > stay.last ? last->last : stay.last;
        const hdi_kind *kind = &hazards->kind[last->kind];
        stay.tail_stages |= kind->src_stages;
        stay.tail_writes |= kind->left_access;
    }
    return stay;
}

/* From and to which slot a resource is used, and up to which one nobody may take over its bytes. */
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

/* Most have one segment, and no state that they are to be left in. Stays are written number by number: put together
 * elsewhere and copied in two pieces, one would be read there before it has arrived. */
static HDI_INLINE life find_stay(const hdi_hazards *hazards, uint32_t seg, uint32_t seg_end, hdi_stay *stay)
{
    if (HDI_LIKELY(seg_end - seg == 1)) {
        uint32_t begin = hazards->seg_epoch_begin[seg], end = hazards->seg_epoch_end[seg];
        const hdi_epoch *first = &hazards->epoch[begin], *last = &hazards->epoch[end - 1];
        if (HDI_LIKELY(begin < end && !(last->flags & HDI_EPOCH_FINAL))) {
            set_tail(stay, &hazards->kind[last->kind]);
            return (life){first->first, last->last, 0};
        }
    }
    *stay = stay_of_several(hazards, seg, seg_end);
    return (life){stay->first, stay->last, 0};
}

/* The same of what segments are in behind all steps; close: how many groups behind that of the last place, yet. What
 * the caller goes on with comes in registers: read from the stay, it would be waited for. */
static HDI_APART life stay_of_states(const hdi_hazards *hazards, uint32_t seg, uint32_t seg_end, hdi_stay *stay)
{
    uint32_t first = HDI_NONE, behind = 0;
    uint64_t tail_stages = 0, tail_writes = 0;
    for (; seg < seg_end; seg++) {
        const hdi_seg_state *state = &hazards->seg_state[seg];
        const hdi_kind *kind = &hazards->kind[state->kind];
        if (state->behind == 0)
            continue;
        first = state->first < first ? state->first : first;
        behind = state->behind > behind ? state->behind : behind;
        tail_stages |= kind->src_stages;
        tail_writes |= kind->left_access;
    }
    stay->first = first;
    stay->last = behind - 1;
    stay->tail_stages = tail_stages;
    stay->tail_writes = tail_writes;
    return (life){first, behind - 1, tail_writes != 0};
}

/* The same where places are slots yet. */
static HDI_INLINE life find_stay_of_states(const hdi_hazards *hazards, uint32_t seg, uint32_t seg_end, hdi_stay *stay)
{
    if (HDI_LIKELY(seg_end - seg == 1)) {
        const hdi_seg_state *state = &hazards->seg_state[seg];
        set_tail(stay, &hazards->kind[state->kind]);
        stay->first = HDI_NONE;
        return (life){state->behind ? state->first : HDI_NONE, state->behind - 1, 0};
    }
    life all = stay_of_states(hazards, seg, seg_end, stay);
    all.close = 0;
    return all;
}

/* Nothing but one GPU queue: slots are places, and there are groups. What most resources are, one segment, is written
 * number by number, as above. whole: all are. */
static HDI_INLINE void stays_of_steps(const work *w, uint32_t begin, uint32_t end, bool whole)
{
    const hdi_seg_state *seg_state = w->hazards->seg_state;
    const hdi_kind *kinds = w->hazards->kind;
    const uint32_t *slot_group = w->hazards->slot_group, *group_end = w->group_end,
                   *seg_end = w->frozen->res_seg_begin + 1;
    hdi_stay *res_stay = w->out->stay;
    uint32_t *res_first = w->out->res_first, *res_last = w->out->res_last, *res_close = w->out->res_close;
    for (uint32_t r = begin, seg = whole ? begin : w->frozen->res_seg_begin[begin]; r < end; r++) {
        hdi_stay *stay = &res_stay[r];
        uint32_t first, last, next = whole ? seg + 1 : seg_end[r];
        bool writes;
        if (whole || HDI_LIKELY(next - seg == 1)) {
            const hdi_seg_state *state = &seg_state[seg];
            const hdi_kind *kind = &kinds[state->kind];
            first = state->behind ? state->first : HDI_NONE;
            last = state->behind - 1;
            stay->first = first;
            stay->last = last;
            set_tail(stay, kind);
            writes = kind->left_access != 0;
        } else {
            life all = stay_of_states(w->hazards, seg, next, stay);
            first = all.first;
            last = all.last;
            writes = all.close != 0;
        }
        seg = next;
        res_first[r] = first;
        if (HDI_LIKELY(first != HDI_NONE)) {
            res_last[r] = last;
            res_close[r] = group_end[slot_group[last] + writes];
        } else {
            res_last[r] = res_close[r] = 0;
        }
    }
}

static HDI_ON_LINE void one_queue(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    (void)part;
    stays_of_steps(user, begin, end, false);
}

static HDI_ON_LINE void one_queue_whole(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    (void)part;
    stays_of_steps(user, begin, end, true);
}

/* Of queue k: its slots, one after another, know more and more of the other queues. Clocks of one queue only rise, and
 * only where slots wait. Each range writes to places of its own, as what a slot knows begins where the slot before it
 * ends; the last one also to those that nobody on the queue knows of. */
typedef struct unaware_work {
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    uint32_t queues, queue, *unaware;
} unaware_work;

/* Places of a queue, the rows of which are `of`, from `known` on, up to `now`: so many places of queue k did not know
 * of them, and the last of these was the slot before `behind`. */
static HDI_INLINE void know(uint32_t *of, uint32_t queues, uint32_t k, uint32_t *known, uint32_t now, uint32_t places,
                            uint32_t behind)
{
    uint32_t *row = of + hdi_unaware_row(queues, *known), *end = of + hdi_unaware_row(queues, now);
    for (; row < end; row += hdi_unaware_row(queues, 1)) {
        row[k] = places;
        row[queues] = behind > row[queues] ? behind : row[queues];
    }
    *known = now;
}

static void find_unaware(uint32_t first, uint32_t end, uint32_t part, void *user)
{
    const unaware_work *w = user;
    const uint32_t *begin = w->hazards->queue_begin, *slots = w->hazards->queue_slot + begin[w->queue];
    uint32_t known[HD_MAX_QUEUES] = {0}, queues = w->queues, count = begin[w->queue + 1] - begin[w->queue];
    (void)part;
    if (first > 0)
        memcpy(known, &w->synced->slot_clock[(size_t)slots[first - 1] * queues], queues * sizeof(*known));
    for (uint32_t i = first; i < end; i++) {
        if (!w->synced->slot_waits[slots[i]])
            continue;
        const uint32_t *clock = &w->synced->slot_clock[(size_t)slots[i] * queues];
        for (uint32_t q = 0; q < queues; q++) {
            if (q != w->queue && known[q] < clock[q])
                know(w->unaware + hdi_unaware_row(queues, begin[q]), queues, w->queue, &known[q], clock[q], i,
                     i > 0 ? slots[i - 1] + 1 : 0);
        }
    }
    for (uint32_t q = 0; q < queues && end == count; q++) {
        if (q != w->queue)
            know(w->unaware + hdi_unaware_row(queues, begin[q]), queues, w->queue, &known[q], begin[q + 1] - begin[q],
                 count, slots[count - 1] + 1);
    }
}

static uint32_t *find_all_unaware(const hdi_hazards *hazards, const hdi_synced *synced, uint32_t queues,
                                  const hdi_crew *crew, hdi_arena *arena)
{
    const uint32_t *begin = hazards->queue_begin;
    uint32_t *unaware = HDI_ARENA_ZEROED(arena, uint32_t, hdi_unaware_row(queues, hazards->slot_count));
    for (uint32_t k = 0; unaware && k < queues; k++) {
        unaware_work w = {hazards, synced, queues, k, unaware};
        if (begin[k] < begin[k + 1])
            hdi_crew_ranges(crew, begin[k + 1] - begin[k], UNAWARE_GRAIN, find_unaware, &w);
    }
    return unaware;
}

/* Places of a stay are slots yet, which rise with them. */
static inline void extend(hdi_stay *on, uint32_t first, uint32_t last)
{
    on->first = first < on->first ? first : on->first;
    on->last = last > on->last ? last : on->last;
}

/* The last epoch of a segment: its stages, and writes that nothing behind them made available. */
static inline void add_tail(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_epoch *epoch, hdi_stay *stay)
{
    if (epoch->queue_mask && !(epoch->queue_mask & (epoch->queue_mask - 1))) {
        hdi_stay *on = &stay[__builtin_ctz(epoch->queue_mask)];
        const hdi_kind *kind = &hazards->kind[epoch->kind];
        on->tail_stages |= kind->src_stages;
        on->tail_writes |= kind->left_access;
        return;
    }
    uint32_t slot = epoch->first, use = epoch->use, more = epoch->more;
    while (!(epoch->flags & HDI_EPOCH_FINAL)) {
        const hdi_access_info *access = &decl->access[decl->use_access[use]];
        hdi_stay *on = &stay[hazards->slot_queue[slot]];
        on->tail_stages |= hdi_stages_or_all(access->stages);
        on->tail_writes |= access->writes ? access->access : 0;
        if (more == HDI_NONE)
            break;
        slot = hazards->entry[more].slot;
        use = hazards->entry[more].use;
        more = hazards->entry[more].older;
    }
}

/* All slots of what several queues use, or the host, and what its segments end with. one: there is one segment, whose
 * epochs stand in order, so that none ends before one that came before it. */
static HDI_INLINE void find_slots(const several *w, uint32_t seg, uint32_t seg_end, bool one, hdi_stay *stay)
{
    const hdi_hazards *hazards = &w->hazards;
    for (; seg < seg_end; seg++) {
        const hdi_epoch *epoch = hazards->epoch + hazards->seg_epoch_begin[seg];
        const hdi_epoch *end = hazards->epoch + hazards->seg_epoch_end[seg];
        if (epoch == end)
            continue;
        for (; epoch != end; epoch++) {
            uint32_t mask = epoch->queue_mask;
            if (mask & (mask - 1)) {
                extend(&stay[hazards->slot_queue[epoch->first]], epoch->first, epoch->first);
                for (uint32_t k = epoch->more; k != HDI_NONE; k = hazards->entry[k].older) {
                    uint32_t slot = hazards->entry[k].slot;
                    extend(&stay[hazards->slot_queue[slot]], slot, slot);
                }
            } else if (mask) {
                hdi_stay *on = &stay[__builtin_ctz(mask)];
                on->first = epoch->first < on->first ? epoch->first : on->first;
                on->last = one || epoch->last > on->last ? epoch->last : on->last;
            }
            if (HDI_UNLIKELY(epoch->extra != HDI_NONE))
                extend(&stay[hazards->slot_queue[epoch->extra]], epoch->extra, epoch->extra);
        }
        add_tail(w->decl, hazards, end - 1, stay);
    }
}

/* Places of a stay from its slots. On each queue, what comes before the last slot that may not take over its bytes is
 * known there. Where there are groups, which one GPU queue has, a tenant that comes after takes the bytes over behind a
 * barrier; an image behind two where the last use writes. */
static HDI_INLINE life settle(const several *w, uint32_t queues, bool groups, uint32_t queue, life slots,
                              hdi_stay *stay)
{
    const hdi_hazards *hazards = &w->hazards;
    uint32_t last = hazards->slot_pos[slots.last], behind = slots.last + 1;
    stay->first = hazards->slot_pos[slots.first];
    stay->last = stay->close = last;
    if (groups && queue == 0) {
        stay->close = w->group_end[hazards->slot_group[slots.last] + (stay->tail_writes != 0)];
        behind = hdi_slot_at(hazards, 0, stay->close) + 1;
    }
    uint32_t unaware = w->unaware[hdi_unaware_row(queues, hazards->queue_begin[queue] + last) + queues];
    slots.close = (behind > unaware ? behind : unaware) - 1;
    return slots;
}

/* Of what several queues use, or the host. */
static HDI_INLINE life visit_shared(const several *w, uint32_t seg, uint32_t seg_end, uint32_t queues, bool groups,
                                    hdi_stay *stay)
{
    life all = {HDI_NONE, 0, 0};
    for (uint32_t q = 0; q < queues; q++)
        stay[q] = (hdi_stay){.first = HDI_NONE};
    if (HDI_LIKELY(seg_end - seg == 1))
        find_slots(w, seg, seg + 1, true, stay);
    else
        find_slots(w, seg, seg_end, false, stay);
    for (uint32_t q = 0; q < queues; q++) {
        if (stay[q].first == HDI_NONE)
            continue;
        life l = settle(w, queues, groups, q, (life){stay[q].first, stay[q].last, 0}, &stay[q]);
        all.first = l.first < all.first ? l.first : all.first;
        all.last = l.last > all.last ? l.last : all.last;
        all.close = l.close > all.close ? l.close : all.close;
    }
    return all;
}

/* Stays on queues that nothing of a resource is on have only a first place, and none at all where it lives on one GPU
 * queue: that one's is what there is. groups: there is one GPU queue, and the host's. steps: and what the host does not
 * use has steps. */
static HDI_INLINE void visit_on_queues(const work *shared, uint32_t begin, uint32_t end, uint32_t count, bool groups,
                                       bool steps)
{
    const several w = {*shared->hazards, shared->decl, shared->group_end, shared->out->place_unaware};
    const uint32_t *seg_end = shared->frozen->res_seg_begin + 1;
    const uint16_t *res_queues = w.hazards.res_queues;
    hdi_stay *stay = shared->out->stay + (size_t)begin * count;
    uint32_t gpu_mask = (1u << shared->queues->gpu_count) - 1, *res_first = shared->out->res_first,
             *res_last = shared->out->res_last, *res_close = shared->out->res_close;
    for (uint32_t r = begin, seg = shared->frozen->res_seg_begin[begin]; r < end; seg = seg_end[r++], stay += count) {
        uint32_t mask = res_queues[r];
        life all = {HDI_NONE, 0, 0};
        if (steps    ? !(w.decl->res_flags[r] & HDI_RES_HOST)
            : groups ? mask == 1
                     : !(mask & (mask - 1)) && mask & gpu_mask) {
            uint32_t q = groups ? 0 : (uint32_t)__builtin_ctz(mask);
            life slots = (steps ? find_stay_of_states : find_stay)(&w.hazards, seg, seg_end[r], &stay[q]);
            if (!steps || HDI_LIKELY(slots.first != HDI_NONE))
                all = settle(&w, count, groups, q, slots, &stay[q]);
        } else if (mask) {
            all = visit_shared(&w, seg, seg_end[r], count, groups, stay);
        }
        res_first[r] = all.first;
        res_last[r] = all.last;
        res_close[r] = all.close;
    }
}

/* The loops are unrolled for what is most common. */
static HDI_SCALAR void several_queues(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)part;
    if (w->hazards->step)
        visit_on_queues(w, begin, end, 2, true, true);
    else if (w->group_end)
        visit_on_queues(w, begin, end, 2, true, false);
    else if (w->queues->count == 2)
        visit_on_queues(w, begin, end, 2, false, false);
    else if (w->queues->count == 3)
        visit_on_queues(w, begin, end, 3, false, false);
    else if (w->queues->count == 4) /* the host's with three */
        visit_on_queues(w, begin, end, 4, false, false);
    else
        visit_on_queues(w, begin, end, w->queues->count, false, false);
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
    const uint32_t *group_end = hazards->slot_group ? find_group_ends(hazards, count == 1, crew, arena) : NULL;
    out->place_unaware = count > 1 ? find_all_unaware(hazards, synced, count, crew, arena) : NULL;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    work w = {decl, frozen, hazards, queues, group_end, out};
    bool whole = frozen->seg_count == decl->res_count;
    hdi_crew_ranges(crew, decl->res_count, GRAIN, count > 1 ? several_queues : whole ? one_queue_whole : one_queue, &w);
    return HD_OK;
}
