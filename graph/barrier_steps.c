#include "barrier_steps.h"

#include "hints.h"

/* Which barriers the steps of a range of segments need, and between which two points of its queue each must stand.
 * Nearly all steps stand before the first use of one queue; what else there is stays out of their way. O(entries). */

typedef hdi_step_work work;

/* What an epoch does on one queue. first > last: nothing. */
typedef struct side {
    uint64_t stages, access;
    uint32_t first, last; /* places on the queue */
} side;

static void add_to_side(const work *w, uint32_t slot, uint32_t use, uint32_t queue, side *s)
{
    const hdi_access_info *access = &w->decl->access[w->decl->use_access[use]];
    uint32_t pos = w->hazards->slot_pos[slot];
    if (w->hazards->slot_queue[slot] != queue)
        return;
    s->stages |= access->stages;
    s->access |= access->access;
    s->last = s->first == HDI_NONE || pos > s->last ? pos : s->last;
    s->first = pos < s->first ? pos : s->first;
}

static HDI_APART side side_of_shared(const work *w, const hdi_epoch *epoch, uint32_t queue)
{
    const hdi_hazards *hazards = w->hazards;
    side s = {.first = HDI_NONE};
    if (!(epoch->queue_mask >> queue & 1))
        return s;
    add_to_side(w, epoch->first, epoch->use, queue, &s);
    for (uint32_t i = epoch->more; i != HDI_NONE; i = hazards->entry[i].older)
        add_to_side(w, hazards->entry[i].slot, hazards->entry[i].use, queue, &s);
    s.stages = hdi_stages_or_all(s.stages);
    return s;
}

static HDI_INLINE const hdi_kind *kind_of(const work *w, const hdi_epoch *epoch)
{
    return &w->kinds[epoch->kind];
}

static HDI_INLINE side side_of(const work *w, const hdi_epoch *epoch, uint32_t queue)
{
    if (epoch->queue_mask != 1u << queue)
        return side_of_shared(w, epoch, queue);
    const hdi_kind *kind = kind_of(w, epoch);
    return (side){kind->dst_stages, kind->dst_access, w->slot_pos[epoch->first], w->slot_pos[epoch->last]};
}

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
    return 2 * (w->synced->submit[w->synced->slot_submit[slot]].end_pos - 1) + 1;
}

/* Stages of a queue count on the semaphore that first told it of a place on another one, known at the latest at
 * `limit`. Returns the point where it did. */
static HDI_INLINE uint32_t rely(const work *w, uint32_t queue, uint32_t other, uint32_t pos, uint32_t limit,
                                uint64_t stages)
{
    uint32_t known = w->known[queue][w->queue_begin[other] + pos];
    known = known < limit ? known : limit;
    hdi_count_on(&w->slot_wait_stages[slot_at(w, queue, known)], stages, w->alone);
    return 2 * known;
}

/* Everything of the epoch before that is on other queues is known from some point on; stages count on that. */
static HDI_APART uint32_t after_others(const work *w, const hdi_epoch *before, uint32_t queue, uint32_t limit,
                                       uint32_t low, uint64_t stages)
{
    for (uint32_t mask = before->queue_mask & ~(1u << queue); mask; mask &= mask - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(mask);
        uint32_t last =
            before->queue_mask == 1u << other ? w->slot_pos[before->last] : side_of_shared(w, before, other).last;
        uint32_t point = rely(w, queue, other, last, limit, stages);
        low = point > low ? point : low;
    }
    return low;
}

/* What the steps of a segment have in common. */
typedef struct resource {
    uint32_t res, layout;   /* layout: at the frame's start */
    bool is_image, several; /* several segments */
} resource;

/* One step of one segment. */
typedef struct step {
    const resource *of;
    uint32_t seg, old_layout;
    const hdi_epoch *before, *behind; /* before: null at the first use */
    bool needs_layout;
} step;

static HDI_INLINE uint32_t reason_of(const step *s)
{
    if (s->behind->flags & HDI_EPOCH_FINAL)
        return HD_REASON_FINAL_STATE;
    return s->before ? hdi_step_reason(s->before->flags, s->behind->flags) : HD_REASON_FIRST_USE;
}

static HDI_INLINE uint32_t pass_of(const work *w, const hdi_epoch *epoch)
{
    return epoch->flags & HDI_EPOCH_FINAL ? HDI_NONE : w->slot_pass[epoch->first];
}

/* Where a barrier must stand. */
typedef struct interval {
    uint32_t queue, low, high;
} interval;

