#include "barrier_one.h"

#include <string.h>

#include "barrier_requests.h"
#include "hints.h"
#include "vk_numbers.h"

/* The barriers of a region, slot after slot: ends of intervals only rise, so each barrier finds its point at once and
 * is written down where it stays. What is only looked at where something else is found is kept out of the loop.
 * O(uses). */

enum { RECENT = 16 };

typedef hdi_one_work work;
typedef hdi_one_point point;

/* Where a region is on its way. The barrier behind the last one is the one that is being made. */
typedef struct walker {
    const work *w;
    const uint32_t *slot_first, *slot_last; /* of the tables */
    const hdi_res_info *res_info;
    hd_plan_barrier *barrier, *next;
    uint32_t *barrier_point;
    point *point;
    uint32_t barrier_count, point_count;
    uint32_t newest; /* where the newest point is */
    uint32_t floor;  /* the first point of the region */
    uint32_t asked;  /* how many barriers there would be if none were joined */
    /* The newest global ones, which might stand for others. */
    uint32_t recent_count;
    struct recent {
        hdi_scopes does;
        uint32_t at, number; /* number: of those that were asked for */
    } recent[RECENT];
} walker;

static HDI_INLINE uint32_t before_slot(const walker *k, uint32_t slot)
{
    return 2 * (k->slot_first ? k->slot_first[slot] : slot);
}

static HDI_INLINE uint32_t behind_slot(const walker *k, uint32_t slot)
{
    return 2 * (k->slot_last ? k->slot_last[slot] : slot) + 1;
}

/* ---- points ---- */

/* A point in front of the newest ones. Their barriers were added last. */
static void insert_point(walker *k, uint32_t p, uint32_t at)
{
    uint32_t behind = 0;
    for (uint32_t i = p; i < k->point_count; i++)
        behind += k->point[i].count;
    for (uint32_t b = k->barrier_count; behind > 0;) {
        if (k->barrier_point[--b] < p)
            continue;
        k->barrier_point[b]++;
        behind--;
    }
    memmove(&k->point[p + 1], &k->point[p], (k->point_count - p) * sizeof(*k->point));
    k->point[p] = (point){.at = at, .global = HDI_NONE};
    k->point_count++;
}

/* Where the newest point does not do. Ends of intervals only rise, but for those that others come after. */
static HDI_APART uint32_t find_point(walker *k, uint32_t low, uint32_t high, bool early)
{
    uint32_t p = k->point_count;
    low = low > k->floor ? low : k->floor;
    while (p > 0 && k->point[p - 1].at > high)
        p--;
    if (p == 0 || k->point[p - 1].at < low) {
        if (p < k->point_count) {
            insert_point(k, p, high);
        } else {
            k->point[k->point_count++] = (point){.at = high, .global = HDI_NONE};
            k->newest = high;
        }
        p++;
    }
    p--;
    while (early && p > 0 && k->point[p - 1].at >= low)
        p--;
    return p;
}

/* The newest point of the interval, or for one that others come after the oldest; a new one where there is none. */
static HDI_INLINE uint32_t choose_point(walker *k, uint32_t low, uint32_t high, bool early)
{
    return !early && k->newest >= low && k->newest <= high ? k->point_count - 1 : find_point(k, low, high, early);
}

/* ---- barriers ---- */

/* A point where one of the newest barriers does the work of a global one in its interval, HDI_NONE: none. Of several
 * the first by `number % RECENT`. */
static uint32_t find_spare(const walker *k, const hd_plan_barrier *b, uint32_t low, uint32_t high)
{
    hdi_scopes wanted = {b->src_stages, b->src_access, b->dst_stages, b->dst_access};
    uint32_t spare = HDI_NONE, rank = RECENT, least = k->recent_count < RECENT ? 0 : k->recent_count - RECENT;
    for (uint32_t i = k->recent_count; i-- > least;) {
        const struct recent *r = &k->recent[i % RECENT];
        if (r->number + RECENT < k->asked)
            break;
        if (r->at >= low && r->at <= high && hdi_stands_for(&r->does, true, &wanted) && r->number % RECENT < rank) {
            spare = r->at;
            rank = r->number % RECENT;
        }
    }
    if (wanted.src_access | wanted.dst_access)
        return spare;
    /* Where nothing but order is asked for, an image's does as well. */
    least = k->barrier_count < RECENT ? 0 : k->barrier_count - RECENT;
    for (uint32_t i = k->barrier_count; spare == HDI_NONE && i-- > least;) {
        const hd_plan_barrier *other = &k->barrier[i];
        uint32_t at = k->point[k->barrier_point[i]].at;
        if (at >= low && at <= high && !(wanted.src_stages & ~other->src_stages) &&
            !(wanted.dst_stages & ~other->dst_stages))
            spare = at;
    }
    return spare;
}

