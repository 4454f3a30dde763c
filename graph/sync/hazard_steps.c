#include "hazard_work.h"

#include <string.h>

#include "hints.h"

/* Where each step between two epochs stands, for segments that more than one queue or the host uses, and which slots
 * must wait for slots of other queues.
 *
 *   consumer   the new epoch lives on one GPU queue: the barrier stands before its first use
 *   producer   several queues, or the host, come next: the barrier stands behind the last use, before the signal
 *   transfer   ownership moves: release behind the last use, acquire before the first
 *   extra      several queues before and behind: a slot of its own that holds only the barrier
 *
 * O(uses of those segments). */

typedef hdi_hazard_work work;

/* What one extra slot waits for, or what waits for it, is kept until they have numbers. */
static void add_edge(work *w, uint32_t from, uint32_t to)
{
    uint32_t slots = w->schedule->slot_count;
    if (from < slots && to < slots)
        hdi_want(w->out, w->queues->count, w->out->slot_want, from, to, w->alone);
    else if (hdi_arena_grow(w->arena, &w->edges, &w->edge_capacity, w->edge_count, w->edge_count + 1, sizeof(hdi_edge)))
        w->edges[w->edge_count++] = (hdi_edge){from, to};
}

/* A step may need a second barrier. Several workers do not count, as each range of segments wants to know its own. */
static inline void count_second(const work *w)
{
    if (w->alone)
        w->out->second_count++;
}

static bool is_single(uint32_t mask)
{
    return mask && !(mask & (mask - 1));
}

