#include "mutant_reason.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "brute_graph.h"

/* Two relations "before" of uses and moving barriers (transitions, transfers) are made from the nodes and edges of the
 * plain graph, one of each plan. In the broken one, every two uses that meet in memory, one of them a write, must be
 * ordered as before, and see each other unless another write stands between; and each subresource must go through the
 * same uses, transitions and transfers, where its content matters. Which of it differs is the reason. */

const char *const hdt_harmless_names[HDT_HARMLESS_COUNT] = {
    [HDT_UNEXPLAINED] = "unexplained",
    [HDT_SAME_ORDER] = "others order the same",
    [HDT_MORE_ORDER] = "it orders more",
    [HDT_NOT_MET] = "what it ordered does not meet",
    [HDT_UNTOUCHED] = "it is not used in this frame",
    [HDT_DEAD] = "its content is never read",
    [HDT_FREE_BYTES] = "the bytes are free",
    [HDT_TAKES_TURNS] = "the bytes are free by then",
    [HDT_ONE_FAMILY] = "one family alone has its content",
    [HDT_NOT_LOOKED] = "its content is thrown away first",
    [HDT_IN_VAIN] = "what is stored is never read",
};

typedef struct relation {
    hdt_plain b;
    uint32_t uses, ops;
    uint32_t *node;  /* moving barrier of the original -> node, HDT_NOBODY: gone */
    uint8_t *before; /* ops x ops: uses, then barriers of the original */
    bool placed_ok;
} relation;

typedef struct asked {
    relation g, m;    /* whole, broken */
    uint32_t *origin; /* barrier of the broken plan -> of the original */
    char *why;
    size_t bytes;
    bool lost, gained, fresh; /* fresh: uses meet that did not */
    bool tenants;             /* the order in which resources have some bytes changed */
    bool untouched, dead, bad;
} asked;

