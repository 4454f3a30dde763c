#include "barrier_requests.h"

#include <string.h>

#include "hints.h"

/* Chooses the point of each barrier. Each asks for an interval of its queue; the fewest points that meet all intervals
 * are found by taking intervals by their ends and opening a new point, at the end, only where the newest one lies too
 * early (stabbing of intervals, optimal for one queue). Then barriers of one point become one command: global ones are
 * joined, image barriers of neighbouring segments with equal masks are joined. O(requests + slots).
 *
 * Each region of a long frame (schedule.c) chooses its points by itself, side by side, for the requests whose highest
 * point it has; lower ones before its begin are left out. It writes where there is room for all of its requests, and
 * nothing moves up to the one before: what the plan reads may have gaps. */

/* Of barriers that move nothing between families. */
static bool same_kind(const hd_plan_barrier *a, const hd_plan_barrier *b)
{
    return a->resource == b->resource && a->old_layout == b->old_layout && a->new_layout == b->new_layout &&
           a->src_stages == b->src_stages && a->src_access == b->src_access && a->dst_stages == b->dst_stages &&
           a->dst_access == b->dst_access;
}

static bool join_ranges(hd_range *a, const hd_range *b, bool is_buffer)
{
    if (is_buffer) {
        if (a->offset + a->bytes != b->offset)
            return false;
        a->bytes += b->bytes;
        return true;
    }
    if (a->aspect != b->aspect) { /* the same piece of depth and of stencil is one of both */
        bool both = a->aspect == HD_ASPECT_DEPTH && b->aspect == HD_ASPECT_STENCIL && a->mip_base == b->mip_base &&
                    a->mip_count == b->mip_count && a->layer_base == b->layer_base && a->layer_count == b->layer_count;
        a->aspect = both ? 0 : a->aspect;
        return both;
    }
    if (a->mip_base == b->mip_base && a->mip_count == b->mip_count && a->layer_base + a->layer_count == b->layer_base) {
        a->layer_count += b->layer_count;
        return true;
    }
    if (a->layer_base == b->layer_base && a->layer_count == b->layer_count &&
        a->mip_base + a->mip_count == b->mip_base) {
        a->mip_count = (uint16_t)(a->mip_count + b->mip_count);
        return true;
    }
    return false;
}

bool hdi_join_barriers(hd_plan_barrier *a, const hd_plan_barrier *b)
{
    return same_kind(a, b) && join_ranges(&a->range, &b->range, false);
}

/* ---- regions ---- */

/* A scope that is shared across its begin belongs to the one before. */
void hdi_cut_barriers(const hdi_queues *queues, const hdi_hazards *hazards, const hdi_merged *merged,
                      hdi_barrier_region *region)
{
    const uint32_t *slot_first = merged->slot_first;
    for (uint32_t q = 0; q < queues->count; q++) {
        const uint32_t *slots = &hazards->queue_slot[hazards->queue_begin[q]];
        uint32_t count = hazards->queue_begin[q + 1] - hazards->queue_begin[q], pos = 0;
        for (uint32_t k = 0; k < hazards->region_count; k++) {
            pos = hdi_pos_from(hazards, q, pos, hazards->region_begin[k]);
            while (pos < count && slot_first && slot_first[slots[pos]] != pos)
                pos++;
            region[k].floor[q] = pos ? 2 * pos - 1 : 0;
            if (k)
                region[k - 1].end[q] = region[k].floor[q];
        }
        region[hazards->region_count - 1].end[q] = 2 * count;
    }
}

void hdi_sort_requests(uint32_t region_count, const hdi_request *item, uint32_t *order, hdi_request_list *list)
{
    uint32_t at[HDI_MOST_PARTS], sum = list->begin, end = list->begin + list->count;
    for (uint32_t k = 0; k < region_count; k++) {
        at[k] = sum;
        sum += list->region_begin[k];
        list->region_begin[k] = at[k];
    }
    list->region_begin[region_count] = end;
    for (uint32_t i = list->begin; i < end; i++)
        order[at[item[i].region]++] = i;
}

/* ---- a region ---- */

enum { RECENT = 16 };

