#include "hazard_work.h"

#include <string.h>

#include "vk_numbers.h"

/* Hazard: what each segment goes through in the order of the schedule. Uses of a segment become epochs: one write, or a
 * run of reads of one layout. Between two epochs stands a step that needs a barrier, a semaphore or both; `place` says
 * where, and hazard_steps.c finds which slots must wait for slots of other queues.
 *
 * Nearly all segments live on one GPU queue, where each step stands before the first use of the epoch behind it, and
 * nothing else is to be found out: their epochs are written once, whole. O(entries). In parallel, entries are sorted by
 * ranges of segments, each of which looks at all uses and takes its own: so they come in order, and nobody waits for
 * anybody. Then epochs, by ranges of resources. Layout and family changes between
 * readers are found after scheduling on purpose: any order that the schedule chose is free of cycles, an order chosen
 * before it might not be. */

/* What is rare stays out of the loops over entries, which need all registers. */
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define RARE __attribute__((noinline))

enum { KEEPS_STATE = HDI_RES_EXTERNAL | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY };

typedef hdi_hazard_work work;

/* ---- entries: uses of each segment in the order of the schedule ---- */

/* Segments of a part; nearly always one use is of one segment. */
typedef struct part {
    uint32_t first, count;
} part;

static ALWAYS_INLINE bool is_in(part own, uint32_t seg)
{
    return seg - own.first < own.count;
}

static RARE void count_span(const work *w, uint32_t use, part own, uint32_t *count)
{
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t seg = span.base + row * span.stride, end = seg + span.cols; seg < end; seg++) {
            if (is_in(own, seg)) /* nothing is written of others, not even what was there */
                count[seg]++;
        }
    }
}

static void count_entries(const work *w, uint32_t first, uint32_t end, part own, uint32_t *count)
{
    const uint32_t *use_seg = w->frozen->use_seg;
    for (uint32_t u = first; u < end; u++) {
        uint32_t only = use_seg[u];
        if (is_in(own, only))
            count[only]++;
        else if (only == HDI_NONE)
            count_span(w, u, own, count);
    }
}

static RARE void fill_span(const work *w, uint32_t s, uint32_t u, part own, uint32_t *at)
{
    hdi_span span = hdi_use_span(w->decl, w->frozen, u);
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t seg = span.base + row * span.stride, end = seg + span.cols; seg < end; seg++) {
            if (!is_in(own, seg))
                continue;
            w->out->entry_slot[at[seg]] = s;
            w->out->entry_use[at[seg]++] = u;
        }
    }
}

/* at: where the next entry of each segment stands. */
static __attribute__((noinline)) void fill_entries(const work *w, part own, uint32_t *restrict at, uint32_t *restrict slot,
                                                   uint32_t *restrict use)
{
    const uint32_t *slot_pass = w->schedule->slot_pass, *use_begin = w->decl->pass_use_begin;
    const uint32_t *use_seg = w->frozen->use_seg;
    uint32_t slots = w->schedule->slot_count;
    for (uint32_t s = 0; s < slots; s++) {
        const uint32_t *of_pass = &use_begin[slot_pass[s]];
        uint32_t end = of_pass[1];
        for (uint32_t u = of_pass[0]; u < end; u++) {
            uint32_t only = use_seg[u];
            if (is_in(own, only)) {
                uint32_t i = at[only]++;
                slot[i] = s;
                use[i] = u;
            } else if (only == HDI_NONE) {
                fill_span(w, s, u, own, at);
            }
        }
    }
}

static void find_queues(const work *w, part own, uint16_t *res_queues)
{
    const uint32_t *slot_pass = w->schedule->slot_pass, *use_begin = w->decl->pass_use_begin,
                   *use_res = w->decl->use_res;
    const uint8_t *slot_queue = w->schedule->slot_queue;
    uint32_t slots = w->schedule->slot_count;
    for (uint32_t s = 0; s < slots; s++) {
        uint32_t end = use_begin[slot_pass[s] + 1];
        uint16_t queue = (uint16_t)(1u << slot_queue[s]);
        for (uint32_t u = use_begin[slot_pass[s]]; u < end; u++) {
            if (is_in(own, use_res[u]))
                res_queues[use_res[u]] |= queue;
        }
    }
}

