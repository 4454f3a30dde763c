#include "sync_work.h"

#include <string.h>


/* The steps of segments, found in one walk over the uses as they are scheduled: each use goes on with the last epoch of
 * its segment or is a step into the next one. A step says all that the barrier phase asks for, so that this need look
 * neither at uses nor for what stood before. On the way the slots get their places, and those that use what another
 * queue used want that. O(uses).
 *
 * Whether a use goes on cannot be foreseen, and a wrong guess costs more than all else here. So the next step is always
 * written down, and counts only where it is one. What seldom happens is apart: an epoch whose uses differ in their
 * kinds or queues, a step from one queue to another. */

typedef hdi_hazard_work work;

/* What the loop over uses reads, and how far it has come: of its own, so that the compiler keeps it in registers. */
typedef struct walk {
    const uint16_t *use_access; /* their kinds */
    const hdi_link *link;
    hdi_seg_state *state;
    hdi_step *fresh; /* behind the last one */
    uint32_t next;   /* its number */
} walk;

/* What is seldom asked for. */
typedef struct odds {
    work *w;
    hdi_mixes *mixes;
} odds;

/* ---- several queues ---- */

/* A slot of a queue wants what the epoch behind a step does on other queues. */
static void want_epoch(const odds *o, const hdi_step *step, uint32_t behind, uint32_t slot, uint32_t queue)
{
    const hdi_hazards *out = o->w->out;
    uint32_t *want = &out->slot_want[(size_t)slot * o->w->queues->count], of = step->to >> HDI_QUEUE_SHIFT;
    if (!hdi_has_sides(step->to)) {
        if (of != queue)
            hdi_raise_want(&want[of], out->slot_pos[behind - 1] + 1, o->w->alone);
        return;
    }
    for (uint32_t i = step->use; i; i = o->w->sides.side[i].older) {
        const hdi_side *side = &o->w->sides.side[i];
        of = side->to >> HDI_QUEUE_SHIFT;
        if (of != queue)
            hdi_raise_want(&want[of], out->slot_pos[side->last] + 1, o->w->alone);
    }
}

/* Where there is room in the plan's memory they lie there, behind the steps. */
static bool grow_sides(const work *w, hdi_sides *sides)
{
    enum { FIRST = 64 };
    uint32_t capacity = sides->capacity ? 2 * sides->capacity : FIRST;
    sides->arena = hdi_crew_early(w->crew, capacity * sizeof(*sides->side) + HDI_ARENA_ALIGNMENT, w->arena);
    hdi_side *grown = HDI_ARENA_ARRAY(sides->arena, hdi_side, capacity);
    if (!grown)
        return false;
    if (sides->capacity)
        memcpy(grown, sides->side, sides->count * sizeof(*grown));
    sides->side = grown;
    sides->capacity = capacity;
    return true;
}

/* Returns its number; 0: there is no memory. */
static uint32_t add_side(const odds *o, hdi_side side)
{
    hdi_sides *sides = &o->w->sides;
    if (o->w->alone && sides->count >= sides->capacity && !grow_sides(o->w, sides))
        return 0;
    uint32_t number = hdi_next_number(&sides->count, o->w->alone);
    sides->side[number] = side;
    return number;
}

/* A use on a queue goes on with an epoch that is on another one, or on several. last: the last slot of the epoch. */
static void share_epoch(const odds *o, hdi_step *step, const hdi_step *use, uint32_t last)
{
    const hdi_sides *sides = &o->w->sides;
    uint32_t queue = use->to >> HDI_QUEUE_SHIFT;
    if (!hdi_has_sides(step->to)) {
        step->use = add_side(o, (hdi_side){step->use, step->slot, last, step->to & ~HDI_CROSSES, 0});
        step->to |= HDI_QUEUE_BITS;
    }
    for (uint32_t i = step->use; i; i = sides->side[i].older) {
        hdi_side *side = &sides->side[i];
        if (side->to >> HDI_QUEUE_SHIFT != queue)
            continue;
        uint32_t kind = hdi_mix_kinds(o->w, o->mixes, side->to & HDI_KIND_BITS, use->to & HDI_KIND_BITS);
        side->last = use->slot;
        side->to = kind | queue << HDI_QUEUE_SHIFT;
        return;
    }
    step->use = add_side(o, (hdi_side){use->use, use->slot, use->slot, use->to, step->use});
    o->w->out->res_concurrent[o->w->frozen->seg_res[step->seg]] = 1;
    if (step->before)
        want_epoch(o, &o->w->out->step[step->before - 1], step->low, use->slot, queue);
}

