#include "stream_verify.h"

#include <string.h>

/* Rebuilds a declaration and a plan from a stream, as far as the plan verifier's relation asks for them: each command
 * that accesses something is a pass, each access a use, each submit a submit. Beyond the plan's terms:
 *
 * - a submit that signals several semaphores is followed by empty ones on its queue, one a signal: a signal takes in
 *   everything before it on its queue, so it may stand behind;
 * - what a thread did before it calls a submit (waits that returned, memory that it touched) comes before the submit:
 *   a host signal that is made up, for which the submit waits with all commands;
 * - a wait finds its signal by the smallest value that is not below its own; a binary semaphore's by turns.
 *
 * A topological order of the submits shows deadlocks: what is left over waits for itself. O(elements + submits * queues,
 * waits * signals of a semaphore). */

typedef struct build {
    hdi_cverify *c;
    hd_plan_queue *queues;
    hd_plan_submit *submits;
    hd_plan_wait *waits;
    hd_plan_command *commands;
    hd_plan_batch *batches;
    hd_plan_barrier *barriers;
    uint32_t submit_count, wait_count, command_count, batch_count;
    uint32_t *signal_submit; /* sync of the stream (a signal) -> plan submit */
    uint32_t *wait_sync;     /* plan wait -> sync of the stream, HDI_NONE: made up, then wait_signal is known */
    uint32_t *wait_binary;   /* plan wait that is left -> its semaphore, HDI_NONE: not a binary one */
    uint32_t *host_fence;    /* by queue: newest made-up signal of a host queue, HDI_NONE */
    uint8_t *host_dirty;     /* by queue: has done something since */
    uint32_t *fence_seen;    /* by GPU queue * queues + host queue: what it waited for already */
} build;

static uint32_t queue_kind(const hdi_cverify *c, uint32_t queue)
{
    return c->s->queues[queue].kind;
}

static uint32_t add_submit(build *b, uint32_t queue, uint32_t of)
{
    uint32_t n = b->submit_count++;
    b->submits[n] = (hd_plan_submit){.queue = queue, .wait_begin = b->wait_count, .command_begin = b->command_count};
    b->c->sub[n] = of;
    b->c->signal_sync[n] = HDI_NONE;
    return n;
}

static void add_wait(build *b, uint32_t submit, uint32_t sync, uint32_t signal, uint64_t stages)
{
    uint32_t n = b->wait_count++;
    b->waits[n] = (hd_plan_wait){.reason_pass = HD_NONE, .stages = stages};
    b->wait_sync[n] = sync;
    b->c->v.wait_signal[n] = signal;
    b->submits[submit].wait_count++;
}

/* What the caller did before, for a submit to a GPU queue. */
static uint32_t host_before(build *b, uint32_t thread)
{
    if (thread == HD_NONE || (!b->host_dirty[thread] && b->host_fence[thread] == HDI_NONE))
        return HDI_NONE;
    if (b->host_dirty[thread]) {
        uint32_t fence = add_submit(b, thread, HDI_NONE);
        b->submits[fence].signal_value = 1;
        b->submits[fence].signal_stages = HV_STAGE(HV_ALL_COMMANDS);
        b->host_fence[thread] = fence;
        b->host_dirty[thread] = 0;
    }
    return b->host_fence[thread];
}

static void add_barriers(build *b, const hd_stream_command *command)
{
    for (uint32_t i = 0; i < command->count; i++) {
        const hd_stream_barrier *x = &b->c->s->barriers[command->begin + i];
        hd_plan_barrier *to = &b->barriers[command->begin + i];
        *to = (hd_plan_barrier){.src_stages = x->src_stages,
                                .src_access = x->src_access,
                                .dst_stages = x->dst_stages,
                                .dst_access = x->dst_access,
                                .resource = x->resource,
                                .old_layout = x->old_layout,
                                .new_layout = x->new_layout,
                                .src_family = x->src_family,
                                .dst_family = x->dst_family,
                                .reason_pass = HD_NONE,
                                .range = x->range};
    }
}

