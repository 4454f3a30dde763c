#include "verify.h"

#include <string.h>

/* Repairs of what a segment is in: layout, owner, content, place, and of waits. Each is one element: the barrier that
 * changed it last says something else, or a barrier that is missing is put where the walk first misses it. The masks of
 * a new one are those of what was done with the segment, and with its bytes through aliases, on the same queue; other
 * queues are the next finding's. O(nodes + uses). */

static hd_repair *repair_of(hdi_verify *v, uint32_t kind, uint32_t index)
{
    v->found.repair = (hd_repair){.kind = kind, .index = index, .command = HDI_NONE};
    return &v->found.repair;
}

void hdi_verify_change(hdi_verify *v, uint32_t barrier, const hd_plan_barrier *to)
{
    repair_of(v, HD_REPAIR_CHANGE, barrier)->barrier = *to;
}

static uint32_t res_of_seg(const hdi_verify *v, uint32_t seg)
{
    uint32_t low = 0, high = v->d.res_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(v->seg_begin[middle] <= seg ? &low : &high) = middle;
    }
    return low;
}

/* A segment as a range. */
static hd_range range_of(const hdi_verify *v, uint32_t res, uint32_t seg)
{
    hd_range r = {.offset = 0, .bytes = 0};
    const uint64_t *first = v->cut + v->cut_begin[res * 2], *second = v->cut + v->cut_begin[res * 2 + 1];
    uint32_t at = seg - v->seg_begin[res];
    if (v->d.res_flags[res] & HDI_RES_BUFFER) {
        r.offset = first[at];
        r.bytes = first[at + 1] - first[at];
        return r;
    }
    uint32_t columns = v->cut_begin[res * 2 + 2] - v->cut_begin[res * 2 + 1] - 1, aspects = v->res_aspects[res];
    uint32_t row = at / columns, column = at % columns;
    r.mip_base = (uint16_t)first[row / aspects];
    r.mip_count = (uint16_t)(first[row / aspects + 1] - first[row / aspects]);
    r.layer_base = (uint32_t)second[column];
    r.layer_count = (uint32_t)(second[column + 1] - second[column]);
    r.aspect = aspects == 1 ? 0 : row % aspects ? HD_ASPECT_STENCIL : HD_ASPECT_DEPTH;
    return r;
}

static hd_range whole_range(const hdi_verify *v, uint32_t res)
{
    const hdi_res_info *info = &v->d.res_info[res];
    hd_range r = {.offset = 0, .bytes = 0};
    if (v->d.res_flags[res] & HDI_RES_BUFFER) {
        r.bytes = info->bytes;
        return r;
    }
    r.mip_count = (uint16_t)(info->mips ? info->mips : 1);
    r.layer_count = info->layers ? info->layers : 1;
    return r;
}

/* The range of a use where all of it is in the same state as the segment, else that one alone. */
static hd_range range_for(const hdi_verify *v, uint32_t use, uint32_t seg)
{
    uint32_t res = v->d.use_res[use], range = v->d.use_range[use];
    const hdi_vseg *same = &v->seg[seg];
    HV_EACH_SEG(hdi_verify_use_rect(v, use), s)
    {
        const hdi_vseg *x = &v->seg[s];
        if (x->layout != same->layout || x->owner != same->owner || x->released != same->released)
            return range_of(v, res, seg);
    }
    return range == HDI_NONE ? whole_range(v, res) : v->d.range[range];
}

static uint64_t read_or_write(const hdi_verify *v, uint32_t use, bool write)
{
    uint64_t bits = 0;
    for (uint64_t left = v->d.access[v->d.use_access[use]].access; left; left &= left - 1)
        if (!write || hdi_verify_write_bit(left & -left))
            bits |= left & -left;
    return bits;
}

static void add_source(const hdi_verify *v, hd_plan_barrier *b, uint32_t queue, uint32_t use, bool write)
{
    if (v->pass_queue[v->use_pass[use]] != queue || v->p.queues[queue].kind == HD_QUEUE_HOST)
        return;
    b->src_stages |= hdi_verify_expand(v->d.access[v->d.use_access[use]].stages);
    if (write)
        b->src_access |= read_or_write(v, use, true);
}

static void add_sources(const hdi_verify *v, hd_plan_barrier *b, uint32_t queue, uint32_t seg)
{
    const hdi_vseg *x = &v->seg[seg];
    if (x->write_use != HDI_NONE)
        add_source(v, b, queue, x->write_use, true);
    for (uint32_t r = x->reads; r != HDI_NONE; r = v->read[r].next)
        add_source(v, b, queue, v->read[r].use, false);
}

