#include "state.h"

#include <string.h>

#include "alloc.h"

/* What a plan does to each of its resources on each queue: where it begins, in which stages, how it ends. That is what
 * join.c needs to know of the plan to join its frames to others.
 *
 * Where it is not sure it waits for more: parts of a resource are not told apart, a queue's uses count as first until
 * one writes the whole. Cost: one walk over uses and barriers. */

typedef struct touching {
    const hdi_vk_frame *frame;
    hdi_vk_kept *kept;
    uint32_t queues; /* of the hd_vk, the host's included */
} touching;

typedef struct doing {
    uint64_t first, after, access; /* stages that must wait, stages that come last */
    bool writes, whole, apart;
} doing;

static void add_touch(const touching *j, uint32_t res, uint32_t q, uint32_t submit, uint32_t command, const doing *d)
{
    uint32_t index = j->kept->plan_index[res];
    if (index == HDI_NONE)
        return;
    hdi_vk_touch *row = &j->kept->touches[(size_t)index * j->queues], *t = &row[q];
    if (t->command == 0) {
        bool known = false;
        for (uint32_t other = 0; other < j->queues; other++)
            known |= row[other].command != 0;
        if (!known)
            j->kept->order[j->kept->order_count++] = index;
        t->command = command + 1;
        t->submit = submit;
    }
    t->last_submit = submit;
    if (!t->closed) {
        t->first_stages |= d->first;
        t->first_access |= d->access;
    }
    bool closes = d->writes && d->whole;
    t->last_stages = closes ? d->after : t->last_stages | d->after;
    t->last_access = (closes ? 0 : t->last_access) | (d->writes ? d->access : 0);
    t->apart = d->apart || (t->apart && !closes);
    t->writes |= d->writes;
    t->closed |= closes;
}

static void touch_pass(const touching *j, uint32_t pass, uint32_t q, uint32_t submit, uint32_t command)
{
    const hdi_decl *decl = &j->frame->decl;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        const hdi_access_info *info = &decl->access[decl->use_access[u]];
        doing d = {info->stages, info->stages, info->access, info->writes, decl->use_range[u] == HDI_NONE, false};
        add_touch(j, decl->use_res[u], q, submit, command, &d);
    }
}

static bool whole_image(const hdi_vk_key *key, const hd_plan_barrier *barrier)
{
    return barrier->range.mip_count == key->mips && barrier->range.layer_count == key->layers &&
           (barrier->range.aspect == 0 || barrier->range.aspect == hdi_format_aspects(key->format));
}

/* Transitions and ownership transfers write; other barriers only order. */
static void touch_batch(const touching *j, uint32_t batch, uint32_t q, uint32_t submit, uint32_t command)
{
    const hd_plan_batch *at = &j->frame->plan.batches[batch];
    for (uint32_t b = at->barrier_begin; b < at->barrier_begin + at->barrier_count; b++) {
        const hd_plan_barrier *barrier = &j->frame->plan.barriers[b];
        if (barrier->resource == HD_NONE)
            continue;
        const hdi_vk_key *key = &j->kept->keys[j->kept->plan_index[barrier->resource]];
        bool image = !(key->bits & HDI_VK_KEY_BUFFER);
        if (barrier->src_family == barrier->dst_family && (!image || barrier->old_layout == barrier->new_layout))
            continue;
        doing d = {
            .first = barrier->src_stages | barrier->dst_stages,
            .after = barrier->dst_stages ? barrier->dst_stages : barrier->src_stages,
            .access = barrier->dst_access,
            .writes = true,
            .whole = image && whole_image(key, barrier),
        };
        d.apart = d.after == 0;
        add_touch(j, barrier->resource, q, submit, command, &d);
    }
}

/* Commands inside a rendering scope wait where it begins: no barrier may stand in it. */
static void touch_commands(const touching *j)
{
    const hd_plan_view *plan = &j->frame->plan;
    uint32_t scope = 0;
    for (uint32_t s = 0; s < plan->submit_count; s++) {
        const hd_plan_submit *submit = &plan->submits[s];
        uint32_t q = j->kept->queue_of[submit->queue];
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
            while (scope < plan->scope_count &&
                   plan->scopes[scope].command_begin + plan->scopes[scope].command_count <= c)
                scope++;
            bool inside = scope < plan->scope_count && plan->scopes[scope].command_begin <= c;
            uint32_t at = inside ? plan->scopes[scope].command_begin : c, index = plan->commands[c].index;
            if (plan->commands[c].kind == HD_COMMAND_PASS)
                touch_pass(j, index, q, s, at);
            else
                touch_batch(j, index, q, s, at);
        }
    }
}

