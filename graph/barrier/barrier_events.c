#include "barrier_work.h"

#include <string.h>

#include "sort.h"

/* What is asked for on a queue at another time than before the slot of a step: where several queues or the host come
 * next, at the end of the submit of the last use, before the signal; releases of ownership, there, too; what extra
 * slots hold; and the states that the frame leaves. Sorted by their ends, these events are taken in between the steps
 * of their region. O(steps), and events times their logarithm. */

typedef hdi_barrier_work work;

/* ---- semaphores ---- */

/* The last point of the submit that a slot is in. */
static uint32_t submit_end(const work *w, uint32_t slot)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t queue = w->queues->count > 1 ? hazards->slot_queue[slot] : 0, begin = hazards->queue_begin[queue],
             submit = w->queues->count > 1 ? w->synced->place_submit[begin + hazards->slot_pos[slot]] : 0;
    return 2 * hazards->queue_slot[begin + w->synced->submit[submit].end_pos - 1] + 1;
}

/* The users behind a step count on semaphores for what was done in a slot of another queue. */
static void others_rely(const work *w, const hdi_side *behind, uint32_t count, uint32_t slot)
{
    size_t place = (size_t)w->hazards->queue_begin[w->hazards->slot_queue[slot]] + w->hazards->slot_pos[slot];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t queue = behind[i].to >> HDI_QUEUE_SHIFT;
        if (queue != w->hazards->slot_queue[slot])
            hdi_rely_on(w, queue, behind[i].first, place, hdi_kind_of(w->hazards, behind[i].to)->dst_stages);
    }
}

/* ---- events ---- */

typedef struct interval {
    uint32_t queue, low, high;
} interval;

/* The region that the slot which a point is before lies in: what is behind the last slot of a region belongs to the
 * next one. */
static uint32_t region_of(const work *w, interval at)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t place = hazards->queue_begin[at.queue] + hazards->slot_pos[at.high / 2] + (at.high & 1), low = 0,
             high = hazards->region_count;
    if (place == hazards->queue_begin[at.queue + 1])
        return high - 1;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(w->region[middle].slot_begin <= hazards->queue_slot[place] ? &low : &high) = middle;
    }
    return low;
}

/* Where events are listed, with their barriers. */
typedef struct events {
    work *w;
    hdi_event *next; /* behind the last one */
    hdi_barrier_writer to;
} events;

static hdi_record *add_event(events *e, interval at, hdi_scopes does, uint32_t resource, uint32_t old_layout,
                             uint32_t new_layout, hdi_cause why)
{
    hdi_record *b = e->to.next;
    *e->next++ = (hdi_event){at.low, at.high, e->to.number, (uint16_t)at.queue, (uint16_t)region_of(e->w, at)};
    hdi_write_record(b, does, resource, old_layout, new_layout, why);
    return b;
}

static void ask_global(events *e, interval at, hdi_scopes does, hdi_cause why)
{
    add_event(e, at, does, HD_NONE, 0, 0, why);
    hdi_advance(&e->to);
}

typedef struct layouts {
    uint32_t old, new;
} layouts;

static hdi_record *ask_part(events *e, interval at, hdi_scopes does, uint32_t seg, layouts of, hdi_cause why)
{
    hdi_record *b = add_event(e, at, does, why.res, of.old, of.new, why);
    hdi_write_seg(&e->to, seg, e->w->parts);
    hdi_advance(&e->to);
    return b;
}

/* ---- steps ---- */

/* An epoch: what it does on its queues. */
typedef struct epoch {
    hdi_side sides[HD_MAX_QUEUES];
    uint32_t count, queues;
} epoch;

static void find_epoch(const work *w, uint32_t step, uint32_t behind, epoch *out)
{
    out->count = hdi_find_sides(w->hazards, &w->hazards->step[step], behind, out->sides);
    out->queues = 0;
    for (uint32_t i = 0; i < out->count; i++)
        out->queues |= 1u << (out->sides[i].to >> HDI_QUEUE_SHIFT);
}

