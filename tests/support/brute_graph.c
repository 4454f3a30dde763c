#include "brute_graph.h"

/* Rules E, A and V of the notes on Vulkan's synchronization, edge by edge and pair by pair; what a node reaches is
 * found by depth-first search. O(nodes^3). */

#define BIT(n) (UINT64_C(1) << (n))
#define HOST BIT(14)
#define ALL BIT(16)
#define HOST_READ BIT(13)

/* ---- masks ---- */

static const uint8_t graphics[] = {1, 36, 37, 3, 4, 5, 6, 24, 22, 8, 7, 9, 10};

uint64_t hdt_stages_expand(uint64_t m)
{
    uint64_t out = m & ~(BIT(0) | BIT(2) | BIT(12) | BIT(13) | BIT(15) | ALL | BIT(38));
    if (m & (ALL | BIT(15)))
        for (size_t i = 0; i < sizeof(graphics); i++)
            out |= BIT(graphics[i]);
    if (m & ALL)
        out |= BIT(11);
    if (m & (ALL | BIT(12)))
        out |= BIT(32) | BIT(33) | BIT(34) | BIT(35);
    if (m & BIT(2))
        out |= BIT(36) | BIT(37);
    return out;
}

uint64_t hdt_stages_src(uint64_t m)
{
    uint64_t out = hdt_stages_expand(m);
    for (size_t i = 0; i < sizeof(graphics); i++)
        for (size_t j = i; j < sizeof(graphics); j++)
            if (hdt_stages_expand(m) & BIT(graphics[j]))
                out |= BIT(graphics[i]);
    return out | (out & BIT(11) ? BIT(1) : 0);
}

uint64_t hdt_stages_dst(uint64_t m)
{
    uint64_t out = hdt_stages_expand(m);
    for (size_t i = 0; i < sizeof(graphics); i++)
        for (size_t j = 0; j <= i; j++)
            if (hdt_stages_expand(m) & BIT(graphics[j]))
                out |= BIT(graphics[i]);
    return out | (hdt_stages_expand(m) & BIT(1) ? BIT(11) : 0);
}

static const uint64_t write_bits = BIT(6) | BIT(8) | BIT(10) | BIT(12) | BIT(14) | BIT(16) | BIT(34);

static bool in_access(uint64_t mask, uint64_t bit)
{
    return (mask & bit) || (mask & (bit & write_bits ? BIT(16) : BIT(15)));
}

/* ---- the graph ---- */

static bool is_edge(const hdt_plain *b, uint32_t x, uint32_t y)
{
    const hdt_node *m = &b->nodes[x], *n = &b->nodes[y];
    if (m->kind == SIGNAL)
        return n->kind == WAIT && n->signal == x;
    if (m->queue != n->queue || m->out >= n->at || n->kind == WAIT)
        return false;
    if (m->kind == BARRIER && n->kind == BARRIER && m->command == n->command)
        return false;
    if ((m->dst & n->src) != 0)
        return true;
    return (m->moves && n->kind == SIGNAL && n->whole) || (m->kind == WAIT && m->whole && n->moves);
}

static void search(hdt_plain *b, uint8_t *row, uint32_t x)
{
    for (uint32_t y = 0; y < b->node_count; y++)
        if (b->edge[(size_t)x * b->node_count + y] && !row[y]) {
            row[y] = 1;
            search(b, row, y);
        }
}

bool hdt_plain_reaches(hdt_plain *b, uint32_t x, uint32_t y)
{
    uint8_t *row = b->reach + (size_t)x * b->node_count;
    if (!b->searched[x])
        search(b, row, x);
    b->searched[x] = 1;
    return row[y];
}

static bool same_or_reaches(hdt_plain *b, uint32_t x, uint32_t y)
{
    return x == y || hdt_plain_reaches(b, x, y);
}

/* ---- accesses: a use at one stage ---- */

static uint32_t queue_of(const hdt_plain *b, uint32_t use)
{
    return b->pass_queue[b->c.use_pass[use]];
}

static uint32_t at_of(const hdt_plain *b, uint32_t use)
{
    return b->pass_at[b->c.use_pass[use]];
}

bool hdt_plain_on_host(const hdt_plain *b, uint32_t queue)
{
    return b->p.queues[queue].kind == HD_QUEUE_HOST;
}

static bool leaves_by(const hdt_plain *b, uint32_t use, uint64_t stage, uint32_t n)
{
    const hdt_node *x = &b->nodes[n];
    return x->kind != WAIT && x->queue == queue_of(b, use) && x->at > at_of(b, use) && (x->src & stage);
}

