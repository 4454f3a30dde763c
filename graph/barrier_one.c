#include "phases.h"

#include <string.h>

#include "barrier_requests.h"
#include "vk_numbers.h"

/* Barriers where there is nothing but one GPU queue: the same requests as in barrier.c, which come in the order of the
 * ends of their intervals when slots are walked in order; so each finds its point at once (the newest one, or a new one
 * at its end, as in barrier_place.c) and is written down where it stays. No sort, no list of requests. O(uses). */

typedef struct point {
    uint32_t at;     /* 2 * slot before, 2 * slot + 1 behind */
    uint32_t global; /* its global barrier, HDI_NONE */
    uint32_t count;
} point;

/* What a barrier does, for those that it might stand for. */
enum { RECENT = 16 };
typedef struct recent {
    hdi_scopes does;
    uint32_t at;
    bool global;
} recent;

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_hazards *hazards;
    const hdi_lifetimes *lifetimes;
    const hdi_placed *placed;
    const hdi_merged *merged;
    hdi_barriers *out;
    point *point;
    uint32_t point_count;
    uint32_t *barrier_point; /* per barrier: its point */
    bool mixed;              /* barriers do not stand in the order of their points */
    uint32_t *seg_epoch;     /* per segment: the epoch that comes next */
    recent recent[RECENT];
    uint32_t recent_count;
} work;

/* One step of one segment, and the interval of points where its barrier may stand. */
typedef struct step {
    uint32_t seg, res, pass, low, high;
    uint32_t old_layout, new_layout, reason;
    bool is_image, needs_layout, early;
} step;

static uint32_t before_slot(const work *w, uint32_t slot)
{
    return 2 * (w->merged->slot_first ? w->merged->slot_first[slot] : slot);
}

static uint32_t behind_slot(const work *w, uint32_t slot)
{
    return 2 * (w->merged->slot_last ? w->merged->slot_last[slot] : slot) + 1;
}

/* ---- points ---- */

/* A point in front of the newest ones. Their barriers were added last. */
static void insert_point(work *w, uint32_t p, uint32_t at)
{
    uint32_t behind = 0;
    for (uint32_t i = p; i < w->point_count; i++)
        behind += w->point[i].count;
    for (uint32_t b = w->out->barrier_count; behind > 0;) {
        if (w->barrier_point[--b] < p)
            continue;
        w->barrier_point[b]++;
        behind--;
    }
    memmove(&w->point[p + 1], &w->point[p], (w->point_count - p) * sizeof(*w->point));
    w->point[p] = (point){.at = at, .global = HDI_NONE};
    w->point_count++;
}

/* The newest point of the interval, or for one that others come after the oldest; a new one where there is none. Ends of
 * intervals only rise, but for those. */
static uint32_t choose_point(work *w, const step *s)
{
    uint32_t p = w->point_count;
    while (p > 0 && w->point[p - 1].at > s->high)
        p--;
    if (p == 0 || w->point[p - 1].at < s->low) {
        if (p < w->point_count)
            insert_point(w, p, s->high);
        else
            w->point[w->point_count++] = (point){.at = s->high, .global = HDI_NONE};
        p++;
    }
    p--;
    while (s->early && p > 0 && w->point[p - 1].at >= s->low)
        p--;
    return p;
}

/* The point of a barrier that does the work of another in its interval, HDI_NONE: none. */
static uint32_t find_spare(const work *w, const hd_plan_barrier *b, const step *s)
{
    hdi_scopes wanted = {b->src_stages, b->src_access, b->dst_stages, b->dst_access};
    uint32_t count = w->recent_count < RECENT ? w->recent_count : RECENT;
    for (uint32_t i = 0; i < count; i++) {
        const recent *r = &w->recent[i];
        if (r->at >= s->low && r->at <= s->high && hdi_stands_for(&r->does, r->global, &wanted))
            return r->at;
    }
    return HDI_NONE;
}

