#include "verify.h"
#include "vk_words.h"

#include "vk_numbers.h"

/* The walk: submits in the order of the list (a topological order), one state a segment. Only the last write of a
 * segment and the reads since matter, as each access is checked against those before it is noted. A segment whose
 * memory an alias has written since is no tenant: its next access must write, and is checked against all overlapping
 * ones. */

static const char *race_kind(bool x_writes, bool y_reads)
{
    return !x_writes ? "write-after-read" : y_reads ? "read-after-write" : "write-after-write";
}

static void race_of_uses(hdi_verify *v, const hdi_vpair *c, bool y_reads)
{
    uint32_t x = c->x, y = c->y;
    uint32_t px = v->use_pass[x], py = v->use_pass[y], rx = v->d.use_res[x], ry = v->d.use_res[y];
    bool ordered = hdi_verify_use_before_use(v, x, y);
    uint32_t rule = !ordered                                  ? HD_RULE_EXECUTION
                    : hdi_verify_available_to(v, x, c->xs, y) ? HD_RULE_VISIBILITY
                                                              : HD_RULE_AVAILABILITY;
    hdi_verify_about(v, hdi_verify_use_place(v, x), hdi_verify_use_place(v, y), ry, rx);
    hdi_verify_mend_pair(v, c);
    hdi_verify_fail(
        v, rule,
        "%s race on resource %u '%s'%s: pass %u '%s' (queue %u, submit %u) %s, pass %u '%s' (queue %u, "
        "submit %u) %s: %s",
        race_kind(c->memory, y_reads), ry, hdi_verify_res_name(v, ry), rx == ry ? "" : " through its alias", px,
        hdi_verify_pass_name(v, px), v->pass_queue[px], v->pass_submit[px], c->memory ? "writes" : "reads", py,
        hdi_verify_pass_name(v, py), v->pass_queue[py], v->pass_submit[py], y_reads ? "reads" : "writes",
        rule == HD_RULE_EXECUTION ? "no execution chain" : "the write is not made available and visible to it");
}

static void race_with_node(hdi_verify *v, uint32_t res, const hdi_vpair *c)
{
    uint32_t x = c->x, n = c->yn, p = v->use_pass[x];
    uint32_t rule = hdi_verify_use_before_node(v, x, n) ? HD_RULE_AVAILABILITY : HD_RULE_EXECUTION;
    hdi_verify_about(v, hdi_verify_use_place(v, x), hdi_verify_node_place(v, n), res, v->d.use_res[x]);
    hdi_verify_mend_pair(v, c);
    hdi_verify_fail(v, rule,
                    "%s race on resource %u '%s': pass %u '%s' (queue %u, submit %u) %s, barrier %u (queue %u, submit "
                    "%u) changes layout or owner: %s",
                    race_kind(c->memory, false), res, hdi_verify_res_name(v, res), p, hdi_verify_pass_name(v, p),
                    v->pass_queue[p], v->pass_submit[p], c->memory ? "writes" : "reads", v->node[n].barrier,
                    v->node[n].queue, v->node[n].submit,
                    rule == HD_RULE_AVAILABILITY ? "the write is not made available" : "no execution chain");
}

static void race_of_node(hdi_verify *v, const hdi_vpair *c, bool reads)
{
    uint32_t y = c->y, n = c->xn, p = v->use_pass[y], res = v->d.use_res[y];
    uint32_t rule = hdi_verify_node_before_use(v, n, y) ? HD_RULE_VISIBILITY : HD_RULE_EXECUTION;
    hdi_verify_about(v, hdi_verify_node_place(v, n), hdi_verify_use_place(v, y), res, v->node[n].resource);
    hdi_verify_mend_pair(v, c);
    hdi_verify_fail(v, rule,
                    "%s race on resource %u '%s': barrier %u (queue %u, submit %u) changes layout or owner, "
                    "pass %u '%s' (queue %u, submit %u) does not wait for it",
                    race_kind(true, reads), res, hdi_verify_res_name(v, res), v->node[n].barrier, v->node[n].queue,
                    v->node[n].submit, p, hdi_verify_pass_name(v, p), v->pass_queue[p], v->pass_submit[p]);
}

