#include "barrier_work.h"

#include <string.h>

/* The barriers of a region, step after step in the order of the slots, with the events of the region in between, by
 * their ends. A step between uses of one queue asks for a barrier between its last use and this one. Behind uses of
 * other queues it chains with the semaphore. A first use comes behind the former tenants of its memory. The scopes of a
 * barrier are written where it will stand even before it is known whether there will be one. What seldom happens is
 * apart. O(steps + tenants). */

typedef hdi_barrier_work work;
typedef hdi_walker walker;

_Static_assert(offsetof(hdi_record, src_access) == offsetof(hdi_record, src_stages) + sizeof(uint64_t) &&
                   offsetof(hdi_record, dst_access) == offsetof(hdi_record, dst_stages) + sizeof(uint64_t) &&
                   offsetof(hdi_kind, src_access) == offsetof(hdi_kind, src_stages) + sizeof(uint64_t) &&
                   offsetof(hdi_kind, dst_access) == offsetof(hdi_kind, dst_stages) + sizeof(uint64_t),
               "stages and access are copied together");

/* ---- former tenants ---- */

/* What those of a resource leave to a use on a queue. */
typedef struct former {
    uint64_t stages, writes; /* of those on this queue */
    uint32_t low;            /* the earliest point behind all of them */
    bool others;             /* some were on other queues */
} former;

static HDI_INLINE former add_former(former f, const hdi_stay *stay, uint32_t behind)
{
    HDI_HIDE(behind); /* there are few: one after another */
    f.low = behind > f.low ? behind : f.low;
    f.stages |= stay->tail_stages;
    f.writes |= stay->tail_writes;
    return f;
}

/* Of one queue, where places are slots. */
static HDI_INLINE former formers_of(const work *w, const hdi_tenants *of, bool merges)
{
    former f = {0};
    for (const uint32_t *t = w->tenant + of->begin, *end = w->tenant + of->end; t < end; t++) {
        const hdi_stay *stay = &w->stay[*t];
        f = add_former(f, stay, merges ? hdi_behind_slot(w, stay->last) : 2 * stay->last + 1);
    }
    f.writes &= HDI_WRITE_BITS;
    return f;
}

/* Queues that a former tenant was on. Where there are extra slots it may have one on a queue that does not use it: on
 * any, unless it was on one GPU queue alone. */
static HDI_INLINE uint32_t queues_of(const work *w, uint32_t tenant)
{
    uint32_t mask = w->hazards->res_queues[tenant];
    if (HDI_LIKELY(!w->hazards->extra_count) || (!(mask & (mask - 1)) && mask & w->gpu_mask))
        return mask;
    for (uint32_t q = 0; q < w->queues->count; q++)
        mask |= (uint32_t)(w->stay[(size_t)tenant * w->queues->count + q].first != HDI_NONE) << q;
    return mask;
}

/* Of several: those on other queues are behind the semaphores, which stages of the use count on, and what former
 * tenants did on its queue. */
static HDI_APART void find_formers(const work *w, const hdi_tenants *of, uint32_t queue, uint32_t slot, uint64_t stages,
                                   former *out)
{
    const hdi_hazards *hazards = w->hazards;
    const uint32_t *const begin = w->tenant + of->begin, *const end = w->tenant + of->end, own = 1u << queue;
    const size_t queues = w->queues->count;
    former f = {0};
    uint32_t all = 0;
    for (const uint32_t *t = begin; t < end; t++) {
        uint32_t mask = queues_of(w, *t);
        const hdi_stay *stay = &w->stay[*t * queues + queue];
        all |= mask;
        if (mask & own)
            f = add_former(f, stay, hdi_behind_slot(w, hdi_slot_at(hazards, queue, stay->last)));
    }
    f.others = (all & ~own) != 0;
    for (const uint32_t *t = begin; f.others && t < end; t++) {
        const hdi_stay *stays = &w->stay[*t * queues];
        for (uint32_t mask = queues_of(w, *t) & ~own; mask; mask &= mask - 1) {
            uint32_t q = (uint32_t)__builtin_ctz(mask),
                     point = 2 * hdi_rely_on(w, queue, slot, (size_t)hazards->queue_begin[q] + stays[q].last,
                                             stages | f.stages);
            f.low = point > f.low ? point : f.low;
        }
    }
    f.writes &= HDI_WRITE_BITS;
    *out = f;
}

