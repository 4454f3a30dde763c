#include "phases.h"

#include "barrier_requests.h"
#include "vk_numbers.h"

/* Barrier: which barriers each step between two epochs needs, and between which two points of its queue each must stand.
 * Points of a queue: 2 * pos before a slot, 2 * pos + 1 behind it. barrier_place.c then chooses the points. O(entries). By
 * ranges of segments, each with a list of its own. */

enum { GRAIN = 1024 };

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_queues *queues;
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    const hdi_lifetimes *lifetimes;
    const hdi_placed *placed;
    const hdi_merged *merged;
    hdi_request_list *list;
    uint64_t *wait_stages; /* per slot */
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

static side side_of(const work *w, const hdi_epoch *epoch, uint32_t queue)
{
    const hdi_hazards *hazards = w->hazards;
    side s = {.first = HDI_NONE};
    if (!(epoch->queue_mask >> queue & 1))
        return s;
    if (epoch->queue_mask == 1u << queue) {
        s = (side){epoch->stages, epoch->access, hazards->slot_pos[epoch->first], hazards->slot_pos[epoch->last]};
    } else {
        add_to_side(w, epoch->first, epoch->use, queue, &s);
        for (uint32_t i = epoch->more; i != HDI_NONE; i = hazards->entry[i].older)
            add_to_side(w, hazards->entry[i].slot, hazards->entry[i].use, queue, &s);
    }
    /* An access without stages (present) is still something to chain with. */
    if (s.stages == 0)
        s.stages = HDI_STAGE_ALL_COMMANDS;
    return s;
}

static uint32_t slot_at(const work *w, uint32_t queue, uint32_t pos)
{
    return w->hazards->queue_slot[w->hazards->queue_begin[queue] + pos];
}

/* Points before and behind a place, which lie outside the rendering scope that it is in. */
static uint32_t before_pos(const work *w, uint32_t queue, uint32_t pos)
{
    return 2 * (w->merged->slot_first ? w->merged->slot_first[slot_at(w, queue, pos)] : pos);
}

static uint32_t behind_pos(const work *w, uint32_t queue, uint32_t pos)
{
    return 2 * (w->merged->slot_last ? w->merged->slot_last[slot_at(w, queue, pos)] : pos) + 1;
}

/* First point of `queue` where place `pos` of another queue is known to have finished; it is known at `limit`. */
static uint32_t known_at(const work *w, uint32_t queue, uint32_t other, uint32_t pos, uint32_t limit)
{
    uint32_t low = 0, high = limit;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->synced->slot_clock[(size_t)slot_at(w, queue, middle) * w->queues->count + other] > pos)
            high = middle;
        else
            low = middle + 1;
    }
    return 2 * low;
}

static uint32_t submit_end(const work *w, uint32_t queue, uint32_t pos)
{
    return 2 * (w->synced->submit[w->synced->slot_submit[slot_at(w, queue, pos)]].end_pos - 1) + 1;
}

/* Stages of a queue count on the semaphore that first told it of a place on another one, known at the latest at `limit`.
 * Returns the point where it did. */
static uint32_t rely(const work *w, uint32_t queue, uint32_t other, uint32_t pos, uint32_t limit, uint64_t stages)
{
    uint32_t point = known_at(w, queue, other, pos, limit);
    hdi_count_on(&w->wait_stages[slot_at(w, queue, point / 2)], stages);
    return point;
}

/* Everything of the epoch before that is on other queues is known from some point on; stages count on that. */
static uint32_t after_others(const work *w, const hdi_epoch *before, uint32_t queue, uint32_t limit, uint32_t low,
                             uint64_t stages)
{
    for (uint32_t mask = before->queue_mask & ~(1u << queue); mask; mask &= mask - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(mask);
        uint32_t point = rely(w, queue, other, side_of(w, before, other).last, limit, stages);
        low = point > low ? point : low;
    }
    return low;
}

