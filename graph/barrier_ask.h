/* For barrier_steps.c and barrier_lean.c: what they ask for, and how that is written down. In a long frame a request
 * notes its scopes by number and its range as a box, in 24 bytes (barrier_asked.h), and the plan writes the barrier. In
 * a short one, where memory is no question, the barrier is written at once as the plan has it, and neither the table of
 * scopes nor the plan has to ask what was meant: HDI_STEPS_WHOLE, in barrier_steps_whole.c and barrier_lean_whole.c. So
 * it is for one worker up to some regions, too. */
#ifndef HDI_BARRIER_ASK_H
#define HDI_BARRIER_ASK_H

#include "barrier_steps.h"

#include <string.h>

#include "hints.h"

#ifdef HDI_STEPS_WHOLE
enum { WHOLE = 1 };
#define VISIT_STEPS hdi_visit_steps_whole
#define VISIT_LEAN hdi_visit_lean_whole
#define VISIT_SEGMENT hdi_visit_segment_whole
#define VISIT_ODD_STEP hdi_visit_odd_step_whole
#else
enum { WHOLE = 0 };
#define VISIT_STEPS hdi_visit_steps
#define VISIT_LEAN hdi_visit_lean
#define VISIT_SEGMENT hdi_visit_segment
#define VISIT_ODD_STEP hdi_visit_odd_step
#endif

typedef hdi_step_work work;

static HDI_INLINE const hdi_kind *kind_of(const work *w, const hdi_epoch *epoch)
{
    return &w->kinds[epoch->kind];
}

/* What the steps of a segment have in common. */
typedef struct resource {
    uint32_t res, layout;        /* layout: at the frame's start */
    bool is_image, several, odd; /* several segments; odd: these, levels, or a buffer */
} resource;

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

/* Where a barrier must stand. */
typedef struct interval {
    uint32_t queue, low, high;
} interval;

/* One side of a barrier. number: of a kind, or of a scope that was made; it stands for the rest, where that is not
 * written at once. pair: where stages and access stand side by side, or null. */
typedef struct scope {
    uint32_t number, layout, keeps;
    const uint64_t *pair;
    uint64_t stages, access;
} scope;
typedef struct scopes {
    scope from, to;
} scopes;

static HDI_INLINE scope hdi_left(const hdi_kind *kinds, uint32_t number)
{
    const hdi_kind *kind = &kinds[number];
    return (scope){number, kind->layout, kind->keeps, &kind->src_stages, kind->src_stages, kind->src_access};
}

static HDI_INLINE scope hdi_wanted(const hdi_kind *kinds, uint32_t number)
{
    const hdi_kind *kind = &kinds[number];
    return (scope){number, kind->layout, kind->keeps, &kind->dst_stages, kind->dst_stages, kind->dst_access};
}

static HDI_INLINE scope left_by(const work *w, const hdi_epoch *epoch)
{
    return hdi_left(w->kinds, epoch->kind);
}

static HDI_INLINE scope wanted_by(const work *w, const hdi_epoch *epoch)
{
    return hdi_wanted(w->kinds, epoch->kind);
}

/* A scope that is no kind: one of equal ones of the range. keeps: as of a kind that comes behind. */
static HDI_INLINE scope made(work *w, uint64_t stages, uint64_t access, uint32_t layout, uint32_t keeps)
{
    const uint64_t spread = UINT64_C(0x9e3779b97f4a7c15);
    scope out = {0, layout, keeps, NULL, stages, access};
    if (WHOLE)
        return out;
    uint32_t at = (uint32_t)((stages + access * 3 + layout * 5) * spread >> 40) & (w->made_slots - 1);
    const hdi_kind *kind = &w->made[at];
    uint64_t differs = (kind->src_stages ^ stages) | (kind->src_access ^ access) | (kind->layout ^ layout) |
                       (kind->keeps ^ keeps);
    if (HDI_LIKELY(!differs))
        out.number = (w->made_begin + at) | HDI_ASKED_MADE;
    else
        out.number = hdi_make_scope(w, at, stages, access, layout, keeps);
    return out;
}

/* What a barrier is for. */
typedef struct cause {
    uint32_t reason, pass;
} cause;

/* Between whose families it moves: two queues, or HD_MAX_QUEUES twice. */
typedef struct move {
    uint32_t source, target;
} move;
static const move no_move = {HD_MAX_QUEUES, HD_MAX_QUEUES};

static HDI_INLINE void request(work *w, interval at, uint32_t kind)
{
    hdi_request *r = w->item++;
    r->low = at.low;
    r->place = w->place_begin[at.queue] + at.high;
    r->kind = (uint8_t)kind;
    if (WHOLE) {
        hdi_note_low(&w->spot[r->place], r->low);
        if (kind & HDI_FOLLOWS)
            hdi_note_followed(&w->spot[r->place], r[-1].low);
    } else {
        uint32_t region = w->place_region[r->place];
        r->region = (uint8_t)region;
        w->in_region[region]++;
    }
}