static void fail(asked *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(asked *a, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (!a->bad)
        vsnprintf(a->why, a->bytes, format, list);
    va_end(list);
    a->bad = true;
}

/* ---- the relation ---- */

#define EACH_BIT(bit, mask)                                                                                            \
    for (uint64_t bit##_left = (mask), bit; bit = bit##_left & -bit##_left, bit##_left; bit##_left &= bit##_left - 1)

static uint32_t queue_of(const relation *r, uint32_t use)
{
    return r->b.pass_queue[r->b.c.use_pass[use]];
}

static bool leaves(const relation *r, uint32_t use, uint64_t stage, uint32_t n)
{
    const hdt_node *x = &r->b.nodes[n];
    return x->kind != WAIT && x->queue == queue_of(r, use) && x->at > r->b.pass_at[r->b.c.use_pass[use]] &&
           (x->src & stage);
}

static bool enters(const relation *r, uint32_t n, uint32_t use, uint64_t stage)
{
    const hdt_node *x = &r->b.nodes[n];
    return x->kind != SIGNAL && x->queue == queue_of(r, use) && x->at < r->b.pass_at[r->b.c.use_pass[use]] &&
           (x->dst & stage);
}

/* The nodes that come after all of a use's stages, or (n) after a node: itself and those that it reaches. */
static void nodes_after(relation *r, uint32_t use, uint32_t n, uint8_t *row, uint8_t *one)
{
    uint32_t count = r->b.node_count;
    memset(row, 1, count);
    if (n != HDT_NOBODY) {
        for (uint32_t y = 0; y < count; y++)
            row[y] = y == n || hdt_plain_reaches(&r->b, n, y);
        return;
    }
    EACH_BIT(s, hdt_use_row(&r->b.c, use)->stages)
    {
        memset(one, 0, count);
        for (uint32_t a = 0; a < count; a++)
            for (uint32_t y = 0; leaves(r, use, s, a) && y < count; y++)
                one[y] |= y == a || hdt_plain_reaches(&r->b, a, y);
        for (uint32_t y = 0; y < count; y++)
            row[y] &= one[y];
    }
}

/* Every pair of stages has a node between; row: nodes after the earlier one. That a node which comes after all stages
 * is wanted, and not one for each, loses nothing here: the accesses of the format wait for all their stages alike. */
static bool reaches_use(const relation *r, const uint8_t *row, uint32_t y)
{
    EACH_BIT(s, hdt_use_row(&r->b.c, y)->stages)
    {
        bool found = false;
        for (uint32_t v = 0; v < r->b.node_count && !found; v++)
            found = row[v] && enters(r, v, y, s);
        if (!found)
            return false;
    }
    return true;
}

static bool on_host(const relation *r, uint32_t use)
{
    return hdt_plain_on_host(&r->b, queue_of(r, use));
}

static bool same_place(const relation *r, uint32_t x, uint32_t y)
{
    uint32_t px = r->b.c.use_pass[x], py = r->b.c.use_pass[y];
    return on_host(r, x) && queue_of(r, x) == queue_of(r, y) && r->b.pass_at[px] < r->b.pass_at[py];
}

static void fill_row(relation *r, uint32_t op, uint32_t n, uint8_t *row, uint8_t *one)
{
    nodes_after(r, op, n, row, one);
    for (uint32_t y = 0; y < r->uses; y++)
        if (queue_of(r, y) != HDT_NOBODY && y != op)
            r->before[(size_t)op * r->ops + y] = (n == HDT_NOBODY && same_place(r, op, y)) || reaches_use(r, row, y);
    for (uint32_t i = 0; i + r->uses < r->ops; i++) {
        uint32_t other = r->node[i];
        if (other == HDT_NOBODY || other == n)
            continue;
        const hdt_node *y = &r->b.nodes[other];
        bool same_queue = n != HDT_NOBODY && r->b.nodes[n].queue == y->queue && r->b.nodes[n].at < y->at;
        r->before[(size_t)op * r->ops + r->uses + i] = same_queue || row[other];
    }
}

static bool make_relation(relation *r, const hd_graph *graph, const hd_plan *plan, const uint32_t *origin,
                          uint32_t barriers)
{
    static char none[8];
    r->placed_ok = hdt_plain_open(&r->b, graph, plan, none, sizeof(none));
    r->uses = r->b.c.d.use_count;
    r->ops = r->uses + barriers;
    r->node = hdt_zeroed(barriers, sizeof(*r->node));
    memset(r->node, 0xff, barriers * sizeof(*r->node));
    r->before = hdt_zeroed((size_t)r->ops * r->ops, 1);
    uint8_t *row = hdt_zeroed(r->b.node_count, 1), *one = hdt_zeroed(r->b.node_count, 1);
    for (uint32_t n = 0; n < r->b.node_count; n++)
        if (r->b.nodes[n].moves) {
            uint32_t index = (uint32_t)(r->b.nodes[n].b - r->b.p.barriers);
            r->node[origin ? origin[index] : index] = n;
        }
    for (uint32_t x = 0; x < r->uses; x++)
        if (queue_of(r, x) != HDT_NOBODY)
            fill_row(r, x, HDT_NOBODY, row, one);
    for (uint32_t i = 0; i < barriers; i++)
        if (r->node[i] != HDT_NOBODY)
            fill_row(r, r->uses + i, r->node[i], row, one);
    free(row);
    free(one);
    return r->placed_ok;
}

static void free_relation(relation *r)
{
    hdt_plain_close(&r->b);
    free(r->node);
    free(r->before);
}

static bool before(const relation *r, uint32_t x, uint32_t y)
{
    return r->before[(size_t)x * r->ops + y];
}

/* ---- what meets ---- */

static bool op_there(const relation *r, uint32_t op)
{
    return op < r->uses ? queue_of(r, op) != HDT_NOBODY : r->node[op - r->uses] != HDT_NOBODY;
}

static uint32_t op_res(const relation *r, uint32_t op)
{
    return op < r->uses ? r->b.c.d.use_res[op] : r->b.nodes[r->node[op - r->uses]].b->resource;
}

static bool op_has(const relation *r, uint32_t op, uint32_t cell)
{
    return op < r->uses
               ? hdt_use_has(&r->b.c, op, cell)
               : op_res(r, op) == r->b.c.cell[cell].res && hdt_plain_covers(&r->b, r->node[op - r->uses], cell);
}

static bool op_writes(const relation *r, uint32_t op)
{
    return op >= r->uses || hdt_use_row(&r->b.c, op)->writes;
}

static bool cells_meet(const relation *r, uint32_t c, uint32_t d)
{
    return c == d || hdt_plain_overlap(&r->b, c, d);
}

static bool ops_meet(const relation *r, uint32_t x, uint32_t y)
{
    if (!op_there(r, x) || !op_there(r, y) || (!op_writes(r, x) && !op_writes(r, y)))
        return false;
    uint32_t rx = op_res(r, x), ry = op_res(r, y);
    for (uint32_t c = r->b.c.res_begin[rx]; c < r->b.c.res_begin[rx + 1]; c++)
        for (uint32_t d = r->b.c.res_begin[ry]; op_has(r, x, c) && d < r->b.c.res_begin[ry + 1]; d++)
            if (op_has(r, y, d) && cells_meet(r, c, d))
                return true;
    return false;
}

/* Some write comes behind x and before y, on what they share. */
static bool between(const relation *r, uint32_t x, uint32_t c, uint32_t y, uint32_t d)
{
    for (uint32_t z = 0; z < r->ops; z++) {
        if (!op_there(r, z) || !op_writes(r, z) || !before(r, x, z) || !before(r, z, y))
            continue;
        uint32_t res = op_res(r, z);
        for (uint32_t e = r->b.c.res_begin[res]; e < r->b.c.res_begin[res + 1]; e++)
            if (op_has(r, z, e) && cells_meet(r, e, c) && cells_meet(r, e, d))
                return true;
    }
    return false;
}

/* On all that x and y share. Two transitions on one queue are ordered without any mask: what is between needs no chain.
 */
static bool all_between(const relation *r, uint32_t x, uint32_t y)
{
    uint32_t rx = op_res(r, x), ry = op_res(r, y);
    for (uint32_t c = r->b.c.res_begin[rx]; c < r->b.c.res_begin[rx + 1]; c++)
        for (uint32_t d = r->b.c.res_begin[ry]; op_has(r, x, c) && d < r->b.c.res_begin[ry + 1]; d++)
            if (op_has(r, y, d) && cells_meet(r, c, d) && !between(r, x, c, y, d))
                return false;
    return true;
}

static void check_memory(asked *a, uint32_t x, uint32_t y)
{
    relation *r = &a->m;
    uint32_t rx = op_res(r, x), ry = op_res(r, y);
    for (uint32_t c = r->b.c.res_begin[rx]; c < r->b.c.res_begin[rx + 1]; c++)
        for (uint32_t d = r->b.c.res_begin[ry]; op_has(r, x, c) && d < r->b.c.res_begin[ry + 1]; d++)
            if (op_has(r, y, d) && cells_meet(r, c, d) && !hdt_plain_sees(&r->b, x, c, y, d) && !between(r, x, c, y, d))
                fail(a, "use %u of pass %u does not see use %u of pass %u", y, r->b.c.use_pass[y], x,
                     r->b.c.use_pass[x]);
}

static bool one_scope(const relation *r, uint32_t x, uint32_t y)
{
    const hd_plan_view *p = &r->b.p;
    for (uint32_t s = 0; s < p->scope_count; s++) {
        int in = 0;
        for (uint32_t i = 0; i < p->scopes[s].command_count; i++) {
            uint32_t pass = p->commands[p->scopes[s].command_begin + i].index;
            in |= pass == r->b.c.use_pass[x] ? 1 : pass == r->b.c.use_pass[y] ? 2 : 0;
        }
        if (in == 3)
            return true;
    }
    return false;
}

static bool only_transfers(const relation *r, uint32_t op)
{
    if (op < r->uses)
        return false;
    const hd_plan_barrier *b = r->b.nodes[r->node[op - r->uses]].b;
    return b->src_family != b->dst_family && b->old_layout == b->new_layout;
}

static bool only_reads(const relation *r, uint32_t op)
{
    return op < r->uses && !op_writes(r, op);
}

/* Tenants of some bytes may change places where each reader finds what it found (same_contents). Two overwrites may
 * change places where neither is read, and a read may stand on either side of a transfer: what the cells go through
 * says whether that is so. */
static bool may_turn(const relation *r, uint32_t x, uint32_t y)
{
    if (x >= r->uses || y >= r->uses)
        return (only_transfers(r, x) && only_reads(r, y)) || (only_reads(r, x) && only_transfers(r, y));
    return op_writes(r, x) && op_writes(r, y) && !hdt_use_row(&r->b.c, x)->reads && !hdt_use_row(&r->b.c, y)->reads;
}

static void check_pair(asked *a, uint32_t x, uint32_t y)
{
    bool uses = x < a->m.uses && y < a->m.uses, in_g = op_there(&a->g, x) && op_there(&a->g, y);
    bool g = in_g && before(&a->g, x, y), m = before(&a->m, x, y);
    if (uses && (a->m.b.c.use_pass[x] == a->m.b.c.use_pass[y]))
        return;
    a->lost |= g && !m;
    a->gained |= m && !g && in_g;
    if (!ops_meet(&a->m, x, y) || (uses && one_scope(&a->m, x, y)))
        return;
    bool met = in_g && ops_meet(&a->g, x, y);
    a->fresh |= !met;
    bool alias = op_res(&a->m, x) != op_res(&a->m, y);
    bool turned = g && !m && before(&a->m, y, x) && (alias || may_turn(&a->m, x, y));
    a->tenants |= turned && alias;
    m = m || all_between(&a->m, x, y);
    if (met && g && !m && !turned)
        fail(a, "operation %u is not before %u any more", x, y);
    else if (!m && !before(&a->m, y, x) && !all_between(&a->m, y, x))
        fail(a, "operations %u and %u meet and are not ordered", x, y);
    if (uses && m && op_writes(&a->m, x) && !(on_host(&a->m, x) && queue_of(&a->m, x) == queue_of(&a->m, y)))
        check_memory(a, x, y);
}

/* ---- what a subresource goes through ---- */

typedef struct event {
    uint32_t use; /* HDT_NOBODY: a barrier that moves */
    uint32_t old_layout, new_layout, src_family, dst_family;
    bool reads, writes, alone; /* alone: a read, or an overwrite that is never read: may change places with its like */
} event;

static uint32_t list_events(const relation *r, uint32_t cell, event *out)
{
    uint32_t count = 0, n = 0;
    for (uint32_t c = 0; c < r->b.p.command_count; c++) {
        const hd_plan_command *command = &r->b.p.commands[c];
        if (command->kind == HD_COMMAND_PASS) {
            for (uint32_t u = r->b.c.d.pass_use_begin[command->index]; u < r->b.c.d.pass_use_begin[command->index + 1];
                 u++)
                if (hdt_use_has(&r->b.c, u, cell))
                    out[count++] = (event){
                        .use = u, .reads = hdt_use_row(&r->b.c, u)->reads, .writes = hdt_use_row(&r->b.c, u)->writes};
            continue;
        }
        uint32_t barriers = r->b.p.batches[command->index].barrier_count;
        for (n = r->b.first_node[c]; n < r->b.first_node[c] + barriers; n++) {
            const hd_plan_barrier *b = r->b.nodes[n].b;
            if (r->b.nodes[n].moves && b->resource == r->b.c.cell[cell].res && hdt_plain_covers(&r->b, n, cell))
                out[count++] = (event){HDT_NOBODY,    b->old_layout, b->new_layout, b->src_family,
                                       b->dst_family, false,         false,         false};
        }
    }
    return count;
}

/* Without barriers that only change the layout of content that is never read, or only the owner, and with what may
 * change places in one order. */
static uint32_t strip(const relation *r, uint32_t cell, event *list, uint32_t count, bool *dropped)
{
    uint32_t flags = r->b.c.d.res_flags[r->b.c.cell[cell].res], kept = 0;
    bool alive = flags & (HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY);
    uint8_t *goes = hdt_zeroed(count, 1);
    for (uint32_t i = count; i-- > 0;) {
        list[i].alone = list[i].use != HDT_NOBODY && (!list[i].writes || (!list[i].reads && !alive));
        if (list[i].use != HDT_NOBODY)
            alive = list[i].reads || (alive && !list[i].writes);
        else
            goes[i] = !alive && list[i].src_family == list[i].dst_family;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (goes[i] || (list[i].use == HDT_NOBODY && list[i].old_layout == list[i].new_layout)) {
            *dropped |= goes[i];
            continue;
        }
        uint32_t at = kept++;
        event e = list[i];
        for (; at > 0 && e.alone && list[at - 1].alone && list[at - 1].writes == e.writes && list[at - 1].use > e.use;
             at--)
            list[at] = list[at - 1];
        list[at] = e;
    }
    free(goes);
    return kept;
}

static bool same_events(const event *g, uint32_t gn, const event *m, uint32_t mn)
{
    bool same = gn == mn;
    for (uint32_t i = 0; i < gn && same; i++)
        same = g[i].use == m[i].use && g[i].old_layout == m[i].old_layout && g[i].new_layout == m[i].new_layout &&
               g[i].src_family == m[i].src_family && g[i].dst_family == m[i].dst_family;
    return same;
}

static bool is_used(const event *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i].use != HDT_NOBODY)
            return true;
    return false;
}

