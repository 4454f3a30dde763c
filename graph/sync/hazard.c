#include "hazard_work.h"

#include <string.h>

#include "hints.h"

/* Hazard: what each segment goes through in the order of the schedule. Uses of a segment become epochs: one write, or a
 * run of reads of one layout. Between two epochs stands a step that needs a barrier, a semaphore or both; `place` says
 * where, and hazard_steps.c finds which slots must wait for slots of other queues. Layout and family changes between
 * readers are found after scheduling on purpose: any order that the schedule chose is free of cycles, an order chosen
 * before it might not be.
 *
 * Uses are sorted by segment, in the order of the schedule, by counting; then those of each segment become its epochs
 * (hazard_epochs.c). Of one GPU queue only the steps between them are found (hazard_one.c, hazard_regions.c), but for
 * what the host uses beside it (hazard_host.c). What there is to do beyond that is about the few resources that keep
 * their state or that several queues use (hazard_states.c). O(uses).
 *
 * In parallel there are two levels: ranges of slots count their uses by buckets of resources, then put them there; then
 * each bucket goes its way alone. */

typedef hdi_hazard_work work;

enum {
    SLOT_GRAIN = 256,
    BUCKETS = HDI_MOST_PARTS,
};

/* ---- by the caller alone ---- */

/* Where each resource is one segment, no use has several. */
static inline bool is_whole(const work *w)
{
    return w->frozen->use_seg == w->decl->use_res;
}

static HDI_APART void count_span(const work *w, uint32_t use, uint32_t *count)
{
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t c = 0; c < span.cols; c++)
            count[span.base + row * span.stride + c]++;
    }
}

static HDI_INLINE void count_use(const work *w, const uint32_t *use_seg, size_t use, uint32_t *count)
{
    uint32_t seg = use_seg[use];
    if (HDI_LIKELY(seg != HDI_NONE))
        count[seg]++;
    else
        count_span(w, (uint32_t)use, count);
}

static void count_uses(const work *w, uint32_t first, uint32_t end, uint32_t *count)
{
    const uint32_t *use_seg = w->frozen->use_seg;
    if (is_whole(w)) {
        for (size_t u = first; u < end; u++)
            count[use_seg[u]]++;
        return;
    }
    for (size_t u = first; u < end; u++)
        count_use(w, use_seg, u, count);
}

/* Uses of passes that stand one behind another are counted in one go, in any order; few are culled. */
static void count_kept(const work *w, uint32_t *count)
{
    const uint8_t *kept = w->kept->pass_kept, *culled;
    const uint32_t *use_begin = w->decl->pass_use_begin;
    uint32_t passes = w->decl->pass_count, from = 0, left = passes - w->schedule->slot_count;
    for (; left > 0 && (culled = memchr(kept + from, 0, passes - from)) != NULL; left--) {
        uint32_t p = (uint32_t)(culled - kept);
        count_uses(w, use_begin[from], use_begin[p], count);
        from = p + 1;
    }
    count_uses(w, use_begin[from], use_begin[passes], count);
}

static HDI_APART void fill_span(const work *w, uint32_t slot, uint32_t use, uint32_t *at, hdi_record *record)
{
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t c = 0; c < span.cols; c++)
            record[at[span.base + row * span.stride + c]++] = (hdi_record){use, slot};
    }
}

static HDI_INLINE void fill_use(const work *w, const uint32_t *use_seg, uint32_t slot, size_t use, uint32_t *at,
                                hdi_record *record)
{
    uint32_t seg = use_seg[use];
    if (HDI_LIKELY(seg != HDI_NONE))
        record[at[seg]++] = (hdi_record){(uint32_t)use, slot};
    else
        fill_span(w, slot, (uint32_t)use, at, record);
}

/* Uses of a pass where each resource is one segment. A record is one word, and one sum makes the next one of it. */
static HDI_INLINE void fill_whole(const uint32_t *use_res, hdi_record record, size_t count, uint16_t queue,
                                  uint16_t *res_queues, uint32_t *at, hdi_record *out)
{
    static const hdi_record one = {.use = 1};
    uint64_t next, step;
    _Static_assert(sizeof(next) == sizeof(record), "one word");
    memcpy(&next, &record, sizeof(next));
    memcpy(&step, &one, sizeof(step));
    for (const uint32_t *res = use_res + record.use, *end = res + count; res < end; res++, next += step) {
        memcpy(&out[at[*res]++], &next, sizeof(next));
        res_queues[*res] |= queue;
    }
}

