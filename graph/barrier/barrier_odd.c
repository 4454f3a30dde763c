#include "barrier_ask.h"

/* Steps that barrier_steps.c does not do itself: in frames that share rendering scopes or have extra slots, first uses;
 * first uses of what comes from outside of the frame; and what is rare, as steps behind uses of several queues and the
 * end of the frame. O(entries of them). Compiled twice, as barrier_ask.h says. */

static HDI_INLINE uint32_t slot_at(const work *w, uint32_t queue, uint32_t pos)
{
    return w->slots[queue][pos];
}

/* Points before and behind a slot or a place, which lie outside the rendering scope that it is in. */
static HDI_INLINE uint32_t before_slot(const work *w, uint32_t slot)
{
    return 2 * w->slot_first[slot];
}

static HDI_INLINE uint32_t before_pos(const work *w, uint32_t queue, uint32_t pos)
{
    return before_slot(w, slot_at(w, queue, pos));
}

static HDI_INLINE uint32_t behind_pos(const work *w, uint32_t queue, uint32_t pos)
{
    return 2 * w->slot_last[slot_at(w, queue, pos)] + 1;
}

/* Everything of the epoch before that is on other queues is known from some point on; stages count on that. */
static uint32_t after_sides(const work *w, const hdi_side *before, uint32_t mask, uint32_t queue, uint32_t limit,
                            uint32_t low, uint64_t stages)
{
    for (mask &= ~(1u << queue); mask; mask &= mask - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(mask);
        uint32_t point = 2 * rely_on(w, queue, other, before[other].last, limit, stages);
        low = point > low ? point : low;
    }
    return low;
}

/* One step of one segment. */
typedef struct step {
    uint32_t res, odd, seg, layout, keeps; /* layout: before it; keeps: all bits; 0: the content is overwritten */
    const hdi_epoch *before, *behind;      /* before: null at the first use */
    bool needs_layout;
} step;

static uint32_t reason_of(const step *s)
{
    if (s->behind->flags & HDI_EPOCH_FINAL)
        return HD_REASON_FINAL_STATE;
    return s->before ? hdi_step_reason(s->before->flags, s->behind->flags) : HD_REASON_FIRST_USE;
}

static cause cause_of(const work *w, const step *s)
{
    bool is_final = s->behind->flags & HDI_EPOCH_FINAL;
    return (cause){reason_of(s), is_final ? HDI_NONE : w->slot_pass[s->behind->first]};
}

/* Where a barrier must stand. */
typedef struct interval {
    uint32_t queue, low, high;
} interval;

static void ask_global(work *w, uint32_t res, interval at, const scopes *does, cause why)
{
    leave_at(w, add_global(w, cursor_of(w), at.low, w->place_begin[at.queue] + at.high, 0, *does, why, res));
}

static void ask_part(work *w, const step *s, interval at, uint32_t kind, const scopes *does, cause why, move by)
{
    leave_at(w, add_part(w, cursor_of(w), at.low, w->place_begin[at.queue] + at.high, kind, *does, why, s->res, s->odd,
                         s->seg, by));
}

/* ---- memory that changes hands ---- */

/* Queues that a former tenant was on. Where there are extra slots it may have one on a queue that does not use it: on
 * any, unless it was on one GPU queue alone. */
static HDI_INLINE uint32_t queues_of(const work *w, uint32_t tenant)
{
    const hdi_stay *stays = &w->stay[(size_t)tenant * w->queue_count];
    uint32_t mask = w->res_queues[tenant];
    bool alone = !(mask & (mask - 1)) && mask & w->gpu_mask;
    for (uint32_t q = 0; HDI_UNLIKELY(w->has_extras) && !alone && q < w->queue_count; q++)
        mask |= (uint32_t)(stays[q].first != HDI_NONE) << q;
    return mask;
}

/* stages: of who comes now, from `slot` on. */
static HDI_INLINE hdi_handover tenants_of(const work *w, uint32_t res, uint32_t queue, uint32_t slot, uint64_t stages)
{
    const uint32_t *begin = w->tenant + w->res_tenants[res].begin, *end = w->tenant + w->res_tenants[res].end;
    const uint32_t own = 1u << queue, limit = w->slot_pos[slot];
    hdi_handover h = {0};
    for (const uint32_t *t = begin; t < end; t++) {
        const hdi_stay *stay = &w->stay[(size_t)*t * w->queue_count + queue];
        uint32_t mask = queues_of(w, *t);
        h.others |= (mask & ~own) != 0;
        if (!(mask & own))
            continue;
        uint32_t behind = behind_pos(w, queue, stay->last);
        h.low = behind > h.low ? behind : h.low;
        if (!(w->res_queues[*t] & own))
            continue;
        h.stages |= stay->tail_stages;
        h.writes |= stay->tail_writes;
        h.flush_low = stay->tail_writes && behind > h.flush_low ? behind : h.flush_low;
    }
    for (const uint32_t *t = begin; h.others && t < end; t++)
        h.low = after_stays(w, &w->stay[(size_t)*t * w->queue_count], queues_of(w, *t) & ~own,
                            &(newcomer){queue, limit, 0}, stages | h.stages, h.low);
    h.writes &= HDI_WRITE_BITS;
    return h;
}

