#include "barrier_ask.h"

#include <string.h>

/* Which barriers the steps of a range of segments need, and between which two points of its queue each must stand.
 * Nearly all steps stand before the first use of one queue; what else there is stays out of their way. O(entries).
 * Compiled twice, as barrier_ask.h says. */

static HDI_INLINE uint32_t slot_at(const work *w, uint32_t queue, uint32_t pos)
{
    return w->slots[queue][pos];
}

/* Points before and behind a slot or a place, which lie outside the rendering scope that it is in. */
static HDI_INLINE uint32_t before_slot(const work *w, uint32_t slot)
{
    return 2 * w->slot_first[slot];
}

static HDI_INLINE uint32_t behind_slot(const work *w, uint32_t slot)
{
    return 2 * w->slot_last[slot] + 1;
}

static HDI_INLINE uint32_t before_pos(const work *w, uint32_t queue, uint32_t pos)
{
    return w->merges ? before_slot(w, slot_at(w, queue, pos)) : 2 * pos;
}

static HDI_INLINE uint32_t behind_pos(const work *w, uint32_t queue, uint32_t pos)
{
    return w->merges ? behind_slot(w, slot_at(w, queue, pos)) : 2 * pos + 1;
}

static uint32_t submit_end(const work *w, uint32_t slot)
{
    uint32_t place = w->hazards->queue_begin[w->slot_queue[slot]] + w->slot_pos[slot];
    return 2 * (w->synced->submit[w->synced->place_submit[place]].end_pos - 1) + 1;
}

/* Stages of a queue count on the semaphore that first told it of a place on another one, known at the latest at
 * `limit`. Returns the point where it did. */
static HDI_INLINE uint32_t rely(const work *w, uint32_t queue, uint32_t other, uint32_t pos, uint32_t limit,
                                uint64_t stages)
{
    uint32_t known = w->known[queue][w->known_begin[other] + pos];
    known = known < limit ? known : limit;
    hdi_count_on(&w->slot_wait_stages[slot_at(w, queue, known)], stages, WHOLE || w->alone);
    return 2 * known;
}

/* Everything of the epoch before that is on other queues is known from some point on; stages count on that. */
static HDI_INLINE uint32_t after_others(const work *w, const hdi_side *before, uint32_t mask, uint32_t queue,
                                        uint32_t limit, uint32_t low, uint64_t stages)
{
    for (mask &= ~(1u << queue); mask; mask &= mask - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(mask);
        uint32_t point = rely(w, queue, other, before[other].last, limit, stages);
        low = point > low ? point : low;
    }
    return low;
}

/* One step of one segment. */
typedef struct step {
    const resource *of;
    uint32_t seg, layout, keeps;      /* layout: before it; keeps: all bits; 0: the content is overwritten */
    const hdi_epoch *before, *behind; /* before: null at the first use */
    bool needs_layout;
} step;

static HDI_INLINE uint32_t reason_of(const step *s)
{
    if (s->behind->flags & HDI_EPOCH_FINAL)
        return HD_REASON_FINAL_STATE;
    return s->before ? hdi_step_reason(s->before->flags, s->behind->flags) : HD_REASON_FIRST_USE;
}

static HDI_INLINE cause cause_of(const work *w, const step *s)
{
    bool is_final = s->behind->flags & HDI_EPOCH_FINAL;
    return (cause){reason_of(s), is_final ? HDI_NONE : w->slot_pass[s->behind->first]};
}

/* ---- memory that changes hands ---- */

typedef hdi_handover handover;

/* Where some of them were last, on other queues. */
enum { ELSEWHERE = 32 };
typedef struct elsewhere {
    uint32_t count; /* beyond ELSEWHERE: not all of them are here */
    struct {
        uint32_t queue, last;
    } at[ELSEWHERE];
} elsewhere;
_Static_assert(ELSEWHERE >= HD_MAX_QUEUES, "those of one tenant can be noted");

static HDI_INLINE void add_elsewhere(const hdi_stay *stays, uint32_t mask, elsewhere *were)
{
    for (; mask; mask &= mask - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(mask), i = were->count++ % ELSEWHERE;
        were->at[i].queue = q;
        were->at[i].last = stays[q].last;
    }
}

