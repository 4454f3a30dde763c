#include "stream_graph.h"

#include <stdlib.h>
#include <string.h>

/* Which barriers and semaphores order two accesses. From each first access of a pair the walk goes on through the steps
 * and notes which nodes come behind it, in three levels: EXECUTION (an execution dependency leads there), AVAILABLE
 * (and what the access wrote is available), and HOST (and a barrier has handed it to the host). For each queue, stage
 * and level the first node that reaches it is kept, and each node the one that it was reached from: so a pair gets one
 * chain, the earliest. Masks and rules are those of verify_order.c. A first walk takes the steps alone that name all
 * memory or one of the two segments, which order most pairs; a second one, for the pairs that are left, takes all.
 * O(steps between the two ends) for each first access and kind of write. */

enum { EXECUTION, AVAILABLE, HOST, LEVELS };
#define SELF (UINT32_MAX - 1) /* the first access itself */

typedef struct gtarget {
    uint32_t end, segment, chain, step, queue;
    uint64_t stages; /* that nothing leads to so far */
    uint64_t kinds;  /* of its access, from kind_begin on: that nothing shows so far */
} gtarget;

typedef struct glink {
    uint32_t node, next;
} glink;

typedef struct order {
    hdi_gbuild *b;
    uint32_t *signal_of; /* node of a wait -> node of its signal */
    uint32_t *from[LEVELS], *stamp, now;
    uint32_t first[HD_MAX_QUEUES][64][LEVELS]; /* by slot of a stage */
    /* Steps that name all memory, and those of each segment, ascending. */
    uint32_t *global, global_count;
    uint32_t *seg_begin, *seg_step;
    gtarget *open;
    uint32_t open_count, open_room;
    uint32_t *head; /* chain -> its links */
    glink *link;
    uint32_t link_count, link_room;
    /* the first access */
    uint32_t x, xs, ys, queue, kind; /* kind of its write; HDI_NONE: it reads, or is a transition */
    uint64_t stage;                  /* 0: a transition */
    bool failed;
} order;

static bool is_use(const order *o, uint32_t end)
{
    return end < o->b->c.v.d.use_count;
}

static void add_link(order *o, uint32_t chain, uint32_t node)
{
    for (uint32_t l = o->head[chain]; l != HDI_NONE; l = o->link[l].next) {
        if (o->link[l].node == node)
            return;
    }
    if (!hdi_arena_grow(&o->b->c.v.arena, &o->link, &o->link_room, o->link_count, o->link_count + 1,
                        sizeof(*o->link))) {
        o->failed = true;
        return;
    }
    o->link[o->link_count] = (glink){node, o->head[chain]};
    o->head[chain] = o->link_count++;
}

/* The nodes on the way to node n, n included. */
static void add_chain(order *o, uint32_t chain, uint32_t n, int level)
{
    while (n != SELF && n != HDI_NONE) {
        uint32_t before = o->from[level][n];
        if (o->b->sync_node[n] != HDI_NONE)
            add_link(o, chain, o->b->sync_node[n]);
        if (before == n)
            before = o->from[--level][n];
        n = before;
    }
}

/* ---- nodes ---- */

static bool is_reached(const order *o, uint32_t n, int level)
{
    return o->stamp[n] == o->now && o->from[level][n] != HDI_NONE;
}

static bool names(const order *o, uint32_t n, uint32_t segment)
{
    return o->b->c.v.node[n].resource == HDI_NONE || hdi_verify_on_segment(&o->b->c.v, n, segment);
}

/* A barrier or signal takes in the first access itself. */
static bool takes_in(const order *o, const hdi_vnode *x)
{
    return o->stage && x->queue == o->queue && x->src_far & o->stage;
}

static bool makes_available(const order *o, uint32_t n)
{
    const hdi_verify *v = &o->b->c.v;
    const hdi_vnode *x = &v->node[n];
    if (o->kind == HDI_NONE || !takes_in(o, x))
        return false;
    return x->kind == HV_SIGNAL || (x->src_near & o->stage && names(o, n, o->xs) &&
                                    hdi_verify_access_meets(x->src_access, v->kind_bit[o->kind]));
}