static uint32_t reason_of(const hdi_epoch *before, const hdi_epoch *behind)
{
    if (behind->flags & HDI_EPOCH_FINAL)
        return HD_REASON_FINAL_STATE;
    if (!before)
        return HD_REASON_FIRST_USE;
    if (before->flags & HDI_EPOCH_WRITES)
        return behind->flags & HDI_EPOCH_READS ? HD_REASON_READ_AFTER_WRITE : HD_REASON_WRITE_AFTER_WRITE;
    return behind->flags & HDI_EPOCH_WRITES ? HD_REASON_WRITE_AFTER_READ : HD_REASON_LAYOUT;
}

/* One step of one segment. */
typedef struct step {
    uint32_t seg, res;
    const hdi_epoch *before, *behind;
    uint32_t old_layout; /* UNDEFINED where the content is thrown away */
    bool needs_layout, is_image;
    uint32_t pass;
} step;

static hdi_request request_of(const step *s, uint32_t queue, uint32_t low, uint32_t high)
{
    return (hdi_request){.queue = queue,
                         .low = low,
                         .high = high,
                         .seg = HDI_NONE,
                         .after = HDI_NONE,
                         .src_family = HDI_NONE,
                         .dst_family = HDI_NONE,
                         .reason = reason_of(s->before, s->behind),
                         .pass = s->pass,
                         .res = s->res};
}

static void make_image(const step *s, hdi_request *request)
{
    request->seg = s->seg;
    request->old_layout = s->old_layout;
    request->new_layout = s->behind->layout;
}

/* ---- memory that changes hands ---- */

typedef struct handover {
    uint64_t stages, writes; /* of former tenants on this queue */
    uint32_t low;            /* earliest point for whoever comes after all of them */
    uint32_t flush_low;
    bool others;             /* some were on other queues */
} handover;

static handover tenants_of(const work *w, uint32_t res, uint32_t queue, uint32_t limit, uint64_t stages)
{
    handover h = {0};
    uint32_t queues = w->queues->count;
    for (uint32_t t = w->placed->tenant_begin[res]; t < w->placed->tenant_begin[res + 1]; t++) {
        const hdi_stay *stay = &w->lifetimes->stay[(size_t)w->placed->tenant[t] * queues];
        for (uint32_t q = 0; q < queues; q++) {
            if (stay[q].first == HDI_NONE)
                continue;
            uint32_t low = q == queue ? behind_pos(w, q, stay[q].last) : rely(w, queue, q, stay[q].last, limit, stages);
            h.low = low > h.low ? low : h.low;
            if (q != queue) {
                h.others = true;
                continue;
            }
            h.stages |= stay[q].tail_stages;
            h.writes |= stay[q].tail_writes & HDI_WRITE_BITS;
            if (stay[q].tail_writes)
                h.flush_low = low > h.flush_low ? low : h.flush_low;
        }
    }
    return h;
}

/* The first use of memory that others had before. An image's barrier covers no writes through other resources, and
 * elements of one command do not chain: pending writes are flushed by a global barrier in a command before. */
static void take_over(work *w, const step *s, hdi_request *request, const handover *h, const side *to)
{
    request->reason = HD_REASON_ALIAS;
    request->low = h->low > request->low ? h->low : request->low;
    request->src_stages |= h->stages;
    if (!s->is_image) {
        request->src_access |= h->writes;
        if (request->src_stages)
            hdi_request_add(w->list, request);
        return;
    }
    if (h->writes) {
        hdi_request flush = request_of(s, request->queue, h->flush_low, request->high - 1);
        flush.reason = HD_REASON_ALIAS;
        flush.early = true;
        flush.src_stages = flush.dst_stages = h->stages;
        flush.src_access = h->writes;
        request->after = hdi_request_add(w->list, &flush);
    }
    if (request->src_stages == 0 && h->others)
        request->src_stages = to->stages; /* chains with the semaphore wait */
    hdi_request_add(w->list, request);
}

/* ---- one function a place ---- */