/* Events: a wait takes the nodes of the set before it on its queue. */
static bool find_set(build *b, uint32_t queue, const hd_stream_command *wait, uint32_t *set)
{
    const hd_stream *s = b->c->s;
    for (uint32_t n = b->submit_count; n-- > 0;) {
        const hd_plan_submit *x = &b->submits[n];
        if (x->queue != queue || b->c->sub[n] == HDI_NONE)
            continue;
        for (uint32_t i = x->command_count; i-- > 0;) {
            uint32_t at = x->command_begin + i;
            const hd_stream_command *o = &s->commands[b->c->command_of[at]];
            if (o->kind != HD_STREAM_SET || o->event != wait->event)
                continue;
            *set = at;
            if (o->count != wait->count)
                return false;
            for (uint32_t k = 0; k < o->count; k++) {
                if (memcmp(&s->barriers[o->begin + k], &s->barriers[wait->begin + k], sizeof(s->barriers[0])) != 0)
                    return false;
            }
            return true;
        }
    }
    return false;
}

static void add_command(build *b, uint32_t queue, uint32_t submit, uint32_t index)
{
    hdi_cverify *c = b->c;
    const hd_stream_command *command = &c->s->commands[index];
    uint32_t n = b->command_count++;
    c->command_of[n] = index;
    b->submits[submit].command_count++;
    c->v.command_node[n] = HDI_NONE;
    if (command->kind == HD_STREAM_ACCESS) {
        b->commands[n] = (hd_plan_command){HD_COMMAND_PASS, index, 0}; /* passes are numbered like commands */
        c->v.pass_queue[index] = queue;
        c->v.pass_submit[index] = submit;
        return;
    }
    uint32_t batch = b->batch_count++, set = HDI_NONE;
    b->batches[batch] = (hd_plan_batch){command->begin, command->count};
    add_barriers(b, command);
    uint32_t kind = command->kind == HD_STREAM_BARRIER ? HD_COMMAND_BARRIER
                    : command->kind == HD_STREAM_SET   ? HD_COMMAND_SET
                                                       : HD_COMMAND_WAIT;
    if (kind == HD_COMMAND_WAIT && !find_set(b, queue, command, &set)) {
        hdi_ctext text;
        hdi_cverify_fail(c,
                         "event: %s waits for event %u, which was not set before on its queue with the same barriers",
                         hdi_cverify_command(c, index, &text), command->event);
        kind = HD_COMMAND_BARRIER; /* to go on: of no effect */
        b->batches[batch].barrier_count = 0;
    }
    if (kind == HD_COMMAND_WAIT)
        c->v.command_node[n] = set;
    b->commands[n] = (hd_plan_command){kind, batch, command->event};
}

static void add_one(build *b, uint32_t index)
{
    hdi_cverify *c = b->c;
    const hd_stream *s = c->s;
    const hd_stream_submit *x = &s->submits[index];
    bool host = queue_kind(c, x->queue) == HD_QUEUE_HOST;
    uint32_t fence = host ? HDI_NONE : host_before(b, x->thread), n = add_submit(b, x->queue, index);
    if (fence != HDI_NONE && b->fence_seen[x->queue * s->queue_count + x->thread] != fence) {
        add_wait(b, n, HDI_NONE, fence, HV_STAGE(HV_ALL_COMMANDS));
        b->fence_seen[x->queue * s->queue_count + x->thread] = fence;
    }
    for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++) {
        if (s->syncs[w].semaphore != HD_NONE)
            add_wait(b, n, w, HDI_NONE, s->syncs[w].stages);
    }
    for (uint32_t i = x->command_begin; i < x->command_begin + x->command_count; i++) {
        c->command_submit[i] = index;
        add_command(b, x->queue, n, i);
    }
    for (uint32_t g = x->signal_begin; g < x->signal_begin + x->signal_count; g++) {
        if (s->syncs[g].semaphore == HD_NONE)
            continue;
        if (b->submits[n].signal_value)
            n = add_submit(b, x->queue, index);
        b->submits[n].signal_value = 1;
        b->submits[n].signal_stages = s->syncs[g].stages;
        b->signal_submit[g] = n;
        c->signal_sync[n] = g;
    }
    if (host)
        b->host_dirty[x->queue] = 1;
}

