#include "stream_graph.h"

#include <stdlib.h>
#include <string.h>

/* The walk that finds content. Each segment holds the last writes of its texels, the newest first, with their boxes,
 * and the reads since. An access needs each write that it meets in a texel that no newer one covers; what takes too
 * long to find out is needed. A command of a transfer, or the beginning of a rendering that does not load, writes all
 * of its box; what shaders, draws and the host write may leave texels as they were, so they need what was there. A
 * transition of a layout or an owner keeps content and is needed by what comes behind it; one from UNDEFINED needs
 * nothing. What the capture saw (HD_STREAM_OBSERVED) is content alone: nothing orders it. That, and what may not happen
 * (HD_STREAM_BOUND), takes no bytes from what shares them, and the writes below it stay for the order of what comes.
 * Where segments share bytes, the one that is written takes them: the others lose their content, and their accesses
 * still come before. O(accesses * segments of their ranges * writes that stand there ^ 2); few stand at once.
 */

enum { MOST_STEPS = 1000, PRESENT_SRC = 1000001002, HOST_STAGE = 1 << 14, HOST_READ = 1 << 13, MEMORY_READ = 1 << 15 };

typedef struct gentry {
    hd_stream_box box;
    uint32_t end, next;
    bool lost;   /* its content is gone */
    bool behind; /* a transition stands behind it: what follows is ordered by that */
} gentry;

typedef struct gcell {
    uint32_t writes, reads; /* entries, HDI_NONE: none */
    uint32_t layout_end;    /* the last transition */
    bool no_layout;         /* an alias has taken the bytes since */
    bool tenant;            /* its bytes are its own: nothing that shares them was written since */
    uint64_t begin, end;    /* bytes that no other has taken since: behind the others lie their own accesses */
} gcell;

typedef struct content {
    hdi_gbuild *b;
    gcell *cell;
    gentry *entry;
    uint32_t entry_count, entry_room;
    uint8_t *begins; /* uses: of the command that begins its rendering */
    bool failed;
} content;

static const hd_stream_access *access_of(const content *w, uint32_t use)
{
    return &w->b->c.s->accesses[w->b->c.access_of[use]];
}

static bool is_use(const content *w, uint32_t end)
{
    return end < w->b->c.v.d.use_count;
}

static const hdi_access_info *info_of(const content *w, uint32_t use)
{
    return &w->b->c.v.d.access[w->b->c.v.d.use_access[use]];
}

static uint32_t node_of(const content *w, uint32_t end)
{
    return is_use(w, end) ? w->b->command_node[w->b->c.use_command[end]] : w->b->sync_node[end - w->b->c.v.d.use_count];
}

/* It takes no bytes from what shares them, and what comes behind it is in order with what came before, too. */
static bool is_loose(const content *w, uint32_t end)
{
    return is_use(w, end) && access_of(w, end)->flags & (HD_STREAM_OBSERVED | HD_STREAM_BOUND);
}

static bool is_observed(const content *w, uint32_t end)
{
    return is_use(w, end) && access_of(w, end)->flags & HD_STREAM_OBSERVED;
}

static void add_edge(content *w, uint32_t from, uint32_t to, uint32_t kind, uint32_t resource)
{
    w->failed |= !hdi_graph_edge(w->b, from, to, kind, resource);
}

static void add_entry(content *w, uint32_t *list, const gentry *entry)
{
    if (!hdi_arena_grow(&w->b->c.v.arena, &w->entry, &w->entry_room, w->entry_count, w->entry_count + 1,
                        sizeof(*w->entry))) {
        w->failed = true;
        return;
    }
    w->entry[w->entry_count] = *entry;
    w->entry[w->entry_count].next = *list;
    *list = w->entry_count++;
}

/* ---- writes that a box shows ---- */

/* What of box lies outside of part, in up to six slabs. */
static int cut_box(const hd_stream_box *box, const hd_stream_box *part, hd_stream_box *slabs)
{
    hd_stream_box left = *box;
    int count = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t begin = part->offset[i], end = begin + part->extent[i],
                 last = (uint64_t)left.offset[i] + left.extent[i];
        if (left.offset[i] < begin) {
            slabs[count] = left;
            slabs[count++].extent[i] = (uint32_t)(begin - left.offset[i]);
            left.offset[i] = (uint32_t)begin;
        }
        if (end < last) {
            slabs[count] = left;
            slabs[count].offset[i] = (uint32_t)end;
            slabs[count++].extent[i] = (uint32_t)(last - end);
            last = end;
        }
        left.extent[i] = (uint32_t)(last - left.offset[i]);
    }
    return count;
}

