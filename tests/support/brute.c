#include "brute.h"

#include <stdlib.h>
#include <string.h>

#include "brute_graph.h"

/* The state walk: submits as they stand, one state a cell, every operation against those that matter before it, on the
 * same cell and on all that share its bytes. O(operations * cells * nodes^2). */

#define FRAME_START (UINT32_MAX - 1)

/* ---- the walk ---- */

bool hdt_plain_overlap(const hdt_plain *b, uint32_t c, uint32_t d)
{
    uint32_t res[2] = {b->c.cell[c].res, b->c.cell[d].res};
    uint64_t begin[2], end[2];
    if (res[0] == res[1])
        return false;
    for (int i = 0; i < 2; i++) {
        const hdt_cell *x = &b->c.cell[i ? d : c];
        if (b->plan_res[res[i]] == HDT_NOBODY)
            return false;
        const hd_plan_resource *r = &b->p.resources[b->plan_res[res[i]]];
        bool buffer = b->c.d.res_flags[res[i]] & HDI_RES_BUFFER;
        begin[i] = r->offset + (buffer ? x->begin : 0);
        end[i] = r->offset + (buffer ? x->end : r->bytes);
    }
    uint32_t h = b->p.resources[b->plan_res[res[0]]].heap;
    return h != HD_NONE && h == b->p.resources[b->plan_res[res[1]]].heap && begin[0] < end[1] && begin[1] < end[0];
}

/* Operation on cell c (use y, or node n) against what stands on cell d since time `since`. */
static void check_against(hdt_plain *b, uint32_t y, uint32_t n, uint32_t c, uint32_t d, uint32_t since)
{
    const hdt_state *x = &b->cells[d];
    bool writes = y == HDT_NOBODY || hdt_use_row(&b->c, y)->writes;
    if (x->write_time > since || (c == d && x->write_time)) {
        if (x->write_use != HDT_NOBODY && y != HDT_NOBODY)
            hdt_plain_uses(b, x->write_use, d, true, y, c);
        else if (x->write_use != HDT_NOBODY)
            hdt_plain_use_then_node(b, x->write_use, d, true, n);
        else if (y != HDT_NOBODY)
            hdt_plain_node_then_use(b, x->write_node, y, c);
        else
            hdt_plain_two_nodes(b, x->write_node, n);
    }
    for (uint32_t r = 0; writes && r < x->read_count; r++)
        if (x->read_times[r] > since || c == d) {
            if (y != HDT_NOBODY)
                hdt_plain_uses(b, x->reads[r], d, false, y, c);
            else
                hdt_plain_use_then_node(b, x->reads[r], d, false, n);
        }
}

static void operate(hdt_plain *b, uint32_t y, uint32_t n, uint32_t c)
{
    hdt_state *x = &b->cells[c];
    bool writes = y == HDT_NOBODY || hdt_use_row(&b->c, y)->writes;
    check_against(b, y, n, c, c, 0);
    for (uint32_t d = 0; d < b->c.count; d++) {
        if (!hdt_plain_overlap(b, c, d))
            continue;
        check_against(b, y, n, c, d, x->write_time);
        if (writes)
            b->cells[d].holder = HDT_NOBODY;
    }
    b->time++;
    if (!writes) {
        x->reads = realloc(x->reads, (x->read_count + 1) * sizeof(*x->reads));
        x->read_times = realloc(x->read_times, (x->read_count + 1) * sizeof(*x->read_times));
        if (!x->reads || !x->read_times)
            abort();
        x->read_times[x->read_count] = b->time;
        x->reads[x->read_count++] = y;
        return;
    }
    x->write_use = y;
    x->write_node = n;
    x->write_time = b->time;
    x->read_count = 0;
}

static bool is_exclusive(const hdt_plain *b, uint32_t res)
{
    return !(b->p.resources[b->plan_res[res]].flags & HD_PLAN_CONCURRENT);
}

