#include "barrier_walk.h"

#include <string.h>

#include "barrier_requests.h"
#include "hints.h"

/* The barriers of a region, slot after slot: ends of intervals only rise, so each barrier finds its point at once and
 * is written down where it stays. What is only looked at where something else is found is kept out of the loop.
 * O(uses). */

typedef hdi_one_work work;
typedef hdi_point point;
typedef hdi_walker walker;
enum { RECENT = HDI_RECENT };

static HDI_INLINE uint32_t before_slot(const walker *k, uint32_t slot, bool merges)
{
    return 2 * (merges ? k->slot_first[slot] : slot);
}

static HDI_INLINE uint32_t behind_slot(const walker *k, uint32_t slot, bool merges)
{
    return 2 * (merges ? k->slot_last[slot] : slot) + 1;
}

/* ---- points ---- */

/* A point in front of the newest ones, whose barriers were added behind the first of them. */
static void insert_point(walker *k, uint32_t p, uint32_t at)
{
    uint32_t begin = UINT32_MAX, count = hdi_walked(k);
    for (uint32_t i = p; i < k->point_count; i++)
        begin = k->point[i].begin < begin ? k->point[i].begin : begin;
    for (uint32_t b = begin; b < count; b++)
        k->barrier_point[b] += k->barrier_point[b] >= p;
    memmove(&k->point[p + 1], &k->point[p], (k->point_count - p) * sizeof(*k->point));
    k->point[p] = (point){.at = at, .global = HDI_NONE, .begin = count};
    k->point_count++;
    k->mixed = true;
}

static HDI_INLINE uint32_t add_point(walker *k, uint32_t at)
{
    k->point[k->point_count] = (point){.at = at, .global = HDI_NONE, .begin = hdi_walked(k)};
    k->newest_end = at + 1;
    k->said = 0;
    return k->point_count++;
}

/* The oldest point of an interval that others come after, or a new one. */
static HDI_APART uint32_t find_early(walker *k, uint32_t low, uint32_t high)
{
    uint32_t p = k->point_count;
    while (p > 0 && k->point[p - 1].at > high)
        p--;
    if (p == 0 || k->point[p - 1].at < low) {
        if (p < k->point_count)
            insert_point(k, p, high);
        else
            add_point(k, high);
        p++;
    }
    p--;
    while (p > 0 && k->point[p - 1].at >= low)
        p--;
    return p;
}

/* The newest point of the interval, or for one that others come after the oldest; a new one where there is none. No
 * point is behind the end of the interval: those only rise, but for the ones that others come after. */
static HDI_INLINE uint32_t choose_point(walker *k, uint32_t low, uint32_t high, bool early)
{
    if (early)
        return find_early(k, low, high);
    return k->newest_end <= low ? add_point(k, high) : k->point_count - 1;
}

/* ---- barriers ---- */

/* A point where one of the newest global barriers does the work of another one in its interval, HDI_NONE: none. Of
 * several the first by `number % RECENT`. */
static HDI_APART uint32_t find_spare(const walker *k, const hdi_scopes *wanted, uint32_t low, uint32_t high)
{
    uint32_t spare = HDI_NONE, rank = RECENT, least = k->recent_count < RECENT ? 0 : k->recent_count - RECENT;
    uint32_t asked = hdi_walked(k) + k->dropped;
    for (uint32_t i = k->recent_count; i-- > least;) {
        const struct hdi_recent *r = &k->recent[i % RECENT];
        if (r->top_end <= low || r->number + RECENT < asked)
            break;
        if (r->at >= low && r->at <= high && r->number % RECENT < rank && hdi_stands_for(&r->does, wanted)) {
            spare = r->at;
            rank = r->number % RECENT;
        }
    }
    return spare;
}

/* Where nothing but order is asked for, an image's does as well. */
static HDI_APART uint32_t find_spare_image(const walker *k, const hdi_scopes *wanted, uint32_t low, uint32_t high)
{
    uint32_t spare = HDI_NONE, count = hdi_walked(k), least = count < RECENT ? 0 : count - RECENT;
    for (uint32_t i = count; spare == HDI_NONE && i-- > least;) {
        uint32_t at = k->point[k->barrier_point[i]].at;
        hdi_scopes does = hdi_scopes_of(&k->barrier[i]);
        if (at >= low && at <= high && hdi_orders(&does, wanted))
            spare = at;
    }
    return spare;
}

