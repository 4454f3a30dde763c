#include "barrier_requests.h"

#include <string.h>

#include "hints.h"
#include "vk_numbers.h"

/* Chooses the point of each barrier. Each asks for an interval of its queue; the fewest points that meet all intervals
 * are found by taking intervals by their ends and opening a new point, at the end, only where the newest one lies too
 * early (stabbing of intervals, optimal for one queue). Then barriers of one point become one command: global ones are
 * joined, image barriers of neighbouring segments with equal masks are joined. O(requests + slots).
 *
 * Each region of a long frame (schedule.c) chooses its points by itself, side by side, for the requests whose highest
 * point it has; lower ones before its begin are left out. It writes where there is room for all of its requests, and
 * nothing moves up to the one before: what the plan reads may have gaps. */

/* Transfers of ownership are never joined: release and acquire must name the same range. */
static bool same_kind(const hd_plan_barrier *a, const hd_plan_barrier *b)
{
    return a->src_family == HD_NONE && a->resource == b->resource && a->old_layout == b->old_layout &&
           a->new_layout == b->new_layout && a->src_family == b->src_family && a->dst_family == b->dst_family &&
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

bool hdi_join_barriers(hd_plan_barrier *a, const hd_plan_barrier *b, bool is_buffer)
{
    return same_kind(a, b) && join_ranges(&a->range, &b->range, is_buffer);
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
            while (pos < count &&
                   (slots[pos] < hazards->region_begin[k] || (slot_first && slot_first[slots[pos]] != pos)))
                pos++;
            region[k].floor[q] = pos ? 2 * pos - 1 : 0;
            if (k)
                region[k - 1].end[q] = region[k].floor[q];
        }
        region[hazards->region_count - 1].end[q] = 2 * count;
    }
}

/* Where the highest point of a request lies, from about there on. */
static uint32_t region_of(const hdi_barrier_region *regions, uint32_t count, const hdi_request *r, uint32_t k)
{
    while (k > 0 && regions[k].floor[r->queue] > r->high)
        k--;
    while (k + 1 < count && regions[k + 1].floor[r->queue] <= r->high)
        k++;
    return k;
}

void hdi_sort_requests(const hdi_barrier_region *regions, uint32_t region_count, hdi_request *raw, hdi_request *to,
                       hdi_request_list *list)
{
    uint32_t at[HDI_MOST_PARTS] = {0}, k = 0, sum = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        k = region_of(regions, region_count, &raw[i], k);
        raw[i].region = (uint8_t)k;
        at[k]++;
    }
    for (k = 0; k < region_count; k++) {
        uint32_t count = at[k];
        list->region_begin[k] = at[k] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < list->count; i++)
        to[at[raw[i].region]++] = raw[i];
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

/* A point, and its requests: in `items` of the region. */
typedef struct point {
    uint32_t at, begin, count;
    uint32_t globals, moving; /* of them: global ones, and transfers of ownership */
} point;

typedef struct region {
    const work *w;
    const uint32_t *floor, *end; /* points of each queue */
    const hdi_request *item;     /* in the order of the lists */
    uint32_t count;
    uint32_t
        *begin; /* of each place, those of all queues one behind another: of the requests that end there, in items */
    uint32_t *items;
    point *point;
    uint32_t *of;                            /* per request: its point */
    uint32_t queue_point[HD_MAX_QUEUES + 1]; /* the first point of each queue */
    uint32_t batch_count, barrier_count;
    uint32_t first; /* batch and barrier in the frame */
} region;

/* Whether an image's barrier brings the order that is asked for, and nothing else is. Those of a point stand up to
 * items[end]. */
static bool is_ordered(const region *r, const hdi_request *request, const hdi_scopes *wanted, uint32_t end)
{
    const hd_plan_barrier *barrier = r->w->requests->barrier;
    for (uint32_t i = end, looked = 0; i-- > 0 && looked < RECENT;) {
        const hdi_request *other = &r->item[r->items[i]];
        const hd_plan_barrier *b = &barrier[other->barrier];
        if (other->queue != request->queue || r->point[r->of[r->items[i]]].at < request->low)
            return false;
        if (other->global || other->order & HDI_MOVES)
            continue;
        hdi_scopes does = {.src_stages = b->src_stages, .dst_stages = b->dst_stages};
        if (hdi_stands_for(&does, false, wanted))
            return true;
        looked++;
    }
    return false;
}

/* end: of the requests of its point. */
static bool is_spared(const region *r, const recent *seen, const hdi_request *request, const hd_plan_barrier *b,
                      uint32_t end)
{
    hdi_scopes wanted = {b->src_stages, b->src_access, b->dst_stages, b->dst_access};
    if (!wanted.src_stages)
        return false;
    for (uint32_t i = seen->count; i > 0 && seen->count - i < RECENT; i--) {
        uint32_t at = seen->global[(i - 1) % RECENT].at;
        if (seen->global[(i - 1) % RECENT].number + RECENT < seen->passed)
            break;
        if (at >= request->low && at <= request->high &&
            hdi_stands_for(&seen->global[(i - 1) % RECENT].does, true, &wanted))
            return true;
    }
    return !(wanted.src_access | wanted.dst_access) && is_ordered(r, request, &wanted, end);
}