/* ---- signals of waits ---- */

static void resolve_timeline(build *b, uint32_t wait, const hd_stream_sync *sync)
{
    hdi_cverify *c = b->c;
    const hd_stream *s = c->s;
    uint32_t found = HDI_NONE;
    for (uint32_t x = 0; x < s->submit_count; x++) {
        const hd_stream_submit *submit = &s->submits[x];
        for (uint32_t g = submit->signal_begin; g < submit->signal_begin + submit->signal_count; g++) {
            if (s->syncs[g].semaphore == sync->semaphore && s->syncs[g].value >= sync->value &&
                (found == HDI_NONE || s->syncs[g].value < s->syncs[found].value))
                found = g;
        }
    }
    c->v.wait_signal[wait] = found == HDI_NONE ? HDI_NONE : b->signal_submit[found];
}

/* A binary semaphore: the k-th wait takes the k-th signal, counting one from before; false: that one. */
static bool resolve_binary(build *b, uint32_t wait, uint32_t sync)
{
    hdi_cverify *c = b->c;
    const hd_stream *s = c->s;
    uint32_t semaphore = s->syncs[sync].semaphore, turn = 0, signals = (uint32_t)s->semaphores[semaphore].initial;
    for (uint32_t w = 0; w < wait; w++)
        turn += b->wait_sync[w] != HDI_NONE && s->syncs[b->wait_sync[w]].semaphore == semaphore;
    if (turn < signals) /* nothing that the stream knows of */
        return false;
    for (uint32_t x = 0; x < s->submit_count; x++) {
        const hd_stream_submit *submit = &s->submits[x];
        for (uint32_t g = submit->signal_begin; g < submit->signal_begin + submit->signal_count; g++) {
            if (s->syncs[g].semaphore == semaphore && signals++ == turn)
                c->v.wait_signal[wait] = b->signal_submit[g];
        }
    }
    return true;
}

/* Values that a queue signals rise; a value that stands is not signalled again. */
static hd_result check_signals(build *b)
{
    hdi_cverify *c = b->c;
    const hd_stream *s = c->s;
    size_t cells = (size_t)s->semaphore_count * s->queue_count;
    uint64_t *last = HDI_ARENA_ARRAY(&c->v.arena, uint64_t, cells);
    if (!last)
        return HD_OUT_OF_MEMORY;
    for (size_t i = 0; i < cells; i++)
        last[i] = s->semaphores[i / s->queue_count].initial;
    for (uint32_t x = 0; x < s->submit_count; x++) {
        const hd_stream_submit *submit = &s->submits[x];
        for (uint32_t g = submit->signal_begin; g < submit->signal_begin + submit->signal_count; g++) {
            uint32_t semaphore = s->syncs[g].semaphore;
            if (semaphore == HD_NONE || s->semaphores[semaphore].binary)
                continue;
            uint64_t *before = &last[(size_t)semaphore * s->queue_count + submit->queue];
            if (s->syncs[g].value <= *before)
                hdi_cverify_fail(
                    c, "wait: %s (submit %u, queue %u, frame %u) signals value %llu of semaphore %u, which is at %llu",
                    s->strings[submit->name], x, submit->queue, submit->frame, (unsigned long long)s->syncs[g].value,
                    semaphore, (unsigned long long)*before);
            *before = s->syncs[g].value;
        }
    }
    return HD_OK;
}

