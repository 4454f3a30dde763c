#include "stream_verify.h"
#include "vk_words.h"

/* The walk: submits in a topological order, one state a segment, by the rules of Vulkan's synchronization. Every access
 * is checked against the last writes and the reads since. Accesses that need no order among themselves (those that a
 * pass declares against those of its commands, attachments of one rendering) stay in the lists side by side, so that
 * what comes later is checked against each of them; and so do those that touch other texels, until they are overwritten
 * by one access. A segment whose bytes an alias has written since is no tenant: it must be overwritten from UNDEFINED,
 * behind everything that the aliases did. */

static const hd_stream_access *access_of(const hdi_cverify *c, uint32_t use)
{
    return &c->s->accesses[c->access_of[use]];
}

static const hdi_access_info *info_of(const hdi_cverify *c, uint32_t use)
{
    return &c->v.d.access[c->v.d.use_access[use]];
}

static bool is_image(const hdi_cverify *c, uint32_t res)
{
    return c->s->resources[res].aspects != 0;
}

static hdi_vrect rect_of(const hdi_cverify *c, uint32_t res, const hd_range *range)
{
    return hdi_verify_rect(&c->v, res, range);
}

/* Layouts of one aspect alone say the same as those of both. */
static uint32_t plain_layout(uint32_t layout)
{
    switch (layout) {
    case 1000241000: /* DEPTH_ATTACHMENT */
    case 1000241002: /* STENCIL_ATTACHMENT */
        return 3;
    case 1000241001: /* DEPTH_READ_ONLY */
    case 1000241003: /* STENCIL_READ_ONLY */
        return 4;
    default:
        return layout;
    }
}

/* ---- order ---- */

/* What one copy, blit or resolve reads must not be what it writes (no region of it), also through an alias. How the
 * texels of images lie in memory is not known, nor which are meant where a box is left out. That two of its regions
 * write the same is not forbidden. Two attachments of one rendering must not be the same texels where one of them is
 * written: rasterization orders the accesses to each of them alone. Shaders order their own accesses, or are not seen
 * to: an invocation may well read as uniform what it writes afterwards. */
static bool meets_itself(const hdi_cverify *c, uint32_t x, uint32_t y)
{
    const uint64_t transfer = 0x1000 | UINT64_C(0xf00000000); /* VkPipelineStageFlagBits2 */
    const hd_stream_access *a = access_of(c, x), *b = access_of(c, y);
    if ((a->flags | b->flags) & HD_STREAM_DECLARED)
        return false;
    if (a->scope && a->scope == b->scope)
        return a->resource == b->resource && (info_of(c, x)->writes || info_of(c, y)->writes);
    if (((a->stages | b->stages) & ~transfer) || info_of(c, x)->writes == info_of(c, y)->writes)
        return false;
    if (is_image(c, a->resource) || is_image(c, b->resource))
        return a->resource == b->resource && a->box.extent[0] && b->box.extent[0];
    return true;
}

/* What a pass declares stands for what its commands do, but for one that writes what the pass only reads: whatever else
 * in the pass reads it has no order with that. */
static bool is_told(const hdi_cverify *c, uint32_t x, uint32_t y)
{
    bool x_declared = access_of(c, x)->flags & HD_STREAM_DECLARED;
    bool y_declared = access_of(c, y)->flags & HD_STREAM_DECLARED;
    if (x_declared == y_declared)
        return x_declared;
    return x_declared ? info_of(c, x)->writes || !info_of(c, y)->writes
                      : info_of(c, y)->writes || !info_of(c, x)->writes;
}

/* Pairs that are in order by themselves. */
static bool together(const hdi_cverify *c, uint32_t x, uint32_t y)
{
    const hd_stream_access *a = access_of(c, x), *b = access_of(c, y);
    uint32_t cx = c->use_command[x], cy = c->use_command[y];
    if (cx == cy)
        return !meets_itself(c, x, y);
    if (a->scope && a->scope == b->scope && a->resource == b->resource)
        return true; /* rasterization order */
    return c->s->commands[cx].group && c->s->commands[cx].group == c->s->commands[cy].group && is_told(c, x, y);
}

