#include "stream_mutate.h"

#include <string.h>

#include "verify.h"

/* One walk over a stream for each kind, which counts the places and breaks the one that is asked for. */

typedef struct walk {
    hd_stream *s;         /* changed only at place */
    uint32_t seen, place; /* place UINT32_MAX: only counts */
} walk;

static bool here(walk *w)
{
    return w->seen++ == w->place;
}

const char *hdt_mutation_name(hdt_mutation mutation)
{
    static const char *const names[HDT_MUTATION_COUNT] = {
        "dropped barrier",
        "dropped wait",
        "dropped host wait",
        "weakened source stages",
        "weakened destination stages",
        "weakened source access",
        "weakened destination access",
        "weakened wait",
        "wrong old layout",
        "wrong family",
        "shifted placement",
        "swapped commands",
        "dropped barrier command",
        "wrong new layout",
        "swapped families",
        "wait for the value before",
        "dropped signal",
        "weakened signal",
    };
    return mutation < HDT_MUTATION_COUNT ? names[mutation] : "none";
}

static uint64_t without_lowest(uint64_t bits)
{
    return bits & (bits - 1);
}

/* Accesses that a stage still does. */
static uint64_t fitting(uint64_t access, uint64_t stages)
{
    uint64_t fits = 0;
    for (uint64_t left = access; left; left &= left - 1) {
        if (hdi_verify_expand(stages) & hdi_verify_access_stages(left & -left))
            fits |= left & -left;
    }
    return fits;
}

static uint64_t lowest_write(uint64_t access)
{
    for (uint64_t left = access; left; left &= left - 1) {
        if (hdi_verify_access_meets(UINT64_C(0x10000), left & -left))
            return left & -left;
    }
    return 0;
}

static void drop_barrier(walk *w, hd_stream_command *command, uint32_t i)
{
    hd_stream_barrier *list = &w->s->barriers[command->begin];
    memmove(&list[i], &list[i + 1], (command->count - i - 1) * sizeof(*list));
    command->count--;
}

static void barrier(walk *w, hdt_mutation mutation, hd_stream_command *command, uint32_t i)
{
    hd_stream_barrier *b = &w->s->barriers[command->begin + i];
    bool moves = b->src_family != b->dst_family;
    switch (mutation) {
    case HDT_DROP_BARRIER:
        if (command->kind == HD_STREAM_BARRIER && here(w))
            drop_barrier(w, command, i);
        break;
    case HDT_WEAKEN_SRC_STAGES:
        if (b->src_stages && here(w)) {
            b->src_stages = without_lowest(b->src_stages);
            b->src_access = fitting(b->src_access, b->src_stages);
        }
        break;
    case HDT_WEAKEN_DST_STAGES:
        if (b->dst_stages && here(w)) {
            b->dst_stages = without_lowest(b->dst_stages);
            b->dst_access = fitting(b->dst_access, b->dst_stages);
        }
        break;
    case HDT_WEAKEN_SRC_ACCESS:
        if (lowest_write(b->src_access) && here(w))
            b->src_access &= ~lowest_write(b->src_access);
        break;
    case HDT_WEAKEN_DST_ACCESS:
        if (b->dst_access && here(w))
            b->dst_access = without_lowest(b->dst_access);
        break;
    case HDT_WRONG_OLD_LAYOUT:
        if (b->resource != HD_NONE && w->s->resources[b->resource].aspects && b->old_layout && here(w))
            b->old_layout = b->old_layout == 6 ? 7 : 6;
        break;
    case HDT_WRONG_NEW_LAYOUT:
        if (b->resource != HD_NONE && w->s->resources[b->resource].aspects && here(w))
            b->new_layout = b->new_layout == 6 ? 7 : 6;
        break;
    case HDT_SWAP_FAMILIES:
        if (moves && here(w)) {
            uint32_t family = b->src_family;
            b->src_family = b->dst_family;
            b->dst_family = family;
        }
        break;
    case HDT_WRONG_FAMILY:
        if (moves && here(w))
            b->dst_family ^= 1;
        break;
    default:
        break;
    }
}

static void shift(walk *w, uint32_t r)
{
    hd_stream_resource *res = w->s->resources;
    for (uint32_t o = 0; o < w->s->resource_count; o++) {
        if (o == r || res[o].memory == HD_NONE || res[o].memory != res[r].memory || !res[r].bytes || !res[o].bytes ||
            (res[o].offset < res[r].offset + res[r].bytes && res[r].offset < res[o].offset + res[o].bytes))
            continue;
        if (here(w))
            res[r].offset = res[o].offset;
        return;
    }
}

/* Of everything: only copies. */
static void weaken(hd_stream_sync *sync)
{
    sync->stages = sync->stages == HV_STAGE(HV_ALL_COMMANDS) ? UINT64_C(0x100000000) : without_lowest(sync->stages);
}

static void submit(walk *w, hdt_mutation mutation, const hd_stream_submit *x)
{
    bool host = w->s->queues[x->queue].kind == HD_QUEUE_HOST;
    for (uint32_t i = x->wait_begin; i < x->wait_begin + x->wait_count; i++) {
        hd_stream_sync *sync = &w->s->syncs[i];
        if (sync->semaphore == HD_NONE)
            continue;
        if (mutation == (host ? HDT_DROP_HOST_WAIT : HDT_DROP_WAIT) && here(w))
            sync->semaphore = HD_NONE;
        else if (mutation == HDT_WEAKEN_WAIT && !host && here(w))
            weaken(sync);
        else if (mutation == HDT_LOWER_WAIT && !host && sync->value > 1 && here(w))
            sync->value--;
    }
    for (uint32_t i = x->signal_begin; i < x->signal_begin + x->signal_count; i++) {
        hd_stream_sync *sync = &w->s->syncs[i];
        if (sync->semaphore == HD_NONE || host)
            continue;
        if (mutation == HDT_DROP_SIGNAL && here(w))
            sync->semaphore = HD_NONE;
        else if (mutation == HDT_WEAKEN_SIGNAL && here(w))
            weaken(sync);
    }
    for (uint32_t i = x->command_begin; i < x->command_begin + x->command_count; i++) {
        hd_stream_command *command = &w->s->commands[i];
        if (mutation == HDT_SWAP_COMMANDS && i > x->command_begin && here(w)) {
            hd_stream_command other = command[-1];
            command[-1] = command[0];
            command[0] = other;
        }
        if (mutation == HDT_DROP_COMMAND && command->kind == HD_STREAM_BARRIER && command->count > 1 && here(w))
            command->count = 0;
        /* from behind: an element that is dropped does not move those still to come */
        for (uint32_t b = command->kind == HD_STREAM_ACCESS ? 0 : command->count; b-- > 0;)
            barrier(w, mutation, command, b);
    }
}

static void go(walk *w, hdt_mutation mutation)
{
    for (uint32_t x = 0; x < w->s->submit_count; x++)
        submit(w, mutation, &w->s->submits[x]);
    for (uint32_t r = 0; r < w->s->resource_count && mutation == HDT_SHIFT_PLACEMENT; r++)
        shift(w, r);
}

uint32_t hdt_mutation_places(const hd_stream *stream, hdt_mutation mutation)
{
    walk w = {(hd_stream *)stream, 0, UINT32_MAX}; /* nothing is changed at no place */
    go(&w, mutation);
    return w.seen;
}

void hdt_mutate(hd_stream *stream, hdt_mutation mutation, uint32_t place)
{
    walk w = {stream, 0, place};
    go(&w, mutation);
}
