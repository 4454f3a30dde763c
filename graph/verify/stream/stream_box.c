#include "stream_verify.h"

/* Boxes of texels: whether two meet, and which content of a subresource is defined by parts. What was written in boxes
 * is a list, the newest first: a question for a box goes through it and takes from the box what each of them answers,
 * in up to six slabs around it. Boxes that a newer one holds go out of the list, and one that continues the newest one
 * (rows of tiles, the usual way) makes it larger. A question costs the boxes that it meets times the slabs that they
 * leave; one that takes too long counts as defined, since a wrong complaint is worse here than a missed one. */

enum { MOST_STEPS = 100000, MOST_DEPTH = 200 };

static uint64_t end_of(const hd_stream_box *box, int axis)
{
    return (uint64_t)box->offset[axis] + box->extent[axis];
}

bool hdi_box_meets(const hd_stream_box *a, const hd_stream_box *b)
{
    for (int i = 0; i < 3 && a->extent[0] && b->extent[0]; i++) {
        if (a->offset[i] >= end_of(b, i) || b->offset[i] >= end_of(a, i))
            return false;
    }
    return true;
}

bool hdi_box_holds(const hd_stream_box *outer, const hd_stream_box *inner)
{
    if (!outer->extent[0] || !inner->extent[0])
        return !outer->extent[0];
    for (int i = 0; i < 3; i++) {
        if (inner->offset[i] < outer->offset[i] || end_of(inner, i) > end_of(outer, i))
            return false;
    }
    return true;
}

/* a becomes both, where they are one box. */
static bool join(hd_stream_box *a, const hd_stream_box *b)
{
    int along = -1;
    for (int i = 0; i < 3; i++) {
        if (a->offset[i] == b->offset[i] && a->extent[i] == b->extent[i])
            continue;
        if (along >= 0 || (end_of(a, i) != b->offset[i] && end_of(b, i) != a->offset[i]) ||
            a->extent[i] > UINT32_MAX - b->extent[i])
            return false;
        along = i;
    }
    if (along < 0)
        return true;
    if (b->offset[along] < a->offset[along])
        a->offset[along] = b->offset[along];
    a->extent[along] += b->extent[along];
    return true;
}

static hd_result add_part(hdi_cverify *c, hdi_cseg *seg, const hd_stream_box *box, bool defined)
{
    if (!hdi_arena_grow(&c->v.arena, &c->part, &c->part_room, c->part_count, c->part_count + 1, sizeof(*c->part)))
        return HD_OUT_OF_MEMORY;
    c->part[c->part_count] = (hdi_cpart){*box, seg->parts, defined};
    seg->parts = c->part_count++;
    return HD_OK;
}

hd_result hdi_cverify_define(hdi_cverify *c, hdi_cseg *seg, const hd_stream_box *box, bool defined)
{
    if (!box->extent[0]) {
        seg->defined = defined;
        seg->parts = HDI_NONE;
        return HD_OK;
    }
    if (seg->parts == HDI_NONE && seg->defined == defined)
        return HD_OK;
    for (uint32_t *at = &seg->parts; *at != HDI_NONE;) {
        hdi_cpart *part = &c->part[*at];
        if (hdi_box_holds(box, &part->box))
            *at = part->next;
        else
            at = &part->next;
    }
    if (seg->parts != HDI_NONE && c->part[seg->parts].defined == defined &&
        (hdi_box_holds(&c->part[seg->parts].box, box) || join(&c->part[seg->parts].box, box)))
        return HD_OK;
    return add_part(c, seg, box, defined);
}

typedef struct question {
    const hdi_cverify *c;
    bool otherwise; /* what holds where no part says anything */
    uint32_t steps;
} question;

static bool ask(question *q, hd_stream_box box, uint32_t part, int depth)
{
    if (depth > MOST_DEPTH)
        return true;
    for (; part != HDI_NONE; part = q->c->part[part].next) {
        const hdi_cpart *p = &q->c->part[part];
        if (q->steps++ > MOST_STEPS)
            return true;
        if (!hdi_box_meets(&p->box, &box))
            continue;
        if (!p->defined)
            return false;
        if (hdi_box_holds(&p->box, &box))
            return true;
        /* What lies outside: slabs along each axis, of what the axes before left. The last one goes on in this loop. */
        hd_stream_box slabs[6], rest = box;
        int count = 0;
        for (int i = 0; i < 3; i++) {
            uint64_t begin = p->box.offset[i], end = end_of(&p->box, i), last = end_of(&rest, i);
            if (rest.offset[i] < begin) {
                slabs[count] = rest;
                slabs[count++].extent[i] = (uint32_t)(begin - rest.offset[i]);
                rest.offset[i] = (uint32_t)begin;
            }
            if (end < last) {
                slabs[count] = rest;
                slabs[count].offset[i] = (uint32_t)end;
                slabs[count++].extent[i] = (uint32_t)(last - end);
                last = end;
            }
            rest.extent[i] = (uint32_t)(last - rest.offset[i]);
        }
        for (int s = 0; s + 1 < count; s++) {
            if (!ask(q, slabs[s], p->next, depth + 1))
                return false;
        }
        box = slabs[count - 1];
    }
    return q->otherwise;
}

bool hdi_cverify_defined(const hdi_cverify *c, const hdi_cseg *seg, const hd_stream_box *box)
{
    if (box->extent[0]) {
        question q = {c, seg->defined, 0};
        return ask(&q, *box, seg->parts, 0);
    }
    bool defined = seg->defined;
    for (uint32_t part = seg->parts; part != HDI_NONE && !defined; part = c->part[part].next)
        defined = c->part[part].defined;
    return defined;
}