/* What the barrier chains with counts on semaphores as well. */
static HDI_INLINE uint32_t after_elsewhere(const work *w, const elsewhere *were, uint32_t queue, uint32_t limit,
                                           uint64_t stages, uint32_t low)
{
    for (uint32_t i = 0; i < were->count; i++) {
        uint32_t known = rely(w, queue, were->at[i].queue, were->at[i].last, limit, stages);
        low = known > low ? known : low;
    }
    return low;
}

/* Of more tenants than can be noted, or where a tenant may have an extra slot on a queue that does not use it: on any,
 * unless it was on one GPU queue alone. */
static HDI_COLD uint32_t after_many(const work *w, uint32_t res, uint32_t queue, uint32_t limit, uint64_t stages,
                                    uint32_t low)
{
    for (uint32_t t = w->res_tenants[res].begin, end = w->res_tenants[res].end; t < end; t++) {
        uint32_t tenant = w->tenant[t], mask = w->res_queues[tenant];
        const hdi_stay *stays = &w->stay[(size_t)tenant * w->queue_count];
        bool alone = !(mask & (mask - 1)) && mask & w->gpu_mask;
        elsewhere were = {.count = 0};
        for (uint32_t on = alone ? mask : w->queue_mask; on; on &= on - 1) {
            uint32_t q = (uint32_t)__builtin_ctz(on), behind;
            if (stays[q].first == HDI_NONE)
                continue;
            if (q != queue)
                add_elsewhere(stays, 1u << q, &were);
            else if ((behind = behind_pos(w, q, stays[q].last)) > low)
                low = behind;
        }
        low = after_elsewhere(w, &were, queue, limit, stages, low);
    }
    return low;
}

/* stages: of who comes now, from `slot` on. */
static HDI_INLINE handover tenants_of(const work *w, uint32_t res, uint32_t queue, uint32_t slot, uint64_t stages,
                                      bool merges)
{
    uint64_t left = 0, writes = 0;
    uint32_t own = 1u << queue, low = 0, flush_low = 0;
    elsewhere were;
    were.count = 0;
    for (const uint32_t *t = w->tenant + w->res_tenants[res].begin, *end = w->tenant + w->res_tenants[res].end; t < end;
         t++) {
        uint32_t tenant = *t, mask = w->res_queues[tenant];
        const hdi_stay *stays = &w->stay[(size_t)tenant * w->queue_count], *stay = &stays[queue];
        if (mask != own) {
            add_elsewhere(stays, mask & ~own, &were);
            if (!(mask & own))
                continue;
        }
        uint32_t behind = 2 * (merges ? w->slot_last[slot_at(w, queue, stay->last)] : stay->last) + 1;
        low = behind > low ? behind : low;
        left |= stay->tail_stages;
        writes |= stay->tail_writes;
        flush_low = stay->tail_writes && behind > flush_low ? behind : flush_low;
    }
    bool others = were.count > 0;
    if (others && HDI_UNLIKELY(were.count > ELSEWHERE || w->has_extras))
        low = after_many(w, res, queue, w->slot_pos[slot], stages | left, low);
    else if (others)
        low = after_elsewhere(w, &were, queue, w->slot_pos[slot], stages | left, low);
    return (handover){left, writes & HDI_WRITE_BITS, low, flush_low, others};
}

#ifdef HDI_STEPS_WHOLE
hdi_handover hdi_find_handover(const hdi_step_work *w, uint32_t res, uint32_t queue, uint32_t slot, uint64_t stages)
{
    return tenants_of(w, res, queue, slot, stages, false);
}
#endif

static HDI_APART void ask_flush(work *w, uint32_t res, interval at, uint64_t stages, uint64_t writes, uint32_t pass)
{
    scopes does = {made(w, stages, writes, 0, 0), made(w, stages, 0, 0, 0)};
    ask_global(w, res, at, HDI_EARLY, does, (cause){HD_REASON_ALIAS, pass});
}

/* The first use, maybe of memory that others had before. An image's barrier covers no writes through other resources,
 * and elements of one command do not chain: pending writes are flushed by a global barrier in a command before. */