/* And who uses which resource, and the place of each slot: a walk of its own waits for the place before at each.
 * on_queue: how many of each queue stand before the first. */
static HDI_INLINE void fill_records(const work *w, uint32_t *at, hdi_record *record, uint32_t on_queue[HD_MAX_QUEUES],
                                    bool whole)
{
    const hdi_hazards out = *w->out; /* of its own: nothing that is written here changes it */
    const uint32_t *slot_pass = w->schedule->slot_pass, *use_begin = w->decl->pass_use_begin,
                   *use_seg = w->frozen->use_seg, *use_res = w->decl->use_res;
    uint16_t *res_queues = out.res_queues;
    for (uint32_t s = 0; s < out.slot_count; s++) {
        const uint32_t *of_pass = &use_begin[slot_pass[s]];
        uint16_t queue = (uint16_t)(1u << out.slot_queue[s]);
        hdi_place_slot(&out, s, on_queue);
        if (whole) {
            fill_whole(use_res, (hdi_record){of_pass[0], s}, of_pass[1] - of_pass[0], queue, res_queues, at, record);
            continue;
        }
        for (size_t u = of_pass[0], end = of_pass[1]; u < end; u++) {
            fill_use(w, use_seg, s, u, at, record);
            res_queues[use_res[u]] |= queue;
        }
    }
}

/* From counts to where the records of each segment begin. Returns their number. */
static uint32_t add_counts(uint32_t *count, uint32_t first, uint32_t end)
{
    uint32_t sum = 0;
    for (uint32_t seg = first; seg < end; seg++) {
        uint32_t of = count[seg];
        count[seg] = sum;
        sum += of;
    }
    return sum;
}

/* Room for all epochs that there may be; returns where, or null. *mark: before it. */
static hdi_arena *reserve(const work *w, uint32_t entries, hdi_arena_mark *mark)
{
    enum { BOTH_APART = 128 };
    size_t epochs = (size_t)entries + w->frozen->seg_count,
           bytes = epochs * sizeof(hdi_epoch) + entries * sizeof(hdi_entry) + BOTH_APART;
    if (w->crew->early)
        hdi_arena_widen(w->crew->early, bytes);
    hdi_arena *arena = hdi_crew_early(w->crew, bytes, w->arena);
    *mark = hdi_arena_here(arena);
    w->out->epoch = HDI_ARENA_ARRAY(arena, hdi_epoch, epochs);
    w->out->entry = HDI_ARENA_ARRAY(arena, hdi_entry, entries);
    return arena->failed ? NULL : arena;
}

/* Where epochs are found by segments. kinds: how many may come up beside those of accesses. */
static bool begin(work *w, uint32_t kinds)
{
    w->out->seg_epoch_begin = HDI_ARENA_ARRAY(w->arena, uint32_t, w->frozen->seg_count);
    w->out->seg_epoch_end = HDI_ARENA_ARRAY(w->arena, uint32_t, w->frozen->seg_count);
    return hdi_find_kinds(w, kinds) && !w->arena->failed;
}

/* Nobody reads what they leave, yet, nor shares a resource. */
static void clear(const work *w, uint32_t first_use, uint32_t end_use, uint32_t first_res, uint32_t end_res)
{
    const hdi_hazards *out = w->out;
    memset(out->use_kept + first_use, 0, end_use - first_use);
    memset(out->res_concurrent + first_res, 0, end_res - first_res);
    memset(out->res_queues + first_res, 0, (end_res - first_res) * sizeof(*out->res_queues));
}