static hd_plan_barrier image_barrier(const hdi_verify *v, uint32_t res, uint32_t seg, uint32_t queue)
{
    hd_plan_barrier b = {.resource = res,
                         .src_family = HDI_NONE,
                         .dst_family = HDI_NONE,
                         .reason_pass = HDI_NONE,
                         .reason_resource = HDI_NONE};
    add_sources(v, &b, queue, seg);
    uint32_t unit = hdi_verify_unit(v, res, seg);
    if (v->seg[seg].tenant || v->d.res_flags[res] & HDI_RES_BUFFER || unit == HDI_NONE)
        return b;
    for (uint32_t cell = v->unit[unit].cell[0], last = unit; cell < v->unit[unit].cell[1]; cell++) {
        uint32_t holder = hdi_verify_holder(v, cell);
        if (holder != HDI_NONE && holder != last)
            for (uint32_t t = v->unit[holder].seg_begin; t < v->unit[holder].seg_end; t++)
                add_sources(v, &b, queue, t);
        last = holder;
    }
    b.src_access = v->seg[seg].write_use != HDI_NONE ? b.src_access : 0; /* aliases' writes are none of this image's */
    return b;
}

static void set_destination(const hdi_verify *v, hd_plan_barrier *b, uint32_t use)
{
    const hdi_access_info *info = &v->d.access[v->d.use_access[use]];
    b->dst_stages = hdi_verify_expand(info->stages);
    b->dst_access = read_or_write(v, use, !info->reads);
}

static void add_before(hdi_verify *v, uint32_t use, const hd_plan_barrier *b)
{
    uint32_t pass = v->use_pass[use], c = v->pass_command[pass];
    for (uint32_t s = 0; s < v->p.scope_count; s++) {
        const hd_plan_scope *x = &v->p.scopes[s];
        if (c > x->command_begin && c - x->command_begin < x->command_count)
            c = x->command_begin;
    }
    hd_repair *r = repair_of(v, HD_REPAIR_ADD, HDI_NONE);
    r->submit = v->pass_submit[pass];
    r->command = c;
    r->barrier = *b;
}

static void add_at_end(hdi_verify *v, uint32_t submit, const hd_plan_barrier *b)
{
    hd_repair *r = repair_of(v, HD_REPAIR_ADD, HDI_NONE);
    r->submit = submit;
    r->command = v->p.submits[submit].command_begin + v->p.submits[submit].command_count;
    r->barrier = *b;
}

/* The submit of the last access of a segment on a queue of the family (HDI_NONE: of any), or any earlier one of such a
 * queue. */
static uint32_t last_submit(const hdi_verify *v, uint32_t seg, uint32_t family, uint32_t before)
{
    const hdi_vseg *x = &v->seg[seg];
    uint32_t last = HDI_NONE;
    if (x->write_use != HDI_NONE)
        last = v->pass_submit[v->use_pass[x->write_use]];
    else if (x->write_node != HDI_NONE)
        last = v->node[x->write_node].submit;
    for (uint32_t r = x->reads; r != HDI_NONE; r = v->read[r].next) {
        uint32_t s = v->pass_submit[v->use_pass[v->read[r].use]];
        last = last == HDI_NONE || s > last ? s : last;
    }
    for (uint32_t s = last != HDI_NONE ? last + 1 : before, again = 0; again < 2; s = before, again++)
        while (s-- > 0 && (again || s == last)) {
            const hd_plan_queue *q = &v->p.queues[v->p.submits[s].queue];
            if (q->kind != HD_QUEUE_HOST && (family == HDI_NONE || q->family == family))
                return s;
        }
    return HDI_NONE;
}

/* The family that must change a segment; HDI_NONE: any may. */
static uint32_t holder_of(const hdi_verify *v, uint32_t res, uint32_t seg)
{
    return v->p.resources[v->plan_res[res]].flags & HD_PLAN_CONCURRENT ? HDI_NONE : v->seg[seg].owner;
}

/* A history whose two halves do not agree on how it enters: the one that its own entry says is right. */
static bool mend_history(hdi_verify *v, uint32_t res, uint32_t seg, uint32_t layout)
{
    const hdi_vseg *x = &v->seg[seg];
    uint32_t pair = v->d.res_pair[res], entry = v->plan_res[res];
    bool first = x->write_use == HDI_NONE && x->write_node == HDI_NONE && x->reads == HDI_NONE;
    if (!first || !(v->d.res_flags[res] & HDI_RES_HISTORY) || v->plan_res[pair] == HDI_NONE ||
        v->p.resources[entry].final_layout != layout)
        return false;
    repair_of(v, HD_REPAIR_FINAL_LAYOUT, v->plan_res[pair])->value = layout;
    return true;
}