static HDI_INLINE void first_use(work *w, const resource *of, uint32_t seg, const hdi_epoch *behind, bool merges)
{
    uint32_t queue = (uint32_t)__builtin_ctz(behind->queue_mask), slot = behind->first, kind = 0;
    uint32_t pass = w->slot_pass[slot];
    const hdi_kind *to = kind_of(w, behind);
    uint64_t stages = to->dst_stages;
    handover h = tenants_of(w, of->res, queue, slot, stages, merges);
    interval at = {queue, h.low, before_slot(w, slot)};
    bool taken = h.stages || h.others, needs_layout = of->layout != to->layout;
    if ((!taken && !needs_layout) || (!of->is_image && !h.stages))
        return;
    if (of->is_image && h.writes) {
        ask_flush(w, of->res, (interval){queue, h.flush_low, at.high - 1}, h.stages, h.writes, pass);
        kind = HDI_FOLLOWS;
    }
    if (h.others && !h.stages)
        h.stages = stages; /* chains with the semaphore wait */
    scopes does = {made(w, h.stages, of->is_image ? 0 : h.writes, of->layout, 0), wanted_by(w, behind)};
    cause why = {taken ? HD_REASON_ALIAS : HD_REASON_FIRST_USE, pass};
    if (needs_layout)
        ask_image(w, of, seg, at, kind, does, why);
    else
        ask_global(w, of->res, at, kind, does, why);
}

/* ---- one function a place ---- */

/* Behind a use of the same queue alone. */
static HDI_INLINE void next_use(work *w, const resource *of, uint32_t seg, const hdi_epoch *behind)
{
    const hdi_epoch *before = behind - 1;
    const hdi_kind *from = kind_of(w, before), *to = kind_of(w, behind);
    cause why = {hdi_step_reason(from->flags, to->flags), w->slot_pass[behind->first]};
    interval at = {(uint32_t)__builtin_ctz(behind->queue_mask), behind_slot(w, before->last),
                   before_slot(w, behind->first)};
    scopes does = {left_by(w, before), wanted_by(w, behind)};
    if (from->layout == to->layout)
        ask_global(w, of->res, at, 0, does, why);
    else
        ask_image(w, of, seg, at, 0, does, why);
}

/* An exclusive image that another family overwrites changes hands without a transfer, by a transition from UNDEFINED,
 * also where the layout stays. */
static bool discards_for_family(const work *w, const step *s)
{
    if (!s->of->is_image || s->behind->flags != HDI_EPOCH_WRITES || w->hazards->res_concurrent[s->of->res])
        return false;
    uint32_t host = w->queues->host == HDI_NONE ? 0 : 1u << w->queues->host;
    uint32_t from = s->before->queue_mask & ~host, to = s->behind->queue_mask & ~host;
    return from && to && w->queues->family[__builtin_ctz(from)] != w->queues->family[__builtin_ctz(to)];
}

static HDI_INLINE step make_step(const work *w, const resource *of, uint32_t seg, const hdi_epoch *before,
                                 const hdi_epoch *behind)
{
    uint32_t layout = before ? kind_of(w, before)->layout : of->layout; /* a buffer has none */
    step s = {of,     seg,    layout, behind->flags == HDI_EPOCH_WRITES ? 0 : UINT32_MAX,
              before, behind, layout != hdi_epoch_layout(w->hazards, behind)};
    if (!s.needs_layout && before && before->queue_mask != behind->queue_mask)
        s.needs_layout = discards_for_family(w, &s);
    return s;
}

/* Of what another queue has used before, alone or with this one. */
static HDI_APART void after_several(work *w, const resource *of, uint32_t seg, const hdi_epoch *before,
                                    const hdi_epoch *behind)
{
    const step s = make_step(w, of, seg, before, behind);
    uint32_t queue = (uint32_t)__builtin_ctz(behind->queue_mask), mask = before->queue_mask, slot = behind->first;
    uint32_t limit = w->slot_pos[slot], low;
    uint64_t stages = kind_of(w, behind)->dst_stages;
    hdi_side from = {.first = HDI_NONE};
    if (!(mask & (mask - 1))) { /* mostly */
        low = rely(w, queue, (uint32_t)__builtin_ctz(mask), w->slot_pos[before->last], limit, stages);
    } else {
        hdi_side sides[HD_MAX_QUEUES];
        hdi_find_sides(w, before, sides);
        from = sides[queue];
        low = from.first == HDI_NONE ? 0 : behind_pos(w, queue, from.last);
        low = after_others(w, sides, mask, queue, limit, low, stages | from.stages);
    }
    if (from.first == HDI_NONE) {
        if (!s.needs_layout) /* from other queues alone: the semaphore has done it */
            return;
        from.stages = stages; /* chains with the semaphore wait */
    }
    interval at = {queue, low, before_slot(w, slot)};
    cause why = {hdi_step_reason(before->flags, behind->flags), w->slot_pass[slot]};
    scopes does = {made(w, from.stages, from.access & HDI_WRITE_BITS, s.layout, 0), wanted_by(w, behind)};
    if (s.needs_layout)
        ask(w, of, seg, at, does, why);
    else
        ask_global(w, of->res, at, 0, does, why);
}