static bool build_alone(work *w)
{
    hdi_hazards *out = w->out;
    uint32_t seg_count = w->frozen->seg_count, slots = w->schedule->slot_count, on_queue[HD_MAX_QUEUES] = {0};
    if (!begin(w, HDI_MIXES))
        return false;
    uint32_t *at = out->seg_epoch_end; /* counts, then begins that move on to the ends */
    memset(at, 0, seg_count * sizeof(*at));
    clear(w, 0, w->decl->use_count, 0, w->decl->res_count);
    count_kept(w, at);
    uint32_t entries = add_counts(at, 0, seg_count);
    hdi_arena_mark mark;
    hdi_arena *arena = reserve(w, entries, &mark);
    if (!arena)
        return false;
    hdi_arena_mark own = hdi_arena_here(w->arena);
    hdi_record *record = HDI_ARENA_ARRAY(w->arena, hdi_record, (size_t)entries + 1);
    if (!record)
        return false;
    record[entries].slot = HDI_NONE;
    hdi_count_slots(w, 0, slots, on_queue);
    hdi_begin_queues(w, &on_queue, 1);
    hdi_clear_wants(w, 0, slots);
    if (is_whole(w))
        fill_records(w, at, record, on_queue, true);
    else
        fill_records(w, at, record, on_queue, false);
    const hdi_kind *few = w->kinds.kind;
    hdi_built built = hdi_build_epochs(w, &w->kinds, 0, seg_count, record, at, (hdi_built){0}, w->keeper);
    out->epoch_count = built.epochs;
    out->kind = w->kinds.kind;
    w->keepers = built.keepers;
    w->pairs = hdi_settle_range(w, 0, w->decl->res_count, w->keeper, built.keepers);
    const hdi_arena_kept out_arrays[] = {{&out->epoch, built.epochs * sizeof(*out->epoch)},
                                         {&out->entry, built.entries * sizeof(*out->entry)},
                                         {&out->kind, w->kinds.count * sizeof(*out->kind)}};
    uint32_t more = few != out->kind; /* they are where they grew to */
    hdi_arena_keep(arena, mark, out_arrays, arena == w->arena ? 2 + more : 2);
    if (arena != w->arena)
        hdi_arena_keep(w->arena, own, &out_arrays[2], more);
    return true;
}

/* ---- by several workers ---- */

/* What a range of slots holds, then where it goes. */
typedef struct range {
    uint32_t record[BUCKETS], entry[BUCKETS];
} range;

typedef struct sort {
    const work *w;
    uint32_t shift; /* of a resource: its bucket */
    uint32_t ranges;
    range *range;
    uint32_t (*on_queue)[HD_MAX_QUEUES]; /* of each range */
    uint32_t record_begin[BUCKETS + 1], entry_begin[BUCKETS + 1];
    hdi_record *record, *sorted; /* by bucket, each with one more, behind all; by segment */
    hdi_built *built;            /* of each bucket */
} sort;

static void count_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const sort *s = user;
    const work *w = s->w;
    const uint32_t *slot_pass = w->schedule->slot_pass, *use_begin = w->decl->pass_use_begin,
                   *use_res = w->decl->use_res, *use_seg = w->frozen->use_seg;
    range count = {0};
    for (uint32_t slot = begin; slot < end; slot++) {
        uint32_t last = use_begin[slot_pass[slot] + 1];
        for (uint32_t u = use_begin[slot_pass[slot]]; u < last; u++) {
            uint32_t bucket = use_res[u] >> s->shift;
            count.record[bucket]++;
            if (HDI_UNLIKELY(use_seg[u] == HDI_NONE)) {
                hdi_span span = hdi_use_span(w->decl, w->frozen, u);
                count.entry[bucket] += span.rows * span.cols - 1;
            }
        }
    }
    for (uint32_t b = 0; b < BUCKETS; b++)
        count.entry[b] += count.record[b];
    s->range[part] = count;
    hdi_count_slots(w, begin, end, s->on_queue[part]);
    uint32_t uses = w->decl->use_count, resources = w->decl->res_count;
    clear(w, hdi_range_begin(uses, s->ranges, part), hdi_range_begin(uses, s->ranges, part + 1),
          hdi_range_begin(resources, s->ranges, part), hdi_range_begin(resources, s->ranges, part + 1));
}

/* Where each range's uses stand in each bucket, and each bucket's in all. */
static void add_up(sort *s)
{
    uint32_t records[BUCKETS] = {0}, entries[BUCKETS] = {0};
    for (uint32_t r = 0; r < s->ranges; r++) {
        for (uint32_t b = 0; b < BUCKETS; b++) {
            uint32_t count = s->range[r].record[b];
            s->range[r].record[b] = records[b];
            records[b] += count;
            entries[b] += s->range[r].entry[b];
        }
    }
    s->record_begin[0] = s->entry_begin[0] = 0;
    for (uint32_t b = 0; b < BUCKETS; b++) {
        s->record_begin[b + 1] = s->record_begin[b] + records[b];
        s->entry_begin[b + 1] = s->entry_begin[b] + entries[b];
    }
}