/* The last writer, a use or a barrier from UNDEFINED, of bytes of a cell before use y, in the order of the list. */
static uint32_t last_writer(const relation *r, uint32_t y, uint32_t cell)
{
    uint32_t found = HDT_NOBODY;
    uint64_t best = 0, at = (uint64_t)r->b.pass_at[r->b.c.use_pass[y]] << 1;
    for (uint32_t z = 0; z < r->ops; z++) {
        if (!op_there(r, z) || !op_writes(r, z))
            continue;
        bool use = z < r->uses;
        uint64_t its = use ? (uint64_t)r->b.pass_at[r->b.c.use_pass[z]] << 1 | 1
                           : (uint64_t)r->b.nodes[r->node[z - r->uses]].at << 1;
        const hd_plan_barrier *b = use ? NULL : r->b.nodes[r->node[z - r->uses]].b;
        if (its >= at || its < best || (b && (b->old_layout || !b->new_layout)))
            continue;
        uint32_t res = op_res(r, z);
        for (uint32_t e = r->b.c.res_begin[res]; e < r->b.c.res_begin[res + 1]; e++)
            if (op_has(r, z, e) && cells_meet(r, e, cell)) {
                found = z;
                best = its;
                break;
            }
    }
    return found;
}

static bool same_contents(const asked *a)
{
    const relation *m = &a->m;
    for (uint32_t y = 0; y < m->uses; y++) {
        uint32_t res = op_res(m, y);
        for (uint32_t c = m->b.c.res_begin[res]; op_there(m, y) && c < m->b.c.res_begin[res + 1]; c++)
            if (hdt_use_row(&m->b.c, y)->reads && op_has(m, y, c) && last_writer(m, y, c) != last_writer(&a->g, y, c))
                return false;
    }
    return true;
}