/* The layout that a pass wants a cell in: read-only depth where depth is tested and sampled. */
static uint32_t wanted_layout(const hdt_plain *b, uint32_t u, uint32_t c)
{
    uint32_t p = b->c.use_pass[u];
    for (uint32_t o = b->c.d.pass_use_begin[p]; o < b->c.d.pass_use_begin[p + 1]; o++)
        if (hdt_use_has(&b->c, o, c) && hdt_use_row(&b->c, o)->layout == 4)
            return 4;
    return hdt_use_row(&b->c, u)->layout;
}

/* The pass that wrote what a use of cell c by pass p reads. */
static uint32_t expected(const hdt_plain *b, uint32_t p, uint32_t c)
{
    uint32_t holder = b->c.d.res_flags[b->c.cell[c].res] & HDI_RES_CONTENT ? FRAME_START : HDT_NOBODY;
    for (uint32_t u = 0; u < b->c.d.pass_use_begin[p]; u++)
        if (b->c.kept[b->c.use_pass[u]] && hdt_use_row(&b->c, u)->writes && hdt_use_has(&b->c, u, c))
            holder = b->c.use_pass[u];
    return holder;
}

static void walk_use(hdt_plain *b, uint32_t u, uint32_t c)
{
    const hdt_access_row *row = hdt_use_row(&b->c, u);
    uint32_t pass = b->c.use_pass[u], res = b->c.cell[c].res, queue = b->pass_queue[pass];
    uint32_t family = b->p.queues[queue].family;
    hdt_state *x = &b->cells[c];
    bool image = !(b->c.d.res_flags[res] & HDI_RES_BUFFER);
    if (image && x->layout != wanted_layout(b, u, c))
        HDT_FAIL(b, "pass %u wants resource %u in layout %u, it is in %u", pass, res, row->layout, x->layout);
    if (x->released != HDT_NOBODY)
        HDT_FAIL(b, "pass %u uses resource %u while it is under way", pass, res);
    if (is_exclusive(b, res) && !hdt_plain_on_host(b, queue) && x->owner != family) {
        if (x->owner != HDT_NOBODY && (image || row->reads))
            HDT_FAIL(b, "pass %u of family %u uses resource %u of family %u", pass, family, res, x->owner);
        x->owner = family;
    }
    uint32_t expect = expected(b, pass, c);
    if (row->reads && expect != HDT_NOBODY && x->holder != expect)
        HDT_FAIL(b, "pass %u reads resource %u with the content of %d, not %d", pass, res, (int)x->holder, (int)expect);
    operate(b, u, HDT_NOBODY, c);
    if (row->writes)
        x->holder = b->lost[u] ? HDT_NOBODY : pass;
}

static bool same_transfer(const hd_plan_barrier *a, const hd_plan_barrier *b)
{
    return a->resource == b->resource && a->old_layout == b->old_layout && a->new_layout == b->new_layout &&
           a->src_family == b->src_family && a->dst_family == b->dst_family &&
           memcmp(&a->range, &b->range, sizeof(a->range)) == 0;
}

static void walk_node(hdt_plain *b, uint32_t n, uint32_t c)
{
    const hdt_node *x = &b->nodes[n];
    const hd_plan_barrier *r = x->b;
    uint32_t res = r->resource, index = (uint32_t)(r - b->p.barriers), family = b->p.queues[x->queue].family;
    bool image = !(b->c.d.res_flags[res] & HDI_RES_BUFFER), exclusive = is_exclusive(b, res);
    hdt_state *s = &b->cells[c];
    if (image && r->old_layout && r->old_layout != s->layout)
        HDT_FAIL(b, "barrier %u takes resource %u from layout %u, it is in %u", index, res, r->old_layout, s->layout);
    if (image && r->old_layout && !r->new_layout)
        HDT_FAIL(b, "barrier %u leads to UNDEFINED", index);
    if (!x->moves)
        return;
    operate(b, HDT_NOBODY, n, c);
    if (x->release || x->acquire) {
        if (!exclusive)
            HDT_FAIL(b, "barrier %u moves resource %u, which is concurrent", index, res);
        if (x->release && (s->owner != r->src_family || s->released != HDT_NOBODY))
            HDT_FAIL(b, "barrier %u releases resource %u of another family", index, res);
        if (x->acquire && (s->released == HDT_NOBODY || !same_transfer(b->nodes[s->released].b, r)))
            HDT_FAIL(b, "barrier %u acquires resource %u, which was not released so", index, res);
        else if (x->acquire && !hdt_plain_reaches(b, s->released, n))
            HDT_FAIL(b, "barrier %u acquires resource %u too early", index, res);
    } else if (s->released != HDT_NOBODY) {
        HDT_FAIL(b, "barrier %u changes resource %u while it is under way", index, res);
    } else if (exclusive && s->owner != HDT_NOBODY && s->owner != family && r->old_layout) {
        HDT_FAIL(b, "barrier %u changes resource %u of family %u", index, res, s->owner);
    }
    if (image && !r->old_layout)
        s->holder = HDT_NOBODY;
    s->released = x->release ? n : HDT_NOBODY;
    if (x->release)
        return;
    s->owner = exclusive ? family : s->owner;
    if (image)
        s->layout = r->new_layout;
}

