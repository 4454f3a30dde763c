#include "barrier_walk.h"

#include <string.h>

#include "barrier_host.h"
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

enum { INSERTED = UINT32_MAX };

/* In front of the newest ones. Where its barriers begin is found when they are put in order. */
static void insert_point(walker *k, uint32_t p, uint32_t at)
{
    memmove(&k->point[p + 1], &k->point[p], (k->point_count - p) * sizeof(*k->point));
    k->point[p] = (point){.at = at, .global = HDI_NONE, .begin = INSERTED};
    k->point_count++;
}

static HDI_INLINE uint32_t add_point(walker *k, uint32_t at)
{
    k->point[k->point_count] = (point){.at = at, .global = HDI_NONE, .begin = hdi_walked(k)};
    k->newest_end = at + 1;
    k->said = k->twice = 0;
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

/* ---- strays ---- */

/* As a rule a barrier is of the point that was the newest one when it came: those of a point stand from where that
 * begins on. Few are not, all of them global: they note where they are, and which one was before, where on one queue
 * nobody asks for families. */
static HDI_APART void note_stray(walker *k, uint32_t p, hd_plan_barrier *b)
{
    b->src_family = k->point[p].at;
    b->dst_family = k->stray;
    k->stray = (uint32_t)(b - k->barrier) + 1;
    k->point[p].mixed = k->newest_end - 1;
}

static HDI_INLINE bool is_stray(const hd_plan_barrier *b)
{
    return b->src_family != HD_NONE;
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
    uint32_t spare = HDI_NONE, count = hdi_walked(k), least = count < RECENT ? 0 : count - RECENT, p = k->point_count;
    for (uint32_t i = count, begin = INSERTED; spare == HDI_NONE && i-- > least;) {
        while (begin > i)
            begin = k->point[--p].begin;
        const hd_plan_barrier *b = &k->barrier[i];
        uint32_t at = is_stray(b) ? b->src_family : k->point[p].at;
        hdi_scopes does = hdi_scopes_of(b);
        if (at >= low && at <= high && hdi_orders(&does, wanted))
            spare = at;
    }
    return spare;
}

/* Whether there is any. None is behind the end of the interval, where nothing comes after it (choose_point). */
static HDI_INLINE bool has_spare(const walker *k, const hd_plan_barrier *wanted, uint32_t low)
{
    uint32_t least = k->recent_count < RECENT ? 0 : k->recent_count - RECENT, asked = hdi_walked(k) + k->dropped;
    for (uint32_t i = k->recent_count; i-- > least;) {
        const struct hdi_recent *r = &k->recent[i % RECENT];
        if (r->top_end <= low || r->number + RECENT < asked)
            return false;
        if (!(wanted->src_stages & ~r->does.src_stages) && !(wanted->dst_stages & ~r->does.dst_stages) &&
            !(wanted->src_access & ~r->does.src_access) && !(wanted->dst_access & ~r->does.dst_access) && r->at >= low)
            return true;
    }
    return false;
}

bool hdi_is_spared(const walker *k, uint32_t low, uint32_t high)
{
    const hd_plan_barrier *wanted = k->next;
    if (k->top_end > low && has_spare(k, wanted, low))
        return true;
    if (HDI_LIKELY(wanted->src_access | wanted->dst_access))
        return false;
    const hdi_scopes scopes = hdi_scopes_of(wanted);
    return find_spare_image(k, &scopes, low, high) != HDI_NONE;
}

/* Mostly all that could stand for it stands before. */
static HDI_INLINE uint32_t find_any_spare(const walker *k, uint32_t low, uint32_t high)
{
    const hdi_scopes wanted = hdi_scopes_of(k->next);
    uint32_t spare = k->top_end > low ? find_spare(k, &wanted, low, high) : HDI_NONE;
    if (spare == HDI_NONE && !(wanted.src_access | wanted.dst_access))
        spare = find_spare_image(k, &wanted, low, high);
    return spare;
}

/* One of the newest barriers that the newest one, of an image, can be joined with: at the same point, with no other
 * point's in between. */
static const hd_plan_barrier *find_join(const walker *k)
{
    enum { LOOK_BACK = 8 };
    hd_plan_barrier *last = k->next - 1;
    uint32_t begin = k->point[k->point_count - 1].begin;
    const hd_plan_barrier *end = k->barrier + (begin > k->stray ? begin : k->stray);
    end = last - end < LOOK_BACK ? end : last - LOOK_BACK;
    for (hd_plan_barrier *b = last; b-- > end;) {
        if (b->resource == last->resource && hdi_join_barriers(b, last)) /* mostly it is of another one */
            return b;
    }
    return NULL;
}

/* And that with the one before it, if there is a third one. */
void hdi_join_newest(walker *k, uint64_t sign)
{
    const hd_plan_barrier *with;
    do {
        with = find_join(k);
        if (!with) {
            k->twice |= sign;
            return;
        }
        k->next--;
        k->dropped++;
    } while (k->twice & sign && with == k->next - 1);
}

/* What a barrier is for. */
typedef struct cause {
    uint32_t reason, pass, res;
} cause;

static HDI_INLINE void write_scopes(walker *k, hdi_scopes does)
{
    hd_plan_barrier *b = k->next;
    b->src_stages = does.src_stages;
    b->src_access = does.src_access;
    b->dst_stages = does.dst_stages;
    b->dst_access = does.dst_access;
}

/* Keeps a global barrier, whose scopes stand where the next one will. Returns where it, or what stands for it, is. */
static HDI_INLINE uint32_t keep_global(walker *k, uint32_t low, uint32_t high, bool early, cause of)
{
    hd_plan_barrier *b = k->next;
    const hdi_scopes does = hdi_scopes_of(b);
    uint32_t spare = find_any_spare(k, low, high);
    if (spare != HDI_NONE)
        return spare;
    uint32_t round = k->w->beside ? hdi_came_round(k->w, low, high, does.dst_stages) : HDI_NONE;
    if (round != HDI_NONE)
        return 2 * round - (round > 0); /* what comes after it stands before that slot at the earliest */
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
    hdi_write_cause(b, HD_NONE, 0, 0, of.reason, of.pass, of.res);
    b->range = (hd_range){.offset = 0};
    if (early && p + 1 != k->point_count)
        note_stray(k, p, b);
    k->next++;
    return at;
}

static HDI_APART void keep_late(walker *k, uint32_t low, uint32_t high, cause of)
{
    keep_global(k, low, high, false, of);
}

/* Behind what former tenants wrote; others come after it. */
static HDI_APART uint32_t flush(walker *k, hdi_scopes does, uint32_t low, uint32_t high, cause of)
{
    write_scopes(k, does);
    return keep_global(k, low, high, true, of);
}

/* Keeps the barrier of an image. */
static HDI_APART void keep_image(walker *k, hdi_scopes does, uint32_t low, uint32_t high, cause of, uint32_t seg,
                                 uint32_t old_layout, uint32_t new_layout)
{
    choose_point(k, low, high, false);
    hd_plan_barrier *b = k->next++;
    hdi_write_barrier(b, does, of.res, old_layout, new_layout, of.reason, of.pass, of.res);
    if (!hdi_has_several(k->w->frozen, of.res)) {
        b->range = hdi_image_range(k->w->res_flags, k->w->res_info, of.res);
        return;
    }
    uint64_t sign = hdi_sign_of(of.res, new_layout);
    b->range = k->w->frozen->seg_range[seg];
    if (k->said & sign)
        hdi_join_newest(k, sign);
    k->said |= sign;
}

/* ---- steps ---- */

/* Who had the memory before. */
typedef struct tenants {
    uint64_t stages, writes;
    uint32_t low, flush_low; /* flush_low: behind what writes of them stand that were not flushed */
} tenants;

static HDI_INLINE tenants tenants_of(const walker *k, uint32_t res, bool merges)
{
    const work *w = k->w;
    tenants t = {0};
    for (uint32_t i = w->res_tenants[res].begin; i < w->res_tenants[res].end; i++) {
        const hdi_stay *stay = &w->stay[w->tenant[i]];
        uint32_t behind = behind_slot(k, stay->last, merges);
        t.low = behind > t.low ? behind : t.low;
        t.stages |= stay->tail_stages;
        t.writes |= stay->tail_writes;
        if (stay->tail_writes)
            t.flush_low = behind > t.flush_low ? behind : t.flush_low;
    }
    t.writes &= HDI_WRITE_BITS;
    return t;
}

/* The same where the host works beside the queue: former tenants may have been there. */
static HDI_APART void first_beside_host(walker *k, uint32_t res, uint32_t seg, const hdi_kind *to, uint32_t pass,
                                        uint32_t high)
{
    const work *w = k->w;
    const hdi_beside *h = w->beside;
    uint32_t slot = high / 2, layout = 0, low;
    hdi_handover t = hdi_find_handover(h->several, res, 0, slot, to->dst_stages);
    bool is_image = !(w->res_flags[res] & HDI_RES_BUFFER), taken = t.stages || t.others;
    if (is_image)
        layout = hdi_initial_layout(w->decl, w->hazards, res);
    if ((!taken && layout == to->layout) || (!is_image && !t.stages))
        return;
    low = hdi_point_of(h, t.low);
    if (is_image && t.writes) { /* behind the place before, not the slot before */
        uint32_t flushed = flush(k, (hdi_scopes){t.stages, t.writes, t.stages, 0}, hdi_point_of(h, t.flush_low),
                                 2 * h->slots[h->slot_pos[slot] - 1] + 1, (cause){HD_REASON_ALIAS, pass, res});
        low = flushed + 1 > low ? flushed + 1 : low;
    }
    if (t.others && !t.stages)
        t.stages = to->dst_stages; /* chains with the semaphore wait */
    hdi_scopes does = {t.stages, is_image ? 0 : t.writes, to->dst_stages, to->dst_access};
    cause of = {taken ? HD_REASON_ALIAS : HD_REASON_FIRST_USE, pass, res};
    if (layout != to->layout) {
        keep_image(k, does, low, high, of, seg, layout & to->keeps, to->layout);
    } else {
        write_scopes(k, does);
        keep_late(k, low, high, of);
    }
}

/* The first use, maybe of memory that others had before. An image's barrier covers no writes through other resources,
 * and elements of one command do not chain: pending writes are flushed by a global barrier in a command before. */
static HDI_INLINE void first_use(walker *k, uint32_t res, uint32_t seg, const hdi_kind *to, uint32_t pass,
                                 uint32_t high, bool merges)
{
    const work *w = k->w;
    tenants t = tenants_of(k, res, merges);
    bool is_image = !(w->res_flags[res] & HDI_RES_BUFFER);
    uint32_t layout = is_image ? hdi_initial_layout(w->decl, w->hazards, res) : 0;
    if (!t.stages && layout == to->layout)
        return;
    cause of = {t.stages ? HD_REASON_ALIAS : HD_REASON_FIRST_USE, pass, res};
    if (is_image && t.writes) { /* the barrier stands behind the flush */
        uint32_t flushed = flush(k, (hdi_scopes){t.stages, t.writes, t.stages, 0}, t.flush_low, high - 1,
                                 (cause){HD_REASON_ALIAS, pass, res});
        t.low = flushed + 1 > t.low ? flushed + 1 : t.low;
    }
    hdi_scopes does = {t.stages, is_image ? 0 : t.writes, to->dst_stages, to->dst_access};
    if (layout != to->layout) {
        keep_image(k, does, t.low, high, of, seg, layout & to->keeps, to->layout);
    } else {
        write_scopes(k, does);
        keep_late(k, t.low, high, of);
    }
}

void hdi_first_use(walker *k, uint32_t res, uint32_t seg, const hdi_kind *to, uint32_t pass, uint32_t high)
{
    if (k->w->beside)
        first_beside_host(k, res, seg, to, pass, high);
    else
        first_use(k, res, seg, to, pass, high, false);
}

/* last: slot of the last use of what stood before. */
static void next_use(walker *k, uint32_t res, uint32_t seg, uint32_t last, const hdi_kind *from, const hdi_kind *to,
                     uint32_t pass, uint32_t high)
{
    if (2 * k->slot_first[last] == high)
        return; /* uses of one scope's attachments go on without a barrier (merge.c) */
    uint32_t low = behind_slot(k, last, true);
    hdi_scopes does = hdi_step_scopes(from, to);
    cause of = {hdi_step_reason(from->flags, to->flags), pass, res};
    if (from->layout != to->layout) {
        keep_image(k, does, low, high, of, seg, from->layout & to->keeps, to->layout);
    } else {
        write_scopes(k, does);
        keep_late(k, low, high, of);
    }
}

/* A state that the frame must leave, behind the last use, if there is one. */
static void leave(walker *k, uint32_t res, uint32_t seg, uint32_t high)
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
    keep_image(k, does, low, high, (cause){HD_REASON_FINAL_STATE, HDI_NONE, res}, seg, hdi_last_layout(w, res, seg),
               w->hazards->res_final_layout[res]);
}

