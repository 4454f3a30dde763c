#include "hazard_work.h"

#include "hints.h"
#include "sort.h"
#include "vk_numbers.h"

/* What resources need beyond their epochs: those that keep their state, and those that several queues use, or the host.
 * The layout that is left behind, who shares each, the state at the frame's end, and the steps of its segments.
 * Histories start from the layout of what they are of, which is left as their readers want it: these pairs come last,
 * all layouts first. O(resources + epochs of those). By ranges of resources; who needs extra slots is left to the
 * caller, as their order counts. */

enum { GRAIN = 64 };

typedef hdi_hazard_work work;

/* ---- who shares a resource ---- */

/* Whether GPU queues of several families are among some. */
static inline bool are_several_families(const work *w, uint32_t queues)
{
    queues &= w->gpu_mask;
    return queues && queues & ~w->family_mask[__builtin_ctz(queues)];
}

/* BY_QUEUE: it is exclusive, and several families use it. BY_READERS: concurrent where reads of several queues meet. */
typedef enum sharing { ONE_FAMILY, CONCURRENT, BY_QUEUE, BY_READERS } sharing;

static HDI_INLINE sharing sharing_of(const work *w, uint32_t res)
{
    const hdi_decl *decl = w->decl;
    uint32_t pair = decl->res_pair[res], flags = decl->res_flags[res];
    const uint16_t *res_queues = w->out->res_queues;
    if (pair != HDI_NONE) /* two take turns and both must do for both roles: nothing is handed from frame to frame */
        return are_several_families(w, res_queues[res] | res_queues[pair]) ? CONCURRENT : ONE_FAMILY;
    if (!are_several_families(w, res_queues[res]))
        return ONE_FAMILY;
    uint32_t wanted = flags & HDI_RES_SHARING ? decl->res_info[res].sharing : (uint32_t)HD_SHARING_AUTO;
    if (wanted == HD_SHARING_CONCURRENT || flags & HDI_RES_HOST)
        return CONCURRENT;
    if (wanted != HD_SHARING_EXCLUSIVE && flags & HDI_RES_BUFFER)
        return CONCURRENT;
    /* An import has one owner at the frame's start and end; pieces that went different ways would have to be gathered.
     */
    if (flags & HDI_RES_EXTERNAL)
        return hdi_has_several(w->frozen, res) ? CONCURRENT : BY_QUEUE;
    return wanted == HD_SHARING_EXCLUSIVE ? BY_QUEUE : BY_READERS;
}

bool hdi_is_handed_over(const hdi_hazard_work *w, uint32_t res)
{
    return w->decl->res_pair[res] == HDI_NONE && sharing_of(w, res) == BY_QUEUE;
}

/* ---- the state at the frame's end, of what keeps it ---- */

/* Whether a resource has steps, not epochs. */
static bool has_steps(const work *w, uint32_t res)
{
    return w->out->step && !(w->several && w->decl->res_flags[res] & HDI_RES_HOST);
}

static bool is_used(const work *w, uint32_t res, uint32_t seg)
{
    const hdi_hazards *out = w->out;
    return has_steps(w, res) ? out->seg_state[seg].behind != 0 : out->seg_epoch_begin[seg] != out->seg_epoch_end[seg];
}

/* The last epoch of a segment, before a final state stands behind it: its kind, its last slot and, asked for less often
 * as it stands elsewhere, its first use. kind null: there is none. */
typedef struct last_use {
    uint32_t slot;
    const uint32_t *use;
    const hdi_kind *kind;
} last_use;

static last_use find_last(const work *w, uint32_t res, uint32_t seg)
{
    const hdi_hazards *out = w->out;
    if (has_steps(w, res)) {
        const hdi_seg_state *state = &out->seg_state[seg];
        if (!state->behind)
            return (last_use){.kind = NULL};
        return (last_use){state->behind - 1, &out->step[state->step_end - 1].use, &out->kind[state->kind]};
    }
    uint32_t end = out->seg_epoch_end[seg];
    if (out->seg_epoch_begin[seg] == end)
        return (last_use){.kind = NULL};
    const hdi_epoch *last = &out->epoch[end - 1];
    return (last_use){last->last, &last->use, &out->kind[last->kind]};
}

