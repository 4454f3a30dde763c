#include "verify.h"

#include <string.h>

/* The shortest repair of a pair that is out of order or whose write is not seen. A chain from x to y goes through some
 * sync node n. What n lacks to hang on x, in bits of its masks, is its price on the way in: nothing where the relation
 * has x's access in n's set already; one bit where an earlier node of its queue has it and the two only need to meet;
 * else the stages and access bits that it would need to wait for x itself. The way out to y costs the same, seen from
 * behind. The node with the lowest sum is the repair; ties go to the one nearest to y. Where no node will do, a new
 * barrier stands before y, or, between queues, y's submit waits for x's. O(nodes * (stages + kinds)), and a pass over
 * set rows: tools ask for it, once a finding. */

#define DEAR 1000u /* no way */

typedef struct price {
    uint32_t in, out;
    uint32_t in_node, out_node; /* whose masks the bits go to: n, or the signal or wait that it comes with */
    uint64_t in_stages, in_access, out_stages, out_access;
} price;

typedef struct mender {
    hdi_verify *v;
    const hdi_vpair *c;
    uint8_t *has, *gives; /* per node: x has arrived there; y hangs on it */
    uint32_t *wait_of;    /* node of a wait -> plan wait; of a signal -> its first wait that helps, HDI_NONE */
    price *prices;
} mender;

static uint64_t use_stages(const hdi_verify *v, uint32_t use)
{
    return hdi_verify_expand(v->d.access[v->d.use_access[use]].stages);
}

static uint32_t queue_of(const hdi_verify *v, uint32_t use, uint32_t node)
{
    return use != HDI_NONE ? v->pass_queue[v->use_pass[use]] : v->node[node].queue;
}

static bool on_host(const hdi_verify *v, uint32_t queue)
{
    return v->p.queues[queue].kind == HD_QUEUE_HOST;
}

static bool covers(const hdi_verify *v, uint32_t n, uint32_t seg)
{
    return v->node[n].resource == HDI_NONE || hdi_verify_on_segment(v, n, seg);
}

/* ---- what the relation has ---- */

static bool arrived(const hdi_verify *v, const hdi_vpair *c, uint32_t n)
{
    hdi_vset set = hdi_verify_before_node(v, n);
    if (c->x == HDI_NONE)
        return n == c->xn || hdi_verify_is_in(v, &set, c->xn);
    uint32_t qx = queue_of(v, c->x, HDI_NONE), begin = v->pass_next[v->use_pass[c->x]];
    uint32_t a = v->d.use_access[c->x];
    for (uint64_t left = v->use_stage[a]; left; left &= left - 1) {
        uint64_t stage = left & -left;
        bool direct = v->node[n].queue == qx && n >= begin && (v->node[n].src_far & stage);
        if (!direct && !hdi_verify_leaves(v, &set, qx, stage, begin))
            return false;
    }
    for (uint32_t i = v->kind_begin[a]; c->memory && i < v->kind_begin[a + 1]; i++)
        if (hdi_verify_write_bit(v->kind_bit[v->access_kind[i]]) &&
            !hdi_verify_available(v, c->x, HDI_NONE, c->xs, v->access_kind[i], &set, n))
            return false;
    return true;
}

static bool seen_by_use(const hdi_verify *v, const hdi_vpair *c, uint32_t n, uint32_t k)
{
    uint32_t qy = queue_of(v, c->y, HDI_NONE);
    hdi_vset seen = hdi_verify_seen_by_kind(v, qy, k), reach = hdi_verify_before_stage(v, qy, v->kind_stage[k]);
    if (hdi_verify_is_in(v, &seen, n))
        return true;
    for (uint32_t i = v->seg_node_begin[c->ys]; i < v->seg_node_begin[c->ys + 1]; i++) {
        uint32_t b = v->seg_node[i];
        const hdi_vnode *x = &v->node[b];
        hdi_vset before = hdi_verify_before_node(v, b);
        if ((x->queue == qy || on_host(v, qy)) && hdi_verify_is_in(v, &reach, b) && (x->dst_near & v->kind_stage[k]) &&
            hdi_verify_access_meets(x->dst_access, v->kind_bit[k]) && (b == n || hdi_verify_is_in(v, &before, n)))
            return true;
    }
    return false;
}