/* Uses of one resource meet where their boxes do; how the texels of an image lie in memory, aliases cannot know. */
static bool meets(const hdi_cverify *c, uint32_t x, uint32_t y)
{
    const hd_stream_access *a = access_of(c, x), *b = access_of(c, y);
    return a->resource != b->resource || hdi_box_meets(&a->box, &b->box);
}

/* What the next sentence is about: uses, or nodes with HDI_NONE as use. */
static void about(hdi_cverify *c, uint32_t rule, uint32_t x, uint32_t xn, uint32_t y, uint32_t yn, uint32_t res)
{
    c->found = (hd_finding){.rule = rule, .resource = res, .other_resource = HD_NONE};
    c->found.first = hdi_cverify_place(c, x, xn);
    c->found.second = hdi_cverify_place(c, y, yn);
    if (x != HDI_NONE && access_of(c, x)->resource != res)
        c->found.other_resource = access_of(c, x)->resource;
}

static void race(hdi_cverify *c, uint32_t x, uint32_t y, bool x_writes)
{
    hdi_ctext a, b, r;
    uint32_t rx = access_of(c, x)->resource, ry = access_of(c, y)->resource;
    c->bad = true;
    const uint64_t prime = UINT64_C(0x100000001b3); /* sentences are asked for too: by hashes */
    if (hdi_cverify_said(c, (c->use_command[x] * prime + c->use_command[y]) * prime + ry))
        return;
    about(c, hdi_verify_use_before_use(&c->v, x, y) ? HD_RULE_VISIBILITY : HD_RULE_EXECUTION, x, HDI_NONE, y, HDI_NONE,
          ry);
    hdi_cverify_fail(c, "race on %s%s: %s %s, %s %s: %s", hdi_cverify_resource(c, ry, &r),
                     rx == ry ? "" : " through its alias", hdi_cverify_command(c, c->use_command[x], &a),
                     x_writes ? "writes" : "reads", hdi_cverify_command(c, c->use_command[y], &b),
                     info_of(c, y)->writes ? "writes" : "reads",
                     c->use_command[x] == c->use_command[y] && access_of(c, x)->scope ? "its attachments overlap"
                     : c->use_command[x] == c->use_command[y]                         ? "its regions overlap"
                     : hdi_verify_use_before_use(&c->v, x, y) ? "the write is not made available and visible to it"
                                                              : "no execution chain");
}

/* A rendering has written the texels of attachment y itself, by a load operation that clears or does not load: y comes
 * behind that in rasterization order, which carries memory, too. What changed the layout before was overwritten, and
 * the load operation came behind it. */
static bool behind_load(const hdi_cverify *c, const hdi_cseg *seg, uint32_t y)
{
    const hd_stream_access *b = access_of(c, y);
    for (uint32_t e = seg->writes; e != HDI_NONE && b->scope; e = c->entry[e].next) {
        uint32_t x = c->entry[e].use;
        const hd_stream_access *a = access_of(c, x);
        if (a->scope == b->scope && a->resource == b->resource && !(a->flags & HD_STREAM_DECLARED) &&
            c->use_command[x] != c->use_command[y] && hdi_box_holds(&a->box, &b->box))
            return true;
    }
    return false;
}

/* Use y on segment ys against what stands on segment s (the same one, or an alias's). */
static void check_use(hdi_cverify *c, uint32_t y, uint32_t ys, uint32_t s)
{
    const hdi_cseg *seg = &c->seg[s];
    for (uint32_t e = seg->writes; e != HDI_NONE && !c->stop; e = c->entry[e].next) {
        uint32_t x = c->entry[e].use;
        if (meets(c, x, y) && !together(c, x, y) &&
            (!hdi_verify_use_before_use(&c->v, x, y) || !hdi_verify_memory_to_use(&c->v, x, HDI_NONE, s, y, ys)))
            race(c, x, y, true);
    }
    uint32_t n = seg->write_node;
    if (n != HDI_NONE && !behind_load(c, seg, y) &&
        (!hdi_verify_node_before_use(&c->v, n, y) || !hdi_verify_memory_to_use(&c->v, HDI_NONE, n, s, y, ys))) {
        hdi_ctext a, b, r;
        about(c, HD_RULE_EXECUTION, HDI_NONE, n, y, HDI_NONE, access_of(c, y)->resource);
        hdi_cverify_fail(c, "race on %s: %s changes its layout or owner, %s does not wait for it",
                         hdi_cverify_resource(c, access_of(c, y)->resource, &r), hdi_cverify_node(c, n, &a),
                         hdi_cverify_command(c, c->use_command[y], &b));
    }
    if (!info_of(c, y)->writes)
        return;
    for (uint32_t e = seg->reads; e != HDI_NONE && !c->stop; e = c->entry[e].next) {
        uint32_t x = c->entry[e].use;
        if (meets(c, x, y) && !together(c, x, y) && !hdi_verify_use_before_use(&c->v, x, y))
            race(c, x, y, false);
    }
}