static void gather(order *o, uint32_t n)
{
    const hdi_verify *v = &o->b->c.v;
    const hdi_vnode *x = &v->node[n];
    o->stamp[n] = o->now;
    for (int level = 0; level < LEVELS; level++) {
        uint32_t *from = &o->from[level][n];
        *from = HDI_NONE;
        if (x->kind == HV_WAIT) {
            if (o->signal_of[n] != HDI_NONE && is_reached(o, o->signal_of[n], level))
                *from = o->signal_of[n];
            continue;
        }
        for (uint64_t left = x->src_far & v->rep; left && *from == HDI_NONE; left &= left - 1)
            *from = o->first[x->queue][v->stage_slot[__builtin_ctzll(left)]][level];
    }
    if (takes_in(o, x))
        o->from[EXECUTION][n] = SELF;
    if (makes_available(o, n))
        o->from[AVAILABLE][n] = SELF;
    /* a barrier to HOST hands on what is available */
    if (x->kind == HV_BARRIER && o->from[AVAILABLE][n] != HDI_NONE && x->dst_near & HV_STAGE(HV_HOST) &&
        hdi_verify_access_meets(x->dst_access, HV_HOST_READ) && names(o, n, o->xs))
        o->from[HOST][n] = n;
}

static void reach(order *o, uint32_t n, uint32_t queue, uint64_t stages, int level)
{
    const hdi_verify *v = &o->b->c.v;
    for (uint64_t left = stages & v->rep; left; left &= left - 1) {
        uint32_t *first = &o->first[queue][v->stage_slot[__builtin_ctzll(left)]][level];
        *first = *first == HDI_NONE ? n : *first;
    }
}

/* ---- the second accesses ---- */

/* Kinds of the access of a use that node x, on its queue, makes visible. */
static uint64_t shown_kinds(const order *o, const gtarget *t, uint32_t n, int level)
{
    const hdi_verify *v = &o->b->c.v;
    const hdi_vnode *x = &v->node[n];
    uint32_t access = v->d.use_access[t->end], begin = v->kind_begin[access];
    bool host = v->p.queues[t->queue].kind == HD_QUEUE_HOST;
    uint64_t shown = 0;
    for (uint64_t left = t->kinds; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left), k = v->access_kind[begin + i];
        if (level != (host && !hdi_verify_write_bit(v->kind_bit[k]) ? HOST : AVAILABLE))
            continue;
        if (x->kind == HV_WAIT ? (x->dst_far & v->kind_stage[k]) != 0
                               : (x->dst_near & v->kind_stage[k]) && names(o, n, t->segment) &&
                                     hdi_verify_access_meets(x->dst_access, v->kind_bit[k]))
            shown |= UINT64_C(1) << i;
    }
    return shown;
}

static void close_target(order *o, uint32_t i)
{
    if (!o->open[i].stages && !o->open[i].kinds)
        o->open[i] = o->open[--o->open_count];
}

/* What stands behind node n, which the walk has passed (or behind the transition that is the first access). */
static void spread_to_targets(order *o, uint32_t n, uint32_t step)
{
    const hdi_vnode *x = &o->b->c.v.node[n];
    for (uint32_t i = o->open_count; i-- > 0;) {
        gtarget *t = &o->open[i];
        if (t->queue != x->queue || t->step < step || !is_use(o, t->end))
            continue;
        uint64_t stages = t->stages & x->dst_far;
        if (stages)
            add_chain(o, t->chain, n, EXECUTION);
        t->stages &= ~stages;
        for (int level = AVAILABLE; level < LEVELS && t->kinds; level++) {
            uint64_t kinds = is_reached(o, n, level) ? shown_kinds(o, t, n, level) : 0;
            if (kinds)
                add_chain(o, t->chain, n, level);
            t->kinds &= ~kinds;
        }
        close_target(o, i);
    }
}

