#include "hazard_work.h"

#include "hints.h"
#include "vk_numbers.h"

/* Uses become epochs as they come, in the order of the schedule: each one joins the last epoch of its segment or begins the
 * next, for which there is room. Uses of one pass count as one, which is rarely more than one use of a segment: it is
 * noticed at the second one, and done again with both. O(uses). */

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* What the loop over uses reads and writes, in one place that the compiler can keep in registers. */
typedef struct walk {
    const hdi_hazard_work *work;
    const uint32_t *use_seg;
    const uint16_t *use_access;
    const uint8_t *use_flags;
    const hdi_access_info *access;
    const uint32_t *begin;
    uint32_t *end;
    hdi_epoch *epoch;
    hdi_entry *entry;
    uint32_t entry_next;
    uint8_t *use_kept;
    uint32_t *use_epoch;
} walk;

static walk walk_of(const hdi_hazard_work *w, uint32_t entry_begin)
{
    hdi_hazards *out = w->out;
    return (walk){w,          w->frozen->use_seg, w->decl->use_access, w->decl->use_flags, w->decl->access, out->seg_epoch_begin,
                  out->seg_epoch_end, out->epoch, out->entry,          entry_begin,        out->use_kept,   out->use_epoch};
}

/* The uses of a segment by one pass, together. */
typedef struct visit {
    uint64_t stages, access;
    uint32_t layout, use; /* its first */
    uint8_t flags;
} visit;

static bool covers(const walk *w, uint32_t use, uint32_t seg)
{
    if (w->use_seg[use] != HDI_NONE)
        return w->use_seg[use] == seg;
    hdi_span span = hdi_use_span(w->work->decl, w->work->frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        if (seg - (span.base + row * span.stride) < span.cols)
            return true;
    }
    return false;
}

/* All uses from the pass's first to `last`. */
static visit visit_all(const walk *w, uint32_t seg, uint32_t slot, uint32_t last)
{
    visit all = {.use = HDI_NONE};
    for (uint32_t u = w->work->decl->pass_use_begin[w->work->schedule->slot_pass[slot]]; u <= last; u++) {
        const hdi_access_info *access = &w->access[w->use_access[u]];
        if (!covers(w, u, seg))
            continue;
        all.stages |= access->stages;
        all.access |= access->access;
        all.flags |= w->use_flags[u] & (HDI_EPOCH_READS | HDI_EPOCH_WRITES);
        /* Reads that differ agree on the read-only depth layout: declare checked it. */
        if (all.use != HDI_NONE && all.layout != access->layout)
            all.layout = HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY;
        else
            all.layout = access->layout;
        all.use = all.use == HDI_NONE ? u : all.use;
    }
    if (w->use_flags[last] & HDI_USE_BUFFER)
        all.layout = 0;
    return all;
}

/* Takes the entries of a slot out of the last epoch of a segment, or takes it away where it began there. Returns them,
 * chained: they are used again. */
static uint32_t undo(const walk *w, uint32_t seg, uint32_t slot)
{
    hdi_epoch *last = &w->epoch[w->end[seg] - 1];
    uint32_t spare = HDI_NONE, more = last->more;
    if (last->first == slot) {
        w->end[seg]--;
        return more;
    }
    while (w->entry[more].slot == slot) {
        uint32_t older = w->entry[more].older;
        w->entry[more].older = spare;
        spare = more;
        more = older;
        if (more == HDI_NONE)
            break;
    }
    last->more = more;
    last->last = more == HDI_NONE ? last->first : w->entry[more].slot;
    last->stages = w->access[w->use_access[last->use]].stages;
    last->access = w->access[w->use_access[last->use]].access;
    last->queue_mask = (uint16_t)(1u << w->work->schedule->slot_queue[last->first]);
    for (uint32_t e = more; e != HDI_NONE; e = w->entry[e].older) {
        last->stages |= w->access[w->use_access[w->entry[e].use]].stages;
        last->access |= w->access[w->use_access[w->entry[e].use]].access;
        last->queue_mask |= (uint16_t)(1u << w->work->schedule->slot_queue[w->entry[e].slot]);
    }
    return spare;
}

static bool is_handed_over(const walk *w, uint32_t seg)
{
    return w->work->several_families && hdi_is_handed_over(w->work, w->work->frozen->seg_res[seg]);
}

/* A further use of a segment by the pass of a slot: what was done for the earlier ones is done again for all. Returns the
 * next entry. */