/* One of the newest barriers that the newest one, of an image, can be joined with: at the same point, with no other
 * point's in between. */
static hd_plan_barrier *find_join(const walker *k, uint32_t p)
{
    enum { LOOK_BACK = 8 };
    hd_plan_barrier *last = k->next - 1;
    uint32_t most = k->point[p].count - 1, *of = &k->barrier_point[last - k->barrier];
    const hd_plan_barrier *end = last - (most < LOOK_BACK ? most : LOOK_BACK);
    for (hd_plan_barrier *b = last; b-- > end;) {
        if (*--of != p)
            return NULL;
        if (b->resource == last->resource && hdi_join_barriers(b, last, false))
            return b;
    }
    return NULL;
}

/* And that with the one before it. */
static HDI_APART void join(walker *k, uint32_t p)
{
    for (bool next = true; next;) {
        const hd_plan_barrier *with = find_join(k, p);
        if (!with)
            return;
        k->next--;
        k->barrier_count--;
        k->point[p].count--;
        next = with == k->next - 1;
    }
}

/* The barrier that is being made becomes the newest one. */
static HDI_INLINE void count_barrier(walker *k, uint32_t p)
{
    k->barrier_point[k->barrier_count++] = p;
    k->next++;
    k->point[p].count++;
}

/* Keeps the barrier as a global one. Returns where it, or what stands for it, is. */
static HDI_APART uint32_t keep_global(walker *k, uint32_t low, uint32_t high, bool early)
{
    hd_plan_barrier *b = k->next;
    low = low > k->floor ? low : k->floor;
    uint32_t spare = find_spare(k, b, low, high);
    if (spare != HDI_NONE)
        return spare;
    uint32_t p = choose_point(k, low, high, early), at = k->point[p].at, global = k->point[p].global;
    k->recent[k->recent_count++ % RECENT] =
        (struct recent){{b->src_stages, b->src_access, b->dst_stages, b->dst_access}, at, k->asked++};
    if (global != HDI_NONE) { /* those of a point are one */
        hd_plan_barrier *one = &k->barrier[global];
        one->src_stages |= b->src_stages;
        one->src_access |= b->src_access;
        one->dst_stages |= b->dst_stages;
        one->dst_access |= b->dst_access;
        return at;
    }
    b->resource = HD_NONE;
    b->old_layout = b->new_layout = 0;
    b->range = (hd_range){.offset = 0};
    k->point[p].global = k->barrier_count;
    if (p + 1 != k->point_count)
        k->point[p].mixed = k->newest;
    count_barrier(k, p);
    return at;
}

/* Keeps the barrier as one of its image. */
static HDI_INLINE void keep_image(walker *k, uint32_t low, uint32_t high, uint32_t res, uint32_t seg, bool several,
                                     uint32_t old_layout, uint32_t new_layout)
{
    hd_plan_barrier *b = k->next;
    uint32_t p = choose_point(k, low, high, false);
    k->asked++;
    b->resource = res;
    b->old_layout = old_layout;
    b->new_layout = new_layout;
    count_barrier(k, p);
    if (several) {
        b->range = k->w->frozen->seg_range[seg];
        join(k, p);
        return;
    }
    const hdi_res_info *info = &k->res_info[res];
    b->range.mip_base = 0;
    b->range.mip_count = (uint16_t)info->mips;
    b->range.layer_base = 0;
    b->range.layer_count = info->layers;
    b->range.aspect = 0;
}