static void race_of_nodes(hdi_verify *v, uint32_t res, const hdi_vpair *c)
{
    uint32_t m = c->xn, n = c->yn;
    hdi_verify_about(v, hdi_verify_node_place(v, m), hdi_verify_node_place(v, n), res, v->node[m].resource);
    if (v->node[m].command == v->node[n].command) {
        if (v->node[m].resource != res)
            hdi_verify_mend_place(v, v->plan_res[res], v->p.resources[v->plan_res[res]].bytes, 65536);
        hdi_verify_fail(v, HD_RULE_EXECUTION, "layout: two barriers of one command (%u and %u) change resource %u '%s'",
                        v->node[m].barrier, v->node[n].barrier, res, hdi_verify_res_name(v, res));
        return;
    }
    hdi_verify_mend_pair(v, c);
    hdi_verify_fail(v, HD_RULE_EXECUTION,
                    "write-after-write race on resource %u '%s': barriers %u and %u (submits %u and %u): no "
                    "execution chain",
                    res, hdi_verify_res_name(v, res), v->node[m].barrier, v->node[n].barrier, v->node[m].submit,
                    v->node[n].submit);
}

/* Attachments of one rendering scope: rasterization order, with no barrier. */
static bool in_scope_order(const hdi_verify *v, uint32_t x, uint32_t y)
{
    return v->use_scope[x] != HDI_NONE && v->use_scope[x] == v->use_scope[y] && v->d.use_res[x] == v->d.use_res[y];
}

/* Use y on segment ys against what stands on segment s (the same, or an alias's). */
static void check_use(hdi_verify *v, uint32_t y, uint32_t ys, uint32_t s)
{
    const hdi_vseg *seg = &v->seg[s];
    const hdi_access_info *info = &v->d.access[v->d.use_access[y]];
    hdi_vpair c = {seg->write_use, seg->write_node, s, y, HDI_NONE, ys, true};
    if (seg->write_use != HDI_NONE) {
        c.xn = HDI_NONE;
        if (!in_scope_order(v, c.x, y) &&
            (!hdi_verify_use_before_use(v, c.x, y) || !hdi_verify_memory_to_use(v, c.x, HDI_NONE, s, y, ys)))
            race_of_uses(v, &c, info->reads);
    } else if (seg->write_node != HDI_NONE) {
        if (!hdi_verify_node_before_use(v, c.xn, y) || !hdi_verify_memory_to_use(v, HDI_NONE, c.xn, s, y, ys))
            race_of_node(v, &c, info->reads);
    }
    for (uint32_t r = seg->reads; info->writes && r != HDI_NONE && !v->stop; r = v->read[r].next) {
        c = (hdi_vpair){v->read[r].use, HDI_NONE, s, y, HDI_NONE, ys, false};
        if (!in_scope_order(v, c.x, y) && !hdi_verify_use_before_use(v, c.x, y))
            race_of_uses(v, &c, false);
    }
}

/* Node n on segment ns, likewise. */
static void check_node(hdi_verify *v, uint32_t n, uint32_t res, uint32_t ns, uint32_t s)
{
    const hdi_vseg *seg = &v->seg[s];
    hdi_vpair c = {seg->write_use, seg->write_node, s, HDI_NONE, n, ns, true};
    if (seg->write_use != HDI_NONE) {
        c.xn = HDI_NONE;
        if (!hdi_verify_use_before_node(v, c.x, n) || !hdi_verify_memory_to_node(v, c.x, s, n))
            race_with_node(v, res, &c);
    } else if (seg->write_node != HDI_NONE) {
        if (v->node[c.xn].command == v->node[n].command || !hdi_verify_node_before_node(v, c.xn, n))
            race_of_nodes(v, res, &c);
    }
    for (uint32_t r = seg->reads; r != HDI_NONE && !v->stop; r = v->read[r].next) {
        c = (hdi_vpair){v->read[r].use, HDI_NONE, s, HDI_NONE, n, ns, false};
        if (!hdi_verify_use_before_node(v, c.x, n))
            race_with_node(v, res, &c);
    }
}

