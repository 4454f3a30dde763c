#include "barrier_steps.h"

#include "hints.h"
#include "vk_numbers.h"

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

/* Of what nobody else uses. */
static HDI_INLINE side side_of_one(const work *w, const hdi_epoch *epoch)
{
    return (side){hdi_stages_or_all(epoch->stages), epoch->access, w->slot_pos[epoch->first],
                  w->slot_pos[epoch->last]};
}

static HDI_INLINE side side_of(const work *w, const hdi_epoch *epoch, uint32_t queue)
{
    return epoch->queue_mask == 1u << queue ? side_of_one(w, epoch) : side_of_shared(w, epoch, queue);
}

static HDI_INLINE uint32_t slot_at(const work *w, uint32_t queue, uint32_t pos)
{
    return w->queue_slot[w->queue_begin[queue] + pos];
}

/* Points before and behind a place, which lie outside the rendering scope that it is in. */
static HDI_INLINE uint32_t before_pos(const work *w, uint32_t queue, uint32_t pos)
{
    return 2 * (w->slot_first ? w->slot_first[slot_at(w, queue, pos)] : pos);
}

static HDI_INLINE uint32_t behind_pos(const work *w, uint32_t queue, uint32_t pos)
{
    return 2 * (w->slot_last ? w->slot_last[slot_at(w, queue, pos)] : pos) + 1;
}

static uint32_t submit_end(const work *w, uint32_t queue, uint32_t pos)
{
    return 2 * (w->synced->submit[w->synced->slot_submit[slot_at(w, queue, pos)]].end_pos - 1) + 1;
}

/* Stages of a queue count on the semaphore that first told it of a place on another one, known at the latest at
 * `limit`. Returns the point where it did. */
static HDI_INLINE uint32_t rely(const work *w, uint32_t queue, uint32_t other, uint32_t pos, uint32_t limit,
                                   uint64_t stages)
{
    uint32_t known = w->known[(size_t)(w->queue_begin[other] + pos) * w->queue_count + queue];
    known = known < limit ? known : limit;
    hdi_count_on(&w->slot_wait_stages[slot_at(w, queue, known)], stages);
    return 2 * known;
}

/* Everything of the epoch before that is on other queues is known from some point on; stages count on that. */
static HDI_APART uint32_t after_others(const work *w, const hdi_epoch *before, uint32_t queue, uint32_t limit, uint32_t low,
                                  uint64_t stages)
{
    for (uint32_t mask = before->queue_mask & ~(1u << queue); mask; mask &= mask - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(mask);
        uint32_t point = rely(w, queue, other, side_of(w, before, other).last, limit, stages);
        low = point > low ? point : low;
    }
    return low;
}

/* One step of one segment. */
typedef struct step {
    uint32_t seg, res;
    const hdi_epoch *before, *behind;
    uint32_t old_layout; /* UNDEFINED where the content is thrown away */
    bool needs_layout, is_image;
} step;

static HDI_INLINE uint32_t reason_of(const hdi_epoch *before, const hdi_epoch *behind)
{
    if (behind->flags & HDI_EPOCH_FINAL)
        return HD_REASON_FINAL_STATE;
    if (!before)
        return HD_REASON_FIRST_USE;
    if (before->flags & HDI_EPOCH_WRITES)
        return behind->flags & HDI_EPOCH_READS ? HD_REASON_READ_AFTER_WRITE : HD_REASON_WRITE_AFTER_WRITE;
    return behind->flags & HDI_EPOCH_WRITES ? HD_REASON_WRITE_AFTER_READ : HD_REASON_LAYOUT;
}

static HDI_INLINE uint32_t pass_of(const work *w, const hdi_epoch *epoch)
{
    return epoch->flags & HDI_EPOCH_FINAL ? HDI_NONE : w->slot_pass[epoch->first];
}