/* As many as there are to work: where the entries stand does not depend on it. A few would gain nothing, as each looks at
 * everything. */
static uint32_t part_count(const work *w)
{
    enum { FEW = 4 };
    uint32_t workers = w->crew->workers;
    return workers < FEW ? 1 : workers < HDI_MOST_PARTS ? workers : HDI_MOST_PARTS;
}

static part part_of(const work *w, uint32_t count, uint32_t k)
{
    uint32_t parts = part_count(w), first = hdi_range_begin(count, parts, k);
    return (part){first, hdi_range_begin(count, parts, k + 1) - first};
}

static void count_part(uint32_t k, void *user)
{
    const work *w = user;
    const hdi_decl *decl = w->decl;
    const hdi_schedule *schedule = w->schedule;
    part own = part_of(w, w->frozen->seg_count, k);
    uint32_t *count = w->entry_begin + 1;
    if (schedule->slot_count == decl->pass_count) { /* in any order */
        count_entries(w, 0, decl->use_count, own, count);
        return;
    }
    for (uint32_t s = 0; s < schedule->slot_count; s++) {
        uint32_t p = schedule->slot_pass[s];
        count_entries(w, decl->pass_use_begin[p], decl->pass_use_begin[p + 1], own, count);
    }
}

static void fill_part(uint32_t k, void *user)
{
    const work *w = user;
    fill_entries(w, part_of(w, w->frozen->seg_count, k), w->entry_begin + 1, w->out->entry_slot, w->out->entry_use);
    if (w->out->res_queues)
        find_queues(w, part_of(w, w->decl->res_count, k), w->out->res_queues);
}

static hd_result collect_entries(work *w)
{
    const hdi_decl *decl = w->decl;
    hdi_hazards *out = w->out;
    uint32_t seg_count = w->frozen->seg_count, total = 0;
    w->entry_begin = HDI_ARENA_ZEROED(w->arena, uint32_t, (size_t)seg_count + 2);
    if (!w->entry_begin)
        return HD_OUT_OF_MEMORY;
    uint32_t *at = w->entry_begin + 1; /* counts, then starts that move on to the ends: then begin is what it should be */
    hdi_crew_parts(w->crew, part_count(w), count_part, w);
    for (uint32_t seg = 0; seg < seg_count; seg++) {
        uint32_t count = at[seg];
        at[seg] = total;
        total += count;
    }
    out->entry_count = total;
    out->entry_slot = HDI_ARENA_ARRAY(w->arena, uint32_t, total);
    out->entry_use = HDI_ARENA_ARRAY(w->arena, uint32_t, total);
    out->res_queues = w->queues->count > 1 ? HDI_ARENA_ZEROED(w->arena, uint16_t, decl->res_count) : NULL;
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(w->crew, part_count(w), fill_part, w);
    return HD_OK;
}

/* What the loop over entries reads, in one place that the compiler can keep in registers. */
typedef struct source {
    const uint32_t *slot, *use;
    const uint16_t *use_access;
    const hdi_access_info *access;
    const uint8_t *slot_queue;
} source;

static source source_of(const work *w)
{
    return (source){w->out->entry_slot, w->out->entry_use, w->decl->use_access, w->decl->access,
                    w->schedule->slot_queue};
}

/* One pass's entries of a segment, together: they stand side by side. */
typedef struct visit {
    uint64_t stages, access;
    uint32_t layout;
    uint8_t flags; /* HDI_EPOCH_* */
} visit;

static ALWAYS_INLINE visit visit_one(const source *in, uint32_t entry)
{
    const hdi_access_info *access = &in->access[in->use_access[in->use[entry]]];
    return (visit){access->stages, access->access, access->layout,
                   (uint8_t)(access->writes * HDI_EPOCH_WRITES | access->reads * HDI_EPOCH_READS)};
}

typedef struct joint_visit {
    visit v;
    uint32_t end;
} joint_visit;

/* All entries of the slot. */
static RARE joint_visit visit_all(source in, uint32_t entry, uint32_t end)
{
    joint_visit all = {visit_one(&in, entry), entry + 1};
    for (; all.end < end && in.slot[all.end] == in.slot[entry]; all.end++) {
        visit more = visit_one(&in, all.end);
        all.v.stages |= more.stages;
        all.v.access |= more.access;
        all.v.flags |= more.flags;
        /* Reads that differ agree on the read-only depth layout: declare checked it. */
        if (all.v.layout != more.layout)
            all.v.layout = HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY;
    }
    return all;
}

