#include "barrier_walk.h"

#include <string.h>

/* Steps of whole resources, where no scopes are shared. Nearly all are images that change their layout, at the newest
 * point or a new one behind it: for these what the walk goes on with stays in registers, and each field of the barrier
 * is written once. All else goes by way of barrier_walk.c. O(steps). */

_Static_assert(offsetof(hd_plan_barrier, src_access) == offsetof(hd_plan_barrier, src_stages) + sizeof(uint64_t) &&
                   offsetof(hd_plan_barrier, dst_access) == offsetof(hd_plan_barrier, dst_stages) + sizeof(uint64_t) &&
                   offsetof(hdi_kind, src_access) == offsetof(hdi_kind, src_stages) + sizeof(uint64_t) &&
                   offsetof(hdi_kind, dst_access) == offsetof(hdi_kind, dst_stages) + sizeof(uint64_t),
               "stages and access are copied together");

/* What the walk goes on with. */
typedef struct place {
    hd_plan_barrier *next;
    uint32_t *next_point;
    uint32_t newest_end, point_count;
} place;

static HDI_INLINE place take(const hdi_walker *k)
{
    return (place){k->next, k->next_point, k->newest_end, k->point_count};
}

static HDI_INLINE void give(hdi_walker *k, const place *at)
{
    k->next = at->next;
    k->next_point = at->next_point;
    k->newest_end = at->newest_end;
    k->point_count = at->point_count;
}

/* Who had the memory of a resource before. */
typedef struct tenants {
    uint64_t stages, writes;
    uint32_t low;
} tenants;

static HDI_INLINE tenants tenants_of(const hdi_one_work *w, uint32_t res)
{
    tenants t = {0};
    const hdi_tenants of = w->res_tenants[res];
    for (uint32_t i = of.begin; i < of.end; i++) {
        const hdi_stay *stay = &w->stay[w->tenant[i]];
        uint32_t behind = 2 * stay->last + 1;
        HDI_HIDE(behind); /* there are few: one after another */
        t.low = behind > t.low ? behind : t.low;
        t.stages |= stay->tail_stages;
        t.writes |= stay->tail_writes;
    }
    return t;
}

static HDI_INLINE uint32_t walk(hdi_walker *k, const hdi_step *step, const hdi_step *end, bool fetches)
{
    enum { ODD = HDI_RES_BUFFER | HDI_RES_EXTERNAL | HDI_RES_HISTORY };
    const hdi_one_work *w = k->w;
    const hdi_step *steps = w->hazards->step;
    const uint32_t *slot_pass = w->hazards->slot_pass;
    const hdi_kind *kind = k->kind;
    uint8_t *use_kept = w->hazards->use_kept;
    hdi_point *point = k->point;
    uint32_t odd = 0;
    place at = take(k);
    for (; step < end; step++) {
        const hdi_kind *to = &kind[step->to];
        uint32_t res = step->seg, low = step->low, high = 2 * step->slot, pass = slot_pass[step->slot], old, reason;
        hd_plan_barrier *b = at.next;
        if (fetches)
            hdi_fetch_for(w, step + HDI_ONE_PIECE);
        if (low) {
            const hdi_step *before = &steps[(size_t)step->before - 1];
            const hdi_kind *from = &kind[before->to];
            use_kept[before->use] |=
                (uint8_t)((from->flags & HDI_EPOCH_WRITES) / HDI_EPOCH_WRITES & to->flags & HDI_EPOCH_READS);
            low = 2 * low - 1; /* behind the last slot */
            if (from->layout == to->layout) {
                odd++;
                give(k, &at);
                hdi_next_use(k, res, low / 2, from, to, pass, high);
                at = take(k);
                continue;
            }
            memcpy(&b->src_stages, &from->src_stages, 2 * sizeof(b->src_stages));
            old = from->layout & to->keeps;
            reason = hdi_step_reason(from->flags, to->flags);
        } else {
            tenants t = tenants_of(w, res);
            low = t.low;
            if (w->res_flags[res] & ODD || t.writes & HDI_WRITE_BITS || to->layout == 0) {
                odd++;
                give(k, &at);
                hdi_first_use(k, res, to, pass, high);
                at = take(k);
                continue;
            }
            b->src_stages = t.stages;
            b->src_access = 0;
            old = 0;
            reason = t.stages ? HD_REASON_ALIAS : HD_REASON_FIRST_USE;
        }
        if (at.newest_end <= low) { /* none yet is before all of them */
            hdi_point *p = &point[at.point_count++];
            p->at = high;
            p->begin = (uint32_t)(at.next_point - k->barrier_point);
            p->global = HDI_NONE;
            p->mixed = 0;
            at.newest_end = high + 1;
        }
        *at.next_point++ = at.point_count - 1;
        memcpy(&b->dst_stages, &to->dst_stages, 2 * sizeof(b->dst_stages));
        b->resource = res;
        b->old_layout = old;
        b->new_layout = to->layout;
        b->src_family = b->dst_family = HD_NONE;
        b->reason = reason;
        b->reason_pass = pass;
        b->reason_resource = res;
        b->range = hdi_image_range(w->res_flags, w->res_info, res);
        at.next++;
    }
    give(k, &at);
    return odd;
}

static HDI_SCALAR HDI_APART uint32_t walk_far(hdi_walker *k, const hdi_step *step, const hdi_step *end)
{
    return walk(k, step, end, true);
}

static HDI_SCALAR HDI_APART uint32_t walk_near(hdi_walker *k, const hdi_step *step, const hdi_step *end)
{
    return walk(k, step, end, false);
}

uint32_t hdi_walk_plain(hdi_walker *k, const hdi_step *step, const hdi_step *end)
{
    return (step < k->w->fetch_end ? walk_far : walk_near)(k, step, end);
}