/* The next barrier, which the caller writes. */
static HDI_INLINE hd_plan_barrier *add_barrier(walker *k, uint32_t p)
{
    *k->next_point++ = p;
    return k->next++;
}

/* One of the newest barriers that the newest one, of an image, can be joined with: at the same point, with no other
 * point's in between. */
static const hd_plan_barrier *find_join(const walker *k, uint32_t p)
{
    enum { LOOK_BACK = 8 };
    hd_plan_barrier *last = k->next - 1;
    const hd_plan_barrier *end = last - k->barrier < LOOK_BACK ? k->barrier : last - LOOK_BACK;
    const uint32_t *of = k->next_point - 1;
    for (hd_plan_barrier *b = last; b-- > end;) {
        if (*--of != p)
            return NULL;
        if (b->resource == last->resource && hdi_join_barriers(b, last)) /* mostly it is of another one */
            return b;
    }
    return NULL;
}

/* And that with the one before it. */
static void join(walker *k, uint32_t p)
{
    for (bool next = true; next;) {
        const hd_plan_barrier *with = find_join(k, p);
        if (!with)
            return;
        k->next--;
        k->next_point--;
        k->dropped++;
        next = with == k->next - 1;
    }
}

/* What a barrier is for. */
typedef struct cause {
    uint32_t reason, pass, res;
} cause;

/* Keeps a global barrier. Returns where it, or what stands for it, is. */
static HDI_INLINE uint32_t keep_global_here(walker *k, hdi_scopes does, uint32_t low, uint32_t high, bool early,
                                            cause of)
{
    /* Mostly all that could stand for it stands before. */
    uint32_t spare = k->top_end > low ? find_spare(k, &does, low, high) : HDI_NONE;
    if (spare == HDI_NONE && !(does.src_access | does.dst_access))
        spare = find_spare_image(k, &does, low, high);
    if (spare != HDI_NONE)
        return spare;
    uint32_t p = choose_point(k, low, high, early), at = k->point[p].at, global = k->point[p].global;
    uint32_t count = hdi_walked(k);
    k->top_end = at + 1 > k->top_end ? at + 1 : k->top_end;
    k->recent[k->recent_count++ % RECENT] = (struct hdi_recent){does, at, count + k->dropped, k->top_end};
    if (global != HDI_NONE) { /* those of a point are one */
        hdi_add_scopes(&k->barrier[global], does);
        k->dropped++;
        return at;
    }
    k->point[p].global = count;
    if (p + 1 != k->point_count) {
        k->point[p].mixed = k->newest_end - 1;
        k->mixed = true;
    }
    hd_plan_barrier *b = add_barrier(k, p);
    hdi_write_barrier(b, does, HD_NONE, 0, 0, of.reason, of.pass, of.res);
    b->range = (hd_range){.offset = 0};
    return at;
}

static HDI_APART uint32_t keep_global_apart(walker *k, hdi_scopes does, uint32_t low, uint32_t high, bool early,
                                            cause of)
{
    return keep_global_here(k, does, low, high, early, of);
}

/* plain: in the loops that most frames go through. */
static HDI_INLINE uint32_t keep_global(walker *k, hdi_scopes does, uint32_t low, uint32_t high, bool early, cause of,
                                       bool plain)
{
    return plain ? keep_global_here(k, does, low, high, early, of) : keep_global_apart(k, does, low, high, early, of);
}

/* What the barrier of a part of an image says: those that may be joined have the same bit, most others another one. */
static HDI_INLINE uint64_t sign_of(uint32_t res, uint32_t new_layout)
{
    return UINT64_C(1) << ((res + 8 * new_layout) & 63);
}

