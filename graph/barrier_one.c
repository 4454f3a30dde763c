#include "phases.h"

#include <string.h>

#include "barrier_requests.h"
#include "vk_numbers.h"

/* Barriers where there is nothing but one GPU queue: the same requests as in barrier.c, which come in the order of the
 * ends of their intervals when slots are walked in order; so each finds its point at once (the newest one, or a new one
 * at its end, as in barrier_place.c) and is written down where it stays. No sort, no list of requests. O(uses).
 *
 * Each region of a long frame (schedule.c) is walked by itself, side by side: what could have stood at a point of an
 * earlier region stands at one of its own, as most of it must anyway. */

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
    uint32_t *use_epoch;     /* the epoch that a use of one segment begins, HDI_NONE */
    recent recent[RECENT];
    uint32_t recent_count;
    uint32_t slot_begin, slot_end; /* of the region */
    uint32_t floor;                /* its first point */
    hd_plan_barrier *barrier;
    uint32_t barrier_count, barrier_begin, batch_begin; /* begin: in the frame */
    hdi_arena *arena;                                   /* of the region */
    hdi_arena_mark mark;
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

/* Where the interval of a step begins in this region. */
static uint32_t low_of(const work *w, const step *s)
{
    return s->low > w->floor ? s->low : w->floor;
}

/* ---- points ---- */

