#include "verify.h"

#include <string.h>

#include "bitset.h"

/* The relation "finished before". Sync nodes are numbered by queue, in submission order, so "later on the queue of x"
 * is an interval. pred[n] is the set of nodes before n; reach[q][stage] the set of nodes that an access of that stage,
 * here on q, comes after; seen[q][stage, access] those whose memory it sees. A use x is before y when a node that waits
 * for x's stage, later on x's queue, is in y's set. Stages that no mask of the plan tells apart share a row. */

static const uint8_t graphics_order[] = {1, 36, 37, 3, 4, 5, 6, 24, 22, 8, 7, 9, 10};
#define TRANSFERS (UINT64_C(0xf) << 32)
#define GRAPHICS                                                                                                       \
    (UINT64_C(0x7f8) | HV_STAGE(HV_DRAW_INDIRECT) | HV_STAGE(HV_INDEX_INPUT) | HV_STAGE(HV_ATTRIBUTE_INPUT) |          \
     (UINT64_C(0x7f) << 18 & ~HV_STAGE(21)))
#define GROUPS                                                                                                         \
    (HV_STAGE(HV_TOP) | HV_STAGE(HV_BOTTOM) | HV_STAGE(HV_VERTEX_INPUT) | HV_STAGE(HV_TRANSFER) |                      \
     HV_STAGE(HV_ALL_GRAPHICS) | HV_STAGE(HV_ALL_COMMANDS) | HV_STAGE(HV_PRE_RASTERIZATION))
#define EVERYTHING ((HV_STAGE(HV_LAST_STAGE) - 1) & ~(GROUPS | HV_STAGE(HV_HOST)))

uint64_t hdi_verify_expand(uint64_t stages)
{
    uint64_t m = stages & ~GROUPS;
    if (stages & HV_STAGE(HV_ALL_COMMANDS))
        m |= EVERYTHING;
    if (stages & HV_STAGE(HV_ALL_GRAPHICS))
        m |= GRAPHICS;
    if (stages & HV_STAGE(HV_TRANSFER))
        m |= TRANSFERS;
    if (stages & HV_STAGE(HV_VERTEX_INPUT))
        m |= HV_STAGE(HV_INDEX_INPUT) | HV_STAGE(HV_ATTRIBUTE_INPUT);
    if (stages & HV_STAGE(HV_PRE_RASTERIZATION))
        m |= HV_STAGE(3) | HV_STAGE(4) | HV_STAGE(5) | HV_STAGE(6) | HV_STAGE(19) | HV_STAGE(20);
    return m;
}

uint64_t hdi_verify_src(uint64_t stages)
{
    uint64_t m = hdi_verify_expand(stages);
    bool on = false;
    for (size_t i = sizeof(graphics_order); i-- > 0;) {
        on |= m >> graphics_order[i] & 1;
        m |= on ? HV_STAGE(graphics_order[i]) : 0;
    }
    if (m & HV_STAGE(HV_COMPUTE))
        m |= HV_STAGE(HV_DRAW_INDIRECT);
    if (stages & HV_STAGE(HV_BOTTOM))
        m |= EVERYTHING;
    return m;
}

uint64_t hdi_verify_dst(uint64_t stages)
{
    uint64_t m = hdi_verify_expand(stages);
    bool on = false, indirect = m & HV_STAGE(HV_DRAW_INDIRECT);
    for (size_t i = 0; i < sizeof(graphics_order); i++) {
        on |= m >> graphics_order[i] & 1;
        m |= on ? HV_STAGE(graphics_order[i]) : 0;
    }
    if (indirect)
        m |= HV_STAGE(HV_COMPUTE);
    if (stages & HV_STAGE(HV_TOP))
        m |= EVERYTHING;
    return m;
}

uint64_t hdi_verify_queue_stages(uint32_t kind)
{
    const uint64_t any =
        HV_STAGE(HV_TOP) | HV_STAGE(HV_BOTTOM) | HV_STAGE(HV_ALL_COMMANDS) | HV_STAGE(HV_TRANSFER) | TRANSFERS;
    if (kind == HD_QUEUE_GFX)
        return ~HV_STAGE(HV_HOST) & (HV_STAGE(HV_LAST_STAGE) - 1);
    if (kind == HD_QUEUE_COMPUTE)
        return any | HV_STAGE(HV_DRAW_INDIRECT) | HV_STAGE(HV_COMPUTE) | HV_STAGE(17) | HV_STAGE(18) | HV_STAGE(21) |
               HV_STAGE(25) | HV_STAGE(28) | HV_STAGE(30);
    return kind == HD_QUEUE_TRANSFER ? any : HV_STAGE(HV_HOST);
}

