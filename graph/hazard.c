#include "hazard_slots.h"

#include <string.h>

#include "csr.h"
#include "vk_numbers.h"

/* Hazard: what each segment goes through in the order of the schedule. Uses of a segment become epochs: one write, or a
 * run of reads of one layout. Between two epochs stands a step that needs a barrier, a semaphore or both; here is
 * decided where (`place`), and which slots must wait for slots of other queues.
 *
 *   consumer   the new epoch lives on one GPU queue: the barrier stands before its first use
 *   producer   several queues, or the host, come next: the barrier stands behind the last use, before the signal
 *   transfer   ownership moves: release behind the last use, acquire before the first
 *   extra      several queues before and behind: a slot of its own that holds only the barrier
 *
 * O(entries). Layout and family changes between readers are found after scheduling on purpose: any order that the
 * schedule chose is free of cycles, an order chosen before it might not be. */

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_schedule *schedule;
    const hdi_queues *queues;
    hdi_arena *arena;
    hdi_hazards *out;
    uint32_t *entry_begin; /* per segment */
    hdi_edge *edges;       /* slots of the schedule; extra slots count from slot_count on */
    uint32_t edge_count, edge_capacity;
    hdi_extras extras;
    uint32_t gpu_mask;
    bool several_families;
} work;

/* Arrays of the arena that grow: the old one stays behind until the arena is reset; doubling bounds the waste. */
static bool grow(hdi_arena *arena, void *array, uint32_t *capacity, uint32_t count, size_t element_bytes)
{
    if (count < *capacity)
        return true;
    uint32_t grown = *capacity ? *capacity * 2 : 256;
    void *fresh = hdi_arena_array(arena, grown, element_bytes);
    if (!fresh)
        return false;
    if (count)
        memcpy(fresh, *(void **)array, count * element_bytes);
    *(void **)array = fresh;
    *capacity = grown;
    return true;
}

static void add_edge(work *w, uint32_t from, uint32_t to)
{
    if (grow(w->arena, &w->edges, &w->edge_capacity, w->edge_count, sizeof(hdi_edge)))
        w->edges[w->edge_count++] = (hdi_edge){from, to};
}

/* ---- entries: uses of each segment in the order of the schedule ---- */

/* Calls for each segment of each use of a slot would cost more than all the rest: the common case stands in line. */
static hd_result collect_entries(work *w)
{
    const hdi_decl *decl = w->decl;
    const hdi_schedule *schedule = w->schedule;
    uint32_t *begin = HDI_ARENA_ZEROED(w->arena, uint32_t, (size_t)w->frozen->seg_count + 2);
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    uint32_t *at = begin + 1; /* counts, then starts that move on to the ends: then begin is what it should be */
    for (int fill = 0; fill < 2; fill++) {
        uint32_t *slot = w->out->entry_slot, *use = w->out->entry_use;
        for (uint32_t s = 0; s < schedule->slot_count; s++) {
            uint32_t p = schedule->slot_pass[s];
            for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
                uint32_t only = w->frozen->use_seg[u];
                if (only != HDI_NONE) {
                    uint32_t i = at[only]++;
                    if (fill) {
                        slot[i] = s;
                        use[i] = u;
                    }
                    continue;
                }
                hdi_span span = hdi_use_span(decl, w->frozen, u);
                for (uint32_t row = 0; row < span.rows; row++) {
                    uint32_t first = span.base + row * span.stride;
                    for (uint32_t seg = first; seg < first + span.cols; seg++) {
                        uint32_t i = at[seg]++;
                        if (fill) {
                            slot[i] = s;
                            use[i] = u;
                        }
                    }
                }
            }
        }
        if (fill)
            break;
        uint32_t total = 0;
        for (uint32_t seg = 0; seg < w->frozen->seg_count; seg++) {
            uint32_t count = at[seg];
            at[seg] = total;
            total += count;
        }
        w->out->entry_count = total;
        w->out->entry_slot = HDI_ARENA_ARRAY(w->arena, uint32_t, total);
        w->out->entry_use = HDI_ARENA_ARRAY(w->arena, uint32_t, total);
        if (w->arena->failed)
            return HD_OUT_OF_MEMORY;
    }
    w->entry_begin = begin;
    return HD_OK;
}