static void reach_target_node(order *o, uint32_t n)
{
    for (uint32_t i = o->open_count; i-- > 0;) {
        gtarget *t = &o->open[i];
        if (t->end != o->b->c.v.d.use_count + n)
            continue;
        int level = t->kinds ? AVAILABLE : EXECUTION;
        if (!is_reached(o, n, level))
            continue;
        add_chain(o, t->chain, o->from[level][n], level);
        t->stages = t->kinds = 0;
        close_target(o, i);
    }
}

/* ---- the walk ---- */

static uint32_t start_walk(order *o)
{
    hdi_gbuild *b = o->b;
    for (uint32_t q = 0; q < b->c.v.p.queue_count; q++)
        memset(o->first[q], 0xff, b->c.v.slots * sizeof(o->first[q][0]));
    if (++o->now == 0) {
        memset(o->stamp, 0, b->c.v.node_count * sizeof(uint32_t));
        o->now = 1;
    }
    if (is_use(o, o->x))
        return b->command_step[b->c.use_command[o->x]];
    uint32_t n = o->x - b->c.v.d.use_count, step = b->spread_step[n];
    const hdi_vnode *x = &b->c.v.node[n];
    if (step == HDI_NONE)
        return b->gather_step[n];
    o->stamp[n] = o->now;
    for (int level = EXECUTION; level <= AVAILABLE; level++) {
        o->from[level][n] = SELF;
        reach(o, SELF, x->queue, x->dst_far, level);
    }
    o->from[HOST][n] = HDI_NONE;
    for (uint32_t i = 0; i < o->open_count; i++) /* the transition is no link of its own chains */
        o->open[i].stages &= ~(o->open[i].queue == x->queue && is_use(o, o->open[i].end) ? x->dst_far : 0);
    uint32_t sync = b->sync_node[n];
    b->sync_node[n] = HDI_NONE;
    spread_to_targets(o, n, step);
    b->sync_node[n] = sync;
    return step;
}

static void pass_step(order *o, uint32_t step)
{
    hdi_gbuild *b = o->b;
    uint32_t n = b->step[step].index;
    if (b->step[step].kind == HDI_GSTEP_GATHER) {
        gather(o, n);
        reach_target_node(o, n);
    } else if (b->step[step].kind == HDI_GSTEP_SPREAD && is_reached(o, n, EXECUTION)) {
        const hdi_vnode *x = &b->c.v.node[n];
        for (int level = 0; level < LEVELS; level++) {
            if (is_reached(o, n, level))
                reach(o, n, x->queue, x->dst_far, level);
        }
        spread_to_targets(o, n, step);
    }
}

/* The first of the ascending steps behind one. */
static uint32_t behind(const uint32_t *list, uint32_t count, uint32_t step)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle] <= step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void walk_near(order *o, uint32_t step, uint32_t last)
{
    const uint32_t *list[3] = {o->global, o->seg_step + o->seg_begin[o->xs], o->seg_step + o->seg_begin[o->ys]};
    uint32_t count[3] = {o->global_count, o->seg_begin[o->xs + 1] - o->seg_begin[o->xs],
                         o->xs == o->ys ? 0 : o->seg_begin[o->ys + 1] - o->seg_begin[o->ys]};
    uint32_t at[3];
    for (int i = 0; i < 3; i++)
        at[i] = behind(list[i], count[i], step);
    while (o->open_count && !o->failed) {
        uint32_t next = HDI_NONE;
        for (int i = 0; i < 3; i++)
            next = at[i] < count[i] && list[i][at[i]] < next ? list[i][at[i]] : next;
        if (next > last)
            return;
        for (int i = 0; i < 3; i++)
            at[i] += at[i] < count[i] && list[i][at[i]] == next;
        pass_step(o, next);
    }
}

static void walk(order *o)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < o->open_count; i++)
        last = o->open[i].step > last ? o->open[i].step : last;
    walk_near(o, start_walk(o), last);
    if (!o->open_count)
        return;
    for (uint32_t step = start_walk(o) + 1; step <= last && o->open_count && !o->failed; step++)
        pass_step(o, step);
}