/* Whether the entries from e up to last leave any texel of the box as it is. */
static bool is_visible(const content *w, hd_stream_box box, uint32_t e, uint32_t last, uint32_t *steps)
{
    for (; e != last; e = w->entry[e].next) {
        const gentry *x = &w->entry[e];
        if (!hdi_box_meets(&x->box, &box))
            continue;
        if (hdi_box_holds(&x->box, &box))
            return false;
        if (++*steps > MOST_STEPS)
            return true;
        if (!box.extent[0]) /* of all texels, some lie elsewhere */
            continue;
        hd_stream_box slabs[6];
        int count = cut_box(&box, &x->box, slabs);
        for (int i = 0; i < count; i++) {
            if (is_visible(w, slabs[i], x->next, last, steps))
                return true;
        }
        return false;
    }
    return true;
}

/* What two boxes that meet have in common. */
static hd_stream_box common_box(const hd_stream_box *a, const hd_stream_box *b)
{
    hd_stream_box box = a->extent[0] ? *a : *b;
    for (int i = 0; i < 3 && a->extent[0] && b->extent[0]; i++) {
        uint64_t end_a = (uint64_t)a->offset[i] + a->extent[i], end_b = (uint64_t)b->offset[i] + b->extent[i];
        box.offset[i] = a->offset[i] > b->offset[i] ? a->offset[i] : b->offset[i];
        box.extent[i] = (uint32_t)((end_a < end_b ? end_a : end_b) - box.offset[i]);
    }
    return box;
}

static void need_layout(content *w, uint32_t end, uint32_t res, uint32_t s)
{
    if (w->cell[s].layout_end != HDI_NONE && !w->cell[s].no_layout)
        add_edge(w, node_of(w, w->cell[s].layout_end), node_of(w, end), HD_STREAM_EDGE_LAYOUT, res);
}

static void need_content(content *w, uint32_t end, uint32_t res, uint32_t s, const hd_stream_box *box)
{
    uint32_t steps = 0, first = w->cell[s].writes;
    for (uint32_t e = first; e != HDI_NONE; e = w->entry[e].next) {
        if (!w->entry[e].lost && hdi_box_meets(&w->entry[e].box, box) &&
            is_visible(w, common_box(&w->entry[e].box, box), first, e, &steps))
            add_edge(w, node_of(w, w->entry[e].end), node_of(w, end), HD_STREAM_EDGE_CONTENT, res);
    }
    need_layout(w, end, res, s);
}

/* ---- hazards ---- */

/* Parts of one command, pass or rendering. */
static bool is_one(const content *w, uint32_t x, uint32_t y)
{
    const hdi_cverify *c = &w->b->c;
    const hd_stream_access *a = access_of(w, x), *b = access_of(w, y);
    uint32_t cx = c->use_command[x], cy = c->use_command[y];
    return cx == cy || (a->scope && a->scope == b->scope && a->resource == b->resource) ||
           (c->s->commands[cx].group && c->s->commands[cx].group == c->s->commands[cy].group);
}

/* Ends that need no barrier between them: also calls of one thread, transitions on one queue, and what was seen. */
static bool together(const content *w, uint32_t x, uint32_t y)
{
    const hdi_verify *v = &w->b->c.v;
    uint32_t uses = v->d.use_count;
    if (is_observed(w, x) || is_observed(w, y))
        return true;
    if (!is_use(w, x) || !is_use(w, y))
        return !is_use(w, x) && !is_use(w, y) && v->node[x - uses].queue == v->node[y - uses].queue;
    uint32_t queue = v->pass_queue[w->b->c.use_command[x]];
    return is_one(w, x, y) ||
           (queue == v->pass_queue[w->b->c.use_command[y]] && w->b->c.s->queues[queue].kind == HD_QUEUE_HOST);
}

static void add_pair(content *w, uint32_t x, uint32_t xs, uint32_t y, uint32_t ys, bool memory)
{
    hdi_gbuild *b = w->b;
    if (together(w, x, y))
        return;
    if (!hdi_arena_grow(&b->c.v.arena, &b->pair, &b->pair_room, b->pair_count, b->pair_count + 1, sizeof(*b->pair))) {
        w->failed = true;
        return;
    }
    b->pair[b->pair_count++] = (hdi_gpair){x, y, b->class_of[xs], b->class_of[ys], memory, xs, 0};
}