/* What an epoch does on one queue, null: nothing. */
static const hdi_side *side_on(const epoch *e, uint32_t queue)
{
    for (uint32_t i = 0; i < e->count; i++) {
        if (e->sides[i].to >> HDI_QUEUE_SHIFT == queue)
            return &e->sides[i];
    }
    return NULL;
}

/* Stages and accesses of all that comes next, as one queue's barrier can name them: the others stand behind the
 * semaphore, which ALL_COMMANDS reaches; the host has a stage of its own. */
static void all_accesses(const work *w, const epoch *behind, bool reads, uint32_t queue, hdi_scopes *does)
{
    const hdi_side *own = side_on(behind, queue), *host = side_on(behind, w->queues->host);
    uint32_t others = behind->queues & ~(1u << queue);
    does->dst_stages = own ? hdi_kind_of(w->hazards, own->to)->dst_stages : 0;
    does->dst_access = own ? hdi_kind_of(w->hazards, own->to)->dst_access : 0;
    if (host && reads) { /* a host write only waits */
        does->dst_stages |= hdi_kind_of(w->hazards, host->to)->dst_stages;
        does->dst_access |= hdi_kind_of(w->hazards, host->to)->dst_access;
        others &= ~(1u << w->queues->host);
    }
    if (others || !behind->count)
        does->dst_stages |= HDI_STAGE_ALL_COMMANDS;
}

/* Behind uses of one GPU queue, several come next, or the host. */
static void at_producer(events *e, const hdi_step *step, const hdi_side *last, const epoch *behind, hdi_cause why)
{
    const work *w = e->w;
    const hdi_hazards *hazards = w->hazards;
    const hdi_kind *from = hdi_kind_of(hazards, last->to), *to = hdi_kind_of(hazards, step->to);
    uint32_t queue = last->to >> HDI_QUEUE_SHIFT;
    const hdi_side *own = side_on(behind, queue), *host = side_on(behind, w->queues->host);
    interval at = {queue, hdi_behind_slot(w, last->last), submit_end(w, last->last)}, own_at = at;
    hdi_scopes does = {.src_stages = from->src_stages, .src_access = from->src_access};
    others_rely(w, behind->sides, behind->count, last->last);
    if (own)
        own_at.high = hdi_before_slot(w, own->first);
    if (from->layout != to->layout) {
        at.high = own_at.high < at.high ? own_at.high : at.high;
        all_accesses(w, behind, to->flags & HDI_EPOCH_READS, queue, &does);
        ask_part(e, at, does, step->seg, (layouts){from->layout & to->keeps, to->layout}, why);
        return;
    }
    if (own) {
        does.dst_stages = hdi_kind_of(hazards, own->to)->dst_stages;
        does.dst_access = hdi_kind_of(hazards, own->to)->dst_access;
        ask_global(e, own_at, does, (hdi_cause){why.reason, hazards->slot_pass[own->first], why.res});
    }
    if (host && from->src_access && to->flags & HDI_EPOCH_READS) {
        does.dst_stages = hdi_kind_of(hazards, host->to)->dst_stages;
        does.dst_access = hdi_kind_of(hazards, host->to)->dst_access;
        ask_global(e, at, does, (hdi_cause){why.reason, hazards->slot_pass[host->first], why.res});
    }
}

static bool is_one_gpu_queue(const work *w, const epoch *e)
{
    return e->count == 1 && e->queues & w->gpu_mask;
}

