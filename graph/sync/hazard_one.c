#include "hazard_work.h"

#include <string.h>

#include "bitset.h"
#include "hints.h"
#include "vk_numbers.h"

/* Steps of one GPU queue, found in one walk over the uses as they are scheduled: each use goes on with the last epoch
 * of its segment or is a step into the next one, with all that the barrier phase asks for: it need look neither at uses
 * nor for what stood before. O(uses).
 *
 * Whether a use goes on cannot be foreseen, and a wrong guess costs more than all else here. So the next step is always
 * written down, and counts only where it is one.
 *
 * Where the host has a queue, too, uses of what it uses are left to hazard_host.c: one worker lists them on the way.
 *
 * One worker walks the whole frame. Several walk a region of the schedule each (hazard_regions.c), where what other
 * regions use as well is put off: room is left for its steps, which are found once all before them are. */

typedef hdi_hazard_work work;

/* What the loop over uses reads, and how far it has come: of its own, so that the compiler keeps it in registers. */
typedef struct walk {
    const uint16_t *use_access; /* their kinds */
    const hdi_link *link;
    hdi_seg_state *state;
    hdi_step *fresh; /* behind the last one */
    hdi_record *host; /* where the host has a queue, behind the last use of what it uses */
    uint32_t next;   /* its number */
    uint32_t firsts; /* steps that are the first of their segments; counted in regions alone */
} walk;

/* What a region puts off, by whose it is. */
typedef struct lists {
    const hdi_shared *shared;
    uint32_t next, first[HDI_STRAY_BUCKETS], last[HDI_STRAY_BUCKETS];
} lists;

/* What is seldom asked for. */
typedef struct odds {
    const work *w;
    hdi_kinds *kinds;
    hdi_step *step;
    hdi_due *due; /* of segments, where a pass reads in two layouts */
    lists *lists; /* of a region, else null */
} odds;

/* A use goes on with an epoch of another kind. */
static HDI_APART const hdi_link *mix(const odds *o, hdi_seg_state *state, hdi_step *step, uint32_t kind)
{
    state->kind = step->to = hdi_mix_kinds(o->kinds, step->to, kind);
    return o->kinds->link;
}

static HDI_INLINE walk add_use(walk k, const odds *o, uint32_t seg, size_t use, uint32_t slot, uint32_t to,
                               bool regional)
{
    hdi_seg_state *state = &k.state[seg];
    uint32_t from = state->kind, begins = k.link[from].leaves != k.link[to].joins, behind = state->behind,
             first = state->first, end = state->step_end;
    hdi_step *fresh = k.fresh;
    HDI_HIDE(begins);
    fresh->use = (uint32_t)use;
    fresh->seg = seg;
    fresh->slot = slot;
    fresh->low = behind;
    fresh->before = end;
    fresh->to = to;
    k.next += begins;
    k.fresh += begins;
    if (regional)
        k.firsts += behind == 0;
    state->first = behind ? first : slot;
    state->behind = slot + 1;
    state->kind = to;
    state->step_end = begins ? k.next : end;
    if (HDI_UNLIKELY(((from ^ to) & (begins - 1)) != 0))
        k.link = mix(o, state, &o->step[end - 1], to);
    return k;
}

/* A use of several segments. */
static HDI_SCALAR HDI_APART void add_span(walk *shared, const odds *o, uint32_t use, uint32_t slot, bool regional)
{
    walk k = *shared;
    const hdi_span span = hdi_use_span(o->w->decl, o->w->frozen, use);
    uint32_t to = k.use_access[use], seg = span.base;
    for (uint32_t row = 0; row < span.rows; row++, seg += span.stride) {
        for (uint32_t s = seg; s < seg + span.cols; s++)
            k = add_use(k, o, s, use, slot, to, regional);
    }
    *shared = k;
}

/* What may be one of several uses of a pass: the first of them stands for all. */
static HDI_SCALAR HDI_APART void add_due(walk *shared, const odds *o, uint32_t use, uint32_t slot)
{
    walk k = *shared;
    const hdi_span span = hdi_use_span(o->w->decl, o->w->frozen, use);
    uint32_t seg = span.base;
    for (uint32_t row = 0; row < span.rows; row++, seg += span.stride) {
        for (uint32_t s = seg; s < seg + span.cols; s++) {
            if (k.state[s].behind != slot + 1)
                k = add_use(k, o, s, use, slot, o->due[s].kind, true);
        }
    }
    *shared = k;
}

/* Whether a region leaves a resource to those who look at what several regions use. */
static HDI_INLINE bool is_put_off(const odds *o, uint32_t res)
{
    return hdi_bit_get(o->lists->shared->res, res);
}

