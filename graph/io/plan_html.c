#include <inttypes.h>
#include <string.h>

#include "fgt_words.h"
#include "plan_view.h"

/* A plan as one self-contained page: queues as lanes over the order of the submits, a map of each heap (place in the
 * order against offset), tables of submits, barriers, resources and culled passes, each with its reason. Pictures are
 * inline SVG; nothing is loaded. */

typedef struct page {
    const hdi_decl *decl;
    const hd_plan_view *view;
    const hd_plan_reasons *reasons;
    uint32_t *first, *last; /* by resource */
    FILE *f;
} page;

static void write_why(const page *g, hdi_why_kind kind, const hd_why *why)
{
    char text[HDI_WHY_BYTES];
    hdi_write_markup(hdi_why_text(g->decl, kind, why, text, sizeof(text)), g->f);
}

static void write_pass(const page *g, uint32_t pass)
{
    char label[96];
    if (pass != HD_NONE)
        hdi_write_markup(hdi_pass_label(g->decl, pass, label, sizeof(label)), g->f);
}

enum { CELL = 26, LANE = 34, LEFT = 110, MAP_HEIGHT = 260 };

static uint32_t pass_total(const hd_plan_view *view)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < view->command_count; c++)
        n += view->commands[c].kind == HD_COMMAND_PASS;
    return n;
}

/* The tooltip of a batch: a line a barrier. */
static void write_batch_title(const page *g, const hd_plan_batch *batch)
{
    fprintf(g->f, "<title>%" PRIu32 " barriers", batch->barrier_count);
    for (uint32_t i = 0; i < batch->barrier_count; i++) {
        fputc('\n', g->f);
        write_why(g, HDI_WHY_BARRIER, &g->reasons->barriers[batch->barrier_begin + i]);
    }
    fputs("</title>", g->f);
}

static void write_lanes(const page *g)
{
    const hdi_decl *decl = g->decl;
    const hd_plan_view *view = g->view;
    FILE *f = g->f;
    uint32_t at = 0, width = LEFT + CELL * (pass_total(view) + 1), height = LANE * view->queue_count + 10;
    fprintf(f, "<h2>Queues</h2><div class=\"wide\"><svg width=\"%" PRIu32 "\" height=\"%" PRIu32 "\">", width, height);
    for (uint32_t q = 0; q < view->queue_count; q++)
        fprintf(f, "<text x=\"4\" y=\"%" PRIu32 "\">%" PRIu32 ": %s</text>", LANE * q + 22, q,
                hdi_fgt_kinds[view->queues[q].kind & 3]);
    for (uint32_t s = 0; s < view->submit_count; s++) {
        const hd_plan_submit *submit = &view->submits[s];
        uint32_t y = LANE * submit->queue + 6;
        fprintf(f, "<path class=\"%s\" d=\"M%" PRIu32 " %" PRIu32 "v22\"><title>submit %" PRIu32 " starts: ",
                submit->wait_count ? "wait" : "cut", LEFT + CELL * at, y, s);
        write_why(g, HDI_WHY_CUT, &g->reasons->submits[s]);
        for (uint32_t w = submit->wait_begin; w < submit->wait_begin + submit->wait_count; w++) {
            fprintf(f, "\nwaits for queue %" PRIu32 ": ", view->waits[w].queue);
            write_why(g, HDI_WHY_WAIT, &g->reasons->waits[w]);
        }
        fputs("</title></path>", f);
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
            char label[96];
            uint32_t pass = view->commands[c].index;
            if (view->commands[c].kind != HD_COMMAND_PASS) {
                fprintf(f, "<circle cx=\"%" PRIu32 "\" cy=\"%" PRIu32 "\" r=\"3\">", LEFT + CELL * at, y - 2);
                write_batch_title(g, &view->batches[pass]);
                fputs("</circle>", f);
                continue;
            }
            fprintf(f, "<rect x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" width=\"%d\" height=\"22\" fill=\"%s\"><title>",
                    LEFT + CELL * at + 1, y, CELL - 2, hdi_pass_color(decl, pass));
            hdi_write_markup(hdi_pass_label(decl, pass, label, sizeof(label)), f);
            fprintf(f,
                    " (submit %" PRIu32 ")</title></rect><text class=\"in\" x=\"%" PRIu32 "\" y=\"%" PRIu32
                    "\">%" PRIu32 "</text>",
                    s, LEFT + CELL * at + 4, y + 15, pass);
            at++;
        }
    }
    fputs("</svg></div>", f);
}

