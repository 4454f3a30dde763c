#include "vk_join.h"
#include "vk_memory.h"

#include <stddef.h>
#include <string.h>

#include "alloc.h"

/* What follows from a plan, its declaration and the device, and not from the frame: that the plan can be executed,
 * where each resource is touched first and last, what its images and buffers are made from, barriers and renderings up
 * to the handles in them. It is made once and found again by comparing: the plan by its hash and size, and in full
 * where it stands at another address than last time (a plan is constant while it stands); the declaration's columns in
 * full, because two declarations may have one plan (it knows no formats). A plan that was not seen in the last frames
 * gets one that lives in its frame's arena, so that an engine whose plans never come again pays for no copies.
 *
 * Cost: a frame that comes again reads its declaration and the copy, once. */

#define RES_KEY_BYTES offsetof(hdi_res_info, name)

/* ---- comparing ---- */

static bool same(const void *a, const void *b, size_t count, size_t bytes)
{
    return count == 0 || memcmp(a, b, count * bytes) == 0;
}

static bool same_accesses(const hdi_decl *a, const hdi_decl *b)
{
    for (uint32_t i = HDI_ACCESS_CUSTOM_FIRST; i < a->access_count; i++) {
        const hdi_access_info *x = &a->access[i], *y = &b->access[i];
        if (x->stages != y->stages || x->access != y->access || x->layout != y->layout || x->reads != y->reads ||
            x->writes != y->writes || x->attachment != y->attachment || x->image_usage != y->image_usage ||
            x->buffer_usage != y->buffer_usage)
            return false;
    }
    return true;
}

static bool same_resources(const hdi_decl *a, const hdi_decl *b)
{
    for (uint32_t r = 0; r < a->res_count; r++) {
        if (memcmp(&a->res_info[r], &b->res_info[r], RES_KEY_BYTES) != 0)
            return false;
    }
    return true;
}

static bool same_declaration(const hdi_decl *a, const hdi_decl *b)
{
    return a->pass_count == b->pass_count && a->res_count == b->res_count && a->use_count == b->use_count &&
           a->range_count == b->range_count && a->access_count == b->access_count &&
           same(a->pass_type, b->pass_type, a->pass_count, sizeof(*a->pass_type)) &&
           same(a->pass_use_begin, b->pass_use_begin, (size_t)a->pass_count + 1, sizeof(*a->pass_use_begin)) &&
           same(a->use_res, b->use_res, a->use_count, sizeof(*a->use_res)) &&
           same(a->use_access, b->use_access, a->use_count, sizeof(*a->use_access)) &&
           same(a->use_range, b->use_range, a->use_count, sizeof(*a->use_range)) &&
           same(a->use_exec, b->use_exec, a->use_count, sizeof(*a->use_exec)) &&
           same(a->range, b->range, a->range_count, sizeof(*a->range)) &&
           same(a->res_flags, b->res_flags, a->res_count, sizeof(*a->res_flags)) &&
           same(a->res_pair, b->res_pair, a->res_count, sizeof(*a->res_pair)) && same_resources(a, b) &&
           same_accesses(a, b);
}

static bool fits(hdi_vk_kept *kept, const hdi_vk_frame *frame, const hd_plan *plan)
{
    if (kept->hash != frame->plan.hash || kept->bytes != frame->plan.bytes ||
        !same_declaration(&kept->decl, &frame->decl))
        return false;
    size_t bytes;
    const void *data = hd_plan_data(plan, &bytes);
    if (kept->plan_at != data && (bytes != kept->bytes || memcmp(kept->plan, data, bytes) != 0))
        return false;
    kept->plan_at = data;
    return true;
}

/* ---- copying ---- */

static const void *copy(hdi_arena *arena, const void *data, size_t count, size_t bytes)
{
    void *to = hdi_arena_array(arena, count, bytes);
    if (to && count)
        memcpy(to, data, count * bytes);
    return to;
}

static void copy_declaration(hdi_arena *arena, const hdi_decl *d, hdi_decl *out)
{
    *out = (hdi_decl){
        .pass_count = d->pass_count,
        .res_count = d->res_count,
        .use_count = d->use_count,
        .range_count = d->range_count,
        .access_count = d->access_count,
        .pass_type = copy(arena, d->pass_type, d->pass_count, sizeof(*d->pass_type)),
        .pass_use_begin = copy(arena, d->pass_use_begin, (size_t)d->pass_count + 1, sizeof(*d->pass_use_begin)),
        .use_res = copy(arena, d->use_res, d->use_count, sizeof(*d->use_res)),
        .use_access = copy(arena, d->use_access, d->use_count, sizeof(*d->use_access)),
        .use_range = copy(arena, d->use_range, d->use_count, sizeof(*d->use_range)),
        .use_exec = copy(arena, d->use_exec, d->use_count, sizeof(*d->use_exec)),
        .range = copy(arena, d->range, d->range_count, sizeof(*d->range)),
        .res_flags = copy(arena, d->res_flags, d->res_count, sizeof(*d->res_flags)),
        .res_pair = copy(arena, d->res_pair, d->res_count, sizeof(*d->res_pair)),
        .res_info = copy(arena, d->res_info, d->res_count, sizeof(*d->res_info)),
        .access = copy(arena, d->access, d->access_count, sizeof(*d->access)),
    };
}

