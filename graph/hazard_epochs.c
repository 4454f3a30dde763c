#include "hazard_work.h"

#include "hints.h"
#include "vk_numbers.h"

/* The uses of a segment, one after another, become epochs: each joins the last epoch or begins the next. Uses of one
 * pass count as one. O(uses). Segment after segment, so that what is known of the last epoch stays in registers and
 * epochs are written one behind another: a walk of the schedule that keeps it for all segments takes fewer instructions
 * and, as it cannot foresee what comes, more time. */

/* An access in an epoch. joins: what the last epoch has to leave so that it can be part of that one. */
typedef struct hdi_use_kind {
    uint64_t stages, access, state, joins, leaves;
} kind;

/* In joins and leaves, above the layout: reads need what was there before, as some writes do; of a write, which is no
 * part of another epoch, and after which nothing is part of its own. */
#define ASKS (UINT64_C(1) << 62)
#define IS_ALONE (UINT64_C(1) << 32)
#define WROTE (UINT64_C(1) << 63)
#define NO_LAYOUT (~(uint64_t)UINT32_MAX)

/* The same in the states of epochs; and the first queue. */
static const hdi_epoch bare = {.queue_mask = UINT16_MAX, .flags = UINT8_MAX, .place = UINT8_MAX},
                       one_queue = {.queue_mask = 1};

static kind kind_of(uint64_t stages, uint64_t access, hdi_epoch state)
{
    if (!(state.flags & HDI_EPOCH_WRITES))
        return (kind){stages, access, state.state, state.layout | ASKS, state.layout | ASKS};
    return (kind){stages, access, state.state, IS_ALONE | (state.flags & HDI_EPOCH_READS ? ASKS : 0), WROTE};
}

bool hdi_find_kinds(hdi_hazard_work *w)
{
    const hdi_decl *decl = w->decl;
    kind *k = HDI_ARENA_ARRAY(w->arena, kind, decl->access_count);
    for (uint32_t i = 0; k && i < decl->access_count; i++) {
        const hdi_access_info *access = &decl->access[i];
        uint32_t flags = (access->reads ? HDI_EPOCH_READS : 0) | (access->writes ? HDI_EPOCH_WRITES : 0);
        k[i] = kind_of(access->stages, access->access,
                       (hdi_epoch){.layout = access->layout,
                                   .queue_mask = w->several ? 0 : 1,
                                   .flags = (uint8_t)flags,
                                   .place = HDI_PLACE_CONSUMER});
    }
    w->kind = k;
    return k != NULL;
}

/* What the loop over uses reads and writes, in one place that the compiler can keep in registers. */
typedef struct walk {
    const hdi_hazard_work *work;
    const uint16_t *use_access;
    const uint8_t *slot_queue;
    const kind *kind;
    hdi_entry *entry;
    uint8_t *use_kept;
    uint32_t *use_epoch;
} walk;

/* How far it has come, and of the segment the last epoch. */
typedef struct point {
    hdi_epoch *next; /* behind the last one */
    uint32_t at;     /* its number */
    uint32_t entry, last_use;
    uint64_t left, last_state;
} point;

static HDI_APART bool is_handed_over(const hdi_hazard_work *work, uint32_t seg)
{
    return work->several_families && hdi_is_handed_over(work, work->frozen->seg_res[seg]);
}

/* One use of a segment, or several of one pass that are as one. */
static HDI_INLINE point add_use(const walk *w, point p, uint32_t seg, const hdi_record *record, const kind *k,
                                bool is_buffer, bool is_first, bool several)
{
    uint32_t use = record->use, slot = record->slot;
    uint64_t queue = several ? one_queue.state << w->slot_queue[slot] : 0;
    uint64_t joins = is_buffer ? k->joins & NO_LAYOUT : k->joins;
    if (!is_first && joins == p.left && (!several || p.last_state & queue || !is_handed_over(w->work, seg))) {
        hdi_epoch *last = p.next - 1;
        last->stages |= k->stages;
        last->access |= k->access;
        last->last = slot;
        if (several)
            last->state = p.last_state |= queue;
        w->entry[p.entry] = (hdi_entry){slot, use, last->more};
        last->more = p.entry++;
        if (!several)
            w->use_epoch[use] = HDI_NONE;
        return p;
    }
    if (!is_first)
        w->use_kept[p.last_use] |= (uint8_t)((p.left >> 1 & joins) / ASKS);
    p.left = is_buffer ? k->leaves & NO_LAYOUT : k->leaves;
    p.last_state = (is_buffer ? k->state & bare.state : k->state) | queue;
    p.last_use = use;
    p.next->stages = k->stages;
    p.next->access = k->access;
    p.next->use = use;
    p.next->more = HDI_NONE;
    p.next->first = p.next->last = slot;
    p.next->state = p.last_state;
    p.next->extra = HDI_NONE;
    p.next++;
    if (!several)
        w->use_epoch[use] = 2 * p.at + is_first;
    p.at++;
    return p;
}

