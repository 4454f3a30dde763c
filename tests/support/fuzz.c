#include "fuzz.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "graph_state.h"
#include "odd_frame.h"

void hdt_fuzz_fault(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    const char *file = getenv("HDT_CORPUS_FILE");
    fprintf(stderr, "%s%s%s\n", file ? " (" : "", file ? file : "", file ? ")" : "");
    abort();
}

uint64_t hdt_fuzz_hash(const uint8_t *data, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static void print(const char *text, void *user)
{
    (void)user;
    fprintf(stderr, "%s\n", text);
}

/* Results that bad options and declarations earn at compile; everything else is a fault. */
static bool may_fail_with(hd_result result, bool budget)
{
    switch (result) {
    case HD_INVALID_ARGUMENT: /* a queue set without any, a host queue in it */
    case HD_BAD_HANDLE:
    case HD_BAD_DESC:
    case HD_BAD_RANGE:
    case HD_BAD_ACCESS:
    case HD_BAD_PASS_TYPE:
    case HD_CONFLICTING_USES:
    case HD_BAD_RESOLVE:
    case HD_HISTORY_WRITTEN:
    case HD_HISTORY_OF_HISTORY:
    case HD_SECOND_HISTORY:
    case HD_UNWRITTEN_READ:
    case HD_VERSION_FORKED:
    case HD_VERSION_CYCLE:
    case HD_NO_QUEUE:
    case HD_TOO_LARGE:
        return true;
    case HD_OVER_BUDGET:
        return budget;
    default:
        return false;
    }
}

char *hdt_write_text(hdt_plan_writer write, const hd_graph *graph, const hd_plan *plan, size_t *bytes)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, bytes);
    HDT_FUZZ_CHECK(stream, "no stream");
    hd_result result = write(graph, plan, stream);
    fclose(stream);
    HDT_FUZZ_CHECK(result == HD_OK, "a plan cannot be written: %s", hd_result_name(result));
    return text;
}

static void check_plan(const hd_graph *graph, const hd_plan *plan, hd_size_fn size, uint64_t pick)
{
    hd_plan_stats stats;
    hd_result result = hd_plan_verify(graph, plan, &(hd_verify_desc){.message = print, .size = size});
    if (result != HD_OK) { /* to be looked into */
        hd_graph_write_fgt(graph, stderr);
        hd_plan_write_json(graph, plan, stderr);
    }
    HDT_FUZZ_CHECK(result == HD_OK, "a compiled plan fails verification: %s", hd_result_name(result));
    result = hd_plan_stats_get(graph, plan, 0, &stats);
    HDT_FUZZ_CHECK(result == HD_OK && stats.peak_live_bytes <= stats.unaliased_bytes, "statistics");

    if (pick & 1) /* files take longer than all the rest */
        return;
    size_t bytes, again_bytes, data_bytes;
    char *text = hdt_write_text(hd_plan_write_json, graph, plan, &bytes), error[600] = "";
    hd_plan *copy = NULL;
    result = hd_plan_read_json(graph, text, bytes, NULL, &copy, error, sizeof(error));
    HDT_FUZZ_CHECK(result == HD_OK, "a written plan cannot be read: %s", error);
    char *again = hdt_write_text(hd_plan_write_json, graph, copy, &again_bytes);
    HDT_FUZZ_CHECK(bytes == again_bytes && memcmp(text, again, bytes) == 0, "a plan changes on its way through a file");
    HDT_FUZZ_CHECK(hd_plan_data(plan, &data_bytes) && data_bytes > 0, "a plan without bytes");
    hd_plan_free(copy, NULL);
    free(text);
    free(again);
    if (pick & 6)
        return;
    free(hdt_write_text(hd_plan_write_dot, graph, plan, &bytes));
    free(hdt_write_text(hd_plan_write_list, graph, plan, &bytes));
    free(hdt_write_text(hd_plan_write_html, graph, plan, &bytes));
}

/* For all inputs. */
static hd_jobs *workers(void)
{
    static hd_jobs *jobs;
    if (!jobs && hd_jobs_create(&(hd_jobs_desc){.worker_count = 3}, &jobs) != HD_OK)
        hdt_fuzz_fault("no workers");
    return jobs;
}

hd_result hdt_fuzz_compile(hd_graph *graph, uint64_t pick)
{
    static const hd_queue_desc sets[][5] = {
        {{HD_QUEUE_GFX, 0}},
        {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}},
        {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 0}, {HD_QUEUE_TRANSFER, 0}},
        {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}},
        {{HD_QUEUE_TRANSFER, 2}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_GFX, 0}, {HD_QUEUE_GFX, 3}},
        {{HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 1}},
        {{HD_QUEUE_GFX, 0}, {HD_QUEUE_HOST, 0}},
        {{HD_QUEUE_GFX, 5}, {HD_QUEUE_GFX, 6}, {HD_QUEUE_COMPUTE, 6}},
    };
    static const uint32_t counts[] = {1, 3, 3, 4, 4, 2, 2, 3};
    uint32_t set = pick & 7;
    hd_compile_desc desc = {
        .queues = sets[set],
        .queue_count = counts[set],
        .order = (hd_order)(pick >> 3 & 3) % 3,
        .handoff_us = (pick >> 5 & 3) == 3 ? 1000.0f : (float)(pick >> 5 & 3),
        .merge_rendering = pick >> 7 & 1,
        .memory_budget = (pick >> 8 & 7) == 7 ? UINT64_C(1) << (pick >> 11 & 31) : 0,
    };
    hdt_odd_setting odd;
    if ((pick >> 16 & 3) == 3) { /* a set that no device has */
        hdt_odd_setting_make(pick, &odd);
        odd.desc.memory_budget = desc.memory_budget;
        desc = odd.desc;
        graph->region_passes = odd.region_passes;
        graph->parallel_passes = odd.parallel_passes;
    }
    const hd_plan *plan;
    hd_result earlier = hd_graph_error(graph)->result, result = hd_graph_compile(graph, &desc, &plan);
    HDT_FUZZ_CHECK((result == HD_OK) == (plan != NULL), "a plan and a result that disagree");
    if (result != HD_OK) {
        const hd_error *error = hd_graph_error(graph);
        HDT_FUZZ_CHECK(earlier == HD_OK || earlier == result, "an error became another one");
        HDT_FUZZ_CHECK(earlier != HD_OK || may_fail_with(result, desc.memory_budget != 0), "compile gave %s",
                       hd_result_name(result));
        HDT_FUZZ_CHECK(error->result == result && error->text[0], "an error without a sentence: %s",
                       hd_result_name(result));
        return result;
    }
    HDT_FUZZ_CHECK(earlier == HD_OK, "an error was forgotten");
    check_plan(graph, plan, desc.size, pick >> 20);
    desc.cache = HD_CACHE_CHECK;
    desc.jobs = pick >> 18 & 1 ? workers() : NULL;
    result = hd_graph_compile(graph, &desc, &plan);
    HDT_FUZZ_CHECK(result == HD_OK, "a second compile gave %s", hd_result_name(result));
    return HD_OK;
}