static HDI_INLINE former formers_on(const work *w, uint32_t res, uint32_t queue, uint32_t slot, uint64_t stages)
{
    former f = {0};
    if (w->res_tenants[res].begin < w->res_tenants[res].end)
        find_formers(w, &w->res_tenants[res], queue, slot, stages, &f);
    return f;
}

/* Pending writes of former tenants of an image: its own barrier covers no writes through other resources, and elements
 * of one command do not chain, so that they are flushed by a global barrier in a command before, behind what left
 * writes. Returns the earliest point behind that. */
static HDI_APART uint32_t flush(walker *k, const former *f, uint32_t queue, uint32_t high, hdi_cause why)
{
    const work *w = k->w;
    const hdi_hazards *hazards = w->hazards;
    uint32_t low = 0, before = hdi_slot_at(hazards, queue, hazards->slot_pos[high / 2] - 1);
    for (uint32_t t = w->res_tenants[why.res].begin; t < w->res_tenants[why.res].end; t++) {
        uint32_t tenant = w->tenant[t];
        const hdi_stay *stay = &w->stay[(size_t)tenant * w->queues->count + queue];
        if ((w->queues->count > 1 && !(queues_of(w, tenant) >> queue & 1)) || !stay->tail_writes)
            continue;
        uint32_t behind = hdi_behind_slot(w, hdi_slot_at(hazards, queue, stay->last));
        low = behind > low ? behind : low;
    }
    hdi_write_record(k->to.next, (hdi_scopes){f->stages, f->writes, f->stages, 0}, HD_NONE, 0, 0, why);
    uint32_t at = hdi_keep_flush(k, queue, low, 2 * before + 1, high);
    return at + 1 > f->low ? at + 1 : f->low;
}

/* ---- steps ---- */

/* Behind uses of other queues, or of these and of its own: the semaphores have done it, but for a layout, whose change
 * chains with the wait, and for what was done on its own queue. */
static HDI_APART void cross(walker *k, const hdi_step *step)
{
    const work *w = k->w;
    const hdi_hazards *hazards = w->hazards;
    const hdi_step *last = &hazards->step[step->before - 1];
    const hdi_kind *to = hdi_kind_of(hazards, step->to), *from = hdi_kind_of(hazards, last->to);
    uint32_t queue = step->to >> HDI_QUEUE_SHIFT, queues = hdi_step_queues(hazards, last), low = 0,
             reason = hdi_step_reason(from->flags, to->flags);
    bool moves = hdi_is_transfer(w, step, queues, queue);
    hdi_side sides[HD_MAX_QUEUES];
    const hdi_kind *own = NULL;
    uint32_t count = hdi_find_sides(hazards, last, step->low, sides);
    if (reason == HD_REASON_READ_AFTER_WRITE)
        hdi_note_read(w, last);
    for (uint32_t i = 0; i < count; i++) {
        if (sides[i].to >> HDI_QUEUE_SHIFT == queue && !moves) {
            own = hdi_kind_of(hazards, sides[i].to);
            low = hdi_behind_slot(w, sides[i].last);
        }
    }
    uint64_t rely = moves ? HDI_STAGE_ALL_COMMANDS : to->dst_stages | (own ? own->src_stages : 0);
    for (uint32_t i = 0; i < count; i++) {
        if (sides[i].to >> HDI_QUEUE_SHIFT != queue) {
            uint32_t point = 2 * hdi_rely_on(w, queue, step->slot, hdi_last_place(w, &sides[i]), rely);
            low = point > low ? point : low;
        }
    }
    bool changes = moves || from->layout != to->layout || hdi_discards_for_family(w, step, queues, queue);
    if (!own && !changes)
        return;
    uint32_t high = hdi_before_slot(w, step->slot);
    hdi_scopes does = {own ? own->src_stages : to->dst_stages, own ? own->src_access : 0, to->dst_stages,
                       to->dst_access};
    hdi_cause why = {moves ? HD_REASON_ACQUIRE : reason, hazards->slot_pass[step->slot], w->frozen->seg_res[step->seg]};
    if (!changes) {
        if (reason == HD_REASON_WRITE_AFTER_READ && hdi_is_untouched(w, last))
            does.dst_access = 0;
        hdi_write_record(k->to.next, does, HD_NONE, 0, 0, why);
        hdi_keep_global(k, queue, low, high, k->to.number);
        return;
    }
    hdi_record *b = k->to.next;
    hdi_write_record(b, does, why.res, from->layout & to->keeps, to->layout, why);
    hdi_write_seg(&k->to, step->seg, w->parts);
    if (moves) {
        b->src_family = w->queues->family[__builtin_ctz(queues)];
        b->dst_family = w->queues->family[queue];
    }
    hdi_keep_part(k, queue, low, high, k->to.number, !moves && hdi_has_several(w->frozen, why.res));
}