static void fill_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const sort *s = user;
    const work *w = s->w;
    const uint32_t *slot_pass = w->schedule->slot_pass, *use_begin = w->decl->pass_use_begin,
                   *use_res = w->decl->use_res;
    uint32_t at[BUCKETS];
    for (uint32_t b = 0; b < BUCKETS; b++)
        at[b] = s->record_begin[b] + b + s->range[part].record[b];
    for (uint32_t slot = begin; slot < end; slot++) {
        uint32_t last = use_begin[slot_pass[slot] + 1];
        for (uint32_t u = use_begin[slot_pass[slot]]; u < last; u++)
            s->record[at[use_res[u] >> s->shift]++] = (hdi_record){u, slot};
    }
    hdi_place_slots(w, begin, end, s->on_queue[part]);
}

/* Of its resources and their segments. */
typedef struct bucket_part {
    uint32_t first_res, last_res, first_seg, last_seg;
    const hdi_record *begin, *end;
} bucket_part;

static bucket_part part_of(const sort *s, uint32_t bucket)
{
    const work *w = s->w;
    uint32_t count = w->decl->res_count, first = bucket << s->shift, last = (bucket + 1) << s->shift;
    last = last < count ? last : count;
    return (bucket_part){first,
                         last,
                         w->frozen->res_seg_begin[first],
                         w->frozen->res_seg_begin[last],
                         s->record + s->record_begin[bucket] + bucket,
                         s->record + s->record_begin[bucket + 1] + bucket};
}

static void build_bucket(uint32_t bucket, void *user)
{
    const sort *s = user;
    const work *w = s->w;
    const hdi_hazards *out = w->out;
    bucket_part part = part_of(s, bucket);
    uint32_t first_seg = part.first_seg, last_seg = part.last_seg, *at = out->seg_epoch_end;
    const uint32_t *use_seg = w->frozen->use_seg;
    const hdi_record *begin = part.begin, *end = part.end;
    hdi_record *sorted = s->sorted + s->entry_begin[bucket] + bucket; /* each has one more, that it may read */
    memset(at + first_seg, 0, (last_seg - first_seg) * sizeof(*at));
    for (const hdi_record *r = begin; r < end; r++) {
        count_use(w, use_seg, r->use, at);
        out->res_queues[w->decl->use_res[r->use]] |= (uint16_t)(1u << w->schedule->slot_queue[r->slot]);
    }
    add_counts(at, first_seg, last_seg);
    for (const hdi_record *r = begin; r < end; r++)
        fill_use(w, use_seg, r->slot, r->use, at, sorted);
    sorted[s->entry_begin[bucket + 1] - s->entry_begin[bucket]].slot = HDI_NONE;
    hdi_kinds kinds = w->kinds; /* with room of its own: one for each entry */
    kinds.count += s->entry_begin[bucket];
    hdi_built built = hdi_build_epochs(
        w, &kinds, first_seg, last_seg, sorted, at,
        (hdi_built){.epochs = s->entry_begin[bucket] + first_seg, .entries = s->entry_begin[bucket]},
        w->keeper + part.first_res);
    built.pairs = hdi_settle_range(w, part.first_res, part.last_res, w->keeper + part.first_res,
                                   built.keepers); /* while all is near */
    s->built[bucket] = built;
}

/* What all buckets have, together. */
static void gather(const sort *s, work *w, uint32_t buckets)
{
    hdi_hazards *out = w->out;
    w->keepers = w->pairs = out->epoch_count = 0;
    for (uint32_t b = 0; b < buckets; b++) {
        memmove(w->keeper + w->keepers, w->keeper + ((size_t)b << s->shift),
                s->built[b].keepers * sizeof(*w->keeper));
        w->keepers += s->built[b].keepers;
        w->pairs += s->built[b].pairs;
        out->epoch_count += s->built[b].epochs;
    }
}

/* What buckets write to. */
static bool make_room(work *w, sort *s, hdi_arena *aside)
{
    uint32_t records = s->record_begin[BUCKETS], entries = s->entry_begin[BUCKETS];
    hdi_arena_mark unused;
    s->record = HDI_ARENA_ARRAY(aside, hdi_record, (size_t)records + BUCKETS);
    s->sorted = HDI_ARENA_ARRAY(aside, hdi_record, (size_t)entries + BUCKETS);
    return !aside->failed && begin(w, entries) && reserve(w, entries, &unused);
}