/* All but what an image's differs in. */
static HDI_INLINE void make_barrier(walker *k, hdi_scopes does, uint32_t reason, uint32_t pass, uint32_t res)
{
    hd_plan_barrier *b = k->next;
    b->src_stages = does.src_stages;
    b->src_access = does.src_access;
    b->dst_stages = does.dst_stages;
    b->dst_access = does.dst_access;
    b->src_family = b->dst_family = HD_NONE;
    b->reason = reason;
    b->reason_pass = pass;
    b->reason_resource = res;
}

/* ---- steps ---- */

/* Who had the memory before. */
typedef struct tenants {
    uint64_t stages, writes;
    uint32_t low, flush_low;
} tenants;

static HDI_INLINE tenants tenants_of(const walker *k, uint32_t res)
{
    const work *w = k->w;
    const hdi_tenants of = w->placed->res_tenants[res];
    const uint32_t *tenant = w->placed->tenant;
    const hdi_stay *stays = w->lifetimes->stay;
    tenants t = {0};
    for (uint32_t i = of.begin; i < of.end; i++) {
        const hdi_stay *stay = &stays[tenant[i]];
        uint32_t behind = behind_slot(k, stay->last);
        t.low = behind > t.low ? behind : t.low;
        t.stages |= stay->tail_stages;
        t.writes |= stay->tail_writes;
        if (stay->tail_writes)
            t.flush_low = behind > t.flush_low ? behind : t.flush_low;
    }
    t.writes &= HDI_WRITE_BITS;
    return t;
}

/* Pending writes of former tenants, before an image takes over. Returns the first point behind that. */
static HDI_APART uint32_t flush(walker *k, uint64_t stages, uint64_t writes, uint32_t low, uint32_t high, uint32_t pass,
                           uint32_t res)
{
    make_barrier(k, (hdi_scopes){stages, writes, stages, 0}, HD_REASON_ALIAS, pass, res);
    return keep_global(k, low, high - 1, true) + 1;
}

/* The first use, maybe of memory that others had before. An image's barrier covers no writes through other resources,
 * and elements of one command do not chain: pending writes are flushed by a global barrier in a command before. */
static HDI_INLINE void first_use(walker *k, uint32_t res, uint32_t seg, bool several, bool is_image,
                                    const hdi_epoch *epoch, uint32_t pass, uint32_t high)
{
    const work *w = k->w;
    tenants t = tenants_of(k, res);
    uint32_t layout = is_image ? hdi_initial_layout(w->decl, w->hazards, res) : epoch->layout;
    if (!t.stages && layout == epoch->layout)
        return;
    if (is_image && t.writes) {
        uint32_t behind = flush(k, t.stages, t.writes, t.flush_low, high, pass, res);
        t.low = behind > t.low ? behind : t.low;
    }
    make_barrier(k, (hdi_scopes){t.stages, is_image ? 0 : t.writes, hdi_stages_or_all(epoch->stages), epoch->access},
                 t.stages ? HD_REASON_ALIAS : HD_REASON_FIRST_USE, pass, res);
    if (layout != epoch->layout)
        keep_image(k, t.low, high, res, seg, several, epoch->flags == HDI_EPOCH_WRITES ? HDI_LAYOUT_UNDEFINED : layout,
                   epoch->layout);
    else
        keep_global(k, t.low, high, false);
}

/* Uses of one scope's attachments go on without a barrier (merge.c). */
static HDI_INLINE bool in_one_scope(const walker *k, const hdi_epoch *before, const hdi_epoch *behind)
{
    return k->slot_first && k->slot_first[before->first] == k->slot_first[behind->first];
}

