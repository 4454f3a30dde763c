#include "hazard_work.h"

#include "hints.h"
#include "vk_numbers.h"

/* The uses of a segment, one after another, become epochs: each joins the last epoch or begins the next. Uses of one pass
 * count as one. O(uses). Segment after segment, so that what is known of the last epoch stays in registers and epochs are
 * written one behind another: a walk of the schedule that keeps it for all segments takes fewer instructions and, as it
 * cannot foresee what comes, more time. */


typedef struct hdi_use_kind {
    uint64_t stages, access, state;
    uint8_t asks; /* whether what was there before is needed */
} kind;

bool hdi_find_kinds(hdi_hazard_work *w)
{
    const hdi_decl *decl = w->decl;
    kind *k = HDI_ARENA_ARRAY(w->arena, kind, (size_t)2 * decl->access_count);
    for (uint32_t i = 0; k && i < 2 * decl->access_count; i++) {
        const hdi_access_info *access = &decl->access[i / 2];
        uint32_t flags = (access->reads ? HDI_EPOCH_READS : 0) | (access->writes ? HDI_EPOCH_WRITES : 0);
        const hdi_epoch epoch = {.layout = i & 1 ? 0 : access->layout,
                                 .queue_mask = w->several ? 0 : 1,
                                 .flags = (uint8_t)flags,
                                 .place = HDI_PLACE_CONSUMER};
        k[i] = (kind){access->stages, access->access, epoch.state, flags != HDI_EPOCH_WRITES};
    }
    w->kind = k;
    return k != NULL;
}

/* What the loop over uses reads and writes, in one place that the compiler can keep in registers. */
typedef struct walk {
    const hdi_hazard_work *work;
    const uint16_t *use_access;
    const uint8_t *use_flags, *slot_queue;
    const kind *kind;
    hdi_epoch *epoch;
    hdi_entry *entry;
    uint32_t entry_next;
    uint8_t *use_kept;
    uint32_t *use_epoch;
} walk;

static HDI_INLINE const kind *kind_of(const walk *w, size_t use)
{
    return &w->kind[2 * (size_t)w->use_access[use] + (w->use_flags[use] & HDI_USE_BUFFER) / HDI_USE_BUFFER];
}

/* States: what is the same in two epochs of which one can be part of the other, if neither writes; what says that one
 * does; the first queue; and one that no use agrees with. */
static const hdi_epoch same = {.layout = UINT32_MAX, .flags = HDI_EPOCH_WRITES}, writes = {.flags = HDI_EPOCH_WRITES},
                       one_queue = {.queue_mask = 1}, none = {.layout = UINT32_MAX};

/* All uses of one pass. */
static HDI_COLD kind join_kinds(const walk *w, const hdi_record *record, const hdi_record *behind)
{
    kind all = *kind_of(w, record->use);
    hdi_epoch state = {.state = all.state};
    for (const hdi_record *r = record + 1; r < behind; r++) {
        const kind *k = kind_of(w, r->use);
        const hdi_epoch more = {.state = k->state};
        all.stages |= k->stages;
        all.access |= k->access;
        state.flags |= more.flags;
        /* Reads that differ agree on the read-only depth layout: declare checked it. */
        if (state.layout != more.layout)
            state.layout = HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY;
    }
    all.state = state.state;
    all.asks = state.flags != HDI_EPOCH_WRITES;
    return all;
}

static HDI_COLD void add_entries(hdi_entry *entry, uint32_t next, const hdi_record *record, const hdi_record *behind,
                                 hdi_epoch *epoch)
{
    for (; record < behind; record++, next++) {
        entry[next] = (hdi_entry){record->slot, record->use, epoch->more};
        epoch->more = next;
    }
}

static HDI_APART bool is_handed_over(const hdi_hazard_work *work, uint32_t seg)
{
    return work->several_families && hdi_is_handed_over(work, work->frozen->seg_res[seg]);
}