/* First and last place of each resource in the order of the submits; HD_NONE: unused. */
static void find_lives(const page *g)
{
    const hdi_decl *decl = g->decl;
    uint32_t at = 0;
    memset(g->first, 0xff, decl->res_count * sizeof(*g->first));
    for (uint32_t c = 0; c < g->view->command_count; c++) {
        uint32_t p = g->view->commands[c].index;
        if (g->view->commands[c].kind != HD_COMMAND_PASS)
            continue;
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            uint32_t res = decl->use_res[u];
            g->first[res] = g->first[res] == HD_NONE ? at : g->first[res];
            g->last[res] = at;
        }
        at++;
    }
}

static void write_heap(const page *g, uint32_t heap)
{
    const hdi_decl *decl = g->decl;
    const hd_plan_view *view = g->view;
    FILE *f = g->f;
    uint64_t bytes = view->heaps[heap].bytes;
    uint32_t passes = pass_total(view), width = LEFT + CELL * (passes + 1);
    fprintf(f, "<h2>Heap %" PRIu32 ": %.2f MiB%s%s</h2><div class=\"wide\"><svg width=\"%" PRIu32 "\" height=\"%d\">",
            heap, (double)bytes / 1048576.0, view->heaps[heap].flags & HD_HEAP_HOST ? ", host" : "",
            view->heaps[heap].flags & HD_HEAP_PERSISTENT ? ", persistent" : "", width, MAP_HEIGHT + 4);
    for (uint32_t i = 0; i < view->resource_count; i++) {
        const hd_plan_resource *r = &view->resources[i];
        char label[96];
        if (r->heap != heap || bytes == 0)
            continue;
        uint32_t first = g->first[r->id], last = g->last[r->id];
        if (first == HD_NONE || view->heaps[heap].flags & HD_HEAP_PERSISTENT) {
            first = 0;
            last = passes ? passes - 1 : 0;
        }
        double y = MAP_HEIGHT * ((double)r->offset / (double)bytes),
               h = MAP_HEIGHT * ((double)r->bytes / (double)bytes);
        fprintf(f,
                "<rect class=\"res\" x=\"%" PRIu32 "\" y=\"%.2f\" width=\"%" PRIu32
                "\" height=\"%.2f\" fill=\"hsl(%" PRIu32 ",55%%,75%%)\"><title>",
                LEFT + CELL * first, y, CELL * (last - first + 1), h, r->id * 47 % 360);
        hdi_write_markup(hdi_resource_label(decl, r->id, label, sizeof(label)), f);
        fprintf(f, ": %" PRIu64 " bytes at %" PRIu64 "\n", r->bytes, r->offset);
        write_why(g, HDI_WHY_PLACING, &g->reasons->resources[i]);
        fputs("</title></rect>", f);
    }
    fputs("</svg></div>", f);
}