/* Whether a pass of the plan uses a resource. What a history is of is handed on as a whole if so, and else not. */
static bool is_used(const hdt_plain *b, uint32_t res)
{
    for (uint32_t c = 0; c < b->p.command_count; c++) {
        uint32_t p = b->p.commands[c].index;
        if (b->p.commands[c].kind != HD_COMMAND_PASS)
            continue;
        for (uint32_t u = b->c.d.pass_use_begin[p]; u < b->c.d.pass_use_begin[p + 1]; u++)
            if (b->c.d.use_res[u] == res)
                return true;
    }
    return false;
}

static void finish(hdt_plain *b)
{
    for (uint32_t c = 0; c < b->c.count; c++) {
        uint32_t res = b->c.cell[c].res, flags = b->c.d.res_flags[res], holder;
        const hdt_state *s = &b->cells[c];
        if (b->plan_res[res] == HDT_NOBODY)
            continue;
        const hd_plan_resource *r = &b->p.resources[b->plan_res[res]];
        if (s->released != HDT_NOBODY)
            HDT_FAIL(b, "resource %u is never acquired", res);
        if (!(flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY)))
            continue;
        uint32_t pair = flags & HDI_RES_EXTERNAL ? HDT_NOBODY : b->plan_res[b->c.d.res_pair[res]];
        if (pair != HDT_NOBODY && b->p.resources[pair].final_layout != r->final_layout)
            HDT_FAIL(b, "resource %u and its other half end in layouts %u and %u", res, r->final_layout,
                     b->p.resources[pair].final_layout);
        if (pair != HDT_NOBODY && is_exclusive(b, b->c.d.res_pair[res]) != is_exclusive(b, res))
            HDT_FAIL(b, "resource %u and its other half are shared in two ways", res);
        uint32_t left = pair == HDT_NOBODY ? r->final_family : b->p.resources[pair].final_family;
        if (flags & HDI_RES_HISTORY && is_exclusive(b, res) && r->first_family != HD_NONE && left != HD_NONE &&
            r->first_family != left)
            HDT_FAIL(b, "history %u starts with family %u, but is left with %u", res, r->first_family, left);
        if (!(flags & HDI_RES_BUFFER) && s->layout != r->final_layout &&
            (!(flags & HDI_RES_HAS_HISTORY) || is_used(b, res)))
            HDT_FAIL(b, "resource %u ends in layout %u, not %u", res, s->layout, r->final_layout);
        if (is_exclusive(b, res) && s->owner != HDT_NOBODY && r->final_family != HD_NONE && s->owner != r->final_family)
            HDT_FAIL(b, "resource %u ends with family %u, not %u", res, s->owner, r->final_family);
        holder = flags & HDI_RES_HISTORY ? HDT_NOBODY : expected(b, b->c.d.pass_count, c);
        if (holder != HDT_NOBODY && s->holder != holder)
            HDT_FAIL(b, "resource %u does not end with what was written last", res);
    }
}

