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

static void run_node(void *user, uint32_t worker)
{
    hd_node *node = user;
    dag_run *run = node->dag;
    const hd_dag *dag = run->dag;
    uint32_t index = (uint32_t)(node - run->nodes), next;

    do {
        dag->fn(index, worker, dag->user);
        next = UINT32_MAX;
        for (uint32_t s = dag->succ_begin[index]; s < dag->succ_begin[index + 1]; s++) {
            hd_node *after = &run->nodes[dag->succ[s]];
            /* acq_rel: releases what this node wrote, and the last one acquires what the others did. */
            if (atomic_fetch_sub_explicit(pending_of(after), 1, memory_order_acq_rel) != 1)
                continue;
            if (next == UINT32_MAX)
                next = dag->succ[s];
            else
                hd_jobs_submit(run->jobs, &after->job, 1, &run->counter);
        }
        index = next;
    } while (next != UINT32_MAX);
}

void hd_jobs_run_dag(hd_jobs *jobs, const hd_dag *dag, hd_node *nodes)
{
    if (dag->node_count == 0)
        return;
    hdi_worker *self = jobs ? hdi_pool_enter(jobs) : NULL;
    if (!jobs || (self && jobs->worker_count == 1)) {
        run_serial(dag, nodes, self ? self->index : 0);
        if (self)
            hdi_pool_leave(self);
        return;
    }
    dag_run run = {.dag = dag, .nodes = nodes, .jobs = jobs};
    for (uint32_t n = 0; n < dag->node_count; n++) {
        nodes[n].job = (hd_job){.fn = run_node, .user = &nodes[n], .name = dag->name};
        nodes[n].dag = &run;
        atomic_store_explicit(pending_of(&nodes[n]), dag->pred_count[n], memory_order_relaxed);
    }
    /* The roots, by what the declaration says: pending may be on its way to zero already. */
    for (uint32_t n = 0; n < dag->node_count; n++) {
        if (dag->pred_count[n] == 0)
            hd_jobs_submit(jobs, &nodes[n].job, 1, &run.counter);
    }
    hd_jobs_wait(jobs, &run.counter);
    if (self)
        hdi_pool_leave(self);
}
