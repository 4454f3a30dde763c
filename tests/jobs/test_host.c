#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/plan_tools.h>

#include "graph_state.h"
#include "hosts.h"
#include "pool.h"
#include "random.h"
#include "random_graph.h"

/* The same results with the pool's own threads, with an engine's job system however strange, and without any. */

enum { CELLS = 3000, NODES = 400 };

typedef struct work {
    hd_jobs *jobs;
    uint32_t cells[CELLS]; /* plain memory: what orders the jobs orders these */
    uint32_t nodes[NODES];
    _Atomic(uint32_t) busy[HD_MAX_WORKERS];
    _Atomic(uint32_t) wrong;
} work;

static uint32_t mix(uint32_t value)
{
    value ^= value >> 15;
    value *= 0x2c1b3c6du;
    return value ^ value >> 12;
}

static void fill(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    work *w = user;

    if (worker >= hd_jobs_worker_count(w->jobs) || atomic_exchange(&w->busy[worker], 1))
        atomic_fetch_add(&w->wrong, 1);
    for (uint32_t i = begin; i < end; i++)
        w->cells[i] = mix(w->cells[i] + i);
    atomic_store(&w->busy[worker], 0);
}

typedef struct branch {
    work *w;
    uint32_t begin, end;
} branch;

/* Halves its range down to a few cells: jobs that wait for jobs. */
static void split(void *user, uint32_t worker)
{
    branch *b = user, below[2];
    hd_job job[2];
    hd_counter counter = {0};

    (void)worker;
    if (b->end - b->begin < 20) {
        for (uint32_t i = b->begin; i < b->end; i++)
            b->w->cells[i] = mix(b->w->cells[i] ^ i);
        return;
    }
    uint32_t middle = b->begin + (b->end - b->begin) / 2;
    below[0] = (branch){b->w, b->begin, middle};
    below[1] = (branch){b->w, middle, b->end};
    for (int i = 0; i < 2; i++)
        job[i] = (hd_job){.fn = split, .user = &below[i], .critical = b->begin % 3 == 0};
    hd_jobs_submit(b->w->jobs, job, 2, &counter);
    hd_jobs_wait(b->w->jobs, &counter);
}

static void add_before(uint32_t node, uint32_t worker, void *user)
{
    work *w = user;

    (void)worker;
    w->nodes[node] += 1 + (node >= 7 ? w->nodes[node - 7] : 0) + (node >= 9 ? w->nodes[node - 9] : 0);
}

static void run_graph(work *w, const bool *critical)
{
    static hd_node nodes[NODES];
    uint32_t begin[NODES + 1], succ[2 * NODES], pred[NODES] = {0}, at = 0;

    for (uint32_t n = 0; n < NODES; n++) {
        begin[n] = at;
        for (uint32_t step = 7; step <= 9; step += 2)
            if (n + step < NODES) {
                succ[at++] = n + step;
                pred[n + step]++;
            }
    }
    begin[NODES] = at;
    hd_jobs_run_dag(w->jobs,
                    &(hd_dag){.node_count = NODES, .succ_begin = begin, .succ = succ, .pred_count = pred,
                              .fn = add_before, .user = w, .critical = critical},
                    nodes);
}

/* Frames of everything that the interface has. */
static void run_frames(work *w, uint64_t seed)
{
    bool critical[NODES];
    uint64_t random = seed;

    memset(w->cells, 0, sizeof w->cells);
    memset(w->nodes, 0, sizeof w->nodes);
    for (uint32_t frame = 0; frame < 6; frame++) {
        if (hdt_below(&random, 2))
            hd_jobs_warm(w->jobs);
        branch root = {w, 0, CELLS};
        hd_job job = {.fn = split, .user = &root};
        hd_counter counter = {0};
        hd_jobs_submit(w->jobs, &job, 1, &counter);
        hd_jobs_wait(w->jobs, &counter);
        hd_jobs_parallel_for(w->jobs, CELLS, 1 + hdt_below(&random, 60), fill, w);
        for (uint32_t n = 0; n < NODES; n++)
            critical[n] = hdt_below(&random, 4) == 0;
        run_graph(w, frame % 2 ? critical : NULL);
        if (hdt_below(&random, 8) == 0)
            usleep(100);
        if (hdt_below(&random, 2))
            hd_jobs_rest(w->jobs);
    }
}

Test(host, same_results_in_all_modes)
{
    static const uint32_t sizes[] = {1, 2, 3, 9};
    static work expected, got;
    static hdt_host host;

    alarm(60);
    for (uint64_t seed = hdt_seed(), last = seed + 6; seed < last; seed++) {
        expected.jobs = NULL;
        run_frames(&expected, seed);
        cr_assert(expected.wrong == 0);
        for (int size = 0; size < 4; size++) {
            for (int kind = -1; kind < HDT_HOST_KINDS; kind++) {
                hd_jobs_desc desc = {.worker_count = sizes[size]};
                const char *name = kind < 0 ? "own threads" : hdt_host_name((hdt_host_kind)kind);
                if (kind >= 0) { /* more threads than were asked for, or fewer */
                    hdt_host_start(&host, (hdt_host_kind)kind, 1 + (uint32_t)(seed % 5) * 2, seed);
                    hdt_host_describe(&host, &desc);
                }
                cr_assert(hd_jobs_create(&desc, &got.jobs) == HD_OK);
                cr_assert(hd_jobs_worker_count(got.jobs) == sizes[size]);
                run_frames(&got, seed);
                cr_assert(got.wrong == 0, "%s, %u workers, HEDDLE_SEED=%" PRIu64, name, sizes[size], seed);
                cr_assert(memcmp(got.cells, expected.cells, sizeof got.cells) == 0 &&
                              memcmp(got.nodes, expected.nodes, sizeof got.nodes) == 0,
                          "%s, %u workers, HEDDLE_SEED=%" PRIu64, name, sizes[size], seed);
                if (kind >= 0)
                    hdt_host_late(&host);
                hd_jobs_destroy(got.jobs);
                cr_assert(kind < 0 || hdt_host_stop(&host), "%s, %u workers, HEDDLE_SEED=%" PRIu64, name, sizes[size],
                          seed);
            }
        }
    }
}

