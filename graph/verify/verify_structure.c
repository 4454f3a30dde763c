#include "verify.h"
#include "vk_words.h"

#include "tables.h"

/* Structure of a plan: indices in range, every pass culled or once on a queue that can run it, stages and accesses that
 * queues support, waits that name an earlier submit. O(plan). */

static bool in_table(uint32_t begin, uint32_t count, uint32_t size)
{
    return begin <= size && count <= size - begin;
}

static bool check_queues(hdi_verify *v)
{
    const hd_plan_view *p = &v->p;
    if (p->pass_count != v->d.pass_count || p->declared_resource_count != v->d.res_count) {
        hdi_verify_fail(
            v, HD_RULE_STRUCTURE,
            "structure: the plan was made from another graph (%u passes, %u resources; the graph has %u, %u)",
            p->pass_count, p->declared_resource_count, v->d.pass_count, v->d.res_count);
        return false;
    }
    if (p->queue_count == 0 || p->queue_count > HD_MAX_QUEUES) {
        hdi_verify_fail(v, HD_RULE_STRUCTURE, "structure: %u queues", p->queue_count);
        return false;
    }
    for (uint32_t q = 0; q < p->queue_count; q++)
        if (p->queues[q].kind > HD_QUEUE_HOST) {
            hdi_verify_fail(v, HD_RULE_STRUCTURE, "structure: queue %u has the unknown kind %u", q, p->queues[q].kind);
            return false;
        }
    return true;
}

static bool check_range(hdi_verify *v, uint32_t b)
{
    const hd_plan_barrier *x = &v->p.barriers[b];
    if (x->resource == HDI_NONE)
        return true;
    if (x->resource >= v->d.res_count || v->plan_res[x->resource] == HDI_NONE) {
        hdi_verify_fail(v, HD_RULE_STRUCTURE, "structure: barrier %u names resource %u, which the plan does not hold",
                        b, x->resource);
        return false;
    }
    const hdi_res_info *info = &v->d.res_info[x->resource];
    const hd_range *r = &x->range;
    bool inside;
    if (v->d.res_flags[x->resource] & HDI_RES_BUFFER) {
        inside = r->bytes && r->offset <= info->bytes && r->bytes <= info->bytes - r->offset;
    } else {
        uint32_t mips = info->mips ? info->mips : 1, layers = info->layers ? info->layers : 1;
        inside = r->mip_count && r->layer_count && in_table(r->mip_base, r->mip_count, mips) &&
                 in_table(r->layer_base, r->layer_count, layers) &&
                 (r->aspect == 0 || ((r->aspect == HD_ASPECT_DEPTH || r->aspect == HD_ASPECT_STENCIL) &&
                                     hdi_format_aspects(info->format) == (HD_ASPECT_DEPTH | HD_ASPECT_STENCIL)));
    }
    if (!inside)
        hdi_verify_fail(v, HD_RULE_STRUCTURE, "range: barrier %u reaches outside resource %u '%s'", b, x->resource,
                        hdi_verify_res_name(v, x->resource));
    return inside;
}

static void check_side(hdi_verify *v, uint32_t b, uint32_t q, uint64_t stages, uint64_t access, const char *side)
{
    uint64_t legal = hdi_verify_queue_stages(v->p.queues[q].kind) | HV_STAGE(HV_HOST);
    bool src = side[0] == 's';
    hd_repair repair = {.kind = HD_REPAIR_NARROW, .index = b};
    if (stages & ~legal) {
        *(src ? &repair.barrier.src_stages : &repair.barrier.dst_stages) = stages & ~legal;
        v->found.repair = repair;
        hdi_verify_fail(v, HD_RULE_STAGES, "stages: barrier %u: %s stages %s are not supported by queue %u", b, side,
                        HDI_STAGE_TEXT(stages & ~legal), q);
        repair.barrier = (hd_plan_barrier){0};
    }
    for (uint64_t left = access; left; left &= left - 1) {
        uint64_t bit = left & -left;
        if (!(hdi_verify_access_stages(bit) & hdi_verify_expand(stages))) {
            *(src ? &repair.barrier.src_access : &repair.barrier.dst_access) = bit;
            v->found.repair = repair;
            hdi_verify_fail(v, HD_RULE_STAGES, "access: barrier %u: %s access %s is not supported by stages %s", b,
                            side, HDI_ACCESS_TEXT(bit), HDI_STAGE_TEXT(stages));
        }
    }
}