/* Both are attachments of one rendering scope, whose accesses are in order as they are. */
static bool in_one_scope(const work *w, const step *s)
{
    if (!w->merged->slot_first)
        return false;
    uint32_t before = s->before->first, behind = s->behind->first;
    return w->hazards->slot_queue[before] == w->hazards->slot_queue[behind] &&
           w->merged->slot_first[before] == w->merged->slot_first[behind];
}

static void at_consumer(work *w, const step *s)
{
    uint32_t queue = (uint32_t)__builtin_ctz(s->behind->queue_mask);
    side to = side_of(w, s->behind, queue), from = {.first = HDI_NONE};
    hdi_request request = request_of(s, queue, 0, before_pos(w, queue, to.first));
    request.dst_stages = to.stages;
    request.dst_access = to.access;
    if (s->needs_layout)
        make_image(s, &request);
    if (!s->before) {
        handover h = tenants_of(w, s->res, queue, to.first, to.stages);
        if (h.others && h.stages) /* what the barrier chains with */
            tenants_of(w, s->res, queue, to.first, h.stages);
        if (h.stages || h.others)
            take_over(w, s, &request, &h, &to);
        else if (s->needs_layout)
            hdi_request_add(w->list, &request);
        return;
    }
    if (in_one_scope(w, s))
        return;
    from = side_of(w, s->before, queue);
    request.src_stages = from.stages;
    request.src_access = from.access & HDI_WRITE_BITS;
    if (from.first != HDI_NONE)
        request.low = behind_pos(w, queue, from.last);
    request.low = after_others(w, s->before, queue, to.first, request.low, to.stages | from.stages);
    if (!s->needs_layout) {
        /* From other queues alone: the semaphore has done it. */
        if (from.first != HDI_NONE)
            hdi_request_add(w->list, &request);
        return;
    }
    if (from.first == HDI_NONE)
        request.src_stages = to.stages; /* chains with the semaphore wait */
    hdi_request_add(w->list, &request);
}

/* Stages and accesses of everybody who comes next, as one queue's barrier can name them: the others stand behind the
 * semaphore, which ALL_COMMANDS reaches; the host has a stage of its own. */
static void everybody(const work *w, const step *s, uint32_t queue, hdi_request *request)
{
    side own = side_of(w, s->behind, queue);
    request->dst_stages = own.stages;
    request->dst_access = own.access;
    uint32_t others = s->behind->queue_mask & ~(1u << queue);
    uint32_t host = w->queues->host;
    if (host != HDI_NONE && others >> host & 1 && s->behind->flags & HDI_EPOCH_READS) { /* a host write only waits */
        side to = side_of(w, s->behind, host);
        request->dst_stages |= to.stages;
        request->dst_access |= to.access;
        others &= ~(1u << host);
    }
    if (others || s->behind->flags & HDI_EPOCH_FINAL)
        request->dst_stages |= HDI_STAGE_ALL_COMMANDS;
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
    uint32_t low = behind_pos(w, queue, from.last), end = submit_end(w, queue, from.last);
    others_rely(w, s->behind, queue, from.last);
    hdi_request request = request_of(s, queue, low, end);
    request.src_stages = from.stages;
    request.src_access = from.access & HDI_WRITE_BITS;
    if (s->needs_layout) {
        if (own.first != HDI_NONE && before_pos(w, queue, own.first) < end)
            request.high = before_pos(w, queue, own.first);
        make_image(s, &request);
        everybody(w, s, queue, &request);
        hdi_request_add(w->list, &request);
        return;
    }
    if (own.first != HDI_NONE) {
        hdi_request inner = request;
        inner.high = before_pos(w, queue, own.first);
        inner.pass = w->hazards->slot_pass[slot_at(w, queue, own.first)];
        inner.dst_stages = own.stages;
        inner.dst_access = own.access;
        hdi_request_add(w->list, &inner);
    }
    /* A host write only waits. */
    if (host != HDI_NONE && s->behind->queue_mask >> host & 1 && request.src_access &&
        s->behind->flags & HDI_EPOCH_READS) {
        side to = side_of(w, s->behind, host);
        request.pass = w->hazards->slot_pass[slot_at(w, host, to.first)];
        request.dst_stages = to.stages;
        request.dst_access = to.access;
        hdi_request_add(w->list, &request);
    }
}