static HDI_INLINE void next_use(walker *k, uint32_t res, uint32_t seg, bool several, const hdi_epoch *behind,
                                   uint32_t pass, uint32_t high)
{
    enum { R = HDI_EPOCH_READS, W = HDI_EPOCH_WRITES, BITS = R | W };
    static const uint8_t behind_read[BITS + 1] = {[0] = HD_REASON_LAYOUT,
                                                  [R] = HD_REASON_LAYOUT,
                                                  [W] = HD_REASON_WRITE_AFTER_READ,
                                                  [R | W] = HD_REASON_WRITE_AFTER_READ};
    static const uint8_t behind_write[BITS + 1] = {[0] = HD_REASON_WRITE_AFTER_WRITE,
                                                   [R] = HD_REASON_READ_AFTER_WRITE,
                                                   [W] = HD_REASON_WRITE_AFTER_WRITE,
                                                   [R | W] = HD_REASON_READ_AFTER_WRITE};
    const hdi_epoch *before = behind - 1;
    if (in_one_scope(k, before, behind))
        return;
    make_barrier(k, (hdi_scopes){hdi_stages_or_all(before->stages), before->access & HDI_WRITE_BITS, hdi_stages_or_all(behind->stages), behind->access},
                 (before->flags & W ? behind_write : behind_read)[behind->flags & BITS], pass, res);
    uint32_t low = behind_slot(k, before->last);
    if (before->layout != behind->layout)
        keep_image(k, low, high, res, seg, several,
                   behind->flags == HDI_EPOCH_WRITES ? HDI_LAYOUT_UNDEFINED : before->layout, behind->layout);
    else
        keep_global(k, low, high, false);
}

/* The epoch that a use of several segments begins in one of them, HDI_NONE: none. */
static uint32_t find_epoch(const work *w, uint32_t seg, uint32_t slot, uint32_t use)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t low = hazards->seg_epoch_begin[seg], high = hazards->seg_epoch_end[seg];
    if (low < high && hazards->epoch[high - 1].flags & HDI_EPOCH_FINAL)
        high--;
    while (low < high && high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(hazards->epoch[middle].first <= slot ? &low : &high) = middle;
    }
    return low < high && hazards->epoch[low].first == slot && hazards->epoch[low].use == use ? low : HDI_NONE;
}

static HDI_APART void visit_span(walker *k, uint32_t slot, uint32_t use, uint32_t pass, uint32_t high)
{
    const work *w = k->w;
    uint32_t res = w->decl->use_res[use];
    bool is_image = !(w->decl->use_flags[use] & HDI_USE_BUFFER);
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        uint32_t first = span.base + row * span.stride;
        for (uint32_t seg = first; seg < first + span.cols; seg++) {
            uint32_t e = find_epoch(w, seg, slot, use);
            if (e == HDI_NONE)
                continue;
            if (e == w->hazards->seg_epoch_begin[seg])
                first_use(k, res, seg, true, is_image, &w->hazards->epoch[e], pass, high);
            else
                next_use(k, res, seg, true, &w->hazards->epoch[e], pass, high);
        }
    }
}

/* A state that the frame must leave, behind the last use; or, without one, in the slot that holds only this. */
static void leave(walker *k, uint32_t seg, bool used)
{
    const hdi_hazards *hazards = k->w->hazards;
    uint32_t begin = hazards->seg_epoch_begin[seg], end = hazards->seg_epoch_end[seg];
    if (begin == end || !(hazards->epoch[end - 1].flags & HDI_EPOCH_FINAL) || (end - begin > 1) != used)
        return;
    const hdi_epoch *final = &hazards->epoch[end - 1];
    uint32_t res = k->w->frozen->seg_res[seg];
    uint32_t old_layout = used ? final[-1].layout : hdi_initial_layout(k->w->decl, hazards, res);
    uint32_t low = used ? behind_slot(k, final[-1].last) : 0;
    hdi_scopes does = {.src_stages = HDI_STAGE_ALL_COMMANDS, .dst_stages = HDI_STAGE_ALL_COMMANDS};
    if (used) {
        does.src_stages = hdi_stages_or_all(final[-1].stages);
        does.src_access = final[-1].access & HDI_WRITE_BITS;
    }
    bool several = k->w->frozen->res_seg_begin[res + 1] - k->w->frozen->res_seg_begin[res] > 1;
    make_barrier(k, does, HD_REASON_FINAL_STATE, HDI_NONE, res);
    keep_image(k, low, used ? 2 * hazards->slot_count - 1 : 2 * final->extra, res, seg, several, old_layout,
               final->layout);
}

