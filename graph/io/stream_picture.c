#include <heddle/stream.h>

#include <inttypes.h>

#include "vk_words.h"

/* What a captured stream breaks, drawn: the two commands of a finding, the barriers and semaphores between them with
 * their scopes, and the bits that lack. For Graphviz, the relations of execution and memory as edges, in the manner of
 * philiptaylor's model of Vulkan's synchronization; as a page, the same with all words. */

enum { MOST_BETWEEN = 24 };

typedef struct drawing {
    const hd_stream *s;
    const hd_finding *finding;
    hd_stream_between between[MOST_BETWEEN];
    uint32_t count, number;
    FILE *f;
} drawing;

static void open_drawing(drawing *d, const hd_stream *s, const hd_finding *finding, uint32_t number, FILE *f)
{
    d->s = s;
    d->finding = finding;
    d->number = number;
    d->f = f;
    d->count = 0;
    hd_stream_between_get(s, finding, d->between, MOST_BETWEEN, &d->count); /* one place alone: nothing between */
}

static const char *name_of(const drawing *d, uint32_t submit, uint32_t command)
{
    return d->s->strings[command == HD_NONE ? d->s->submits[submit].name : d->s->commands[command].name];
}

static const char *label_of(const drawing *d, uint32_t command)
{
    uint32_t label = command == HD_NONE ? HD_NONE : d->s->commands[command].label;
    return label == HD_NONE ? "" : d->s->strings[label];
}

/* Markup and quotes of both kinds of text, for HTML; what has a meaning in a string of Graphviz, for DOT. */
static void put_html(const char *text, FILE *f)
{
    for (; *text; text++) {
        const char *out = *text == '<'   ? "&lt;"
                          : *text == '>' ? "&gt;"
                          : *text == '&' ? "&amp;"
                          : *text == '"' ? "&quot;"
                                         : NULL;
        if (out)
            fputs(out, f);
        else
            fputc(*text, f);
    }
}

static void put_dot(const char *text, FILE *f)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', f);
        fputc((unsigned char)*text < 0x20 ? ' ' : *text, f);
    }
}

/* ---- Graphviz ---- */

static void dot_place(const drawing *d, const char *id, const hd_verify_place *place)
{
    if (place->kind == HD_PLACE_NONE)
        return;
    fprintf(d->f, "    %s%" PRIu32 " [shape=box, style=\"rounded,filled\", fillcolor=\"#dfe6fb\", label=\"", id,
            d->number);
    put_dot(name_of(d, place->submit, place->command), d->f);
    fputs("\\n", d->f);
    put_dot(label_of(d, place->command), d->f);
    if (place->kind == HD_PLACE_PASS) {
        const hd_stream_access *a = &d->s->accesses[place->use];
        fprintf(d->f, "\\n%s\\n%s", HDI_STAGE_TEXT(a->stages), HDI_ACCESS_TEXT(a->access));
    } else {
        const hd_stream_barrier *b = &d->s->barriers[place->index];
        fprintf(d->f, "\\nlayout %s to %s", HDI_LAYOUT_TEXT(b->old_layout), HDI_LAYOUT_TEXT(b->new_layout));
    }
    fprintf(d->f, "\\n%" PRIu32 ":%" PRIu32 ", queue %" PRIu32 "\"];\n", place->submit,
            place->command - d->s->submits[place->submit].command_begin, place->queue);
}

static void dot_edge(const drawing *d, const char *from, const char *to, uint64_t stages, uint64_t access)
{
    fprintf(d->f, "    %s -> %s ", from, to);
    if (!stages && !access) {
        fputs("[color=\"#2f9e44\"];\n", d->f);
        return;
    }
    fputs("[color=\"#d1345b\", style=dashed, fontcolor=\"#d1345b\", label=\"lacks", d->f);
    if (stages)
        fprintf(d->f, " %s", HDI_STAGE_TEXT(stages));
    if (access)
        fprintf(d->f, "%s%s", stages ? "\\n" : " ", HDI_ACCESS_TEXT(access));
    fputs("\"];\n", d->f);
}

