#include "stream_verify.h"

/* Barriers, waits and signals between the two commands of a finding, and what their scopes lack to order them. */

typedef struct scope {
    uint64_t stages, access;
    uint32_t submit, command, queue;
} scope;

/* What must be taken in of the first command (its own scope; of a barrier the second one), or reached of the second. */
static scope scope_of(const hd_stream *s, const hd_verify_place *place, bool first)
{
    scope x = {.submit = place->submit, .command = place->command, .queue = place->queue};
    if (place->kind == HD_PLACE_PASS) {
        x.stages = s->accesses[place->use].stages;
        x.access = s->accesses[place->use].access;
    } else {
        const hd_stream_barrier *b = &s->barriers[place->index];
        x.stages = first ? b->dst_stages : b->src_stages;
        x.access = first ? b->dst_access : b->src_access;
    }
    return x;
}

static uint64_t access_lacks(uint64_t wanted, uint64_t mask, bool writes)
{
    uint64_t lacks = 0;
    for (uint64_t left = wanted; left; left &= left - 1) {
        uint64_t bit = left & -left;
        if ((!writes || hdi_verify_write_bit(bit)) && !hdi_verify_access_meets(mask, bit))
            lacks |= bit;
    }
    return lacks;
}

typedef struct collector {
    const hd_stream *s;
    scope x, y;
    uint32_t resource, other;
    hd_stream_between *out;
    uint32_t room, count;
} collector;

/* A full list gives up its first element: what stands next to the second command says most. */
static void add(collector *c, const hd_stream_node *node, uint64_t src, uint64_t src_access, uint64_t dst,
                uint64_t dst_access)
{
    hd_stream_between between = {
        .node = *node,
        .src_lacks = hdi_verify_expand(c->x.stages) & ~hdi_verify_src(src),
        .src_access_lacks = access_lacks(c->x.access, src_access, true),
        .dst_lacks = hdi_verify_expand(c->y.stages) & ~hdi_verify_dst(dst),
        .dst_access_lacks = access_lacks(c->y.access, dst_access, false),
    };
    if (c->count == c->room) {
        for (uint32_t i = 1; i < c->count; i++)
            c->out[i - 1] = c->out[i];
        c->count--;
    }
    c->out[c->count++] = between;
}

static void add_command(collector *c, uint32_t submit, uint32_t command)
{
    const hd_stream_command *x = &c->s->commands[command];
    for (uint32_t i = x->begin; i < x->begin + x->count && x->kind != HD_STREAM_ACCESS; i++) {
        const hd_stream_barrier *b = &c->s->barriers[i];
        if (b->resource == HD_NONE || b->resource == c->resource || b->resource == c->other)
            add(c, &(hd_stream_node){HD_STREAM_NODE_BARRIER, submit, command, i}, b->src_stages, b->src_access,
                b->dst_stages, b->dst_access);
    }
}

static void add_syncs(collector *c, uint32_t kind, uint32_t submit, uint32_t begin, uint32_t count)
{
    for (uint32_t i = begin; i < begin + count; i++) {
        uint64_t stages = c->s->syncs[i].stages, all = ~UINT64_C(0);
        if (c->s->syncs[i].semaphore == HD_NONE)
            continue;
        bool waits = kind == HD_STREAM_NODE_WAIT;
        add(c, &(hd_stream_node){kind, submit, HD_NONE, i}, waits ? HV_STAGE(HV_ALL_COMMANDS) : stages, all,
            waits ? stages : HV_STAGE(HV_ALL_COMMANDS), all);
    }
}

hd_result hd_stream_between_get(const hd_stream *stream, const hd_finding *finding, hd_stream_between *out,
                                uint32_t room, uint32_t *count)
{
    if (!stream || !finding || !out || !count || !room || finding->first.kind == HD_PLACE_NONE ||
        finding->second.kind == HD_PLACE_NONE)
        return HD_INVALID_ARGUMENT;
    collector c = {.s = stream,
                   .x = scope_of(stream, &finding->first, true),
                   .y = scope_of(stream, &finding->second, false),
                   .resource = finding->resource,
                   .other = finding->other_resource == HD_NONE ? finding->resource : finding->other_resource,
                   .out = out,
                   .room = room};
    for (uint32_t n = c.x.submit; n <= c.y.submit && n < stream->submit_count; n++) {
        const hd_stream_submit *submit = &stream->submits[n];
        if (submit->queue != c.x.queue && submit->queue != c.y.queue)
            continue;
        if (n != c.x.submit)
            add_syncs(&c, HD_STREAM_NODE_WAIT, n, submit->wait_begin, submit->wait_count);
        for (uint32_t i = submit->command_begin; i < submit->command_begin + submit->command_count; i++) {
            if ((n != c.x.submit || i > c.x.command) && (n != c.y.submit || i < c.y.command))
                add_command(&c, n, i);
        }
        if (n != c.y.submit)
            add_syncs(&c, HD_STREAM_NODE_SIGNAL, n, submit->signal_begin, submit->signal_count);
    }
    *count = c.count;
    return HD_OK;
}