/* A use does not go on with an epoch on other queues, though its kind does: these are handed over to its queue. It is
 * asked only of what the frame says more about than what it is. */
static bool is_apart(const odds *o, uint32_t seg)
{
    uint32_t res = o->w->frozen->seg_res[seg];
    return o->w->several_families && o->w->decl->res_flags[res] & (HDI_RES_EXTERNAL | HDI_RES_SHARING) &&
           hdi_is_handed_over(o->w, res);
}

/* ---- a use ---- */

/* A use that the walk has written as the step `use`: it goes on with an epoch of another kind or queue, or begins one
 * behind an epoch of another queue. from: what the epoch was. */
static HDI_APART walk add_odd_use(walk k, const odds *o, hdi_step *use, uint32_t from, bool begins)
{
    hdi_step *all = o->w->out->step;
    hdi_seg_state *state = &k.state[use->seg];
    uint32_t to = use->to, queue = to >> HDI_QUEUE_SHIFT;
    bool crosses = ((from ^ to) & HDI_QUEUE_BITS) != 0;
    hdi_step *step = &all[use->before - 1];
    if (!begins && crosses && is_apart(o, use->seg)) {
        begins = true;
        k.fresh++;
        state->step_end = ++k.next;
    }
    if (begins) {
        want_epoch(o, step, use->low, use->slot, queue);
        use->to |= HDI_CROSSES;
        return k;
    }
    if (crosses)
        share_epoch(o, step, use, use->low - 1);
    uint32_t kind = hdi_mix_kinds(o->w, o->mixes, from & HDI_KIND_BITS, to & HDI_KIND_BITS);
    step->to = (step->to & ~HDI_KIND_BITS) | kind;
    state->to = step->to & ~HDI_CROSSES;
    k.link = o->w->kinds.link;
    return k;
}

/* queue: of the slot, as in `to` of a step. several: there are several queues. */
static HDI_INLINE walk add_use(walk k, const odds *o, uint32_t seg, uint32_t use, uint32_t slot, uint32_t kind,
                               uint32_t queue, bool several)
{
    hdi_seg_state *state = &k.state[seg];
    uint32_t from = state->to, to = kind | queue, behind = state->behind, first = state->first, end = state->step_end;
    uint32_t begins = k.link[from & HDI_KIND_BITS].leaves != k.link[kind].joins;
    hdi_step *fresh = k.fresh;
    HDI_HIDE(begins);
    fresh->use = use;
    fresh->seg = seg;
    fresh->slot = slot;
    fresh->low = behind;
    fresh->before = end;
    fresh->to = to;
    k.next += begins;
    k.fresh += begins;
    state->first = behind ? first : slot;
    state->behind = slot + 1;
    state->to = to;
    state->step_end = begins ? k.next : end;
    uint32_t may_differ = begins - 1; /* of a use that goes on all bits; of a step only the queue */
    if (several)
        may_differ |= behind ? HDI_QUEUE_BITS : 0;
    if (HDI_UNLIKELY(((from ^ to) & may_differ) != 0))
        k = add_odd_use(k, o, fresh, from, begins);
    return k;
}

/* ---- uses of several segments, and passes that use a segment in several ways ---- */

/* Uses of a pass make of each segment one kind together, before one of them counts. */
static void see_due(const odds *o, uint32_t use, uint32_t slot)
{
    hdi_span span = hdi_use_span(o->w->decl, o->w->frozen, use);
    uint32_t kind = o->w->decl->use_access[use];
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t c = 0; c < span.cols; c++) {
            hdi_due *d = &o->w->seg_due[span.base + row * span.stride + c];
            d->kind = d->behind == slot + 1 ? hdi_mix_kinds(o->w, o->mixes, d->kind, kind) : kind;
            d->behind = slot + 1;
        }
    }
}

/* sparse: steps stand at the places of their visits, of which the first one comes next. mixed: the first use of a
 * segment stands for all of the pass. */
static HDI_APART void add_span(walk *shared, const odds *o, uint32_t use, uint32_t slot, uint32_t queue,
                                bool sparse, bool mixed)
{
    walk k = *shared;
    const hdi_span span = hdi_use_span(o->w->decl, o->w->frozen, use);
    uint32_t kind = k.use_access[use], seg = span.base, visit = k.next;
    k.link = o->w->kinds.link;
    for (uint32_t row = 0; row < span.rows; row++, seg += span.stride) {
        for (uint32_t s = seg; s < seg + span.cols; s++) {
            hdi_step *at = k.fresh;
            if (!mixed || k.state[s].behind != slot + 1)
                k = add_use(k, o, s, use, slot, mixed ? o->w->seg_due[s].kind : kind, queue, true);
            if (!sparse)
                continue;
            if (k.fresh == at) {
                at->slot = slot;
                at->to = HDI_NONE;
            }
            k.next = ++visit;
            k.fresh = at + 1;
        }
    }
    *shared = k;
}