static void transfer(work *w, const step *s)
{
    uint32_t source = (uint32_t)__builtin_ctz(s->before->queue_mask);
    uint32_t target = (uint32_t)__builtin_ctz(s->behind->queue_mask);
    side from = side_of(w, s->before, source), to = side_of(w, s->behind, target);
    hdi_request release = request_of(s, source, behind_pos(w, source, from.last), submit_end(w, source, from.last));
    make_image(s, &release);
    release.src_family = w->queues->family[source];
    release.dst_family = w->queues->family[target];
    release.src_stages = from.stages;
    release.src_access = from.access & HDI_WRITE_BITS;
    release.dst_stages = HDI_STAGE_ALL_COMMANDS;
    release.reason = HD_REASON_RELEASE;
    hdi_request_add(w->list, &release);
    hdi_request acquire = request_of(s, target, after_others(w, s->before, target, to.first, 0, HDI_STAGE_ALL_COMMANDS),
                                     before_pos(w, target, to.first));
    make_image(s, &acquire);
    acquire.src_family = release.src_family;
    acquire.dst_family = release.dst_family;
    acquire.src_stages = acquire.dst_stages = to.stages;
    acquire.dst_access = to.access;
    acquire.reason = HD_REASON_ACQUIRE;
    hdi_request_add(w->list, &acquire);
}

static void at_extra(work *w, const step *s)
{
    uint32_t slot = s->behind->extra, queue = w->hazards->slot_queue[slot], pos = w->hazards->slot_pos[slot];
    hdi_request request = request_of(s, queue, 0, 2 * pos);
    make_image(s, &request);
    everybody(w, s, queue, &request);
    others_rely(w, s->behind, queue, pos);
    if (s->before) {
        side from = side_of(w, s->before, queue);
        request.src_stages = from.stages;
        request.src_access = from.access & HDI_WRITE_BITS;
        if (from.first != HDI_NONE)
            request.low = behind_pos(w, queue, from.last);
        request.low = after_others(w, s->before, queue, pos, request.low, HDI_STAGE_ALL_COMMANDS);
        if (from.first == HDI_NONE)
            request.src_stages = request.dst_stages & ~HDI_STAGE_HOST;
    }
    hdi_request_add(w->list, &request);
}

/* An exclusive image that another family overwrites changes hands without a transfer, by a transition from UNDEFINED,
 * also where the layout stays. */
static bool discards_for_family(const work *w, const step *s)
{
    if (!s->is_image || !s->before || s->behind->flags != HDI_EPOCH_WRITES || w->hazards->res_concurrent[s->res])
        return false;
    uint32_t host = w->queues->host == HDI_NONE ? 0 : 1u << w->queues->host;
    uint32_t from = s->before->queue_mask & ~host, to = s->behind->queue_mask & ~host;
    return from && to && w->queues->family[__builtin_ctz(from)] != w->queues->family[__builtin_ctz(to)];
}

