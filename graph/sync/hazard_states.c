#include "sync_work.h"

#include <string.h>

#include "vk_numbers.h"

/* What is known when there are all steps: which queues share each resource, the layout and the family in which those
 * that keep their state are left, and which steps need a slot of their own. A history starts from the layout of what it
 * is of, which is left as the readers of the history want it. O(resources + steps), and epochs of those. */

enum { GRAIN = 512 };

typedef hdi_hazard_work work;

/* ---- sharing ---- */

/* Whether GPU queues of several families are among some. */
static inline bool are_several_families(const work *w, uint32_t queues)
{
    queues &= w->gpu_mask;
    return queues && queues & ~w->family_mask[__builtin_ctz(queues)];
}

/* BY_QUEUE: it is exclusive, and several families use it. BY_READERS: concurrent where reads of several queues meet. */
typedef enum sharing { ONE_FAMILY, CONCURRENT, BY_QUEUE, BY_READERS } sharing;

static sharing sharing_of(const work *w, uint32_t res)
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

static void find_sharing(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    uint8_t *concurrent = w->out->res_concurrent; /* where reads of several queues met */
    (void)part;
    for (uint32_t res = begin; res < end; res++) {
        sharing by = sharing_of(w, res);
        concurrent[res] = by == CONCURRENT || (by == BY_READERS && concurrent[res]);
    }
}

/* ---- the state at the frame's end, of what keeps it ---- */

static bool find_keepers(const work *w)
{
    uint32_t count = 0, end = w->decl->res_count;
    for (uint32_t res = 0; (res = hdi_next_flagged(w->decl, res, end, HDI_KEEPS_STATE)) < end; res++)
        count++;
    w->out->keeper = HDI_ARENA_ARRAY(w->arena, uint32_t, count);
    for (uint32_t res = 0; w->out->keeper && w->out->keeper_count < count; res++) {
        res = hdi_next_flagged(w->decl, res, end, HDI_KEEPS_STATE);
        w->out->keeper[w->out->keeper_count++] = res;
    }
    return w->out->keeper != NULL;
}

/* The layout that the last use of an image wants, HDI_NONE: nothing uses it. */
static uint32_t last_layout(const work *w, uint32_t res)
{
    uint32_t best = 0, layout = HDI_NONE;
    for (uint32_t seg = w->frozen->res_seg_begin[res]; seg < w->frozen->res_seg_begin[res + 1]; seg++) {
        const hdi_seg_state *state = &w->out->seg_state[seg];
        if (state->behind > best) {
            best = state->behind;
            layout = hdi_kind_of(w->out, state->to)->layout;
        }
    }
    return layout;
}

/* The layout that the first use of a segment wants. */
static uint32_t first_layout(const work *w, uint32_t seg)
{
    const hdi_step *step = &w->out->step[w->out->seg_state[seg].step_end - 1];
    while (step->before)
        step = &w->out->step[step->before - 1];
    return hdi_kind_of(w->out, step->to)->layout;
}

static uint32_t choose_final_layout(const work *w, uint32_t res)
{
    const hdi_res_info *info = &w->decl->res_info[res];
    uint32_t pair = w->decl->res_pair[res], own = last_layout(w, res);
    if (w->decl->res_flags[res] & HDI_RES_EXTERNAL) {
        if (info->final_layout)
            return info->final_layout;
        return own == HDI_NONE ? info->initial_layout : own;
    }
    /* What next frame's readers of the history want, so that they find it so and leave it so. */
    for (uint32_t seg = w->frozen->res_seg_begin[pair]; seg < w->frozen->res_seg_begin[pair + 1]; seg++) {
        if (w->out->seg_state[seg].behind)
            return first_layout(w, seg);
    }
    return own == HDI_NONE ? HDI_LAYOUT_GENERAL : own;
}