void hdi_verify_bytes(const hdi_verify *v, uint32_t res, uint32_t s, uint64_t *begin, uint64_t *end)
{
    const hd_plan_resource *r = &v->p.resources[v->plan_res[res]];
    *begin = r->offset;
    *end = r->offset + r->bytes;
    if (v->d.res_flags[res] & HDI_RES_BUFFER) {
        const uint64_t *cut = v->cut + v->cut_begin[res * 2] + (s - v->seg_begin[res]);
        *begin = r->offset + cut[0];
        *end = r->offset + cut[1];
    }
}

/* A write by use y or node n takes the memory of segment s, behind all that its rivals did with theirs. */
static void take_memory(hdi_verify *v, uint32_t y, uint32_t n, uint32_t res, uint32_t s)
{
    uint32_t unit = hdi_verify_unit(v, res, s);
    if (v->seg[s].tenant || unit == HDI_NONE)
        return;
    v->seg[s].tenant = true;
    for (uint32_t r = hdi_verify_take(v, unit); r != HDI_NONE; r = v->read[r].next) {
        const hdi_vunit *rival = &v->unit[v->read[r].use];
        for (uint32_t t = rival->seg_begin; t < rival->seg_end && !v->stop; t++) {
            if (y != HDI_NONE)
                check_use(v, y, s, t);
            else
                check_node(v, n, res, s, t);
        }
    }
}

static bool is_concurrent(const hdi_verify *v, uint32_t res)
{
    return v->p.resources[v->plan_res[res]].flags & HD_PLAN_CONCURRENT;
}

/* What was done last with a segment. */
static hd_verify_place last_place(const hdi_verify *v, uint32_t s)
{
    const hdi_vseg *seg = &v->seg[s];
    if (seg->reads != HDI_NONE)
        return hdi_verify_use_place(v, v->read[seg->reads].use);
    if (seg->write_use != HDI_NONE)
        return hdi_verify_use_place(v, seg->write_use);
    return seg->write_node != HDI_NONE ? hdi_verify_node_place(v, seg->write_node) : v->found.first;
}

static void check_layout_and_owner(hdi_verify *v, uint32_t u, uint32_t s)
{
    uint32_t res = v->d.use_res[u], p = v->use_pass[u], q = v->pass_queue[p], family = v->p.queues[q].family;
    const hdi_access_info *info = &v->d.access[v->d.use_access[u]];
    hdi_vseg *seg = &v->seg[s];
    bool image = !(v->d.res_flags[res] & HDI_RES_BUFFER);
    /* several reads of one pass agree on one layout: depth that is also sampled is read-only depth */
    if (image && seg->layout != info->layout) {
        bool agreed = false;
        for (uint32_t o = v->d.pass_use_begin[p]; o < v->d.pass_use_begin[p + 1] && info->reads && !info->writes; o++)
            agreed |=
                o != u && v->d.use_res[o] == res && v->d.access[v->d.use_access[o]].layout == 4 && seg->layout == 4;
        if (!agreed) {
            hdi_verify_about(v, last_place(v, s), hdi_verify_use_place(v, u), res, res);
            hdi_verify_mend_layout(v, u, s, info->layout);
            hdi_verify_fail(
                v, HD_RULE_LAYOUT,
                "layout: pass %u '%s' (queue %u, submit %u) uses resource %u '%s' in layout %s, but it is in %s", p,
                hdi_verify_pass_name(v, p), q, v->pass_submit[p], res, hdi_verify_res_name(v, res),
                HDI_LAYOUT_TEXT(info->layout), HDI_LAYOUT_TEXT(seg->layout));
        }
    }
    if (seg->released != HDI_NONE) {
        hdi_verify_about(v, hdi_verify_node_place(v, seg->released), hdi_verify_use_place(v, u), res, res);
        hdi_verify_mend_owner(v, u, HDI_NONE, s);
        hdi_verify_fail(
            v, HD_RULE_OWNERSHIP,
            "ownership: pass %u '%s' uses resource %u '%s' between its release (barrier %u) and its acquire", p,
            hdi_verify_pass_name(v, p), res, hdi_verify_res_name(v, res), v->node[seg->released].barrier);
    }
    if (is_concurrent(v, res) || v->p.queues[q].kind == HD_QUEUE_HOST || seg->owner == family)
        return;
    if (seg->owner == HDI_NONE || (!image && info->writes && !info->reads))
        seg->owner = family;
    else {
        hdi_verify_about(v, last_place(v, s), hdi_verify_use_place(v, u), res, res);
        hdi_verify_mend_owner(v, u, HDI_NONE, s);
        hdi_verify_fail(v, HD_RULE_OWNERSHIP,
                        "ownership: pass %u '%s' (queue %u of family %u) uses resource %u '%s', which family %u owns",
                        p, hdi_verify_pass_name(v, p), q, family, res, hdi_verify_res_name(v, res), seg->owner);
    }
}