/* y on segment ys behind what stands on segment s, its own or one that shares bytes with it. */
static void order_behind(content *w, uint32_t y, uint32_t ys, uint32_t s, bool writes)
{
    static const hd_stream_box all;
    const gcell *cell = &w->cell[s];
    const hd_stream_box *box = is_use(w, y) && s == ys ? &access_of(w, y)->box : &all;
    for (uint32_t e = cell->writes; e != HDI_NONE; e = w->entry[e].next) {
        if (!w->entry[e].behind && hdi_box_meets(&w->entry[e].box, box))
            add_pair(w, w->entry[e].end, s, y, ys, true);
    }
    if (cell->layout_end != HDI_NONE)
        add_pair(w, cell->layout_end, s, y, ys, true);
    for (uint32_t e = cell->reads; e != HDI_NONE && writes; e = w->entry[e].next) {
        if (hdi_box_meets(&w->entry[e].box, box))
            add_pair(w, w->entry[e].end, s, y, ys, false);
    }
}

static void bytes_of(const content *w, uint32_t res, uint32_t s, uint64_t *begin, uint64_t *end)
{
    const hdi_verify *v = &w->b->c.v;
    const hd_stream_resource *r = &w->b->c.s->resources[res];
    const uint64_t *cut = v->cut + v->cut_begin[res * 2] + (s - v->seg_begin[res]);
    *begin = r->aspects ? r->offset : r->offset + cut[0];
    *end = r->aspects ? r->offset + r->bytes : r->offset + cut[1];
}

static void lose_content(content *w, uint32_t s)
{
    for (uint32_t e = w->cell[s].writes; e != HDI_NONE; e = w->entry[e].next)
        w->entry[e].lost = true;
}

/* End y takes (or only reads) the bytes of segment s: what stands on others that share them comes before, and is lost
 * when they are taken. An access that takes a part leaves the segment without a tenant: an access to another part does
 * not come behind this one. */
static void each_alias(content *w, uint32_t y, uint32_t res, uint32_t s, bool lose, bool reads, bool takes)
{
    static const hd_stream_box all;
    const hdi_cverify *c = &w->b->c;
    uint64_t begin, end;
    bytes_of(w, res, s, &begin, &end);
    for (uint32_t i = c->alias_begin[res]; i < c->alias_begin[res + 1]; i++) {
        uint32_t other = c->alias[i];
        for (uint32_t t = c->v.seg_begin[other]; t < c->v.seg_begin[other + 1]; t++) {
            gcell *cell = &w->cell[t];
            if (cell->begin >= end || cell->end <= begin)
                continue;
            if (lose) {
                cell->begin = begin <= cell->begin ? (end < cell->end ? end : cell->end) : cell->begin;
                cell->end = end >= cell->end && begin > cell->begin ? begin : cell->end;
                if (cell->begin == cell->end)
                    cell->writes = cell->reads = cell->layout_end = HDI_NONE;
                w->cell[t].tenant = false;
                w->cell[t].no_layout = true;
                lose_content(w, t);
                continue;
            }
            w->b->first_group[hdi_graph_group(w->b, t)] = hdi_graph_group(w->b, s);
            if (reads)
                need_content(w, y, other, t, &all);
            order_behind(w, y, s, t, takes);
        }
    }
}

static void order_aliases(content *w, uint32_t y, uint32_t res, uint32_t s, bool reads, bool takes)
{
    if (!w->cell[s].tenant && (reads || takes))
        each_alias(w, y, res, s, false, reads, takes);
}

static void take(content *w, uint32_t y, uint32_t res, uint32_t s)
{
    if (w->cell[s].tenant)
        return;
    each_alias(w, y, res, s, true, false, true);
    bytes_of(w, res, s, &w->cell[s].begin, &w->cell[s].end);
    w->cell[s].tenant = !is_use(w, y) || !access_of(w, y)->box.extent[0];
}

/* The bytes of the segment are, or may be, written, in all resources that share them: none has them alone. */
static void share(content *w, uint32_t res, uint32_t s)
{
    const hdi_cverify *c = &w->b->c;
    gcell *own = &w->cell[s];
    bytes_of(w, res, s, &own->begin, &own->end);
    for (uint32_t i = c->alias_begin[res]; i < c->alias_begin[res + 1]; i++) {
        for (uint32_t t = c->v.seg_begin[c->alias[i]]; t < c->v.seg_begin[c->alias[i] + 1]; t++)
            w->cell[t].tenant &= w->cell[t].begin >= own->end || w->cell[t].end <= own->begin;
    }
}

