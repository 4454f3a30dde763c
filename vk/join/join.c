#include "history.h"

#include <string.h>

#include "alloc.h"
#include "hash.h"
#include "vk_device.h"
#include "vk_frame.h"
#include "vk_join.h"

/* Joins a frame to the ones before it. A plan says nothing of earlier frames: here what they left in each byte of
 * memory (and in each import) meets what this frame does there first, and only where one of the two writes something
 * waits: a submit for a value of another queue's timeline, a command for stages of its own queue behind a memory
 * barrier. All else overlaps.
 *
 * Memory of a heap is kept as disjoint spans, each with a cell: on which queues, up to which value and in which stages
 * the last frame that used those bytes did so. Resources are taken in the order of their first use, each replaces the
 * spans that it covers; so bytes that change hands within the frame meet an older frame's cell once, with their first
 * tenant, and the plan's own barriers do the rest: those of a compiled plan hand over whole resources, also bytes that
 * the next tenant does not touch. Cells live in the arena of their frame's slot: once that comes round again the frame
 * has finished, and its cells mean nothing any more.
 *
 * Where it is not sure it waits for more: stages of different resources meet in one barrier. After a frame that failed
 * half way and after the clears of histories, each queue waits once for all of the others (fresh).
 *
 * While one plan is executed again and again, what comes out of that for the memory of its heaps repeats: once all that
 * still lives was left by that plan, each frame meets what the one before it met, one frame later. Then it is taken
 * from the last time, and the spans stay as they are; before another plan's frame they are brought up to date. Imports
 * are joined anew in every frame: an engine may import other ones.
 *
 * Cost: a binary search and a move of spans a resource; of a frame that repeats, what it waits for. */

typedef struct joining {
    hdi_vk_frame *frame; /* null: a frame of before is written down anew */
    hd_vk *vk;
    const hdi_vk_kept *kept;
    hdi_arena *arena;
    uint64_t number; /* of the frame */
    uint64_t base[HD_MAX_QUEUES];
    uint32_t queues;     /* of the hd_vk, the host's included */
    uint32_t join_count; /* in frame->joins */
    bool shared;         /* before and joins are those of the steady join, and not to be written */
} joining;

/* ---- where it meets earlier frames ---- */

static bool lives(const hd_vk *vk, uint64_t frame)
{
    return frame + vk->slot_count > vk->frame;
}

/* Copies of the steady join's, to write into; room was made. */
static void copy_steady(joining *j)
{
    const hdi_vk_steady_join *steady = &j->kept->steady;
    memcpy(j->frame->before_room, steady->before_all, j->frame->plan.command_count * sizeof(*steady->before_all));
    memcpy(j->frame->joins_room, steady->joins, steady->join_count * sizeof(*steady->joins));
    memset(j->frame->joins_room + steady->join_count, 0,
           (j->kept->join_capacity - steady->join_count) * sizeof(*steady->joins));
    j->frame->before = j->frame->before_room;
    j->frame->joins = j->frame->joins_room;
    j->join_count = steady->join_count;
    j->shared = false;
}

static void join_command(joining *j, uint32_t command, const hdi_vk_left *left, const hdi_vk_touch *t)
{
    hdi_vk_frame *frame = j->frame;
    if (j->shared)
        copy_steady(j);
    if (frame->before[command] == 0)
        frame->before[command] = ++j->join_count;
    hdi_vk_join *join = &frame->joins[frame->before[command] - 1];
    join->src_stages |= left->stages ? left->stages : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    join->src_access |= left->access;
    join->dst_stages |= t->first_stages ? t->first_stages : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    join->dst_access |= t->first_access;
}