static bool enters_by(const hdt_plain *b, uint32_t n, uint32_t use, uint64_t stage)
{
    const hdt_node *x = &b->nodes[n];
    return x->kind != SIGNAL && x->queue == queue_of(b, use) && x->out < at_of(b, use) && (x->dst & stage);
}

bool hdt_plain_covers(const hdt_plain *b, uint32_t n, uint32_t cell)
{
    const hd_plan_barrier *x = b->nodes[n].b;
    return !x || x->resource == HD_NONE || (x->resource == b->c.cell[cell].res && hdt_cell_in(&b->c, cell, &x->range));
}

static bool makes_available(const hdt_plain *b, uint32_t use, uint64_t stage, uint64_t bit, uint32_t cell, uint32_t n)
{
    const hdt_node *x = &b->nodes[n];
    if (!leaves_by(b, use, stage, n))
        return false;
    return x->kind == SIGNAL ||
           ((x->src_near & stage) && in_access(x->b->src_access, bit) && hdt_plain_covers(b, n, cell));
}

static bool makes_visible(hdt_plain *b, uint32_t n, uint32_t use, uint64_t stage, uint64_t bit, uint32_t cell)
{
    const hdt_node *x = &b->nodes[n];
    bool barrier =
        x->kind == BARRIER && (x->dst_near & stage) && in_access(x->b->dst_access, bit) && hdt_plain_covers(b, n, cell);
    if (!hdt_plain_on_host(b, queue_of(b, use)) || bit != HOST_READ)
        return enters_by(b, n, use, stage) && (x->kind == WAIT || barrier);
    /* The host: a barrier to it, and behind that barrier a signal that it waits for. */
    for (uint32_t w = 0; barrier && w < b->node_count; w++)
        if (b->nodes[w].kind == WAIT && enters_by(b, w, use, HOST) && hdt_plain_reaches(b, n, w))
            return true;
    return false;
}

