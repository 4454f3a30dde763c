#include "barrier_requests.h"

#include <string.h>

#include "hints.h"

/* Chooses the point of each barrier. Each asks for an interval of its queue; the fewest points that meet all intervals
 * are found by taking intervals by their ends and opening a new point, at the end, only where the newest one lies too
 * early for one of them (stabbing of intervals, optimal for one queue): places are walked, by the highest low of each,
 * so that intervals need not be sorted. Then barriers of one point become one command: global ones are joined, image
 * barriers of neighbouring segments with equal masks are joined. O(requests + slots).
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

enum { RECENT = 16, RECENT_ROOM = 32 }; /* room: for the next one, too, which is written before it is one of them */

/* The newest barriers of a queue. A record between the same two uses with wider masks does the work of another: for
 * execution any record, also an image's, as only its memory scope is confined to the image; for memory a global one. (A
 * write after reads asks for memory too: what the readers' layout transition did must be visible to it.) So only global
 * ones are kept at hand, with how many there were before. Transfers do no work for others, and do not count. */
typedef struct recent {
    hdi_scopes does;
    uint32_t at, number;
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
    hdi_spot *spot; /* of each place */
} work;

/* Requests of a point, and from COUNT_IMAGE on those that are neither global nor transfers of ownership. */
typedef uint64_t counts;
#define COUNT_IMAGE (UINT64_C(1) << 32)

typedef struct region {
    const work *w;
    const uint32_t *floor, *end; /* points of each queue */
    const hdi_request *item;
    const uint32_t *order; /* items of the region, in the order of the lists; null: as they stand */
    uint32_t count;
    uint32_t *of;     /* like order: the point of each */
    uint32_t *at;     /* of each point, one queue behind another: where it is */
    counts *counts;   /* of each point */
    uint8_t *kinds;   /* of each point: of any of its requests */
    uint32_t *begin;  /* of each point: where its items begin in `placed` */
    uint32_t *placed; /* items of the points, one point behind another: what the plan finds there in the end */
    uint32_t queue_point[HD_MAX_QUEUES + 1]; /* the first point of each queue */
    uint32_t first, first_batch;             /* in the frame; there are no more batches than places */
} region;

/* Where the points of a queue are filled. */
typedef struct filler {
    const region *r;
    const work *w;
    const hdi_request *item;
    uint32_t *placed;
    const hd_plan_barrier *barrier; /* null: they are asked for */
    const uint32_t *slots, *round;  /* slots: of the queue */
    uint32_t base, first;           /* its first place and its first point */
    uint32_t count, passed;         /* of global barriers that were kept, and of all */
    uint32_t end;                   /* behind the point of the newest global one; 0: there is none */
    recent recent[RECENT_ROOM];
} filler;

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
 * of the queue up to the last one, from the lowest point on that will do. */
