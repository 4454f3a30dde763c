#include "hazard_work.h"

#include <string.h>

#include "hints.h"
#include "vk_numbers.h"

/* Steps of one queue, found in one walk over the uses as they are scheduled: each use goes on with the last epoch of
 * its segment or is a step into the next one, with all that the barrier phase asks for: it need look neither at uses
 * nor for what stood before. O(uses).
 *
 * Whether a use goes on cannot be foreseen, and a wrong guess costs more than all else here. So the next step is always
 * written down, and counts only where it is one.
 *
 * One worker writes steps in the order of the schedule. Several share the resources: hazard.c puts uses into buckets
 * that each one walks, and each step stands at the place of its use, whether it is one or not; those of a use of
 * several segments stand behind all uses. */

typedef hdi_hazard_work work;

/* What the loop over uses reads, and how far it has come: of its own, so that the compiler keeps it in registers. */
typedef struct walk {
    const uint16_t *use_access;
    const uint8_t *use_flags;
    const hdi_kind *kind;
    hdi_seg_state *state;
    hdi_step *fresh; /* behind the last one */
    uint32_t next;   /* its number */
    hdi_region_steps found; /* by one of several workers */
} walk;

/* What is seldom asked for. */
typedef struct odds {
    const work *w;
    hdi_kinds *kinds;
    hdi_step *step;
    hdi_due *due; /* of segments, where a pass reads in two layouts */
} odds;

/* A use goes on with an epoch of another kind. */
static HDI_APART const hdi_kind *mix(const odds *o, hdi_seg_state *state, hdi_step *step, uint32_t kind)
{
    state->kind = step->to = hdi_mix_kinds(o->kinds, step->to, kind);
    return o->kinds->kind;
}

/* Where a step goes: behind the last one, and it counts where it is one; or to its use. */
typedef enum order { BY_ONE, BY_SEVERAL, BY_SEVERAL_AT_USE } order;

static HDI_INLINE walk add_use(walk k, const odds *o, uint32_t seg, size_t use, uint32_t slot, uint32_t to, order by)
{
    hdi_seg_state *state = &k.state[seg];
    uint32_t from = state->kind, begins = k.kind[from].leaves != k.kind[to].joins, behind = state->behind,
             first = state->first, end = state->step_end;
    hdi_step *fresh = by == BY_SEVERAL_AT_USE ? &o->step[use] : k.fresh;
    HDI_HIDE(begins);
    fresh->use = (uint32_t)use;
    fresh->seg = seg;
    fresh->slot = slot;
    fresh->low = behind;
    fresh->before = end;
    fresh->to = by == BY_SEVERAL_AT_USE ? to | (begins - 1) : to;
    if (by != BY_SEVERAL_AT_USE) {
        k.next += begins;
        k.fresh += begins;
    }
    if (by != BY_ONE) {
        k.found.step += begins;
        k.found.firsts += behind == 0;
    }
    state->first = behind ? first : slot;
    state->behind = slot + 1;
    state->kind = to;
    state->step_end = begins ? by == BY_SEVERAL_AT_USE ? (uint32_t)use + 1 : k.next : end;
    if (HDI_UNLIKELY(((from ^ to) & (begins - 1)) != 0))
        k.kind = mix(o, state, &o->step[end - 1], to);
    return k;
}

static HDI_INLINE uint32_t kind_of(const walk *k, size_t use)
{
    uint32_t flags = k->use_flags[use];
    return 2u * k->use_access[use] + flags / HDI_USE_BUFFER; /* hdi_kind_of: that is the highest flag */
}

/* One of several segments, or what may be one of several uses of a pass: the first of them stands for all. */
static HDI_INLINE walk add_piece(walk k, const odds *o, uint32_t seg, size_t use, uint32_t slot, order by)
{
    if (!o->due)
        return add_use(k, o, seg, use, slot, kind_of(&k, use), by);
    if (k.state[seg].behind != slot + 1)
        return add_use(k, o, seg, use, slot, o->due[seg].kind, by);
    if (by == BY_SEVERAL_AT_USE)
        o->step[use].to = HDI_NONE;
    return k;
}

/* A use of several segments. */
static HDI_APART void add_span(walk *shared, const odds *o, uint32_t use, uint32_t slot, order by)
{
    walk k = *shared;
    hdi_span span = hdi_use_span(o->w->decl, o->w->frozen, use);
    uint32_t begin = k.next;
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t c = 0; c < span.cols; c++)
            k = add_piece(k, o, span.base + row * span.stride + c, use, slot, by);
    }
    if (by != BY_ONE)
        o->step[use] = (hdi_step){.use = use, .low = begin, .before = k.next};
    *shared = k;
}