/* Stages that can do an access. */
uint64_t hdi_verify_access_stages(uint64_t bit)
{
    const uint64_t shaders = HV_STAGE(3) | HV_STAGE(4) | HV_STAGE(5) | HV_STAGE(6) | HV_STAGE(7) |
                             HV_STAGE(HV_COMPUTE) | HV_STAGE(19) | HV_STAGE(20) | HV_STAGE(21);
    switch (bit) {
    case 0x1:
        return HV_STAGE(HV_DRAW_INDIRECT) | HV_STAGE(25);
    case 0x2:
        return HV_STAGE(HV_INDEX_INPUT);
    case 0x4:
        return HV_STAGE(HV_ATTRIBUTE_INPUT);
    case 0x8:
    case 0x20:
    case 0x40:
    case UINT64_C(0x100000000):
    case UINT64_C(0x200000000):
    case UINT64_C(0x400000000):
        return shaders | (bit == 0x20 ? HV_STAGE(25) : 0);
    case 0x10:
        return HV_STAGE(7);
    case 0x80:
    case 0x100:
        return HV_STAGE(10);
    case 0x200:
    case 0x400:
        return HV_STAGE(8) | HV_STAGE(9);
    case 0x800:
    case 0x1000:
        return TRANSFERS | HV_STAGE(25) | HV_STAGE(28);
    case HV_HOST_READ:
    case HV_HOST_WRITE:
        return HV_STAGE(HV_HOST);
    default: /* MEMORY_READ, MEMORY_WRITE and extensions */
        return ~UINT64_C(0);
    }
}

bool hdi_verify_write_bit(uint64_t bit)
{
    return bit & (UINT64_C(0x40) | 0x100 | 0x400 | 0x1000 | 0x4000 | 0x10000 | UINT64_C(0x400000000) | 0x4000000 |
                  0x400000 | UINT64_C(0x800000000000));
}

bool hdi_verify_access_meets(uint64_t mask, uint64_t bit)
{
    if (mask & bit)
        return true;
    if (hdi_verify_write_bit(bit))
        return (mask & 0x10000) || ((mask & 0x40) && bit == UINT64_C(0x400000000));
    return (mask & 0x8000) || ((mask & 0x20) && (bit == UINT64_C(0x100000000) || bit == UINT64_C(0x200000000)));
}

static uint64_t *row(uint64_t *rows, const hdi_verify *v, uint32_t r)
{
    return rows + (size_t)r * v->words;
}
static const uint64_t *crow(const uint64_t *rows, const hdi_verify *v, uint32_t r)
{
    return rows + (size_t)r * v->words;
}
static void join(uint64_t *to, const uint64_t *from, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++)
        to[i] |= from[i];
}
bool hdi_verify_meet(const uint64_t *a, const uint64_t *b, uint32_t begin, uint32_t end)
{
    if (begin >= end)
        return false;
    uint32_t first = begin >> 6, last = (end - 1) >> 6;
    for (uint32_t i = first; i <= last; i++) {
        uint64_t word = a[i] & b[i];
        if (i == first)
            word &= ~UINT64_C(0) << (begin & 63);
        if (i == last)
            word &= ~UINT64_C(0) >> (63 - ((end - 1) & 63));
        if (word)
            return true;
    }
    return false;
}

void hdi_verify_gather(hdi_verify *v, uint32_t n)
{
    const hdi_vnode *x = &v->node[n];
    uint64_t *pred = row(v->pred, v, n);
    for (uint64_t left = x->src_far & v->rep; left; left &= left - 1)
        join(pred, row(v->reach, v, x->queue * v->slots + v->stage_slot[__builtin_ctzll(left)]), v->words);
}

/* The host sees what the barriers to HOST that came before the wait made visible. */
static void spread_host_reads(hdi_verify *v, uint32_t n, uint32_t kind)
{
    uint64_t *to = row(v->seen, v, v->node[n].queue * v->kinds + kind);
    const uint64_t *pred = crow(v->pred, v, n);
    for (uint32_t w = 0; w < v->words; w++)
        for (uint64_t left = pred[w]; left; left &= left - 1) {
            uint32_t h = w * 64 + (uint32_t)__builtin_ctzll(left);
            const hdi_vnode *x = &v->node[h];
            if (x->kind != HV_BARRIER || x->resource != HDI_NONE || !(x->dst_near & HV_STAGE(HV_HOST)) ||
                !hdi_verify_access_meets(x->dst_access, HV_HOST_READ))
                continue;
            hdi_bit_set(to, h);
            join(to, crow(v->pred, v, h), v->words);
        }
}