static void open_target(order *o, const hdi_gpair *pair)
{
    hdi_gbuild *b = o->b;
    const hdi_verify *v = &b->c.v;
    if (!hdi_arena_grow(&b->c.v.arena, &o->open, &o->open_room, o->open_count, o->open_count + 1, sizeof(*o->open))) {
        o->failed = true;
        return;
    }
    gtarget *t = &o->open[o->open_count++];
    *t = (gtarget){.end = pair->y, .segment = pair->ys, .chain = pair->chain};
    bool memory = pair->memory && (o->kind != HDI_NONE || !is_use(o, o->x));
    if (!is_use(o, pair->y)) {
        uint32_t n = pair->y - v->d.use_count;
        t->step = b->gather_step[n];
        t->queue = v->node[n].queue;
        t->stages = 1;
        t->kinds = memory;
        return;
    }
    uint32_t command = b->c.use_command[pair->y], access = v->d.use_access[pair->y];
    t->step = b->command_step[command];
    t->queue = v->pass_queue[command];
    t->stages = v->use_stage[access];
    /* No access of Vulkan has 64 kinds. One of a file may have more: what shows the others is not looked for. */
    for (uint32_t j = v->kind_begin[access]; memory && j < v->kind_begin[access + 1]; j++) {
        if (j - v->kind_begin[access] == 64)
            break;
        t->kinds |= UINT64_C(1) << (j - v->kind_begin[access]);
        t->stages &= ~v->kind_stage[v->access_kind[j]]; /* what shows it leads there */
    }
}

/* All pairs with one first access, for one stage and kind of write of it. */
static void run(order *o, const hdi_gpair *pair, uint32_t count, uint64_t stage, uint32_t kind)
{
    o->stage = stage;
    o->kind = kind;
    o->open_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || pair[i].chain != pair[i - 1].chain)
            open_target(o, &pair[i]);
    }
    walk(o);
}

static void order_first(order *o, const hdi_gpair *pair, uint32_t count)
{
    const hdi_verify *v = &o->b->c.v;
    o->x = pair->x;
    o->xs = pair->xs;
    o->ys = pair->ys;
    if (!is_use(o, o->x)) {
        run(o, pair, count, 0, HDI_NONE);
        return;
    }
    uint32_t access = v->d.use_access[o->x];
    o->queue = v->pass_queue[o->b->c.use_command[o->x]];
    for (uint64_t left = v->use_stage[access]; left; left &= left - 1) {
        bool writes = false;
        for (uint32_t j = v->kind_begin[access]; j < v->kind_begin[access + 1]; j++) {
            uint32_t k = v->access_kind[j];
            if (v->kind_stage[k] != (left & -left) || !hdi_verify_write_bit(v->kind_bit[k]))
                continue;
            writes = true;
            run(o, pair, count, left & -left, k);
        }
        if (!writes)
            run(o, pair, count, left & -left, HDI_NONE);
    }
}

static int by_pair(const void *a, const void *b)
{
    const uint32_t keys[] = {offsetof(hdi_gpair, x), offsetof(hdi_gpair, xs),     offsetof(hdi_gpair, ys),
                             offsetof(hdi_gpair, y), offsetof(hdi_gpair, memory), offsetof(hdi_gpair, group)};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        uint32_t x, y;
        memcpy(&x, (const char *)a + keys[i], sizeof(x));
        memcpy(&y, (const char *)b + keys[i], sizeof(y));
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

/* Sorted, each once; those that differ in their group alone share a chain. */
static void number_chains(hdi_gbuild *b)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->pair_count; i++)
        b->pair[i].group = hdi_graph_group(b, b->pair[i].group);
    if (b->pair_count)
        qsort(b->pair, b->pair_count, sizeof(*b->pair), by_pair);
    for (uint32_t i = 0; i < b->pair_count; i++) {
        const hdi_gpair *last = kept ? &b->pair[kept - 1] : NULL;
        hdi_gpair pair = b->pair[i];
        if (last && by_pair(&pair, last) == 0)
            continue;
        bool same = last && last->x == pair.x && last->xs == pair.xs && last->y == pair.y && last->ys == pair.ys &&
                    last->memory == pair.memory;
        pair.chain = same ? last->chain : b->chain_count++;
        b->pair[kept++] = pair;
    }
    b->pair_count = kept;
}

