#include "jobs_stress.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/jobs.h>

#include "clock.h"
#include "deque.h"
#include "hosts.h"

/* Every part checks sums or plain (not atomic) writes against what a serial run would have left: a lost job shows as a
 * wrong value, a lost wake-up as a hang (the alarm ends the program with a failure), a missing order as a report of
 * ThreadSanitizer. */

enum { WAIT_SECONDS = 120, MAX_BATCH = 300 };
#define PATIENCE_NS 5000000000u

static unsigned passed, failed;
static uint64_t seed = 1;

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void check(int good, const char *what)
{
    if (good) {
        passed++;
    } else {
        failed++;
        printf("FAILED: %s (HEDDLE_SEED=%" PRIu64 ")\n", what, seed);
    }
}

static uint64_t part_ns;

typedef struct cell {
    hd_jobs *jobs;
    uint32_t in, out; /* out is written by one job without atomics */
    uint32_t depth;
} cell;

static uint32_t scramble(uint32_t value)
{
    value ^= value >> 15;
    value *= 0x2c1b3c6du;
    return value ^ value >> 12;
}

static void leaf(void *user, uint32_t worker)
{
    cell *c = user;

    (void)worker;
    c->out = scramble(c->in);
}

/* Spawns two of its kind and waits for them: waits inside jobs, counters on the stacks of workers. */
static void branch(void *user, uint32_t worker)
{
    cell *c = user;

    if (c->depth == 0) {
        leaf(user, worker);
        return;
    }
    cell below[2];
    hd_job job[2];
    hd_counter counter = {0};
    for (uint32_t i = 0; i < 2; i++) {
        below[i] = (cell){c->jobs, c->in * 2 + i, 0, c->depth - 1};
        job[i] = (hd_job){.fn = branch, .user = &below[i], .critical = c->in % 3 == 0};
    }
    hd_jobs_submit(c->jobs, job, 2, &counter);
    hd_jobs_wait(c->jobs, &counter);
    c->out = below[0].out + below[1].out;
}

static uint32_t branch_serial(uint32_t in, uint32_t depth)
{
    if (depth == 0)
        return scramble(in);
    return branch_serial(in * 2, depth - 1) + branch_serial(in * 2 + 1, depth - 1);
}

static void fill(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    uint32_t *out = user;

    (void)worker;
    for (uint32_t i = begin; i < end; i++)
        out[i] += scramble(i);
}

static int range_is_right(hd_jobs *jobs, uint32_t count, uint32_t grain)
{
    static _Thread_local uint32_t out[5000];
    int good = 1;

    memset(out, 0, count * sizeof *out);
    hd_jobs_parallel_for(jobs, count, grain, fill, out);
    for (uint32_t i = 0; i < count; i++)
        good &= out[i] == scramble(i);
    return good;
}

/* Loops of several workers at a time, more than can be open. */
enum { MAX_ROWS = 12, MAX_ROW = 200 };

typedef struct rows {
    hd_jobs *jobs;
    uint32_t count, grain;
    uint32_t out[MAX_ROWS][MAX_ROW];
} rows;

static void fill_rows(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    rows *r = user;

    (void)worker;
    for (uint32_t row = begin; row < end; row++)
        hd_jobs_parallel_for(r->jobs, r->count - row, r->grain, fill, r->out[row]);
}

static int loops_in_a_loop_are_right(hd_jobs *jobs, uint64_t *random)
{
    rows r = {.jobs = jobs, .count = MAX_ROWS + next_random(random) % (MAX_ROW - MAX_ROWS)};
    int good = 1;

    r.grain = 1 + next_random(random) % r.count;
    hd_jobs_parallel_for(jobs, MAX_ROWS, 1 + next_random(random) % 3, fill_rows, &r);
    for (uint32_t row = 0; row < MAX_ROWS; row++) {
        for (uint32_t i = 0; i < r.count; i++)
            good &= r.out[row][i] == (i < r.count - row ? scramble(i) : 0);
    }
    return good;
}

