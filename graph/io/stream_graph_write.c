#include <heddle/stream.h>

#include <inttypes.h>
#include "alloc.h"
#include "plan_page.h"
#include "plan_view.h"

/* The graph of a captured stream for Graphviz, as JSON, and as a page (page/capture/). */

static const char *const node_kinds[] = {"command", "barrier", "wait", "signal"};
static const char *const edge_kinds[] = {"content", "layout", "signal", "state", "pair", "order", "object"};

typedef struct writer {
    const hd_stream *s;
    const hd_stream_graph *g;
    const uint8_t *keep; /* null: all nodes */
    FILE *f;
} writer;

static bool is_written(const writer *w, uint32_t node)
{
    return !w->keep || w->keep[node];
}

static const char *name_of(const writer *w, const hd_stream_node *node)
{
    uint32_t name = node->command == HD_NONE ? w->s->submits[node->submit].name : w->s->commands[node->command].name;
    return w->s->strings[name];
}

static const char *label_of(const writer *w, const hd_stream_node *node)
{
    uint32_t label = node->command == HD_NONE ? HD_NONE : w->s->commands[node->command].label;
    return label == HD_NONE ? NULL : w->s->strings[label];
}

static uint32_t resource_of(const writer *w, const hd_stream_node *node)
{
    return node->kind == HD_STREAM_NODE_BARRIER ? w->s->barriers[node->element].resource : HD_NONE;
}

static void write_resource(const writer *w, uint32_t resource)
{
    const hd_stream_resource *r = &w->s->resources[resource];
    fprintf(w->f, "%s %" PRIu32, r->aspects ? "image" : "buffer", resource);
    if (r->name != HD_NONE)
        fprintf(w->f, " '%s'", w->s->strings[r->name]);
}

/* ---- Graphviz ---- */

/* In a quoted string of Graphviz, quotes and backslashes are escaped. */
static void write_quoted(const char *text, FILE *f)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', f);
        fputc((unsigned char)*text < 0x20 ? ' ' : *text, f);
    }
}

static void write_dot_node(const writer *w, uint32_t n)
{
    static const char *const shapes[] = {"box, style=\"rounded,filled\"", "box, style=filled, height=0.2", "cds",
                                         "cds"};
    static const char *const fills[] = {"#dfe6fb", "#d6f0ea", "#f5e8c8", "#eadff5"};
    const hd_stream_node *node = &w->g->nodes[n];
    const hd_stream_submit *submit = &w->s->submits[node->submit];
    const char *label = label_of(w, node);
    fprintf(w->f, "  n%" PRIu32 " [shape=%s, fillcolor=\"%s\", label=\"", n, shapes[node->kind],
            node->kind == HD_STREAM_NODE_COMMAND ? fills[w->s->queues[submit->queue].kind & 3] : "#eceef2");
    write_quoted(name_of(w, node), w->f);
    if (label) {
        fputs("\\n", w->f);
        write_quoted(label, w->f);
    }
    if (resource_of(w, node) != HD_NONE)
        fprintf(w->f, "\\n%s %" PRIu32, w->s->resources[resource_of(w, node)].aspects ? "image" : "buffer",
                resource_of(w, node));
    if (node->command == HD_NONE)
        fprintf(w->f, "\\n%s %" PRIu64, node_kinds[node->kind], w->s->syncs[node->element].value);
    else
        fprintf(w->f, "\\n%" PRIu32 ":%" PRIu32, node->submit, node->command - submit->command_begin);
    fputs("\"];\n", w->f);
}

static void write_dot(const writer *w)
{
    static const char *const styles[] = {"", "style=dashed", "color=\"#2557d6\"", "color=\"#b98a2c\"", "color=\"#98a1ae\", dir=none",
                                         "style=dotted, color=\"#98a1ae\"", "color=\"#8d6bb8\""};
    fputs("digraph stream {\n  rankdir=LR;\n  node [fontname=\"sans-serif\", fontsize=10];\n"
          "  edge [fontname=\"sans-serif\", fontsize=9];\n",
          w->f);
    for (uint32_t q = 0; q < w->s->queue_count; q++) {
        fprintf(w->f, "  subgraph cluster_%" PRIu32 " {\n  label=\"queue %" PRIu32 "\"; color=\"#c8cdd6\";\n", q, q);
        for (uint32_t n = 0; n < w->g->node_count; n++) {
            if (is_written(w, n) && w->s->submits[w->g->nodes[n].submit].queue == q)
                write_dot_node(w, n);
        }
        fputs("  }\n", w->f);
    }
    for (uint32_t e = 0; e < w->g->edge_count; e++) {
        const hd_stream_edge *x = &w->g->edges[e];
        if (!is_written(w, x->from) || !is_written(w, x->to))
            continue;
        fprintf(w->f, "  n%" PRIu32 " -> n%" PRIu32 " [%s%slabel=\"", x->from, x->to, styles[x->kind],
                styles[x->kind][0] ? ", " : "");
        if (x->resource != HD_NONE && w->s->resources[x->resource].name != HD_NONE)
            write_quoted(w->s->strings[w->s->resources[x->resource].name], w->f);
        else if (x->resource != HD_NONE)
            write_resource(w, x->resource);
        fputs("\"];\n", w->f);
    }
    fputs("}\n", w->f);
}

/* ---- JSON ---- */

static void write_text(const char *key, const char *text, FILE *f)
{
    if (!text)
        return;
    fprintf(f, ", \"%s\": ", key);
    hdi_write_json_string(text, f);
}