static hd_result walk_use(hdi_verify *v, uint32_t u)
{
    uint32_t res = v->d.use_res[u], p = v->use_pass[u], i = v->expect_begin[u];
    const hdi_access_info *info = &v->d.access[v->d.use_access[u]];
    hdi_vrect rect = hdi_verify_rect(v, res, v->d.use_range[u] == HDI_NONE ? NULL : &v->d.range[v->d.use_range[u]]);
    HV_EACH_SEG(rect, s)
    {
        hdi_vseg *seg = &v->seg[s];
        uint32_t expect = v->expect[i++];
        if (v->stop)
            return HD_OK;
        check_layout_and_owner(v, u, s);
        if (info->reads && expect != HDI_NONE && seg->holder != expect) {
            hdi_verify_about(v, last_place(v, s), hdi_verify_use_place(v, u), res, res);
            if (seg->holder == HDI_NONE)
                hdi_verify_mend_content(v, res, s);
            if (seg->holder == HDI_NONE)
                hdi_verify_fail(
                    v, HD_RULE_CONTENT,
                    "content: pass %u '%s' (queue %u, submit %u) reads undefined content of resource %u '%s'", p,
                    hdi_verify_pass_name(v, p), v->pass_queue[p], v->pass_submit[p], res, hdi_verify_res_name(v, res));
            else
                hdi_verify_fail(v, HD_RULE_CONTENT,
                                "content: pass %u '%s' (queue %u, submit %u) reads resource %u '%s' as %s %d left it; "
                                "the declaration wants %s %d",
                                p, hdi_verify_pass_name(v, p), v->pass_queue[p], v->pass_submit[p], res,
                                hdi_verify_res_name(v, res), seg->holder == HV_INITIAL ? "frame start" : "pass",
                                seg->holder == HV_INITIAL ? 0 : (int)seg->holder,
                                expect == HV_INITIAL ? "frame start" : "pass", expect == HV_INITIAL ? 0 : (int)expect);
        }
        check_use(v, u, s, s);
        if (info->writes) {
            take_memory(v, u, HDI_NONE, res, s);
            seg->write_use = u;
            seg->write_node = seg->reads = HDI_NONE;
            seg->holder = v->use_lost[u] ? HDI_NONE : p;
            seg->lost_node = HDI_NONE;
            seg->displaced = false;
            seg->lost_use = v->use_lost[u] ? u : HDI_NONE;
            continue;
        }
        if (!hdi_arena_grow(&v->arena, &v->read, &v->read_capacity, v->read_count, v->read_count + 1, sizeof(*v->read)))
            return HD_OUT_OF_MEMORY;
        v->read[v->read_count] = (hdi_vlink){u, seg->reads};
        seg->reads = v->read_count++;
    }
    return HD_OK;
}