static void see_due(const walk *k, const odds *o, uint32_t use, uint32_t slot)
{
    hdi_span span = hdi_use_span(o->w->decl, o->w->frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t c = 0; c < span.cols; c++) {
            hdi_due *d = &o->due[span.base + row * span.stride + c];
            uint32_t kind = kind_of(k, use);
            d->kind = d->behind == slot + 1 ? hdi_mix_kinds(o->kinds, d->kind, kind) : kind;
            d->behind = slot + 1;
        }
    }
}

/* What uses of a pass make of each segment together, before one of them counts. */
static HDI_APART const hdi_kind *see_pass(const walk *k, const odds *o, uint32_t use, uint32_t end, uint32_t slot)
{
    for (; use < end; use++)
        see_due(k, o, use, slot);
    return o->kinds->kind;
}

/* whole: each resource is one segment, and a pass does nothing twice to one. */
static HDI_INLINE walk walk_slots(walk k, const odds *o, uint32_t slot, uint32_t slot_end, bool whole)
{
    const uint32_t *slot_pass = o->w->schedule->slot_pass, *use_begin = o->w->decl->pass_use_begin,
                   *use_seg = o->w->frozen->use_seg;
    for (; slot < slot_end; slot++) {
        const uint32_t *of_pass = &use_begin[slot_pass[slot]];
        for (size_t use = of_pass[0], end = of_pass[1]; use < end; use++) {
            if (whole || HDI_LIKELY(use_seg[use] != HDI_NONE)) {
                k = add_use(k, o, use_seg[use], use, slot, kind_of(&k, use), BY_ONE);
            } else {
                walk own = k;
                add_span(&own, o, (uint32_t)use, slot, BY_ONE);
                k = own;
            }
        }
    }
    return k;
}

static HDI_SCALAR walk walk_whole(walk k, const odds *o, uint32_t slot, uint32_t slot_end)
{
    return walk_slots(k, o, slot, slot_end, true);
}

static HDI_SCALAR walk walk_pieces(walk k, const odds *o, uint32_t slot, uint32_t slot_end)
{
    return walk_slots(k, o, slot, slot_end, false);
}

/* Whether a pass may read a segment in two layouts, which agree on the read-only depth layout, or twice in one that no
 * read goes on with (declare_pass.c). */
static HDI_INLINE bool may_mix(const walk *k, uint32_t use, uint32_t end)
{
    bool may = false;
    for (; use < end; use++) {
        uint32_t layout = k->kind[kind_of(k, use)].layout;
        may |= (layout == HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY) | (layout > INT32_MAX);
    }
    return may;
}

/* Where some passes do. */
static HDI_SCALAR walk walk_dues(walk k, const odds *o, uint32_t slot, uint32_t slot_end)
{
    const uint32_t *slot_pass = o->w->schedule->slot_pass, *use_begin = o->w->decl->pass_use_begin;
    const odds plain = {o->w, o->kinds, o->step, NULL};
    for (; slot < slot_end; slot++) {
        uint32_t begin = use_begin[slot_pass[slot]], end = use_begin[slot_pass[slot] + 1];
        if (HDI_LIKELY(!may_mix(&k, begin, end))) {
            k = walk_slots(k, &plain, slot, slot + 1, false);
            continue;
        }
        walk own = k;
        own.kind = see_pass(&own, o, begin, end, slot);
        for (uint32_t use = begin; use < end; use++)
            add_span(&own, o, use, slot, BY_ONE);
        k = own;
    }
    return k;
}

static HDI_INLINE walk walk_records(walk k, const odds *o, const hdi_record **at, uint32_t slot_end, bool dues)
{
    const uint32_t *use_seg = o->w->frozen->use_seg;
    const hdi_record *record = *at;
    for (uint32_t seen = HDI_NONE; record->slot < slot_end; record++) {
        uint32_t use = record->use, slot = record->slot;
        for (const hdi_record *r = record; dues && slot != seen && r->slot == slot; r++)
            k.kind = see_pass(&k, o, r->use, r->use + 1, slot);
        seen = slot;
        if (HDI_LIKELY(use_seg[use] != HDI_NONE && !dues)) {
            k = add_use(k, o, use_seg[use], use, slot, kind_of(&k, use), BY_SEVERAL_AT_USE);
        } else if (use_seg[use] != HDI_NONE) {
            k = add_piece(k, o, use_seg[use], use, slot, BY_SEVERAL_AT_USE);
        } else {
            walk own = k;
            add_span(&own, o, use, slot, BY_SEVERAL);
            k = own;
        }
    }
    *at = record;
    return k;
}

static HDI_SCALAR walk walk_bucket(walk k, const odds *o, const hdi_record **at, uint32_t slot_end)
{
    return walk_records(k, o, at, slot_end, false);
}

static walk walk_bucket_dues(walk k, const odds *o, const hdi_record **at, uint32_t slot_end)
{
    return walk_records(k, o, at, slot_end, true);
}