static void write_json_node(const writer *w, uint32_t n, const uint8_t *live)
{
    const hd_stream_node *node = &w->g->nodes[n];
    const hd_stream_submit *submit = &w->s->submits[node->submit];
    fprintf(w->f, "{\"node\": %" PRIu32 ", \"kind\": \"%s\", \"queue\": %" PRIu32 ", \"submit\": %" PRIu32, n,
            node_kinds[node->kind], submit->queue, node->submit);
    if (node->command != HD_NONE)
        fprintf(w->f, ", \"command\": %" PRIu32, node->command - submit->command_begin);
    else
        fprintf(w->f, ", \"semaphore\": %" PRIu32 ", \"value\": %" PRIu64, w->s->syncs[node->element].semaphore,
                w->s->syncs[node->element].value);
    fprintf(w->f, ", \"frame\": %" PRIu32, submit->frame);
    write_text("name", name_of(w, node), w->f);
    write_text("label", label_of(w, node), w->f);
    if (resource_of(w, node) != HD_NONE)
        fprintf(w->f, ", \"resource\": %" PRIu32, resource_of(w, node));
    const hd_stream_command *command = node->kind == HD_STREAM_NODE_COMMAND ? &w->s->commands[node->command] : NULL;
    if (command && command->data) {
        const hd_stream_data *data = &w->s->datas[command->data];
        fprintf(w->f, ", \"bytes\": %" PRIu32 ", \"objects\": [", data->byte_count);
        for (uint32_t i = 0; i < data->ref_count; i++)
            fprintf(w->f, "%s%" PRIu32, i ? ", " : "", w->s->refs[data->ref_begin + i]);
        fputc(']', w->f);
    }
    if (command && command->changes)
        fprintf(w->f, ", \"changes\": %" PRIu32, command->changes);
    fprintf(w->f, ", \"live\": %s}", live[n] ? "true" : "false");
}

static void write_json(const writer *w, const uint8_t *live)
{
    const char *comma = "";
    fputs("{\"stream_graph\": 1,\n \"queues\": [", w->f);
    for (uint32_t q = 0; q < w->s->queue_count; q++)
        fprintf(w->f, "%s%" PRIu32, q ? ", " : "", w->s->queues[q].kind);
    fputs("],\n \"resources\": [", w->f);
    for (uint32_t r = 0; r < w->s->resource_count; r++) {
        const hd_stream_resource *x = &w->s->resources[r];
        fprintf(w->f, "%s{\"kind\": \"%s\", \"bytes\": %" PRIu64, r ? ",\n  " : "\n  ", x->aspects ? "image" : "buffer",
                x->bytes);
        write_text("name", x->name == HD_NONE ? NULL : w->s->strings[x->name], w->f);
        fputc('}', w->f);
    }
    fputs("],\n \"objects\": [null", w->f);
    for (uint32_t o = 1; o < w->s->object_count; o++) {
        fputs(",\n  ", w->f);
        hdi_write_json_string(w->s->strings[w->s->objects[o].name], w->f);
    }
    fputs("],\n \"nodes\": [", w->f);
    for (uint32_t n = 0; n < w->g->node_count; n++) {
        if (!is_written(w, n))
            continue;
        fprintf(w->f, "%s\n  ", comma);
        write_json_node(w, n, live);
        comma = ",";
    }
    fputs("],\n \"edges\": [", w->f);
    comma = "";
    for (uint32_t e = 0; e < w->g->edge_count; e++) {
        const hd_stream_edge *x = &w->g->edges[e];
        if (!is_written(w, x->from) || !is_written(w, x->to))
            continue;
        fprintf(w->f, "%s\n  {\"from\": %" PRIu32 ", \"to\": %" PRIu32 ", \"kind\": \"%s\"", comma, x->from, x->to,
                edge_kinds[x->kind]);
        if (x->resource != HD_NONE)
            fprintf(w->f, ", \"resource\": %" PRIu32, x->resource);
        fputc('}', w->f);
        comma = ",";
    }
    fputs("]}\n", w->f);
}

hd_result hd_stream_graph_write(const hd_stream *stream, const hd_stream_graph *graph, const uint8_t *keep,
                                hd_stream_graph_format format, FILE *file)
{
    const hdi_page *page = &hdi_capture_page;
    writer w = {stream, graph, keep, file};
    if (!stream || !graph || !file || (unsigned)format > HD_STREAM_GRAPH_HTML)
        return HD_INVALID_ARGUMENT;
    if (format == HD_STREAM_GRAPH_HTML && !page->bytes)
        return HD_NO_PAGE;
    if (format == HD_STREAM_GRAPH_DOT) {
        write_dot(&w);
        return ferror(file) ? HD_IO : HD_OK;
    }
    uint8_t *live = hdi_alloc(&stream->allocator, graph->node_count, 1);
    hd_result result = live ? hd_stream_graph_live(graph, true, live) : HD_OUT_OF_MEMORY;
    if (result == HD_OK && format == HD_STREAM_GRAPH_HTML)
        fwrite(page->text, 1, page->data_at, file);
    if (result == HD_OK)
        write_json(&w, live);
    if (result == HD_OK && format == HD_STREAM_GRAPH_HTML)
        fwrite(page->text + page->data_at, 1, page->bytes - page->data_at, file);
    hdi_free(&stream->allocator, live, graph->node_count);
    return result == HD_OK && ferror(file) ? HD_IO : result;
}