static bool check_batch(hdi_verify *v, uint32_t s, const hd_plan_command *c)
{
    uint32_t q = v->p.submits[s].queue;
    if (c->index >= v->p.batch_count ||
        !in_table(v->p.batches[c->index].barrier_begin, v->p.batches[c->index].barrier_count, v->p.barrier_count)) {
        hdi_verify_fail(v, HD_RULE_STRUCTURE, "structure: submit %u has a barrier command outside the plan's tables",
                        s);
        return false;
    }
    if (v->p.queues[q].kind == HD_QUEUE_HOST) {
        hdi_verify_fail(v, HD_RULE_STRUCTURE, "structure: submit %u on the host queue holds a barrier", s);
        return false;
    }
    const hd_plan_batch *batch = &v->p.batches[c->index];
    for (uint32_t i = 0; i < batch->barrier_count; i++) {
        uint32_t b = batch->barrier_begin + i;
        const hd_plan_barrier *x = &v->p.barriers[b];
        if (!check_range(v, b))
            return false;
        bool moves = x->src_family != x->dst_family;
        if (moves && (x->src_family == HDI_NONE || x->dst_family == HDI_NONE || x->resource == HDI_NONE)) {
            hdi_verify_fail(v, HD_RULE_OWNERSHIP, "ownership: barrier %u names only one family, or no resource", b);
            return false;
        }
        uint32_t family = v->p.queues[q].family;
        if (moves && family != x->src_family && family != x->dst_family) {
            hdi_verify_fail(v, HD_RULE_OWNERSHIP,
                            "ownership: barrier %u moves from family %u to %u on queue %u of family %u", b,
                            x->src_family, x->dst_family, q, family);
            return false;
        }
        if (!moves || family == x->src_family) /* a release ignores its second scope, an acquire its first */
            check_side(v, b, q, x->src_stages, x->src_access, "source");
        if (!moves || family == x->dst_family)
            check_side(v, b, q, x->dst_stages, x->dst_access, "destination");
    }
    return true;
}

static bool can_run(uint32_t type, uint32_t kind)
{
    if (type == HD_PASS_GFX)
        return kind == HD_QUEUE_GFX;
    if (type == HD_PASS_COMPUTE)
        return kind == HD_QUEUE_GFX || kind == HD_QUEUE_COMPUTE;
    return (type == HD_PASS_HOST) == (kind == HD_QUEUE_HOST);
}

static void check_pass(hdi_verify *v, uint32_t s, uint32_t c, uint32_t pass)
{
    if (pass >= v->d.pass_count) {
        hdi_verify_fail(v, HD_RULE_STRUCTURE, "structure: submit %u holds pass %u, which was not declared", s, pass);
        return;
    }
    const char *name = hdi_verify_pass_name(v, pass);
    if (v->pass_queue[pass] != HDI_NONE) {
        hdi_verify_fail(v, HD_RULE_STRUCTURE, "structure: pass %u '%s' stands twice in the plan (submits %u and %u)",
                        pass, name, v->pass_submit[pass], s);
        return;
    }
    uint32_t q = v->p.submits[s].queue, kind = v->p.queues[q].kind, type = v->d.pass_type[pass];
    v->pass_queue[pass] = q;
    v->pass_submit[pass] = s;
    v->pass_command[pass] = c;
    bool legal = can_run(type, kind);
    if (!legal)
        hdi_verify_fail(v, HD_RULE_QUEUE,
                        "queue: pass %u '%s' of type %u stands on queue %u of kind %u, which cannot run it", pass, name,
                        type, q, kind);
    uint32_t pin = v->d.pass_pin[pass];
    if (pin == HD_PIN_NONE || !legal)
        return;
    bool have = false;
    for (uint32_t i = 0; i < v->p.queue_count; i++)
        have |= v->p.queues[i].kind == pin - HD_PIN_GFX;
    if (have && kind != pin - HD_PIN_GFX)
        hdi_verify_fail(v, HD_RULE_QUEUE, "pin: pass %u '%s' is pinned to kind %u but stands on queue %u of kind %u",
                        pass, name, pin - HD_PIN_GFX, q, kind);
}