/* several: queues. merges: rendering scopes are looked at. */
static HDI_INLINE void walk_steps(walker *k, const hdi_step *step, const hdi_step *end, bool several, bool merges)
{
    const work *w = k->w;
    const hdi_hazards *hazards = w->hazards;
    const hdi_kind *kinds = hazards->kind;
    const uint32_t *seg_res = w->frozen->seg_res, *slot_pass = hazards->slot_pass, gpu_count = w->queues->gpu_count;
    const uint8_t *res_flags = w->decl->res_flags;
    const bool parts = w->parts;
    for (; step < end; step++) {
        uint32_t queue = step->to >> HDI_QUEUE_SHIFT;
        if (HDI_UNLIKELY(queue >= gpu_count)) /* an event, or a gap */
            continue;
        queue = several ? queue : 0;
        if (several && HDI_UNLIKELY(step->to & HDI_CROSSES)) {
            cross(k, step);
            continue;
        }
        const hdi_kind *to = &kinds[step->to & HDI_KIND_BITS];
        hdi_record *b = k->to.next;
        uint32_t res = seg_res[step->seg], flags = res_flags[res],
                 high = merges ? hdi_before_slot(w, step->slot) : 2 * step->slot, low, old = 0, reason;
        memcpy(&b->dst_stages, &to->dst_stages, 2 * sizeof(b->dst_stages));
        if (step->low) {
            const hdi_step *before = &hazards->step[step->before - 1];
            const hdi_kind *from = &kinds[before->to & HDI_KIND_BITS];
            low = merges ? hdi_behind_slot(w, step->low - 1) : 2 * step->low - 1;
            reason = hdi_step_reason(from->flags, to->flags);
            memcpy(&b->src_stages, &from->src_stages, 2 * sizeof(b->src_stages));
            old = from->layout;
            if (reason == HD_REASON_READ_AFTER_WRITE)
                hdi_note_read(w, before);
            else if (HDI_UNLIKELY(before->low == 0 && reason == HD_REASON_WRITE_AFTER_READ &&
                                  old == to->layout && hdi_is_untouched(w, before)))
                b->dst_access = 0;
            if (merges && HDI_UNLIKELY(low > high))
                continue; /* uses of one scope's attachments go on without a barrier (merge.c) */
        } else { /* the first use, maybe of memory that others had before */
            const former f = several ? formers_on(w, res, queue, step->slot, to->dst_stages)
                                     : formers_of(w, &w->res_tenants[res], merges);
            low = f.low;
            reason = f.stages || f.others ? HD_REASON_ALIAS : HD_REASON_FIRST_USE;
            b->src_stages = f.stages;
            b->src_access = f.writes;
            if (!(flags & HDI_RES_BUFFER)) {
                if (HDI_UNLIKELY(f.writes)) {
                    const former copy = f;
                    low = flush(k, &copy, queue, high, (hdi_cause){reason, slot_pass[step->slot], res});
                    b = k->to.next;
                    b->src_stages = f.stages;
                    memcpy(&b->dst_stages, &to->dst_stages, 2 * sizeof(b->dst_stages));
                }
                if (several && f.others && !f.stages)
                    b->src_stages = to->dst_stages; /* chains with the semaphore wait */
                b->src_access = 0;
                if (HDI_UNLIKELY(flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY)))
                    old = hdi_initial_layout(w->decl, hazards, res);
            }
        }
        b->reason = reason;
        b->reason_pass = slot_pass[step->slot];
        b->reason_resource = res;
        if (HDI_UNLIKELY(old == to->layout)) {
            if (b->src_stages) /* else nothing was there before, or semaphores order it */
                hdi_keep_global(k, queue, low, high, k->to.number);
            continue;
        }
        b->resource = res;
        b->old_layout = old & to->keeps;
        b->new_layout = to->layout;
        b->src_family = b->dst_family = HD_NONE;
        bool joins = false;
        if (parts) {
            hdi_write_seg(&k->to, step->seg, true);
            joins = hdi_has_several(w->frozen, res);
        }
        hdi_keep_part(k, queue, low, high, k->to.number, joins);
    }
}

