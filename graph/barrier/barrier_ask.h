/* For barrier_steps.c and barrier_odd.c: what they ask for, and how that is written down. In a long frame a request
 * notes its scopes by number and its range as a box, in 24 bytes (barrier_asked.h), and the plan writes the barrier. In
 * a short one, where memory is no question, the barrier is written at once as the plan has it, and neither the table of
 * scopes nor the plan has to ask what was meant: HDI_STEPS_WHOLE, in barrier_steps_whole.c and barrier_odd_whole.c. So
 * it is for one worker up to some regions, too. */
#ifndef HDI_BARRIER_ASK_H
#define HDI_BARRIER_ASK_H

#include "barrier_steps.h"

#include <string.h>

#include "hints.h"

#ifdef HDI_STEPS_WHOLE
enum { WHOLE = 1 };
#define VISIT_STEPS hdi_visit_steps_whole
#define VISIT_SEGMENTS hdi_visit_segments_whole
#define VISIT_FIRST_STEP hdi_visit_first_step_whole
#define VISIT_ODD_STEP hdi_visit_odd_step_whole
#else
enum { WHOLE = 0 };
#define VISIT_STEPS hdi_visit_steps
#define VISIT_SEGMENTS hdi_visit_segments
#define VISIT_FIRST_STEP hdi_visit_first_step
#define VISIT_ODD_STEP hdi_visit_odd_step
#endif

typedef hdi_step_work work;

static HDI_INLINE const hdi_kind *kind_of(const work *w, const hdi_epoch *epoch)
{
    return &w->kinds[epoch->kind];
}

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
    uint64_t differs =
        (kind->src_stages ^ stages) | (kind->src_access ^ access) | (kind->layout ^ layout) | (kind->keeps ^ keeps);
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

/* Of what is not an image of one mip and layer. */
static HDI_APART void write_range(const work *w, uint32_t seg, hd_range *range)
{
    *range = hdi_seg_range(w->decl, w->frozen, seg);
}

/* What one of a segment is about. */
typedef struct box {
    uint32_t what, extent, kind;
} box;

static HDI_APART box box_of(const work *w, uint32_t res, uint32_t odd, uint32_t seg)
{
    const hdi_res_info *info = &w->res_info[res];
    bool fits = !(odd & HDI_RES_BUFFER) && info->mips <= HDI_BOX_MIPS && info->layers <= HDI_BOX_LAYERS;
    uint32_t what = res, extent = hdi_box(0, info->mips, 0, info->layers);
    if (odd & HDI_SEVERAL) {
        const hd_range *range = &w->frozen->seg_range[seg];
        fits = fits && range->aspect == 0;
        extent = fits ? hdi_box(range->mip_base, range->mip_count, range->layer_base, range->layer_count) : seg;
        what = fits ? what : seg;
    }
    return (box){what, extent, fits ? 0 : HDI_LOOK};
}

/* Behind the newest request, and its barrier or what it asks for: two words, which are handed over in registers. */
typedef struct cursor {
    hdi_request *item;
    void *record;
} cursor;

static HDI_INLINE cursor cursor_of(const work *w)
{
    return (cursor){w->item, WHOLE ? (void *)w->barrier : (void *)w->asked};
}

static HDI_INLINE void leave_at(work *w, cursor c)
{
    w->item = c.item;
    if (WHOLE)
        w->barrier = c.record;
    else
        w->asked = c.record;
}

static HDI_INLINE void write_request(const work *w, hdi_request *r, uint32_t low, uint32_t place, uint32_t kind)
{
    r->low = low;
    r->place = place;
    r->kind = (uint8_t)kind;
    if (WHOLE) {
        hdi_note_low(&w->spot[place], low);
    } else {
        uint32_t region = w->place_region[place];
        r->region = (uint8_t)region;
        w->in_region[region]++;
    }
}

static HDI_INLINE void write_asked(hdi_asked *asked, uint32_t what, uint32_t extent, uint32_t kind, const scopes *does,
                                   cause why, move by)
{
    asked->what = what;
    asked->extent = extent;
    asked->pass = why.pass;
    asked->from = does->from.number;
    asked->to = does->to.number;
    asked->word = kind | why.reason << HDI_ASKED_REASON | by.source << HDI_ASKED_SOURCE | by.target << HDI_ASKED_TARGET;
}