#ifdef HDI_STEPS_WHOLE
hdi_handover hdi_find_handover(const hdi_step_work *w, uint32_t res, uint32_t queue, uint32_t slot, uint64_t stages)
{
    return tenants_of(w, res, queue, slot, stages);
}
#endif

/* The first use, maybe of memory that others had before. An image's barrier covers no writes through other resources,
 * and elements of one command do not chain: pending writes are flushed by a global barrier in a command before. */
static void first_use(work *w, const step *s)
{
    uint32_t queue = (uint32_t)__builtin_ctz(s->behind->queue_mask), slot = s->behind->first, kind = 0;
    uint32_t place = w->place_begin[queue] + before_slot(w, slot), pass = w->slot_pass[slot];
    uint64_t stages = kind_of(w, s->behind)->dst_stages;
    hdi_handover h = tenants_of(w, s->res, queue, slot, stages);
    bool taken = h.stages || h.others, is_image = !(s->odd & HDI_RES_BUFFER);
    if ((!taken && !s->needs_layout) || (!is_image && !h.stages))
        return;
    if (is_image && h.writes) {
        leave_at(w, flush(w, cursor_of(w), h.stages, h.writes, h.flush_low, place, pass, s->res));
        kind = HDI_FOLLOWS;
    }
    if (h.others && !h.stages)
        h.stages = stages; /* chains with the semaphore wait */
    scopes does = {made(w, h.stages, is_image ? 0 : h.writes, s->layout, 0), wanted_by(w, s->behind)};
    cause why = {taken ? HD_REASON_ALIAS : HD_REASON_FIRST_USE, pass};
    interval at = {queue, h.low, before_slot(w, slot)};
    if (s->needs_layout)
        ask_part(w, s, at, kind, &does, why, no_move);
    else
        ask_global(w, s->res, at, &does, why);
}

/* ---- one function a place ---- */

/* An exclusive image that another family overwrites changes hands without a transfer, by a transition from UNDEFINED,
 * also where the layout stays. */
static bool discards_for_family(const work *w, const step *s)
{
    if (s->odd & HDI_RES_BUFFER || s->behind->flags != HDI_EPOCH_WRITES || w->hazards->res_concurrent[s->res])
        return false;
    uint32_t host = w->queues->host == HDI_NONE ? 0 : 1u << w->queues->host;
    uint32_t from = s->before->queue_mask & ~host, to = s->behind->queue_mask & ~host;
    return from && to && w->queues->family[__builtin_ctz(from)] != w->queues->family[__builtin_ctz(to)];
}

static step make_step(const work *w, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *before,
                      const hdi_epoch *behind)
{
    uint32_t layout = 0; /* a buffer has none */
    if (before)
        layout = kind_of(w, before)->layout;
    else if (!(odd & HDI_RES_BUFFER) && w->res_flags[res] & (HDI_RES_EXTERNAL | HDI_RES_HISTORY))
        layout = hdi_initial_layout(w->decl, w->hazards, res);
    step s = {res,
              odd,
              seg,
              layout,
              behind->flags == HDI_EPOCH_WRITES ? 0 : UINT32_MAX,
              before,
              behind,
              layout != hdi_epoch_layout(w->hazards, behind)};
    if (!s.needs_layout && before && before->queue_mask != behind->queue_mask)
        s.needs_layout = discards_for_family(w, &s);
    return s;
}

/* Of what other queues have used before, alone or with this one. */
static void after_several(work *w, const step *s)
{
    uint32_t queue = (uint32_t)__builtin_ctz(s->behind->queue_mask), slot = s->behind->first;
    hdi_side sides[HD_MAX_QUEUES], *from = &sides[queue];
    hdi_find_sides(w, s->before, sides);
    uint64_t stages = kind_of(w, s->behind)->dst_stages, access = from->access & HDI_WRITE_BITS;
    uint32_t low = from->first == HDI_NONE ? 0 : behind_pos(w, queue, from->last);
    low = after_sides(w, sides, s->before->queue_mask, queue, w->slot_pos[slot], low, stages | from->stages);
    if (from->first != HDI_NONE)
        stages = from->stages;
    else if (!s->needs_layout) /* from other queues alone: the semaphore has done it, or the barrier chains with it */
        return;
    interval at = {queue, low, before_slot(w, slot)};
    cause why = {hdi_step_reason(s->before->flags, s->behind->flags), w->slot_pass[slot]};
    scopes does = {made(w, stages, access, s->layout, 0), wanted_by(w, s->behind)};
    if (s->needs_layout)
        ask_part(w, s, at, 0, &does, why, no_move);
    else
        ask_global(w, s->res, at, &does, why);
}

/* Stages and accesses of everybody who comes next, as one queue's barrier can name them, and the layout that is theirs:
 * the others stand behind the semaphore, which ALL_COMMANDS reaches; the host has a stage of its own. */