static void resolve_waits(build *b)
{
    hdi_cverify *c = b->c;
    const hd_stream *s = c->s;
    for (uint32_t n = 0; n < b->submit_count; n++) {
        hd_plan_submit *x = &b->submits[n];
        uint32_t end = x->wait_begin + x->wait_count, kept = x->wait_begin;
        for (uint32_t w = x->wait_begin; w < end; w++) {
            uint32_t sync = b->wait_sync[w], binary = HDI_NONE;
            bool drop = false;
            if (sync != HDI_NONE) {
                const hd_stream_semaphore *semaphore = &s->semaphores[s->syncs[sync].semaphore];
                if (semaphore->binary) {
                    binary = s->syncs[sync].semaphore;
                    drop = !resolve_binary(b, w, sync);
                } else if (s->syncs[sync].value <= semaphore->initial) {
                    drop = true;
                } else {
                    resolve_timeline(b, w, &s->syncs[sync]);
                }
            }
            if (!drop && c->v.wait_signal[w] == HDI_NONE) {
                const hd_stream_submit *of = &s->submits[c->sub[n]];
                hdi_cverify_fail(c,
                                 "wait: %s (submit %u, queue %u, frame %u) waits for value %llu of semaphore %u, which "
                                 "nothing signals",
                                 s->strings[of->name], c->sub[n], of->queue, of->frame,
                                 (unsigned long long)s->syncs[sync].value, s->syncs[sync].semaphore);
                drop = true;
            }
            if (drop)
                continue;
            b->waits[kept] = b->waits[w];
            c->v.wait_signal[kept] = c->v.wait_signal[w];
            c->wait_sync[kept] = sync;
            b->wait_binary[kept++] = binary;
        }
        x->wait_count = kept - x->wait_begin;
    }
}

/* ---- order ---- */

static bool ready(const build *b, uint32_t n, const uint8_t *done)
{
    const hd_plan_submit *x = &b->submits[n];
    for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++) {
        if (!done[b->c->v.wait_signal[w]])
            return false;
    }
    return true;
}

/* The submits in their order, each as soon as what it waits for is there: before those that come later in the stream, so
 * that what the host sees behind a signal has what the signal set off. */
static hd_result sort_submits(build *b)
{
    hdi_cverify *c = b->c;
    uint32_t next[HD_MAX_QUEUES] = {0}, most = 0;
    uint8_t *done = HDI_ARENA_ZEROED(&c->v.arena, uint8_t, b->submit_count);
    c->order = HDI_ARENA_ARRAY(&c->v.arena, uint32_t, b->submit_count);
    if (c->v.arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t n = 0; n < b->submit_count; n++)
        most = b->submits[n].queue > most ? b->submits[n].queue : most;
    for (uint32_t come = 1; come <= b->submit_count; come++) {
        for (bool moved = true; moved;) {
            moved = false;
            for (uint32_t q = 0; q <= most; q++) {
                for (; next[q] < come; next[q]++) {
                    if (b->submits[next[q]].queue != q)
                        continue;
                    if (!ready(b, next[q], done))
                        break;
                    done[next[q]] = 1;
                    c->order[c->order_count++] = next[q];
                    moved = true;
                }
            }
        }
    }
    for (uint32_t n = 0; n < b->submit_count && c->order_count < b->submit_count; n++) {
        if (done[n] || c->sub[n] == HDI_NONE || ready(b, n, done))
            continue;
        const hd_stream_submit *x = &c->s->submits[c->sub[n]];
        hdi_cverify_fail(c, "wait: deadlock: %s (submit %u, queue %u, frame %u) waits for what comes after it",
                         c->s->strings[x->name], c->sub[n], x->queue, x->frame);
        break;
    }
    return HD_OK;
}

/* All that the signal of a binary semaphore depends on is submitted before anything waits for it, signals by the host
 * included: what Vulkan asks of the order of the calls, and timelines do not need. */
static hd_result check_binary(build *b)
{
    hdi_cverify *c = b->c;
    const hd_stream *s = c->s;
    uint32_t *latest = HDI_ARENA_ZEROED(&c->v.arena, uint32_t, b->submit_count); /* 1 + submit of the stream; 0: none */
    uint32_t *of_queue = HDI_ARENA_ZEROED(&c->v.arena, uint32_t, s->queue_count);
    if (c->v.arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < c->order_count; i++) {
        uint32_t n = c->order[i], *of = &of_queue[b->submits[n].queue];
        uint32_t own = c->sub[n] == HDI_NONE ? 0 : 1 + c->sub[n];
        latest[n] = own > *of ? own : *of;
        for (uint32_t w = b->submits[n].wait_begin; w < b->submits[n].wait_begin + b->submits[n].wait_count; w++) {
            uint32_t before = latest[c->v.wait_signal[w]];
            if (b->wait_binary[w] != HDI_NONE && before > own)
                hdi_cverify_fail(c,
                                 "wait: %s (submit %u, queue %u, frame %u) waits for the binary semaphore %u, whose "
                                 "signal depends on %s (submit %u, queue %u, frame %u), which comes later",
                                 s->strings[s->submits[own - 1].name], own - 1, b->submits[n].queue,
                                 s->submits[own - 1].frame, b->wait_binary[w], s->strings[s->submits[before - 1].name],
                                 before - 1, s->submits[before - 1].queue, s->submits[before - 1].frame);
            latest[n] = before > latest[n] ? before : latest[n];
        }
        *of = latest[n];
    }
    return HD_OK;
}