/* Leaves room for as many steps as there may be. */
static HDI_INLINE walk put_off(walk k, const odds *o, uint32_t use, uint32_t slot, uint32_t seg, uint32_t visits)
{
    lists *l = o->lists;
    hdi_stray *stray = l->shared->stray;
    uint32_t bucket = o->w->decl->use_res[use] >> l->shared->shift, at = l->next;
    l->next += visits;
    stray[at] = (hdi_stray){use, slot, k.next, HDI_NONE};
    *(l->first[bucket] == HDI_NONE ? &l->first[bucket] : &stray[l->last[bucket]].next) = at;
    l->last[bucket] = at;
    for (uint32_t i = 0; i < visits; i++)
        *k.fresh++ = (hdi_step){.use = use, .seg = seg, .slot = slot, .to = HDI_NONE};
    k.next += visits;
    return k;
}

/* A use of several segments, or any. */
static HDI_APART void put_span_off(walk *k, const odds *o, uint32_t use, uint32_t slot)
{
    hdi_span span = hdi_use_span(o->w->decl, o->w->frozen, use);
    *k = put_off(*k, o, use, slot, span.base, span.rows * span.cols);
}

static void see_due(const walk *k, const odds *o, uint32_t use, uint32_t slot)
{
    hdi_span span = hdi_use_span(o->w->decl, o->w->frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t c = 0; c < span.cols; c++) {
            hdi_due *d = &o->due[span.base + row * span.stride + c];
            uint32_t kind = k->use_access[use];
            d->kind = d->behind == slot + 1 ? hdi_mix_kinds(o->kinds, d->kind, kind) : kind;
            d->behind = slot + 1;
        }
    }
}

/* What uses of a pass make of each segment together, before one of them counts. */
static HDI_APART const hdi_link *see_pass(const walk *k, const odds *o, uint32_t use, uint32_t end, uint32_t slot)
{
    for (; use < end; use++) {
        if (!o->lists || !is_put_off(o, o->w->decl->use_res[use]))
            see_due(k, o, use, slot);
    }
    return o->kinds->link;
}

/* What the host uses has epochs: its uses are listed. */
static HDI_INLINE bool is_hosts(const uint8_t *res_flags, uint32_t res)
{
    return (res_flags[res] & HDI_RES_HOST) != 0;
}

/* whole: each resource is one segment, and a pass does nothing twice to one. regional: of a region. beside: the host
 * has a queue beside this one. */
static HDI_INLINE walk walk_slots(walk k, const odds *o, uint32_t slot, uint32_t slot_end, bool whole, bool regional,
                                  bool beside)
{
    const uint32_t *slot_pass = o->w->schedule->slot_pass, *use_begin = o->w->decl->pass_use_begin,
                   *use_seg = o->w->frozen->use_seg, *use_res = whole ? use_seg : o->w->decl->use_res;
    const uint8_t *res_flags = o->w->decl->res_flags;
    for (; slot < slot_end; slot++) {
        const uint32_t *of_pass = &use_begin[slot_pass[slot]];
        for (size_t use = of_pass[0], end = of_pass[1]; use < end; use++) {
            if (beside && HDI_UNLIKELY(is_hosts(res_flags, use_res[use]))) {
                *k.host++ = (hdi_record){(uint32_t)use, slot};
                continue;
            }
            if (regional && HDI_UNLIKELY(is_put_off(o, use_res[use]))) {
                if (whole) {
                    k = put_off(k, o, (uint32_t)use, slot, use_seg[use], 1);
                    continue;
                }
                walk own = k;
                put_span_off(&own, o, (uint32_t)use, slot);
                k = own;
            } else if (whole || HDI_LIKELY(use_seg[use] != HDI_NONE)) {
                k = add_use(k, o, use_seg[use], use, slot, k.use_access[use], regional);
            } else {
                walk own = k;
                add_span(&own, o, (uint32_t)use, slot, regional);
                k = own;
            }
        }
    }
    return k;
}

static HDI_SCALAR walk walk_whole(walk k, const odds *o, uint32_t slot, uint32_t slot_end)
{
    return walk_slots(k, o, slot, slot_end, true, false, false);
}

static HDI_SCALAR walk walk_pieces(walk k, const odds *o, uint32_t slot, uint32_t slot_end)
{
    return walk_slots(k, o, slot, slot_end, false, false, false);
}

static HDI_SCALAR walk walk_beside(walk k, const odds *o, uint32_t slot, uint32_t slot_end)
{
    return walk_slots(k, o, slot, slot_end, false, false, true);
}

static HDI_SCALAR walk walk_whole_region(walk k, const odds *o, uint32_t slot, uint32_t slot_end)
{
    return walk_slots(k, o, slot, slot_end, true, true, false);
}

static HDI_SCALAR walk walk_region(walk k, const odds *o, uint32_t slot, uint32_t slot_end)
{
    return walk_slots(k, o, slot, slot_end, false, true, false);
}