static void write_submits(const page *g)
{
    const hd_plan_view *view = g->view;
    FILE *f = g->f;
    fputs("<h2>Submits</h2><table><tr><th>submit</th><th>queue</th><th>starts</th><th>waits</th><th>signals</"
          "th><th>ends</th></tr>",
          f);
    for (uint32_t s = 0; s < view->submit_count; s++) {
        const hd_plan_submit *submit = &view->submits[s];
        fprintf(f, "<tr><td>%" PRIu32 "</td><td>%" PRIu32 ": %s</td><td>", s, submit->queue,
                hdi_fgt_kinds[view->queues[submit->queue].kind & 3]);
        write_why(g, HDI_WHY_CUT, &g->reasons->submits[s]);
        fputs("</td><td>", f);
        for (uint32_t w = submit->wait_begin; w < submit->wait_begin + submit->wait_count; w++) {
            fprintf(f, "%squeue %" PRIu32 " at %" PRIu64 ": ", w > submit->wait_begin ? "; " : "", view->waits[w].queue,
                    view->waits[w].value);
            write_why(g, HDI_WHY_WAIT, &g->reasons->waits[w]);
        }
        fputs("</td><td>", f);
        if (submit->signal_value)
            fprintf(f, "%" PRIu64, submit->signal_value);
        fputs("</td><td>", f);
        write_why(g, HDI_WHY_CUT, &g->reasons->submit_ends[s]);
        fputs("</td></tr>\n", f);
    }
    fputs("</table>", f);
}

static void write_barriers(const page *g)
{
    const hd_plan_view *view = g->view;
    FILE *f = g->f;
    char label[96];
    fputs("<h2>Barriers</h2><table><tr><th>batch</th><th>resource</th><th>why</th><th>because "
          "of</th><th>for</th><th>stages</th>"
          "<th>accesses</th><th>layouts</th><th>families</th></tr>",
          f);
    for (uint32_t i = 0; i < view->batch_count; i++) {
        for (uint32_t k = 0; k < view->batches[i].barrier_count; k++) {
            const hd_plan_barrier *b = &view->barriers[view->batches[i].barrier_begin + k];
            const hd_why *why = &g->reasons->barriers[view->batches[i].barrier_begin + k];
            fprintf(f, "<tr><td>%" PRIu32 "</td><td>%s", i, b->resource == HD_NONE ? "all memory" : "");
            if (why->resource != HD_NONE) {
                fputs(b->resource == HD_NONE ? ", for " : "", f);
                hdi_write_markup(hdi_resource_label(g->decl, why->resource, label, sizeof(label)), f);
            }
            fprintf(f, "</td><td>%s", hdi_why_word(HDI_WHY_BARRIER, why->code));
            if (why->other_resource != HD_NONE) {
                fputs(", bytes of ", f);
                hdi_write_markup(hdi_resource_label(g->decl, why->other_resource, label, sizeof(label)), f);
            }
            fputs("</td><td>", f);
            write_pass(g, why->other_pass);
            fputs("</td><td>", f);
            write_pass(g, why->pass);
            fprintf(f, "</td><td>%" PRIx64 " &#8594; %" PRIx64 "</td><td>%" PRIx64 " &#8594; %" PRIx64 "</td><td>",
                    b->src_stages, b->dst_stages, b->src_access, b->dst_access);
            if (b->old_layout != b->new_layout)
                fprintf(f, "%" PRIu32 " &#8594; %" PRIu32, b->old_layout, b->new_layout);
            fputs("</td><td>", f);
            if (b->src_family != b->dst_family)
                fprintf(f, "%" PRIu32 " &#8594; %" PRIu32, b->src_family, b->dst_family);
            fputs("</td></tr>\n", f);
        }
    }
    fputs("</table>", f);
}

static void write_resources(const page *g)
{
    const hd_plan_view *view = g->view;
    FILE *f = g->f;
    char label[96];
    fputs("<h2>Resources</h2><table><tr><th>id</th><th>name</th><th>heap</th><th>offset</th><th>bytes</th><th>why "
          "there</th>"
          "<th>sharing</th></tr>",
          f);
    for (uint32_t i = 0; i < view->resource_count; i++) {
        const hd_plan_resource *r = &view->resources[i];
        fprintf(f, "<tr><td>%" PRIu32 "</td><td>", r->id);
        hdi_write_markup(hdi_resource_label(g->decl, r->id, label, sizeof(label)), f);
        if (r->heap == HD_NONE)
            fputs("</td><td></td><td></td><td></td><td>", f);
        else
            fprintf(f, "</td><td>%" PRIu32 "</td><td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>", r->heap, r->offset,
                    r->bytes);
        write_why(g, HDI_WHY_PLACING, &g->reasons->resources[i]);
        fprintf(f, "</td><td>%s</td></tr>\n", r->flags & HD_PLAN_CONCURRENT ? "concurrent" : "");
    }
    fputs("</table>", f);
}