/* One pass's entries of a segment, together: they stand side by side. */
typedef struct visit {
    uint64_t stages, access;
    uint32_t end, slot, layout;
    bool reads, writes;
} visit;

static visit read_visit(const work *w, uint32_t entry, uint32_t end, bool is_image)
{
    const hdi_hazards *out = w->out;
    uint32_t slot = out->entry_slot[entry];
    const hdi_access_info *access = &w->decl->access[w->decl->use_access[out->entry_use[entry]]];
    visit v = {access->stages, access->access,  entry + 1,     slot, is_image ? access->layout : HDI_LAYOUT_UNDEFINED,
               access->reads,  access->writes};
    for (; v.end < end && out->entry_slot[v.end] == slot; v.end++) {
        access = &w->decl->access[w->decl->use_access[out->entry_use[v.end]]];
        v.stages |= access->stages;
        v.access |= access->access;
        v.reads |= access->reads;
        v.writes |= access->writes;
        /* Reads that differ agree on the read-only depth layout: declare checked it. */
        if (is_image && v.layout != access->layout)
            v.layout = HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY;
    }
    return v;
}

/* ---- epochs ---- */

/* Splits a segment's entries; by_queue: an exclusive resource changes hands from queue to queue. Returns the number of
 * epochs; *shared_read tells whether one of them has several families. */
static uint32_t split_epochs(work *w, uint32_t seg, bool by_queue, hdi_epoch *epoch, bool *shared_read)
{
    uint32_t end = w->entry_begin[seg + 1], count = 0;
    bool is_image = !(w->decl->res_flags[w->frozen->seg_res[seg]] & HDI_RES_BUFFER);
    hdi_epoch *last = NULL;
    for (uint32_t e = w->entry_begin[seg]; e < end;) {
        visit v = read_visit(w, e, end, is_image);
        uint32_t queue = w->schedule->slot_queue[v.slot];
        bool joins = last && !v.writes && !(last->flags & HDI_EPOCH_WRITES) && last->layout == v.layout &&
                     (!by_queue || last->queue_mask >> queue & 1);
        if (joins) {
            last->stages |= v.stages;
            last->access |= v.access;
            last->entry_end = v.end;
            last->last = v.slot;
            last->queue_mask = (uint16_t)(last->queue_mask | 1u << queue);
            last->flags |= v.reads ? HDI_EPOCH_READS : 0;
        } else {
            last = &epoch[count++];
            *last = (hdi_epoch){.stages = v.stages,
                                .access = v.access,
                                .entry_begin = e,
                                .entry_end = v.end,
                                .first = v.slot,
                                .last = v.slot,
                                .layout = v.layout,
                                .queue_mask = (uint16_t)(1u << queue),
                                .flags = (uint8_t)((v.writes ? HDI_EPOCH_WRITES : 0) | (v.reads ? HDI_EPOCH_READS : 0)),
                                .extra = HDI_NONE};
        }
        if (last->queue_mask & (last->queue_mask - 1))
            *shared_read = true;
        e = v.end;
    }
    return count;
}

/* GPU families that use a resource: a bit for each, at the first queue of that family. */
static uint32_t families_of(const work *w, uint32_t res)
{
    uint32_t mask = 0;
    for (uint32_t e = w->entry_begin[w->frozen->res_seg_begin[res]];
         e < w->entry_begin[w->frozen->res_seg_begin[res + 1]]; e++) {
        uint32_t queue = w->schedule->slot_queue[w->out->entry_slot[e]], first = 0;
        while (w->queues->family[first] != w->queues->family[queue])
            first++;
        mask |= 1u << first;
    }
    return mask & w->gpu_mask;
}

