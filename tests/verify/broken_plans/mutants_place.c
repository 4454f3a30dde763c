#include "mutants.h"

/* Mutants of tables: where resources lie, what they are left in, attachments and rendering scopes. */

static hd_plan_resource *resource_at(hdt_sketch *s, uint32_t i)
{
    return i < s->resource_count ? &s->resources[i] : NULL;
}

#define RESOURCE_OR_RETURN(at)                                                                                         \
    hd_plan_resource *r = resource_at(sketch, at);                                                                     \
    (void)decl;                                                                                                        \
    if (!r)                                                                                                            \
    return HDT_NO_MORE
#define PLACED_OR_RETURN(at)                                                                                           \
    RESOURCE_OR_RETURN(at);                                                                                            \
    if (r->heap == HD_NONE)                                                                                            \
    return HDT_NOT_THERE

static uint64_t alignment(const hd_plan_resource *r)
{
    return r->flags & HD_PLAN_IMAGE ? HDI_IMAGE_ALIGNMENT : HDI_BUFFER_ALIGNMENT;
}

static bool fits(const hdt_sketch *s, const hd_plan_resource *r, uint64_t offset)
{
    return offset + r->bytes <= s->heaps[r->heap].bytes;
}

HDT_MUTANT_MAKER(hdt_put_over)
{
    uint32_t count = sketch->resource_count ? sketch->resource_count : 1;
    PLACED_OR_RETURN(n / count);
    const hd_plan_resource *to = &sketch->resources[n % count];
    if (to->heap != r->heap || to->offset == r->offset || !fits(sketch, r, to->offset) || to->offset % alignment(r))
        return HDT_NOT_THERE;
    r->offset = to->offset;
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_shift_place)
{
    PLACED_OR_RETURN(n / 2);
    uint64_t step = alignment(r);
    if (n % 2 ? r->offset < step : !fits(sketch, r, r->offset + step))
        return HDT_NOT_THERE;
    r->offset += n % 2 ? -step : step;
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_misalign)
{
    PLACED_OR_RETURN(n);
    r->offset += fits(sketch, r, r->offset + 8) ? 8 : r->offset ? UINT64_C(-8) : 8;
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_shrink)
{
    PLACED_OR_RETURN(n);
    r->bytes--;
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_other_heap)
{
    uint32_t count = sketch->heap_count ? sketch->heap_count : 1;
    PLACED_OR_RETURN(n / count);
    uint32_t heap = n % count;
    if (heap == r->heap)
        return HDT_NOT_THERE;
    r->heap = heap;
    r->offset = 0;
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_short_heap)
{
    (void)decl;
    if (n >= sketch->heap_count)
        return HDT_NO_MORE;
    sketch->heaps[n].bytes--;
    return HDT_MADE;
}

/* ---- states ---- */

enum { LAYOUTS = 7 };

HDT_MUTANT_MAKER(hdt_final_layout)
{
    RESOURCE_OR_RETURN(n / LAYOUTS);
    uint32_t layout = 1 + n % LAYOUTS;
    if (!r->final_layout || r->final_layout == layout)
        return HDT_NOT_THERE;
    r->final_layout = layout;
    return HDT_MADE;
}

static hdt_made other_family(const hdt_sketch *s, uint32_t *family, uint32_t queue)
{
    uint32_t to = queue < s->queue_count ? s->queues[queue].family : HD_NONE;
    if (*family == HD_NONE || to == HD_NONE || to == *family)
        return HDT_NOT_THERE;
    for (uint32_t q = 0; q < queue; q++)
        if (s->queues[q].family == to)
            return HDT_NOT_THERE;
    *family = to;
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_final_family)
{
    RESOURCE_OR_RETURN(n / HD_MAX_QUEUES);
    return other_family(sketch, &r->final_family, n % HD_MAX_QUEUES);
}

HDT_MUTANT_MAKER(hdt_first_family)
{
    RESOURCE_OR_RETURN(n / HD_MAX_QUEUES);
    return other_family(sketch, &r->first_family, n % HD_MAX_QUEUES);
}

HDT_MUTANT_MAKER(hdt_other_sharing)
{
    RESOURCE_OR_RETURN(n);
    r->flags ^= HD_PLAN_CONCURRENT;
    return HDT_MADE;
}

/* ---- attachments ---- */

#define ATTACHMENT_OR_RETURN(at)                                                                                       \
    (void)decl;                                                                                                        \
    if ((at) >= sketch->attachment_count)                                                                              \
        return HDT_NO_MORE;                                                                                            \
    hd_plan_attachment *a = &sketch->attachments[at]

HDT_MUTANT_MAKER(hdt_not_loaded)
{
    ATTACHMENT_OR_RETURN(n);
    if (a->load == 2)
        return HDT_NOT_THERE;
    a->load = 2; /* DONT_CARE */
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_not_stored)
{
    ATTACHMENT_OR_RETURN(n);
    if (a->store != 0)
        return HDT_NOT_THERE;
    a->store = 1; /* DONT_CARE */
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_stored_in_vain)
{
    ATTACHMENT_OR_RETURN(n);
    if (a->store == 0)
        return HDT_NOT_THERE;
    a->store = 0;
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_wrong_resolve)
{
    ATTACHMENT_OR_RETURN(n);
    a->resolve = a->resolve == HD_NONE ? 0 : HD_NONE;
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_other_attachment)
{
    ATTACHMENT_OR_RETURN(n);
    a->use++;
    return HDT_MADE;
}

/* ---- rendering scopes ---- */

/* Two passes of one scope in two, with a barrier between them that does nothing. */
HDT_MUTANT_MAKER(hdt_split_scope)
{
    (void)decl;
    if (n >= sketch->item_count)
        return HDT_NO_MORE;
    const hdt_item *item = &sketch->items[n];
    if (item->kind != HDT_PASS || item->scope == HD_NONE || item[-1].kind != HDT_PASS || item[-1].scope != item->scope)
        return HDT_NOT_THERE;
    hdt_sketch_insert(sketch, n,
                      (hdt_item){.kind = HDT_BARRIER,
                                 .barrier = {.resource = HD_NONE, .src_family = HD_NONE, .dst_family = HD_NONE}});
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_join_scopes)
{
    (void)decl;
    if (n >= sketch->item_count)
        return HDT_NO_MORE;
    hdt_item *item = &sketch->items[n];
    if (item->kind != HDT_PASS || item->scope == HD_NONE || item[-1].kind != HDT_PASS || item[-1].scope == HD_NONE ||
        item[-1].scope == item->scope)
        return HDT_NOT_THERE;
    uint32_t from = item->scope, to = item[-1].scope;
    for (; n < sketch->item_count && sketch->items[n].kind == HDT_PASS && sketch->items[n].scope == from; n++)
        sketch->items[n].scope = to;
    return HDT_MADE;
}
