#include "phases.h"

#include <string.h>

#include "hints.h"
#include "vk_numbers.h"

/* Lifetime: for each resource and queue the first and last place where it is used, and what its last epochs leave to be
 * waited for. Extra slots that hold its barriers count as uses. Most resources live on one GPU queue, where the epochs
 * of a segment stand in order: the first and the last one tell all. O(segments + resources * queues + slots * queues),
 * and entries of what several queues use. By ranges of resources. */

enum { GRAIN = 384, BLIND_GRAIN = 512 };

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_hazards *hazards;
    const hdi_queues *queues;
    const uint32_t *group_end, *blind;
    hdi_lifetimes *out;
} work;

typedef struct group_work {
    const hdi_hazards *hazards;
    uint32_t *end;
    uint32_t count;
} group_work;

static uint32_t next_on_gpu(const hdi_hazards *hazards, uint32_t slot)
{
    while (slot < hazards->slot_count && hazards->slot_queue[slot] != 0)
        slot++;
    return slot;
}

/* Each slot after which the group changes is the last of its group, and stands for those without slots behind it.
 * alone: there is nothing but the GPU queue, whose slots are places. */
static HDI_INLINE void end_range(const group_work *w, uint32_t begin, uint32_t end, bool alone)
{
    const uint32_t *slot_group = w->hazards->slot_group;
    uint32_t slots = w->hazards->slot_count, *ends = w->end;
    for (uint32_t s = alone ? begin : next_on_gpu(w->hazards, begin), next; s < end; s = next) {
        next = alone ? s + 1 : next_on_gpu(w->hazards, s + 1);
        for (uint32_t g = slot_group[s], behind = next < slots ? slot_group[next] : w->count; g < behind; g++)
            ends[g] = alone ? s : w->hazards->slot_pos[s];
    }
}

static void end_groups(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    (void)part;
    end_range(user, begin, end, false);
}

static void end_groups_alone(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    (void)part;
    end_range(user, begin, end, true);
}

/* Last slot of each group on the GPU queue: what comes after it is behind the group's barrier. One more at the end. */
static uint32_t *find_group_ends(const hdi_hazards *hazards, bool alone, const hdi_crew *crew, hdi_arena *arena)
{
    uint32_t slots = hazards->slot_count, first = next_on_gpu(hazards, 0);
    /* They stand in order. */
    group_work w = {.hazards = hazards, .count = slots ? hazards->slot_group[slots - 1] + 2 : 1};
    w.end = HDI_ARENA_ARRAY(arena, uint32_t, w.count);
    if (!w.end)
        return NULL;
    for (uint32_t g = 0, behind = first < slots ? hazards->slot_group[first] : w.count; g < behind; g++)
        w.end[g] = 0;
    hdi_crew_ranges(crew, slots, GRAIN, alone ? end_groups_alone : end_groups, &w);
    return w.end;
}

/* A tenant that comes after takes the bytes over behind a barrier; an image behind two where the last use writes. */
static uint32_t close_of(const hdi_hazards *hazards, const uint32_t *group_end, uint32_t queue, const hdi_stay *stay)
{
    if (!group_end || queue != 0 || stay->first == HDI_NONE)
        return stay->last;
    return group_end[hazards->slot_group[hdi_slot_at(hazards, 0, stay->last)] + (stay->tail_writes != 0)];
}

/* The stay on the one GPU queue that a resource lives on; places are slots yet. */
static inline hdi_stay stay_of(const hdi_frozen *frozen, const hdi_hazards *hazards, uint32_t res)
{
    const hdi_epoch *epoch = hazards->epoch;
    hdi_stay stay = {.first = HDI_NONE};
    for (uint32_t seg = frozen->res_seg_begin[res]; seg < frozen->res_seg_begin[res + 1]; seg++) {
        const hdi_epoch *first = epoch + hazards->seg_epoch_begin[seg],
                        *end = epoch + hazards->seg_epoch_end[seg];
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
        stay.tail_stages |= hdi_stages_or_all(last->stages);
        stay.tail_writes |= last->flags & HDI_EPOCH_WRITES ? last->access : 0;
    }
    return stay;
}

/* Nothing but one GPU queue: slots are places. */
static void one_queue(uint32_t begin, uint32_t range_end, uint32_t part, void *user)
{
    const work *w = user;
    const hdi_frozen *frozen = w->frozen;
    const hdi_hazards *hazards = w->hazards;
    hdi_lifetimes *out = w->out;
    uint32_t *res_first = out->res_first, *res_last = out->res_last, *res_close = out->res_close;
    const uint32_t *slot_group = hazards->slot_group, *group_end = w->group_end;
    (void)part;
    for (uint32_t r = begin; r < range_end; r++) {
        hdi_stay *stay = &out->stay[r];
        *stay = stay_of(frozen, hazards, r);
        if (stay->first == HDI_NONE) {
            stay->last = stay->close = res_first[r] = HDI_NONE;
            res_last[r] = res_close[r] = 0;
            continue;
        }
        stay->close = group_end ? group_end[slot_group[stay->last] + (stay->tail_writes != 0)] : stay->last;
        res_first[r] = stay->first;
        res_last[r] = stay->last;
        res_close[r] = stay->close;
    }
}

