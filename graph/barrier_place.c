#include "barrier_requests.h"

#include <string.h>

#include "csr.h"
#include "vk_numbers.h"

/* Chooses the point of each barrier. Each asks for an interval of its queue; the fewest points that meet all intervals
 * are found by taking intervals by their ends and opening a new point, at the end, only where the newest one lies too
 * early (stabbing of intervals, optimal for one queue). Then barriers of one point become one command: global ones are
 * joined, image barriers of neighbouring segments with equal masks are joined. O(requests + slots).
 *
 * Each region of a long frame (schedule.c) chooses its points by itself, side by side, for the requests whose highest
 * point it has; lower ones before its begin are left out. */

void hdi_request_reserve(hdi_request_list *list, uint32_t capacity)
{
    hdi_request *fresh = HDI_ARENA_ARRAY(list->arena, hdi_request, capacity);
    if (!fresh)
        return;
    if (list->count)
        memcpy(fresh, list->item, list->count * sizeof(*fresh));
    list->item = fresh;
    list->capacity = capacity;
}

uint32_t hdi_request_add(hdi_request_list *list, const hdi_request *request)
{
    if (list->count == list->capacity)
        hdi_request_reserve(list, list->capacity ? 2 * list->capacity : 256);
    if (list->count == list->capacity)
        return HDI_NONE;
    list->item[list->count] = *request;
    return list->count++;
}

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

/* ---- barriers that others stand for ---- */

enum { RECENT = 16 };

/* The newest barriers of a queue. A record between the same two uses with wider masks does the work of another: for
 * execution any record, also an image's, as only its memory scope is confined to the image; for memory a global one. (A
 * write after reads asks for memory too: what the readers' layout transition did must be visible to it.) */
typedef struct recent {
    const hdi_request *item[RECENT];
    uint32_t point[RECENT];
    uint32_t count;
} recent;

static bool is_spared(const recent *seen, const hdi_request *r)
{
    if (r->seg != HDI_NONE || !r->src_stages)
        return false;
    hdi_scopes wanted = {r->src_stages, r->src_access, r->dst_stages, r->dst_access};
    uint32_t count = seen->count < RECENT ? seen->count : RECENT;
    for (uint32_t i = 0; i < count; i++) {
        const hdi_request *other = seen->item[i];
        hdi_scopes does = {other->src_stages, other->src_access, other->dst_stages, other->dst_access};
        if (seen->point[i] >= r->low && seen->point[i] <= r->high &&
            hdi_stands_for(&does, other->seg == HDI_NONE, &wanted))
            return true;
    }
    return false;
}

static void remember(recent *seen, const hdi_request *r, uint32_t point)
{
    if (r->src_family != r->dst_family)
        return;
    seen->item[seen->count % RECENT] = r;
    seen->point[seen->count++ % RECENT] = point;
}

/* Semaphores brought what happened before the request back to its own queue, by way of another one; for a request that
 * another one comes after, before its point. */
static bool came_round(const hdi_hazards *hazards, const hdi_synced *synced, const hdi_request *r, uint32_t point,
                       uint64_t *wait_stages)
{
    if (r->seg != HDI_NONE || r->dst_stages & HDI_STAGE_HOST)
        return false;
    const uint32_t *slots = &hazards->queue_slot[hazards->queue_begin[r->queue]];
    uint32_t last = (r->early ? point : r->high) / 2;
    if (2 * synced->slot_round[slots[last]] <= r->low)
        return false;
    uint32_t low = 0, high = last; /* the wait that brought it */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (2 * synced->slot_round[slots[middle]] > r->low)
            high = middle;
        else
            low = middle + 1;
    }
    hdi_count_on(&wait_stages[slots[low]], r->dst_stages);
    return true;
}

/* Keeps the items of a point that nothing stands for; returns how many. Images first: they are never dropped. */
static uint32_t drop_spared(const hdi_hazards *hazards, const hdi_synced *synced, const hdi_request *item,
                            uint32_t *items, uint32_t count, uint32_t point, recent *seen, uint64_t *wait_stages)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (item[items[i]].seg != HDI_NONE)
            remember(seen, &item[items[i]], point);
    }
    for (uint32_t i = 0; i < count; i++) {
        const hdi_request *r = &item[items[i]];
        if (is_spared(seen, r) || came_round(hazards, synced, r, point, wait_stages))
            continue;
        if (r->seg == HDI_NONE)
            remember(seen, r, point);
        items[kept++] = items[i];
    }
    return kept;
}