/* Keeps the barrier of an image. whole: each is one segment. */
static HDI_INLINE void keep_image(walker *k, hdi_scopes does, uint32_t low, uint32_t high, cause of, uint32_t seg,
                                  bool whole, uint32_t old_layout, uint32_t new_layout)
{
    uint32_t p = choose_point(k, low, high, false);
    hd_plan_barrier *b = add_barrier(k, p);
    hdi_write_barrier(b, does, of.res, old_layout, new_layout, of.reason, of.pass, of.res);
    if (!whole && hdi_has_several(k->w->frozen, of.res)) {
        uint64_t sign = sign_of(of.res, new_layout), said = k->said;
        b->range = k->w->frozen->seg_range[seg];
        k->said = said | sign;
        if (said & sign) /* seldom, and the look back is long */
            join(k, p);
        return;
    }
    b->range = hdi_image_range(k->w->res_flags, k->w->res_info, of.res);
}

/* ---- steps ---- */

/* Who had the memory before. */
typedef struct tenants {
    uint64_t stages, writes;
    uint32_t low, flush_low;
} tenants;

/* flushes: what they wrote will be asked for, and behind what it stands. */
static HDI_INLINE tenants tenants_of(const walker *k, uint32_t res, bool merges, bool flushes)
{
    const work *w = k->w;
    const uint32_t *tenant = w->tenant + w->res_tenants[res].begin, *end = w->tenant + w->res_tenants[res].end;
    const hdi_stay *stays = w->stay;
    tenants t = {0};
    for (; tenant < end; tenant++) {
        const hdi_stay *stay = &stays[*tenant];
        uint32_t behind = behind_slot(k, stay->last, merges);
        HDI_HIDE(behind); /* there are few: one after another */
        t.low = behind > t.low ? behind : t.low;
        t.stages |= stay->tail_stages;
        t.writes |= stay->tail_writes;
        if (flushes && stay->tail_writes)
            t.flush_low = behind > t.flush_low ? behind : t.flush_low;
    }
    t.writes &= HDI_WRITE_BITS;
    return t;
}

static HDI_APART uint32_t flush_low(const walker *k, uint32_t res, bool merges)
{
    return tenants_of(k, res, merges, true).flush_low;
}

/* The first use, maybe of memory that others had before. An image's barrier covers no writes through other resources,
 * and elements of one command do not chain: pending writes are flushed by a global barrier in a command before. */
static HDI_INLINE void first_use(walker *k, uint32_t res, uint32_t seg, bool whole, const hdi_kind *to,
                                 uint32_t pass, uint32_t high, bool merges, bool plain)
{
    const work *w = k->w;
    tenants t = tenants_of(k, res, merges, !plain);
    uint32_t flags = w->res_flags[res], layout = 0;
    bool is_image = !(flags & HDI_RES_BUFFER);
    if (HDI_UNLIKELY(is_image && flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY)))
        layout = hdi_initial_layout(w->decl, w->hazards, res);
    if (!t.stages && layout == to->layout)
        return;
    cause of = {t.stages ? HD_REASON_ALIAS : HD_REASON_FIRST_USE, pass, res};
    if (is_image && t.writes) { /* the barrier stands behind the flush */
        uint32_t low = plain ? flush_low(k, res, merges) : t.flush_low;
        uint32_t flushed = keep_global(k, (hdi_scopes){t.stages, t.writes, t.stages, 0}, low, high - 1, true,
                                       (cause){HD_REASON_ALIAS, pass, res}, plain);
        t.low = flushed + 1 > t.low ? flushed + 1 : t.low;
    }
    hdi_scopes does = {t.stages, is_image ? 0 : t.writes, to->dst_stages, to->dst_access};
    if (layout != to->layout)
        keep_image(k, does, t.low, high, of, seg, whole, layout & to->keeps, to->layout);
    else
        keep_global(k, does, t.low, high, false, of, plain);
}

/* last: slot of the last use of what stood before. */
static HDI_INLINE void next_use(walker *k, uint32_t res, uint32_t seg, bool whole, uint32_t last,
                                const hdi_kind *from, const hdi_kind *to, uint32_t pass, uint32_t high, bool merges,
                                bool plain)
{
    if (merges && 2 * k->slot_first[last] == high)
        return; /* uses of one scope's attachments go on without a barrier (merge.c) */
    uint32_t low = behind_slot(k, last, merges);
    hdi_scopes does = hdi_step_scopes(from, to);
    cause of = {hdi_step_reason(from->flags, to->flags), pass, res};
    if (from->layout != to->layout)
        keep_image(k, does, low, high, of, seg, whole, from->layout & to->keeps, to->layout);
    else
        keep_global(k, does, low, high, false, of, plain);
}