static void check_cell(asked *a, uint32_t cell, event *g, event *m)
{
    bool dropped = false;
    uint32_t gn = list_events(&a->g, cell, g), mn = list_events(&a->m, cell, m);
    if (same_events(g, gn, m, mn))
        return;
    if (!is_used(g, gn)) {
        a->untouched = true;
        return;
    }
    gn = strip(&a->g, cell, g, gn, &dropped);
    mn = strip(&a->m, cell, m, mn, &dropped);
    for (uint32_t i = 0; i < gn; i++)
        dropped |= g[i].alone && g[i].writes;
    if (!same_events(g, gn, m, mn))
        fail(a, "resource %u goes through something else (cell %u)", a->g.b.c.cell[cell].res, cell);
    a->dead |= dropped;
}

static void check_cells(asked *a)
{
    size_t most = (size_t)a->g.uses + a->g.b.p.barrier_count + a->m.b.p.barrier_count;
    event *g = hdt_zeroed(most, sizeof(*g)), *m = hdt_zeroed(most, sizeof(*m));
    bool alike = a->g.b.c.count == a->m.b.c.count;
    for (uint32_t c = 0; c < a->g.b.c.count && alike; c++)
        alike = a->g.b.c.cell[c].begin == a->m.b.c.cell[c].begin && a->g.b.c.cell[c].end == a->m.b.c.cell[c].end;
    for (uint32_t c = 0; c < a->g.b.c.count && alike; c++)
        check_cell(a, c, g, m);
    if (!alike)
        fail(a, "buffers are cut in other places");
    free(g);
    free(m);
}

