#include "barrier_requests.h"

#include <string.h>

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
    return a->src_family == HD_NONE && a->resource == b->resource && a->old_layout == b->old_layout && a->new_layout == b->new_layout &&
           a->src_family == b->src_family && a->dst_family == b->dst_family && a->src_stages == b->src_stages &&
           a->src_access == b->src_access && a->dst_stages == b->dst_stages && a->dst_access == b->dst_access;
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
    if (a->layer_base == b->layer_base && a->layer_count == b->layer_count && a->mip_base + a->mip_count == b->mip_base) {
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
 * write after reads asks for memory too: what the readers' layout transition did must be visible to it.) */
typedef struct recent {
    const hd_plan_barrier *barrier[RECENT];
    uint32_t at[RECENT], count;
    uint32_t global; /* a bit for each that is */
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
} point;

typedef struct region {
    const work *w;
    const uint32_t *floor, *end; /* points of each queue */
    const hdi_request *item;     /* in the order of the lists */
    uint32_t count;
    uint32_t *begin;  /* of each place, those of all queues one behind another: of the requests that end there, in items */
    uint32_t *items;
    point *point;
    uint32_t *of;                          /* per request: its point */
    uint32_t queue_point[HD_MAX_QUEUES + 1]; /* the first point of each queue */
    hd_plan_batch *batch;
    hd_plan_barrier *barrier;
    uint32_t batch_count, barrier_count;
    uint32_t first; /* batch and barrier in the frame */
    bool some_global;
} region;

static bool is_spared(const recent *seen, const hdi_request *r, const hd_plan_barrier *b)
{
    if (!b->src_stages)
        return false;
    hdi_scopes wanted = {b->src_stages, b->src_access, b->dst_stages, b->dst_access};
    uint32_t all = seen->count < RECENT ? (1u << seen->count) - 1 : (1u << RECENT) - 1;
    for (uint32_t bits = b->src_access | b->dst_access ? seen->global : all; bits; bits &= bits - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(bits);
        if (seen->at[i] < r->low || seen->at[i] > r->high)
            continue;
        const hd_plan_barrier *other = seen->barrier[i];
        hdi_scopes does = {other->src_stages, other->src_access, other->dst_stages, other->dst_access};
        if (hdi_stands_for(&does, seen->global >> i & 1, &wanted))
            return true;
    }
    return false;
}

static inline void remember(recent *seen, const hd_plan_barrier *b, uint32_t at, bool global)
{
    if (b->src_family != b->dst_family)
        return;
    uint32_t i = seen->count++ % RECENT;
    seen->barrier[i] = b;
    seen->at[i] = at;
    seen->global = (seen->global & ~(1u << i)) | (uint32_t)global << i;
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

/* Keeps the items of a point that nothing stands for; returns how many. Images first: they are never dropped. */
static uint32_t drop_spared(const region *r, const point *p, recent *seen)
{
    const hd_plan_barrier *barrier = r->w->requests->barrier;
    uint32_t *items = r->items + p->begin, kept = 0, globals = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const hdi_request *request = &r->item[items[i]];
        globals += request->global;
        if (!request->global)
            remember(seen, &barrier[request->barrier], p->at, false);
    }
    for (uint32_t i = 0; globals && i < p->count; i++) {
        const hdi_request *request = &r->item[items[i]];
        if (request->global) {
            const hd_plan_barrier *b = &barrier[request->barrier];
            if (is_spared(seen, request, b) || came_round(r->w, request, b, p->at))
                continue;
            remember(seen, b, p->at, true);
        }
        items[kept++] = items[i];
    }
    return globals ? kept : p->count;
}

/* Returns how many barriers the batch has. */
static uint32_t fill_batch(const region *r, const uint32_t *items, uint32_t count, hd_plan_barrier *to)
{
    const hd_plan_barrier *barrier = r->w->requests->barrier, *begin = to;
    const uint8_t *res_flags = r->w->decl->res_flags;
    hd_plan_barrier *global = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const hdi_request *request = &r->item[items[i]];
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
                   hdi_join_barriers(to - 1, to, (res_flags[to->resource] & HDI_RES_BUFFER) != 0))
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
    recent seen = {.count = 0};
    for (uint32_t k = r->queue_point[queue]; k < r->queue_point[queue + 1]; k++) {
        const point *p = &r->point[k];
        uint32_t count = r->some_global ? drop_spared(r, p, &seen) : p->count, slot = slots[p->at / 2];
        if (count == 0)
            continue;
        uint32_t filled = fill_batch(r, r->items + p->begin, count, r->barrier + r->barrier_count);
        r->batch[r->batch_count] = (hd_plan_batch){r->first + r->barrier_count, filled};
        *(p->at & 1 ? &w->out->slot_post[slot] : &w->out->slot_pre[slot]) = r->first + r->batch_count++;
        r->barrier_count += filled;
    }
}

