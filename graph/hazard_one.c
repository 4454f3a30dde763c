#include "hazard_work.h"

#include <string.h>

#include "hints.h"

/* Steps of one queue, found by one worker in one walk over the uses as they are scheduled: each use goes on with the
 * last epoch of its segment or is a step into the next one. They stand in the order in which the barrier phase asks for
 * them, with all that it asks for: it need look neither at uses nor for what stood before. O(uses).
 *
 * Whether a use goes on cannot be foreseen, and a wrong guess costs more than all else here. So the next step is always
 * written down, and counts only where it is one. */

typedef hdi_hazard_work work;

/* What the loop over uses reads, and how far it has come: of its own, so that the compiler keeps it in registers. */
typedef struct walk {
    const work *w;
    const uint16_t *use_access;
    const uint8_t *use_flags;
    const hdi_kind *kind;
    hdi_seg_state *state;
    hdi_step *step;
    uint32_t next; /* behind the last one */
} walk;

/* What is seldom asked for. */
typedef struct odds {
    hdi_kinds *kinds;
    uint32_t firsts; /* steps that are the first of their segment */
} odds;

/* A use goes on with an epoch of another kind. */
static HDI_APART const hdi_kind *mix(odds *o, hdi_seg_state *state, hdi_step *step, uint32_t kind)
{
    state->kind = step->to = hdi_mix_kinds(o->kinds, step->to, kind);
    return o->kinds->kind;
}

static HDI_INLINE walk add_use(walk k, odds *o, uint32_t seg, size_t use, uint32_t slot)
{
    hdi_seg_state *state = &k.state[seg];
    uint32_t to = hdi_kind_of(k.use_access[use], k.use_flags[use] / HDI_USE_BUFFER), from = state->kind;
    const hdi_kind *does = &k.kind[to];
    uint32_t begins = k.kind[from].leaves != does->joins, behind = state->behind, none = behind == 0,
             end = state->step_end;
    hdi_step *fresh = &k.step[k.next];
    HDI_HIDE(begins);
    HDI_HIDE(none);
    fresh->use = (uint32_t)use;
    fresh->seg = seg;
    fresh->slot = slot;
    fresh->low = behind;
    fresh->before = end;
    fresh->to = to;
    k.next += begins;
    o->firsts += none;
    state->first |= slot & (0 - none);
    state->behind = slot + 1;
    state->kind = to;
    state->step_end = end + (k.next - end) * begins;
    if (HDI_UNLIKELY(((from ^ to) & (begins - 1)) != 0))
        k.kind = mix(o, state, &k.step[end - 1], to);
    return k;
}

/* A use of several segments. */
static HDI_APART void add_span(walk *shared, odds *o, uint32_t use, uint32_t slot)
{
    walk k = *shared;
    hdi_span span = hdi_use_span(k.w->decl, k.w->frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t c = 0; c < span.cols; c++)
            k = add_use(k, o, span.base + row * span.stride + c, use, slot);
    }
    *shared = k;
}

/* whole: each resource is one segment. */
static HDI_INLINE walk walk_slots(walk k, odds *o, uint32_t slot, uint32_t slot_end, bool whole)
{
    const uint32_t *slot_pass = k.w->schedule->slot_pass, *use_begin = k.w->decl->pass_use_begin,
                   *use_seg = k.w->frozen->use_seg;
    for (; slot < slot_end; slot++) {
        const uint32_t *of_pass = &use_begin[slot_pass[slot]];
        for (size_t use = of_pass[0], end = of_pass[1]; use < end; use++) {
            if (whole || HDI_LIKELY(use_seg[use] != HDI_NONE)) {
                k = add_use(k, o, use_seg[use], use, slot);
            } else {
                walk own = k;
                add_span(&own, o, (uint32_t)use, slot);
                k = own;
            }
        }
    }
    return k;
}

static HDI_SCALAR walk walk_whole(walk k, odds *o, uint32_t slot, uint32_t slot_end)
{
    return walk_slots(k, o, slot, slot_end, true);
}

static HDI_SCALAR walk walk_pieces(walk k, odds *o, uint32_t slot, uint32_t slot_end)
{
    return walk_slots(k, o, slot, slot_end, false);
}