void hdi_first_use(walker *k, uint32_t res, const hdi_kind *to, uint32_t pass, uint32_t high)
{
    first_use(k, res, res, true, to, pass, high, false, false);
}

void hdi_next_use(walker *k, uint32_t res, uint32_t last, const hdi_kind *from, const hdi_kind *to, uint32_t pass,
                  uint32_t high)
{
    next_use(k, res, res, true, last, from, to, pass, high, false, false);
}

/* A state that the frame must leave, behind the last use, if there is one. */
static void leave(walker *k, uint32_t res, uint32_t seg)
{
    const work *w = k->w;
    const hdi_seg_state *state = &w->hazards->seg_state[seg];
    uint32_t low = 0;
    hdi_scopes does = {.src_stages = HDI_STAGE_ALL_COMMANDS, .dst_stages = HDI_STAGE_ALL_COMMANDS};
    if (state->behind) {
        does.src_stages = k->kind[state->kind].src_stages;
        does.src_access = k->kind[state->kind].src_access;
        low = behind_slot(k, state->behind - 1, k->slot_last != NULL);
    }
    keep_image(k, does, low, 2 * w->hazards->slot_count - 1, (cause){HD_REASON_FINAL_STATE, HDI_NONE, res}, seg,
               false, hdi_last_layout(w, res, seg), w->hazards->res_final_layout[res]);
}

static void leave_resource(walker *k, uint32_t res, bool used)
{
    const hdi_seg_state *state = k->w->hazards->seg_state;
    uint32_t first = k->w->frozen->res_seg_begin[res], end = k->w->frozen->res_seg_begin[res + 1], any = 0;
    for (uint32_t seg = first; seg < end; seg++)
        any |= state[seg].behind;
    for (uint32_t seg = first; any && seg < end; seg++) {
        if ((state[seg].behind != 0) == used && hdi_is_left(k->w, res, seg))
            leave(k, res, seg);
    }
}

/* Segments that are not used come first: they take any point that there is. */
static void leave_all(walker *k)
{
    const hdi_hazards *hazards = k->w->hazards;
    for (int used = 0; used < 2; used++) {
        for (uint32_t i = 0; i < hazards->keeper_count; i++)
            leave_resource(k, hazards->keeper[i], used == 1);
    }
}

/* ---- regions ---- */

/* Barriers of some points, which begin at one, in the order of the points. Each is moved once, along cycles. */
static HDI_APART void put_in_order(walker *k, uint32_t first, uint32_t end, uint32_t begin, uint32_t barrier_end)
{
    uint32_t *to = k->barrier_point;
    for (uint32_t p = first; p < end; p++)
        k->point[p].global = k->point[p].begin; /* where its next one goes */
    for (uint32_t b = begin; b < barrier_end; b++)
        to[b] = k->point[to[b]].global++;
    for (uint32_t b = begin; b < barrier_end; b++) {
        if (to[b] == b)
            continue;
        hd_plan_barrier moved = k->barrier[b];
        uint32_t at = to[b];
        while (at != b) {
            hd_plan_barrier next = k->barrier[at];
            uint32_t next_at = to[at];
            k->barrier[at] = moved;
            to[at] = at;
            moved = next;
            at = next_at;
        }
        k->barrier[b] = moved;
    }
}

/* Those of the points whose barriers do not stand in their order, one run after another. */
static HDI_APART void put_all_in_order(walker *k)
{
    uint32_t points = k->point_count, count = hdi_walked(k), sum = 0;
    for (uint32_t p = 0; p < points; p++)
        k->point[p].begin = 0;
    for (uint32_t b = 0; b < count; b++)
        k->point[k->barrier_point[b]].begin++;
    for (uint32_t p = 0; p < points; p++) {
        uint32_t of = k->point[p].begin;
        k->point[p].begin = sum;
        sum += of;
    }
    for (uint32_t p = 0; p < points;) {
        uint32_t first = p, mixed = 0;
        do
            mixed = k->point[p].mixed > mixed ? k->point[p].mixed : mixed;
        while (++p < points && k->point[p].at <= mixed);
        if (mixed)
            put_in_order(k, first, p, k->point[first].begin, p < points ? k->point[p].begin : count);
    }
}