static HDI_APART void walk_barriers_of_one(walker *k, const hdi_step *step, const hdi_step *end)
{
    walk_steps(k, step, end, false, false);
}

static HDI_APART void walk_barriers_of_merged(walker *k, const hdi_step *step, const hdi_step *end)
{
    walk_steps(k, step, end, false, true);
}

static HDI_APART void walk_barriers_of_several(walker *k, const hdi_step *step, const hdi_step *end)
{
    walk_steps(k, step, end, true, true);
}

/* ---- a region ---- */

static void take_event(walker *k, const hdi_event *e)
{
    const hdi_record *b = hdi_record_at(k->to.out, e->barrier);
    if (b->resource == HD_NONE)
        hdi_keep_global(k, e->queue, e->low, e->high, e->barrier);
    else
        hdi_keep_part(k, e->queue, e->low, e->high, e->barrier,
                      b->src_family == HD_NONE && hdi_has_several(k->w->frozen, b->resource));
}

void hdi_walk_barriers(uint32_t region, void *user)
{
    work *w = user;
    hdi_barrier_region *r = &w->region[region];
    uint32_t slots = r[1].slot_begin - r->slot_begin, queues = w->queues->count;
    hdi_arena *own = hdi_crew_arena(w->crew, region, w->arena);
    walker k = {.w = w, .to = r->writer};
    k.lane = w->lane ? w->lane : HDI_ARENA_ARRAY(own, hdi_lane, queues);
    k.point = w->point ? w->point : HDI_ARENA_ARRAY(own, hdi_point, hdi_most_points(slots, queues));
    r->writer.failed |= own->failed;
    if (r->writer.failed)
        return;
    memset(k.lane, 0, queues * sizeof(*k.lane));
    void (*walk)(walker *, const hdi_step *, const hdi_step *) =
        queues > 1 ? walk_barriers_of_several : w->slot_first ? walk_barriers_of_merged : walk_barriers_of_one;
    const hdi_step *step = w->hazards->step + r->step_begin, *end = w->hazards->step + r[1].step_begin;
    for (uint32_t i = r->event_begin; i < r[1].event_begin; i++) {
        const hdi_event *e = &w->event[i];
        const hdi_step *next = step;
        while (next < end && 2 * next->slot < e->high)
            next++;
        walk(&k, step, next);
        step = next;
        take_event(&k, e);
    }
    walk(&k, step, end);
    hdi_write_batches(&k, region);
    r->writer.failed = k.to.failed;
}
