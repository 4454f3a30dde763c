#include "barrier_work.h"

#include <string.h>

/* Chooses the point of each barrier. Each asks for an interval of its queue; the fewest points that meet all intervals
 * are found by taking them by their ends and opening a new point, at the end, only where the newest one lies too early
 * (stabbing of intervals, optimal for one queue). Steps in the order of their slots and events in between come by their
 * ends on each queue, so a point is chosen at once. Global barriers of a point are one, and one whose work another one
 * does is left out; those of parts of an image that stand side by side are joined. O(barriers). */

typedef hdi_barrier_work work;
typedef hdi_walker walker;
typedef hdi_lane lane;
typedef hdi_point point;

/* ---- chunks ---- */

void hdi_begin_writer(hdi_barrier_writer *to, const hdi_barrier_work *w, uint32_t chunk, hdi_arena *arena)
{
    size_t bytes = w->parts ? sizeof(hdi_record_chunk) : offsetof(hdi_record_chunk, corners);
    *to = (hdi_barrier_writer){
        .chunk_bytes = bytes, .number = chunk * HDI_CHUNK_RECORDS, .out = w->out, .arena = arena};
    hdi_next_chunk(to);
}

/* Without memory what is in the last one is overwritten. */
void hdi_next_chunk(hdi_barrier_writer *to)
{
    hdi_record_chunk *chunk = hdi_arena_alloc(to->arena, to->chunk_bytes);
    to->failed |= !chunk;
    if (!chunk && to->next) {
        to->number -= HDI_CHUNK_RECORDS;
        to->next -= HDI_CHUNK_RECORDS;
        return;
    }
    to->out->chunk[to->number / HDI_CHUNK_RECORDS] = chunk;
    to->next = chunk ? chunk->record : NULL;
    to->chunk = chunk;
    to->chunk_end = to->number + HDI_CHUNK_RECORDS;
}

/* ---- points ---- */

/* The oldest point of an interval that others come after, or a new one. */
static HDI_APART uint32_t find_early(walker *k, lane *l, uint32_t low, uint32_t high)
{
    uint32_t *link = &l->newest;
    while (*link && k->point[*link - 1].at > high)
        link = &k->point[*link - 1].before;
    if (!*link || k->point[*link - 1].at < low) {
        if (link == &l->newest) {
            l->newest_end = high + 1;
            l->said = 0;
        }
        *link = hdi_add_point(k, high, *link);
    }
    uint32_t p = *link;
    while (k->point[p - 1].before && k->point[k->point[p - 1].before - 1].at >= low)
        p = k->point[p - 1].before;
    return p;
}

/* ---- parts that become one ---- */

static bool join_ranges(hd_range *a, const hd_range *b)
{
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

/* Transfers of ownership are never joined: release and acquire must name the same range. */
static bool join_records(const walker *k, uint32_t first, uint32_t second)
{
    const hdi_record *a = hdi_record_at(k->to.out, first), *b = hdi_record_at(k->to.out, second);
    struct hdi_corners *to = hdi_corners_at(k->to.out, first), *from = hdi_corners_at(k->to.out, second);
    if (a->old_layout != b->old_layout || a->new_layout != b->new_layout ||
        a->src_family != HD_NONE || a->src_stages != b->src_stages || a->src_access != b->src_access ||
        a->dst_stages != b->dst_stages || a->dst_access != b->dst_access)
        return false;
    hd_range range = hdi_corners_range(k->w->frozen, to),
             other = hdi_corners_range(k->w->frozen, from);
    if (!join_ranges(&range, &other))
        return false;
    to->last_seg = from->last_seg;
    return true;
}

/* A barrier of the point that another one can be joined with: one of the newest. 1 + its number; 0: none. */
static uint32_t find_join(const walker *k, uint32_t newest, uint32_t number)
{
    enum { LOOK_BACK = 8 };
    uint32_t looked = 0, resource = hdi_record_at(k->to.out, number)->resource;
    for (uint32_t b = newest; b && looked++ < LOOK_BACK;) {
        const hdi_record_chunk *chunk = k->to.out->chunk[(b - 1) / HDI_CHUNK_RECORDS];
        uint32_t at = (b - 1) % HDI_CHUNK_RECORDS;
        if (chunk->record[at].resource == resource && join_records(k, b - 1, number)) /* mostly it is of another one */
            return b;
        b = chunk->older[at];
    }
    return 0;
}

/* What it is joined with may be joined with the one before. */
bool hdi_join_parts(hdi_walker *k, hdi_point *p, uint32_t number)
{
    uint32_t with = find_join(k, p->newest, number);
    const bool joined = with != 0;
    while (with && with == p->newest) {
        uint32_t older = *hdi_older_record(k->to.out, with - 1);
        with = find_join(k, older, p->newest - 1);
        if (with) {
            p->newest = older;
            p->count--;
            k->barrier_count--;
        }
    }
    return joined;
}

/* ---- global barriers ---- */

/* Stages that those of a first scope wait for as well: the logically earlier ones of their pipeline; or of a second
 * scope, the later ones. Groups of stages count as they are, but for ALL_COMMANDS. */
static HDI_APART uint64_t reach(uint64_t stages, bool back)
{
    /* DRAW_INDIRECT, INDEX_INPUT, VERTEX_ATTRIBUTE_INPUT, VERTEX, TESSELLATION_CONTROL, TESSELLATION_EVALUATION,
     * GEOMETRY, TRANSFORM_FEEDBACK, FRAGMENT_SHADING_RATE, EARLY, FRAGMENT, LATE, COLOR_OUTPUT; COMPUTE comes behind
     * the first. */
    static const uint8_t graphics[] = {1, 36, 37, 3, 4, 5, 6, 24, 22, 8, 7, 9, 10};
    enum { COUNT = sizeof(graphics), INDIRECT = 1 << 1, COMPUTE = 1 << 11 };
    uint64_t out = stages, so_far = 0;
    if (stages & HDI_STAGE_ALL_COMMANDS)
        return stages | ~(uint64_t)HDI_STAGE_HOST;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t bit = UINT64_C(1) << graphics[back ? i : COUNT - 1 - i];
        so_far |= bit;
        out |= stages & bit ? so_far : 0;
    }
    if (back && stages & COMPUTE)
        out |= INDIRECT;
    if (!back && stages & INDIRECT)
        out |= COMPUTE;
    return out;
}