void hdi_verify_spread(hdi_verify *v, uint32_t n)
{
    const hdi_vnode *x = &v->node[n];
    const uint64_t *pred = crow(v->pred, v, n);
    bool host = v->p.queues[x->queue].kind == HD_QUEUE_HOST;
    for (uint64_t left = x->dst_far & v->rep; left; left &= left - 1) {
        uint64_t *to = row(v->reach, v, x->queue * v->slots + v->stage_slot[__builtin_ctzll(left)]);
        join(to, pred, v->words);
        hdi_bit_set(to, n);
    }
    if (x->kind == HV_BARRIER && x->resource != HDI_NONE)
        return;
    for (uint32_t k = 0; k < v->kinds; k++) {
        uint64_t scope = x->kind == HV_WAIT ? x->dst_far : x->dst_near;
        if (!(scope & v->kind_stage[k]) ||
            (x->kind == HV_BARRIER && !hdi_verify_access_meets(x->dst_access, v->kind_bit[k])))
            continue;
        if (host && !hdi_verify_write_bit(v->kind_bit[k])) {
            spread_host_reads(v, n, k);
            continue;
        }
        uint64_t *to = row(v->seen, v, x->queue * v->kinds + k);
        join(to, pred, v->words);
        hdi_bit_set(to, n);
    }
}

static uint32_t use_queue(const hdi_verify *v, uint32_t use)
{
    return v->pass_queue[v->use_pass[use]];
}

/* Host passes come one after another; one pass does with what it uses what it likes. */
static bool same_host(const hdi_verify *v, uint32_t x, uint32_t y)
{
    return use_queue(v, x) == use_queue(v, y) && v->p.queues[use_queue(v, x)].kind == HD_QUEUE_HOST &&
           v->use_pass[x] != v->use_pass[y];
}

bool hdi_verify_use_before_use(const hdi_verify *v, uint32_t x, uint32_t y)
{
    if (same_host(v, x, y))
        return true;
    uint32_t qx = use_queue(v, x), qy = use_queue(v, y);
    uint32_t begin = v->pass_next[v->use_pass[x]], end = v->queue_node[qx + 1];
    for (uint64_t sx = v->use_stage[v->d.use_access[x]]; sx; sx &= sx - 1)
        for (uint64_t sy = v->use_stage[v->d.use_access[y]]; sy; sy &= sy - 1)
            if (!hdi_verify_meet(crow(v->reach, v, qy * v->slots + v->stage_slot[__builtin_ctzll(sy)]),
                                 crow(v->leave, v, v->stage_slot[__builtin_ctzll(sx)]), begin, end))
                return false;
    return true;
}

bool hdi_verify_use_before_node(const hdi_verify *v, uint32_t x, uint32_t n)
{
    uint32_t qx = use_queue(v, x);
    uint32_t begin = v->pass_next[v->use_pass[x]], end = v->queue_node[qx + 1];
    for (uint64_t sx = v->use_stage[v->d.use_access[x]]; sx; sx &= sx - 1) {
        bool direct = v->node[n].queue == qx && n >= begin && (v->node[n].src_far & sx & -sx);
        if (!direct &&
            !hdi_verify_meet(crow(v->pred, v, n), crow(v->leave, v, v->stage_slot[__builtin_ctzll(sx)]), begin, end))
            return false;
    }
    return true;
}

bool hdi_verify_node_before_use(const hdi_verify *v, uint32_t n, uint32_t y)
{
    uint32_t qy = use_queue(v, y);
    for (uint64_t sy = v->use_stage[v->d.use_access[y]]; sy; sy &= sy - 1)
        if (!hdi_bit_get(crow(v->reach, v, qy * v->slots + v->stage_slot[__builtin_ctzll(sy)]), n))
            return false;
    return true;
}

bool hdi_verify_node_before_node(const hdi_verify *v, uint32_t a, uint32_t b)
{
    return v->node[a].queue == v->node[b].queue || hdi_bit_get(crow(v->pred, v, b), a);
}

/* Whether node a, a barrier on x's own resource, makes x's access of this kind available. */
static bool makes_available(const hdi_verify *v, uint32_t a, uint32_t x, uint32_t kind)
{
    const hdi_vnode *n = &v->node[a];
    return n->queue == use_queue(v, x) && a >= v->pass_next[v->use_pass[x]] && (n->src_near & v->kind_stage[kind]) &&
           hdi_verify_access_meets(n->src_access, v->kind_bit[kind]);
}