/* The newest barriers of a queue. A record between the same two uses with wider masks does the work of another: for
 * execution any record, also an image's, as only its memory scope is confined to the image; for memory a global one. (A
 * write after reads asks for memory too: what the readers' layout transition did must be visible to it.) So only global
 * ones are kept at hand, with how many there were before. Transfers do no work for others, and do not count. */
typedef struct recent {
    struct {
        hdi_scopes does;
        uint32_t at, number;
    } global[RECENT];
    uint32_t count, passed;
} recent;

/* What a region has written. */
typedef struct written {
    uint32_t batch_count, barrier_count;
    bool failed;
} written;

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_kind *kinds, *made;
    const hdi_queues *queues;
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    const hdi_barrier_region *region;
    const hdi_requests *requests;
    const hdi_crew *crew;
    hdi_arena *arena;
    written *written;
    hdi_barriers *out;
} work;

/* A point, and its requests: in `placed` of the region. */
typedef struct point {
    uint32_t at, begin, count;
    uint32_t kinds, images; /* of its requests: of any; how many are neither global nor transfers of ownership */
} point;

typedef struct region {
    const work *w;
    const uint32_t *floor, *end; /* points of each queue */
    const hdi_request *item;
    const uint32_t *order; /* items of the region, in the order of the lists; null: as they stand */
    uint32_t count;
    uint32_t *begin;  /* of each place, those of all queues one behind another: of those that end there, in by_end */
    uint32_t *by_end; /* indices in order */
    uint32_t *of;     /* like order: the point of each */
    point *point;
    uint32_t *placed; /* items of the points, one point behind another: what the plan finds there in the end */
    uint32_t queue_point[HD_MAX_QUEUES + 1]; /* the first point of each queue */
    uint32_t first, first_batch;             /* in the frame; there are no more batches than places */
} region;

/* Of an item. */
static HDI_INLINE hdi_scopes scopes_of(const work *w, uint32_t item)
{
    if (w->out->barrier)
        return hdi_scopes_of(&w->out->barrier[item]);
    const hdi_asked *asked = &w->out->asked[item];
    const hdi_kind *from = hdi_asked_side(w->kinds, w->made, asked->from),
                   *to = hdi_asked_side(w->kinds, w->made, asked->to);
    return hdi_step_scopes(from, to);
}

/* Whether an image's barrier brings the order that is asked for, and nothing else is: one of the newest of the points
 * of a queue, first .. last, from the lowest point on that will do. */
static bool is_ordered(const region *r, const point *first, const point *last, uint32_t low, const hdi_scopes *wanted)
{
    for (uint32_t looked = 0; last >= first && last->at >= low; last--) {
        for (uint32_t i = last->begin + last->count; i-- > last->begin;) {
            if (r->item[r->placed[i]].kind & (HDI_GLOBAL | HDI_MOVES))
                continue;
            hdi_scopes does = scopes_of(r->w, r->placed[i]);
            if (hdi_orders(&does, wanted))
                return true;
            if (++looked == RECENT)
                return false;
        }
    }
    return false;
}

/* Whether one of the newest global ones, which stand in the order of their points, does the work of another. */
static bool is_spared(const recent *seen, const hdi_request *request, const hdi_scopes *wanted)
{
    for (uint32_t i = seen->count; i > 0 && seen->count - i < RECENT; i--) {
        uint32_t k = (i - 1) % RECENT, at = seen->global[k].at;
        if (at < request->low || seen->global[k].number + RECENT < seen->passed)
            return false;
        if (at <= request->high && hdi_stands_for(&seen->global[k].does, wanted))
            return true;
    }
    return false;
}

/* Semaphores brought what happened before the request back to its own queue, by way of another one; for a request that
 * another one comes after, before its point. */
static HDI_INLINE bool came_round(const work *w, const uint32_t *slots, const hdi_request *r, const hdi_scopes *wanted,
                                  uint32_t at)
{
    const uint32_t *round = w->synced->slot_round;
    uint32_t last = (r->kind & HDI_EARLY ? at : r->high) / 2;
    if (2 * round[slots[last]] <= r->low || wanted->dst_stages & HDI_STAGE_HOST)
        return false;
    uint32_t low = 0, high = last; /* the wait that brought it */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (2 * round[slots[middle]] > r->low)
            high = middle;
        else
            low = middle + 1;
    }
    hdi_count_on(&w->out->slot_wait_stages[slots[low]], wanted->dst_stages, w->crew->workers == 1);
    return true;
}