/* Whether a resource is made concurrent. epoch is scratch for the segments of one resource. */
static bool is_concurrent(work *w, uint32_t res, hdi_epoch *epoch)
{
    const hdi_decl *decl = w->decl;
    uint32_t pair = decl->res_pair[res], flags = decl->res_flags[res];
    uint32_t families = families_of(w, res);
    if (pair != HDI_NONE) {
        /* Two physical resources take turns and both must do for both roles: nothing is handed from frame to frame. */
        families |= families_of(w, pair);
        if (families & (families - 1))
            return true;
    }
    if (!(families & (families - 1)))
        return false;
    uint32_t sharing = decl->res_info[res].sharing;
    if (sharing == HD_SHARING_CONCURRENT || flags & HDI_RES_HOST)
        return true;
    if (sharing == HD_SHARING_EXCLUSIVE)
        return false;
    if (flags & HDI_RES_BUFFER)
        return true;
    uint32_t begin = w->frozen->res_seg_begin[res], end = w->frozen->res_seg_begin[res + 1];
    /* An import has one owner at the frame's start and end; pieces that went different ways would have to be gathered. */
    if (flags & HDI_RES_EXTERNAL)
        return end - begin > 1;
    bool shared_read = false;
    for (uint32_t seg = begin; seg < end; seg++)
        split_epochs(w, seg, false, epoch, &shared_read);
    return shared_read;
}

/* ---- final layouts ---- */

static uint32_t last_layout(const work *w, uint32_t res, uint32_t *slot_out)
{
    const hdi_hazards *out = w->out;
    uint32_t best = HDI_NONE, layout = HDI_NONE;
    for (uint32_t seg = w->frozen->res_seg_begin[res]; seg < w->frozen->res_seg_begin[res + 1]; seg++) {
        uint32_t end = out->seg_epoch_begin[seg + 1];
        if (end > out->seg_epoch_begin[seg] && out->epoch[end - 1].flags & HDI_EPOCH_FINAL)
            end--;
        if (end == out->seg_epoch_begin[seg])
            continue;
        const hdi_epoch *last = &out->epoch[end - 1];
        uint32_t slot = out->entry_slot[last->entry_end - 1];
        if (best == HDI_NONE || slot > best) {
            best = slot;
            layout = last->layout;
        }
    }
    if (slot_out)
        *slot_out = best;
    return layout;
}

static uint32_t choose_final_layout(const work *w, uint32_t res)
{
    const hdi_decl *decl = w->decl;
    const hdi_res_info *info = &decl->res_info[res];
    uint32_t own = last_layout(w, res, NULL);
    if (decl->res_flags[res] & HDI_RES_EXTERNAL) {
        if (info->final_layout)
            return info->final_layout;
        return own == HDI_NONE ? info->initial_layout : own;
    }
    /* What next frame's readers of the history want, so that they find it so and leave it so. */
    uint32_t history = decl->res_pair[res];
    for (uint32_t seg = w->frozen->res_seg_begin[history]; seg < w->frozen->res_seg_begin[history + 1]; seg++) {
        if (w->out->seg_epoch_begin[seg] != w->out->seg_epoch_begin[seg + 1])
            return w->out->epoch[w->out->seg_epoch_begin[seg]].layout;
    }
    return own == HDI_NONE ? HDI_LAYOUT_GENERAL : own;
}

static bool keeps_state(const work *w, uint32_t res)
{
    return (w->decl->res_flags[res] & (HDI_RES_EXTERNAL | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY)) != 0;
}

/* ---- steps: place each, and the edges it needs ---- */

static void last_slots(const work *w, const hdi_epoch *epoch, uint32_t last[HD_MAX_QUEUES])
{
    for (uint32_t e = epoch->entry_begin; e < epoch->entry_end; e++)
        last[w->schedule->slot_queue[w->out->entry_slot[e]]] = w->out->entry_slot[e];
}

static void first_slots(const work *w, const hdi_epoch *epoch, uint32_t first[HD_MAX_QUEUES])
{
    for (uint32_t e = epoch->entry_end; e-- > epoch->entry_begin;)
        first[w->schedule->slot_queue[w->out->entry_slot[e]]] = w->out->entry_slot[e];
}

/* The extra slot on a queue before a slot; one serves all who need it there. */
static uint32_t extra_slot(work *w, uint32_t before, uint32_t queue)
{
    for (uint32_t x = w->extras.at[before]; x != HDI_NONE; x = w->extras.next[x]) {
        if (w->extras.queue[x] == queue)
            return w->schedule->slot_count + x;
    }
    uint32_t capacity = w->extras.capacity, count = w->extras.count;
    if (!grow(w->arena, &w->extras.queue, &capacity, count, sizeof(uint32_t)))
        return HDI_NONE;
    capacity = w->extras.capacity;
    if (!grow(w->arena, &w->extras.next, &capacity, count, sizeof(uint32_t)))
        return HDI_NONE;
    w->extras.capacity = capacity;
    w->extras.queue[count] = queue;
    w->extras.next[count] = w->extras.at[before];
    w->extras.at[before] = w->extras.count++;
    return w->schedule->slot_count + count;
}