/* A resource meets what earlier frames left in some of its bytes; with reads only both go side by side. */
static void meet(joining *j, const hdi_vk_touch *row, const hdi_vk_cell *cell)
{
    hdi_vk_frame *frame = j->frame;
    const hd_vk *vk = frame->vk;
    for (uint32_t q = 0; q < j->queues; q++) {
        const hdi_vk_touch *t = &row[q];
        for (uint32_t i = 0; t->command && i < cell->left_count; i++) {
            const hdi_vk_left *left = &cell->left[i];
            if (!lives(vk, left->frame) || left->frame == vk->frame || (!t->writes && !left->writes))
                continue;
            uint64_t *wait = &frame->join_values[(size_t)t->submit * j->queues + left->queue];
            if (left->queue == q && !left->apart) {
                if (q != vk->queue_count)
                    join_command(j, t->command - 1, left, t);
            } else if (left->value > *wait) {
                *wait = left->value;
            }
        }
    }
}

/* What the frame leaves, with room for more that earlier ones left. */
static hdi_vk_cell *make_cell(const joining *j, const hdi_vk_touch *row, uint32_t more)
{
    hdi_vk_cell *cell = hdi_arena_alloc(j->arena, sizeof(*cell) + (size_t)(j->queues + more) * sizeof(cell->left[0]));
    if (!cell)
        return NULL;
    *cell = (hdi_vk_cell){.frame = j->number};
    for (uint32_t q = 0; q < j->queues; q++) {
        const hdi_vk_touch *t = &row[q];
        if (t->command == 0)
            continue;
        cell->left[cell->left_count++] = (hdi_vk_left){.value = j->base[q] + j->kept->covered[t->last_submit],
                                                       .frame = j->number,
                                                       .stages = t->last_stages,
                                                       .access = t->last_access,
                                                       .queue = q,
                                                       .apart = t->apart,
                                                       .writes = t->writes};
        cell->writes |= t->writes;
    }
    return cell;
}

/* Where the frame only reads, a later one must still wait for the last write, in stages and on queues of its own. */
static void keep_left(const hd_vk *vk, hdi_vk_cell *cell, const hdi_vk_cell *old)
{
    for (uint32_t i = 0; i < old->left_count && !cell->writes; i++) {
        if (lives(vk, old->left[i].frame))
            cell->left[cell->left_count++] = old->left[i];
    }
}

/* ---- spans ---- */