/* Places of queue k from `known` on, up to `now`, have finished at the latest behind slot `before` of another queue. */
static inline void know(uint32_t *blind, uint32_t *known, uint32_t now, uint32_t before)
{
    for (uint32_t pos = before == HDI_NONE ? now : *known; pos < now; pos++)
        blind[pos] = blind[pos] > before ? blind[pos] : before;
    *known = now;
}

/* By places, queue after queue as in queue_slot: the last slot of another queue that does not know that the slot there
 * has finished; 0: none, or the first one. Clocks of one queue only rise, and only where slots wait. One queue's slots
 * after another's, each by ranges: these write to places of their own, as what a slot knows begins where the slot
 * before it ends. */
typedef struct blind_work {
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    uint32_t queues, queue, *blind;
} blind_work;

static void find_unknown(uint32_t first, uint32_t end, uint32_t part, void *user)
{
    const blind_work *w = user;
    const uint32_t *begin = w->hazards->queue_begin, *slots = w->hazards->queue_slot + begin[w->queue];
    uint32_t known[HD_MAX_QUEUES] = {0}, queues = w->queues;
    (void)part;
    if (first > 0)
        memcpy(known, &w->synced->slot_clock[(size_t)slots[first - 1] * queues], queues * sizeof(*known));
    for (uint32_t i = first; i < end; i++) {
        if (!w->synced->slot_waits[slots[i]])
            continue;
        const uint32_t *clock = &w->synced->slot_clock[(size_t)slots[i] * queues];
        for (uint32_t q = 0; q < queues; q++) {
            if (q != w->queue && known[q] < clock[q])
                know(w->blind + begin[q], &known[q], clock[q], i > 0 ? slots[i - 1] : HDI_NONE);
        }
    }
}

static uint32_t *find_blind(const hdi_hazards *hazards, const hdi_synced *synced, uint32_t queues, const hdi_crew *crew,
                            hdi_arena *arena)
{
    const uint32_t *begin = hazards->queue_begin;
    blind_work w = {hazards, synced, queues, 0, HDI_ARENA_ZEROED(arena, uint32_t, hazards->slot_count)};
    for (uint32_t k = 0; w.blind && k < queues; k++) {
        w.queue = k;
        hdi_crew_ranges(crew, begin[k + 1] - begin[k], BLIND_GRAIN, find_unknown, &w);
    }
    for (uint32_t k = 0; w.blind && k < queues; k++) {
        if (begin[k] == begin[k + 1])
            continue;
        uint32_t last = hazards->queue_slot[begin[k + 1] - 1];
        for (uint32_t q = 0; q < queues; q++) {
            uint32_t known = synced->slot_clock[(size_t)last * queues + q];
            if (q != k)
                know(w.blind + begin[q], &known, begin[q + 1] - begin[q], last);
        }
    }
    return w.blind;
}

/* What a resource does on each queue; places are slots, which rise with them. */
typedef struct slots {
    uint32_t first[HD_MAX_QUEUES], last[HD_MAX_QUEUES];
} slots;

static inline void extend(slots *s, uint32_t queue, uint32_t first, uint32_t last)
{
    s->first[queue] = first < s->first[queue] ? first : s->first[queue];
    s->last[queue] = last > s->last[queue] ? last : s->last[queue];
}