static HDI_INLINE void request(work *w, interval at, uint32_t kind)
{
    hdi_request *r = w->next++;
    r->low = at.low;
    r->high = at.high;
    r->queue = (uint8_t)at.queue;
    r->kind = (uint8_t)kind;
}

/* Asks for a global barrier. */
static HDI_INLINE void ask_global(work *w, uint32_t res, interval at, uint32_t kind, hdi_scopes does, uint32_t reason,
                                  uint32_t pass)
{
    hd_plan_barrier *b = w->next_barrier++;
    request(w, at, kind | HDI_GLOBAL);
    hdi_write_barrier(b, does, HD_NONE, 0, 0, reason, pass, res);
    b->range = (hd_range){.offset = 0};
}

/* Asks for one of an image's segment. */
static HDI_INLINE void ask_image(work *w, const resource *of, uint32_t seg, interval at, uint32_t kind, hdi_scopes does,
                                 uint32_t old_layout, uint32_t new_layout, uint32_t reason, uint32_t pass)
{
    hd_plan_barrier *b = w->next_barrier++;
    request(w, at, kind | (of->several ? HDI_SEVERAL : 0));
    hdi_write_barrier(b, does, of->res, old_layout, new_layout, reason, pass, of->res);
    if (of->several) {
        b->range = w->frozen->seg_range[seg];
        return;
    }
    const hdi_res_info *info = &w->res_info[of->res];
    b->range.mip_base = 0;
    b->range.mip_count = (uint16_t)info->mips;
    b->range.layer_base = 0;
    b->range.layer_count = info->layers;
    b->range.aspect = 0;
}

/* Asks for one of the segment, with a layout or an owner that changes. */
static hd_plan_barrier *ask(work *w, const step *s, interval at, uint32_t kind, hdi_scopes does, uint32_t reason,
                            uint32_t pass)
{
    hd_plan_barrier *b = w->next_barrier++;
    request(w, at, kind | (s->of->several ? HDI_SEVERAL : 0));
    hdi_write_barrier(b, does, s->of->res, s->old_layout, hdi_epoch_layout(w->hazards, s->behind), reason, pass,
                      s->of->res);
    b->range = hdi_seg_range(w->decl, w->frozen, s->seg);
    return b;
}

/* ---- memory that changes hands ---- */

typedef struct handover {
    uint64_t stages, writes; /* of former tenants on this queue */
    uint32_t low;            /* earliest point for whoever comes after all of them */
    uint32_t flush_low;
    bool others; /* some were on other queues */
} handover;

/* Of tenants on other queues: what the barrier chains with counts on semaphores as well. */
static HDI_APART uint32_t after_other_tenants(const work *w, uint32_t res, uint32_t queue, uint32_t limit,
                                              uint64_t stages, uint32_t low)
{
    uint32_t own = 1u << queue, all = (1u << w->queue_count) - 1;
    for (uint32_t t = w->res_tenants[res].begin, end = w->res_tenants[res].end; t < end; t++) {
        uint32_t tenant = w->tenant[t], mask = w->res_queues[tenant];
        const hdi_stay *stay = &w->stay[(size_t)tenant * w->queue_count];
        if (mask == own)
            continue;
        if (mask & (mask - 1) || !(mask & w->gpu_mask)) /* it may have an extra slot on any */
            mask = all & ~own;
        for (; mask; mask &= mask - 1) {
            uint32_t q = (uint32_t)__builtin_ctz(mask);
            if (stay[q].first == HDI_NONE)
                continue;
            uint32_t known = rely(w, queue, q, stay[q].last, limit, stages);
            low = known > low ? known : low;
        }
    }
    return low;
}

