#include "phases.h"

#include <string.h>

#include "barrier_requests.h"
#include "vk_numbers.h"

/* Barrier: which barriers each step between two epochs needs, and between which two points of its queue each must stand.
 * Points of a queue: 2 * pos before a slot, 2 * pos + 1 behind it. barrier_place.c then chooses the points. O(entries). By
 * ranges of segments, each with a list of its own; nearly all steps stand before the first use of one queue, and what else
 * there is stays out of their way. */

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define RARE __attribute__((noinline))

enum { GRAIN = 1024 };

/* Where a range of segments is on its way. */
typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_queues *queues;
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    const hdi_lifetimes *lifetimes;
    const hdi_placed *placed;
    const hdi_merged *merged;
    uint32_t ranges;
    hdi_barriers *out;
    const hdi_barrier_region *region;
    hdi_requests *requests;
    hdi_request *raw; /* in the order of the segments */
    uint32_t *known;  /* [place * queues + q]: the first place of q where that place of another queue is known to have
                       * finished; places of all queues one behind another, as in queue_slot */
    hdi_request *next; /* where the range goes on */
    uint32_t next_barrier;
} work;

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

static RARE side side_of_shared(const work *w, const hdi_epoch *epoch, uint32_t queue)
{
    const hdi_hazards *hazards = w->hazards;
    side s = {.first = HDI_NONE};
    if (!(epoch->queue_mask >> queue & 1))
        return s;
    add_to_side(w, epoch->first, epoch->use, queue, &s);
    for (uint32_t i = epoch->more; i != HDI_NONE; i = hazards->entry[i].older)
        add_to_side(w, hazards->entry[i].slot, hazards->entry[i].use, queue, &s);
    /* An access without stages (present) is still something to chain with. */
    if (s.stages == 0)
        s.stages = HDI_STAGE_ALL_COMMANDS;
    return s;
}

static ALWAYS_INLINE side side_of(const work *w, const hdi_epoch *epoch, uint32_t queue)
{
    if (epoch->queue_mask != 1u << queue)
        return side_of_shared(w, epoch, queue);
    return (side){epoch->stages ? epoch->stages : HDI_STAGE_ALL_COMMANDS, epoch->access,
                  w->hazards->slot_pos[epoch->first], w->hazards->slot_pos[epoch->last]};
}

static ALWAYS_INLINE uint32_t slot_at(const work *w, uint32_t queue, uint32_t pos)
{
    return w->hazards->queue_slot[w->hazards->queue_begin[queue] + pos];
}

/* Points before and behind a place, which lie outside the rendering scope that it is in. */
static ALWAYS_INLINE uint32_t before_pos(const work *w, uint32_t queue, uint32_t pos)
{
    return 2 * (w->merged->slot_first ? w->merged->slot_first[slot_at(w, queue, pos)] : pos);
}

static ALWAYS_INLINE uint32_t behind_pos(const work *w, uint32_t queue, uint32_t pos)
{
    return 2 * (w->merged->slot_last ? w->merged->slot_last[slot_at(w, queue, pos)] : pos) + 1;
}

static uint32_t submit_end(const work *w, uint32_t queue, uint32_t pos)
{
    return 2 * (w->synced->submit[w->synced->slot_submit[slot_at(w, queue, pos)]].end_pos - 1) + 1;
}

/* Stages of a queue count on the semaphore that first told it of a place on another one, known at the latest at `limit`.
 * Returns the point where it did. */
static ALWAYS_INLINE uint32_t rely(const work *w, uint32_t queue, uint32_t other, uint32_t pos, uint32_t limit,
                                   uint64_t stages)
{
    uint32_t known = w->known[(size_t)(w->hazards->queue_begin[other] + pos) * w->queues->count + queue];
    known = known < limit ? known : limit;
    hdi_count_on(&w->out->slot_wait_stages[slot_at(w, queue, known)], stages);
    return 2 * known;
}