static bool is_single(uint32_t mask)
{
    return mask && !(mask & (mask - 1));
}

static uint32_t lowest(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

/* Edges from every queue of the epoch before, but the one that the target is on. */
static void edges_from(work *w, const hdi_epoch *before, uint32_t queue, uint32_t target)
{
    uint32_t last[HD_MAX_QUEUES];
    last_slots(w, before, last);
    for (uint32_t mask = before->queue_mask & ~(1u << queue); mask; mask &= mask - 1)
        add_edge(w, last[lowest(mask)], target);
}

static void edges_to(work *w, uint32_t source, uint32_t queue, const hdi_epoch *behind)
{
    uint32_t first[HD_MAX_QUEUES];
    first_slots(w, behind, first);
    for (uint32_t mask = behind->queue_mask & ~(1u << queue); mask; mask &= mask - 1)
        add_edge(w, source, first[lowest(mask)]);
}

/* The first GPU queue that uses a resource, or the one that it takes turns with: there stand barriers for the host, which
 * owns nothing. */
static uint32_t first_gpu_queue(const work *w, uint32_t res)
{
    uint32_t end = w->entry_begin[w->frozen->res_seg_begin[res + 1]], best = HDI_NONE, pair = w->decl->res_pair[res];
    for (uint32_t e = w->entry_begin[w->frozen->res_seg_begin[res]]; e < end; e++) {
        uint32_t slot = w->out->entry_slot[e];
        if (w->schedule->slot_queue[slot] < w->queues->gpu_count && slot < best)
            best = slot;
    }
    if (best == HDI_NONE && pair != HDI_NONE && pair > res) /* a history stands behind what it is of */
        return first_gpu_queue(w, pair);
    return best == HDI_NONE ? 0 : w->schedule->slot_queue[best];
}

/* Ownership must move between two epochs of an exclusive resource, unless the content is thrown away. */
static bool moves(const work *w, uint32_t res, const hdi_epoch *before, const hdi_epoch *behind)
{
    if (!before || w->out->res_concurrent[res] || !(before->queue_mask & w->gpu_mask) ||
        !(behind->queue_mask & w->gpu_mask) || !(behind->flags & HDI_EPOCH_READS))
        return false;
    return w->queues->family[lowest(before->queue_mask & w->gpu_mask)] !=
           w->queues->family[lowest(behind->queue_mask & w->gpu_mask)];
}

static void place_extra(work *w, uint32_t res, const hdi_epoch *before, hdi_epoch *behind)
{
    uint32_t gpu = behind->queue_mask & w->gpu_mask;
    if (!gpu && before)
        gpu = before->queue_mask & w->gpu_mask;
    uint32_t queue = gpu ? lowest(gpu) : first_gpu_queue(w, res);
    uint32_t at = behind->flags & HDI_EPOCH_FINAL ? w->schedule->slot_count : w->out->entry_slot[behind->entry_begin];
    behind->place = HDI_PLACE_EXTRA;
    behind->extra = extra_slot(w, at, queue);
    if (before)
        edges_from(w, before, queue, behind->extra);
    if (!(behind->flags & HDI_EPOCH_FINAL))
        edges_to(w, behind->extra, queue, behind);
}

static void place_step(work *w, uint32_t res, const hdi_epoch *before, hdi_epoch *behind, bool layout_changes)
{
    uint32_t to = behind->queue_mask, from = before ? before->queue_mask : 0;
    if (is_single(to) && (to & w->gpu_mask)) {
        uint32_t queue = lowest(to);
        behind->place = moves(w, res, before, behind) ? HDI_PLACE_TRANSFER : HDI_PLACE_CONSUMER;
        if (from & ~to)
            edges_from(w, before, queue, w->out->entry_slot[behind->entry_begin]);
        return;
    }
    if (is_single(from) && (from & w->gpu_mask)) {
        uint32_t queue = lowest(from);
        behind->place = HDI_PLACE_PRODUCER;
        if (to & ~from)
            edges_to(w, w->out->entry_slot[before->entry_end - 1], queue, behind);
        return;
    }
    if (layout_changes) {
        place_extra(w, res, before, behind);
        return;
    }
    behind->place = HDI_PLACE_NONE;
    if (!before)
        return;
    /* Semaphores do it all: what the host wrote is visible behind a wait, and a host write only waits. */
    uint32_t first[HD_MAX_QUEUES];
    first_slots(w, behind, first);
    for (uint32_t mask = to; mask; mask &= mask - 1)
        edges_from(w, before, lowest(mask), first[lowest(mask)]);
}

static void place_segment(work *w, uint32_t seg)
{
    const hdi_hazards *out = w->out;
    uint32_t res = w->frozen->seg_res[seg];
    bool is_image = !(w->decl->res_flags[res] & HDI_RES_BUFFER);
    uint32_t layout = is_image ? hdi_initial_layout(w->decl, w->out, res) : 0;
    hdi_epoch *before = NULL;
    for (uint32_t e = out->seg_epoch_begin[seg]; e < out->seg_epoch_begin[seg + 1]; e++) {
        hdi_epoch *behind = &out->epoch[e];
        place_step(w, res, before, behind, is_image && layout != behind->layout);
        layout = behind->layout;
        before = behind;
    }
}

/* A step at the end of a segment that must be left in another layout than its last use wants. */
static void place_final(work *w, uint32_t seg, hdi_epoch *final)
{
    const hdi_hazards *out = w->out;
    hdi_epoch *before = out->seg_epoch_begin[seg] < out->seg_epoch_begin[seg + 1] - 1 ? final - 1 : NULL;
    if (before && is_single(before->queue_mask) && (before->queue_mask & w->gpu_mask)) {
        final->place = HDI_PLACE_PRODUCER;
        return;
    }
    place_extra(w, w->frozen->seg_res[seg], before, final);
}

/* ---- all epochs ---- */

static hd_result build_epochs(work *w)
{
    const hdi_frozen *frozen = w->frozen;
    hdi_hazards *out = w->out;
    uint32_t res_count = w->decl->res_count;
    hdi_epoch *epoch = HDI_ARENA_ARRAY(w->arena, hdi_epoch, (size_t)out->entry_count + 1);
    uint32_t *begin = HDI_ARENA_ARRAY(w->arena, uint32_t, (size_t)frozen->seg_count + 1);
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    uint32_t count = 0;
    for (uint32_t r = 0; r < res_count; r++) {
        uint32_t first = frozen->res_seg_begin[r], end = frozen->res_seg_begin[r + 1];
        out->res_used[r] = w->entry_begin[first] != w->entry_begin[end];
        out->res_concurrent[r] = w->several_families && is_concurrent(w, r, epoch + count);
        uint32_t families = w->several_families ? families_of(w, r) : 0;
        bool by_queue = !out->res_concurrent[r] && (families & (families - 1));
        for (uint32_t seg = first; seg < end; seg++) {
            begin[seg] = count;
            bool shared = false;
            count += split_epochs(w, seg, by_queue, epoch + count, &shared);
        }
    }
    begin[frozen->seg_count] = count;
    out->epoch = epoch;
    out->seg_epoch_begin = begin;
    out->epoch_count = count;
    return HD_OK;
}

/* Rewrites the epochs with a final one where a segment must be left otherwise. */
static hd_result add_finals(work *w)
{
    const hdi_frozen *frozen = w->frozen;
    const hdi_decl *decl = w->decl;
    hdi_hazards *out = w->out;
    uint8_t *wants = HDI_ARENA_ZEROED(w->arena, uint8_t, frozen->seg_count);
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    uint32_t more = 0;
    for (uint32_t r = 0; r < decl->res_count; r++) {
        if (!keeps_state(w, r) || decl->res_flags[r] & HDI_RES_BUFFER)
            continue;
        uint32_t pair = decl->res_pair[r];
        bool is_history = (decl->res_flags[r] & HDI_RES_HISTORY) != 0;
        out->res_final_layout[r] = is_history ? out->res_final_layout[pair] : choose_final_layout(w, r);
        for (uint32_t seg = frozen->res_seg_begin[r]; out->res_used[r] && seg < frozen->res_seg_begin[r + 1]; seg++) {
            uint32_t last = out->seg_epoch_begin[seg + 1];
            uint32_t layout = last > out->seg_epoch_begin[seg] ? out->epoch[last - 1].layout : hdi_initial_layout(w->decl, w->out, r);
            wants[seg] = layout != out->res_final_layout[r];
            more += wants[seg];
        }
    }
    if (more == 0)
        return HD_OK;
    hdi_epoch *epoch = HDI_ARENA_ARRAY(w->arena, hdi_epoch, (size_t)out->epoch_count + more);
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    uint32_t count = 0;
    for (uint32_t seg = 0; seg < frozen->seg_count; seg++) {
        uint32_t first = out->seg_epoch_begin[seg], end = out->seg_epoch_begin[seg + 1];
        memcpy(epoch + count, out->epoch + first, (end - first) * sizeof(*epoch));
        out->seg_epoch_begin[seg] = count;
        count += end - first;
        if (wants[seg])
            epoch[count++] = (hdi_epoch){.layout = out->res_final_layout[frozen->seg_res[seg]],
                                         .flags = HDI_EPOCH_FINAL,
                                         .extra = HDI_NONE};
    }
    out->seg_epoch_begin[frozen->seg_count] = out->epoch_count = count;
    out->epoch = epoch;
    return HD_OK;
}

static void find_families(work *w)
{
    const hdi_hazards *out = w->out;
    for (uint32_t r = 0; r < w->decl->res_count; r++) {
        out->res_first_family[r] = out->res_final_family[r] = HDI_NONE;
        uint32_t first = w->entry_begin[w->frozen->res_seg_begin[r]], end = w->entry_begin[w->frozen->res_seg_begin[r + 1]];
        uint32_t first_slot = HDI_NONE, last_slot = 0;
        for (uint32_t e = first; e < end; e++) {
            uint32_t slot = out->entry_slot[e], family = w->queues->family[w->schedule->slot_queue[slot]];
            if (family == HDI_NONE)
                continue;
            if (slot < first_slot) {
                first_slot = slot;
                out->res_first_family[r] = family;
            }
            if (slot >= last_slot) {
                last_slot = slot;
                out->res_final_family[r] = family;
            }
        }
    }
}

hd_result hdi_hazard(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_schedule *schedule,
                     const hdi_queues *queues, hdi_arena *arena, hdi_hazards *out)
{
    work w = {.decl = decl, .frozen = frozen, .schedule = schedule, .queues = queues, .arena = arena, .out = out};
    w.gpu_mask = (1u << queues->gpu_count) - 1;
    for (uint32_t q = 1; q < queues->gpu_count; q++)
        w.several_families |= queues->family[q] != queues->family[0];
    w.extras.at = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)schedule->slot_count + 1);
    out->res_concurrent = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    out->res_used = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    out->res_final_layout = HDI_ARENA_ZEROED(arena, uint32_t, decl->res_count);
    out->res_first_family = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    out->res_final_family = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t s = 0; s <= schedule->slot_count; s++)
        w.extras.at[s] = HDI_NONE;
    hd_result result = collect_entries(&w);
    if (result == HD_OK)
        result = build_epochs(&w);
    if (result != HD_OK)
        return result;
    find_families(&w);
    result = add_finals(&w);
    if (result != HD_OK)
        return result;
    for (uint32_t seg = 0; seg < frozen->seg_count; seg++) {
        uint32_t first = out->seg_epoch_begin[seg], end = out->seg_epoch_begin[seg + 1];
        bool final = end > first && out->epoch[end - 1].flags & HDI_EPOCH_FINAL;
        out->seg_epoch_begin[seg + 1] = end - final; /* the loop below sees uses only */
        place_segment(&w, seg);
        out->seg_epoch_begin[seg + 1] = end;
        if (final)
            place_final(&w, seg, &out->epoch[end - 1]);
    }
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    return hdi_number_slots(schedule, queues, &w.extras, w.edges, w.edge_count, arena, out);
}