/* Into an epoch of several queues, or the host's. */
static void share(events *e, const hdi_step *step)
{
    const work *w = e->w;
    const hdi_hazards *hazards = w->hazards;
    uint32_t res = w->frozen->seg_res[step->seg];
    epoch before, behind;
    if (!step->before)
        return;
    const hdi_step *last = &hazards->step[step->before - 1];
    const hdi_kind *from = hdi_kind_of(hazards, last->to), *to = hdi_kind_of(hazards, step->to);
    uint32_t reason = hdi_step_reason(from->flags, to->flags);
    if (reason == HD_REASON_READ_AFTER_WRITE)
        hdi_note_read(w, last);
    find_epoch(w, step->before - 1, step->low, &before);
    find_epoch(w, (uint32_t)(step - hazards->step), step->slot + 1, &behind);
    if (is_one_gpu_queue(w, &before)) {
        at_producer(e, step, before.sides, &behind, (hdi_cause){reason, hazards->slot_pass[step->slot], res});
    } else if (from->layout == to->layout) { /* semaphores do it all: what the host wrote is visible behind a wait */
        for (uint32_t i = 0; i < before.count; i++)
            others_rely(w, behind.sides, behind.count, before.sides[i].last);
    }
}

/* A release, behind uses of the first of the queues before. */
static void release(events *e, const hdi_step *step)
{
    const work *w = e->w;
    const hdi_hazards *hazards = w->hazards;
    const hdi_step *last = &hazards->step[step->before - 1];
    uint32_t target = step->to >> HDI_QUEUE_SHIFT, source;
    epoch before;
    find_epoch(w, step->before - 1, step->low, &before);
    if (!hdi_is_transfer(w, step, before.queues, target))
        return;
    source = (uint32_t)__builtin_ctz(before.queues);
    const hdi_side *own = side_on(&before, source);
    const hdi_kind *from = hdi_kind_of(hazards, own->to);
    hdi_record *b = ask_part(
        e, (interval){source, hdi_behind_slot(w, own->last), submit_end(w, own->last)},
        (hdi_scopes){from->src_stages, from->src_access, HDI_STAGE_ALL_COMMANDS, 0}, step->seg,
        (layouts){hdi_kind_of(hazards, last->to)->layout, hdi_kind_of(hazards, step->to)->layout},
        (hdi_cause){HD_REASON_RELEASE, hazards->slot_pass[step->slot], w->frozen->seg_res[step->seg]});
    b->src_family = w->queues->family[source];
    b->dst_family = w->queues->family[target];
}

/* Whether a step may have events: it is one into an epoch of several queues or the host, or may be a transfer. */
static HDI_INLINE bool may_ask(const work *w, const hdi_step *step)
{
    uint32_t queue = step->to >> HDI_QUEUE_SHIFT;
    return (queue >= w->queues->gpu_count || (w->several_families && step->to & HDI_CROSSES)) && step->to != HDI_NONE;
}

/* ---- extra slots, and the end of the frame ---- */

/* The barrier of an extra slot. */
static void list_extra(events *e, const hdi_extra_step *extra)
{
    const work *w = e->w;
    const hdi_hazards *hazards = w->hazards;
    const hdi_step *step = extra->step == HDI_NONE ? NULL : &hazards->step[extra->step];
    const hdi_kind *to = step ? hdi_kind_of(hazards, step->to) : NULL, *from = NULL;
    uint32_t queue = hazards->slot_queue[extra->slot], low = 0, res = w->frozen->seg_res[extra->seg],
             last = step ? step->before : hazards->seg_state[extra->seg].step_end,
             end = step ? step->low : hazards->seg_state[extra->seg].behind;
    epoch before = {.count = 0}, behind = {.count = 0};
    hdi_scopes does = {0};
    hdi_cause why = {HD_REASON_FINAL_STATE, HDI_NONE, res};
    if (step) {
        find_epoch(w, extra->step, step->slot + 1, &behind);
        why = (hdi_cause){HD_REASON_FIRST_USE, hazards->slot_pass[step->slot], res};
    }
    all_accesses(w, &behind, to && to->flags & HDI_EPOCH_READS, queue, &does);
    others_rely(w, behind.sides, behind.count, extra->slot);
    if (last) {
        from = hdi_kind_of(hazards, hazards->step[last - 1].to);
        find_epoch(w, last - 1, end, &before);
        why.reason = to ? hdi_step_reason(from->flags, to->flags) : why.reason;
        if (why.reason == HD_REASON_READ_AFTER_WRITE)
            hdi_note_read(w, &hazards->step[last - 1]);
        does.src_stages = does.dst_stages & ~HDI_STAGE_HOST;
    }
    for (uint32_t i = 0; i < before.count; i++) {
        const hdi_side *side = &before.sides[i];
        uint32_t point;
        if (side->to >> HDI_QUEUE_SHIFT == queue) {
            point = hdi_behind_slot(w, side->last);
            does.src_stages = hdi_kind_of(hazards, side->to)->src_stages;
            does.src_access = hdi_kind_of(hazards, side->to)->src_access;
        } else {
            point = 2 * hdi_rely_on(w, queue, extra->slot, hdi_last_place(w, side), HDI_STAGE_ALL_COMMANDS);
        }
        low = point > low ? point : low;
    }
    uint32_t old = from ? from->layout : hdi_initial_layout(w->decl, hazards, res);
    ask_part(e, (interval){queue, low, 2 * extra->slot}, does, extra->seg,
             (layouts){to ? old & to->keeps : old, to ? to->layout : hazards->res_final_layout[res]}, why);
}

