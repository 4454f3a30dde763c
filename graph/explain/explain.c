#include "explain.h"

#include <string.h>

#include "alloc.h"
#include "csr.h"
#include "sort.h"
#include "vk_numbers.h"

/* Explain: works out, from a plan and its declaration alone, which passes and which resource are behind each barrier,
 * wait, cut, placement and cull. It is done here and not in the phases because it costs searches that no frame needs,
 * and so it works for a plan from a file as well. Uses of each resource in the order of the commands, and from each
 * part of the plan a search among the uses of the resources at hand: back from the part to the first one that fits.
 * O(n log n) to set up; a search ends within a few uses, but for what fits nothing. */

bool hdi_explain_ranges_meet(const hd_range *a, const hd_range *b, bool is_buffer)
{
    if (is_buffer)
        return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
    return a->mip_base < b->mip_base + b->mip_count && b->mip_base < a->mip_base + a->mip_count &&
           a->layer_base < b->layer_base + b->layer_count && b->layer_base < a->layer_base + a->layer_count;
}

uint32_t hdi_explain_from(const hdi_explain *x, uint32_t res, uint32_t at)
{
    uint32_t low = x->plan_begin[res], high = x->plan_begin[res + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (x->pass_at[x->use_pass[x->plan_use[middle]]] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

hdi_explain_uses hdi_explain_uses_of(const hdi_explain *x, uint32_t pass, uint32_t res)
{
    uint32_t at = x->pass_at[pass];
    if (at == HDI_NONE)
        return (hdi_explain_uses){0, 0};
    return (hdi_explain_uses){hdi_explain_from(x, res, at), hdi_explain_from(x, res, at + 1)};
}

bool hdi_explain_meet(const hdi_explain *x, uint32_t use_a, uint32_t use_b)
{
    const hdi_decl *decl = x->decl;
    uint32_t a = decl->use_range[use_a], b = decl->use_range[use_b];
    if (decl->use_res[use_a] != decl->use_res[use_b])
        return false;
    if (a == HDI_NONE || b == HDI_NONE)
        return true;
    return hdi_explain_ranges_meet(&decl->range[a], &decl->range[b],
                                   (decl->res_flags[decl->use_res[use_a]] & HDI_RES_BUFFER) != 0);
}

/* The layout in which a use's pass has what the use touches: reads that differ agree on the read-only depth layout. */
static uint32_t layout_of(const hdi_explain *x, uint32_t use)
{
    const hdi_decl *decl = x->decl;
    uint32_t layout = decl->access[decl->use_access[use]].layout;
    hdi_explain_uses own = hdi_explain_uses_of(x, x->use_pass[use], decl->use_res[use]);
    for (uint32_t i = own.begin; i < own.end; i++) {
        uint32_t u = x->plan_use[i];
        if (hdi_explain_meet(x, u, use) && decl->access[decl->use_access[u]].layout != layout)
            return HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY;
    }
    return layout;
}

/* The GPU queue of a pass, HDI_NONE: the host's, or the pass is not in the plan. */
static uint32_t queue_of(const hdi_explain *x, uint32_t pass)
{
    uint32_t submit = x->pass_submit[pass], queue = submit == HDI_NONE ? HDI_NONE : x->view.submits[submit].queue;
    return queue == HDI_NONE || x->view.queues[queue].kind == HD_QUEUE_HOST ? HDI_NONE : queue;
}

uint32_t hdi_explain_conflict(const hdi_explain *x, uint32_t use_a, uint32_t use_b)
{
    const hdi_decl *decl = x->decl;
    const hdi_access_info *a = &decl->access[decl->use_access[use_a]], *b = &decl->access[decl->use_access[use_b]];
    uint32_t res = decl->use_res[use_a], at = x->res_at[res];
    if (!hdi_explain_meet(x, use_a, use_b))
        return HD_REASON_NONE;
    if (a->writes)
        return b->reads ? HD_REASON_READ_AFTER_WRITE : HD_REASON_WRITE_AFTER_WRITE;
    if (b->writes)
        return HD_REASON_WRITE_AFTER_READ;
    if (decl->res_flags[res] & HDI_RES_BUFFER)
        return HD_REASON_NONE;
    if (layout_of(x, use_a) != layout_of(x, use_b))
        return HD_REASON_LAYOUT;
    /* Also to a queue of the same family: one that reads what the other acquired comes behind the acquire. */
    uint32_t from = queue_of(x, x->use_pass[use_a]), to = queue_of(x, x->use_pass[use_b]);
    bool exclusive = at != HDI_NONE && !(x->view.resources[at].flags & HD_PLAN_CONCURRENT);
    return exclusive && from != to && from != HDI_NONE && to != HDI_NONE ? HD_REASON_ACQUIRE : HD_REASON_NONE;
}

/* Content says more than layouts and owners. */
static uint32_t strength(uint32_t reason)
{
    if (reason == HD_REASON_NONE)
        return 0;
    return reason == HD_REASON_LAYOUT || reason == HD_REASON_ACQUIRE ? 1 : 2;
}

bool hdi_explain_pair(const hdi_explain *x, uint32_t a, uint32_t b, hd_why *out)
{
    const uint32_t *begin = x->decl->pass_use_begin;
    uint32_t best = 0, best_use = 0;
    bool few_in_a = begin[a + 1] - begin[a] < begin[b + 1] - begin[b];
    uint32_t from = few_in_a ? a : b, to = few_in_a ? b : a;
    for (uint32_t s = begin[from]; s < begin[from + 1]; s++) {
        hdi_explain_uses others = hdi_explain_uses_of(x, to, x->decl->use_res[s]);
        for (uint32_t i = others.begin; i < others.end; i++) {
            uint32_t t = x->plan_use[i], u = few_in_a ? s : t;
            uint32_t reason = few_in_a ? hdi_explain_conflict(x, s, t) : hdi_explain_conflict(x, t, s);
            if (reason == HD_REASON_NONE || strength(reason) < best || (strength(reason) == best && u >= best_use))
                continue;
            best = strength(reason);
            best_use = u;
            *out = (hd_why){reason, b, a, x->decl->use_res[u], HD_NONE};
        }
    }
    return best != 0;
}

bool hdi_explain_behind(const hdi_explain *x, uint32_t b, uint32_t queue, uint32_t last_submit, uint32_t at,
                        hd_why *out)
{
    const hdi_decl *decl = x->decl;
    uint32_t latest = HDI_NONE, best = 0;
    for (uint32_t v = decl->pass_use_begin[b]; v < decl->pass_use_begin[b + 1]; v++) {
        uint32_t res = decl->use_res[v];
        for (uint32_t i = x->plan_begin[res]; i < x->plan_begin[res + 1]; i++) {
            uint32_t u = x->plan_use[i], a = x->use_pass[u];
            if (x->pass_at[a] >= at || a == b)
                break;
            if (x->pass_submit[a] > last_submit || x->view.submits[x->pass_submit[a]].queue != queue)
                continue;
            uint32_t reason = hdi_explain_conflict(x, u, v);
            if (strength(reason) < best || reason == HD_REASON_NONE ||
                (strength(reason) == best && latest != HDI_NONE && x->pass_at[a] <= latest))
                continue;
            best = strength(reason);
            latest = x->pass_at[a];
            *out = (hd_why){reason, b, a, res, HD_NONE};
        }
    }
    return best != 0;
}

uint32_t hdi_explain_first_user(const hdi_explain *x, uint32_t res)
{
    return x->plan_begin[res] < x->plan_begin[res + 1] ? x->use_pass[x->plan_use[x->plan_begin[res]]] : HDI_NONE;
}

uint32_t hdi_explain_last_user(const hdi_explain *x, uint32_t res, uint32_t at)
{
    uint32_t end = hdi_explain_from(x, res, at);
    return end == x->plan_begin[res] ? HDI_NONE : x->use_pass[x->plan_use[end - 1]];
}

/* The plan names one; where it does not, or its was not used yet, the one whose last use is the latest. */
uint32_t hdi_explain_tenant(const hdi_explain *x, uint32_t res, uint32_t at)
{
    const hd_plan_resource *own = &x->view.resources[x->res_at[res]];
    if (own->tenant < x->decl->res_count && hdi_explain_last_user(x, own->tenant, at) != HDI_NONE)
        return own->tenant;
    uint32_t first = hdi_explain_first_user(x, res), best = HDI_NONE, best_at = 0;
    if (own->heap == HD_NONE || first == HDI_NONE || x->view.heaps[own->heap].flags & HD_HEAP_PERSISTENT)
        return HDI_NONE;
    for (uint32_t i = 0; i < x->view.resource_count; i++) {
        const hd_plan_resource *other = &x->view.resources[i];
        uint32_t last = hdi_explain_last_user(x, other->id, HDI_NONE), before = hdi_explain_last_user(x, other->id, at);
        if (other == own || other->heap != own->heap || before == HDI_NONE || x->pass_at[last] >= x->pass_at[first] ||
            other->offset >= own->offset + own->bytes || own->offset >= other->offset + other->bytes)
            continue;
        if (best == HDI_NONE || x->pass_at[before] > best_at) {
            best = other->id;
            best_at = x->pass_at[before];
        }
    }
    return best;
}

/* ---- the tables that the searches need ---- */

static void place_passes(hdi_explain *x)
{
    memset(x->pass_submit, 0xff, x->decl->pass_count * sizeof(*x->pass_submit));
    memset(x->pass_at, 0xff, x->decl->pass_count * sizeof(*x->pass_at));
    for (uint32_t s = 0; s < x->view.submit_count; s++) {
        const hd_plan_submit *submit = &x->view.submits[s];
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
            uint32_t pass = x->view.commands[c].index;
            /* A plan from elsewhere may run a pass twice: the first time counts. */
            if (x->view.commands[c].kind != HD_COMMAND_PASS || x->pass_at[pass] != HDI_NONE)
                continue;
            x->pass_submit[pass] = s;
            x->pass_at[pass] = c;
        }
    }
}

static void order_uses(hdi_explain *x, uint32_t *key, uint32_t *use, uint32_t *order)
{
    const hdi_decl *decl = x->decl;
    uint32_t n = 0;
    for (uint32_t c = 0; c < x->view.command_count; c++) {
        uint32_t pass = x->view.commands[c].index;
        if (x->view.commands[c].kind != HD_COMMAND_PASS || x->pass_at[pass] != c)
            continue;
        for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
            use[n] = u;
            key[n++] = decl->use_res[u];
        }
    }
    hdi_csr_build(key, n, decl->res_count, x->plan_begin, order);
    for (uint32_t i = 0; i < n; i++)
        x->plan_use[i] = use[order[i]];
    hdi_csr_build(decl->use_res, decl->use_count, decl->res_count, x->declared_begin, x->declared_use);
}

/* Resources of each heap by their ends; of resources with the same end the last one comes first. */
static bool order_by_end(hdi_explain *x)
{
    uint32_t n = x->view.resource_count;
    uint64_t *key = HDI_ARENA_ARRAY(&x->arena, uint64_t, n), *key2 = HDI_ARENA_ARRAY(&x->arena, uint64_t, n);
    uint32_t *order2 = HDI_ARENA_ARRAY(&x->arena, uint32_t, n), placed = 0;
    if (x->arena.failed)
        return false;
    for (uint32_t i = n; i-- > 0;) {
        if (x->view.resources[i].heap >= x->view.heap_count)
            continue;
        key[placed] = x->view.resources[i].offset + x->view.resources[i].bytes;
        x->by_end[placed++] = i;
        x->heap_begin[x->view.resources[i].heap + 1]++;
    }
    hdi_sort_u64(key, x->by_end, key2, order2, placed);
    for (uint32_t i = 0; i < placed; i++)
        key[i] = x->view.resources[x->by_end[i]].heap;
    hdi_sort_u64(key, x->by_end, key2, order2, placed); /* stable */
    for (uint32_t h = 0; h < x->view.heap_count; h++)
        x->heap_begin[h + 1] += x->heap_begin[h];
    return true;
}

static bool set_up(hdi_explain *x)
{
    const hdi_decl *decl = x->decl;
    hdi_arena *arena = &x->arena;
    x->use_pass = HDI_ARENA_ARRAY(arena, uint32_t, decl->use_count);
    x->use_key = HDI_ARENA_ARRAY(arena, uint64_t, decl->use_count);
    x->pass_submit = HDI_ARENA_ARRAY(arena, uint32_t, decl->pass_count);
    x->pass_at = HDI_ARENA_ARRAY(arena, uint32_t, decl->pass_count);
    x->plan_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)decl->res_count + 1);
    x->plan_use = HDI_ARENA_ARRAY(arena, uint32_t, decl->use_count);
    x->declared_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)decl->res_count + 1);
    x->declared_use = HDI_ARENA_ARRAY(arena, uint32_t, decl->use_count);
    x->res_at = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    x->signal_wait = HDI_ARENA_ARRAY(arena, uint32_t, x->view.submit_count);
    x->culled = HDI_ARENA_ZEROED(arena, uint8_t, decl->pass_count);
    uint32_t *key = HDI_ARENA_ARRAY(arena, uint32_t, decl->use_count);
    uint32_t *use = HDI_ARENA_ARRAY(arena, uint32_t, decl->use_count);
    uint32_t *order = HDI_ARENA_ARRAY(arena, uint32_t, decl->use_count);
    x->by_end = HDI_ARENA_ARRAY(arena, uint32_t, x->view.resource_count);
    x->heap_begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)x->view.heap_count + 1);
    if (arena->failed || !order_by_end(x) || !hdi_signals_list(&x->signals, &x->view, arena))
        return false;
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++)
            x->use_pass[u] = p;
    }
    for (uint32_t u = 0; u < decl->use_count; u++)
        x->use_key[u] = 2 * (uint64_t)x->use_pass[u] + 1;
    for (uint32_t i = 0; i < decl->late_count; i++)
        x->use_key[decl->late_use[i]] = 2 * (uint64_t)decl->late_end[i];
    memset(x->res_at, 0xff, decl->res_count * sizeof(*x->res_at));
    for (uint32_t i = 0; i < x->view.resource_count; i++)
        x->res_at[x->view.resources[i].id] = i;
    for (uint32_t i = 0; i < x->view.culled_count; i++)
        x->culled[x->view.culled[i]] = 1;
    memset(x->signal_wait, 0xff, x->view.submit_count * sizeof(*x->signal_wait));
    place_passes(x);
    order_uses(x, key, use, order);
    return true;
}