static void visit_segment(work *w, uint32_t seg)
{
    const hdi_hazards *hazards = w->hazards;
    step s = {.seg = seg, .res = w->frozen->seg_res[seg]};
    s.is_image = !(w->decl->res_flags[s.res] & HDI_RES_BUFFER);
    uint32_t layout = s.is_image ? hdi_initial_layout(w->decl, w->hazards, s.res) : 0;
    for (uint32_t e = hazards->seg_epoch_begin[seg]; e < hazards->seg_epoch_end[seg]; e++) {
        s.behind = &hazards->epoch[e];
        s.needs_layout = s.is_image && (layout != s.behind->layout || discards_for_family(w, &s));
        s.old_layout = s.behind->flags == HDI_EPOCH_WRITES ? HDI_LAYOUT_UNDEFINED : layout;
        s.pass = s.behind->flags & HDI_EPOCH_FINAL ? HDI_NONE : hazards->slot_pass[s.behind->first];
        switch (s.behind->place) {
        case HDI_PLACE_CONSUMER:
            at_consumer(w, &s);
            break;
        case HDI_PLACE_PRODUCER:
            at_producer(w, &s);
            break;
        case HDI_PLACE_TRANSFER:
            transfer(w, &s);
            break;
        case HDI_PLACE_EXTRA:
            at_extra(w, &s);
            break;
        default: /* semaphores do it all */
            for (uint32_t mask = s.before ? s.before->queue_mask : 0; mask; mask &= mask - 1) {
                uint32_t q = (uint32_t)__builtin_ctz(mask);
                others_rely(w, s.behind, q, side_of(w, s.before, q).last);
            }
            break;
        }
        layout = s.behind->layout;
        s.before = s.behind;
    }
}

static void visit_segments(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work w = *(const work *)user;
    uint32_t epochs = 0;
    for (uint32_t seg = begin; seg < end; seg++)
        epochs += w.hazards->seg_epoch_end[seg] - w.hazards->seg_epoch_begin[seg];
    w.list += part;
    hdi_request_reserve(w.list, epochs + epochs / 4 + 64);
    for (uint32_t seg = begin; seg < end && w.list->capacity; seg++)
        visit_segment(&w, seg);
}

hd_result hdi_barrier(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues, const hdi_hazards *hazards,
                      const hdi_synced *synced, const hdi_lifetimes *lifetimes, const hdi_placed *placed,
                      const hdi_merged *merged, const hdi_crew *crew, hdi_arena *arena, hdi_barriers *out)
{
    if (queues->count == 1)
        return hdi_barrier_one_queue(decl, frozen, hazards, lifetimes, placed, merged, crew, arena, out);
    hdi_arena_mark mark = hdi_arena_here(arena);
    hdi_request_list list[HDI_MOST_PARTS];
    hdi_arena_mark marks[HDI_MOST_PARTS];
    uint32_t ranges = hdi_range_count(crew, frozen->seg_count, GRAIN);
    for (uint32_t k = 0; k < ranges; k++)
        list[k] = (hdi_request_list){.arena = ranges > 1 ? &crew->arena[k] : arena};
    for (uint32_t k = 0; crew->cuts && k < HDI_MOST_PARTS; k++)
        marks[k] = hdi_arena_here(&crew->arena[k]);
    out->slot_wait_stages = HDI_ARENA_ZEROED(arena, uint64_t, hazards->slot_count);
    work w = {decl, frozen, queues, hazards, synced, lifetimes, placed, merged, list, out->slot_wait_stages};
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(crew, frozen->seg_count, GRAIN, visit_segments, &w);
    for (uint32_t k = 0; k < ranges; k++) {
        if (list[k].arena->failed)
            return HD_OUT_OF_MEMORY;
    }
    hd_result result = hdi_place_barriers(decl, frozen, queues, hazards, synced, merged, list, ranges, crew, arena, out);
    if (result != HD_OK)
        return result;
    for (uint32_t k = 0; crew->cuts && k < HDI_MOST_PARTS; k++)
        hdi_arena_keep(&crew->arena[k], marks[k], NULL, 0);
    const hdi_arena_kept out_arrays[] = {{&out->slot_wait_stages, hazards->slot_count * sizeof(*out->slot_wait_stages)},
                                         {&out->slot_pre, hazards->slot_count * sizeof(*out->slot_pre)},
                                         {&out->slot_post, hazards->slot_count * sizeof(*out->slot_post)},
                                         {&out->batch, out->batch_count * sizeof(*out->batch)},
                                         {&out->barrier, out->barrier_count * sizeof(*out->barrier)}};
    hdi_arena_keep(arena, mark, out_arrays, 5);
    return HD_OK;
}
