#include <string.h>

#include "stream_graph.h"

/* A smaller stream: the kept nodes of a graph, and what they name. Submits, waits and commands of which nothing is left
 * go. The others stand in the order of the nodes: a submit that was held back read what the host wrote behind it, and
 * the semaphore that held it back may be gone. Objects stay that a command, a resource that is touched, the device or a
 * kept object names. Linear. */

typedef struct smaller {
    const hd_stream *s;
    hd_stream *to;
    const uint32_t *command_node, *barrier_node, *sync_node, *submit_order;
    const uint8_t *keep;
    uint32_t *object, *data; /* of the stream -> of the smaller one; 0: left out. object is 1 before that */
    uint8_t *touched;        /* resources */
    bool failed;
} smaller;

static bool is_kept(const smaller *r, uint32_t node)
{
    return node != HDI_NONE && r->keep[node];
}

static void copy_command(smaller *r, uint32_t index)
{
    const hd_stream *s = r->s;
    const hd_stream_command *x = &s->commands[index];
    bool access = x->kind == HD_STREAM_ACCESS;
    hd_stream_command copy = *x;
    copy.begin = access ? r->to->access_count : r->to->barrier_count;
    copy.count = 0;
    for (uint32_t i = x->begin; i < x->begin + x->count; i++) {
        if (!is_kept(r, access ? r->command_node[index] : r->barrier_node[i]))
            continue;
        hd_stream_access *a = access ? hdi_stream_access(r->to) : NULL;
        hd_stream_barrier *b = access ? NULL : hdi_stream_barrier(r->to);
        r->failed |= !a && !b;
        if (a)
            *a = s->accesses[i];
        if (b)
            *b = s->barriers[i];
        copy.count++;
    }
    hd_stream_command *to =
        copy.count || (access && is_kept(r, r->command_node[index])) ? hdi_stream_command(r->to) : NULL;
    if (to)
        *to = copy;
}

static uint32_t copy_syncs(smaller *r, uint32_t begin, uint32_t count)
{
    uint32_t first = r->to->sync_count;
    for (uint32_t i = begin; i < begin + count; i++) {
        if (!is_kept(r, r->sync_node[i]))
            continue;
        hd_stream_sync *sync = hdi_stream_sync(r->to);
        r->failed |= !sync;
        if (sync)
            *sync = r->s->syncs[i];
    }
    return first;
}

/* Submits of which nothing is left go. */
static void copy_submit(smaller *r, const hd_stream_submit *x)
{
    hd_stream_submit copy = *x;
    copy.wait_begin = copy_syncs(r, x->wait_begin, x->wait_count);
    copy.wait_count = r->to->sync_count - copy.wait_begin;
    copy.command_begin = r->to->command_count;
    for (uint32_t i = x->command_begin; i < x->command_begin + x->command_count; i++)
        copy_command(r, i);
    copy.command_count = r->to->command_count - copy.command_begin;
    copy.signal_begin = copy_syncs(r, x->signal_begin, x->signal_count);
    copy.signal_count = r->to->sync_count - copy.signal_begin;
    if (!copy.wait_count && !copy.command_count && !copy.signal_count)
        return;
    hd_stream_submit *to = hdi_stream_submit(r->to);
    r->failed |= !to;
    if (to)
        *to = copy;
}

/* The arrays of a submit's parts are cut back, and filled again by copy_submit. */
static void copy_parts(smaller *r)
{
    r->to->submit_count = r->to->sync_count = r->to->command_count = 0;
    r->to->barrier_count = r->to->access_count = 0;
    for (uint32_t i = 0; i < r->s->submit_count; i++)
        copy_submit(r, &r->s->submits[r->submit_order[i]]);
}

/* ---- what calls were given ---- */

static void name_objects(smaller *r, uint32_t data)
{
    const hd_stream_data *x = data ? &r->s->datas[data] : NULL;
    for (uint32_t i = 0; x && i < x->ref_count; i++)
        r->object[r->s->refs[x->ref_begin + i]] = 1;
}

/* Objects name those before them alone. */
static void find_objects(smaller *r)
{
    const hd_stream *s = r->s;
    hd_stream *to = r->to;
    for (uint32_t i = 0; i < to->command_count; i++) {
        name_objects(r, to->commands[i].data);
        r->object[to->commands[i].changes] = 1;
    }
    for (uint32_t i = 0; i < to->access_count; i++)
        r->touched[to->accesses[i].resource] = 1;
    for (uint32_t i = 0; i < to->barrier_count; i++) {
        if (to->barriers[i].resource != HD_NONE)
            r->touched[to->barriers[i].resource] = 1;
    }
    for (uint32_t i = 0; i < to->resource_count; i++)
        r->object[r->touched[i] ? to->resources[i].object : 0] = 1;
    r->object[s->device] = 1;
    for (uint32_t o = s->object_count; o-- > 1;) {
        if (r->object[o])
            name_objects(r, s->objects[o].data);
    }
    r->object[0] = 0;
}

