#include "adapters.h"

#include <stdlib.h>
#include <string.h>

#include <heddle/graph.h>

#include "measure.h"

/* heddle's own adapter. It says every frame through the public calls, from the flat workload. All handles share one
 * graph, as the frames of an engine do. */

static hd_graph *shared;
static hdb_counted counted;
static uint32_t users;

typedef struct heddle_bench {
    const hb_workload *workload;
    hb_options options;
    hd_jobs *jobs;
    hd_queue_desc queues[HD_MAX_QUEUES];
    hd_resource *handle;
    hd_use *uses; /* of one pass */
    hd_range *range;
    uint64_t phase_ns[HD_PHASE_COUNT];
    const hd_plan *plan;
} heddle_bench;

static const char *name(void)
{
    return "heddle";
}

static const char *version(void)
{
    return "0.1";
}

static uint64_t capabilities(void)
{
    return HB_CAN_IMAGE_RANGES | HB_CAN_BUFFER_RANGES | HB_CAN_HISTORIES | HB_CAN_HOST_PASSES | HB_CAN_SEVERAL_QUEUES |
           HB_CAN_PINS | HB_CAN_WORKERS | HB_CAN_REUSE | HB_CAN_BUDGET;
}

static void close_handle(void *handle)
{
    heddle_bench *h = handle;
    if (!h)
        return;
    hd_jobs_destroy(h->jobs);
    free(h->handle);
    free(h->uses);
    free(h->range);
    free(h);
    if (--users == 0) {
        hd_graph_destroy(shared);
        shared = NULL;
        counted = (hdb_counted){0};
    }
}

static hd_resource say_resource(const hb_workload *w, hd_graph *graph, const hd_resource *handles, uint32_t r)
{
    enum { GENERAL = 1 };
    if (w->resource_kind[r] == HB_RESOURCE_HISTORY)
        return hd_graph_history(graph, handles[w->resource_of[r]]);
    if (w->resource_kind[r] == HB_RESOURCE_BUFFER && !w->resource_external[r])
        return hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = w->resource_size[r]});
    if (w->resource_external[r])
        return hd_graph_import(graph, &(hd_import_desc){.width = w->resource_width[r],
                                                        .height = w->resource_height[r],
                                                        .format = w->resource_format[r],
                                                        .mips = w->resource_mips[r],
                                                        .layers = w->resource_layers[r],
                                                        .bytes = w->resource_size[r],
                                                        .initial_layout = w->resource_size[r] ? 0 : GENERAL,
                                                        .serial = r + 1u});
    return hd_graph_image(graph, &(hd_image_desc){.width = w->resource_width[r],
                                                  .height = w->resource_height[r],
                                                  .format = w->resource_format[r],
                                                  .mips = w->resource_mips[r],
                                                  .layers = w->resource_layers[r]});
}

void hb_heddle_say(const hb_workload *w, hd_graph *graph, hd_resource *handles, hd_use *uses, const hd_range *ranges)
{
    hd_graph_begin(graph);
    for (uint32_t r = 0; r < w->resource_count; r++)
        handles[r] = say_resource(w, graph, handles, r);
    for (uint32_t p = 0; p < w->pass_count; p++) {
        uint32_t begin = w->pass_use_begin[p], count = w->pass_use_begin[p + 1] - begin;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t u = begin + i;
            uses[i].resource = handles[w->use_resource[u]];
            uses[i].access = (hd_access)w->use_access[u];
            uses[i].range = w->use_range[u] == HB_NONE ? (hd_range){0} : ranges[w->use_range[u]];
        }
        hd_graph_pass(graph, &(hd_pass_desc){.type = (hd_pass_type)w->pass_type[p],
                                             .pin = (hd_pin)w->pass_pin[p],
                                             .root = w->pass_root[p],
                                             .cost_us = w->pass_cost_us[p],
                                             .uses = uses,
                                             .use_count = count});
    }
}

static int declare(void *handle)
{
    heddle_bench *h = handle;
    hb_heddle_say(h->workload, shared, h->handle, h->uses, h->range);
    return hd_graph_error(shared)->result;
}