/* The last epoch of a segment: its stages, and writes that nothing behind them made available. */
static void add_tail(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_epoch *epoch, hdi_stay *stay)
{
    if (epoch->queue_mask && !(epoch->queue_mask & (epoch->queue_mask - 1))) {
        hdi_stay *on = &stay[__builtin_ctz(epoch->queue_mask)];
        on->tail_stages |= hdi_stages_or_all(epoch->stages);
        on->tail_writes |= epoch->flags & HDI_EPOCH_WRITES ? epoch->access : 0;
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

/* All of a resource's slots and what its segments end with. */
static void find_slots(const work *w, uint32_t res, slots *s, hdi_stay *stay)
{
    const hdi_hazards *hazards = w->hazards;
    for (uint32_t seg = w->frozen->res_seg_begin[res]; seg < w->frozen->res_seg_begin[res + 1]; seg++) {
        const hdi_epoch *epoch = hazards->epoch + hazards->seg_epoch_begin[seg];
        const hdi_epoch *end = hazards->epoch + hazards->seg_epoch_end[seg];
        if (epoch == end)
            continue;
        for (; epoch != end; epoch++) {
            uint32_t mask = epoch->queue_mask;
            if (mask & (mask - 1)) {
                extend(s, hazards->slot_queue[epoch->first], epoch->first, epoch->first);
                for (uint32_t k = epoch->more; k != HDI_NONE; k = hazards->entry[k].older) {
                    uint32_t slot = hazards->entry[k].slot;
                    extend(s, hazards->slot_queue[slot], slot, slot);
                }
            } else if (mask) {
                extend(s, (uint32_t)__builtin_ctz(mask), epoch->first, epoch->last);
            }
            if (epoch->extra != HDI_NONE)
                extend(s, hazards->slot_queue[epoch->extra], epoch->extra, epoch->extra);
        }
        add_tail(w->decl, hazards, end - 1, stay);
    }
}

/* What several queues use, or the host. It ends with the last slot that may not take over its bytes: on each queue,
 * what comes before it is known there. */
static void several_queues(const work *w, uint32_t res)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t queues = w->queues->count, first = HDI_NONE, last = 0, close = 0;
    hdi_stay *stay = &w->out->stay[(size_t)res * queues];
    slots s;
    for (uint32_t q = 0; q < queues; q++) {
        s.first[q] = HDI_NONE;
        s.last[q] = 0;
    }
    find_slots(w, res, &s, stay);
    for (uint32_t q = 0; q < queues; q++) {
        if (s.first[q] == HDI_NONE)
            continue;
        stay[q].first = hazards->slot_pos[s.first[q]];
        stay[q].last = hazards->slot_pos[s.last[q]];
        stay[q].close = close_of(hazards, w->group_end, q, &stay[q]);
        uint32_t own = hdi_slot_at(hazards, q, stay[q].close), other = w->blind[hazards->queue_begin[q] + stay[q].last];
        first = s.first[q] < first ? s.first[q] : first;
        last = s.last[q] > last ? s.last[q] : last;
        close = own > close ? own : close;
        close = other > close ? other : close;
    }
    w->out->res_first[res] = first;
    w->out->res_last[res] = last;
    w->out->res_close[res] = close;
}

/* Whatever it lives on. */
static void all_queues(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    const hdi_frozen *frozen = w->frozen;
    const hdi_hazards *hazards = w->hazards;
    const uint32_t *group_end = w->group_end, *blind = w->blind;
    hdi_lifetimes *out = w->out;
    uint32_t count = w->queues->count, gpu_mask = (1u << w->queues->gpu_count) - 1;
    (void)part;
    for (uint32_t r = begin; r < end; r++) {
        hdi_stay *stay = &out->stay[(size_t)r * count];
        uint32_t mask = hazards->res_queues[r];
        for (uint32_t q = 0; q < count; q++)
            stay[q] = (hdi_stay){.first = HDI_NONE, .last = HDI_NONE, .close = HDI_NONE};
        out->res_first[r] = HDI_NONE;
        out->res_last[r] = out->res_close[r] = 0;
        if (!mask)
            continue;
        if (mask & (mask - 1) || !(mask & gpu_mask)) {
            several_queues(w, r);
            continue;
        }
        uint32_t q = (uint32_t)__builtin_ctz(mask);
        hdi_stay *own = &stay[q];
        *own = stay_of(frozen, hazards, r);
        out->res_first[r] = own->first;
        out->res_last[r] = own->last;
        own->first = hazards->slot_pos[own->first];
        own->last = hazards->slot_pos[own->last];
        own->close = close_of(hazards, group_end, q, own);
        uint32_t close = hdi_slot_at(hazards, q, own->close), other = blind[hazards->queue_begin[q] + own->last];
        out->res_close[r] = other > close ? other : close;
    }
}

hd_result hdi_lifetime(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                       const hdi_queues *queues, const hdi_synced *synced, const hdi_crew *crew, hdi_arena *arena,
                       hdi_lifetimes *out)
{
    uint32_t count = queues->count;
    out->stay = HDI_ARENA_ARRAY(arena, hdi_stay, (size_t)decl->res_count * count);
    out->res_first = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->res_last = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->res_close = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    const uint32_t *group_end = hazards->slot_group ? find_group_ends(hazards, count == 1, crew, arena) : NULL;
    const uint32_t *blind = count > 1 ? find_blind(hazards, synced, count, crew, arena) : NULL;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    work w = {decl, frozen, hazards, queues, group_end, blind, out};
    hdi_crew_ranges(crew, decl->res_count, GRAIN, count == 1 ? one_queue : all_queues, &w);
    return HD_OK;
}
