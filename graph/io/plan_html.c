#include <inttypes.h>
#include <math.h>

#include "fgt_words.h"
#include "plan_page.h"
#include "plan_view.h"

/* A plan as one self-contained page: the page's own text (graph/io/page/, see the README there), with the declaration,
 * the plan and its reasons as JSON in a script element that runs nothing. Rows of numbers, as the page counts on: each
 * table says which columns it has. Everything else, drawing and words included, is the page's. */

typedef struct writer {
    const hdi_decl *decl;
    const hd_plan_view *view;
    const hd_plan_reasons *reasons;
    FILE *f;
    uint32_t column;
} writer;

/* ---- rows ---- */

static void next_column(writer *w)
{
    if (w->column++)
        fputc(',', w->f);
}

/* A number of JavaScript holds 53 bits: what has more is written as a string. */
static void put(writer *w, uint64_t value)
{
    next_column(w);
    fprintf(w->f, value >> 53 ? "\"%" PRIu64 "\"" : "%" PRIu64, value);
}

static void put_index(writer *w, uint32_t index)
{
    next_column(w);
    if (index == HD_NONE)
        fputs("-1", w->f);
    else
        fprintf(w->f, "%" PRIu32, index);
}

static void put_name(writer *w, const char *name)
{
    next_column(w);
    if (name)
        hdi_write_json_string(name, w->f);
    else
        fputs("null", w->f);
}

static void put_why(writer *w, const hd_why *why)
{
    put(w, why->code);
    put_index(w, why->pass);
    put_index(w, why->other_pass);
    put_index(w, why->resource);
    put_index(w, why->other_resource);
}
#define WHY "code,pass,other_pass,resource,other_resource"

static void put_range(writer *w, const hd_range *range, bool is_buffer)
{
    put(w, is_buffer ? range->offset : range->mip_base);
    put(w, is_buffer ? range->bytes : range->mip_count);
    put(w, is_buffer ? 0 : range->layer_base);
    put(w, is_buffer ? 0 : range->layer_count);
    put(w, is_buffer ? 0 : range->aspect);
}
#define RANGE "first,count,layer,layers,aspect"

static bool is_buffer(const writer *w, uint32_t res)
{
    return res >= w->decl->res_count || w->decl->res_flags[res] & HDI_RES_BUFFER;
}

typedef void (*row_fn)(writer *w, uint32_t index);

static void write_table(writer *w, const char *name, const char *columns, uint32_t count, row_fn row)
{
    fprintf(w->f, ",\n\"%s\":{\"columns\":\"%s\",\"rows\":[", name, columns);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? ",\n[" : "\n[", w->f);
        w->column = 0;
        row(w, i);
        fputc(']', w->f);
    }
    fputs("]}", w->f);
}

/* ---- the declaration ---- */

static void pass_row(writer *w, uint32_t p)
{
    const hdi_decl *decl = w->decl;
    put_name(w, decl->pass_exec[p].name);
    put(w, decl->pass_type[p]);
    put(w, decl->pass_flags[p]);
    put(w, decl->pass_pin[p]);
    next_column(w);
    fprintf(w->f, "%.9g", (double)decl->pass_cost[p]);
    put(w, decl->pass_use_begin[p]);
}

static void use_row(writer *w, uint32_t u)
{
    const hdi_decl *decl = w->decl;
    const hdi_use_exec *exec = &decl->use_exec[u];
    put(w, decl->use_res[u]);
    put(w, decl->use_access[u]);
    put_index(w, decl->use_range[u]);
    put(w, hdi_load_op(decl, u));
    put_index(w, exec->resolve ? exec->resolve - 1u : HD_NONE);
}

static void range_row(writer *w, uint32_t r)
{
    put_range(w, &w->decl->range[r], is_buffer(w, w->decl->range_res[r]));
}

static void access_row(writer *w, uint32_t a)
{
    const hdi_access_info *info = &w->decl->access[a];
    put_name(w, info->name);
    put(w, info->stages);
    put(w, info->access);
    put(w, info->layout);
    put(w, info->reads);
    put(w, info->writes);
    put(w, info->attachment);
}

static void resource_row(writer *w, uint32_t r)
{
    const hdi_decl *decl = w->decl;
    const hdi_res_info *info = &decl->res_info[r];
    put_name(w, info->name);
    put(w, decl->res_flags[r]);
    put_index(w, decl->res_pair[r]);
    const uint32_t size[] = {info->width, info->height, info->depth,  info->mips,
                             info->layers, info->samples, info->format, hdi_res_usage(decl, r)};
    for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++)
        put(w, size[i]);
    put(w, info->bytes);
}