/* Whether a pass reads a segment in two layouts, which agree on the read-only depth layout, or twice in one that no
 * read goes on with. */
static HDI_INLINE bool is_mixed(const odds *o, uint32_t pass)
{
    return (o->w->decl->pass_flags[pass] & HDI_PASS_MIXES) != 0;
}

/* A pass that does. */
static HDI_APART void walk_mixed(walk *k, const odds *o, uint32_t slot, const uint32_t *of_pass)
{
    k->link = see_pass(k, o, of_pass[0], of_pass[1], slot);
    for (uint32_t use = of_pass[0]; use < of_pass[1]; use++) {
        if (k->host && is_hosts(o->w->decl->res_flags, o->w->decl->use_res[use]))
            *k->host++ = (hdi_record){use, slot};
        else if (o->lists && is_put_off(o, o->w->decl->use_res[use]))
            put_span_off(k, o, use, slot);
        else
            add_due(k, o, use, slot);
    }
}

/* Where some passes do: those between them go the way of all others. */
static HDI_SCALAR walk walk_dues(walk k, const odds *o, uint32_t from, uint32_t slot_end)
{
    const uint32_t *slot_pass = o->w->schedule->slot_pass, *use_begin = o->w->decl->pass_use_begin;
    const odds plain = {o->w, o->kinds, o->step, NULL, o->lists};
    for (uint32_t slot = from; slot <= slot_end; slot++) {
        if (slot < slot_end && HDI_LIKELY(!is_mixed(o, slot_pass[slot])))
            continue;
        if (from < slot)
            k = (o->lists ? walk_region : k.host ? walk_beside : walk_pieces)(k, &plain, from, slot);
        walk own = k;
        if (slot < slot_end)
            walk_mixed(&own, o, slot, &use_begin[slot_pass[slot]]);
        k = own;
        from = slot + 1;
    }
    return k;
}

static walk begin_walk(const work *w, const hdi_kinds *kinds, uint32_t step)
{
    return (walk){.use_access = w->decl->use_access,
                  .link = kinds->link,
                  .state = w->out->seg_state,
                  .fresh = w->out->step + step,
                  .next = step};
}

hdi_region_steps hdi_find_steps_in(const hdi_hazard_work *w, hdi_kinds *kinds, const hdi_shared *shared,
                                   uint32_t region)
{
    const hdi_hazards *out = w->out;
    uint32_t begin = shared->begin[region];
    lists l = {.shared = shared, .next = begin};
    odds o = {w, kinds, out->step, w->seg_due, &l};
    memset(l.first, 0xff, sizeof(l.first));
    walk (*go)(walk, const odds *, uint32_t, uint32_t) = o.due ? walk_dues : walk_region;
    if (!o.due && w->frozen->seg_count == w->decl->res_count)
        go = walk_whole_region;
    walk k = go(begin_walk(w, kinds, begin), &o, out->region_begin[region], out->region_begin[region + 1]);
    memcpy(shared->first[region], l.first, sizeof(l.first));
    return (hdi_region_steps){begin, k.next, k.firsts};
}

/* One of several segments that was put off, or one that a pass may use in two layouts. */
static HDI_APART void add_stray(walk *k, const odds *o, const hdi_stray *stray, uint32_t visits)
{
    if (o->due)
        add_due(k, o, stray->use, stray->slot);
    else
        add_span(k, o, stray->use, stray->slot, true);
    for (uint32_t i = k->next; i < stray->step + visits; i++)
        o->step[i].to = HDI_NONE;
}

/* What one region has put off, from one on. Steps that are none are gaps. Kinds that are mixed take the last ones of
 * the region's: each visit has one. */
static HDI_INLINE walk walk_strays(walk k, const odds *o, const hdi_stray *all, uint32_t at, uint32_t kind_end)
{
    const hdi_decl *decl = o->w->decl;
    const hdi_frozen *frozen = o->w->frozen;
    for (uint32_t seen = HDI_NONE; at != HDI_NONE; at = all[at].next) {
        const hdi_stray *stray = &all[at];
        uint32_t use = stray->use, slot = stray->slot, seg = frozen->use_seg[use];
        k.next = stray->step;
        k.fresh = &o->step[k.next];
        if (HDI_LIKELY(!o->due && seg != HDI_NONE)) {
            hdi_step *step = k.fresh;
            o->kinds->count = kind_end - at - 1;
            k = add_use(k, o, seg, use, slot, k.use_access[use], true);
            step->to |= 0 - (uint32_t)(k.fresh == step);
            continue;
        }
        hdi_span span = hdi_use_span(decl, frozen, use);
        for (uint32_t i = at; o->due && slot != seen && i != HDI_NONE && all[i].slot == slot; i = all[i].next)
            k.link = see_pass(&k, o, all[i].use, all[i].use + 1, slot);
        seen = slot;
        if (!o->due)
            o->kinds->count = kind_end - at - span.rows * span.cols;
        walk own = k;
        add_stray(&own, o, stray, span.rows * span.cols);
        k = own;
    }
    return k;
}

