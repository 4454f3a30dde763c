#include "barrier_walk.h"

#include <string.h>

#include "barrier_host.h"

/* Steps where no scopes are shared, as in most frames. What the walk goes on with stays in registers, and each field of
 * a barrier is written once, where it stays, its scopes even before it is known whether there will be one. What seldom
 * happens goes by way of barrier_walk.c. O(steps). */

_Static_assert(offsetof(hd_plan_barrier, src_access) == offsetof(hd_plan_barrier, src_stages) + sizeof(uint64_t) &&
                   offsetof(hd_plan_barrier, dst_access) == offsetof(hd_plan_barrier, dst_stages) + sizeof(uint64_t) &&
                   offsetof(hdi_kind, src_access) == offsetof(hdi_kind, src_stages) + sizeof(uint64_t) &&
                   offsetof(hdi_kind, dst_access) == offsetof(hdi_kind, dst_stages) + sizeof(uint64_t),
               "stages and access are copied together");

/* What the walk goes on with. */
typedef struct place {
    hd_plan_barrier *next;
    uint32_t newest_end;
} place;

static HDI_INLINE place take(const hdi_walker *k)
{
    return (place){k->next, k->newest_end};
}

static HDI_INLINE void give(hdi_walker *k, const place *at)
{
    k->next = at->next;
    k->newest_end = at->newest_end;
}

/* Who had the memory of a resource before. */
typedef struct tenants {
    uint64_t stages, writes;
    uint32_t low;
} tenants;

static HDI_INLINE tenants tenants_of(const hdi_tenants *of, const uint32_t *tenant, const hdi_stay *stays)
{
    tenants t = {0};
    for (const uint32_t *i = tenant + of->begin, *end = tenant + of->end; i < end; i++) {
        const hdi_stay *stay = &stays[*i];
        uint32_t behind = 2 * stay->last + 1;
        HDI_HIDE(behind); /* there are few: one after another */
        t.low = behind > t.low ? behind : t.low;
        t.stages |= stay->tail_stages;
        t.writes |= stay->tail_writes;
    }
    t.writes &= HDI_WRITE_BITS;
    return t;
}

/* The same beside the host's queue, where stays are in pairs, and of places. No tenant was on that: what the host uses
 * lies in heaps of its own. */
static HDI_INLINE tenants tenants_beside(const hdi_one_work *w, size_t res)
{
    tenants t = {0};
    const hdi_tenants *of = &w->res_tenants[res];
    const uint32_t *slots = w->beside->slots;
    for (const uint32_t *i = w->tenant + of->begin, *end = w->tenant + of->end; i < end; i++) {
        const hdi_stay *stay = &w->stay[2 * (size_t)*i];
        uint32_t behind = 2 * slots[stay->last] + 1;
        HDI_HIDE(behind);
        t.low = behind > t.low ? behind : t.low;
        t.stages |= stay->tail_stages;
        t.writes |= stay->tail_writes;
    }
    t.writes &= HDI_WRITE_BITS;
    return t;
}

static HDI_INLINE void open_point(hdi_walker *k, place *at, uint32_t high)
{
    hdi_point *p = &k->point[k->point_count++];
    p->at = high;
    p->begin = (uint32_t)(at->next - k->barrier);
    p->global = HDI_NONE;
    p->mixed = 0;
    k->said = k->twice = 0;
    at->newest_end = high + 1;
}

/* What another one may stand for. */
static HDI_INLINE bool is_spared(hdi_walker *k, const place *at, uint32_t low, uint32_t high)
{
    const hd_plan_barrier *b = at->next;
    if (HDI_LIKELY(k->top_end <= low && b->src_access | b->dst_access))
        return false;
    k->next = at->next;
    return hdi_is_spared(k, low, high);
}