bool hdi_verify_available(const hdi_verify *v, uint32_t x, uint32_t x_node, uint32_t x_seg, uint32_t kx,
                          const uint64_t *set, uint32_t self)
{
    if (x == HDI_NONE)
        return x_node == self || hdi_bit_get(set, x_node);
    uint32_t end = v->queue_node[use_queue(v, x) + 1], begin = v->pass_next[v->use_pass[x]];
    const uint64_t *avail = crow(v->avail, v, kx);
    if (hdi_verify_meet(set, avail, begin, end))
        return true;
    if (self != HDI_NONE && self >= begin && self < end && hdi_bit_get(avail, self))
        return true;
    for (uint32_t i = v->seg_node_begin[x_seg]; i < v->seg_node_begin[x_seg + 1]; i++) {
        uint32_t a = v->seg_node[i];
        if ((a == self || hdi_bit_get(set, a)) && makes_available(v, a, x, kx))
            return true;
    }
    return false;
}

static bool visible(const hdi_verify *v, uint32_t x, uint32_t x_node, uint32_t x_seg, uint32_t kx, uint32_t y,
                    uint32_t y_seg, uint32_t ky)
{
    uint32_t qy = use_queue(v, y);
    bool host = v->p.queues[qy].kind == HD_QUEUE_HOST;
    if (hdi_verify_available(v, x, x_node, x_seg, kx, crow(v->seen, v, qy * v->kinds + ky), HDI_NONE))
        return true;
    uint32_t stage = (uint32_t)__builtin_ctzll(v->kind_stage[ky]);
    const uint64_t *reach = crow(v->reach, v, qy * v->slots + v->stage_slot[stage]);
    for (uint32_t i = v->seg_node_begin[y_seg + 1]; i-- > v->seg_node_begin[y_seg];) {
        uint32_t b = v->seg_node[i];
        const hdi_vnode *n = &v->node[b];
        if ((host || n->queue == qy) && hdi_bit_get(reach, b) && (n->dst_near & v->kind_stage[ky]) &&
            hdi_verify_access_meets(n->dst_access, v->kind_bit[ky]) &&
            hdi_verify_available(v, x, x_node, x_seg, kx, crow(v->pred, v, b), b))
            return true;
    }
    return false;
}

bool hdi_verify_memory_to_use(const hdi_verify *v, uint32_t x, uint32_t x_node, uint32_t x_seg, uint32_t y,
                              uint32_t y_seg)
{
    if (x != HDI_NONE && same_host(v, x, y))
        return true;
    uint32_t ay = v->d.use_access[y], ax = x == HDI_NONE ? 0 : v->d.use_access[x];
    for (uint32_t j = v->kind_begin[ay]; j < v->kind_begin[ay + 1]; j++) {
        if (x == HDI_NONE) {
            if (!visible(v, x, x_node, x_seg, 0, y, y_seg, v->access_kind[j]))
                return false;
            continue;
        }
        for (uint32_t i = v->kind_begin[ax]; i < v->kind_begin[ax + 1]; i++)
            if (hdi_verify_write_bit(v->kind_bit[v->access_kind[i]]) &&
                !visible(v, x, x_node, x_seg, v->access_kind[i], y, y_seg, v->access_kind[j]))
                return false;
    }
    return true;
}

bool hdi_verify_memory_to_node(const hdi_verify *v, uint32_t x, uint32_t x_seg, uint32_t n)
{
    uint32_t ax = v->d.use_access[x];
    for (uint32_t i = v->kind_begin[ax]; i < v->kind_begin[ax + 1]; i++) {
        uint32_t k = v->access_kind[i];
        bool own = false; /* the node itself, where it stands on this very segment */
        for (uint32_t j = v->seg_node_begin[x_seg]; j < v->seg_node_begin[x_seg + 1] && !own; j++)
            own = v->seg_node[j] == n;
        if (hdi_verify_write_bit(v->kind_bit[k]) &&
            !hdi_verify_available(v, x, HDI_NONE, x_seg, k, crow(v->pred, v, n), own ? n : HDI_NONE))
            return false;
    }
    return true;
}

bool hdi_verify_available_to(const hdi_verify *v, uint32_t x, uint32_t x_seg, uint32_t y)
{
    uint32_t ax = v->d.use_access[x], ay = v->d.use_access[y], qy = use_queue(v, y);
    for (uint32_t i = v->kind_begin[ax]; i < v->kind_begin[ax + 1]; i++)
        for (uint64_t sy = v->use_stage[ay]; sy; sy &= sy - 1)
            if (hdi_verify_write_bit(v->kind_bit[v->access_kind[i]]) &&
                !hdi_verify_available(v, x, HDI_NONE, x_seg, v->access_kind[i],
                                      crow(v->reach, v, qy * v->slots + v->stage_slot[__builtin_ctzll(sy)]), HDI_NONE))
                return false;
    return true;
}
