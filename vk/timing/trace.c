#include "state.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

/* Kept times in the trace event format: one process for the GPU with a track a queue, one for the CPU with a track for
 * each worker that recorded, for submits and for host passes. Times there are microseconds, with the nanoseconds as
 * decimals. */

enum { GPU = 1, CPU = 2 };
enum { TRACK_SUBMIT = 1000, TRACK_HOST = 1001 };

static const char *const queue_names[] = {"graphics", "compute", "transfer", "host"};

static bool add_meta(json_t *events, const char *what, int process, uint32_t track, const char *format,
                     const char *name, uint32_t number)
{
    json_t *text = json_sprintf(format, name, number);
    return json_array_append_new(events, json_pack("{s:s, s:s, s:i, s:i, s:{s:o}}", "name", what, "ph", "M", "pid",
                                                   process, "tid", (int)track, "args", "name", text)) == 0;
}

static bool add_tracks(const hd_vk *vk, json_t *events, const bool *workers)
{
    bool ok = add_meta(events, "process_name", GPU, 0, "GPU%s", "", 0) &&
              add_meta(events, "process_name", CPU, 0, "CPU%s", "", 0) &&
              add_meta(events, "thread_name", CPU, TRACK_SUBMIT, "submit%s", "", 0) &&
              add_meta(events, "thread_name", CPU, TRACK_HOST, "host passes%s", "", 0);
    for (uint32_t q = 0; q < vk->queue_count && ok; q++)
        ok = add_meta(events, "thread_name", GPU, q, "%s queue %u", queue_names[vk->queues[q].desc.kind], q);
    for (uint32_t w = 0; w < HD_MAX_WORKERS && ok; w++)
        ok = !workers[w] || add_meta(events, "thread_name", CPU, w, "%s %u", "record, worker", w);
    return ok;
}

/* Names come from anywhere; JSON is UTF-8. */
static json_t *name_of(const hd_vk_span *span)
{
    json_t *name = json_string(span->name);
    char *copy = name ? NULL : strdup(span->name);
    if (copy) {
        hdi_utf8_clean(copy);
        name = json_string(copy);
        free(copy);
    }
    return name;
}

static bool add_span(json_t *events, const hd_vk_span *span, uint64_t frame)
{
    bool gpu = span->kind == HD_VK_SPAN_PASS;
    uint32_t track = gpu                                  ? span->queue
                     : span->kind == HD_VK_SPAN_RECORD    ? span->worker
                     : span->kind == HD_VK_SPAN_HOST_PASS ? TRACK_HOST
                                                          : TRACK_SUBMIT;
    json_t *args = json_pack("{s:I, s:i}", "frame", (json_int_t)frame, "queue", (int)span->queue);
    if (args && span->pass != HD_NONE)
        json_object_set_new(args, "pass", json_integer((json_int_t)span->pass));
    return json_array_append_new(events, json_pack("{s:o, s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "name", name_of(span),
                                                   "cat", gpu ? "gpu" : "cpu", "ph", "X", "pid", gpu ? GPU : CPU, "tid",
                                                   (int)track, "ts", (double)span->begin_ns * 1e-3, "dur",
                                                   (double)(span->end_ns - span->begin_ns) * 1e-3, "args", args)) == 0;
}

static bool add_all(const hd_vk *vk, json_t *events)
{
    bool workers[HD_MAX_WORKERS] = {false};
    bool ok = events != NULL;
    hd_vk_times times;
    for (uint32_t back = vk->times_capacity; back-- > 0 && ok;) { /* the oldest first */
        if (hd_vk_times_get(vk, back, &times) != HD_OK)
            continue;
        for (uint32_t s = 0; s < times.span_count && ok; s++) {
            if (times.spans[s].kind == HD_VK_SPAN_RECORD && times.spans[s].worker < HD_MAX_WORKERS)
                workers[times.spans[s].worker] = true;
            ok = add_span(events, &times.spans[s], times.frame);
        }
    }
    return ok && add_tracks(vk, events, workers);
}

hd_result hd_vk_write_trace(const hd_vk *vk, FILE *stream)
{
    if (!vk || !stream)
        return HD_INVALID_ARGUMENT;
    json_t *events = json_array();
    hd_result result = add_all(vk, events) ? HD_OK : HD_OUT_OF_MEMORY;
    json_t *root = result == HD_OK ? json_pack("{s:O, s:s}", "traceEvents", events, "displayTimeUnit", "ns") : NULL;
    if (result == HD_OK && !root)
        result = HD_OUT_OF_MEMORY;
    if (result == HD_OK && (json_dumpf(root, stream, JSON_COMPACT) != 0 || fflush(stream) != 0))
        result = HD_IO;
    json_decref(root);
    json_decref(events);
    return result;
}