/* Everything of the epoch before that is on other queues is known from some point on; stages count on that. */
static RARE uint32_t after_others(const work *w, const hdi_epoch *before, uint32_t queue, uint32_t limit, uint32_t low,
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

static ALWAYS_INLINE uint32_t reason_of(const hdi_epoch *before, const hdi_epoch *behind)
{
    if (behind->flags & HDI_EPOCH_FINAL)
        return HD_REASON_FINAL_STATE;
    if (!before)
        return HD_REASON_FIRST_USE;
    if (before->flags & HDI_EPOCH_WRITES)
        return behind->flags & HDI_EPOCH_READS ? HD_REASON_READ_AFTER_WRITE : HD_REASON_WRITE_AFTER_WRITE;
    return behind->flags & HDI_EPOCH_WRITES ? HD_REASON_WRITE_AFTER_READ : HD_REASON_LAYOUT;
}

static ALWAYS_INLINE uint32_t pass_of(const work *w, const hdi_epoch *epoch)
{
    return epoch->flags & HDI_EPOCH_FINAL ? HDI_NONE : w->hazards->slot_pass[epoch->first];
}

/* Asks for a barrier; of_segment: with a layout or an owner that changes, else a global one. */
static ALWAYS_INLINE hd_plan_barrier *ask(work *w, const step *s, bool of_segment, uint32_t queue, uint32_t low,
                                          uint32_t high, hdi_scopes does, uint32_t reason, uint32_t pass)
{
    hd_plan_barrier *b = &w->requests->barrier[w->next_barrier];
    hdi_request *r = w->next++;
    r->low = low;
    r->high = high;
    r->barrier = w->next_barrier++;
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
    bool others;             /* some were on other queues */
} handover;

static ALWAYS_INLINE void take_from(const work *w, uint32_t queue, const hdi_stay *stay, handover *h)
{
    uint32_t low = behind_pos(w, queue, stay->last);
    h->low = low > h->low ? low : h->low;
    h->stages |= stay->tail_stages;
    h->writes |= stay->tail_writes;
    if (stay->tail_writes)
        h->flush_low = low > h->flush_low ? low : h->flush_low;
}

/* Of tenants on other queues: what the barrier chains with counts on semaphores as well. */
static RARE void take_from_others(const work *w, uint32_t res, uint32_t queue, uint32_t limit, uint64_t stages, handover *h)
{
    uint32_t queues = w->queues->count;
    for (uint32_t t = w->placed->tenant_begin[res]; t < w->placed->tenant_begin[res + 1]; t++) {
        const hdi_stay *stay = &w->lifetimes->stay[(size_t)w->placed->tenant[t] * queues];
        for (uint32_t q = 0; q < queues; q++) {
            if (q == queue || stay[q].first == HDI_NONE)
                continue;
            uint32_t low = rely(w, queue, q, stay[q].last, limit, stages | h->stages);
            h->low = low > h->low ? low : h->low;
        }
    }
}

static ALWAYS_INLINE handover tenants_of(const work *w, uint32_t res, uint32_t queue, uint32_t limit, uint64_t stages)
{
    handover h = {0};
    uint32_t queues = w->queues->count;
    const uint16_t *res_queues = w->hazards->res_queues;
    for (uint32_t t = w->placed->tenant_begin[res], end = w->placed->tenant_begin[res + 1]; t < end; t++) {
        uint32_t tenant = w->placed->tenant[t];
        const hdi_stay *stay = &w->lifetimes->stay[(size_t)tenant * queues + queue];
        h.others |= res_queues[tenant] != 1u << queue;
        if (stay->first != HDI_NONE)
            take_from(w, queue, stay, &h);
    }
    h.writes &= HDI_WRITE_BITS;
    if (h.others)
        take_from_others(w, res, queue, limit, stages, &h);
    return h;
}

/* The first use, maybe of memory that others had before. An image's barrier covers no writes through other resources, and
 * elements of one command do not chain: pending writes are flushed by a global barrier in a command before. */
static ALWAYS_INLINE void first_use(work *w, const step *s, uint32_t queue, const side *to)
{
    uint32_t high = before_pos(w, queue, to->first), pass = pass_of(w, s->behind);
    handover h = tenants_of(w, s->res, queue, to->first, to->stages);
    bool taken = h.stages || h.others;
    if (!taken && !s->needs_layout)
        return;
    hdi_scopes does = {h.stages, s->is_image ? 0 : h.writes, to->stages, to->access};
    if (!s->is_image && !h.stages)
        return;
    bool flushes = s->is_image && h.writes;
    if (flushes) {
        ask(w, s, false, queue, h.flush_low, high - 1, (hdi_scopes){h.stages, h.writes, h.stages, 0}, HD_REASON_ALIAS, pass);
        w->next[-1].order = HDI_EARLY;
    }
    if (h.others && !h.stages)
        does.src_stages = to->stages; /* chains with the semaphore wait */
    ask(w, s, s->needs_layout, queue, h.low, high, does, taken ? HD_REASON_ALIAS : reason_of(NULL, s->behind), pass);
    w->next[-1].order = flushes ? HDI_FOLLOWS : 0;
}

/* ---- one function a place ---- */

/* Both are attachments of one rendering scope, whose accesses are in order as they are. */
static ALWAYS_INLINE bool in_one_scope(const work *w, const step *s)
{
    if (!w->merged->slot_first)
        return false;
    uint32_t before = s->before->first, behind = s->behind->first;
    return w->hazards->slot_queue[before] == w->hazards->slot_queue[behind] &&
           w->merged->slot_first[before] == w->merged->slot_first[behind];
}

static ALWAYS_INLINE void at_consumer(work *w, const step *s)
{
    uint32_t queue = (uint32_t)__builtin_ctz(s->behind->queue_mask);
    side to = side_of(w, s->behind, queue);
    if (!s->before) {
        first_use(w, s, queue, &to);
        return;
    }
    if (in_one_scope(w, s))
        return;
    side from = side_of(w, s->before, queue);
    uint32_t low = from.first == HDI_NONE ? 0 : behind_pos(w, queue, from.last);
    if (s->before->queue_mask & ~(1u << queue))
        low = after_others(w, s->before, queue, to.first, low, to.stages | from.stages);
    if (from.first == HDI_NONE) {
        if (!s->needs_layout) /* from other queues alone: the semaphore has done it */
            return;
        from.stages = to.stages; /* chains with the semaphore wait */
    }
    ask(w, s, s->needs_layout, queue, low, before_pos(w, queue, to.first),
        (hdi_scopes){from.stages, from.access & HDI_WRITE_BITS, to.stages, to.access}, reason_of(s->before, s->behind),
        pass_of(w, s->behind));
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
    if (host != HDI_NONE && s->behind->queue_mask >> host & 1 && does.src_access && s->behind->flags & HDI_EPOCH_READS) {
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
static RARE void at_another(work *w, const step *s)
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
static RARE bool discards_for_family(const work *w, const step *s)
{
    if (!s->is_image || s->behind->flags != HDI_EPOCH_WRITES || w->hazards->res_concurrent[s->res])
        return false;
    uint32_t host = w->queues->host == HDI_NONE ? 0 : 1u << w->queues->host;
    uint32_t from = s->before->queue_mask & ~host, to = s->behind->queue_mask & ~host;
    return from && to && w->queues->family[__builtin_ctz(from)] != w->queues->family[__builtin_ctz(to)];
}

static ALWAYS_INLINE void visit_segment(work *w, uint32_t seg, const hdi_epoch *epoch, const hdi_epoch *end)
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

/* ---- ranges ---- */

static void visit_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work w = *(const work *)user;
    const uint32_t *epoch_begin = w.hazards->seg_epoch_begin, *epoch_end = w.hazards->seg_epoch_end;
    const hdi_epoch *epoch = w.hazards->epoch;
    hdi_request_list *list = &w.requests->list[part];
    w.next_barrier = list->begin;
    w.next = w.raw + list->begin;
    for (uint32_t seg = begin; seg < end; seg++) {
        if (epoch_begin[seg] < epoch_end[seg])
            visit_segment(&w, seg, epoch + epoch_begin[seg], epoch + epoch_end[seg]);
    }
    list->count = w.next_barrier - list->begin;
    list->region_begin[0] = 0;
    list->region_begin[w.hazards->region_count] = list->count;
    if (w.hazards->region_count > 1)
        hdi_sort_requests(w.region, w.hazards->region_count, w.raw + list->begin, w.requests->item + list->begin, list);
}

/* ---- what is found first ---- */

/* Places of a queue from begin up to end tell of those that they are the first to know of. */
static void find_known(const work *w, uint32_t queue, uint32_t begin, uint32_t end)
{
    const uint32_t *queue_begin = w->hazards->queue_begin, *slots = w->hazards->queue_slot + queue_begin[queue];
    const uint32_t *slot_clock = w->synced->slot_clock;
    uint32_t queues = w->queues->count, count = queue_begin[queue + 1] - queue_begin[queue], told[HD_MAX_QUEUES] = {0};
    if (begin > 0)
        memcpy(told, slot_clock + (size_t)slots[begin - 1] * queues, queues * sizeof(*told));
    for (uint32_t pos = begin; pos < end; pos++) {
        const uint32_t *clock = slot_clock + (size_t)slots[pos] * queues;
        for (uint32_t q = 0; q < queues; q++) {
            for (; told[q] < clock[q]; told[q]++)
                w->known[(size_t)(queue_begin[q] + told[q]) * queues + queue] = pos;
        }
    }
    for (uint32_t q = 0; q < queues && end == count; q++) { /* never */
        for (uint32_t other = queue_begin[q] + told[q]; other < queue_begin[q + 1]; other++)
            w->known[(size_t)other * queues + queue] = HDI_NONE;
    }
}

/* The most requests that segments may make. */
static uint32_t count_most(const work *w, uint32_t begin, uint32_t end)
{
    uint32_t most = 0;
    for (uint32_t seg = begin; seg < end; seg++) {
        const uint32_t *tenants = &w->placed->tenant_begin[w->frozen->seg_res[seg]];
        most += tenants[0] != tenants[1]; /* a flush at the first use */
        for (uint32_t e = w->hazards->seg_epoch_begin[seg]; e < w->hazards->seg_epoch_end[seg]; e++)
            most += w->hazards->epoch[e].place == HDI_PLACE_CONSUMER ? 1 : 2;
    }
    return most;
}

static void prepare(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    uint32_t slots = w->hazards->slot_count, slot = hdi_range_begin(slots, w->ranges, part),
             count = hdi_range_begin(slots, w->ranges, part + 1) - slot;
    memset(w->out->slot_wait_stages + slot, 0, count * sizeof(*w->out->slot_wait_stages));
    memset(w->out->slot_pre + slot, 0xff, count * sizeof(*w->out->slot_pre));
    memset(w->out->slot_post + slot, 0xff, count * sizeof(*w->out->slot_post));
    for (uint32_t q = 0; q < w->queues->count; q++) {
        uint32_t places = w->hazards->queue_begin[q + 1] - w->hazards->queue_begin[q];
        find_known(w, q, hdi_range_begin(places, w->ranges, part), hdi_range_begin(places, w->ranges, part + 1));
    }
    w->requests->list[part].count = count_most(w, begin, end);
}

/* The counts of the lists become where they begin; returns their sum. */
static uint32_t number_lists(hdi_requests *requests)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < requests->list_count; k++) {
        requests->list[k].begin = sum;
        sum += requests->list[k].count;
    }
    return sum;
}