void hdi_find_stray_steps(const hdi_hazard_work *w, hdi_kinds *kinds, const hdi_shared *shared, uint32_t bucket,
                          uint32_t *firsts)
{
    odds o = {w, kinds, w->out->step, w->seg_due, NULL};
    walk k = begin_walk(w, kinds, 0);
    for (uint32_t region = 0; region < w->out->region_count; region++) {
        uint32_t first = shared->first[region][bucket];
        k.firsts = 0;
        if (first != HDI_NONE)
            k = walk_strays(k, &o, shared->stray, first,
                            w->kinds.count + shared->begin[region + 1] + shared->begin[region]);
        firsts[region] = k.firsts;
    }
}

/* ---- by one worker ---- */

/* Resources that keep their state, ascending: few. */
static uint32_t find_keepers(const work *w)
{
    uint32_t count = 0, end = w->decl->res_count;
    for (uint32_t res = 0; (res = hdi_next_flagged(w->decl, res, end, HDI_KEEPS_STATE)) < end; res++)
        w->keeper[count++] = res;
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
    enum { ALL_APART = 256 };
    const hdi_decl *decl = w->decl;
    hdi_hazards *out = w->out;
    size_t steps = 1 + (size_t)w->frozen->visit_count, segs = w->frozen->seg_count,
           uses = w->several ? decl->use_count : 0,
           bytes = steps * sizeof(hdi_step) + segs * sizeof(hdi_seg_state) + uses * sizeof(hdi_record) + ALL_APART;
    if (w->crew->early)
        hdi_arena_widen(w->crew->early, bytes);
    place->arena = hdi_crew_early(w->crew, bytes, w->arena);
    out->region_step = HDI_ARENA_ARRAY(w->arena, hdi_region_steps, out->region_count);
    out->seg_state = HDI_ARENA_ZEROED(place->arena, hdi_seg_state, segs);
    w->seg_due = decl->mixed_layouts ? HDI_ARENA_ZEROED(w->arena, hdi_due, segs) : NULL;
    bool found = hdi_find_kinds(w, HDI_MIXES);
    memset(out->use_kept, 0, decl->use_count);
    memset(out->res_concurrent, 0, decl->res_count);
    place->mark = hdi_arena_here(place->arena);
    out->step = HDI_ARENA_ARRAY(place->arena, hdi_step, steps);
    w->host_use = w->several ? HDI_ARENA_ARRAY(place->arena, hdi_record, uses) : NULL;
    return found && !place->arena->failed && !w->arena->failed;
}

bool hdi_find_steps(hdi_hazard_work *w)
{
    hdi_hazards *out = w->out;
    uint32_t on_queue[HD_MAX_QUEUES] = {0};
    steps_place place;
    if (!begin(w, &place))
        return false;
    odds o = {w, &w->kinds, out->step, w->seg_due, NULL};
    walk (*go)(walk, const odds *, uint32_t, uint32_t) = walk_dues;
    if (!o.due)
        go = w->several ? walk_beside : w->frozen->seg_count == w->decl->res_count ? walk_whole : walk_pieces;
    walk k = begin_walk(w, &w->kinds, 0);
    k.host = w->host_use;
    const hdi_kind *few = w->kinds.kind;
    for (uint32_t r = 0; r < out->region_count; r++) {
        out->region_step[r].begin = k.next;
        k = go(k, &o, out->region_begin[r], out->region_begin[r + 1]);
        out->region_step[r].end = k.next;
    }
    out->step_count = k.next;
    w->host_use_count = w->several ? (uint32_t)(k.host - w->host_use) : 0;
    if (w->arena->failed || (w->several && !hdi_build_host_epochs(w, &w->kinds)))
        return false;
    out->kind = w->kinds.kind;
    const hdi_arena_kept out_arrays[] = {{&out->step, out->step_count * sizeof(*out->step)},
                                         {&out->kind, w->kinds.count * sizeof(*out->kind)}};
    bool together = place.arena == w->arena;
    if (!together || !w->several) /* else epochs lie behind them */
        hdi_arena_keep(place.arena, place.mark, out_arrays, together && few != out->kind ? 2 : 1);
    if (!w->several) {
        hdi_begin_queues(w, &on_queue, 1);
        hdi_place_slots(w, 0, out->slot_count, on_queue);
    }
    w->keepers = find_keepers(w);
    w->pairs = hdi_settle_range(w, 0, 0, w->keeper, w->keepers);
    hdi_settle_hosts(w);
    return true;
}