static void race_with_node(hdi_cverify *c, uint32_t res, uint32_t x, uint32_t n, bool x_writes)
{
    hdi_ctext a, b, r;
    about(c, hdi_verify_use_before_node(&c->v, x, n) ? HD_RULE_AVAILABILITY : HD_RULE_EXECUTION, x, HDI_NONE, HDI_NONE,
          n, res);
    hdi_cverify_fail(
        c, "race on %s: %s %s, %s changes layout or owner: %s", hdi_cverify_resource(c, res, &r),
        hdi_cverify_command(c, c->use_command[x], &a), x_writes ? "writes" : "reads", hdi_cverify_node(c, n, &b),
        hdi_verify_use_before_node(&c->v, x, n) ? "the write is not made available" : "no execution chain");
}

static void check_node(hdi_cverify *c, uint32_t n, uint32_t res, uint32_t s)
{
    const hdi_cseg *seg = &c->seg[s];
    hdi_ctext a, b, r;
    for (uint32_t e = seg->writes; e != HDI_NONE && !c->stop; e = c->entry[e].next) {
        uint32_t x = c->entry[e].use;
        if (!hdi_verify_use_before_node(&c->v, x, n) || !hdi_verify_memory_to_node(&c->v, x, s, n))
            race_with_node(c, res, x, n, true);
    }
    uint32_t before = seg->write_node;
    if (before != HDI_NONE)
        about(c, HD_RULE_EXECUTION, HDI_NONE, before, HDI_NONE, n, res);
    if (before != HDI_NONE && c->v.node[before].command == c->v.node[n].command && before != n)
        hdi_cverify_fail(c, "race on %s: two barriers of %s change it", hdi_cverify_resource(c, res, &r),
                         hdi_cverify_node(c, n, &a));
    else if (before != HDI_NONE && before != n && !hdi_verify_node_before_node(&c->v, before, n))
        hdi_cverify_fail(c, "race on %s: %s and %s change its layout or owner: no execution chain",
                         hdi_cverify_resource(c, res, &r), hdi_cverify_node(c, before, &a), hdi_cverify_node(c, n, &b));
    for (uint32_t e = seg->reads; e != HDI_NONE && !c->stop; e = c->entry[e].next) {
        uint32_t x = c->entry[e].use;
        if (!hdi_verify_use_before_node(&c->v, x, n))
            race_with_node(c, res, x, n, false);
    }
}

/* ---- memory ---- */

static void bytes_of(const hdi_cverify *c, uint32_t res, uint32_t s, uint64_t *begin, uint64_t *end)
{
    const hd_stream_resource *r = &c->s->resources[res];
    *begin = r->offset;
    *end = r->offset + r->bytes;
    if (!is_image(c, res)) {
        const uint64_t *cut = c->v.cut + c->v.cut_begin[res * 2] + (s - c->v.seg_begin[res]);
        *begin = r->offset + cut[0];
        *end = r->offset + cut[1];
    }
}

/* Use y or node n takes the bytes of segment s: overlapping segments of other resources must be done, and lose them.
 * An access that takes a part of the segment leaves the segment without a tenant: an access to another part does not
 * come behind this one, and so must be checked against the other resources itself. */