static void touch(content *w, uint32_t end, uint32_t s)
{
    hdi_gbuild *b = w->b;
    uint32_t node = node_of(w, end);
    if (b->touch_count && b->touch[b->touch_count - 1].node == node && b->touch[b->touch_count - 1].group == s)
        return;
    if (!hdi_arena_grow(&b->c.v.arena, &b->touch, &b->touch_room, b->touch_count, b->touch_count + 1,
                        sizeof(*b->touch)))
        w->failed = true;
    else
        b->touch[b->touch_count++] = (hdi_gtouch){node, s};
}

/* Takes from the list what the use covers. */
static void drop_covered(content *w, uint32_t *list, uint32_t use)
{
    while (*list != HDI_NONE) {
        gentry *x = &w->entry[*list];
        if (hdi_box_holds(&access_of(w, use)->box, &x->box) && !is_one(w, x->end, use) &&
            (is_loose(w, x->end) || !is_loose(w, use)))
            *list = x->next;
        else
            list = &x->next;
    }
}

/* ---- commands ---- */

/* It needs nothing of what stood in its box. */
static bool overwrites(const content *w, uint32_t use)
{
    const uint64_t transfer = 0x1000 | UINT64_C(0xf00000000); /* VkPipelineStageFlagBits2 */
    const hd_stream_access *x = access_of(w, use);
    const hdi_access_info *info = info_of(w, use);
    if (info->reads || !info->writes || x->flags & HD_STREAM_LOST)
        return !info->reads;
    if (x->flags & HD_STREAM_OBSERVED) /* by its bytes; which texels these are is not known */
        return !w->b->c.s->resources[x->resource].aspects;
    if (x->flags & HD_STREAM_DECLARED)
        return false;
    return x->scope ? w->begins[use] : !(x->stages & ~transfer);
}

static bool takes_bytes(const content *w, uint32_t u)
{
    return !is_loose(w, u) &&
           (info_of(w, u)->writes || w->b->c.s->resources[access_of(w, u)->resource].flags & HD_STREAM_MAPPED);
}

/* The host or the display reads it. */
static bool is_out(const content *w, uint32_t command, uint32_t u)
{
    if (is_observed(w, u))
        return !info_of(w, u)->writes;
    return w->b->c.s->queues[w->b->c.v.pass_queue[command]].kind == HD_QUEUE_HOST && info_of(w, u)->reads;
}

static void use_before(content *w, uint32_t u, uint32_t s)
{
    const hd_stream_access *x = access_of(w, u);
    const hdi_access_info *info = info_of(w, u);
    order_behind(w, u, s, s, info->writes);
    bool needs = !overwrites(w, u);
    if (needs)
        need_content(w, u, x->resource, s, &x->box);
    else if (!is_observed(w, u))
        need_layout(w, u, x->resource, s);
    order_aliases(w, u, x->resource, s, needs, takes_bytes(w, u));
}

/* What keeps the later one of two reads before a write keeps the earlier one, too: where the queue, the stages and what
 * they need no order with are the same, the later one stands for both. */
static bool stands_for(const content *w, uint32_t u, const gentry *read)
{
    const hdi_cverify *c = &w->b->c;
    uint32_t cx = c->use_command[read->end], cy = c->use_command[u];
    const hd_stream_access *x = access_of(w, read->end), *y = access_of(w, u);
    return c->v.d.use_access[read->end] == c->v.d.use_access[u] && c->v.pass_queue[cx] == c->v.pass_queue[cy] &&
           c->s->commands[cx].group == c->s->commands[cy].group && x->scope == y->scope && x->flags == y->flags &&
           memcmp(&x->box, &y->box, sizeof(x->box)) == 0;
}

static void add_read(content *w, uint32_t u, uint32_t s)
{
    for (uint32_t e = w->cell[s].reads; e != HDI_NONE; e = w->entry[e].next) {
        if (stands_for(w, u, &w->entry[e])) {
            w->entry[e].end = u;
            return;
        }
    }
    add_entry(w, &w->cell[s].reads, &(gentry){.box = access_of(w, u)->box, .end = u});
}