static void write_declaration(writer *w)
{
    const hdi_decl *decl = w->decl;
    write_table(w, "access", "name,stages,access,layout,reads,writes,attachment", decl->access_count, access_row);
    write_table(w, "passes", "name,type,flags,pin,cost,use_begin", decl->pass_count, pass_row);
    write_table(w, "uses", "res,access,range,load,resolve", decl->use_count, use_row);
    write_table(w, "ranges", RANGE, decl->range_count, range_row);
    write_table(w, "resources", "name,flags,pair,width,height,depth,mips,layers,samples,format,usage,bytes",
                decl->res_count, resource_row);
}

/* ---- the plan ---- */

static void queue_row(writer *w, uint32_t q)
{
    put(w, w->view->queues[q].kind);
    put_index(w, w->view->queues[q].family);
}

static void heap_row(writer *w, uint32_t h)
{
    put(w, w->view->heaps[h].bytes);
    put(w, w->view->heaps[h].memory);
    put(w, w->view->heaps[h].flags);
}

static void placed_row(writer *w, uint32_t i)
{
    const hd_plan_resource *r = &w->view->resources[i];
    put(w, r->id);
    put_index(w, r->heap);
    put(w, r->offset);
    put(w, r->bytes);
    put(w, r->final_layout);
    put_index(w, r->first_family);
    put_index(w, r->final_family);
    put(w, r->flags);
    put_why(w, &w->reasons->resources[i]);
}

static void submit_row(writer *w, uint32_t s)
{
    const hd_plan_submit *submit = &w->view->submits[s];
    put(w, submit->queue);
    put(w, submit->wait_begin);
    put(w, submit->wait_count);
    put(w, submit->command_begin);
    put(w, submit->command_count);
    put(w, submit->signal_value);
    put(w, submit->signal_stages);
    put_why(w, &w->reasons->submits[s]);
}

static void submit_end_row(writer *w, uint32_t s)
{
    put_why(w, &w->reasons->submit_ends[s]);
}

static void wait_row(writer *w, uint32_t i)
{
    put(w, w->view->waits[i].queue);
    put(w, w->view->waits[i].value);
    put(w, w->view->waits[i].stages);
    put_why(w, &w->reasons->waits[i]);
}

static void command_row(writer *w, uint32_t c)
{
    put(w, w->view->commands[c].kind);
    put(w, w->view->commands[c].index);
    put(w, w->view->commands[c].event);
}

static void batch_row(writer *w, uint32_t b)
{
    put(w, w->view->batches[b].barrier_begin);
    put(w, w->view->batches[b].barrier_count);
}

static void barrier_row(writer *w, uint32_t i)
{
    const hd_plan_barrier *b = &w->view->barriers[i];
    put(w, b->src_stages);
    put(w, b->src_access);
    put(w, b->dst_stages);
    put(w, b->dst_access);
    put_index(w, b->resource);
    put(w, b->old_layout);
    put(w, b->new_layout);
    put_index(w, b->src_family);
    put_index(w, b->dst_family);
    put_range(w, &b->range, is_buffer(w, b->resource));
    put_why(w, &w->reasons->barriers[i]);
}

static void scope_row(writer *w, uint32_t s)
{
    const hd_plan_scope *scope = &w->view->scopes[s];
    put(w, scope->command_begin);
    put(w, scope->command_count);
    put(w, scope->attachment_begin);
    put(w, scope->attachment_count);
}

static void attachment_row(writer *w, uint32_t a)
{
    const hd_plan_attachment *attachment = &w->view->attachments[a];
    put(w, attachment->use);
    put(w, attachment->load);
    put(w, attachment->store);
    put_index(w, attachment->resolve);
}

static void culled_row(writer *w, uint32_t i)
{
    put(w, w->view->culled[i]);
    put_why(w, &w->reasons->culled[i]);
}

