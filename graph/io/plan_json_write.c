#include <inttypes.h>
#include <stdio.h>

#include "fgt_words.h"
#include "plan_view.h"

/* Writes a plan as JSON, a line an element, so that two plans can be compared by eye and by diff. Integers of 64 bits
 * are written in full. Beyond the format: names, what a heap is for, the plan's hash, rendering scopes and reasons.
 * What of these stands in the plan ("rendering" of the pass that begins a scope; reason, reason_pass, reason_resource,
 * cut, placing, tenant) is read back; "why" and "culled_why" are worked out. */

typedef struct writer {
    const hdi_decl *decl;
    const hd_plan_view *view;
    const hd_plan_reasons *reasons;
    uint32_t scope; /* the next to be written */
} writer;

static const char *comma(uint32_t index, uint32_t count)
{
    return index + 1 < count ? "," : "";
}

static void write_why(hdi_why_kind kind, const hd_why *why, FILE *f)
{
    fprintf(f, "{\"code\": \"%s\"", hdi_why_word(kind, why->code));
    if (why->pass != HD_NONE)
        fprintf(f, ", \"pass\": %" PRIu32, why->pass);
    if (why->other_pass != HD_NONE)
        fprintf(f, ", \"other_pass\": %" PRIu32, why->other_pass);
    if (why->resource != HD_NONE)
        fprintf(f, ", \"resource\": %" PRIu32, why->resource);
    if (why->other_resource != HD_NONE)
        fprintf(f, ", \"other_resource\": %" PRIu32, why->other_resource);
    fputc('}', f);
}

/* So that a plan can be read without its frame. */
static void write_name(const char *name, FILE *f)
{
    if (!name)
        return;
    fputs(", \"name\": ", f);
    hdi_write_json_string(name, f);
}

static void write_resource(const hdi_decl *decl, const hd_plan_resource *r, const hd_why *why, FILE *f)
{
    fprintf(f, "{\"id\": %" PRIu32, r->id);
    write_name(decl->res_info[r->id].name, f);
    if (r->flags & HD_PLAN_EXTERNAL)
        fputs(", \"external\": true", f);
    else if (r->heap == HD_NONE)
        fputs(", \"token\": true", f);
    else
        fprintf(f, ", \"heap\": %" PRIu32 ", \"offset\": %" PRIu64 ", \"bytes\": %" PRIu64, r->heap, r->offset,
                r->bytes);
    if ((r->flags & HD_PLAN_IMAGE) && (r->flags & HD_PLAN_PERSISTENT))
        fprintf(f, ", \"final_layout\": %" PRIu32, r->final_layout);
    if (r->first_family != HD_NONE)
        fprintf(f, ", \"first_family\": %" PRIu32, r->first_family);
    if (r->final_family != HD_NONE)
        fprintf(f, ", \"final_family\": %" PRIu32, r->final_family);
    if (r->flags & HD_PLAN_CONCURRENT)
        fputs(", \"sharing\": \"concurrent\"", f);
    if (r->placing != HD_PLACING_NONE)
        fprintf(f, ", \"placing\": \"%s\"", hd_placing_name((hd_placing)r->placing));
    if (r->tenant != HD_NONE)
        fprintf(f, ", \"tenant\": %" PRIu32, r->tenant);
    fputs(", \"why\": ", f);
    write_why(HDI_WHY_PLACING, why, f);
    fputc('}', f);
}

