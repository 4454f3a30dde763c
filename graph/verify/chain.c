#include "verify.h"

#include <string.h>

#include "alloc.h"

/* What orders two passes: a search, breadth first, over the sync nodes that the verifier numbers, by the same masks. A
 * node hangs on another of its queue when the stages that the one releases meet those that the other waits for, a wait
 * on its signal, and a layout transition on the one before it of the same resource. Breadth first gives a shortest
 * chain. O(nodes^2) a pair of uses: a tool asks for one pair of passes at a time. */

typedef struct finder {
    hdi_verify v;
    uint32_t pass[2], use_count;
    uint64_t *gather, *spread; /* node: where it begins to wait, where others wait for it */
    uint64_t at[2];            /* where the passes stand */
    uint32_t *from, *queue;
    hd_chain *chains;
    uint32_t chain_count, chain_room;
    hd_link *links;
    uint32_t link_count, link_room;
} finder;

/* ---- where things stand ---- */

static uint64_t place(uint32_t submit, uint64_t at)
{
    return (uint64_t)submit << 33 | at;
}

static uint64_t node_place(const hdi_verify *v, uint32_t n)
{
    const hdi_vnode *x = &v->node[n];
    if (x->kind == HV_BARRIER)
        return place(x->submit, 1 + x->command);
    return place(x->submit, x->kind == HV_WAIT ? 0 : (UINT64_C(1) << 33) - 1);
}

static bool place_all(finder *f)
{
    hdi_verify *v = &f->v;
    f->gather = HDI_ARENA_ARRAY(&v->arena, uint64_t, v->node_count);
    f->spread = HDI_ARENA_ARRAY(&v->arena, uint64_t, v->node_count);
    f->from = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->node_count);
    f->queue = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->node_count);
    if (v->arena.failed)
        return false;
    for (uint32_t n = 0; n < v->node_count; n++)
        f->gather[n] = f->spread[n] = node_place(v, n);
    for (uint32_t s = 0; s < v->p.submit_count; s++) {
        const hd_plan_submit *submit = &v->p.submits[s];
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
            const hd_plan_command *command = &v->p.commands[c];
            for (int i = 0; i < 2 && command->kind == HD_COMMAND_PASS; i++)
                if (command->index == f->pass[i])
                    f->at[i] = place(s, 1 + c);
            if (command->kind != HD_COMMAND_WAIT) /* a split barrier releases where its second half stands */
                continue;
            for (uint32_t b = 0; b < v->p.batches[command->index].barrier_count; b++)
                f->spread[v->command_node[c] + b] = place(s, 1 + c);
        }
    }
    return true;
}

/* ---- the relation ---- */

typedef struct end {
    uint32_t queue, res;
    uint64_t at, stages;
    uint64_t shown; /* stages, with those that the masks do not tell apart */
} end;

/* Accesses without stages (present) are tied to what changes their resource, and to semaphores. */
static bool leaves(const finder *f, const end *x, uint32_t n)
{
    const hdi_vnode *node = &f->v.node[n];
    if (node->queue != x->queue || f->gather[n] < x->at || node->kind == HV_WAIT)
        return false;
    return x->stages ? (x->stages & ~node->src_far) == 0 : node->kind == HV_SIGNAL || node->resource == x->res;
}

static bool arrives(const finder *f, uint32_t n, const end *y)
{
    const hdi_vnode *node = &f->v.node[n];
    if (node->queue != y->queue || f->spread[n] > y->at || node->kind == HV_SIGNAL)
        return false;
    return y->stages ? (y->stages & ~node->dst_far) == 0 : node->kind == HV_WAIT || node->resource == y->res;
}

static bool hangs_on(const finder *f, uint32_t m, uint32_t n)
{
    const hdi_verify *v = &f->v;
    const hdi_vnode *a = &v->node[n], *b = &v->node[m];
    if (b->kind == HV_WAIT)
        return a->kind == HV_SIGNAL && v->wait_signal[b->barrier] == a->submit;
    if (a->kind == HV_SIGNAL || a->queue != b->queue || f->spread[n] >= f->gather[m])
        return false;
    return (a->dst_far & b->src_far & v->rep) || (a->flags && b->flags && a->resource == b->resource);
}