/* Whether a barrier that stands where another one could stand brings its order: any does, also an image's, as only its
 * memory scope is confined to the image. */
static bool orders(const hdi_scopes *a, const hdi_scopes *wanted)
{
    return !(wanted->src_stages & ~reach(a->src_stages, true)) && !(wanted->dst_stages & ~reach(a->dst_stages, false));
}

/* Whether a global one does all of its work: memory scopes are of the stages that are named alone. */
static HDI_INLINE bool stands_for(const hdi_scopes *a, const hdi_scopes *wanted)
{
    return !(wanted->src_stages & ~a->src_stages) && !(wanted->dst_stages & ~a->dst_stages) &&
           !(wanted->src_access & ~a->src_access) && !(wanted->dst_access & ~a->dst_access);
}

/* Whether it makes available what another one is to flush for a barrier that comes behind that: which only has to chain
 * with it. */
static HDI_APART bool flushes(const hdi_scopes *a, const hdi_scopes *wanted)
{
    return !(wanted->src_stages & ~a->src_stages) && !(wanted->src_access & ~a->src_access) &&
           reach(a->dst_stages, false) & reach(wanted->dst_stages, true);
}

/* A point where one of the newest global barriers does the work of another one, HDI_NONE: none. */
static HDI_INLINE uint32_t find_spare(const lane *l, const hdi_scopes *wanted, uint32_t low, uint32_t high, bool early)
{
    uint32_t least = l->recent_count < HDI_RECENT ? 0 : l->recent_count - HDI_RECENT;
    for (uint32_t i = l->recent_count; i-- > least;) {
        const struct hdi_recent *r = &l->recent[i % HDI_RECENT];
        if (r->top_end <= low || r->number + HDI_RECENT < l->asked)
            break;
        if (r->at >= low && r->at <= high && (early ? flushes(&r->does, wanted) : stands_for(&r->does, wanted)))
            return r->at;
    }
    return HDI_NONE;
}

/* The same of one that asks for order alone: one of the newest barriers of any kind. */
static HDI_APART uint32_t find_order(const walker *k, const lane *l, const hdi_scopes *wanted, uint32_t low,
                                     uint32_t high)
{
    uint32_t looked = 0;
    for (uint32_t p = l->newest; p && k->point[p - 1].at >= low; p = k->point[p - 1].before) {
        for (uint32_t b = k->point[p - 1].newest; b; b = *hdi_older_record(k->to.out, b - 1)) {
            const hdi_record *barrier = hdi_record_at(k->to.out, b - 1);
            hdi_scopes does = hdi_scopes_of(barrier);
            if (barrier->src_family == HD_NONE && k->point[p - 1].at <= high && orders(&does, wanted))
                return k->point[p - 1].at;
            if (++looked == HDI_RECENT)
                return HDI_NONE;
        }
    }
    return HDI_NONE;
}

/* Semaphores may have brought what happened before `low` back to its queue, by way of another one: the slot before
 * which that was, at the point `high` at the latest; HDI_NONE: there is none. stages count on it. */
static HDI_INLINE bool may_come_round(const work *w, uint32_t low, uint32_t high, uint64_t dst_stages)
{
    const uint32_t *round = w->synced->slot_round;
    return round && round[high / 2] > w->hazards->slot_pos[low / 2] && !(dst_stages & HDI_STAGE_HOST);
}

