#include <inttypes.h>

#include "fgt_words.h"
#include "plan_view.h"
#include "tables.h"

/* A plan as a Graphviz picture: a cluster a queue with its submits from top to bottom, passes coloured by type, barrier
 * batches as small notes in the chain, semaphore waits as edges between queues, culled passes aside, memory as a table.
 * Reasons: in short as labels, in full as tooltips, which show in SVG. */

typedef struct drawing {
    const hdi_decl *decl;
    const hd_plan_view *view;
    const hd_plan_reasons *reasons;
    const hdi_signals *signals;
    FILE *f;
} drawing;

static void escaped(const char *text, FILE *f)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        if (*c == '"' || *c == '\\')
            fputc('\\', f);
        c += hdi_write_character(c, f);
    }
}

static void write_why(const drawing *d, hdi_why_kind kind, const hd_why *why)
{
    char text[HDI_WHY_BYTES];
    escaped(hdi_why_text(d->decl, kind, why, text, sizeof(text)), d->f);
}

static void write_batch(const drawing *d, uint32_t command)
{
    enum { MOST_LABELS = 6, MOST_TOOLTIPS = 24 };
    const hdi_decl *decl = d->decl;
    const hd_plan_view *view = d->view;
    FILE *f = d->f;
    const hd_plan_command *c = &view->commands[command];
    const hd_plan_batch *batch = &view->batches[c->index];
    char label[64];
    fprintf(f,
            "    c%" PRIu32
            " [shape=note, fontsize=8, margin=\"0.05,0.02\", height=0.1, fillcolor=\"#ffffff\", label=\"",
            command);
    if (c->kind != HD_COMMAND_BARRIER)
        fprintf(f, "%s event %" PRIu32 "\\l", c->kind == HD_COMMAND_SET ? "set" : "wait for", c->event);
    for (uint32_t i = 0; i < batch->barrier_count; i++) {
        const hd_plan_barrier *b = &view->barriers[batch->barrier_begin + i];
        if (i == MOST_LABELS) {
            fprintf(f, "and %" PRIu32 " more\\l", batch->barrier_count - i);
            break;
        }
        escaped(b->resource == HD_NONE ? "memory" : hdi_resource_label(decl, b->resource, label, sizeof(label)), f);
        fprintf(f, ": %s\\l", hdi_why_word(HDI_WHY_BARRIER, d->reasons->barriers[batch->barrier_begin + i].code));
    }
    fputs("\", tooltip=\"", f);
    for (uint32_t i = 0; i < batch->barrier_count && i < MOST_TOOLTIPS; i++) {
        write_why(d, HDI_WHY_BARRIER, &d->reasons->barriers[batch->barrier_begin + i]);
        fputs("\\n", f);
    }
    fputs("\"];\n", f);
}

static void write_queue(const drawing *d, uint32_t queue)
{
    const hdi_decl *decl = d->decl;
    const hd_plan_view *view = d->view;
    FILE *f = d->f;
    uint32_t previous = HDI_NONE;
    fprintf(f,
            "  subgraph cluster_queue%" PRIu32 " {\n    label=\"queue %" PRIu32
            ": %s\"; style=rounded; color=\"#888888\";\n",
            queue, queue, hdi_fgt_kinds[view->queues[queue].kind & 3]);
    for (uint32_t s = 0; s < view->submit_count; s++) {
        const hd_plan_submit *submit = &view->submits[s];
        if (submit->queue != queue)
            continue;
        fprintf(f,
                "    s%" PRIu32 " [shape=cds, fontsize=8, height=0.15, fillcolor=\"#dddddd\", label=\"submit %" PRIu32,
                s, s);
        if (submit->signal_value)
            fprintf(f, ", signals %" PRIu64, submit->signal_value);
        fputs("\", tooltip=\"starts: ", f);
        write_why(d, HDI_WHY_CUT, &d->reasons->submits[s]);
        fputs("\\nends: ", f);
        write_why(d, HDI_WHY_CUT, &d->reasons->submit_ends[s]);
        fputs("\"];\n", f);
        if (previous != HDI_NONE)
            fprintf(f, "    %c%" PRIu32 " -> s%" PRIu32 " [style=dotted, arrowhead=none];\n", previous & 1 ? 's' : 'c',
                    previous >> 1, s);
        fprintf(f, "    s%" PRIu32, s);
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++)
            fprintf(f, " -> c%" PRIu32, c);
        fputs(" [arrowsize=0.5];\n", f);
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
            char label[96];
            if (view->commands[c].kind != HD_COMMAND_PASS) {
                write_batch(d, c);
                continue;
            }
            fprintf(f, "    c%" PRIu32 " [fillcolor=\"%s\", label=\"", c,
                    hdi_pass_color(decl, view->commands[c].index));
            escaped(hdi_pass_label(decl, view->commands[c].index, label, sizeof(label)), f);
            fputs("\"];\n", f);
        }
        previous = submit->command_count ? (submit->command_begin + submit->command_count - 1) << 1 : s << 1 | 1;
    }
    fputs("  }\n", f);
}