/* A global one at the newest point, where its scopes and why it is stand as the next one. */
static HDI_INLINE place keep_global(hdi_walker *k, place at, uint32_t res)
{
    hd_plan_barrier *b = at.next;
    hdi_point *p = &k->point[k->point_count - 1];
    uint32_t count = (uint32_t)(at.next - k->barrier);
    struct hdi_recent *recent = &k->recent[k->recent_count++ % HDI_RECENT];
    k->top_end = at.newest_end > k->top_end ? at.newest_end : k->top_end;
    recent->at = at.newest_end - 1;
    recent->number = count + k->dropped;
    recent->top_end = k->top_end;
    memcpy(&recent->does, b, sizeof(recent->does));
    if (p->global != HDI_NONE) { /* those of a point are one */
        hdi_add_scopes(&k->barrier[p->global], hdi_scopes_of(b));
        k->dropped++;
        return at;
    }
    p->global = count;
    b->resource = HD_NONE;
    b->old_layout = b->new_layout = 0;
    b->src_family = b->dst_family = HD_NONE;
    b->reason_resource = res;
    b->range = (hd_range){.offset = 0};
    at.next++;
    return at;
}

/* Whether semaphores have brought what a global one is to order round by way of the host. */
static HDI_INLINE bool came_round(const hdi_walker *k, const place *at, uint32_t low, uint32_t slot)
{
    const hdi_beside *h = k->w->beside;
    return h->slot_round[slot] > h->slot_pos[low / 2] &&
           hdi_came_round(k->w, low, 2 * slot, at->next->dst_stages) != HDI_NONE;
}

static HDI_INLINE place go_first(hdi_walker *k, place at, uint32_t res, const hdi_step *step, const hdi_kind *to,
                                 uint32_t pass)
{
    give(k, &at);
    hdi_first_use(k, res, step->seg, to, pass, 2 * step->slot);
    return take(k);
}

/* The range of the newest barrier, of an image that may have several segments. */
static HDI_INLINE place write_range(hdi_walker *k, place at, const uint32_t *seg_begin, uint32_t res, uint32_t seg,
                                    uint32_t layout)
{
    const hdi_one_work *w = k->w;
    hd_plan_barrier *b = at.next - 1;
    if (seg_begin[res + 1] - seg_begin[res] == 1) {
        b->range = hdi_image_range(w->res_flags, w->res_info, res);
        return at;
    }
    uint64_t sign = hdi_sign_of(res, layout), said = k->said;
    b->range = w->frozen->seg_range[seg];
    k->said = said | sign;
    if (said & sign) { /* seldom, and the look back is long */
        give(k, &at);
        hdi_join_newest(k, sign);
        at = take(k);
    }
    return at;
}

/* whole: each resource is one segment. alone: nobody else says anything of the same uses now. beside: the host works
 * beside the queue; several workers have steps of what it uses, too, which are left out. */