static void take_memory(hdi_cverify *c, uint32_t y, uint32_t n, uint32_t res, uint32_t s)
{
    if (c->seg[s].tenant)
        return;
    uint64_t begin, end;
    bytes_of(c, res, s, &begin, &end);
    for (uint32_t i = c->alias_begin[res]; i < c->alias_begin[res + 1] && !c->stop; i++) {
        uint32_t other = c->alias[i];
        for (uint32_t t = c->v.seg_begin[other]; t < c->v.seg_begin[other + 1] && !c->stop; t++) {
            uint64_t b, e;
            bytes_of(c, other, t, &b, &e);
            if (b >= end || e <= begin)
                continue;
            if (y != HDI_NONE)
                check_use(c, y, s, t);
            else
                check_node(c, n, res, t);
            c->seg[t].tenant = c->seg[t].defined = false;
            c->seg[t].parts = HDI_NONE;
            if (is_image(c, other))
                c->seg[t].layout = 0;
        }
    }
    c->seg[s].tenant = y == HDI_NONE || !access_of(c, y)->box.extent[0];
}

static hd_result add_entry(hdi_cverify *c, uint32_t *list, uint32_t use)
{
    if (!hdi_arena_grow(&c->v.arena, &c->entry, &c->entry_room, c->entry_count, c->entry_count + 1, sizeof(*c->entry)))
        return HD_OUT_OF_MEMORY;
    c->entry[c->entry_count] = (hdi_vlink){use, *list};
    *list = c->entry_count++;
    return HD_OK;
}

/* Takes from the list what the use has overwritten. Accesses that need no order with the use stay (together), and so do
 * accesses to texels that the use does not cover. */
static void filter(hdi_cverify *c, uint32_t *list, uint32_t use)
{
    while (*list != HDI_NONE) {
        uint32_t other = c->entry[*list].use;
        if (together(c, other, use) || !hdi_box_holds(&access_of(c, use)->box, &access_of(c, other)->box))
            list = &c->entry[*list].next;
        else
            *list = c->entry[*list].next;
    }
}

/* ---- accesses ---- */

static void check_layout(hdi_cverify *c, uint32_t u, hdi_cseg *seg)
{
    const hd_stream_access *x = access_of(c, u);
    hdi_ctext a, r;
    if (!is_image(c, x->resource))
        return;
    if (seg->layout == HDI_NONE)
        seg->layout = plain_layout(x->layout);
    else if (seg->layout != plain_layout(x->layout)) {
        about(c, HD_RULE_LAYOUT, HDI_NONE, seg->write_node, u, HDI_NONE, x->resource);
        hdi_cverify_fail(c, "layout: %s uses %s in layout %s, but it is in %s",
                         hdi_cverify_command(c, c->use_command[u], &a), hdi_cverify_resource(c, x->resource, &r),
                         HDI_LAYOUT_TEXT(x->layout), HDI_LAYOUT_TEXT(seg->layout));
    }
}

static void check_owner(hdi_cverify *c, uint32_t u, hdi_cseg *seg)
{
    const hd_stream_access *x = access_of(c, u);
    const hd_stream_queue *queue = &c->s->queues[c->v.pass_queue[c->use_command[u]]];
    hdi_ctext a, b, r;
    if (queue->kind == HD_QUEUE_HOST || c->s->resources[x->resource].flags & HD_STREAM_CONCURRENT)
        return;
    if (seg->released != HDI_NONE) {
        about(c, HD_RULE_OWNERSHIP, HDI_NONE, seg->released, u, HDI_NONE, x->resource);
        hdi_cverify_fail(c, "ownership: %s uses %s between its release by %s and its acquire",
                         hdi_cverify_command(c, c->use_command[u], &a), hdi_cverify_resource(c, x->resource, &r),
                         hdi_cverify_node(c, seg->released, &b));
        return;
    }
    bool overwrites = info_of(c, u)->writes && !info_of(c, u)->reads && !is_image(c, x->resource);
    if (seg->owner == HDI_NONE || overwrites)
        seg->owner = queue->family;
    else if (seg->owner != queue->family) {
        about(c, HD_RULE_OWNERSHIP, HDI_NONE, seg->write_node, u, HDI_NONE, x->resource);
        hdi_cverify_fail(c, "ownership: %s (family %u) uses %s, which family %u owns",
                         hdi_cverify_command(c, c->use_command[u], &a), queue->family,
                         hdi_cverify_resource(c, x->resource, &r), seg->owner);
    }
}