static HDI_APART uint32_t find_round(const work *w, uint32_t queue, uint32_t low, uint32_t high, uint64_t stages)
{
    const hdi_hazards *hazards = w->hazards;
    const uint32_t *slots = &hazards->queue_slot[hazards->queue_begin[queue]];
    uint32_t first = 0, last = hazards->slot_pos[high / 2], pos = hazards->slot_pos[low / 2];
    while (first < last) {
        uint32_t middle = first + (last - first) / 2;
        if (w->synced->slot_round[slots[middle]] > pos)
            last = middle;
        else
            first = middle + 1;
    }
    hdi_count_on(w, slots[first], stages);
    return slots[first];
}

static HDI_INLINE void note_recent(lane *l, const hdi_scopes *does, uint32_t at)
{
    l->top_end = at + 1 > l->top_end ? at + 1 : l->top_end;
    l->recent[l->recent_count++ % HDI_RECENT] = (struct hdi_recent){*does, at, l->asked++, l->top_end};
}

/* early: it flushes writes for another one, which stands up to the point `follows`. */
static HDI_INLINE uint32_t keep_global(walker *k, uint32_t queue, uint32_t low, uint32_t high, uint32_t number,
                                       bool early, uint32_t follows)
{
    lane *l = &k->lane[queue];
    hdi_record *b = hdi_record_at(k->to.out, number);
    const hdi_scopes does = hdi_scopes_of(b);
    uint32_t spare = l->top_end > low ? find_spare(l, &does, low, high, early) : HDI_NONE;
    if (HDI_UNLIKELY(spare == HDI_NONE && !(does.src_access | does.dst_access)))
        spare = find_order(k, l, &does, low, high);
    if (spare != HDI_NONE)
        return spare;
    if (HDI_UNLIKELY(may_come_round(k->w, low, follows, does.dst_stages))) {
        uint32_t round = find_round(k->w, queue, low, follows, does.dst_stages);
        return 2 * round - (round > 0); /* what comes after it stands before that slot at the earliest */
    }
    point *p = early ? &k->point[find_early(k, l, low, high) - 1] : hdi_choose_point(k, l, low, high);
    note_recent(l, &does, p->at);
    if (p->global) { /* those of a point are one */
        hdi_record *global = hdi_record_at(k->to.out, p->global - 1);
        global->src_stages |= does.src_stages;
        global->src_access |= does.src_access;
        global->dst_stages |= does.dst_stages;
        global->dst_access |= does.dst_access;
        return p->at;
    }
    b->resource = HD_NONE;
    b->old_layout = b->new_layout = 0;
    b->src_family = b->dst_family = HD_NONE;
    hdi_append(k, p, number);
    p->global = p->newest;
    return p->at;
}

uint32_t hdi_keep_global(walker *k, uint32_t queue, uint32_t low, uint32_t high, uint32_t number)
{
    return keep_global(k, queue, low, high, number, false, high);
}

uint32_t hdi_keep_flush(walker *k, uint32_t queue, uint32_t low, uint32_t high, uint32_t follows)
{
    return keep_global(k, queue, low, high, k->to.number, true, follows);
}

/* ---- batches ---- */

/* A global barrier that asks for order alone is left out where another barrier of its point, which may have come after
 * it, brings that. */
static void drop_ordered(walker *k, point *p)
{
    const hdi_record *global = hdi_record_at(k->to.out, p->global - 1);
    const hdi_scopes wanted = hdi_scopes_of(global);
    uint32_t *link = NULL;
    bool ordered = false;
    if (global->src_access | global->dst_access)
        return;
    for (uint32_t *next = &p->newest; *next; next = hdi_older_record(k->to.out, *next - 1)) {
        const hdi_record *other = hdi_record_at(k->to.out, *next - 1);
        const hdi_scopes does = hdi_scopes_of(other);
        if (*next == p->global)
            link = next;
        else
            ordered |= other->src_family == HD_NONE && orders(&does, &wanted);
    }
    if (!ordered)
        return;
    *link = *hdi_older_record(k->to.out, p->global - 1);
    p->count--;
    k->barrier_count--;
}

void hdi_write_batches(walker *k, uint32_t region)
{
    const hdi_hazards *hazards = k->w->hazards;
    for (uint32_t q = 0; q < k->w->queues->count; q++) {
        hdi_batch *places = k->to.out->place_batch + 2 * (size_t)hazards->queue_begin[q];
        for (uint32_t p = k->lane[q].newest; p; p = k->point[p - 1].before) {
            point *from = &k->point[p - 1];
            if (from->global)
                drop_ordered(k, from);
            places[2 * hazards->slot_pos[from->at / 2] + (from->at & 1)] = (hdi_batch){from->newest, from->count};
        }
    }
    k->w->region[region].batch_count = k->point_count;
    k->w->region[region].barrier_count = k->barrier_count;
}