/* Points of the requests of one queue, which stand by their ends from items[begin] up to items[end]. */
static void choose_points(region *r, uint32_t queue, uint32_t begin, uint32_t end)
{
    point *first = &r->point[r->queue_point[queue]], *next = first;
    uint32_t floor = r->floor[queue], first_index = r->queue_point[queue];
    for (uint32_t i = begin; i < end; i++) {
        uint32_t index = r->items[i];
        const hdi_request *request = &r->item[index];
        uint32_t low = request->low > floor ? request->low : floor;
        if (request->order & HDI_FOLLOWS && r->point[r->of[index - 1]].at + 1 > low)
            low = r->point[r->of[index - 1]].at + 1;
        if (next == first || next[-1].at < low)
            *next++ = (point){.at = request->high};
        point *at = next - 1;
        while (request->order & HDI_EARLY && at > first && at[-1].at >= low)
            at--;
        r->of[index] = first_index + (uint32_t)(at - first);
        at->count++;
    }
    r->queue_point[queue + 1] = first_index + (uint32_t)(next - first);
}

/* Requests by the ends of their intervals, those of one end in their order, and their points. */
static void sort_and_choose(region *r, uint32_t places)
{
    uint32_t base[HD_MAX_QUEUES], queues = r->w->queues->count, sum = 0;
    for (uint32_t q = 0; q < queues; q++) {
        base[q] = sum - r->floor[q];
        sum += r->end[q] - r->floor[q];
    }
    memset(r->begin, 0, ((size_t)places + 1) * sizeof(*r->begin));
    for (uint32_t i = 0; i < r->count; i++)
        r->begin[base[r->item[i].queue] + r->item[i].high]++;
    sum = 0;
    for (uint32_t k = 0; k < places; k++) {
        sum += r->begin[k];
        r->begin[k] = sum;
    }
    r->begin[places] = sum;
    for (uint32_t i = r->count; i-- > 0;)
        r->items[--r->begin[base[r->item[i].queue] + r->item[i].high]] = i;
    r->queue_point[0] = 0;
    for (uint32_t q = 0; q < queues; q++)
        choose_points(r, q, r->begin[base[q] + r->floor[q]], r->begin[base[q] + r->end[q]]);
}

/* Requests by their points, those of a point in their order. */
static void sort_by_points(region *r)
{
    uint32_t points = r->queue_point[r->w->queues->count];
    for (uint32_t k = 0, sum = 0; k < points; k++) {
        r->point[k].begin = sum;
        sum += r->point[k].count;
        r->point[k].count = 0;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        point *p = &r->point[r->of[i]];
        r->items[p->begin + p->count++] = i;
        r->some_global |= r->item[i].global;
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
    hdi_arena *arena = w->hazards->region_count > 1 ? &w->crew->arena[part] : w->arena;
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
    r.batch = w->out->batch + r.first;
    r.barrier = w->out->barrier + r.first;
    r.batch_count = r.barrier_count = 0;
    r.some_global = false;
    sort_and_choose(&r, places);
    sort_by_points(&r);
    for (uint32_t q = 0; q < w->queues->count; q++)
        fill_points(&r, q);
    done->batch_count = r.batch_count;
    done->barrier_count = r.barrier_count;
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
