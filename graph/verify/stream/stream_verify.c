#include "stream_verify.h"
#include "vk_words.h"

#include <stdarg.h>
#include <stdio.h>

#include "sort.h"

/* Entry of the verifier of streams, its sentences, which resources share bytes, and whether stages and accesses of
 * barriers fit their queues. */

static void put_key(uint64_t *table, uint32_t room, uint64_t key)
{
    uint32_t i = (uint32_t)(key >> 32 ^ key) & (room - 1);
    while (table[i])
        i = (i + 1) & (room - 1);
    table[i] = key;
}

bool hdi_cverify_said(hdi_cverify *c, uint64_t key)
{
    key *= UINT64_C(0x9e3779b97f4a7c15); /* neighbours are to lie apart */
    key ^= key >> 29;
    key += key == 0;
    for (uint32_t i = (uint32_t)(key >> 32 ^ key); c->said_room && c->said[i & (c->said_room - 1)]; i++) {
        if (c->said[i & (c->said_room - 1)] == key)
            return true;
    }
    if (c->said_count * 2 >= c->said_room) { /* grown in the arena, as the lists of accesses */
        uint32_t room = c->said_room ? c->said_room * 2 : 64;
        uint64_t *table = HDI_ARENA_ZEROED(&c->v.arena, uint64_t, room);
        if (!table) /* it is said again; the end reports that there was no memory */
            return false;
        for (uint32_t i = 0; i < c->said_room; i++) {
            if (c->said[i])
                put_key(table, room, c->said[i]);
        }
        c->said = table;
        c->said_room = room;
    }
    put_key(c->said, c->said_room, key);
    c->said_count++;
    return false;
}

void hdi_cverify_fail(hdi_cverify *c, const char *format, ...)
{
    c->bad = true;
    if (c->stop)
        return;
    hd_finding found = c->found;
    c->found = (hd_finding){.rule = HD_RULE_STRUCTURE, .resource = HD_NONE, .other_resource = HD_NONE};
    if (c->desc->message || c->desc->finding) {
        char text[800];
        uint64_t key = UINT64_C(0xcbf29ce484222325); /* FNV-1a, of what is hardly a key of a race */
        va_list list;
        va_start(list, format);
        vsnprintf(text, sizeof(text), format, list);
        va_end(list);
        for (const char *at = text; *at; at++)
            key = (key ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
        if (hdi_cverify_said(c, key))
            return;
        found.text = text;
        if (c->desc->message)
            c->desc->message(text, c->desc->user);
        if (c->desc->finding)
            c->desc->finding(&found, c->desc->user);
    }
    c->messages++;
    c->stop = c->messages >= c->limit;
}

hd_verify_place hdi_cverify_place(const hdi_cverify *c, uint32_t use, uint32_t node)
{
    hd_verify_place place = {.index = HD_NONE, .use = HD_NONE, .queue = HD_NONE, .submit = HD_NONE, .command = HD_NONE};
    if (use != HDI_NONE) {
        place.kind = HD_PLACE_PASS;
        place.index = place.command = c->use_command[use];
        place.use = c->access_of[use];
    } else if (node != HDI_NONE) {
        place.kind = HD_PLACE_BARRIER;
        place.index = c->v.node[node].barrier;
        place.command = c->command_of[c->v.node[node].command];
    } else {
        return place;
    }
    place.submit = c->command_submit[place.command];
    place.queue = c->s->submits[place.submit].queue;
    return place;
}

const char *hdi_cverify_command(const hdi_cverify *c, uint32_t command, hdi_ctext *out)
{
    const hd_stream *s = c->s;
    const hd_stream_command *x = &s->commands[command];
    const hd_stream_submit *submit = &s->submits[c->command_submit[command]];
    snprintf(out->text, sizeof(out->text), "%.60s%s%.60s%s (command %u of submit %u, queue %u, frame %u)",
             s->strings[x->name], x->label == HD_NONE ? "" : " of '", x->label == HD_NONE ? "" : s->strings[x->label],
             x->label == HD_NONE ? "" : "'", command - submit->command_begin, c->command_submit[command], submit->queue,
             submit->frame);
    return out->text;
}

const char *hdi_cverify_node(const hdi_cverify *c, uint32_t node, hdi_ctext *out)
{
    return hdi_cverify_command(c, c->command_of[c->v.node[node].command], out);
}

const char *hdi_cverify_resource(const hdi_cverify *c, uint32_t resource, hdi_ctext *out)
{
    const hd_stream_resource *x = &c->s->resources[resource];
    snprintf(out->text, sizeof(out->text), "%s %u '%.80s'", x->aspects ? "image" : "buffer", resource,
             x->name == HD_NONE ? "" : c->s->strings[x->name]);
    return out->text;
}

/* ---- aliases ---- */

static void sweep(hdi_cverify *c, const uint32_t *order, uint32_t count, uint32_t *at)
{
    const hd_stream_resource *res = c->s->resources;
    for (uint32_t i = 0; i < count; i++) {
        const hd_stream_resource *a = &res[order[i]];
        for (uint32_t j = i + 1; j < count; j++) {
            const hd_stream_resource *b = &res[order[j]];
            if (b->memory != a->memory || b->offset >= a->offset + a->bytes)
                break;
            if (b->bytes == 0)
                continue;
            if (at) {
                c->alias[at[order[i]]++] = order[j];
                c->alias[at[order[j]]++] = order[i];
            } else {
                c->alias_begin[order[i] + 1]++;
                c->alias_begin[order[j] + 1]++;
            }
        }
    }
}

hd_result hdi_cverify_aliases(hdi_cverify *c)
{
    const hd_stream *s = c->s;
    hdi_arena *arena = &c->v.arena;
    uint32_t n = s->resource_count, placed = 0;
    uint64_t *key = HDI_ARENA_ARRAY(arena, uint64_t, n), *key2 = HDI_ARENA_ARRAY(arena, uint64_t, n);
    uint32_t *order = HDI_ARENA_ARRAY(arena, uint32_t, n), *order2 = HDI_ARENA_ARRAY(arena, uint32_t, n);
    uint32_t *at = HDI_ARENA_ARRAY(arena, uint32_t, n);
    c->alias_begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)n + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t r = 0; r < n; r++) {
        if (s->resources[r].memory != HD_NONE) {
            key[placed] = s->resources[r].offset;
            order[placed++] = r;
        }
    }
    hdi_sort_u64(key, order, key2, order2, placed);
    for (uint32_t i = 0; i < placed; i++)
        key[i] = s->resources[order[i]].memory;
    hdi_sort_u64(key, order, key2, order2, placed); /* stable: by memory, then by offset */
    sweep(c, order, placed, NULL);
    for (uint32_t r = 0; r < n; r++) {
        c->alias_begin[r + 1] += c->alias_begin[r];
        at[r] = c->alias_begin[r];
    }
    c->alias = HDI_ARENA_ARRAY(arena, uint32_t, c->alias_begin[n]);
    if (!c->alias)
        return HD_OUT_OF_MEMORY;
    sweep(c, order, placed, at);
    return HD_OK;
}