static bool leaves_to(const hdi_verify *v, const hdi_vpair *c, uint32_t n)
{
    hdi_vset before = c->y == HDI_NONE ? hdi_verify_before_node(v, c->yn) : (hdi_vset){0};
    if (c->y == HDI_NONE)
        return n == c->yn || hdi_verify_is_in(v, &before, n);
    uint32_t a = v->d.use_access[c->y];
    if (!hdi_verify_node_before_use(v, n, c->y))
        return false;
    for (uint32_t i = v->kind_begin[a]; c->memory && i < v->kind_begin[a + 1]; i++)
        if (!seen_by_use(v, c, n, v->access_kind[i]))
            return false;
    return true;
}

/* ---- prices ---- */

static uint64_t legal_on(const hdi_verify *v, uint32_t queue)
{
    return hdi_verify_queue_stages(v->p.queues[queue].kind) | HV_STAGE(HV_HOST);
}

static uint64_t bits_of(const hdi_verify *v, uint32_t use, bool writes)
{
    const hdi_access_info *info = &v->d.access[v->d.use_access[use]];
    uint64_t out = 0;
    for (uint64_t left = info->access; left; left &= left - 1) {
        uint64_t bit = left & -left;
        if (hdi_verify_write_bit(bit) ? info->writes : !writes && info->reads)
            out |= bit;
    }
    return out;
}

static uint64_t unmet(uint64_t mask, uint64_t bits)
{
    uint64_t out = 0;
    for (uint64_t left = bits; left; left &= left - 1)
        if (!hdi_verify_access_meets(mask, left & -left))
            out |= left & -left;
    return out;
}

static uint32_t count(uint64_t a, uint64_t b)
{
    return (uint32_t)(__builtin_popcountll(a) + __builtin_popcountll(b));
}

/* n waits for x itself. */
static void price_direct_in(const mender *m, uint32_t n, price *p)
{
    const hdi_verify *v = m->v;
    const hdi_vpair *c = m->c;
    const hdi_vnode *x = &v->node[n];
    if (c->x == HDI_NONE || x->queue != queue_of(v, c->x, HDI_NONE) || n < v->pass_next[v->use_pass[c->x]] ||
        x->kind == HV_WAIT || (x->flags & HV_ACQUIRE))
        return;
    uint64_t stages = use_stages(v, c->x), access = 0;
    if (x->kind == HV_BARRIER && c->memory) {
        if (!covers(v, n, c->xs))
            return;
        stages &= ~x->src_near;
        access = unmet(x->src_access, bits_of(v, c->x, true));
    } else {
        stages &= ~x->src_far;
    }
    if ((stages & ~legal_on(v, x->queue)) || count(stages, access) >= p->in)
        return;
    *p = (price){count(stages, access), p->out, n, p->out_node, stages, access, p->out_stages, p->out_access};
}

/* One stage bit that a's second scope and b's first one can share. */
static uint64_t shared_bit(uint64_t of_the_other, uint64_t legal)
{
    uint64_t bits = of_the_other & legal & ~HV_STAGE(HV_HOST) & (HV_STAGE(HV_LAST_STAGE) - 1);
    return bits & -bits;
}

/* One that node n can share with a signal behind it that a host pass y waits for. */
static uint64_t signal_bit(const mender *m, uint32_t n)
{
    const hdi_verify *v = m->v;
    for (uint32_t s = n + 1; s < v->queue_node[v->node[n].queue + 1]; s++)
        if (v->node[s].kind == HV_SIGNAL && hdi_verify_node_before_use(v, s, m->c->y))
            return shared_bit(v->node[s].src_far, legal_on(v, v->node[n].queue));
    return 0;
}

/* y waits for n itself. */
static void price_direct_out(const mender *m, uint32_t n, price *p)
{
    const hdi_verify *v = m->v;
    const hdi_vpair *c = m->c;
    const hdi_vnode *x = &v->node[n];
    if (c->y == HDI_NONE || x->kind == HV_SIGNAL || (x->flags & HV_RELEASE))
        return;
    uint32_t qy = queue_of(v, c->y, HDI_NONE);
    bool host = on_host(v, qy) && x->kind == HV_BARRIER;
    if (host ? !hdi_verify_node_before_use(v, n, c->y) && m->gives[n] != 2
             : x->queue != qy || n >= v->pass_next[v->use_pass[c->y]])
        return;
    uint64_t stages = use_stages(v, c->y), access = 0;
    if (x->kind == HV_BARRIER && c->memory) {
        if (!covers(v, n, c->ys))
            return;
        stages &= ~x->dst_near;
        access = unmet(x->dst_access, bits_of(v, c->y, false));
    } else {
        stages &= ~x->dst_far;
    }
    if (host && !stages && !access) /* shown to the host already, but no signal that it waits for hangs on it */
        stages = signal_bit(m, n);
    if ((stages & ~legal_on(v, x->queue)) || count(stages, access) >= p->out)
        return;
    *p = (price){p->in, count(stages, access), p->in_node, n, p->in_stages, p->in_access, stages, access};
}