/* Two global ones of a point become one: the first. */
static HDI_INLINE void join_global(const hdi_barriers *out, uint32_t first, uint32_t other, hdi_scopes does)
{
    if (out->barrier) {
        hdi_add_scopes(&out->barrier[first], does);
        return;
    }
    out->asked[other].extent = out->asked[first].extent;
    out->asked[first].extent = other + 1;
    out->asked[first].word |= HDI_LOOK;
}

/* Joins the global ones of a point that nothing stands for, and drops the others. Images count first: they are never
 * dropped. slots, first: of the queue, the first point. */
static HDI_APART HDI_SCALAR void drop_spared(const region *r, const uint32_t *slots, const point *first, point *p,
                                             recent *seen)
{
    uint32_t *placed = r->placed + p->begin, count = p->count, kept = 0, global = HDI_NONE;
    for (uint32_t i = 0; i < count; i++) {
        const hdi_request *request = &r->item[placed[i]];
        if (!(request->kind & HDI_GLOBAL)) {
            placed[kept++] = placed[i];
            continue;
        }
        hdi_scopes wanted = scopes_of(r->w, placed[i]);
        bool ordered = !(wanted.src_access | wanted.dst_access);
        if (wanted.src_stages &&
            (is_spared(seen, request, &wanted) || (ordered && is_ordered(r, first, p, request->low, &wanted))))
            continue;
        if (came_round(r->w, slots, request, &wanted, p->at))
            continue;
        uint32_t k = seen->count++ % RECENT;
        seen->global[k].does = wanted;
        seen->global[k].at = p->at;
        seen->global[k].number = seen->passed++;
        if (global != HDI_NONE) {
            join_global(r->w->out, global, placed[i], wanted);
        } else {
            global = placed[i];
            placed[kept++] = placed[i];
        }
    }
    p->count = kept;
}

/* The next one of a part of the same resource becomes one with another, if they say the same. */
static bool join_items(const work *w, uint32_t first, uint32_t other)
{
    if (w->out->barrier) {
        hd_plan_barrier *a = &w->out->barrier[first], *b = &w->out->barrier[other];
        return same_kind(a, b) && join_ranges(&a->range, &b->range, w->decl->res_flags[a->resource] & HDI_RES_BUFFER);
    }
    hdi_asked *a = &w->out->asked[first], *b = &w->out->asked[other];
    const uint32_t *seg_res = w->frozen->seg_res;
    bool corners = hdi_has_corners(a);
    uint32_t res = corners ? seg_res[a->what] : a->what;
    if (hdi_has_corners(b) != corners || (corners ? seg_res[b->what] : b->what) != res)
        return false;
    hdi_scopes does = scopes_of(w, first), next_does = scopes_of(w, other);
    hdi_layouts of_one = hdi_asked_layouts(w->kinds, w->made, a), of_other = hdi_asked_layouts(w->kinds, w->made, b);
    if (memcmp(&does, &next_does, sizeof(does)) != 0 || of_one.old != of_other.old || of_one.new != of_other.new)
        return false;
    if (!corners) {
        hd_range range, next;
        hdi_open_box(a->extent, &range);
        hdi_open_box(b->extent, &next);
        if (!join_ranges(&range, &next, false))
            return false;
        a->extent = hdi_box(range.mip_base, range.mip_count, range.layer_base, range.layer_count);
        return true;
    }
    bool is_buffer = (w->decl->res_flags[res] & HDI_RES_BUFFER) != 0;
    hd_range range = hdi_corners_range(w->frozen, a, is_buffer), next = hdi_corners_range(w->frozen, b, is_buffer);
    if (!join_ranges(&range, &next, is_buffer))
        return false;
    a->extent = b->extent;
    return true;
}

/* Those of parts of a resource that stand side by side. Transfers of ownership are never joined: release and acquire
 * must name the same range. */