static void check_content(hdi_cverify *c, uint32_t u, const hdi_cseg *seg)
{
    const hd_stream_access *x = access_of(c, u);
    if (!info_of(c, u)->reads || hdi_cverify_defined(c, seg, &x->box) ||
        c->s->resources[x->resource].flags & HD_STREAM_MAPPED)
        return;
    for (uint32_t e = seg->writes; e != HDI_NONE; e = c->entry[e].next) {
        if (together(c, c->entry[e].use, u)) /* a pass reads what it has written itself */
            return;
    }
    hdi_ctext a, r;
    about(c, HD_RULE_CONTENT, HDI_NONE, HDI_NONE, u, HDI_NONE, x->resource);
    hdi_cverify_fail(c, "content: %s reads undefined content of %s", hdi_cverify_command(c, c->use_command[u], &a),
                     hdi_cverify_resource(c, x->resource, &r));
}

/* What was seen, or may happen, breaks no rule; what it writes is content from now on. */
static hd_result walk_unchecked(hdi_cverify *c, uint32_t u)
{
    const hd_stream_access *x = access_of(c, u);
    if (!info_of(c, u)->writes)
        return HD_OK;
    HV_EACH_SEG(rect_of(c, x->resource, &x->range), s)
    {
        hd_result result = hdi_cverify_define(c, &c->seg[s], &x->box, true);
        if (result != HD_OK)
            return result;
    }
    return HD_OK;
}

static hd_result walk_use(hdi_cverify *c, uint32_t u)
{
    const hd_stream_access *x = access_of(c, u);
    const hdi_access_info *info = info_of(c, u);
    if (x->flags & (HD_STREAM_OBSERVED | HD_STREAM_BOUND))
        return walk_unchecked(c, u);
    HV_EACH_SEG(rect_of(c, x->resource, &x->range), s)
    {
        hdi_cseg *seg = &c->seg[s];
        hd_result result = HD_OK;
        if (c->stop)
            return HD_OK;
        check_layout(c, u, seg);
        check_owner(c, u, seg);
        check_content(c, u, seg);
        check_use(c, u, s, s);
        /* Mapped memory counts as written by the host, also over an alias: so a read takes it from the alias too. */
        if (info->writes || c->s->resources[x->resource].flags & HD_STREAM_MAPPED)
            take_memory(c, u, HDI_NONE, x->resource, s);
        if (info->writes) {
            filter(c, &seg->writes, u);
            filter(c, &seg->reads, u);
            /* write_node stays: a use together with u need not come after u, but after what came before u */
            result = hdi_cverify_define(c, seg, &x->box, !(x->flags & HD_STREAM_LOST));
        }
        if (result == HD_OK)
            result = add_entry(c, info->writes ? &seg->writes : &seg->reads, u);
        if (result != HD_OK)
            return result;
    }
    return HD_OK;
}

/* ---- barriers ---- */

static bool same_transfer(const hd_plan_barrier *a, const hd_plan_barrier *b)
{
    return a->resource == b->resource && a->old_layout == b->old_layout && a->new_layout == b->new_layout &&
           a->src_family == b->src_family && a->dst_family == b->dst_family && a->range.offset == b->range.offset &&
           a->range.bytes == b->range.bytes && a->range.aspect == b->range.aspect;
}

static bool has_family(const hdi_cverify *c, uint32_t family)
{
    for (uint32_t q = 0; q < c->s->queue_count; q++) {
        if (c->s->queues[q].kind != HD_QUEUE_HOST && c->s->queues[q].family == family)
            return true;
    }
    return false;
}