/* ---- declaration ---- */

static hd_result add_accesses(hdi_cverify *c)
{
    const hd_stream *s = c->s;
    hdi_arena *arena = &c->v.arena;
    hdi_access_info *info = HDI_ARENA_ZEROED(arena, hdi_access_info, s->access_count);
    uint16_t *use_access = HDI_ARENA_ARRAY(arena, uint16_t, s->access_count);
    uint32_t *use_res = HDI_ARENA_ARRAY(arena, uint32_t, s->access_count);
    uint32_t *use_range = HDI_ARENA_ARRAY(arena, uint32_t, s->access_count), count = 0;
    hd_range *range = HDI_ARENA_ARRAY(arena, hd_range, s->access_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t u = 0; u < c->v.d.use_count; u++) {
        const hd_stream_access *x = &s->accesses[c->access_of[u]];
        uint32_t a = 0;
        while (a < count && (info[a].stages != x->stages || info[a].access != x->access))
            a++;
        if (a == count) {
            if (count == UINT16_MAX)
                return HD_TOO_LARGE;
            info[count].stages = x->stages;
            info[count].access = x->access;
            for (uint64_t left = x->access; left; left &= left - 1) {
                bool write = hdi_verify_access_meets(UINT64_C(0x10000), left & -left);
                info[count].writes |= write;
                info[count].reads |= !write;
            }
            count++;
        }
        use_access[u] = (uint16_t)a;
        use_res[u] = x->resource;
        use_range[u] = u;
        range[u] = x->range;
    }
    c->v.d.access = info;
    c->v.d.access_count = count;
    c->v.d.use_access = use_access;
    c->v.d.use_res = use_res;
    c->v.d.use_range = use_range;
    c->v.d.range = range;
    c->v.d.range_count = c->v.d.use_count;
    return HD_OK;
}

static hd_result add_declaration(hdi_cverify *c)
{
    const hd_stream *s = c->s;
    hdi_arena *arena = &c->v.arena;
    uint32_t *pass_use = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)s->command_count + 1), uses = 0;
    uint8_t *res_flags = HDI_ARENA_ZEROED(arena, uint8_t, s->resource_count);
    hdi_res_info *res_info = HDI_ARENA_ZEROED(arena, hdi_res_info, s->resource_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < s->command_count; i++) {
        pass_use[i] = uses;
        for (uint32_t a = 0; a < s->commands[i].count && s->commands[i].kind == HD_STREAM_ACCESS; a++) {
            c->access_of[uses] = s->commands[i].begin + a;
            c->use_command[uses++] = i;
        }
    }
    pass_use[s->command_count] = c->v.d.use_count = uses;
    for (uint32_t r = 0; r < s->resource_count; r++) {
        res_flags[r] = s->resources[r].aspects ? 0 : HDI_RES_BUFFER;
        res_info[r].mips = s->resources[r].mips;
        res_info[r].layers = s->resources[r].layers;
        res_info[r].bytes = s->resources[r].bytes;
    }
    c->v.d.pass_count = s->command_count;
    c->v.d.pass_use_begin = pass_use;
    c->v.d.res_count = s->resource_count;
    c->v.d.res_flags = res_flags;
    c->v.d.res_info = res_info;
    return add_accesses(c);
}

