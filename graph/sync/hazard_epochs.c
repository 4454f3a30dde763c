#include "hazard_work.h"

#include "hints.h"

/* The uses of a segment, one after another, become epochs: each joins the last epoch or begins the next. Uses of one
 * pass count as one. O(uses). Segment after segment, so that what is known of the last epoch stays in registers and
 * epochs are written one behind another. */

/* The first queue in the state of an epoch. */
static const hdi_epoch one_queue = {.queue_mask = 1};

/* What the loop over uses reads and writes, in one place that the compiler can keep in registers. */
typedef struct walk {
    const hdi_hazard_work *work;
    const uint16_t *use_access; /* their kinds */
    const uint8_t *slot_queue;
    hdi_kinds *kinds;
    hdi_entry *entry;
    uint8_t *use_kept, *of_none; /* of no use */
} walk;

/* How far it has come, and of the segment the last epoch. */
typedef struct point {
    hdi_epoch *next; /* behind the last one */
    uint32_t at;     /* its number */
    uint32_t entry;
    uint8_t *kept; /* whether somebody reads what its first use left */
    uint32_t left, last_state; /* left NOTHING: of no epoch yet */
} point;

/* Whether a read on another queue goes on with an epoch. It does, and the resource is marked as read together, but
 * where it is handed over, which is asked only of what the frame says more about than what it is. */
static HDI_APART bool do_meet(const hdi_hazard_work *work, uint32_t seg)
{
    uint32_t res = work->frozen->seg_res[seg];
    if (work->several_families && work->decl->res_flags[res] & (HDI_RES_EXTERNAL | HDI_RES_SHARING) &&
        hdi_is_handed_over(work, res))
        return false;
    work->out->res_concurrent[res] = 1;
    return true;
}

/* One use of a segment, or several of one pass that are as one. */
static HDI_INLINE point add_use(const walk *w, point p, uint32_t seg, const hdi_record *record, uint32_t kind)
{
    const hdi_kind *k = &w->kinds->kind[kind];
    uint32_t use = record->use, slot = record->slot, queue = one_queue.state << w->slot_queue[slot];
    if (w->kinds->link[kind].joins == p.left && (p.last_state & queue || do_meet(w->work, seg))) {
        hdi_epoch *last = p.next - 1;
        if (last->kind != kind)
            last->kind = hdi_mix_kinds(w->kinds, last->kind, kind);
        last->last = slot;
        last->state = p.last_state |= queue;
        w->entry[p.entry] = (hdi_entry){slot, use, last->more};
        last->more = p.entry++;
        return p;
    }
    *p.kept |= (uint8_t)(k->flags & HDI_EPOCH_READS); /* of a use that reads nobody asks for it */
    p.left = w->kinds->link[kind].leaves;
    p.last_state = k->state | queue;
    p.kept = &w->use_kept[use];
    p.next->use = use;
    p.next->kind = kind;
    p.next->first = p.next->last = slot;
    p.next->more = HDI_NONE;
    p.next->extra = HDI_NONE;
    p.next->state = p.last_state;
    p.next++;
    p.at++;
    return p;
}

/* Several uses of one pass: an epoch lists them all. */
static HDI_APART point add_uses(const walk *w, point p, uint32_t seg, const hdi_record *record,
                                const hdi_record *behind)
{
    uint32_t kind = w->use_access[record->use];
    for (const hdi_record *r = record + 1; r < behind; r++)
        kind = hdi_mix_kinds(w->kinds, kind, w->use_access[r->use]);
    p = add_use(w, p, seg, record, kind);
    for (const hdi_record *r = record + 1; r < behind; r++) {
        w->entry[p.entry] = (hdi_entry){r->slot, r->use, p.next[-1].more};
        p.next[-1].more = p.entry++;
    }
    return p;
}

/* The uses of a segment. mixed: those of one pass may differ, and count together. */
static HDI_INLINE point build(const walk *w, point p, uint32_t seg, const hdi_record *record, const hdi_record *end,
                              bool mixed)
{
    p.left = HDI_LEFT_NOTHING;
    p.kept = w->of_none;
    while (record < end) {
        const hdi_record *behind = record + 1;
        if (mixed && HDI_UNLIKELY(behind->slot == record->slot && behind < end)) {
            while (behind < end && behind->slot == record->slot)
                behind++;
            p = add_uses(w, p, seg, record, behind);
        } else {
            p = add_use(w, p, seg, record, w->use_access[record->use]);
        }
        record = behind;
    }
    return p;
}

/* The next resource that keeps its state, and its segments; behind the last one: none. */
typedef struct keeps {
    uint32_t res, begin, end;
} keeps;