static void write_plan(writer *w)
{
    const hd_plan_view *view = w->view;
    write_table(w, "queues", "kind,family", view->queue_count, queue_row);
    write_table(w, "heaps", "bytes,memory,flags", view->heap_count, heap_row);
    write_table(w, "placed", "id,heap,offset,bytes,final_layout,first_family,final_family,flags," WHY,
                view->resource_count, placed_row);
    write_table(w, "submits",
                "queue,wait_begin,wait_count,command_begin,command_count,signal_value,signal_stages," WHY,
                view->submit_count, submit_row);
    write_table(w, "submit_ends", WHY, view->submit_count, submit_end_row);
    write_table(w, "waits", "queue,value,stages," WHY, view->wait_count, wait_row);
    write_table(w, "commands", "kind,index,event", view->command_count, command_row);
    write_table(w, "batches", "barrier_begin,barrier_count", view->batch_count, batch_row);
    write_table(w, "barriers",
                "src_stages,src_access,dst_stages,dst_access,res,old_layout,new_layout,src_family,dst_family," RANGE
                "," WHY,
                view->barrier_count, barrier_row);
    write_table(w, "scopes", "command_begin,command_count,attachment_begin,attachment_count", view->scope_count,
                scope_row);
    write_table(w, "attachments", "use,load,store,resolve", view->attachment_count, attachment_row);
    write_table(w, "culled", "id," WHY, view->culled_count, culled_row);
}

/* The words behind the codes of reasons, list by list. */
static void write_words(writer *w)
{
    static const struct {
        const char *list;
        hdi_why_kind kind;
        uint32_t count;
    } lists[] = {{"reason", HDI_WHY_BARRIER, HD_REASON_COUNT},
                 {"cut", HDI_WHY_CUT, HD_CUT_COUNT},
                 {"placing", HDI_WHY_PLACING, HD_PLACING_COUNT},
                 {"cull", HDI_WHY_CULL, HD_CULL_COUNT}};
    fputs(",\n\"words\":{", w->f);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        fprintf(w->f, "%s\"%s\":[", i ? "," : "", lists[i].list);
        w->column = 0;
        for (uint32_t code = 0; code < lists[i].count; code++)
            put_name(w, hdi_why_word(lists[i].kind, code));
        fputc(']', w->f);
    }
    fputc('}', w->f);
}

static void write_stats(writer *w, const hd_plan_stats *stats)
{
    fprintf(w->f,
            ",\n\"stats\":{\"heap_bytes\":%" PRIu64 ",\"unaliased_bytes\":%" PRIu64 ",\"peak_live_bytes\":%" PRIu64
            ",\"makespan_us\":%.9g,\"critical_path_us\":%.9g,\"batches\":%" PRIu32 "}",
            stats->heap_bytes, stats->unaliased_bytes, stats->peak_live_bytes, stats->makespan_us,
            stats->critical_path_us, stats->barrier_batches);
}

/* ---- all of it ---- */

/* A plan with what is worked out about it. */
typedef struct shown {
    const hd_graph *graph;
    hdi_decl decl;
    hd_plan_view view;
    hd_plan_stats stats;
    const hd_plan_reasons *reasons;
} shown;

static hd_result look_at(const hd_graph *graph, const hd_plan *plan, shown *out)
{
    *out = (shown){.graph = graph, .decl = hdi_graph_decl(graph), .view = hd_plan_read(plan)};
    hd_result result = hd_plan_stats_get(graph, plan, 0, &out->stats);
    return result == HD_OK ? hd_plan_explain(graph, plan, hdi_graph_allocator(graph), &out->reasons) : result;
}

static void forget(shown *s)
{
    if (s->graph)
        hd_plan_reasons_free(s->reasons, hdi_graph_allocator(s->graph));
}

/* An object that is left open. */
static void write_shown(const shown *s, FILE *f)
{
    writer w = {.decl = &s->decl, .view = &s->view, .reasons = s->reasons, .f = f};
    fputs("{\"name\":", f);
    hdi_write_json_string(hd_graph_name(s->graph), f);
    fprintf(f, ",\"hash\":\"%016" PRIx64 "\"", s->view.hash);
    write_stats(&w, &s->stats);
    write_words(&w);
    write_declaration(&w);
    write_plan(&w);
}

/* From the first begin on. */
static void write_spans(const hd_page_desc *desc, FILE *f)
{
    double first = desc->spans[0].begin_us;
    for (uint32_t i = 1; i < desc->span_count; i++)
        first = desc->spans[i].begin_us < first ? desc->spans[i].begin_us : first;
    fputs(",\n\"spans\":{\"columns\":\"pass,begin,end\",\"rows\":[", f);
    for (uint32_t i = 0; i < desc->span_count; i++)
        fprintf(f, "%s[%" PRIu32 ",%.9g,%.9g]", i ? ",\n" : "\n", desc->spans[i].pass,
                desc->spans[i].begin_us - first, desc->spans[i].end_us - first);
    fputs("]}", f);
}