static void fill_batch(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_request *item,
                       const uint32_t *items, uint32_t item_count, hdi_barriers *out)
{
    hd_plan_batch *batch = &out->batch[out->batch_count++];
    batch->barrier_begin = out->barrier_count;
    uint32_t global = HDI_NONE;
    for (uint32_t i = 0; i < item_count; i++) {
        const hdi_request *r = &item[items[i]];
        if (r->seg == HDI_NONE && global != HDI_NONE) {
            hd_plan_barrier *b = &out->barrier[global];
            b->src_stages |= r->src_stages;
            b->src_access |= r->src_access;
            b->dst_stages |= r->dst_stages;
            b->dst_access |= r->dst_access;
            continue;
        }
        hd_plan_barrier *b = &out->barrier[out->barrier_count];
        *b = (hd_plan_barrier){.src_stages = r->src_stages,
                               .src_access = r->src_access,
                               .dst_stages = r->dst_stages,
                               .dst_access = r->dst_access,
                               .resource = HD_NONE,
                               .src_family = r->src_family,
                               .dst_family = r->dst_family,
                               .reason = r->reason,
                               .reason_pass = r->pass,
                               .reason_resource = r->res};
        if (r->seg == HDI_NONE) {
            global = out->barrier_count++;
            continue;
        }
        b->resource = frozen->seg_res[r->seg];
        b->old_layout = r->old_layout;
        b->new_layout = r->new_layout;
        b->range = hdi_seg_range(decl, frozen, r->seg);
        out->barrier_count++;
        bool is_buffer = (decl->res_flags[b->resource] & HDI_RES_BUFFER) != 0;
        while (out->barrier_count - batch->barrier_begin > 1 && hdi_join_barriers(b - 1, b, is_buffer)) {
            out->barrier_count--;
            b--;
        }
    }
    batch->barrier_count = out->barrier_count - batch->barrier_begin;
}

/* ---- regions ---- */

/* Points of each queue that lie in a region of the frame, and what is placed there. The point behind the last slot of the
 * region before is the first: a request and the one that it comes after, whose highest points are neighbours, are in one
 * region then. */
typedef struct region {
    uint32_t floor[HD_MAX_QUEUES], end[HD_MAX_QUEUES];
    hdi_request *item;
    uint32_t count, batch_begin, barrier_begin; /* begin: in the frame */
    hdi_barriers out;                           /* batches and barriers alone */
    uint32_t *batch_slot;                       /* 2 * slot, 1 more behind it */
    bool failed;
} region;

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_queues *queues;
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    const hdi_request_list *list;
    uint32_t list_count;
    const hdi_crew *crew;
    hdi_arena *arena;
    region *region;
    uint32_t *at; /* [list * regions + region]: how many requests it has there, then where the next one goes */
    hdi_barriers *out;
} work;

static void cut(const work *w, const hdi_merged *merged)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t regions = hazards->region_count;
    for (uint32_t q = 0; q < w->queues->count; q++) {
        const uint32_t *slots = &hazards->queue_slot[hazards->queue_begin[q]];
        uint32_t count = hazards->queue_begin[q + 1] - hazards->queue_begin[q], pos = 0;
        for (uint32_t k = 0; k < regions; k++) {
            while (pos < count && (slots[pos] < hazards->region_begin[k] ||
                                   (merged->slot_first && merged->slot_first[slots[pos]] != pos)))
                pos++;
            w->region[k].floor[q] = pos ? 2 * pos - 1 : 0;
            if (k)
                w->region[k - 1].end[q] = w->region[k].floor[q];
        }
        w->region[regions - 1].end[q] = 2 * count;
    }
}

/* Where the highest point of a request lies. */
static uint32_t region_of(const work *w, const hdi_request *r)
{
    uint32_t low = 0, high = w->hazards->region_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(w->region[middle].floor[r->queue] <= r->high ? &low : &high) = middle;
    }
    return low;
}