#define EACH_BIT(bit, mask)                                                                                            \
    for (uint64_t bit##_left = (mask), bit; bit = bit##_left & -bit##_left, bit##_left; bit##_left &= bit##_left - 1)

/* ---- pairs ---- */

static bool finished(hdt_plain *b, uint32_t x, uint64_t sx, uint32_t y, uint64_t sy)
{
    for (uint32_t a = 0; a < b->node_count; a++)
        for (uint32_t v = 0; leaves_by(b, x, sx, a) && v < b->node_count; v++)
            if (enters_by(b, v, y, sy) && same_or_reaches(b, a, v))
                return true;
    return false;
}

static bool seen(hdt_plain *b, uint32_t x, uint64_t sx, uint64_t bx, uint32_t cx, uint32_t y, uint64_t sy, uint64_t by,
                 uint32_t cy)
{
    for (uint32_t a = 0; a < b->node_count; a++)
        for (uint32_t v = 0; makes_available(b, x, sx, bx, cx, a) && v < b->node_count; v++)
            if (makes_visible(b, v, y, sy, by, cy) && same_or_reaches(b, a, v))
                return true;
    return false;
}

/* What of a use touches memory that was written before: an overwrite's own reads see only itself. */
static uint64_t needs_to_see(const hdt_access_row *row)
{
    return row->reads ? row->access : row->access & write_bits;
}

bool hdt_plain_sees(hdt_plain *b, uint32_t x, uint32_t cx, uint32_t y, uint32_t cy)
{
    const hdt_access_row *rx = hdt_use_row(&b->c, x), *ry = hdt_use_row(&b->c, y);
    EACH_BIT(sx, rx->stages)
    EACH_BIT(sy, ry->stages)
    EACH_BIT(bx, rx->access & write_bits)
    EACH_BIT(by, needs_to_see(ry))
    if (!seen(b, x, sx, bx, cx, y, sy, by, cy))
        return false;
    return true;
}

static bool rasterization_orders(const hdt_plain *b, uint32_t x, uint32_t y)
{
    uint32_t ax = b->c.d.use_access[x], ay = b->c.d.use_access[y];
    uint32_t scope = b->pass_scope[b->c.use_pass[x]];
    return scope != HDT_NOBODY && scope == b->pass_scope[b->c.use_pass[y]] && b->c.d.use_res[x] == b->c.d.use_res[y] &&
           ax <= HD_DEPTH_READ && ay <= HD_DEPTH_READ;
}

void hdt_plain_uses(hdt_plain *b, uint32_t x, uint32_t cx, bool x_writes, uint32_t y, uint32_t cy)
{
    const hdt_access_row *rx = hdt_use_row(&b->c, x), *ry = hdt_use_row(&b->c, y);
    bool in_turn = hdt_plain_on_host(b, queue_of(b, x)) && b->c.use_pass[x] != b->c.use_pass[y];
    if ((queue_of(b, x) == queue_of(b, y) && in_turn) || rasterization_orders(b, x, y))
        return;
    EACH_BIT(sx, rx->stages)
    EACH_BIT(sy, ry->stages)
    if (!finished(b, x, sx, y, sy))
        HDT_FAIL(b, "pass %u before pass %u, resources %u and %u: no execution", b->c.use_pass[x], b->c.use_pass[y],
                 b->c.d.use_res[x], b->c.d.use_res[y]);
    if (x_writes && !b->bad && !hdt_plain_sees(b, x, cx, y, cy))
        HDT_FAIL(b, "pass %u before pass %u, resources %u and %u: no memory", b->c.use_pass[x], b->c.use_pass[y],
                 b->c.d.use_res[x], b->c.d.use_res[y]);
}

void hdt_plain_use_then_node(hdt_plain *b, uint32_t x, uint32_t cx, bool x_writes, uint32_t n)
{
    const hdt_access_row *row = hdt_use_row(&b->c, x);
    EACH_BIT(s, row->stages)
    {
        bool done = false;
        for (uint32_t a = 0; a < b->node_count && !done; a++)
            done = leaves_by(b, x, s, a) && same_or_reaches(b, a, n);
        if (!done)
            HDT_FAIL(b, "pass %u before barrier %u: no execution", b->c.use_pass[x],
                     (uint32_t)(b->nodes[n].b - b->p.barriers));
        EACH_BIT(bit, x_writes ? row->access & write_bits : 0)
        {
            bool made = makes_available(b, x, s, bit, cx, n) && hdt_plain_covers(b, n, cx);
            for (uint32_t a = 0; a < b->node_count && !made; a++)
                made = makes_available(b, x, s, bit, cx, a) && hdt_plain_reaches(b, a, n);
            if (!made)
                HDT_FAIL(b, "pass %u before barrier %u: no memory", b->c.use_pass[x],
                         (uint32_t)(b->nodes[n].b - b->p.barriers));
        }
    }
}

void hdt_plain_node_then_use(hdt_plain *b, uint32_t n, uint32_t y, uint32_t cy)
{
    const hdt_access_row *row = hdt_use_row(&b->c, y);
    EACH_BIT(s, row->stages)
    {
        bool done = false;
        for (uint32_t v = 0; v < b->node_count && !done; v++)
            done = enters_by(b, v, y, s) && same_or_reaches(b, n, v);
        EACH_BIT(bit, done ? needs_to_see(row) : 0)
        {
            bool shown = false;
            for (uint32_t v = 0; v < b->node_count && !shown; v++)
                shown = makes_visible(b, v, y, s, bit, cy) && same_or_reaches(b, n, v);
            done &= shown;
        }
        if (!done)
            HDT_FAIL(b, "barrier %u before pass %u", (uint32_t)(b->nodes[n].b - b->p.barriers), b->c.use_pass[y]);
    }
}

void hdt_plain_two_nodes(hdt_plain *b, uint32_t m, uint32_t n)
{
    bool same_queue = b->nodes[m].queue == b->nodes[n].queue && b->nodes[m].command != b->nodes[n].command;
    if (!same_queue && !hdt_plain_reaches(b, m, n))
        HDT_FAIL(b, "barriers %u and %u are not ordered", (uint32_t)(b->nodes[m].b - b->p.barriers),
                 (uint32_t)(b->nodes[n].b - b->p.barriers));
}

/* ---- setting up ---- */

static hdt_node *add_node(hdt_plain *b, uint32_t kind, uint32_t queue, uint32_t at)
{
    hdt_node *n = &b->nodes[b->node_count++];
    *n = (hdt_node){.kind = kind, .queue = queue, .at = at, .out = at, .command = HDT_NOBODY, .signal = HDT_NOBODY};
    return n;
}

static void add_barrier(hdt_plain *b, uint32_t queue, uint32_t at, uint32_t command, const hd_plan_barrier *r)
{
    hdt_node *n = add_node(b, BARRIER, queue, at);
    n->b = r;
    n->command = command;
    n->src = hdt_stages_src(r->src_stages);
    n->dst = hdt_stages_dst(r->dst_stages);
    n->src_near = hdt_stages_expand(r->src_stages);
    n->dst_near = hdt_stages_expand(r->dst_stages);
    if (r->resource == HD_NONE)
        return;
    bool image = !(b->c.d.res_flags[r->resource] & HDI_RES_BUFFER), between = r->src_family != r->dst_family;
    n->release = between && b->p.queues[queue].family == r->src_family;
    n->acquire = between && !n->release;
    n->moves = between || (image && r->old_layout != r->new_layout);
    if (n->release)
        n->dst = n->dst_near = 0;
    if (n->acquire)
        n->src = n->src_near = 0;
}

static void add_semaphore(hdt_plain *b, uint32_t kind, uint32_t queue, uint32_t at, uint64_t stages)
{
    hdt_node *n = add_node(b, kind, queue, at);
    n->whole = (stages & ALL) != 0;
    n->src = kind == SIGNAL ? hdt_stages_src(stages) | (n->whole ? HOST : 0) : 0;
    n->dst = kind == WAIT ? hdt_stages_dst(stages) : 0;
    if (hdt_plain_on_host(b, queue))
        *(kind == SIGNAL ? &n->src : &n->dst) = HOST;
}

/* The nodes of the event that command c waits for: set last on its queue, and not waited for yet. */
static uint32_t second_half(const hdt_plain *b, uint32_t queue, uint32_t c)
{
    const hd_plan_command *wait = &b->p.commands[c];
    uint32_t found = 0;
    for (uint32_t n = 0; n < b->node_count; n++) {
        const hdt_node *x = &b->nodes[n];
        const hd_plan_command *set = x->kind == BARRIER ? &b->p.commands[x->command] : NULL;
        if (set && set->kind == HD_COMMAND_SET && x->queue == queue && set->event == wait->event &&
            set->index == wait->index && x->out == x->at)
            return b->first_node[x->command];
        found = n;
    }
    return found;
}

/* False: a wait names no earlier submit. */
static bool add_submit(hdt_plain *b, uint32_t s, uint32_t *at)
{
    const hd_plan_submit *x = &b->p.submits[s];
    for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++) {
        const hd_plan_wait *wait = &b->p.waits[w];
        uint32_t t = 0;
        while (t < b->p.submit_count && (b->p.submits[t].queue != wait->queue || !b->p.submits[t].signal_value ||
                                         b->p.submits[t].signal_value < wait->value))
            t++;
        if (t >= s) {
            HDT_FAIL(b, "submit %u waits for none before it", s);
            return false;
        }
        add_semaphore(b, WAIT, x->queue, ++*at, wait->stages);
        b->nodes[b->node_count - 1].signal = b->submit_signal[t];
    }
    for (uint32_t c = x->command_begin; c < x->command_begin + x->command_count; c++) {
        const hd_plan_command *command = &b->p.commands[c];
        ++*at;
        if (command->kind == HD_COMMAND_PASS) {
            b->pass_queue[command->index] = x->queue;
            b->pass_at[command->index] = *at;
            continue;
        }
        const hd_plan_batch *batch = &b->p.batches[command->index];
        b->first_node[c] = command->kind == HD_COMMAND_WAIT ? second_half(b, x->queue, c) : b->node_count;
        for (uint32_t i = 0; i < batch->barrier_count && command->kind == HD_COMMAND_WAIT; i++)
            b->nodes[b->first_node[c] + i].out = *at;
        if (command->kind == HD_COMMAND_WAIT)
            continue;
        for (uint32_t i = 0; i < batch->barrier_count; i++)
            add_barrier(b, x->queue, *at, c, &b->p.barriers[batch->barrier_begin + i]);
    }
    b->submit_signal[s] = b->node_count;
    if (x->signal_value)
        add_semaphore(b, SIGNAL, x->queue, ++*at, x->signal_stages);
    return true;
}

bool hdt_plain_nodes(hdt_plain *b)
{
    uint32_t at = 0;
    bool ordered = true;
    b->nodes = hdt_zeroed(b->p.wait_count + b->p.submit_count + b->p.barrier_count, sizeof(*b->nodes));
    for (uint32_t s = 0; s < b->p.submit_count && ordered; s++)
        ordered = add_submit(b, s, &at);
    b->edge = hdt_zeroed((size_t)b->node_count * b->node_count, 1);
    b->reach = hdt_zeroed((size_t)b->node_count * b->node_count, 1);
    b->searched = hdt_zeroed(b->node_count, 1);
    for (uint32_t x = 0; x < b->node_count; x++)
        for (uint32_t y = 0; y < b->node_count; y++)
            b->edge[(size_t)x * b->node_count + y] = is_edge(b, x, y);
    return ordered;
}
