#include "stream_check.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub_driver.h"
#include "verify.h"

#define ALL VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT

typedef struct closure {
    const hdb_event *events;
    uint32_t count, words;
    uint64_t *direct, *reach; /* row of events that come behind, by event */
} closure;

static bool is_transition(const hdb_event *e)
{
    return e->kind == HDB_BARRIER && e->object && (e->old_layout != e->new_layout || e->src_family != e->dst_family);
}

static bool waits_before(const hdb_event *e) /* has a second scope */
{
    return e->kind == HDB_BARRIER || e->kind == HDB_WAIT;
}

static bool edge(const hdb_event *x, const hdb_event *y)
{
    bool into = y->kind == HDB_BARRIER || y->kind == HDB_SIGNAL;
    if (x->kind == HDB_MARK)
        return into && hdi_verify_src(y->src_stages) & x->src_stages;
    if (!waits_before(x))
        return false;
    if (y->kind == HDB_MARK)
        return (hdi_verify_dst(x->dst_stages) & y->src_stages) != 0;
    if (!into || (x->kind == HDB_BARRIER && y->kind == HDB_BARRIER && x->command == y->command))
        return false;
    /* A semaphore of all commands covers transitions, which have no stage. */
    if ((is_transition(x) && y->kind == HDB_SIGNAL && y->src_stages & ALL) ||
        (is_transition(y) && x->kind == HDB_WAIT && x->dst_stages & ALL))
        return true;
    return (hdi_verify_dst(x->dst_stages) & hdi_verify_src(y->src_stages)) != 0;
}

static bool get(const closure *c, const uint64_t *rows, uint32_t x, uint32_t y)
{
    return rows[(size_t)x * c->words + y / 64] >> (y % 64) & 1;
}

static void set(const closure *c, uint64_t *rows, uint32_t x, uint32_t y)
{
    rows[(size_t)x * c->words + y / 64] |= UINT64_C(1) << (y % 64);
}

/* The signal of the smallest value that is not below the one waited for. */
static void link_wait(closure *c, uint32_t w)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t s = 0; s < c->count; s++) {
        const hdb_event *signal = &c->events[s];
        if (signal->kind == HDB_SIGNAL && signal->object == c->events[w].object &&
            signal->value >= c->events[w].value && (found == UINT32_MAX || signal->value < c->events[found].value))
            found = s;
    }
    if (found != UINT32_MAX)
        set(c, c->direct, found, w);
}

/* Events stand in the order in which they were submitted, and every edge goes forward. */
static void close_over(closure *c)
{
    for (uint32_t y = 0; y < c->count; y++) {
        for (uint32_t x = 0; x < y; x++) {
            if (c->events[x].queue == c->events[y].queue && edge(&c->events[x], &c->events[y]))
                set(c, c->direct, x, y);
        }
        if (c->events[y].kind == HDB_WAIT || c->events[y].kind == HDB_HOST_WAIT)
            link_wait(c, y);
        for (uint32_t x = 0; x < y; x++) { /* what is submitted once the host has waited comes behind it */
            if (c->events[x].kind == HDB_HOST_WAIT)
                set(c, c->direct, x, y);
        }
    }
    memcpy(c->reach, c->direct, (size_t)c->count * c->words * sizeof(uint64_t));
    for (uint32_t x = c->count; x-- > 0;) {
        for (uint32_t y = x + 1; y < c->count; y++) {
            if (!get(c, c->direct, x, y))
                continue;
            for (uint32_t w = 0; w < c->words; w++)
                c->reach[(size_t)x * c->words + w] |= c->reach[(size_t)y * c->words + w];
        }
    }
}

static const hdb_place *place_of(uint64_t object)
{
    for (uint32_t i = hdb_stub_state.place_count; i-- > 0;) {
        if (hdb_stub_state.places[i].object == object)
            return &hdb_stub_state.places[i];
    }
    return NULL;
}