/* Semaphores brought what happened before the request back to its own queue, by way of another one; for a request that
 * another one comes after, before its point. */
static bool came_round(const work *w, const hdi_request *r, const hd_plan_barrier *b, uint32_t at)
{
    if (b->dst_stages & HDI_STAGE_HOST)
        return false;
    const uint32_t *slots = &w->hazards->queue_slot[w->hazards->queue_begin[r->queue]], *round = w->synced->slot_round;
    uint32_t last = (r->order & HDI_EARLY ? at : r->high) / 2;
    if (2 * round[slots[last]] <= r->low)
        return false;
    uint32_t low = 0, high = last; /* the wait that brought it */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (2 * round[slots[middle]] > r->low)
            high = middle;
        else
            low = middle + 1;
    }
    hdi_count_on(&w->out->slot_wait_stages[slots[low]], b->dst_stages);
    return true;
}

/* Keeps the items of a point that nothing stands for; returns how many. Images count first: they are never dropped. */
static HDI_APART uint32_t drop_spared(const region *r, const point *p, recent *seen)
{
    const hd_plan_barrier *barrier = r->w->requests->barrier;
    uint32_t *items = r->items + p->begin, kept = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const hdi_request *request = &r->item[items[i]];
        if (request->global) {
            const hd_plan_barrier *b = &barrier[request->barrier];
            if (is_spared(r, seen, request, b, p->begin + p->count) || came_round(r->w, request, b, p->at))
                continue;
            uint32_t k = seen->count++ % RECENT;
            seen->global[k].does = (hdi_scopes){b->src_stages, b->src_access, b->dst_stages, b->dst_access};
            seen->global[k].at = p->at;
            seen->global[k].number = seen->passed++;
        }
        items[kept++] = items[i];
    }
    return kept;
}

/* Returns how many barriers the batch has. */
static inline uint32_t fill_batch(const region *r, const uint32_t *items, uint32_t count, hd_plan_barrier *to)
{
    const hd_plan_barrier *barrier = r->w->requests->barrier, *begin = to;
    const hdi_request *item = r->item;
    hd_plan_barrier *global = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const hdi_request *request = &item[items[i]];
        const hd_plan_barrier *b = &barrier[request->barrier];
        if (request->global && global) {
            global->src_stages |= b->src_stages;
            global->src_access |= b->src_access;
            global->dst_stages |= b->dst_stages;
            global->dst_access |= b->dst_access;
            continue;
        }
        *to = *b;
        if (request->global)
            global = to;
        else
            while (to > begin && to[-1].resource == to->resource &&
                   hdi_join_barriers(to - 1, to, (r->w->decl->res_flags[to->resource] & HDI_RES_BUFFER) != 0))
                to--;
        to++;
    }
    return (uint32_t)(to - begin);
}

/* Barriers of the points of one queue. */
static void fill_points(region *r, uint32_t queue)
{
    const work *w = r->w;
    const uint32_t *slots = &w->hazards->queue_slot[w->hazards->queue_begin[queue]];
    uint32_t *slot_pre = w->out->slot_pre, *slot_post = w->out->slot_post;
    hd_plan_batch *batch = w->out->batch;
    uint32_t next_batch = r->first + r->batch_count, next = r->first + r->barrier_count;
    recent seen;
    seen.count = seen.passed = 0;
    for (uint32_t k = r->queue_point[queue], end = r->queue_point[queue + 1]; k < end; k++) {
        const point *p = &r->point[k];
        uint32_t count = p->count;
        seen.passed += count - p->globals - p->moving;
        if (p->globals)
            count = drop_spared(r, p, &seen);
        if (count == 0)
            continue;
        uint32_t filled = fill_batch(r, r->items + p->begin, count, w->out->barrier + next);
        batch[next_batch] = (hd_plan_batch){next, filled};
        (p->at & 1 ? slot_post : slot_pre)[slots[p->at / 2]] = next_batch++;
        next += filled;
    }
    r->batch_count = next_batch - r->first;
    r->barrier_count = next - r->first;
}

/* Points of the requests of one queue, which stand by their ends from items[begin] up to items[end]. */
static void choose_points(region *r, uint32_t queue, uint32_t begin, uint32_t end)
{
    const hdi_request *item = r->item;
    const uint32_t *items = r->items;
    uint32_t *of = r->of, floor = r->floor[queue], first = r->queue_point[queue], next = first;
    point *points = r->point;
    for (uint32_t i = begin; i < end; i++) {
        uint32_t index = items[i];
        const hdi_request *request = &item[index];
        uint32_t low = request->low > floor ? request->low : floor, order = request->order & (HDI_EARLY | HDI_FOLLOWS);
        if (order & HDI_FOLLOWS && points[of[index - 1]].at + 1 > low)
            low = points[of[index - 1]].at + 1;
        if (next == first || points[next - 1].at < low)
            points[next++] = (point){.at = request->high};
        uint32_t k = next - 1;
        while (order & HDI_EARLY && k > first && points[k - 1].at >= low)
            k--;
        of[index] = k;
        points[k].count++;
    }
    r->queue_point[queue + 1] = next;
}