static uint32_t copy_data(smaller *r, uint32_t number)
{
    const hd_stream *s = r->s;
    if (!number || r->data[number])
        return r->data[number];
    const hd_stream_data *from = &s->datas[number];
    uint32_t to = hdi_stream_data(r->to, s->bytes + from->byte_begin, from->byte_count, NULL, from->ref_count);
    r->failed |= !to;
    for (uint32_t i = 0; to && i < from->ref_count; i++)
        r->to->refs[r->to->datas[to].ref_begin + i] = r->object[s->refs[from->ref_begin + i]];
    return r->data[number] = to;
}

static void copy_given(smaller *r)
{
    const hd_stream *s = r->s;
    hd_stream *to = r->to;
    find_objects(r);
    to->object_count = to->data_count = to->ref_count = to->byte_count = 0;
    for (uint32_t o = 1; o < s->object_count; o++) {
        if (!r->object[o])
            continue;
        hd_stream_object object = {s->objects[o].name, copy_data(r, s->objects[o].data)};
        r->object[o] = hdi_stream_object(to, &object);
        r->failed |= !r->object[o];
    }
    to->device = r->object[s->device];
    for (uint32_t i = 0; i < to->resource_count; i++)
        to->resources[i].object = r->touched[i] ? r->object[to->resources[i].object] : 0;
    for (uint32_t i = 0; i < to->command_count; i++) {
        to->commands[i].data = copy_data(r, to->commands[i].data);
        to->commands[i].changes = r->object[to->commands[i].changes];
    }
}

/* ---- the parts of submits ---- */

/* Barriers of the second half of an event stand for those of the first one. */
static void join_events(const hd_stream *s, uint32_t *barrier_node)
{
    for (uint32_t i = 0; i < s->command_count; i++) {
        const hd_stream_command *wait = &s->commands[i];
        for (uint32_t k = i; k-- > 0 && wait->kind == HD_STREAM_WAIT;) {
            const hd_stream_command *set = &s->commands[k];
            if (set->kind != HD_STREAM_SET || set->event != wait->event || set->count != wait->count)
                continue;
            memcpy(barrier_node + wait->begin, barrier_node + set->begin, wait->count * sizeof(*barrier_node));
            break;
        }
    }
}

hd_result hd_stream_graph_reduce(const hd_stream *stream, const hd_stream_graph *graph, const uint8_t *keep,
                                 hd_stream **out)
{
    if (!stream || !graph || !keep || !out)
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    hdi_arena arena;
    hdi_arena_init(&arena, &stream->allocator);
    uint32_t *barrier = HDI_ARENA_ARRAY(&arena, uint32_t, stream->barrier_count);
    uint32_t *sync = HDI_ARENA_ARRAY(&arena, uint32_t, stream->sync_count);
    smaller r = {.s = stream,
                 .command_node = graph->command_node,
                 .barrier_node = barrier,
                 .sync_node = sync,
                 .submit_order = ((const hdi_stream_graph *)graph)->submit_order,
                 .keep = keep,
                 .object = HDI_ARENA_ZEROED(&arena, uint32_t, (size_t)stream->object_count + 1),
                 .data = HDI_ARENA_ZEROED(&arena, uint32_t, (size_t)stream->data_count + 1),
                 .touched = HDI_ARENA_ZEROED(&arena, uint8_t, stream->resource_count)};
    hd_result result = arena.failed ? HD_OUT_OF_MEMORY : hd_stream_copy(stream, &r.to);
    if (result == HD_OK) {
        memset(barrier, 0xff, stream->barrier_count * sizeof(*barrier));
        memset(sync, 0xff, stream->sync_count * sizeof(*sync));
        for (uint32_t n = 0; n < graph->node_count; n++) {
            const hd_stream_node *node = &graph->nodes[n];
            if (node->kind == HD_STREAM_NODE_BARRIER)
                barrier[node->element] = n;
            else if (node->kind != HD_STREAM_NODE_COMMAND)
                sync[node->element] = n;
        }
        join_events(stream, barrier);
        copy_parts(&r);
        if (!r.failed)
            copy_given(&r);
        result = r.failed ? HD_OUT_OF_MEMORY : HD_OK;
    }
    hdi_arena_free(&arena);
    if (result != HD_OK)
        hd_stream_free(r.to);
    else
        *out = r.to;
    return result;
}