/* Small frames, cut up and shared out as if they were large. */
Test(host, plans_are_the_same)
{
    static const hd_queue_desc queues[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}};
    static hdt_host host;
    hd_graph *graph;

    alarm(60);
    cr_assert(hd_graph_create(NULL, &graph) == HD_OK);
    for (uint64_t seed = hdt_seed(), last = seed + 12; seed < last; seed++) {
        uint64_t random = seed;
        const hd_plan *plan;
        size_t bytes, count;
        hd_compile_desc desc = {.queues = queues, .queue_count = 3, .cache = HD_CACHE_OFF};
        hdt_random_frame(graph, seed, 20 + hdt_below(&random, 180));
        graph->region_passes = 1 + hdt_below(&random, 24);
        graph->parallel_passes = 0;
        cr_assert(hd_graph_compile(graph, &desc, &plan) == HD_OK, "HEDDLE_SEED=%" PRIu64, seed);
        const void *data = hd_plan_data(plan, &bytes);
        void *expected = malloc(bytes);
        cr_assert(expected);
        memcpy(expected, data, bytes);
        for (int kind = 0; kind < HDT_HOST_KINDS; kind++) {
            hd_jobs_desc jobs = {.worker_count = 1 + hdt_below(&random, 9)};
            hdt_host_start(&host, (hdt_host_kind)kind, 1 + hdt_below(&random, 9), seed);
            hdt_host_describe(&host, &jobs);
            cr_assert(hd_jobs_create(&jobs, &desc.jobs) == HD_OK);
            cr_assert(hd_graph_compile(graph, &desc, &plan) == HD_OK);
            data = hd_plan_data(plan, &count);
            cr_assert(count == bytes && memcmp(data, expected, bytes) == 0, "%s, HEDDLE_SEED=%" PRIu64,
                      hdt_host_name((hdt_host_kind)kind), seed);
            hdt_host_late(&host);
            hd_jobs_destroy(desc.jobs);
            cr_assert(hdt_host_stop(&host));
        }
        free(expected);
    }
    hd_graph_destroy(graph);
}

/* ---- what is asked of a host ---- */

Test(host, needs_both_callbacks)
{
    hd_jobs *jobs;
    static hdt_host host;
    hd_jobs_desc desc = {0};

    hdt_host_describe(&host, &desc);
    desc.finish = NULL;
    cr_assert(hd_jobs_create(&desc, &jobs) == HD_INVALID_ARGUMENT && !jobs);
    hdt_host_describe(&host, &desc);
    desc.enqueue = NULL;
    cr_assert(hd_jobs_create(&desc, &jobs) == HD_INVALID_ARGUMENT && !jobs);
}

typedef struct counting_host {
    uint32_t out, most, made;
    hd_loop_fn loop;
    void *contexts[64];
} counting_host;

static void *count_up(hd_loop_fn loop, void *context, void *user)
{
    counting_host *host = user;

    host->contexts[host->made++ % 64] = context;
    host->loop = loop;
    host->out++;
    if (host->out > host->most)
        host->most = host->out;
    return host;
}

static void count_down(void *handle, void *user)
{
    counting_host *host = user;

    cr_assert(handle == host);
    host->out--;
}

static void nothing(void *user, uint32_t worker)
{
    (void)user;
    (void)worker;
}

/* No more loops than workers beside the caller are out at once, however many jobs; rest takes all of them back. */
Test(host, loops_are_few)
{
    counting_host host = {0};
    hd_jobs_desc desc = {.worker_count = 4, .enqueue = count_up, .finish = count_down, .host_user = &host};
    hd_jobs *jobs;
    hd_job job[100];

    cr_assert(hd_jobs_create(&desc, &jobs) == HD_OK);
    for (int frame = 0; frame < 3; frame++) {
        hd_counter counter = {0};
        for (int i = 0; i < 100; i++) {
            job[i] = (hd_job){.fn = nothing};
            hd_jobs_submit(jobs, &job[i], 1, &counter);
        }
        cr_assert(host.out == 3 && host.most == 3);
        hd_jobs_wait(jobs, &counter);
        hd_jobs_rest(jobs);
        cr_assert(host.out == 0);
    }
    /* One job, one loop; what is warm has as many as there are processors. */
    hd_counter counter = {0};
    hd_jobs_submit(jobs, job, 1, &counter);
    cr_assert(host.out == 1);
    hd_jobs_wait(jobs, &counter);
    hd_jobs_warm(jobs);
    cr_assert(host.out >= 1 && host.out <= 3);
    /* Loops that are called late find nothing, and make room for others. */
    uint32_t out = host.out;
    host.made = 0;
    hd_jobs_rest(jobs);
    for (int i = 0; i < 3; i++) {
        hd_jobs_submit(jobs, &job[i], 1, &counter);
        host.loop(host.contexts[host.made - 1]); /* runs the job, looks for others, and ends */
        cr_assert(hdi_counter_done(&counter));
    }
    cr_assert(host.made == 3 && out >= 1 && host.out >= 1 && host.out <= 3);
    hd_jobs_destroy(jobs);
    cr_assert(host.out == 0);
}