/* ---- epochs ---- */

/* What split_epochs found of a segment. */
typedef struct found {
    hdi_epoch *end;
    uint32_t queue_mask;
    bool shared; /* an epoch has several queues */
} found;

/* Splits a segment's entries. only: the mask of the one queue that it lives on; 0: it may be several. by_queue: an
 * exclusive resource changes hands from queue to queue. outlives: the next frame reads what the last use leaves.
 * nobody: a use for the rest. */
static ALWAYS_INLINE found split_epochs(const source *in, uint32_t entry, uint32_t end, bool is_image, bool outlives,
                                        uint32_t only, bool by_queue, hdi_epoch *epoch, uint8_t *use_kept,
                                        uint32_t nobody)
{
    found f = {.queue_mask = only};
    uint32_t layout_mask = is_image ? UINT32_MAX : HDI_LAYOUT_UNDEFINED;
    hdi_epoch *next = epoch;
    uint8_t last_flags = HDI_EPOCH_WRITES;
    uint32_t last_use = nobody;
    while (entry < end) {
        uint32_t slot = in->slot[entry], use = in->use[entry], behind = entry + 1;
        visit v = visit_one(in, entry);
        if (behind < end && in->slot[behind] == slot) {
            joint_visit all = visit_all(*in, entry, end);
            behind = all.end;
            v = all.v;
        }
        uint32_t layout = v.layout & layout_mask;
        uint32_t queue = only ? only : 1u << in->slot_queue[slot];
        if (!((last_flags | v.flags) & HDI_EPOCH_WRITES) && next[-1].layout == layout &&
            (!by_queue || next[-1].queue_mask & queue)) {
            hdi_epoch *last = &next[-1];
            last->stages |= v.stages;
            last->access |= v.access;
            last->entry_end = behind;
            last->last = slot;
            if (!only) {
                last->queue_mask = (uint16_t)(last->queue_mask | queue);
                f.shared |= (last->queue_mask & (last->queue_mask - 1)) != 0;
                f.queue_mask |= queue;
            }
        } else {
            use_kept[last_use] |= last_flags & HDI_EPOCH_WRITES & (v.flags != HDI_EPOCH_WRITES);
            next->stages = v.stages;
            next->access = v.access;
            next->entry_begin = entry;
            next->entry_end = behind;
            next->first = next->last = slot;
            next->layout = layout;
            next->queue_mask = (uint16_t)queue;
            next->flags = v.flags;
            next->place = HDI_PLACE_CONSUMER;
            next->extra = HDI_NONE;
            next++;
            f.queue_mask |= queue;
            last_use = use;
            last_flags = v.flags;
        }
        entry = behind;
    }
    if (outlives)
        use_kept[last_use] |= last_flags & HDI_EPOCH_WRITES;
    f.end = next;
    return f;
}

/* ---- who shares a resource ---- */

/* GPU families that use a resource: a bit for each, at the first queue of that family. */
static uint32_t families_of(const work *w, uint32_t res)
{
    uint32_t families = 0;
    for (uint32_t mask = w->out->res_queues[res]; mask; mask &= mask - 1)
        families |= w->family_bit[__builtin_ctz(mask)];
    return families;
}

/* BY_QUEUE: it is exclusive, and several families use it. BY_READERS: concurrent where reads of several queues meet. */
typedef enum sharing { ONE_FAMILY, CONCURRENT, BY_QUEUE, BY_READERS } sharing;

static sharing sharing_of(const work *w, uint32_t res)
{
    const hdi_decl *decl = w->decl;
    uint32_t pair = decl->res_pair[res], flags = decl->res_flags[res];
    uint32_t families = families_of(w, res);
    if (pair != HDI_NONE) {
        /* Two physical resources take turns and both must do for both roles: nothing is handed from frame to frame. */
        families |= families_of(w, pair);
        return families & (families - 1) ? CONCURRENT : ONE_FAMILY;
    }
    if (!(families & (families - 1)))
        return ONE_FAMILY;
    uint32_t wanted = decl->res_info[res].sharing;
    if (wanted == HD_SHARING_CONCURRENT || flags & HDI_RES_HOST)
        return CONCURRENT;
    if (wanted != HD_SHARING_EXCLUSIVE && flags & HDI_RES_BUFFER)
        return CONCURRENT;
    /* An import has one owner at the frame's start and end; pieces that went different ways would have to be gathered.
     */
    if (flags & HDI_RES_EXTERNAL)
        return w->frozen->res_seg_begin[res + 1] - w->frozen->res_seg_begin[res] > 1 ? CONCURRENT : BY_QUEUE;
    return wanted == HD_SHARING_EXCLUSIVE ? BY_QUEUE : BY_READERS;
}