/* The layout that the last use of an image wants, HDI_NONE: nothing uses it. */
static uint32_t last_layout(const work *w, uint32_t res)
{
    uint32_t best = HDI_NONE, layout = HDI_NONE;
    for (uint32_t seg = w->frozen->res_seg_begin[res]; seg < w->frozen->res_seg_begin[res + 1]; seg++) {
        last_use last = find_last(w, res, seg);
        if (last.kind && (best == HDI_NONE || last.slot > best)) {
            best = last.slot;
            layout = last.kind->layout;
        }
    }
    return layout;
}

/* What the first use of a segment is. */
static const hdi_kind *first_kind(const work *w, uint32_t seg)
{
    const hdi_hazards *out = w->out;
    if (!out->step)
        return &out->kind[out->epoch[out->seg_epoch_begin[seg]].kind];
    const hdi_step *step = &out->step[out->seg_state[seg].step_end - 1];
    while (step->low)
        step = &out->step[step->before - 1];
    return &out->kind[step->to];
}

static uint32_t choose_final_layout(const work *w, uint32_t res)
{
    const hdi_decl *decl = w->decl;
    const hdi_res_info *info = &decl->res_info[res];
    uint32_t pair = decl->res_pair[res];
    uint32_t own = last_layout(w, res);
    if (decl->res_flags[res] & HDI_RES_EXTERNAL) {
        if (info->final_layout)
            return info->final_layout;
        return own == HDI_NONE ? info->initial_layout : own;
    }
    /* What next frame's readers of the history want, so that they find it so and leave it so. */
    for (uint32_t seg = w->frozen->res_seg_begin[pair]; seg < w->frozen->res_seg_begin[pair + 1]; seg++) {
        if (is_used(w, pair, seg))
            return first_kind(w, seg)->layout;
    }
    return own == HDI_NONE ? HDI_LAYOUT_GENERAL : own;
}

static void choose_layouts(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)part;
    for (uint32_t i = begin; i < end; i++) {
        uint32_t res = w->keeper[i];
        if (w->decl->res_pair[res] != HDI_NONE && !(w->decl->res_flags[res] & (HDI_RES_BUFFER | HDI_RES_HISTORY)))
            w->out->res_final_layout[res] = choose_final_layout(w, res);
    }
}

/* The families of its first and of its last use on the GPU. */
typedef struct owners {
    uint32_t first_slot, last_slot, first_family, last_family;
} owners;

static void see_owner(const work *w, owners *o, uint32_t slot)
{
    uint32_t family = w->queues->family[w->schedule->slot_queue[slot]];
    if (family == HDI_NONE)
        return;
    if (slot < o->first_slot) {
        o->first_slot = slot;
        o->first_family = family;
    }
    if (slot >= o->last_slot) {
        o->last_slot = slot;
        o->last_family = family;
    }
}

static owners find_owners(const work *w, uint32_t res)
{
    const hdi_hazards *out = w->out;
    owners o = {HDI_NONE, 0, HDI_NONE, HDI_NONE};
    for (uint32_t seg = w->frozen->res_seg_begin[res]; seg < w->frozen->res_seg_begin[res + 1]; seg++) {
        for (uint32_t e = out->seg_epoch_begin[seg]; e < out->seg_epoch_end[seg]; e++) {
            see_owner(w, &o, out->epoch[e].first);
            for (uint32_t i = out->epoch[e].more; i != HDI_NONE; i = out->entry[i].older)
                see_owner(w, &o, out->entry[i].slot);
        }
    }
    return o;
}

/* A step at the end of a segment that must be left in another layout than its last use wants. */
static void add_final(const work *w, uint32_t seg, uint32_t layout, uint32_t final_layout)
{
    hdi_hazards *out = w->out;
    if (layout == final_layout)
        return;
    uint32_t end = out->seg_epoch_end[seg]++;
    out->epoch[end] = (hdi_epoch){.use = HDI_NONE,
                                  .kind = final_layout,
                                  .more = HDI_NONE,
                                  .flags = HDI_EPOCH_FINAL,
                                  .place = HDI_PLACE_PRODUCER,
                                  .extra = HDI_NONE};
}