static void choose_layouts(const work *w)
{
    const hdi_hazards *out = w->out;
    const uint8_t *res_flags = w->decl->res_flags;
    for (int histories = 0; histories < 2; histories++) {
        for (uint32_t i = 0; i < out->keeper_count; i++) {
            uint32_t res = out->keeper[i], flags = res_flags[res];
            if (((flags & HDI_RES_HISTORY) != 0) == histories)
                out->res_final_layout[res] = flags & HDI_RES_BUFFER ? 0
                                             : histories ? out->res_final_layout[w->decl->res_pair[res]]
                                                         : choose_final_layout(w, res);
        }
    }
}

/* The queues of its first and of its last use on the GPU. */
typedef struct owners {
    uint32_t first_slot, last_slot;
    uint8_t first, last;
} owners;

static void see_side(const work *w, owners *o, const hdi_side *side)
{
    uint32_t queue = side->to >> HDI_QUEUE_SHIFT;
    if (queue >= w->queues->gpu_count)
        return;
    if (side->first < o->first_slot)
        *o = (owners){side->first, o->last_slot, (uint8_t)queue, o->last};
    if (side->last >= o->last_slot)
        *o = (owners){o->first_slot, side->last, o->first, (uint8_t)queue};
}

static owners find_owners(const work *w, uint32_t res)
{
    const hdi_hazards *out = w->out;
    owners o = {HDI_NONE, 0, HD_MAX_QUEUES, HD_MAX_QUEUES};
    hdi_side sides[HD_MAX_QUEUES];
    for (uint32_t seg = w->frozen->res_seg_begin[res]; seg < w->frozen->res_seg_begin[res + 1]; seg++) {
        const hdi_seg_state *state = &out->seg_state[seg];
        for (uint32_t end = state->step_end, behind = state->behind; end;) {
            const hdi_step *step = &out->step[end - 1];
            for (uint32_t i = hdi_find_sides(out, step, behind, sides); i-- > 0;)
                see_side(w, &o, &sides[i]);
            behind = step->low;
            end = step->before;
        }
    }
    return o;
}

/* What stands between its epochs and those of the frames before and behind: the last writes outlive the frame. */
static void keep_state(const work *w, uint32_t res)
{
    hdi_hazards *out = w->out;
    uint32_t used = 0;
    for (uint32_t seg = w->frozen->res_seg_begin[res]; seg < w->frozen->res_seg_begin[res + 1]; seg++) {
        const hdi_seg_state *state = &out->seg_state[seg];
        used |= state->behind;
        if (state->behind && hdi_kind_of(out, state->to)->flags & HDI_EPOCH_WRITES)
            out->use_kept[out->step[state->step_end - 1].use] = 1; /* a write has one queue */
    }
    bool on_gpu = used && (!w->several || out->res_queues[res] & w->gpu_mask);
    owners o = {.first = on_gpu ? 0 : HD_MAX_QUEUES, .last = on_gpu ? 0 : HD_MAX_QUEUES};
    if (on_gpu && w->several_families)
        o = find_owners(w, res);
    out->res_first_owner[res] = o.first;
    out->res_final_owner[res] = o.last;
}

/* ---- steps with a slot of their own ---- */

/* The first GPU queue that uses a resource, or the one that it takes turns with: there stand barriers for the host,
 * which owns nothing. */
static uint32_t first_gpu_queue(const work *w, uint32_t res)
{
    uint32_t pair = w->decl->res_pair[res], first = find_owners(w, res).first;
    if (first == HD_MAX_QUEUES && pair != HDI_NONE && pair > res) /* a history stands behind what it is of */
        return first_gpu_queue(w, pair);
    return first == HD_MAX_QUEUES ? 0 : first;
}

/* Extra steps, and what each asks for. */
typedef struct extras {
    hdi_extra_step *step;
    hdi_extra_ask *ask;
    uint32_t count, step_capacity, ask_capacity;
} extras;

/* First uses want nothing before them, so that one slot before all others of a queue serves all of those. step:
 * HDI_NONE: the frame's end. from, to: queues of the epochs before and behind. */