/* ---- the state at the frame's end, of what keeps it ---- */

static uint32_t layout_at(const work *w, uint32_t entry, uint32_t end)
{
    return visit_all(source_of(w), entry, end).v.layout;
}

/* The layout that the last use of an image wants, HDI_NONE: nothing uses it. */
static uint32_t last_layout(const work *w, uint32_t res)
{
    const uint32_t *slot = w->out->entry_slot;
    uint32_t best = HDI_NONE, layout = HDI_NONE;
    for (uint32_t seg = w->frozen->res_seg_begin[res]; seg < w->frozen->res_seg_begin[res + 1]; seg++) {
        uint32_t begin = w->entry_begin[seg], end = w->entry_begin[seg + 1], entry = end;
        if (begin == end || (best != HDI_NONE && slot[end - 1] <= best))
            continue;
        best = slot[end - 1];
        while (entry > begin && slot[entry - 1] == best)
            entry--;
        layout = layout_at(w, entry, end);
    }
    return layout;
}

static uint32_t choose_final_layout(const work *w, uint32_t res)
{
    const hdi_decl *decl = w->decl;
    const hdi_res_info *info = &decl->res_info[res];
    uint32_t pair = decl->res_pair[res];
    uint32_t own = last_layout(w, res);
    if (decl->res_flags[res] & HDI_RES_EXTERNAL) {
        if (info->final_layout)
            return info->final_layout;
        return own == HDI_NONE ? info->initial_layout : own;
    }
    /* What next frame's readers of the history want, so that they find it so and leave it so. */
    for (uint32_t seg = w->frozen->res_seg_begin[pair]; seg < w->frozen->res_seg_begin[pair + 1]; seg++) {
        if (w->entry_begin[seg] != w->entry_begin[seg + 1])
            return layout_at(w, w->entry_begin[seg], w->entry_begin[seg + 1]);
    }
    return own == HDI_NONE ? HDI_LAYOUT_GENERAL : own;
}

static void find_families(const work *w, uint32_t res)
{
    const hdi_hazards *out = w->out;
    uint32_t first_slot = HDI_NONE, last_slot = 0, end = w->entry_begin[w->frozen->res_seg_begin[res + 1]];
    for (uint32_t e = w->entry_begin[w->frozen->res_seg_begin[res]]; e < end; e++) {
        uint32_t slot = out->entry_slot[e], family = w->queues->family[w->schedule->slot_queue[slot]];
        if (family == HDI_NONE)
            continue;
        if (slot < first_slot) {
            first_slot = slot;
            out->res_first_family[res] = family;
        }
        if (slot >= last_slot) {
            last_slot = slot;
            out->res_final_family[res] = family;
        }
    }
}

/* ---- all epochs ---- */

/* A step at the end of a segment that must be left in another layout than its last use wants. */
static uint32_t add_final(work *w, uint32_t seg, uint32_t layout, uint32_t final_layout, bool has_epochs,
                          hdi_epoch *epoch)
{
    if (layout == final_layout)
        return 0;
    *epoch =
        (hdi_epoch){.layout = final_layout, .flags = HDI_EPOCH_FINAL, .place = HDI_PLACE_PRODUCER, .extra = HDI_NONE};
    if (!has_epochs)
        w->crossing[w->crossing_count++] = seg;
    return 1;
}

/* Epochs of a resource that does more than most: that keeps its state, or that several queues use. Returns their end.
 */