static void walk_transfer(hdi_cverify *c, uint32_t n, uint32_t s)
{
    const hdi_vnode *node = &c->v.node[n];
    const hd_plan_barrier *b = &c->v.p.barriers[node->barrier];
    hdi_cseg *seg = &c->seg[s];
    hdi_ctext x, y, r;
    const char *name = hdi_cverify_resource(c, b->resource, &r), *by = hdi_cverify_node(c, n, &x);
    about(c, HD_RULE_OWNERSHIP, HDI_NONE, seg->released, HDI_NONE, n, b->resource);
    if (c->s->resources[b->resource].flags & HD_STREAM_CONCURRENT)
        hdi_cverify_fail(c, "ownership: %s moves %s, which is concurrent", by, name);
    if (node->flags & HV_RELEASE) {
        if (seg->released != HDI_NONE)
            hdi_cverify_fail(c, "ownership: %s releases %s, which %s has released already", by, name,
                             hdi_cverify_node(c, seg->released, &y));
        else if (seg->owner != b->src_family && seg->owner != HDI_NONE)
            hdi_cverify_fail(c, "ownership: %s releases %s from family %u, but family %u owns it", by, name,
                             b->src_family, seg->owner);
        seg->released = n;
        return;
    }
    if (!has_family(c, b->src_family)) { /* of another API or device, which the stream does not see */
        seg->released = HDI_NONE;
    } else if (seg->released == HDI_NONE) {
        if (seg->owner != HDI_NONE || !(c->s->resources[b->resource].flags & HD_STREAM_OLD))
            hdi_cverify_fail(c, "ownership: %s acquires %s, which was not released", by, name);
    } else if (!same_transfer(&c->v.p.barriers[c->v.node[seg->released].barrier], b)) {
        hdi_cverify_fail(c, "ownership: %s acquires %s otherwise than %s released it", by, name,
                         hdi_cverify_node(c, seg->released, &y));
    } else if (!hdi_verify_node_before_node(&c->v, seg->released, n)) {
        hdi_cverify_fail(c, "ownership: %s acquires %s without waiting for its release by %s", by, name,
                         hdi_cverify_node(c, seg->released, &y));
    }
    seg->released = HDI_NONE;
    seg->owner = b->dst_family;
}

/* What the barrier says of layouts, and whether it fits. */
static void check_layouts(hdi_cverify *c, uint32_t n, const hd_plan_barrier *b, const hdi_cseg *seg)
{
    hdi_ctext x, r;
    about(c, HD_RULE_LAYOUT, HDI_NONE, seg->write_node, HDI_NONE, n, b->resource);
    if (b->old_layout && seg->layout != HDI_NONE && plain_layout(b->old_layout) != seg->layout)
        hdi_cverify_fail(c, "layout: %s takes %s from layout %s, but it is in %s", hdi_cverify_node(c, n, &x),
                         hdi_cverify_resource(c, b->resource, &r), HDI_LAYOUT_TEXT(b->old_layout),
                         HDI_LAYOUT_TEXT(seg->layout));
    if (b->old_layout && (b->new_layout == 0 || b->new_layout == 8))
        hdi_cverify_fail(c, "layout: %s takes %s to UNDEFINED", hdi_cverify_node(c, n, &x),
                         hdi_cverify_resource(c, b->resource, &r));
}

static void walk_segment(hdi_cverify *c, uint32_t n, const hd_plan_barrier *b, uint32_t s)
{
    const hdi_vnode *node = &c->v.node[n];
    hdi_cseg *seg = &c->seg[s];
    hdi_ctext x, y, r;
    bool image = is_image(c, b->resource);
    uint32_t family = c->s->queues[node->queue].family;
    if (image)
        check_layouts(c, n, b, seg);
    if (!node->flags)
        return;
    check_node(c, n, b->resource, s);
    take_memory(c, HDI_NONE, n, b->resource, s);
    about(c, HD_RULE_OWNERSHIP, HDI_NONE, seg->released, HDI_NONE, n, b->resource);
    if (node->flags & (HV_RELEASE | HV_ACQUIRE)) {
        walk_transfer(c, n, s);
    } else if (seg->released != HDI_NONE && b->old_layout) {
        hdi_cverify_fail(c, "ownership: %s changes %s between its release by %s and its acquire",
                         hdi_cverify_node(c, n, &x), hdi_cverify_resource(c, b->resource, &r),
                         hdi_cverify_node(c, seg->released, &y));
    } else if (!(c->s->resources[b->resource].flags & HD_STREAM_CONCURRENT)) {
        if (seg->owner != family && seg->owner != HDI_NONE && b->old_layout)
            hdi_cverify_fail(c, "ownership: %s (family %u) keeps the content of %s, which family %u owns",
                             hdi_cverify_node(c, n, &x), family, hdi_cverify_resource(c, b->resource, &r), seg->owner);
        seg->owner = family;
        seg->released = HDI_NONE;
    }
    if (image && !b->old_layout) {
        seg->defined = false;
        seg->parts = HDI_NONE;
    }
    if (image && !(node->flags & HV_RELEASE))
        seg->layout = plain_layout(b->new_layout);
    seg->write_node = n;
    seg->writes = seg->reads = HDI_NONE;
}