static void write_base64(const uint8_t *bytes, size_t count, FILE *f)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t bits = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? bytes[i + 2] : 0u);
        const char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63], left > 1 ? digits[bits >> 6 & 63] : '=',
                              left > 2 ? digits[bits & 63] : '='};
        fwrite(four, 1, sizeof(four), f);
    }
}

static void write_pictures(const hd_page_desc *desc, FILE *f)
{
    fputs(",\n\"pictures\":{\"columns\":\"pass,res,width,height,least,most,rgba\",\"rows\":[", f);
    for (uint32_t i = 0; i < desc->picture_count; i++) {
        const hd_page_picture *p = &desc->pictures[i];
        fprintf(f, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%.6g,%.6g,\"", i ? ",\n" : "\n", p->pass,
                p->resource, p->width, p->height, (double)p->least, (double)p->most);
        write_base64(p->rgba, (size_t)p->width * p->height * 4, f);
        fputs("\"]", f);
    }
    fputs("]}", f);
}

static bool are_good(const hd_page_picture *pictures, uint32_t count, const hd_graph *graph)
{
    enum { MOST = 512 };
    for (uint32_t i = 0; i < count; i++) {
        const hd_page_picture *p = &pictures[i];
        if (p->pass >= hd_graph_pass_count(graph) || p->resource >= hd_graph_resource_count(graph) || !p->rgba ||
            p->width - 1u >= MOST || p->height - 1u >= MOST || !isfinite(p->least) || !isfinite(p->most))
            return false;
    }
    return true;
}

static bool is_good(const hd_page_desc *desc, const hd_graph *graph)
{
    if (!desc->before != !desc->before_graph || (desc->span_count && !desc->spans) ||
        (desc->picture_count && !desc->pictures) || !are_good(desc->pictures, desc->picture_count, graph))
        return false;
    for (uint32_t i = 0; i < desc->span_count; i++) {
        const hd_page_span *span = &desc->spans[i];
        if (span->pass >= hd_graph_pass_count(graph) || !isfinite(span->begin_us) || !isfinite(span->end_us) ||
            span->end_us < span->begin_us)
            return false;
    }
    return true;
}

/* The data, between what stands before and behind it. Nothing is written unless all of it can be. */
static hd_result write_between(const hd_graph *graph, const hd_plan *plan, const hd_page_desc *desc,
                               const hdi_page *page, FILE *f)
{
    static const hd_page_desc nothing;
    desc = desc ? desc : &nothing;
    if (!is_good(desc, graph))
        return HD_INVALID_ARGUMENT;
    shown now = {0}, before = {0};
    hd_result result = look_at(graph, plan, &now);
    if (result == HD_OK && desc->before)
        result = look_at(desc->before_graph, desc->before, &before);
    if (result == HD_OK) {
        fwrite(page->text, 1, page->data_at, f);
        write_shown(&now, f);
        if (desc->span_count)
            write_spans(desc, f);
        if (desc->picture_count)
            write_pictures(desc, f);
        if (desc->before) {
            fputs(",\n\"before\":", f);
            write_shown(&before, f);
            fputc('}', f);
        }
        fputc('}', f);
        fwrite(page->text + page->data_at, 1, page->bytes - page->data_at, f);
        result = fflush(f) == 0 && !ferror(f) ? HD_OK : HD_IO;
    }
    forget(&now);
    forget(&before);
    return result;
}

hd_result hdi_plan_write_page(const hd_graph *graph, const hd_plan *plan, const hd_page_desc *desc,
                              const hdi_page *page, FILE *f)
{
    return page->bytes ? write_between(graph, plan, desc, page, f) : HD_NO_PAGE;
}

hd_result hdi_plan_write_data(const hd_graph *graph, const hd_plan *plan, const hd_page_desc *desc, FILE *f)
{
    static const hdi_page none = {.text = (const unsigned char *)""};
    return write_between(graph, plan, desc, &none, f);
}

hd_result hd_plan_write_page(const hd_graph *graph, const hd_plan *plan, const hd_page_desc *desc, FILE *f)
{
    if (!graph || !plan || !f)
        return HD_INVALID_ARGUMENT;
    return hdi_plan_write_page(graph, plan, desc, &hdi_plan_page, f);
}

hd_result hd_plan_write_html(const hd_graph *graph, const hd_plan *plan, FILE *f)
{
    return hd_plan_write_page(graph, plan, NULL, f);
}