static HDI_APART uint32_t join_parts(const region *r, const point *p)
{
    const hdi_request *item = r->item;
    uint32_t *placed = r->placed + p->begin, kept = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        placed[kept++] = placed[i];
        for (; kept > 1; kept--) {
            uint32_t first = placed[kept - 2], other = placed[kept - 1];
            uint32_t one = item[first].kind, next = item[other].kind;
            if (!(one & next & HDI_SEVERAL) || (one | next) & HDI_MOVES || !join_items(r->w, first, other))
                break;
        }
    }
    return kept;
}

/* Barriers of the points of one queue. */
static void fill_points(const region *r, uint32_t queue, written *done)
{
    const work *w = r->w;
    const uint32_t *slots = &w->hazards->queue_slot[w->hazards->queue_begin[queue]];
    uint32_t *slot_pre = w->out->slot_pre, *slot_post = w->out->slot_post;
    hd_plan_batch *batch = w->out->batch;
    uint32_t next_batch = r->first_batch + done->batch_count;
    point *first = r->point + r->queue_point[queue], *end = r->point + r->queue_point[queue + 1];
    recent seen;
    seen.count = seen.passed = 0;
    for (point *p = first; p < end; p++) {
        seen.passed += p->images;
        if (p->kinds & HDI_GLOBAL)
            drop_spared(r, slots, first, p, &seen);
    }
    for (const point *p = first; p < end; p++) {
        uint32_t count = p->kinds & HDI_SEVERAL ? join_parts(r, p) : p->count;
        if (count == 0)
            continue;
        batch[next_batch] = (hd_plan_batch){r->first + p->begin, count};
        (p->at & 1 ? slot_post : slot_pre)[slots[p->at / 2]] = next_batch++;
        done->barrier_count += count;
    }
    done->batch_count = next_batch - r->first_batch;
}

/* The item that is the i-th of the region. stand: they are in order as they stand. */
static HDI_INLINE uint32_t item_of(const region *r, uint32_t i, bool stand)
{
    return stand ? i : r->order[i];
}

/* Points of the requests of one queue, which stand in by_end from `begin` up to `end`. */
static HDI_INLINE void choose_points(region *r, uint32_t queue, uint32_t begin, uint32_t end, bool stand)
{
    const hdi_request *item = r->item;
    const uint32_t *by_end = r->by_end;
    uint32_t *of = r->of, first = r->queue_point[queue], next = first, behind = 0; /* the newest point */
    point *points = r->point;
    for (uint32_t i = begin; i < end; i++) {
        uint32_t index = by_end[i], k;
        const hdi_request *request = &item[item_of(r, index, stand)];
        uint32_t low = request->low, kind = request->kind;
        if (kind & HDI_FOLLOWS && points[of[index - 1]].at + 1 > low)
            low = points[of[index - 1]].at + 1;
        bool is_new = behind <= low; /* which cannot be foreseen: it is written where the next one will stand */
        points[next] = (point){.at = request->high};
        next += is_new;
        behind = is_new ? request->high + 1 : behind;
        k = next - 1;
        if (HDI_UNLIKELY(kind & HDI_EARLY)) {
            while (k > first && points[k - 1].at >= low)
                k--;
        }
        points[k].kinds |= kind;
        points[k].images += !(kind & (HDI_GLOBAL | HDI_MOVES));
        of[index] = k;
        points[k].count++;
    }
    r->queue_point[queue + 1] = next;
}

/* Requests by the ends of their intervals, those of one end in their order, and their points. */
static HDI_INLINE void sort_and_choose(region *r, uint32_t places, bool stand)
{
    const hdi_request *item = r->item;
    uint32_t base[HD_MAX_QUEUES], queues = r->w->queues->count, count = r->count, sum = 0, *begin = r->begin,
                                  *by_end = r->by_end, *of = r->of;
    for (uint32_t q = 0; q < queues; q++) {
        base[q] = sum - r->floor[q];
        sum += r->end[q] - r->floor[q];
    }
    memset(begin, 0, ((size_t)places + 1) * sizeof(*begin));
    for (uint32_t i = 0; i < count; i++) {
        const hdi_request *request = &item[item_of(r, i, stand)];
        uint32_t place = base[request->queue] + request->high;
        of[i] = place; /* until it is a point */
        begin[place]++;
    }
    sum = 0;
    for (uint32_t k = 0; k < places; k++) {
        sum += begin[k];
        begin[k] = sum;
    }
    begin[places] = sum;
    for (uint32_t i = count; i-- > 0;)
        by_end[--begin[of[i]]] = i;
    r->queue_point[0] = 0;
    for (uint32_t q = 0; q < queues; q++)
        choose_points(r, q, begin[base[q] + r->floor[q]], begin[base[q] + r->end[q]], stand);
}