/* Whether two uses are of one attachment: the same piece of the same image. */
static bool same_attachment(const hdt_plain *b, uint32_t u, uint32_t v)
{
    const hdi_decl *d = &b->c.d;
    uint32_t x = d->use_range[u], y = d->use_range[v];
    bool attachments = d->use_access[u] <= HD_DEPTH_READ && d->use_access[v] <= HD_DEPTH_READ;
    if (!attachments || d->use_res[u] != d->use_res[v] || (x == HDI_NONE) != (y == HDI_NONE))
        return false;
    return x == HDI_NONE || memcmp(&d->range[x], &d->range[y], sizeof(d->range[x])) == 0;
}

static void set_scopes(hdt_plain *b)
{
    for (uint32_t s = 0; s < b->p.scope_count; s++) {
        const hd_plan_scope *x = &b->p.scopes[s];
        for (uint32_t i = 0; i < x->command_count; i++)
            b->pass_scope[b->p.commands[x->command_begin + i].index] = s;
        uint32_t first = b->p.commands[x->command_begin].index;
        for (uint32_t a = x->attachment_begin; a < x->attachment_begin + x->attachment_count; a++) {
            uint32_t use = b->c.d.pass_use_begin[first] + b->p.attachments[a].use, last = HDT_NOBODY;
            for (uint32_t i = 0; i < x->command_count; i++) {
                uint32_t p = b->p.commands[x->command_begin + i].index;
                for (uint32_t u = b->c.d.pass_use_begin[p]; u < b->c.d.pass_use_begin[p + 1]; u++)
                    if (same_attachment(b, use, u) && hdt_use_row(&b->c, u)->writes)
                        last = u;
            }
            if (b->p.attachments[a].store == 1 && last != HDT_NOBODY) /* DONT_CARE */
                b->lost[last] = 1;
        }
    }
}

static void set_start(hdt_plain *b)
{
    for (uint32_t c = 0; c < b->c.count; c++) {
        uint32_t res = b->c.cell[c].res, flags = b->c.d.res_flags[res], index = b->plan_res[res];
        hdt_state *s = &b->cells[c];
        *s = (hdt_state){.owner = HDT_NOBODY,
                         .holder = HDT_NOBODY,
                         .write_use = HDT_NOBODY,
                         .write_node = HDT_NOBODY,
                         .released = HDT_NOBODY};
        if (flags & HDI_RES_CONTENT)
            s->holder = FRAME_START;
        if (index == HDT_NOBODY || !(flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY)))
            continue;
        if (flags & HDI_RES_EXTERNAL) {
            s->layout = b->c.d.res_info[res].initial_layout;
            s->owner = b->p.resources[index].first_family;
            s->owner = s->owner == HD_NONE ? b->p.queues[0].family : s->owner;
        } else {
            uint32_t of = b->plan_res[b->c.d.res_pair[res]];
            const hd_plan_resource *r = &b->p.resources[of == HDT_NOBODY ? index : of];
            s->layout = r->final_layout;
            s->owner = r->final_family;
        }
    }
}

/* The next frame starts with what this one has left, and the two halves of a history have changed places. */
static void set_next(hdt_plain *b)
{
    hdt_state *end = hdt_zeroed(b->c.count, sizeof(*end));
    memcpy(end, b->cells, b->c.count * sizeof(*end));
    for (uint32_t c = 0; c < b->c.count; c++) {
        free(b->cells[c].reads);
        free(b->cells[c].read_times);
    }
    set_start(b);
    for (uint32_t c = 0; c < b->c.count; c++) {
        uint32_t res = b->c.cell[c].res, flags = b->c.d.res_flags[res], pair = b->c.d.res_pair[res];
        if (!(flags & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY)) || b->plan_res[res] == HDT_NOBODY ||
            b->plan_res[pair] == HDT_NOBODY)
            continue;
        for (uint32_t d = b->c.res_begin[pair]; d < b->c.res_begin[pair + 1]; d++) {
            bool buffer = flags & HDI_RES_BUFFER; /* the halves may be cut at different bytes */
            if (buffer ? b->c.cell[c].begin < b->c.cell[d].begin || b->c.cell[c].begin >= b->c.cell[d].end
                       : b->c.cell[c].begin != b->c.cell[d].begin)
                continue;
            if (!(b->c.d.res_flags[pair] & HDI_RES_HAS_HISTORY) || is_used(b, pair)) { /* else as it was before */
                b->cells[c].layout = end[d].layout;
                b->cells[c].owner = end[d].owner;
            }
        }
    }
    free(end);
}