/* Joins the newest barrier with one of those before it at the same point, and that with the one before it. */
static void join(work *w, uint32_t p)
{
    enum { LOOK_BACK = 8 };
    bool is_buffer = (w->decl->res_flags[w->out->barrier[w->out->barrier_count - 1].resource] & HDI_RES_BUFFER) != 0;
    for (uint32_t look = 0; look < LOOK_BACK; look++) {
        uint32_t last = w->out->barrier_count - 1;
        if (last < look + 1 || w->barrier_point[last - look - 1] != p)
            return;
        if (!hdi_join_barriers(&w->out->barrier[last - look - 1], &w->out->barrier[last], is_buffer))
            continue;
        w->out->barrier_count--;
        w->point[p].count--;
        if (look || w->point[p].count < 2)
            return;
        look = UINT32_MAX; /* once more, from the start */
    }
}

/* Keeps the barrier that begin_barrier() began, unless it is a global one that is spared. Returns where it, or what stands for
 * it, is. */
static uint32_t add(work *w, const step *s)
{
    const hd_plan_barrier *b = &w->out->barrier[w->out->barrier_count];
    bool global = b->resource == HD_NONE;
    uint32_t spare = global ? find_spare(w, b, s) : HDI_NONE;
    if (spare != HDI_NONE)
        return spare;
    uint32_t p = choose_point(w, s);
    point *to = &w->point[p];
    w->recent[w->recent_count++ % RECENT] =
        (recent){{b->src_stages, b->src_access, b->dst_stages, b->dst_access}, to->at, global};
    if (global && to->global != HDI_NONE) { /* those of a point are one */
        hd_plan_barrier *one = &w->out->barrier[to->global];
        one->src_stages |= b->src_stages;
        one->src_access |= b->src_access;
        one->dst_stages |= b->dst_stages;
        one->dst_access |= b->dst_access;
        return to->at;
    }
    uint32_t index = w->out->barrier_count++;
    w->barrier_point[index] = p;
    w->mixed |= p + 1 != w->point_count;
    to->count++;
    if (global)
        to->global = index;
    else if (w->frozen->res_seg_begin[b->resource + 1] - w->frozen->res_seg_begin[b->resource] > 1)
        join(w, p);
    return to->at;
}

/* The barrier of a step, where it would be added. */
static hd_plan_barrier *begin_barrier(const work *w, const step *s)
{
    hd_plan_barrier *b = &w->out->barrier[w->out->barrier_count];
    memset(b, 0, sizeof(*b)); /* padding too: plans are compared by their bytes */
    b->resource = HD_NONE;
    b->src_family = b->dst_family = HD_NONE;
    b->reason = s->reason;
    b->reason_pass = s->pass;
    b->reason_resource = s->res;
    if (s->needs_layout) {
        b->resource = s->res;
        b->old_layout = s->old_layout;
        b->new_layout = s->new_layout;
        b->range = hdi_seg_range(w->decl, w->frozen, s->seg);
    }
    return b;
}

/* ---- steps ---- */

/* An access without stages (present) is still something to chain with. */
static uint64_t stages_of(const hdi_epoch *epoch)
{
    return epoch->stages ? epoch->stages : HDI_STAGE_ALL_COMMANDS;
}

/* The first use, maybe of memory that others had before. An image's barrier covers no writes through other resources, and
 * elements of one command do not chain: pending writes are flushed by a global barrier in a command before. */
static void first_use(work *w, step *s, const hdi_epoch *epoch)
{
    uint64_t stages = 0, writes = 0;
    uint32_t low = 0, flush_low = 0;
    for (uint32_t t = w->placed->tenant_begin[s->res]; t < w->placed->tenant_begin[s->res + 1]; t++) {
        const hdi_stay *stay = &w->lifetimes->stay[w->placed->tenant[t]];
        uint32_t behind = behind_slot(w, stay->last);
        low = behind > low ? behind : low;
        stages |= stay->tail_stages;
        writes |= stay->tail_writes & HDI_WRITE_BITS;
        if (stay->tail_writes)
            flush_low = behind > flush_low ? behind : flush_low;
    }
    if (!stages && !s->needs_layout)
        return;
    s->reason = stages ? HD_REASON_ALIAS : HD_REASON_FIRST_USE;
    s->low = low;
    if (s->is_image && writes) {
        step flush = *s;
        flush.needs_layout = false;
        flush.early = true;
        flush.low = flush_low;
        flush.high = s->high - 1;
        hd_plan_barrier *b = begin_barrier(w, &flush);
        b->src_stages = b->dst_stages = stages;
        b->src_access = writes;
        uint32_t at = add(w, &flush);
        s->low = at + 1 > s->low ? at + 1 : s->low;
    }
    hd_plan_barrier *b = begin_barrier(w, s);
    b->src_stages = stages;
    b->src_access = s->is_image ? 0 : writes;
    b->dst_stages = stages_of(epoch);
    b->dst_access = epoch->access;
    add(w, s);
}

