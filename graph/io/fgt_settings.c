#include "fgt_settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A compile asks for needs by what it knows of a resource (hd_resource_info), and gets one answer for one info. So the
 * needs of a text are a table by info. O(needs * log needs). */

/* ---- reading ---- */

bool hdi_fgt_add_queue(hdi_fgt_settings *s, hdi_fgt_text *t, hd_queue_kind kind, uint32_t family)
{
    if (s->queue_count == HD_MAX_QUEUES - 1)
        return hdi_fgt_fail(t, HD_PARSE, "more than %d queues", HD_MAX_QUEUES - 1);
    s->queues[s->queue_count++] = (hd_queue_desc){kind, family};
    return true;
}

bool hdi_fgt_read_option(hdi_fgt_settings *s, hdi_fgt_text *t)
{
    if (s->has_option)
        return hdi_fgt_fail(t, HD_PARSE, "a second 'option' line");
    s->has_option = true;
    return hdi_fgt_read_words(t, 1, &hdi_fgt_of_option, &s->option);
}

bool hdi_fgt_add_need(hdi_fgt_settings *s, hdi_fgt_text *t, const hd_allocator *allocator, uint32_t resource_count)
{
    const uint64_t most = UINT64_C(1) << 45;
    hdi_fgt_need_line line = {.line = t->line};
    if (!hdi_fgt_expect(t, 5, "need RESOURCE BYTES ALIGNMENT HEAP") || !hdi_fgt_u32(t, 1, "resource", &line.resource) ||
        !hdi_fgt_number(t, &t->fields[2], most, "bytes", &line.need.bytes) ||
        !hdi_fgt_number(t, &t->fields[3], most, "alignment", &line.need.alignment) ||
        !hdi_fgt_u32(t, 4, "heap", &line.need.heap))
        return false;
    if (t->field_count > 5)
        return hdi_fgt_fail(t, HD_PARSE, "a wrong count of fields: expected 'need RESOURCE BYTES ALIGNMENT HEAP'");
    if (line.resource >= resource_count)
        return hdi_fgt_fail(t, HD_PARSE, "resource %u is not declared", line.resource);
    const uint64_t alignment = line.need.alignment;
    if (line.need.bytes == 0 || alignment == 0 || alignment & (alignment - 1) || line.need.heap >= 64)
        return hdi_fgt_fail(t, HD_PARSE, "bytes is 0, the alignment no power of two, or the heap above 63");
    if (hdi_grow(allocator, (void **)&s->needs, &s->need_capacity, s->need_count + 1, sizeof(line)) != HD_OK)
        return hdi_fgt_no_memory(t);
    s->needs[s->need_count++] = line;
    return true;
}

static int compare_infos(const hd_resource_info *a, const hd_resource_info *b)
{
    const uint64_t x[] = {a->is_buffer, a->host_visible, a->concurrent_possible,
                          a->width,     a->height,       a->depth,
                          a->format,    a->mips,         a->layers,
                          a->samples,   a->flags,        a->usage,
                          a->bytes,     a->view_format};
    const uint64_t y[] = {b->is_buffer, b->host_visible, b->concurrent_possible,
                          b->width,     b->height,       b->depth,
                          b->format,    b->mips,         b->layers,
                          b->samples,   b->flags,        b->usage,
                          b->bytes,     b->view_format};
    return memcmp(x, y, sizeof(x));
}

static int compare_needs(const void *a, const void *b)
{
    const hdi_fgt_need *x = a, *y = b;
    int order = compare_infos(&x->info, &y->info);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* hd_size_fn; what the text does not say is as the format has it. */
static hd_result size_of(const hd_resource_info *info, hd_memory_need *need, void *user)
{
    const hdi_fgt_lines *lines = user;
    uint32_t begin = 0, end = lines->need_count;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        int order = compare_infos(&lines->need[middle].info, info);
        if (order == 0) {
            *need = lines->need[middle].need;
            return HD_OK;
        }
        *(order < 0 ? &begin : &end) = order < 0 ? middle + 1 : middle;
    }
    hdi_default_need(info, need);
    return HD_OK;
}

