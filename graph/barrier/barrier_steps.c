/* Which barriers the steps of a range of segments need, and between which two points of its queue each must stand. All
 * that stands before the first use of one queue and behind uses of one queue, or behind none, and before reads of
 * several of the GPU's, that is nearly all, is written as it is, by tables that nobody writes to. What else there is
 * goes by barrier_odd.c, where a step is told in a structure that fits all of them. O(entries). Compiled twice, as
 * barrier_ask.h says. */
#include "barrier_ask.h"

/* What is looked at for each of them. Nobody else has its address, so that no store makes it be loaded again. */
typedef struct tables {
    const uint32_t *seg_epoch_begin, *seg_epoch_end, *seg_res, *res_seg_begin, *slot_pos, *slot_pass, *tenant;
    const hdi_epoch *epochs;
    const hdi_kind *kinds;
    const hdi_tenants *res_tenants;
    const uint8_t *res_flags;
    const uint16_t *res_queues;
    const hdi_stay *stay;
    size_t queue_count;
} tables;

/* What the first use of a segment looks at, all over a table that is long in a long frame: stays of the first and of
 * the last of its former tenants, on their first queue and on the last one. A loop over them, or a look at how many
 * queues they were on, is a branch that cannot be foreseen and costs as much as is won. */
enum { AHEAD = 8 }; /* segments */
static HDI_INLINE void fetch_tenant(const work *w, uint32_t tenant)
{
    const hdi_stay *stays = &w->stay[(size_t)tenant * w->queue_count];
    HDI_FETCH(stays + __builtin_ctz(w->res_queues[tenant] | 1u << (HD_MAX_QUEUES - 1)));
    HDI_FETCH(stays + w->queue_count - 1);
}

static HDI_INLINE void fetch_tenants(const work *w, uint32_t seg)
{
    hdi_tenants of = w->res_tenants[w->frozen->seg_res[seg]];
    uint32_t any = 0 - (uint32_t)(of.begin != of.end); /* else resource 0 is asked for: lists may have gaps */
    fetch_tenant(w, w->tenant[of.begin & any] & any);
    fetch_tenant(w, w->tenant[(of.end - 1) & any] & any);
}

/* Who had the memory before. */
typedef struct former {
    uint64_t stages, writes; /* of those on the queue of who comes */
    uint32_t low;            /* behind all of them */
    uint32_t others;         /* queues of all of them, but for that one */
} former;

static HDI_INLINE former add_own(const hdi_stay *stay, former f)
{
    uint32_t behind = 2 * stay->last + 1;
    f.low = behind > f.low ? behind : f.low;
    f.stages |= stay->tail_stages;
    f.writes |= stay->tail_writes;
    return f;
}

/* Of several. What all of them did on the queue of who comes counts on the semaphores, too. */
static HDI_APART void add_formers(const work *w, const tables *k, hdi_tenants of, const newcomer *n, former *f)
{
    const uint32_t *begin = k->tenant + of.begin, *end = k->tenant + of.end, own = 1u << n->queue;
    former all = {0};
    for (const uint32_t *t = begin; t < end; t++) {
        uint32_t mask = k->res_queues[*t];
        all.others |= mask & ~own;
        if (mask & own)
            all = add_own(&k->stay[*t * k->queue_count + n->queue], all);
    }
    for (const uint32_t *t = begin; all.others && t < end; t++)
        all.low =
            after_stays(w, &k->stay[*t * k->queue_count], k->res_queues[*t] & ~own, n, n->stages | all.stages, all.low);
    *f = all;
}

/* Mostly there is one, and nothing is to be kept in registers for loops. */
static HDI_INLINE former formers_of(const work *w, const tables *k, hdi_tenants of, newcomer n)
{
    former f = {0};
    if (HDI_LIKELY(of.begin + 1 == of.end)) {
        uint32_t tenant = k->tenant[of.begin], mask = k->res_queues[tenant], own = 1u << n.queue;
        const hdi_stay *stays = &k->stay[tenant * k->queue_count];
        if (mask & own)
            f = add_own(&stays[n.queue], f);
        f.others = mask & ~own;
        f.low = after_stays(w, stays, f.others, &n, n.stages | f.stages, f.low);
    } else if (of.begin < of.end) {
        const newcomer copy = n;
        former all;
        add_formers(w, k, of, &copy, &all);
        f = all;
    }
    f.writes &= HDI_WRITE_BITS;
    return f;
}