static void dot_between(const drawing *d, uint32_t i)
{
    const hd_stream_node *node = &d->between[i].node;
    char self[32], first[32], second[32];
    snprintf(self, sizeof(self), "b%" PRIu32 "_%" PRIu32, d->number, i);
    snprintf(first, sizeof(first), "x%" PRIu32, d->number);
    snprintf(second, sizeof(second), "y%" PRIu32, d->number);
    fprintf(d->f, "    %s [shape=record, style=filled, fillcolor=\"#eceef2\", label=\"{", self);
    if (node->kind == HD_STREAM_NODE_BARRIER) {
        const hd_stream_barrier *b = &d->s->barriers[node->element];
        fprintf(d->f, "%s\\n%s|%" PRIu32 ":%" PRIu32 "|%s\\n%s", HDI_STAGE_TEXT(b->src_stages),
                HDI_ACCESS_TEXT(b->src_access), node->submit, node->command - d->s->submits[node->submit].command_begin,
                HDI_STAGE_TEXT(b->dst_stages), HDI_ACCESS_TEXT(b->dst_access));
    } else {
        const hd_stream_sync *sync = &d->s->syncs[node->element];
        fprintf(d->f, "%s semaphore %" PRIu32 "\\nvalue %" PRIu64 "|%s",
                node->kind == HD_STREAM_NODE_WAIT ? "waits for" : "signals", sync->semaphore, sync->value,
                HDI_STAGE_TEXT(sync->stages));
    }
    fputs("}\"];\n", d->f);
    dot_edge(d, first, self, d->between[i].src_lacks, d->between[i].src_access_lacks);
    dot_edge(d, self, second, d->between[i].dst_lacks, d->between[i].dst_access_lacks);
}

static void write_dot(const drawing *d)
{
    fprintf(d->f, "  subgraph cluster_%" PRIu32 " {\n    color=\"#c8cdd6\"; label=\"", d->number);
    put_dot(d->finding->text ? d->finding->text : hd_rule_name((hd_rule)d->finding->rule), d->f);
    fputs("\";\n", d->f);
    dot_place(d, "x", &d->finding->first);
    dot_place(d, "y", &d->finding->second);
    for (uint32_t i = 0; i < d->count; i++)
        dot_between(d, i);
    if (!d->count && d->finding->first.kind != HD_PLACE_NONE && d->finding->second.kind != HD_PLACE_NONE)
        fprintf(d->f,
                "    x%" PRIu32 " -> y%" PRIu32 " [color=\"#d1345b\", style=dashed, label=\"nothing between\"];\n",
                d->number, d->number);
    fputs("  }\n", d->f);
}

/* ---- a page ---- */

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>heddle: what the stream "
    "breaks</title>\n"
    "<style>\n"
    ":root { color-scheme: light dark; --bg: #eef0f3; --panel: #fff; --line: #dde1e7; --text: #1b1f27; --muted: "
    "#626c7a;"
    " --good: #2f9e44; --bad: #d1345b; --chip: #eceef2; --ends: #2557d6; font: 13px/1.5 system-ui, sans-serif; }\n"
    "@media (prefers-color-scheme: dark) { :root { --bg: #0f1114; --panel: #181b20; --line: #2b3038; --text: #e3e6eb;"
    " --muted: #98a1ae; --good: #58c471; --bad: #ff6b8b; --chip: #262b33; --ends: #7aa2ff; } }\n"
    "body { margin: 0 auto; padding: 24px; max-width: 980px; background: var(--bg); color: var(--text); }\n"
    "h1 { font-size: 18px; } h2 { font-size: 14px; font-weight: 600; overflow-wrap: anywhere; }\n"
    "section { margin: 0 0 28px; padding: 16px 20px; background: var(--panel); border: 1px solid var(--line); "
    "border-radius: 12px; }\n"
    ".card { position: relative; margin: 0 0 26px; padding: 10px 14px; border: 1px solid var(--line); border-left: 4px "
    "solid var(--muted);"
    " border-radius: 8px; }\n"
    ".card:not(:last-child)::after { content: ''; position: absolute; left: 22px; bottom: -27px; height: 26px; "
    "border-left: 2px solid var(--line); }\n"
    ".end { border-left-color: var(--ends); } .good { border-left-color: var(--good); } .bad { border-left-color: "
    "var(--bad); }\n"
    ".card b { font-weight: 600; } .where { color: var(--muted); float: right; }\n"
    ".scopes { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; margin-top: 6px; } .scopes > div > "
    "span:first-child { color: var(--muted); display: block; }\n"
    "i { display: inline-block; margin: 2px 4px 2px 0; padding: 0 7px; border-radius: 9px; background: var(--chip); "
    "font-style: normal;"
    " font-size: 11px; overflow-wrap: anywhere; }\n"
    "i.lacks { background: none; border: 1px dashed var(--bad); color: var(--bad); }\n"
    "</style>\n</head>\n<body>\n<h1>What the stream breaks</h1>\n";

static void put_chips(const drawing *d, hdi_words words, uint64_t mask, const char *kind)
{
    for (uint64_t left = mask; left; left &= left - 1) {
        hdi_text room;
        fprintf(d->f, "<i%s>%s%s</i>", kind, *kind ? "lacks " : "", hdi_words_of(words, left & -left, &room));
    }
}