static HDI_INLINE cursor behind_one(cursor c)
{
    return (cursor){c.item + 1, (char *)c.record + (WHOLE ? sizeof(hd_plan_barrier) : sizeof(hdi_asked))};
}

static HDI_INLINE cursor add_global(const work *w, cursor c, uint32_t low, uint32_t place, uint32_t kind, scopes does,
                                    cause why, uint32_t res)
{
    write_request(w, c.item, low, place, kind | HDI_GLOBAL);
    if (WHOLE) {
        hd_plan_barrier *b = c.record;
        write_side(&b->src_stages, &does.from);
        write_side(&b->dst_stages, &does.to);
        hdi_write_cause(b, HD_NONE, 0, 0, why.reason, why.pass, res);
        b->range = (hd_range){.offset = 0};
    } else {
        write_asked(c.record, res, 0, kind | HDI_GLOBAL, &does, why, no_move);
    }
    return behind_one(c);
}

/* Of a segment. odd: what kind of one it is. */
static HDI_INLINE cursor add_part(const work *w, cursor c, uint32_t low, uint32_t place, uint32_t kind, scopes does,
                                  cause why, uint32_t res, uint32_t odd, uint32_t seg, move by)
{
    kind |= odd & HDI_SEVERAL;
    write_request(w, c.item, low, place, kind);
    if (WHOLE) {
        hd_plan_barrier *b = c.record;
        write_side(&b->src_stages, &does.from);
        write_side(&b->dst_stages, &does.to);
        hdi_write_cause(b, res, does.from.layout & does.to.keeps, does.to.layout, why.reason, why.pass, res);
        if (by.source != HD_MAX_QUEUES) {
            b->src_family = w->queues->family[by.source];
            b->dst_family = w->queues->family[by.target];
        }
        b->range = (hd_range){.mip_count = 1, .layer_count = 1};
        if (odd & HDI_SEVERAL)
            b->range = w->frozen->seg_range[seg];
        else if (HDI_UNLIKELY(odd))
            write_range(w, seg, &b->range);
    } else {
        box of = {res, hdi_box(0, 1, 0, 1), 0};
        if (HDI_UNLIKELY(odd))
            of = box_of(w, res, odd, seg);
        write_asked(c.record, of.what, of.extent, kind | of.kind, &does, why, by);
    }
    return behind_one(c);
}

/* Stages of a queue count on the semaphore that first told it of a place on another one. Returns the place where it
 * did, which is `limit` at the latest. */
static HDI_INLINE uint32_t rely_on(const work *w, uint32_t queue, uint32_t other, uint32_t pos, uint32_t limit,
                                   uint64_t stages)
{
    uint32_t known = w->known[queue][w->known_begin[other] + pos];
    known = known < limit ? known : limit;
    hdi_count_on(&w->slot_wait_stages[w->slots[queue][known]], stages, WHOLE || w->alone);
    return known;
}

/* The last point of the submit that a place of a queue is in. */
static HDI_INLINE uint32_t submit_end(const work *w, uint32_t queue, uint32_t pos)
{
    const hdi_synced *synced = w->synced;
    return 2 * synced->submit[synced->place_submit[w->hazards->queue_begin[queue] + pos]].end_pos - 1;
}

/* Who comes now. */
typedef struct newcomer {
    uint32_t queue, pos;
    uint64_t stages;
} newcomer;

/* Behind those who were on other queues. */
static HDI_INLINE uint32_t after_stays(const work *w, const hdi_stay *stays, uint32_t mask, const newcomer *n,
                                       uint64_t stages, uint32_t low)
{
    for (; mask; mask &= mask - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(mask);
        uint32_t point = 2 * rely_on(w, n->queue, other, stays[other].last, n->pos, stages);
        low = point > low ? point : low;
    }
    return low;
}

/* What former tenants wrote, by a global barrier in a command before that of an image's first use at a place. */
static HDI_INLINE cursor flush(work *w, cursor c, uint64_t stages, uint64_t writes, uint32_t low, uint32_t place,
                               uint32_t pass, uint32_t res)
{
    scopes does = {made(w, stages, writes, 0, 0), made(w, stages, 0, 0, 0)};
    if (WHOLE)
        hdi_note_followed(&w->spot[place], low);
    return add_global(w, c, low, place - 1, HDI_EARLY, does, (cause){HD_REASON_ALIAS, pass}, res);
}

#endif