static bool same_transfer(const hd_plan_barrier *a, const hd_plan_barrier *b)
{
    return a->resource == b->resource && a->old_layout == b->old_layout && a->new_layout == b->new_layout &&
           a->src_family == b->src_family && a->dst_family == b->dst_family && a->range.offset == b->range.offset &&
           a->range.bytes == b->range.bytes;
}

static void walk_release(hdi_verify *v, uint32_t n, uint32_t s)
{
    const hd_plan_barrier *b = &v->p.barriers[v->node[n].barrier];
    hdi_vseg *seg = &v->seg[s];
    if (seg->owner != b->src_family || seg->released != HDI_NONE) {
        hdi_verify_about(v, last_place(v, s), hdi_verify_node_place(v, n), b->resource, b->resource);
        hdi_verify_fail(v, HD_RULE_OWNERSHIP,
                        "ownership: barrier %u releases resource %u '%s' from family %u, which does not own it",
                        v->node[n].barrier, b->resource, hdi_verify_res_name(v, b->resource), b->src_family);
    }
    seg->released = n;
}

/* True: the acquire goes with its release. */
static bool walk_acquire(hdi_verify *v, uint32_t n, uint32_t s)
{
    const hdi_vnode *node = &v->node[n];
    const hd_plan_barrier *b = &v->p.barriers[node->barrier];
    hdi_vseg *seg = &v->seg[s];
    const char *name = hdi_verify_res_name(v, b->resource);
    hd_verify_place here = hdi_verify_node_place(v, n);
    uint32_t release = seg->released;
    bool fits = release != HDI_NONE && same_transfer(&v->p.barriers[v->node[release].barrier], b);
    if (!fits) {
        hdi_verify_about(v, release == HDI_NONE ? last_place(v, s) : hdi_verify_node_place(v, release), here,
                         b->resource, b->resource);
        hdi_verify_mend_owner(v, HDI_NONE, n, s);
    }
    if (release == HDI_NONE) {
        hdi_verify_fail(v, HD_RULE_OWNERSHIP, "ownership: barrier %u acquires resource %u '%s', which was not released",
                        node->barrier, b->resource, name);
    } else if (!fits) {
        hdi_verify_fail(v, HD_RULE_OWNERSHIP,
                        "ownership: acquire (barrier %u) and release (barrier %u) of resource %u '%s' differ",
                        node->barrier, v->node[release].barrier, b->resource, name);
    } else if (!hdi_verify_node_before_node(v, release, n)) {
        hdi_verify_about(v, hdi_verify_node_place(v, release), here, b->resource, b->resource);
        hdi_verify_mend_pair(v, &(hdi_vpair){HDI_NONE, release, s, HDI_NONE, n, s, true});
        hdi_verify_fail(
            v, HD_RULE_OWNERSHIP,
            "ownership: acquire (barrier %u) of resource %u '%s' does not wait for its release (barrier %u)",
            node->barrier, b->resource, name, v->node[release].barrier);
    }
    seg->released = HDI_NONE;
    seg->owner = b->dst_family;
    return fits;
}

static bool walk_transfer(hdi_verify *v, uint32_t n, uint32_t s)
{
    const hd_plan_barrier *b = &v->p.barriers[v->node[n].barrier];
    if (is_concurrent(v, b->resource)) {
        hd_plan_barrier plain = *b;
        plain.src_family = plain.dst_family = HDI_NONE;
        hdi_verify_about(v, last_place(v, s), hdi_verify_node_place(v, n), b->resource, b->resource);
        hdi_verify_change(v, v->node[n].barrier, &plain);
        hdi_verify_fail(v, HD_RULE_OWNERSHIP, "ownership: barrier %u moves resource %u '%s', which is concurrent",
                        v->node[n].barrier, b->resource, hdi_verify_res_name(v, b->resource));
    }
    if (v->node[n].flags & HV_ACQUIRE)
        return walk_acquire(v, n, s);
    walk_release(v, n, s);
    return true;
}