static void price_chain_in(const mender *m, uint32_t n, uint32_t before, price *p)
{
    const hdi_verify *v = m->v;
    const hdi_vnode *x = &v->node[n], *a = &v->node[before];
    if (x->kind == HV_WAIT || (x->flags & HV_ACQUIRE) || p->in <= 1)
        return;
    uint64_t bit = shared_bit(a->kind == HV_WAIT ? a->dst_far : a->dst_near, legal_on(v, x->queue));
    if (a->flags && x->kind == HV_SIGNAL)
        bit = HV_STAGE(HV_ALL_COMMANDS); /* what has no stage */
    if (bit)
        *p = (price){1, p->out, n, p->out_node, bit, 0, p->out_stages, p->out_access};
}

static void price_chain_out(const mender *m, uint32_t n, uint32_t behind, price *p)
{
    const hdi_verify *v = m->v;
    const hdi_vnode *x = &v->node[n], *b = &v->node[behind];
    if (x->kind == HV_SIGNAL || (x->flags & HV_RELEASE) || p->out <= 1)
        return;
    uint64_t bit = shared_bit(b->kind == HV_SIGNAL ? b->src_far : b->src_near, legal_on(v, x->queue));
    if (b->flags && x->kind == HV_WAIT)
        bit = HV_STAGE(HV_ALL_COMMANDS); /* what has no stage */
    if (bit)
        *p = (price){p->in, 1, p->in_node, n, p->in_stages, p->in_access, bit, 0};
}

/* Ways in on one queue, in the order of the nodes; ways out, from behind. Elements of one command never chain. */
static void price_queue(const mender *m, uint32_t q)
{
    const hdi_verify *v = m->v;
    uint32_t last = HDI_NONE, older = HDI_NONE; /* of another command than the last */
    uint32_t moved = HDI_NONE;                  /* the last that has no stage */
    for (uint32_t n = v->queue_node[q]; n < v->queue_node[q + 1]; n++) {
        const hdi_vnode *x = &v->node[n];
        price *p = &m->prices[n];
        uint32_t from = last != HDI_NONE && v->node[last].command == x->command && x->kind == HV_BARRIER ? older : last;
        if (m->has[n])
            *p = (price){.in = 0, .out = DEAR, .in_node = n};
        else
            price_direct_in(m, n, p);
        if (from != HDI_NONE)
            price_chain_in(m, n, from, p);
        if (moved != HDI_NONE && x->kind == HV_SIGNAL)
            price_chain_in(m, n, moved, p);
        if (m->has[n] && x->flags)
            moved = n;
        if (!m->has[n] || x->kind == HV_SIGNAL || !(x->dst_far & ~HV_STAGE(HV_OUT)))
            continue;
        older = last != HDI_NONE && v->node[last].command == x->command ? older : last;
        last = n;
    }
    last = older = moved = HDI_NONE;
    for (uint32_t n = v->queue_node[q + 1]; n-- > v->queue_node[q];) {
        const hdi_vnode *x = &v->node[n];
        price *p = &m->prices[n];
        uint32_t to = last != HDI_NONE && v->node[last].command == x->command && x->kind == HV_BARRIER ? older : last;
        if (m->gives[n] == 1)
            p->out = 0, p->out_node = n;
        else
            price_direct_out(m, n, p);
        if (to != HDI_NONE)
            price_chain_out(m, n, to, p);
        if (moved != HDI_NONE && x->kind == HV_WAIT)
            price_chain_out(m, n, moved, p);
        if (m->gives[n] == 1 && x->flags)
            moved = n;
        if (m->gives[n] != 1 || x->kind == HV_WAIT || !(x->src_far & ~HV_STAGE(HV_INTO)))
            continue;
        older = last != HDI_NONE && v->node[last].command == x->command ? older : last;
        last = n;
    }
}