static void use_after(content *w, uint32_t u, uint32_t s)
{
    const hd_stream_access *x = access_of(w, u);
    gcell *cell = &w->cell[s];
    if (!info_of(w, u)->writes) {
        if (!is_observed(w, u))
            add_read(w, u, s);
        return;
    }
    drop_covered(w, &cell->reads, u);
    drop_covered(w, &cell->writes, u);
    if (is_loose(w, u))
        share(w, x->resource, s);
    add_entry(w, &cell->writes, &(gentry){.box = x->box, .end = u});
}

/* All that a command reads comes before what it writes: it does not need itself. */
static void walk_command(content *w, uint32_t command)
{
    hdi_gbuild *b = w->b;
    const hdi_verify *v = &b->c.v;
    uint32_t first = v->d.pass_use_begin[command], last = v->d.pass_use_begin[command + 1];
    for (uint32_t u = first; u < last; u++) {
        HV_EACH_SEG(hdi_verify_use_rect(v, u), s)
        {
            if (!is_observed(w, u))
                touch(w, u, s);
            use_before(w, u, s);
        }
        if (is_out(w, command, u))
            b->root[b->command_node[command]] |= HDI_GROOT_OUT;
    }
    for (uint32_t u = first; u < last; u++) {
        if (takes_bytes(w, u))
            HV_EACH_SEG(hdi_verify_use_rect(v, u), s)
        take(w, u, access_of(w, u)->resource, s);
    }
    for (uint32_t u = first; u < last; u++)
        HV_EACH_SEG(hdi_verify_use_rect(v, u), s)
    use_after(w, u, s);
}

static void walk_transition(content *w, uint32_t n)
{
    static const hd_stream_box all;
    hdi_gbuild *b = w->b;
    const hdi_vnode *node = &b->c.v.node[n];
    const hd_plan_barrier *barrier = &b->c.v.p.barriers[node->barrier];
    bool image = b->c.s->resources[barrier->resource].aspects, forgets = image && !barrier->old_layout;
    bool presents = barrier->new_layout == PRESENT_SRC;
    uint32_t end = b->c.v.d.use_count + n;
    HV_EACH_SEG(hdi_verify_rect(&b->c.v, barrier->resource, &barrier->range), s)
    {
        gcell *cell = &w->cell[s];
        touch(w, end, s);
        order_behind(w, end, s, s, true);
        order_aliases(w, end, barrier->resource, s, !forgets, true);
        take(w, end, barrier->resource, s);
        if (!forgets || node->flags & HV_ACQUIRE)
            need_layout(w, end, barrier->resource, s);
        if (forgets)
            lose_content(w, s);
        if (presents)
            need_content(w, end, barrier->resource, s, &all);
        for (uint32_t e = cell->writes; e != HDI_NONE; e = w->entry[e].next)
            w->entry[e].behind = true;
        cell->reads = HDI_NONE;
        cell->layout_end = end;
        cell->no_layout = false;
    }
    if (presents)
        b->root[b->sync_node[n]] |= HDI_GROOT_OUT;
}

/* A barrier that changes nothing still names the layout of its image. */
static void walk_barrier(content *w, uint32_t n)
{
    hdi_gbuild *b = w->b;
    uint32_t res = b->c.v.node[n].resource;
    if (res == HDI_NONE || !b->c.s->resources[res].aspects)
        return;
    HV_EACH_SEG(hdi_verify_rect(&b->c.v, res, &b->c.v.p.barriers[b->c.v.node[n].barrier].range), s)
    need_layout(w, b->c.v.d.use_count + n, res, s);
}

/* ---- renderings ---- */

typedef struct scope_use {
    uint32_t scope, node, use;
} scope_use;