static HDI_INLINE void walk(hdi_walker *k, const hdi_step *step, const hdi_step *end, bool whole, bool alone,
                            bool fetches, bool beside)
{
    const hdi_one_work *w = k->w;
    const hdi_step *steps = w->hazards->step;
    const uint32_t *slot_pass = w->hazards->slot_pass, *seg_res = w->frozen->seg_res, *tenant = w->tenant,
                   *seg_begin = w->frozen->res_seg_begin;
    const hdi_tenants *res_tenants = w->res_tenants;
    const hdi_stay *stays = w->stay;
    const hdi_kind *kind = k->kind;
    const uint8_t *res_flags = w->res_flags, apart = w->apart;
    uint8_t *use_kept = w->hazards->use_kept;
    place at = take(k);
    for (; step != end; step++) {
        size_t res = whole ? step->seg : seg_res[step->seg];
        if (beside && !alone && (step->to == HDI_NONE || res_flags[res] & HDI_RES_HOST))
            continue;
        const hdi_kind *to = &kind[step->to];
        uint32_t low = step->low, old, reason;
        hd_plan_barrier *b = at.next;
        if (fetches)
            hdi_fetch_for(w, step + HDI_ONE_AHEAD);
        memcpy(&b->dst_stages, &to->dst_stages, 2 * sizeof(b->dst_stages));
        if (low) {
            const hdi_step *before = &steps[(size_t)step->before - 1];
            const hdi_kind *from = &kind[before->to];
            old = from->layout;
            memcpy(&b->src_stages, &from->src_stages, 2 * sizeof(b->src_stages));
            low = 2 * low - 1; /* behind the last slot */
            reason = hdi_step_reason(from->flags, to->flags);
            hdi_note_read(use_kept, before->use, reason, alone);
        } else {
            tenants t = beside ? tenants_beside(w, res) : tenants_of(&res_tenants[res], tenant, stays);
            uint32_t flags = res_flags[res];
            if (HDI_UNLIKELY((t.writes && !(flags & HDI_RES_BUFFER)) ||
                             flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY))) {
                at = go_first(k, at, (uint32_t)res, step, to, slot_pass[step->slot]);
                continue;
            }
            reason = t.stages ? HD_REASON_ALIAS : HD_REASON_FIRST_USE;
            b->src_stages = t.stages;
            b->src_access = t.writes;
            low = t.low;
            old = 0;
        }
        b->reason = reason;
        b->reason_pass = slot_pass[step->slot];
        if (HDI_UNLIKELY(old == to->layout)) { /* global */
            if (reason == HD_REASON_FIRST_USE || is_spared(k, &at, low, 2 * step->slot) ||
                (beside && came_round(k, &at, low, step->slot)))
                continue;
            if (at.newest_end <= low)
                open_point(k, &at, 2 * step->slot);
            at = keep_global(k, at, (uint32_t)res);
            continue;
        }
        if (at.newest_end <= low) /* none yet is before all of them */
            open_point(k, &at, 2 * step->slot);
        b->resource = (uint32_t)res;
        b->old_layout = old & to->keeps;
        b->new_layout = to->layout;
        b->src_family = b->dst_family = HD_NONE;
        b->reason_resource = (uint32_t)res;
        at.next++;
        if (HDI_LIKELY(!((whole ? res_flags[res] : res_flags[res] | apart) & HDI_RES_LEVELS)))
            b->range = (hd_range){.mip_count = 1, .layer_count = 1};
        else if (whole)
            b->range = hdi_image_range(res_flags, w->res_info, (uint32_t)res);
        else
            at = write_range(k, at, seg_begin, (uint32_t)res, step->seg, to->layout);
    }
    give(k, &at);
}

static HDI_SCALAR HDI_APART void whole_far(hdi_walker *k, const hdi_step *step, const hdi_step *end)
{
    walk(k, step, end, true, true, true, false);
}

static HDI_SCALAR HDI_APART void whole_near(hdi_walker *k, const hdi_step *step, const hdi_step *end)
{
    walk(k, step, end, true, true, false, false);
}

static HDI_SCALAR HDI_APART void pieces_far(hdi_walker *k, const hdi_step *step, const hdi_step *end)
{
    walk(k, step, end, false, true, true, false);
}

static HDI_SCALAR HDI_APART void pieces_near(hdi_walker *k, const hdi_step *step, const hdi_step *end)
{
    walk(k, step, end, false, true, false, false);
}

static HDI_SCALAR HDI_APART void pieces_shared(hdi_walker *k, const hdi_step *step, const hdi_step *end)
{
    walk(k, step, end, false, false, false, false);
}

static HDI_SCALAR HDI_APART void beside_host(hdi_walker *k, const hdi_step *step, const hdi_step *end)
{
    walk(k, step, end, false, true, false, true);
}

static HDI_SCALAR HDI_APART void beside_shared(hdi_walker *k, const hdi_step *step, const hdi_step *end)
{
    walk(k, step, end, false, false, false, true);
}

void hdi_walk_plain(hdi_walker *k, const hdi_step *step, const hdi_step *end)
{
    const hdi_one_work *w = k->w;
    bool far = step < w->fetch_end;
    bool whole = w->frozen->seg_count == w->decl->res_count; /* one step is behind each use: nobody else speaks of it */
    if (w->beside)
        (w->alone ? beside_host : beside_shared)(k, step, end);
    else if (whole)
        (far ? whole_far : whole_near)(k, step, end);
    else if (w->alone)
        (far ? pieces_far : pieces_near)(k, step, end);
    else
        pieces_shared(k, step, end);
}