/* ---- masks ---- */

static void check_mask(hdi_cverify *c, uint32_t command, uint32_t queue, const char *which, uint64_t stages,
                       uint64_t access)
{
    hdi_ctext text;
    uint64_t can = hdi_verify_queue_stages(c->s->queues[queue].kind) | HV_STAGE(HV_HOST);
    if (stages & ~can)
        hdi_cverify_fail(c, "stages: %s names %s stages %s, which its queue does not have",
                         hdi_cverify_command(c, command, &text), which, HDI_STAGE_TEXT(stages & ~can));
    for (uint64_t left = access; left; left &= left - 1) {
        if (hdi_verify_expand(stages) & hdi_verify_access_stages(left & -left))
            continue;
        hdi_cverify_fail(c, "stages: %s names %s access %s, which none of its stages %s does",
                         hdi_cverify_command(c, command, &text), which, HDI_ACCESS_TEXT(left & -left),
                         HDI_STAGE_TEXT(stages));
    }
}

void hdi_cverify_masks(hdi_cverify *c)
{
    const hd_stream *s = c->s;
    for (uint32_t x = 0; x < s->submit_count && !c->stop; x++) {
        uint32_t queue = s->submits[x].queue, begin = s->submits[x].command_begin;
        for (uint32_t i = begin; i < begin + s->submits[x].command_count && !c->stop; i++) {
            const hd_stream_command *command = &s->commands[i];
            for (uint32_t b = command->begin; b < command->begin + command->count; b++) {
                if (command->kind == HD_STREAM_ACCESS) {
                    const hd_stream_access *a = &s->accesses[b];
                    if (s->queues[queue].kind != HD_QUEUE_HOST && !(a->flags & (HD_STREAM_OBSERVED | HD_STREAM_BOUND)))
                        check_mask(c, i, queue, "its own", a->stages, a->access);
                    continue;
                }
                const hd_stream_barrier *y = &s->barriers[b];
                bool moves = y->src_family != y->dst_family;
                if (!moves || s->queues[queue].family == y->src_family) /* else of an acquire: of no meaning */
                    check_mask(c, i, queue, "source", y->src_stages, y->src_access);
                if (!moves || s->queues[queue].family != y->src_family)
                    check_mask(c, i, queue, "destination", y->dst_stages, y->dst_access);
            }
        }
    }
}

static hd_result run(hdi_cverify *c)
{
    hd_result result = hdi_cverify_build(c);
    if (result == HD_OK)
        hdi_cverify_masks(c);
    if (result == HD_OK)
        result = hdi_cverify_aliases(c);
    if (result == HD_OK && !c->stop)
        result = hdi_cverify_walk(c);
    if (result == HD_OK && c->v.arena.failed)
        result = HD_OUT_OF_MEMORY;
    return result != HD_OK ? result : c->bad ? HD_PLAN_INVALID : HD_OK;
}

hd_result hd_stream_verify(const hd_stream *stream, const hd_verify_desc *desc)
{
    static const hd_verify_desc none;
    if (!stream)
        return HD_INVALID_ARGUMENT;
    hdi_cverify c = {.s = stream, .desc = desc ? desc : &none};
    c.v.desc = &none;
    c.v.limit = 1;
    c.limit = !c.desc->message && !c.desc->finding ? 1 : c.desc->max_messages ? c.desc->max_messages : 16;
    hdi_arena_init(&c.v.arena, &c.desc->allocator);
    hd_result result = run(&c);
    hdi_arena_free(&c.v.arena);
    return result;
}
