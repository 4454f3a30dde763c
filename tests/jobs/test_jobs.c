#include <criterion/criterion.h>

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <heddle/jobs.h>

#include "cpus.h"
#include "deque.h"
#include "limited.h"
#include "random.h"

/* The job pool's contract, call by call. Orders and races are stress_jobs' business; here each promise of jobs.h is
 * checked once, on pools of one worker (only the caller), of two, and of more than there are processors. */

static const uint32_t pool_sizes[] = {1, 2, 3, 9};
enum { POOLS = sizeof pool_sizes / sizeof *pool_sizes };

static hd_jobs *make_pool(uint32_t workers)
{
    hd_jobs *jobs = NULL;

    cr_assert(hd_jobs_create(&(hd_jobs_desc){.worker_count = workers, .name = "test"}, &jobs) == HD_OK);
    cr_assert(hd_jobs_worker_count(jobs) == workers);
    return jobs;
}

/* A hang is a failure with a name, not a stopped test run. */
static void limit_time(void)
{
    alarm(60);
}

TestSuite(jobs, .init = limit_time);

/* ---- create ---- */

static void keep_line(hd_log_level level, const char *text, void *user)
{
    cr_assert(level == HD_LOG_ERROR);
    snprintf(user, 128, "%s", text);
}

Test(jobs, create_checks_its_arguments)
{
    char line[128] = "";
    hd_jobs *jobs = (hd_jobs *)&jobs;

    cr_assert(hd_jobs_create(NULL, NULL) == HD_INVALID_ARGUMENT);
    hd_jobs_desc many = {.worker_count = HD_MAX_WORKERS + 1, .log = {keep_line, line}};
    cr_assert(hd_jobs_create(&many, &jobs) == HD_TOO_LARGE);
    cr_assert(strstr(line, "257 workers") && strstr(line, "256"), "%s", line);
    cr_assert_null(jobs);
    cr_assert(hd_jobs_create(NULL, &jobs) == HD_OK);
    cr_assert(hd_jobs_worker_count(jobs) == hdi_cpus_usable());
    hd_jobs_destroy(jobs);
    hd_jobs_destroy(NULL);
    cr_assert(hd_jobs_worker_count(NULL) == 1);
}

Test(jobs, counts_the_processors_it_may_use)
{
    cpu_set_t one;

    cr_assert(hdi_cpus_parse_max("max 100000\n") == 0);
    cr_assert(hdi_cpus_parse_max("100000 100000\n") == 1);
    cr_assert(hdi_cpus_parse_max("150000 100000\n") == 2);
    cr_assert(hdi_cpus_parse_max("1 100000") == 1);
    cr_assert(hdi_cpus_parse_max("9000000000000 1") == 8192);
    cr_assert(hdi_cpus_parse_max("100000 0") == 0);
    cr_assert(hdi_cpus_parse_max("-1 100000") == 0);
    cr_assert(hdi_cpus_parse_max("") == 0);
    cr_assert(hdi_cpus_usable() >= 1);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0)
        cr_assert(hdi_cpus_usable() == 1);
}

#if !defined(__SANITIZE_ADDRESS__) /* its shadow does not fit into a limited address space */
static void count_line(hd_log_level level, const char *text, void *user)
{
    cr_assert(level == HD_LOG_ERROR && strstr(text, "thread"));
    ++*(int *)user;
}