static scope everybody(work *w, const step *s, uint32_t queue, const hdi_side *behind)
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
static void others_rely(const work *w, const hdi_side *behind, uint32_t mask, uint32_t queue, uint32_t pos)
{
    for (mask &= ~(1u << queue); mask; mask &= mask - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(mask);
        rely_on(w, k, queue, pos, behind[k].first, behind[k].stages);
    }
}

static void at_producer(work *w, const step *s)
{
    uint32_t queue = (uint32_t)__builtin_ctz(s->before->queue_mask), host = w->queues->host;
    uint32_t pos = w->slot_pos[s->before->last], mask = s->behind->queue_mask;
    hdi_side behind[HD_MAX_QUEUES];
    hdi_find_sides(w, s->behind, behind);
    const hdi_side *own = &behind[queue];
    interval at = {queue, behind_pos(w, queue, pos), submit_end(w, queue, pos)}, own_at = at;
    others_rely(w, behind, mask, queue, pos);
    if (own->first != HDI_NONE)
        own_at.high = before_pos(w, queue, own->first);
    if (s->needs_layout) {
        at.high = own_at.high < at.high ? own_at.high : at.high;
        scopes does = {left_by(w, s->before), everybody(w, s, queue, behind)};
        ask_part(w, s, at, 0, &does, cause_of(w, s), no_move);
        return;
    }
    if (own->first != HDI_NONE) {
        scopes does = {left_by(w, s->before), made(w, own->stages, own->access, 0, 0)};
        ask_global(w, s->res, own_at, &does, (cause){reason_of(s), w->slot_pass[slot_at(w, queue, own->first)]});
    }
    /* A host write only waits. */
    if (host != HDI_NONE && mask >> host & 1 && kind_of(w, s->before)->src_access &&
        s->behind->flags & HDI_EPOCH_READS) {
        scopes does = {left_by(w, s->before), made(w, behind[host].stages, behind[host].access, 0, 0)};
        ask_global(w, s->res, at, &does, (cause){reason_of(s), w->slot_pass[slot_at(w, host, behind[host].first)]});
    }
}

/* Release and acquire, behind uses of several queues. Who comes reads: the layout before counts. */
static void transfer(work *w, const step *s)
{
    const uint64_t all = HDI_STAGE_ALL_COMMANDS;
    uint32_t mask = s->before->queue_mask, source = (uint32_t)__builtin_ctz(mask);
    uint32_t target = (uint32_t)__builtin_ctz(s->behind->queue_mask), first = s->behind->first;
    const hdi_kind *to = kind_of(w, s->behind);
    hdi_side sides[HD_MAX_QUEUES];
    hdi_find_sides(w, s->before, sides);
    uint32_t last = sides[source].last, pass = w->slot_pass[first];
    move by = {source, target};
    scopes gives = {made(w, sides[source].stages, sides[source].access & HDI_WRITE_BITS, s->layout, 0),
                    made(w, all, 0, to->layout, UINT32_MAX)},
           takes = {made(w, to->dst_stages, 0, s->layout, 0), wanted_by(w, s->behind)};
    uint32_t low = after_sides(w, sides, mask, target, w->slot_pos[first], 0, all);
    ask_part(w, s, (interval){source, behind_pos(w, source, last), submit_end(w, source, last)}, HDI_MOVES, &gives,
             (cause){HD_REASON_RELEASE, pass}, by);
    ask_part(w, s, (interval){target, low, before_slot(w, first)}, HDI_MOVES, &takes, (cause){HD_REASON_ACQUIRE, pass},
             by);
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
        low = after_sides(w, sides, s->before->queue_mask, queue, pos, low, HDI_STAGE_ALL_COMMANDS);
        from = made(w, stages, own->access & HDI_WRITE_BITS, s->layout, 0);
    } else {
        from = made(w, 0, 0, s->layout, 0);
    }
    scopes does = {from, to};
    ask_part(w, s, (interval){queue, low, 2 * pos}, 0, &does, cause_of(w, s), no_move);
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

static void visit(work *w, const step *s)
{
    switch (s->behind->place) {
    case HDI_PLACE_CONSUMER:
        after_several(w, s);
        break;
    case HDI_PLACE_TRANSFER:
        transfer(w, s);
        break;
    case HDI_PLACE_PRODUCER:
        at_producer(w, s);
        break;
    case HDI_PLACE_EXTRA:
        at_extra(w, s);
        break;
    default:
        at_none(w, s);
        break;
    }
}

void VISIT_FIRST_STEP(work *w, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *behind)
{
    const step s = make_step(w, res, odd, seg, NULL, behind);
    if (HDI_LIKELY(behind->place == HDI_PLACE_CONSUMER))
        first_use(w, &s);
    else
        visit(w, &s);
}

void VISIT_ODD_STEP(work *w, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *behind)
{
    const step s = make_step(w, res, odd, seg, behind - 1, behind);
    visit(w, &s);
}
