#include "compile.h"

#include <float.h>
#include <string.h>

#include "alloc.h"

/* hd_graph_compile: what the caller asks for is checked, the plan of an earlier frame is looked for, and only then is
 * the frame compiled. */

/* Null, or which field of the description is wrong. */
static const char *desc_fault(const hd_compile_desc *desc)
{
    if ((uint32_t)desc->order > HD_ORDER_DECLARED)
        return "order is no hd_order";
    if ((uint32_t)desc->cache > HD_CACHE_CHECK)
        return "cache is no hd_cache";
    if (!(desc->handoff_us >= 0.0f && desc->handoff_us <= FLT_MAX))
        return "handoff_us is negative, infinite or no number";
    return NULL;
}

/* Returns null, or what is wrong with the queue set. */
static const char *build_queues(const hdi_decl *decl, const hd_compile_desc *desc, hdi_queues *out)
{
    static const hd_queue_desc one = {HD_QUEUE_GFX, 0};
    const hd_queue_desc *queues = desc->queues ? desc->queues : &one;
    uint32_t count = desc->queues ? desc->queue_count : 1;
    _Static_assert(HD_MAX_QUEUES - 1 == 15, "the sentence says so");
    if (count == 0 || count > HD_MAX_QUEUES - 1)
        return "the queue set: queue_count is 0 or more than 15";
    *out = (hdi_queues){.count = count, .gpu_count = count, .host = HDI_NONE};
    for (uint32_t q = 0; q < count; q++) {
        if ((uint32_t)queues[q].kind > HD_QUEUE_TRANSFER)
            return "the queue set: a kind is none of gfx, compute and transfer";
        if (queues[q].family == HDI_NONE)
            return "the queue set: a family is HD_NONE";
        out->kind[q] = (uint8_t)queues[q].kind;
        out->number[q] = (uint8_t)q;
        out->family[q] = queues[q].family;
        out->kinds |= 1u << queues[q].kind;
    }
    if (decl->pass_count && memchr(decl->pass_type, HD_PASS_HOST, decl->pass_count)) {
        out->host = out->count++;
        out->kind[out->host] = HD_QUEUE_HOST;
        out->number[out->host] = (uint8_t)out->host;
        out->family[out->host] = HDI_NONE;
        out->kinds |= 1u << HD_QUEUE_HOST;
    }
    return NULL;
}

/* Compiles what was found all the same. The plan that was found stays the one that is returned. */
static hd_result check(hd_graph *graph, const hd_compile_desc *desc, hdi_tables *t, const hd_plan *found,
                       const hd_plan **out)
{
    const hd_plan *fresh = NULL;
    hd_result result = hdi_compile_frame(graph, desc, t, &fresh);
    if (result != HD_OK)
        return result;
    graph->cache.stats.checks++;
    size_t bytes, found_bytes;
    const void *data = hd_plan_data(fresh, &bytes), *found_data = hd_plan_data(found, &found_bytes);
    if (bytes != found_bytes || memcmp(data, found_data, bytes) != 0)
        return hdi_graph_fail(graph, HD_CACHE_MISMATCH, HD_NONE, HD_NONE, HD_NONE, NULL);
    *out = found;
    return HD_OK;
}

static hd_result compile_new(hd_graph *graph, const hd_compile_desc *desc, hdi_tables *tables, const hd_plan **out)
{
    hd_result result = hdi_compile_frame(graph, desc, tables, out);
    if (result == HD_OK && graph->log_plans && hd_plan_log(graph, *out, &graph->log) != HD_OK)
        hdi_log(&graph->log, HD_LOG_WARNING, "no memory to say what became of the frame's passes");
    return result;
}

static hd_result compile(hd_graph *graph, const hd_compile_desc *desc, const hd_plan **out)
{
    static const hd_compile_desc defaults = {0};
    const hd_result joined = hd_graph_join(graph);
    if (joined != HD_OK)
        return joined;
    desc = desc ? desc : &defaults;
    if (desc->phase_ns)
        memset(desc->phase_ns, 0, HD_PHASE_COUNT * sizeof(*desc->phase_ns));
    hdi_decl decl = hdi_graph_decl(graph);
    hdi_tables tables;
    memset(&tables, 0, offsetof(hdi_tables, attached)); /* that is long, and filled before it is read */
    tables.decl = &decl;
    const char *fault = desc_fault(desc);
    if (!fault)
        fault = build_queues(&decl, desc, &tables.all_queues);
    if (fault)
        return hdi_graph_fail(graph, HD_INVALID_ARGUMENT, HD_NONE, HD_NONE, HD_NONE, fault);
    if (desc->cache == HD_CACHE_OFF)
        return compile_new(graph, desc, &tables, out);
    hdi_cache_entry *entry = hdi_cache_find(&graph->cache, &graph->allocator, &decl, &tables.all_queues, desc);
    if (entry && desc->cache == HD_CACHE_CHECK)
        return check(graph, desc, &tables, entry->plan.data, out);
    if (entry) {
        *out = entry->plan.data;
        return HD_OK;
    }
    hd_result result = compile_new(graph, desc, &tables, out);
    if (result == HD_OK)
        hdi_cache_keep(&graph->cache, &graph->plan);
    return result;
}

hd_result hd_graph_compile(hd_graph *graph, const hd_compile_desc *desc, const hd_plan **out)
{
    if (out)
        *out = NULL;
    if (!graph || graph->list || !out || !hdi_graph_enter(graph, "hd_graph_compile", true))
        return HD_INVALID_ARGUMENT;
    const hd_result result = compile(graph, desc, out);
    hdi_graph_leave(graph, HDI_ENTERED);
    return result;
}