/* Stages and accesses of everybody who comes next, as one queue's barrier can name them, and the layout that is theirs:
 * the others stand behind the semaphore, which ALL_COMMANDS reaches; the host has a stage of its own. */
static HDI_INLINE scope everybody(work *w, const step *s, uint32_t queue, const hdi_side *behind)
{
    uint64_t stages = behind[queue].stages, access = behind[queue].access;
    uint32_t others = s->behind->queue_mask & ~(1u << queue), host = w->queues->host;
    if (host != HDI_NONE && others >> host & 1 && s->behind->flags & HDI_EPOCH_READS) { /* a host write only waits */
        stages |= behind[host].stages;
        access |= behind[host].access;
        others &= ~(1u << host);
    }
    if (others || s->behind->flags & HDI_EPOCH_FINAL)
        stages |= HDI_STAGE_ALL_COMMANDS;
    return made(w, stages, access, hdi_epoch_layout(w->hazards, s->behind), s->keeps);
}

/* The users behind a step on other queues count on semaphores for what was done on one. */
static HDI_INLINE void others_rely(const work *w, const hdi_side *behind, uint32_t mask, uint32_t queue, uint32_t pos)
{
    for (mask &= ~(1u << queue); mask; mask &= mask - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(mask);
        rely(w, k, queue, pos, behind[k].first, behind[k].stages);
    }
}

static void at_producer(work *w, const step *s)
{
    uint32_t queue = (uint32_t)__builtin_ctz(s->before->queue_mask), host = w->queues->host;
    uint32_t slot = s->before->last, mask = s->behind->queue_mask;
    hdi_side behind[HD_MAX_QUEUES];
    hdi_find_sides(w, s->behind, behind);
    const hdi_side *own = &behind[queue];
    interval at = {queue, behind_slot(w, slot), submit_end(w, slot)};
    const hdi_kind *from = kind_of(w, s->before);
    others_rely(w, behind, mask, queue, w->slot_pos[slot]);
    if (s->needs_layout) {
        uint32_t high = own->first == HDI_NONE ? at.high : before_pos(w, queue, own->first);
        at.high = high < at.high ? high : at.high;
        ask(w, s->of, s->seg, at, (scopes){left_by(w, s->before), everybody(w, s, queue, behind)}, cause_of(w, s));
        return;
    }
    if (own->first != HDI_NONE) {
        scopes does = {left_by(w, s->before), made(w, own->stages, own->access, 0, 0)};
        ask_global(w, s->of->res, (interval){queue, at.low, before_pos(w, queue, own->first)}, 0, does,
                   (cause){reason_of(s), w->slot_pass[slot_at(w, queue, own->first)]});
    }
    /* A host write only waits. */
    if (host != HDI_NONE && mask >> host & 1 && from->src_access && s->behind->flags & HDI_EPOCH_READS) {
        scopes does = {left_by(w, s->before), made(w, behind[host].stages, behind[host].access, 0, 0)};
        ask_global(w, s->of->res, at, 0, does,
                   (cause){reason_of(s), w->slot_pass[slot_at(w, host, behind[host].first)]});
    }
}

/* Release and acquire. Who comes reads: the layout before counts. */
static HDI_APART void transfer(work *w, const resource *of, uint32_t seg, const hdi_epoch *before,
                               const hdi_epoch *behind)
{
    uint32_t mask = before->queue_mask, source = (uint32_t)__builtin_ctz(mask);
    uint32_t target = (uint32_t)__builtin_ctz(behind->queue_mask), first = behind->first, low;
    uint32_t layout = kind_of(w, before)->layout;
    const hdi_kind *to = kind_of(w, behind);
    const uint64_t all = HDI_STAGE_ALL_COMMANDS;
    scopes gives = {left_by(w, before), made(w, all, 0, to->layout, UINT32_MAX)},
           takes = {made(w, to->dst_stages, 0, layout, 0), wanted_by(w, behind)};
    move by = {source, target};
    uint32_t limit = w->slot_pos[first], pass = w->slot_pass[first];
    interval give = {source, 0, 0};
    if (HDI_LIKELY(!(mask & (mask - 1)))) {
        give.low = behind_slot(w, before->last);
        give.high = submit_end(w, before->last);
        low = rely(w, target, source, w->slot_pos[before->last], limit, all);
    } else {
        hdi_side sides[HD_MAX_QUEUES];
        hdi_find_sides(w, before, sides);
        gives.from = made(w, sides[source].stages, sides[source].access & HDI_WRITE_BITS, layout, 0);
        give.low = behind_pos(w, source, sides[source].last);
        give.high = submit_end(w, slot_at(w, source, sides[source].last));
        low = after_others(w, sides, mask, target, limit, 0, all);
    }
    ask_move(w, of, seg, give, by, gives, (cause){HD_REASON_RELEASE, pass});
    ask_move(w, of, seg, (interval){target, low, before_slot(w, first)}, by, takes,
             (cause){HD_REASON_ACQUIRE, pass});
}

