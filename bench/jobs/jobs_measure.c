#include "jobs_measure.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

/* Medians of a fixed number of rounds: a shared machine interrupts a few of them. */

enum { ROUNDS = 41, TRIPS = 20000 };

hd_jobs *jobs_pool;
uint32_t jobs_work, jobs_items, jobs_grain, jobs_nodes;

static hd_job job[JOBS_BATCH];
static uint32_t cells[JOBS_MOST_ITEMS];

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* In rising order. */
static void run_rounds(jobs_measure measure, uint64_t times[ROUNDS])
{
    measure();
    for (int i = 0; i < ROUNDS; i++)
        times[i] = measure();
    qsort(times, ROUNDS, sizeof *times, compare);
}

double jobs_median(jobs_measure measure)
{
    uint64_t times[ROUNDS];

    run_rounds(measure, times);
    return (double)times[ROUNDS / 2];
}

double jobs_least(jobs_measure measure)
{
    uint64_t times[ROUNDS];

    run_rounds(measure, times);
    return (double)times[0];
}

/* Dependent multiplications: about a nanosecond each, nothing to vectorise. */
static uint32_t busy(uint32_t value)
{
    for (uint32_t i = 0; i < jobs_work; i++)
        value = value * 2654435761u + i;
    return value;
}

static uint64_t busy_once(void)
{
    uint64_t began = hdi_clock_ns();

    for (int i = 0; i < 100; i++)
        cells[i] = busy(cells[i]);
    return hdi_clock_ns() - began;
}

uint32_t jobs_steps_of(double nanoseconds)
{
    uint32_t before = jobs_work;

    jobs_work = 2000;
    double step = jobs_least(busy_once) / 100 / jobs_work;
    jobs_work = before;
    return (uint32_t)(nanoseconds / step + 0.5);
}

/* ---- round trip of a cache line ---- */

static _Alignas(64) _Atomic(uint32_t) ball;

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

double jobs_round_trip(void)
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

static void make_jobs(void)
{
    for (int i = 0; i < JOBS_BATCH && !job[i].fn; i++)
        job[i] = (hd_job){.fn = job_body, .user = &cells[i]};
}

uint64_t jobs_one_job(void)
{
    make_jobs();
    uint64_t began = hdi_clock_ns();
    for (int i = 0; i < JOBS_BATCH; i++) {
        hd_counter counter = {0};
        hd_jobs_submit(jobs_pool, &job[i], 1, &counter);
        hd_jobs_wait(jobs_pool, &counter);
    }
    return (hdi_clock_ns() - began) / JOBS_BATCH;
}

uint64_t jobs_batch(void)
{
    hd_counter counter = {0};

    make_jobs();
    uint64_t began = hdi_clock_ns();
    hd_jobs_submit(jobs_pool, job, JOBS_BATCH, &counter);
    hd_jobs_wait(jobs_pool, &counter);
    return hdi_clock_ns() - began;
}

uint64_t jobs_batch_serial(void)
{
    make_jobs();
    uint64_t began = hdi_clock_ns();
    for (int i = 0; i < JOBS_BATCH; i++)
        job[i].fn(job[i].user, 0);
    return hdi_clock_ns() - began;
}

static void let_sleep(void)
{
    hd_jobs_rest(jobs_pool);
    usleep(2000);
}

uint64_t jobs_batch_cold(void)
{
    let_sleep();
    return jobs_batch();
}

/* ---- parallel_for ---- */

static void range_body(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    (void)worker;
    (void)user;
    for (uint32_t i = begin; i < end; i++)
        cells[i] = busy(cells[i]);
}

uint64_t jobs_range(void)
{
    uint64_t began = hdi_clock_ns();

    hd_jobs_parallel_for(jobs_pool, jobs_items, jobs_grain, range_body, NULL);
    return hdi_clock_ns() - began;
}

uint64_t jobs_range_serial(void)
{
    uint64_t began = hdi_clock_ns();

    range_body(0, jobs_items, 0, NULL);
    return hdi_clock_ns() - began;
}

uint64_t jobs_range_cold(void)
{
    let_sleep();
    return jobs_range();
}

static void pass_time(uint64_t nanoseconds)
{
    for (uint64_t until = hdi_clock_ns() + nanoseconds; hdi_clock_ns() < until;)
        continue;
}

uint64_t jobs_range_warm(void)
{
    let_sleep();
    hd_jobs_warm(jobs_pool);
    pass_time(100000);
    uint64_t time = jobs_range();
    hd_jobs_rest(jobs_pool);
    return time;
}

/* ---- graphs of jobs ---- */

static hd_node nodes[JOBS_MOST_NODES];
static uint32_t succ_begin[JOBS_MOST_NODES + 1], succ[2 * JOBS_MOST_NODES], pred_count[JOBS_MOST_NODES];

static void node_body(uint32_t node, uint32_t worker, void *user)
{
    (void)worker;
    (void)user;
    cells[node] = busy(cells[node]);
}

uint64_t jobs_graph(void)
{
    uint64_t began = hdi_clock_ns();
    uint32_t at = 0;

    memset(pred_count, 0, jobs_nodes * sizeof *pred_count);
    for (uint32_t n = 0; n < jobs_nodes; n++) {
        succ_begin[n] = at;
        for (uint32_t k = 0; k < 2 && n + 50 + k < jobs_nodes; k++) {
            succ[at++] = n + 50 + k;
            pred_count[n + 50 + k]++;
        }
    }
    succ_begin[jobs_nodes] = at;
    hd_dag dag = {
        .node_count = jobs_nodes, .succ_begin = succ_begin, .succ = succ, .pred_count = pred_count, .fn = node_body};
    hd_jobs_run_dag(jobs_pool, &dag, nodes);
    return hdi_clock_ns() - began;
}

uint64_t jobs_graph_serial(void)
{
    uint64_t began = hdi_clock_ns();

    for (uint32_t n = 0; n < jobs_nodes; n++)
        node_body(n, 0, NULL);
    return hdi_clock_ns() - began;
}

/* ---- submit to start ---- */

static _Alignas(64) _Atomic(uint64_t) started;

static void note_start(void *user, uint32_t worker)
{
    (void)user;
    (void)worker;
    atomic_store_explicit(&started, hdi_clock_ns(), memory_order_release);
}

/* The submitter does not help. */
static uint64_t start_one(uint64_t *submitted)
{
    hd_counter counter = {0};
    hd_job one = {.fn = note_start};
    uint64_t at;

    atomic_store_explicit(&started, 0, memory_order_relaxed);
    uint64_t began = hdi_clock_ns();
    hd_jobs_submit(jobs_pool, &one, 1, &counter);
    *submitted = hdi_clock_ns() - began;
    while ((at = atomic_load_explicit(&started, memory_order_acquire)) == 0)
        continue;
    hd_jobs_wait(jobs_pool, &counter);
    return at - began;
}

uint64_t jobs_start(void)
{
    uint64_t submitted;

    pass_time(5000);
    return start_one(&submitted);
}

uint64_t jobs_start_cold(void)
{
    uint64_t submitted;

    let_sleep();
    return start_one(&submitted);
}

uint64_t jobs_submit_cold(void)
{
    uint64_t submitted;

    let_sleep();
    start_one(&submitted);
    return submitted;
}
