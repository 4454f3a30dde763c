#include "workloads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workload_record.h"

/* Workloads are recorded once, because their random numbers must not be in the time of a build, and declared from
 * compact columns: 8 bytes a use, from which hd_use structs are put together in a buffer that stays in the first cache,
 * as an engine's compound literals do. Keeping finished hd_use arrays instead would charge the build with reading 56
 * cold bytes a use that no engine reads. */

const char *const hdb_family_names[HDB_FAMILY_COUNT] = {"deferred", "layered", "chain", "fanout", "async", "temporal"};

uint32_t hdb_family_index(const char *name)
{
    uint32_t family = 0;

    while (family < HDB_FAMILY_COUNT && strcmp(hdb_family_names[family], name) != 0)
        family++;
    return family;
}

/* ---- recording ---- */

/* The place of a new item; null when there is no memory. */
static void *add(hdb_workload *w, hdb_column *column, size_t item_bytes)
{
    if (column->count == column->capacity) {
        uint32_t capacity = column->capacity ? column->capacity * 2 : 256;
        void *grown = realloc(column->items, capacity * item_bytes);
        if (!grown) {
            w->failed = true;
            return NULL;
        }
        column->items = grown;
        column->capacity = capacity;
    }
    return (char *)column->items + item_bytes * column->count++;
}

static uint32_t add_resource(hdb_workload *w, hdb_resource resource)
{
    hdb_resource *place = add(w, &w->resource, sizeof(resource));
    if (place)
        *place = resource;
    return w->resource.count - 1;
}

uint32_t hdb_image(hdb_workload *w, uint32_t width, uint32_t height, uint32_t format, uint32_t mips, uint32_t layers)
{
    return add_resource(w, (hdb_resource){.kind = HDB_IMAGE,
                                          .mips = (uint8_t)mips,
                                          .layers = (uint8_t)layers,
                                          .width = width,
                                          .height = height,
                                          .format = format});
}

uint32_t hdb_target(hdb_workload *w, uint32_t width, uint32_t height, uint32_t format)
{
    uint32_t index = hdb_image(w, width, height, format, 1, 1);
    if (!w->failed)
        ((hdb_resource *)w->resource.items)[index].external = 1;
    return index;
}

uint32_t hdb_buffer(hdb_workload *w, uint64_t bytes)
{
    return add_resource(w, (hdb_resource){.kind = HDB_BUFFER, .bytes = bytes});
}

uint32_t hdb_history(hdb_workload *w, uint32_t of)
{
    return add_resource(w, (hdb_resource){.kind = HDB_HISTORY, .width = of});
}

/* To a tenth of a microsecond, between bounds that fit the type of the pass. The costs have a generator of their own,
 * so that the graph is the same with and without them. */
static float draw_cost(hdb_workload *w, hd_pass_type type)
{
    static const double bound[][2] = {[HD_PASS_GFX] = {20, 400},
                                      [HD_PASS_COMPUTE] = {10, 250},
                                      [HD_PASS_TRANSFER] = {5, 60},
                                      [HD_PASS_HOST] = {5, 40}};
    double low = bound[type][0], high = bound[type][1];
    double cost = low + (high - low) * hdb_random(&w->cost_random);
    return (float)(nearbyint(cost * 10) / 10);
}

void hdb_begin_pass(hdb_workload *w, hd_pass_type type, hdb_pass_options options)
{
    hdb_pass *pass = add(w, &w->pass, sizeof(*pass));
    if (pass)
        *pass = (hdb_pass){.type = (uint8_t)type,
                           .root = options.root,
                           .pin = (uint8_t)options.pin,
                           .cost_us = w->has_cost ? draw_cost(w, type) : 0,
                           .resource_end = w->resource.count,
                           .use_end = w->use.count};
}

static void add_use(hdb_workload *w, uint32_t resource, hd_access access, uint32_t range)
{
    hdb_use *use = w->failed ? NULL : add(w, &w->use, sizeof(*use));
    if (!use)
        return;
    *use = (hdb_use){resource, (uint16_t)access, (uint16_t)range};
    hdb_pass *pass = (hdb_pass *)w->pass.items + w->pass.count - 1;
    uint32_t begin = w->pass.count > 1 ? pass[-1].use_end : 0;
    pass->use_end = w->use.count;
    if (pass->use_end - begin > w->most_uses)
        w->most_uses = pass->use_end - begin;
}

void hdb_add_use(hdb_workload *w, uint32_t resource, hd_access access)
{
    add_use(w, resource, access, 0);
}

/* The ranges of a workload are few: a search among them all, at the time of making, is cheap. */
void hdb_add_part(hdb_workload *w, uint32_t resource, hd_access access, hd_range range)
{
    const hd_range *known = w->range.items;
    uint32_t index = 0;

    while (index < w->range.count && memcmp(&known[index], &range, sizeof(range)) != 0)
        index++;
    if (index == w->range.count) {
        hd_range *place = add(w, &w->range, sizeof(*place));
        if (!place)
            return;
        *place = range;
    }
    add_use(w, resource, access, index);
}

void hdb_add_pass(hdb_workload *w, hd_pass_type type, hdb_pass_options options, const hdb_named_use *uses, size_t count)
{
    hdb_begin_pass(w, type, options);
    for (size_t u = 0; u < count; u++)
        hdb_add_part(w, uses[u].resource, uses[u].access, uses[u].range);
}

