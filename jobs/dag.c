#include "pool.h"

/* A directed graph of jobs in adjacency arrays, nodes in the caller's memory. A node whose last predecessor ends is
 * ready; of the nodes that one end makes ready, the first runs at once on the same worker without going through its
 * deque, as its data is warm there, the others are pushed. One counter counts the pushed ones: it is up before its node
 * can end, and its own node's end comes after those that it pushed were counted.
 *
 * Where one worker runs everything, nothing is atomic: ready nodes queue up in the nodes' own memory.
 * O(nodes + edges). */

typedef struct dag_run {
    const hd_dag *dag;
    hd_node *nodes;
    hd_jobs *jobs;
    hd_counter counter;
} dag_run;

static _Atomic(uint32_t) *pending_of(hd_node *node)
{
    _Static_assert(sizeof(_Atomic(uint32_t)) == sizeof(uint32_t), "an atomic word is a word");
    return (_Atomic(uint32_t) *)&node->pending;
}

static bool is_critical(const hd_dag *dag, uint32_t node)
{
    return dag->critical && dag->critical[node];
}

static void run_serial(const hd_dag *dag, hd_node *nodes, uint32_t worker)
{
    uint32_t ready = 0;
    for (uint32_t n = 0; n < dag->node_count; n++) {
        nodes[n].pending = dag->pred_count[n];
        if (dag->pred_count[n] == 0)
            nodes[ready++].job.run = n;
    }
    for (uint32_t at = 0; at < ready; at++) {
        uint32_t node = nodes[at].job.run;
        dag->fn(node, worker, dag->user);
        for (uint32_t s = dag->succ_begin[node]; s < dag->succ_begin[node + 1]; s++) {
            if (--nodes[dag->succ[s]].pending == 0)
                nodes[ready++].job.run = dag->succ[s];
        }
    }
}

/* The same with two queues, linked through the nodes' jobs: the critical nodes that are ready before all others. */
typedef struct node_queue {
    hd_job *first, **end;
} node_queue;

static void put(node_queue queues[HDI_LEVELS], const hd_dag *dag, hd_node *nodes, uint32_t node)
{
    node_queue *queue = &queues[is_critical(dag, node) ? HDI_CRITICAL : HDI_COMMON];

    nodes[node].job.run = node;
    nodes[node].job.next = NULL;
    *queue->end = &nodes[node].job;
    queue->end = &nodes[node].job.next;
}

static void run_serial_by_level(const hd_dag *dag, hd_node *nodes, uint32_t worker)
{
    node_queue queues[HDI_LEVELS];

    for (int level = 0; level < HDI_LEVELS; level++)
        queues[level] = (node_queue){NULL, &queues[level].first};
    for (uint32_t n = 0; n < dag->node_count; n++) {
        nodes[n].pending = dag->pred_count[n];
        if (dag->pred_count[n] == 0)
            put(queues, dag, nodes, n);
    }
    for (;;) {
        node_queue *queue = &queues[queues[HDI_CRITICAL].first ? HDI_CRITICAL : HDI_COMMON];
        hd_job *job = queue->first;
        if (!job)
            return;
        queue->first = job->next;
        if (!queue->first)
            queue->end = &queue->first;
        uint32_t node = job->run;
        dag->fn(node, worker, dag->user);
        for (uint32_t s = dag->succ_begin[node]; s < dag->succ_begin[node + 1]; s++)
            if (--nodes[dag->succ[s]].pending == 0)
                put(queues, dag, nodes, dag->succ[s]);
    }
}

static void run_node(void *user, uint32_t worker);

/* A node's job is filled in when it is pushed, by a worker that has the node's cache line already. The counter is above
 * zero: roots are counted before the first one is pushed, and a node that pushes others has not ended. So a plain
 * addition is enough, where a submit would have to look which waiter the word names. relaxed: as in hdi_counter_add. */
static void push(dag_run *run, hdi_worker *self, uint32_t node, bool counted)
{
    hd_node *n = &run->nodes[node];

    n->job = (hd_job){.fn = run_node,
                      .user = n,
                      .name = run->dag->name,
                      .counter = &run->counter,
                      .critical = is_critical(run->dag, node)};
    n->dag = run;
    if (!counted)
        hdi_add(hdi_counter_state(&run->counter), 1, memory_order_relaxed);
    hdi_pool_push(run->jobs, self, &n->job, 1);
}

/* Of the nodes that one end makes ready, a critical one goes first, else the first. One that is not critical gives way
 * where critical jobs lie in some deque: it is pushed as well, and the worker chooses anew. */
static void run_node(void *user, uint32_t worker)
{
    hd_node *node = user;
    dag_run *run = node->dag;
    const hd_dag *dag = run->dag;
    hdi_worker *self = &run->jobs->workers[worker];
    uint32_t index = (uint32_t)(node - run->nodes), next;

    do {
        self->critical = is_critical(dag, index);
        dag->fn(index, worker, dag->user);
        next = UINT32_MAX;
        for (uint32_t s = dag->succ_begin[index]; s < dag->succ_begin[index + 1]; s++) {
            uint32_t ready = dag->succ[s];
            /* acq_rel: releases what this node wrote, and the last one acquires what the others did. */
            if (hdi_sub(pending_of(&run->nodes[ready]), 1, memory_order_acq_rel) != 1)
                continue;
            if (next == UINT32_MAX || (is_critical(dag, ready) && !is_critical(dag, next))) {
                uint32_t other = next;
                next = ready;
                ready = other;
            }
            if (ready != UINT32_MAX)
                push(run, self, ready, false);
        }
        index = next;
        if (next != UINT32_MAX && !is_critical(dag, next) &&
            hdi_load(&run->jobs->critical, memory_order_relaxed) != 0) { /* relaxed: a hint */
            push(run, self, next, false);
            next = UINT32_MAX;
        }
    } while (next != UINT32_MAX);
}

void hd_jobs_run_dag(hd_jobs *jobs, const hd_dag *dag, hd_node *nodes)
{
    if (!dag || !nodes || dag->node_count == 0)
        return;
    hdi_worker *self = jobs ? hdi_pool_enter(jobs) : NULL;
    if (!jobs || (self && jobs->worker_count == 1)) {
        (dag->critical ? run_serial_by_level : run_serial)(dag, nodes, self ? self->index : 0);
        if (self)
            hdi_pool_leave(self);
        return;
    }
    dag_run run = {.dag = dag, .nodes = nodes, .jobs = jobs};
    uint32_t roots = 0;
    for (uint32_t n = 0; n < dag->node_count; n++) {
        hdi_store(pending_of(&nodes[n]), dag->pred_count[n], memory_order_relaxed);
        roots += dag->pred_count[n] == 0;
    }
    if (roots > 0)
        hdi_counter_add(&run.counter, roots);
    /* The roots, by what the declaration says: pending may be on its way to zero already. */
    for (uint32_t n = 0; n < dag->node_count && roots > 0; n++) {
        if (dag->pred_count[n] == 0) {
            push(&run, self, n, true);
            roots--;
        }
    }
    hd_jobs_wait(jobs, &run.counter);
    if (self)
        hdi_pool_leave(self);
}