/* A transition that moves nothing. */
static void keep_owner(hdi_verify *v, uint32_t n, uint32_t s)
{
    const hdi_vnode *node = &v->node[n];
    const hd_plan_barrier *b = &v->p.barriers[node->barrier];
    hdi_vseg *seg = &v->seg[s];
    const char *name = hdi_verify_res_name(v, b->resource);
    uint32_t family = v->p.queues[node->queue].family;
    if (seg->released != HDI_NONE) {
        hdi_verify_about(v, hdi_verify_node_place(v, seg->released), hdi_verify_node_place(v, n), b->resource,
                         b->resource);
        hdi_verify_mend_owner(v, HDI_NONE, n, s);
        hdi_verify_fail(v, HD_RULE_OWNERSHIP,
                        "ownership: barrier %u changes resource %u '%s' between its release and its acquire",
                        node->barrier, b->resource, name);
    } else if (!is_concurrent(v, b->resource)) {
        if (seg->owner != family && seg->owner != HDI_NONE && b->old_layout) {
            hdi_verify_about(v, last_place(v, s), hdi_verify_node_place(v, n), b->resource, b->resource);
            hdi_verify_mend_owner(v, HDI_NONE, n, s);
            hdi_verify_fail(v, HD_RULE_OWNERSHIP,
                            "ownership: barrier %u on queue %u of family %u keeps the content of resource %u '%s', "
                            "which family %u owns",
                            node->barrier, node->queue, family, b->resource, name, seg->owner);
        }
        seg->owner = family;
    }
}

static void check_layouts(hdi_verify *v, uint32_t n, uint32_t s)
{
    const hdi_vnode *node = &v->node[n];
    const hd_plan_barrier *b = &v->p.barriers[node->barrier];
    const hdi_vseg *seg = &v->seg[s];
    const char *name = hdi_verify_res_name(v, b->resource);
    if (b->old_layout && b->old_layout != seg->layout) {
        hdi_verify_about(v, last_place(v, s), hdi_verify_node_place(v, n), b->resource, b->resource);
        hdi_verify_mend_old_layout(v, n, s);
        hdi_verify_fail(
            v, HD_RULE_LAYOUT,
            "layout: barrier %u (queue %u, submit %u) takes resource %u '%s' from layout %s, but it is in %s",
            node->barrier, node->queue, node->submit, b->resource, name,
            HDI_LAYOUT_TEXT(b->old_layout), HDI_LAYOUT_TEXT(seg->layout));
    }
    bool begins = b->new_layout == HDI_LAYOUT_UNDEFINED || b->new_layout == HDI_LAYOUT_PREINITIALIZED;
    if (begins && b->new_layout != b->old_layout) {
        hdi_verify_about(v, last_place(v, s), hdi_verify_node_place(v, n), b->resource, b->resource);
        hdi_verify_fail(v, HD_RULE_LAYOUT, "layout: barrier %u takes resource %u '%s' to %s", node->barrier,
                        b->resource, name, b->new_layout ? "PREINITIALIZED" : "UNDEFINED");
    }
}

static void walk_barrier(hdi_verify *v, uint32_t n)
{
    const hdi_vnode *node = &v->node[n];
    if (node->resource == HDI_NONE)
        return;
    const hd_plan_barrier *b = &v->p.barriers[node->barrier];
    bool image = !(v->d.res_flags[b->resource] & HDI_RES_BUFFER), moves = node->flags & (HV_RELEASE | HV_ACQUIRE);
    HV_EACH_SEG(hdi_verify_rect(v, b->resource, &b->range), s)
    {
        hdi_vseg *seg = &v->seg[s];
        bool fits = true;
        if (v->stop)
            return;
        if (node->flags) {
            check_node(v, n, b->resource, s, s);
            take_memory(v, HDI_NONE, n, b->resource, s);
        }
        if (moves)
            fits = walk_transfer(v, n, s);
        else if (node->flags)
            keep_owner(v, n, s);
        if (image && fits)
            check_layouts(v, n, s);
        if (!node->flags)
            continue;
        if (image && !b->old_layout) {
            if (seg->holder != HDI_NONE) {
                seg->lost_node = n;
                seg->lost_layout = seg->layout;
            }
            seg->holder = HDI_NONE;
        }
        if (image && !(node->flags & HV_RELEASE))
            seg->layout = b->new_layout;
        seg->write_node = n;
        seg->write_use = seg->reads = HDI_NONE;
    }
}