/* A state that the frame leaves behind uses of one queue, or of none: that takes any point of a queue that uses the
 * resource. */
static void leave(events *e, uint32_t res, uint32_t seg, uint32_t queue)
{
    const work *w = e->w;
    const hdi_hazards *hazards = w->hazards;
    const hdi_seg_state *state = &hazards->seg_state[seg];
    const hdi_kind *from = state->behind ? hdi_kind_of(hazards, state->to) : NULL;
    hdi_scopes does = {HDI_STAGE_ALL_COMMANDS, 0, HDI_STAGE_ALL_COMMANDS, 0};
    interval at = {queue, 0, 2 * hazards->queue_slot[hazards->queue_begin[queue + 1] - 1] + 1};
    if (from) {
        does.src_stages = from->src_stages;
        does.src_access = from->src_access;
        at = (interval){state->to >> HDI_QUEUE_SHIFT, hdi_behind_slot(w, state->behind - 1),
                        submit_end(w, state->behind - 1)};
    }
    ask_part(e, at, does, seg, (layouts){hdi_last_layout(w->decl, hazards, res, seg), hazards->res_final_layout[res]},
             (hdi_cause){HD_REASON_FINAL_STATE, HDI_NONE, res});
}

/* used: segments that are. */
static void leave_resource(events *e, uint32_t res, bool used)
{
    const work *w = e->w;
    const hdi_hazards *hazards = w->hazards;
    uint32_t first = w->frozen->res_seg_begin[res], end = w->frozen->res_seg_begin[res + 1], any = 0,
             gpus = hazards->res_queues ? hazards->res_queues[res] & w->gpu_mask : 1;
    for (uint32_t seg = first; seg < end; seg++)
        any |= hazards->seg_state[seg].behind;
    for (uint32_t seg = first; any && gpus && seg < end; seg++) {
        const hdi_seg_state *state = &hazards->seg_state[seg];
        if ((state->behind != 0) != used || !hdi_is_left(w->decl, hazards, res, seg))
            continue;
        if (!used || state->to >> HDI_QUEUE_SHIFT < w->queues->gpu_count) /* else it has an extra slot */
            leave(e, res, seg, (uint32_t)__builtin_ctz(gpus));
    }
}

/* ---- all of them ---- */

static void count_region(uint32_t region, void *user)
{
    work *w = user;
    const hdi_step *step = w->hazards->step + w->region[region].step_begin,
                   *end = w->hazards->step + w->region[region + 1].step_begin;
    uint32_t count = 0;
    for (; w->queues->count > 1 && step < end; step++)
        count += may_ask(w, step);
    w->region[region].event_begin = w->queues->host == HDI_NONE ? count : 2 * count; /* the host has one of its own */
}