static uint32_t first_span(const hdi_vk_heap *heap, uint64_t begin, uint32_t guess)
{
    uint32_t low = 0, high = heap->span_count;
    if (guess < high && heap->spans[guess].end > begin && (guess == 0 || heap->spans[guess - 1].end <= begin))
        return guess;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (heap->spans[middle].end <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Puts one span in the place of whatever lies in its bytes; what sticks out on either side stays. */
static hd_result replace_spans(hd_vk *vk, hdi_vk_heap *heap, uint32_t first, const hdi_vk_span *span)
{
    if (first < heap->span_count && heap->spans[first].begin == span->begin && heap->spans[first].end == span->end) {
        heap->spans[first] = *span;
        return HD_OK;
    }
    hd_result result =
        hdi_grow(&vk->allocator, (void **)&heap->spans, &heap->span_capacity, heap->span_count + 2, sizeof(*span));
    if (result != HD_OK)
        return result;
    hdi_vk_span pieces[3];
    uint32_t end = first, count = 0;
    while (end < heap->span_count && heap->spans[end].begin < span->end)
        end++;
    if (end > first && heap->spans[first].begin < span->begin) {
        pieces[count] = heap->spans[first];
        pieces[count++].end = span->begin;
    }
    pieces[count++] = *span;
    if (end > first && heap->spans[end - 1].end > span->end) {
        pieces[count] = heap->spans[end - 1];
        pieces[count++].begin = span->end;
    }
    if (count != end - first)
        memmove(&heap->spans[first + count], &heap->spans[end], (heap->span_count - end) * sizeof(*span));
    memcpy(&heap->spans[first], pieces, count * sizeof(*span));
    heap->span_count = heap->span_count - (end - first) + count;
    return HD_OK;
}

static bool is_older(const joining *j, const hdi_vk_span *span)
{
    return span->frame != j->number && lives(j->vk, span->frame);
}

/* Writes down what the frame does to bytes of a heap from `begin` on, which hold a resource of the plan. */
static hd_result join_bytes(joining *j, uint32_t index, hdi_vk_heap *heap, uint64_t begin, uint64_t bytes,
                            uint32_t *guess)
{
    const hdi_vk_touch *row = &j->kept->touches[(size_t)index * j->queues];
    hdi_vk_span span = {begin, begin + bytes, j->number, NULL};
    uint32_t first = *guess = first_span(heap, span.begin, *guess), more = 0;
    for (uint32_t i = first; i < heap->span_count && heap->spans[i].begin < span.end; i++)
        more += is_older(j, &heap->spans[i]) ? heap->spans[i].cell->left_count : 0;
    hdi_vk_cell *cell = make_cell(j, row, more);
    if (!cell)
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = first; i < heap->span_count && heap->spans[i].begin < span.end; i++) {
        if (!is_older(j, &heap->spans[i]))
            continue;
        if (j->frame)
            meet(j, row, heap->spans[i].cell);
        keep_left(j->vk, cell, heap->spans[i].cell);
    }
    span.cell = cell;
    return replace_spans(j->vk, heap, first, &span);
}

static hd_result join_placed(joining *j)
{
    hdi_vk_frame *frame = j->frame;
    hd_result result = HD_OK;
    for (uint32_t i = 0; i < j->kept->order_count && result == HD_OK; i++) {
        uint32_t index = j->kept->order[i];
        const hd_plan_resource *plan = &frame->plan.resources[index];
        const hdi_vk_object *object = frame->bound[plan->id];
        uint32_t *guess = &hdi_vk_guess_of(j->vk, index)->span;
        if (object->heap)
            result = join_bytes(j, index, object->heap, object->offset, object->bytes, guess);
        else if (plan->heap != HD_NONE)
            result = join_bytes(j, index, frame->heaps[plan->heap], object->offset, plan->bytes, guess);
    }
    return result;
}

/* ---- imports ---- */

/* Handles of images and buffers may be equal. */
static hdi_vk_import *find_import(hdi_vk_import *imports, uint32_t capacity, const void *native, bool buffer)
{
    uint32_t at = (uint32_t)hdi_hash_mix(0, (uint64_t)(uintptr_t)native) & (capacity - 1);
    while (imports[at].native && (imports[at].native != native || imports[at].buffer != buffer))
        at = (at + 1) & (capacity - 1);
    return &imports[at];
}

/* Room for more at half load; those of finished frames go. */
static hd_result grow_imports(hd_vk *vk, uint32_t more)
{
    if ((vk->import_count + more) * 2 <= vk->import_capacity)
        return HD_OK;
    uint32_t living = more, capacity = 64;
    for (uint32_t i = 0; i < vk->import_capacity; i++)
        living += vk->imports[i].native && lives(vk, vk->imports[i].frame);
    while (capacity < living * 4)
        capacity *= 2;
    hdi_vk_import *imports = hdi_alloc(&vk->allocator, capacity * sizeof(*imports), 64);
    if (!imports)
        return HD_OUT_OF_MEMORY;
    memset(imports, 0, capacity * sizeof(*imports));
    vk->import_count = 0;
    for (uint32_t i = 0; i < vk->import_capacity; i++) {
        if (!vk->imports[i].native || !lives(vk, vk->imports[i].frame))
            continue;
        *find_import(imports, capacity, vk->imports[i].native, vk->imports[i].buffer) = vk->imports[i];
        vk->import_count++;
    }
    hdi_free(&vk->allocator, vk->imports, vk->import_capacity * sizeof(*imports));
    vk->imports = imports;
    vk->import_capacity = capacity;
    return HD_OK;
}

static hd_result join_import(joining *j, uint32_t index)
{
    hdi_vk_frame *frame = j->frame;
    hd_vk *vk = frame->vk;
    const hdi_vk_touch *row = &j->kept->touches[(size_t)index * j->queues];
    const hd_plan_resource *plan = &frame->plan.resources[index];
    const hdi_res_import *from = &frame->decl.res_import[plan->id];
    bool buffer = frame->decl.res_flags[plan->id] & HDI_RES_BUFFER;
    hd_result result = grow_imports(vk, 1);
    if (result != HD_OK)
        return result;
    hdi_vk_import *import = find_import(vk->imports, vk->import_capacity, from->native, buffer);
    result = hdi_vk_check_import(frame, plan->id, import);
    if (result != HD_OK)
        return result;
    const hdi_vk_cell *old = import->native && lives(vk, import->frame) ? import->cell : NULL;
    hdi_vk_cell *cell = make_cell(j, row, old ? old->left_count : 0);
    if (!cell)
        return HD_OUT_OF_MEMORY;
    if (old) {
        meet(j, row, old);
        keep_left(vk, cell, old);
    }
    vk->import_count += import->native == NULL;
    *import = (hdi_vk_import){.native = from->native,
                              .frame = vk->frame,
                              .cell = cell,
                              .serial = from->serial,
                              .resource = plan->id,
                              .layout = plan->final_layout,
                              .buffer = buffer,
                              .warned = import->warned};
    return HD_OK;
}

/* Which submits wait for the engine's semaphores and signal them; those of an import that no GPU queue uses, the last.
 */
static hd_result place_syncs(joining *j)
{
    hdi_vk_frame *frame = j->frame;
    hd_vk *vk = frame->vk;
    uint32_t last = HD_NONE;
    for (uint32_t s = 0; s < frame->plan.submit_count; s++)
        last = frame->queue_of[frame->plan.submits[s].queue] != vk->queue_count ? s : last;
    for (uint32_t i = 0; i < vk->sync_count; i++) {
        hdi_vk_sync *sync = &vk->syncs[i];
        uint32_t res = hd_graph_resource_index(frame->graph, sync->import);
        sync->wait_submit = sync->signal_submit = sync->wait_command = HD_NONE;
        if (res == HD_NONE || sync->graph != frame->graph)
            continue; /* of another graph's frame, or of one that never was executed */
        uint32_t index = frame->plan_index[res];
        for (uint32_t q = 0; index != HDI_NONE && q < vk->queue_count; q++) {
            const hdi_vk_touch *t = &frame->kept->touches[(size_t)index * j->queues + q];
            if (t->command && (sync->wait_submit == HD_NONE || t->submit < sync->wait_submit)) {
                sync->wait_submit = t->submit;
                sync->wait_command = t->command - 1;
            }
            if (t->command && (sync->signal_submit == HD_NONE || t->last_submit > sync->signal_submit))
                sync->signal_submit = t->last_submit;
        }
        if (sync->wait_submit == HD_NONE && sync->told)
            continue; /* the swapchain keeps the image for the next frame */
        if (sync->wait_submit == HD_NONE)
            sync->wait_submit = sync->signal_submit = last;
        if (last == HD_NONE)
            return hdi_vk_fail(vk, HD_INVALID_ARGUMENT, HD_NONE, res,
                               "a frame without GPU passes cannot wait for or signal the engine's semaphores");
    }
    return HD_OK;
}

/* ---- frames that repeat ---- */

static void use_heaps(const hdi_vk_frame *frame, bool *same)
{
    const hd_vk *vk = frame->vk;
    hdi_vk_steady_join *steady = &frame->kept->steady;
    uint32_t heap_count = frame->plan.heap_count, at = (uint32_t)(vk->frame % vk->copy_count) * heap_count;
    *same = true;
    for (uint32_t h = 0; h < heap_count; h++) {
        uint64_t serial = frame->heaps[h] ? frame->heaps[h]->serial : 0;
        *same &= steady->heap_serials[at + h] == serial;
        steady->heap_serials[at + h] = serial;
        steady->heaps[at + h] = frame->heaps[h];
    }
    uint64_t histories = 0;
    for (uint32_t i = 0; i < frame->kept->history_count; i++) {
        const hdi_vk_history *history = frame->histories[i];
        uint64_t turns = frame->kept->histories[i].used ? vk->frame : 0; /* in step with the frames */
        histories = hdi_hash_mix(histories, history->serial * 2 + (history->turn + turns) % 2);
    }
    *same &= steady->histories == histories;
    steady->histories = histories;
}

/* Frames of the plan, in a row and with these heaps, until all that lives is theirs. */
static uint32_t frames_to_repeat(const hd_vk *vk)
{
    return vk->slot_count + 2;
}

/* Notes how the memory of the heaps was joined. */
static void note_steady(const joining *j)
{
    const hdi_vk_frame *frame = j->frame;
    hdi_vk_steady_join *steady = &frame->kept->steady;
    uint32_t waits = 0, count = frame->plan.submit_count * j->queues;
    memcpy(steady->before_all, frame->before, frame->plan.command_count * sizeof(*frame->before));
    memcpy(steady->joins, frame->joins, j->join_count * sizeof(*frame->joins));
    steady->join_count = j->join_count;
    for (uint32_t i = 0; i < count; i++) {
        if (frame->join_values[i] == 0)
            continue;
        steady->wait_at[waits] = i;
        steady->wait_back[waits++] = j->base[i % j->queues] - frame->join_values[i];
    }
    steady->wait_count = waits;
    steady->frame = j->number;
    for (uint32_t i = 0; i < frame->plan.resource_count; i++)
        steady->offsets[i] = frame->bound[frame->plan.resources[i].id]->offset;
    for (uint32_t i = 0; i < j->kept->history_count; i++) {
        const hdi_vk_kept_history *at = &j->kept->histories[i];
        hdi_vk_history *history = frame->histories[i];
        for (uint32_t since = 0; since < 2; since++) {
            uint32_t turn = (history->turn + since * at->used) % 2;
            if (at->of != HDI_NONE)
                steady->turns[2 * at->of + since] = history->objects[turn];
            if (at->plan != HDI_NONE)
                steady->turns[2 * at->plan + since] = history->objects[1 - turn];
        }
    }
}

/* The same without barriers that others contain: what a frame without imports records. */
static void note_dropped(const hdi_vk_frame *frame)
{
    memcpy(frame->kept->steady.before_left, frame->before, frame->plan.command_count * sizeof(*frame->before));
}

static void repeat(joining *j)
{
    hdi_vk_frame *frame = j->frame;
    const hdi_vk_steady_join *steady = &j->kept->steady;
    frame->before = steady->before_left;
    frame->joins = steady->joins;
    j->shared = true;
    for (uint32_t w = 0; w < steady->wait_count; w++) {
        uint32_t at = steady->wait_at[w];
        frame->join_values[at] = j->base[at % j->queues] - steady->wait_back[w];
    }
}

/* Writes down what the plan's frame of so many frames ago did. A history and what it is of take turns. */
static hd_result catch_up(hd_vk *vk, uint32_t age)
{
    const hdi_vk_kept *kept = vk->streak_of;
    const hdi_vk_steady_join *steady = &kept->steady;
    hd_plan_view plan = hd_plan_read(kept->plan);
    joining j = {.vk = vk,
                 .kept = kept,
                 .arena = &vk->slots[vk->frame % vk->slot_count].arena,
                 .number = vk->frame - age,
                 .queues = vk->queue_count + 1};
    for (uint32_t q = 0; q < j.queues; q++)
        j.base[q] = vk->queues[q].base - age * kept->ends.end[q];
    uint32_t copy = (uint32_t)(j.number % vk->copy_count) * plan.heap_count, guess = 0;
    hd_result result = HD_OK;
    for (uint32_t i = 0; i < kept->order_count && result == HD_OK; i++) {
        uint32_t index = kept->order[i];
        const hd_plan_resource *resource = &plan.resources[index];
        const hdi_vk_object *object = steady->turns[2 * index + (j.number - steady->frame) % 2];
        if (object)
            result = join_bytes(&j, index, object->heap, object->offset, object->bytes, &guess);
        else if (resource->heap != HD_NONE)
            result = join_bytes(&j, index, steady->heaps[copy + resource->heap], steady->offsets[index],
                                resource->bytes, &guess);
    }
    return result;
}

void hdi_vk_catch_up(hd_vk *vk)
{
    uint32_t age = vk->stale < vk->slot_count - 1 ? vk->stale : vk->slot_count - 1;
    hd_result result = HD_OK;
    for (; age > 0 && result == HD_OK; age--)
        result = catch_up(vk, age);
    vk->stale = 0;
    if (result != HD_OK)
        hdi_vk_forget_left(vk);
}

/* ---- entry ---- */

void hdi_vk_forget_left(hd_vk *vk)
{
    for (uint32_t h = 0; h < vk->heap_count; h++)
        vk->heaps[h]->span_count = 0;
    if (vk->import_capacity)
        memset(vk->imports, 0, vk->import_capacity * sizeof(*vk->imports));
    vk->import_count = 0;
    for (uint32_t q = 0; q <= vk->queue_count; q++)
        vk->fresh[q] = true;
    vk->streak = vk->stale = 0;
    vk->streak_of = NULL;
}

/* Room for what is joined. */
static hd_result make_room(hdi_vk_frame *frame, bool repeats)
{
    hdi_arena *arena = &frame->slot->arena;
    const hd_plan_view *plan = &frame->plan;
    size_t joins = frame->kept->join_capacity;
    frame->before_room = HDI_ARENA_ARRAY(arena, uint32_t, plan->command_count);
    frame->joins_room = HDI_ARENA_ARRAY(arena, hdi_vk_join, joins);
    frame->join_values = HDI_ARENA_ZEROED(arena, uint64_t, (size_t)plan->submit_count * (frame->vk->queue_count + 1));
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (!repeats) {
        memset(frame->before_room, 0, plan->command_count * sizeof(*frame->before_room));
        memset(frame->joins_room, 0, joins * sizeof(*frame->joins_room));
        frame->before = frame->before_room;
        frame->joins = frame->joins_room;
    }
    return HD_OK;
}

hd_result hdi_vk_join_frames(hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    hdi_vk_kept *kept = frame->kept;
    bool same_heaps = false, row = kept->serial && vk->streak_of == kept;
    if (kept->serial)
        use_heaps(frame, &same_heaps);
    if (vk->stale && !(row && same_heaps))
        hdi_vk_forget_left(vk); /* a heap went while the spans were not up to date */
    bool repeats = row && same_heaps && vk->streak >= frames_to_repeat(vk);
    if (!repeats) /* it stays there while frames repeat, however many */
        vk->streak = row && same_heaps ? vk->streak + 1 : 0;
    bool note = !repeats && vk->streak == frames_to_repeat(vk);
    vk->streak_of = kept->serial ? kept : NULL;
    joining j = {.frame = frame,
                 .vk = vk,
                 .kept = kept,
                 .arena = &frame->slot->arena,
                 .number = vk->frame,
                 .queues = vk->queue_count + 1};
    for (uint32_t q = 0; q < j.queues; q++)
        j.base[q] = vk->queues[q].base;
    hd_result result = make_room(frame, repeats);
    if (result == HD_OK)
        result = place_syncs(&j);
    if (result != HD_OK)
        return result;
    if (repeats) {
        repeat(&j);
        vk->stale += vk->stale < vk->slot_count; /* older ones do not count */
    } else {
        result = join_placed(&j);
    }
    if (result == HD_OK && note) {
        note_steady(&j);
        hdi_vk_drop_contained(frame);
        note_dropped(frame);
        repeat(&j);
    }
    for (uint32_t i = 0; i < kept->order_count && result == HD_OK && kept->import_count; i++) {
        if (frame->decl.res_flags[frame->plan.resources[kept->order[i]].id] & HDI_RES_EXTERNAL)
            result = join_import(&j, kept->order[i]);
    }
    if (result == HD_OK && !j.shared)
        hdi_vk_drop_contained(frame);
    if (result == HD_OK)
        hdi_vk_drop_implied(frame);
    return result;
}