static HDI_APART bool is_ordered(const filler *f, uint32_t last, uint32_t low, const hdi_scopes *wanted)
{
    const region *r = f->r;
    for (uint32_t looked = 0, p = last + 1; p-- > f->first && r->at[p] >= low;) {
        for (uint32_t i = r->begin[p] + (uint32_t)r->counts[p]; i-- > r->begin[p];) {
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
static HDI_INLINE bool is_spared(const filler *f, uint32_t low, uint32_t high, const hdi_scopes *wanted)
{
    for (uint32_t i = f->count; i > 0 && f->count - i < RECENT; i--) {
        const recent *r = &f->recent[(i - 1) % RECENT_ROOM];
        if (r->at < low || r->number + RECENT < f->passed)
            return false;
        if (r->at <= high && hdi_stands_for(&r->does, wanted))
            return true;
    }
    return false;
}

/* Stages count on the wait that brought so many slots of its own queue back to it: at `high` at the latest. */
static HDI_APART void count_on_round(const filler *f, uint32_t behind, uint32_t high, uint64_t stages)
{
    const uint32_t *slots = f->slots, *round = f->round;
    uint32_t low = 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (2 * round[slots[middle]] > behind)
            high = middle;
        else
            low = middle + 1;
    }
    hdi_count_on(&f->w->out->slot_wait_stages[slots[low]], stages, f->w->crew->workers == 1);
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

/* Keeps a global one of a point, unless something stands for it. Semaphores may have brought what happened before it
 * back to its own queue, by way of another one; of one that another comes after, before its point. */
static HDI_INLINE bool keep_global(filler *f, uint32_t item, uint32_t p, uint32_t at, bool whole)
{
    const hdi_request *request = &f->item[item];
    recent *r = &f->recent[f->count % RECENT_ROOM];
    uint32_t low = request->low, high = request->place - f->base;
    if (whole) /* in one go, as they mostly are not looked at */
        memcpy(&r->does, &f->barrier[item].src_stages, sizeof(r->does));
    else
        r->does = scopes_of(f->w, item);
    if (HDI_LIKELY(r->does.src_stages)) {
        if (low < f->end && is_spared(f, low, high, &r->does))
            return false;
        if (HDI_UNLIKELY(!(r->does.src_access | r->does.dst_access)) && is_ordered(f, p, low, &r->does))
            return false;
    }
    uint32_t last = (request->kind & HDI_EARLY ? at : high) / 2;
    if (2 * f->round[f->slots[last]] > low && !(r->does.dst_stages & HDI_STAGE_HOST)) {
        count_on_round(f, low, last, r->does.dst_stages);
        return false;
    }
    r->at = at;
    r->number = f->passed++;
    f->count++;
    f->end = at + 1;
    return true;
}

/* Joins the global ones of each point that nothing stands for, and drops the others. Images of a point count first:
 * they are never dropped. */
static HDI_INLINE void drop_spared(filler *f, uint32_t first, uint32_t end, bool whole)
{
    const region *r = f->r;
    for (uint32_t p = first; p < end; p++) {
        counts of = r->counts[p];
        f->passed += (uint32_t)(of / COUNT_IMAGE);
        if (!(r->kinds[p] & HDI_GLOBAL))
            continue;
        uint32_t at = r->at[p], global = HDI_NONE;
        uint32_t *begin = f->placed + r->begin[p], *kept = begin;
        for (uint32_t *next = begin, *behind = begin + (uint32_t)of; next < behind; next++) {
            uint32_t item = *next;
            *kept = item;
            if (!(f->item[item].kind & HDI_GLOBAL)) {
                kept++;
            } else if (keep_global(f, item, p, at, whole)) {
                if (global == HDI_NONE) {
                    global = item;
                    kept++;
                } else {
                    join_global(f->w->out, global, item, f->recent[(f->count - 1) % RECENT_ROOM].does);
                }
            }
        }
        r->counts[p] = (uint32_t)(kept - begin);
    }
}

static HDI_APART HDI_SCALAR void drop_spared_whole(filler *f, uint32_t first, uint32_t end)
{
    drop_spared(f, first, end, true);
}

static HDI_APART HDI_SCALAR void drop_spared_asked(filler *f, uint32_t first, uint32_t end)
{
    drop_spared(f, first, end, false);
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
static HDI_APART uint32_t join_parts(const region *r, uint32_t *placed, uint32_t count)
{
    const hdi_request *item = r->item;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
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
static HDI_SCALAR void fill_points(const region *r, uint32_t queue, written *done)
{
    const work *w = r->w;
    const uint32_t *begin = r->begin;
    uint32_t *place_batch = w->out->place_batch + 2 * (size_t)w->hazards->queue_begin[queue];
    hd_plan_batch *batch = w->out->batch;
    uint32_t next_batch = r->first_batch + done->batch_count, barriers = 0;
    uint32_t first = r->queue_point[queue], end = r->queue_point[queue + 1];
    filler f;
    f.r = r;
    f.w = w;
    f.item = r->item;
    f.placed = r->placed;
    f.barrier = w->out->barrier;
    f.slots = &w->hazards->queue_slot[w->hazards->queue_begin[queue]];
    f.round = w->synced->slot_round;
    f.base = 2 * w->hazards->queue_begin[queue];
    f.first = first;
    f.count = f.passed = f.end = 0;
    (f.barrier ? drop_spared_whole : drop_spared_asked)(&f, first, end);
    for (uint32_t p = first; p < end; p++) {
        uint32_t count = (uint32_t)r->counts[p], at = r->at[p];
        if (r->kinds[p] & HDI_SEVERAL)
            count = join_parts(r, r->placed + begin[p], count);
        if (count == 0)
            continue;
        batch[next_batch] = (hd_plan_batch){r->first + begin[p], count};
        place_batch[at] = next_batch++;
        barriers += count;
    }
    done->barrier_count += barriers;
    done->batch_count = next_batch - r->first_batch;
}

/* The item that is the i-th of the region. stand: they are in order as they stand. */
static HDI_INLINE uint32_t item_of(const region *r, uint32_t i, bool stand)
{
    return stand ? i : r->order[i];
}

/* The earliest of the points of a queue up to the newest one that will do. */
static HDI_INLINE uint32_t earliest_point(const region *r, uint32_t first, uint32_t newest, uint32_t low)
{
    while (newest > first && r->at[newest - 1] >= low)
        newest--;
    return newest;
}

/* The points of a queue: by the highest low of each place. */
static HDI_INLINE void open_points(region *r, uint32_t queue)
{
    uint32_t first = r->queue_point[queue], next = first, behind = 0; /* the newest point */
    hdi_spot *of = r->w->spot + 2 * r->w->hazards->queue_begin[queue];
    for (uint32_t at = r->floor[queue], end = r->end[queue]; at < end; at++) {
        uint32_t above = of[at].above;
        if (HDI_UNLIKELY(of[at].number)) { /* the later what is followed must stand, the later it does */
            uint32_t follows = r->at[earliest_point(r, first, next - 1, of[at].number - 1)] + 2;
            above = follows > above ? follows : above;
        }
        bool is_new = above > behind; /* which cannot be foreseen: it is written where the next one will stand */
        r->at[next] = at;
        of[at] = (hdi_spot){behind, next - 1};
        next += is_new;
        behind = is_new ? at + 1 : behind;
    }
    r->queue_point[queue + 1] = next;
}

/* The first point of the queue that a place is of. */
static HDI_APART uint32_t first_point(const region *r, uint32_t place)
{
    const uint32_t *queue_begin = r->w->hazards->queue_begin;
    uint32_t q = 0;
    while (place >= 2 * queue_begin[q + 1])
        q++;
    return r->queue_point[q];
}

/* Of requests of one place, those before the one that opens its point have the one before. */
static HDI_INLINE uint32_t take_point(hdi_spot *s, uint32_t low)
{
    uint32_t above = s->above, opens = above <= low, k = s->number + opens;
    *s = (hdi_spot){opens ? UINT32_MAX : above, k};
    return k;
}

static HDI_INLINE void choose_points(region *r, bool stand)
{
    static const counts one[] = {1 | COUNT_IMAGE, 1, 1 | COUNT_IMAGE, 1, 1, 1, 1, 1}; /* by kinds from GLOBAL on */
    _Static_assert(HDI_GLOBAL == 4 && HDI_SEVERAL == 8 && HDI_MOVES == 16, "they count those");
    const hdi_request *item = r->item;
    uint32_t *of = r->of, count = r->count;
    counts *sums = r->counts;
    uint8_t *kinds = r->kinds;
    hdi_spot *spots = r->w->spot;
    for (uint32_t i = 0; i < count; i++) {
        const hdi_request *request = &item[item_of(r, i, stand)];
        uint32_t kind = request->kind, k;
        hdi_spot *s = &spots[request->place];
        if (HDI_LIKELY(!(kind & (HDI_EARLY | HDI_FOLLOWS)))) {
            k = take_point(s, request->low);
        } else {
            uint32_t follows = kind & HDI_FOLLOWS ? r->at[of[i - 1]] + 1 : 0;
            k = take_point(s, request->low > follows ? request->low : follows);
            if (kind & HDI_EARLY)
                k = earliest_point(r, first_point(r, request->place), k, request->low);
        }
        of[i] = k;
        kinds[k] |= (uint8_t)kind;
        sums[k] += one[kind / HDI_GLOBAL];
    }
}

/* Where they were not noted when requests were. */
static HDI_INLINE void note_lows(region *r, bool stand)
{
    const hdi_request *item = r->item;
    const uint32_t *queue_begin = r->w->hazards->queue_begin;
    hdi_spot *spots = r->w->spot;
    for (uint32_t q = 0; q < r->w->queues->count; q++)
        memset(spots + 2 * queue_begin[q] + r->floor[q], 0, (r->end[q] - r->floor[q]) * sizeof(*spots));
    for (uint32_t i = 0; i < r->count; i++) {
        const hdi_request *request = &item[item_of(r, i, stand)];
        hdi_note_low(&spots[request->place], request->low);
        if (HDI_UNLIKELY(request->kind & HDI_FOLLOWS))
            hdi_note_followed(&spots[request->place], request[-1].low);
    }
}

/* Points by the ends of intervals, and the point of each request. */
static HDI_INLINE void find_points(region *r, bool stand)
{
    uint32_t queues = r->w->queues->count;
    if (!r->w->out->barrier)
        note_lows(r, stand);
    r->queue_point[0] = 0;
    for (uint32_t q = 0; q < queues; q++)
        open_points(r, q);
    memset(r->counts, 0, r->queue_point[queues] * sizeof(*r->counts));
    memset(r->kinds, 0, r->queue_point[queues] * sizeof(*r->kinds));
    choose_points(r, stand);
}

/* Requests by their points, those of a point in their order. */
static HDI_INLINE void sort_by_points(region *r, bool stand)
{
    const uint32_t *of = r->of;
    uint32_t points = r->queue_point[r->w->queues->count];
    uint32_t *placed = r->placed, *begin = r->begin;
    for (uint32_t k = 0, sum = 0; k < points; k++)
        begin[k] = sum += (uint32_t)r->counts[k];
    for (uint32_t i = r->count; i-- > 0;)
        placed[--begin[of[i]]] = item_of(r, i, stand);
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
    region r;
    r.w = w;
    r.floor = w->region[part].floor;
    r.end = w->region[part].end;
    r.first_batch = 0;
    for (uint32_t q = 0; q < w->queues->count; q++)
        r.first_batch += r.floor[q];
    r.item = w->requests->item;
    collect(&r, part, arena);
    r.of = HDI_ARENA_ARRAY(arena, uint32_t, r.count);
    r.begin = HDI_ARENA_ARRAY(arena, uint32_t, r.count);
    r.at = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)r.count + 1);
    r.counts = HDI_ARENA_ARRAY(arena, counts, r.count);
    r.kinds = HDI_ARENA_ARRAY(arena, uint8_t, r.count);
    r.placed = w->out->order + r.first;
    done->failed = arena->failed;
    if (done->failed)
        return;
    if (r.order) {
        find_points(&r, false);
        sort_by_points(&r, false);
    } else {
        find_points(&r, true);
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
    work w = {decl,    frozen,   hazards->kind, out->made, queues, hazards, synced,
              regions, requests, crew,          arena,     done,   out,     requests->spot};
    if (!w.spot)
        w.spot = HDI_EARLY_ARRAY(crew, arena, hdi_spot, 2 * (size_t)hazards->slot_count);
    if (!w.spot)
        return HD_OUT_OF_MEMORY;
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