/* Shortest way; the last node, or HDI_NONE. */
static uint32_t search(finder *f, const end *x, const end *y)
{
    const hdi_verify *v = &f->v;
    uint32_t head = 0, tail = 0;
    for (uint32_t n = 0; n < v->node_count; n++) {
        f->from[n] = HDI_NONE;
        if (leaves(f, x, n)) {
            f->from[n] = n;
            f->queue[tail++] = n;
        }
    }
    while (head < tail) {
        uint32_t n = f->queue[head++];
        if (arrives(f, n, y))
            return n;
        for (uint32_t m = 0; m < v->node_count; m++)
            if (f->from[m] == HDI_NONE && hangs_on(f, m, n)) {
                f->from[m] = n;
                f->queue[tail++] = m;
            }
    }
    return HDI_NONE;
}

/* ---- chains ---- */

static void add_link(finder *f, hd_link link)
{
    if (hdi_arena_grow(&f->v.arena, &f->links, &f->link_room, f->link_count, f->link_count + 1, sizeof(link)))
        f->links[f->link_count++] = link;
}

#define SHOWN (HV_STAGE(HV_LAST_STAGE) - 1) /* without the two stages that are the verifier's own */

static uint64_t near(uint64_t mask, uint64_t spread)
{
    return mask & spread ? mask & spread : spread & SHOWN;
}

static void add_links(finder *f, const end *x, const end *y, uint32_t last)
{
    const hdi_verify *v = &f->v;
    uint32_t count = 0;
    for (uint32_t n = last;; n = f->from[n]) { /* the queue of the search is free now */
        f->queue[count++] = n;
        if (f->from[n] == n)
            break;
    }
    add_link(f, (hd_link){HD_LINK_PASS, f->pass[0], x->queue, v->pass_submit[f->pass[0]], x->shown, x->shown});
    uint64_t before = x->stages;
    while (count-- > 0) {
        uint32_t n = f->queue[count];
        const hdi_vnode *node = &v->node[n];
        uint64_t behind = count ? v->node[f->queue[count - 1]].src_far & v->rep : y->stages;
        hd_link link = {.queue = node->queue, .submit = node->submit, .from = node->src_far & before & SHOWN};
        link.kind = node->kind == HV_BARRIER ? HD_LINK_BARRIER : node->kind == HV_WAIT ? HD_LINK_WAIT : HD_LINK_SIGNAL;
        link.index = node->kind == HV_SIGNAL ? node->submit : node->barrier;
        if (node->kind != HV_SIGNAL)
            link.to = near(node->dst_near, node->dst_far & behind) & SHOWN;
        before = node->dst_far & v->rep;
        add_link(f, link);
    }
    add_link(f, (hd_link){HD_LINK_PASS, f->pass[1], y->queue, v->pass_submit[f->pass[1]], y->shown, y->shown});
}

static hd_chain *add_chain(finder *f, hd_chain chain)
{
    if (!hdi_arena_grow(&f->v.arena, &f->chains, &f->chain_room, f->chain_count, f->chain_count + 1, sizeof(chain)))
        return NULL;
    f->chains[f->chain_count] = chain;
    return &f->chains[f->chain_count++];
}

static bool try_chain(finder *f, hd_chain chain, const end *x, const end *y, bool must)
{
    uint32_t last = search(f, x, y);
    if (last == HDI_NONE && !must)
        return false;
    for (uint32_t n = 0; n < f->v.node_count; n++) {
        chain.leave += leaves(f, x, n);
        chain.arrive += arrives(f, n, y);
    }
    chain.stages = x->shown;
    chain.other_stages = y->shown;
    chain.how = last == HDI_NONE ? HD_CHAINED_NONE : HD_CHAINED_LINKS;
    chain.link_begin = f->link_count;
    if (last != HDI_NONE)
        add_links(f, x, y, last);
    chain.link_count = f->link_count - chain.link_begin;
    add_chain(f, chain);
    return last != HDI_NONE;
}

/* One chain for all stages of both where there is one; else one for each pair of stages. */
static void chain_ends(finder *f, hd_chain chain, const end *x, const end *y)
{
    if (try_chain(f, chain, x, y, false))
        return;
    end one = *x, other = *y;
    uint64_t stages = x->stages, all = y->stages;
    do {
        one.stages = one.shown = stages & -stages;
        uint64_t others = all;
        do {
            other.stages = other.shown = others & -others;
            try_chain(f, chain, &one, &other, true);
        } while (others &= others - 1);
    } while (stages &= stages - 1);
}