/* What they wrote is flushed behind those who did. */
static HDI_APART cursor flush_former(work *w, cursor c, const former *f, hdi_tenants of, uint32_t queue, uint32_t place,
                                     uint32_t pass, uint32_t res)
{
    uint32_t low = 0;
    for (uint32_t t = of.begin; t < of.end; t++) {
        uint32_t tenant = w->tenant[t];
        const hdi_stay *stay = &w->stay[(size_t)tenant * w->queue_count + queue];
        if (w->res_queues[tenant] >> queue & 1 && stay->tail_writes && 2 * stay->last + 1 > low)
            low = 2 * stay->last + 1;
    }
    return flush(w, c, f->stages, f->writes, low, place, pass, res);
}

/* The first use, maybe of memory that others had before. An image's barrier covers no writes through other resources,
 * and elements of one command do not chain: pending writes are flushed before. */
static HDI_INLINE cursor begin(work *w, const tables *k, cursor c, uint32_t res, uint32_t odd, uint32_t seg,
                               const hdi_epoch *epoch)
{
    const hdi_tenants tenants = k->res_tenants[res];
    uint32_t queue = (uint32_t)__builtin_ctz(epoch->queue_mask);
    uint32_t pos = k->slot_pos[epoch->first];
    const scope to = hdi_wanted(k->kinds, epoch->kind);
    former f = formers_of(w, k, tenants, (newcomer){queue, pos, to.stages});
    uint32_t place = w->place_begin[queue] + 2 * pos, kind = 0;
    cause why = {HD_REASON_ALIAS, k->slot_pass[epoch->first]};
    if (odd & HDI_RES_BUFFER) {
        if (!f.stages)
            return c;
        return add_global(w, c, f.low, place, 0, (scopes){made(w, f.stages, f.writes, 0, 0), to}, why, res);
    }
    if (HDI_UNLIKELY(f.writes)) {
        const former copy = f;
        c = flush_former(w, c, &copy, tenants, queue, place, why.pass, res);
        kind = HDI_FOLLOWS;
    }
    if (!f.stages) {
        why.reason = f.others ? HD_REASON_ALIAS : HD_REASON_FIRST_USE;
        f.stages = f.others ? to.stages : 0; /* chains with the semaphore wait */
    }
    return add_part(w, c, f.low, place, kind, (scopes){made(w, f.stages, 0, 0, 0), to}, why, res, odd, seg, no_move);
}

/* Behind a use of the same queue alone. */
static HDI_INLINE cursor go_on(const work *w, const tables *k, cursor c, uint32_t res, uint32_t odd, uint32_t seg,
                               const hdi_epoch *epoch, bool plain)
{
    const hdi_kind *from = &k->kinds[epoch[-1].kind], *to = &k->kinds[epoch->kind];
    uint32_t slot = epoch->first, low = 2 * (plain ? k->slot_pos : w->slot_last)[epoch[-1].last] + 1;
    uint32_t place = w->place_begin[__builtin_ctz(epoch->queue_mask)] + 2 * (plain ? k->slot_pos : w->slot_first)[slot];
    cause why = {hdi_step_reason(from->flags, to->flags), k->slot_pass[slot]};
    scopes does = {hdi_left(k->kinds, epoch[-1].kind), hdi_wanted(k->kinds, epoch->kind)};
    if (from->layout == to->layout)
        return add_global(w, c, low, place, 0, does, why, res);
    return add_part(w, c, low, place, 0, does, why, res, odd, seg, no_move);
}

/* Reads of one queue behind a use of another one alone: the semaphore has done it, but for the layout, whose change
 * chains with the wait. */
static HDI_INLINE cursor take_over(work *w, const tables *k, cursor c, uint32_t res, uint32_t odd, uint32_t seg,
                                   const hdi_epoch *epoch, bool plain)
{
    const hdi_kind *from = &k->kinds[epoch[-1].kind], *to = &k->kinds[epoch->kind];
    uint32_t queue = (uint32_t)__builtin_ctz(epoch->queue_mask), other = (uint32_t)__builtin_ctz(epoch[-1].queue_mask);
    uint32_t slot = epoch->first, pos = k->slot_pos[slot];
    uint32_t known = rely_on(w, queue, other, k->slot_pos[epoch[-1].last], pos, to->dst_stages);
    if (from->layout == to->layout)
        return c;
    cause why = {hdi_step_reason(from->flags, to->flags), k->slot_pass[slot]};
    scopes does = {made(w, to->dst_stages, 0, from->layout, 0), hdi_wanted(k->kinds, epoch->kind)};
    return add_part(w, c, 2 * known, w->place_begin[queue] + 2 * (plain ? pos : w->slot_first[slot]), 0, does, why, res,
                    odd, seg, no_move);
}