static void at_extra(work *w, const step *s)
{
    uint32_t slot = s->behind->extra, queue = w->slot_queue[slot], pos = w->slot_pos[slot], low = 0;
    hdi_side behind[HD_MAX_QUEUES];
    hdi_find_sides(w, s->behind, behind);
    scope from, to = everybody(w, s, queue, behind);
    others_rely(w, behind, s->behind->queue_mask, queue, pos);
    if (s->before) {
        hdi_side sides[HD_MAX_QUEUES];
        hdi_find_sides(w, s->before, sides);
        const hdi_side *own = &sides[queue];
        uint64_t stages = own->stages;
        if (own->first != HDI_NONE)
            low = behind_pos(w, queue, own->last);
        else
            stages = to.stages & ~HDI_STAGE_HOST;
        low = after_others(w, sides, s->before->queue_mask, queue, pos, low, HDI_STAGE_ALL_COMMANDS);
        from = made(w, stages, own->access & HDI_WRITE_BITS, s->layout, 0);
    } else {
        from = made(w, 0, 0, s->layout, 0);
    }
    ask(w, s->of, s->seg, (interval){queue, low, 2 * pos}, (scopes){from, to}, cause_of(w, s));
}

/* Semaphores do it all. */
static void at_none(work *w, const step *s)
{
    hdi_side before[HD_MAX_QUEUES], behind[HD_MAX_QUEUES];
    if (!s->before)
        return;
    hdi_find_sides(w, s->before, before);
    hdi_find_sides(w, s->behind, behind);
    for (uint32_t mask = s->before->queue_mask; mask; mask &= mask - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(mask);
        others_rely(w, behind, s->behind->queue_mask, q, before[q].last);
    }
}

/* What several queues are before or behind, or the host, or the end of the frame. */
static HDI_APART void shared_step(work *w, const resource *of, uint32_t seg, const hdi_epoch *before,
                                  const hdi_epoch *behind)
{
    const step s = make_step(w, of, seg, before, behind);
    switch (behind->place) {
    case HDI_PLACE_PRODUCER:
        at_producer(w, &s);
        break;
    case HDI_PLACE_EXTRA:
        at_extra(w, &s);
        break;
    default:
        at_none(w, &s);
        break;
    }
}

/* A step that is not just before the first use of one queue. */
static HDI_APART void other_step(work *w, const resource *of, uint32_t seg, const hdi_epoch *before,
                                 const hdi_epoch *behind)
{
    if (behind->place == HDI_PLACE_TRANSFER)
        transfer(w, of, seg, before, behind);
    else
        shared_step(w, of, seg, before, behind);
}

/* Both are attachments of one rendering scope, whose accesses are in order as they are. */
static HDI_INLINE bool in_one_scope(const work *w, const hdi_epoch *before, const hdi_epoch *behind)
{
    uint32_t a = before->first, b = behind->first;
    return w->slot_queue[a] == w->slot_queue[b] && w->slot_first[a] == w->slot_first[b];
}

static HDI_INLINE void visit_steps(work *w, const resource *of, uint32_t seg, const hdi_epoch *epoch,
                                   const hdi_epoch *end, bool merges)
{
    if (epoch->place == HDI_PLACE_CONSUMER)
        first_use(w, of, seg, epoch, merges);
    else
        other_step(w, of, seg, NULL, epoch);
    for (const hdi_epoch *before = epoch++; epoch < end; before = epoch++) {
        bool consumer = epoch->place == HDI_PLACE_CONSUMER;
        if (merges && consumer && in_one_scope(w, before, epoch))
            continue;
        if (!consumer)
            other_step(w, of, seg, before, epoch);
        else if (before->queue_mask == epoch->queue_mask)
            next_use(w, of, seg, epoch);
        else
            after_several(w, of, seg, before, epoch);
    }
}