/* Requests by the ends of their intervals, those of one end in their order, and their points. */
static void sort_and_choose(region *r, uint32_t places)
{
    const hdi_request *item = r->item;
    uint32_t base[HD_MAX_QUEUES], queues = r->w->queues->count, count = r->count, sum = 0, *begin = r->begin,
                                  *items = r->items;
    for (uint32_t q = 0; q < queues; q++) {
        base[q] = sum - r->floor[q];
        sum += r->end[q] - r->floor[q];
    }
    memset(begin, 0, ((size_t)places + 1) * sizeof(*begin));
    for (uint32_t i = 0; i < count; i++)
        begin[base[item[i].queue] + item[i].high]++;
    sum = 0;
    for (uint32_t k = 0; k < places; k++) {
        sum += begin[k];
        begin[k] = sum;
    }
    begin[places] = sum;
    for (uint32_t i = count; i-- > 0;)
        items[--begin[base[item[i].queue] + item[i].high]] = i;
    r->queue_point[0] = 0;
    for (uint32_t q = 0; q < queues; q++)
        choose_points(r, q, begin[base[q] + r->floor[q]], begin[base[q] + r->end[q]]);
}

/* Requests by their points, those of a point in their order. */
static void sort_by_points(region *r)
{
    const hdi_request *item = r->item;
    const uint32_t *of = r->of;
    uint32_t points = r->queue_point[r->w->queues->count], count = r->count, *items = r->items;
    point *first = r->point;
    for (uint32_t k = 0, sum = 0; k < points; k++) {
        first[k].begin = sum;
        sum += first[k].count;
        first[k].count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        point *p = &first[of[i]];
        items[p->begin + p->count++] = i;
        p->globals += item[i].global;
        p->moving += item[i].order / HDI_MOVES;
    }
}

/* The requests of a region, of all lists. Before it in the frame there are *before. */
static const hdi_request *collect(const work *w, uint32_t part, hdi_arena *arena, uint32_t *count, uint32_t *before)
{
    const hdi_requests *all = w->requests;
    *count = *before = 0;
    for (uint32_t l = 0; l < all->list_count; l++) {
        const uint32_t *begin = &all->list[l].region_begin[part];
        *before += begin[0];
        *count += begin[1] - begin[0];
    }
    if (all->list_count == 1)
        return all->item + all->list->begin + all->list->region_begin[part];
    hdi_request *item = HDI_ARENA_ARRAY(arena, hdi_request, *count);
    for (uint32_t l = 0, at = 0; item && l < all->list_count; l++) {
        const hdi_request_list *list = &all->list[l];
        uint32_t n = list->region_begin[part + 1] - list->region_begin[part];
        memcpy(item + at, all->item + list->begin + list->region_begin[part], n * sizeof(*item));
        at += n;
    }
    return item;
}

static void place_region(uint32_t part, void *user)
{
    const work *w = user;
    written *done = &w->written[part];
    hdi_arena *arena = hdi_crew_arena(w->crew, part, w->arena);
    hdi_arena_mark mark = hdi_arena_here(arena);
    uint32_t places = 0;
    region r;
    r.w = w;
    r.floor = w->region[part].floor;
    r.end = w->region[part].end;
    for (uint32_t q = 0; q < w->queues->count; q++)
        places += r.end[q] - r.floor[q];
    r.item = collect(w, part, arena, &r.count, &r.first);
    r.begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)places + 1);
    r.items = HDI_ARENA_ARRAY(arena, uint32_t, r.count);
    r.of = HDI_ARENA_ARRAY(arena, uint32_t, r.count);
    r.point = HDI_ARENA_ARRAY(arena, point, r.count);
    done->failed = arena->failed;
    if (done->failed)
        return;
    r.batch_count = r.barrier_count = 0;
    sort_and_choose(&r, places);
    sort_by_points(&r);
    for (uint32_t q = 0; q < w->queues->count; q++)
        fill_points(&r, q);
    done->batch_count = r.batch_count;
    done->barrier_count = r.barrier_count;
    hdi_arena_keep(arena, mark, NULL, 0);
}

hd_result hdi_place_barriers(const hdi_decl *decl, const hdi_queues *queues, const hdi_hazards *hazards,
                             const hdi_synced *synced, const hdi_barrier_region *regions, const hdi_requests *requests,
                             const hdi_crew *crew, hdi_arena *arena, hdi_barriers *out)
{
    written done[HDI_MOST_PARTS];
    work w = {decl, queues, hazards, synced, regions, requests, crew, arena, done, out};
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
