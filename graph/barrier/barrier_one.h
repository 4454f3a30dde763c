/* Between barrier_one.c, which cuts the frame into regions, and barrier_walk.c, which finds the barriers of one. */
#ifndef HDI_BARRIER_ONE_H
#define HDI_BARRIER_ONE_H

#include "hints.h"
#include "phases.h"

/* A part of the frame, and where its barriers stand, and its batches, which are its points. */
typedef struct hdi_one_region {
    uint32_t slot_begin, slot_end, barrier_begin, barrier_count, batch_begin, batch_count;
    uint32_t most; /* barriers that may be needed; by several workers */
} hdi_one_region;

struct hdi_beside;
typedef struct hdi_one_work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_hazards *hazards;
    const hdi_merged *merged;
    /* Of the tables: */
    const hdi_tenants *res_tenants;
    const uint32_t *tenant;
    bool has_tenants; /* at all */
    const hdi_stay *stay;
    const uint8_t *res_flags;
    const hdi_res_info *res_info;
    uint8_t apart; /* HDI_RES_LEVELS, where an image of one level may have several segments all the same: aspects */
    const struct hdi_beside *beside; /* what the host asks for beside the queue (barrier_host.h); null: there is none */
    hdi_barriers *out;
    hdi_one_region *region;
    uint32_t region_count, last_region; /* last: of the regions with slots */
    hdi_point *point;        /* of each batch */
    uint32_t *barrier_point; /* like out->barrier: the point of each, while they are put in order */
    const hdi_step *fetch_end; /* up to here it is fetched for steps ahead; null: never */
    /* By one worker one region is walked after another, and each writes behind the one before. */
    bool alone;
    hdi_arena *arena;
    hd_plan_barrier *barrier_end; /* there is room up to here */
    uint32_t left;                /* barriers for what the frame must leave in another layout, at most */
    size_t most;                  /* barriers that there may be, and room to spare */
    bool failed;                  /* there is no memory */
} hdi_one_work;

enum { HDI_ONE_AHEAD = 16 }; /* so many steps before its turn it is fetched for one */

/* The layout that the last use of a segment leaves, or it is in where nothing uses it. */
static inline uint32_t hdi_last_layout(const hdi_one_work *w, uint32_t res, uint32_t seg)
{
    const hdi_seg_state *state = &w->hazards->seg_state[seg];
    return state->behind ? w->hazards->kind[state->kind].layout : hdi_initial_layout(w->decl, w->hazards, res);
}

/* Whether the frame leaves a segment of what keeps its state in another layout. */
static inline bool hdi_is_left(const hdi_one_work *w, uint32_t res, uint32_t seg)
{
    return !(w->res_flags[res] & HDI_RES_BUFFER) && hdi_last_layout(w, res, seg) != w->hazards->res_final_layout[res];
}

/* The plan's memory has too little room: there is enough in a place of their own, which barriers are copied from. So
 * many are there. Where there is no memory either, they stay. */
void hdi_leave_plan(hdi_one_work *w, size_t barrier_count);
/* The barriers and batches of one region. */
void hdi_walk_region(uint32_t region, void *one_work);

#endif