static void html_head(const drawing *d, const char *kind, uint32_t submit, uint32_t command, const char *what)
{
    fprintf(d->f, "<div class=\"card %s\"><span class=\"where\">", kind);
    if (command != HD_NONE)
        fprintf(d->f, "command %" PRIu32 ":%" PRIu32 ", ", submit, command - d->s->submits[submit].command_begin);
    fprintf(d->f, "queue %" PRIu32 ", frame %" PRIu32 "</span><b>", d->s->submits[submit].queue,
            d->s->submits[submit].frame);
    put_html(name_of(d, submit, command), d->f);
    fputs("</b> ", d->f);
    put_html(label_of(d, command), d->f);
    fputs(what, d->f);
}

static void html_place(const drawing *d, const hd_verify_place *place)
{
    if (place->kind == HD_PLACE_NONE)
        return;
    html_head(d, "end", place->submit, place->command, "<br>");
    if (place->kind == HD_PLACE_PASS) {
        put_chips(d, HDI_WORDS_STAGES, d->s->accesses[place->use].stages, "");
        put_chips(d, HDI_WORDS_ACCESS, d->s->accesses[place->use].access, "");
    } else {
        const hd_stream_barrier *b = &d->s->barriers[place->index];
        fprintf(d->f, "layout <i>%s</i> to <i>%s</i>", HDI_LAYOUT_TEXT(b->old_layout), HDI_LAYOUT_TEXT(b->new_layout));
    }
    fputs("</div>\n", d->f);
}

static void html_scope(const drawing *d, const char *title, uint64_t stages, uint64_t access, uint64_t lacks,
                       uint64_t access_lacks)
{
    fprintf(d->f, "<div><span>%s</span>", title);
    put_chips(d, HDI_WORDS_STAGES, stages, "");
    put_chips(d, HDI_WORDS_ACCESS, access, "");
    put_chips(d, HDI_WORDS_STAGES, lacks, " class=\"lacks\"");
    put_chips(d, HDI_WORDS_ACCESS, access_lacks, " class=\"lacks\"");
    fputs("</div>", d->f);
}

static void html_between(const drawing *d, const hd_stream_between *x)
{
    bool bad = x->src_lacks || x->src_access_lacks || x->dst_lacks || x->dst_access_lacks;
    const hd_stream_node *node = &x->node;
    if (node->kind == HD_STREAM_NODE_BARRIER) {
        const hd_stream_barrier *b = &d->s->barriers[node->element];
        html_head(d, bad ? "bad" : "good", node->submit, node->command, "<div class=\"scopes\">");
        html_scope(d, "first scope", b->src_stages, b->src_access, x->src_lacks, x->src_access_lacks);
        html_scope(d, "second scope", b->dst_stages, b->dst_access, x->dst_lacks, x->dst_access_lacks);
        fputs("</div></div>\n", d->f);
        return;
    }
    const hd_stream_sync *sync = &d->s->syncs[node->element];
    html_head(d, bad ? "bad" : "good", node->submit, HD_NONE,
              node->kind == HD_STREAM_NODE_WAIT ? " waits for " : " signals ");
    fprintf(d->f, "semaphore %" PRIu32 " value %" PRIu64 "<div class=\"scopes\">", sync->semaphore, sync->value);
    html_scope(d, node->kind == HD_STREAM_NODE_WAIT ? "second scope" : "first scope", sync->stages, 0,
               x->src_lacks | x->dst_lacks, 0);
    fputs("</div></div>\n", d->f);
}

static void write_html(const drawing *d)
{
    fputs("<section><h2>", d->f);
    put_html(d->finding->text ? d->finding->text : hd_rule_name((hd_rule)d->finding->rule), d->f);
    fputs("</h2>\n", d->f);
    html_place(d, &d->finding->first);
    for (uint32_t i = 0; i < d->count; i++)
        html_between(d, &d->between[i]);
    html_place(d, &d->finding->second);
    fputs("</section>\n", d->f);
}

hd_result hd_stream_picture_write(const hd_stream *stream, const hd_finding *findings, uint32_t count,
                                  hd_stream_picture_format format, FILE *file)
{
    if (!stream || (!findings && count) || !file || (unsigned)format > HD_STREAM_PICTURE_HTML)
        return HD_INVALID_ARGUMENT;
    bool dot = format == HD_STREAM_PICTURE_DOT;
    fputs(dot ? "digraph broken {\n  node [fontname=\"sans-serif\", fontsize=10];\n"
                "  edge [fontname=\"sans-serif\", fontsize=9];\n"
              : head,
          file);
    for (uint32_t i = 0; i < count; i++) {
        drawing d;
        open_drawing(&d, stream, &findings[i], i, file);
        if (dot)
            write_dot(&d);
        else
            write_html(&d);
    }
    if (!count && !dot)
        fputs("<p>No rule is broken.</p>\n", file);
    fputs(dot ? "}\n" : "</body>\n</html>\n", file);
    return ferror(file) ? HD_IO : HD_OK;
}