/* Use wants a layout that the segment is not in. */
void hdi_verify_mend_layout(hdi_verify *v, uint32_t use, uint32_t seg, uint32_t layout)
{
    const hdi_vseg *x = &v->seg[seg];
    uint32_t res = v->d.use_res[use], pass = v->use_pass[use], queue = v->pass_queue[pass];
    if (mend_history(v, res, seg, layout))
        return;
    if (x->write_node != HDI_NONE && x->reads == HDI_NONE &&
        !(v->node[x->write_node].flags & (HV_RELEASE | HV_ACQUIRE))) {
        hd_plan_barrier b = v->p.barriers[v->node[x->write_node].barrier];
        b.new_layout = layout;
        hdi_verify_change(v, v->node[x->write_node].barrier, &b);
        return;
    }
    uint32_t submit = HDI_NONE;
    bool host = v->p.queues[queue].kind == HD_QUEUE_HOST; /* a queue before it changes the layout */
    if (host) {
        submit = last_submit(v, seg, holder_of(v, res, seg), v->pass_submit[pass]);
        if (submit == HDI_NONE)
            return;
        queue = v->p.submits[submit].queue;
    }
    hd_plan_barrier b = image_barrier(v, res, seg, queue);
    b.old_layout = x->holder == HDI_NONE ? 0 : x->layout;
    b.new_layout = layout;
    b.range = range_for(v, use, seg);
    set_destination(v, &b, use);
    if (host)
        add_at_end(v, submit, &b);
    else
        add_before(v, use, &b);
}

/* A barrier's old layout is another. */
void hdi_verify_mend_old_layout(hdi_verify *v, uint32_t node, uint32_t seg)
{
    hd_plan_barrier to = v->p.barriers[v->node[node].barrier];
    if (mend_history(v, to.resource, seg, to.old_layout))
        return;
    to.old_layout = v->seg[seg].layout;
    hdi_verify_change(v, v->node[node].barrier, &to);
}

/* A barrier like b, with no families, on a queue of the family: one half of a transfer that forgot to say so. */
static uint32_t plain_like(const hdi_verify *v, const hd_plan_barrier *b, uint32_t seg, uint32_t family)
{
    for (uint32_t i = v->seg_node_begin[seg]; i < v->seg_node_begin[seg + 1]; i++) {
        const hdi_vnode *n = &v->node[v->seg_node[i]];
        const hd_plan_barrier *x = &v->p.barriers[n->barrier];
        if (x->src_family == x->dst_family && v->p.queues[n->queue].family == family &&
            x->old_layout == b->old_layout && x->new_layout == b->new_layout &&
            memcmp(&x->range, &b->range, sizeof(b->range)) == 0)
            return n->barrier;
    }
    return HDI_NONE;
}

static void change_families(hdi_verify *v, uint32_t barrier, const hd_plan_barrier *like)
{
    hd_plan_barrier b = v->p.barriers[barrier];
    b.src_family = like->src_family;
    b.dst_family = like->dst_family;
    hdi_verify_change(v, barrier, &b);
}

/* An acquire of what was not released. */
static void mend_release(hdi_verify *v, uint32_t node, uint32_t seg)
{
    hd_plan_barrier like = v->p.barriers[v->node[node].barrier];
    uint32_t plain = plain_like(v, &like, seg, like.src_family);
    uint32_t submit = last_submit(v, seg, like.src_family, v->node[node].submit);
    if (plain != HDI_NONE) {
        change_families(v, plain, &like);
    } else if (submit != HDI_NONE) {
        hd_plan_barrier b = image_barrier(v, like.resource, seg, v->p.submits[submit].queue);
        b.old_layout = like.old_layout;
        b.new_layout = like.new_layout;
        b.src_family = like.src_family;
        b.dst_family = like.dst_family;
        b.range = like.range;
        add_at_end(v, submit, &b);
    }
}

