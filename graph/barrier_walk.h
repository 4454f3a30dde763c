/* Between barrier_walk.c, which finds the barriers of a region, and barrier_plain.c, which does so where all resources
 * are whole. */
#ifndef HDI_BARRIER_WALK_H
#define HDI_BARRIER_WALK_H

#include "barrier_one.h"
#include "barrier_requests.h"

enum { HDI_RECENT = 16 };

/* Where a region is on its way. */
typedef struct hdi_walker {
    hdi_one_work *w;
    const uint32_t *slot_first, *slot_last; /* of the tables */
    const hdi_kind *kind;
    hd_plan_barrier *barrier, *next; /* next: behind the newest one */
    uint32_t *barrier_point, *next_point;
    hdi_point *point;
    uint32_t point_count;
    uint32_t newest_end; /* behind the newest point; 0: there is none */
    uint32_t dropped;    /* how many barriers more there would be if none were joined */
    bool mixed;          /* some barriers do not stand in the order of their points */
    uint64_t said; /* signs of barriers of parts of images, since the newest point was opened: with what has none of
                    * them there is nothing to be joined, as what is joined stands side by side */
    /* The newest global ones, which might stand for others. */
    uint32_t recent_count, top_end; /* top_end: none is at this point or a later one */
    struct hdi_recent {
        hdi_scopes does;
        uint32_t at, number; /* number: of those that were asked for */
        uint32_t top_end;    /* of this one and those before it */
    } recent[HDI_RECENT];
} hdi_walker;

/* How many barriers there are. */
static HDI_INLINE uint32_t hdi_walked(const hdi_walker *k)
{
    return (uint32_t)(k->next_point - k->barrier_point);
}

/* What a step will look at, all over the tables of a long frame: the step before it, or the first and the last of the
 * former tenants, as a rule all. What leads there stands close together. Which it is cannot be foreseen, and a branch
 * costs more than is won. There are tenants in the frame. */
static HDI_INLINE void hdi_fetch_for(const hdi_one_work *w, const hdi_step *step)
{
    const hdi_tenants of = w->res_tenants[w->frozen->seg_res[step->seg]];
    uintptr_t some = 0 - (uintptr_t)(of.begin < of.end), is_first = 0 - (uintptr_t)(step->low == 0);
    HDI_HIDE(some);
    HDI_HIDE(is_first);
    uintptr_t stay = (uintptr_t)&w->stay[w->tenant[of.begin & some]],
              before = (uintptr_t)w->hazards->step + (uintptr_t)(step->before - 1) * sizeof(*step);
    HDI_FETCH((const void *)((stay & is_first) | (before & ~is_first)));
    HDI_FETCH(&w->stay[w->tenant[(of.end - 1) & some]]);
}

/* The barriers of a step of a whole resource, where no scopes are shared. */
void hdi_first_use(hdi_walker *k, uint32_t res, const hdi_kind *to, uint32_t pass, uint32_t high);
void hdi_next_use(hdi_walker *k, uint32_t res, uint32_t last, const hdi_kind *from, const hdi_kind *to, uint32_t pass,
                  uint32_t high);
/* Those of some steps, of the caller alone. Returns how many were no image's that changes its layout. */
uint32_t hdi_walk_plain(hdi_walker *k, const hdi_step *step, const hdi_step *end);

#endif