/* Release and acquire, behind a use of one queue. */
static HDI_APART cursor hand_over(work *w, cursor c, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *epoch)
{
    const uint64_t all = HDI_STAGE_ALL_COMMANDS;
    const hdi_kind *from = kind_of(w, epoch - 1), *to = kind_of(w, epoch);
    uint32_t source = (uint32_t)__builtin_ctz(epoch[-1].queue_mask);
    uint32_t target = (uint32_t)__builtin_ctz(epoch->queue_mask);
    uint32_t pos = w->slot_pos[epoch->first], before = w->slot_pos[epoch[-1].last], pass = w->slot_pass[epoch->first];
    move by = {source, target};
    scopes gives = {left_by(w, epoch - 1), made(w, all, 0, to->layout, UINT32_MAX)},
           takes = {made(w, to->dst_stages, 0, from->layout, 0), wanted_by(w, epoch)};
    c = add_part(w, c, 2 * w->slot_last[epoch[-1].last] + 1, w->place_begin[source] + submit_end(w, source, before),
                 HDI_MOVES, gives, (cause){HD_REASON_RELEASE, pass}, res, odd, seg, by);
    uint32_t known = rely_on(w, target, source, before, pos, all);
    return add_part(w, c, 2 * known, w->place_begin[target] + 2 * w->slot_first[epoch->first], HDI_MOVES, takes,
                    (cause){HD_REASON_ACQUIRE, pass}, res, odd, seg, by);
}

/* Behind a use of one queue, reads of several, none of which is the host's: theirs count on semaphores, but for those
 * of the same queue. A layout is changed for all of them, of which the others stand behind the semaphore, which
 * ALL_COMMANDS reaches. */
static HDI_APART cursor produce(work *w, cursor c, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *epoch)
{
    const hdi_kind *from = kind_of(w, epoch - 1), *to = kind_of(w, epoch);
    uint32_t queue = (uint32_t)__builtin_ctz(epoch[-1].queue_mask), others = epoch->queue_mask & ~(1u << queue);
    uint32_t pos = w->slot_pos[epoch[-1].last], low = 2 * w->slot_last[epoch[-1].last] + 1,
             begin = w->place_begin[queue];
    hdi_side behind[HD_MAX_QUEUES];
    const hdi_side *own = &behind[queue];
    hdi_find_sides(w, epoch, behind);
    for (uint32_t mask = others; mask; mask &= mask - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(mask);
        rely_on(w, k, queue, pos, behind[k].first, behind[k].stages);
    }
    cause why = {hdi_step_reason(from->flags, to->flags), w->slot_pass[epoch->first]};
    uint32_t high = UINT32_MAX, end; /* of none, behind all points */
    if (own->first != HDI_NONE)
        high = 2 * w->slot_first[w->slots[queue][own->first]];
    if (from->layout == to->layout) {
        if (own->first == HDI_NONE)
            return c;
        why.pass = w->slot_pass[w->slots[queue][own->first]];
        scopes does = {left_by(w, epoch - 1), made(w, own->stages, own->access, 0, 0)};
        return add_global(w, c, low, begin + high, 0, does, why, res);
    }
    end = submit_end(w, queue, pos);
    high = high < end ? high : end;
    uint64_t stages = own->stages | (others ? HDI_STAGE_ALL_COMMANDS : 0);
    scopes does = {left_by(w, epoch - 1), made(w, stages, own->access, to->layout, UINT32_MAX)};
    return add_part(w, c, low, begin + high, 0, does, why, res, odd, seg, no_move);
}

/* What is rare. */
static HDI_APART cursor other_step(work *w, cursor c, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *epoch)
{
    leave_at(w, c);
    VISIT_ODD_STEP(w, res, odd, seg, epoch);
    return cursor_of(w);
}

/* Both are attachments of one rendering scope, whose accesses are in order as they are. */
static HDI_INLINE bool in_one_scope(const work *w, const hdi_epoch *before, const hdi_epoch *behind)
{
    uint32_t a = before->first, b = behind->first;
    return behind->place == HDI_PLACE_CONSUMER && w->slot_queue[a] == w->slot_queue[b] &&
           w->slot_first[a] == w->slot_first[b];
}

/* plain: no scopes are shared and no slots are extra ones. Else first uses are no matter of this file. whole: each
 * resource is one segment. */