static void leave_all(walker *k)
{
    const work *w = k->w;
    /* By their highest points: those of the slot at the end, then those behind it. */
    for (int used = 0; used < 2; used++) {
        for (uint32_t part = 0; part < w->part_count; part++) {
            for (uint32_t seg = w->found[part].leave_begin; seg < w->found[part].leave_end; seg++)
                leave(k, seg, used == 1);
        }
    }
}

/* ---- regions ---- */

/* Barriers of some points, which begin at one, in the order of the points. Each is moved once, along cycles. */
static HDI_APART void put_in_order(walker *k, uint32_t first, uint32_t end, uint32_t begin)
{
    uint32_t sum = begin, *to = k->barrier_point;
    for (uint32_t p = first; p < end; p++) {
        k->point[p].global = sum; /* where its next one goes */
        sum += k->point[p].count;
    }
    for (uint32_t b = begin; b < sum; b++)
        to[b] = k->point[to[b]].global++;
    for (uint32_t b = begin; b < sum; b++) {
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
static void put_all_in_order(walker *k)
{
    for (uint32_t p = 0, sum = 0; p < k->point_count;) {
        uint32_t first = p, begin = sum, mixed = 0;
        do {
            mixed = k->point[p].mixed > mixed ? k->point[p].mixed : mixed;
            sum += k->point[p++].count;
        } while (p < k->point_count && k->point[p].at <= mixed);
        if (mixed)
            put_in_order(k, first, p, begin);
    }
}

static void write_batches(const walker *k, uint32_t begin, uint32_t barrier_begin)
{
    hdi_barriers *out = k->w->out;
    for (uint32_t p = 0, sum = barrier_begin; p < k->point_count; p++) {
        uint32_t slot = k->point[p].at / 2;
        out->batch[begin + p] = (hd_plan_batch){sum, k->point[p].count};
        sum += k->point[p].count;
        *(k->point[p].at & 1 ? &out->slot_post[slot] : &out->slot_pre[slot]) = begin + p;
    }
}

void hdi_walk_region(uint32_t part, void *user)
{
    const work *w = user;
    hdi_one_region *r = &w->region[part];
    const uint32_t *slot_pass = w->hazards->slot_pass, *pass_use_begin = w->decl->pass_use_begin;
    const uint32_t *use_epoch = w->hazards->use_epoch, *use_seg = w->frozen->use_seg;
    const uint32_t *use_res = w->decl->use_res, *use_range = w->decl->use_range;
    const uint8_t *use_flags = w->decl->use_flags;
    const hdi_epoch *epoch = w->hazards->epoch;
    walker k;
    k.w = w;
    k.slot_first = w->merged->slot_first;
    k.slot_last = w->merged->slot_last;
    k.res_info = w->decl->res_info;
    k.next = k.barrier = w->out->barrier + r->barrier_begin;
    k.barrier_point = w->barrier_point + r->barrier_begin;
    k.point = w->point + r->batch_begin;
    k.barrier_count = k.point_count = k.asked = k.recent_count = 0;
    k.newest = HDI_NONE;
    k.floor = r->slot_begin ? 2 * r->slot_begin - 1 : 0;
    for (uint32_t slot = r->slot_begin; slot < r->slot_end; slot++) {
        uint32_t pass = slot_pass[slot], high = before_slot(&k, slot);
        if (pass == HDI_NONE)
            continue;
        for (uint32_t u = pass_use_begin[pass], end = pass_use_begin[pass + 1]; u < end; u++) {
            uint32_t e = use_epoch[u], seg = use_seg[u];
            if (seg == HDI_NONE)
                visit_span(&k, slot, u, pass, high);
            else if (e == HDI_NONE)
                continue;
            else if (e & 1)
                first_use(&k, use_res[u], seg, use_range[u] != HDI_NONE, !(use_flags[u] & HDI_USE_BUFFER),
                          &epoch[e / 2], pass, high);
            else
                next_use(&k, use_res[u], seg, use_range[u] != HDI_NONE, &epoch[e / 2], pass, high);
        }
    }
    if (part == w->last_region)
        leave_all(&k);
    put_all_in_order(&k);
    write_batches(&k, r->batch_begin, r->barrier_begin);
    r->barrier_count = k.barrier_count;
    r->batch_count = k.point_count;
}