/* ---- conflicts ---- */

static void bytes_of_use(const hdi_verify *v, uint32_t use, uint64_t *begin, uint64_t *finish)
{
    uint32_t res = v->d.use_res[use];
    const hd_plan_resource *r = &v->p.resources[v->plan_res[res]];
    *begin = r->offset;
    *finish = r->offset + r->bytes;
    if (!(v->d.res_flags[res] & HDI_RES_BUFFER) || v->d.use_range[use] == HDI_NONE)
        return;
    const hd_range *range = &v->d.range[v->d.use_range[use]];
    *begin = r->offset + range->offset;
    *finish = *begin + range->bytes;
}

static bool touches(const hdi_verify *v, uint32_t use, uint32_t segment)
{
    HV_EACH_SEG(hdi_verify_use_rect(v, use), s)
    {
        if (s == segment)
            return true;
    }
    return false;
}

static bool conflict(const hdi_verify *v, uint32_t x, uint32_t y)
{
    uint32_t rx = v->d.use_res[x], ry = v->d.use_res[y];
    if (!v->d.access[v->d.use_access[x]].writes && !v->d.access[v->d.use_access[y]].writes)
        return false;
    if (rx == ry) {
        HV_EACH_SEG(hdi_verify_use_rect(v, x), s)
        {
            if (touches(v, y, s))
                return true;
        }
        return false;
    }
    const hd_plan_resource *a = &v->p.resources[v->plan_res[rx]], *b = &v->p.resources[v->plan_res[ry]];
    if (a->heap == HD_NONE || a->heap != b->heap)
        return false;
    uint64_t begin[2], finish[2];
    bytes_of_use(v, x, &begin[0], &finish[0]);
    bytes_of_use(v, y, &begin[1], &finish[1]);
    return begin[0] < finish[1] && begin[1] < finish[0];
}

static uint64_t shown_stages(const hdi_verify *v, uint32_t use)
{
    return hdi_verify_expand(v->d.access[v->d.use_access[use]].stages);
}

static void chain_uses(finder *f, uint32_t x, uint32_t y)
{
    const hdi_verify *v = &f->v;
    const uint32_t *begin = v->d.pass_use_begin;
    uint32_t qx = v->pass_queue[f->pass[0]], qy = v->pass_queue[f->pass[1]];
    end ends[2] = {{qx, v->d.use_res[x], f->at[0], v->use_stage[v->d.use_access[x]], shown_stages(v, x)},
                   {qy, v->d.use_res[y], f->at[1], v->use_stage[v->d.use_access[y]], shown_stages(v, y)}};
    hd_chain chain = {.use = x - begin[f->pass[0]],
                      .other_use = y - begin[f->pass[1]],
                      .resource = ends[0].res,
                      .other_resource = ends[1].res,
                      .stages = ends[0].shown,
                      .other_stages = ends[1].shown};
    if (qx == qy && v->p.queues[qx].kind == HD_QUEUE_HOST)
        chain.how = HD_CHAINED_HOST;
    else if (v->use_scope[x] != HDI_NONE && v->use_scope[x] == v->use_scope[y] && ends[0].res == ends[1].res)
        chain.how = HD_CHAINED_SCOPE;
    if (chain.how != HD_CHAINED_NONE)
        add_chain(f, chain);
    else
        chain_ends(f, chain, &ends[0], &ends[1]);
}

/* Nothing conflicts: whether all of the one is over before anything of the other begins. */
static void chain_passes(finder *f)
{
    const hdi_verify *v = &f->v;
    end ends[2];
    for (int i = 0; i < 2; i++) {
        ends[i] = (end){v->pass_queue[f->pass[i]], HDI_NONE, f->at[i], 0, 0};
        for (uint32_t u = v->d.pass_use_begin[f->pass[i]]; u < v->d.pass_use_begin[f->pass[i] + 1]; u++) {
            ends[i].stages |= v->use_stage[v->d.use_access[u]];
            ends[i].shown |= shown_stages(v, u);
        }
    }
    hd_chain chain = {.use = HD_NONE, .other_use = HD_NONE, .resource = HD_NONE, .other_resource = HD_NONE};
    if (ends[0].queue == ends[1].queue && v->p.queues[ends[0].queue].kind == HD_QUEUE_HOST) {
        chain.how = HD_CHAINED_HOST;
        add_chain(f, chain);
    } else if (ends[0].stages && ends[1].stages) {
        chain_ends(f, chain, &ends[0], &ends[1]);
    } else {
        add_chain(f, chain);
    }
}