/* Asks for a barrier; of_segment: with a layout or an owner that changes, else a global one. */
static HDI_INLINE hd_plan_barrier *ask(work *w, const step *s, bool of_segment, uint32_t queue, uint32_t low,
                                          uint32_t high, hdi_scopes does, uint32_t reason, uint32_t pass)
{
    hd_plan_barrier *b = w->next_barrier++;
    hdi_request *r = w->next++;
    r->low = low;
    r->high = high;
    r->barrier = w->next_index++;
    r->queue = (uint8_t)queue;
    r->global = !of_segment;
    r->order = 0;
    b->src_stages = does.src_stages;
    b->src_access = does.src_access;
    b->dst_stages = does.dst_stages;
    b->dst_access = does.dst_access;
    b->src_family = b->dst_family = HD_NONE;
    b->reason = reason;
    b->reason_pass = pass;
    b->reason_resource = s->res;
    if (of_segment) {
        b->resource = s->res;
        b->old_layout = s->old_layout;
        b->new_layout = s->behind->layout;
        b->range = hdi_seg_range(w->decl, w->frozen, s->seg);
    } else {
        b->resource = HD_NONE;
        b->old_layout = b->new_layout = 0;
        b->range = (hd_range){.offset = 0};
    }
    return b;
}

/* ---- memory that changes hands ---- */

typedef struct handover {
    uint64_t stages, writes; /* of former tenants on this queue */
    uint32_t low;            /* earliest point for whoever comes after all of them */
    uint32_t flush_low;
    bool others; /* some were on other queues */
} handover;

static HDI_INLINE void take_from(const work *w, uint32_t queue, const hdi_stay *stay, handover *h)
{
    uint32_t low = behind_pos(w, queue, stay->last);
    h->low = low > h->low ? low : h->low;
    h->stages |= stay->tail_stages;
    h->writes |= stay->tail_writes;
    if (stay->tail_writes)
        h->flush_low = low > h->flush_low ? low : h->flush_low;
}

/* Of tenants on other queues: what the barrier chains with counts on semaphores as well. */
static HDI_APART uint32_t after_other_tenants(const work *w, uint32_t res, uint32_t queue, uint32_t limit, uint64_t stages,
                                         uint32_t low)
{
    for (uint32_t t = w->res_tenants[res].begin, end = w->res_tenants[res].end; t < end; t++) {
        uint32_t tenant = w->tenant[t], mask = w->res_queues[tenant];
        const hdi_stay *stay = &w->stay[(size_t)tenant * w->queue_count];
        if (mask & (mask - 1) || !(mask & w->gpu_mask)) /* it may have an extra slot on any */
            mask = (1u << w->queue_count) - 1;
        for (mask &= ~(1u << queue); mask; mask &= mask - 1) {
            uint32_t q = (uint32_t)__builtin_ctz(mask);
            if (stay[q].first == HDI_NONE)
                continue;
            uint32_t known = rely(w, queue, q, stay[q].last, limit, stages);
            low = known > low ? known : low;
        }
    }
    return low;
}

static HDI_INLINE handover tenants_of(const work *w, uint32_t res, uint32_t queue, uint32_t limit, uint64_t stages)
{
    handover h = {0};
    for (uint32_t t = w->res_tenants[res].begin, end = w->res_tenants[res].end; t < end; t++) {
        uint32_t tenant = w->tenant[t];
        h.others |= w->res_queues[tenant] != 1u << queue;
        const hdi_stay *stay = &w->stay[(size_t)tenant * w->queue_count + queue];
        if (stay->first != HDI_NONE)
            take_from(w, queue, stay, &h);
    }
    h.writes &= HDI_WRITE_BITS;
    if (h.others)
        h.low = after_other_tenants(w, res, queue, limit, stages | h.stages, h.low);
    return h;
}

/* The first use, maybe of memory that others had before. An image's barrier covers no writes through other resources,
 * and elements of one command do not chain: pending writes are flushed by a global barrier in a command before. */
static HDI_INLINE void first_use(work *w, const step *s, uint32_t queue, const side *to)
{
    uint32_t high = before_pos(w, queue, to->first), pass = w->slot_pass[s->behind->first];
    handover h = tenants_of(w, s->res, queue, to->first, to->stages);
    bool taken = h.stages || h.others;
    if (!taken && !s->needs_layout)
        return;
    hdi_scopes does = {h.stages, s->is_image ? 0 : h.writes, to->stages, to->access};
    if (!s->is_image && !h.stages)
        return;
    bool flushes = s->is_image && h.writes;
    if (flushes) {
        ask(w, s, false, queue, h.flush_low, high - 1, (hdi_scopes){h.stages, h.writes, h.stages, 0}, HD_REASON_ALIAS,
            pass);
        w->next[-1].order = HDI_EARLY;
    }
    if (h.others && !h.stages)
        does.src_stages = to->stages; /* chains with the semaphore wait */
    ask(w, s, s->needs_layout, queue, h.low, high, does, taken ? HD_REASON_ALIAS : reason_of(NULL, s->behind), pass);
    w->next[-1].order = flushes ? HDI_FOLLOWS : 0;
}