/* A point in front of the newest ones. Their barriers were added last. */
static void insert_point(work *w, uint32_t p, uint32_t at)
{
    uint32_t behind = 0;
    for (uint32_t i = p; i < w->point_count; i++)
        behind += w->point[i].count;
    for (uint32_t b = w->barrier_count; behind > 0;) {
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
    uint32_t p = w->point_count, low = low_of(w, s);
    while (p > 0 && w->point[p - 1].at > s->high)
        p--;
    if (p == 0 || w->point[p - 1].at < low) {
        if (p < w->point_count)
            insert_point(w, p, s->high);
        else
            w->point[w->point_count++] = (point){.at = s->high, .global = HDI_NONE};
        p++;
    }
    p--;
    while (s->early && p > 0 && w->point[p - 1].at >= low)
        p--;
    return p;
}

/* The point of a barrier that does the work of another in its interval, HDI_NONE: none. */
static uint32_t find_spare(const work *w, const hd_plan_barrier *b, const step *s)
{
    hdi_scopes wanted = {b->src_stages, b->src_access, b->dst_stages, b->dst_access};
    uint32_t count = w->recent_count < RECENT ? w->recent_count : RECENT, low = low_of(w, s);
    for (uint32_t i = 0; i < count; i++) {
        const recent *r = &w->recent[i];
        if (r->at >= low && r->at <= s->high && hdi_stands_for(&r->does, r->global, &wanted))
            return r->at;
    }
    return HDI_NONE;
}

/* Joins the newest barrier with one of those before it at the same point, and that with the one before it. */
static void join(work *w, uint32_t p)
{
    enum { LOOK_BACK = 8 };
    bool is_buffer = (w->decl->res_flags[w->barrier[w->barrier_count - 1].resource] & HDI_RES_BUFFER) != 0;
    for (uint32_t look = 0; look < LOOK_BACK; look++) {
        uint32_t last = w->barrier_count - 1;
        if (last < look + 1 || w->barrier_point[last - look - 1] != p)
            return;
        if (!hdi_join_barriers(&w->barrier[last - look - 1], &w->barrier[last], is_buffer))
            continue;
        w->barrier_count--;
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
    const hd_plan_barrier *b = &w->barrier[w->barrier_count];
    bool global = b->resource == HD_NONE;
    uint32_t spare = global ? find_spare(w, b, s) : HDI_NONE;
    if (spare != HDI_NONE)
        return spare;
    uint32_t p = choose_point(w, s);
    point *to = &w->point[p];
    w->recent[w->recent_count++ % RECENT] =
        (recent){{b->src_stages, b->src_access, b->dst_stages, b->dst_access}, to->at, global};
    if (global && to->global != HDI_NONE) { /* those of a point are one */
        hd_plan_barrier *one = &w->barrier[to->global];
        one->src_stages |= b->src_stages;
        one->src_access |= b->src_access;
        one->dst_stages |= b->dst_stages;
        one->dst_access |= b->dst_access;
        return to->at;
    }
    uint32_t index = w->barrier_count++;
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
    hd_plan_barrier *b = &w->barrier[w->barrier_count];
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

/* The epoch that a use of several segments begins in one of them, HDI_NONE: none. */
static uint32_t find_epoch(const work *w, uint32_t seg, uint32_t slot, uint32_t use)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t low = hazards->seg_epoch_begin[seg], high = hazards->seg_epoch_begin[seg + 1];
    if (low < high && hazards->epoch[high - 1].flags & HDI_EPOCH_FINAL)
        high--;
    while (low < high && high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(hazards->epoch[middle].first <= slot ? &low : &high) = middle;
    }
    return low < high && hazards->epoch[low].first == slot && hazards->entry_use[hazards->epoch[low].entry_begin] == use
               ? low
               : HDI_NONE;
}

static void visit(work *w, uint32_t seg, uint32_t slot, uint32_t e)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t begin = hazards->seg_epoch_begin[seg];
    const hdi_epoch *epoch = &hazards->epoch[e];
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

static void visit_use(work *w, uint32_t slot, uint32_t use)
{
    if (w->frozen->use_seg[use] != HDI_NONE) {
        if (w->use_epoch[use] != HDI_NONE)
            visit(w, w->frozen->use_seg[use], slot, w->use_epoch[use]);
        return;
    }
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        uint32_t first = span.base + row * span.stride;
        for (uint32_t seg = first; seg < first + span.cols; seg++) {
            uint32_t e = find_epoch(w, seg, slot, use);
            if (e != HDI_NONE)
                visit(w, seg, slot, e);
        }
    }
}

static void leave_all(work *w)
{
    const hdi_decl *decl = w->decl;
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

/* Most barriers that a region may need, a barrier and a flush for each segment of a use, and those at the end. */
static uint64_t count_most(const work *w)
{
    const hdi_decl *decl = w->decl;
    uint64_t most = w->slot_end == w->hazards->slot_count ? w->frozen->seg_count : 0;
    for (uint32_t slot = w->slot_begin; slot < w->slot_end; slot++) {
        uint32_t pass = w->hazards->slot_pass[slot];
        if (pass == HDI_NONE)
            continue;
        most += decl->pass_use_begin[pass + 1] - decl->pass_use_begin[pass];
        for (uint32_t u = decl->pass_use_begin[pass]; decl->range_count && u < decl->pass_use_begin[pass + 1]; u++) {
            hdi_span span = hdi_use_span(decl, w->frozen, u);
            most += (uint64_t)span.rows * span.cols - 1;
        }
    }
    return 2 * most + 1;
}

/* Room for its points and barriers, until they are written out. */
static bool make_room(work *w)
{
    uint64_t most = w->floor || w->slot_end < w->hazards->slot_count ? count_most(w) : 2 * (uint64_t)w->hazards->epoch_count + 1;
    w->barrier = HDI_ARENA_ARRAY(w->arena, hd_plan_barrier, most);
    w->barrier_point = HDI_ARENA_ARRAY(w->arena, uint32_t, most);
    w->point = HDI_ARENA_ARRAY(w->arena, point, 2 * (size_t)(w->slot_end - w->slot_begin) + 2);
    return !w->arena->failed;
}

static void walk(uint32_t part, void *user)
{
    work *w = (work *)user + part;
    const hdi_decl *decl = w->decl;
    const hdi_hazards *hazards = w->hazards;
    if (!make_room(w))
        return;
    for (uint32_t slot = w->slot_begin; slot < w->slot_end; slot++) {
        uint32_t pass = hazards->slot_pass[slot];
        if (pass == HDI_NONE)
            continue;
        for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++)
            visit_use(w, slot, u);
    }
    if (w->slot_end == hazards->slot_count)
        leave_all(w);
}

/* ---- regions ---- */

/* To where they stand in the frame, in the order of their points: some were added to an older one. */
static void write_out(uint32_t part, void *user)
{
    const work *w = (const work *)user + part;
    hdi_barriers *out = w->out;
    for (uint32_t p = 0, sum = w->barrier_begin; p < w->point_count; p++) {
        uint32_t slot = w->point[p].at / 2;
        out->batch[w->batch_begin + p] = (hd_plan_batch){sum, w->point[p].count};
        sum += w->point[p].count;
        *(w->point[p].at & 1 ? &out->slot_post[slot] : &out->slot_pre[slot]) = w->batch_begin + p;
    }
    if (!w->mixed) {
        if (out->barrier != w->barrier && w->barrier_count)
            memcpy(out->barrier + w->barrier_begin, w->barrier, w->barrier_count * sizeof(*w->barrier));
        return;
    }
    for (uint32_t p = 0, sum = w->barrier_begin; p < w->point_count; p++) {
        uint32_t count = w->point[p].count;
        w->point[p].count = sum; /* where its next one goes */
        sum += count;
    }
    for (uint32_t b = 0; b < w->barrier_count; b++)
        out->barrier[w->point[w->barrier_point[b]].count++] = w->barrier[b];
}

static void find_use_epochs(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    const hdi_hazards *hazards = w->hazards;
    (void)part;
    for (uint32_t e = begin; e < end; e++) {
        if (!(hazards->epoch[e].flags & HDI_EPOCH_FINAL))
            w->use_epoch[hazards->entry_use[hazards->epoch[e].entry_begin]] = e;
    }
}

/* One region after another; a scope that is shared across its begin belongs to the one before. */
static void cut(const work *frame, const hdi_crew *crew, work *w)
{
    const hdi_hazards *hazards = frame->hazards;
    const uint32_t *slot_first = frame->merged->slot_first;
    for (uint32_t k = 0; k < hazards->region_count; k++) {
        uint32_t begin = hazards->region_begin[k];
        while (slot_first && begin < hazards->slot_count && slot_first[begin] != begin)
            begin++;
        w[k] = *frame;
        w[k].arena = hazards->region_count > 1 ? &crew->arena[k] : frame->arena;
        w[k].mark = hdi_arena_here(w[k].arena);
        w[k].slot_begin = begin;
        w[k].slot_end = hazards->slot_count;
        w[k].floor = begin ? 2 * begin - 1 : 0;
        if (k)
            w[k - 1].slot_end = begin;
    }
}

/* Where each region's barriers and batches stand in the frame. True: barriers have to move. */
static bool number_regions(work *w, uint32_t count, hdi_barriers *out)
{
    bool moves = count > 1;
    out->batch_count = out->barrier_count = 0;
    for (uint32_t k = 0; k < count; k++) {
        w[k].batch_begin = out->batch_count;
        w[k].barrier_begin = out->barrier_count;
        out->batch_count += w[k].point_count;
        out->barrier_count += w[k].barrier_count;
        moves |= w[k].mixed;
    }
    return moves;
}

hd_result hdi_barrier_one_queue(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                                const hdi_lifetimes *lifetimes, const hdi_placed *placed, const hdi_merged *merged,
                                const hdi_crew *crew, hdi_arena *arena, hdi_barriers *out)
{
    enum { GRAIN = 4096 };
    uint32_t slots = hazards->slot_count, count = hazards->region_count;
    hdi_arena_mark mark = hdi_arena_here(arena);
    out->slot_pre = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    out->slot_post = HDI_ARENA_ARRAY(arena, uint32_t, slots);
    /* Out of the way of what is kept, which would have to move up otherwise. */
    hdi_arena *aside = count > 1 ? &crew->arena[HDI_MOST_PARTS - 1] : arena;
    hdi_arena_mark aside_mark = hdi_arena_here(aside);
    uint32_t *use_epoch = HDI_ARENA_ARRAY(aside, uint32_t, decl->use_count);
    work *w = hdi_arena_array(aside, count, sizeof(*w));
    if (arena->failed || aside->failed)
        return HD_OUT_OF_MEMORY;
    work frame = {.decl = decl, .frozen = frozen, .hazards = hazards, .lifetimes = lifetimes, .placed = placed,
                  .merged = merged, .use_epoch = use_epoch, .out = out, .arena = arena};
    cut(&frame, crew, w);
    out->slot_wait_stages = NULL;
    memset(out->slot_pre, 0xff, slots * sizeof(*out->slot_pre));
    memset(out->slot_post, 0xff, slots * sizeof(*out->slot_post));
    memset(use_epoch, 0xff, decl->use_count * sizeof(*use_epoch));
    hdi_crew_ranges(crew, hazards->epoch_count, GRAIN, find_use_epochs, w);
    hdi_crew_parts(crew, count, walk, w);
    for (uint32_t k = 0; k < count; k++) {
        if (w[k].arena->failed)
            return HD_OUT_OF_MEMORY;
    }
    bool moves = number_regions(w, count, out);
    out->barrier = moves ? HDI_ARENA_ARRAY(arena, hd_plan_barrier, out->barrier_count) : w->barrier;
    out->batch = HDI_ARENA_ARRAY(arena, hd_plan_batch, out->batch_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(crew, count, write_out, w);
    for (uint32_t k = count; count > 1 && k-- > 0;)
        hdi_arena_keep(w[k].arena, w[k].mark, NULL, 0);
    if (count > 1)
        hdi_arena_keep(aside, aside_mark, NULL, 0);
    const hdi_arena_kept out_arrays[] = {{&out->slot_pre, slots * sizeof(*out->slot_pre)},
                                         {&out->slot_post, slots * sizeof(*out->slot_post)},
                                         {&out->barrier, out->barrier_count * sizeof(*out->barrier)},
                                         {&out->batch, out->batch_count * sizeof(*out->batch)}};
    hdi_arena_keep(arena, mark, out_arrays, 4);
    return HD_OK;
}