/* A wait's edge comes from the submit that signals it. */
static void write_waits(const drawing *d)
{
    const hd_plan_view *view = d->view;
    FILE *f = d->f;
    for (uint32_t s = 0; s < view->submit_count; s++) {
        const hd_plan_submit *submit = &view->submits[s];
        for (uint32_t w = submit->wait_begin; w < submit->wait_begin + submit->wait_count; w++) {
            uint32_t from = hdi_signals_find(d->signals, view, view->waits[w].queue, view->waits[w].value);
            if (from == HDI_NONE)
                continue;
            const hd_plan_submit *signal = &view->submits[from];
            bool empty = signal->command_count == 0;
            fprintf(f, "  %c%" PRIu32 " -> s%" PRIu32 " [color=\"#c0392b\", penwidth=1.5, constraint=true, tooltip=\"",
                    empty ? 's' : 'c', empty ? from : signal->command_begin + signal->command_count - 1, s);
            write_why(d, HDI_WHY_WAIT, &d->reasons->waits[w]);
            fprintf(f, "\", label=\"%s\"];\n", hdi_why_word(HDI_WHY_WAIT, d->reasons->waits[w].code));
        }
    }
}

static void write_culled(const drawing *d)
{
    const hd_plan_view *view = d->view;
    FILE *f = d->f;
    if (view->culled_count == 0)
        return;
    fputs(
        "  subgraph cluster_culled {\n    label=\"culled\"; style=dashed; color=\"#bbbbbb\"; fontcolor=\"#999999\";\n",
        f);
    for (uint32_t i = 0; i < view->culled_count; i++) {
        char label[96];
        fprintf(f, "    culled%" PRIu32 " [fillcolor=\"#eeeeee\", fontcolor=\"#999999\", color=\"#bbbbbb\", label=\"",
                i);
        escaped(hdi_pass_label(d->decl, view->culled[i], label, sizeof(label)), f);
        fprintf(f, "\\n%s\", tooltip=\"", hdi_why_word(HDI_WHY_CULL, d->reasons->culled[i].code));
        write_why(d, HDI_WHY_CULL, &d->reasons->culled[i]);
        fputs("\"];\n", f);
    }
    fputs("  }\n", f);
}

static void write_memory(const drawing *d)
{
    const hdi_decl *decl = d->decl;
    const hd_plan_view *view = d->view;
    FILE *f = d->f;
    enum { MOST_ROWS = 64 };
    fputs("  memory [shape=plain, fillcolor=\"#ffffff\", label=<<table border=\"0\" cellborder=\"1\" cellspacing=\"0\">"
          "<tr><td><b>resource</b></td><td><b>heap</b></td><td><b>offset</b></td><td><b>bytes</b></td>"
          "<td><b>why</b></td></tr>",
          f);
    for (uint32_t i = 0; i < view->resource_count && i < MOST_ROWS; i++) {
        const hd_plan_resource *r = &view->resources[i];
        char label[96];
        fputs("<tr><td align=\"left\">", f);
        hdi_write_markup(hdi_resource_label(decl, r->id, label, sizeof(label)), f);
        if (r->heap == HD_NONE)
            fputs("</td><td colspan=\"3\">external</td>", f);
        else
            fprintf(f,
                    "</td><td>%" PRIu32 "</td><td align=\"right\">%" PRIu64 "</td><td align=\"right\">%" PRIu64 "</td>",
                    r->heap, r->offset, r->bytes);
        char text[HDI_WHY_BYTES];
        fputs("<td align=\"left\">", f);
        hdi_write_markup(hdi_why_text(decl, HDI_WHY_PLACING, &d->reasons->resources[i], text, sizeof(text)), f);
        fputs("</td></tr>", f);
    }
    if (view->resource_count > MOST_ROWS)
        fprintf(f, "<tr><td colspan=\"5\">and %" PRIu32 " more</td></tr>", view->resource_count - MOST_ROWS);
    fputs("</table>>];\n", f);
}

hd_result hd_plan_write_dot(const hd_graph *graph, const hd_plan *plan, FILE *f)
{
    if (!graph || !plan || !f)
        return HD_INVALID_ARGUMENT;
    hdi_decl decl = hdi_graph_decl(graph);
    hd_plan_view view = hd_plan_read(plan);
    drawing d = {.decl = &decl, .view = &view, .f = f};
    hdi_signals signals;
    hdi_arena arena;
    hdi_arena_init(&arena, hdi_graph_allocator(graph));
    hd_result result = hdi_signals_list(&signals, &view, &arena)
                           ? hd_plan_explain(graph, plan, hdi_graph_allocator(graph), &d.reasons)
                           : HD_OUT_OF_MEMORY;
    if (result != HD_OK) {
        hdi_arena_free(&arena);
        return result;
    }
    d.signals = &signals;
    fputs("digraph plan {\n  label=\"", f);
    escaped(hd_graph_name(graph), f);
    fputs("\"; labelloc=t; fontname=\"Helvetica\"; ranksep=0.2; nodesep=0.25;\n"
          "  node [shape=box, style=filled, fontname=\"Helvetica\", fontsize=11, height=0.3, fillcolor=\"#ffffff\"];\n"
          "  edge [fontname=\"Helvetica\", fontsize=8];\n",
          f);
    for (uint32_t q = 0; q < view.queue_count; q++)
        write_queue(&d, q);
    write_waits(&d);
    write_culled(&d);
    write_memory(&d);
    fputs("}\n", f);
    hd_plan_reasons_free(d.reasons, hdi_graph_allocator(graph));
    hdi_arena_free(&arena);
    return fflush(f) == 0 && !ferror(f) ? HD_OK : HD_IO;
}