/* stages: of who comes now, from `slot` on. Who is on one other GPU queue alone does nothing on this one. */
static HDI_INLINE handover tenants_of(const work *w, uint32_t res, uint32_t queue, uint32_t slot, uint64_t stages,
                                      bool merges)
{
    handover h = {0};
    uint32_t own = 1u << queue;
    for (uint32_t t = w->res_tenants[res].begin, end = w->res_tenants[res].end; t < end; t++) {
        uint32_t tenant = w->tenant[t], mask = w->res_queues[tenant];
        const hdi_stay *stay = &w->stay[(size_t)tenant * w->queue_count + queue];
        if (mask != own) {
            h.others = true;
            if ((!(mask & (mask - 1)) && mask & w->gpu_mask) || stay->first == HDI_NONE)
                continue;
        }
        uint32_t low = 2 * (merges ? w->slot_last[slot_at(w, queue, stay->last)] : stay->last) + 1;
        h.low = low > h.low ? low : h.low;
        h.stages |= stay->tail_stages;
        h.writes |= stay->tail_writes;
        if (stay->tail_writes)
            h.flush_low = low > h.flush_low ? low : h.flush_low;
    }
    h.writes &= HDI_WRITE_BITS;
    if (h.others)
        h.low = after_other_tenants(w, res, queue, w->slot_pos[slot], stages | h.stages, h.low);
    return h;
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
        interval flush = {queue, h.flush_low, at.high - 1};
        ask_global(w, of->res, flush, HDI_EARLY, (hdi_scopes){h.stages, h.writes, h.stages, 0}, HD_REASON_ALIAS, pass);
        kind = HDI_FOLLOWS;
    }
    if (h.others && !h.stages)
        h.stages = stages; /* chains with the semaphore wait */
    hdi_scopes does = {h.stages, of->is_image ? 0 : h.writes, stages, to->dst_access};
    uint32_t reason = taken ? HD_REASON_ALIAS : HD_REASON_FIRST_USE;
    if (needs_layout)
        ask_image(w, of, seg, at, kind, does, of->layout & to->keeps, to->layout, reason, pass);
    else
        ask_global(w, of->res, at, kind, does, reason, pass);
}

/* ---- one function a place ---- */

/* Behind a use of the same queue alone. */
static HDI_INLINE void next_use(work *w, const resource *of, uint32_t seg, const hdi_epoch *behind)
{
    const hdi_epoch *before = behind - 1;
    const hdi_kind *from = kind_of(w, before), *to = kind_of(w, behind);
    uint32_t reason = hdi_step_reason(from->flags, to->flags), pass = w->slot_pass[behind->first];
    interval at = {(uint32_t)__builtin_ctz(behind->queue_mask), behind_slot(w, before->last),
                   before_slot(w, behind->first)};
    hdi_scopes does = hdi_step_scopes(from, to);
    if (from->layout == to->layout)
        ask_global(w, of->res, at, 0, does, reason, pass);
    else
        ask_image(w, of, seg, at, 0, does, from->layout & to->keeps, to->layout, reason, pass);
}

/* Of what another queue has used before, alone or with this one. */
static HDI_APART void after_several(work *w, const step *s)
{
    const hdi_epoch *behind = s->behind;
    uint32_t queue = (uint32_t)__builtin_ctz(behind->queue_mask), slot = behind->first;
    uint64_t stages = kind_of(w, behind)->dst_stages;
    side from = {.first = HDI_NONE};
    if (s->before->queue_mask >> queue & 1)
        from = side_of_shared(w, s->before, queue);
    uint32_t low = from.first == HDI_NONE ? 0 : behind_pos(w, queue, from.last);
    interval at = {queue, after_others(w, s->before, queue, w->slot_pos[slot], low, stages | from.stages),
                   before_slot(w, slot)};
    if (from.first == HDI_NONE) {
        if (!s->needs_layout) /* from other queues alone: the semaphore has done it */
            return;
        from.stages = stages; /* chains with the semaphore wait */
    }
    hdi_scopes does = {from.stages, from.access & HDI_WRITE_BITS, stages, kind_of(w, behind)->dst_access};
    if (s->needs_layout)
        ask(w, s, at, 0, does, hdi_step_reason(s->before->flags, behind->flags), w->slot_pass[slot]);
    else
        ask_global(w, s->of->res, at, 0, does, hdi_step_reason(s->before->flags, behind->flags), w->slot_pass[slot]);
}

/* Stages and accesses of everybody who comes next, as one queue's barrier can name them: the others stand behind the
 * semaphore, which ALL_COMMANDS reaches; the host has a stage of its own. */
static void everybody(const work *w, const step *s, uint32_t queue, hdi_scopes *does)
{
    side own = side_of(w, s->behind, queue);
    does->dst_stages = own.stages;
    does->dst_access = own.access;
    uint32_t others = s->behind->queue_mask & ~(1u << queue);
    uint32_t host = w->queues->host;
    if (host != HDI_NONE && others >> host & 1 && s->behind->flags & HDI_EPOCH_READS) { /* a host write only waits */
        side to = side_of(w, s->behind, host);
        does->dst_stages |= to.stages;
        does->dst_access |= to.access;
        others &= ~(1u << host);
    }
    if (others || s->behind->flags & HDI_EPOCH_FINAL)
        does->dst_stages |= HDI_STAGE_ALL_COMMANDS;
}