/* ---- all of it ---- */

/* The last writes of a resource outlive the frame; in which layout it is left the barrier phase finds out. Returns
 * whether it is used. */
static bool keep_steps(const work *w, uint32_t seg, uint32_t seg_end)
{
    hdi_hazards *out = w->out;
    uint32_t behind = 0;
    for (const hdi_seg_state *s = out->seg_state + seg, *end = out->seg_state + seg_end; s < end; s++) {
        behind |= s->behind;
        if (s->behind && out->kind[s->kind].flags & HDI_EPOCH_WRITES)
            out->use_kept[out->step[s->step_end - 1].use] = 1;
    }
    return behind != 0;
}

/* The same of what has epochs; and the layout that it is left in. */
static bool keep_epochs(const work *w, uint32_t res, uint32_t first, uint32_t end)
{
    hdi_hazards *out = w->out;
    bool is_image = !(w->decl->res_flags[res] & HDI_RES_BUFFER), used = false;
    uint32_t initial = is_image ? hdi_initial_layout(w->decl, out, res) : 0;
    for (uint32_t seg = first; seg < end; seg++)
        used |= out->seg_epoch_begin[seg] != out->seg_epoch_end[seg];
    for (uint32_t seg = first; used && seg < end; seg++) {
        last_use last = find_last(w, res, seg);
        if (last.kind && last.kind->flags & HDI_EPOCH_WRITES)
            out->use_kept[*last.use] = 1;
        if (is_image)
            add_final(w, seg, last.kind ? last.kind->layout : initial, out->res_final_layout[res]);
    }
    return used;
}

/* What stands between its epochs and those of the frames before and behind. */
static void keep_state(const work *w, uint32_t res)
{
    hdi_hazards *out = w->out;
    uint32_t flags = w->decl->res_flags[res], first = w->frozen->res_seg_begin[res],
             end = w->frozen->res_seg_begin[res + 1];
    if (flags & HDI_RES_BUFFER)
        out->res_final_layout[res] = 0;
    else if (flags & HDI_RES_HISTORY)
        out->res_final_layout[res] = out->res_final_layout[w->decl->res_pair[res]];
    const bool is_several = w->several_families && out->res_queues[res] & w->gpu_mask;
    owners o = {.first_family = HDI_NONE, .last_family = HDI_NONE};
    if (is_several)
        o = find_owners(w, res);
    bool used = has_steps(w, res) ? keep_steps(w, first, end) : keep_epochs(w, res, first, end);
    if (!is_several && used && (!w->several || out->res_queues[res] & w->gpu_mask)) /* mostly there is one */
        o.first_family = o.last_family = w->queues->family[0];
    out->res_first_family[res] = o.first_family;
    out->res_final_family[res] = o.last_family;
}

/* Whether steps of a segment are not just before the first use of the epoch behind. */
static bool is_crossing(const work *w, uint32_t seg)
{
    const hdi_hazards *out = w->out;
    uint32_t queues = 0;
    const hdi_epoch *epoch = out->epoch + out->seg_epoch_begin[seg], *end = out->epoch + out->seg_epoch_end[seg];
    for (; epoch < end; epoch++) {
        queues |= epoch->queue_mask;
        HDI_HIDE(queues);
    }
    return out->seg_epoch_begin[seg] != out->seg_epoch_end[seg] && (queues & (queues - 1) || !(queues & w->gpu_mask));
}

static void place(work *w, uint32_t seg)
{
    if (!hdi_place_segment(w, seg, false))
        w->left[atomic_fetch_add_explicit(w->left_count, 1, memory_order_relaxed)] = seg;
}

/* Several queues use a resource, or the host. */
static HDI_INLINE bool is_shared(const work *w, uint32_t res)
{
    uint32_t queues = w->out->res_queues[res];
    return ((queues & (queues - 1)) | (queues & ~w->gpu_mask)) != 0;
}

