#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/jobs.h>

#include "clock.h"

/* What the job pool costs and gains. Each figure is the median of ROUNDS runs, with the serial loop and the round trip
 * of a cache line between two threads measured in the same run: both drift on shared machines, and a figure without
 * them says little.
 *
 * usage: bench_jobs [workers]    default: one a processor */

enum { ROUNDS = 41, BATCH = 1000, ITEMS = 10000 };

typedef uint64_t (*measure_fn)(void); /* nanoseconds of one round */

static hd_jobs *jobs;
static hd_job job[BATCH];
static uint32_t cells[ITEMS];
static uint32_t work; /* steps of the busy loop an item or a job takes */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static double median(measure_fn measure)
{
    uint64_t times[ROUNDS];

    measure();
    for (int i = 0; i < ROUNDS; i++)
        times[i] = measure();
    qsort(times, ROUNDS, sizeof *times, compare);
    return (double)times[ROUNDS / 2];
}

/* Dependent multiplications: about a nanosecond each, nothing to vectorise. */
static uint32_t busy(uint32_t value)
{
    for (uint32_t i = 0; i < work; i++)
        value = value * 2654435761u + i;
    return value;
}

/* ---- round trip of a cache line ---- */

static _Alignas(64) _Atomic(uint32_t) ball;
enum { TRIPS = 20000 };

static void *play(void *user)
{
    (void)user;
    for (uint32_t i = 0; i < TRIPS; i++) {
        while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 1)
            continue;
        atomic_store_explicit(&ball, 2 * i + 2, memory_order_release);
    }
    return NULL;
}

static double round_trip(void)
{
    pthread_t thread;

    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return 0;
    atomic_store(&ball, 0);
    if (pthread_create(&thread, NULL, play, NULL) != 0)
        return 0;
    uint64_t began = hdi_clock_ns();
    for (uint32_t i = 0; i < TRIPS; i++) {
        atomic_store_explicit(&ball, 2 * i + 1, memory_order_release);
        while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 2)
            continue;
    }
    uint64_t ended = hdi_clock_ns();
    pthread_join(thread, NULL);
    return (double)(ended - began) / TRIPS;
}

/* ---- spawn and wait ---- */

static void job_body(void *user, uint32_t worker)
{
    uint32_t *cell = user;

    (void)worker;
    *cell = busy(*cell);
}

static uint64_t measure_one_job(void)
{
    uint64_t began = hdi_clock_ns();

    for (int i = 0; i < BATCH; i++) {
        hd_counter counter = {0};
        hd_jobs_submit(jobs, &job[i], 1, &counter);
        hd_jobs_wait(jobs, &counter);
    }
    return (hdi_clock_ns() - began) / BATCH;
}

static uint64_t measure_batch(void)
{
    hd_counter counter = {0};
    uint64_t began = hdi_clock_ns();

    hd_jobs_submit(jobs, job, BATCH, &counter);
    hd_jobs_wait(jobs, &counter);
    return hdi_clock_ns() - began;
}

static uint64_t measure_batch_serial(void)
{
    uint64_t began = hdi_clock_ns();

    for (int i = 0; i < BATCH; i++)
        job[i].fn(job[i].user, 0);
    return hdi_clock_ns() - began;
}

/* The workers have gone to sleep before: what a frame's first batch pays. */
static uint64_t measure_batch_cold(void)
{
    usleep(2000);
    return measure_batch();
}

/* ---- parallel_for ---- */

static void range_body(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    (void)worker;
    (void)user;
    for (uint32_t i = begin; i < end; i++)
        cells[i] = busy(cells[i]);
}

static uint32_t grain;

static uint64_t measure_range(void)
{
    uint64_t began = hdi_clock_ns();

    hd_jobs_parallel_for(jobs, ITEMS, grain, range_body, NULL);
    return hdi_clock_ns() - began;
}

static uint64_t measure_range_serial(void)
{
    uint64_t began = hdi_clock_ns();

    range_body(0, ITEMS, 0, NULL);
    return hdi_clock_ns() - began;
}

static void report_batches(void)
{
    printf("\nbatch of %d jobs, ns a job\n%12s %10s %10s %10s %9s\n", BATCH, "work", "serial", "pool", "from sleep",
           "speed-up");
    const uint32_t works[] = {0, 100, 500, 2500, 10000};
    for (int i = 0; i < 5; i++) {
        work = works[i];
        double serial = median(measure_batch_serial), pool = median(measure_batch), cold = median(measure_batch_cold);
        printf("%12u %10.1f %10.1f %10.1f %8.2fx\n", work, serial / BATCH, pool / BATCH, cold / BATCH, serial / pool);
    }
}