/* Each SET is followed by one WAIT of the same barriers on its queue. */
static void check_event(hdi_verify *v, uint32_t s, uint32_t c, uint32_t *set_of)
{
    const hd_plan_command *command = &v->p.commands[c];
    uint32_t end = v->p.submits[s].command_begin + v->p.submits[s].command_count;
    if (v->p.queues[v->p.submits[s].queue].kind == HD_QUEUE_TRANSFER)
        hdi_verify_fail(v, HD_RULE_EVENT, "event: submit %u uses event %u on a transfer queue, which has none", s,
                        command->event);
    if (command->kind == HD_COMMAND_SET) {
        for (uint32_t t = s, from = c + 1; t < v->p.submit_count; t++) {
            if (v->p.submits[t].queue == v->p.submits[s].queue)
                for (; from < end; from++) {
                    const hd_plan_command *o = &v->p.commands[from];
                    if (o->kind == HD_COMMAND_WAIT && o->event == command->event && o->index == command->index &&
                        set_of[from] == HDI_NONE) {
                        set_of[from] = c;
                        return;
                    }
                }
            if (t + 1 < v->p.submit_count) {
                from = v->p.submits[t + 1].command_begin;
                end = from + v->p.submits[t + 1].command_count;
            }
        }
        hdi_verify_fail(v, HD_RULE_EVENT, "event: event %u set in submit %u is never waited for", command->event, s);
    } else if (set_of[c] == HDI_NONE) {
        hdi_verify_fail(v, HD_RULE_EVENT,
                        "event: submit %u waits for event %u, which was not set before with the same barriers", s,
                        command->event);
    }
}

/* Tells a real cycle from an unlucky order: runs every submit whose queue and waits allow it until nothing moves. */
static bool deadlocks(hdi_verify *v)
{
    uint8_t *done = HDI_ARENA_ZEROED(&v->arena, uint8_t, v->p.submit_count);
    if (!done)
        return false;
    for (bool moved = true; moved;) {
        moved = false;
        uint32_t blocked = 0;
        for (uint32_t s = 0; s < v->p.submit_count; s++) {
            const hd_plan_submit *x = &v->p.submits[s];
            if (done[s])
                continue;
            bool ready = !(blocked >> x->queue & 1);
            for (uint32_t w = x->wait_begin; ready && w < x->wait_begin + x->wait_count; w++)
                ready = v->wait_signal[w] != HDI_NONE && done[v->wait_signal[w]];
            if (ready)
                done[s] = 1, moved = true;
            else
                blocked |= 1u << x->queue;
        }
        if (!blocked)
            return false;
    }
    return true;
}

static void check_waits(hdi_verify *v)
{
    bool late = false;
    hdi_signals signals;
    if (!hdi_signals_list(&signals, &v->p, &v->arena))
        return;
    hd_finding first_late = v->found;
    uint64_t last[HD_MAX_QUEUES] = {0};
    for (uint32_t s = 0; s < v->p.submit_count; s++) {
        const hd_plan_submit *x = &v->p.submits[s];
        uint64_t legal = hdi_verify_queue_stages(v->p.queues[x->queue].kind) | HV_STAGE(HV_HOST);
        if (x->signal_value && x->signal_value <= last[x->queue])
            hdi_verify_fail(v, HD_RULE_WAIT, "signal: submit %u signals %llu on queue %u after %llu", s,
                            (unsigned long long)x->signal_value, x->queue, (unsigned long long)last[x->queue]);
        if (x->signal_value)
            last[x->queue] = x->signal_value;
        if (x->signal_value && v->p.queues[x->queue].kind != HD_QUEUE_HOST && (x->signal_stages & ~legal))
            hdi_verify_fail(v, HD_RULE_STAGES,
                            "stages: the signal of submit %u has stages that queue %u does not support", s, x->queue);
        for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++) {
            const hd_plan_wait *wait = &v->p.waits[w];
            v->wait_signal[w] = hdi_signals_find(&signals, &v->p, wait->queue, wait->value);
            if (v->wait_signal[w] == HDI_NONE || v->wait_signal[w] >= s) {
                v->found.second = hdi_verify_wait_place(w, s, x->queue);
                hdi_verify_mend_wait(v, w, s);
                if (v->wait_signal[w] != HDI_NONE && !late) /* told below, when all waits are known */
                    first_late = v->found;
                if (v->wait_signal[w] != HDI_NONE)
                    hdi_verify_forget(v);
            }
            if (v->wait_signal[w] == HDI_NONE)
                hdi_verify_fail(v, HD_RULE_WAIT, "wait: submit %u waits for %llu on queue %u, which nothing signals", s,
                                (unsigned long long)wait->value, wait->queue);
            else if (v->wait_signal[w] >= s)
                late = true;
            if (v->p.queues[x->queue].kind != HD_QUEUE_HOST && (wait->stages & ~legal))
                hdi_verify_fail(v, HD_RULE_STAGES,
                                "stages: a wait of submit %u has stages that queue %u does not support", s, x->queue);
        }
    }
    if (late)
        v->found = first_late;
    if (late && deadlocks(v))
        hdi_verify_fail(v, HD_RULE_DEADLOCK, "deadlock: submits wait for one another in a cycle");
    else if (late)
        hdi_verify_fail(v, HD_RULE_WAIT, "wait: a submit waits for one that stands later in the list");
}