static void add_extra(const work *w, extras *e, uint32_t seg, uint32_t step, uint32_t from, uint32_t to)
{
    uint32_t gpu = to & w->gpu_mask ? to & w->gpu_mask : from & w->gpu_mask, before = w->out->slot_count;
    if (step != HDI_NONE)
        before = from ? w->out->step[step].slot : 0;
    if (!hdi_arena_grow(w->arena, &e->step, &e->step_capacity, e->count, e->count + 1, sizeof(*e->step)) ||
        !hdi_arena_grow(w->arena, &e->ask, &e->ask_capacity, e->count, e->count + 1, sizeof(*e->ask)))
        return;
    uint32_t queue = gpu ? (uint32_t)__builtin_ctz(gpu) : first_gpu_queue(w, w->frozen->seg_res[seg]);
    e->step[e->count] = (hdi_extra_step){seg, step, e->count};
    e->ask[e->count++] = (hdi_extra_ask){before, queue};
}

static bool is_one_gpu_queue(const work *w, uint32_t queues)
{
    return queues & w->gpu_mask && !(queues & (queues - 1));
}

/* Whether a step leads into an epoch of several queues or the host, whose layout no queue alone can change. */
static bool needs_extra(const work *w, const hdi_step *step)
{
    const hdi_hazards *out = w->out;
    if (HDI_LIKELY(step->to >> HDI_QUEUE_SHIFT < w->queues->gpu_count || step->to == HDI_NONE))
        return false;
    uint32_t res = w->frozen->seg_res[step->seg];
    if (w->decl->res_flags[res] & HDI_RES_BUFFER)
        return false;
    const hdi_step *before = step->before ? &out->step[step->before - 1] : NULL;
    uint32_t layout = before ? hdi_kind_of(out, before->to)->layout : hdi_initial_layout(w->decl, out, res);
    return !is_one_gpu_queue(w, before ? hdi_step_queues(out, before) : 0) &&
           layout != hdi_kind_of(out, step->to)->layout;
}

/* Segments of what the frame leaves in another layout behind uses that are not of one GPU queue. */
static void see_left(const work *w, extras *e, uint32_t res)
{
    const hdi_hazards *out = w->out;
    uint32_t first = w->frozen->res_seg_begin[res], end = w->frozen->res_seg_begin[res + 1], used = 0;
    for (uint32_t seg = first; seg < end; seg++)
        used |= out->seg_state[seg].behind;
    for (uint32_t seg = first; used && seg < end; seg++) {
        const hdi_seg_state *state = &out->seg_state[seg];
        uint32_t from = state->behind ? hdi_step_queues(out, &out->step[state->step_end - 1]) : 0;
        if (!from && out->res_queues[res] & w->gpu_mask)
            continue; /* any of its queues may do it */
        if (hdi_is_left(w->decl, out, res, seg) && !is_one_gpu_queue(w, from))
            add_extra(w, e, seg, HDI_NONE, from, 0);
    }
}

static hd_result find_extras(work *w)
{
    hdi_hazards *out = w->out;
    extras e = {0};
    for (uint32_t i = 0; i < out->step_count; i++) {
        const hdi_step *step = &out->step[i];
        if (needs_extra(w, step))
            add_extra(w, &e, step->seg, i, step->before ? hdi_step_queues(out, &out->step[step->before - 1]) : 0,
                      hdi_step_queues(out, step));
    }
    for (uint32_t i = 0; i < out->keeper_count; i++)
        see_left(w, &e, out->keeper[i]);
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    out->extra = e.step;
    out->extra_count = e.count;
    return e.count ? hdi_add_extra_slots(w, e.ask) : HD_OK;
}

bool hdi_settle(hdi_hazard_work *w)
{
    hdi_hazards *out = w->out;
    if (!find_keepers(w))
        return false;
    if (w->several_families)
        hdi_crew_ranges(w->crew, w->decl->res_count, GRAIN, find_sharing, w);
    else
        memset(out->res_concurrent, 0, w->decl->res_count);
    choose_layouts(w);
    for (uint32_t i = 0; i < out->keeper_count; i++)
        keep_state(w, out->keeper[i]);
    return !w->several || find_extras(w) == HD_OK;
}