static void write_barrier(const writer *w, uint32_t index, FILE *f)
{
    const hd_plan_barrier *b = &w->view->barriers[index];
    const hdi_decl *decl = w->decl;
    fprintf(f,
            "{\"src_stages\": %" PRIu64 ", \"src_access\": %" PRIu64 ", \"dst_stages\": %" PRIu64
            ", \"dst_access\": %" PRIu64,
            b->src_stages, b->src_access, b->dst_stages, b->dst_access);
    if (b->resource != HD_NONE) {
        fprintf(f, ", \"resource\": %" PRIu32, b->resource);
        if (b->resource < decl->res_count && decl->res_flags[b->resource] & HDI_RES_BUFFER)
            fprintf(f, ", \"range\": [%" PRIu64 ", %" PRIu64 "]", b->range.offset, b->range.bytes);
        else
            fprintf(f,
                    ", \"old_layout\": %" PRIu32 ", \"new_layout\": %" PRIu32 ", \"range\": [%" PRIu32 ", %" PRIu32
                    ", %" PRIu32 ", %" PRIu32 "]",
                    b->old_layout, b->new_layout, b->range.mip_base, b->range.mip_count, b->range.layer_base,
                    b->range.layer_count);
        if (b->resource < decl->res_count && !(decl->res_flags[b->resource] & HDI_RES_BUFFER) && b->range.aspect)
            fprintf(f, ", \"aspect\": %" PRIu32, b->range.aspect);
    }
    if (b->src_family != HD_NONE || b->dst_family != HD_NONE)
        fprintf(f, ", \"src_family\": %" PRIu32 ", \"dst_family\": %" PRIu32, b->src_family, b->dst_family);
    if (b->reason != HD_REASON_NONE)
        fprintf(f, ", \"reason\": \"%s\"", hd_reason_name((hd_reason)b->reason));
    if (b->reason_pass != HD_NONE)
        fprintf(f, ", \"reason_pass\": %" PRIu32, b->reason_pass);
    if (b->reason_resource != HD_NONE)
        fprintf(f, ", \"reason_resource\": %" PRIu32, b->reason_resource);
    fputs(", \"why\": ", f);
    write_why(HDI_WHY_BARRIER, &w->reasons->barriers[index], f);
    fputc('}', f);
}

/* The scope that a pass begins, if any. */
static void write_scope(writer *w, uint32_t command, FILE *f)
{
    const hd_plan_view *view = w->view;
    if (w->scope == view->scope_count || view->scopes[w->scope].command_begin != command)
        return;
    const hd_plan_scope *s = &view->scopes[w->scope++];
    fprintf(f, ", \"rendering\": {\"passes\": %" PRIu32 ", \"attachments\": [", s->command_count);
    for (uint32_t i = 0; i < s->attachment_count; i++) {
        const hd_plan_attachment *a = &view->attachments[s->attachment_begin + i];
        fprintf(f, "%s{\"use\": %" PRIu32 ", \"load\": %" PRIu32 ", \"store\": %" PRIu32, i ? ", " : "", a->use,
                a->load, a->store);
        if (a->resolve != HD_NONE)
            fprintf(f, ", \"resolve\": %" PRIu32, a->resolve);
        fputc('}', f);
    }
    fputs("]}", f);
}

static void write_command(writer *w, const hd_plan_command *command, FILE *f)
{
    if (command->kind == HD_COMMAND_PASS) {
        fprintf(f, "{\"pass\": %" PRIu32, command->index);
        write_name(w->decl->pass_exec[command->index].name, f);
        write_scope(w, (uint32_t)(command - w->view->commands), f);
        fputc('}', f);
        return;
    }
    fputc('{', f);
    if (command->kind != HD_COMMAND_BARRIER)
        fprintf(f, "\"%s\": %" PRIu32 ", ", command->kind == HD_COMMAND_SET ? "set" : "wait", command->event);
    fputs("\"barrier\": [", f);
    const hd_plan_batch *batch = &w->view->batches[command->index];
    for (uint32_t i = 0; i < batch->barrier_count; i++) {
        fputs(i ? ",\n     " : "", f);
        write_barrier(w, batch->barrier_begin + i, f);
    }
    fputs("]}", f);
}