/* A wait comes in by its signal, a signal goes out by its waits. */
static void price_semaphores(const mender *m)
{
    const hdi_verify *v = m->v;
    for (uint32_t w = 0; w < v->p.wait_count; w++) {
        if (v->wait_node[w] == HDI_NONE)
            continue;
        uint32_t n = v->wait_node[w], signal = v->submit_signal[v->wait_signal[w]];
        price *p = &m->prices[n], *s = &m->prices[signal];
        if (s->in < p->in)
            p->in = s->in, p->in_node = s->in_node, p->in_stages = s->in_stages, p->in_access = s->in_access;
        if (p->out < s->out)
            s->out = p->out, s->out_node = p->out_node, s->out_stages = p->out_stages, s->out_access = p->out_access;
    }
}

/* ---- repairs ---- */

static void widen(mender *m, uint32_t n, const price *p)
{
    hdi_verify *v = m->v;
    const hdi_vnode *x = &v->node[n];
    hd_repair *r = &v->found.repair;
    *r = (hd_repair){.submit = x->submit, .command = HDI_NONE};
    if (p->in && p->in_node == n)
        r->barrier.src_stages = p->in_stages, r->barrier.src_access = p->in_access;
    if (p->out && p->out_node == n)
        r->barrier.dst_stages = p->out_stages, r->barrier.dst_access = p->out_access;
    if (x->kind == HV_BARRIER) {
        r->kind = HD_REPAIR_WIDEN;
        r->index = x->barrier;
    } else if (x->kind == HV_SIGNAL) {
        r->kind = HD_REPAIR_SIGNAL_STAGES;
        r->index = x->submit;
    } else {
        r->kind = HD_REPAIR_WAIT_STAGES;
        r->index = m->wait_of[n];
    }
}

/* Right before the pass; before the rendering scope that it stands in the middle of. */
static uint32_t before_pass(const hdi_verify *v, uint32_t pass)
{
    uint32_t c = v->pass_command[pass];
    for (uint32_t s = 0; s < v->p.scope_count; s++) {
        const hd_plan_scope *x = &v->p.scopes[s];
        if (c > x->command_begin && c - x->command_begin < x->command_count)
            return x->command_begin;
    }
    return c;
}

static hd_plan_barrier between(const hdi_verify *v, const hdi_vpair *c)
{
    hd_plan_barrier b = {.resource = HDI_NONE,
                         .src_family = HDI_NONE,
                         .dst_family = HDI_NONE,
                         .reason_pass = HDI_NONE,
                         .reason_resource = HDI_NONE};
    b.src_stages = c->x != HDI_NONE ? use_stages(v, c->x) : v->node[c->xn].dst_near & ~HV_STAGE(HV_HOST);
    b.src_access = c->x != HDI_NONE && c->memory ? bits_of(v, c->x, true) : 0;
    b.dst_stages = c->y != HDI_NONE ? use_stages(v, c->y) : v->node[c->yn].src_near;
    b.dst_access = c->y != HDI_NONE && c->memory ? bits_of(v, c->y, false) : 0;
    return b;
}

static void new_element(mender *m)
{
    hdi_verify *v = m->v;
    const hdi_vpair *c = m->c;
    uint32_t qx = queue_of(v, c->x, c->xn), qy = queue_of(v, c->y, c->yn);
    uint32_t sx = c->x != HDI_NONE ? v->pass_submit[v->use_pass[c->x]] : v->node[c->xn].submit;
    uint32_t sy = c->y != HDI_NONE ? v->pass_submit[v->use_pass[c->y]] : v->node[c->yn].submit;
    hd_repair *r = &v->found.repair;
    *r = (hd_repair){.index = sx, .submit = sy, .command = HDI_NONE, .barrier = between(v, c)};
    bool to_host = false; /* the host waits for it, and lacks the barrier that shows it what was written */
    for (uint32_t n = v->queue_node[qx]; n < v->queue_node[qx + 1] && on_host(v, qy) && c->y != HDI_NONE; n++) {
        if (v->node[n].kind != HV_SIGNAL || !m->has[n] || !hdi_verify_node_before_use(v, n, c->y))
            continue;
        to_host = true;
        if (!(v->node[n].src_far & HV_STAGE(HV_HOST))) { /* nor can it be shown through a signal without HOST */
            r->kind = HD_REPAIR_SIGNAL_STAGES;
            r->index = v->node[n].submit;
            r->barrier = (hd_plan_barrier){.src_stages = HV_STAGE(HV_HOST)};
            return;
        }
    }
    if (qx == qy || to_host) {
        if (on_host(v, qx) || !r->barrier.src_stages || !r->barrier.dst_stages)
            return;
        if (c->x != HDI_NONE && c->y != HDI_NONE && v->use_pass[c->x] == v->use_pass[c->y])
            return;
        r->kind = HD_REPAIR_ADD;
        r->value = c->x == HDI_NONE; /* elements of one command do not chain */
        r->submit = qx == qy ? sy : sx;
        r->command = qx != qy           ? v->p.submits[sx].command_begin + v->p.submits[sx].command_count
                     : c->y != HDI_NONE ? before_pass(v, v->use_pass[c->y])
                                        : v->node[c->yn].command;
        return;
    }
    if (sx >= sy)
        return;
    uint64_t stages = c->y != HDI_NONE && use_stages(v, c->y) ? use_stages(v, c->y) : HV_STAGE(HV_ALL_COMMANDS);
    r->kind = HD_REPAIR_ADD_WAIT;
    r->barrier =
        (hd_plan_barrier){.dst_stages = on_host(v, qy) ? HV_STAGE(HV_HOST) | HV_STAGE(HV_ALL_COMMANDS) : stages};
}