static void start(hdi_verify *v)
{
    for (uint32_t r = 0; r < v->d.res_count; r++) {
        uint8_t flags = v->d.res_flags[r];
        uint32_t index = v->plan_res[r], layout = 0, owner = HDI_NONE;
        if (index != HDI_NONE && (flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY))) {
            uint32_t from = flags & HDI_RES_HISTORY ? v->plan_res[v->d.res_pair[r]] : index;
            const hd_plan_resource *of = &v->p.resources[from == HDI_NONE ? index : from];
            layout = flags & HDI_RES_HISTORY ? of->final_layout : v->d.res_info[r].initial_layout;
            owner = flags & HDI_RES_HISTORY ? of->final_family : of->first_family;
            if (owner == HDI_NONE && !(flags & HDI_RES_HISTORY))
                owner = v->p.queues[0].family;
        }
        for (uint32_t s = v->seg_begin[r]; s < v->seg_begin[r + 1]; s++)
            v->seg[s] = (hdi_vseg){.layout = flags & HDI_RES_BUFFER ? 0 : layout,
                                   .owner = owner,
                                   .holder = flags & HDI_RES_CONTENT ? HV_INITIAL : HDI_NONE,
                                   .write_use = HDI_NONE,
                                   .write_node = HDI_NONE,
                                   .reads = HDI_NONE,
                                   .released = HDI_NONE,
                                   .lost_node = HDI_NONE,
                                   .lost_use = HDI_NONE};
    }
}

static void finish(hdi_verify *v)
{
    for (uint32_t i = 0; i < v->p.resource_count && !v->stop; i++) {
        const hd_plan_resource *r = &v->p.resources[i];
        uint8_t flags = v->d.res_flags[r->id];
        const char *name = hdi_verify_res_name(v, r->id);
        bool image = !(flags & HDI_RES_BUFFER), keeps = flags & (HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY);
        uint32_t wanted = flags & HDI_RES_HISTORY && v->plan_res[v->d.res_pair[r->id]] != HDI_NONE
                              ? v->p.resources[v->plan_res[v->d.res_pair[r->id]]].final_layout
                              : r->final_layout;
        uint32_t asked = flags & HDI_RES_EXTERNAL && image ? v->d.res_info[r->id].final_layout : 0;
        /* A frame that does not use what a history is of hands nothing on. One that does hands on all of it, also the
         * parts that no pass uses: they begin as UNDEFINED. */
        bool rests = flags & HDI_RES_HAS_HISTORY && !v->res_used[r->id];
        v->found.resource = r->id;
        if (asked && asked != wanted) {
            v->found.repair = (hd_repair){.kind = HD_REPAIR_FINAL_LAYOUT, .index = i, .value = asked};
            hdi_verify_fail(v, HD_RULE_FINAL_STATE,
                            "final state: resource %u '%s' is to be left in layout %s, the plan says %s", r->id, name,
                            HDI_LAYOUT_TEXT(asked), HDI_LAYOUT_TEXT(wanted));
        }
        if (image && wanted != r->final_layout) {
            v->found.resource = r->id;
            v->found.repair = (hd_repair){.kind = HD_REPAIR_FINAL_LAYOUT, .index = i, .value = wanted};
            hdi_verify_fail(v, HD_RULE_FINAL_STATE,
                            "final state: history %u '%s' says layout %s, what it is of says %s", r->id, name,
                            HDI_LAYOUT_TEXT(r->final_layout), HDI_LAYOUT_TEXT(wanted));
        }
        hdi_verify_forget(v);
        for (uint32_t s = v->seg_begin[r->id]; s < v->seg_begin[r->id + 1] && !v->stop; s++) {
            const hdi_vseg *seg = &v->seg[s];
            if (seg->released != HDI_NONE)
                hdi_verify_fail(v, HD_RULE_OWNERSHIP,
                                "ownership: resource %u '%s' is released (barrier %u) and never acquired", r->id, name,
                                v->node[seg->released].barrier);
            if (!keeps && !(flags & HDI_RES_HISTORY))
                continue;
            if (image && seg->layout != wanted && !rests) {
                hdi_verify_about(v, last_place(v, s), v->found.second, r->id, r->id);
                hdi_verify_mend_end(v, r->id, s, wanted);
                hdi_verify_fail(v, HD_RULE_FINAL_STATE,
                                "final state: resource %u '%s' ends in layout %s, the plan says %s", r->id, name,
                                HDI_LAYOUT_TEXT(seg->layout), HDI_LAYOUT_TEXT(wanted));
            }
            if (!(r->flags & HD_PLAN_CONCURRENT) && r->final_family != HDI_NONE && seg->owner != HDI_NONE &&
                seg->owner != r->final_family) {
                hdi_verify_about(v, last_place(v, s), v->found.second, r->id, r->id);
                v->found.repair = (hd_repair){.kind = HD_REPAIR_FINAL_FAMILY, .index = i, .value = seg->owner};
                hdi_verify_fail(v, HD_RULE_FINAL_STATE,
                                "final state: resource %u '%s' ends with family %u, the plan says %u", r->id, name,
                                seg->owner, r->final_family);
            }
            if (keeps && v->final_holder[s] != HDI_NONE && seg->holder != v->final_holder[s]) {
                hdi_verify_about(v, last_place(v, s), v->found.second, r->id, r->id);
                if (seg->holder == HDI_NONE)
                    hdi_verify_mend_content(v, r->id, s);
                hdi_verify_fail(v, HD_RULE_FINAL_STATE,
                                "final state: resource %u '%s' does not end with the content of its last write", r->id,
                                name);
            }
        }
    }
}

