#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"

/* Order is "finished before", a relation over passes: the order of each queue, signals to waits, closed transitively.
 * That is what waits must give at least; whether barriers give the rest is another model's question. O(passes^3 +
 * uses^2). */

typedef struct model {
    hdt_cells c;
    hd_plan_view p;
    uint32_t *submit, *at; /* pass -> where it stands; HD_NONE */
    uint8_t *before;       /* submit x submit: whole submits in order */
    char *why;
    size_t why_bytes;
    bool bad;
} model;

#define FAIL(m, ...)                                                                                                   \
    do {                                                                                                               \
        if (!(m)->bad)                                                                                                 \
            snprintf((m)->why, (m)->why_bytes, __VA_ARGS__);                                                           \
        (m)->bad = true;                                                                                               \
    } while (0)

static void check_kept(model *m)
{
    uint32_t culled = 0;
    for (uint32_t p = 0; p < m->c.d.pass_count; p++) {
        bool listed = culled < m->p.culled_count && m->p.culled[culled] == p;
        culled += listed;
        if (listed == m->c.kept[p] || (m->submit[p] != HD_NONE) != m->c.kept[p])
            FAIL(m, "pass %u is to be %s", p, m->c.kept[p] ? "kept" : "culled");
    }
    if (culled != m->p.culled_count)
        FAIL(m, "the list of culled passes holds %u too many", m->p.culled_count - culled);
}

static bool can_run(uint32_t type, uint32_t kind)
{
    switch (type) {
    case HD_PASS_GFX:
        return kind == HD_QUEUE_GFX;
    case HD_PASS_COMPUTE:
        return kind == HD_QUEUE_GFX || kind == HD_QUEUE_COMPUTE;
    case HD_PASS_TRANSFER:
        return kind != HD_QUEUE_HOST;
    default:
        return kind == HD_QUEUE_HOST;
    }
}

static void check_queues(model *m)
{
    for (uint32_t p = 0; p < m->c.d.pass_count; p++) {
        if (m->submit[p] == HD_NONE)
            continue;
        uint32_t type = m->c.d.pass_type[p], pin = m->c.d.pass_pin[p];
        uint32_t kind = m->p.queues[m->p.submits[m->submit[p]].queue].kind;
        bool there = false;
        for (uint32_t q = 0; q < m->p.queue_count; q++)
            there |= pin != HD_PIN_NONE && m->p.queues[q].kind == pin - 1;
        if (!can_run(type, kind))
            FAIL(m, "pass %u cannot run on its queue", p);
        if (there && kind != pin - 1)
            FAIL(m, "pass %u is not where it is pinned", p);
    }
}

static void close_order(model *m)
{
    uint32_t n = m->p.submit_count;
    for (uint32_t s = 0; s < n; s++) {
        const hd_plan_submit *x = &m->p.submits[s];
        for (uint32_t t = 0; t < s; t++)
            m->before[t * n + s] = m->p.submits[t].queue == x->queue;
        for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++)
            for (uint32_t t = 0; t < n; t++)
                if (m->p.submits[t].queue == m->p.waits[w].queue &&
                    m->p.submits[t].signal_value >= m->p.waits[w].value) {
                    m->before[t * n + s] = 1;
                    break;
                }
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; m->before[i * n + k] && j < n; j++)
                m->before[i * n + j] |= m->before[k * n + j];
    for (uint32_t s = 0; s < n; s++)
        if (m->before[s * n + s])
            FAIL(m, "submit %u waits for itself", s);
}

static bool pass_before(const model *m, uint32_t p, uint32_t q)
{
    if (m->submit[p] == m->submit[q])
        return m->at[p] < m->at[q];
    return m->before[m->submit[p] * m->p.submit_count + m->submit[q]];
}

/* Kept passes that touch a cell, one of them writing, stand in the order of the declaration. */
static void check_order(model *m)
{
    for (uint32_t c = 0; c < m->c.count; c++)
        for (uint32_t y = 0; y < m->c.d.use_count; y++) {
            uint32_t q = m->c.use_pass[y];
            if (!m->c.kept[q] || !hdt_use_has(&m->c, y, c))
                continue;
            for (uint32_t x = 0; x < y; x++) {
                uint32_t p = m->c.use_pass[x];
                if (p != q && m->c.kept[p] && hdt_use_has(&m->c, x, c) &&
                    (hdt_use_row(&m->c, x)->writes || hdt_use_row(&m->c, y)->writes) && !pass_before(m, p, q))
                    FAIL(m, "pass %u does not come before pass %u, both use resource %u", p, q, m->c.cell[c].res);
            }
        }
}

/* Bytes and alignment by the contract. */
static uint64_t bytes_of(const model *m, uint32_t res, uint64_t *alignment)
{
    const hdi_res_info *x = &m->c.d.res_info[res];
    *alignment = m->c.d.res_flags[res] & HDI_RES_BUFFER ? 256 : 65536;
    uint64_t sum = 0, texel;
    switch (x->format) {
    case 9: /* r8 */
        texel = 1;
        break;
    case 97: /* rgba16f */
        texel = 8;
        break;
    default: /* rgba8, bgra8, rg16f, r32f, d32f, d24s8 */
        texel = 4;
    }
    for (uint32_t mip = 0; mip < (x->mips ? x->mips : 1); mip++) {
        uint64_t w = x->width >> mip, h = x->height >> mip;
        sum += (w ? w : 1) * (h ? h : 1) * texel;
    }
    sum *= (x->layers ? x->layers : 1) * (x->samples ? x->samples : 1);
    sum = *alignment == 256 ? x->bytes : sum;
    return (sum + *alignment - 1) / *alignment * *alignment;
}