static bool is_sync(const hdi_gbuild *b, uint32_t step)
{
    return b->step[step].kind != HDI_GSTEP_COMMAND;
}

static int by_step(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static hd_result list_steps(order *o)
{
    hdi_gbuild *b = o->b;
    const hdi_verify *v = &b->c.v;
    hdi_arena *arena = &b->c.v.arena;
    o->global = HDI_ARENA_ARRAY(arena, uint32_t, b->step_count);
    o->seg_begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)v->seg_count + 1);
    o->seg_step = HDI_ARENA_ARRAY(arena, uint32_t, 2 * (size_t)v->seg_node_begin[v->seg_count]);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < b->step_count; i++) {
        if (is_sync(b, i) && v->node[b->step[i].index].resource == HDI_NONE)
            o->global[o->global_count++] = i;
    }
    uint32_t count = 0;
    for (uint32_t s = 0; s < v->seg_count; s++) {
        o->seg_begin[s] = count;
        for (uint32_t i = v->seg_node_begin[s]; i < v->seg_node_begin[s + 1] && b->class_of[s] == s; i++) {
            uint32_t n = v->seg_node[i];
            o->seg_step[count++] = b->gather_step[n];
            if (b->spread_step[n] != HDI_NONE)
                o->seg_step[count++] = b->spread_step[n];
        }
        if (count > o->seg_begin[s])
            qsort(o->seg_step + o->seg_begin[s], count - o->seg_begin[s], sizeof(*o->seg_step), by_step);
    }
    o->seg_begin[v->seg_count] = count;
    return HD_OK;
}

static hd_result start_order(order *o)
{
    hdi_gbuild *b = o->b;
    const hdi_verify *v = &b->c.v;
    hdi_arena *arena = &b->c.v.arena;
    for (int level = 0; level < LEVELS; level++)
        o->from[level] = HDI_ARENA_ARRAY(arena, uint32_t, v->node_count);
    o->stamp = HDI_ARENA_ZEROED(arena, uint32_t, v->node_count);
    o->signal_of = HDI_ARENA_ARRAY(arena, uint32_t, v->node_count);
    o->head = HDI_ARENA_ARRAY(arena, uint32_t, b->chain_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    memset(o->signal_of, 0xff, v->node_count * sizeof(uint32_t));
    memset(o->head, 0xff, b->chain_count * sizeof(uint32_t));
    for (uint32_t n = 0; n < v->p.submit_count; n++) {
        const hd_plan_submit *x = &v->p.submits[n];
        for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++)
            o->signal_of[v->wait_node[w]] = v->submit_signal[v->wait_signal[w]];
    }
    return list_steps(o);
}

static hd_result list_chains(order *o)
{
    hdi_gbuild *b = o->b;
    b->chain_begin = HDI_ARENA_ARRAY(&b->c.v.arena, uint32_t, (size_t)b->chain_count + 1);
    b->via = HDI_ARENA_ARRAY(&b->c.v.arena, uint32_t, o->link_count);
    if (b->c.v.arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t c = 0; c < b->chain_count; c++) {
        b->chain_begin[c] = b->via_count;
        for (uint32_t l = o->head[c]; l != HDI_NONE; l = o->link[l].next)
            b->via[b->via_count++] = o->link[l].node;
    }
    b->chain_begin[b->chain_count] = b->via_count;
    return HD_OK;
}

hd_result hdi_graph_order(hdi_gbuild *b)
{
    order o = {.b = b};
    number_chains(b);
    hd_result result = start_order(&o);
    for (uint32_t i = 0, next; i < b->pair_count && result == HD_OK && !o.failed; i = next) {
        for (next = i; next < b->pair_count && b->pair[next].x == b->pair[i].x && b->pair[next].xs == b->pair[i].xs &&
                       b->pair[next].ys == b->pair[i].ys;)
            next++;
        order_first(&o, b->pair + i, next - i);
    }
    if (result == HD_OK)
        result = list_chains(&o);
    return o.failed || b->c.v.arena.failed ? HD_OUT_OF_MEMORY : result;
}