static walk begin_walk(const work *w, const hdi_kinds *kinds, size_t step)
{
    return (walk){.use_access = w->decl->use_access,
                  .use_flags = w->decl->use_flags,
                  .kind = kinds->kind,
                  .state = w->out->seg_state,
                  .fresh = w->out->step + step,
                  .next = (uint32_t)step};
}

void hdi_find_steps_of(const hdi_hazard_work *w, hdi_kinds *kinds, const hdi_record *record, uint32_t first_seg,
                       uint32_t last_seg, size_t pieces, hdi_region_steps *found)
{
    const hdi_hazards *out = w->out;
    odds o = {w, kinds, out->step, w->seg_due};
    walk k = begin_walk(w, kinds, pieces);
    memset(out->seg_state + first_seg, 0, (last_seg - first_seg) * sizeof(*out->seg_state));
    if (o.due)
        memset(o.due + first_seg, 0, (last_seg - first_seg) * sizeof(*o.due));
    for (uint32_t r = 0; r < out->region_count; r++) {
        k = (o.due ? walk_bucket_dues : walk_bucket)(k, &o, &record, out->region_begin[r + 1]);
        found[r] = k.found;
    }
}

/* ---- by one worker ---- */

/* Resources that keep their state, ascending. */
static uint32_t find_keepers(const work *w)
{
    const uint8_t *res_flags = w->decl->res_flags;
    uint32_t count = 0;
    for (uint32_t res = 0; res < w->decl->res_count; res++) {
        if (res_flags[res] & HDI_KEEPS_STATE)
            w->keeper[count++] = res;
    }
    return count;
}

/* Where steps stand, behind all that is kept as it is: from the mark on. */
typedef struct steps_place {
    hdi_arena *arena;
    hdi_arena_mark mark;
} steps_place;

/* The tables of a walk. */
static bool begin(work *w, steps_place *place)
{
    enum { BOTH_APART = 128 };
    const hdi_decl *decl = w->decl;
    hdi_hazards *out = w->out;
    size_t steps = 1 + (size_t)w->frozen->visit_count, segs = w->frozen->seg_count,
           bytes = steps * sizeof(hdi_step) + segs * sizeof(hdi_seg_state) + BOTH_APART;
    if (w->crew->early)
        hdi_arena_widen(w->crew->early, bytes);
    place->arena = hdi_crew_early(w->crew, bytes, w->arena);
    out->region_step = HDI_ARENA_ARRAY(w->arena, hdi_region_steps, (size_t)out->region_count + 1);
    out->seg_state = HDI_ARENA_ZEROED(place->arena, hdi_seg_state, segs);
    w->seg_due = decl->mixed_layouts ? HDI_ARENA_ZEROED(w->arena, hdi_due, segs) : NULL;
    bool found = hdi_find_kinds(w, HDI_MIXES);
    place->mark = hdi_arena_here(place->arena);
    out->step = HDI_ARENA_ARRAY(place->arena, hdi_step, steps);
    if (!found || place->arena->failed || w->arena->failed)
        return false;
    memset(out->use_kept, 0, decl->use_count);
    memset(out->res_concurrent, 0, decl->res_count);
    return true;
}

bool hdi_find_steps(hdi_hazard_work *w)
{
    hdi_hazards *out = w->out;
    uint32_t on_queue[HD_MAX_QUEUES] = {0};
    steps_place place;
    if (!begin(w, &place))
        return false;
    odds o = {w, &w->kinds, out->step, w->seg_due};
    walk (*go)(walk, const odds *, uint32_t, uint32_t) = o.due ? walk_dues : walk_pieces;
    if (!o.due && w->frozen->seg_count == w->decl->res_count)
        go = walk_whole;
    walk k = begin_walk(w, &w->kinds, 0);
    const hdi_kind *few = k.kind;
    for (uint32_t r = 0; r < out->region_count; r++) {
        out->region_step[r].step = k.next;
        k = go(k, &o, out->region_begin[r], out->region_begin[r + 1]);
    }
    out->region_step[out->region_count].step = out->step_count = k.next;
    if (w->arena->failed)
        return false;
    out->kind = w->kinds.kind;
    const hdi_arena_kept out_arrays[] = {{&out->step, out->step_count * sizeof(*out->step)},
                                         {&out->kind, w->kinds.count * sizeof(*out->kind)}};
    bool together = place.arena == w->arena && few != out->kind;
    hdi_arena_keep(place.arena, place.mark, out_arrays, together ? 2 : 1);
    hdi_begin_queues(w, &on_queue, 1);
    hdi_place_slots(w, 0, out->slot_count, on_queue);
    w->keepers = find_keepers(w);
    w->pairs = hdi_settle_range(w, 0, 0, w->keeper, w->keepers);
    return true;
}