static void walk_batch(hdi_cverify *c, uint32_t command)
{
    hdi_verify *v = &c->v;
    const hd_plan_command *x = &v->p.commands[command];
    uint32_t first = v->command_node[command], count = v->p.batches[x->index].barrier_count;
    if (x->kind != HD_COMMAND_WAIT) /* the elements of one command never chain: gather all, then spread all */
        for (uint32_t n = first; n < first + count; n++)
            hdi_verify_gather(v, n);
    if (x->kind == HD_COMMAND_SET)
        return;
    for (uint32_t n = first; n < first + count && !c->stop; n++) {
        if (v->node[n].resource == HDI_NONE)
            continue;
        const hd_plan_barrier *b = &v->p.barriers[v->node[n].barrier];
        HV_EACH_SEG(rect_of(c, b->resource, &b->range), s)
        {
            if (!c->stop)
                walk_segment(c, n, b, s);
        }
    }
    for (uint32_t n = first; n < first + count; n++)
        hdi_verify_spread(v, n);
}

/* ---- submits ---- */

static void walk_waits(hdi_cverify *c, const hd_plan_submit *x)
{
    hdi_verify *v = &c->v;
    for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++)
        hdi_verify_follow(v, v->wait_node[w], v->submit_signal[v->wait_signal[w]]);
    for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++)
        hdi_verify_spread(v, v->wait_node[w]);
}

static void start(hdi_cverify *c)
{
    for (uint32_t r = 0; r < c->s->resource_count; r++) {
        const hd_stream_resource *res = &c->s->resources[r];
        bool old = res->flags & HD_STREAM_OLD, alone = c->alias_begin[r] == c->alias_begin[r + 1];
        for (uint32_t s = c->v.seg_begin[r]; s < c->v.seg_begin[r + 1]; s++)
            c->seg[s] = (hdi_cseg){.layout = res->aspects == 0 ? 0
                                             : old             ? HDI_NONE
                                                               : res->layout,
                                   .owner = HDI_NONE,
                                   .writes = HDI_NONE,
                                   .reads = HDI_NONE,
                                   .write_node = HDI_NONE,
                                   .released = HDI_NONE,
                                   .parts = HDI_NONE,
                                   .defined = old,
                                   .tenant = alone};
    }
}

hd_result hdi_cverify_walk(hdi_cverify *c)
{
    hdi_verify *v = &c->v;
    c->seg = HDI_ARENA_ARRAY(&v->arena, hdi_cseg, v->seg_count);
    if (!c->seg)
        return HD_OUT_OF_MEMORY;
    start(c);
    for (uint32_t i = 0; i < c->order_count && !c->stop; i++) {
        const hd_plan_submit *x = &v->p.submits[c->order[i]];
        walk_waits(c, x);
        for (uint32_t k = x->command_begin; k < x->command_begin + x->command_count && !c->stop; k++) {
            uint32_t pass = v->p.commands[k].index;
            if (v->p.commands[k].kind != HD_COMMAND_PASS) {
                walk_batch(c, k);
                continue;
            }
            for (uint32_t u = v->d.pass_use_begin[pass]; u < v->d.pass_use_begin[pass + 1] && !c->stop; u++) {
                hd_result result = walk_use(c, u);
                if (result != HD_OK)
                    return result;
            }
        }
        if (v->submit_signal[c->order[i]] != HDI_NONE)
            hdi_verify_gather(v, v->submit_signal[c->order[i]]);
    }
    return HD_OK;
}