static hd_result allocate(build *b)
{
    hdi_cverify *c = b->c;
    const hd_stream *s = c->s;
    hdi_arena *arena = &c->v.arena;
    size_t queues = s->queue_count, most = 2 * (size_t)s->submit_count + s->sync_count;
    size_t waits = (size_t)s->sync_count + s->submit_count;
    b->queues = HDI_ARENA_ARRAY(arena, hd_plan_queue, queues);
    b->submits = HDI_ARENA_ARRAY(arena, hd_plan_submit, most);
    b->waits = HDI_ARENA_ARRAY(arena, hd_plan_wait, waits);
    b->commands = HDI_ARENA_ARRAY(arena, hd_plan_command, s->command_count);
    b->batches = HDI_ARENA_ARRAY(arena, hd_plan_batch, s->command_count);
    b->barriers = HDI_ARENA_ZEROED(arena, hd_plan_barrier, s->barrier_count);
    b->signal_submit = HDI_ARENA_ARRAY(arena, uint32_t, s->sync_count);
    b->wait_sync = HDI_ARENA_ARRAY(arena, uint32_t, waits);
    b->wait_binary = HDI_ARENA_ARRAY(arena, uint32_t, waits);
    b->host_fence = HDI_ARENA_ARRAY(arena, uint32_t, queues);
    b->host_dirty = HDI_ARENA_ZEROED(arena, uint8_t, queues);
    b->fence_seen = HDI_ARENA_ARRAY(arena, uint32_t, queues * queues);
    c->wait_sync = HDI_ARENA_ARRAY(arena, uint32_t, waits);
    c->signal_sync = HDI_ARENA_ARRAY(arena, uint32_t, most);
    c->sub = HDI_ARENA_ARRAY(arena, uint32_t, most);
    c->command_of = HDI_ARENA_ARRAY(arena, uint32_t, s->command_count);
    c->command_submit = HDI_ARENA_ARRAY(arena, uint32_t, s->command_count);
    c->use_command = HDI_ARENA_ARRAY(arena, uint32_t, s->access_count);
    c->access_of = HDI_ARENA_ARRAY(arena, uint32_t, s->access_count);
    c->v.wait_signal = HDI_ARENA_ARRAY(arena, uint32_t, waits);
    c->v.command_node = HDI_ARENA_ARRAY(arena, uint32_t, s->command_count);
    c->v.pass_queue = HDI_ARENA_ARRAY(arena, uint32_t, s->command_count);
    c->v.pass_submit = HDI_ARENA_ARRAY(arena, uint32_t, s->command_count);
    c->v.pass_next = HDI_ARENA_ZEROED(arena, uint32_t, s->command_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (size_t q = 0; q < queues; q++) {
        b->queues[q] = (hd_plan_queue){s->queues[q].kind, s->queues[q].family};
        b->host_fence[q] = HDI_NONE;
    }
    for (size_t i = 0; i < queues * queues; i++)
        b->fence_seen[i] = HDI_NONE;
    return HD_OK;
}

hd_result hdi_cverify_build(hdi_cverify *c)
{
    build b = {.c = c};
    hd_result result = allocate(&b);
    if (result == HD_OK)
        result = add_declaration(c);
    if (result != HD_OK)
        return result;
    for (uint32_t x = 0; x < c->s->submit_count; x++)
        add_one(&b, x);
    result = check_signals(&b);
    if (result != HD_OK)
        return result;
    resolve_waits(&b);
    c->v.p = (hd_plan_view){.queue_count = c->s->queue_count,
                            .submit_count = b.submit_count,
                            .wait_count = b.wait_count,
                            .command_count = b.command_count,
                            .batch_count = b.batch_count,
                            .barrier_count = c->s->barrier_count,
                            .queues = b.queues,
                            .submits = b.submits,
                            .waits = b.waits,
                            .commands = b.commands,
                            .batches = b.batches,
                            .barriers = b.barriers};
    result = sort_submits(&b);
    if (result == HD_OK)
        result = check_binary(&b);
    if (result == HD_OK)
        result = hdi_verify_model(&c->v);
    return result == HD_OK ? hdi_verify_nodes(&c->v) : result;
}