/* shared: a counter that other threads use at the same time, or null for one of its own. */
static int batch_is_right(hd_jobs *jobs, uint64_t *random, hd_counter *shared)
{
    cell cells[MAX_BATCH];
    hd_job job[MAX_BATCH];
    hd_counter own = {0}, *counter = shared ? shared : &own;
    uint32_t count = 1 + next_random(random) % MAX_BATCH, at = 0;
    int good = 1;

    memset(job, 0, sizeof job);
    for (uint32_t i = 0; i < count; i++) {
        cells[i] = (cell){jobs, next_random(random), 0, 0};
        job[i].fn = leaf;
        job[i].user = &cells[i];
        job[i].critical = next_random(random) % 4 == 0;
    }
    while (at < count) { /* several submits to one counter */
        uint32_t some = 1 + next_random(random) % (count - at);
        hd_jobs_submit(jobs, job + at, some, counter);
        at += some;
        if (next_random(random) % 64 == 0)
            usleep(60);
    }
    hd_jobs_wait(jobs, counter);
    for (uint32_t i = 0; i < count; i++)
        good &= cells[i].out == scramble(cells[i].in);
    return good;
}

static int tree_is_right(hd_jobs *jobs, uint64_t *random)
{
    cell root = {jobs, next_random(random) & 255, 0, 1 + next_random(random) % 6};

    branch(&root, 0);
    return root.out == branch_serial(root.in, root.depth);
}

typedef struct visitor {
    hd_jobs *jobs;
    hd_counter *shared; /* one for all visitors */
    uint64_t random;
    uint64_t until;
    unsigned rounds;
    int good;
    pthread_t thread;
} visitor;

/* One outside thread: batches, trees and ranges in a random order, with pauses long enough for workers to park. */
static void *visit(void *argument)
{
    visitor *v = argument;

    v->good = 1;
    while (v->rounds == 0 || hdi_clock_ns() < v->until) {
        uint32_t what = next_random(&v->random) % 10;
        if (what < 4)
            v->good &= batch_is_right(v->jobs, &v->random, what == 0 ? v->shared : NULL);
        else if (what < 5)
            v->good &= tree_is_right(v->jobs, &v->random);
        else if (what < 7)
            v->good &= range_is_right(v->jobs, next_random(&v->random) % 5000, 1 + next_random(&v->random) % 200);
        else if (what < 8)
            v->good &= loops_in_a_loop_are_right(v->jobs, &v->random);
        else if (what < 9)
            (next_random(&v->random) % 2 ? hd_jobs_warm : hd_jobs_rest)(v->jobs);
        else
            usleep(next_random(&v->random) % 400);
        v->rounds++;
    }
    return NULL;
}

/* kind below zero: threads of the pool's own. */
static void run_part(uint32_t workers, uint32_t visitors, int kind)
{
    static hdt_host host;
    hd_jobs_desc desc = {.worker_count = workers};
    hd_jobs *jobs;
    visitor v[8];
    hd_counter shared = {0};
    char name[96];
    unsigned rounds = 0;
    int good = 1;

    snprintf(name, sizeof name, "%u workers, %u outside threads, %s", workers, visitors,
             kind < 0 ? "own" : hdt_host_name((hdt_host_kind)kind));
    if (kind >= 0) {
        hdt_host_start(&host, (hdt_host_kind)kind, 5, seed);
        hdt_host_describe(&host, &desc);
    }
    if (hd_jobs_create(&desc, &jobs) != HD_OK) {
        check(0, name);
        return;
    }
    alarm(WAIT_SECONDS);
    uint64_t until = hdi_clock_ns() + part_ns;
    for (uint32_t i = 0; i < visitors; i++) {
        v[i] = (visitor){.jobs = jobs, .shared = &shared, .random = seed * 1000003 + i, .until = until};
        if (pthread_create(&v[i].thread, NULL, visit, &v[i]) != 0)
            abort();
    }
    for (uint32_t i = 0; i < visitors; i++) {
        pthread_join(v[i].thread, NULL);
        rounds += v[i].rounds;
        good &= v[i].good;
    }
    if (kind >= 0)
        hdt_host_late(&host);
    hd_jobs_destroy(jobs);
    if (kind >= 0)
        good &= hdt_host_stop(&host);
    alarm(0);
    printf("%-48s %u rounds\n", name, rounds);
    check(good, name);
}

