#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/graph.h>

#include "list_parts.h"

/* Threads that each fill lists of one frame, 1 to 16 of them, more than there are processors: the plan has the bytes of
 * the same frame declared on one thread. HEDDLE_SEED replays one seed. */

enum { PARTS = 24, MAX_THREADS = 16, WAIT_SECONDS = 180 };

static unsigned passed, failed;

typedef struct filler {
    hd_graph *graph;
    const hd_resource *shared;
    uint64_t seed;
    uint32_t first, step;
    pthread_t thread;
} filler;

static void *fill_lists(void *argument)
{
    const filler *f = argument;
    for (uint32_t part = f->first; part < PARTS; part += f->step) {
        hdt_declare_part(hd_graph_list(f->graph, part), f->shared, f->seed, part);
    }
    return NULL;
}

static int compile(hd_graph *graph, const void **data, size_t *bytes)
{
    const hd_queue_desc queues[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}};
    const hd_compile_desc desc = {.queues = queues, .queue_count = 2, .cache = HD_CACHE_OFF};
    const hd_plan *plan;
    if (hd_graph_compile(graph, &desc, &plan) != HD_OK) {
        printf("%s\n", hd_graph_error(graph)->text);
        return 0;
    }
    *data = hd_plan_data(plan, bytes);
    return 1;
}

/* Is a frame that so many threads declare the one in one? */
static int is_same(hd_graph *graph, uint32_t threads, uint64_t seed, const void *expected, size_t expected_bytes)
{
    hd_resource shared[HDT_SHARED];
    filler f[MAX_THREADS];
    const void *data;
    size_t bytes;
    hd_graph_begin(graph);
    hdt_shared_resources(graph, shared);
    for (uint32_t i = 0; i < threads; i++) {
        f[i] = (filler){.graph = graph, .shared = shared, .seed = seed, .first = i, .step = threads};
        if (pthread_create(&f[i].thread, NULL, fill_lists, &f[i]) != 0)
            abort();
    }
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(f[i].thread, NULL);
    return compile(graph, &data, &bytes) && bytes == expected_bytes && memcmp(data, expected, bytes) == 0;
}

int main(void)
{
    const char *text = getenv("HEDDLE_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 1, last = text ? seed + 1 : seed + 20;
    hd_graph *one, *many;

    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(WAIT_SECONDS);
    if (hd_graph_create(NULL, &one) != HD_OK || hd_graph_create(NULL, &many) != HD_OK)
        return 1;
    for (; seed < last; seed++) {
        hd_resource shared[HDT_SHARED];
        const void *data;
        size_t bytes;
        hd_graph_begin(one);
        hdt_shared_resources(one, shared);
        for (uint32_t part = 0; part < PARTS; part++)
            hdt_declare_part(one, shared, seed, part);
        int good = compile(one, &data, &bytes);
        for (uint32_t threads = 1; good && threads <= MAX_THREADS; threads++)
            good = is_same(many, threads, seed, data, bytes);
        if (!good)
            printf("FAILED: HEDDLE_SEED=%" PRIu64 "\n", seed);
        *(good ? &passed : &failed) += 1;
    }
    hd_graph_destroy(one);
    hd_graph_destroy(many);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