/* The users behind a step on other queues count on semaphores for what was done on one. */
static void others_rely(const work *w, const hdi_epoch *behind, uint32_t queue, uint32_t pos)
{
    for (uint32_t mask = behind->queue_mask & ~(1u << queue); mask; mask &= mask - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(mask);
        side to = side_of(w, behind, k);
        rely(w, k, queue, pos, to.first, to.stages);
    }
}

static void at_producer(work *w, const step *s)
{
    uint32_t queue = (uint32_t)__builtin_ctz(s->before->queue_mask), host = w->queues->host;
    uint32_t slot = s->before->last;
    side own = side_of(w, s->behind, queue);
    interval at = {queue, behind_slot(w, slot), submit_end(w, slot)};
    const hdi_kind *from = kind_of(w, s->before);
    hdi_scopes does = {.src_stages = from->src_stages, .src_access = from->src_access};
    others_rely(w, s->behind, queue, w->slot_pos[slot]);
    if (s->needs_layout) {
        uint32_t high = own.first == HDI_NONE ? at.high : before_pos(w, queue, own.first);
        everybody(w, s, queue, &does);
        at.high = high < at.high ? high : at.high;
        ask(w, s, at, 0, does, reason_of(s), pass_of(w, s->behind));
        return;
    }
    if (own.first != HDI_NONE) {
        does.dst_stages = own.stages;
        does.dst_access = own.access;
        ask_global(w, s->of->res, (interval){queue, at.low, before_pos(w, queue, own.first)}, 0, does, reason_of(s),
                   w->slot_pass[slot_at(w, queue, own.first)]);
    }
    /* A host write only waits. */
    if (host != HDI_NONE && s->behind->queue_mask >> host & 1 && does.src_access &&
        s->behind->flags & HDI_EPOCH_READS) {
        side to = side_of(w, s->behind, host);
        does.dst_stages = to.stages;
        does.dst_access = to.access;
        ask_global(w, s->of->res, at, 0, does, reason_of(s), w->slot_pass[slot_at(w, host, to.first)]);
    }
}

static void transfer(work *w, const step *s)
{
    uint32_t source = (uint32_t)__builtin_ctz(s->before->queue_mask);
    uint32_t target = (uint32_t)__builtin_ctz(s->behind->queue_mask);
    uint32_t first = s->behind->first, pass = w->slot_pass[first];
    uint64_t stages = kind_of(w, s->behind)->dst_stages, all = HDI_STAGE_ALL_COMMANDS;
    side from = side_of(w, s->before, source);
    hdi_scopes gives = {from.stages, from.access & HDI_WRITE_BITS, all, 0};
    hdi_scopes takes = {stages, 0, stages, kind_of(w, s->behind)->dst_access};
    interval at = {source, behind_pos(w, source, from.last), submit_end(w, slot_at(w, source, from.last))};
    hd_plan_barrier *release = ask(w, s, at, HDI_MOVES, gives, HD_REASON_RELEASE, pass);
    at = (interval){target, after_others(w, s->before, target, w->slot_pos[first], 0, all), before_slot(w, first)};
    hd_plan_barrier *acquire = ask(w, s, at, HDI_MOVES, takes, HD_REASON_ACQUIRE, pass);
    release->src_family = acquire->src_family = w->queues->family[source];
    release->dst_family = acquire->dst_family = w->queues->family[target];
}

static void at_extra(work *w, const step *s)
{
    uint32_t slot = s->behind->extra, queue = w->hazards->slot_queue[slot], pos = w->slot_pos[slot], low = 0;
    hdi_scopes does = {.src_stages = 0};
    everybody(w, s, queue, &does);
    others_rely(w, s->behind, queue, pos);
    if (s->before) {
        side from = side_of(w, s->before, queue);
        does.src_stages = from.stages;
        does.src_access = from.access & HDI_WRITE_BITS;
        if (from.first != HDI_NONE)
            low = behind_pos(w, queue, from.last);
        low = after_others(w, s->before, queue, pos, low, HDI_STAGE_ALL_COMMANDS);
        if (from.first == HDI_NONE)
            does.src_stages = does.dst_stages & ~HDI_STAGE_HOST;
    }
    ask(w, s, (interval){queue, low, 2 * pos}, 0, does, reason_of(s), pass_of(w, s->behind));
}