static void raise_flag(void *user, uint32_t worker)
{
    (void)worker;
    atomic_store_explicit((_Atomic(uint32_t) *)user, 1, memory_order_release);
}

static void pause_ns(uint64_t ns)
{
    for (uint64_t until = hdi_clock_ns() + ns; hdi_clock_ns() < until;)
        continue;
}

/* Two jobs that wait for each other: a pool whose threads sleep must wake one for each of them. */
typedef struct meeting {
    _Atomic(uint32_t) here;
    _Atomic(uint32_t) missed;
} meeting;

static void meet(void *user, uint32_t worker)
{
    meeting *m = user;
    uint64_t patience = hdi_clock_ns() + PATIENCE_NS;

    (void)worker;
    atomic_fetch_add_explicit(&m->here, 1, memory_order_release);
    while (atomic_load_explicit(&m->here, memory_order_acquire) < 2 &&
           !atomic_load_explicit(&m->missed, memory_order_relaxed)) {
        sched_yield(); /* to the other, where there are few processors */
        if (hdi_clock_ns() > patience)
            atomic_store_explicit(&m->missed, 1, memory_order_relaxed);
    }
}

static int two_meet(hd_jobs *jobs, uint64_t *random)
{
    meeting m = {0};
    hd_counter counter = {0};
    hd_job job[2] = {{.fn = meet, .user = &m}, {.fn = meet, .user = &m}};
    int missed = 0;

    for (int i = 0; i < 2; i++) {
        hd_jobs_submit(jobs, &job[i], 1, &counter);
        pause_ns(next_random(random) % 3000);
    }
    while (atomic_load_explicit(&m.here, memory_order_acquire) < 2 && !missed) {
        sched_yield();
        missed = (int)atomic_load_explicit(&m.missed, memory_order_relaxed);
    }
    hd_jobs_wait(jobs, &counter);
    return !missed;
}

/* One job at a time, or two, submitted about when the last searcher parks. The submitter does not help until they have
 * run, so a lost wake-up leaves the flag down; it gives up after some seconds. */
static void run_park_and_wake(uint32_t workers)
{
    hd_jobs *jobs;
    int good = 1;
    unsigned rounds = 0;
    uint64_t random = seed;

    if (hd_jobs_create(&(hd_jobs_desc){.worker_count = workers}, &jobs) != HD_OK) {
        check(0, "park and wake: create");
        return;
    }
    alarm(WAIT_SECONDS);
    for (uint64_t until = hdi_clock_ns() + 2 * part_ns; (rounds == 0 || hdi_clock_ns() < until) && good; rounds++) {
        _Atomic(uint32_t) flag = 0;
        hd_job job = {.fn = raise_flag, .user = &flag};
        hd_counter counter = {0};
        /* The workers park about 30 us after the last job: most pauses end near that moment. */
        pause_ns(rounds & 3 ? 28000 + next_random(&random) % 8000 : next_random(&random) % 60000);
        if (rounds % 8 == 5)
            hd_jobs_rest(jobs);
        if (workers > 2 && rounds % 4 == 2) {
            good = two_meet(jobs, &random);
            continue;
        }
        hd_jobs_submit(jobs, &job, 1, &counter);
        uint64_t patience = hdi_clock_ns() + PATIENCE_NS;
        while (!atomic_load_explicit(&flag, memory_order_acquire))
            if (hdi_clock_ns() > patience) {
                good = 0;
                break;
            }
        hd_jobs_wait(jobs, &counter);
    }
    hd_jobs_destroy(jobs);
    alarm(0);
    printf("park and wake, %u workers %28s %u rounds\n", workers, "", rounds);
    check(good, "park and wake");
}