static void report_ranges(void)
{
    printf("\nparallel_for over %d items, us\n%12s %10s %10s %10s %9s\n", ITEMS, "work", "grain", "serial", "pool",
           "speed-up");
    const uint32_t works[] = {0, 10, 100}, grains[] = {16, 64, 256, 1024};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            work = works[i];
            grain = grains[k];
            double serial = median(measure_range_serial), pool = median(measure_range);
            printf("%12u %10u %10.1f %10.1f %8.2fx\n", work, grain, serial / 1000, pool / 1000, serial / pool);
        }
    }
}

/* ---- graphs of jobs ---- */

enum { MOST_NODES = 10000 };
static hd_node nodes[MOST_NODES];
static uint32_t succ_begin[MOST_NODES + 1], succ[2 * MOST_NODES], pred_count[MOST_NODES];
static uint32_t node_count;

static void node_body(uint32_t node, uint32_t worker, void *user)
{
    (void)worker;
    (void)user;
    cells[node] = busy(cells[node]);
}

/* Layers of 50 nodes, each with two successors in the next layer; making the adjacency is part of the time. */
static uint64_t measure_dag(void)
{
    uint64_t began = hdi_clock_ns();
    uint32_t at = 0;

    memset(pred_count, 0, node_count * sizeof *pred_count);
    for (uint32_t n = 0; n < node_count; n++) {
        succ_begin[n] = at;
        for (uint32_t k = 0; k < 2 && n + 50 + k < node_count; k++) {
            succ[at++] = n + 50 + k;
            pred_count[n + 50 + k]++;
        }
    }
    succ_begin[node_count] = at;
    hd_dag dag = {.node_count = node_count, .succ_begin = succ_begin, .succ = succ, .pred_count = pred_count,
                  .fn = node_body};
    hd_jobs_run_dag(jobs, &dag, nodes);
    return hdi_clock_ns() - began;
}

static uint64_t measure_dag_serial(void)
{
    uint64_t began = hdi_clock_ns();

    for (uint32_t n = 0; n < node_count; n++)
        node_body(n, 0, NULL);
    return hdi_clock_ns() - began;
}

static void report_dags(hd_jobs *one, hd_jobs *many)
{
    work = 0;
    for (node_count = 1000; node_count <= MOST_NODES; node_count *= 10) {
        jobs = one;
        double single = median(measure_dag);
        jobs = many;
        printf("empty graph of %u nodes, build and run: one worker %.1f ns a node, all %.1f\n", node_count,
               single / node_count, median(measure_dag) / node_count);
    }
    node_count = 1000;
    work = 2500;
    double serial = median(measure_dag_serial), pool = median(measure_dag);
    printf("graph of 1000 nodes of %.2f us: %.2fx over a serial loop\n", serial / 1e6, serial / pool);
}

/* ---- submit to start ---- */

static _Alignas(64) _Atomic(uint64_t) started;

static void note_start(void *user, uint32_t worker)
{
    (void)user;
    (void)worker;
    atomic_store_explicit(&started, hdi_clock_ns(), memory_order_release);
}

/* The submitter does not help; a worker still searches from the job before. */
static uint64_t measure_start(void)
{
    hd_counter counter = {0};
    hd_job one = {.fn = note_start};
    uint64_t at;

    for (uint64_t until = hdi_clock_ns() + 5000; hdi_clock_ns() < until;)
        continue;
    atomic_store_explicit(&started, 0, memory_order_relaxed);
    uint64_t began = hdi_clock_ns();
    hd_jobs_submit(jobs, &one, 1, &counter);
    while ((at = atomic_load_explicit(&started, memory_order_acquire)) == 0)
        continue;
    hd_jobs_wait(jobs, &counter);
    return at - began;
}

int main(int argc, char **argv)
{
    uint32_t workers = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    hd_jobs *one;

    if (hd_jobs_create(&(hd_jobs_desc){.worker_count = workers}, &jobs) != HD_OK ||
        hd_jobs_create(&(hd_jobs_desc){.worker_count = 1}, &one) != HD_OK) {
        fprintf(stderr, "bench_jobs: no pool\n");
        return 1;
    }
    for (int i = 0; i < BATCH; i++)
        job[i] = (hd_job){.fn = job_body, .user = &cells[i]};
    printf("workers %u, round trip of a cache line %.0f ns\n", hd_jobs_worker_count(jobs), round_trip());

    hd_jobs *many = jobs;
    jobs = one;
    printf("one worker: spawn and wait %.0f ns", median(measure_one_job));
    printf(", batch of %d %.1f ns a job\n", BATCH, median(measure_batch) / BATCH);
    jobs = many;
    printf("all workers: spawn and wait %.0f ns\n", median(measure_one_job));
    if (hd_jobs_worker_count(jobs) > 1)
        printf("submit to start on a spinning worker %.0f ns\n", median(measure_start));
    report_dags(one, many);
    report_batches();
    report_ranges();
    printf("\nround trip of a cache line %.0f ns\n", round_trip());
    hd_jobs_destroy(many);
    hd_jobs_destroy(one);
    return 0;
}