/* Finds requests and places them. What is kept stands in front, and what is only looked at here behind it or aside: so
 * nothing has to move. */
static hd_result find_and_place(work *w, const hdi_crew *crew, hdi_arena *arena, hdi_arena *aside)
{
    const hdi_hazards *hazards = w->hazards;
    hdi_barriers *out = w->out;
    hdi_requests *requests = w->requests;
    uint32_t slots = hazards->slot_count, segs = w->frozen->seg_count, count = 2 * hazards->epoch_count;
    out->slot_wait_stages = HDI_ARENA_ARRAY(arena, uint64_t, slots);
    out->slot_pre = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    out->slot_post = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    if (aside == arena) {
        out->barrier = HDI_ARENA_ARRAY(arena, hd_plan_barrier, count);
        out->batch = HDI_ARENA_ARRAY(arena, hd_plan_batch, count);
    }
    w->known = HDI_ARENA_ARRAY(aside, uint32_t, (size_t)slots * w->queues->count);
    if (arena->failed || aside->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(crew, segs, GRAIN, prepare, w);
    count = number_lists(requests);
    requests->item = HDI_ARENA_ARRAY(aside, hdi_request, count);
    requests->barrier = HDI_ARENA_ARRAY(aside, hd_plan_barrier, count);
    w->raw = hazards->region_count > 1 ? HDI_ARENA_ARRAY(aside, hdi_request, count) : requests->item;
    if (aside->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(crew, segs, GRAIN, visit_range, w);
    if (aside != arena) {
        count = 0;
        for (uint32_t k = 0; k < requests->list_count; k++)
            count += requests->list[k].count;
        out->barrier = HDI_ARENA_ARRAY(arena, hd_plan_barrier, count);
        out->batch = HDI_ARENA_ARRAY(arena, hd_plan_batch, count);
        if (arena->failed)
            return HD_OUT_OF_MEMORY;
    }
    return hdi_place_barriers(w->decl, w->queues, hazards, w->synced, w->region, requests, crew, aside, out);
}

hd_result hdi_barrier(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues, const hdi_hazards *hazards,
                      const hdi_synced *synced, const hdi_lifetimes *lifetimes, const hdi_placed *placed,
                      const hdi_merged *merged, const hdi_crew *crew, hdi_arena *arena, hdi_barriers *out)
{
    if (queues->count == 1)
        return hdi_barrier_one_queue(decl, frozen, hazards, lifetimes, placed, merged, crew, arena, out);
    hdi_arena_mark mark = hdi_arena_here(arena), marks[HDI_MOST_PARTS];
    hdi_barrier_region region[HDI_MOST_PARTS];
    hdi_requests requests;
    requests.list_count = hdi_range_count(crew, frozen->seg_count, GRAIN);
    work w = {.decl = decl, .frozen = frozen, .queues = queues, .hazards = hazards, .synced = synced,
              .lifetimes = lifetimes, .placed = placed, .merged = merged, .ranges = requests.list_count, .out = out,
              .region = region, .requests = &requests};
    hdi_cut_barriers(queues, hazards, merged, region);
    for (uint32_t k = 0; crew->cuts && k < HDI_MOST_PARTS; k++)
        marks[k] = hdi_arena_here(&crew->arena[k]);
    hd_result result = find_and_place(&w, crew, arena, crew->cuts ? &crew->arena[HDI_MOST_PARTS - 1] : arena);
    if (result != HD_OK)
        return result;
    for (uint32_t k = 0; crew->cuts && k < HDI_MOST_PARTS; k++)
        hdi_arena_keep(&crew->arena[k], marks[k], NULL, 0);
    if (crew->cuts) /* nothing lies behind what is kept */
        return HD_OK;
    size_t slots = hazards->slot_count;
    const hdi_arena_kept out_arrays[] = {{&out->slot_wait_stages, slots * sizeof(*out->slot_wait_stages)},
                                         {&out->slot_pre, slots * sizeof(*out->slot_pre)},
                                         {&out->slot_post, slots * sizeof(*out->slot_post)},
                                         {&out->barrier, out->barrier_count * sizeof(*out->barrier)},
                                         {&out->batch, out->batch_count * sizeof(*out->batch)}};
    hdi_arena_keep(arena, mark, out_arrays, 5);
    return HD_OK;
}