/* shared: several queues use it, or the host. */
static HDI_INLINE void settle(work *w, uint32_t res, bool shared)
{
    hdi_hazards *out = w->out;
    uint32_t first = w->frozen->res_seg_begin[res], end = w->frozen->res_seg_begin[res + 1];
    sharing by = w->several_families ? sharing_of(w, res) : ONE_FAMILY;
    out->res_concurrent[res] = by == CONCURRENT || (by == BY_READERS && out->res_concurrent[res]); /* they meet */
    if (HDI_LIKELY(end - first == 1)) {
        if (shared)
            place(w, first);
        return;
    }
    for (uint32_t seg = first; seg < end; seg++) {
        if (is_crossing(w, seg))
            place(w, seg);
    }
}

static void settle_keeper(work *w, uint32_t res)
{
    keep_state(w, res);
    if (w->several && !has_steps(w, res))
        settle(w, res, is_shared(w, res));
}

uint32_t hdi_settle_range(const hdi_hazard_work *shared, uint32_t first, uint32_t last, const uint32_t *keeper,
                          uint32_t keepers)
{
    work w = *shared; /* several parts go by the same one */
    const uint8_t *res_flags = w.decl->res_flags;
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < keepers; i++) {
        uint32_t res = keeper[i];
        if (w.decl->res_pair[res] != HDI_NONE) {
            pairs++;
            continue;
        }
        if (!(res_flags[res] & HDI_RES_BUFFER))
            w.out->res_final_layout[res] = choose_final_layout(&w, res);
        settle_keeper(&w, res);
    }
    while (first < last) { /* which ones several queues use cannot be foreseen: they are listed, some at a time */
        enum { CHUNK = 128 };
        uint32_t several[CHUNK], count = 0, behind = last - first < CHUNK ? last : first + CHUNK;
        for (; first < behind; first++) {
            several[count] = first;
            count += is_shared(&w, first) & !(res_flags[first] & HDI_KEEPS_STATE);
        }
        for (uint32_t i = 0; i < count; i++)
            settle(&w, several[i], true);
    }
    return pairs;
}

void hdi_settle_hosts(hdi_hazard_work *w)
{
    const hdi_hazards *out = w->out;
    for (uint32_t i = 0; i < out->host_res_count; i++) {
        uint32_t res = out->host_res[i];
        if (is_shared(w, res) && !(w->decl->res_flags[res] & HDI_KEEPS_STATE))
            settle(w, res, true);
    }
}

static void settle_pairs(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work w = *(const work *)user;
    (void)part;
    for (uint32_t i = begin; i < end; i++) {
        if (w.decl->res_pair[w.keeper[i]] != HDI_NONE)
            settle_keeper(&w, w.keeper[i]);
    }
}

/* In their order, so that extra slots are numbered the same way however they were found. */
static bool sort_left(const work *w, uint32_t count)
{
    uint64_t *key = HDI_ARENA_ARRAY(w->arena, uint64_t, count),
             *scratch_key = HDI_ARENA_ARRAY(w->arena, uint64_t, count);
    uint32_t *scratch = HDI_ARENA_ARRAY(w->arena, uint32_t, count);
    if (w->arena->failed)
        return false;
    for (uint32_t i = 0; i < count; i++)
        key[i] = w->left[i];
    hdi_sort_u64(key, w->left, scratch_key, scratch, count);
    return true;
}

hd_result hdi_settle(hdi_hazard_work *w)
{
    if (w->pairs > 0) {
        hdi_crew_ranges(w->crew, w->keepers, GRAIN, choose_layouts, w);
        hdi_crew_ranges(w->crew, w->keepers, GRAIN, settle_pairs, w);
    }
    uint32_t left = atomic_load_explicit(w->left_count, memory_order_relaxed);
    if (left > 1 && !sort_left(w, left))
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < left; i++)
        hdi_place_segment(w, w->left[i], true);
    return w->arena->failed ? HD_OUT_OF_MEMORY : HD_OK;
}