static void count_requests(uint32_t part, void *user)
{
    const work *w = user;
    const hdi_request_list *list = &w->list[part];
    uint32_t *count = &w->at[(size_t)part * w->hazards->region_count];
    for (uint32_t i = 0; i < list->count; i++)
        count[region_of(w, &list->item[i])]++;
}

static void move_requests(uint32_t part, void *user)
{
    const work *w = user;
    const hdi_request_list *list = &w->list[part];
    uint32_t *at = &w->at[(size_t)part * w->hazards->region_count];
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t k = region_of(w, &list->item[i]), to = at[k]++;
        w->region[k].item[to] = list->item[i];
        if (list->item[i].after != HDI_NONE) /* that is the one before */
            w->region[k].item[to].after = to - 1;
    }
}

/* Requests by regions, in the order of the lists. */
static bool share_out(work *w)
{
    uint32_t regions = w->hazards->region_count, total = 0;
    if (regions == 1 && w->list_count == 1) {
        w->region->item = w->list->item;
        w->region->count = w->list->count;
        return true;
    }
    /* Out of the way of what is kept, which would have to move up otherwise. */
    hdi_arena *aside = regions > 1 ? &w->crew->arena[HDI_MOST_PARTS - 1] : w->arena;
    w->at = HDI_ARENA_ZEROED(aside, uint32_t, (size_t)w->list_count * regions);
    if (!w->at)
        return false;
    hdi_crew_parts(w->crew, w->list_count, count_requests, w);
    for (uint32_t k = 0; k < regions; k++) {
        for (uint32_t l = 0; l < w->list_count; l++) {
            uint32_t *at = &w->at[(size_t)l * regions + k], count = *at;
            *at = w->region[k].count;
            w->region[k].count += count;
        }
        total += w->region[k].count;
    }
    hdi_request *item = HDI_ARENA_ARRAY(aside, hdi_request, total);
    for (uint32_t k = 0; item && k < regions; k++) {
        w->region[k].item = item;
        item += w->region[k].count;
    }
    if (item)
        hdi_crew_parts(w->crew, w->list_count, move_requests, w);
    return item != NULL;
}

/* stack: room for the points of one queue. */
static void choose_points(const region *r, uint32_t queue, const uint32_t *by_high, uint32_t count, uint32_t *point,
                          uint32_t *stack)
{
    uint32_t top = 0;
    for (uint32_t i = 0; i < count; i++) {
        const hdi_request *request = &r->item[by_high[i]];
        uint32_t low = request->low > r->floor[queue] ? request->low : r->floor[queue];
        if (request->after != HDI_NONE && point[request->after] + 1 > low)
            low = point[request->after] + 1;
        if (top == 0 || stack[top - 1] < low)
            stack[top++] = request->high;
        uint32_t at = top - 1;
        while (request->early && at > 0 && stack[at - 1] >= low)
            at--;
        point[by_high[i]] = stack[at];
    }
}

/* Barriers of the points of one queue; begin: where the items of each begin. */
static void fill_points(const work *w, region *r, uint32_t queue, const uint32_t *begin, uint32_t *items, bool some_global)
{
    const uint32_t *slots = &w->hazards->queue_slot[w->hazards->queue_begin[queue]];
    recent seen = {.count = 0};
    for (uint32_t point = r->floor[queue]; point < r->end[queue]; point++, begin++) {
        uint32_t count = begin[1] - begin[0];
        if (count && some_global)
            count = drop_spared(w->hazards, w->synced, r->item, items + begin[0], count, point, &seen,
                                w->out->slot_wait_stages);
        if (count == 0)
            continue;
        r->batch_slot[r->out.batch_count] = 2 * slots[point / 2] + (point & 1);
        fill_batch(w->decl, w->frozen, r->item, items + begin[0], count, &r->out);
    }
}