static void find_ends(const touching *j)
{
    const hd_plan_view *plan = &j->frame->plan;
    hdi_vk_ends *ends = &j->kept->ends;
    uint64_t top[HD_MAX_QUEUES] = {0};
    for (uint32_t q = 0; q < j->queues; q++)
        ends->first[q] = ends->last[q] = HD_NONE;
    for (uint32_t s = 0; s < plan->submit_count; s++) {
        const hd_plan_submit *submit = &plan->submits[s];
        uint32_t q = j->kept->queue_of[submit->queue];
        if (ends->first[q] == HD_NONE)
            ends->first[q] = s;
        ends->last[q] = s;
        top[q] = submit->signal_value > top[q] ? submit->signal_value : top[q];
    }
    for (uint32_t q = 0; q < j->queues; q++) {
        uint32_t last = ends->last[q];
        /* The last submit's own signal will do, else one more value. */
        ends->end[q] = last == HD_NONE ? 0 : top[q] + (plan->submits[last].signal_value == 0);
    }
}

/* Which value of its queue's timeline says that a submit has finished: its own signal or the next one that covers it.
 */
static void find_covered(const touching *j)
{
    const hd_plan_view *plan = &j->frame->plan;
    uint64_t next[HD_MAX_QUEUES];
    memcpy(next, j->kept->ends.end, sizeof(next));
    for (uint32_t s = plan->submit_count; s-- > 0;) {
        const hd_plan_submit *submit = &plan->submits[s];
        uint32_t q = j->kept->queue_of[submit->queue];
        bool covers = q + 1 == j->queues || submit->signal_stages & VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        if (submit->signal_value && covers && j->kept->ends.last[q] != s)
            next[q] = submit->signal_value;
        j->kept->covered[s] = next[q];
    }
}

/* A semaphore does not show the host what the GPU wrote: that takes a barrier behind the write, in a frame which does
 * not know whether the next one's host passes read it. So each submit ends with one that is the last of its queue to
 * touch a buffer which it may have written and that host passes may read in the next frame: histories in memory that
 * heddle maps, and imports that this frame's host passes use. */
static void show_host(const touching *j, uint32_t index)
{
    const hd_plan_resource *resource = &j->frame->plan.resources[index];
    const hdi_vk_touch *row = &j->kept->touches[(size_t)index * j->queues];
    uint8_t flags = j->frame->decl.res_flags[resource->id];
    bool mapped =
        resource->heap < j->frame->plan.heap_count && j->frame->plan.heaps[resource->heap].memory >= HDI_VK_HOST_HEAP;
    bool history = flags & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY) && mapped;
    bool import = flags & HDI_RES_EXTERNAL && row[j->queues - 1].command;
    if (!(flags & HDI_RES_BUFFER) || (!history && !import))
        return;
    for (uint32_t q = 0; q + 1 < j->queues; q++) {
        if (row[q].command && row[q].writes)
            j->kept->to_host[row[q].last_submit] = 1;
    }
}

hd_result hdi_vk_keep_touches(const hdi_vk_frame *frame, hdi_vk_kept *kept, hdi_arena *arena)
{
    touching j = {frame, kept, frame->vk->queue_count + 1};
    kept->touches = HDI_ARENA_ZEROED(arena, hdi_vk_touch, (size_t)frame->plan.resource_count * j.queues);
    kept->order = HDI_ARENA_ARRAY(arena, uint32_t, frame->plan.resource_count);
    kept->covered = HDI_ARENA_ARRAY(arena, uint64_t, frame->plan.submit_count);
    kept->to_host = HDI_ARENA_ZEROED(arena, uint8_t, frame->plan.submit_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    touch_commands(&j);
    find_ends(&j);
    find_covered(&j);
    for (uint32_t i = 0; i < frame->plan.resource_count; i++)
        show_host(&j, i);
    size_t most = (size_t)frame->plan.resource_count * j.queues;
    kept->join_capacity = most < frame->plan.command_count ? (uint32_t)most : frame->plan.command_count;
    return HD_OK;
}
