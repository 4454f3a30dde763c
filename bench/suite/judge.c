#include "suite.h"

#include <stdlib.h>
#include <string.h>

/* A plan goes through a file, as everything does that others make, and then through the verifier. */

typedef struct first {
    char *text;
    size_t bytes;
} first;

static void keep_first(const char *message, void *user)
{
    const first *finding = user;
    if (!finding->text[0])
        snprintf(finding->text, finding->bytes, "%s", message);
}

bool hbs_keep(const hb_adapter *adapter, void *handle, const hd_graph *graph, const char *stem)
{
    char path[HBS_PATH_BYTES];
    snprintf(path, sizeof(path), "%s.fgt", stem);
    FILE *file = fopen(path, "w");
    bool good = file && hd_graph_write_fgt(graph, file) == HD_OK;
    good &= file && fclose(file) == 0;
    snprintf(path, sizeof(path), "%s.json", stem);
    file = good ? fopen(path, "w") : NULL;
    good &= file && adapter->export_plan(handle, file) == 0;
    return file && fclose(file) == 0 && good;
}

bool hbs_judge(const hb_adapter *adapter, void *handle, const hd_graph *graph, json_t *quality, char *verdict,
               size_t verdict_bytes)
{
    char *text = NULL, error[256] = "";
    size_t bytes = 0;
    hd_plan *plan = NULL;
    hd_plan_stats stats;
    FILE *file = open_memstream(&text, &bytes);
    if (!file)
        return false;
    int failed = adapter->export_plan(handle, file);
    failed |= fclose(file) != 0;
    hd_result result = failed ? HD_IO : hd_plan_read_json(graph, text, bytes, NULL, &plan, error, sizeof(error));
    free(text);
    if (result != HD_OK) {
        snprintf(verdict, verdict_bytes, "%s", failed ? "the plan was not exported" : error);
        return false;
    }
    first finding = {.text = verdict, .bytes = verdict_bytes};
    hd_verify_desc desc = {.message = keep_first, .user = &finding};
    verdict[0] = 0;
    result = hd_plan_verify(graph, plan, &desc);
    if (result == HD_OK)
        result = hd_plan_stats_get(graph, plan, 0, &stats);
    if (result == HD_OK && quality) {
        json_object_set_new(quality, "kept", json_integer(stats.kept));
        json_object_set_new(quality, "barriers", json_integer(stats.barriers));
        json_object_set_new(quality, "batches", json_integer(stats.barrier_batches));
        json_object_set_new(quality, "submits", json_integer(stats.submits));
        json_object_set_new(quality, "waits", json_integer(stats.semaphore_waits));
        json_object_set_new(quality, "heap_bytes", json_integer((json_int_t)stats.heap_bytes));
        json_object_set_new(quality, "unaliased_bytes", json_integer((json_int_t)stats.unaliased_bytes));
        json_object_set_new(quality, "peak_live_bytes", json_integer((json_int_t)stats.peak_live_bytes));
        json_object_set_new(quality, "makespan_us", json_real(stats.makespan_us));
        json_object_set_new(quality, "critical_path_us", json_real(stats.critical_path_us));
    }
    hd_plan_free(plan, NULL);
    if (result != HD_OK && !verdict[0])
        snprintf(verdict, verdict_bytes, "%s", hd_result_text(result));
    return result == HD_OK;
}