/* Wherever it is but before the first use of one queue. */
static void at_another(work *w, const step *s)
{
    switch (s->behind->place) {
    case HDI_PLACE_PRODUCER:
        at_producer(w, s);
        break;
    case HDI_PLACE_TRANSFER:
        transfer(w, s);
        break;
    case HDI_PLACE_EXTRA:
        at_extra(w, s);
        break;
    default: /* semaphores do it all */
        for (uint32_t mask = s->before ? s->before->queue_mask : 0; mask; mask &= mask - 1) {
            uint32_t q = (uint32_t)__builtin_ctz(mask);
            others_rely(w, s->behind, q, side_of(w, s->before, q).last);
        }
        break;
    }
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

/* A step that is more than one from one use of a queue to the next, or the first use of one. */
static HDI_APART void other_step(work *w, const resource *of, uint32_t seg, const hdi_epoch *before,
                                 const hdi_epoch *behind)
{
    uint32_t layout = before ? kind_of(w, before)->layout : of->layout; /* a buffer has none */
    step s = {of,     seg,    behind->flags == HDI_EPOCH_WRITES ? HDI_LAYOUT_UNDEFINED : layout,
              before, behind, layout != hdi_epoch_layout(w->hazards, behind)};
    if (!s.needs_layout && before && before->queue_mask != behind->queue_mask)
        s.needs_layout = discards_for_family(w, &s);
    if (behind->place == HDI_PLACE_CONSUMER)
        after_several(w, &s);
    else
        at_another(w, &s);
}

/* Both are attachments of one rendering scope, whose accesses are in order as they are. */
static HDI_INLINE bool in_one_scope(const work *w, const hdi_epoch *before, const hdi_epoch *behind)
{
    uint32_t a = before->first, b = behind->first;
    return w->hazards->slot_queue[a] == w->hazards->slot_queue[b] && w->slot_first[a] == w->slot_first[b];
}

static HDI_INLINE void visit_segment(work *w, uint32_t seg, const hdi_epoch *epoch, const hdi_epoch *end, bool merges)
{
    resource of = {.res = w->frozen->seg_res[seg]};
    const uint32_t *segs = &w->frozen->res_seg_begin[of.res];
    uint32_t flags = w->res_flags[of.res];
    of.is_image = !(flags & HDI_RES_BUFFER);
    of.several = segs[1] - segs[0] > 1;
    of.layout = 0;
    if (HDI_UNLIKELY(of.is_image && flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY)))
        of.layout = hdi_initial_layout(w->decl, w->hazards, of.res);
    if (epoch->place == HDI_PLACE_CONSUMER)
        first_use(w, &of, seg, epoch, merges);
    else
        other_step(w, &of, seg, NULL, epoch);
    for (const hdi_epoch *before = epoch++; epoch < end; before = epoch++) {
        bool consumer = epoch->place == HDI_PLACE_CONSUMER;
        if (merges && consumer && in_one_scope(w, before, epoch))
            continue;
        if (consumer && before->queue_mask == epoch->queue_mask)
            next_use(w, &of, seg, epoch);
        else
            other_step(w, &of, seg, before, epoch);
    }
}

/* ---- a range ---- */

/* What the first use of a segment looks at, all over a table that is long in a long frame. */
static HDI_INLINE void fetch_tenants(const work *w, uint32_t seg)
{
    hdi_tenants of = w->res_tenants[w->frozen->seg_res[seg]];
    for (uint32_t t = of.begin; t < of.end; t++) {
        uint32_t tenant = w->tenant[t], mask = w->res_queues[tenant];
        HDI_FETCH(&w->stay[(size_t)tenant * w->queue_count + (uint32_t)__builtin_ctz(mask | 1u << 15)]);
    }
}

static HDI_INLINE void visit_segments(work *w, uint32_t begin, uint32_t end, bool merges)
{
    enum { AHEAD = 8 };
    const uint32_t *epoch_begin = w->hazards->seg_epoch_begin, *epoch_end = w->hazards->seg_epoch_end;
    for (uint32_t seg = begin; seg < end; seg++) {
        if (w->cuts && seg + AHEAD < end)
            fetch_tenants(w, seg + AHEAD);
        if (epoch_begin[seg] < epoch_end[seg])
            visit_segment(w, seg, w->epochs + epoch_begin[seg], w->epochs + epoch_end[seg], merges);
    }
}

void hdi_visit_steps(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work w = *(const work *)user;
    hdi_request_list *list = &w.requests->list[part];
    hdi_request *first = w.requests->item + list->begin;
    w.next = first;
    w.next_barrier = w.out->barrier + list->begin;
    if (w.merges)
        visit_segments(&w, begin, end, true);
    else
        visit_segments(&w, begin, end, false);
    list->count = (uint32_t)(w.next - first);
    hdi_sort_requests(w.region, w.hazards->region_count, w.requests->item, w.requests->order, list);
}