static HDI_INLINE void visit_segment(work *w, uint32_t seg, const hdi_epoch *epoch, const hdi_epoch *end, bool merges)
{
    uint32_t res = w->frozen->seg_res[seg];
    const uint32_t *segs = &w->frozen->res_seg_begin[res];
    uint32_t flags = w->res_flags[res], count = segs[1] - segs[0];
    if (!merges && count == 1 && !(flags & (HDI_RES_BUFFER | HDI_RES_LEVELS | HDI_RES_EXTERNAL | HDI_RES_HISTORY))) {
        const resource of = {.res = res, .is_image = true};
        visit_steps(w, &of, seg, epoch, end, false);
        return;
    }
    resource of = {.res = res, .is_image = !(flags & HDI_RES_BUFFER), .several = count > 1};
    of.odd = of.several || flags & (HDI_RES_BUFFER | HDI_RES_LEVELS);
    if (HDI_UNLIKELY(of.is_image && flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY)))
        of.layout = hdi_initial_layout(w->decl, w->hazards, of.res);
    visit_steps(w, &of, seg, epoch, end, merges);
}

/* ---- a range ---- */

static HDI_INLINE void visit_segments(work *w, uint32_t begin, uint32_t end, bool merges)
{
    const uint32_t *epoch_begin = w->hazards->seg_epoch_begin, *epoch_end = w->hazards->seg_epoch_end;
    bool fetches = !WHOLE && w->fetches;
    for (uint32_t seg = begin; seg < end; seg++) {
        if (fetches)
            fetch_tenants(w, seg + AHEAD < end ? seg + AHEAD : seg);
        if (epoch_begin[seg] < epoch_end[seg])
            visit_segment(w, seg, w->epochs + epoch_begin[seg], w->epochs + epoch_end[seg], merges);
    }
}

void VISIT_SEGMENT(work *w, uint32_t seg)
{
    const uint32_t *begin = w->hazards->seg_epoch_begin, *end = w->hazards->seg_epoch_end;
    visit_segment(w, seg, w->epochs + begin[seg], w->epochs + end[seg], false);
}

void VISIT_ODD_STEP(work *w, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *behind)
{
    const resource of = {.res = res, .is_image = !(odd & HDI_RES_BUFFER), .several = odd & HDI_SEVERAL, .odd = odd};
    if (behind->place == HDI_PLACE_CONSUMER)
        after_several(w, &of, seg, behind - 1, behind);
    else
        other_step(w, &of, seg, behind - 1, behind);
}

/* Of requests that were made without a look at it: where each lies, and how many in each region. */
static inline void tell_regions(const work *w, hdi_request *item, uint32_t count, uint32_t *in_region)
{
    memset(in_region, 0, w->hazards->region_count * sizeof(*in_region));
    for (hdi_request *end = item + count; item < end; item++) {
        item->region = w->place_region[item->place];
        in_region[item->region]++;
    }
}

HDI_SCALAR void VISIT_STEPS(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work w = *(const work *)user;
    hdi_request_list *list = &w.requests->list[part];
    hdi_request *item = w.item = w.requests->item + list->begin;
    if (WHOLE) {
        w.barrier = w.out->barrier + list->begin;
    } else {
        w.asked = w.out->asked + list->begin;
        w.in_region = list->region_begin;
        memset(w.in_region, 0, w.hazards->region_count * sizeof(*w.in_region));
        w.made_begin = part * w.made_slots;
        w.made += w.made_begin;
        memset(w.made, 0xff, w.made_slots * sizeof(*w.made));
    }
    if (w.merges)
        visit_segments(&w, begin, end, true);
    else if (!w.has_extras)
        VISIT_LEAN(&w, begin, end);
    else
        visit_segments(&w, begin, end, false);
    list->count = (uint32_t)(w.item - item);
    list->full = w.full;
    if (!w.requests->order)
        return;
    if (WHOLE)
        tell_regions(&w, item, list->count, list->region_begin);
    hdi_sort_requests(w.hazards->region_count, w.requests->item, w.requests->order, list);
}