static uint32_t lowest(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

/* The extra slot on a queue before a slot; one serves all who need it there. */
static uint32_t extra_slot(work *w, uint32_t before, uint32_t queue)
{
    hdi_extras *extras = &w->extras;
    uint32_t slots = w->schedule->slot_count, count = extras->count;
    if (!extras->at) {
        extras->at = HDI_ARENA_ARRAY(w->arena, uint32_t, (size_t)slots + 1);
        if (!extras->at)
            return HDI_NONE;
        memset(extras->at, 0xff, ((size_t)slots + 1) * sizeof(*extras->at));
    }
    for (uint32_t x = extras->at[before]; x != HDI_NONE; x = extras->extra[x].next) {
        if (extras->extra[x].queue == queue)
            return slots + x;
    }
    if (!hdi_arena_grow(w->arena, &extras->extra, &extras->capacity, count, count + 1, sizeof(hdi_extra)))
        return HDI_NONE;
    extras->extra[count] = (hdi_extra){queue, extras->at[before]};
    extras->at[before] = extras->count++;
    return slots + count;
}

/* Edges from every queue of the epoch before, but the one that the target is on. */
static void edges_from(work *w, const hdi_epoch *before, uint32_t queue, uint32_t target)
{
    uint32_t last[HD_MAX_QUEUES], mask = before->queue_mask & ~(1u << queue);
    if (is_single(before->queue_mask)) {
        if (mask)
            add_edge(w, before->last, target);
        return;
    }
    const uint8_t *slot_queue = w->schedule->slot_queue;
    uint32_t seen = 0;
    for (uint32_t i = before->more; i != HDI_NONE; i = w->out->entry[i].older) {
        uint32_t slot = w->out->entry[i].slot, q = slot_queue[slot];
        last[q] = seen >> q & 1 ? last[q] : slot;
        seen |= 1u << q;
    }
    if (!(seen >> slot_queue[before->first] & 1))
        last[slot_queue[before->first]] = before->first;
    for (; mask; mask &= mask - 1)
        add_edge(w, last[lowest(mask)], target);
}

/* The first slot of the epoch on each of its queues. */
static void first_slots(const work *w, const hdi_epoch *epoch, uint32_t first[HD_MAX_QUEUES])
{
    for (uint32_t i = is_single(epoch->queue_mask) ? HDI_NONE : epoch->more; i != HDI_NONE; i = w->out->entry[i].older)
        first[w->schedule->slot_queue[w->out->entry[i].slot]] = w->out->entry[i].slot;
    first[w->schedule->slot_queue[epoch->first]] = epoch->first;
}

static void edges_to(work *w, uint32_t source, uint32_t queue, const hdi_epoch *behind)
{
    uint32_t first[HD_MAX_QUEUES];
    first_slots(w, behind, first);
    for (uint32_t mask = behind->queue_mask & ~(1u << queue); mask; mask &= mask - 1)
        add_edge(w, source, first[lowest(mask)]);
}

/* The first GPU queue that uses a resource, or the one that it takes turns with: there stand barriers for the host,
 * which owns nothing. */
static uint32_t first_gpu_queue(const work *w, uint32_t res)
{
    const hdi_hazards *out = w->out;
    uint32_t best = HDI_NONE, pair = w->decl->res_pair[res];
    for (uint32_t seg = w->frozen->res_seg_begin[res]; seg < w->frozen->res_seg_begin[res + 1]; seg++) {
        for (uint32_t e = out->seg_epoch_begin[seg]; e < out->seg_epoch_end[seg]; e++) {
            const hdi_epoch *epoch = &out->epoch[e];
            if (!(epoch->queue_mask & w->gpu_mask))
                continue;
            uint32_t first[HD_MAX_QUEUES];
            first_slots(w, epoch, first);
            for (uint32_t mask = epoch->queue_mask & w->gpu_mask; mask; mask &= mask - 1)
                best = first[lowest(mask)] < best ? first[lowest(mask)] : best;
        }
    }
    if (best == HDI_NONE && pair != HDI_NONE && pair > res) /* a history stands behind what it is of */
        return first_gpu_queue(w, pair);
    return best == HDI_NONE ? 0 : w->schedule->slot_queue[best];
}

/* First uses want nothing before them, so that one slot before all others of a queue serves all of those: who comes
 * first waits for it, and for the others there is nothing left to wait for. */
static void place_extra(work *w, uint32_t res, const hdi_epoch *before, hdi_epoch *behind)
{
    uint32_t gpu = behind->queue_mask & w->gpu_mask;
    if (!gpu && before)
        gpu = before->queue_mask & w->gpu_mask;
    uint32_t queue = gpu ? lowest(gpu) : first_gpu_queue(w, res);
    bool is_final = (behind->flags & HDI_EPOCH_FINAL) != 0;
    uint32_t next = is_final ? w->schedule->slot_count : before ? behind->first : 0;
    behind->place = HDI_PLACE_EXTRA;
    behind->extra = extra_slot(w, next, queue);
    if (before)
        edges_from(w, before, queue, behind->extra);
    if (!is_final)
        edges_to(w, behind->extra, queue, behind);
}

/* Into an epoch on several queues, or the host's. False: it needs an extra slot, and may_add forbids it. */
static bool place_step(work *w, uint32_t res, const hdi_epoch *before, hdi_epoch *behind, bool may_add)
{
    uint32_t to = behind->queue_mask, from = before ? before->queue_mask : 0;
    if (is_single(from) && (from & w->gpu_mask)) {
        behind->place = HDI_PLACE_PRODUCER;
        if (to & ~from)
            edges_to(w, before->last, lowest(from), behind);
        return true;
    }
    uint32_t layout = before ? hdi_epoch_layout(w->out, before) : hdi_initial_layout(w->decl, w->out, res);
    if (!(w->decl->res_flags[res] & HDI_RES_BUFFER) && layout != hdi_epoch_layout(w->out, behind)) {
        if (may_add)
            place_extra(w, res, before, behind);
        return may_add;
    }
    behind->place = HDI_PLACE_NONE;
    if (!before)
        return true;
    /* Semaphores do it all: what the host wrote is visible behind a wait, and a host write only waits. */
    uint32_t first[HD_MAX_QUEUES];
    first_slots(w, behind, first);
    for (uint32_t mask = to; mask; mask &= mask - 1)
        edges_from(w, before, lowest(mask), first[lowest(mask)]);
    return true;
}

/* Into an epoch on one GPU queue, which others were on before. Ownership of what is exclusive moves between families,
 * unless the content is thrown away. */
static HDI_INLINE void take_over(work *w, bool exclusive, const hdi_epoch *before, hdi_epoch *behind)
{
    uint32_t from = before->queue_mask, gpus = from & w->gpu_mask, to = lowest(behind->queue_mask);
    if (exclusive && gpus && behind->flags & HDI_EPOCH_READS && !(w->family_mask[to] >> lowest(gpus) & 1)) {
        behind->place = HDI_PLACE_TRANSFER;
        count_second(w);
    }
    if (is_single(from))
        hdi_raise_want(&w->out->slot_want[(size_t)behind->first * w->queues->count + lowest(from)],
                       w->out->slot_pos[before->last] + 1, w->alone);
    else
        edges_from(w, before, to, behind->first);
}

static bool place_final(work *w, uint32_t res, const hdi_epoch *before, hdi_epoch *final, bool may_add)
{
    if (before && is_single(before->queue_mask) && (before->queue_mask & w->gpu_mask))
        final->place = HDI_PLACE_PRODUCER;
    else if (may_add)
        place_extra(w, res, before, final);
    else
        return false;
    return true;
}

/* False: it needs an extra slot, and may_add forbids it. */
static HDI_APART bool place_other(work *w, uint32_t res, const hdi_epoch *before, hdi_epoch *behind, bool may_add)
{
    bool is_final = (behind->flags & HDI_EPOCH_FINAL) != 0;
    if (w->queues->host != HDI_NONE) /* which may need one of its own */
        count_second(w);
    return is_final ? place_final(w, res, before, behind, may_add) : place_step(w, res, before, behind, may_add);
}

bool hdi_place_segment(hdi_hazard_work *w, uint32_t seg, bool may_add)
{
    const hdi_hazards *out = w->out;
    uint32_t res = w->frozen->seg_res[seg], from = 0;
    bool exclusive = !out->res_concurrent[res];
    hdi_epoch *before = NULL, *behind = &out->epoch[out->seg_epoch_begin[seg]],
              *end = &out->epoch[out->seg_epoch_end[seg]];
    for (; behind < end; before = behind++) { /* as kinds have it, a step stands before the first use */
        uint32_t to = behind->queue_mask;
        if (HDI_LIKELY(is_single(to) && (to & w->gpu_mask))) {
            if (from & ~to)
                take_over(w, exclusive, before, behind);
        } else if (!place_other(w, res, before, behind, may_add)) {
            return false;
        }
        from = to;
    }
    return true;
}
