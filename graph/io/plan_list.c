#include <heddle/graph.h>

#include <inttypes.h>

#include "fgt_words.h"
#include "plan_words.h"
#include "vk_words.h"

/* A plan to read, queue after queue, a line a command. O(plan). */

static void say_size(const hdi_plan_words *w, const hdi_res_info *info)
{
    fprintf(w->f, ", %" PRIu32 "x%" PRIu32, info->width, info->height);
    if (info->depth > 1)
        fprintf(w->f, "x%" PRIu32, info->depth);
    fprintf(w->f, " %s", HDI_FORMAT_TEXT(info->format));
    if (info->mips > 1)
        fprintf(w->f, ", %" PRIu32 " mips", info->mips);
    if (info->layers > 1)
        fprintf(w->f, ", %" PRIu32 " layers", info->layers);
    if (info->samples > 1)
        fprintf(w->f, ", %" PRIu32 " samples", info->samples);
}

static void write_resource(const hdi_plan_words *w, const hd_plan_resource *r)
{
    hdi_say_resource(w, r->id);
    if (r->flags & HD_PLAN_IMAGE)
        say_size(w, &w->decl->res_info[r->id]);
    if (r->heap != HD_NONE)
        fprintf(w->f, ", heap %" PRIu32 " at %" PRIu64 ", %" PRIu64 " bytes", r->heap, r->offset, r->bytes);
    else if (r->flags & HD_PLAN_EXTERNAL)
        fputs(", external", w->f);
    if (r->flags & HD_PLAN_CONCURRENT)
        fputs(", concurrent", w->f);
    if (r->flags & HD_PLAN_PERSISTENT && r->flags & HD_PLAN_IMAGE)
        fprintf(w->f, ", left in %s", HDI_LAYOUT_TEXT(r->final_layout));
    if (r->tenant != HD_NONE) {
        fputs(", takes over bytes of ", w->f);
        hdi_say_resource(w, r->tenant);
    }
    fputc('\n', w->f);
}

static void write_memory(const hdi_plan_words *w)
{
    const hd_plan_view *plan = w->plan;
    for (uint32_t h = 0; h < plan->heap_count; h++)
        fprintf(w->f, "heap %" PRIu32 ": %" PRIu64 " bytes, memory %" PRIu32 "%s%s\n", h, plan->heaps[h].bytes,
                plan->heaps[h].memory, plan->heaps[h].flags & HD_HEAP_HOST ? ", host" : "",
                plan->heaps[h].flags & HD_HEAP_PERSISTENT ? ", persistent" : "");
    for (uint32_t i = 0; i < plan->resource_count; i++)
        write_resource(w, &plan->resources[i]);
    for (uint32_t c = 0; c < plan->culled_count; c++) {
        fputs("culled ", w->f);
        hdi_say_pass(w, plan->culled[c]);
        hdi_say_why(w, HDI_WHY_CULL, &w->reasons->culled[c]);
        fputc('\n', w->f);
    }
}

/* A barrier; of content that is thrown away because the memory changes hands, a discard. */
static void write_barriers(const hdi_plan_words *w, const char *word, const hd_plan_batch *batch)
{
    for (uint32_t i = 0; i < batch->barrier_count; i++) {
        const uint32_t index = batch->barrier_begin + i;
        const hd_plan_barrier *b = &w->plan->barriers[index];
        const bool discards = b->resource != HD_NONE && b->reason == HD_REASON_ALIAS;
        fprintf(w->f, "    %s%s ", i ? "  with" : word, discards ? " discard" : "");
        hdi_say_barrier(w, b);
        hdi_say_why(w, HDI_WHY_BARRIER, &w->reasons->barriers[index]);
        fputc('\n', w->f);
    }
}

/* Of a plan from elsewhere any number may be wrong. */
static void say_attachment(const hdi_plan_words *w, uint32_t command, uint32_t use)
{
    const hd_plan_view *plan = w->plan;
    const uint32_t pass = command < plan->command_count ? plan->commands[command].index : HD_NONE;
    const uint32_t first = pass < w->decl->pass_count ? w->decl->pass_use_begin[pass] : 0;
    if (pass < w->decl->pass_count && use < w->decl->pass_use_begin[pass + 1] - first)
        hdi_say_resource(w, w->decl->use_res[first + use]);
    else
        fputs("no use", w->f);
}

