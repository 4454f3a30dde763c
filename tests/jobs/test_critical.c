#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <heddle/jobs.h>

#include "pool.h"
#include "random.h"

/* Critical jobs go before others. The order is exact where one worker takes all jobs, be they its own, injected or
 * stolen, and there it is checked. */

enum { MOST = 3 * HDI_DEQUE_CAPACITY };

typedef struct record {
    hd_jobs *jobs;
    hd_counter *counter;
    uint32_t order[MOST], ran;
} record;

typedef struct item {
    record *to;
    uint32_t index;
    hd_job job;
    struct item *more; /* submitted by this one */
    uint32_t more_count;
} item;

static item items[MOST];
static hd_job job[MOST];

static void note(void *user, uint32_t worker)
{
    item *i = user;

    (void)worker;
    i->to->order[i->to->ran++] = i->index;
    for (uint32_t k = 0; k < i->more_count; k++)
        hd_jobs_submit(i->to->jobs, &i->more[k].job, 1, i->to->counter);
}

static hd_jobs *one_worker(void)
{
    hd_jobs *jobs = NULL;

    alarm(60);
    cr_assert(hd_jobs_create(&(hd_jobs_desc){.worker_count = 1}, &jobs) == HD_OK);
    return jobs;
}

static void make(record *r, uint32_t count, uint64_t *random, uint32_t one_in)
{
    memset(items, 0, sizeof items);
    for (uint32_t i = 0; i < count; i++) {
        items[i].to = r;
        items[i].index = i;
        job[i] = (hd_job){.fn = note, .user = &items[i], .critical = hdt_below(random, one_in) == 0};
    }
}

/* Of any 64 jobs in a row one is not critical while there are such; but for that, none goes before a critical one. */
static void check_order(const record *r, uint32_t count, uint64_t seed)
{
    uint32_t critical_left = 0, others_left = 0, streak = 0;

    for (uint32_t i = 0; i < count; i++)
        (*(job[i].critical ? &critical_left : &others_left))++;
    cr_assert(r->ran == count, "HEDDLE_SEED=%" PRIu64, seed);
    for (uint32_t i = 0; i < count; i++) {
        if (job[r->order[i]].critical) {
            critical_left--;
            streak++;
            cr_assert(streak < 64 || others_left == 0, "HEDDLE_SEED=%" PRIu64 " at %u", seed, i);
        } else {
            cr_assert(critical_left == 0 || streak == 63, "HEDDLE_SEED=%" PRIu64 " at %u", seed, i);
            others_left--;
            streak = 0;
        }
    }
}

/* One submit, or one a job; few jobs, or more than fit into a deque. */
Test(critical, goes_before_others)
{
    static record r;
    hd_jobs *jobs = one_worker();

    for (uint64_t seed = hdt_seed(), last = seed + 60; seed < last; seed++) {
        uint64_t random = seed;
        uint32_t count = 1 + hdt_below(&random, seed % 4 ? 300 : MOST - 1), at = 0;
        hd_counter counter = {0};
        r = (record){.jobs = jobs};
        make(&r, count, &random, 2 + hdt_below(&random, 20));
        while (at < count) {
            uint32_t some = seed % 2 ? 1 : 1 + hdt_below(&random, count - at);
            hd_jobs_submit(jobs, job + at, some, &counter);
            at += some;
        }
        hd_jobs_wait(jobs, &counter);
        check_order(&r, count, seed);
    }
    hd_jobs_destroy(jobs);
}

/* One submit to an empty pool: each kind in the order of its jobs. */
Test(critical, keeps_the_order_of_one_submit)
{
    static record r;
    hd_jobs *jobs = one_worker();
    uint64_t random = hdt_seed();
    uint32_t last_of[2] = {0};
    hd_counter counter = {0};

    r = (record){.jobs = jobs};
    make(&r, 500, &random, 3);
    hd_jobs_submit(jobs, job, 500, &counter);
    hd_jobs_wait(jobs, &counter);
    check_order(&r, 500, hdt_seed());
    for (uint32_t i = 0; i < 500; i++) {
        bool critical = job[r.order[i]].critical;
        cr_assert(r.order[i] + 1 > last_of[critical]);
        last_of[critical] = r.order[i] + 1;
    }
    hd_jobs_destroy(jobs);
    /* Without a pool too. */
    r.ran = 0;
    hd_jobs_submit(NULL, job, 500, &counter);
    cr_assert(r.ran == 500);
    for (uint32_t i = 1; i < 500; i++)
        cr_assert(job[r.order[i]].critical == job[r.order[i - 1]].critical ? r.order[i] > r.order[i - 1]
                                                                            : job[r.order[i - 1]].critical);
}