static void write_batches(const walker *k, uint32_t begin, uint32_t barrier_begin)
{
    hdi_barriers *out = k->w->out;
    uint32_t *slot_pre = out->slot_pre, *slot_post = out->slot_post, end = hdi_walked(k);
    hd_plan_batch *batch = out->batch + begin;
    for (uint32_t p = k->point_count; p-- > 0;) {
        uint32_t at = k->point[p].at, first = k->point[p].begin;
        batch[p] = (hd_plan_batch){barrier_begin + first, end - first};
        end = first;
        (at & 1 ? slot_post : slot_pre)[at / 2] = begin + p;
    }
}

/* Points of a region tell which barriers of the frame are theirs. */
static void count_from(const walker *k, uint32_t barrier_begin)
{
    for (uint32_t p = 0; barrier_begin && p < k->point_count; p++)
        k->point[p].begin += barrier_begin;
}

/* Those of the region: before its slots, and behind the slot before. */
static void clear_batches(const work *w, uint32_t region)
{
    const hdi_one_region *r = &w->region[region];
    uint32_t begin = r->slot_begin ? r->slot_begin - 1 : 0, end = r->slot_end ? r->slot_end - 1 : 0;
    if (region == w->last_region)
        end = w->hazards->slot_count;
    memset(w->out->slot_pre + r->slot_begin, 0xff, (r->slot_end - r->slot_begin) * sizeof(*w->out->slot_pre));
    memset(w->out->slot_post + begin, 0xff, (end - begin) * sizeof(*w->out->slot_post));
}

/* Room for so many more; false: there is no memory. */
static HDI_INLINE bool has_room(walker *k, uint32_t count)
{
    work *w = k->w;
    if (HDI_UNLIKELY(w->barrier_end - k->next < (ptrdiff_t)count)) {
        ptrdiff_t before = k->barrier - w->out->barrier, all = before + (ptrdiff_t)hdi_walked(k);
        hdi_leave_plan(w, (size_t)all);
        k->barrier = w->out->barrier + before;
        k->next = w->out->barrier + all;
    }
    return !w->failed;
}

/* Somebody reads what a use leaves. alone: nobody else says anything of it now. */
static HDI_INLINE void note_read(uint8_t *use_kept, uint32_t use, uint32_t reads, bool alone)
{
    uint8_t unused = 0;
    if (alone)
        use_kept[use] |= (uint8_t)reads;
    else
        atomic_store_explicit((_Atomic(uint8_t) *)(reads ? &use_kept[use] : &unused), 1, memory_order_relaxed);
}

/* whole: each resource is one segment. alone: by one worker. */
static HDI_INLINE void walk_steps(walker *k, const hdi_step *step, const hdi_step *end, bool merges, bool whole,
                                  bool alone)
{
    const work *w = k->w;
    const uint32_t *slot_pass = w->hazards->slot_pass, *seg_res = w->frozen->seg_res;
    const hdi_kind *kind = k->kind;
    const hdi_step *steps = w->hazards->step;
    uint8_t *use_kept = w->hazards->use_kept;
    for (; step < end; step++) {
        uint32_t seg = step->seg, slot = step->slot, low = step->low;
        const hdi_kind *to = &kind[step->to];
        uint32_t res = whole ? seg : seg_res[seg], pass = slot_pass[slot], high = before_slot(k, slot, merges);
        bool plain = !merges;
        if (low == 0) {
            first_use(k, res, seg, whole, to, pass, high, merges, plain);
            continue;
        }
        const hdi_step *before = &steps[(size_t)step->before - 1];
        const hdi_kind *from = &kind[before->to];
        note_read(use_kept, before->use,
                  (from->flags & HDI_EPOCH_WRITES) / HDI_EPOCH_WRITES & to->flags & HDI_EPOCH_READS, alone);
        next_use(k, res, seg, whole, low - 1, from, to, pass, high, merges, plain);
    }
}