static void write_submit(writer *w, uint32_t index, FILE *f)
{
    const hd_plan_view *view = w->view;
    const hd_plan_submit *submit = &view->submits[index];
    fprintf(f, "  {\"queue\": %" PRIu32 ", \"waits\": [", submit->queue);
    for (uint32_t i = 0; i < submit->wait_count; i++) {
        const hd_plan_wait *wait = &view->waits[submit->wait_begin + i];
        fprintf(f, "%s{\"queue\": %" PRIu32 ", \"value\": %" PRIu64 ", \"stages\": %" PRIu64, i ? ", " : "",
                wait->queue, wait->value, wait->stages);
        if (wait->reason_pass != HD_NONE)
            fprintf(f, ", \"reason_pass\": %" PRIu32, wait->reason_pass);
        fputs(", \"why\": ", f);
        write_why(HDI_WHY_WAIT, &w->reasons->waits[submit->wait_begin + i], f);
        fputc('}', f);
    }
    fputs("], \"commands\": [", f);
    for (uint32_t i = 0; i < submit->command_count; i++) {
        fputs("\n    ", f);
        write_command(w, &view->commands[submit->command_begin + i], f);
        fputs(comma(i, submit->command_count), f);
    }
    fputc(']', f);
    if (submit->signal_value)
        fprintf(f, ", \"signal\": {\"value\": %" PRIu64 ", \"stages\": %" PRIu64 "}", submit->signal_value,
                submit->signal_stages);
    if (submit->cut != HD_CUT_NONE)
        fprintf(f, ", \"cut\": \"%s\"", hd_cut_name((hd_cut)submit->cut));
    fputs(", \"why\": {\"starts\": ", f);
    write_why(HDI_WHY_CUT, &w->reasons->submits[index], f);
    fputs(", \"ends\": ", f);
    write_why(HDI_WHY_CUT, &w->reasons->submit_ends[index], f);
    fputs("}}", f);
}

static void write_plan(writer *w, const char *name, FILE *f)
{
    const hd_plan_view *view = w->view;
    fputs("{\"plan\": 1, \"graph\": ", f);
    hdi_write_json_string(name, f);
    fprintf(f, ", \"hash\": \"%016" PRIx64 "\",\n \"queues\": [", view->hash);
    for (uint32_t q = 0; q < view->queue_count; q++)
        fprintf(f, "{\"kind\": \"%s\", \"family\": %" PRIu32 "}%s", hdi_fgt_kinds[view->queues[q].kind & 3],
                view->queues[q].family, q + 1 < view->queue_count ? ", " : "");
    fputs("],\n \"culled\": [", f);
    for (uint32_t i = 0; i < view->culled_count; i++)
        fprintf(f, "%" PRIu32 "%s", view->culled[i], i + 1 < view->culled_count ? ", " : "");
    fputs("],\n \"culled_why\": [", f);
    for (uint32_t i = 0; i < view->culled_count; i++) {
        fputs(i ? ",\n  " : "\n  ", f);
        write_why(HDI_WHY_CULL, &w->reasons->culled[i], f);
    }
    fputs("],\n \"heaps\": [", f);
    for (uint32_t h = 0; h < view->heap_count; h++) {
        const hd_plan_heap *heap = &view->heaps[h];
        fprintf(f, "%s{\"bytes\": %" PRIu64 ", \"memory\": %" PRIu32 "%s%s}", h ? ", " : "", heap->bytes, heap->memory,
                heap->flags & HD_HEAP_HOST ? ", \"host\": true" : "",
                heap->flags & HD_HEAP_PERSISTENT ? ", \"persistent\": true" : "");
    }
    fputs("],\n \"resources\": [", f);
    for (uint32_t r = 0; r < view->resource_count; r++) {
        fputs("\n  ", f);
        write_resource(w->decl, &view->resources[r], &w->reasons->resources[r], f);
        fputs(comma(r, view->resource_count), f);
    }
    fputs("],\n \"submits\": [", f);
    for (uint32_t s = 0; s < view->submit_count; s++) {
        fputs("\n", f);
        write_submit(w, s, f);
        fputs(comma(s, view->submit_count), f);
    }
    fputs("]}\n", f);
}

hd_result hd_plan_write_json(const hd_graph *graph, const hd_plan *plan, FILE *f)
{
    if (!graph || !plan || !f)
        return HD_INVALID_ARGUMENT;
    hdi_decl decl = hdi_graph_decl(graph);
    hd_plan_view view = hd_plan_read(plan);
    writer w = {.decl = &decl, .view = &view};
    hd_result result = hd_plan_explain(graph, plan, hdi_graph_allocator(graph), &w.reasons);
    if (result != HD_OK)
        return result;
    write_plan(&w, hd_graph_name(graph), f);
    hd_plan_reasons_free(w.reasons, hdi_graph_allocator(graph));
    return fflush(f) == 0 && !ferror(f) ? HD_OK : HD_IO;
}