/* ---- all uses ---- */

static uint32_t count_visits(const work *w, uint32_t use)
{
    hdi_span span = {.rows = 1, .cols = 1};
    if (w->frozen->use_seg[use] == HDI_NONE)
        span = hdi_use_span(w->decl, w->frozen, use);
    return span.rows * span.cols;
}

/* Of some resources. several: queues. sparse: there are other workers. */
static HDI_INLINE walk walk_slots(walk k, const odds *o, uint32_t first_res, uint32_t res_count, bool several,
                                  bool sparse)
{
    const work *w = o->w;
    const uint32_t *slot_pass = w->schedule->slot_pass, *use_begin = w->decl->pass_use_begin,
                   *use_seg = w->frozen->use_seg, *use_res = w->decl->use_res;
    const uint8_t *slot_queue = w->schedule->slot_queue;
    const bool mixes = w->seg_due != NULL;
    uint32_t visit = 0;
    for (uint32_t slot = 0; slot < w->schedule->slot_count; slot++) {
        const uint32_t pass = slot_pass[slot], *of_pass = &use_begin[pass];
        uint32_t queue = several ? (uint32_t)slot_queue[slot] << HDI_QUEUE_SHIFT : 0;
        bool mixed = mixes && w->decl->pass_flags[pass] & HDI_PASS_MIXES;
        for (uint32_t use = of_pass[0]; mixed && use < of_pass[1]; use++) {
            if (use_res[use] - first_res < res_count)
                see_due(o, use, slot);
        }
        for (size_t use = of_pass[0], end = of_pass[1]; use < end; use++) {
            if (sparse) {
                k.next = visit;
                k.fresh = w->out->step + visit;
                visit += count_visits(w, (uint32_t)use);
                if (use_res[use] - first_res >= res_count)
                    continue;
            }
            uint32_t seg = use_seg[use];
            if (HDI_LIKELY(!sparse && !mixed && seg != HDI_NONE)) {
                k = add_use(k, o, seg, (uint32_t)use, slot, k.use_access[use], queue, several);
            } else {
                walk own = k;
                add_span(&own, o, (uint32_t)use, slot, queue, sparse, mixed);
                k = own;
            }
        }
    }
    k.next = sparse ? visit : k.next;
    return k;
}

static walk walk_one_queue(walk k, const odds *o)
{
    return walk_slots(k, o, 0, UINT32_MAX, false, false);
}

static walk walk_queues(walk k, const odds *o)
{
    return walk_slots(k, o, 0, UINT32_MAX, true, false);
}

static walk walk_part(walk k, const odds *o, uint32_t first_res, uint32_t res_count)
{
    return walk_slots(k, o, first_res, res_count, true, true);
}

/* Which queues use each resource: known before any use of it, as it says between which queues a resource is handed
 * over. */
static void find_queues(const work *w, uint32_t first_res, uint32_t res_count)
{
    const uint32_t *slot_pass = w->schedule->slot_pass, *use_begin = w->decl->pass_use_begin,
                   *use_res = w->decl->use_res;
    for (uint32_t slot = 0; slot < w->schedule->slot_count; slot++) {
        uint16_t queue = (uint16_t)(1u << w->schedule->slot_queue[slot]);
        for (uint32_t u = use_begin[slot_pass[slot]], end = use_begin[slot_pass[slot] + 1]; u < end; u++) {
            if (use_res[u] - first_res < res_count)
                w->out->res_queues[use_res[u]] |= queue;
        }
    }
}

void hdi_walk_slots(uint32_t part, void *user)
{
    work *w = user;
    hdi_mixes mixes = {0};
    const odds o = {w, &mixes};
    uint32_t first_res = hdi_range_begin(w->decl->res_count, w->parts, part),
             res_count = hdi_range_begin(w->decl->res_count, w->parts, part + 1) - first_res;
    walk k = {
        .use_access = w->decl->use_access, .link = w->kinds.link, .state = w->out->seg_state, .fresh = w->out->step};
    if (w->several)
        find_queues(w, first_res, res_count);
    k = w->parts > 1 ? walk_part(k, &o, first_res, res_count)
        : w->several ? walk_queues(k, &o)
                     : walk_one_queue(k, &o);
    if (part == 0)
        w->out->step_count = k.next;
}