/* Uses of one scope's attachments go on without a barrier (merge.c). */
static bool in_one_scope(const work *w, const hdi_epoch *before, const hdi_epoch *behind)
{
    return w->merged->slot_first && w->merged->slot_first[before->first] == w->merged->slot_first[behind->first];
}

static void next_use(work *w, step *s, const hdi_epoch *before, const hdi_epoch *behind)
{
    if (in_one_scope(w, before, behind))
        return;
    if (before->flags & HDI_EPOCH_WRITES)
        s->reason = behind->flags & HDI_EPOCH_READS ? HD_REASON_READ_AFTER_WRITE : HD_REASON_WRITE_AFTER_WRITE;
    else
        s->reason = behind->flags & HDI_EPOCH_WRITES ? HD_REASON_WRITE_AFTER_READ : HD_REASON_LAYOUT;
    s->low = behind_slot(w, before->last);
    hd_plan_barrier *b = begin_barrier(w, s);
    b->src_stages = stages_of(before);
    b->src_access = before->access & HDI_WRITE_BITS;
    b->dst_stages = stages_of(behind);
    b->dst_access = behind->access;
    add(w, s);
}

static void visit(work *w, uint32_t seg, uint32_t slot)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t e = w->seg_epoch[seg], begin = hazards->seg_epoch_begin[seg];
    const hdi_epoch *epoch = &hazards->epoch[e];
    if (e == hazards->seg_epoch_begin[seg + 1] || epoch->first != slot || epoch->flags & HDI_EPOCH_FINAL)
        return;
    w->seg_epoch[seg] = e + 1;
    step s = {.seg = seg, .res = w->frozen->seg_res[seg], .pass = hazards->slot_pass[slot], .high = before_slot(w, slot)};
    s.is_image = !(w->decl->res_flags[s.res] & HDI_RES_BUFFER);
    uint32_t layout = !s.is_image ? 0 : e > begin ? epoch[-1].layout : hdi_initial_layout(w->decl, hazards, s.res);
    s.needs_layout = s.is_image && layout != epoch->layout;
    s.old_layout = epoch->flags == HDI_EPOCH_WRITES ? HDI_LAYOUT_UNDEFINED : layout;
    s.new_layout = epoch->layout;
    if (e == begin)
        first_use(w, &s, epoch);
    else
        next_use(w, &s, &epoch[-1], epoch);
}

/* A state that the frame must leave, behind the last use; or, without one, in the slot that holds only this. */
static void leave(work *w, uint32_t seg, bool used)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t begin = hazards->seg_epoch_begin[seg], end = hazards->seg_epoch_begin[seg + 1];
    if (begin == end || !(hazards->epoch[end - 1].flags & HDI_EPOCH_FINAL) || (end - begin > 1) != used)
        return;
    const hdi_epoch *final = &hazards->epoch[end - 1];
    step s = {.seg = seg, .res = w->frozen->seg_res[seg], .pass = HDI_NONE, .reason = HD_REASON_FINAL_STATE,
              .is_image = true, .needs_layout = true, .new_layout = final->layout};
    s.old_layout = used ? final[-1].layout : hdi_initial_layout(w->decl, hazards, s.res);
    s.low = used ? behind_slot(w, final[-1].last) : 0;
    s.high = used ? 2 * hazards->slot_count - 1 : 2 * final->extra;
    hd_plan_barrier *b = begin_barrier(w, &s);
    b->src_stages = used ? stages_of(&final[-1]) : HDI_STAGE_ALL_COMMANDS;
    b->src_access = used ? final[-1].access & HDI_WRITE_BITS : 0;
    b->dst_stages = HDI_STAGE_ALL_COMMANDS;
    add(w, &s);
}