/* ---- making ---- */

static hdi_vk_key key_in_plan(const hdi_vk_frame *frame, const hd_plan_resource *plan)
{
    uint32_t flags = frame->decl.res_flags[plan->id];
    hd_resource_info info;
    hdi_resource_info(&frame->decl, plan->id, &info);
    if (!(flags & HDI_RES_EXTERNAL))
        info.concurrent_possible = plan->flags & HD_PLAN_CONCURRENT;
    hdi_vk_key key = hdi_vk_key_of(&info);
    /* to be cleared before its first use, and copied where another plan needs another one */
    if (!info.is_buffer && flags & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY))
        key.usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    return key;
}

static hd_result index_plan(const hdi_vk_frame *frame, hdi_vk_kept *kept, hdi_arena *arena)
{
    const hd_plan_view *plan = &frame->plan;
    uint32_t res_count = frame->decl.res_count;
    kept->plan_index = HDI_ARENA_ARRAY(arena, uint32_t, res_count);
    kept->keys = HDI_ARENA_ARRAY(arena, hdi_vk_key, plan->resource_count);
    kept->patched = HDI_ARENA_ZEROED(arena, uint64_t, plan->resource_count);
    kept->histories = HDI_ARENA_ARRAY(arena, hdi_vk_kept_history, plan->resource_count);
    kept->heap_used = HDI_ARENA_ZEROED(arena, uint8_t, plan->heap_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t r = 0; r < res_count; r++)
        kept->plan_index[r] = HDI_NONE;
    for (uint32_t i = 0; i < plan->resource_count; i++) {
        if (plan->resources[i].id < res_count)
            kept->plan_index[plan->resources[i].id] = i;
    }
    return HD_OK;
}

/* The histories, in the order of the plan's resources. */
static hd_result note_histories(const hdi_vk_frame *frame, hdi_vk_kept *kept, hdi_arena *arena)
{
    const hd_plan_view *plan = &frame->plan;
    const hdi_decl *decl = &frame->decl;
    uint8_t *used = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    uint8_t *moves = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t c = 0; c < plan->command_count; c++) {
        uint32_t pass = plan->commands[c].index;
        if (plan->commands[c].kind != HD_COMMAND_PASS)
            continue;
        for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++)
            used[decl->use_res[u]] = 1;
    }
    for (uint32_t b = 0; b < plan->barrier_count; b++) {
        if (plan->barriers[b].resource != HD_NONE && plan->barriers[b].src_family != plan->barriers[b].dst_family)
            moves[plan->barriers[b].resource] = 1;
    }
    for (uint32_t i = 0; i < plan->resource_count; i++) {
        uint32_t id = plan->resources[i].id, pair = decl->res_pair[id];
        bool is_history = decl->res_flags[id] & HDI_RES_HISTORY;
        if (pair == HDI_NONE || (!is_history && kept->plan_index[pair] != HDI_NONE))
            continue;
        hdi_vk_kept_history *to = &kept->histories[kept->history_count++];
        *to = (hdi_vk_kept_history){.res = pair, .plan = HDI_NONE, .of = i, .used = used[id]};
        if (is_history)
            *to = (hdi_vk_kept_history){.res = id, .plan = i, .of = kept->plan_index[pair], .used = used[pair]};
        to->moves = moves[id] || moves[pair];
    }
    return HD_OK;
}

static void note_resources(const hdi_vk_frame *frame, hdi_vk_kept *kept)
{
    const hd_plan_view *plan = &frame->plan;
    for (uint32_t i = 0; i < plan->resource_count; i++) {
        uint32_t flags = frame->decl.res_flags[plan->resources[i].id];
        kept->keys[i] = key_in_plan(frame, &plan->resources[i]);
        kept->import_count += flags & HDI_RES_EXTERNAL || hdi_is_token(&frame->decl, plan->resources[i].id);
        if (!(flags & HDI_KEEPS_STATE) && plan->resources[i].heap < plan->heap_count)
            kept->heap_used[plan->resources[i].heap] = 1;
    }
    for (uint32_t c = 0; c < plan->command_count; c++) {
        const hd_plan_command *command = &plan->commands[c];
        if ((command->kind == HD_COMMAND_SET || command->kind == HD_COMMAND_WAIT) &&
            command->event >= kept->event_count)
            kept->event_count = command->event + 1;
    }
}

static hd_result fill(hdi_vk_frame *frame, hdi_vk_kept *kept, hdi_arena *arena)
{
    frame->kept = kept;
    hd_result result = index_plan(frame, kept, arena);
    frame->plan_index = kept->plan_index;
    frame->queue_of = kept->queue_of;
    if (result == HD_OK)
        result = hdi_vk_check_plan(frame);
    if (result == HD_OK)
        result = hdi_vk_match_queues(frame, kept->queue_of);
    if (result == HD_OK)
        result = hdi_vk_check_queues(frame);
    if (result != HD_OK)
        return result;
    note_resources(frame, kept);
    result = note_histories(frame, kept, arena);
    if (result == HD_OK)
        result = hdi_vk_keep_touches(frame, kept, arena);
    if (result == HD_OK)
        result = hdi_vk_keep_barriers(frame, kept, arena);
    if (result == HD_OK)
        result = hdi_vk_keep_renderings(frame, kept, arena);
    return result;
}