static bool meet(const hdb_event *x, const hdb_event *y)
{
    if (x->object == y->object)
        return x->mip_base < y->mip_base + y->mip_count && y->mip_base < x->mip_base + x->mip_count;
    const hdb_place *a = place_of(x->object), *b = place_of(y->object);
    return a && b && a->memory == b->memory && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static bool writes(const hdb_event *e)
{
    return e->kind == HDB_BARRIER || e->writes;
}

static bool available(const closure *c, uint32_t x, uint32_t a)
{
    const hdb_event *from = &c->events[x], *by = &c->events[a];
    if (from->kind == HDB_BARRIER)
        return a == x;
    if (!get(c, c->direct, x, a))
        return false;
    return by->kind == HDB_SIGNAL ||
           (by->object == 0 && hdi_verify_expand(by->src_stages) & from->src_stages &&
            by->src_access & from->src_access) ||
           (by->object == from->object && hdi_verify_expand(by->src_stages) & from->src_stages &&
            by->src_access & from->src_access);
}

static bool visible(const closure *c, uint32_t v, uint32_t y)
{
    const hdb_event *to = &c->events[y], *by = &c->events[v];
    if (to->kind == HDB_BARRIER)
        return v == y;
    if (!get(c, c->direct, v, y))
        return false;
    return by->kind == HDB_WAIT || by->kind == HDB_HOST_WAIT ||
           ((by->object == 0 || by->object == to->object) && hdi_verify_expand(by->dst_stages) & to->src_stages &&
            by->dst_access & to->src_access);
}

/* Rule by rule: ordered; and where the first one writes, made available before it is made visible. */
static bool ordered(const closure *c, uint32_t x, uint32_t y)
{
    bool both = is_transition(&c->events[x]) && is_transition(&c->events[y]);
    if (!get(c, c->reach, x, y) && !(both && c->events[x].queue == c->events[y].queue))
        return false;
    if (!writes(&c->events[x]) || both)
        return true;
    for (uint32_t a = x; a <= y; a++) {
        if (!available(c, x, a))
            continue;
        for (uint32_t v = a; v <= y; v++) {
            if ((v == a || get(c, c->reach, a, v)) && visible(c, v, y))
                return true;
        }
    }
    return false;
}

static void describe(const hdb_event *e, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s of object %llu in frame %u, queue %u, stages 0x%llx, access 0x%llx",
             e->kind == HDB_BARRIER ? "transition"
             : e->writes            ? "write"
                                    : "read",
             (unsigned long long)e->object, e->frame, e->queue, (unsigned long long)e->src_stages,
             (unsigned long long)e->src_access);
}

static unsigned check(const closure *c, char *text, size_t bytes, unsigned *pairs)
{
    unsigned faults = 0;
    for (uint32_t y = 0; y < c->count; y++) {
        for (uint32_t x = 0; x < y; x++) {
            const hdb_event *a = &c->events[x], *b = &c->events[y];
            bool accesses = (a->kind == HDB_MARK || is_transition(a)) && (b->kind == HDB_MARK || is_transition(b));
            if (!accesses || a->frame == b->frame || (!writes(a) && !writes(b)) || !meet(a, b))
                continue;
            ++*pairs;
            if (ordered(c, x, y))
                continue;
            if (faults++ == 0) {
                char first[192], second[192];
                describe(a, first, sizeof(first));
                describe(b, second, sizeof(second));
                snprintf(text, bytes, "%s, and %s", first, second);
            }
        }
    }
    return faults;
}

unsigned hdt_stream_faults(char *text, size_t bytes, unsigned *pairs)
{
    closure c = {.events = hdb_stub_state.events, .count = hdb_stub_state.event_count};
    c.words = (c.count + 63) / 64;
    c.direct = calloc((size_t)c.count * c.words + 1, sizeof(uint64_t));
    c.reach = calloc((size_t)c.count * c.words + 1, sizeof(uint64_t));
    if (!c.direct || !c.reach)
        abort();
    close_over(&c);
    *pairs = 0;
    unsigned faults = check(&c, text, bytes, pairs);
    free(c.direct);
    free(c.reach);
    return faults;
}