/* A critical job that submits the next critical one for ever would be all that one worker runs. */
typedef struct chain {
    hd_jobs *jobs;
    hd_counter counter;
    hd_job links[2];
    uint32_t ran;
    bool stop;
} chain;

static void go_on(void *user, uint32_t worker)
{
    chain *c = user;

    (void)worker;
    c->ran++;
    if (!c->stop && c->ran < 1000000)
        hd_jobs_submit(c->jobs, &c->links[c->ran % 2], 1, &c->counter);
}

static void stop_chain(void *user, uint32_t worker)
{
    (void)worker;
    ((chain *)user)->stop = true;
}

Test(critical, starves_nobody)
{
    chain c = {.jobs = one_worker()};
    hd_job other = {.fn = stop_chain, .user = &c};

    for (int i = 0; i < 2; i++)
        c.links[i] = (hd_job){.fn = go_on, .user = &c, .critical = true};
    hd_jobs_submit(c.jobs, &other, 1, &c.counter);
    hd_jobs_submit(c.jobs, &c.links[0], 1, &c.counter);
    hd_jobs_wait(c.jobs, &c.counter);
    cr_assert(c.stop && c.ran <= 65, "%u", c.ran);
    hd_jobs_destroy(c.jobs);
}

/* ---- jobs that wait ---- */

typedef struct nest {
    hd_jobs *jobs;
    uint32_t deepest, depth, leaves;
    bool critical_children;
} nest;

static void count_leaf(void *user, uint32_t worker)
{
    (void)worker;
    ((nest *)user)->leaves++;
}

static void wait_for_two(void *user, uint32_t worker)
{
    nest *n = user;
    hd_counter counter = {0};
    hd_job below[2];

    (void)worker;
    n->depth++;
    n->deepest = n->depth > n->deepest ? n->depth : n->deepest;
    for (int i = 0; i < 2; i++)
        below[i] = (hd_job){.fn = count_leaf, .user = n, .critical = n->critical_children};
    hd_jobs_submit(n->jobs, below, 2, &counter);
    hd_jobs_wait(n->jobs, &counter);
    n->depth--;
}

/* A job that waits runs what it waits for, and not all others on top of itself, one on the stack of the next. */
Test(critical, waits_do_not_pile_up)
{
    hd_jobs *jobs = one_worker();

    for (int kind = 0; kind < 8; kind++) {
        nest n = {.jobs = jobs, .critical_children = kind & 1};
        hd_counter counter = {0};
        for (uint32_t i = 0; i < MOST; i++) /* none, some or all of them critical */
            job[i] = (hd_job){.fn = wait_for_two, .user = &n, .critical = i % 4 < (uint32_t)(kind >> 1) + (kind >= 6)};
        hd_jobs_submit(jobs, job, MOST, &counter);
        hd_jobs_wait(jobs, &counter);
        cr_assert(n.leaves == 2 * MOST);
        cr_expect(n.deepest <= 2, "kind %d: %u", kind, n.deepest);
    }
    hd_jobs_destroy(jobs);
}

/* ---- stolen ---- */

typedef struct thief {
    _Atomic(uint32_t) *gate; /* 0: the thief is on its way, 1: it waits, 2: go */
    record *to;
} thief;

static void hold(void *user, uint32_t worker)
{
    thief *t = user;

    (void)worker;
    atomic_store(t->gate, 1);
    while (atomic_load(t->gate) != 2)
        usleep(10);
}

/* The pool's thread is held in a job while the caller submits. Then the caller waits for all to have run without
 * helping, so that the thread steals every one of them. */
static void *submit_from_outside(void *user)
{
    record *r = user;

    hd_jobs_submit(r->jobs, job, 300, r->counter);
    return NULL;
}