static bool build_sorted(work *w)
{
    const hdi_crew *crew = w->crew;
    uint32_t slots = w->schedule->slot_count, res_count = w->decl->res_count;
    hdi_arena *aside = &crew->arena[HDI_MOST_PARTS - 1];
    hdi_arena_mark mark = hdi_arena_here(aside);
    sort s = {.w = w, .ranges = hdi_range_count(crew, slots, SLOT_GRAIN)};
    while (res_count >> s.shift >= BUCKETS)
        s.shift++;
    uint32_t buckets = res_count ? ((res_count - 1) >> s.shift) + 1 : 0;
    s.range = HDI_ARENA_ARRAY(aside, range, s.ranges);
    s.on_queue = hdi_arena_zeroed(aside, s.ranges, sizeof(*s.on_queue));
    s.built = HDI_ARENA_ARRAY(aside, hdi_built, BUCKETS);
    if (aside->failed)
        return false;
    hdi_crew_ranges(crew, slots, SLOT_GRAIN, count_range, &s);
    add_up(&s);
    hdi_begin_queues(w, s.on_queue, s.ranges);
    if (!make_room(w, &s, aside))
        return false;
    w->out->kind = w->kinds.kind;
    hdi_crew_ranges(crew, slots, SLOT_GRAIN, fill_range, &s);
    hdi_crew_parts(crew, buckets, build_bucket, &s);
    gather(&s, w, buckets);
    hdi_arena_keep(aside, mark, NULL, 0);
    return true;
}

hd_result hdi_hazard(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept, const hdi_schedule *schedule,
                     const hdi_queues *queues, bool merges, const hdi_crew *crew, hdi_arena *arena, hdi_hazards *out)
{
    _Atomic(uint32_t) left_count = 0;
    work w = {.decl = decl, .frozen = frozen, .schedule = schedule, .queues = queues, .crew = crew, .arena = arena};
    w.kept = kept;
    w.out = out;
    w.left_count = &left_count;
    w.alone = crew->workers == 1;
    w.several = queues->count > 1;
    w.gpu_mask = (1u << queues->gpu_count) - 1;
    for (uint32_t q = 0; q < queues->gpu_count; q++) {
        for (uint32_t other = 0; other < queues->gpu_count; other++)
            w.family_mask[q] |= (uint16_t)((queues->family[other] == queues->family[q]) << other);
        w.several_families |= w.family_mask[q] != w.gpu_mask;
    }
    out->slot_count = schedule->slot_count;
    out->slot_pass = schedule->slot_pass;
    out->slot_queue = schedule->slot_queue;
    out->slot_group = schedule->slot_group;
    out->region_count = schedule->region_count;
    out->region_begin = schedule->region_begin;
    out->memory_edge_count = schedule->edge_count;
    out->memory_edge = schedule->edge;
    out->res_concurrent = HDI_ARENA_ARRAY(arena, uint8_t, decl->res_count);
    out->res_queues = w.several ? HDI_ARENA_ARRAY(arena, uint16_t, decl->res_count) : NULL;
    out->res_final_layout = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->res_first_family = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->res_final_family = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->slot_pos = HDI_ARENA_ARRAY(arena, uint32_t, schedule->slot_count);
    out->queue_slot = w.several ? HDI_ARENA_ARRAY(arena, uint32_t, schedule->slot_count) : out->slot_pos;
    size_t wants = (size_t)schedule->slot_count * queues->count + HDI_ROW_SLACK;
    out->slot_want = w.several ? HDI_ARENA_ARRAY(arena, uint32_t, wants) : NULL;
    out->use_kept = HDI_ARENA_ARRAY(arena, uint8_t, decl->use_count);
    out->step = NULL;
    out->host_res_count = 0;
    out->second_count = 0;
    out->has_gaps = false;
    w.keeper = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    w.left = w.several ? HDI_ARENA_ARRAY(arena, uint32_t, frozen->seg_count) : NULL;
    bool (*find)(work *) = w.alone ? build_alone : build_sorted;
    const bool beside = hdi_is_beside_host(decl, queues, merges);
    if (!w.several || beside)
        find = w.alone ? hdi_find_steps : hdi_find_steps_by_regions;
    out->host_res = beside ? HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count) : NULL;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (beside)
        hdi_begin_beside_host(&w);
    if (!find(&w))
        return HD_OUT_OF_MEMORY;
    out->keeper = w.keeper;
    out->keeper_count = w.keepers;
    hd_result result = hdi_settle(&w);
    out->has_extras = w.extras.count > 0;
    return result == HD_OK && w.extras.count ? hdi_add_extra_slots(&w) : result;
}