/* ---- tables ---- */

/* The first use of each part throws content away. */
static bool begins_anew(const relation *r, uint32_t res)
{
    event *list = hdt_zeroed((size_t)r->uses + r->b.p.barrier_count, sizeof(*list));
    bool anew = true;
    for (uint32_t c = r->b.c.res_begin[res]; c < r->b.c.res_begin[res + 1]; c++) {
        uint32_t count = list_events(r, c, list), i = 0;
        bool buffer = r->b.c.d.res_flags[res] & HDI_RES_BUFFER;
        while (i < count && (list[i].use == HDT_NOBODY ? buffer : on_host(r, list[i].use))) /* the host owns nothing */
            i++;
        anew &= i == count || (list[i].use == HDT_NOBODY ? !list[i].old_layout : !list[i].reads);
    }
    free(list);
    return anew;
}

/* Each part is read only by the family that last wrote it, or (external) had it at the frame's start. */
static bool one_family(const relation *r, uint32_t res)
{
    event *list = hdt_zeroed((size_t)r->uses + r->b.p.barrier_count, sizeof(*list));
    bool alone = true;
    for (uint32_t c = r->b.c.res_begin[res]; c < r->b.c.res_begin[res + 1]; c++) {
        uint32_t count = list_events(r, c, list), owner = HD_NONE;
        if (r->b.c.d.res_flags[res] & HDI_RES_EXTERNAL)
            owner = r->b.p.resources[r->b.plan_res[res]].first_family;
        if (r->b.c.d.res_flags[res] & HDI_RES_EXTERNAL && owner == HD_NONE)
            owner = r->b.p.queues[0].family;
        for (uint32_t i = 0; i < count; i++) {
            if (list[i].use == HDT_NOBODY || on_host(r, list[i].use))
                continue;
            uint32_t family = r->b.p.queues[queue_of(r, list[i].use)].family;
            alone &= family == owner || owner == HD_NONE || !list[i].reads;
            owner = family;
        }
    }
    free(list);
    return alone;
}