static bool keep_needs(const hdi_fgt_settings *s, hdi_fgt_text *t, hd_graph *graph, hdi_fgt_lines *lines)
{
    const hdi_decl decl = hdi_graph_decl(graph);
    lines->need = hdi_alloc(hdi_graph_allocator(graph), s->need_count * sizeof(*lines->need), sizeof(uint64_t));
    if (!lines->need)
        return hdi_fgt_no_memory(t);
    lines->need_count = s->need_count;
    for (uint32_t i = 0; i < s->need_count; i++) {
        lines->need[i] = (hdi_fgt_need){.need = s->needs[i].need, .line = s->needs[i].line};
        hdi_resource_info(&decl, s->needs[i].resource, &lines->need[i].info);
    }
    qsort(lines->need, lines->need_count, sizeof(*lines->need), compare_needs);
    for (uint32_t i = 1; i < lines->need_count; i++) {
        const hdi_fgt_need *a = &lines->need[i - 1], *b = &lines->need[i];
        if (compare_infos(&a->info, &b->info) != 0 ||
            (a->need.bytes == b->need.bytes && a->need.alignment == b->need.alignment && a->need.heap == b->need.heap))
            continue;
        t->line = b->line;
        return hdi_fgt_fail(t, HD_PARSE, "another need than on line %u, of a resource that is declared alike", a->line);
    }
    lines->desc.size = size_of;
    lines->desc.size_user = lines;
    return true;
}

bool hdi_fgt_keep_settings(const hdi_fgt_settings *s, hdi_fgt_text *t, hd_graph *graph)
{
    hdi_fgt_lines *lines = hdi_graph_fgt_lines(graph);
    memcpy(lines->queues, s->queues, sizeof(lines->queues));
    lines->desc = (hd_compile_desc){.queues = s->queue_count ? lines->queues : NULL,
                                    .queue_count = s->queue_count,
                                    .order = (hd_order)s->option.order,
                                    .memory_budget = s->option.memory_budget,
                                    .packing_effort = s->option.packing_effort,
                                    .handoff_us = s->option.handoff,
                                    .merge_rendering = s->option.merge_rendering};
    return s->need_count == 0 || keep_needs(s, t, graph, lines);
}

void hdi_fgt_free_settings(hdi_fgt_settings *s, const hd_allocator *allocator)
{
    hdi_free(allocator, s->needs, s->need_capacity * sizeof(*s->needs));
}

const hd_compile_desc *hd_graph_fgt_desc(const hd_graph *graph)
{
    static const hd_compile_desc none;
    if (!graph || hdi_graph_is_list(graph))
        return &none;
    return &hdi_graph_fgt_lines((hd_graph *)graph)->desc; /* it is not changed here */
}

/* ---- writing ---- */

static void write_needs(const hdi_decl *decl, const hd_compile_desc *desc, FILE *stream)
{
    for (uint32_t r = 0; r < decl->res_count; r++) {
        hd_resource_info info;
        hd_memory_need need = {0};
        if (decl->res_flags[r] & HDI_RES_EXTERNAL || hdi_is_token(decl, r))
            continue;
        hdi_resource_info(decl, r, &info);
        if (desc->size(&info, &need, desc->size_user) == HD_OK) /* else compile says why, if it is used at all */
            fprintf(stream, "need %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu32 "\n", r, need.bytes, need.alignment,
                    need.heap);
    }
}

void hdi_fgt_write_settings(const hdi_decl *decl, const hd_compile_desc *desc, FILE *stream)
{
    const hdi_fgt_option none = {0}, option = {.order = desc->order,
                                               .packing_effort = desc->packing_effort,
                                               .memory_budget = desc->memory_budget,
                                               .handoff = desc->handoff_us,
                                               .merge_rendering = desc->merge_rendering};
    for (uint32_t q = 0; desc->queues && q < desc->queue_count; q++)
        fprintf(stream, "queue %s %" PRIu32 "\n", hdi_fgt_kinds[desc->queues[q].kind], desc->queues[q].family);
    if (option.order != none.order || option.packing_effort || option.memory_budget || option.handoff > 0 ||
        option.merge_rendering) {
        fputs("option", stream);
        hdi_fgt_write_words(&hdi_fgt_of_option, &option, stream);
        fputc('\n', stream);
    }
    if (desc->size)
        write_needs(decl, desc, stream);
}