/* The layout in which the next pass behind a node, on its queue, wants the segment; HDI_NONE: none comes. */
static uint32_t wanted_behind(const hdi_verify *v, uint32_t node, uint32_t seg)
{
    const hdi_vnode *n = &v->node[node];
    for (uint32_t s = n->submit; s < v->p.submit_count; s++) {
        const hd_plan_submit *x = &v->p.submits[s];
        for (uint32_t c = x->command_begin; x->queue == n->queue && c < x->command_begin + x->command_count; c++) {
            uint32_t pass = v->p.commands[c].index;
            if ((s == n->submit && c <= n->command) || v->p.commands[c].kind != HD_COMMAND_PASS)
                continue;
            for (uint32_t u = v->d.pass_use_begin[pass]; u < v->d.pass_use_begin[pass + 1]; u++)
                if (v->d.use_res[u] == v->p.barriers[n->barrier].resource)
                    HV_EACH_SEG(hdi_verify_use_rect(v, u), t)
            if (t == seg)
                return v->d.access[v->d.use_access[u]].layout;
        }
    }
    return HDI_NONE;
}

/* The two halves differ: the one that fits what comes before and behind is right. */
static void mend_halves(hdi_verify *v, uint32_t release, uint32_t acquire, uint32_t seg)
{
    const hd_plan_barrier *a = &v->p.barriers[v->node[release].barrier], *b = &v->p.barriers[v->node[acquire].barrier];
    uint32_t want = wanted_behind(v, acquire, seg);
    bool later = b->old_layout == v->seg[seg].layout && b->new_layout == want && a->new_layout != want;
    uint32_t index = v->node[later ? release : acquire].barrier;
    hd_plan_barrier to = later ? *a : *b;
    const hd_plan_barrier *like = later ? b : a;
    to.old_layout = like->old_layout;
    to.new_layout = like->new_layout;
    to.src_family = like->src_family;
    to.dst_family = like->dst_family;
    to.range = like->range;
    hdi_verify_change(v, index, &to);
}

/* Use, or node, wants a segment of another family, or one that is under way. */
void hdi_verify_mend_owner(hdi_verify *v, uint32_t use, uint32_t node, uint32_t seg)
{
    const hdi_vseg *x = &v->seg[seg];
    uint32_t queue = use != HDI_NONE ? v->pass_queue[v->use_pass[use]] : v->node[node].queue;
    uint32_t family = v->p.queues[queue].family, res = res_of_seg(v, seg);
    if (node != HDI_NONE && v->node[node].flags & HV_ACQUIRE) {
        if (x->released == HDI_NONE)
            mend_release(v, node, seg);
        else
            mend_halves(v, x->released, node, seg);
        return;
    }
    if (x->released != HDI_NONE) {
        hd_plan_barrier b = v->p.barriers[v->node[x->released].barrier];
        uint32_t plain = family == b.dst_family ? plain_like(v, &b, seg, family) : HDI_NONE;
        if (plain != HDI_NONE) {
            change_families(v, plain, &b);
        } else if (use != HDI_NONE && family == b.dst_family) {
            b.src_stages = b.src_access = 0;
            set_destination(v, &b, use);
            add_before(v, use, &b);
        }
        return;
    }
    uint32_t before = use != HDI_NONE ? v->pass_submit[v->use_pass[use]] : v->node[node].submit;
    uint32_t submit = last_submit(v, seg, x->owner, before);
    bool image = !(v->d.res_flags[res] & HDI_RES_BUFFER);
    if (use == HDI_NONE && x->holder == HDI_NONE) {
        hd_plan_barrier b = v->p.barriers[v->node[node].barrier];
        b.old_layout = 0;
        hdi_verify_change(v, v->node[node].barrier, &b);
    } else if (submit != HDI_NONE && submit < before) {
        hd_plan_barrier b = image_barrier(v, res, seg, v->p.submits[submit].queue);
        const hd_plan_barrier *like = use == HDI_NONE ? &v->p.barriers[v->node[node].barrier] : NULL;
        b.old_layout = image ? x->layout : 0;
        b.new_layout = !image ? 0 : like ? like->new_layout : v->d.access[v->d.use_access[use]].layout;
        b.src_family = x->owner;
        b.dst_family = family;
        b.range = like ? like->range : range_for(v, use, seg);
        add_at_end(v, submit, &b);
    }
}

/* A segment's content is undefined where it must not be: the transition that threw it away keeps it, or the attachment
 * that did not store it stores, or the resource moves away from the one that took its bytes. */