static bool start(mender *m)
{
    hdi_verify *v = m->v;
    m->has = HDI_ARENA_ZEROED(&v->arena, uint8_t, v->node_count);
    m->gives = HDI_ARENA_ZEROED(&v->arena, uint8_t, v->node_count);
    m->wait_of = HDI_ARENA_ZEROED(&v->arena, uint32_t, v->node_count);
    m->prices = HDI_ARENA_ARRAY(&v->arena, price, v->node_count);
    if (v->arena.failed)
        return false;
    for (uint32_t w = 0; w < v->p.wait_count; w++)
        if (v->wait_node[w] != HDI_NONE)
            m->wait_of[v->wait_node[w]] = w;
    uint32_t latest[HD_MAX_QUEUES] = {0}; /* 1 + the last signal that a host pass y has waited for */
    for (uint32_t n = 0; n < v->node_count; n++) {
        m->has[n] = arrived(v, m->c, n);
        m->gives[n] = leaves_to(v, m->c, n);
        m->prices[n] = (price){.in = DEAR, .out = DEAR, .in_node = n, .out_node = n};
        if (v->node[n].kind == HV_SIGNAL && m->c->y != HDI_NONE && hdi_verify_node_before_use(v, n, m->c->y))
            latest[v->node[n].queue] = n + 1;
    }
    /* What would become visible to the host by a barrier to it: all before a signal that it waits for. */
    for (uint32_t n = 0; n < v->node_count && m->c->y != HDI_NONE && on_host(v, queue_of(v, m->c->y, HDI_NONE)); n++)
        if (!m->gives[n] && v->node[n].kind == HV_BARRIER && n + 1 < latest[v->node[n].queue])
            m->gives[n] = 2;
    return true;
}

void hdi_verify_mend_pair(hdi_verify *v, const hdi_vpair *pair)
{
    mender m = {.v = v, .c = pair};
    if (v->stop || (!v->desc->message && !v->desc->finding))
        return;
    hdi_arena_mark mark = hdi_arena_here(&v->arena);
    if (start(&m)) {
        for (uint32_t q = 0; q < v->p.queue_count; q++)
            price_queue(&m, q);
        price_semaphores(&m);
        uint32_t best = HDI_NONE, least = DEAR;
        for (uint32_t n = 0; n < v->node_count; n++) {
            uint32_t sum = m.prices[n].in + m.prices[n].out;
            if (sum && (sum < least || (sum == least && best != HDI_NONE && v->node[n].submit >= v->node[best].submit)))
                best = n, least = sum;
        }
        if (best == HDI_NONE)
            new_element(&m);
        uint32_t rx = pair->x != HDI_NONE ? v->d.use_res[pair->x] : v->node[pair->xn].resource;
        uint32_t ry = pair->y != HDI_NONE ? v->d.use_res[pair->y] : v->node[pair->yn].resource;
        if (best == HDI_NONE && v->found.repair.kind == HD_REPAIR_NONE && rx != ry) /* nothing orders them: apart */
            hdi_verify_mend_place(v, v->plan_res[ry], v->p.resources[v->plan_res[ry]].bytes, 65536);
        if (best != HDI_NONE)
            widen(&m, m.prices[best].in ? m.prices[best].in_node : m.prices[best].out_node, &m.prices[best]);
    }
    hdi_arena_keep(&v->arena, mark, NULL, 0);
}