Test(jobs, a_thread_that_cannot_start_leaves_nothing_behind)
{
    hdt_limited limited = {0};
    hd_jobs *jobs;
    int lines = 0;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    cr_assert(file && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    struct rlimit space = {0};
    space.rlim_cur = space.rlim_max = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (64u << 20); /* a few stacks */
    cr_assert(setrlimit(RLIMIT_AS, &space) == 0);
    hd_jobs_desc desc = {
        .worker_count = 200, .allocator = hdt_limited_allocator(&limited), .log = {count_line, &lines}};
    cr_assert(hd_jobs_create(&desc, &jobs) == HD_OUT_OF_MEMORY);
    cr_assert(jobs == NULL && lines == 1);
    cr_assert(limited.out == 0 && limited.wrong == 0);
}
#endif

/* ---- submit and wait ---- */

typedef struct task {
    hd_jobs *jobs;
    hd_counter *counter; /* for tasks that submit more to their own counter */
    struct task *more;
    hd_job *more_jobs;
    uint32_t more_count;
    uint32_t ran;
    uint32_t worker;
    _Atomic(uint32_t) *order;
    uint32_t place;
} task;

static void run_task(void *user, uint32_t worker)
{
    task *t = user;

    t->ran++;
    t->worker = worker;
    if (t->order)
        t->place = atomic_fetch_add(t->order, 1);
    if (t->more)
        hd_jobs_submit(t->jobs, t->more_jobs, t->more_count, t->counter);
}

static void make_tasks(hd_job *job, task *tasks, uint32_t count)
{
    memset(tasks, 0, count * sizeof *tasks);
    memset(job, 0, count * sizeof *job);
    for (uint32_t i = 0; i < count; i++) {
        job[i].fn = run_task;
        job[i].user = &tasks[i];
    }
}

Test(jobs, without_a_pool_all_runs_at_once_in_order)
{
    task tasks[20];
    hd_job job[20];
    hd_counter counter = {0};
    _Atomic(uint32_t) order = 0;

    make_tasks(job, tasks, 20);
    for (uint32_t i = 0; i < 20; i++)
        tasks[i].order = &order;
    hd_jobs_submit(NULL, job, 20, &counter);
    for (uint32_t i = 0; i < 20; i++)
        cr_assert(tasks[i].ran == 1 && tasks[i].worker == 0 && tasks[i].place == i);
    hd_jobs_wait(NULL, &counter);
}

/* More jobs than a deque holds, several submits on one counter, the counter used again. */
Test(jobs, every_job_runs_once)
{
    enum { COUNT = 3 * HDI_DEQUE_CAPACITY + 17 };
    task *tasks = malloc(COUNT * sizeof *tasks);
    hd_job *job = malloc(COUNT * sizeof *job);

    for (int p = 0; p < POOLS; p++) {
        hd_jobs *jobs = make_pool(pool_sizes[p]);
        hd_counter counter = {0};
        for (int round = 0; round < 20; round++) {
            uint32_t parts[] = {0, 1, 2, 900, 901, COUNT - 1, COUNT};
            make_tasks(job, tasks, COUNT);
            for (int i = 0; i + 1 < 7; i++)
                hd_jobs_submit(jobs, job + parts[i], parts[i + 1] - parts[i], &counter);
            hd_jobs_submit(jobs, job, 0, &counter);
            hd_jobs_wait(jobs, &counter);
            for (uint32_t i = 0; i < COUNT; i++)
                cr_assert(tasks[i].ran == 1 && tasks[i].worker < pool_sizes[p]);
        }
        hd_jobs_wait(jobs, &counter);
        hd_jobs_destroy(jobs);
    }
    free(tasks);
    free(job);
}

Test(jobs, jobs_may_submit_to_their_own_counter)
{
    for (int p = 0; p < POOLS; p++) {
        hd_jobs *jobs = make_pool(pool_sizes[p]);
        for (int round = 0; round < 200; round++) {
            task first, then[40];
            hd_job first_job, then_jobs[40];
            hd_counter counter = {0};
            make_tasks(&first_job, &first, 1);
            make_tasks(then_jobs, then, 40);
            first.jobs = jobs;
            first.counter = &counter;
            first.more = then;
            first.more_jobs = then_jobs;
            first.more_count = 40;
            hd_jobs_submit(jobs, &first_job, 1, &counter);
            hd_jobs_wait(jobs, &counter);
            for (int i = 0; i < 40; i++)
                cr_assert(then[i].ran == 1);
        }
        hd_jobs_destroy(jobs);
    }
}

typedef struct node {
    hd_jobs *jobs, *other; /* children go to the other pool, and stay there */
    uint32_t depth;
    uint64_t leaves;
} node;

static void count_leaves(void *user, uint32_t worker)
{
    node *n = user, below[3];
    hd_job job[3];
    hd_counter counter = {0};

    (void)worker;
    if (n->depth == 0) {
        n->leaves = 1;
        return;
    }
    for (int i = 0; i < 3; i++) {
        below[i] = (node){n->other, n->other, n->depth - 1, 0};
        job[i] = (hd_job){.fn = count_leaves, .user = &below[i]};
    }
    hd_jobs_submit(n->other, job, 3, &counter);
    hd_jobs_wait(n->other, &counter);
    n->leaves = below[0].leaves + below[1].leaves + below[2].leaves;
}

Test(jobs, jobs_wait_for_jobs)
{
    for (int p = 0; p < POOLS; p++) {
        hd_jobs *jobs = make_pool(pool_sizes[p]);
        node root = {jobs, jobs, 7, 0};
        count_leaves(&root, 0);
        cr_assert(root.leaves == 2187);
        hd_jobs_destroy(jobs);
    }
}

/* The first pool's jobs wait for the second's: its threads are outsiders there, and one of them works as its worker 0.
 */
Test(jobs, one_pool_waits_for_another)
{
    for (int p = 0; p < POOLS; p++) {
        hd_jobs *jobs = make_pool(pool_sizes[p]), *other = make_pool(pool_sizes[POOLS - 1 - p]);
        for (int round = 0; round < 20; round++) {
            node roots[20];
            hd_job job[20];
            hd_counter counter = {0};
            for (int i = 0; i < 20; i++) {
                roots[i] = (node){jobs, other, 4, 0};
                job[i] = (hd_job){.fn = count_leaves, .user = &roots[i]};
            }
            hd_jobs_submit(jobs, job, 20, &counter);
            hd_jobs_wait(jobs, &counter);
            for (int i = 0; i < 20; i++)
                cr_assert(roots[i].leaves == 81);
        }
        hd_jobs_destroy(jobs);
        hd_jobs_destroy(other);
    }
}

/* ---- threads from outside ---- */

typedef struct outsider {
    hd_jobs *jobs;
    hd_counter *shared;
    _Atomic(uint32_t) *shared_ran;
    uint32_t shared_jobs;
    bool good;
    pthread_t thread;
} outsider;

static void *come_from_outside(void *user)
{
    outsider *o = user;
    task tasks[64];
    hd_job job[64];

    o->good = true;
    for (int round = 0; round < 200; round++) {
        hd_counter counter = {0};
        make_tasks(job, tasks, 64);
        hd_jobs_submit(o->jobs, job, 64, &counter);
        hd_jobs_wait(o->jobs, &counter);
        for (int i = 0; i < 64; i++)
            o->good &= tasks[i].ran == 1;
    }
    /* All of them wait for one counter. */
    hd_jobs_wait(o->jobs, o->shared);
    o->good &= atomic_load(o->shared_ran) == o->shared_jobs;
    return NULL;
}

static void count_slowly(void *user, uint32_t worker)
{
    (void)worker;
    usleep(200);
    atomic_fetch_add((_Atomic(uint32_t) *)user, 1);
}

Test(jobs, threads_from_outside_submit_and_wait)
{
    for (int p = 0; p < POOLS; p++) {
        hd_jobs *jobs = make_pool(pool_sizes[p]);
        hd_counter shared = {0};
        _Atomic(uint32_t) ran = 0;
        hd_job job[100];
        outsider o[4];

        for (int i = 0; i < 100; i++)
            job[i] = (hd_job){.fn = count_slowly, .user = &ran};
        hd_jobs_submit(jobs, job, 100, &shared);
        for (int i = 0; i < 4; i++) {
            o[i] = (outsider){.jobs = jobs, .shared = &shared, .shared_ran = &ran, .shared_jobs = 100};
            cr_assert(pthread_create(&o[i].thread, NULL, come_from_outside, &o[i]) == 0);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(o[i].thread, NULL);
            cr_assert(o[i].good);
        }
        hd_jobs_destroy(jobs);
    }
}

/* ---- parallel_for ---- */

enum { MOST = 4000 };

typedef struct range_log {
    uint32_t count, grain, workers;
    uint32_t *ends; /* of the chunk that begins here */
    _Atomic(uint32_t) wrong;
    _Atomic(uint32_t) busy[HD_MAX_WORKERS]; /* a thread runs as this worker */
} range_log;

static void log_chunk(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    range_log *log = user;

    if (worker >= log->workers || atomic_exchange(&log->busy[worker], 1))
        atomic_fetch_add(&log->wrong, 1);
    if (begin >= end || end > log->count || log->ends[begin] != 0)
        atomic_fetch_add(&log->wrong, 1);
    else
        log->ends[begin] = end;
    atomic_store(&log->busy[worker], 0);
}

Test(jobs, parallel_for_splits_by_count_and_grain_alone)
{
    uint32_t ends[MOST];

    for (int p = -1; p < POOLS; p++) {
        hd_jobs *jobs = p < 0 ? NULL : make_pool(pool_sizes[p]);
        for (uint64_t seed = hdt_seed(), last = seed + 400; seed < last; seed++) {
            uint64_t random = seed;
            range_log log = {.count = hdt_below(&random, MOST), .workers = hd_jobs_worker_count(jobs), .ends = ends};
            log.grain = hdt_below(&random, 1u << hdt_below(&random, 13));
            memset(ends, 0, sizeof ends);
            hd_jobs_parallel_for(jobs, log.count, log.grain, log_chunk, &log);
            uint32_t grain = log.grain ? log.grain : 1;
            cr_assert(log.wrong == 0, "HEDDLE_SEED=%" PRIu64, seed);
            for (uint32_t i = 0; i < log.count; i++) {
                uint32_t end = i % grain ? 0 : log.count - i < grain ? log.count : i + grain;
                cr_assert(ends[i] == end, "HEDDLE_SEED=%" PRIu64 " at %u", seed, i);
            }
        }
        hd_jobs_destroy(jobs);
    }
}

typedef struct span_sum {
    _Atomic(uint64_t) items;
    _Atomic(uint32_t) chunks;
} span_sum;

static void add_span(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    span_sum *sum = user;

    (void)worker;
    atomic_fetch_add(&sum->items, end - begin);
    atomic_fetch_add(&sum->chunks, 1);
}

Test(jobs, parallel_for_does_not_overflow)
{
    const uint32_t grains[] = {1u << 30, (1u << 31) + 1, UINT32_MAX - 1, UINT32_MAX, 65536};
    const uint32_t chunks[] = {4, 2, 2, 1, 65536};

    for (int p = -1; p < POOLS; p++) {
        hd_jobs *jobs = p < 0 ? NULL : make_pool(pool_sizes[p]);
        for (int i = 0; i < 5; i++) {
            span_sum sum = {0};
            hd_jobs_parallel_for(jobs, UINT32_MAX, grains[i], add_span, &sum);
            cr_assert(sum.items == UINT32_MAX && sum.chunks == chunks[i]);
        }
        hd_jobs_destroy(jobs);
    }
}

static hd_jobs *nest_pool;

static void nest(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    span_sum *sums = user;

    (void)worker;
    for (uint32_t i = begin; i < end; i++)
        hd_jobs_parallel_for(nest_pool, i, 3, add_span, &sums[i]);
}

Test(jobs, parallel_for_nests)
{
    for (int p = 0; p < POOLS; p++) {
        span_sum sums[150] = {0};
        nest_pool = make_pool(pool_sizes[p]);
        hd_jobs_parallel_for(nest_pool, 150, 1, nest, sums);
        for (uint32_t i = 0; i < 150; i++)
            cr_assert(sums[i].items == i && sums[i].chunks == (i + 2) / 3);
        hd_jobs_destroy(nest_pool);
    }
}

/* The first chunk is the caller's and ends at once, the others sleep: longer than a caller looks on. */
static void end_late(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    uint32_t *done = user;

    (void)worker;
    if (begin > 0)
        nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    for (uint32_t i = begin; i < end; i++)
        done[i]++;
}

Test(jobs, parallel_for_waits_for_chunks_that_take_long)
{
    for (int p = 0; p < POOLS; p++) {
        hd_jobs *jobs = make_pool(pool_sizes[p]);
        uint32_t done[16] = {0};
        for (uint32_t round = 1; round <= 20; round++) { /* the next one must find no worker of the last one inside */
            hd_jobs_parallel_for(jobs, 4 + round % 13, 1, end_late, done);
            for (uint32_t i = 0; i < 16; i++) {
                cr_assert(done[i] == (i < 4 + round % 13));
                done[i] = 0;
            }
        }
        hd_jobs_destroy(jobs);
    }
}

/* ---- workers as guests in the host's process ---- */

static void check_mask(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    sigset_t set;

    (void)begin;
    (void)end;
    usleep(300);
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    if (worker != 0 && !sigismember(&set, SIGTERM))
        atomic_fetch_add((_Atomic(uint32_t) *)user, 1);
}

Test(jobs, workers_take_no_signals)
{
    _Atomic(uint32_t) wrong = 0;
    hd_jobs *jobs = make_pool(4);
    sigset_t set;

    hd_jobs_parallel_for(jobs, 40, 1, check_mask, &wrong);
    cr_assert(wrong == 0);
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    cr_assert(!sigismember(&set, SIGTERM), "the caller's own mask is as before");
    hd_jobs_destroy(jobs);
}

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Not a speed: workers that spin would burn at least the whole time on one processor. */
Test(jobs, idle_workers_sleep)
{
    hd_jobs *jobs = make_pool(4);
    span_sum sum = {0};

    hd_jobs_parallel_for(jobs, 1000, 1, add_span, &sum);
    usleep(100000);
    uint64_t before = cpu_ns();
    usleep(300000);
    cr_assert(cpu_ns() - before < 100000000);
    hd_jobs_destroy(jobs);
}

/* ---- deque ---- */

Test(jobs, deque_follows_a_list)
{
    static hdi_deque deque;
    static hd_job pool[4000];

    for (uint64_t seed = hdt_seed(), last = seed + 100; seed < last; seed++) {
        static hd_job *model[4000];
        uint32_t low = 0, high = 0, next = 0;
        uint64_t random = seed;

        memset(&deque, 0, sizeof deque);
        while (next < 3900) {
            uint32_t what = hdt_below(&random, 4);
            if (what < 2) {
                uint32_t count = hdt_below(&random, 1u << hdt_below(&random, 7));
                uint32_t limit = hdt_below(&random, 3) ? HDI_DEQUE_CAPACITY : HDI_DEQUE_HALF;
                uint32_t room = high - low < limit ? limit - (high - low) : 0;
                uint32_t pushed = hdi_deque_push(&deque, &pool[next], count, limit);
                cr_assert(pushed == (count < room ? count : room), "HEDDLE_SEED=%" PRIu64, seed);
                for (uint32_t i = 0; i < pushed; i++)
                    model[high++] = &pool[next + pushed - 1 - i];
                next += count;
            } else if (what == 2) {
                hd_job *job = high > low ? model[--high] : NULL;
                cr_assert(hdi_deque_take(&deque) == job, "HEDDLE_SEED=%" PRIu64, seed);
            } else {
                hd_job *job = high > low ? model[low++] : NULL;
                cr_assert(hdi_deque_steal(&deque) == job, "HEDDLE_SEED=%" PRIu64, seed);
            }
            cr_assert(hdi_deque_has_work(&deque) == (high > low), "HEDDLE_SEED=%" PRIu64, seed);
        }
    }
}
