#include "spare.h"

#include <stdlib.h>
#include <string.h>

/* Each record is taken out of a copy of the plan, the copy verified, the record put back. A barrier is taken out by
 * making it a global one that does nothing, a wait by handing its place to the last wait of its submit: the tables keep
 * their shape. A release and its acquire are one barrier to Vulkan but two records here, and neither is spare alone. */

static bool holds(const hd_graph *graph, const void *copy)
{
    hd_verify_desc quiet = {.max_messages = 1};

    return hd_plan_verify(graph, copy, &quiet) == HD_OK;
}

static bool barrier_is_spare(const hd_graph *graph, const void *copy, hd_plan_barrier *barrier)
{
    hd_plan_barrier whole = *barrier;

    *barrier = (hd_plan_barrier){.resource = HD_NONE, .src_family = HD_NONE, .dst_family = HD_NONE};
    bool spare = holds(graph, copy);
    *barrier = whole;
    return spare;
}

static bool wait_is_spare(const hd_graph *graph, const void *copy, hd_plan_submit *submit, hd_plan_wait *wait)
{
    const hd_plan_view view = hd_plan_read(copy);
    hd_plan_wait whole = *wait;

    *wait = view.waits[submit->wait_begin + submit->wait_count - 1];
    submit->wait_count--;
    bool spare = holds(graph, copy);
    submit->wait_count++;
    *wait = whole;
    return spare;
}

static void count(const hd_graph *graph, const void *copy, hdb_spare_fn found, void *user, hdb_spare *out)
{
    hd_plan_view view = hd_plan_read(copy);

    out->barriers += view.barrier_count;
    out->waits += view.wait_count;
    for (uint32_t b = 0; b < view.barrier_count; b++) {
        if (!barrier_is_spare(graph, copy, (hd_plan_barrier *)&view.barriers[b]))
            continue;
        out->spare_barriers++;
        out->by_reason[view.barriers[b].reason % 16]++;
        if (found)
            found(&view, false, b, user);
    }
    for (uint32_t s = 0; s < view.submit_count; s++) {
        hd_plan_submit *submit = (hd_plan_submit *)&view.submits[s];
        for (uint32_t w = submit->wait_begin; w < submit->wait_begin + submit->wait_count; w++) {
            if (!wait_is_spare(graph, copy, submit, (hd_plan_wait *)&view.waits[w]))
                continue;
            out->spare_waits++;
            if (found)
                found(&view, true, w, user);
        }
    }
}

hd_result hdb_count_spare(const hd_graph *graph, const hd_plan *plan, hdb_spare_fn found, void *user, hdb_spare *out)
{
    size_t bytes;
    const void *data = hd_plan_data(plan, &bytes);
    hd_result result = hd_plan_verify(graph, plan, NULL);

    if (result != HD_OK)
        return result;
    void *copy = malloc(bytes);
    if (!copy)
        return HD_OUT_OF_MEMORY;
    memcpy(copy, data, bytes);
    count(graph, copy, found, user, out);
    free(copy);
    return HD_OK;
}