static void walk(work *w)
{
    const hdi_decl *decl = w->decl;
    const hdi_hazards *hazards = w->hazards;
    for (uint32_t slot = 0; slot < hazards->slot_count; slot++) {
        uint32_t pass = hazards->slot_pass[slot];
        if (pass == HDI_NONE)
            continue;
        for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
            if (w->frozen->use_seg[u] != HDI_NONE) {
                visit(w, w->frozen->use_seg[u], slot);
                continue;
            }
            hdi_span span = hdi_use_span(decl, w->frozen, u);
            for (uint32_t row = 0; row < span.rows; row++) {
                uint32_t first = span.base + row * span.stride;
                for (uint32_t seg = first; seg < first + span.cols; seg++)
                    visit(w, seg, slot);
            }
        }
    }
    /* By their highest points: those of the slot at the end, then those behind it. */
    for (int used = 0; used < 2; used++) {
        for (uint32_t r = 0; r < decl->res_count; r++) {
            if (!(decl->res_flags[r] & (HDI_RES_EXTERNAL | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY)) ||
                decl->res_flags[r] & HDI_RES_BUFFER)
                continue;
            for (uint32_t seg = w->frozen->res_seg_begin[r]; seg < w->frozen->res_seg_begin[r + 1]; seg++)
                leave(w, seg, used == 1);
        }
    }
}

/* Barriers in the order of their points, where some were added to an older one. */
static bool sort_barriers(work *w, hdi_arena *arena)
{
    hdi_barriers *out = w->out;
    hd_plan_barrier *sorted = HDI_ARENA_ARRAY(arena, hd_plan_barrier, out->barrier_count);
    uint32_t *at = HDI_ARENA_ARRAY(arena, uint32_t, w->point_count);
    if (!sorted || !at)
        return false;
    for (uint32_t p = 0, sum = 0; p < w->point_count; p++) {
        at[p] = sum;
        sum += w->point[p].count;
    }
    for (uint32_t b = 0; b < out->barrier_count; b++)
        sorted[at[w->barrier_point[b]]++] = out->barrier[b];
    memcpy(out->barrier, sorted, out->barrier_count * sizeof(*sorted));
    return true;
}

hd_result hdi_barrier_one_queue(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                                const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_merged *merged,
                                hdi_arena *arena, hdi_barriers *out)
{
    work w = {.decl = decl, .frozen = frozen, .hazards = hazards, .lifetimes = lifetimes, .placed = placed,
              .merged = merged, .out = out};
    uint32_t slots = hazards->slot_count, most = 2 * hazards->epoch_count; /* a barrier and a flush each */
    hdi_arena_mark mark = hdi_arena_here(arena);
    out->slot_pre = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    out->slot_post = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    out->barrier = HDI_ARENA_ARRAY(arena, hd_plan_barrier, (size_t)most + 1);
    out->batch = HDI_ARENA_ARRAY(arena, hd_plan_batch, 2 * (size_t)slots);
    w.point = HDI_ARENA_ARRAY(arena, point, 2 * (size_t)slots);
    w.seg_epoch = HDI_ARENA_ARRAY(arena, uint32_t, frozen->seg_count);
    w.barrier_point = HDI_ARENA_ARRAY(arena, uint32_t, most);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    memcpy(w.seg_epoch, hazards->seg_epoch_begin, frozen->seg_count * sizeof(*w.seg_epoch));
    out->slot_wait_stages = NULL;
    out->barrier_count = 0;
    walk(&w);
    if (w.mixed && !sort_barriers(&w, arena))
        return HD_OUT_OF_MEMORY;
    memset(out->slot_pre, 0xff, slots * sizeof(*out->slot_pre));
    memset(out->slot_post, 0xff, slots * sizeof(*out->slot_post));
    out->batch_count = w.point_count;
    for (uint32_t p = 0, sum = 0; p < w.point_count; p++) {
        uint32_t slot = w.point[p].at / 2;
        out->batch[p] = (hd_plan_batch){sum, w.point[p].count};
        sum += w.point[p].count;
        *(w.point[p].at & 1 ? &out->slot_post[slot] : &out->slot_pre[slot]) = p;
    }
    const hdi_arena_kept out_arrays[] = {{&out->slot_pre, slots * sizeof(*out->slot_pre)},
                                         {&out->slot_post, slots * sizeof(*out->slot_post)},
                                         {&out->barrier, out->barrier_count * sizeof(*out->barrier)},
                                         {&out->batch, out->batch_count * sizeof(*out->batch)}};
    hdi_arena_keep(arena, mark, out_arrays, 4);
    return HD_OK;
}