void hd_plan_reasons_free(const hd_plan_reasons *reasons, const hd_allocator *allocator)
{
    static const hd_allocator standard = {0};
    if (reasons)
        hdi_free(allocator ? allocator : &standard, (void *)reasons, reasons->bytes);
}

hd_result hd_plan_explain(const hd_graph *graph, const hd_plan *plan, const hd_allocator *allocator,
                          const hd_plan_reasons **out)
{
    static const hd_allocator standard = {0};
    if (!out)
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    if (!graph || !plan)
        return HD_INVALID_ARGUMENT;
    allocator = allocator ? allocator : &standard;
    hdi_decl decl = hdi_graph_decl(graph);
    hdi_explain x = {.decl = &decl, .view = hd_plan_read(plan)};
    if (x.view.pass_count != decl.pass_count || x.view.declared_resource_count != decl.res_count)
        return HD_INVALID_ARGUMENT;
    size_t total = (size_t)x.view.barrier_count + x.view.wait_count + 2 * (size_t)x.view.submit_count +
                   x.view.resource_count + x.view.culled_count;
    size_t bytes = sizeof(hd_plan_reasons) + total * sizeof(hd_why);
    hd_plan_reasons *reasons = hdi_alloc(allocator, bytes, 64);
    if (!reasons)
        return HD_OUT_OF_MEMORY;
    x.barriers = (hd_why *)(void *)(reasons + 1);
    x.waits = x.barriers + x.view.barrier_count;
    x.submits = x.waits + x.view.wait_count;
    x.submit_ends = x.submits + x.view.submit_count;
    x.resources = x.submit_ends + x.view.submit_count;
    x.culls = x.resources + x.view.resource_count;
    *reasons = (hd_plan_reasons){x.barriers, x.waits, x.submits, x.submit_ends, x.resources, x.culls, bytes};
    for (size_t i = 0; i < total; i++)
        x.barriers[i] = (hd_why){0, HD_NONE, HD_NONE, HD_NONE, HD_NONE};
    hdi_arena_init(&x.arena, allocator);
    bool good = set_up(&x);
    if (good) {
        hdi_explain_barriers(&x);
        hdi_explain_waits(&x);
        hdi_explain_submits(&x);
        hdi_explain_resources(&x);
        hdi_explain_culls(&x);
        *out = reasons;
    } else {
        hd_plan_reasons_free(reasons, allocator);
    }
    hdi_arena_free(&x.arena);
    return good ? HD_OK : HD_OUT_OF_MEMORY;
}
