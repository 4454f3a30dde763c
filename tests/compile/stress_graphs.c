#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/plan_tools.h>

#include "graph_state.h"
#include "odd_frame.h"
#include "random.h"
#include "random_graph.h"
#include "slow.h"

/* Threads with a graph each, as an engine has that draws several views or an editor: they share nothing but, at
 * each third seed, one job pool. Each gets the plan that a thread alone gets. HEDDLE_SEED replays one seed. */

enum { THREADS = 4, FRAMES = 4, POOLS = 3, WAIT_SECONDS = 180, SEEDS = HDT_SLOW ? 30 : 150 };

typedef struct outcome {
    hd_result result;
    size_t bytes;
    void *data;
} outcome;

typedef struct view {
    hd_graph *graph;
    hd_jobs *jobs; /* null: none */
    uint64_t seed; /* of the first frame */
    outcome *outcomes;
    pthread_t thread;
    bool compares; /* with outcomes, else it fills them */
    bool good;
} view;

/* One frame; what it comes to. The data are the plan's. */
static outcome compile(hd_graph *graph, uint64_t seed, hd_jobs *jobs)
{
    outcome made = {0};
    const hd_plan *plan;
    hdt_odd_setting odd;
    hdt_odd_setting_make(seed, &odd);
    hdt_odd_frame(graph, seed, 20 + seed % 150);
    graph->region_passes = 16;
    graph->parallel_passes = 0;
    odd.desc.jobs = jobs;
    odd.desc.cache = seed % 3 ? HD_CACHE_OFF : HD_CACHE_ON;
    made.result = hd_graph_compile(graph, &odd.desc, &plan);
    if (made.result != HD_OK)
        return made;
    made.data = (void *)hd_plan_data(plan, &made.bytes);
    if (hd_plan_verify(graph, plan, &(hd_verify_desc){.size = odd.desc.size}) != HD_OK)
        made.result = HD_INVALID_ARGUMENT; /* of no odd frame */
    return made;
}

static void *run_view(void *argument)
{
    view *v = argument;
    v->good = true;
    for (uint32_t f = 0; f < FRAMES; f++) {
        outcome made = compile(v->graph, v->seed + f, v->jobs), *kept = &v->outcomes[f];
        if (!v->compares) {
            *kept = made;
            kept->data = malloc(made.bytes ? made.bytes : 1);
            if (!kept->data)
                abort();
            if (made.bytes)
                memcpy(kept->data, made.data, made.bytes);
            v->good &= made.result == HD_OK || made.result == HD_NO_QUEUE || made.result == HD_VERSION_CYCLE;
        } else {
            v->good &= made.result == kept->result && made.bytes == kept->bytes &&
                       (!made.bytes || memcmp(made.data, kept->data, made.bytes) == 0);
        }
    }
    return NULL;
}

int main(void)
{
    unsigned passed = 0, failed = 0;
    uint64_t first = 1, count = SEEDS;
    hd_jobs *own[THREADS], *shared;
    view views[THREADS];
    hd_graph *alone;

    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(WAIT_SECONDS);
    hdt_seeds(&first, &count);
    if (hd_graph_create(NULL, &alone) != HD_OK ||
        hd_jobs_create(&(hd_jobs_desc){.worker_count = 3}, &shared) != HD_OK)
        return 1;
    for (uint32_t t = 0; t < THREADS; t++) {
        if (hd_graph_create(NULL, &views[t].graph) != HD_OK ||
            hd_jobs_create(&(hd_jobs_desc){.worker_count = 2}, &own[t]) != HD_OK)
            return 1;
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
        outcome outcomes[THREADS][FRAMES];
        bool good = true;
        hdt_try_seed(seed);
        for (uint32_t t = 0; t < THREADS; t++) {
            view expected = {.graph = alone, .seed = (seed * THREADS + t) * FRAMES, .outcomes = outcomes[t]};
            run_view(&expected);
            good &= expected.good;
        }
        for (uint32_t t = 0; t < THREADS; t++) {
            view *v = &views[t];
            v->jobs = seed % POOLS == 0 ? NULL : seed % POOLS == 1 ? own[t] : shared;
            v->seed = (seed * THREADS + t) * FRAMES;
            v->outcomes = outcomes[t];
            v->compares = true;
            if (pthread_create(&v->thread, NULL, run_view, v) != 0)
                abort();
        }
        for (uint32_t t = 0; t < THREADS; t++) {
            pthread_join(views[t].thread, NULL);
            good &= views[t].good;
            for (uint32_t f = 0; f < FRAMES; f++)
                free(outcomes[t][f].data);
        }
        if (!good)
            printf("FAILED: HEDDLE_SEED=%" PRIu64 "\n", seed);
        *(good ? &passed : &failed) += 1;
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        hd_graph_destroy(views[t].graph);
        hd_jobs_destroy(own[t]);
    }
    hd_graph_destroy(alone);
    hd_jobs_destroy(shared);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