static RARE hdi_epoch *build_resource(work *w, uint32_t res, hdi_epoch *next)
{
    hdi_hazards *out = w->out;
    const uint32_t *entry_begin = w->entry_begin;
    uint32_t flags = w->decl->res_flags[res], first = w->frozen->res_seg_begin[res],
             end = w->frozen->res_seg_begin[res + 1];
    bool is_image = !(flags & HDI_RES_BUFFER), keeps = (flags & KEEPS_STATE) != 0;
    uint32_t only = w->queues->count > 1 ? 0 : 1;
    source in = source_of(w);
    sharing shared = w->several_families ? sharing_of(w, res) : ONE_FAMILY;
    out->res_concurrent[res] = shared == CONCURRENT;
    out->res_used[res] = entry_begin[first] != entry_begin[end];
    if (flags & HDI_RES_HISTORY && is_image)
        out->res_final_layout[res] = out->res_final_layout[w->decl->res_pair[res]];
    if (keeps)
        find_families(w, res);
    uint32_t initial = keeps && is_image ? hdi_initial_layout(w->decl, out, res) : 0;
    for (uint32_t seg = first; seg < end; seg++) {
        out->seg_epoch_begin[seg] = (uint32_t)(next - w->first_epoch);
        found f = split_epochs(&in, entry_begin[seg], entry_begin[seg + 1], is_image, keeps, only, shared == BY_QUEUE,
                               next, out->use_kept, w->nobody);
        bool has_epochs = f.end != next;
        next = f.end;
        if (shared == BY_READERS)
            out->res_concurrent[res] |= f.shared;
        if (has_epochs && (f.queue_mask & (f.queue_mask - 1) || !(f.queue_mask & w->gpu_mask)))
            w->crossing[w->crossing_count++] = seg;
        if (keeps && is_image && out->res_used[res])
            next +=
                add_final(w, seg, has_epochs ? next[-1].layout : initial, out->res_final_layout[res], has_epochs, next);
    }
    return next;
}

/* Of the segments of some resources, counted from w->first_epoch. Returns their end. */
static __attribute__((noinline)) hdi_epoch *build_all(work *w, uint32_t first, uint32_t last)
{
    const uint32_t *entry_begin = w->entry_begin, *seg_res = w->frozen->seg_res;
    const uint8_t *res_flags = w->decl->res_flags;
    const uint16_t *res_queues = w->out->res_queues;
    const source in = source_of(w);
    uint32_t nobody = w->nobody;
    uint32_t *begin = w->out->seg_epoch_begin;
    uint8_t *used = w->out->res_used, *use_kept = w->out->use_kept;
    hdi_epoch *epoch = w->first_epoch, *next = epoch;
    for (uint32_t seg = first; seg < last;) {
        uint32_t res = seg_res[seg], flags = res_flags[res], queues = res_queues ? res_queues[res] : 1;
        if (flags & KEEPS_STATE || queues & (queues - 1) || !(queues & w->gpu_mask)) {
            next = build_resource(w, res, next);
            seg = w->frozen->res_seg_begin[res + 1];
            continue;
        }
        uint32_t entry = entry_begin[seg], end = entry_begin[seg + 1];
        begin[seg++] = (uint32_t)(next - epoch);
        used[res] |= entry != end;
        next =
            split_epochs(&in, entry, end, !(flags & HDI_RES_BUFFER), false, queues, false, next, use_kept, nobody).end;
    }
    return next;
}

static void choose_layouts(uint32_t begin, uint32_t end, uint32_t k, void *user)
{
    const work *w = user;
    (void)k;
    for (uint32_t res = begin; res < end; res++) {
        uint32_t flags = w->decl->res_flags[res];
        if (flags & KEEPS_STATE && !(flags & (HDI_RES_BUFFER | HDI_RES_HISTORY)))
            w->out->res_final_layout[res] = choose_final_layout(w, res);
    }
}

/* What a range of resources has found: its epochs stand where there is room for all that it can have. */
typedef struct range {
    uint32_t first_seg, last_seg, epoch_begin, epoch_count, crossing_count;
    hdi_epoch *epoch;
} range;

typedef struct range_work {
    const work *w;
    range *range;
    hdi_epoch *room;
} range_work;