static int by_scope(const void *a, const void *b)
{
    const scope_use *x = a, *y = b;
    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* The beginning, the end and the commands between of a rendering belong together. */
static void pair_scope(content *w, const scope_use *use, uint32_t count)
{
    const hd_stream_node *nodes = w->b->node;
    uint32_t first = use[0].node, last = use[count - 1].node;
    for (uint32_t i = 0; i < count && use[i].node == first; i++)
        w->begins[use[i].use] = last != first;
    for (uint32_t n = first + 1; n <= last; n++) {
        if (nodes[n].kind == HD_STREAM_NODE_COMMAND && nodes[n].submit == nodes[first].submit)
            add_edge(w, first, n, HD_STREAM_EDGE_PAIR, HD_NONE);
    }
}

static hd_result find_scopes(content *w)
{
    const hdi_verify *v = &w->b->c.v;
    scope_use *list = HDI_ARENA_ARRAY(&w->b->c.v.arena, scope_use, v->d.use_count);
    uint32_t count = 0;
    if (!list)
        return HD_OUT_OF_MEMORY;
    for (uint32_t u = 0; u < v->d.use_count; u++) {
        const hd_stream_access *a = access_of(w, u);
        if (a->scope && !(a->flags & HD_STREAM_DECLARED) && node_of(w, u) != HDI_NONE) /* none: it waits for nothing */
            list[count++] = (scope_use){a->scope, node_of(w, u), u};
    }
    if (count)
        qsort(list, count, sizeof(*list), by_scope);
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && list[next].scope == list[i].scope; next++)
            continue;
        pair_scope(w, list + i, next - i);
    }
    return w->failed ? HD_OUT_OF_MEMORY : HD_OK;
}

/* ---- the walk ---- */

static hd_result start(content *w)
{
    hdi_gbuild *b = w->b;
    const hdi_verify *v = &b->c.v;
    hdi_arena *arena = &b->c.v.arena;
    w->cell = HDI_ARENA_ARRAY(arena, gcell, v->seg_count);
    w->begins = HDI_ARENA_ZEROED(arena, uint8_t, v->d.use_count);
    b->root = HDI_ARENA_ZEROED(arena, uint8_t, b->node_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t r = 0; r < v->d.res_count; r++) {
        for (uint32_t s = v->seg_begin[r]; s < v->seg_begin[r + 1]; s++) {
            w->cell[s] = (gcell){.writes = HDI_NONE,
                                 .reads = HDI_NONE,
                                 .layout_end = HDI_NONE,
                                 .tenant = b->c.alias_begin[r] == b->c.alias_begin[r + 1]};
            bytes_of(w, r, s, &w->cell[s].begin, &w->cell[s].end);
        }
    }
    return HD_OK;
}

static void mark_end(content *w)
{
    hdi_gbuild *b = w->b;
    for (uint32_t s = 0; s < b->c.v.seg_count; s++) {
        const gcell *cell = &w->cell[s];
        for (uint32_t e = cell->writes, steps = 0; e != HDI_NONE; e = w->entry[e].next) {
            if (!w->entry[e].lost && !(access_of(w, w->entry[e].end)->flags & HD_STREAM_LOST) &&
                is_visible(w, w->entry[e].box, cell->writes, e, &steps))
                b->root[node_of(w, w->entry[e].end)] |= HDI_GROOT_END;
        }
        if (cell->layout_end != HDI_NONE && !cell->no_layout)
            b->root[node_of(w, cell->layout_end)] |= HDI_GROOT_END;
    }
}

/* A barrier shows the host what stands in memory: nothing in the stream says when the host looks there. */
static void mark_host(content *w, uint32_t n)
{
    hdi_gbuild *b = w->b;
    uint32_t node = b->sync_node[n];
    if (node == HDI_NONE || b->node[node].kind != HD_STREAM_NODE_BARRIER)
        return;
    const hd_stream_barrier *barrier = &b->c.s->barriers[b->node[node].element];
    if (barrier->dst_stages & HOST_STAGE && barrier->dst_access & (HOST_READ | MEMORY_READ))
        b->root[node] |= HDI_GROOT_OUT;
}

hd_result hdi_graph_content(hdi_gbuild *b)
{
    content w = {.b = b};
    hd_result result = start(&w);
    if (result == HD_OK)
        result = find_scopes(&w);
    for (uint32_t i = 0; i < b->step_count && result == HD_OK && !w.failed; i++) {
        const hdi_gstep *step = &b->step[i];
        if (step->kind == HDI_GSTEP_COMMAND)
            walk_command(&w, step->index);
        else if (step->kind == HDI_GSTEP_SPREAD && b->c.v.node[step->index].flags)
            walk_transition(&w, step->index);
        else if (step->kind == HDI_GSTEP_SPREAD)
            walk_barrier(&w, step->index);
        if (step->kind == HDI_GSTEP_SPREAD)
            mark_host(&w, step->index);
    }
    if (result == HD_OK)
        mark_end(&w);
    return w.failed || b->c.v.arena.failed ? HD_OUT_OF_MEMORY : result;
}