static void walk_batch(hdi_verify *v, uint32_t c)
{
    const hd_plan_command *command = &v->p.commands[c];
    uint32_t first = v->command_node[c], count = v->p.batches[command->index].barrier_count;
    if (command->kind != HD_COMMAND_WAIT) /* the elements of one command never chain: gather all, then spread all */
        for (uint32_t n = first; n < first + count; n++)
            hdi_verify_gather(v, n);
    if (command->kind == HD_COMMAND_SET)
        return;
    for (uint32_t n = first; n < first + count && !v->stop; n++)
        walk_barrier(v, n);
    for (uint32_t n = first; n < first + count; n++)
        hdi_verify_spread(v, n);
}

hd_result hdi_verify_walk(hdi_verify *v)
{
    v->seg = HDI_ARENA_ARRAY(&v->arena, hdi_vseg, v->seg_count);
    if (!v->seg)
        return HD_OUT_OF_MEMORY;
    start(v);
    for (uint32_t s = 0; s < v->p.submit_count && !v->stop; s++) {
        const hd_plan_submit *x = &v->p.submits[s];
        for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++)
            hdi_verify_follow(v, v->wait_node[w], v->submit_signal[v->wait_signal[w]]);
        for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++)
            hdi_verify_spread(v, v->wait_node[w]);
        for (uint32_t c = x->command_begin; c < x->command_begin + x->command_count && !v->stop; c++) {
            const hd_plan_command *command = &v->p.commands[c];
            if (command->kind != HD_COMMAND_PASS) {
                walk_batch(v, c);
                continue;
            }
            uint32_t p = command->index;
            for (uint32_t u = v->d.pass_use_begin[p]; u < v->d.pass_use_begin[p + 1]; u++) {
                hd_result result = walk_use(v, u);
                if (result != HD_OK)
                    return result;
            }
        }
        if (v->submit_signal[s] != HDI_NONE)
            hdi_verify_gather(v, v->submit_signal[s]);
    }
    if (!v->stop)
        finish(v);
    return HD_OK;
}