/* ---- the deque alone ---- */

enum { THIEVES = 3, DEQUE_JOBS = 512 };

typedef struct deque_run {
    hdi_deque deque;
    _Atomic(uint32_t) stop;
    _Atomic(uint32_t) got; /* of this batch */
} deque_run;

/* run is a plain field: two that got one job race on it, or count it twice. */
static void got_job(deque_run *r, hd_job *job)
{
    job->run++;
    atomic_fetch_add_explicit(&r->got, 1, memory_order_release);
}

static void *thieve(void *argument)
{
    deque_run *r = argument;

    while (!atomic_load_explicit(&r->stop, memory_order_relaxed)) {
        hd_job *job = hdi_deque_steal(&r->deque);
        if (job)
            got_job(r, job);
    }
    return NULL;
}

/* Mostly a push or two and takes at once: the owner and the thieves meet at the last job. */
static void run_deque(void)
{
    static deque_run r;
    static hd_job jobs[DEQUE_JOBS];
    pthread_t threads[THIEVES];
    uint64_t random = seed;
    unsigned rounds = 0;
    int good = 1;

    memset(&r, 0, sizeof r);
    alarm(WAIT_SECONDS);
    for (int i = 0; i < THIEVES; i++)
        if (pthread_create(&threads[i], NULL, thieve, &r) != 0)
            abort();
    for (uint64_t until = hdi_clock_ns() + part_ns; (rounds == 0 || hdi_clock_ns() < until) && good; rounds++) {
        uint32_t at = 0;
        atomic_store_explicit(&r.got, 0, memory_order_relaxed);
        for (uint32_t i = 0; i < DEQUE_JOBS; i++)
            jobs[i].run = 0; /* plain: the batch before is over, and its ends were seen */
        while (at < DEQUE_JOBS) {
            uint32_t some = 1 + (next_random(&random) % 8 == 0 ? next_random(&random) % 40 : 0);
            at += hdi_deque_push(&r.deque, jobs + at, some < DEQUE_JOBS - at ? some : DEQUE_JOBS - at,
                                 HDI_DEQUE_CAPACITY);
            for (uint32_t takes = next_random(&random) % 4; takes > 0; takes--) {
                hd_job *job = hdi_deque_take(&r.deque);
                if (job)
                    got_job(&r, job);
            }
        }
        for (hd_job *job; (job = hdi_deque_take(&r.deque)) != NULL;)
            got_job(&r, job);
        while (atomic_load_explicit(&r.got, memory_order_acquire) < DEQUE_JOBS)
            continue;
        for (uint32_t i = 0; i < DEQUE_JOBS; i++)
            good &= jobs[i].run == 1;
    }
    atomic_store_explicit(&r.stop, 1, memory_order_relaxed);
    for (int i = 0; i < THIEVES; i++)
        pthread_join(threads[i], NULL);
    alarm(0);
    printf("deque, an owner and %d thieves %24s %u rounds\n", THIEVES, "", rounds);
    check(good, "deque");
}

/* Pools that come and go, with and without work. */
static void run_create_destroy(void)
{
    int good = 1;
    unsigned rounds = 0;
    uint64_t random = seed;

    alarm(WAIT_SECONDS);
    for (uint64_t until = hdi_clock_ns() + part_ns; rounds == 0 || hdi_clock_ns() < until; rounds++) {
        hd_jobs *jobs;
        if (hd_jobs_create(&(hd_jobs_desc){.worker_count = 1 + rounds % 6}, &jobs) != HD_OK) {
            good = 0;
            break;
        }
        if (rounds & 1)
            good &= batch_is_right(jobs, &random, NULL);
        hd_jobs_destroy(jobs);
    }
    alarm(0);
    printf("create and destroy %29s %u rounds\n", "", rounds);
    check(good, "create and destroy");
}