/* Several uses of one pass: an epoch lists them all. */
static HDI_COLD point add_uses(const walk *w, point p, uint32_t seg, const hdi_record *record, const hdi_record *behind,
                               bool is_buffer, bool is_first, bool several)
{
    const kind *first = &w->kind[w->use_access[record->use]];
    uint64_t stages = first->stages, access = first->access;
    hdi_epoch state = {.state = first->state};
    for (const hdi_record *r = record + 1; r < behind; r++) {
        const kind *k = &w->kind[w->use_access[r->use]];
        const hdi_epoch more = {.state = k->state};
        stages |= k->stages;
        access |= k->access;
        state.flags |= more.flags;
        /* Reads that differ agree on the read-only depth layout: declare checked it. */
        if (state.layout != more.layout)
            state.layout = HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY;
    }
    kind all = kind_of(stages, access, state);
    p = add_use(w, p, seg, record, &all, is_buffer, is_first, several);
    for (const hdi_record *r = record + 1; r < behind; r++) {
        w->entry[p.entry] = (hdi_entry){r->slot, r->use, p.next[-1].more};
        p.next[-1].more = p.entry++;
        if (!several)
            w->use_epoch[r->use] = HDI_NONE;
    }
    return p;
}

/* The uses of a segment. */
static HDI_INLINE point build(const walk *w, point p, uint32_t seg, const hdi_record *record, const hdi_record *end,
                              bool is_buffer, bool several)
{
    for (bool is_first = true; record < end; is_first = false) {
        const hdi_record *behind = record + 1;
        if (HDI_UNLIKELY(behind->slot == record->slot && behind < end)) {
            while (behind < end && behind->slot == record->slot)
                behind++;
            p = add_uses(w, p, seg, record, behind, is_buffer, is_first, several);
        } else {
            p = add_use(w, p, seg, record, &w->kind[w->use_access[record->use]], is_buffer, is_first, several);
        }
        record = behind;
    }
    return p;
}

static HDI_INLINE hdi_built build_all(const hdi_hazard_work *work, uint32_t first_seg, uint32_t last_seg,
                                      const hdi_record *record, const uint32_t *record_end, uint32_t at,
                                      uint32_t entry_begin, uint32_t *keeper, bool several)
{
    const hdi_decl *decl = work->decl;
    hdi_hazards *out = work->out;
    const uint32_t *seg_res = work->frozen->seg_res;
    const uint8_t *res_flags = decl->res_flags;
    uint32_t *begin = out->seg_epoch_begin, *end = out->seg_epoch_end, from = 0, keepers = 0;
    walk w = {work, decl->use_access, out->slot_queue, work->kind, out->entry, out->use_kept, out->use_epoch};
    point p = {.next = &out->epoch[at], .at = at, .entry = entry_begin};
    for (uint32_t seg = first_seg; seg < last_seg; seg++) {
        uint32_t to = record_end[seg], res = seg_res[seg], flags = res_flags[res];
        begin[seg] = p.at;
        if (flags & HDI_RES_BUFFER)
            p = build(&w, p, seg, record + from, record + to, true, several);
        else
            p = build(&w, p, seg, record + from, record + to, false, several);
        end[seg] = p.at;
        if (flags & HDI_KEEPS_STATE) { /* room for a state that is to be left */
            p.at++;
            p.next++;
            if (keepers == 0 || keeper[keepers - 1] != res)
                keeper[keepers++] = res;
        }
        from = to;
    }
    return (hdi_built){p.at - at, p.entry - entry_begin, keepers};
}

hdi_built hdi_build_epochs(const hdi_hazard_work *work, uint32_t first_seg, uint32_t last_seg, const hdi_record *record,
                           const uint32_t *record_end, uint32_t epoch_begin, uint32_t entry_begin, uint32_t *keeper)
{
    if (work->several)
        return build_all(work, first_seg, last_seg, record, record_end, epoch_begin, entry_begin, keeper, true);
    return build_all(work, first_seg, last_seg, record, record_end, epoch_begin, entry_begin, keeper, false);
}