static void walk(hdt_plain *b)
{
    for (uint32_t s = 0; s < b->p.submit_count; s++)
        for (uint32_t i = 0; i < b->p.submits[s].command_count; i++) {
            uint32_t c = b->p.submits[s].command_begin + i;
            const hd_plan_command *command = &b->p.commands[c];
            bool nothing = command->kind == HD_COMMAND_PASS || command->kind == HD_COMMAND_SET;
            uint32_t count = nothing ? 0 : b->p.batches[command->index].barrier_count;
            for (uint32_t n = b->first_node[c]; n < b->first_node[c] + count; n++)
                for (uint32_t cell = 0; cell < b->c.count && b->nodes[n].b->resource != HD_NONE; cell++)
                    if (b->c.cell[cell].res == b->nodes[n].b->resource && hdt_plain_covers(b, n, cell))
                        walk_node(b, n, cell);
            if (command->kind == HD_COMMAND_PASS)
                for (uint32_t u = b->c.d.pass_use_begin[command->index]; u < b->c.d.pass_use_begin[command->index + 1];
                     u++)
                    for (uint32_t cell = 0; cell < b->c.count; cell++)
                        if (hdt_use_has(&b->c, u, cell))
                            walk_use(b, u, cell);
        }
    finish(b);
}

static uint32_t *filled(size_t count)
{
    uint32_t *block = hdt_zeroed(count, sizeof(*block));
    memset(block, 0xff, count * sizeof(*block));
    return block;
}

bool hdt_plain_open(hdt_plain *b, const hd_graph *graph, const hd_plan *plan, char *why, size_t bytes)
{
    *b = (hdt_plain){.c = hdt_cells_make(graph, plan), .p = hd_plan_read(plan), .why = why, .why_bytes = bytes};
    b->pass_queue = filled(b->c.d.pass_count);
    b->pass_at = filled(b->c.d.pass_count);
    b->pass_scope = filled(b->c.d.pass_count);
    b->submit_signal = filled(b->p.submit_count);
    b->first_node = filled(b->p.command_count);
    b->plan_res = filled(b->c.d.res_count);
    b->lost = hdt_zeroed(b->c.d.use_count, 1);
    b->cells = hdt_zeroed(b->c.count, sizeof(*b->cells));
    for (uint32_t i = 0; i < b->p.resource_count; i++)
        b->plan_res[b->p.resources[i].id] = i;
    return hdt_plain_nodes(b);
}

void hdt_plain_close(hdt_plain *b)
{
    for (uint32_t c = 0; c < b->c.count; c++) {
        free(b->cells[c].reads);
        free(b->cells[c].read_times);
    }
    void *const blocks[] = {b->nodes,    b->pass_queue, b->pass_at, b->pass_scope, b->submit_signal, b->first_node,
                            b->plan_res, b->lost,       b->cells,   b->edge,       b->reach,         b->searched};
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        free(blocks[i]);
    hdt_cells_free(&b->c);
}

bool hdt_brute(const hd_graph *graph, const hd_plan *plan, char *why, size_t bytes)
{
    hdt_plain b;
    if (hdt_plain_open(&b, graph, plan, why, bytes)) {
        set_scopes(&b);
        set_start(&b);
        walk(&b);
        if (!b.bad) {
            set_next(&b);
            walk(&b);
            if (b.bad && why)
                snprintf(why + strlen(why), bytes - strlen(why), " (in the second frame)");
        }
    }
    hdt_plain_close(&b);
    return !b.bad;
}