/* Where images are whole, plainly, until too many are odd for that. */
static HDI_INLINE void walk_alone(walker *k, const hdi_step *step, const hdi_step *end, bool merges, bool whole)
{
    enum { FEW = 8, SHARE = 4 };
    for (ptrdiff_t odd = 0, seen = 0; step < end && has_room(k, HDI_ONE_SPARE);) {
        const hdi_step *next = end - step < HDI_ONE_PIECE ? end : step + HDI_ONE_PIECE;
        if (whole && odd <= FEW + seen / SHARE) {
            odd += hdi_walk_plain(k, step, next);
            seen += next - step;
        } else {
            walk_steps(k, step, next, merges, whole, true);
        }
        step = next;
    }
}

/* By one of several workers: up to the next gap at a time. What is whole has one step behind each, so nobody else says
 * anything of its use. */
static HDI_INLINE void walk_gaps(walker *k, const hdi_step *step, const hdi_step *end, bool merges, bool whole)
{
    enum { FEW = 8, SHARE = 4 };
    for (ptrdiff_t odd = 0, seen = 0; step < end;) {
        const hdi_step *next = step, *piece = end - step < HDI_ONE_PIECE ? end : step + HDI_ONE_PIECE;
        while (next < piece && next->to != HDI_NONE)
            next++;
        if (whole && odd <= FEW + seen / SHARE) {
            odd += hdi_walk_plain(k, step, next);
            seen += next - step;
        } else {
            walk_steps(k, step, next, merges, whole, whole);
        }
        step = next + (next < piece);
    }
}

static HDI_INLINE void walk_list(walker *k, const hdi_step *step, const hdi_step *end)
{
    bool whole = k->w->frozen->seg_count == k->w->decl->res_count;
    if (k->w->alone && k->slot_first)
        walk_alone(k, step, end, true, false);
    else if (k->w->alone && whole)
        walk_alone(k, step, end, false, true);
    else if (k->w->alone)
        walk_alone(k, step, end, false, false);
    else if (k->slot_first)
        walk_gaps(k, step, end, true, false);
    else if (whole)
        walk_gaps(k, step, end, false, true);
    else
        walk_gaps(k, step, end, false, false);
}

/* Steps of a region: of its slots, some of which may be those of the next ones, where a scope is shared. */
static void walk_slots(walker *k, uint32_t region, uint32_t slot, uint32_t slot_end)
{
    const hdi_hazards *hazards = k->w->hazards;
    for (; region < hazards->region_count && hazards->region_begin[region] < slot_end; region++) {
        const hdi_step *step = hazards->step + hazards->region_step[region].begin,
                       *end = hazards->step + hazards->region_step[region].end;
        while (step < end && step->slot < slot)
            step++;
        while (step < end && end[-1].slot >= slot_end)
            end--;
        walk_list(k, step, end);
    }
}

void hdi_walk_region(uint32_t part, void *user)
{
    work *w = user;
    hdi_one_region *r = &w->region[part];
    walker k;
    k.w = w;
    k.slot_first = w->merged->slot_first;
    k.slot_last = w->merged->slot_last;
    k.kind = w->hazards->kind;
    k.barrier = k.next = w->out->barrier + r->barrier_begin;
    k.barrier_point = k.next_point = w->barrier_point + r->barrier_begin;
    k.point = w->point + r->batch_begin;
    k.point_count = k.recent_count = k.dropped = k.top_end = 0;
    k.newest_end = 0;
    k.said = 0;
    k.mixed = false;
    walk_slots(&k, part, r->slot_begin, r->slot_end);
    if (part == w->last_region && (!w->alone || has_room(&k, w->left)))
        leave_all(&k);
    if (k.mixed)
        put_all_in_order(&k);
    if (!w->alone) {
        clear_batches(w, part);
        write_batches(&k, r->batch_begin, r->barrier_begin);
    } else {
        count_from(&k, r->barrier_begin);
    }
    r->barrier_count = hdi_walked(&k);
    r->batch_count = k.point_count;
}