static void write_culled(const page *g)
{
    FILE *f = g->f;
    if (g->view->culled_count == 0)
        return;
    fputs("<h2>Culled passes</h2><table><tr><th>pass</th><th>name</th><th>why</th></tr>", f);
    for (uint32_t i = 0; i < g->view->culled_count; i++) {
        fprintf(f, "<tr><td>%" PRIu32 "</td><td>", g->view->culled[i]);
        write_pass(g, g->view->culled[i]);
        fputs("</td><td>", f);
        write_why(g, HDI_WHY_CULL, &g->reasons->culled[i]);
        fputs("</td></tr>\n", f);
    }
    fputs("</table>", f);
}

hd_result hd_plan_write_html(const hd_graph *graph, const hd_plan *plan, FILE *f)
{
    if (!graph || !plan || !f)
        return HD_INVALID_ARGUMENT;
    hdi_decl decl = hdi_graph_decl(graph);
    hd_plan_view view = hd_plan_read(plan);
    page g = {.decl = &decl, .view = &view, .f = f};
    hdi_arena arena;
    hdi_arena_init(&arena, hdi_graph_allocator(graph));
    g.first = HDI_ARENA_ARRAY(&arena, uint32_t, decl.res_count);
    g.last = HDI_ARENA_ARRAY(&arena, uint32_t, decl.res_count);
    hd_result result =
        arena.failed ? HD_OUT_OF_MEMORY : hd_plan_explain(graph, plan, hdi_graph_allocator(graph), &g.reasons);
    if (result != HD_OK) {
        hdi_arena_free(&arena);
        return result;
    }
    find_lives(&g);
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", f);
    hdi_write_markup(hd_graph_name(graph), f);
    fputs("</title><style>body{font:13px system-ui,sans-serif;margin:24px;color:#222}h2{margin:24px 0 6px}"
          ".wide{overflow-x:auto;border:1px solid #ccc}svg{display:block}text{font-size:12px}.in{font-size:9px}"
          ".wait{stroke:#c0392b;stroke-width:3}.cut{stroke:#999;stroke-width:2}.res{stroke:#555;stroke-width:.5}table{"
          "border-collapse:collapse}"
          "td,th{border:1px solid #ddd;padding:2px 8px;text-align:left}</style></head><body><h1>",
          f);
    hdi_write_markup(hd_graph_name(graph), f);
    fprintf(f,
            "</h1><p>%" PRIu32 " passes, %" PRIu32 " culled, %" PRIu32 " submits, %" PRIu32 " waits, %" PRIu32
            " barriers in %" PRIu32 " batches. Point at anything to read what it is; a bar starts a submit, a red one "
                                    "waits for another queue, a dot is a batch of barriers.</p>",
            view.pass_count, view.culled_count, view.submit_count, view.wait_count, view.barrier_count,
            view.batch_count);
    write_lanes(&g);
    for (uint32_t h = 0; h < view.heap_count; h++)
        write_heap(&g, h);
    write_submits(&g);
    write_barriers(&g);
    write_resources(&g);
    write_culled(&g);
    hd_plan_reasons_free(g.reasons, hdi_graph_allocator(graph));
    hdi_arena_free(&arena);
    fputs("</body></html>\n", f);
    return fflush(f) == 0 && !ferror(f) ? HD_OK : HD_IO;
}
