#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/jobs.h>

#include "random.h"

/* Jobs that depend on one another, and the profiler's calls. Nodes read without atomics what their predecessors wrote:
 * the value of each is a function of all nodes before it. */

enum { MOST_NODES = 700, MOST_EDGES = 4000, MOST_WORKERS = 9 };

typedef struct frame {
    uint32_t count, edge_count;
    uint32_t succ_begin[MOST_NODES + 1], succ[MOST_EDGES], pred_count[MOST_NODES];
    uint32_t from[MOST_EDGES], to[MOST_EDGES];
    uint64_t value[MOST_NODES], expected[MOST_NODES];
    uint32_t ran[MOST_NODES];
    uint32_t workers;
    _Atomic(uint32_t) wrong;
} frame;

static void limit_time(void)
{
    alarm(60);
}

TestSuite(dag, .init = limit_time);

static uint64_t value_of(const frame *f, const uint64_t *value, uint32_t node)
{
    uint64_t sum = node + 1;
    for (uint32_t e = 0; e < f->edge_count; e++) {
        if (f->to[e] == node)
            sum = sum * 31 + value[f->from[e]];
    }
    return sum;
}

static void run_node(uint32_t node, uint32_t worker, void *user)
{
    frame *f = user;
    if (worker >= f->workers)
        atomic_fetch_add(&f->wrong, 1);
    f->value[node] = value_of(f, f->value, node);
    f->ran[node]++;
}

/* Edges lead from smaller to larger numbers, at times twice; then the numbers are mixed. */
static void make_frame(frame *f, uint64_t seed)
{
    uint64_t random = seed;
    uint32_t name[MOST_NODES], at[MOST_NODES];
    memset(f, 0, sizeof(*f));
    f->count = 1 + hdt_below(&random, hdt_below(&random, 4) ? 60 : MOST_NODES - 1);
    for (uint32_t n = 0; n < f->count; n++) {
        uint32_t other = hdt_below(&random, n + 1);
        name[n] = name[other];
        name[other] = n;
    }
    uint32_t edges = f->count > 1 ? hdt_below(&random, f->count * 4 < MOST_EDGES ? f->count * 4 : MOST_EDGES) : 0;
    for (uint32_t e = 0; e < edges; e++) {
        uint32_t to = 1 + hdt_below(&random, f->count - 1), from = hdt_below(&random, to);
        f->from[e] = name[from];
        f->to[e] = name[to];
        f->succ_begin[name[from] + 1]++;
        f->pred_count[name[to]]++;
    }
    f->edge_count = edges;
    for (uint32_t n = 0; n < f->count; n++) {
        f->succ_begin[n + 1] += f->succ_begin[n];
        at[n] = f->succ_begin[n];
    }
    for (uint32_t e = 0; e < edges; e++)
        f->succ[at[f->from[e]]++] = f->to[e];
    uint32_t order[MOST_NODES];
    for (uint32_t n = 0; n < f->count; n++)
        order[n] = name[n];
    for (uint32_t n = 0; n < f->count; n++)
        f->expected[order[n]] = value_of(f, f->expected, order[n]);
}

Test(dag, every_node_runs_once_after_its_predecessors)
{
    static frame f;
    static hd_node nodes[MOST_NODES];
    const uint32_t sizes[] = {0, 1, 2, 3, MOST_WORKERS};
    for (uint32_t p = 0; p < 5; p++) {
        hd_jobs *jobs = NULL;
        if (sizes[p])
            cr_assert(hd_jobs_create(&(hd_jobs_desc){.worker_count = sizes[p], .pin = p & 1}, &jobs) == HD_OK);
        for (uint64_t seed = hdt_seed(), last = seed + 60; seed < last; seed++) {
            make_frame(&f, seed);
            f.workers = hd_jobs_worker_count(jobs);
            hd_dag dag = {.node_count = f.count, .succ_begin = f.succ_begin, .succ = f.succ, .pred_count = f.pred_count,
                          .fn = run_node, .user = &f};
            memset(nodes, 0xa5, sizeof(nodes));
            hd_jobs_run_dag(jobs, &dag, nodes);
            for (uint32_t n = 0; n < f.count; n++)
                cr_assert(f.ran[n] == 1 && f.value[n] == f.expected[n], "HEDDLE_SEED=%" PRIu64 " node %u", seed, n);
            cr_assert(f.wrong == 0);
        }
        hd_jobs_run_dag(jobs, &(hd_dag){0}, NULL);
        hd_jobs_destroy(jobs);
    }
}

typedef struct profile {
    _Atomic(uint32_t) begun, ended, wrong;
    uint32_t open[MOST_WORKERS]; /* each written by its worker alone */
} profile;

static void note(const char *name, uint32_t worker, bool ended, void *user)
{
    profile *p = user;
    if (worker >= MOST_WORKERS || strcmp(name, "part") != 0) {
        atomic_fetch_add(&p->wrong, 1);
        return;
    }
    p->open[worker] += ended ? UINT32_MAX : 1;
    atomic_fetch_add(ended ? &p->ended : &p->begun, 1);
}

static void check_open(void *user, uint32_t worker)
{
    profile *p = user;
    if (p->open[worker] != 1)
        atomic_fetch_add(&p->wrong, 1);
}

Test(dag, the_profiler_sees_each_job_begin_and_end)
{
    profile p = {0};
    hd_jobs *jobs;
    hd_job job[200] = {0};
    hd_counter counter = {0};
    hd_jobs_desc desc = {.worker_count = 4, .profile = note, .profile_user = &p};
    cr_assert(hd_jobs_create(&desc, &jobs) == HD_OK);
    for (uint32_t i = 0; i < 200; i++)
        job[i] = (hd_job){.fn = check_open, .user = &p, .name = "part"};
    hd_jobs_submit(jobs, job, 200, &counter);
    hd_jobs_wait(jobs, &counter);
    hd_jobs_destroy(jobs);
    cr_assert(p.begun == 200 && p.ended == 200 && p.wrong == 0);
}