static hd_result find(finder *f)
{
    hdi_verify *v = &f->v;
    hdi_verify_structure(v);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    if (v->bad)
        return HD_PLAN_INVALID;
    if (v->pass_queue[f->pass[0]] == HDI_NONE || v->pass_queue[f->pass[1]] == HDI_NONE)
        return HD_OK; /* culled */
    hd_result (*const steps[])(hdi_verify *) = {hdi_verify_model, hdi_verify_scopes, hdi_verify_nodes};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        hd_result result = steps[i](v);
        if (result != HD_OK)
            return result;
        if (v->arena.failed)
            return HD_OUT_OF_MEMORY;
    }
    for (uint32_t w = 0; w < v->p.wait_count; w++) /* so that a wait can be named */
        v->node[v->wait_node[w]].barrier = w;
    if (!place_all(f))
        return HD_OUT_OF_MEMORY;
    if (f->at[0] > f->at[1]) {
        uint64_t at = f->at[0];
        uint32_t pass = f->pass[0];
        f->at[0] = f->at[1];
        f->at[1] = at;
        f->pass[0] = f->pass[1];
        f->pass[1] = pass;
    }
    const uint32_t *begin = v->d.pass_use_begin;
    for (uint32_t x = begin[f->pass[0]]; x < begin[f->pass[0] + 1]; x++)
        for (uint32_t y = begin[f->pass[1]]; y < begin[f->pass[1] + 1]; y++)
            if (conflict(v, x, y))
                chain_uses(f, x, y);
    f->use_count = f->chain_count;
    if (f->chain_count == 0)
        chain_passes(f);
    return v->arena.failed ? HD_OUT_OF_MEMORY : HD_OK;
}

static hd_result copy_out(const finder *f, const hd_allocator *allocator, const hd_chains **out)
{
    size_t head = sizeof(hd_chains), chains = f->chain_count * sizeof(hd_chain),
           links = f->link_count * sizeof(hd_link);
    hd_chains *all = hdi_alloc(allocator, head + chains + links, 64);
    if (!all)
        return HD_OUT_OF_MEMORY;
    hd_chain *to_chains = (hd_chain *)(all + 1);
    hd_link *to_links = (hd_link *)(void *)((char *)to_chains + chains);
    if (f->chain_count)
        memcpy(to_chains, f->chains, chains);
    if (f->link_count)
        memcpy(to_links, f->links, links);
    *all = (hd_chains){.pass = f->pass[0],
                       .other_pass = f->pass[1],
                       .culled = f->chain_count == 0,
                       .conflict = f->use_count != 0,
                       .chain_count = f->chain_count,
                       .link_count = f->link_count,
                       .chains = to_chains,
                       .links = to_links,
                       .bytes = head + chains + links};
    *out = all;
    return HD_OK;
}

hd_result hd_plan_chains(const hd_graph *graph, const hd_plan *plan, uint32_t pass, uint32_t other_pass,
                         const hd_allocator *allocator, const hd_chains **out)
{
    static const hd_verify_desc quiet;
    static const hd_allocator usual;
    if (!graph || !plan || !out)
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    finder f = {.v = {.desc = &quiet, .limit = UINT32_MAX}, .pass = {pass, other_pass}};
    f.v.d = hdi_graph_decl(graph);
    f.v.p = hd_plan_read(plan);
    if (pass >= f.v.d.pass_count || other_pass >= f.v.d.pass_count || pass == other_pass)
        return HD_INVALID_ARGUMENT;
    const hd_allocator *memory = allocator ? allocator : &usual;
    hdi_arena_init(&f.v.arena, memory);
    hd_result result = find(&f);
    if (result == HD_OK)
        result = copy_out(&f, memory, out);
    hdi_arena_free(&f.v.arena);
    return result;
}

void hd_chains_free(const hd_chains *chains, const hd_allocator *allocator)
{
    static const hd_allocator usual;
    if (chains)
        hdi_free(allocator ? allocator : &usual, (void *)chains, chains->bytes);
}