/* Whether every use of a comes before every use of b. */
static bool all_before(const model *m, uint32_t a, uint32_t b)
{
    for (uint32_t x = 0; x < m->c.d.use_count; x++)
        for (uint32_t y = 0; m->c.d.use_res[x] == a && m->c.kept[m->c.use_pass[x]] && y < m->c.d.use_count; y++)
            if (m->c.d.use_res[y] == b && m->c.kept[m->c.use_pass[y]] &&
                !pass_before(m, m->c.use_pass[x], m->c.use_pass[y]))
                return false;
    return true;
}

static uint32_t heap_of(const model *m, uint32_t res)
{
    uint32_t i = 0;
    while (i < m->p.resource_count && m->p.resources[i].id != res)
        i++;
    return i < m->p.resource_count ? m->p.resources[i].heap : HD_NONE;
}

/* Whether a host pass uses it before all others do, and has waited by then for all queues that use its heap. */
static bool host_waits_first(const model *m, uint32_t res)
{
    uint32_t first = HD_NONE;
    for (uint32_t u = 0; u < m->c.d.use_count; u++) {
        uint32_t pass = m->c.use_pass[u];
        if (m->c.d.use_res[u] == res && m->c.kept[pass] && (first == HD_NONE || pass_before(m, pass, first)))
            first = pass;
    }
    if (first == HD_NONE || m->c.d.pass_type[first] != HD_PASS_HOST)
        return false;
    for (uint32_t u = 0; u < m->c.d.use_count; u++) {
        uint32_t pass = m->c.use_pass[u];
        bool known = m->c.d.pass_type[pass] == HD_PASS_HOST || !m->c.kept[pass] ||
                     heap_of(m, m->c.d.use_res[u]) != heap_of(m, res);
        if (m->c.d.use_res[u] == res && m->c.kept[pass] && pass != first && !pass_before(m, first, pass))
            return false;
        for (uint32_t s = 0; !known && s < m->p.submit_count; s++)
            known = m->p.submits[s].queue == m->p.submits[m->submit[pass]].queue &&
                    m->before[s * m->p.submit_count + m->submit[first]];
        if (!known)
            return false;
    }
    return true;
}

static void check_place(model *m)
{
    for (uint32_t i = 0; i < m->p.resource_count; i++) {
        const hd_plan_resource *a = &m->p.resources[i];
        uint32_t flags = m->c.d.res_flags[a->id];
        uint64_t alignment, bytes = bytes_of(m, a->id, &alignment);
        bool token = flags & HDI_RES_BUFFER && m->c.d.res_info[a->id].bytes == 0;
        if ((a->heap == HD_NONE) != (flags & HDI_RES_EXTERNAL || token))
            FAIL(m, "resource %u has memory from elsewhere and a heap, or neither", a->id);
        if (a->heap == HD_NONE)
            continue;
        if (a->heap >= m->p.heap_count || a->offset % alignment || a->bytes != bytes ||
            a->offset + a->bytes > m->p.heaps[a->heap].bytes) {
            FAIL(m, "resource %u lies wrongly: heap %u, offset %llu, bytes %llu", a->id, a->heap,
                 (unsigned long long)a->offset, (unsigned long long)a->bytes);
            continue;
        }
        for (uint32_t j = 0; j < i; j++) {
            const hd_plan_resource *b = &m->p.resources[j];
            if (b->heap != a->heap || b->offset >= a->offset + a->bytes || a->offset >= b->offset + b->bytes)
                continue;
            uint32_t both = flags | m->c.d.res_flags[b->id];
            if (both & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY) ||
                (both & HDI_RES_HOST && (!host_waits_first(m, a->id) || !host_waits_first(m, b->id))))
                FAIL(m, "resources %u and %u share bytes, and one has to keep them to itself", b->id, a->id);
            else if (!all_before(m, a->id, b->id) && !all_before(m, b->id, a->id))
                FAIL(m, "resources %u and %u share bytes while both are used", b->id, a->id);
        }
    }
}

bool hdt_reference(const hd_graph *graph, const hd_plan *plan, char *why, size_t bytes)
{
    model m = {.c = hdt_cells_make(graph, NULL), .p = hd_plan_read(plan), .why = why, .why_bytes = bytes};
    m.submit = hdt_zeroed(m.c.d.pass_count, sizeof(*m.submit));
    m.at = hdt_zeroed(m.c.d.pass_count, sizeof(*m.at));
    m.before = hdt_zeroed((size_t)m.p.submit_count * m.p.submit_count, 1);
    memset(m.submit, 0xff, m.c.d.pass_count * sizeof(*m.submit));
    for (uint32_t s = 0; s < m.p.submit_count; s++)
        for (uint32_t i = 0; i < m.p.submits[s].command_count; i++) {
            const hd_plan_command *command = &m.p.commands[m.p.submits[s].command_begin + i];
            if (command->kind != HD_COMMAND_PASS)
                continue;
            if (m.submit[command->index] != HD_NONE)
                FAIL(&m, "pass %u stands twice", command->index);
            m.submit[command->index] = s;
            m.at[command->index] = i;
        }
    check_kept(&m);
    if (!m.bad) {
        check_queues(&m);
        close_order(&m);
        check_order(&m);
        check_place(&m);
    }
    free(m.submit);
    free(m.at);
    free(m.before);
    hdt_cells_free(&m.c);
    return !m.bad;
}