static HDI_INLINE void visit_segments(work *w, uint32_t seg, uint32_t end, bool plain, bool whole)
{
    const tables k = {.seg_epoch_begin = w->hazards->seg_epoch_begin,
                      .seg_epoch_end = w->hazards->seg_epoch_end,
                      .seg_res = w->frozen->seg_res,
                      .res_seg_begin = w->frozen->res_seg_begin,
                      .slot_pos = w->slot_pos,
                      .slot_pass = w->slot_pass,
                      .tenant = w->tenant,
                      .epochs = w->epochs,
                      .kinds = w->kinds,
                      .res_tenants = w->res_tenants,
                      .res_flags = w->res_flags,
                      .res_queues = w->res_queues,
                      .stay = w->stay,
                      .queue_count = w->queue_count};
    cursor c = cursor_of(w);
    _Static_assert(!(HDI_SEVERAL & (HDI_RES_BUFFER | HDI_RES_LEVELS)), "side by side in one word");
    const bool fetches = !WHOLE && w->fetches;
    for (; seg < end; seg++) {
        if (fetches)
            fetch_tenants(w, seg + AHEAD < end ? seg + AHEAD : seg);
        size_t first = k.seg_epoch_begin[seg], count = k.seg_epoch_end[seg] - first;
        if ((ptrdiff_t)count <= 0)
            continue;
        const hdi_epoch *epoch = k.epochs + first;
        size_t res = whole ? seg : k.seg_res[seg];
        uint32_t flags = k.res_flags[res];
        bool several = !whole && k.res_seg_begin[res + 1] - k.res_seg_begin[res] > 1;
        uint32_t odd = (flags & (HDI_RES_BUFFER | HDI_RES_LEVELS)) | (several ? HDI_SEVERAL : 0);
        if (!plain ||
            HDI_UNLIKELY(flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY) || epoch->place != HDI_PLACE_CONSUMER)) {
            leave_at(w, c);
            VISIT_FIRST_STEP(w, (uint32_t)res, odd, seg, epoch);
            c = cursor_of(w);
        } else {
            c = begin(w, &k, c, (uint32_t)res, odd, seg, epoch);
        }
        while (--count) {
            epoch++;
            uint32_t before = epoch[-1].queue_mask;
            bool consumer = epoch->place == HDI_PLACE_CONSUMER;
            if (!plain && w->merges && in_one_scope(w, epoch - 1, epoch))
                continue;
            if (consumer && before == epoch->queue_mask)
                c = go_on(w, &k, c, (uint32_t)res, odd, seg, epoch, plain);
            else if (HDI_UNLIKELY(before & (before - 1)))
                c = other_step(w, c, (uint32_t)res, odd, seg, epoch);
            else if (consumer && epoch->flags != HDI_EPOCH_WRITES)
                c = take_over(w, &k, c, (uint32_t)res, odd, seg, epoch, plain);
            else if (epoch->place == HDI_PLACE_TRANSFER)
                c = hand_over(w, c, (uint32_t)res, odd, seg, epoch);
            else if (epoch->place == HDI_PLACE_PRODUCER && epoch->flags == HDI_EPOCH_READS &&
                     !((before | epoch->queue_mask) & ~w->gpu_mask))
                c = produce(w, c, (uint32_t)res, odd, seg, epoch);
            else
                c = other_step(w, c, (uint32_t)res, odd, seg, epoch);
        }
    }
    leave_at(w, c);
}

static HDI_APART HDI_SCALAR void visit_whole(work *w, uint32_t begin, uint32_t end)
{
    visit_segments(w, begin, end, true, true);
}

static HDI_APART HDI_SCALAR void visit_plain(work *w, uint32_t begin, uint32_t end)
{
    visit_segments(w, begin, end, true, false);
}

static HDI_APART HDI_SCALAR void visit_others(work *w, uint32_t begin, uint32_t end)
{
    visit_segments(w, begin, end, false, false);
}

void VISIT_SEGMENTS(work *w, uint32_t begin, uint32_t end)
{
    if (w->merges || w->has_extras)
        visit_others(w, begin, end);
    else
        (w->frozen->seg_count == w->decl->res_count ? visit_whole : visit_plain)(w, begin, end);
}

/* Of requests that were made without a look at it: where each lies, and how many in each region. */
static void tell_regions(const work *w, hdi_request *item, uint32_t count, uint32_t *in_region)
{
    memset(in_region, 0, w->hazards->region_count * sizeof(*in_region));
    for (hdi_request *end = item + count; item < end; item++) {
        item->region = w->place_region[item->place];
        in_region[item->region]++;
    }
}

void VISIT_STEPS(uint32_t begin, uint32_t end, uint32_t part, void *user)
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
    VISIT_SEGMENTS(&w, begin, end);
    list->count = (uint32_t)(w.item - item);
    list->full = w.full;
    if (!w.requests->order)
        return;
    if (WHOLE)
        tell_regions(&w, item, list->count, list->region_begin);
    hdi_sort_requests(w.hazards->region_count, w.requests->item, w.requests->order, list);
}