/* ---- one function a place ---- */

/* Both are attachments of one rendering scope, whose accesses are in order as they are. */
static HDI_INLINE bool in_one_scope(const work *w, const step *s)
{
    if (!w->slot_first)
        return false;
    uint32_t before = s->before->first, behind = s->behind->first;
    return w->hazards->slot_queue[before] == w->hazards->slot_queue[behind] &&
           w->slot_first[before] == w->slot_first[behind];
}

/* Of what another queue has used before, alone or with this one. */
static HDI_APART void after_several(work *w, const step *s, uint32_t queue, const side *to)
{
    side from = side_of(w, s->before, queue);
    uint32_t low = from.first == HDI_NONE ? 0 : behind_pos(w, queue, from.last);
    low = after_others(w, s->before, queue, to->first, low, to->stages | from.stages);
    if (from.first == HDI_NONE) {
        if (!s->needs_layout) /* from other queues alone: the semaphore has done it */
            return;
        from.stages = to->stages; /* chains with the semaphore wait */
    }
    ask(w, s, s->needs_layout, queue, low, before_pos(w, queue, to->first),
        (hdi_scopes){from.stages, from.access & HDI_WRITE_BITS, to->stages, to->access},
        reason_of(s->before, s->behind), w->slot_pass[s->behind->first]);
}

static HDI_INLINE void at_consumer(work *w, const step *s)
{
    uint32_t queue = (uint32_t)__builtin_ctz(s->behind->queue_mask);
    side to = side_of_one(w, s->behind);
    if (!s->before) {
        first_use(w, s, queue, &to);
        return;
    }
    if (in_one_scope(w, s))
        return;
    if (s->before->queue_mask != s->behind->queue_mask) {
        after_several(w, s, queue, &to);
        return;
    }
    side from = side_of_one(w, s->before);
    ask(w, s, s->needs_layout, queue, behind_pos(w, queue, from.last), before_pos(w, queue, to.first),
        (hdi_scopes){from.stages, from.access & HDI_WRITE_BITS, to.stages, to.access}, reason_of(s->before, s->behind),
        w->slot_pass[s->behind->first]);
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
    side from = side_of(w, s->before, queue), own = side_of(w, s->behind, queue);
    uint32_t low = behind_pos(w, queue, from.last), end = submit_end(w, queue, from.last),
             reason = reason_of(s->before, s->behind);
    hdi_scopes does = {.src_stages = from.stages, .src_access = from.access & HDI_WRITE_BITS};
    others_rely(w, s->behind, queue, from.last);
    if (s->needs_layout) {
        uint32_t high = own.first == HDI_NONE ? end : before_pos(w, queue, own.first);
        everybody(w, s, queue, &does);
        ask(w, s, true, queue, low, high < end ? high : end, does, reason, pass_of(w, s->behind));
        return;
    }
    if (own.first != HDI_NONE) {
        does.dst_stages = own.stages;
        does.dst_access = own.access;
        ask(w, s, false, queue, low, before_pos(w, queue, own.first), does, reason,
            w->hazards->slot_pass[slot_at(w, queue, own.first)]);
    }
    /* A host write only waits. */
    if (host != HDI_NONE && s->behind->queue_mask >> host & 1 && does.src_access &&
        s->behind->flags & HDI_EPOCH_READS) {
        side to = side_of(w, s->behind, host);
        does.dst_stages = to.stages;
        does.dst_access = to.access;
        ask(w, s, false, queue, low, end, does, reason, w->hazards->slot_pass[slot_at(w, host, to.first)]);
    }
}