enum { NODES = 600 };

typedef struct nodes_run {
    uint32_t begin[NODES + 1], succ[3 * NODES], pred[NODES];
    uint32_t value[NODES]; /* plain: what orders the nodes orders these */
} nodes_run;

static void sum_before(uint32_t node, uint32_t worker, void *user)
{
    nodes_run *r = user;
    uint32_t sum = 1;

    (void)worker;
    for (uint32_t back = 16; back <= 18; back++) /* the nodes that this one hangs on */
        sum += node >= back ? r->value[node - back] : 0;
    r->value[node] = sum;
}

/* Graphs whose nodes read what those before them wrote, without atomics. */
static void run_dags(uint32_t workers)
{
    static nodes_run r;
    static hd_node nodes[NODES];
    hd_jobs *jobs;
    uint32_t at = 0, expected[NODES];
    unsigned rounds = 0;
    int good = 1;

    memset(&r, 0, sizeof r);
    for (uint32_t n = 0; n < NODES; n++) {
        r.begin[n] = at;
        expected[n] = 1;
        for (uint32_t step = 16; step <= 18; step++) {
            expected[n] += n >= step ? expected[n - step] : 0;
            if (n + step < NODES) {
                r.succ[at++] = n + step;
                r.pred[n + step]++;
            }
        }
    }
    r.begin[NODES] = at;
    if (hd_jobs_create(&(hd_jobs_desc){.worker_count = workers}, &jobs) != HD_OK) {
        check(0, "graphs: create");
        return;
    }
    bool critical[NODES];
    hd_dag dag = {.node_count = NODES, .succ_begin = r.begin, .succ = r.succ, .pred_count = r.pred, .fn = sum_before,
                  .user = &r};
    for (uint32_t n = 0; n < NODES; n++)
        critical[n] = n % 5 == 0;
    alarm(WAIT_SECONDS);
    for (uint64_t until = hdi_clock_ns() + part_ns; rounds == 0 || hdi_clock_ns() < until; rounds++) {
        memset(r.value, 0, sizeof r.value);
        dag.critical = rounds % 2 ? critical : NULL;
        hd_jobs_run_dag(jobs, &dag, nodes);
        good &= memcmp(r.value, expected, sizeof expected) == 0;
    }
    hd_jobs_destroy(jobs);
    alarm(0);
    printf("graphs, %u workers %29s %u rounds\n", workers, "", rounds);
    check(good, "graphs");
}

int hdt_jobs_stress(uint64_t part_ms)
{
    const char *text = getenv("HEDDLE_SEED"), *ms = getenv("HEDDLE_STRESS_MS");

    setvbuf(stdout, NULL, _IOLBF, 0);
    seed = text ? strtoull(text, NULL, 10) : hdi_clock_ns() % 1000000;
    part_ns = (ms ? strtoull(ms, NULL, 10) : part_ms) * 1000000u;
    printf("HEDDLE_SEED=%" PRIu64 "\n", seed);
    hdt_stress_seed(seed);
    run_part(1, 1, -1);
    run_part(1, 4, -1);
    run_part(2, 1, -1);
    run_part(2, 3, -1);
    run_part(5, 1, -1);
    run_part(8, 4, -1);
    run_part(70, 2, -1);
    for (int kind = 0; kind < HDT_HOST_KINDS; kind++)
        run_part(2 + (uint32_t)kind % 3 * 2, 1 + (uint32_t)kind % 2 * 2, kind);
    run_deque();
    run_park_and_wake(2);
    run_park_and_wake(4);
    run_create_destroy();
    run_dags(2);
    run_dags(7);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