/* Resources that keep their state, ascending. *finals: how many states may have to be left. */
static uint32_t find_keepers(const work *w, uint32_t *finals)
{
    const uint8_t *res_flags = w->decl->res_flags;
    const uint32_t *begin = w->frozen->res_seg_begin;
    uint32_t count = 0, segs = 0;
    for (uint32_t res = 0; res < w->decl->res_count; res++) {
        if (res_flags[res] & HDI_KEEPS_STATE) {
            w->keeper[count++] = res;
            segs += begin[res + 1] - begin[res];
        }
    }
    *finals = segs;
    return count;
}

/* What the first use of each segment is, where a history is to be left as its readers want it. */
static bool find_first_kinds(work *w, uint32_t keepers)
{
    const hdi_hazards *out = w->out;
    bool any = false;
    for (uint32_t i = 0; i < keepers; i++)
        any |= w->decl->res_pair[w->keeper[i]] != HDI_NONE;
    if (!any)
        return true;
    w->first_kind = HDI_ARENA_ARRAY(w->arena, uint32_t, w->frozen->seg_count);
    for (uint32_t i = 0; w->first_kind && i < out->step_count; i++) {
        if (!out->step[i].low)
            w->first_kind[out->step[i].seg] = out->step[i].to;
    }
    return w->first_kind != NULL;
}

/* Where steps stand, behind all that is kept as it is: from the mark on. */
typedef struct steps_place {
    hdi_arena *arena;
    hdi_arena_mark mark;
} steps_place;

/* The tables of a walk. */
static bool begin(work *w, uint32_t finals, walk *k, steps_place *place)
{
    enum { BOTH_APART = 128 };
    const hdi_decl *decl = w->decl;
    hdi_hazards *out = w->out;
    size_t steps = 1 + (size_t)w->frozen->visit_count + finals, segs = w->frozen->seg_count,
           bytes = steps * sizeof(hdi_step) + segs * sizeof(hdi_seg_state) + BOTH_APART;
    if (w->crew->early)
        hdi_arena_widen(w->crew->early, bytes);
    place->arena = hdi_crew_early(w->crew, bytes, w->arena);
    out->region_step = HDI_ARENA_ARRAY(w->arena, hdi_region_steps, (size_t)out->region_count + 1);
    out->seg_state = HDI_ARENA_ZEROED(place->arena, hdi_seg_state, segs);
    bool found = hdi_find_kinds(w, HDI_MIXES);
    place->mark = hdi_arena_here(place->arena);
    hdi_step *room = HDI_ARENA_ARRAY(place->arena, hdi_step, steps);
    if (!found || place->arena->failed || w->arena->failed)
        return false;
    memset(out->use_kept, 0, decl->use_count);
    memset(out->res_concurrent, 0, decl->res_count);
    *k = (walk){.w = w,
                .use_access = decl->use_access,
                .use_flags = decl->use_flags,
                .kind = w->kinds.kind,
                .state = out->seg_state,
                .step = room};
    return true;
}

bool hdi_find_steps(hdi_hazard_work *w, uint32_t *keepers)
{
    hdi_hazards *out = w->out;
    uint32_t on_queue[HD_MAX_QUEUES] = {0}, finals, count = find_keepers(w, &finals);
    steps_place place;
    odds o = {.kinds = &w->kinds};
    bool whole = w->frozen->seg_count == w->decl->res_count;
    walk k;
    if (!begin(w, finals, &k, &place))
        return false;
    const hdi_kind *few = w->kinds.kind;
    for (uint32_t r = 0; r < out->region_count; r++) {
        out->region_step[r] = (hdi_region_steps){k.next, o.firsts};
        k = (whole ? walk_whole : walk_pieces)(k, &o, out->region_begin[r], out->region_begin[r + 1]);
    }
    out->step_count = k.next;
    out->region_step[out->region_count] = (hdi_region_steps){out->step_count, o.firsts};
    if (w->arena->failed)
        return false;
    out->step = k.step;
    out->kind = w->kinds.kind;
    const hdi_arena_kept out_arrays[] = {{&out->step, ((size_t)out->step_count + finals) * sizeof(*out->step)},
                                         {&out->kind, w->kinds.count * sizeof(*out->kind)}};
    bool together = place.arena == w->arena && few != out->kind;
    hdi_arena_keep(place.arena, place.mark, out_arrays, together ? 2 : 1);
    hdi_begin_queues(w, &on_queue, 1);
    hdi_place_slots(w, 0, out->slot_count, on_queue);
    if (!find_first_kinds(w, count))
        return false;
    *keepers = count;
    return true;
}