static hdt_harmless reason_of_tables(const asked *a)
{
    const hd_plan_view *g = &a->g.b.p, *m = &a->m.b.p;
    for (uint32_t i = 0; i < g->resource_count; i++) {
        const hd_plan_resource *x = &g->resources[i], *y = &m->resources[i];
        uint32_t flags = a->g.b.c.d.res_flags[x->id];
        if (x->flags != y->flags)
            return one_family(&a->g, x->id) || begins_anew(&a->g, x->id) ? HDT_ONE_FAMILY : HDT_UNEXPLAINED;
        if (x->first_family != y->first_family)
            return !(flags & HDI_RES_HISTORY) && (flags & HDI_RES_HAS_HISTORY || begins_anew(&a->g, x->id))
                       ? HDT_NOT_LOOKED
                       : HDT_UNEXPLAINED;
        if (x->offset != y->offset)
            return a->fresh ? HDT_TAKES_TURNS : HDT_FREE_BYTES;
    }
    for (uint32_t i = 0; i < g->attachment_count && m->attachment_count == g->attachment_count; i++)
        if (g->attachments[i].store != m->attachments[i].store)
            return m->attachments[i].store == 0 ? HDT_IN_VAIN : HDT_UNEXPLAINED;
    return HDT_HARMLESS_COUNT;
}

hdt_harmless hdt_mutant_reason(const hd_graph *graph, const hd_plan *plan, hdt_sketch *broken, char *why, size_t bytes)
{
    asked a = {.why = why, .bytes = bytes};
    uint32_t barriers = hd_plan_read(plan).barrier_count, n = 0;
    why[0] = 0;
    a.origin = hdt_zeroed(broken->item_count, sizeof(*a.origin));
    for (uint32_t i = 0; i < broken->item_count; i++)
        if (broken->items[i].kind == HDT_BARRIER)
            a.origin[n++] = broken->items[i].index;
    bool ok = make_relation(&a.g, graph, plan, NULL, barriers);
    ok &= make_relation(&a.m, graph, hdt_sketch_pack(broken), a.origin, barriers);
    if (!ok)
        fail(&a, "a wait names no submit before it");
    for (uint32_t x = 0; x < a.m.ops && ok; x++)
        for (uint32_t y = 0; y < a.m.ops; y++)
            if (x != y && op_there(&a.m, x) && op_there(&a.m, y))
                check_pair(&a, x, y);
    if (ok)
        check_cells(&a);
    if (ok && a.tenants && !same_contents(&a))
        fail(&a, "a use reads what another resource left in the same bytes");
    hdt_harmless tables = reason_of_tables(&a), reason = HDT_UNEXPLAINED;
    if (!a.bad)
        reason = tables != HDT_HARMLESS_COUNT ? tables
                 : a.untouched                ? HDT_UNTOUCHED
                 : a.dead || a.tenants        ? HDT_DEAD
                 : a.lost                     ? HDT_NOT_MET
                 : a.gained                   ? HDT_MORE_ORDER
                                              : HDT_SAME_ORDER;
    free_relation(&a.g);
    free_relation(&a.m);
    free(a.origin);
    return reason;
}
