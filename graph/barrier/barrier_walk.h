/* Between barrier_walk.c, which finds the barriers of a region, and barrier_plain.c, which does so where no scopes are
 * shared. */
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
    hdi_point *point;
    uint32_t point_count;
    uint32_t newest_end; /* behind the newest point; 0: there is none */
    uint32_t dropped;    /* how many barriers more there would be if none were joined */
    uint32_t stray;      /* behind the newest barrier that is not of the point that was the newest then; 0: none */
    /* Signs of barriers of parts of images, since the newest point was opened: of at least one, and of more. With what
     * has none of them there is nothing to be joined, as what is joined stands side by side. */
    uint64_t said, twice;
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
    return (uint32_t)(k->next - k->barrier);
}

/* What the barrier of a part of an image says: those that may be joined have the same bit, most others another one. */
static HDI_INLINE uint64_t hdi_sign_of(uint32_t res, uint32_t new_layout)
{
    return UINT64_C(1) << ((res + 8 * new_layout) & 63);
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

/* Somebody reads what a use leaves, or not: that is the reason of a step behind it. alone: nobody else says anything of
 * it now. */
static HDI_INLINE void hdi_note_read(uint8_t *use_kept, uint32_t use, uint32_t reason, bool alone)
{
    uint8_t unused = 0, reads = reason == HD_REASON_READ_AFTER_WRITE;
    if (alone)
        use_kept[use] |= reads;
    else
        atomic_store_explicit((_Atomic(uint8_t) *)(reads ? &use_kept[use] : &unused), 1, memory_order_relaxed);
}

/* The barriers of a first use. */
void hdi_first_use(hdi_walker *k, uint32_t res, uint32_t seg, const hdi_kind *to, uint32_t pass, uint32_t high);
/* Whether a barrier that there is does the work of a global one whose scopes stand as the next one. */
bool hdi_is_spared(const hdi_walker *k, uint32_t low, uint32_t high);
/* Joins the newest barrier, of a part of an image, with others of its sign. */
void hdi_join_newest(hdi_walker *k, uint64_t sign);
/* Puts the barriers that do not stand in the order of their points there; of: room for as many as there are. */
void hdi_put_in_order(hdi_walker *k, uint32_t *of);
/* The barriers of some steps. */
void hdi_walk_plain(hdi_walker *k, const hdi_step *step, const hdi_step *end);

#endif