/* Those of steps. */
static void list_region(uint32_t region, void *user)
{
    work *w = user;
    const hdi_step *step = w->hazards->step + w->region[region].step_begin,
                   *end = w->hazards->step + w->region[region + 1].step_begin;
    events e = {w, w->event + w->region[region].event_begin, w->region[region].writer};
    for (; w->queues->count > 1 && step < end; step++) {
        if (HDI_LIKELY(!may_ask(w, step)))
            continue;
        if (step->to >> HDI_QUEUE_SHIFT >= w->queues->gpu_count)
            share(&e, step);
        else
            release(&e, step);
    }
    w->region[region].writer = e.to;
    w->region[region].event_end = (uint32_t)(e.next - w->event);
}

/* Those of extra slots and of the frame's end are listed with the last region. */
static void list_rest(work *w)
{
    const hdi_hazards *hazards = w->hazards;
    uint32_t last = hazards->region_count - 1;
    events e = {w, w->event + w->region[last].event_end, w->region[last].writer};
    for (uint32_t i = 0; i < hazards->extra_count; i++)
        list_extra(&e, &hazards->extra[i]);
    for (int used = 0; used < 2; used++) { /* those that are not used take any point that there is */
        for (uint32_t i = 0; i < hazards->keeper_count; i++)
            leave_resource(&e, hazards->keeper[i], used == 1);
    }
    w->region[last].writer = e.to;
    w->region[last].event_end = (uint32_t)(e.next - w->event);
}

/* Segments of resources that keep their state. */
static uint32_t count_left(const work *w)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->hazards->keeper_count; i++) {
        const uint32_t *segs = &w->frozen->res_seg_begin[w->hazards->keeper[i]];
        count += segs[1] - segs[0];
    }
    return count;
}

/* From where they were listed to the regions that they are for, by their ends; those that are listed first come first.
 */
static bool sort_events(work *w, uint32_t most)
{
    uint32_t regions = w->hazards->region_count, count = 0;
    hdi_event *event = HDI_EARLY_ARRAY(w->crew, w->arena, hdi_event, most);
    hdi_arena_mark mark = hdi_arena_here(w->arena);
    uint64_t *key = HDI_ARENA_ARRAY(w->arena, uint64_t, most), *scratch_key = HDI_ARENA_ARRAY(w->arena, uint64_t, most);
    uint32_t *order = HDI_ARENA_ARRAY(w->arena, uint32_t, most), *scratch = HDI_ARENA_ARRAY(w->arena, uint32_t, most);
    if (w->arena->failed)
        return false;
    for (uint32_t k = 0; k < regions; k++) {
        for (uint32_t i = w->region[k].event_begin; i < w->region[k].event_end; i++) {
            key[count] = (uint64_t)w->event[i].region << 32 | w->event[i].high;
            order[count++] = i;
        }
    }
    hdi_sort_u64(key, order, scratch_key, scratch, count);
    for (uint32_t i = 0, k = 0; i <= count; i++) {
        for (uint32_t region = i < count ? w->event[order[i]].region : regions; k <= region; k++)
            w->region[k].event_begin = i;
        if (i < count)
            event[i] = w->event[order[i]];
    }
    w->event = event;
    hdi_arena_keep(w->arena, mark, NULL, 0);
    return true;
}

bool hdi_list_events(work *w)
{
    uint32_t regions = w->hazards->region_count, sum = 0;
    hdi_crew_parts(w->crew, regions, count_region, w);
    for (uint32_t k = 0; k < regions; k++) {
        uint32_t count = w->region[k].event_begin;
        w->region[k].event_begin = sum;
        sum += count;
    }
    sum += w->hazards->extra_count + count_left(w);
    w->event = HDI_EARLY_ARRAY(w->crew, w->arena, hdi_event, sum);
    if (w->arena->failed)
        return false;
    hdi_crew_parts(w->crew, regions, list_region, w);
    list_rest(w);
    return sort_events(w, sum);
}