/* Requests by their points, those of a point in their order. */
static HDI_INLINE void sort_by_points(region *r, bool stand)
{
    const uint32_t *of = r->of;
    uint32_t points = r->queue_point[r->w->queues->count], count = r->count;
    uint32_t *placed = r->placed;
    point *first = r->point;
    for (uint32_t k = 0, sum = 0; k < points; k++)
        first[k].begin = sum += first[k].count;
    for (uint32_t i = count; i-- > 0;)
        placed[--first[of[i]].begin] = item_of(r, i, stand);
}

/* The requests of a region, of all lists. */
static void collect(region *r, uint32_t part, hdi_arena *arena)
{
    const hdi_requests *all = r->w->requests;
    r->count = r->first = 0;
    r->order = NULL;
    if (!all->order) {
        r->count = all->list->count;
        return;
    }
    for (uint32_t l = 0; l < all->list_count; l++) {
        const uint32_t *begin = &all->list[l].region_begin[part];
        r->first += begin[0] - all->list[l].begin;
        r->count += begin[1] - begin[0];
    }
    r->order = all->order + all->list->region_begin[part];
    if (all->list_count == 1)
        return;
    uint32_t *order = HDI_ARENA_ARRAY(arena, uint32_t, r->count);
    r->order = order;
    for (uint32_t l = 0, at = 0; order && l < all->list_count; l++) {
        const uint32_t *begin = &all->list[l].region_begin[part];
        memcpy(order + at, all->order + begin[0], (begin[1] - begin[0]) * sizeof(*order));
        at += begin[1] - begin[0];
    }
}

static void place_region(uint32_t part, void *user)
{
    const work *w = user;
    written *done = &w->written[part], sum = {0};
    hdi_arena *arena = hdi_crew_arena(w->crew, part, w->arena);
    hdi_arena_mark mark = hdi_arena_here(arena);
    uint32_t places = 0;
    region r;
    r.w = w;
    r.floor = w->region[part].floor;
    r.end = w->region[part].end;
    r.first_batch = 0;
    for (uint32_t q = 0; q < w->queues->count; q++) {
        places += r.end[q] - r.floor[q];
        r.first_batch += r.floor[q];
    }
    r.item = w->requests->item;
    collect(&r, part, arena);
    r.begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)places + 1);
    r.by_end = HDI_ARENA_ARRAY(arena, uint32_t, r.count);
    r.of = HDI_ARENA_ARRAY(arena, uint32_t, r.count);
    r.point = HDI_ARENA_ARRAY(arena, point, r.count);
    r.placed = w->out->order + r.first;
    done->failed = arena->failed;
    if (done->failed)
        return;
    if (r.order) {
        sort_and_choose(&r, places, false);
        sort_by_points(&r, false);
    } else {
        sort_and_choose(&r, places, true);
        sort_by_points(&r, true);
    }
    for (uint32_t q = 0; q < w->queues->count; q++)
        fill_points(&r, q, &sum);
    *done = sum;
    hdi_arena_keep(arena, mark, NULL, 0);
}

hd_result hdi_place_barriers(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues,
                             const hdi_hazards *hazards, const hdi_synced *synced, const hdi_barrier_region *regions,
                             const hdi_requests *requests, const hdi_crew *crew, hdi_arena *arena, hdi_barriers *out)
{
    written done[HDI_MOST_PARTS];
    work w = {decl,   frozen,  hazards->kind, out->made, queues, hazards,
              synced, regions, requests,      crew,      arena,  done,    out};
    hdi_crew_parts(crew, hazards->region_count, place_region, &w);
    out->batch_count = out->barrier_count = 0;
    for (uint32_t k = 0; k < hazards->region_count; k++) {
        if (done[k].failed)
            return HD_OUT_OF_MEMORY;
        out->batch_count += done[k].batch_count;
        out->barrier_count += done[k].barrier_count;
    }
    return HD_OK;
}