void hdi_verify_mend_content(hdi_verify *v, uint32_t res, uint32_t seg)
{
    const hdi_vseg *x = &v->seg[seg];
    if (x->lost_node != HDI_NONE) {
        hd_plan_barrier b = v->p.barriers[v->node[x->lost_node].barrier];
        b.old_layout = x->lost_layout;
        hdi_verify_change(v, v->node[x->lost_node].barrier, &b);
        return;
    }
    if (x->lost_use != HDI_NONE && v->use_scope[x->lost_use] != HDI_NONE) {
        const hd_plan_scope *scope = &v->p.scopes[v->use_scope[x->lost_use]];
        uint32_t first = v->p.commands[scope->command_begin].index;
        for (uint32_t a = scope->attachment_begin; a < scope->attachment_begin + scope->attachment_count; a++)
            if (v->p.attachments[a].use < v->d.pass_use_begin[first + 1] - v->d.pass_use_begin[first] &&
                v->d.use_res[v->d.pass_use_begin[first] + v->p.attachments[a].use] == v->d.use_res[x->lost_use])
                repair_of(v, HD_REPAIR_STORE, a)->value = 0;
        return;
    }
    if (x->displaced)
        hdi_verify_mend_place(v, v->plan_res[res], v->p.resources[v->plan_res[res]].bytes, 65536);
}

/* To the end of its heap. */
void hdi_verify_mend_place(hdi_verify *v, uint32_t entry, uint64_t bytes, uint64_t alignment)
{
    uint64_t end = v->p.heaps[v->p.resources[entry].heap].bytes;
    hd_repair *r = repair_of(v, HD_REPAIR_MOVE, entry);
    r->value = (end + alignment - 1) / alignment * alignment;
    r->bytes = bytes;
}

/* A wait for what nothing signals before: the last value that is signalled before the submit, or no wait. */
void hdi_verify_mend_wait(hdi_verify *v, uint32_t wait, uint32_t submit)
{
    hd_repair *r = repair_of(v, HD_REPAIR_DROP_WAIT, wait);
    r->submit = submit;
    for (uint32_t t = 0; t < submit; t++)
        if (v->p.submits[t].queue == v->p.waits[wait].queue && v->p.submits[t].signal_value &&
            v->p.submits[t].queue != v->p.submits[submit].queue) {
            r->kind = HD_REPAIR_WAIT_VALUE;
            r->value = v->p.submits[t].signal_value;
        }
}

/* A resource ends in another layout than it must: the plan says what is so where the declaration lets it, else the last
 * transition leads there, else one is added behind the last access. */
void hdi_verify_mend_end(hdi_verify *v, uint32_t res, uint32_t seg, uint32_t layout)
{
    const hdi_vseg *x = &v->seg[seg];
    uint32_t entry = v->plan_res[res];
    bool asked = v->d.res_flags[res] & HDI_RES_EXTERNAL && v->d.res_info[res].final_layout;
    if (x->write_node != HDI_NONE && x->reads == HDI_NONE &&
        !(v->node[x->write_node].flags & (HV_RELEASE | HV_ACQUIRE))) {
        hd_plan_barrier b = v->p.barriers[v->node[x->write_node].barrier];
        b.new_layout = layout;
        hdi_verify_change(v, v->node[x->write_node].barrier, &b);
        return;
    }
    bool same = true;
    for (uint32_t s = v->seg_begin[res]; s < v->seg_begin[res + 1]; s++)
        same &= v->seg[s].layout == x->layout;
    uint32_t pair = v->d.res_flags[res] & HDI_RES_HAS_HISTORY ? v->plan_res[v->d.res_pair[res]] : HDI_NONE;
    bool alone = !(v->d.res_flags[res] & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY)) ||
                 (pair != HDI_NONE && v->p.resources[pair].final_layout == x->layout);
    if (!asked && same && x->layout && alone) {
        repair_of(v, HD_REPAIR_FINAL_LAYOUT, entry)->value = x->layout;
        return;
    }
    /* What is not defined has no owner: it begins where it must end. */
    const hd_plan_resource *plan = &v->p.resources[entry];
    bool starts = !x->layout && !(plan->flags & HD_PLAN_CONCURRENT);
    uint32_t family = starts ? plan->final_family : holder_of(v, res, seg);
    uint32_t submit = last_submit(v, seg, family, v->p.submit_count);
    if (submit == HDI_NONE)
        return;
    hd_plan_barrier b = image_barrier(v, res, seg, v->p.submits[submit].queue);
    b.old_layout = x->layout;
    b.new_layout = layout;
    b.range = range_of(v, res, seg);
    add_at_end(v, submit, &b);
}