static void write_attachments(const hdi_plan_words *w, const hd_plan_scope *scope)
{
    fprintf(w->f, "    begin rendering of %" PRIu32 " pass%s", scope->command_count,
            scope->command_count == 1 ? "" : "es");
    for (uint32_t i = 0; i < scope->attachment_count; i++) {
        const hd_plan_attachment *a = &w->plan->attachments[scope->attachment_begin + i];
        fputs(i ? "; " : ": ", w->f);
        say_attachment(w, scope->command_begin, a->use);
        fprintf(w->f, " %s, %s", HDI_LOAD_TEXT(a->load), HDI_STORE_TEXT(a->store));
        if (a->resolve != HD_NONE) {
            fputs(", resolved into ", w->f);
            say_attachment(w, scope->command_begin + scope->command_count - 1, a->resolve);
        }
    }
    fputc('\n', w->f);
}

/* The scope that begins or ends at a command; scopes are in the order of the commands. */
static const hd_plan_scope *scope_at(const hd_plan_view *plan, uint32_t command)
{
    uint32_t begin = 0, end = plan->scope_count;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        if (plan->scopes[middle].command_begin + plan->scopes[middle].command_count <= command)
            begin = middle + 1;
        else
            end = middle;
    }
    const bool inside = begin < plan->scope_count && plan->scopes[begin].command_begin <= command;
    return inside ? &plan->scopes[begin] : NULL;
}

static void write_command(const hdi_plan_words *w, uint32_t index)
{
    const hd_plan_command *command = &w->plan->commands[index];
    char word[32];
    if (command->kind == HD_COMMAND_BARRIER) {
        write_barriers(w, "barrier", &w->plan->batches[command->index]);
    } else if (command->kind != HD_COMMAND_PASS) {
        snprintf(word, sizeof(word), "%s event %" PRIu32, command->kind == HD_COMMAND_SET ? "set" : "wait for",
                 command->event);
        write_barriers(w, word, &w->plan->batches[command->index]);
    } else {
        const hd_plan_scope *scope = scope_at(w->plan, index);
        if (scope && scope->command_begin == index)
            write_attachments(w, scope);
        fputs("    ", w->f);
        hdi_say_pass(w, command->index);
        fputc('\n', w->f);
        if (scope && scope->command_begin + scope->command_count == index + 1)
            fputs("    end rendering\n", w->f);
    }
}

static void write_submit(const hdi_plan_words *w, uint32_t index)
{
    const hd_plan_submit *submit = &w->plan->submits[index];
    fprintf(w->f, "  submit %" PRIu32, index);
    hdi_say_why(w, HDI_WHY_CUT, &w->reasons->submits[index]);
    fputc('\n', w->f);
    for (uint32_t i = submit->wait_begin; i < submit->wait_begin + submit->wait_count; i++) {
        const hd_plan_wait *wait = &w->plan->waits[i];
        fprintf(w->f, "    wait for value %" PRIu64 " of ", wait->value);
        hdi_say_queue(w, wait->queue);
        fputs(", in ", w->f);
        hdi_say_stages(w, wait->stages);
        hdi_say_why(w, HDI_WHY_WAIT, &w->reasons->waits[i]);
        fputc('\n', w->f);
    }
    for (uint32_t c = 0; c < submit->command_count; c++)
        write_command(w, submit->command_begin + c);
    if (submit->signal_value) {
        fprintf(w->f, "    signal value %" PRIu64 ", of ", submit->signal_value);
        hdi_say_stages(w, submit->signal_stages);
        fputc('\n', w->f);
    }
}

hd_result hd_plan_write_list(const hd_graph *graph, const hd_plan *plan, FILE *f)
{
    if (!graph || hdi_graph_is_list(graph) || !plan || !f)
        return HD_INVALID_ARGUMENT;
    const hdi_decl decl = hdi_graph_decl(graph);
    const hd_plan_view view = hd_plan_read(plan);
    hdi_plan_words w = {.decl = &decl, .plan = &view, .f = f};
    hd_result result = hd_plan_explain(graph, plan, hdi_graph_allocator(graph), &w.reasons);
    if (result != HD_OK)
        return result;
    write_memory(&w);
    for (uint32_t q = 0; q < view.queue_count; q++) {
        hdi_say_queue(&w, q);
        if (view.queues[q].family != HD_NONE)
            fprintf(f, ", family %" PRIu32, view.queues[q].family);
        fputc('\n', f);
        for (uint32_t s = 0; s < view.submit_count; s++) {
            if (view.submits[s].queue == q)
                write_submit(&w, s);
        }
    }
    hd_plan_reasons_free(w.reasons, hdi_graph_allocator(graph));
    return fflush(f) == 0 && !ferror(f) ? HD_OK : HD_IO;
}