/* ---- making ---- */

static bool make_room(hdb_workload *w)
{
    w->handle = calloc(w->resource.count, sizeof(*w->handle));
    w->scratch = calloc(w->most_uses, sizeof(*w->scratch));
    w->floor_out = calloc(w->use.count, 24);
    return w->handle && w->scratch && w->floor_out;
}

hdb_workload *hdb_workload_make(uint32_t family, uint32_t pass_count, uint64_t seed, bool cost)
{
    hdb_workload *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    snprintf(w->name, sizeof(w->name), "%s-%u", hdb_family_names[family], pass_count);
    w->has_cost = cost;
    hdb_mersenne_seed(&w->random, seed);
    hdb_mersenne_seed(&w->cost_random, seed + 1);
    hd_range *whole = add(w, &w->range, sizeof(*whole));
    if (whole) {
        *whole = (hd_range){0};
        hdb_families[family](w, pass_count);
    }
    if (w->failed || !make_room(w)) {
        hdb_workload_free(w);
        return NULL;
    }
    return w;
}

void hdb_workload_free(hdb_workload *w)
{
    if (!w)
        return;
    free(w->resource.items);
    free(w->pass.items);
    free(w->use.items);
    free(w->range.items);
    free(w->handle);
    free(w->scratch);
    free(w->floor_out);
    free(w);
}

const char *hdb_workload_name(const hdb_workload *w)
{
    return w->name;
}

uint32_t hdb_workload_pass_count(const hdb_workload *w)
{
    return w->pass.count;
}

uint32_t hdb_workload_use_count(const hdb_workload *w)
{
    return w->use.count;
}

/* ---- declaring ---- */

enum { IMPORTED = 1 << 30 }; /* handles that the stub driver does not give out */
enum { LAYOUT_GENERAL = 1 }; /* of externals at the frame's start */

static hd_resource declare_resource(const hdb_workload *w, hd_graph *graph, const hdb_resource *r)
{
    if (r->kind == HDB_HISTORY)
        return hd_graph_history(graph, w->handle[r->width]);
    if (r->kind == HDB_BUFFER)
        return hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = r->bytes});
    if (r->external)
        return hd_graph_import(
            graph,
            &(hd_import_desc){
                .image =
                    w->record ? (void *)(uintptr_t)(IMPORTED + (r - (const hdb_resource *)w->resource.items)) : NULL,
                .width = r->width,
                .height = r->height,
                .format = r->format,
                .mips = r->mips,
                .layers = r->layers,
                .initial_layout = LAYOUT_GENERAL,
                .final_layout = w->record ? LAYOUT_GENERAL : 0, /* executed: the next frame finds it so again */
                .serial = 1});
    return hd_graph_image(
        graph, &(hd_image_desc){
                   .width = r->width, .height = r->height, .format = r->format, .mips = r->mips, .layers = r->layers});
}

void hdb_workload_declare(hdb_workload *w, hd_graph *graph)
{
    const hdb_resource *resource = w->resource.items;
    const hdb_pass *pass = w->pass.items;
    const hdb_use *use = w->use.items;
    const hd_range *range = w->range.items;
    hd_use *scratch = w->scratch; /* all but what is written below stays zero */
    uint32_t r = 0, u = 0;

    hd_graph_begin(graph);
    for (uint32_t p = 0; p < w->pass.count; p++) {
        for (; r < pass[p].resource_end; r++)
            w->handle[r] = declare_resource(w, graph, &resource[r]);
        uint32_t count = pass[p].use_end - u;
        for (uint32_t i = 0; i < count; i++) {
            const hdb_use *from = &use[u + i];
            scratch[i].resource = w->handle[from->resource];
            scratch[i].access = (hd_access)from->access;
            scratch[i].range = range[from->range];
        }
        u += count;
        hd_graph_pass(graph, &(hd_pass_desc){.type = (hd_pass_type)pass[p].type,
                                             .pin = (hd_pin)pass[p].pin,
                                             .root = pass[p].root,
                                             .cost_us = pass[p].cost_us,
                                             .uses = scratch,
                                             .use_count = count,
                                             .record = w->record});
    }
}

void hdb_workload_record(hdb_workload *w, hd_record_fn record)
{
    w->record = record;
}

uint64_t hdb_workload_floor(hdb_workload *w)
{
    /* As words: what is read is summed, so that the loops may be as wide as the machine can. */
    const struct {
        const void *items;
        size_t bytes;
    } inputs[] = {{w->resource.items, w->resource.count * sizeof(hdb_resource)},
                  {w->pass.items, w->pass.count * sizeof(hdb_pass)}};
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
        const uint32_t *words = inputs[i].items;
        for (size_t k = 0; k < inputs[i].bytes / sizeof(*words); k++)
            sum += words[k];
    }
    const hdb_use *use = w->use.items;
    for (uint32_t u = 0; u < w->use.count; u++) {
        uint64_t *out = w->floor_out + 3 * (size_t)u;
        out[0] = use[u].resource;
        out[1] = use[u].access;
        out[2] = sum + use[u].range;
    }
    return sum + w->floor_out[0];
}
