#include "verify.h"

#include <string.h>

#include "bitset.h"

/* The relation "finished before". Sync nodes are numbered by queue, in submission order, so "later on the queue of x"
 * is an interval. What a node comes after is a row of numbers, as a vector clock: for each queue and stage the last
 * node before it whose first scope holds the stage, and for each queue and kind of write the last one that makes such
 * writes available. reach[q][stage] is the row of what an access of that stage, here on q, comes after; seen[q][stage,
 * access] that of what it sees. A use x is before y when y's row names, for x's stage and queue, a node behind x: the
 * last one answers for all, because each of them would do. Stages that no mask of the plan tells apart share a column.
 * Whether a node a itself is in such a set follows from the row, too: it is there directly, by a's own second scope, or
 * through a later node of its queue that shares a stage with that scope, and of those the row names the last.
 * O(queues * (stages + kinds)) memory a node, as many steps for each stage of its masks. */

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

/* ---- rows ---- */

static void join(const hdi_verify *v, uint32_t *to, const uint32_t *from)
{
    for (uint32_t i = 0; i < v->row_words; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

static bool makes_kind_available(const hdi_verify *v, uint32_t n, uint32_t k)
{
    const hdi_vnode *x = &v->node[n];
    if (x->kind == HV_SIGNAL)
        return x->src_far & v->kind_stage[k];
    return x->kind == HV_BARRIER && x->resource == HDI_NONE && (x->src_near & v->kind_stage[k]) &&
           hdi_verify_access_meets(x->src_access, v->kind_bit[k]);
}

/* Into a row: node n. Entries are numbers of nodes plus one. */
static void add_node(const hdi_verify *v, uint32_t *row, uint32_t n)
{
    const hdi_vnode *x = &v->node[n];
    uint32_t *of = row + x->queue * v->columns;
    for (uint64_t left = x->src_far & v->rep; left; left &= left - 1) {
        uint32_t slot = v->stage_slot[__builtin_ctzll(left)];
        of[slot] = of[slot] > n ? of[slot] : n + 1;
    }
    for (uint32_t k = 0; k < v->kinds; k++) {
        uint32_t column = v->kind_column[k];
        if (column != HDI_NONE && of[column] <= n && makes_kind_available(v, n, k))
            of[column] = n + 1;
    }
}

static uint32_t *pred_row(const hdi_verify *v, uint32_t n)
{
    return v->pred + (size_t)n * v->row_words;
}
static uint32_t *reach_row(const hdi_verify *v, uint32_t queue, uint32_t stage)
{
    return v->reach + ((size_t)queue * v->slots + v->stage_slot[stage]) * v->row_words;
}
static uint32_t *seen_row(const hdi_verify *v, uint32_t queue, uint32_t kind)
{
    return v->seen + ((size_t)queue * v->kinds + kind) * v->row_words;
}

hdi_vset hdi_verify_before_node(const hdi_verify *v, uint32_t n)
{
    return (hdi_vset){.row = pred_row(v, n), .node = n, .stage = HDI_NONE, .kind = HDI_NONE};
}
hdi_vset hdi_verify_before_stage(const hdi_verify *v, uint32_t queue, uint64_t stage)
{
    uint32_t s = (uint32_t)__builtin_ctzll(stage);
    return (hdi_vset){.row = reach_row(v, queue, s), .queue = queue, .node = HDI_NONE, .stage = s, .kind = HDI_NONE};
}
hdi_vset hdi_verify_seen_by_kind(const hdi_verify *v, uint32_t queue, uint32_t kind)
{
    return (hdi_vset){
        .row = seen_row(v, queue, kind), .queue = queue, .node = HDI_NONE, .stage = HDI_NONE, .kind = kind};
}

/* Node n makes what is before it visible to the kind, by itself. */
static bool shows_kind(const hdi_verify *v, uint32_t n, uint32_t k)
{
    const hdi_vnode *x = &v->node[n];
    if (x->kind == HV_WAIT)
        return x->dst_far & v->kind_stage[k];
    return x->kind == HV_BARRIER && x->resource == HDI_NONE && (x->dst_near & v->kind_stage[k]) &&
           hdi_verify_access_meets(x->dst_access, v->kind_bit[k]);
}

/* In the set by itself, and not through a node behind it. */
static bool is_in_directly(const hdi_verify *v, const hdi_vset *set, uint32_t a)
{
    const hdi_vnode *x = &v->node[a];
    if (set->node != HDI_NONE)
        return x->queue == v->node[set->node].queue && set->node >= x->spread_end &&
               set->node < v->queue_at[x->queue] && (x->dst_far & v->node[set->node].src_far & v->rep);
    if (!x->spread)
        return false;
    if (set->stage != HDI_NONE)
        return x->queue == set->queue && (x->dst_far >> set->stage & 1);
    if (v->p.queues[set->queue].kind == HD_QUEUE_HOST && !hdi_verify_write_bit(v->kind_bit[set->kind]))
        return hdi_bit_get(v->host_shown[set->queue], a);
    return x->queue == set->queue && shows_kind(v, a, set->kind);
}

bool hdi_verify_is_in(const hdi_verify *v, const hdi_vset *set, uint32_t a)
{
    const hdi_vnode *x = &v->node[a];
    if (x->kind == HV_SIGNAL) { /* by its waits alone */
        for (uint32_t w = v->signal_wait[x->submit]; w != HDI_NONE; w = v->next_wait[w])
            if (v->wait_node[w] != HDI_NONE &&
                (v->wait_node[w] == set->node || hdi_verify_is_in(v, set, v->wait_node[w])))
                return true;
        return false;
    }
    if (is_in_directly(v, set, a))
        return true;
    const uint32_t *of = set->row + x->queue * v->columns;
    for (uint64_t left = x->dst_far & v->rep; left; left &= left - 1)
        if (of[v->stage_slot[__builtin_ctzll(left)]] > x->spread_end)
            return true;
    return false;
}

bool hdi_verify_leaves(const hdi_verify *v, const hdi_vset *set, uint32_t queue, uint64_t stage, uint32_t begin)
{
    return set->row[queue * v->columns + v->stage_slot[__builtin_ctzll(stage)]] > begin;
}

/* The walk has come to node n. */
static void arrive(hdi_verify *v, uint32_t n)
{
    uint32_t *at = &v->queue_at[v->node[n].queue];
    *at = *at > n ? *at : n + 1;
}

void hdi_verify_gather(hdi_verify *v, uint32_t n)
{
    const hdi_vnode *x = &v->node[n];
    arrive(v, n);
    for (uint64_t left = x->src_far & v->rep; left; left &= left - 1)
        join(v, pred_row(v, n), reach_row(v, x->queue, (uint32_t)__builtin_ctzll(left)));
}

void hdi_verify_follow(hdi_verify *v, uint32_t wait, uint32_t signal)
{
    arrive(v, wait);
    join(v, pred_row(v, wait), pred_row(v, signal));
    add_node(v, pred_row(v, wait), signal);
}

/* The host sees what the barriers to HOST that came before the wait made visible, and nothing else. */
static void show_host(hdi_verify *v, uint32_t n)
{
    uint32_t host = v->node[n].queue;
    hdi_vset before = hdi_verify_before_node(v, n);
    for (uint32_t q = 0; q < v->p.queue_count; q++) {
        uint32_t end = 0, *at = &v->host_at[host * v->p.queue_count + q]; /* all before it are shown */
        for (uint32_t slot = 0; slot < v->slots; slot++)
            end = before.row[q * v->columns + slot] > end ? before.row[q * v->columns + slot] : end;
        for (uint32_t i = *at; i < v->to_host_begin[q + 1] && v->to_host[i] < end; i++) {
            uint32_t h = v->to_host[i];
            bool shown = hdi_bit_get(v->host_shown[host], h);
            if (!shown && hdi_verify_is_in(v, &before, h)) {
                hdi_bit_set(v->host_shown[host], h);
                join(v, v->host_row[host], pred_row(v, h));
                add_node(v, v->host_row[host], h);
                shown = true;
            }
            *at += shown && *at == i;
        }
    }
}

void hdi_verify_spread(hdi_verify *v, uint32_t n)
{
    hdi_vnode *x = &v->node[n];
    bool host = v->p.queues[x->queue].kind == HD_QUEUE_HOST;
    uint32_t *with = v->row; /* what is before n, and n */
    memcpy(with, pred_row(v, n), v->row_words * sizeof(*with));
    add_node(v, with, n);
    x->spread = true;
    for (uint64_t left = x->dst_far & v->rep; left; left &= left - 1)
        join(v, reach_row(v, x->queue, (uint32_t)__builtin_ctzll(left)), with);
    if (host && x->kind == HV_WAIT)
        show_host(v, n);
    for (uint32_t k = 0; k < v->kinds; k++)
        if (shows_kind(v, n, k))
            join(v, seen_row(v, x->queue, k),
                 host && !hdi_verify_write_bit(v->kind_bit[k]) ? v->host_row[x->queue] : with);
}

/* ---- what is before what ---- */

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
    uint32_t qx = use_queue(v, x), qy = use_queue(v, y), begin = v->pass_next[v->use_pass[x]];
    for (uint64_t sy = v->use_stage[v->d.use_access[y]]; sy; sy &= sy - 1) {
        hdi_vset before = hdi_verify_before_stage(v, qy, sy);
        for (uint64_t sx = v->use_stage[v->d.use_access[x]]; sx; sx &= sx - 1)
            if (!hdi_verify_leaves(v, &before, qx, sx, begin))
                return false;
    }
    return true;
}

bool hdi_verify_use_before_node(const hdi_verify *v, uint32_t x, uint32_t n)
{
    uint32_t qx = use_queue(v, x), begin = v->pass_next[v->use_pass[x]];
    hdi_vset before = hdi_verify_before_node(v, n);
    for (uint64_t sx = v->use_stage[v->d.use_access[x]]; sx; sx &= sx - 1) {
        bool direct = v->node[n].queue == qx && n >= begin && (v->node[n].src_far & sx & -sx);
        if (!direct && !hdi_verify_leaves(v, &before, qx, sx, begin))
            return false;
    }
    return true;
}

bool hdi_verify_node_before_use(const hdi_verify *v, uint32_t n, uint32_t y)
{
    for (uint64_t sy = v->use_stage[v->d.use_access[y]]; sy; sy &= sy - 1) {
        hdi_vset before = hdi_verify_before_stage(v, use_queue(v, y), sy);
        if (!hdi_verify_is_in(v, &before, n))
            return false;
    }
    return true;
}

bool hdi_verify_node_before_node(const hdi_verify *v, uint32_t a, uint32_t b)
{
    hdi_vset before = hdi_verify_before_node(v, b);
    return v->node[a].queue == v->node[b].queue || hdi_verify_is_in(v, &before, a);
}

/* ---- memory ---- */

/* The first of the nodes on a segment that is not below n: they ascend. */
static uint32_t first_on_segment(const hdi_verify *v, uint32_t seg, uint32_t n)
{
    uint32_t low = v->seg_node_begin[seg], high = v->seg_node_begin[seg + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (v->seg_node[middle] < n)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool hdi_verify_on_segment(const hdi_verify *v, uint32_t n, uint32_t seg)
{
    uint32_t i = first_on_segment(v, seg, n);
    return i < v->seg_node_begin[seg + 1] && v->seg_node[i] == n;
}

/* Whether node a, a barrier on x's own resource and behind x, makes x's access of this kind available. */
static bool makes_available(const hdi_verify *v, uint32_t a, uint32_t kind)
{
    const hdi_vnode *n = &v->node[a];
    return (n->src_near & v->kind_stage[kind]) && hdi_verify_access_meets(n->src_access, v->kind_bit[kind]);
}

bool hdi_verify_available(const hdi_verify *v, uint32_t x, uint32_t x_node, uint32_t x_seg, uint32_t kx,
                          const hdi_vset *set, uint32_t self)
{
    if (x == HDI_NONE)
        return x_node == self || hdi_verify_is_in(v, set, x_node);
    uint32_t q = use_queue(v, x), begin = v->pass_next[v->use_pass[x]];
    if (set->row[q * v->columns + v->kind_column[kx]] > begin)
        return true;
    if (self != HDI_NONE && self >= begin && v->node[self].queue == q && makes_kind_available(v, self, kx))
        return true;
    for (uint32_t i = first_on_segment(v, x_seg, begin); i < v->seg_node_begin[x_seg + 1]; i++) {
        uint32_t a = v->seg_node[i];
        if (a >= v->queue_at[q]) /* the walk has not come there, or it is on another queue */
            break;
        if (makes_available(v, a, kx) && (a == self || hdi_verify_is_in(v, set, a)))
            return true;
    }
    return false;
}

static bool visible(const hdi_verify *v, uint32_t x, uint32_t x_node, uint32_t x_seg, uint32_t kx, uint32_t y,
                    uint32_t y_seg, uint32_t ky)
{
    uint32_t qy = use_queue(v, y), begin = v->seg_node_begin[y_seg], end = v->seg_node_begin[y_seg + 1];
    hdi_vset set = hdi_verify_seen_by_kind(v, qy, ky);
    if (hdi_verify_available(v, x, x_node, x_seg, kx, &set, HDI_NONE))
        return true;
    if (v->p.queues[qy].kind != HD_QUEUE_HOST) { /* to the host, barriers of any queue lead */
        begin = first_on_segment(v, y_seg, v->queue_node[qy]);
        end = first_on_segment(v, y_seg, v->queue_at[qy]);
    }
    hdi_vset reach = hdi_verify_before_stage(v, qy, v->kind_stage[ky]);
    for (uint32_t i = end; i-- > begin;) {
        uint32_t b = v->seg_node[i];
        const hdi_vnode *n = &v->node[b];
        hdi_vset before = hdi_verify_before_node(v, b);
        if ((n->dst_near & v->kind_stage[ky]) && hdi_verify_access_meets(n->dst_access, v->kind_bit[ky]) &&
            hdi_verify_is_in(v, &reach, b) && hdi_verify_available(v, x, x_node, x_seg, kx, &before, b))
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
    hdi_vset before = hdi_verify_before_node(v, n);
    bool own = hdi_verify_on_segment(v, n, x_seg);
    for (uint32_t i = v->kind_begin[ax]; i < v->kind_begin[ax + 1]; i++) {
        uint32_t k = v->access_kind[i];
        if (hdi_verify_write_bit(v->kind_bit[k]) &&
            !hdi_verify_available(v, x, HDI_NONE, x_seg, k, &before, own ? n : HDI_NONE))
            return false;
    }
    return true;
}

bool hdi_verify_available_to(const hdi_verify *v, uint32_t x, uint32_t x_seg, uint32_t y)
{
    uint32_t ax = v->d.use_access[x];
    for (uint64_t sy = v->use_stage[v->d.use_access[y]]; sy; sy &= sy - 1) {
        hdi_vset before = hdi_verify_before_stage(v, use_queue(v, y), sy);
        for (uint32_t i = v->kind_begin[ax]; i < v->kind_begin[ax + 1]; i++)
            if (hdi_verify_write_bit(v->kind_bit[v->access_kind[i]]) &&
                !hdi_verify_available(v, x, HDI_NONE, x_seg, v->access_kind[i], &before, HDI_NONE))
                return false;
    }
    return true;
}