static void run_stolen(bool injected)
{
    static record r;
    hd_jobs *jobs = NULL;
    uint64_t random = hdt_seed();
    hd_counter counter = {0}, held = {0};
    _Atomic(uint32_t) gate = 0;
    thief t = {&gate, &r};
    hd_job first = {.fn = hold, .user = &t};
    pthread_t thread;

    alarm(60);
    cr_assert(hd_jobs_create(&(hd_jobs_desc){.worker_count = 2}, &jobs) == HD_OK);
    r = (record){.jobs = jobs, .counter = &counter};
    make(&r, 300, &random, 5);
    hd_jobs_submit(jobs, &first, 1, &held);
    while (atomic_load(&gate) != 1)
        usleep(10);
    hdi_worker *self = injected ? hdi_pool_enter(jobs) : NULL; /* a thread that cannot enter injects */
    if (injected) {
        cr_assert(pthread_create(&thread, NULL, submit_from_outside, &r) == 0);
        pthread_join(thread, NULL);
        hdi_pool_leave(self);
    } else {
        hd_jobs_submit(jobs, job, 300, &counter);
    }
    atomic_store(&gate, 2);
    while (!hdi_counter_done(&counter))
        usleep(100);
    hd_jobs_wait(jobs, &counter);
    hd_jobs_wait(jobs, &held);
    check_order(&r, 300, hdt_seed());
    hd_jobs_destroy(jobs);
}

Test(critical, is_stolen_first)
{
    run_stolen(false);
}

Test(critical, is_first_among_injected)
{
    run_stolen(true);
}

/* ---- graphs ---- */

enum { NODES = 300 };

static void note_node(uint32_t node, uint32_t worker, void *user)
{
    record *r = user;

    (void)worker;
    r->order[r->ran++] = node;
}

/* Replays the order: no node before those that it waits for, and none that is not critical while a critical one is
 * ready; of 64 in a row one may be, where jobs are taken from deques. */
static void check_graph(const record *r, const hd_dag *dag, bool exact, uint64_t seed)
{
    uint32_t pending[NODES], ready_critical = 0;

    cr_assert(r->ran == NODES, "HEDDLE_SEED=%" PRIu64, seed);
    memcpy(pending, dag->pred_count, sizeof pending);
    for (uint32_t n = 0; n < NODES; n++)
        ready_critical += pending[n] == 0 && dag->critical[n];
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t node = r->order[i];
        cr_assert(pending[node] == 0, "HEDDLE_SEED=%" PRIu64, seed);
        if (dag->critical[node])
            ready_critical--;
        else
            cr_assert(!exact || ready_critical == 0, "HEDDLE_SEED=%" PRIu64 " at %u", seed, i);
        for (uint32_t s = dag->succ_begin[node]; s < dag->succ_begin[node + 1]; s++)
            ready_critical += --pending[dag->succ[s]] == 0 && dag->critical[dag->succ[s]];
    }
}

/* The only thread of a pool of two that works: the caller sleeps until it is done. */
typedef struct graph_job {
    hd_jobs *jobs;
    const hd_dag *dag;
    hd_node *nodes;
} graph_job;

static void run_graph(void *user, uint32_t worker)
{
    graph_job *g = user;

    (void)worker;
    hd_jobs_run_dag(g->jobs, g->dag, g->nodes);
}

Test(critical, nodes_of_graphs_go_first)
{
    static record r;
    static hd_node nodes[NODES];
    hd_jobs *one = one_worker(), *two = NULL;

    cr_assert(hd_jobs_create(&(hd_jobs_desc){.worker_count = 2}, &two) == HD_OK);
    for (uint64_t seed = hdt_seed(), last = seed + 40; seed < last; seed++) {
        uint64_t random = seed;
        uint32_t begin[NODES + 1], succ[4 * NODES], pred[NODES] = {0}, at = 0;
        bool critical[NODES];
        for (uint32_t n = 0; n < NODES; n++) {
            begin[n] = at;
            critical[n] = hdt_below(&random, 7) == 0; /* below 63 in a row, so that the order is exact */
            for (uint32_t k = hdt_below(&random, 5); k > 0 && n + 1 < NODES; k--) {
                succ[at] = n + 1 + hdt_below(&random, NODES - n - 1);
                pred[succ[at++]]++;
            }
        }
        begin[NODES] = at;
        hd_dag dag = {.node_count = NODES, .succ_begin = begin, .succ = succ, .pred_count = pred, .fn = note_node,
                      .user = &r, .critical = critical};
        for (int pool = 0; pool < 3; pool++) {
            r.ran = 0;
            if (pool < 2) {
                hd_jobs_run_dag(pool ? one : NULL, &dag, nodes);
            } else {
                graph_job g = {two, &dag, nodes};
                hd_job start = {.fn = run_graph, .user = &g};
                hd_counter counter = {0};
                hd_jobs_submit(two, &start, 1, &counter);
                while (!hdi_counter_done(&counter))
                    usleep(20);
            }
            check_graph(&r, &dag, true, seed);
        }
    }
    hd_jobs_destroy(one);
    hd_jobs_destroy(two);
}