static void check_resources(hdi_verify *v)
{
    for (uint32_t i = 0; i < v->p.resource_count; i++) {
        const hd_plan_resource *r = &v->p.resources[i];
        if (r->id >= v->d.res_count || (i && v->p.resources[i - 1].id >= r->id)) {
            hdi_verify_fail(v, HD_RULE_STRUCTURE,
                            "structure: resource entry %u (id %u) is out of order or not declared", i, r->id);
            return;
        }
        v->plan_res[r->id] = i;
    }
}

static bool check_commands(hdi_verify *v)
{
    uint32_t *set_of = v->command_node;
    for (uint32_t s = 0; s < v->p.submit_count; s++) {
        const hd_plan_submit *x = &v->p.submits[s];
        if (x->queue >= v->p.queue_count || !in_table(x->wait_begin, x->wait_count, v->p.wait_count) ||
            !in_table(x->command_begin, x->command_count, v->p.command_count)) {
            hdi_verify_fail(v, HD_RULE_STRUCTURE, "structure: submit %u points outside the plan's tables", s);
            return false;
        }
    }
    for (uint32_t s = 0; s < v->p.submit_count; s++)
        for (uint32_t i = 0; i < v->p.submits[s].command_count; i++) {
            uint32_t c = v->p.submits[s].command_begin + i;
            const hd_plan_command *command = &v->p.commands[c];
            if (command->kind == HD_COMMAND_PASS)
                check_pass(v, s, c, command->index);
            else if (command->kind > HD_COMMAND_WAIT)
                hdi_verify_fail(v, HD_RULE_STRUCTURE, "structure: submit %u holds a command of the unknown kind %u", s,
                                command->kind);
            else if (check_batch(v, s, command) && command->kind != HD_COMMAND_BARRIER)
                check_event(v, s, c, set_of);
        }
    return !v->bad;
}

void hdi_verify_structure(hdi_verify *v)
{
    if (!check_queues(v))
        return;
    uint32_t passes = v->d.pass_count;
    v->plan_res = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->d.res_count);
    v->pass_queue = HDI_ARENA_ARRAY(&v->arena, uint32_t, passes);
    v->pass_submit = HDI_ARENA_ARRAY(&v->arena, uint32_t, passes);
    v->pass_command = HDI_ARENA_ARRAY(&v->arena, uint32_t, passes);
    v->pass_next = HDI_ARENA_ZEROED(&v->arena, uint32_t, passes);
    v->wait_signal = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->p.wait_count);
    v->command_node = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->p.command_count);
    if (v->arena.failed)
        return;
    for (uint32_t r = 0; r < v->d.res_count; r++)
        v->plan_res[r] = HDI_NONE;
    for (uint32_t p = 0; p < passes; p++)
        v->pass_queue[p] = v->pass_submit[p] = v->pass_command[p] = HDI_NONE;
    for (uint32_t c = 0; c < v->p.command_count; c++)
        v->command_node[c] = HDI_NONE;
    check_resources(v);
    if (!v->bad && check_commands(v))
        check_waits(v);
}