static HDI_INLINE void note(work *w, uint32_t what, uint32_t extent, scopes does, uint32_t kind, cause why, move by)
{
    hdi_asked *asked = w->asked++;
    asked->what = what;
    asked->extent = extent;
    asked->pass = why.pass;
    asked->from = does.from.number;
    asked->to = does.to.number;
    asked->word = kind | why.reason << HDI_ASKED_REASON | by.source << HDI_ASKED_SOURCE | by.target << HDI_ASKED_TARGET;
}

/* Of a pair both in one go: their loads and stores are a good part of a barrier's. */
static HDI_INLINE void write_side(uint64_t *to, const scope *from)
{
    if (from->pair) {
        memcpy(to, from->pair, 2 * sizeof(*to));
    } else {
        to[0] = from->stages;
        to[1] = from->access;
    }
}

static HDI_INLINE hd_plan_barrier *write(work *w, bool global, scopes does, cause why, uint32_t res)
{
    hd_plan_barrier *b = w->barrier++;
    write_side(&b->src_stages, &does.from);
    write_side(&b->dst_stages, &does.to);
    hdi_write_cause(b, global ? HD_NONE : res, global ? 0 : does.from.layout & does.to.keeps,
                      global ? 0 : does.to.layout, why.reason, why.pass, res);
    return b;
}

/* Of what is not an image of one mip and layer. */
static HDI_APART void write_range(const work *w, uint32_t seg, hd_range *range)
{
    *range = hdi_seg_range(w->decl, w->frozen, seg);
}

/* Asks for a global barrier. */
static HDI_INLINE void ask_global(work *w, uint32_t res, interval at, uint32_t kind, scopes does, cause why)
{
    request(w, at, kind | HDI_GLOBAL);
    if (WHOLE)
        write(w, true, does, why, res)->range = (hd_range){.offset = 0};
    else
        note(w, res, 0, does, kind | HDI_GLOBAL, why, no_move);
}

/* What one of a segment is about. */
typedef struct box {
    uint32_t what, extent, kind;
} box;

/* Of what is not an image of one mip and layer. */
static HDI_APART box box_of(const work *w, const resource *of, uint32_t seg, bool is_image)
{
    const hdi_res_info *info = &w->res_info[of->res];
    bool fits = is_image && info->mips <= HDI_BOX_MIPS && info->layers <= HDI_BOX_LAYERS;
    uint32_t what = of->res, extent = hdi_box(0, info->mips, 0, info->layers);
    if (of->several) {
        const hd_range *range = &w->frozen->seg_range[seg];
        fits = fits && range->aspect == 0;
        extent = fits ? hdi_box(range->mip_base, range->mip_count, range->layer_base, range->layer_count) : seg;
        what = fits ? what : seg;
    }
    return (box){what, extent, fits ? 0 : HDI_LOOK};
}

/* Asks for one of a segment. An image is what changes its layout. */
static HDI_INLINE void ask_part(work *w, const resource *of, uint32_t seg, interval at, uint32_t kind, scopes does,
                                cause why, move by, bool is_image)
{
    kind |= HDI_UNLIKELY(of->several) ? HDI_SEVERAL : 0;
    request(w, at, kind);
    if (WHOLE) {
        hd_plan_barrier *b = write(w, false, does, why, of->res);
        b->range = (hd_range){.mip_count = 1, .layer_count = 1};
        if (HDI_UNLIKELY(of->odd))
            write_range(w, seg, &b->range);
        if (by.source != HD_MAX_QUEUES) {
            b->src_family = w->queues->family[by.source];
            b->dst_family = w->queues->family[by.target];
        }
        return;
    }
    box b = {of->res, hdi_box(0, 1, 0, 1), 0};
    if (HDI_UNLIKELY(of->odd))
        b = box_of(w, of, seg, is_image);
    note(w, b.what, b.extent, does, kind | b.kind, why, by);
}

static HDI_INLINE void ask_image(work *w, const resource *of, uint32_t seg, interval at, uint32_t kind, scopes does,
                                 cause why)
{
    ask_part(w, of, seg, at, kind, does, why, no_move, true);
}

static HDI_INLINE void ask(work *w, const resource *of, uint32_t seg, interval at, scopes does, cause why)
{
    ask_part(w, of, seg, at, 0, does, why, no_move, of->is_image);
}

/* Asks for one that hands it over between the families of two queues. */
static HDI_INLINE void ask_move(work *w, const resource *of, uint32_t seg, interval at, move by, scopes does, cause why)
{
    ask_part(w, of, seg, at, HDI_MOVES, does, why, by, of->is_image);
}

#endif