static keeps next_keeper(const hdi_hazard_work *work, uint32_t res, uint32_t res_end)
{
    const uint32_t *seg_begin = work->frozen->res_seg_begin;
    res = hdi_next_flagged(work->decl, res, res_end, HDI_KEEPS_STATE);
    return (keeps){res, seg_begin[res], seg_begin[res + (res < res_end)]};
}

/* The epochs of segments of resources that all keep their state, or none of which does. from: the records of the first;
 * those behind the last. */
static HDI_INLINE point build_segments(const walk *w, point p, uint32_t seg, uint32_t stop, const hdi_record *record,
                                       const uint32_t *record_end, const hdi_record **from, bool is_kept, bool mixed)
{
    uint32_t *begin = w->work->out->seg_epoch_begin, *end = w->work->out->seg_epoch_end;
    for (; seg < stop; seg++) {
        const hdi_record *to = record + record_end[seg];
        begin[seg] = p.at;
        p = build(w, p, seg, *from, to, mixed);
        end[seg] = p.at;
        if (is_kept) { /* room for a state that is to be left */
            p.at++;
            p.next++;
        }
        *from = to;
    }
    return p;
}

static HDI_INLINE hdi_built build_all(const hdi_hazard_work *work, hdi_kinds *kinds, uint32_t first_seg,
                                      uint32_t last_seg, const hdi_record *record, const uint32_t *record_end,
                                      hdi_built before, uint32_t *keeper, bool mixed)
{
    const hdi_decl *decl = work->decl;
    hdi_hazards *out = work->out;
    uint32_t seg = first_seg, keepers = 0;
    uint8_t of_none = 0;
    walk w = {work, decl->use_access, out->slot_queue, kinds, out->entry, out->use_kept, &of_none};
    point p = {.next = &out->epoch[before.epochs], .at = before.epochs, .entry = before.entries};
    if (first_seg == last_seg)
        return (hdi_built){0};
    const uint32_t res_end = work->frozen->seg_res[last_seg - 1] + 1;
    keeps next = next_keeper(work, work->frozen->seg_res[first_seg], res_end);
    for (const hdi_record *from = record; seg < last_seg;) {
        bool is_kept = seg >= next.begin;
        uint32_t stop = is_kept ? next.end : next.begin;
        p = build_segments(&w, p, seg, stop, record, record_end, &from, is_kept, mixed);
        seg = stop;
        if (is_kept) {
            keeper[keepers++] = next.res;
            next = next_keeper(work, next.res + 1, res_end);
        }
    }
    return (hdi_built){p.at - before.epochs, p.entry - before.entries, keepers, 0};
}

static HDI_SCALAR hdi_built build_mixed(const hdi_hazard_work *work, hdi_kinds *kinds, uint32_t first_seg,
                                        uint32_t last_seg, const hdi_record *record, const uint32_t *record_end,
                                        hdi_built before, uint32_t *keeper)
{
    return build_all(work, kinds, first_seg, last_seg, record, record_end, before, keeper, true);
}

static HDI_SCALAR hdi_built build_plain(const hdi_hazard_work *work, hdi_kinds *kinds, uint32_t first_seg,
                                        uint32_t last_seg, const hdi_record *record, const uint32_t *record_end,
                                        hdi_built before, uint32_t *keeper)
{
    return build_all(work, kinds, first_seg, last_seg, record, record_end, before, keeper, false);
}

hdi_built hdi_build_epochs(const hdi_hazard_work *work, hdi_kinds *kinds, uint32_t first_seg, uint32_t last_seg,
                           const hdi_record *record, const uint32_t *record_end, hdi_built before, uint32_t *keeper)
{
    return (work->decl->mixed_layouts ? build_mixed : build_plain)(work, kinds, first_seg, last_seg, record, record_end,
                                                                   before, keeper);
}

uint32_t hdi_build_listed_epochs(const hdi_hazard_work *work, hdi_kinds *kinds, const uint32_t *res, uint32_t count,
                                 const hdi_record *record)
{
    const uint32_t *seg_begin = work->frozen->res_seg_begin;
    hdi_hazards *out = work->out;
    uint8_t of_none = 0;
    const walk w = {work, work->decl->use_access, out->slot_queue, kinds, out->entry, out->use_kept, &of_none};
    point p = {.next = out->epoch};
    for (const hdi_record *from = record; count > 0; count--, res++)
        p = build_segments(&w, p, seg_begin[*res], seg_begin[*res + 1], record, out->seg_epoch_end, &from,
                           work->decl->res_flags[*res] & HDI_KEEPS_STATE, true);
    return p.at;
}