static HDI_COLD uint32_t visit_again(walk copy, uint32_t seg, uint32_t slot, uint32_t use, uint32_t queue)
{
    walk *w = &copy; /* the caller's stays in registers */
    uint32_t spare = undo(w, seg, slot), at = w->end[seg], layout;
    hdi_epoch *epoch = &w->epoch[at];
    visit all = visit_all(w, seg, slot, use);
    bool joins = false;
    layout = all.layout;
    if (at != w->begin[seg]) {
        const hdi_epoch *last = epoch - 1;
        joins = !((last->flags | all.flags) & HDI_EPOCH_WRITES) && last->layout == layout &&
                (last->queue_mask & queue || !is_handed_over(w, seg));
        w->use_kept[last->use] |= last->flags & HDI_EPOCH_WRITES && all.flags != HDI_EPOCH_WRITES;
    }
    if (joins) {
        epoch--;
        epoch->stages |= all.stages;
        epoch->access |= all.access;
        epoch->last = slot;
        epoch->queue_mask |= (uint16_t)queue;
    } else {
        *epoch = (hdi_epoch){all.stages, all.access,      all.use,   HDI_NONE,           slot,    slot,
                             layout,     (uint16_t)queue, all.flags, HDI_PLACE_CONSUMER, HDI_NONE};
        w->end[seg] = at + 1;
    }
    if (w->use_epoch && w->use_seg[all.use] != HDI_NONE)
        w->use_epoch[all.use] = joins ? HDI_NONE : 2 * at + (at == w->begin[seg]);
    for (uint32_t u = all.use; u <= use; u++) {
        if (!covers(w, u, seg) || (u == all.use && !joins))
            continue;
        uint32_t e = spare;
        if (e == HDI_NONE)
            e = w->entry_next++;
        else
            spare = w->entry[e].older;
        w->entry[e] = (hdi_entry){slot, u, epoch->more};
        epoch->more = e;
    }
    return w->entry_next;
}

/* Returns what is to be said of the use in use_epoch. */
static ALWAYS_INLINE uint32_t visit_use(walk *w, uint32_t seg, uint32_t slot, uint32_t use, uint32_t queue, bool several)
{
    const hdi_access_info *access = &w->access[w->use_access[use]];
    uint32_t flags = w->use_flags[use], at = w->end[seg], layout = flags & HDI_USE_BUFFER ? 0 : access->layout, begun = 2 * at + 1;
    hdi_epoch *next = &w->epoch[at];
    flags &= HDI_EPOCH_READS | HDI_EPOCH_WRITES;
    if (HDI_LIKELY(at != w->begin[seg])) {
        hdi_epoch *last = next - 1;
        begun--;
        if (HDI_UNLIKELY(last->last == slot)) {
            w->entry_next = visit_again(*w, seg, slot, use, queue);
            return HDI_NONE;
        }
        if (!((last->flags | flags) & HDI_EPOCH_WRITES) && last->layout == layout &&
            (!several || last->queue_mask & queue || !is_handed_over(w, seg))) {
            last->stages |= access->stages;
            last->access |= access->access;
            last->last = slot;
            last->queue_mask |= (uint16_t)queue;
            w->entry[w->entry_next] = (hdi_entry){slot, use, last->more};
            last->more = w->entry_next++;
            return HDI_NONE;
        }
        w->use_kept[last->use] |= ((last->flags & HDI_EPOCH_WRITES) != 0) & (flags != HDI_EPOCH_WRITES);
    }
    *next = (hdi_epoch){access->stages, access->access,  use,            HDI_NONE,           slot,    slot,
                        layout,         (uint16_t)queue, (uint8_t)flags, HDI_PLACE_CONSUMER, HDI_NONE};
    w->end[seg] = at + 1;
    return begun;
}

static HDI_APART uint32_t visit_span(walk copy, uint32_t slot, uint32_t use, uint32_t queue)
{
    walk *w = &copy;
    hdi_span span = hdi_use_span(w->work->decl, w->work->frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t c = 0; c < span.cols; c++)
            visit_use(w, span.base + row * span.stride + c, slot, use, queue, true);
    }
    return w->entry_next;
}

static ALWAYS_INLINE void visit_any(walk *w, uint32_t slot, uint32_t use, uint32_t queue, bool several)
{
    uint32_t seg = w->use_seg[use];
    if (HDI_UNLIKELY(seg == HDI_NONE)) {
        w->entry_next = visit_span(*w, slot, use, queue);
        if (!several)
            w->use_epoch[use] = 0;
        return;
    }
    uint32_t begun = visit_use(w, seg, slot, use, queue, several);
    if (!several)
        w->use_epoch[use] = begun;
}

static ALWAYS_INLINE void walk_slots(const hdi_hazard_work *work, bool several)
{
    const uint32_t *slot_pass = work->schedule->slot_pass, *use_begin = work->decl->pass_use_begin;
    const uint8_t *slot_queue = work->schedule->slot_queue;
    uint32_t slots = work->schedule->slot_count;
    walk w = walk_of(work, 0);
    for (uint32_t s = 0; s < slots; s++) {
        uint32_t pass = slot_pass[s], end = use_begin[pass + 1], queue = several ? 1u << slot_queue[s] : 1;
        for (uint32_t u = use_begin[pass]; u < end; u++)
            visit_any(&w, s, u, queue, several);
    }
}

void hdi_walk_slots(const hdi_hazard_work *work)
{
    if (work->several)
        walk_slots(work, true);
    else
        walk_slots(work, false);
}

void hdi_walk_records(const hdi_hazard_work *work, const hdi_record *record, uint32_t count, uint32_t entry_begin)
{
    const uint8_t *slot_queue = work->schedule->slot_queue;
    walk w = walk_of(work, entry_begin);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = record[i].slot;
        if (work->several)
            visit_any(&w, slot, record[i].use, 1u << slot_queue[slot], true);
        else
            visit_any(&w, slot, record[i].use, 1, false);
    }
}