static void place_region(uint32_t part, void *user)
{
    const work *w = user;
    region *r = &w->region[part];
    hdi_arena *arena = w->hazards->region_count > 1 ? &w->crew->arena[part] : w->arena;
    uint32_t n = r->count, points = 0, base[HD_MAX_QUEUES + 1];
    bool some_global = false;
    for (uint32_t q = 0; q < w->queues->count; q++) {
        base[q] = points;
        points += r->end[q] - r->floor[q];
    }
    base[w->queues->count] = points;
    r->out.batch = HDI_ARENA_ARRAY(arena, hd_plan_batch, n);
    r->out.barrier = HDI_ARENA_ARRAY(arena, hd_plan_barrier, n);
    r->batch_slot = HDI_ARENA_ARRAY(arena, uint32_t, n);
    uint32_t *key = HDI_ARENA_ARRAY(arena, uint32_t, n), *point = HDI_ARENA_ARRAY(arena, uint32_t, n);
    uint32_t *stack = HDI_ARENA_ARRAY(arena, uint32_t, n), *items = HDI_ARENA_ARRAY(arena, uint32_t, n);
    uint32_t *begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)points + 1);
    r->failed = arena->failed;
    if (r->failed)
        return;
    for (uint32_t i = 0; i < n; i++) {
        key[i] = base[r->item[i].queue] + r->item[i].high - r->floor[r->item[i].queue];
        some_global |= r->item[i].seg == HDI_NONE;
    }
    hdi_csr_build(key, n, points, begin, items);
    for (uint32_t q = 0; q < w->queues->count; q++)
        choose_points(r, q, items + begin[base[q]], begin[base[q + 1]] - begin[base[q]], point, stack);
    for (uint32_t i = 0; i < n; i++)
        key[i] = base[r->item[i].queue] + point[i] - r->floor[r->item[i].queue];
    hdi_csr_build(key, n, points, begin, items);
    for (uint32_t q = 0; q < w->queues->count; q++)
        fill_points(w, r, q, begin + base[q], items, some_global);
}

/* To where they stand in the frame. */
static void write_out(uint32_t part, void *user)
{
    const work *w = user;
    const region *r = &w->region[part];
    for (uint32_t b = 0; b < r->out.batch_count; b++) {
        hd_plan_batch batch = r->out.batch[b];
        w->out->batch[r->batch_begin + b] =
            (hd_plan_batch){r->barrier_begin + batch.barrier_begin, batch.barrier_count};
        uint32_t slot = r->batch_slot[b] / 2;
        *(r->batch_slot[b] & 1 ? &w->out->slot_post[slot] : &w->out->slot_pre[slot]) = r->batch_begin + b;
    }
    if (r->out.barrier_count)
        memcpy(w->out->barrier + r->barrier_begin, r->out.barrier, r->out.barrier_count * sizeof(*r->out.barrier));
}

hd_result hdi_place_barriers(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues,
                             const hdi_hazards *hazards, const hdi_synced *synced, const hdi_merged *merged,
                             const hdi_request_list *list, uint32_t list_count, const hdi_crew *crew, hdi_arena *arena,
                             hdi_barriers *out)
{
    work w = {decl, frozen, queues, hazards, synced, list, list_count, crew, arena, NULL, NULL, out};
    uint32_t regions = hazards->region_count;
    w.region = hdi_arena_zeroed(arena, regions, sizeof(*w.region));
    out->slot_pre = HDI_ARENA_ARRAY(arena, uint32_t, hazards->slot_count);
    out->slot_post = HDI_ARENA_ARRAY(arena, uint32_t, hazards->slot_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    cut(&w, merged);
    if (!share_out(&w))
        return HD_OUT_OF_MEMORY;
    hdi_crew_parts(crew, regions, place_region, &w);
    out->batch_count = out->barrier_count = 0;
    for (uint32_t k = 0; k < regions; k++) {
        region *r = &w.region[k];
        if (r->failed)
            return HD_OUT_OF_MEMORY;
        r->batch_begin = out->batch_count;
        r->barrier_begin = out->barrier_count;
        out->batch_count += r->out.batch_count;
        out->barrier_count += r->out.barrier_count;
    }
    bool moves = regions > 1;
    out->batch = moves ? HDI_ARENA_ARRAY(arena, hd_plan_batch, out->batch_count) : w.region->out.batch;
    out->barrier = moves ? HDI_ARENA_ARRAY(arena, hd_plan_barrier, out->barrier_count) : w.region->out.barrier;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    memset(out->slot_pre, 0xff, hazards->slot_count * sizeof(*out->slot_pre));
    memset(out->slot_post, 0xff, hazards->slot_count * sizeof(*out->slot_post));
    hdi_crew_parts(crew, regions, write_out, &w);
    return HD_OK;
}
