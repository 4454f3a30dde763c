#include "barrier_requests.h"

#include <string.h>

#include "csr.h"
#include "vk_numbers.h"

/* Chooses the point of each barrier. Each asks for an interval of its queue; the fewest points that meet all intervals
 * are found by taking intervals by their ends and opening a new point, at the end, only where the newest one lies too
 * early (stabbing of intervals, optimal for one queue). Then barriers of one point become one command: global ones are
 * joined, image barriers of neighbouring segments with equal masks are joined. O(requests + slots). */

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
    list->global_count += request->seg == HDI_NONE;
    list->item[list->count] = *request;
    return list->count++;
}

/* stack: room for the points of one queue. */
static void choose_points(const hdi_queues *queues, const hdi_hazards *hazards, const hdi_request_list *list,
                          const uint32_t *begin, const uint32_t *by_high, uint32_t *point, uint32_t *stack)
{
    for (uint32_t q = 0; q < queues->count; q++) {
        uint32_t count = 0;
        for (uint32_t i = begin[2 * hazards->queue_begin[q]]; i < begin[2 * hazards->queue_begin[q + 1]]; i++) {
            const hdi_request *request = &list->item[by_high[i]];
            uint32_t low = request->low;
            if (request->after != HDI_NONE && point[request->after] + 1 > low)
                low = point[request->after] + 1;
            if (count == 0 || stack[count - 1] < low)
                stack[count++] = request->high;
            uint32_t at = count - 1;
            while (request->early && at > 0 && stack[at - 1] >= low)
                at--;
            point[by_high[i]] = stack[at];
        }
    }
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
    wait_stages[slots[low]] |= r->dst_stages;
    return true;
}

/* Keeps the items of a point that nothing stands for; returns how many. Images first: they are never dropped. */
static uint32_t drop_spared(const hdi_hazards *hazards, const hdi_synced *synced, const hdi_request_list *list,
                            uint32_t *items, uint32_t count, uint32_t point, recent *seen, uint64_t *wait_stages)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (list->item[items[i]].seg != HDI_NONE)
            remember(seen, &list->item[items[i]], point);
    }
    for (uint32_t i = 0; i < count; i++) {
        const hdi_request *r = &list->item[items[i]];
        if (is_spared(seen, r) || came_round(hazards, synced, r, point, wait_stages))
            continue;
        if (r->seg == HDI_NONE)
            remember(seen, r, point);
        items[kept++] = items[i];
    }
    return kept;
}

static void fill_batch(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_request_list *list,
                       const uint32_t *items, uint32_t item_count, hdi_barriers *out)
{
    hd_plan_batch *batch = &out->batch[out->batch_count++];
    batch->barrier_begin = out->barrier_count;
    uint32_t global = HDI_NONE;
    for (uint32_t i = 0; i < item_count; i++) {
        const hdi_request *r = &list->item[items[i]];
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

hd_result hdi_place_barriers(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_queues *queues,
                             const hdi_hazards *hazards, const hdi_synced *synced, const hdi_request_list *list,
                             hdi_arena *arena, hdi_barriers *out)
{
    uint32_t points = 2 * hazards->slot_count, n = list->count;
    uint32_t *key = HDI_ARENA_ARRAY(arena, uint32_t, n), *point = HDI_ARENA_ARRAY(arena, uint32_t, n);
    uint32_t *stack = HDI_ARENA_ARRAY(arena, uint32_t, n);
    uint32_t *begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)points + 1), *items = HDI_ARENA_ARRAY(arena, uint32_t, n);
    out->slot_pre = HDI_ARENA_ARRAY(arena, uint32_t, hazards->slot_count);
    out->slot_post = HDI_ARENA_ARRAY(arena, uint32_t, hazards->slot_count);
    out->batch = HDI_ARENA_ARRAY(arena, hd_plan_batch, n);
    out->barrier = HDI_ARENA_ARRAY(arena, hd_plan_barrier, n);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    out->batch_count = out->barrier_count = 0;
    for (uint32_t i = 0; i < n; i++)
        key[i] = 2 * hazards->queue_begin[list->item[i].queue] + list->item[i].high;
    hdi_csr_build(key, n, points, begin, items);
    choose_points(queues, hazards, list, begin, items, point, stack);
    for (uint32_t i = 0; i < n; i++)
        key[i] = 2 * hazards->queue_begin[list->item[i].queue] + point[i];
    hdi_csr_build(key, n, points, begin, items);
    recent seen = {.count = 0};
    for (uint32_t p = 0, queue = 0; p < points; p++) {
        uint32_t slot = hazards->queue_slot[p / 2];
        uint32_t *batch = p & 1 ? &out->slot_post[slot] : &out->slot_pre[slot];
        *batch = HDI_NONE;
        if (hazards->slot_queue[slot] != queue) {
            queue = hazards->slot_queue[slot];
            seen.count = 0;
        }
        uint32_t count = begin[p + 1] - begin[p];
        if (count && list->global_count)
            count = drop_spared(hazards, synced, list, items + begin[p], count, p - 2 * hazards->queue_begin[queue], &seen,
                                 out->slot_wait_stages);
        if (count == 0)
            continue;
        *batch = out->batch_count;
        fill_batch(decl, frozen, list, items + begin[p], count, out);
    }
    return HD_OK;
}