static void transfer(work *w, const step *s)
{
    uint32_t source = (uint32_t)__builtin_ctz(s->before->queue_mask);
    uint32_t target = (uint32_t)__builtin_ctz(s->behind->queue_mask);
    uint32_t source_family = w->queues->family[source], target_family = w->queues->family[target];
    side from = side_of(w, s->before, source), to = side_of(w, s->behind, target);
    hd_plan_barrier *release =
        ask(w, s, true, source, behind_pos(w, source, from.last), submit_end(w, source, from.last),
            (hdi_scopes){from.stages, from.access & HDI_WRITE_BITS, HDI_STAGE_ALL_COMMANDS, 0}, HD_REASON_RELEASE,
            pass_of(w, s->behind));
    release->src_family = source_family;
    release->dst_family = target_family;
    w->next[-1].order = HDI_MOVES;
    hd_plan_barrier *acquire =
        ask(w, s, true, target, after_others(w, s->before, target, to.first, 0, HDI_STAGE_ALL_COMMANDS),
            before_pos(w, target, to.first), (hdi_scopes){to.stages, 0, to.stages, to.access}, HD_REASON_ACQUIRE,
            pass_of(w, s->behind));
    acquire->src_family = source_family;
    acquire->dst_family = target_family;
    w->next[-1].order = HDI_MOVES;
}

static void at_extra(work *w, const step *s)
{
    uint32_t slot = s->behind->extra, queue = w->hazards->slot_queue[slot], pos = w->hazards->slot_pos[slot], low = 0;
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
    ask(w, s, true, queue, low, 2 * pos, does, reason_of(s->before, s->behind), pass_of(w, s->behind));
}

/* Wherever it is but before the first use of one queue. */
static HDI_APART void at_another(work *w, const step *s)
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
static HDI_APART bool discards_for_family(const work *w, const step *s)
{
    if (!s->is_image || s->behind->flags != HDI_EPOCH_WRITES || w->hazards->res_concurrent[s->res])
        return false;
    uint32_t host = w->queues->host == HDI_NONE ? 0 : 1u << w->queues->host;
    uint32_t from = s->before->queue_mask & ~host, to = s->behind->queue_mask & ~host;
    return from && to && w->queues->family[__builtin_ctz(from)] != w->queues->family[__builtin_ctz(to)];
}

static HDI_INLINE void visit_segment(work *w, uint32_t seg, const hdi_epoch *epoch, const hdi_epoch *end)
{
    step s = {.seg = seg, .res = w->frozen->seg_res[seg]};
    s.is_image = !(w->decl->res_flags[s.res] & HDI_RES_BUFFER);
    uint32_t layout = s.is_image ? hdi_initial_layout(w->decl, w->hazards, s.res) : 0;
    for (; epoch < end; epoch++) {
        s.behind = epoch;
        s.needs_layout = layout != epoch->layout; /* a buffer has none */
        if (!s.needs_layout && s.before && s.before->queue_mask != epoch->queue_mask)
            s.needs_layout = discards_for_family(w, &s);
        s.old_layout = epoch->flags == HDI_EPOCH_WRITES ? HDI_LAYOUT_UNDEFINED : layout;
        if (epoch->place == HDI_PLACE_CONSUMER)
            at_consumer(w, &s);
        else
            at_another(w, &s);
        layout = epoch->layout;
        s.before = epoch;
    }
}

/* ---- a range ---- */

void hdi_visit_steps(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work w = *(const work *)user;
    const uint32_t *epoch_begin = w.hazards->seg_epoch_begin, *epoch_end = w.hazards->seg_epoch_end;
    const hdi_epoch *epoch = w.hazards->epoch;
    hdi_request_list *list = &w.requests->list[part];
    w.next_index = list->begin;
    w.next_barrier = w.requests->barrier + list->begin;
    w.next = w.raw + list->begin;
    for (uint32_t seg = begin; seg < end; seg++) {
        if (epoch_begin[seg] < epoch_end[seg])
            visit_segment(&w, seg, epoch + epoch_begin[seg], epoch + epoch_end[seg]);
    }
    list->count = w.next_index - list->begin;
    list->region_begin[0] = 0;
    list->region_begin[w.hazards->region_count] = list->count;
    if (w.hazards->region_count > 1)
        hdi_sort_requests(w.region, w.hazards->region_count, w.raw + list->begin, w.requests->item + list->begin, list);
}