static void leave_resource(walker *k, uint32_t res, bool used)
{
    const hdi_seg_state *state = k->w->hazards->seg_state;
    uint32_t first = k->w->frozen->res_seg_begin[res], end = k->w->frozen->res_seg_begin[res + 1], any = 0;
    for (uint32_t seg = first; seg < end; seg++)
        any |= state[seg].behind;
    for (uint32_t seg = first; any && seg < end; seg++) {
        if ((state[seg].behind != 0) == used && hdi_is_left(k->w, res, seg))
            leave(k, res, seg, 2 * k->w->hazards->slot_count - 1);
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

/* Of one queue places are slots; beside the host they are those of the first queue. */
static void write_batches(const walker *k, uint32_t begin, uint32_t barrier_begin)
{
    hdi_barriers *out = k->w->out;
    const uint32_t *slot_pos = k->w->beside ? k->w->beside->slot_pos : NULL;
    uint32_t end = hdi_walked(k);
    hd_plan_batch *batch = out->batch + begin;
    for (uint32_t p = k->point_count; p-- > 0;) {
        uint32_t at = k->point[p].at, first = k->point[p].begin;
        batch[p] = (hd_plan_batch){barrier_begin + first, end - first};
        end = first;
        out->place_batch[slot_pos ? 2 * slot_pos[at / 2] + (at & 1) : at] = begin + p;
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
    size_t begin = 2 * (size_t)r->slot_begin, end = 2 * (size_t)r->slot_end;
    begin -= begin > 0;
    end -= end > 0 && region != w->last_region;
    memset(w->out->place_batch + begin, 0xff, (end - begin) * sizeof(*w->out->place_batch));
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

/* Where scopes are shared. */
static void walk_merged(walker *k, const hdi_step *step, const hdi_step *end)
{
    const work *w = k->w;
    for (; step < end; step++) {
        const hdi_kind *to = &k->kind[step->to];
        uint32_t seg = step->seg, res = w->frozen->seg_res[seg], pass = w->hazards->slot_pass[step->slot],
                 high = before_slot(k, step->slot, true);
        if (step->low == 0) {
            first_use(k, res, seg, to, pass, high, true);
            continue;
        }
        const hdi_step *before = &w->hazards->step[(size_t)step->before - 1];
        const hdi_kind *from = &k->kind[before->to];
        hdi_note_read(w->hazards->use_kept, before->use, hdi_step_reason(from->flags, to->flags), w->alone);
        next_use(k, res, seg, step->low - 1, from, to, pass, high);
    }
}

static void walk_piece(walker *k, const hdi_step *step, const hdi_step *end)
{
    (k->slot_first ? walk_merged : hdi_walk_plain)(k, step, end);
}

/* As many at a time as there is room for. */
static void walk_alone(walker *k, const hdi_step *step, const hdi_step *end)
{
    while (step < end && has_room(k, HDI_ONE_SPARE)) {
        ptrdiff_t few = (k->w->barrier_end - k->next) / 2; /* each has at most two barriers */
        const hdi_step *next = end - step < few ? end : step + few;
        next = step < k->w->fetch_end && k->w->fetch_end < next ? k->w->fetch_end : next;
        walk_piece(k, step, next);
        step = next;
    }
}

/* By one of several workers: up to the next gap at a time. */
static void walk_gaps(walker *k, const hdi_step *step, const hdi_step *end)
{
    while (step < end) {
        const hdi_step *next = step;
        while (next < end && next->to != HDI_NONE)
            next++;
        walk_piece(k, step, next);
        step = next + (next < end);
    }
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
        (k->w->alone ? walk_alone : walk_gaps)(k, step, end);
    }
}

/* With events in between, where no scopes are shared. */
static void walk_events(walker *k, uint32_t region)
{
    const work *w = k->w;
    const hdi_beside *h = w->beside;
    const hdi_step *step = w->hazards->step + w->hazards->region_step[region].begin,
                   *end = w->hazards->step + w->hazards->region_step[region].end;
    for (uint32_t i = h->event_begin[region]; i < h->event_begin[region + 1]; i++) {
        const hdi_event *e = &h->event[i];
        const hdi_step *next = step;
        while (next < end && 2 * next->slot < e->high)
            next++;
        (w->alone ? walk_alone : hdi_walk_plain)(k, step, next);
        step = next;
        if (w->alone && !has_room(k, HDI_ONE_SPARE))
            return;
        if (e->what & HDI_EVENT_LEAVES) {
            uint32_t seg = e->what & ~HDI_EVENT_LEAVES;
            leave(k, w->frozen->seg_res[seg], seg, e->high);
        } else {
            const hd_plan_barrier *b = &h->asked[e->what];
            write_scopes(k, hdi_scopes_of(b));
            keep_late(k, e->low, e->high, (cause){b->reason, b->reason_pass, b->reason_resource});
        }
    }
    (w->alone ? walk_alone : hdi_walk_plain)(k, step, end);
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
    k.point = w->point + r->batch_begin;
    k.point_count = k.recent_count = k.dropped = k.top_end = 0;
    k.newest_end = 0;
    k.stray = 0;
    k.said = k.twice = 0;
    if (w->beside)
        walk_events(&k, part);
    else
        walk_slots(&k, part, r->slot_begin, r->slot_end);
    if (!w->beside && part == w->last_region && (!w->alone || has_room(&k, w->left)))
        leave_all(&k);
    if (k.stray)
        hdi_put_in_order(&k, w->barrier_point + r->barrier_begin);
    if (w->beside) {
        write_batches(&k, r->batch_begin, r->barrier_begin);
    } else if (!w->alone) {
        clear_batches(w, part);
        write_batches(&k, r->batch_begin, r->barrier_begin);
    } else {
        count_from(&k, r->barrier_begin);
    }
    r->barrier_count = hdi_walked(&k);
    r->batch_count = k.point_count;
}