/* Room for a frame of the workload, and its ranges as heddle has them. False: no memory. */
static bool make_room(const hb_workload *w, hd_resource **handles, hd_use **uses, hd_range **ranges)
{
    uint32_t most = 1;
    for (uint32_t p = 0; p < w->pass_count; p++) {
        uint32_t count = w->pass_use_begin[p + 1] - w->pass_use_begin[p];
        most = count > most ? count : most;
    }
    *handles = calloc(w->resource_count + 1u, sizeof(**handles));
    *uses = calloc(most, sizeof(**uses));
    *ranges = calloc(w->range_count + 1u, sizeof(**ranges));
    for (uint32_t i = 0; *ranges && i < w->range_count; i++) {
        const hb_range *from = &w->range[i];
        (*ranges)[i] = from->bytes ? (hd_range){.offset = from->offset, .bytes = from->bytes}
                                   : (hd_range){.mip_base = (uint16_t)from->mip_base,
                                                .mip_count = (uint16_t)from->mip_count,
                                                .layer_base = from->layer_base,
                                                .layer_count = from->layer_count};
    }
    return *handles && *uses && *ranges;
}

void hb_heddle_declare(const hb_workload *w, hd_graph *graph)
{
    hd_resource *handles;
    hd_use *uses;
    hd_range *ranges;
    if (make_room(w, &handles, &uses, &ranges))
        hb_heddle_say(w, graph, handles, uses, ranges);
    else
        hd_graph_begin(graph);
    free(handles);
    free(uses);
    free(ranges);
}

static void *open_handle(const hb_workload *w, const hb_options *options, char *error, size_t error_bytes)
{
    heddle_bench *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    hd_result result = HD_OK;
    if (users++ == 0)
        result = hd_graph_create(&(hd_graph_desc){.name = w->name, .allocator = hdb_counted_allocator(&counted)},
                                 &shared);
    h->workload = w;
    h->options = *options;
    if (result == HD_OK && !make_room(w, &h->handle, &h->uses, &h->range))
        result = HD_OUT_OF_MEMORY;
    if (result == HD_OK && options->workers > 1)
        result = hd_jobs_create(&(hd_jobs_desc){.worker_count = options->workers}, &h->jobs);
    if (result != HD_OK) {
        snprintf(error, error_bytes, "%s", hd_result_text(result));
        close_handle(h);
        return NULL;
    }
    for (uint32_t q = 0; q < w->queue_count; q++)
        h->queues[q] = (hd_queue_desc){(hd_queue_kind)w->queue_kind[q], w->queue_family[q]};
    return h;
}

static int compile(void *handle)
{
    heddle_bench *h = handle;
    hd_compile_desc desc = {.queues = h->queues,
                            .queue_count = h->workload->queue_count,
                            .order = (hd_order)h->options.order,
                            .memory_budget = h->options.memory_budget,
                            .jobs = h->jobs,
                            .phase_ns = h->options.timed ? h->phase_ns : NULL,
                            .cache = h->options.reuse ? HD_CACHE_ON : HD_CACHE_OFF};
    hd_result result = hd_graph_compile(shared, &desc, &h->plan);
    return result == HD_OVER_BUDGET ? HB_REFUSED : (int)result;
}

static int export_plan(void *handle, FILE *file)
{
    const heddle_bench *h = handle;
    return hd_plan_write_json(shared, h->plan, file);
}

static void counts(void *handle, hb_counts *out)
{
    (void)handle;
    *out = (hb_counts){counted.made, counted.bytes, counted.peak};
}

static const char *phase(void *handle, uint32_t index, uint64_t *ns)
{
    const heddle_bench *h = handle;
    if (index >= HD_PHASE_COUNT)
        return NULL;
    *ns = h->phase_ns[index];
    return hd_phase_name((int)index);
}

const hb_adapter hb_heddle = {
    .interface = HB_INTERFACE,
    .name = name,
    .version = version,
    .capabilities = capabilities,
    .open = open_handle,
    .declare = declare,
    .compile = compile,
    .export_plan = export_plan,
    .counts = counts,
    .phase = phase,
    .close = close_handle,
};
