#include "command.h"

#include <stdlib.h>
#include <string.h>

bool parse_queues(const char *list, queue_list *out)
{
    /* Families as many devices have them: graphics, transfer, compute. */
    static const struct {
        const char *word;
        hd_queue_desc queue;
    } kinds[] = {{"gfx", {HD_QUEUE_GFX, 0}}, {"compute", {HD_QUEUE_COMPUTE, 2}}, {"transfer", {HD_QUEUE_TRANSFER, 1}}};
    out->count = 0;
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ","), k = 0;
        while (k < 3 && (strlen(kinds[k].word) != length || strncmp(at, kinds[k].word, length) != 0))
            k++;
        if (k == 3 || out->count == HD_MAX_QUEUES - 1)
            return false;
        out->queue[out->count++] = kinds[k].queue;
        at += length;
        if (!*at)
            return true;
    }
}

bool parse_order(const char *word, hd_order *out)
{
    static const char *const words[] = {"overlap", "memory", "declared"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(word, words[i]) == 0) {
            *out = (hd_order)i;
            return true;
        }
    }
    return false;
}

hd_compile_desc compile_desc_of(const hd_graph *graph, const compile_options *options)
{
    static const hd_queue_desc usual[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}};
    hd_compile_desc desc = *hd_graph_fgt_desc(graph);
    if (options->queues.count) {
        desc.queues = options->queues.queue;
        desc.queue_count = options->queues.count;
    } else if (!desc.queues) {
        desc.queues = usual;
        desc.queue_count = sizeof(usual) / sizeof(usual[0]);
    }
    if (options->has_order)
        desc.order = options->order;
    if (options->has_effort)
        desc.packing_effort = options->effort;
    if (options->budget)
        desc.memory_budget = options->budget;
    if (options->handoff_us > 0)
        desc.handoff_us = options->handoff_us;
    desc.merge_rendering = desc.merge_rendering || options->merge_rendering;
    return desc;
}

static int read_plan(const char *path, framed *f)
{
    size_t bytes;
    char *text = read_whole_file(path, &bytes), error[512] = "";
    if (text && hd_plan_read_json(f->graph, text, bytes, NULL, &f->read, error, sizeof(error)) != HD_OK)
        fprintf(stderr, "%s: %s\n", path, error);
    free(text);
    f->plan = f->read;
    return f->read ? EXIT_DONE : EXIT_INPUT;
}

int open_frame(const char *path, const char *plan_path, const compile_options *options, framed *out)
{
    int status;
    *out = (framed){.graph = read_graph(path, &status)};
    if (!out->graph || plan_path)
        return out->graph ? read_plan(plan_path, out) : status;
    const hd_compile_desc desc = compile_desc_of(out->graph, options);
    if (hd_graph_compile(out->graph, &desc, &out->plan) == HD_OK)
        return EXIT_DONE;
    char error[ERROR_BYTES];
    hd_graph_fgt_error(out->graph, path, error, sizeof(error));
    fprintf(stderr, "%s\n", error);
    return EXIT_INPUT;
}

void close_frame(framed *f)
{
    hd_plan_free(f->read, NULL);
    hd_graph_destroy(f->graph);
}