/* Returns the end of its epochs. */
static HDI_INLINE uint32_t build(walk *w, uint32_t seg, const hdi_record *record, const hdi_record *end, uint32_t at,
                                    bool several, uint32_t nobody)
{
    uint64_t last_state = none.state;
    uint32_t last_use = nobody, first = 1;
    hdi_epoch *next = &w->epoch[at];
    while (record < end) {
        uint32_t use = record->use, slot = record->slot;
        const hdi_record *behind = record + 1;
        const kind *k = kind_of(w, use);
        uint64_t state = k->state, queue = several ? one_queue.state << w->slot_queue[slot] : 0;
        kind all;
        if (HDI_UNLIKELY(behind < end && behind->slot == slot)) {
            while (behind < end && behind->slot == slot)
                behind++;
            all = join_kinds(w, record, behind);
            k = &all;
            state = all.state;
        }
        if (((last_state ^ state) & same.state) == 0 && !(state & writes.state) &&
            (!several || last_state & queue || !is_handed_over(w->work, seg))) {
            hdi_epoch *last = next - 1;
            last->stages |= k->stages;
            last->access |= k->access;
            last->last = slot;
            if (several)
                last->state = last_state |= queue;
            w->entry[w->entry_next] = (hdi_entry){slot, use, last->more};
            last->more = w->entry_next++;
            if (!several)
                w->use_epoch[use] = HDI_NONE;
        } else {
            w->use_kept[last_use] |= ((last_state & writes.state) != 0) & k->asks;
            next->stages = k->stages;
            next->access = k->access;
            next->use = use;
            next->more = HDI_NONE;
            next->first = next->last = slot;
            next->state = last_state = state | queue;
            next->extra = HDI_NONE;
            next++;
            last_use = use;
            if (!several)
                w->use_epoch[use] = 2 * at + first;
            at++;
            first = 0;
        }
        if (HDI_UNLIKELY(behind - record > 1)) {
            add_entries(w->entry, w->entry_next, record + 1, behind, next - 1);
            w->entry_next += (uint32_t)(behind - record - 1);
            for (record++; !several && record < behind; record++)
                w->use_epoch[record->use] = HDI_NONE;
        }
        record = behind;
    }
    return at;
}

static HDI_INLINE hdi_built build_all(const hdi_hazard_work *work, uint32_t first_seg, uint32_t last_seg,
                                         const hdi_record *record, const uint32_t *record_end, uint32_t at,
                                         uint32_t entry_begin, uint32_t nobody, bool several)
{
    const hdi_decl *decl = work->decl;
    hdi_hazards *out = work->out;
    const uint32_t *seg_res = work->frozen->seg_res;
    const uint8_t *res_flags = decl->res_flags;
    uint32_t *begin = out->seg_epoch_begin, *end = out->seg_epoch_end, from = 0;
    walk w = {work,       decl->use_access, decl->use_flags, out->slot_queue, work->kind,
              out->epoch, out->entry,       entry_begin,     out->use_kept,   out->use_epoch};
    for (uint32_t seg = first_seg; seg < last_seg; seg++) {
        uint32_t to = record_end[seg];
        begin[seg] = at;
        end[seg] = at = build(&w, seg, record + from, record + to, at, several, nobody);
        at += (res_flags[seg_res[seg]] & HDI_KEEPS_STATE) != 0; /* room for a state that is to be left */
        from = to;
    }
    return (hdi_built){at, w.entry_next};
}

hdi_built hdi_build_epochs(const hdi_hazard_work *work, uint32_t first_seg, uint32_t last_seg, const hdi_record *record,
                           const uint32_t *record_end, uint32_t epoch_begin, uint32_t entry_begin, uint32_t nobody)
{
    if (work->several)
        return build_all(work, first_seg, last_seg, record, record_end, epoch_begin, entry_begin, nobody, true);
    return build_all(work, first_seg, last_seg, record, record_end, epoch_begin, entry_begin, nobody, false);
}