static void build_range(uint32_t begin, uint32_t end, uint32_t k, void *user)
{
    const range_work *rw = user;
    work w = *rw->w;
    range *r = &rw->range[k];
    r->first_seg = w.frozen->res_seg_begin[begin];
    r->last_seg = w.frozen->res_seg_begin[end];
    r->epoch = w.first_epoch = rw->room + w.entry_begin[r->first_seg] + r->first_seg;
    w.nobody = w.decl->use_count + k;
    w.crossing += r->first_seg;
    w.crossing_count = 0;
    r->epoch_count = (uint32_t)(build_all(&w, r->first_seg, r->last_seg) - r->epoch);
    r->crossing_count = w.crossing_count;
}

static void close_up(uint32_t k, void *user)
{
    const range_work *rw = user;
    const range *r = &rw->range[k];
    hdi_hazards *out = rw->w->out;
    for (uint32_t seg = r->first_seg; seg < r->last_seg; seg++)
        out->seg_epoch_begin[seg] += r->epoch_begin;
    if (r->epoch_count && out->epoch + r->epoch_begin != r->epoch)
        memcpy(out->epoch + r->epoch_begin, r->epoch, r->epoch_count * sizeof(*r->epoch));
}

static hd_result build_epochs(work *w)
{
    enum { GRAIN = 1024 };
    hdi_hazards *out = w->out;
    hdi_arena *arena = w->arena;
    uint32_t seg_count = w->frozen->seg_count, res_count = w->decl->res_count;
    uint32_t ranges = hdi_range_count(w->crew, res_count, GRAIN);
    size_t most = (size_t)out->entry_count + seg_count;
    range ranged[HDI_MOST_PARTS];
    range_work rw = {w, ranged, NULL};
    out->seg_epoch_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)seg_count + 1);
    out->use_kept = HDI_ARENA_ZEROED(arena, uint8_t, (size_t)w->decl->use_count + HDI_MOST_PARTS);
    w->crossing = HDI_ARENA_ARRAY(arena, uint32_t, seg_count);
    hdi_arena_mark mark = hdi_arena_here(arena);
    out->epoch = HDI_ARENA_ARRAY(arena, hdi_epoch, most);
    rw.room = ranges > 1 ? HDI_ARENA_ARRAY(arena, hdi_epoch, most) : out->epoch;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(w->crew, res_count, GRAIN, choose_layouts, w);
    hdi_crew_ranges(w->crew, res_count, GRAIN, build_range, &rw);
    for (uint32_t k = 0; k < ranges; k++) {
        ranged[k].epoch_begin = out->epoch_count;
        out->epoch_count += ranged[k].epoch_count;
        memmove(w->crossing + w->crossing_count, w->crossing + ranged[k].first_seg,
                ranged[k].crossing_count * sizeof(*w->crossing));
        w->crossing_count += ranged[k].crossing_count;
    }
    if (ranges > 1)
        hdi_crew_parts(w->crew, ranges, close_up, &rw);
    out->seg_epoch_begin[seg_count] = out->epoch_count;
    hdi_arena_keep(arena, mark, &(hdi_arena_kept){&out->epoch, out->epoch_count * sizeof(*out->epoch)}, 1);
    return HD_OK;
}

hd_result hdi_hazard(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_schedule *schedule,
                     const hdi_queues *queues, const hdi_crew *crew, hdi_arena *arena, hdi_hazards *out)
{
    work w = {.decl = decl, .frozen = frozen, .schedule = schedule, .queues = queues, .crew = crew, .arena = arena};
    w.out = out;
    out->epoch_count = 0;
    w.gpu_mask = (1u << queues->gpu_count) - 1;
    for (uint32_t q = 0; q < queues->gpu_count; q++) {
        uint32_t first = 0;
        while (queues->family[first] != queues->family[q])
            first++;
        w.family_bit[q] = (uint16_t)(1u << first);
        w.several_families |= first != 0;
    }
    out->res_concurrent = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    out->res_used = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    out->res_final_layout = HDI_ARENA_ZEROED(arena, uint32_t, decl->res_count);
    out->res_first_family = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->res_final_family = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    memset(out->res_first_family, 0xff, decl->res_count * sizeof(*out->res_first_family));
    memset(out->res_final_family, 0xff, decl->res_count * sizeof(*out->res_final_family));
    hd_result result = collect_entries(&w);
    if (result == HD_OK)
        result = build_epochs(&w);
    if (result == HD_OK && w.crossing_count)
        result = hdi_place_steps(&w);
    return result == HD_OK ? hdi_number_slots(&w) : result;
}