/* Room for joins that repeat. */
static hd_result make_steady(const hdi_vk_frame *frame, hdi_vk_kept *kept, hdi_arena *arena)
{
    const hd_plan_view *plan = &frame->plan;
    hdi_vk_steady_join *steady = &kept->steady;
    size_t waits = (size_t)plan->submit_count * (frame->vk->queue_count + 1);
    size_t heaps = (size_t)plan->heap_count * frame->vk->copy_count;
    steady->before_all = HDI_ARENA_ARRAY(arena, uint32_t, plan->command_count);
    steady->before_left = HDI_ARENA_ARRAY(arena, uint32_t, plan->command_count);
    steady->joins = HDI_ARENA_ARRAY(arena, hdi_vk_join, kept->join_capacity);
    steady->wait_at = HDI_ARENA_ARRAY(arena, uint32_t, waits);
    steady->wait_back = HDI_ARENA_ARRAY(arena, uint64_t, waits);
    steady->offsets = HDI_ARENA_ARRAY(arena, uint64_t, plan->resource_count);
    steady->turns = HDI_ARENA_ZEROED(arena, hdi_vk_object *, 2 * (size_t)plan->resource_count);
    steady->heaps = HDI_ARENA_ZEROED(arena, hdi_vk_heap *, heaps);
    steady->heap_serials = HDI_ARENA_ZEROED(arena, uint64_t, heaps);
    return arena->failed ? HD_OUT_OF_MEMORY : HD_OK;
}

static bool was_seen(const hd_vk *vk, uint64_t hash)
{
    for (uint32_t i = 0; i < HDI_VK_KEEP_FRAMES; i++) {
        if (vk->seen[i] == hash)
            return true;
    }
    return false;
}

static void drop(hd_vk *vk, hdi_vk_kept *kept)
{
    if (vk->streak_of == kept)
        hdi_vk_forget_left(vk);
    hdi_arena_free(&kept->arena);
    hdi_free(&vk->allocator, kept, sizeof(*kept));
}

static hd_result make(hdi_vk_frame *frame, const hd_plan *plan)
{
    hd_vk *vk = frame->vk;
    hdi_vk_kept *kept = hdi_alloc(&vk->allocator, sizeof(*kept), 64);
    if (!kept)
        return HD_OUT_OF_MEMORY;
    memset(kept, 0, sizeof(*kept));
    hdi_arena *arena = &kept->arena;
    hdi_arena_init(arena, &vk->allocator);
    size_t bytes;
    kept->plan_at = hd_plan_data(plan, &bytes);
    kept->hash = frame->plan.hash;
    kept->bytes = bytes;
    kept->plan = copy(arena, kept->plan_at, bytes, 1);
    copy_declaration(arena, &frame->decl, &kept->decl);
    hd_result result = arena->failed ? HD_OUT_OF_MEMORY : fill(frame, kept, arena);
    if (result == HD_OK)
        result = make_steady(frame, kept, arena);
    if (result != HD_OK) {
        drop(vk, kept);
        frame->kept = NULL;
        return result;
    }
    kept->serial = ++vk->kept_serial;
    kept->last_frame = vk->frame;
    kept->next = vk->kept;
    vk->kept = kept;
    return HD_OK;
}

/* ---- entry ---- */

hd_result hdi_vk_keep(hdi_vk_frame *frame, const hd_plan *plan)
{
    hd_vk *vk = frame->vk;
    for (hdi_vk_kept **link = &vk->kept, *kept; (kept = *link); link = &kept->next) {
        if (!fits(kept, frame, plan))
            continue;
        *link = kept->next; /* to the front */
        kept->next = vk->kept;
        vk->kept = kept;
        kept->last_frame = vk->frame;
        frame->kept = kept;
        frame->plan_index = kept->plan_index;
        frame->queue_of = kept->queue_of;
        return HD_OK;
    }
    bool again = was_seen(vk, frame->plan.hash);
    vk->seen[vk->frame % HDI_VK_KEEP_FRAMES] = frame->plan.hash;
    if (again)
        return make(frame, plan);
    hdi_vk_kept *once = HDI_ARENA_ZEROED(&frame->slot->arena, hdi_vk_kept, 1);
    return once ? fill(frame, once, &frame->slot->arena) : HD_OUT_OF_MEMORY;
}

void hdi_vk_sweep_kept(hd_vk *vk, uint64_t age)
{
    hdi_vk_kept **link = &vk->kept;
    while (*link) {
        hdi_vk_kept *kept = *link;
        if (age == 0 || kept->last_frame + age < vk->frame) {
            *link = kept->next;
            drop(vk, kept);
        } else {
            link = &kept->next;
        }
    }
}
